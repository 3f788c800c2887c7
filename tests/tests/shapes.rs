//! The picture of all shapes of `capi/bench/shapes.py`: `cargo xtask bless` draws it anew from the recorded ratios.

use std::fs;

use svg::Document;
use svg::node::element::Path;

use crate::pictures::{FAINT, FASTER, INK, SLOWER, line, page, picture_is_recorded, root, text};

/// Pixels of a panel, with its title above and its labels to the left.
const PANEL: (u32, u32) = (300, 150);
const MARGIN: (u32, u32) = (46, 44);
const COLUMNS: u32 = 2;
/// The axis of ratios goes from a quarter to 8 times as fast. Points beyond lie on its ends.
const DOUBLINGS: (i32, i32) = (-2, 3);

/// A shape: its size, and its ratios without tuning and after a tuned call, where there was one.
type Shape = (f64, [Option<f64>; 2]);

/// The shapes of each row, in the order of the file.
fn rows() -> Vec<(String, Vec<Shape>)> {
    let path = root().join("docs/lab/h200-shapes.csv");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut rows: Vec<(String, Vec<Shape>)> = vec![];
    for l in text.lines().skip(1) {
        let [name, _, size, untuned, tuned] = l.split(';').collect::<Vec<_>>()[..] else { panic!("five fields: {l}") };
        let number = |s: &str| s.parse::<f64>().unwrap_or_else(|e| panic!("{l}: {e}"));
        let ratios = [untuned, tuned].map(|s| if s.is_empty() { None } else { Some(number(s)) });
        // The lines of a row follow each other.
        if rows.last().is_none_or(|(last, _)| last != name) {
            rows.push((name.into(), vec![]));
        }
        rows.last_mut().expect("a row").1.push((number(size), ratios));
    }
    rows
}

/// Each dot is a line without length and with round caps, a fifth of the bytes of a circle.
fn dots(points: impl Iterator<Item = (u32, u32)>, color: &str) -> Path {
    let d: String = points.map(|(x, y)| format!("M{x} {y}h0")).collect();
    let path = Path::new().set("d", d).set("stroke", color).set("stroke-width", 3).set("stroke-opacity", 0.55);
    path.set("stroke-linecap", "round").set("fill", "none")
}

fn panel(picture: Document, (left, top): (u32, u32), name: &str, shapes: &[Shape]) -> Document {
    let sizes = || shapes.iter().map(|(size, _)| size.log10());
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min).floor(), sizes().fold(0.0, f64::max).ceil());
    let x = |log: f64| left + ((log - least) / (most - least) * f64::from(PANEL.0)).round() as u32;
    let y = |ratio: f64| {
        let (low, high) = (f64::from(DOUBLINGS.0), f64::from(DOUBLINGS.1));
        top + ((high - ratio.log2().clamp(low, high)) / (high - low) * f64::from(PANEL.1)).round() as u32
    };
    let mut picture = picture.add(text((left, top - 10), "start", name));
    for doubling in DOUBLINGS.0..=DOUBLINGS.1 {
        let ratio = f64::from(doubling).exp2();
        let color = if doubling == 0 { INK } else { FAINT };
        picture = picture
            .add(line((left, y(ratio)), (left + PANEL.0, y(ratio)), color))
            .add(text((left - 6, y(ratio) + 4), "end", &format!("{ratio}")).set("font-size", 11));
    }
    for log in least as i32..=most as i32 {
        let at = x(f64::from(log));
        if (log - least as i32) % 2 == 0 {
            picture = picture.add(text((at, top + PANEL.1 + 15), "middle", &format!("1e{log}")).set("font-size", 11));
        }
        picture = picture.add(line((at, top + PANEL.1), (at, top + PANEL.1 + 3), INK));
    }
    let of = |which: usize| shapes.iter().filter_map(move |(size, ratios)| Some((size.log10(), ratios[which]?)));
    let placed = |which: usize| of(which).map(|(size, ratio)| (x(size), y(ratio)));
    picture.add(dots(placed(0), FASTER)).add(dots(placed(1), SLOWER))
}

#[test]
fn picture_of_the_shapes() {
    let rows = rows();
    assert!(rows.len() >= 10 && rows.iter().all(|(_, r)| r.len() > 50), "{} rows", rows.len());
    let step = (PANEL.0 + MARGIN.0 + 14, PANEL.1 + MARGIN.1 + 8);
    let height = 30 + (rows.len() as u32).div_ceil(COLUMNS) * step.1;
    let mut picture =
        page(COLUMNS * step.0 + 10, height, "Time of the peer divided by ours, for shapes drawn at random");
    let said = "time of the peer divided by ours, over operations, or bytes of softmax (H200):";
    picture = picture.add(text((10, 20), "start", said).set("font-size", 12));
    for (at, word, color) in [(496, "untuned", FASTER), (556, "tuned", SLOWER)] {
        picture = picture.add(text((at, 20), "start", word).set("font-size", 12).set("fill", color));
    }
    for (i, (name, row)) in (0..).zip(&rows) {
        let corner = (MARGIN.0 + i % COLUMNS * step.0, 30 + MARGIN.1 - 10 + i / COLUMNS * step.1);
        picture = panel(picture, corner, name, row);
    }
    picture_is_recorded("shapes.svg", &picture);
}
