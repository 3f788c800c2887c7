//! Products of few rows of 8 bits by B as it lies, which is read once: turning it would take three times as long. Tensor cores take 8 bits only
//! with the depth contiguous; programs bring B to f16 on its way to them, and A comes as f16.

use super::product::{Extents, Operand};
use super::scratch_matrix::ScratchMatrix;
use super::shared::Room;
use super::{Launch, Multiply};
use crate::error::{Error, Result};
use kernel_core::{KernelDesc, ViewArg, ViewMutArg, f16};

/// More rows are worth a turned copy of B, and a smaller B, or one of short rows, is soon turned; not so soon where its columns are summed up.
const MOST_ROWS: u64 = 128;
const LEAST_OPERAND: u64 = 1 << 23;
const LEAST_SUMMED_UP: u64 = 1 << 20;
const LEAST_COLUMNS: u64 = 256;
/// Rows of A as f16 are a multiple of this many elements: whole cache lines.
const PITCH: u64 = 64;

/// Whether a product is faster so, with so many rows of ones, and if the kernel for it runs here.
pub(super) fn pays<T: Multiply>(on: &impl Launch, e: Extents, ones: u64, b: &Operand<T>, c_in_rows: bool) -> bool {
    let least = if ones > 0 { LEAST_SUMMED_UP } else { LEAST_OPERAND };
    let Some(desc) = T::wide_desc() else { return false };
    let taken = !b.transposed && b.maps() && c_in_rows && on.runtime().0.takes_maps(desc);
    match on.pin() {
        Some((kernel, _)) => taken && core::ptr::eq::<KernelDesc>(kernel, desc),
        None => taken && e.m + ones <= MOST_ROWS && e.n >= LEAST_COLUMNS && e.n.saturating_mul(e.k) >= least,
    }
}

/// A as f16, with ones below it, and room for the sums of programs.
pub(super) struct Wide<S> {
    rows: ScratchMatrix<f16>,
    room: Room<S>,
}

impl<S: kernel_core::Element> Wide<S> {
    /// With `ones` rows of ones. None where there is no memory.
    pub fn of<T: Multiply<Sum = S>>(on: &impl Launch, a: &Operand<T>, ones: u64) -> Result<Option<Self>> {
        let x = a.turned(false).view;
        let [m, k] = x.dims();
        let memory = || -> Result<_> { Ok((ScratchMatrix::new(on, [m + ones, k], PITCH)?, Room::new(on)?)) };
        let (mut rows, room) = match memory() {
            Err(Error::OutOfMemory { .. }) => return Ok(None),
            memory => memory?,
        };
        on.launch(T::widen_call(x, rows.view_mut()?))?;
        Ok(Some(Wide { rows, room }))
    }

    /// `c = f(A B)`, which has as many rows as A and ones.
    pub fn multiply<T: Multiply<Sum = S>>(mut self, on: &impl Launch, b: ViewArg<T, 2>, c: ViewMutArg<T::Product, 2>, below: f32) -> Result<()> {
        let (slots, tickets) = self.room.parts();
        on.launch(T::wide_call(self.rows.view()?, b, slots, tickets, c, below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Precision, Transpose, matmul};
    use crate::{Buffer, Runtime};
    use kernel_core::{AsSlice, AsSliceMut};

    /// Sums that are no sums of f32, over more of the depth than is exact in it.
    #[test]
    fn bytes_are_exact_whatever_the_depth() {
        let rt = Runtime::emulator(3);
        let desc = <i8 as Multiply>::wide_desc().unwrap();
        let (m, n, k) = (5usize, 80usize, 2100usize);
        let make = |seed: usize, len: usize| -> Vec<i8> { (0..len).map(|i| if i % 97 == seed { -128 } else { 127 - ((i * 31 + seed) % 3) as i8 }).collect() };
        let (x, y) = (make(1, m * k), make(2, k * n));
        let (a, b, mut c) = (Buffer::from_slice(&rt, &x).unwrap(), Buffer::from_slice(&rt, &y).unwrap(), Buffer::<i32>::zeros(&rt, m * n).unwrap());
        let config = desc.configs.iter().find(|c| c.variants.iter().any(|v| v.emulated.is_some() && !v.maps.is_empty())).unwrap();
        let on = crate::ops::On::new(&rt).pin(Some((desc, config)));
        let (va, vb) = ((&a).as_slice_arg().view([m as u64, k as u64]).unwrap(), (&b).as_slice_arg().view([k as u64, n as u64]).unwrap());
        let vc = (&mut c).as_slice_mut_arg().view([m as u64, n as u64]).unwrap();
        matmul::<i8>(&on, va, vb, vc, Transpose::NONE, Precision::Default).unwrap();
        for (i, found) in c.to_vec().unwrap().into_iter().enumerate() {
            let (r, s) = (i / n, i % n);
            let wanted: i32 = (0..k).map(|l| i32::from(x[r * k + l]) * i32::from(y[l * n + s])).sum();
            assert_eq!(found, wanted, "row {r}, column {s}");
        }
    }
}
