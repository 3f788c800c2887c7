//! The whole way with a hand-written unit, where this machine has a device toolchain.

use std::fs;
use std::path::PathBuf;

use tilewright_core::bundle::{Bundle, Compression};

use super::*;
use crate::toolchain;
use tilewright_compiler::{Libraries, Source};

mod archives;
mod assembly;
mod copies;
mod functions;
mod sm75;

const KERNEL_CORE: &str = "#![no_std]\n#![feature(stdarch_nvptx)]\npub mod device;\n";
const DEVICE: &str = "
pub fn thread() -> u32 { unsafe { core::arch::nvptx::_thread_idx_x() as u32 } }
pub fn each<T: Copy, const R: usize>(f: impl FnMut(usize) -> T) -> [T; R] { core::array::from_fn(f) }
";
const UNIT: &str = r#"
#![no_std]
#![feature(abi_ptx)]
extern crate tilewright_core;
use tilewright_core::device::*;
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn double_a(x: u64, n: u64) {
    let v: [u32; 4] = each(|r| thread() * 4 + r as u32);
    for i in v { if (i as u64) < n { unsafe { *(x as *mut u32).add(i as usize) *= 2 } } }
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn double_b(x: u64, n: u64) {
    unsafe { if n > 0 { *(x as *mut u32) /= n as u32 } }
}
"#;

struct TestCrate {
    dir: PathBuf,
    tilewright_core: PathBuf,
    files: Vec<PathBuf>,
    cache: Cache,
    prebuilt: Vec<PathBuf>,
    archive: Option<PathBuf>,
    ptxas: fn() -> Option<Ptxas>,
}

impl TestCrate {
    /// A folder with a crate's sources, a `tilewright_core`, and the cache that other tests use too: `core` is slow.
    fn new(name: &str) -> TestCrate {
        let dir = std::env::temp_dir().join(format!("tile-compile-test-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("core/src")).unwrap();
        fs::write(dir.join("core/src/lib.rs"), KERNEL_CORE).unwrap();
        fs::write(dir.join("core/src/device.rs"), DEVICE).unwrap();
        let files = vec![dir.join("a.rs"), dir.join("no_kernel.rs")];
        fs::write(&files[0], format!("#[tile_kernel]\n{UNIT}")).unwrap();
        fs::write(&files[1], "fn main() {}").unwrap();
        let cache = Cache::from_env().unwrap_or_else(|| Cache::at(dir.join("cache")));
        let tilewright_core = dir.join("core/src/lib.rs");
        TestCrate { tilewright_core, dir, files, cache, prebuilt: vec![], archive: None, ptxas: crate::ptxas::find }
    }

    fn build(&self, lower: &Lower, toolchain: fn() -> Result<Toolchain, Missing>) -> Result<Outcome, BuildError> {
        self.build_for("sm_80,sm_90a", lower, toolchain)
    }

    fn build_for(
        &self,
        targets: &str,
        lower: &Lower,
        toolchain: fn() -> Result<Toolchain, Missing>,
    ) -> Result<Outcome, BuildError> {
        let targets: Vec<_> = targets.split(',').filter(|t| !t.is_empty()).map(|t| Target::parse(t).unwrap()).collect();
        run(&Build {
            sources: &Sources::read(&self.files)?,
            targets: &targets,
            lower,
            toolchain,
            ptxas: self.ptxas,
            tilewright_core: &self.tilewright_core,
            cache: &self.cache,
            prebuilt: &self.prebuilt,
            archive: self.archive.as_deref(),
            out: &self.dir.join("out"),
            compression: Compression::Fast,
            pool: &Pool::of(2),
        })
    }

    /// Builds kernels over the device library, without a failure or a warning: the outcome, and the bundles' bytes.
    fn built_over_library(&mut self, targets: &str, lower: &Lower) -> (Outcome, Vec<Vec<u8>>) {
        self.tilewright_core = Path::new(tilewright_core::SOURCE_DIR).join("lib.rs");
        let outcome = self.build_for(targets, lower, toolchain::find).unwrap();
        assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
        assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
        if outcome.report.ptxas.is_none() {
            eprintln!("built without ptxas: whether it takes the PTX is not known");
        }
        let bundles = self.bundles().iter().map(|b| fs::read(self.dir.join("out").join(b)).unwrap()).collect();
        (outcome, bundles)
    }

    fn bundles(&self) -> Vec<String> {
        let names = fs::read_dir(self.dir.join("out")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|n| n.ends_with(".bundle")).collect();
        names.sort();
        names
    }
}

impl Drop for TestCrate {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// "Lowers" a file by taking it as it is.
fn as_is(source: Source, _: &Libraries) -> Vec<DeviceUnit> {
    let text = source.text;
    let entry =
        |name: &str| EntryMeta { name: name.into(), threads: 64, shared_bytes: 256, min_blocks: 2, ctas: 1, maps: 0 };
    let source = text.replace("#[tile_kernel]\n", "");
    vec![DeviceUnit {
        file: "src/lib.rs".into(),
        place: (1, 1),
        kernel: "double".into(),
        fingerprint: "f00d".into(),
        only: None,
        by_target: false,
        source,
        entries: vec![entry("double_b"), entry("double_a")],
    }]
}

/// All configurations.
fn lowered(source: Source, libraries: &Libraries) -> Vec<DeviceUnit> {
    tilewright_compiler::device_units(source, libraries, tilewright_compiler::Configs::All)
}

fn missing() -> Result<Toolchain, Missing> {
    Err(Missing { tried: Vec::new() })
}

/// CI has one; a machine without can still run the other tests.
fn have_toolchain() -> bool {
    let found = toolchain::find();
    if let Err(e) = &found {
        eprintln!("skipped: {e}");
    }
    found.is_ok()
}

#[test]
fn no_toolchain_is_no_concern_without_kernels() {
    let p = TestCrate::new("none");
    let outcome = p.build(&|_, _| Vec::new(), missing).unwrap();
    assert!(outcome.report.entries.is_empty() && p.bundles().is_empty());
}

#[test]
fn no_toolchain_is_no_concern_without_targets() {
    let p = TestCrate::new("untargeted");
    let outcome = p.build_for("", &as_is, missing).unwrap();
    assert!(outcome.warnings.is_empty() && outcome.report.entries.is_empty() && p.bundles().is_empty());
}

#[test]
fn no_toolchain_is_named() {
    let p = TestCrate::new("missing");
    let e = p.build(&as_is, missing).unwrap_err();
    assert!(
        matches!(e, BuildError::Toolchain { .. }) && e.to_string().contains("rustup component add rust-src"),
        "{e}"
    );
}

#[test]
fn a_unit_becomes_a_bundle() {
    if !have_toolchain() {
        return;
    }
    let p = TestCrate::new("bundle");
    let outcome = p.build(&as_is, toolchain::find).unwrap();
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    assert_eq!(p.bundles(), ["double-f00d.bundle"]);
    let bytes = fs::read(p.dir.join("out/double-f00d.bundle")).unwrap();
    let b = Bundle::parse(&bytes).unwrap();
    assert_eq!(b.entries().iter().map(|e| e.name).collect::<Vec<_>>(), ["double_a", "double_b"]);
    let e = b.entry("double_a").unwrap();
    assert_eq!((e.threads, e.shared_bytes, e.min_blocks), (64, 256, 2));
    assert_eq!(e.targets().collect::<Vec<_>>(), ["sm_80", "sm_90a"]);
    let hopper = b.image_for(e, (9, 0)).unwrap();
    let ptx = hopper.ptx().unwrap();
    assert!(ptx.contains(".target sm_90a") && ptx.contains(".reqntid 64, 1, 1\n.minnctapersm 2"), "{ptx}");
    assert!(!ptx.contains("double_b"));
    assert_eq!(hopper.cubin().unwrap().is_some(), outcome.report.ptxas.is_some());
    assert_eq!(outcome.report.entries.len(), 4);
    let json: serde_json::Value = serde_json::from_str(&outcome.report.to_json()).unwrap();
    assert_eq!(json["entries"][3]["target"], "sm_90a");

    // Again: the same bytes. For another target: the old bundle gives way. No kernel left: no bundle.
    p.build(&as_is, toolchain::find).unwrap();
    assert_eq!(fs::read(p.dir.join("out/double-f00d.bundle")).unwrap(), bytes);
    p.build_for("sm_75", &as_is, toolchain::find).unwrap();
    let bytes = fs::read(p.dir.join("out/double-f00d.bundle")).unwrap();
    assert_eq!(Bundle::parse(&bytes).unwrap().entries()[0].targets().collect::<Vec<_>>(), ["sm_75"]);
    p.build(&|_, _| Vec::new(), missing).unwrap();
    assert!(p.bundles().is_empty());
}

#[test]
fn broken_lowered_code_is_reported_and_kept() {
    if !have_toolchain() {
        return;
    }
    let p = TestCrate::new("broken");
    let lower = |source: Source, _: &Libraries| {
        let mut units = as_is(source, &Libraries::default());
        let mut bad = units[0].clone();
        bad.kernel = "bad".into();
        bad.source = bad.source.replace("double_a(x: u64", "double_a(x: Unknown");
        units.push(bad);
        units
    };
    let outcome = p.build(&lower, toolchain::find).unwrap();
    let said: Vec<_> =
        outcome.failures.iter().map(|f| (f.kernel.as_str(), f.target.as_str(), f.why.to_string())).collect();
    assert_eq!(said.len(), 1);
    assert!(said[0].0 == "bad" && said[0].1 == "sm_80, sm_90a" && said[0].2.contains("Unknown"), "{said:?}");
    // The other kernel is there, and so are the files for an analysis of this one.
    assert!(p.bundles().contains(&"double-f00d.bundle".into()));
    assert!(outcome.failures[0].kept.is_file() && outcome.failures[0].kept.with_extension("log").is_file());
}

#[test]
fn what_the_device_does_not_see_changes_nothing() {
    if !have_toolchain() {
        return;
    }
    let p = TestCrate::new("unchanged");
    let (t, target) = (toolchain::find().unwrap(), [Target::parse("sm_80").unwrap()]);
    let make = |source: &Path| {
        prebuilt::make(&Rustc { toolchain: &t }, &p.cache, &target, source).unwrap().tilewright_core.remove(0)
    };
    let key = || make(&p.dir.join("core/src/lib.rs")).key;
    let first = key();
    // Neither does the folder of the package that is built first.
    let made = fs::read(make(&p.dir.join("core/src/lib.rs")).path).unwrap();
    let package = env!("CARGO_MANIFEST_DIR").as_bytes();
    assert!(!made.windows(package.len()).any(|w| w == package), "the library names the folder of a package");
    fs::write(p.dir.join("core/src/host_only.rs"), "not for the device").unwrap();
    assert_eq!(key(), first);
    fs::write(p.dir.join("core/src/device.rs"), DEVICE.replace("as u32", "as u32 + 1")).unwrap();
    assert_ne!(key(), first);
}

/// As of CUDA 12.0, which knows PTX 8.0: an entry that adds vectors is left to the driver, and no other one.
#[cfg(unix)]
#[test]
fn an_older_ptxas_assembles_the_entries_that_it_knows() {
    use std::os::unix::fs::PermissionsExt;
    let p = TestCrate::new("older-ptxas");
    let path = p.dir.join("ptxas");
    let script = "#!/bin/sh\nif grep -q '^.version 8.1' $5; then echo 'ptxas fatal: Unsupported .version 8.1' >&2; \
                  exit 255; fi\nprintf '\\177ELF' > $4\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let ptxas = Ptxas { path, version: format!("of the test {}", std::process::id()) };
    let targets = ["sm_80", "sm_90a"].map(|t| Target::parse(t).unwrap());
    let units = as_is(UNIT.into(), &Libraries::default());
    let bodies = ["ret;", "red.relaxed.gpu.global.add.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};\n\tret;"];
    let mut compiled = vec![];
    for (t, target) in targets.iter().enumerate() {
        let texts = bodies.map(|body| {
            let text = format!("\n.visible .entry e()\n{{\n\t{body}\n}}\n");
            EntryPtx { text: target.directives(&text).join("\n") + &text, local_bytes: 0 }
        });
        let built = texts.map(|ptx| BuiltEntry { ptx, assembled: None });
        compiled.extend(Job { unit: &units[0], target: t }.entries(built));
    }
    let b = Build {
        sources: &Sources::read(&p.files).unwrap(),
        targets: &targets,
        lower: &as_is,
        toolchain: missing,
        ptxas: || None,
        tilewright_core: &p.tilewright_core,
        cache: &Cache::at(p.dir.join("cache")),
        prebuilt: &[],
        archive: None,
        out: &p.dir,
        compression: Compression::Fast,
        pool: &Pool::of(1),
    };
    let mut outcome = Outcome::default();
    assemble_all(&b, &ptxas, &p.dir, &mut compiled, &mut outcome);
    let assembled: Vec<bool> = compiled.iter().map(|c| c.built.assembled.is_some()).collect();
    // Before sm_90 such an addition is no reason for newer PTX.
    assert_eq!(assembled, [true, true, true, false], "{:?}", outcome.warnings);
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    let [warning] = &outcome.warnings[..] else { panic!("{:?}", outcome.warnings) };
    assert!(warning.contains("sm_90a") && warning.contains(".version 8.1") && warning.contains("Unsupported"));
}

/// As in an example and in a test.
#[test]
fn two_kernels_of_one_text_are_one() {
    if !have_toolchain() {
        return;
    }
    let mut p = TestCrate::new("twins");
    let twin = p.dir.join("b.rs");
    // No other test has compiled this text.
    let text = fs::read_to_string(&p.files[0]).unwrap() + &format!("// {}", std::process::id());
    for f in [&p.files[0], &twin] {
        fs::write(f, &text).unwrap();
    }
    p.files.push(twin);
    let outcome = p.build(&as_is, toolchain::find).unwrap();
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    assert_eq!((p.bundles(), outcome.report.entries.len()), (vec!["double-f00d.bundle".to_string()], 4));
}
