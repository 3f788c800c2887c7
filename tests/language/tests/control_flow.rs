//! Returns, labels, ranges that count down, `match` on numbers.

use tilewright::tile_module;
use tilewright_core::KernelDesc;
use tilewright_language_tests::everywhere::everywhere;

#[tile_module]
mod kernels {
    const fn rows(block: usize) -> usize {
        if block > 64 {
            return 4;
        }
        block / 8
    }

    const ROWS: usize = rows(16);

    fn root_below(n: u32, from: u32) -> u32 {
        if n == 0 {
            return 0;
        }
        let mut root = from;
        while root * root > n {
            root -= 1;
        }
        if root * root == n {
            return root;
        }
        root + 100
    }

    /// Pairs `(i, j)` that are left by labels, roots, and bindings of `match`.
    #[tile_kernel(grid = [1], emulate = all)]
    pub fn jumps(y: &mut [u32], n: u32) {
        let mut seen = 0u32;
        'rows: for i in 0..n {
            'columns: for j in 0..n {
                for k in static_range(0..2) {
                    if i + j == 9 + k.to::<u32>() {
                        continue 'columns;
                    }
                }
                let mut t = 0u32;
                loop {
                    t += 1;
                    if t * j > 40 {
                        break 'rows;
                    }
                    if t > i {
                        continue 'rows;
                    }
                    if t == j {
                        break;
                    }
                }
                seen = seen * 3 + i * 7 + j;
            }
            seen += 1000;
        }
        store(y, 0, seen);
        store(y, 1, root_below(n, n));
        let word = match n {
            0 => 5u32,
            1 | 2 | 7 => 6 + n,
            _ => {
                let twice = 2 * n;
                match twice > 20 {
                    true => 1,
                    false => twice,
                }
            }
        };
        store(y, 2, word);
        store(y, 4 + arange(ROWS), full([ROWS], n));
    }

    /// The numbers of ranges, one behind the other; WAY says how they are written.
    #[tile_kernel(
        types(T = [i32, u64, i8]),
        tune(WAY = [0, 1, 2, 3], warps = [1]),
        grid = [1],
        emulate = all,
    )]
    pub fn numbers<T, const WAY: usize>(y: &mut [T], count: &mut [u32], lo: T, hi: T, step: T) {
        let mut n = 0u32;
        if WAY == 0 {
            for i in range(lo, hi, step) {
                store(y, n, i);
                n += 1;
            }
        } else if WAY == 1 {
            for i in range(lo, hi, step).rev() {
                store(y, n, i);
                n += 1;
            }
        } else if WAY == 2 {
            for i in (lo..=hi).rev() {
                store(y, n, i);
                n += 1;
            }
        } else {
            for i in static_range(7, -4, -3) {
                store(y, n, i.to::<T>() + lo);
                n += 1;
            }
        }
        store(count, 0, n);
    }
}
use kernels::{jumps, numbers};

const CAPACITY: usize = 64;

fn jumps_on_the_host(n: u32) -> [u32; 3] {
    let mut seen = 0u32;
    'rows: for i in 0..n {
        'columns: for j in 0..n {
            for k in 0..2 {
                if i + j == 9 + k {
                    continue 'columns;
                }
            }
            let mut t = 0u32;
            loop {
                t += 1;
                if t * j > 40 {
                    break 'rows;
                }
                if t > i {
                    continue 'rows;
                }
                if t == j {
                    break;
                }
            }
            seen = seen.wrapping_mul(3).wrapping_add(i * 7 + j);
        }
        seen = seen.wrapping_add(1000);
    }
    let root = if n == 0 { 0 } else { (0..=n).rev().find(|r| r * r <= n).unwrap() };
    let root = if root * root == n { root } else { root + 100 };
    let word = match n {
        0 => 5,
        1 | 2 | 7 => 6 + n,
        n if n > 10 => 1,
        n => 2 * n,
    };
    [seen, root, word]
}

#[test]
fn labels_returns_and_matches_mean_what_rust_means() {
    for n in [0u32, 1, 2, 4, 6, 7, 9, 12, 16, 40] {
        let run = |rt: &tilewright::Runtime, options: &tilewright::LaunchOptions| {
            let mut y = [77u32; 8];
            rt.launch_with(rt.stream(), jumps(&mut y, n), options)?;
            Ok(y)
        };
        everywhere(jumps::DESCS[0], run, |y, title| {
            assert_eq!(y[..3], jumps_on_the_host(n), "{title}: {n}");
            assert_eq!(y[3..], [77, n, n, 77, 77], "{title}");
        });
    }
}

/// The numbers that a range has; of a longer one the first that there is no room for is the last.
fn listed(lo: i128, hi: i128, step: i128) -> Vec<i128> {
    let (mut out, mut i) = (vec![], lo);
    while out.len() <= CAPACITY && step != 0 && if step > 0 { i < hi } else { i > hi } {
        out.push(i);
        i += step;
    }
    out
}

macro_rules! check {
    ($t:ident, $desc:expr, $ranges:expr) => {
        for (lo, hi, step) in $ranges {
            let desc: &KernelDesc = $desc;
            let wanted = |way: i64| {
                let (a, b, s) = (lo as i128, hi as i128, step as i128);
                let mut all = match way {
                    2 => listed(a, b + 1, 1),
                    3 => listed(7, -4, -3),
                    _ => listed(a, b, s),
                };
                if way == 1 || way == 2 {
                    all.reverse();
                }
                if way == 3 {
                    all.iter_mut().for_each(|n| *n += a);
                }
                all.into_iter().map(|n| n as $t).collect::<Vec<$t>>()
            };
            for config in desc.configs {
                let way = config.value_of("WAY").expect("a constant");
                let wanted = wanted(way);
                // More numbers than there is room for are for the other ways.
                if wanted.len() > CAPACITY {
                    continue;
                }
                for (name, rt) in [("CPU", tilewright::Runtime::cpu()), ("emulator", tilewright::Runtime::emulator(3))]
                {
                    let (mut y, mut count) = (vec![0 as $t; CAPACITY], [0u32]);
                    let options = tilewright::LaunchOptions::new().config(config.id);
                    let call = numbers(&mut y, &mut count, lo as $t, hi as $t, step as $t);
                    rt.launch_with(rt.stream(), call, &options).expect("it runs");
                    assert_eq!(&y[..count[0] as usize], wanted, "{name} {way}: {lo} {hi} {step}");
                }
            }
        }
    };
}

#[test]
fn ranges_count_up_and_down_and_end() {
    check!(
        i32,
        <(i32,) as numbers::Types>::DESC,
        [
            (0, 10, 3),
            (10, 0, -3),
            (10, -1, -1),
            (3, 3, -1),
            (0, 10, -1),
            (5, 9, 0),
            (9, 5, 0),
            (-7, 8, 5),
            (0, 0, 1),
            (i32::MAX, i32::MIN, -(1 << 30)),
            (i32::MIN, i32::MAX, i32::MAX),
            (i32::MIN + 3, i32::MIN, -1),
            (1, 9, i32::MIN),
        ]
    );
    check!(
        u64,
        <(u64,) as numbers::Types>::DESC,
        [(0u64, 10u64, 3u64), (5, 9, 0), (9, 5, 0), (9, 5, 1), (0, 0, 1), (u64::MAX - 9, u64::MAX - 1, 4),]
    );
    check!(
        i8,
        <(i8,) as numbers::Types>::DESC,
        [(-128i8, 127i8, 50i8), (120, -128, -60), (126, -100, -128), (7, 7, 0)]
    );
}
