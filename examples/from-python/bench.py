#!/usr/bin/env python3
"""The kernels of this folder beside the same ones in Triton, beside cuBLAS, and beside the attention of torch.

    cargo build --release && python3 bench.py ../../target/release/libkernels.so

Needs one NVIDIA GPU, torch and Triton. L2 flushed before every launch, medians of CUDA events, all in turn; each result is checked
first (of attention the first and the last head). A ratio above 1 means that ours is faster.
"""
import statistics, sys
import torch, triton, triton.language as tl
import torch.nn.functional as F
from kernels import attention, load, matmul
from torch.nn.attention import SDPBackend, sdpa_kernel

FLUSH = torch.empty(256 << 20, dtype=torch.int8, device="cuda")


BLOCKS = [(128, 256, 64, 3, 8), (128, 128, 64, 4, 4), (128, 128, 64, 3, 8), (256, 128, 64, 3, 8), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (64, 64, 64, 5, 4), (128, 128, 32, 4, 4), (64, 256, 32, 4, 4), (64, 64, 128, 3, 4)]


@triton.autotune([triton.Config({"BM": m, "BN": n, "BK": k, "GROUP": 8}, num_stages=s, num_warps=w) for m, n, k, s, w in BLOCKS], key=["m", "n", "k", "sak", "sbk"])
@triton.jit
def triton_product(a, b, c, m, n, k, sam, sak, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    i, j = tl.program_id(0) // tl.cdiv(n, BN), tl.program_id(0) % tl.cdiv(n, BN)
    i, j = tl.swizzle2d(i, j, tl.cdiv(m, BM), tl.cdiv(n, BN), GROUP)
    rows, columns, depth = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    # Rows and columns that wrap around: Triton is faster with one mask than with two.
    at, bt = a + (rows % m)[:, None] * sam + depth[None, :] * sak, b + depth[:, None] * sbk + (columns % n)[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        acc = tl.dot(tl.load(at, mask=depth[None, :] < k - start, other=0.0), tl.load(bt, mask=depth[:, None] < k - start, other=0.0), acc)
        at += BK * sak
        bt += BK * sbk
    tl.store(c + rows[:, None] * scm + columns[None, :], acc.to(tl.float16), mask=(rows[:, None] < m) & (columns[None, :] < n))


def triton_matmul(a, b, c):
    (m, n), k = c.shape, a.shape[1]
    triton_product[lambda x: (triton.cdiv(m, x["BM"]) * triton.cdiv(n, x["BN"]),)](a, b, c, m, n, k, *a.stride(), *b.stride(), c.stride(0))


@triton.autotune([triton.Config({"BM": m, "BN": n}, num_stages=s, num_warps=w) for m in (64, 128) for n in (32, 64, 128) for s in (2, 3) for w in (4, 8)], key=["queries", "keys", "D"])
@triton.jit
def triton_heads(q, k, v, o, scale, queries, keys, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows, columns, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    of_queries, of_keys = tl.program_id(1).to(tl.int64) * queries * D, tl.program_id(1).to(tl.int64) * keys * D
    query = tl.load(q + of_queries + rows[:, None] * D + d[None, :], mask=rows[:, None] < queries, other=0.0)
    kt, vt = k + of_keys + columns[None, :] * D + d[:, None], v + of_keys + columns[:, None] * D + d[None, :]
    scale *= 1.442695
    greatest, weights, acc = tl.full((BM,), -1e30, tl.float32), tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for start in range(0, keys, BN):
        scores = tl.dot(query, tl.load(kt, mask=(start + columns)[None, :] < keys, other=0.0)) * scale
        scores = tl.where((start + columns)[None, :] < keys, scores, -1e30)
        now = tl.maximum(greatest, tl.max(scores, 1))
        p, less = tl.exp2(scores - now[:, None]), tl.exp2(greatest - now)
        weights, acc = weights * less + tl.sum(p, 1), acc * less[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(vt, mask=(start + columns)[:, None] < keys, other=0.0), acc)
        greatest, kt, vt = now, kt + BN * D, vt + BN * D
    tl.store(o + of_queries + rows[:, None] * D + d[None, :], (acc / weights[:, None]).to(tl.float16), mask=rows[:, None] < queries)


def triton_attention(q, k, v, o, scale):
    heads, queries, d = q.shape
    triton_heads[lambda x: (triton.cdiv(queries, x["BM"]), heads)](q, k, v, o, scale, queries, k.shape[1], d)


def torchs(backend, q, k, v):
    def go():
        with sdpa_kernel([backend]): return F.scaled_dot_product_attention(q[None], k[None], v[None])
    return go


def once(f):
    FLUSH.zero_()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record(); f(); end.record(); torch.cuda.synchronize()
    return start.elapsed_time(end)


def row(name, work, out, part, right, mine, peers):
    """Ours if this part of its output is right, and how many times as long each peer takes."""
    out.fill_(float("nan"))
    mine(); torch.cuda.synchronize()
    error = ((out[part].double() - right).norm() / right.norm()).item()
    if not error < 2e-3:
        return print(f"{name:34s} WRONG: an error of {error:.1e} of the norm", flush=True)
    for _ in range(3): mine(), [f() for f in peers.values()]
    rounds = [(once(mine), {w: once(f) for w, f in peers.items()}) for _ in range(25)]
    t = statistics.median(r[0] for r in rounds)
    ratios = "  ".join(f"{statistics.median(r[1][w] / r[0] for r in rounds):.2f} {w}" for w in peers)
    print(f"{name:34s} {t:8.4f} ms {work / t / 1e9:5.0f} TFLOP/s  {ratios}", flush=True)


def main():
    random = lambda *dims: torch.randn(*dims, device="cuda", dtype=torch.float16)
    for m, n, k in [(1024,) * 3, (2048,) * 3, (4096,) * 3, (8192,) * 3, (4088, 4112, 4104)]:
        for order in ("A B", "A Bt", "At B", "At Bt"):
            a = random(k, m).t() if order.startswith("At") else random(m, k)
            b = random(n, k).t() if order.endswith("Bt") else random(k, n)
            c, other = random(m, n), random(m, n)
            peers = {"cuBLAS": lambda: torch.matmul(a, b, out=other), "Triton": lambda: triton_matmul(a, b, other)}
            row(f"matmul {m}x{n}x{k} {order}", 2 * m * n * k, c, slice(None), torch.matmul(a.float(), b.float()).double(), lambda: matmul(a, b, c), peers)
    for heads, n, d in [(64, 4096, 128), (16, 16384, 128), (256, 1024, 128), (64, 4096, 64), (64, 4001, 128)]:
        q, k, v, o = (random(heads, n, d) for _ in range(4))
        other, scale = torch.empty_like(o), d**-0.5
        peers = {"Triton": lambda: triton_attention(q, k, v, other, scale)}
        peers |= {w: torchs(b, q, k, v) for w, b in (("FlashAttention-2", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION))}
        ends = [0, heads - 1]
        right = F.scaled_dot_product_attention(*(t[ends].float() for t in (q, k, v))).double()
        row(f"attention {heads}x{n}x{d}", 4 * heads * n * n * d, o, ends, right, lambda: attention(q, k, v, o, scale), peers)


load(sys.argv[1])
main()
