//! The ends of an axis -> tick values and their labels.
//!
//! Steps are 1, 2 or 5 times a power of ten, the smallest that keeps to a number of ticks. Values
//! are read from their decimal text, so that 0.3 is 0.3 and not 0.30000000000000004.

use crate::decimal::{floor_log10, pow10};

use crate::figure::Scale;

/// A tick: its value and its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where.
    pub value: f64,
    /// What stands there.
    pub label: String,
}

/// Ticks between two ends, at most `most` (at least 2).
///
/// **Edges**: ends that are equal, reversed or not finite give none.
pub fn ticks(scale: Scale, low: f64, high: f64, most: usize) -> Vec<Tick> {
    if !(low < high && low.is_finite() && high.is_finite()) {
        return Vec::new();
    }
    match scale {
        Scale::Linear => linear(low, high, most.max(2)),
        Scale::Log => logarithmic(low, high, most.max(2)),
    }
}

fn linear(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let mut exponent = floor_log10((high - low) / most as f64);
    let mut digits = [1_i64, 2, 5].into_iter();
    loop {
        let Some(digit) = digits.next() else {
            exponent += 1;
            digits = [1, 2, 5].into_iter();
            continue;
        };
        let step = digit as f64 * pow10(exponent);
        let slack = 1e-9 * (high - low) / step;
        let first = (low / step - slack).ceil();
        let last = (high / step + slack).floor();
        if last - first + 1.0 > most as f64 {
            continue;
        }
        let multiples = (first as i64..=last as i64).map(|k| k * digit);
        let scientific = low.abs().max(high.abs()) >= 1e6 || exponent < -4;
        return multiples.map(|m| tick(m, exponent, scientific)).collect();
    }
}

/// The tick at `multiple` times ten to `exponent`.
fn tick(multiple: i64, exponent: i32, scientific: bool) -> Tick {
    let value: f64 = format!("{multiple}e{exponent}").parse().expect("a decimal number");
    let label = if value == 0.0 {
        "0".to_owned()
    } else if scientific {
        format!("{value:e}")
    } else {
        format!("{value:.*}", (-exponent).max(0) as usize)
    };
    Tick { value, label }
}

fn logarithmic(low: f64, high: f64, most: usize) -> Vec<Tick> {
    if low <= 0.0 {
        return Vec::new();
    }
    let (first, last) = (floor_log10(low), floor_log10(high));
    let inside = |x: f64| x >= low * (1.0 - 1e-9) && x <= high * (1.0 + 1e-9);
    let ticks_with = |digits: &[i64]| -> Vec<Tick> {
        let pairs = (first..=last).flat_map(|e| digits.iter().map(move |d| (*d, e)));
        let scientific = !(-4..=4).contains(&first) || !(-4..=4).contains(&last);
        pairs.map(|(d, e)| tick(d, e, scientific)).filter(|t| inside(t.value)).collect()
    };
    for digits in [&[1, 2, 5][..], &[1, 3], &[1]] {
        let ticks = ticks_with(digits);
        if (2..=most).contains(&ticks.len()) {
            return ticks;
        }
    }
    let decades = ticks_with(&[1]);
    if decades.len() < 2 {
        return linear(low, high, most).into_iter().filter(|t| t.value > 0.0).collect();
    }
    decades.iter().step_by(decades.len().div_ceil(most)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, low: f64, high: f64, most: usize) -> Vec<String> {
        ticks(scale, low, high, most).into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(labels(Scale::Linear, 0.0, 1.0, 6), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Scale::Linear, -3.7, 12.2, 5), ["0", "5", "10"]);
        assert_eq!(labels(Scale::Linear, 990.0, 1012.0, 4), ["990", "1000", "1010"]);
        assert_eq!(labels(Scale::Linear, 0.0, 3e7, 4), ["0", "1e7", "2e7", "3e7"]);
        assert_eq!(labels(Scale::Linear, 0.0, 2e-6, 3), ["0", "1e-6", "2e-6"]);
        assert_eq!(ticks(Scale::Linear, 0.0, 0.3, 4)[3].value, 0.3);
        assert!(ticks(Scale::Linear, 1.0, 1.0, 5).is_empty());
        assert!(ticks(Scale::Linear, f64::NAN, 1.0, 5).is_empty());
    }

    #[test]
    fn every_count_is_kept_to() {
        for most in 2..12 {
            for k in 1..60 {
                let high = 0.013 * f64::from(k * k);
                let n = ticks(Scale::Linear, -0.7, high, most).len();
                assert!(
                    n <= most && (n >= 1 || most < 4),
                    "{n} ticks up to {high}, {most} at most"
                );
            }
        }
    }

    #[test]
    fn logarithmic_ticks_are_decades_or_parts_of_them() {
        assert_eq!(labels(Scale::Log, 1.0, 10.0, 5), ["1", "2", "5", "10"]);
        assert_eq!(labels(Scale::Log, 0.5, 2000.0, 5), ["1", "10", "100", "1000"]);
        assert_eq!(labels(Scale::Log, 1e-6, 1e6, 5).len(), 5);
        assert!(ticks(Scale::Log, 0.0, 1.0, 5).is_empty());
    }
}
