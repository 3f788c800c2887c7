//! The coefficients of a device in the model: fitted from measurements for devices that are shipped, derived from attributes
//! for others.

use crate::device::Device;

/// Kinds of arithmetic.
const MATHS: usize = 8;

/// Speeds of a device. Times are microseconds, rates are per microsecond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceModel {
    pub launch: f32,
    /// A launch of clusters, beside that.
    pub cluster: f32,
    /// Bytes of device memory.
    pub memory: f32,
    /// Bytes that a multiprocessor loads from the L2 cache.
    pub l2_per_sm: f32,
    /// How much longer TMA takes for rows that do not start at multiples of a sector.
    pub unsectored: f32,
    /// Bytes that a multiprocessor stores.
    pub store_per_sm: f32,
    /// Partial sums: semaphores and a further trip to the L2 cache.
    pub partials: f32,
    /// Bytes of partial sums that one program adds up.
    pub reduced_per_program: f32,
    /// A launch of a copy in front of a kernel, beside its bytes; of one that decomposes; and of a transposition behind.
    pub copy: f32,
    pub decomposition: f32,
    pub transposition: f32,
    /// Bytes that a copy reads and writes.
    pub copied: f32,
    pub gemm: [GemmModel; MATHS],
    pub rows: RowsModel,
}

/// Speeds of kernels that go over rows. They reach more of the device memory's bandwidth than products do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowsModel {
    /// Of a program, once.
    pub program: f32,
    /// Of a tile: loads and reductions.
    pub latency: f32,
    /// Of an element on a multiprocessor.
    pub element: f32,
    /// The same where elements are loaded one by one.
    pub element_unaligned: f32,
    /// How much longer elements of tiles of several rows take.
    pub several_rows: f32,
    /// Of an element of a thread.
    pub element_of_thread: f32,
    /// Of an exchange between lanes.
    pub exchange: f32,
    /// The share of bytes that a second reading takes from device memory.
    pub again: f32,
    pub launch: f32,
    /// Bytes of device memory.
    pub memory: f32,
}

/// Speeds of a multiprocessor by arithmetic. Pairs are of kernels that use TMA and warpgroups, and of others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GemmModel {
    /// Operations of long instructions.
    pub rate: [f32; 2],
    /// Columns of an instruction that halve the rate.
    pub short: f32,
    /// Of a step: by TMA, by vectors, by elements.
    pub latency: [f32; 3],
    /// Of the pipeline, once for each program.
    pub fill: [f32; 2],
    /// Of an element that is loaded by itself: on a multiprocessor, and in a thread.
    pub element: f32,
    pub element_of_thread: f32,
    /// Of a tile, once.
    pub tile: f32,
    /// How much longer loads of MN-major operands take.
    pub mn_major: f32,
    /// Of an element that is stored by itself.
    pub store_element: [f32; 2],
}

/// Fitted on an H100 80GB HBM3, to the times of all plans of random products.
static HOPPER: DeviceModel = DeviceModel {
    launch: 3.772,
    cluster: 1.237,
    memory: 1.8e6,
    l2_per_sm: 7.5e4,
    unsectored: 1.075,
    store_per_sm: 5.649e4,
    partials: 2.317,
    reduced_per_program: 1.037e5,
    copy: 2.934,
    decomposition: 2.928,
    transposition: 3.084,
    copied: 2.599e6,
    gemm: [
        // Half
        GemmModel {
            rate: [8.74e6, 1.42e6],
            short: 63.48,
            latency: [0.15, 0.6769, 0.2257],
            fill: [0.5762, 1.176],
            element: 1.451e-4,
            element_of_thread: 0.02443,
            tile: 0.3633,
            mn_major: 1.0,
            store_element: [1.231e-4, 1.517e-4],
        },
        // Tf32
        GemmModel {
            rate: [4.885e6, 6.568e5],
            short: 62.87,
            latency: [0.15, 0.9995, 0.1895],
            fill: [0.5081, 0.3738],
            element: 2.034e-4,
            element_of_thread: 0.03475,
            tile: 0.5316,
            mn_major: 1.072,
            store_element: [1.101e-4, 1.83e-4],
        },
        // Byte
        GemmModel {
            rate: [1.552e7, 1.047e6],
            short: 63.99,
            latency: [0.15, 0.7119, 0.4916],
            fill: [0.9113, 0.8262],
            element: 1.871e-4,
            element_of_thread: 0.01415,
            tile: 0.3613,
            mn_major: 1.0,
            store_element: [1.116e-4, 1.68e-4],
        },
        // F32
        GemmModel {
            rate: [3.0e5, 3.008e5],
            short: 16.23,
            latency: [0.15, 0.626, 0.2636],
            fill: [1.0, 0.237],
            element: 2.05e-4,
            element_of_thread: 0.02312,
            tile: 0.8267,
            mn_major: 1.05,
            store_element: [4.0e-5, 8.286e-5],
        },
        // Tf32x3
        GemmModel {
            rate: [1.219e6, 2.0e6],
            short: 63.99,
            latency: [0.15, 0.4, 1.2],
            fill: [0.6445, 1.0],
            element: 2.0e-4,
            element_of_thread: 0.01,
            tile: 0.1612,
            mn_major: 1.321,
            store_element: [1.288e-4, 1.0e-4],
        },
        // DecomposedTf32x3
        GemmModel {
            rate: [1.31e6, 2.0e6],
            short: 11.12,
            latency: [0.15, 0.4, 1.2],
            fill: [0.3066, 1.0],
            element: 2.0e-4,
            element_of_thread: 0.01,
            tile: 1.573,
            mn_major: 1.05,
            store_element: [1.683e-4, 1.0e-4],
        },
        // Widened
        GemmModel {
            rate: [4.251e6, 2.0e6],
            short: 63.89,
            latency: [0.15, 0.4, 1.2],
            fill: [0.5057, 1.0],
            element: 2.0e-4,
            element_of_thread: 0.01,
            tile: 0.2852,
            mn_major: 1.32,
            store_element: [4.0e-5, 1.0e-4],
        },
        // Gemv
        GemmModel {
            rate: [5.0e6, 3.69e5],
            short: 12.19,
            latency: [0.15, 0.35, 0.5307],
            fill: [1.0, 0.2],
            element: 7.256e-5,
            element_of_thread: 2.973e-4,
            tile: 0.05,
            mn_major: 1.05,
            store_element: [4.0e-5, 7.41e-6],
        },
    ],
    rows: RowsModel {
        program: 0.01,
        latency: 0.397,
        element: 8.055e-5,
        element_unaligned: 8.751e-5,
        several_rows: 2.903,
        element_of_thread: 0.01182,
        exchange: 5.877e-3,
        again: 0.3186,
        launch: 4.013,
        memory: 2.772e6,
    },
};

impl DeviceModel {
    pub(crate) fn of(_device: &Device) -> &'static DeviceModel {
        &HOPPER
    }

    /// The microseconds of a launch that copies operands, with these bytes read and written together.
    pub(crate) fn copy(&self, bytes: usize) -> f32 {
        self.copy + bytes as f32 / self.copied
    }

    /// The same of a launch that decomposes them, or converts them.
    pub(crate) fn decompose(&self, bytes: usize) -> f32 {
        self.decomposition + bytes as f32 / self.copied
    }

    /// The same of a launch that transposes a result.
    pub(crate) fn transpose(&self, bytes: usize) -> f32 {
        self.transposition + bytes as f32 / self.copied
    }
}
