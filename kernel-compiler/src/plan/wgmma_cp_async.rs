//! Products by `wgmma` whose operands all threads copy by `cp.async` ([`cp_async_pipeline`](super::cp_async_pipeline)):
//! tiles of slices and pointers, which are no block pointers.

use crate::analysis::axis_info::AxisAnalysis;
use crate::ir::{Func, LoopOptions, Op, Stmt, StmtKind, Value};
use crate::layout::is_padded;
use crate::layout::swizzled_smem::SwizzledSmemTile;
use crate::missed::{Missed, Why};
use crate::mma::fragments::Side;
use crate::mma::wgmma::GROUP_ROWS;
use crate::plan::deferred_wait::in_flight;
use crate::plan::major::{MnMajor, is_k_major, mn_major, not_mn_major};
use crate::plan::operands::{self, WGMMA};
use crate::plan::product::{InFlight, Operand, Product};
use crate::plan::smem_operand::{fast, source};
use std::collections::HashMap;

/// The products of a function, if all their operands are loads that can be copied to swizzled tiles.
pub fn products(f: &Func, a: &AxisAnalysis) -> Result<HashMap<Value, Product>, Missed> {
    operands::of_all(f, |d| product(f, a, d))
}

/// One product.
pub fn product(f: &Func, a: &AxisAnalysis, dot: Value) -> Result<Product, Missed> {
    let tiling = operands::tiling(f, dot)?;
    if f.shape(dot).len() == 3 {
        let why = why!("a batch of products takes operands that TMA copies: take tiles of views");
        return Err(Missed::new(WGMMA, why).at(f.span(dot)));
    }
    let of = |side: Side, part: usize| {
        let Op::Dot { a: left, b: right, .. } = *f.op(dot) else { unreachable!("a dot") };
        let operand = if side == Side::A { left } else { right };
        let missed = |why: Why| Missed::new(WGMMA, why).at(f.span(operand));
        let (load, flipped) = source(f, operand).ok_or_else(|| {
            missed(why!(
                "an operand is computed, which wgmma takes only where TMA copies: load it as it is multiplied, or \
                 take tiles of views"
            ))
        })?;
        let (tile, fast) = smem_tile(f, a, load).ok_or_else(|| {
            missed(why!(
                "an operand's tile is no matrix with extents that are powers of two and rows of 32 bytes or more: \
                 take a larger tile"
            ))
        })?;
        let flipped = flipped && !planted!("wgmma-copied-operand-not-transposed");
        let k_major = is_k_major(side, fast == 1, flipped);
        let size = f.ty(load).dtype.size();
        let is_whole = tile.is_whole(part * size) || planted!("wgmma-copied-operand-of-cut-rows");
        if k_major || mn_major(side, size) == Some(MnMajor::Memory) && is_whole {
            return Ok(Operand::Copied { load, k_major });
        }
        Err(missed(not_mn_major(side, size)))
    };
    Ok(Product { tiling, a: of(Side::A, GROUP_ROWS)?, b: of(Side::B, tiling.n)? })
}

/// The swizzled tile of a load, and its contiguous dimension.
fn smem_tile(f: &Func, a: &AxisAnalysis, load: Value) -> Option<(SwizzledSmemTile, usize)> {
    let (shape, size) = (f.shape(load), f.ty(load).dtype.size());
    let [rows, cols] = *shape else { return None };
    if !is_padded(shape) {
        return None;
    }
    let fast = fast(f, a, load)?;
    let tile =
        if fast == 1 { SwizzledSmemTile::new(rows, cols, size) } else { SwizzledSmemTile::new(cols, rows, size) };
    tile.is_regular().then_some((tile, fast))
}

/// The swizzled tile, and the byte offsets of elements as bases over the bits of their flat index.
pub fn placed(f: &Func, a: &AxisAnalysis, load: Value) -> Option<(SwizzledSmemTile, Vec<u32>)> {
    let (tile, fast) = smem_tile(f, a, load)?;
    let mut place = tile.place(f.ty(load).dtype.size());
    if fast == 0 && !planted!("wgmma-copied-columns-as-rows") {
        place.rotate_left(f.shape(load)[0].trailing_zeros() as usize);
    }
    Some((tile, place))
}

/// The product that a loop waits for in the next iteration. The loop uses its accumulators for nothing else.
pub fn deferred_wait(
    f: &Func,
    products: &HashMap<Value, Product>,
    body: &[Stmt],
    options: LoopOptions,
) -> Option<InFlight> {
    let dots: Vec<Value> = body
        .iter()
        .filter_map(|s| if let StmtKind::Let(v) = &s.kind { products.contains_key(v).then_some(*v) } else { None })
        .collect();
    let straight = body.iter().all(|s| matches!(&s.kind, StmtKind::Let(_) | StmtKind::Assign(..)));
    if !straight || dots.len() != 1 || options.unroll > 1 {
        return None;
    }
    in_flight(f, &crate::ir::walk::uses(f), body, &dots)
}
