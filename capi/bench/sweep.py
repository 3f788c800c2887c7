#!/usr/bin/env python3
"""Products of many shapes, in every order of the operands, beside cuBLAS: where is this library slower?

    python3 sweep.py PATH/libtile.so [WHAT]

WHAT is the beginning of names, as in `f16 NN` or `f16 batched`; all without. Needs one NVIDIA GPU and torch. L2 flushed before every launch, medians of
CUDA events, taken in turn. A ratio above 1 means that ours is faster; the slowest come once more at the end.
"""
import ctypes, itertools, sys
import torch
from common import LIB, TYPES, call, eight_bits, in_turn, matmul, pointer, random

SQUARES = [(n, n, n) for n in (128, 256, 384, 512, 768, 1024, 1280, 1536, 2048, 2560, 3072, 3584)]
# Rows of a model's layers: only their number changes.
LAYERS = [(m, n, k) for m in (1, 2, 4, 8, 16, 24, 32, 64, 96, 128, 256, 512, 1024, 2048) for n, k in ((4096, 4096), (14336, 4096), (4096, 14336))]
LAYERS += [(m, n, k) for m in (16, 64, 256) for n, k in ((1024, 4096), (6144, 4096), (32000, 4096), (8192, 8192), (512, 2048))]
THIN = [(4096, 16, 4096), (4096, 64, 4096), (8192, 128, 8192), (8192, 64, 1024), (32768, 32, 512), (65536, 64, 64), (65536, 128, 256)]
SHORT = [(8192, 8192, k) for k in (16, 32, 64, 128, 256)] + [(4096, 4096, 64), (4096, 4096, 256)]
LONG = [(64, 64, 65536), (128, 128, 32768), (256, 256, 16384), (512, 512, 8192), (256, 1024, 8192), (1024, 1024, 8192), (512, 2048, 4096)]
ODD = [(1000, 1003, 999), (127, 4097, 4099), (16, 4097, 8191), (64, 4097, 8191), (4097, 127, 4099), (2047, 2049, 2051), (4095, 4097, 63), (333, 333, 333), (100, 100, 100),
       (1000, 1000, 1000), (3000, 3000, 3000), (1500, 1500, 1500), (1111, 1112, 1120), (500, 50257, 768), (2056, 2056, 2056), (4104, 4104, 4104)]
BATCHES = [(64, 1024, 1024, 1024), (512, 256, 256, 256), (2048, 128, 128, 128), (4096, 64, 64, 64), (64, 2048, 2048, 128), (64, 2048, 128, 2048), (16, 512, 512, 512),
           (256, 16, 1024, 1024), (32, 1000, 1003, 999), (100, 100, 100, 100), (8, 4096, 4096, 512), (4, 2048, 2048, 2048)]
ERRORS = {"f16": 5e-3, "bf16": 1e-2, "f32": 1e-5, "tf32": 3e-3, "gemm": 5e-3, "quantized": 1e-3, "int8": 0.0, "fp8": 5e-3}


def single(name, dims, ta, tb):
    (m, n, k), (dtype, code, precision) = dims, TYPES[name]
    a, b, c, other = (random(dtype, *d) for d in ((k, m) if ta else (m, k), (n, k) if tb else (k, n), (m, n), (m, n)))
    x, y = a.t() if ta else a, b.t() if tb else b
    return c, other, lambda: matmul(code, a, b, c, tb, precision, ta), lambda: torch.matmul(x, y, out=other)


def batched(name, dims):
    (batch, m, n, k), (dtype, code, _) = dims, TYPES[name]
    a, b, c, other = (random(dtype, *d) for d in ((batch, m, k), (batch, k, n), (batch, m, n), (batch, m, n)))
    numbers = [ctypes.c_int(code)] + [pointer(t) for t in (a, b, c)] + [ctypes.c_longlong(i) for i in dims]
    return c, other, lambda: call(LIB.tile_batched_matmul, numbers), lambda: torch.bmm(a, b, out=other)


def first_that_runs(*calls):
    """The function of torch for a shape: its products of 8 bits refuse some."""
    for f in calls:
        try: f(); torch.cuda.synchronize(); return f
        except RuntimeError: pass


