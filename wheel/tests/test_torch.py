"""The operations of PyTorch."""

import unittest

import numpy as np

try:
    import torch
except (ImportError, OSError, ValueError) as e:
    raise unittest.SkipTest(f"PyTorch: {e}") from e

import tilewright as tw
import tilewright.torch as ops

DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
torch.manual_seed(20261128)


def cases(device):
    """Each operation with arguments, and the same by PyTorch."""

    def of(*shape, dtype=torch.float32):
        return torch.randn(*shape, device=device, dtype=dtype)

    half = torch.float16
    x, y = of(5, 33), of(5, 33)
    q, k, v = of(4, 6, 16, dtype=half), of(2, 9, 16, dtype=half), of(2, 9, 16, dtype=half)
    labels = torch.randint(0, 33, (5,), device=device)

    def attention(q, k, v, scale=None, causal=False):
        k, v = (t.repeat_interleave(2, 0) for t in (k, v))
        mask = torch.ones(6, 9, dtype=torch.bool, device=device).tril(3) if causal else None
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def layer_norm(x, w, b):
        return torch.nn.functional.layer_norm(x, (33,), w, b)

    def rms_norm(x, w, eps):
        return torch.nn.functional.rms_norm(x, (33,), w, eps)

    angles = torch.randn(8, 4, device=device)
    cos, sin = angles.cos(), angles.sin()
    places = torch.randint(0, 8, (2, 5), device=device, dtype=torch.int32)

    def rope(x, cos, sin, places=None):
        c, s = (t[:5] if places is None else t[places] for t in (cos, sin))
        c, s = c.unsqueeze(-2), s.unsqueeze(-2)
        a, b, rest = x[..., :4], x[..., 4:8], x[..., 8:]
        return torch.cat([a * c - b * s, b * c + a * s, rest], -1)

    return [
        (ops.swiglu, (x, y), lambda x, y: torch.nn.functional.silu(x) * y),
        (ops.swiglu, (x.half(), y.half()), lambda x, y: torch.nn.functional.silu(x) * y),
        (ops.softmax, (of(3, 5, 33, dtype=half),), lambda x: torch.softmax(x, -1)),
        (ops.rope, (of(2, 5, 3, 10), cos, sin), rope),
        (ops.rope, (of(2, 5, 3, 10), cos, sin, places), rope),
        (ops.embedding, (of(9, 33), labels % 9), lambda t, ids: torch.nn.functional.embedding(ids, t)),
        (ops.embedding, (of(9, 33, dtype=half), labels % 9), lambda t, ids: torch.nn.functional.embedding(ids, t)),
        (ops.relu, (x,), torch.relu),
        (ops.leaky_relu, (x, 0.25), lambda x, s: torch.nn.functional.leaky_relu(x, s)),
        (ops.gelu, (x,), lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
        (ops.sigmoid, (x,), torch.sigmoid),
        (ops.silu, (x,), torch.nn.functional.silu),
        (ops.add, (x, y), torch.add),
        (ops.matmul, (x, of(33, 7)), torch.matmul),
        (ops.matmul, (x, of(33, 7), "relu"), lambda a, b, _: torch.relu(a @ b)),
        (
            ops.matmul,
            (x, of(33, 7), "leaky_relu", 0.5),
            lambda a, b, *_: torch.nn.functional.leaky_relu(a @ b, 0.5),
        ),
        (ops.matmul, (of(3, 4, 5), of(3, 5, 6)), torch.matmul),
        (ops.matmul, (x.t(), y), torch.matmul),
        (ops.dot, (x[0], y[0]), torch.dot),
        (ops.softmax, (x,), lambda x: torch.softmax(x, -1)),
        (ops.sum, (x,), torch.sum),
        (ops.cumsum, (x[0].contiguous(),), lambda x: torch.cumsum(x, 0)),
        (
            ops.layer_norm,
            (x, of(33), of(33), 1e-3),
            lambda x, w, b, eps: torch.nn.functional.layer_norm(x, (33,), w, b, eps),
        ),
        (
            ops.layer_norm,
            (x[0], of(33), of(33)),
            lambda x, w, b: torch.nn.functional.layer_norm(x, (33,), w, b),
        ),
        (ops.layer_norm, (of(5, 33, dtype=half), of(33, dtype=half), of(33, dtype=half)), layer_norm),
        (ops.rms_norm, (x, of(33)), lambda x, w: torch.nn.functional.rms_norm(x, (33,), w, 1e-5)),
        (ops.rms_norm, (of(2, 3, 33, dtype=half), of(33, dtype=half), 1e-3), rms_norm),
        (ops.attention, (q, k, v), attention),
        (ops.attention, (q, k, v, None, True), attention),
        (ops.sort, (x[0].contiguous(),), lambda x: torch.sort(x).values),
        (ops.topk, (x[0].contiguous(), 4), lambda x, k: torch.topk(x, k).values),
        (ops.cross_entropy, (x, labels), torch.nn.functional.cross_entropy),
    ]


# The tables of angles have no gradient.
CONSTANT = {ops.rope: (1, 2)}


def with_gradients(op, arguments):
    def one(i, a):
        is_float = isinstance(a, torch.Tensor) and a.is_floating_point() and i not in CONSTANT.get(op, ())
        return a.detach().clone().requires_grad_() if is_float else a

    return [one(i, a) for i, a in enumerate(arguments)]


def close(found, wanted, what):
    tolerance = 2e-2 if found.dtype == torch.float16 else 1e-4
    torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance, msg=lambda m: f"{what}: {m}")


