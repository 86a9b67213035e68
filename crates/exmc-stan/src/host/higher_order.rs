//! Functions that take functions, on values: sums over parts, initial value problems, integrals,
//! roots.

use std::ops::Range;

use exmc_math as m;
use exmc_math::{OdeFailure, OdeSystem, OdeWorkspace, find_root, solve_ode};

use crate::dae::DaeForm;
use crate::equations::{GUESS, RootForm};
use crate::host::dae::dae;
use crate::host::environment::Environment;
use crate::host::error::{Fault, FaultKind, Outcome, RuntimeError};
use crate::host::interpreter::Interpreter;
use crate::host::numeric;
use crate::ode::{INITIAL_TIME, OdeForm, START, TIMES, check_times};
use crate::source::Span;
use crate::typed::{Expr, ExprKind, FunctionId, Type};
use crate::value::{Numbers, Value};

/// A user's function with the environment that its calls run in. The first error stops the
/// numerical method and is kept.
pub(super) struct Callback<'h, 'p> {
    host: &'h mut Interpreter<'p>,
    env: &'h mut Environment,
    function: FunctionId,
    span: Span,
    error: Option<Box<RuntimeError>>,
}

impl Callback<'_, '_> {
    /// The elements of the function's value.
    pub(super) fn call(&mut self, args: Vec<Value>) -> Option<Vec<f64>> {
        let value = self.host.call_user(self.env, self.function, args, self.span);
        let elements = value.and_then(|value| {
            let slice = numeric::real_slice(&value).map_err(|fault| fault.at(self.span))?;
            Ok(slice.into_owned())
        });
        elements.map_err(|error| self.error = Some(error)).ok()
    }
}

/// What a function that takes a function does. A name that has none here cannot be called on
/// values.
pub(crate) enum Method {
    ReduceSum,
    MapRect,
    Integrate(IntegralForm),
    Ode(OdeForm),
    Root(RootForm),
    Dae(DaeForm),
    Laplace,
}

/// Where a form of `integrate_1d` has its arguments, behind the function.
pub(crate) struct IntegralForm {
    tolerance: Option<usize>,
    /// What the function gets behind the point and its distance to the nearer limit.
    pub(crate) extras: Range<usize>,
}

impl IntegralForm {
    /// That of a name with so many arguments, the function among them.
    fn of(name: &str, count: usize) -> Option<Self> {
        let count = count.saturating_sub(1);
        match name {
            "integrate_1d" => {
                Some(Self { tolerance: (count > 5).then_some(5), extras: 2..count.min(5) })
            }
            "integrate_1d_gauss_kronrod" | "integrate_1d_double_exponential" => {
                Some(Self { tolerance: None, extras: 2..count })
            }
            "integrate_1d_gauss_kronrod_tol" | "integrate_1d_double_exponential_tol" => {
                Some(Self { tolerance: Some(2), extras: 5..count })
            }
            _ => None,
        }
    }

    /// The relative tolerance among the values behind the function.
    pub(crate) fn tolerance<'v>(
        &self,
        mut values: impl Iterator<Item = &'v Value>,
    ) -> Result<f64, Fault> {
        let value = self.tolerance.and_then(|k| values.nth(k));
        value.map_or(Ok(f64::EPSILON.sqrt()), numeric::real)
    }
}

impl Method {
    /// That of a name with so many arguments, the function among them.
    pub(crate) fn of(name: &str, count: usize) -> Option<Self> {
        match name {
            "reduce_sum" | "reduce_sum_static" => Some(Self::ReduceSum),
            "map_rect" => Some(Self::MapRect),
            _ if crate::lower::is_laplace(name) => Some(Self::Laplace),
            _ if name.starts_with("integrate_1d") => {
                IntegralForm::of(name, count).map(Self::Integrate)
            }
            _ => OdeForm::of(name, count)
                .map(Self::Ode)
                .or_else(|| RootForm::of(name, count).map(Self::Root))
                .or_else(|| DaeForm::of(name, count).map(Self::Dae)),
        }
    }
}

