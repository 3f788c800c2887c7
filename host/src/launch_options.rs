//! The options of one launch.

/// Options of a launch.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Error, LaunchOptions, Runtime, tile_kernel};
///
/// #[tile_kernel(tune(BLOCK = [64, 128], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
/// fn ones<const BLOCK: usize>(y: &mut [f32]) {
///     store(y, program_id(0) * BLOCK + arange(BLOCK), 1.0);
/// }
///
/// let rt = Runtime::cpu();
/// let mut y = Buffer::<f32>::zeros(&rt, 200)?;
/// let options = LaunchOptions::new().config("BLOCK=128,warps=4");
/// rt.launch_with(rt.stream(), ones(&mut y), &options)?;
/// assert_eq!(y.to_vec()?, [1.0; 200]);
///
/// let options = LaunchOptions::new().config("BLOCK=256,warps=4");
/// let e = rt.launch_with(rt.stream(), ones(&mut y), &options).unwrap_err();
/// assert!(matches!(e, Error::UnknownConfig { .. }), "{e}");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "options have no effect until a launch takes them"]
pub struct LaunchOptions<'a> {
    pub(crate) config: Option<&'a str>,
    pub(crate) pdl: Pdl,
}

impl<'a> LaunchOptions<'a> {
    /// The defaults: the tuner chooses the configuration, the launch waits for the work in front of it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes this configuration, an id as in `BLOCK=1024,warps=4`. With `None` the tuner chooses.
    pub fn config(self, id: impl Into<Option<&'a str>>) -> Self {
        LaunchOptions { config: id.into(), ..self }
    }

    /// The id of the configuration, if one is set.
    ///
    /// # Examples
    /// ```
    /// use tilewright::LaunchOptions;
    ///
    /// let options = LaunchOptions::new();
    /// assert_eq!((options.get_config(), options.config("warps=4").get_config()), (None, Some("warps=4")));
    /// ```
    pub fn get_config(&self) -> Option<&'a str> {
        self.config
    }

    /// Programmatic dependent launch: the launch may begin while the launch before it on the stream ends. [`Pdl`] has
    /// an example.
    ///
    /// The kernel allows that with `pdl = [..]`; the device needs compute capability 9.0 or later, and a driver for
    /// CUDA 12.3 or later. A launch that may have tuned, the first of its kind, begins when all work before it has
    /// ended.
    pub fn pdl(self, pdl: Pdl) -> Self {
        LaunchOptions { pdl, ..self }
    }
}

/// Whether a launch may begin before the launch in front of it has ended (programmatic dependent launch). It waits by
/// default.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, LaunchOptions, Pdl, Runtime, tile_kernel};
///
/// /// Loads `weights` before the launch in front has ended, and `x` after it.
/// #[tile_kernel(grid = [1], pdl = [weights])]
/// fn scaled(weights: &[f32], x: &[f32], y: &mut [f32]) {
///     let w = load(weights, arange(4));
///     store(y, arange(4), w * load(x, arange(4)));
/// }
///
/// let rt = Runtime::cpu();
/// let weights = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let x = Buffer::from_slice(&rt, &[1.0f32; 4])?;
/// let mut y = Buffer::<f32>::zeros(&rt, 4)?;
/// // SAFETY: no launch in front writes `weights`.
/// let options = LaunchOptions::new().pdl(unsafe { Pdl::allowed() });
/// rt.launch_with(rt.stream(), scaled(&weights, &x, &mut y), &options)?;
/// assert_eq!(y.to_vec()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pdl(pub(crate) bool);

impl Pdl {
    /// The launch may begin early.
    ///
    /// # Safety
    /// Of every launch that this value or a copy of it is passed to: the launch before it on the stream writes nothing
    /// that this one reads before it waits, and reads nothing that this one writes before it waits.
    pub unsafe fn allowed() -> Pdl {
        Pdl(true)
    }
}
