"""Operations of public challenges: pairs, rows of matrices, scans, sorts, stencils, sums, attention. A row's size has
one number for each extent of the operation's function."""

import torch
from challenge_inputs import every, filled, minus_zero, none, numbers, one_number, with_each, MINUS
from table import F32, I8, I32, alternatives, of_bits, row, tensor

functional = torch.nn.functional


def pairs():
    usual = filled((6, 3), 2)

    def nearest(name, points):
        n = len(points)
        found = []
        for i in range(n):
            others = [j for j in range(n) if j != i]
            distances = ((points[others] - points[i]) ** 2).sum(1)
            found.append(others[int(distances.argmin())] if others else 0)
        row("nearest_neighbor", F32, name, [n], {"points": points}, {"nearest": tensor(found, I32)})

    for name, points in with_each(usual, 7):
        nearest(name, points)
    nearest("one element", usual[:1])
    nearest("nothing", none(0, 3))

    agents = torch.cat([filled((5, 2), 1), filled((5, 2), 3)], 1)
    agents[4, :2] = 100.0

    def step(name, agents):
        place, velocity = agents[:, :2], agents[:, 2:]
        apart = ((place.unsqueeze(0) - place.unsqueeze(1)) ** 2).sum(2)
        near = (apart < 25.0) & ~torch.eye(len(agents), dtype=torch.bool)
        count = near.sum(1, keepdim=True)
        total = torch.where(near.unsqueeze(2), velocity.unsqueeze(0), 0.0).sum(1)
        follow = velocity + 0.05 * (total / count - velocity)
        velocity = torch.where(count > 0, follow, velocity)
        y = torch.cat([place + velocity, velocity], 1)
        row("multi_agent_sim", F32, name, [len(agents)], {"agents": agents}, {"next": y}, within=(1e-6, 1e-6))

    for what, at in (("a place", 4), ("a velocity", 6), ("a velocity of an agent that is alone", 18)):
        for name, changed in with_each(agents, at):
            step(f"{name} in {what}", changed)
    step("one element", agents[:1])
    step("nothing", none(0, 4))


def rows_of_a_matrix():
    s = every()
    a = filled((len(s), 5), 1)
    a[:, 3] = s
    for name, a, x in (
        ("special values", a, numbers(1, 2, -3, 0.5, 2)),
        ("special values by zero", a, numbers(1, 2, -3, 0, 2)),
        ("a special vector", filled((4, len(s) - 3), 0), s[3:]),
        ("one element", minus_zero().view(1, 1), numbers(3)),
        ("no columns", none(3, 0), none()),
        ("nothing", none(0, 3), numbers(1, 2, 3)),
    ):
        more = {"within": (1e-6, 1e-7)}
        row("matrix_vector_product", F32, name, a.shape, {"a": a, "x": x}, {"y": (a * x).sum(1)}, **more)
    logits = numbers(1, 7, -3, 0.25, 2).repeat(len(s), 1)
    logits[:, 2] = s
    for name, logits, k in (
        ("a special value in a row", logits, 3),
        ("equal logits", torch.ones(1, 5), 3),
        ("one element", minus_zero().view(1, 1), 1),
        ("nothing", none(0, 5), 3),
    ):
        values, indices = torch.sort(logits, dim=1, descending=True, stable=True)
        y = {"weights": torch.softmax(values[:, :k], 1), "indices": indices[:, :k].to(I32)}
        row("moe_topk_gating", F32, name, [*logits.shape, k], {"logits": logits}, y, within=(1e-5, 1e-7))


def recurrence(a, x):
    h, before = [], torch.zeros(len(a))
    for t in range(a.shape[1]):
        before = a[:, t] * before + x[:, t]
        h.append(before)
    return torch.stack(h, 1) if h else torch.empty_like(x)


NO_STATE = (
    "The state before the first step is 0, and so is its product with an infinite factor. Further steps of infinite "
    "factors may be infinite, or NaN where sums of parts have infinities of both signs."
)


