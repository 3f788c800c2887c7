//! The state of code generation, and what every part of it writes with.

use crate::analysis::axis_info::AxisAnalysis;
use crate::codegen::affine::Affine;
use crate::codegen::comparison::Comparison;
use crate::codegen::role::Role;
use crate::codegen::thread_ir::ThreadIr;
use crate::ir::{Func, Value, Var};
use crate::layout::assign::LayoutAssignment;
use crate::layout::linear::Layout;
use crate::plan::cp_async_pipeline::CpAsyncPipeline;
use crate::plan::product::InFlight;
use crate::plan::warp_specialized::{FusedStore, TensorMap};
use std::collections::{BTreeSet, HashMap};

/// Whether a variable keeps its elements two by two: values that live across branches are not packed again by anyone else.
pub(super) fn paired(t: crate::dtype::DType, home: &Layout) -> bool {
    t.size() == 2 && home.pairs().is_some()
}

/// A tile at hand: Rust for the element in register `#`.
#[derive(Clone, Debug)]
pub(super) struct Regs(pub(super) String);

impl Regs {
    pub(super) fn at(&self, r: &str) -> String {
        self.0.replace('#', r)
    }
}

pub(super) struct Codegen<'a> {
    pub(super) f: &'a Func,
    pub(super) a: &'a AxisAnalysis,
    pub(super) layouts: &'a LayoutAssignment,
    pub(super) ahead: &'a CpAsyncPipeline,
    /// What consumers compute by pieces of a store.
    pub(super) fused: &'a [FusedStore],
    pub(super) role: Role<'a>,
    pub(super) sites: bool,
    /// Code under construction, innermost block last.
    pub(super) blocks: Vec<Vec<ThreadIr>>,
    /// What is at hand in which layout, by block.
    pub(super) memo: Vec<HashMap<(Value, Layout), Regs>>,
    pub(super) affine_memo: Vec<HashMap<(Value, Layout), Option<Affine>>>,
    /// Comparisons of indices with limits, by their text.
    pub(super) comparisons: HashMap<String, Comparison>,
    /// Layouts whose thread part is computed up front.
    pub(super) thread_layouts: Vec<Layout>,
    pub(super) consts: Vec<String>,
    pub(super) temporaries: usize,
    pub(super) uses: Vec<u32>,
    /// Whether any access is wider than an element.
    pub(super) vectors: bool,
    /// Whether stores may go by tensor maps.
    pub(super) boxes: bool,
    pub(super) maps: Vec<TensorMap>,
    /// Shared memory for such stores.
    pub(super) staging: usize,
    /// What one thread has of a relaxed atomic and the others do not know yet.
    pub(super) pending: Vec<(Value, ThreadIr)>,
    /// Of the loop that is being lowered.
    pub(super) late: Option<InFlight>,
    /// Variables of which a copy, some iterations ahead, is meant.
    pub(super) advanced: BTreeSet<Var>,
}

impl Codegen<'_> {
    pub(super) fn node(&mut self, n: ThreadIr) {
        self.blocks.last_mut().expect("a block").push(n);
    }

    pub(super) fn line(&mut self, text: String) {
        self.node(ThreadIr::Line(text));
    }

    pub(super) fn fresh(&mut self) -> String {
        self.temporaries += 1;
        format!("x{}", self.temporaries)
    }

    pub(super) fn site(&self, span: proc_macro2::Span) -> u32 {
        if self.sites { span.start().line as u32 } else { 0 }
    }

    /// A table of constants indexed by register, as a template; nothing where it is the identity.
    pub(super) fn table(&mut self, values: &[usize]) -> String {
        if values.iter().enumerate().all(|(i, &v)| i == v) {
            return "#".into();
        }
        if values.iter().all(|&v| v == values[0]) {
            return values[0].to_string();
        }
        format!("{}[#]", self.const_table("usize", values.iter().map(|v| v.to_string()).collect()))
    }

    pub(super) fn const_table(&mut self, ty: &str, values: Vec<String>) -> String {
        let item = format!(": [{ty}; {}] = [{}];", values.len(), values.join(", "));
        if let Some(i) = self.consts.iter().position(|c| c.ends_with(&item)) {
            return format!("K{i}");
        }
        let i = self.consts.len();
        self.consts.push(format!("const K{i}{item}"));
        format!("K{i}")
    }

    /// The thread's part of the flat index in a layout.
    pub(super) fn thread_var(&mut self, l: &Layout) -> String {
        let bases = l.thread_bases();
        let i = self.thread_layouts.iter().position(|m| m.thread_bases() == bases).unwrap_or_else(|| {
            self.thread_layouts.push(l.clone());
            self.thread_layouts.len() - 1
        });
        format!("t{i}")
    }

    /// Code of a nested block; what becomes at hand in it is forgotten after it.
    pub(super) fn nested(&mut self, inner: impl FnOnce(&mut Self)) -> Vec<ThreadIr> {
        self.blocks.push(vec![]);
        self.memo.push(HashMap::new());
        self.affine_memo.push(HashMap::new());
        inner(self);
        self.memo.pop();
        self.affine_memo.pop();
        self.blocks.pop().expect("pushed")
    }

    pub(super) fn var(&self, var: Var) -> String {
        format!("{}{}", if self.advanced.contains(&var) { "n" } else { "m" }, var.0)
    }

    pub(super) fn at_hand(&mut self, v: Value, l: Layout, regs: Regs) {
        self.memo.last_mut().expect("a block").insert((v, l), regs);
    }
}
