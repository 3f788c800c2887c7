//! Writes the kernels of some seeds, and their tests, to files for `tests/kernels.rs`.
//!
//! `TILE_FUZZ_SEED` is the first seed (1), `TILE_FUZZ_KERNELS` their number (16), `TILE_FUZZ_ONLY` a kind of kernels,
//! `TILE_FUZZ_DEVICE=1` has them compiled for GPUs, too.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use tilewright_fuzz::{Kernel, Kind, Said, kernel, test_file};

/// Kernels of a file. The message of a failed compilation names the file.
const PER_FILE: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?).join("kernels");
    let mut kernels = vec![];
    let only = kind()?;
    let first = number("TILE_FUZZ_SEED", 1)?;
    for seed in first..first + number("TILE_FUZZ_KERNELS", 16)? {
        let kernel = kernel(seed, only.unwrap_or(Kind::of(seed)));
        match kernel.check() {
            Said::Compiled => kernels.push(kernel),
            // To be read: each must be right to refuse.
            Said::Refused(why) => println!("refused: {}: {why}", kernel.name),
            Said::Panicked(why) => {
                return Err(format!("{}: the compiler panicked: {why}\n{}", kernel.name, kernel.text).into());
            }
        }
    }
    write(&out, &kernels)?;
    let device = setting("TILE_FUZZ_DEVICE") == "1";
    if device {
        // Absolute, as folders below the crate's own are not.
        let dir = out.to_str().ok_or("the build folder's name is no text")?;
        tilewright_build::Settings::from_env().dirs(&[dir]).compile();
    }
    Ok(())
}

fn write(out: &Path, kernels: &[Kernel]) -> Result<(), Box<dyn Error>> {
    let mut files = BTreeMap::new();
    let mut index = String::new();
    for (i, some) in kernels.chunks(PER_FILE).enumerate() {
        files.insert(format!("some{i}.rs"), test_file(some));
        let path = out.join(format!("some{i}.rs"));
        writeln!(index, "mod some{i} {{\n    include!({path:?});\n}}")?;
    }
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    fs::create_dir_all(out)?;
    for (name, text) in files {
        fs::write(out.join(name), text)?;
    }
    Ok(fs::write(out.with_extension("rs"), index)?)
}

fn setting(name: &str) -> String {
    println!("cargo::rerun-if-env-changed={name}");
    env::var(name).unwrap_or_default()
}

fn number(name: &str, default: u64) -> Result<u64, Box<dyn Error>> {
    match setting(name) {
        empty if empty.is_empty() => Ok(default),
        n => n.parse().map_err(|_| format!("{name} is a number, not {n:?}").into()),
    }
}

fn kind() -> Result<Option<Kind>, Box<dyn Error>> {
    Ok(Some(match setting("TILE_FUZZ_ONLY").as_str() {
        "" => return Ok(None),
        "tiles" => Kind::Tiles,
        "products" => Kind::Products,
        "chains" => Kind::Chains,
        "batches" => Kind::Batches,
        "in-place" => Kind::InPlace,
        other => return Err(format!("TILE_FUZZ_ONLY is no kind of kernels: {other:?}").into()),
    }))
}
