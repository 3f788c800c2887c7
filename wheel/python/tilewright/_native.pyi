"""The operations. ``T`` is an array of NumPy, PyTorch, JAX or CuPy, or another object with ``__dlpack__`` or
``__cuda_array_interface__``.

Every function raises ``ArgumentError`` where shapes do not agree or ``out`` overlaps an input in a way that is not
said, and ``DTypeError`` for element types that are not named. Inputs may have any strides. ``matmul``, and
``attention`` with heads alone, read them where they are; other functions read a copy. An array of JAX is no ``out``.
"""

from typing import Any, Optional, TypeVar

T = TypeVar("T")

__version__: str

class Error(RuntimeError):
    """A call failed."""

class ArgumentError(Error, ValueError):
    """Shapes or lengths do not agree, an output overlaps an input, or an argument is out of its range."""

class DTypeError(Error, TypeError):
    """There is no kernel for the element type of an array."""

class DeviceError(Error):
    """There is no usable GPU, driver or compiled kernel, or the device is lost."""

class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""

class Tensor:
    """An array of this library: the result for an array of an unknown one. ``numpy.from_dlpack(tensor)`` and the like
    take it without a copy."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: Optional[int] = None,
        max_version: Optional[tuple[int, int]] = None,
        dl_device: Optional[tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any: ...
    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any: ...

def set_stream(stream: Optional[int], /) -> Optional[int]:
    """Puts the calling thread's later work on GPUs on a stream, the address of a ``CUstream`` or ``cudaStream_t`` that
    lives until another one is set; 0 is the default stream. With ``None``, the default, it is the current stream of the
    library that the arrays belong to. Returns what was set before."""

def relu(x: T, /, *, out: Optional[T] = None) -> T:
    """``max(x, 0)``. f32, f16 or bf16 of any shape; ``out`` may be ``x``."""

def leaky_relu(x: T, /, negative_slope: float = 0.01, *, out: Optional[T] = None) -> T:
    """``x``, or ``negative_slope * x`` where it is negative. f32, f16 or bf16 of any shape; ``out`` may be ``x``."""

def gelu(x: T, /, *, out: Optional[T] = None) -> T:
    """GeLU in its tanh form. f32, f16 or bf16 of any shape; ``out`` may be ``x``."""

def sigmoid(x: T, /, *, out: Optional[T] = None) -> T:
    """``1 / (1 + exp(-x))``. f32 of any shape; ``out`` may be ``x``."""

def silu(x: T, /, *, out: Optional[T] = None) -> T:
    """``x * sigmoid(x)``. f32 of any shape; ``out`` may be ``x``."""

def add(a: T, b: T, /, *, out: Optional[T] = None) -> T:
    """``a + b``. f32, f16 or bf16, both of one shape: nothing is broadcast. ``out`` may be ``a`` or ``b``."""

def swiglu(gate: T, up: T, /, *, out: Optional[T] = None) -> T:
    """``gate * sigmoid(gate) * up``. f32, f16 or bf16, both of one shape; ``out`` may be ``gate`` or ``up``."""

def dropout(x: T, /, p: float = 0.5, *, seed: int, out: Optional[T] = None) -> T:
    """``x / (1 - p)`` where an element is kept, else 0: each is dropped with probability ``p``. Which ones are kept
    depends on ``seed``, an integer of 64 bits, and on their places alone. f32, f16 or bf16 of any shape; ``out`` may be
    ``x``."""

def matmul(
    a: T,
    b: T,
    /,
    *,
    activation: Optional[str] = None,
    negative_slope: float = 0.01,
    precision: Optional[str] = None,
    out: Optional[T] = None,
) -> T:
    """The product ``a @ b`` of ``m x k`` and ``k x n``, or of each pair of ``h x m x k`` and ``h x k x n``.

    Arrays of other ranks are reshaped by the caller, as in ``x.reshape(-1, k)``. ``out`` may have any strides that keep
    elements apart.

    f32, f16 and bf16; of matrices also int8, whose product is int32, and 8-bit floats, whose product is bf16. Sums are
    those of f32, or exact. ``activation``, of matrices, is ``"relu"`` or ``"leaky_relu"`` of every sum. ``precision``
    ``"tf32"`` rounds f32 operands to 10 bits of fraction; ``"f32"``, the default, is as accurate as multiply-adds.
    """

def grouped_matmul(a: T, b: T, ends: T, /, *, out: Optional[T] = None) -> T:
    """``a[r] @ b[g]`` for the rows ``r`` of every group ``g``, as in a mixture of experts.

    ``a`` is ``m x k`` and ``b`` ``groups x k x n``, with any strides: weights of ``n x k`` are given as ``w.mT``. f16
    or bf16, summed in f32.

    ``ends`` are int32, one for each group, and on the device of ``a``. Group ``g`` has the rows from the end of the
    group before to ``ends[g]``, and may have none. An end beyond ``m`` stands for ``m``, and an end below an earlier
    one makes a group without rows. Rows behind the last end are not written: in a new array they hold anything.
    """

def dot(a: T, b: T, /, *, out: Optional[T] = None) -> T:
    """The sum of ``a[i] * b[i]`` of two vectors. f32 or f16, summed in f32. The result has rank 0."""

def attention(
    q: T, k: T, v: T, /, *, scale: Optional[float] = None, causal: bool = False, out: Optional[T] = None
) -> T:
    """``softmax(scale * q @ k.T) @ v`` of every head. f16 or bf16.

    ``q`` and the result are ``heads x queries x d``, ``k`` and ``v`` ``shared x keys x d``, or all with a batch before.
    ``heads`` is a multiple of ``shared``, and ``d`` is 1 to 128. ``scale`` is ``1 / sqrt(d)`` unless it is given, 1e-30
    at least. With ``causal`` the last query sees all keys, the one before it all but the last, and so on. A query that
    sees no key gives zeros.
    """

def softmax(x: T, /, *, out: Optional[T] = None) -> T:
    """Softmax along the last axis. f32, f16 or bf16 of rank 1 or more, computed in f32."""

def layer_norm(x: T, weight: T, bias: T, /, *, eps: float = 1e-5, out: Optional[T] = None) -> T:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` along the last axis, whose length ``weight`` and ``bias``
    have. f32, f16 and bf16, computed in f32."""

