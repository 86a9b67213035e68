//! Elementwise functions: a name and aligned arguments -> one number for each element.
//!
//! Each has Stan's definition with its domain's edges; formulas are chosen so that neither tail
//! loses digits. **Reference**: Stan functions reference, "Real-valued basic functions".

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LN_10, PI};

use exmc_graph::{Binary, Graph, NodeId, Tensor, Ternary, Unary};

use super::align::{align, elementwise, known};
use super::{Answer, Argument, LibraryError, Output, factorials};
use crate::typed::Type;

/// A function of one number.
type One = fn(&mut Graph, NodeId) -> NodeId;
/// A function of two numbers.
type Two = fn(&mut Graph, NodeId, NodeId) -> NodeId;

/// The call, if the name is that of an elementwise function of so many arguments.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    match args.len() {
        1 => one(name).map(|f| elementwise(g, args, |g, x| f(g, x[0]))),
        2 => {
            if let "log_sum_exp" | "lmgamma" = name {
                return pair_of_numbers(g, name, args);
            }
            if let "divide" | "modulus" = name
                && args.iter().all(|arg| arg.ty == Type::Int)
            {
                return Some(whole_division(g, name, args));
            }
            two(name).map(|f| elementwise(g, args, |g, x| f(g, x[0], x[1])))
        }
        3 => match name {
            "fma" => Some(elementwise(g, args, |g, x| {
                let product = g.mul(x[0], x[1]);
                g.add(product, x[2])
            })),
            "inc_beta" => Some(elementwise(g, args, |g, x| inc_beta(g, x[0], x[1], x[2]))),
            "if_else" => Some(elementwise(g, args, |g, x| g.select(x[0], x[1], x[2]))),
            _ => None,
        },
        0 => constant(name).map(|value| {
            let node = g.scalar(value);
            Ok(Output::new(node, false))
        }),
        _ => None,
    }
}

/// Quotients of whole numbers towards zero, or what they leave.
fn whole_division(g: &mut Graph, name: &str, args: &[Argument]) -> Result<Output, LibraryError> {
    let aligned = align(g, args, &[0, 0])?;
    let mut values = Vec::with_capacity(2);
    for (k, node) in aligned.nodes.iter().enumerate() {
        let node = g.broadcast_to(*node, &aligned.shape);
        values.push(known(g, node).ok_or(LibraryError::Unknown(k))?);
    }
    let mut results = Vec::with_capacity(values[0].len());
    for (a, b) in values[0].iter().zip(&values[1]) {
        if *b == 0.0 {
            return Err(LibraryError::Mistake("a whole number is divided by zero".to_owned()));
        }
        // Not minus zero.
        results.push(0.0 + if name == "divide" { (a / b).trunc() } else { a % b });
    }
    let results = Tensor::int(aligned.shape, results);
    let results = results.ok_or_else(|| wrong(name))?;
    Ok(Output::new(g.constant(results), aligned.batched))
}

fn pair_of_numbers(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    if name == "log_sum_exp" {
        return Some(elementwise(g, args, |g, x| g.log_add_exp(x[0], x[1])));
    }
    Some(super::special::by_integer(g, args, &|g, dimensions, x| {
        let dimensions = usize::try_from(dimensions).unwrap_or(0);
        let plain = multivariate_lgamma(g, dimensions, x);
        if dimensions < 3 {
            return plain;
        }
        // For a tiny x, x - 1 is rounded to a pole.
        let (size, limit) = (g.abs(x), g.scalar(1e-3));
        let is_tiny = g.lt(size, limit);
        let tiny = multivariate_lgamma_of_tiny(g, dimensions, x);
        g.select(is_tiny, tiny, plain)
    }))
}

/// The same as [`multivariate_lgamma`], by $\log|\Gamma(x-k)| = \log|\Gamma(x)| -
/// \sum_{i=1}^k\log|x-i|$, for x below one half.
fn multivariate_lgamma_of_tiny(g: &mut Graph, dimensions: usize, x: NodeId) -> NodeId {
    let mut sum = multivariate_lgamma(g, 2, x);
    let n = dimensions as f64;
    let constant = 0.25 * (n * (n - 1.0) - 2.0) * exmc_math::log(PI);
    sum = g.shift(sum, constant);
    for j in 2..dimensions {
        let first = if j % 2 == 0 { x } else { g.shift(x, -0.5) };
        let gamma = g.lgamma(first);
        sum = g.add(sum, gamma);
        for i in 1..=j / 2 {
            let lower = g.shift(first, -(i as f64));
            let size = g.abs(lower);
            let log = g.log(size);
            sum = g.sub(sum, log);
        }
    }
    sum
}

