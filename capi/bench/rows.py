#!/usr/bin/env python3
"""Operations on rows and tokens, of shapes that nobody chose, beside torch and torch.compile.

    python3 rows.py PATH/libtile.so SEED COUNT [ROW ...]

Each row has COUNT shapes from SEED; the same seed draws the same shapes. A row is one of ROWS below; all without. The
element type is drawn, too. Needs one NVIDIA GPU and torch. L2 flushed before every launch, medians of CUDA events, taken
in turn. A ratio above 1 means that ours is faster than the faster one of the two. Results are compared with torch's
before they are timed. Without ROWS_COMPILE=1 torch.compile, which takes seconds for each shape, is left out. The last
lines have, for each row: the geometric mean of ratios, the share below 0.85, the worst, and how many are slower by more
than a microsecond.
"""
import ctypes, json, math, os, random as draw, statistics, sys, time
import torch
from common import LIB, call, in_turn, once, pointer

SEED, COUNT = int(sys.argv[2]), int(sys.argv[3])
DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
ROUNDS = 7
functional = torch.nn.functional
i, ll, f, ull = ctypes.c_int, ctypes.c_longlong, ctypes.c_float, ctypes.c_ulonglong


def drawn(r, most):
    return max(1, int(math.exp(r.uniform(0, math.log(most)))))


def matrix_of(r, least=1 << 12, most=1 << 27):
    """Rows and columns; half of the columns are multiples of 8."""
    while True:
        rows, columns = drawn(r, 1 << 20), drawn(r, 1 << 17)
        if r.random() < 0.5: columns = (columns + 7) // 8 * 8
        if least <= rows * columns <= most: return rows, columns


def random(dtype, *dims):
    return torch.randn(*dims, device="cuda").to(dtype)


def library(name, *args):
    """A call, with tensors by their addresses."""
    made = [pointer(a) if isinstance(a, torch.Tensor) else a for a in args]
    return lambda kept=args: call(getattr(LIB, name), made)


def softmax(r, dtype, code):
    rows, columns = matrix_of(r)
    x = random(dtype, rows, columns)
    y = torch.empty_like(x)
    return f"{rows} x {columns}", [y], library("tile_softmax", i(code), x, y, ll(rows), ll(columns)), lambda x: torch.softmax(x, 1), [x]


def softmax_backward(r, dtype, code):
    rows, columns = matrix_of(r)
    y, dy = torch.softmax(random(dtype, rows, columns), 1), random(dtype, rows, columns)
    dx = torch.empty_like(y)
    peer = lambda dy, y: torch.ops.aten._softmax_backward_data(dy, y, 1, dtype)
    return f"{rows} x {columns}", [dx], library("tile_softmax_backward", i(code), y, dy, dx, ll(rows), ll(columns)), peer, [dy, y]


def layer_norm(r, dtype, code):
    rows, columns = matrix_of(r)
    x, w, b = random(dtype, rows, columns), random(dtype, columns), random(dtype, columns)
    y = torch.empty_like(x)
    peer = lambda x, w, b: functional.layer_norm(x, (columns,), w, b, 1e-5)
    return f"{rows} x {columns}", [y], library("tile_layer_norm", i(code), x, w, b, y, ll(rows), ll(columns), f(1e-5)), peer, [x, w, b]


def rms_norm(r, dtype, code):
    rows, columns = matrix_of(r)
    x, w = random(dtype, rows, columns), random(dtype, columns)
    y = torch.empty_like(x)
    peer = lambda x, w: functional.rms_norm(x, (columns,), w, 1e-5)
    return f"{rows} x {columns}", [y], library("tile_rms_norm", i(code), x, w, y, ll(rows), ll(columns), f(1e-5)), peer, [x, w]


def layer_norm_backward(r, dtype, code):
    rows, columns = matrix_of(r)
    x, w, dy = random(dtype, rows, columns), random(dtype, columns), random(dtype, rows, columns)
    dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.empty_like(w)
    _, mean, scale = torch.native_layer_norm(x, (columns,), w, w, 1e-5)
    peer = lambda dy, x, mean, scale, w: torch.ops.aten.native_layer_norm_backward(dy, x, [columns], mean, scale, w, w, [True] * 3)
    mine = library("tile_layer_norm_backward", i(code), x, w, dy, dx, dw, db, ll(rows), ll(columns), f(1e-5))
    return f"{rows} x {columns}", [dx, dw, db], mine, peer, [dy, x, mean, scale, w]


