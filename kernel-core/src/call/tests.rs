//! Calls that are put together by hand: each wrong binding is an error, and none reaches an argument word.

use super::{BindError, Call};
use crate::args::{AsSlice, AsSliceMut, DeviceId, RawArg};
use crate::desc::{Element, KernelDesc, KernelParts, ParamDesc, ParamKind, ParamType, Pointees};
use crate::{bf16, f8e4m3, f8e5m2, f16};
use tilewright_types::DType;
use tilewright_types::limits::{MAX_ARGUMENT_WORDS, MAX_BUFFERS};

const fn param(name: &'static str, kind: ParamKind, dtype: DType, first_word: usize) -> ParamDesc {
    ParamDesc { name, kind, dtype, first_word }
}

const fn parts(params: &'static [ParamDesc]) -> KernelParts {
    KernelParts {
        name: "k",
        file: "",
        line: 0,
        types: "",
        params,
        is_unsafe: false,
        pdl: false,
        aliases: &[],
        deterministic: false,
        tf32: false,
        pointees: Pointees::None,
        configs: &[],
        bundle: None,
    }
}

/// `fn k(x: &[f32], y: &mut [f32], v: View<f16, 2>, n: usize)`
// SAFETY: it has no code.
static SAFE: KernelDesc = unsafe {
    KernelDesc::new(parts(&[
        param("x", ParamKind::Slice, DType::F32, 0),
        param("y", ParamKind::SliceMut, DType::F32, 2),
        param("v", ParamKind::View { rank: 2 }, DType::F16, 4),
        param("n", ParamKind::Scalar, DType::U64, 9),
    ]))
};

/// `unsafe fn k(x: *const f32, y: *mut f32)`
// SAFETY: it has no code.
static POINTERS: KernelDesc = unsafe {
    KernelDesc::new(KernelParts {
        is_unsafe: true,
        ..parts(&[param("x", ParamKind::Ptr, DType::F32, 0), param("y", ParamKind::PtrMut, DType::F32, 1)])
    })
};

/// The error of a first argument that is not `x: &[f32]`.
fn not_x(call: Call<'_>, found: &str) {
    let error = call.check().unwrap_err();
    let BindError::Type { kernel: "k", param: "x", expected, found: is } = error else { panic!("{error:?}") };
    assert_eq!((expected.to_string().as_str(), is.to_string().as_str()), ("&[f32]", found));
    assert_eq!((call.words(), call.buffers().len()), (&[][..], 0));
}

#[test]
fn what_is_not_of_the_parameters_type_is_not_bound() {
    let (x, mut y) = ([1.0f32; 4], [1.0f32; 4]);
    let call = || Call::new(&SAFE);
    not_x(call().slice([1u8; 16].as_slice_arg()), "&[u8]");
    not_x(call().slice_mut(y.as_slice_mut_arg()), "&mut [f32]");
    not_x(call().scalar(0x1000u64), "u64");
    not_x(call().scalar(1.0f32), "f32");
    not_x(call().view(x.as_slice_arg().view([2, 2]).unwrap()), "View<f32, 2>");
    not_x(call().view_mut(y.as_slice_mut_arg().view([4]).unwrap()), "ViewMut<f32, 1>");
    not_x(call().raw(RawArg::<f32>::new(0x1000, DeviceId::Host), false), "*const f32");
    not_x(call().raw(RawArg::<f32>::new(0x1000, DeviceId::Host), true), "*mut f32");
    // The first mistake is reported, and no later argument is bound.
    not_x(call().slice([1u8; 16].as_slice_arg()).slice(x.as_slice_arg()), "&[u8]");
    let text = call().scalar(7u64).check().unwrap_err().to_string();
    assert!(text.starts_with("k: an argument of type `u64` is bound to `x: &[f32]`: bind"), "{text}");
}

#[test]
fn what_is_read_is_not_bound_where_the_kernel_writes() {
    let x = [1.0f32; 4];
    let call = Call::new(&SAFE).slice(x.as_slice_arg()).slice(x.as_slice_arg());
    let (kind, dtype) = (ParamKind::Slice, DType::F32);
    let (expected, found) = (ParamType { kind: ParamKind::SliceMut, dtype }, ParamType { kind, dtype });
    assert_eq!(call.check(), Err(BindError::Type { kernel: "k", param: "y", expected, found }));
    // SAFETY: never launched.
    let pointers = unsafe { Call::new_unsafe(&POINTERS) };
    let one = RawArg::<f32>::new(0x1000, DeviceId::Host);
    let text = pointers.raw(one, false).raw(one, false).check().unwrap_err().to_string();
    assert!(text.contains("`*const f32` is bound to `y: *mut f32`"), "{text}");
}

