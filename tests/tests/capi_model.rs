//! The C library over the model of the driver: order, captures, and calls of the driver that fail.

use core::ffi::{c_int, c_void};
use std::cell::Cell;
use tilewright_model_driver::{Entered, Model};
use tilewright_runtime::Driver;

/// Device arrays of one call: two inputs and an output, of `BYTES` each.
#[derive(Clone, Copy)]
struct Arrays([u64; 3]);

const BYTES: usize = 16 << 10;

impl Arrays {
    fn a<T>(self) -> *const T {
        self.0[0] as *const T
    }

    fn b<T>(self) -> *const T {
        self.0[1] as *const T
    }

    fn c<T>(self) -> *mut T {
        self.0[2] as *mut T
    }
}

type Call = unsafe fn(Arrays) -> c_int;

/// A call of every function of the header that takes arrays.
#[expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one argument for all: the arrays are larger than any of these calls asks"
)]
const CALLS: [(&str, Call); 99] = [
    ("solve_vector_add", |x| unsafe { tile::solve_vector_add(x.a(), x.b(), x.c(), 1000) }),
    ("solve_matrix_transpose", |x| unsafe { tile::solve_matrix_transpose(x.a(), x.c(), 20, 30) }),
    ("solve_softmax", |x| unsafe { tile::solve_softmax(x.a(), x.c(), 1000) }),
    ("solve_color_inversion", |x| unsafe { tile::solve_color_inversion(x.c(), 10, 12) }),
    ("solve_1d_convolution", |x| unsafe { tile::solve_1d_convolution(x.a(), x.b(), x.c(), 1000, 7) }),
    ("solve_reverse_array", |x| unsafe { tile::solve_reverse_array(x.c(), 1000) }),
    ("solve_relu", |x| unsafe { tile::solve_relu(x.a(), x.c(), 1000) }),
    ("solve_leaky_relu", |x| unsafe { tile::solve_leaky_relu(x.a(), x.c(), 1000) }),
    ("solve_gelu", |x| unsafe { tile::solve_gelu(x.a(), x.c(), 1000) }),
    ("solve_rainbow_table", |x| unsafe { tile::solve_rainbow_table(x.a(), x.c(), 1000, 2) }),
    ("solve_matrix_copy", |x| unsafe { tile::solve_matrix_copy(x.a(), x.c(), 30) }),
    ("solve_count_array_element", |x| unsafe { tile::solve_count_array_element(x.a(), x.c(), 1000, 1 << 30) }),
    ("solve_count_2d_array_element", |x| unsafe { tile::solve_count_2d_array_element(x.a(), x.c(), 20, 50, 1 << 30) }),
    ("solve_reduction", |x| unsafe { tile::solve_reduction(x.a(), x.c(), 1000) }),
    ("solve_fp16_dot_product", |x| unsafe { tile::solve_fp16_dot_product(x.a(), x.b(), x.c(), 1000) }),
    ("solve_gemm", |x| unsafe { tile::solve_gemm(x.a(), x.b(), x.c(), 24, 32, 40, 1.0, 0.5) }),
    ("solve_int8_quantized_matmul", |x| unsafe {
        tile::solve_int8_quantized_matmul(x.a(), x.b(), x.c(), 24, 32, 40, 0.5, 0.5, 1.0, 1, -2, 3)
    }),
    ("solve_batched_matrix_multiplication", |x| unsafe {
        tile::solve_batched_matrix_multiplication(x.a(), x.b(), x.c(), 2, 24, 32, 40)
    }),
    ("solve_fp16_batched_matmul", |x| unsafe { tile::solve_fp16_batched_matmul(x.a(), x.b(), x.c(), 2, 24, 32, 40) }),
    ("solve_matrix_multiplication", |x| unsafe { tile::solve_matrix_multiplication(x.a(), x.b(), x.c(), 24, 40, 32) }),
    ("solve_matrix_addition", |x| unsafe { tile::solve_matrix_addition(x.a(), x.b(), x.c(), 30) }),
    ("solve_sigmoid", |x| unsafe { tile::solve_sigmoid(x.a(), x.c(), 1000) }),
    ("solve_silu", |x| unsafe { tile::solve_silu(x.a(), x.c(), 1000) }),
    ("solve_swiglu", |x| unsafe { tile::solve_swiglu(x.a(), x.c(), 1002) }),
    ("solve_geglu", |x| unsafe { tile::solve_geglu(x.a(), x.c(), 1002) }),
    ("solve_value_clipping", |x| unsafe { tile::solve_value_clipping(x.a(), x.c(), 0.5, 1.5, 1000) }),
    ("solve_interleave", |x| unsafe { tile::solve_interleave(x.a(), x.b(), x.c(), 1000) }),
    ("solve_rgb_to_grayscale", |x| unsafe { tile::solve_rgb_to_grayscale(x.a(), x.c(), 20, 30) }),
    ("solve_rope_embedding", |x| unsafe { tile::solve_rope_embedding(x.a(), x.b(), x.b(), x.c(), 30, 34) }),
    ("solve_weight_dequantization", |x| unsafe { tile::solve_weight_dequantization(x.a(), x.b(), x.c(), 20, 50, 8) }),
    ("solve_dot_product", |x| unsafe { tile::solve_dot_product(x.a(), x.b(), x.c(), 1000) }),
    ("solve_monte_carlo_integration", |x| unsafe { tile::solve_monte_carlo_integration(x.a(), x.c(), 0.0, 2.0, 1000) }),
    ("solve_count_3d_array_element", |x| unsafe {
        tile::solve_count_3d_array_element(x.a(), x.c(), 10, 5, 20, 1 << 30)
    }),
    ("solve_subarray_sum", |x| unsafe { tile::solve_subarray_sum(x.a(), x.c(), 1000, 7, 900) }),
    ("solve_2d_subarray_sum", |x| unsafe { tile::solve_2d_subarray_sum(x.a(), x.c(), 20, 50, 1, 18, 3, 49) }),
    ("solve_3d_subarray_sum", |x| unsafe { tile::solve_3d_subarray_sum(x.a(), x.c(), 5, 10, 20, 1, 3, 0, 8, 3, 19) }),
    ("solve_mean_squared_error", |x| unsafe { tile::solve_mean_squared_error(x.a(), x.b(), x.c(), 1000) }),
    // Small floats are no columns of labels, which are integers: the loss is NaN.
    ("solve_categorical_cross_entropy_loss", |x| unsafe {
        tile::solve_categorical_cross_entropy_loss(x.a(), x.b(), x.c(), 20, 50)
    }),
    ("solve_ppo_clipped_surrogate_loss", |x| unsafe {
        tile::solve_ppo_clipped_surrogate_loss(x.a(), x.b(), x.a(), x.c(), 0.2, 20, 50)
    }),
    ("solve_dpo_sequence_loss", |x| unsafe {
        tile::solve_dpo_sequence_loss(x.a(), x.b(), x.b(), x.a(), x.c(), 0.1, 1000)
    }),
    ("solve_grpo_surrogate_loss", |x| unsafe {
        tile::solve_grpo_surrogate_loss(x.a(), x.b(), x.a(), x.b(), x.c(), 0.2, 0.1, 5, 10, 20)
    }),
    ("solve_rms_normalization", |x| unsafe { tile::solve_rms_normalization(x.a(), 2.0, 1.0, x.c(), 1000, 0.1) }),
    ("solve_batch_normalization", |x| unsafe {
        tile::solve_batch_normalization(x.a(), x.b(), x.b(), x.c(), 20, 50, 0.1)
    }),
    ("solve_layer_normalization", |x| unsafe {
        tile::solve_layer_normalization(x.a(), x.b(), x.b(), x.c(), 20, 50, 0.1)
    }),
    ("solve_fused_residual_add_rms_norm", |x| unsafe {
        tile::solve_fused_residual_add_rms_norm(x.a(), x.b(), x.b(), x.c(), 20, 50, 0.1)
    }),
    ("solve_group_normalization", |x| unsafe {
        tile::solve_group_normalization(x.a(), x.b(), x.b(), x.c(), 2, 6, 8, 9, 3, 0.1)
    }),
    ("solve_token_embedding_layer", |x| unsafe {
        tile::solve_token_embedding_layer(x.a(), x.b(), x.a(), x.b(), x.b(), x.b(), x.c(), 2, 10, 20, 30, 40, 0.1)
    }),
    ("solve_sparse_matrix_vector_multiplication", |x| unsafe {
        tile::solve_sparse_matrix_vector_multiplication(x.a(), x.b(), x.c(), 20, 50, 300)
    }),
    ("solve_moe_topk_gating", |x| unsafe {
        tile::solve_moe_topk_gating(x.a(), x.c(), x.c::<c_int>().wrapping_add(1000), 20, 50, 3)
    }),
    ("solve_nearest_neighbor", |x| unsafe { tile::solve_nearest_neighbor(x.a(), x.c(), 300) }),
    ("solve_multi_agent_sim", |x| unsafe { tile::solve_multi_agent_sim(x.a(), x.c(), 250) }),
    ("solve_int8_kv_cache_attention", |x| unsafe {
        tile::solve_int8_kv_cache_attention(x.a(), x.b(), x.b(), x.a(), x.a(), x.c(), 2, 200, 32)
    }),
    ("solve_2d_convolution", |x| unsafe { tile::solve_2d_convolution(x.a(), x.b(), x.c(), 20, 50, 3, 5) }),
    ("solve_3d_convolution", |x| unsafe { tile::solve_3d_convolution(x.a(), x.b(), x.c(), 5, 10, 20, 2, 3, 5) }),
    ("solve_gaussian_blur", |x| unsafe { tile::solve_gaussian_blur(x.a(), x.b(), x.c(), 20, 50, 3, 5) }),
    ("solve_2d_max_pooling", |x| unsafe { tile::solve_2d_max_pooling(x.a(), x.c(), 2, 3, 11, 13, 3, 2, 1) }),
    ("solve_jacobi_stencil_2d", |x| unsafe { tile::solve_jacobi_stencil_2d(x.a(), x.c(), 20, 50) }),
    ("solve_causal_depthwise_conv1d", |x| unsafe {
        tile::solve_causal_depthwise_conv1d(x.a(), x.b(), x.b(), x.c(), 2, 10, 50, 4)
    }),
    ("solve_prefix_sum", |x| unsafe { tile::solve_prefix_sum(x.a(), x.c(), 1000) }),
    ("solve_segmented_prefix_sum", |x| unsafe { tile::solve_segmented_prefix_sum(x.a(), x.b(), x.c(), 1000) }),
    ("solve_stream_compaction", |x| unsafe { tile::solve_stream_compaction(x.a(), 1000, x.c()) }),
    ("solve_max_subarray_sum", |x| unsafe { tile::solve_max_subarray_sum(x.a(), x.c(), 1000, 7) }),
    ("solve_linear_recurrence", |x| unsafe { tile::solve_linear_recurrence(x.a(), x.b(), x.c(), 20, 50) }),
    ("solve_gae_reverse_scan", |x| unsafe { tile::solve_gae_reverse_scan(x.a(), x.b(), x.c(), 0.9, 0.8, 20, 50) }),
    ("solve_ssm_selective_scan", |x| unsafe {
        tile::solve_ssm_selective_scan(x.a(), x.b(), x.b(), x.a(), x.b(), x.b(), x.c(), 2, 20, 8, 4)
    }),
    ("solve_histogramming", |x| unsafe { tile::solve_histogramming(x.a(), x.c(), 1000, 30) }),
    ("solve_sorting", |x| unsafe { tile::solve_sorting(x.c(), 1000) }),
    ("solve_radix_sort", |x| unsafe { tile::solve_radix_sort(x.a(), x.c(), 1000) }),
    ("solve_top_k_selection", |x| unsafe { tile::solve_top_k_selection(x.a(), x.c(), 1000, 9) }),
    ("solve_parallel_merge", |x| unsafe { tile::solve_parallel_merge(x.a(), x.b(), x.c(), 1000, 700) }),
    ("tile_batched_matmul", |x| unsafe { tile::tile_batched_matmul(2, x.a(), x.b(), x.c(), 2, 24, 32, 40) }),
    ("tile_grouped_matmul", |x| unsafe { tile::tile_grouped_matmul(1, 1, x.a(), x.b(), x.a(), x.c(), 3, 24, 32, 40) }),
    ("tile_vector_add", |x| unsafe { tile::tile_vector_add(1, x.a(), x.b(), x.c(), 1000) }),
    ("tile_relu", |x| unsafe { tile::tile_relu(2, x.a(), x.c(), 1000) }),
    ("tile_leaky_relu", |x| unsafe { tile::tile_leaky_relu(1, x.a(), x.c(), 1000) }),
    ("tile_gelu", |x| unsafe { tile::tile_gelu(1, x.a(), x.c(), 1000) }),
    ("tile_swiglu", |x| unsafe { tile::tile_swiglu(1, x.a(), x.b(), x.c(), 1000) }),
    ("tile_swiglu_backward", |x| unsafe {
        let y = x.c::<f32>();
        tile::tile_swiglu_backward(0, x.a(), x.b(), x.a(), y.cast(), y.add(1000).cast(), 1000)
    }),
    ("tile_cross_entropy", |x| unsafe {
        let y = x.c::<f32>();
        tile::tile_cross_entropy(2, x.a(), x.b(), y, y.add(10), 10, 100)
    }),
    ("tile_cross_entropy_backward", |x| unsafe {
        tile::tile_cross_entropy_backward(1, x.a(), x.b(), x.b(), x.b(), x.c(), 10, 100)
    }),
    ("tile_softmax_rows", |x| unsafe { tile::tile_softmax_rows(x.a(), x.c(), 10, 100) }),
    ("tile_softmax", |x| unsafe { tile::tile_softmax(1, x.a(), x.c(), 10, 100) }),
    ("tile_softmax_backward", |x| unsafe { tile::tile_softmax_backward(2, x.a(), x.b(), x.c(), 10, 100) }),
    ("tile_dropout", |x| unsafe { tile::tile_dropout(1, x.a(), x.c(), 1000, 0.3, 7) }),
    ("tile_embedding", |x| unsafe { tile::tile_embedding(2, x.a(), x.b(), x.c(), 10, 30, 100) }),
    ("tile_embedding_backward", |x| unsafe { tile::tile_embedding_backward(1, x.b(), x.a(), x.c(), 10, 30, 100) }),
    // Small floats are no positions, which are integers: the results are NaN.
    ("tile_rope", |x| unsafe { tile::tile_rope(0, x.a(), x.b(), x.b(), x.a(), x.c(), 10, 4, 20, 8, 15, 1) }),
    ("tile_rope_backward", |x| unsafe {
        tile::tile_rope_backward(1, x.a(), x.b(), x.b(), core::ptr::null(), x.c(), 10, 4, 20, 8, 5, 0)
    }),
    ("tile_layer_norm", |x| unsafe { tile::tile_layer_norm(1, x.a(), x.b(), x.b(), x.c(), 10, 100, 0.1) }),
    ("tile_rms_norm", |x| unsafe { tile::tile_rms_norm(2, x.a(), x.b(), x.c(), 10, 100, 0.1) }),
    ("tile_add_rms_norm", |x| unsafe {
        let y = x.c::<f32>();
        tile::tile_add_rms_norm(0, x.a(), x.b(), x.b(), y.add(1000).cast(), y.cast(), 10, 100, 0.1)
    }),
    ("tile_layer_norm_backward", |x| unsafe {
        let y = x.c::<f32>();
        let (dw, db) = (y.add(1000).cast(), y.add(1100).cast());
        tile::tile_layer_norm_backward(0, x.a(), x.b(), x.a(), y.cast(), dw, db, 10, 100, 0.1)
    }),
    ("tile_rms_norm_backward", |x| unsafe {
        let y = x.c::<f32>();
        tile::tile_rms_norm_backward(0, x.a(), x.b(), x.a(), y.cast(), y.add(1000).cast(), 10, 100, 0.1)
    }),
    ("tile_matmul", |x| unsafe { tile::tile_matmul(1, 0, 0, 0, x.a(), x.b(), x.c(), 33, 35, 37) }),
    // With scratch: f32 to its accuracy, and few rows.
    ("tile_matmul", |x| unsafe { tile::tile_matmul(0, 0, 1, 0, x.a(), x.b(), x.c(), 40, 24, 64) }),
    ("tile_matmul_relu", |x| unsafe { tile::tile_matmul_relu(0, 1, 0, 1, x.a(), x.b(), x.c(), 8, 48, 64) }),
    ("tile_matmul_leaky_relu", |x| unsafe {
        tile::tile_matmul_leaky_relu(2, 0, 0, 0, x.a(), x.b(), x.c(), 16, 48, 64)
    }),
    ("tile_attention", |x| unsafe { tile::tile_attention(1, x.a(), x.b(), x.b(), x.c(), 2, 1, 8, 8, 16, 0.25, 1) }),
    ("tile_attention", |x| unsafe { tile::tile_attention(2, x.a(), x.b(), x.b(), x.c(), 2, 1, 1, 96, 32, 0.25, 0) }),
];

