"""Operations of PyTorch: ``import tilewright.torch`` registers ``torch.ops.tilewright``.

Each takes and returns tensors of one device, has a gradient where there is one, and takes part in ``torch.compile``,
``torch.autocast`` and CUDA graphs. The functions of this module compute the same. They take the arguments of the
function of ``tilewright`` with the same name, without ``out``: ``help(tilewright.matmul)``. They skip PyTorch's
dispatcher where nothing listens to it. In a small call the dispatcher takes most of the time.
"""

import torch
from torch import Tensor

from . import _native
from ._operation import Operation as _Operation
from ._operation import indices_of as _indices_of
from ._operation import is_native as _is_native
from ._operation import labels_of as _labels_of
from ._operation import library as _lib
from ._operation import lower as _lower
from ._operation import single as _single
from ._operation import widest as _widest

_ops = torch.ops.tilewright


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
    # NaN keeps its gradient, as in PyTorch.
    return torch.where(y <= 0, 0, g)


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


def _keep_inputs(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _swiglu_fake(gate, up):
    torch._check(gate.shape == up.shape, lambda: f"swiglu: {gate.shape} and {up.shape}")
    return _same(gate)


def _swiglu_backward(ctx, g):
    gate, up = ctx.saved_tensors
    if _is_native(gate, up, g):
        return _native._swiglu_backward(gate, up, g)
    wide, of_gate = gate.float(), torch.sigmoid(gate.float())
    of_up = g.float() * wide * of_gate
    slope = of_gate * (1 + wide * (1 - of_gate))
    return (g.float() * up.float() * slope).to(gate.dtype), of_up.to(up.dtype)


def _dropout_save(ctx, inputs, output):
    _, ctx.p, ctx.seed = inputs


def _dropout_backward(ctx, g):
    return _ops.dropout(g, ctx.p, ctx.seed), None, None


def _run_dropout(x, p, seed):
    # PyTorch's integers have a sign.
    return _native.dropout(x, p, seed=seed % 2**64)


_relu = _Operation("relu(Tensor x) -> Tensor", _same, _relu_backward, _keep_output)
_leaky_relu = _Operation(
    "leaky_relu(Tensor x, float negative_slope=0.01) -> Tensor", _same, _leaky_relu_backward, _leaky_relu_save
)
_gelu = _Operation("gelu(Tensor x) -> Tensor", _same, _gelu_backward, _keep_input)
_sigmoid = _Operation("sigmoid(Tensor x) -> Tensor", _same, _sigmoid_backward, _keep_output, autocast=_single)
_silu = _Operation("silu(Tensor x) -> Tensor", _same, _silu_backward, _keep_input, autocast=_single)
_swiglu = _Operation(
    "swiglu(Tensor gate, Tensor up) -> Tensor", _swiglu_fake, _swiglu_backward, _keep_inputs, autocast=_widest
)
_dropout = _Operation(
    "dropout(Tensor x, float p, SymInt seed) -> Tensor", _same, _dropout_backward, _dropout_save, _run_dropout
)
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
        g = torch.where(y <= 0, 0, g)
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


def _dot_backward(ctx, g):
    a, b = ctx.saved_tensors
    return g * b, g * a


_dot = _Operation("dot(Tensor a, Tensor b) -> Tensor", _scalar, _dot_backward, _keep_inputs)


def _softmax_backward(ctx, g):
    (y,) = ctx.saved_tensors
    if _is_native(y, g):
        return _native._softmax_backward(y, g)
    wide, g = y.float(), g.float()
    return (wide * (g - (g * wide).sum(-1, keepdim=True))).to(y.dtype)


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
    if _is_native(x, weight, g):
        return _native._norm_backward(x, weight, g, eps, has_bias)
    scale, normal = _normal(x, eps, has_bias)
    g = g.float()
    gw = g * weight.float()
    of_x = gw - normal * (gw * normal).mean(-1, keepdim=True)
    if has_bias:
        of_x = of_x - gw.mean(-1, keepdim=True)
    # Rows without elements leave their number open: it is not -1.
    shape = x.shape[:-1].numel(), x.shape[-1]
    of_weight, of_bias = (t.reshape(shape).sum(0).to(weight.dtype) for t in (g * normal, g))
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
        seen = seen.tril(keys.shape[-2] - q.shape[-2])
        scores = scores.masked_fill(~seen, float("-inf"))
    weights = torch.softmax(scores, -1)
    if ctx.causal:
        # A query that sees no key gives zeros. Other NaN stay.
        weights = weights.masked_fill(~seen.any(-1, keepdim=True), 0.0)
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
    return _native._cross_entropy(logits, _labels_of(labels, logits.shape[-1]))


def _cross_entropy_fake(logits, labels):
    rows = logits.new_empty(labels.shape, dtype=torch.float32)
    return rows, torch.empty_like(rows)


def _cross_entropy_save(ctx, inputs, output):
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs, output[1])


