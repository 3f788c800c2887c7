//! Operations in a capture of another owner's stream, as PyTorch has it: in each mode, warm and for the first time.

use super::{driver, over};
use tilewright_model_driver::Model;
use tilewright_ops::{self as ops, ExecOptions, Matmul};
use tilewright_runtime::tuning::Autotune;
use tilewright_runtime::{AsSliceMut, Buffer, Driver, Result, Runtime, Stream};

type Operation = fn(&ExecOptions, &Buffer<f32>, &mut Buffer<f32>) -> Result<()>;

const SIDE: usize = 96;

fn product(on: &ExecOptions, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let (a, c) = (x.view([SIDE, SIDE])?, y.view_mut([SIDE, SIDE])?);
    Matmul::new(a, a, c).launch(on)
}

const OPERATIONS: [(&str, Operation); 3] =
    [("relu", |on, x, y| ops::relu(on, x, y)), ("softmax", |on, x, y| ops::softmax_1d(on, x, y)), ("product", product)];

#[test]
fn operations_are_captured_in_all_modes() {
    for (name, run) in OPERATIONS {
        for (mode, warm) in [(0, true), (1, true), (2, true), (0, false), (1, false), (2, false)] {
            let (model, rt, _, _here) = over(11);
            tilewright_kernels::all().into_iter().for_each(|d| model.register(d));
            let data = |by: f32| (0..SIDE * SIDE).map(|i| (i % 13) as f32 * by - 3.0).collect::<Vec<_>>();
            let mut x = Buffer::from_slice(&rt, &data(1.0)).unwrap();
            let mut y = rt.zeros::<f32>(SIDE * SIDE).unwrap();
            let theirs = Stream::new(&rt).unwrap();
            if warm {
                // SAFETY: `theirs` outlives it.
                let s = unsafe { Stream::from_raw(&rt, theirs.as_raw()) }.unwrap();
                run(&ExecOptions::new(&rt).stream(&s), &x, &mut y).unwrap();
                s.synchronize().unwrap();
            }
            y.fill_zero().unwrap();
            rt.synchronize().unwrap();
            let raw = theirs.as_raw();
            // SAFETY: calls as cuda.h has them, on handles of the model.
            unsafe {
                assert_eq!(driver::begin_capture(raw, mode), 0);
                // The first call of all makes the runtime, with its pool, which the thread must say that it means.
                let first = (!warm).then(|| another_library().enter());
                let caller = if warm { rt.clone() } else { super::without_tuning(Runtime::cuda(0).unwrap()) };
                let s = Stream::from_raw(&caller, theirs.as_raw()).unwrap();
                run(&ExecOptions::new(&caller).stream(&s), &x, &mut y)
                    .unwrap_or_else(|e| panic!("{name}, mode {mode}: {e}"));
                drop((s, caller, first));
                let (mut graph, mut exec) = (0, 0);
                assert_eq!(driver::end_capture(raw, &mut graph), 0, "{name}, mode {mode}, warm {warm}");
                assert_eq!(driver::instantiate(&mut exec, graph, 0), 0);
                // With other data, and after later work on the same stream.
                for by in [1.0, 0.5] {
                    x.copy_from(&data(by)).unwrap();
                    let want = on_the_cpu(run, &data(by));
                    let mut other = rt.zeros::<f32>(SIDE * SIDE).unwrap();
                    theirs.wait_for(rt.stream()).unwrap();
                    assert_eq!(driver::launch_graph(exec, raw), 0);
                    run(&ExecOptions::new(&rt).stream(&theirs), &x, &mut other).unwrap();
                    theirs.synchronize().unwrap();
                    let near =
                        |got: Vec<f32>| got.iter().zip(&want).all(|(g, w)| (g - w).abs() <= 1e-4 * w.abs().max(1.0));
                    assert!(near(y.to_vec().unwrap()) && near(other.to_vec().unwrap()), "{name}, mode {mode}");
                }
            }
            assert_eq!(model.reports(), [""; 0], "{name}, mode {mode}, warm {warm}");
        }
    }
}

/// By then it has loaded all that its capture launches, and has launched and written nothing.
#[test]
fn a_prepared_operation_loads_code_in_its_capture() {
    for (name, run) in OPERATIONS {
        let (model, rt, _, _here) = over(12);
        tilewright_kernels::all().into_iter().for_each(|d| model.register(d));
        rt.set_autotune(Autotune::On);
        let data: Vec<f32> = (0..SIDE * SIDE).map(|i| (i % 13) as f32 - 3.0).collect();
        let x = Buffer::from_slice(&rt, &data).unwrap();
        let mut y = Buffer::from_slice(&rt, &vec![7.0; SIDE * SIDE]).unwrap();
        let theirs = Stream::new(&rt).unwrap();
        let count = |function| model.calls().get(function).copied().unwrap_or(0);
        // SAFETY: `theirs` outlives it.
        let s = unsafe { Stream::from_raw(&rt, theirs.as_raw()) }.unwrap();
        assert_eq!(count("cuLibraryLoadData"), 0);
        run(&ExecOptions::new(&rt).stream(&s).preparing(true), &x, &mut y).unwrap();
        let loaded = count("cuLibraryLoadData");
        assert!(loaded > 0 && count("cuLaunchKernel") == 0, "{name}");
        assert_eq!(y.to_vec().unwrap(), [7.0; SIDE * SIDE], "{name}");
        let (mut graph, mut exec) = (0, 0);
        let raw = theirs.as_raw();
        // SAFETY: calls as cuda.h has them, on handles of the model.
        unsafe {
            assert_eq!(driver::begin_capture(raw, 0), 0);
            run(&ExecOptions::new(&rt).stream(&s), &x, &mut y).unwrap();
            assert_eq!(driver::end_capture(raw, &mut graph), 0, "{name}");
            assert_eq!(count("cuLibraryLoadData"), loaded, "{name}");
            assert_eq!((driver::instantiate(&mut exec, graph, 0), driver::launch_graph(exec, raw)), (0, 0), "{name}");
        }
        theirs.synchronize().unwrap();
        let (got, want) = (y.to_vec().unwrap(), on_the_cpu(run, &data));
        assert!(got.iter().zip(&want).all(|(g, w)| (g - w).abs() <= 1e-4 * w.abs().max(1.0)), "{name}");
        assert_eq!(model.reports(), [""; 0], "{name}");
    }
}