impl<'p> Interpreter<'p> {
    /// A call of a library function one of whose arguments is a function's name.
    pub(crate) fn call_higher_order(
        &mut self,
        env: &mut Environment,
        name: &str,
        args: &[Expr],
        _returns: &Type,
        span: Span,
    ) -> Outcome<Value> {
        let unsupported = || {
            let message = format!("the function `{name}` is not there yet for known values");
            Fault::unsupported(message).at(span)
        };
        if crate::lower::is_laplace(name) {
            return self.laplace(env, name, args, span);
        }
        let (Some((Expr { kind: ExprKind::Function { function, .. }, .. }, rest)), Some(method)) =
            (args.split_first(), Method::of(name, args.len()))
        else {
            return Err(unsupported());
        };
        let mut values = Vec::with_capacity(rest.len());
        for arg in rest {
            values.push(self.value(env, arg)?);
        }
        let function = *function;
        if let ("reduce_sum" | "reduce_sum_static", [sliced, grain, others @ ..]) = (name, rest) {
            let proportional =
                matches!(args[0].kind, ExprKind::Function { proportional: true, .. });
            let inside = [sliced, grain, grain].into_iter().chain(others);
            self.announce_call(function, proportional, inside);
        }
        let mut back = Callback { host: self, env, function, span, error: None };
        let result = match method {
            Method::ReduceSum => reduce_sum(&mut back, &values),
            Method::MapRect => map_rect(&mut back, &values),
            Method::Integrate(form) => integrate_1d(&mut back, &form, &values),
            Method::Ode(form) => initial_value_problem(&mut back, &form, &values),
            Method::Root(form) => equations(&mut back, &form, &values),
            Method::Dae(form) => dae(&mut back, &form, &values),
            Method::Laplace => return Err(unsupported()),
        };
        match (back.error.take(), result) {
            (Some(error), _) => Err(error),
            (None, result) => result.map_err(|fault| {
                Fault { message: format!("{name}: {}", fault.message), ..fault }.at(span)
            }),
        }
    }
}

impl Interpreter<'_> {
    /// `laplace_marginal…` and `laplace_latent_…` of known values, by the graph that the density
    /// has.
    fn laplace(
        &mut self,
        env: &mut Environment,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Outcome<Value> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            let is_function =
                matches!(arg.kind, ExprKind::Function { .. } | ExprKind::LibraryFunction(_));
            values.push(if is_function { None } else { Some(self.value(env, arg)?) });
        }
        self.laplace_of(name, args, &values, span)
    }

    /// The same, given the arguments' values: none for functions.
    pub(crate) fn laplace_of(
        &mut self,
        name: &str,
        args: &[Expr],
        values: &[Option<Value>],
        span: Span,
    ) -> Outcome<Value> {
        let found = crate::lower::laplace_on_values(self.program(), name, args, values, span);
        let [marginal, mode, covariance] = found.map_err(|diagnostic| refused(*diagnostic))?;
        if name.starts_with("laplace_marginal") {
            return Ok(marginal);
        }
        let types = [&Type::Vector, &Type::Matrix];
        let drawn = if crate::lower::is_laplace_solve(name) {
            let factor = [covariance];
            let factor =
                self.call_library("cholesky_decompose", &factor, &types[1..], &Type::Matrix);
            factor.map(|factor| Value::Tuple(vec![mode, factor]))
        } else {
            self.call_library("multi_normal_rng", &[mode, covariance], &types, &Type::Vector)
        };
        drawn.map_err(|fault| fault.at(span))
    }
}

/// What the lowering of a call says, as an error of the run.
pub(crate) fn refused(diagnostic: crate::diagnostic::Diagnostic) -> Box<RuntimeError> {
    let kind = match diagnostic.class {
        crate::diagnostic::Class::Unsupported => FaultKind::Unsupported,
        _ => FaultKind::Domain,
    };
    Fault::new(kind, diagnostic.message).at(diagnostic.span)
}

/// What a numerical method returns when the callback has failed; the callback's own error is
/// reported.
fn stopped() -> Fault {
    Fault::domain("its function failed")
}

/// `reduce_sum(f, x, grainsize, …)`: the sum over parts of x, here one part.
fn reduce_sum(back: &mut Callback<'_, '_>, values: &[Value]) -> Result<Value, Fault> {
    let count = values[0].shape().first().copied().unwrap_or(0);
    if count == 0 {
        return Ok(Value::Real(0.0));
    }
    let mut args = vec![values[0].clone(), Value::Int(1), Value::Int(count as i64)];
    args.extend_from_slice(&values[2..]);
    let sum = back.call(args).ok_or_else(stopped)?;
    Ok(Value::Real(sum[0]))
}