def _cross_entropy_backward(ctx, g, of_lse):
    logits, labels, lse = ctx.saved_tensors
    if g is None:
        g = torch.zeros_like(lse)
    if of_lse is None and _is_native(logits) and _is_native(lse, g):
        return _native._cross_entropy_backward(logits, _labels_of(labels, logits.shape[-1]), lse, g), None
    labels = labels.long()[:, None]
    # By the logits alone, since `lse` is rounded.
    weights = torch.softmax(logits, -1, dtype=torch.float32)
    of_rows = weights - torch.zeros_like(weights).scatter(1, labels.clamp(0, logits.shape[-1] - 1), 1.0)
    is_class = (labels >= 0) & (labels < logits.shape[-1])
    of_logits = torch.where(is_class, of_rows, float("nan")) * g[:, None]
    if of_lse is not None:
        of_logits = of_logits + weights * of_lse[:, None]
    return of_logits.to(logits.dtype), None


_cross_entropy_of_rows = _Operation(
    "_cross_entropy(Tensor logits, Tensor labels) -> (Tensor, Tensor)",
    _cross_entropy_fake,
    _cross_entropy_backward,
    _cross_entropy_save,
    _run_cross_entropy,
)


def _cross_entropy(logits, labels):
    """The mean loss. Softmax is recomputed by the logarithms of sums where gradients are."""
    return _cross_entropy_of_rows(logits, labels)[0].mean()


_lib.define("cross_entropy(Tensor logits, Tensor labels) -> Tensor")
_lib.impl("cross_entropy", _cross_entropy, "CompositeImplicitAutograd")


def _run_rope(x, cos, sin, positions=None, interleaved=False):
    positions = None if positions is None else _indices_of(positions, "positions", cos.shape[0])
    return _native.rope(x, cos, sin, positions, interleaved=interleaved)


def _rope_fake(x, cos, sin, positions=None, interleaved=False):
    torch._check(x.dim() >= 3 and cos.dim() == 2 and cos.shape == sin.shape, lambda: f"rope: {x.shape}, {cos.shape}")
    return _same(x)


def _rope_save(ctx, inputs, output):
    _, cos, sin, positions, ctx.interleaved = inputs
    ctx.save_for_backward(cos, sin, positions)


def _rope_backward(ctx, g):
    cos, sin, positions = ctx.saved_tensors
    if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
        raise RuntimeError("the tables of angles have no gradient: detach them")
    if _is_native(g):
        positions = None if positions is None else _indices_of(positions, "positions", cos.shape[0])
        return _native._rope_backward(g, cos.detach(), sin.detach(), positions, ctx.interleaved), None, None, None, None
    return _ops.rope(g, cos, -sin, positions, ctx.interleaved), None, None, None, None


_rope = _Operation(
    "rope(Tensor x, Tensor cos, Tensor sin, Tensor? positions=None, bool interleaved=False) -> Tensor",
    _rope_fake,
    _rope_backward,
    _rope_save,
    _run_rope,
)


def _run_embedding(table, ids):
    return _native.embedding(table, _indices_of(ids, "ids", table.shape[0]))


def _embedding_fake(table, ids):
    torch._check(table.dim() == 2, lambda: f"embedding: a table of {table.shape}")
    return table.new_empty((*ids.shape, table.shape[1]))


def _embedding_save(ctx, inputs, output):
    table, ids = inputs
    ctx.shape, ctx.dtype = table.shape, table.dtype
    ctx.save_for_backward(ids)


def _embedding_backward(ctx, g):
    (ids,) = ctx.saved_tensors
    of_table = torch.zeros(ctx.shape, dtype=torch.float32, device=g.device)
    if _is_native(g):
        _native._embedding_backward(_indices_of(ids, "ids", of_table.shape[0]), g, of_table)
        return of_table.to(ctx.dtype), None
    # A comparison takes the number of rows as one of the indices' type, which may be too narrow for it.
    ids = ids.long().flatten()
    is_row = (ids >= 0) & (ids < ctx.shape[0])
    rows = torch.where(is_row[:, None], g.reshape(ids.numel(), ctx.shape[1]).float(), 0)
    return of_table.index_add(0, torch.where(is_row, ids, 0), rows).to(ctx.dtype), None


_embedding = _Operation(
    "embedding(Tensor table, Tensor ids) -> Tensor",
    _embedding_fake,
    _embedding_backward,
    _embedding_save,
    _run_embedding,
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
def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    return _swiglu(gate, up)


@_documented
def dropout(x: Tensor, p: float = 0.5, *, seed: int) -> Tensor:
    # A number of a graph has 63 bits and a sign, as those of operations have.
    if torch.compiler.is_compiling():
        torch._check(seed >= 0, lambda: "seed is negative: a compiled call takes 0 to 2**63 - 1")
    else:
        if not 0 <= seed < 2**64:
            raise ValueError(f"seed is {seed}: an integer of 64 bits, without a sign")
        seed -= 2**64 if seed >= 2**63 else 0
    return _dropout(x, p, seed)


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


@_documented
def embedding(table: Tensor, ids: Tensor) -> Tensor:
    return _embedding(table, ids)


@_documented
def rope(
    x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor | None = None, *, interleaved: bool = False
) -> Tensor:
    return _rope(x, cos, sin, positions, interleaved)
