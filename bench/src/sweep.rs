//! The subject of a measurement: a kernel and its peers over a range of sizes.

use crate::axis::{Axis, Scale};
use crate::case::{Case, Failure, Work};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tilewright_runtime::Runtime;

/// The metric of the y axis of a figure. [`Metric::of`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Milliseconds of a launch.
    Time,
    /// Bytes moved in a second, in GB/s (10^9).
    Bandwidth,
    /// Floating-point operations in a second, in TFLOP/s (10^12).
    Throughput,
}

impl Metric {
    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Time => "ms",
            Metric::Bandwidth => "GB/s",
            Metric::Throughput => "TFLOP/s",
        }
    }

    /// The metric for a launch of `ms` milliseconds; `None` if the work is unknown.
    ///
    /// # Examples
    /// ```
    /// use tilewright_bench::{Metric, Work};
    ///
    /// let work = Work { bytes: 3_000_000, flops: 0 };
    /// assert_eq!(Metric::Bandwidth.of(0.5, work), Some(6.0));
    /// assert_eq!(Metric::Throughput.of(0.5, work), None);
    /// assert_eq!(Metric::Bandwidth.unit(), "GB/s");
    /// ```
    pub fn of(self, ms: f64, work: Work) -> Option<f64> {
        let rate = |count: u64, unit: f64| (count > 0).then(|| count as f64 / ms / unit);
        match self {
            Metric::Time => Some(ms),
            Metric::Bandwidth => rate(work.bytes, 1e6),
            Metric::Throughput => rate(work.flops, 1e9),
        }
    }
}

/// The name of the line of [`Sweep::copy_line`].
pub(crate) const COPY: &str = "copy";

type Prepare<'a> = Box<dyn Fn(&Runtime, u64) -> std::result::Result<Case<'a>, Failure> + 'a>;
type OfPoint<'a, T> = Box<dyn Fn(u64) -> T + 'a>;

pub(crate) struct Line<'a> {
    pub name: String,
    pub prepare: Prepare<'a>,
}

/// A kernel and its peers over a range of sizes: an x axis, lines, and the metric of the y axis. It is declared beside
/// the kernel, and measured by [`measure`](crate::measure) or [`main`](crate::main).
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime, tile_kernel};
/// use tilewright_bench::{Axis, Case, Metric, Settings, Sweep, Verdict, measure};
///
/// #[tile_kernel(tune(BLOCK = [1024], warps = [4]), grid = [cdiv(c.len(), BLOCK)])]
/// fn add<const BLOCK: usize>(a: &[f32], b: &[f32], c: &mut [f32]) {
///     let i = program_id(0) * BLOCK + arange(BLOCK);
///     store(c, i, load(a, i) + load(b, i));
/// }
///
/// let sweep = Sweep::new("vector addition", Axis::log("n", [1000, 10_000]))
///     .tag("dtype", "f32")
///     .extents(|n| vec![n])
///     .bytes(|n| 12 * n)
///     .flops(|n| n)
///     .y(Metric::Bandwidth)
///     .check_at([1, 77])
///     .line("tile", |rt, n| {
///         let (a, b) = (vec![1.0f32; n as usize], vec![2.0f32; n as usize]);
///         let state = (Buffer::from_slice(rt, &a)?, Buffer::from_slice(rt, &b)?, Buffer::zeros(rt, n as usize)?);
///         let launch = |rt: &Runtime, (a, b, c): &mut (Buffer<f32>, Buffer<f32>, Buffer<f32>)| {
///             Ok(rt.launch(add(&*a, &*b, c))?)
///         };
///         Ok(Case::new(state, launch, move |(_, _, c)| Ok(Verdict::equal(&c.to_vec()?, &vec![3.0; n as usize]))))
///     })
///     .copy_line();
/// let settings = Settings { rounds: 6, ..Settings::default() };
/// let report = measure(&Runtime::cpu(), "my kernels", &[sweep], &settings, &mut |_| {})?;
/// assert!(report.complete && report.all_right());
/// println!("{}", report.text());
/// # Ok::<(), tilewright_bench::Error>(())
/// ```
pub struct Sweep<'a> {
    pub(crate) name: String,
    pub(crate) axis: Axis,
    pub(crate) y: Metric,
    pub(crate) lines: Vec<Line<'a>>,
    pub(crate) copy: bool,
    /// The values of x at which results are checked without timing; those of the axis by default.
    pub(crate) checked: Option<Vec<u64>>,
    pub(crate) tags: BTreeMap<String, String>,
    extents: Option<OfPoint<'a, Vec<u64>>>,
    bytes: OfPoint<'a, u64>,
    flops: OfPoint<'a, u64>,
}

