#!/usr/bin/env python3
"""Every operation in a CUDA graph that torch captures: first call and warm, in each capture mode.

    python3 capture.py PATH/libtile.so [global | thread_local | relaxed | prepared]

Needs one NVIDIA GPU and torch. Each graph is replayed with new inputs and after later work of the library, and its
results are compared with calls outside of a graph. In `prepared`, which is global, tile_prepare comes before first
captures. Without a mode each runs in a process of its own, so that first calls are first.
"""
import ctypes, subprocess, sys
import torch

MODES = ["global", "thread_local", "relaxed", "prepared"]
F32, F16, BF16, I32, I8, U8 = torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8, torch.uint8
i, ll, f, size = ctypes.c_int, ctypes.c_longlong, ctypes.c_float, ctypes.c_size_t
ull = ctypes.c_ulonglong


def matmul(m, n, k, dtype, out, code, precision=0, ta=0, tb=0, name="tile_matmul"):
    head, tail = [i(code), i(precision), i(ta), i(tb)], [ll(m), ll(n), ll(k)]
    return name, [(m * k, dtype), (k * n, dtype)], (m * n, out), lambda a, b, c: [*head, a, b, c, *tail]


def after(pointer, n, dtype):
    """The address after so many elements."""
    return ctypes.c_void_p(pointer.value + n * dtype.itemsize)


def unary(name, n, dtype=F32, out=F32, tail=lambda n: [i(n)]):
    return name, [(n, dtype)], (n, out), lambda x, y: [x, y, *tail(n)]


def simple(name, inputs, output, *tail):
    """Pointers to the inputs and to the output, then numbers."""
    return name, inputs, output, lambda *pointers: [*pointers, *tail]


