//! Values -> text: numbers in tables and in JSON, data on stdout, talk on stderr.

use std::io::{self, Write};

use exmc_draws::json_text;
use serde_json::Value;

/// Writes data to standard output.
pub(crate) fn put(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a JSON document to standard output.
pub(crate) fn put_json(value: &Value) -> io::Result<()> {
    put(&json_text(value))
}

/// Says something on standard error. A message that cannot be written is dropped: there is no other
/// place for it.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A number as JSON has it; numbers that JSON lacks are strings.
pub(crate) fn number(x: f64) -> Value {
    match serde_json::Number::from_f64(x) {
        Some(finite) => Value::Number(finite),
        None if x.is_nan() => "NaN".into(),
        None if x > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// A number, or arrays of them nested row-major.
pub(crate) fn array(shape: &[usize], values: &[f64]) -> Value {
    match shape {
        [] => number(values[0]),
        [_] => values.iter().map(|x| number(*x)).collect(),
        [n, rest @ ..] => {
            let size: usize = rest.iter().product();
            (0..*n).map(|i| array(rest, &values[i * size..(i + 1) * size])).collect()
        }
    }
}

/// How many decimals show a number down to the first digit that its standard error makes uncertain;
/// `None` when plain notation would be unreadable.
pub(crate) fn decimals(standard_error: f64) -> Option<usize> {
    if !(standard_error > 0.0 && standard_error.is_finite()) {
        return None;
    }
    let exponent = libm::floor(libm::log10(standard_error)) as i32;
    match exponent {
        -7..=0 => Some((-exponent) as usize),
        1..=5 => Some(0),
        _ => None,
    }
}

/// A number with so many decimals, or with four significant digits when there is no such count.
pub(crate) fn rounded(x: f64, decimals: Option<usize>) -> String {
    if !x.is_finite() {
        return if x.is_nan() { "NaN".into() } else { x.to_string() };
    }
    match decimals {
        Some(n) if x.abs() < 1e9 => {
            let text = format!("{x:.n$}");
            let zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
            if zero { text.trim_start_matches('-').to_owned() } else { text }
        }
        _ => significant(x, 4),
    }
}

/// A number with so many significant digits.
pub(crate) fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let scientific = format!("{x:.*e}", digits - 1);
    let exponent: i32 = scientific
        .split_once('e')
        .and_then(|(_, e)| e.parse().ok())
        .expect("scientific notation has an exponent");
    match exponent {
        -4..=8 => format!("{x:.*}", (digits as i32 - 1 - exponent).max(0) as usize),
        _ => scientific,
    }
}

/// A time with a unit that suits it.
pub(crate) fn seconds(s: f64) -> String {
    if s < 1e-3 {
        format!("{} us", significant(s * 1e6, 3))
    } else if s < 1.0 {
        format!("{} ms", significant(s * 1e3, 3))
    } else if s < 100.0 {
        format!("{} s", significant(s, 3))
    } else {
        format!("{s:.0} s")
    }
}

/// `1 draw`, `2 draws`.
pub(crate) fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_end_at_the_first_uncertain_digit() {
        assert_eq!(rounded(4.441369, decimals(0.083)), "4.44");
        assert_eq!(rounded(4.441369, decimals(0.1)), "4.4");
        assert_eq!(rounded(123456.7, decimals(31.0)), "123457");
        assert_eq!(rounded(-0.0004, decimals(0.02)), "0.00");
        assert_eq!(rounded(1.23456e-12, decimals(1e-14)), "1.235e-12");
        assert_eq!(rounded(5.0, decimals(f64::NAN)), "5.000");
        assert_eq!(rounded(f64::NEG_INFINITY, Some(2)), "-inf");
    }

    #[test]
    fn json_has_words_for_numbers_that_it_lacks() {
        let value = array(&[2, 2], &[1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        assert_eq!(value.to_string(), r#"[[1.5,"NaN"],["Infinity","-Infinity"]]"#);
        assert_eq!(array(&[2, 0], &[]).to_string(), "[[],[]]");
        assert_eq!(array(&[], &[0.1]).to_string(), "0.1");
    }

    #[test]
    fn times_have_suitable_units() {
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(seconds(4.2e-5), "42.0 us");
        assert_eq!(seconds(12.34), "12.3 s");
        assert_eq!(seconds(1234.5), "1234 s");
    }
}
