//! Captures, graphs and their launches.

use crate::Code;
use crate::clock::{Clock, Lane};
use crate::state::{OpId, State, Stream, Task, Work, is_default};
use std::thread::ThreadId;

pub(crate) const GLOBAL: i32 = 0;
pub(crate) const RELAXED: i32 = 2;

#[derive(Clone)]
pub(crate) struct Node {
    task: Task,
    after: Vec<usize>,
}

pub(crate) struct Capture {
    origin: usize,
    mode: i32,
    thread: ThreadId,
    invalid: bool,
    nodes: Vec<Node>,
}

#[derive(Clone, Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    instantiated: bool,
}

pub(crate) struct Executable {
    nodes: Vec<Node>,
    lanes: Lane,
    launches: u64,
    clock: Clock,
    after: Vec<OpId>,
}

/// A node of a graph that runs.
struct Made {
    id: OpId,
    /// The clock after the node is done.
    done: Clock,
    /// The operations that a programmatic launch behind the node may rely on before it waits.
    front: Clock,
}

impl State {
    /// Whether the calling thread may make a potentially unsafe call; else captures are invalidated.
    pub fn unsafe_call(&mut self) -> Result<(), Code> {
        let (mode, me) = (self.me().mode, std::thread::current().id());
        if mode == RELAXED {
            return Ok(());
        }
        let mut prohibited = false;
        for c in self.captures.values_mut() {
            let mine = c.thread == me && c.mode != RELAXED;
            let others = c.thread != me && c.mode == GLOBAL && mode == GLOBAL;
            if mine || others {
                c.invalid = true;
                prohibited = true;
            }
        }
        if prohibited { Err(900) } else { Ok(()) }
    }

    /// Calls that no capture allows, in no mode.
    pub fn never_while_capturing(&mut self) -> Result<(), Code> {
        if self.captures.is_empty() {
            return Ok(());
        }
        self.captures.values_mut().for_each(|c| c.invalid = true);
        Err(900)
    }

    /// A wait for a stream, or a question to it.
    pub fn may_wait(&mut self, stream: usize) -> Result<(), Code> {
        match self.streams.get(&stream) {
            None => Err(400),
            Some(s) => match s.capture {
                Some(capture) => {
                    self.valid(capture)?;
                    self.invalidate(capture);
                    Err(900)
                }
                None => self.unsafe_call(),
            },
        }
    }

    pub fn may_wait_for_event(&mut self, event: usize) -> Result<(), Code> {
        let captured = self.events.get(&event).ok_or(400u32)?.captured.as_ref().map(|(c, _)| *c);
        match captured {
            Some(capture) if self.captures.contains_key(&capture) => {
                self.invalidate(capture);
                Err(907)
            }
            Some(_) => Err(1),
            None => self.unsafe_call(),
        }
    }

    pub fn invalidate(&mut self, capture: u64) {
        if let Some(c) = self.captures.get_mut(&capture) {
            c.invalid = true;
        }
    }

    pub fn valid(&self, capture: u64) -> Result<(), Code> {
        if self.captures.get(&capture).is_some_and(|c| !c.invalid) { Ok(()) } else { Err(901) }
    }

    /// 0 without a capture, 1 in one, 2 in one that was invalidated.
    pub fn capture_status(&self, stream: usize) -> Result<i32, Code> {
        let s = self.streams.get(&stream).ok_or(400u32)?;
        let captured = |other: &Stream| other.blocking && other.capture.is_some() && other.context == s.context;
        if is_default(stream) && self.streams.values().any(captured) {
            return Err(906);
        }
        Ok(s.capture.map_or(0, |c| if self.valid(c).is_ok() { 1 } else { 2 }))
    }

    pub fn begin_capture(&mut self, stream: usize, mode: i32) -> Result<(), Code> {
        if is_default(stream) {
            return Err(900);
        }
        if self.streams.get(&stream).ok_or(400u32)?.capture.is_some() {
            return Err(401);
        }
        let id = self.handle() as u64;
        let capture =
            Capture { origin: stream, mode, thread: std::thread::current().id(), invalid: false, nodes: Vec::new() };
        self.captures.insert(id, capture);
        if let Some(s) = self.streams.get_mut(&stream) {
            s.capture = Some(id);
            s.nodes.clear();
        }
        Ok(())
    }

    /// A stream joins a capture by waiting for one of its events.
    pub fn join_capture(
        &mut self,
        stream: usize,
        mine: Option<u64>,
        capture: u64,
        nodes: Vec<usize>,
    ) -> Result<(), Code> {
        if !self.captures.contains_key(&capture) {
            mine.into_iter().for_each(|mine| self.invalidate(mine));
            return Err(1);
        }
        if is_default(stream) {
            self.invalidate(capture);
            return Err(906);
        }
        if let Some(mine) = mine.filter(|m| *m != capture) {
            self.invalidate(mine);
            self.invalidate(capture);
            return Err(902);
        }
        self.valid(capture)?;
        if let Some(s) = self.streams.get_mut(&stream) {
            s.capture = Some(capture);
            s.nodes.extend(nodes);
        }
        Ok(())
    }

