//! Tensor loads and stores: boxes of a tensor in global memory, row by row.

use super::access_kind::AccessKind;
use super::cluster::SharedAddress;
use super::machine::Machine;
use super::memory::{read, write};
use super::report::Kind;
use super::tensor_map::{TensorMap, swizzled};
use super::vector_clock::Agent;

/// One row of a box.
struct Row {
    /// Its place in the box.
    off: u32,
    /// The bytes of it that are inside of the tensor, and the address of the first; none if all of it is outside.
    inside: std::ops::Range<usize>,
    addr: u64,
}

impl TensorMap {
    fn rows(&self, at: [i32; 5]) -> impl Iterator<Item = Row> + use<'_> {
        let rows = self.extents[1..].iter().product::<u32>();
        let elem = self.elem_bytes as i64;
        (0..rows).map(move |row| {
            let (mut rest, mut addr, mut within) = (row, self.base, true);
            for (d, stride) in (1..).zip(self.strides) {
                let x = at[d] as i64 + (rest % self.extents[d]) as i64;
                rest /= self.extents[d];
                within &= (0..self.dims[d] as i64).contains(&x);
                addr = addr.wrapping_add((x as u64).wrapping_mul(stride));
            }
            let first = at[0] as i64;
            let from = first.clamp(0, self.dims[0] as i64);
            let to = (first + self.extents[0] as i64).clamp(from, self.dims[0] as i64);
            let inside = if within && from < to { (from - first) * elem..(to - first) * elem } else { 0..0 };
            let inside = inside.start as usize..inside.end as usize;
            Row { off: row * self.row_bytes(), inside, addr: addr.wrapping_add((from * elem) as u64) }
        })
    }
}

/// The accesses that a stretch of global memory takes: aligned, of up to 16 bytes.
fn pieces(addr: u64, bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let left = bytes - done;
        let aligned = 1 << (addr + done as u64).trailing_zeros().min(4);
        let piece = if left == 0 { return None } else { aligned.min(1 << left.ilog2()) };
        done += piece;
        Some((done - piece, piece))
    })
}

impl Machine {
    /// The map, if a box at `off` in shared memory has the alignment that hardware requires.
    ///
    /// # Safety
    /// As [`TensorMap::at`].
    unsafe fn tensor_map(&mut self, address: u64, rank: usize, off: u32, site: u32) -> Option<TensorMap> {
        // SAFETY: the caller's contract.
        match unsafe { TensorMap::at(address, rank) } {
            Ok(map) => {
                let align = if map.swizzle == 0 { 128 } else { 8 * map.swizzle };
                if off % align == 0 {
                    return Some(map);
                }
                let message = format!(
                    "a box with a swizzle of {} bytes at shared byte {off}; it takes a multiple of {align}",
                    map.swizzle
                );
                self.fail(Kind::Misaligned, site, message);
            }
            Err(message) => self.fail(Kind::Protocol, site, message),
        }
        None
    }

    /// Loads a box to the same place in each CTA of a mask, whose bytes count at that CTA's mbarrier; whether it may.
    ///
    /// # Safety
    /// `map` can be read as [`TensorMap::at`] does, and its tensor outside of known regions as
    /// [`global_load`](super::step::global_load) says.
    pub unsafe fn tma_load(&mut self, dst: u32, map: u64, at: &[i32], bar: u32, ctas: u16, site: u32) -> bool {
        if ctas == 0 || ctas >> self.cluster.ctas != 0 {
            let message =
                format!("a tma load to the CTAs of the mask {ctas:#b}, of a cluster of {}", self.cluster.ctas);
            self.fail(Kind::Protocol, site, message);
            return false;
        }
        let targets: Vec<u32> = (0..self.cluster.ctas).filter(|cta| ctas >> cta & 1 == 1).collect();
        if !targets.iter().all(|&cta| self.mbarrier_begin_load(SharedAddress { cta, off: bar }, site)) {
            return false;
        }
        // SAFETY: the caller's contract.
        let Some(map) = (unsafe { self.tensor_map(map, at.len(), dst, site) }) else { return false };
        if !self.begins_where_it_may(&map, at, site) {
            return false;
        }
        let mut steps = Vec::with_capacity(targets.len());
        for &cta in &targets {
            let step = self.asynchronous(
                "tma load",
                Agent::Load { bar: SharedAddress { cta, off: bar } },
                (self.current, 1),
                site,
            );
            if !self.reach(cta, step.now) {
                return false;
            }
            steps.push(step);
        }
        let mut bytes = vec![0; map.row_bytes() as usize];
        for row in map.rows(padded(at)) {
            bytes.fill(0);
            for (from, n) in pieces(row.addr, row.inside.len()) {
                let addr = row.addr + from as u64;
                if !self.global_async(&steps, AccessKind::Read, addr, n) {
                    return false;
                }
                // SAFETY: the access has been checked, or the address can be read by the caller's contract.
                let piece = unsafe { read(addr as *const u8, n) };
                bytes[row.inside.start + from..][..n].copy_from_slice(&piece.to_le_bytes()[..n]);
            }
            for (i, chunk) in bytes.chunks(16).enumerate() {
                let off = swizzled(dst + row.off + 16 * i as u32, map.swizzle);
                for (&cta, step) in targets.iter().zip(&steps) {
                    let Some(place) = self.shared_async(step, AccessKind::Write, SharedAddress { cta, off }, 16) else {
                        return false;
                    };
                    // SAFETY: the place of 16 bytes in that CTA's shared memory.
                    unsafe { write(place, 16, le(chunk)) };
                }
            }
        }
        targets.iter().for_each(|&cta| self.mbarrier_end_load(SharedAddress { cta, off: bar }, map.box_bytes()));
        true
    }

