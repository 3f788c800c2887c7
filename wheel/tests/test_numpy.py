"""The functions with arrays of NumPy."""

import threading
import unittest

import numpy as np

import tilewright as tw

RNG = np.random.default_rng(20261128)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, causal=False):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    groups = q.shape[-3] // k.shape[-3]
    k, v = (np.repeat(x, groups, axis=-3) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if causal:
        seen = np.tril(np.ones(scores.shape[-2:], bool), k.shape[-2] - q.shape[-2])
        scores = np.where(seen, scores, -np.inf)
    return softmax(scores) @ v


class Values(unittest.TestCase):
    def close(self, found, wanted, tolerance):
        self.assertIs(type(found), np.ndarray)
        self.assertEqual(found.shape, np.shape(wanted))
        np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)

    def test_elementwise(self):
        for dtype, tolerance in [(np.float32, 1e-6), (np.float16, 2e-3)]:
            for shape in [(), (1,), (1000,), (3, 5, 7), (0,), (4, 0, 2)]:
                x, y = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)
                exact = x.astype(np.float64)
                self.close(tw.relu(x), np.maximum(exact, 0), 0)
                self.close(tw.leaky_relu(x, 0.25), np.where(exact < 0, exact / 4, exact), tolerance)
                tanh = np.tanh(np.sqrt(2 / np.pi) * (exact + 0.044715 * exact**3))
                self.close(tw.gelu(x), exact / 2 * (1 + tanh), max(tolerance, 2e-6))
                self.close(tw.add(x, y), exact + y.astype(np.float64), tolerance)
                gated = exact / (1 + np.exp(-exact)) * y.astype(np.float64)
                self.close(tw.swiglu(x, y), gated, tolerance)
                over = x.copy()
                self.close(tw.swiglu(over, y, out=over), gated, tolerance)
                self.assertEqual(tw.relu(x).dtype, dtype)
        x = normal(100)
        self.close(tw.sigmoid(x), 1 / (1 + np.exp(-x.astype(np.float64))), 1e-6)
        self.close(tw.silu(x), x / (1 + np.exp(-x.astype(np.float64))), 1e-6)

    def test_any_strides(self):
        x = normal(20, 30)
        for part in [x.T, x[::-1], x[:, ::-2], x[3:9, 5:], x[::3, ::4], np.broadcast_to(x[0], (4, 30))]:
            self.close(tw.relu(part), np.maximum(part, 0), 0)
            self.close(tw.softmax(part), softmax(part.astype(np.float64)), 1e-6)
            self.close(tw.sum(part), part.sum(dtype=np.float64), 1e-4)

    def test_products_of_groups(self):
        for m, n, k, ends in [(1, 1, 1, [1]), (70, 40, 33, [0, 31, 31, 70]), (9, 8, 16, [4, 7])]:
            a, b = normal(m, k).astype(np.float16), normal(len(ends), k, n).astype(np.float16)
            out = np.full((m, n), 7, np.float16)
            tw.grouped_matmul(a, b, np.array(ends, np.int32), out=out)
            parts = [a[i:j].astype(np.float64) @ w for i, j, w in zip([0, *ends], ends, b)]
            self.close(out[: ends[-1]], np.concatenate(parts), 5e-2)
            self.assertTrue((out[ends[-1] :] == 7).all())
            by_columns = np.ascontiguousarray(b.transpose(0, 2, 1)).transpose(0, 2, 1)
            self.close(tw.grouped_matmul(a, by_columns, np.array(ends, np.int32))[: ends[-1]], out[: ends[-1]], 0)
        a, b = np.zeros((4, 3), np.float16), np.zeros((2, 3, 5), np.float16)
        with self.assertRaisesRegex(tw.DTypeError, "int32"):
            tw.grouped_matmul(a, b, np.array([2, 4]))
        with self.assertRaisesRegex(ValueError, "groups x k x n"):
            tw.grouped_matmul(a, b, np.array([4], np.int32))

    def test_products(self):
        for m, n, k in [(1, 1, 1), (17, 33, 65), (64, 128, 96), (5, 300, 2), (1, 500, 70)]:
            a, b = normal(m, k), normal(k, n)
            wanted = a.astype(np.float64) @ b
            self.close(tw.matmul(a, b), wanted, 1e-4)
            self.close(tw.matmul(a, b, precision="f32"), wanted, 1e-4)
            self.close(tw.matmul(a, b, precision="tf32"), wanted, 5e-2)
            self.close(tw.matmul(a, b, activation="relu"), np.maximum(wanted, 0), 1e-4)
            leaky = np.where(wanted < 0, wanted * 0.5, wanted)
            self.close(tw.matmul(a, b, activation="leaky_relu", negative_slope=0.5), leaky, 1e-4)
            # Transposes are read where they are.
            self.close(tw.matmul(a.T.copy().T, b.T.copy().T), wanted, 1e-4)
            self.close(tw.matmul(a[::-1], b), wanted[::-1], 1e-4)
            h, g = a.astype(np.float16), b.astype(np.float16)
            self.close(tw.matmul(h, g), h.astype(np.float64) @ g.astype(np.float64), 5e-2)
            i, j = (RNG.integers(-128, 128, s, dtype=np.int8) for s in [(m, k), (k, n)])
            product = tw.matmul(i, j)
            self.assertEqual(product.dtype, np.int32)
            np.testing.assert_array_equal(product, i.astype(np.int32) @ j.astype(np.int32))
        a, b = normal(7, 20, 30), normal(7, 30, 9)
        self.close(tw.matmul(a, b), a.astype(np.float64) @ b, 1e-4)
        self.close(tw.matmul(a, np.broadcast_to(b[0], b.shape)), a.astype(np.float64) @ b[0], 1e-4)
        self.close(tw.matmul(normal(3, 0), normal(0, 2)), np.zeros((3, 2)), 0)

    def test_dot(self):
        x, y = normal(1000), normal(1000)
        self.close(tw.dot(x, y), x.astype(np.float64) @ y, 1e-4)
        h, g = x.astype(np.float16), y.astype(np.float16)
        self.close(tw.dot(h, g), h.astype(np.float64) @ g.astype(np.float64), 2e-2)

    def test_attention(self):
        q, k, v = (normal(*s, dtype=np.float16) for s in [(4, 10, 32), (2, 17, 32), (2, 17, 32)])
        for causal in [False, True]:
            self.close(tw.attention(q, k, v, causal=causal), attention(q, k, v, causal), 1e-2)
        batches = [np.stack([x, x[:, ::-1] * np.float16(0.5)]) for x in (q, k, v)]
        self.close(tw.attention(*batches), attention(*batches), 1e-2)
        # Strides of heads are kept: queries x heads x d.
        laid = np.ascontiguousarray(q.swapaxes(0, 1)).swapaxes(0, 1)
        self.close(tw.attention(laid, k, v), attention(q, k, v), 1e-2)
        # Equal weights.
        means = np.repeat(v.astype(np.float64).mean(1), 2, 0)[:, None].repeat(10, 1)
        self.close(tw.attention(q, k, v, scale=1e-6), means, 1e-2)

    def test_rows(self):
        for shape in [(7,), (3, 5), (4, 2, 1000), (2, 40_000)]:
            x = normal(*shape)
            self.close(tw.softmax(x), softmax(x.astype(np.float64)), 1e-6)
            w, b = normal(shape[-1]), normal(shape[-1])
            exact = x.astype(np.float64)
            scale = np.sqrt(exact.var(-1, keepdims=True) + 1e-5)
            self.close(tw.layer_norm(x, w, b), (exact - exact.mean(-1, keepdims=True)) / scale * w + b, 1e-4)
            root = np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-5)
            self.close(tw.rms_norm(x, w), exact / root * w, 1e-4)
            half = tw.rms_norm(x.astype(np.float16), w.astype(np.float16))
            self.assertEqual(half.dtype, np.float16)
            self.close(half, exact / root * w, 2e-2)
            self.close(tw.sum(x), exact.sum(), 1e-3)

    def test_softmax_of_16_bits(self):
        x = normal(7, 300, dtype=np.float16)
        self.close(tw.softmax(x), softmax(x.astype(np.float64)), 2e-3)
        self.assertEqual(tw.softmax(x).dtype, np.float16)

    def test_dropout(self):
        x = np.abs(normal(50, 40)) + 1
        y = tw.dropout(x, 0.25, seed=2**63 + 5)
        kept = y != 0
        self.close(y, np.where(kept, x.astype(np.float64) / 0.75, 0), 1e-6)
        self.assertTrue(0.7 < kept.mean() < 0.8)
        self.close(tw.dropout(x, 0.25, seed=2**63 + 5), y, 0)
        self.assertTrue((tw.dropout(x, 0.25, seed=6) != y).any())
        self.close(tw.dropout(x, 0.0, seed=1), x, 0)
        self.close(tw.dropout(x, 1.0, seed=1), 0 * x, 0)
        with self.assertRaisesRegex(tw.ArgumentError, "p is 1.5"):
            tw.dropout(x, 1.5, seed=1)
        with self.assertRaises(TypeError):
            tw.dropout(x, 0.5)

    def test_embedding(self):
        table = normal(9, 33)
        ids = RNG.integers(0, 9, (3, 5)).astype(np.int32)
        self.close(tw.embedding(table, ids), table[ids], 0)
        self.close(tw.embedding(table, np.array([-1], np.int32)), np.zeros((1, 33)), 0)
        self.assertTrue(np.isnan(tw.embedding(table, np.array([9], np.int32))).all())
        self.assertEqual(tw.embedding(table, np.zeros((0, 4), np.int32)).shape, (0, 4, 33))
        with self.assertRaisesRegex(tw.DTypeError, "ids"):
            tw.embedding(table, ids.astype(np.int64))
        with self.assertRaises(tw.ArgumentError):
            tw.embedding(table[0], ids)

    def test_rope(self):
        x, angles = normal(2, 5, 3, 10), normal(8, 4)
        cos, sin = np.cos(angles), np.sin(angles)
        places = RNG.integers(0, 8, (2, 5)).astype(np.int32)

        def rotated(rows, interleaved):
            c, s = (t[rows].astype(np.float64)[..., None, :] for t in (cos, sin))
            y = x.astype(np.float64)
            a, b = (slice(0, 8, 2), slice(1, 8, 2)) if interleaved else (slice(0, 4), slice(4, 8))
            y[..., a], y[..., b] = y[..., a] * c - y[..., b] * s, y[..., b] * c + y[..., a] * s
            return y

        for interleaved in (False, True):
            wanted = rotated(np.arange(5), interleaved)
            self.close(tw.rope(x, cos, sin, interleaved=interleaved), wanted, 1e-6)
            self.close(tw.rope(x[0], cos, sin, interleaved=interleaved), wanted[0], 1e-6)
            wanted = rotated(places, interleaved)
            self.close(tw.rope(x, cos, sin, places, interleaved=interleaved), wanted, 1e-6)
            over = x.copy()
            self.close(tw.rope(over, cos, sin, places, interleaved=interleaved, out=over), wanted, 1e-6)
        for wrong in [
            lambda: tw.rope(x[0, 0], cos, sin),
            lambda: tw.rope(x, cos[:4], sin[:4]),
            lambda: tw.rope(x, cos, sin[:4]),
            lambda: tw.rope(x, cos, sin, places[0]),
            lambda: tw.rope(x[..., :6], cos, sin),
        ]:
            with self.assertRaises(tw.ArgumentError):
                wrong()
        with self.assertRaises(tw.DTypeError):
            tw.rope(x, cos.astype(np.float16), sin.astype(np.float16))

    def test_scans_and_sorts(self):
        for n in [0, 1, 5, 10_000]:
            x = normal(n)
            self.close(tw.cumsum(x), np.cumsum(x, dtype=np.float64), 1e-3)
            before = x.copy()
            np.testing.assert_array_equal(tw.sort(x), np.sort(x))
            np.testing.assert_array_equal(x, before, "the input stays")
            u = RNG.integers(0, 2**32, n, dtype=np.uint32)
            np.testing.assert_array_equal(tw.sort(u), np.sort(u))
            k = min(n, 3)
            np.testing.assert_array_equal(tw.topk(x, k), np.sort(x)[::-1][:k])
        self.assertTrue(np.isnan(tw.sort(np.array([np.nan, 1, -1], np.float32))[-1]))

    def test_cross_entropy(self):
        logits, labels = normal(9, 50), RNG.integers(0, 50, 9, dtype=np.int32)
        exact = logits.astype(np.float64)
        wanted = np.mean(np.log(np.exp(exact).sum(-1)) - exact[np.arange(9), labels])
        self.close(tw.cross_entropy(logits, labels), wanted, 1e-5)


