//! First-passage times of a Wiener process: the drift-diffusion model with four, five and seven
//! parameters.
//!
//! With boundary separation $\alpha$, non-decision time $\tau$, start $\beta\alpha$ and drift
//! $\delta$, and with $u = (y-\tau)/\alpha^2$, $w = 1-\beta$, the log density of reaching the upper
//! boundary at y is $\delta\alpha w - \tfrac12\delta^2(y-\tau) - 2\log\alpha + \log f(u, w)$. For f
//! there are two series, one that converges fast for small u and one for large u; where one gives
//! way to the other both are exact to the last digits with the terms that are here. A drift that
//! varies between trials has a closed form; a start and a non-decision time that vary are
//! integrated over by Gauss's rule. **Reference**: Navarro and Fuss 2009; Blurton, Kesselmeier and
//! Gondan 2017; Stan functions reference, "Wiener First Passage Time Distribution".

use std::f64::consts::PI;

use exmc_graph::{Graph, NodeId, Reduction, Tensor};
use exmc_math::log;
use exmc_model::Support;
use exmc_model::distribution::Parameter;

use super::Slot::Reals;
use super::quadrature::{exp_sinh, gauss_legendre, tanh_sinh};
use super::{DENSITY, Distributed, Family, Formula, Lpdf, Source, Tail, row};

/// Where the series change: both have terms of $e^{-44}$ and less behind the last here.
const CHANGE: f64 = 0.25;
/// Terms on either side of the series for small times.
const SMALL_TERMS: i32 = 3;
/// Terms of the series for large times.
const LARGE_TERMS: u32 = 6;
/// Points of Gauss's rule for each parameter that varies.
const POINTS: usize = 24;

const ALPHA: Parameter = Parameter::new("alpha", Support::Positive);
const TAU: Parameter = Parameter::new("tau", Support::NonNegative);
const BETA: Parameter = Parameter::new("beta", Support::UnitOpen);
const DELTA: Parameter = Parameter::new("delta", Support::Real);
const VAR_DELTA: Parameter = Parameter::new("var_delta", Support::NonNegative);
const VAR_BETA: Parameter = Parameter::new("var_beta", Support::NonNegative);
const VAR_TAU: Parameter = Parameter::new("var_tau", Support::NonNegative);

const fn formula(
    parameters: &'static [Parameter],
    lpdf: fn(&mut Graph, NodeId, &[NodeId]) -> NodeId,
    tails: Option<Distributed>,
) -> Formula {
    let support = Support::Positive;
    Formula { parameters, support, event_rank: 0, lpdf: Lpdf::Here(lpdf), tails, terms: None }
}

static FOUR: Formula = formula(&[ALPHA, TAU, BETA, DELTA], four, Some(tail_of_four));
static FIVE: Formula = formula(&[ALPHA, TAU, BETA, DELTA, VAR_DELTA], five, None);
static SEVEN: Formula =
    formula(&[ALPHA, TAU, BETA, DELTA, VAR_DELTA, VAR_BETA, VAR_TAU], seven, Some(tail_of_seven));

/// See the module.
pub(super) const ROWS: &[Family] = &[Family {
    source: Source::Forms(form),
    ..row("wiener", &[Reals, Reals, Reals, Reals, Reals], DENSITY).forms(&[(
        "lpdf",
        "real, real, real, real, real, real -> real; vector, vector, vector, vector, vector, vector -> real;
         real, real, real, real, real, real, data real -> real;
         vector, vector, vector, vector, vector, vector, data real -> real;
         real, real, real, real, real, real, real, real -> real;
         vector, vector, vector, vector, vector, vector, vector, vector -> real;
         real, real, real, real, real, real, real, real, data real -> real;
         vector, vector, vector, vector, vector, vector, vector, vector, data real -> real",
    )])
}];

/// The form that takes so many arguments, and how many of these it looks at: a precision that is
/// asked for is always kept.
fn form(arguments: usize, is_tail: bool) -> Option<(&'static Formula, usize)> {
    Some(match (arguments, is_tail) {
        (5, false) | (5 | 6, true) => (&FOUR, 5),
        (6 | 7, false) => (&FIVE, 6),
        (8 | 9, _) => (&SEVEN, 8),
        _ => return None,
    })
}

fn four(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let &[alpha, tau, beta, delta] = p else { unreachable!("the caller counted them") };
    let none = g.scalar(0.0);
    first_passage(g, y, [alpha, tau, beta, delta, none])
}

