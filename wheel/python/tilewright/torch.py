"""Operations of PyTorch: ``import tilewright.torch`` registers ``torch.ops.tilewright``.

Each takes and returns tensors of one device, has a gradient where there is one, and takes part in ``torch.compile``,
``torch.autocast`` and CUDA graphs. The functions of this module compute the same. They take the arguments of the
function of ``tilewright`` with the same name, without ``out``: ``help(tilewright.matmul)``. They skip PyTorch's
dispatcher where nothing listens to it. In a small call the dispatcher takes most of the time.
"""

import torch
from torch import Tensor
from torch.autograd import forward_ad, profiler
from torch.library import Library
from torch.nn import Parameter

from . import _native

_lib = Library("tilewright", "DEF")
_ops = torch.ops.tilewright
_C = torch._C


class _Operation:
    """An operation: what the dispatcher calls, and the same for tensors that nothing else has to see."""

    def __init__(self, schema, fake, backward, save, run=None, autocast=None):
        """``run``, else the function of the native module with its name, computes it. ``fake`` computes the result's
        metadata. ``backward`` gives the gradients of the inputs, by what ``save`` has kept. ``autocast`` gives the
        element type that ``torch.autocast`` casts floating-point inputs to.
        """
        name = schema[: schema.index("(")]
        self.run = run = run or getattr(_native, name)

        def detached(*args):
            return run(*(a.detach() if isinstance(a, Tensor) and a.requires_grad else a for a in args))

        _lib.define(schema)
        _lib.impl(name, detached, "CPU")
        _lib.impl(name, detached, "CUDA")
        torch.library.register_fake(f"tilewright::{name}", fake, lib=_lib)
        torch.library.register_autograd(f"tilewright::{name}", backward, setup_context=save, lib=_lib)
        self.op = op = getattr(_ops, name)
        if autocast is not None:
            for device in ["cpu", "cuda"]:
                _lib.impl(name, _with_casts(op, device, autocast), f"Autocast{device.upper()}")

        def forward(ctx, *args):
            result = run(*args)
            save(ctx, args, result)
            return result

        # PyTorch names the node of a graph by the class as it is made.
        methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        self.function = type(name, (torch.autograd.Function,), methods)

    def __call__(self, *args):
        # The first condition is for the compiler, which leaves the branch out.
        if not torch.compiler.is_compiling() and not _is_listened_to():
            is_recorded = False
            for a in args:
                if _is_plain(a):
                    is_recorded = is_recorded or a.requires_grad
                elif type(a) not in _SCALARS:
                    break
            else:
                if is_recorded and torch.is_grad_enabled():
                    return self.function.apply(*args)
                return self.run(*args)
        return self.op(*args)


def _is_plain(a):
    """Whether it is a tensor with memory, of no class that has to see an operation."""
    return (type(a) is Tensor or type(a) is Parameter) and not a.is_meta


# Arguments beside tensors.
_SCALARS = {type(None), bool, int, float, str}


def _is_listened_to():
    """Whether a tracer, a mode or a transform has to see each operation."""
    return (
        _C._len_torch_dispatch_stack()
        or _C._len_torch_function_stack()
        or _C._functorch.peek_interpreter_stack() is not None
        or _C._get_tracing_state() is not None
        or _C._is_any_autocast_enabled()
        or forward_ad._current_level >= 0
        or profiler._is_profiler_enabled
    )


def _with_casts(op, device, to):
    """An operation under ``torch.autocast``. Tensors of 64 bits and of integers stay as they are."""

    key = _C.DispatchKeySet(getattr(_C.DispatchKey, f"Autocast{device.upper()}"))

    def is_cast(a):
        return isinstance(a, Tensor) and a.device.type == device and a.dtype in _AUTOCAST

    def run(*args):
        dtypes = [a.dtype for a in args if is_cast(a)]
        dtype = to(device, dtypes) if dtypes else None
        with _C._ExcludeDispatchKeyGuard(key):
            return op(*(a.to(dtype) if is_cast(a) else a for a in args))

    return run


_AUTOCAST = {torch.float32, torch.float16, torch.bfloat16}


def _lower(device, dtypes):
    return torch.get_autocast_dtype(device)


def _single(device, dtypes):
    return torch.float32


def _widest(device, dtypes):
    dtype = dtypes[0]
    for other in dtypes[1:]:
        dtype = torch.promote_types(dtype, other)
    return dtype


