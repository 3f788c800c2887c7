//! The tables that Nsight Compute prints with `--csv --page details`: a row for each metric of a launch.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A launch, and its counters.
#[derive(Debug, PartialEq)]
pub struct Launch {
    /// The name of the entry.
    pub kernel: String,
    /// As in `(384, 1, 1)`.
    pub block: String,
    /// As in `(132, 1, 1)`.
    pub grid: String,
    pub compute: (u32, u32),
    metrics: BTreeMap<String, f64>,
}

impl Launch {
    /// A metric in nanoseconds, bytes, percent or events; `None` of one that the GPU does not have.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }
}

#[derive(Deserialize)]
struct Row {
    #[serde(rename = "ID")]
    id: String,
    #[serde(rename = "Kernel Name")]
    kernel: String,
    #[serde(rename = "Block Size")]
    block: String,
    #[serde(rename = "Grid Size")]
    grid: String,
    #[serde(rename = "CC")]
    compute: String,
    #[serde(rename = "Metric Name")]
    metric: String,
    #[serde(rename = "Metric Unit")]
    unit: String,
    #[serde(rename = "Metric Value")]
    value: String,
}

/// The launches of a log, in their order; none of a log without a table.
pub fn launches(log: &str) -> Result<Vec<Launch>> {
    // Lines such as `==PROF== Connected to process 7` stand before the table, and may stand behind it.
    let table: String =
        log.split_inclusive('\n').skip_while(|l| !l.starts_with("\"ID\",")).filter(|l| l.starts_with('"')).collect();
    let mut out: Vec<(String, Launch)> = vec![];
    for row in csv::ReaderBuilder::new().flexible(true).from_reader(table.as_bytes()).deserialize() {
        let row: Row = row?;
        if out.last().is_none_or(|(id, _)| *id != row.id) {
            let compute =
                compute(&row.compute).with_context(|| format!("`{}` is no compute capability", row.compute))?;
            let Row { kernel, block, grid, .. } = row;
            out.push((row.id, Launch { kernel, block, grid, compute, metrics: BTreeMap::new() }));
        }
        if let (Some(value), Some((_, launch))) = (value(&row.value, &row.unit)?, out.last_mut()) {
            launch.metrics.insert(row.metric, value);
        }
    }
    Ok(out.into_iter().map(|(_, launch)| launch).collect())
}

fn compute(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A number in nanoseconds or bytes, if it is a time or a size; `None` where there is none.
fn value(text: &str, unit: &str) -> Result<Option<f64>> {
    if text.is_empty() || text == "n/a" {
        return Ok(None);
    }
    let number = text.replace(',', "").parse::<f64>().with_context(|| format!("`{text}` is no number"))?;
    ensure!(number.is_finite(), "`{text}` is no number");
    let scale = match unit.split('/').next().unwrap_or_default() {
        "usecond" | "us" | "Kbyte" => 1e3,
        "msecond" | "ms" | "Mbyte" => 1e6,
        "second" | "s" | "Gbyte" => 1e9,
        _ => 1.0,
    };
    Ok(Some(number * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the documented format of Nsight Compute 2025.3.
    const LOG: &str = include_str!("../tests/ncu/matmul.csv");

    #[test]
    fn launches_have_their_metrics() {
        let found = launches(LOG).unwrap();
        let [decompose, matmul] = &found[..] else { panic!("{found:?}") };
        assert_eq!(decompose.kernel, "tf32_decompose__BLOCK1024_warps4__aligned");
        assert_eq!((&*matmul.block, &*matmul.grid, matmul.compute), ("(384, 1, 1)", "(132, 1, 1)", (9, 0)));
        assert_eq!(matmul.metric("gpu__time_duration.sum"), Some(226_208.0));
        assert_eq!(matmul.metric("dram__bytes_read.sum"), Some(103_214_080.0));
        assert_eq!(matmul.metric("launch__registers_per_thread"), Some(168.0));
        let long_scoreboard = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio";
        assert_eq!(matmul.metric(long_scoreboard), Some(9.41));
        assert_eq!(matmul.metric("lts__t_sector_hit_rate.pct"), None, "n/a is no number");
        assert_eq!(matmul.metric("nothing"), None);
    }

    #[test]
    fn units_are_converted() {
        for (text, unit, found) in [
            ("12.5", "usecond", 12_500.0),
            ("12.5", "us", 12_500.0),
            ("0.25", "msecond", 250_000.0),
            ("1", "second", 1e9),
            ("1,024", "byte", 1024.0),
            ("1.5", "Mbyte", 1.5e6),
            ("33.79", "Kbyte/block", 33_790.0),
            ("4.0e-05", "second", 40_000.0),
            ("88.31", "%", 88.31),
            ("7", "", 7.0),
        ] {
            assert_eq!(value(text, unit).unwrap(), Some(found), "{text} {unit}");
        }
        assert_eq!((value("n/a", "").unwrap(), value("", "%").unwrap()), (None, None));
    }

    #[test]
    fn other_output_is_no_table() {
        assert_eq!(launches("").unwrap(), []);
        assert_eq!(
            launches("==PROF== Connected to process 7 (/a)\n==WARNING== No kernels were profiled.\n").unwrap(),
            []
        );
        let head = LOG.lines().find(|l| l.starts_with("\"ID\"")).unwrap();
        let fails = |log: &str| format!("{:#}", launches(log).unwrap_err());
        assert!(fails("\"ID\",\"Kernel Name\"\n\"0\",\"k\"\n").contains("missing field"));
        let row = |compute: &str, value: &str| {
            let of = "\"0\",\"1\",\"tile\",\"127.0.0.1\",\"k\",\"1\",\"7\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"0\"";
            format!("{head}\n{of},\"{compute}\",\"Command line profiler metrics\",\"a.sum\",\"byte\",\"{value}\"\n")
        };
        assert_eq!(launches(&row("9.0", "1")).unwrap()[0].metric("a.sum"), Some(1.0));
        assert!(fails(&row("9.0", "much")).contains("`much` is no number"));
        // A number of another locale is not taken for a smaller one.
        assert!(fails(&row("9.0", "2.508.800")).contains("`2.508.800` is no number"));
        assert!(fails(&row("9.0", "inf")).contains("`inf` is no number"));
        assert!(fails(&row("Hopper", "1")).contains("`Hopper` is no compute capability"));
    }
}
