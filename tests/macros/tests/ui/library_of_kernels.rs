use tilewright::tile_library;

#[tile_library]
mod library {
    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32]) {
        store(y, arange(64), 1.0);
    }
}

fn main() {}
