//! The operands of products by `wgmma`: tiles of views that are copied to shared memory in advance, or tiles that the
//! warpgroups compute.

use crate::dtype::DType;
use crate::ir::walk::{dots, loaded, walk, written};
use crate::ir::{Func, Op, Precision, Stmt, StmtKind, Value, matrices};
use crate::layout::is_padded;
use crate::layout::swizzled_smem::{ROW_BYTES, SwizzledSmemTile};
use crate::missed::{Missed, Why};
use crate::mma::fragments::Side;
use crate::mma::instruction_k;
use crate::mma::wgmma::{GROUP_ROWS, WgmmaTiling};
use crate::plan::major::{is_k_major, mn_major, not_mn_major};
use crate::plan::smem_operand::squeezed;
use crate::plan::warp_specialized::WrittenOperand;
use std::collections::{HashMap, HashSet};

/// The largest extent of a TMA box, in each dimension.
pub const MAX_BOX: usize = 256;

/// The most registers of a thread for the accumulators of a product.
const MAX_ACCUMULATORS: usize = 128;

/// An operand that has no buffer or registers yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A tile of a view, and whether it is K-major.
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

/// The operands of all products of a function, if `wgmma` can compute all of the products.
pub fn sources(f: &Func) -> Result<HashMap<Value, Sources>, Missed> {
    of_all(f, |d| of_product(f, d))
}

/// The result of `of` for each product of a function that has any.
pub fn of_all<T>(f: &Func, of: impl Fn(Value) -> Result<T, Missed>) -> Result<HashMap<Value, T>, Missed> {
    let all: HashMap<Value, T> = dots(f, &f.body).map(|d| Ok((d, of(d)?))).collect::<Result<_, Missed>>()?;
    if all.is_empty() { Err(Missed::new(WGMMA, why!("the kernel has no `dot`"))) } else { Ok(all) }
}

/// The optimizations that a product or an operand can miss.
pub const WGMMA: &str = "multiplied by wgmma";
pub const TMA: &str = "copied by TMA";

/// The reason for all products of a function, at its first product.
pub fn missed_by_all(f: &Func, what: &'static str, why: Why) -> Missed {
    Missed { what, why, span: dots(f, &f.body).next().map(|d| f.span(d)) }
}

/// The tiles of views that products take from shared memory; with `all` also the tiles that their computed operands
/// are computed from.
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

/// How warpgroups partition a product, if `wgmma` takes its type and its extents.
pub fn tiling(f: &Func, dot: Value) -> Result<WgmmaTiling, Missed> {
    let Op::Dot { a, precision, .. } = *f.op(dot) else { unreachable!("a dot") };
    let missed = |why: Why| Missed::new(WGMMA, why).at(f.span(dot));
    let dtype = f.ty(a).dtype;
    match (dtype, precision) {
        (DType::F16 | DType::BF16 | DType::I8 | DType::F8E4M3 | DType::F8E5M2, _) => {}
        (DType::F32, Precision::Tf32) => {}
        // In the variants for TMA the pass `tf32x3` has decomposed them.
        (DType::F32, Precision::Tf32x3) => {
            return Err(missed(why!("`.tf32x3()` uses wgmma only where TMA copies the operands: take tiles of views")));
        }
        (DType::F32, Precision::Ieee) => {
            return Err(missed(why!("f32 is multiplied by FMAs; `.tf32()` lets tensor cores round it")));
        }
        _ => {
            return Err(missed(why!(
                "wgmma has no instruction for {}: multiply f32 with `.tf32()`, or smaller types",
                dtype.name()
            )));
        }
    }
    let shape = f.shape(dot);
    let tiling = WgmmaTiling::new(shape, f.warps as usize).ok_or_else(|| {
        missed(why!(
            "{} warps cannot share {shape:?}: wgmma takes a multiple of 4 warps, 64 rows or more (a power of two) for \
             each four, and 8 columns or more (a power of two, or a multiple of 8 for four warps and 64 rows)",
            f.warps
        ))
    })?;
    if dtype == DType::I8 && !tiling.n.is_multiple_of(16) && !matches!(tiling.n, 8 | 24) {
        return Err(missed(why!(
            "wgmma multiplies integers of 8, 24 or a multiple of 16 columns, not of {}: take another tile",
            tiling.n
        )));
    }
    if tiling.registers() > MAX_ACCUMULATORS {
        let found = tiling.registers();
        return Err(missed(why!(
            "its sums take {found} registers of a thread, of {MAX_ACCUMULATORS} at most: take a smaller tile, or more \
             warps"
        )));
    }
    let k = *f.shape(a).last().expect("a matrix");
    assert!(k.is_multiple_of(instruction_k(dtype)), "K is a power of two, and that of an instruction at least");
    Ok(tiling)
}

