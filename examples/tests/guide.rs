//! The host code of the book's guide, `docs/guide`, with its results.

// ANCHOR: imports
use tilewright::tuning::{Autotune, Source};
use tilewright::{Buffer, Error, LaunchOptions, Runtime, Stream, f16};
use tilewright_examples::guide::{axpy, gate, histogram, scale_rows, shift_in_place};
// ANCHOR_END: imports
use tilewright::{AsSlice, Event, ops};
use tilewright_examples::guide::{leaky_rows, mean_of_rows, soft_rows};

// ANCHOR: test
fn check(rt: &Runtime) -> Result<(), Error> {
    for n in [0, 1, 1023, 1024, 5000] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let expected: Vec<f32> = x.iter().map(|v| 2.0 * v + 1.0).collect();
        let x = Buffer::from_slice(rt, &x)?;
        let mut y = Buffer::from_slice(rt, &vec![1.0f32; n])?;
        rt.launch(axpy(2.0, &x, &mut y))?;
        assert_eq!(y.to_vec()?, expected, "{n} elements on {rt:?}");
    }
    Ok(())
}

#[test]
fn on_the_cpu() -> Result<(), Error> {
    check(&Runtime::cpu())
}

#[test]
fn on_the_emulated_multiprocessor() -> Result<(), Error> {
    for seed in 0..3 {
        check(&Runtime::emulator(seed))?;
    }
    Ok(())
}

#[test]
fn on_the_gpu() -> Result<(), Error> {
    match Runtime::cuda(0) {
        Ok(rt) if rt.without_code(&[axpy::DESCS[0]]).is_none() => return check(&rt),
        Ok(_) => eprintln!("skipped: this build has no code for the GPU"),
        Err(e) => eprintln!("skipped: {e}"),
    }
    Ok(())
}
// ANCHOR_END: test

// ANCHOR: every_configuration
#[test]
fn every_configuration() -> Result<(), Error> {
    for rt in [Runtime::cpu(), Runtime::emulator(1)] {
        for config in axpy::DESCS[0].configs {
            let x = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0])?;
            let mut y = Buffer::from_slice(&rt, &[10.0f32, 20.0, 30.0])?;
            let options = LaunchOptions::new().config(config.id);
            match rt.launch_with(rt.stream(), axpy(2.0, &x, &mut y), &options) {
                // Without `emulate = all` the emulated SM has some of them.
                Err(Error::NotEmulated { .. }) => continue,
                launched => launched?,
            }
            assert_eq!(y.to_vec()?, [12.0, 24.0, 36.0], "{}", config.id);
        }
    }
    Ok(())
}
// ANCHOR_END: every_configuration

#[test]
fn pins_a_configuration() -> Result<(), Error> {
    let rt = Runtime::cpu();
    let x = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0])?;
    let mut y = Buffer::from_slice(&rt, &[10.0f32, 20.0, 30.0])?;
    // ANCHOR: pin
    let options = LaunchOptions::new().config("BLOCK=2048,warps=4");
    rt.launch_with(rt.stream(), axpy(2.0, &x, &mut y), &options)?;
    // ANCHOR_END: pin
    assert_eq!(y.to_vec()?, [12.0, 24.0, 36.0]);
    let ids: Vec<&str> = axpy::DESCS[0].configs.iter().map(|c| c.id).collect();
    assert_eq!(ids, ["BLOCK=1024,warps=4", "BLOCK=2048,warps=4"]);
    let options = LaunchOptions::new().config("BLOCK=512,warps=4");
    let refused = rt.launch_with(rt.stream(), axpy(2.0, &x, &mut y), &options);
    assert!(matches!(refused, Err(Error::UnknownConfig { .. })), "{refused:?}");
    Ok(())
}

