"""Operations on arrays and rows: elementwise, copies, integers, sums, softmax, convolution."""

import torch
from table import (
    BF16,
    E4M3,
    F16,
    F32,
    I32,
    INF,
    MAX,
    NAN,
    NORMAL,
    PATTERNS,
    SIGN,
    U8,
    alternatives,
    bits,
    of_bits,
    row,
    specials,
    tensor,
    text_of,
    words_of,
)

functional = torch.nn.functional


def f32(v):
    return bits(v, F32)


def elementwise():
    for dtype in (F32, F16, BF16):
        s = specials(dtype)
        pairs = of_bits([x for x in s for _ in s], dtype), of_bits([y for _ in s for y in s], dtype)
        one, none = of_bits([SIGN[dtype]], dtype), of_bits([], dtype)
        for name, x, y in (
            ("every pair of special values", *pairs),
            ("one element", one, one),
            ("nothing", none, none),
        ):
            row("vector_add", dtype, name, [len(x)], {"a": x, "b": y}, {"c": x + y})
        for name, x in (("special values", of_bits(s, dtype)), ("one element", one), ("nothing", none)):
            row("relu", dtype, name, [len(x)], {"x": x}, {"y": torch.relu(x)})
            row("leaky_relu", dtype, name, [len(x)], {"x": x}, {"y": functional.leaky_relu(x, 0.01)})
            # torch's 1 + tanh(u) loses its last bits for negative numbers. Half types are rounded once.
            within = ({F32: 2e-5, F16: 1e-3, BF16: 8e-3}[dtype], 1e-6)
            row("gelu", dtype, name, [len(x)], {"x": x}, {"y": functional.gelu(x, approximate="tanh")}, within=within)


INFINITY = float("inf")


def gated():
    """SwiGLU, with every pair of a special value and a number."""
    for dtype in (F32, F16, BF16):
        s = specials(dtype)
        numbers = [bits(v, dtype) for v in (1.0, -2.0)] + [SIGN[dtype], INF[dtype], NAN[dtype][0]]
        gates = of_bits([x for x in s for _ in numbers], dtype), of_bits([y for _ in s for y in numbers], dtype)
        one, none = of_bits([SIGN[dtype]], dtype), of_bits([], dtype)
        within = ({F32: 1e-5, F16: 2e-3, BF16: 1.6e-2}[dtype], 1e-6)
        for name, gate, up in (("special gates", *gates), ("one element", one, one), ("nothing", none, none)):
            # torch rounds the activation to 16 bits before the product.
            g, u = gate.float(), up.float()
            y = (functional.silu(g) * u).to(dtype)
            row("swiglu", dtype, name, [len(gate)], {"gate": gate, "up": up}, {"y": y}, within=within)
            dy = torch.full_like(gate, 0.5)
            inputs = [v.detach().clone().requires_grad_() for v in (g, u)]
            d_gate, d_up = torch.autograd.grad(functional.silu(inputs[0]) * inputs[1], inputs, dy.float())
            sigmoid = torch.sigmoid(g)
            ours = (dy.float() * u * (sigmoid + g * sigmoid * (1 - sigmoid))).to(dtype)
            outputs = {"d_gate": d_gate.to(dtype), "d_up": d_up.to(dtype)}
            formulas = {"d_gate": alternatives([outputs["d_gate"], ours]), "d_up": text_of(words_of(outputs["d_up"]))}
            read = {"gate": gate, "up": up, "dy": dy}
            why = "Where a gate is infinite, torch multiplies in another order."
            more = {"within": within, "ours": formulas, "why": why}
            row("swiglu_backward", dtype, name, [len(gate)], read, outputs, **more)