/// The operands of one product, if `wgmma` can compute it.
pub fn of_product(f: &Func, dot: Value) -> Result<Sources, Missed> {
    let Op::Dot { a, b, .. } = *f.op(dot) else { unreachable!("a dot") };
    let (dtype, tiling) = (f.ty(a).dtype, tiling(f, dot)?);
    let copied = |v: Value, side: Side, part: usize| {
        let (load, flipped) = source(f, v)?;
        let k_major = is_k_major(side, true, flipped);
        if k_major || mn_major(side, dtype.size()).is_some() && tile(f, load).is_whole(part * dtype.size()) {
            return Ok(Source::Copied { load, k_major });
        }
        Err(Missed::new(WGMMA, not_mn_major(side, dtype.size())).at(f.span(load)))
    };
    let of = |v: Value, side: Side, part: usize| match loaded(f, v).is_some() {
        true => copied(v, side, part),
        // Threads would write the padding of the tile.
        false if is_padded(f.shape(v)) => Ok(Source::Computed),
        false => {
            let why =
                why!("a computed operand {:?} has extents that are no powers of two: take some that are", f.shape(v));
            Err(Missed::new(WGMMA, why).at(f.span(v)))
        }
    };
    let (a, b) = (of(a, Side::A, GROUP_ROWS)?, of(b, Side::B, tiling.n)?);
    Ok(Sources { a, b, tiling })
}

/// How a computed right operand `[K, N]` is written to shared memory. The matrices of a batch are below each other.
pub fn written_as(f: &Func, operand: Value, tiling: &WgmmaTiling) -> WrittenOperand {
    let (size, [k, n]) = (f.ty(operand).dtype.size(), matrices(f.shape(operand)).1);
    // Threads store vectors where they have consecutive elements of a row.
    let copied_k_major = is_transposed(f, operand, &mut HashSet::new()) == Some(true);
    let k_major = mn_major(Side::B, size).is_none() || tiling.n * size < ROW_BYTES || copied_k_major;
    let all = tiling.matrices();
    let tile = if k_major { SwizzledSmemTile::new(all * n, k, size) } else { SwizzledSmemTile::new(all * k, n, size) };
    WrittenOperand { operand, tile, k_major }
}

/// The cost of writing a computed right operand to shared memory, in elements.
pub fn writing_cost(f: &Func, operand: Value) -> usize {
    f.shape(operand).iter().product::<usize>() * if is_written_by_vectors(f, operand) { 1 } else { 4 }
}

/// Whether threads write several elements of a computed right operand at a time: MN-major elements of 4 bytes and of 1
/// byte are written one by one.
pub fn is_written_by_vectors(f: &Func, operand: Value) -> bool {
    mn_major(Side::B, f.ty(operand).dtype.size()).is_some()
        || is_transposed(f, operand, &mut HashSet::new()) == Some(true)
}

/// Whether the tiles that a tile is computed from are copied as transposed matrices; none where none of them is copied.
fn is_transposed(f: &Func, v: Value, seen: &mut HashSet<Value>) -> Option<bool> {
    if !seen.insert(v) {
        return None;
    }
    match f.op(v) {
        Op::Load { .. } => copyable(f, v).is_ok().then_some(false),
        Op::Permute(x, perm) if matches!(perm[..], [1, 0] | [0, 2, 1]) => is_transposed(f, *x, seen).map(|t| !t),
        Op::Reshape(x) if squeezed(f.shape(*x)) == squeezed(f.shape(v)) => is_transposed(f, *x, seen),
        op if op.is_elementwise() => op.operands().into_iter().find_map(|x| is_transposed(f, x, seen)),
        _ => None,
    }
}

/// The tile of a view from which shape operations make an operand, and whether they transpose it.
fn source(f: &Func, v: Value) -> Result<(Value, bool), Missed> {
    match f.op(v) {
        Op::Load { .. } => copyable(f, v).map(|()| (v, false)),
        Op::Permute(x, perm) if matches!(perm[..], [1, 0] | [0, 2, 1]) => source(f, *x).map(|(l, t)| (l, !t)),
        Op::Reshape(x) if squeezed(f.shape(*x)) == squeezed(f.shape(v)) => source(f, *x),
        _ => Err(Missed::new(
            TMA,
            why!("an operand is a loaded tile that is reshaped: load it in the shape of the operand"),
        )
        .at(f.span(v))),
    }
}

