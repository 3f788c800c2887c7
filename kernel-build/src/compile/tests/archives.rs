//! Kernels that an earlier build has compiled.

use super::*;

/// A crate whose kernels are in an archive, and the archive.
fn archived(name: &str) -> (TestCrate, PathBuf) {
    let mut p = TestCrate::new(name);
    let file = p.dir.join("archives/p.tilearchive");
    p.archive = Some(file.clone());
    p.build(&as_is, toolchain::find).unwrap();
    p.archive = None;
    p.prebuilt = vec![file.clone()];
    (p, file)
}

fn bundle(p: &TestCrate) -> Vec<u8> {
    fs::read(p.dir.join("out/double-f00d.bundle")).unwrap()
}

/// Another kernel, in the same file.
fn and_another(source: Source, libraries: &Libraries) -> Vec<DeviceUnit> {
    let mut units = as_is(source, libraries);
    let mut other = units[0].clone();
    other.kernel = "triple".into();
    other.source = other.source.replace("*= 2", "*= 3");
    units.push(other);
    units
}

#[test]
fn an_archive_stands_in_for_the_toolchain() {
    if !have_toolchain() {
        return;
    }
    let (mut p, file) = archived("archive");
    let (first, bytes) = (bundle(&p), fs::read(&file).unwrap());
    fs::remove_dir_all(p.dir.join("out")).unwrap();
    let outcome = p.build(&as_is, missing).unwrap();
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    assert!(bundle(&p) == first, "another bundle");
    // The report names the tools that made the archive, and has their messages.
    assert!(outcome.report.rustc.is_some_and(|v| v.starts_with("rustc ")));
    assert_eq!(outcome.report.entries.len(), 4);
    assert!(outcome.report.entries.iter().all(|e| e.ptx_bytes > 0));
    // Units found in an archive go into the next one: the same bytes.
    p.archive = Some(p.dir.join("again"));
    p.build(&as_is, missing).unwrap();
    assert!(fs::read(p.dir.join("again")).unwrap() == bytes, "another archive");
}

#[test]
fn what_has_changed_is_not_found() {
    if !have_toolchain() {
        return;
    }
    let (p, _) = archived("stale");
    let is_missing = |p: &TestCrate, targets: &str, lower: &Lower| {
        matches!(p.build_for(targets, lower, missing), Err(BuildError::Toolchain { .. }))
    };
    assert!(!is_missing(&p, "sm_80", &as_is) && !is_missing(&p, "sm_90a", &as_is));
    // Another target, another kernel, another launch bound, the library of another target, another device library.
    assert!(is_missing(&p, "sm_75", &as_is));
    let changed = |f: fn(&mut DeviceUnit)| {
        move |source: Source, libraries: &Libraries| {
            let mut units = as_is(source, libraries);
            f(&mut units[0]);
            units
        }
    };
    assert!(is_missing(&p, "sm_80", &changed(|u| u.source = u.source.replace("*= 2", "*= 3"))));
    assert!(is_missing(&p, "sm_80", &changed(|u| u.entries[0].min_blocks = 3)));
    assert!(is_missing(&p, "sm_90a", &changed(|u| u.by_target = true)));
    fs::write(p.dir.join("core/src/device.rs"), format!("{DEVICE}// More.\n")).unwrap();
    assert!(is_missing(&p, "sm_80", &as_is));
}

#[test]
fn the_rest_is_compiled() {
    if !have_toolchain() {
        return;
    }
    let (p, _) = archived("rest");
    let outcome = p.build(&and_another, toolchain::find).unwrap();
    assert!(outcome.warnings.is_empty() && outcome.failures.is_empty());
    assert_eq!(p.bundles(), ["double-f00d.bundle", "triple-f00d.bundle"]);
    // Without a toolchain the kernel that the archive has is there, and a warning.
    let outcome = p.build(&and_another, missing).unwrap();
    assert_eq!(p.bundles(), ["double-f00d.bundle"]);
    assert!(outcome.warnings.iter().any(|w| w.contains("rustup component add rust-src")), "{:?}", outcome.warnings);
}