/// `map_rect(f, phi, thetas, x_rs, x_is)`: the results of all jobs one after the other.
fn map_rect(back: &mut Callback<'_, '_>, values: &[Value]) -> Result<Value, Fault> {
    use crate::host::expression::read_value;
    use crate::host::index::Choice;
    let jobs = values[1].shape().first().copied().unwrap_or(0);
    let mut all = Vec::new();
    for job in 0..jobs {
        let mut args = vec![values[0].clone()];
        for list in &values[1..] {
            if list.shape().first() != Some(&jobs) {
                return Err(Fault::size("the lists of jobs differ in length"));
            }
            args.push(read_value(list, &[Choice::One(job)])?);
        }
        all.extend(back.call(args).ok_or_else(stopped)?);
    }
    Ok(Value::reals(all))
}

/// The user's right-hand side or equations.
struct System<'b, 'h, 'p> {
    back: &'b mut Callback<'h, 'p>,
    rest: &'b [Value],
    states: usize,
    /// Whether the function gets the time.
    timed: bool,
    /// Whether its value had another length.
    wrong_length: Option<usize>,
}

impl OdeSystem for System<'_, '_, '_> {
    fn states(&self) -> usize {
        self.states
    }

    fn slope(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), OdeFailure> {
        let mut args = Vec::with_capacity(2 + self.rest.len());
        if self.timed {
            args.push(Value::Real(t));
        }
        args.push(Value::reals(y.to_vec()));
        args.extend_from_slice(self.rest);
        let slope = self.back.call(args).ok_or(OdeFailure::Stopped)?;
        if slope.len() != dy.len() {
            self.wrong_length = Some(slope.len());
            return Err(OdeFailure::Stopped);
        }
        dy.copy_from_slice(&slope);
        Ok(())
    }

    fn coupled(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), OdeFailure> {
        self.slope(t, x, dx)
    }
}

fn initial_value_problem(
    back: &mut Callback<'_, '_>,
    form: &OdeForm,
    values: &[Value],
) -> Result<Value, Fault> {
    let (method, control) = form.settings(|k| values.get(k - 1)).map_err(Fault::domain)?;
    let start = numeric::real_slice(&values[START - 1])?.into_owned();
    let t0 = numeric::real(&values[INITIAL_TIME - 1])?;
    let times = numeric::real_slice(&values[TIMES - 1])?.into_owned();
    check_times(t0, &times).map_err(Fault::domain)?;
    let states = start.len();
    let rest = &values[form.extras.start - 1..form.extras.end - 1];
    let mut out = vec![0.0; states * times.len()];
    let mut system = System { back, rest, states, timed: true, wrong_length: None };
    let mut work = OdeWorkspace::default();
    let solved =
        solve_ode(method, &control, &mut system, &mut work, (t0, &start), &times, &mut out);
    if let Some(found) = system.wrong_length {
        return Err(Fault::size(format!(
            "its function gives {found} elements for {states} states"
        )));
    }
    match solved {
        Ok(()) => Ok(Value::Reals(Numbers::new([times.len(), states], out))),
        Err(failure) => Err(Fault::domain(solver_failure(failure))),
    }
}

/// Why there is no solution.
pub(crate) fn solver_failure(failure: OdeFailure) -> &'static str {
    match failure {
        OdeFailure::TooManySteps => "more steps than allowed between two times",
        OdeFailure::NotFinite => "the start, a time or a tolerance is not finite and positive",
        OdeFailure::TimesNotSorted => "the times are not sorted",
        OdeFailure::StepTooSmall => "the solution leaves the finite numbers",
        OdeFailure::Stopped => "its function failed",
    }
}

