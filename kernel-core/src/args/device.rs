//! The device that memory belongs to, and the work that may use it.

/// The device whose memory an array is.
///
/// # Examples
/// ```
/// use tilewright_core::{AsSlice, DeviceId};
///
/// assert_eq!([1.0f32, 2.0].as_slice().as_slice_arg().device(), DeviceId::Host);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceId {
    /// Memory of the host.
    Host,
    /// Memory of one CUDA context. Two contexts of one device do not share memory.
    Cuda {
        /// The device's ordinal.
        device: u32,
        /// The number that the driver gives a context for the life of the process.
        context: u64,
    },
    /// The same, where work of one stream alone may use the memory: its owner frees it in the order of that stream.
    CudaStream {
        /// The device's ordinal.
        device: u32,
        /// The number of the context.
        context: u64,
        /// The address of the driver's stream.
        stream: u64,
    },
    /// A raw address, for which the caller vouches.
    Unknown,
}

impl DeviceId {
    /// Whether work of a stream on the device `on` may use this memory.
    ///
    /// # Examples
    /// ```
    /// use tilewright_core::DeviceId;
    ///
    /// let on = DeviceId::Cuda { device: 0, context: 3 };
    /// let of_stream = DeviceId::CudaStream { device: 0, context: 3, stream: 0x10 };
    /// assert!(on.takes_work(on, 0x20) && of_stream.takes_work(on, 0x10));
    /// assert!(!of_stream.takes_work(on, 0x20) && !DeviceId::Host.takes_work(on, 0x10));
    /// ```
    #[inline]
    pub fn takes_work(self, on: DeviceId, stream: u64) -> bool {
        match self {
            DeviceId::CudaStream { device, context, stream: of } => {
                of == stream && on == (DeviceId::Cuda { device, context })
            }
            DeviceId::Unknown => true,
            _ => self == on,
        }
    }
}
