"""What the benchmarks of this folder have in common: the library whose path is their argument, and a timer."""
import ctypes, sys
import torch

LIB = ctypes.CDLL(sys.argv[1])
LIB.tile_last_error.restype = ctypes.c_char_p
FLUSH = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
pointer = lambda t: ctypes.c_void_p(t.data_ptr())


def call(function, args):
    """One of the library's functions, or its message as an error."""
    if function(*args):
        raise RuntimeError(LIB.tile_last_error().decode())


def product(a, b, c, trans_b=0):
    """c = a b, or a times the transpose of b, of f32 to its accuracy."""
    (m, n), k = c.shape, a.shape[1]
    call(LIB.tile_matmul, [ctypes.c_int(x) for x in (0, 1, 0, trans_b)] + [pointer(t) for t in (a, b, c)] + [ctypes.c_longlong(x) for x in (m, n, k)])


def once(f):
    """Milliseconds of one call, with nothing of it in the L2 cache."""
    FLUSH.zero_()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record(); f(); end.record(); torch.cuda.synchronize()
    return start.elapsed_time(end)
