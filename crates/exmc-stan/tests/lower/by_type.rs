//! `~` leaves out what Stan leaves out: terms without parameters by type, whatever their values.

use exmc_stan::value::Value;

use super::harness::{assert_host, assert_logp};

fn near(text: &str, data: &[(&str, Value)], position: &[f64], expected: f64) {
    assert_logp(text, data, position, expected);
    assert_host(text, data, position);
}

/// Real Stan (2.35) at x = -1, 0.25, 1: -0.5, -0.849, -1.318.
#[test]
fn a_local_variable_is_a_parameter_whatever_its_value_is() {
    let text = "parameters { real x; }
        model { real s = 2; if (x > 0) 1.0 ~ normal(0, s); x ~ normal(0, 1); }";
    let kept = -0.125 - f64::ln(2.0);
    near(text, &[], &[-1.0], -0.5);
    near(text, &[], &[0.25], -0.031_25 + kept);
    near(text, &[], &[1.0], -0.5 + kept);
}

/// Real Stan: 0.306 for 0.501.
#[test]
fn the_mass_of_a_branch_is_that_of_stan() {
    let text = "parameters { real x; }
        model { real s = 2; if (x > 0) 1.0 ~ normal(0, s); x ~ normal(0, 1); }";
    let lowered = super::harness::lowered(text, &[]);
    let (mut below, mut above) = (0.0, 0.0);
    for k in 0..4_000 {
        let x = (f64::from(k) + 0.5) / 250.0 - 8.0;
        let density = super::harness::logp(&lowered, &[x]).exp();
        *(if x > 0.0 { &mut above } else { &mut below }) += density;
    }
    let share = above / (above + below);
    assert!((share - 0.306).abs() < 1e-3, "{share}");
}

#[test]
fn transformed_parameters_and_arguments_count_by_their_types() {
    let text = "functions {
          void add_lp(real s) { 1.0 ~ normal(0, s); }
          real of(real a, real s) { real t = 2; return normal_lpdf(a | s, t); }
          real kept_lpdf(real y, real s) { real t = 3; return normal_lupdf(y | s, t) + normal_lupdf(y | 0, 5); }
        }
        data { real y; }
        parameters { real x; }
        transformed parameters { real a = 3; }
        model {
          real two = 2;
          x ~ normal(0, 1);
          if (x > 2) y ~ kept(x);
          else if (x > 1.5) y ~ kept(1.0);
          else if (x > 1) add_lp(two);
          else if (x > 0.5) add_lp(2.0);
          else if (x > 0) y ~ normal(0, a);
          else if (x < -2) y ~ normal(two, 4);
          else if (x < -1) target += normal_lpdf(y | 0, 2) + of(y, 1);
          else y ~ cauchy(0, 2);
        }";
    let y = 1.5_f64;
    let data = [("y", Value::Real(y))];
    let full =
        |y: f64, m: f64, s: f64| -0.5 * ((y - m) / s).powi(2) - s.ln() - 0.918_938_533_204_672_8;
    for (x, kept) in [
        (2.5, -0.5 * ((y - 2.5_f64) / 3.0).powi(2) - 3.0_f64.ln()),
        (1.7, 0.0),
        (1.2, -0.125 - 2.0_f64.ln()),
        (0.7, 0.0),
        (0.25, -0.125 - 3.0_f64.ln()),
        (-0.5, 0.0),
        (-1.5, full(y, 0.0, 2.0) + full(y, 1.0, 2.0)),
        (-2.5, -0.5 * ((y - 2.0) / 4.0_f64).powi(2)),
    ] {
        near(text, &data, &[x], -0.5 * x * x + kept);
    }
}

/// Threshold regression; real Stan: -9.56, -6.15, -4.42, -29.36 at its points.
#[test]
fn scales_that_are_locals_are_kept_in_branches() {
    let text = "data { int N; vector[N] x; vector[N] y; }
        parameters { real tau; real mu; }
        model {
          vector[2] sd_ = [1, 5]';
          tau ~ normal(0, 1); mu ~ normal(0, 2);
          for (n in 1:N) {
            if (x[n] < tau) y[n] ~ normal(mu, sd_[1]);
            else y[n] ~ normal(mu, sd_[2]);
          }
        }";
    let (x, y) = ([-1.0, -0.3, 0.3, 1.0], [0.1, 0.5, 4.0, -6.0]);
    let data =
        [("N", Value::Int(4)), ("x", Value::reals(x.to_vec())), ("y", Value::reals(y.to_vec()))];
    for (tau, mu) in [(-2.0_f64, 0.3_f64), (0.0, 1.0), (0.5, -1.0), (2.0, 0.1)] {
        let mut expected = -0.5 * tau * tau - 0.5 * (mu / 2.0).powi(2);
        for (x, y) in x.iter().zip(y) {
            let sd: f64 = if *x < tau { 1.0 } else { 5.0 };
            expected += -0.5 * ((y - mu) / sd).powi(2) - sd.ln();
        }
        near(text, &data, &[tau, mu], expected);
    }
}

#[test]
fn a_bound_of_a_parameter_is_no_constant_of_its_density() {
    let text = "parameters { real<lower=1> y; } model { y ~ exponential(2); }";
    for z in [-1.0_f64, 0.3] {
        // Stan keeps -2 y, y = 1 + exp(z), and drops log(2).
        near(text, &[], &[z], -2.0 * (1.0 + z.exp()) + z);
    }
}

#[test]
fn integers_are_never_parameters() {
    let text = "parameters { real x; vector[3] v; }
        model {
          int n = 0;
          for (e in v) if (e > x) n += 1;
          n ~ poisson(2.5);
          n ~ poisson(exp(x));
          for (e in {1.0, 2.0}) e ~ normal(0, 2);
          for (e in v) e ~ normal(0, 2);
        }";
    let (x, v) = (0.3_f64, [0.5_f64, -0.2, 1.4]);
    let mut expected = 2.0 * x - x.exp();
    expected += v.iter().map(|v| -0.125 * v * v).sum::<f64>();
    near(text, &[], &[x, v[0], v[1], v[2]], expected);
}

#[test]
fn a_functions_variables_are_parameters_where_an_argument_is() {
    let text = "functions {
          void within_lp(real s) { real t = 2; 1.0 ~ normal(0, t); }
          void counted_lp(tuple(int, int) n) { real t = 2; 1.0 ~ normal(0, t); }
        }
        parameters { real x; }
        model {
          x ~ normal(0, 1);
          if (x > 1) within_lp(2);
          else if (x > 0) within_lp(x);
          else counted_lp((1, 2));
        }";
    for (x, kept) in [(1.5, 0.0), (0.5, -0.125 - 2.0_f64.ln()), (-0.5, 0.0)] {
        near(text, &[], &[x], -0.5 * x * x + kept);
    }
}
