"""Operations of public challenges. A row's size has one number for each extent of the operation's function."""

import torch
from table import F32, I8, I32, INF, MAX, NAN, NORMAL, SIGN, alternatives, of_bits, row, specials, tensor

functional = torch.nn.functional
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


def elementwise():
    for name, x in (("special values", every()), ("one element", minus_zero()), ("nothing", none())):
        row("sigmoid", F32, name, [len(x)], {"x": x}, {"y": torch.sigmoid(x)}, within=(2e-6, 1e-7))
        row("silu", F32, name, [len(x)], {"x": x}, {"y": functional.silu(x)}, within=(1e-5, 2e-38))
        for lo, hi in ((-2.0, 3.0), (3.0, -2.0), (-float("inf"), float("inf"))):
            y = torch.clamp(x, lo, hi)
            title = f"{name} between {lo} and {hi}"
            row("value_clipping", F32, title, [len(x)], {"x": x}, {"y": y}, scalars={"lo": lo, "hi": hi})
    s = every()
    all_pairs = s.repeat_interleave(len(s)), s.repeat(len(s))
    for name, a, b in (
        ("every pair of special values", *all_pairs),
        ("one element", minus_zero(), minus_zero()),
        ("nothing", none(), none()),
    ):
        size = [len(a)]
        row("matrix_addition", F32, name, size, {"a": a, "b": b}, {"c": a + b})
        y = torch.stack([a, b], 1).flatten()
        row("interleave", F32, name, size, {"a": a, "b": b}, {"y": y}, moves=True)
        more = {"within": (1e-5, 1e-6)}
        y = functional.silu(a) * b
        sigmoid = (1 / (1 + torch.exp(-a.double()))).float()
        why = "For large negative gates, torch takes the sigmoid as 0. It is a subnormal number."
        ours = {"y": alternatives([y, a * sigmoid * b])}
        row("swiglu", F32, name, size, {"gate": a, "value": b}, {"y": y}, ours=ours, why=why, within=(1e-5, 2e-38))
        # The formula of a GPU: on the CPU the greatest number overflows.
        y = b * (0.5 * a * (1 + torch.erf(a * 0.5**0.5)))
        row("geglu", F32, name, size, {"gate": a, "value": b}, {"y": y}, **more)
    ones = torch.ones_like(s)
    pixels = torch.cat([torch.stack(p, 1) for p in ((s, ones, ones), (ones, s, ones), (ones, ones, s))])
    for name, rgb in (
        ("a special value in a color", pixels),
        ("one element", minus_zero().repeat(1, 3)),
        ("nothing", none(0, 3)),
    ):
        gray = 0.299 * rgb[:, 0] + 0.587 * rgb[:, 1] + 0.114 * rgb[:, 2]
        row("rgb_to_grayscale", F32, name, [len(rgb)], {"rgb": rgb}, {"gray": gray}, within=(1e-6, 1e-7))


def rotations():
    s = every()
    usual = numbers(1, 2, -3, 4).repeat(len(s), 1)
    angles = numbers(0.5, 0.25, 2, -1).repeat(len(s), 1)
    special = usual.clone()
    special[:, 1] = s
    turned = angles.clone()
    turned[:, 2] = s
    for name, x, cosines, sines in (
        ("special values", special, angles, angles.flip(1)),
        ("special cosines", usual, turned, angles),
        ("special sines", usual, angles, turned),
        ("one element", numbers(-2, 0).view(1, 2)[:, :2], numbers(0, 1).view(1, 2), numbers(1, 0).view(1, 2)),
        ("nothing", none(0, 4), none(0, 4), none(0, 4)),
    ):
        half = x.shape[1] // 2
        rotated = torch.cat([-x[:, half:], x[:, :half]], 1)
        read = {"x": x, "cosines": cosines, "sines": sines}
        y = x * cosines + rotated * sines
        row("rope_embedding", F32, name, x.shape, read, {"y": y}, within=(1e-6, 1e-7))


