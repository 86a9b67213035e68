//! Log likelihoods of single observations, found from a program's statements on data, against those
//! that the same program records when they are written by hand, and against closed forms.
//!
//! The terms come from the host interpreter, what is recorded from compiled generated quantities:
//! the two agree to rounding, 1e-12 relative to a term (or absolute below 1).
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use exmc::stan::{StanLikelihood, StanModel};
use exmc::{Fit, SamplerConfig, StanProgram, sample};

/// A program without generated quantities.
const NORMAL: &str = "data { int<lower=0> N; vector[N] x; vector[N] y; }
    parameters { real alpha; real beta; real<lower=0> sigma; }
    model {
      alpha ~ normal(0, 5);
      target += normal_lpdf(beta | 0, 5) + exponential_lpdf(sigma | 1);
      y ~ normal(alpha + beta * x, sigma);
    }";
const NORMAL_DATA: &str =
    r#"{"N": 5, "x": [0.1, -0.4, 1.2, 0.7, -1.5], "y": [0.3, 0.9, -0.2, 1.4, 2.2]}"#;

fn bind(program: &str, quantities: &str, data: &str) -> StanModel {
    let text = match quantities {
        "" => program.to_owned(),
        block => format!("{program}\ngenerated quantities {{ {block} }}"),
    };
    let program = StanProgram::from_text("model.stan", &text).unwrap();
    program.bind("data.json", data).unwrap()
}

fn config() -> SamplerConfig {
    SamplerConfig::default().chains(2).warmup(150).draws(60).seed(7)
}

/// Samples a program with `quantities`, which record `log_lik`, and compares with what is found
/// from the statements of the program without them.
fn check(program: &str, quantities: &str, data: &str, names: &[&str]) -> StanLikelihood {
    let recorded = sample(&bind(program, quantities, data), &config()).unwrap();
    let found = bind(program, "", data).log_likelihood(recorded.posterior()).unwrap();
    let all: Vec<&str> = found.observations.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(all, names, "{program}");
    let log_lik = &recorded["log_lik"];
    let n = names.len();
    assert_eq!(log_lik.element_shape().len(), n);
    let mut first = 0;
    for (_, array) in found.arrays.iter() {
        let width = array.element_shape().len();
        assert_eq!(array.shape()[..2], log_lik.shape()[..2]);
        for (found, expected) in array.iter().zip(log_lik.iter()) {
            for (a, b) in found.iter().zip(&expected[first..first + width]) {
                let scale = b.abs().max(1.0);
                assert!((a - b).abs() <= 1e-12 * scale, "{program}\n{a} is not {b}");
                assert!(a.is_finite());
            }
        }
        first += width;
    }
    assert_eq!(first, n);
    found
}

#[test]
fn of_a_regression() {
    let found = check(
        NORMAL,
        "vector[N] log_lik;
         for (n in 1:N) log_lik[n] = normal_lpdf(y[n] | alpha + beta * x[n], sigma);",
        NORMAL_DATA,
        &["y[1]", "y[2]", "y[3]", "y[4]", "y[5]"],
    );
    let linear = NORMAL.replace("vector[N] x", "matrix[N, 1] x").replace(
        "y ~ normal(alpha + beta * x, sigma)",
        "y ~ normal_id_glm(x, alpha, [beta]', sigma)",
    );
    let names = ["y[1]", "y[2]", "y[3]", "y[4]", "y[5]"];
    check(
        &linear,
        "vector[N] log_lik;
         for (n in 1:N) log_lik[n] = normal_lpdf(y[n] | alpha + beta * x[n, 1], sigma);",
        r#"{"N": 5, "x": [[0.1], [-0.4], [1.2], [0.7], [-1.5]], "y": [0.3, 0.9, -0.2, 1.4, 2.2]}"#,
        &names,
    );
    let [statement] = &found.statements[..] else { panic!("{:?}", found.statements) };
    assert_eq!((statement.line, statement.terms, statement.is_joint), (6, 5, false));
    assert_eq!(statement.text, "y ~ normal(alpha + beta * x, sigma);");
}

