"""Arrays of a GPU: streams, graphs, threads, CuPy, `__cuda_array_interface__`."""

import threading
import unittest

import numpy as np

try:
    import torch
except (ImportError, OSError, ValueError) as e:
    raise unittest.SkipTest(f"PyTorch: {e}") from e
if not torch.cuda.is_available():
    raise unittest.SkipTest("no GPU")
try:
    import cupy
except (ImportError, OSError, ValueError):
    cupy = None

import tilewright as tw
import tilewright.torch as ops

MODES = ["global", "thread_local", "relaxed"]
# Cycles that a stream sleeps: some 30 ms, more than any launch takes.
LONG = 50_000_000


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def close(found, wanted, what="", tolerance=1e-4):
    tolerance = 2e-2 if found.dtype in (torch.float16, torch.bfloat16) else tolerance
    torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance, msg=lambda m: f"{what}: {m}")


def cases():
    """Functions of a tensor that is changed between calls."""
    w, half = normal(256, 512), normal(256, 512, dtype=torch.float16)
    gain, bias = normal(256), normal(256)
    labels = torch.randint(0, 256, (512,), device="cuda")

    def softmax_loss(x):
        return torch.nn.functional.cross_entropy(x, labels)

    def heads(x):
        return x.half().view(16, 128, 64)

    angles, ids = normal(512, 32), torch.randint(0, 512, (300,), device="cuda")
    cos, sin = angles.cos(), angles.sin()

    def rotated(x):
        a, b, c, s = x.view(512, 4, 64)[..., :32], x.view(512, 4, 64)[..., 32:], cos[:, None], sin[:, None]
        return torch.cat([a * c - b * s, b * c + a * s], -1)

    sdpa = torch.nn.functional.scaled_dot_product_attention
    return {
        "relu": (ops.relu, torch.relu),
        "add": (lambda x: ops.add(x, x), lambda x: x + x),
        "matmul": (lambda x: ops.matmul(x, w), lambda x: x.double() @ w.double()),
        "matmul of f16": (lambda x: ops.matmul(x.half(), half), lambda x: x.half() @ half),
        "matmul with split-K": (lambda x: ops.matmul(x[:4], w), lambda x: x[:4].double() @ w.double()),
        "dot": (lambda x: ops.dot(x[0], x[1]), lambda x: x[0].double() @ x[1].double()),
        "softmax": (ops.softmax, lambda x: torch.softmax(x, -1)),
        "sum": (ops.sum, lambda x: x.double().sum()),
        "cumsum": (lambda x: ops.cumsum(x.view(-1)), lambda x: x.view(-1).double().cumsum(0)),
        "sort": (lambda x: ops.sort(x.view(-1)), lambda x: x.view(-1).sort().values),
        "topk": (lambda x: ops.topk(x.view(-1), 10), lambda x: x.view(-1).topk(10).values),
        "layer_norm": (
            lambda x: ops.layer_norm(x, gain, bias),
            lambda x: torch.nn.functional.layer_norm(x, (256,), gain, bias),
        ),
        "rms_norm": (
            lambda x: ops.rms_norm(x, gain),
            lambda x: torch.nn.functional.rms_norm(x, (256,), gain, 1e-5),
        ),
        "attention": (lambda x: ops.attention(*[heads(x)] * 3), lambda x: sdpa(*[heads(x)] * 3)),
        "cross_entropy": (lambda x: ops.cross_entropy(x, labels), softmax_loss),
        "softmax of f16": (lambda x: ops.softmax(x.half()), lambda x: torch.softmax(x.half(), -1)),
        "swiglu": (lambda x: ops.swiglu(x, x), lambda x: torch.nn.functional.silu(x) * x),
        # The mask is that of the plain function, which depends on the seed alone.
        "dropout": (lambda x: ops.dropout(x, 0.5, seed=3), lambda x: tw.dropout(x, 0.5, seed=3)),
        "embedding": (lambda x: ops.embedding(x, ids), lambda x: x[ids]),
        "rope": (lambda x: ops.rope(x.view(512, 4, 64), cos, sin), rotated),
    }


