"""Products of matrices, and attention.

Finite operands are such that every sum is exact in any order: results are the same bits however a product is made.
"""

import itertools
import torch
from table import (
    BF16,
    E4M3,
    E5M2,
    F16,
    F32,
    I8,
    INF,
    MAX,
    NAN,
    NORMAL,
    SIGN,
    alternatives,
    bits,
    of_bits,
    row,
    specials,
    tensor,
)

functional = torch.nn.functional
SIDE = 16
# The index of the operands' only nonzero element, so that each one of A meets each one of B.
MEET = 4


def small(rows, cols, seed):
    """Integers of at most 3."""
    return [[float((seed + 7 * r + 5 * c + r * c) % 7 - 3) for c in range(cols)] for r in range(rows)]


def operand(dtype, seed):
    """SIDE rows with a special value or several each; its transpose is the other operand."""
    rows = [[bits(v, dtype) for v in r] for r in small(SIDE, SIDE, seed)]
    minus, top = SIGN[dtype], MAX[dtype]
    inf = INF.get(dtype)
    rows[1][3 + seed] = NAN[dtype][0]
    rows[13][SIDE - 1] = NAN[dtype][1]
    if inf:
        rows[2][5 + seed] = inf
        rows[3][0] = inf | minus
        rows[4][1], rows[4][2] = inf, inf | minus
        rows[12][SIDE - 1] = inf
    rows[5] = [0] * SIDE
    rows[6] = [minus] * SIDE
    for r, only in (
        (7, 1),
        (8, NORMAL[dtype] - 1),
        (9, top),
        (10, top | minus),
        (11, NORMAL[dtype]),
        (14, bits(0.5, dtype)),
    ):
        rows[r] = [0] * SIDE
        rows[r][MEET] = only
    return of_bits([b for r in rows for b in r], dtype).view(SIDE, SIDE)


def operands(dtype):
    return operand(dtype, 1), operand(dtype, 2).T.contiguous()


def product_of(a, b):
    """The product as torch makes it, rounded once."""
    if a.dtype == I8:
        return (a.double() @ b.double()).int()
    if a.dtype in (E4M3, E5M2):
        fits = a.is_cuda and all(n > 0 and n % 16 == 0 for n in (*a.shape, *b.shape)) and a.dtype == E4M3
        if not fits:
            return (a.float() @ b.float()).to(BF16)
        scale = torch.ones((), dtype=F32)
        return torch._scaled_mm(a, b.T.contiguous().T, scale, scale, out_dtype=BF16)
    return a @ b


def leaky(a, b):
    """Rounded once, after the slope."""
    result = BF16 if a.dtype in (E4M3, E5M2) else a.dtype
    return functional.leaky_relu(a.float() @ b.float(), 0.01).to(result)


PLAIN = "matmul matmul_nt matmul_tn matmul_tt"


def cases_of(dtype):
    """Name, A, B, and where a row holds.

    Each configuration is checked on two sizes alone: a small product costs as much as a tile.
    """
    a, b = operands(dtype)
    one = [NAN[dtype][0], SIGN[dtype], *([INF[dtype]] if dtype in INF else [])]
    column = of_bits(specials(dtype)[:SIDE], dtype).view(SIDE, 1)
    return [
        ("special values", a, b, None),
        ("products without sums", column, column.T.contiguous(), None),
        ("a row with an infinity", a[12:13], b, "auto"),
        ("a plain row", a[:1], b, "auto"),
        ("a plain column", a, b[:, :1].contiguous(), "auto"),
        *(
            (
                f"one element, {name}",
                of_bits([p], dtype).view(1, 1),
                of_bits([bits(1.0, dtype)], dtype).view(1, 1),
                "auto",
            )
            for name, p in zip(("a NaN", "a negative zero", "an infinity"), one)
        ),
        *((*case, "auto") for case in empty_of(a, b)),
    ]


def empty_of(a, b):
    return [
        ("sums of nothing", a[:3, :0], b[:0, :5]),
        ("no rows", a[:0, :5], b[:5, :3]),
        ("no columns", a[:3, :5], b[:5, :0]),
    ]


def size_of(a, b):
    return [a.shape[0], b.shape[1], a.shape[1]]


FROM_ZERO = "A sum begins with 0, and a negative zero added to it is 0."
IN_PARTS = (
    "A product made of parts in tf32 has no subnormal parts, and the greatest numbers may count as infinite. "
    "Where an operand is infinite, a sum may be NaN."
)
IN_TF32 = (
    "An operand may be cut off or rounded to tf32, the greatest ones to infinity. A subnormal operand may count as 0. "
    "A NaN with a payload in the bits that are cut off may count as an infinity."
)


