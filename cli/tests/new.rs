//! `tile new`: crates that Cargo finds their dependencies of.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The clone that the command was built in.
fn clone() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_path_buf()
}

/// The folders of a new crate's dependencies, by their names, as Cargo finds them, and the output of the command.
fn dependencies(folder: &Path, args: &[&str]) -> (Vec<(String, PathBuf)>, String) {
    let out =
        Command::new(env!("CARGO_BIN_EXE_tile")).arg("new").args(args).current_dir(folder).output().expect("tile");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let package = folder.join(args[0]);
    // Versions that are there without a network.
    fs::copy(clone().join("Cargo.lock"), package.join("Cargo.lock")).expect("a lock file");
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let host = Command::new(&cargo).arg("-vV").output().expect("cargo");
    let host = String::from_utf8_lossy(&host.stdout).into_owned();
    let host = host.lines().find_map(|l| l.strip_prefix("host: ")).expect("a host");
    let metadata = Command::new(&cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform", host])
        .current_dir(&package)
        .output()
        .expect("cargo");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let of = |p: &serde_json::Value| {
        let text = |key: &str| p[key].as_str().expect("a text").to_owned();
        (text("name"), PathBuf::from(text("manifest_path")))
    };
    let printed = String::from_utf8_lossy(&out.stdout).into_owned();
    (metadata["packages"].as_array().expect("packages").iter().map(of).collect(), printed)
}

/// Without further arguments: the crate depends on the clone that the command was built in.
#[test]
fn a_crate_from_a_clone_depends_on_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for (args, packages) in [
        (&["first"][..], &[("tilewright", "tilewright"), ("tilewright-bench", "bench")][..]),
        (&["of-python", "--python"], &[("tilewright", "tilewright"), ("tilewright-python", "python")]),
    ] {
        let (found, printed) = dependencies(folder.path(), args);
        for (name, folder) in packages {
            let place = found.iter().find(|(n, _)| n == name).map(|(_, place)| place.as_path());
            assert_eq!(place, Some(&*clone().join(folder).join("Cargo.toml")), "{name}");
        }
        let clone = clone();
        let said = format!("{} depends on the clone that this command was built in, {}\n", args[0], clone.display());
        assert!(printed.starts_with(&said), "{printed}");
        // A runner of CI has no clone beside the crate.
        assert!(!folder.path().join(args[0]).join(".github").exists());
    }
}

#[test]
fn another_clone_is_named_by_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    for package in ["tilewright", "bench", "python"] {
        let place = folder.path().join("clone").join(package);
        fs::create_dir_all(&place).expect("a folder");
        fs::write(place.join("Cargo.toml"), "").expect("a manifest");
    }
    let mut new = Command::new(env!("CARGO_BIN_EXE_tile"));
    let out = new.args(["new", "first", "--path", "clone"]).current_dir(&folder).output().expect("tile");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let manifest = fs::read_to_string(folder.path().join("first/Cargo.toml")).expect("a manifest");
    assert!(manifest.contains("tilewright = { path = \"../clone/tilewright\" }"), "{manifest}");
}
