//! The expressions of elements in the CPU function, by what decides whether they get a tile: how many nodes they have,
//! and what they do.

use crate::dtype::DType;
use crate::ir::{Binary, Func, Op, Value};

/// Elementwise work of more nodes gets a tile of its own: a chain that grows without end would be compiled without end.
const MAX_NODES: usize = 300;
/// Arithmetic of at most so many nodes on the place of an element gets no tile.
const MAX_INDEX_NODES: usize = 12;

/// The expression of any element of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The nodes other than the place of the element.
    nodes: usize,
    /// How often the place of the element is in it.
    places: usize,
    /// Whether it is sums, differences and products of scalars and of the place.
    is_index: bool,
    /// Whether it loads elements of tiles or calls functions.
    computes: bool,
}

impl Element {
    /// Of a tile in memory.
    pub fn of_tile() -> Element {
        Element { nodes: 2, places: 1, is_index: false, computes: true }
    }

    /// Of a scalar that all elements have.
    pub fn of_scalar() -> Element {
        Element { nodes: 1, places: 0, is_index: true, computes: false }
    }

    /// Of consecutive numbers: the place, converted, and the first number.
    pub fn of_arange() -> Element {
        Element { nodes: 4, places: 1, is_index: true, computes: false }
    }

    /// Of an elementwise operation on such elements, one for each operand.
    pub fn of_operation(f: &Func, op: &Op, operands: &[Element]) -> Element {
        if let Op::Asm { meaning, .. } = op {
            // A block, which binds the operands, has a statement for each step, and names the result.
            let steps: Vec<Element> = meaning.body.iter().map(|&v| of_step(f, v)).collect();
            return all(operands.iter().chain(&steps)).with_nodes(2);
        }
        let is_index = matches!(op, Op::Binary(Binary::Add | Binary::Sub | Binary::Mul, ..));
        let of_operands = all(operands).with_nodes(1);
        Element { is_index: is_index && of_operands.is_index, computes: true, ..of_operands }
    }

    /// Of a broadcast of arithmetic on indices: the place is that of the operand's element, which is computed from the
    /// place in the tile by divisions.
    pub fn broadcast(self, from: &[usize]) -> Element {
        let dims = from.iter().filter(|&&n| n != 1).count();
        // Of each dimension a quotient, a remainder and a product, with a number each; sums of these; parentheses.
        let index = if dims == 0 { 1 } else { 6 * dims + dims };
        Element {
            nodes: self.nodes + self.places * index,
            places: self.places * dims,
            is_index: self.is_index && (self.places == 0 || dims == 0),
            computes: self.computes,
        }
    }

    /// Whether elements are loaded or computed: a broadcast of them would do that again for each of its own.
    pub fn computes(&self) -> bool {
        self.computes
    }

    pub fn size(&self) -> usize {
        self.nodes + self.places
    }

    /// Whether it is a few operations on scalars and on its own place: they are not worth a tile.
    pub fn is_cheap_index(&self) -> bool {
        self.is_index && self.size() <= MAX_INDEX_NODES
    }

    /// Whether it may become a part of its only user's expression.
    pub fn is_small(&self) -> bool {
        self.size() < MAX_NODES
    }

    fn with_nodes(self, more: usize) -> Element {
        Element { nodes: self.nodes + more, ..self }
    }
}

/// Several elements together.
fn all<'e>(elements: impl IntoIterator<Item = &'e Element>) -> Element {
    let none = Element { nodes: 0, places: 0, is_index: true, computes: false };
    elements.into_iter().fold(none, |all, e| Element {
        nodes: all.nodes + e.nodes,
        places: all.places + e.places,
        is_index: all.is_index && e.is_index,
        computes: all.computes || e.computes,
    })
}

/// A scalar step of the meaning of inline assembly.
fn of_step(f: &Func, v: Value) -> Element {
    let (nodes, is_index, computes) = match f.op(v) {
        Op::Int(_) | Op::Bool(_) => (1, true, false),
        Op::Float(_) if matches!(f.ty(v).dtype, DType::F32 | DType::F64) => (1, true, false),
        Op::Float(_) => (2, false, true),
        Op::Word { .. } if f.ty(v).dtype == DType::U64 => (3, false, false),
        Op::Word { .. } => (4, false, true),
        Op::ProgramId(_) | Op::NumPrograms(_) => (3, false, false),
        Op::ReadVar(_) => (1, false, false),
        op => return Element::of_operation(f, op, &vec![Element::of_scalar(); op.operands().len()]),
    };
    Element { nodes, places: 0, is_index, computes }
}