#[test]
fn a_damaged_archive_is_a_warning() {
    if !have_toolchain() {
        return;
    }
    let (p, file) = archived("damaged");
    let mut bytes = fs::read(&file).unwrap();
    let within = bytes.len() - 50;
    bytes[within] ^= 1;
    fs::write(&file, bytes).unwrap();
    let outcome = p.build(&as_is, toolchain::find).unwrap();
    assert_eq!(p.bundles(), ["double-f00d.bundle"]);
    assert!(outcome.warnings.iter().any(|w| w.contains("is not used: it is damaged")), "{:?}", outcome.warnings);
    // Without a toolchain the error says both.
    let e = p.build(&as_is, missing).unwrap_err().to_string();
    assert!(e.contains("is not used: it is damaged") && e.contains("rustup component add rust-src"), "{e}");
    fs::remove_file(file).unwrap();
    assert!(p.build(&as_is, toolchain::find).unwrap().warnings.iter().any(|w| w.contains("is not used")));
}

#[test]
fn an_archive_is_not_replaced_by_a_smaller_one() {
    if !have_toolchain() {
        return;
    }
    let (mut p, file) = archived("smaller");
    let bytes = fs::read(&file).unwrap();
    p.archive = Some(file.clone());
    // Without a toolchain, of two kernels one; and without a target.
    let outcomes = [p.build(&and_another, missing), p.build_for("", &as_is, missing)];
    for outcome in outcomes.map(Result::unwrap) {
        assert!(outcome.warnings.iter().any(|w| w.contains("is not written")), "{:?}", outcome.warnings);
        assert!(fs::read(&file).unwrap() == bytes, "another archive");
    }
}

#[test]
fn two_kernels_of_one_code_are_both_found() {
    if !have_toolchain() {
        return;
    }
    let twice = |source: Source, libraries: &Libraries| {
        let mut units = as_is(source, libraries);
        units.push(DeviceUnit { fingerprint: "beef".into(), ..units[0].clone() });
        units
    };
    let (p, _) = archived("twice");
    p.build(&twice, missing).unwrap();
    assert_eq!(p.bundles(), ["double-beef.bundle", "double-f00d.bundle"]);
}

#[test]
fn entries_of_an_archive_without_machine_code_are_assembled() {
    if !have_toolchain() || crate::ptxas::find().is_none() {
        return;
    }
    let mut p = TestCrate::new("unassembled");
    let file = p.dir.join("p.tilearchive");
    p.archive = Some(file.clone());
    p.ptxas = || None;
    let is_assembled = |p: &TestCrate| Bundle::parse(&bundle(p)).unwrap().entries()[0].usage_for((8, 0)).is_some();
    p.build(&as_is, toolchain::find).unwrap();
    assert!(!is_assembled(&p));
    (p.archive, p.prebuilt, p.ptxas) = (None, vec![file], crate::ptxas::find);
    p.build(&as_is, missing).unwrap();
    assert!(is_assembled(&p));
}

#[test]
fn code_that_ptxas_rejects_is_in_no_archive() {
    if !have_toolchain() || crate::ptxas::find().is_none() {
        return;
    }
    let mut p = TestCrate::new("rejected");
    let file = p.dir.join("p.tilearchive");
    p.archive = Some(file.clone());
    let unknown_instruction = |source: Source, libraries: &Libraries| {
        let mut units = as_is(source, libraries);
        let text = units[0].source.replace("(abi_ptx)", "(abi_ptx, asm_experimental_arch)");
        units[0].source = text.replace("if n > 0 {", "core::arch::asm!(\"unknown;\"); if n > 0 {");
        units
    };
    let outcome = p.build(&unknown_instruction, toolchain::find).unwrap();
    assert!(!outcome.failures.is_empty() && !file.exists());
    assert!(outcome.warnings.iter().any(|w| w.contains("is not written")), "{:?}", outcome.warnings);
}
