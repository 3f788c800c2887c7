//! Products of a warpgroup: operands in its CTA's shared memory by their descriptors, accumulators in registers.

use super::access::Asynchronous;
use super::access_kind::AccessKind;
use super::machine::{Machine, State};
use super::product::{Operand, multiply, scatter_a};
use super::report::Kind;
use super::tensor::{Operands, WARPGROUP};
use super::tensor_map::swizzled;
use super::vector_clock::Agent;

/// A product of 64 rows and `n` columns.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub kind: Operand,
    pub n: usize,
    /// Whether the left operand comes in registers.
    pub registers: bool,
    /// Whether the operands are MN-major: consecutive elements are rows (left) or columns (right) instead of `k`.
    pub transposed: [bool; 2],
}

pub const ROWS: usize = 64;

/// A matrix descriptor, decoded.
#[derive(Clone, Copy)]
struct Descriptor {
    start: u32,
    leading: u32,
    stride: u32,
    swizzle: u32,
}

impl Descriptor {
    fn decode(bits: u64) -> Result<Self, String> {
        let field = |at: u32| (bits >> at & 0x3fff) as u32 * 16;
        let base = bits >> 49 & 7;
        if base != 0 {
            return Err(format!(
                "a matrix descriptor with base offset {base}: patterns start at multiples of their size here"
            ));
        }
        let swizzle = [0, 128, 64, 32][(bits >> 62) as usize];
        Ok(Descriptor { start: field(0), leading: field(16), stride: field(32), swizzle })
    }

    /// The address of 16 bytes whose first element has number `mn` (row or column) and `k`.
    fn chunk(&self, kind: Operand, mn: usize, k: usize, transposed: bool) -> u32 {
        let (m, k, per_chunk) = (mn as u32, k as u32, kind.per_chunk() as u32);
        let off = match (transposed, self.swizzle) {
            (false, 0) => m / 8 * self.stride + m % 8 * 16 + k / per_chunk * self.leading,
            (false, row) => m / 8 * self.stride + m % 8 * row + k / per_chunk * 16,
            (true, 0) => m / per_chunk * self.stride + k % 8 * 16 + k / 8 * self.leading,
            (true, row) => {
                let per_row = row / 16 * per_chunk;
                m / per_row * self.leading + m % per_row / per_chunk * 16 + k % 8 * row + k / 8 * self.stride
            }
        };
        swizzled(self.start + off, self.swizzle)
    }
}

impl Machine {
    pub fn wgmma_fence(&mut self) {
        self.tensor.threads[self.current as usize].fences.made += 1;
    }

    /// The current thread may have written accumulators of a product that it begins next.
    pub fn accumulators_accessed(&mut self) {
        let fences = &mut self.tensor.threads[self.current as usize].fences;
        fences.accessed = fences.made;
    }

    pub fn commit_products(&mut self) {
        let now = self.order.tick();
        self.tensor.threads[self.current as usize].products.commit(now);
    }

    /// With the accumulators of the products that it waits for; whether the thread must stop.
    pub fn wait_products(&mut self, pending: u32, acc: &mut [u32], site: u32) -> bool {
        let work = &mut self.tensor.threads[self.current as usize];
        work.fences.waited = work.fences.made;
        let Some(before) = work.products.wait(pending) else { return false };
        let agent = self.order.agent(Agent::Wgmma { first: self.cluster.group_of(self.current, WARPGROUP).start });
        self.order.complete(self.current, agent, before);
        !self.land(before, acc, site)
    }

