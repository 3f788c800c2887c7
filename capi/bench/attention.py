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
    def go():
        with sdpa_kernel([backend]): return F.scaled_dot_product_attention(*four, is_causal=causal)
    return go


def row(name, flops, mine, peers):
    for _ in range(3): mine(), [f() for f in peers.values()]
    rounds = [(once(mine), {w: once(f) for w, f in peers.items()}) for _ in range(25)]
    t = statistics.median(r[0] for r in rounds)
    ratios = {w: statistics.median(r[1][w] / r[0] for r in rounds) for w in peers}
    print(f"{name:44s} {t:8.4f} ms  {1e-9 * flops / t:5.0f} TFLOP/s  " + "  ".join(f"{x:.2f} {w}" for w, x in ratios.items()), flush=True)


for dtype in (torch.bfloat16, torch.float16):
    for batch, heads, n, d in ((4, 16, 4096, 64), (4, 16, 4096, 128), (1, 16, 16384, 128), (16, 16, 1024, 128)):
        for causal in (False, True):
            q, k, v = (torch.randn(batch * heads, n, d, device="cuda", dtype=dtype) for _ in range(3))
            o, scale = torch.full_like(q, float("nan")), d ** -0.5
            mine = lambda: ours(q, k, v, o, scale, causal)
            peers = {w: torchs(b, q, k, v, batch, causal) for w, b in (("flash", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION))}
            mine(); torch.cuda.synchronize()
            # Some rows in double precision.
            rows = torch.arange(0, n, n // 61, device="cuda")
            scores = scale * (q[:2, rows].double() @ k[:2].double().transpose(1, 2))
            if causal: scores.masked_fill_(torch.arange(n, device="cuda")[None, None, :] > rows[None, :, None], float("-inf"))
            wanted = torch.softmax(scores, -1) @ v[:2].double()
            error = lambda x: ((x.reshape_as(o)[:2, rows].double() - wanted).norm() / wanted.norm()).item()
            assert error(o) <= 1.05 * max(error(f()) for f in peers.values()) + 1e-6, f"wrong: {error(o)}, {[error(f()) for f in peers.values()]}"
            row(f"{batch}x{heads} heads, {n}, d {d}, {str(dtype)[6:]}" + (", causal" if causal else ""), 4 * batch * heads * n * n * d / (2 if causal else 1), mine, peers)
