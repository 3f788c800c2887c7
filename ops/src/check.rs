//! Shape checks and their messages.

use tilewright_runtime::{Error, Result};

/// All of these lengths are the same.
pub(super) fn same_length(what: &'static str, lengths: &[(&str, usize)]) -> Result<()> {
    if lengths.iter().all(|(_, n)| *n == lengths[0].1) {
        return Ok(());
    }
    let each: Vec<_> = lengths.iter().map(|(name, n)| format!("{name} has {n}")).collect();
    Err(Error::Shape { what, why: format!("{} elements; they must be equal", each.join(", ")) })
}

/// `name` has exactly this many elements.
pub(super) fn length(what: &'static str, name: &str, found: usize, wanted: usize, because: &str) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::Shape { what, why: format!("{name} has {found} elements, {because} needs {wanted}") })
}

/// The product of two extents.
pub(super) fn area(what: &'static str, rows: usize, cols: usize) -> Result<usize> {
    rows.checked_mul(cols).ok_or_else(|| Error::InvalidArgument {
        what,
        why: format!("{rows} x {cols} elements are more than 64 bits count"),
    })
}
