//! The instructions that no backend but a GPU executes, compared with the thread-level programs that they come from:
//! shapes, flags and matrix descriptors of `wgmma`, numbers of groups that are waited for, fences, the order of
//! atomics, masks of multicasts, counts of mbarriers, predicates of single-lane steps.
//!
//! LLVM may lay code out twice, or leave out unreachable code. So kinds of instructions are compared as sets, with all
//! their immediates, and their order within the text as far as it is kept.

use super::registers::{Descriptor, Numbers};
use super::{Entry, entries, none, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use tilewright_compiler::dtype::DType;
use tilewright_compiler::thread_ir::{
    BinaryOp, Call, ConstValue, Device, Effect, Expr, Function, Generic, Literal, Lowered, Ty,
};

/// Kinds of instructions, with their immediates.
type Facts = BTreeSet<String>;

/// A number that is known when the program is compiled.
fn constant(program: &Lowered, e: &Expr) -> Option<i128> {
    match e {
        Expr::Literal(Literal::Int { value, .. }) => Some(*value),
        Expr::Name(name) => program.consts.iter().flatten().find(|c| c.name == *name).and_then(|c| match c.value {
            ConstValue::Word(n) => i128::try_from(n).ok(),
            _ => None,
        }),
        Expr::Group(e) => constant(program, e),
        Expr::Binary(op, a, b) => {
            let (a, b) = (constant(program, a)?, constant(program, b)?);
            match op {
                BinaryOp::Add => Some(a + b),
                BinaryOp::Sub => Some(a - b),
                BinaryOp::Mul => Some(a * b),
                _ => None,
            }
        }
        _ => None,
    }
}

fn number(program: &Lowered, g: &Generic) -> Option<usize> {
    match g {
        Generic::Number(n) => Some(*n),
        Generic::Expr(e) => usize::try_from(constant(program, e)?).ok(),
        _ => None,
    }
}

fn dtype(g: &Generic) -> Option<DType> {
    match g {
        Generic::Type(Ty::Scalar(t)) => Some(*t),
        _ => None,
    }
}

fn flag(g: &Generic) -> Option<bool> {
    match g {
        Generic::Flag(f) => Some(*f),
        _ => None,
    }
}

/// `wgmma` of N columns: K and the types, then the operands' suffix.
fn wgmma(a: DType, n: usize, transposed: &[bool]) -> String {
    let types = match a {
        DType::F16 => "k16.f32.f16.f16",
        DType::BF16 => "k16.f32.bf16.bf16",
        DType::F32 => "k8.f32.tf32.tf32",
        DType::I8 => "k32.s32.s8.s8",
        DType::F8E4M3 => "k32.f32.e4m3.e4m3",
        DType::F8E5M2 => "k32.f32.e5m2.e5m2",
        other => panic!("wgmma of {other}"),
    };
    let flags: Vec<String> = match a {
        DType::F16 | DType::BF16 => ["1", "1"]
            .map(str::to_string)
            .into_iter()
            .chain(transposed.iter().map(|t| u32::from(*t).to_string()))
            .collect(),
        DType::I8 => vec![],
        _ => vec!["1".into(), "1".into()],
    };
    format!("wgmma.m64n{n}{types} [{}]", flags.join(", "))
}

/// The matrices of a product with their sides: one alone is that of B.
fn sides<T: Copy>(matrices: &[T]) -> impl Iterator<Item = (char, T)> {
    ['B', 'A'].into_iter().zip(matrices.iter().rev().copied())
}

fn descriptor(side: char, of: Option<Descriptor>) -> String {
    match of {
        Some(Descriptor { swizzle, stride, .. }) => {
            format!("wgmma, {side} in rows of {swizzle} bytes, {stride} bytes from eight rows to the next")
        }
        None => format!("wgmma, {side} by a descriptor that is no number"),
    }
}

/// The bytes from a block of the contiguous dimension to the next. The PTX adds them to an address at times: then they
/// are not found.
fn leads(side: char, bytes: u64) -> String {
    format!("{LEADING}{side}, {bytes} bytes to the next block")
}

const LEADING: &str = "wgmma, leading dimension of ";

/// Whether a call's last flag says relaxed.
fn is_relaxed(c: &Call) -> bool {
    c.args.iter().rev().find_map(|a| match a {
        Expr::Literal(Literal::Bool(b)) => Some(*b),
        _ => None,
    }) == Some(true)
}

fn atomic(c: &Call) -> &'static str {
    let device = |f: Device| c.function == Function::Device(f);
    let effect = c.effect();
    let relaxed = is_relaxed(c);
    match effect {
        Effect::GlobalRead if device(Device::Atomic) => {
            if relaxed {
                "ld.relaxed"
            } else {
                "ld.acquire"
            }
        }
        Effect::GlobalWrite if device(Device::Atomic) => {
            if relaxed {
                "st.relaxed"
            } else {
                "st.release"
            }
        }
        _ => {
            if relaxed {
                "atom.relaxed"
            } else {
                "atom.acq_rel"
            }
        }
    }
}

