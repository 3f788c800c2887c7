//! The search on a real device: saves and restores outputs, compares them, and times runs from a cold cache.

use super::search::Bench;
use super::validate;
use crate::captures::KeptOut;
use crate::cuda::Cuda;
use crate::cuda::sys::CUstream;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::runtime::Runtime;
use crate::stream::Stream;
use core::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tilewright_core::{DType, DeviceId, Element, SliceMutArg, ViewMutArg};

/// Memory that a candidate writes: saved before the search, restored between runs, compared after each candidate's.
/// [`Tunable`](crate::tuning::Tunable) has an example.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    pub(crate) addr: u64,
    pub(crate) device: DeviceId,
    pub(crate) bytes: u64,
    pub(crate) dtype: DType,
    /// Results may differ by what tf32 leaves out.
    pub(crate) tf32: bool,
    /// Scratch is restored but not compared.
    pub(crate) compare: bool,
    pub(crate) borrow: PhantomData<&'a mut ()>,
}

impl<'a> Output<'a> {
    /// An argument that is written.
    ///
    /// # Safety
    /// While a search such as [`Runtime::select_among`] has this value, nobody uses the memory but the candidates that
    /// it runs.
    ///
    /// The memory lives as long as the value:
    /// ```compile_fail,E0597
    /// use tilewright_runtime::tuning::Output;
    /// use tilewright_runtime::AsSliceMut;
    /// let output;
    /// {
    ///     let mut y = [0f32; 4];
    ///     // SAFETY: nobody else has it.
    ///     output = unsafe { Output::new(&(&mut y).as_slice_mut_arg()) };
    /// }
    /// println!("{output:?}");
    /// ```
    pub unsafe fn new<T: Element>(arg: &SliceMutArg<'a, T>) -> Output<'a> {
        Output {
            addr: arg.addr(),
            device: arg.device(),
            bytes: (arg.len() * size_of::<T>()) as u64,
            dtype: T::DTYPE,
            tf32: false,
            compare: true,
            borrow: PhantomData,
        }
    }

    /// A view that is written. Elements between its own are saved and restored, too.
    ///
    /// # Safety
    /// As of [`Output::new`], also for the elements between the view's.
    ///
    /// # Examples
    /// ```
    /// use tilewright::tuning::Output;
    /// use tilewright::{AsViewMut, Buffer, Runtime};
    ///
    /// let mut y = Buffer::<f32>::zeros(&Runtime::cpu(), 6)?;
    /// // SAFETY: nothing else has it.
    /// let output = unsafe { Output::of_view(&y.view_mut([2, 3])?.as_view_mut_arg()) };
    /// let output = output.without_comparison(); // candidates may round differently
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn of_view<T: Element, const R: usize>(arg: &ViewMutArg<'a, T, R>) -> Output<'a> {
        let written = arg.as_view();
        Output {
            addr: written.addr(),
            device: written.device(),
            bytes: (written.span() * size_of::<T>()) as u64,
            dtype: T::DTYPE,
            tf32: false,
            compare: true,
            borrow: PhantomData,
        }
    }

    /// The same memory, saved and restored, and not compared: candidates whose results differ are all right.
    pub fn without_comparison(self) -> Output<'a> {
        Output { compare: false, ..self }
    }
}

/// Times of one `Bench::time`: at least this many, and no more than fill the time.
const MIN_SAMPLES: usize = 3;
const MAX_SAMPLES: usize = 20;
const ROUND: Duration = Duration::from_millis(10);

pub(crate) struct Measure<'a> {
    rt: &'a Runtime,
    stream: &'a Stream,
    ids: Vec<&'a str>,
    prepare: &'a mut dyn FnMut(usize) -> Result<()>,
    run: &'a mut dyn FnMut(usize) -> Result<()>,
    outputs: Vec<Saved<'a>>,
    /// Twice the L2 cache, overwritten before each sample.
    flush: Option<DeviceMemory>,
    estimates: Vec<Option<Duration>>,
    /// A copy in a graph would read the saved outputs on each replay. Dropped last, behind these.
    _uncaptured: Option<KeptOut<'a>>,
}

