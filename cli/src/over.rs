//! Ranges of sizes: `--over`, and the default range of an operation.

use anyhow::{Result, bail, ensure};
use std::str::FromStr;
use tilewright_bench::{Axis, Scale};
use tilewright_conformance::Operation;

/// `n=2^12..=2^28`, `cols=256..=12672:+128`, `m=n=k=256,512,1000`: extents that take the same values.
#[derive(Clone, Debug, PartialEq)]
pub struct Over {
    axes: Vec<String>,
    values: Vec<u64>,
    scale: Scale,
}

/// More points than a figure can show.
const MAX_POINTS: usize = 4096;

const FORM: &str = "a range is as in n=2^12..=2^28, which doubles, cols=256..=12672:+128 or m=n=k=256,512,1000";

impl FromStr for Over {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((axes, range)) = text.rsplit_once('=').map(|(a, r)| match a.strip_suffix("..") {
            // The sign of `..=` is the last one.
            Some(before) => match before.rsplit_once('=') {
                Some((axes, first)) => (axes, format!("{first}..={r}")),
                None => ("", String::new()),
            },
            None => (a, r.to_string()),
        }) else {
            return Err(format!("`{text}` names no axis: {FORM}"));
        };
        let axes: Vec<String> = axes.split('=').map(|a| a.trim().to_string()).collect();
        if axes.iter().any(String::is_empty) {
            return Err(format!("`{text}` names no axis: {FORM}"));
        }
        let (values, scale) = values(&range)?;
        Ok(Over { axes, values, scale })
    }
}

/// `4096`, `4_096` or `2^12`.
fn number(text: &str) -> Result<u64, String> {
    let digits = |t: &str| t.trim().replace('_', "").parse::<u64>().ok();
    let found = match text.split_once('^') {
        Some((base, power)) => digits(base).zip(digits(power)).and_then(|(b, p)| b.checked_pow(u32::try_from(p).ok()?)),
        None => digits(text),
    };
    found.ok_or_else(|| format!("`{text}` is not a number: {FORM}"))
}

enum Step {
    Times(u64),
    Plus(u64),
}

fn values(range: &str) -> Result<(Vec<u64>, Scale), String> {
    let Some((first, rest)) = range.split_once("..") else {
        let mut values = range.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        values.sort_unstable();
        values.dedup();
        // If the values differ by much, a linear axis shows only the largest ones.
        let wide = values.first().is_some_and(|&f| f > 0 && values.last().is_some_and(|l| l / f >= 32));
        return Ok((values, if wide { Scale::Log } else { Scale::Linear }));
    };
    let (last, step) = match rest.split_once(':') {
        None => (rest, Step::Times(2)),
        Some((last, step)) => match step.split_at_checked(1) {
            Some(("*", by)) => (last, Step::Times(number(by)?)),
            Some(("+", by)) => (last, Step::Plus(number(by)?)),
            _ => return Err(format!("`{step}` is not a step: it is as in *2 or +128")),
        },
    };
    let (last, inclusive) = last.strip_prefix('=').map_or((last, false), |l| (l, true));
    let (first, last) = (number(first)?, number(last)?);
    let scale = match step {
        Step::Times(by) if by < 2 || first == 0 => {
            return Err(format!("`{range}` has no end: a factor is 2 or more, and the first value is not 0"));
        }
        Step::Plus(0) => return Err(format!("`{range}` has no end: a step is 1 or more")),
        Step::Times(_) => Scale::Log,
        Step::Plus(_) => Scale::Linear,
    };
    let next = |v: &u64| match step {
        Step::Times(by) => v.checked_mul(by),
        Step::Plus(by) => v.checked_add(by),
    };
    let within = |v: &u64| *v < last || (inclusive && *v == last);
    let values: Vec<u64> = std::iter::successors(Some(first), next).take_while(within).take(MAX_POINTS + 1).collect();
    match values.len() {
        0 => Err(format!("`{range}` has no values")),
        n if n > MAX_POINTS => Err(format!("`{range}` has more than {MAX_POINTS} values")),
        _ => Ok((values, scale)),
    }
}

/// The points of a sweep of one operation.
pub struct Points {
    pub axis: Axis,
    /// Extents that are the same at all points, as in `rows = 4096`.
    pub fixed: Vec<String>,
    base: Vec<u64>,
    /// Which extents x is; none for a list of sizes.
    varied: Vec<usize>,
    sizes: Vec<Vec<u64>>,
}

impl Points {
    /// Over a range. `size` gives the other extents; by default the operation's own size, a smaller one on a CPU.
    pub fn over(op: &Operation, over: &Over, size: Option<&[u64]>, on_gpu: bool) -> Result<Points> {
        let own = || if on_gpu { op.large.to_vec() } else { op.moderate() };
        let base = size.map_or_else(own, <[u64]>::to_vec);
        ensure!(base.len() == op.axes.len(), "{}: a size is {}, not {base:?}", op.name, op.axes.join(" x "));
        let mut varied = vec![];
        for name in &over.axes {
            match op.axes.iter().position(|a| a == name) {
                Some(i) if varied.contains(&i) => bail!("the axis `{name}` is named twice"),
                Some(i) => varied.push(i),
                None => bail!("{} has no axis `{name}`; it has {}", op.name, op.axes.join(", ")),
            }
        }
        let axis = Axis::new(over.axes.join(" = "), over.values.clone(), over.scale);
        let fixed = op.axes.iter().enumerate().filter(|(i, _)| !varied.contains(i));
        let fixed = fixed.map(|(i, name)| format!("{name} = {}", base[i])).collect();
        Ok(Points { axis, fixed, base, varied, sizes: vec![] })
    }

