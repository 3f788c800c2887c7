//! The shape of the PTX: the compiler's promises for every entry, and the report of `ptxas`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use tilewright_compiler::{Configs, DeviceUnit};
use tilewright_core::KernelDesc;
use tilewright_core::bundle::Bundle;
use tilewright_kernels::SOURCES;

mod facts;
mod hashes;
mod products;
mod registers;

const READ_ONCE: &str = "rows that are read twice take longer";
const ANY_STRIDES: &str = "elements that are loaded one by one cost more than the registers";
const FEWER_WARPS: &str = "programs of twice the warps, which keep all in registers, take longer";

/// Entries, by the beginning of their names, that may keep registers in local memory for a target, or for all: how many
/// bytes of them at most, and why that is no loss.
const SPILLS: &[(&str, Option<&str>, u32, &str)] = &[
    (
        "softmax_row__f32__BLOCK16384_warps16__aligned",
        Some("sm_75"),
        256,
        "ptxas gives up registers so that two programs fit on a multiprocessor",
    ),
    ("layer_norm_gradient__f32__BLOCK4096_warps4__", None, 240, FEWER_WARPS),
    ("layer_norm_gradient__f32__BLOCK8192_warps8__", None, 240, FEWER_WARPS),
    ("layer_norm_gradient__f16__BLOCK4096_warps4__general", None, 96, FEWER_WARPS),
    ("layer_norm_gradient__f16__BLOCK8192_warps8__general", None, 112, FEWER_WARPS),
    ("layer_norm_gradient__bf16__BLOCK4096_warps4__general", None, 96, FEWER_WARPS),
    ("layer_norm_gradient__bf16__BLOCK8192_warps8__general", None, 112, FEWER_WARPS),
    ("add_rms_norm__f32__BLOCK32768_warps16__", None, 400, READ_ONCE),
    ("add_rms_norm__f16__BLOCK32768_warps16__", None, 200, READ_ONCE),
    ("add_rms_norm__bf16__BLOCK32768_warps16__", None, 200, READ_ONCE),
    ("layer_norm__f32__BLOCK12288_warps4__", None, 600, READ_ONCE),
    ("layer_norm__f32__BLOCK32768_warps16__", None, 1500, READ_ONCE),
    ("rms_norm__f32__BLOCK32768_warps16__", None, 300, READ_ONCE),
    ("layer_norm__f16__BLOCK12288_warps4__", None, 600, READ_ONCE),
    ("layer_norm__f16__BLOCK32768_warps16__", None, 1500, READ_ONCE),
    ("rms_norm__f16__BLOCK32768_warps16__", None, 300, READ_ONCE),
    ("layer_norm__bf16__BLOCK12288_warps4__", None, 600, READ_ONCE),
    ("layer_norm__bf16__BLOCK32768_warps16__", None, 1500, READ_ONCE),
    ("rms_norm__bf16__BLOCK32768_warps16__", None, 300, READ_ONCE),
    ("grouped_matmul_nn__f16__BM128_BN128_BK32_warps8_arch80__general", None, 16, ANY_STRIDES),
    ("grouped_matmul_nn__bf16__BM128_BN128_BK32_warps8_arch80__general", None, 16, ANY_STRIDES),
    ("grouped_matmul_nn__f16__BM16_BN64_BK64_PER_SM4_warps4_arch80__general", None, 128, ANY_STRIDES),
    ("grouped_matmul_nn__bf16__BM16_BN64_BK64_PER_SM4_warps4_arch80__general", None, 128, ANY_STRIDES),
    ("matmul_tf32_tt__SCHEDULERPersistent_BM128_BN128_BK32_warps8_arch80__general", Some("sm_80"), 64, ANY_STRIDES),
    (
        "scaled_product__SCHEDULERPersistent_BM32_BN32_BK128_PER_SM4_warps4_arch80__general",
        Some("sm_80"),
        16,
        ANY_STRIDES,
    ),
    (
        "matmul_tf32_tn__SCHEDULERStreamK_BM128_BN16_BK32_PER_SM4_MIN_K_STEPS4_warps4_blocks_per_sm4_arch80__general",
        None,
        300,
        ANY_STRIDES,
    ),
    (
        "batched_matmul_f32__SCHEDULERPersistent_BM64_BN64_BK16_PER_SM2_TF32X3true_warps4_blocks_per_sm2_arch80__general",
        None,
        96,
        ANY_STRIDES,
    ),
    (
        "batched_matmul_f32__SCHEDULERPersistent_BM128_BN64_BK16_PER_SM1_TF32X3true_warps8_arch80__aligned",
        None,
        16,
        "each factor is rounded to two numbers of tf32, and a NaN stays one",
    ),
];