struct Saved<'a> {
    output: Output<'a>,
    copy: Backup,
    reference: Vec<Vec<u8>>,
}

enum Backup {
    Host(Vec<u8>),
    Device(DeviceMemory),
}

impl<'a> Measure<'a> {
    /// Saves the outputs. Errors: out of memory for the copies; [`Error::StreamMismatch`] where the stream is of
    /// another runtime, or an output lives elsewhere.
    ///
    /// # Safety
    /// During the life of the result nobody uses the outputs but `run`.
    pub(crate) unsafe fn new(
        rt: &'a Runtime,
        stream: &'a Stream,
        ids: Vec<&'a str>,
        outputs: &[Output<'a>],
        prepare: &'a mut dyn FnMut(usize) -> Result<()>,
        run: &'a mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Self> {
        let of_runtime = match (rt.cuda_context(), stream.as_cuda()) {
            (Some(cuda), Some(s)) => Arc::ptr_eq(cuda, &s.cuda),
            (None, None) => true,
            _ => false,
        };
        let here = |device: DeviceId| device.takes_work(rt.device().id, stream.as_raw() as u64);
        if !of_runtime {
            return Err(Error::StreamMismatch { what: "stream" });
        }
        if !outputs.iter().all(|o| here(o.device)) {
            return Err(Error::StreamMismatch { what: "output" });
        }
        let cuda = stream.as_cuda();
        let uncaptured = cuda.map(|s| s.queue.stays_uncaptured(&s.cuda, "tuning")).transpose()?;
        let mut saved = Vec::new();
        if let Some(s) = cuda {
            let _entered = s.cuda.enter()?;
            s.behind_allocations()?;
        }
        for &output in outputs.iter().filter(|o| o.bytes > 0) {
            let copy = match stream.as_cuda() {
                Some(s) => {
                    let capture = s.capture();
                    let memory = DeviceMemory::new(&s.cuda, s.raw.0, output.bytes)?;
                    s.cuda.copy(memory.ptr, output.addr, output.bytes, s.raw.0)?;
                    s.mark(capture);
                    Backup::Device(memory)
                }
                // SAFETY: the output is on the host, and by this function's contract nobody writes it meanwhile.
                None => Backup::Host(
                    unsafe { core::slice::from_raw_parts(output.addr as *const u8, output.bytes as usize) }.to_vec(),
                ),
            };
            saved.push(Saved { output, copy, reference: Vec::new() });
        }
        let flush = match stream.as_cuda() {
            Some(s) => {
                Some(DeviceMemory::new(&s.cuda, s.raw.0, 2 * u64::from(rt.device().limits.l2_bytes).max(16 << 20))?)
            }
            None => None,
        };
        let estimates = vec![None; ids.len()];
        Ok(Measure { rt, stream, ids, prepare, run, outputs: saved, flush, estimates, _uncaptured: uncaptured })
    }

    /// Sampled pieces of an output as they are now.
    fn read(&self, output: Output<'_>) -> Result<Vec<Vec<u8>>> {
        validate::sample(output.bytes)
            .into_iter()
            .map(|(offset, bytes)| {
                let at = output.addr + offset;
                let Some(s) = self.stream.as_cuda() else {
                    // SAFETY: within the output, which `new` has found on the host; its caller vouches for it.
                    return Ok(unsafe { core::slice::from_raw_parts(at as *const u8, bytes as usize) }.to_vec());
                };
                let mut piece = Box::new_uninit_slice(bytes as usize);
                s.queue.download(&s.cuda, &mut piece, at)?;
                // SAFETY: `download` has written all of it.
                Ok(unsafe { piece.assume_init() }.into_vec())
            })
            .collect()
    }

    /// Enqueues one run between two events, which resolve 32 ns on an H200.
    fn sample(&mut self, candidate: usize) -> Result<(Event, Event)> {
        self.restore()?;
        if let (Some(s), Some(flush)) = (self.stream.as_cuda(), &self.flush) {
            s.cuda.fill_zero(flush.ptr, flush.bytes, s.raw.0)?;
        }
        let (start, end) = (Event::new(self.rt)?, Event::new(self.rt)?);
        start.record(self.stream)?;
        (self.run)(candidate)?;
        end.record(self.stream)?;
        Ok((start, end))
    }

    fn estimate(&mut self, candidate: usize) -> Result<Duration> {
        if let Some(e) = self.estimates[candidate] {
            return Ok(e);
        }
        let (start, end) = self.sample(candidate)?;
        let e = end.since(&start)?.max(Duration::from_nanos(100));
        self.estimates[candidate] = Some(e);
        Ok(e)
    }
}

impl Bench for Measure<'_> {
    fn count(&self) -> usize {
        self.ids.len()
    }

