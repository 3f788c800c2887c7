#!/usr/bin/env python3
"""Products of bf16 beside cuTile, NVIDIA's own tile language, and cuBLAS.

    pip install cuda-tile nvidia-cuda-tileiras
    python3 cutile.py compile DIR               # no GPU needed; tileiras of that package in PATH
    python3 cutile.py measure DIR PATH/libtile.so

The kernel is a persistent loop over tiles in groups of rows; the configurations are the fastest that were found for an H200, and those with one
thread block beside them. Compiled ahead of time, so that the measuring machine needs torch alone. L2 flushed before every launch, all in random
order, medians; a ratio above 1 means faster than cuBLAS.
"""
import ctypes, glob, os, random, statistics, sys

# Rows and columns of a tile, step of the depth, rows of tiles in a group, thread blocks of a cluster, worker warps.
CONFIGS = [(256, 256, 64, 8, 2, 8), (256, 256, 64, 16, 2, 8), (256, 256, 64, 4, 2, 8), (256, 128, 64, 8, 2, 4), (128, 256, 64, 8, 1, 8)]


def compile_to(folder):
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, export_kernel
    Const = ct.Constant[int]

    def kernel(ctas, warps, transposed):
        @ct.kernel(num_ctas=ctas, num_worker_warps=warps)
        def product(A, B, D, TM: Const, TN: Const, TK: Const, GROUP: Const):
            rows, columns, steps = ct.cdiv(A.shape[0], TM), ct.cdiv(D.shape[1], TN), ct.cdiv(A.shape[1], TK)
            for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
                first = tile // (GROUP * columns) * GROUP
                size = min(rows - first, GROUP)
                i, j = first + tile % (GROUP * columns) % size, tile % (GROUP * columns) // size
                sums = ct.full((TM, TN), 0.0, dtype=ct.float32)
                for k in range(steps):
                    a = ct.load(A, index=(i, k), shape=(TM, TK))
                    if transposed:
                        b = ct.load(B, index=(j, k), shape=(TN, TK)).transpose()
                    else:
                        b = ct.load(B, index=(k, j), shape=(TK, TN))
                    sums = ct.mma(a, b, sums)
                ct.store(D, index=(i, j), tile=ct.astype(sums, D.dtype))
        return product

    matrix = ArrayConstraint(ct.bfloat16, 2, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False, stride_constant=(None, 1),
                             stride_divisible_by=(8, 1), shape_divisible_by=(16, 16), base_addr_divisible_by=16)
    os.makedirs(folder, exist_ok=True)
    for transposed in (0, 1):
        for tm, tn, tk, group, ctas, warps in CONFIGS:
            signature = KernelSignature([matrix] * 3 + [tm, tn, tk, group], CallingConvention.cutile_python_v1(), symbol="product")
            name = f"{'NT' if transposed else 'NN'}_{tm}x{tn}x{tk}_group{group}_ctas{ctas}_warps{warps}.cubin"
            export_kernel(kernel(ctas, warps, transposed), [signature], os.path.join(folder, name), gpu_code="sm_90", output_format="cubin")
            print(name, flush=True)


def measure(folder):
    import torch
    from common import matmul, once
    cuda = ctypes.CDLL("libcuda.so.1")

    def check(result, what):
        if result: raise RuntimeError(f"{what}: CUDA error {result}")

    def launcher(path, *matrices):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), open(path, "rb").read()), path)
        check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"product"), path)
        values = [v for t in matrices for v in (ctypes.c_void_p(t.data_ptr()), *(ctypes.c_int(x) for x in (*t.shape, *t.stride())))]
        arguments = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        # As many clusters as multiprocessors take.
        grid = torch.cuda.get_device_properties(0).multi_processor_count // int(path.split("_ctas")[1][0])
        return lambda keep=values: check(cuda.cuLaunchKernel(function, grid, 1, 1, 1, 1, 1, 0, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), arguments, None), path)

    for n in (4096, 8192):
        for transposed in (0, 1):
            a, b, c = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(3))
            bb = b.t() if transposed else b
            calls = {"cuBLAS": lambda: torch.matmul(a, bb, out=c), "ours": lambda: matmul(2, a, b, c, transposed)}
            for path in sorted(glob.glob(os.path.join(folder, f"{'NT' if transposed else 'NN'}_*.cubin"))):
                calls["cuTile " + os.path.basename(path)[3:-6]] = launcher(path, a, b, c)
            calls["cuBLAS"](); wanted = c.double()
            for name, f in calls.items():
                c.fill_(float("nan")); f(); f()
                error = ((c.double() - wanted).norm() / wanted.norm()).item()
                assert error < 1e-2, f"{name}: wrong product: {error}"
            times = {name: [] for name in calls}
            for _ in range(25):
                for name, f in random.sample(list(calls.items()), len(calls)): times[name].append(once(f))
            median = {name: statistics.median(t) for name, t in times.items()}
            for name, t in sorted(median.items(), key=lambda x: x[1]):
                print(f"{n} {'NT' if transposed else 'NN'}  {t:8.4f} ms  {2e-9 * n**3 / t:5.0f} TFLOP/s  ratio {median['cuBLAS'] / t:.3f}  {name}", flush=True)


if len(sys.argv) == 3 and sys.argv[1] == "compile":
    compile_to(sys.argv[2])
elif len(sys.argv) == 4 and sys.argv[1] == "measure":
    folder = sys.argv[2]
    sys.argv = [sys.argv[0], sys.argv[3]]
    measure(folder)
else:
    sys.exit(__doc__)
