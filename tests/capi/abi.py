"""The C ABI through ctypes. Usage: abi.py LIBRARY. Needs TILE_BACKEND=cpu, where pointers are host pointers."""
import ctypes, sys, threading

lib = ctypes.CDLL(sys.argv[1])
lib.tile_last_error.restype = ctypes.c_char_p
I, L, Z, P, F = ctypes.c_int, ctypes.c_longlong, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_float
SIGNATURES = {
    "solve_vector_add": [P, P, P, Z],
    "solve_matrix_transpose": [P, P, I, I],
    "solve_softmax": [P, P, I],
    "solve_color_inversion": [P, I, I],
    "solve_1d_convolution": [P, P, P, I, I],
    "solve_reverse_array": [P, I],
    "solve_relu": [P, P, I],
    "solve_leaky_relu": [P, P, I],
    "solve_gelu": [P, P, I],
    "solve_rainbow_table": [P, P, I, I],
    "solve_matrix_copy": [P, P, I],
    "solve_count_array_element": [P, P, I, I],
    "solve_count_2d_array_element": [P, P, I, I, I],
    "solve_reduction": [P, P, I],
    "solve_matrix_multiplication": [P, P, P, I, I, I],
    "solve_gemm": [P, P, P, I, I, I, F, F],
    "tile_matmul": [I, I, I, I, P, P, P, L, L, L],
    "tile_matmul_relu": [I, I, I, I, P, P, P, L, L, L],
    "tile_matmul_leaky_relu": [I, I, I, I, P, P, P, L, L, L],
    "tile_vector_add": [I, P, P, P, L],
    "tile_relu": [I, P, P, L],
    "tile_leaky_relu": [I, P, P, L],
    "tile_gelu": [I, P, P, L],
    "tile_softmax_rows": [P, P, L, L],
    "tile_set_stream": [P],
}
for name, args in SIGNATURES.items():
    f = getattr(lib, name)
    f.restype, f.argtypes = I, args

# Every function survives null pointers and absurd sizes, and says what is wrong.
big = {I: 2**31 - 1, L: 2**63 - 1, Z: 2**64 - 1, P: None, F: float("inf")}
low = {I: -(2**31), L: -(2**63), Z: 1, P: None, F: float("nan")}
for name, args in SIGNATURES.items():
    if name == "tile_set_stream":
        continue
    for values in (big, low):
        f = getattr(lib, name)
        rc = f(*[values[a] for a in args])
        assert rc == 1, (name, values, rc, lib.tile_last_error())
        assert lib.tile_last_error(), name

# Good codes, absurd sizes.
for sizes in ((2**62, 2, 2), (2**31, 2**31, 1), (2, 2, -1)):
    for dtype in range(5):
        assert lib.tile_matmul(dtype, 0, 0, 1, None, None, None, *sizes) == 1 and lib.tile_last_error(), (dtype, sizes)

# A message belongs to its thread.
mine = lib.tile_last_error()
seen = []
def other():
    seen.append(lib.tile_last_error())
    lib.solve_relu(None, None, -5)
    seen.append(lib.tile_last_error())
t = threading.Thread(target=other); t.start(); t.join()
assert seen[0] == b"" and b"-5" in seen[1], seen
assert lib.tile_last_error() == mine

# Results, from several threads at once.
def work(k, wrong):
    n = 5000 + k
    x = (ctypes.c_float * n)(*[((i * 7919 + k) % 201) - 100 for i in range(n)])
    y = (ctypes.c_float * n)()
    s = (ctypes.c_float * 1)(-1.0)
    for _ in range(5):
        if lib.solve_relu(x, y, n) or list(y) != [max(v, 0.0) for v in x]: wrong.append("relu")
        if lib.solve_reduction(x, s, n) or s[0] != sum(x): wrong.append(("sum", s[0], sum(x)))
        if lib.solve_reverse_array(y, n) or list(y) != [max(v, 0.0) for v in x][::-1]: wrong.append("reverse")
# Products: 2 x 3 by 3 x 2, every way round.
def matrix(t, rows): return (t * (len(rows) * len(rows[0])))(*[v for r in rows for v in r])
def turned(rows): return [list(r) for r in zip(*rows)]
A, B, AB = [[1, -2, 3], [4, 5, -6]], [[7, -8], [9, 10], [-11, 12]], [[-44, 8], [139, -54]]
for t, u, dtype in ((ctypes.c_float, ctypes.c_float, 0), (ctypes.c_int8, ctypes.c_int32, 3)):
    for ta in (0, 1):
        for tb in (0, 1):
            a, b, c = matrix(t, turned(A) if ta else A), matrix(t, turned(B) if tb else B), (u * 4)(*[-7] * 4)
            assert lib.tile_matmul(dtype, 0, ta, tb, a, b, c, 2, 2, 3) == 0 and list(c) == sum(AB, []), (dtype, ta, tb, list(c))
            assert lib.tile_matmul_relu(dtype, 0, ta, tb, a, b, c, 2, 2, 3) == 0 and list(c) == [max(v, 0) for v in sum(AB, [])]
assert lib.tile_matmul(0, 2, 0, 0, matrix(ctypes.c_float, A), matrix(ctypes.c_float, B), c := (ctypes.c_float * 4)(), 2, 2, 3) == 0 and list(c) == sum(AB, [])

wrong = []
threads = [threading.Thread(target=work, args=(k, wrong)) for k in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
assert not wrong, wrong
print("ok")
