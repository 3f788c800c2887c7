"""Record the times of torch and Triton for the points of a run of `tile bench`.

    python3 peers.py run/bench.json peers.json

Then `tile bench --from run/bench.json --peers peers.json --out page` shows them beside the run. Needs torch and the GPU of the run; Triton's lines need Triton. The file's form is in
docs/performance/measuring.md. The method is that of `tile bench`: the peers of a point in turn, the L2 cache flushed
before every launch, CUDA events around it.
"""
import json, os, sys, tempfile, time
import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

WARMUP, ROUNDS = 3, 25
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "u8": torch.uint8}
# More than any L2 cache, and a small kernel behind it: the tail of the large one is not part of the timed work.
FLUSH = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
SETTLE = torch.empty(1 << 10, dtype=torch.int8, device="cuda")


def random(dtype, *dims):
    return torch.randn(*dims, device="cuda").to(dtype)


if triton:
    @triton.jit
    def add_kernel(x, y, o, n, BLOCK: tl.constexpr):
        i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        tl.store(o + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)

    @triton.jit
    def softmax_kernel(o, x, n, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        i = tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(o + row * n + i, e / tl.sum(e, 0), mask=i < n)


def vector_add(dtype, extents):
    (n,) = extents
    x, y, o = random(dtype, n), random(dtype, n), torch.empty(n, device="cuda", dtype=dtype)
    yield "torch", lambda: torch.add(x, y, out=o), o
    if triton:
        yield "Triton", lambda: add_kernel[(triton.cdiv(n, 1024),)](x, y, o, n, BLOCK=1024), o


def softmax_rows(dtype, extents):
    rows, cols = extents
    x = random(dtype, rows, cols)
    o = torch.empty_like(x)
    yield "torch", lambda: torch.softmax(x, 1, out=o), o
    block = triton.next_power_of_2(cols) if triton else 0
    # A program has a whole row.
    if 0 < block <= 1 << 17:
        warps = min(max(block // 256, 1), 16)
        yield "Triton", lambda: softmax_kernel[(rows,)](o, x, cols, BLOCK=block, num_warps=warps), o


def matmul(dtype, extents):
    m, n, k = extents
    # f32 to its accuracy, as `tile bench` has it.
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b, c = random(dtype, m, k), random(dtype, k, n), torch.empty(m, n, device="cuda", dtype=dtype)
    yield "cuBLAS", lambda: torch.matmul(a, b, out=c), c


def unary(function):
    def of(dtype, extents):
        x = random(dtype, *extents)
        yield "torch", lambda: function(x), None
    return of


def matrix_transpose(dtype, extents):
    x = random(dtype, *extents)
    o = torch.empty(*reversed(extents), device="cuda", dtype=dtype)
    yield "torch", lambda: o.copy_(x.t()), o


# Functions of the dtype and the size of a point. They yield names, launches and outputs: the others are compared with
# the first one.
PEERS = {
    "vector_add": vector_add,
    "softmax_rows": softmax_rows,
    "softmax_1d": unary(lambda x: torch.softmax(x, 0)),
    "matmul": matmul,
    "relu": unary(torch.relu),
    "gelu": unary(lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
    "reduction": unary(torch.sum),
    "matrix_transpose": matrix_transpose,
}


def right(peers):
    """The names and launches of those whose outputs are those of the first. A wrong result is not timed."""
    names, launches, wanted = [], [], None
    for name, launch, output in peers:
        if output is not None:
            output.fill_(-7)
        launch(); torch.cuda.synchronize()
        if wanted is None:
            wanted = output.clone() if output is not None else None
        elif not torch.allclose(output.float(), wanted.float(), rtol=1e-2, atol=1e-5):
            print(f"{name}: WRONG, not timed", file=sys.stderr)
            continue
        names.append(name); launches.append(launch)
    return names, launches


def once(launch):
    """Milliseconds of one launch."""
    FLUSH.zero_(); SETTLE.zero_()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record(); launch(); end.record(); torch.cuda.synchronize()
    return start.elapsed_time(end)


def in_turn(launches):
    """Milliseconds of each launch of each round; each round begins with the next one."""
    times = [[] for _ in launches]
    for r in range(WARMUP + ROUNDS):
        for i in range(len(launches)):
            i = (i + r) % len(launches)
            t = once(launches[i])
            if r >= WARMUP:
                times[i].append(max(t, 1e-6))
    return times


def main(run, out):
    with open(run) as f:
        run = json.load(f)
    device = torch.cuda.get_device_name()
    if run["device"]["name"] != device:
        print(f"the run is of {run['device']['name']}, and this is {device}: ratios are left out", file=sys.stderr)
    lines = {}
    for sweep in run["sweeps"]:
        op, dtype = sweep["tags"].get("op"), sweep["tags"].get("dtype")
        if op not in PEERS or dtype not in DTYPES:
            print(f"{sweep['name']}: no peer", file=sys.stderr)
            continue
        for point in sweep["points"]:
            names, launches = right(PEERS[op](DTYPES[dtype], point["extents"]))
            for name, times in zip(names, in_turn(launches)):
                line = lines.setdefault((sweep["name"], name), [])
                line.append({"extents": point["extents"], "times_ms": times})
            print(f"{sweep['name']}: {point['extents']}", file=sys.stderr)
    source = f"torch {torch.__version__}" + (f", Triton {triton.__version__}" if triton else "")
    peers = {
        "format": "tilewright-peers",
        "version": 1,
        "device": device,
        "source": f"{source}, {time.strftime('%Y-%m-%d')}",
        "lines": [{"sweep": s, "name": n, "points": p} for (s, n), p in lines.items()],
    }
    # Written whole or not at all.
    part = tempfile.NamedTemporaryFile("w", dir=os.path.dirname(os.path.abspath(out)), delete=False)
    with part:
        json.dump(peers, part, indent=1)
    os.replace(part.name, out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
