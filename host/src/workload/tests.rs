use super::recorded::ALIGNMENT;
use super::recorder::Recorder;
use super::*;
use crate::test_kernel::COPY;
use crate::{Buffer, Runtime};
use tilewright_core::{AsSliceMut, DType};

/// A call of `COPY` whose first argument begins 4 bytes behind a multiple of 256.
fn copy(x: &Buffer<f32>, y: &mut Buffer<f32>) -> RecordedCall {
    let from = (x.addr().next_multiple_of(ALIGNMENT) - x.addr()) as usize / 4 + 1;
    let call = Call::new(&COPY).slice(x.slice(from..from + 100).unwrap()).slice_mut(y.as_slice_mut_arg());
    RecordedCall::of_launch(&call).unwrap()
}

#[test]
fn a_launch_is_made_again() {
    let rt = Runtime::cpu();
    rt.set_cache_dir(None);
    let (x, mut y) = (Buffer::zeros(&rt, 300).unwrap(), Buffer::zeros(&rt, 100).unwrap());
    let call = copy(&x, &mut y);
    assert_eq!(call.layout(0).unwrap(), &Layout { dims: vec![100], strides: vec![1], offset: 4 });
    assert_eq!(RecordedCall::parse(&call.to_string()).unwrap(), call);
    let (kernel, report) = rt.tune_recorded(&[&COPY], &call).unwrap();
    assert_eq!(kernel.name, COPY.name);
    assert!(report.candidates.iter().filter(|c| matches!(c.outcome, crate::tuning::Outcome::Ran(_))).count() > 1);
    // The result is that of the call.
    let from = call.layout(0).unwrap();
    let tensor = Tensor::new(&rt, DType::F32, from).unwrap();
    let again = Call::new(&COPY).slice(tensor.slice::<f32>().unwrap()).slice_mut(y.as_slice_mut_arg());
    assert_eq!(rt.configuration(&again).unwrap().1, crate::tuning::Source::Tuned);
}

/// Whatever a line of a workload says, it is a call or an error, and its tensors are made or refused.
#[test]
fn hostile_lines_are_calls_or_errors() {
    const MAX_ELEMENTS: usize = 1 << 16;
    let rt = Runtime::cpu();
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/workload");
    tilewright_hostile_inputs::attack(std::path::Path::new(corpus), |bytes| {
        let Ok(call) = RecordedCall::parse(&String::from_utf8_lossy(bytes)) else { return };
        assert_eq!(RecordedCall::parse(&call.to_string()).unwrap(), call);
        assert!(rt.tune_recorded(&[], &call).is_err());
        for layout in (0..call.arguments.len()).filter_map(|i| call.layout(i).ok()) {
            // Larger ones are allocated: a workload may ask for as much memory as there is.
            let steps = layout.dims.iter().zip(&layout.strides).map(|(d, s)| d.checked_mul(*s));
            if steps.map(|s| s.unwrap_or(0)).all(|s| s < MAX_ELEMENTS)
                && let Ok(tensor) = Tensor::new(&rt, DType::F32, layout)
            {
                let _ = (tensor.slice::<f32>().is_ok(), tensor.view::<f32, 2>().is_ok());
            }
        }
    });
}

#[test]
fn what_is_no_call_of_the_kernel_is_an_error() {
    let rt = Runtime::cpu();
    let (x, mut y) = (Buffer::zeros(&rt, 300).unwrap(), Buffer::zeros(&rt, 100).unwrap());
    let right = copy(&x, &mut y);
    let refused = |change: &dyn Fn(&mut RecordedCall), why: &str| {
        let mut call = right.clone();
        change(&mut call);
        let error = rt.tune_recorded(&[&COPY], &call).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(&|c| c.callee = Callee::Operation("copy".into()), "it is of an operation");
    refused(&|c| c.callee = Callee::Kernel("other".into()), "there is no kernel `other`");
    refused(&|c| c.types = "f64".into(), "of types `f64`");
    refused(&|c| c.arguments.truncate(1), "has 2 parameters, and 1 arguments");
    refused(&|c| c.arguments[1] = Argument::Number(3), "argument 1 is no tensor");
    let layout = |dims: &[usize], strides: &[usize], offset| {
        Argument::Tensor(Layout { dims: dims.to_vec(), strides: strides.to_vec(), offset })
    };
    refused(&|c| c.arguments[0] = layout(&[2], &[1], 2), "is no layout");
    refused(&|c| c.arguments[0] = layout(&[2], &[1], 256), "is no layout");
    refused(&|c| c.arguments[0] = layout(&[2], &[], 0), "is no layout");
    refused(&|c| c.arguments[0] = layout(&[3], &[usize::MAX / 2], 0), "is no layout");
    refused(&|c| c.arguments[0] = layout(&[usize::MAX], &[1], 0), "is no layout");
    for line in ["", "{}", r#"{"kernel":"k","arguments":[]}"#, r#"{"kernel":"k","types":"","arguments":["x"]}"#] {
        assert!(RecordedCall::parse(line).is_err(), "{line}");
    }
}

#[test]
fn scalars_have_the_bits_of_their_type() {
    let call = || Call::new(&COPY);
    for (dtype, bits) in [(DType::Bool, 2), (DType::U8, 256), (DType::F16, 1 << 16), (DType::I32, 1 << 32)] {
        assert!(tensor::bind_scalar(call(), dtype, bits).is_err(), "{} {bits}", dtype.name());
        assert!(tensor::bind_scalar(call(), dtype, 1).is_ok());
    }
}

#[test]
fn floats_are_from_a_half_to_1() {
    let rt = Runtime::cpu();
    let layout = Layout { dims: vec![1000], strides: vec![1], offset: 0 };
    let host = |t: &Tensor| {
        let all = t.slice::<f32>().unwrap();
        // SAFETY: host memory of that many elements.
        unsafe { core::slice::from_raw_parts(all.addr() as *const f32, all.len()) }.to_vec()
    };
    let x = host(&Tensor::new(&rt, DType::F32, &layout).unwrap());
    assert!(x.iter().all(|v| (0.5..1.0).contains(v)) && x[0] != x[1]);
    let i = Tensor::new(&rt, DType::I32, &layout).unwrap();
    assert!(i.view::<f32, 1>().is_err() && i.view::<i32, 2>().is_err());
    assert!(i.slice::<i32>().unwrap().len() == 1000);
}

#[test]
fn a_file_has_each_call_once() {
    let path = std::env::temp_dir().join(format!("tilewright-workload-{}", std::process::id()));
    let call = |n: usize| RecordedCall::of_operation("softmax_rows", "f32", vec![n.into(), 7usize.into(), true.into()]);
    let recorder = Recorder::open(&path).unwrap();
    [1, 2, 1].into_iter().for_each(|n| recorder.append(call(n)));
    // Another process appends.
    Recorder::open(&path).unwrap().append(call(3));
    let text = std::fs::read_to_string(&path).unwrap();
    let calls: Vec<_> = text.lines().map(|l| RecordedCall::parse(l).unwrap()).collect();
    assert_eq!(calls, [call(1), call(2), call(3)]);
    std::fs::remove_file(path).unwrap();
}
