"""Values that rows of the challenges are made of."""

import torch
from table import F32, INF, MAX, NAN, NORMAL, SIGN, of_bits, specials, tensor

MINUS = SIGN[F32]
# Results that are one number need a call for each of these.
CLASSES = {
    "NaN": NAN[F32][0],
    "a NaN with a sign": NAN[F32][1],
    "infinity": INF[F32],
    "minus infinity": INF[F32] | MINUS,
    "the greatest number": MAX[F32],
    "the least number": MAX[F32] | MINUS,
    "the smallest number": NORMAL[F32],
    "a subnormal number": 1,
    "zero": 0,
    "minus zero": MINUS,
}


def every():
    return of_bits(specials(F32), F32)


def minus_zero():
    return of_bits([MINUS], F32)


def none(*shape):
    return torch.empty(shape or (0,), dtype=F32)


def numbers(*values):
    return tensor([float(v) for v in values], F32)


def filled(shape, seed):
    """Integers from -3 to 3, so that sums are exact in any order."""
    n = torch.Size(shape).numel()
    return ((torch.arange(n) * 5 + seed) % 7 - 3).to(F32).view(shape)


def with_each(values, at):
    """Each class of number in place of one value."""
    for name, bits in CLASSES.items():
        changed = values.clone()
        changed.view(-1)[at] = of_bits([bits], F32)[0]
        yield name, changed


def one_number(values):
    return values.detach().reshape(1)