/// One entry for one target.
struct Entry {
    name: &'static str,
    /// For the one target that has its instructions.
    only: bool,
    target: String,
    ptx: String,
    threads: u32,
    min_blocks: u32,
    /// Thread blocks of a program.
    ctas: usize,
    /// Its configuration.
    consts: &'static [(&'static str, i64)],
    warps: usize,
    /// Of the first parameter.
    element_bytes: usize,
    /// A warpgroup copies the operands of the others.
    specialized: bool,
    /// Bytes of a tile that one thread has; of a kernel with a `BLOCK`.
    per_thread: usize,
    /// (spilled bytes, bytes of arrays), where there was a ptxas.
    local: Option<(u32, u32)>,
}

/// Whether the checks go on without compiled kernels, which is for machines that cannot have them.
fn may_be_missing() -> bool {
    std::env::var("TILE_ALLOW_NO_DEVICE").is_ok_and(|v| v == "1")
}

/// Every entry that was compiled. All tests read one copy.
fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(compiled);
    &ENTRIES
}

fn compiled() -> Vec<Entry> {
    let mut out = vec![];
    for desc in tilewright_kernels::all() {
        let Some(bytes) = desc.bundle else {
            let how = "run `cargo xtask setup`, then this again; TILE_ALLOW_NO_DEVICE=1 goes on without";
            assert!(may_be_missing(), "`{}` was not compiled for the GPU: {how}", desc.name);
            continue;
        };
        of_kernel(desc, &Bundle::parse(bytes).expect("a whole bundle"), &mut out);
    }
    if out.is_empty() {
        eprintln!("skipped: nothing was compiled for the GPU");
    }
    out
}

fn of_kernel(desc: &'static KernelDesc, bundle: &Bundle, out: &mut Vec<Entry>) {
    assert_eq!(bundle.kernel(), desc.name);
    let targets: BTreeSet<&str> = bundle.entries().iter().flat_map(|e| e.targets()).collect();
    let variants = desc.configs.iter().flat_map(|c| c.variants.iter().map(move |v| (c, v)));
    for (config, variant) in variants.filter(|(_, v)| v.built) {
        // `TILE_TARGETS` may leave out the one target of a variant.
        if variant.only.is_some_and(|only| !targets.contains(only)) {
            continue;
        }
        let entry = bundle.entry(variant.entry).expect("every variant was compiled");
        // With tensor maps, a warpgroup beside the configuration's warps copies by them.
        let copying = if variant.maps.is_empty() { 0 } else { 128 };
        assert_eq!(entry.threads, config.warps * 32 + copying, "{}", variant.entry);
        if let Some(only) = variant.only {
            assert!(entry.targets().all(|t| t == only), "{}", variant.entry);
        }
        let block = config.consts.iter().find(|c| c.0 == "BLOCK").map_or(0, |c| c.1 as usize);
        for target in entry.targets() {
            let image = bundle.image_of(entry, target).expect("is there");
            out.push(Entry {
                name: variant.entry,
                only: variant.only.is_some(),
                target: target.into(),
                ptx: code(&image.ptx().expect("unpacks")),
                threads: entry.threads,
                min_blocks: entry.min_blocks,
                ctas: entry.ctas as usize,
                consts: config.consts,
                warps: config.warps as usize,
                element_bytes: desc.params[0].dtype.size(),
                specialized: !variant.maps.is_empty(),
                per_thread: block / entry.threads as usize * desc.params[0].dtype.size(),
                local: image.usage.map(|u| (u.spill_bytes, u.stack_bytes)),
            });
        }
    }
}