type HandleCall = unsafe fn(tile::tile_handle_t, Arrays) -> c_int;

/// The calls with a handle, with the arguments of the calls above.
#[expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one argument for all: the arrays are larger than any of these calls asks, and the handle lives"
)]
const HANDLE_CALLS: [(&str, HandleCall); 27] = [
    ("tile_handle_batched_matmul", |h, x| unsafe {
        tile::tile_handle_batched_matmul(h, 2, x.a(), x.b(), x.c(), 2, 24, 32, 40)
    }),
    ("tile_handle_grouped_matmul", |h, x| unsafe {
        tile::tile_handle_grouped_matmul(h, 1, 1, x.a(), x.b(), x.a(), x.c(), 3, 24, 32, 40)
    }),
    ("tile_handle_vector_add", |h, x| unsafe { tile::tile_handle_vector_add(h, 1, x.a(), x.b(), x.c(), 1000) }),
    ("tile_handle_relu", |h, x| unsafe { tile::tile_handle_relu(h, 2, x.a(), x.c(), 1000) }),
    ("tile_handle_leaky_relu", |h, x| unsafe { tile::tile_handle_leaky_relu(h, 1, x.a(), x.c(), 1000) }),
    ("tile_handle_gelu", |h, x| unsafe { tile::tile_handle_gelu(h, 1, x.a(), x.c(), 1000) }),
    ("tile_handle_swiglu", |h, x| unsafe { tile::tile_handle_swiglu(h, 1, x.a(), x.b(), x.c(), 1000) }),
    ("tile_handle_swiglu_backward", |h, x| unsafe {
        let y = x.c::<f32>();
        tile::tile_handle_swiglu_backward(h, 0, x.a(), x.b(), x.a(), y.cast(), y.add(1000).cast(), 1000)
    }),
    ("tile_handle_cross_entropy", |h, x| unsafe {
        let y = x.c::<f32>();
        tile::tile_handle_cross_entropy(h, 2, x.a(), x.b(), y, y.add(10), 10, 100)
    }),
    ("tile_handle_cross_entropy_backward", |h, x| unsafe {
        tile::tile_handle_cross_entropy_backward(h, 1, x.a(), x.b(), x.b(), x.b(), x.c(), 10, 100)
    }),
    ("tile_handle_softmax_rows", |h, x| unsafe { tile::tile_handle_softmax_rows(h, x.a(), x.c(), 10, 100) }),
    ("tile_handle_softmax", |h, x| unsafe { tile::tile_handle_softmax(h, 1, x.a(), x.c(), 10, 100) }),
    ("tile_handle_softmax_backward", |h, x| unsafe {
        tile::tile_handle_softmax_backward(h, 2, x.a(), x.b(), x.c(), 10, 100)
    }),
    ("tile_handle_dropout", |h, x| unsafe { tile::tile_handle_dropout(h, 1, x.a(), x.c(), 1000, 0.3, 7) }),
    ("tile_handle_embedding", |h, x| unsafe { tile::tile_handle_embedding(h, 2, x.a(), x.b(), x.c(), 10, 30, 100) }),
    ("tile_handle_embedding_backward", |h, x| unsafe {
        tile::tile_handle_embedding_backward(h, 1, x.b(), x.a(), x.c(), 10, 30, 100)
    }),
    ("tile_handle_rope", |h, x| unsafe {
        tile::tile_handle_rope(h, 0, x.a(), x.b(), x.b(), x.a(), x.c(), 10, 4, 20, 8, 15, 1)
    }),
    ("tile_handle_rope_backward", |h, x| unsafe {
        tile::tile_handle_rope_backward(h, 1, x.a(), x.b(), x.b(), core::ptr::null(), x.c(), 10, 4, 20, 8, 5, 0)
    }),
    ("tile_handle_layer_norm", |h, x| unsafe {
        tile::tile_handle_layer_norm(h, 1, x.a(), x.b(), x.b(), x.c(), 10, 100, 0.1)
    }),
    ("tile_handle_rms_norm", |h, x| unsafe { tile::tile_handle_rms_norm(h, 2, x.a(), x.b(), x.c(), 10, 100, 0.1) }),
    ("tile_handle_add_rms_norm", |h, x| unsafe {
        let y = x.c::<f32>();
        tile::tile_handle_add_rms_norm(h, 0, x.a(), x.b(), x.b(), y.add(1000).cast(), y.cast(), 10, 100, 0.1)
    }),
    ("tile_handle_layer_norm_backward", |h, x| unsafe {
        let y = x.c::<f32>();
        let (dw, db) = (y.add(1000).cast(), y.add(1100).cast());
        tile::tile_handle_layer_norm_backward(h, 0, x.a(), x.b(), x.a(), y.cast(), dw, db, 10, 100, 0.1)
    }),
    ("tile_handle_rms_norm_backward", |h, x| unsafe {
        let y = x.c::<f32>();
        tile::tile_handle_rms_norm_backward(h, 0, x.a(), x.b(), x.a(), y.cast(), y.add(1000).cast(), 10, 100, 0.1)
    }),
    ("tile_handle_matmul", |h, x| unsafe { tile::tile_handle_matmul(h, 1, 0, 0, 0, x.a(), x.b(), x.c(), 33, 35, 37) }),
    ("tile_handle_matmul_relu", |h, x| unsafe {
        tile::tile_handle_matmul_relu(h, 0, 1, 0, 1, x.a(), x.b(), x.c(), 8, 48, 64)
    }),
    ("tile_handle_matmul_leaky_relu", |h, x| unsafe {
        tile::tile_handle_matmul_leaky_relu(h, 2, 0, 0, 0, x.a(), x.b(), x.c(), 16, 48, 64)
    }),
    ("tile_handle_attention", |h, x| unsafe {
        tile::tile_handle_attention(h, 1, x.a(), x.b(), x.b(), x.c(), 2, 1, 8, 8, 16, 0.25, 1)
    }),
];

