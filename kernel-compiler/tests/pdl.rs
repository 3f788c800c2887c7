//! The places where kernels wait that begin while the launch before them ends.

use tilewright_compiler::variant::Transposed;
use tilewright_compiler::{Libraries, Stage, show};
use tilewright_compiler::{MmaPath, Variant, Width};

const WAIT: &str = "d::grid_dependency_wait();";

fn lowered(pdl: &str, body: &str, tma: bool) -> String {
    let text = format!(
        "#[tile_kernel(tune(B = [64], warps = [4], arch = [{}]), grid = [1]{pdl})]
         pub fn k<const B: usize>(x: &[f32], w: &[f32], y: &mut [f32], a: View<f16, 2>, mut c: ViewMut<f32, 2>, n: usize) {{ {body} }}",
        if tma { 90 } else { 80 }
    );
    show(
        &text,
        &Libraries::default(),
        "k",
        None,
        None,
        Variant {
            width: Width::Vectors,
            mma: if tma { MmaPath::WgmmaTma(Transposed::default()) } else { MmaPath::MmaSync },
        },
        Stage::Rust,
    )
    .expect("lowers")
}

/// The accesses to global memory and the waits, in order: a letter each, `!` for a wait.
fn order(text: &str) -> String {
    let of = |l: &str| match l {
        l if l.contains(WAIT) => "!",
        l if l.contains("d::load::<") || l.contains("d::copy_ahead::<") => "L",
        l if l.contains("d::store::<") || l.contains("d::atomic") => "S",
        l if l.trim() == "return;" => "R",
        l if l.trim() == "loop {" => "(",
        _ => "",
    };
    text.lines().map(of).collect()
}

#[test]
fn pdl_loads_go_ahead_and_all_else_waits() {
    let x = "let i = arange(B); let v = load(x, i);";
    for (body, expected) in [
        (format!("{x} store(y, i, v + load(w, i));"), "L!LS"),
        (format!("{x} store(y, i, v);"), "L!S"),
        (format!("let i = arange(B); let u = load(w, i); {x} store(y, i, u + v);"), "!LLS"),
        // A step of a loop begins with the loop.
        (
            format!(
                "{x} let mut s = v; for k in range(0, n, B) {{ s += load(x, k + i) * load(w, k + i); }} store(y, i, s);"
            ),
            "L!(LLS",
        ),
        (format!("{x} let mut s = v; for k in range(0, n, B) {{ s += load(x, k + i); }} store(y, i, s);"), "L(L!S"),
        // A thread that leaves has waited.
        (format!("{x} if n == 0 {{ return; }} store(y, i, v);"), "L!RS"),
        (format!("{x} let t = atomic_add(y, 0, 1.0); store(y, i, v + t);"), "L!SS"),
    ] {
        assert_eq!(order(&lowered(", pdl = [x]", &body, false)), expected, "{body}");
        assert!(!lowered("", &body, false).contains(WAIT));
    }
    assert_eq!(order(&lowered(", pdl = []", &format!("{x} store(y, i, v);"), false)), "!LS");
}

#[test]
fn every_role_waits_as_it_begins() {
    let body = "let mut s = zeros::<f32>([64, 64]);
        for k in (0..n).step_by(64) { s = dot(a.tile([0, k], [64, 64]), trans(a.tile([0, k], [64, 64])), s); }
        c.store([0, 0], s);";
    let text = lowered(", pdl = []", body, true);
    let roles: Vec<&str> = text.split("} else {").collect();
    assert!(text.matches(WAIT).count() == 2 && roles[0].contains(WAIT), "{text}");
    assert!(text.contains("tma_load") && text.find(WAIT) < text.find("tma_load"), "{text}");
    assert!(text.contains("d::wgmma") && text.rfind(WAIT) < text.find("d::wgmma"), "{text}");
}
