//! Pointers that a kernel makes of addresses: tables of arrays, tiles of pointers, views.

use tilewright::{Buffer, Error, LaunchOptions, Runtime, tile_module};
use tilewright_core::{KernelParts, bf16, f16};
use tilewright_language_tests::everywhere::{Number, everywhere};
use tilewright_language_tests::run::taken;

#[tile_module]
mod kernels {
    /// `c = a b` for each entry of a table: addresses, extents and strides of rows of matrices of several sizes.
    #[tile_kernel(tune(BM = [32], BN = [32], BK = [16, 32], warps = [2, 4]), emulate = all, grid = [table.len() / 9])]
    pub unsafe fn grouped<const BM: usize, const BN: usize, const BK: usize>(table: &[u64]) {
        let entry = program_id(0) * 9;
        let (m, n, k) = (load(table, entry + 3), load(table, entry + 4), load(table, entry + 5));
        let a = view(load(table, entry) as *const f16, [m, k], [load(table, entry + 6), 1]);
        let b = view(load(table, entry + 1) as *const f16, [k, n], [load(table, entry + 7), 1]);
        let mut c = view(load(table, entry + 2) as *mut f32, [m, n], [load(table, entry + 8), 1]);
        for i in range(0, c.dim(0), BM) {
            for j in range(0, c.dim(1), BN) {
                let mut sums = zeros::<f32>([BM, BN]);
                for l in range(0, a.dim(1), BK) {
                    sums = dot(a.tile([i, l], [BM, BK]), b.tile([l, j], [BK, BN]), sums);
                }
                c.store([i, j], sums);
            }
        }
    }

    /// The same where all addresses and strides are multiples of 16 bytes: operands are copied ahead.
    #[tile_kernel(
        tune(BM = [64], BN = [64], BK = [32], warps = [4], arch = [80, 90]),
        emulate = all,
        grid = [table.len() / 9],
    )]
    pub unsafe fn aligned<const BM: usize, const BN: usize, const BK: usize>(table: &[u64]) {
        let entry = program_id(0) * 9;
        let (m, n, k) = (load(table, entry + 3), load(table, entry + 4), load(table, entry + 5));
        let address = |i: usize| load(table, entry + i) / 16 * 16;
        let stride = |i: usize| load(table, entry + i) / 8 * 8;
        let a = view(address(0) as *const f16, [m, k], [stride(6), 1]);
        let b = view(address(1) as *const f16, [k, n], [stride(7), 1]);
        let mut c = view(address(2) as *mut f32, [m, n], [stride(8), 1]);
        for i in range(0, m, BM) {
            for j in range(0, n, BN) {
                let mut sums = zeros::<f32>([BM, BN]);
                for l in range(0, k, BK) {
                    sums = dot(a.tile([i, l], [BM, BK]), b.tile([l, j], [BK, BN]), sums);
                }
                c.store([i, j], sums);
            }
        }
    }

    /// A step of many arrays at once: each program has a block of one of them.
    #[tile_kernel(types(T = [f32, bf16, f64]), tune(BLOCK = [256], warps = [1, 4]), emulate = all, grid = [blocks.len()])]
    pub unsafe fn multi_tensor<T: Num, const BLOCK: usize>(
        parameters: &[u64],
        gradients: &[i64],
        lengths: &[usize],
        blocks: &[u32],
        firsts: &[u32],
        rate: T,
    ) {
        let array = load(blocks, program_id(0));
        let i = load(firsts, program_id(0)) as usize + arange(BLOCK);
        let mask = i < load(lengths, array);
        let p = load(parameters, array) as *mut T;
        let g = load(gradients, array) as *const T;
        let of = p.add(i);
        store(of, load(of).mask(mask) - rate * load(g.add(i)).mask(mask)).mask(mask);
    }

    /// Rows that lie anywhere: a tile of pointers.
    #[tile_kernel(types(T = [f32, f16, i8]), tune(warps = [1, 2]), emulate = all, grid = [cdiv(rows.len(), 8)])]
    pub unsafe fn rows<T: Num>(rows: &[u64], y: &mut [T], n: usize) {
        let r = program_id(0) * 8 + arange(8);
        let there = (r < rows.len()).expand(1) & (arange(32) < n).expand(0);
        let p = load(rows, r).expand(1) as *const T;
        let v = load(p.add(arange(32).expand(0))).mask(there);
        store(y, r.expand(1) * n + arange(32).expand(0), v).mask(there);
    }

    /// A list of nodes, each of the address of the next one and a value. The values are added up along it, and each
    /// node keeps the sum up to it.
    #[tile_kernel(tune(warps = [1, 4]), emulate = all, grid = [1])]
    pub unsafe fn list(first: u64, y: &mut [u64]) {
        let mut node = first as *mut u64;
        let (mut sum, mut is_last) = (0u64, false);
        while !is_last {
            let next = load(node);
            sum += load(node.add(1));
            store(node.add(1), sum);
            is_last = next == 0;
            node = next as *mut u64;
        }
        store(y, 0, sum);
    }

    /// Elements are stored, and loaded by other threads: both by pointers, of two types.
    #[tile_kernel(tune(warps = [4]), emulate = all, grid = [1])]
    pub unsafe fn reversed(words: u64, y: &mut [u16]) {
        let i = arange(256);
        let p = words as *mut u32;
        store(p.add(i), (i * 65537).to::<u32>());
        let halves = p.add(1) as *mut u16;
        store(y, i, load(halves.add(255 - i)));
    }

    /// Counts by atomics behind pointers, one for each remainder.
    #[tile_kernel(tune(warps = [2]), emulate = all, grid = [cdiv(x.len(), 128)])]
    pub unsafe fn tallied(counters: &[u64], x: &[u32]) {
        let i = program_id(0) * 128 + arange(128);
        let p = load(counters, load(x, i) % 3) as *mut u32;
        atomic_add(p, full([128], 1u32)).mask(i < x.len());
    }
}

