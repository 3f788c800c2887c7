//! Macros that make operations of candle.

/// Makes a candle operation of a kernel: a struct with the kernel's scalars, which is a `CustomOp1`, `CustomOp2` or
/// `CustomOp3` by the number of its tensors.
///
/// - `types T in [..]` are the element types that the kernel is compiled for, by their names in kernels.
/// - `fn(self, x: &[T], ..) -> y: &mut [T] = shape` lists one to three tensors and the result. The types are those of
///   the kernel's parameters: `&[T]` takes a contiguous tensor, [`View<T, R>`](crate::View) one of rank `R` with any
///   strides, broadcast dimensions included. The shape of the result is an expression of `self` and of the tensors,
///   which are of type [`Input`](crate::Input) there. `?` returns an error of candle from it.
/// - `launch` is the call of the kernel.
/// - `bwd(dy) { x: op => (..), .. }` names the operation that computes the gradient of each tensor, and its arguments:
///   tensors, the result, and its gradient, here `dy`. A tensor that is not named has no gradient. They are made
///   contiguous. Without `bwd` a backward pass returns `BackwardNotSupported`.
///
/// On the CPU the kernel reads candle's memory and runs on all cores. With the feature `cuda` it runs on the GPU, on
/// candle's stream. There it needs a build script, as all kernels do.
///
/// # Errors
/// A tensor of another dtype is an `UnsupportedDTypeForOp`, and a strided tensor for a slice `RequiresContiguous`.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor, Var};
/// use tilewright::tile_kernel;
/// use tilewright_candle::custom_op;
///
/// /// y = factor * x.
/// #[tile_kernel(types(T = [f32, f16, bf16]), grid = [cdiv(y.len(), 1024)])]
/// pub fn scale<T: Float>(factor: f32, x: &[T], y: &mut [T]) {
///     let i = program_id(0) * 1024 + arange(1024);
///     store(y, i, (factor * load(x, i).to::<f32>()).to::<T>());
/// }
///
/// custom_op! {
///     /// Multiplies by a factor.
///     #[derive(Clone, Copy)]
///     pub struct Scale { factor: f32 }
///     types T in [f32, f16, bf16];
///     fn(self, x: &[T]) -> y: &mut [T] = x.dims();
///     launch scale(self.factor, x, y);
///     bwd(dy) { x: Scale { factor: self.factor } => (dy) }
/// }
///
/// let x = Var::new(&[1.0f32, 2.0], &Device::Cpu)?;
/// let y = x.apply_op1(Scale { factor: 3.0 })?;
/// assert_eq!(y.to_vec1::<f32>()?, [3.0, 6.0]);
/// let gradients = y.sum_all()?.backward()?;
/// assert_eq!(gradients.get(&x).expect("a gradient").to_vec1::<f32>()?, [3.0, 3.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
/// Views have the strides of the tensor, here those of a transpose and of a broadcast row:
/// ```
/// use candle_core::{Device, Tensor};
/// use tilewright::tile_kernel;
/// use tilewright_candle::custom_op;
///
/// #[tile_kernel(grid = [cdiv(x.dim(0), 16), cdiv(x.dim(1), 64)])]
/// pub fn add(x: View<f32, 2>, bias: View<f32, 2>, mut y: ViewMut<f32, 2>) {
///     let at = [program_id(0) * 16, program_id(1) * 64];
///     y.store(at, x.tile(at, [16, 64]) + bias.tile(at, [16, 64]));
/// }
/// custom_op! {
///     pub struct Add;
///     types T in [f32];
///     fn(self, x: View<T, 2>, bias: View<T, 2>) -> y: ViewMut<T, 2> = x.same_shape(bias)?;
///     launch add(x, bias, y);
/// }
///
/// let x = Tensor::new(&[[1.0f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let bias = Tensor::new(&[10.0f32, 20.0], &Device::Cpu)?.broadcast_as((2, 2))?;
/// assert_eq!(x.t()?.apply_op2(&bias, Add)?.to_vec2::<f32>()?, [[11.0, 23.0], [12.0, 24.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[macro_export]
macro_rules! custom_op {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $({ $($fields:tt)* })? $(;)?
        types $t:ident in [$($ty:ty),+ $(,)?];
        fn $inputs:tt -> $y:ident : $yty:ty = $shape:expr;
        launch $call:expr;
        $(bwd($dy:ident) { $($bwd:tt)* })?
    ) => {
        $crate::custom_op!(@struct [$(#[$meta])*] $vis $name $({ $($fields)* })?);
        $crate::custom_op!(@derive $name $inputs);
        $crate::custom_op!(
            @operation $name $inputs $inputs [$t: $($ty),+] [$y: $yty = $shape] [$call]
            { $($dy: $($bwd)*)? }
        );
    };
    (@struct [$($meta:tt)*] $vis:vis $name:ident) => { $($meta)* $vis struct $name; };
    (@struct [$($meta:tt)*] $vis:vis $name:ident $fields:tt) => { $($meta)* $vis struct $name $fields };
    (@derive $name:ident ($this:ident, $($x:ident : $xty:ty),+ $(,)?)) => {
        $crate::derive_custom_op!($name, $($x),+);
    };
    (
        @operation $name:ident ($this:ident, $($x:ident : $xty:ty),+ $(,)?) $inputs:tt [$t:ident : $($ty:ty),+]
        [$y:ident : $yty:ty = $shape:expr] [$call:expr] $bwd:tt
    ) => {
        #[allow(unused_imports, dead_code, unused_variables)]
        const _: () = {
            use $crate::private::{self, bf16, f8e4m3, f16};
            use $crate::{View, ViewMut};

            const NAMES: &[&str] = &[$(stringify!($x)),+];

            impl private::Operation<{ NAMES.len() }> for $name {
                const NAME: &'static str = stringify!($name);

                fn output(
                    &$this,
                    inputs: &[private::Input<'_>; NAMES.len()],
                ) -> private::candle::Result<(private::candle::DType, private::candle::Shape)> {
                    let [$($x),+] = inputs;
                    let mut dtype = None;
                    $($crate::custom_op!(@dtype dtype $inputs $t $ty, $yty);)+
                    let Some(dtype) = dtype else { return Err(private::no_types(stringify!($name), inputs)) };
                    Ok((dtype, private::candle::Shape::from($shape)))
                }

                fn launch<'a>(
                    &$this,
                    on: &private::ExecOptions<'_>,
                    inputs: [private::Input<'a>; NAMES.len()],
                    output: private::Output<'a>,
                ) -> ::core::result::Result<(), private::Failure> {
                    $($crate::custom_op!(@launch on inputs output $inputs $t $ty, $y $yty, $call);)+
                    Err(private::no_types(stringify!($name), &inputs).into())
                }

                $crate::custom_op!(@gradients $this [$($x)+] $y $bwd);
            }
        };
    };
    (@dtype $dtype:ident ($this:ident, $($x:ident : $xty:ty),+ $(,)?) $t:ident $ty:ty, $yty:ty) => {{
        type $t = $ty;
        if $dtype.is_none() $(&& private::reads::<$xty>($x))+ {
            $dtype = Some(private::dtype_of::<$yty>());
        }
    }};
    (
        @launch $on:ident $inputs:ident $output:ident ($this:ident, $($x:ident : $xty:ty),+ $(,)?)
        $t:ident $ty:ty, $y:ident $yty:ty, $call:expr
    ) => {{
        type $t = $ty;
        let [$($x),+] = $inputs;
        if true $(&& private::reads::<$xty>(&$x))+ {
            $(let $x = private::input::<$xty>(&$x)?;)+
            let $y = private::output::<$yty>($output)?;
            return Ok(private::Executor::launch($on, $call)?);
        }
    }};
    (@gradients $this:ident [$($x:ident)+] $y:ident {}) => {};
    (
        @gradients $this:ident [$($x:ident)+] $y:ident
        { $dy:ident : $($of:ident : $op:expr => ($($arg:ident),+ $(,)?)),* $(,)? }
    ) => {
        fn gradients(
            &$this,
            [$($x),+]: [&private::candle::Tensor; NAMES.len()],
            $y: &private::candle::Tensor,
            $dy: &private::candle::Tensor,
        ) -> private::candle::Result<[Option<private::candle::Tensor>; NAMES.len()]> {
            let mut gradients = [const { None }; NAMES.len()];
            $(
                gradients[const { private::index_of(NAMES, stringify!($of)) }] =
                    Some(private::apply_no_bwd($op, [$(&$arg.contiguous()?),+])?);
            )*
            Ok(gradients)
        }
    };
}

/// Makes a type with an implementation of [`Operation<N>`](crate::Operation) a `CustomOpN` of candle. The names of its
/// tensors follow the type.
///
/// [`Operation`](crate::Operation) has an example.
#[macro_export]
macro_rules! derive_custom_op {
    ($name:ty, $x:ident) => {
        impl $crate::private::candle::CustomOp1 for $name {
            $crate::derive_custom_op!(@methods 1 $x layout);

            fn bwd(
                &self,
                $x: &$crate::private::candle::Tensor,
                result: &$crate::private::candle::Tensor,
                grad: &$crate::private::candle::Tensor,
            ) -> $crate::private::candle::Result<Option<$crate::private::candle::Tensor>> {
                let [gradient] = $crate::private::Operation::<1>::gradients(self, [$x], result, grad)?;
                Ok(gradient)
            }
        }
    };
    ($name:ty, $x:ident, $y:ident) => {
        impl $crate::private::candle::CustomOp2 for $name {
            $crate::derive_custom_op!(@methods 2 $x of_first $y of_second);

            fn bwd(
                &self,
                $x: &$crate::private::candle::Tensor,
                $y: &$crate::private::candle::Tensor,
                result: &$crate::private::candle::Tensor,
                grad: &$crate::private::candle::Tensor,
            ) -> $crate::private::candle::Result<(
                Option<$crate::private::candle::Tensor>,
                Option<$crate::private::candle::Tensor>,
            )> {
                let [first, second] = $crate::private::Operation::<2>::gradients(self, [$x, $y], result, grad)?;
                Ok((first, second))
            }
        }
    };
    ($name:ty, $x:ident, $y:ident, $z:ident) => {
        impl $crate::private::candle::CustomOp3 for $name {
            $crate::derive_custom_op!(@methods 3 $x of_first $y of_second $z of_third);

            fn bwd(
                &self,
                $x: &$crate::private::candle::Tensor,
                $y: &$crate::private::candle::Tensor,
                $z: &$crate::private::candle::Tensor,
                result: &$crate::private::candle::Tensor,
                grad: &$crate::private::candle::Tensor,
            ) -> $crate::private::candle::Result<(
                Option<$crate::private::candle::Tensor>,
                Option<$crate::private::candle::Tensor>,
                Option<$crate::private::candle::Tensor>,
            )> {
                let inputs = [$x, $y, $z];
                let [first, second, third] =
                    $crate::private::Operation::<3>::gradients(self, inputs, result, grad)?;
                Ok((first, second, third))
            }
        }
    };
    (@methods $n:literal $($x:ident $layout:ident)+) => {
        fn name(&self) -> &'static str {
            <Self as $crate::private::Operation<$n>>::NAME
        }

        fn cpu_fwd(
            &self,
            $($x: &$crate::private::candle::CpuStorage, $layout: &$crate::private::candle::Layout,)+
        ) -> $crate::private::candle::Result<(
            $crate::private::candle::CpuStorage,
            $crate::private::candle::Shape,
        )> {
            $crate::private::cpu::<$n, Self>(self, [$(($x, $layout)),+])
        }

        fn cuda_fwd(
            &self,
            $($x: &$crate::private::candle::CudaStorage, $layout: &$crate::private::candle::Layout,)+
        ) -> $crate::private::candle::Result<(
            $crate::private::candle::CudaStorage,
            $crate::private::candle::Shape,
        )> {
            $crate::private::cuda::<$n, Self>(self, [$(($x, $layout)),+])
        }
    };
}
