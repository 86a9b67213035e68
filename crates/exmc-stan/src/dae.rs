//! Calls of Stan's solvers of differential-algebraic equations: a name and its arguments ->
//! tolerances, and what the residual is called with, for the lowering and the host.

use std::ops::Range;

use exmc_math::OdeControl;

use crate::value::Value;

/// Positions of the initial state, its slope, the initial time and the output times among the
/// arguments, after the function.
pub(crate) const STATE: usize = 1;
/// See [`STATE`].
pub(crate) const SLOPE: usize = 2;
/// See [`STATE`].
pub(crate) const INITIAL_TIME: usize = 3;
/// See [`STATE`].
pub(crate) const TIMES: usize = 4;

/// One way of calling the solver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DaeForm {
    /// Which arguments set tolerances and the limit.
    controls: Range<usize>,
    /// Which arguments the residual gets after time, state and slope.
    pub(crate) extras: Range<usize>,
}

impl DaeForm {
    /// The form of a call, if the name is the solver's.
    pub(crate) fn of(name: &str, count: usize) -> Option<Self> {
        let first = match name {
            "dae" => 5,
            "dae_tol" => 8,
            _ => return None,
        };
        Some(Self { controls: 5..first, extras: first..count.max(first) })
    }

    /// Tolerances and limit; `value` gives an argument. Defaults are Stan's: 1e-10, and a hundred
    /// million steps.
    ///
    /// # Errors
    /// Which setting is wrong, and how.
    pub(crate) fn settings<'v>(
        &self,
        value: impl Fn(usize) -> Option<&'v Value>,
    ) -> Result<OdeControl, String> {
        let mut control = OdeControl { relative: 1e-10, absolute: 1e-10, max_steps: 100_000_000 };
        if self.controls.is_empty() {
            return Ok(control);
        }
        let number = |offset: usize| {
            value(self.controls.start + offset).and_then(Value::as_real).unwrap_or(f64::NAN)
        };
        (control.relative, control.absolute) = (number(0), number(1));
        for (name, tolerance) in [("relative", control.relative), ("absolute", control.absolute)] {
            if !(tolerance.is_finite() && tolerance > 0.0) {
                return Err(format!(
                    "the {name} tolerance is {tolerance}, but must be positive and finite"
                ));
            }
        }
        let limit = number(2);
        if limit.is_nan() || limit < 1.0 {
            return Err(format!("the largest number of steps is {limit}, but must be positive"));
        }
        // A float beyond the range of whole numbers becomes their largest.
        control.max_steps = limit as u64;
        Ok(control)
    }
}

/// Whether a state and its slope are of one length.
///
/// # Errors
/// A sentence about it.
pub(crate) fn check_sizes(states: usize, slopes: usize) -> Result<(), String> {
    if states == 0 {
        return Err("the initial state has no elements".into());
    }
    if states == slopes {
        return Ok(());
    }
    Err(format!("the initial state has {states} elements, but its derivative has {slopes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_settings_are_those_of_stan() {
        let plain = DaeForm::of("dae", 7).unwrap();
        assert_eq!(plain.extras, 5..7);
        let defaults = OdeControl { relative: 1e-10, absolute: 1e-10, max_steps: 100_000_000 };
        assert_eq!(plain.settings(|_| None), Ok(defaults));
        let form = DaeForm::of("dae_tol", 8).unwrap();
        assert_eq!(form.extras, 8..8);
        let values = [Value::Real(1e-5), Value::Real(1e-3), Value::Int(500)];
        let control = form.settings(|k| values.get(k - 5)).unwrap();
        assert_eq!(control, OdeControl { relative: 1e-5, absolute: 1e-3, max_steps: 500 });
        let wrong = form.settings(|_| Some(&Value::Real(-1.0))).unwrap_err();
        assert_eq!(wrong, "the relative tolerance is -1, but must be positive and finite");
        assert_eq!(DaeForm::of("ode_bdf", 5), None);
        let error = check_sizes(2, 3).unwrap_err();
        assert_eq!(error, "the initial state has 2 elements, but its derivative has 3");
    }
}
