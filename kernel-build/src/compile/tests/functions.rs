//! Every function of the language, of every type that it takes, as a device program: whether LLVM and `ptxas` take it,
//! and the instructions of some.

use super::*;
use std::collections::BTreeMap;
use tilewright_compiler::dtype::DType;
use tilewright_compiler::ir::function::{Binary, Unary};

/// A call of a function of the language with tiles `a` and `b` of 32 elements, whose result is one, too.
struct Function {
    name: String,
    /// The types of `a`, of `b` and of the result.
    types: [DType; 3],
    call: String,
}

impl Function {
    fn kernel(&self) -> String {
        format!("f_{}_{}", self.name, self.types[0])
    }

    /// Whether its code is checked, or its array has more uses than the store of the result.
    fn is_alone(&self) -> bool {
        self.call.contains("(y, ") || INSTRUCTIONS.iter().any(|(kernel, ..)| *kernel == self.kernel())
    }
}

/// Kernels of all functions of all types. Functions of equal types share a kernel, unless they have to be alone: rustc
/// starts for each kernel.
fn source() -> String {
    let mut kernels: BTreeMap<String, Vec<Function>> = BTreeMap::new();
    for f in functions() {
        let [a, b, y] = f.types;
        let kernel = if f.is_alone() { f.kernel() } else { format!("f_to_{y}_with_{b}_{a}") };
        kernels.entry(kernel).or_default().push(f);
    }
    let kernel = |(name, functions): (String, Vec<Function>)| {
        let [a, b, y] = functions[0].types;
        let calls = functions.iter().enumerate();
        let stores: String = calls.map(|(i, f)| format!("store(y, {} + arange(32), {});\n", 32 * i, f.call)).collect();
        format!(
            "#[tile_kernel(tune(warps = [1]), grid = [1])]
             fn {name}(a: &[{a}], b: &[{b}], y: &mut [{y}]) {{
                 let (a, b) = (load(a, arange(32)), load(b, arange(32)));
                 {stores}
             }}\n"
        )
    };
    kernels.into_iter().map(kernel).chain([conversions()]).collect()
}

/// The functions of each type that they take.
fn functions() -> Vec<Function> {
    let computed: Vec<DType> = DType::ALL.into_iter().filter(|d| !d.is_float8() && *d != DType::Bool).collect();
    let mut out = vec![];
    let mut kernel = |name: &str, d: DType, second: DType, result: DType, call: &str| {
        out.push(Function { name: name.into(), types: [d, second, result], call: call.into() });
    };
    for &d in &computed {
        for &u in Unary::ALL.iter().filter(|u| Unary::parse(u.name()).is_some() && u.takes().holds(d)) {
            kernel(u.name(), d, d, u.gives(d), &format!("{}(a)", u.name()));
        }
        for &b in Binary::ALL.iter().filter(|b| Binary::parse(b.name()).is_some() && b.takes().holds(d)) {
            kernel(b.name(), d, b.second(d), b.gives(d), &format!("{}(a, b)", b.name()));
        }
        if matches!(d, DType::F16 | DType::BF16) {
            for op in ["add", "max", "min", "xchg"] {
                kernel(&format!("atomic_{op}"), d, d, d, &format!("atomic_{op}(y, arange(32), a + b)"));
            }
            kernel("atomic_cas", d, d, d, "atomic_cas(y, arange(32), a, b)");
            kernel("atomic_load", d, d, d, "atomic_load(y, arange(32)) + a * b");
        }
        if d.is_int() {
            kernel("histogram", d, d, DType::I32, "histogram(a, 32).mask(b > 0)");
            kernel("cumcount", d, d, DType::I32, "cumcount(a, 20).mask(b > 0)");
        }
        if d.size() >= 4 || d.is_float() {
            kernel("weights", d, d, d, "histogram(arange(32) % 5, 32).weights(a)");
        }
        if d.is_float() {
            kernel("max_nan", d, d, d, "maximum(a, b).propagate_nan()");
            kernel("min_nan", d, d, d, "minimum(a, b).propagate_nan()");
        }
    }
    out
}

/// Kernels of conversions of 8-bit floats, of a dependent launch and of shared memory.
fn conversions() -> String {
    let mut out = String::new();
    for (from, to) in ["f8e4m3", "f8e5m2"].into_iter().flat_map(|f8| ["f16", "f32"].map(|d| (f8, d))) {
        for (a, y) in [(from, to), (to, from)] {
            out += &format!(
                "#[tile_kernel(tune(warps = [1]), grid = [1])]
                 fn f_{a}_to_{y}(a: &[{a}], y: &mut [{y}]) {{ store(y, arange(32), load(a, arange(32)).to::<{y}>()); }}\n"
            );
        }
    }
    out + "#[tile_kernel(tune(warps = [1]), grid = [1], pdl = [a])]
           fn f_pdl(a: &[f32], y: &mut [f32]) { store(y, arange(32), load(a, arange(32))); }
           #[tile_kernel(tune(warps = [1]), grid = [1])]
           fn f_shared_add_bf16(a: &[bf16], y: &mut [bf16]) {
               let mut s = shared_array::<bf16>(32);
               atomic_add(s, arange(32) / 2, load(a, arange(32)));
               store(y, arange(32), load(s, arange(32)));
           }"
}

