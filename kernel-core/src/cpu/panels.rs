//! Products of panels: the inner loops of `dot`, compiled once here and not into every kernel, with the vectors of the
//! processor they find. Intrinsics, because they must be fast in builds without optimization too.

/// Columns of a panel.
pub const WIDTH: usize = 16;

/// The instructions of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vectors {
    /// Instructions of plain Rust.
    Any,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512.
    Avx512,
}

impl Vectors {
    /// The best ones of this processor.
    pub fn here() -> Vectors {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if is_x86_feature_detected!("avx512f") {
            return Vectors::Avx512;
        } else if super::is_supported() {
            return Vectors::Avx2;
        }
        Vectors::Any
    }
}

/// The type to which operands are widened, and of the sums.
pub trait Number: Copy + Default + Send + Sync + 'static {
    /// Adds `a·b` to `c`, each element in the order of `k`. `a` is `[m, k]`; `b` is `[k, WIDTH]` for every [`WIDTH`]
    /// columns, one panel after the other; `c` is `[m, WIDTH * panels]`.
    fn multiply(a: &[Self], b: &[Self], c: &mut [Self], k: usize) {
        Self::multiply_by(Vectors::here(), a, b, c, k);
    }

    /// [`Number::multiply`] by these instructions, which the processor must have.
    fn multiply_by(vectors: Vectors, a: &[Self], b: &[Self], c: &mut [Self], k: usize) {
        let (m, panels) = (a.len() / k, b.len() / (k * WIDTH));
        let n = panels * WIDTH;
        assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n, "panels that do not meet");
        assert!(vectors <= Vectors::here(), "the processor has no {vectors:?}");
        let kernels = Self::kernels(vectors);
        let mut panel = 0;
        while panel < panels {
            let wide = first_that_fits(kernels, panels - panel);
            let b = &b[panel * k * WIDTH..][..wide.size * k * WIDTH];
            let mut row = 0;
            while row < m {
                let kernel = first_that_fits(wide.of, m - row);
                // SAFETY: the rows from `row` on that the kernel takes are in `a` and `c`, whose sizes are asserted
                // above; the columns of its panels are in each row of `c`. The processor has the features.
                unsafe { (kernel.of)(a.as_ptr().add(row * k), b, c.as_mut_ptr().add(row * n + panel * WIDTH), n) };
                row += kernel.size;
            }
            panel += wide.size;
        }
    }

    /// The kernels by their number of panels, and of rows, the largest first. The last of each is 1.
    fn kernels(vectors: Vectors) -> &'static [Step<&'static [Step<Kernel<Self>>]>];

    /// To 10 bits of fraction, of f32; others keep all of theirs.
    fn tf32(self) -> Self;
}

/// A way to take `size` panels or rows at once.
pub struct Step<T> {
    size: usize,
    of: T,
}

fn first_that_fits<T>(all: &[Step<T>], left: usize) -> &Step<T> {
    all.iter().find(|s| s.size <= left).expect("the last size is 1")
}

/// Adds the product of R rows of `a` and P panels of `b`, `[k, WIDTH]` each, to R rows. The rows begin at `c` and are
/// so many elements apart.
///
/// # Safety
/// `R * k` elements can be read from `a`, and `P * WIDTH` elements of each row of `c` be read and written. The
/// processor has the features that the function is compiled for.
pub type Kernel<T> = unsafe fn(*const T, &[T], *mut T, usize);

/// The kernels `$name::<R, P>` of each size.
macro_rules! kernels {
    ($name:ident: $($panels:literal by $($rows:literal)+),+) => {
        &[$(Step { size: $panels, of: &[$(Step { size: $rows, of: $name::<$rows, $panels> }),+] }),+]
    };
}

/// The kernels of a type: in plain Rust for any processor, and by the vectors of AVX2 and of AVX-512.
macro_rules! number {
    ($t:ident $tf32:path, $plain:ident |$a:ident, $b:ident, $c:ident| $mul_add:expr;
     $avx2:ident; $avx512:ident $($panels:literal by $($rows:literal)+),+) => {
        impl Number for $t {
            fn kernels(vectors: Vectors) -> &'static [Step<&'static [Step<Kernel<$t>>]>] {
                match vectors {
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    Vectors::Avx512 => kernels!($avx512: $($panels by $($rows)+),+),
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    Vectors::Avx2 => kernels!($avx2: 1 by 4 1),
                    _ => kernels!($plain: 1 by 4 1),
                }
            }

            #[inline(always)]
            fn tf32(self) -> Self {
                $tf32(self)
            }
        }

        /// # Safety
        /// As [`Kernel`].
        unsafe fn $plain<const R: usize, const P: usize>(a: *const $t, b: &[$t], c: *mut $t, n: usize) {
            let k = b.len() / (P * WIDTH);
            for (p, b) in b.chunks_exact(k * WIDTH).enumerate() {
                // SAFETY: panel `p` of P.
                let c = unsafe { c.add(p * WIDTH) };
                let mut sums = [[<$t>::default(); WIDTH]; R];
                for (r, sums) in sums.iter_mut().enumerate() {
                    // SAFETY: row `r` of R, of WIDTH sums.
                    sums.copy_from_slice(unsafe { std::slice::from_raw_parts(c.add(r * n), WIDTH) });
                }
                for (i, b) in b.as_chunks::<WIDTH>().0.iter().enumerate() {
                    for (r, sums) in sums.iter_mut().enumerate() {
                        // SAFETY: element `i` of `k` in row `r` of R.
                        let $a = unsafe { *a.add(r * k + i) };
                        for ($c, &$b) in sums.iter_mut().zip(b) {
                            *$c = $mul_add;
                        }
                    }
                }
                for (r, sums) in sums.iter().enumerate() {
                    // SAFETY: row `r` of R, of WIDTH sums.
                    unsafe { std::slice::from_raw_parts_mut(c.add(r * n), WIDTH) }.copy_from_slice(sums);
                }
            }
        }
    };
}