def _keep_nothing(ctx, inputs, output):
    pass


def _same(x, *_, **__):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _add_fake(a, b):
    torch._check(a.shape == b.shape, lambda: f"add: {a.shape} and {b.shape}")
    return _same(a)


def _topk_fake(x, k):
    torch._check(x.dim() == 1 and 0 <= k <= x.shape[0], lambda: f"topk: {k} of {x.shape}")
    return x.new_empty((k,))


def _scalar(x, *_, **__):
    return x.new_empty(())


def _keep_input(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def _keep_output(ctx, inputs, output):
    ctx.save_for_backward(output)


def _relu_backward(ctx, g):
    (y,) = ctx.saved_tensors
    return torch.where(y > 0, g, 0)


def _leaky_relu_save(ctx, inputs, output):
    x, ctx.negative_slope = inputs
    ctx.save_for_backward(x)


def _leaky_relu_backward(ctx, g):
    (x,) = ctx.saved_tensors
    return torch.where(x > 0, g, g * ctx.negative_slope), None


def _gelu_backward(ctx, g):
    (x,) = ctx.saved_tensors
    return torch.ops.aten.gelu_backward(g, x, approximate="tanh")


def _sigmoid_backward(ctx, g):
    (y,) = ctx.saved_tensors
    return g * y * (1 - y)


def _silu_backward(ctx, g):
    (x,) = ctx.saved_tensors
    s = torch.sigmoid(x)
    return g * s * (1 + x * (1 - s))


def _add_backward(ctx, g):
    return g, g


_relu = _Operation("relu(Tensor x) -> Tensor", _same, _relu_backward, _keep_output)
_leaky_relu = _Operation(
    "leaky_relu(Tensor x, float negative_slope=0.01) -> Tensor", _same, _leaky_relu_backward, _leaky_relu_save
)
_gelu = _Operation("gelu(Tensor x) -> Tensor", _same, _gelu_backward, _keep_input)
_sigmoid = _Operation("sigmoid(Tensor x) -> Tensor", _same, _sigmoid_backward, _keep_output, autocast=_single)
_silu = _Operation("silu(Tensor x) -> Tensor", _same, _silu_backward, _keep_input, autocast=_single)
_add = _Operation("add(Tensor a, Tensor b) -> Tensor", _add_fake, _add_backward, _keep_nothing, autocast=_widest)


_PRODUCTS = {torch.int8: torch.int32, torch.float8_e4m3fn: torch.bfloat16, torch.float8_e5m2: torch.bfloat16}


def _matmul_fake(a, b, activation=None, negative_slope=0.01, precision=None):
    torch._check(a.dim() == b.dim() and a.dim() in (2, 3), lambda: f"matmul: {a.shape} by {b.shape}")
    fits = a.shape[-1] == b.shape[-2] and a.shape[:-2] == b.shape[:-2]
    torch._check(fits, lambda: f"matmul: {a.shape} by {b.shape}")
    return a.new_empty((*a.shape[:-1], b.shape[-1]), dtype=_PRODUCTS.get(a.dtype, a.dtype))


def _matmul_save(ctx, inputs, output):
    a, b, ctx.activation, ctx.negative_slope, ctx.precision = inputs
    ctx.save_for_backward(a, b, output if ctx.activation else None)


def _matmul_backward(ctx, g):
    a, b, y = ctx.saved_tensors
    if a.dtype in _PRODUCTS:
        raise RuntimeError(f"a product of {a.dtype} has no gradient: multiply tensors of another type")
    if ctx.activation == "relu":
        g = torch.where(y > 0, g, 0)
    elif ctx.activation == "leaky_relu":
        if ctx.negative_slope <= 0:
            raise RuntimeError("the gradient of a leaky ReLU needs a positive slope")
        # A positive slope keeps the sign of the sum.
        g = torch.where(y > 0, g, g * ctx.negative_slope)
    of_a = _ops.matmul(g, b.mT, precision=ctx.precision) if ctx.needs_input_grad[0] else None
    of_b = _ops.matmul(a.mT, g, precision=ctx.precision) if ctx.needs_input_grad[1] else None
    return of_a, of_b, None, None, None


def _run_matmul(a, b, activation=None, negative_slope=0.01, precision=None):
    return _native.matmul(a, b, activation=activation, negative_slope=negative_slope, precision=precision)


_matmul = _Operation(
    "matmul(Tensor a, Tensor b, str? activation=None, float negative_slope=0.01, str? precision=None) -> Tensor",
    _matmul_fake,
    _matmul_backward,
    _matmul_save,
    _run_matmul,
    autocast=_lower,
)


def _dot_save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _dot_backward(ctx, g):
    a, b = ctx.saved_tensors
    return g * b, g * a


_dot = _Operation("dot(Tensor a, Tensor b) -> Tensor", _scalar, _dot_backward, _dot_save)


def _softmax_backward(ctx, g):
    (y,) = ctx.saved_tensors
    return y * (g - (g * y).sum(-1, keepdim=True))


_softmax = _Operation("softmax(Tensor x) -> Tensor", _same, _softmax_backward, _keep_output, autocast=_single)


def _sum_save(ctx, inputs, output):
    ctx.shape = inputs[0].shape


def _sum_backward(ctx, g):
    return g.expand(ctx.shape)


_sum = _Operation("sum(Tensor x) -> Tensor", _scalar, _sum_backward, _sum_save, autocast=_single)


def _cumsum_backward(ctx, g):
    return g.flip(0).cumsum(0).flip(0)


_cumsum = _Operation("cumsum(Tensor x) -> Tensor", _same, _cumsum_backward, _keep_nothing, autocast=_single)


def _normal(x, eps, center):
    """In f32: the factor of the elements of a row, and the normalized row."""
    x = x.float()
    if center:
        x = x - x.mean(-1, keepdim=True)
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return scale, x * scale


def _norm_backward(x, weight, eps, g, has_bias):
    """The gradients of a norm's inputs."""
    traced = torch.compiler.is_compiling() or _is_listened_to()
    plain = all(_is_plain(t) and t.dtype == x.dtype for t in (x, weight, g))
    # The native function has no derivative.
    if plain and not traced and not torch.is_grad_enabled():
        return _native._norm_backward(x, weight, g, eps, has_bias)
    scale, normal = _normal(x, eps, has_bias)
    g = g.float()
    gw = g * weight.float()
    of_x = gw - normal * (gw * normal).mean(-1, keepdim=True)
    if has_bias:
        of_x = of_x - gw.mean(-1, keepdim=True)
    of_weight, of_bias = ((t.reshape(-1, t.shape[-1])).sum(0).to(weight.dtype) for t in (g * normal, g))
    return (scale * of_x).to(x.dtype), of_weight, of_bias


def _layer_norm_save(ctx, inputs, output):
    x, weight, _, ctx.eps = inputs
    ctx.save_for_backward(x, weight)


def _layer_norm_backward(ctx, g):
    x, weight = ctx.saved_tensors
    return *_norm_backward(x, weight, ctx.eps, g, True), None


def _run_layer_norm(x, weight, bias, eps=1e-5):
    return _native.layer_norm(x, weight, bias, eps=eps)


_layer_norm = _Operation(
    "layer_norm(Tensor x, Tensor weight, Tensor bias, float eps=1e-5) -> Tensor",
    _same,
    _layer_norm_backward,
    _layer_norm_save,
    _run_layer_norm,
    autocast=_single,
)


def _rms_norm_save(ctx, inputs, output):
    x, weight, ctx.eps = inputs
    ctx.save_for_backward(x, weight)


def _rms_norm_backward(ctx, g):
    x, weight = ctx.saved_tensors
    return *_norm_backward(x, weight, ctx.eps, g, False)[:2], None


def _run_rms_norm(x, weight, eps=1e-5):
    return _native.rms_norm(x, weight, eps=eps)


_rms_norm = _Operation(
    "rms_norm(Tensor x, Tensor weight, float eps=1e-5) -> Tensor",
    _same,
    _rms_norm_backward,
    _rms_norm_save,
    _run_rms_norm,
    autocast=_single,
)


def _run_attention(q, k, v, scale=None, causal=False):
    return _native.attention(q, k, v, scale=scale, causal=causal)


def _attention_save(ctx, inputs, output):
    q, k, v, ctx.scale, ctx.causal = inputs
    ctx.save_for_backward(q, k, v)


def _attention_backward(ctx, g):
    # By PyTorch's operations, in f32, with the weights of all keys.
    q, k, v = ctx.saved_tensors
    groups = q.shape[-3] // k.shape[-3]
    keys, values = (x.float().repeat_interleave(groups, dim=-3) for x in (k, v))
    scale = q.shape[-1] ** -0.5 if ctx.scale is None else ctx.scale
    queries, g = q.float() * scale, g.float()
    scores = queries @ keys.mT
    if ctx.causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device)
        scores = scores.masked_fill(~seen.tril(keys.shape[-2] - q.shape[-2]), float("-inf"))
    weights = torch.softmax(scores, -1)
    if ctx.causal:
        # A query that sees no key gives zeros.
        weights = weights.nan_to_num(0.0)
    of_weights = g @ values.mT
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True))

    def of_heads(x, like):
        return x.unflatten(-3, (-1, groups)).sum(-3).to(like.dtype)

    of_q = (of_scores @ keys * scale).to(q.dtype)
    return of_q, of_heads(of_scores.mT @ queries, k), of_heads(weights.mT @ g, v), None, None


