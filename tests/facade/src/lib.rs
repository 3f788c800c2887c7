//! Kernels of a package that has the facade by another name: `crate = path` says by which. There is no `::tilewright`
//! here that an expansion could name.
#![cfg(test)]

use other::{Runtime, tile_kernel, tile_library, tile_module};

#[tile_kernel(crate = ::other, grid = [cdiv(y.len(), 32)], emulate = all)]
fn doubled(x: &[f32], y: &mut [f32]) {
    let i = program_id(0) * 32 + arange(32);
    store(y, i, load(x, i) * 2.0);
}

#[tile_library(crate = ::other)]
mod library {
    fn plus_one(x: Tile<f32>) -> Tile<f32> {
        x + 1.0
    }
}

#[tile_module(use crate::library, crate = ::other)]
mod kernels {
    enum Direction {
        Up,
        Down,
    }

    #[tile_kernel(
        kernel(more, DIRECTION = Up),
        kernel(less, DIRECTION = Down),
        grid = [cdiv(y.len(), 32)],
        emulate = all
    )]
    pub fn step<const DIRECTION: Direction>(x: &[f32], y: &mut [f32]) {
        let i = program_id(0) * 32 + arange(32);
        let x = load(x, i);
        store(y, i, if DIRECTION == Direction::Up { plus_one(x) } else { x - 1.0 });
    }
}

#[test]
fn kernels_run_by_another_name_of_the_facade() {
    for rt in [Runtime::cpu(), Runtime::emulator(1)] {
        let (x, mut y) = ([1.0f32; 40], [0.0f32; 40]);
        rt.launch(doubled(&x[..], &mut y[..])).expect("it runs");
        assert_eq!(y, [2.0; 40]);
        rt.launch(kernels::less(&x[..], &mut y[..])).expect("it runs");
        assert_eq!(y, [0.0; 40]);
        rt.launch(kernels::more(&x[..], &mut y[..])).expect("it runs");
        assert_eq!(y, [2.0; 40]);
    }
}