/// $\tfrac{n(n-1)}4\log\pi + \sum_{j=1}^n \log\Gamma(x + \tfrac{1-j}2)$
pub(super) fn multivariate_lgamma(g: &mut Graph, dimensions: usize, x: NodeId) -> NodeId {
    let n = dimensions as f64;
    let mut sum = g.scalar(0.25 * n * (n - 1.0) * exmc_math::log(PI));
    for j in 0..dimensions {
        let shifted = g.shift(x, -0.5 * j as f64);
        let term = g.lgamma(shifted);
        sum = g.add(sum, term);
    }
    sum
}

fn constant(name: &str) -> Option<f64> {
    Some(match name {
        "pi" => PI,
        "e" => std::f64::consts::E,
        "sqrt2" => std::f64::consts::SQRT_2,
        "log2" => LN_2,
        "log10" => LN_10,
        "not_a_number" => f64::NAN,
        "positive_infinity" => f64::INFINITY,
        "negative_infinity" => f64::NEG_INFINITY,
        "machine_precision" => f64::EPSILON,
        _ => return None,
    })
}

fn one(name: &str) -> Option<One> {
    Some(match name {
        "abs" | "fabs" => Graph::abs,
        "floor" => Graph::floor,
        "ceil" => |g, x| g.unary(Unary::Ceil, x),
        "round" => |g, x| g.unary(Unary::Round, x),
        "trunc" => |g, x| {
            let (size, sign) = (g.abs(x), g.sign(x));
            let whole = g.floor(size);
            g.mul(sign, whole)
        },
        "minus" => Graph::neg,
        "plus" => |_, x| x,
        "exp" => Graph::exp,
        "exp2" => |g, x| {
            let scaled = g.scale(x, LN_2);
            g.exp(scaled)
        },
        "expm1" => Graph::expm1,
        "log" => Graph::log,
        "log2" => |g, x| {
            let log = g.log(x);
            g.scale(log, 1.0 / LN_2)
        },
        "log10" => |g, x| {
            let log = g.log(x);
            g.scale(log, 1.0 / LN_10)
        },
        "log1p" => Graph::log1p,
        "log1m" => log1m,
        "log1p_exp" => Graph::softplus,
        "log1m_exp" => Graph::log1m_exp,
        "log_inv_logit" => log_inv_logit,
        "log1m_inv_logit" => |g, x| {
            let softplus = g.softplus(x);
            g.neg(softplus)
        },
        "logit" => |g, x| {
            let (log, rest) = (g.log(x), log1m(g, x));
            g.sub(log, rest)
        },
        "inv_logit" => Graph::inv_logit,
        "inv_cloglog" => |g, x| {
            // Beyond, the probability of failure is zero, and infinity times it would be NaN in the
            // derivative.
            let most = g.scalar(40.0);
            let x = g.min(x, most);
            let rate = g.exp(x);
            let minus = g.neg(rate);
            let failure = g.expm1(minus);
            g.neg(failure)
        },
        "sqrt" => Graph::sqrt,
        "cbrt" => |g, x| {
            let (size, sign) = (g.abs(x), g.sign(x));
            let third = g.scalar(1.0 / 3.0);
            let root = g.pow(size, third);
            g.mul(sign, root)
        },
        "square" => Graph::square,
        "inv" => Graph::reciprocal,
        "inv_sqrt" => |g, x| {
            let root = g.sqrt(x);
            g.reciprocal(root)
        },
        "inv_square" => |g, x| {
            let square = g.square(x);
            g.reciprocal(square)
        },
        "sin" => Graph::sin,
        "cos" => Graph::cos,
        "tan" => Graph::tan,
        "asin" => Graph::asin,
        "acos" => Graph::acos,
        "atan" => Graph::atan,
        "sinh" => Graph::sinh,
        "cosh" => Graph::cosh,
        "tanh" => Graph::tanh,
        "asinh" => asinh,
        "acosh" => |g, x| {
            // log(x + sqrt(x^2 - 1)) by u = x - 1, which keeps the digits near one; two roots, as a
            // square may overflow.
            let u = g.shift(x, -1.0);
            let twice = g.shift(x, 1.0);
            let (low, high) = (g.sqrt(u), g.sqrt(twice));
            let root = g.mul(low, high);
            let total = g.add(u, root);
            g.log1p(total)
        },
        "atanh" => |g, x| {
            let up = g.log1p(x);
            let down = log1m(g, x);
            let difference = g.sub(up, down);
            g.scale(difference, 0.5)
        },
        "erf" => Graph::erf,
        "erfc" => Graph::erfc,
        "inv_erfc" => |g, x| {
            let half = g.scale(x, 0.5);
            let quantile = g.normal_quantile(half);
            g.scale(quantile, -FRAC_1_SQRT_2)
        },
        "Phi" | "std_normal_cdf" => phi,
        "Phi_approx" => |g, x| {
            // Beyond, it is 0 or 1 to the last bit; the cube would overflow.
            let (low, high) = (g.scalar(-40.0), g.scalar(40.0));
            let x = g.max(x, low);
            let x = g.min(x, high);
            let square = g.square(x);
            let slope = g.scale(square, 0.070_56);
            let slope = g.shift(slope, 1.5976);
            let logit = g.mul(x, slope);
            g.inv_logit(logit)
        },
        "inv_Phi" | "std_normal_qf" => Graph::normal_quantile,
        "std_normal_log_qf" => Graph::normal_quantile_log,
        "lgamma" => Graph::lgamma,
        "tgamma" => |g, x| {
            // For x < 0 the sign alternates with the whole part: negative where floor(x) is odd.
            let log = g.lgamma(x);
            let size = g.exp(log);
            let zero = g.scalar(0.0);
            let whole = g.floor(x);
            let half = g.scale(whole, 0.5);
            let even = g.floor(half);
            let parity = g.sub(half, even);
            let negative = g.lt(x, zero);
            let odd = g.ne(parity, zero);
            let flips = g.and(negative, odd);
            let opposite = g.neg(size);
            let value = g.select(flips, opposite, size);
            // An error in Stan at zero and at negative whole numbers, minus infinity among them.
            let (is_whole, low) = (g.eq(x, whole), g.le(x, zero));
            let pole = g.and(is_whole, low);
            let none = g.scalar(f64::NAN);
            g.select(pole, none, value)
        },
        "digamma" => Graph::digamma,
        "trigamma" => Graph::trigamma,
        // Stan's int_step is 1 for positive numbers only, its step for all that is not below zero:
        // for NaN, too.
        "step" => |g, x| {
            let zero = g.scalar(0.0);
            let below = g.lt(x, zero);
            g.not(below)
        },
        "int_step" => |g, x| {
            let zero = g.scalar(0.0);
            g.lt(zero, x)
        },
        "is_nan" => |g, x| g.ne(x, x),
        "is_inf" => |g, x| {
            let (size, infinity) = (g.abs(x), g.scalar(f64::INFINITY));
            g.eq(size, infinity)
        },
        "logical_negation" => Graph::not,
        _ => return None,
    })
}

