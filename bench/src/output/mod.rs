//! The printed and saved forms of a report.

mod csv;
mod escape;
mod figure;
mod html;
mod roofline;
mod svg;
mod table;

use crate::error::Result;
use crate::files::{self, Folder};
use crate::report::Report;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use table::Table;

impl Report {
    /// A table for each sweep, as text for a terminal.
    ///
    /// # Examples
    /// ```
    /// use tilewright_bench::{Axis, Case, Settings, Sweep, Verdict, measure};
    ///
    /// let sweep = Sweep::new("nothing", Axis::log("n", [1, 2]))
    ///     .line("mine", |_, _| Ok(Case::new((), |_, ()| Ok(()), |()| Ok(Verdict::Right))));
    /// let rt = tilewright::Runtime::cpu();
    /// let report = measure(&rt, "example", &[sweep], &Settings::default(), &mut |_| {})?;
    /// assert!(report.text().contains("mine") && report.csv().contains("mine"));
    /// assert!(report.html()?.starts_with("<!"));
    /// let folder = tempfile::tempdir()?;
    /// let files = report.save(folder.path())?;
    /// assert_eq!(files.len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn text(&self) -> String {
        table::text(self)
    }

    /// All rows as CSV. The first line names the columns.
    pub fn csv(&self) -> String {
        csv::text(self)
    }

    /// One page with figures, tables and the method, which needs no other file and no network. Errors:
    /// [`Error::Drawing`](crate::Error::Drawing).
    pub fn html(&self) -> Result<String> {
        html::page(self)
    }

    /// Writes `bench.json`, `bench.csv`, `bench.html` and a figure of each sweep to a folder, which is created where
    /// there is none. Each file is written whole or not at all. Returns their paths. Errors:
    /// [`Error::File`](crate::Error::File), [`Error::Drawing`](crate::Error::Drawing).
    pub fn save(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        self.save_in(&Folder::new(folder)?)
    }

    pub(crate) fn save_in(&self, folder: &Folder) -> Result<Vec<PathBuf>> {
        // All contents first: where one cannot be made, no file is written.
        let mut contents = vec![
            ("bench.json".to_string(), self.json()),
            ("bench.csv".to_string(), self.csv()),
            ("bench.html".to_string(), self.html()?),
        ];
        let mut names = BTreeSet::new();
        for sweep in &self.sweeps {
            let mut name = files::file_name(&sweep.name);
            // Two sweeps may differ in a character that no file name has.
            while !names.insert(name.clone()) {
                name.push('-');
            }
            contents.push((format!("{name}.svg"), svg::sweep(self, sweep)?));
        }
        contents.iter().map(|(name, text)| folder.write(name, text)).collect()
    }
}