# Name, inputs, output (length, dtype), arguments. An input is a length and a dtype, and the values that it has: numbers
# below a limit, sorted ones, or ones between 0 and 1. Without inputs it is the output that is read, too.
CASES = [
    unary("solve_relu", 100003), unary("solve_leaky_relu", 100003), unary("solve_gelu", 100003),
    unary("solve_softmax", 500_000), unary("solve_softmax", 1000),
    ("solve_vector_add", [(99999, F32)] * 2, (99999, F32), lambda a, b, c: [a, b, c, size(99999)]),
    ("solve_matrix_transpose", [(333 * 555, F32)], (333 * 555, F32), lambda x, y: [x, y, i(333), i(555)]),
    ("solve_matrix_copy", [(300 * 300, F32)], (300 * 300, F32), lambda x, y: [x, y, i(300)]),
    ("solve_1d_convolution", [(100000, F32), (257, F32)], (99744, F32), lambda x, k, y: [x, k, y, i(100000), i(257)]),
    ("solve_rainbow_table", [(10000, I32)], (10000, I32), lambda x, y: [x, y, i(10000), i(7)]),
    ("solve_count_array_element", [(1_000_000, I32)], (1, I32), lambda x, y: [x, y, i(1_000_000), i(3)]),
    ("solve_count_2d_array_element", [(999 * 777, I32)], (1, I32), lambda x, y: [x, y, i(999), i(777), i(3)]),
    ("solve_reduction", [(1_000_003, F32)], (1, F32), lambda x, y: [x, y, i(1_000_003)]),
    ("solve_reduction", [(50_000_000, F32)], (1, F32), lambda x, y: [x, y, i(50_000_000)]),
    ("solve_fp16_dot_product", [(1_000_003, F16)] * 2, (1, F16), lambda a, b, c: [a, b, c, i(1_000_003)]),
    ("tile_softmax_rows", [(512 * 1000, F32)], (512 * 1000, F32), lambda x, y: [x, y, ll(512), ll(1000)]),
    ("tile_softmax", [(512 * 1000, F16)], (512 * 1000, F16), lambda x, y: [i(1), x, y, ll(512), ll(1000)]),
    ("tile_softmax_backward", [(512 * 1000, BF16)] * 2, (512 * 1000, BF16),
     lambda y, dy, dx: [i(2), y, dy, dx, ll(512), ll(1000)]),
    ("tile_dropout", [(99_999, BF16)], (99_999, BF16), lambda x, y: [i(2), x, y, ll(99_999), f(0.25), ull(7)]),
    ("tile_embedding", [(300 * 256, F16), (500, I32, 300)], (500 * 256, F16),
     lambda t, ids, y: [i(1), t, ids, y, ll(500), ll(300), ll(256)]),
    ("tile_embedding_backward", [(500, I32, 300), (500 * 256, F16)], (300 * 256, F32),
     lambda ids, dy, t: [i(1), ids, dy, t, ll(500), ll(300), ll(256)]),
    *[(f"tile_rope{back}", [(500 * 8 * 128, BF16), (600 * 64, F32), (600 * 64, F32), (500, I32, 600)],
       (500 * 8 * 128, BF16),
       lambda x, c, s, p, y, back=back: [i(2), x, c, s, p, y, *map(ll, (500, 8, 128, 64, 600)), i(back != "")])
      for back in ("", "_backward")],
    ("tile_swiglu", [(99_999, BF16)] * 2, (99_999, BF16), lambda g, u, y: [i(2), g, u, y, ll(99_999)]),
    ("tile_swiglu_backward", [(99_999, F32)] * 3, (2 * 99_999, F32),
     lambda g, u, dy, y: [i(0), g, u, dy, y, after(y, 99_999, F32), ll(99_999)]),
    ("tile_cross_entropy", [(512 * 1000, BF16), (512, I32)], (2 * 512, F32),
     lambda x, t, y: [i(2), x, t, y, after(y, 512, F32), ll(512), ll(1000)]),
    ("tile_cross_entropy_backward", [(512 * 1000, F16), (512, I32), (512, F32), (512, F32)], (512 * 1000, F16),
     lambda x, t, lse, d, y: [i(1), x, t, lse, d, y, ll(512), ll(1000)]),
    ("tile_layer_norm", [(512 * 1000, F16), (1000, F16), (1000, F16)], (512 * 1000, F16),
     lambda x, w, b, y: [i(1), x, w, b, y, ll(512), ll(1000), f(1e-5)]),
    ("tile_rms_norm", [(512 * 1000, BF16), (1000, BF16)], (512 * 1000, BF16),
     lambda x, w, y: [i(2), x, w, y, ll(512), ll(1000), f(1e-5)]),
    ("tile_add_rms_norm", [(512 * 1000, F32)] * 2 + [(1000, F32)], (2 * 512 * 1000, F32),
     lambda x, r, w, y: [i(0), x, r, w, after(y, 512 * 1000, F32), y, ll(512), ll(1000), f(1e-5)]),
    ("tile_layer_norm_backward", [(512 * 1000, F32), (1000, F32), (512 * 1000, F32)], (514 * 1000, F32),
     lambda x, w, dy, y: [i(0), x, w, dy, y, *(after(y, n * 1000, F32) for n in (512, 513)), ll(512), ll(1000), f(1e-5)]),
    ("tile_rms_norm_backward", [(512 * 1000, F16), (1000, F16), (512 * 1000, F16)], (513 * 1000, F16),
     lambda x, w, dy, y: [i(1), x, w, dy, y, after(y, 512 * 1000, F16), ll(512), ll(1000), f(1e-5)]),
    ("solve_gemm", [(512 * 512, F16)] * 2, (512 * 512, F16),
     lambda a, b, c: [a, b, c, i(512), i(512), i(512), f(1.5), f(0.0)]),
    ("solve_int8_quantized_matmul", [(256 * 300, I8), (300 * 200, I8)], (256 * 200, I8),
     lambda a, b, c: [a, b, c, i(256), i(200), i(300), f(0.1), f(0.2), f(0.5), i(1), i(-2), i(3)]),
    ("solve_batched_matrix_multiplication", [(8 * 100 * 120, F32), (8 * 120 * 90, F32)], (8 * 100 * 90, F32),
     lambda a, b, c: [a, b, c, i(8), i(100), i(90), i(120)]),
    ("solve_fp16_batched_matmul", [(8 * 128 * 128, F16)] * 2, (8 * 128 * 128, F16),
     lambda a, b, c: [a, b, c, i(8), i(128), i(128), i(128)]),
    ("tile_attention", [(16 * 1024 * 64, F16)] * 3, (16 * 1024 * 64, F16),
     lambda q, k, v, o: [i(1), q, k, v, o, ll(16), ll(16), ll(1024), ll(1024), ll(64), f(0.125), i(1)]),
    ("tile_attention", [(32 * 128, F16), (8 * 8192 * 128, F16), (8 * 8192 * 128, F16)], (32 * 128, F16),
     lambda q, k, v, o: [i(1), q, k, v, o, ll(32), ll(8), ll(1), ll(8192), ll(128), f(0.09), i(0)]),
    ("solve_color_inversion", [], (4 * 333 * 255, U8), lambda x: [x, i(333), i(255)]),
    ("solve_reverse_array", [], (100_003, F32), lambda x: [x, i(100_003)]),
    matmul(512, 512, 512, F16, F16, 1), matmul(333, 777, 555, F16, F16, 1), matmul(16, 8192, 8192, F16, F16, 1),
    matmul(1024, 1024, 1024, F16, F16, 1, tb=1), matmul(257, 129, 8191, F16, F16, 1, ta=1),
    matmul(300, 300, 4000, F32, F32, 0, precision=1), matmul(1024, 1024, 1024, F32, F32, 0, precision=1),
    matmul(1, 4096, 4096, F32, F32, 0, precision=1), matmul(512, 512, 512, F32, F32, 0, precision=2),
    matmul(512, 512, 512, I8, I32, 3), matmul(333, 555, 777, F16, F16, 1, name="tile_matmul_relu"),
    matmul(333, 555, 777, BF16, BF16, 2, name="tile_matmul_leaky_relu"), matmul(80, 4096, 4096, BF16, BF16, 2, tb=1),
    ("tile_batched_matmul", [(3 * 65 * 99, BF16), (3 * 99 * 77, BF16)], (3 * 65 * 77, BF16),
     lambda a, b, c: [i(2), a, b, c, ll(3), ll(65), ll(77), ll(99)]),
    *[("tile_grouped_matmul", [(500 * 256, dtype), (9 * 256 * 264, dtype), (9, I32, 500)], (500 * 264, dtype),
       lambda a, b, ends, c, code=code: [i(code), i(1), a, b, ends, c, ll(9), ll(500), ll(264), ll(256)])
      for code, dtype in ((1, F16), (2, BF16))],
    ("tile_vector_add", [(99_999, F16)] * 2, (99_999, F16), lambda a, b, c: [i(1), a, b, c, ll(99_999)]),
    *[(f"tile_{op}", [(99_999, BF16)], (99_999, BF16), lambda x, y: [i(2), x, y, ll(99_999)])
      for op in ("relu", "leaky_relu", "gelu")],
    # Challenges: elementwise.
    simple("solve_matrix_addition", [(300 * 300, F32)] * 2, (300 * 300, F32), i(300)),
    simple("solve_sigmoid", [(100_003, F32)], (100_003, F32), size(100_003)), unary("solve_silu", 100_003),
    simple("solve_swiglu", [(100_002, F32)], (50_001, F32), i(100_002)),
    simple("solve_geglu", [(100_002, F32)], (50_001, F32), i(100_002)),
    simple("solve_value_clipping", [(100_003, F32)], (100_003, F32), f(-0.5), f(0.5), i(100_003)),
    simple("solve_interleave", [(50_001, F32)] * 2, (100_002, F32), i(50_001)),
    simple("solve_rgb_to_grayscale", [(3 * 333 * 255, F32)], (333 * 255, F32), i(333), i(255)),
    simple("solve_rope_embedding", [(100 * 128, F32)] * 3, (100 * 128, F32), i(100), i(128)),
    simple("solve_weight_dequantization", [(500 * 300, F32), (4 * 3, F32)], (500 * 300, F32), i(500), i(300), i(128)),
    # Sums.
    simple("solve_matrix_multiplication", [(200 * 300, F32), (300 * 100, F32)], (200 * 100, F32),
           *map(i, (200, 300, 100))),
    simple("solve_dot_product", [(1_000_003, F32)] * 2, (1, F32), i(1_000_003)),
    simple("solve_monte_carlo_integration", [(1_000_003, F32)], (1, F32), f(0.0), f(2000.0), i(1_000_003)),
    simple("solve_count_3d_array_element", [(99 * 77 * 55, I32)], (1, I32), i(99), i(77), i(55), i(3)),
    simple("solve_subarray_sum", [(1_000_003, I32)], (1, I32), i(1_000_003), i(17), i(999_000)),
    simple("solve_2d_subarray_sum", [(999 * 777, I32)], (1, I32), i(999), i(777), i(3), i(900), i(5), i(700)),
    simple("solve_3d_subarray_sum", [(99 * 77 * 55, I32)], (1, I32), *map(i, (99, 77, 55, 3, 90, 5, 70, 7, 50))),
    simple("solve_mean_squared_error", [(1_000_003, F32)] * 2, (1, F32), i(1_000_003)),
    simple("solve_categorical_cross_entropy_loss", [(999 * 77, F32), (999, I32, 77)], (1, F32), i(999), i(77)),
    simple("solve_ppo_clipped_surrogate_loss", [(99 * 777, F32)] * 3, (1, F32), f(0.2), i(99), i(777)),
    simple("solve_dpo_sequence_loss", [(100_003, F32)] * 4, (1, F32), f(0.1), i(100_003)),
    simple("solve_grpo_surrogate_loss", [(8 * 16, F32), *[(8 * 16 * 200, F32, "unit")] * 3], (1, F32), f(0.2), f(0.1),
           i(8), i(16), i(200)),
    # Rows.
    ("solve_rms_normalization", [(100_003, F32)], (100_003, F32),
     lambda x, y: [x, f(1.5), f(0.5), y, i(100_003), f(1e-5)]),
    *[simple(f"solve_{norm}_normalization", [(500 * 300, F32), (300, F32), (300, F32)], (500 * 300, F32),
             i(500), i(300), f(1e-5)) for norm in ("batch", "layer")],
    simple("solve_fused_residual_add_rms_norm", [(500 * 300, F32), (500 * 300, F32), (300, F32)], (500 * 300, F32),
           i(500), i(300), f(1e-5)),
    simple("solve_group_normalization", [(4 * 32 * 99, F32), (32, F32), (32, F32)], (4 * 32 * 99, F32),
           *map(i, (4, 32, 9, 11, 8)), f(1e-5)),
    simple("solve_token_embedding_layer", [(4 * 50, I32, 100), (50, I32, 64), (100 * 96, F32), (64 * 96, F32),
           (96, F32), (96, F32)], (4 * 50 * 96, F32), *map(i, (4, 50, 100, 64, 96)), f(1e-5)),
    simple("solve_sparse_matrix_vector_multiplication", [(500 * 300, F32), (300, F32)], (500, F32),
           i(500), i(300), i(9)),
    simple("solve_moe_topk_gating", [(500 * 64, F32), (500 * 4, F32)], (500 * 4, I32), i(500), i(64), i(4)),
    simple("solve_nearest_neighbor", [(1000 * 3, F32)], (1000, I32), i(1000)),
    simple("solve_multi_agent_sim", [(1000 * 4, F32)], (1000 * 4, F32), i(1000)),
    simple("solve_int8_kv_cache_attention", [(8 * 64, F32), (8 * 500 * 64, I8), (8 * 500 * 64, I8),
           (8 * 500, F32, "unit"), (8 * 500, F32, "unit")], (8 * 64, F32), i(8), i(500), i(64)),
    # Windows.
    *[simple(f"solve_{name}", [(300 * 200, F32), (5 * 7, F32)], (length, F32), i(300), i(200), i(5), i(7))
      for name, length in (("2d_convolution", 296 * 194), ("gaussian_blur", 300 * 200))],
    simple("solve_3d_convolution", [(30 * 40 * 50, F32), (3 * 3 * 3, F32)], (28 * 38 * 48, F32),
           *map(i, (30, 40, 50, 3, 3, 3))),
    simple("solve_2d_max_pooling", [(2 * 3 * 60 * 80, F32)], (2 * 3 * 30 * 40, F32), *map(i, (2, 3, 60, 80, 3, 2, 1))),
    simple("solve_jacobi_stencil_2d", [(300 * 200, F32)], (300 * 200, F32), i(300), i(200)),
    simple("solve_causal_depthwise_conv1d", [(2 * 300 * 64, F32), (64 * 4, F32), (64, F32)], (2 * 300 * 64, F32),
           *map(i, (2, 300, 64, 4))),
    simple("solve_max_subarray_sum", [(100_003, I32)], (1, I32), i(100_003), i(999)),
    # Scans and sorts.
    simple("solve_prefix_sum", [(1_000_003, F32)], (1_000_003, F32), i(1_000_003)),
    simple("solve_segmented_prefix_sum", [(100_003, F32), (100_003, I32, 2)], (100_003, F32), i(100_003)),
    ("solve_stream_compaction", [(100_003, F32)], (100_003, F32), lambda x, y: [x, i(100_003), y]),
    simple("solve_linear_recurrence", [(9 * 9999, F32, "unit"), (9 * 9999, F32)], (9 * 9999, F32), i(9), i(9999)),
    simple("solve_gae_reverse_scan", [(9 * 9999, F32)] * 2, (9 * 9999, F32), f(0.9), f(0.8), i(9), i(9999)),
    simple("solve_ssm_selective_scan", [(2 * 100 * 64, F32), (2 * 100 * 64, F32, "unit"), (64 * 16, F32, "negative"),
           (2 * 100 * 16, F32), (2 * 100 * 16, F32), (64, F32)], (2 * 100 * 64, F32), *map(i, (2, 100, 64, 16))),
    simple("solve_histogramming", [(1_000_003, I32, 200)], (200, I32), i(1_000_003), i(200)),
    simple("solve_sorting", [], (100_003, F32), i(100_003)),
    simple("solve_radix_sort", [(1_000_003, I32, 1 << 30)], (1_000_003, I32), i(1_000_003)),
    simple("solve_top_k_selection", [(1_000_003, F32)], (50, F32), i(1_000_003), i(50)),
    simple("solve_parallel_merge", [(50_001, F32, "sorted"), (40_002, F32, "sorted")], (90_003, F32),
           i(50_001), i(40_002)),
]


