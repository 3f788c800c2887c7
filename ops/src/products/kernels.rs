//! All kernels of products: the multiplying ones, and the kernels that plans launch beside them.

use tilewright_core::KernelDesc;
use tilewright_core::cpu::fork::PerProcess;
use tilewright_runtime::tuning::Version;

/// Changes with any kernel of a plan of a product.
pub(super) fn version() -> &'static Version {
    static VERSION: PerProcess<Version> = PerProcess::new();
    VERSION.get_or_init(|| Version::of_kernels(KERNELS))
}

pub(crate) const KERNELS: &[&[&KernelDesc]] = {
    use tilewright_kernels::align_operand::copies::*;
    use tilewright_kernels::batched_matmul::batched::*;
    use tilewright_kernels::gemm::scaled::{gemm, scaled_product};
    use tilewright_kernels::matmul::products::*;
    use tilewright_kernels::matmul_f32::f32_products::*;
    use tilewright_kernels::matmul_int8::quantized::{int8_row_sums, matmul_int8, quantize};
    &[
        matmul_nn::DESCS,
        matmul_nt::DESCS,
        matmul_tn::DESCS,
        matmul_tt::DESCS,
        matmul_tf32::DESCS,
        matmul_tf32_nn::DESCS,
        matmul_tf32_tt::DESCS,
        matmul_tf32_tn::DESCS,
        matmul_i8::DESCS,
        matmul_f8::DESCS,
        matmul_f16_i8::DESCS,
        matmul_f16_f8::DESCS,
        matmul_f32::DESCS,
        matmul_f32_nn::DESCS,
        matmul_f32_tn::DESCS,
        matmul_row_nn::DESCS,
        matmul_row_nt::DESCS,
        matmul_outer::DESCS,
        matmul_outer_t::DESCS,
        matmul_f32_3xtf32_presplit::DESCS,
        matmul_f32_3xtf32_nn::DESCS,
        matmul_f32_3xtf32_nt::DESCS,
        batched_matmul::DESCS,
        batched_matmul_f32::DESCS,
        batched_matmul_f32_3xtf32::DESCS,
        gemm::DESCS,
        scaled_product::DESCS,
        matmul_int8::DESCS,
        quantize::DESCS,
        int8_row_sums::DESCS,
        align_operand::DESCS,
        align_operand_transposed::DESCS,
        align_operands_nn::DESCS,
        align_operands_nt::DESCS,
        align_operands_tn::DESCS,
        align_operands_tt::DESCS,
        upcast_to_f16::DESCS,
        tf32_decompose::DESCS,
        tf32_decompose_transposed::DESCS,
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::plan::{Copies, MatmulPlan, Orientation, Variant};
    use crate::products::{Transpose, f32_3xtf32, multiply};
    use crate::{Executor, Matmul, Multiply, Quantization, matmul_int8};
    use core::cell::RefCell;
    use tilewright_core::{Call, f16};
    use tilewright_runtime::{Buffer, LaunchOptions, Result, Runtime};

    /// The CPU backend, which records its launches.
    struct Recorder {
        rt: Runtime,
        launched: RefCell<Vec<&'static KernelDesc>>,
    }

    // SAFETY: all of it is the runtime's own.
    unsafe impl Executor for Recorder {
        fn runtime(&self) -> &Runtime {
            &self.rt
        }

        fn launch_as(&self, call: Call<'_>, options: LaunchOptions) -> Result<()> {
            self.launched.borrow_mut().push(call.desc());
            self.rt.launch_with(self.rt.stream(), call, &options)
        }
    }

    const DIMS: [usize; 2] = [3, 3];

    fn launched<T: Multiply>(on: &Recorder, kernel: &'static KernelDesc, variant: Variant) {
        let x = Buffer::<T>::zeros(&on.rt, 9).unwrap();
        let mut c = Buffer::<T::Product>::zeros(&on.rt, 9).unwrap();
        let plan = MatmulPlan { orientation: Orientation::AsGiven, variant, kernel, config: None };
        let product = Matmul::new(x.view(DIMS).unwrap(), x.view(DIMS).unwrap(), c.view_mut(DIMS).unwrap());
        product.launch_by(on, &plan).unwrap();
    }

    fn copied<T: Multiply>(on: &Recorder) {
        for transposed in [(false, false), (false, true), (true, false), (true, true)] {
            for both in [(true, false), (false, true), (true, true)] {
                let copies = Copies { a: both.0.then_some(transposed.0), b: both.1.then_some(transposed.1) };
                let order = Transpose { a: copies.a == Some(true), b: copies.b == Some(true) };
                let kernel = T::desc(multiply::MatmulVariant { transpose: order, tf32: false });
                launched::<T>(on, kernel, Variant::Tiles { copies, stream_k: false });
            }
        }
    }

    /// A stored choice is of the code of all launches of its plan.
    #[test]
    fn choices_change_with_every_kernel_that_plans_launch() {
        let on = Recorder { rt: Runtime::cpu(), launched: RefCell::default() };
        copied::<f16>(&on);
        copied::<f32>(&on);
        copied::<i8>(&on);
        launched::<f32>(&on, f32_3xtf32::presplit_desc(), Variant::DecomposedTf32x3);
        launched::<i8>(&on, <i8 as multiply::Kernels>::mixed_input().unwrap().desc, Variant::MixedInput);
        let q = Quantization { scale_a: 1.0, scale_b: 1.0, scale_c: 1.0, zero_a: 3, zero_b: 5, zero_c: 0 };
        let x = Buffer::<i8>::zeros(&on.rt, 9).unwrap();
        let mut c = Buffer::<i8>::zeros(&on.rt, 9).unwrap();
        matmul_int8(&on, x.view(DIMS).unwrap(), x.view(DIMS).unwrap(), c.view_mut(DIMS).unwrap(), &q).unwrap();
        let launched = on.launched.into_inner();
        for beside in [
            "align_operand",
            "align_operand_transposed",
            "align_operands_nn",
            "align_operands_nt",
            "align_operands_tn",
            "align_operands_tt",
            "upcast_to_f16",
            "int8_row_sums",
            "tf32_decompose",
            "tf32_decompose_transposed",
        ] {
            assert!(launched.iter().any(|k| k.name == beside), "no plan launched {beside}");
        }
        for kernel in launched {
            let is_known = KERNELS.iter().flat_map(|k| k.iter()).any(|k| core::ptr::eq(*k, kernel));
            assert!(is_known, "{} is in no version", kernel.name);
        }
    }
}
