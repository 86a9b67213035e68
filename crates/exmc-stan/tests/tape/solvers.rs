//! Laplace approximations on the tape, with what they are given in every form, against differences
//! of the host's log density.

use crate::tape::harness::{assert_all, differences};

const FUNCTIONS: &str = "functions {
  real likelihood(vector theta, array[] int y, real k) { return poisson_log_lpmf(y | theta + k); }
  real two(vector theta, array[] int y, tuple(real, vector) k) {
    return poisson_log_lpmf(y | theta + k.1 + k.2);
  }
  matrix covariance(array[] vector x, real k) { return add_diag(gp_exp_quad_cov(x, 1 + k, 1.0), 0.1); }
  matrix spread(matrix base, array[] tuple(real, int) k) {
    return add_diag(base * exp(k[1].1), square(k[2].1) + k[1].2);
  }
}
transformed data {
  array[2] vector[1] x = {[0.1]', [0.7]'};
  matrix[2, 2] base = [[1, 0.5], [0.5, 2]];
}
";

const CONTROL: &str = "([0, 0]', 1e-8, 100, 1, 10, 1)";

#[test]
fn laplace_approximations_have_their_slopes() {
    let calls = [
        "laplace_marginal(likelihood, ({1, 2}, k), 1, covariance, (x, square(l)))".to_owned(),
        "laplace_marginal(two, ({1, 2}, (k, [l, 0.3]')), 1, spread, (base, {(l, 1), (k, 2)}))".to_owned(),
        "laplace_marginal(two, ({1, 2}, (0.5, [l, k]')), 2, spread, (base, {(0.1, 1), (0.2, 2)}))".to_owned(),
        format!("laplace_marginal_tol(likelihood, ({{1, 2}}, k), 1, covariance, (x, square(l)), {CONTROL})"),
        "laplace_marginal_tol(likelihood, ({1, 2}, k), 1, covariance, (x, square(l)), ([k, l]', 1e-8, 100, 1, 10, 1))".to_owned(),
        "laplace_marginal_poisson_log_lpmf({0, 1} | {1, 2}, [k, 0]', 1, covariance, (x, square(l)))".to_owned(),
        "laplace_marginal_bernoulli_logit_lpmf({0, 1} | {1, 1}, [k, l]', 1, covariance, (x, 0.7))".to_owned(),
        "laplace_marginal_neg_binomial_2_log_lpmf({0, 1} | {1, 2}, [exp(k), 2]', [0, l]', 1, covariance, (x, square(l)))".to_owned(),
        format!("laplace_marginal_tol_poisson_log_lpmf({{0, 1}} | {{1, 2}}, [k, 0]', 1, covariance, (x, square(l)), {CONTROL})"),
    ];
    let mut wrong = Vec::new();
    for call in calls {
        // Twice, with other data: each call has a program of its own.
        let text = format!(
            "{FUNCTIONS} parameters {{ real k; real l; }}
             model {{ target += {call}; target += 2 * {}; }}",
            call.replace("{1, 2}, ", "{2, 1}, ")
        );
        // The mode is exact to about 1e-12 of its size; differences of fourth order at 1e-3 lose
        // three digits.
        if let Err(why) = differences(&text, "{}", &[0.4, -0.6], 1e-7) {
            wrong.push(format!("{call}: {why}"));
        }
    }
    assert_all(&wrong);
}
