//! Assertions and prints: their messages and places.

use tilewright::tile_kernel;
use tilewright::{Error, Runtime};

#[tile_kernel(tune(BLOCK = [32, 64], warps = [1, 2]), grid = [1], emulate = all)]
fn checked<const BLOCK: usize>(x: &[i32], y: &mut [i32]) {
    static_assert!(BLOCK % 32 == 0, "whole warps");
    static_assert!(BLOCK <= 64);
    let v = load(x, arange(BLOCK));
    device_assert!(v >= 0, "counts are not negative");
    let all = sum(v);
    device_assert!(all < 1000);
    store(y, arange(BLOCK), v + all);
}

/// The lines of the assertions above.
const OF_TILE: u32 = line!() - 7;
const OF_SCALAR: u32 = line!() - 6;

#[test]
fn assertions_name_their_line() {
    for config in checked::DESCS[0].configs {
        let n = config.consts[0].1 as usize;
        for (name, rt) in [("CPU", Runtime::cpu()), ("emulator", Runtime::emulator(3))] {
            let run = |x: &[i32]| {
                let mut y = vec![0; n];
                let options = tilewright::LaunchOptions::new().config(config.id);
                rt.launch_with(rt.stream(), checked(x, &mut y[..]), &options).map(|()| y)
            };
            let mut x: Vec<i32> = (0..n as i32).map(|i| i % 5).collect();
            let all: i32 = x.iter().sum();
            assert_eq!(run(&x).expect("nothing is wrong"), x.iter().map(|v| v + all).collect::<Vec<_>>(), "{name}");
            let fails = |x: &[i32], message: &str, line: u32| match run(x) {
                Err(Error::Assert { kernel: "checked", message: found }) => {
                    let start = format!("{}, line {line}: assertion failed: ", file!());
                    assert!(
                        found.starts_with(&start) && found.contains(message) && found.contains("[program (0, 0, 0)"),
                        "{name}: {found}, not {start}"
                    );
                }
                other => panic!("{name}: {other:?}"),
            };
            x[7] = -1;
            fails(&x, "counts are not negative", OF_TILE);
            x[7] = 1000;
            fails(&x, "device_assert failed", OF_SCALAR);
        }
    }
}

/// Run by the test below, which reads stderr.
#[test]
#[ignore = "fails an assertion of a kernel"]
fn fails_an_assertion() {
    let (x, mut y) = ([-1; 32], [0; 32]);
    let error = Runtime::cpu().launch(checked(&x[..], &mut y[..])).expect_err("it is negative");
    println!("returned: {error}");
}

/// The kernel fails: the panic of a thread of this process and its place tell the user nothing.
#[test]
fn an_assertion_on_the_cpu_prints_no_backtrace() {
    let program = std::env::current_exe().expect("this program");
    let out = std::process::Command::new(program)
        .args(["builtins::debug::fails_an_assertion", "--exact", "--ignored", "--nocapture"])
        .env("RUST_BACKTRACE", "1")
        .output()
        .expect("it starts");
    let [text, errors] = [out.stdout, out.stderr].map(|t| String::from_utf8(t).expect("text"));
    assert!(text.contains(&format!("returned: checked: {}, line {OF_TILE}: assertion failed: ", file!())), "{text}");
    assert!(!errors.contains("panicked") && !errors.contains("backtrace"), "{errors}");
}

#[tile_kernel(types(T = [f32, i8, u64, bool]), tune(warps = [1]), grid = [2])]
fn printed<T: Element>(x: &[T], y: &mut [T]) {
    let first = load(x, program_id(0));
    device_print!("first", first);
    let v = load(x, arange(4));
    device_print!("some of x", v);
    store(y, program_id(0), first);
}

/// The line of its first print.
const PRINT: u32 = line!() - 7;

fn print<T: tilewright_core::Element>(rt: &Runtime, x: &[T; 4])
where
    (T,): printed::Types,
{
    let mut y = [x[3]; 2];
    rt.launch(printed::<T>(&x[..], &mut y[..])).expect("it runs");
}

/// Run by the test below, which reads the output.
#[test]
#[ignore = "prints"]
fn prints() {
    for rt in [Runtime::cpu(), Runtime::emulator(0)] {
        println!("next");
        print(&rt, &[1.5f32, -0.25, 3.0, f32::INFINITY]);
        print(&rt, &[1i8, -128, 3, 4]);
        print(&rt, &[u64::MAX, 0, 3, 4]);
        print(&rt, &[true, false, true, true]);
    }
    println!("end");
}

#[test]
fn prints_say_what_and_who() {
    let program = std::env::current_exe().expect("this program");
    let out = std::process::Command::new(program)
        .args(["builtins::debug::prints", "--exact", "--ignored", "--nocapture"])
        .output()
        .expect("it starts");
    let text = String::from_utf8(out.stdout).expect("text");
    assert!(out.status.success(), "{text}");
    let parts: Vec<&str> = text.split("next\n").skip(1).collect();
    let [cpu, emulator] = parts[..] else { panic!("{text}") };
    let emulator = emulator.split("end\n").next().expect("a part");
    for line in [
        "program (0, 0, 0) first: 1.5",
        "program (1, 0, 0) first: -0.25",
        "program (0, 0, 0) some of x: 1 -128 3 4",
        "program (1, 0, 0) first: 0",
        "first: 18446744073709551615",
        "some of x: true false true true",
    ] {
        assert!(cpu.lines().any(|l| l.ends_with(line)), "{line:?} is not in\n{cpu}");
    }
    // One line for each thread's element.
    let of = |what: &str| emulator.lines().filter(|l| l.starts_with(what)).count();
    assert!(
        of("first program (0, 0, 0) thread 0 ") >= 4 && of("some of x program (1, 0, 0) thread ") >= 16,
        "{emulator}"
    );
    for end in [": 1.5", ": -0.25", ": -128", ": 18446744073709551615"] {
        assert!(
            emulator.lines().any(|l| l.contains(&format!(" line {PRINT}")) && l.ends_with(end)),
            "{end:?} is not in\n{emulator}"
        );
    }
}