    /// Whether a box begins at a multiple of 16 bytes of a row. Measured on an H200: others are illegal instructions.
    fn begins_where_it_may(&mut self, map: &TensorMap, at: &[i32], site: u32) -> bool {
        let may = (i64::from(at[0]) * map.elem_bytes as i64) % 16 == 0;
        if !may {
            let message = format!("a box begins at element {} of a row, which is no multiple of 16 bytes", at[0]);
            self.fail(Kind::Misaligned, site, message);
        }
        may
    }

    /// Stores a box; whether it may.
    ///
    /// # Safety
    /// As [`tma_load`](Self::tma_load), and the tensor may be written.
    pub unsafe fn tma_store(&mut self, src: u32, map: u64, at: &[i32], site: u32) -> bool {
        // SAFETY: the caller's contract.
        let Some(map) = (unsafe { self.tensor_map(map, at.len(), src, site) }) else { return false };
        // Measured on an H200: a store that begins before the array is an illegal instruction. A load reads zeros.
        if at.iter().any(|&at| at < 0) {
            self.fail(Kind::Protocol, site, format!("a box is stored to {at:?}, before the array"));
            return false;
        }
        if !self.begins_where_it_may(&map, at, site) {
            return false;
        }
        // Measured on an H200: a store writes all of the last 16 bytes of a row, also those beyond the tensor.
        if !(map.dims[0] * map.elem_bytes as u64).is_multiple_of(16) {
            self.fail(
                Kind::Protocol,
                site,
                "a tensor whose rows are no multiple of 16 bytes is stored to beyond their ends".into(),
            );
            return false;
        }
        let (thread, me) = (self.current, (self.current, 1));
        let reads = self.asynchronous("tma store", Agent::StoreRead { thread }, me, site);
        let writes = self.asynchronous("tma store", Agent::StoreWrite { thread }, me, site);
        let mut bytes = vec![0; map.row_bytes() as usize];
        for row in map.rows(padded(at)).filter(|row| !row.inside.is_empty()) {
            for (i, chunk) in bytes.chunks_mut(16).enumerate() {
                if row.inside.end <= 16 * i || row.inside.start >= 16 * i + 16 {
                    continue;
                }
                let off = swizzled(src + row.off + 16 * i as u32, map.swizzle);
                let Some(place) = self.shared_async(&reads, AccessKind::Read, self.here(off), 16) else { return false };
                // SAFETY: the place of 16 bytes in the CTA's shared memory.
                chunk.copy_from_slice(&unsafe { read(place, 16) }.to_le_bytes());
            }
            for (from, n) in pieces(row.addr, row.inside.len()) {
                let addr = row.addr + from as u64;
                if !self.global_async(std::slice::from_ref(&writes), AccessKind::Write, addr, n) {
                    return false;
                }
                let piece = le(&bytes[row.inside.start + from..][..n]);
                // SAFETY: the access has been checked, or the address can be written by the caller's contract.
                unsafe { write(addr as *mut u8, n, piece) };
            }
        }
        self.tensor.threads[thread as usize].stores.add(site);
        true
    }

    pub fn commit_stores(&mut self) {
        let now = self.order.tick();
        self.tensor.threads[self.current as usize].stores.commit(now);
    }

    pub fn wait_stores(&mut self, pending: u32) {
        if let Some(before) = self.tensor.threads[self.current as usize].stores.wait(pending) {
            let agent = self.order.agent(Agent::StoreRead { thread: self.current });
            self.order.complete(self.current, agent, before);
        }
    }
}

impl Machine {
    /// Waits for all stores of the thread: they have read shared memory, and written the tensor.
    pub fn wait_stores_written(&mut self) {
        let thread = self.current;
        if let Some(before) = self.tensor.threads[thread as usize].stores.wait_all() {
            for agent in [Agent::StoreRead { thread }, Agent::StoreWrite { thread }] {
                let agent = self.order.agent(agent);
                self.order.complete(thread, agent, before);
            }
        }
    }
}

/// Up to 16 bytes as a number, little-endian.
fn le(bytes: &[u8]) -> u128 {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(all)
}

fn padded(at: &[i32]) -> [i32; 5] {
    std::array::from_fn(|d| at.get(d).copied().unwrap_or(0))
}
