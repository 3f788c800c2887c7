//! The objects that the threads of a random program share, and how each step uses them.

use super::driver;
use super::hand_made;
use super::owners::{Blocked, Owned, brief};
use super::programs::Step;
use core::ffi::c_void;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tilewright_model_driver::{HandOver, Model};
use tilewright_runtime::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor, DlpackTensor};
use tilewright_runtime::{
    Buffer, Event, ExternalSlice, ExternalSliceMut, Graph, KernelDesc, LaunchOptions, Pdl, Runtime, Stream,
};

pub const BUFFERS: usize = 5;
/// The first one is the default stream.
pub const STREAMS: usize = 4;
pub const EVENTS: usize = 2;
pub const GRAPHS: usize = 2;

const LEN: usize = 33;

type Done<T = ()> = Result<T, String>;

fn text(e: tilewright_runtime::Error) -> String {
    e.to_string()
}

/// Shared by the threads, which skip a step rather than wait for each other.
struct Slot<T> {
    value: RwLock<Option<T>>,
    seen: Mutex<HandOver>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot { value: RwLock::new(None), seen: Mutex::default() }
    }
}

/// The next owner of a slot goes on after all its previous owners, as with any lock.
struct Taken<'a, G>(Option<G>, &'a Model, &'a Mutex<HandOver>);

impl<'a, G> Taken<'a, G> {
    fn new(guard: G, model: &'a Model, seen: &'a Mutex<HandOver>) -> Self {
        model.accept(&seen.lock().unwrap_or_else(PoisonError::into_inner));
        Taken(Some(guard), model, seen)
    }

    fn get(&mut self) -> &mut G {
        self.0.as_mut().expect("a guard")
    }
}

impl<G> Drop for Taken<'_, G> {
    fn drop(&mut self) {
        self.1.add_to(&mut self.2.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.take();
    }
}

type Shared<'a, T> = Taken<'a, RwLockReadGuard<'a, Option<T>>>;
type Alone<'a, T> = Taken<'a, RwLockWriteGuard<'a, Option<T>>>;

impl<T> Slot<T> {
    fn shared<'a>(&'a self, model: &'a Model) -> Option<Shared<'a, T>> {
        Some(Taken::new(self.value.try_read().ok()?, model, &self.seen))
    }

    fn alone<'a>(&'a self, model: &'a Model) -> Option<Alone<'a, T>> {
        Some(Taken::new(self.value.try_write().ok()?, model, &self.seen))
    }
}

struct Held {
    buffer: Buffer<f32>,
    /// All elements, where that is known.
    value: Option<f32>,
    /// The last use, in ordered programs.
    last: Option<Event>,
}

/// A stream. One that the runtime does not own is destroyed after its name.
struct Lane {
    stream: Stream,
    owned: Option<Owned>,
}

struct Recorded {
    graph: Graph,
    x: Buffer<f32>,
    y: Buffer<f32>,
    /// The value that a replay leaves in `y`.
    value: f32,
    replayed: bool,
    last: Option<Event>,
}

pub struct World {
    model: Model,
    rt: Runtime,
    kernel: &'static KernelDesc,
    pdl: &'static KernelDesc,
    ordered: bool,
    context: usize,
    buffers: [Slot<Held>; BUFFERS],
    lanes: [Slot<Lane>; STREAMS],
    events: [Slot<Event>; EVENTS],
    graphs: [Slot<Recorded>; GRAPHS],
    /// A capture by someone else.
    blocked: Slot<Blocked>,
    /// The stream on which another framework allocates and frees its tensors. No capture blocks it.
    others: Owned,
}

impl World {
    pub fn new(model: &Model, rt: Runtime, kernel: &'static KernelDesc, ordered: bool) -> World {
        let pdl = hand_made::add_pdl();
        model.register(pdl);
        let mut context = core::ptr::null_mut();
        // SAFETY: room for the handle.
        unsafe { driver::retain_context(&mut context, 0) };
        let others = Owned::new(&rt, 1).expect("a context and a stream");
        let world = World {
            model: model.clone(),
            rt,
            kernel,
            pdl,
            ordered,
            context: context as usize,
            buffers: Default::default(),
            lanes: Default::default(),
            events: Default::default(),
            graphs: Default::default(),
            blocked: Slot::default(),
            others,
        };
        let first = Lane { stream: world.rt.stream().clone(), owned: None };
        *world.lanes[0].value.write().expect("a new lock") = Some(first);
        world
    }

