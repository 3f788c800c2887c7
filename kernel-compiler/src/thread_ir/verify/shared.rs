//! Shared memory: what is where, and scratch buffers between their barriers.

use super::bounds::Bounds;
use super::flow::{Flow, State, Step};
use super::regions::consumers;
use crate::thread_ir::expr::{Call, Expr, Generic, Scratch, Stmt, Ty};
use crate::thread_ir::function::{Device, Effect, Function};
use crate::thread_ir::name::{BufferPart, Name};
use crate::thread_ir::node::{ConstValue, Lowered};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

type Checked = Result<(), String>;

pub fn verify(lowered: &Lowered) -> Checked {
    places(lowered)?;
    let cx = ScratchBuffers {
        bytes: lowered.array_bytes..lowered.scratch_bytes,
        warps: u64::from(consumers(lowered) / 32),
        bounds: Bounds::new(lowered, lowered.threads),
    };
    let mut visit = |step: Step, state: &mut Buffered| match step {
        Step::Access(_) | Step::Return => Ok(()),
        Step::Call(c) => buffer(c)?.map_or(Ok(()), |buffer| cx.access(c, buffer, state)),
        Step::Stmt(s) => all_are_accesses(s),
    };
    Flow::new(&mut visit).nodes(&lowered.body, &mut Some(Buffered::default()))
}

