"""Rows of tables by index, and rotary position embeddings."""

import torch
from table import BF16, F16, F32, I32, of_bits, row, specials, tensor

functional = torch.nn.functional


def lookups():
    """Every special value in a table, and indices in both orders."""
    for dtype in (F32, F16, BF16):
        s = specials(dtype)
        table = of_bits(s + s[: -len(s) % 4], dtype).view(-1, 4)
        every = list(range(len(table)))
        for name, table, ids in (
            ("rows of special values", table, every + every[::-1]),
            ("one element", table[:1, :1], [0]),
            ("no tokens", table, []),
        ):
            size = [len(ids), *table.shape]
            indices = tensor(ids, I32)
            y = functional.embedding(indices.long(), table)
            row("embedding", dtype, name, size, {"table": table, "ids": indices}, {"y": y}, moves=True)
            before = torch.full_like(table, 0.5, dtype=F32)
            d_table = before.index_add(0, indices.long(), y.float())
            read = {"ids": indices, "dy": y, "d_table": before}
            row("embedding_backward", dtype, name, size, read, {"d_table": d_table}, within=(1e-6, 1e-6))


def rotated(x, cosines, sines, interleaved):
    """Pairs of elements of the last axis, which rotate."""
    half = x.shape[2] // 2
    c, s = (t.view(len(x), 1, half) for t in (cosines, sines))
    rest = x[..., 2 * half :]
    if interleaved:
        a, b = x[..., 0 : 2 * half : 2], x[..., 1 : 2 * half : 2]
        return torch.cat([torch.stack([a * c - b * s, b * c + a * s], -1).flatten(2), rest], -1)
    a, b = x[..., :half], x[..., half : 2 * half]
    return torch.cat([a * c - b * s, b * c + a * s, rest], -1)


def rotations():
    """Each special value with each angle. Tokens have positions of their own."""
    for dtype in (F32, F16, BF16):
        s = specials(dtype)
        angles = torch.tensor([0.0, 0.5, 2.0, -3.0])
        tokens = len(s) * len(angles)
        x = torch.full((tokens, 1, 4), 1.0, dtype=dtype)
        x[:, 0, 1] = of_bits([v for v in s for _ in angles], dtype)
        cosines, sines = (f(angles.repeat(len(s))).repeat_interleave(2) for f in (torch.cos, torch.sin))
        cases = {
            "special values": (x, cosines, sines, torch.arange(tokens, dtype=I32)),
            "one element": (x[:1, :, :1], cosines[:0], sines[:0], tensor([0], I32)),
            "no tokens": (x[:0], cosines[:0], sines[:0], tensor([], I32)),
        }
        within = ({F32: 1e-6, F16: 1e-3, BF16: 8e-3}[dtype], 3e-7)
        for name, (x, cosines, sines, positions) in cases.items():
            for interleaved in (False, True):
                ops = "rope_interleaved" if interleaved else "rope"
                read = {"cosines": cosines, "sines": sines, "positions": positions}
                y = rotated(x.float(), cosines, sines, interleaved).to(dtype)
                row(ops, dtype, name, x.shape, {"x": x, **read}, {"y": y}, within=within)
                dx = rotated(x.float(), cosines, -sines, interleaved).to(dtype)
                row(f"{ops}_backward", dtype, name, x.shape, {"dy": x, **read}, {"dx": dx}, within=within)


ALL = (lookups, rotations)