/// The driver as a library sees it that has made nothing yet.
fn another_library() -> Driver {
    // SAFETY: the model's functions keep to the driver's contract.
    unsafe { Driver::from_symbols(|name| Model::symbol(name).unwrap_or(core::ptr::null())) }.unwrap()
}

fn on_the_cpu(run: Operation, data: &[f32]) -> Vec<f32> {
    let rt = Runtime::cpu();
    let (x, mut y) = (Buffer::from_slice(&rt, data).unwrap(), rt.zeros::<f32>(data.len()).unwrap());
    run(&ExecOptions::new(&rt), &x, &mut y).unwrap();
    y.to_vec().unwrap()
}

/// Every operation of the conformance suite, in each mode, without a call before and after one: with its first type and
/// size, and with the others, which have the same calls of the driver in other kernels, in one of the six ways.
#[test]
fn every_operation_is_captured() {
    use tilewright_conformance::{OPERATIONS, Scope, Setup};
    for op in OPERATIONS {
        let sizes = op.sizes(Scope::Few);
        let subjects = op.dtypes.iter().flat_map(|d| sizes.iter().map(move |size| (*d, size)));
        let ways = |n: i32| if n == 0 { 0..6 } else { n % 6..n % 6 + 1 };
        let cases = (0..).zip(subjects).flat_map(|(n, (d, size))| ways(n).map(move |i| (d, size, i)));
        for (dtype, size, i) in cases {
            let (mode, warm) = (i % 3, i < 3);
            let (model, rt, _, _here) = over(i as u64);
            tilewright_kernels::all().into_iter().for_each(|d| model.register(d));
            let theirs = Stream::new(&rt).unwrap();
            let setup = Setup::plain(dtype, size, 1);
            let what = format!("{} {dtype:?} {size:?} in mode {mode}", op.name);
            let mut problem = op.prepare(&rt, &setup).unwrap_or_else(|e| panic!("{what}: {e}"));
            if warm {
                let mut first = op.prepare(&rt, &setup).unwrap();
                theirs.wait_for(rt.stream()).unwrap();
                // SAFETY: `theirs` outlives it.
                let s = unsafe { Stream::from_raw(&rt, theirs.as_raw()) }.unwrap();
                first.launch(&ExecOptions::new(&rt).stream(&s)).unwrap_or_else(|e| panic!("{what}: {e}"));
                s.synchronize().unwrap();
            }
            theirs.wait_for(rt.stream()).unwrap();
            rt.synchronize().unwrap();
            let raw = theirs.as_raw();
            // SAFETY: calls as cuda.h has them, on handles of the model.
            unsafe {
                assert_eq!(driver::begin_capture(raw, mode), 0);
                let s = Stream::from_raw(&rt, theirs.as_raw()).unwrap();
                problem.launch(&ExecOptions::new(&rt).stream(&s)).unwrap_or_else(|e| panic!("{what}: {e}"));
                drop(s);
                let (mut graph, mut exec) = (0, 0);
                assert_eq!(driver::end_capture(raw, &mut graph), 0, "{what}");
                assert_eq!(driver::instantiate(&mut exec, graph, 0), 0, "{what}");
                assert_eq!(driver::launch_graph(exec, raw), 0, "{what}");
            }
            theirs.synchronize().unwrap();
            let verdict = problem.check().unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(verdict.passed(), "{what}: {:?}", verdict.first);
            assert_eq!(model.reports(), [""; 0], "{what}");
        }
    }
}

/// Elements between those of a result may be another array's, which other work writes: they are not put back.
#[test]
fn a_result_with_gaps_is_not_measured_in_place() {
    for (stride, is_measured) in [(SIDE, true), (SIDE + 8, false)] {
        let (model, rt, _, _here) = over(13);
        tilewright_kernels::all().into_iter().for_each(|d| model.register(d));
        rt.set_autotune(Autotune::On);
        let x = rt.zeros::<f32>(SIDE * SIDE).unwrap();
        let mut y = rt.zeros::<f32>(SIDE * stride).unwrap();
        let a = x.view([SIDE, SIDE]).unwrap();
        let c = (&mut y).as_slice_mut_arg().strided([SIDE, SIDE], [stride, 1]).unwrap();
        Matmul::new(a, a, c).launch(&ExecOptions::new(&rt)).unwrap();
        let copies = model.calls().get("cuMemcpyDtoDAsync_v2").copied().unwrap_or(0);
        assert_eq!(copies > 0, is_measured, "stride {stride}: {copies} copies of the result");
    }
}
