"""Special values in one input of an operation, and ordinary numbers in its other inputs.

Rows elsewhere have the special values in the main input. A test asks for each class in each input.
"""

import torch
from embeddings import rotated
from products import D, KEYS, QUERIES, attended, small
from table import BF16, F16, F32, I32, MAX, NAN, NORMAL, SIGN, alternatives, bits, of_bits, row, specials, tensor
from vectors import EPS, INFINITY, NORMS, f32, normalized, of_gradients

functional = torch.nn.functional
FLOATS = (F32, F16, BF16)
# An error of about one subnormal number.
LAST = {F32: 3e-45, F16: 6e-8, BF16: 1e-40}
USUAL = (1.0, 2.0, -3.0, 0.5)


def every(dtype):
    """Special values, and zeros up to a power of two."""
    s = specials(dtype)
    return of_bits(s + [0] * (32 - len(s)), dtype)


def spread(values, dtype):
    """An ordinary array of the extent of `every`."""
    return tensor(values, dtype).repeat(32 // len(values))


def usual_rows(values, dtype, special, at):
    """A row of ordinary numbers for each special value, which takes one place of it."""
    x = tensor(values, dtype).repeat(len(special), 1)
    x[:, at] = special
    return x


def classes(dtype):
    """One value of each class."""
    values = {
        "NaN": NAN[dtype][0],
        "infinity": bits(INFINITY, dtype),
        "the greatest number": MAX[dtype],
        "a subnormal number": NORMAL[dtype] - 1,
        "zero": 0,
        "minus zero": SIGN[dtype],
    }
    return {name: of_bits([value], dtype) for name, value in values.items()}


def gated():
    for dtype in FLOATS:
        s = every(dtype)
        gate = spread((1.0, -2.0), dtype)
        within = ({F32: 1e-5, F16: 2e-3, BF16: 1.6e-2}[dtype], LAST[dtype])
        y = (functional.silu(gate.float()) * s.float()).to(dtype)
        row("swiglu", dtype, "special factors", [32], {"gate": gate, "up": s}, {"y": y}, within=within)
        half = torch.full_like(s, 0.5)
        for name, up, dy in (("special factors", s, half), ("special gradients", half, s)):
            g, u, d = gate.float(), up.float(), dy.float()
            inputs = [v.clone().requires_grad_() for v in (g, u)]
            d_gate, d_up = torch.autograd.grad(functional.silu(inputs[0]) * inputs[1], inputs, d)
            outputs = {"d_gate": d_gate.to(dtype), "d_up": d_up.to(dtype)}
            read = {"gate": gate, "up": up, "dy": dy}
            row("swiglu_backward", dtype, name, [32], read, outputs, within=within)


def losses():
    for dtype in FLOATS:
        s = of_bits(specials(F32), F32)
        rows = len(s) + 1
        x = tensor(USUAL, dtype).repeat(rows, 1)
        # The last row does not count.
        targets = tensor([*(i % 4 for i in range(len(s))), -100], I32)
        lse = torch.logsumexp(x.float(), 1)
        plain = torch.full((rows,), 2.0)
        special = torch.cat([s, s[:1]])
        within = ({F32: 2e-5, F16: 1e-3, BF16: 8e-3}[dtype], 2e-6)
        hits = functional.one_hot(targets.long().clamp(min=0), 4)
        for name, lse, d in (
            ("special gradients", lse, special),
            ("special logarithms of sums", special, plain),
        ):
            formula = (torch.exp(x.float() - lse[:, None]) - hits) * d[:, None]
            formula = torch.where((targets < 0)[:, None], 0.0, formula).to(dtype)
            made, more = formula, {}
            if d is special:
                wide = x.float().requires_grad_()
                y = functional.cross_entropy(wide, targets.long(), reduction="none")
                made = torch.autograd.grad(y, wide, d)[0].to(dtype)
                ours = {"d_logits": alternatives([made, formula])}
                more = {"ours": ours, "why": "torch subtracts products, of which two may be infinite."}
            read = {"logits": x, "targets": targets, "lse": lse, "d_losses": d}
            row("cross_entropy_backward", dtype, name, x.shape, read, {"d_logits": made}, within=within, **more)


def dots():
    nan, top, minus, one = NAN[F16][0], MAX[F16], SIGN[F16], bits(1.0, F16)
    for name, a, b in (
        ("a NaN in the second vector", [one] * 3, [one, nan, one]),
        ("the greatest number in the second vector", [one] * 2, [top, 0]),
        ("negative zeros in the second vector", [one] * 3, [minus] * 3),
        ("subnormals in the second vector", [one, one, one | minus], [1, NORMAL[F16] - 1, 1]),
    ):
        a, b = of_bits(a, F16), of_bits(b, F16)
        row("dot_product", F16, name, [len(a)], {"a": a, "b": b}, {"y": torch.dot(a, b)})


def softmax():
    for dtype in FLOATS:
        s = of_bits(specials(dtype), dtype)
        y = usual_rows([0.25] * 4, dtype, s, 1)
        dy = tensor((1.0, 0.5, -3.0, 2.0), dtype).repeat(len(s), 1)
        wide, d = y.float(), dy.float()
        dx = torch.ops.aten._softmax_backward_data(d, wide, 1, F32).to(dtype)
        ours = (wide * (d - (d * wide).sum(1, keepdim=True))).to(dtype)
        within = ({F32: 2e-5, F16: 2e-3, BF16: 1.6e-2}[dtype], 2e-6)
        more = {"within": within, "ours": {"dx": alternatives([dx, ours])}, "why": "torch subtracts products."}
        row("softmax_rows_backward", dtype, "rows with a special y", y.shape, {"y": y, "dy": dy}, {"dx": dx}, **more)


def norms():
    for dtype in FLOATS:
        s = every(dtype)
        # By a row of zeros, an infinite weight makes NaN.
        x = torch.stack([spread(USUAL, dtype), torch.zeros(32, dtype=dtype)])
        none = torch.zeros(32, dtype=dtype)
        more = {"scalars": {"eps": EPS}, "within": (NORMS[dtype][0], LAST[dtype])}
        for name, weight, bias in (
            ("special weights", s, none),
            ("special biases", torch.full_like(s, -2.0), s),
        ):
            y = normalized(x, weight, bias)
            read = {"x": x, "weight": weight, "bias": bias}
            row("layer_norm", dtype, name, x.shape, read, {"y": y}, **more)
        read = {"x": x, "weight": s}
        row("rms_norm", dtype, "special weights", x.shape, read, {"y": normalized(x, s)}, **more)
        outputs = {"sum": x + x, "y": normalized(x + x, s)}
        row("add_rms_norm", dtype, "special weights", x.shape, read | {"residual": x}, outputs, **more)

        weight = tensor((1.0, -2.0, 0.5, 3.0), dtype)
        residual = usual_rows(USUAL, dtype, of_bits(specials(dtype), dtype), 1)
        x = torch.full_like(residual, 0.5)
        read = {"x": x, "residual": residual, "weight": weight}
        outputs = {"sum": x + residual, "y": normalized(x + residual, weight)}
        shown, more["within"] = more["within"], NORMS[dtype]
        row("add_rms_norm", dtype, "residuals with a special value", x.shape, read, outputs, **more)
        # The sum shows a residual that x does not hide.
        read["x"] = torch.zeros_like(x)
        total = read["x"] + residual
        outputs = {"sum": total, "y": normalized(total, weight)}
        more["within"] = shown
        row("add_rms_norm", dtype, "residuals with a special value alone", x.shape, read, outputs, **more)


def gradients():
    """A weight that is special counts in the whole row, so that each class has a call. The bias does not count."""
    for dtype in FLOATS:
        x, dy = tensor([USUAL], dtype), torch.ones(1, 4, dtype=dtype)
        for name, value in classes(dtype).items():
            weight, bias = tensor((1.0, -2.0, 0.5, 3.0), dtype), tensor((0.0, 1.0, -1.0, 0.25), dtype)
            weight[1] = bias[2] = value
            of_gradients(dtype, f"{name} in the parameters", x, weight, bias, dy)
        x[0, 1] = classes(dtype)["the greatest number"]
        weight, bias = (tensor(v, dtype) for v in ((1.0, -2.0, 0.5, 3.0), (0.0, 1.0, -1.0, 0.25)))
        of_gradients(dtype, "a row with the greatest number", x, weight, bias, dy, overflows=True)


def convolution():
    one, top = f32(1.0), MAX[F32]
    torch.backends.cudnn.allow_tf32 = False
    for name, x, w in (
        ("subnormal taps", [one, f32(2.0), f32(-2.0), one], [1, NORMAL[F32] - 1]),
        ("the greatest number among the taps", [f32(0.5), f32(0.25), f32(-0.5), f32(2.0)], [top, one]),
    ):
        x, w = of_bits(x, F32), of_bits(w, F32)
        y = functional.conv1d(x.view(1, 1, -1), w.view(1, 1, -1))
        row("convolution_1d", F32, name, [len(x), len(w)], {"x": x, "w": w}, {"y": y})


def tables():
    """Half of the table's rows get a gradient, and the others keep their values."""
    before = every(F32).view(8, 4)
    for dtype in FLOATS:
        ids = tensor([6, 0, 2, 4], I32)
        dy = tensor(USUAL, dtype).repeat(4, 1)
        d_table = before.index_add(0, ids.long(), dy.float())
        read = {"ids": ids, "dy": dy, "d_table": before}
        size = [len(ids), *before.shape]
        row("embedding_backward", dtype, "a table of special values", size, read, {"d_table": d_table})


def rotations():
    """One of the factors is 0, so that the product with the other one shows. By a zero, an infinity makes NaN."""
    for dtype in FLOATS:
        s = every(F32)
        x = torch.cat([tensor([[USUAL]], dtype).repeat(32, 1, 1), torch.zeros(32, 1, 4, dtype=dtype)])
        special = torch.stack([s, spread((0.5,), F32)], 1).repeat(2, 1)
        none = torch.zeros_like(special)
        positions = torch.arange(len(x), dtype=I32)
        within = ({F32: 1e-6, F16: 1e-3, BF16: 8e-3}[dtype], LAST[dtype])
        for name, cosines, sines in (("special cosines", special, none), ("special sines", none, special)):
            read = {"cosines": cosines.flatten(), "sines": sines.flatten(), "positions": positions}
            for interleaved in (False, True):
                ops = "rope_interleaved" if interleaved else "rope"
                y = rotated(x.float(), cosines, sines, interleaved).to(dtype)
                row(ops, dtype, name, x.shape, {"x": x, **read}, {"y": y}, within=within)
                dx = rotated(x.float(), cosines, -sines, interleaved).to(dtype)
                row(f"{ops}_backward", dtype, name, x.shape, {"dy": x, **read}, {"dx": dx}, within=within)


def attention():
    for dtype in (F16, BF16):
        plain = [tensor(small(n, D, seed), dtype) for n, seed in ((QUERIES, 1), (KEYS, 2), (KEYS, 3))]
        few = of_bits([SIGN[dtype], 1, NORMAL[dtype] - 1, SIGN[dtype]], dtype)
        q = torch.stack([few[:QUERIES, None].repeat(1, D), plain[0]])
        k = torch.stack([plain[1], few[:, None].repeat(1, D)])
        v = plain[2].repeat(2, 1, 1)
        read, o = {"q": q, "k": k, "v": v}, attended(q, k, v, False)
        # Weights are rounded to half types before they multiply values of at most 3.
        within = (0.0, 2.0**-8 if dtype == F16 else 2.0**-5)
        more = {"scalars": {"scale": 0.5, "causal": 0}, "within": within}
        name = "queries and keys of negative zeros and subnormals"
        row("attention", dtype, name, [2, QUERIES, KEYS, D], read, {"o": o}, **more)


ALL = (gated, losses, dots, softmax, norms, gradients, convolution, tables, rotations, attention)