#[test]
fn of_binary_outcomes_given_a_linear_model() {
    let quantities = "vector[N] log_lik;
        for (n in 1:N) log_lik[n] = bernoulli_logit_lpmf(y[n] | alpha + x[n] * beta);";
    let names = ["y[1]", "y[2]", "y[3]", "y[4]"];
    let data = r#"{"N": 4, "x": [[0.1, 2], [-0.4, 1], [1.2, -1], [0.3, 0.2]], "y": [0, 1, 1, 0]}"#;
    for statement in [
        "y ~ bernoulli_logit(alpha + x * beta);",
        "target += bernoulli_logit_glm_lupmf(y | x, alpha, beta);",
        "for (n in 1:N) { real eta = alpha + x[n] * beta; y[n] ~ bernoulli_logit(eta); }",
    ] {
        let program = format!(
            "data {{ int N; matrix[N, 2] x; array[N] int<lower=0, upper=1> y; }}
             parameters {{ real alpha; vector[2] beta; }}
             model {{ alpha ~ std_normal(); beta ~ std_normal(); {statement} }}"
        );
        check(&program, quantities, data, &names);
    }
}

#[test]
fn of_counts_in_loops() {
    let data = r#"{"N": 5, "J": 2, "g": [1, 2, 2, 1, 2], "y": [3, 0, 7, 2, 1], "used": 1}"#;
    let quantities = "vector[N] log_lik;
        for (n in 1:N) log_lik[n] = poisson_log_lpmf(y[n] | mu + eta[g[n]]);";
    let names = ["y[1]", "y[2]", "y[3]", "y[4]", "y[5]"];
    for statement in [
        "for (n in 1:N) y[n] ~ poisson_log(mu + eta[g[n]]);",
        // Another order of the observations, and a condition on data.
        "if (used) { for (n in 1:N) { int m = N - n + 1; y[m] ~ poisson_log(mu + eta[g[m]]); } }",
        // Vectors of each group's.
        "for (j in 1:J) { array[N] int at; int k = 0;
           for (n in 1:N) if (g[n] == j) { k += 1; at[k] = n; }
           y[at[1:k]] ~ poisson_log(mu + eta[j]); }",
        "profile(\"all\") { target += poisson_log_lpmf(y | mu + eta[g]); }",
    ] {
        let program = format!(
            "data {{ int N; int J; array[N] int g; array[N] int y; int used; }}
             parameters {{ real mu; vector[J] eta; }}
             model {{ mu ~ normal(0, 1); eta ~ std_normal(); {statement} }}"
        );
        check(&program, quantities, data, &names);
    }
}

#[test]
fn of_binomial_outcomes_and_one_number() {
    let program = "data { int J; array[J] int n; array[J] int y; int total; int seen; }
        parameters { real<lower=0, upper=1> p; real<lower=0> rate; }
        model { rate ~ exponential(0.1); y ~ binomial(n, p); seen ~ poisson(rate * total); }";
    let quantities = "vector[J + 1] log_lik;
        for (j in 1:J) log_lik[j] = binomial_lpmf(y[j] | n[j], p);
        log_lik[J + 1] = poisson_lpmf(seen | rate * total);";
    let data = r#"{"J": 3, "n": [10, 4, 7], "y": [3, 0, 7], "total": 4, "seen": 9}"#;
    let found = check(program, quantities, data, &["y[1]", "y[2]", "y[3]", "seen"]);
    assert_eq!(found.arrays.names(), ["y", "seen"]);
    assert_eq!(found.arrays["seen"].shape(), [2, 60]);
}

#[test]
fn of_vectors_each_is_one_observation() {
    let data = r#"{"N": 3, "y": [[0.1, 0.3], [1.2, -0.7], [-0.5, 0.6]]}"#;
    let quantities = "vector[N] log_lik;
        for (n in 1:N) log_lik[n] = multi_normal_cholesky_lpdf(y[n] | mu, diag_pre_multiply(tau, L));";
    for statement in [
        "y ~ multi_normal_cholesky(mu, diag_pre_multiply(tau, L));",
        "y ~ multi_normal(mu, multiply_lower_tri_self_transpose(diag_pre_multiply(tau, L)));",
        "for (n in 1:N) y[n] ~ multi_normal_cholesky(mu, diag_pre_multiply(tau, L));",
    ] {
        let program = format!(
            "data {{ int N; array[N] vector[2] y; }}
             parameters {{ vector[2] mu; vector<lower=0>[2] tau; cholesky_factor_corr[2] L; }}
             model {{ L ~ lkj_corr_cholesky(4); mu ~ std_normal(); tau ~ gamma(4, 4); {statement} }}"
        );
        check(&program, quantities, data, &["y[1]", "y[2]", "y[3]"]);
    }
}

