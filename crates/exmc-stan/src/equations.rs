//! Calls of Stan's solvers of equations: a name and its arguments -> tolerance, limit, and what the
//! equations are called with, for the lowering and the host.

use std::ops::Range;

use exmc_math::RootControl;

use crate::value::Value;

/// Position of the guess among the arguments, after the function.
pub(crate) const GUESS: usize = 1;

/// One way of calling a solver: arguments are the function, the guess, then these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RootForm {
    /// Step size or relative tolerance (which mean nothing to our method), function tolerance, most
    /// steps.
    controls: Range<usize>,
    /// Which arguments the equations get after the unknowns.
    pub(crate) extras: Range<usize>,
}

impl RootForm {
    /// The form of a call, if the name is a solver's.
    pub(crate) fn of(name: &str, count: usize) -> Option<Self> {
        let (controls, extras) = match name {
            "algebra_solver" | "algebra_solver_newton" => (5..count, 2..5),
            "solve_newton" | "solve_powell" => (2..2, 2..count),
            "solve_newton_tol" | "solve_powell_tol" => (2..5, 5..count),
            _ => return None,
        };
        Some(Self { controls, extras })
    }

    /// Tolerance and limit; `value` gives an argument. Defaults are Stan's: 1e-6, and 200 steps.
    ///
    /// # Errors
    /// Which setting is wrong, and how.
    pub(crate) fn settings<'v>(
        &self,
        value: impl Fn(usize) -> Option<&'v Value>,
    ) -> Result<RootControl, String> {
        let mut control = RootControl { tolerance: 1e-6, max_steps: 200 };
        if self.controls.len() >= 3 {
            let number =
                |offset: usize| value(self.controls.start + offset).and_then(Value::as_real);
            control.tolerance = number(1).unwrap_or(f64::NAN);
            let limit = number(2).unwrap_or(f64::NAN);
            if limit.is_nan() || limit < 1.0 {
                return Err(format!(
                    "the largest number of steps is {limit}, but must be positive"
                ));
            }
            // A float beyond the range of whole numbers becomes their largest.
            control.max_steps = limit as u64;
        }
        let tolerance = control.tolerance;
        if !(tolerance.is_finite() && tolerance > 0.0) {
            return Err(format!(
                "the function tolerance is {tolerance}, but must be positive and finite"
            ));
        }
        Ok(control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_settings_are_those_of_stan() {
        let values = [Value::Real(1e-3), Value::Real(1e-9), Value::Int(50)];
        for (name, count, first, extras) in [
            ("algebra_solver", 8, 5, 2..5),
            ("algebra_solver_newton", 8, 5, 2..5),
            ("solve_powell_tol", 7, 2, 5..7),
            ("solve_newton_tol", 5, 2, 5..5),
        ] {
            let form = RootForm::of(name, count).unwrap();
            assert_eq!(form.extras, extras);
            let control = form.settings(|k| values.get(k - first)).unwrap();
            assert_eq!(control, RootControl { tolerance: 1e-9, max_steps: 50 });
        }
        let plain = RootForm::of("solve_newton", 4).unwrap();
        assert_eq!(plain.extras, 2..4);
        let default = RootControl { tolerance: 1e-6, max_steps: 200 };
        assert_eq!(plain.settings(|_| None), Ok(default));
        let wrong = RootForm::of("solve_newton_tol", 5).unwrap();
        let error = wrong.settings(|_| Some(&Value::Real(-1.0))).unwrap_err();
        assert_eq!(error, "the largest number of steps is -1, but must be positive");
        assert_eq!(RootForm::of("ode_bdf", 5), None);
    }
}
