//! Programs without loops.

use exmc_stan::value::{Numbers, Value};

use super::harness::{assert_logp, normal};

#[test]
fn a_tilde_drops_what_no_parameter_is_in_and_a_function_keeps_it() {
    let data = [("y", Value::reals(vec![1.0, 2.5]))];
    let tilde = "data { vector[2] y; } parameters { real mu; } model { y ~ normal(mu, 2); }";
    let expected = -0.5 * (0.25_f64.powi(2) + 1.0_f64.powi(2));
    assert_logp(tilde, &data, &[0.5], expected);
    let function =
        "data { vector[2] y; } parameters { real mu; } model { target += normal_lpdf(y | mu, 2); }";
    let constant = -2.0 * (2.0_f64.ln() + 0.5 * (2.0 * std::f64::consts::PI).ln());
    assert_logp(function, &data, &[0.5], expected + constant);
}

#[test]
fn a_regression_with_a_matrix() {
    let text = "data { int N; int K; matrix[N, K] x; vector[N] y; }
        parameters { vector[K] beta; real<lower=0> sigma; }
        model { y ~ normal(x * beta, sigma); beta ~ normal(0, 1); }";
    let rows = [[1.0, 0.3], [-0.4, 2.0], [0.7, -1.1]];
    let y = [0.2, -1.0, 3.0];
    let data = [
        ("N", Value::Int(3)),
        ("K", Value::Int(2)),
        ("x", Value::Reals(Numbers::new([3, 2], rows.concat()))),
        ("y", Value::reals(y.to_vec())),
    ];
    let (b, log_sigma) = ([0.5, -0.25], 0.2_f64);
    let sigma = log_sigma.exp();
    let likelihood: f64 =
        rows.iter().zip(y).map(|(r, y)| normal(y, r[0] * b[0] + r[1] * b[1], sigma)).sum();
    let prior = normal(b[0], 0.0, 1.0) + normal(b[1], 0.0, 1.0);
    assert_logp(text, &data, &[b[0], b[1], log_sigma], likelihood + prior + log_sigma);
}

#[test]
fn indexing_slices_and_assigning_parts() {
    let text = "data { array[4] int g; }
        parameters { vector[3] a; matrix[2, 3] m; }
        model {
          vector[5] v = rep_vector(0.5, 5);
          v[2:4] = a;
          v[{1, 5}] = [a[2], m[2, 1]]';
          target += sum(v[g]) + dot_product(m[1], a) + sum(m[, 2]) + v[5] * m[2, 3];
        }";
    let data = [("g", Value::ints(vec![5, 1, 2, 2]))];
    let (a, m) = ([0.1, -0.7, 1.3], [0.2, 0.4, -0.6, 0.8, 1.0, -1.2]);
    let v = [a[1], a[0], a[1], a[2], m[3]];
    let expected = v[4]
        + v[0]
        + 2.0 * v[1]
        + (m[0] * a[0] + m[1] * a[1] + m[2] * a[2])
        + (m[1] + m[4])
        + v[4] * m[5];
    assert_logp(text, &data, &[a.to_vec(), m.to_vec()].concat(), expected);
}

#[test]
fn an_assignment_of_a_part_of_itself_sees_the_old_elements() {
    let text = "parameters { vector[3] a; }
        model { vector[3] x = a; x[2:3] = x[1:2]; target += x[1] + 10 * x[2] + 100 * x[3]; }";
    assert_logp(text, &[], &[1.0, 2.0, 3.0], 1.0 + 10.0 + 200.0);
}

#[test]
fn truncation_divides_by_the_mass_between_the_limits() {
    let text = "data { real y; } parameters { real mu; } model { y ~ normal(mu, 1) T[0, ]; }";
    // log(1 - Phi(-0.3)) by scipy.stats.norm.logsf(-0.3)
    let expected = normal(0.4, 0.3, 1.0) - -0.4814101615884813;
    assert_logp(text, &[("y", Value::Real(0.4))], &[0.3], expected);
    assert_logp(text, &[("y", Value::Real(-0.4))], &[0.3], f64::NEG_INFINITY);
}

#[test]
fn the_target_so_far_can_be_read() {
    let text = "parameters { real x; } model { target += x; target += 2 * target(); }";
    assert_logp(text, &[], &[0.7], 0.7 * 3.0);
}