fn two(name: &str) -> Option<Two> {
    Some(match name {
        "add" | "elt_add" => Graph::add,
        "subtract" => Graph::sub,
        "elt_multiply" => Graph::mul,
        "elt_divide" => Graph::div,
        "pow" | "elt_pow" => pow,
        "fmin" => |g, a, b| of_numbers(g, a, b, Graph::min),
        "fmax" => |g, a, b| of_numbers(g, a, b, Graph::max),
        "fdim" => |g, a, b| {
            // A choice, as infinity less infinity is NaN.
            let (difference, zero) = (g.sub(a, b), g.scalar(0.0));
            let none = g.le(a, b);
            g.select(none, zero, difference)
        },
        "fmod" => Graph::fmod,
        "atan2" => Graph::atan2,
        "hypot" => hypot,
        "beta" => |g, a, b| {
            let log = g.lbeta(a, b);
            g.exp(log)
        },
        "lbeta" => Graph::lbeta,
        "lchoose" | "binomial_coefficient_log" => lchoose,
        "choose" => |g, n, k| {
            let log = lchoose(g, n, k);
            let exact = g.exp(log);
            let value = g.unary(Unary::Round, exact);
            // No way to choose more than there are; fewer than none is an error in Stan.
            let (zero, none) = (g.scalar(0.0), g.scalar(f64::NAN));
            let too_many = g.lt(n, k);
            let value = g.select(too_many, zero, value);
            let (some, chosen) = (g.le(zero, n), g.le(zero, k));
            let counts = g.and(some, chosen);
            g.select(counts, value, none)
        },
        "log_diff_exp" => Graph::log_diff_exp,
        "multiply_log" | "lmultiply" => |g, a, b| {
            // a log b, which is 0 where both are.
            let log = g.log(b);
            let product = g.mul(a, log);
            let zero = g.scalar(0.0);
            let (first, second) = (g.eq(a, zero), g.eq(b, zero));
            let both = g.and(first, second);
            g.select(both, zero, product)
        },
        "ldexp" => |g, a, b| {
            // In two steps, as one power may leave the range where the product does not.
            let two = g.scalar(2.0);
            let half = g.scale(b, 0.5);
            let half = g.floor(half);
            let rest = g.sub(b, half);
            let (first, second) = (g.pow(two, half), g.pow(two, rest));
            let product = g.mul(a, first);
            g.mul(product, second)
        },
        "log_rising_factorial" => factorials::log_rising,
        "rising_factorial" => factorials::rising,
        "log_falling_factorial" => factorials::log_falling,
        "falling_factorial" => factorials::falling,
        "gamma_p" => |g, a, x| incomplete_gamma(g, a, x, 0.0, Graph::log_gamma_p),
        "gamma_q" => |g, a, x| incomplete_gamma(g, a, x, 1.0, Graph::log_gamma_q),
        "owens_t" => Graph::owens_t,
        "log_inv_logit_diff" => |g, a, b| {
            // log(1 - e^(b-a)) - softplus(-a) - softplus(b); infinity less itself is no gap.
            let gap = g.sub(b, a);
            let (same, zero) = (g.eq(a, b), g.scalar(0.0));
            let gap = g.select(same, zero, gap);
            let log_gap = g.log1m_exp(gap);
            let minus = g.neg(a);
            let (up, down) = (g.softplus(minus), g.softplus(b));
            let cost = g.add(up, down);
            g.sub(log_gap, cost)
        },
        "binary_log_loss" => |g, y, p| {
            let (yes, no) = (g.log(p), log1m(g, p));
            let log = g.select(y, yes, no);
            let loss = g.neg(log);
            let (zero, one, none) = (g.scalar(0.0), g.scalar(1.0), g.scalar(f64::NAN));
            let (low, high) = (g.le(zero, p), g.le(p, one));
            let inside = g.and(low, high);
            g.select(inside, loss, none)
        },
        "logical_lt" => Graph::lt,
        "logical_lte" => Graph::le,
        "logical_gt" => |g, a, b| g.lt(b, a),
        "logical_gte" => |g, a, b| g.le(b, a),
        "logical_eq" => Graph::eq,
        "logical_neq" => |g, a, b| g.binary(Binary::Ne, a, b),
        "logical_and" => Graph::and,
        "logical_or" => Graph::or,
        _ => return None,
    })
}