    /// Makes a node of work that was put on a captured stream.
    pub fn record(&mut self, stream: usize, mut task: Task) -> Result<(), Code> {
        let Some((id, after)) = self.streams.get(&stream).and_then(|s| Some((s.capture?, s.nodes.clone()))) else {
            return Err(400);
        };
        self.valid(id)?;
        if let Work::Free { base } = task.work
            && !self.blocks.get(&base).is_some_and(|b| b.graph)
        {
            return Err(1);
        }
        let Some(capture) = self.captures.get_mut(&id) else { return Err(901) };
        task.what += " in a graph";
        capture.nodes.push(Node { task, after });
        let node = capture.nodes.len() - 1;
        if let Some(s) = self.streams.get_mut(&stream) {
            s.nodes = vec![node];
        }
        Ok(())
    }

    pub fn end_capture(&mut self, stream: usize) -> Result<usize, Code> {
        let id = self.streams.get(&stream).ok_or(400u32)?.capture.ok_or(401u32)?;
        let Some(capture) = self.captures.get(&id) else { return Err(901) };
        if capture.mode != RELAXED && capture.thread != std::thread::current().id() {
            return Err(908);
        }
        if capture.origin != stream {
            return Err(903);
        }
        let Some(capture) = self.captures.remove(&id) else { return Err(901) };
        let mut reached = vec![false; capture.nodes.len()];
        let mut open = self.streams[&stream].nodes.clone();
        while let Some(n) = open.pop() {
            if !core::mem::replace(&mut reached[n], true) {
                open.extend(&capture.nodes[n].after);
            }
        }
        for s in self.streams.values_mut().filter(|s| s.capture == Some(id)) {
            s.capture = None;
            s.nodes.clear();
        }
        if capture.invalid {
            return Err(901);
        }
        if reached.contains(&false) {
            return Err(904);
        }
        let handle = self.handle();
        self.graphs.insert(handle, Graph { nodes: capture.nodes, instantiated: false });
        Ok(handle)
    }

    pub fn instantiate(&mut self, graph: usize) -> Result<usize, Code> {
        let graph = self.graphs.get_mut(&graph).ok_or(400u32)?;
        let allocates = graph.nodes.iter().any(|n| matches!(n.task.work, Work::Allocate { .. }));
        if allocates && core::mem::replace(&mut graph.instantiated, true) {
            return Err(801);
        }
        let nodes = graph.nodes.clone();
        let lanes = (self.handle() as Lane) << 32;
        let handle = self.handle();
        let executable = Executable { nodes, lanes, launches: 0, clock: Clock::default(), after: Vec::new() };
        self.executables.insert(handle, executable);
        Ok(handle)
    }

    pub fn launch_graph(&mut self, executable: usize, stream: usize) -> Result<(), Code> {
        let e = self.executables.get(&executable).ok_or(400u32)?;
        let (nodes, lanes, index) = (e.nodes.clone(), e.lanes, e.launches + 1);
        let (before, last) = (e.clock.clone(), e.after.clone());
        let unfreed = |n: &Node| match n.task.work {
            Work::Allocate { base } => self.blocks.get(&base).is_some_and(|b| b.alive && b.freed.is_none()),
            _ => false,
        };
        if nodes.iter().any(unfreed) {
            return Err(1);
        }
        if self.streams.get(&stream).ok_or(400u32)?.capture.is_some() {
            for n in &nodes {
                self.record(stream, n.task.clone())?;
            }
            return Ok(());
        }
        // Launches of one executable follow each other.
        let (mut clock, mut after) = self.front(stream)?;
        clock.join(&before);
        after.extend(last);
        let mut made: Vec<Made> = Vec::new();
        let (mut end, mut ends) = (clock.clone(), after.clone());
        for (i, n) in nodes.iter().enumerate() {
            self.check_memory(stream, &n.task);
            let (mut mine, mut front, mut behind) = (clock.clone(), clock.clone(), after.clone());
            for &d in &n.after {
                mine.join(&made[d].done);
                front.join(&made[d].front);
                behind.push(made[d].id);
            }
            let lane = lanes + i as Lane;
            let (id, at) = self.enqueue(lane, 2 * index, &mine, Some(&front), behind, &n.task);
            let front = match n.task.work {
                Work::Launch(_) => mine.clone(),
                // A mark, as of an event, may not keep two launches apart.
                Work::Nothing => front,
                _ => {
                    mine.add(at);
                    mine.clone()
                }
            };
            mine.add(at);
            end.join(&mine);
            ends.push(id);
            made.push(Made { id, done: mine, front });
        }
        if let Some(e) = self.executables.get_mut(&executable) {
            e.launches = index;
            e.clock = end.clone();
            e.after = ends.clone();
        }
        self.go_on(stream, &end, &ends);
        self.put(stream, Task::new(Work::Nothing, Vec::new(), "cuGraphLaunch"))
    }
}