class Torch(unittest.TestCase):
    def agree(self, name, found, wanted):
        close(found, wanted.to(found.dtype), name, 5e-3 if name == "cumsum" else 1e-3)

    def test_the_current_stream(self):
        for name, (ours, theirs) in cases().items():
            x = normal(512, 256)
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                stream.wait_stream(torch.cuda.default_stream())
                torch.cuda._sleep(LONG)
                x.mul_(0.5).add_(1)
                found = ours(x)
                kept = found.clone()
                x.zero_()
            x2 = normal(512, 256)
            self.assertEqual(ours(x2).device.type, "cuda")
            stream.synchronize()
            self.agree(name, found, kept)
            with torch.cuda.stream(stream):
                x = normal(512, 256)
                found = ours(x)
                wanted = theirs(x)
            stream.synchronize()
            self.agree(name, found, wanted)

    def test_arguments_that_are_freed(self):
        x = normal(1 << 20)
        wanted = torch.relu(x) + 1
        for _ in range(100):
            # Each argument's memory goes to the next tensor of the stream.
            y = tw.relu(x.clone())
            z = tw.add(y.clone(), torch.ones_like(y))
            close(z, wanted, "freed", 0)

    def test_results_that_another_stream_reads(self):
        side = torch.cuda.Stream()
        for make in [ops.relu, tw.relu]:
            x = torch.ones(1 << 22, device="cuda")
            y = make(x)
            torch.cuda.synchronize()
            with torch.cuda.stream(side):
                torch.cuda._sleep(LONG)
                z = y.clone()
            y.record_stream(side)
            del y
            # Would get the memory that `side` still reads.
            others = [torch.full_like(x, 2.0) for _ in range(3)]
            torch.cuda.synchronize()
            self.assertEqual(float(z.mean()), 1.0)
            del others

    def test_streams_in_turn(self):
        x, streams = normal(256, 256), [torch.cuda.Stream() for _ in range(2)]
        wanted = torch.relu(x)
        torch.cuda.synchronize()
        for i in range(20):
            with torch.cuda.stream(streams[i % 2]):
                found = ops.relu(x)
            streams[i % 2].synchronize()
            close(found, wanted, "in turn", 0)

    def test_no_memory_for_a_result(self):
        n = 1 << 20
        a, b = torch.zeros(n, 1, device="cuda"), torch.zeros(1, n, device="cuda")
        with self.assertRaises(torch.OutOfMemoryError):
            ops.matmul(a, b)

    def test_graphs(self):
        for mode in MODES:
            for name, (ours, theirs) in cases().items():
                x = normal(512, 256)
                for _ in range(2):
                    ours(x)
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, capture_error_mode=mode):
                    y = ours(x)
                # Later work of the library uses its pools.
                ours(normal(512, 256))
                for _ in range(3):
                    x.normal_()
                    graph.replay()
                    self.agree(f"{name} in mode {mode}", y, theirs(x))

    def test_a_graph_of_the_plain_functions(self):
        a, b = normal(300, 200), normal(200, 100)
        out = torch.empty(300, 100, device="cuda")
        tw.matmul(a, b, out=out)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            tw.matmul(a, b, out=out)
            p = tw.softmax(out)
        a.normal_()
        graph.replay()
        close(p, torch.softmax(a.double() @ b.double(), -1).float(), "plain functions")

    def test_threads_with_streams(self):
        failures = []

        def work(seed):
            try:
                of_thread = torch.cuda.Stream()
                with torch.cuda.stream(of_thread):
                    for i in range(20):
                        generator = torch.Generator(device="cuda").manual_seed(seed * 1000 + i)
                        x = torch.randn(100 + i, 64 * (seed + 1), device="cuda", generator=generator)
                        y = tw.softmax(tw.matmul(x, x.t()))
                        z = ops.cumsum(ops.relu(x).view(-1))
                        p = torch.softmax((x.double() @ x.double().t()).float(), -1)
                        of_thread.synchronize()
                        torch.testing.assert_close(y, p, rtol=1e-3, atol=1e-3)
                        wanted = torch.relu(x).view(-1).double().cumsum(0).float()
                        torch.testing.assert_close(z, wanted, rtol=1e-4, atol=1e-2)
            except BaseException as e:
                failures.append(e)

        torch.cuda.synchronize()
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def test_a_stream_that_is_set(self):
        stream = torch.cuda.Stream()
        x = normal(1000)
        torch.cuda.synchronize()
        torch.cuda._sleep(LONG)
        x.fill_(-2.0)
        # The call waits for the current stream, which is writing x.
        with tw.stream(stream.cuda_stream):
            y = tw.relu(x)
            z = tw.leaky_relu(x, 0.5)
        stream.synchronize()
        self.assertEqual(float(y.sum()), 0)
        self.assertEqual(float(z.sum()), -1000)

    def test_parts_of_tensors(self):
        x = normal(64, 96, dtype=torch.bfloat16)
        for part in [x.t(), x[::2], x[:, 1:5], x[3:, 7:], x[0].expand(5, 96)]:
            close(ops.relu(part).float(), torch.relu(part).float(), "a part")
        w = normal(96, 40, dtype=torch.bfloat16)
        out = torch.zeros(40, 64, device="cuda", dtype=torch.bfloat16)
        tw.matmul(x, w, out=out.t())
        close(out.t().float(), (x @ w).float(), "a transposed output", 5e-2)

    def test_devices_that_differ(self):
        with self.assertRaisesRegex(tw.ArgumentError, "different devices"):
            tw.add(normal(3), torch.zeros(3))
        with self.assertRaises((tw.ArgumentError, RuntimeError, NotImplementedError)):
            ops.add(normal(3), torch.zeros(3))

    def test_pinned_memory(self):
        x = torch.randn(100).pin_memory()
        close(tw.relu(x), torch.relu(x), "pinned memory", 0)

    def test_compiled(self):
        def model(x, w, b):
            return ops.softmax(ops.layer_norm(ops.matmul(x, w, "relu"), b, b)).sum(-1) + torch.sin(x).sum()

        x, w, b = normal(64, 32), normal(32, 16).requires_grad_(), normal(16)
        for mode in ["default", "reduce-overhead"]:
            torch._dynamo.reset()
            try:
                compiled = torch.compile(model, mode=mode, fullgraph=True)
                found = compiled(x, w, b)
            except Exception as e:
                if "compiler" in str(e).lower():
                    self.skipTest(f"torch.compile: {e}")
                raise
            for _ in range(3):
                found = compiled(x, w, b).clone()
            close(found, model(x, w, b), mode)


