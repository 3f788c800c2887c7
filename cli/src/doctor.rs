//! `tile doctor`

use crate::choose::{self, Backend};
use crate::out::outln;
use crate::{disassembler, ncu};
use anyhow::Result;
use serde::Serialize;
use tilewright_build::{cache::Cache, ptxas, toolchain};
use tilewright_core::bundle::Bundle;
use tilewright_runtime::{Error, Runtime, cuda_status};

#[derive(clap::Args)]
pub struct Args {
    /// Machine-readable
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: Backend,
}

/// One thing that was looked at.
#[derive(Serialize)]
struct Finding {
    what: &'static str,
    /// Without it something does not work; `how` is the remedy.
    ok: bool,
    found: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    how: String,
}

/// The CPU backend needs nothing of this, so a missing part is no failure. The name of an unknown backend is one.
pub fn main(args: Args) -> Result<bool> {
    let findings = [
        device_toolchain(),
        assembler(),
        disassembler(),
        profiler(),
        compiled(),
        processor(),
        driver(),
        gpu(),
        caches(),
    ];
    let opened = args.backend.open();
    let known = !opened.as_ref().is_err_and(|e| matches!(e.downcast_ref(), Some(Error::UnknownBackend { .. })));
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&findings)?);
        return Ok(known);
    }
    for f in &findings {
        outln!("{} {:17} {}", if f.ok { "ok     " } else { "missing" }, f.what, f.found);
        f.how.lines().for_each(|l| outln!("                          {l}"));
    }
    let taken = opened.map_or_else(|e| format!("nothing: {e}"), |rt| rt.device().name.clone());
    outln!("\n{} takes: {taken}", args.backend.name());
    Ok(known)
}

fn device_toolchain() -> Finding {
    let what = "device toolchain";
    match toolchain::find() {
        Ok(t) => {
            let version = t.version.lines().next().unwrap_or_default().to_string();
            Finding {
                what,
                ok: true,
                found: format!("{version} ({:?}, {})", t.origin, t.rustc.display()),
                how: String::new(),
            }
        }
        Err(missing) => {
            Finding { what, ok: false, found: "no rustc that can compile for a GPU".into(), how: missing.to_string() }
        }
    }
}

fn assembler() -> Finding {
    let what = "ptxas";
    match ptxas::find() {
        Some(p) => {
            Finding { what, ok: true, found: format!("{} ({})", p.version, p.path.display()), how: String::new() }
        }
        None => Finding {
            what,
            ok: false,
            found: "none: the driver assembles kernels when they are first used".into(),
            how: "Get it with `cargo xtask setup` or `pip install 'nvidia-cuda-nvcc==13.0.*'`, or set TILE_PTXAS"
                .into(),
        },
    }
}

fn disassembler() -> Finding {
    let what = "disassembler";
    match disassembler::find() {
        Some((path, _)) => Finding { what, ok: true, found: path.display().to_string(), how: String::new() },
        None => Finding {
            what,
            ok: false,
            found: "none: `tile show --stage sass` needs one".into(),
            how: disassembler::INSTALL_HINT.into(),
        },
    }
}

fn profiler() -> Finding {
    let what = "Nsight Compute";
    match ncu::find() {
        Some(path) => Finding { what, ok: true, found: path.display().to_string(), how: String::new() },
        None => Finding {
            what,
            ok: false,
            found: "no ncu: `tile profile --ncu` needs it".into(),
            how: ncu::INSTALL_HINT.into(),
        },
    }
}

fn compiled() -> Finding {
    let all = tilewright_kernels::all();
    let bundles: Vec<_> = all.iter().filter_map(|d| d.bundle).filter_map(|b| Bundle::parse(b).ok()).collect();
    let mut targets: Vec<String> =
        bundles.iter().flat_map(|b| b.entries()).flat_map(|e| e.targets()).map(str::to_string).collect();
    targets.sort();
    targets.dedup();
    let entries: usize = bundles.iter().map(|b| b.entries().len()).sum();
    let bytes: usize = all.iter().filter_map(|d| d.bundle).map(<[u8]>::len).sum();
    let few = !choose::has_every_configuration();
    let found = format!(
        "{} of {} kernels, {entries} entries for {}, {} KiB{}",
        bundles.len(),
        all.len(),
        targets.join(" and "),
        bytes >> 10,
        if few { "; few configurations (TILE_CONFIGS)" } else { "" }
    );
    let ok = bundles.len() == all.len();
    let how = if ok { String::new() } else { "Get the device toolchain (above), then build again".into() };
    Finding {
        what: "compiled kernels",
        ok,
        found: if bundles.is_empty() { "none in this build: CPU only".into() } else { found },
        how,
    }
}

fn processor() -> Finding {
    let (ok, what) = (tilewright_core::cpu::is_supported(), "processor");
    let found = if ok { "it runs kernels on the CPU" } else { "it lacks AVX2 or FMA: kernels do not run on the CPU" };
    let how =
        if ok { "" } else { "Run kernels on a GPU, or on x86-64 with AVX2 and FMA: Intel from 2013, AMD from 2015" };
    Finding { what, ok, found: found.into(), how: how.into() }
}

fn driver() -> Finding {
    let what = "NVIDIA driver";
    match cuda_status() {
        Ok(n) => Finding {
            what,
            ok: true,
            found: format!("{n} device{}", if n == 1 { "" } else { "s" }),
            how: String::new(),
        },
        Err(e) => Finding { what, ok: false, found: e.to_string(), how: String::new() },
    }
}

fn gpu() -> Finding {
    let what = "GPU";
    match Runtime::cuda(0) {
        Ok(rt) => {
            let d = rt.device();
            let found = format!(
                "{}, {}, {} multiprocessors, {} GiB, CUDA {}",
                d.name,
                d.arch(),
                d.num_sms,
                d.memory >> 30,
                d.driver
            );
            match rt.without_code(&tilewright_kernels::all()) {
                None => Finding { what, ok: true, found, how: String::new() },
                Some(k) => Finding {
                    what,
                    ok: false,
                    found: format!(
                        "{found}, but this build has no code for it ({} is one): kernels run on the CPU",
                        k.name
                    ),
                    how: format!(
                        "Get the device toolchain (above), then build again, with TILE_TARGETS={} if it was there",
                        d.arch()
                    ),
                },
            }
        }
        Err(_) => Finding { what, ok: false, found: "none: kernels run on the CPU".into(), how: String::new() },
    }
}

fn caches() -> Finding {
    let place =
        |p: Option<std::path::PathBuf>| p.map_or("nowhere (no home folder)".into(), |p| p.display().to_string());
    let found = format!(
        "builds {}; tuning {}",
        place(Cache::from_env().map(|c| c.root().to_path_buf())),
        place(Runtime::cache_dir())
    );
    let checked = Cache::from_env().map(|c| c.check());
    let (ok, how) = match checked {
        None => (false, "Set TILE_CACHE_DIR to a folder".into()),
        Some(Err(e)) => (false, format!("It is not used: {e}. Set TILE_CACHE_DIR to a folder of your own")),
        Some(Ok(())) => (true, String::new()),
    };
    Finding { what: "caches", ok, found, how }
}
