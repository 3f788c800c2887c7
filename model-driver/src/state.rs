//! The driver's state: queues, events, contexts, and the work that has not run yet.

use crate::Code;
use crate::Counts;
use crate::capture::{Capture, Executable, Graph};
use crate::clock::{Clock, Epoch, Lane};
use crate::launch::{Kernel, Run};
use crate::memory::{Access, Block, Memory};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::thread::ThreadId;

pub(crate) const LEGACY: usize = 0;

pub(crate) type OpId = u64;

pub(crate) struct Fault {
    pub name: Option<String>,
    pub skip: u64,
    pub code: Code,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Thread {
    pub context: usize,
    /// Global, as every thread begins.
    pub mode: i32,
}

/// What an operation does.
#[derive(Clone)]
pub(crate) enum Work {
    Nothing,
    Copy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    /// From host memory that was read when the copy was asked for.
    Upload {
        to: u64,
        data: Arc<[u8]>,
    },
    Fill {
        to: u64,
        value: u8,
        bytes: usize,
    },
    Launch(Run),
    Allocate {
        base: u64,
    },
    Free {
        base: u64,
    },
}

pub(crate) struct Op {
    after: Vec<OpId>,
    work: Work,
    /// Kept until the operation has run.
    _memory: Vec<Arc<Memory>>,
}

pub(crate) struct Stream {
    pub context: usize,
    pub blocking: bool,
    lane: Lane,
    count: u64,
    clock: Clock,
    after: Vec<OpId>,
    pub capture: Option<u64>,
    /// Nodes that the next one comes after.
    pub nodes: Vec<usize>,
}

#[derive(Default)]
pub(crate) struct Event {
    clock: Clock,
    after: Vec<OpId>,
    pub captured: Option<(u64, Vec<usize>)>,
}

pub(crate) struct State {
    rng: fastrand::Rng,
    pub reports: Vec<String>,
    pub calls: BTreeMap<&'static str, u64>,
    pub fault: Option<Fault>,
    pub host: Clock,
    pub threads: HashMap<ThreadId, Thread>,
    pub streams: BTreeMap<usize, Stream>,
    pub events: BTreeMap<usize, Event>,
    pub graphs: BTreeMap<usize, Graph>,
    pub executables: BTreeMap<usize, Executable>,
    pub captures: BTreeMap<u64, Capture>,
    pub pools: BTreeSet<usize>,
    pub libraries: BTreeMap<usize, String>,
    pub kernels: BTreeMap<usize, Kernel>,
    pub known: HashMap<&'static str, Kernel>,
    pub blocks: BTreeMap<u64, Block>,
    pub quarantine: VecDeque<u64>,
    pub used: u64,
    pub capacity: u64,
    pub pools_supported: bool,
    pub contexts: BTreeMap<usize, u64>,
    next_context: u64,
    pub primary: usize,
    pub retained: usize,
    /// The code of a kernel that failed: every later call gives it.
    pub lost: Option<Code>,
    pending: BTreeMap<OpId, Op>,
    next_op: OpId,
    next_handle: usize,
}

impl State {
    pub fn new(seed: u64) -> State {
        let mut state = State {
            rng: fastrand::Rng::with_seed(seed),
            reports: Vec::new(),
            calls: BTreeMap::new(),
            fault: None,
            host: Clock::default(),
            threads: HashMap::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            graphs: BTreeMap::new(),
            executables: BTreeMap::new(),
            captures: BTreeMap::new(),
            pools: BTreeSet::new(),
            libraries: BTreeMap::new(),
            kernels: BTreeMap::new(),
            known: HashMap::new(),
            blocks: BTreeMap::new(),
            quarantine: VecDeque::new(),
            used: 0,
            capacity: 8 << 30,
            pools_supported: true,
            contexts: BTreeMap::new(),
            next_context: 0,
            primary: 0,
            retained: 0,
            lost: None,
            pending: BTreeMap::new(),
            next_op: 0,
            next_handle: 0x1000,
        };
        state.primary = state.handle();
        let primary = state.primary;
        state.number_context(primary);
        let legacy = state.new_stream(primary, true);
        if let Some(stream) = state.streams.remove(&legacy) {
            state.streams.insert(LEGACY, stream);
        }
        state
    }

    pub fn handle(&mut self) -> usize {
        self.next_handle += 16;
        self.next_handle
    }

    pub fn me(&mut self) -> &mut Thread {
        self.threads.entry(std::thread::current().id()).or_default()
    }

    pub fn new_context(&mut self) -> usize {
        let context = self.handle();
        self.number_context(context);
        self.me().context = context;
        context
    }

    /// Addresses of contexts are used again, numbers are not.
    fn number_context(&mut self, context: usize) {
        self.next_context += 1;
        self.contexts.insert(context, self.next_context);
    }

    pub fn retain_primary(&mut self) {
        self.retained += 1;
        if !self.contexts.contains_key(&self.primary) {
            self.number_context(self.primary);
        }
    }

