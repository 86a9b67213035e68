//! Calls of Stan's solvers of initial value problems: a name and its arguments -> method,
//! tolerances, and what the right-hand side is called with, for the lowering.

use std::ops::Range;

use exmc_math::{OdeControl, OdeMethod};

use crate::value::Value;

/// One way of calling a solver: arguments are the function, then `start`, `initial time`, `times`,
/// then these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OdeForm {
    /// The solver; settled by an argument for the adjoint one.
    method: Option<OdeMethod>,
    /// Which arguments set tolerances and limits.
    pub(crate) controls: Range<usize>,
    /// Which arguments the right-hand side gets after time and state.
    pub(crate) extras: Range<usize>,
}

/// Positions of the initial state, the initial time and the output times among the arguments.
pub(crate) const START: usize = 1;
/// See [`START`].
pub(crate) const INITIAL_TIME: usize = 2;
/// See [`START`].
pub(crate) const TIMES: usize = 3;

impl OdeForm {
    /// The form of a call, if the name is a solver's.
    pub(crate) fn of(name: &str, count: usize) -> Option<Self> {
        if name == "ode_adjoint_tol_ctl" {
            return Some(Self { method: None, controls: 4..15, extras: 15..count });
        }
        if let Some(rest) = name.strip_prefix("integrate_ode") {
            let name = rest.strip_prefix('_').unwrap_or("rk45");
            let method = OdeMethod::from_name(name)?;
            return Some(Self { method: Some(method), controls: 7..count, extras: 4..7 });
        }
        let rest = name.strip_prefix("ode_")?;
        let (name, first) = rest.strip_suffix("_tol").map_or((rest, 4), |name| (name, 7));
        let method = OdeMethod::from_name(name)?;
        Some(Self { method: Some(method), controls: 4..first, extras: first..count })
    }

    /// The solver and its settings; `value` gives the arguments of [`controls`](Self::controls).
    ///
    /// Defaults are Stan's: tolerances 1e-6 and a million steps for `rk45` and `ckrk`, 1e-10 and a
    /// hundred million for `bdf` and `adams`. The adjoint solver's backward settings have no
    /// meaning here: sensitivities are solved forwards, with its forward tolerances (of the
    /// absolute ones the smallest).
    ///
    /// # Errors
    /// Which setting is wrong, and how.
    pub(crate) fn settings<'v>(
        &self,
        value: impl Fn(usize) -> Option<&'v Value>,
    ) -> Result<(OdeMethod, OdeControl), String> {
        let first = self.controls.start;
        let number = |offset: usize| value(first + offset).and_then(Value::as_real);
        let adjoint = self.method.is_none();
        let method = match self.method {
            Some(method) => method,
            None if number(9) == Some(1.0) => OdeMethod::Adams,
            None if number(9) == Some(2.0) => OdeMethod::Bdf,
            None => return Err("the forward solver must be 1 (Adams) or 2 (BDF)".into()),
        };
        let (tolerance, steps) = match method {
            OdeMethod::Rk45 | OdeMethod::Ckrk => (1e-6, 1_000_000),
            OdeMethod::Bdf | OdeMethod::Adams => (1e-10, 100_000_000),
        };
        let mut control = OdeControl { relative: tolerance, absolute: tolerance, max_steps: steps };
        if self.controls.len() >= 3 {
            control.relative = number(0).unwrap_or(f64::NAN);
            control.absolute = match value(first + 1) {
                Some(Value::Reals(all)) => all.values.iter().copied().fold(f64::INFINITY, f64::min),
                _ => number(1).unwrap_or(f64::NAN),
            };
            let limit = number(if adjoint { 6 } else { 2 }).unwrap_or(f64::NAN);
            if limit.is_nan() || limit < 1.0 {
                return Err(format!(
                    "the largest number of steps is {limit}, but must be positive"
                ));
            }
            // A float beyond the range of whole numbers becomes their largest.
            control.max_steps = limit as u64;
        }
        for (name, tolerance) in [("relative", control.relative), ("absolute", control.absolute)] {
            if !(tolerance.is_finite() && tolerance > 0.0) {
                return Err(format!(
                    "the {name} tolerance is {tolerance}, but must be positive and finite"
                ));
            }
        }
        Ok((method, control))
    }
}