/// Whether TMA can copy the tile of a load.
fn copyable(f: &Func, load: Value) -> Result<(), Missed> {
    let missed = |why: Why| Err(Missed::new(TMA, why).at(f.span(load)));
    let Op::Load { block_pointer, ptr, .. } = f.op(load) else { unreachable!("a load") };
    if block_pointer.is_none() {
        return missed(why!(
            "its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`"
        ));
    }
    let shape = f.shape(load);
    let Some([batch, rows, _]) = matrices_of(shape) else {
        return missed(why!(
            "a tile {shape:?} is no matrix of the array's last two dimensions, nor a batch of them: take rows and \
             columns from these"
        ));
    };
    if !tile(f, load).is_regular() {
        return missed(why!(
            "a tile {shape:?} has rows of no multiple of 32 bytes, or no multiple of 8 rows: take a larger tile"
        ));
    }
    if rows.max(batch) > MAX_BOX {
        return missed(why!(
            "a tile of {} rows is larger than a box of {MAX_BOX}: take smaller tiles",
            rows.max(batch)
        ));
    }
    if written(f).contains(&ptr.array()) && !planted!("tma-of-written-array") {
        return missed(why!("the kernel writes the array that it loads from: write to another one"));
    }
    Ok(())
}

/// The number of matrices of a tile of rank 2 or 3, and their extents.
fn matrices_of(shape: &[usize]) -> Option<[usize; 3]> {
    let [outer @ .., rows, cols] = shape else { return None };
    let (batch, outer) = outer.split_last().unwrap_or((&1, &[]));
    (outer.iter().all(|&e| e == 1) && *rows > 1 && *cols > 1).then_some([*batch, *rows, *cols])
}

/// The swizzled tile of each matrix of a copied tile.
fn tile(f: &Func, load: Value) -> SwizzledSmemTile {
    let [.., rows, cols] = *f.shape(load) else { unreachable!("a matrix") };
    SwizzledSmemTile::new(rows, cols, f.ty(load).dtype.size())
}

/// The swizzled tile of a copied tile. The matrices of a batch are below each other.
pub fn smem_tile(f: &Func, load: Value) -> SwizzledSmemTile {
    let [batch, rows, cols] = matrices_of(f.shape(load)).expect("a tile that can be copied");
    SwizzledSmemTile::new(batch * rows, cols, f.ty(load).dtype.size())
}

/// The tiles that a computed operand is computed from.
fn feeding(f: &Func, v: Value, out: &mut HashSet<Value>, seen: &mut HashSet<Value>) {
    if !seen.insert(v) {
        return;
    }
    let op = f.op(v);
    if matches!(op, Op::Load { .. }) {
        out.extend(copyable(f, v).is_ok().then_some(v));
    } else if op.is_elementwise() || op.is_view() {
        op.operands().into_iter().for_each(|o| feeding(f, o, out, seen));
    }
}

/// The uses of tiles by statements. An operation that only renames elements, such as a transposition, is no use.
pub struct TileUses {
    /// The tile of each value that only renames its elements.
    behind: HashMap<Value, Value>,
}

impl TileUses {
    pub fn new(f: &Func, loads: &HashSet<Value>) -> TileUses {
        let mut behind: HashMap<Value, Value> = loads.iter().map(|&l| (l, l)).collect();
        for s in walk(&f.body) {
            if let StmtKind::Let(v) = &s.kind
                && f.op(*v).is_view()
                && let Some(&load) = behind.get(&f.op(*v).operands()[0])
            {
                behind.insert(*v, load);
            }
        }
        TileUses { behind }
    }

    /// The tiles whose elements a statement or a statement within it uses.
    pub fn by<'a>(&'a self, f: &'a Func, s: &'a Stmt) -> impl Iterator<Item = Value> + 'a {
        walk(std::slice::from_ref(s))
            .flat_map(move |s| self.operands(f, s))
            .filter_map(|v| self.behind.get(&v).copied())
    }

    fn operands(&self, f: &Func, s: &Stmt) -> Vec<Value> {
        match &s.kind {
            StmtKind::Let(v) if f.op(*v).is_view() && self.behind.contains_key(v) => vec![],
            _ => f.used_by(s),
        }
    }

    /// The tiles whose elements threads load from shared memory, other than operands of `wgmma`.
    pub fn by_threads(&self, f: &Func, sources: &HashMap<Value, Sources>) -> HashSet<Value> {
        let from_shared =
            |d: &Value| sources.get(d).into_iter().flat_map(|s| [s.a.load(), s.b.load()]).flatten().collect::<Vec<_>>();
        let takes = |s: &Stmt| match &s.kind {
            StmtKind::Let(v) if matches!(f.op(*v), Op::Dot { .. }) => {
                let direct = from_shared(v);
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
