//! The report of a build, for people and tests: `report.json` beside the bundles.

use std::path::PathBuf;

use serde_json::{Value, json};
use tilewright_compiler::remarks::Remark;
use tilewright_core::bundle::Usage;

/// The report of a build, which a build script writes to `$OUT_DIR/tile/report.json`.
///
/// # Examples
/// ```
/// use tilewright_build::Report;
///
/// let report = Report { targets: vec!["sm_90a".into()], ..Report::default() };
/// assert!(report.to_json().contains("\"targets\"") && report.slow().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The version of the device toolchain; `None` where there was nothing to compile, or no toolchain.
    pub rustc: Option<String>,
    /// The version of `ptxas`, where there was one.
    pub ptxas: Option<String>,
    /// The targets of the build, as in `sm_90a`.
    pub targets: Vec<String>,
    /// The compiled entries, each for each target.
    pub entries: Vec<EntryReport>,
    /// The entries that compiled to slow code, by file; with `TILE_REMARKS` also the optimizations that the compiler
    /// missed.
    pub remarks: Vec<(PathBuf, Remark)>,
}

/// One entry for one target.
#[derive(Clone, Debug)]
pub struct EntryReport {
    /// The name of the kernel.
    pub kernel: String,
    /// The fingerprint of the kernel's tokens.
    pub fingerprint: String,
    /// The file of the kernel, and the line and the column of its name in it, from 1.
    pub file: PathBuf,
    /// See `file`.
    pub place: (usize, usize),
    /// The name of the entry in the PTX.
    pub entry: String,
    /// The target, as in `sm_90a`.
    pub target: String,
    /// Threads of a thread block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a thread block.
    pub shared_bytes: u32,
    /// Thread blocks that are resident on a multiprocessor at least.
    pub min_blocks: u32,
    /// Thread blocks of a program.
    pub ctas: u32,
    /// Bytes of local memory of a thread, in the PTX.
    pub local_bytes: u64,
    /// All zero without ptxas.
    pub usage: Usage,
    /// `ptxas` serializes the products of warpgroups; known with ptxas only.
    pub serialized: bool,
    /// Bytes of PTX.
    pub ptx_bytes: usize,
    /// Bytes of machine code; 0 without ptxas.
    pub cubin_bytes: usize,
}

impl Report {
    /// The report as JSON.
    pub fn to_json(&self) -> String {
        let entries: Vec<Value> = self.entries.iter().map(EntryReport::to_json).collect();
        let remark = |(file, r): &(PathBuf, Remark)| {
            let (line, column) = r.place.unzip();
            json!({
                "file": file, "line": line, "column": column, "kernel": r.kernel,
                "not": r.what, "why": r.why, "instances": r.instances,
            })
        };
        let remarks: Vec<Value> = self.remarks.iter().map(remark).collect();
        let all = json!({
            "rustc": self.rustc, "ptxas": self.ptxas, "targets": self.targets, "entries": entries, "remarks": remarks,
        });
        format!("{all:#}\n")
    }

    /// The kernels that compiled to slow code, by file: one remark for each kernel and cause.
    pub fn slow(&self) -> Vec<(PathBuf, Remark)> {
        let spills = |e: &EntryReport| e.local_bytes > 0 || e.usage.spill_bytes > 0;
        let local = self.by_kernel("kept in registers", spills, |e| {
            let spilled = e.usage.spill_bytes;
            format!(
                "ptxas spills {spilled} bytes, and arrays take {} bytes of local memory, which is slow. A smaller tile, \
                 or more warps, take fewer registers of a thread",
                e.local_bytes
            )
        });
        let serialized = self.by_kernel("multiplied without waits", |e| e.serialized, |_| {
            "ptxas serializes the wgmma instructions, so that each product is waited for. Accumulators that only products \
             write in a loop stay in flight"
                .into()
        });
        local.into_iter().chain(serialized).collect()
    }

    /// A remark on every kernel with such entries; the first of them says why.
    fn by_kernel(
        &self,
        what: &str,
        such: impl Fn(&EntryReport) -> bool,
        why: impl Fn(&EntryReport) -> String,
    ) -> Vec<(PathBuf, Remark)> {
        let mut all: Vec<(PathBuf, Remark)> = Vec::new();
        for e in self.entries.iter().filter(|e| such(e)) {
            let instance = format!("`{}` for {}", e.entry, e.target);
            match all.iter_mut().find(|(file, r)| r.kernel == e.kernel && *file == e.file) {
                Some((_, r)) => r.instances.push(instance),
                None => all.push((
                    e.file.clone(),
                    Remark {
                        kernel: e.kernel.clone(),
                        what: what.into(),
                        why: why(e),
                        place: Some(e.place),
                        instances: vec![instance],
                    },
                )),
            }
        }
        all
    }
}

impl EntryReport {
    fn to_json(&self) -> Value {
        json!({
            "kernel": self.kernel,
            "fingerprint": self.fingerprint,
            "file": self.file,
            "line": self.place.0,
            "column": self.place.1,
            "entry": self.entry,
            "target": self.target,
            "threads": self.threads,
            "shared_bytes": self.shared_bytes,
            "min_blocks": self.min_blocks,
            "ctas": self.ctas,
            "local_bytes": self.local_bytes,
            "registers": self.usage.registers,
            "spill_bytes": self.usage.spill_bytes,
            "stack_bytes": self.usage.stack_bytes,
            "serialized": self.serialized,
            "ptx_bytes": self.ptx_bytes,
            "cubin_bytes": self.cubin_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_entries_are_named() {
        let entry = |kernel: &str, entry: &str, spill_bytes, serialized| EntryReport {
            kernel: kernel.into(),
            fingerprint: String::new(),
            file: "src/lib.rs".into(),
            place: (7, 4),
            entry: entry.into(),
            target: "sm_90a".into(),
            threads: 384,
            shared_bytes: 0,
            min_blocks: 1,
            ctas: 1,
            local_bytes: 0,
            usage: Usage { registers: 168, spill_bytes, stack_bytes: 0 },
            serialized,
            ptx_bytes: 0,
            cubin_bytes: 0,
        };
        let entries = vec![
            entry("a", "a_1", 0, false),
            entry("a", "a_2", 0, true),
            entry("a", "a_3", 8, true),
            entry("b", "b_1", 0, true),
        ];
        let r = Report { entries, ..Report::default() };
        let slow: Vec<String> = r.slow().iter().map(|(file, r)| r.in_file(&file.display().to_string())).collect();
        let spills = "not kept in registers: ptxas spills 8 bytes, and arrays take 0 bytes of local memory, which is \
                      slow. A smaller tile, or more warps, take fewer registers of a thread";
        let waits = "not multiplied without waits: ptxas serializes the wgmma instructions, so that each product is \
                     waited for. Accumulators that only products write in a loop stay in flight";
        assert_eq!(
            slow,
            [
                format!("src/lib.rs:7:4: kernel `a`, {spills} (in `a_3` for sm_90a)"),
                format!("src/lib.rs:7:4: kernel `a`, {waits} (in `a_2` for sm_90a and 1 more)"),
                format!("src/lib.rs:7:4: kernel `b`, {waits} (in `b_1` for sm_90a)"),
            ]
        );
        assert_eq!(r.to_json().matches("\"serialized\": true").count(), 3);
    }
}
