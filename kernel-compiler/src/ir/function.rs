//! The elementwise functions of one and of two values: one table for inference, the verifier and the code of all
//! backends.

use crate::dtype::DType;

/// The element types that a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Any,
    /// All but `bool`.
    Numbers,
    Floats,
    /// Floats and integers with a sign.
    Signed,
    Integers,
    /// Integers and `bool`.
    Bits,
}

impl Takes {
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
        operators { $($operator:ident $operator_name:literal $operator_takes:ident $operator_gives:ident;)+ }
        named { $($function:ident $name:literal $takes:ident $gives:ident;)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind { $($operator,)+ $($function,)+ }

        impl $kind {
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
        Neg "neg" Signed Same;
        Not "not" Bits Same;
    }
    named {
        Abs "abs" Numbers Same;
        Floor "floor" Floats Same;
        Ceil "ceil" Floats Same;
        Trunc "trunc" Floats Same;
        Rint "rint" Floats Same;
        Round "round" Floats Same;
        Sqrt "sqrt" Floats Same;
        Rsqrt "rsqrt" Floats Same;
        Cbrt "cbrt" Floats Same;
        Recip "recip" Floats Same;
        Exp "exp" Floats Same;
        Exp2 "exp2" Floats Same;
        Exp10 "exp10" Floats Same;
        Expm1 "expm1" Floats Same;
        Log "log" Floats Same;
        Log2 "log2" Floats Same;
        Log10 "log10" Floats Same;
        Log1p "log1p" Floats Same;
        Sin "sin" Floats Same;
        Cos "cos" Floats Same;
        Tan "tan" Floats Same;
        Asin "asin" Floats Same;
        Acos "acos" Floats Same;
        Atan "atan" Floats Same;
        Sinh "sinh" Floats Same;
        Cosh "cosh" Floats Same;
        Tanh "tanh" Floats Same;
        Asinh "asinh" Floats Same;
        Acosh "acosh" Floats Same;
        Atanh "atanh" Floats Same;
        Erf "erf" Floats Same;
        Erfc "erfc" Floats Same;
        Erfinv "erfinv" Floats Same;
        Lgamma "lgamma" Floats Same;
        Tgamma "tgamma" Floats Same;
        Sigmoid "sigmoid" Floats Same;
        Isnan "isnan" Floats Bool;
        Isinf "isinf" Floats Bool;
        Isfinite "isfinite" Floats Bool;
        Popc "popc" Integers I32;
        Clz "clz" Integers I32;
        Ffs "ffs" Integers I32;
        Brev "brev" Integers Same;
    }
}

functions! {
    /// A function of two values, of one element type unless [`Binary::second`] says another.
    Binary:
    operators {
        Add "add" Numbers Same;
        Sub "sub" Numbers Same;
        Mul "mul" Numbers Same;
        Div "div" Numbers Same;
        Rem "rem" Numbers Same;
        Min "min" Numbers Same;
        Max "max" Numbers Same;
        MinNan "min_nan" Floats Same;
        MaxNan "max_nan" Floats Same;
        And "and" Bits Same;
        Or "or" Bits Same;
        Xor "xor" Bits Same;
        Shl "shl" Integers Same;
        Shr "shr" Integers Same;
        Eq "eq" Any Bool;
        Ne "ne" Any Bool;
        Lt "lt" Numbers Bool;
        Le "le" Numbers Bool;
        Gt "gt" Numbers Bool;
        Ge "ge" Numbers Bool;
    }
    named {
        Pow "pow" Floats Same;
        Atan2 "atan2" Floats Same;
        Hypot "hypot" Floats Same;
        Copysign "copysign" Floats Same;
        Nextafter "nextafter" Floats Same;
        Ldexp "ldexp" Floats Same;
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