#[test]
fn of_ordered_and_unordered_categories() {
    let data =
        r#"{"N": 5, "x": [0.1, -0.4, 1.2, 0.7, -1.5], "y": [1, 3, 2, 3, 1], "z": [2, 1, 1, 3, 3]}"#;
    let quantities = "vector[2 * N] log_lik;
        for (n in 1:N) { log_lik[n] = ordered_logistic_lpmf(y[n] | beta * x[n], c);
                         log_lik[N + n] = categorical_logit_lpmf(z[n] | theta); }";
    let names: Vec<String> = ["y", "z"]
        .iter()
        .flat_map(|outcome| (1..=5).map(move |n| format!("{outcome}[{n}]")))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for statement in [
        "y ~ ordered_logistic(beta * x, c); z ~ categorical_logit(theta);",
        "for (n in 1:N) { z[n] ~ categorical_logit(theta); y[n] ~ ordered_logistic(beta * x[n], c); }",
    ] {
        let program = format!(
            "data {{ int N; vector[N] x; array[N] int y; array[N] int z; }}
             parameters {{ real beta; ordered[2] c; vector[3] theta; }}
             model {{ beta ~ std_normal(); c ~ normal(0, 2); theta ~ std_normal(); {statement} }}"
        );
        check(&program, quantities, data, &names);
    }
}

#[test]
fn of_truncated_outcomes() {
    let data = r#"{"N": 3, "y": [0.2, 1.4, 0.9], "k": [1, 4, 2]}"#;
    let program = "data { int N; vector[N] y; array[N] int k; }
        parameters { real mu; real<lower=0> sigma; vector<lower=0>[N] rate; }
        model {
          mu ~ normal(0, 1); sigma ~ gamma(3, 3); rate ~ gamma(2, 1);
          for (n in 1:N) y[n] ~ normal(mu, sigma) T[0, 2];
          for (n in 1:N) k[n] ~ poisson(rate[n]) T[1, ];
        }";
    let quantities = "vector[2 * N] log_lik;
        for (n in 1:N) {
          log_lik[n] = normal_lpdf(y[n] | mu, sigma)
            - log_diff_exp(normal_lcdf(2 | mu, sigma), normal_lcdf(0 | mu, sigma));
          log_lik[N + n] = poisson_lpmf(k[n] | rate[n]) - poisson_lccdf(0 | rate[n]);
        }";
    check(program, quantities, data, &["y[1]", "y[2]", "y[3]", "k[1]", "k[2]", "k[3]"]);
}

#[test]
fn of_a_hierarchy_with_several_outcomes() {
    // Parameters and what is computed from them have priors; `w` is observed twice.
    let program = "data { int N; int J; array[N] int g; matrix[J, 2] m; vector[N] y; vector<lower=0>[N] w; }
        parameters { real mu; real<lower=0> tau; vector[J] z; real<lower=0> sigma; matrix[J, 2] u; }
        transformed parameters { vector[J] theta = mu + tau * z; real lprior = 0;
          lprior += normal_lpdf(mu | 0, 5) - 1 * normal_lccdf(0 | 1, 2); }
        model {
          target += lprior + std_normal_lpdf(z);
          tau ~ normal(0, 1); theta ~ normal(0, 10); sigma ~ exponential(1); to_vector(u) ~ std_normal();
          y ~ normal(theta[g], sigma);
          to_vector(m) ~ normal(to_vector(u), 0.5);
          for (n in 1:N) log(w[n]) ~ normal(theta[g[n]], 1);
          w ~ exponential(2);
        }";
    let quantities = "vector[2 * N + 2 * J] log_lik;
        for (j in 1:J) for (k in 1:2) log_lik[2 * (j - 1) + k] = normal_lpdf(m[j, k] | u[j, k], 0.5);
        for (n in 1:N) {
          log_lik[2 * J + n] = normal_lpdf(y[n] | theta[g[n]], sigma);
          log_lik[2 * J + N + n] = normal_lpdf(log(w[n]) | theta[g[n]], 1) + exponential_lpdf(w[n] | 2);
        }";
    let data = r#"{"N": 3, "J": 2, "g": [1, 2, 1], "m": [[0.1, 0.2], [0.3, -0.4]],
                   "y": [0.5, -0.5, 1.0], "w": [0.3, 1.2, 0.8]}"#;
    let names =
        ["m[1,1]", "m[1,2]", "m[2,1]", "m[2,2]", "y[1]", "y[2]", "y[3]", "w[1]", "w[2]", "w[3]"];
    let found = check(program, quantities, data, &names);
    let terms: Vec<(u32, usize)> = found.statements.iter().map(|s| (s.line, s.terms)).collect();
    assert_eq!(terms, [(8, 3), (9, 4), (10, 3), (11, 3)]);
}

