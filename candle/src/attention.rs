//! Attention with the functions of candle-flash-attn.

use crate::check;
use crate::{Input, LaunchResult, Operation, Output, TensorElement, apply, derive_custom_op};
use candle_core::{DType, Error, Result, Shape, Tensor};
use tilewright::kernel::{SliceArg, ViewArg, ViewMutArg};
use tilewright::ops::{Attend, Attention, ExecOptions};
use tilewright::{bf16, f16};

/// `softmax(softmax_scale · Q Kᵀ) V` of every head, with the arguments of `candle_flash_attn::flash_attn`.
///
/// The dtype is f16 or bf16. `q` and the result are `(batch, queries, heads, d)`, `k` and `v` are
/// `(batch, keys, shared, d)`, where `heads` is a multiple of `shared` (grouped-query attention) and `d` is 1 to 128.
/// With `causal` the last query sees all keys, the one before it all but the last, and so on. A query that sees no key
/// gives zeros.
///
/// Tensors of any strides are read where they are, as those of a transpose or of a KV cache that is longer than its
/// use. The result is contiguous. A batch of one is one launch. A larger batch is one launch where in each of the
/// tensors the stride of a batch is that of a head times the number of heads, as where heads stand before rows in
/// memory. Otherwise each batch has a launch of its own. There is no gradient.
///
/// # Errors
/// Candle's, for other dtypes and shapes, and an error of tilewright for a scale below 1e-30.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
///
/// let of = |rows: [[f32; 2]; 2]| Tensor::new(&rows, &Device::Cpu)?.reshape((1, 2, 1, 2))?.to_dtype(DType::F16);
/// let (q, k, v) = (of([[1.0, 0.0], [0.0, 1.0]])?, of([[1.0; 2]; 2])?, of([[1.0, 2.0], [3.0, 4.0]])?);
/// let y = tilewright_candle::flash_attn(&q, &k, &v, 0.5, true)?;
/// // The first query sees the first key alone. The second one sees both, with equal weights.
/// assert_eq!(y.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?, [1.0, 2.0, 2.0, 3.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn flash_attn(q: &Tensor, k: &Tensor, v: &Tensor, softmax_scale: f32, causal: bool) -> Result<Tensor> {
    apply(FlashAttention { scale: softmax_scale, causal, lengths: None }, [q, k, v])
}

/// [`flash_attn`] of sequences of several lengths behind each other, with the arguments of
/// `candle_flash_attn::flash_attn_varlen`.
///
/// `q` and the result are `(queries of all sequences, heads, d)`, `k` and `v` `(keys of all sequences, shared, d)`.
/// `seqlens_q` and `seqlens_k` are `(batch + 1,)` of u32: sequence `i` has the rows from element `i` to element
/// `i + 1`. They are read on the host, which waits for the GPU, and there is a launch for each sequence. The greatest
/// lengths are checked, and not needed otherwise.
///
/// # Errors
/// As [`flash_attn`]; also where lengths descend, exceed the greatest ones, or leave rows over.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
///
/// // Sequences of one and of two tokens.
/// let x = Tensor::new(&[[[1.0f32]], [[2.0]], [[4.0]]], &Device::Cpu)?.to_dtype(DType::F16)?;
/// let ends = Tensor::new(&[0u32, 1, 3], &Device::Cpu)?;
/// let y = tilewright_candle::flash_attn_varlen(&x, &x, &x, &ends, &ends, 2, 2, 1.0, true)?;
/// assert_eq!(y.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?[..2], [1.0, 2.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[allow(clippy::too_many_arguments, reason = "those of candle-flash-attn")]
pub fn flash_attn_varlen(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    seqlens_q: &Tensor,
    seqlens_k: &Tensor,
    max_seqlen_q: usize,
    max_seqlen_k: usize,
    softmax_scale: f32,
    causal: bool,
) -> Result<Tensor> {
    let (of_q, of_k) = (ends(seqlens_q, q, max_seqlen_q)?, ends(seqlens_k, k, max_seqlen_k)?);
    if of_q.len() != of_k.len() {
        let (lhs, rhs) = (seqlens_q.shape().clone(), seqlens_k.shape().clone());
        return Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op: FlashAttention::NAME }.bt());
    }
    let lengths = Some(of_q.into_iter().zip(of_k).collect());
    apply(FlashAttention { scale: softmax_scale, causal, lengths }, [q, k, v])
}