/// The required instructions in the PTX of a program for a target since sm_80. It has no others of these kinds.
fn expected(program: &Lowered, target: &str) -> Facts {
    let mut out = Facts::new();
    let mut add = |fact: String| {
        out.insert(fact);
    };
    program.walk(&mut |e| {
        let Expr::Call(c) = e else { return };
        let Function::Device(device) = c.function else { return };
        let g = &c.generics;
        let chain = c.args.iter().find_map(|a| match a {
            Expr::Chain { first, last, wait } => Some((*first, *last, *wait)),
            _ => None,
        });
        match device {
            Device::Wgmma | Device::WgmmaBatch | Device::WgmmaRa | Device::WgmmaRaBatch => {
                let (a, n) = (dtype(&g[0]).expect("a type"), number(program, &g[3]).expect("columns"));
                let transposed: Vec<bool> = g.iter().filter_map(flag).collect();
                add(wgmma(a, n, &transposed));
                let matrices = c.args.iter().filter_map(|a| match a {
                    Expr::Matrix { leading, stride, swizzle } => Some([*leading, *stride, *swizzle].map(|n| n as u64)),
                    _ => None,
                });
                for (side, [leading, stride, swizzle]) in sides(&matrices.collect::<Vec<_>>()) {
                    add(descriptor(side, Some(Descriptor { swizzle, stride, leading: None })));
                    add(leads(side, leading));
                }
                let (first, last, wait) = chain.expect("a chain");
                if first {
                    add("wgmma.fence".into());
                }
                if last {
                    add("wgmma.commit_group".into());
                }
                if wait {
                    add("wgmma.wait_group 0".into());
                }
            }
            Device::WgmmaDone => {
                add(format!("wgmma.wait_group {}", number(program, &g[2]).expect("a number of groups")))
            }
            Device::WgmmaWaitPrevious => add("wgmma.wait_group 1".into()),
            Device::CpAsyncWait => {
                add(format!("cp.async.wait_group {}", number(program, &g[0]).expect("a number of groups")))
            }
            Device::CpAsyncCommit => add("cp.async.commit_group".into()),
            Device::TmaStoreWaitRead => {
                add(format!("cp.async.bulk.wait_group.read {}", number(program, &g[0]).expect("a number of groups")))
            }
            Device::TmaStoreWait => add("cp.async.bulk.wait_group 0".into()),
            Device::ProxyFence => add("fence.proxy.async.shared::cta".into()),
            Device::MbarriersReady => add("fence.mbarrier_init.release.cluster".into()),
            Device::TmaLoad => add("tensor load".into()),
            Device::TmaLoadMulticast => {
                let ctas = constant(program, &c.args[c.args.len() - 2]).expect("a mask of CTAs");
                add(format!("tensor load, multicast to {ctas:#b}"));
            }
            Device::TmaStore => add("tensor store".into()),
            Device::MbarrierInit => {
                add(format!("mbarrier.init {}", constant(program, &c.args[1]).expect("a number of arrivals")))
            }
            Device::MbarrierExpect => {
                add(format!("mbarrier.arrive.expect_tx {}", constant(program, &c.args[1]).expect("a number of bytes")))
            }
            Device::MbarrierArrive => add("mbarrier.arrive of a predicate".into()),
            Device::MbarrierArriveAt => add("mbarrier.arrive of a predicate, in the cluster".into()),
            Device::SetRegisters => {
                let way = if flag(&g[0]).expect("a flag") { "inc" } else { "dec" };
                add(format!("setmaxnreg.{way} {}", number(program, &g[1]).expect("registers")));
            }
            // Targets before sm_90 add one by one, as all do where an access is not allowed as a whole.
            Device::AtomicAddVectors => {
                let has_vectors = target.starts_with("sm_9");
                if has_vectors {
                    add("red.relaxed".into());
                }
                if !has_vectors || flag(&g[3]) == Some(false) {
                    add("atom.relaxed".into());
                }
            }
            Device::Atomic | Device::AtomicCas => {
                // Atomics on bytes, and those that the hardware lacks, are exchanges of words that are read first.
                let kind = atomic(c);
                let small = dtype(&g[0]).is_some_and(|t| t.size() < 4);
                add(if small { kind.replace("st.", "atom.").replace("release", "acq_rel") } else { kind.into() });
            }
            _ => {}
        }
    });
    out
}

