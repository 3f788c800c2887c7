use tilewright::{tile_library, tile_module};

#[tile_module]
mod kernels {
    enum Scheduler {
        Grid,
        Split(usize),
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32]) {
        store(y, 0, 1.0);
    }
}

#[tile_library]
mod library {
    enum Epilogue {
        Bias { scale: f32 },
    }
}

#[tile_library]
mod numbered {
    enum Stages {
        Two = 2,
    }
}

fn main() {}
