//! Products that each warp computes on its own, by `mma.sync` or by multiply-adds: their layouts, and the ways of their
//! operands to the instructions.

use crate::ir::walk::dots;
use crate::ir::{Func, Op, Value};
use crate::layout::{is_padded, padded};
use crate::missed::Missed;
use crate::mma::fragments::{Fetch, FetchPath, Side};
use crate::mma::mma_sync::{self, Unit, Warps};
use crate::plan::cp_async_pipeline::CpAsyncPipeline;
use crate::plan::product::Product;
use crate::plan::smem_operand::{fetch, source};
use std::collections::HashMap;
use std::fmt;

/// The plan of a product.
#[derive(Debug)]
pub struct WarpProduct {
    pub unit: Unit,
    pub warps: Warps,
    pub a: WarpOperand,
    pub b: WarpOperand,
}

/// The place of an operand.
#[derive(Debug)]
pub enum WarpOperand {
    /// Computed in the layout of the instructions.
    Registers,
    /// The tile of a load that is copied to a stage. `flipped`: its matrices are transposed.
    Stage { load: Value, fetch: Fetch, flipped: bool },
}

impl WarpProduct {
    pub fn operand(&self, side: Side) -> &WarpOperand {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }
}

/// The plans of all products that are not computed by `wgmma`.
pub fn plan(f: &Func, wgmma: &HashMap<Value, Product>, cp_async: &CpAsyncPipeline) -> HashMap<Value, WarpProduct> {
    let of = |d: Value| {
        let (unit, warps) = mma_sync::warps(f, d);
        let operand = |side: Side| of_operand(f, d, side, cp_async);
        (d, WarpProduct { unit, warps, a: operand(Side::A), b: operand(Side::B) })
    };
    dots(f, &f.body).filter(|d| !wgmma.contains_key(d)).map(of).collect()
}

/// The products whose tiles are padded to powers of two.
pub fn missed(f: &Func, products: &HashMap<Value, WarpProduct>) -> Vec<Missed> {
    let mut with_padding: Vec<Value> = products.keys().copied().filter(|&d| !is_padded(f.shape(d))).collect();
    with_padding.sort();
    let of = |d: Value| {
        let shape = f.shape(d);
        let computed = padded(shape);
        let why = why!(
            "its tile {shape:?} is computed as one of {computed:?}: take powers of two, or, where wgmma multiplies it, \
             64 rows for each four warps and a multiple of 8 columns"
        );
        Missed::new("multiplied without padding", why).at(f.span(d))
    };
    with_padding.into_iter().map(of).collect()
}

fn of_operand(f: &Func, d: Value, side: Side, cp_async: &CpAsyncPipeline) -> WarpOperand {
    let Op::Dot { a, b, .. } = *f.op(d) else { unreachable!("a dot") };
    let load = source(f, if side == Side::A { a } else { b }).map(|(load, _)| load);
    let fast = |l: Value, fast: usize| if planted!("staged-operand-by-rows") { f.shape(l).len() - 1 } else { fast };
    let staged = load.zip(fetch(f, d, side, |l| cp_async.tiles.get(&l).map(|t| fast(l, t.fast))));
    staged.map_or(WarpOperand::Registers, |(load, (fetch, flipped))| {
        let flipped = flipped && !planted!("staged-operand-not-transposed");
        WarpOperand::Stage { load, fetch, flipped }
    })
}

impl fmt::Display for WarpOperand {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            WarpOperand::Registers => f.write_str("in registers"),
            WarpOperand::Stage { load, fetch, .. } => {
                write!(f, "{load:?} in its stage, ")?;
                match fetch.path {
                    FetchPath::Matrix { transposed: false } => f.write_str("by ldmatrix"),
                    FetchPath::Matrix { transposed: true } => f.write_str("by ldmatrix.trans"),
                    FetchPath::Elements { vec } => write!(f, "by loads of {vec} elements"),
                }
            }
        }
    }
}

impl fmt::Display for WarpProduct {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Warps { row_blocks, col_blocks, steps, products, .. } = self.warps;
        let unit = match self.unit {
            Unit::Mma => "mma.sync",
            Unit::Fma => "multiply-adds",
        };
        write!(f, "{unit}, {row_blocks} by {col_blocks} blocks of {steps} steps")?;
        if products > 1 {
            write!(f, " for each of {products} products")?;
        }
        write!(f, ", A {}, B {}", self.a, self.b)
    }
}
