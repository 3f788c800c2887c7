use tilewright::tile_module;

#[tile_module]
mod m {
    fn first<const N: usize = 4>() -> Tile<usize> {
        arange(N)
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [u64]) {
        store(y, arange(4), first::<4>());
    }
}

fn main() {}
