//! Models with loops, written out by hand: series, filters and hidden states, for tests and the
//! timing example.
#![allow(clippy::unwrap_used, reason = "the models are fixed and well formed")]
#![allow(dead_code, reason = "no user needs everything")]

use std::sync::Arc;

use exmc_exec::DensitySource;
use exmc_graph::{DType, Graph, NodeId, Op, Reduction, Role, ScanBody, Shape, SharedBody, Tensor};

use super::models::{Build, Model, fraction, series};

/// A loop's body under construction.
struct Body {
    graph: Graph,
    counts: [usize; 3],
}

impl Body {
    fn new() -> Self {
        Self { graph: Graph::new(), counts: [0; 3] }
    }

    fn input(&mut self, kind: usize, shape: impl Into<Shape>, dtype: DType) -> NodeId {
        let name = format!("{}{}", ["carry", "x", "fixed"][kind], self.counts[kind]);
        self.counts[kind] += 1;
        let role = if dtype == DType::Int { Role::Data } else { Role::Parameter };
        self.graph.input(&name, role, shape.into(), dtype).unwrap()
    }

    fn carry(&mut self, shape: impl Into<Shape>) -> NodeId {
        self.input(0, shape, DType::Real)
    }

    fn x(&mut self, shape: impl Into<Shape>) -> NodeId {
        self.input(1, shape, DType::Real)
    }

    fn fixed(&mut self, shape: impl Into<Shape>) -> NodeId {
        self.input(2, shape, DType::Real)
    }

    /// The outputs of a loop over `length` steps.
    fn run(
        self,
        g: &mut Graph,
        length: usize,
        (next, stacked): (&[NodeId], &[NodeId]),
        args: &[NodeId],
    ) -> Vec<NodeId> {
        self.run_in(g, length, false, (next, stacked), args)
    }

    fn run_in(
        self,
        g: &mut Graph,
        length: usize,
        reverse: bool,
        (next, stacked): (&[NodeId], &[NodeId]),
        args: &[NodeId],
    ) -> Vec<NodeId> {
        let count = next.len() + stacked.len();
        let (graph, counts) = (self.graph, self.counts);
        let body = ScanBody { graph, next: next.to_vec(), stacked: stacked.to_vec(), counts };
        let op = Op::Scan { length, reverse, body: SharedBody(Arc::new(body)) };
        let scan = g.apply(op, args).unwrap();
        (0..count).map(|k| g.apply(Op::Project(k), &[scan]).unwrap()).collect()
    }
}

/// A state of `width` numbers that adds up, or is multiplied and adds up; a copy of each next
/// state: how many elements of the last state are not equal to their copy, which none is.
pub(crate) fn copied(t: usize, width: usize, (reverse, is_multiplied): (bool, bool)) -> Model {
    let mut b = Build::new();
    let [start, step] = ["start", "step"].map(|name| b.parameter(name, [width]));
    let all = b.parameter("all", [t, width]);
    let mut body = Body::new();
    let state = body.carry([width]);
    let (x, fixed) = (body.x([width]), body.fixed([width]));
    let g = &mut body.graph;
    let (fixed, factor) = (g.scale(fixed, 0.1), g.scalar(if is_multiplied { 0.7 } else { 1.0 }));
    let kept = if is_multiplied { g.mul(factor, state) } else { state };
    let next = g.add(kept, fixed);
    let next = g.add(next, x);
    let next = g.add(next, fixed);
    let made = body.run_in(&mut b.graph, t, reverse, (&[next], &[next]), &[start, all, step]);
    let g = &mut b.graph;
    let end = if reverse { 0 } else { t - 1 };
    let copy = g.slice(made[1], 0, end, end + 1);
    let copy = g.reshape(copy, [width]);
    let (below, above) = (g.lt(made[0], copy), g.lt(copy, made[0]));
    let differ = g.or(below, above);
    let (one, zero) = (g.scalar(1.0), g.scalar(0.0));
    let count = g.select(differ, one, zero);
    let count = g.sum(count);
    b.finish(format!("copied {t} {width} {reverse} {is_multiplied}"), &[count])
}

