//! Draws against the distribution function.

use exmc_math::random::{ChainRng, Phase};

use super::examples::{EXAMPLES, Example};
use super::harness::Quantity::{Lcdf, Lpdf};
use super::harness::{compile, family, inside};

/// Draws a row. The Dvoretzky-Kiefer-Wolfowitz bound below is then 0.0043, and an error of 5 % in a
/// scale moves every distribution function here by more than 0.0065 (`fits` asserts that), which is
/// seen with probability above 0.99: the difference exceeds the bound by five standard errors of
/// the empirical distribution function at the least.
const DRAWS: usize = 400_000;
/// Probability that a right sampler fails one row.
const FALSE_ALARM: f64 = 1e-6;

fn sorted_draws(e: &Example) -> Vec<f64> {
    let f = family(e.family);
    let mut rng = ChainRng::new(20_240_607, 0, Phase::Predictive);
    let args: Vec<_> = e.parameters.iter().map(std::slice::from_ref).collect();
    let mut one = [0.0];
    let mut draws: Vec<f64> = (0..DRAWS)
        .map(|_| {
            f.draw(&mut rng, &args, &mut one);
            one[0]
        })
        .collect();
    draws.sort_by(f64::total_cmp);
    draws
}

/// The distribution function at increasing points: the family's own, or the density summed up.
fn distribution_function(e: &Example, points: &[f64]) -> Vec<f64> {
    if let Some(compiled) = compile(e.family, Lcdf, points.len()) {
        return compiled.values(points, e.parameters).into_iter().map(f64::exp).collect();
    }
    // The von Mises: the trapezium rule, of which the error at 20 000 points is below 1e-8.
    let count = 20_000;
    let width = 2.0 * std::f64::consts::PI / f64::from(count);
    let grid: Vec<_> = (0..=count).map(|k| -std::f64::consts::PI + width * f64::from(k)).collect();
    let density = compile(e.family, Lpdf, grid.len()).unwrap().values(&grid, e.parameters);
    let mut sums = vec![0.0];
    for pair in density.windows(2) {
        sums.push(sums[sums.len() - 1] + 0.5 * width * (pair[0].exp() + pair[1].exp()));
    }
    let interpolate = |y: &f64| {
        let place = (y - grid[0]) / width;
        let k = (place as usize).min(sums.len() - 2);
        sums[k] + (place - k as f64) * (sums[k + 1] - sums[k])
    };
    points.iter().map(interpolate).collect()
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Every 200th order statistic: the difference there is no larger than the largest, so that the
/// false alarm rate holds.
fn fits(e: &Example) {
    let draws = sorted_draws(e);
    let what = format!("{} {:?}", e.family, e.parameters);
    let support = family(e.family).support();
    for end in [draws[0], draws[DRAWS - 1]] {
        assert!(inside(support, end, e.parameters), "{what}: drew {end}");
    }
    let chosen: Vec<usize> = (0..DRAWS).step_by(200).collect();
    let points: Vec<f64> = chosen.iter().map(|k| draws[*k]).collect();
    let empirical: Vec<f64> = chosen.iter().map(|k| (*k as f64 + 0.5) / DRAWS as f64).collect();
    let exact = distribution_function(e, &points);
    let bound = ((2.0 / FALSE_ALARM).ln() / (2.0 * DRAWS as f64)).sqrt();
    let found = largest_difference(&empirical, &exact);
    assert!(found < bound, "{what}: the draws are off by {found}");

    // What an error of 5 % in the distance from the origin would do.
    let stretched: Vec<f64> = points.iter().map(|y| e.origin + 1.05 * (y - e.origin)).collect();
    let effect = largest_difference(&exact, &distribution_function(e, &stretched));
    assert!(effect > 1.5 * bound, "{what}: an error of 5 % gives only {effect}");
}

#[test]
fn follow_the_distribution_function() {
    for e in EXAMPLES.iter() {
        fits(e);
    }
}

/// The same stream gives the same draw at any location and scale, stretched.
#[test]
fn of_location_scale_families_are_shifted_and_stretched() {
    for e in EXAMPLES.iter() {
        let f = family(e.family);
        let Some(ls) = f.location_scale() else { continue };
        let mut standard = e.parameters.to_vec();
        standard[ls.scale] = 1.0;
        if let Some(k) = ls.location {
            standard[k] = 0.0;
        }
        let location = ls.location.map_or(0.0, |k| e.parameters[k]);
        let scale = e.parameters[ls.scale];
        let draw = |parameters: &[f64]| {
            let mut rng = ChainRng::new(5, 1, Phase::Predictive);
            let args: Vec<_> = parameters.iter().map(std::slice::from_ref).collect();
            let mut out = [0.0];
            f.draw(&mut rng, &args, &mut out);
            out[0]
        };
        let (z, x) = (draw(&standard), draw(e.parameters));
        assert!((x - (location + scale * z)).abs() < 1e-12 * x.abs().max(1.0), "{}", e.family);
        // And so is the density.
        let compiled = compile(e.family, Lpdf, 1).unwrap();
        let a = compiled.values(&[x], e.parameters)[0];
        let b = compiled.values(&[z], &standard)[0] - scale.ln();
        assert!((a - b).abs() < 1e-11 * a.abs().max(1.0), "{}: {a} {b}", e.family);
    }
}

/// Draws at parameters where intermediate results could overflow stay in the support.
#[test]
fn at_extreme_parameters_stay_in_the_support() {
    for (name, parameters) in [
        ("student_t", &[0.05, 0.0, 1.0][..]),
        ("gamma", &[1e-3, 1.0]),
        ("gamma", &[1e8, 1e-30]),
        ("inverse_gamma", &[50.0, 1e-30]),
        ("beta", &[1e6, 1e6]),
        ("weibull", &[80.0, 1e30]),
        ("von_mises", &[100.0, 1e12]),
        ("von_mises", &[-2.0, 0.0]),
        ("truncated_normal", &[0.0, 1.0, 1e6, f64::INFINITY]),
        ("truncated_normal", &[0.0, 1e30, -1.0, 1.0]),
        ("truncated_normal", &[0.3, 0.1, -5.0, -4.0]),
        ("skew_normal", &[0.0, 1e-30, 1e200]),
        ("uniform", &[1e5, 1e5 + 1e-11]),
    ] {
        let f = family(name);
        let args: Vec<_> = parameters.iter().map(std::slice::from_ref).collect();
        let mut rng = ChainRng::new(11, 0, Phase::Predictive);
        for _ in 0..200 {
            let mut out = [f64::NAN];
            f.draw(&mut rng, &args, &mut out);
            // A gamma of shape 1/1000 rounds to zero now and then.
            let rounds = name == "gamma" && out[0] == 0.0 && parameters[0] < 0.01;
            assert!(inside(f.support(), out[0], parameters) || rounds, "{name}: {}", out[0]);
        }
    }
}
