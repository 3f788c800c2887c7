//! Peers that were recorded in another run: libraries of other languages, above all.

use crate::error::{Error, Result};
use crate::report::{LineFacts, Outcome, Recorded, Report, Times, Value, mistake_of_times};
use crate::sweep::Sweep;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// [`PeersFile::format`].
const FORMAT: &str = "tilewright-peers";
const VERSION: u32 = 1;

/// The contents of a file of peers. `docs/performance/measuring.md` describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeersFile {
    format: String,
    version: u32,
    /// As its driver names it.
    device: String,
    /// Libraries and their versions, and the date.
    source: String,
    lines: Vec<PeerLine>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerLine {
    /// The name of the sweep that it belongs to.
    sweep: String,
    /// Its own.
    name: String,
    points: Vec<PeerPoint>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerPoint {
    /// The whole size, as the point of the sweep has it.
    extents: Vec<u64>,
    /// Milliseconds of single launches.
    times_ms: Vec<f64>,
}

/// Lines that were recorded in another run, from a file.
///
/// # Examples
/// ```
/// use tilewright_bench::{Axis, Case, Peers, Settings, Sweep, Verdict, measure};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("peers.json");
/// std::fs::write(&path, r#"{
///     "format": "tilewright-peers", "version": 1, "device": "NVIDIA H200", "source": "torch 2.11.0",
///     "lines": [{"sweep": "vector_add f32", "name": "torch", "points": [{"extents": [4096], "times_ms": [0.004]}]}]
/// }"#)?;
/// let peers = Peers::load(&path)?;
///
/// // A report of a sweep of this name has a line more at the sizes of the file.
/// let sweep = Sweep::new("vector_add f32", Axis::log("n", [4096]))
///     .extents(|n| vec![n])
///     .line("mine", |_, _| Ok(Case::new((), |_, ()| Ok(()), |()| Ok(Verdict::Right))));
/// let rt = tilewright::Runtime::cpu();
/// let mut report = measure(&rt, "example", &[sweep], &Settings::default(), &mut |_| {})?;
/// report.add_peers(&peers)?;
/// assert!(report.sweeps[0].points[0].times("torch").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Peers {
    path: PathBuf,
    file: PeersFile,
}

/// The key of peers: a sweep's name, the names of its lines, and the sizes of its points.
struct Wanted<'a> {
    sweep: &'a str,
    lines: Vec<&'a str>,
    points: BTreeSet<Vec<u64>>,
}

impl Peers {
    /// Reads a file. Errors: [`Error::File`], [`Error::Content`].
    pub fn load(path: &Path) -> Result<Peers> {
        let file: PeersFile = crate::files::read_json(path)?;
        let wrong = |why: String| Err(Error::content(path, why));
        if (file.format.as_str(), file.version) != (FORMAT, VERSION) {
            return wrong(format!("format `{}` {} instead of `{FORMAT}` {VERSION}", file.format, file.version));
        }
        let mut names = BTreeSet::new();
        for line in &file.lines {
            if !names.insert((&line.sweep, &line.name)) {
                return wrong(format!("two lines `{}` of the sweep `{}`", line.name, line.sweep));
            }
            for p in &line.points {
                if let Some(why) = mistake_of_times(&p.times_ms) {
                    return wrong(format!("{why} for `{}` at {:?}", line.name, p.extents));
                }
            }
        }
        Ok(Peers { path: path.into(), file })
    }

    /// Errors: [`Error::Content`] where no point of the file is one of these sweeps, or a line has a name that is
    /// taken.
    pub(crate) fn check(&self, sweeps: &[Sweep]) -> Result<()> {
        let wanted = sweeps.iter().map(|s| Wanted {
            sweep: &s.name,
            lines: s.line_names().collect(),
            points: s.axis.values.iter().map(|&x| s.extents_at(x)).collect(),
        });
        self.fits(&wanted.collect::<Vec<_>>())
    }

    fn fits(&self, wanted: &[Wanted]) -> Result<()> {
        let mut found = false;
        for line in &self.file.lines {
            let Some(w) = wanted.iter().find(|w| w.sweep == line.sweep) else { continue };
            if w.lines.contains(&line.name.as_str()) {
                let why = format!("the sweep `{}` has a line `{}` of its own", w.sweep, line.name);
                return Err(Error::content(&self.path, why));
            }
            found |= line.points.iter().any(|p| w.points.contains(&p.extents));
        }
        if found {
            return Ok(());
        }
        let sweeps: Vec<_> = wanted.iter().map(|w| format!("`{}`", w.sweep)).collect();
        let why = format!("no line of it has a point of these sweeps: {}", sweeps.join(", "));
        Err(Error::content(&self.path, why))
    }
}

impl Report {
    /// Adds recorded lines to the sweeps of their names, at the points that both have. Errors: [`Error::Content`] where
    /// there is no such point, or a line has a name that is taken.
    pub fn add_peers(&mut self, peers: &Peers) -> Result<()> {
        let wanted = self.sweeps.iter().map(|s| Wanted {
            sweep: &s.name,
            lines: s.lines.iter().map(|l| l.name.as_str()).collect(),
            points: s.points.iter().map(|p| p.extents.clone()).collect(),
        });
        peers.fits(&wanted.collect::<Vec<_>>())?;
        let recorded = Recorded { device: peers.file.device.clone(), source: peers.file.source.clone() };
        for line in &peers.file.lines {
            let Some(sweep) = self.sweeps.iter_mut().find(|s| s.name == line.sweep) else { continue };
            sweep.lines.push(LineFacts { name: line.name.clone(), copy: false, recorded: Some(recorded.clone()) });
            for point in &mut sweep.points {
                if let Some(p) = line.points.iter().find(|p| p.extents == point.extents) {
                    let outcome = Outcome::Measured(Times::new(p.times_ms.clone()));
                    point.values.push(Value { line: line.name.clone(), outcome });
                }
            }
        }
        Ok(())
    }
}
