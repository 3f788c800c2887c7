#!/usr/bin/env python3
"""Every operation in a CUDA graph that torch captures: first call and warm, in each capture mode.

    python3 capture.py PATH/libtile.so [global | thread_local | relaxed | prepared]

Needs one NVIDIA GPU and torch. Each graph is replayed with new inputs and after later work of the library, and its results
are compared with calls outside of a graph. In `prepared`, which is global, tile_prepare comes before first captures.
Without a mode each runs in a process of its own, so that first calls are first.
"""
import ctypes, subprocess, sys
import torch

MODES = ["global", "thread_local", "relaxed", "prepared"]
F32, F16, I32, I8, U8 = torch.float32, torch.float16, torch.int32, torch.int8, torch.uint8
i, ll, f, size = ctypes.c_int, ctypes.c_longlong, ctypes.c_float, ctypes.c_size_t


def matmul(m, n, k, dtype, out, code, precision=0, ta=0, tb=0, name="tile_matmul"):
    head, tail = [i(code), i(precision), i(ta), i(tb)], [ll(m), ll(n), ll(k)]
    return name, [(m * k, dtype), (k * n, dtype)], (m * n, out), lambda a, b, c: [*head, a, b, c, *tail]


def unary(name, n, dtype=F32, out=F32, tail=lambda n: [i(n)]):
    return name, [(n, dtype)], (n, out), lambda x, y: [x, y, *tail(n)]


# Name, inputs (length, dtype), output, arguments. Without inputs it is the output that is read, too.
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
]


def fill(t):
    t.normal_() if t.is_floating_point() else t.random_() if t.dtype == U8 else t.random_(-9, 9)


def check(lib, mode):
    def run(name, args):
        lib.tile_set_stream(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if getattr(lib, name)(*args):
            raise RuntimeError(lib.tile_last_error().decode())

    failed = 0
    for name, inputs, (n, dtype), arguments in CASES:
        xs = [torch.empty(length, dtype=d, device="cuda") for length, d in inputs]
        y, wanted = (torch.zeros(n, dtype=dtype, device="cuda") for _ in range(2))
        pointers = lambda out: arguments(*[ctypes.c_void_p(t.data_ptr()) for t in (*xs, out)])
        for when in ("first call", "warm"):
            title = f"{name}({', '.join(str(length) for length, _ in inputs)}), {mode}, {when}"
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
                    [fill(x) for x in xs or [y]]
                    wanted.copy_(y)
                    graph.replay()
                    run(name, pointers(wanted))
                    torch.cuda.synchronize()
                    near = torch.allclose(y.float(), wanted.float(), rtol=2e-2, atol=1e-2, equal_nan=True)
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


if __name__ == "__main__":
    if len(sys.argv) > 2:
        library = ctypes.CDLL(sys.argv[1])
        library.tile_last_error.restype = ctypes.c_char_p
        sys.exit(1 if check(library, sys.argv[2]) else 0)
    codes = [subprocess.run([sys.executable, __file__, sys.argv[1], mode]).returncode for mode in MODES]
    sys.exit(max(codes))
