"""The package's functions on a GPU that is a model: `libcuda.so.1` is the model of the driver here.

The model runs the work of streams as late and in as odd an order as their events allow. It reports memory that is used
before it is allocated or after it is freed, and calls that the driver would refuse.
"""

import ctypes
import gc
import threading
import unittest

import numpy as np
import tilewright as tw

driver = ctypes.CDLL("libcuda.so.1")
driver.model_driver_reports.restype = ctypes.c_char_p
driver.model_driver_fail.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_uint]
driver.model_driver_calls.argtypes = [ctypes.c_char_p]
driver.model_driver_calls.restype = ctypes.c_long
OUT_OF_MEMORY = 2


def call(name, *arguments):
    status = getattr(driver, name)(*arguments)
    assert status == 0, f"{name} returns {status}"


def enter():
    """Makes the context of the device current."""
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)


class Array:
    """An array of a library that this package does not know."""

    def __init__(self, values):
        values = np.ascontiguousarray(values)
        self.shape, self.dtype, self.bytes = values.shape, values.dtype, values.nbytes
        self.address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(max(self.bytes, 1)))
        self.write(values)

    def fill(self, value):
        self.write(np.full(self.shape, value, self.dtype))

    def write(self, values):
        """New values, behind all work of the default stream."""
        source = values.ctypes.data_as(ctypes.c_void_p)
        call("cuMemcpyHtoDAsync_v2", self.address, source, ctypes.c_size_t(self.bytes), None)
        call("cuStreamSynchronize", None)

    @property
    def __cuda_array_interface__(self):
        data = (self.address.value, False)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "version": 3, "strides": None}

    def numpy(self):
        """The values, behind all work of the default stream."""
        values = np.empty(self.shape, self.dtype)
        to = values.ctypes.data_as(ctypes.c_void_p)
        call("cuMemcpyDtoHAsync_v2", to, self.address, ctypes.c_size_t(self.bytes), None)
        call("cuStreamSynchronize", None)
        return values

    def __del__(self):
        call("cuMemFree_v2", self.address)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def cases():
    """A function of an array of 24 x 40 and its output, the shape of the output, and NumPy's result."""
    w = normal(40, 32, seed=1)
    other = normal(24, 40, seed=2)
    ones, zeros = np.ones(40, np.float32), np.zeros(40, np.float32)
    on_device = [Array(v) for v in (w, other, ones, zeros)]
    d_w, d_other, d_ones, d_zeros = on_device

    def normalized(x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

    return {
        "relu": (lambda x, y: tw.relu(x, out=y), (24, 40), lambda x: np.maximum(x, 0)),
        "add": (lambda x, y: tw.add(x, d_other, out=y), (24, 40), lambda x: x + other),
        "matmul": (lambda x, y: tw.matmul(x, d_w, out=y), (24, 32), lambda x: x @ w),
        "softmax": (lambda x, y: tw.softmax(x, out=y), (24, 40), softmax),
        "layer_norm": (lambda x, y: tw.layer_norm(x, d_ones, d_zeros, out=y), (24, 40), normalized),
        "a result that is not kept": (
            lambda x, y: tw.relu(tw.leaky_relu(x, 2.0), out=y),
            (24, 40),
            lambda x: np.maximum(x, 0),
        ),
    }


def setUpModule():
    enter()


class OverTheModel(unittest.TestCase):
    def tearDown(self):
        gc.collect()
        self.assertEqual(driver.model_driver_reports().decode(), "")

    def agree(self, name, found, wanted):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4, err_msg=name)

    def test_on_the_default_stream(self):
        for name, (run, shape, reference) in cases().items():
            with self.subTest(name):
                x, y = normal(24, 40), Array(np.zeros(shape, np.float32))
                run(Array(x), y)
                self.agree(name, y, reference(x))

    def test_on_a_stream_that_is_set(self):
        stream = ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(stream), 1)
        for name, (run, shape, reference) in cases().items():
            with self.subTest(name):
                x, y = normal(24, 40, seed=3), Array(np.zeros(shape, np.float32))
                device_x = Array(x)
                with tw.stream(stream.value):
                    run(device_x, y)
                call("cuStreamSynchronize", stream)
                self.agree(name, y, reference(x))
        call("cuStreamDestroy_v2", stream)

    def test_threads_with_streams_of_their_own(self):
        failures = []

        def work(seed):
            try:
                enter()
                stream = ctypes.c_void_p()
                call("cuStreamCreate", ctypes.byref(stream), 1)
                for name, (run, shape, reference) in cases().items():
                    x, y = normal(24, 40, seed=seed), Array(np.zeros(shape, np.float32))
                    device_x = Array(x)
                    with tw.stream(stream.value):
                        run(device_x, y)
                    call("cuStreamSynchronize", stream)
                    self.agree(name, y, reference(x))
                call("cuStreamDestroy_v2", stream)
            except BaseException as e:
                failures.append(e)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def test_calls_of_the_driver_that_fail(self):
        """An exception of this package for each call that fails, and a right result of the next call."""
        for name, (run, shape, reference) in cases().items():
            x = normal(24, 40, seed=5)
            device_x, y = Array(x), Array(np.zeros(shape, np.float32))
            run(device_x, y)
            raised = 0
            for skip in range(200):
                y.fill(np.nan)
                driver.model_driver_fail(None, skip, OUT_OF_MEMORY)
                try:
                    run(device_x, y)
                    failed = None
                except tw.Error as e:
                    failed = e
                came = driver.model_driver_fail_no_more()
                if not came:
                    self.assertIsNone(failed, name)
                    break
                raised += failed is not None
                if failed is None:
                    self.agree(f"{name} although call {skip} failed", y, reference(x))
                y.fill(np.nan)
                run(device_x, y)
                self.agree(f"{name} after call {skip} failed", y, reference(x))
            self.assertLess(skip, 200 - 1, name)
            self.assertGreater(raised, 0, name)

    def test_the_model_is_the_driver(self):
        x = Array(normal(24, 40))
        before = driver.model_driver_calls(b"cuLaunchKernelEx") + driver.model_driver_calls(b"cuLaunchKernel")
        tw.relu(x, out=x)
        after = driver.model_driver_calls(b"cuLaunchKernelEx") + driver.model_driver_calls(b"cuLaunchKernel")
        self.assertEqual(after - before, 1)


if __name__ == "__main__":
    unittest.main()
