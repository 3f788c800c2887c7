//! The catalog of errors: for each code the rule, a kernel that breaks it, and one that keeps it. The pages are the
//! files in `explain`, one for each hundred of codes.

use crate::diag::Code;
use std::fmt::Write;

const FILES: [&str; 12] = [
    include_str!("explain/01_attributes.md"),
    include_str!("explain/02_syntax.md"),
    include_str!("explain/03_names.md"),
    include_str!("explain/04_types.md"),
    include_str!("explain/05_shapes.md"),
    include_str!("explain/06_memory.md"),
    include_str!("explain/07_control_flow.md"),
    include_str!("explain/08_products.md"),
    include_str!("explain/09_grid.md"),
    include_str!("explain/10_clusters.md"),
    include_str!("explain/11_functions.md"),
    include_str!("explain/12_operations.md"),
];

/// The pages of a hundred of codes.
#[derive(Clone, Debug)]
pub struct Group {
    /// The subject of these codes.
    pub title: &'static str,
    /// The pages in the order of their codes.
    pub pages: Vec<Page>,
}

/// The explanation of a code.
#[derive(Clone, Debug)]
pub struct Page {
    /// As in `T0501`.
    pub code: &'static str,
    /// The rule in a few words.
    pub title: &'static str,
    /// The text and the examples, in the order of the file.
    pub parts: Vec<Part>,
}

/// A piece of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A paragraph, in the lines of the file.
    Prose(&'static str),
    /// A file with a kernel that breaks the rule.
    Wrong(&'static str),
    /// The same file corrected.
    Right(&'static str),
}

/// The whole catalog, in the order of the codes.
pub fn groups() -> Vec<Group> {
    FILES.into_iter().map(group).collect()
}

/// The page of a code.
pub fn page(code: Code) -> Page {
    let code = code.to_string();
    let mut pages = groups().into_iter().flat_map(|g| g.pages);
    pages.find(|p| p.code == code).unwrap_or_else(|| panic!("{code} has no page"))
}

/// The code that a text names, as `T0501`, `t0501`, `0501` or `501`. An error says which codes there are.
pub fn find(text: &str) -> Result<Code, String> {
    const LIST: &str = "`tile explain` lists all";
    let digits = text.strip_prefix(['T', 't']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_number {
        return Err(format!("`{text}` is not a code, which is written as in {}: {LIST}", Code::ShapeMismatch));
    }
    // A number of more digits than fit is none of the codes, either.
    let number: u16 = digits.parse().unwrap_or(u16::MAX);
    Code::of_number(number).ok_or_else(|| {
        let before = Code::ALL.iter().rfind(|c| c.number() < number);
        let behind = Code::ALL.iter().find(|c| c.number() > number);
        let near: Vec<String> = before.into_iter().chain(behind).map(Code::to_string).collect();
        format!("there is no code `{text}`; near it {} {}: {LIST}", verb(near.len()), near.join(" and "))
    })
}

fn verb(n: usize) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

fn group(file: &'static str) -> Group {
    let mut sections = file.split("\n### ");
    let title = sections.next().and_then(|s| s.strip_prefix("## ")).expect("a title above the pages").trim();
    Group { title, pages: sections.map(section).collect() }
}

/// A page behind its `### `.
fn section(text: &'static str) -> Page {
    let (heading, body) = text.split_once('\n').expect("a body below the heading");
    let (code, title) = heading.split_once(": ").expect("a heading `T0101: Title`");
    let mut parts = vec![];
    for (i, piece) in body.split("```").enumerate() {
        let block = piece.split_once('\n');
        match (i % 2, block) {
            (1, Some(("rust,wrong", code))) => parts.push(Part::Wrong(code)),
            (1, Some(("rust,right", code))) => parts.push(Part::Right(code)),
            (1, _) => panic!("{code}: a block is `rust,wrong` or `rust,right`"),
            _ => parts.extend(piece.split("\n\n").map(str::trim).filter(|p| !p.is_empty()).map(Part::Prose)),
        }
    }
    Page { code, title, parts }
}

/// The width of paragraphs in a terminal.
const WIDTH: usize = 80;

impl Page {
    /// The page as plain text.
    pub fn text(&self) -> String {
        let mut out = format!("{}: {}\n", self.code, self.title);
        for part in &self.parts {
            out.push('\n');
            match part {
                Part::Prose(text) => out += &wrapped(text),
                Part::Wrong(code) => out += &example("Wrong", code),
                Part::Right(code) => out += &example("Right", code),
            }
        }
        out
    }

    /// The files that break the rule.
    pub fn wrong(&self) -> impl Iterator<Item = &'static str> {
        self.parts.iter().filter_map(|p| if let Part::Wrong(code) = p { Some(*code) } else { None })
    }

    /// The files that keep it.
    pub fn right(&self) -> impl Iterator<Item = &'static str> {
        self.parts.iter().filter_map(|p| if let Part::Right(code) = p { Some(*code) } else { None })
    }
}

fn example(label: &str, code: &str) -> String {
    let mut out = format!("{label}:\n\n");
    for line in code.lines() {
        let line = if line.is_empty() { String::new() } else { format!("    {line}") };
        writeln!(out, "{line}").expect("a string takes text");
    }
    out
}

/// The words of a paragraph in lines of at most [`WIDTH`] columns.
fn wrapped(text: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > WIDTH {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += width;
    }
    out.push('\n');
    out
}