macro_rules! functions { ($($name:ident: $symbol:literal($($arg:ident: $t:ty),*);)*) => { $(
    /// # Safety
    /// As of the function of cuda.h.
    unsafe fn $name($($arg: $t),*) -> u32 {
        let f = Model::symbol($symbol).expect("a function of the model");
        // SAFETY: the signature is that of cuda.h.
        let f = unsafe { core::mem::transmute::<*const c_void, unsafe extern "C" fn($($t),*) -> u32>(f) };
        // SAFETY: the caller's contract.
        unsafe { f($($arg),*) }
    }
)* } }

functions! {
    retain_context: "cuDevicePrimaryCtxRetain"(context: &mut *mut c_void, device: i32);
    set_context: "cuCtxSetCurrent"(context: *mut c_void);
    create_stream: "cuStreamCreate"(stream: &mut *mut c_void, flags: u32);
    synchronize: "cuStreamSynchronize"(stream: *mut c_void);
    allocate: "cuMemAllocAsync"(addr: &mut u64, bytes: usize, stream: *mut c_void);
    free: "cuMemFreeAsync"(addr: u64, stream: *mut c_void);
    upload: "cuMemcpyHtoDAsync_v2"(to: u64, from: *const c_void, bytes: usize, stream: *mut c_void);
    download: "cuMemcpyDtoHAsync_v2"(to: *mut c_void, from: u64, bytes: usize, stream: *mut c_void);
    begin_capture: "cuStreamBeginCapture_v2"(stream: *mut c_void, mode: i32);
    end_capture: "cuStreamEndCapture"(stream: *mut c_void, graph: &mut usize);
    instantiate: "cuGraphInstantiateWithFlags"(exec: &mut usize, graph: usize, flags: u64);
    launch_graph: "cuGraphLaunch"(exec: usize, stream: *mut c_void);
}

