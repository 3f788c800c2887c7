//! The defects that the emulated SM finds in a kernel, and the user's line in its reports.

use tilewright::tile_kernel;
use tilewright::{Buffer, Error, Runtime};

/// The one line of this file that ends with `// [name]`.
fn line(name: &str) -> usize {
    let mark = format!("// [{name}]");
    let lines: Vec<usize> =
        include_str!("detectors.rs").lines().zip(1..).filter(|(l, _)| l.ends_with(&mark)).map(|(_, n)| n).collect();
    let [line] = lines[..] else { panic!("{mark} is at {lines:?}") };
    line
}

/// A launch fails by `kind` on the line of that mark, whichever order programs and threads take; the report says all of
/// `more`.
#[track_caller]
fn found(run: impl Fn(&Runtime) -> Result<(), Error>, kind: &str, mark: &str, more: &[&str]) {
    for seed in [0, 1, 7] {
        let error = run(&Runtime::emulator(seed)).expect_err("something is wrong with it");
        let Error::Emulator { report, .. } = &error else { panic!("{error}") };
        assert!(
            report.contains(&format!("{}, line {}: {kind}:", file!(), line(mark))),
            "{mark} is line {}: {report}",
            line(mark)
        );
        for text in more {
            assert!(report.contains(text), "no {text:?} in {report}");
        }
    }
}

/// That the launch fails where an access of one of two lines conflicts with the other; which of them comes second
/// depends on the order.
#[track_caller]
fn conflict(run: impl Fn(&Runtime) -> Result<(), Error>, kind: &str, [a, b]: [&str; 2]) {
    for seed in [0, 1, 7] {
        let report = run(&Runtime::emulator(seed)).expect_err("something is wrong with it").to_string();
        let says = |first: usize, second: usize| {
            report.contains(&format!("line {first}: {kind}:")) && report.contains(&format!("on line {second}"))
        };
        assert!(says(line(a), line(b)) || says(line(b), line(a)), "lines {} and {}: {report}", line(a), line(b));
    }
}

#[tile_kernel(tune(warps = [1]), grid = [1])]
unsafe fn loads_unchecked(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    let v = load(x, i).unchecked(); // [a load past the end]
    store(y, i, v);
}

#[tile_kernel(tune(warps = [1]), grid = [1])]
unsafe fn doubled(x: *const f32, y: *mut f32) {
    let i = arange(64);
    let v = load(x.add(i)); // [a load past a buffer]
    store(y.add(i), 2.0 * v); // [a store past a buffer]
}

/// A buffer knows how long it is, also where a kernel takes its address alone.
#[test]
fn accesses_past_a_buffer() {
    let outside = "global memory access out of bounds";
    let run = |rt: &Runtime, [x, y]: [usize; 2]| {
        let (x, y) = (Buffer::from_slice(rt, &vec![1.0f32; x])?, Buffer::<f32>::zeros(rt, y)?);
        // SAFETY: the emulator checks the bounds that the kernel does not.
        rt.launch(unsafe { doubled(x.raw(), y.raw()) })
    };
    found(|rt| run(rt, [61, 64]), outside, "a load past a buffer", &["`x[", "]` (61 elements)"]);
    found(|rt| run(rt, [64, 61]), outside, "a store past a buffer", &["`y[", "]` (61 elements)"]);
    run(&Runtime::emulator(0), [64, 64]).expect("both are long enough");
    // Of plain addresses nothing is known.
    let (x, mut y) = (vec![1.0f32; 64], vec![0.0f32; 64]);
    // SAFETY: 64 elements each, as many as the kernel touches.
    unsafe { Runtime::emulator(0).launch(doubled(x.as_ptr(), y.as_mut_ptr())) }.expect("as before");
}

#[tile_kernel(tune(warps = [1]), grid = [1])]
unsafe fn stores_unchecked(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    let v = load(x, i);
    store(y, i, v).unchecked(); // [a store past the end]
}

#[test]
fn accesses_past_the_end() {
    let (x, y) = (vec![1.0f32; 61], vec![0.0f32; 64]);
    let outside = "global memory access out of bounds";
    // SAFETY: the emulator checks the bounds that the kernel does not.
    found(
        |rt| unsafe { rt.launch(loads_unchecked(&x, &mut y.clone())) },
        outside,
        "a load past the end",
        &["`x[", "]` (61 elements)"],
    );
    // SAFETY: as above.
    found(
        |rt| unsafe { rt.launch(stores_unchecked(&y, &mut x.clone())) },
        outside,
        "a store past the end",
        &["`y[", "]` (61 elements)"],
    );
    // With the bound, nothing is wrong.
    // SAFETY: 64 elements are loaded and 61 stored.
    unsafe { Runtime::emulator(0).launch(loads_unchecked(&y, &mut x.clone())) }.expect("x is long enough");
}