    /// Drops everything, the runtime last.
    pub fn end(mut self) {
        drop(self.blocked.value.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        for slot in &mut self.graphs {
            slot.value.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        }
        for slot in &mut self.lanes {
            if let Some(lane) = slot.value.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
                drop_lane(&self.rt, lane);
            }
        }
        drop((self.events, self.buffers, self.rt));
        drop(self.others);
        // SAFETY: retained above.
        unsafe { driver::release_context(0) };
    }

    /// Lets a stream wait for the last use of a buffer.
    fn before(&self, stream: &Stream, last: &Option<Event>) -> Done {
        match last.as_ref().filter(|_| self.ordered) {
            Some(event) => stream.wait(event).map_err(text),
            None => Ok(()),
        }
    }

    /// Marks the last use of a buffer.
    fn after(&self, stream: &Stream) -> Done<Option<Event>> {
        if !self.ordered {
            return Ok(None);
        }
        let event = Event::new(&self.rt).map_err(text)?;
        event.record(stream).map_err(text)?;
        Ok(Some(event))
    }

    fn put(&self, slot: usize, made: tilewright_runtime::Result<Buffer<f32>>, value: Option<f32>) -> Done {
        let buffer = made.map_err(text)?;
        let last = self.after(self.rt.stream())?;
        if let Some(mut to) = self.buffers[slot].alone(&self.model) {
            **to.get() = Some(Held { buffer, value, last });
        }
        Ok(())
    }

    /// Does something with one buffer.
    fn with(&self, slot: usize, run: impl FnOnce(&mut Held) -> Done) -> Done {
        let Some(mut held) = self.buffers[slot].alone(&self.model) else { return Ok(()) };
        held.get().as_mut().map_or(Ok(()), run)
    }

    /// The same on the default stream, on which the runtime orders it itself.
    fn on_default(&self, slot: usize, run: impl FnOnce(&mut Held) -> Done) -> Done {
        self.with(slot, |held| {
            run(held)?;
            held.last = self.after(self.rt.stream())?;
            Ok(())
        })
    }

    /// Does something with a stream.
    fn on(&self, lane: usize, run: impl FnOnce(&Stream) -> Done) -> Done {
        let Some(mut lane) = self.lanes[lane].shared(&self.model) else { return Ok(()) };
        lane.get().as_ref().map_or(Ok(()), |l| run(&l.stream))
    }

    fn event(&self, event: usize, run: impl FnOnce(&Event) -> Done) -> Done {
        let Some(mut event) = self.events[event].shared(&self.model) else { return Ok(()) };
        event.get().as_ref().map_or(Ok(()), run)
    }

    /// Work on a stream that reads one buffer and writes another. Its result is the written value.
    fn work(
        &self,
        lane: usize,
        from: usize,
        to: usize,
        run: impl FnOnce(&Stream, &Held, &mut Held) -> Done<Option<f32>>,
    ) -> Done {
        if from == to {
            return Ok(());
        }
        let both = (self.buffers[from].alone(&self.model), self.buffers[to].alone(&self.model));
        let (Some(mut x), Some(mut y)) = both else { return Ok(()) };
        let (Some(x), Some(y)) = (x.get().as_mut(), y.get().as_mut()) else { return Ok(()) };
        self.on(lane, |stream| {
            self.before(stream, &x.last)?;
            self.before(stream, &y.last)?;
            y.value = run(stream, x, y)?;
            x.last = self.after(stream)?;
            y.last = self.after(stream)?;
            Ok(())
        })
    }

    fn read(&self, held: &Held, read: tilewright_runtime::Result<Vec<f32>>) -> Done {
        let read = read.map_err(text)?;
        match held.value.filter(|_| self.ordered) {
            Some(v) if read != vec![v; LEN] => Err(format!("read {read:?}, wrote {v}")),
            _ => Ok(()),
        }
    }

