//! Functions that take functions, on the tape. Sums and maps run their function where they stand;
//! solvers and integrals run it on a tape of its own at every point, for its derivatives there.

use exmc_math::{OdeFailure, OdeSystem, OdeWorkspace, find_root, solve_ode};

use crate::equations::{GUESS, RootForm};
use crate::host::error::{Fault, Outcome, RuntimeError};
use crate::host::expression::read_value;
use crate::host::higher_order::{IntegralForm, Method, quadrature, solver_failure};
use crate::host::index::Choice;
use crate::host::numeric;
use crate::ode::{INITIAL_TIME, OdeForm, START, TIMES, check_times};
use crate::source::Span;
use crate::typed::{Expr, ExprKind, FunctionId, Type};
use crate::value::{Numbers, Value};

use super::Tracer;
use super::expression::as_number;
use super::record::{Id, Tape};
use super::traced::{Traced, in_form};

pub(super) fn is_function(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Function { .. } | ExprKind::LibraryFunction(_))
}

impl<'p> Tracer<'p> {
    /// A call of a library function one of whose arguments is a function's name.
    pub(super) fn higher_order(
        &mut self,
        name: &str,
        args: &[Expr],
        returns: &Type,
        span: Span,
    ) -> Outcome<Traced> {
        let unsupported = || {
            let message = format!("the derivative of `{name}` is not there yet");
            Fault::unsupported(message).at(span)
        };
        if crate::lower::is_laplace(name) {
            return self.laplace(name, args, span);
        }
        let Some((Expr { kind: ExprKind::Function { function, proportional }, .. }, rest)) =
            args.split_first()
        else {
            // A library's function in the place of a user's: of values that are known, or not at
            // all.
            for arg in args.iter().filter(|e| !is_function(e)) {
                if self.trace(arg)?.ids.is_some() {
                    return Err(unsupported());
                }
            }
            let value = self.host.call_higher_order(&mut self.env, name, args, returns, span);
            return value.map(Traced::known);
        };
        let values = rest.iter().filter(|e| !is_function(e)).map(|arg| self.trace(arg));
        let values: Outcome<Vec<Traced>> = values.collect();
        let values = values?;
        let function = *function;
        let located = |fault: Fault| {
            Fault { message: format!("{name}: {}", fault.message), ..fault }.at(span)
        };
        match name {
            "reduce_sum" | "reduce_sum_static" => {
                let count = values[0].value.shape().first().copied().unwrap_or(0);
                if count == 0 {
                    return Ok(Traced::known(Value::Real(0.0)));
                }
                let full_range = [Value::Int(1), Value::Int(count as i64)].map(Traced::known);
                let mut call_args = vec![values[0].clone()];
                call_args.extend(full_range);
                call_args.extend_from_slice(&values[2..]);
                let inside = [&rest[0], &rest[1], &rest[1]].into_iter().chain(&rest[2..]);
                let kinds = self.host.kinds_of_call(function, *proportional, inside);
                return self.call_user(function, call_args, kinds, span);
            }
            "map_rect" => {
                return self.map_rect(function, &values, span).map_err(|e| e.located(located));
            }
            _ => {}
        }
        if values.iter().all(|value| value.ids.is_none()) {
            let value = self.host.call_higher_order(&mut self.env, name, args, returns, span);
            return value.map(Traced::known);
        }
        // Positions of forms count the function.
        let count = values.len() + 1;
        let found = match Method::of(name, count) {
            Some(Method::Ode(form)) => self.initial_value_problem(function, &form, &values, span),
            Some(Method::Root(form)) => self.equations(function, &form, &values, span),
            Some(Method::Dae(form)) => self.differential_algebraic(function, &form, &values, span),
            Some(Method::Integrate(form)) => self.integral(function, &form, &values, span),
            _ => return Err(unsupported()),
        };
        found.map_err(|error| error.located(located))
    }

    /// `map_rect(f, phi, thetas, x_rs, x_is)`: the results of all jobs one after the other.
    fn map_rect(
        &mut self,
        function: FunctionId,
        values: &[Traced],
        span: Span,
    ) -> Result<Traced, Lost> {
        let jobs = values[1].value.shape().first().copied().unwrap_or(0);
        let (mut all, mut places) = (Vec::new(), Vec::new());
        for job in 0..jobs {
            let mut args = vec![values[0].clone()];
            for list in &values[1..] {
                if list.value.shape().first() != Some(&jobs) {
                    return Err(Fault::size("the lists of jobs differ in length").into());
                }
                let one = [Choice::One(job)];
                let ids = list.ids.as_ref().map(|ids| read_value(ids, &one)).transpose()?;
                args.push(Traced { value: read_value(&list.value, &one)?, ids });
            }
            let job_result = self.call_user(function, args, None, span)?;
            all.extend(job_result.flat());
            places.extend(job_result.flat_places());
        }
        Ok(Traced::with(Value::reals(all), &places))
    }