/// An instruction: its guard, its opcode, and its operands.
fn instruction(line: &str) -> (Option<&str>, &str, &str) {
    let (guard, rest) = match line.strip_prefix('@') {
        Some(rest) => rest.split_once([' ', '\t']).map_or((None, line), |(g, rest)| (Some(g), rest.trim_start())),
        None => (None, line),
    };
    let (opcode, operands) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    // A comment with the names of registers follows the semicolon.
    let operands = operands.split(';').next().unwrap_or("").trim();
    (guard, opcode.trim_end_matches(';'), operands)
}

/// The instructions that it has.
fn found(ptx: &str) -> Facts {
    let (mut out, numbers) = (Facts::new(), Numbers::of(ptx));
    let number = |operand: &str| match numbers.number(operand.trim()) {
        Some(n) => n.to_string(),
        None => format!("{operand}, which is no number"),
    };
    let last = |operands: &str| number(operands.rsplit(',').next().unwrap_or(operands));
    for line in ptx.lines() {
        let (guard, opcode, operands) = instruction(line);
        let fact = if let Some(shape) = opcode.strip_prefix("wgmma.mma_async.sync.aligned.") {
            // Behind the predicate that says whether to add.
            let flags = operands.rsplit_once("p, ").map_or("", |(_, flags)| flags);
            let flags: Vec<&str> = flags.split(',').map(str::trim).filter(|f| !f.is_empty()).collect();
            let behind = operands.rsplit_once('}').map_or("", |(_, rest)| rest);
            let registers: Vec<&str> = behind.split(',').map(str::trim).filter(|r| r.starts_with("%rd")).collect();
            for (side, register) in sides(&registers) {
                let found = numbers.descriptor(register);
                out.insert(descriptor(side, found));
                out.extend(found.and_then(|d| d.leading).map(|bytes| leads(side, bytes)));
            }
            format!("wgmma.{shape} [{}]", flags.join(", "))
        } else if opcode.starts_with("wgmma.wait_group") {
            format!("wgmma.wait_group {operands}")
        } else if opcode.starts_with("wgmma.fence") {
            "wgmma.fence".into()
        } else if opcode.starts_with("wgmma.commit_group") {
            "wgmma.commit_group".into()
        } else if ["cp.async.wait_group", "cp.async.bulk.wait_group.read", "cp.async.bulk.wait_group"].contains(&opcode)
        {
            format!("{opcode} {operands}")
        } else if opcode == "cp.async.commit_group"
            || opcode.starts_with("fence.proxy")
            || opcode.starts_with("fence.mbarrier_init")
        {
            opcode.into()
        } else if opcode.starts_with("cp.async.bulk.tensor") {
            let store = opcode.contains(".global.shared::cta");
            match (store, opcode.contains(".multicast::cluster"), guard) {
                // A store, and its commit, are of one lane.
                (true, false, Some(_)) => "tensor store".into(),
                (true, ..) => "tensor store without a predicate".into(),
                (false, false, _) => "tensor load".into(),
                (false, true, _) => {
                    let mask = operands.rsplit(',').next().and_then(|mask| numbers.number(mask.trim()));
                    let mask = mask.map_or("CTAs that are no number".into(), |mask| format!("{mask:#b}"));
                    format!("tensor load, multicast to {mask}")
                }
            }
        } else if opcode.starts_with("mbarrier.arrive.expect_tx") {
            format!("mbarrier.arrive.expect_tx {}", last(operands))
        } else if opcode.starts_with("mbarrier.init") {
            format!("mbarrier.init {}", last(operands))
        } else if opcode.starts_with("mbarrier.arrive") {
            let whose = if opcode.contains("shared::cluster") { ", in the cluster" } else { "" };
            let of = if guard.is_some() { "of a predicate" } else { "of every thread" };
            format!("mbarrier.arrive {of}{whose}")
        } else if let Some(way) = opcode.strip_prefix("setmaxnreg.") {
            format!("setmaxnreg.{} {operands}", way.split('.').next().unwrap_or(way))
        } else if ["atom.", "red.", "ld.acquire", "ld.relaxed", "st.release", "st.relaxed"]
            .iter()
            .any(|p| opcode.starts_with(p))
            && opcode.contains(".global")
        {
            let scope = if opcode.contains(".gpu.") { "" } else { ", not of the device" };
            format!("{}{scope}", opcode.split('.').take(2).collect::<Vec<_>>().join("."))
        } else {
            continue;
        };
        out.insert(fact);
    }
    out
}