/// A function of a type, a target, and an instruction that it is, or that it is not.
const INSTRUCTIONS: [(&str, &str, &str, bool); 25] = [
    ("f_max_nan_f32", "sm_75", "max.NaN", false),
    ("f_max_nan_f32", "sm_80", "max.NaN.f32", true),
    ("f_min_nan_bf16", "sm_80", "min.NaN.f32", true),
    ("f_atomic_add_f16", "sm_75", "add.noftz.f16", true),
    ("f_atomic_add_bf16", "sm_80", "cas.b16", true),
    ("f_atomic_add_bf16", "sm_90a", "add.noftz.bf16", true),
    ("f_shared_add_bf16", "sm_80", "cas", true),
    ("f_shared_add_bf16", "sm_90a", "cas", false),
    ("f_f16_to_f8e4m3", "sm_80", "cvt.rn.satfinite.e4m3x2", false),
    ("f_f16_to_f8e4m3", "sm_90a", "cvt.rn.satfinite.e4m3x2", true),
    ("f_pdl", "sm_80", "griddepcontrol", false),
    ("f_pdl", "sm_90a", "griddepcontrol.wait", true),
    ("f_atomic_load_f16", "sm_75", "ld.acquire.gpu.global.b16", true),
    ("f_histogram_u8", "sm_75", "red.relaxed.cta.shared.add.u32", true),
    ("f_weights_f64", "sm_75", "red.relaxed.cta.shared.add.f64", true),
    ("f_popc_u64", "sm_75", "popc.b64", true),
    ("f_clz_i32", "sm_75", "clz.b32", true),
    ("f_brev_u32", "sm_75", "brev.b32", true),
    ("f_mulhi_u32", "sm_75", "mul.hi.u32", true),
    ("f_mulhi_u64", "sm_75", "mul.hi.u64", true),
    ("f_mulhi_i64", "sm_75", "mul.hi.s64", true),
    ("f_rint_f32", "sm_75", "cvt.rni.f32.f32", true),
    ("f_trunc_f64", "sm_75", "cvt.rzi.f64.f64", true),
    // In f32 throughout: f64 is slow on many devices.
    ("f_pow_f32", "sm_75", "f64", false),
    ("f_erfinv_f32", "sm_75", "f64", false),
];

#[test]
fn functions_for_devices() {
    if !have_toolchain() {
        return;
    }
    let mut p = TestCrate::new("functions");
    p.files = vec![p.dir.join("functions.rs")];
    fs::write(&p.files[0], source()).unwrap();
    let (outcome, bundles) = p.built_over_library("sm_75,sm_80,sm_90a", &lowered);
    let bundles: Vec<Bundle> = bundles.iter().map(|b| Bundle::parse(b).unwrap()).collect();
    assert_eq!(bundles.len(), source().matches("#[tile_kernel").count(), "a bundle for each kernel");
    assert!(functions().len() > 100, "{} functions", functions().len());
    // rustc has made one text for the last two targets, unless the function differs between them. Types with
    // instructions of their own on later devices show whether it does.
    let of_short_floats = move |source: Source, libraries: &Libraries| {
        let all = lowered(source, libraries).into_iter();
        let varies = |name: &str| name.ends_with("f16") || name.contains("_f8") || name == "f_pdl";
        all.filter(|u| varies(&u.kernel)).collect()
    };
    let (_, alone) = p.built_over_library("sm_90a", &of_short_floats);
    assert!(alone.len() > 10, "{} kernels", alone.len());
    for alone in alone.iter().map(|b| Bundle::parse(b).unwrap()) {
        let both = bundles.iter().find(|b| b.kernel() == alone.kernel()).expect("it was built before");
        let ptx = |b: &Bundle| b.image_of(&b.entries()[0], "sm_90a").unwrap().ptx().unwrap();
        assert_eq!(ptx(both), ptx(&alone), "{}", alone.kernel());
    }
    for bundle in &bundles {
        for e in bundle.entries() {
            for target in ["sm_75", "sm_80"] {
                let image = bundle.image_of(e, target).unwrap();
                let ptx = image.ptx().unwrap();
                let name = bundle.kernel();
                let functions = ptx.replace(".extern .shared", "");
                assert!(!functions.contains(".extern") && !functions.contains("call"), "{name} calls a function");
                assert!(!ptx.contains(".local"), "{name} uses local memory for {target}");
                assert_eq!(image.cubin().unwrap().is_some(), outcome.report.ptxas.is_some(), "{name} for {target}");
            }
        }
    }
    for (kernel, target, instruction, wanted) in INSTRUCTIONS {
        let bundle = bundles.iter().find(|b| b.kernel() == kernel).expect(kernel);
        let ptx = bundle.image_of(&bundle.entries()[0], target).unwrap().ptx().unwrap();
        assert_eq!(ptx.contains(instruction), wanted, "{kernel} for {target}: {instruction}\n{ptx}");
    }
}
