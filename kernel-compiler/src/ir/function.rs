//! The elementwise functions of one and of two values: one table for inference, the verifier and the code of all
//! backends.

use crate::dtype::DType;

/// The element types that a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Every type.
    Any,
    /// All but `bool`.
    Numbers,
    /// Floats of any size.
    Floats,
    /// Floats and integers with a sign.
    Signed,
    /// Integers of either sign, without `bool`.
    Integers,
    /// Integers and `bool`.
    Bits,
}

impl Takes {
    /// Whether a type is one of them. Callers exclude floats of 8 bits, which have no arithmetic.
    pub fn holds(self, d: DType) -> bool {
        match self {
            Takes::Any => true,
            Takes::Numbers => d != DType::Bool,
            Takes::Floats => d.is_float(),
            Takes::Signed => d.is_float() || d.is_signed(),
            Takes::Integers => d.is_int(),
            Takes::Bits => !d.is_float(),
        }
    }
}

/// The element type of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    /// That of the first operand.
    Same,
    Bool,
    I32,
}

macro_rules! functions {
    (
        $(#[$doc:meta])* $kind:ident:
        operators {
            $($(#[$operator_doc:meta])*
            $operator:ident $operator_name:literal $operator_takes:ident $operator_gives:ident;)+
        }
        named { $($(#[$function_doc:meta])* $function:ident $name:literal $takes:ident $gives:ident;)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind { $($(#[$operator_doc])* $operator,)+ $($(#[$function_doc])* $function,)+ }

        impl $kind {
            /// Every function, operators first.
            pub const ALL: &[$kind] = &[$($kind::$operator,)+ $($kind::$function,)+];
            const NAMED: &[$kind] = &[$($kind::$function,)+];

            /// Function of `tilewright_core::scalar`.
            pub fn name(self) -> &'static str {
                match self { $($kind::$operator => $operator_name,)+ $($kind::$function => $name,)+ }
            }

            /// The types of its first operand.
            pub fn takes(self) -> Takes {
                match self { $($kind::$operator => Takes::$operator_takes,)+ $($kind::$function => Takes::$takes,)+ }
            }

            /// The type of its result, for a first operand of this type.
            pub fn gives(self, first: DType) -> DType {
                let gives = match self {
                    $($kind::$operator => Gives::$operator_gives,)+
                    $($kind::$function => Gives::$gives,)+
                };
                match gives {
                    Gives::Same => first,
                    Gives::Bool => DType::Bool,
                    Gives::I32 => DType::I32,
                }
            }

            /// The function that a kernel calls by this name.
            pub fn parse(name: &str) -> Option<$kind> {
                $kind::NAMED.iter().copied().find(|f| f.name() == name)
            }
        }
    };
}

functions! {
    /// A function of one value.
    Unary:
    operators {
        /// `-x`.
        Neg "neg" Signed Same;
        /// `!x`: the other `bool`, or all bits inverted.
        Not "not" Bits Same;
    }
    named {
        /// The absolute value. That of the least integer is itself.
        Abs "abs" Numbers Same;
        /// The greatest whole number that is not above `x`.
        Floor "floor" Floats Same;
        /// The least whole number that is not below `x`.
        Ceil "ceil" Floats Same;
        /// The whole number next to `x` towards 0.
        Trunc "trunc" Floats Same;
        /// The nearest whole number; ties go to the even one.
        Rint "rint" Floats Same;
        /// The nearest whole number; ties go away from 0.
        Round "round" Floats Same;
        /// The square root.
        Sqrt "sqrt" Floats Same;
        /// The reciprocal of the square root.
        Rsqrt "rsqrt" Floats Same;
        /// The cube root.
        Cbrt "cbrt" Floats Same;
        /// The reciprocal.
        Recip "recip" Floats Same;
        /// e to the power of `x`.
        Exp "exp" Floats Same;
        /// 2 to the power of `x`.
        Exp2 "exp2" Floats Same;
        /// 10 to the power of `x`.
        Exp10 "exp10" Floats Same;
        /// `exp(x) - 1`, also accurate near 0.
        Expm1 "expm1" Floats Same;
        /// The natural logarithm.
        Log "log" Floats Same;
        /// The logarithm to base 2.
        Log2 "log2" Floats Same;
        /// The logarithm to base 10.
        Log10 "log10" Floats Same;
        /// `log(1 + x)`, also accurate near 0.
        Log1p "log1p" Floats Same;
        /// The sine of an angle in radians.
        Sin "sin" Floats Same;
        /// The cosine of an angle in radians.
        Cos "cos" Floats Same;
        /// The tangent of an angle in radians.
        Tan "tan" Floats Same;
        /// The arc sine, in radians.
        Asin "asin" Floats Same;
        /// The arc cosine, in radians.
        Acos "acos" Floats Same;
        /// The arc tangent, in radians.
        Atan "atan" Floats Same;
        /// The hyperbolic sine.
        Sinh "sinh" Floats Same;
        /// The hyperbolic cosine.
        Cosh "cosh" Floats Same;
        /// The hyperbolic tangent.
        Tanh "tanh" Floats Same;
        /// The inverse hyperbolic sine.
        Asinh "asinh" Floats Same;
        /// The inverse hyperbolic cosine.
        Acosh "acosh" Floats Same;
        /// The inverse hyperbolic tangent.
        Atanh "atanh" Floats Same;
        /// The error function.
        Erf "erf" Floats Same;
        /// `1 - erf(x)`, also accurate for large `x`.
        Erfc "erfc" Floats Same;
        /// The inverse of the error function.
        Erfinv "erfinv" Floats Same;
        /// The logarithm of the absolute value of the gamma function.
        Lgamma "lgamma" Floats Same;
        /// The gamma function.
        Tgamma "tgamma" Floats Same;
        /// `1 / (1 + exp(-x))`.
        Sigmoid "sigmoid" Floats Same;
        /// Whether it is NaN.
        Isnan "isnan" Floats Bool;
        /// Whether it is an infinity of either sign.
        Isinf "isinf" Floats Bool;
        /// Whether it is neither NaN nor an infinity.
        Isfinite "isfinite" Floats Bool;
        /// The number of bits that are 1.
        Popc "popc" Integers I32;
        /// The number of zeros above the highest bit that is 1; of 0 the number of bits.
        Clz "clz" Integers I32;
        /// The position of the lowest bit that is 1, counted from 1; 0 if there is none.
        Ffs "ffs" Integers I32;
        /// The bits in reverse order.
        Brev "brev" Integers Same;
    }
}

functions! {
    /// A function of two values, of one element type unless [`Binary::second`] says another.
    Binary:
    operators {
        /// `a + b`; integers wrap.
        Add "add" Numbers Same;
        /// `a - b`; integers wrap.
        Sub "sub" Numbers Same;
        /// `a * b`; integers wrap.
        Mul "mul" Numbers Same;
        /// `a / b`, towards 0 for integers, of which `x / 0` is 0.
        Div "div" Numbers Same;
        /// `a % b`, with the sign of `a`; of integers `x % 0` is 0.
        Rem "rem" Numbers Same;
        /// The lesser value; of a number and NaN the number.
        Min "min" Numbers Same;
        /// The greater value; of a number and NaN the number.
        Max "max" Numbers Same;
        /// The lesser value; NaN if one is NaN.
        MinNan "min_nan" Floats Same;
        /// The greater value; NaN if one is NaN.
        MaxNan "max_nan" Floats Same;
        /// `a & b`.
        And "and" Bits Same;
        /// `a | b`.
        Or "or" Bits Same;
        /// `a ^ b`.
        Xor "xor" Bits Same;
        /// `a << b`, with `b` modulo the number of bits.
        Shl "shl" Integers Same;
        /// `a >> b`, with `b` modulo the number of bits and copies of the sign for signed types.
        Shr "shr" Integers Same;
        /// `a == b`.
        Eq "eq" Any Bool;
        /// `a != b`.
        Ne "ne" Any Bool;
        /// `a < b`.
        Lt "lt" Numbers Bool;
        /// `a <= b`.
        Le "le" Numbers Bool;
        /// `a > b`.
        Gt "gt" Numbers Bool;
        /// `a >= b`.
        Ge "ge" Numbers Bool;
    }
    named {
        /// `a` to the power of `b`.
        Pow "pow" Floats Same;
        /// The angle of the point `(b, a)`, in radians.
        Atan2 "atan2" Floats Same;
        /// `sqrt(a² + b²)` without overflow in between.
        Hypot "hypot" Floats Same;
        /// The absolute value of `a` with the sign of `b`.
        Copysign "copysign" Floats Same;
        /// The float next to `a` towards `b`.
        Nextafter "nextafter" Floats Same;
        /// `a · 2^b`, of an `i32` `b`.
        Ldexp "ldexp" Floats Same;
        /// The upper half of the bits of the product.
        Mulhi "mulhi" Integers Same;
    }
}

impl Binary {
    /// The type of the second operand, for a first one of this type.
    pub fn second(self, first: DType) -> DType {
        if self == Binary::Ldexp { DType::I32 } else { first }
    }

    /// `max` and `min` where NaN wins.
    pub(crate) fn propagating_nan(self) -> Binary {
        match self {
            Binary::Max => Binary::MaxNan,
            Binary::Min => Binary::MinNan,
            other => other,
        }
    }
}
