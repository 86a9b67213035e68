//! Draws of every wrapper against its distribution function (continuous) or its masses (counts).
//!
//! Each comparison fails by chance with probability 1e-6, and asserts that an error (of 5 % where
//! not said) in the distance from `origin` (or in the mean, for counts) would have been seen.

use std::ops::Range;

use exmc_graph::{DType, NodeId, Shape, Tensor, evaluate};
use exmc_math::random::{ChainRng, Phase};
use exmc_model::distributions::{
    custom, dirichlet, mixture, multi_normal, normal, truncated, weibull,
};
use exmc_model::{Argument, Dist, DistSpec, Expr, Kind, Model, ModelBuilder, Support, draw};

use super::harness::{Parsed, Point, parse};

const FALSE_ALARM: f64 = 1e-6;

/// A model of one variable `y`, whose parameters may be elements of `p`.
fn model_of(dist: DistSpec, parameters: &[f64], shape: Option<Shape>) -> ModelBuilder {
    let mut model = ModelBuilder::new();
    model.rv("p", normal(0.0, 1.0)).shape([parameters.len()]);
    let rv = model.rv("y", dist);
    if let Some(shape) = shape {
        rv.shape(shape);
    }
    model
}

/// `n` outcomes of `y`.
fn outcomes(model: &Model, parameters: &[f64], n: usize) -> Result<Vec<Vec<f64>>, String> {
    let Kind::Rv(rv) = &model.nodes()["y"].kind else { panic!("y is random") };
    let dist: &Dist = &rv.dist;
    let p = Tensor::vector(parameters);
    let mut nodes = dist.arguments();
    nodes.sort();
    nodes.dedup();
    let values = evaluate(model.graph(), &nodes, &|_| Some(p.clone())).unwrap();
    let value_of = |id: NodeId| Argument::from(&values[nodes.binary_search(&id).unwrap()]);
    let mut rng = ChainRng::new(20_260_802, 0, Phase::Predictive);
    let outcome = |_| {
        let mut out = vec![f64::NAN; rv.shape.len()];
        draw(dist, &mut rng, &value_of, &rv.shape, &mut out)?;
        Ok(out)
    };
    (0..n).map(outcome).collect()
}

fn sample(text: &str, n: usize) -> Vec<f64> {
    let Parsed { dist, parameters } = parse(text);
    let mut model = model_of(dist, &parameters, None);
    // Counts and censored outcomes must be observed.
    model.declare_data("seen", DType::Real, Shape::scalar());
    model.observe("obs", "y", "seen");
    outcomes(&model.build().unwrap(), &parameters, n).unwrap().concat()
}