/// A pointer knows no bounds, and here the mask forgets one.
#[tile_kernel(tune(warps = [1]), grid = [1])]
unsafe fn through_pointers(x: &[f32], p: *mut f32, n: usize) {
    let i = arange(64);
    let v = load(x, i);
    store(p.add(i), v).mask(i < n + 1); // [a store through a pointer]
}

#[test]
fn pointers_without_a_bound() {
    let run = |rt: &Runtime, n: u64| {
        let mut all = vec![0.0f32; 64];
        // The elements to write, and right behind them elements that are only read.
        let (front, back) = all.split_at_mut(32);
        // SAFETY: the emulator stops the store past the elements that the kernel may write.
        unsafe { rt.launch(through_pointers(&*back, front.as_mut_ptr(), n)) }
    };
    found(|rt| run(rt, 32), "store to read-only memory", "a store through a pointer", &["`x[0]` (32 elements)"]);
    run(&Runtime::emulator(0), 31).expect("31 elements are in front");
}

#[tile_kernel(tune(warps = [1]), grid = [3])]
fn stores_of_all_programs(y: &mut [u32]) {
    let v = program_id(0) as u32;
    store(y, arange(32), v + arange(32).to::<u32>()); // [stores to one place]
}

#[tile_kernel(tune(warps = [1]), grid = [4])]
fn reads_the_neighbour(x: &mut [f32], y: &mut [f32]) {
    let i = program_id(0) * 32 + arange(32);
    store(x, i, 2.0); // [what a program leaves]
    let next = load(x, (i + 32) % 128); // [what its neighbor takes]
    store(y, i, next);
}

#[tile_kernel(tune(warps = [2]), grid = [1])]
fn stores_of_all_threads(y: &mut [u32]) {
    let i = arange(64);
    store(y, i % 16, i.to::<u32>()); // [stores of several threads]
}

#[tile_kernel(tune(warps = [2]), grid = [1])]
fn equal_stores_of_all_threads(y: &mut [u32]) {
    store(y, arange(64) % 16, 7); // [equal stores of several threads]
}

#[tile_kernel(tune(warps = [1]), grid = [3])]
fn equal_stores_of_all_programs(y: &mut [u32]) {
    store(y, 0, 7); // [equal stores of several programs]
}

/// Whoever stores last, the value is the same; but each of these is a store too many.
#[test]
fn equal_values_in_one_place() {
    let race = "data race in global memory";
    found(
        |rt| rt.launch(equal_stores_of_all_threads(&mut vec![0; 16])),
        race,
        "equal stores of several threads",
        &["`y["],
    );
    found(
        |rt| rt.launch(equal_stores_of_all_programs(&mut vec![0; 16])),
        race,
        "equal stores of several programs",
        &["`y[0]`"],
    );
}

#[test]
fn races() {
    let race = "data race in global memory";
    let mark = "stores to one place";
    found(
        |rt| rt.launch(stores_of_all_programs(&mut vec![0; 32])),
        race,
        mark,
        &[&format!("on line {}", line(mark)), "of program"],
    );
    conflict(
        |rt| rt.launch(reads_the_neighbour(&mut vec![0.0; 128], &mut vec![0.0; 128])),
        race,
        ["what a program leaves", "what its neighbor takes"],
    );
    let mark = "stores of several threads";
    found(|rt| rt.launch(stores_of_all_threads(&mut vec![0; 16])), race, mark, &[&format!("on line {}", line(mark))]);
}

#[tile_kernel(tune(warps = [1]), grid = [1])]
fn half_written(scratch: &mut [f32], y: &mut [f32], n: usize) {
    let i = arange(64);
    store(scratch, i, 1.0).mask(i < n);
    let v = load(scratch, 63 - i); // [a read of scratch]
    store(y, i, v);
}

#[test]
fn scratch_that_nobody_wrote() {
    let run = |rt: &Runtime, n: u64| {
        let mut scratch = rt.stream().scratch::<f32>(64)?;
        rt.launch(half_written(&mut scratch, &mut vec![0.0; 64], n))
    };
    found(
        |rt| run(rt, 63),
        "read of uninitialized global memory",
        "a read of scratch",
        &["`scratch[62]` (64 elements)"],
    );
    run(&Runtime::emulator(0), 64).expect("all of it is written");
}

/// Programs that wait for the one after them, or for the one before.
#[tile_kernel(tune(LATER = [1, 0], warps = [1]), grid = [4], emulate = all)]
fn in_a_row<const LATER: usize>(flags: &mut [u32]) {
    let order = program_id(0);
    let other = if LATER == 1 { order + 1 } else { (order + 3) % 4 };
    if order != LATER * 3 {
        while atomic_load(flags, other) == 0 {} // [a wait for a later program]
    }
    atomic_store(flags, order, 1);
}

