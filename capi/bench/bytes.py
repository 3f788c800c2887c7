#!/usr/bin/env python3
"""Products of 8-bit matrices beside torch: int8 beside torch._int_mm, fp8 (e4m3) beside torch._scaled_mm.

    python3 bytes.py PATH/libtile.so

Needs one NVIDIA GPU and torch. L2 flushed before every launch, medians of CUDA events, taken in turn; each result is checked
first. A ratio above 1 means that ours is faster.
"""
import torch
from common import in_turn, matmul


def row(name, n, mine, theirs):
    for _ in range(3): mine(); theirs()
    t, ratio = in_turn(mine, theirs)
    print(f"{name:10s} {n}^3  {t:8.4f} ms  {2e-9 * n**3 / t:6.0f} TFLOP/s  ratio {ratio:.2f}", flush=True)


for n in (4096, 8192):
    a, b = (torch.randint(-128, 128, (n, n), device="cuda", dtype=torch.int8) for _ in range(2))
    c = torch.zeros(n, n, device="cuda", dtype=torch.int32)
    for trans_b in (1, 0):
        bb = b.t() if trans_b else b
        matmul(3, a, b, c, trans_b); torch.cuda.synchronize()
        assert torch.equal(c, torch._int_mm(a, bb)), "wrong int8 product"
        row("int8 " + ("NT" if trans_b else "NN"), n, lambda: matmul(3, a, b, c, trans_b), lambda: torch._int_mm(a, bb))
    a, b = (torch.randn(n, n, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    c, one = torch.zeros(n, n, device="cuda", dtype=torch.bfloat16), torch.ones((), device="cuda")
    theirs = lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True)
    matmul(4, a, b, c, 1); torch.cuda.synchronize()
    error = ((c[:64].double() - a[:64].double() @ b.double().t()).norm() / c[:64].double().norm()).item()
    assert error < 5e-3, f"wrong fp8 product: {error}"
    row("fp8 NT", n, lambda: matmul(4, a, b, c, 1), theirs)
