//! Block pointers in index arithmetic and masks: the ones that are found, and their launch guards.

use tilewright_compiler::ir::walk::walk;
use tilewright_compiler::ir::{BlockPointer, Func, Number, Op, StmtKind, Test};
use tilewright_compiler::passes::block_pointers;
use tilewright_compiler::variant::Transposed;

/// A kernel with a loop over tiles of its matrices: the code before the loop, and the load of an iteration.
fn looped(begin: &str, load: &str) -> Func {
    crate::common::func(&format!(
        "#[tile_kernel(grid = [1])]
         pub unsafe fn k(a: *const f16, x: &[f16], out: *mut f32, m: usize, n: usize, k: usize, s: usize, t: usize, batch: usize, short: i32) {{
             let (i, j) = (arange(64), arange(32));
             let rows = program_id(0) * 64 + i;
             let mut sum = zeros::<f32>([64, 32]);
             {begin}
             for start in range(0, k, 32) {{
                 let depth = start + j;
                 {load}
             }}
             store(out.add(rows.expand(1) * 32 + j.expand(0)), sum);
         }}"
    ))
}

/// Names of argument words, as in the kernel above.
fn number(n: &Number) -> String {
    const NAMES: [&str; 11] = ["a", "x", "len", "out", "m", "n", "k", "s", "t", "batch", "short"];
    let constant = match n.times {
        1 if !n.words.is_empty() => None,
        n if n == (1 << 31) - 128 => Some("any".into()),
        n => Some(n.to_string()),
    };
    constant.into_iter().chain(n.words.iter().map(|&w| NAMES[w].to_string())).collect::<Vec<_>>().join("·")
}

fn text(w: &BlockPointer) -> String {
    w.dims.iter().map(|d| format!("{}/{}", number(&d.extent), number(&d.stride))).collect::<Vec<_>>().join(" ")
}

/// The block pointer of the load, its extents and strides, and the guards of the function.
fn found(f: &Func, transposed: Transposed) -> (Option<String>, Vec<String>) {
    let mut f = f.clone();
    if block_pointers::run(&mut f, transposed, &mut vec![]).is_err() {
        return (None, vec![]);
    }
    let windows = walk(&f.body).filter_map(|s| {
        if let StmtKind::Let(v) = &s.kind {
            if let Op::Load { block_pointer, .. } = f.op(*v) { block_pointer.as_ref().map(text) } else { None }
        } else {
            None
        }
    });
    let asks = f.guards.iter().map(|r| {
        let of = number(&r.of);
        match r.test {
            Test::Multiple(n) => format!("{of} % {n}"),
            Test::Equal(n) => format!("{of} = {n}"),
            Test::Within(lo, hi) => format!("{lo} <= {of} <= {hi}"),
            Test::AtMost(word) => format!("{of} <= {}", number(&Number::word(word))),
        }
    });
    (windows.last(), asks.collect())
}

fn block_pointer(begin: &str, load: &str) -> (Option<String>, Vec<String>) {
    found(&looped(begin, &format!("sum += {load}.to::<f32>();")), Transposed::default())
}

/// With nothing asked for but that a depth is a number of columns.
fn plain(begin: &str, load: &str) -> Option<String> {
    let (block_pointer, asks) = block_pointer(begin, load);
    assert!(asks.iter().all(|a| a == "0 <= k <= 2147483647"), "{load}: {asks:?}");
    block_pointer
}

const MASK: &str = ".mask((rows.expand(1) < m) & (depth.expand(0) < k))";

