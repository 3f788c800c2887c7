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
    // The report names the tools that made the archive, and has what they said.
    assert!(outcome.report.rustc.is_some_and(|v| v.starts_with("rustc ")));
    assert_eq!(outcome.report.entries.len(), 4);
    assert!(outcome.report.entries.iter().all(|e| e.ptx_bytes > 0));
    // What was found in an archive goes into the next one: the same bytes.
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
        matches!(p.build_for(targets, lower, missing), Err(BuildError::Toolchain(_)))
    };
    assert!(!is_missing(&p, "sm_80", &as_is) && !is_missing(&p, "sm_90a", &as_is));
    // Another target, another kernel, another launch bound, another device library.
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
    fs::remove_file(file).unwrap();
    assert!(p.build(&as_is, toolchain::find).unwrap().warnings.iter().any(|w| w.contains("is not used")));
}