/// A process that has made nothing yet, with a current context and a stream of the caller's.
struct Caller {
    model: Model,
    stream: *mut c_void,
    _driver: Box<dyn core::any::Any>,
    _model: Entered,
}

impl Caller {
    fn new(seed: u64) -> Caller {
        let model = Model::new(seed);
        let entered = model.enter();
        let kernels = tilewright_kernels::all().into_iter().chain(tilewright_challenges::all());
        kernels.for_each(|d| model.register(d));
        // SAFETY: the model's functions keep to the driver's contract.
        let driver = unsafe { Driver::from_symbols(|name| Model::symbol(name).unwrap_or(core::ptr::null())) };
        let own = driver.expect("the model has all functions").enter();
        let (mut context, mut stream) = (core::ptr::null_mut(), core::ptr::null_mut());
        // SAFETY: room for the handles.
        unsafe {
            retain_context(&mut context, 0);
            set_context(context);
            create_stream(&mut stream, 1);
            assert_eq!(tile::tile_set_stream(stream), tile::TILE_OK);
        }
        Caller { model, stream, _driver: Box::new(own), _model: entered }
    }

    /// Small whole numbers, in each dtype as the bits of f32.
    fn arrays(&self) -> Arrays {
        let mut arrays = Arrays([0; 3]);
        for (i, at) in arrays.0.iter_mut().enumerate() {
            let data: Vec<f32> = (0..BYTES / 4).map(|j| ((j * (i + 2)) % 4) as f32).collect();
            // SAFETY: room for the address, and as many bytes as are copied.
            unsafe {
                assert_eq!(allocate(at, BYTES, self.stream), 0);
                assert_eq!(upload(*at, data.as_ptr().cast(), BYTES, self.stream), 0);
            }
        }
        arrays
    }