    /// A list of sizes.
    pub fn list(op: &Operation, sizes: Vec<Vec<u64>>) -> Points {
        let axis = Axis::ordinal(op.axes.join(" x "), sizes.len() as u64);
        Points { axis, fixed: vec![], base: vec![], varied: vec![], sizes }
    }

    /// The range of an operation without --over: lengths, columns, tokens, or square products.
    pub fn of(op: &Operation, on_gpu: bool) -> Result<Points> {
        let ranges = match op.axes {
            ["n", ..] => ["n=2^12..=2^28", "n=2^10..=2^20"],
            ["rows", "cols"] => ["cols=256..=12544:+512", "cols=256..=2304:+512"],
            ["width", "height"] => ["height=256..=12544:+512", "height=256..=2304:+512"],
            [.., "m", "n", "k"] => ["m=n=k=256..=4096:+256", "m=n=k=64..=256:+64"],
            ["tokens", ..] => ["tokens=64..=65536", "tokens=64..=1024"],
            ["heads", "queries", "keys", "d"] => ["queries=keys=512..=16384", "queries=keys=64..=256"],
            axes => bail!("{} has no range of its own: name one of {} with --over", op.name, axes.join(", ")),
        };
        let over: Over = ranges[usize::from(!on_gpu)].parse().map_err(anyhow::Error::msg)?;
        // Problems of billions of operations are smaller on a CPU.
        let size: Option<&[u64]> = match op.axes {
            _ if on_gpu => None,
            ["rows" | "width", _] => Some(&[256, 0]),
            ["n", "taps"] => Some(&[0, 31]),
            ["batch", ..] => Some(&[4, 0, 0, 0]),
            ["tokens", ..] => Some(&[0, 32, 128]),
            ["heads", ..] => Some(&[2, 0, 0, 64]),
            _ => None,
        };
        Self::over(op, &over, size, on_gpu)
    }

    /// The whole size at a value of x.
    pub fn size(&self, x: u64) -> Vec<u64> {
        if self.varied.is_empty() {
            return self.sizes.get(x as usize).cloned().unwrap_or_default();
        }
        let mut size = self.base.clone();
        self.varied.iter().for_each(|&i| size[i] = x);
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_conformance::OPERATIONS;

    fn values_of(text: &str) -> Result<Vec<u64>, String> {
        text.parse::<Over>().map(|o| o.values)
    }

    #[test]
    fn ranges() {
        assert_eq!(values_of("n=2^3..=2^5").unwrap(), [8, 16, 32]);
        assert_eq!(values_of("n=8..32").unwrap(), [8, 16]);
        assert_eq!(values_of("n=1..=100:*10").unwrap(), [1, 10, 100]);
        assert_eq!(values_of("n=256..=600:+128").unwrap(), [256, 384, 512]);
        assert_eq!(values_of("n=1_000,7").unwrap(), [7, 1000]);
        let over: Over = "m=n=k=64..=128".parse().unwrap();
        assert_eq!((over.axes, over.scale), (vec!["m".to_string(), "n".into(), "k".into()], Scale::Log));
        assert_eq!("n=0..=4:+2".parse::<Over>().map(|o| (o.values, o.scale)), Ok((vec![0, 2, 4], Scale::Linear)));
        assert_eq!("n=1,31".parse::<Over>().unwrap().scale, Scale::Linear);
    }

    #[test]
    fn what_is_no_range() {
        for (text, word) in [
            ("5", "names no axis"),
            ("=5", "names no axis"),
            ("..=5", "names no axis"),
            ("n=", "is not a number"),
            ("n=a..=5", "`a` is not a number"),
            ("n=2^99", "`2^99` is not a number"),
            ("n=5..5", "has no values"),
            ("n=5..=4", "has no values"),
            ("n=0..=8", "has no end"),
            ("n=1..=8:*1", "has no end"),
            ("n=1..=8:+0", "has no end"),
            ("n=1..=8:3", "is not a step"),
            ("n=1..=2^60:+1", "more than 4096 values"),
            ("n=1,,2", "`` is not a number"),
        ] {
            let said = values_of(text).unwrap_err();
            assert!(said.contains(word), "{text}: {said}");
        }
        assert_eq!(values_of("n=2^63..=18446744073709551615").unwrap(), [1 << 63], "the next one is no number");
    }

    #[test]
    fn sizes_of_points() {
        let op = Operation::find("softmax_rows").unwrap();
        let over: Over = "cols=8,16".parse().unwrap();
        let points = Points::over(op, &over, Some(&[3, 5]), true).unwrap();
        assert_eq!((points.size(16), points.fixed.as_slice()), (vec![3, 16], &["rows = 3".to_string()][..]));
        assert!(Points::over(op, &over, Some(&[3]), true).is_err_and(|e| e.to_string().contains("rows x cols")));
        let wrong: Over = "k=8".parse().unwrap();
        let said = Points::over(op, &wrong, None, true).err().expect("an error").to_string();
        assert_eq!(said, "softmax_rows has no axis `k`; it has rows, cols");
        let points = Points::list(op, vec![vec![1, 2], vec![3, 4]]);
        assert_eq!((points.size(1), points.axis.values()), (vec![3, 4], &[0, 1][..]));
    }

    #[test]
    fn every_operation_has_a_range() {
        for op in OPERATIONS {
            for on_gpu in [true, false] {
                let points = Points::of(op, on_gpu).unwrap();
                let last = points.size(*points.axis.values().last().unwrap());
                assert!(points.axis.values().len() >= 3 && last.iter().all(|&n| n > 0), "{} {last:?}", op.name);
            }
        }
    }
}
