//! What the compiler did to a kernel, stage by stage, as text.

use crate::analyse::analyse;
use crate::diag::Diagnostics;
use crate::emit::{config_id, types_id};
use crate::ir::{Func, LoopOptions, Stmt, StmtKind};
use crate::library::{Libraries, Source};
use crate::lower::Variant;
use crate::module::{self, Found};
use crate::parse;
use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Ast,
    Ir,
    /// The IR with what is known of indices and where tiles lie.
    Layout,
    /// The lowered, thread-level code.
    Rust,
    /// The code of the CPU backend.
    Cpu,
}

const NO_VARIANT: &str = "the kernel has no such variant";

/// Shows a kernel of a file, which uses libraries of the package: of the instance with these types (`f16`; none: the first) and configuration (its id;
/// none: the default), in one of its variants.
pub fn show<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
    variant: Variant,
    stage: Stage,
) -> Result<String, String> {
    let named = |f: &Found| parse::names(f.attr.clone(), &f.item).iter().any(|(name, _)| name == kernel);
    let source = source.into();
    let none = || [vec![format!("no kernel `{kernel}` here")], libraries.missing(source)].concat().join("\n");
    let found = module::file(source, libraries).into_iter().find(named).ok_or_else(none)?;
    let d = Diagnostics::default();
    let failed = |d: &Diagnostics| d.take().into_iter().map(|e| e.message).collect::<Vec<_>>().join("\n");
    let k =
        found.parse(&d).map_err(|_| failed(&d))?.into_iter().find(|k| k.name == kernel).expect("it is among the names");
    if stage == Stage::Ast {
        return Ok(format!("{:#?}\n", k.ast.body));
    }
    let wanted = |i: &crate::instance::Instance| {
        types.is_none_or(|t| types_id(&i.types) == t) && config.is_none_or(|c| config_id(i.config) == c)
    };
    let instances = k.instances();
    let i = instances.iter().find(|i| wanted(i)).ok_or_else(|| {
        let all: Vec<String> =
            k.instances().iter().map(|i| format!("{} {}", types_id(&i.types), config_id(i.config))).collect();
        format!("no such instance; there are:\n  {}", all.join("\n  "))
    })?;
    let f = crate::emit::instance(&k, &i.types, i.config, &d).map_err(|_| failed(&d))?;
    Ok(match stage {
        Stage::Ir => ir(&f, |_| String::new()),
        Stage::Layout => {
            // As a thread block of a cluster has it.
            let seen = variant.way.seen(&f).ok_or(NO_VARIANT)?;
            let f = &*crate::spread::spread(&seen).map_err(|(why, _)| why)?;
            let a = analyse(f, variant.assume());
            let homes = crate::layout::assign(f, &a, &crate::lower::products(f, &a, variant.way));
            ir(f, |v| {
                if f.ty(v).is_scalar() {
                    return String::new();
                }
                let mut t =
                    if homes.is_cheap(v) { "  // anywhere".to_string() } else { format!("  // {:?}", homes.of(v)) };
                if f.ty(v).dtype.is_int() {
                    write!(t, "  {:?}", a.info(f, v).along).expect("writing to a string");
                }
                t
            })
        }
        Stage::Rust => crate::lower::lower(&f, variant, false).ok_or(NO_VARIANT)?.text(),
        Stage::Cpu => crate::emit::numbers::plain(&crate::emit::cpu::body(&f)),
        Stage::Ast => unreachable!("shown above"),
    })
}

/// The IR, a statement a line.
pub fn ir(f: &Func, note: impl Fn(crate::ir::Value) -> String) -> String {
    let mut out = String::new();
    for p in &f.params {
        writeln!(out, "param {}: {:?} of {} at slot {}", p.name, p.kind, p.dtype, p.slot).expect("writing to a string");
    }
    for (i, v) in f.vars.iter().enumerate() {
        writeln!(out, "var m{i}: {} ({})", v.ty, v.name).expect("writing to a string");
    }
    print(f, &f.body, 0, &note, &mut out);
    out
}

fn print(f: &Func, stmts: &[Stmt], depth: usize, note: &impl Fn(crate::ir::Value) -> String, out: &mut String) {
    for s in stmts {
        let (head, blocks): (String, Vec<(&str, &[Stmt])>) = match &s.kind {
            StmtKind::Let(v) => (format!("{v:?}: {} = {:?}{}", f.ty(*v), f.op(*v), note(*v)), vec![]),
            StmtKind::Assign(var, v) => (format!("{var:?} = {v:?}"), vec![]),
            StmtKind::Store { place, value, mask, hint, .. } => {
                (format!("store {place:?} {value:?} mask {mask:?} {hint:?}"), vec![])
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Return => (format!("{:?}", s.kind).to_lowercase(), vec![]),
            StmtKind::Assert { cond, message, .. } => (format!("assert {cond:?} {message:?}"), vec![]),
            StmtKind::Print { message, value, .. } => (format!("print {message:?} {value:?}"), vec![]),
            StmtKind::If { cond, then, other } => (format!("if {cond:?}"), vec![("", then), ("else", other)]),
            StmtKind::For { iv, lo, hi, step, body, options } => {
                let how = if *options == LoopOptions::default() { String::new() } else { format!(" {options:?}") };
                (format!("for {iv:?} in {lo:?}..{hi:?} step {step:?}{how}"), vec![("", body)])
            }
            StmtKind::Loop { body } => ("loop".into(), vec![("", body)]),
        };
        let pad = "  ".repeat(depth);
        writeln!(out, "{pad}{head}").expect("writing to a string");
        for (title, block) in blocks {
            if !title.is_empty() && !block.is_empty() {
                writeln!(out, "{pad}{title}").expect("writing to a string");
            }
            print(f, block, depth + 1, note, out);
        }
    }
}
