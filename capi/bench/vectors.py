#!/usr/bin/env python3
"""Products of one row or one column, f16 and bf16, beside cuBLAS. Those of f32 are in f32.py.

    python3 vectors.py PATH/libtile.so

Needs one NVIDIA GPU and torch. L2 flushed before every launch, medians of CUDA events, taken in turn. A ratio above 1 means that ours
is faster.
"""
import torch
from common import in_turn, matmul

SIZES = [(1, 4096, 4096), (1, 8192, 8192), (1, 32000, 4096), (4096, 1, 4096), (8192, 1, 8192), (32000, 1, 4096), (1024, 1, 4096)]

for dtype, code in ((torch.float16, 1), (torch.bfloat16, 2)):
    for m, n, k in SIZES:
        for trans_b in (0, 1):
            a, c = torch.randn(m, k, device="cuda", dtype=dtype), torch.empty(m, n, device="cuda", dtype=dtype)
            b = torch.randn(*((n, k) if trans_b else (k, n)), device="cuda", dtype=dtype)
            bb = b.t() if trans_b else b
            mine, theirs = lambda: matmul(code, a, b, c, trans_b), lambda: torch.matmul(a, bb, out=c)
            theirs(); wanted = c.double(); c.fill_(float("nan")); mine()
            error = ((c.double() - wanted).norm() / wanted.norm()).item()
            assert error < 1e-2, f"wrong product: {error}"
            for _ in range(3): mine(); theirs()
            torch.cuda.synchronize()
            t, ratio = in_turn(mine, theirs, 15)
            print(f"{m} x {n} x {k} {str(dtype)[6:]} {'NT' if trans_b else 'NN'}  {t:8.4f} ms  ratio {ratio:.2f}", flush=True)
