//! Kernels of the programs in `src/bin`, and the part of them that both have.

pub mod kernels;

use tilewright_collectives::Result;

tilewright::kernels!();

/// Ends a program. An error is printed at once: under `mpirun` the other ranks are ended with this one, and it says
/// why.
pub fn end(done: Result<String>) -> std::process::ExitCode {
    match done {
        Ok(text) => {
            println!("{text}");
            std::process::ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("error: {e}");
            std::process::ExitCode::FAILURE
        }
    }
}

/// A number of pseudorandom numbers from -1 to 1, the same on all ranks.
pub fn random(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        // Xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// The greatest difference of two arrays, divided by the greatest element.
pub fn error(found: &[f32], wanted: &[f32]) -> f32 {
    let of = |all: &mut dyn Iterator<Item = f32>| all.fold(0.0f32, |most, v| if v <= most { most } else { v });
    let most = of(&mut wanted.iter().map(|v| v.abs()));
    of(&mut found.iter().zip(wanted).map(|(a, b)| (a - b).abs())) / most.max(f32::MIN_POSITIVE)
}