def gemm(dims):
    m, n, k = dims
    a, b, old = (random(torch.float16, *d) for d in ((m, k), (k, n), (m, n)))
    c, other, alpha, beta = old.clone(), old.clone(), 0.5, 0.25
    numbers = [pointer(t) for t in (a, b, c)] + [ctypes.c_int(i) for i in dims] + [ctypes.c_float(alpha), ctypes.c_float(beta)]
    # Both in place: torch copies C first where the result is another matrix.
    return c, other, lambda: call(LIB.solve_gemm, numbers), lambda: other.addmm_(a, b, beta=beta, alpha=alpha)


def quantized(dims):
    """Beside the product alone, of int8, or of f16 where torch has none for the shape."""
    m, n, k = dims
    a, b = (torch.randint(-128, 128, d, device="cuda", dtype=torch.int8) for d in ((m, k), (k, n)))
    c, x, y = torch.empty(m, n, device="cuda", dtype=torch.int8), a.half(), b.half()
    scale = 0.01 / k ** 0.5
    numbers = [pointer(t) for t in (a, b, c)] + [ctypes.c_int(i) for i in dims] + [ctypes.c_float(s) for s in (scale, 1, 1)] + [ctypes.c_int(z) for z in (3, -5, 7)]
    wanted = (scale * ((a.double() - 3) @ (b.double() + 5))).round().clamp(-1e6, 1e6).add(7).clamp(-128, 127)
    return c, wanted, lambda: call(LIB.solve_int8_quantized_matmul, numbers), first_that_runs(lambda: torch._int_mm(a, b), lambda: torch.matmul(x, y))


def eights(name, dims, tb):
    """Beside torch's product of 8 bits, or of f16 where it has none for the shape."""
    a, b, c, code = eight_bits(name, dims, tb)
    x, y = (t.half().t() if flip else t.half() for t, flip in ((a, False), (b, tb)))
    wanted, bb, one = x.double() @ y.double(), b.t() if tb else b, torch.ones((), device="cuda")
    eight = lambda: torch._int_mm(a, bb) if name == "int8" else torch._scaled_mm(a, bb, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)
    return c, wanted, lambda: matmul(code, a, b, c, tb), first_that_runs(eight, lambda: torch.matmul(x, y))


def cases():
    shapes = SQUARES + LAYERS + THIN + SHORT + LONG + ODD
    for dims in shapes:
        text = " x ".join(map(str, dims))
        yield f"gemm {text}", "gemm", lambda: gemm(dims)
        yield f"quantized {text}", "quantized", lambda: quantized(dims)
        for name, tb in itertools.product(("int8", "fp8"), (0, 1)):
            yield f"{name} N{'NT'[tb]} {text}", name, lambda: eights(name, dims, tb)
    for name, (ta, tb), dims in itertools.product(TYPES, ((0, 0), (0, 1), (1, 0), (1, 1)), shapes):
        yield f"{name} {'NT'[ta]}{'NT'[tb]} " + " x ".join(map(str, dims)), name, lambda: single(name, dims, ta, tb)
    for name, dims in itertools.product(("f16", "bf16", "f32"), BATCHES):
        yield f"{name} batched " + " x ".join(map(str, dims)), name, lambda: batched(name, dims)


wanted, found = sys.argv[2:], []
for text, name, make in cases():
    if wanted and not any(text.startswith(w) for w in wanted): continue
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    c, other, mine, theirs = make()
    if c.is_floating_point() and name != "gemm": c.fill_(float("nan"))
    mine(); theirs()
    error = ((c.double() - other.double()).norm() / other.double().norm()).item()
    if not error <= ERRORS[name]: print(f"{text}  WRONG: {error}", flush=True); continue
    for _ in range(2): mine(); theirs()
    t, ratio = in_turn(mine, theirs, 11)
    found.append((ratio, text, t))
    print(f"{text}  {t:8.4f} ms  ratio {ratio:.2f}", flush=True)
print(f"\nthe slowest of {len(found)}:")
for ratio, text, t in sorted(found)[:80]:
    if ratio < 0.97: print(f"{text}  {t:8.4f} ms  ratio {ratio:.2f}")
