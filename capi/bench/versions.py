#!/usr/bin/env python3
"""Two builds of the library in one run: is any operation slower than before?

    python3 versions.py OLD.so NEW.so [SECONDS [WHAT]]

Needs one NVIDIA GPU and torch. Products of all types and orders of the operands, reductions and attention. L2 flushed before every
launch; old and new take turns; medians of CUDA events. Results of both are compared with torch before they are timed. A ratio above 1
means that the new build is faster. Rows below 0.98 are timed once more. Ends after SECONDS, 420 without a number. WHAT
is a regular expression for names, as in `tf32 N[NT]`; all without.
"""
import ctypes, itertools, math, re, statistics, sys, time
import torch
from common import TYPES, eight_bits, once, random
from workload import SHAPES

LIBS = [ctypes.CDLL(path) for path in sys.argv[1:3]]
LIMIT = float(sys.argv[3]) if len(sys.argv) > 3 else 420
WHAT = sys.argv[4] if len(sys.argv) > 4 else ""
for lib in LIBS: lib.tile_last_error.restype = ctypes.c_char_p


def argument(x):
    if isinstance(x, torch.Tensor): return ctypes.c_void_p(x.data_ptr())
    return ctypes.c_float(x) if isinstance(x, float) else ctypes.c_longlong(x)


def calls(name, args):
    """The call of each library; `int` arguments are given as ctypes values."""
    values = [x if isinstance(x, ctypes._SimpleCData) else argument(x) for x in args]

    def of(lib):
        f = getattr(lib, name)
        # The tensors are kept with the call: it has their addresses alone.
        def run(kept=args):
            if f(*values): raise RuntimeError(lib.tile_last_error().decode())
        return run
    return [of(lib) for lib in LIBS]


def in_turn(old, new, rounds):
    pairs = [(once(old), once(new)) if i % 2 else tuple(reversed((once(new), once(old)))) for i in range(rounds)]
    return statistics.median(o for o, _ in pairs), statistics.median(n for _, n in pairs)


i32 = ctypes.c_int


def product(name, ta, tb, m, n, k):
    dtype, code, precision = TYPES[name]
    a, b, c = (random(dtype, *d) for d in ((k, m) if ta else (m, k), (n, k) if tb else (k, n), (m, n)))
    wanted = (a.t() if ta else a).double() @ (b.t() if tb else b).double()
    return c, wanted, {"f16": 5e-3, "bf16": 1e-2, "f32": 1e-5, "tf32": 3e-3}[name], calls("tile_matmul", [i32(code), i32(precision), i32(ta), i32(tb), a, b, c, m, n, k])


def eights(name, tb, m, n, k):
    a, b, c, code = eight_bits(name, (m, n, k), tb)
    wanted = a.double() @ (b.t() if tb else b).double()
    return c, wanted, 5e-3, calls("tile_matmul", [i32(code), i32(0), i32(0), i32(tb), a, b, c, m, n, k])


def gemm(beta, m, n, k):
    a, b, c = (random(torch.float16, *d) for d in ((m, k), (k, n), (m, n)))
    c.fill_(0.5)
    # C is read and written in place: of many calls only beta of 0 has a result to compare.
    wanted = 0.5 * (a.double() @ b.double()) if beta == 0 else None
    return c, wanted, 5e-3, calls("solve_gemm", [a, b, c, i32(m), i32(n), i32(k), 0.5, beta])


def quantized(m, n, k):
    a, b = (torch.randint(-128, 128, d, device="cuda", dtype=torch.int8) for d in ((m, k), (k, n)))
    c, scale = torch.empty(m, n, device="cuda", dtype=torch.int8), 0.01 / k ** 0.5
    wanted = (scale * ((a.double() - 3) @ (b.double() + 5))).round().clamp(-1e6, 1e6).add(7).clamp(-128, 127)
    return c, wanted, 1e-3, calls("solve_int8_quantized_matmul", [a, b, c, i32(m), i32(n), i32(k), scale, 1.0, 1.0, i32(3), i32(-5), i32(7)])