def without_subnormals(x):
    return torch.where(x.abs() < 2.0**-126, torch.zeros_like(x), x)


def cut_to_tf32(x):
    """Cut off after 10 bits of fraction: of some NaN an infinity is left."""
    return torch.where(x.isinf(), x, (x.view(torch.int32) & ~0x1FFF).view(F32))


def rounded_to_tf32(x):
    """Rounded to 10 bits of fraction, half up in magnitude."""
    return torch.where(x.isfinite(), (x.view(torch.int32) + 0x1000 & ~0x1FFF).view(F32), x)


def from_zero(c):
    """A sum may be 0 in place of a negative zero."""
    return {"c": alternatives([c, c + 0.0])}


def products():
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    for dtype in (F16, BF16, E4M3, E5M2):
        for name, a, b, runs in cases_of(dtype):
            c = product_of(a, b)
            for ops, y in ((PLAIN, c), ("matmul_relu", torch.relu(c)), ("matmul_leaky_relu", leaky(a, b))):
                row(
                    ops,
                    dtype,
                    name,
                    size_of(a, b),
                    {"a": a, "b": b},
                    {"c": y},
                    runs=runs,
                    ours=from_zero(y),
                    why=FROM_ZERO,
                )


ACTIVATIONS = (
    (PLAIN + " matrix_multiplication", lambda y: y),
    ("matmul_relu", torch.relu),
    ("matmul_leaky_relu", lambda y: functional.leaky_relu(y, 0.01)),
)


def products_in_f32():
    torch.backends.cuda.matmul.allow_tf32 = False
    for name, a, b, runs in cases_of(F32):
        made = F32, name, size_of(a, b), {"a": a, "b": b}
        ways = [[y, without_subnormals(y), rounded_to_tf32(y)] for y in (a, b)]
        every = [x @ y for x, y in itertools.product(*ways)]
        every += [torch.where(p.isinf(), torch.nan, p) for p in every]
        for ops, of in ACTIVATIONS:
            c = of(every[0])
            row(ops, *made, {"c": c}, runs="auto", ours=from_zero(c), why=FROM_ZERO)
            if runs == "auto":
                continue
            # A kernel of parts among the configurations is as accurate, not exact.
            ours = {"c": alternatives([of(p) for p in every])}
            row(ops, *made, {"c": c}, runs="pinned", within=(1e-6, 2.0**-126), ours=ours, why=IN_PARTS)


def products_in_tf32():
    operations = PLAIN.replace("matmul", "matmul_tf32")
    for name, a, b, runs in cases_of(F32):
        torch.backends.cuda.matmul.allow_tf32 = True
        c = a @ b
        torch.backends.cuda.matmul.allow_tf32 = False
        ways = [
            [f(x) for x in (y, without_subnormals(y)) for f in (lambda x: x, cut_to_tf32, rounded_to_tf32)]
            for y in (a, b)
        ]
        ours = {"c": alternatives([c] + [x @ y for x, y in itertools.product(*ways)])}
        made = F32, name, size_of(a, b), {"a": a, "b": b}, {"c": c}
        row(operations, *made, within=(0.0, 0.0), runs=runs, ours=ours, why=IN_TF32)


