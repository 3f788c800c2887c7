//! The build script's output for the kernels.

use crate::backends::CONFIGS;
use tilewright::kernel::bundle::Bundle;
use tilewright_challenges::{SOURCES, all};

#[test]
fn no_kernel_has_more_configurations_than_are_tested() {
    for kernel in all() {
        assert!(kernel.configs.len() <= CONFIGS, "{} has {}", kernel.name, kernel.configs.len());
    }
}

#[test]
fn a_family_is_one_file_of_kernels() {
    let kernels: Vec<_> = SOURCES.iter().filter(|(file, _)| file.starts_with("src/kernels/")).collect();
    assert!(kernels.len() == 11 && all().len() > 30, "{} files, {} kernels", kernels.len(), all().len());
    for (file, text) in kernels {
        assert!(text.lines().count() < 300, "{file}");
    }
}

/// The steps of the radix sort: with two programs on a multiprocessor they spill, and are 1.2 times as fast as without
/// spills (`docs/lab/in-a-tile.md`). A selective scan spills four words.
const SPILLING: [&str; 5] =
    ["selective_scan", "sort_digit", "sort_first_digit", "sort_last_digit", "sort_last_digit_descending"];

/// In a build with a device toolchain every kernel has code for the H100 and the H200, which spills no registers.
#[test]
fn no_kernel_spills_registers() {
    for kernel in all() {
        assert_eq!(kernel.bundle.is_some(), option_env!("TILE_BUNDLE_DIR").is_some(), "{}", kernel.name);
        let Some(bytes) = kernel.bundle else { continue };
        let bundle = Bundle::parse(bytes).unwrap();
        for entry in
            kernel.configs.iter().flat_map(|c| c.variants).filter(|v| v.built).map(|v| bundle.entry(v.entry).unwrap())
        {
            let image = bundle.image_for(entry, (9, 0)).unwrap();
            let most = if SPILLING.contains(&kernel.name) { 512 } else { 0 };
            assert!(image.usage.is_none_or(|u| u.spill_bytes <= most), "{}: {:?}", kernel.name, image.usage);
        }
    }
}
