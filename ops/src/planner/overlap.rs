//! Work of two units at a time.

/// The time of work of two units that overlap: a little more than that of the longer one, where both are near.
pub(super) fn overlapped(a: f32, b: f32) -> f32 {
    // The fourth root of the sum of fourth powers.
    (a.powi(4) + b.powi(4)).sqrt().sqrt()
}