def rms_norm_backward(r, dtype, code):
    rows, columns = matrix_of(r)
    x, w, dy = random(dtype, rows, columns), random(dtype, columns), random(dtype, rows, columns)
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    scale = torch.rsqrt(x.float().square().mean(1, keepdim=True) + 1e-5)
    peer = lambda dy, x, scale, w: torch.ops.aten._fused_rms_norm_backward(dy, x, [columns], scale, w, [True] * 2)
    mine = library("tile_rms_norm_backward", i(code), x, w, dy, dx, dw, ll(rows), ll(columns), f(1e-5))
    return f"{rows} x {columns}", [dx, dw], mine, peer, [dy, x, scale, w]


def cross_entropy(r, dtype, code):
    rows, columns = matrix_of(r)
    x, labels = random(dtype, rows, columns), torch.randint(0, columns, (rows,), device="cuda")
    narrow = labels.int()
    losses, lse = (torch.empty(rows, device="cuda") for _ in range(2))
    peer = lambda x, labels: functional.cross_entropy(x, labels, reduction="none")
    mine = library("tile_cross_entropy", i(code), x, narrow, losses, lse, ll(rows), ll(columns))
    return f"{rows} x {columns}", [losses], mine, peer, [x, labels]


def cross_entropy_backward(r, dtype, code):
    rows, columns = matrix_of(r)
    x, labels = random(dtype, rows, columns), torch.randint(0, columns, (rows,), device="cuda")
    narrow, d = labels.int(), torch.randn(rows, device="cuda")
    lse, dx = torch.logsumexp(x.float(), 1), torch.empty_like(x)

    def peer(x, labels, lse, d):
        shares = torch.exp(x.float() - lse[:, None])
        shares.scatter_add_(1, labels[:, None], torch.full_like(labels[:, None], -1, dtype=torch.float32))
        return (d[:, None] * shares).to(x.dtype)

    mine = library("tile_cross_entropy_backward", i(code), x, narrow, lse, d, dx, ll(rows), ll(columns))
    return f"{rows} x {columns}", [dx], mine, peer, [x, labels, lse, d]


def swiglu(r, dtype, code):
    n = drawn(r, 1 << 27)
    gate, up = random(dtype, n), random(dtype, n)
    y = torch.empty_like(gate)
    return f"{n}", [y], library("tile_swiglu", i(code), gate, up, y, ll(n)), lambda gate, up: functional.silu(gate) * up, [gate, up]


def swiglu_backward(r, dtype, code):
    n = drawn(r, 1 << 27)
    gate, up, dy = random(dtype, n), random(dtype, n), random(dtype, n)
    d_gate, d_up = torch.empty_like(gate), torch.empty_like(up)

    def peer(gate, up, dy):
        g, u, d = gate.float(), up.float(), dy.float()
        s = torch.sigmoid(g)
        return (d * u * s * (1 + g * (1 - s))).to(gate.dtype), (d * g * s).to(gate.dtype)

    return f"{n}", [d_gate, d_up], library("tile_swiglu_backward", i(code), gate, up, dy, d_gate, d_up, ll(n)), peer, [gate, up, dy]


def dropout(r, dtype, code):
    n = drawn(r, 1 << 28)
    x = torch.ones(n, device="cuda", dtype=dtype)
    y = torch.empty_like(x)
    # Other elements are kept than torch keeps: none is compared.
    return f"{n}", [], library("tile_dropout", i(code), x, y, ll(n), f(0.25), ull(7)), lambda x: functional.dropout(x, 0.25), [x]


