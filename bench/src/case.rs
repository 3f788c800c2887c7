//! One line at one point: data that is ready, a launch, and a check of the result.

use std::fmt::Debug;
use tilewright_runtime::{Buffer, Runtime};

/// An error of a user's closure. [`Skip`] has an example.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An error by which a line says that it has no value at a point, as where a library does not take a size. Any other
/// error is shown as a failure.
///
/// # Examples
/// ```
/// use tilewright_bench::{Failure, Skip};
///
/// fn of(n: u64) -> Result<u64, Failure> {
///     if n % 8 == 0 { Ok(n) } else { Err(Skip("it takes multiples of 8".into()).into()) }
/// }
/// assert!(of(12).is_err_and(|e| e.is::<Skip>()));
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Skip(pub String);

/// Whether a result is right. [`Verdict::close`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Right,
    /// It is not, and why.
    Wrong(String),
}

impl Verdict {
    /// Compares floats: each is right within `tolerance` times the larger of 1 and the wanted magnitude. A NaN is equal
    /// to a NaN alone, an infinity to itself.
    ///
    /// # Examples
    /// ```
    /// use tilewright_bench::Verdict;
    ///
    /// assert_eq!(Verdict::close(&[1.0f32, 200.1], &[1.0, 200.0], 1e-3), Verdict::Right);
    /// let Verdict::Wrong(why) = Verdict::close(&[1.0f32, 2.1], &[1.0, 2.0], 1e-3) else { panic!() };
    /// assert_eq!(why, "element 1 is 2.1, wanted 2");
    /// ```
    pub fn close<T: Copy + Into<f64> + std::fmt::Display>(found: &[T], wanted: &[T], tolerance: f64) -> Verdict {
        let right = |&f: &T, &w: &T| {
            let (f, w): (f64, f64) = (f.into(), w.into());
            let near = || w.is_finite() && (f - w).abs() <= tolerance * w.abs().max(1.0);
            f == w || (f.is_nan() && w.is_nan()) || near()
        };
        Self::each(found, wanted, right, |v| v.to_string())
    }

    /// Compares elements that have one right value.
    ///
    /// # Examples
    /// ```
    /// use tilewright_bench::Verdict;
    ///
    /// assert_eq!(Verdict::equal(&[1, 2], &[1, 2]), Verdict::Right);
    /// assert_eq!(Verdict::equal(&[1], &[1, 2]), Verdict::Wrong("1 elements, wanted 2".into()));
    /// ```
    pub fn equal<T: PartialEq + Debug>(found: &[T], wanted: &[T]) -> Verdict {
        Self::each(found, wanted, |f, w| f == w, |v| format!("{v:?}"))
    }

    fn each<T>(
        found: &[T],
        wanted: &[T],
        mut right: impl FnMut(&T, &T) -> bool,
        text: impl Fn(&T) -> String,
    ) -> Verdict {
        if found.len() != wanted.len() {
            return Verdict::Wrong(format!("{} elements, wanted {}", found.len(), wanted.len()));
        }
        match found.iter().zip(wanted).enumerate().find(|(_, (f, w))| !right(f, w)) {
            None => Verdict::Right,
            Some((i, (f, w))) => Verdict::Wrong(format!("element {i} is {}, wanted {}", text(f), text(w))),
        }
    }
}

/// The bytes and operations of one launch, for rates. [`Case`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes of memory that must be read and written, each once; 0 where not known.
    pub bytes: u64,
    /// Floating-point operations, a multiply-add counting as two; 0 where not known.
    pub flops: u64,
}

/// A line of a sweep at one point: its data, a launch, and a check.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime, tile_kernel};
/// use tilewright_bench::{Case, Failure, Verdict, Work};
///
/// #[tile_kernel(grid = [cdiv(y.len(), 64)])]
/// fn double(x: &[f32], y: &mut [f32]) {
///     let i = program_id(0) * 64 + arange(64);
///     store(y, i, 2.0 * load(x, i));
/// }
///
/// fn of(rt: &Runtime, n: u64) -> Result<Case<'static>, Failure> {
///     let x = Buffer::from_slice(rt, &vec![1.5f32; n as usize])?;
///     let y = Buffer::from_slice(rt, &vec![f32::NAN; n as usize])?;
///     Ok(Case::new(
///         (x, y),
///         |rt, (x, y)| Ok(rt.launch(double(&*x, y))?),
///         move |(_, y)| Ok(Verdict::equal(&y.to_vec()?, &vec![3.0; n as usize])),
///     )
///     .work(Work { bytes: 8 * n, flops: n }))
/// }
/// # of(&Runtime::cpu(), 3)?;
/// # Ok::<(), Failure>(())
/// ```
pub struct Case<'a> {
    body: Box<dyn Body + 'a>,
    pub(crate) work: Option<Work>,
    pub(crate) repeatable: bool,
}

