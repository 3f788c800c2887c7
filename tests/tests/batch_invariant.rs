//! Operations under `ExecOptions::batch_invariant`: rows of a batch have equal bits however many rows there are. On the
//! GPU too, where there is one.

use tilewright::ops::{self, ExecOptions, Matmul};
use tilewright::{Buffer, Element, Runtime, f16};

/// Every backend that is here, with the greatest size of a batch.
fn backends() -> Vec<(Runtime, usize)> {
    crate::backends(3).into_iter().zip([70, 20, 1500]).collect()
}

/// Sizes of batches up to this one: one row, a part of a tile, a tile, and more.
fn sizes(most: usize) -> Vec<usize> {
    [1, 2, 5, 16, 17, 64, 65, 128, 300, 1025].into_iter().filter(|&n| n < most).chain([most]).collect()
}

/// Numbers whose sums round differently in almost any order.
fn numbers<T: Element>(n: usize, of: impl Fn(f32) -> T) -> Vec<T> {
    let of_bits = |i: u32| (i.wrapping_mul(2654435761) >> 9) as f32 / (1 << 23) as f32 - 0.5;
    (0..n as u32).map(|i| of(of_bits(i))).collect()
}

/// Runs an operation on batches of several sizes and compares the results of the first rows with those of the whole
/// batch. `run(on, n)` gives the bits of a batch of n, of `row` elements each.
fn check(what: &str, row: usize, run: impl Fn(&ExecOptions, usize) -> Vec<u32>) {
    for (rt, most) in backends() {
        let on = ExecOptions::new(&rt).batch_invariant(true);
        let whole = run(&on, most);
        assert!(whole.iter().any(|&bits| bits != 0), "{what}: results are 0");
        for n in sizes(most) {
            let found = run(&on, n);
            let differ = found.iter().zip(&whole).filter(|(a, b)| a != b).count();
            assert_eq!((found.len(), differ), (n * row, 0), "{what}, {n} of {most} on {:?}", rt.kind());
        }
    }
}

/// Sizes of B: some columns, so few that a product is also one of few rows, and a K that programs would share.
const PRODUCTS: [[usize; 2]; 6] = [[72, 104], [8, 1000], [129, 33], [1, 1000], [1, 1001], [64, 1001]];

#[test]
fn rows_of_products() {
    for [n, k] in PRODUCTS {
        check(&format!("f32 {n} {k}"), n, |on, m| product(on, [m, n, k], |x| x, |x: f32| x.to_bits()));
        check(&format!("f16 {n} {k}"), n, |on, m| product(on, [m, n, k], f16::from_f32, |x: f16| x.to_bits().into()));
    }
}

fn product<T: ops::Multiply<Product = T>>(
    on: &ExecOptions,
    [m, n, k]: [usize; 3],
    of: impl Fn(f32) -> T + Copy,
    bits: impl Fn(T) -> u32,
) -> Vec<u32> {
    use tilewright::ops::Executor;
    let rt = on.runtime();
    let a = Buffer::from_slice(rt, &numbers(m * k, of)).unwrap();
    let b = Buffer::from_slice(rt, &numbers(k * n, of)).unwrap();
    let mut c = Buffer::<T>::zeros(rt, m * n).unwrap();
    let product = Matmul::new(a.view([m, k]).unwrap(), b.view([k, n]).unwrap(), c.view_mut([m, n]).unwrap());
    product.launch(on).unwrap();
    c.to_vec().unwrap().into_iter().map(bits).collect()
}

#[test]
fn matrices_of_batches() {
    let [m, n, k] = [5, 24, 40];
    check("batches", m * n, |on, count| {
        use tilewright::ops::Executor;
        let rt = on.runtime();
        let a = Buffer::from_slice(rt, &numbers(count * m * k, f16::from_f32)).unwrap();
        let b = Buffer::from_slice(rt, &numbers(count * k * n, f16::from_f32)).unwrap();
        let mut c = Buffer::<f16>::zeros(rt, count * m * n).unwrap();
        let (x, y) = (a.view([count, m, k]).unwrap(), b.view([count, k, n]).unwrap());
        ops::batched_matmul(on, x, y, c.view_mut([count, m, n]).unwrap()).unwrap();
        c.to_vec().unwrap().into_iter().map(|x| x.to_bits().into()).collect()
    });
}

#[test]
fn rows_of_groups() {
    let [n, k] = [72, 136];
    check("grouped matmul", n, |on, rows| {
        use tilewright::ops::Executor;
        let rt = on.runtime();
        let a = Buffer::from_slice(rt, &numbers(rows * k, f16::from_f32)).unwrap();
        let b = Buffer::from_slice(rt, &numbers(2 * k * n, f16::from_f32)).unwrap();
        // The first group has a row; all others are of the second one.
        let ends = Buffer::from_slice(rt, &[1, rows as i32]).unwrap();
        let mut c = Buffer::<f16>::zeros(rt, rows * n).unwrap();
        ops::grouped_matmul(on, a.view([rows, k]).unwrap(), b.view([2, k, n]).unwrap(), &ends, &mut c).unwrap();
        c.to_vec().unwrap().into_iter().map(|x| u32::from(x.to_bits())).collect()
    });
}