#[test]
fn every_parameter_is_bound_once() {
    let (x, mut y, v, mut z) = ([1.0f32; 4], [1.0f32; 8], [f16::ONE; 6], [1.0f32; 8]);
    let missing = |call: &Call, of: &str| {
        let error = call.check().unwrap_err();
        assert!(matches!(error, BindError::Missing { param, .. } if param == of), "{error}");
    };
    let call = Call::new(&SAFE);
    missing(&call, "x");
    let call = call.slice(x.as_slice_arg());
    missing(&call, "y");
    let call = call.slice_mut(y.as_slice_mut_arg());
    missing(&call, "v");
    let call = call.view(v.as_slice_arg().view([2, 3]).unwrap());
    missing(&call, "n");
    let mut call = call.scalar(9u64);
    assert_eq!(call.check(), Ok(()));
    let bound = [x.as_ptr() as u64, 4, call.words()[2], 8, v.as_ptr() as u64, 2, 3, 3, 1, 9];
    assert_eq!(call.words(), bound);
    let uses: Vec<_> = call.buffers().iter().map(|b| (b.param, b.bytes, b.mutable)).collect();
    assert_eq!(uses, [(0, 16, false), (1, 32, true), (2, 12, false)]);
    let again = call.reborrow();
    assert_eq!((again.words(), again.check()), (&bound[..], Ok(())));
    // A size is as good as its 64 bits.
    let mut sized = |n: i32| {
        let call = Call::new(&SAFE).slice(x.as_slice_arg()).slice_mut(z.as_slice_mut_arg());
        let call = call.view(v.as_slice_arg().view([2, 3]).unwrap()).size(n);
        (call.check(), call.words().to_vec())
    };
    let (checked, words) = sized(9);
    assert_eq!((checked, words.last()), (Ok(()), Some(&9)));
    let (checked, words) = sized(-9);
    assert_eq!((checked, words.len()), (Err(BindError::Negative { kernel: "k", param: "n", value: -9 }), 9));
    not_x(Call::new(&SAFE).size(-9), "u64");
    // As many more as no argument words are left for.
    for i in 0..100u64 {
        call = call.scalar(i);
    }
    let text = call.check().unwrap_err().to_string();
    assert!(text.starts_with("k: 4 parameters, and an argument of type `u64` is bound after them"), "{text}");
    assert_eq!(call.words(), bound);
}

#[test]
fn an_unsafe_kernel_is_called_in_an_unsafe_block() {
    let p = RawArg::<f32>::within(0x1000, 64, DeviceId::Host);
    let refused = Call::new(&POINTERS).raw(p, false).raw(p, true);
    assert_eq!(refused.check(), Err(BindError::Unsafe { kernel: "k" }));
    assert_eq!((refused.words(), refused.buffers().len()), (&[][..], 0));
    // SAFETY: never launched.
    let call = unsafe { Call::new_unsafe(&POINTERS) }.raw(p, false).raw(p.offset(4), true);
    assert_eq!((call.check(), call.words()), (Ok(()), &[0x1000, 0x1010][..]));
    assert_eq!(call.buffers()[1].extent, Some(48));
}

#[test]
fn scalars_keep_their_bits() {
    const OF: ParamKind = ParamKind::Scalar;
    // SAFETY: it has no code.
    static SCALARS: KernelDesc = unsafe {
        KernelDesc::new(parts(&[
            param("a", OF, DType::Bool, 0),
            param("b", OF, DType::F8E4M3, 1),
            param("c", OF, DType::F8E5M2, 2),
            param("d", OF, DType::BF16, 3),
            param("e", OF, DType::I64, 4),
            param("f", OF, DType::I64, 5),
            param("g", OF, DType::U64, 6),
            param("h", OF, DType::F64, 7),
        ]))
    };
    let call = Call::new(&SCALARS).scalar(true).scalar(f8e4m3(0x81)).scalar(f8e5m2(0x7f)).scalar(bf16::NEG_ONE);
    let call = call.scalar(-1isize).scalar(-2i64).scalar(usize::MAX).scalar(-0.0f64);
    assert_eq!(call.check(), Ok(()));
    assert_eq!(call.words(), [1, 0x81, 0x7f, 0xbf80, u64::MAX, u64::MAX - 1, u64::MAX, 1 << 63]);
}

/// Each is a panic at run time, and an error of the compiler in a `static`.
#[test]
fn descriptors_that_make_no_sense_are_refused() {
    const MORE: usize = MAX_BUFFERS + 1;
    const SLICES: [ParamDesc; MORE] = {
        let mut all = [param("x", ParamKind::Slice, DType::F32, 0); MORE];
        let mut i = 0;
        while i < MORE {
            all[i].first_word = 2 * i;
            i += 1;
        }
        all
    };
    const REFUSED: [(&str, &[ParamDesc]); 5] = [
        ("follow each other", &[param("x", ParamKind::Slice, DType::F32, 1)]),
        (
            "follow each other",
            &[param("x", ParamKind::Slice, DType::F32, 0), param("n", ParamKind::Scalar, DType::U64, 1)],
        ),
        ("`unsafe fn`", &[param("p", ParamKind::PtrMut, DType::F32, 0)]),
        ("too many", &[param("v", ParamKind::View { rank: MAX_ARGUMENT_WORDS }, DType::F32, 0)]),
        ("too many", &SLICES),
    ];
    for (why, params) in REFUSED {
        // SAFETY: it has no code.
        let made = std::panic::catch_unwind(|| unsafe { KernelDesc::new(parts(params)) });
        let panic = made.map(|_| ()).unwrap_err();
        let text = panic.downcast_ref::<&str>().unwrap();
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn an_elements_size_is_its_dtypes() {
    fn sizes<T: Element>() -> (usize, usize) {
        (size_of::<T>(), T::DTYPE.size())
    }
    let all = [sizes::<isize>(), sizes::<usize>(), sizes::<f16>(), sizes::<f8e4m3>(), sizes::<bool>(), sizes::<f64>()];
    assert_eq!(all, [8, 8, 2, 1, 1, 8].map(|n| (n, n)));
}