class Interface:
    """An array with `__cuda_array_interface__` alone."""

    def __init__(self, tensor, stream=None, **changes):
        self.tensor = tensor
        size = tensor.element_size()
        kind = {torch.float32: "<f4", torch.float16: "<f2", torch.int8: "|i1"}[tensor.dtype]
        strides = None if tensor.is_contiguous() else tuple(s * size for s in tensor.stride())
        self.__cuda_array_interface__ = {
            "shape": tuple(tensor.shape),
            "typestr": kind,
            "data": (tensor.data_ptr(), False),
            "strides": strides,
            "stream": stream,
            "version": 3,
        } | changes


class CudaArrayInterface(unittest.TestCase):
    def test_values(self):
        x = normal(50, 60)
        torch.cuda.synchronize()
        close(torch.from_dlpack(tw.relu(Interface(x))), torch.relu(x), "an interface", 0)
        # A product takes any strides. Other functions want a contiguous array of a library that they do not know.
        for part in [x.t(), x[::2, 3:]]:
            found = torch.from_dlpack(tw.matmul(Interface(part), Interface(part.t())))
            close(found, (part.double() @ part.t().double()).float(), "a part", 1e-3)
            with self.assertRaisesRegex(tw.ArgumentError, "strided"):
                tw.relu(Interface(part))
        out = torch.zeros(50, 50, device="cuda")
        torch.cuda.synchronize()
        tw.matmul(Interface(x), Interface(x.t()), out=Interface(out))
        torch.cuda.synchronize()
        close(out, (x.double() @ x.t().double()).float(), "an output", 1e-3)

    def test_the_stream_that_writes(self):
        for stream in [torch.cuda.Stream(), torch.cuda.default_stream()]:
            x = torch.zeros(1000, device="cuda")
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                torch.cuda._sleep(LONG)
                x.fill_(3)
            y = torch.from_dlpack(tw.relu(Interface(x, stream=stream.cuda_stream or 1)))
            self.assertEqual(float(y.sum()), 3000)

    def test_the_default_stream_of_a_thread(self):
        of_thread, side = torch.cuda.ExternalStream(2), torch.cuda.Stream()
        x = torch.zeros(1000, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(of_thread):
            torch.cuda._sleep(LONG)
            x.fill_(3)
        with tw.stream(side.cuda_stream):
            y = tw.relu(Interface(x, stream=2))
        with torch.cuda.stream(of_thread):
            # Asks for the stream 2.
            total = torch.from_dlpack(y).sum()
            self.assertEqual(float(total), 3000)

    def test_what_is_refused(self):
        x = normal(10)
        for changes, said in [
            ({"data": (x.data_ptr(), True)}, "read-only|read only"),
            ({"typestr": ">f4"}, "element type"),
            ({"mask": x}, "mask"),
            ({"strides": (3,)}, "strides"),
            ({"data": (x.data_ptr() + 2, False)}, "multiple of its element size"),
        ]:
            with self.assertRaisesRegex(tw.Error, said):
                tw.relu(normal(10), out=Interface(x, **changes))


@unittest.skipUnless(cupy, "no CuPy")
class CuPy(unittest.TestCase):
    def test_values(self):
        x = cupy.random.standard_normal((40, 30), dtype=cupy.float32)
        for part in [x, x.T, x[::2, 5:], x[::-1]]:
            found = tw.relu(part)
            self.assertIsInstance(found, cupy.ndarray)
            cupy.testing.assert_array_equal(found, cupy.maximum(part, 0))
        cupy.testing.assert_allclose(tw.matmul(x, x.T), x.astype("f8") @ x.T.astype("f8"), rtol=1e-4, atol=1e-4)
        out = cupy.empty_like(x)
        self.assertIs(tw.relu(x, out=out), out)

    def test_the_current_stream(self):
        x = cupy.random.standard_normal((1 << 20,), dtype=cupy.float32)
        wanted = cupy.asnumpy(cupy.maximum(x, 0))
        cupy.cuda.Device().synchronize()
        for _ in range(20):
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                y = x
                for _ in range(20):
                    y = y * 1
                z = tw.relu(y.copy())
                z = z * 1
            np.testing.assert_array_equal(z.get(stream=stream), wanted)

    def test_a_graph(self):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            x = cupy.random.standard_normal((100, 64), dtype=cupy.float32)
            out = cupy.empty((100, 64), dtype=cupy.float32)
            tw.softmax(x, out=out)
            stream.begin_capture()
            tw.softmax(x, out=out)
            graph = stream.end_capture()
            x[...] = cupy.random.standard_normal((100, 64), dtype=cupy.float32)
            graph.launch(stream)
            e = cupy.exp(x - x.max(-1, keepdims=True))
            cupy.testing.assert_allclose(out, e / e.sum(-1, keepdims=True), rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