    fn initial_value_problem(
        &mut self,
        function: FunctionId,
        form: &OdeForm,
        values: &[Traced],
        span: Span,
    ) -> Result<Traced, Lost> {
        let setting = |k: usize| values.get(k - 1).map(|value| &value.value);
        let (method, control) = form.settings(setting).map_err(Fault::domain)?;
        let start = &values[START - 1];
        let (t0, by_t0) = as_number(&values[INITIAL_TIME - 1])?;
        let times = &values[TIMES - 1];
        let by_times = super::arithmetic::all_places(times, times.value.shape().iter().product());
        let times = numeric::real_slice(&times.value)?.into_owned();
        check_times(t0, &times).map_err(Fault::domain)?;
        let rest = &values[form.extras.start - 1..form.extras.end - 1];
        let y0 = numeric::real_slice(&start.value)?.into_owned();
        let n = y0.len();
        let by_start = start.ids.is_some() || by_t0 != 0;
        let mut system = System::new(self, function, rest, (n, by_start), true, span);
        let s = system.columns();
        let mut coupled = y0.clone();
        coupled.resize(n * (1 + s), 0.0);
        if by_start {
            (0..n).for_each(|i| coupled[n + i * s + i] = 1.0);
        }
        let mut out = vec![0.0; coupled.len() * times.len()];
        let mut work = OdeWorkspace::default();
        let solved =
            solve_ode(method, &control, &mut system, &mut work, (t0, &coupled), &times, &mut out);
        let ends = match solved {
            Ok(()) => (0..times.len()).map(|k| (times[k], &out[k * n * (1 + s)..][..n])).collect(),
            Err(_) => Vec::new(),
        };
        // How the solution moves with the times.
        let mut slopes = vec![0.0; n * (1 + ends.len())];
        let mut moved = Ok(());
        if by_t0 != 0 || by_times.iter().any(|id| *id != 0) {
            let points = std::iter::once((t0, &y0[..])).chain(ends);
            for ((t, y), slope) in points.zip(slopes.chunks_exact_mut(n.max(1))) {
                moved = moved.and_then(|()| system.slope(t, y, slope));
            }
        }
        let columns = system.finish("states")?;
        if let Err(failure) = solved.and(moved) {
            return Err(Fault::domain(solver_failure(failure)).into());
        }
        let begin = start.flat_places();
        let mut ids = Vec::with_capacity(n * times.len());
        let mut states = Vec::with_capacity(n * times.len());
        for (k, row) in out.chunks_exact((n * (1 + s)).max(1)).enumerate() {
            for i in 0..n {
                let sensitivities = &row[n + i * s..n + (i + 1) * s];
                let mut edges = Vec::with_capacity(s + 2);
                if by_start {
                    edges.extend(
                        begin.iter().map(|id| *id as Id).zip(sensitivities.iter().copied()),
                    );
                }
                let offset = if by_start { n } else { 0 };
                edges.extend(columns.iter().copied().zip(sensitivities[offset..].iter().copied()));
                edges.push((by_times[k], slopes[n * (1 + k).min(slopes.len() / n - 1) + i]));
                if by_t0 != 0 {
                    let slope: f64 = (0..n).map(|j| sensitivities[j] * slopes[j]).sum();
                    edges.push((by_t0, -slope));
                }
                ids.push(f64::from(self.tape.many(edges)));
                states.push(row[i]);
            }
        }
        let value = Value::Reals(Numbers::new([times.len(), n], states));
        Ok(Traced::with(value, &ids))
    }

    /// `solve_newton(f, guess, …)` and its like: the root moves as the implicit function theorem
    /// says.
    fn equations(
        &mut self,
        function: FunctionId,
        form: &RootForm,
        values: &[Traced],
        span: Span,
    ) -> Result<Traced, Lost> {
        let setting = |k: usize| values.get(k - 1).map(|value| &value.value);
        let control = form.settings(setting).map_err(Fault::domain)?;
        let mut x = numeric::real_slice(&values[GUESS - 1].value)?.into_owned();
        let n = x.len();
        let rest = &values[form.extras.start - 1..form.extras.end - 1];
        let mut system = System::new(self, function, rest, (n, false), false, span);
        let s = system.columns();
        let mut slopes = vec![0.0; n * s];
        let mut work = OdeWorkspace::default();
        let found = find_root(&control, &mut system, &mut work, &mut x, &mut slopes);
        let columns = system.finish("unknowns")?;
        match found {
            Ok(()) => {}
            Err(OdeFailure::NotFinite) => {
                return Err(Fault::domain("the guess is not finite").into());
            }
            Err(OdeFailure::Stopped) => return Err(Fault::domain("its function failed").into()),
            Err(_) => return Err(Fault::domain("no root was found").into()),
        }
        let mut ids = Vec::with_capacity(n);
        for i in 0..n {
            let row_slopes = slopes[i * s..(i + 1) * s].iter().copied();
            ids.push(f64::from(self.tape.many(columns.iter().copied().zip(row_slopes))));
        }
        Ok(Traced::with(Value::reals(x), &ids))
    }

