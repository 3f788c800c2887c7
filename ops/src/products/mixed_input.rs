//! Mixed input: products of few rows of 8 bits by an MN-major B, which is read once. A transposed copy of B would take
//! three times as long. Tensor cores take 8-bit operands K-major alone, so programs convert B to f16 in registers, and
//! A is converted beforehand.

use super::Multiply;
use super::multiply::MixedInputKernel;
use super::product::Operand;
use super::scratch_matrix::ScratchMatrix;
use crate::Executor;
use crate::stream_k::Workspace;
use tilewright_core::{ViewMutArg, f16};
use tilewright_runtime::{LaunchOptions, Result};

/// A as f16 with rows of ones below it, and a workspace.
pub(super) struct MixedInput<T: Multiply> {
    kernel: MixedInputKernel<T>,
    rows: ScratchMatrix<f16>,
    workspace: Workspace<T::Sum>,
}

impl<T: Multiply> MixedInput<T> {
    /// With `ones` rows of ones below A.
    pub fn of(on: &impl Executor, kernel: MixedInputKernel<T>, a: &Operand<T>, ones: usize) -> Result<Self> {
        let x = a.as_transposed(false).view;
        let [m, k] = x.dims();
        let mut rows = ScratchMatrix::aligned(on, [m.saturating_add(ones), k])?;
        let workspace = Workspace::new(on)?;
        on.launch((kernel.upcast)(x, rows.view_mut()?))?;
        Ok(MixedInput { kernel, rows, workspace })
    }