/// The first row and the number of rows of each sequence.
fn ends(seqlens: &Tensor, x: &Tensor, max: usize) -> Result<Vec<Rows>> {
    let ends = seqlens.to_vec1::<u32>()?;
    let rows = |pair: &[u32]| {
        let (start, end) = (pair[0] as usize, pair[1] as usize);
        match end.checked_sub(start) {
            Some(len) if len <= max => Ok(Rows { start, len }),
            _ => candle_core::bail!("flash-attn: a sequence from {start} to {end}, of at most {max} rows"),
        }
    };
    let all: Vec<Rows> = ends.windows(2).map(rows).collect::<Result<_>>()?;
    let (first, last) = (ends.first().copied(), ends.last().map(|&end| end as usize));
    if first != Some(0) || last != Some(x.dim(0)?) {
        candle_core::bail!("flash-attn: sequences from {first:?} to {last:?} of {} rows", x.dim(0)?);
    }
    Ok(all)
}

#[derive(Clone, Copy)]
struct Rows {
    start: usize,
    len: usize,
}

/// The most elements of a head.
const MAX_HEAD_DIM: usize = 128;

struct FlashAttention {
    scale: f32,
    causal: bool,
    /// The rows of Q and of K of each sequence, of tensors without a batch.
    lengths: Option<Vec<(Rows, Rows)>>,
}

/// Extents and strides of `(batch, rows, heads, d)`.
#[derive(Clone, Copy)]
struct Heads {
    dims: [usize; 4],
    strides: [usize; 4],
}

impl Heads {
    /// Of a tensor; without a batch it is one.
    fn of(x: &Input<'_>, has_batch: bool) -> Result<Heads> {
        let layout = x.layout();
        match (layout.dims(), layout.stride(), has_batch) {
            (&[b, n, h, d], &[of_b, of_n, of_h, of_d], true) => {
                Ok(Heads { dims: [b, n, h, d], strides: [of_b, of_n, of_h, of_d] })
            }
            (&[n, h, d], &[of_n, of_h, of_d], false) => {
                Ok(Heads { dims: [1, n, h, d], strides: [0, of_n, of_h, of_d] })
            }
            _ => Err(check::rank(if has_batch { 4 } else { 3 }, x.shape())),
        }
    }

    /// Of a row-major tensor.
    fn contiguous([b, n, h, d]: [usize; 4]) -> Heads {
        Heads { dims: [b, n, h, d], strides: [n * h * d, h * d, d, 1] }
    }

    /// The stride of the heads of all batches, where there is one.
    fn of_all(&self) -> Option<usize> {
        let ([batch, _, heads, _], [of_batch, _, of_head, _]) = (self.dims, self.strides);
        match (batch, heads) {
            (1, _) => Some(of_head),
            (_, 1) => Some(of_batch),
            _ => (of_batch == heads * of_head).then_some(of_head),
        }
    }

    /// `batches x heads`, rows and `d`, with their strides.
    fn matrices(&self, batches: usize, of_head: usize, rows: usize) -> ([usize; 3], [usize; 3]) {
        let ([_, _, heads, d], [_, of_row, _, of_element]) = (self.dims, self.strides);
        ([batches * heads, rows, d], [of_head, of_row, of_element])
    }
}

impl Operation<3> for FlashAttention {
    const NAME: &'static str = "flash-attn";

    fn output(&self, [q, k, v]: &[Input<'_>; 3]) -> Result<(DType, Shape)> {
        let dtype = check::floats(Self::NAME, &[q, k, v])?;
        if dtype == DType::F32 {
            return Err(Error::UnsupportedDTypeForOp(dtype, Self::NAME).bt());
        }
        let has_batch = self.lengths.is_none();
        let (of_q, of_k) = (Heads::of(q, has_batch)?.dims, Heads::of(k, has_batch)?.dims);
        k.same_shape(v)?;
        let ([b, _, heads, d], [of_batch, _, shared, of_d]) = (of_q, of_k);
        if b != of_batch || d != of_d || (heads != 0 && (shared == 0 || heads % shared != 0)) {
            let (lhs, rhs) = (q.shape().clone(), k.shape().clone());
            return Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op: Self::NAME }.bt());
        }
        if d > MAX_HEAD_DIM {
            candle_core::bail!("flash-attn: heads have {d} elements: {MAX_HEAD_DIM} at most are allowed");
        }
        Ok((dtype, q.shape().clone()))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [q, k, v]: [Input<'a>; 3], o: Output<'a>) -> LaunchResult {
        match q.dtype() {
            DType::F16 => self.run::<f16>(on, [q, k, v], o),
            _ => self.run::<bf16>(on, [q, k, v], o),
        }
    }
}
derive_custom_op!(FlashAttention, q, k, v);

