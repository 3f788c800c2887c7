use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn f(n: usize) -> f32 {
        2.0 * if n > 1 { return 1.0 } else { 2.0 }
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32], n: usize) {
        store(y, 0, f(n));
    }
}

fn main() {}