/// y[t] ~ normal(nu[t], sigma), nu[t] = mu + phi y[t-1] + theta err[t-1], err[t] = y[t] - nu[t].
pub(crate) fn arma11(t: usize) -> Model {
    let mut b = Build::new();
    let [mu, phi, theta, log_sigma] =
        ["mu", "phi", "theta", "log_sigma"].map(|name| b.parameter(name, Vec::new()));
    let y = b.data("y", Tensor::vector(&series(t + 1, 3)));
    let sigma = b.graph.exp(log_sigma);
    let mut body = Body::new();
    let err = body.carry([]);
    let (now, before) = (body.x([]), body.x([]));
    let (m, p, q) = (body.fixed([]), body.fixed([]), body.fixed([]));
    let g = &mut body.graph;
    let (from_y, from_err) = (g.mul(p, before), g.mul(q, err));
    let nu = g.add(m, from_y);
    let nu = g.add(nu, from_err);
    let next = g.sub(now, nu);
    let zero = b.graph.scalar(0.0);
    let (now, before) = (b.graph.slice(y, 0, 1, t + 1), b.graph.slice(y, 0, 0, t));
    let args = [zero, now, before, mu, phi, theta];
    let errors = body.run(&mut b.graph, t, (&[next], &[next]), &args)[1];
    let zero = b.graph.scalar(0.0);
    let likelihood = b.normal(errors, zero, sigma);
    let priors = [mu, phi, theta, log_sigma].map(|x| b.standard_normal(x));
    b.finish(format!("arma11 {t}"), &[&[likelihood], &priors[..]].concat())
}

/// sigma[t] = sqrt(a0 + a1 (y[t-1] - mu)^2 + b1 sigma[t-1]^2), y ~ normal(mu, sigma).
pub(crate) fn garch11(t: usize) -> Model {
    let mut b = Build::new();
    let [mu, log_a0, raw_a1, raw_b1] =
        ["mu", "log_a0", "raw_a1", "raw_b1"].map(|name| b.parameter(name, Vec::new()));
    let y = b.data("y", Tensor::vector(&series(t + 1, 3)));
    let g = &mut b.graph;
    let (a0, a1, share) = (g.exp(log_a0), g.inv_logit(raw_a1), g.inv_logit(raw_b1));
    let (one, start) = (g.scalar(1.0), g.scalar(0.5));
    let rest = g.sub(one, a1);
    let b1 = g.mul(rest, share);
    let (now, before) = (g.slice(y, 0, 1, t + 1), g.slice(y, 0, 0, t));
    let mut body = Body::new();
    let sigma = body.carry([]);
    let last = body.x([]);
    let (m, c0, c1, c2) = (body.fixed([]), body.fixed([]), body.fixed([]), body.fixed([]));
    let g = &mut body.graph;
    let residual = g.sub(last, m);
    let (news, old) = (g.square(residual), g.square(sigma));
    let (news, old) = (g.mul(c1, news), g.mul(c2, old));
    let variance = g.add(c0, news);
    let variance = g.add(variance, old);
    let next = g.sqrt(variance);
    let args = [start, before, mu, a0, a1, b1];
    let sigmas = body.run(&mut b.graph, t, (&[next], &[next]), &args)[1];
    let likelihood = b.normal(now, mu, sigmas);
    let priors = [mu, log_a0, raw_a1, raw_b1].map(|x| b.standard_normal(x));
    b.finish(format!("garch11 {t}"), &[&[likelihood], &priors[..]].concat())
}

/// A hidden Markov model of `k` states with normal outcomes, by the forward algorithm.
pub(crate) fn hidden_markov(t: usize, k: usize) -> Model {
    let mut b = Build::new();
    let (logits, mu) = (b.parameter("logits", [k, k]), b.parameter("mu", [k]));
    let y = b.data("y", Tensor::vector(&series(t, 5)));
    let g = &mut b.graph;
    let normaliser = g.log_sum_exp(logits, 1);
    let normaliser = g.reshape(normaliser, [k, 1]);
    let log_p = g.sub(logits, normaliser);
    let start = g.filled(&Shape::from([k]), -1.0);
    let mut body = Body::new();
    let before = body.carry([k]);
    let now = body.x([]);
    let (p, m) = (body.fixed([k, k]), body.fixed([k]));
    let g = &mut body.graph;
    let column = g.reshape(before, [k, 1]);
    let joint = g.add(column, p);
    let moved = g.log_sum_exp(joint, 0);
    let residual = g.sub(now, m);
    let square = g.square(residual);
    let emission = g.scale(square, -0.5);
    let next = g.add(moved, emission);
    let last = body.run(&mut b.graph, t, (&[next], &[]), &[start, y, log_p, mu])[0];
    let likelihood = b.graph.log_sum_exp(last, 0);
    let priors = [b.standard_normal(logits), b.standard_normal(mu)];
    b.finish(format!("hidden markov {t}x{k}"), &[&[likelihood], &priors[..]].concat())
}

