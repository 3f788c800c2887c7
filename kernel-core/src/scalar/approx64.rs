//! The `f64` functions of the device.

#[inline(always)]
pub fn rem(x: f64, y: f64) -> f64 {
    x % y
}