/// `solve_newton(f, guess, …)` and its like.
fn equations(
    back: &mut Callback<'_, '_>,
    form: &RootForm,
    values: &[Value],
) -> Result<Value, Fault> {
    let control = form.settings(|k| values.get(k - 1)).map_err(Fault::domain)?;
    let mut x = numeric::real_slice(&values[GUESS - 1])?.into_owned();
    let states = x.len();
    let rest = &values[form.extras.start - 1..form.extras.end - 1];
    let mut system = System { back, rest, states, timed: false, wrong_length: None };
    let mut work = OdeWorkspace::default();
    let found = find_root(&control, &mut system, &mut work, &mut x, &mut []);
    if let Some(found) = system.wrong_length {
        return Err(Fault::size(format!(
            "its function gives {found} elements for {states} unknowns"
        )));
    }
    match found {
        Ok(()) => Ok(Value::reals(x)),
        Err(OdeFailure::NotFinite) => Err(Fault::domain("the guess is not finite")),
        Err(OdeFailure::Stopped) => Err(stopped()),
        Err(_) => Err(Fault::domain("no root was found")),
    }
}

/// `integrate_1d(f, a, b, theta, x_r, x_i[, tolerance])`, and the forms that name a rule.
fn integrate_1d(
    back: &mut Callback<'_, '_>,
    form: &IntegralForm,
    values: &[Value],
) -> Result<Value, Fault> {
    let (a, b) = (numeric::real(&values[0])?, numeric::real(&values[1])?);
    let tolerance = form.tolerance(values.iter())?;
    let rest = &values[form.extras.clone()];
    let mut term = |x: f64, distance: f64, weight: f64| {
        let mut args = vec![Value::Real(x), Value::Real(distance)];
        args.extend_from_slice(rest);
        Ok(weight * back.call(args).ok_or_else(stopped)?[0])
    };
    quadrature((a, b), tolerance, &mut term).map(|(integral, _)| Value::Real(integral))
}

/// The integral between limits by the tanh-sinh rule and its forms for infinite limits, halving the
/// step until the sum stands still; and that step. `term` gives its weight times the function, at a
/// point with the distance to the nearer limit (NaN without one), as Stan's function gets it.
///
/// **Reference**: Takahasi and Mori 1974.
pub(crate) fn quadrature(
    (a, b): (f64, f64),
    tolerance: f64,
    term: &mut dyn FnMut(f64, f64, f64) -> Result<f64, Fault>,
) -> Result<(f64, f64), Fault> {
    if !(a <= b) {
        return Err(Fault::domain(format!("cannot integrate from {a} to {b}")));
    }
    if a == b {
        return Ok((0.0, 0.0));
    }
    // Point, distance to the nearer limit (NaN without one), weight.
    let point = |t: f64| -> (f64, f64, f64) {
        let s = std::f64::consts::FRAC_PI_2 * m::sinh(t);
        let ds = std::f64::consts::FRAC_PI_2 * m::cosh(t);
        match (a.is_finite(), b.is_finite()) {
            (true, true) => {
                let half = 0.5 * (b - a);
                // 1 - |tanh s| without cancellation.
                let rest = 2.0 / (1.0 + m::exp(2.0 * s.abs()));
                let x = if s < 0.0 { a + half * rest } else { b - half * rest };
                let distance = if s < 0.0 { half * rest } else { -half * rest };
                let c = m::cosh(s);
                (x, distance, half * ds / (c * c))
            }
            (true, false) => (a + m::exp(s), f64::NAN, m::exp(s) * ds),
            (false, true) => (b - m::exp(s), f64::NAN, m::exp(s) * ds),
            (false, false) => (m::sinh(s), f64::NAN, m::cosh(s) * ds),
        }
    };
    let mut term = |t: f64| -> Result<f64, Fault> {
        let (x, distance, weight) = point(t);
        if weight == 0.0 || !weight.is_finite() || x <= a || x >= b {
            return Ok(0.0);
        }
        let value = term(x, distance, weight)?;
        if value.is_nan() {
            return Err(Fault::domain(format!("its function is not a number at {x}")));
        }
        Ok(value)
    };
    const REACH: f64 = 6.5;
    let mut step = 0.5;
    let mut sum = term(0.0)?;
    for k in 1..=(REACH / step) as i32 {
        sum += term(step * f64::from(k))? + term(-step * f64::from(k))?;
    }
    let mut before = sum * step;
    for _ in 0..9 {
        step *= 0.5;
        let mut k = 1.0;
        while k * step <= REACH {
            sum += term(k * step)? + term(-k * step)?;
            k += 2.0;
        }
        let now = sum * step;
        if (now - before).abs() <= tolerance * now.abs() {
            return Ok((now, step));
        }
        before = now;
    }
    Err(Fault::domain("the integral does not converge to the tolerance"))
}
