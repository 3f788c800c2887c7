#!/usr/bin/env python3
"""The calls of `versions.py` as a workload for `tile tune --workload`, a line each, to standard output.

    python3 workload.py > layers.jsonl
    tile tune --workload layers.jsonl --export results.json

Products of all types and orders of the operands: squares, layers of models for 1 to 256 rows, and extremes. The results in
`host/defaults` of these shapes come from it.
"""
import itertools, json

SHAPES = [(n, n, n) for n in (256, 512, 1024, 1536, 2048, 4096, 8192)]
SHAPES += [(m, n, k) for m in (1, 8, 16, 32, 64, 128, 256) for n, k in ((4096, 4096), (14336, 4096), (8192, 8192))]
SHAPES += [(8192, 8192, 64), (64, 64, 65536), (256, 256, 16384), (1000, 1003, 999), (4104, 4104, 4104), (65536, 64, 64), (512, 2048, 4096), (333, 555, 777)]


def matrix(transposed, rows, columns):
    rows, columns = (columns, rows) if transposed else (rows, columns)
    return {"dims": [rows, columns], "strides": [columns, 1]}


def call(operation, types, arguments): print(json.dumps({"operation": operation, "types": types, "arguments": arguments}, separators=(",", ":")))


if __name__ == "__main__":
    for m, n, k in SHAPES:
        result = matrix(False, m, n)
        for types, tf32 in (("f16", 0), ("bf16", 0), ("f32", 0), ("f32", 1)):
            for a, b in itertools.product((0, 1), repeat=2): call("matmul", types, [matrix(a, m, k), a, matrix(b, k, n), b, result, tf32])
        for types, b in itertools.product(("i8", "f8e4m3"), (0, 1)): call("matmul", types, [matrix(0, m, k), 0, matrix(b, k, n), b, result, 0])
        for operation in ("scaled_product", "gemm"): call(operation, "", [matrix(0, m, k), matrix(0, k, n), result])
        call("matmul_int8", "", [matrix(0, m, k), matrix(0, k, n), 0, result, 1])
