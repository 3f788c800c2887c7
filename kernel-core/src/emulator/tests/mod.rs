//! Hand-written kernels in the style of lowered code: each detector against a kernel that has the defect, and against
//! its twin that has not.
//!
//! The kernels are `unsafe fn(&[u64])`, as lowered code is. Their accesses keep to the regions of their launch, or the
//! emulated SM stops them: `Launch::run` says why a launch is sound.
#![allow(clippy::result_large_err, reason = "a launch fails once")]
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "the body of a kernel is unsafe as a whole, as that of lowered code: steps of the device library"
)]

mod asynchronous;
mod atomics;
mod banks;
mod circular_buffer;
mod cluster;
mod cluster_circular_buffer;
mod composed;
mod divergence;
mod in_flight;
mod memory;
mod orders;
mod proxies;
mod races;
mod readers;
mod results;
mod schedule;
mod tensor;
mod watch;

use super::{Failure, Kind, Options, Program, Region, Report, Shape, launch};

type Run = unsafe fn(&[u64]);

/// A launch: its shape and the memory that it may touch. The argument words are the addresses of the buffers, then
/// `scalars`.
struct Launch<'a> {
    threads: u32,
    shared: u32,
    grid: u64,
    ctas: u32,
    regions: Vec<Region>,
    scalars: Vec<u64>,
    options: Options,
    registers: u32,
    pdl: Option<&'static [usize]>,
    buffers: std::marker::PhantomData<&'a mut ()>,
}

fn program(threads: u32, shared: u32) -> Launch<'static> {
    Launch {
        threads,
        shared,
        grid: 1,
        ctas: 1,
        regions: Vec::new(),
        scalars: Vec::new(),
        options: Options::default(),
        registers: 128,
        pdl: None,
        buffers: std::marker::PhantomData,
    }
}

impl<'a> Launch<'a> {
    fn grid(mut self, grid: u64) -> Self {
        self.grid = grid;
        self
    }

    fn ctas(mut self, ctas: u32) -> Self {
        self.ctas = ctas;
        self
    }

    fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    fn registers(mut self, registers: u32) -> Self {
        self.registers = registers;
        self
    }

    /// May begin before the launch in front has ended, and read these buffers.
    fn pdl(mut self, buffers: &'static [usize]) -> Self {
        self.pdl = Some(buffers);
        self
    }

    fn scalar(mut self, v: u64) -> Self {
        self.scalars.push(v);
        self
    }

    fn region<T>(mut self, start: *const T, len: usize, mutable: bool, initialized: bool) -> Self {
        let name = format!("p{}", self.regions.len());
        let bytes = (len * size_of::<T>()) as u64;
        self.regions.push(Region {
            start: start as u64,
            bytes,
            mutable,
            initialized,
            pdl: false,
            name,
            element: size_of::<T>() as u32,
        });
        self
    }

    fn read<T>(self, data: &'a [T]) -> Self {
        self.region(data.as_ptr(), data.len(), false, true)
    }

    fn write<T>(self, data: &'a mut [T]) -> Self {
        self.region(data.as_mut_ptr(), data.len(), true, true)
    }

    /// Memory that counts as not initialized.
    fn fresh<T>(self, data: &'a mut [T]) -> Self {
        self.region(data.as_mut_ptr(), data.len(), true, false)
    }

    fn run(mut self, run: Run) -> Result<Report, Failure> {
        for &i in self.pdl.into_iter().flatten() {
            self.regions[i].pdl = true;
        }
        let program = Program { name: "a test", run, registers: self.registers, pdl: self.pdl.is_some() };
        let words: Vec<u64> = self.regions.iter().map(|r| r.start).chain(self.scalars).collect();
        let shape =
            Shape { threads: self.threads, shared_bytes: self.shared, grid: [self.grid, 1, 1], ctas: self.ctas };
        // SAFETY: the regions are buffers that the launch borrows, mutably where they are written, and all that the
        // machine lets a kernel reach: none has an unknown extent. The tensor maps of the argument words are of the
        // tests' own.
        unsafe { launch(program, shape, &words, &self.regions, &self.options) }
    }

    #[track_caller]
    fn passes(self, run: Run) -> Report {
        self.run(run).unwrap_or_else(|f| panic!("{f}"))
    }

    #[track_caller]
    fn fails(self, run: Run, kind: Kind, site: u32) -> Failure {
        let f = self.run(run).expect_err("the kernel has a defect");
        assert_eq!((f.kind, f.site), (kind, site), "{f}");
        f
    }
}

/// The matrix descriptor of a tile at `start`: rows of 128 bytes along `k`, swizzled.
fn tile(start: u32) -> u64 {
    (start as u64 >> 4) | 1 << 16 | 64 << 32 | 1 << 62
}