class Outputs(unittest.TestCase):
    def test_an_output_is_written_and_returned(self):
        x, out = normal(10), np.zeros(10, np.float32)
        self.assertIs(tw.relu(x, out=out), out)
        np.testing.assert_array_equal(out, np.maximum(x, 0))

    def test_in_place(self):
        x = normal(1000)
        wanted = np.maximum(x, 0)
        tw.relu(x, out=x)
        np.testing.assert_array_equal(x, wanted)

    def test_a_strided_output(self):
        a, b, out = normal(20, 30), normal(30, 40), np.zeros((40, 20), np.float32)
        tw.matmul(a, b, out=out.T)
        np.testing.assert_allclose(out.T, a @ b, rtol=1e-4, atol=1e-4)

    def test_outputs_that_do_not_fit(self):
        x = normal(10)
        for out in [np.zeros(9, np.float32), np.zeros((10, 1), np.float32), np.zeros(10, np.float16)]:
            with self.assertRaisesRegex(tw.ArgumentError, "`out` is"):
                tw.relu(x, out=out)
        frozen = np.zeros(10, np.float32)
        frozen.setflags(write=False)
        with self.assertRaisesRegex(tw.ArgumentError, "out: it is read-only"):
            tw.relu(x, out=frozen)
        with self.assertRaisesRegex(tw.ArgumentError, "out: it has the strides"):
            tw.relu(x, out=np.zeros(20, np.float32)[::2])
        with self.assertRaisesRegex(tw.ArgumentError, "negative"):
            tw.relu(x, out=np.zeros(10, np.float32)[::-1])

    def test_an_output_that_overlaps(self):
        a, b = normal(16, 16), normal(16, 16)
        before = a.copy()
        with self.assertRaisesRegex(tw.ArgumentError, "^matmul: `out` overlaps an input"):
            tw.matmul(a, b, out=a)
        np.testing.assert_array_equal(a, before)
        x = normal(100)
        for op in (tw.relu, tw.softmax, tw.cumsum):
            with self.assertRaisesRegex(tw.ArgumentError, f"^{op.__name__}: `out` overlaps an input"):
                op(x[1:], out=x[:-1])

    def test_an_output_whose_elements_are_one(self):
        a = normal(8, 8)
        for strides in [(0, 0), (4, 4), (0, 4), (16, 4)]:
            out = np.lib.stride_tricks.as_strided(np.zeros(64, np.float32), (8, 8), strides)
            with self.assertRaisesRegex(tw.ArgumentError, "one place"):
                tw.matmul(a, a, out=out)

    def test_a_read_only_input(self):
        x = normal(10)
        x.setflags(write=False)
        np.testing.assert_array_equal(tw.relu(x), np.maximum(x, 0))