/// $s\sqrt{(a/s)^2+(b/s)^2}$ with s the larger size: no square overflows, and as s has no part in
/// the value, the derivative is right where both are equal too.
pub(super) fn hypot(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    let (a, b) = (g.abs(a), g.abs(b));
    let (first, second) = (a, b);
    let large = g.max(a, b);
    let zero = g.scalar(0.0);
    let both_zero = g.eq(large, zero);
    let one = g.scalar(1.0);
    let scale = g.select(both_zero, one, large);
    let (a, b) = (g.div(a, scale), g.div(b, scale));
    let (a, b) = (g.square(a), g.square(b));
    let sum = g.add(a, b);
    let root = g.sqrt(sum);
    let value = g.mul(scale, root);
    // Infinite where either is, even beside NaN, as in C.
    let infinity = g.scalar(f64::INFINITY);
    let endless = [first, second].map(|size| g.eq(size, infinity));
    let endless = g.or(endless[0], endless[1]);
    g.select(endless, infinity, value)
}

/// The smaller or larger of two numbers, or the other one where one is NaN, as in C.
fn of_numbers(g: &mut Graph, a: NodeId, b: NodeId, of_both: Two) -> NodeId {
    let value = of_both(g, a, b);
    let not_a = g.ne(a, a);
    let not_b = g.ne(b, b);
    let value = g.select(not_b, a, value);
    g.select(not_a, b, value)
}

/// $P(a, x)$ or $Q(a, x)$; at x = 0, where it is the same for every a, without a derivative of its
/// logarithm.
fn incomplete_gamma(g: &mut Graph, a: NodeId, x: NodeId, at_zero: f64, log: Two) -> NodeId {
    let (zero, one, none) = (g.scalar(0.0), g.scalar(1.0), g.scalar(f64::NAN));
    let is_zero = g.eq(x, zero);
    let safe = g.select(is_zero, one, x);
    let log = log(g, a, safe);
    let value = g.exp(log);
    let end = g.scalar(at_zero);
    let value = g.select(is_zero, end, value);
    let inside = g.lt(zero, a);
    g.select(inside, value, none)
}

