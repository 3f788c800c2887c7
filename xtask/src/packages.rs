//! The packages as a user gets them: packed, unpacked elsewhere, and used by a crate that has nothing else of this
//! repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::command;

/// The features that candle asks cudarc for. Features are unified over a program, so that ours must go with them.
const FEATURES_OF_CANDLE: [&str; 10] = [
    "std",
    "cublas",
    "cublaslt",
    "curand",
    "driver",
    "nvrtc",
    "f16",
    "f8",
    "cuda-version-from-build-system",
    "dynamic-linking",
];

/// Packs the packages, and builds and runs the first kernel of the README with them. With `--families` it also compiles
/// each family of operations without the others, which takes minutes.
pub fn run(args: &[&str]) -> Result<ExitCode> {
    let each_family = match args {
        [] => false,
        ["--families"] => true,
        _ => bail!("`cargo xtask packages` takes --families, not `{}`", args.join(" ")),
    };
    let root = command::root();
    let (out, families) = (root.join("target/package"), families(&command::packages()?)?);
    let packed = pack(&root.join("target"), true)?;
    let consumer = out.join("consumer");
    write_consumer(&root, &consumer, &families, &unpack(&packed)?)?;
    // Features and profiles are those of the workspace, so that libraries of others are not built again.
    let cargo = |targets: &str, args: &[&str]| {
        let cargo = command::cargo().dir(&consumer).args(args).env("CARGO_TARGET_DIR", root.join("target"));
        cargo.env("TILE_TARGETS", targets).env("TILE_BACKEND", "cpu").succeeds()
    };
    ensure!(cargo("sm_80", &["run", "--quiet"])?, "the first kernel of the README does not run with the packages");
    println!("the first kernel of the README runs with the packages");
    let beside = cargo("sm_80", &["check", "--quiet", "--features", "beside-candle"])?;
    ensure!(beside, "the runtime does not compile beside cudarc with the features that candle asks for");
    println!("the runtime compiles beside cudarc with the features that candle asks for");
    for family in families.iter().filter(|_| each_family) {
        // Code for a GPU is made of the same kernels with any features, and takes most of the time.
        let alone = cargo("none", &["check", "--quiet", "--features", family])?;
        ensure!(alone, "the operations of the feature {family} do not compile without those of others");
    }
    if each_family {
        println!("each family of operations compiles without the others");
    }
    fs::remove_dir_all(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// Packs the packages that are published. Returns their files, in the folder `package` of a target folder. Errors: with
/// changes that are not committed, unless these are allowed.
pub fn pack(target: &Path, allow_changes: bool) -> Result<Vec<PathBuf>> {
    let out = target.join("package");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let packages = published(&command::packages()?)?;
    let cargo = command::cargo().args(["package", "--no-verify", "--quiet", "--target-dir"]).args([target]);
    let cargo = cargo.args(packages.iter().map(|p| format!("--package={p}")));
    ensure!(cargo.args(allow_changes.then_some("--allow-dirty")).succeeds()?, "cargo package failed");
    let files = fs::read_dir(&out)?.map(|e| Ok(e?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let mut files: Vec<PathBuf> = files.into_iter().filter(|f| f.extension().is_some_and(|e| e == "crate")).collect();
    files.sort();
    ensure!(files.len() == packages.len(), "cargo packed {} of {} packages", files.len(), packages.len());
    Ok(files)
}

/// The names of the packages of the workspace that are published: all but those with `publish = false`.
fn published(packages: &[Value]) -> Result<Vec<String>> {
    let published = packages.iter().filter(|p| p["publish"].is_null()).filter_map(|p| p["name"].as_str());
    let published: Vec<String> = published.map(String::from).collect();
    ensure!(!published.is_empty(), "no package of the workspace is published");
    Ok(published)
}

/// The features of the facade for one family of operations each.
fn families(packages: &[Value]) -> Result<Vec<String>> {
    let facade = packages.iter().find(|p| p["name"] == "tilewright").context("the facade")?;
    let features = facade["features"].as_object().context("the features of the facade")?;
    let families: Vec<String> = features.keys().filter(|f| f.starts_with("ops-")).cloned().collect();
    ensure!(!families.is_empty(), "the facade has no feature of a family of operations");
    Ok(families)
}

/// Unpacks packages where they are. Returns their folders.
fn unpack(packages: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut folders = vec![];
    for file in packages {
        let folder = file.parent().context("a package is in a folder")?;
        // With the time of now: files of packages have one time, by which cargo takes changed files for built.
        let tar = command::program("tar").dir(folder).args(["xzmf"]).args([file]);
        ensure!(tar.succeeds()?, "tar does not unpack {}", file.display());
        folders.push(file.with_extension(""));
    }
    Ok(folders)
}

/// The crate of the README's first kernel, with our packages in the place of the paths to a clone.
fn write_consumer(root: &Path, consumer: &Path, families: &[String], packages: &[PathBuf]) -> Result<()> {
    let readme = fs::read_to_string(root.join("README.md"))?;
    let manifest = block_after(&readme, "\n`Cargo.toml`")?;
    let in_clone = "path = \"../tilewright/tilewright\"";
    ensure!(manifest.contains(in_clone), "the README's Cargo.toml names no path to a clone");
    let mut manifest = manifest.replace(in_clone, &format!("version = \"{}\"", env!("CARGO_PKG_VERSION")));
    let features = FEATURES_OF_CANDLE.map(|f| format!("\"{f}\"")).join(", ");
    manifest = manifest.replace(
        "\n[build-dependencies]",
        &format!(
            "cudarc = {{ version = \"*\", optional = true, default-features = false, features = [{features}] }}\n\n\
             [build-dependencies]"
        ),
    );
    manifest += "\n[features]\nbeside-candle = [\"dep:cudarc\"]\n";
    manifest.extend(families.iter().map(|f| format!("{f} = [\"tilewright/{f}\"]\n")));
    manifest += "\n[workspace]\n\n[patch.crates-io]\n";
    let mut unoptimized = String::new();
    for p in packages {
        let folder = p.file_name().and_then(|n| n.to_str()).context("the name of a package")?;
        let name = folder.rsplit_once('-').context("a package is called after its version")?.0;
        manifest += &format!("{name} = {{ path = \"../{folder}\" }}\n");
        // They are compiled here for one kernel.
        unoptimized += &format!("[profile.dev.package.{name}]\nopt-level = 0\n");
    }
    let workspace = fs::read_to_string(root.join("Cargo.toml"))?;
    let profiles = workspace.find("[profile.dev]").context("the profiles of the workspace")?;
    let of_ours = workspace[profiles..].split("\n[").filter(|p| !p.starts_with("profile.dev.package.tilewright"));
    manifest += &format!("\n{}\n{unoptimized}", of_ours.collect::<Vec<_>>().join("\n["));
    fs::create_dir_all(consumer.join("src"))?;
    fs::write(consumer.join("Cargo.toml"), manifest)?;
    fs::write(consumer.join("build.rs"), block_after(&readme, "\n`build.rs`")?)?;
    fs::write(consumer.join("src/main.rs"), block_after(&readme, "\n`src/main.rs`")?)?;
    fs::copy(root.join("Cargo.lock"), consumer.join("Cargo.lock"))?;
    Ok(())
}

/// The block of code of a document that follows a line which begins with these words.
fn block_after<'a>(text: &'a str, words: &str) -> Result<&'a str> {
    let at = text.find(words).with_context(|| format!("the README has no line that begins with{words}"))?;
    let start = text[at..].find("```").with_context(|| format!("no code after {words}"))? + at;
    let first = text[start..].find('\n').context("a line")? + start + 1;
    let end = text[first..].find("```").context("the end of the code")? + first;
    Ok(&text[first..end])
}
