//! Rules of the elementwise operations: partial derivatives as expressions, times the adjoint.

use super::{Adjoint, Contribution, Site, narrowed};
use crate::graph::{Graph, GraphError, NodeId};
use crate::op::{Binary, Op, Ternary, Unary};
use crate::tensor::DType;

/// $2/\sqrt\pi$
const TWO_OVER_ROOT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
/// $\sqrt{2\pi}$
const ROOT_TWO_PI: f64 = 2.506_628_274_631_000_5;
/// $\tfrac12\log 2\pi$
const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// The adjoint of `x` in `y = op(x)`; `None` for piecewise constant functions.
pub(super) fn unary(
    g: &mut Graph,
    op: Unary,
    x: NodeId,
    y: NodeId,
    adjoint: NodeId,
) -> Result<Option<NodeId>, GraphError> {
    let partial = match op {
        Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round | Unary::Not | Unary::IsFinite => {
            return Ok(None);
        }
        Unary::Neg => return Ok(Some(g.neg(adjoint))),
        Unary::Log => {
            // A reciprocal that is there already saves the division.
            let known = g.existing(&Op::Unary(Unary::Reciprocal), &[x]);
            return Ok(Some(match known {
                Some(reciprocal) => g.mul(adjoint, reciprocal),
                None => g.div(adjoint, x),
            }));
        }
        Unary::Log1p => {
            let denominator = g.shift(x, 1.0);
            return Ok(Some(g.div(adjoint, denominator)));
        }
        Unary::Sqrt => {
            // A root of what underflowed to 0 has no slope worth following; infinity times the 0
            // before it would be NaN.
            let denominator = g.scale(y, 2.0);
            let quotient = g.div(adjoint, denominator);
            let zero = g.scalar(0.0);
            return Ok(Some(g.select(y, quotient, zero)));
        }
        Unary::Atan => {
            let square = g.square(x);
            let denominator = g.shift(square, 1.0);
            return Ok(Some(g.div(adjoint, denominator)));
        }
        Unary::Asin | Unary::Acos => {
            // (1 - x)(1 + x) does not cancel near the ends as 1 - x^2 does.
            let one = g.scalar(1.0);
            let (below, above) = (g.sub(one, x), g.add(one, x));
            let product = g.mul(below, above);
            let root = g.sqrt(product);
            let quotient = g.div(adjoint, root);
            return Ok(Some(if op == Unary::Asin { quotient } else { g.neg(quotient) }));
        }
        Unary::Log1mExp => {
            // 1 / (1 - e^-x), with 0 - x so that x = 0 gives -inf, not inf.
            let zero = g.scalar(0.0);
            let mirrored = g.sub(zero, x);
            let denominator = g.expm1(mirrored);
            let quotient = g.div(adjoint, denominator);
            return Ok(Some(g.neg(quotient)));
        }
        Unary::Abs => g.sign(x),
        Unary::Exp => y,
        Unary::Expm1 => g.exp(x),
        Unary::Square => g.scale(x, 2.0),
        Unary::Reciprocal => {
            // Factor by factor: the square of one over a small scale leaves the range of `f32`.
            let once = g.mul(adjoint, y);
            let twice = g.mul(once, y);
            return Ok(Some(g.neg(twice)));
        }
        Unary::Sin => g.cos(x),
        Unary::Cos => {
            let sine = g.sin(x);
            g.neg(sine)
        }
        Unary::Tan => {
            let square = g.square(y);
            g.shift(square, 1.0)
        }
        Unary::Sinh => g.cosh(x),
        Unary::Cosh => g.sinh(x),
        Unary::Tanh => {
            // Not 1 - y^2, which is rounding where y is near one, but 4 q (1 - q) with the share q
            // of e^-|x| in its sum with e^|x|.
            let size = g.abs(x);
            let exponent = g.scale(size, -2.0);
            let share = g.inv_logit(exponent);
            let rest = one_minus(g, share);
            let product = g.mul(share, rest);
            g.scale(product, 4.0)
        }
        Unary::InvLogit => {
            let rest = one_minus(g, y);
            g.mul(y, rest)
        }
        Unary::Softplus => g.inv_logit(x),
        Unary::Lgamma => g.digamma(x),
        Unary::Digamma => g.trigamma(x),
        Unary::Trigamma => g.unary(Unary::Tetragamma, x),
        Unary::Tetragamma => return Err(no_derivative(op.name())),
        Unary::Erf | Unary::Erfc => {
            let square = g.square(x);
            let exponent = g.neg(square);
            let bell = g.exp(exponent);
            let sign = if op == Unary::Erf { 1.0 } else { -1.0 };
            g.scale(bell, sign * TWO_OVER_ROOT_PI)
        }
        Unary::LogNormalCdf => inverse_mills(g, x, y),
        Unary::NormalQuantile => {
            // 1 / phi(y)
            let square = g.square(y);
            let exponent = g.scale(square, 0.5);
            let inverse_bell = g.exp(exponent);
            g.scale(inverse_bell, ROOT_TWO_PI)
        }
        Unary::NormalQuantileLog => {
            // Phi / phi at y, whose log Phi is x.
            let mills = inverse_mills(g, y, x);
            return Ok(Some(g.div(adjoint, mills)));
        }
        Unary::LogBesselI0 => g.bessel_i1_i0(x),
        Unary::BesselI1I0 => {
            // 1 - y/x - y^2, which is 1/2 at 0.
            let ratio = g.div(y, x);
            let square = g.square(y);
            let sum = g.add(ratio, square);
            let formula = one_minus(g, sum);
            let zero = g.scalar(0.0);
            let at_zero = g.eq(x, zero);
            let half = g.scalar(0.5);
            g.select(at_zero, half, formula)
        }
        Unary::LambertW0 | Unary::LambertWm1 => {
            // e^-y / (1 + y)
            let minus = g.neg(y);
            let size = g.exp(minus);
            let next = g.shift(y, 1.0);
            g.div(size, next)
        }
    };
    Ok(Some(g.mul(adjoint, partial)))
}

