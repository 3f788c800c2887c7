//! A linear layer with an activation and a second one behind it, `y = relu(x a) b`, on several GPUs.
//!
//! Each rank has some columns of `a` and the same rows of `b`. So it computes some columns of `relu(x a)` and, with its
//! rows of `b`, a part of each element of `y`. One sum over the ranks completes `y`: nothing is sent before that.
//! ```text
//! mpirun -n 4 target/release/tensor_parallel
//! torchrun --nproc-per-node 2 --no-python target/release/tensor_parallel
//! ```

use std::process::ExitCode;
use tilewright::{Buffer, Runtime};
use tilewright_collectives::{Reduction, Result, World, runtime};
use tilewright_collectives_examples::kernels::{product, relu};
use tilewright_collectives_examples::{end, error, random};

/// Rows of `x`, its columns, columns of `a` on all ranks together, columns of `b`.
const ROWS: usize = 96;
const INPUTS: usize = 160;
const HIDDEN: usize = 480;
const OUTPUTS: usize = 128;

// ANCHOR: layer
/// `relu(x a) b`. Each rank has `hidden` columns of `a` and rows of `b`.
fn layer(world: &World, x: &Buffer<f32>, a: &Buffer<f32>, b: &Buffer<f32>, hidden: usize) -> Result<Buffer<f32>> {
    let rt = world.runtime();
    let mut xa = rt.zeros::<f32>(ROWS * hidden)?;
    let mut h = rt.zeros::<f32>(ROWS * hidden)?;
    let mut y = rt.zeros::<f32>(ROWS * OUTPUTS)?;
    rt.launch(product(x.view([ROWS, INPUTS])?, a.view([INPUTS, hidden])?, xa.view_mut([ROWS, hidden])?))?;
    rt.launch(relu(&xa, &mut h))?;
    rt.launch(product(h.view([ROWS, hidden])?, b.view([hidden, OUTPUTS])?, y.view_mut([ROWS, OUTPUTS])?))?;
    world.all_reduce(rt.stream(), &mut y, Reduction::Sum)?;
    Ok(y)
}
// ANCHOR_END: layer

/// Some columns of a row-major matrix.
fn columns(matrix: &[f32], width: usize, of: std::ops::Range<usize>) -> Vec<f32> {
    matrix.chunks(width).flat_map(|row| row[of.clone()].iter().copied()).collect()
}

fn program() -> Result<String> {
    let rt: Runtime = runtime()?;
    let world = World::from_env(&rt)?;
    let (rank, size) = (world.rank(), world.size());
    let (x, a, b) = (random(1, ROWS * INPUTS), random(2, INPUTS * HIDDEN), random(3, HIDDEN * OUTPUTS));
    // All ranks have as many columns. The last one has the remaining columns, too.
    let mine = rank * (HIDDEN / size)..if rank + 1 == size { HIDDEN } else { (rank + 1) * (HIDDEN / size) };
    let x = Buffer::from_slice(&rt, &x)?;
    let my_a = Buffer::from_slice(&rt, &columns(&a, HIDDEN, mine.clone()))?;
    let my_b = Buffer::from_slice(&rt, &b[mine.start * OUTPUTS..mine.end * OUTPUTS])?;
    let y = layer(&world, &x, &my_a, &my_b, mine.len())?.to_vec()?;

    // The whole layer on this rank alone.
    let (a, b) = (Buffer::from_slice(&rt, &a)?, Buffer::from_slice(&rt, &b)?);
    let whole = layer(&World::alone(&rt), &x, &a, &b, HIDDEN)?.to_vec()?;
    let difference = error(&y, &whole);
    assert!(difference < 1e-5, "rank {rank}: the layer of {size} ranks differs from the whole one by {difference}");
    let text =
        format!("rank {rank} of {size} ({}, {}): as the whole layer, up to {difference:.1e}", world.name(), rt.name());
    world.finish()?;
    Ok(text)
}

fn main() -> ExitCode {
    end(program())
}