/// The same as programs write it element by element: all pairs of states in a row, by index.
pub(crate) fn paired_markov(t: usize, k: usize) -> Model {
    let mut b = Build::new();
    let (log_p, mu) = (b.parameter("log_p", [k * k]), b.parameter("mu", [k]));
    let y = b.data("y", Tensor::vector(&series(t, 5)));
    let start = b.graph.filled(&Shape::from([k]), -1.0);
    let mut body = Body::new();
    let before = body.carry([k]);
    let now = body.x([]);
    let (p, m) = (body.fixed([k * k]), body.fixed([k]));
    let g = &mut body.graph;
    let from: Vec<usize> = (0..k * k).map(|pair| pair % k).collect();
    let to: Vec<usize> = (0..k * k).map(|pair| pair / k).collect();
    let (from, to) = (g.constant(Tensor::indices(&from)), g.constant(Tensor::indices(&to)));
    let (seen, mean) = (g.gather(before, from), g.gather(m, to));
    let moved = g.add(seen, p);
    let residual = g.sub(now, mean);
    let square = g.square(residual);
    let emission = g.scale(square, -0.5);
    let joint = g.add(moved, emission);
    let joint = g.reshape(joint, [k, k]);
    let next = g.log_sum_exp(joint, 1);
    let found = body.run(&mut b.graph, t, (&[next], &[next]), &[start, y, log_p, mu]);
    let likelihood = b.graph.log_sum_exp(found[0], 0);
    let path = b.graph.sum(found[1]);
    let path = b.graph.scale(path, 1.0 / (t * t) as f64);
    let priors = [b.standard_normal(log_p), b.standard_normal(mu)];
    b.finish(format!("paired markov {t}x{k}"), &[&[likelihood, path], &priors[..]].concat())
}

/// The same with steps that put states so far apart that their probabilities are no numbers, and
/// pairs that cannot be.
pub(crate) fn distant_markov(t: usize) -> Model {
    let k = 3;
    let mut b = Build::new();
    let (log_p, start) = (b.parameter("log_p", [k * k]), b.parameter("start", [k]));
    let far = [0.0, -800.0, 2.5, 900.0, -2000.0, 0.125, -746.0, 710.0, 1.0, -1500.0, -3.0];
    let jump = |i: usize| match (i % k, i % 5) {
        (1, 0 | 3) => f64::NEG_INFINITY,
        _ => far[7 * i % far.len()],
    };
    let values: Vec<f64> = (0..t * k * k).map(jump).collect();
    let jumps = Tensor::real([t, k * k], values).unwrap();
    let jumps = b.data("jumps", jumps);
    let mut body = Body::new();
    let before = body.carry([k]);
    let now = body.x([k * k]);
    let p = body.fixed([k * k]);
    let g = &mut body.graph;
    let from: Vec<usize> = (0..k * k).map(|pair| pair % k).collect();
    let from = g.constant(Tensor::indices(&from));
    let seen = g.gather(before, from);
    let moved = g.add(seen, p);
    let joint = g.add(moved, now);
    let joint = g.reshape(joint, [k, k]);
    let next = g.log_sum_exp(joint, 1);
    let args = [start, jumps, log_p];
    let found = body.run(&mut b.graph, t, (&[next], &[next]), &args);
    let likelihood = b.graph.log_sum_exp(found[0], 0);
    let priors = [b.standard_normal(log_p), b.standard_normal(start)];
    b.finish(format!("distant markov {t}x{k}"), &[&[likelihood], &priors[..]].concat())
}

