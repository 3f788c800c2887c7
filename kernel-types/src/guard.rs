//! Launch guards.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A number that is known at a launch: a constant times some argument words. A word is an address in bytes, an extent
/// or a stride in elements, or a scalar.
///
/// `S` holds the positions of the words: a `Vec<usize>` in the compiler, a `&'static [usize]` in a descriptor.
///
/// # Examples
/// ```
/// use tilewright_types::Number;
///
/// // Twice the product of words 1 and 2.
/// let n = Number::constant(2).times(&Number::word(1)).and_then(|n| n.times(&Number::word(2))).expect("no overflow");
/// assert_eq!((n.of(&[9, 3, 4]), format!("{n:?}").as_str()), (24, "2·w1·w2"));
/// assert_eq!((n.as_word(), Number::word(1).as_word()), (None, Some(1)));
/// assert_eq!(Number::product(&[1, 2]).of(&[9, 3, 4]), 12);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number<S> {
    /// The constant.
    pub times: u64,
    /// The positions of the words.
    pub words: S,
}

impl Number<&'static [usize]> {
    /// The product of the argument words at these positions.
    pub const fn product(words: &'static [usize]) -> Self {
        Number { times: 1, words }
    }
}

impl Number<Vec<usize>> {
    /// The argument word at a position.
    pub fn word(word: usize) -> Self {
        Number { times: 1, words: vec![word] }
    }

    /// A number that is the same for all launches.
    pub fn constant(n: u64) -> Self {
        Number { times: n, words: vec![] }
    }

    /// The product of two numbers; none where its constant overflows.
    pub fn times(&self, o: &Self) -> Option<Self> {
        let mut words = [self.words.as_slice(), &o.words].concat();
        words.sort_unstable();
        Some(Number { times: self.times.checked_mul(o.times)?, words })
    }

    /// The position of the argument word that it is, if it is one.
    pub fn as_word(&self) -> Option<usize> {
        if let (1, &[word]) = (self.times, &self.words[..]) { Some(word) } else { None }
    }
}

impl<S: AsRef<[usize]>> Number<S> {
    /// The number for these argument words; the largest `u64` where it is larger.
    ///
    /// # Panics
    /// A position is not below the number of words.
    #[inline]
    pub fn of(&self, words: &[u64]) -> u64 {
        self.words.as_ref().iter().fold(self.times, |n, &w| n.saturating_mul(words[w]))
    }
}

/// `2·w3·w4`.
impl<S: AsRef<[usize]>> fmt::Debug for Number<S> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let words = self.words.as_ref();
        let constant = self.times != 1 || words.is_empty();
        if constant {
            write!(f, "{}", self.times)?;
        }
        for (i, w) in words.iter().enumerate() {
            write!(f, "{}w{w}", if constant || i > 0 { "·" } else { "" })?;
        }
        Ok(())
    }
}

/// A condition on a number. [`Guard`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// It is a multiple of this number.
    Multiple(u64),
    /// It is this number.
    Equal(u64),
    /// It lies between these numbers, or is one of them.
    Within(u64, u64),
    /// It is at most the argument word at this position.
    AtMost(usize),
}

/// A launch guard: the launcher takes a variant of a kernel only if all its guards are satisfied.
///
/// # Examples
/// ```
/// use tilewright_types::{Guard, Test};
///
/// // Word 0, an address, is a multiple of 16.
/// let aligned = Guard::word(0, Test::Multiple(16));
/// assert!(aligned.satisfied_by(&[4096]) && !aligned.satisfied_by(&[4100]));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guard<S> {
    /// The number that is tested.
    pub of: Number<S>,
    /// The condition.
    pub test: Test,
}

impl<S: AsRef<[usize]>> fmt::Debug for Guard<S> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Guard").field("of", &self.of).field("test", &self.test).finish()
    }
}

impl Guard<Vec<usize>> {
    /// A test of the argument word at a position.
    pub fn word(word: usize, test: Test) -> Self {
        Guard { of: Number::word(word), test }
    }
}

impl<S: AsRef<[usize]>> Guard<S> {
    /// Whether these argument words satisfy the guard.
    ///
    /// # Panics
    /// As [`Number::of`], and where the position of [`Test::AtMost`] is not below the number of words.
    #[inline]
    pub fn satisfied_by(&self, words: &[u64]) -> bool {
        let n = self.of.of(words);
        match self.test {
            Test::Multiple(by) => n.is_multiple_of(by),
            Test::Equal(to) => n == to,
            Test::Within(lo, hi) => lo <= n && n <= hi,
            Test::AtMost(word) => n <= words[word],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Guard, Number, Test};

    #[test]
    fn guards_are_compared_with_a_product_of_words() {
        let of = Number { times: 2, words: [0, 2] };
        let words = [3, 100, 4, u64::MAX];
        assert_eq!((of.of(&words), Number { times: 2, words: [0, 3] }.of(&words)), (24, u64::MAX));
        let satisfied = |test| Guard { of, test }.satisfied_by(&words);
        assert!(satisfied(Test::Multiple(8)) && !satisfied(Test::Multiple(16)));
        assert!(satisfied(Test::Equal(24)) && !satisfied(Test::Equal(25)));
        assert!(satisfied(Test::Within(24, 24)) && !satisfied(Test::Within(25, 30)) && !satisfied(Test::Within(0, 23)));
        assert!(satisfied(Test::AtMost(1)) && !satisfied(Test::AtMost(2)));
    }

    extern crate std;
    use std::format;

    #[test]
    fn products_are_printed_with_their_words() {
        let text = |times, words: &[usize]| format!("{:?}", Number { times, words });
        assert_eq!([text(1, &[3]), text(2, &[3, 4]), text(7, &[])], ["w3", "2·w3·w4", "7"]);
        assert_eq!([text(1, &[]), text(1, &[0, 1])], ["1", "w0·w1"]);
    }
}
