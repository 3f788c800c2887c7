//! Calls with hostile arguments: a code and a message, never a panic, a crash, or a write outside of the caller's
//! arrays.
//!
//! Extents of a valid pointer are at most those of its array: greater ones break the caller's contract. Pointers that
//! are null or misaligned, and sizes that are negative or overflow, do not.

use crate::*;
use core::ffi::c_void;
use std::path::Path;
use std::sync::OnceLock;

/// Elements of an array, of 8 bytes each, and of the guards on both sides.
const LEN: usize = 4096;
const GUARD: usize = 64;
const INTACT: u64 = 0x7ff8_dead_beef_0001;

/// The arrays that arguments name by number, each between guards.
struct Arrays(Vec<Vec<u64>>);

impl Arrays {
    fn new() -> Arrays {
        let one = |i: u64| {
            let mut all = vec![INTACT; GUARD + LEN + GUARD];
            all[GUARD..GUARD + LEN].fill(0x3c00_3c00_3c00_3c00 + i);
            all
        };
        Arrays((0..4).map(one).collect())
    }

    /// Null, an array, or an odd address in one.
    fn at(&mut self, which: i64) -> *mut c_void {
        match which.rem_euclid(7) {
            0 => core::ptr::null_mut(),
            n @ 1..=4 => self.0[n as usize - 1][GUARD..].as_mut_ptr().cast(),
            n => self.0[n as usize - 5][GUARD..].as_mut_ptr().cast::<u8>().wrapping_add(1).cast(),
        }
    }

    fn intact(&self) -> bool {
        let guard = |a: &[u64]| a.iter().all(|&x| x == INTACT);
        self.0.iter().all(|a| guard(&a[..GUARD]) && guard(&a[GUARD + LEN..]))
    }
}

/// Extents whose product an array holds, or that are refused: not both large and valid.
fn fits(extents: &[i64]) -> bool {
    let refused = extents.iter().any(|&e| e < 0);
    let product = extents.iter().try_fold(1i64, |n, &e| n.checked_mul(e));
    refused || product.is_none_or(|n| n <= LEN as i64)
}

/// The handle that calls by a handle name, or null.
fn handle(which: i64) -> tile_handle_t {
    static HANDLE: OnceLock<usize> = OnceLock::new();
    let made = || {
        let mut handle = core::ptr::null_mut();
        // SAFETY: room for the handle.
        assert_eq!(unsafe { tile_create(&mut handle) }, TILE_OK);
        handle as usize
    };
    if which % 8 == 7 { core::ptr::null_mut() } else { *HANDLE.get_or_init(made) as tile_handle_t }
}

/// A function, or its twin that takes a handle first, where the arrays of all extents fit.
macro_rules! either {
    ($word:ident, [$([$($extent:expr),*]),*], $f:ident, $of_handle:ident, ($($argument:expr),*)) => {
        match [$(fits(&[$($extent.into()),*])),*].contains(&false) {
            true => TILE_OK,
            false if $word(0) < 0 => $of_handle(handle($word(0)), $($argument),*),
            false => $f($($argument),*),
        }
    };
}

/// The functions that [`call`] tells apart by the first byte.
const FUNCTIONS: u8 = 29;