    /// The contents of the output, whose arrays are freed.
    fn result(&self, arrays: Arrays) -> Vec<u8> {
        let mut out = vec![0; BYTES];
        // SAFETY: as many bytes as are copied, and arrays that nobody names any more.
        unsafe {
            assert_eq!(download(out.as_mut_ptr().cast(), arrays.0[2], BYTES, self.stream), 0);
            arrays.0.into_iter().for_each(|a| assert_eq!(free(a, self.stream), 0));
            synchronize(self.stream);
        }
        out
    }

    /// The output of a call that is captured in a mode, in a graph that is launched once.
    fn captured(&self, call: Call, arrays: Arrays, mode: c_int, what: &str) -> Vec<u8> {
        let (mut graph, mut exec) = (0, 0);
        // SAFETY: handles of the model, and arrays that are large enough.
        unsafe {
            assert_eq!(begin_capture(self.stream, mode), 0);
            assert_eq!(call(arrays), tile::TILE_OK, "{what}: {}", message());
            assert_eq!(end_capture(self.stream, &mut graph), 0, "{what}");
            assert_eq!(instantiate(&mut exec, graph, 0), 0);
            assert_eq!(launch_graph(exec, self.stream), 0);
        }
        self.result(arrays)
    }

    fn run(&self, call: Call) -> (c_int, Vec<u8>) {
        let arrays = self.arrays();
        // SAFETY: the arrays are large enough for the sizes of every call.
        let code = unsafe { call(arrays) };
        (code, self.result(arrays))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // The library lets go of the stream.
        // SAFETY: the default stream.
        unsafe { tile::tile_set_stream(core::ptr::null_mut()) };
    }
}