def integers():
    low, high = -128, 127
    a = tensor([[(low, high, -1, 0, 1)[(r * 3 + c) % 5] for c in range(9)] for r in range(4)], I8)
    b = tensor([[(high, low, low, 1, -1, 0)[(r * 2 + c) % 6] for c in range(7)] for r in range(9)], I8)
    one = tensor([[low]], I8)
    cases = [
        ("extreme values", a, b),
        ("nothing but the least value", tensor([[low] * 40] * 3, I8), tensor([[low] * 5] * 40, I8)),
        ("one element", one, one),
        *empty_of(a, b),
    ]
    for name, a, b in cases:
        c = product_of(a, b)
        runs = None if name == "extreme values" else "auto"
        row(PLAIN, I8, name, size_of(a, b), {"a": a, "b": b}, {"c": c}, runs=runs)
        row("matmul_relu", I8, name, size_of(a, b), {"a": a, "b": b}, {"c": torch.relu(c)}, runs=runs)
    # Scales of A, B and C, zero points of A, B and C.
    plain = (0.05, 0.1, 0.5, 0, 0, 0)
    for name, q, (_, a, b) in (
        ("extreme values", plain, cases[0]),
        ("extreme zero points", (0.05, 0.1, 4.0, low, high, low), cases[0]),
        ("ties", (0.5, 1.0, 1.0, 0, 0, 3), cases[0]),
        ("products that overflow f32", (1e38, 1e38, 1.0, 0, 0, 5), cases[0]),
        ("products that are 0 in f32", (1e-38, 1e-38, 1.0, 0, 0, -7), cases[0]),
        ("negative scales", (-0.5, 0.25, 2.0, 1, -1, 0), cases[0]),
        ("one element", (1.0, 1.0, 1.0, 0, 0, 0), cases[2]),
        ("sums of nothing", (1.0, 1.0, 1.0, 3, 4, -9), cases[3]),
        ("no rows", plain, cases[4]),
        ("no columns", plain, cases[5]),
    ):
        scale_a, scale_b, scale_c, zero_a, zero_b, zero_c = q
        sums = ((a.double() - zero_a) @ (b.double() - zero_b)).float()
        scales = [tensor(s, F32) for s in (scale_a, scale_b, scale_c)]
        scaled = sums * scales[0] * scales[1] * (1 / scales[2])
        c = (scaled.round() + zero_c).clamp(low, high).to(I8)
        scalars = dict(zip(("scale_a", "scale_b", "scale_c", "zero_a", "zero_b", "zero_c"), q))
        row(
            "matmul_int8",
            I8,
            name,
            size_of(a, b),
            {"a": a, "b": b},
            {"c": c},
            scalars,
            runs=None if "extreme" in name else "auto",
        )


def gemm():
    a, b = operands(F16)
    plain_a, plain_b = (tensor(small(SIDE, SIDE, seed), F16) for seed in (3, 4))
    nan = of_bits([NAN[F16][0]] * SIDE * SIDE, F16).view(SIDE, SIDE)
    old = of_bits((specials(F16) * 11)[: SIDE * SIDE], F16).view(SIDE, SIDE)
    numbers = tensor(small(SIDE, SIDE, 5), F16)
    inf = float("inf")
    cases = [
        ("C of NaN that does not count", a, b, nan, 1.0, 0.0),
        ("special values in C", plain_a, plain_b, old, 0.5, 2.0),
        ("special values in C, as they are", plain_a, plain_b, old, 1.0, 1.0),
        ("special values", a, b, numbers, -2.0, 0.5),
        ("a product that does not count", a, b, numbers, 0.0, 2.0),
        ("nothing that counts", a, b, nan, 0.0, 0.0),
        ("alpha is infinite", plain_a, plain_b, numbers, inf, 1.0),
        ("alpha is a NaN", plain_a, plain_b, numbers, float("nan"), 1.0),
        ("beta is infinite", plain_a, plain_b, numbers, 1.0, inf),
        ("beta is a NaN", plain_a, plain_b, numbers, 1.0, float("nan")),
        ("sums of nothing", a[:3, :0], b[:0, :5], numbers[:3, :5], 3.0, 2.0),
        ("sums of nothing, alpha is infinite", a[:3, :0], b[:0, :5], numbers[:3, :5], inf, 2.0),
        ("sums of nothing, C does not count", a[:3, :0], b[:0, :5], nan[:3, :5], 1.0, 0.0),
        ("no rows", a[:0, :5], b[:5, :3], numbers[:0, :3], 1.0, 1.0),
        ("no columns", a[:3, :5], b[:5, :0], numbers[:3, :0], 1.0, 1.0),
        ("one element", a[9:10, MEET : MEET + 1], b[MEET : MEET + 1, 14:15], numbers[:1, :1], 1.0, 1.0),
        ("one negative zero", tensor([[-0.0]], F16), tensor([[1.0]], F16), tensor([[-0.0]], F16), 1.0, 1.0),
        ("one negative zero without C", tensor([[-0.0]], F16), tensor([[1.0]], F16), tensor([[-0.0]], F16), 1.0, 0.0),
    ]
    for name, a, b, c, alpha, beta in cases:
        y = torch.addmm(c, a, b, alpha=alpha, beta=beta)
        row(
            "gemm",
            F16,
            name,
            size_of(a, b),
            {"a": a, "b": b, "c": c},
            {"c": y},
            {"alpha": alpha, "beta": beta},
            runs=None if "special" in name or "does not count" in name else "auto",
        )