#[test]
fn views() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: views
    let (rows, columns) = (3, 1000);
    let x: Vec<f16> = (0..rows * columns).map(|i| f16::from_f32((i % 7) as f32)).collect();
    let x = Buffer::from_slice(&rt, &x)?;
    let scale = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0])?;
    let mut y = Buffer::<f16>::zeros(&rt, rows * columns)?;
    rt.launch(scale_rows(x.view([rows, columns])?, &scale, y.view_mut([rows, columns])?))?;
    let first_of_each_row: Vec<f32> = y.to_vec()?.chunks(columns).map(|row| row[0].to_f32()).collect();
    // ANCHOR_END: views
    assert_eq!(first_of_each_row, [0.0, 12.0, 15.0]);

    let x = Buffer::from_slice(&rt, &(0..12).map(|i| i as f32).collect::<Vec<_>>())?;
    let mut y = Buffer::<f32>::zeros(&rt, 6)?;
    let ones = Buffer::from_slice(&rt, &[1.0f32; 4])?;
    // ANCHOR: strided
    // Two rows of three columns, the rows four elements apart.
    let part = x.as_slice_arg().strided([2, 3], [4, 1]).expect("it lies in the buffer");
    rt.launch(scale_rows(part, &ones, y.view_mut([2, 3])?))?;
    assert_eq!(y.to_vec()?, [0.0, 1.0, 2.0, 4.0, 5.0, 6.0]);
    // The same rows from element 4 on.
    let part = x.slice(4..)?.strided([2, 3], [4, 1]).expect("it lies in the buffer");
    rt.launch(scale_rows(part, &ones, y.view_mut([2, 3])?))?;
    assert_eq!(y.to_vec()?, [4.0, 5.0, 6.0, 8.0, 9.0, 10.0]);
    // The transpose: no element moves.
    let part = x.slice(..6)?.view([2, 3]).expect("six elements").flipped();
    rt.launch(scale_rows(part, &ones, y.view_mut([3, 2])?))?;
    assert_eq!(y.to_vec()?, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    // ANCHOR_END: strided
    let refused = y.view([2, 4]);
    assert!(matches!(refused, Err(Error::View(_))));
    Ok(())
}

#[test]
fn streams() -> Result<(), Error> {
    let rt = Runtime::cpu();
    let x = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0])?;
    let mut y = Buffer::from_slice(&rt, &[10.0f32, 20.0, 30.0])?;
    // ANCHOR: stream
    let stream = Stream::new(&rt)?;
    let (start, end) = (Event::new(&rt)?, Event::new(&rt)?);
    start.record(&stream)?;
    rt.launch_on(&stream, axpy(2.0, &x, &mut y))?;
    end.record(&stream)?;
    let on_the_device = end.since(&start)?;
    let result = y.to_vec_on(&stream)?;
    // ANCHOR_END: stream
    assert!(on_the_device.as_secs() < 60);
    assert_eq!(result, [12.0, 24.0, 36.0]);
    // ANCHOR: prepare
    let mut launcher = rt.prepare(axpy(2.0, &x, &mut y))?;
    for _ in 0..3 {
        launcher.run()?;
    }
    // ANCHOR_END: prepare
    assert_eq!(launcher.grid(), [1, 1, 1]);
    assert_eq!(y.to_vec()?, [18.0, 36.0, 54.0]);
    Ok(())
}

/// On a GPU alone.
fn replays(rt: &Runtime) -> Result<Vec<f32>, Error> {
    // ANCHOR: graph
    let stream = Stream::new(rt)?;
    let x = Buffer::from_slice(rt, &[1.0f32, 2.0, 3.0])?;
    let mut y = Buffer::<f32>::zeros(rt, 3)?;
    // The first launch loads the code, and tunes where that is allowed. A capture does neither.
    rt.launch_on(&stream, axpy(2.0, &x, &mut y))?;
    let graph = stream.capture(|s| rt.launch_on(s, axpy(2.0, &x, &mut y)))?;
    for _ in 0..3 {
        // SAFETY: both buffers are alive, and no other work uses them.
        unsafe { graph.replay(&stream) }?;
    }
    let result = y.to_vec_on(&stream)?;
    // ANCHOR_END: graph
    Ok(result)
}

#[test]
fn graphs() -> Result<(), Error> {
    let refused = replays(&Runtime::cpu());
    assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
    match Runtime::cuda(0) {
        Ok(rt) if rt.without_code(&[axpy::DESCS[0]]).is_none() => assert_eq!(replays(&rt)?, [8.0, 16.0, 24.0]),
        _ => eprintln!("skipped: no GPU, or no code for it"),
    }
    Ok(())
}

#[test]
fn tunes() -> Result<(), Error> {
    let rt = Runtime::cpu();
    let x = Buffer::from_slice(&rt, &vec![1.0f32; 100_000])?;
    let mut y = Buffer::<f32>::zeros(&rt, 100_000)?;
    // ANCHOR: tune
    rt.set_cache_dir(None); // the results of this process stay in it
    let report = rt.tune(rt.stream(), axpy(2.0, &x, &mut y))?;
    for c in &report.candidates {
        println!("{}: {:?}", c.id, c.outcome);
    }
    let chosen = &report.candidates[report.winner].id;
    let (config, source) = rt.configuration(&axpy(2.0, &x, &mut y))?;
    assert_eq!((config, source), (chosen.as_str(), Source::Tuned));
    // ANCHOR_END: tune
    assert_eq!(report.candidates.len(), 2);
    assert_eq!(y.to_vec()?, vec![0.0; 100_000], "outputs are as before");
    // ANCHOR: off
    rt.set_autotune(Autotune::Off);
    // ANCHOR_END: off
    assert_eq!(rt.autotune(), Autotune::Off);
    Ok(())
}