class Errors(unittest.TestCase):
    def test_no_arrays(self):
        for x in [3.0, [1.0, 2.0], None, "text", np.float32(3)]:
            with self.assertRaisesRegex(TypeError, "is no array"):
                tw.relu(x)

    def test_element_types(self):
        for x in [np.zeros(3), np.zeros(3, np.int64), np.zeros(3, bool)]:
            with self.assertRaisesRegex(tw.DTypeError, "relu has no kernel for .*f32, f16, bf16"):
                tw.relu(x)
        with self.assertRaises(tw.DTypeError):
            tw.add(np.zeros(3, np.float32), np.zeros(3, np.float16))
        with self.assertRaisesRegex(tw.DTypeError, "labels: convert them"):
            tw.cross_entropy(normal(2, 3), np.zeros(2, np.int64))
        with self.assertRaisesRegex(tw.DTypeError, "complex numbers, here of 64 bits"):
            tw.relu(np.zeros(3, np.complex64))
        with self.assertRaisesRegex(TypeError, "masked"):
            tw.sum(np.ma.array([1.0, 2.0], mask=[0, 1], dtype=np.float32))
        with self.assertRaises((tw.Error, BufferError)):
            tw.relu(np.zeros(3, ">f4"))

    def test_shapes(self):
        for call in [
            lambda: tw.matmul(normal(2, 3), normal(4, 5)),
            lambda: tw.matmul(normal(2), normal(2)),
            lambda: tw.matmul(normal(2, 3, 4), normal(3, 4, 5)),
            lambda: tw.add(normal(2), normal(3)),
            lambda: tw.swiglu(normal(2), normal(3)),
            lambda: tw.add(normal(2, 3), normal(6)),
            lambda: tw.softmax(np.float32(1)[None].reshape(())),
            lambda: tw.layer_norm(normal(2, 3), normal(3), normal(2)),
            lambda: tw.cumsum(normal(2, 2)),
            lambda: tw.topk(normal(2), 3),
            lambda: tw.topk(normal(2), -1),
            lambda: tw.cross_entropy(normal(2, 3), np.zeros(3, np.int32)),
            lambda: tw.dot(normal(2), normal(3)),
            lambda: tw.attention(*(normal(2, 3, d, dtype=np.float16) for d in (4, 5, 4))),
        ]:
            with self.assertRaises(tw.ArgumentError) as raised:
                call()
            self.assertIsInstance(raised.exception, ValueError)
            self.assertIsInstance(raised.exception, tw.Error)

    def test_options(self):
        a = normal(4, 4)
        for options in [{"activation": "tanh"}, {"precision": "f64"}]:
            with self.assertRaises(tw.ArgumentError):
                tw.matmul(a, a, **options)
        with self.assertRaisesRegex(tw.ArgumentError, "tf32"):
            tw.matmul(a.astype(np.float16), a.astype(np.float16), precision="tf32")
        with self.assertRaises(tw.ArgumentError):
            tw.attention(*(normal(1, 2, 4, dtype=np.float16) for _ in range(3)), scale=float("nan"))

    def test_names(self):
        self.assertEqual(tw.ArgumentError.__module__, "tilewright")
        for name in tw.__all__:
            self.assertTrue(hasattr(tw, name), name)
        self.assertRegex(tw.__version__, r"^\d+\.\d+\.\d+")