/// The kernels of a type by the vectors of some features.
macro_rules! vectors {
    ($name:ident $t:ident $features:literal $lanes:literal $zero:ident $load:ident $store:ident $splat:ident
     |$x:ident, $y:ident, $z:ident| $mul_add:expr) => {
        /// # Safety
        /// As [`Kernel`].
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[target_feature(enable = $features)]
        unsafe fn $name<const R: usize, const P: usize>(a: *const $t, b: &[$t], c: *mut $t, n: usize) {
            use std::arch::x86_64::*;
            let k = b.len() / (P * WIDTH);
            const VECTORS: usize = WIDTH / $lanes;
            let mut sums = [[[$zero(); VECTORS]; P]; R];
            for r in 0..R {
                for p in 0..P {
                    for v in 0..VECTORS {
                        // SAFETY: row `r` of R, of P times WIDTH sums, as many as the vectors have.
                        sums[r][p][v] = unsafe { $load(c.add(r * n + p * WIDTH + v * $lanes).cast()) };
                    }
                }
            }
            for i in 0..k {
                let mut row = [[$zero(); VECTORS]; P];
                for p in 0..P {
                    for v in 0..VECTORS {
                        let at = (p * k + i) * WIDTH + v * $lanes;
                        // SAFETY: row `i` of `k` in panel `p` of P, of WIDTH elements, as many as the vectors have.
                        row[p][v] = unsafe { $load(b.as_ptr().add(at).cast()) };
                    }
                }
                for r in 0..R {
                    // SAFETY: element `i` of `k` in row `r` of R.
                    let $x = $splat(unsafe { *a.add(r * k + i) });
                    for p in 0..P {
                        for v in 0..VECTORS {
                            let ($y, $z) = (row[p][v], sums[r][p][v]);
                            sums[r][p][v] = $mul_add;
                        }
                    }
                }
            }
            for r in 0..R {
                for p in 0..P {
                    for v in 0..VECTORS {
                        // SAFETY: row `r` of R, of P times WIDTH sums, as many as the vectors have.
                        unsafe { $store(c.add(r * n + p * WIDTH + v * $lanes).cast(), sums[r][p][v]) };
                    }
                }
            }
        }
    };
}

// Sixteen sums are in vectors with AVX-512, and eight with AVX2: as many as two units start while one sum is made.
number! { f32 crate::scalar::tf32, f32_rows |a, b, c| f32::mul_add(a, b, *c);
f32_avx2; f32_avx512 2 by 8 4 1, 1 by 16 8 4 1 }
number! { f64 std::convert::identity, f64_rows |a, b, c| f64::mul_add(a, b, *c);
f64_avx2; f64_avx512 1 by 8 4 1 }
number! { i32 std::convert::identity, i32_rows |a, b, c| c.wrapping_add(a.wrapping_mul(b));
i32_avx2; i32_avx512 2 by 8 4 1, 1 by 16 8 4 1 }

vectors! { f32_avx2 f32 "avx2,fma" 8 _mm256_setzero_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps
|x, y, z| _mm256_fmadd_ps(x, y, z) }
vectors! { f64_avx2 f64 "avx2,fma" 4 _mm256_setzero_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_set1_pd
|x, y, z| _mm256_fmadd_pd(x, y, z) }
vectors! { i32_avx2 i32 "avx2" 8 _mm256_setzero_si256 _mm256_loadu_si256 _mm256_storeu_si256 _mm256_set1_epi32
|x, y, z| _mm256_add_epi32(z, _mm256_mullo_epi32(x, y)) }
vectors! { f32_avx512 f32 "avx512f" 16 _mm512_setzero_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_set1_ps
|x, y, z| _mm512_fmadd_ps(x, y, z) }
vectors! { f64_avx512 f64 "avx512f" 8 _mm512_setzero_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_set1_pd
|x, y, z| _mm512_fmadd_pd(x, y, z) }
vectors! { i32_avx512 i32 "avx512f" 16 _mm512_setzero_si512 _mm512_loadu_si512 _mm512_storeu_si512 _mm512_set1_epi32
|x, y, z| _mm512_add_epi32(z, _mm512_mullo_epi32(x, y)) }