/// Whether times can be solved for: they must ascend, the first of them after the initial time.
///
/// # Errors
/// A sentence about the first that does not.
pub(crate) fn check_times(initial: f64, times: &[f64]) -> Result<(), String> {
    if !initial.is_finite() {
        return Err(format!("the initial time is {initial}, but must be finite"));
    }
    let Some(&first) = times.first() else { return Err("there is no output time".into()) };
    if let Some(time) = times.iter().find(|time| !time.is_finite()) {
        return Err(format!("an output time is {time}, but must be finite"));
    }
    if first <= initial {
        return Err(format!("the initial time is {initial}, but must be less than {first}"));
    }
    match times.windows(2).find(|pair| pair[1] < pair[0]) {
        Some(pair) => Err(format!("output times must ascend, but {} follows {}", pair[1], pair[0])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_settings_are_those_of_stan() {
        let none = |_: usize| None;
        let form = OdeForm::of("ode_bdf", 6).unwrap();
        assert_eq!((form.controls.clone(), form.extras.clone()), (4..4, 4..6));
        let (method, control) = form.settings(none).unwrap();
        assert_eq!(method, OdeMethod::Bdf);
        let defaults = OdeControl { relative: 1e-10, absolute: 1e-10, max_steps: 100_000_000 };
        assert_eq!(control, defaults);
        let form = OdeForm::of("integrate_ode_rk45", 7).unwrap();
        assert_eq!((form.controls.clone(), form.extras.clone()), (7..7, 4..7));
        let form = OdeForm::of("integrate_ode_rk45", 10).unwrap();
        let values = [1e-5, 1e-3, 5e2].map(Value::Real);
        let (method, control) = form.settings(|k| values.get(k - 7)).unwrap();
        assert_eq!(method, OdeMethod::Rk45);
        assert_eq!(control, OdeControl { relative: 1e-5, absolute: 1e-3, max_steps: 500 });
        let form = OdeForm::of("ode_ckrk_tol", 9).unwrap();
        assert_eq!((form.controls.clone(), form.extras.clone()), (4..7, 7..9));
        let values = [Value::Real(-1.0), Value::Real(1e-3), Value::Int(5)];
        let error = form.settings(|k| values.get(k - 4)).unwrap_err();
        assert_eq!(error, "the relative tolerance is -1, but must be positive and finite");
        assert_eq!(OdeForm::of("integrate_1d", 5), None);
        assert_eq!(OdeForm::of("ode_euler", 5), None);
    }

    #[test]
    fn the_adjoint_solver_is_its_forward_one() {
        let form = OdeForm::of("ode_adjoint_tol_ctl", 16).unwrap();
        assert_eq!(form.extras, 15..16);
        let mut values = vec![Value::Real(1e-8), Value::reals(vec![1e-9, 1e-7]), Value::Real(1e-4)];
        values.extend([Value::reals(vec![1e-4; 2]), Value::Real(1e-4), Value::Real(1e-4)]);
        values.extend([1000, 50, 1, 1, 2].map(Value::Int));
        let (method, control) = form.settings(|k| values.get(k - 4)).unwrap();
        assert_eq!(method, OdeMethod::Adams);
        assert_eq!(control, OdeControl { relative: 1e-8, absolute: 1e-9, max_steps: 1000 });
    }

    #[test]
    fn times_ascend_from_after_the_initial_one() {
        assert_eq!(check_times(0.0, &[0.5, 0.5, 1.0]), Ok(()));
        let error = check_times(1.0, &[1.0, 2.0]).unwrap_err();
        assert_eq!(error, "the initial time is 1, but must be less than 1");
        let error = check_times(0.0, &[1.0, 0.5]).unwrap_err();
        assert_eq!(error, "output times must ascend, but 0.5 follows 1");
        assert!(check_times(0.0, &[]).is_err() && check_times(0.0, &[f64::NAN]).is_err());
    }
}
