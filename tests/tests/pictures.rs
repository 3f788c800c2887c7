//! The pictures of the documents: `cargo xtask bless` draws them anew from the compiler's list of stages and from the
//! numbers in BENCHMARKS.md.

use std::fs;
use std::path::Path;

use crate::recorded::is_recorded;
use svg::Document;
use svg::node::element::{Line, Rectangle, Text, Title};
use tilewright_compiler::Stage;

const BACKGROUND: &str = "#ffffff";
pub const INK: &str = "#24292f";
pub const FAINT: &str = "#d0d7de";
pub const FASTER: &str = "#2f81b7";
pub const SLOWER: &str = "#c4622d";

pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

pub fn page(width: u32, height: u32, title: &str) -> Document {
    Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        .set("font-family", "system-ui, sans-serif")
        .set("font-size", 13)
        .add(Title::new(title))
        .add(Rectangle::new().set("width", width).set("height", height).set("fill", BACKGROUND))
}

pub fn text(at: (u32, u32), anchor: &str, said: &str) -> Text {
    Text::new(said).set("x", at.0).set("y", at.1).set("text-anchor", anchor).set("fill", INK)
}

pub fn line(from: (u32, u32), to: (u32, u32), color: &str) -> Line {
    Line::new().set("x1", from.0).set("y1", from.1).set("x2", to.0).set("y2", to.1).set("stroke", color)
}

/// The picture of this name is the recorded one.
pub fn picture_is_recorded(name: &str, picture: &Document) {
    is_recorded(&root().join("docs/pictures").join(name), &format!("{picture}\n"));
}

/// The stages of the CPU function.
const OF_CPU: [Stage; 2] = [Stage::CpuPlan, Stage::Cpu];

/// Rows of stages: the stages common to all variants, the stages of each variant, and code.
fn rows() -> [(&'static str, Vec<&'static str>); 3] {
    let all: Vec<Stage> = Stage::ALL.into_iter().filter(|s| !OF_CPU.contains(s)).collect();
    let place = |stage: Stage| all.iter().position(|s| *s == stage).expect("a stage");
    let (variants, code) = (place(Stage::BlockPointers), place(Stage::AxisInfo));
    let names = |stages: &[Stage]| stages.iter().map(|s| s.name()).collect::<Vec<_>>();
    [
        ("each choice of types and constants", names(&all[..variants])),
        ("each variant", names(&all[variants..code])),
        ("code", [names(&all[code..]), vec!["ptx", "sass"]].concat()),
    ]
}

#[test]
fn picture_of_the_compiler() {
    const BOX: (u32, u32) = (108, 34);
    const STEP: (u32, u32) = (BOX.0 + 22, 92);
    let rows = rows();
    let longest = rows.iter().map(|(_, names)| names.len()).max().expect("three rows") as u32;
    let mut picture = page(20 + longest * STEP.0, 40 + 2 * STEP.1 + BOX.1 + 20, "The stages of the compiler");
    let corner = |row: u32, column: u32| (20 + column * STEP.0, 40 + row * STEP.1);
    let stage = |picture: Document, row: u32, column: u32, name: &str| {
        let (x, y) = corner(row, column);
        let rectangle = Rectangle::new().set("x", x).set("y", y).set("width", BOX.0).set("height", BOX.1);
        let rectangle = rectangle.set("rx", 6).set("fill", BACKGROUND).set("stroke", FASTER);
        picture.add(rectangle).add(text((x + BOX.0 / 2, y + 22), "middle", name))
    };
    for (row, (what, names)) in (0..).zip(&rows) {
        // Beside the line from the row above.
        let left = corner(row, 0).0 + if row == 0 { 0 } else { BOX.0 / 2 + 8 };
        picture = picture.add(text((left, corner(row, 0).1 - 8), "start", what).set("font-size", 11));
        for (column, name) in (0..).zip(names) {
            picture = stage(picture, row, column, name);
            let (x, y) = corner(row, column);
            let middle = y + BOX.1 / 2;
            if column + 1 < names.len() as u32 {
                picture = picture.add(line((x + BOX.0, middle), (x + STEP.0, middle), INK));
            } else if row + 1 < rows.len() as u32 {
                // From the end of a row to the beginning of the next one.
                let (below, first) = (corner(row + 1, 0).1, corner(row + 1, 0).0 + BOX.0 / 2);
                let turn = y + BOX.1 + 12;
                picture = picture
                    .add(line((x + BOX.0 / 2, y + BOX.1), (x + BOX.0 / 2, turn), INK))
                    .add(line((x + BOX.0 / 2, turn), (first, turn), INK))
                    .add(line((first, turn), (first, below), INK));
            }
        }
    }
    // The CPU runs the IR from which every variant's part begins.
    let common = rows[0].1.len() as u32;
    for (column, of_cpu) in (common..).zip(OF_CPU) {
        let (x, y) = corner(0, column - 1);
        picture = picture.add(line((x + BOX.0, y + BOX.1 / 2), (x + STEP.0, y + BOX.1 / 2), INK));
        picture = stage(picture, 0, column, of_cpu.name());
    }
    picture_is_recorded("compiler.svg", &picture);
}