/// $\phi(x)/\Phi(x)$ given $y=\log\Phi(x)$: $e^{\log\phi(x) - y}$, and below -40, where that
/// difference of large numbers loses digits, the asymptotic series in $u = x^{-2}$ (next term below
/// $10^{-15}$).
fn inverse_mills(g: &mut Graph, x: NodeId, y: NodeId) -> NodeId {
    let square = g.square(x);
    let half = g.scale(square, -0.5);
    let log_density = g.shift(half, -HALF_LOG_TWO_PI);
    let difference = g.sub(log_density, y);
    let near = g.exp(difference);
    let u = g.reciprocal(square);
    let mut series = g.scalar(706.0);
    for coefficient in [-74.0, 10.0, -2.0, 1.0, 1.0] {
        let product = g.mul(series, u);
        series = g.shift(product, coefficient);
    }
    let mirrored = g.neg(x);
    let far = g.mul(mirrored, series);
    let limit = g.scalar(-40.0);
    let is_far = g.lt(x, limit);
    g.select(is_far, far, near)
}

fn one_minus(g: &mut Graph, x: NodeId) -> NodeId {
    let one = g.scalar(1.0);
    g.sub(one, x)
}

fn no_derivative(name: &str) -> GraphError {
    GraphError::new(format!("{name} has no derivative"))
}

