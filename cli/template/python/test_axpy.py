"""``python -m unittest discover tests``"""

import unittest

import numpy as np

import first_python


class Axpy(unittest.TestCase):
    def test_sizes(self):
        # No element, one, a block and its neighbors, several blocks.
        for n in [0, 1, 1023, 1024, 1025, 5000]:
            x, y = np.arange(n, dtype=np.float32) * 0.5, 100 - np.arange(n, dtype=np.float32)
            np.testing.assert_array_equal(first_python.axpy(3.0, x, y), 3 * x + y)

    def test_shapes_and_strides(self):
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.testing.assert_array_equal(first_python.axpy(2.0, x.T, x.T), 3 * x.T)
        with self.assertRaises(first_python.ArgumentError):
            first_python.axpy(2.0, x, x[0])
        with self.assertRaises(first_python.DTypeError):
            first_python.axpy(2.0, x, x.astype(np.float64))

    def test_an_output_of_ones_own(self):
        x, z = np.ones(10, np.float32), np.empty(10, np.float32)
        self.assertIs(first_python.axpy(2.0, x, x, out=z), z)
        self.assertTrue((z == 3).all())


if __name__ == "__main__":
    unittest.main()
