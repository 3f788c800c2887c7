#!/usr/bin/env python3
"""Operations on shapes that nobody chose, beside cuBLAS and torch.

    python3 shapes.py PATH/libtile.so SEED COUNT [ROW ...]

Each row has COUNT shapes from SEED; the same seed draws the same shapes. A row is one of ROWS below; all without. Extents of products are log-uniform from
1 to 16384, half of them multiples of 8. `TILE_AUTOTUNE=off` measures the choice of the planner; without it the first call may tune. Needs one NVIDIA GPU
and torch. L2 flushed before every launch, medians of CUDA events, taken in turn. A ratio above 1 means that ours is faster. Results are compared with the
peer's before they are timed. The last lines have, for each row: the geometric mean of ratios, the share below 0.90, and the worst.
"""
import ctypes, json, math, os, random as draw, statistics, sys, time
import torch
from torch.nn.attention import SDPBackend
import attention as attentions
from common import LIB, TYPES, call, eight_bits, in_turn, matmul, once, pointer, random

SEED, COUNT = int(sys.argv[2]), int(sys.argv[3])
ROUNDS = 7
# Multiply-adds of one product, at most.
MOST = {"f16": 1 << 39, "bf16": 1 << 39, "tf32": 1 << 38, "f32": 1 << 37, "i8": 1 << 39, "fp8": 1 << 39}
ERRORS = {"attention": 1e-2, "f16": 5e-3, "bf16": 1e-2, "f32": 1e-5, "tf32": 3e-3, "i8": 0.0, "fp8": 1e-2}


def extent(r, most=16384, multiple=1):
    e = int(math.exp(r.uniform(0, math.log(most + 1))))
    return max(multiple, (max(e, 1) + multiple - 1) // multiple * multiple)


def dims_of(r, name, multiple=None):
    while True:
        m, n, k = (extent(r, 16384, multiple or (8 if r.random() < 0.5 else 1)) for _ in range(3))
        if m * n * k <= MOST[name] and m * k + k * n + m * n <= 1 << 29: return m, n, k


def product(r, name):
    (m, n, k), ta, tb = dims_of(r, name), r.randrange(2), r.randrange(2)
    dtype, code, precision = TYPES[name]
    a, b, c, other = (random(dtype, *d) for d in ((k, m) if ta else (m, k), (n, k) if tb else (k, n), (m, n), (m, n)))
    x, y = a.t() if ta else a, b.t() if tb else b
    text = f"{name} {'NT'[ta]}{'NT'[tb]} {m} x {n} x {k}"
    return text, 2 * m * n * k, c, other, lambda: matmul(code, a, b, c, tb, precision, ta), lambda: torch.matmul(x, y, out=other)


def eights(r, name):
    m, n, k = dims_of(r, name, 16)
    # torch refuses fewer rows in i8.
    m = max(m, 32)
    a, b, c, code = eight_bits({"i8": "int8", "fp8": "fp8"}[name], (m, n, k), 1)
    one, other = torch.ones((), device="cuda"), torch.empty_like(c)
    peer = (lambda: torch._int_mm(a, b.t(), out=other)) if name == "i8" else (
        lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True, out=other))
    return f"{name} NT {m} x {n} x {k}", 2 * m * n * k, c, other, lambda: matmul(code, a, b, c, 1), peer


