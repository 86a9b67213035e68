//! Integrals over one variable: the user's function is walked once with all points of a fixed rule
//! as lanes, and its values are summed.
//!
//! The tanh-sinh rule and its forms for infinite limits, with a step so small that integrands
//! without a peak much narrower than the interval are exact to rounding. The sum over every second
//! point tells how far the rule has converged: its error is about the square root of the whole
//! sum's. **Reference**: Takahasi and Mori 1974.

use std::f64::consts::FRAC_PI_2;

use exmc_graph::{Dependence, Graph, NodeId, Reduction, Tensor, evaluate};
use exmc_math::{cosh, exp, sinh};

use super::ode::real_node;
use crate::library::Check;
use crate::lower::Lowering;
use crate::lower::abort::{LowerResult, runtime, unsupported};
use crate::lower::variables::lane_value::{LaneValue, from_tensor, real_value};
use crate::source::Span;
use crate::typed::{Expr, ExprKind, FunctionId, Type};
use crate::value::Value;

/// Distance between points before they are transformed.
const STEP: f64 = 1.0 / 64.0;
/// Points reach to here on either side: beyond, weights are below what rounds to nothing.
const REACH: f64 = 6.5;
/// Points nearer to a limit than this (share of a finite interval) are left out: they round to the
/// limit itself.
const NEAREST: f64 = 1e-17;
/// Points farther out are left out: powers of them would overflow, and zero times infinity has no
/// derivative.
const FARTHEST: f64 = 1e75;
/// The relative tolerance that Stan has by default.
const TOLERANCE: f64 = 1e-8;

/// Where a limit lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Finite,
    Infinite,
}

/// Points of a rule: $x = $ base $+$ scale $\cdot$ offset, with weights that are to be multiplied
/// by the scale too.
struct Points {
    /// Whether the base is the lower limit.
    from_lower: Vec<f64>,
    offsets: Vec<f64>,
    weights: Vec<f64>,
    /// Whether the point belongs to the rule of twice the step.
    coarse: Vec<f64>,
}

impl Points {
    /// The rule between limits, as shares of the interval where both are finite.
    fn between(lower: Limit, upper: Limit) -> Self {
        let count = (REACH / STEP) as i32;
        let mut points =
            Self { from_lower: vec![], offsets: vec![], weights: vec![], coarse: vec![] };
        for k in -count..=count {
            let t = STEP * f64::from(k);
            let (s, ds) = (FRAC_PI_2 * sinh(t), FRAC_PI_2 * cosh(t));
            let (from_lower, offset, weight) = match (lower, upper) {
                (Limit::Finite, Limit::Finite) => {
                    // (1 - |tanh s|) / 2 without cancellation.
                    let rest = 1.0 / (1.0 + exp(2.0 * s.abs()));
                    let c = cosh(s);
                    (s < 0.0, if s < 0.0 { rest } else { -rest }, 0.5 * ds / (c * c))
                }
                (Limit::Finite, Limit::Infinite) => (true, exp(s), exp(s) * ds),
                (Limit::Infinite, Limit::Finite) => (false, -exp(s), exp(s) * ds),
                (Limit::Infinite, Limit::Infinite) => (true, sinh(s), cosh(s) * ds),
            };
            let near = offset.abs() < NEAREST && !(lower == upper && lower == Limit::Infinite);
            let far = offset.abs() > FARTHEST;
            if near || far || !offset.is_finite() || !weight.is_finite() || weight == 0.0 {
                continue;
            }
            points.from_lower.push(f64::from(u8::from(from_lower)));
            points.offsets.push(offset);
            points.weights.push(STEP * weight);
            points.coarse.push(f64::from(u8::from(k % 2 == 0)));
        }
        points
    }
}

/// One of the ways in which an integral is called: the function, both limits, then these.
struct Form {
    /// Position of the relative tolerance, if it is given.
    tolerance: Option<usize>,
    /// What the function gets after the point (and, in the old form, the distance to the nearer
    /// limit).
    extras: std::ops::Range<usize>,
    /// Whether it gets that distance.
    distance: bool,
}

impl Form {
    fn of(name: &str, count: usize) -> Option<Self> {
        match name {
            "integrate_1d" => {
                let tolerance = (count > 6).then_some(6);
                Some(Self { tolerance, extras: 3..6, distance: true })
            }
            // The rule is the same for all of them, so its size needs no limit.
            "integrate_1d_gauss_kronrod" | "integrate_1d_double_exponential" => {
                Some(Self { tolerance: None, extras: 3..count, distance: true })
            }
            "integrate_1d_gauss_kronrod_tol" | "integrate_1d_double_exponential_tol" => {
                Some(Self { tolerance: Some(3), extras: 6..count, distance: true })
            }
            _ => None,
        }
    }
}

