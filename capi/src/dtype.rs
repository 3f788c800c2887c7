//! Element types by their numbers.

/// Calls an expression for the element type of a dtype of floats, as the type `$t`.
macro_rules! by_float {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            $crate::TILE_DTYPE_F32 => {
                type $t = f32;
                $body
            }
            $crate::TILE_DTYPE_F16 => {
                type $t = tilewright_core::f16;
                $body
            }
            $crate::TILE_DTYPE_BF16 => {
                type $t = tilewright_core::bf16;
                $body
            }
            other => Err($crate::guard::Failure::argument(format!("dtype is {other}: 0 is f32, 1 f16, 2 bf16"))),
        }
    };
}
pub(crate) use by_float;
