//! Dimensions of arguments that must fit in one tile: the mask is `arange(BLOCK) < n`, and no loop covers the elements
//! behind the tile.

use crate::ir::walk::walk;
use crate::ir::{Binary, Func, Op, Param, ParamKind, StmtKind, Value};
use proc_macro2::Span;
use std::collections::BTreeMap;

/// A dimension whose elements behind the tile are never accessed.
pub struct SingleTile {
    /// The extent as source text: `n`, `x.dim(1)`.
    pub extent: String,
    /// The extent of the tile.
    pub holds: i128,
    /// The span of the tile or of the comparison.
    pub span: Span,
}

/// The dimensions for which every masked tile of a function begins at 0.
pub fn single_tiles(f: &Func) -> Vec<SingleTile> {
    // By argument word: the largest tile and its place; none where another tile begins elsewhere.
    let mut tiles: BTreeMap<usize, Option<(i128, Span)>> = BTreeMap::new();
    for s in walk(&f.body) {
        let StmtKind::Let(v) = s.kind else { continue };
        let Op::Binary(Binary::Lt, index, limit) = *f.op(v) else { continue };
        let Op::Word { word } = *f.op(splat_source(f, limit)) else { continue };
        if f.ty(v).is_scalar() {
            continue;
        }
        let found = begins_at_zero(f, index).map(|extent| (extent, f.span(v)));
        tiles
            .entry(word)
            .and_modify(|known| {
                *known = match (*known, found) {
                    (Some(a), Some(b)) => Some(if a.0 >= b.0 { a } else { b }),
                    _ => None,
                };
            })
            .or_insert(found);
    }
    let of = |(word, tile): (usize, Option<(i128, Span)>)| {
        let ((holds, span), extent) = (tile?, extent(f, word)?);
        Some(SingleTile { extent, holds, span })
    };
    tiles.into_iter().filter_map(of).collect()
}

/// The scalar that is broadcast to a tile.
fn splat_source(f: &Func, mut v: Value) -> Value {
    while let Op::Splat(x) | Op::Broadcast(x) | Op::Expand(x, _) | Op::Cast(x) = *f.op(v) {
        v = x;
    }
    v
}

/// The length of a tile of indices that counts from 0.
fn begins_at_zero(f: &Func, v: Value) -> Option<i128> {
    let v = splat_source(f, v);
    match *f.op(v) {
        Op::Arange { start } => {
            let extent = f.shape(v).iter().product::<usize>() as i128;
            (start == 0 && extent > 1).then_some(extent)
        }
        Op::Binary(Binary::Add, a, b) => {
            let is_zero = |v: Value| matches!(f.op(splat_source(f, v)), Op::Int(0));
            match (is_zero(a), is_zero(b)) {
                (true, _) => begins_at_zero(f, b),
                (_, true) => begins_at_zero(f, a),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The extent that an argument word holds: of a view, or an integer.
fn extent(f: &Func, word: usize) -> Option<String> {
    let holds = |p: &&Param| (p.first_word..p.first_word + p.kind.words()).contains(&word);
    let p = f.params.iter().find(holds)?;
    match p.kind {
        ParamKind::Scalar => Some(p.name.clone()),
        ParamKind::View { rank, .. } if word > p.first_word && word <= p.first_word + rank => {
            Some(format!("{}.dim({})", p.name, word - p.first_word - 1))
        }
        ParamKind::Slice { .. } if word > p.first_word => Some(format!("{}.len()", p.name)),
        _ => None,
    }
}
