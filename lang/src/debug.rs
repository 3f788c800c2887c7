//! Assertions and prints.

/// Stops the build where the constant condition does not hold, with the message.
///
/// The condition is a constant; a variable one is an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(y: &mut [f32]) {
///     const BLOCK: usize = 64;
///     static_assert!(BLOCK % 32 == 0, "a block is whole warps");
///     store(y, arange(BLOCK), 1.0);
/// }
/// # }
/// let mut y = [0.0; 64];
/// Runtime::cpu().launch(k(&mut y))?;
/// assert_eq!(y, [1.0; 64]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[macro_export]
macro_rules! static_assert {
    ($condition:expr $(, $message:expr)? $(,)?) => {{
        let _: bool = $condition;
        $( let _: &str = $message; )?
    }};
}

/// Stops the program where the condition does not hold for an element, with the message and the line.
///
/// The condition is a `bool` or a tile of them, and the message a literal.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let v = load(x, arange(2));
///     device_assert!(v >= 0.0, "the root of a negative number");
///     store(y, arange(2), sqrt(v));
/// }
/// # }
/// let (rt, mut y) = (Runtime::cpu(), [0.0; 2]);
/// rt.launch(k(&[4.0, 9.0], &mut y))?;
/// assert_eq!(y, [2.0, 3.0]);
/// let e = rt.launch(k(&[4.0, -9.0], &mut y)).unwrap_err();
/// assert!(e.to_string().contains("the root of a negative number"), "{e}");
/// # Ok::<(), tilewright::Error>(())
/// ```
#[macro_export]
macro_rules! device_assert {
    ($condition:expr $(, $message:expr)? $(,)?) => {{
        let _ = $condition;
        $( let _: &str = $message; )?
    }};
}

/// Prints the label and one value.
///
/// The label is a literal without `{}`. A second value is an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let total = sum(load(x, arange(4)));
///     device_print!("total", total);
///     store(y, 0, total);
/// }
/// # }
/// let mut y = [0.0];
/// Runtime::cpu().launch(k(&[1.0, 2.0], &mut y))?;
/// assert_eq!(y, [3.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[macro_export]
macro_rules! device_print {
    ($label:expr, $value:expr $(,)?) => {{
        let _: &str = $label;
        let _ = $value;
    }};
}