// ANCHOR: race
#[test]
fn the_emulator_reports_a_race() -> Result<(), Error> {
    let rt = Runtime::emulator(1);
    let mut x = Buffer::from_slice(&rt, &vec![1.0f32; 1000])?;
    match rt.launch(shift_in_place(&mut x)) {
        Err(Error::Emulator { report, .. }) => assert!(report.contains("data race in global memory"), "{report}"),
        other => panic!("not found: {other:?}"),
    }
    Ok(())
}
// ANCHOR_END: race

#[test]
fn assertions() -> Result<(), Error> {
    for rt in [Runtime::cpu(), Runtime::emulator(1)] {
        let keys = Buffer::from_slice(&rt, &[0u32, 2, 2, 1])?;
        let mut counts = Buffer::<u32>::zeros(&rt, 3)?;
        rt.launch(histogram(&keys, &mut counts))?;
        assert_eq!(counts.to_vec()?, [1, 1, 2]);
        let mut short = Buffer::<u32>::zeros(&rt, 2)?;
        let failed = rt.launch(histogram(&keys, &mut short)).expect_err("a key is too large").to_string();
        assert!(failed.contains("a key is less than the number of counts"), "{failed}");
    }
    Ok(())
}

// ANCHOR: emulator_options
#[test]
fn no_bank_conflicts_on_eight_multiprocessors() -> Result<(), Error> {
    use tilewright::kernel::emulator::Options;
    let rt = Runtime::emulator_with(Options { num_sms: 8, forbid_bank_conflicts: true, ..Default::default() });
    check(&rt)
}
// ANCHOR_END: emulator_options

#[test]
fn kernels_of_a_library() -> Result<(), Error> {
    for rt in [Runtime::cpu(), Runtime::emulator(1)] {
        let x = Buffer::from_slice(&rt, &[-1.0f32, 1.0, 3.0, 3.0])?;
        let mut y = Buffer::<f32>::zeros(&rt, 4)?;
        rt.launch(leaky_rows(x.view([2, 2])?, y.view_mut([2, 2])?))?;
        assert_eq!(y.to_vec()?, [-0.01, 1.0, 3.0, 3.0]);
        rt.launch(soft_rows(x.view([2, 2])?, y.view_mut([2, 2])?))?;
        assert_eq!(y.to_vec()?[2..], [0.5, 0.5]);
    }
    Ok(())
}

#[test]
fn a_library_of_another_crate() -> Result<(), Error> {
    for rt in [Runtime::cpu(), Runtime::emulator(5)] {
        let mut y = [0.0; 3];
        rt.launch(gate(&[0.0, 1.0, -1.0], &[5.0, 2.0, 2.0], &mut y))?;
        let wanted = [0.0, 2.0 / (1.0 + (-1.0f32).exp()), -2.0 / (1.0 + 1.0f32.exp())];
        assert!(y.iter().zip(wanted).all(|(y, w)| (y - w).abs() < 1e-6), "{y:?}");
    }
    Ok(())
}

#[test]
fn means() -> Result<(), Error> {
    for rt in [Runtime::cpu(), Runtime::emulator(1)] {
        let x = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 10.0, 20.0, 30.0])?;
        let mut y = Buffer::<f32>::zeros(&rt, 2)?;
        rt.launch(mean_of_rows(&x, &mut y, 3))?;
        assert_eq!(y.to_vec()?, [2.0, 20.0]);
    }
    Ok(())
}

#[test]
fn batches() -> Result<(), Error> {
    let rt = Runtime::cpu();
    let a = Buffer::from_slice(&rt, &[0.1f32; 64 * 300])?;
    let b = Buffer::from_slice(&rt, &[0.3f32; 300 * 8])?;
    let (mut one, mut all) = (Buffer::<f32>::zeros(&rt, 8)?, Buffer::<f32>::zeros(&rt, 64 * 8)?);
    // ANCHOR: batch_invariant
    let on = ops::ExecOptions::new(&rt).batch_invariant(true);
    let row = a.slice(..300)?.view([1, 300])?;
    ops::Matmul::new(row, b.view([300, 8])?, one.view_mut([1, 8])?).launch(&on)?;
    ops::Matmul::new(a.view([64, 300])?, b.view([300, 8])?, all.view_mut([64, 8])?).launch(&on)?;
    assert_eq!(one.to_vec()?, all.to_vec()?[..8]);
    // ANCHOR_END: batch_invariant
    Ok(())
}
