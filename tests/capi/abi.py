"""The C ABI through ctypes. Usage: abi.py LIBRARY. Needs TILE_BACKEND=cpu, where pointers are host pointers."""
import ctypes, math, struct, sys, threading

lib = ctypes.CDLL(sys.argv[1])
lib.tile_last_error.restype = ctypes.c_char_p
I, L, Z, P, F = ctypes.c_int, ctypes.c_longlong, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_float
U = ctypes.c_ulonglong
SIGNATURES = {
    "solve_vector_add": [P, P, P, Z],
    "solve_matrix_transpose": [P, P, I, I],
    "solve_softmax": [P, P, I],
    "solve_color_inversion": [P, I, I],
    "solve_1d_convolution": [P, P, P, I, I],
    "solve_reverse_array": [P, I],
    "solve_relu": [P, P, I],
    "solve_leaky_relu": [P, P, I],
    "solve_gelu": [P, P, I],
    "solve_rainbow_table": [P, P, I, I],
    "solve_matrix_copy": [P, P, I],
    "solve_count_array_element": [P, P, I, I],
    "solve_count_2d_array_element": [P, P, I, I, I],
    "solve_reduction": [P, P, I],
    "solve_matrix_multiplication": [P, P, P, I, I, I],
    "solve_gemm": [P, P, P, I, I, I, F, F],
    "solve_int8_quantized_matmul": [P, P, P, I, I, I, F, F, F, I, I, I],
    "solve_fp16_dot_product": [P, P, P, I],
    "solve_batched_matrix_multiplication": [P, P, P, I, I, I, I],
    "solve_fp16_batched_matmul": [P, P, P, I, I, I, I],
    "solve_matrix_addition": [P, P, P, I],
    "solve_sigmoid": [P, P, Z],
    "solve_silu": [P, P, I],
    "solve_swiglu": [P, P, I],
    "solve_geglu": [P, P, I],
    "solve_value_clipping": [P, P, F, F, I],
    "solve_interleave": [P, P, P, I],
    "solve_rgb_to_grayscale": [P, P, I, I],
    "solve_rope_embedding": [P, P, P, P, I, I],
    "solve_weight_dequantization": [P, P, P, I, I, I],
    "solve_dot_product": [P, P, P, I],
    "solve_monte_carlo_integration": [P, P, F, F, I],
    "solve_count_3d_array_element": [P, P, I, I, I, I],
    "solve_subarray_sum": [P, P, I, I, I],
    "solve_2d_subarray_sum": [P, P, I, I, I, I, I, I],
    "solve_3d_subarray_sum": [P, P, I, I, I, I, I, I, I, I, I],
    "solve_mean_squared_error": [P, P, P, I],
    "solve_categorical_cross_entropy_loss": [P, P, P, I, I],
    "solve_ppo_clipped_surrogate_loss": [P, P, P, P, F, I, I],
    "solve_dpo_sequence_loss": [P, P, P, P, P, F, I],
    "solve_grpo_surrogate_loss": [P, P, P, P, P, F, F, I, I, I],
    "solve_rms_normalization": [P, F, F, P, I, F],
    "solve_batch_normalization": [P, P, P, P, I, I, F],
    "solve_layer_normalization": [P, P, P, P, I, I, F],
    "solve_fused_residual_add_rms_norm": [P, P, P, P, I, I, F],
    "solve_group_normalization": [P, P, P, P, I, I, I, I, I, F],
    "solve_token_embedding_layer": [P, P, P, P, P, P, P, I, I, I, I, I, F],
    "solve_sparse_matrix_vector_multiplication": [P, P, P, I, I, I],
    "solve_moe_topk_gating": [P, P, P, I, I, I],
    "solve_nearest_neighbor": [P, P, I],
    "solve_multi_agent_sim": [P, P, I],
    "solve_int8_kv_cache_attention": [P, P, P, P, P, P, I, I, I],
    "solve_2d_convolution": [P, P, P, I, I, I, I],
    "solve_3d_convolution": [P, P, P, I, I, I, I, I, I],
    "solve_gaussian_blur": [P, P, P, I, I, I, I],
    "solve_2d_max_pooling": [P, P, I, I, I, I, I, I, I],
    "solve_jacobi_stencil_2d": [P, P, I, I],
    "solve_causal_depthwise_conv1d": [P, P, P, P, I, I, I, I],
    "solve_prefix_sum": [P, P, I],
    "solve_segmented_prefix_sum": [P, P, P, I],
    "solve_stream_compaction": [P, I, P],
    "solve_max_subarray_sum": [P, P, I, I],
    "solve_linear_recurrence": [P, P, P, I, I],
    "solve_gae_reverse_scan": [P, P, P, F, F, I, I],
    "solve_ssm_selective_scan": [P, P, P, P, P, P, P, I, I, I, I],
    "solve_histogramming": [P, P, I, I],
    "solve_sorting": [P, I],
    "solve_radix_sort": [P, P, I],
    "solve_top_k_selection": [P, P, I, I],
    "solve_parallel_merge": [P, P, P, I, I],
    "tile_batched_matmul": [I, P, P, P, L, L, L, L],
    "tile_grouped_matmul": [I, I, P, P, P, P, L, L, L, L],
    "tile_matmul": [I, I, I, I, P, P, P, L, L, L],
    "tile_matmul_relu": [I, I, I, I, P, P, P, L, L, L],
    "tile_matmul_leaky_relu": [I, I, I, I, P, P, P, L, L, L],
    "tile_vector_add": [I, P, P, P, L],
    "tile_relu": [I, P, P, L],
    "tile_leaky_relu": [I, P, P, L],
    "tile_gelu": [I, P, P, L],
    "tile_swiglu": [I, P, P, P, L],
    "tile_swiglu_backward": [I, P, P, P, P, P, L],
    "tile_cross_entropy": [I, P, P, P, P, L, L],
    "tile_cross_entropy_backward": [I, P, P, P, P, P, L, L],
    "tile_softmax_rows": [P, P, L, L],
    "tile_softmax": [I, P, P, L, L],
    "tile_softmax_backward": [I, P, P, P, L, L],
    "tile_dropout": [I, P, P, L, F, U],
    "tile_embedding": [I, P, P, P, L, L, L],
    "tile_embedding_backward": [I, P, P, P, L, L, L],
    "tile_rope": [I, P, P, P, P, P, L, L, L, L, L, I],
    "tile_rope_backward": [I, P, P, P, P, P, L, L, L, L, L, I],
    "tile_layer_norm": [I, P, P, P, P, L, L, F],
    "tile_rms_norm": [I, P, P, P, L, L, F],
    "tile_add_rms_norm": [I, P, P, P, P, P, L, L, F],
    "tile_layer_norm_backward": [I, P, P, P, P, P, P, L, L, F],
    "tile_rms_norm_backward": [I, P, P, P, P, P, L, L, F],
    "tile_attention": [I, P, P, P, P, L, L, L, L, L, F, I],
    "tile_set_stream": [P],
    "tile_prepare": [I],
    "tile_create": [P],
    "tile_destroy": [P],
    "tile_handle_set_stream": [P, P],
    "tile_handle_prepare": [P, I],
}
# The general operations with a handle: the same arguments, behind it.
HANDLED = ["vector_add", "relu", "leaky_relu", "gelu", "swiglu", "swiglu_backward", "cross_entropy",
           "cross_entropy_backward", "softmax_rows", "softmax", "softmax_backward", "dropout", "embedding",
           "embedding_backward", "rope", "rope_backward", "layer_norm", "rms_norm", "add_rms_norm",
           "layer_norm_backward", "rms_norm_backward", "matmul", "matmul_relu", "matmul_leaky_relu",
           "batched_matmul", "grouped_matmul", "attention"]
