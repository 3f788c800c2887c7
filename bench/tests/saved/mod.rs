//! A run as a file has it, of which tests change parts.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tilewright_bench::Report;

/// Two points of two lines and a copy, on a GPU. Names have the special characters of HTML, XML, CSV and file names.
pub fn run() -> Value {
    let measured = |line: &str, times: [f64; 6]| json!({"line": line, "outcome": "measured", "times_ms": times});
    let gauge = |v: f64| json!({"low": v - 5.0, "value": v, "high": v});
    json!({
        "format": "tilewright-bench", "version": 1, "title": "a <test> & more", "started": 1_795_638_660, "complete": true,
        "device": {
            "name": "Model \"GPU\"", "arch": "sm_90", "num_sms": 132, "driver": "13.0", "clock_mhz": 1980,
            "bandwidth": 4_800_000_000_000u64, "ceilings": [{"name": "f32", "flops": 67e12}]
        },
        "rules": ["A rule."],
        "sweeps": [{
            "name": "add</script>, f32", "axis": "n", "scale": "log", "y": "bandwidth", "tags": {"op": "add"},
            "lines": [{"name": "tile"}, {"name": "peer"}, {"name": "copy", "copy": true}],
            "points": [
                {
                    "x": 4096, "extents": [4096], "bytes": 49152, "flops": 4096,
                    "gauges": {"clock_mhz": gauge(1980.0), "power_w": gauge(650.0)},
                    "values": [
                        measured("tile", [0.004, 0.005, 0.004, 0.0045, 0.004, 0.004]),
                        measured("peer", [0.008, 0.010, 0.008, 0.0090, 0.008, 0.008]),
                        measured("copy", [0.003; 6]),
                    ]
                },
                {
                    "x": 1048576, "extents": [1048576], "bytes": 12_582_912, "flops": 1_048_576,
                    "values": [
                        measured("tile", [0.01; 6]),
                        {"line": "peer", "outcome": "wrong", "why": "element 3 is NaN, wanted 1, \"<b>\""},
                        measured("copy", [0.009; 6]),
                    ]
                }
            ]
        }]
    })
}

/// Writes it to a folder.
pub fn write(folder: &Path, name: &str, run: &Value) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, run.to_string()).expect("writes");
    path
}

pub fn load(run: &Value) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    Report::load(&write(folder.path(), "bench.json", run)).expect("a run")
}
