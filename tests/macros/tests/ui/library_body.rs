use tilewright::tile_library;

#[tile_library]
mod tiles {
    fn first(x: Tile<f32>) -> Tile<f32> {
        *x
    }

    struct Pair(f32, f32);
}

#[tile_library(grid = [1])]
mod attribute {}

fn main() {}