/// The same with pairs that are near to each other at some steps and far apart at others, walked
/// from the end.
pub(crate) fn uneven_markov(t: usize, k: usize) -> Model {
    let mut b = Build::new();
    let (log_p, start) = (b.parameter("log_p", [k * k]), b.parameter("start", [k]));
    let spreads = [1.0, 40.0, 3.0, 250.0, 0.0, 300.0, 600.0, 5.0];
    let jump = |i: usize| spreads[i / (5 * k * k) % spreads.len()] * (2.0 * fraction(i) - 1.0);
    let values: Vec<f64> = (0..t * k * k).map(jump).collect();
    let jumps = b.data("jumps", Tensor::real([t, k, k], values).unwrap());
    let mut body = Body::new();
    let before = body.carry([k]);
    let now = body.x([k, k]);
    let p = body.fixed([k * k]);
    let g = &mut body.graph;
    let column = g.reshape(before, [k, 1]);
    let p = g.reshape(p, [k, k]);
    let known = g.sub(now, p);
    let joint = g.add(known, column);
    let next = g.log_sum_exp(joint, 0);
    let args = [start, jumps, log_p];
    let found = body.run_in(&mut b.graph, t, true, (&[next], &[before]), &args);
    let likelihood = b.graph.log_sum_exp(found[0], 0);
    let path = b.graph.sum(found[1]);
    let path = b.graph.scale(path, 1.0 / (t * t) as f64);
    let priors = [b.standard_normal(log_p), b.standard_normal(start)];
    b.finish(format!("uneven markov {t}x{k}"), &[&[likelihood, path], &priors[..]].concat())
}

/// The same with outcomes of a few kinds, whose probabilities are looked up by an integer sequence,
/// walked from the end.
pub(crate) fn discrete_markov(t: usize, k: usize, kinds: usize) -> Model {
    let mut b = Build::new();
    let (logits, outcomes) = (b.parameter("logits", [k, k]), b.parameter("outcomes", [kinds, k]));
    let y: Vec<usize> = (0..t).map(|i| (fraction(i) * kinds as f64) as usize).collect();
    let y = b.data("y", Tensor::indices(&y));
    let start = b.graph.filled(&Shape::from([k]), 0.0);
    let mut body = Body::new();
    let before = body.carry([k]);
    let now = body.input(1, Vec::new(), DType::Int);
    let (p, q) = (body.fixed([k, k]), body.fixed([kinds, k]));
    let g = &mut body.graph;
    let emission = g.gather(q, now);
    let seen = g.add(before, emission);
    let joint = g.add(p, seen);
    let next = g.log_sum_exp(joint, 1);
    let args = [start, y, logits, outcomes];
    let last = body.run_in(&mut b.graph, t, true, (&[next], &[]), &args)[0];
    let likelihood = b.graph.log_sum_exp(last, 0);
    let priors = [b.standard_normal(logits), b.standard_normal(outcomes)];
    b.finish(format!("discrete markov {t}x{k}"), &[&[likelihood], &priors[..]].concat())
}

/// A filter with a matrix of variances and two numbers a step: factorisations inside the loop, an
/// accumulated log density, and values that are only carried along.
pub(crate) fn filter(t: usize) -> Model {
    let n = 2;
    let mut b = Build::new();
    let (turn, log_q) = (b.parameter("turn", [n, n]), b.parameter("log_q", [n]));
    let log_r = b.parameter("log_r", [n]);
    let y = b.data("y", Tensor::real([t, n], series(t * n, 7)).unwrap());
    let identity = Tensor::real([n, n], vec![1.0, 0.0, 0.0, 1.0]).unwrap();
    let g = &mut b.graph;
    let turn_bounded = g.tanh(turn);
    let turn_half = g.scale(turn_bounded, 0.5);
    let eye = g.constant(identity.clone());
    let (q, r) = (g.exp(log_q), g.exp(log_r));
    let (q, r) = (g.mul(eye, q), g.mul(eye, r));
    let (mean, zero) = (g.filled(&Shape::from([n]), 0.0), g.scalar(0.0));
    let mut body = Body::new();
    let (m, p, total) = (body.carry([n]), body.carry([n, n]), body.carry([]));
    let now = body.x([n]);
    let (f, q_in, r_in) = (body.fixed([n, n]), body.fixed([n, n]), body.fixed([n, n]));
    let g = &mut body.graph;
    let predicted = g.matmul(f, m);
    let (moved, ft) = (g.matmul(f, p), g.transpose(f));
    let moved = g.matmul(moved, ft);
    let variance = g.add(moved, q_in);
    let outcome = g.add(variance, r_in);
    let factor = g.cholesky(outcome);
    let residual = g.sub(now, predicted);
    let z = g.triangular_solve(factor, residual, false);
    let square = g.square(z);
    let squares = g.sum(square);
    let diagonal = g.diagonal(factor);
    let log = g.log(diagonal);
    let logs = g.sum(log);
    let half = g.scale(squares, -0.5);
    let term = g.sub(half, logs);
    let total_next = g.add(total, term);
    // Gain times residual, and what is left of the variance.
    let whitened = g.triangular_solve(factor, variance, false);
    let turned = g.transpose(whitened);
    let correction = g.matmul(turned, z);
    let mean_next = g.add(predicted, correction);
    let explained = g.matmul(turned, whitened);
    let left = g.sub(variance, explained);
    let next = [mean_next, left, total_next];
    let args = [mean, eye, zero, y, turn_half, q, r];
    let likelihood = body.run(&mut b.graph, t, (&next, &[]), &args)[2];
    let priors = [turn, log_q, log_r].map(|x| b.standard_normal(x));
    b.finish(format!("filter {t}"), &[&[likelihood], &priors[..]].concat())
}