def batched(name, batch, m, n, k):
    dtype, code, _ = TYPES[name]
    a, b, c = (random(dtype, *d) for d in ((batch, m, k), (batch, k, n), (batch, m, n)))
    return c, a.double() @ b.double(), 5e-3, calls("tile_batched_matmul", [i32(code), a, b, c, batch, m, n, k])


def reduction(n):
    x, y = random(torch.float32, n), torch.empty(1, device="cuda")
    return y, x.double().sum().reshape(1), 1e-2, calls("solve_reduction", [x, y, i32(n)])


def dot(n):
    x, y, z = random(torch.float16, n).abs(), random(torch.float16, n).abs() / n, torch.empty(1, device="cuda", dtype=torch.float16)
    return z, (x.double() * y.double()).sum().reshape(1), 1e-2, calls("solve_fp16_dot_product", [x, y, z, i32(n)])


def count(n):
    x, y = torch.randint(0, 9, (n,), device="cuda", dtype=torch.int32), torch.empty(1, device="cuda", dtype=torch.int32)
    return y, (x == 3).sum().double().reshape(1), 0.0, calls("solve_count_array_element", [x, y, i32(n), i32(3)])


LARGE = [(4096, 4096, 4096), (8192, 8192, 8192), (16, 8192, 8192), (64, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 1024)]


def cases():
    rest = [s for s in SHAPES if s not in LARGE]
    for shapes in (LARGE, rest):
        for s in shapes:
            for name, (ta, tb) in itertools.product(TYPES, ((0, 0), (0, 1), (1, 0), (1, 1))): yield f"{name} {'NT'[ta]}{'NT'[tb]} {s}", lambda: product(name, ta, tb, *s)
            for name, tb in itertools.product(("int8", "fp8"), (0, 1)): yield f"{name} N{'NT'[tb]} {s}", lambda: eights(name, tb, *s)
            for beta in (0.0, 0.25): yield f"gemm beta {beta} {s}", lambda: gemm(beta, *s)
            yield f"quantized {s}", lambda: quantized(*s)
        if shapes is LARGE:
            for n in (1 << 12, 1 << 20, 1 << 26):
                yield f"reduction {n}", lambda: reduction(n)
                yield f"dot product {n}", lambda: dot(n)
                yield f"count {n}", lambda: count(n)
            for name, s in itertools.product(("f16", "f32"), ((512, 256, 256, 256), (64, 1024, 1024, 1024))): yield f"{name} batched {s}", lambda: batched(name, *s)


began, found = time.time(), []
for text, make in cases():
    if not re.search(WHAT, text): continue
    if time.time() - began > LIMIT:
        print("out of time at", text); break
    torch.backends.cuda.matmul.allow_tf32 = False
    c, wanted, tolerance, (old, new) = make()
    wrong = None
    for which, run in (("old", old), ("new", new)):
        if c.is_floating_point() and wanted is not None: c.fill_(float("nan"))
        run(); torch.cuda.synchronize()
        if wanted is not None:
            error = ((c.double() - wanted).norm() / wanted.norm().clamp_min(1e-30)).item()
            if not error <= tolerance: wrong = f"{which} WRONG: {error}"
    if wrong: print(text, wrong, flush=True); continue
    rounds = 11 if math.prod(c.shape) >= 1 << 24 else 21
    o, n = in_turn(old, new, rounds)
    if o / n < 0.98: o, n = in_turn(old, new, 2 * rounds)
    found.append((o / n, text, o, n))
    if o / n < 0.98 or o / n > 1.05: print(f"{text}  old {o:.4f} new {n:.4f} ms  ratio {o / n:.3f}", flush=True)
ratios = [r for r, *_ in found]
print(f"{len(ratios)} rows, geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.4f}, below 0.98: {sum(r < 0.98 for r in ratios)}, below 0.95: {sum(r < 0.95 for r in ratios)}")
for r, text, o, n in sorted(found)[:25]: print(f"  {text}  {o:.4f} {n:.4f} ms  {r:.3f}")