    /// `c = f(A B)`, which has as many rows as A and ones.
    pub fn multiply(
        mut self,
        on: &impl Executor,
        b: &Operand<T>,
        c: ViewMutArg<T::Product, 2>,
        negative_slope: f32,
        options: LaunchOptions,
    ) -> Result<()> {
        let call = self.kernel.call;
        let b = b.as_transposed(false).view;
        // SAFETY: the workspace was made for this launch.
        let call = unsafe { call(self.rows.view()?, b, self.workspace.parts(), c, negative_slope) };
        on.launch_as(call, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::emulated_with_maps;
    use crate::products::multiply::Kernels;
    use crate::{ExecOptions, Matmul, Quantization, matmul_int8};
    use tilewright_core::{AsSlice, AsSliceMut, f8e4m3, f8e5m2};
    use tilewright_runtime::{Buffer, Runtime};

    /// `a b` by the kernel of this file.
    fn multiplied<T: Multiply>([m, n, k]: [usize; 3], a: &[T], b: &[T]) -> Vec<T::Product> {
        let rt = Runtime::emulator(3);
        let on = ExecOptions::new(&rt).pin(emulated_with_maps(T::mixed_input().unwrap().desc));
        let (a, b, mut c) = (
            Buffer::from_slice(&rt, a).unwrap(),
            Buffer::from_slice(&rt, b).unwrap(),
            Buffer::<T::Product>::zeros(&rt, m * n).unwrap(),
        );
        let (va, vb) = (a.as_slice_arg().view([m, k]).unwrap(), b.as_slice_arg().view([k, n]).unwrap());
        assert!(Operand::new(vb, false).tma_compatible());
        Matmul::<T>::new(va, vb, c.as_slice_mut_arg().view([m, n]).unwrap()).launch(&on).unwrap();
        c.to_vec().unwrap()
    }

    /// Sums that f32 does not hold, and parts of them that it just holds: 1024 products of the least numbers are 2^24.
    #[test]
    fn bytes_are_exact_whatever_the_depth() {
        let (m, n, k) = (5usize, 80usize, 4300usize);
        let nearly = |seed: usize, len: usize| -> Vec<i8> {
            (0..len).map(|i| if i % 97 == seed { -128 } else { 127 - ((i * 31 + seed) % 3) as i8 }).collect()
        };
        for (x, y) in [(nearly(1, m * k), nearly(2, k * n)), (vec![-128; m * k], vec![-128; k * n])] {
            let found = multiplied::<i8>([m, n, k], &x, &y);
            for (i, found) in found.into_iter().enumerate() {
                let (r, s) = (i / n, i % n);
                let wanted: i32 = (0..k).map(|l| i32::from(x[r * k + l]) * i32::from(y[l * n + s])).sum();
                assert_eq!(found, wanted, "row {r}, column {s}");
            }
        }
    }

    /// Every number there is, of either sign: infinities, NaN, denormals.
    fn floats<T: Multiply<Product = tilewright_core::bf16>>(of: fn(u8) -> T, to: fn(T) -> f32) {
        let (m, n, k) = (3usize, 256usize, 70usize);
        let x: Vec<T> = (0..m * k).map(|i| of(if i % k == 0 { 0x38 } else { 0 })).collect();
        // Row 0 of B has every number, which A's first column multiplies; the others are anything finite.
        let y: Vec<T> = (0..k * n).map(|i| of(if i < n { i as u8 } else { (i % 0x70) as u8 })).collect();
        let found = multiplied::<T>([m, n, k], &x, &y);
        for (i, found) in found.into_iter().enumerate() {
            let (wanted, found) = (to(of(0x38)) * to(y[i % n]), found.to_f32());
            let right = if wanted.is_finite() {
                (found - wanted).abs() <= wanted.abs() / 256.0
            } else {
                found.is_nan() == wanted.is_nan() && (wanted.is_nan() || found == wanted)
            };
            assert!(right, "{}, column {}: {found} instead of {wanted}", T::DTYPE.name(), i % n);
        }
    }

    #[test]
    fn floats_of_8_bits_keep_what_is_no_number() {
        floats::<f8e4m3>(f8e4m3, |x| x.to_f32());
        floats::<f8e5m2>(f8e5m2, |x| x.to_f32());
    }

    #[test]
    fn rows_of_ones_sum_up_columns() {
        let rt = Runtime::emulator(3);
        let on = ExecOptions::new(&rt).pin(emulated_with_maps(<i8 as Kernels>::mixed_input().unwrap().desc));
        // Rows of B begin at multiples of 16 bytes, of the result anywhere.
        for ([m, n, k], pitch) in [([16, 80, 300], 80), ([3, 77, 131], 96)] {
            for (zero_a, zero_b) in [(-9i8, 4i8), (7, 0), (0, -3)] {
                let q = Quantization { scale_a: 0.5, scale_b: 0.25, scale_c: 16.0, zero_a, zero_b, zero_c: 5 };
                let make = |seed: usize, len: usize| -> Vec<i8> {
                    (0..len).map(|i| ((i * 37 + i / 7 + seed) % 251) as u8 as i8).collect()
                };
                let (x, y) = (make(1, m * k), make(2, k * pitch));
                let (a, b, mut c) = (
                    Buffer::from_slice(&rt, &x).unwrap(),
                    Buffer::from_slice(&rt, &y).unwrap(),
                    Buffer::<i8>::zeros(&rt, m * n).unwrap(),
                );
                let (va, vb) =
                    (a.as_slice_arg().view([m, k]).unwrap(), b.as_slice_arg().strided([k, n], [pitch, 1]).unwrap());
                matmul_int8(&on, va, vb, c.as_slice_mut_arg().view([m, n]).unwrap(), &q).unwrap();
                for (i, found) in c.to_vec().unwrap().into_iter().enumerate() {
                    let (r, s) = (i / n, i % n);
                    let of = |l: usize| {
                        (i32::from(x[r * k + l]) - i32::from(zero_a))
                            * (i32::from(y[l * pitch + s]) - i32::from(zero_b))
                    };
                    let exact: i32 = (0..k).map(of).sum();
                    let wanted = ((exact as f32 * (0.5 * 0.25 / 16.0)).round_ties_even() as i32 + 5).clamp(-128, 127);
                    assert_eq!(i32::from(found), wanted, "{m} {n} {k}, zeros {zero_a} {zero_b}: row {r}, column {s}");
                }
            }
        }
    }
}