fn message() -> String {
    // SAFETY: a string that stays until the next failing call.
    unsafe { core::ffi::CStr::from_ptr(tile::tile_last_error()) }.to_string_lossy().into_owned()
}

#[test]
fn every_function_of_the_header_is_called_over_the_model() {
    let header =
        concat!(include_str!("../../capi/include/tile.h"), include_str!("../../capi/include/tile_challenges.h"));
    let declared = header.lines().filter_map(|l| l.strip_prefix("int ")?.split_once('(')).map(|(name, _)| name);
    // They choose how later calls run, and the tests below call them, or they launch nothing.
    let others = [
        "tile_set_stream",
        "tile_prepare",
        "tile_create",
        "tile_destroy",
        "tile_handle_set_stream",
        "tile_handle_prepare",
        "tile_abi_version",
    ];
    let called = CALLS.iter().map(|(name, _)| *name).chain(HANDLE_CALLS.iter().map(|(name, _)| *name));
    let called: Vec<_> = called.chain(others).collect();
    let missing: Vec<_> = declared.filter(|d| !called.contains(d)).collect();
    assert_eq!(missing, [""; 0], "add a call to `CALLS` or `HANDLE_CALLS`");
}

/// Runs the ignored tests below, each in a process that does not tune.
#[test]
fn the_library_keeps_to_the_driver_over_the_model() {
    for name in [
        "calls_are_ordered_on_the_callers_stream",
        "calls_are_captured_in_every_mode",
        "prepared_calls_are_captured_first",
        "each_call_of_the_driver_fails_once",
        "calls_with_a_handle_use_its_stream",
    ] {
        let out = std::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", &format!("capi_model::{name}"), "--ignored"])
            .env("TILE_AUTOTUNE", "off")
            .env_remove("TILE_BACKEND")
            .output()
            .expect("the test itself");
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && text.contains("1 passed"), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    }
}

