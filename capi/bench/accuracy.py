#!/usr/bin/env python3
"""Errors of f32 products beside cuBLAS's own, on the same data.

    python3 accuracy.py PATH/libtile.so

Needs one NVIDIA GPU and torch. Errors are relative, in the norm, against a product in f64. Fails where ours is more than 1.05 times cuBLAS's.
"""
import statistics
import torch
from common import once, product

SIZES = [(4096, 4096, 4096), (8192, 4096, 6144), (8192, 8192, 64), (4096, 4096, 128), (4096, 4096, 256), (4096, 4096, 512), (2048, 2048, 1024)]
SIZES += [(300, 300, 300), (64, 4097, 8191), (1000, 1003, 999)]
DATA = {"uniform ±10": lambda *s: torch.rand(*s, device="cuda") * 20 - 10, "normal": lambda *s: torch.randn(*s, device="cuda")}
torch.backends.cuda.matmul.allow_tf32 = False

for m, n, k in SIZES:
    for name, data in DATA.items():
        a, b, c = data(m, k), data(k, n), torch.zeros(m, n, device="cuda")
        other = torch.empty_like(c)
        mine, theirs = lambda: product(a, b, c), lambda: torch.matmul(a, b, out=other)
        mine(); theirs()
        torch.cuda.synchronize()
        exact = torch.cat([a[i : i + 1024].double() @ b.double() for i in range(0, m, 1024)])
        errors = [((x.double() - exact).norm() / exact.norm()).item() for x in (c, other)]
        del exact
        ratio = statistics.median(t / o for o, t in [(once(mine), once(theirs)) for _ in range(9)])
        print(f"{m} x {n} x {k} {name}: error {errors[0]:.2e}, cuBLAS {errors[1]:.2e}; ratio of times {ratio:.2f}", flush=True)
        assert errors[0] <= 1.05 * errors[1]
