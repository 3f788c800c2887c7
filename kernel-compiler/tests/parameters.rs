//! Schedulers and epilogues as parameters: constants that are enums choose code, closures are inlined.

use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::emit::{config_id, grid, host};
use tilewright_compiler::front::Const;
use tilewright_compiler::front::instance::{Instance, Kernel};
use tilewright_compiler::{HostOptions, Libraries, driver, ir, module};

/// The kernels of a module with these items, which uses a library with the other ones.
pub fn kernels(library: &str, items: &str) -> Vec<Kernel> {
    let text = format!(
        "#[tile_library] mod shared {{ {library} }}
         #[tile_module(use shared)] mod kernels {{ {items} }}"
    );
    let (d, mut libraries) = (Diagnostics::default(), Libraries::default());
    libraries.add(&text);
    let found = module::file(&text, &libraries);
    assert!(!found.is_empty(), "the items have a mistake: {items}");
    let kernels = found.into_iter().map(|f| f.parse(&d)).collect::<Result<Vec<_>, _>>();
    kernels.unwrap_or_else(|_| panic!("{:#?}", d.take())).into_iter().flatten().collect()
}

/// The IR of every instance of a kernel.
pub fn programs(k: &Kernel) -> Vec<String> {
    let d = Diagnostics::default();
    let of = |i: Instance| driver::instance(k, &i.choice, i.config, &d);
    let funcs = k.instances().into_iter().map(of).collect::<Result<Vec<_>, _>>();
    funcs.unwrap_or_else(|_| panic!("{}: {:#?}", k.name, d.take())).iter().map(ir::print::print).collect()
}

/// The IR of `y[0..64] = ..` by a kernel whose body is `body`, in a module with these items.
pub fn program(items: &str, body: &str) -> String {
    let k = kernels(
        "",
        &format!(
            "{items} #[tile_kernel(grid = [1])]
             fn k(x: &[f32], h: &[f16], y: &mut [f32], z: &mut [f32], n: usize, a: f32) {{ {body} }}"
        ),
    );
    programs(&k[0]).remove(0)
}

const SCHEDULER: &str = "enum Scheduler { Grid, Persistent, StreamK }";

/// The grid of each instance.
pub fn grids(k: &Kernel) -> Vec<String> {
    let d = Diagnostics::default();
    let of = |i: Instance| grid::body(k, &i.choice, i.config, &d);
    k.instances().into_iter().map(of).collect::<Result<_, _>>().unwrap_or_else(|_| panic!("{:#?}", d.take()))
}

