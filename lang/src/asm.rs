//! Inline assembly.

use crate::stub;
use crate::value::{Meaning, Tiles};

/// PTX for each element, with a closure that computes the same: Triton's `inline_asm_elementwise`. Kernels with it are
/// `unsafe fn`.
///
/// The text is that of Rust's `asm!`. `{0}` is the result, `{1}` and so on are the operands in their order. Several
/// results come before the operands. The text names all of them. A brace of PTX is written twice, as in
/// `"{{ .reg .pred p; .. }}"`. Labels are an error.
///
/// Operands are a tile or a scalar, or a tuple of up to 8 of them, which broadcast as for operators. The closure takes
/// an element of each, and gives one element, or a tuple of up to 8. It only computes with its arguments, without
/// operations on tiles. Its result types are the types of the operation's result. On the CPU and on the emulated SM,
/// where no PTX runs, the closure runs instead.
///
/// A number is in a register of 16, 32 or 64 bits, as its type has. `bool` and types of 8 bits are an error: convert
/// them.
///
/// The text has no effects and reads no memory: it may be left out, repeated or moved. Nothing checks that, or whether
/// the text and the closure compute the same. `ptxas` refuses a text that is not PTX when the crate is built.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// unsafe fn k(a: &[u32], b: &[u32], y: &mut [u32]) {
///     let (a, b) = (load(a, arange(4)), load(b, arange(4)));
///     store(y, arange(4), asm("lop3.b32 {0}, {1}, {2}, {2}, 0x30;", (a, b), |(a, b)| a & !b));
/// }
/// # }
/// let mut y = [0; 4];
/// // SAFETY: the instruction computes what the closure does.
/// Runtime::cpu().launch(unsafe { k(&[1, 2, 3, 4], &[1, 1, 1, 1], &mut y) })?;
/// assert_eq!(y, [0, 2, 2, 4]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn asm<T: Tiles, R: Meaning>(text: &str, operands: T, meaning: impl Fn(T::Elems) -> R) -> R::Tiles {
    let _ = (text, operands, meaning);
    stub()
}
