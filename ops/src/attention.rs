//! Attention.

use super::check::disjoint;
use super::decide::Limits;
use super::kernel_plan::{self, KernelPlan};
use super::stream_k::Workspace;
use super::tma::{Tma, batch_takes_tma, width_of_batch};
use super::{Executor, decide};
use crate::planner::attention::AttentionWork;
use crate::planner::cost::Work;
use crate::planner::{Candidate, Question};
use tilewright_core::cpu::fork::PerProcess;
use tilewright_core::{AsView, AsViewMut, Call, Element, KernelDesc, SliceMutArg, ViewArg, ViewMutArg, bf16, f16};
use tilewright_core::{ConfigDesc, VariantDesc, Width};
use tilewright_kernels::attention::heads::{
    attention_64, attention_128, attention_split_kv_64, attention_split_kv_128,
};
use tilewright_runtime::tuning::Version;
use tilewright_runtime::{BackendKind, Error, Result, private};

type Inputs<'a, T> = [ViewArg<'a, T, 3>; 3];

/// The element types of [`Attention`]: f16 and bf16. The example of [`Attention`] has one. The trait is sealed.
/// ```compile_fail,E0277
/// struct Mine;
/// impl tilewright_ops::Attend for Mine {}
/// ```
pub trait Attend: AttentionKernels {}

/// The kernels of an element type.
pub trait AttentionKernels: Element {
    fn call<'a>(
        large_heads: bool,
        inputs: Inputs<'a, Self>,
        o: ViewMutArg<'a, Self, 3>,
        scale: f32,
        causal: bool,
    ) -> Call<'a>;

    /// Split-KV, with a workspace for partial results.
    ///
    /// # Safety
    /// The parts are those of a [`Workspace`] that was made for the launch, by [`Workspace::new`].
    unsafe fn split_kv_call<'a>(
        large_heads: bool,
        inputs: Inputs<'a, Self>,
        workspace: (SliceMutArg<'a, f32>, SliceMutArg<'a, u64>),
        o: ViewMutArg<'a, Self, 3>,
        queries: usize,
        scale: f32,
        causal: bool,
    ) -> Call<'a>;

    /// The kernels of `call` and `split_kv_call`.
    fn descs(large_heads: bool) -> [&'static KernelDesc; 2];
}

macro_rules! attend { ($($t:ty)*) => { $(impl Attend for $t {}

impl AttentionKernels for $t {
    fn call<'a>(large_heads: bool, [q, k, v]: Inputs<'a, $t>, o: ViewMutArg<'a, $t, 3>, scale: f32, causal: bool) -> Call<'a> {
        if large_heads { attention_128::<$t>(q, k, v, o, scale, causal) } else { attention_64::<$t>(q, k, v, o, scale, causal) }
    }

    unsafe fn split_kv_call<'a>(
        large_heads: bool,
        [q, k, v]: Inputs<'a, $t>,
        (workspace, semaphores): (SliceMutArg<'a, f32>, SliceMutArg<'a, u64>),
        o: ViewMutArg<'a, $t, 3>,
        queries: usize,
        scale: f32,
        causal: bool,
    ) -> Call<'a> {
        // SAFETY: by the caller's contract it is a `Workspace`, which is as large as every configuration of these
        // kernels asks (a test below checks it), and whose semaphores are zero.
        unsafe {
            match large_heads {
                true => attention_split_kv_128::<$t>(q, k, v, workspace, semaphores, o, queries, scale, causal),
                false => attention_split_kv_64::<$t>(q, k, v, workspace, semaphores, o, queries, scale, causal),
            }
        }
    }

    fn descs(large_heads: bool) -> [&'static KernelDesc; 2] {
        match large_heads {
            true => [<($t,) as attention_128::Types>::DESC, <($t,) as attention_split_kv_128::Types>::DESC],
            false => [<($t,) as attention_64::Types>::DESC, <($t,) as attention_split_kv_64::Types>::DESC],
        }
    }
})* } }
attend! { f16 bf16 }

/// Elements that a head may have.
const MAX_HEAD_DIM: usize = 128;
/// Queries of a program's block, at least: fewer of several heads that share keys go in one.
const BLOCK: usize = 64;
/// With less, keys that do not count would.
const MIN_SCALE: f32 = 1e-30;