class Foreign:
    """An array of no known library."""

    def __init__(self, array, versioned=True, capsules=None):
        self.array, self.versioned, self.capsules = array, versioned, capsules

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        if not self.versioned and "max_version" in options:
            raise TypeError("unexpected keyword")
        if self.capsules is not None:
            return self.capsules
        return self.array.__dlpack__(**options)


class Protocols(unittest.TestCase):
    def test_results_for_an_unknown_library(self):
        x = normal(3, 4)
        for versioned in [True, False]:
            y = tw.relu(Foreign(x, versioned))
            self.assertIs(type(y), tw.Tensor)
            self.assertEqual((y.shape, y.dtype, y.__dlpack_device__()), ((3, 4), "float32", (1, 0)))
            np.testing.assert_array_equal(np.from_dlpack(y), np.maximum(x, 0))
            np.testing.assert_array_equal(np.asarray(y), np.maximum(x, 0))
            # A tensor is an input, too.
            np.testing.assert_array_equal(np.from_dlpack(tw.add(y, y)), 2 * np.maximum(x, 0))

    def test_the_memory_lives_as_long_as_an_array_of_it(self):
        views = [np.from_dlpack(tw.relu(Foreign(np.full(10_000, float(i), np.float32)))) for i in range(50)]
        for i, view in enumerate(views):
            self.assertTrue((view == i).all())

    def test_capsules(self):
        y = tw.relu(Foreign(normal(3)))
        for options in [{}, {"max_version": (1, 0)}, {"copy": False}, {"dl_device": (1, 0)}]:
            self.assertIn("PyCapsule", repr(type(y.__dlpack__(**options))))
        for options in [{"copy": True}, {"dl_device": (2, 0)}]:
            with self.assertRaises(BufferError):
                y.__dlpack__(**options)

    def test_capsules_are_taken_once(self):
        x = normal(3)
        capsule = x.__dlpack__(max_version=(1, 0))
        tw.relu(Foreign(x, capsules=capsule))
        with self.assertRaisesRegex(tw.ArgumentError, "consumed"):
            tw.relu(Foreign(x, capsules=capsule))
        with self.assertRaisesRegex(tw.ArgumentError, "no capsule"):
            tw.relu(Foreign(x, capsules=7))

    def test_devices_that_are_not_known(self):
        class Elsewhere(Foreign):
            def __dlpack_device__(self):
                return (10, 0)

        with self.assertRaisesRegex(tw.ArgumentError, "type 10"):
            tw.relu(Elsewhere(normal(3)))

    def test_streams_are_set_and_restored(self):
        self.assertIsNone(tw.set_stream(None))
        with tw.stream(0):
            self.assertEqual(tw.set_stream(5), 0)
        self.assertIsNone(tw.set_stream(None))

    def test_a_label_that_is_no_class(self):
        for label in [-1, 3]:
            self.assertTrue(np.isnan(tw.cross_entropy(normal(2, 3), np.array([0, label], np.int32))))

    def test_threads(self):
        x = normal(200, 300)
        wanted, wrong = tw.matmul(x, x.T), []

        def work():
            for _ in range(5):
                if not np.array_equal(tw.matmul(x, x.T), wanted):
                    wrong.append(True)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_references_are_given_back(self):
        import gc
        import weakref

        class Owned(np.ndarray):
            pass

        x = normal(10).view(Owned)
        lives = weakref.ref(x)
        y = tw.relu(x)
        del x
        gc.collect()
        self.assertIsNone(lives())
        self.assertIs(type(y), np.ndarray)


if __name__ == "__main__":
    unittest.main()
