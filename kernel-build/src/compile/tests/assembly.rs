//! Inline assembly of kernels as device programs: `ptxas` takes it, and each element has it once.

use super::*;

/// A name, the element type, the text, its meaning, and the instruction in the PTX.
const SNIPPETS: [(&str, &str, &str, &str, &str); 8] = [
    ("lop3", "u32", "lop3.b32 {0}, {1}, {2}, {1}, 0x96;", "a ^ b ^ a", "lop3.b32"),
    ("half", "f16", "add.f16 {0}, {1}, {2};", "a + b", "add.f16"),
    ("bf16", "bf16", "fma.rn.bf16 {0}, {1}, {2}, {2};", "a * b + b", "fma.rn.bf16"),
    ("short", "i16", "max.s16 {0}, {1}, {2};", "maximum(a, b)", "max.s16"),
    (
        "braces",
        "f32",
        "{{ .reg .f32 t; ex2.approx.ftz.f32 t, {1}; mul.f32 {0}, t, {2}; }}",
        "exp2(a) * b",
        "ex2.approx.ftz.f32",
    ),
    ("double", "f64", "fma.rn.f64 {0}, {1}, {2}, {1};", "a * b + a", "fma.rn.f64"),
    (
        "predicate",
        "i64",
        "{{ .reg .pred p; setp.gt.s64 p, {1}, {2}; selp.b64 {0}, {1}, {2}, p; }}",
        "where_(a > b, a, b)",
        "selp.b64",
    ),
    ("several lines", "u64", "\n    xor.b64 {0}, {1}, {2};\n    not.b64 {0}, {0};\n", "!(a ^ b)", "not.b64"),
];

/// Of two results.
const WIDE: &str = r#"
#[tile_kernel(tune(warps = [1]), grid = [1])]
unsafe fn a_wide(a: &[u32], b: &[u32], y: &mut [u32]) {
    let (low, high) = asm(
        "{{ .reg .b64 t; mul.wide.u32 t, {2}, {3}; mov.b64 {{{0}, {1}}}, t; }}",
        (load(a, arange(32)), load(b, arange(32))),
        |(a, b)| (a * b, mulhi(a, b)),
    );
    store(y, arange(32), low - high);
}
"#;

#[test]
fn assembly_for_devices() {
    if !have_toolchain() {
        return;
    }
    let mut p = TestCrate::new("assembly");
    p.files = vec![p.dir.join("assembly.rs")];
    let named = |name: &str| format!("a_{}", name.replace(' ', "_"));
    let mut source = WIDE.to_string();
    for (name, t, text, meaning, _) in SNIPPETS {
        source += &format!(
            "#[tile_kernel(tune(warps = [1]), grid = [1])]
             unsafe fn {}(a: &[{t}], b: &[{t}], y: &mut [{t}]) {{
                 let (a, b) = (load(a, arange(32)), load(b, arange(32)));
                 store(y, arange(32), asm({text:?}, (a, b), |(a, b)| {meaning}));
             }}\n",
            named(name)
        );
    }
    fs::write(&p.files[0], source).unwrap();
    let (outcome, bundles) = p.built_over_library("sm_80,sm_90a", &lowered);
    let bundles: Vec<Bundle> = bundles.iter().map(|b| Bundle::parse(b).unwrap()).collect();
    let wanted = SNIPPETS.map(|(name, .., instruction)| (named(name), instruction));
    for (kernel, instruction) in wanted.into_iter().chain([("a_wide".into(), "mul.wide.u32 t")]) {
        let bundle = bundles.iter().find(|b| b.kernel() == kernel).expect(&kernel);
        for target in ["sm_80", "sm_90a"] {
            let image = bundle.image_of(&bundle.entries()[0], target).unwrap();
            let ptx = image.ptx().unwrap();
            assert_eq!(ptx.matches(instruction).count(), 1, "{kernel} for {target}:\n{ptx}");
            assert_eq!(image.cubin().unwrap().is_some(), outcome.report.ptxas.is_some(), "{kernel} for {target}");
        }
    }
}