for operation in HANDLED:
    SIGNATURES["tile_handle_" + operation] = [P] + SIGNATURES["tile_" + operation]
lib.tile_version.restype = lib.tile_handle_last_error.restype = ctypes.c_char_p
lib.tile_handle_last_error.argtypes = [P]
for name, args in SIGNATURES.items():
    f = getattr(lib, name)
    f.restype, f.argtypes = I, args

# Every function survives null pointers and absurd sizes, and names the mistake.
big = {I: 2**31 - 1, L: 2**63 - 1, Z: 2**64 - 1, P: None, F: float("inf")}
low = {I: -(2**31), L: -(2**63), Z: 1, P: None, F: float("nan")}
for name, args in SIGNATURES.items():
    if name in ("tile_set_stream", "tile_destroy"):
        continue
    for values in (big, low):
        f = getattr(lib, name)
        rc = f(*[values[a] for a in args])
        assert rc == 1, (name, values, rc, lib.tile_last_error())
        assert lib.tile_last_error(), name

# A length of zero is a success that touches nothing, with memory and without. Each Z is a length without which there is nothing to do.
EMPTY = {
    "solve_vector_add": [P, P, P, Z],
    "solve_matrix_transpose": [P, P, Z, Z],
    "solve_softmax": [P, P, Z],
    "solve_color_inversion": [P, Z, Z],
    "solve_1d_convolution": [P, P, P, Z, 2],
    "solve_reverse_array": [P, Z],
    "solve_relu": [P, P, Z],
    "solve_leaky_relu": [P, P, Z],
    "solve_gelu": [P, P, Z],
    "solve_rainbow_table": [P, P, Z, 2],
    "solve_matrix_copy": [P, P, Z],
    "solve_matrix_multiplication": [P, P, P, Z, 2, Z],
    "solve_gemm": [P, P, P, Z, Z, 2, 1.0, 1.0],
    "solve_int8_quantized_matmul": [P, P, P, Z, Z, 2, 1.0, 1.0, 1.0, 0, 0, 0],
    "solve_batched_matrix_multiplication": [P, P, P, Z, Z, Z, 2],
    "solve_fp16_batched_matmul": [P, P, P, Z, Z, Z, 2],
    "solve_matrix_addition": [P, P, P, Z],
    "solve_sigmoid": [P, P, Z],
    "solve_silu": [P, P, Z],
    "solve_swiglu": [P, P, Z],
    "solve_geglu": [P, P, Z],
    "solve_value_clipping": [P, P, 0.0, 1.0, Z],
    "solve_interleave": [P, P, P, Z],
    "solve_rgb_to_grayscale": [P, P, Z, Z],
    "solve_rope_embedding": [P, P, P, P, Z, Z],
    "solve_weight_dequantization": [P, P, P, Z, Z, 2],
    "solve_rms_normalization": [P, 1.0, 0.0, P, Z, 0.1],
    "solve_batch_normalization": [P, P, P, P, Z, Z, 0.1],
    "solve_layer_normalization": [P, P, P, P, Z, Z, 0.1],
    "solve_fused_residual_add_rms_norm": [P, P, P, P, Z, Z, 0.1],
    "solve_group_normalization": [P, P, P, P, Z, Z, Z, Z, 2, 0.1],
    "solve_token_embedding_layer": [P, P, P, P, P, P, P, Z, Z, 2, 2, Z, 0.1],
    "solve_sparse_matrix_vector_multiplication": [P, P, P, Z, 2, 2],
    "solve_moe_topk_gating": [P, P, P, Z, 2, Z],
    "solve_nearest_neighbor": [P, P, Z],
    "solve_multi_agent_sim": [P, P, Z],
    "solve_int8_kv_cache_attention": [P, P, P, P, P, P, Z, 2, Z],
    "solve_2d_convolution": [P, P, P, Z, Z, 2, 2],
    "solve_3d_convolution": [P, P, P, Z, Z, Z, 2, 2, 2],
    "solve_gaussian_blur": [P, P, P, Z, Z, 2, 2],
    "solve_2d_max_pooling": [P, P, Z, Z, Z, Z, 2, 2, 0],
    "solve_jacobi_stencil_2d": [P, P, Z, Z],
    "solve_causal_depthwise_conv1d": [P, P, P, P, Z, Z, Z, 2],
    "solve_prefix_sum": [P, P, Z],
    "solve_segmented_prefix_sum": [P, P, P, Z],
    "solve_stream_compaction": [P, Z, P],
    "solve_max_subarray_sum": [P, P, Z, 2],
    "solve_linear_recurrence": [P, P, P, Z, Z],
    "solve_gae_reverse_scan": [P, P, P, 0.9, 0.8, Z, Z],
    "solve_ssm_selective_scan": [P, P, P, P, P, P, P, Z, Z, Z, 2],
    "solve_sorting": [P, Z],
    "solve_radix_sort": [P, P, Z],
    "solve_top_k_selection": [P, P, 2, Z],
    "solve_parallel_merge": [P, P, P, Z, 0],
    "tile_batched_matmul": [0, P, P, P, Z, Z, Z, 2],
    "tile_grouped_matmul": [1, 0, P, P, P, P, Z, Z, Z, 2],
    "tile_matmul": [0, 0, 0, 0, P, P, P, Z, Z, 2],
    "tile_matmul_relu": [0, 0, 0, 0, P, P, P, Z, Z, 2],
    "tile_matmul_leaky_relu": [0, 0, 0, 0, P, P, P, Z, Z, 2],
    "tile_vector_add": [0, P, P, P, Z],
    "tile_relu": [0, P, P, Z],
    "tile_leaky_relu": [0, P, P, Z],
    "tile_gelu": [0, P, P, Z],
    "tile_swiglu": [0, P, P, P, Z],
    "tile_swiglu_backward": [0, P, P, P, P, P, Z],
    "tile_cross_entropy": [0, P, P, P, P, Z, 2],
    "tile_cross_entropy_backward": [0, P, P, P, P, P, 2, Z],
    "tile_softmax_rows": [P, P, Z, Z],
    "tile_softmax": [0, P, P, Z, Z],
    "tile_softmax_backward": [0, P, P, P, Z, Z],
    "tile_dropout": [0, P, P, Z, 0.5, 7],
    "tile_embedding": [0, P, P, P, Z, 2, Z],
    "tile_embedding_backward": [0, P, P, P, Z, 2, Z],
    "tile_rope": [0, P, P, P, P, P, Z, Z, Z, 1, 2, 0],
    "tile_rope_backward": [0, P, P, P, P, P, Z, Z, Z, 1, 2, 1],
    "tile_layer_norm": [0, P, P, P, P, Z, Z, 0.1],
    "tile_rms_norm": [0, P, P, P, Z, Z, 0.1],
    "tile_add_rms_norm": [0, P, P, P, P, P, Z, Z, 0.1],
    "tile_layer_norm_backward": [0, P, P, P, P, P, P, 2, Z, 0.1],
    "tile_rms_norm_backward": [0, P, P, P, P, P, 2, Z, 0.1],
    "tile_attention": [1, P, P, P, P, Z, 1, Z, 2, Z, 1.0, 0],
}
# Sums of no elements are 0, if there is a place for the result.
SUMS = {"solve_reduction": [P, P, 0], "solve_count_array_element": [P, P, 0, 5], "solve_count_2d_array_element": [P, P, 0, 3, 5],
        "solve_fp16_dot_product": [P, P, P, 0], "solve_dot_product": [P, P, P, 0],
        "solve_count_3d_array_element": [P, P, 2, 0, 2, 5], "solve_subarray_sum": [P, P, 0, 0, -1],
        "solve_histogramming": [P, P, 0, 1], "solve_2d_subarray_sum": [P, P, 2, 0, 0, 1, 0, -1], "solve_3d_subarray_sum": [P, P, 2, 2, 0, 0, 1, 0, 1, 0, -1]}