#[test]
fn rows_of_a_stride() {
    let at = "a.add(rows.expand(1) * s + depth.expand(0))";
    assert_eq!(plain("", &format!("load({at}){MASK}")).as_deref(), Some("m/s k/1"));
    assert_eq!(plain("", &format!("load({at}){MASK}.other(0.0)")).as_deref(), Some("m/s k/1"));
    assert_eq!(plain("", &format!("load({at})")).as_deref(), Some("any/s any/1"), "all of it is there");
    assert_eq!(plain("", &format!("load({at}).mask(depth.expand(0) < k)")).as_deref(), Some("any/s k/1"));
    assert_eq!(plain("", &format!("load({at}).mask(depth.expand(0) < 100)")).as_deref(), Some("any/s 100/1"));
    assert_eq!(plain("", &format!("load({at}){MASK}.other(1.0)")), None, "zeros are what there is outside");
    assert_eq!(plain("", &format!("load({at}).mask((rows.expand(1) < m) & (n > 3))")), None, "no mask of indices");
    assert_eq!(
        plain("", &format!("load({at}).mask((rows.expand(1) < m) & (rows.expand(1) < n))")),
        None,
        "two extents"
    );
    assert_eq!(plain("", &format!("load({at}).mask(rows.expand(1) + 1 < m)")), None, "one late");
    assert_eq!(plain("", "load(a.add(rows.expand(1) * 1024 + depth.expand(0)))").as_deref(), Some("any/1024 any/1"));
    assert_eq!(plain("", "load(a.add(rows.expand(1) * 1023 + depth.expand(0)))"), None, "no multiple of 16 bytes");
    assert_eq!(plain("", "load(a.add(rows.expand(1) * s + depth.expand(0) * 2))"), None, "no neighbors");
    assert_eq!(plain("", "load(a.add((rows * rows).expand(1) * s + depth.expand(0)))"), None);
    assert_eq!(
        plain("", "load(a.add((rows - 1).expand(1) * s + depth.expand(0)))"),
        None,
        "what is before is in memory, too"
    );
    assert_eq!(
        plain("", "load(a.add((rows - 1).expand(1) * s + depth.expand(0))).mask((rows - 1).expand(1) < m)").as_deref(),
        Some("m/s any/1")
    );
}

/// Without a mask in a dimension, elements below 0 are in memory.
#[test]
fn negative_begins() {
    let from = |begin: &str| {
        block_pointer(begin, "load(a.add((from + i).expand(1) * s + depth.expand(0))).mask(depth.expand(0) < k)")
    };
    assert_eq!(from("let from = program_id(0) * 64;"), (Some("any/s k/1".into()), vec![]));
    assert_eq!(from("let from = n * 64;"), (Some("any/s k/1".into()), vec![format!("0 <= n <= {}", (1 << 30) / 64)]));
    assert_eq!(from("let from = program_id(0) % n;"), (Some("any/s k/1".into()), vec![]));
    assert_eq!(from("let from = min(program_id(0) - n, 8);"), (Some("any/s k/1".into()), vec![]));
    for negative in [
        "let from = program_id(0) + 18446744073709551608;",
        "let from = (-short).to::<usize>();",
        "let from = (short * 64).to::<usize>();",
        "let mut from = program_id(0) * 64; if n > 0 { from = from - 8; }",
        "let from = max(program_id(0) - n, 8);",
        "let from = load(x, 0).to::<usize>();",
        "let from = load(x, 0).to::<u32>() as usize;",
        "let mut from = 0; for i in range(load(x, 0).to::<u32>(), 7, 1) { from = i as usize; }",
        "let from = m * n;",
    ] {
        assert_eq!(from(negative), (None, vec![]), "{negative}");
    }
    let small = "load(a.add((short.to::<usize>() + i).expand(1) * s + depth.expand(0))).mask((depth.expand(0) < k) & ((short.to::<usize>() + i).expand(1) < m))";
    assert_eq!(
        block_pointer("", small),
        (Some("m/s k/1".into()), vec!["0 <= short <= 2147483647".into()]),
        "it has no sign as an argument word"
    );
    // The rest of K is a finite number.
    let back = "let back = j - 8; let mut p = a.add(rows.expand(1) * s + back.expand(0));";
    assert_eq!(
        block_pointer(
            back,
            "load(p).mask(back.expand(0) < k - start).to::<f32>(); p += 32; sum += zeros::<f32>([64, 32])"
        )
        .0,
        None
    );
}