def batches():
    for dtype in (F16, BF16, F32):
        a, b = operands(dtype)
        plain = [tensor(small(SIDE, SIDE, seed), F32).to(dtype) for seed in (3, 4)]
        cases = [
            (
                "special values in one of three",
                torch.stack([plain[0], a, plain[1]]),
                torch.stack([plain[1], b, plain[0]]),
            ),
            ("one element", a[None, 1:2, 4:5], b[None, MEET : MEET + 1, :1]),
            ("no matrices", a[None][:0], b[None][:0]),
            ("sums of nothing", a[None, :3, :0], b[None, :0, :5]),
            ("no rows", a[None, :0], b[None]),
        ]
        for name, a, b in cases:
            size = [a.shape[0], a.shape[1], b.shape[2], a.shape[2]]
            c = torch.bmm(a, b)
            if dtype != F32:
                row(
                    "batched_matmul",
                    dtype,
                    name,
                    size,
                    {"a": a, "b": b},
                    {"c": c},
                    runs=None if name == cases[0][0] else "auto",
                )
                continue
            row("batched_matmul", dtype, name, size, {"a": a, "b": b}, {"c": c}, runs="auto")
            if name != cases[0][0]:
                continue
            ways = [[y, without_subnormals(y), rounded_to_tf32(y)] for y in (a, b)]
            parts = [torch.bmm(x, y) for x, y in itertools.product(*ways)]
            parts += [torch.where(p.isinf(), torch.nan, p) for p in parts]
            row(
                "batched_matmul",
                dtype,
                name,
                size,
                {"a": a, "b": b},
                {"c": c},
                runs="pinned",
                within=(1e-6, 2.0**-126),
                ours={"c": alternatives(parts)},
                why=IN_PARTS,
            )


def groups():
    for dtype in (F16, BF16):
        a, b = operands(dtype)
        plain = [tensor(small(SIDE, SIDE, seed), F32).to(dtype) for seed in (3, 4)]
        cases = [
            ("special values in one of three", a, torch.stack([plain[0], b, plain[1]]), [3, 14, SIDE]),
            ("a group without rows", a[:5], torch.stack([plain[0], b, plain[1]]), [2, 2, 5]),
            ("one element", a[1:2, 4:5], b[None, MEET : MEET + 1, :1], [1]),
            ("no rows", a[:0], b[None], [0]),
            ("sums of nothing", a[:3, :0], b[None, :0, :5], [3]),
        ]
        for name, a, b, ends in cases:
            begins = [0, *ends[:-1]]
            c = torch.cat([a[begin:end] @ matrix for begin, end, matrix in zip(begins, ends, b)])
            row(
                "grouped_matmul grouped_matmul_nt",
                dtype,
                name,
                [len(ends), a.shape[0], b.shape[2], a.shape[1]],
                {"a": a, "b": b, "ends": torch.tensor(ends, dtype=torch.int32)},
                {"c": c},
                runs=None if name == cases[0][0] else "auto",
            )


D, QUERIES, KEYS = 8, 3, 4


def attended(q, k, v, causal):
    if q.is_cuda and q.numel() and k.numel():
        return functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal, scale=0.5)[0]
    # On a CPU torch's fused function loses NaN, and on empty tensors it ends the process. This is its definition.
    scores = 0.5 * q.float() @ k.float().mT
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    return (torch._safe_softmax(scores, -1) @ v.float()).to(q.dtype)


HUGE_SCORES, HUGE_VALUES, SUBNORMAL = "the greatest scores", "the greatest values", "subnormal values"
KEPT = "A subnormal sum of bf16 may be kept."
LIMITS = (
    "Values are added up before the sum of weights divides them: the sum may leave f32. The greatest score is rounded "
    "once more than the others: beyond 2^30 their difference may leave the exponential's range, and the result is NaN."
)


def limited(o, name):
    """The result where sums or exponentials leave their range."""
    beyond = {HUGE_SCORES: torch.nan, HUGE_VALUES: torch.inf}.get(name)
    return o if beyond is None else torch.full_like(o, beyond)


