use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn f(n: usize) -> f32 {
        if n > 1 {
            let twice = 2 * n;
            if twice > 5 {
                return 1.0;
            }
        }
        0.0
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32], n: usize) {
        store(y, 0, f(n));
    }
}

fn main() {}