/// The adjoints of `a` and `b` in `y = op(a, b)`, where they are wanted and not zero.
pub(super) fn binary(
    g: &mut Graph,
    op: Binary,
    site: &Site,
) -> Result<[Option<NodeId>; 2], GraphError> {
    let (a, b, y, adjoint) = (site.args[0], site.args[1], site.id, site.adjoint.value);
    let mut result = [None; 2];
    for k in (0..2).filter(|&k| site.active[k]) {
        let first = k == 0;
        result[k] = Some(match op {
            Binary::Lt | Binary::Le | Binary::Eq | Binary::Ne | Binary::And | Binary::Or => {
                return Ok([None; 2]);
            }
            Binary::Min | Binary::Max => unreachable!("handled by `extreme`"),
            Binary::LogGammaPDa | Binary::LogGammaQDa => return Err(no_derivative(op.name())),
            Binary::Add => adjoint,
            Binary::Sub if first => adjoint,
            Binary::Sub => g.neg(adjoint),
            Binary::Mul => g.mul(adjoint, if first { b } else { a }),
            Binary::Div if first => g.div(adjoint, b),
            Binary::Div => {
                let quotient = g.div(y, b);
                let product = g.mul(adjoint, quotient);
                g.neg(product)
            }
            Binary::Pow if first => pow_base(g, a, b, adjoint),
            Binary::Pow => {
                // y log(a); 0 at a = 0, where y = 0 for every positive exponent.
                let log = g.log(a);
                let product = g.mul(y, log);
                let zero = g.scalar(0.0);
                let at_zero = g.eq(a, zero);
                let partial = g.select(at_zero, zero, product);
                g.mul(adjoint, partial)
            }
            Binary::LogAddExp => {
                let share =
                    if first { g.log_add_exp_share(a, b) } else { g.log_add_exp_share(b, a) };
                g.mul(adjoint, share)
            }
            Binary::LogAddExpShare => {
                let other = g.log_add_exp_share(b, a);
                let slope = g.mul(y, other);
                let product = g.mul(adjoint, slope);
                if first { product } else { g.neg(product) }
            }
            Binary::LogDiffExp => {
                // 1/(1 - e^-(a-b)) and -1/(e^(a-b) - 1); the signs are right at a - b = 0, too.
                let gap = g.sub(a, b);
                let exponent = if first { g.neg(gap) } else { gap };
                let denominator = g.expm1(exponent);
                let quotient = g.div(adjoint, denominator);
                g.neg(quotient)
            }
            Binary::Atan2 => {
                // Over the larger size, so that no square leaves the range.
                let (a_size, b_size) = (g.abs(a), g.abs(b));
                let size = g.max(a_size, b_size);
                let (a, b) = (g.div(a, size), g.div(b, size));
                let (a2, b2) = (g.square(a), g.square(b));
                let radius2 = g.add(a2, b2);
                let scaled = g.div(if first { b } else { a }, radius2);
                let ratio = g.div(scaled, size);
                let product = g.mul(adjoint, ratio);
                if first { product } else { g.neg(product) }
            }
            Binary::Lbeta => {
                // Not the difference of two digammas, which cancels where b is far below a.
                let rise = if first { g.digamma_rise(a, b) } else { g.digamma_rise(b, a) };
                let product = g.mul(adjoint, rise);
                g.neg(product)
            }
            Binary::DigammaRise => {
                let end = g.add(a, b);
                let of_end = g.trigamma(end);
                let partial = if first {
                    let of_start = g.trigamma(a);
                    g.sub(of_end, of_start)
                } else {
                    of_end
                };
                g.mul(adjoint, partial)
            }
            Binary::LogGammaP | Binary::LogGammaQ => {
                let partial = match (op, first) {
                    (Binary::LogGammaP, true) => g.binary(Binary::LogGammaPDa, a, b),
                    (_, true) => g.binary(Binary::LogGammaQDa, a, b),
                    (_, false) => log_gamma_dx(g, op, a, b, y),
                };
                g.mul(adjoint, partial)
            }
            Binary::BesselJ | Binary::BesselY if first => continue,
            Binary::BesselJ | Binary::BesselY => {
                // (J_{n-1} - J_{n+1}) / 2
                let (below, above) = (g.shift(a, -1.0), g.shift(a, 1.0));
                let (below, above) = (g.binary(op, below, b), g.binary(op, above, b));
                let difference = g.sub(below, above);
                let partial = g.scale(difference, 0.5);
                g.mul(adjoint, partial)
            }
            Binary::StudentQuantile => {
                let partial = student_quantile_partial(g, a, b, y, first);
                g.mul(adjoint, partial)
            }
            Binary::Fmod if first => adjoint,
            Binary::Fmod => {
                // Minus the whole number of times, which the quotient alone may miss by one.
                let taken = g.sub(a, y);
                let times = g.div(taken, b);
                let product = g.mul(adjoint, times);
                g.neg(product)
            }
            Binary::OwensT => {
                let partial = owens_t_partial(g, a, b, first);
                g.mul(adjoint, partial)
            }
        });
    }
    Ok(result)
}

