//! The rows of the table: torch's results, made by `tests/edge_values`.

use crate::pattern::Pattern;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tilewright_core::DType;
use tilewright_runtime::{Error, Result};

/// Elements as hexadecimal bit patterns. `7f800000*3` is three of them, `7fc00000|7f800000` one that may be either.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "String")]
pub struct Elements(Vec<Vec<u32>>);

impl TryFrom<String> for Elements {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut elements = Vec::new();
        for word in text.split_whitespace() {
            let (patterns, count) = word.split_once('*').unwrap_or((word, "1"));
            let count = count.parse().map_err(|e| format!("`{word}`: {e}"))?;
            let pattern = |p| u32::from_str_radix(p, 16).map_err(|e| format!("`{word}`: {e}"));
            let either = patterns.split('|').map(pattern).collect::<Result<Vec<_>, _>>()?;
            elements.extend(std::iter::repeat_n(either, count));
        }
        Ok(Elements(elements))
    }
}

impl Elements {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The allowed values of each element.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.0.iter().map(Vec::as_slice)
    }
}

type Arrays = BTreeMap<String, Elements>;
/// The types of inputs by their names.
type Types = BTreeMap<String, String>;

/// The platforms where a row holds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Runs {
    /// The operation as users call it.
    Auto,
    /// Every configuration by itself.
    Pinned,
}

/// Inputs of an operation, and the outputs that they have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeRow {
    /// The operations that have these outputs.
    ops: Vec<String>,
    dtype: String,
    /// Inputs in a few words.
    pub name: String,
    /// One number for each axis of the operation.
    pub size: Vec<u64>,
    inputs: Arrays,
    scalars: BTreeMap<String, Elements>,
    torch: Arrays,
    /// The outputs of this project, where they differ from torch's on purpose.
    ours: Option<Arrays>,
    /// The reason for that.
    why: Option<String>,
    /// Relative and absolute error. Without it outputs are the same numbers, with zeros of the same sign.
    pub within: Option<[f64; 2]>,
    /// Elements are moved, so that the bits of a NaN count.
    #[serde(default)]
    pub moves: bool,
    runs: Option<Runs>,
    /// The origin of the outputs, where it is not the table's.
    source: Option<Source>,
    /// The types of inputs that are not of the row's type.
    #[serde(skip)]
    types: Types,
}

/// The torch and the device that made the outputs.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
struct Source {
    torch: String,
    device: String,
}

/// A table that `tests/edge_values` made.
#[derive(Debug, Deserialize)]
pub struct Table {
    source: Source,
    /// For each operation the inputs that are of another type than its rows.
    types: BTreeMap<String, Types>,
    rows: Vec<EdgeRow>,
}

impl Table {
    /// Reads a table. Errors: text that is no table.
    pub fn parse(text: &str) -> serde_json::Result<Table> {
        let mut table: Table = serde_json::from_str(text)?;
        for row in &mut table.rows {
            row.source.get_or_insert_with(|| table.source.clone());
            row.types = row.ops.iter().filter_map(|o| table.types.get(o)).flat_map(Types::clone).collect();
        }
        Ok(table)
    }

    /// The rows in their order.
    pub fn rows(&self) -> &[EdgeRow] {
        &self.rows
    }
}

pub(super) static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::parse(include_str!("table.json")).expect("a test reads the table"));

impl EdgeRow {
    /// Whether it is a row of this operation in this dtype.
    pub fn is_of(&self, operation: &str, dtype: DType) -> bool {
        self.dtype == dtype.name() && self.ops.iter().any(|o| o == operation)
    }

    /// The operations that the row is of.
    pub fn ops(&self) -> &[String] {
        &self.ops
    }

    /// The inputs, and the type of each one.
    fn inputs(&self) -> impl Iterator<Item = (&str, &str, &Elements)> {
        self.inputs.iter().map(|(name, x)| {
            let type_name = self.types.get(name).unwrap_or(&self.dtype);
            (name.as_str(), type_name.as_str(), x)
        })
    }

