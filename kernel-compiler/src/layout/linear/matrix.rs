//! Linear algebra over F2. A vector is a `u32` of bits, a subspace is any list of vectors that spans it.

/// A linear map, known so far on the span of some vectors: the elimination that everything here rests on.
///
/// Each row is a vector with a leading bit of its own, and that vector's image.
#[derive(Clone, Debug, Default)]
pub struct Echelon {
    rows: [Option<(u32, u32)>; 32],
}

impl Echelon {
    /// The span of `vectors`, with images of no interest.
    pub fn span(vectors: &[u32]) -> Self {
        let mut e = Echelon::default();
        for &v in vectors {
            e.insert(v, 0);
        }
        e
    }

    /// The map that sends `vectors[i]` to bit `i`; of dependent vectors, the first ones count.
    pub fn coordinates(vectors: &[u32]) -> Self {
        let mut e = Echelon::default();
        for (i, &v) in vectors.iter().enumerate() {
            e.insert(v, 1 << i);
        }
        e
    }

    /// The rest of `v` outside the span, and the image of the part in it.
    pub fn reduce(&self, v: u32) -> (u32, u32) {
        let (mut rest, mut image) = (v, 0);
        for bit in (0..32).rev() {
            if rest >> bit & 1 == 1
                && let Some((row, value)) = self.rows[bit]
            {
                rest ^= row;
                image ^= value;
            }
        }
        (rest, image)
    }

    /// The image of `v`, if `v` is in the span.
    pub fn image(&self, v: u32) -> Option<u32> {
        let (rest, image) = self.reduce(v);
        (rest == 0).then_some(image)
    }

    pub fn contains(&self, v: u32) -> bool {
        self.reduce(v).0 == 0
    }

    /// Adds `v -> image`. False, and nothing changes, if `v` was in the span already.
    pub fn insert(&mut self, v: u32, image: u32) -> bool {
        let (rest, known) = self.reduce(v);
        if rest != 0 {
            self.rows[31 - rest.leading_zeros() as usize] = Some((rest, image ^ known));
        }
        rest != 0
    }

    /// Adds `v -> image`. False if `v` already had another image.
    pub fn constrain(&mut self, v: u32, image: u32) -> bool {
        self.insert(v, image) || self.image(v) == Some(image)
    }

    /// A basis of the span.
    pub fn vectors(&self) -> Vec<u32> {
        self.rows.iter().flatten().map(|&(v, _)| v).collect()
    }

    pub fn rank(&self) -> usize {
        self.rows.iter().flatten().count()
    }
}

/// `x` with its low bits moved to the positions `bits`.
pub(super) fn deposit_bits(x: usize, bits: &[usize]) -> usize {
    bits.iter().enumerate().map(|(i, &bit)| (x >> i & 1) << bit).sum()
}

/// The bits of `x` at the positions `bits`.
pub(super) fn gather(x: usize, bits: &[usize]) -> usize {
    bits.iter().enumerate().map(|(i, &bit)| (x >> bit & 1) << i).sum()
}

/// The positions of the first vectors that are independent of those before them.
pub(super) fn independent(vectors: &[u32]) -> Vec<usize> {
    let mut e = Echelon::default();
    (0..vectors.len()).filter(|&i| e.insert(vectors[i], 0)).collect()
}

/// The first vectors of `vectors` that are independent of those before them.
pub fn basis(vectors: &[u32]) -> Vec<u32> {
    let mut e = Echelon::default();
    vectors.iter().copied().filter(|&v| e.insert(v, 0)).collect()
}

/// A basis of the intersection of two spans (Zassenhaus).
pub fn intersection(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut e = Echelon::default();
    for &v in a {
        e.insert(v, v);
    }
    let mut common = Vec::new();
    for &v in b {
        if !e.insert(v, 0) {
            common.push(e.reduce(v).1);
        }
    }
    basis(&common)
}

/// The xor of `bases[i]` over the set bits `i` of `x`.
pub fn combine(bases: &[u32], x: u32) -> u32 {
    bases.iter().enumerate().fold(0, |sum, (i, &b)| if x >> i & 1 == 1 { sum ^ b } else { sum })
}

/// A linear map, column by column: column `i` is the image of input bit `i`. At most 32 columns and rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    rows: u32,
    columns: Vec<u32>,
}

impl Matrix {
    pub fn new(rows: u32, columns: Vec<u32>) -> Self {
        assert!(rows <= 32 && columns.len() <= 32);
        assert!(columns.iter().all(|&c| u64::from(c) >> rows == 0), "a column has more than {rows} bits");
        Matrix { rows, columns }
    }

    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    pub fn rank(&self) -> usize {
        Echelon::span(&self.columns).rank()
    }
}
