//! All kernels of products.

use tilewright_core::KernelDesc;
use tilewright_core::cpu::fork::PerProcess;
use tilewright_runtime::tuning::Version;

/// Changes with any kernel of a plan of a product.
pub(super) fn version() -> &'static Version {
    static VERSION: PerProcess<Version> = PerProcess::new();
    VERSION.get_or_init(|| Version::of_kernels(KERNELS))
}

pub(crate) const KERNELS: &[&[&KernelDesc]] = {
    use tilewright_kernels::batched_matmul::batched::*;
    use tilewright_kernels::gemm::scaled::{gemm, scaled_product};
    use tilewright_kernels::matmul::products::*;
    use tilewright_kernels::matmul_f32::f32_products::*;
    use tilewright_kernels::matmul_int8::quantized::{matmul_int8, quantize};
    &[
        matmul_nn::DESCS,
        matmul_nt::DESCS,
        matmul_tn::DESCS,
        matmul_tt::DESCS,
        matmul_tf32::DESCS,
        matmul_tf32_nn::DESCS,
        matmul_tf32_tt::DESCS,
        matmul_i8::DESCS,
        matmul_f8::DESCS,
        matmul_f16_i8::DESCS,
        matmul_f16_f8::DESCS,
        matmul_f32::DESCS,
        matmul_f32_nn::DESCS,
        matmul_row_nn::DESCS,
        matmul_row_nt::DESCS,
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
    ]
};