    /// Whether it holds with a chosen configuration, or without one.
    pub fn runs(&self, pinned: bool) -> bool {
        self.runs.is_none_or(|r| (r == Runs::Pinned) == pinned)
    }

    /// An input of `len` elements.
    pub fn input<T: Pattern>(&self, name: &str, len: usize) -> Result<Vec<T>> {
        let elements = self.inputs.get(name).ok_or_else(|| self.lacks(name))?;
        if elements.len() != len {
            return Err(self.broken(format!("`{name}` has {} elements, its size wants {len}", elements.len())));
        }
        elements.iter().map(|e| self.only(name, e).map(T::from_bits)).collect()
    }

    /// A scalar by its name.
    pub fn scalar<T: Pattern>(&self, name: &str) -> Result<T> {
        let elements = self.scalars.get(name).ok_or_else(|| self.lacks(name))?;
        let mut every = elements.iter();
        let first = every.next().ok_or_else(|| self.lacks(name))?;
        self.only(name, first).map(T::from_bits)
    }

    /// The outputs that are wanted.
    pub fn outputs(&self) -> &Arrays {
        self.ours.as_ref().unwrap_or(&self.torch)
    }

    /// The origin of the outputs.
    pub fn source(&self) -> String {
        let Source { torch, device } = self.source.clone().unwrap_or_default();
        match &self.why {
            Some(why) => format!("not as in torch: {why}"),
            None => format!("as in torch {torch} on {device}"),
        }
    }

    fn only(&self, name: &str, either: &[u32]) -> Result<u32> {
        match either {
            [one] => Ok(*one),
            _ => Err(self.broken(format!("`{name}` has an element of two values"))),
        }
    }

    fn lacks(&self, name: &str) -> Error {
        self.broken(format!("it has no `{name}`"))
    }

    pub(super) fn broken(&self, why: String) -> Error {
        Error::Shape { what: "the table of edge values", why: format!("row `{}`: {why}", self.name) }
    }
}

/// The classes of values that an operation on a dtype must have rows of.
fn classes(dtype: DType) -> Vec<(&'static str, fn(u32) -> bool)> {
    let mut classes: Vec<(&'static str, fn(u32) -> bool)> = match dtype {
        DType::F32 => vec![
            ("NaN", |b| f32::from_bits(b).is_nan()),
            ("negative zero", |b| b == 1 << 31),
            ("subnormal number", |b| f32::from_bits(b).is_subnormal()),
            ("infinity", |b| b == 0x7f80_0000),
            ("greatest number", |b| b == 0x7f7f_ffff),
        ],
        DType::F16 => vec![
            ("NaN", |b| b & 0x7fff > 0x7c00),
            ("negative zero", |b| b == 0x8000),
            ("subnormal number", |b| (1..0x400).contains(&(b & 0x7fff))),
            ("infinity", |b| b == 0x7c00),
            ("greatest number", |b| b == 0x7bff),
        ],
        DType::BF16 => vec![
            ("NaN", |b| b & 0x7fff > 0x7f80),
            ("negative zero", |b| b == 0x8000),
            ("subnormal number", |b| (1..0x80).contains(&(b & 0x7fff))),
            ("infinity", |b| b == 0x7f80),
            ("greatest number", |b| b == 0x7f7f),
        ],
        // It has no infinity.
        DType::F8E4M3 => vec![
            ("NaN", |b| b & 0x7f == 0x7f),
            ("negative zero", |b| b == 0x80),
            ("subnormal number", |b| (1..8).contains(&(b & 0x7f))),
            ("greatest number", |b| b == 0x7e),
        ],
        DType::F8E5M2 => vec![
            ("NaN", |b| b & 0x7f > 0x7c),
            ("negative zero", |b| b == 0x80),
            ("subnormal number", |b| (1..4).contains(&(b & 0x7f))),
            ("infinity", |b| b == 0x7c),
            ("greatest number", |b| b == 0x7b),
        ],
        DType::I8 => vec![("least number", |b| b == 0x80), ("greatest number", |b| b == 0x7f)],
        DType::I32 => vec![("least number", |b| b == 1 << 31), ("greatest number", |b| b == 0x7fff_ffff)],
        DType::U8 => vec![("greatest number", |b| b == 0xff)],
        _ => Vec::new(),
    };
    classes.push(("zero", |b| b == 0));
    classes
}