    /// Memory from a pool stays: the pool belongs to the device.
    pub fn end_context(&mut self, context: usize) {
        self.contexts.remove(&context);
        self.streams.retain(|h, s| *h == LEGACY || s.context != context);
    }

    pub fn new_stream(&mut self, context: usize, blocking: bool) -> usize {
        let handle = self.handle();
        let stream = Stream {
            context,
            blocking,
            lane: handle as Lane,
            count: 0,
            clock: Clock::default(),
            after: Vec::new(),
            capture: None,
            nodes: Vec::new(),
        };
        self.streams.insert(handle, stream);
        handle
    }

    pub fn counts(&self) -> Counts {
        Counts {
            blocks: self.blocks.values().filter(|b| b.freed.is_none() && !b.graph).count(),
            streams: self.streams.len() - 1,
            events: self.events.len(),
            graphs: self.graphs.len(),
            executables: self.executables.len(),
            pools: self.pools.len(),
            libraries: self.libraries.len(),
            retained: self.retained,
        }
    }

    /// The legacy stream waits for blocking streams, and they for it. `906` where one of these is captured.
    fn legacy_rules(&mut self, handle: usize) -> Result<(), Code> {
        let Some(stream) = self.streams.get(&handle) else { return Err(400) };
        if !stream.blocking {
            return Ok(());
        }
        let legacy = handle == LEGACY;
        let others: Vec<usize> = self
            .streams
            .iter()
            .filter(|(h, s)| **h != handle && if legacy { s.blocking } else { **h == LEGACY })
            .map(|(h, _)| *h)
            .collect();
        if legacy && let Some(captured) = others.iter().find_map(|h| self.streams[h].capture) {
            self.invalidate(captured);
            return Err(906);
        }
        for other in others {
            let (clock, after) = (self.streams[&other].clock.clone(), self.streams[&other].after.clone());
            if let Some(stream) = self.streams.get_mut(&handle) {
                stream.clock.join(&clock);
                stream.after.extend(after);
            }
        }
        Ok(())
    }

    /// Puts work on a stream, or into its capture.
    pub fn put(&mut self, handle: usize, work: Work, accesses: Vec<Access>, what: &str) -> Result<(), Code> {
        match self.streams.get(&handle) {
            None => {
                self.reports.push(format!("{what}: on a stream that does not exist"));
                return Err(400);
            }
            Some(stream) if stream.capture.is_some() => return self.record(handle, work, accesses, what),
            Some(_) => {}
        }
        self.legacy_rules(handle)?;
        let Some(stream) = self.streams.get_mut(&handle) else { return Err(400) };
        stream.count += 1;
        let at = Epoch { lane: stream.lane, index: stream.count };
        stream.clock.join(&self.host);
        let after = core::mem::take(&mut stream.after);
        let clock = stream.clock.clone();
        let id = self.enqueue(at, &clock, after, work, &accesses, what);
        if let Some(stream) = self.streams.get_mut(&handle) {
            stream.clock.add(at);
            stream.after = vec![id];
        }
        Ok(())
    }

    fn enqueue(
        &mut self,
        at: Epoch,
        clock: &Clock,
        after: Vec<OpId>,
        work: Work,
        accesses: &[Access],
        what: &str,
    ) -> OpId {
        self.touch(accesses, at, clock, what);
        let mut memory: Vec<_> = accesses.iter().filter_map(|a| Some(self.block_at(a.start)?.memory.clone())).collect();
        match work {
            Work::Allocate { base } => self.begin_block(base, at),
            Work::Free { base } => {
                memory.extend(self.blocks.get(&base).map(|b| b.memory.clone()));
                self.end_block(base, at, clock, what);
            }
            _ => {}
        }
        self.next_op += 1;
        let after = after.into_iter().filter(|id| self.pending.contains_key(id)).collect();
        self.pending.insert(self.next_op, Op { after, work, _memory: memory });
        self.next_op
    }

    /// One node of a graph's launch.
    pub fn put_node(
        &mut self,
        lane: Lane,
        index: u64,
        clock: &Clock,
        after: Vec<OpId>,
        work: Work,
        accesses: &[Access],
        what: &str,
    ) -> (OpId, Epoch) {
        let at = Epoch { lane, index };
        (self.enqueue(at, clock, after, work, accesses, what), at)
    }

    /// What is before the next operation of a stream.
    pub fn front(&mut self, handle: usize) -> Result<(Clock, Vec<OpId>), Code> {
        self.legacy_rules(handle)?;
        let Some(stream) = self.streams.get(&handle) else { return Err(400) };
        let mut clock = stream.clock.clone();
        clock.join(&self.host);
        Ok((clock, stream.after.clone()))
    }

    /// Lets a stream go on behind these.
    pub fn go_on(&mut self, handle: usize, clock: &Clock, after: &[OpId]) {
        if let Some(stream) = self.streams.get_mut(&handle) {
            stream.clock.join(clock);
            stream.after.extend_from_slice(after);
        }
    }

