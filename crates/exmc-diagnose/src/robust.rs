//! Robust summaries of one scalar: draws -> mode, median absolute deviation, interquartile range.

use crate::draws::Draws;
use crate::interval::sorted;
use crate::quantile::quantile_of_sorted;

/// Half-sample mode: the shortest half of the draws, the shortest half of that, and so on down to
/// two, whose midpoint it is.
///
/// **Edges**: NaN when a draw is NaN or infinite; one draw is its own mode. Of equally short halves
/// the lowest is taken. **Reference**: Bickel and Frühwirth 2006, *Computational Statistics & Data
/// Analysis* 50. ArviZ 1.3 `mode` measures a half up to the draw behind it, which is not the
/// paper's rule and gives other values.
pub fn mode(draws: &Draws) -> f64 {
    let Some(sorted) = sorted(draws) else { return f64::NAN };
    let mut rest = sorted.as_slice();
    while rest.len() > 2 {
        let half = rest.len().div_ceil(2);
        let widths = rest.iter().zip(&rest[half - 1..]).map(|(low, high)| high - low);
        let (mut best, mut narrowest) = (0, f64::INFINITY);
        for (start, width) in widths.enumerate() {
            if width < narrowest {
                (best, narrowest) = (start, width);
            }
        }
        rest = &rest[best..best + half];
    }
    rest.iter().sum::<f64>() / rest.len() as f64
}

/// Median absolute deviation from the median, without a factor for the normal distribution.
///
/// **Edges**: NaN when a draw is NaN or infinite. **Reference**: ArviZ `mad`.
pub fn median_absolute_deviation(draws: &Draws) -> f64 {
    let Some(mut values) = sorted(draws) else { return f64::NAN };
    let median = quantile_of_sorted(&values, 0.5);
    values.iter_mut().for_each(|x| *x = (*x - median).abs());
    values.sort_unstable_by(f64::total_cmp);
    quantile_of_sorted(&values, 0.5)
}

/// Distance between the quartiles.
///
/// **Edges**: NaN when a draw is NaN or infinite. **Reference**: ArviZ `iqr`.
pub fn interquartile_range(draws: &Draws) -> f64 {
    sorted(draws).map_or(f64::NAN, |values| {
        quantile_of_sorted(&values, 0.75) - quantile_of_sorted(&values, 0.25)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_by_hand() {
        let evaluate = |values: &[f64], f: fn(&Draws) -> f64| f(&Draws::new(&[values]).unwrap());
        assert_eq!(evaluate(&[4.0], mode), 4.0);
        assert_eq!(evaluate(&[4.0, 5.0], mode), 4.5);
        assert_eq!(evaluate(&[0.0, 9.0, 9.1, 9.25, 20.0], mode), 9.05);
        assert_eq!(evaluate(&[1.0, 2.0, 3.0, 4.0, 100.0], median_absolute_deviation), 1.0);
        assert_eq!(evaluate(&[1.0, 2.0, 3.0, 4.0, 100.0], interquartile_range), 2.0);
        assert!(evaluate(&[1.0, f64::NAN], mode).is_nan());
    }
}