    /// `integrate_1d(f, a, b, theta, x_r, x_i[, tolerance])`: the derivative by theta is the
    /// integral of the derivative, at the same points; those by the limits are the function there.
    fn integral(
        &mut self,
        function: FunctionId,
        form: &IntegralForm,
        values: &[Traced],
        span: Span,
    ) -> Result<Traced, Lost> {
        let ((a, by_a), (b, by_b)) = (as_number(&values[0])?, as_number(&values[1])?);
        let tolerance = form.tolerance(values.iter().map(|traced| &traced.value))?;
        let rest = &values[form.extras.clone()];
        let mut system = System::new(self, function, rest, (0, false), false, span);
        let mut total = vec![0.0; system.columns()];
        let mut slope = vec![0.0; total.len()];
        let mut term = |x: f64, distance: f64, weight: f64| {
            let y = system.integrand(x, distance, &mut slope)?;
            total.iter_mut().zip(&slope).for_each(|(sum, slope)| *sum += weight * slope);
            Ok(weight * y)
        };
        let found = quadrature((a, b), tolerance, &mut term);
        let mut edges = Vec::new();
        for (limit, id, sign) in [(a, by_a, -1.0), (b, by_b, 1.0)] {
            if id != 0 && limit.is_finite() && found.is_ok() {
                edges.push((id, sign * system.integrand(limit, 0.0, &mut slope)?));
            }
        }
        let columns = system.finish("values")?;
        let (integral, step) = found?;
        edges.extend(columns.into_iter().zip(total.into_iter().map(|sum| sum * step)));
        let id = self.tape.many(edges);
        Ok(Traced::number(integral, id))
    }
}

/// Why a solution is lost: a failure of the solver, or of the user's function with its place.
pub(super) enum Lost {
    Solver(Fault),
    Function(Box<RuntimeError>),
}

impl From<Fault> for Lost {
    fn from(fault: Fault) -> Self {
        Self::Solver(fault)
    }
}

impl From<Box<RuntimeError>> for Lost {
    fn from(error: Box<RuntimeError>) -> Self {
        Self::Function(error)
    }
}

impl Lost {
    fn located(self, locate: impl FnOnce(Fault) -> Box<RuntimeError>) -> Box<RuntimeError> {
        match self {
            Self::Solver(fault) => locate(fault),
            Self::Function(error) => error,
        }
    }
}

/// The user's right-hand side, equations or integrand, with derivatives by states and by the
/// numbers of its other arguments that have places.
pub(super) struct System<'t, 'p> {
    tracer: &'t mut Tracer<'p>,
    function: FunctionId,
    rest: Vec<Traced>,
    /// Places, on the outer tape, of the numbers that derivatives are taken by.
    pub(super) columns: Vec<Id>,
    pub(super) states: usize,
    /// Whether sensitivities to the initial state come first.
    pub(super) by_start: bool,
    timed: bool,
    span: Span,
    adjoints: Vec<f64>,
    jacobian: [Vec<f64>; 2],
    error: Option<Box<RuntimeError>>,
    pub(super) wrong_length: Option<usize>,
}

impl<'t, 'p> System<'t, 'p> {
    pub(super) fn new(
        tracer: &'t mut Tracer<'p>,
        function: FunctionId,
        rest: &[Traced],
        (states, by_start): (usize, bool),
        timed: bool,
        span: Span,
    ) -> Self {
        let places = rest.iter().flat_map(Traced::flat_places);
        let columns: Vec<Id> = places.map(|id| id as Id).filter(|id| *id != 0).collect();
        let s = columns.len() + if by_start { states } else { 0 };
        let jacobian = [vec![0.0; states * states], vec![0.0; states * s]];
        let (rest, adjoints) = (rest.to_vec(), Vec::new());
        Self {
            tracer,
            function,
            rest,
            columns,
            states,
            by_start,
            timed,
            span,
            adjoints,
            jacobian,
            error: None,
            wrong_length: None,
        }
    }

    /// Gives the places of columns back, or the user's function's failure.
    pub(super) fn finish(self, unit: &str) -> Result<Vec<Id>, Lost> {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        if let Some(found) = self.wrong_length {
            let states = self.states;
            let what = format!("its function gives {found} elements for {states} {unit}");
            return Err(Fault::size(what).into());
        }
        Ok(self.columns)
    }

