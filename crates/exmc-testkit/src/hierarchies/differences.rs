//! A function along a line and the slope that is claimed at 0 -> whether five-point differences
//! agree.

/// Steps of the differences are divided by this where the first ones disagree: their error falls by
/// its fourth power, that of a wrong slope stays.
const FINER: f64 = 4.0;

/// Fails where the slope is further than `allowed` from differences of steps `step` and from those
/// of a quarter of it.
///
/// # Errors
/// Both numbers, or what the function said.
pub(super) fn check_slope(
    slope: f64,
    allowed: f64,
    step: f64,
    along: impl Fn(f64) -> Result<f64, String>,
) -> Result<(), String> {
    let mut expected = f64::NAN;
    for h in [step, step / FINER] {
        let inner = along(h)? - along(-h)?;
        let outer = along(2.0 * h)? - along(-2.0 * h)?;
        expected = (8.0 * inner - outer) / (12.0 * h);
        if (slope - expected).abs() <= allowed {
            return Ok(());
        }
    }
    Err(format!("a slope of {slope}, differences say {expected}"))
}

#[cfg(test)]
mod tests {
    use super::check_slope;

    #[test]
    fn steps_that_are_too_long_are_shortened_and_wrong_slopes_fail() {
        // sin(400 x) at 0: differences of steps of 1e-3 are 9e-4 off in relation, of a quarter
        // 4e-6.
        let wave = |x: f64| Ok((400.0 * x).sin());
        assert!(check_slope(400.0, 5e-3, 1e-3, wave).is_ok());
        assert!(check_slope(400.02, 5e-3, 1e-3, wave).is_err());
        assert!(check_slope(f64::NAN, 5e-3, 1e-3, wave).is_err());
        assert!(check_slope(1.0, 1e-9, 1e-3, |_| Err("nothing here".to_owned())).is_err());
    }
}