    /// The current thread comes with its operands; whether it must wait.
    ///
    /// # Safety
    /// The `n / 2` accumulators of the current thread's operands can be read and written until it goes on.
    pub unsafe fn wgmma(&mut self, product: Product, site: u32) -> bool {
        let work = &mut self.tensor.threads[self.current as usize];
        work.products.add(site);
        let fences = work.fences;
        let Operands { acc, a_written, .. } = self.tensor.operands[self.current as usize];
        // Accumulators that further products of the same shape take need no fence of their own.
        // SAFETY: the first of this thread's accumulators, by the caller's contract.
        let begins = !self.tensor.flights.holds(self.current, unsafe { *acc });
        let missing = if fences.made == fences.waited {
            Some("since the last wgmma_wait")
        } else if begins && fences.made == fences.accessed {
            Some("since its accumulators were written")
        } else if product.registers && fences.made == a_written {
            Some("since the registers of A were written")
        } else {
            None
        };
        if let Some(since) = missing {
            let message = format!("thread {}: no wgmma_fence {since}", self.name(self.current));
            self.fail(Kind::Protocol, site, message);
            return true;
        }
        let Some(threads) = self.meet(State::AtMatrix { name: "wgmma", site }, WARPGROUP) else { return true };
        let first = threads.start as usize;
        let Operands { descriptors, add, n, .. } = self.tensor.operands[self.current as usize];
        let differs = |o: &Operands| (o.descriptors, o.add, o.n) != (descriptors, add, n);
        if let Some(other) = threads.clone().find(|&t| differs(&self.tensor.operands[t as usize])) {
            let other_operands = &self.tensor.operands[other as usize];
            let what = if other_operands.n != n {
                "numbers of columns"
            } else if other_operands.add != add {
                "scales of the accumulators"
            } else {
                "descriptors"
            };
            let message =
                format!("threads {} and {} come with different {what}", self.name(self.current), self.name(other));
            self.fail_at(Kind::Divergence, site, None, vec![self.current, other], message);
            return true;
        }
        let step = self.asynchronous("wgmma", Agent::Wgmma { first: threads.start }, (threads.start, WARPGROUP), site);
        let Product { kind, n, registers, transposed } = product;
        let k = 2 * kind.per_chunk();
        let (mut a, mut b) = (vec![0; ROWS * k], vec![0; k * n]);
        if registers {
            for (t, operands) in self.tensor.operands[first..first + WARPGROUP as usize].iter().enumerate() {
                scatter_a(kind, t % 32, operands.a, k, &mut a[t / 32 * 16 * k..]);
            }
        } else if !self
            .read_operand(&step, kind, descriptors[0], (ROWS, k), transposed[0], |m, k_at, x| a[m * k + k_at] = x)
        {
            return true;
        }
        if !self.read_operand(&step, kind, descriptors[1], (n, k), transposed[1], |m, k_at, x| b[k_at * n + m] = x) {
            return true;
        }
        // SAFETY: every thread of the group waits in this step, with `n / 2` accumulators of its own: all have come
        // with the same `n`, and each came through this function's contract.
        let sums = unsafe { self.take_off(threads.clone(), product, step.now.time(), site) };
        let Some(sums) = sums else { return true };
        multiply(kind, n, k, &a, &b, sums);
        self.report.warp_steps += 4;
        self.leave(threads);
        false
    }

    /// Gives every element of an operand in shared memory to `put`; whether they may be read.
    fn read_operand(
        &mut self,
        step: &Asynchronous,
        kind: Operand,
        descriptor: u64,
        (rows, k): (usize, usize),
        transposed: bool,
        mut put: impl FnMut(usize, usize, u32),
    ) -> bool {
        let descriptor = match Descriptor::decode(descriptor) {
            Ok(descriptor) => descriptor,
            Err(message) => {
                self.fail(Kind::Protocol, step.now.site(), message);
                return false;
            }
        };
        let per_chunk = kind.per_chunk();
        let (row_step, k_step) = if transposed { (per_chunk, 1) } else { (1, per_chunk) };
        for row in (0..rows).step_by(row_step) {
            for k in (0..k).step_by(k_step) {
                let off = descriptor.chunk(kind, row, k, transposed);
                let Some(place) = self.shared_async(step, AccessKind::Read, self.here(off), 16) else { return false };
                // SAFETY: the machine gives the place of 16 bytes in the CTA's shared memory.
                let bytes = unsafe { super::memory::read(place, 16) };
                for e in 0..per_chunk {
                    let (row, k) = if transposed { (row + e, k) } else { (row, k + e) };
                    put(row, k, kind.element(bytes, e));
                }
            }
        }
        true
    }
}