/// Of instructions that follow each other in the text, some must come between others.
fn order(ptx: &str) -> Vec<String> {
    let mut wrong = vec![];
    // Whether registers of products may be touched; whether shared memory was written since the last fence.
    let (mut fenced, mut written, mut uncommitted) = (false, false, false);
    for line in ptx.lines() {
        let (_, opcode, _) = instruction(line);
        if opcode.starts_with("wgmma.fence") {
            fenced = true;
        } else if opcode.starts_with("wgmma.mma_async") {
            if !fenced {
                wrong.push(format!("no wgmma.fence before {opcode}"));
            }
            uncommitted = true;
        } else if opcode.starts_with("wgmma.commit_group") {
            uncommitted = false;
        } else if opcode.starts_with("wgmma.wait_group") {
            if uncommitted {
                wrong.push("products that are waited for before they are committed".into());
            }
            fenced = false;
        } else if opcode.starts_with("stmatrix") || opcode.starts_with("st.shared") {
            written = true;
        } else if opcode.starts_with("fence.proxy.async") {
            written = false;
        } else if opcode.starts_with("cp.async.bulk.tensor") && opcode.contains(".global.shared::cta") && written {
            wrong.push(format!("no fence.proxy.async between stores to shared memory and {opcode}"));
        }
    }
    wrong
}

/// Facts that only the PTX or only the program has.
fn differences(e: &Entry, program: &Lowered) -> Vec<String> {
    let (mut wanted, mut found) = (expected(program, &e.target), found(&e.ptx));
    // A loop that exchanges reads its word first: that load is none of the program's.
    if wanted.iter().any(|f| f.starts_with("atom")) {
        wanted.remove("ld.relaxed");
        found.remove("ld.relaxed");
    }
    let missing = wanted.difference(&found).filter(|f| !f.starts_with(LEADING)).map(|f| format!("no `{f}`"));
    let other = found.difference(&wanted).map(|f| format!("`{f}`, which the program has not"));
    missing.chain(other).chain(order(&e.ptx)).collect()
}