def dropped():
    """Dropout that keeps all elements, or none."""
    for dtype in (F32, F16, BF16):
        for name, x in (
            ("special values", of_bits(specials(dtype), dtype)),
            ("one element", of_bits([SIGN[dtype]], dtype)),
            ("nothing", of_bits([], dtype)),
        ):
            row("dropout", dtype, name, [len(x)], {"x": x}, {"y": functional.dropout(x, 0.0)}, scalars={"p": 0.0})
            more = {"scalars": {"p": 1.0}, "ours": {"y": text_of(words_of(torch.zeros_like(x)))}}
            why = "An element that is not kept is 0, and torch multiplies it by 0."
            y = functional.dropout(x, 1.0)
            row("dropout", dtype, f"{name}, none kept", [len(x)], {"x": x}, {"y": y}, why=why, **more)


def losses():
    for dtype in (F32, F16, BF16):
        s = specials(dtype)
        usual = tensor([[1.0, 2.0, -3.0, 0.5]], dtype)
        rows = usual.repeat(len(s), 1)
        rows[:, 0] = of_bits(s, dtype)
        low = torch.full((1, 4), -INFINITY, dtype=dtype)
        cases = {
            "rows with a special value": (torch.cat([rows, low]), [i % 4 for i in range(len(s) + 1)]),
            "rows that are ignored": (usual.repeat(3, 1), [-100, 1, -100]),
            "one element": (tensor([[3.0]], dtype), [0]),
            "no rows": (torch.empty(0, 4, dtype=dtype), []),
        }
        for name, (x, targets) in cases.items():
            targets = tensor(targets, I32)
            wide = x.float().requires_grad_()
            y = functional.cross_entropy(wide, targets.long(), reduction="none")
            lse = torch.logsumexp(x.float(), 1)
            # An infinity is a NaN in the loss, and so it is in lse.
            lse = torch.where((x == INFINITY).any(1), torch.full_like(lse, float("nan")), lse)
            more = {"within": (1e-5, 2e-6)}
            read = {"logits": x, "targets": targets}
            row("cross_entropy", dtype, name, x.shape, read, {"losses": y.detach(), "lse": lse}, **more)
            d = torch.full_like(y, 2.0)
            gradient = torch.autograd.grad(y, wide, d)[0].to(dtype) if len(x) else torch.zeros_like(x)
            within = ({F32: 2e-5, F16: 1e-3, BF16: 8e-3}[dtype], 2e-6)
            read |= {"lse": lse, "d_losses": d.detach()}
            row("cross_entropy_backward", dtype, name, x.shape, read, {"d_logits": gradient}, within=within)


def moves():
    """Operations that move elements keep their bits."""
    for name, size in (("special values", [4, 5]), ("one element", [1, 1]), ("nothing", [0, 3])):
        n = size[0] * size[1]
        # The signalling NaN is the last one of the three.
        x = of_bits(specials(F32)[2:][:n], F32)
        row("matrix_copy", F32, name, size, {"x": x}, {"y": x}, moves=True)
        row("matrix_transpose", F32, name, size, {"x": x}, {"y": x.view(size).T}, moves=True)
        row("reverse_array", F32, name, [n], {"x": x}, {"x": x.flip(0)}, moves=True)
        for dtype, unsigned in ((F32, "u32"), (F16, "u16"), (E4M3, "u8")):
            x = of_bits(specials(dtype)[1:][:n], dtype).view(PATTERNS[dtype.itemsize])
            transposed = x.view(size).T
            row("align_operand", unsigned, name, size, {"x": x}, {"y": x, "transposed": transposed}, moves=True)
            pairs = ((x, x), (x, transposed), (transposed, x), (transposed, transposed))
            copies = {f"{of}{i}": copy for i, pair in enumerate(pairs) for of, copy in zip("yv", pair)}
            row("align_operands", unsigned, name, size, {"x": x}, copies, moves=True)
    for name, size, pixels in (
        ("extreme colors", [2, 1], [0, 255, 128, 0, 127, 1, 254, 255]),
        ("one pixel", [1, 1], [0, 255, 1, 7]),
        ("nothing", [0, 5], []),
    ):
        x = of_bits(pixels, U8).view(-1, 4)
        inverted = torch.cat([255 - x[:, :3], x[:, 3:]], 1)
        row("color_inversion", U8, name, size, {"x": x}, {"x": inverted}, moves=True)


