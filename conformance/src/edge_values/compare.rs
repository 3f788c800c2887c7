//! Outputs against a row of the table.

use super::table::EdgeRow;
use crate::pattern::Output;
use crate::verdict::Verdict;
use tilewright_runtime::Result;

/// Compares every output; the text says which element differs, and how. Errors: a row that lacks an output, or has
/// another one.
pub fn compare(row: &EdgeRow, outputs: &[Output]) -> Result<(Verdict, Option<String>)> {
    let wanted = row.outputs();
    if outputs.len() != wanted.len() {
        return Err(row.broken(format!("it has {} outputs, the operation {}", wanted.len(), outputs.len())));
    }
    let [relative, absolute] = row.within.unwrap_or_default();
    // One of the two is the measure.
    let mut verdict = Verdict { error: 0.0, tolerance: if relative > 0.0 { relative } else { absolute }, first: None };
    let mut note = None;
    for output in outputs {
        let Some(elements) = wanted.get(output.name) else {
            return Err(row.broken(format!("it has no output `{}`", output.name)));
        };
        if elements.len() != output.bits.len() {
            let why = format!("`{}` has {} elements, not {}", output.name, elements.len(), output.bits.len());
            return Err(row.broken(why));
        }
        for (i, (&found, either)) in output.bits.iter().zip(elements.iter()).enumerate() {
            let error = either.iter().map(|&w| error(row, output, found, w)).fold(f64::INFINITY, f64::min);
            verdict.error = verdict.error.max(error);
            if error <= verdict.tolerance || verdict.first.is_some() {
                continue;
            }
            verdict.first = Some((i, output.number(found), either.first().map_or(f64::NAN, |&w| output.number(w))));
            let text = |bits: u32| format!("{bits:#x} ({:?})", output.number(bits));
            let either: Vec<String> = either.iter().map(|&w| text(w)).collect();
            let (name, wanted) = (output.name, either.join(" or "));
            note = Some(format!("{name}[{i}] is {}, wanted {wanted}, {}", text(found), row.source()));
        }
    }
    Ok((verdict, note))
}

/// How far an element is from a wanted one, in the row's measure.
fn error(row: &EdgeRow, output: &Output, found: u32, wanted: u32) -> f64 {
    let (f, w) = (output.number(found), output.number(wanted));
    let same = match row.within {
        _ if row.moves => found == wanted,
        None => found == wanted || f.is_nan() && w.is_nan(),
        Some(_) => f == w || f.is_nan() && w.is_nan(),
    };
    match row.within {
        _ if same => 0.0,
        Some([relative, absolute]) if f.is_finite() && w.is_finite() => {
            let off = (f - w).abs();
            if relative > 0.0 { off / (w.abs() + absolute / relative).max(f64::MIN_POSITIVE) } else { off }
        }
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rest: &str, wanted: &str) -> EdgeRow {
        let text = format!(
            r#"{{"ops": ["relu"], "dtype": "f32", "name": "a row", "size": [1], "inputs": {{}}, "scalars": {{}},
                "torch": {{"y": "{wanted}"}}{rest}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn passes(row: &EdgeRow, found: u32) -> bool {
        let (verdict, note) = compare(row, &[Output::of("y", &[f32::from_bits(found)])]).unwrap();
        assert_eq!(verdict.passed(), note.is_none());
        verdict.passed()
    }

    const ZERO: u32 = 0;
    const MINUS_ZERO: u32 = 1 << 31;
    const NAN: u32 = 0x7fff_ffff;
    const INF: u32 = 0x7f80_0000;
    const ONE: u32 = 0x3f80_0000;

    #[test]
    fn numbers_are_told_from_each_other_and_nan_is_nan() {
        for (wanted, found, same) in [
            ("7fc00000", NAN, true),
            ("7fc00000", INF, false),
            ("7f800000", INF, true),
            ("7f800000", INF | MINUS_ZERO, false),
            ("7f800000", NAN, false),
            ("00000000", ZERO, true),
            ("00000000", MINUS_ZERO, false),
            ("00000001", ZERO, false),
            ("00000001|00000000", ZERO, true),
            ("3f800000", ONE + 1, false),
        ] {
            assert_eq!(passes(&row("", wanted), found), same, "{wanted} {found:x}");
        }
    }

    #[test]
    fn moved_elements_keep_the_bits_of_a_nan() {
        let moved = row(r#", "moves": true"#, "7f800001");
        assert!(passes(&moved, 0x7f80_0001) && !passes(&moved, 0x7fc0_0001) && !passes(&moved, NAN));
    }

    #[test]
    fn an_error_is_relative_with_an_absolute_part() {
        let near = row(r#", "within": [1e-6, 1e-7]"#, "3f800000");
        assert!(passes(&near, ONE) && passes(&near, ONE + 9) && !passes(&near, ONE + 10), "9 ulp are 1.07e-6");
        assert!(!passes(&near, NAN) && !passes(&near, INF));
        let zero = row(r#", "within": [1e-6, 1e-7]"#, "00000000");
        assert!(passes(&zero, MINUS_ZERO) && passes(&zero, 9e-8f32.to_bits()) && !passes(&zero, 2e-7f32.to_bits()));
        let absolute = row(r#", "within": [0.0, 0.5]"#, "3f800000");
        assert!(passes(&absolute, 1.5f32.to_bits()) && !passes(&absolute, 1.6f32.to_bits()));
        let exact = row(r#", "within": [0.0, 0.0]"#, "7f800000");
        assert!(passes(&exact, INF) && !passes(&exact, f32::MAX.to_bits()));
    }

    #[test]
    fn an_output_that_the_row_does_not_have_is_an_error() {
        let row = row("", "00000000");
        for outputs in [vec![], vec![Output::of("z", &[0f32])], vec![Output::of("y", &[0f32, 1.0])]] {
            assert!(compare(&row, &outputs).is_err());
        }
    }
}