# Means of nothing are NaN.
MEANS = {"solve_mean_squared_error": [P, P, P, 0], "solve_monte_carlo_integration": [P, P, 0.0, 1.0, 0],
         "solve_categorical_cross_entropy_loss": [P, P, P, 0, 2], "solve_ppo_clipped_surrogate_loss": [P, P, P, P, 0.2, 2, 0],
         "solve_dpo_sequence_loss": [P, P, P, P, P, 0.1, 0], "solve_grpo_surrogate_loss": [P, P, P, P, P, 0.2, 0.1, 0, 2, 2]}
SETTINGS = {"tile_set_stream", "tile_prepare", "tile_create", "tile_destroy", "tile_handle_set_stream", "tile_handle_prepare"}
assert {*EMPTY, *SUMS, *MEANS, *SETTINGS} | {"tile_handle_" + operation for operation in HANDLED} == {*SIGNATURES}, "a function is missing"
handle = P()
assert lib.tile_create(ctypes.byref(handle)) == 0, lib.tile_last_error()
for operation in HANDLED:
    EMPTY["tile_handle_" + operation] = [handle] + EMPTY["tile_" + operation]
HELD = b"\x4d" * 64
for name, args in EMPTY.items():
    for zero in [i for i, a in enumerate(args) if a is Z]:
        for null in (False, True):
            memory = [ctypes.create_string_buffer(HELD, 64) for a in args if a is P]
            pointers = iter([None] * len(memory) if null else [ctypes.addressof(m) for m in memory])
            made = [next(pointers) if a is P else (0 if i == zero else 2) if a is Z else a for i, a in enumerate(args)]
            assert getattr(lib, name)(*made) == 0, (name, made, lib.tile_last_error())
            assert all(m.raw == HELD for m in memory), (name, made, "memory was written")
