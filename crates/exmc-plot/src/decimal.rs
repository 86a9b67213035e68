//! Numbers -> short decimal text, and powers of ten that are exact.

/// $10^e$, correctly rounded.
pub(crate) fn pow10(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().expect("a decimal number")
}

/// $\lfloor \log_{10} x \rfloor$ of a positive number, exact.
pub(crate) fn floor_log10(x: f64) -> i32 {
    let text = format!("{x:e}");
    let exponent = text.split_once('e').and_then(|(_, e)| e.parse().ok());
    exponent.expect("scientific notation has an exponent")
}

/// A number with so many significant digits, without trailing zeros.
pub fn short(x: f64, digits: usize) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return x.to_string();
    }
    let rounded: f64 = format!("{x:.*e}", digits - 1).parse().expect("a decimal number");
    match floor_log10(rounded.abs()) {
        -4..=8 => format!("{rounded}"),
        _ => format!("{rounded:e}"),
    }
}

/// A number down to the first digit that an error of this size makes uncertain, trailing zeros
/// included; with four significant digits where the error is unknown or would take too many.
pub fn known(x: f64, error: f64) -> String {
    let exponent = if error > 0.0 && error.is_finite() { floor_log10(error) } else { i32::MAX };
    match exponent {
        -7..=5 if x.abs() < 1e9 => {
            let text = format!("{x:.*}", (-exponent).max(0) as usize);
            let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
            if is_zero { text.trim_start_matches('-').to_owned() } else { text }
        }
        _ => short(x, 4),
    }
}

/// A length in pixels: one decimal, no trailing zero.
pub(crate) fn pixels(x: f64) -> String {
    let tenths = (x * 10.0).round() / 10.0;
    // No `-0`.
    format!("{}", tenths + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(0.123456, 3), "0.123");
        assert_eq!(short(-1200.0, 3), "-1200");
        assert_eq!(short(1.0e12, 3), "1e12");
        assert_eq!(short(0.0000123, 2), "1.2e-5");
        assert_eq!((known(4.4, 0.083), known(123_456.7, 31.0)), ("4.40".into(), "123457".into()));
        assert_eq!((known(-0.0004, 0.02), known(5.0, f64::NAN)), ("0.00".into(), "5".into()));
        assert_eq!((floor_log10(1000.0), floor_log10(999.9), floor_log10(0.1)), (3, 2, -1));
        assert_eq!(
            (pixels(-0.01), pixels(12.34), pixels(7.0)),
            ("0".into(), "12.3".into(), "7".into())
        );
    }
}
