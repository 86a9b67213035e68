//! Functions that take functions, on values: sums over parts, initial value problems, integrals, roots.

use exmc_math as m;
use exmc_math::{OdeFailure, OdeSystem, OdeWorkspace, find_root, solve_ode};

use crate::equations::{GUESS, RootForm};
use crate::host::environment::Environment;
use crate::host::error::{Fault, Outcome, RuntimeError};
use crate::host::interpreter::Interpreter;
use crate::host::numeric;
use crate::ode::{INITIAL_TIME, OdeForm, START, TIMES, check_times};
use crate::source::Span;
use crate::typed::{Expr, ExprKind, FunctionId, Type};
use crate::value::{Numbers, Value};

/// A user's function with the environment that its calls run in. The first error stops the numerical method
/// and is kept.
struct Callback<'h, 'p> {
    host: &'h mut Interpreter<'p>,
    env: &'h mut Environment,
    function: FunctionId,
    span: Span,
    error: Option<Box<RuntimeError>>,
}

impl Callback<'_, '_> {
    /// The elements of the function's value.
    fn call(&mut self, args: Vec<Value>) -> Option<Vec<f64>> {
        let value = self.host.call_user(self.env, self.function, args, self.span);
        let elements = value.and_then(|value| {
            let slice = numeric::real_slice(&value).map_err(|fault| fault.at(self.span))?;
            Ok(slice.into_owned())
        });
        elements.map_err(|error| self.error = Some(error)).ok()
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
        let Some((Expr { kind: ExprKind::Function { function, .. }, .. }, rest)) =
            args.split_first()
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
        let result = match name {
            "reduce_sum" | "reduce_sum_static" => reduce_sum(&mut back, &values),
            "map_rect" => map_rect(&mut back, &values),
            "integrate_1d" => integrate_1d(&mut back, &values),
            _ => {
                // Positions of forms count the function.
                let count = values.len() + 1;
                match (OdeForm::of(name, count), RootForm::of(name, count)) {
                    (Some(form), _) => initial_value_problem(&mut back, &form, &values),
                    (_, Some(form)) => equations(&mut back, &form, &values),
                    _ => return Err(unsupported()),
                }
            }
        };
        match (back.error.take(), result) {
            (Some(error), _) => Err(error),
            (None, result) => result.map_err(|fault| {
                Fault { message: format!("{name}: {}", fault.message), ..fault }.at(span)
            }),
        }
    }
}

/// What a numerical method returns when the callback has failed; the callback's own error is reported.
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
        Err(failure) => Err(Fault::domain(match failure {
            OdeFailure::TooManySteps => "more steps than allowed between two times",
            OdeFailure::NotFinite => "the start, a time or a tolerance is not finite and positive",
            OdeFailure::TimesNotSorted => "the times are not sorted",
            OdeFailure::StepTooSmall => "the solution leaves the finite numbers",
            OdeFailure::Stopped => "its function failed",
        })),
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

/// `integrate_1d(f, a, b, theta, x_r, x_i[, tolerance])` by the tanh-sinh rule and its forms for infinite
/// limits, halving the step until the sum stands still.
///
/// **Reference**: Takahasi and Mori 1974; the function gets the distance to the nearer limit as Stan's does.
fn integrate_1d(back: &mut Callback<'_, '_>, values: &[Value]) -> Result<Value, Fault> {
    let (a, b) = (numeric::real(&values[0])?, numeric::real(&values[1])?);
    let tolerance = values.get(5).map_or(Ok(f64::EPSILON.sqrt()), numeric::real)?;
    if !(a <= b) {
        return Err(Fault::domain(format!("cannot integrate from {a} to {b}")));
    }
    if a == b {
        return Ok(Value::Real(0.0));
    }
    let rest = &values[2..values.len().min(5)];
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
        let mut args = vec![Value::Real(x), Value::Real(distance)];
        args.extend_from_slice(rest);
        let value = back.call(args).ok_or_else(stopped)?[0];
        if value.is_nan() {
            return Err(Fault::domain(format!("its function is not a number at {x}")));
        }
        Ok(weight * value)
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
            return Ok(Value::Real(now));
        }
        before = now;
    }
    Err(Fault::domain("the integral does not converge to the tolerance"))
}
