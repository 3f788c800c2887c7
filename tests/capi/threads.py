#!/usr/bin/env python3
"""Every operation of the list of capture.py from many threads, each on a stream of its own.

    python3 threads.py PATH/libtile.so [THREADS] [SECONDS]

Needs one NVIDIA GPU and torch. Each thread makes random calls on its stream, reads and writes through torch's allocator in
between, and compares every result with that of a call made alone before. Each third call is prepared first, and some are
captured in a graph of mode thread_local and replayed. Prints calls and wrong results; the exit status is 0 without any.
"""
import ctypes, random, sys, threading, time
import torch
from capture import CASES, fill, i


def lone(lib, case, seed):
    """Inputs, and the output of a call on the default stream while nothing else runs."""
    name, inputs, (n, dtype), arguments = case
    torch.manual_seed(seed)
    xs = [torch.empty(of[0], dtype=of[1], device="cuda") for of in inputs]
    y = torch.zeros(n, dtype=dtype, device="cuda")
    for x, of in zip(xs, inputs):
        fill(x, *of[2:])
    if not xs:
        fill(y)
    before = y.clone()
    lib.tile_set_stream(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    code = getattr(lib, name)(*arguments(*[ctypes.c_void_p(t.data_ptr()) for t in (*xs, y)]))
    assert code == 0, lib.tile_last_error()
    torch.cuda.synchronize()
    return case, xs, before, y


# torch waits for the device before it captures, which a capture of another thread does not allow.
CAPTURES = threading.Lock()


def work(lib, made, seed, until, wrong, calls):
    rng, stream = random.Random(seed), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        lib.tile_set_stream(ctypes.c_void_p(stream.cuda_stream))
        while time.monotonic() < until:
            (name, _, (n, dtype), arguments), xs, before, want = rng.choice(made)
            # Memory that this stream frees at once, and inputs that others read at the same time.
            y = before.clone()
            pointers = lambda: arguments(*[ctypes.c_void_p(t.data_ptr()) for t in (*xs, y)])
            how, code = rng.randrange(3), 0
            if how == 0:
                lib.tile_prepare(i(1))
                code = getattr(lib, name)(*pointers())
                lib.tile_prepare(i(0))
            if how == 1 and rng.random() < 0.3:
                graph = torch.cuda.CUDAGraph()
                with CAPTURES, torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                    code = code or getattr(lib, name)(*pointers())
                graph.replay()
            else:
                code = code or getattr(lib, name)(*pointers())
            near = torch.allclose(y.float(), want.float(), rtol=2e-2, atol=5e-2, equal_nan=True)
            calls.append(name)
            if code or not near:
                wrong.append((name, code, lib.tile_last_error(), how))
            del y
        stream.synchronize()


if __name__ == "__main__":
    lib = ctypes.CDLL(sys.argv[1])
    lib.tile_last_error.restype = ctypes.c_char_p
    threads, seconds = (int(a) for a in (sys.argv[2:] + ["12", "60"][len(sys.argv[2:]) :])[:2])
    made = [lone(lib, case, seed) for seed, case in enumerate(CASES)]
    until, wrong, calls = time.monotonic() + seconds, [], []
    pool = [threading.Thread(target=work, args=(lib, made, t, until, wrong, calls)) for t in range(threads)]
    [t.start() for t in pool]
    [t.join() for t in pool]
    torch.cuda.synchronize()
    print(f"{threads} threads, {seconds} s: {len(calls)} calls of {len(set(calls))} functions, {len(wrong)} wrong")
    for w in wrong[:20]:
        print("WRONG", *w)
    sys.exit(1 if wrong else 0)