/// The program of every entry. Both tests read one copy.
fn programs() -> &'static BTreeMap<String, Lowered> {
    static PROGRAMS: LazyLock<BTreeMap<String, Lowered>> = LazyLock::new(lower);
    &PROGRAMS
}

fn lower() -> BTreeMap<String, Lowered> {
    let libraries = super::libraries();
    let all = sources().flat_map(|source| tilewright_compiler::entries(source, &libraries));
    all.map(|e| (e.name, e.lowered)).collect()
}

#[test]
fn the_instructions_are_those_of_the_program() {
    let programs = programs();
    let mut wrong = vec![];
    // The device library has other instructions for devices before 8.0.
    for e in entries().iter().filter(|e| e.target != "sm_75") {
        wrong.extend(differences(e, &programs[e.name]).into_iter().map(|d| format!("{}: {d}", e.title())));
    }
    none("instructions", wrong);
}

/// Wrong texts of the device library's instructions are found: each change of a kind is, in some entry.
#[test]
fn wrong_instructions_are_found() {
    let programs = programs();
    let entries: Vec<&Entry> = entries().iter().filter(|e| e.target == "sm_90a").collect();
    if entries.is_empty() {
        return;
    }
    let changes: [(&str, &str); 24] = [
        ("fence.proxy.async.shared::cta;", ""),
        ("fence.mbarrier_init.release.cluster;", ""),
        ("wgmma.fence.sync.aligned;", ""),
        ("wgmma.commit_group.sync.aligned;", ""),
        ("wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;"),
        ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"),
        ("cp.async.wait_group 0;", "cp.async.wait_group 9;"),
        ("cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group.read 1;"),
        ("cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 0;"),
        ("atom.acq_rel.gpu", "atom.relaxed.gpu"),
        ("ld.acquire.gpu", "ld.relaxed.gpu"),
        ("atom.relaxed.gpu", "atom.relaxed.cta"),
        (".multicast::cluster", ""),
        ("@ok mbarrier.arrive.shared::cta", "mbarrier.arrive.shared::cta"),
        ("@ok cp.async.bulk.tensor", "cp.async.bulk.tensor"),
        (", p, 1, 1, 0, 1;", ", p, 1, 1, 1, 1;"),
        ("k32.f32.e4m3.e4m3", "k32.f32.e5m2.e5m2"),
        ("mov.b16 \t%rs1, 3;", "mov.b16 \t%rs1, 1;"),
        // A stride of 1024 bytes and rows of 128: half the stride, rows of 64, another leading dimension.
        (", 4611686293305294848;", ", 4611686155866341376;"),
        (", 4611686293305294848;", ", 9223372311732682752;"),
        (", 4611686293305360384;", ", 4611686293305425920;"),
        ("mbarrier.init.shared::cta.b64 [", "mbarrier.init.shared::cta.b64 [%r1], 77; // ["),
        ("expect_tx.shared::cta.b64 _, [", "expect_tx.shared::cta.b64 _, [%r1], 77; // ["),
        ("setmaxnreg.dec.sync.aligned.u32 ", "setmaxnreg.dec.sync.aligned.u32 8"),
    ];
    let mut missed = vec![];
    for (right, wrong) in changes {
        let Some(e) = entries.iter().find(|e| e.ptx.contains(right)) else {
            missed.push(format!("no entry has `{right}`"));
            continue;
        };
        let changed = Entry { ptx: e.ptx.replace(right, wrong), target: e.target.clone(), ..**e };
        if differences(&changed, &programs[e.name]).is_empty() {
            missed.push(format!("{}: `{wrong}` for `{right}`", e.title()));
        }
    }
    none("changes that nobody sees", missed);
}