/// `O = softmax(scale · Q Kᵀ) V` for every head, in one launch and without memory for scores.
///
/// Scores, sums of weights and results are accumulated in f32. Weights are rounded to `T` before they multiply values,
/// results once.
///
/// With `causal`, the last query sees all keys, the query before it all but the last, and so on. A query that sees no
/// key gives zeros, and so does one whose scores are all minus infinity. A NaN among the scores of a query makes its
/// result NaN. A key that a query does not see has a weight of 0: where its value is infinite or a NaN, the result may
/// be a NaN. The result may also be a NaN where a score is beyond 2^30, and infinite where the sum of weighted values
/// leaves f32.
///
/// Grouped-query attention: `heads / shared` consecutive heads of `q` share one head of `k` and `v`.
///
/// Split-KV decoding: the keys of few queries (one token after many, say) are divided among programs. They exchange
/// partial results through scratch memory of some 128 KiB for each multiprocessor; where there is none, a slower kernel
/// is taken. The planner predicts which kernel and configuration are fastest, or measures the best few once for each
/// size (see [`tilewright_runtime::tuning::Autotune`]). Queries of heads that share keys are then one block of rows,
/// where `q` and `o` have one stride from row to row across these heads.
///
/// Nothing is enqueued before [`Attention::launch`].
///
/// Shapes: `q` and `o` are `heads x queries x d`, `k` and `v` `shared x keys x d`, with `heads` a multiple of `shared`
/// and `d` of 1 to 128. The heads of a batch follow each other in the first dimension.
///
/// # Examples
/// ```
/// use tilewright::ops::Attention;
/// use tilewright::{Buffer, Runtime, f16};
///
/// let rt = Runtime::cpu();
/// let of = |v: [f32; 4]| Buffer::from_slice(&rt, &v.map(f16::from_f32));
/// // One head of two queries and two keys, of two elements each.
/// let (q, k, v) = (of([1.0, 0.0, 0.0, 1.0])?, of([1.0; 4])?, of([1.0, 2.0, 3.0, 4.0])?);
/// let mut o = Buffer::<f16>::zeros(&rt, 4)?;
/// let dims = [1, 2, 2];
/// Attention::new(q.view(dims)?, k.view(dims)?, v.view(dims)?, o.view_mut(dims)?).causal().launch(&rt)?;
/// // The first query sees the first key alone; the second one sees both, with equal weights.
/// assert_eq!(o.to_vec()?, [1.0, 2.0, 2.0, 3.0].map(f16::from_f32));
/// # Ok::<(), tilewright::Error>(())
/// ```
#[must_use = "nothing is enqueued before `launch`"]
pub struct Attention<'a, T: Attend> {
    inputs: Inputs<'a, T>,
    o: ViewMutArg<'a, T, 3>,
    /// The factor of scores, where it was set.
    scale: Option<f32>,
    causal: bool,
}