fn call(bytes: &[u8]) {
    let word = |i: usize| i64::from_le_bytes(std::array::from_fn(|b| bytes.get(1 + 8 * i + b).copied().unwrap_or(0)));
    let (mut arrays, small) = (Arrays::new(), |i: usize| word(i) as i32);
    let mut p = |i: usize| arrays.at(word(i));
    let float = |i: usize| f32::from_bits(small(i) as u32);
    let [n, m, k] = [word(7), word(8), word(9)];
    // SAFETY: every pointer is null, refused for its alignment, or of an array that has the elements: `fits` says so.
    let code = unsafe {
        match bytes.first().copied().unwrap_or(0) % FUNCTIONS {
            0 if fits(&[word(4)]) => tile_vector_add(small(0), p(1), p(2), p(3), word(4)),
            1 if fits(&[word(3)]) => tile_relu(small(0), p(1), p(2), word(3)),
            2 if fits(&[n, m]) && fits(&[m, k]) && fits(&[n, k]) => {
                tile_matmul(small(0), small(1), small(2), small(3), p(4), p(5), p(6), n, m, k)
            }
            3 if fits(&[word(5), n, k]) && fits(&[word(6), m, k]) => {
                tile_attention(small(0), p(1), p(2), p(3), p(4), word(5), word(6), n, m, k, float(10), small(11))
            }
            4 if fits(&[small(2).into()]) => solve_reduction(p(0).cast(), p(1).cast(), small(2)),
            5 if fits(&[small(3).into()]) && fits(&[small(4).into()]) => {
                solve_1d_convolution(p(0).cast(), p(1).cast(), p(2).cast(), small(3), small(4))
            }
            6 if fits(&[word(2), word(3)]) => tile_softmax_rows(p(0).cast(), p(1).cast(), word(2), word(3)),
            7 if fits(&[word(4), word(5), n]) && fits(&[word(4), n, word(6)]) && fits(&[word(4), word(5), word(6)]) => {
                tile_batched_matmul(small(0), p(1), p(2), p(3), word(4), word(5), word(6), n)
            }
            8 if fits(&[n, k]) && fits(&[word(6), k, m]) && fits(&[n, m]) && fits(&[word(6)]) => {
                tile_grouped_matmul(small(0), small(1), p(2), p(3), p(4).cast(), p(5), word(6), n, m, k)
            }
            // A handle also calls the following functions.
            9 => either!(word, [[n]], tile_vector_add, tile_handle_vector_add, (small(1), p(2), p(3), p(4), n)),
            10 => either!(word, [[n]], tile_relu, tile_handle_relu, (small(1), p(2), p(3), n)),
            11 => either!(word, [[n]], tile_leaky_relu, tile_handle_leaky_relu, (small(1), p(2), p(3), n)),
            12 => either!(word, [[n]], tile_gelu, tile_handle_gelu, (small(1), p(2), p(3), n)),
            13 => either!(word, [[n]], tile_swiglu, tile_handle_swiglu, (small(1), p(2), p(3), p(4), n)),
            14 => either!(
                word,
                [[n]],
                tile_swiglu_backward,
                tile_handle_swiglu_backward,
                (small(1), p(2), p(3), p(4), p(5), p(6), n)
            ),
            15 => either!(
                word,
                [[n]],
                tile_dropout,
                tile_handle_dropout,
                (small(1), p(2), p(3), n, float(4), word(5) as u64)
            ),
            16 => {
                let functions = [tile_matmul_relu, tile_matmul_leaky_relu];
                let f = functions[word(1).rem_euclid(2) as usize];
                let of_handle =
                    [tile_handle_matmul_relu, tile_handle_matmul_leaky_relu][word(1).rem_euclid(2) as usize];
                let order = word(2);
                either!(
                    word,
                    [[n, m], [m, k], [n, k]],
                    f,
                    of_handle,
                    (
                        small(1),
                        (order >> 2) as i32,
                        (order & 1) as i32,
                        (order >> 1 & 1) as i32,
                        p(3),
                        p(4),
                        p(5),
                        n,
                        m,
                        k
                    )
                )
            }
            17 => either!(
                word,
                [[n, m], [m, k], [n, k]],
                tile_matmul,
                tile_handle_matmul,
                (small(1), small(2), small(3), small(4), p(5), p(6), p(10), n, m, k)
            ),
            18 => either!(
                word,
                [[n, m], [m]],
                tile_layer_norm,
                tile_handle_layer_norm,
                (small(1), p(2), p(3), p(4), p(5), n, m, float(6))
            ),
            19 => either!(
                word,
                [[n, m], [m]],
                tile_rms_norm,
                tile_handle_rms_norm,
                (small(1), p(2), p(3), p(4), n, m, float(6))
            ),
            20 => either!(
                word,
                [[n, m], [m]],
                tile_add_rms_norm,
                tile_handle_add_rms_norm,
                (small(1), p(2), p(3), p(4), p(5), p(10), n, m, float(6))
            ),
            21 => either!(
                word,
                [[n, m], [m]],
                tile_layer_norm_backward,
                tile_handle_layer_norm_backward,
                (small(1), p(2), p(3), p(4), p(5), p(10), p(11), n, m, float(6))
            ),
            22 => either!(
                word,
                [[n, m], [m]],
                tile_rms_norm_backward,
                tile_handle_rms_norm_backward,
                (small(1), p(2), p(3), p(4), p(5), p(10), n, m, float(6))
            ),
            23 => either!(
                word,
                [[n, m], [n]],
                tile_cross_entropy,
                tile_handle_cross_entropy,
                (small(1), p(2), p(3).cast(), p(4).cast(), p(5).cast(), n, m)
            ),
            24 => either!(
                word,
                [[n, m], [n]],
                tile_cross_entropy_backward,
                tile_handle_cross_entropy_backward,
                (small(1), p(2), p(3).cast(), p(4).cast(), p(5).cast(), p(6), n, m)
            ),
            25 => either!(word, [[n, m]], tile_softmax, tile_handle_softmax, (small(1), p(2), p(3), n, m)),
            26 => either!(
                word,
                [[n, m]],
                tile_softmax_backward,
                tile_handle_softmax_backward,
                (small(1), p(2), p(3), p(4), n, m)
            ),
            27 => match word(1) % 2 {
                0 => either!(
                    word,
                    [[n, k], [m, k], [n]],
                    tile_embedding,
                    tile_handle_embedding,
                    (small(2), p(3), p(4).cast(), p(5), n, m, k)
                ),
                _ => either!(
                    word,
                    [[n, k], [m, k], [n]],
                    tile_embedding_backward,
                    tile_handle_embedding_backward,
                    (small(2), p(3).cast(), p(4), p(5).cast(), n, m, k)
                ),
            },
            28 => {
                let backward = word(1).rem_euclid(2) as usize;
                let f = [tile_rope, tile_rope_backward][backward];
                let of_handle = [tile_handle_rope, tile_handle_rope_backward][backward];
                let (half, rows) = (word(10), word(11));
                either!(
                    word,
                    [[n, m, k], [rows, half], [n]],
                    f,
                    of_handle,
                    (small(2), p(3), p(4).cast(), p(5).cast(), p(6).cast(), p(12), n, m, k, half, rows, small(13))
                )
            }
            _ => TILE_OK,
        }
    };
    assert_ne!(code, TILE_ERROR_INTERNAL, "a panic came to the boundary");
    let by_handle = bytes.first().copied().unwrap_or(0) % FUNCTIONS >= 9 && word(0) < 0;
    let of_handle = if by_handle { handle(word(0)) } else { core::ptr::null_mut() };
    // SAFETY: the message lives until the next failing call of this thread, or by this handle.
    let message = unsafe {
        core::ffi::CStr::from_ptr(match of_handle.is_null() {
            true => tile_last_error(),
            false => tile_handle_last_error(of_handle),
        })
    };
    assert!(code == TILE_OK || !message.is_empty(), "code {code} without a message");
    assert!(arrays.intact(), "a call has written outside of its arrays");
}

#[test]
fn hostile_arguments_are_refused_or_right() {
    // SAFETY: this is the only test of its process that uses the variable, and no other thread runs yet.
    unsafe { std::env::set_var("TILE_BACKEND", "cpu") };
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    tilewright_hostile_inputs::attack(Path::new(corpus), call);
}
