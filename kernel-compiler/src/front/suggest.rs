//! Names of Triton, of NumPy and of Rust's standard library that kernels do not have, and their replacements.

use crate::front::ast::{Expr, ExprKind, Pattern};
use proc_macro2::Ident;

pub const INDEX: &str = "only an array of values is indexed, by a constant: `load(x, i)` reads elements, `.expand(axis)` \
     adds a dimension, `t.0` is a field of a tuple";
pub const NEW_DIMENSION: &str = "tiles are not indexed: `.expand(axis)` adds a dimension, `i.expand(1)` is `i[:, None]`, \
     `i.expand(0)` is `i[None, :]`";
const NO_HEAP: &str = "a kernel has no heap: a tile holds elements, `zeros::<f32>([N])`, `full([N], v)`, `load(x, i)`; \
     a tuple holds several values";

pub const TYPE_ARGUMENT: &str = "a type is in `::<>`, `x.to::<f32>()`, or that of a value, `x.to(y.dtype())`";

/// One element of a tile of rank 1, of a type with this zero.
pub fn element_of_tile(extent: usize, zero: &str) -> String {
    format!("tiles are not indexed: element `i` of this tile is `sum(where_(arange({extent}) == i, t, {zero}))`")
}

/// `let (value, index) = max(t, 1)`, as with `return_indices` of Triton.
pub fn indices_of(pattern: &Pattern, init: &Expr) -> Option<String> {
    let (Pattern::Tuple(names), ExprKind::Call { name, .. }) = (pattern, &init.kind) else { return None };
    let index = match name.to_string().as_str() {
        "max" => "argmax",
        "min" => "argmin",
        _ => return None,
    };
    (names.len() == 2).then(|| format!("`{name}` gives the values alone: `{index}(t, axis)` gives their indices"))
}

/// A type of the standard library that owns memory, before `::` or as a type.
pub fn owner(name: &Ident) -> Option<&'static str> {
    ["Vec", "VecDeque", "Box", "String", "HashMap", "BTreeMap", "Rc", "Arc"]
        .iter()
        .any(|o| name == o)
        .then_some(NO_HEAP)
}

/// A module of Python that operations are called by.
pub fn is_prefix(name: &str) -> bool {
    matches!(name, "tl" | "triton" | "np" | "torch" | "math" | "libdevice")
}

/// The element type of another language's name.
pub fn element(name: &str) -> Option<&'static str> {
    Some(match name {
        "float32" | "fp32" | "float" | "single" => "f32",
        "float64" | "fp64" | "double" => "f64",
        "float16" | "fp16" | "half" => "f16",
        "bfloat16" => "bf16",
        "float8e4nv" | "float8e4m3" | "float8_e4m3fn" | "float8e4m3fn" | "fp8e4m3" => "f8e4m3",
        "float8e5" | "float8e5m2" | "float8_e5m2" | "fp8e5m2" => "f8e5m2",
        "int8" => "i8",
        "int16" | "short" => "i16",
        "int32" | "int" => "i32",
        "int64" | "long" => "i64",
        "uint8" | "byte" => "u8",
        "uint16" => "u16",
        "uint32" => "u32",
        "uint64" => "u64",
        "int1" | "bool_" | "boolean" => "bool",
        _ => return None,
    })
}

/// A name where a value is expected.
pub fn value(name: &str) -> Option<String> {
    // `half` and `long` may be values of a kernel's own.
    if let Some(ours) = element(name).filter(|_| name.contains(|c: char| c.is_ascii_digit())) {
        return Some(format!("`{ours}` is that element type, as in `x.to::<{ours}>()` and `zeros::<{ours}>([N])`"));
    }
    let cure = match name {
        "None" => "`.expand(axis)` adds a dimension; what an access does not need is left out",
        "True" => "write `true`",
        "False" => "write `false`",
        "inf" => "write `f32::INFINITY`",
        "nan" => "write `f32::NAN`",
        n if is_prefix(n) => "operations have no prefix, as in `load(x, i)` and `exp(x)`",
        _ => return None,
    };
    Some(cure.into())
}

/// A field.
pub fn field(name: &str) -> Option<String> {
    if let Some(ours) = element(name) {
        return Some(format!("the element type is `{ours}`, as in `x.to::<{ours}>()`"));
    }
    let cure = match name {
        "T" | "mT" => "`trans(x)` is the transposed tile",
        "shape" | "size" | "ndim" => "`t.dim(axis)` is an extent of a tile or a view, `x.len()` of a slice",
        "dtype" => "write `x.dtype()`",
        "constexpr" => "a constant is a const parameter of the kernel: `const BLOCK: usize`",
        "math" | "extra" | "libdevice" | "language" => "operations have no prefix, as in `exp(x)`",
        _ => return None,
    };
    Some(cure.into())
}

/// The name of an argument.
pub fn argument(name: &str) -> Option<&'static str> {
    Some(match name {
        "mask" => "a mask follows the access, `load(x, i).mask(m)`",
        "other" => "it follows the load, `load(x, i).mask(m).other(v)`",
        "axis" | "dim" => "an axis is the last argument, as in `sum(x, 1)` and `program_id(0)`",
        "dtype" => "an element type is in `::<>`, `zeros::<f32>([M, N])`, `x.to::<f32>()`",
        "acc" => "an accumulator is the third argument, `dot(a, b, acc)`",
        "allow_tf32" | "input_precision" => "the precision follows the product, `dot(a, b, acc).tf32()`",
        "cache_modifier" | "eviction_policy" => {
            "a hint follows the access: `.evict_first()`, `.evict_last()` or `.no_l1()`"
        }
        "num_stages" => "stages follow the range, `range(a, b, s).stages(3)`",
        "sem" | "scope" => "an atomic is acquire and release at device scope, with `.relaxed()` neither",
        "keep_dims" => "`sum(x, 1).expand(1)` keeps the dimension",
        "propagate_nan" => "it follows the operation, `maximum(a, b).propagate_nan()`",
        _ => return None,
    })
}

