//! Configurations: constants with defaults, the kernels that a `tune(..)` is for, and conditions on arguments.

use tilewright::{BackendKind, Buffer, Error, LaunchOptions, tile_kernel, tile_module};
use tilewright_language_tests::run::backends;

#[tile_module]
mod kernels {
    enum Mode {
        Alone,
        Added,
    }

    #[tile_kernel(
        kernel(same, TWICE = false, T = [f32, i32], U = T),
        kernel(twice, TWICE = true, T = f32, U = i32),
        tune(MODE = [Alone], BLOCK = [64]),
        tune(TWICE = [true], MODE = [Alone], BLOCK = [128], TIMES = [3, 1]),
        tune(TWICE = [false], MODE = [Added], BLOCK = [64], warps = [1]),
        requires = [
            if MODE == Mode::Added { more.len() >= BLOCK * TIMES } else { more.len() == 0 },
            x.len() <= 1000 || MODE == Mode::Alone,
        ],
        grid = [cdiv(y.len(), BLOCK)],
        emulate = all,
    )]
    pub fn values<T, U, const TWICE: bool, const MODE: Mode, const BLOCK: usize, const TIMES: usize = 1>(
        x: &[T],
        more: &[T],
        y: &mut [U],
    ) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let mut v = load(x, i);
        if MODE == Mode::Added {
            v = v + load(more, arange(BLOCK));
        }
        let all = if TWICE { v + v } else { v };
        store(y, i, (all * TIMES.to::<T>()).to::<U>());
    }
}
use kernels::*;

fn ids(configs: &'static [tilewright_core::ConfigDesc]) -> Vec<&'static str> {
    configs.iter().map(|c| c.id).collect()
}

/// Whole blocks alone. The grid of a block that is too large is empty, and its condition does not hold.
#[tile_kernel(
    tune(BLOCK = [1024, 256], warps = [4]),
    requires = [if BLOCK >= 512 { x.len() % BLOCK == 0 && x.len() > 0 } else { x.len() % BLOCK == 0 }],
    grid = [x.len() / BLOCK],
    emulate = all,
)]
fn of_whole_blocks<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(y, i, load(x, i) + 1.0);
}

#[test]
fn a_configuration_without_programs_does_not_stand_for_others() {
    for rt in backends() {
        let (x, mut y) = ([1.0f32; 256], [9.0f32; 256]);
        rt.launch(of_whole_blocks(&x, &mut y)).expect("the second configuration takes it");
        assert_eq!(y, [2.0; 256], "{rt:?}");
        let named = LaunchOptions::new().config("BLOCK=1024,warps=4");
        let refused = rt.launch_with(rt.stream(), of_whole_blocks(&x, &mut y), &named).expect_err("its condition");
        assert!(refused.to_string().contains("x.len() % BLOCK == 0"), "{refused}");
        // No configuration has a program for nothing.
        rt.launch(of_whole_blocks(&[], &mut [])).expect("nothing to do");
    }
}

/// The type of a scalar by an alias, and by a parameter.
mod of_alias {
    use tilewright::tile_module;

    #[tile_module]
    mod kernels {
        type Index = u32;

        #[tile_kernel(types(T = [i32, u64]), tune(BLOCK = [64]), grid = [cdiv(n, BLOCK), cdiv(m, 1)], emulate = all)]
        pub fn counted<T: Num, const BLOCK: usize>(y: &mut [u32], n: Index, m: T) {
            let i = program_id(0) * BLOCK + arange(BLOCK);
            store(y, i, i.to::<u32>() + m.to::<u32>()).mask((i < n.to::<usize>()) & (program_id(1) == 0));
        }
    }

    #[test]
    fn grids_take_scalars_of_named_types() {
        for rt in tilewright_language_tests::run::backends() {
            let mut y = [9u32; 100];
            rt.launch(kernels::counted(&mut y, 70, 2i32)).expect("it runs");
            assert!((0..70).all(|i| y[i] == i as u32 + 2) && y[70..] == [9; 30]);
            rt.launch(kernels::counted(&mut y, 1, 3u64)).expect("it runs");
            assert_eq!(y[..2], [3, 3]);
        }
    }
}

#[test]
fn a_tune_is_for_the_kernels_that_are_given_its_constants() {
    let of = <(f32,) as same::Types>::DESC;
    assert_eq!(ids(of.configs), ["MODE=Alone,BLOCK=64,warps=4", "MODE=Added,BLOCK=64,warps=1"]);
    // A constant that has its default value is not in the id.
    let wanted =
        ["MODE=Alone,BLOCK=64,warps=4", "MODE=Alone,BLOCK=128,TIMES=3,warps=4", "MODE=Alone,BLOCK=128,warps=4"];
    assert_eq!(ids(twice::DESCS[0].configs), wanted);
    assert!(twice::DESCS[0].configs.iter().all(|c| c.consts.iter().any(|(n, _)| *n == "TIMES")));
}

#[test]
fn the_first_configuration_whose_conditions_hold_is_launched() {
    let x: Vec<i32> = (0..150).collect();
    let more: Vec<i32> = (0..64).map(|i| 1000 * i).collect();
    for rt in backends() {
        let (mut alone, mut added) = (vec![0i32; 150], vec![0i32; 150]);
        rt.launch(same(&x, &[][..], &mut alone)).expect("the one without more");
        rt.launch(same(&x, &more, &mut added)).expect("the one with more");
        assert_eq!(alone, x);
        assert!(added.iter().enumerate().all(|(i, v)| *v == x[i] + more[i % 64]), "{added:?}");
        let mut y = vec![0i32; 3];
        let options = LaunchOptions::new().config("MODE=Alone,BLOCK=128,TIMES=3,warps=4");
        rt.launch_with(rt.stream(), twice(&[1.0, 2.0, 3.5], &[][..], &mut y), &options).expect("it asks for nothing");
        assert_eq!(y, [6, 12, 21]);
    }
}

