//! Which name was meant.

/// The known names that a mistaken one is nearest to, or is nearest to the beginning of; none where all are far.
pub(super) fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let all: Vec<(usize, &'static str)> = known.map(|k| (distance(name, k), k)).collect();
    let least = all.iter().map(|a| a.0).min().unwrap_or(0);
    if 3 * least > name.len() {
        return Vec::new();
    }
    all.into_iter().filter(|a| a.0 == least).map(|a| a.1).collect()
}

/// Letters to insert, remove or replace until it is the beginning of `known`.
fn distance(name: &str, known: &str) -> usize {
    let known: Vec<char> = known.chars().collect();
    let mut row: Vec<usize> = (0..=known.len()).collect();
    for (i, c) in name.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, k) in known.iter().enumerate() {
            let replaced = diagonal + usize::from(c != *k);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.into_iter().min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant() {
        let of = |name| nearest(name, ["relu", "leaky_relu", "softmax_1d", "softmax_rows"].into_iter());
        assert_eq!(of("sofmax"), ["softmax_1d", "softmax_rows"]);
        assert_eq!(of("softmax_row"), ["softmax_rows"]);
        assert_eq!(of("relue"), ["relu"]);
        assert_eq!(of("nosuch"), [""; 0]);
        assert_eq!((distance("", "relu"), distance("relu", ""), distance("leky", "leaky_relu")), (0, 4, 1));
    }
}