/// Numbers from -8 to 8.
fn numbers<T: Number>(n: usize, seed: usize) -> Vec<T> {
    (0..n).map(|i| T::of(((i * 37 + seed * 101) % 17) as f64 - 8.0)).collect()
}

#[test]
fn aligned_products_of_a_table() {
    // Multiples of 8, and a K that is no multiple of the block's.
    let sizes = [(70, 72, 40), (128, 8, 104), (1, 64, 32)];
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let of = |n: usize, seed: usize| Buffer::from_slice(rt, &numbers::<f16>(n, seed));
        let mut all = vec![];
        for (i, &(m, n, k)) in sizes.iter().enumerate() {
            all.push((of(m * k, i)?, of(k * n, i + 5)?, Buffer::<f32>::zeros(rt, m * n)?));
        }
        let entry = |(i, (a, b, c)): (usize, &(Buffer<f16>, Buffer<f16>, Buffer<f32>))| {
            let (m, n, k) = sizes[i];
            [a.addr(), b.addr(), c.addr(), m as u64, n as u64, k as u64, k as u64, n as u64, n as u64]
        };
        let table: Vec<u64> = all.iter().enumerate().flat_map(entry).collect();
        let table = Buffer::from_slice(rt, &table)?;
        // SAFETY: the table has addresses of matrices of these sizes, and no two of `c` are one.
        rt.launch_with(rt.stream(), unsafe { kernels::aligned(&table) }, options)?;
        all.iter().map(|(a, b, c)| Ok((a.to_vec()?, b.to_vec()?, c.to_vec()?))).collect::<Result<Vec<_>, Error>>()
    };
    everywhere(kernels::aligned::DESCS[0], run, |all, what| {
        for (&(_, n, k), (a, b, c)) in sizes.iter().zip(&all) {
            for (at, found) in c.iter().enumerate() {
                let (i, j) = (at / n, at % n);
                let wanted: f64 = (0..k).map(|l| a[i * k + l].number() * b[l * n + j].number()).sum();
                assert_eq!(f64::from(*found), wanted, "{what}: {n} columns, element {i}, {j}");
            }
        }
    });
}