/// The rows of the tables of BENCHMARKS.md that compare with the fastest peer: operation, size, and the first speedup.
fn ratios() -> Vec<(String, f64)> {
    let benchmarks = fs::read_to_string(root().join("BENCHMARKS.md")).expect("BENCHMARKS.md");
    const HEADER: &str = "| operation | size | time | speedup over the fastest peer |";
    let mut of_table = false;
    let rows = benchmarks.lines().filter(|l| {
        of_table = *l == HEADER || of_table && l.starts_with('|');
        of_table && *l != HEADER && !l.starts_with("| ---")
    });
    let rows = rows.map(|l| {
        let [operation, size, _, ratio] = l.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            panic!("a row of four: {l}");
        };
        let first = |of: &str, end: &[&str]| {
            let end = end.iter().filter_map(|e| of.find(e)).min().unwrap_or(of.len());
            of[..end].trim().to_string()
        };
        let number = first(ratio, &[",", " to ", " ("]);
        (
            format!("{operation}, {}", first(size, &[", "])).replace('`', ""),
            number.parse().unwrap_or_else(|e| panic!("{l}: {e}")),
        )
    });
    rows.collect()
}

#[test]
fn picture_of_the_results() {
    const ROW: u32 = 22;
    const LEFT: u32 = 370;
    const WIDTH: u32 = 420;
    /// The axis goes from half to 128 times as fast.
    const DOUBLINGS: (f64, f64) = (-1.0, 7.0);
    let rows = ratios();
    assert!(rows.len() > 10, "{} rows", rows.len());
    let x = |ratio: f64| {
        let part = (ratio.log2().clamp(DOUBLINGS.0, DOUBLINGS.1) - DOUBLINGS.0) / (DOUBLINGS.1 - DOUBLINGS.0);
        LEFT + (part * f64::from(WIDTH)).round() as u32
    };
    let height = 66 + ROW * rows.len() as u32;
    let mut picture = page(LEFT + WIDTH + 60, height, "Time of the fastest peer divided by ours");
    let said = "time of the fastest of PyTorch and Triton, divided by ours (H200)";
    picture = picture.add(text((LEFT, 20), "start", said));
    for doubling in DOUBLINGS.0 as i32..=DOUBLINGS.1 as i32 {
        let ratio = f64::from(doubling).exp2();
        let color = if doubling == 0 { INK } else { FAINT };
        picture = picture
            .add(line((x(ratio), 34), (x(ratio), height - 26), color))
            .add(text((x(ratio), height - 8), "middle", &format!("{ratio}")).set("font-size", 11));
    }
    for (i, (name, ratio)) in (0..).zip(&rows) {
        let (y, from, to) = (40 + i * ROW, x(1.0).min(x(*ratio)), x(1.0).max(x(*ratio)));
        let bar = Rectangle::new().set("x", from).set("y", y).set("width", (to - from).max(1)).set("height", ROW - 8);
        picture = picture
            .add(bar.set("fill", if *ratio < 1.0 { SLOWER } else { FASTER }))
            .add(text((LEFT - 10, y + 12), "end", name))
            .add(text((to + 6, y + 12), "start", &format!("{ratio}")).set("font-size", 11));
    }
    picture_is_recorded("results.svg", &picture);
}
