//! Kernels of several element types: a trait whose functions bind the kernels of a type.

/// Declares a trait with kernels and implements it for each of the types, so that the signature of a kernel stands
/// once. Users name another trait, which is sealed: they cannot name its supertrait, the one with the kernels. In
/// brackets are further supertraits.
///
/// ```text
/// by_type! {
///     /// The element types of `relu`.
///     pub trait Float: Kernels<'a> for [f32, f16, bf16] {
///         fn relu(x: SliceArg<'a, Self>, y: SliceMutArg<'a, Self>) -> Call<'a> {
///             k::relu(x, y)
///         }
///     }
/// }
/// ```
macro_rules! by_type {
    (
        $(#[$doc:meta])*
        pub trait $name:ident: $kernels:ident<$a:lifetime> $([$($more:tt)*])? for [$($t:ident),*] $body:tt
    ) => {
        $(#[$doc])*
        pub trait $name: $kernels $(+ $($more)*)? {}

        $crate::by_type::by_type!(@trait $kernels $a $body);
        $(impl $name for $t {} $crate::by_type::by_type!(@impl $kernels $a $t $body);)*
    };
    (@trait $kernels:ident $a:lifetime { $(
        fn $f:ident($($arg:ident: $of:ty),* $(,)?) -> $result:ty $code:block
    )* }) => {
        /// The kernels of an element type.
        #[allow(clippy::extra_unused_lifetimes, reason = "some functions bind no arguments")]
        pub trait $kernels: tilewright_core::Element {
            $(fn $f<$a>($($arg: $of),*) -> $result;)*
        }
    };
    (@impl $kernels:ident $a:lifetime $t:ident { $(
        fn $f:ident($($arg:ident: $of:ty),* $(,)?) -> $result:ty $code:block
    )* }) => {
        #[allow(clippy::extra_unused_lifetimes, reason = "some functions bind no arguments")]
        impl $kernels for $t {
            $(fn $f<$a>($($arg: $of),*) -> $result $code)*
        }
    };
}
pub(crate) use by_type;
