"""Special values in one input of a public challenge, and ordinary numbers in its other inputs."""

import torch
from challenge_arrays import recurrence, selective
from challenge_inputs import every, filled, numbers, with_each
from challenges import normalized
from table import F32, I32, of_bits, row

# An error of about one subnormal number.
LAST = 3e-45


def gated():
    """An absolute error would hide subnormals and negative zeros."""
    s = every()
    small = of_bits([0, 1 << 31, 1, 1 << 31 | 1, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000], F32)
    gate, value = torch.full_like(s, 1.0), s
    y = value * (0.5 * gate * (1 + torch.erf(gate * 0.5**0.5)))
    read = {"gate": gate, "value": value}
    row("geglu", F32, "special values by a plain gate", [len(s)], read, {"y": y}, within=(1e-5, LAST))
    # A gate below the smallest normal number halves to a subnormal one.
    gate = small.repeat(2)
    value = numbers(1, -2).repeat_interleave(len(small))
    y = value * (0.5 * gate * (1 + torch.erf(gate * 0.5**0.5)))
    read = {"gate": gate, "value": value}
    row("geglu", F32, "small gates by plain values", [len(gate)], read, {"y": y}, within=(1e-5, LAST))
    # The sign of a zero counts in rows without an error alone.
    zeros = numbers(0.0, -0.0, 0.0, -0.0, 0.0, -0.0), numbers(1, 1, -1, -1, 0.0, -0.0)
    for name, gate, value in (("zeros in the gate", *zeros), ("zeros in the value", *zeros[::-1])):
        y = value * (0.5 * gate * (1 + torch.erf(gate * 0.5**0.5)))
        row("geglu", F32, name, [len(gate)], {"gate": gate, "value": value}, {"y": y})


def norms():
    eps, s = 0.25, every()
    n = len(s)
    within = (2e-5, 2e-6)
    more = {"scalars": {"eps": eps}}
    # The normalized numbers of equal rows are 0, so that a bias shows as it is.
    equal = torch.full((2, n), 3.0)
    columns = numbers(1, -2).view(2, 1).repeat(1, n)
    plain, none = torch.full((n,), 2.0), torch.zeros(n)
    for name, x, gamma, beta, error in (
        ("special biases", columns, plain, s, within),
        ("special biases of equal rows", equal, plain, s, None),
        ("special factors", columns, s, none, (2e-5, LAST)),
    ):
        y = normalized(x, 0, eps) * gamma + beta
        read = {"x": x, "gamma": gamma, "beta": beta}
        row("batch_normalization", F32, name, x.shape, read, {"y": y}, within=error, **more)

    # One group of all channels.
    samples = numbers(1, -2, 4, 0).view(1, 1, 4).repeat(1, n, 1)
    zeros = torch.zeros_like(samples)
    for name, x, gamma, beta, error in (
        ("special biases", samples, plain, s, within),
        ("special biases of equal numbers", zeros, plain, s, None),
        ("special factors", samples, s, none, (2e-5, LAST)),
        ("special factors of equal numbers", zeros, s, none, (2e-5, LAST)),
    ):
        y = normalized(x.view(1, 1, -1), 2, eps).view(x.shape) * gamma.view(-1, 1) + beta.view(-1, 1)
        read = {"x": x, "gamma": gamma, "beta": beta}
        row("group_normalization", F32, name, [*x.shape, 1], read, {"y": y}, within=error, **more)

    # A row of ordinary numbers and one of zeros.
    tokens = torch.stack([numbers(1, -2, 4, 0, 3).repeat(5), torch.zeros(n)])
    positions = torch.zeros(1, n)
    for name, gamma, beta, error in (
        ("special biases", plain, s, within),
        ("special factors", s, none, (2e-5, LAST)),
    ):
        embedded(name, tokens, positions, gamma, beta, eps, error)
    places = filled((n, 4), 3)
    places[:, 2] = s
    four = filled((4,), 2), filled((4,), 5)
    embedded("positions with a special value", filled((1, 4), 1), places, *four, eps, within)


def embedded(name, tokens, positions, gamma, beta, eps, within):
    """Each token at each position."""
    sequence = len(positions)
    ids = torch.arange(len(tokens), dtype=I32).repeat_interleave(sequence)
    at = torch.arange(sequence, dtype=I32)
    x = tokens[ids.long()] + positions[at.long().repeat(len(tokens))]
    y = normalized(x, 1, eps) * gamma + beta
    read = {"token_ids": ids, "position_ids": at, "tokens": tokens, "positions": positions}
    size = [len(ids), tokens.shape[1], len(tokens), sequence, sequence]
    read |= {"gamma": gamma, "beta": beta}
    row("token_embedding_layer", F32, name, size, read, {"y": y}, scalars={"eps": eps}, within=within)


def scans():
    s = every()
    a = numbers(1, 0.5, 2, 1, 0.25).repeat(len(s), 1)
    x = numbers(1, 2, -3, 4, 0).repeat(len(s), 1)
    a[:, 2] = s
    read = {"a": a, "x": x}
    row("linear_recurrence", F32, "special factors", a.shape, read, {"h": recurrence(a, x)}, within=(1e-6, 1e-7))

    usual = {
        "u": numbers(1, 2, -3, 4).view(1, 4, 1),
        "delta": torch.full((1, 4, 1), 0.5),
        "a": numbers(-1, -2).view(1, 2),
        "b": torch.ones(1, 4, 2),
        "c": torch.ones(1, 4, 2),
        "skip": numbers(2),
    }
    for name, a in with_each(usual["a"], 1):
        selective(f"{name} in a", *(usual | {"a": a}).values())


def products():
    a, x = filled((2, 5), 1), numbers(1, 2, -3, 0.5, 2)
    for name, changed in with_each(x, 3):
        y = (a * changed).sum(1)
        read = {"a": a, "x": changed}
        row("matrix_vector_product", F32, f"{name} in the vector", a.shape, read, {"y": y}, within=(1e-6, 1e-7))


ALL = (gated, norms, scans, products)