    pub fn record_event(&mut self, event: usize, handle: usize) -> Result<(), Code> {
        if !self.events.contains_key(&event) {
            self.reports.push("cuEventRecord: on an event that does not exist".into());
            return Err(400);
        }
        self.put(handle, Work::Nothing, Vec::new(), "cuEventRecord")?;
        let stream = &self.streams[&handle];
        let made = match stream.capture {
            Some(capture) => Event { captured: Some((capture, stream.nodes.clone())), ..Default::default() },
            None => Event { clock: stream.clock.clone(), after: stream.after.clone(), captured: None },
        };
        self.events.insert(event, made);
        Ok(())
    }

    pub fn wait_event(&mut self, handle: usize, event: usize) -> Result<(), Code> {
        let Some(e) = self.events.get(&event) else {
            self.reports.push("cuStreamWaitEvent: for an event that does not exist".into());
            return Err(400);
        };
        let (clock, after, captured) = (e.clock.clone(), e.after.clone(), e.captured.clone());
        let mine = self.streams.get(&handle).ok_or(400u32)?.capture;
        match (mine, captured) {
            (None, None) => {
                self.legacy_rules(handle)?;
                self.go_on(handle, &clock, &after);
                Ok(())
            }
            (Some(mine), None) => {
                self.valid(mine)?;
                self.invalidate(mine);
                Err(905)
            }
            (mine, Some((capture, nodes))) => self.join_capture(handle, mine, capture, nodes),
        }
    }

    /// A host thread has waited for a stream.
    pub fn wait_stream(&mut self, handle: usize) -> Result<(), Code> {
        self.legacy_rules(handle)?;
        let Some(stream) = self.streams.get(&handle) else { return Err(400) };
        let (clock, after) = (stream.clock.clone(), stream.after.clone());
        self.host.join(&clock);
        after.into_iter().for_each(|id| self.run_until(id));
        self.lost.map_or(Ok(()), Err)
    }

    pub fn wait_for_event(&mut self, event: usize) -> Result<(), Code> {
        let Some(e) = self.events.get(&event) else { return Err(400) };
        let (clock, after) = (e.clock.clone(), e.after.clone());
        self.host.join(&clock);
        after.into_iter().for_each(|id| self.run_until(id));
        self.lost.map_or(Ok(()), Err)
    }

    /// Whether all of these have run; some more work runs before the next question.
    pub fn are_done(&mut self, after: &[OpId]) -> bool {
        let done = !after.iter().any(|id| self.pending.contains_key(id));
        if !done && let Some(id) = self.pending.keys().next().copied() {
            self.run_until(id);
        }
        done
    }

    pub fn stream_after(&self, handle: usize) -> (Clock, Vec<OpId>) {
        self.streams.get(&handle).map(|s| (s.clock.clone(), s.after.clone())).unwrap_or_default()
    }

    pub fn event_after(&self, event: usize) -> (Clock, Vec<OpId>) {
        self.events.get(&event).map(|e| (e.clock.clone(), e.after.clone())).unwrap_or_default()
    }

    pub fn run_all(&mut self) {
        while let Some(id) = self.pending.keys().next_back().copied() {
            self.run_until(id);
        }
    }

    /// The adversary's turn: some of the work that may run does.
    pub fn turn(&mut self) {
        if self.pending.is_empty() || self.rng.u8(..) > 40 {
            return;
        }
        let n = self.rng.usize(..self.pending.len());
        if let Some(id) = self.pending.keys().nth(n).copied() {
            self.run_until(id);
        }
    }

    /// Runs an operation and all that is before it.
    fn run_until(&mut self, id: OpId) {
        let mut needed = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if let Some(op) = self.pending.get(&id)
                && needed.insert(id)
            {
                open.extend(op.after.iter().copied());
            }
        }
        // An operation has a larger number than all that it waits for.
        for id in needed {
            if let Some(op) = self.pending.remove(&id)
                && self.lost.is_none()
            {
                self.perform(&op.work);
            }
        }
    }

    fn perform(&mut self, work: &Work) {
        match work {
            Work::Nothing | Work::Allocate { .. } => {}
            Work::Copy { to, from, bytes } => {
                // SAFETY: both ranges were found to be the device's; the operation keeps their memory.
                unsafe { core::ptr::copy(*from as *const u8, *to as *mut u8, *bytes) }
            }
            Work::Upload { to, data } => {
                // SAFETY: the range was found to be the device's; the operation keeps its memory.
                unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), *to as *mut u8, data.len()) }
            }
            Work::Fill { to, value, bytes } => {
                // SAFETY: as for an upload.
                unsafe { (*to as *mut u8).write_bytes(*value, *bytes) }
            }
            Work::Free { base } => {
                if let Some(block) = self.blocks.get(base) {
                    // What is read from here on is no number.
                    // SAFETY: the whole block, which the state keeps.
                    unsafe { (*base as *mut u8).write_bytes(0xFF, (block.end - base) as usize) }
                }
            }
            Work::Launch(run) => {
                if !run.go() {
                    self.lost = Some(710);
                }
            }
        }
    }

    pub fn seconds(&self, event: usize) -> f32 {
        self.events.get(&event).and_then(|e| e.after.iter().max()).map_or(0.0, |id| *id as f32 * 1e-3)
    }
}