_attention = _Operation(
    "attention(Tensor q, Tensor k, Tensor v, float? scale=None, bool causal=False) -> Tensor",
    _same,
    _attention_backward,
    _attention_save,
    _run_attention,
    autocast=_lower,
)


def _sort_backward(ctx, g):
    (x,) = ctx.saved_tensors
    return torch.zeros_like(x).scatter(0, torch.argsort(x), g)


def _topk_save(ctx, inputs, output):
    x, ctx.k = inputs
    ctx.save_for_backward(x)


def _topk_backward(ctx, g):
    (x,) = ctx.saved_tensors
    return torch.zeros_like(x).scatter(0, torch.topk(x, ctx.k).indices, g), None


_sort = _Operation("sort(Tensor x) -> Tensor", _same, _sort_backward, _keep_input)
_topk = _Operation("topk(Tensor x, int k) -> Tensor", _topk_fake, _topk_backward, _topk_save)


def _run_cross_entropy(logits, labels):
    if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise TypeError(f"labels are integers, not {labels.dtype}")
    # No class has the greatest number of 32 bits.
    return _native.cross_entropy(logits, labels.clamp(-1, 2**31 - 1).to(torch.int32))


def _cross_entropy_save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _cross_entropy_backward(ctx, g):
    logits, labels = ctx.saved_tensors
    labels = labels.long()[:, None]
    weights = torch.softmax(logits, -1)
    of_rows = weights - torch.zeros_like(weights).scatter(1, labels.clamp(0, logits.shape[-1] - 1), 1.0)
    is_class = (labels >= 0) & (labels < logits.shape[-1])
    return torch.where(is_class, of_rows, float("nan")) * (g / logits.shape[0]), None


