//! The structured thread-level program of one instance.

use crate::ir::Guard;
use crate::plan::warp_specialized::TensorMap;

/// A step of a thread.
#[derive(Clone, Debug)]
pub enum ThreadIr {
    Line(String),
    /// An access to global memory, for the barriers that keep a program's accesses to one parameter in order.
    Access {
        text: String,
        access: Access,
    },
    /// Threads exchange data: all run `store`, all wait, all run `load`. `@` in the texts is the buffer's offset.
    Exchange {
        bytes: usize,
        store: String,
        load: String,
        site: u32,
    },
    Barrier {
        site: u32,
    },
    If {
        cond: String,
        then: Vec<ThreadIr>,
        other: Vec<ThreadIr>,
    },
    Loop {
        body: Vec<ThreadIr>,
    },
    /// Names of its own.
    Block {
        body: Vec<ThreadIr>,
    },
    Break,
    Continue,
    Return,
}

/// What an access does. Two of a kind need no order: stores to the same element have none, and what updates it does so at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessKind {
    Read,
    Write,
    /// An atomic that reads and writes.
    Update,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub param: usize,
    pub act: AccessKind,
    /// Accesses with equal keys reach the same element from the same thread.
    pub key: (u32, u64),
    pub site: u32,
}

/// A lowered instance.
#[derive(Debug)]
pub struct Lowered {
    pub consts: Vec<String>,
    pub prologue: Vec<String>,
    pub body: Vec<ThreadIr>,
    pub shared_bytes: usize,
    pub threads: u32,
    pub guards: Vec<Guard>,
    /// Tensor maps, called `map0, map1, ..` in the code.
    pub maps: Vec<TensorMap>,
    /// Shared memory for stores by tensor maps, beside that.
    pub staging: usize,
    /// Whether any access is wider than one element: else the variants do not differ.
    pub vectors: bool,
    /// Passes that changed the function and that its calls do not show, for [`features`](crate::features).
    pub passes: Vec<&'static str>,
}

impl Lowered {
    /// The body of the thread function; `tid`, the slots `a0, a1, ..` and the tensor maps are in scope.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for line in self.consts.iter().chain(&self.prologue) {
            out.push_str(&format!("    {line}\n"));
        }
        print(&self.body, 1, &mut out);
        out
    }
}

fn print(nodes: &[ThreadIr], depth: usize, out: &mut String) {
    let pad = "    ".repeat(depth);
    for n in nodes {
        match n {
            ThreadIr::Line(t) | ThreadIr::Access { text: t, .. } => {
                t.lines().for_each(|l| out.push_str(&format!("{pad}{l}\n")))
            }
            ThreadIr::Barrier { site } => out.push_str(&format!("{pad}d::barrier({site});\n")),
            ThreadIr::Exchange { .. } => unreachable!("scheduled before it is printed"),
            ThreadIr::If { cond, then, other } => {
                out.push_str(&format!("{pad}if {cond} {{\n"));
                print(then, depth + 1, out);
                if !other.is_empty() {
                    out.push_str(&format!("{pad}}} else {{\n"));
                    print(other, depth + 1, out);
                }
                out.push_str(&format!("{pad}}}\n"));
            }
            ThreadIr::Loop { body } => {
                out.push_str(&format!("{pad}loop {{\n"));
                print(body, depth + 1, out);
                out.push_str(&format!("{pad}}}\n"));
            }
            ThreadIr::Block { body } => {
                out.push_str(&format!("{pad}{{\n"));
                print(body, depth + 1, out);
                out.push_str(&format!("{pad}}}\n"));
            }
            ThreadIr::Break => out.push_str(&format!("{pad}break;\n")),
            ThreadIr::Continue => out.push_str(&format!("{pad}continue;\n")),
            ThreadIr::Return => out.push_str(&format!("{pad}return;\n")),
        }
    }
}