class Operations(unittest.TestCase):
    def test_values(self):
        for device in DEVICES:
            for op, arguments, wanted in cases(device):
                found = op(*arguments)
                self.assertEqual(found.device.type, device)
                close(found, wanted(*arguments), f"{op} on {device}")

    def test_gradients(self):
        for device in DEVICES:
            for op, arguments, wanted in cases(device):
                ours, theirs = with_gradients(op, arguments), with_gradients(op, arguments)
                result = op(*ours)
                g = torch.randn_like(result)
                result.backward(g)
                wanted(*theirs).backward(g)
                for a, b in zip(ours, theirs):
                    if isinstance(a, torch.Tensor) and a.requires_grad:
                        close(a.grad, b.grad, f"the gradient of {op} on {device}")

    def test_opcheck(self):
        for device in DEVICES:
            for op, arguments, _ in cases(device):
                of_dispatcher = getattr(torch.ops.tilewright, op.__name__).default
                torch.library.opcheck(of_dispatcher, tuple(with_gradients(op, arguments)))
                close(of_dispatcher(*arguments), op(*arguments), f"{op} by the dispatcher on {device}")

    def test_other_strides_and_types(self):
        x = torch.randn(6, 8, dtype=torch.bfloat16)
        for part in [x.t(), x[::2], x[:, 1:5]]:
            close(ops.relu(part).float(), torch.relu(part).float(), "a part")
            self.assertTrue(ops.relu(part).is_contiguous())
        i = torch.randint(-128, 128, (5, 9), dtype=torch.int8)
        self.assertTrue(torch.equal(ops.matmul(i, i.t()), i.int() @ i.t().int()))
        f = torch.randn(16, 32).to(torch.float8_e4m3fn)
        close(ops.matmul(f, f.t()).float(), (f.float() @ f.t().float()).bfloat16().float(), "8-bit floats")

    def test_arguments_by_name(self):
        x, w = torch.randn(5, 33), torch.randn(33, 7, requires_grad=True)
        wanted = ops.matmul(x, w, "leaky_relu", 0.5)
        close(ops.matmul(b=w, a=x, negative_slope=0.5, activation="leaky_relu"), wanted, "by name")
        with self.assertRaises(TypeError):
            ops.relu(x, w)
        self.assertIn("a @ b", ops.matmul.__doc__)

    def test_what_listens_sees_the_operation(self):
        from torch._subclasses import FakeTensorMode
        from torch.utils._python_dispatch import TorchDispatchMode

        seen = []

        class Listener(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(func)
                return func(*args, **(kwargs or {}))

        x = torch.randn(3, 4)
        with Listener():
            ops.relu(x)
        self.assertIn(torch.ops.tilewright.relu.default, seen)
        with FakeTensorMode():
            self.assertEqual(ops.matmul(torch.empty(3, 4), torch.empty(4, 5)).shape, (3, 5))
        self.assertEqual(ops.relu(torch.empty(3, device="meta")).device.type, "meta")
        x0, w0 = torch.empty(3, 4, device="meta", requires_grad=True), torch.empty(4, device="meta", requires_grad=True)
        ops.layer_norm(x0, w0, w0).sum().backward()
        self.assertEqual(x0.grad.shape, x0.shape)
        symbolic = torch.fx.symbolic_trace(lambda t: ops.relu(t) + 1)
        close(symbolic(x), torch.relu(x) + 1, "a symbolic trace")
        with self.assertRaises(Exception):
            ops.relu(np.ones(3, np.float32))
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            ops.relu(x)
        self.assertIn("tilewright::relu", {e.name for e in profile.events()})
        self.assertEqual(type(ops.relu(torch.ones(2, requires_grad=True)).grad_fn).__name__, "reluBackward")
        traced = torch.jit.trace(ops.relu, x, check_trace=False)
        close(traced(-x), torch.relu(-x), "traced")

        class Sub(torch.Tensor):
            pass

        self.assertIsInstance(ops.relu(x.as_subclass(Sub)), Sub)
        with self.assertRaises(RuntimeError):
            torch.func.grad(lambda x: ops.relu(x).sum())(x)

    def test_modes_of_gradients(self):
        x = torch.randn(4, requires_grad=True)
        for mode in [torch.no_grad(), torch.inference_mode()]:
            with mode:
                self.assertFalse(ops.relu(x).requires_grad)
                y = torch.empty(4)
                self.assertIs(tw.relu(x, out=y), y)
        with torch.no_grad():
            kept = torch.nn.Parameter(torch.zeros(4))
            self.assertIs(tw.relu(x, out=kept), kept)
            close(kept, torch.relu(x), "a parameter")
        self.assertTrue(ops.relu(x).requires_grad)

    def test_autocast(self):
        for device in DEVICES:
            x = torch.randn(6, 8, device=device)
            w = torch.randn(8, 4, device=device, requires_grad=True)
            with torch.autocast(device, torch.bfloat16):
                y = ops.matmul(x, w)
                self.assertEqual(y.dtype, torch.bfloat16)
                self.assertEqual(ops.softmax(y).dtype, torch.float32)
                self.assertEqual(ops.add(x, x.bfloat16()).dtype, torch.float32)
                self.assertEqual(ops.relu(y).dtype, torch.bfloat16)
                heads = torch.randn(2, 5, 16, device=device)
                self.assertEqual(ops.attention(heads, heads, heads).dtype, torch.bfloat16)
                loss = ops.cross_entropy(y, torch.zeros(6, dtype=torch.long, device=device))
            loss.backward()
            self.assertEqual(w.grad.dtype, torch.float32)
            self.assertTrue(w.grad.isfinite().all())

    def test_a_precision_under_autocast(self):
        for device in DEVICES:
            x, w = torch.randn(6, 8, device=device), torch.randn(8, 4, device=device, requires_grad=True)
            with torch.autocast(device, torch.bfloat16):
                self.assertEqual(ops.matmul(x, w, precision="tf32").dtype, torch.bfloat16)
            y = ops.matmul(x, w, precision="tf32")
            with torch.autocast(device, torch.bfloat16):
                y.sum().backward()
            self.assertEqual(w.grad.dtype, torch.float32)

    def test_batched_gradients(self):
        def loss(gate, up):
            return ops.swiglu(ops.softmax(ops.rms_norm(gate, torch.ones(8))), up).sum(0)

        gate, up = torch.randn(3, 8), torch.randn(3, 8)
        found = torch.autograd.functional.jacobian(loss, (gate, up), vectorize=True)
        wanted = torch.autograd.functional.jacobian(loss, (gate, up))
        for a, b in zip(found, wanted):
            close(a, b, "a batch of gradients")

    def test_gradients_of_nan(self):
        nan = float("nan")
        x = torch.tensor([nan, 1.0, -1.0], requires_grad=True)
        ops.relu(x).backward(torch.full((3,), 5.0))
        self.assertEqual(x.grad.tolist(), [5.0, 5.0, 0.0])
        q, k, v = (torch.randn(1, n, 16, dtype=torch.float16) for n in (4, 3, 3))
        q[0, 2, 0] = nan
        q.requires_grad_()
        ops.attention(q, k, v, causal=True).sum().backward()
        self.assertTrue(q.grad[0, 2].isnan().all())
        # The first query sees no key.
        self.assertEqual(q.grad[0, 0].tolist(), [0.0] * 16)
        self.assertTrue(q.grad[0, 3].isfinite().all())

    def test_the_plain_functions_take_tensors(self):
        x = torch.randn(10)
        y = torch.empty(10)
        self.assertIs(tw.relu(x, out=y), y)
        self.assertTrue(torch.equal(y, torch.relu(x)))
        self.assertIsInstance(tw.softmax(x), torch.Tensor)
        with self.assertRaisesRegex(BufferError, "gradient"):
            tw.relu(torch.randn(3, requires_grad=True))
        with self.assertRaisesRegex(BufferError, "gradient"):
            tw.relu(x, out=torch.nn.Parameter(torch.zeros(10)))

    def test_a_negative_bit(self):
        z = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
        self.assertTrue(z.is_neg())
        self.assertEqual(float(tw.sum(z)), 2)
        self.assertEqual(float(ops.sum(z)), 2)
        with self.assertRaisesRegex(BufferError, "negative bit"):
            tw.relu(torch.zeros(2), out=z)

    def test_an_output_that_a_gradient_needs(self):
        w = torch.ones(3, requires_grad=True)
        y = w * 2
        loss = y.square().sum()
        kept = y.detach()
        tw.relu(kept, out=kept)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()

    def test_gradients_of_large_scores(self):
        q, k, v = (torch.full((1, 4, 128), 30.0, dtype=torch.float16, requires_grad=True) for _ in range(3))
        ops.attention(q, k, v).float().sum().backward()
        for x in (q, k, v):
            self.assertTrue(x.grad.isfinite().all())

    def test_second_derivatives(self):
        def penalty(op, *inputs):
            inputs = [x.detach().clone().requires_grad_() for x in inputs]
            first = torch.autograd.grad(op(*inputs).float().square().sum(), inputs, create_graph=True)
            return torch.autograd.grad(sum(g.float().square().sum() for g in first), inputs)

        def plain(q, k, v):
            return torch.softmax(q @ k.mT / 4, -1) @ v

        x, w, b = torch.randn(5, 16), torch.randn(16), torch.randn(16)
        labels = torch.arange(5)
        for ours, theirs in [
            (penalty(ops.softmax, x), penalty(lambda x: torch.softmax(x, -1), x)),
            (penalty(ops.swiglu, x, x + 1), penalty(lambda x, y: torch.nn.functional.silu(x) * y, x, x + 1)),
            (
                penalty(lambda x: ops.cross_entropy(x, labels), x),
                penalty(lambda x: torch.nn.functional.cross_entropy(x, labels), x),
            ),
            (penalty(ops.layer_norm, x, w, b), penalty(lambda x, w, b: torch.layer_norm(x, (16,), w, b), x, w, b)),
            (penalty(ops.rms_norm, x, w), penalty(lambda x, w: torch.rms_norm(x, (16,), w, 1e-5), x, w)),
        ]:
            for a, b in zip(ours, theirs):
                torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()))
        q, k, v = (torch.randn(2, 5, 16).half() for _ in range(3))
        ours = penalty(ops.attention, q, k, v)
        theirs = penalty(plain, q.float(), k.float(), v.float())
        for a, b in zip(ours, theirs):
            torch.testing.assert_close(a.float(), b, rtol=5e-2, atol=5e-2 * float(b.abs().max()))

    def test_losses_of_16_bits(self):
        for device in DEVICES:
            logits = torch.randn(6, 40, device=device, dtype=torch.bfloat16, requires_grad=True)
            labels = torch.randint(0, 40, (6,), device=device)
            loss = ops.cross_entropy(logits, labels)
            self.assertEqual(loss.dtype, torch.float32)
            wide = logits.detach().float().requires_grad_()
            wanted = torch.nn.functional.cross_entropy(wide, labels)
            close(loss, wanted, "the loss")
            loss.backward()
            wanted.backward()
            torch.testing.assert_close(logits.grad.float(), wide.grad, rtol=1e-2, atol=1e-4)

    def test_gradients_of_large_logits(self):
        # Gradients that can be differentiated again: the others have the rounding of the logarithm of the row's sum.
        for device in DEVICES:
            logits = torch.full((2, 2), 1e7, device=device, requires_grad=True)
            loss = ops.cross_entropy(logits, torch.tensor([0, 1], device=device))
            (found,) = torch.autograd.grad(loss, logits, create_graph=True)
            close(found, torch.tensor([[-0.25, 0.25], [0.25, -0.25]], device=device), f"gradients on {device}")

    def test_dropout(self):
        for device in DEVICES:
            x = torch.ones(40, 50, device=device, requires_grad=True)
            y = ops.dropout(x, 0.25, seed=2**63 + 5)
            self.assertTrue(0.7 < (y != 0).float().mean() < 0.8)
            y.sum().backward()
            close(x.grad, y.detach(), "the gradient has the mask of the result")
            torch.library.opcheck(torch.ops.tilewright.dropout.default, (x, 0.25, 7))
        for seed in [-1, 2**64]:
            with self.assertRaisesRegex(ValueError, "seed is"):
                ops.dropout(torch.ones(3), 0.5, seed=seed)
        compiled = torch.compile(lambda x, seed: ops.dropout(x, 0.5, seed=seed), backend="aot_eager", fullgraph=True)
        torch._dynamo.reset()
        for seed in range(1, 5):
            close(compiled(torch.ones(40), seed), ops.dropout(torch.ones(40), 0.5, seed=seed), "a seed")
        self.assertLessEqual(torch._dynamo.utils.counters["stats"]["unique_graphs"], 3)
        with self.assertRaisesRegex(Exception, "seed is negative"):
            compiled(torch.ones(40), -1)

    def test_indices(self):
        table = torch.randn(9, 33, requires_grad=True)
        for dtype in [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]:
            ids = torch.tensor([1, 3, 1], dtype=dtype)
            close(ops.embedding(table, ids), table[ids.long()], f"{dtype}")
            close(ops.cross_entropy(table[:3], ids), torch.nn.functional.cross_entropy(table[:3], ids.long()), f"{dtype}")
            x, angles = torch.randn(3, 2, 8), torch.randn(9, 4)
            wanted = ops.rope(x, angles.cos(), angles.sin(), ids.int())
            close(ops.rope(x, angles.cos(), angles.sin(), ids), wanted, f"{dtype}")
        for ids in [torch.zeros(3), torch.zeros(3, dtype=torch.bool)]:
            with self.assertRaisesRegex(TypeError, "ids are integers"):
                ops.embedding(table, ids)
        ids = torch.tensor([1, -1, 9, 2**40, 3])
        found = ops.embedding(table, ids)
        self.assertEqual(found.isnan().any(1).tolist(), [False, False, True, True, False])
        found.backward(torch.ones(5, 33))
        self.assertEqual(table.grad.sum(1).tolist(), [0, 33, 0, 33, 0, 0, 0, 0, 0])
        g = torch.autograd.grad(ops.embedding(table, ids[:1]).square().sum(), table, create_graph=True)[0]
        self.assertEqual(torch.autograd.grad(g.sum(), table)[0].sum(1).tolist(), [0, 66, 0, 0, 0, 0, 0, 0, 0])
        none = torch.randn(3, 0, requires_grad=True)
        torch.autograd.grad(ops.embedding(none, torch.tensor([1])).sum(), none, create_graph=True)

    def test_indices_of_8_bits_into_many_rows(self):
        for dtype, rows in [(torch.uint8, 256), (torch.uint8, 300), (torch.int8, 128), (torch.int8, 300)]:
            table = torch.randn(rows, 5, requires_grad=True)
            ids = torch.tensor([1, 127, 3, 1], dtype=dtype)
            wanted = torch.zeros(rows)
            wanted[[1, 3, 127]] = torch.tensor([10.0, 5.0, 5.0])
            for create_graph in [False, True]:
                loss = ops.embedding(table, ids).sum()
                (found,) = torch.autograd.grad(loss, table, create_graph=create_graph)
                self.assertTrue(torch.equal(found.detach().sum(1), wanted), f"{dtype} into {rows} rows")

    def test_indices_of_64_bits_without_a_sign(self):
        ids = torch.tensor([1, 2**40, -1]).view(torch.uint64)
        found = ops.embedding(torch.randn(9, 33), ids)
        self.assertEqual(found.isnan().any(1).tolist(), [False, True, True])

    def test_gradients_of_rows_without_elements(self):
        for shape in [(3, 0), (2, 3, 0), (0,), (0, 4)]:
            x, w = torch.randn(shape, requires_grad=True), torch.randn(shape[-1], requires_grad=True)
            for create_graph in [False, True]:
                for y in [ops.rms_norm(x, w), ops.layer_norm(x, w, w)]:
                    of_x, of_w = torch.autograd.grad(y.sum(), (x, w), create_graph=create_graph)
                    self.assertEqual(of_x.shape, x.shape)
                    self.assertEqual(of_w.tolist(), [0.0] * shape[-1])

    def test_rope_backward_interleaved(self):
        x = torch.randn(5, 3, 8, requires_grad=True)
        angles = torch.randn(5, 4)
        g = torch.randn(5, 3, 8)
        ops.rope(x, angles.cos(), angles.sin(), interleaved=True).backward(g)
        back = tw.rope(g, angles.cos(), -angles.sin(), interleaved=True)
        close(x.grad, back, "rotated back")

    def test_labels(self):
        logits = torch.randn(3, 4, requires_grad=True)
        self.assertTrue(ops.cross_entropy(logits, torch.tensor([0, 2**32 + 1, 1])).isnan())
        loss = ops.cross_entropy(logits, torch.tensor([0, -100, 1]))
        self.assertTrue(loss.isnan())
        loss.backward()
        self.assertEqual(logits.grad.isnan().any(1).tolist(), [False, True, False])
        for labels in [torch.zeros(3), torch.zeros(3, dtype=torch.bool)]:
            with self.assertRaisesRegex(TypeError, "labels are integers"):
                ops.cross_entropy(logits, labels)

    def test_a_product_without_a_gradient(self):
        a = torch.randn(16, 16).to(torch.float8_e4m3fn).requires_grad_()
        with self.assertRaisesRegex(RuntimeError, "has no gradient"):
            ops.matmul(a, a).float().sum().backward()

    def test_errors(self):
        with self.assertRaises(tw.ArgumentError):
            ops.matmul(torch.randn(2, 3), torch.randn(4, 5))
        with self.assertRaises(tw.DTypeError):
            ops.relu(torch.zeros(3, dtype=torch.float64))

    def test_compiled(self):
        def model(x, w, b):
            return ops.softmax(ops.layer_norm(ops.matmul(x, w, "relu"), b, b)).sum()

        x, w, b = torch.randn(4, 8), torch.randn(8, 16, requires_grad=True), torch.randn(16)
        # The graph is captured and run by PyTorch's operations, without a C++ compiler.
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        close(compiled(x, w, b), model(x, w, b), "compiled")
        compiled(x, w, b).backward()
        self.assertEqual(w.grad.shape, w.shape)

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_graphs_and_streams(self):
        x = torch.randn(256, 512, device="cuda")
        w = torch.randn(512, 128, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            ops.softmax(ops.matmul(x, w))
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = ops.softmax(ops.matmul(x, w))
        for _ in range(3):
            x.normal_()
            graph.replay()
            close(y, torch.softmax(x @ w, -1), "a graph")


if __name__ == "__main__":
    unittest.main()
