//! The driver's state: queues, events, contexts, and the work that has not run yet.

use crate::Code;
use crate::Counts;
use crate::capture::{Capture, Executable, Graph};
use crate::clock::{Clock, Epoch, Lane};
use crate::devices::Devices;
use crate::launch::{Kernel, Loaded, Run};
use crate::memory::{Access, Block, Memory};
use crate::report::{Kind, Report};
use crate::thread::Thread;
use core::ffi::c_int;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::ThreadId;

const LEGACY: usize = 0;
/// Handles are multiples of 16: that of a context's default stream is so far behind the context's.
const DEFAULT_OF_CONTEXT: usize = 8;

/// Whether a handle is that of a context's default stream.
pub(crate) fn is_default(handle: usize) -> bool {
    handle == LEGACY || handle % 16 == DEFAULT_OF_CONTEXT
}

pub(crate) type OpId = u64;

pub(crate) struct Fault {
    pub name: Option<String>,
    pub skip: u64,
    pub code: Code,
}

/// The effect of an operation.
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

/// Work with all that is known of it when it is asked for.
#[derive(Clone)]
pub(crate) struct Task {
    pub work: Work,
    pub accesses: Vec<Access>,
    /// The accesses of a programmatic launch before it waits for the launch in front.
    pub pdl_accesses: Option<Vec<Access>>,
    pub what: String,
}

impl Task {
    pub fn new(work: Work, accesses: Vec<Access>, what: &str) -> Task {
        Task { work, accesses, pdl_accesses: None, what: what.into() }
    }

