//! Assertions and prints.

/// Stops the build where the constant condition does not hold, with the message.
///
/// The condition is a constant; a variable one is an error.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(y: &mut [f32]) {
///     const BLOCK: usize = 64;
///     static_assert!(BLOCK % 32 == 0, "a block is whole warps");
///     store(y, arange(BLOCK), 1.0);
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let v = load(x, arange(64));
///     device_assert!(v >= 0.0, "a root of a negative number");
///     store(y, arange(64), sqrt(v));
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let total = sum(load(x, arange(64)));
///     device_print!("total", total);
///     store(y, 0, total);
/// }
/// ```
#[macro_export]
macro_rules! device_print {
    ($label:expr, $value:expr $(,)?) => {{
        let _: &str = $label;
        let _ = $value;
    }};
}
