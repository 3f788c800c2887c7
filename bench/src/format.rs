//! Numbers and dates as text.

/// Milliseconds with three figures or more. Below 0.1 ms the last place is 10 ns.
///
/// # Examples
/// ```
/// use tilewright_bench::format::ms;
///
/// assert_eq!((ms(0.00412), ms(0.51234), ms(12.34)), ("0.00412".into(), "0.5123".into(), "12.3".into()));
/// ```
pub fn ms(t: f64) -> String {
    let digits = if t < 0.1 {
        5
    } else if t < 10.0 {
        4
    } else {
        1
    };
    format!("{t:.digits$}")
}

/// GB/s or TFLOP/s with three figures or more; below 0.01 with six places.
///
/// # Examples
/// ```
/// use tilewright_bench::format::rate;
///
/// assert_eq!((rate(0.01234), rate(12.345), rate(697.2)), ("0.0123".into(), "12.35".into(), "697".into()));
/// ```
pub fn rate(rate: f64) -> String {
    let digits = if rate < 0.01 {
        6
    } else if rate < 1.0 {
        4
    } else if rate < 100.0 {
        2
    } else {
        0
    };
    format!("{rate:.digits$}")
}

/// A ratio, with two places behind the point; below 0.1 with four.
pub(crate) fn ratio(r: f64) -> String {
    let digits = if r < 0.1 { 4 } else { 2 };
    format!("{r:.digits$}")
}

/// The UTC date and time of so many seconds since 1970, as in `2026-11-25 20:31`.
pub(crate) fn date(seconds: u64) -> String {
    // Days to a date of the Gregorian calendar, by eras of 400 years that begin in March (Hinnant, `civil_from_days`).
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let minutes = seconds % 86_400 / 60;
    format!("{:04}-{month:02}-{of_month:02} {:02}:{:02}", 400 * era + year + carry, minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00"),
            (951_827_696, "2000-02-29 12:34"),
            (1_709_251_199, "2024-02-29 23:59"),
            (1_795_638_660, "2026-11-25 20:31"),
            (4_107_542_400, "2100-03-01 00:00"),
        ] {
            assert_eq!(super::date(seconds), text);
        }
    }
}
