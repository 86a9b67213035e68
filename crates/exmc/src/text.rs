//! Statistics -> text that people read: numbers with as many digits as are known, aligned tables.

/// How many decimals show a number down to the first digit that its standard error makes uncertain;
/// `None` when plain notation would be unreadable.
pub fn decimals(standard_error: f64) -> Option<usize> {
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
pub fn rounded(x: f64, decimals: Option<usize>) -> String {
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
pub fn significant(x: f64, digits: usize) -> String {
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

/// Lays out a table with two spaces between columns. Every row has as many cells as the head.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let length = |cell: &str| cell.chars().count();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = rows.iter().map(|row| length(&row[column]));
            cells.chain([length(head[column])]).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut out = String::new();
        for ((column, cell), width) in cells.enumerate().zip(&widths) {
            let padding = " ".repeat(width - length(cell));
            if column == 0 {
                out.push_str(cell);
                out.push_str(&padding);
            } else {
                out.push_str("  ");
                out.push_str(&padding);
                out.push_str(cell);
            }
        }
        text.push_str(out.trim_end());
        text.push('\n');
    };
    line(&mut head.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
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
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["σ".into(), "1.25".into()], vec!["theta[0]".into(), "-10".into()]];
        let text = table(&["name", "mean"], &rows);
        assert_eq!(text, "name      mean\nσ         1.25\ntheta[0]   -10\n");
    }
}
