"""The common part of the operations of ``tilewright.torch``: their calls by the dispatcher, autograd and autocast."""

import torch
from torch import Tensor
from torch.autograd import forward_ad, profiler
from torch.library import Library
from torch.nn import Parameter

from . import _native

library = Library("tilewright", "DEF")
_ops = torch.ops.tilewright
_C = torch._C


class Operation:
    """An operation: the function that the dispatcher calls, and the same for tensors that nothing else has to see."""

    def __init__(self, schema, fake, backward, save, run=None, autocast=None):
        """``run``, else the function of the native module with its name, computes it. ``fake`` computes the result's
        metadata. ``backward`` gives the gradients of the inputs, by what ``save`` has kept. ``autocast`` gives the
        element type that ``torch.autocast`` casts floating-point inputs to.
        """
        name = schema[: schema.index("(")]
        self.run = run = run or getattr(_native, name)

        def detached(*args):
            return run(*(a.detach() if isinstance(a, Tensor) and a.requires_grad else a for a in args))

        library.define(schema)
        library.impl(name, detached, "CPU")
        library.impl(name, detached, "CUDA")
        torch.library.register_fake(f"tilewright::{name}", fake, lib=library)
        torch.library.register_autograd(f"tilewright::{name}", backward, setup_context=save, lib=library)
        self.op = op = getattr(_ops, name)
        if autocast is not None:
            for device in ["cpu", "cuda"]:
                library.impl(name, _with_casts(op, device, autocast), f"Autocast{device.upper()}")

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
    is_tensor = type(a) is Tensor or type(a) is Parameter
    return is_tensor and not a.is_meta and not _C._functorch.is_legacy_batchedtensor(a)


# Arguments beside tensors.
_SCALARS = {type(None), bool, int, float, str}


def _is_traced():
    """Whether a tracer, a mode or a transform has to see each operation of PyTorch."""
    return (
        _C._len_torch_dispatch_stack()
        or _C._len_torch_function_stack()
        or _C._functorch.peek_interpreter_stack() is not None
        or _C._get_tracing_state() is not None
        or _C._is_any_autocast_enabled()
        or forward_ad._current_level >= 0
    )


def _is_listened_to():
    """Whether the dispatcher has to see each operation."""
    return _is_traced() or profiler._is_profiler_enabled


def _with_casts(op, device, to):
    """An operation under ``torch.autocast``. Tensors of 64 bits and of integers stay as they are.

    The precision ``tf32`` is of f32 alone: operands that become narrower have none.
    """

    key = _C.DispatchKeySet(getattr(_C.DispatchKey, f"Autocast{device.upper()}"))

    def is_cast(a):
        return isinstance(a, Tensor) and a.device.type == device and a.dtype in _AUTOCAST

    def run(*args):
        dtypes = [a.dtype for a in args if is_cast(a)]
        dtype = to(device, dtypes) if dtypes else None
        if dtype is not None and dtype != torch.float32:
            args = [None if isinstance(a, str) and a == "tf32" else a for a in args]
        with _C._ExcludeDispatchKeyGuard(key):
            return op(*(a.to(dtype) if is_cast(a) else a for a in args))

    return run


_AUTOCAST = {torch.float32, torch.float16, torch.bfloat16}


def lower(device, dtypes):
    return torch.get_autocast_dtype(device)


def single(device, dtypes):
    return torch.float32


def widest(device, dtypes):
    dtype = dtypes[0]
    for other in dtypes[1:]:
        dtype = torch.promote_types(dtype, other)
    return dtype


def is_native(*tensors):
    """Whether a native function, which has no derivative, may compute a gradient."""
    plain = all(_is_plain(t) and t.dtype == tensors[0].dtype for t in tensors)
    return plain and not torch.compiler.is_compiling() and not _is_traced() and not torch.is_grad_enabled()


def indices_of(x, name, rows):
    """Indices of 32 bits into so many rows. A negative one becomes -1, and one of more bits the greatest one."""
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise TypeError(f"{name} are integers, not {x.dtype}")
    if rows >= 2**31:
        raise ValueError(f"{name} are of {rows} rows: there are at most {2**31 - 1}")
    wide = x.long()
    if x.dtype == torch.uint64:
        # From 2**63 on the conversion wraps to negative integers.
        wide = torch.where(wide < 0, 2**31 - 1, wide)
    return wide.clamp(-1, 2**31 - 1).to(torch.int32)


def labels_of(labels, classes):
    """Labels of 32 bits. One that is no class stays none."""
    labels = indices_of(labels, "labels", classes)
    return torch.where(labels < 0, 2**31 - 1, labels)