/// $b a^{b-1}$, exactly 0 for $b = 0$ (also at $a = 0$), cheap for common exponents.
fn pow_base(g: &mut Graph, a: NodeId, b: NodeId, adjoint: NodeId) -> NodeId {
    let zero = g.scalar(0.0);
    let partial = match g.as_uniform(b) {
        Some(0.0) => return super::zeros_like(g, adjoint),
        Some(1.0) => return adjoint,
        Some(2.0) => g.scale(a, 2.0),
        Some(exponent) => {
            let lower = g.scalar(exponent - 1.0);
            let power = g.pow(a, lower);
            g.scale(power, exponent)
        }
        None => {
            let one = g.scalar(1.0);
            let lower = g.sub(b, one);
            let power = g.pow(a, lower);
            let product = g.mul(b, power);
            let flat = g.eq(b, zero);
            g.select(flat, zero, product)
        }
    };
    g.mul(adjoint, partial)
}

/// $\partial_x \log P(a,x)$ or $\partial_x \log Q(a,x)$: $\pm e^{(a-1)\log x - x - \log\Gamma(a) -
/// y}$.
fn log_gamma_dx(g: &mut Graph, op: Binary, a: NodeId, x: NodeId, y: NodeId) -> NodeId {
    let log_x = g.log(x);
    let one = g.scalar(1.0);
    let power = g.sub(a, one);
    let log_power = g.mul(power, log_x);
    let log_gamma = g.lgamma(a);
    let rest = g.sub(log_power, x);
    let rest = g.sub(rest, log_gamma);
    let exponent = g.sub(rest, y);
    let size = g.exp(exponent);
    let zero = g.scalar(0.0);
    let at_zero = g.eq(x, zero);
    if op == Binary::LogGammaP {
        // P is x^a / Gamma(a+1) near 0, so the derivative of its log is a/x there.
        let limit = g.div(a, x);
        g.select(at_zero, limit, size)
    } else {
        // For a = 1 the power is 1, also at 0, where its log would be 0 * -inf.
        let exponential = g.eq(a, one);
        let corner = g.and(at_zero, exponential);
        let size = g.select(corner, one, size);
        // Far above the shape the exponent is a small difference of large numbers; there the rate
        // is that of Q = x^(a-1) e^-x / Gamma(a) (1 + (a-1)/x (1 + (a-2)/x (1 + ...))), to 1e-16
        // with four factors.
        let reach = g.shift(a, 1.0);
        let reach = g.scale(reach, 1e4);
        let is_far = g.lt(reach, x);
        let mut series = one;
        for k in (1..=4).rev() {
            let less = g.shift(a, -f64::from(k));
            let ratio = g.div(less, x);
            let term = g.mul(ratio, series);
            series = g.shift(term, 1.0);
        }
        let far = g.reciprocal(series);
        let size = g.select(is_far, far, size);
        g.neg(size)
    }
}

/// $\partial_h T = -\tfrac12\phi(h)\,\mathrm{erf}(ah/\sqrt2)$, $\partial_a T =
/// e^{-h^2(1+a^2)/2}/(2\pi(1+a^2))$.
fn owens_t_partial(g: &mut Graph, h: NodeId, a: NodeId, by_h: bool) -> NodeId {
    let h2 = g.square(h);
    if by_h {
        let half = g.scale(h2, -0.5);
        let bell = g.exp(half);
        let product = g.mul(a, h);
        let scaled = g.scale(product, std::f64::consts::FRAC_1_SQRT_2);
        let erf = g.erf(scaled);
        let both = g.mul(bell, erf);
        return g.scale(both, -0.5 / ROOT_TWO_PI);
    }
    let a2 = g.square(a);
    let one_more = g.shift(a2, 1.0);
    let product = g.mul(h2, one_more);
    let half = g.scale(product, -0.5);
    let bell = g.exp(half);
    let scaled = g.scale(bell, 0.5 / std::f64::consts::PI);
    g.div(scaled, one_more)
}