def attention():
    for dtype in (F16, BF16):
        nan, inf, top = NAN[dtype][0], INF[dtype], MAX[dtype]
        one, minus = bits(1.0, dtype), SIGN[dtype]
        # A query of zeros weighs all keys alike, and a quarter of a sum of four elements is exact.
        equal = [[0] * D] * QUERIES
        some = [[bits(float((r + c) % 3 - 1), dtype) for c in range(D)] for r in range(QUERIES)]
        keys = [[bits(v, dtype) for v in r] for r in small(KEYS, D, 1)]
        values = [[bits(v, dtype) for v in r] for r in small(KEYS, D, 2)]
        ones = [[one] * D] * QUERIES

        def at(rows, *changes):
            rows = [list(r) for r in rows]
            for r, c, value in changes:
                rows[r][c] = value
            return rows

        heads = {
            "plain numbers": (equal, keys, values),
            "a NaN in a query": (at(some, (0, 1, nan)), keys, values),
            # All keys have a negative element 0, and an element 1 of either sign.
            "infinities in queries": (at(some, (1, 0, inf), (2, 1, inf)), keys, values),
            "a NaN in a key": (some, at(keys, (1, 2, nan)), values),
            "keys of nothing but NaN": (some, [[nan] * D] * KEYS, values),
            "a NaN in a value": (equal, keys, at(values, (2, 3, nan))),
            "infinities in values": (equal, keys, at(values, (0, 1, inf), (1, 2, inf | minus), (2, 1, inf | minus))),
            "a score of minus infinity": (ones, at(keys, (0, 0, inf | minus)), values),
            "no score above minus infinity": (ones, [[inf | minus] * D] * KEYS, values),
            "a score of infinity": (ones, at(keys, (0, 0, inf)), values),
            HUGE_SCORES: ([[top] * D] * QUERIES, [[top] * D, [top | minus] * D, [one] * D, [0] * D], values),
            SUBNORMAL: (equal, keys, [[1] * D, [NORMAL[dtype] - 1] * D, [1] * D, [0] * D]),
            "values of negative zero": (equal, keys, [[minus] * D] * KEYS),
            HUGE_VALUES: (equal, keys, [[top] * D] * KEYS),
        }
        # Weights are rounded to half types before they multiply values of at most 3.
        within = (0.0, 2.0**-8 if dtype == F16 else 2.0**-5)
        for name, parts in heads.items():
            q, k, v = (of_bits([b for r in rows for b in r], dtype).view(1, -1, D) for rows in parts)
            o = attended(q, k, v, False)
            ours, why = limited(o, name), LIMITS
            if name == SUBNORMAL:
                ours, why = v.double().mean(1, keepdim=True).expand(o.shape).to(dtype), KEPT
            row(
                "attention",
                dtype,
                name,
                [1, QUERIES, KEYS, D],
                {"q": q, "k": k, "v": v},
                {"o": o},
                {"scale": 0.5, "causal": 0},
                within=None if parts[0] is equal else within,
                runs="auto",
                ours={"o": alternatives([o, ours])},
                why=why,
            )
        every = [
            torch.stack([of_bits([b for r in parts[i] for b in r], dtype).view(-1, D) for parts in heads.values()])
            for i in range(3)
        ]
        o = attended(*every, False)
        beyond = torch.stack([limited(head, name) for head, name in zip(o, heads)])
        row(
            "attention",
            dtype,
            "heads of special values",
            [len(heads), QUERIES, KEYS, D],
            dict(zip("qkv", every)),
            {"o": o},
            {"scale": 0.5, "causal": 0},
            within=within,
            ours={"o": alternatives([o, beyond])},
            why=LIMITS,
        )
        # The last query alone sees the last key.
        q, k, v = (tensor(small(KEYS, D, seed), dtype)[None] for seed in (1, 2, 3))
        hidden_k, hidden_v = k.clone(), v.clone()
        hidden_k[0, KEYS - 1, 2] = torch.nan
        hidden_v[0, KEYS - 1, 2] = torch.nan
        for name, k, v in (
            ("a NaN in a key that few queries see", hidden_k, v),
            ("a NaN in a value that few queries see", k, hidden_v),
        ):
            row(
                "attention",
                dtype,
                name,
                [1, KEYS, KEYS, D],
                {"q": q, "k": k, "v": v},
                {"o": attended(q, k, v, True)},
                {"scale": 0.5, "causal": 1},
                within=within,
            )
        one = of_bits([bits(3.0, dtype)], dtype).view(1, 1, 1)
        nothing = torch.empty(0, dtype=dtype)
        for name, q, k in (
            ("one element", one, one),
            ("no heads", nothing.view(0, 3, 8), nothing.view(0, 4, 8)),
            ("no queries", nothing.view(1, 0, 8), torch.ones(1, 4, 8, dtype=dtype)),
            ("no keys", torch.ones(2, 3, 8, dtype=dtype), nothing.view(2, 0, 8)),
        ):
            row(
                "attention",
                dtype,
                name,
                [*q.shape[:2], *k.shape[1:]],
                {"q": q, "k": k, "v": k},
                {"o": attended(q, k, k, False)},
                {"scale": 0.5, "causal": 0},
                within=within,
                runs="auto",
            )


ALL = (products, products_in_f32, products_in_tf32, integers, gemm, batches, groups, attention)
