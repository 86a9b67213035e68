//! Functions that take functions -> a program for each, in the density and in generated quantities.

/// What the programs call.
const FUNCTIONS: &str = "functions {
  vector slope(real t, vector y, real k) { return -k * y; }
  array[] real old_slope(real t, array[] real y, array[] real th, data array[] real x, data array[] int n) { return {-th[1] * y[1]}; }
  vector residual(real t, vector y, vector dy, real k) { return [dy[1] + k * y[1], y[1] + y[2] - 1]'; }
  vector equation(vector x, real k) { return x .* x - [k, k]'; }
  vector old_equation(vector x, vector th, data array[] real r, data array[] int n) { return x .* x - th[1] * [1, 1]'; }
  real integrand(real x, real xc, array[] real th, data array[] real r, data array[] int n) { return exp(-th[1] * x * x); }
  real new_integrand(real x, real xc, real k) { return exp(-k * x * x); }
  vector job(vector phi, vector th, data array[] real r, data array[] int n) { return phi * th[1]; }
  real part(array[] real x, int first, int last, real k) { return normal_lpdf(x | k, 1); }
  real likelihood(vector theta, array[] int y, real k) { return poisson_log_lpmf(y | theta + k); }
  matrix covariance(array[] vector x, real k) { return add_diag(gp_exp_quad_cov(x, k, 1.0), 1e-6); }
}
";

/// Names (`S` stands for what tells them apart), and the call; `K` is a parameter or a number, `C`
/// a control argument.
const CALLS: &[(&str, &str)] = &[
    ("ode_rk45 ode_bdf ode_adams ode_ckrk", "sum(S(slope, [1, K]', 0.0, {0.5, 1.0}, K)[2])"),
    (
        "ode_rk45_tol ode_bdf_tol ode_adams_tol ode_ckrk_tol",
        "sum(S(slope, [1, K]', 0.0, {0.5, 1.0}, 1e-6, 1e-6, 1000, K)[2])",
    ),
    (
        "ode_adjoint_tol_ctl",
        "sum(S(slope, [1, K]', 0.0, {0.5, 1.0}, 1e-6, [1e-6, 1e-6]', 1e-6, [1e-6, 1e-6]', 1e-6, 1e-6, 1000, 20, 1, 1, 1, K)[2])",
    ),
    ("dae", "sum(S(residual, [1, 0]', [-K, K]', 0.0, {0.5, 1.0}, K)[2])"),
    ("dae_tol", "sum(S(residual, [1, 0]', [-K, K]', 0.0, {0.5, 1.0}, 1e-6, 1e-6, 1000, K)[2])"),
    ("solve_newton solve_powell", "sum(S(equation, [1, 1]', K))"),
    ("solve_newton_tol solve_powell_tol", "sum(S(equation, [1, 1]', 1e-8, 1e-8, 100, K))"),
    ("integrate_1d_gauss_kronrod integrate_1d_double_exponential", "S(new_integrand, 0, 1, K)"),
    (
        "integrate_1d_gauss_kronrod integrate_1d_double_exponential",
        "S(new_integrand, 0, positive_infinity(), K)",
    ),
    (
        "integrate_1d_gauss_kronrod integrate_1d_double_exponential",
        "S(new_integrand, negative_infinity(), K, K)",
    ),
    (
        "integrate_1d_gauss_kronrod_tol integrate_1d_double_exponential_tol",
        "S(new_integrand, 0, K, 1e-6, 1e-6, 12, K)",
    ),
    ("integrate_1d", "S(integrand, 0, 1, {K}, {1.0}, {1})"),
    ("integrate_1d", "S(integrand, 0, K, {K}, {1.0}, {1}, 1e-6)"),
    ("integrate_1d", "S(integrand, negative_infinity(), positive_infinity(), {K}, {1.0}, {1})"),
    (
        "integrate_ode integrate_ode_rk45 integrate_ode_bdf integrate_ode_adams",
        "sum(S(old_slope, {1.0}, 0.0, {0.5, 1.0}, {K}, {1.0}, {1})[2])",
    ),
    (
        "integrate_ode_rk45 integrate_ode_bdf integrate_ode_adams",
        "sum(S(old_slope, {1.0}, 0.0, {0.5, 1.0}, {K}, {1.0}, {1}, 1e-6, 1e-6, 1000)[2])",
    ),
    ("algebra_solver algebra_solver_newton", "sum(S(old_equation, [1, 1]', [K]', {1.0}, {1}))"),
    (
        "algebra_solver algebra_solver_newton",
        "sum(S(old_equation, [1, 1]', [K]', {1.0}, {1}, 1e-8, 1e-6, 100))",
    ),
    ("map_rect", "sum(S(job, [K]', {[K]', [1.0]'}, {{1.0}, {2.0}}, {{1}, {2}}))"),
    ("reduce_sum reduce_sum_static", "S(part, {K, 1.0, 2.0}, 1, K)"),
    ("laplace_marginal", "S(likelihood, ({1, 2}, K), 1, covariance, ({[0.1]', [0.7]'}, K))"),
    (
        "laplace_marginal_tol",
        "S(likelihood, ({1, 2}, K), 1, covariance, ({[0.1]', [0.7]'}, K), ([0, 0]', 1e-8, 100, 1, 10, 1))",
    ),
    (
        "laplace_marginal_bernoulli_logit_lpmf laplace_marginal_poisson_log_lpmf",
        "S({0, 1} | {1, 1}, [K, 0]', 1, covariance, ({[0.1]', [0.7]'}, K))",
    ),
    (
        "laplace_marginal_tol_bernoulli_logit_lpmf laplace_marginal_tol_poisson_log_lpmf",
        "S({0, 1} | {1, 1}, [K, 0]', 1, covariance, ({[0.1]', [0.7]'}, K), ([0, 0]', 1e-8, 100, 1, 10, 1))",
    ),
    (
        "laplace_marginal_neg_binomial_2_log_lpmf",
        "S({0, 1} | {1, 1}, [K, K]', [0, 0]', 1, covariance, ({[0.1]', [0.7]'}, K))",
    ),
    (
        "laplace_marginal_tol_neg_binomial_2_log_lpmf",
        "S({0, 1} | {1, 1}, [K, K]', [0, 0]', 1, covariance, ({[0.1]', [0.7]'}, K), ([0, 0]', 1e-8, 100, 1, 10, 1))",
    ),
    ("laplace_latent_rng", "sum(S(likelihood, ({1, 2}, K), 1, covariance, ({[0.1]', [0.7]'}, K)))"),
    (
        "laplace_latent_tol_rng",
        "sum(S(likelihood, ({1, 2}, K), 1, covariance, ({[0.1]', [0.7]'}, K), ([0, 0]', 1e-8, 100, 1, 10, 1)))",
    ),
    (
        "laplace_latent_solve",
        "sum(S(likelihood, ({1, 2}, 0.5), 1, covariance, ({[0.1]', [0.7]'}, 0.5)).1)",
    ),
    (
        "laplace_latent_solve_tol",
        "sum(S(likelihood, ({1, 2}, 0.5), 1, covariance, ({[0.1]', [0.7]'}, 0.5), ([0, 0]', 1e-8, 100, 1, 10, 1)).1)",
    ),
    (
        "laplace_latent_bernoulli_logit_rng laplace_latent_poisson_log_rng",
        "sum(S({0, 1}, {1, 1}, [K, 0]', 1, covariance, ({[0.1]', [0.7]'}, K)))",
    ),
    (
        "laplace_latent_tol_bernoulli_logit_rng laplace_latent_tol_poisson_log_rng",
        "sum(S({0, 1}, {1, 1}, [K, 0]', 1, covariance, ({[0.1]', [0.7]'}, K), ([0, 0]', 1e-8, 100, 1, 10, 1)))",
    ),
    (
        "laplace_latent_neg_binomial_2_log_rng",
        "sum(S({0, 1}, {1, 1}, [K, K]', [0, 0]', 1, covariance, ({[0.1]', [0.7]'}, K)))",
    ),
    (
        "laplace_latent_tol_neg_binomial_2_log_rng",
        "sum(S({0, 1}, {1, 1}, [K, K]', [0, 0]', 1, covariance, ({[0.1]', [0.7]'}, K), ([0, 0]', 1e-8, 100, 1, 10, 1)))",
    ),
];

/// Name, what tells this form from others, the program with the call in its density, and the one
/// with it in generated quantities.
pub(crate) fn programs() -> Vec<(&'static str, &'static str, Option<String>, Option<String>)> {
    let mut all = Vec::new();
    for (names, call) in CALLS {
        for name in names.split_whitespace() {
            let text = call.replacen('S', name, 1);
            let is_random = name.ends_with("_rng");
            let with = |k: &str| text.replace('K', k);
            let density = format!(
                "{FUNCTIONS}parameters {{ real<lower=0> k; }} model {{ target += {}; }}",
                with("k")
            );
            let quantities =
                format!("{FUNCTIONS}generated quantities {{ real q = {}; }}", with("0.7"));
            all.push((name, *call, (!is_random).then_some(density), Some(quantities)));
        }
    }
    all
}
