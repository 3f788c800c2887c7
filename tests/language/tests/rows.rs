//! Kernels without products whose rows start at multiples of 16, 8 or 4 bytes, or anywhere. Accesses are as wide as the
//! rows of all arguments allow.

use std::collections::BTreeSet;
use tilewright::tile_kernel;
use tilewright_core::{Element, bf16, f16};
use tilewright_language_tests::matrix::{exact, values};
use tilewright_language_tests::run::{compared, taken};

/// Each row less its maximum.
#[tile_kernel(types(T = [f16, bf16, f32, i8]), tune(BLOCK = [1024], warps = [2]), grid = [rows], emulate = all)]
fn less_maximum<T: Num, const BLOCK: usize>(x: &[T], y: &mut [T], rows: usize, cols: usize) {
    let i = arange(BLOCK);
    let at = program_id(0) * cols + i;
    let row = load(x, at).mask(i < cols).other(T::MIN);
    let most = max(row);
    store(y, at, row - most).mask((i < cols) & (program_id(0) < rows));
}

/// A vector has no rows: its accesses depend on addresses alone.
#[tile_kernel(types(T = [f16]), tune(BLOCK = [1024], warps = [2]), grid = [cdiv(x.len(), BLOCK)], emulate = all)]
fn doubled<T: Float, const BLOCK: usize>(x: &[T], y: &mut [T]) {
    let at = program_id(0) * BLOCK + arange(BLOCK);
    store(y, at, load(x, at) + load(x, at));
}

/// The variants of calls with these numbers of columns, whose results are right.
fn variants<T: Element + PartialEq + std::fmt::Debug>(
    of: impl Fn(i32) -> T + Copy,
    columns: &[usize],
) -> BTreeSet<&'static str>
where
    (T,): less_maximum::Types,
{
    let rows = 3;
    let of_columns = |&cols: &usize| {
        // Whole numbers of 0 to -7, so that every difference is exact.
        let whole: Vec<i32> = values(rows * cols, 3, |x: f32| -(((x.abs() * 64.0) as i32) % 8));
        let x: Vec<T> = whole.iter().map(|&x| of(x)).collect();
        let wanted: Vec<T> = whole
            .chunks(cols)
            .flat_map(|row| {
                let most = *row.iter().max().expect("a column");
                row.iter().map(move |&x| of(x - most))
            })
            .collect();
        let variant = std::cell::Cell::new("");
        let run = |rt: &tilewright::Runtime| {
            let mut y = vec![of(9); rows * cols];
            let call = less_maximum::<T>(&x, &mut y, rows, cols);
            variant.set(taken(&call, "BLOCK=1024,warps=2"));
            rt.launch(call).map(|()| y)
        };
        compared(&format!("{cols} columns"), run, |what, x, y| {
            exact(what, x, &wanted);
            exact(what, y, &wanted);
        });
        variant.get()
    };
    columns.iter().map(of_columns).collect()
}

#[test]
fn accesses_are_as_wide_as_all_rows_allow() {
    let columns = [640, 644, 642, 641, 3];
    let all = ["aligned", "aligned_4", "general"];
    assert!(variants(|x| f16::from_f32(x as f32), &columns).into_iter().eq(all));
    assert!(variants(|x| bf16::from_f32(x as f32), &columns).into_iter().eq(all));
    assert!(variants(|x| x as i8, &[640, 648, 644, 641]).into_iter().eq(all));
    // A word is an element of 4 bytes.
    assert!(variants(|x| x as f32, &columns).into_iter().eq(["aligned", "aligned_8", "general"]));
}

#[test]
fn vectors_without_rows_have_two_variants() {
    let variants: Vec<&str> = <(f16,) as doubled::Types>::DESC.configs[0].variants.iter().map(|v| v.entry).collect();
    let ends: Vec<&str> = variants.iter().map(|e| e.rsplit("__").next().expect("a variant")).collect();
    assert_eq!(ends, ["aligned", "general"]);
}