def embedding(r, dtype, code):
    rows, columns = matrix_of(r)
    tokens = max(1, min(drawn(r, 1 << 18), (1 << 27) // columns))
    table, ids = random(dtype, rows, columns), torch.randint(0, rows, (tokens,), device="cuda")
    narrow, y = ids.int(), torch.empty(tokens, columns, device="cuda", dtype=dtype)
    mine = library("tile_embedding", i(code), table, narrow, y, ll(tokens), ll(rows), ll(columns))
    return f"{tokens} of {rows} x {columns}", [y], mine, lambda table, ids: functional.embedding(ids, table), [table, ids]


def embedding_backward(r, dtype, code):
    rows, columns = matrix_of(r)
    tokens = max(1, min(drawn(r, 1 << 18), (1 << 27) // columns))
    dy, ids = random(dtype, tokens, columns), torch.randint(0, rows, (tokens,), device="cuda")
    narrow, d = ids.int(), torch.zeros(rows, columns, device="cuda")
    add = library("tile_embedding_backward", i(code), narrow, dy, d, ll(tokens), ll(rows), ll(columns))

    def mine():
        d.zero_()
        add()

    peer = lambda dy, ids: torch.ops.aten.embedding_dense_backward(dy, ids, rows, -1, False)
    return f"{tokens} of {rows} x {columns}", [d], mine, peer, [dy, ids]


def rope(r, dtype, code):
    heads, d = int(2 ** r.uniform(0, 6.5)), r.choice((32, 64, 80, 96, 128, 128, 128, 256))
    tokens = max(1, min(drawn(r, 1 << 17), (1 << 27) // (heads * d)))
    x, angles = random(dtype, tokens, heads, d), torch.randn(tokens, d // 2, device="cuda")
    cosines, sines, y = angles.cos(), angles.sin(), torch.empty_like(x)

    def peer(x, cosines, sines):
        c, s = cosines[:, None], sines[:, None]
        a, b = x[..., : d // 2].float(), x[..., d // 2 :].float()
        return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)

    numbers = [*map(ll, (tokens, heads, d, d // 2, tokens)), i(0)]
    mine = library("tile_rope", i(code), x, cosines, sines, ctypes.c_void_p(), y, *numbers)
    return f"{tokens} x {heads} x {d}", [y], mine, peer, [x, cosines, sines]


ROWS = {g.__name__: g for g in (softmax, softmax_backward, layer_norm, rms_norm, layer_norm_backward, rms_norm_backward,
                                cross_entropy, cross_entropy_backward, swiglu, swiglu_backward, dropout, embedding,
                                embedding_backward, rope)}
wanted = sys.argv[4:] or list(ROWS)
compiles = os.environ.get("ROWS_COMPILE") == "1"
found, limit = {}, time.time() + float(os.environ.get("SECONDS_MOST", "3600"))
for name in wanted:
    found[name] = []
    for k in range(COUNT):
        if time.time() > limit: break
        r = draw.Random(f"{SEED} {name} {k}")
        torch.manual_seed(k)
        dtype = r.choice(list(DTYPES))
        try: shape, results, mine, eager, inputs = ROWS[name](r, dtype, DTYPES[dtype])
        except torch.OutOfMemoryError: continue
        text = f"{name} {str(dtype)[6:]} {shape}"
        mine(); torch.cuda.synchronize()
        theirs = eager(*inputs)
        theirs = theirs if isinstance(theirs, tuple) else (theirs,)
        near = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}[dtype]
        errors = [((a.double() - b.double()).norm() / b.double().norm().clamp(min=1e-30)).item() for a, b in zip(results, theirs)]
        if not all(e <= near for e in errors): print(f"{text}  WRONG: {errors}", flush=True); continue
        del theirs
        peers = [lambda: eager(*inputs)]
        if compiles:
            compiled = torch.compile(eager, dynamic=False)
            compiled(*inputs)
            peers.append(lambda: compiled(*inputs))
        peer = min(peers, key=lambda p: statistics.median(once(p) for _ in range(5)))
        for _ in range(2): mine(); peer()
        t, ratio = in_turn(mine, peer, ROUNDS)
        found[name].append((ratio, text, t))
        print(json.dumps({"row": text, "ms": round(t, 5), "ratio": round(ratio, 3)}), flush=True)
        torch._dynamo.reset()
for name, all in found.items():
    if not all: continue
    mean = math.exp(sum(math.log(q) for q, *_ in all) / len(all))
    low = [a for a in sorted(all) if a[0] < 0.85]
    slower = [a for a in all if a[2] - a[0] * a[2] > 1e-3 and a[0] < 0.85]
    share = 100 * len(low) / len(all)
    print(f"{name}: {len(all)} shapes, mean {mean:.3f}, below 0.85: {share:.0f} %, worst {min(all)[0]:.2f}, {len(slower)} slower by 1 us")
    for q, text, t in low[:8]: print(f"    {q:.2f}  {text}  {t:.4f} ms")