    pub fn step(&self, step: &Step) -> Done {
        let (rt, k) = (&self.rt, self.kernel);
        let plus = |by: f32, held: &Held| held.value.map(|v| v + by);
        match *step {
            Step::Zeros(b) => self.put(b, rt.zeros(LEN), Some(0.0)),
            Step::Alloc(b) => self.put(b, rt.alloc(LEN), None),
            Step::FromSlice(b, v) => self.put(b, rt.from_slice(&[f32::from(v); LEN]), Some(f32::from(v))),
            Step::CopyFrom(b, v) => self.on_default(b, |held| {
                held.value = Some(f32::from(v));
                held.buffer.copy_from(&[f32::from(v); LEN]).map_err(text)
            }),
            Step::FillZero(b) => self.on_default(b, |held| {
                held.value = Some(0.0);
                held.buffer.fill_zero().map_err(text)
            }),
            Step::CopyBuffer { to, from } => self.work(0, from, to, |_, x, y| {
                y.buffer.copy_from_buffer(&x.buffer).map_err(text)?;
                Ok(x.value)
            }),
            Step::Read(b) => self.with(b, |held| self.read(held, held.buffer.to_vec())),
            Step::ReadOn(b, s) => self.with(b, |held| {
                self.on(s, |stream| {
                    self.before(stream, &held.last)?;
                    self.read(held, held.buffer.to_vec_on(stream))
                })
            }),
            Step::DropBuffer(b) => {
                let taken = self.buffers[b].alone(&self.model).and_then(|mut slot| slot.get().take());
                drop(taken);
                Ok(())
            }
            Step::NewStream(s) => {
                self.new_lane(s, |rt| Ok(Lane { stream: Stream::new(rt).map_err(text)?, owned: None }))
            }
            Step::BorrowStream(s) => self.new_lane(s, borrowed),
            Step::DropStream(s) => {
                if let Some(mut slot) = self.lanes[s].alone(&self.model).filter(|_| s > 0)
                    && let Some(lane) = slot.get().take()
                {
                    drop_lane(rt, lane);
                }
                Ok(())
            }
            Step::WaitFor(a, b) => self.on(a, |a| self.on(b, |b| a.wait_for(b).map_err(text))),
            Step::Synchronize(s) => self.on(s, |s| s.synchronize().map_err(text)),
            Step::IsDone(s) => self.on(s, |s| s.is_done().map(|_| ()).map_err(text)),
            Step::NewEvent(e) => {
                let event = Event::new(rt).map_err(text)?;
                // An event is waited for once it was recorded.
                event.record(rt.stream()).map_err(text)?;
                if let Some(mut slot) = self.events[e].alone(&self.model) {
                    **slot.get() = Some(event);
                }
                Ok(())
            }
            Step::Record { event, stream } => {
                self.event(event, |e| self.on(stream, |stream| e.record(stream).map_err(text)))
            }
            Step::Wait { stream, event } => {
                self.event(event, |e| self.on(stream, |stream| stream.wait(e).map_err(text)))
            }
            Step::SynchronizeEvent(e) => self.event(e, |e| e.synchronize().map_err(text)),
            Step::AskEvent(e) => self.event(e, |e| e.is_done().map(|_| ()).map_err(text)),
            Step::DropEvent(e) => {
                let taken = self.events[e].alone(&self.model).and_then(|mut slot| slot.get().take());
                drop(taken);
                Ok(())
            }
            Step::Launch { stream, from, to, pdl } => self.work(stream, from, to, |s, x, y| {
                // SAFETY: the kernel waits before it reads.
                let early = if pdl { unsafe { Pdl::allowed() } } else { Pdl::default() };
                let options = LaunchOptions::new().pdl(early);
                let kernel = if pdl { self.pdl } else { k };
                rt.launch_with(s, hand_made::call(kernel, &x.buffer, &mut y.buffer), &options).map_err(text)?;
                Ok(plus(1.0, x))
            }),
            Step::Prepared { stream, from, to } => self.work(stream, from, to, |s, x, y| {
                let call = hand_made::call(k, &x.buffer, &mut y.buffer);
                let mut launcher = rt.prepare_with(s, call, &LaunchOptions::default()).map_err(text)?;
                launcher.run().and_then(|()| launcher.run()).map_err(text)?;
                Ok(plus(1.0, x))
            }),
            Step::Foreign { stream, from, to } => self.work(stream, from, to, |s, x, y| {
                // SAFETY: the buffers are alive, and used by nobody else in this step.
                let (fx, mut fy) = unsafe {
                    (
                        ExternalSlice::from_raw(rt, x.buffer.addr() as *const f32, LEN).map_err(text)?,
                        ExternalSliceMut::from_raw(rt, y.buffer.addr() as *mut f32, LEN).map_err(text)?,
                    )
                };
                rt.launch_on(s, hand_made::call(k, &fx, &mut fy)).map_err(text)?;
                Ok(plus(1.0, x))
            }),
            Step::Scratch { stream, from, to, zeroed: false } => self.work(stream, from, to, |s, x, y| {
                let mut scratch = s.scratch::<f32>(LEN).map_err(text)?;
                rt.launch_on(s, hand_made::call(k, &x.buffer, &mut scratch)).map_err(text)?;
                rt.launch_on(s, hand_made::call(k, &scratch, &mut y.buffer)).map_err(text)?;
                Ok(plus(2.0, x))
            }),
            Step::OthersScratch { stream, from, to } => self.work(stream, from, to, |s, x, y| {
                let mut scratch = rt.stream().scratch::<f32>(LEN).map_err(text)?;
                rt.launch_on(s, hand_made::call(k, &x.buffer, &mut scratch)).map_err(text)?;
                rt.launch_on(s, hand_made::call(k, &scratch, &mut y.buffer)).map_err(text)?;
                Ok(plus(2.0, x))
            }),
            Step::Scratch { stream, from, to, zeroed: true } => self.work(stream, from, to, |s, _, y| {
                // SAFETY: it is only read.
                let zeros = unsafe { s.zeroed_scratch::<f32>(LEN) }.map_err(text)?;
                rt.launch_on(s, hand_made::call(k, &zeros, &mut y.buffer)).map_err(text)?;
                Ok(Some(1.0))
            }),
            Step::Tensor { stream, to } => self.with(to, |y| {
                self.on(stream, |s| {
                    self.before(s, &y.last)?;
                    y.value = None;
                    self.from_tensor(s, y)?;
                    y.last = self.after(s)?;
                    y.value = Some(1.0);
                    Ok(())
                })
            }),
            Step::Tune { stream, from, to } => self.work(stream, from, to, |s, x, y| {
                if x.value.is_some() {
                    rt.tune(s, hand_made::call(k, &x.buffer, &mut y.buffer)).map_err(text)?;
                }
                // Outputs are restored.
                Ok(y.value)
            }),
            Step::Capture { graph, stream, scratch, dropped, joins } => {
                self.capture(graph, stream, scratch, dropped, joins)
            }
            Step::Replay { graph, stream } => {
                let Some(mut slot) = self.graphs[graph].alone(&self.model) else { return Ok(()) };
                let Some(r) = slot.get().as_mut() else { return Ok(()) };
                self.on(stream, |s| {
                    self.before(s, &r.last)?;
                    // SAFETY: the graph's buffers are kept with it, and are used by nobody else.
                    unsafe { r.graph.replay(s) }.map_err(text)?;
                    r.replayed = true;
                    r.last = self.after(s)?;
                    Ok(())
                })
            }
            Step::DropGraph(g) => {
                let Some(mut slot) = self.graphs[g].alone(&self.model) else { return Ok(()) };
                let Some(r) = slot.get().take() else { return Ok(()) };
                let read = r.y.to_vec().map_err(text)?;
                let want = if r.replayed { r.value } else { 0.0 };
                drop((r.graph, r.x));
                if self.ordered && read != vec![want; LEN] {
                    return Err(format!("a graph left {read:?}, not {want}"));
                }
                Ok(())
            }
            Step::Brief { scratch } => brief(rt, k, scratch).map_err(text),
            Step::Block => {
                let Some(mut slot) = self.blocked.alone(&self.model) else { return Ok(()) };
                let held = slot.get().take();
                **slot.get() = if held.is_some() { None } else { Blocked::new(rt) };
                Ok(())
            }
            Step::Again => {
                let again = Runtime::cuda(0).map_err(text)?;
                let (x, mut y) = (again.from_slice(&[4.0f32; LEN]).map_err(text)?, again.zeros(LEN).map_err(text)?);
                again.launch(hand_made::call(k, &x, &mut y)).map_err(text)?;
                let read = y.to_vec().map_err(text)?;
                if self.ordered && read != [5.0; LEN] { Err(format!("read {read:?}, not 5")) } else { Ok(()) }
            }
            Step::Fail(skip) => {
                self.model.fail(None, skip, 2);
                Ok(())
            }
        }
    }

