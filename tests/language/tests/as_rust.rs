//! Names, loops and arms have their meaning in Rust, and memory is read as it was written.

use tilewright::tile_module;
use tilewright_language_tests::everywhere::everywhere;

#[tile_module]
mod kernels {
    const BLOCK: usize = 64;
    const HALF: usize = BLOCK / 2;

    fn part(v: Tile<f32>) -> Tile<f32> {
        v * (BLOCK as f32) + HALF as f32
    }

    /// The constant of the kernel is not that of the module.
    #[tile_kernel(tune(BLOCK = [128], warps = [4]), requires = [HALF == 32], emulate = all, grid = [cdiv(BLOCK, 128)])]
    pub fn constants<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
        let of_kernel = |v: Tile<f32>| v + BLOCK as f32;
        store(y, arange(BLOCK), part(load(x, arange(BLOCK))));
        store(y, BLOCK + arange(BLOCK), of_kernel(load(x, arange(BLOCK))));
    }

    fn scaled(v: f32, scale: Option<f32>) -> f32 {
        let s = match scale {
            Some(v) => v,
            None => return v,
        };
        v * s
    }

    fn beside(v: f32, bias: Option<f32>, y: &mut [f32]) -> f32 {
        let w = 3.0;
        if let Some(w) = bias {
            store(y, 3, w);
        } else {
            return v;
        }
        v * w
    }

    /// The names of an arm end with it.
    #[tile_kernel(tune(warps = [1]), grid = [1])]
    pub fn arms(x: &[f32], y: &mut [f32]) {
        let v = load(x, 0);
        store(y, 0, scaled(v, Some(5.0)));
        store(y, 1, scaled(v, None));
        store(y, 2, beside(v, Some(7.0), y));
        store(y, 4, beside(v, None, y));
    }

    /// The first arm that takes a value is its arm.
    #[tile_kernel(tune(warps = [1]), grid = [1])]
    pub fn first_arm(x: &[i32], y: &mut [i32]) {
        for i in 0..2 {
            let r = match load(x, i) > 0 {
                true => 1,
                _ => 2,
                false => 3,
            };
            store(y, i, r);
        }
    }

    /// A tile that the inner loop moves, and the outer one puts back every other time.
    #[tile_kernel(tune(B = [128], warps = [4]), grid = [1])]
    pub fn moved<const B: usize>(x: &[f32], y: &mut [f32], n: usize) {
        let mut p = arange(B);
        let mut sum = zeros::<f32>([B]);
        for i in 0..n {
            if i % 2 == 0 {
                p = arange(B) + i * 1000;
            }
            for _ in 0..4 {
                sum += load(x, p);
                p += B;
            }
        }
        store(y, arange(B), sum);
    }

    /// Elements of another size than the stored ones.
    #[tile_kernel(tune(warps = [4]), grid = [1])]
    pub unsafe fn punned(a: u64, y: &mut [u64]) {
        let i = arange(128);
        store((a as *mut u32).add(i), i.to::<u32>());
        store(y, i, load((a as *mut u64).add(i)).mask(i < 64));
    }

    /// All addresses are one.
    #[tile_kernel(tune(warps = [4]), grid = [1])]
    pub unsafe fn one_address(table: &[u64], y: &mut [f32]) {
        let i = arange(128);
        let p = (load(table, i) as *mut f32).add(i);
        store(p, 1.0).mask(i < 1);
        store(y, i, load(p));
    }
}

#[test]
fn constants_of_a_module_and_of_its_kernel() {
    let x: Vec<f32> = (0..128).map(|i| i as f32).collect();
    everywhere(
        kernels::constants::DESCS[0],
        |rt, options| {
            let mut y = vec![0.0; 256];
            rt.launch_with(rt.stream(), kernels::constants(&x, &mut y), options).map(|()| y)
        },
        |y, title| {
            let wanted = x.iter().map(|v| v * 64.0 + 32.0).chain(x.iter().map(|v| v + 128.0));
            assert_eq!(y, wanted.collect::<Vec<_>>(), "{title}");
        },
    );
}

#[test]
fn names_of_arms() {
    everywhere(
        kernels::arms::DESCS[0],
        |rt, options| {
            let mut y = vec![0.0; 5];
            rt.launch_with(rt.stream(), kernels::arms(&[2.0], &mut y), options).map(|()| y)
        },
        |y, title| assert_eq!(y, [10.0, 2.0, 6.0, 7.0, 2.0], "{title}"),
    );
}

#[test]
fn arms_in_their_order() {
    everywhere(
        kernels::first_arm::DESCS[0],
        |rt, options| {
            let mut y = vec![0; 2];
            rt.launch_with(rt.stream(), kernels::first_arm(&[0, 1], &mut y), options).map(|()| y)
        },
        |y, title| assert_eq!(y, [2, 1], "{title}"),
    );
}

#[test]
fn a_tile_that_two_loops_move() {
    let x: Vec<f32> = (0..5000).map(|i| (i * 7 % 64) as f32).collect();
    for n in [1, 2, 3, 4] {
        let mut wanted = vec![0.0; 128];
        let mut from = 0;
        for i in 0..n {
            if i % 2 == 0 {
                from = i * 1000;
            }
            for _ in 0..4 {
                wanted.iter_mut().enumerate().for_each(|(e, sum)| *sum += x[from + e]);
                from += 128;
            }
        }
        everywhere(
            kernels::moved::DESCS[0],
            |rt, options| {
                let mut y = vec![0.0; 128];
                rt.launch_with(rt.stream(), kernels::moved(&x, &mut y, n), options).map(|()| y)
            },
            |y, title| assert_eq!(y, wanted, "{title}: {n}"),
        );
    }
}

#[test]
fn words_are_read_as_double_words() {
    everywhere(
        kernels::punned::DESCS[0],
        |rt, options| {
            let (mut words, mut y) = (vec![0u64; 64], vec![0u64; 128]);
            // SAFETY: the address of 64 double words, which nothing else uses.
            let call = unsafe { kernels::punned(words.as_mut_ptr() as u64, &mut y) };
            rt.launch_with(rt.stream(), call, options).map(|()| y)
        },
        |y, title| {
            let wanted = (0..128).map(|i| if i < 64 { (2 * i + 1) << 32 | (2 * i) } else { 0 });
            assert_eq!(y, wanted.collect::<Vec<u64>>(), "{title}");
        },
    );
}

#[test]
fn one_element_behind_all_addresses() {
    everywhere(
        kernels::one_address::DESCS[0],
        |rt, options| {
            let (mut one, mut y) = (vec![0.0f32; 1], vec![9.0; 128]);
            let first = one.as_mut_ptr() as u64;
            let table: Vec<u64> = (0..128).map(|i| first.wrapping_sub(4 * i)).collect();
            // SAFETY: each address plus its place is that of the one element.
            let call = unsafe { kernels::one_address(&table, &mut y) };
            rt.launch_with(rt.stream(), call, options).map(|()| y)
        },
        |y, title| assert_eq!(y, [1.0; 128], "{title}"),
    );
}
