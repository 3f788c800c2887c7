"""Rows of the table, and the bit patterns that they are made of."""

import torch

F32, F16, BF16, I32, I8 = torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8
E4M3, E5M2, U8 = torch.float8_e4m3fn, torch.float8_e5m2, torch.uint8
NAMES = {F32: "f32", F16: "f16", BF16: "bf16", I32: "i32", I8: "i8", E4M3: "f8e4m3", E5M2: "f8e5m2", U8: "u8"}
PATTERNS = {1: U8, 2: torch.int16, 4: I32}

# The first NaN is the one that arithmetic makes, the second one has a sign and a payload, the third one signals.
NAN = {
    F32: [0x7FC00000, 0xFFC01234, 0x7F800001],
    F16: [0x7E00, 0xFE12, 0x7C01],
    BF16: [0x7FC0, 0xFFC1, 0x7F81],
    E4M3: [0x7F, 0xFF],
    E5M2: [0x7F, 0xFE, 0x7D],
}
INF = {F32: 0x7F800000, F16: 0x7C00, BF16: 0x7F80, E5M2: 0x7C}
# The greatest number and the smallest normal one. The number before the latter is the greatest subnormal one.
MAX = {F32: 0x7F7FFFFF, F16: 0x7BFF, BF16: 0x7F7F, E4M3: 0x7E, E5M2: 0x7B}
NORMAL = {F32: 0x00800000, F16: 0x0400, BF16: 0x0080, E4M3: 0x08, E5M2: 0x04}
SIGN = {F32: 1 << 31, F16: 1 << 15, BF16: 1 << 15, E4M3: 0x80, E5M2: 0x80}


def tensor(values, dtype):
    return torch.tensor(values, dtype=dtype)


def of_bits(bits, dtype):
    """A tensor of bit patterns."""
    size = dtype.itemsize
    # Two bytes and four have signed types alone.
    half = 1 << 8 * size - 1
    numbers = bits if size == 1 else [(b ^ half) - half for b in bits]
    return torch.tensor(numbers, dtype=PATTERNS[size]).view(dtype)


def bits_of(t):
    """Bit patterns, row by row."""
    t = t.detach().cpu().contiguous().flatten()
    size = t.element_size()
    return [b & (1 << 8 * size) - 1 for b in t.view(PATTERNS[size]).tolist()]


def bits(value, dtype):
    """The pattern of a number."""
    return bits_of(torch.tensor([value], dtype=F32).to(dtype))[0]


def specials(dtype):
    """Every class of number, with both signs."""
    sizes = [MAX[dtype], NORMAL[dtype], NORMAL[dtype] - 1, 1, *([INF[dtype]] if dtype in INF else [])]
    sizes += [bits(v, dtype) for v in (1.0, 0.5, 3.0, 10.0, 100.0)]
    return NAN[dtype] + [s | sign for s in [0, *sizes] for sign in (0, SIGN[dtype])]


def words_of(t):
    return [f"{b:0{2 * t.element_size()}x}" for b in bits_of(t)]


def text_of(words):
    """Words in hexadecimal. `*` and a count follow a repeated word, `|` stands between equally right patterns."""
    out, i = [], 0
    while i < len(words):
        n = next((j for j in range(i, len(words)) if words[j] != words[i]), len(words)) - i
        out.append(words[i] if n == 1 else f"{words[i]}*{n}")
        i += n
    return " ".join(out)


def alternatives(results):
    """Each element as it is in any of the results."""
    every = zip(*[words_of(r) for r in results])
    return text_of(["|".join(dict.fromkeys(words)) for words in every])


def scalar(value):
    return f"{value & 0xFFFFFFFF:08x}" if isinstance(value, int) else f"{bits(value, F32):08x}"


ROWS = []
# The type of each input of an operation that is not the row's.
TYPES = {}


def row(
    ops, dtype, name, size, inputs, outputs, scalars=None, within=None, moves=False, runs=None, ours=None, why=None
):
    """One row.

    ops: the operations that have this result.
    outputs: torch's results.
    within: a relative and an absolute error. Without it results are the same numbers, with zeros of the same sign.
    moves: the bits of a NaN count, too.
    runs: `auto`, the operation as users call it, or `pinned`, each of its configurations. Both by default.
    ours, why: the text of the outputs where they differ from torch's on purpose, and the reason.
    """
    made = {
        "ops": ops.split(),
        "dtype": dtype if isinstance(dtype, str) else NAMES[dtype],
        "name": name,
        "size": list(size),
    }
    for op in made["ops"]:
        others = {k: NAMES[v.dtype] for k, v in inputs.items() if not isinstance(dtype, str) and v.dtype != dtype}
        TYPES.setdefault(op, {}).update(others)
    made["inputs"] = {k: text_of(words_of(v)) for k, v in inputs.items()}
    made["scalars"] = {k: scalar(v) for k, v in (scalars or {}).items()}
    made["torch"] = {k: text_of(words_of(v)) for k, v in outputs.items()}
    if ours is not None and ours != made["torch"]:
        made |= {"ours": ours, "why": why}
    if within:
        made["within"] = list(within)
    if moves:
        made["moves"] = True
    if runs:
        made["runs"] = runs
    ROWS.append(made)