trait Body {
    fn launch(&mut self, rt: &Runtime) -> Result<(), Failure>;
    fn check(&mut self) -> Result<Verdict, Failure>;
}

struct Parts<S, L, C> {
    state: S,
    launch: L,
    check: C,
}

impl<S, L, C> Body for Parts<S, L, C>
where
    L: FnMut(&Runtime, &mut S) -> Result<(), Failure>,
    C: FnMut(&mut S) -> Result<Verdict, Failure>,
{
    fn launch(&mut self, rt: &Runtime) -> Result<(), Failure> {
        (self.launch)(rt, &mut self.state)
    }

    fn check(&mut self) -> Result<Verdict, Failure> {
        (self.check)(&mut self.state)
    }
}

impl<'a> Case<'a> {
    /// `launch` enqueues the work once on the runtime's default stream; it is the part that is timed. `check` reads the
    /// result back and compares it. It is called after the first launch, before anything is timed, and once more after
    /// the last one. Outputs should hold something wrong before the first launch.
    pub fn new<S: 'a>(
        state: S,
        launch: impl FnMut(&Runtime, &mut S) -> Result<(), Failure> + 'a,
        check: impl FnMut(&mut S) -> Result<Verdict, Failure> + 'a,
    ) -> Case<'a> {
        Case { body: Box::new(Parts { state, launch, check }), work: None, repeatable: true }
    }

    /// Of work in place, whose result depends on the number of launches: it is checked after the first one alone.
    ///
    /// # Examples
    /// ```
    /// use tilewright_bench::{Case, Verdict};
    ///
    /// // Each launch adds to the result of the one before.
    /// let case = Case::new(0, |_, sum| Ok(*sum += 7), |sum| Ok(Verdict::equal(&[*sum], &[7]))).in_place();
    /// # drop(case);
    /// ```
    pub fn in_place(self) -> Case<'a> {
        Case { repeatable: false, ..self }
    }

    /// The bytes and operations of a launch, if the case knows them better than the closures of its sweep.
    pub fn work(self, work: Work) -> Case<'a> {
        Case { work: Some(work), ..self }
    }

    pub(crate) fn launch(&mut self, rt: &Runtime) -> Result<(), Failure> {
        self.body.launch(rt)
    }

    pub(crate) fn check(&mut self) -> Result<Verdict, Failure> {
        self.body.check()
    }

    /// A copy on the device that reads and writes `bytes` in all.
    pub(crate) fn copy(rt: &Runtime, bytes: u64) -> Result<Case<'static>, Failure> {
        let n = (bytes / 2) as usize;
        let wanted: Vec<u8> = (0..n).map(|i| i as u8 | 1).collect();
        let (from, to) = (Buffer::from_slice(rt, &wanted)?, Buffer::<u8>::zeros(rt, n)?);
        let launch = |_: &Runtime, (from, to): &mut (Buffer<u8>, Buffer<u8>)| Ok(to.copy_from_buffer(from)?);
        Ok(Case::new((from, to), launch, move |(_, to)| Ok(Verdict::equal(&to.to_vec()?, &wanted))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_compared_by_value() {
        let right = |f: f64, w: f64| Verdict::close(&[f], &[w], 1e-3) == Verdict::Right;
        assert!(right(f64::NAN, f64::NAN) && right(f64::INFINITY, f64::INFINITY) && right(1e-4, 0.0));
        assert!(!right(f64::NAN, 1.0) && !right(1.0, f64::NAN) && !right(f64::INFINITY, 1.0));
        assert!(!right(1.0, f64::INFINITY), "an infinite tolerance would take anything");
    }

    #[test]
    fn a_copy_is_checked() {
        let rt = Runtime::cpu();
        let mut copy = Case::copy(&rt, 1001).unwrap();
        assert!(matches!(copy.check().unwrap(), Verdict::Wrong(_)), "nothing was copied yet");
        copy.launch(&rt).unwrap();
        assert_eq!(copy.check().unwrap(), Verdict::Right);
    }
}
