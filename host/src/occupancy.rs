//! How many thread blocks of a kernel a multiprocessor has at a time, and what stands in the way of more.

use crate::device::Multiprocessor;

/// Registers of a warp are allocated in units of this size.
const REGISTER_UNIT: u32 = 256;
/// Each has its own part of the registers and of the warps.
const SUB_PARTITIONS: u32 = 4;
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

/// The limit of the blocks of a multiprocessor. [`Occupancy`] has an example.
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
/// use tilewright::tuning::{BlockResources, OccupancyLimit};
/// use tilewright::Multiprocessor;
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
        let [shared_unit, reserved_shared_bytes] = Multiprocessor::allocation(compute);
        let shared_bytes = shared_kib << 10;
        Some(Multiprocessor { threads, blocks, registers: 65536, shared_bytes, shared_unit, reserved_shared_bytes })
    }

    /// The unit in which a block's shared memory is allocated, and the bytes of it that the driver keeps.
    pub(crate) fn allocation(compute: (u32, u32)) -> [u32; 2] {
        if compute < (8, 0) { [256, 0] } else { [128, 1 << 10] }
    }

    /// How many blocks there are at a time, and what limits them.
    pub fn occupancy(&self, block: &BlockResources) -> Occupancy {
        let warps = block.threads.div_ceil(WARP).max(1);
        let room = [
            (OccupancyLimit::Registers, self.blocks_by_registers(block.registers, warps)),
            (OccupancyLimit::SharedMemory, self.shared_bytes / self.allocated(block.shared_bytes)),
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

    /// A warp has registers of one sub-partition.
    fn blocks_by_registers(&self, registers: u32, warps: u32) -> u32 {
        let of_warp = registers.saturating_mul(WARP).checked_next_multiple_of(REGISTER_UNIT);
        let of_warp = of_warp.unwrap_or(u32::MAX).max(1);
        (self.registers / SUB_PARTITIONS / of_warp).saturating_mul(SUB_PARTITIONS) / warps
    }

    /// Bytes of shared memory that a block takes.
    fn allocated(&self, shared_bytes: u32) -> u32 {
        let bytes = shared_bytes.saturating_add(self.reserved_shared_bytes);
        bytes.checked_next_multiple_of(self.shared_unit).unwrap_or(u32::MAX).max(1)
    }

    /// The most that each of so many blocks may take; registers are those of blocks with so many warps.
    fn most_for(&self, blocks: u32, warps: u32) -> Option<BlockResources> {
        let threads = self.threads / blocks / WARP * WARP;
        let warps = warps.min(threads / WARP);
        if blocks > self.blocks || warps == 0 {
            return None;
        }
        let of_partition = blocks.saturating_mul(warps).div_ceil(SUB_PARTITIONS);
        let of_warp = self.registers / SUB_PARTITIONS / of_partition / REGISTER_UNIT * REGISTER_UNIT;
        let shared_bytes = self.shared_bytes / blocks / self.shared_unit * self.shared_unit;
        let shared_bytes = shared_bytes.checked_sub(self.reserved_shared_bytes)?;
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
                        // A resource that is no limit needs no change, and one that is a limit needs some.
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

    /// Results of NVIDIA's occupancy calculation: threads, registers, shared bytes, blocks.
    #[test]
    fn as_nvidia_counts() {
        for (compute, threads, registers, shared_bytes, blocks) in [
            // Two warps of 1280 registers: 12 warps fit in a sub-partition of 16384.
            ((9, 0), 64, 40, 0, 24),
            ((9, 0), 288, 100, 0, 1),
            ((9, 0), 256, 168, 0, 1),
            ((9, 0), 256, 128, 0, 2),
            ((9, 0), 128, 32, 0, 16),
            // Two warps of 6400 registers fit in a sub-partition, and the block has nine.
            ((9, 0), 288, 200, 0, 0),
            ((9, 0), 64, 168, 0, 6),
            ((9, 0), 128, 32, 45568, 5),
            ((9, 0), 128, 32, 45570, 4),
            ((9, 0), 128, 32, 227 << 10, 1),
            ((8, 6), 128, 32, 99 << 10, 1),
            ((7, 5), 128, 32, 64 << 10, 1),
            ((7, 5), 128, 32, 32 << 10, 2),
        ] {
            let sm = Multiprocessor::of(compute).unwrap();
            let o = sm.occupancy(&BlockResources { threads, registers, shared_bytes });
            assert_eq!(o.blocks, blocks, "{compute:?} {threads} x {registers}, {shared_bytes}");
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
