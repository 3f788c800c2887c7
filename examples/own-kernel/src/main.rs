//! `cargo run --release`: on the GPU if there is one, else on the CPU.

use tilewright::{Error, Runtime};

fn main() -> Result<(), Error> {
    let rt = Runtime::new();
    let (rows, columns) = (512, 4096);
    let x: Vec<f32> = (0..rows * columns).map(|i| (i % 1000) as f32 - 500.0).collect();
    let y = own_kernel::normalize(&rt, &x, columns)?;
    let mean_square = y[..columns].iter().map(|v| v * v).sum::<f32>() / columns as f32;
    println!("{:?}: {rows} rows of {columns}; the mean square of the first is now {mean_square:.4}", rt.kind());
    Ok(())
}
