"""The functions with arrays of JAX."""

import unittest

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError as e:
    raise unittest.SkipTest(f"JAX: {e}") from e

import tilewright as tw


class Arrays(unittest.TestCase):
    def test_results_are_arrays_of_jax(self):
        x = jnp.linspace(-3, 3, 1000).reshape(10, 100)
        y = tw.softmax(x)
        self.assertIsInstance(y, jax.Array)
        np.testing.assert_allclose(y, jax.nn.softmax(x), rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(tw.relu(x), jnp.maximum(x, 0))
        self.assertEqual(tw.sum(x).shape, ())

    def test_bf16(self):
        a = jax.random.normal(jax.random.key(1), (33, 65), jnp.bfloat16)
        b = jax.random.normal(jax.random.key(2), (65, 20), jnp.bfloat16)
        c = tw.matmul(a, b)
        self.assertEqual(c.dtype, jnp.bfloat16)
        exact = a.astype(jnp.float32) @ b.astype(jnp.float32)
        np.testing.assert_allclose(c.astype(jnp.float32), exact, rtol=2e-2, atol=1e-1)

    def test_results_are_inputs(self):
        x = jnp.arange(5.0) - 2
        y = jax.jit(lambda t: t * 2)(tw.relu(x))
        np.testing.assert_array_equal(tw.add(y, y), 4 * jnp.maximum(x, 0))

    def test_an_array_is_never_written(self):
        x, out = jnp.ones(3), jnp.zeros(3)
        for given in [x, np.ones(3, np.float32)]:
            with self.assertRaisesRegex(TypeError, "never written"):
                tw.relu(given, out=out)
        self.assertEqual(float(out.sum()), 0)

    def test_a_traced_array_is_refused(self):
        with self.assertRaisesRegex(TypeError, "traced.*pure_callback"):
            jax.jit(tw.relu)(jnp.ones(3))

    def test_a_callback_of_a_traced_function(self):
        x = jnp.arange(5.0) - 2
        relu = jax.jit(lambda t: jax.pure_callback(lambda a: np.asarray(tw.relu(np.asarray(a))), t, t) * 2)
        np.testing.assert_array_equal(relu(x), 2 * jnp.maximum(x, 0))


if __name__ == "__main__":
    unittest.main()