def selective(name, u, delta, a, b, c, skip):
    batch, steps, channels = u.shape

    def made(product):
        y, h = [], torch.zeros(batch, channels, a.shape[1])
        for t in range(steps):
            d = delta[:, t].unsqueeze(2)
            h = product(torch.exp(d * a), h) + d * b[:, t].unsqueeze(1) * u[:, t].unsqueeze(2)
            y.append((h * c[:, t].unsqueeze(1)).sum(2) + skip * u[:, t])
        return torch.stack(y, 1) if y else torch.empty_like(u)

    y = made(torch.mul)
    more = {"within": (1e-5, 1e-6)}
    if torch.exp(delta.unsqueeze(3) * a).isinf().all(1).any():
        ours = made(lambda factor, state: torch.where((state == 0) & ~factor.isnan(), 0.0, factor * state))
        more |= {"ours": {"y": alternatives([y, ours])}, "why": NO_STATE}
    read = {"u": u, "delta": delta, "a": a, "b": b, "c": c, "skip": skip}
    row("ssm_selective_scan", F32, name, [*u.shape, a.shape[1]], read, {"y": y}, **more)


def scans():
    usual = numbers(1, 2, -3, 4, 5, -6, 7)
    flags = tensor([0, 0, 0, 0, 1, 0, 0], I32)

    def sums(name, x, flags):
        row("prefix_sum", F32, name, [len(x)], {"x": x}, {"y": torch.cumsum(x, 0)}, within=(1e-6, 1e-7))
        y, total = [], torch.zeros(())
        for value, flag in zip(x, flags):
            total = torch.zeros(()) if flag != 0 else total
            y.append(total)
            total = total + value
        y = torch.stack(y) if y else none()
        read = {"x": x, "flags": flags}
        row("segmented_prefix_sum", F32, name, [len(x)], read, {"y": y}, within=(1e-6, 1e-7))

    for name, x in with_each(usual, 3):
        sums(name, x, flags)
    sums("flags of many kinds", usual, tensor([-1, 0, 2**31 - 1, -(2**31), 0, 0, 1], I32))
    sums("one element", usual[:1], flags[:1])
    sums("nothing", none(), tensor([], I32))

    s = every()
    for name, x in (("special values", s), ("one element", minus_zero()), ("nothing", none())):
        kept = x[x > 0]
        y = torch.cat([kept, torch.zeros(len(x) - len(kept))])
        row("stream_compaction", F32, name, [len(x)], {"x": x}, {"y": y})

    most, least = 2**31 - 1, -(2**31)
    for name, x, window in (
        ("sums that wrap", [most, 1, 5, least, -1, 7, most, most], 2),
        ("extreme values", [least, most, 0, least], 1),
        ("one element", [least], 1),
        ("a window of nothing", [1, 2], 0),
        ("nothing", [], 0),
    ):
        windows = tensor(x, torch.int64).unfold(0, window, 1).sum(1) if window else tensor([0], torch.int64)
        y = one_number(windows.to(I32).max())
        row("max_subarray_sum", I32, name, [len(x), window], {"x": tensor(x, I32)}, {"y": y})

    # No factor is 0: by 0, what comes before counts as 0 and not as NaN where it is infinite.
    a, x = numbers(1, 0.5, 2, 1, 0.25).repeat(len(s), 1), numbers(1, 2, -3, 4, 0).repeat(len(s), 1)
    x[:, 2] = s
    for name, a, x in (
        ("rows with a special value", a, x),
        ("one element", minus_zero().view(1, 1), minus_zero().view(1, 1)),
        ("nothing", none(0, 3), none(0, 3)),
    ):
        row("linear_recurrence", F32, name, a.shape, {"a": a, "x": x}, {"h": recurrence(a, x)}, within=(1e-6, 1e-7))

    rewards, values = numbers(1, 2, -3, 4, 0).repeat(len(s), 1), numbers(2, -1, 3, 0.5, 1).repeat(len(s), 1)
    special_rewards, special_values = rewards.clone(), values.clone()
    special_rewards[:, 2] = s
    special_values[:, 2] = s
    for name, r, v in (
        ("special rewards", special_rewards, values),
        ("special values", rewards, special_values),
        ("one element", minus_zero().view(1, 1), numbers(2).view(1, 1)),
        ("nothing", none(0, 3), none(0, 3)),
    ):
        after = torch.cat([v[:, 1:], torch.zeros(len(v), 1)], 1)
        delta = r + 0.5 * after - v
        y = recurrence(torch.full_like(delta, 0.125), delta.flip(1)).flip(1)
        read = {"rewards": r, "values": v}
        more = {"scalars": {"gamma": 0.5, "lambda": 0.25}, "within": (1e-6, 1e-7)}
        row("gae_reverse_scan", F32, name, r.shape, read, {"advantages": y}, **more)

    u = numbers(1, 2, -3, 4).view(1, 4, 1).repeat(len(s), 1, 1)
    u[:, 2, 0] = s
    one = torch.ones(len(s), 4, 2)
    selective("a special value in u", u, torch.full_like(u, 0.5), -torch.ones(1, 2), one, one, numbers(2))
    usual = {
        "u": numbers(1, 2, -3, 4).view(1, 4, 1),
        "delta": torch.full((1, 4, 1), 0.5),
        "a": numbers(-1, -2).view(1, 2),
        "b": torch.ones(1, 4, 2),
        "c": torch.ones(1, 4, 2),
        "skip": numbers(2),
    }
    # The last step: behind a value that is not finite a channel may differ from the recurrence.
    for array, at in (("delta", 3), ("b", 7), ("c", 2), ("skip", 0)):
        for name, changed in with_each(usual[array], at):
            selective(f"{name} in {array}", *(usual | {array: changed}).values())
    u, delta = (t.view(1, 1, 1) for t in numbers(2, 0.5))
    unit = torch.ones(1, 1, 1)
    selective("one element", u, delta, -torch.ones(1, 1), unit, unit, numbers(1))
    selective("nothing", none(0, 4, 1), none(0, 4, 1), -torch.ones(1, 2), none(0, 4, 2), none(0, 4, 2), numbers(2))


