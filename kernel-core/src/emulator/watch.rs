//! The tiles that a breakpoint shows. Threads hand over their registers, and a tile is put together by its layout.

use core::ffi::CStr;
use std::collections::HashMap;

use super::report::WatchOptions;

/// Elements of a dimension that are shown at each end, and the most that are shown without a gap.
const EDGE: usize = 3;
const MAX_SHOWN: usize = 8;

struct Tile {
    line: u32,
    name: &'static CStr,
    dtype: &'static str,
    pass: u32,
    rank: u32,
    extents: Vec<usize>,
    /// By flat index; none of a thread that has not come by.
    values: Vec<Option<String>>,
}

/// The tiles of the program that runs.
#[derive(Default)]
pub struct Watched {
    tiles: Vec<Tile>,
    /// By line, name, pass and CTA.
    index: HashMap<(u32, *const CStr, u32, u32), usize>,
    /// How often a thread has come to a line and a name.
    passes: HashMap<(u32, *const CStr, u32), u32>,
}

/// The sum, without carries, of the bases of the bits that are set.
fn combine(bases: &[u32], bits: u32) -> u32 {
    bases.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).fold(0, |sum, (_, basis)| sum ^ basis)
}

/// The flat index of an element of the tile, by that over padded extents; none of padding.
fn unpadded(extents: &[usize], mut padded: usize) -> Option<usize> {
    let (mut flat, mut stride) = (0, 1);
    for &extent in extents.iter().rev() {
        let all = extent.next_power_of_two();
        let at = padded % all;
        if at >= extent {
            return None;
        }
        (flat, stride, padded) = (flat + at * stride, stride * extent, padded / all);
    }
    Some(flat)
}

/// The values that a thread hands over at a breakpoint: the line and the name, its number in the program and in its
/// CTA, and the CTA.
pub struct Passed {
    pub line: u32,
    pub name: &'static CStr,
    pub current: u32,
    pub thread: u32,
    pub rank: u32,
}

impl Watched {
    /// A register of a tile with these extents and these bases of its layout. `value` is called if it is shown.
    pub fn register(
        &mut self,
        p: &Passed,
        options: &WatchOptions,
        (dtype, extents): (&'static str, &[u32]),
        (registers, threads): (&[u32], &[u32]),
        register: usize,
        value: impl FnOnce() -> String,
    ) {
        let name: *const CStr = p.name;
        let passes = self.passes.entry((p.line, name, p.current)).or_default();
        *passes += u32::from(register == 0);
        let pass = *passes;
        if pass > options.passes {
            return;
        }
        let at = *self.index.entry((p.line, name, pass, p.rank)).or_insert_with(|| {
            let extents: Vec<usize> = extents.iter().map(|&e| e as usize).collect();
            let values = vec![None; extents.iter().product()];
            self.tiles.push(Tile { line: p.line, name: p.name, dtype, pass, rank: p.rank, extents, values });
            self.tiles.len() - 1
        });
        let tile = &mut self.tiles[at];
        let flat = combine(registers, register as u32) ^ combine(threads, p.thread);
        if let Some(at) = unpadded(&tile.extents, flat as usize) {
            tile.values[at] = Some(value());
        }
    }

    /// The lines that are shown of a program of so many CTAs, each with the text.
    pub fn show(&self, [x, y, z]: [u64; 3], ctas: u32, whole: bool) -> Vec<(u32, String)> {
        let each = self.tiles.iter().map(|t| {
            let cta = if ctas > 1 { format!(", CTA {}", t.rank) } else { String::new() };
            let repeated = self.tiles.iter().any(|o| (o.line, o.name, o.pass) == (t.line, t.name, 2));
            let pass = if repeated { format!(", pass {}", t.pass) } else { String::new() };
            let ty = if t.extents.is_empty() { t.dtype.to_string() } else { format!("{}{:?}", t.dtype, t.extents) };
            let (name, line) = (t.name.to_string_lossy(), t.line);
            let between = if t.extents.len() > 1 { "\n" } else { " " };
            let head = format!("line {line}, program ({x}, {y}, {z}){cta}{pass}: {name}: {ty} =");
            (line, head + between + &t.show(whole))
        });
        each.collect()
    }
}

impl Tile {
    fn show(&self, whole: bool) -> String {
        let shown: Vec<Vec<Option<usize>>> = self.extents.iter().map(|&e| shown(e, whole)).collect();
        let mut width = 0;
        self.each(&shown, 0, 0, &mut |s| width = width.max(s.len()));
        let mut out = String::new();
        self.write(&shown, 0, 0, if self.extents.len() > 1 { width } else { 0 }, &mut out);
        out
    }

    fn value(&self, at: usize) -> &str {
        self.values[at].as_deref().unwrap_or("(not yet)")
    }

    fn each(&self, shown: &[Vec<Option<usize>>], dim: usize, from: usize, see: &mut dyn FnMut(&str)) {
        let Some(list) = shown.get(dim) else { return see(self.value(from)) };
        for at in list.iter().flatten() {
            self.each(shown, dim + 1, from * self.extents[dim] + at, see);
        }
    }

    /// Rows in brackets, one a line, as NumPy prints them.
    fn write(&self, shown: &[Vec<Option<usize>>], dim: usize, from: usize, width: usize, out: &mut String) {
        let Some(list) = shown.get(dim) else {
            *out += &format!("{:>width$}", self.value(from));
            return;
        };
        let last = dim + 1 == shown.len();
        let between = if last { ", ".to_string() } else { format!(",\n{}", " ".repeat(dim + 1)) };
        out.push('[');
        for (i, at) in list.iter().enumerate() {
            if i > 0 {
                *out += &between;
            }
            match at {
                Some(at) => self.write(shown, dim + 1, from * self.extents[dim] + at, width, out),
                None => out.push_str("..."),
            }
        }
        out.push(']');
    }
}

/// The indices of a dimension that are shown; none stands for a gap.
fn shown(extent: usize, whole: bool) -> Vec<Option<usize>> {
    if whole || extent <= MAX_SHOWN {
        return (0..extent).map(Some).collect();
    }
    (0..EDGE).map(Some).chain([None]).chain((extent - EDGE..extent).map(Some)).collect()
}
