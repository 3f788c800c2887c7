//! Shared memory behind the scratch buffers: matrices of computed operands, the staging buffer of stores, and stages
//! that `cp.async` fills. What threads load and store stays within them, and a matrix is multiplied as all threads have
//! stored it. [`mbarriers`](super::mbarriers) has the stages that TMA fills.

use super::barriers::compared;
use super::bounds::Bounds;
use super::flow::{Flow, State, Step};
use crate::thread_ir::expr::{BinaryOp, Call, Expr, Generic, Ty};
use crate::thread_ir::function::{Device, Effect, Function};
use crate::thread_ir::name::{BufferPart, Name};
use crate::thread_ir::node::{ConstValue, Lowered, ThreadIr};
use std::collections::{BTreeMap, BTreeSet};

type Checked = Result<(), String>;

pub fn verify(lowered: &Lowered) -> Checked {
    let cx = Regions { lowered, bounds: Bounds::new(lowered, consumers(lowered)) };
    let mut within = Ok(());
    lowered.walk(&mut |e| {
        if let (Expr::Call(c), Ok(())) = (e, &within) {
            within = cx.within(c);
        }
    });
    within?;
    let mut visit = |step: Step, state: &mut Matrices| match step {
        Step::Call(c) => access(c, state),
        Step::Access(_) | Step::Stmt(_) | Step::Return => Ok(()),
    };
    Flow::new(&mut visit).nodes(&lowered.body, &mut Some(Matrices::default()))
}

/// The threads that use these bytes: those in front of a producer.
pub(super) fn consumers(lowered: &Lowered) -> u32 {
    let first_producer = |n: &ThreadIr| match n {
        ThreadIr::If { cond, .. } => compared(cond).filter(|c| c.0 == BinaryOp::Ge).map(|c| c.1),
        _ => None,
    };
    lowered.body.iter().find_map(first_producer).unwrap_or(lowered.threads)
}

struct Regions<'l> {
    lowered: &'l Lowered,
    bounds: Bounds,
}

impl Regions<'_> {
    /// An access of threads to such bytes stays within them, where its offset has a bound.
    fn within(&self, c: &Call) -> Checked {
        let Some((at, bytes)) = place(self.lowered, c) else { return Ok(()) };
        let Some((name, end)) = self.region(at) else { return Ok(()) };
        match self.bounds.of(at).map(|upper| upper.most + bytes - 1) {
            Some(last) if last >= end => Err(format!("a step reaches byte {last}, and `{name}` ends at {end}")),
            _ => Ok(()),
        }
    }

    /// The region that an address is in, and the end of it: of a stage, its bytes.
    fn region(&self, at: &Expr) -> Option<(Name, u64)> {
        let word = |name: Name| {
            let mut consts = self.lowered.consts.iter().flatten();
            consts.find(|c| c.name == name).and_then(|c| match c.value {
                ConstValue::Word(n) => Some(n),
                ConstValue::Table(..) => None,
            })
        };
        let mut found = None;
        at.walk(&mut |e| {
            let Expr::Name(name) = *e else { return };
            let end = match name {
                Name::Matrix(i) => self.lowered.matrices.get(i).zip(word(name)).map(|(bytes, start)| start + bytes),
                Name::Staging => word(name).map(|start| start + self.lowered.staging),
                Name::CircularBuffer(BufferPart::Read | BufferPart::Write, i) => {
                    word(Name::CircularBuffer(BufferPart::Bytes, i))
                }
                _ => None,
            };
            found = found.or(end.map(|end| (name, end as u64)));
        });
        found
    }
}

/// Where an access to shared memory begins, for any register, and how many bytes it takes there.
fn place<'c>(lowered: &Lowered, c: &'c Call) -> Option<(&'c Expr, u64)> {
    let at = match c.args.first()? {
        Expr::Closure(c) => &c.body,
        e => e,
    };
    let bytes = match (&c.function, c.generics.first(), c.args.get(1)) {
        // Eight elements of two bytes.
        (Function::Device(Device::Ldmatrix | Device::Stmatrix), ..) => 16,
        (Function::Device(Device::TmaStore), _, Some(Expr::Name(Name::Map(map)))) => {
            let map = lowered.maps.get(*map)?;
            map.extents.iter().rev().skip(1).product::<usize>() * map.swizzle
        }
        (Function::Device(Device::SharedLoad | Device::SharedStore | Device::CopyAhead), Some(of), _) => match of {
            Generic::Type(Ty::Scalar(element)) => element.size(),
            _ => return None,
        },
        _ => return None,
    };
    Some((at, bytes as u64))
}

/// The accesses of threads to matrices on some way here.
#[derive(Clone, Debug, Default, PartialEq)]
struct Matrices {
    /// Stored to since the last barrier, and whether a proxy fence stands behind that.
    stored: BTreeMap<usize, bool>,
    /// Multiplied since the last barrier.
    taken: BTreeSet<usize>,
    /// Stored by all threads, on every way here.
    ready: BTreeSet<usize>,
}

impl State for Matrices {
    fn barrier(&mut self) {
        self.taken.clear();
        self.ready.extend(std::mem::take(&mut self.stored).into_iter().filter(|m| m.1).map(|m| m.0));
    }

    fn join(&mut self, o: &Self) {
        for (&m, &fenced) in &o.stored {
            *self.stored.entry(m).or_insert(fenced) &= fenced;
        }
        self.taken.extend(&o.taken);
        self.ready.retain(|m| o.ready.contains(m));
    }
}

fn access(c: &Call, state: &mut Matrices) -> Checked {
    if matches!(c.function, Function::Device(Device::ProxyFence)) {
        state.stored.values_mut().for_each(|fenced| *fenced = true);
    }
    let mut matrices = BTreeSet::new();
    c.args.iter().for_each(|arg| {
        arg.walk(&mut |e| {
            if let Expr::Name(Name::Matrix(m)) = e {
                matrices.insert(*m);
            }
        });
    });
    for m in matrices {
        if c.effect() == Effect::SharedWrite {
            if state.taken.contains(&m) {
                return Err(format!("matrix {m} is stored to while other threads may still multiply it"));
            }
            state.ready.remove(&m);
            state.stored.insert(m, false);
        } else {
            if !state.ready.contains(&m) {
                return Err(format!("matrix {m} is multiplied before all threads have stored it, with a proxy fence"));
            }
            state.taken.insert(m);
        }
    }
    Ok(())
}
