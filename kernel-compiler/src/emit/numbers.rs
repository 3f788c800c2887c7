//! Numbers in the text of CPU functions. Configurations whose text is the same but for them (the extents of blocks, say)
//! share one function, which finds them in `p.numbers`: a kernel's functions would else be most of what its crate takes to
//! compile.

use std::collections::HashMap;

/// Around a number, in the text; what a kernel has in its own strings is escaped.
const MARK: char = '\u{1}';

/// An integer literal, without a suffix for `usize`, that may be another one in another configuration.
pub fn number(literal: impl std::fmt::Display) -> String {
    format!("{MARK}{literal}{MARK}")
}

/// The text of one configuration, as Rust.
pub fn plain(text: &str) -> String {
    text.replace(MARK, "")
}

/// Functions, and what each configuration takes.
#[derive(Debug, PartialEq)]
pub struct Shared {
    pub functions: Vec<String>,
    pub uses: Vec<Use>,
}

#[derive(Debug, PartialEq)]
pub struct Use {
    /// Index of a function.
    pub function: usize,
    /// Literals, in the order of `p.numbers`.
    pub numbers: Vec<String>,
}

/// Configurations by what their texts have in common.
pub fn share(texts: &[String]) -> Shared {
    let split: Vec<Vec<&str>> = texts.iter().map(|t| t.split(MARK).collect()).collect();
    let mut groups: Vec<Vec<usize>> = vec![];
    let mut known: HashMap<Vec<&str>, usize> = HashMap::new();
    for (i, parts) in split.iter().enumerate() {
        let common = parts.iter().enumerate().map(|(j, p)| if is_number(j) { suffix(p) } else { p }).collect();
        let g = *known.entry(common).or_insert(groups.len());
        if g == groups.len() {
            groups.push(vec![]);
        }
        groups[g].push(i);
    }
    let mut out =
        Shared { functions: vec![], uses: texts.iter().map(|_| Use { function: 0, numbers: vec![] }).collect() };
    for members in groups {
        let (text, columns) = function(&members.iter().map(|&i| &split[i][..]).collect::<Vec<_>>());
        for (row, &i) in members.iter().enumerate() {
            out.uses[i] =
                Use { function: out.functions.len(), numbers: columns.iter().map(|c| c[row].to_string()).collect() };
        }
        out.functions.push(text);
    }
    out
}

/// The text for all members, and what it finds in `p.numbers`: a column is a number of each. What all agree on stays a
/// literal, and what always changes together is one number.
fn function<'a>(members: &[&[&'a str]]) -> (String, Vec<Vec<&'a str>>) {
    let (mut body, mut columns) = (String::new(), Vec::<Vec<&str>>::new());
    for (j, part) in members[0].iter().enumerate() {
        let column: Vec<&str> = members.iter().map(|m| m[j]).collect();
        if !is_number(j) || column.iter().all(|c| c == part) {
            body.push_str(part);
            continue;
        }
        let n = columns.iter().position(|c| *c == column).unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        });
        body.push_str(&format!("n{n}"));
    }
    let numbers = columns.iter().enumerate().map(|(n, c)| {
        let t = if suffix(c[0]).is_empty() { "usize" } else { suffix(c[0]) };
        format!("    let n{n}: {t} = p.numbers[{n}] as {t};\n")
    });
    (numbers.collect::<String>() + &body, columns)
}

/// Whether this part of a split text stood between marks.
fn is_number(part: usize) -> bool {
    part % 2 == 1
}

/// The type of an integer literal, as in `(-5i32)`.
fn suffix(literal: &str) -> &str {
    literal.trim_start_matches(['(', '-']).trim_start_matches(|c: char| c.is_ascii_digit()).trim_end_matches(')')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(block: i32, shape: usize, offset: i32) -> String {
        format!(
            "let b = {}; each(&[{}, {}], {}); f({})",
            number(format!("{block}u64")),
            number(shape),
            number(shape),
            number(7),
            number(format!("({offset}i32)"))
        )
    }

    #[test]
    fn numbers_that_differ_are_parameters() {
        let shared = share(&[text(64, 128, -5), text(32, 256, -6)]);
        assert_eq!(
            shared.functions,
            [
                "    let n0: u64 = p.numbers[0] as u64;\n    let n1: usize = p.numbers[1] as usize;\n    let n2: i32 = p.numbers[2] as i32;\nlet b = n0; each(&[n1, n1], 7); f(n2)"
            ]
        );
        assert_eq!(shared.uses[1], Use { function: 0, numbers: vec!["32u64".into(), "256".into(), "(-6i32)".into()] });
    }

    #[test]
    fn what_is_alone_keeps_its_numbers() {
        let other = format!("g({})", number("64u32"));
        let shared = share(&[text(64, 128, 5), other.clone(), text(64, 128, 5), other.replace("u32", "u64")]);
        assert_eq!(shared.functions, ["let b = 64u64; each(&[128, 128], 7); f((5i32))", "g(64u32)", "g(64u64)"]);
        assert_eq!(
            shared.uses.iter().map(|u| (u.function, u.numbers.len())).collect::<Vec<_>>(),
            [(0, 0), (1, 0), (0, 0), (2, 0)]
        );
    }
}
