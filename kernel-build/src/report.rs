//! What was built, for people and tests: `report.json` beside the bundles.

use kernel_core::bundle::Usage;
use serde_json::{Value, json};

#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Missing where there was nothing to compile, or no toolchain.
    pub rustc: Option<String>,
    pub ptxas: Option<String>,
    pub targets: Vec<String>,
    pub entries: Vec<EntryReport>,
}

/// One entry for one target.
#[derive(Clone, Debug)]
pub struct EntryReport {
    pub kernel: String,
    pub fingerprint: String,
    pub entry: String,
    pub target: String,
    pub threads: u32,
    pub shared_bytes: u32,
    pub min_blocks: u32,
    /// Local memory in the PTX.
    pub local_bytes: u64,
    /// All zero without ptxas.
    pub usage: Usage,
    pub ptx_bytes: usize,
    pub cubin_bytes: usize,
}

impl Report {
    pub fn to_json(&self) -> String {
        let entries: Vec<Value> = self.entries.iter().map(EntryReport::to_json).collect();
        let all = json!({ "rustc": self.rustc, "ptxas": self.ptxas, "targets": self.targets, "entries": entries });
        format!("{all:#}\n")
    }

    /// One line for every kernel that spills or keeps arrays in memory: it runs, slowly.
    pub fn local_memory(&self) -> Vec<String> {
        let mut lines: Vec<(String, usize, &EntryReport)> = Vec::new();
        for e in self.entries.iter().filter(|e| e.local_bytes > 0 || e.usage.spill_bytes > 0) {
            match lines.iter_mut().find(|l| l.0 == e.kernel) {
                Some(l) => l.1 += 1,
                None => lines.push((e.kernel.clone(), 1, e)),
            }
        }
        let say = |(kernel, n, e): (String, usize, &EntryReport)| {
            let more = if n > 1 { format!(" and {} more", n - 1) } else { String::new() };
            let EntryReport { entry, target, local_bytes, usage, .. } = e;
            format!("kernel `{kernel}` uses local memory, which is slow: `{entry}` for {target}{more} ({local_bytes} bytes of arrays, {} bytes of spills)", usage.spill_bytes)
        };
        lines.into_iter().map(say).collect()
    }
}

impl EntryReport {
    fn to_json(&self) -> Value {
        json!({
            "kernel": self.kernel,
            "fingerprint": self.fingerprint,
            "entry": self.entry,
            "target": self.target,
            "threads": self.threads,
            "shared_bytes": self.shared_bytes,
            "min_blocks": self.min_blocks,
            "local_bytes": self.local_bytes,
            "registers": self.usage.registers,
            "spill_bytes": self.usage.spill_bytes,
            "stack_bytes": self.usage.stack_bytes,
            "ptx_bytes": self.ptx_bytes,
            "cubin_bytes": self.cubin_bytes,
        })
    }
}