def sorts():
    s = every()
    # -0 comes before 0 here; torch keeps the order that equal numbers had.
    s = torch.cat([s[s.isnan() | (s != 0)], of_bits([MINUS, 0], F32)])
    for name, x in (
        ("special values", s.flip(0)[2:]),
        ("both zeros", s[-2:]),
        ("one element", minus_zero()),
        ("nothing", none()),
    ):
        y = torch.sort(x, stable=True).values
        row("sorting sorted", F32, name, [len(x)], {"x": x}, {"y": y})
        for k in sorted({0, min(len(x), 5), len(x)}):
            # Of both zeros the greater one comes first.
            y = torch.sort(x.flip(0), descending=True, stable=True).values[:k]
            row("top_k_selection", F32, f"{name}, {k} of them", [len(x), k], {"x": x}, {"y": y})
    ascending = torch.sort(s, stable=True).values
    for name, a, b in (
        ("special values", ascending[::2].contiguous(), ascending[1::2].contiguous()),
        ("special values twice", ascending, ascending),
        ("one element", minus_zero(), none()),
        ("nothing", none(), none()),
    ):
        y = torch.sort(torch.cat([a, b]), stable=True).values
        row("parallel_merge", F32, name, [len(a), len(b)], {"a": a, "b": b}, {"y": y})
    least = -(2**31)
    for name, words in (
        ("extreme values", [5, -1, 0, least, least - 1 & 2**31 - 1, 1, -2]),
        ("one element", [-1]),
        ("nothing", []),
    ):
        # The words of unsigned numbers.
        x = tensor(words, I32)
        y = (torch.sort(x.long() & 0xFFFFFFFF).values + 2**31) % 2**32 - 2**31
        row("radix_sort", "u32", name, [len(x)], {"x": x}, {"y": y.to(I32)})
    most = 2**31 - 1
    for name, x, bins in (
        ("extreme values", [0, most, least, -1, 3, 4, 3, 2, 0], 4),
        ("one element", [0], 1),
        ("no bins", [1, 2], 0),
        ("nothing", [], 3),
    ):
        x = tensor(x, I32)
        inside = x[(x >= 0) & (x < bins)].long()
        counts = torch.bincount(inside, minlength=bins).to(I32)
        row("histogramming", I32, name, [len(x), bins], {"x": x}, {"counts": counts})