/// The buffers that the constants name are within the program's bytes, and no two have a byte in common. Circular
/// buffers that begin at the same byte are used one after another.
fn places(lowered: &Lowered) -> Checked {
    let words: BTreeMap<Name, usize> = lowered
        .consts
        .iter()
        .flatten()
        .filter_map(|c| if let ConstValue::Word(n) = c.value { Some((c.name, n)) } else { None })
        .collect();
    let of_buffer = |of: BufferPart, i: usize| {
        let name = Name::CircularBuffer(of, i);
        words.get(&name).copied().ok_or(format!("the constant `{name}` is not defined"))
    };
    let mut all: Vec<(Option<Name>, Range<usize>)> = vec![(None, 0..lowered.scratch_bytes)];
    for (&name, &start) in &words {
        let bytes = match name {
            Name::Staging => lowered.staging,
            Name::Matrix(i) => *lowered.matrices.get(i).ok_or(format!("`{name}` has no size"))?,
            Name::CircularBuffer(BufferPart::Start, i) => {
                of_buffer(BufferPart::Bytes, i)? * of_buffer(BufferPart::Stages, i)?
            }
            Name::CircularBuffer(BufferPart::Full | BufferPart::Empty, i) => 8 * of_buffer(BufferPart::Stages, i)?,
            _ => continue,
        };
        all.push((Some(name), start..start + bytes));
    }
    let called = |name: &Option<Name>| name.map_or("the scratch memory".to_string(), |n| format!("`{n}`"));
    let is_circular_buffer = |name: &Option<Name>| matches!(name, Some(Name::CircularBuffer(BufferPart::Start, _)));
    for (i, (name, range)) in all.iter().enumerate() {
        if range.end > lowered.shared_bytes {
            let (name, bytes) = (called(name), lowered.shared_bytes);
            return Err(format!("{name} ends at {}, beyond {bytes} shared bytes", range.end));
        }
        let in_turns = |(other, of): &&(Option<Name>, Range<usize>)| {
            is_circular_buffer(name) && is_circular_buffer(other) && of.start == range.start
        };
        let other = all[..i].iter().filter(|o| !in_turns(o)).find(|(_, of)| overlap(of, range));
        if let Some((other, _)) = other {
            return Err(format!("{} and {} overlap in shared memory", called(name), called(other)));
        }
    }
    Ok(())
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Scratch buffers, by offset and bytes.
type Buffers = BTreeSet<(usize, usize)>;

/// The accesses of threads to scratch buffers on some way here.
#[derive(Clone, Debug, Default, PartialEq)]
struct Buffered {
    /// Stored to and loaded from since the last barrier.
    stored: Buffers,
    loaded: Buffers,
    /// The buffers that all threads have stored, on every way here, and that nothing else has overwritten.
    ready: Buffers,
}

impl State for Buffered {
    fn barrier(&mut self) {
        self.loaded.clear();
        self.ready.extend(std::mem::take(&mut self.stored));
    }

    fn join(&mut self, o: &Self) {
        self.stored.extend(&o.stored);
        self.loaded.extend(&o.loaded);
        self.ready.retain(|b| o.ready.contains(b));
    }
}

struct ScratchBuffers {
    /// Behind the shared arrays.
    bytes: Range<usize>,
    /// The warps that compute.
    warps: u64,
    bounds: Bounds,
}

impl ScratchBuffers {
    fn access(&self, c: &Call, buffer: (usize, usize), state: &mut Buffered) -> Checked {
        let bytes = |(offset, bytes): (usize, usize)| offset..offset + bytes;
        let (range, overlaps) = (bytes(buffer), |b: &(usize, usize)| overlap(&bytes(*b), &bytes(buffer)));
        if range.end > self.bytes.end {
            let bytes = self.bytes.end;
            return Err(format!("a scratch buffer in bytes {range:?} is beyond the {bytes} of scratch memory"));
        }
        if range.start < self.bytes.start {
            return Err(format!("a scratch buffer in bytes {range:?} overlaps the shared arrays"));
        }
        let last = self.last_byte(c).ok_or("an offset in a scratch buffer has no bound")?;
        if last >= buffer.1 as u64 {
            return Err(format!("a scratch buffer in bytes {range:?} reaches its byte {last}"));
        }
        if c.effect() != Effect::SharedRead && state.loaded.iter().any(overlaps) {
            return Err(format!("bytes {range:?} are stored to while other threads may still load from them"));
        }
        if c.effect() != Effect::SharedWrite && !state.ready.contains(&buffer) {
            let does = if c.effect() == Effect::SharedRead { "loaded from" } else { "updated" };
            return Err(format!("bytes {range:?} are {does} before all threads have stored to them"));
        }
        if c.effect() != Effect::SharedRead {
            if state.stored.iter().any(|b| *b != buffer && overlaps(b)) {
                return Err(format!("bytes {range:?} are stored to by two scratch buffers at once"));
            }
            state.ready.retain(|b| !overlaps(b));
            state.stored.insert(buffer);
            return Ok(());
        }
        state.loaded.insert(buffer);
        Ok(())
    }
}

impl ScratchBuffers {
    /// The last byte of its buffer that an access may reach.
    fn last_byte(&self, c: &Call) -> Option<u64> {
        let at = c.args.first()?;
        // Two words of each warp and bin.
        let words = |warps: u64, bits: usize| Some(self.bounds.of(at)?.most + ((8 * warps) << bits) - 1);
        match (c.function, &c.generics[..], at) {
            (Function::Device(Device::CumcountInWarp), [_, Generic::Number(bits), ..], _) => {
                let Expr::Closure(bin) = c.args.get(1)? else { return None };
                let most = self.bounds.of(&bin.body)?.most;
                if most >> bits == 0 { words(self.warps, *bits) } else { None }
            }
            (Function::Device(Device::CumcountOfWarps), [Generic::Number(warps), Generic::Number(bits), ..], _) => {
                words(*warps as u64, *bits)
            }
            (_, [Generic::Type(Ty::Scalar(element)), ..], Expr::Closure(offset)) => {
                Some(self.bounds.of(&offset.body)?.most + element.size() as u64 - 1)
            }
            _ => None,
        }
    }
}

/// The scratch buffer that a call of an access to shared memory goes to.
fn buffer(c: &Call) -> Result<Option<(usize, usize)>, String> {
    if !matches!(c.effect(), Effect::SharedWrite | Effect::SharedUpdate | Effect::SharedRead) {
        return Ok(None);
    }
    let mut found = vec![];
    c.args[0].walk(&mut |e| {
        if let Expr::Scratch(Scratch::Placed { offset, bytes }) = e {
            found.push((*offset, *bytes));
        }
    });
    match found[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => Err("a step goes to two scratch buffers at once".into()),
    }
}

/// Whether scratch buffers are nothing but the addresses of accesses.
fn all_are_accesses(s: &Stmt) -> Checked {
    let (mut buffers, mut accesses) = (0, 0);
    s.walk(&mut |e| match e {
        Expr::Scratch(_) => buffers += 1,
        Expr::Call(c) => accesses += usize::from(matches!(buffer(c), Ok(Some(_)))),
        _ => {}
    });
    if buffers == accesses {
        Ok(())
    } else {
        Err(format!("a scratch buffer is neither stored to nor loaded from: {s}"))
    }
}