def batched(r, name):
    while True:
        batch = int(2 ** r.uniform(1, 9))
        m, n, k = (extent(r, 1024 // 16, 1) * 16 if r.random() < 0.5 else int(16 * 2 ** r.uniform(0, 6)) for _ in range(3))
        if batch * m * n * k <= 1 << 37 and batch * (m * k + k * n + m * n) <= 1 << 29: break
    dtype, code, _ = TYPES[name]
    a, b, c, other = (random(dtype, batch, *d) for d in ((m, k), (k, n), (m, n), (m, n)))
    numbers = [ctypes.c_int(code)] + [pointer(t) for t in (a, b, c)] + [ctypes.c_longlong(i) for i in (batch, m, n, k)]
    return f"batched {name} {batch} x {m} x {n} x {k}", 2 * batch * m * n * k, c, other, lambda kept=(a, b): call(LIB.tile_batched_matmul, numbers), lambda: torch.bmm(a, b, out=other)


def softmax(r, name):
    while True:
        rows, cols = extent(r, 65536), extent(r, 65536)
        if 256 <= rows * cols <= 1 << 27: break
    x, c, other = (random(torch.float32, rows, cols) for _ in range(3))
    numbers = [pointer(x), pointer(c), ctypes.c_longlong(rows), ctypes.c_longlong(cols)]
    return f"softmax {rows} x {cols}", 8 * rows * cols, c, other, lambda kept=x: call(LIB.tile_softmax_rows, numbers), lambda: torch.softmax(x, 1, out=other)


def attention(r, name):
    """Heads of queries that see all keys, or with causal as many keys as queries; beside the faster one of FlashAttention-2 and cuDNN."""
    while True:
        d, causal, shared = r.choice((64, 128)), r.randrange(2), int(2 ** r.uniform(0, 6))
        heads, keys = shared * r.choice((1, 1, 4, 8)), extent(r)
        queries = keys if causal else (1 if r.random() < 0.3 else extent(r))
        if heads * queries * keys * d <= 1 << 37 and 16 <= keys and (heads * queries + 2 * shared * keys) * d <= 1 << 28: break
    dtype = r.choice((torch.float16, torch.bfloat16))
    q, k, v = (random(dtype, h, n, d) for h, n in ((heads, queries), (shared, keys), (shared, keys)))
    o, other = torch.empty_like(q), torch.empty_like(q)
    by = lambda backend: attentions.torchs(backend, q, k, v, 1, bool(causal))
    peers = attentions.taking({backend.name: by(backend) for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION)})
    peer = min(peers.values(), key=lambda f: statistics.median(once(f) for _ in range(5)))
    other.copy_(peer()[0])
    text = f"{heads}/{shared} heads, {queries} of {keys}, d {d}{', causal' if causal else ''}, {str(dtype)[6:]}"
    flops = 4 * heads * queries * keys * d // (1 + causal)
    return text, flops, o, other, lambda: attentions.ours(q, k, v, o, d ** -0.5, causal), peer


ROWS = {
    "f16": product, "bf16": product, "f32": product, "tf32": product, "i8": eights, "fp8": eights,
    "batched f16": batched, "batched f32": batched, "softmax": softmax, "attention": attention,
}
wanted = sys.argv[4:] or list(ROWS)
found, limit = {}, time.time() + float(os.environ.get("SECONDS_MOST", "3600"))
for row in wanted:
    found[row] = []
    # One generator for each shape: a shape does not depend on the former ones.
    for i in range(COUNT):
        if time.time() > limit: break
        name = row.split()[-1]
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        try: text, size, c, other, mine, theirs = ROWS[row](draw.Random(f"{SEED} {row} {i}"), name)
        except (torch.OutOfMemoryError, ValueError): continue
        if c.is_floating_point(): c.fill_(float("nan"))
        begin = time.time()
        try: mine(); torch.cuda.synchronize()
        except RuntimeError as e: print(f"{text}  FAILED: {e}", flush=True); continue
        first = time.time() - begin
        try: theirs()
        except RuntimeError: continue
        error = ((c.double() - other.double()).norm() / other.double().norm()).item()
        if not error <= ERRORS.get(name, 1e-5): print(f"{text}  WRONG: {error}", flush=True); continue
        for _ in range(2): mine(); theirs()
        t, ratio = in_turn(mine, theirs, ROUNDS)
        found[row].append((ratio, text, t, size))
        print(json.dumps({"row": row, "shape": text, "ms": round(t, 5), "ratio": round(ratio, 3), "size": size, "first_call_s": round(first, 3)}), flush=True)
for row, all in found.items():
    if not all: continue
    mean = math.exp(sum(math.log(r) for r, *_ in all) / len(all))
    low = [f for f in sorted(all) if f[0] < 0.9]
    print(f"{row}: {len(all)} shapes, geometric mean {mean:.3f}, below 0.90: {100 * len(low) / len(all):.0f} %, worst {min(all)[0]:.2f}")
    for r, text, t, _ in low[:12]: print(f"    {r:.2f}  {text}  {t:.4f} ms")