#[test]
fn waits_for_later_programs() {
    let run = |rt: &Runtime, config: &str| {
        let options = tilewright::LaunchOptions::new().config(config);
        rt.launch_with(rt.stream(), in_a_row(&mut vec![0; 4]), &options)
    };
    let found = run(&Runtime::emulator(0), "LATER=1,warps=1").expect_err("the first waits for the second").to_string();
    assert!(found.contains("has loaded `flags[1]` (4 elements) "), "{found}");
    assert!(found.contains(&format!("line {}: wait without end:", line("a wait for a later program"))), "{found}");
    // In ascending order each program comes after the one that it waits for.
    run(&Runtime::emulator(0), "LATER=0,warps=1").expect("it runs");
}

#[tile_kernel(tune(warps = [2]), grid = [2])]
fn counted(x: &[i32], y: &mut [i32]) {
    let v = load(x, program_id(0) * 64 + arange(64));
    device_assert!(v < 100, "counts are below 100"); // [an assertion]
    store(y, program_id(0) * 64 + arange(64), v);
}

#[test]
fn assertions() {
    let mut x: Vec<i32> = (0..128).map(|i| i % 100).collect();
    let run = |x: &[i32], seed| Runtime::emulator(seed).launch(counted(x, &mut vec![0; 128]));
    run(&x, 0).expect("all are below");
    x[77] = 100;
    for seed in [0, 1, 7] {
        let error = run(&x, seed).expect_err("one is not");
        let Error::Assert { kernel: "counted", message } = &error else { panic!("{error}") };
        let wanted = format!("{}, line {}: assertion failed: ", file!(), line("an assertion"));
        assert!(
            message.contains(&wanted)
                && message.contains("counts are below 100")
                && message.contains("program (1, 0, 0)"),
            "{message}"
        );
    }
}

/// Of a function in a module, the line is that of the access in the helper.
#[tilewright::tile_module]
mod helped {
    fn twice<T: Num>(x: &[T], at: usize) -> T {
        let v = load(x, at + arange(32)).unchecked(); // [an access of a helper]
        v * 2.0
    }

    #[tile_kernel(tune(warps = [1]), grid = [1])]
    pub unsafe fn helped_load(x: &[f32], y: &mut [f32]) {
        store(y, arange(32), twice(x, 8));
    }
}

#[test]
fn lines_of_helpers() {
    let x = vec![1.0f32; 32];
    // SAFETY: the emulator checks the bounds that the kernel does not.
    found(
        |rt| unsafe { rt.launch(helped::helped_load(&x, &mut vec![0.0; 32])) },
        "global memory access out of bounds",
        "an access of a helper",
        &["`x[3", "]` (32 elements)"],
    );
}

#[tile_kernel(tune(BLOCK = [1, 64, 128], warps = [1]), grid = [cdiv(y.len(), BLOCK)])]
fn in_parts<const BLOCK: usize>(y: &mut [u8]) {
    store(y, program_id(0) * BLOCK + arange(BLOCK), 1);
}

/// The grid of an emulated configuration is not reported if a configuration that was not emulated has a smaller
/// one.
#[test]
fn a_configuration_that_was_not_emulated_is_no_invalid_grid() {
    let options = tilewright_core::emulator::Options { max_programs: 8, ..Default::default() };
    let run = |n: usize, config: Option<&'static str>| {
        let (rt, mut y) = (Runtime::emulator_with(options.clone()), vec![0u8; n]);
        let options = tilewright::LaunchOptions::new().config(config);
        rt.launch_with(rt.stream(), in_parts(&mut y), &options).map(|()| assert!(y.iter().all(|&y| y == 1)))
    };
    // The first configuration that was emulated has a grid that fits, then the second one, then only one that was not.
    run(8, None).expect("8 programs of 1");
    run(512, None).expect("8 programs of 64");
    for config in [None, Some("BLOCK=128,warps=1")] {
        let error = run(1024, config).expect_err("8 programs of 128, not emulated");
        assert!(matches!(error, Error::NotEmulated { config: "BLOCK=128,warps=1", emulated: None, .. }), "{error}");
        assert!(!error.to_string().contains("grid"), "{error}");
    }
    let error = run(1024, Some("BLOCK=64,warps=1")).expect_err("16 programs");
    let Error::CannotLaunch { config: "BLOCK=64,warps=1", why, .. } = &error else { panic!("{error}") };
    assert!(why.contains("at most 8 programs") && why.contains("which a GPU takes"), "{error}");
}