EXTREMES = [0, 1, -1, 2**31 - 1, -(2**31), 255, 256, -256, 0x01020304]


def fnv(x, rounds):
    """Rounds of FNV-1a over the four bytes, in 64-bit integers."""
    value = x.long() & 0xFFFFFFFF
    for _ in range(rounds):
        h = torch.full_like(value, 2166136261)
        for shift in (0, 8, 16, 24):
            h = ((h ^ (value >> shift & 0xFF)) * 16777619) & 0xFFFFFFFF
        value = h
    return torch.where(value < 2**31, value, value - 2**32).int()


def integers():
    for name, values, rounds in (
        ("extreme values", EXTREMES, 3),
        ("no rounds", EXTREMES, 0),
        ("one element", [-(2**31)], 1),
        ("nothing", [], 2),
    ):
        x = tensor(values, I32)
        row("rainbow_table", I32, name, [len(x), rounds], {"x": x}, {"y": fnv(x, rounds)})
    for name, values, k in (
        ("extreme values", EXTREMES * 3, -(2**31)),
        ("zeros", [0, 7, 0], 0),
        ("one element", [-1], -1),
        ("nothing", [], 0),
    ):
        x = tensor(values, I32)
        y = {"y": (x == k).sum(dtype=I32)}
        row("count_array_element", I32, name, [len(x)], {"x": x}, y, {"k": k})
        rows = 3 if len(x) % 3 == 0 else 1
        row("count_2d_array_element", I32, name, [rows, len(x) // rows], {"x": x}, y, {"k": k})


def sums():
    nan, inf, top, minus, one = NAN[F32][0], INF[F32], MAX[F32], SIGN[F32], f32(1.0)
    cases = {
        "a NaN among numbers": [one, nan, one, one],
        "a NaN at the end of many": [one] * 4999 + [nan],
        "an infinity": [one, inf, 0],
        "infinities of both signs": [inf, one, inf | minus],
        "minus infinity at the end of many": [one] * 4999 + [inf | minus],
        "more than the greatest number": [top, top],
        "negative zeros": [minus] * 3,
        "one negative zero": [minus],
        "subnormals": [1, 1, 1 | minus, NORMAL[F32] - 1],
        "one infinity": [inf],
        "one subnormal": [1],
        "nothing": [],
    }
    for name, pattern in cases.items():
        x = of_bits(pattern, F32)
        row("reduction", F32, name, [len(x)], {"x": x}, {"y": x.sum()})


def dots():
    nan, inf, top, minus, one = NAN[F16][0], INF[F16], MAX[F16], SIGN[F16], bits(1.0, F16)
    cases = {
        "a NaN among numbers": ([one, nan, one], [one, one, one]),
        "a NaN at the end of many": ([one] * 4999 + [nan], [one] * 5000),
        "an infinity": ([one, inf, one], [one, one | minus, one]),
        "zero times an infinity": ([0, one], [inf, one]),
        "infinities of both signs": ([inf, one, inf], [one, one, one | minus]),
        "more than the greatest number": ([top, top], [one, one]),
        "sums beyond f16 that come back": ([top, top, top | minus], [one] * 3),
        "negative zeros": ([minus] * 3, [one] * 3),
        "subnormals": ([1, NORMAL[F16] - 1, 1], [one, one, one | minus]),
        "one negative zero": ([minus], [one]),
        "one NaN": ([nan], [one]),
        "nothing": ([], []),
    }
    for name, pattern in cases.items():
        a, b = (of_bits(p, F16) for p in pattern)
        row("dot_product", F16, name, [len(a)], {"a": a, "b": b}, {"y": torch.dot(a, b)})


# A result that is rounded once, of an exponential in f32.
HALVES = {F16: (1e-3, 6e-8), BF16: (8e-3, 1e-38)}
FLUSHED = "An exponential is one instruction, whose results below 2^-126 are 0."


def of_softmax(name, ops, size, x, within=(1e-5, 0.0)):
    y = torch.softmax(x.float(), -1)
    subnormal = (y > 0) & (y < 2.0**-126)
    if x.dtype != F32:
        rounded = y.to(x.dtype)
        ours = {"y": alternatives([rounded, torch.where(subnormal, 0.0, y).to(x.dtype)])}
        row(ops, x.dtype, name, size, {"x": x}, {"y": rounded}, within=HALVES[x.dtype], ours=ours, why=FLUSHED)
        return
    row(
        ops,
        F32,
        name,
        size,
        {"x": x},
        {"y": y},
        within=within,
        ours={"y": alternatives([y, torch.where(subnormal, 0.0, y)])},
        why=FLUSHED,
    )


def softmax():
    nan, inf, top, minus = NAN[F32][0], INF[F32], MAX[F32], SIGN[F32]
    cases = {
        "plain numbers": [f32(1.0), f32(2.0), f32(-3.0), f32(0.5)],
        "a NaN": [f32(1.0), nan, f32(-3.0), f32(0.5)],
        "an infinity": [f32(1.0), inf, f32(-3.0), f32(0.5)],
        "two infinities": [inf, inf, f32(-3.0), f32(0.5)],
        "masked-out elements": [inf | minus, f32(2.0), inf | minus, f32(0.5)],
        "nothing but masked-out elements": [inf | minus] * 4,
        "infinities of both signs": [inf, inf | minus, f32(1.0), f32(2.0)],
        "a NaN and a masked-out element": [nan, inf | minus, f32(1.0), f32(2.0)],
        "the greatest and the least number": [top, top | minus, f32(1.0), top],
        "nothing but the least number": [top | minus] * 4,
        "the least number and masked-out elements": [top | minus, inf | minus, top | minus, inf | minus],
        "subnormals and zeros": [1, 1 | minus, 0, minus],
        "results that are subnormal": [0, f32(-88.0), f32(-95.0), f32(-103.0)],
        "results that are zero": [0, f32(-104.0), f32(-1000.0), f32(1.0)],
    }
    for name, pattern in cases.items():
        of_softmax(name, "softmax_1d", [4], of_bits(pattern, F32))
    of_softmax("a NaN at the end of many", "softmax_1d", [5000], of_bits([0] * 4999 + [nan], F32))
    rows = of_bits([p for pattern in cases.values() for p in pattern], F32).view(-1, 4)
    of_softmax("rows of special values", "softmax_rows", rows.shape, rows)
    for dtype in (F16, BF16):
        of_softmax("rows of special values", "softmax_rows", rows.shape, rows.to(dtype))
        of_softmax("one element", "softmax_rows", [1, 1], tensor([[5.0]], dtype))
        every = tensor([[1.0, 2.0, -3.0, 0.5]], dtype).repeat(len(specials(dtype)), 1)
        every[:, 1] = of_bits(specials(dtype), dtype)
        of_softmax("rows with a special value", "softmax_rows", every.shape, every)
        of_softmax("no rows", "softmax_rows", [0, 5], torch.empty(0, 5, dtype=dtype))
    for dtype in (F32, F16, BF16):
        s = specials(dtype)
        y, dy = (torch.full((len(s), 4), 0.25, dtype=dtype) for _ in range(2))
        dy[:, 1] = of_bits(s, dtype)
        y[0, :] = tensor([0.5, 0.0, 0.25, 0.25], dtype)
        for name, y, dy in (
            ("rows with a special gradient", y, dy),
            ("one element", y[:1, :1], tensor([[3.0]], dtype)),
            ("no rows", y[:0], dy[:0]),
        ):
            wide, d = y.float(), dy.float()
            dx = torch.ops.aten._softmax_backward_data(d, wide, 1, F32).to(dtype)
            ours = (wide * (d - (d * wide).sum(1, keepdim=True))).to(dtype)
            within = ({F32: 2e-5, F16: 2e-3, BF16: 1.6e-2}[dtype], 2e-6)
            more = {"within": within, "ours": {"dx": alternatives([dx, ours])}, "why": "torch subtracts products."}
            row("softmax_rows_backward", dtype, name, y.shape, {"y": y, "dy": dy}, {"dx": dx}, **more)
    one = of_bits([f32(5.0), inf | minus, inf, nan, minus, top | minus], F32).view(-1, 1)
    of_softmax("rows of one element", "softmax_rows", one.shape, one)
    of_softmax("one element", "softmax_rows", [1, 1], one[:1])
    for name, x in zip(("one element", "one masked-out element", "one infinity", "one NaN"), one):
        of_softmax(name, "softmax_1d", [1], x)
    of_softmax("nothing", "softmax_1d", [0], of_bits([], F32))
    of_softmax("no rows", "softmax_rows", [0, 5], torch.empty(0, 5))
    of_softmax("rows of nothing", "softmax_rows", [5, 0], torch.empty(5, 0))


EPS = 1e-5
# Of normalized numbers, and of sums in f32.
NORMS = {F32: (2e-5, 1e-5), F16: (2e-3, 1e-3), BF16: (1.6e-2, 8e-3)}


def norms():
    for dtype in (F32, F16, BF16):
        usual = tensor([[1.0, 2.0, -3.0, 0.5]], dtype)
        weight, bias = tensor([1.0, -2.0, 0.5, 3.0], dtype), tensor([0.0, 1.0, -1.0, 0.25], dtype)

        def special(patterns):
            """A row with each of these, at changing places."""
            x = usual.repeat(len(patterns), 1)
            for r, value in enumerate(of_bits(patterns, dtype)):
                x[r, r % 4] = value
            return x

        equal = tensor([[0.0] * 4, [7.25] * 4], dtype)
        small = of_bits([SIGN[dtype], 1], dtype).view(2, 1)
        cases = {
            "rows with a special value": torch.cat([special(specials(dtype)), equal]),
            "one row": usual,
            "one element": small[:1],
            "rows of one element": small,
            "no rows": torch.empty(0, 4, dtype=dtype),
            "rows of nothing": torch.empty(5, 0, dtype=dtype),
        }
        for name, x in cases.items():
            of_norms(dtype, name, x, weight[: x.shape[1]], bias[: x.shape[1]])
        # Squares that overflow have gradients of their own in torch.
        top = MAX[dtype]
        cases["rows with a special value"] = special([p for p in specials(dtype) if p & ~SIGN[dtype] != top])
        for name, x in cases.items():
            of_gradients(dtype, name, x, weight[: x.shape[1]], bias[: x.shape[1]], torch.ones_like(x))
        dy = special(specials(dtype))
        of_gradients(dtype, "gradients with a special value", usual.repeat(len(dy), 1), weight, bias, dy)


def normalized(x, *parameters):
    """The layer norm with a weight and a bias, the RMS norm with a weight alone."""
    if x.numel() == 0:
        return x.clone()
    norm = functional.layer_norm if len(parameters) == 2 else functional.rms_norm
    return norm(x, x.shape[1:], *parameters, eps=EPS)


OVERFLOW = "Squares that overflow have an infinite mean here, and make NaN in torch."
INFINITE = "Products with an infinity are subtracted in another order, of which some make NaN."


def in_f32(x, *parameters):
    """The factor of a row, and the normalized row."""
    x = x.float()
    if len(parameters) == 2:
        x = x - x.mean(-1, keepdim=True)
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS)
    return scale, x * scale


def of_norms(dtype, name, x, weight, bias):
    read, more = {"x": x, "weight": weight}, {"scalars": {"eps": EPS}, "within": NORMS[dtype]}
    y = normalized(x, weight, bias)
    formula = (in_f32(x, weight, bias)[1] * weight.float() + bias.float()).to(dtype)
    ours = {"y": alternatives([y, formula])}
    row("layer_norm", dtype, name, x.shape, read | {"bias": bias}, {"y": y}, ours=ours, why=OVERFLOW, **more)
    row("rms_norm", dtype, name, x.shape, read, {"y": normalized(x, weight)}, **more)
    residual = torch.full_like(x, 0.5)
    outputs = {"sum": x + residual, "y": normalized(x + residual, weight)}
    row("add_rms_norm", dtype, name, x.shape, read | {"residual": residual}, outputs, **more)


def of_gradients(dtype, name, x, weight, bias, dy, overflows=False):
    """The gradients of both norms. Where squares overflow, the one of the weight may be the formula's, too."""
    for op, parameters in (("layer_norm_backward", [weight, bias]), ("rms_norm_backward", [weight])):
        inputs = [v.detach().clone().requires_grad_() for v in (x, *parameters)]
        grads = [torch.zeros_like(v) for v in inputs]
        if x.numel() > 0:
            grads = torch.autograd.grad(normalized(*inputs), inputs, dy)
        read = dict(zip(("x", "weight", "bias"), (x, *parameters))) | {"dy": dy}
        outputs = dict(zip(("dx", "dw", "db"), grads))
        scale, normal = in_f32(x, *parameters)
        wg = dy.float() * weight.float()
        along = (normal * wg).mean(-1, keepdim=True)
        across = wg.mean(-1, keepdim=True) if len(parameters) == 2 else 0.0
        formulas = [(wg - across - normal * along) * scale, (wg - normal * along - across) * scale]
        ours = {k: text_of(words_of(v)) for k, v in outputs.items()}
        ours["dx"] = alternatives([grads[0], *(dx.to(dtype) for dx in formulas)])
        if overflows:
            ours["dw"] = alternatives([grads[1], (dy.float() * normal).sum(0).to(dtype)])
        more = {"within": NORMS[dtype], "ours": ours, "why": INFINITE}
        row(op, dtype, name, x.shape, read, outputs, {"eps": EPS}, **more)


def convolution():
    nan, inf, top, minus, one = NAN[F32][0], INF[F32], MAX[F32], SIGN[F32], f32(1.0)
    signal = [f32(float(v % 5 - 2)) for v in range(40)]
    for at, special in ((4, nan), (12, inf), (20, inf | minus), (27, minus)):
        signal[at] = special
    taps = [one, f32(-2.0), f32(3.0)]
    cases = {
        "special values in the signal": (signal, taps),
        "zero taps": (signal, [0, one, minus]),
        "a NaN among the taps": ([one] * 8, [one, nan, one]),
        "an infinity among the taps": ([one, 0, f32(-1.0), f32(2.0), one], [one, inf, one]),
        "subnormals": ([1, 1 | minus, NORMAL[F32] - 1, NORMAL[F32], 0, 1], [one, f32(2.0)]),
        "more than the greatest number": ([top, top, one, one], [one, one]),
        "as many taps as elements": ([one, nan, f32(2.0)], taps),
        "one element": ([inf], [f32(-1.0)]),
        "one negative zero": ([minus], [one]),
    }
    # Exact products, not the faster tf32.
    torch.backends.cudnn.allow_tf32 = False
    for name, pattern in cases.items():
        x, w = (of_bits(p, F32) for p in pattern)
        y = functional.conv1d(x.view(1, 1, -1), w.view(1, 1, -1))
        row("convolution_1d", F32, name, [len(x), len(w)], {"x": x, "w": w}, {"y": y})
    # torch refuses both. Here there is nothing to do.
    none, some = of_bits([], F32), of_bits(taps, F32)
    row("convolution_1d", F32, "no signal", [0, 3], {"x": none, "w": some}, {"y": none})
    row("convolution_1d", F32, "no taps", [3, 0], {"x": some, "w": none}, {"y": none})


ALL = (elementwise, gated, dropped, losses, moves, integers, sums, dots, softmax, norms, convolution)
