//! Products of panels: the inner loops of `dot`, compiled once here and not into every kernel, with the vectors of the
//! processor they find. Intrinsics, because they must be fast in builds without optimization too.

/// Columns of a panel.
pub const WIDTH: usize = 16;

/// The type to which operands are widened, and of the sums.
pub trait Number: Copy + Default + Send + Sync + 'static {
    /// Adds `a·b` to `c`, each element in the order of `k`. `a` is `[m, k]`; `b` is `[k, WIDTH]` for every [`WIDTH`]
    /// columns, one panel after the other; `c` is `[m, WIDTH * panels]`.
    fn multiply(a: &[Self], b: &[Self], c: &mut [Self], k: usize);
    /// To 10 bits of fraction, of f32; others keep all of theirs.
    fn tf32(self) -> Self;
}

macro_rules! number {
    ($t:ident $rows:ident $avx2:ident $tf32:path, |$a:ident, $b:ident, $c:ident| $mul_add:expr;
     $features:literal $lanes:literal $zero:ident $load:ident $store:ident $splat:ident |$x:ident, $y:ident, $z:ident| $of_lanes:expr) => {
        impl Number for $t {
            fn multiply(a: &[$t], b: &[$t], c: &mut [$t], k: usize) {
                let (m, panels) = (a.len() / k, b.len() / (k * WIDTH));
                let n = panels * WIDTH;
                assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n, "panels that do not meet");
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                let (four, one): (Rows<$t>, Rows<$t>) =
                    if super::is_supported() { ($avx2::<4>, $avx2::<1>) } else { ($rows::<4>, $rows::<1>) };
                #[cfg(not(all(target_arch = "x86_64", not(miri))))]
                let (four, one): (Rows<$t>, Rows<$t>) = ($rows::<4>, $rows::<1>);
                for (p, b) in b.chunks_exact(k * WIDTH).enumerate() {
                    let mut row = 0;
                    while row < m {
                        let (f, rows) = if row + 4 <= m { (four, 4) } else { (one, 1) };
                        // SAFETY: `rows` rows from `row` on are in `a` and `c`, whose sizes are asserted above; the
                        // panel's columns are in each row of `c`. The processor has the features of `f`.
                        unsafe { f(a.as_ptr().add(row * k), b, c.as_mut_ptr().add(row * n + p * WIDTH), n) };
                        row += rows;
                    }
                }
            }

            #[inline(always)]
            fn tf32(self) -> Self {
                $tf32(self)
            }
        }

        /// For other processors.
        ///
        /// # Safety
        /// As [`Rows`].
        pub(super) unsafe fn $rows<const R: usize>(a: *const $t, b: &[$t], c: *mut $t, n: usize) {
            let k = b.len() / WIDTH;
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

        /// # Safety
        /// As [`Rows`].
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[target_feature(enable = $features)]
        unsafe fn $avx2<const R: usize>(a: *const $t, b: &[$t], c: *mut $t, n: usize) {
            use std::arch::x86_64::*;
            let k = b.len() / WIDTH;
            const VECTORS: usize = WIDTH / $lanes;
            let mut sums = [[$zero(); VECTORS]; R];
            for r in 0..R {
                for v in 0..VECTORS {
                    // SAFETY: row `r` of R, of WIDTH sums, as many as the vectors have.
                    sums[r][v] = unsafe { $load(c.add(r * n + v * $lanes).cast()) };
                }
            }
            for i in 0..k {
                let mut row = [$zero(); VECTORS];
                for v in 0..VECTORS {
                    // SAFETY: row `i` of `k` in the panel, of WIDTH elements, as many as the vectors have.
                    row[v] = unsafe { $load(b.as_ptr().add(i * WIDTH + v * $lanes).cast()) };
                }
                for r in 0..R {
                    // SAFETY: element `i` of `k` in row `r` of R.
                    let $x = $splat(unsafe { *a.add(r * k + i) });
                    for v in 0..VECTORS {
                        let ($y, $z) = (row[v], sums[r][v]);
                        sums[r][v] = $of_lanes;
                    }
                }
            }
            for r in 0..R {
                for v in 0..VECTORS {
                    // SAFETY: row `r` of R, of WIDTH sums, as many as the vectors have.
                    unsafe { $store(c.add(r * n + v * $lanes).cast(), sums[r][v]) };
                }
            }
        }
    };
}

/// R rows of `a`, a panel `[k, WIDTH]` of `b`, where the R rows of `c` begin and how far they are apart.
///
/// # Safety
/// `R * k` elements can be read from `a`, and [`WIDTH`] elements of each row of `c` be read and written. The processor
/// has the features that the function is compiled for.
type Rows<T> = unsafe fn(*const T, &[T], *mut T, usize);

number! { f32 f32_rows f32_avx2 crate::scalar::tf32, |a, b, c| f32::mul_add(a, b, *c);
"avx2,fma" 8 _mm256_setzero_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps |x, y, z| _mm256_fmadd_ps(x, y, z) }
number! { f64 f64_rows f64_avx2 std::convert::identity, |a, b, c| f64::mul_add(a, b, *c);
"avx2,fma" 4 _mm256_setzero_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_set1_pd |x, y, z| _mm256_fmadd_pd(x, y, z) }
number! { i32 i32_rows i32_avx2 std::convert::identity, |a, b, c| c.wrapping_add(a.wrapping_mul(b));
"avx2" 8 _mm256_setzero_si256 _mm256_loadu_si256 _mm256_storeu_si256 _mm256_set1_epi32 |x, y, z| _mm256_add_epi32(z, _mm256_mullo_epi32(x, y)) }
