//! Functions that take functions, on values: sums over parts, initial value problems, integrals, roots.

use exmc_math as m;
use exmc_math::{OdeControl, OdeFailure, OdeMethod, OdeSystem, OdeWorkspace, solve_ode};

use crate::host::environment::Environment;
use crate::host::error::{Fault, Outcome, RuntimeError};
use crate::host::interpreter::Interpreter;
use crate::host::library::linear::Lu;
use crate::host::numeric;
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
        let mut back = Callback { host: self, env, function, span, error: None };
        let result = match name {
            "reduce_sum" | "reduce_sum_static" => reduce_sum(&mut back, &values),
            "map_rect" => map_rect(&mut back, &values),
            "integrate_1d" => integrate_1d(&mut back, &values),
            "solve_newton" | "solve_powell" => solve(&mut back, &values, 1),
            "solve_newton_tol" | "solve_powell_tol" => solve(&mut back, &values, 4),
            "algebra_solver" | "algebra_solver_newton" => solve_old(&mut back, &values),
            _ => match ode_call(name, values) {
                Some(call) => call.and_then(|call| initial_value_problem(&mut back, &call)),
                None => return Err(unsupported()),
            },
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

/// An initial value problem as all interfaces have it.
struct OdeCall {
    method: OdeMethod,
    control: OdeControl,
    start: Value,
    t0: f64,
    times: Vec<f64>,
    rest: Vec<Value>,
}

/// The problem that a call asks to solve; `None` for other names.
fn ode_call(name: &str, values: Vec<Value>) -> Option<Result<OdeCall, Fault>> {
    let old = name.strip_prefix("integrate_ode");
    let (method, tolerances) = if let Some(method) = old {
        (
            OdeMethod::from_name(method.trim_start_matches('_'))
                .or((method.is_empty()).then_some(OdeMethod::Rk45))?,
            false,
        )
    } else if name == "ode_adjoint_tol_ctl" {
        (OdeMethod::Bdf, true)
    } else {
        let method = name.strip_prefix("ode_")?;
        let plain = method.trim_end_matches("_tol");
        (OdeMethod::from_name(plain)?, plain.len() < method.len())
    };
    Some(read_ode_call(name, method, tolerances, old.is_some(), values))
}

fn read_ode_call(
    name: &str,
    method: OdeMethod,
    tolerances: bool,
    old: bool,
    mut values: Vec<Value>,
) -> Result<OdeCall, Fault> {
    let control = |values: &[Value], k: usize| -> Result<OdeControl, Fault> {
        let max_steps = numeric::real(&values[k + 2])?;
        if !(max_steps >= 1.0) {
            return Err(Fault::domain(format!(
                "max_num_steps is {max_steps}, but must be positive"
            )));
        }
        Ok(OdeControl {
            relative: numeric::real(&values[k])?,
            absolute: numeric::real(&values[k + 1])?,
            max_steps: max_steps as u64,
        })
    };
    // The defaults of Stan's functions reference.
    let default = match method {
        OdeMethod::Rk45 | OdeMethod::Ckrk => {
            OdeControl { relative: 1e-6, absolute: 1e-6, max_steps: 1_000_000 }
        }
        _ => OdeControl { relative: 1e-10, absolute: 1e-10, max_steps: 100_000_000 },
    };
    let (start, t0) = (values[0].clone(), numeric::real(&values[1])?);
    let times = numeric::real_slice(&values[2])?.into_owned();
    let (method, control, rest) = if name == "ode_adjoint_tol_ctl" {
        let absolute =
            numeric::real_slice(&values[4])?.iter().copied().fold(f64::INFINITY, f64::min);
        let control = OdeControl {
            relative: numeric::real(&values[3])?,
            absolute,
            max_steps: numeric::real(&values[9])?.max(1.0) as u64,
        };
        let method =
            if numeric::int(&values[12])? == 1 { OdeMethod::Adams } else { OdeMethod::Bdf };
        (method, control, values.split_off(14))
    } else if old {
        let control = if values.len() > 6 { control(&values, 6)? } else { default };
        values.truncate(6);
        (method, control, values.split_off(3))
    } else if tolerances {
        let control = control(&values, 3)?;
        (method, control, values.split_off(6))
    } else {
        (method, default, values.split_off(3))
    };
    Ok(OdeCall { method, control, start, t0, times, rest })
}

/// The user's right-hand side.
struct System<'b, 'h, 'p> {
    back: &'b mut Callback<'h, 'p>,
    rest: &'b [Value],
    states: usize,
    /// Whether its value had another length.
    wrong_length: Option<usize>,
}