/// Of $t = F_\nu^{-1}(p)$: $1/f(t)$ by p, and by the degrees of freedom $-\partial_\nu F/f$ at the
/// same distance below the median, where $F = \tfrac12 I_x(\nu/2, 1/2)$ with $x = \nu/(\nu+t^2)$;
/// its sign is that of t.
fn student_quantile_partial(g: &mut Graph, p: NodeId, nu: NodeId, t: NodeId, by_p: bool) -> NodeId {
    let (one, zero, half) = (g.scalar(1.0), g.scalar(0.0), g.scalar(0.5));
    let square = g.square(t);
    let total = g.add(nu, square);
    let (share, half_nu) = (g.div(nu, total), g.scale(nu, 0.5));
    let log_share = g.log(share);
    let next = g.shift(half_nu, 0.5);
    let power = g.mul(next, log_share);
    let (log_beta, log_nu) = (g.lbeta(half_nu, half), g.log(nu));
    let half_log = g.scale(log_nu, 0.5);
    let scale = g.add(log_beta, half_log);
    let log_density = g.sub(power, scale);
    if by_p {
        let minus = g.neg(log_density);
        return g.exp(minus);
    }
    let rest = g.sub(one, p);
    let tail = g.min(p, rest);
    let doubled = g.scale(tail, 2.0);
    let log_inc = g.log(doubled);
    let by_shape = g.ternary(Ternary::LogBetaIncDa, half_nu, half, share);
    let by_shape = g.scale(by_shape, 0.5);
    let by_share = log_beta_inc_dx(g, half_nu, half, share, log_inc);
    let total_square = g.square(total);
    let share_slope = g.div(square, total_square);
    let moved = g.mul(by_share, share_slope);
    let log_slope = g.add(by_shape, moved);
    let density = g.exp(log_density);
    let lost = g.mul(tail, log_slope);
    let size = g.div(lost, density);
    let sign = g.sign(t);
    let partial = g.mul(sign, size);
    let (at_median, is_infinite) = (g.eq(t, zero), g.eq(tail, zero));
    let flat = g.or(at_median, is_infinite);
    g.select(flat, zero, partial)
}

/// Of $x = I^{-1}(p)$: $1/f(x)$ by p, and $-\partial I/f$ by the shapes, which is 0 at both ends.
fn beta_inc_inverse_partial(g: &mut Graph, [a, b, p, x]: [NodeId; 4], by: usize) -> NodeId {
    let (one, zero) = (g.scalar(1.0), g.scalar(0.0));
    let (a_less, b_less) = (g.sub(a, one), g.sub(b, one));
    let mirrored = g.neg(x);
    let (log_x, log_rest) = (g.log(x), g.log1p(mirrored));
    // 0 times the logarithm of 0 is 0 for shapes of one.
    let term = |g: &mut Graph, power: NodeId, log: NodeId| {
        let product = g.mul(power, log);
        let is_flat = g.eq(power, zero);
        g.select(is_flat, zero, product)
    };
    let (left, right) = (term(g, a_less, log_x), term(g, b_less, log_rest));
    let powers = g.add(left, right);
    let log_beta = g.lbeta(a, b);
    let minus = g.sub(log_beta, powers);
    let inverse = g.exp(minus);
    if by == 2 {
        return inverse;
    }
    let op = if by == 0 { Ternary::LogBetaIncDa } else { Ternary::LogBetaIncDb };
    let slope = g.ternary(op, a, b, x);
    let slope = g.mul(slope, p);
    let product = g.mul(slope, inverse);
    let partial = g.neg(product);
    let (at_zero, at_one) = (g.eq(p, zero), g.eq(p, one));
    let at_end = g.or(at_zero, at_one);
    g.select(at_end, zero, partial)
}

/// `min` and `max`: the whole adjoint to the argument that is the value, the first on ties.
pub(super) fn extreme(g: &mut Graph, op: Binary, site: &Site) -> Vec<Contribution> {
    let (a, b) = (site.args[0], site.args[1]);
    let first = if op == Binary::Min { g.le(a, b) } else { g.le(b, a) };
    let second = g.not(first);
    branches(g, site, [(0, first), (1, second)])
}

/// The number that a node is everywhere, where at most so many signs and factors of numbers hide
/// it.
fn number(g: &Graph, id: NodeId, depth: usize) -> Option<f64> {
    let node = g.node(id);
    let argument = |k: usize| number(g, node.args[k], depth.checked_sub(1)?);
    match node.op {
        Op::Unary(Unary::Neg) => Some(-argument(0)?),
        Op::Binary(Binary::Mul) => Some(argument(0)? * argument(1)?),
        Op::Broadcast(_) | Op::Reshape(_) => argument(0),
        _ => g.as_uniform(id),
    }
}

