//! Values -> text: numbers in tables and in JSON, data on stdout, talk on stderr.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use exmc_draws::json_text;
use serde_json::{Value, json};

pub(crate) use exmc::advanced::text::{rounded, significant};

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

/// Whether what is said on standard error is JSON.
static TALKS_JSON: AtomicBool = AtomicBool::new(false);

/// From now on every line on standard error is a JSON object.
pub(crate) fn talk_json() {
    TALKS_JSON.store(true, Ordering::Relaxed);
}

/// Says something on standard error, as an object where all talk is JSON. A message that cannot be
/// written is dropped: there is no other place for it.
pub(crate) fn say(text: &str) {
    if TALKS_JSON.load(Ordering::Relaxed) {
        return say_json(&json!({"event": "note", "message": text}));
    }
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says why a command failed.
pub(crate) fn say_failure(text: &str, exit: u8) {
    match TALKS_JSON.load(Ordering::Relaxed) {
        true => say_json(&json!({"event": "error", "message": text, "exit": exit})),
        false => say(text),
    }
}

/// Writes an object as one line to standard error.
pub(crate) fn say_json(value: &Value) {
    let _ = writeln!(io::stderr().lock(), "{value}");
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
