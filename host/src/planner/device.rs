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
    /// The same where rows do not start at multiples of a sector.
    pub l2_unsectored_per_sm: f32,
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
    /// How much longer multiply-adds of one warpgroup by itself take.
    pub lone: f32,
    /// Of an element that is stored by itself.
    pub store_element: [f32; 2],
}

/// Fitted on an H100 80GB HBM3, to the times of all plans of random products.
static HOPPER: DeviceModel = DeviceModel {
    launch: 3.433,
    cluster: 1.231,
    memory: 1.8e6,
    l2_per_sm: 9.567e4,
    l2_unsectored_per_sm: 6.284e4,
    store_per_sm: 4.97e4,
    partials: 2.164,
    reduced_per_program: 8.097e4,
    copy: 2.992,
    decomposition: 2.467,
    transposition: 2.771,
    copied: 2.466e6,
    gemm: [
        // Half
        GemmModel {
            rate: [9.257e6, 1.637e6],
            short: 78.92,
            latency: [0.15, 0.6728, 0.1964],
            fill: [0.8067, 1.442],
            element: 1.444e-4,
            element_of_thread: 0.02523,
            tile: 0.4206,
            mn_major: 1.0,
            lone: 1.244,
            store_element: [1.186e-4, 1.518e-4],
        },
        // Tf32
        GemmModel {
            rate: [4.79e6, 7.021e5],
            short: 64.31,
            latency: [0.15, 1.019, 0.1589],
            fill: [0.7826, 0.6643],
            element: 1.953e-4,
            element_of_thread: 0.03635,
            tile: 0.5463,
            mn_major: 1.28,
            lone: 1.407,
            store_element: [1.191e-4, 1.977e-4],
        },
        // Byte
        GemmModel {
            rate: [1.524e7, 2.136e6],
            short: 52.53,
            latency: [0.15, 0.6504, 0.2751],
            fill: [1.204, 1.337],
            element: 1.526e-4,
            element_of_thread: 0.01906,
            tile: 0.3686,
            mn_major: 1.0,
            lone: 1.325,
            store_element: [1.194e-4, 1.987e-4],
        },
        // F32
        GemmModel {
            rate: [3.0e5, 3.09e5],
            short: 18.17,
            latency: [0.15, 0.6341, 0.2486],
            fill: [1.0, 0.2541],
            element: 2.011e-4,
            element_of_thread: 0.02453,
            tile: 1.085,
            mn_major: 1.05,
            lone: 1.5,
            store_element: [4.0e-5, 9.004e-5],
        },
        // Tf32x3
        GemmModel {
            rate: [1.588e6, 2.0e6],
            short: 77.43,
            latency: [0.15, 0.4, 1.2],
            fill: [0.5662, 1.0],
            element: 2.0e-4,
            element_of_thread: 0.01,
            tile: 0.7959,
            mn_major: 1.05,
            lone: 1.363,
            store_element: [1.768e-4, 1.0e-4],
        },
        // DecomposedTf32x3
        GemmModel {
            rate: [1.407e6, 2.0e6],
            short: 12.53,
            latency: [0.15, 0.4, 1.2],
            fill: [0.9673, 1.0],
            element: 2.0e-4,
            element_of_thread: 0.01,
            tile: 1.899,
            mn_major: 1.05,
            lone: 1.5,
            store_element: [1.712e-4, 1.0e-4],
        },
        // Widened
        GemmModel {
            rate: [5.44e6, 2.0e6],
            short: 93.55,
            latency: [0.15, 0.4, 1.2],
            fill: [1.24, 1.0],
            element: 2.0e-4,
            element_of_thread: 0.01,
            tile: 0.3125,
            mn_major: 1.051,
            lone: 1.099,
            store_element: [4.0e-5, 1.0e-4],
        },
        // Gemv
        GemmModel {
            rate: [5.0e6, 3.514e5],
            short: 12.89,
            latency: [0.15, 0.8507, 0.4326],
            fill: [1.0, 0.2897],
            element: 8.015e-5,
            element_of_thread: 0.01391,
            tile: 0.07014,
            mn_major: 1.05,
            lone: 1.5,
            store_element: [4.0e-5, 2.265e-5],
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
