#!/usr/bin/env python3
"""Attention beside torch's scaled_dot_product_attention, by FlashAttention-2 and by cuDNN.

    python3 attention.py PATH/libtile.so

Needs one NVIDIA GPU and torch. L2 flushed before every launch, medians of CUDA events, taken in turn; each result is checked
first. A ratio above 1 means that ours is faster.
"""
import ctypes, statistics
import torch
import torch.nn.functional as F
from common import LIB, call, once, pointer
from torch.nn.attention import SDPBackend, sdpa_kernel

DTYPES = {torch.float16: 1, torch.bfloat16: 2}


def ours(q, k, v, o, scale, causal):
    heads, queries, d = q.shape
    args = [ctypes.c_int(DTYPES[q.dtype])] + [pointer(t) for t in (q, k, v, o)]
    args += [ctypes.c_longlong(x) for x in (heads, k.shape[0], queries, k.shape[1], d)] + [ctypes.c_float(scale), ctypes.c_int(causal)]
    call(LIB.tile_attention, args)


def torchs(backend, q, k, v, batch, causal):
    four = [t.view(batch, -1, *t.shape[1:]) for t in (q, k, v)]
    more = {"enable_gqa": True} if q.shape[0] != k.shape[0] else {}
    def go():
        with sdpa_kernel([backend]): return F.scaled_dot_product_attention(*four, is_causal=causal, **more)
    return go


def taking(peers):
    """The peers that take these arguments."""
    taken = {}
    for name, f in peers.items():
        try:
            f(); torch.cuda.synchronize()
            taken[name] = f
        except (RuntimeError, TypeError) as e: print(f"  {name}: {str(e).splitlines()[0]}")
    return taken


def row(name, work, mine, peers):
    for _ in range(3): mine(), [f() for f in peers.values()]
    rounds = [(once(mine), {w: once(f) for w, f in peers.items()}) for _ in range(25)]
    t = statistics.median(r[0] for r in rounds)
    ratios = {w: statistics.median(r[1][w] / r[0] for r in rounds) for w in peers}
    print(f"{name:44s} {t:8.4f} ms  {work(t)}  " + "  ".join(f"{x:.2f} {w}" for w, x in ratios.items()), flush=True)


def beside(batch, heads, shared, queries, keys, d, dtype, causal, name, work):
    """A row of `batch` times so many heads, of which some share those of k and v, if it is right. Causal is for as many queries as keys."""
    q, k, v = (torch.randn(batch * h, n, d, device="cuda", dtype=dtype) for h, n in ((heads, queries), (shared, keys), (shared, keys)))
    o, scale = torch.full_like(q, float("nan")), d ** -0.5
    mine = lambda: ours(q, k, v, o, scale, causal)
    peers = taking({w: torchs(b, q, k, v, batch, causal) for w, b in (("flash", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION))})
    mine(); torch.cuda.synchronize()
    # Some rows of some heads in double precision, enough of them for the errors to be comparable.
    rows, group = torch.arange(0, queries, max(queries // 61, 1), device="cuda"), heads // shared
    some = torch.arange(0, batch * heads, 1 if queries < 61 else max(batch * heads // 2 - 1, 1), device="cuda")
    wanted = []
    for h in some:
        scores = scale * (q[h, rows].double() @ k[h // group].double().T)
        if causal: scores.masked_fill_(torch.arange(keys, device="cuda")[None, :] > rows[:, None], float("-inf"))
        wanted.append(torch.softmax(scores, -1) @ v[h // group].double())
    wanted = torch.stack(wanted)
    error = lambda x: ((x.reshape_as(o)[some][:, rows].double() - wanted).norm() / wanted.norm()).item()
    errors = [error(f()) for f in peers.values()]
    assert error(o) <= 1.05 * max(errors, default=4e-3) + 1e-6, f"{name} wrong: {error(o)}, {errors}"
    row(name, work, mine, peers)


def many(dtype):
    for batch, heads, n, d in ((4, 16, 4096, 64), (4, 16, 4096, 128), (1, 16, 16384, 128), (16, 16, 1024, 128)):
        for causal in (False, True):
            flops = 4 * batch * heads * n * n * d / (2 if causal else 1)
            name = f"{batch}x{heads} heads, {n}, d {d}, {str(dtype)[6:]}" + (", causal" if causal else "")
            beside(batch, heads, heads, n, n, d, dtype, causal, name, lambda t: f"{1e-9 * flops / t:5.0f} TFLOP/s")


def few(dtype):
    """A token, or some, after many: its cost is one read of keys and values."""
    for batch, heads, shared, queries, keys, d in (
        (1, 32, 8, 1, 8192, 128), (1, 32, 8, 1, 131072, 128), (1, 32, 32, 1, 8192, 128), (16, 32, 8, 1, 4096, 128), (64, 32, 8, 1, 2048, 128),
        (16, 32, 32, 1, 2048, 128), (1, 64, 8, 1, 16384, 64), (8, 32, 8, 1, 1000, 128), (1, 32, 8, 1, 512, 128),
        (1, 32, 8, 8, 8192, 128), (4, 32, 8, 5, 8192, 128), (1, 16, 16, 64, 16384, 128), (1, 8, 8, 512, 16384, 128), (1, 16, 16, 1024, 4096, 64), (3, 16, 16, 512, 4096, 128),
    ):
        size = (2 * batch * shared * keys + 2 * batch * heads * queries) * d * dtype.itemsize
        flops = 4 * batch * heads * queries * keys * d
        name = f"{batch}x{heads}/{shared} heads, {queries} of {keys}, d {d}, {str(dtype)[6:]}"
        beside(batch, heads, shared, queries, keys, d, dtype, False, name, lambda t: f"{1e-9 * size / t:5.2f} TB/s {1e-9 * flops / t:5.0f} TFLOP/s")


if __name__ == "__main__":
    for dtype in (torch.bfloat16, torch.float16):
        many(dtype)
        few(dtype)