fn five(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let &[alpha, tau, beta, delta, deviation] = p else { unreachable!("the caller counted them") };
    first_passage(g, y, [alpha, tau, beta, delta, deviation])
}

/// $\log\int\int f(y \mid \tau + s_\tau a, \beta + s_\beta(b - \tfrac12))\,da\,db$ over the unit
/// square; no time is taken that is later than y.
fn seven(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let &[alpha, tau, beta, delta, deviation, spread, range] = p else {
        unreachable!("the caller counted them")
    };
    let shape = p.iter().fold(g.shape(y).clone(), |shape, node| {
        let node_shape = g.shape(*node);
        if node_shape.len() > shape.len() { node_shape.clone() } else { shape }
    });
    let (nodes, weights) = gauss_legendre::<POINTS>();
    let grid = |g: &mut Graph, value_at: &dyn Fn(usize, usize) -> f64| {
        let values: Vec<f64> =
            (0..POINTS * POINTS).map(|k| value_at(k / POINTS, k % POINTS)).collect();
        g.constant(Tensor::vector(&values))
    };
    let across = grid(g, &|i, _| nodes[i]);
    let along = grid(g, &|_, j| nodes[j] - 0.5);
    let log_weight = grid(g, &|i, j| log(weights[i] * weights[j]));
    let mut thin = |node: NodeId| {
        let broadcast = g.broadcast_to(node, &shape);
        g.reshape(broadcast, shape.join(&[1]))
    };
    let [y, alpha, tau, beta, delta, deviation, spread, range] =
        [y, alpha, tau, beta, delta, deviation, spread, range].map(&mut thin);
    // The part of the range in which a decision can have been made by y.
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let left = g.sub(y, tau);
    let still = g.eq(range, zero);
    let divisor = g.select(still, one, range);
    let share = g.div(left, divisor);
    let cut = g.lt(share, one);
    let cut_off = g.not(still);
    let cut = g.and(cut, cut_off);
    let share = g.select(cut, share, one);
    let possible = g.mul(range, share);
    let later = g.mul(possible, across);
    let time = g.add(tau, later);
    let moved = g.mul(spread, along);
    let start = g.add(beta, moved);
    let each = first_passage(g, y, [alpha, time, start, delta, deviation]);
    let weighted = g.add(each, log_weight);
    let last = g.shape(weighted).rank() - 1;
    let total = g.reduce(Reduction::LogSumExp, weighted, &[last]);
    let share = g.reshape(share, shape);
    let log_share = g.log(share);
    g.add(total, log_share)
}

/// The log density with parameters $\alpha, \tau, \beta, \delta$ and the drift's standard deviation
/// between trials; minus infinity at the non-decision time and before.
fn first_passage(g: &mut Graph, y: NodeId, p: [NodeId; 5]) -> NodeId {
    let [alpha, tau, beta, delta, deviation] = p;
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let time = g.sub(y, tau);
    let early = g.le(time, zero);
    let time = g.select(early, one, time);
    let square = g.square(alpha);
    let u = g.div(time, square);
    let minus = g.neg(beta);
    let w = g.shift(minus, 1.0);
    // (s²d² + 2δd - δ²t) / 2(1 + s²t) with d = αw, which is δd - δ²t/2 where s = 0.
    let distance = g.mul(alpha, w);
    let variance = g.square(deviation);
    let growth = g.mul(variance, time);
    let slowed = g.shift(growth, 1.0);
    let (distance_square, drift_square) = (g.square(distance), g.square(delta));
    let spread = g.mul(variance, distance_square);
    let push = g.mul(delta, distance);
    let push = g.scale(push, 2.0);
    let decay = g.mul(drift_square, time);
    let sum = g.add(spread, push);
    let sum = g.sub(sum, decay);
    let half = g.scale(sum, 0.5);
    let exponent = g.div(half, slowed);
    let log_slowed = g.log1p(growth);
    let log_slowed = g.scale(log_slowed, 0.5);
    let log_square = g.log(square);
    let constant = g.add(log_slowed, log_square);
    let tilt = g.sub(exponent, constant);
    let (small, large) = (small_time(g, u, w), large_time(g, u, w));
    let change = g.scalar(CHANGE);
    let is_small = g.lt(u, change);
    let series = g.select(is_small, small, large);
    let value = g.add(tilt, series);
    let never = g.scalar(f64::NEG_INFINITY);
    g.select(early, never, value)
}