impl<'a, T: Attend> Attention<'a, T> {
    /// Every query sees every key. Scores are multiplied by `1 / sqrt(d)`.
    pub fn new(
        q: impl AsView<'a, T, 3>,
        k: impl AsView<'a, T, 3>,
        v: impl AsView<'a, T, 3>,
        o: impl AsViewMut<'a, T, 3>,
    ) -> Attention<'a, T> {
        Attention {
            inputs: [q.as_view_arg(), k.as_view_arg(), v.as_view_arg()],
            o: o.as_view_mut_arg(),
            scale: None,
            causal: false,
        }
    }

    /// The factor of scores, from 1e-30 on.
    ///
    /// # Examples
    /// ```
    /// use tilewright::ops::Attention;
    /// use tilewright::{Buffer, Runtime, f16};
    ///
    /// let rt = Runtime::cpu();
    /// let q = Buffer::from_slice(&rt, &[f16::ONE])?;
    /// let k = Buffer::from_slice(&rt, &[3.0f32.ln(), 0.0].map(f16::from_f32))?;
    /// let v = Buffer::from_slice(&rt, &[4.0, 0.0].map(f16::from_f32))?;
    /// let mut o = Buffer::<f16>::zeros(&rt, 1)?;
    /// let (q, keys) = (q.view([1, 1, 1])?, [1, 2, 1]);
    /// Attention::new(q, k.view(keys)?, v.view(keys)?, o.view_mut([1, 1, 1])?).scale(2.0).launch(&rt)?;
    /// // The weights are 9 / 10 and 1 / 10.
    /// assert!((o.to_vec()?[0].to_f32() - 3.6).abs() < 0.01);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn scale(self, scale: f32) -> Self {
        Attention { scale: Some(scale), ..self }
    }

    /// The last query sees all keys, the query before it all but the last, and so on.
    pub fn causal(self) -> Self {
        Attention { causal: true, ..self }
    }

    /// Enqueues the operation: on the default stream of a [`Runtime`](tilewright_runtime::Runtime), or where an
    /// [`ExecOptions`](super::ExecOptions) says.
    ///
    /// # Errors
    /// - [`Error::Shape`] where extents do not agree,
    /// - [`Error::Alias`] where `o` shares memory with an input,
    /// - [`Error::InvalidArgument`] for heads of more than 128 elements, for 2^31 blocks of 64 queries or more, and for
    ///   a scale that is less than 1e-30 or no number,
    /// - those of a launch.
    ///
    /// The first three are returned before anything is written.
    pub fn launch(self, on: &impl Executor) -> Result<()> {
        let scale = self.check()?;
        let Attention { inputs: [q, k, v], o, causal, .. } = self;
        let ([heads, queries, d], [shared, keys, _]) = (q.dims(), k.dims());
        if heads == 0 || queries == 0 || d == 0 {
            return Ok(());
        }
        let of_k = decide::batch_size(on, shared);
        // As many heads of Q for each of K.
        let of_q = of_k.saturating_mul(heads / shared);
        let shape = Shape { heads: of_q, shared: of_k, queries: decide::batch_size(on, queries), keys, d, causal };
        let stacked = shape.stacked();
        let stacks = q.stacked(stacked).is_some() && o.as_view().stacked(stacked).is_some();
        let stacked = if stacks { stacked } else { 1 };
        let tma = |n: usize| {
            let of = |v: Option<ViewArg<T, 3>>| v.is_some_and(batch_takes_tma);
            let (q, o) = (q.stacked(n), o.as_view().stacked(n));
            let width = |v: Option<ViewArg<T, 3>>| v.map_or(Width::Elements, width_of_batch);
            Tma {
                loads: of(q) && batch_takes_tma(k) && batch_takes_tma(v),
                stores: of(o),
                width: width(q).min(width(o)).min(width_of_batch(k)).min(width_of_batch(v)),
            }
        };
        // Of split-KV heads are stacked.
        let tma = [tma(1), tma(stacked)];
        let bits = tma.iter().fold(0, |bits, t| bits << 4 | t.bits());
        let question = Question {
            op: WHAT,
            types: T::DTYPE.name(),
            version: version(),
            sizes: [shape.heads, shape.queries, keys, shape.shared],
            layout: u64::from(causal) | u64::from(stacks) << 1 | bits << 2 | (d as u64) << 12,
            recorded: &|| vec![(&q).into(), (&k).into(), (&v).into(), (&o).into(), causal.into()],
        };
        let [_, split_kv] = T::descs(shape.has_large_heads());
        let candidates = |limits| plans::<T>(on, limits, shape, stacked, tma);
        decide::run(on, &question, &o, candidates, |plan: &KernelPlan| {
            // SAFETY: one launch has the result at a time.
            let o = unsafe { decide::again(&o) };
            if !plan.is_of(split_kv) {
                return on.launch_as(T::call(shape.has_large_heads(), [q, k, v], o, scale, causal), plan.options());
            }
            let mut workspace = Workspace::new(on)?;
            let q = q.stacked(stacked).expect("it was asked for above");
            let o = o.stacked(stacked).expect("it was asked for above");
            // One query sees all keys.
            let causal = causal && queries > 1;
            let (large, inputs) = (shape.has_large_heads(), [q, k, v]);
            // SAFETY: the workspace was made for this launch.
            let call = unsafe { T::split_kv_call(large, inputs, workspace.parts(), o, queries, scale, causal) };
            on.launch_as(call, plan.options())
        })
    }

    /// The factor of scores of arguments that are allowed.
    fn check(&self) -> Result<f32> {
        let Attention { inputs: [q, k, v], o, .. } = self;
        let ([heads, queries, d], [shared, _, of_key], out) = (q.dims(), k.dims(), o.as_view().dims());
        let shape = |why: String| Err(Error::Shape { what: WHAT, why });
        let invalid = |why: String| Err(Error::InvalidArgument { what: WHAT, why });
        let text = |[h, n, d]: [usize; 3]| format!("{h} x {n} x {d}");
        if k.dims() != v.dims() {
            return shape(format!("K is {} and V is {}: they must be equal", text(k.dims()), text(v.dims())));
        }
        if out != q.dims() {
            return shape(format!("O is {} and Q is {}: they must be equal", text(out), text(q.dims())));
        }
        if d != of_key {
            return shape(format!("heads of {d} elements in Q and {of_key} in K: they must be equal"));
        }
        if heads != 0 && (shared == 0 || heads % shared != 0) {
            return shape(format!("{heads} heads of Q share {shared} of K: the one must be a multiple of the other"));
        }
        if d > MAX_HEAD_DIM {
            return invalid(format!("heads have {d} elements: {MAX_HEAD_DIM} at most are allowed"));
        }
        // Heads without elements have no scores.
        let scale = self.scale.unwrap_or_else(|| 1.0 / (d.max(1) as f32).sqrt());
        if !(scale >= MIN_SCALE && scale.is_finite()) {
            return invalid(format!("scores are scaled with {scale}: that must be a number from {MIN_SCALE:e} on"));
        }
        for (name, other) in [("q", q), ("k", k), ("v", v)] {
            disjoint(WHAT, ("o", o), (name, other))?;
        }
        if heads.saturating_mul(queries.div_ceil(BLOCK)) >= 1 << 31 {
            return invalid(format!(
                "{heads} heads of {queries} queries: fewer than 2^31 blocks of {BLOCK} queries are counted"
            ));
        }
        Ok(scale)
    }
}