    fn new_lane(&self, s: usize, make: impl FnOnce(&Runtime) -> Done<Lane>) -> Done {
        let Some(mut slot) = self.lanes[s].alone(&self.model) else { return Ok(()) };
        if slot.get().is_none() {
            **slot.get() = Some(make(&self.rt)?);
        }
        Ok(())
    }

    /// `y = x + 1`, where `x` is a tensor of zeros that another framework allocates, and frees when it is given back.
    fn from_tensor(&self, s: &Stream, y: &mut Held) -> Done {
        unsafe extern "C" fn delete(tensor: *mut DLManagedTensor) {
            // SAFETY: made below, and used by nobody any more.
            let tensor = unsafe { Box::from_raw(tensor) };
            // SAFETY: allocated below. The stream is destroyed after all runtimes.
            unsafe { driver::free(tensor.dl_tensor.data as u64, tensor.manager_ctx) };
        }
        let (mut data, mut shape) = (0, [LEN as i64]);
        // SAFETY: the context is retained by `new`, and there is room for the address.
        let made = unsafe {
            driver::set_context(self.context as *mut c_void);
            driver::allocate(&mut data, LEN * size_of::<f32>(), self.others.raw())
        };
        if made != 0 {
            return Err(format!("the other framework gets no memory: {made}"));
        }
        // SAFETY: just allocated. If it fails, the elements are NaNs. The runtime does not wait for this work.
        unsafe {
            driver::fill(data, 0, LEN * size_of::<f32>(), self.others.raw());
            while driver::synchronize(self.others.raw()) != 0 {}
        }
        let tensor = Box::new(DLManagedTensor {
            dl_tensor: DLTensor {
                data: data as *mut c_void,
                device: DLDevice { device_type: 2, device_id: 0 },
                ndim: 1,
                dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
                shape: shape.as_mut_ptr(),
                strides: core::ptr::null_mut(),
                byte_offset: 0,
            },
            manager_ctx: self.others.raw(),
            deleter: Some(delete),
        });
        // SAFETY: a valid tensor, which is consumed once.
        let tensor = unsafe { DlpackTensor::from_managed(&self.rt, Box::into_raw(tensor)) }.map_err(text)?;
        s.wait_for(self.rt.stream()).map_err(text)?;
        let x = tensor.slice::<f32>().map_err(text)?;
        self.rt.launch_on(s, hand_made::call(self.kernel, x, &mut y.buffer)).map_err(text)
    }