for name, args in (SUMS | MEANS).items():
    for null in (False, True):
        memory = [ctypes.create_string_buffer(HELD, 64) for a in args if a is P]
        pointers = iter([None] * len(memory) if null else [ctypes.addressof(m) for m in memory])
        assert getattr(lib, name)(*[next(pointers) if a is P else a for a in args]) == 0, (name, null, lib.tile_last_error())
        size = 0 if null else 2 if "fp16" in name else 4
        value = memory[-1].raw[:size]
        assert math.isnan(struct.unpack("<f", value)[0]) if name in MEANS and size else value == bytes(size), (name, value)
        assert memory[-1].raw[size:] == HELD[size:] and all(m.raw == HELD for m in memory[:-1]), (name, null)

# A handle has a message of its own, which a success keeps.
assert lib.tile_abi_version() == 1 and lib.tile_version().count(b".") == 2
assert lib.tile_handle_last_error(handle) == b"" and lib.tile_handle_last_error(None) == b""
assert lib.tile_handle_relu(handle, 9, None, None, 4) == 1 and b"dtype is 9" in lib.tile_handle_last_error(handle)
assert lib.tile_handle_relu(handle, 0, None, None, 0) == 0 and b"dtype is 9" in lib.tile_handle_last_error(handle)
assert lib.tile_handle_prepare(handle, 2) == 1 and b"on is 2" in lib.tile_handle_last_error(handle)