/// The adjoint to the branch that is taken; the condition gets none. Of a density that is a
/// positive number times the select, and another term, the adjoint goes to the branch beside minus
/// infinity whatever is taken: see the module's notes on supports.
pub(super) fn select(g: &mut Graph, site: &Site) -> Vec<Contribution> {
    for (inside, outside) in [(1, 2), (2, 1)] {
        let is_support = site.is_density
            && number(g, site.adjoint.value, 8).is_some_and(|slope| slope > 0.0)
            && g.as_uniform(site.args[outside]) == Some(f64::NEG_INFINITY);
        if is_support && site.active[inside] {
            return vec![Contribution { arg: inside, adjoint: site.adjoint }];
        }
    }
    let condition = site.args[0];
    let zero = g.scalar(0.0);
    let adjoint = site.adjoint.value;
    let values = [g.select(condition, adjoint, zero), g.select(condition, zero, adjoint)];
    let otherwise = g.not(condition);
    // Twice negated: a condition may be any number, a mask is 0 or 1.
    let taken = if is_mask(g, condition) { condition } else { g.not(otherwise) };
    let branches = [(1, values[0], taken), (2, values[1], otherwise)];
    let active = branches.into_iter().filter(|(arg, ..)| site.active[*arg]);
    let narrow = |(arg, value, mask)| {
        let mask = narrowed(g, mask, site.adjoint.mask);
        Contribution { arg, adjoint: Adjoint { value, mask } }
    };
    active.map(narrow).collect()
}

/// Whether a condition is known to be 0 or 1 in every element, in integers as masks are.
fn is_mask(g: &Graph, condition: NodeId) -> bool {
    let known = g.as_constant(condition);
    known.is_some_and(|known| known.dtype() == DType::Int && known.is_truth())
}

fn branches(g: &mut Graph, site: &Site, taken: [(usize, NodeId); 2]) -> Vec<Contribution> {
    let zero = g.scalar(0.0);
    let mut contributions = Vec::new();
    for (arg, condition) in taken.into_iter().filter(|(arg, _)| site.active[*arg]) {
        let value = g.select(condition, site.adjoint.value, zero);
        let mask = narrowed(g, condition, site.adjoint.mask);
        contributions.push(Contribution { arg, adjoint: Adjoint { value, mask } });
    }
    contributions
}

/// The adjoints of the arguments of functions of three arguments.
pub(super) fn ternary(
    g: &mut Graph,
    op: Ternary,
    site: &Site,
) -> Result<[Option<NodeId>; 3], GraphError> {
    let (a, b, x) = (site.args[0], site.args[1], site.args[2]);
    let mut result = [None; 3];
    if op == Ternary::BetaIncInverse {
        for k in (0..3).filter(|&k| site.active[k]) {
            let partial = beta_inc_inverse_partial(g, [a, b, x, site.id], k);
            result[k] = Some(g.mul(site.adjoint.value, partial));
        }
        return Ok(result);
    }
    if op != Ternary::LogBetaInc {
        return Err(no_derivative(op.name()));
    }
    for k in (0..3).filter(|&k| site.active[k]) {
        let partial = match k {
            0 => g.ternary(Ternary::LogBetaIncDa, a, b, x),
            1 => g.ternary(Ternary::LogBetaIncDb, a, b, x),
            _ => log_beta_inc_dx(g, a, b, x, site.id),
        };
        result[k] = Some(g.mul(site.adjoint.value, partial));
    }
    Ok(result)
}

/// $e^{(a-1)\log x + (b-1)\log(1-x) - \log B(a,b) - y}$, with its limits $a/x$ at 0 and, for b = 1,
/// a at 1.
fn log_beta_inc_dx(g: &mut Graph, a: NodeId, b: NodeId, x: NodeId, y: NodeId) -> NodeId {
    let one = g.scalar(1.0);
    let zero = g.scalar(0.0);
    let (a_less, b_less) = (g.sub(a, one), g.sub(b, one));
    let log_x = g.log(x);
    let mirrored = g.neg(x);
    let log_rest = g.log1p(mirrored);
    let left = g.mul(a_less, log_x);
    let right = g.mul(b_less, log_rest);
    let powers = g.add(left, right);
    let log_beta = g.lbeta(a, b);
    let log_density = g.sub(powers, log_beta);
    let exponent = g.sub(log_density, y);
    let formula = g.exp(exponent);
    let at_zero = g.eq(x, zero);
    let limit = g.div(a, x);
    let (at_one, flat) = (g.eq(x, one), g.eq(b, one));
    let corner = g.and(at_one, flat);
    let partial = g.select(corner, a, formula);
    g.select(at_zero, limit, partial)
}
