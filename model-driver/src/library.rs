//! The model as a file: the dynamic library that programs load in the place of the driver.

use std::path::PathBuf;

/// A new folder with the model by the name `libcuda.so.1`, for `LD_LIBRARY_PATH`. The caller removes it.
///
/// # Panics
/// The folder cannot be written, or the calling program is no test that cargo has built.
pub fn as_libcuda(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("tile-model-driver-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    // Cargo puts a dependency's dynamic library beside the test.
    let exe = std::env::current_exe().expect("this test's path");
    let built = exe.with_file_name("libtilewright_model_driver.so");
    std::fs::copy(&built, dir.join("libcuda.so.1")).expect("the model is built as a library");
    dir
}