#[test]
fn products_of_a_table() {
    // The second matrix begins at no multiple of 16 bytes, the third has rows that are none.
    let sizes = [(32, 32, 32), (33, 8, 40), (5, 70, 33), (64, 1, 16)];
    let kernel = kernels::grouped::DESCS[0];
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let operands = |of: fn((usize, usize, usize)) -> usize, seed: usize| -> Vec<Vec<f16>> {
            sizes.iter().enumerate().map(|(i, &size)| numbers(of(size) + i, seed + i)).collect()
        };
        let (a, b) = (operands(|(m, _, k)| m * k, 1), operands(|(_, n, k)| k * n, 2));
        let mut c: Vec<Vec<f32>> = sizes.iter().map(|(m, n, _)| vec![-1.0; m * n]).collect();
        let mut table = vec![];
        for (i, &(m, n, k)) in sizes.iter().enumerate() {
            table.extend([a[i][i..].as_ptr() as u64, b[i][i..].as_ptr() as u64, c[i].as_mut_ptr() as u64]);
            table.extend([m, n, k, k, n, n].map(|x| x as u64));
        }
        // SAFETY: the table has addresses of matrices of these sizes, and no two of `c` are one.
        rt.launch_with(rt.stream(), unsafe { kernels::grouped(&table) }, options)?;
        Ok((a, b, c))
    };
    everywhere(kernel, run, |(a, b, c), what| {
        for (g, &(m, n, k)) in sizes.iter().enumerate() {
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let wanted: f64 = (0..k).map(|l| a[g][g + i * k + l].number() * b[g][g + l * n + j].number()).sum();
                assert_eq!(f64::from(c[g][i * n + j]), wanted, "{what}: matrix {g}, element {i}, {j}");
            }
        }
    });
}

fn steps<T: Number>(call: impl Fn(&Runtime, &LaunchOptions, Tables<T>) -> Result<(), Error>) {
    let lengths = [1000, 7, 256, 513];
    let desc = kernels::multi_tensor::DESCS.iter().find(|d| d.params[5].dtype == T::DTYPE).expect("it is built");
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let gradients: Vec<Vec<T>> = lengths.iter().enumerate().map(|(i, &n)| numbers(n + i, i)).collect();
        let mut parameters: Vec<Vec<T>> = lengths.iter().enumerate().map(|(i, &n)| numbers(n + 1, i + 9)).collect();
        let before = parameters.clone();
        let blocks =
            lengths.iter().enumerate().flat_map(|(i, &n)| (0..n).step_by(256).map(move |b| (i as u32, b as u32)));
        let (blocks, firsts): (Vec<u32>, Vec<u32>) = blocks.unzip();
        let tables = Tables {
            // All but the first begin behind an element.
            parameters: parameters.iter_mut().enumerate().map(|(i, p)| p[i.min(1)..].as_mut_ptr() as u64).collect(),
            gradients: gradients.iter().enumerate().map(|(i, g)| g[i..].as_ptr() as i64).collect(),
            lengths: lengths.map(|n| n as u64).to_vec(),
            blocks,
            firsts,
            rate: T::of(0.5),
        };
        call(rt, options, tables)?;
        Ok((before, gradients, parameters))
    };
    everywhere(desc, run, |(before, gradients, after), what| {
        for (a, &n) in lengths.iter().enumerate() {
            for i in 0..before[a].len() {
                let first = a.min(1);
                let step = if i < first || i >= first + n { 0.0 } else { 0.5 * gradients[a][a + i - first].number() };
                assert_eq!(after[a][i], T::of(before[a][i].number() - step), "{what}: array {a}, element {i}");
            }
        }
    });
}

struct Tables<T> {
    parameters: Vec<u64>,
    gradients: Vec<i64>,
    lengths: Vec<u64>,
    blocks: Vec<u32>,
    firsts: Vec<u32>,
    rate: T,
}

#[test]
fn many_arrays_at_once() {
    macro_rules! steps { ($($t:ty)+) => { $(
        steps::<$t>(|rt, options, t| {
            // SAFETY: the tables have addresses of arrays of `lengths` elements.
            let call = unsafe {
                kernels::multi_tensor(&t.parameters, &t.gradients, &t.lengths, &t.blocks, &t.firsts, t.rate)
            };
            rt.launch_with(rt.stream(), call, options)
        });
    )+ } }
    steps!(f32 bf16 f64);
}