const WHAT: &str = "attention";

#[derive(Clone, Copy)]
struct Shape {
    heads: usize,
    shared: usize,
    queries: usize,
    keys: usize,
    d: usize,
    causal: bool,
}

impl Shape {
    /// Whether the kernels are those of heads of more than 64 elements.
    fn has_large_heads(self) -> bool {
        self.d > 64
    }

    /// Heads that go under each other in blocks of queries.
    fn stacked(self) -> usize {
        if self.queries < BLOCK { self.heads / self.shared } else { 1 }
    }

    /// The work of a configuration of a kernel. `stacked`: the number of heads that go under each other, with
    /// split-KV. `fits`: the programs that a multiprocessor has room for, if that is known.
    fn work(
        self,
        config: &ConfigDesc,
        split_kv: bool,
        stacked: usize,
        wgmma: bool,
        fits: Option<usize>,
    ) -> AttentionWork {
        /// Threads that a multiprocessor has registers for, where `mma.sync` multiplies.
        const MAX_THREADS: usize = 512;
        let get = |name: &str| config.value_of(name).map_or(0, |v| v as usize);
        let stacked = if split_kv { stacked } else { 1 };
        let elements = self.heads.saturating_mul(self.queries).saturating_mul(2);
        let elements = elements.saturating_add(self.shared.saturating_mul(self.keys).saturating_mul(2));
        let d = if self.has_large_heads() { 128 } else { 64 };
        let per_sm = match (get("PER_SM").max(get("PERSISTENT")), config.blocks_per_sm as usize) {
            (0, 0) if wgmma => 1,
            (0, 0) => (MAX_THREADS / (config.warps as usize * 32)).max(1),
            (per_sm, blocks) => per_sm.max(blocks),
        };
        AttentionWork {
            heads: self.heads / stacked,
            rows: self.queries.saturating_mul(stacked),
            queries: self.queries,
            keys: self.keys,
            d,
            causal: self.causal,
            bytes: elements.saturating_mul(self.d).saturating_mul(size_of::<f16>()),
            block: [get("BM"), get("BN")],
            per_sm,
            resident: fits.unwrap_or(per_sm),
            persistent: get("PERSISTENT") > 0,
            wgmma,
            split_kv,
            reduce_rows: get("REDUCE_ROWS"),
        }
    }
}

/// The plans of attention. Split-KV takes scratch memory. `tma`: for separate heads, and for heads that go under each
/// other.
fn plans<T: Attend>(
    on: &impl Executor,
    limits: Limits,
    shape: Shape,
    stacked: usize,
    tma: [Tma; 2],
) -> Vec<Candidate<KernelPlan>> {
    let kernels = T::descs(shape.has_large_heads());
    let rt = on.runtime();
    let on_gpu = rt.kind() == BackendKind::Cuda;
    // Split-KV divides keys by the number of heads and queries.
    let split_kv = limits.scratch > 0 && !on.batch_invariant();
    let kernels = if split_kv { &kernels[..] } else { &kernels[..1] };
    kernel_plan::plans(on, limits, kernels, |kernel, config, fits| {
        let split_kv = core::ptr::eq(kernel, T::descs(shape.has_large_heads())[1]);
        let runs = |v: &VariantDesc| !on_gpu || private::runs(rt, v);
        let variant = tma[usize::from(split_kv)].variant(kernel, config, "o", runs)?;
        let wgmma = !variant.maps.is_empty();
        Some(Work::Attention(shape.work(config, split_kv, stacked, wgmma, fits(variant))))
    })
}

