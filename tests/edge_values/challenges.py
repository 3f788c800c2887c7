"""Operations of public challenges: elementwise, losses, norms. A row's size has one number for each extent of the
operation's function."""

import torch
from challenge_inputs import every, filled, minus_zero, none, numbers, one_number, with_each
from table import F32, I32, alternatives, row, tensor

functional = torch.nn.functional


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


ALL = (elementwise, rotations, dequantized, losses, policies, norms)