#[test]
fn a_configuration_whose_conditions_do_not_hold_is_refused_with_the_condition() {
    let long = vec![1i32; 1001];
    for rt in backends() {
        let refused = |config: &'static str, x: &[i32], more: &[i32]| {
            let mut y = vec![7i32; x.len()];
            let options = LaunchOptions::new().config(config);
            let e = rt.launch_with(rt.stream(), same(x, more, &mut y), &options).expect_err("refused");
            assert!(matches!(e, Error::CannotLaunch { .. }) && y.iter().all(|v| *v == 7), "{e}");
            e.to_string()
        };
        let short = refused("MODE=Added,BLOCK=64,warps=1", &[1, 2], &[3]);
        assert!(short.contains("it requires `more.len() >= BLOCK * TIMES && x.len() <= 1000"), "{short}");
        let alone = refused("MODE=Alone,BLOCK=64,warps=4", &[1, 2], &[3]);
        assert!(alone.contains("it requires `more.len() == 0`"), "{alone}");
        // No configuration takes so many elements with more of them.
        let mut y = vec![7i32; long.len()];
        rt.launch(same(&long, &long, &mut y)).expect_err("nothing takes it");
    }
}

/// Each block of `y` gets its number of elements.
#[tile_kernel(
    tune(BLOCK = [1024], arch = [cpu]),
    tune(BLOCK = [64, 128]),
    tune(BLOCK = [4096], arch = [cpu]),
    grid = [cdiv(y.len(), BLOCK)],
    emulate = all,
)]
fn block_of_the_device<const BLOCK: usize>(y: &mut [f32]) {
    store(y, program_id(0) * BLOCK + arange(BLOCK), BLOCK as f32);
}

#[test]
fn a_configuration_may_be_for_the_cpu_alone() {
    let of = block_of_the_device::DESCS[0].configs;
    let wanted = ["BLOCK=64,warps=4", "BLOCK=128,warps=4", "BLOCK=1024,arch=cpu", "BLOCK=4096,arch=cpu"];
    assert_eq!(ids(of), wanted, "those of the CPU come last");
    assert_eq!(of.iter().map(|c| c.is_for_cpu()).collect::<Vec<_>>(), [false, false, true, true]);
    for rt in backends() {
        let mut y = vec![0.0f32; 100];
        rt.launch(block_of_the_device(&mut y)).expect("every device has one");
        let on_cpu = rt.kind() == BackendKind::Cpu;
        assert_eq!(y, [if on_cpu { 1024.0 } else { 64.0 }; 100], "a few elements: the first of the device");
        let named = LaunchOptions::new().config(wanted[3]);
        let launched = rt.launch_with(rt.stream(), block_of_the_device(&mut y), &named);
        assert_eq!(launched.is_ok(), on_cpu, "{launched:?}");
        // Fewer programs, each of which is larger.
        let enough = rt.device().num_sms * 8 * 4096;
        if on_cpu {
            let mut y = vec![0.0f32; enough];
            rt.launch(block_of_the_device(&mut y)).expect("it runs");
            assert_eq!(y[0], 4096.0);
        }
    }
}

#[tile_module]
mod rows {
    /// A row in one tile: the least one, or the first that holds it.
    #[tile_kernel(
        kernel(least, EXACT = true),
        kernel(first, EXACT = false),
        tune(BLOCK = [64, 256, 128], warps = [1]),
        requires = [if EXACT { BLOCK == max(next_power_of_two(x.dim(1)), 64) } else { x.dim(1) <= BLOCK }],
        grid = [x.dim(0)],
        emulate = all,
    )]
    pub fn sums<const EXACT: bool, const BLOCK: usize>(x: View<f32, 2>, y: &mut [f32]) {
        let row = program_id(0);
        store(y, 2 * row, sum(x.tile([row, 0], [1, BLOCK])));
        store(y, 2 * row + 1, BLOCK as f32);
    }
}

#[test]
fn a_row_is_in_a_tile_that_holds_it() {
    let x = [1.0f32; 514];
    for rt in backends() {
        let run = |exact: bool, columns: usize| {
            let (b, mut y) = (Buffer::from_slice(&rt, &x[..2 * columns]).expect("memory"), vec![0.0f32; 4]);
            let view = b.view([2, columns]).expect("two rows");
            let call = if exact { rows::least(view, &mut y) } else { rows::first(view, &mut y) };
            rt.launch(call).map(|_| y)
        };
        for (columns, least, first) in [(3, 64.0, 64.0), (64, 64.0, 64.0), (65, 128.0, 256.0), (200, 256.0, 256.0)] {
            let n = columns as f32;
            assert_eq!(run(true, columns).expect("it runs"), [n, least, n, least], "{columns}");
            assert_eq!(run(false, columns).expect("it runs"), [n, first, n, first], "{columns}");
        }
        let e = run(false, 257).expect_err("no tile holds it").to_string();
        assert!(e.contains("x.dim(1) <= BLOCK"), "{e}");
    }
}
