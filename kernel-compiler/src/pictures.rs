//! The layouts of an instance, for pictures of them: tiles over registers, lanes and warps, and tiles in shared memory.

use crate::diag::Diagnostics;
use crate::driver::{self, Observer};
use crate::front::library::Libraries;
use crate::front::source::Source;
use crate::ir::Func;
use crate::ir::walk::values;
pub use crate::layout::linear::Layout;
pub use crate::layout::swizzled_smem::SwizzledSmemTile;
use crate::plan::Plan;
use crate::select;
use crate::variant::Variant;

/// A tile in registers.
#[derive(Clone, Debug)]
pub struct RegisterTile {
    /// The values that have this layout, as the stage `layout` names them.
    pub values: Vec<String>,
    /// The lines of the kernel's file that define them.
    pub lines: Vec<usize>,
    /// The extents of the tile, without padding.
    pub shape: Vec<usize>,
    /// The layout of the padded tile.
    pub layout: Layout,
}

/// A tile in shared memory as TMA writes it.
#[derive(Clone, Debug)]
pub struct SharedTile {
    /// The load that copies it, as the stage `layout` names it.
    pub value: String,
    /// The line of the load in the kernel's file.
    pub line: usize,
    /// The extents of the tile.
    pub shape: Vec<usize>,
    /// The bytes of an element.
    pub element: usize,
    /// The boxes of the tile and their swizzle.
    pub tile: SwizzledSmemTile,
}

/// The layouts of an instance in one variant.
#[derive(Clone, Debug, Default)]
pub struct Layouts {
    /// The tiles in registers, one for each layout and shape.
    pub registers: Vec<RegisterTile>,
    /// The tiles that TMA copies.
    pub shared: Vec<SharedTile>,
}

impl Observer for Layouts {
    fn planned(&mut self, f: &Func, plan: &Plan) {
        // The driver may plan several times: the last time counts.
        *self = Layouts::default();
        let line = |v| f.span(v).start().line;
        for v in values(&f.body).filter(|&v| !f.ty(v).is_scalar() && !plan.layouts.is_cheap(v)) {
            if copied(plan, v).is_some() {
                continue;
            }
            let (layout, shape) = (plan.layouts.of(v), f.shape(v));
            match self.registers.iter_mut().find(|t| t.layout == *layout && t.shape == shape) {
                Some(t) => {
                    t.values.push(format!("{v:?}"));
                    t.lines.push(line(v));
                }
                None => self.registers.push(RegisterTile {
                    values: vec![format!("{v:?}")],
                    lines: vec![line(v)],
                    shape: shape.to_vec(),
                    layout: layout.clone(),
                }),
            }
        }
        self.registers.iter_mut().for_each(|t| {
            t.lines.sort_unstable();
            t.lines.dedup();
        });
        self.shared = values(&f.body)
            .filter_map(|v| {
                let (value, line, shape, element) =
                    (format!("{v:?}"), line(v), f.shape(v).to_vec(), f.ty(v).dtype.size());
                Some(SharedTile { value, line, shape, element, tile: copied(plan, v)? })
            })
            .collect();
    }
}

/// The tile that TMA copies of a load.
fn copied(plan: &Plan, v: crate::ir::Value) -> Option<SwizzledSmemTile> {
    let groups = plan.pipeline.iter().flat_map(|p| &p.operand_groups);
    groups.flat_map(|g| &g.buffers).find(|b| b.load == v).map(|b| b.tile)
}

/// The layouts of a kernel's instance, chosen as for [`show`](crate::show()), in one of its variants. The error is a
/// message.
pub fn layouts<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
    variant: Variant,
) -> Result<Layouts, String> {
    let k = select::kernel(source, libraries, kernel)?;
    let i = select::instance(&k, types, config)?;
    let (d, mut found) = (Diagnostics::default(), Layouts::default());
    let f = driver::instance(&k, &i.choice, i.config, &d).map_err(|_| select::messages(&d))?;
    let lowered = driver::lower(&f, variant, false, &mut found);
    lowered.map_err(|m| format!("the kernel has no variant `{}`: {m}", variant.name()))?;
    Ok(found)
}
