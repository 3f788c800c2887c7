"""The C ABI in forked processes. Usage: fork.py LIBRARY. Needs TILE_BACKEND=cpu, where pointers are host pointers.

A child that hangs ends the test after a minute.
"""
import ctypes, multiprocessing, os, signal, sys, threading, warnings

warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside other threads is what is tested
lib = ctypes.CDLL(sys.argv[1])
lib.tile_last_error.restype = ctypes.c_char_p
N = 300_000


def work(k):
    """Enough for all threads. Returns the defect, or nothing."""
    x = (ctypes.c_float * N)(*([k % 7 - 3.0] * N))
    y = (ctypes.c_float * N)()
    total = (ctypes.c_float * 1)()
    if lib.solve_leaky_relu(x, y, ctypes.c_int(N)) or lib.solve_reduction(x, total, ctypes.c_int(N)):
        return lib.tile_last_error().decode()
    wanted = ctypes.c_float(x[0] if x[0] > 0 else 0.01 * x[0]).value
    if abs(y[0] - wanted) > 1e-6 or y[N - 1] != y[0] or abs(total[0] - x[0] * N) > 1:
        return f"{k}: {y[0]}, {y[N - 1]}, {total[0]}"
    return ""


def pool():
    with multiprocessing.get_context("fork").Pool(3) as processes:
        found = [e for e in processes.map(work, range(12), chunksize=2) if e]
    assert not found, found


signal.alarm(60)
pool()  # before the library was used here
assert work(1) == ""
pool()  # and after

# Beside calls of other threads, which may hold every lock.
done = False


def busy(k):
    while not done:
        assert work(k) == ""


threads = [threading.Thread(target=busy, args=(k,)) for k in range(2)]
[t.start() for t in threads]
for k in range(15):
    child = os.fork()
    if child == 0:
        os._exit(0 if work(k) == "" else 1)
    assert os.waitpid(child, 0)[1] == 0, k
done = True
[t.join() for t in threads]
assert work(2) == ""