/// Arrays are allocated, used and freed in the order of the caller's stream, and nothing is waited for.
#[test]
#[ignore = "wants an environment of its own"]
fn calls_are_ordered_on_the_callers_stream() {
    for seed in 0..2 {
        let caller = Caller::new(seed);
        for (name, call) in CALLS {
            let (code, _) = caller.run(call);
            assert_eq!((code, caller.model.reports()), (tile::TILE_OK, vec![]), "{name}: {}", message());
        }
    }
}

#[test]
#[ignore = "wants an environment of its own"]
fn calls_are_captured_in_every_mode() {
    let caller = Caller::new(3);
    for (name, call) in CALLS {
        let (_, want) = caller.run(call);
        for mode in 0..3 {
            let what = format!("{name}, mode {mode}");
            let result = caller.captured(call, caller.arrays(), mode, &what);
            assert!(result == want, "{what}: another result");
            assert_eq!(caller.model.reports(), [""; 0], "{what}");
        }
    }
}

/// A call that was prepared is captured, in a process that has launched nothing before, and its result is that of a
/// call outside of a capture.
#[test]
#[ignore = "wants an environment of its own"]
fn prepared_calls_are_captured_first() {
    let plain = Caller::new(5);
    let wanted: Vec<_> = CALLS.iter().map(|(_, call)| plain.run(*call).1).collect();
    drop(plain);
    for ((name, call), want) in CALLS.iter().zip(wanted) {
        let caller = Caller::new(6);
        let arrays = caller.arrays();
        assert_eq!(tile::tile_prepare(1), tile::TILE_OK);
        // SAFETY: the arrays are large enough for the sizes of every call.
        assert_eq!(unsafe { call(arrays) }, tile::TILE_OK, "{name} is prepared: {}", message());
        assert_eq!(tile::tile_prepare(0), tile::TILE_OK);
        assert!(caller.captured(*call, arrays, 0, name) == want, "{name}: another result");
        assert_eq!(caller.model.reports(), [""; 0], "{name}");
    }
}

