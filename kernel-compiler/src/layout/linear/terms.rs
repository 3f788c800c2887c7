/// `((x >> shift) & mask) * factor`, one part of a linear function of `x`; the parts are combined by xor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    pub shift: u32,
    pub mask: u32,
    pub factor: u32,
}

impl Term {
    pub fn eval(&self, x: u32) -> u32 {
        ((x >> self.shift) & self.mask) * self.factor
    }
}

/// The linear function with these bases (bit `i` of the input adds `bases[i]`, by xor) in few terms: bits that move
/// by the same distance together, and a bit that goes to many places by itself.
pub fn terms(bases: &[u32]) -> Vec<Term> {
    let mut left = bases.to_vec();
    let mut terms = Vec::new();
    while left.iter().any(|&b| b != 0) {
        let diagonals = (-31..32).map(|distance| diagonal(&left, distance));
        let (count, term) = diagonals.max_by_key(|&(count, _)| count).expect("not empty");
        let (bit, widest) = left.iter().copied().enumerate().max_by_key(|(_, b)| b.count_ones()).expect("not empty");
        let term = if widest.count_ones() > count { Term { shift: bit as u32, mask: 1, factor: widest } } else { term };
        for (i, b) in left.iter_mut().enumerate() {
            *b ^= term.eval(1 << i);
        }
        terms.push(term);
    }
    terms
}

/// How many ones `bases` has `distance` places up from the diagonal, and the term for them.
fn diagonal(bases: &[u32], distance: i32) -> (u32, Term) {
    let moved = |i: usize| u32::try_from(i as i32 + distance).ok().filter(|&to| to < 32);
    let ones = (0..bases.len()).filter(|&i| moved(i).is_some_and(|to| bases[i] >> to & 1 == 1));
    let from = ones.fold(0u32, |mask, i| mask | 1 << i);
    if from == 0 {
        return (0, Term { shift: 0, mask: 0, factor: 1 });
    }
    let shift = distance.min(0).unsigned_abs();
    let factor = 1 << distance.max(0);
    (from.count_ones(), Term { shift, mask: from >> shift, factor })
}