fn rows<T: Number>(
    desc: &KernelParts,
    call: impl Fn(&Runtime, &LaunchOptions, &[u64], &mut [T], usize) -> Result<(), Error>,
) {
    for n in [1, 5, 32] {
        let x: Vec<T> = numbers(1000, n);
        let places: Vec<usize> = (0..21).map(|i| i * 271 % 960).collect();
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let table: Vec<u64> = places.iter().map(|&i| x[i..].as_ptr() as u64).collect();
            let mut y = vec![T::of(1.0); places.len() * n];
            call(rt, options, &table, &mut y, n)?;
            Ok(y)
        };
        let wanted: Vec<T> = places.iter().flat_map(|&i| &x[i..i + n]).copied().collect();
        everywhere(desc, run, |y, what| assert_eq!(y, wanted, "{what}"));
    }
}

#[test]
fn tiles_of_pointers() {
    macro_rules! rows { ($($t:ident $i:literal)+) => { $(
        rows::<$t>(kernels::rows::DESCS[$i], |rt, options, table, y, n| {
            // SAFETY: `n` elements follow each address.
            rt.launch_with(rt.stream(), unsafe { kernels::rows(table, y, n) }, options)
        });
    )+ } }
    rows!(f32 0 f16 1 i8 2);
}

#[test]
fn a_pointer_follows_a_list() {
    let order = [3, 0, 4, 1, 2];
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut nodes = [[0u64; 2]; 5];
        let first = nodes.as_mut_ptr();
        for (i, &n) in order.iter().enumerate() {
            let next = order.get(i + 1).map_or(0, |&next| first.wrapping_add(next) as u64);
            nodes[n] = [next, 10u64.pow(i as u32)];
        }
        let mut y = [0];
        // SAFETY: the list ends with 0.
        rt.launch_with(rt.stream(), unsafe { kernels::list(nodes[order[0]].as_mut_ptr() as u64, &mut y) }, options)?;
        Ok((order.map(|n| nodes[n][1]), y))
    };
    everywhere(kernels::list::DESCS[0], run, |found, what| {
        assert_eq!(found, ([1, 11, 111, 1111, 11111], [11111]), "{what}");
    });
}

#[test]
fn loads_see_what_other_threads_have_stored() {
    let run = |rt: &Runtime, options: &LaunchOptions| {
        // Of every alignment that a word may have.
        let mut found = vec![];
        for first in 0..4 {
            // On the heap `y` begins at a multiple of 16 bytes, so that the variant with vectors runs.
            let (mut words, mut y) = ([0u32; 261], vec![0u16; 256]);
            // SAFETY: 257 words follow, and the halves that are read begin at the second one.
            let call = unsafe { kernels::reversed(words[first..].as_mut_ptr() as u64, &mut y) };
            assert_eq!(taken(&call, options.get_config().expect("set")), "aligned");
            rt.launch_with(rt.stream(), call, options)?;
            found.push(y);
        }
        Ok(found)
    };
    everywhere(kernels::reversed::DESCS[0], run, |found, what| {
        let wanted: Vec<u16> = (0..256).map(|i| 1 + (255 - i) / 2).collect();
        assert!(found.iter().all(|y| y[..] == wanted), "{what}");
    });
}

#[test]
fn atomics_behind_pointers() {
    let x: Vec<u32> = (0..1000).map(|i| i * i).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut counts = [[0u32; 4]; 3];
        let table: Vec<u64> = counts.iter_mut().map(|c| c[1..].as_mut_ptr() as u64).collect();
        // SAFETY: the table has the addresses of three words.
        rt.launch_with(rt.stream(), unsafe { kernels::tallied(&table, &x) }, options)?;
        Ok(counts)
    };
    let of = |r: u32| x.iter().filter(|&&v| v % 3 == r).count() as u32;
    everywhere(kernels::tallied::DESCS[0], run, |counts, what| {
        assert_eq!(counts, [0, 1, 2].map(|r| [0, of(r), 0, 0]), "{what}");
    });
}