#[test]
fn rows_of_softmax() {
    for cols in [7, 200, 1500] {
        check(&format!("softmax {cols}"), cols, |on, rows| {
            use tilewright::ops::Executor;
            let x = Buffer::from_slice(on.runtime(), &numbers(rows * cols, |x| 8.0 * x)).unwrap();
            let [mut y, mut dx] = [(); 2].map(|()| Buffer::<f32>::zeros(on.runtime(), rows * cols).unwrap());
            ops::softmax_rows(on, &x, &mut y, rows, cols).unwrap();
            ops::softmax_rows_backward(on, &y, &x, &mut dx, rows, cols).unwrap();
            let (y, dx) = (y.to_vec().unwrap(), dx.to_vec().unwrap());
            y.iter().zip(dx).map(|(y, dx)| y.to_bits() ^ dx.to_bits().rotate_left(7)).collect()
        });
    }
}

#[test]
fn rows_of_norms() {
    for cols in [7, 200, 5000] {
        check(&format!("norms {cols}"), cols, |on, rows| {
            use tilewright::ops::Executor;
            let rt = on.runtime();
            let x = Buffer::from_slice(rt, &numbers(rows * cols, |x| 8.0 * x)).unwrap();
            let weight = Buffer::from_slice(rt, &numbers(cols, |x| x)).unwrap();
            let [mut y, mut z, mut sum] = [(); 3].map(|()| Buffer::<f32>::zeros(rt, rows * cols).unwrap());
            ops::layer_norm(on, &x, &weight, &weight, &mut y, 1e-5).unwrap();
            ops::add_rms_norm(on, &x, &y, &weight, &mut sum, &mut z, 1e-5).unwrap();
            z.to_vec().unwrap().into_iter().map(f32::to_bits).collect()
        });
    }
}

#[test]
fn rows_of_losses() {
    for classes in [7, 5000] {
        check(&format!("losses {classes}"), 1, |on, rows| {
            use tilewright::ops::Executor;
            let rt = on.runtime();
            let x = Buffer::from_slice(rt, &numbers(rows * classes, |x| 8.0 * x)).unwrap();
            let targets = Buffer::from_slice(rt, &vec![3i32; rows]).unwrap();
            let mut losses = Buffer::<f32>::zeros(rt, rows).unwrap();
            ops::cross_entropy(on, &x, &targets, &mut losses, &mut []).unwrap();
            losses.to_vec().unwrap().into_iter().map(f32::to_bits).collect()
        });
    }
}

#[test]
fn tokens() {
    let (heads, d, half) = (3, 72, 36);
    check("tokens", heads * d, |on, tokens| {
        use tilewright::ops::Executor;
        let rt = on.runtime();
        let table = Buffer::from_slice(rt, &numbers(50 * heads * d, |x| x)).unwrap();
        let angles = Buffer::from_slice(rt, &numbers(2000 * half, |x| x)).unwrap();
        let ids: Vec<i32> = (0..tokens as i32).map(|i| i * 7 % 50).collect();
        let [mut y, mut z] = [(); 2].map(|()| Buffer::<f32>::zeros(rt, tokens * heads * d).unwrap());
        ops::embedding(on, &table, &Buffer::from_slice(rt, &ids).unwrap(), &mut y, heads * d).unwrap();
        ops::Rope::new(&angles, &angles, half).launch(on, &y, &mut z, heads, d).unwrap();
        z.to_vec().unwrap().into_iter().map(f32::to_bits).collect()
    });
}

#[test]
fn heads_and_queries_of_attention() {
    let (d, keys) = (32, 70);
    let run = |on: &ExecOptions, [heads, queries]: [usize; 2], causal: bool| {
        use tilewright::ops::Executor;
        let rt = on.runtime();
        // The queries of each head are the same, the queries of a smaller batch come first.
        let q: Vec<f16> = (0..heads).flat_map(|_| numbers(queries * d, f16::from_f32)).collect();
        let q = Buffer::from_slice(rt, &q).unwrap();
        let of_keys = |by: f32| {
            let one = numbers(keys * d, |x| f16::from_f32(by * x));
            Buffer::from_slice(rt, &vec![one; heads].concat()).unwrap()
        };
        let (k, v) = (of_keys(4.0), of_keys(1.0));
        let mut o = Buffer::<f16>::zeros(rt, heads * queries * d).unwrap();
        let (dims, of_keys) = ([heads, queries, d], [heads, keys, d]);
        let (q, k, v) = (q.view(dims).unwrap(), k.view(of_keys).unwrap(), v.view(of_keys).unwrap());
        let attention = ops::Attention::new(q, k, v, o.view_mut(dims).unwrap()).scale(0.5);
        let attention = if causal { attention.causal() } else { attention };
        attention.launch(on).unwrap();
        o.to_vec().unwrap().into_iter().map(|x| u32::from(x.to_bits())).collect()
    };
    check("heads", 3 * d, |on, heads| run(on, [heads, 3], true));
    // Without `causal` a query's result does not depend on its number.
    check("queries", d, |on, queries| run(on, [1, queries], false));
}
