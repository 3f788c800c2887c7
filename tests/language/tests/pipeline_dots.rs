//! Loops with two dependent products: the second one follows the first product of the next iteration.

use tilewright::tile_kernel;
use tilewright::{Buffer, Runtime};
use tilewright_core::f16;
use tilewright_language_tests::matrix::{Matrix, near, values};
use tilewright_language_tests::run::{seeds, taken, with};
use tilewright_language_tests::{view, view_mut};

/// Attention through pointers, as one writes it in Triton: heads one after the other.
#[tile_kernel(
    tune(BLOCK_M = [64], BLOCK_N = [64], HEAD_DIM = [64], warps = [4]),
    tune(BLOCK_M = [128], BLOCK_N = [32], HEAD_DIM = [64], warps = [8]),
    grid = [cdiv(n_ctx, BLOCK_M), heads],
    emulate = all,
)]
unsafe fn attention<const BLOCK_M: usize, const BLOCK_N: usize, const HEAD_DIM: usize>(
    q: *const f16,
    k: *const f16,
    v: *const f16,
    o: *mut f16,
    scale: f32,
    heads: usize,
    n_ctx: usize,
    n_keys: usize,
    stride_h: usize,
    stride_m: usize,
) {
    let base = program_id(1) * stride_h;
    let offs_m = program_id(0) * BLOCK_M + arange(BLOCK_M);
    let (offs_n, offs_d) = (arange(BLOCK_N), arange(HEAD_DIM));
    let query = load(q.add(base + offs_m.expand(1) * stride_m + offs_d.expand(0))).mask(offs_m.expand(1) < n_ctx);
    let mut k_ptrs = k.add(base + offs_n.expand(1) * stride_m + offs_d.expand(0));
    let mut v_ptrs = v.add(base + offs_n.expand(1) * stride_m + offs_d.expand(0));
    let mut m_i = full([BLOCK_M], -1e30);
    let mut l_i = zeros::<f32>([BLOCK_M]);
    let mut acc = zeros::<f32>([BLOCK_M, HEAD_DIM]);
    for start_n in range(0, n_keys, BLOCK_N) {
        let keys = load(k_ptrs).mask((start_n + offs_n).expand(1) < n_keys);
        let s = dot(query, trans(keys), zeros::<f32>([BLOCK_M, BLOCK_N])) * (scale * 1.442695);
        let s = where_((start_n + offs_n).expand(0) < n_keys, s, -1e30);
        let m_ij = maximum(m_i, max(s, 1));
        let p = exp2(s - m_ij.expand(1));
        let alpha = exp2(m_i - m_ij);
        l_i = l_i * alpha + sum(p, 1);
        acc = acc * alpha.expand(1);
        let values = load(v_ptrs).mask((start_n + offs_n).expand(1) < n_keys);
        acc = dot(p.to::<f16>(), values, acc);
        m_i = m_ij;
        k_ptrs += BLOCK_N * stride_m;
        v_ptrs += BLOCK_N * stride_m;
    }
    let result = where_(l_i.expand(1) > 0.0, acc / l_i.expand(1), 7.0);
    store(o.add(base + offs_m.expand(1) * stride_m + offs_d.expand(0)), result.to::<f16>())
        .mask(offs_m.expand(1) < n_ctx);
}

/// `relu(x a) b` of views, in blocks of the middle dimension, from one of them on. WAY: 0 nothing but that; 1 the sums
/// begin with ones and are doubled in every step; 2 and 3 are not to be pipelined: both products share the right
/// operand, or the sums are used before the first product.
#[tile_kernel(
    tune(B = [64], WAY = [0, 1, 2, 3], warps = [4]),
    grid = [cdiv(y.dim(0), 64)],
    emulate = all,
)]
fn in_blocks<const B: usize, const WAY: usize>(
    x: View<f16, 2>,
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut y: ViewMut<f32, 2>,
    from: usize,
) {
    let row = program_id(0) * 64;
    let left = x.tile([row, 0], [64, 64]);
    let mut acc = if WAY == 1 { full([64, 64], 1.0) } else { zeros::<f32>([64, 64]) };
    let mut seen = 0.0;
    for i in range(from, a.dim(0), B) {
        if WAY == 3 {
            seen += max(max(acc, 1), 0);
        }
        let block = a.tile([i, 0], [B, 64]);
        let h = maximum(dot(left, trans(block), zeros::<f32>([64, B])), 0.0).to::<f16>();
        if WAY == 1 {
            acc = acc * 2.0;
        }
        if WAY == 2 {
            acc = dot(h, block, acc);
        } else {
            acc = dot(h, b.tile([i, 0], [B, 64]), acc);
        }
    }
    y.store([row, 0], acc + seen);
}

#[test]
fn attention_straight_on() {
    for config in attention::DESCS[0].configs {
        // No keys, one block of them, several, and a part of one.
        for (queries, keys) in [(64, 0), (70, 20), (128, 192), (130, 100)] {
            let (heads, d) = (2, 64);
            let stride_h = usize::max(queries, keys) * d;
            let [q, k, v] = [1, 2, 3].map(|seed| values(heads * stride_h, seed, f16::from_f32));
            let what = format!("{} {queries} {keys}", config.id);
            let run = |rt: &Runtime| -> Vec<f32> {
                let [q, k, v] = [&q, &k, &v].map(|x| Buffer::from_slice(rt, x).unwrap());
                let o = Buffer::<f16>::zeros(rt, heads * stride_h).unwrap();
                // SAFETY: heads are as large as is said.
                let call =
                    unsafe { attention(q.raw(), k.raw(), v.raw(), o.raw(), 0.5, heads, queries, keys, stride_h, d) };
                assert!(keys == 0 || taken(&call, config.id) == "tma", "{what}: {}", taken(&call, config.id));
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                o.to_vec().unwrap().into_iter().map(f16::to_f32).collect()
            };
            let wanted = run(&Runtime::cpu());
            assert!(wanted.iter().any(|x| *x != 0.0), "{what}");
            seeds().iter().for_each(|rt| near(&what, &run(rt), &wanted));
        }
    }
}