# A handle that prepares writes nothing, and does not change calls without it.
before, after = (ctypes.c_float * 4)(-1, 2, -3, 4), (ctypes.c_float * 4)()
assert lib.tile_handle_prepare(handle, 1) == 0 and lib.tile_handle_relu(handle, 0, before, after, 4) == 0 and list(after) == [0] * 4
assert lib.tile_relu(0, before, after, 4) == 0 and list(after) == [0, 2, 0, 4]
assert lib.tile_handle_prepare(handle, 0) == 0 and lib.tile_handle_set_stream(handle, None) == 0
assert lib.tile_handle_gelu(handle, 0, before, after, 4) == 0 and abs(after[1] - 1.9546) < 1e-4
assert lib.tile_destroy(handle) == 0 and lib.tile_destroy(None) == 0

# Good codes, absurd sizes.
for sizes in ((2**62, 2, 2), (2**31, 2**31, 1), (2, 2, -1)):
    for dtype in range(6):
        assert lib.tile_matmul(dtype, 0, 0, 1, None, None, None, *sizes) == 1 and lib.tile_last_error(), (dtype, sizes)
    for dtype in range(3):
        assert lib.tile_batched_matmul(dtype, None, None, None, 3, *sizes) == 1 and lib.tile_last_error(), (dtype, sizes)

# Norms, where bias, sum and db may be null.
def floats(*values):
    return (ctypes.c_float * len(values))(*values)


x, weight, y, total = floats(3, -3), floats(1, 2), floats(9, 9), floats(9, 9)
assert lib.tile_rms_norm(0, x, weight, y, 1, 2, 0.0) == 0 and list(y) == [1, -2]
assert lib.tile_layer_norm(0, x, weight, None, y, 1, 2, 0.0) == 0 and list(y) == [1, -2]
assert lib.tile_layer_norm(0, x, weight, floats(1, 1), y, 1, 2, 0.0) == 0 and list(y) == [2, -1]
assert lib.tile_add_rms_norm(0, x, x, weight, None, y, 1, 2, 0.0) == 0 and list(y) == [1, -2]
assert lib.tile_add_rms_norm(0, x, x, weight, total, y, 1, 2, 0.0) == 0 and list(total) == [6, -6]
residual = floats(1, -1)
assert lib.tile_add_rms_norm(0, x, residual, weight, residual, y, 1, 2, 0.0) == 0 and list(residual) == [4, -4]
dw, db = floats(9, 9), floats(9, 9)
assert lib.tile_rms_norm_backward(0, x, weight, floats(3, 0), y, dw, 1, 2, 0.0) == 0
assert (list(y), list(dw)) == ([0.5, 0.5], [3, 0])
assert lib.tile_layer_norm_backward(0, x, weight, floats(3, 0), y, dw, db, 1, 2, 0.0) == 0
assert (list(y), list(dw), list(db)) == ([0, 0], [3, 0], [3, 0])
assert lib.tile_layer_norm_backward(0, x, weight, floats(3, 0), y, dw, None, 1, 2, 0.0) == 0
assert lib.tile_rms_norm_backward(0, None, weight, None, None, dw, 0, 2, 0.0) == 0 and list(dw) == [0, 0]
assert lib.tile_rms_norm(0, x, weight, x, 1, 2, 0.0) == 2 and b"overlap" in lib.tile_last_error()
assert lib.tile_rms_norm(3, x, weight, y, 1, 2, 0.0) == 1 and b"dtype" in lib.tile_last_error()