/// Without comments.
fn code(ptx: &str) -> String {
    ptx.lines()
        .map(|l| l.split("//").next().unwrap_or("").trim())
        .filter(|l| !l.is_empty())
        .fold(String::new(), |s, l| s + l + "\n")
}

impl Entry {
    fn is_of(&self, kernel: &str) -> bool {
        self.name.strip_prefix(kernel).is_some_and(|rest| rest.starts_with("__"))
    }

    /// Of a kernel whose name begins so.
    fn is_of_family(&self, name: &str) -> bool {
        self.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'))
    }

    fn title(&self) -> String {
        format!("{} for {}", self.name, self.target)
    }

    /// The opcodes of its instructions, without the guard.
    fn opcodes(&self) -> impl Iterator<Item = &str> {
        self.ptx.lines().filter_map(|l| {
            let l = if l.starts_with('@') { l.split_once(' ')?.1.trim_start() } else { l };
            l.split([' ', '\t', ';']).next()
        })
    }

    fn count(&self, opcode: impl Fn(&str) -> bool) -> usize {
        self.opcodes().filter(|o| opcode(o)).count()
    }
}

/// Fails with everything that is wrong at once.
fn none(what: &str, wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{what}:\n  {}", wrong.join("\n  "));
}

fn sources() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|(_, text)| *text)
}

/// The libraries of the kernels' package.
fn libraries() -> tilewright_compiler::Libraries {
    let mut libraries = tilewright_compiler::Libraries::default();
    SOURCES
        .iter()
        .for_each(|(name, text)| libraries.add(tilewright_compiler::Source { file: std::path::Path::new(name), text }));
    libraries
}

/// The lowered code of every entry. All tests read one copy.
fn lowered() -> &'static BTreeMap<String, String> {
    static LOWERED: LazyLock<BTreeMap<String, String>> = LazyLock::new(lower);
    &LOWERED
}

fn lower() -> BTreeMap<String, String> {
    let libraries = libraries();
    let units: Vec<DeviceUnit> =
        sources().flat_map(|text| tilewright_compiler::device_units(text, &libraries, Configs::All)).collect();
    let mut out = BTreeMap::new();
    for unit in &units {
        let bodies = unit.source.split("\n#[unsafe(no_mangle)]\n").skip(1);
        for (meta, body) in unit.entries.iter().zip(bodies) {
            assert!(body.contains(&format!("fn {}(", meta.name)), "one function an entry, in order");
            out.insert(meta.name.clone(), body.to_string());
        }
    }
    out
}

#[test]
fn every_target_has_every_entry() {
    let entries = entries();
    let targets: BTreeSet<&str> = entries.iter().map(|e| e.target.as_str()).collect();
    let general = || entries.iter().filter(|e| !e.only);
    let names: BTreeSet<&str> = general().map(|e| e.name).collect();
    assert_eq!(general().count(), targets.len() * names.len(), "{targets:?}");
    none(
        "an entry is the only one of its PTX",
        entries.iter().filter(|e| e.ptx.matches(".entry").count() != 1).map(Entry::title).collect(),
    );
    let wrong = entries.iter().filter(|e| !e.ptx.contains(&format!(".target {}", e.target))).map(Entry::title);
    none("the target is what it says", wrong.collect());
}

