//! The page of a run: figures, tables and the method in one file.

use super::escape::escape;
use super::{roofline, svg, table};
use crate::error::Result;
use crate::format;
use crate::report::{LineFacts, Report, SweepReport};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(super) fn page(report: &Report) -> Result<String> {
    let title = escape(&report.title);
    let mut body = format!("<h1>{title}</h1>\n<p>{}</p>\n", escape(&about(report)));
    if !report.complete {
        body += "<p class=\"incomplete\">Incomplete: the run was stopped before all points were measured.</p>\n";
    }
    for (i, sweep) in report.sweeps.iter().enumerate() {
        body += &section(report, sweep, i)?;
    }
    body += "<h2>Method</h2>\n<ul>\n";
    for rule in &report.rules {
        // Writing to a string does not fail.
        let _ = writeln!(body, "<li>{}</li>", escape(rule));
    }
    body += "</ul>\n";
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n{body}<div id=\"tip\" hidden></div>\n\
         <script type=\"application/json\" id=\"report\">\n{}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        // A script ends at `</script`, wherever that stands.
        report.json().replace('<', "\\u003c")
    ))
}

/// The device and the date.
fn about(report: &Report) -> String {
    let d = &report.device;
    let mut text = format!("{} ({}, {} ", d.name, d.arch, d.num_sms);
    text += if d.driver.is_empty() { "threads" } else { "multiprocessors" };
    if d.clock_mhz > 0 {
        text += &format!(" of up to {} MHz", d.clock_mhz);
    }
    if d.bandwidth > 0 {
        text += &format!(", memory of {:.0} GB/s", d.bandwidth as f64 / 1e9);
    }
    if !d.driver.is_empty() {
        text += &format!(", driver for CUDA {}", d.driver);
    }
    text + &format!("), {} UTC", format::date(report.started))
}

fn section(report: &Report, sweep: &SweepReport, index: usize) -> Result<String> {
    let mut out = format!("<h2>{}</h2>\n<figure>{}</figure>\n", escape(&sweep.name), svg::sweep(report, sweep)?);
    if let Some(figure) = roofline::roofline(report, sweep)? {
        out += &format!("<figure>{figure}</figure>\n");
    }
    for line in &sweep.lines {
        out += &recorded(line);
    }
    let (head, rows) = table::cells(report, index);
    out += "<table>\n<thead><tr>";
    head.iter().for_each(|h| out += &format!("<th>{}</th>", escape(h)));
    out += "</tr></thead>\n<tbody>\n";
    for row in rows {
        let class = if row.last().is_some_and(|note| !note.is_empty()) { " class=\"note\"" } else { "" };
        out += &format!("<tr{class}>");
        row.iter().for_each(|c| out += &format!("<td>{}</td>", escape(c)));
        out += "</tr>\n";
    }
    Ok(out + "</tbody>\n</table>\n")
}

fn recorded(line: &LineFacts) -> String {
    let Some(r) = &line.recorded else { return String::new() };
    let text = format!(
        "{} was recorded in another run, on {}, with {}: its rounds were not in turn with those of the other lines.",
        line.name, r.device, r.source
    );
    format!("<p>{}</p>\n", escape(&text))
}
