//! The tuning results that the runtime ships are of kernels and configurations that there are. Results of others are
//! out of date, and the tuner passes them over.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The results of a device: a configuration or a plan by the rounded sizes, by kernel or operation.
#[derive(serde::Deserialize)]
struct Defaults {
    kernels: BTreeMap<String, BTreeMap<String, String>>,
}

#[test]
fn shipped_results_are_of_what_there_is() {
    let kernels = tilewright_kernels::all();
    let label = |name: &str, types: &str| if types.is_empty() { name.into() } else { format!("{name}[{types}]") };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/defaults");
    let files = fs::read_dir(folder).expect("the shipped results").map(|e| e.expect("a file").path());
    let files: Vec<_> = files.filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).expect("a text");
        let defaults: Defaults = serde_json::from_str(&text).expect("shipped results");
        for (of, results) in defaults.kernels {
            let of_kernel = |config: &str| {
                kernels.iter().any(|k| label(k.name, k.types) == of && k.configs.iter().any(|c| c.id == config))
            };
            // Plans of operations name a kernel and its configuration at their end.
            let of_plan = |plan: &str| {
                let (kernel, config) = plan.rsplit_once(' ').unwrap_or(("", plan));
                let kernel = kernel.rsplit(' ').find(|w| !w.starts_with("splits=")).unwrap_or_default();
                kernels.iter().any(|k| k.name == kernel && k.configs.iter().any(|c| c.id == config))
            };
            let stale: Vec<_> = results.iter().filter(|(_, config)| !of_kernel(config) && !of_plan(config)).collect();
            assert!(stale.is_empty(), "{}: {of}: {stale:?}", file.display());
        }
    }
}
