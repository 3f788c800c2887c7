"""Kernels for NumPy, PyTorch, JAX and CuPy, compiled ahead of time.

A function takes any array with ``__dlpack__`` or ``__cuda_array_interface__``, without a copy, and returns an array of
the same library. A call runs where its arrays are: on the CPU, or on the GPU that has them.

Products: matmul, grouped_matmul, dot, attention. Of each element: add, dropout, relu, leaky_relu, gelu, sigmoid,
silu, swiglu. Along the last axis: softmax, layer_norm, rms_norm. Of tokens: embedding, rope. Of a vector: cumsum, sort,
topk. Sums and losses: sum, cross_entropy. ``help(tilewright.matmul)`` tells shapes and element types.
``tilewright.torch`` has all but grouped_matmul with gradients.

>>> import numpy as np
>>> import tilewright as tw
>>> tw.softmax(np.zeros((1, 4), np.float32))
array([[0.25, 0.25, 0.25, 0.25]], dtype=float32)
"""

from contextlib import contextmanager as _contextmanager

from ._native import (
    ArgumentError,
    DeviceError,
    DTypeError,
    Error,
    OutOfMemoryError,
    Tensor,
    __version__,
    add,
    attention,
    cross_entropy,
    cumsum,
    dot,
    dropout,
    embedding,
    gelu,
    grouped_matmul,
    layer_norm,
    leaky_relu,
    matmul,
    relu,
    rms_norm,
    rope,
    set_stream,
    sigmoid,
    silu,
    softmax,
    sort,
    sum,
    swiglu,
    topk,
)

__all__ = [
    "ArgumentError",
    "DTypeError",
    "DeviceError",
    "Error",
    "OutOfMemoryError",
    "Tensor",
    "__version__",
    "add",
    "attention",
    "cross_entropy",
    "cumsum",
    "dot",
    "dropout",
    "embedding",
    "gelu",
    "grouped_matmul",
    "layer_norm",
    "leaky_relu",
    "matmul",
    "relu",
    "rms_norm",
    "rope",
    "set_stream",
    "sigmoid",
    "silu",
    "softmax",
    "sort",
    "stream",
    "sum",
    "swiglu",
    "topk",
]


@_contextmanager
def stream(address):
    """Puts work of this thread on a stream: the address of a ``CUstream`` or ``cudaStream_t``; 0 is the default stream.

    Arrays of any library then take part in it. The stream lives until the block ends.
    """
    before = set_stream(address)
    try:
        yield
    finally:
        set_stream(before)
