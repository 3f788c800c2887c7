//! Where warpgroups find the operands of a product: in tiles of views that were copied ahead, or computed by themselves.

use crate::dtype::DType;
use crate::ir::walk::{dots, loaded, walk, written};
use crate::ir::{Func, Op, Precision, Stmt, StmtKind, Value};
use crate::layout::is_padded;
use crate::layout::swizzled_smem::{ROW_BYTES, SwizzledSmemTile};
use crate::mma::depth;
use crate::mma::wgmma::{GROUP_ROWS, WgmmaTiling};
use crate::plan::smem_operand::squeezed;
use std::collections::{HashMap, HashSet};

/// Of a box, in each dimension.
pub const MAX_BOX: usize = 256;

/// An operand before it has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A view's tile, and whether its contiguous dimension is the depth of the product.
    Copied {
        load: Value,
        k_major: bool,
    },
    Computed,
}

impl Source {
    fn load(self) -> Option<Value> {
        if let Source::Copied { load, .. } = self { Some(load) } else { None }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Sources {
    pub a: Source,
    pub b: Source,
    pub tiling: WgmmaTiling,
}

/// The operands of all products of a function; none if one cannot be made by warpgroups.
pub fn sources(f: &Func) -> Option<HashMap<Value, Sources>> {
    of_all(f, |d| of_product(f, d))
}

/// What `of` says of each product of a function; none if it has none, or if `of` says nothing of one.
pub fn of_all<T>(f: &Func, of: impl Fn(Value) -> Option<T>) -> Option<HashMap<Value, T>> {
    let all: HashMap<Value, T> = dots(f, &f.body).map(|d| Some((d, of(d)?))).collect::<Option<_>>()?;
    (!all.is_empty()).then_some(all)
}

/// The tiles of views that products take as they lie; with those that something is computed of for them, if `all`.
pub fn loads(f: &Func, sources: &HashMap<Value, Sources>, all: bool) -> HashSet<Value> {
    let mut out = HashSet::new();
    for (&d, s) in sources {
        let Op::Dot { a, b, .. } = *f.op(d) else { unreachable!("a dot") };
        for (operand, source) in [(a, s.a), (b, s.b)] {
            match source.load() {
                Some(load) => out.extend([load]),
                None if all => feeding(f, operand, &mut out, &mut HashSet::new()),
                None => {}
            }
        }
    }
    out
}

/// How warpgroups share a product; none where its type or its extents are not for them.
pub fn tiling(f: &Func, dot: Value) -> Option<WgmmaTiling> {
    let Op::Dot { a, precision, .. } = *f.op(dot) else { unreachable!("a dot") };
    let dtype = f.ty(a).dtype;
    let fits = match dtype {
        DType::F16 | DType::BF16 | DType::I8 | DType::F8E4M3 | DType::F8E5M2 => true,
        DType::F32 => precision == Precision::Tf32,
        _ => false,
    };
    let tiling = WgmmaTiling::new(f.shape(dot), f.warps as usize)?;
    (fits && f.shape(a)[1] % depth(dtype) == 0).then_some(tiling)
}

fn of_product(f: &Func, dot: Value) -> Option<Sources> {
    let Op::Dot { a, b, .. } = *f.op(dot) else { unreachable!("a dot") };
    let (dtype, tiling) = (f.ty(a).dtype, tiling(f, dot)?);
    // See `Operand::through_registers`.
    let across = |side_a: bool| dtype.size() == 2 || side_a && dtype.size() == 4;
    let copied = |v: Value, side_a: bool, part: usize| {
        let (load, flipped) = source(f, v)?;
        let k_major = flipped != side_a;
        (k_major || across(side_a) && boxes(f, load).is_whole(part * dtype.size()))
            .then_some(Source::Copied { load, k_major })
    };
    let of = |v: Value, side_a: bool, part: usize| match loaded(f, v).is_some() {
        true => copied(v, side_a, part),
        // Threads would write what only the padded tile has.
        false => is_padded(f.shape(v)).then_some(Source::Computed),
    };
    let (a, b) = (of(a, true, GROUP_ROWS)?, of(b, false, tiling.n)?);
    // With nothing to copy, a producer would have nothing to do.
    (a != Source::Computed || b != Source::Computed).then_some(Sources { a, b, tiling })
}

/// How a computed right operand `[K, N]` is written to shared memory, and whether along the depth.
pub fn written_as(f: &Func, operand: Value, tiling: &WgmmaTiling) -> (SwizzledSmemTile, bool) {
    let (size, [k, n]) = (f.ty(operand).dtype.size(), [f.shape(operand)[0], f.shape(operand)[1]]);
    let k_major = size != 2 || tiling.n * size < ROW_BYTES;
    (if k_major { SwizzledSmemTile::new(n, k, size) } else { SwizzledSmemTile::new(k, n, size) }, k_major)
}

/// The view's tile behind shape operations, and whether it is transposed.
fn source(f: &Func, v: Value) -> Option<(Value, bool)> {
    match f.op(v) {
        Op::Load { .. } => is_copied(f, v).then_some((v, false)),
        Op::Permute(x, perm) if perm[..] == [1, 0] => source(f, *x).map(|(l, t)| (l, !t)),
        Op::Reshape(x) if squeezed(f.shape(*x)) == squeezed(f.shape(v)) => source(f, *x),
        _ => None,
    }
}

/// Whether a load is of a tile that tensor maps can copy.
fn is_copied(f: &Func, load: Value) -> bool {
    let Op::Load { window: Some(_), place, .. } = f.op(load) else { return false };
    let shape = f.shape(load);
    let matrix = squeezed(shape);
    let fits = matrix.len() == 2 && shape[shape.len() - 2] == matrix[0] && boxes(f, load).is_regular();
    fits && matrix[0] <= MAX_BOX && !written(f).contains(&place.param())
}

/// How a tile that is copied lies.
pub fn boxes(f: &Func, load: Value) -> SwizzledSmemTile {
    let [.., rows, cols] = *f.shape(load) else { unreachable!("a matrix") };
    SwizzledSmemTile::new(rows, cols, f.ty(load).dtype.size())
}

/// The tiles that a computed operand is made of.
fn feeding(f: &Func, v: Value, out: &mut HashSet<Value>, seen: &mut HashSet<Value>) {
    if !seen.insert(v) {
        return;
    }
    let op = f.op(v);
    if is_copied(f, v) {
        out.insert(v);
    } else if op.is_elementwise() || op.is_view() {
        op.operands().into_iter().for_each(|o| feeding(f, o, out, seen));
    }
}

/// Which statements take something from which tiles: renaming elements is not yet taking them.
pub struct Taken {
    /// The tile behind each value that only renames its elements.
    behind: HashMap<Value, Value>,
}

impl Taken {
    pub fn new(f: &Func, loads: &HashSet<Value>) -> Taken {
        let mut behind: HashMap<Value, Value> = loads.iter().map(|&l| (l, l)).collect();
        for s in walk(&f.body) {
            if let StmtKind::Let(v) = &s.kind
                && f.op(*v).is_view()
                && let Some(&load) = behind.get(&f.op(*v).operands()[0])
            {
                behind.insert(*v, load);
            }
        }
        Taken { behind }
    }

    /// The tiles that a statement, or one in it, takes elements of.
    pub fn by<'a>(&'a self, f: &'a Func, s: &'a Stmt) -> impl Iterator<Item = Value> + 'a {
        walk(std::slice::from_ref(s))
            .flat_map(move |s| self.operands(f, s))
            .filter_map(|v| self.behind.get(&v).copied())
    }

    fn operands(&self, f: &Func, s: &Stmt) -> Vec<Value> {
        match &s.kind {
            StmtKind::Let(v) if f.op(*v).is_view() && self.behind.contains_key(v) => vec![],
            _ => f.taken_by(s),
        }
    }

    /// Tiles that some thread takes elements of itself, beside those that are operands as they lie.
    pub fn by_threads(&self, f: &Func, sources: &HashMap<Value, Sources>) -> HashSet<Value> {
        let as_they_lie =
            |d: &Value| sources.get(d).into_iter().flat_map(|s| [s.a.load(), s.b.load()]).flatten().collect::<Vec<_>>();
        let takes = |s: &Stmt| match &s.kind {
            StmtKind::Let(v) if matches!(f.op(*v), Op::Dot { .. }) => {
                let direct = as_they_lie(v);
                self.operands(f, s)
                    .into_iter()
                    .filter_map(|o| self.behind.get(&o).copied())
                    .filter(|l| !direct.contains(l))
                    .collect::<Vec<_>>()
            }
            _ => self.operands(f, s).into_iter().filter_map(|o| self.behind.get(&o).copied()).collect(),
        };
        walk(&f.body).flat_map(takes).collect()
    }
}
