//! Captured products of f32, whose launches begin early and share tiles, on a GPU:
//! `cargo run --release -p tilewright-ops --example gpu_products`. Panics where a graph gives another result than a
//! launch.

use tilewright_ops::{ExecOptions, Matmul};
use tilewright_runtime::tuning::Autotune;
use tilewright_runtime::{Buffer, Result, Runtime, Stream};

/// A graph and a launch give the same bits, twice.
fn main() -> Result<()> {
    let rt = Runtime::cuda(0)?;
    rt.set_cache_dir(None);
    rt.set_autotune(Autotune::Off);
    let stream = Stream::new(&rt)?;
    let on = &ExecOptions::new(&rt).stream(&stream);
    for [m, n, k] in [[64, 1024, 4096], [16, 4096, 4096], [512, 1024, 1024], [1000, 1000, 300]] {
        let numbers = |len: usize| (0..len).map(|i| (i * 7919 % 1009) as f32 - 504.0).collect::<Vec<_>>();
        let (a, b) = (Buffer::from_slice(&rt, &numbers(m * k))?, Buffer::from_slice(&rt, &numbers(k * n))?);
        let (mut c, mut d) = (rt.zeros::<f32>(m * n)?, rt.zeros::<f32>(m * n)?);
        let multiply = |on: &ExecOptions, c: &mut Buffer<f32>| {
            Matmul::new(a.view([m, k])?, b.view([k, n])?, c.view_mut([m, n])?).launch(on)
        };
        multiply(on, &mut c)?;
        let graph = stream.capture(|_| multiply(on, &mut d))?;
        for _ in 0..2 {
            // SAFETY: the buffers live, and all work on them is on this stream.
            unsafe { graph.replay(&stream)? };
        }
        assert_eq!(c.to_vec_on(&stream)?, d.to_vec_on(&stream)?, "{m} x {n} x {k}");
    }
    println!("all is well");
    Ok(())
}