#[test]
fn products_of_products() {
    for config in in_blocks::DESCS[0].configs {
        // From 256 on there is none left.
        for (middle, from) in
            [(64, 0), (100, 0), (256, 0), (256, 64), (256, 192), (256, 256), (100, 128), (256, 1usize << 40)]
        {
            let (x, a, b) = (
                Matrix::new([100, 64], 64, 1, f16::from_f32),
                Matrix::new([middle, 64], 72, 2, f16::from_f32),
                Matrix::new([middle, 64], 64, 3, f16::from_f32),
            );
            let what = format!("{} {middle} from {from}", config.id);
            let run = |rt: &Runtime| {
                let mut y = Matrix::new([100, 64], 64, 0, |_| f32::NAN);
                let call = in_blocks(view!(x), view!(a), view!(b), view_mut!(y), from as u64);
                assert_eq!(taken(&call, config.id), "tma", "{what}");
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                y.data
            };
            let wanted = run(&Runtime::cpu());
            seeds().iter().for_each(|rt| near(&what, &run(rt), &wanted));
        }
    }
}

/// As `in_blocks`, but a variable says which block it is.
#[tile_kernel(tune(B = [64], warps = [4]), grid = [cdiv(y.dim(0), 64)], emulate = all)]
fn by_a_counter<const B: usize>(x: View<f16, 2>, a: View<f16, 2>, b: View<f16, 2>, mut y: ViewMut<f32, 2>) {
    let row = program_id(0) * 64;
    let left = x.tile([row, 0], [64, 64]);
    let mut acc = zeros::<f32>([64, 64]);
    let mut at = 0usize;
    for _ in range(0, a.dim(0), B) {
        let h = maximum(dot(left, trans(a.tile([at, 0], [B, 64])), zeros::<f32>([64, B])), 0.0).to::<f16>();
        acc = dot(h, b.tile([at, 0], [B, 64]), acc);
        at += B;
    }
    y.store([row, 0], acc);
}

#[test]
fn products_by_a_counter() {
    for config in by_a_counter::DESCS[0].configs {
        for middle in [64, 100, 256] {
            let (x, a, b) = (
                Matrix::new([100, 64], 64, 1, f16::from_f32),
                Matrix::new([middle, 64], 72, 2, f16::from_f32),
                Matrix::new([middle, 64], 64, 3, f16::from_f32),
            );
            let what = format!("{} {middle}", config.id);
            let run = |rt: &Runtime| {
                let mut y = Matrix::new([100, 64], 64, 0, |_| f32::NAN);
                let call = by_a_counter(view!(x), view!(a), view!(b), view_mut!(y));
                // Add `assert_eq!(taken(&call, config.id), "tma", "{what}");` here if it holds.
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                y.data
            };
            let wanted = run(&Runtime::cpu());
            seeds().iter().for_each(|rt| near(&what, &run(rt), &wanted));
        }
    }
}

/// As `in_blocks`, of a range whose last step leads beyond the greatest number of its type.
#[tile_kernel(types(T = [i32, u32]), tune(B = [64], warps = [4]), grid = [cdiv(y.dim(0), 64)], emulate = all)]
fn to_the_end_of_a_type<T: Int, const B: usize>(
    x: View<f16, 2>,
    a: View<f16, 2>,
    mut y: ViewMut<f32, 2>,
    first: T,
    last: T,
) {
    let row = program_id(0) * 64;
    let left = x.tile([row, 0], [64, 64]);
    let mut acc = full([64, 64], 1.0);
    for i in range(first, last, 64) {
        let h = dot(left, trans(a.tile([i.to::<usize>(), 0], [B, 64])), zeros::<f32>([64, B])).to::<f16>();
        acc = dot(h, a.tile([i.to::<usize>(), 0], [B, 64]), acc);
    }
    y.store([row, 0], acc);
}

#[test]
fn products_up_to_the_end_of_a_type() {
    macro_rules! check { ($($t:ident)+) => { $(
        // The one iteration is beyond the array.
        for (first, last) in [($t::MAX - 10, $t::MAX), ($t::MAX - 63, $t::MAX), (0, 40)] {
            let (x, a) = (Matrix::new([64, 64], 64, 1, f16::from_f32), Matrix::new([200, 64], 64, 2, f16::from_f32));
            let desc = <($t,) as to_the_end_of_a_type::Types>::DESC;
            let what = format!("{} {first} to {last}", stringify!($t));
            let run = |rt: &Runtime| {
                let mut y = Matrix::new([64, 64], 64, 0, |_| f32::NAN);
                let call = to_the_end_of_a_type::<$t>(view!(x), view!(a), view_mut!(y), first, last);
                rt.launch_with(rt.stream(), call, &with(desc.configs[0].id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                y.data
            };
            let wanted = run(&Runtime::cpu());
            seeds().iter().for_each(|rt| near(&what, &run(rt), &wanted));
        }
    )+ } }
    check!(i32 u32);
}