#[test]
fn a_configuration_names_its_variant() {
    let k = kernels(
        SCHEDULER,
        "#[tile_kernel(
             tune(SCHEDULER = [StreamK, Scheduler::Grid], BIAS = [true, false], BLOCK = [64], warps = [2]),
             grid = [1],
         )]
         fn k<const SCHEDULER: Scheduler, const BIAS: bool, const BLOCK: usize>(y: &mut [f32]) {
             store(y, arange(BLOCK), 1.0);
         }",
    )
    .remove(0);
    let ids: Vec<String> = k.instances().iter().map(|i| config_id(i.config)).collect();
    let wanted = ["StreamK,BIAS=true", "StreamK,BIAS=false", "Grid,BIAS=true", "Grid,BIAS=false"];
    assert_eq!(ids, wanted.map(|c| format!("SCHEDULER={c},BLOCK=64,warps=2")));
    let (_, of_first) = &k.instances()[0].config.consts[0];
    assert!(matches!(of_first, Const::Variant(of, 2) if of.name == "Scheduler"), "{of_first:?}");
    // A descriptor has the number beside the name.
    let d = Diagnostics::default();
    let expanded =
        host::expand(&[k], &HostOptions { check_only: true, ..Default::default() }, &d).expect("no mistakes");
    let text = expanded[0].to_string().replace(' ', "");
    assert!(text.contains(r#"consts:&[("SCHEDULER",2i64),("BIAS",1i64),("BLOCK",64i64)]"#), "{text}");
    assert!(text.contains(r#"consts:&[("SCHEDULER",0i64),("BIAS",0i64),("BLOCK",64i64)]"#), "{text}");
}

#[test]
fn a_grid_depends_on_a_variant() {
    let of = |grid: &str| {
        let k = kernels(
            SCHEDULER,
            &format!(
                "#[tile_kernel(tune(SCHEDULER = [Grid, Persistent, StreamK], BIAS = [true]), grid = [{grid}])]
                 fn k<const SCHEDULER: Scheduler, const BIAS: bool>(y: &mut [f32], n: usize) {{ store(y, n, 1.0); }}"
            ),
        );
        grids(&k[0])
    };
    let firsts = |grid| -> Vec<bool> { of(grid).iter().map(|g| g.starts_with("[3u64")).collect() };
    assert_eq!(firsts("if SCHEDULER == Scheduler::Persistent { 3 } else { n }"), [false, true, false]);
    assert_eq!(firsts("if SCHEDULER != Scheduler::Persistent { 3 } else { n }"), [true, false, true]);
    assert_eq!(firsts("if BIAS { 3 } else { n }"), [true; 3]);
    let both = of("if SCHEDULER == Scheduler::Grid && !BIAS || n > 2 { 3 } else { n }");
    // The constants decide the first half.
    assert!(both[0].starts_with("[(if (g.words[2] as u64 as u64) > 2u64 {"), "{}", both[0]);
    assert_eq!(both[0], both[1]);
    let matched =
        of("match SCHEDULER { Scheduler::Grid => 5, Scheduler::Persistent | Scheduler::StreamK => num_sms() }");
    assert_eq!(matched, ["[5u64, 1u64, 1u64]", "[g.num_sms, 1u64, 1u64]", "[g.num_sms, 1u64, 1u64]"]);
}

/// The arms that are not taken are not inferred: here they would be mistakes.
#[test]
fn a_match_takes_the_arm_of_its_constant() {
    let library = format!(
        "{SCHEDULER}
         const DEFAULT: Scheduler = Scheduler::StreamK;
         fn put<const S: Scheduler>(y: &mut [f32]) {{
             match S {{
                 Scheduler::Grid => store(y, 0, 1.0),
                 Scheduler::Persistent => {{
                     static_assert!(S == Scheduler::Persistent);
                     store(y, 1, 2.0)
                 }}
                 _ => {{
                     static_assert!(S != Scheduler::Grid && !(S == Scheduler::Persistent));
                     store(y, 2, 3.0)
                 }}
             }}
         }}"
    );
    let all = kernels(
        &library,
        "#[tile_kernel(
             kernel(grid, KIND = Grid),
             kernel(persistent, KIND = Scheduler::Persistent),
             kernel(stream_k, KIND = StreamK),
             grid = [1],
         )]
         fn given<const KIND: Scheduler>(y: &mut [f32]) { put::<KIND>(y); }

         #[tile_kernel(tune(SCHEDULER = [Grid, Persistent, StreamK]), grid = [1])]
         fn tuned<const SCHEDULER: Scheduler>(y: &mut [f32]) { put::<SCHEDULER>(y); }

         #[tile_kernel(grid = [1])]
         fn written(y: &mut [f32]) { put::<{ Scheduler::Persistent }>(y); }

         #[tile_kernel(grid = [1])]
         fn default(y: &mut [f32]) { put::<DEFAULT>(y); }",
    );
    let names: Vec<&str> = all.iter().map(|k| k.name.as_str()).collect();
    assert_eq!(names, ["grid", "persistent", "stream_k", "tuned", "written", "default"]);
    let plain = |at: usize| {
        let body = format!("store(y, {at}, {}.0);", at + 1);
        programs(&kernels("", &format!("#[tile_kernel(grid = [1])] fn k(y: &mut [f32]) {{ {body} }}"))[0]).remove(0)
    };
    let wanted: Vec<String> = (0..3).map(plain).collect();
    let found: Vec<Vec<String>> = all.iter().map(programs).collect();
    for (kernel, arm) in [(0, 0), (1, 1), (2, 2), (4, 1), (5, 2)] {
        assert_eq!(found[kernel], [wanted[arm].clone()], "{}", names[kernel]);
    }
    assert_eq!(found[3], wanted);
}

#[test]
fn bools_and_integers_are_matched() {
    let items = "fn of<const BIAS: bool, const KIND: usize>() -> f32 {
        let kind = match KIND { 0 => 1.0, 1 | 2 => 2.0, _ => 3.0 };
        match BIAS { true => kind, false => -kind }
    }";
    for (arguments, value) in [
        ("true, 0", "1.0"),
        ("true, 1", "2.0"),
        ("false, 2", "-2.0"),
        ("false, 7", "-3.0"),
        ("{ 1 == 2 }, { 2 - 1 }", "-2.0"),
    ] {
        let found = program(items, &format!("store(y, 0, of::<{arguments}>());"));
        assert_eq!(found, program("", &format!("store(y, 0, {value});")), "{arguments}");
    }
}

