//! Results that tensor maps store in kernels that tell others of them, or read them again.

use tilewright_compiler::driver::lower;
use tilewright_compiler::variant::Transposed;
use tilewright_compiler::{Configs, Libraries};
use tilewright_compiler::{MmaPath, Variant, Width};

fn text(after: &str) -> String {
    let f = crate::common::func(&format!(
        "#[tile_kernel(tune(warps = [4]), grid = [1])]
         pub unsafe fn k(a: View<f16, 2>, b: View<f16, 2>, mut y: ViewMut<f16, 2>, slots: &mut [f32], count: &mut [u32]) {{
             let mut acc = zeros::<f32>([64, 64]);
             for k in range(0, a.dim(1), 64) {{
                 acc = dot(a.tile([0, k], [64, 64]), b.tile([k, 0], [64, 64]), acc);
             }}
             {after}
         }}"
    ));
    lower(&f, Variant { width: Width::Vectors, mma: MmaPath::WgmmaTma(Transposed::default()) }, false, &mut ())
        .expect("it copies by tensor maps")
        .text()
}

const STORE: &str = "y.store([0, 0], acc.to::<f16>());";

#[test]
fn tma_stores_end_before_an_atomic_releases_them() {
    let of = |atomic: &str| {
        let text = text(&format!("{STORE} {atomic}"));
        let (copy, atomic) =
            (text.find("d::tma_store::<").expect("it is copied out"), text.find("d::atomic::<").expect("an atomic"));
        text.find("d::tma_store_wait(").map(|wait| copy < wait && wait < atomic)
    };
    assert_eq!(of("atomic_add(count, 0, 1);"), Some(true));
    assert_eq!(of("atomic_store(count, 0, 1);"), Some(true));
    // These announce no earlier stores.
    assert_eq!(of("atomic_add(count, 0, 1).relaxed();"), None);
    assert_eq!(of("if atomic_load(count, 0) == 1 { store(count, 1, 1); }"), None);
}

#[test]
fn what_is_read_again_goes_by_threads_in_vectors() {
    let index = "arange(64).expand(1) * 64 + arange(64).expand(0)";
    let text = text(&format!(
        "store(slots, {index}, acc).unchecked(); y.store([0, 0], load(slots, {index}).unchecked().to::<f16>());"
    ));
    assert!(!text.contains("d::tma_store::<"), "{text}");
    assert!(text.contains("d::store::<f32, 16, 4, false, false>"), "{text}");
    // Two elements on, they begin at no multiple of 16 bytes.
    let off = self::text(&format!(
        "store(slots, 2 + {index}, acc).unchecked(); y.store([0, 0], load(slots, {index}).unchecked().to::<f16>());"
    ));
    assert!(off.contains("d::store::<f32, 16, 1, false,") || off.contains("d::store::<f32, 32, 2, false,"), "{off}");
}

#[test]
fn views_alone_have_no_other_ways() {
    // The block pointer of the scratch memory needs no guard that tensor maps of the operands would need.
    let file = "#[tile_kernel(tune(warps = [4], arch = [90]), grid = [1])]
        pub unsafe fn k(a: View<f16, 2>, b: View<f16, 2>, mut y: ViewMut<f16, 2>, slots: &mut [f32]) {
            let acc = dot(a.tile([0, 0], [64, 64]), b.tile([0, 0], [64, 64]), zeros::<f32>([64, 64]));
            store(slots, arange(64).expand(1) * 64 + arange(64).expand(0), acc).unchecked();
            y.store([0, 0], acc.to::<f16>());
        }";
    let names: Vec<String> = tilewright_compiler::device_units(file, &Libraries::default(), Configs::All)
        .into_iter()
        .flat_map(|u| u.entries)
        .map(|e| e.name)
        .collect();
    assert_eq!(names, ["k__warps4_arch90__tma", "k__warps4_arch90__tma_general"]);
}