    /// Whether a programmatic launch behind this may begin before this ends.
    pub fn is_launch(&self) -> bool {
        matches!(self.work, Work::Launch(_))
    }
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
    /// If a launch came last: the clock before it began, and the waits since.
    front: Option<Clock>,
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
    pub reports: Vec<Report>,
    pub calls: BTreeMap<&'static str, u64>,
    pub fault: Option<Fault>,
    /// Calls of these names fail, all of them.
    pub refused: BTreeMap<String, Code>,
    pub threads: HashMap<ThreadId, Thread>,
    pub streams: BTreeMap<usize, Stream>,
    pub events: BTreeMap<usize, Event>,
    pub graphs: BTreeMap<usize, Graph>,
    pub executables: BTreeMap<usize, Executable>,
    pub captures: BTreeMap<u64, Capture>,
    /// With their devices.
    pub pools: BTreeMap<usize, usize>,
    pub libraries: BTreeMap<usize, String>,
    /// The memory of variables of libraries, by context, library and name.
    pub variables: BTreeMap<(usize, usize, String), u64>,
    pub kernels: BTreeMap<usize, Loaded>,
    pub known: HashMap<&'static str, Kernel>,
    pub blocks: BTreeMap<u64, Block>,
    pub quarantine: VecDeque<u64>,
    pub used: u64,
    pub capacity: u64,
    pub pools_supported: bool,
    /// The compute capability.
    pub compute: (i32, i32),
    /// The device's name.
    pub name: String,
    /// Attributes of the device in place of the usual ones, by their numbers.
    pub attributes: BTreeMap<c_int, c_int>,
    pub contexts: BTreeMap<usize, u64>,
    /// The contexts in which events and executables were made.
    pub made_in: BTreeMap<usize, usize>,
    /// The streams, events and executables of contexts that have ended. The driver's reference calls their use
    /// undefined.
    pub ended: BTreeSet<usize>,
    /// That of device 0.
    pub primary: usize,
    pub devices: Devices,
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
            refused: BTreeMap::new(),
            threads: HashMap::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            graphs: BTreeMap::new(),
            executables: BTreeMap::new(),
            captures: BTreeMap::new(),
            pools: BTreeMap::new(),
            libraries: BTreeMap::new(),
            variables: BTreeMap::new(),
            kernels: BTreeMap::new(),
            known: HashMap::new(),
            blocks: BTreeMap::new(),
            quarantine: VecDeque::new(),
            used: 0,
            capacity: 8 << 30,
            pools_supported: true,
            compute: (9, 0),
            name: "Model GPU".into(),
            attributes: BTreeMap::new(),
            contexts: BTreeMap::new(),
            made_in: BTreeMap::new(),
            ended: BTreeSet::new(),
            primary: 0,
            devices: Devices::new(0),
            lost: None,
            pending: BTreeMap::new(),
            next_op: 0,
            next_handle: 0x1000,
        };
        state.primary = state.handle();
        let primary = state.primary;
        state.devices = Devices::new(primary);
        state.number_context(primary);
        state.new_default_stream(primary);
        state
    }

    pub fn handle(&mut self) -> usize {
        self.next_handle += 16;
        self.next_handle
    }

    pub fn new_default_stream(&mut self, context: usize) {
        let made = self.new_stream(context, true);
        if let Some(stream) = self.streams.remove(&made) {
            self.streams.insert(self.default_stream(context), stream);
        }
    }

    pub fn default_stream(&self, context: usize) -> usize {
        if context == self.primary || context == 0 { LEGACY } else { context + DEFAULT_OF_CONTEXT }
    }

    /// That of the calling thread; 0 without one.
    pub fn current_context(&self) -> usize {
        self.threads.get(&std::thread::current().id()).map_or(0, |t| t.context)
    }

    /// Addresses of contexts are used again, numbers are not, in any model of the process.
    pub fn number_context(&mut self, context: usize) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.contexts.insert(context, NEXT.fetch_add(1, Relaxed));
    }

    /// Memory from a pool stays: the pool belongs to the device.
    pub fn end_context(&mut self, context: usize) {
        self.contexts.remove(&context);
        let of_it = |h: &usize, of: usize| *h != LEGACY && of == context;
        self.ended.extend(self.streams.iter().filter(|(h, s)| of_it(h, s.context)).map(|(h, _)| *h));
        self.ended.extend(self.made_in.iter().filter(|(h, of)| of_it(h, **of)).map(|(h, _)| *h));
        self.streams.retain(|h, _| !self.ended.contains(h));
        self.events.retain(|h, _| !self.ended.contains(h));
        self.executables.retain(|h, _| !self.ended.contains(h));
    }

    /// Notes the context of a handle that was made in the current one.
    pub fn made_here(&mut self, handle: usize) {
        self.made_in.insert(handle, self.current_context());
    }

    pub fn new_stream(&mut self, context: usize, blocking: bool) -> usize {
        let handle = self.handle();
        let stream = Stream {
            context,
            blocking,
            lane: handle as Lane,
            count: 0,
            clock: Clock::default(),
            front: None,
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
            streams: self.streams.keys().filter(|h| !is_default(**h)).count(),
            events: self.events.len(),
            graphs: self.graphs.len(),
            executables: self.executables.len(),
            pools: self.pools.len(),
            libraries: self.libraries.len(),
            retained: self.devices.retained(),
        }
    }

    /// The streams that wait for this one, and it for them: all blocking ones for the legacy stream, which each of them
    /// waits for. `906` where the legacy stream is used while one of these is captured.
    fn legacy_partners(&mut self, handle: usize) -> Result<Vec<usize>, Code> {
        let Some(stream) = self.streams.get(&handle) else { return Err(400) };
        if !stream.blocking {
            return Ok(Vec::new());
        }
        let context = stream.context;
        if !is_default(handle) {
            return Ok(vec![self.default_stream(context)]);
        }
        let all = self.streams.iter().filter(|(h, s)| !is_default(**h) && s.blocking && s.context == context);
        let (others, captured): (Vec<usize>, Vec<Option<u64>>) = all.map(|(h, s)| (*h, s.capture)).unzip();
        match captured.into_iter().flatten().next() {
            Some(captured) => {
                self.invalidate(captured);
                Err(906)
            }
            None => Ok(others),
        }
    }

    /// Orders a stream behind its partners.
    fn legacy_rules(&mut self, handle: usize) -> Result<(), Code> {
        for other in self.legacy_partners(handle)? {
            let (clock, after) = self.stream_after(other);
            self.go_on(handle, &clock, &after);
        }
        Ok(())
    }

    /// Puts work on a stream, or into its capture.
    pub fn put(&mut self, handle: usize, task: Task) -> Result<(), Code> {
        match self.streams.get(&handle) {
            None => {
                self.report(Kind::Call, format!("{}: on a stream that does not exist", task.what));
                return Err(400);
            }
            Some(stream) if stream.capture.is_some() => return self.record(handle, task),
            Some(_) => {}
        }
        self.check_memory(handle, &task);
        self.legacy_rules(handle)?;
        let host = self.me().clock.clone();
        let Some(stream) = self.streams.get_mut(&handle) else { return Err(400) };
        stream.clock.join(&host);
        let (lane, index, clock) = (stream.lane, stream.count + 1, stream.clock.clone());
        let front = stream.front.clone().map(|mut front| {
            front.join(&host);
            front
        });
        stream.count += 2;
        // A mark, as of an event, may not keep two launches apart.
        if !matches!(task.work, Work::Nothing) {
            stream.front = task.is_launch().then(|| clock.clone());
        }
        let after = core::mem::take(&mut stream.after);
        let (id, at) = self.enqueue(lane, index, &clock, front.as_ref(), after, &task);
        if let Some(stream) = self.streams.get_mut(&handle) {
            stream.clock.add(at);
            stream.after = vec![id];
        }
        Ok(())
    }

    /// Takes note of an operation that runs behind all that `clock` knows. It takes two numbers of its lane, from
    /// `index` on: one for its part before it waits, which runs behind `front`, and one for the rest.
    pub fn enqueue(
        &mut self,
        lane: Lane,
        index: u64,
        clock: &Clock,
        front: Option<&Clock>,
        after: Vec<OpId>,
        task: &Task,
    ) -> (OpId, Epoch) {
        let at = Epoch { lane, index: index + 1 };
        let mut clock = clock.clone();
        if let Some((pdl_accesses, front)) = task.pdl_accesses.as_ref().zip(front) {
            let begins = Epoch { lane, index };
            self.touch(pdl_accesses, begins, front, &format!("{}, before it waits,", task.what));
            clock.add(begins);
        }
        self.touch(&task.accesses, at, &clock, &task.what);
        let mut memory: Vec<_> =
            task.accesses.iter().filter_map(|a| Some(self.block_at(a.start)?.memory.clone())).collect();
        match task.work {
            Work::Allocate { base } => self.begin_block(base, at),
            Work::Free { base } => {
                memory.extend(self.blocks.get(&base).map(|b| b.memory.clone()));
                self.end_block(base, at, &clock, &task.what);
            }
            _ => {}
        }
        self.next_op += 1;
        let after = after.into_iter().filter(|id| self.pending.contains_key(id)).collect();
        self.pending.insert(self.next_op, Op { after, work: task.work.clone(), _memory: memory });
        (self.next_op, at)
    }

    /// The clock of the next operation of a stream.
    pub fn front(&mut self, handle: usize) -> Result<(Clock, Vec<OpId>), Code> {
        self.legacy_rules(handle)?;
        let Some(stream) = self.streams.get(&handle) else { return Err(400) };
        let (mut clock, after) = (stream.clock.clone(), stream.after.clone());
        clock.join(&self.me().clock);
        Ok((clock, after))
    }

    /// Lets a stream go on behind these.
    pub fn go_on(&mut self, handle: usize, clock: &Clock, after: &[OpId]) {
        if let Some(stream) = self.streams.get_mut(&handle) {
            stream.clock.join(clock);
            if let Some(front) = &mut stream.front {
                front.join(clock);
            }
            stream.after.extend_from_slice(after);
        }
    }

    pub fn record_event(&mut self, event: usize, handle: usize) -> Result<(), Code> {
        if !self.events.contains_key(&event) {
            self.report(Kind::Call, "cuEventRecord: on an event that does not exist");
            return Err(400);
        }
        self.check_event(event, handle)?;
        self.put(handle, Task::new(Work::Nothing, Vec::new(), "cuEventRecord"))?;
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
            self.report(Kind::Call, "cuStreamWaitEvent: for an event that does not exist");
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
        self.legacy_partners(handle)?;
        let Some(stream) = self.streams.get(&handle) else { return Err(400) };
        let (clock, after) = (stream.clock.clone(), stream.after.clone());
        self.has_waited(&clock);
        after.into_iter().for_each(|id| self.run_until(id));
        self.lost.map_or(Ok(()), Err)
    }

    pub fn wait_for_event(&mut self, event: usize) -> Result<(), Code> {
        let Some(e) = self.events.get(&event) else { return Err(400) };
        let (clock, after) = (e.clock.clone(), e.after.clone());
        self.has_waited(&clock);
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
                    // Later reads get NaNs.
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
