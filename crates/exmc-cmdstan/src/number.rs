//! Numbers -> text, as C++ streams write them (`%g`) or with the digits that read the same bits
//! back.

/// How many digits numbers of a file have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digits {
    /// As many as it takes to read the same bits back.
    Shortest,
    /// So many significant ones.
    Significant(usize),
}

impl Digits {
    /// CmdStan's `sig_figs`: -1 asks for nothing.
    pub(crate) fn of_option(sig_figs: i64) -> Self {
        usize::try_from(sig_figs).map_or(Self::Shortest, Self::Significant)
    }

    /// A number as text.
    pub(crate) fn write(self, x: f64) -> String {
        match self {
            Self::Shortest => shortest(x),
            Self::Significant(digits) => general(x, digits),
        }
    }
}

/// What is no finite number, as C++ streams spell it.
fn special(x: f64) -> Option<&'static str> {
    match x {
        _ if x.is_nan() => Some("nan"),
        f64::INFINITY => Some("inf"),
        f64::NEG_INFINITY => Some("-inf"),
        _ => None,
    }
}

/// With as many digits as it takes to read the same bits back.
pub(crate) fn shortest(x: f64) -> String {
    if let Some(word) = special(x) {
        return word.to_owned();
    }
    let mut text = format!("{x:?}");
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    text
}

/// C's `%.{digits}g`: so many significant digits, without zeros behind the last one; an exponent of
/// at least two digits where that is shorter.
pub(crate) fn general(x: f64, digits: usize) -> String {
    if let Some(word) = special(x) {
        return word.to_owned();
    }
    let digits = digits.max(1);
    if x == 0.0 {
        return if x.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    // Rounding to the digits may raise the exponent, so it is read from the rounded text.
    let rounded = format!("{x:.*e}", digits - 1);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let without_zeros = |text: &str| {
        let text = if text.contains('.') { text.trim_end_matches('0') } else { text };
        text.trim_end_matches('.').to_owned()
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs());
    }
    let behind = (digits as i32 - 1 - exponent).max(0) as usize;
    without_zeros(&format!("{x:.behind$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `printf '%.{n}g'` of GNU coreutils writes.
    #[test]
    fn significant_digits_are_those_of_c() {
        for (x, digits, expected) in [
            (1e-12, 6, "1e-12"),
            (1e7, 6, "1e+07"),
            (10000.0, 6, "10000"),
            (999999.5, 6, "1e+06"),
            (-7.021466771345, 6, "-7.02147"),
            (-7.021466771345, 3, "-7.02"),
            (0.0001, 6, "0.0001"),
            (0.00001, 6, "1e-05"),
            (0.8, 6, "0.8"),
            (123456789.0, 6, "1.23457e+08"),
            (100.0, 2, "1e+02"),
            (5.0, 1, "5"),
            (0.1, 17, "0.10000000000000001"),
            (-0.0, 6, "-0"),
            (f64::NAN, 6, "nan"),
            (f64::NEG_INFINITY, 6, "-inf"),
        ] {
            assert_eq!(general(x, digits), expected, "{x} {digits}");
        }
    }

    #[test]
    fn the_shortest_text_reads_the_same_bits_back() {
        for x in [0.1 + 0.2, 1.0 / 3.0, 1e300, 5e-324, -12.0] {
            assert_eq!(shortest(x).parse::<f64>(), Ok(x));
        }
        assert_eq!(shortest(12.0), "12");
        assert_eq!(Digits::of_option(-1), Digits::Shortest);
        assert_eq!(Digits::of_option(6).write(0.123456789), "0.123457");
    }
}
