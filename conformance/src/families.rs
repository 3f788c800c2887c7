//! Families of operations: rows of the catalog that differ in their names, kernels and problems.

use super::operation::{Make, Operation};
use tilewright_core::DType;

pub(crate) const FLOATS: &[DType] = &[DType::F32, DType::F16, DType::BF16];
pub(crate) const MATRIX: &[&str] = &["rows", "cols"];
const PRODUCTS: &[&[u64]] = &[
    &[1024, 1024, 1024],
    &[2048, 2048, 2048],
    &[4096, 4096, 4096],
    &[8192, 8192, 8192],
    &[4095, 4097, 4099],
    &[16, 8192, 8192],
    &[8192, 8192, 64],
];

/// A product of two matrices.
pub(crate) const fn product(
    name: &'static str,
    about: &'static str,
    dtypes: &'static [DType],
    kernels: &'static [&'static str],
    make: Make,
) -> Operation {
    Operation {
        name,
        about,
        axes: &["m", "n", "k"],
        dtypes,
        large: &[4096, 4096, 4096],
        bench: PRODUCTS,
        kernels,
        make,
    }
}

/// Products of groups of rows.
pub(crate) const fn grouped(
    name: &'static str,
    about: &'static str,
    kernels: &'static [&'static str],
    make: Make,
) -> Operation {
    Operation {
        name,
        about,
        axes: &["groups", "m", "n", "k"],
        dtypes: &[DType::F16, DType::BF16],
        large: &[32, 8192, 4096, 4096],
        bench: &[&[8, 16384, 14336, 4096], &[32, 8192, 4096, 4096], &[64, 512, 4096, 2048]],
        kernels,
        make,
    }
}

/// A norm of rows.
pub(crate) const fn norm(
    name: &'static str,
    about: &'static str,
    kernels: &'static [&'static str],
    make: Make,
) -> Operation {
    Operation {
        name,
        about,
        axes: MATRIX,
        dtypes: FLOATS,
        large: &[16384, 4096],
        bench: &[&[65536, 512], &[16384, 4096], &[4096, 8192], &[1024, 131072]],
        kernels,
        make,
    }
}

/// Rotations of heads.
pub(crate) const fn rope(
    name: &'static str,
    about: &'static str,
    kernels: &'static [&'static str],
    make: Make,
) -> Operation {
    Operation {
        name,
        about,
        axes: &["tokens", "heads", "cols"],
        dtypes: FLOATS,
        large: &[8192, 32, 128],
        bench: &[&[8192, 32, 128], &[16384, 8, 128], &[65536, 12, 64], &[64, 32, 128]],
        kernels,
        make,
    }
}

/// Rows of a table.
pub(crate) const fn embedding(
    name: &'static str,
    about: &'static str,
    kernels: &'static [&'static str],
    make: Make,
) -> Operation {
    Operation {
        name,
        about,
        axes: &["tokens", "rows", "cols"],
        dtypes: FLOATS,
        large: &[16384, 32000, 4096],
        bench: &[&[16384, 32000, 4096], &[16384, 128256, 2048], &[65536, 30000, 768]],
        kernels,
        make,
    }
}
