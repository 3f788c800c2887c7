//! Plain tables: columns as wide as their widest cell, numbers to the right.

use crate::out::outln;

pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(header: &[&str]) -> Self {
        Table { rows: vec![header.iter().map(|h| h.to_string()).collect()] }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn print(&self) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
        let numeric = |c: usize| {
            let cells = || self.rows[1..].iter().filter_map(|r| r.get(c)).filter(|s| !s.is_empty());
            cells().next().is_some()
                && cells().all(|s| s.starts_with(|ch: char| ch.is_ascii_digit() || ch == '-' || ch == '<'))
        };
        let shape: Vec<_> = (0..columns).map(|c| (width(c), numeric(c))).collect();
        for row in &self.rows {
            let cells = row
                .iter()
                .zip(&shape)
                .map(|(s, &(w, right))| if right { format!("{s:>w$}") } else { format!("{s:<w$}") });
            outln!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
    }
}
