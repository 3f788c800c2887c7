//! Calls with hostile arguments: a code and a message, never a panic, a crash, or a write outside of the caller's
//! arrays.
//!
//! Extents that a valid pointer comes with are at most what its array has: anything else breaks the caller's contract.
//! Pointers that are null or misaligned, and sizes that are negative or overflow, do not.

use crate::*;
use core::ffi::c_void;
use std::path::Path;

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

fn call(bytes: &[u8]) {
    let word = |i: usize| i64::from_le_bytes(std::array::from_fn(|b| bytes.get(1 + 8 * i + b).copied().unwrap_or(0)));
    let (mut arrays, small) = (Arrays::new(), |i: usize| word(i) as i32);
    let mut p = |i: usize| arrays.at(word(i));
    // SAFETY: every pointer is null, refused for its alignment, or of an array that has the elements: `fits` says so.
    let code = unsafe {
        match bytes.first().copied().unwrap_or(0) % 9 {
            0 if fits(&[word(4)]) => tile_vector_add(small(0), p(1), p(2), p(3), word(4)),
            1 if fits(&[word(3)]) => tile_relu(small(0), p(1), p(2), word(3)),
            2 if fits(&[word(7), word(8)]) && fits(&[word(8), word(9)]) && fits(&[word(7), word(9)]) => {
                tile_matmul(small(0), small(1), small(2), small(3), p(4), p(5), p(6), word(7), word(8), word(9))
            }
            3 if fits(&[word(5), word(7), word(9)]) && fits(&[word(6), word(8), word(9)]) => tile_attention(
                small(0),
                p(1),
                p(2),
                p(3),
                p(4),
                word(5),
                word(6),
                word(7),
                word(8),
                word(9),
                f32::from_bits(small(10) as u32),
                small(11),
            ),
            4 if fits(&[small(2).into()]) => solve_reduction(p(0).cast(), p(1).cast(), small(2)),
            5 if fits(&[small(3).into()]) && fits(&[small(4).into()]) => {
                solve_1d_convolution(p(0).cast(), p(1).cast(), p(2).cast(), small(3), small(4))
            }
            6 if fits(&[word(2), word(3)]) => tile_softmax_rows(p(0).cast(), p(1).cast(), word(2), word(3)),
            7 if fits(&[word(4), word(5), word(7)])
                && fits(&[word(4), word(7), word(6)])
                && fits(&[word(4), word(5), word(6)]) =>
            {
                tile_batched_matmul(small(0), p(1), p(2), p(3), word(4), word(5), word(6), word(7))
            }
            8 if fits(&[word(7), word(9)])
                && fits(&[word(6), word(9), word(8)])
                && fits(&[word(7), word(8)])
                && fits(&[word(6)]) =>
            {
                tile_grouped_matmul(
                    small(0),
                    small(1),
                    p(2),
                    p(3),
                    p(4).cast(),
                    p(5),
                    word(6),
                    word(7),
                    word(8),
                    word(9),
                )
            }
            _ => TILE_OK,
        }
    };
    assert_ne!(code, TILE_ERROR_INTERNAL, "a panic came to the boundary");
    // SAFETY: the message lives until this thread's next failing call.
    let message = unsafe { core::ffi::CStr::from_ptr(tile_last_error()) };
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