/// Populations of hunters and prey, one Euler step after the other: states that need each other, a
/// state that is the one of the step before, and a reset at some steps.
pub(crate) fn populations(t: usize) -> Model {
    let mut b = Build::new();
    let rates = b.parameter("rates", [4]);
    let start = b.parameter("start", [2]);
    let (weights, resets) = (series(t, 5), (0..t).map(|i| f64::from(i % 7 == 6)).collect());
    let weights = b.data("weights", Tensor::vector(&weights));
    let resets = b.data("resets", Tensor::int([t], Vec::<f64>::as_slice(&resets)).unwrap());
    let g = &mut b.graph;
    let parts: Vec<NodeId> = (0..4)
        .map(|k| {
            let part = g.slice(rates, 0, k, k + 1);
            let part = g.reshape(part, Vec::new());
            let part = g.inv_logit(part);
            g.scale(part, 0.3)
        })
        .collect();
    let (first, second) = (g.slice(start, 0, 0, 1), g.slice(start, 0, 1, 2));
    let (first, second) = (g.reshape(first, Vec::new()), g.reshape(second, Vec::new()));
    let (first, second) = (g.exp(first), g.exp(second));
    let mut body = Body::new();
    let (prey, hunters, lagged) = (body.carry([]), body.carry([]), body.carry([]));
    let weight = body.x([]);
    let reset = body.input(1, Vec::new(), DType::Int);
    let fixed: Vec<NodeId> = (0..5).map(|_| body.fixed([])).collect();
    let g = &mut body.graph;
    let meetings = g.mul(prey, hunters);
    let (births, eaten) = (g.mul(fixed[0], prey), g.mul(fixed[1], meetings));
    let (growth, deaths) = (g.mul(fixed[2], meetings), g.mul(fixed[3], hunters));
    let change = g.sub(births, eaten);
    let moved = g.add(prey, change);
    let bounded = g.tanh(moved);
    let prey_next = g.select(reset, fixed[4], bounded);
    let change = g.sub(growth, deaths);
    let hunters_next = g.add(hunters, change);
    let difference = g.sub(prey, lagged);
    let seen = g.mul(weight, difference);
    let out = g.sin(seen);
    let next = [prey_next, hunters_next, prey];
    let args = [&[first, second, first, weights, resets], &parts[..], &[first]].concat();
    let found = body.run(&mut b.graph, t, (&next, &[out, meetings]), &args);
    let (outs, meetings) = (b.graph.sum(found[3]), b.standard_normal(found[4]));
    let ends = b.graph.mul(found[0], found[2]);
    let priors = [b.standard_normal(rates), b.standard_normal(start)];
    b.finish(format!("populations {t}"), &[&[outs, meetings, ends], &priors[..]].concat())
}