/// A macro.
pub fn macro_(name: &str) -> Option<&'static str> {
    Some(match name {
        "vec" => NO_HEAP,
        "println" | "print" | "eprintln" | "dbg" | "format" => "print with `device_print!(\"label\", v)`",
        "assert" | "debug_assert" | "assert_eq" | "assert_ne" | "panic" | "unreachable" => {
            "check with `device_assert!(condition, \"message\")`, constants with `static_assert!`"
        }
        _ => return None,
    })
}

/// An operation, or a function of Rust.
pub fn operation(name: &str) -> Option<&'static str> {
    Some(match name {
        "where" | "select" => "write `where_(c, a, b)`",
        "relu" => "write `maximum(x, 0.0)`",
        "float" => "convert with `.to::<f32>()`; infinity is `f32::INFINITY`",
        "int" | "f32" | "cast" | "astype" => "convert with `.to::<T>()`",
        "println" | "print" => "print with `device_print!(\"label\", v)`",
        "transpose" | "t" => "write `trans(x)`",
        "matmul" => "write `dot(a, b, acc)`",
        "expand_dims" | "unsqueeze" => "write `expand(t, axis)`",
        "broadcast_to" | "expand_as" => "write `broadcast(t, [M, N])`",
        "view" | "ravel" => "write `reshape(t, [M, N])`",
        "zeros_like" => "write `zeros::<T>([M, N])`",
        "full_like" | "ones" | "ones_like" => "write `full([M, N], v)`",
        "powi" | "powf" => "write `pow(x, y)`; of a small whole power products, as `x * x`",
        "fmod" => "write `x % y`, which is exact and has the sign of `x`",
        "fract" => "write `x - trunc(x)`, or `x - floor(x)` for what is not negative",
        "div_rn" | "fdiv" => "write `a / b`, which is correctly rounded",
        "sqrt_rn" => "write `sqrt(x)`, which is correctly rounded",
        "round_ties_even" | "nearbyint" => "write `rint(x)`",
        "is_nan" => "write `isnan(x)`",
        "is_infinite" => "write `isinf(x)`",
        "is_finite" | "finitef" | "isfinited" => "write `isfinite(x)`",
        "umulhi" | "mul_hi" => "write `mulhi(a, b)`",
        "count_ones" | "popcount" => "write `popc(x)`",
        "leading_zeros" => "write `clz(x)`",
        "trailing_zeros" => "write `ffs(x) - 1`",
        "reverse_bits" => "write `brev(x)`",
        "fabs" => "write `abs(x)`",
        "ln" => "write `log(x)`",
        "ln_1p" => "write `log1p(x)`",
        "exp_m1" => "write `expm1(x)`",
        "fmax" => "write `maximum(a, b)`",
        "fmin" => "write `minimum(a, b)`",
        "exp_" => "write `exp(x)`",
        "softmax" => "write `let e = exp(x - max(x, 1).expand(1));` and `e / sum(e, 1).expand(1)`",
        "make_block_ptr" | "make_tensor_descriptor" => "take a `View<T, R>` as parameter: `v.tile([i, j], [M, N])`",
        "advance" => "give the offsets to each `v.tile([i, j], [M, N])`",
        "multiple_of" | "max_contiguous" | "max_constancy" | "assume" => {
            "leave it out: alignment and contiguity are found by the compiler"
        }
        "debug_barrier" | "__syncthreads" | "syncthreads" | "sync_threads" | "sync" | "barrier" => {
            "leave it out: barriers are placed by the compiler"
        }
        "make_range" => "write `arange(N)`",
        "size" => "`t.dim(axis)` is an extent of a tile or a view, `x.len()` of a slice",
        "push" | "collect" | "iter" | "map" | "get" => "a tile has a fixed shape; operations apply to all elements",
        "clone" => "leave it out: scalars and tiles are copied",
        "unwrap" | "expect" => {
            "an optional parameter is taken with `if let Some(v) = v { .. }`; nothing else is an `Option`"
        }
        "inline_asm_elementwise" => "write `asm(\"..\", (a, b), |(a, b)| ..)`",
        "associative_scan" => "write `scan(t, axis, |a, b| ..)`",
        "rand" | "randn" | "randint" | "rand4x" | "randn4x" | "randint4x" | "philox" => {
            "it is in a library: put the kernel in a #[tile_module(use tilewright::random)]"
        }
        "mean" => "divide `sum(x, axis)` by the number of elements",
        "any" => "use `max` of the mask as integers: `max(m.to::<i32>()) != 0`",
        "all" => "use `min` of the mask as integers: `min(m.to::<i32>()) != 0`",
        "mul_add" => "write `fma(a, b, c)`",
        "signum" => "write `copysign(1.0, x)`",
        "roll" => "load at the index `(i + k) % N`, or write `gather(t, (arange(N) + k) % N, axis)`",
        _ => return None,
    })
}