impl Lowering<'_> {
    /// `integrate_1d(f, a, b, theta, x_r, x_i[, tolerance])`, `integrate_1d_gauss_kronrod(f, a, b,
    /// …)`, `integrate_1d_gauss_kronrod_tol(f, a, b, relative, absolute, depth, …)` and the same of
    /// `double_exponential`; nothing if `name` is no integral's.
    pub(in crate::lower) fn integral(
        &mut self,
        name: &str,
        args: &[Expr],
        returns: &Type,
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        let Some(form) = Form::of(name, args.len()) else { return Ok(None) };
        let Some(ExprKind::Function { function, .. }) = args.first().map(|f| &f.kind) else {
            return Err(unsupported(span, format!("`{name}` of a library function")));
        };
        // The function's place is kept, so that positions are those of the call.
        let mut values = vec![(LaneValue::real(0.0), Type::Real)];
        for arg in &args[1..] {
            values.push((self.evaluate(arg)?, arg.ty.clone()));
        }
        let integrate = |this: &mut Self, values: &[(LaneValue, Type)]| {
            this.integrate(name, *function, &form, values, span)
        };
        if values.iter().any(|(value, _)| value.lanes) {
            return self.lane_by_lane(&values, returns, span, integrate).map(Some);
        }
        integrate(self, &values).map(Some)
    }

    fn integrate(
        &mut self,
        name: &str,
        function: FunctionId,
        form: &Form,
        args: &[(LaneValue, Type)],
        span: Span,
    ) -> LowerResult<LaneValue> {
        let number = |k: usize| args[k].0.as_known().and_then(Value::as_real);
        let (lower, upper) = (number(1), number(2));
        if let (Some(a), Some(b)) = (lower, upper)
            && (a > b || a.is_nan() || b.is_nan())
        {
            return Err(runtime(span, format!("`{name}`: cannot integrate from {a} to {b}")));
        }
        if lower.is_some_and(|a| upper == Some(a)) {
            return Ok(LaneValue::real(0.0));
        }
        let tolerance = form.tolerance.and_then(number).unwrap_or(TOLERANCE);
        let limit = |known: Option<f64>| match known {
            Some(x) if x.is_infinite() => Limit::Infinite,
            _ => Limit::Finite,
        };
        let (low, high) = (limit(lower), limit(upper));
        let points = Points::between(low, high);
        let count = points.offsets.len();
        let g = &mut self.sink.graph;
        let (a, b) = (real_node(g, &args[1].0), real_node(g, &args[2].0));
        let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
        let a = if low == Limit::Finite { a } else { zero };
        let b = if high == Limit::Finite { b } else { zero };
        let is_finite = low == Limit::Finite && high == Limit::Finite;
        let scale = if is_finite { g.sub(b, a) } else { one };
        let constant = |g: &mut Graph, v: &[f64]| g.constant(Tensor::vector(v));
        let (from_lower, offsets) = (constant(g, &points.from_lower), constant(g, &points.offsets));
        let base = g.select(from_lower, a, b);
        let moved = g.mul(scale, offsets);
        let x = g.add(base, moved);
        // As a point is known where both limits are.
        let point = |node: NodeId, known: Option<Vec<f64>>| match known {
            Some(all) => LaneValue::known_lanes(real_value(&[count], all)),
            None => LaneValue::node(node, true),
        };
        let shifts = lower.zip(upper).map(|(a, b)| {
            let a = if low == Limit::Finite { a } else { 0.0 };
            let b = if high == Limit::Finite { b } else { 0.0 };
            let scale = if is_finite { b - a } else { 1.0 };
            let base = points.from_lower.iter().map(move |lower| if *lower > 0.0 { a } else { b });
            let moved = points.offsets.iter().map(move |offset| scale * offset);
            let x: Vec<f64> = base.zip(moved.clone()).map(|(base, moved)| base + moved).collect();
            (x, moved.collect::<Vec<f64>>())
        });
        let (known_x, known_moved) =
            shifts.map_or((None, None), |(x, moved)| (Some(x), Some(moved)));
        let mut values = vec![point(x, known_x)];
        if form.distance {
            let nowhere = LaneValue::real(f64::NAN);
            values.push(if is_finite { point(moved, known_moved) } else { nowhere });
        }
        values.extend(args[form.extras.clone()].iter().map(|(value, _)| value.clone()));
        let all = vec![0; count];
        let found =
            self.in_lanes(&all, |this| this.call_with(function, false, (values, &[]), span))?;
        let Some(found) = found else {
            return Err(unsupported(span, format!("`{name}` of a function without a value")));
        };
        let g = &mut self.sink.graph;
        let found = real_node(g, &found);
        let weights = constant(g, &points.weights);
        let terms = g.mul(found, weights);
        let coarse = constant(g, &points.coarse);
        let every_second = g.mul(terms, coarse);
        let [sum, half, size] = [terms, every_second, g.abs(terms)].map(|node| {
            let total = g.reduce(Reduction::Sum, node, &[0]);
            g.mul(total, scale)
        });
        let half = g.scale(half, 2.0);
        let error = g.sub(sum, half);
        let error = g.abs(error);
        let size = g.abs(size);
        let allowed = g.scale(size, tolerance.sqrt());
        let converged = g.le(error, allowed);
        let ordered = g.le(a, b);
        let holds = if is_finite { g.and(converged, ordered) } else { converged };
        let message = format!("`{name}`: the integral does not converge to the tolerance");
        if g.dependence(sum) == Dependence::Constant {
            let known = evaluate(g, &[sum, holds], &|_| None)
                .map_err(|error| runtime(span, error.to_string()))?;
            if known[1].as_scalar() == Some(0.0) {
                return Err(runtime(span, message));
            }
            return Ok(LaneValue::known(from_tensor(&known[0], false)));
        }
        let check = Check { holds, batched: false, message };
        if let Some(holds) = self.requirement(&check, span)? {
            self.env.terms.required.push(holds);
        }
        Ok(LaneValue::node(sum, false))
    }
}