/// $-\tfrac12\log 2\pi u^3 - \tfrac{w^2}{2u} + \log\sum_k (w+2k)e^{-2k(k+w)/u}$
fn small_time(g: &mut Graph, u: NodeId, w: NodeId) -> NodeId {
    let inverse = g.reciprocal(u);
    let mut sum = w;
    for k in (-SMALL_TERMS..=SMALL_TERMS).filter(|k| *k != 0) {
        let k = f64::from(k);
        let factor = g.shift(w, 2.0 * k);
        let moved = g.shift(w, k);
        let exponent = g.mul(moved, inverse);
        let exponent = g.scale(exponent, -2.0 * k);
        let weight = g.exp(exponent);
        let term = g.mul(factor, weight);
        sum = g.add(sum, term);
    }
    let (log_sum, log_u, square) = (g.log(sum), g.log(u), g.square(w));
    let energy = g.mul(square, inverse);
    let energy = g.scale(energy, 0.5);
    let power = g.scale(log_u, 1.5);
    let power = g.shift(power, 0.5 * log(2.0 * PI));
    let cost = g.add(energy, power);
    g.sub(log_sum, cost)
}

/// $\log\pi - \tfrac12\pi^2u + \log\sum_{k\ge1} k e^{-(k^2-1)\pi^2u/2}\sin k\pi w$
fn large_time(g: &mut Graph, u: NodeId, w: NodeId) -> NodeId {
    let angle = g.scale(w, PI);
    let mut sum = g.sin(angle);
    for k in (2..=LARGE_TERMS).map(f64::from) {
        let exponent = g.scale(u, -0.5 * (k * k - 1.0) * PI * PI);
        let weight = g.exp(exponent);
        let angle = g.scale(w, k * PI);
        let sine = g.sin(angle);
        let term = g.mul(weight, sine);
        let term = g.scale(term, k);
        sum = g.add(sum, term);
    }
    let log_sum = g.log(sum);
    let decay = g.scale(u, -0.5 * PI * PI);
    let value = g.add(log_sum, decay);
    g.shift(value, log(PI))
}

/// A log density of times, given the parameters.
type LogDensity = fn(&mut Graph, NodeId, &[NodeId]) -> NodeId;

/// The part of the density before y (or after it): log sums of the density over the points of a
/// rule in time.
fn tail(
    g: &mut Graph,
    y: NodeId,
    p: &[NodeId],
    tail: Tail,
    (step, lpdf): (f64, LogDensity),
) -> NodeId {
    let column = |g: &mut Graph, x: NodeId| {
        let shape = g.shape(x).join(&[1]);
        g.reshape(x, shape)
    };
    let columns: Vec<NodeId> = p.iter().map(|x| column(g, *x)).collect();
    let mut inner = columns.clone();
    let zero = g.scalar(0.0);
    inner[1] = zero;
    let passed = g.sub(y, p[1]);
    let started = g.lt(zero, passed);
    // The formula sees a time that has begun.
    let one = g.scalar(1.0);
    let passed = g.select(started, passed, one);
    let time = column(g, passed);
    let (points, log_weights) = match tail {
        Tail::Lower => tanh_sinh(step),
        Tail::Upper => exp_sinh(step),
    };
    let points = g.constant(Tensor::vector(&points));
    let log_weights = g.constant(Tensor::vector(&log_weights));
    let scale = match tail {
        Tail::Lower => time,
        Tail::Upper => g.square(columns[0]),
    };
    let moved = g.mul(scale, points);
    let times = if tail == Tail::Lower { moved } else { g.add(time, moved) };
    let log_density = lpdf(g, times, &inner);
    let terms = g.add(log_density, log_weights);
    let last = g.shape(terms).rank() - 1;
    let sum = g.log_sum_exp(terms, last);
    let log_scale = g.log(scale);
    let last = g.shape(log_scale).rank() - 1;
    let log_scale = g.reduce(Reduction::Sum, log_scale, &[last]);
    let value = g.add(sum, log_scale);
    let nan = g.scalar(f64::NAN);
    g.select(started, value, nan)
}

fn tail_of_four(g: &mut Graph, y: NodeId, p: &[NodeId], which: Tail) -> NodeId {
    tail(g, y, p, which, (1.0 / 32.0, four))
}

/// Seven parameters have two more axes, so fewer points in time.
fn tail_of_seven(g: &mut Graph, y: NodeId, p: &[NodeId], which: Tail) -> NodeId {
    tail(g, y, p, which, (1.0 / 14.0, seven))
}
