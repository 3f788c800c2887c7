//! Products by `mma.sync` or by multiply-adds, which each warp computes on its own.

use crate::dtype::DType;
use crate::ir::{Func, Op, Precision, Value, matrices};
use crate::layout::linear::Layout;
use crate::layout::padded;
use crate::mma::{bits, instruction_k, left_operand};

/// The instructions of a product that is not computed by `wgmma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `mma.sync`: each warp on its own, with operands in registers.
    Mma,
    /// Multiply-adds in f32, without tensor cores.
    Fma,
}

/// The partition of a product among warps: the layouts of the accumulator and of the operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warps {
    pub acc: Layout,
    pub a: Layout,
    pub b: Layout,
    /// The number of instructions along the rows and the columns of a warp's part, and along K.
    pub row_blocks: usize,
    pub col_blocks: usize,
    pub steps: usize,
    /// The products of a batch that a warp, or a thread, computes one after another. The highest bits of the register
    /// are the number of the product.
    pub products: usize,
}

impl Warps {
    /// The product of `[m, k]` and `[k, n]`, padded, by m16n8 instructions; none where the tile is smaller than one
    /// instruction.
    pub fn mma(m: usize, n: usize, k: usize, dtype: DType, warps: usize) -> Option<Warps> {
        let (deep, n) = (instruction_k(dtype), n.next_power_of_two());
        if !m.is_power_of_two() || !k.is_power_of_two() || m < 16 || n < 8 || k < deep {
            return None;
        }
        // The part is as square as possible, so that a warp has the fewest operands.
        let (mut part_m, mut part_n, mut left) = (m, n, warps);
        while left > 1 && (part_m > 16 || part_n > 8) {
            if part_m > 16 && (part_m >= part_n || part_n == 8) {
                part_m /= 2
            } else {
                part_n /= 2
            }
            left /= 2;
        }
        let (mb, nb, kb) = (bits(m), bits(n), bits(k));
        let (pm, pn) = (bits(part_m), bits(part_n));
        // Elements of a row that share a register, as many as fit in 32 bits; then four lanes; then the other half.
        let pack = bits(4 / dtype.size());
        let col = |i: u32| 1u32 << i;
        let spare = std::iter::repeat_n(0, bits(left) as usize);
        let acc = {
            let row = |i: u32| 1u32 << (nb + i);
            let mut regs = vec![col(0), row(3)];
            regs.extend((3..pn).map(col));
            regs.extend((4..pm).map(row));
            let warps = (pm..mb).map(row).chain((pn..nb).map(col)).chain(spare.clone());
            Layout::new(&[m, n], regs, [col(1), col(2), row(0), row(1), row(2)], warps.collect())
        };
        let a = left_operand(&[m, k], dtype.size(), 4..pm, pm..mb, nb - pn + bits(left));
        let b = {
            let row = |i: u32| 1u32 << (nb + i);
            let mut regs: Vec<u32> = (0..pack).map(row).collect();
            regs.push(row(pack + 2));
            regs.extend((pack + 3..kb).map(row));
            regs.extend((3..pn).map(col));
            let warps = (pm..mb).map(|_| 0).chain((pn..nb).map(col)).chain(spare);
            Layout::new(&[k, n], regs, [row(pack), row(pack + 1), col(0), col(1), col(2)], warps.collect())
        };
        Some(Warps { acc, a, b, row_blocks: part_m / 16, col_blocks: part_n / 8, steps: k / deep, products: 1 })
    }