# Logits of two classes: a loss, a row that is ignored, and a target that is no class.
logits, targets = floats(0, 0, 1, 3, 0, 0), (ctypes.c_int * 3)(1, -1, 2)
losses, lse, gradient = floats(9, 9, 9), floats(9, 9, 9), floats(*[9] * 6)
assert lib.tile_cross_entropy(0, logits, targets, losses, lse, 3, 2) == 0
assert abs(losses[0] - math.log(2)) < 1e-6 and losses[1] == 0 and math.isnan(losses[2])
assert abs(lse[1] - math.log(math.exp(1) + math.exp(3))) < 1e-6
assert lib.tile_cross_entropy(0, logits, targets, losses, None, 3, 2) == 0
assert lib.tile_cross_entropy_backward(0, logits, targets, lse, floats(4, 4, 4), gradient, 3, 2) == 0
assert abs(gradient[0] - 2) < 1e-6 and abs(gradient[1] + 2) < 1e-6 and list(gradient[2:4]) == [0, 0]
assert lib.tile_cross_entropy(0, logits, targets, logits, None, 3, 2) == 2 and b"overlap" in lib.tile_last_error()

# Softmax, dropout, rows of a table, and heads of four elements that rotate by a right angle.
y = floats(9, 9)
assert lib.tile_softmax(0, floats(0, 0), y, 1, 2) == 0 and list(y) == [0.5, 0.5]
assert lib.tile_softmax_backward(0, floats(0.25, 0.75), floats(4, 0), y, 1, 2) == 0 and list(y) == [0.75, -0.75]
assert lib.tile_softmax(3, x, y, 1, 2) == 1 and b"dtype" in lib.tile_last_error()
many = floats(*[3] * 1000)
assert lib.tile_dropout(0, many, many, 1000, 0.25, 7) == 0 and set(many) == {0, 4} and 200 < list(many).count(0) < 300
assert lib.tile_dropout(0, many, many, 1000, 1.5, 7) == 1 and b"p is 1.5" in lib.tile_last_error()
table, ids, found = floats(1, 2, 3, 4), (ctypes.c_int * 3)(1, -1, 2), floats(*[9] * 6)
assert lib.tile_embedding(0, table, ids, found, 3, 2, 2) == 0
assert list(found[:4]) == [3, 4, 0, 0] and all(map(math.isnan, found[4:]))
assert lib.tile_embedding_backward(0, ids, floats(1, 2, 3, 4, 5, 6), table, 3, 2, 2) == 0 and list(table) == [1, 2, 4, 6]
heads, cosines, sines, result = floats(1, 2, 3, 4), floats(1, 1, 0, 0), floats(0, 0, 1, 1), floats(*[9] * 4)
right = (ctypes.c_int * 1)(1)
assert lib.tile_rope(0, heads, cosines, sines, right, result, 1, 1, 4, 2, 2, 0) == 0 and list(result) == [-3, -4, 1, 2]
assert lib.tile_rope_backward(0, result, cosines, sines, right, result, 1, 1, 4, 2, 2, 0) == 0 and list(result) == list(heads)
assert lib.tile_rope(0, heads, cosines, sines, right, result, 1, 1, 4, 2, 2, 1) == 0 and list(result) == [-2, 1, -4, 3]
assert lib.tile_rope(0, heads, cosines, sines, None, result, 1, 1, 4, 2, 2, 1) == 0 and list(result) == list(heads)
assert lib.tile_rope(0, heads, cosines, sines, None, result, 1, 1, 4, 3, 2, 1) != 0 and b"pairs" in lib.tile_last_error()
assert lib.tile_rope(0, heads, cosines, sines, None, result, 1, 1, 4, 2, 2, 2) == 1 and b"interleaved" in lib.tile_last_error()
gate, up = floats(0, 100), floats(3, 2)
assert lib.tile_swiglu(0, gate, up, y, 2) == 0 and list(y) == [0, 200]
assert lib.tile_swiglu_backward(0, gate, up, floats(2, 1), y, total, 2) == 0
assert (list(y), list(total)) == ([3, 2], [0, 100])

# A message belongs to its thread.
mine = lib.tile_last_error()
seen = []
def other():
    seen.append(lib.tile_last_error())
    lib.solve_relu(None, None, -5)
    seen.append(lib.tile_last_error())