#[test]
fn an_if_chooses_a_constant() {
    let items = "
        const WIDE: usize = 64;
        fn rows<const SWAP: bool, const BM: usize, const BN: usize>(y: &mut [f32]) {
            const ROWS: usize = if SWAP { BN } else { BM };
            let columns = if !SWAP { BN } else { BM };
            let none = zeros::<f32>([if SWAP { 2 * BN } else { BM }, 2]);
            let none = none.reshape([2, if SWAP { 2 * BN } else { BM }]).sum(0).sum();
            store(y, arange(ROWS), none + full([if columns == 16 { ROWS } else { 1 }], 1.0));
        }
        fn both<const SWAP: bool>(y: &mut [f32]) {
            rows::<
                SWAP,
                { if SWAP { 32 } else { WIDE } },
                { (1 + SWAP as usize) * match SWAP { true => 8, false => 16 } },
            >(y);
        }";
    let plain = |rows: usize, wide: usize, extent: usize| {
        let none = format!("zeros::<f32>([{wide}, 2]).reshape([2, {wide}]).sum(0).sum()");
        program("", &format!("let none = {none}; store(y, arange({rows}), none + full([{extent}], 1.0));"))
    };
    assert_eq!(program(items, "both::<true>(y);"), plain(16, 32, 1));
    assert_eq!(program(items, "both::<false>(y);"), plain(64, 64, 64));
}

/// An inlined closure equals its body, written in its place.
#[test]
fn closures_are_inlined() {
    let items = "
        fn apply(x: Tile<f32>, f: impl Fn(Tile<f32>) -> Tile<f32>) -> Tile<f32> { f(x) }
        fn twice(x: Tile<f32>, f: impl Fn(Tile<f32>) -> Tile<f32>) -> Tile<f32> { apply(apply(x, &f), f) }
        fn at<S>(x: Tile<S>, f: impl Fn(Tile<S>, usize, usize)) { f(x, 3, 4); }
        fn pair(x: Tile<f32>, f: impl Fn((Tile<f32>, usize)) -> (usize, Tile<f32>)) -> Tile<f32> {
            let (n, t) = f((x, 7));
            t * n.to::<f32>()
        }
        fn both(
            x: Tile<f32>,
            f: impl Fn(Tile<f32>) -> Tile<f32>,
            g: impl Fn(Tile<f32>, f32) -> Tile<f32>,
        ) -> Tile<f32> {
            g(f(x), 2.0) - f(g(x, 3.0))
        }
        fn count(n: usize, mut visit: impl FnMut(usize)) { for i in 0..n { visit(i); } }
        fn converted<T: Num>(x: Tile<f32>, f: impl Fn(Tile<f32>) -> Tile<T>) -> Tile<f32> {
            f(x).to::<f32>() + T::MAX as f32
        }
        fn relu(x: Tile<f32>) -> Tile<f32> { maximum(x, 0.0) }
    ";
    let cases = [
        // Captures of arrays and scalars, and the call of a helper.
        (
            "store(y, 0, apply(load(x, arange(8)), |t| relu(t * a) + load(x, 1)).sum());",
            "store(y, 0, (maximum(load(x, arange(8)) * a, 0.0) + load(x, 1)).sum());",
        ),
        (
            "store(y, 0, twice(load(x, arange(8)), |t| t * a).sum());",
            "store(y, 0, (load(x, arange(8)) * a * a).sum());",
        ),
        // A closure that stores, with literals of the types of its parameters.
        (
            "at(load(h, arange(8)), |t: Tile<f16>, r, s| store(z, r * n + s + arange(8), t.to::<f32>()));",
            "let t = load(h, arange(8)); store(z, 3 * n + 4 + arange(8), t.to::<f32>());",
        ),
        (
            "store(y, arange(8), pair(load(x, arange(8)), |(t, n)| (n + 1, t)));",
            "store(y, arange(8), load(x, arange(8)) * 8.0);",
        ),
        (
            "let t = load(x, arange(8)); store(y, arange(8), both(t, |t| -t, |t, by| t + by));",
            "let t = load(x, arange(8)); store(y, arange(8), (-t + 2.0) - (-(t + 3.0)));",
        ),
        // A variable of the kernel that the closure changes.
        (
            "let mut sum = 0.0f32; count(n, |i| sum += load(x, i)); store(y, 0, sum);",
            "let mut sum = 0.0f32; for i in 0..n { sum += load(x, i); } store(y, 0, sum);",
        ),
        // A closure before a helper of the same name, and names of types where they were written.
        (
            "let relu = |t: Tile<f32>| t + 1.0; store(y, arange(8), relu(load(x, arange(8))));",
            "store(y, arange(8), load(x, arange(8)) + 1.0);",
        ),
    ];
    for (with_closures, plain) in cases {
        assert_eq!(program(items, with_closures), program("", plain), "{with_closures}");
    }
    let typed = |t: &str| {
        let k = kernels(
            "",
            &format!(
                "{items} #[tile_kernel(types(T = [{t}]), grid = [1])]
            fn k<T: Num>(x: &[T], y: &mut [f32]) {{
                store(y, arange(8), converted::<f32>(full([8], 1.0), |t| t.to::<T>().to::<f32>()));
            }}"
            ),
        );
        programs(&k[0]).remove(0)
    };
    assert!(typed("f16").contains("f16[8] = cast"), "{}", typed("f16"));
}

