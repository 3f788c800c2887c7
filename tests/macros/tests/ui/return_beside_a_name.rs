use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn f(w: f32, scale: Option<f32>, n: usize) -> f32 {
        match scale {
            Some(w) => {
                if n > 1 {
                    return w;
                }
            }
            None => {}
        }
        2.0 * w
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32], n: usize) {
        store(y, 0, f(1.0, Some(3.0), n));
    }
}

fn main() {}
