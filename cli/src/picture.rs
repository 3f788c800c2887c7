//! Pictures of layouts, as SVG: the register, lane and warp of each element of a tile, and the places of a tile in
//! swizzled shared memory.

use std::fmt::Write;
use tilewright_compiler::pictures::{Layouts, RegisterTile, SharedTile};

/// Rows and columns of a tile that are drawn; the rest of a layout repeats the pattern of its first bits.
const MAX_ROWS: usize = 32;
const MAX_COLUMNS: usize = 64;
/// Pixels.
const CELL: [usize; 2] = [44, 18];
const MARGIN: usize = 48;
/// Bytes that a vector has, the unit of a swizzle, and bytes of all banks.
const VECTOR: usize = 16;
const BANKS: usize = 128;

/// One picture with all tiles, from top to bottom. `title` stands above them.
pub fn svg(title: &str, layouts: &Layouts) -> String {
    let mut body = String::new();
    let (mut y, mut width) = (MARGIN, 400);
    text(&mut body, MARGIN, y / 2, "title", title);
    for t in &layouts.registers {
        let size = registers(&mut body, t, y);
        (y, width) = (y + size[1] + MARGIN, width.max(size[0] + 2 * MARGIN));
    }
    for t in &layouts.shared {
        let size = shared(&mut body, t, y);
        (y, width) = (y + size[1] + MARGIN, width.max(size[0] + 2 * MARGIN));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{y}\" viewBox=\"0 0 {width} {y}\">\n\
         <style>text{{font:10px monospace;fill:#222}}.title{{font-size:14px;font-weight:bold}}\
         .cell{{text-anchor:middle}}rect{{stroke:#fff;stroke-width:1}}</style>\n\
         <rect width=\"{width}\" height=\"{y}\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

fn text(out: &mut String, x: usize, y: usize, class: &str, said: &str) {
    let escaped = said.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{escaped}</text>");
}

/// A cell with its text, and the text shown under a pointer.
fn cell(out: &mut String, [x, y]: [usize; 2], color: &str, label: &str, told: &str) {
    let [w, h] = CELL;
    let _ = writeln!(
        out,
        "<g><title>{told}</title><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{color}\"/>\
         <text x=\"{}\" y=\"{}\" class=\"cell\">{label}</text></g>",
        x + w / 2,
        y + h - 5
    );
}

/// A color for each warp, lighter from lane to lane.
fn color(warp: usize, lane: usize) -> String {
    format!("hsl({}, 70%, {}%)", warp * 137 % 360, 62 + lane)
}

/// Draws a tile as a matrix, of more than two dimensions the first one; the width and height that it takes.
fn registers(out: &mut String, t: &RegisterTile, y: usize) -> [usize; 2] {
    let lines = t.lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let l = &t.layout;
    let facts = format!("{} registers a thread, {} warps", l.regs(), l.warps());
    text(out, MARGIN, y - 6, "", &format!("{} {:?}, lines {lines}: {facts}", names(&t.values), t.shape));
    let (rows, columns) = matrix(&t.shape);
    let all = l.shape().last().copied().unwrap_or(1);
    // The first holder of each element.
    let mut holders = vec![None; rows * columns];
    for warp in 0..l.warps() {
        for lane in 0..32 {
            for register in 0..l.regs() {
                let flat = l.apply(register, lane, warp) as usize;
                let (row, column) = (flat / all, flat % all);
                if row < rows && column < columns {
                    holders[row * columns + column].get_or_insert((warp, lane, register));
                }
            }
        }
    }
    for (i, holder) in holders.into_iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let Some((warp, lane, register)) = holder else { continue };
        let told = format!("[{row}, {column}]: warp {warp}, lane {lane}, register {register}");
        let label = format!("{}:{register}", warp * 32 + lane);
        let at = [MARGIN + column * CELL[0], y + row * CELL[1]];
        cell(out, at, &color(warp, lane), &label, &told);
    }
    [columns * CELL[0], rows * CELL[1]]
}

/// Rows and columns that are drawn.
fn matrix(shape: &[usize]) -> (usize, usize) {
    let columns = shape.last().copied().unwrap_or(1);
    let rows = shape.len().checked_sub(2).map_or(1, |d| shape[d]);
    (rows.min(MAX_ROWS), columns.min(MAX_COLUMNS))
}

fn names(values: &[String]) -> String {
    match values {
        [first, .., last] if values.len() > 3 => format!("{first} to {last} ({} values)", values.len()),
        few => few.join(", "),
    }
}

/// Draws the first rows of memory, 128 bytes of all banks each, as vectors of 16 bytes: each cell names the row and the
/// bytes of the tile that lie there.
fn shared(out: &mut String, t: &SharedTile, y: usize) -> [usize; 2] {
    let tile = &t.tile;
    let facts = format!("{} boxes of {} rows, swizzle of {} bytes", tile.count, tile.rows, tile.row_bytes);
    text(out, MARGIN, y - 6, "", &format!("{} {:?}, line {}, in shared memory: {facts}", t.value, t.shape, t.line));
    let (columns, rows) = (BANKS / VECTOR, (tile.box_bytes() / BANKS).clamp(1, MAX_ROWS / 2));
    let (vectors, per) = ((tile.row_bytes / VECTOR).max(1), (VECTOR / t.element).max(1));
    // The offset in bytes: bits of the column in the box come first, those of the row last.
    let bases = tile.place(t.element);
    let rows_of_bases =
        &bases[bases.len() - (tile.box_bytes() / tile.row_bytes).next_power_of_two().ilog2() as usize..];
    let sum = |bases: &[u32], n: usize| {
        bases.iter().enumerate().filter(|(i, _)| n >> i & 1 == 1).fold(0, |sum, (_, b)| sum ^ b) as usize
    };
    for tile_row in 0..(rows * columns / vectors).min(tile.rows) {
        for vector in 0..vectors {
            let first = vector * per;
            let offset = sum(&bases, first) ^ sum(rows_of_bases, tile_row);
            let (row, column) = (offset / BANKS, offset % BANKS / VECTOR);
            let banks = format!("banks {} to {}", column * 4, column * 4 + 3);
            let told = format!("row {tile_row}, elements {first} to {}: {banks}", first + per - 1);
            let at = [MARGIN + column * 2 * CELL[0], y + row * CELL[1]];
            cell(out, at, &format!("hsl({}, 65%, 75%)", vector * 45), &format!("{tile_row},{first}"), &told);
        }
    }
    [columns * 2 * CELL[0], rows * CELL[1]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_many_values_are_shortened() {
        let named = |n: usize| names(&(0..n).map(|i| format!("v{i}")).collect::<Vec<_>>());
        assert_eq!((named(1), named(3), named(5)), ("v0".into(), "v0, v1, v2".into(), "v0 to v4 (5 values)".into()));
    }
}
