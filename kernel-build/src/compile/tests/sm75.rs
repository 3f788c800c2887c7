//! Kernels of this repository for the oldest target, which lacks instructions that the others have: products of
//! matrices of every type, copies ahead, atomics.

use super::*;
use tilewright_core::bundle::Usage;

/// Kernels, the names of whose entries have a part, and the instructions of their products; none if multiply-adds make
/// them.
const KERNELS: [(&str, &str, Option<&str>); 8] = [
    ("matmul_tn", "__f16__", Some("m16n8k8.row.col.f32.f16.f16.f32")),
    ("matmul_tn", "__bf16__", None),
    ("gemm", "", Some("m16n8k8.row.col.f32.f16.f16.f32")),
    ("matmul_i8", "", Some("m8n8k16.row.col.s32.s8.s8.s32")),
    ("matmul_f8", "", Some("m16n8k8.row.col.f32.f16.f16.f32")),
    ("matmul_f32", "", None),
    ("matmul_tf32", "", None),
    ("count_array_element", "", None),
];

/// Variants that have every feature of the kernels between them.
fn lower(source: Source, libraries: &Libraries) -> Vec<DeviceUnit> {
    let lowered = tilewright_compiler::device_units(source, libraries, tilewright_compiler::Configs::Few);
    lowered.into_iter().filter(|u| KERNELS.iter().any(|k| k.0 == u.kernel)).collect()
}

/// The shapes and types of the products in a text of PTX.
fn products(ptx: &str) -> Vec<&str> {
    let mut found: Vec<&str> =
        ptx.split("mma.sync.aligned.").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn kernels_for_sm_75() {
    if !have_toolchain() {
        return;
    }
    let mut p = TestCrate::new("sm75");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../device-kernels/src");
    p.files = crate::files::rust_files(&sources).unwrap();
    // The root, which has the modules behind features of the package.
    p.files.retain(|f| !f.ends_with("lib.rs"));
    let (outcome, bundles) = p.built_over_library("sm_75", &lower);
    let bundles: Vec<Bundle> = bundles.iter().map(|b| Bundle::parse(b).unwrap()).collect();
    for (kernel, part, made_of) in KERNELS {
        let bundle = bundles.iter().find(|b| b.kernel() == kernel).expect(kernel);
        let entries: Vec<_> = bundle.entries().iter().filter(|e| e.name.contains(part)).collect();
        assert!(!entries.is_empty(), "{kernel} {part}");
        for e in entries {
            let image = bundle.image_of(e, "sm_75").unwrap();
            let ptx = image.ptx().unwrap();
            assert_eq!(products(&ptx), made_of.as_slice(), "{}", e.name);
            assert_eq!(image.cubin().unwrap().is_some(), outcome.report.ptxas.is_some(), "{}", e.name);
            let local = |u: Usage| (u.spill_bytes, u.stack_bytes);
            assert!(!ptx.contains(".local"), "{} has arrays in local memory", e.name);
            // Elements that are loaded one by one stay in registers over a product, of which three programs leave few.
            let most =
                if e.name.contains("MIN_K_STEPS4_warps4_blocks_per_sm3_arch80__general") { (16, 8) } else { (0, 0) };
            let (spills, stack) = image.usage.map_or((0, 0), local);
            assert!(spills <= most.0 && stack <= most.1, "{} spills {spills} bytes, {stack} of its stack", e.name);
        }
    }
}