impl<'a> Sweep<'a> {
    /// A sweep without lines, whose y is the time. Names of sweeps tell them apart in a report.
    pub fn new(name: impl Into<String>, axis: Axis) -> Sweep<'a> {
        Sweep {
            name: name.into(),
            axis,
            y: Metric::Time,
            lines: vec![],
            copy: false,
            checked: None,
            tags: BTreeMap::new(),
            extents: None,
            bytes: Box::new(|_| 0),
            flops: Box::new(|_| 0),
        }
    }

    /// Sets the metric of the y axis.
    pub fn y(self, y: Metric) -> Sweep<'a> {
        Sweep { y, ..self }
    }

    /// Bytes that a launch must read and write at a value of x, each once.
    pub fn bytes(self, bytes: impl Fn(u64) -> u64 + 'a) -> Sweep<'a> {
        Sweep { bytes: Box::new(bytes), ..self }
    }

    /// Floating-point operations of a launch at a value of x, a multiply-add counting as two.
    pub fn flops(self, flops: impl Fn(u64) -> u64 + 'a) -> Sweep<'a> {
        Sweep { flops: Box::new(flops), ..self }
    }

    /// The whole size at a value of x, as rows and columns where x is the columns. Tables show it.
    pub fn extents(self, extents: impl Fn(u64) -> Vec<u64> + 'a) -> Sweep<'a> {
        Sweep { extents: Some(Box::new(extents)), ..self }
    }

    /// A fact for programs that read the report, such as the dtype.
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Sweep<'a> {
        self.tags.insert(key.into(), value.into());
        self
    }

    /// A line: `prepare` makes its data at a value of x. The other lines are compared with the first one. All lines of
    /// a point are in memory at once, and run in turn.
    pub fn line(
        mut self,
        name: impl Into<String>,
        prepare: impl Fn(&Runtime, u64) -> std::result::Result<Case<'a>, Failure> + 'a,
    ) -> Sweep<'a> {
        self.lines.push(Line { name: name.into(), prepare: Box::new(prepare) });
        self
    }

    /// A line called `copy`: a copy on the device that reads and writes as many bytes in all, which is the ceiling of a
    /// kernel that is limited by memory.
    pub fn copy_line(self) -> Sweep<'a> {
        Sweep { copy: true, ..self }
    }

    /// The values of x at which `--check` compares results with the references: small ones, with a rest beyond whole
    /// blocks. By default those of the axis. [`check`](crate::check()) has an example.
    pub fn check_at(self, values: impl IntoIterator<Item = u64>) -> Sweep<'a> {
        Sweep { checked: Some(values.into_iter().collect()), ..self }
    }

    pub(crate) fn work(&self, x: u64) -> Work {
        Work { bytes: (self.bytes)(x), flops: (self.flops)(x) }
    }

    pub(crate) fn extents_at(&self, x: u64) -> Vec<u64> {
        match &self.extents {
            Some(extents) => extents(x),
            None if self.axis.scale == Scale::Ordinal => vec![],
            None => vec![x],
        }
    }

    pub(crate) fn line_names(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|l| l.name.as_str()).chain(self.copy.then_some(COPY))
    }

    /// Errors: [`Error::Sweep`] where it cannot be measured.
    pub(crate) fn check(&self) -> Result<()> {
        let twice = || {
            let mut names: Vec<&str> = self.line_names().collect();
            names.sort_unstable();
            names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| format!("has two lines `{}`", pair[0]))
        };
        let no_lines = || self.lines.is_empty().then(|| "has no lines".to_string());
        match self.axis.mistake().or_else(no_lines).or_else(twice) {
            Some(why) => Err(self.error(why)),
            None => Ok(()),
        }
    }

    pub(crate) fn error(&self, why: String) -> Error {
        Error::Sweep { sweep: self.name.clone(), why }
    }
}