/// Log densities (`left` false) or log distribution functions at some points.
fn logs(text: &str, points: &[f64], left: bool) -> Vec<f64> {
    let Parsed { dist, parameters } = parse(text);
    let mut model = model_of(dist, &parameters, Some(Shape::from([points.len()])));
    let obs = model.observe("obs", "y", points);
    if left {
        obs.left_censored();
    }
    Point::new(&model, &[("p", Tensor::vector(&parameters))]).pointwise("y")
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Dvoretzky-Kiefer-Wolfowitz at every 100th order statistic, which is no more than at all.
fn fits(text: &str, n: usize, origin: f64) {
    fits_noticing(text, n, origin, 1.05);
}

/// An error by `factor` moves the distribution function by 1.3 times the bound at least, which is
/// seen with probability above 0.95.
fn fits_noticing(text: &str, n: usize, origin: f64, factor: f64) {
    let mut draws = sample(text, n);
    draws.sort_by(f64::total_cmp);
    let chosen: Vec<usize> = (0..n).step_by(100).collect();
    let points: Vec<f64> = chosen.iter().map(|k| draws[*k]).collect();
    let empirical: Vec<f64> = chosen.iter().map(|k| (*k as f64 + 0.5) / n as f64).collect();
    let function = |points: &[f64]| -> Vec<f64> {
        logs(text, points, true).into_iter().map(f64::exp).collect()
    };
    let exact = function(&points);
    let bound = ((2.0 / FALSE_ALARM).ln() / (2.0 * n as f64)).sqrt();
    let found = largest_difference(&empirical, &exact);
    assert!(found < bound, "{text}: the draws are off by {found}");
    let stretched: Vec<f64> = points.iter().map(|y| origin + factor * (y - origin)).collect();
    let effect = largest_difference(&exact, &function(&stretched));
    assert!(effect > 1.3 * bound, "{text}: an error of {factor} gives only {effect}");
}

#[test]
fn of_continuous_wrappers_follow_the_distribution_function() {
    let n = 400_000;
    fits("mixture([0.3, 0.7], normal(0.0, 1.0), normal(2.0, 0.5))", n, 0.0);
    fits("mixture([0.4, 0.6], gamma(2.0, 1.5), normal(-1.0, 2.0))", n, 0.0);
    let nested = "mixture([0.1, 0.9], normal(0.0, 1.0), normal(5.0, 2.0))";
    fits(&format!("mixture([0.5, 0.5], {nested}, gamma(3.0, 0.5))"), n, 0.0);
    fits("truncated(normal(0.0, 1.0), -0.5, 2.0)", n, -0.5);
    fits("truncated(gamma(2.5, 1.5), 0.5, 3.0)", n, 0.5);
    fits("truncated(student_t(3.0, 0.5, 1.5), None, 1.0)", n, 1.0);
    fits("mixture([0.5, 0.5], truncated(normal(0.0, 1.0), 0.5, None), weibull(2.0, 3.0))", n, 0.0);
}

/// By inversion, as nearly no draw of the base lies in these intervals. That is slower, so only the
/// first would show an error of 5 %; it would be the same in all.
#[test]
fn far_in_the_tail_follow_the_distribution_function() {
    fits("truncated(normal(0.0, 1.0), 8.0, None)", 40_000, 8.0);
    let base = "mixture([0.3, 0.7], normal(0.0, 1.0), normal(4.0, 0.5))";
    for (text, origin) in [
        ("truncated(normal(0.0, 1.0), None, -12.0)", -12.0),
        ("truncated(normal(0.0, 1.0), 40.0, 41.0)", 40.0),
        ("truncated(gamma(2.5, 1.5), 60.0, None)", 60.0),
        ("truncated(gamma(0.5, 1.0), None, const(0.0000001))", 0.0),
        ("truncated(student_t(5.0, 0.0, 1.0), 100.0, None)", 100.0),
        (&format!("truncated({base}, 15.0, None)"), 15.0),
    ] {
        fits_noticing(text, 4_000, origin, 1.4);
    }
}

/// The upper 1e-6 point of chi-square (Wilson and Hilferty; a few per cent high at one degree).
fn chi_square_limit(degrees: f64) -> f64 {
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + 4.7534 * part.sqrt()).powi(3)
}