#[test]
fn nothing_lives_in_local_memory() {
    let entries = entries();
    none("local memory", entries.iter().filter(|e| e.ptx.contains(".local")).map(Entry::title).collect());
    if entries.iter().all(|e| e.local.is_none()) {
        eprintln!("built without ptxas: spills are not known");
    }
    let mut wrong = vec![];
    for e in entries {
        let Some((spills, arrays)) = e.local.filter(|&l| l != (0, 0)) else { continue };
        let line = format!("{}: {spills} bytes of spills, {arrays} of local memory", e.title());
        match SPILLS.iter().find(|s| e.name.starts_with(s.0) && s.1.is_none_or(|t| e.target == t) && spills <= s.2) {
            Some((.., why)) => eprintln!("{line}: {why}"),
            None => wrong.push(line),
        }
    }
    none("spills", wrong);
}

#[test]
fn pdl_kernels_wait_for_the_launch_before() {
    let pdl: BTreeSet<&str> = tilewright_kernels::all().into_iter().filter(|d| d.pdl).map(|d| d.name).collect();
    assert!(!pdl.is_empty());
    // Devices before 9.0 begin no launch early, and their code has nothing to wait with.
    let waits = |e: &Entry| {
        pdl.iter().any(|k| e.is_of(k))
            && e.target.trim_end_matches(['a', 'f'])["sm_".len()..].parse::<u32>().expect("a number") >= 90
    };
    // Each role of a specialized program has its own.
    let wrong = |e: &&Entry| {
        e.count(|o| o == "griddepcontrol.wait") != if waits(e) { 1 + usize::from(e.specialized) } else { 0 }
    };
    none(
        "waits in the entries that may begin early, and there alone",
        entries().iter().filter(wrong).map(Entry::title).collect(),
    );
}

#[test]
fn nobody_waits_for_a_ticket_before_there_is_work() {
    let mut wrong = vec![];
    for kernel in ["reduction", "count_array_element", "count_2d_array_element", "dot_product"] {
        for e in entries().iter().filter(|e| e.is_of(kernel)) {
            let first = |op: &str| e.ptx.find(op).unwrap_or(usize::MAX);
            // All of a program's loads of its share, then the first exchange between its threads.
            let late = first("ld.global") > first("bar.sync").min(first("barrier.sync"))
                || first("atom.relaxed") > first("ld.global");
            // Marks are in the words that they announce: nothing has to be ordered.
            if late
                || e.count(|o| {
                    o.starts_with("fence") || o.starts_with("membar") || o.contains("acq") || o.contains("release")
                }) > 0
            {
                wrong.push(e.title());
            }
        }
    }
    none("semaphores without waiting", wrong);
}

#[test]
fn aligned_entries_move_sixteen_bytes() {
    const KERNELS: [&str; 6] = ["vector_add", "relu", "gelu", "matrix_copy", "softmax_row", "reduction"];
    let wide = |o: &str, op: &str| {
        o.starts_with(op)
            && (o.contains(".v4.") || o.contains(".v2.b64") || o.contains(".v2.u64") || o.ends_with(".b128"))
    };
    let entries = entries();
    let mut wrong = vec![];
    for kernel in KERNELS {
        let of = entries.iter().filter(|e| e.is_of(kernel) && e.name.ends_with("__aligned") && e.per_thread >= 16);
        let mut some = entries.is_empty();
        for e in of {
            some = true;
            if e.count(|o| wide(o, "ld.global")) == 0 {
                wrong.push(format!("{}: no load of 16 bytes", e.title()));
            }
            // The results of a reduction are single numbers.
            if kernel != "reduction" && e.count(|o| wide(o, "st.global")) == 0 {
                wrong.push(format!("{}: no store of 16 bytes", e.title()));
            }
        }
        assert!(some, "{kernel} has entries for aligned arguments");
    }
    none("16-byte accesses", wrong);
}

#[test]
fn nothing_traps_or_calls() {
    let mut wrong = vec![];
    for e in entries() {
        if e.count(|o| o == "trap") > 0 {
            wrong.push(format!("{}: a trap", e.title()));
        }
        for call in e.ptx.split(';').map(str::trim).filter(|s| s.starts_with("call") || s.contains("\ncall")) {
            if !call.contains("vprintf") && !call.contains("__assertfail") {
                wrong.push(format!("{}: {call}", e.title()));
            }
        }
    }
    none("traps and calls", wrong);
}