#[test]
fn of_densities_that_the_program_defines() {
    let functions = "functions {
        real own_lpdf(real y, real mu) { return -square(y - mu) - 0.5 * log(pi()); }
        real all_lpdf(vector y, real mu) { return normal_lupdf(y | mu, 2); } }";
    let program = |statement: &str| {
        format!(
            "{functions} data {{ int N; vector[N] y; }} parameters {{ real mu; }}
             model {{ mu ~ own(0); {statement} }}"
        )
    };
    let data = r#"{"N": 3, "y": [0.2, 1.4, 0.9]}"#;
    let each = "vector[N] log_lik; for (n in 1:N) log_lik[n] = own_lpdf(y[n] | mu);";
    for statement in ["for (v in y) v ~ own(mu);", "for (n in 1:N) target += own_lupdf(y[n] | mu);"]
    {
        let name = if statement.contains("v ~") { "v" } else { "y" };
        let names: Vec<String> = (1..=3).map(|n| format!("{name}[{n}]")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        check(&program(statement), each, data, &names);
    }
    // A density of a whole vector says nothing of its elements.
    let joint = "vector[1] log_lik; log_lik[1] = normal_lpdf(y | mu, 2);";
    let found = check(&program("y ~ all(mu);"), joint, data, &["y"]);
    assert!(found.statements[0].is_joint);
}

/// Terms at one draw of the program, with values from scipy.
fn check_terms(program: &str, data: &str, init: &[(&str, f64)], expected: &[f64]) {
    let model = bind(program, "", data);
    // A run of one draw, whose values are then replaced.
    let config = SamplerConfig::default().chains(1).warmup(20).draws(1);
    let mut posterior = sample(&model, &config).unwrap().posterior().clone();
    for (name, value) in init {
        let place = posterior.variable(name).unwrap().offset;
        posterior.chains[0].values[place] = *value;
    }
    let found = model.log_likelihood(&posterior).unwrap();
    let found: Vec<f64> =
        found.arrays.iter().flat_map(|(_, array)| array.values().to_vec()).collect();
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
    }
}

#[test]
fn terms_are_those_of_scipy() {
    // scipy.stats.norm.logpdf(y, 0.5 - 0.25 * x, 0.8)
    let init = [("alpha", 0.5), ("beta", -0.25), ("sigma", 0.8)];
    check_terms(NORMAL, NORMAL_DATA, &init, &SCIPY_NORMAL);
    // scipy.stats.nbinom.logpmf(y, 2.5, 2.5 / (2.5 + 3.0))
    let program = "data { int N; array[N] int y; } parameters { real<lower=0> mu; real<lower=0> phi; }
        model { mu ~ gamma(2, 1); phi ~ gamma(2, 1); for (n in 1:N) y[n] ~ neg_binomial_2(mu, phi); }";
    check_terms(
        program,
        r#"{"N": 4, "y": [0, 3, 1, 8]}"#,
        &[("mu", 3.0), ("phi", 2.5)],
        &SCIPY_COUNTS,
    );
    // scipy.stats.truncnorm.logpdf(y, -0.5 / 1.25, (2 - 0.5) / 1.25, 0.5, 1.25)
    let program = "data { int N; vector[N] y; } parameters { real mu; real<lower=0> sigma; }
        model { mu ~ normal(0, 1); sigma ~ gamma(2, 1); y ~ normal(mu, sigma) T[0, 2]; }";
    check_terms(
        program,
        r#"{"N": 3, "y": [0.2, 1.4, 0.9]}"#,
        &[("mu", 0.5), ("sigma", 1.25)],
        &SCIPY_TRUNCATED,
    );
}