    /// The product by multiply-adds of single elements: the part of every thread is as square as possible.
    pub fn fma(m: usize, n: usize, k: usize, warps: usize) -> Warps {
        let shape = padded(&[m, n, k]);
        let (mb, nb, kb) = (bits(shape[0]), bits(shape[1]), bits(shape[2]));
        let threads = 5 + bits(warps);
        let (mut of_m, mut of_n) = (0, 0);
        for _ in 0..threads {
            // Lanes go along the dimension with the most elements left. Without any left, lanes have copies.
            if mb - of_m >= nb - of_n && of_m < mb {
                of_m += 1
            } else if of_n < nb {
                of_n += 1
            }
        }
        let (pm, pn) = (mb - of_m, nb - of_n);
        let rows = |low: u32| (pm..mb).map(move |i| 1u32 << (low + i)).collect::<Vec<_>>();
        // Columns in groups of four, consecutive lanes next to each other: vectors without bank conflicts.
        let (near, far) = (pn.min(2), nb - pn.saturating_sub(2));
        let cols = (near..far).map(|i| 1u32 << i).collect::<Vec<_>>();
        let col_regs = || (0..near).chain(far..nb).map(|i| 1u32 << i);
        let thread = |of_rows: Vec<u32>, of_cols: Vec<u32>| {
            let mut all: Vec<u32> = of_cols.into_iter().chain(of_rows).collect();
            all.resize(threads as usize, 0);
            let lanes: [u32; 5] = all[..5].try_into().expect("five lane bits");
            (lanes, all[5..].to_vec())
        };
        let acc = {
            let (lanes, warps) = thread(rows(nb), cols.clone());
            let regs = col_regs().chain((0..pm).map(|i| 1 << (nb + i))).collect();
            Layout::new(&[shape[0], shape[1]], regs, lanes, warps)
        };
        let a = {
            let (lanes, warps) = thread(rows(kb), vec![0; cols.len()]);
            let regs = (0..kb).map(|i| 1 << i).chain((0..pm).map(|i| 1 << (kb + i))).collect();
            Layout::new(&[shape[0], shape[2]], regs, lanes, warps)
        };
        let b = {
            let (lanes, warps) = thread(vec![0; of_m as usize], cols);
            let regs = col_regs().chain((0..kb).map(|i| 1 << (nb + i))).collect();
            Layout::new(&[shape[2], shape[1]], regs, lanes, warps)
        };
        Warps { acc, a, b, row_blocks: 1 << pm, col_blocks: 1 << pn, steps: 1 << kb, products: 1 }
    }

    /// The partition of a batch: `over` times as many warps partition the products, threads that would have copies take
    /// other products, and the remaining products are in further registers.
    fn batched(&self, batch: usize, over: usize) -> Warps {
        let idle: Vec<usize> = (0..).zip(self.acc.thread_bases()).filter(|&(_, b)| b == 0).map(|(i, _)| i).collect();
        let with = |l: &Layout| {
            let mut unused = (0..bits(batch)).map(|i| 1 << (l.bits() + i));
            let mut threads = l.thread_bases();
            threads.extend(unused.by_ref().take(bits(over) as usize));
            idle.iter().for_each(|&i| threads[i] = unused.next().unwrap_or(0));
            let regs = l.reg_bases().iter().copied().chain(unused).collect();
            let (lanes, warps) = threads.split_at(l.lane_bases().len());
            Layout::new(
                &[&[batch], &l.shape()[..]].concat(),
                regs,
                lanes.try_into().expect("the lanes"),
                warps.to_vec(),
            )
        };
        let acc = with(&self.acc);
        Warps { a: with(&self.a), b: with(&self.b), products: acc.regs() / self.acc.regs(), acc, ..*self }
    }
}

/// The unit of a product outside of a pipeline, and its layouts.
pub fn warps(f: &Func, dot: Value) -> (Unit, Warps) {
    let Op::Dot { a, b, precision, .. } = f.op(dot) else { unreachable!("a dot") };
    let ((batch, [m, k]), (_, [_, n])) = (matrices(f.shape(*a)), matrices(f.shape(*b)));
    // Warps with different products read no operand twice.
    let over = batch.iter().fold(1, |_, &b| b.min(f.warps as usize));
    let (dtype, warps) = (f.ty(*a).dtype, f.warps as usize / over);
    let tensor = match dtype {
        DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2 | DType::I8 => true,
        DType::F32 => *precision != Precision::Ieee,
        _ => false,
    };
    let (unit, w) = match tensor.then(|| Warps::mma(m, n, k, dtype, warps)).flatten() {
        Some(w) => (Unit::Mma, w),
        None => (Unit::Fma, Warps::fma(m, n, k, warps)),
    };
    (unit, batch.iter().fold(w, |w, &b| w.batched(b, over)))
}