#[test]
fn pointers_that_move_along() {
    let a = "let mut p = a.add(rows.expand(1) * s + j.expand(0));";
    let step = |mask: &str, by: &str| {
        plain(a, &format!("load(p){mask}.to::<f32>(); p += {by}; sum += zeros::<f32>([64, 32])"))
    };
    assert_eq!(step(".mask((rows.expand(1) < m) & (j.expand(0) < k - start))", "32").as_deref(), Some("m/s k/1"));
    assert_eq!(step("", "32").as_deref(), Some("any/s any/1"));
    assert_eq!(step(".mask(j.expand(0) < k - start)", "64"), None, "the mask counts in other steps");
    assert_eq!(step("", "17").as_deref(), Some("any/s any/1"), "a number like any other, that nothing limits");
    assert_eq!(step(".mask(j.expand(0) < k - start)", "17"), None);
    assert_eq!(step(".mask(j.expand(0) < n - start)", "32"), None, "what is left may be negative");
    let by_numbers = |mask: &str| {
        found(
            &crate::common::func(&format!(
                "#[tile_kernel(grid = [1])]
         pub unsafe fn k(a: *const f16, x: &[f16], out: *mut f32, m: usize, n: usize, k: usize, s: usize) {{
             let mut p = a.add(arange(64).expand(1) * s + arange(32).expand(0));
             let mut sum = zeros::<f32>([64, 32]);
             for i in 0..cdiv(k, 32) {{
                 sum += load(p).mask({mask}).to::<f32>();
                 p += 32;
             }}
             store(out.add(arange(64).expand(1) * 32 + arange(32).expand(0)), sum);
         }}"
            )),
            Transposed::default(),
        )
        .0
    };
    assert_eq!(by_numbers("arange(32).expand(0) < k - i * 32").as_deref(), Some("any/s k/1"));
    assert_eq!(by_numbers("arange(32).expand(0) < k - i * 16"), None);
    assert_eq!(by_numbers("arange(32).expand(0) < k + 1 - i * 32"), None);
    let ends = |end: &str| {
        found(
            &crate::common::func(&format!(
                "#[tile_kernel(grid = [1])]
         pub unsafe fn k(a: *const f16, x: &[f16], out: *mut f32, m: usize, n: usize, k: usize, s: usize) {{
             let mut p = a.add(arange(64).expand(1) * s + arange(32).expand(0));
             let mut sum = zeros::<f32>([64, 32]);
             for i in range(0, {end}, 32) {{
                 sum += load(p).mask(arange(32).expand(0) < k - i).to::<f32>();
                 p += 32;
             }}
             store(out.add(arange(64).expand(1) * 32 + arange(32).expand(0)), sum);
         }}"
            )),
            Transposed::default(),
        )
        .0
    };
    assert_eq!(
        [ends("k"), ends("min(program_id(0) * 64 + 64, k)")],
        [Some("any/s k/1".into()), Some("any/s k/1".into())]
    );
    assert_eq!([ends("n"), ends("max(n, k)")], [None, None]);
}

