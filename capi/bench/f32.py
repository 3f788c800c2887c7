#!/usr/bin/env python3
"""Products of f32 with few rows, or one column, of moderate size and of a long depth, to the accuracy of f32, beside cuBLAS.

    python3 f32.py PATH/libtile.so

Needs one NVIDIA GPU and torch. L2 flushed before every launch, medians of CUDA events, taken in turn. A ratio above 1 means that ours
is faster; errors are relative, in the norm, against a product in f64.
"""
import torch
from common import in_turn, product

SIZES = [(m, 4096, 4096) for m in (1, 8, 16, 32, 64, 128, 256, 512)] + [(n, n, n) for n in (128, 256, 512, 768, 1024, 1536, 2048, 3072)]
SIZES += [(64, 8192, 8192), (64, 1024, 16384), (256, 1024, 8192)]
SIZES += [(1, n, k) for n, k in ((8192, 8192), (1024, 4096), (32000, 4096), (64, 65536))] + [(m, 1, k) for m, k in ((4096, 4096), (32000, 4096), (1024, 16384))]
torch.backends.cuda.matmul.allow_tf32 = False

for m, n, k in SIZES:
    for trans_b in (0, 1):
        a, c, other = torch.randn(m, k, device="cuda"), torch.zeros(m, n, device="cuda"), torch.zeros(m, n, device="cuda")
        b = torch.randn(*((n, k) if trans_b else (k, n)), device="cuda")
        bb = b.t() if trans_b else b
        mine, theirs = lambda: product(a, b, c, trans_b), lambda: torch.matmul(a, bb, out=other)
        for _ in range(3): mine(); theirs()
        torch.cuda.synchronize()
        exact = a.double() @ bb.double()
        errors = [((x.double() - exact).norm() / exact.norm()).item() for x in (c, other)]
        assert errors[0] < 1e-6, f"wrong product: {errors[0]}"
        t, ratio = in_turn(mine, theirs)
        print(f"{m} x {n} x {k} {'NT' if trans_b else 'NN'}  {t:8.4f} ms  ratio {ratio:.2f}  error {errors[0]:.1e}, cuBLAS {errors[1]:.1e}", flush=True)
