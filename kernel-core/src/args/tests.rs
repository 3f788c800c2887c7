//! Extents and strides at the ends of their type: a view that leaves its array is refused.

use super::{AsSlice, AsSliceMut, DeviceId, RawArg, SliceArg, ViewError};

/// An array of so many bytes; never read.
fn array(len: usize) -> SliceArg<'static, u8> {
    // SAFETY: no test reads its memory.
    unsafe { SliceArg::from_raw(0x1000, len, DeviceId::Unknown) }
}

#[test]
fn extents_that_wrap_to_the_length_are_no_view() {
    // 2^33 * 2^33 is 2^66, which is 0 modulo 2^64.
    assert!(array(0).view([1 << 33, 1 << 33]).is_err());
    // (2^32 + 1)(2^32 - 1) is 2^64 - 1, and 3 * 6148914691236517206 is 2 modulo 2^64.
    assert!(array(usize::MAX).view([(1 << 32) + 1, (1 << 32) - 1]).is_ok());
    assert!(array(2).view([3, 6_148_914_691_236_517_206]).is_err());
    assert!([1u8; 2].as_slice_arg().view([6_148_914_691_236_517_206, 3]).is_err());
    assert!([1u8; 2].as_mut_slice().as_slice_mut_arg().view([6_148_914_691_236_517_206, 3]).is_err());
    assert!(array(4).view([1 << 63, 1 << 63, 4]).is_err());
}

#[test]
fn errors_say_what_was_asked_for() {
    let text = |e: ViewError| e.to_string();
    let wrong = array(5).view([2, 3]).unwrap_err();
    assert_eq!(wrong, ViewError::Length { elements: Some(6), len: 5 });
    assert!(text(wrong).starts_with("a row-major view has 6 elements and its array 5"), "{}", text(wrong));
    let wrong = array(5).strided([2, 3], [4, 1]).unwrap_err();
    assert_eq!(wrong, ViewError::OutOfBounds { span: Some(7), len: 5 });
    assert!(text(wrong).starts_with("a strided view spans 7 elements and its array has 5"), "{}", text(wrong));
    let wrong = array(5).view([usize::MAX, 2]).unwrap_err();
    assert!(text(wrong).contains("more than 2^64"), "{}", text(wrong));
}

#[test]
fn views_of_an_array_are_row_major() {
    let v = array(24).view([2, 3, 4]).unwrap();
    assert_eq!((v.dims(), v.strides(), v.span()), ([2, 3, 4], [12, 4, 1], 24));
    let empty = array(0).view([3, 0, 5]).unwrap();
    assert_eq!((empty.strides(), empty.span()), ([0, 5, 1], 0));
    assert_eq!(array(1).view([]).unwrap().span(), 1);
    assert!(array(0).view([]).is_err() && array(23).view([2, 3, 4]).is_err());
}

#[test]
fn strides_that_leave_the_array_are_no_view() {
    assert!(array(10).strided([2, 5], [5, 1]).is_ok() && array(9).strided([2, 5], [5, 1]).is_err());
    // Each wraps to an element of the array.
    assert!(array(10).strided([3], [1 << 63]).is_err());
    assert!(array(10).strided([2, 2], [usize::MAX, 1]).is_err());
    assert!(array(10).strided([2, 2], [usize::MAX, 2]).is_err());
    assert!(array(10).strided([usize::MAX], [usize::MAX]).is_err());
    assert!(array(usize::MAX).strided([2, 2], [usize::MAX - 1, 1]).is_err());
    assert_eq!(array(0).strided([0, 5], [usize::MAX, 1]).unwrap().span(), 0);
}

#[test]
fn an_array_of_a_view_has_its_elements() {
    let v = array(24).view([2, 12]).unwrap();
    assert_eq!(v.as_contiguous().unwrap().len(), 24);
    assert!(v.flipped().as_contiguous().is_none());
    // 2^64 elements, all of them the first one.
    assert!(array(1).strided([1 << 32, 1 << 32], [0, 0]).unwrap().as_contiguous().is_none());
}

#[test]
fn other_shapes_of_a_view_span_no_more() {
    let v = array(24).view([4, 2, 3]).unwrap();
    for n in [1, 2, 4] {
        let s = v.stacked(n).unwrap();
        assert_eq!((s.dims(), s.span()), ([4 / n, 2 * n, 3], 24), "{n}");
    }
    assert!(v.stacked(0).is_none() && v.stacked(3).is_none() && v.stacked(usize::MAX).is_none());
    // Matrices of one row, far apart, and matrices that are all the first one.
    let far = array(usize::MAX).strided([4, 1, 3], [1 << 62, 9, 1]).unwrap();
    assert!(far.stacked(4).is_none(), "four times the stride overflows");
    assert_eq!(far.stacked(2).unwrap().span(), far.span());
    let same = array(6).strided([4, 2, 3], [0, 3, 1]).unwrap();
    assert!(same.stacked(2).is_none());
    for dims in [[1, 7], [7, 1], [1, 1]] {
        let v = array(7 * 9).strided(dims, [9, 9]).unwrap();
        assert_eq!(v.regular().span(), array(7 * 9).strided(dims, v.regular().strides()).unwrap().span());
    }
}

#[test]
fn a_pointer_further_on_has_less_behind_it() {
    let p = RawArg::<f32>::within(0x1000, 64, DeviceId::Host);
    assert_eq!((p.offset(3).addr(), p.offset(3).extent()), (0x100c, Some(52)));
    assert_eq!((p.offset(1 << 62).addr(), p.offset(1 << 62).extent()), (0x1000, Some(0)));
    assert_eq!(p.offset(usize::MAX).extent(), Some(0));
}