#[test]
fn barriers_are_those_of_the_lowered_code() {
    let lowered = lowered();
    let mut wrong = vec![];
    // Warpgroups with roles of their own meet in the library's steps, too.
    for e in entries().iter().filter(|e| !e.only) {
        let expected = lowered[e.name].matches("d::barrier(").count();
        let found = e
            .count(|o| o.starts_with("bar.sync") || o.starts_with("barrier.sync") || o.starts_with("barrier.cta.sync"));
        if found != expected {
            wrong.push(format!("{}: {found}, lowered {expected}", e.title()));
        }
    }
    none("barriers", wrong);
}

/// Shuffles that a line of lowered code stands for: one a register, and two for a value of eight bytes.
fn shuffles(line: &str) -> usize {
    let registers =
        line.split_once("] = d::each").and_then(|(head, _)| head.rsplit_once("; ")?.1.parse().ok()).unwrap_or(1);
    let words = if ["f64", "i64", "u64"].iter().any(|t| line.split(" = ").next().is_some_and(|head| head.contains(t))) {
        2
    } else {
        1
    };
    line.matches("d::shuffle").count() * registers * words
}

/// Shuffles of a product whose operands no tensor core of the target takes: threads fetch the parts of the others.
fn fetches(line: &str, target: &str) -> usize {
    let arguments = line.split_once("d::mma_tile::<").and_then(|(_, rest)| rest.split_once('>'));
    match arguments.map_or(vec![], |(list, _)| list.split(", ").collect())[..] {
        ["BF16" | "f32", _, _, rows, columns, _, steps, _] if target == "sm_75" => {
            let number = |text: &str| text.parse::<usize>().expect("a number");
            4 * (number(rows) + number(columns)) * number(steps)
        }
        _ => 0,
    }
}

#[test]
fn no_shuffle_is_duplicated() {
    let lowered = lowered();
    let mut wrong = vec![];
    for e in entries() {
        let expected: usize = lowered[e.name].lines().map(|l| shuffles(l) + fetches(l, &e.target)).sum();
        let found = e.count(|o| o.starts_with("shfl.sync"));
        // LLVM peels the first round of a loop whose sums begin as zeros that nobody writes.
        let most = if lowered[e.name].contains("fresh_m") { 2 * expected } else { expected };
        // A register that stays in its lane needs none.
        if found > most || (found == 0) != (expected == 0) {
            wrong.push(format!("{}: {found}, lowered {expected}", e.title()));
        }
    }
    none("shuffles", wrong);
}

#[test]
fn launch_bounds() {
    let mut wrong = vec![];
    for e in entries() {
        let bounds: Vec<&str> =
            e.ptx.lines().filter(|l| l.starts_with(".reqntid") || l.starts_with(".maxntid")).collect();
        if bounds != [format!(".reqntid {}, 1, 1", e.threads)] {
            wrong.push(format!("{}: {bounds:?} for {} threads", e.title(), e.threads));
        }
    }
    none("launch bounds", wrong);
}

#[test]
fn shuffles_of_a_line() {
    assert_eq!(shuffles("let x7: [(f32,); 4] = d::each(|r| (f)(x6[r], (d::shuffle_xor(x6[r].0, 1, 0),)));"), 4);
    assert_eq!(shuffles("let x7: [(i64,); 1] = d::each(|r| (f)(x6[r], (d::shuffle_xor(x6[r].0, 1, 0),)));"), 2);
    assert_eq!(shuffles("let v1: u32 = v0;"), 0);
    let product = "let v9: [f32; 64] = d::mma_tile::<BF16, f32, 64, 2, 8, 4, 3, false>(x1, |i, k| x2, |i, k| x3, 7);";
    assert_eq!(
        [fetches(product, "sm_75"), fetches(product, "sm_80"), fetches("let v1: u32 = v0;", "sm_75")],
        [120, 0, 0]
    );
    assert_eq!(fetches(&product.replace("BF16", "F16"), "sm_75"), 0);
}