/// $I_x(a, b)$; at the ends, where it is the same for all shapes, without a derivative of its
/// logarithm.
fn inc_beta(g: &mut Graph, a: NodeId, b: NodeId, x: NodeId) -> NodeId {
    let (zero, one, none) = (g.scalar(0.0), g.scalar(1.0), g.scalar(f64::NAN));
    let (is_zero, is_one) = (g.eq(x, zero), g.eq(x, one));
    let is_end = g.or(is_zero, is_one);
    let half = g.scalar(0.5);
    let safe = g.select(is_end, half, x);
    let log = g.ternary(Ternary::LogBetaInc, a, b, safe);
    let value = g.exp(log);
    let value = g.select(is_end, x, value);
    let (first, second) = (g.lt(zero, a), g.lt(zero, b));
    let inside = g.and(first, second);
    g.select(inside, value, none)
}

/// $\log(1-x)$
pub(super) fn log1m(g: &mut Graph, x: NodeId) -> NodeId {
    let minus = g.neg(x);
    g.log1p(minus)
}

/// $\log\frac1{1+e^{-x}}$
pub(super) fn log_inv_logit(g: &mut Graph, x: NodeId) -> NodeId {
    let minus = g.neg(x);
    let softplus = g.softplus(minus);
    g.neg(softplus)
}

/// $\Phi(x)$, accurate in the lower tail.
pub(super) fn phi(g: &mut Graph, x: NodeId) -> NodeId {
    let scaled = g.scale(x, -FRAC_1_SQRT_2);
    let tail = g.erfc(scaled);
    g.scale(tail, 0.5)
}

/// $x^y$; small known powers by what costs less and has a derivative everywhere.
fn pow(g: &mut Graph, x: NodeId, y: NodeId) -> NodeId {
    match g.as_uniform(y) {
        Some(1.0) if g.shape(y).broadcasts_to(g.shape(x)) => x,
        Some(2.0) => g.square(x),
        Some(0.5) => g.sqrt(x),
        Some(-1.0) => g.reciprocal(x),
        Some(3.0) => {
            let square = g.square(x);
            g.mul(square, x)
        }
        _ => g.pow(x, y),
    }
}

/// $\operatorname{artanh}(x/\sqrt{1+x^2})$ up to one, where it is odd with slope one at zero;
/// beyond $\operatorname{sign}(x)\log(|x| + \sqrt{x^2+1})$, whose square is left out where it is
/// all.
fn asinh(g: &mut Graph, x: NodeId) -> NodeId {
    const LARGE: f64 = 1e9;
    let (size, one) = (g.abs(x), g.scalar(1.0));
    let is_small = g.lt(size, one);
    let zero = g.scalar(0.0);
    let near = g.select(is_small, x, zero);
    let square = g.square(near);
    let inside = g.shift(square, 1.0);
    let root = g.sqrt(inside);
    let ratio = g.div(near, root);
    let (up, down) = (g.log1p(ratio), log1m(g, ratio));
    let difference = g.sub(up, down);
    let small = g.scale(difference, 0.5);
    let limit = g.scalar(LARGE);
    let is_large = g.lt(limit, size);
    let middle = g.select(is_large, one, size);
    let square = g.square(middle);
    let inside = g.shift(square, 1.0);
    let root = g.sqrt(inside);
    let sum = g.add(middle, root);
    // Twice a huge number may overflow: its logarithm by parts.
    let log = g.log(size);
    let doubled = g.shift(log, LN_2);
    let log = g.log(sum);
    let large = g.select(is_large, doubled, log);
    let sign = g.sign(x);
    let large = g.mul(sign, large);
    g.select(is_small, small, large)
}

/// $\log\binom nk = -\log(n+1) - \log B(k+1, n-k+1)$
fn lchoose(g: &mut Graph, n: NodeId, k: NodeId) -> NodeId {
    let rest = g.sub(n, k);
    let (rest, next) = (g.shift(rest, 1.0), g.shift(k, 1.0));
    // Known numbers of things are whole; beside a k of one a tiny n must not be lost.
    let rest = if known(g, n).is_some() {
        rest
    } else {
        let (one, half) = (g.scalar(1.0), g.scalar(0.5));
        let less = g.sub(one, k);
        let of_tiny = g.add(n, less);
        let size = g.abs(n);
        let is_small = g.lt(size, half);
        g.select(is_small, of_tiny, rest)
    };
    let (log_beta, log_n) = (g.lbeta(next, rest), g.log1p(n));
    let sum = g.add(log_beta, log_n);
    g.neg(sum)
}

/// A call of a function that exists for other arguments only.
pub(super) fn wrong(name: &str) -> LibraryError {
    LibraryError::Unsupported(format!("`{name}` with these arguments"))
}
