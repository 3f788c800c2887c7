//! Which comparisons of indices become comparisons of 32 bits with a constant.

use tilewright_compiler::{Libraries, Stage, show};
use tilewright_compiler::{MmaPath, Variant, Width};

/// How many scalars say how far indices are inside, for a mask of rows and columns of 64×64.
fn limits(mask: &str) -> usize {
    let text = format!(
        "#[tile_kernel(tune(warps = [1]), grid = [1])] fn k(y: &mut [f32], first: usize, at: usize, n: usize, m: usize, far: i64, all: bool) {{
            let (row, col) = ((first + arange(64)).expand(1), (at + arange(64)).expand(0));
            let sum = sum(sum(where_({mask}, full([64, 64], 1.0), 0.0), 1), 0);
            store(y, 0, sum);
        }}"
    );
    let shown = show(
        &text,
        &Libraries::default(),
        "k",
        None,
        None,
        Variant { width: Width::Elements, mma: MmaPath::MmaSync },
        Stage::Rust,
    )
    .expect(mask);
    shown.matches("d::limit(").count()
}

/// Masks of vectors are asked for as a whole first, without a register.
#[test]
fn of_vectors() {
    for mask in [
        "col < n",
        "col < row % n",
        "all | (col < row % n)",
        "(col < m) & (col < row % n)",
        "(row < m) & (all | (col <= row))",
    ] {
        let text = format!(
            "#[tile_kernel(tune(warps = [1]), grid = [1])] fn k(x: &[f32], y: &mut [f32], n: usize, m: usize, all: bool) {{
                let (row, col) = (arange(64).expand(1), arange(64).expand(0));
                store(y, row * 64 + col, load(x, row * 64 + col).mask({mask})).mask({mask});
            }}"
        );
        let shown = show(
            &text,
            &Libraries::default(),
            "k",
            None,
            None,
            Variant { width: Width::Vectors, mma: MmaPath::MmaSync },
            Stage::Rust,
        )
        .expect(mask);
        assert!(shown.contains("d::load::<f32, 128, 4"), "{mask}: vectors\n{shown}");
        assert!(!shown.contains("[#]"), "{mask}: a register that is none\n{shown}");
    }
}

#[test]
fn comparisons_of_indices() {
    for (mask, expected) in [
        ("col < n", 1),
        ("n > col", 1),
        ("col <= row", 1),
        ("row >= col", 1),
        ("col + n <= row + m", 1),
        ("(col < n) & (row < m)", 2),
        ("all | (col < row)", 1),
        ("(col < n) & (all | (col + n <= row + m))", 2),
        // Counting up is seen through variables, and through differences that do not go below 0.
        ("col + if all { n } else { m } < row", 1),
        ("col < (max(n, m) - m) + row", 1),
        // A value that differs between few registers need be no index: each of them says how many are inside.
        ("col < row % n", 1),
        ("col <= minimum(row + 1 + m, n) - m", 1),
        ("all | (col < row % n)", 1),
        ("col < (row - n).broadcast([64, 64])", 1),
        ("col < (max(n, m) - at) + row", 1),
        // These may wrap, and then are no longer in order.
        ("col - n < row", 0),
        ("col + if all { n - m } else { m } < row", 0),
        // No comparisons of unsigned indices.
        ("col * n < row", 0),
        ("col.to::<i64>() < far", 0),
        ("col == row", 0),
        // Numbers at random, as for dropout, and for each element another one.
        ("col * 6364136223846793005 + 1442695040888963407 < n", 0),
        ("row < (col ^ row) % n", 0),
    ] {
        assert_eq!(limits(mask), expected, "{mask}");
    }
}

/// Among many sums a mask of indices is asked of all of a thread's first; others, and few sums, are chosen one by one.
#[test]
fn of_sums() {
    let shown = |mask: &str, n: usize| {
        let text = format!(
            "#[tile_kernel(tune(warps = [4]), grid = [1])] fn k(a: View<f16, 2>, mut y: ViewMut<f32, 2>, n: usize, m: usize, all: bool, some: &[i32]) {{
                let (row, col) = (arange(64).expand(1), arange({n}).expand(0));
                let s = dot(a.tile([0, 0], [64, 16]), trans(a.tile([0, 0], [{n}, 16])), zeros::<f32>([64, {n}]));
                y.store([0, 0], where_({mask}, s, -1.0));
            }}"
        );
        let shown = show(
            &text,
            &Libraries::default(),
            "k",
            None,
            None,
            Variant { width: Width::Vectors, mma: MmaPath::MmaSync },
            Stage::Rust,
        )
        .expect(mask);
        (shown.matches("d::opaque(true)").count(), shown)
    };
    for mask in ["col < n", "col <= row", "(col < n) & (row < m)", "all | (col < row % n)", "col < row % n"] {
        let (found, text) = shown(mask, 64);
        assert_eq!(found, 1, "{mask}\n{text}");
        assert_eq!(shown(mask, 8).0, 0, "{mask}: few sums");
    }
    for mask in ["all", "col == row", "load(some, col) > 0", "(col < n) & (load(some, col) > 0)"] {
        let (found, text) = shown(mask, 64);
        assert_eq!(found, 0, "{mask}\n{text}");
    }
}
