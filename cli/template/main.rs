//! `cargo run --release`: on the GPU if there is one, else on the CPU.

use first_crate::scaled_sum;
use tilewright::{Error, Runtime};

fn main() -> Result<(), Error> {
    let rt = Runtime::new();
    let y = scaled_sum(&rt, 2.0, &[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0])?;
    println!("2 x + y = {y:?} on the {:?} backend", rt.kind());
    Ok(())
}
