//! `dae` and `dae_tol` on the tape: the user's residual runs on a tape of its own at every point,
//! for its derivatives there.

use exmc_math::{DaeSystem, OdeFailure, OdeWorkspace, solve_dae};

use crate::dae::{DaeForm, INITIAL_TIME, SLOPE, STATE, TIMES, check_sizes};
use crate::host::dae::dae_failure;
use crate::host::error::Fault;
use crate::host::numeric;
use crate::ode::check_times;
use crate::source::Span;
use crate::typed::FunctionId;
use crate::value::{Numbers, Value};

use super::Tracer;
use super::higher_order::{Lost, System};
use super::record::Id;
use super::traced::Traced;

impl Tracer<'_> {
    /// The solution with its derivatives by the initial state and by what the residual gets;
    /// `values` are the arguments behind the function.
    pub(super) fn differential_algebraic(
        &mut self,
        function: FunctionId,
        form: &DaeForm,
        values: &[Traced],
        span: Span,
    ) -> Result<Traced, Lost> {
        let setting = |k: usize| values.get(k - 1).map(|value| &value.value);
        let control = form.settings(setting).map_err(Fault::domain)?;
        let numbers = |k: usize| numeric::real_slice(&values[k - 1].value).map(|x| x.into_owned());
        let (state, slope, times) = (numbers(STATE)?, numbers(SLOPE)?, numbers(TIMES)?);
        let t0 = numeric::real(&values[INITIAL_TIME - 1].value)?;
        check_times(t0, &times).map_err(Fault::domain)?;
        let n = state.len();
        check_sizes(n, slope.len()).map_err(Fault::size)?;
        let start = &values[STATE - 1];
        let by_start = start.ids.is_some();
        let rest = &values[form.extras.start - 1..form.extras.end - 1];
        let mut system = System::new(self, function, rest, (n, by_start), true, span);
        let s = system.columns();
        let mut seeds = vec![0.0; n * s];
        if by_start {
            (0..n).for_each(|i| seeds[i * s + i] = 1.0);
        }
        let mut out = vec![0.0; n * (1 + s) * times.len()];
        let mut work = OdeWorkspace::default();
        let first = (t0, &*state, &*slope);
        let solved = solve_dae(&control, &mut system, &mut work, first, &seeds, &times, &mut out);
        let columns = system.finish("equations")?;
        solved.map_err(|failure| Fault::domain(dae_failure(failure)))?;
        let begin = if by_start { start.flat_places() } else { Vec::new() };
        let columns: Vec<Id> = begin.iter().map(|id| *id as Id).chain(columns).collect();
        let (mut ids, mut states) = (Vec::new(), Vec::new());
        for row in out.chunks_exact(n * (1 + s)) {
            for i in 0..n {
                let sensitivities = &row[n + i * s..n + (i + 1) * s];
                let edges = columns.iter().copied().zip(sensitivities.iter().copied());
                ids.push(f64::from(self.tape.many(edges)));
                states.push(row[i]);
            }
        }
        Ok(Traced::with(Value::Reals(Numbers::new([times.len(), n], states)), &ids))
    }
}

impl DaeSystem for System<'_, '_> {
    fn states(&self) -> usize {
        self.states
    }

    fn columns(&self) -> usize {
        self.columns.len() + if self.by_start { self.states } else { 0 }
    }

    fn residual(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        residual: &mut [f64],
    ) -> Result<(), OdeFailure> {
        let found = self.run(vec![Value::Real(t)], &[y, dy], |_, result, _| result.flat());
        let found = found.ok_or(OdeFailure::Stopped)?;
        if found.len() != residual.len() {
            self.wrong_length = Some(found.len());
            return Err(OdeFailure::Stopped);
        }
        residual.copy_from_slice(&found);
        Ok(())
    }

    fn derivatives(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        [by_state, by_slope, forcing]: [&mut [f64]; 3],
    ) -> Result<(), OdeFailure> {
        let (n, column_count) = (self.states, self.columns.len());
        let offset = if self.by_start { n } else { 0 };
        let s = column_count + offset;
        let length = self.run(vec![Value::Real(t)], &[y, dy], |tape, result, adjoints| {
            let ids = result.flat_places();
            if ids.len() != n {
                return ids.len();
            }
            for (i, id) in ids.into_iter().enumerate() {
                tape.sweep(id as Id, adjoints);
                by_state[i * n..(i + 1) * n].copy_from_slice(&adjoints[1..=n]);
                by_slope[i * n..(i + 1) * n].copy_from_slice(&adjoints[1 + n..=2 * n]);
                let row = &mut forcing[i * s..(i + 1) * s];
                row[..offset].fill(0.0);
                row[offset..].copy_from_slice(&adjoints[1 + 2 * n..1 + 2 * n + column_count]);
            }
            n
        });
        match length {
            Some(length) if length == n => Ok(()),
            Some(length) => {
                self.wrong_length = Some(length);
                Err(OdeFailure::Stopped)
            }
            None => Err(OdeFailure::Stopped),
        }
    }
}