def rms_norm(x: T, weight: T, /, *, eps: float = 1e-5, out: Optional[T] = None) -> T:
    """``x / sqrt(mean of x**2 + eps) * weight`` along the last axis, whose length ``weight`` has. f32, f16 and bf16,
    computed in f32."""

def embedding(table: T, ids: T, /, *, out: Optional[T] = None) -> T:
    """``table[ids]``: rows of a table of f32, f16 or bf16, for int32 indices of any shape. A negative index gives
    zeros, and one that is no row gives NaN."""

def rope(
    x: T,
    cos: T,
    sin: T,
    /,
    positions: Optional[T] = None,
    *,
    interleaved: bool = False,
    out: Optional[T] = None,
) -> T:
    """Rotary position embedding (RoPE) of ``.. x tokens x heads x d``: pairs of the elements of a head rotate by the
    angles of the token's position. f32, f16 or bf16; ``out`` may be ``x``.

    ``cos`` and ``sin`` are f32 of ``rows x half``, with ``2 * half`` at most ``d``: a row for each position. Without
    ``positions`` it is the index along the axis of tokens, else int32 of ``.. x tokens``. A position that is no row
    gives NaN. The pairs are elements ``i`` and ``half + i`` of a head, with ``interleaved`` elements ``2 * i`` and
    ``2 * i + 1``. Elements from ``2 * half`` on are copied.
    """

def sum(x: T, /, *, out: Optional[T] = None) -> T:
    """The sum of all elements, of rank 0. f32 of any shape. The order of the sum is that of the configuration that runs:
    the same one gives the same bits every time."""

def cumsum(x: T, /, *, out: Optional[T] = None) -> T:
    """``x[0] + .. + x[i]`` of a vector of f32. On a GPU the sums of blocks are added in an order that may change from
    call to call, and the last bits of long vectors with it."""

def sort(x: T, /, *, out: Optional[T] = None) -> T:
    """The elements of a vector in ascending order. f32, NaN last, or uint32. ``out`` may overlap ``x``."""

def topk(x: T, k: int, /, *, out: Optional[T] = None) -> T:
    """The ``k`` greatest elements of a vector of f32 in descending order. NaN is greater than all numbers. ``out`` may
    overlap ``x``.
    """

def cross_entropy(logits: T, labels: T, /, *, out: Optional[T] = None) -> T:
    """The mean of ``log(sum of exp(logits)) - logits[label]``, of rank 0. ``logits`` are ``rows x classes`` of f32,
    ``labels`` ``rows`` of int32. A label that is no class gives NaN; none is ignored."""
