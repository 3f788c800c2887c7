//! A failure in full: every access that takes part in it, with its line of the kernel.

use super::report::{Failure, Side};

/// A description of the failure in several lines. `source` is the file of the kernel.
///
/// # Examples
/// ```
/// use tilewright_core::emulator::{Failure, Kind, Side, explain};
///
/// let side = |program, thread| Side { access: "store".into(), line: 2, thread: Some(thread), program };
/// let failure = Failure {
///     kind: Kind::GlobalRace,
///     site: 2,
///     other_site: Some(2),
///     program: [1, 0, 0],
///     threads: vec![3, 67],
///     message: "thread 3: ..".into(),
///     seed: 1,
///     printed: vec![],
///     sides: vec![side([1, 0, 0], 3), side([0, 0, 0], 67)],
/// };
/// let text = explain(&failure, "fn kernel() {\n    store(y, i, x);\n}");
/// assert!(text.contains("one side: store by thread 3 (warp 0, lane 3) of program (1, 0, 0), line 2\n"), "{text}");
/// assert!(text.contains("other side: store by thread 67 (warp 2, lane 3) of program (0, 0, 0), line 2\n"), "{text}");
/// assert!(text.contains("2 |     store(y, i, x);"), "{text}");
/// ```
pub fn explain(failure: &Failure, source: &str) -> String {
    let mut out = format!("{failure}");
    if failure.sides.is_empty() {
        return out + &quoted(source, failure.site);
    }
    for (name, side) in ["one side", "other side"].into_iter().zip(&failure.sides) {
        out += &format!("\n  {name}: {}{}", described(side), quoted(source, side.line));
    }
    out
}

fn described(side: &Side) -> String {
    let [x, y, z] = side.program;
    let by = match side.thread {
        Some(t) => format!("by thread {t} (warp {}, lane {}) of", t / 32, t % 32),
        None => "an asynchronous step of".into(),
    };
    format!("{} {by} program ({x}, {y}, {z}), line {}", side.access, side.line)
}

/// A line of the kernel, to print below its message; empty if the line is not known.
fn quoted(source: &str, line: u32) -> String {
    let found = (line as usize).checked_sub(1).and_then(|i| source.lines().nth(i));
    found.map_or(String::new(), |text| format!("\n    {line} | {}", text.trim_end()))
}
