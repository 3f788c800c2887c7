"""The common part of the benchmarks of this folder: the library whose path is their argument, and a timer."""
import ctypes, statistics, sys
import torch

LIB = ctypes.CDLL(sys.argv[1])
LIB.tile_last_error.restype = ctypes.c_char_p
# Larger than any cache, and long enough for the host to enqueue the timed work.
FLUSH = torch.empty(1 << 30, dtype=torch.int8, device="cuda")
# A small kernel behind the flush: the end of the flush is not part of the timed work.
SETTLE = torch.empty(1 << 10, dtype=torch.int8, device="cuda")
# Of `tile_matmul`: element type, dtype and precision.
TYPES = {"f16": (torch.float16, 1, 0), "bf16": (torch.bfloat16, 2, 0), "f32": (torch.float32, 0, 1), "tf32": (torch.float32, 0, 2)}
pointer = lambda t: ctypes.c_void_p(t.data_ptr())


def random(dtype, *dims):
    return torch.randn(*dims, device="cuda", dtype=dtype)


def eight_bits(name, dims, tb):
    """Operands and a result of `int8` or `fp8` products, and the dtype of `tile_matmul`."""
    m, n, k = dims
    shapes = ((m, k), (n, k) if tb else (k, n))
    if name == "int8":
        a, b = (torch.randint(-128, 128, d, device="cuda", dtype=torch.int8) for d in shapes)
        return a, b, torch.empty(m, n, device="cuda", dtype=torch.int32), 3
    a, b = (random(torch.float32, *d).to(torch.float8_e4m3fn) for d in shapes)
    return a, b, torch.empty(m, n, device="cuda", dtype=torch.bfloat16), 4


def call(function, args):
    """One of the library's functions, or its message as an error."""
    if function(*args):
        raise RuntimeError(LIB.tile_last_error().decode())


def matmul(dtype, a, b, c, trans_b=0, precision=0, trans_a=0):
    """c = a b, or of the transpose of either; the numbers are those of `tile_matmul`."""
    (m, n), k = c.shape, a.shape[1 - trans_a]
    call(LIB.tile_matmul, [ctypes.c_int(x) for x in (dtype, precision, trans_a, trans_b)] + [pointer(t) for t in (a, b, c)] + [ctypes.c_longlong(x) for x in (m, n, k)])


def product(a, b, c, trans_b=0):
    """The same of f32 to its accuracy."""
    matmul(0, a, b, c, trans_b, precision=1)


def once(f):
    """Milliseconds of one call, with nothing of it in the L2 cache."""
    FLUSH.zero_(); SETTLE.zero_()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record(); f(); end.record(); torch.cuda.synchronize()
    return start.elapsed_time(end)


def in_turn(mine, theirs, rounds=25):
    """Milliseconds of mine, and how many times as long theirs takes: medians of calls that take turns."""
    pairs = [(once(mine), once(theirs)) for _ in range(rounds)]
    return statistics.median(m for m, _ in pairs), statistics.median(t / m for m, t in pairs)