impl OdeSystem for System<'_, '_, '_> {
    fn states(&self) -> usize {
        self.states
    }

    fn slope(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), OdeFailure> {
        let mut args = vec![Value::Real(t), Value::reals(y.to_vec())];
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

fn initial_value_problem(back: &mut Callback<'_, '_>, call: &OdeCall) -> Result<Value, Fault> {
    let start = numeric::real_slice(&call.start)?.into_owned();
    let (states, times) = (start.len(), &call.times);
    // Stan refuses what the solver would let pass: output at the start itself.
    if times.first().is_some_and(|first| *first <= call.t0) {
        let (first, t0) = (times[0], call.t0);
        return Err(Fault::domain(format!("the first time is {first}, but must be after {t0}")));
    }
    let mut out = vec![0.0; states * times.len()];
    let mut system = System { back, rest: &call.rest, states, wrong_length: None };
    let mut work = OdeWorkspace::default();
    let solved = solve_ode(
        call.method,
        &call.control,
        &mut system,
        &mut work,
        (call.t0, &start),
        times,
        &mut out,
    );
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

/// `solve_newton(f, guess, …)` and its like; with tolerances, these come before the function's arguments.
fn solve(back: &mut Callback<'_, '_>, values: &[Value], first: usize) -> Result<Value, Fault> {
    let (tolerance, most) = if first == 4 {
        (numeric::real(&values[2])?, numeric::int(&values[3])?)
    } else {
        (1e-6, 200)
    };
    root(back, &values[0], &values[first..], tolerance, most)
}

/// `algebra_solver(f, guess, theta, x_r, x_i[, tolerances])`.
fn solve_old(back: &mut Callback<'_, '_>, values: &[Value]) -> Result<Value, Fault> {
    let tolerance = values.get(5).map_or(Ok(1e-6), numeric::real)?;
    let most = values.get(6).map_or(Ok(200), |v| numeric::real(v).map(|x| x as i64))?;
    root(back, &values[0], &values[1..4], tolerance, most)
}

/// A root by Newton's method with a Jacobian of differences and halved steps; one more step than the
/// tolerance asks for is taken, so that the answer does not depend on the start.
fn root(
    back: &mut Callback<'_, '_>,
    guess: &Value,
    rest: &[Value],
    tolerance: f64,
    most: i64,
) -> Result<Value, Fault> {
    let mut x = numeric::real_slice(guess)?.into_owned();
    let n = x.len();
    let mut at = |x: &[f64]| -> Result<Vec<f64>, Fault> {
        let mut args = vec![Value::reals(x.to_vec())];
        args.extend_from_slice(rest);
        let value = back.call(args).ok_or_else(stopped)?;
        if value.len() == n {
            return Ok(value);
        }
        Err(Fault::size(format!("its function gives {} elements for {n} unknowns", value.len())))
    };
    let size = |f: &[f64]| f.iter().map(|f| f * f).sum::<f64>().sqrt();
    let mut f = at(&x)?;
    // Where truncation and rounding of central differences balance.
    let difference = m::cbrt(f64::EPSILON);
    let mut polished = 0;
    for _ in 0..most.max(1) {
        if size(&f) <= tolerance {
            polished += 1;
            if polished > 3 || size(&f) == 0.0 {
                break;
            }
        }
        let mut jacobian = vec![0.0; n * n];
        for j in 0..n {
            let mut moved = x.clone();
            moved[j] += difference * x[j].abs().max(1.0);
            let up = at(&moved)?;
            let high = moved[j];
            moved[j] = 2.0 * x[j] - high;
            let down = at(&moved)?;
            for i in 0..n {
                jacobian[i * n + j] = (up[i] - down[i]) / (high - moved[j]);
            }
        }
        let step = Lu::new(&jacobian, n).solve(&f, 1);
        let (mut length, before) = (1.0, size(&f));
        loop {
            let next: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x - length * s).collect();
            if next.iter().all(|x| x.is_finite()) {
                let there = at(&next)?;
                if size(&there) < before || length < 1e-10 {
                    (x, f) = (next, there);
                    break;
                }
            }
            length *= 0.5;
            if length < 1e-12 {
                break;
            }
        }
        if polished > 0 && size(&f) >= before {
            break;
        }
    }
    if size(&f) <= tolerance {
        return Ok(Value::reals(x));
    }
    Err(Fault::domain(format!("no root was found; the best has size {}", size(&f))))
}
