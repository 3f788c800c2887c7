"""The kernels of this folder for torch's tensors: `load` the library, then call them.

    cargo build --release
    python3 -c "import kernels, torch; kernels.load('../../target/release/libkernels.so'); .."
"""
import ctypes
import torch

LIB = None


def load(path):
    global LIB
    LIB = ctypes.CDLL(path)
    LIB.last_error.restype = ctypes.c_char_p


# ANCHOR: call
def call(function, tensors, *numbers):
    """One of the library's functions on torch's stream, or its message as an error.

    Properties that a pointer does not have are checked here.
    """
    if not all(t.is_cuda and t.dtype == torch.float16 and t.device == tensors[0].device for t in tensors):
        raise TypeError("tensors are of float16, on one GPU")
    args = [ctypes.c_void_p(t.data_ptr()) for t in tensors]
    args += [ctypes.c_float(x) if isinstance(x, float) else ctypes.c_uint64(x) for x in numbers]
    with torch.cuda.device(tensors[0].device):
        if function(*args, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)):
            raise RuntimeError(LIB.last_error().decode())


def matmul(a, b, c):
    """c = a b, of any strides but those of c."""
    (m, k), n = a.shape, b.shape[1]
    if b.shape[0] != k or c.shape != (m, n) or not c.is_contiguous():
        raise ValueError(f"{[*a.shape]} times {[*b.shape]} to {[*c.shape]}, which has to be contiguous")
    call(LIB.matmul, (a, b, c), m, n, k, *a.stride(), *b.stride())
# ANCHOR_END: call


def attention(q, k, v, o, scale):
    """o = softmax(scale q kᵀ) v, of [heads, rows, dimensions]."""
    (heads, queries, d), keys = q.shape, k.shape[1]
    if k.shape != (heads, keys, d) or v.shape != k.shape or o.shape != q.shape or not all(t.is_contiguous() for t in (q, k, v, o)):
        raise ValueError(f"{[*q.shape]}, {[*k.shape]} and {[*v.shape]} to {[*o.shape]}, which have to be contiguous")
    call(LIB.attention, (q, k, v, o), float(scale), heads, queries, keys, d)