impl FlashAttention {
    fn run<'a, T: Attend + TensorElement>(
        &self,
        on: &ExecOptions<'_>,
        [q, k, v]: [Input<'a>; 3],
        o: Output<'a>,
    ) -> LaunchResult {
        if let Some(lengths) = &self.lengths {
            return self.run_sequences::<T>(on, lengths, [q, k, v], o);
        }
        let [of_q, of_k, of_v] = [Heads::of(&q, true)?, Heads::of(&k, true)?, Heads::of(&v, true)?];
        let of_o = Heads::contiguous(of_q.dims);
        let ([batch, queries, _, _], [_, keys, _, _]) = (of_q.dims, of_k.dims);
        // With one query, heads follow each other for every size of the batch.
        let of_result = if queries == 1 { Some(of_o.strides[2]) } else { of_o.of_all() };
        if let (Some(a), Some(b), Some(c), Some(r)) = (of_q.of_all(), of_k.of_all(), of_v.of_all(), of_result) {
            let inputs = [
                matrices(q.behind::<T>(0)?, of_q.matrices(batch, a, queries))?,
                matrices(k.behind::<T>(0)?, of_k.matrices(batch, b, keys))?,
                matrices(v.behind::<T>(0)?, of_v.matrices(batch, c, keys))?,
            ];
            let (dims, strides) = of_o.matrices(batch, r, queries);
            return self.attend(inputs, o.slice::<T>()?.strided(dims, strides)?, on);
        }
        let of_batch = of_o.strides[0];
        for (i, o) in o.split::<T>(&vec![of_batch; batch])?.into_iter().enumerate() {
            let input = |x: &Input<'a>, of: Heads, rows| {
                matrices(x.behind::<T>(i * of.strides[0])?, of.matrices(1, of.strides[2], rows))
            };
            let inputs = [input(&q, of_q, queries)?, input(&k, of_k, keys)?, input(&v, of_v, keys)?];
            let (dims, strides) = of_o.matrices(1, of_o.strides[2], queries);
            self.attend(inputs, o.strided(dims, strides)?, on)?;
        }
        Ok(())
    }

    /// A launch for each sequence.
    fn run_sequences<'a, T: Attend + TensorElement>(
        &self,
        on: &ExecOptions<'_>,
        lengths: &[(Rows, Rows)],
        [q, k, v]: [Input<'a>; 3],
        o: Output<'a>,
    ) -> LaunchResult {
        let [of_q, of_k, of_v] = [Heads::of(&q, false)?, Heads::of(&k, false)?, Heads::of(&v, false)?];
        let of_o = Heads::contiguous(of_q.dims);
        let of_sequences: Vec<usize> = lengths.iter().map(|(queries, _)| queries.len * of_o.strides[1]).collect();
        for ((queries, keys), o) in lengths.iter().zip(o.split::<T>(&of_sequences)?) {
            let input = |x: &Input<'a>, of: Heads, rows: &Rows| {
                let (dims, strides) = of.matrices(1, of.strides[2], rows.len);
                matrices(x.behind::<T>(rows.start * of.strides[1])?, (dims, strides))
            };
            let inputs = [input(&q, of_q, queries)?, input(&k, of_k, keys)?, input(&v, of_v, keys)?];
            let (dims, strides) = of_o.matrices(1, of_o.strides[2], queries.len);
            self.attend(inputs, o.strided(dims, strides)?, on)?;
        }
        Ok(())
    }

    fn attend<'a, T: Attend>(
        &self,
        [q, k, v]: [ViewArg<'a, T, 3>; 3],
        o: ViewMutArg<'a, T, 3>,
        on: &ExecOptions<'_>,
    ) -> LaunchResult {
        let attention = Attention::new(q, k, v, o).scale(self.scale);
        let attention = if self.causal { attention.causal() } else { attention };
        Ok(attention.launch(on)?)
    }
}

fn matrices<T: TensorElement>(
    x: SliceArg<'_, T>,
    (dims, strides): ([usize; 3], [usize; 3]),
) -> LaunchResult<ViewArg<'_, T, 3>> {
    Ok(x.strided(dims, strides)?)
}
