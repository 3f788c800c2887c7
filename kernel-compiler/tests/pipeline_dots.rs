//! The loops that are pipelined: a second product takes the result of the first one. For similar loops a remark says
//! why they are not.

use tilewright_compiler::driver::{Observer, lower};
use tilewright_compiler::missed::Missed;
use tilewright_compiler::variant::Transposed;
use tilewright_compiler::{MmaPath, Variant, Width};

/// Why a loop is not pipelined.
#[derive(Default)]
struct Why(Option<String>);

impl Observer for Why {
    fn missed(&mut self, m: Missed) {
        if m.what == "pipelined" {
            self.0 = Some(m.why.to_string());
        }
    }
}

/// Products in the code of a kernel with this loop: two, or, where it is pipelined, the first one of the first
/// iteration, both in the loop, and the second one of the last. And why it is not pipelined, if it could be.
fn pipelined(n: usize, body: &str) -> (usize, Option<String>) {
    let mut why = Why::default();
    let f = crate::common::func(&format!(
        "#[tile_kernel(tune(warps = [4]), grid = [1])]
         pub fn k(x: View<f16, 2>, a: View<f16, 2>, b: View<f16, 2>, mut y: ViewMut<f32, 2>, sums: &mut [f32]) {{
             let left = x.tile([0, 0], [64, 64]);
             let mut acc = zeros::<f32>([64, {n}]);
             let mut top = full([64], -1e30);
             let mut before = zeros::<f16>([64, 64]);
             for i in range(0, a.dim(0), 64) {{
                 let block = a.tile([i, 0], [64, 64]);
                 {body}
             }}
             y.store([0, 0], acc + max(before.to::<f32>(), 1).expand(1) + top.expand(1));
         }}"
    ));
    let lowered =
        lower(&f, Variant { width: Width::Vectors, mma: MmaPath::WgmmaTma(Transposed::default()) }, false, &mut why)
            .expect("it copies by tensor maps");
    (lowered.text().matches("d::wgmma::<").count() + lowered.text().matches("d::wgmma_ra::<").count(), why.0)
}

fn products(n: usize, body: &str) -> usize {
    let (products, why) = pipelined(n, body);
    assert_eq!(why, None, "{body}");
    products
}

const FIRST: &str = "let s = dot(left, trans(block), zeros::<f32>([64, 64]));";
const SECOND: &str = "acc = dot(s.to::<f16>(), b.tile([i, 0], [64, 64]), acc);";

#[test]
fn straight_on() {
    assert_eq!(products(64, &format!("{FIRST} {SECOND}")), 4);
    let attention = "let higher = maximum(top, max(s, 1)); let p = exp2(s - higher.expand(1)); acc = acc * exp2(top - higher).expand(1); top = higher;
        acc = dot(p.to::<f16>(), b.tile([i, 0], [64, 64]), acc);";
    assert_eq!(products(64, &format!("{FIRST} {attention}")), 4);
}

#[test]
fn as_it_is_written() {
    let kept = |n: usize, body: &str| assert_eq!(products(n, body), 2, "{body}");
    // It overlaps already.
    kept(
        64,
        "acc = dot(before, b.tile([i, 0], [64, 64]), acc); let s = dot(left, trans(block), zeros::<f32>([64, 64])); before = s.to::<f16>();",
    );
    kept(
        64,
        "acc = dot(left, b.tile([i, 0], [64, 64]), acc); top = maximum(top, max(dot(left, trans(block), zeros::<f32>([64, 64])), 1));",
    );
    // More registers than there are, with more columns.
    let wide = "let s = dot(left, trans(a.tile([i, 0], [128, 64])), zeros::<f32>([64, 128]));";
    assert_eq!(products(64, &format!("{wide} acc = dot(s.to::<f16>(), b.tile([i, 0], [128, 64]), acc);")), 4);
    let missed = |n: usize, body: &str, part: &str| {
        let (products, why) = pipelined(n, body);
        assert!(products == 2 && why.as_ref().is_some_and(|w| w.contains(part)), "{products} {why:?} {body}");
    };
    missed(
        256,
        &format!("{wide} acc = dot(s.to::<f16>(), b.tile([i, 0], [128, 256]), acc);"),
        "224 registers of a thread, of 176 at most",
    );
    // The same tile for both.
    let shared = format!("{FIRST} acc = dot(s.to::<f16>(), block, acc);");
    missed(64, &shared, "its right operand is no tile that is loaded in the loop for it alone");
    // The sums are taken elsewhere, or by the first product.
    let sums = "its sums have another use in the loop";
    missed(64, &format!("top = maximum(top, max(acc, 1)); {FIRST} {SECOND}"), sums);
    missed(64, &format!("{FIRST} {SECOND} top = maximum(top, max(acc, 1));"), sums);
    let first_takes = "let s = dot(left, trans(block), acc); acc = dot(s.to::<f16>(), b.tile([i, 0], [64, 64]), s);";
    missed(64, first_takes, sums);
    // Others see something, or something is done at times only.
    let effect = "its loop has a branch, an inner loop or a statement with an effect";
    missed(64, &format!("{FIRST} store(sums, i, 1.0); {SECOND}"), effect);
    missed(64, &format!("{FIRST} if i > 64 {{ top = top + 1.0; }} {SECOND}"), effect);
}
