//! The offsets of the elements of a matrix in shared memory that many accesses share.

use super::layout::LANE_BITS;
use super::matrix::combine;

/// An access of a warp: its lanes as bases of flat indices, and bytes of each.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    pub bytes: usize,
    pub lanes: [u32; LANE_BITS],
}

/// Bytes over all banks.
const ROW: usize = 128;
/// Log2 of the bytes that stay together.
const VECTOR_BITS: u32 = 4;

/// The byte offset of an element as bases over the bits of its flat index. Rows along dimension `fast` lie one behind
/// the other; vectors of 16 bytes are swapped (by xor with bits of the row's number) so that these accesses take the
/// fewest passes through the banks.
pub fn place(shape: &[usize], fast: usize, size: usize, uses: &[Use]) -> Vec<u32> {
    let bits: Vec<u32> = shape.iter().map(|e| e.trailing_zeros()).collect();
    let low = |d: usize| bits[d + 1..].iter().sum::<u32>();
    let row = bits[fast] + size.trailing_zeros();
    let fasts: Vec<u32> = (0..bits[fast]).map(|i| low(fast) + i).collect();
    let slows: Vec<u32> = (0..bits.iter().sum()).filter(|b| !fasts.contains(b)).collect();
    let mut plain = vec![0; fasts.len() + slows.len()];
    fasts.iter().enumerate().for_each(|(i, &b)| plain[b as usize] = (size as u32) << i);
    slows.iter().enumerate().for_each(|(i, &b)| plain[b as usize] = 1 << (row + i as u32));
    let top = ROW.trailing_zeros();
    // Below a row's own bits; in them, only by higher ones, so that rows stay apart.
    let may = |from: usize, to: u32| to < row || from as u32 > to - row;
    let swapped = |from: usize, to: u32| {
        let mut p = plain.clone();
        (from..slows.len())
            .zip(to..top)
            .filter(|&(from, to)| may(from, to))
            .for_each(|(from, to)| p[slows[from] as usize] ^= 1 << to);
        p
    };
    let choices = (0..slows.len())
        .flat_map(|from| (VECTOR_BITS..top).map(move |to| (from, to)))
        .map(|(from, to)| swapped(from, to));
    let passes = |p: &Vec<u32>| uses.iter().map(|u| passes(&u.lanes.map(|l| combine(p, l)), u.bytes)).sum::<usize>();
    std::iter::once(plain.clone()).chain(choices).min_by_key(passes).expect("at least one")
}

/// Passes through the banks of a warp's access; lanes are given as byte offsets.
fn passes(lanes: &[u32; LANE_BITS], bytes: usize) -> usize {
    let at_once = (ROW / bytes.max(4)).min(32);
    let of = |first: usize| {
        let mut words: Vec<u32> = (first..first + at_once)
            .flat_map(|lane| (0..bytes.div_ceil(4) as u32).map(move |w| combine(lanes, lane as u32) / 4 + w))
            .collect();
        words.sort_unstable();
        words.dedup();
        (0..32).map(|bank| words.iter().filter(|&&w| w % 32 == bank).count()).max().unwrap_or(0)
    };
    (0..32).step_by(at_once).map(of).sum()
}
