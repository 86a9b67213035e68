//! `dae` and `dae_tol` on values.

use exmc_math::{DaeSystem, OdeFailure, OdeWorkspace, solve_dae};

use crate::dae::{DaeForm, INITIAL_TIME, SLOPE, STATE, TIMES, check_sizes};
use crate::host::error::Fault;
use crate::host::higher_order::{Callback, solver_failure};
use crate::host::numeric;
use crate::ode::check_times;
use crate::value::{Numbers, Value};

/// The user's residual.
struct Residual<'b, 'h, 'p> {
    back: &'b mut Callback<'h, 'p>,
    rest: &'b [Value],
    states: usize,
    /// Whether its value had another length.
    wrong_length: Option<usize>,
}

impl DaeSystem for Residual<'_, '_, '_> {
    fn states(&self) -> usize {
        self.states
    }

    fn residual(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        residual: &mut [f64],
    ) -> Result<(), OdeFailure> {
        let mut args = Vec::with_capacity(3 + self.rest.len());
        args.push(Value::Real(t));
        args.extend([y, dy].map(|vector| Value::reals(vector.to_vec())));
        args.extend_from_slice(self.rest);
        let found = self.back.call(args).ok_or(OdeFailure::Stopped)?;
        if found.len() != residual.len() {
            self.wrong_length = Some(found.len());
            return Err(OdeFailure::Stopped);
        }
        residual.copy_from_slice(&found);
        Ok(())
    }
}

/// The solution `[T, n]`; `values` are the arguments behind the function.
pub(super) fn dae(
    back: &mut Callback<'_, '_>,
    form: &DaeForm,
    values: &[Value],
) -> Result<Value, Fault> {
    let control = form.settings(|k| values.get(k - 1)).map_err(Fault::domain)?;
    let state = numeric::real_slice(&values[STATE - 1])?.into_owned();
    let slope = numeric::real_slice(&values[SLOPE - 1])?.into_owned();
    let t0 = numeric::real(&values[INITIAL_TIME - 1])?;
    let times = numeric::real_slice(&values[TIMES - 1])?.into_owned();
    check_times(t0, &times).map_err(Fault::domain)?;
    let states = state.len();
    check_sizes(states, slope.len()).map_err(Fault::size)?;
    let rest = &values[form.extras.start - 1..form.extras.end - 1];
    let mut out = vec![0.0; states * times.len()];
    let mut system = Residual { back, rest, states, wrong_length: None };
    let mut work = OdeWorkspace::default();
    let start = (t0, &*state, &*slope);
    let solved = solve_dae(&control, &mut system, &mut work, start, &[], &times, &mut out);
    if let Some(found) = system.wrong_length {
        let message = format!("its function gives {found} elements for {states} equations");
        return Err(Fault::size(message));
    }
    solved.map_err(|failure| Fault::domain(dae_failure(failure)))?;
    Ok(Value::Reals(Numbers::new([times.len(), states], out)))
}

/// Why there is no solution.
pub(crate) fn dae_failure(failure: OdeFailure) -> &'static str {
    match failure {
        OdeFailure::StepTooSmall => {
            "the solution leaves the finite numbers, its start does not fulfil the equations, these do not determine it \
             (index one is needed), or the tolerances are below rounding"
        }
        failure => solver_failure(failure),
    }
}