/// Chi-square of the possible counts (a large one stands for those beyond) against their masses;
/// `wrong` has an error that must be noticed.
fn counts_fit(text: &str, wrong: &str, possible: Range<usize>, n: usize) {
    let (first, most) = (possible.start, possible.len());
    let total = n as f64;
    let counts: Vec<f64> = possible.map(|k| k as f64).collect();
    let masses = |text: &str| -> Vec<f64> {
        let Parsed { dist, parameters } = parse(text);
        let mut model = model_of(dist, &parameters, Some(Shape::from([most])));
        model.declare_data("seen", DType::Real, [most]);
        model.observe("obs", "y", "seen");
        let values = [("p", Tensor::vector(&parameters)), ("seen", Tensor::vector(&counts))];
        Point::new(&model, &values).pointwise("y").into_iter().map(f64::exp).collect()
    };
    let holds = |text: &str| -> Vec<f64> { masses(text).iter().map(|m| m.max(0.0)).collect() };
    let (right, wrong) = (holds(text), holds(wrong));
    let mut seen = vec![0.0; most];
    for y in sample(text, n) {
        assert!(y.fract() == 0.0 && y >= first as f64, "{text}: drew {y}");
        seen[(y as usize - first).min(most - 1)] += 1.0;
    }
    // Cells with fewer than ten expected draws are joined to the next one.
    let (mut statistic, mut shift, mut cells) = (0.0, 0.0, 0.0);
    let (mut p, mut q, mut s) = (0.0, 0.0, 0.0);
    let mut left: f64 = right.iter().sum();
    for k in 0..most {
        (p, q, s) = (p + right[k], q + wrong[k], s + seen[k]);
        left -= right[k];
        if p * total > 10.0 && (left * total > 10.0 || k == most - 1) {
            statistic += (s - total * p).powi(2) / (total * p);
            shift += total * (q - p).powi(2) / p;
            cells += 1.0;
            (p, q, s) = (0.0, 0.0, 0.0);
        }
    }
    if p > 0.0 {
        statistic += (s - total * p).powi(2) / (total * p);
        cells += 1.0;
    }
    let degrees = f64::max(cells - 1.0, 1.0);
    let limit = chi_square_limit(degrees);
    assert!(statistic < limit, "{text}: {statistic} > {limit} at {degrees} degrees");
    let typical = degrees + shift - 5.0 * (2.0 * degrees + 4.0 * shift).sqrt();
    assert!(typical > limit, "{text}: the test would not notice, {typical} < {limit}");
}

#[test]
fn of_counts_fit_their_masses() {
    let n = 200_000;
    let check = |text: &str, possible: Range<usize>| {
        let wrong = text.replace("3.0", "3.15");
        counts_fit(text, &wrong, possible, n);
    };
    check("mixture([0.25, 0.75], poisson(3.0), negative_binomial(9.0, 3.0))", 0..80);
    check("truncated(poisson(3.0), 1, None)", 1..80);
    for text in [
        "truncated(poisson(3.0), const(2.5), const(6.5))",
        "truncated(negative_binomial(3.0, 2.0), None, 5)",
    ] {
        // A narrow interval shows less of the mean.
        let possible = if text.contains("2.5") { 3..7 } else { 0..6 };
        counts_fit(text, &text.replace("3.0", "3.6"), possible, n);
    }
    check("zero_inflated(poisson(3.0), 0.3)", 0..80);
    check("zero_inflated(truncated(poisson(3.0), 1, None), 0.4)", 0..80);
    check("censored(poisson(3.0), 2, 5)", 2..6);
    // By inversion.
    counts_fit(
        "truncated(poisson(1.0), 12, None)",
        "truncated(poisson(1.5), 12, None)",
        12..40,
        20_000,
    );
    let far = "truncated(negative_binomial(2.0, 1.5), 60, None)";
    counts_fit(far, &far.replace("2.0", "2.4"), 60..140, 20_000);
    assert_eq!(sample("truncated(poisson(4.0), 60, 60)", 3), [60.0; 3]);
}