_cross_entropy = _Operation(
    "cross_entropy(Tensor logits, Tensor labels) -> Tensor",
    _scalar,
    _cross_entropy_backward,
    _cross_entropy_save,
    _run_cross_entropy,
    autocast=_single,
)


def _documented(function):
    """With the text of the native function."""
    function.__doc__ = getattr(_native, function.__name__).__doc__
    return function


@_documented
def relu(x: Tensor) -> Tensor:
    return _relu(x)


@_documented
def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    return _leaky_relu(x, negative_slope)


@_documented
def gelu(x: Tensor) -> Tensor:
    return _gelu(x)


@_documented
def sigmoid(x: Tensor) -> Tensor:
    return _sigmoid(x)


@_documented
def silu(x: Tensor) -> Tensor:
    return _silu(x)


@_documented
def add(a: Tensor, b: Tensor) -> Tensor:
    return _add(a, b)


@_documented
def matmul(
    a: Tensor, b: Tensor, activation: str | None = None, negative_slope: float = 0.01, precision: str | None = None
) -> Tensor:
    return _matmul(a, b, activation, negative_slope, precision)


@_documented
def dot(a: Tensor, b: Tensor) -> Tensor:
    return _dot(a, b)


@_documented
def softmax(x: Tensor) -> Tensor:
    return _softmax(x)


@_documented
def sum(x: Tensor) -> Tensor:
    return _sum(x)


@_documented
def cumsum(x: Tensor) -> Tensor:
    return _cumsum(x)


@_documented
def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return _layer_norm(x, weight, bias, eps)


@_documented
def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    return _rms_norm(x, weight, eps)


@_documented
def attention(q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, causal: bool = False) -> Tensor:
    return _attention(q, k, v, scale, causal)


@_documented
def sort(x: Tensor) -> Tensor:
    return _sort(x)


@_documented
def topk(x: Tensor, k: int) -> Tensor:
    return _topk(x, k)


@_documented
def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return _cross_entropy(logits, labels)
