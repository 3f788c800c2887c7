//! Checks of arguments, and their messages.

use tilewright_core::{DeviceId, Element, SliceArg, SliceMutArg, ViewArg, ViewMutArg};
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

/// How many rows of `columns` elements an array has. `because` follows the columns in the message.
pub(super) fn whole_rows(what: &'static str, name: &str, len: usize, columns: usize, because: &str) -> Result<usize> {
    match len.checked_rem(columns) {
        Some(0) => Ok(len / columns),
        None if len == 0 => Ok(0),
        _ => {
            let why = format!("{name} has {len} elements, which are no whole rows of {columns}{because}");
            Err(Error::Shape { what, why })
        }
    }
}

/// The product of two extents.
pub(super) fn area(what: &'static str, rows: usize, cols: usize) -> Result<usize> {
    rows.checked_mul(cols).ok_or_else(|| Error::InvalidArgument {
        what,
        why: format!("{rows} x {cols} elements are more than 64 bits count"),
    })
}

/// An error if the result shares memory with an operand, even if the caller allows that for element-wise operations.
pub(super) fn disjoint<T, U, const R: usize, const Q: usize>(
    what: &'static str,
    (output, c): (&'static str, &ViewMutArg<U, R>),
    (name, other): (&'static str, &ViewArg<T, Q>),
) -> Result<()> {
    let c = c.as_view();
    let end = |start: u64, span: usize, size: usize| start.saturating_add(span.saturating_mul(size) as u64);
    let (c_end, other_end) = (end(c.addr(), c.span(), size_of::<U>()), end(other.addr(), other.span(), size_of::<T>()));
    if c.span() > 0 && other.span() > 0 && c.addr() < other_end && other.addr() < c_end {
        return Err(Error::Alias { kernel: what, output, other: name });
    }
    Ok(())
}

/// No address of memory. It is aligned: the guards of vector loads look at every address.
const ALIGNED: u64 = 256;

/// An array that is left out.
pub(super) fn nothing<'a, T: Element>() -> SliceArg<'a, T> {
    // SAFETY: no element is there.
    unsafe { SliceArg::from_raw(ALIGNED, 0, DeviceId::Unknown) }
}

/// The same, to be written.
pub(super) fn nothing_mut<'a, T: Element>() -> SliceMutArg<'a, T> {
    // SAFETY: no element is there.
    unsafe { SliceMutArg::from_raw(ALIGNED, 0, DeviceId::Unknown) }
}

/// An output that may be left out, and else has as many elements as another array.
pub(super) fn optional<'a, T: Element>(
    what: &'static str,
    (name, output): (&str, SliceMutArg<'a, T>),
    like: (&str, usize),
) -> Result<SliceMutArg<'a, T>> {
    if output.is_empty() {
        return Ok(nothing_mut());
    }
    same_length(what, &[like, (name, output.len())])?;
    Ok(output)
}