const SCIPY_NORMAL: [f64; 5] = [
    -0.719720763140463,
    -0.766107481890463,
    -0.820794981890463,
    -1.5986270131404625,
    -2.0673770131404634,
];
const SCIPY_COUNTS: [f64; 4] =
    [-1.9711434009106754, -1.9081791837038797, -1.660988472606836, -3.768890383287607];
const SCIPY_TRUNCATED: [f64; 3] = [-0.5553477166987928, -0.7857477166987925, -0.5777477166987928];

/// The message for a statement in a model of `y`, with the place and the hint.
fn refused(statement: &str, message: &str) {
    let program = format!(
        "functions {{
           void add_lp(vector y, real mu) {{ y ~ normal(mu, 1); }}
           real part_lpdf(array[] real y, int start, int end, real mu) {{ return normal_lupdf(y | mu, 1); }}
         }}
         data {{ int N; vector[N] y; array[N] int cens; real U; array[N] real z; }}
         parameters {{ real<lower=0, upper=1> p; ordered[2] mu; real<lower=0> sigma; vector[N] miss; }}
         model {{
           p ~ beta(2, 2); mu ~ normal(0, 1); sigma ~ exponential(1); miss ~ normal(0, 1);
           z ~ normal(mu[1], 1);
           {statement}
         }}"
    );
    let data = r#"{"N": 2, "y": [0.5, 1.5], "cens": [0, 1], "U": 2, "z": [0.1, 0.2]}"#;
    let model = bind(&program, "", data);
    let config = SamplerConfig::default().chains(1).warmup(30).draws(2);
    let fit = sample(&model, &config).unwrap();
    let error = model.log_likelihood(fit.posterior()).unwrap_err().to_string();
    assert!(error.contains(message), "{statement}\n{error}");
    assert!(error.contains("model.stan:10:") && error.contains("log_lik"), "{error}");
    // Neither does a fit leave them out.
    assert_eq!(fit.loo().unwrap_err().to_string(), error);
}

#[test]
fn what_has_no_term_for_each_observation_is_refused() {
    let mixed = "is computed from data and parameters, and is no density of data";
    refused(
        "for (n in 1:N) target += log_mix(p, normal_lpdf(y[n] | mu[1], 1), normal_lpdf(y[n] | mu[2], 1));",
        "of what is no parameter, but not as a density of data alone",
    );
    refused(
        "for (n in 1:N) if (cens[n]) target += normal_lccdf(U | mu[1], sigma);
         else y[n] ~ normal(mu[1], sigma);",
        "adds `normal_lccdf` of what is no parameter",
    );
    refused("target += -N * normal_lccdf(0 | mu[1], sigma);", "adds `normal_lccdf`");
    refused("target += 0.5 * normal_lpdf(y | mu[1], 1);", "adds `normal_lpdf`");
    refused("target += -normal_lpdf(y | mu[1], 1);", "adds `normal_lpdf`");
    refused(
        "{ real all = 0; for (n in 1:N) all += normal_lpdf(y[n] | mu[1], 1); target += all; }",
        mixed,
    );
    refused("target += -0.5 * dot_self(y - mu[1]);", mixed);
    refused("target += reduce_sum(part_lupdf, to_array_1d(y), 1, mu[1]);", mixed);
    refused("y - mu[1] ~ normal(0, sigma);", "it is not clear what is observed");
    refused("{ vector[N] all = y; all[2] = miss[2]; all ~ normal(mu[1], 1); }", "not clear what");
    refused("0 ~ normal(mu[1], 1);", "neither data nor a parameter");
    refused("if (mu[1] > 0) y ~ normal(mu[1], 1);", "whether this statement on data runs depends");
    refused("for (n in 1:N) { if (mu[1] > n) break; y[n] ~ normal(mu[1], 1); }", "depends on");
    refused("add_lp(y, mu[1]);", "`add_lp` adds to the log density");
}

#[test]
fn a_model_of_parameters_alone_has_no_observations() {
    let model = bind("parameters { real m; } model { m ~ normal(0, 1); }", "", "{}");
    let fit = sample(&model, &config()).unwrap();
    let error = fit.log_likelihood().unwrap_err().to_string();
    assert!(error.contains("no statement of the model says how likely the data are"), "{error}");
}