/// Changes with any of the kernels.
fn version() -> &'static Version {
    static VERSION: PerProcess<Version> = PerProcess::new();
    VERSION.get_or_init(|| {
        Version::of_kernels(&[
            attention_64::DESCS,
            attention_128::DESCS,
            attention_split_kv_64::DESCS,
            attention_split_kv_128::DESCS,
        ])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream_k::const_of;
    use tilewright_core::{AsSlice, AsSliceMut};
    use tilewright_runtime::{Buffer, Runtime};

    #[test]
    fn there_is_room_for_the_sums_of_all_programs() {
        for (desc, d) in [(f16::descs(false)[1], 64), (f16::descs(true)[1], 128)] {
            for config in desc.configs {
                assert!(Workspace::<f32>::holds(config, const_of(config, "BM") * (d + 2)), "{}", config.id);
            }
        }
    }

    #[test]
    fn heads_need_not_follow_one_another() {
        let (rt, heads, shared, queries, keys, d) = (Runtime::cpu(), 4, 2, 3, 70, 16);
        let made = |n: usize, seed: usize| -> Vec<f16> {
            (0..n).map(|i| f16::from_f32(((i * 7 + i / 5 + seed) % 9) as f32 / 4.0 - 1.0)).collect()
        };
        let [k, v] = [1, 2].map(|seed| Buffer::from_slice(&rt, &made(shared * keys * d, seed)).unwrap());
        let q = made(heads * queries * d, 3);
        let attended = |head: usize, row: usize| -> Vec<f16> {
            let mut apart = vec![f16::NAN; heads * head];
            let place = |e: usize| e / (queries * d) * head + e / d % queries * row + e % d;
            q.iter().enumerate().for_each(|(e, &x)| apart[place(e)] = x);
            let (q, mut o) =
                (Buffer::from_slice(&rt, &apart).unwrap(), Buffer::<f16>::zeros(&rt, apart.len()).unwrap());
            let (dims, strides) = ([heads, queries, d], [head, row, 1]);
            let [k, v] = [&k, &v].map(|x| x.slice(..).unwrap().view([shared, keys, d]).unwrap());
            let result = (&mut o).as_slice_mut_arg().strided(dims, strides).unwrap();
            let q = q.slice(..).unwrap().strided(dims, strides).unwrap();
            Attention::<f16>::new(q, k, v, result).scale(0.5).causal().launch(&rt).unwrap();
            let all = o.to_vec().unwrap();
            (0..heads * queries * d).map(|e| all[place(e)]).collect()
        };
        let together = attended(queries * d, d);
        assert!(together.iter().any(|x| x.to_f32() != 0.0));
        for (head, row) in [(queries * d + 8, d), (queries * (d + 8), d + 8), (queries * (d + 8) + 8, d + 8)] {
            assert_eq!(attended(head, row), together, "{head} {row}");
        }
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let (rt, keys, d) = (Runtime::cpu(), 1000, 128);
        let q = Buffer::from_slice(&rt, &[f16::ONE; 128]).unwrap();
        let v = Buffer::from_slice(&rt, &vec![f16::ONE; keys * d]).unwrap();
        // All keys of a program and more, or one.
        for none in [600 * d, 1] {
            let mut k = vec![f16::ONE; keys * d];
            k[..none].fill(f16::NAN);
            let (k, mut o) = (Buffer::from_slice(&rt, &k).unwrap(), Buffer::<f16>::zeros(&rt, 128).unwrap());
            let [k, v] = [&k, &v].map(|x| x.slice(..).unwrap().view([1, keys, d]).unwrap());
            let q = q.slice(..).unwrap().view([1, 1, d]).unwrap();
            let result = (&mut o).as_slice_mut_arg().view([1, 1, d]).unwrap();
            Attention::<f16>::new(q, k, v, result).scale(0.5).launch(&rt).unwrap();
            assert!(o.to_vec().unwrap().iter().all(|x| x.is_nan()), "{none}");
        }
    }

    #[test]
    fn matrices_under_each_other() {
        let data = [0f32; 600];
        let of = |dims: [usize; 3], strides| {
            data.as_slice().as_slice_arg().strided(dims, strides).unwrap().stacked(2).map(|v| (v.dims(), v.strides()))
        };
        assert_eq!(of([4, 3, 5], [15, 5, 1]), Some(([2, 6, 5], [30, 5, 1])));
        assert_eq!(of([4, 3, 5], [24, 8, 1]), Some(([2, 6, 5], [48, 8, 1])));
        assert_eq!(of([4, 1, 5], [24, 8, 1]), Some(([2, 2, 5], [48, 24, 1])), "no stride leads away from a single row");
        assert_eq!(of([4, 3, 5], [16, 5, 1]), None);
        assert_eq!(of([3, 3, 5], [15, 5, 1]), None, "an odd number of them");
    }
}