/// Each call of the driver fails in turn, from the first call of the library on. The library gives a code of its own
/// and a message, nothing is used too early or too late, and the next call gives the right result.
#[test]
#[ignore = "wants an environment of its own"]
fn each_call_of_the_driver_fails_once() {
    let failed = Cell::new(0);
    for (name, call) in CALLS {
        let warm = Caller::new(4);
        let (_, want) = warm.run(call);
        let attempt = |caller: &Caller, n: u64, how: &str| {
            let arrays = caller.arrays();
            caller.model.fail(None, n, 2);
            // SAFETY: the arrays are large enough for the sizes of every call.
            let code = unsafe { call(arrays) };
            let came = caller.model.fail_no_more();
            caller.result(arrays);
            let what = format!("{name}, {how}, call {n} of the driver");
            // The driver does not start, or has no memory.
            let codes = [tile::TILE_OK, tile::TILE_ERROR_MEMORY, tile::TILE_ERROR_NO_DEVICE];
            assert!(codes.contains(&code) && (came || code == tile::TILE_OK), "{what}: {code}, {}", message());
            if code != tile::TILE_OK {
                assert!(!message().is_empty(), "{what}: no message");
                failed.set(failed.get() + 1);
            }
            let (code, again) = caller.run(call);
            assert_eq!(code, tile::TILE_OK, "behind {what}: {}", message());
            assert!(again == want, "behind {what}: another result");
            assert_eq!(caller.model.reports(), [""; 0], "{what}");
            came
        };
        let before = warm.model.counts();
        let _ = (0..).find(|n| !attempt(&warm, *n, "warm"));
        let after = warm.model.counts();
        assert!(after.streams == before.streams && after.graphs == before.graphs, "{name}: {before:?}, {after:?}");
        assert!(after.blocks <= before.blocks + 4, "{name} leaves blocks: {before:?}, {after:?}");
        // Of the first calls a few: all functions share how they begin.
        if ["solve_relu", "solve_softmax", "tile_matmul"].contains(&name) {
            let _ = (0..).find(|n| !attempt(&Caller::new(*n), *n, "the first call"));
        }
    }
    assert!(failed.get() > 200, "{} calls failed", failed.get());
}

/// A handle's calls are ordered on its stream, without the thread's settings, and give the results of other calls.
#[test]
#[ignore = "wants an environment of its own"]
fn calls_with_a_handle_use_its_stream() {
    let caller = Caller::new(7);
    let wanted: Vec<_> = HANDLE_CALLS
        .iter()
        .map(|(name, _)| {
            let plain = name.replace("handle_", "");
            let (_, call) = CALLS.iter().find(|(name, _)| *name == plain).expect("a call without a handle");
            let (code, result) = caller.run(*call);
            assert_eq!(code, tile::TILE_OK, "{plain}: {}", message());
            result
        })
        .collect();
    let mut handle = core::ptr::null_mut();
    // SAFETY: room for the handle, the caller's stream, and then the default stream for the thread.
    unsafe {
        assert_eq!(tile::tile_create(&mut handle), tile::TILE_OK, "{}", message());
        assert_eq!(tile::tile_handle_set_stream(handle, caller.stream), tile::TILE_OK, "{}", message());
        assert_eq!(tile::tile_set_stream(core::ptr::null_mut()), tile::TILE_OK);
    }
    for ((name, call), want) in HANDLE_CALLS.iter().zip(wanted) {
        let arrays = caller.arrays();
        // SAFETY: the arrays are large enough for the sizes of every call, and the handle lives.
        assert_eq!(unsafe { call(handle, arrays) }, tile::TILE_OK, "{name}: {}", message());
        assert!(caller.result(arrays) == want, "{name}: another result");
        assert_eq!(caller.model.reports(), [""; 0], "{name}");
    }
    // SAFETY: its last use.
    assert_eq!(unsafe { tile::tile_destroy(handle) }, tile::TILE_OK);
    assert_eq!(caller.model.reports(), [""; 0]);
}