#[test]
fn of_censored_outcomes_pile_up_at_the_limits() {
    let n = 200_000;
    let draws = sample("censored(normal(0.5, 2.0), -1, 3)", n);
    let count_at = |limit: f64| draws.iter().filter(|y| **y == limit).count() as f64;
    // log P(Y <= -1) and log P(Y >= 3) of the 50-digit table; five standard errors.
    for (limit, log_p) in [(-1.0, -1.484_448_229_919_656_2_f64), (3.0, -2.247_625_677_214_318)] {
        let (p, n) = (log_p.exp(), n as f64);
        assert!((count_at(limit) - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt(), "{limit}");
    }
    assert!(draws.iter().all(|y| (-1.0..=3.0).contains(y)));
}

/// Elements of a batch have their own weights, limits and parameters.
#[test]
fn of_batches_take_each_elements_arguments() {
    let weights = Tensor::real([3, 2], vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0]).unwrap();
    let components = || vec![normal([0.0, 0.0, 30.0], 0.01), normal(10.0, 0.01)];
    let build = |dist| model_of(dist, &[], None).build().unwrap();
    let by_row = build(mixture(weights, components()));
    for y in outcomes(&by_row, &[], 50).unwrap() {
        let near = y.iter().zip([0.0, 10.0, 30.0]).all(|(y, c)| (y - c).abs() < 0.1);
        assert!(near, "{y:?}");
    }
    // Far in the tail, where draws come by inversion, with weights shared by all elements.
    let lower = [12.0, 20.0, 40.0];
    let base = mixture([0.5, 0.5], components());
    let far = build(truncated(base, Some(lower.into()), None));
    for y in outcomes(&far, &[], 20).unwrap() {
        assert!(y.iter().zip(lower).all(|(y, a)| *y >= a && *y < a + 0.1), "{y:?}");
    }
}

#[test]
fn of_vector_mixtures_choose_one_component_a_vector() {
    let small = Tensor::real([2, 2], vec![1e-4, 0.0, 0.0, 1e-4]).unwrap();
    let components = vec![multi_normal([0.0, 0.0], small.clone()), multi_normal([9.0, 9.0], small)];
    let model = model_of(mixture([0.3, 0.7], components), &[], Some(Shape::from([1000, 2])));
    let y = outcomes(&model.build().unwrap(), &[], 20).unwrap().concat();
    let second = y.chunks(2).filter(|pair| (pair[0] - 9.0).abs() < 1.0).count() as f64;
    assert!(y.chunks(2).all(|pair| (pair[0] - pair[1]).abs() < 0.2));
    // 20 000 pairs: five standard errors.
    assert!((second - 14_000.0).abs() < 5.0 * (20_000.0_f64 * 0.21).sqrt(), "{second}");
    let simplexes = mixture([0.5, 0.5], vec![dirichlet([1.0, 1.0]), dirichlet([9.0, 1.0])]);
    let model = model_of(simplexes, &[], None);
    for y in outcomes(&model.build().unwrap(), &[], 50).unwrap() {
        assert!((y.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    }
}

#[test]
fn of_custom_distributions_invert_their_quantile_function() {
    // Exponential with a rate: -log(1 - u) / rate, by element.
    let quantile = || -((Expr::from(1.0) - Expr::name("u")).log() / Expr::name("rate"));
    let logp = || Expr::name("rate").log() - Expr::name("rate") * Expr::name("value");
    let dist = |q| custom([("rate", [0.5, 2.0].into())], Support::NonNegative, logp(), q);
    let n = 200_000;
    let y =
        outcomes(&model_of(dist(Some(quantile())), &[], None).build().unwrap(), &[], n).unwrap();
    for (k, rate) in [0.5, 2.0].into_iter().enumerate() {
        let mut element_draws: Vec<f64> = y.iter().map(|y| y[k]).collect();
        element_draws.sort_by(f64::total_cmp);
        let bound = ((2.0 / FALSE_ALARM).ln() / (2.0 * n as f64)).sqrt();
        let off = element_draws
            .iter()
            .enumerate()
            .map(|(i, y)| ((i as f64 + 0.5) / n as f64 + (-rate * y).exp_m1()).abs());
        assert!(off.fold(0.0, f64::max) < bound, "rate {rate}");
    }
    let without = model_of(dist(None), &[], None).build().unwrap();
    assert!(outcomes(&without, &[], 1).unwrap_err().contains("quantile"));
}

#[test]
fn of_an_empty_interval_are_refused() {
    let model = model_of(truncated(weibull(1.5, 2.0), None, Some((-1.0).into())), &[], None);
    let found = model.build().map(|m| outcomes(&m, &[], 1));
    assert!(matches!(found, Err(_) | Ok(Err(_))), "{found:?}");
}