/// An enum is the type of a parameter, of a result and of a local, too: its values are constants all the same.
#[test]
fn an_enum_is_a_value_of_helpers() {
    let items = "
        enum Order { Up, Down }
        const FIRST: Order = Order::Down;
        const N: usize = 8;
        fn reversed(order: Order) -> Order { match order { Order::Up => Order::Down, Order::Down => Order::Up } }
        fn of(order: Order, n: usize) -> f32 {
            let order: Order = reversed(order);
            if order == Order::Up { 1.0 } else { 2.0 }
        }";
    assert_eq!(program(items, "store(y, 0, of(FIRST, 3));"), program("", "store(y, 0, 1.0);"));
    assert_eq!(program(items, "store(y, 0, of(Order::Up, 3));"), program("", "store(y, 0, 2.0);"));
    // A constant of the module sees no locals.
    let (twice, plain) = ("const N: usize = 8; const TWICE: usize = 2 * N;", "store(y, arange(16), a);");
    assert_eq!(program(twice, "let N = 1; store(y, arange(TWICE), a);"), program("", plain));
}

#[test]
fn extents_of_tiles_are_constants() {
    let items = "fn ones<S>(x: Tile<S>) -> Tile<f32> { full([x.dim(1), 2 * x.dim(0)], 1.0) }";
    let found = program(items, "let t = load(h, arange(8)).reshape([2, 4]); store(y, 0, ones(t).sum());");
    let plain = program("", "let t = load(h, arange(8)).reshape([2, 4]); store(y, 0, full([4, 4], 1.0).sum());");
    assert_eq!(found, plain);
}

/// A constant and a type that `kernel(..)` gives are the kernel's own: helpers and constants of the module do not see
/// them.
#[test]
fn given_parameters_are_the_kernels_own() {
    let all = kernels(
        "",
        "const BLOCK: usize = 64;
         const HALF: usize = BLOCK / 2;
         type T = f32;
         fn of_module() -> usize { BLOCK + HALF }
         fn as_t(x: i32) -> T { x.to::<T>() }
         #[tile_kernel(kernel(k, T = i64, BLOCK = 1024), grid = [BLOCK / HALF])]
         fn f<T, const BLOCK: usize>(y: &mut [T], z: &mut [f32]) {
             store(y, 0, (of_module() + BLOCK).to::<T>());
             store(z, 0, as_t(7i32));
         }",
    );
    let ir = programs(&all[0]).remove(0);
    assert!(ir.contains("1120") && ir.contains("i64"), "{ir}");
    let grid = grids(&all[0]).remove(0);
    assert!(grid.contains("1024u64") && grid.contains("checked_div(64u64, 2u64)"), "{grid}");
}

/// A parameter hides a constant of its name in the grid, as it does in the body.
#[test]
fn a_parameter_hides_a_constant_in_the_grid() {
    let k = kernels(
        "",
        "const n: usize = 5; #[tile_kernel(grid = [n])] fn k(y: &mut [f32], n: usize) { store(y, n, 0.0); }",
    );
    let grid = grids(&k[0]).remove(0);
    assert!(grid.contains("g.words[") && !grid.contains("5u64"), "{grid}");
}

/// The errors of a module with these items.
pub fn error(items: &str) -> String {
    let (d, libraries) = (Diagnostics::default(), Libraries::default());
    let text = format!("#[tile_module] mod kernels {{ {items} }}");
    for f in module::file(&text, &libraries) {
        let kernels = f.parse(&d).unwrap_or_default();
        for k in &kernels {
            for i in k.instances() {
                let _ = (driver::instance(k, &i.choice, i.config, &d), grid::body(k, &i.choice, i.config, &d));
            }
        }
    }
    format!("{:?}", d.take())
}

#[test]
fn aliases_that_lead_to_each_other_have_no_type() {
    let e = error(
        "type A = B; type B = A;
         #[tile_kernel(grid = [1])] fn k(x: &[A], y: &mut [f32]) { store(y, 0, 0.0); }",
    );
    assert!(e.contains("unknown element type `A`"), "{e}");
}

/// No type of the kernel is a helper's.
#[test]
fn a_helper_does_not_see_the_types_of_its_kernel() {
    let e = error(
        "fn h(x: i32) -> f32 { x.to::<T>().to::<f32>() }
         #[tile_kernel(types(T = [f32, f16]), grid = [1])]
         fn k<T>(x: &[T], y: &mut [f32]) { store(y, 0, h(1i32)); }",
    );
    assert!(e.contains("unknown element type `T`"), "{e}");
}
