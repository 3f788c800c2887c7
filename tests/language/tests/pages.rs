//! Products of tiles whose place is data: pages of a table, and pages that the kernel finds as it runs.

use tilewright::{LaunchOptions, Runtime, tile_kernel};
use tilewright_core::{KernelParts, f16};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::{Matrix, exact};
use tilewright_language_tests::{view, view_mut};

/// Columns of `a` by the pages of `b` that a table names.
#[tile_kernel(tune(B = [64], warps = [4]), grid = [cdiv(c.dim(0), B)], emulate = all)]
fn pages_of_a_table<const B: usize>(
    pages: &[u32],
    count: &[usize],
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f32, 2>,
) {
    let i = program_id(0) * B;
    let mut acc = zeros::<f32>([B, B]);
    for k in range(0, load(count, 0)) {
        let page = load(pages, k).other(0) as usize;
        acc = dot(a.tile([i, k * B], [B, B]), b.tile([page * B, 0], [B, B]), acc);
    }
    c.store([i, 0], acc);
}

/// The same, where each step says which page comes next.
#[tile_kernel(tune(B = [64], warps = [4]), grid = [1], emulate = all)]
fn pages_of_a_chain<const B: usize>(
    next: &mut [u32],
    step: usize,
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f32, 2>,
) {
    let mut acc = zeros::<f32>([B, B]);
    for k in range(0, a.dim(1) / B) {
        let page = load(next, 0);
        acc = dot(a.tile([0, k * B], [B, B]), b.tile([page as usize * B, 0], [B, B]), acc);
        store(next, 0, (page + step as u32) % (b.dim(0) / B) as u32);
    }
    c.store([0, 0], acc);
}

const B: usize = 64;
const COLUMNS: usize = 40;

/// Small integers, so that every sum is exact.
fn integers(dims: [usize; 2], seed: u32) -> Matrix<f16> {
    Matrix::new(dims, dims[1], seed, |x| f16::from_f32((x * 2.5).round()))
}

/// The rows of `a` by these pages of `b`.
fn wanted(a: &Matrix<f16>, b: &Matrix<f16>, pages: &[usize]) -> Vec<f32> {
    let rows = a.dims[0];
    let at = |m: &Matrix<f16>, r: usize, c: usize| m.data[r * m.stride + c].to_f32();
    let of = |i: usize, j: usize| -> f32 {
        let inside = pages.iter().enumerate().filter(|(_, page)| **page * B < b.dims[0]);
        let steps = inside.flat_map(|(k, page)| (0..B).map(move |d| (k * B + d, page * B + d)));
        steps.map(|(d, e)| at(a, i, d) * at(b, e, j)).sum()
    };
    (0..rows * COLUMNS).map(|e| of(e / COLUMNS, e % COLUMNS)).collect()
}

/// Whether TMA copies tiles in some variant of a kernel.
fn is_copied_by_tma(desc: &KernelParts) -> bool {
    desc.configs.iter().flat_map(|c| c.variants).any(|v| !v.maps.is_empty())
}

#[test]
fn a_table_of_pages_and_their_count_are_data() {
    assert!(is_copied_by_tma(pages_of_a_table::DESCS[0]));
    // Beyond the last page there are zeros.
    let pages = [4u32, 0, 2, 5, u32::MAX / 64];
    let (a, b) = (integers([72, 5 * B], 1), integers([5 * B, COLUMNS], 2));
    for count in [0usize, 1, 5] {
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let mut c = Matrix::new([72, COLUMNS], COLUMNS, 3, |_| f32::NAN);
            let count = [count as u64];
            let call = pages_of_a_table(&pages[..], &count[..], view!(a), view!(b), view_mut!(c));
            rt.launch_with(rt.stream(), call, options)?;
            Ok(c.data)
        };
        let taken: Vec<usize> = pages[..count].iter().map(|&p| p as usize).collect();
        let wanted = wanted(&a, &b, &taken);
        everywhere(pages_of_a_table::DESCS[0], run, |c, what| exact(what, &c, &wanted));
    }
}

#[test]
fn a_kernel_finds_the_next_page_as_it_runs() {
    assert!(!is_copied_by_tma(pages_of_a_chain::DESCS[0]));
    let (a, b) = (integers([B, 6 * B], 1), integers([5 * B, COLUMNS], 2));
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut c, mut next) = (Matrix::new([B, COLUMNS], COLUMNS, 3, |_| f32::NAN), [1u32]);
        let call = pages_of_a_chain(&mut next[..], 3, view!(a), view!(b), view_mut!(c));
        rt.launch_with(rt.stream(), call, options)?;
        Ok((c.data, next))
    };
    let wanted = wanted(&a, &b, &[1, 4, 2, 0, 3, 1]);
    everywhere(pages_of_a_chain::DESCS[0], run, |(c, next), what| {
        exact(what, &c, &wanted);
        assert_eq!(next, [4], "{what}");
    });
}
