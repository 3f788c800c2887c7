//! Rotary position embeddings.

use crate::check::{self, for_float};
use crate::{Input, LaunchResult, Operation, Output, apply, apply_no_bwd, derive_custom_op};
use candle_core::{DType, Error, Result, Shape, Tensor};
use tilewright::ops::{self, ExecOptions};

/// Rotates pairs of elements of each head by the angles of a token's position, as `candle_nn::rotary_emb::rope`. f32,
/// f16 or bf16, computed in f32.
///
/// `x` is `(batch, heads, tokens, d)`. `cos` and `sin` are `(positions, d / 2)`, or `(batch, positions, d / 2)` with a
/// table for each sequence; the first `tokens` rows are used. Their dtype is f32 or that of `x`. Tables of f32 are read
/// as they are, and others are converted in each call. The pairs are the elements `i` and `i + d / 2`.
///
/// A last extent of the tables below `d / 2` rotates a part of each head; the elements behind are copied. Strided
/// tensors are copied first. `x` has a gradient, the tables have none.
///
/// # Errors
/// Candle's, for other dtypes and shapes.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// // Two tokens of a head of two elements. The second one rotates by a right angle.
/// let x = Tensor::new(&[[[[1.0f32, 2.0], [1.0, 2.0]]]], &Device::Cpu)?;
/// let cos = Tensor::new(&[[1.0f32], [0.0]], &Device::Cpu)?;
/// let sin = Tensor::new(&[[0.0f32], [1.0]], &Device::Cpu)?;
/// let y = tilewright_candle::rope(&x, &cos, &sin)?;
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [1.0, 2.0, -2.0, 1.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn rope(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    rotate(Rope { heads_first: true, interleaved: false, back: false }, x, cos, sin)
}

/// [`rope`] of neighboring elements, `2 i` and `2 i + 1`, as `candle_nn::rotary_emb::rope_i`.
///
/// # Errors
/// As [`rope`].
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[[[1.0f32, 2.0, 3.0, 4.0]]]], &Device::Cpu)?;
/// let (cos, sin) = (Tensor::new(&[[0.0f32, 1.0]], &Device::Cpu)?, Tensor::new(&[[1.0f32, 0.0]], &Device::Cpu)?);
/// let y = tilewright_candle::rope_i(&x, &cos, &sin)?;
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [-2.0, 1.0, 3.0, 4.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn rope_i(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    rotate(Rope { heads_first: true, interleaved: true, back: false }, x, cos, sin)
}

/// [`rope`] of `(batch, tokens, heads, d)`, as `candle_nn::rotary_emb::rope_thd`: the layout of [`flash_attn`].
///
/// [`flash_attn`]: crate::flash_attn
///
/// # Errors
/// As [`rope`].
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[[[1.0f32, 2.0]], [[1.0, 2.0]]]], &Device::Cpu)?;
/// let (cos, sin) = (Tensor::new(&[[1.0f32], [0.0]], &Device::Cpu)?, Tensor::new(&[[0.0f32], [1.0]], &Device::Cpu)?);
/// let y = tilewright_candle::rope_thd(&x, &cos, &sin)?;
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [1.0, 2.0, -2.0, 1.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn rope_thd(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    rotate(Rope { heads_first: false, interleaved: false, back: false }, x, cos, sin)
}

fn rotate(rope: Rope, x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let table = |t: &Tensor| {
        if t.dtype() != DType::F32 && t.dtype() != x.dtype() {
            let (lhs, rhs, op) = (x.dtype(), t.dtype(), Rope::NAME);
            return Err(Error::DTypeMismatchBinaryOp { lhs, rhs, op }.bt());
        }
        t.detach().to_dtype(DType::F32)?.contiguous()
    };
    apply(rope, [&x.contiguous()?, &table(cos)?, &table(sin)?])
}

#[derive(Clone, Copy)]
struct Rope {
    /// Whether tokens follow heads in the shape.
    heads_first: bool,
    interleaved: bool,
    /// Whether it rotates back, as the gradient does.
    back: bool,
}

/// The sizes of a rotation.
struct Sizes {
    batch: usize,
    tokens: usize,
    heads: usize,
    columns: usize,
    /// Rows of a table.
    positions: usize,
    half: usize,
    /// Whether each sequence has a table.
    has_tables: bool,
}

impl Rope {
    fn sizes(&self, x: &Input<'_>, cos: &Input<'_>, sin: &Input<'_>) -> Result<Sizes> {
        let [batch, a, b, columns] = check::dims(x)?;
        let (heads, tokens) = if self.heads_first { (a, b) } else { (b, a) };
        let (positions, half, has_tables) = match *cos.dims() {
            [positions, half] => (positions, half, false),
            [_, positions, half] => (positions, half, true),
            _ => return Err(check::rank(2, cos.shape())),
        };
        cos.same_shape(sin)?;
        if has_tables {
            check::shape("rope: a table for each sequence", cos, (batch, positions, half))?;
        }
        if positions < tokens || 2 * half > columns {
            let msg = format!("rope: tables for {tokens} tokens of {columns} elements");
            let expected = Shape::from((tokens, columns / 2));
            return Err(Error::UnexpectedShape { msg, expected, got: cos.shape().clone() }.bt());
        }
        Ok(Sizes { batch, tokens, heads, columns, positions, half, has_tables })
    }
}

impl Operation<3> for Rope {
    const NAME: &'static str = "rope";

    fn output(&self, [x, cos, sin]: &[Input<'_>; 3]) -> Result<(DType, Shape)> {
        self.sizes(x, cos, sin)?;
        Ok((check::floats(Self::NAME, &[x])?, x.shape().clone()))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [x, cos, sin]: [Input<'a>; 3], y: Output<'a>) -> LaunchResult {
        let Sizes { batch, tokens, heads, columns, positions, half, has_tables } = self.sizes(&x, &cos, &sin)?;
        // With a table for each sequence there is a launch for each; else the sequences follow each other.
        let launches = if has_tables { batch } else { 1 };
        let (of_launch, of_table) = (x.shape().elem_count() / launches, positions * half);
        // If tokens follow heads, each head of a sequence is a sequence of one head.
        let heads = if self.heads_first { 1 } else { heads };
        for_float!(x.dtype(), Self::NAME, T => {
            for (i, y) in y.split::<T>(&vec![of_launch; launches])?.into_iter().enumerate() {
                let table = |t: Input<'a>| t.part::<f32>(i * of_table, of_table);
                let rope = ops::Rope::new(table(cos)?, table(sin)?, half);
                let rope = rope.interleaved(self.interleaved).sequences_of(tokens);
                let x = x.part::<T>(i * of_launch, of_launch)?;
                match self.back {
                    false => rope.launch(on, x, y, heads, columns)?,
                    true => rope.launch_backward(on, x, y, heads, columns)?,
                }
            }
            Ok(())
        })
    }

    fn gradients(&self, [_, cos, sin]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let back = Rope { back: !self.back, ..*self };
        Ok([Some(apply_no_bwd(back, [&grad.contiguous()?, cos, sin])?), None, None])
    }
}
derive_custom_op!(Rope, x, cos, sin);
