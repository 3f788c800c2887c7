//! How many thread blocks of a kernel a multiprocessor has at a time, and what stands in the way of more.

use crate::device::Multiprocessor;

/// Registers are given to a warp in pieces of so many.
const REGISTERS_AT_A_TIME: u32 = 256;
/// Shared memory that the driver keeps for each block.
const RESERVED: u32 = 1 << 10;
const WARP: u32 = 32;

/// The resources of one thread block. [`Occupancy`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockResources {
    /// Threads of the block.
    pub threads: u32,
    /// Registers of 32 bits of a thread.
    pub registers: u32,
    /// Bytes of shared memory of the block.
    pub shared_bytes: u32,
}

/// What limits the blocks of a multiprocessor. [`Occupancy`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OccupancyLimit {
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
    /// Resident threads.
    Threads,
    /// Resident blocks.
    Blocks,
}

/// The blocks of a kernel on a multiprocessor.
///
/// # Examples
/// ```
/// use tilewright::{BlockResources, Multiprocessor, OccupancyLimit};
///
/// let hopper = Multiprocessor::of((9, 0)).expect("it is known");
/// let o = hopper.occupancy(&BlockResources { threads: 256, registers: 168, shared_bytes: 0 });
/// assert_eq!((o.blocks, o.warps, o.limits.as_slice()), (1, 8, &[OccupancyLimit::Registers][..]));
/// // With 128 registers a thread there would be two.
/// assert_eq!(o.one_more.map(|r| r.registers), Some(128));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks that a multiprocessor has at a time; 0 of a block that does not fit.
    pub blocks: u32,
    /// Their warps.
    pub warps: u32,
    /// The warps that it could have.
    pub max_warps: u32,
    /// The resources that leave no room for another block.
    pub limits: Vec<OccupancyLimit>,
    /// The most that a block may take of each resource for one more block; `None` where no kernel has more blocks, or
    /// the threads would have to become fewer than a warp.
    pub one_more: Option<BlockResources>,
}

impl Multiprocessor {
    /// The multiprocessor of a compute capability, by NVIDIA's table; `None` of one that is not in it here.
    pub fn of(compute: (u32, u32)) -> Option<Multiprocessor> {
        let (threads, blocks, shared_kib) = match compute {
            (7, 5) => (1024, 16, 64),
            (8, 0) => (2048, 32, 164),
            (8, 6) => (1536, 16, 100),
            (8, 9) => (1536, 24, 100),
            (9, 0) | (10, 0) => (2048, 32, 228),
            _ => return None,
        };
        Some(Multiprocessor { threads, blocks, registers: 65536, shared_bytes: shared_kib << 10 })
    }

    /// How many blocks there are at a time, and what limits them.
    pub fn occupancy(&self, block: &BlockResources) -> Occupancy {
        let warps = block.threads.div_ceil(WARP).max(1);
        let of_warp = block.registers.saturating_mul(WARP);
        let of_warp = of_warp.checked_next_multiple_of(REGISTERS_AT_A_TIME).unwrap_or(u32::MAX).max(1);
        let room = [
            (OccupancyLimit::Registers, self.registers / of_warp.saturating_mul(warps)),
            (OccupancyLimit::SharedMemory, self.shared_bytes / block.shared_bytes.saturating_add(RESERVED)),
            (OccupancyLimit::Threads, self.threads / warps.saturating_mul(WARP)),
            (OccupancyLimit::Blocks, self.blocks),
        ];
        let blocks = room.iter().map(|r| r.1).min().unwrap_or(0);
        let limits = room.iter().filter(|r| r.1 == blocks).map(|r| r.0).collect();
        Occupancy {
            blocks,
            warps: blocks.saturating_mul(warps),
            max_warps: self.threads / WARP,
            limits,
            one_more: self.most_for(blocks + 1, warps),
        }
    }

    /// The most that each of so many blocks may take; registers are those of blocks with so many warps.
    fn most_for(&self, blocks: u32, warps: u32) -> Option<BlockResources> {
        let threads = self.threads / blocks / WARP * WARP;
        let warps = warps.min(threads / WARP);
        if blocks > self.blocks || warps == 0 {
            return None;
        }
        let of_warp = self.registers / blocks / warps / REGISTERS_AT_A_TIME * REGISTERS_AT_A_TIME;
        let shared_bytes = (self.shared_bytes / blocks).checked_sub(RESERVED)?;
        // No thread can name more.
        Some(BlockResources { threads, registers: (of_warp / WARP).min(255), shared_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_block_fits_and_no_larger_one() {
        for compute in [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0)] {
            let sm = Multiprocessor::of(compute).unwrap();
            for threads in [32, 128, 256, 384, 1024] {
                for registers in [16, 40, 64, 128, 168, 255] {
                    for shared_bytes in [0, 1000, 48 << 10, 64 << 10, 100 << 10, 227 << 10] {
                        let block = BlockResources { threads, registers, shared_bytes };
                        let o = sm.occupancy(&block);
                        let Some(more) = o.one_more else {
                            assert_eq!(o.blocks, sm.blocks, "{compute:?} {block:?}");
                            continue;
                        };
                        let lifted = BlockResources {
                            threads: threads.min(more.threads),
                            registers: registers.min(more.registers),
                            shared_bytes: shared_bytes.min(more.shared_bytes),
                        };
                        assert!(sm.occupancy(&lifted).blocks > o.blocks, "{compute:?} {block:?} {o:?}");
                        // What is not a limit needs no change, and what is one needs some.
                        for (limit, kept) in [
                            (OccupancyLimit::Registers, lifted.registers == registers),
                            (OccupancyLimit::SharedMemory, lifted.shared_bytes == shared_bytes),
                        ] {
                            if lifted.threads == threads {
                                assert_eq!(o.limits.contains(&limit), !kept, "{compute:?} {block:?} {o:?}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_block_that_does_not_fit() {
        let turing = Multiprocessor::of((7, 5)).unwrap();
        let o = turing.occupancy(&BlockResources { threads: 128, registers: 32, shared_bytes: 100 << 10 });
        assert_eq!((o.blocks, o.limits), (0, vec![OccupancyLimit::SharedMemory]));
        let worst = BlockResources { threads: u32::MAX, registers: u32::MAX, shared_bytes: u32::MAX };
        assert_eq!(turing.occupancy(&worst).blocks, 0, "a damaged bundle");
        assert!(Multiprocessor::of((1, 0)).is_none());
    }
}
