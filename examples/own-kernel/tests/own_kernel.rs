//! The kernel against plain Rust, on every backend in reach.

use own_kernel::{normalize, rms_norm};
use tilewright::Runtime;

fn reference(x: &[f32], columns: usize) -> Vec<f32> {
    let rows = x.chunks(columns).flat_map(|row| {
        let mean = row.iter().map(|&v| (v as f64).powi(2)).sum::<f64>() / columns as f64;
        row.iter().map(move |&v| (v as f64 / (mean + 1e-6).sqrt()) as f32)
    });
    rows.collect()
}

fn check(rt: &Runtime) {
    for (rows, columns) in [(1, 1), (3, 1000), (5, 1024), (2, 4097)] {
        let x: Vec<f32> = (0..rows * columns).map(|i| ((i * 37) % 201) as f32 / 100.0 - 1.0).collect();
        let y = normalize(rt, &x, columns).unwrap();
        for (i, (got, want)) in y.iter().zip(reference(&x, columns)).enumerate() {
            assert!(
                (got - want).abs() <= 1e-5 * (1.0 + want.abs()),
                "{rows} x {columns}, element {i}: {got}, not {want}"
            );
        }
    }
}

#[test]
fn on_the_cpu() {
    check(&Runtime::cpu());
}

#[test]
fn on_the_emulated_gpu() {
    check(&Runtime::emulator(1));
}

#[test]
fn on_the_gpu() {
    match Runtime::cuda(0) {
        Ok(rt) if rt.without_code(rms_norm::DESCS).is_none() => check(&rt),
        Ok(_) => eprintln!("skipped: the kernel was not compiled for this GPU"),
        Err(e) => eprintln!("skipped: {e}"),
    }
}

/// The build script lists the kernels and their sources.
#[test]
fn kernels_are_listed() {
    let names: Vec<&str> = own_kernel::all().iter().map(|d| d.name).collect();
    assert_eq!(names, ["rms_norm"]);
    let [(file, text)] = own_kernel::SOURCES else { panic!("one file has kernels") };
    assert!(*file == "src/lib.rs" && text.contains("fn rms_norm"), "{file}");
}

/// A build with a device toolchain, and with targets, embeds the compiled kernel.
#[test]
fn compiled_for_the_gpu() {
    let is_built = option_env!("TILE_BUNDLE_DIR").is_some() && option_env!("TILE_TARGETS") != Some("none");
    assert_eq!(rms_norm::DESCS[0].bundle.is_some(), is_built);
    if let Some(bytes) = rms_norm::DESCS[0].bundle {
        let bundle = tilewright::kernel::bundle::Bundle::parse(bytes).unwrap();
        for config in rms_norm::DESCS[0].configs {
            for variant in config.variants.iter().filter(|v| v.built) {
                let entry = bundle.entry(variant.entry).unwrap();
                assert_eq!(entry.threads, config.warps * 32);
                assert!(bundle.image_for(entry, (9, 0)).unwrap().ptx().unwrap().contains(variant.entry));
            }
        }
    }
}

/// The macro finds the code for the host that the build script has written.
#[test]
fn lowered_by_the_build_script() {
    const { assert!(rms_norm::IS_INCLUDED) };
}
