//! Matrices of made-up numbers, and views of them.

use tilewright_core::Element;

/// Numbers from -1 to 1.
pub fn values<T>(n: usize, seed: u32, of: impl Fn(f32) -> T) -> Vec<T> {
    let mut s = seed;
    let mut next = move || {
        s = s.wrapping_mul(1664525).wrapping_add(1013904223);
        (s >> 16) as f32 / 32768.0 - 1.0
    };
    (0..n).map(|_| of(next())).collect()
}

/// Sums of halves, added in any order.
pub fn near(what: &str, found: &[f32], wanted: &[f32]) {
    for (i, (x, y)) in found.iter().zip(wanted).enumerate() {
        assert!((x - y).abs() <= 0.02 * y.abs().max(1.0), "{what}: element {i} is {x}, not {y}");
    }
}

/// The same numbers; any NaN is as good as another.
pub fn exact<T: PartialEq + std::fmt::Debug>(what: &str, found: &[T], wanted: &[T]) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (i, (x, y)) in found.iter().zip(wanted).enumerate() {
        #[allow(clippy::eq_op)]
        let nan = x != x && y != y;
        assert!(x == y || nan, "{what}: element {i} is {x:?}, not {y:?}");
    }
}

/// Row-major with rows of `stride` elements.
pub struct Matrix<T> {
    pub data: Vec<T>,
    pub dims: [usize; 2],
    pub stride: usize,
}

impl<T: Element> Matrix<T> {
    pub fn new([m, n]: [usize; 2], stride: usize, seed: u32, of: impl Fn(f32) -> T) -> Self {
        Matrix { data: values(m.max(1) * stride, seed, of), dims: [m, n], stride }
    }
}

/// The view of a matrix that a kernel takes.
#[macro_export]
macro_rules! view {
    ($m:expr) => {{
        use tilewright_core::AsSlice;
        $m.data.as_slice().as_slice_arg().strided($m.dims, [$m.stride, 1]).expect("fits")
    }};
}

/// The same, to be written.
#[macro_export]
macro_rules! view_mut {
    ($m:expr) => {{
        use tilewright_core::AsSliceMut;
        $m.data.as_mut_slice().as_slice_mut_arg().strided($m.dims, [$m.stride, 1]).expect("fits")
    }};
}
