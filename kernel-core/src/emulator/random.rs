//! The order of threads and programs, by seed.

pub struct Random {
    /// Zero: everything stays in order.
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        // A seed's neighbors must not give similar runs.
        let mixed = (seed ^ seed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Random { state: if seed == 0 { 0 } else { mixed | 1 } }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A number below `n`; 0 of seed 0.
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * n as u64) >> 32) as u32
    }

    #[inline]
    pub fn shuffle(&mut self, items: &mut [u32]) {
        if self.state == 0 {
            return;
        }
        for i in (1..items.len()).rev() {
            let j = self.below(i as u32 + 1);
            items.swap(i, j as usize);
        }
    }

    /// The numbers below `n`.
    pub fn order(&mut self, n: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n as u32).collect();
        self.shuffle(&mut order);
        order
    }
}