#[test]
fn strides_that_are_arguments() {
    let product = looped(
        "",
        "let l = load(a.add(rows.expand(1) * s + depth.expand(0) * t)); sum = sum + dot(l, load(a.add(j.expand(1) * 64 + arange(32).expand(0))), zeros::<f32>([64, 32]));",
    );
    let of = |a, b| {
        let mut f = product.clone();
        block_pointers::run(&mut f, Transposed { a, b }, &mut vec![]).ok()?;
        let windows: Vec<String> = walk(&f.body)
            .filter_map(|s| {
                if let StmtKind::Let(v) = &s.kind {
                    if let Op::Load { block_pointer, .. } = f.op(*v) { block_pointer.as_ref().map(text) } else { None }
                } else {
                    None
                }
            })
            .collect();
        Some((
            windows[0].clone(),
            f.guards.iter().map(|r| format!("{} {:?}", number(&r.of), r.test)).collect::<Vec<_>>(),
        ))
    };
    assert_eq!(
        of(false, false),
        Some(("any/s any/t".into(), vec!["k Within(0, 2147483647)".into(), "t Equal(1)".into()]))
    );
    assert_eq!(
        of(true, false),
        Some(("any/t any/s".into(), vec!["k Within(0, 2147483647)".into(), "s Equal(1)".into()]))
    );
    assert_eq!([of(false, true), of(true, true)], [None, None], "the right one's strides leave nothing open");
}

#[test]
fn rows_that_wrap_around() {
    let at =
        |rows: &str| format!("load(a.add(({rows} % m).expand(1) * s + depth.expand(0))).mask(depth.expand(0) < k)");
    let asked = ["m % 64", "1 <= m <= 2147483647"].map(String::from).to_vec();
    assert_eq!(block_pointer("", &at("rows")), (Some("m/s k/1".into()), asked));
    assert_eq!(block_pointer("", &at("(rows + 1)")), (None, vec![]), "it begins at no multiple of its length");
    assert_eq!(block_pointer("", &at("(rows * 2)")), (None, vec![]));
}

#[test]
fn more_dimensions() {
    let at = |begin: &str| format!("load(a.add({begin} + rows.expand(1) * s + depth.expand(0))){MASK}");
    assert_eq!(plain("", &at("program_id(2) * batch")).as_deref(), Some("any/batch m/s k/1"));
    assert_eq!(plain("", &at("program_id(2) * m * t + program_id(1) * batch")).map(|t| t.split(' ').count()), Some(4));
    // One matrix after the other, of as many rows as there are, or of a constant length.
    assert_eq!(plain("", &at("program_id(2) * m * s")).as_deref(), Some("any/m·s m/s k/1"));
    assert_eq!(plain("", &at("program_id(2) * 4096")).as_deref(), Some("any/4096 m/s k/1"));
    assert_eq!(
        plain("", "load(a.add(program_id(2) * m * 64 + rows.expand(1) * 64 + j.expand(0))).mask(rows.expand(1) < m)")
            .as_deref(),
        Some("any/64·m m/64 any/1")
    );
    assert_eq!(plain("", &at("program_id(2) * 100")), None, "no multiple of 16 bytes");
    assert_eq!(plain("", &at("program_id(2) * 8")), None, "in which dimension?");
    assert_eq!(plain("", &at("batch")), None);
    assert_eq!(plain("", &at("(program_id(2) - n) * batch")), None, "it may be negative");
}

#[test]
fn slices_have_an_end() {
    let at = "load(x, rows.expand(1) * k + depth.expand(0))";
    assert_eq!(block_pointer("", &format!("{at}{MASK}")), (Some("m/k k/1".into()), vec!["m·k <= len".into()]));
    assert_eq!(
        block_pointer("", &format!("load(x, rows.expand(1) * s + depth.expand(0)){MASK}")),
        (Some("m/s k/1".into()), vec!["m·s <= len".into(), "k <= s".into()])
    );
    assert_eq!(block_pointer("", at), (None, vec![]), "its end is no extent");
    assert_eq!(
        block_pointer("", &format!("load(x, program_id(2) * batch + rows.expand(1) * k + depth.expand(0)){MASK}")),
        (None, vec![])
    );
    let narrow = "load(x, rows.expand(1) * short.to::<usize>() + depth.expand(0)).mask((rows.expand(1) < m) & (depth.expand(0) < short.to::<usize>()))";
    assert_eq!(
        block_pointer("", narrow),
        (Some("m/short short/1".into()), vec!["m·short <= len".into(), "0 <= short <= 2147483647".into()]),
        "no negative number"
    );
}
