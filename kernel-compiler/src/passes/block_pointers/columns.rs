//! Tiles that TMA copies begin at multiples of 16 bytes of a row: a tile that begins between them is an illegal
//! instruction. Guards of the launch say so of the arguments that a column is computed from. Threads load a tile of
//! which neither the code nor a guard says it: that tile has no block pointer.

use crate::analysis::axis_info::{VECTOR_BYTES, learn};
use crate::analysis::tma_box::begins_at_whole_vectors;
use crate::ir::walk::{made_of, walk};
use crate::ir::{BlockPointer, Func, Guard, Number, Op, StmtKind, Test, Value};
use crate::missed::Missed;
use crate::passes::block_pointers::BLOCK_POINTER;

/// Adds the guards, and takes the block pointers of other loads away.
pub fn run(f: &mut Func, missed: &mut Vec<Missed>) {
    let mut known = learn(f, f.guards.clone(), VECTOR_BYTES);
    let loads: Vec<Value> =
        walk(&f.body).filter_map(|s| if let StmtKind::Let(v) = &s.kind { Some(*v) } else { None }).collect();
    for v in loads {
        let Op::Load { block_pointer: Some(at), ptr, .. } = f.op(v).clone() else { continue };
        let size = f.dtype_at(&ptr).size();
        if begins_at_whole_vectors(f, &known, &at, size) {
            continue;
        }
        match guards(f, &at, size) {
            Some(guards) => {
                f.guards.extend(guards);
                known = learn(f, f.guards.clone(), VECTOR_BYTES);
            }
            None => {
                let why = why!(
                    "it begins at a column that is not known to be a multiple of 16 bytes, and TMA copies no other \
                     tile: compute its column as a multiple of a constant, or from arguments alone"
                );
                missed.push(Missed::new(BLOCK_POINTER, why).at(f.span(v)));
                let Op::Load { block_pointer, .. } = &mut f.values[v.0 as usize].op else { unreachable!("a load") };
                *block_pointer = None;
            }
        }
    }
}

/// The guards under which a tile begins at a multiple of 16 bytes, as few as there have to be.
fn guards(f: &Func, at: &BlockPointer, size: usize) -> Option<Vec<Guard>> {
    let column = *at.at.last().expect("a block pointer has columns");
    let guard = |v: Value| match *f.op(v) {
        Op::Word { word } => Some(Guard { of: Number::word(word), test: Test::Multiple((VECTOR_BYTES / size) as u64) }),
        _ => None,
    };
    let mut found: Vec<Guard> = vec![];
    for g in made_of(f, column, |_| true).into_iter().filter_map(guard) {
        if !found.contains(&g) {
            found.push(g);
        }
    }
    let suffices = |guards: &[Guard]| {
        let a = learn(f, [&f.guards, guards].concat(), VECTOR_BYTES);
        begins_at_whole_vectors(f, &a, at, size)
    };
    if !suffices(&found) {
        return None;
    }
    let mut i = 0;
    while i < found.len() {
        let without: Vec<Guard> = found.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, g)| g.clone()).collect();
        if suffices(&without) { found = without } else { i += 1 }
    }
    Some(found)
}
