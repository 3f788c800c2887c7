//! Element types in generated code.

pub use tilewright_types::DType;

/// The Rust type of emitted code; `F16` and `BF16` come from `tilewright_core::scalar`.
pub(crate) fn rust_type(t: DType) -> &'static str {
    match t {
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::F8E4M3 => "s::F8E4M3",
        DType::F8E5M2 => "s::F8E5M2",
        t => t.name(),
    }
}

/// The register that inline assembly has a number of this type in, and the type of its bits; none of bytes and `bool`.
pub(crate) fn register(t: DType) -> Option<(&'static str, &'static str)> {
    match t.size() {
        2 => Some(("reg16", "u16")),
        4 => Some(("reg32", "u32")),
        8 => Some(("reg64", "u64")),
        _ => None,
    }
}

/// The unsigned integer type of as many bits; any other type is itself.
pub(crate) fn unsigned(t: DType) -> DType {
    match t {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::I64 => DType::U64,
        t => t,
    }
}

/// A dtype in a message about a kernel. `usize` and `u64` are one dtype, called `usize`, and so are `isize` and `i64`.
pub(crate) fn in_message(t: DType) -> &'static str {
    match t {
        DType::U64 => "usize",
        DType::I64 => "isize",
        t => t.name(),
    }
}
