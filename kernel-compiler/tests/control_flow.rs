//! Control flow that is decided at compile time, or made of the loops and branches that the IR has.

use crate::parameters::{kernels, program};
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::driver;

/// The mistakes of a kernel with this body, in a module with these items.
fn mistakes(items: &str, body: &str) -> Vec<String> {
    let d = Diagnostics::default();
    let k =
        kernels("", &format!("{items} #[tile_kernel(grid = [1])] fn k(y: &mut [f32], n: usize, a: f32) {{ {body} }}"));
    k[0].instances().iter().for_each(|i| drop(driver::instance(&k[0], &i.choice, i.config, &d)));
    d.take().into_iter().map(|e| e.message).collect()
}

#[test]
fn an_early_return_is_the_value_of_a_helper() {
    let early = "
        fn scaled(v: f32, n: usize) -> f32 {
            if n > 4 { return 2.0 * v; }
            let w = v + 1.0;
            if n > 2 { return w; } else if n == 1 { return -w; }
            w * w
        }";
    let nested = "
        fn scaled(v: f32, n: usize) -> f32 {
            if n > 4 { 2.0 * v } else {
                let w = v + 1.0;
                if n > 2 { w } else if n == 1 { -w } else { w * w }
            }
        }";
    let body = "store(y, 0, scaled(a, n));";
    assert_eq!(program(early, body), program(nested, body));
    // Each value has the type that the helper says.
    let halves = "fn half(n: usize) -> f16 { if n > 1 { return 0.5; } 2.0 }";
    let text = program(halves, "store(y, 0, half(n).to::<f32>());");
    assert_eq!(text.matches(": f16 = float").count(), 2, "{text}");
    // On constants the branches that are not taken are not looked at.
    let constant = "
        fn of<const WIDE: bool>(v: f32) -> Tile<f32> {
            if !WIDE { return full([4], v); }
            static_assert!(WIDE);
            full([8], v)
        }";
    let body = "store(y, arange(4), of::<false>(a)); store(z, arange(8), of::<true>(a));";
    let plain = "store(y, arange(4), full([4], a)); store(z, arange(8), full([8], a));";
    assert_eq!(program(constant, body), program("", plain));
    // Of a `let`, of a `match`, of a closure, and without a value.
    let more = "
        fn first(v: f32, n: usize) -> f32 {
            let w = if n > 4 { return v; } else { v + 1.0 };
            match n { 0 => return w, 1 => {} _ => return 3.0 }
            w * w
        }
        fn put(y: &mut [f32], n: usize) { if n == 0 { return; } store(y, n, 1.0); }";
    let same = "
        fn first(v: f32, n: usize) -> f32 {
            if n > 4 { v } else { let w = v + 1.0; match n { 0 => w, 1 => w * w, _ => 3.0 } }
        }
        fn put(y: &mut [f32], n: usize) { if n == 0 {} else { store(y, n, 1.0); } }";
    let body = "store(y, 0, first(a, n)); put(y, n);
        let f = |v: f32| { if n > 1 { return v; } -v };
        store(y, 1, f(a));";
    let plain =
        "store(y, 0, first(a, n)); put(y, n); let f = |v: f32| { if n > 1 { v } else { -v } }; store(y, 1, f(a));";
    assert_eq!(program(more, body), program(same, plain));
}

#[test]
fn what_follows_a_return_is_not_looked_at() {
    let body = "if true { store(y, 0, a); return; } static_assert!(false, \"not reached\");";
    assert_eq!(program("", body), program("", "store(y, 0, a); return;"));
}