/// Eight smoothed series side by side, with factors by series and by step, and a running sum and
/// product.
pub(crate) fn smoothing(t: usize) -> Model {
    let k = 5;
    let mut b = Build::new();
    let (level, rate) = (b.parameter("level", [k]), b.parameter("rate", [k]));
    let weights = b.parameter("weights", [3, k]);
    let y = b.data("y", Tensor::real([t, k], series(t * k, 3)).unwrap());
    let gaps = b.data("gaps", Tensor::vector(&series(t, 11)));
    let g = &mut b.graph;
    let rate = g.inv_logit(rate);
    let nothing = g.filled(&Shape::from([k]), 0.0);
    let unit = g.scalar(1.0);
    let mut body = Body::new();
    let (state, running, product) = (body.carry([k]), body.carry([k]), body.carry([]));
    let (now, gap) = (body.x([k]), body.x([]));
    let (r, w) = (body.fixed([k]), body.fixed([3, k]));
    let g = &mut body.graph;
    let slowed = g.exp(gap);
    let share = g.mul(r, slowed);
    let news = g.sub(now, state);
    let step = g.div(news, slowed);
    let step = g.mul(share, step);
    let next = g.add(state, step);
    let table = g.mul(w, now);
    let part = g.apply(Op::Reduce(Reduction::LogSumExp, vec![0]), &[table]).unwrap();
    let ordered = g.cumulative_sum(part, 0);
    let running_next = g.add(ordered, running);
    let factor = g.tanh(gap);
    let product_next = g.mul(product, factor);
    let product_next = g.shift(product_next, 0.5);
    let next = [next, running_next, product_next];
    let args = [level, nothing, unit, y, gaps, rate, weights];
    let found = body.run_in(&mut b.graph, t, true, (&next, &[running, news]), &args);
    let (path, errors) = (b.standard_normal(found[3]), b.standard_normal(found[4]));
    let path = b.graph.scale(path, 1.0 / (t * t) as f64);
    let ends = b.graph.sum(found[0]);
    let ends = b.graph.mul(ends, found[2]);
    let priors = [level, rate, weights].map(|x| b.standard_normal(x));
    b.finish(format!("smoothing {t}"), &[&[path, errors, ends], &priors[..]].concat())
}

/// All of them at `t` steps.
pub(crate) fn all(t: usize) -> Vec<Model> {
    vec![
        arma11(t),
        garch11(t),
        hidden_markov(t, 2),
        hidden_markov(t, 9),
        paired_markov(t, 2),
        paired_markov(t, 3),
        distant_markov(t),
        uneven_markov(t, 2),
        uneven_markov(t, 3),
        uneven_markov(t, 5),
        uneven_markov(t, 6),
        discrete_markov(t, 3, 4),
        filter(t),
        populations(t),
        smoothing(t),
        doublings(t),
    ]
}

/// Each step adds to two numbers parts of a row, scaled in forty steps of which each reads the one
/// before twice.
pub(crate) fn doublings(t: usize) -> Model {
    let mut b = Build::new();
    let (start, rate) = (b.parameter("start", [2]), b.parameter("rate", Vec::new()));
    let rows = Tensor::real([t, 4], series(4 * t, 3)).unwrap();
    let rows = b.data("rows", rows);
    let mut body = Body::new();
    let (state, row, by) = (body.carry([2]), body.x([4]), body.fixed([]));
    let g = &mut body.graph;
    let mut part = g.slice(row, 0, 1, 2);
    for _ in 0..40 {
        let scaled = g.mul(by, part);
        part = g.add(scaled, part);
    }
    let next = g.add(state, part);
    let last = body.run(&mut b.graph, t, (&[next], &[]), &[start, rows, rate])[0];
    let sum = b.graph.sum(last);
    b.finish(format!("doublings({t})"), &[sum])
}

/// A source of a loop's sum, for tests of single properties.
pub(crate) fn sum_of_loop(
    length: usize,
    build: impl FnOnce(&mut Graph, NodeId, NodeId, NodeId) -> NodeId,
) -> DensitySource {
    let mut body = Body::new();
    let (state, x, rate) = (body.carry([]), body.x([]), body.fixed([]));
    let next = build(&mut body.graph, state, x, rate);
    let mut g = Graph::new();
    let scalar = |g: &mut Graph, name: &str| {
        g.input(name, Role::Parameter, Shape::scalar(), DType::Real).unwrap()
    };
    let (start, rate) = (scalar(&mut g, "start"), scalar(&mut g, "rate"));
    let x = g.constant(Tensor::vector(&series(length, 3)));
    let found = body.run(&mut g, length, (&[next], &[next]), &[start, x, rate]);
    let sum = g.sum(found[1]);
    let logp = g.add(sum, found[0]);
    DensitySource { graph: g, logp, parameters: vec![(start, 0), (rate, 1)], dim: 2 }
}
