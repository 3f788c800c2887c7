//! A lowered program for readers: one statement on each line, followed by the effects of its calls.

use super::expr::{Expr, Stmt};
use super::function::{Counted, Effect};
use super::node::Lowered;
use super::print::{Form, nodes, pad};
use std::fmt::{self, Write};

/// The program, with the resources that it uses.
pub fn dump(l: &Lowered) -> String {
    let mut out = String::new();
    program(l, &mut out).expect("a string takes all");
    out
}

fn program(l: &Lowered, out: &mut String) -> fmt::Result {
    let Lowered { threads, shared_bytes, scratch_bytes, staging, maps, .. } = l;
    writeln!(out, "threads {threads}, tensor maps {}", maps.len())?;
    writeln!(
        out,
        "shared bytes {shared_bytes}: {scratch_bytes} for scratch buffers, {staging} for stores by tensor maps"
    )?;
    for c in l.consts.iter().flatten() {
        writeln!(out, "{c}")?;
    }
    l.prologue.iter().try_for_each(|s| stmt(s, 0, out))?;
    nodes(&l.body, &Dump, 0, out)
}

/// A statement a line.
struct Dump;

impl Form for Dump {
    const END: &'static str = "";

    fn stmts(&self, stmts: &[Stmt], depth: usize, out: &mut dyn Write) -> fmt::Result {
        stmts.iter().try_for_each(|s| stmt(s, depth, out))
    }

    fn barrier(&self, _: u32, depth: usize, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "{}barrier  // {}", pad(depth), effect(Effect::Barrier(Counted::Block)))
    }
}

fn stmt(s: &Stmt, depth: usize, out: &mut dyn Write) -> fmt::Result {
    let mut effects: Vec<&str> = vec![];
    s.walk(&mut |e| {
        if let Expr::Call(c) = e {
            let does = effect(c.effect());
            if !does.is_empty() && !effects.contains(&does) {
                effects.push(does);
            }
        }
    });
    write!(out, "{}{s}", pad(depth))?;
    if !effects.is_empty() {
        write!(out, "  // {}", effects.join(", "))?;
    }
    writeln!(out)
}

fn effect(e: Effect) -> &'static str {
    match e {
        Effect::None => "",
        Effect::GlobalRead => "global read",
        Effect::GlobalWrite => "global write",
        Effect::GlobalUpdate => "global update",
        Effect::SharedRead => "shared read",
        Effect::SharedWrite => "shared write",
        Effect::ClusterWrite => "cluster write",
        Effect::SharedUpdate => "shared update",
        Effect::CopyAhead => "copy ahead",
        Effect::CopyWait => "wait for copies",
        Effect::Warp => "warp",
        Effect::Barrier(Counted::Block) => "barrier of all threads",
        Effect::Barrier(Counted::Cluster) => "barrier of the cluster",
        Effect::Barrier(Counted::Named) => "barrier of some threads",
        Effect::MbarrierInit => "mbarrier init",
        Effect::MbarrierExpect => "mbarrier expect",
        Effect::MbarrierArrive => "mbarrier arrive",
        Effect::MbarrierWait => "mbarrier wait",
        Effect::Wgmma => "wgmma",
        Effect::WgmmaWait => "wait for wgmma",
        Effect::TmaLoad => "TMA load",
        Effect::TmaStore => "TMA store",
        Effect::TmaWait => "wait for TMA stores",
        Effect::Fence => "fence",
        Effect::Message => "message",
        Effect::Mark => "mark",
        Effect::Control => "control",
    }
}