#[test]
fn a_label_names_a_loop() {
    let labeled = "
        'rows: for i in 0..n {
            for j in 0..n {
                if i * j > 9 { break 'rows; }
                if j > i { continue 'rows; }
                store(y, i + j, a);
            }
            store(z, i, a);
        }";
    let by_hand = "
        for i in 0..n {
            let (from, to) = (0usize, n);
            let mut leaves = false;
            let mut goes_on = false;
            for j in from..to {
                if i * j > 9 { leaves = true; break; }
                if j > i { goes_on = true; break; }
                store(y, i + j, a);
            }
            if leaves { break; }
            if goes_on { continue; }
            store(z, i, a);
        }";
    // But for the order in which constants are made.
    let operations = |text: String| {
        let line = |l: &str| {
            l.split_once(": ")
                .and_then(|(_, l)| l.split_once(" = "))
                .map_or(l, |(_, of)| of)
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_string()
        };
        text.lines()
            .map(str::trim)
            .map(line)
            .filter(|l| !["int", "bool", "m0", "m1"].contains(&l.as_str()))
            .collect::<Vec<_>>()
    };
    assert_eq!(operations(program("", labeled)), operations(program("", by_hand)));
    // Code that is laid out in a row leaves the loop around it.
    let in_a_row = "'all: while n > 0 { for i in static_range(0..2) { if n > i { break 'all; } } store(y, 0, a); }";
    let plain = "while n > 0 { if n > 0usize { break; } if n > 1usize { break; } store(y, 0, a); }";
    assert_eq!(program("", in_a_row), program("", plain));
    let wrong = mistakes("", "for i in 0..n { store(y, i, a); break 'rows; }");
    assert_eq!(wrong, ["no loop around has the label `'rows`"]);
    // Three loops, and loops beside the loop that is left.
    let deep = "'a: for i in 0..n { for j in 0..n { for k in 0..n { if k > j { break 'a; } } for l in 0..n { store(y, l, a); } } }";
    let text = program("", deep);
    assert_eq!(text.matches("break").count(), 3, "{text}");
}

#[test]
fn ranges_count_down() {
    let numbers = |range: &str| {
        let text = program("", &format!("for i in static_range({range}) {{ device_assert!(a > (i as f32)); }}"));
        text.lines().filter_map(|l| l.split_once("f32 = float ")).map(|(_, n)| n.trim().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(numbers("10, 0, -4"), ["10.0", "6.0", "2.0"]);
    assert_eq!(numbers("2, -2, -1"), ["2.0", "1.0", "0.0", "-1.0"]);
    assert_eq!(numbers("(0..7).step_by(3).rev()"), ["6.0", "3.0", "0.0"]);
    assert_eq!(numbers("1..=3"), ["1.0", "2.0", "3.0"]);
    assert_eq!(numbers("3, 3, -1"), [""; 0]);
    // The number of iterations is a constant where the bounds are.
    let text = program("", "for i in range(10i32, 0, -3) { store(y, i, a); }");
    assert!(text.contains("u32 = int 4\n"), "{text}");
    let text = program("", "for i in (0..n).rev() { store(y, i, a); }");
    assert!(text.contains("sub"), "{text}");
    assert_eq!(program("", "for i in 0..=n { store(y, i, a); }"), program("", "for i in 0..n + 1 { store(y, i, a); }"));
}

/// A step of 0 ends, and asks for nothing where it cannot be 0.
#[test]
fn a_step_of_no_length_ends() {
    let text = program("", "for i in range(0, 10, n) { store(y, i, a); }");
    assert!(text.contains("ne") && text.find("if").is_some_and(|at| at < text.find("for").expect("a loop")), "{text}");
    let plain = program("", "for i in range(0, n, 2 * num_programs(0)) { store(y, i, a); }");
    assert!(!plain.contains("if "), "{plain}");
    // A sum of signed numbers may be 0.
    let sum = program("", "for i in range(0, n, (a.to::<i32>() + 1).to::<usize>()) { store(y, i, a); }");
    assert!(sum.contains("if "), "{sum}");
    let bounded = program("", "for i in range(0, n, max(a.to::<i32>(), 1).to::<usize>()) { store(y, i, a); }");
    assert!(!bounded.contains("if "), "{bounded}");
    let wrong = mistakes("", "for i in range(0, 10, 0) { store(y, i, a); }");
    assert_eq!(wrong, ["a step of 0 goes nowhere: a step is 1 or more, or counts down"]);
    let wrong = mistakes("", "for i in range(n, -1, -1) { store(y, i, a); }");
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].contains("`(0..n).rev()`"), "{wrong:?}");
}

#[test]
fn a_match_on_a_scalar_is_a_chain_of_ifs() {
    let body = "let v = match n { 0 => a, 1 | 2 => 2.0 * a, _ => 3.0 }; store(y, 0, v);";
    let plain = "let v = if n == 0 { a } else if (n == 1) | (n == 2) { 2.0 * a } else { 3.0 }; store(y, 0, v);";
    assert_eq!(program("", body), program("", plain));
    let body = "let v = match a > 1.0 { false => 1.0, true => a }; store(y, 0, v);";
    let text = program("", body);
    assert_eq!(text.matches("if ").count(), 1, "{text}");
    assert_eq!(
        mistakes("", "match n { 0 => store(y, 0, a), 1 => store(y, 1, a) }"),
        ["a `match` on an integer ends with an arm `_`"]
    );
}

#[test]
fn a_nest_of_static_ranges_has_a_bound() {
    let nest = |n: usize| {
        format!("for i in static_range(0..{n}) {{ for j in static_range(0..{n}) {{ store(y, i * {n} + j, a); }} }}")
    };
    assert_eq!(mistakes("", &nest(32)), [""; 0]);
    let wrong = mistakes("", &nest(512));
    assert!(
        wrong.len() == 1 && wrong[0].starts_with("static_range lays out ") && wrong[0].contains("512 times"),
        "{wrong:?}"
    );
    // Helpers that call helpers twice.
    let helpers: String = (0..30)
        .map(|i| format!("fn f{i}(v: f32) -> f32 {{ f{0}(v) + f{0}(v + 1.0) }} ", i + 1))
        .chain(["fn f30(v: f32) -> f32 { v * v }".into()])
        .collect();
    let wrong = mistakes(&helpers, "store(y, 0, f0(a));");
    assert!(wrong.len() == 1 && wrong[0].contains("more than 65536 operations"), "{wrong:?}");
}

#[test]
fn a_constant_may_call_a_const_fn() {
    let items =
        "const fn rows(block: usize) -> usize { if block > 64 { return 4; } block / 8 } const ROWS: usize = rows(32);";
    let body = "store(y, arange(ROWS), a); store(z, arange(rows(128)), a);";
    assert_eq!(program(items, body), program("", "store(y, arange(4), a); store(z, arange(4), a);"));
}

#[test]
fn the_next_power_of_two_is_a_constant() {
    let items = "const COLUMNS: usize = 100;";
    let body = "store(y, arange(next_power_of_two(COLUMNS)), a);";
    assert_eq!(program(items, body), program("", "store(y, arange(128), a);"));
    assert!(mistakes("", "store(y, next_power_of_two(n), a);")[0].contains("known at compile time"));
    let k = kernels(
        "",
        "#[tile_kernel(tune(BLOCK = [64, 128]), requires = [BLOCK == next_power_of_two(x.len())], grid = [1])]
         fn k<const BLOCK: usize>(x: &mut [f32]) { store(x, arange(BLOCK), 1.0); }",
    );
    let i = &k[0].instances()[1];
    let d = Diagnostics::default();
    let (code, text) = tilewright_compiler::emit::grid::condition(&k[0], &i.choice, i.config, &d)
        .expect("no mistake")
        .expect("a condition");
    assert_eq!(code, "(128u64 == u64::checked_next_power_of_two(g.words[1]).unwrap_or(u64::MAX))");
    assert_eq!(text, "BLOCK == next_power_of_two(x.len())");
}