/// Leave-one-out of a fit.
fn loo(program: &str, quantities: &str, data: &str) -> (Fit, exmc_diagnose::Loo) {
    let fit = sample(&bind(program, quantities, data), &config()).unwrap();
    let loo = fit.loo().unwrap();
    (fit, loo)
}

#[test]
fn leave_one_out_is_that_of_the_recorded_terms() {
    let quantities = "vector[N] log_lik;
        for (n in 1:N) log_lik[n] = normal_lpdf(y[n] | alpha + beta * x[n], sigma);";
    let ((found, of_statements), (recorded, of_recorded)) =
        (loo(NORMAL, "", NORMAL_DATA), loo(NORMAL, quantities, NORMAL_DATA));
    assert_eq!(found["alpha"], recorded["alpha"]);
    for (a, b) in of_statements.pointwise.iter().zip(&of_recorded.pointwise) {
        assert!((a.elpd - b.elpd).abs() < 1e-10 && (a.pareto_k - b.pareto_k).abs() < 1e-8);
    }
    // Draws are moved through the statements too.
    let (a, b) = (found.loo_moment_matched().unwrap(), recorded.loo_moment_matched().unwrap());
    assert_eq!(a.1, b.1);
    assert!((a.0.elpd - b.0.elpd).abs() < 1e-8);
}

#[test]
fn an_interpreted_program_has_the_same_terms() {
    use exmc::advanced::CompileOptions;
    use exmc::stan::{Interpreter, StanOptions};
    let text = "data { int N; vector[N] y; } parameters { real m; }
        transformed parameters { real twice = 2 * m; }
        model { m ~ normal(0, 1); y ~ normal(twice, 1); }";
    let program = StanProgram::from_text("model.stan", text).unwrap();
    let data = r#"{"N": 2, "y": [0.5, 1.5]}"#;
    let mut compile = CompileOptions::default();
    compile.interpreter = Interpreter::Always;
    let mut options = StanOptions::default();
    options.compile = compile;
    let interpreted = program.bind_with("data.json", data, &options).unwrap();
    let fit = sample(&interpreted, &config()).unwrap();
    let compiled = program.bind("data.json", data).unwrap();
    let expected = compiled.log_likelihood(fit.posterior()).unwrap();
    assert_eq!(fit.log_likelihood().unwrap(), expected.arrays);
}

#[test]
fn folds_are_those_of_the_recorded_terms() {
    let quantities = "vector[N] log_lik;
        for (n in 1:N) log_lik[n] = normal_lpdf(y[n] | alpha + beta * x[n], sigma);";
    let folds = |quantities: &str| {
        let config = SamplerConfig::default().seed(5);
        let fit = sample(&bind(NORMAL, quantities, NORMAL_DATA), &config).unwrap();
        fit.kfold(&[0, 1, 0, 1, 0]).unwrap()
    };
    let (found, recorded) = (folds(""), folds(quantities));
    for (a, b) in found.pointwise.iter().zip(&recorded.pointwise) {
        // The densities differ in rounding, and so the draws: five Monte Carlo errors of a log mean
        // density over 4000 draws (0.03 at most).
        assert!((a - b).abs() < 0.15, "{a} is not {b}");
    }
}

#[test]
fn statements_that_nothing_can_be_left_out_of_say_so() {
    let text = "data { array[2] vector[2] y; vector[2] z; } parameters { real mu; }
        model { mu ~ normal(0, 1);
          for (i in 1:2) y[i] ~ normal(mu, 1);
          z[1] ~ normal(mu, 1); }";
    let data = r#"{"y": [[1, 2], [3, 4]], "z": [0.5, 1]}"#;
    let config = SamplerConfig::default().chains(1).warmup(100).draws(50);
    let fit = sample(&bind(text, "", data), &config).unwrap();
    assert_eq!(fit.loo().unwrap().pointwise.len(), 5);
    let error = fit.kfold(&[0, 0, 0, 1, 1]).unwrap_err().to_string();
    assert!(error.contains("cannot be left out of this statement") && error.contains("log_lik"));
    assert!(error.contains("model.stan:3:"), "{error}");
}