t = threading.Thread(target=other); t.start(); t.join()
assert seen[0] == b"" and b"-5" in seen[1], seen
assert lib.tile_last_error() == mine

# Results, from several threads at once.
def work(k, wrong):
    n = 5000 + k
    x = (ctypes.c_float * n)(*[((i * 7919 + k) % 201) - 100 for i in range(n)])
    y = (ctypes.c_float * n)()
    s = (ctypes.c_float * 1)(-1.0)
    for _ in range(5):
        if lib.solve_relu(x, y, n) or list(y) != [max(v, 0.0) for v in x]: wrong.append("relu")
        if lib.solve_reduction(x, s, n) or s[0] != sum(x): wrong.append(("sum", s[0], sum(x)))
        if lib.solve_reverse_array(y, n) or list(y) != [max(v, 0.0) for v in x][::-1]: wrong.append("reverse")
wrong = []
threads = [threading.Thread(target=work, args=(k, wrong)) for k in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
assert not wrong, wrong

# Numbers are bit patterns in every dtype: that of f16 from struct, bf16 is the upper half of an f32, fp8 by its definition.
def bf16(v):
    bits, = struct.unpack("<I", struct.pack("<f", v))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
def e4m3(v):
    byte = min(range(127), key=lambda b: abs(from_e4m3(b) - abs(v)))
    assert from_e4m3(byte) == abs(v), v
    return byte | (0x80 if v < 0 else 0)
def from_e4m3(b):
    exponent, fraction = b >> 3 & 15, b & 7
    size = fraction * 2.0**-9 if exponent == 0 else (8 + fraction) * 2.0**(exponent - 10)
    return -size if b & 0x80 else size
def f16(v): return struct.unpack("<H", struct.pack("<e", v))[0]
def from_f16(bits): return struct.unpack("<e", struct.pack("<H", bits))[0]
def from_bf16(bits): return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
def same(v): return v
# Of a code: how an operand's elements are written, and how a result's are written and read.
F32, F16, BF16 = (ctypes.c_float, same, same), (ctypes.c_uint16, f16, from_f16), (ctypes.c_uint16, bf16, from_bf16)
# e5m2 is the upper half of an f16.
def e5m2(v):
    bits = F16[1](v)
    assert bits & 0xff == 0, v
    return bits >> 8
def from_e5m2(b): return F16[2](b << 8)
DTYPES = {0: (F32, F32), 1: (F16, F16), 2: (BF16, BF16), 3: ((ctypes.c_int8, same, same), (ctypes.c_int32, same, same)), 4: ((ctypes.c_uint8, e4m3, from_e4m3), BF16),
          5: ((ctypes.c_uint8, e5m2, from_e5m2), BF16)}

def matrix(dtype, rows):
    t, to, _ = dtype
    flat = [to(v) for row in rows for v in row]
    return (t * len(flat))(*flat)
def transposed(rows): return [list(r) for r in zip(*rows)]
# All that is multiplied here is exact in every dtype, the greatest sums in bf16 too.
def small(rows, cols, seed): return [[(seed + 7 * r + 5 * c + r * c) % 7 - 3 for c in range(cols)] for r in range(rows)]
def product(a, b): return [[sum(x * y for x, y in zip(r, c)) for c in transposed(b)] for r in a]
def expect(what, found, dtype, wanted):
    read = [dtype[2](v) for v in found]
    assert read == wanted, (what, [(i, f, w) for i, (f, w) in enumerate(zip(read, wanted)) if f != w][:5])

POISON = 77
for m, n, k in ((1, 1, 1), (2, 2, 3), (5, 7, 9), (17, 33, 15), (16, 8, 32)):
    A, B = small(m, k, 1), small(k, n, 4)
    flat = [v for r in product(A, B) for v in r]
    assert max(map(abs, flat)) <= 256
    for code, (operand, result) in DTYPES.items():
        # Rounded once from a sum in f32.
        leaky = [result[2](result[1](v)) for v in (ctypes.c_float(v * ctypes.c_float(0.01).value).value if v < 0 else v for v in flat)]
        for ta in (0, 1):
            for tb in (0, 1):
                a, b = matrix(operand, transposed(A) if ta else A), matrix(operand, transposed(B) if tb else B)
                for name, wanted in (("tile_matmul", flat), ("tile_matmul_relu", [max(v, 0) for v in flat]), ("tile_matmul_leaky_relu", leaky)):
                    if code == 3 and name == "tile_matmul_leaky_relu":
                        continue
                    for precision in (0, 1, 2) if code == 0 else (0, 1):
                        c = (result[0] * (m * n + 1))(*[POISON] * (m * n + 1))
                        what = (name, code, precision, ta, tb, m, n, k)
                        assert getattr(lib, name)(code, precision, ta, tb, a, b, c, m, n, k) == 0, (what, lib.tile_last_error())
                        expect(what, c[:m * n], result, wanted)
                        assert c[m * n] == POISON, (what, "wrote past the end")
        if code in (1, 2):
            # The second group has no rows, and the last row is in none.
            many = [small(k, n, 2 * i) for i in range(3)]
            ends, last = (ctypes.c_int * 3)(m // 2, m // 2, m - 1), m - 1
            for tb in (0, 1):
                b = matrix(operand, [r for one in many for r in (transposed(one) if tb else one)])
                c = (result[0] * (m * n))(*[POISON] * (m * n))
                a = matrix(operand, A)
                assert lib.tile_grouped_matmul(code, tb, a, b, ends, c, 3, m, n, k) == 0, lib.tile_last_error()
                rows = [product([row], many[0 if r < m // 2 else 2])[0] for r, row in enumerate(A[:last])]
                expect(("grouped", code, tb, m, n, k), c[:last * n], result, [v for row in rows for v in row])
                assert all(v == POISON for v in c[last * n:]), ("grouped", code, "a row of no group")
        if code < 3:
            batch = 3
            many = [small(m, k, i) for i in range(batch)], [small(k, n, 2 * i) for i in range(batch)]
            a, b = (matrix(operand, [r for one in of for r in one]) for of in many)
            c = (result[0] * (batch * m * n))(*[POISON] * (batch * m * n))
            assert lib.tile_batched_matmul(code, a, b, c, batch, m, n, k) == 0, lib.tile_last_error()
            wanted = [v for x, y in zip(*many) for r in product(x, y) for v in r]
            expect(("batched", code, m, n, k), c, result, wanted)
            if code < 2:
                solve = (lib.solve_batched_matrix_multiplication, lib.solve_fp16_batched_matmul)[code]
                c = (result[0] * (batch * m * n))()
                assert solve(a, b, c, batch, m, n, k) == 0 and list(c) == [result[1](v) for v in wanted], (code, m, n, k)

# Quantized: scaled sums to nearest even, saturated.
for m, n, k, za, zb, zc in ((1, 1, 1, 0, 0, 0), (5, 7, 9, -4, 3, 2), (17, 33, 15, 0, -128, 127), (3, 2, 0, 1, 2, -5)):
    A, B = [[v * 40 for v in r] for r in small(m, k, 2)], [[v * 42 for v in r] for r in small(k, n, 3)]
    sums = product([[v - za for v in r] for r in A], [[v - zb for v in r] for r in B]) if k else [[0] * n] * m
    wanted = [min(max(round(v / 128) + zc, -128), 127) for r in sums for v in r]
    int8 = DTYPES[3][0]
    c = (ctypes.c_int8 * (m * n))(*[POISON] * (m * n))
    assert lib.solve_int8_quantized_matmul(matrix(int8, A), matrix(int8, B), c, m, n, k, 0.25, 0.5, 16.0, za, zb, zc) == 0, lib.tile_last_error()
    assert list(c) == wanted, (m, n, k, list(c), wanted)

for n in (1, 2, 31, 1025):
    x, y = small(1, n, 3)[0], small(1, n, 5)[0]
    one = (ctypes.c_uint16 * 2)(POISON, POISON)
    assert lib.solve_fp16_dot_product(matrix(F16, [x]), matrix(F16, [y]), one, n) == 0, lib.tile_last_error()
    assert from_f16(one[0]) == from_f16(f16(sum(p * q for p, q in zip(x, y)))) and one[1] == POISON, (n, from_f16(one[0]))

for rows, cols in ((1, 1), (3, 5), (7, 781), (2, 1025)):
    X = small(rows, cols, 6)
    y = (ctypes.c_float * (rows * cols + 1))(*[POISON] * (rows * cols + 1))
    assert lib.tile_softmax_rows(matrix(F32, X), y, rows, cols) == 0 and y[rows * cols] == POISON
    for r, row in enumerate(X):
        total = sum(math.exp(v) for v in row)
        for c, v in enumerate(row):
            assert abs(y[r * cols + c] - math.exp(v) / total) <= 1e-6 * math.exp(v) / total + 1e-9, (rows, cols, r, c)
print("ok")
