//! Training steps of a small network, `relu(x a) b`, by several ranks. Each has a part of the batch.
//!
//! The gradient of the last layer is known first. Its sum over the ranks runs on a stream of its own, beside the
//! kernels that compute the gradient of the layer in front.
//! ```text
//! mpirun -n 4 target/release/data_parallel
//! torchrun --nproc-per-node 2 --no-python target/release/data_parallel
//! ```

use std::process::ExitCode;
use tilewright::{AsSlice, Buffer, Event, Runtime, Stream};
use tilewright_collectives::{Reduction, Result, World, runtime};
use tilewright_collectives_examples::kernels::{descend, product, relu, relu_gradient, squared_error};
use tilewright_collectives_examples::{end, random};

/// Rows of the whole batch, which 1, 2, 3, 4, 6 or 8 ranks divide.
const BATCH: usize = 96;
const INPUTS: usize = 40;
const HIDDEN: usize = 64;
const OUTPUTS: usize = 24;
const STEPS: usize = 8;
const RATE: f32 = 0.5;

/// A network, its gradients, and the results of its layers for `rows` rows.
struct Network {
    a: Buffer<f32>,
    b: Buffer<f32>,
    da: Buffer<f32>,
    db: Buffer<f32>,
    xa: Buffer<f32>,
    h: Buffer<f32>,
    y: Buffer<f32>,
    dy: Buffer<f32>,
    dh: Buffer<f32>,
    dxa: Buffer<f32>,
    loss: Buffer<f32>,
    rows: usize,
}

impl Network {
    fn new(rt: &Runtime, rows: usize) -> Result<Network> {
        let small = |seed, n| random(seed, n).into_iter().map(|v| 0.2 * v).collect::<Vec<_>>();
        Ok(Network {
            a: rt.from_slice(&small(1, INPUTS * HIDDEN))?,
            b: rt.from_slice(&small(2, HIDDEN * OUTPUTS))?,
            da: rt.zeros(INPUTS * HIDDEN)?,
            db: rt.zeros(HIDDEN * OUTPUTS)?,
            xa: rt.zeros(rows * HIDDEN)?,
            h: rt.zeros(rows * HIDDEN)?,
            y: rt.zeros(rows * OUTPUTS)?,
            dy: rt.zeros(rows * OUTPUTS)?,
            dh: rt.zeros(rows * HIDDEN)?,
            dxa: rt.zeros(rows * HIDDEN)?,
            loss: rt.zeros(1)?,
            rows,
        })
    }

    // ANCHOR: step
    /// One step of gradient descent. Returns the mean squared error of the whole batch before it. `beside` is a stream
    /// for sums over the ranks.
    fn step(&mut self, world: &World, beside: &Stream, x: &Buffer<f32>, t: &Buffer<f32>) -> Result<f32> {
        let (rt, m) = (world.runtime(), self.rows);
        rt.launch(product(x.view([m, INPUTS])?, self.a.view([INPUTS, HIDDEN])?, self.xa.view_mut([m, HIDDEN])?))?;
        rt.launch(relu(&self.xa, &mut self.h))?;
        rt.launch(product(self.h.view([m, HIDDEN])?, self.b.view([HIDDEN, OUTPUTS])?, self.y.view_mut([m, OUTPUTS])?))?;
        // Of the mean over the whole batch: the sum over the ranks is the gradient.
        let scale = 2.0 / (BATCH * OUTPUTS) as f32;
        rt.launch(squared_error(&self.y, t, scale, &mut self.dy, &mut self.loss))?;

        let dy = self.dy.view([m, OUTPUTS])?;
        let h_transposed = self.h.as_slice_arg().strided([HIDDEN, m], [1, HIDDEN]).map_err(tilewright::Error::from)?;
        rt.launch(product(h_transposed, dy, self.db.view_mut([HIDDEN, OUTPUTS])?))?;
        beside.wait_for(rt.stream())?; // for `loss` and `db`
        world.all_reduce(beside, &mut self.loss, Reduction::Sum)?;
        world.all_reduce(beside, &mut self.db, Reduction::Sum)?;

        // Meanwhile, on the default stream:
        let b_transposed = self.b.as_slice_arg().strided([OUTPUTS, HIDDEN], [1, OUTPUTS]);
        let x_transposed = x.as_slice_arg().strided([INPUTS, m], [1, INPUTS]).map_err(tilewright::Error::from)?;
        rt.launch(product(dy, b_transposed.map_err(tilewright::Error::from)?, self.dh.view_mut([m, HIDDEN])?))?;
        rt.launch(relu_gradient(&self.h, &self.dh, &mut self.dxa))?;
        rt.launch(product(x_transposed, self.dxa.view([m, HIDDEN])?, self.da.view_mut([INPUTS, HIDDEN])?))?;

        beside.wait_for(rt.stream())?;
        world.all_reduce(beside, &mut self.da, Reduction::Sum)?;
        let summed = Event::new(rt)?;
        summed.record(beside)?;
        rt.stream().wait(&summed)?; // later work on the default stream begins after the sums
        rt.launch(descend(RATE, &self.db, &mut self.b))?;
        rt.launch(descend(RATE, &self.da, &mut self.a))?;
        Ok(self.loss.to_vec()?[0])
    }
    // ANCHOR_END: step
}

/// The losses of some steps with the rows of this rank.
fn train(world: &World, inputs: &[f32], targets: &[f32]) -> Result<Vec<f32>> {
    let (rt, rows) = (world.runtime(), BATCH / world.size());
    let mine = |all: &[f32]| all[world.rank() * all.len() / world.size()..][..all.len() / world.size()].to_vec();
    let (x, t) = (rt.from_slice(&mine(inputs))?, rt.from_slice(&mine(targets))?);
    let (mut network, beside) = (Network::new(rt, rows)?, Stream::new(rt)?);
    // All ranks begin with the weights of the first.
    world.broadcast(rt.stream(), &mut network.a, 0)?;
    world.broadcast(rt.stream(), &mut network.b, 0)?;
    (0..STEPS).map(|_| network.step(world, &beside, &x, &t)).collect()
}

fn program() -> Result<String> {
    let rt = runtime()?;
    let world = World::from_env(&rt)?;
    let (rank, size) = (world.rank(), world.size());
    assert!(BATCH % size == 0, "{size} ranks do not divide {BATCH} rows");
    let (inputs, targets) = (random(3, BATCH * INPUTS), random(4, BATCH * OUTPUTS));
    let losses = train(&world, &inputs, &targets)?;
    // The whole batch on this rank alone.
    let wanted = train(&World::alone(&rt), &inputs, &targets)?;
    for (step, (loss, wanted)) in losses.iter().zip(&wanted).enumerate() {
        let difference = (loss - wanted).abs() / wanted;
        assert!(difference < 1e-5, "rank {rank}, step {step}: the loss is {loss}, and with the whole batch {wanted}");
    }
    let (first, last) = (losses[0], losses[STEPS - 1]);
    assert!(last < 0.99 * first, "the loss does not fall: {losses:?}");
    let text = format!("rank {rank} of {size} ({}, {}): loss {first:.6} to {last:.6}", world.name(), rt.name());
    world.finish()?;
    Ok(text)
}

fn main() -> ExitCode {
    end(program())
}