    /// Runs the function on a tape of its own, whose first numbers are states and columns.
    pub(super) fn run<T>(
        &mut self,
        leading: Vec<Value>,
        states: &[&[f64]],
        read: impl FnOnce(&Tape, &Traced, &mut Vec<f64>) -> T,
    ) -> Option<T> {
        let mut tape = std::mem::take(&mut self.tracer.inner);
        tape.clear();
        let mut args: Vec<Traced> = leading.into_iter().map(Traced::known).collect();
        for y in states {
            let places: Vec<f64> = y.iter().map(|_| f64::from(tape.leaf())).collect();
            args.push(Traced::with(Value::reals(y.to_vec()), &places));
        }
        for value in &self.rest {
            let ids = value.ids.as_ref().map(|ids| {
                let outer = value.flat_places();
                let mut outer = outer.iter();
                in_form(ids, &mut || match outer.next() {
                    Some(id) if *id != 0.0 => f64::from(tape.leaf()),
                    _ => 0.0,
                })
            });
            args.push(Traced { value: value.value.clone(), ids });
        }
        let outer = std::mem::replace(&mut self.tracer.tape, tape);
        // Variables outside of the function have places of the outer tape.
        let collapse_after = std::mem::replace(&mut self.tracer.collapse_after, usize::MAX);
        let result = self.tracer.call_user(self.function, args, None, self.span);
        let tape = std::mem::replace(&mut self.tracer.tape, outer);
        self.tracer.collapse_after = collapse_after;
        let found = match result {
            Ok(result) => Some(read(&tape, &result, &mut self.adjoints)),
            Err(error) => {
                self.error = Some(error);
                None
            }
        };
        self.tracer.inner = tape;
        found
    }

    /// An integrand at a point, with its derivatives by the columns.
    fn integrand(&mut self, x: f64, distance: f64, slope: &mut [f64]) -> Result<f64, Fault> {
        let leading = vec![Value::Real(x), Value::Real(distance)];
        let found = self.run(leading, &[], |tape, result, adjoints| {
            let (y, id) = result.as_number().unwrap_or((f64::NAN, 0));
            tape.sweep(id, adjoints);
            slope.copy_from_slice(&adjoints[1..=slope.len()]);
            y
        });
        found.ok_or_else(|| Fault::domain("its function failed"))
    }
}

impl OdeSystem for System<'_, '_> {
    fn states(&self) -> usize {
        self.states
    }

    fn columns(&self) -> usize {
        self.columns.len() + if self.by_start { self.states } else { 0 }
    }

    fn slope(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), OdeFailure> {
        let leading = if self.timed { vec![Value::Real(t)] } else { Vec::new() };
        let slope = self.run(leading, &[y], |_, result, _| result.flat());
        let slope = slope.ok_or(OdeFailure::Stopped)?;
        if slope.len() != dy.len() {
            self.wrong_length = Some(slope.len());
            return Err(OdeFailure::Stopped);
        }
        dy.copy_from_slice(&slope);
        Ok(())
    }

    fn jacobian(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &mut [f64],
        jacobian: &mut [f64],
        forcing: &mut [f64],
    ) -> Result<(), OdeFailure> {
        let n = self.states;
        let offset = if self.by_start { n } else { 0 };
        let column_count = self.columns.len();
        let s = column_count + offset;
        let leading = if self.timed { vec![Value::Real(t)] } else { Vec::new() };
        let length = self.run(leading, &[y], |tape, result, adjoints| {
            let slope = result.flat();
            if slope.len() != n {
                return slope.len();
            }
            dy.copy_from_slice(&slope);
            for (i, id) in result.flat_places().into_iter().enumerate() {
                tape.sweep(id as Id, adjoints);
                jacobian[i * n..(i + 1) * n].copy_from_slice(&adjoints[1..=n]);
                let row = &mut forcing[i * s..(i + 1) * s];
                row[..offset].fill(0.0);
                row[offset..].copy_from_slice(&adjoints[1 + n..1 + n + column_count]);
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

    fn coupled(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), OdeFailure> {
        let (n, s) = (self.states, self.columns());
        let (y, sensitivities) = x.split_at(n);
        let (dy, changes) = dx.split_at_mut(n);
        let [mut jacobian, mut forcing] = std::mem::take(&mut self.jacobian);
        let done = self.jacobian(t, y, dy, &mut jacobian, &mut forcing);
        if done.is_ok() {
            for i in 0..n {
                for c in 0..s {
                    let flow = (0..n).map(|j| jacobian[i * n + j] * sensitivities[j * s + c]);
                    changes[i * s + c] = forcing[i * s + c] + flow.sum::<f64>();
                }
            }
        }
        self.jacobian = [jacobian, forcing];
        done
    }
}