def stencils():
    def plane(x, taps):
        return functional.conv2d(x[None, None], taps[None, None])[0, 0]

    taps = numbers(1, -2, 0, 3).view(2, 2)
    usual = filled((4, 5), 1)
    cases = [(f"{name} in the matrix", x, taps) for name, x in with_each(usual, 7)]
    cases += [(f"{name} in the taps", usual, t) for name, t in with_each(taps, 1)]
    cases += [("one element", minus_zero().view(1, 1), numbers(2).view(1, 1))]
    for name, x, t in cases:
        more = {"within": (1e-6, 1e-7)}
        size = [*x.shape, *t.shape]
        row("convolution_2d", F32, name, size, {"x": x, "taps": t}, {"y": plane(x, t)}, **more)
        deep, deep_taps = x[None].repeat(2, 1, 1), t[None]
        y = functional.conv3d(deep[None, None], deep_taps[None, None])[0, 0]
        read = {"x": deep, "taps": deep_taps}
        row("convolution_3d", F32, name, [*deep.shape, *deep_taps.shape], read, {"y": y}, **more)

    taps = filled((3, 3), 2)
    cases = [(f"{name} in the matrix", x, taps) for name, x in with_each(usual, 7)]
    cases += [(f"{name} in the taps", usual, t) for name, t in with_each(taps, 1)]
    cases += [("one element", minus_zero().view(1, 1), numbers(2).view(1, 1)), ("nothing", none(0, 3), taps)]
    for name, x, t in cases:
        y = functional.conv2d(x[None, None], t[None, None], padding=t.shape[0] // 2)[0, 0] if len(x) else x
        size = [*x.shape, *t.shape]
        row("gaussian_blur", F32, name, size, {"x": x, "taps": t}, {"y": y}, within=(1e-6, 1e-7))

    cases = [*with_each(usual, 7), ("one element", minus_zero().view(1, 1)), ("nothing", none(0, 3))]
    for name, x in cases:
        y = x.clone()
        if min(x.shape) > 2:
            y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
        row("jacobi_stencil_2d", F32, name, x.shape, {"x": x}, {"y": y}, within=(1e-6, 1e-7))

    low = torch.full((1, 3, 3), -float("inf"))
    cases = [(n, x[None], 3, 2, 1) for n, x in with_each(usual, 7)] + [("minus infinity alone", low, 2, 1, 1)]
    cases += [("one element", minus_zero().view(1, 1, 1), 1, 1, 0), ("nothing", none(0, 3, 3), 2, 1, 0)]
    for name, x, side, stride, padding in cases:
        y = functional.max_pool2d(x, side, stride, padding) if len(x) else none()
        size = [*x.shape, side, stride, padding]
        row("max_pooling_2d", F32, name, size, {"x": x}, {"y": y})

    usual = filled((2, 4, 2), 1)
    taps, bias = filled((2, 3), 5), numbers(1, -2)
    cases = [(f"{name} in x", x, taps, bias) for name, x in with_each(usual, 4)]
    cases += [(f"{name} in the bias", usual, taps, b) for name, b in with_each(bias, 1)]
    cases += [(f"{name} in the taps", usual, t, bias) for name, t in with_each(taps, 1)]
    cases += [("one element", minus_zero().view(1, 1, 1), numbers(2).view(1, 1), minus_zero())]
    cases += [("nothing", none(0, 4, 2), taps, bias)]
    for name, x, t, b in cases:
        count = t.shape[1]
        padded = functional.pad(x.transpose(1, 2), (count - 1, 0))
        y = functional.conv1d(padded, t.flip(1)[:, None], b, groups=len(t)).transpose(1, 2) if len(x) else x
        read = {"x": x, "taps": t, "bias": b}
        row("causal_depthwise_conv1d", F32, name, [*x.shape, count], read, {"y": y}, within=(1e-6, 1e-7))


def sums():
    a, b = numbers(1, 2, -3, 4, 5), numbers(2, -1, 0.5, 0, 1)
    cases = [(f"{name} in a", x, b) for name, x in with_each(a, 1)]
    cases += [(f"{name} by zero", x, b) for name, x in with_each(a, 3)]
    cases += [(f"{name} in b", a, y) for name, y in with_each(b, 1)]
    cases += [("one element", minus_zero(), numbers(3)), ("nothing", none(), none())]
    for name, x, y in cases:
        row("dot_product", F32, name, [len(x)], {"a": x, "b": y}, {"y": one_number((x * y).sum())}, within=(1e-6, 1e-7))
    cases = [*with_each(a, 2), ("one element", minus_zero()), ("nothing", none())]
    for name, x in cases:
        y = 7.0 * x.mean()
        more = {"scalars": {"a": -2.0, "b": 5.0}, "within": (1e-6, 1e-7)}
        row("monte_carlo_integration", F32, name, [len(x)], {"samples": x}, {"y": one_number(y)}, **more)
    most, least = 2**31 - 1, -(2**31)
    extreme = tensor([most, least, 0, -1, most, 1, most, least], I32)
    for name, x, k in (
        ("the greatest number", extreme, most),
        ("the least number", extreme, least),
        ("zero", extreme, 0),
        ("one element", extreme[:1], most),
        ("nothing", extreme[:0], 0),
    ):
        y = (x == k).sum().to(I32)
        row("count_elements", I32, name, [len(x)], {"x": x}, {"y": one_number(y)}, scalars={"k": k})
    for name, x, first, end in (
        ("sums that wrap", extreme, 0, 8),
        ("a part", extreme, 3, 7),
        ("one element", extreme[:1], 0, 1),
        ("nothing of some", extreme, 2, 2),
        ("nothing", extreme[:0], 0, 0),
    ):
        y = x[first:end].long().sum().to(I32)
        row("subarray_sum", I32, name, [len(x), first, end], {"x": x}, {"y": one_number(y)})
    box = extreme.view(2, 2, 2)
    for name, x, ranges in (
        ("sums that wrap", box, ((0, 2), (0, 2), (0, 2))),
        ("a part", box, ((0, 2), (1, 2), (0, 1))),
        ("one element", box[:1, :1, :1], ((0, 1), (0, 1), (0, 1))),
        ("nothing", box[:0], ((0, 0), (0, 2), (0, 2))),
    ):
        (p, q), (r, s), (t, u) = ranges
        y = x[p:q, r:s, t:u].long().sum().to(I32)
        size = [*x.shape, p, q, r, s, t, u]
        row("subarray_sum_3d", I32, name, size, {"x": x}, {"y": one_number(y)})


def attention():
    heads, positions, dim = 1, 3, 4
    usual = {
        "q": filled((heads, dim), 1),
        "key_scales": numbers(0.5, 1, 0.25).view(heads, positions),
        "value_scales": numbers(1, 2, 0.5).view(heads, positions),
    }
    integers = {
        "keys": tensor([[[1, -2, 3, 127], [0, 0, 0, 0], [-128, 1, 2, 3]]], I8),
        "values": tensor([[[1, 2, 3, 4], [-128, 127, 0, 1], [5, 6, 7, 8]]], I8),
    }

    def one(name, read):
        keys = read["keys"].float() * read["key_scales"].unsqueeze(2)
        values = read["values"].float() * read["value_scales"].unsqueeze(2)
        dim = read["q"].shape[1]
        scores = (read["q"].unsqueeze(1) * keys).sum(2) / dim**0.5
        weights = torch.softmax(scores, 1)
        y = (weights.unsqueeze(2) * values).sum(1)
        row("int8_kv_cache_attention", F32, name, read["keys"].shape, read, {"y": y}, within=(1e-5, 1e-6))

    for array, values in usual.items():
        for name, changed in with_each(values, 1):
            one(f"{name} in {array}", usual | integers | {array: changed})
    every = usual | integers
    one("one element", {k: v[:1, :1, :1] if v.dim() == 3 else v[:1, :1] for k, v in every.items()})
    one("no positions", {k: v if k == "q" else v[:, :0] for k, v in every.items()})
    one("nothing", {k: v[:0] for k, v in every.items()})


ALL = (pairs, rows_of_a_matrix, scans, sorts, stencils, sums, attention)
