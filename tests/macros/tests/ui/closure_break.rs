use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn each(n: usize, visit: impl Fn(usize)) {
        for i in 0..n {
            visit(i);
        }
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32], n: usize) {
        each(n, |i| {
            store(y, i, 1.0);
            break;
        });
    }
}

fn main() {}
