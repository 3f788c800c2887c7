//! Shape checks and their messages.

use tilewright::{Error, Result};

/// A check that fails with the message.
pub fn shape(what: &'static str, holds: bool, why: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Shape { what, why: why() }) }
}

/// `name` has as many elements as these extents multiply to.
pub fn length(what: &'static str, name: &str, found: usize, extents: &[usize]) -> Result<()> {
    let wanted = extents.iter().try_fold(1usize, |n, &e| n.checked_mul(e));
    shape(what, wanted == Some(found), || {
        let extents: Vec<_> = extents.iter().map(usize::to_string).collect();
        format!("{name} has {found} elements, not {}", extents.join(" x "))
    })
}

/// The number of rows of `columns` elements in an array.
pub fn rows(what: &'static str, name: &str, len: usize, columns: usize) -> Result<usize> {
    let whole = if columns == 0 { len == 0 } else { len.is_multiple_of(columns) };
    shape(what, whole, || format!("{name} has {len} elements, which are no whole rows of {columns}"))?;
    Ok(len.checked_div(columns).unwrap_or(0))
}

/// An i32 counts these.
pub fn counts_in_i32(what: &'static str, name: &str, n: usize) -> Result<()> {
    shape(what, i32::try_from(n).is_ok(), || format!("{name} is {n}: indices are 32-bit integers"))
}