/// The classes that an input has in none of an operation's rows, as texts. Integers do not count in an operation on
/// floats.
pub fn missing_classes<'a>(rows: impl Iterator<Item = &'a EdgeRow>) -> Vec<String> {
    let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
    for row in rows {
        for (name, type_name, x) in row.inputs() {
            let Some(dtype) = DType::parse(type_name) else {
                missing.push(format!("`{name}` is of no type `{type_name}`"));
                continue;
            };
            if type_name != row.dtype && !dtype.is_float() {
                continue;
            }
            for (class, is) in classes(dtype) {
                *found.entry((name, type_name, class)).or_insert(false) |= x.iter().flatten().any(|&bits| is(bits));
            }
        }
    }
    let lacks = found.into_iter().filter(|(_, has)| !has);
    missing.extend(lacks.map(|((name, type_name, class), _)| format!("`{name}` of {type_name} has no {class}")));
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str) -> Result<Elements, String> {
        Elements::try_from(text.to_string())
    }

    #[test]
    fn words_are_patterns_counts_and_choices() {
        let found = elements("00ff 1*2 7fc0|7f80").unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), [&[0xff][..], &[1], &[1], &[0x7fc0, 0x7f80]]);
        assert_eq!(elements("").unwrap().len(), 0);
        for wrong in ["xyz", "1*", "1*x", "1|", "123456789"] {
            assert!(elements(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_class_is_missing_where_another_input_has_it() {
        let text = r#"{"source": {"torch": "", "device": ""}, "types": {"f": {"ids": "i32", "w": "f32"}}, "rows": [
            {"ops": ["f"], "dtype": "f16", "name": "", "size": [], "scalars": {}, "torch": {},
             "inputs": {"ids": "0", "w": "7fc00000 80000000 1 7f800000 7f7fffff 0", "x": "7e00 8000 1 7c00 0"}}]}"#;
        let missing = |text: &str| missing_classes(Table::parse(text).unwrap().rows().iter());
        assert_eq!(missing(text), ["`x` of f16 has no greatest number"]);
        assert_eq!(missing(&text.replace("7c00 0", "7c00 0 7bff")), [""; 0]);
        assert_eq!(missing(&text.replace("1 7f800000", "1")).first().unwrap(), "`w` of f32 has no infinity");
        assert_eq!(missing(&text.replace("i32", "int")).first().unwrap(), "`ids` is of no type `int`");
    }

    #[test]
    fn a_difference_from_torch_has_a_reason_and_shows_in_the_outputs() {
        for row in &TABLE.rows {
            assert_eq!(row.ours.is_some(), row.why.is_some(), "{}", row.name);
            if let Some(ours) = &row.ours {
                assert_ne!(ours, &row.torch, "{}", row.name);
                assert!(ours.iter().all(|(name, y)| row.torch[name].len() == y.len()), "{}", row.name);
            }
        }
    }

    #[test]
    fn a_row_without_an_input_is_an_error() {
        let row = &TABLE.rows[0];
        let lacks = |e: Error| assert!(e.to_string().contains("it has no `nothing`"), "{e}");
        lacks(row.input::<f32>("nothing", 1).unwrap_err());
        lacks(row.scalar::<f32>("nothing").unwrap_err());
        let (name, all) = row.inputs.first_key_value().unwrap();
        assert!(row.input::<f32>(name, all.len()).is_ok());
        assert!(row.input::<f32>(name, all.len() + 1).unwrap_err().to_string().contains("its size wants"));
    }
}