def dequantized():
    s = every()
    for name, x, scales, side in (
        ("special values", s.repeat(2, 1), filled((1, (len(s) + 1) // 2), 1), 2),
        ("special scales", filled((3, 2 * len(s)), 2), s.repeat(2, 1), 2),
        ("one element", minus_zero().view(1, 1), numbers(2).view(1, 1), 3),
        ("nothing", none(0, 3), none(0, 2), 2),
    ):
        rows, columns = x.shape
        spread = scales.repeat_interleave(side, 0).repeat_interleave(side, 1)[:rows, :columns]
        row("weight_dequantization", F32, name, [*x.shape, side], {"x": x, "scales": scales}, {"y": x * spread})


def one_number(values):
    return values.detach().reshape(1)


def losses():
    usual = {"predictions": numbers(1, 2, -3, 0.5, 2), "targets": numbers(1, 0, -1, 0.5, 3)}

    def squared(name, read):
        y = functional.mse_loss(read["predictions"], read["targets"])
        size = [len(read["targets"])]
        row("mean_squared_error", F32, name, size, read, {"loss": one_number(y)}, within=(1e-6, 1e-7))

    for name, x in with_each(usual["predictions"], 3):
        squared(name, usual | {"predictions": x})
        squared(f"{name} twice", {"predictions": x, "targets": x})
    squared("one element", {k: v[:1] for k, v in usual.items()})
    squared("nothing", {k: none() for k in usual})

    def entropy(name, logits, labels):
        labels = tensor(labels, I32)
        # torch refuses a label that is no column.
        y = functional.cross_entropy(logits, labels.long())
        read = {"logits": logits, "labels": labels}
        row("softmax_cross_entropy", F32, name, logits.shape, read, {"loss": one_number(y)}, within=(1e-5, 2e-6))

    rows = numbers(1, 2, -3, 0.5, 2, 2, 1, 0).view(2, 4)
    for name, logits in with_each(rows, 5):
        entropy(f"{name} in a column", logits, [0, 2])
        entropy(f"{name} in the column of the label", logits, [0, 1])
    entropy("one element", numbers(3).view(1, 1), [0])
    entropy("nothing", none(0, 4), [])


def surrogate(log_pi, log_pi_old, advantages, clip):
    ratio = torch.exp(log_pi - log_pi_old)
    return torch.min(ratio * advantages, torch.clamp(ratio, 1 - clip, 1 + clip) * advantages)


def policies():
    usual = {
        "advantages": numbers(1, -2, 0.5, 3),
        "log_pi": numbers(-1, -2, -0.5, -1),
        "log_pi_old": numbers(-1, -1.5, -0.75, -1.25),
    }

    def ppo(name, read):
        y = -surrogate(read["log_pi"], read["log_pi_old"], read["advantages"], 0.25).mean()
        more = {"scalars": {"clip": 0.25}, "within": (1e-5, 1e-6)}
        row("ppo_clipped_surrogate_loss", F32, name, [len(read["log_pi"])], read, {"loss": one_number(y)}, **more)

    for array, values in usual.items():
        for name, changed in with_each(values, 2):
            ppo(f"{name} in {array}", usual | {array: changed})
    ppo("one element", {k: v[:1] for k, v in usual.items()})
    ppo("nothing", {k: none() for k in usual})

    usual = {
        "chosen": numbers(-1, -2, -30),
        "rejected": numbers(-2, -1, -3),
        "chosen_ref": numbers(-1.5, -2, -10),
        "rejected_ref": numbers(-2, -0.5, -4),
    }

    def dpo(name, read):
        margins = read["chosen"] - read["rejected"] - (read["chosen_ref"] - read["rejected_ref"])
        y = -functional.logsigmoid(0.5 * margins).mean()
        more = {"scalars": {"beta": 0.5}, "within": (1e-5, 1e-6)}
        row("dpo_sequence_loss", F32, name, [len(margins)], read, {"loss": one_number(y)}, **more)

    for array, values in usual.items():
        for name, changed in with_each(values, 1):
            dpo(f"{name} in {array}", usual | {array: changed})
    dpo("one element", {k: v[:1] for k, v in usual.items()})
    dpo("nothing", {k: none() for k in usual})

    usual = {
        "rewards": numbers(1, 0, 2, 4).view(2, 2),
        "log_pi": filled((2, 2, 3), 1) / 4 - 2,
        "log_pi_old": filled((2, 2, 3), 3) / 4 - 2,
        "log_ref": filled((2, 2, 3), 4) / 4 - 2,
    }

    def grpo(name, read):
        rewards = read["rewards"]
        mean = rewards.mean(1, keepdim=True)
        deviation = ((rewards - mean) ** 2).mean(1, keepdim=True).sqrt()
        advantages = ((rewards - mean) / (deviation + 1e-8)).unsqueeze(2)
        d = read["log_ref"] - read["log_pi"]
        each = surrogate(read["log_pi"], read["log_pi_old"], advantages, 0.25) - 0.5 * (torch.exp(d) - d - 1)
        more = {"scalars": {"clip": 0.25, "beta": 0.5}, "within": (1e-5, 1e-6)}
        row("grpo_surrogate_loss", F32, name, d.shape, read, {"loss": one_number(-each.mean())}, **more)

    for array, values in usual.items():
        for name, changed in with_each(values, 1):
            grpo(f"{name} in {array}", usual | {array: changed})
    first = {"rewards": usual["rewards"][:1, :1]} | {k: v[:1, :1, :1] for k, v in usual.items() if k != "rewards"}
    grpo("one element", first)
    grpo("nothing", {"rewards": none(0, 2)} | {k: none(0, 2, 3) for k in usual if k != "rewards"})


def normalized(x, axes, eps):
    mean = x.mean(axes, keepdim=True)
    return (x - mean) / (((x - mean) ** 2).mean(axes, keepdim=True) + eps).sqrt()


def norms():
    within = (2e-5, 2e-6)
    eps = 0.25

    def rms(name, x):
        y = x / torch.sqrt((x * x).mean() + eps) * 2.0 + 0.5
        more = {"scalars": {"gamma": 2.0, "beta": 0.5, "eps": eps}, "within": within}
        row("rms_normalization", F32, name, [len(x)], {"x": x}, {"y": y}, **more)

    for name, x in with_each(numbers(1, 2, -3, 0.5, 2), 3):
        rms(name, x)
    rms("one element", minus_zero())
    rms("nothing", none())

    s = every()
    columns = torch.stack([torch.full_like(s, 2.0), s, torch.full_like(s, -1.0)])
    # The greatest number times the inverse of a deviation may overflow, in an order of torch's, too.
    factors = s[s.abs() != s[s.isfinite()].abs().max()]
    for name, x, of_columns in (
        ("columns with a special value", columns, None),
        ("columns by a special value", filled((3, len(factors)), 1), factors),
        ("one element", minus_zero().view(1, 1), None),
        ("no rows", none(0, 3), None),
    ):
        gamma, beta = filled(x.shape[1:], 2) if of_columns is None else of_columns, filled(x.shape[1:], 4)
        y = normalized(x, 0, eps) * gamma + beta
        read = {"x": x, "gamma": gamma, "beta": beta}
        row("batch_normalization", F32, name, x.shape, read, {"y": y}, scalars={"eps": eps}, within=within)

    # Two channels a group, one of them with the value.
    samples = filled((len(s), 4, 3), 1)
    samples[:, 1, 2] = s
    for name, x, groups in (
        ("groups with a special value", samples, 2),
        ("one element", minus_zero().view(1, 1, 1), 1),
        ("no samples", none(0, 4, 3), 2),
    ):
        n, channels, area = x.shape
        gamma, beta = filled((channels,), 2), filled((channels,), 5)
        y = normalized(x.view(n, groups, channels // groups * area), 2, eps).view(x.shape)
        y = y * gamma.view(-1, 1) + beta.view(-1, 1)
        read = {"x": x, "gamma": gamma, "beta": beta}
        size = [*x.shape, groups]
        row("group_normalization", F32, name, size, read, {"y": y}, scalars={"eps": eps}, within=within)

    tokens = filled((len(s), 4), 3)
    tokens[:, 2] = s
    for name, tokens, positions, ids in (
        ("tokens with a special value", tokens, filled((2, 4), 1), list(range(len(s))) * 2),
        ("one element", minus_zero().view(1, 1), numbers(1).view(1, 1), [0]),
        ("no tokens", tokens, filled((2, 4), 1), []),
    ):
        at = [i % len(positions) for i in range(min(len(ids), len(positions)))]
        columns = tokens.shape[1]
        gamma, beta = filled((columns,), 2), filled((columns,), 5)
        places = torch.arange(len(ids)) % max(len(at), 1)
        x = tokens[tensor(ids, torch.int64)] + positions[tensor(at, torch.int64)[places]]
        y = normalized(x, 1, eps) * gamma + beta
        read = {"token_ids": tensor(ids, I32), "position_ids": tensor(at, I32), "tokens": tokens}
        read |= {"positions": positions, "gamma": gamma, "beta": beta}
        size = [len(ids), columns, len(tokens), len(positions), len(at)]
        row("token_embedding_layer", F32, name, size, read, {"y": y}, scalars={"eps": eps}, within=within)


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

    def recurrence(a, x):
        h, before = [], torch.zeros(len(a))
        for t in range(a.shape[1]):
            before = a[:, t] * before + x[:, t]
            h.append(before)
        return torch.stack(h, 1) if h else torch.empty_like(x)

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

    def selective(name, u, delta, a, b, c, skip):
        batch, steps, channels = u.shape
        y, h = [], torch.zeros(batch, channels, a.shape[1])
        for t in range(steps):
            d = delta[:, t].unsqueeze(2)
            h = torch.exp(d * a) * h + d * b[:, t].unsqueeze(1) * u[:, t].unsqueeze(2)
            y.append((h * c[:, t].unsqueeze(1)).sum(2) + skip * u[:, t])
        y = torch.stack(y, 1) if y else torch.empty_like(u)
        read = {"u": u, "delta": delta, "a": a, "b": b, "c": c, "skip": skip}
        row("ssm_selective_scan", F32, name, [*u.shape, a.shape[1]], read, {"y": y}, within=(1e-5, 1e-6))

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
    selective("one element", *(t.view(1, 1, 1) for t in numbers(2, 0.5)), -torch.ones(1, 1), *[torch.ones(1, 1, 1)] * 2, numbers(1))
    selective("nothing", none(0, 4, 1), none(0, 4, 1), -torch.ones(1, 2), none(0, 4, 2), none(0, 4, 2), numbers(2))


def sorts():
    s = every()
    # -0 comes before 0 here; torch keeps the order that equal numbers had.
    s = torch.cat([s[s.isnan() | (s != 0)], of_bits([MINUS, 0], F32)])
    for name, x in (("special values", s.flip(0)[2:]), ("both zeros", s[-2:]), ("one element", minus_zero()), ("nothing", none())):
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
    for name, words in (("extreme values", [5, -1, 0, least, least - 1 & 2**31 - 1, 1, -2]), ("one element", [-1]), ("nothing", [])):
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


ALL = (
    elementwise,
    rotations,
    dequantized,
    losses,
    policies,
    norms,
    pairs,
    rows_of_a_matrix,
    scans,
    sorts,
    stencils,
    sums,
    attention,
)