def fill(t, values=None):
    if isinstance(values, int):
        t.random_(0, values)
    elif values in ("unit", "negative"):
        t.uniform_(0, 1)
        t.mul_(-1 if values == "negative" else 1)
    else:
        t.normal_() if t.is_floating_point() else t.random_() if t.dtype == U8 else t.random_(-9, 9)
        if values == "sorted":
            t.copy_(t.sort().values)


def check(lib, mode):
    def run(name, args):
        lib.tile_set_stream(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if getattr(lib, name)(*args):
            raise RuntimeError(lib.tile_last_error().decode())

    failed = 0
    for name, inputs, (n, dtype), arguments in CASES:
        xs = [torch.empty(length, dtype=d, device="cuda") for length, d, *_ in inputs]
        values = [of[2] if len(of) > 2 else None for of in inputs]
        y, wanted = (torch.zeros(n, dtype=dtype, device="cuda") for _ in range(2))
        pointers = lambda out: arguments(*[ctypes.c_void_p(t.data_ptr()) for t in (*xs, out)])
        for when in ("first call", "warm"):
            title = f"{name}({', '.join(str(of[0]) for of in inputs)}), {mode}, {when}"
            try:
                graph = torch.cuda.CUDAGraph()
                if mode == "prepared" and when == "first call":
                    lib.tile_prepare(i(1))
                    try:
                        run(name, pointers(y))
                    finally:
                        lib.tile_prepare(i(0))
                    assert not y.any(), "preparing has written"
                torch.cuda.synchronize()
                with torch.cuda.graph(graph, capture_error_mode="global" if mode == "prepared" else mode):
                    run(name, pointers(y))
                for turn in range(3):
                    [fill(x, of) for x, of in zip(xs, values)] if xs else fill(y)
                    wanted.copy_(y)
                    graph.replay()
                    run(name, pointers(wanted))
                    torch.cuda.synchronize()
                    near = torch.allclose(y.float(), wanted.float(), rtol=2e-2, atol=5e-2, equal_nan=True)
                    some = y.float().abs().sum() > 0 or dtype in (I32, I8, U8)
                    assert near and some, f"replay {turn} is wrong"
            except (RuntimeError, AssertionError) as e:
                failed += 1
                print(f"FAILED {title}: {str(e).splitlines()[0]}", flush=True)
                try:
                    torch.cuda.synchronize()
                except RuntimeError:
                    return failed + 1
    print(f"{mode}: {2 * len(CASES) - failed} passed, {failed} failed", flush=True)
    return failed


def functions():
    """The functions of the headers of the repository that this file is in."""
    import pathlib, re
    include = pathlib.Path(__file__).resolve().parents[2] / "capi/include"
    text = "".join(p.read_text() for p in include.glob("*.h"))
    return set(re.findall(r"^int ((?:solve|tile)_[a-z0-9_]+)\(", text, re.M))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        library = ctypes.CDLL(sys.argv[1])
        library.tile_last_error.restype = ctypes.c_char_p
        sys.exit(1 if check(library, sys.argv[2]) else 0)
    settings = {"tile_abi_version", "tile_set_stream", "tile_prepare", "tile_create", "tile_destroy"}
    missing = {f for f in functions() - {case[0] for case in CASES} - settings if "_handle_" not in f}
    assert not missing, f"no case of {sorted(missing)}"
    codes = [subprocess.run([sys.executable, __file__, sys.argv[1], mode]).returncode for mode in MODES]
    sys.exit(max(codes))