    fn id(&self, candidate: usize) -> String {
        self.ids[candidate].to_string()
    }

    fn prepare(&mut self, candidate: usize) -> Result<()> {
        (self.prepare)(candidate)
    }

    fn restore(&mut self) -> Result<()> {
        for s in &self.outputs {
            match (&s.copy, self.stream.as_cuda()) {
                (Backup::Device(m), Some(c)) => {
                    let capture = c.capture();
                    c.cuda.copy(s.output.addr, m.ptr, s.output.bytes, c.raw.0)?;
                    c.mark(capture);
                }
                // SAFETY: as many bytes were saved from there, and by the contract of `new` nobody uses them meanwhile.
                (Backup::Host(v), _) => unsafe {
                    core::ptr::copy_nonoverlapping(v.as_ptr(), s.output.addr as *mut u8, v.len())
                },
                (Backup::Device(_), None) => {}
            }
        }
        Ok(())
    }

    fn run(&mut self, candidate: usize) -> Result<()> {
        (self.run)(candidate)?;
        self.stream.synchronize()
    }

    fn keep_reference(&mut self) -> Result<()> {
        for i in 0..self.outputs.len() {
            if self.outputs[i].output.compare {
                self.outputs[i].reference = self.read(self.outputs[i].output)?;
            }
        }
        Ok(())
    }

    fn compare(&mut self) -> Result<Option<String>> {
        for s in self.outputs.iter().filter(|s| s.output.compare) {
            let now = self.read(s.output)?;
            let size = s.output.dtype.size() as u64;
            for (((offset, _), want), got) in validate::sample(s.output.bytes).iter().zip(&s.reference).zip(&now) {
                if let Some(wrong) =
                    validate::difference(s.output.dtype, s.output.tf32, (offset / size) as usize, want, got)
                {
                    return Ok(Some(wrong));
                }
            }
        }
        Ok(None)
    }

    fn time(&mut self, candidate: usize) -> Result<Vec<Duration>> {
        let about = self.estimate(candidate)?;
        let samples = (ROUND.as_nanos() / about.as_nanos().max(1)).clamp(MIN_SAMPLES as u128, MAX_SAMPLES as u128);
        // Enqueue all before waiting for any: the device stays busy, and launches hide behind the flush.
        let started = Instant::now();
        let mut events = Vec::new();
        for _ in 0..samples {
            events.push(self.sample(candidate)?);
            if self.stream.as_cuda().is_none() && events.len() >= MIN_SAMPLES && started.elapsed() > 5 * ROUND {
                break;
            }
        }
        events.iter().map(|(start, end)| end.since(start)).collect()
    }
}

/// Device memory for the time of a search.
struct DeviceMemory {
    cuda: Arc<Cuda>,
    stream: CUstream,
    ptr: u64,
    bytes: u64,
}

impl DeviceMemory {
    fn new(cuda: &Arc<Cuda>, stream: CUstream, bytes: u64) -> Result<Self> {
        Ok(DeviceMemory { ptr: cuda.alloc(bytes, stream)?, cuda: cuda.clone(), stream, bytes })
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        self.cuda.free(self.ptr, self.stream);
    }
}