    fn capture(&self, graph: usize, stream: usize, scratch: bool, dropped: usize, joins: Option<usize>) -> Done {
        let (Some(mut slot), Some(mut lane)) =
            (self.graphs[graph].alone(&self.model), self.lanes[stream].alone(&self.model))
        else {
            return Ok(());
        };
        let Some(lane) = lane.get().as_ref().filter(|_| stream > 0 && slot.0.as_ref().is_some_and(|s| s.is_none()))
        else {
            return Ok(());
        };
        let (s, rt, k) = (&lane.stream, &self.rt, self.kernel);
        let dropped = self.buffers[dropped].alone(&self.model).and_then(|mut slot| slot.get().take());
        // A stream of another owner is ordered by that owner.
        let joins = joins
            .filter(|joins| *joins > 0 && !self.ordered)
            .and_then(|joins| self.lanes[joins].alone(&self.model))
            .and_then(|mut slot| slot.get().take_if(|lane| lane.owned.is_none()));
        let (x, mut y) = (rt.from_slice(&[7.0f32; LEN]).map_err(text)?, rt.zeros(LEN).map_err(text)?);
        if self.ordered {
            s.wait_for(rt.stream()).map_err(text)?;
        }
        let graph = s.capture(|s| {
            if let Some(lane) = joins {
                lane.stream.wait_for(s)?;
            }
            drop(dropped);
            if !scratch {
                return rt.launch_on(s, hand_made::call(k, &x, &mut y));
            }
            let mut scratch = s.scratch::<f32>(LEN)?;
            rt.launch_on(s, hand_made::call(k, &x, &mut scratch))?;
            rt.launch_on(s, hand_made::call(k, &scratch, &mut y))
        });
        let value = if scratch { 9.0 } else { 8.0 };
        let graph = graph.map_err(text)?;
        let last = self.after(rt.stream())?;
        **slot.get() = Some(Recorded { graph, x, y, value, replayed: false, last });
        Ok(())
    }
}

/// A stream that the runtime does not own.
fn borrowed(rt: &Runtime) -> Done<Lane> {
    let owned = Owned::new(rt, 1)?;
    // SAFETY: a lane keeps the stream until nobody names it.
    let stream = unsafe { Stream::from_raw(rt, owned.raw()) }.map_err(text)?;
    Ok(Lane { stream, owned: Some(owned) })
}

/// An owner of a stream orders its work before the default stream, and then destroys it.
fn drop_lane(rt: &Runtime, lane: Lane) {
    if lane.owned.is_some() {
        // Few calls of the driver fail. The default stream cannot wait while it is blocked.
        let ordered = (0..8).any(|_| rt.stream().wait_for(&lane.stream).is_ok() || lane.stream.synchronize().is_ok());
        assert!(ordered, "an owner can order its stream");
    }
}
