//! Parameters that are sampled as location + scale * z: the density changes by the Jacobian alone.

use exmc_graph::{Tensor, evaluate};
use exmc_stan::lower::{Options, StanLowered};
use exmc_stan::value::{Numbers, Value};

use crate::lower::harness::{logp, lowered, refused_with, try_lowered_with};

fn options(names: &[&str]) -> Options {
    let mut options = Options::default();
    options.non_centre = names.iter().map(|name| (*name).to_owned()).collect();
    options
}

fn non_centred(text: &str, data: &[(&str, Value)], names: &[&str]) -> StanLowered {
    try_lowered_with(text, data, options(names)).unwrap_or_else(|refusal| panic!("{:?}", refusal.0))
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{found}, {expected}");
}

/// What is recorded of a variable at a position.
fn recorded(lowered: &StanLowered, name: &str, position: &[f64]) -> Vec<f64> {
    let l = &lowered.lowered;
    let inputs = |name: &str| {
        let entry = l.layout.iter().find(|e| e.name == name)?;
        let values = &position[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values.to_vec())
    };
    let entry = l.trace.iter().find(|e| e.name == name).unwrap();
    evaluate(&l.graph, &[entry.node], &inputs).unwrap()[0].values().to_vec()
}

/// The position that recorded values of all parameters have.
fn position_of(lowered: &StanLowered, position: &[f64]) -> Vec<f64> {
    let l = &lowered.lowered;
    let inputs = |name: &str| {
        let entry = l.layout.iter().find(|e| e.name == name)?;
        Tensor::real(entry.constrained.clone(), recorded(lowered, name, position))
    };
    let found = evaluate(&l.inverse.graph, &l.inverse.outputs, &inputs).unwrap();
    found.iter().flat_map(|tensor| tensor.values().to_vec()).collect()
}

#[test]
fn each_family_changes_by_its_jacobian_alone() {
    let forms = [
        "normal(mu, tau)",
        "normal(0, tau)",
        "normal(mu, 1.5)",
        "student_t(4, mu, tau)",
        "student_t(exp(mu) + 1, mu, tau)",
        "cauchy(mu, tau)",
        "logistic(mu, tau)",
        "double_exponential(mu, tau)",
        "gumbel(mu, tau)",
    ];
    let (mu, log_tau, z) = (0.3, -0.8_f64, [0.5, -1.25, 2.0]);
    for form in forms {
        let text = format!(
            "parameters {{ vector[3] theta; real mu; real<lower=0> tau; }}
             model {{ theta ~ {form}; [1, 2, 3]' ~ normal(theta, 2); mu ~ normal(0, 3); }}"
        );
        let location = if form.contains("(0, ") { 0.0 } else { mu };
        let scale = if form.contains("1.5") { 1.5 } else { log_tau.exp() };
        let theta = z.map(|z| location + scale * z);
        let centred = logp(&lowered(&text, &[]), &[&theta[..], &[mu, log_tau]].concat());
        let standard = non_centred(&text, &[], &["theta"]);
        let position = [&z[..], &[mu, log_tau]].concat();
        // `~` leaves out the logarithm of a scale that is known, and so does z.
        let log_jacobian = if form.contains("1.5") { 0.0 } else { 3.0 * log_tau };
        close(logp(&standard, &position), centred + log_jacobian);
        for (found, expected) in recorded(&standard, "theta", &position).iter().zip(theta) {
            close(*found, expected);
        }
        for (found, expected) in position_of(&standard, &position).iter().zip(&position) {
            close(*found, *expected);
        }
    }
}

#[test]
fn loops_over_all_elements_count_as_one_statement() {
    let programs = [
        "parameters { vector[3] theta; vector[3] mu; real<lower=0> tau; }
         model { for (j in 1:3) theta[j] ~ normal(mu[j], tau); }",
        "parameters { array[3] real theta; vector[3] mu; real<lower=0> tau; }
         model { for (j in 1:3) theta[j] ~ normal(mu[j], tau); }",
        "parameters { array[3] row_vector[1] theta; vector[3] mu; real<lower=0> tau; }
         model { for (j in 1:3) theta[j] ~ normal(mu[j], tau); }",
        "parameters { matrix[3, 1] theta; vector[3] mu; real<lower=0> tau; }
         model { for (i in 1:3) for (j in 1:1) theta[i, j] ~ normal(mu[i], tau); }",
    ];
    let (mu, log_tau, z) = ([0.1, 0.2, -3.0], 0.4_f64, [0.5, -1.25, 2.0]);
    let expected = z.map(|z| -0.5 * z * z).iter().sum::<f64>() + log_tau;
    for text in programs {
        let lowered = non_centred(text, &[], &["theta"]);
        let position = [&z[..], &mu, &[log_tau]].concat();
        close(logp(&lowered, &position), expected);
        for (k, found) in recorded(&lowered, "theta", &position).iter().enumerate() {
            close(*found, mu[k] + log_tau.exp() * z[k]);
        }
    }
}

#[test]
fn vectors_with_a_covariance_are_multiplied_by_its_factor() {
    let factor = [2.0, 0.0, 0.5, 1.5];
    let covariance = [4.0, 1.0, 1.0, 2.5];
    for (family, matrix) in [("multi_normal_cholesky", factor), ("multi_normal", covariance)] {
        let text = format!(
            "data {{ matrix[2, 2] S; }} parameters {{ vector[2] theta; vector[2] mu; }}
             model {{ theta ~ {family}(mu, S); }}"
        );
        let data = [("S", Value::Reals(Numbers::new([2, 2], matrix.to_vec())))];
        let standard = non_centred(&text, &data, &["theta"]);
        let position = [0.5, -2.0, 1.0, 3.0];
        let theta = [1.0 + 2.0 * 0.5, 3.0 + 0.5 * 0.5 - 1.5 * 2.0];
        for (found, expected) in recorded(&standard, "theta", &position).iter().zip(theta) {
            close(*found, expected);
        }
        close(logp(&standard, &position), -0.5 * (0.25 + 4.0));
        for (found, expected) in position_of(&standard, &position).iter().zip(position) {
            close(*found, expected);
        }
    }
}

/// Arrays of vectors with one factor, each vector around a common mean or its own, in one statement
/// and in a loop.
#[test]
fn arrays_of_vectors_are_multiplied_by_a_common_factor() {
    let factor = [2.0, 0.0, 0.5, 1.5];
    let covariance = [4.0, 1.0, 1.0, 2.5];
    let z = [0.5, -2.0, 1.0, 0.25, -0.75, 3.0];
    for (family, matrix) in [("multi_normal_cholesky", factor), ("multi_normal", covariance)] {
        for separate_means in [false, true] {
            for by_loop in [false, true] {
                let (kind, mean) = if separate_means {
                    ("array[3] vector[2]", "mu[j]")
                } else {
                    ("vector[2]", "mu")
                };
                let says = if by_loop {
                    format!("for (j in 1:3) theta[j] ~ {family}({mean}, S);")
                } else {
                    format!("theta ~ {family}(mu, S);")
                };
                let text = format!(
                    "data {{ matrix[2, 2] S; }} parameters {{ array[3] vector[2] theta; {kind} mu; }} model {{ {says} }}"
                );
                let data = [("S", Value::Reals(Numbers::new([2, 2], matrix.to_vec())))];
                let standard = non_centred(&text, &data, &["theta"]);
                let means = if separate_means {
                    vec![1.0, 3.0, -1.0, 0.5, 2.0, 0.0]
                } else {
                    vec![1.0, 3.0]
                };
                let position = [&z[..], &means].concat();
                let mut theta = Vec::new();
                for j in 0..3 {
                    let mean_start = if separate_means { 2 * j } else { 0 };
                    theta.push(means[mean_start] + 2.0 * z[2 * j]);
                    theta.push(means[mean_start + 1] + 0.5 * z[2 * j] + 1.5 * z[2 * j + 1]);
                }
                let found = recorded(&standard, "theta", &position);
                assert_eq!(found.len(), 6, "{text}");
                for (found, expected) in found.iter().zip(theta) {
                    close(*found, expected);
                }
                close(logp(&standard, &position), -0.5 * z.iter().map(|z| z * z).sum::<f64>());
                for (found, expected) in position_of(&standard, &position).iter().zip(position) {
                    close(*found, expected);
                }
            }
        }
    }
}

#[test]
fn one_parameter_may_be_the_location_of_another() {
    let text = "parameters { real phi; real theta; real<lower=0> tau; }
        model { theta ~ normal(1, tau); phi ~ normal(theta, 2 * tau); tau ~ exponential(1); 0.5 ~ normal(phi, 1); }";
    let log_tau = 0.25_f64;
    let tau = log_tau.exp();
    let (z_phi, z_theta) = (0.7, -0.4);
    let theta = 1.0 + tau * z_theta;
    let phi = theta + 2.0 * tau * z_phi;
    let centred = logp(&lowered(text, &[]), &[phi, theta, log_tau]);
    for names in [["phi", "theta"], ["theta", "phi"]] {
        let standard = non_centred(text, &[], &names);
        let position = [z_phi, z_theta, log_tau];
        close(logp(&standard, &position), centred + tau.ln() + (2.0 * tau).ln());
        close(recorded(&standard, "phi", &position)[0], phi);
        close(recorded(&standard, "theta", &position)[0], theta);
        for (found, expected) in position_of(&standard, &position).iter().zip(position) {
            close(*found, expected);
        }
    }
}

#[test]
fn an_invalid_scale_still_rejects() {
    let text = "parameters { real theta; real s; } model { theta ~ normal(0, s); }";
    let standard = non_centred(text, &[], &["theta"]);
    assert_eq!(logp(&standard, &[0.5, -1.0]), f64::NEG_INFINITY);
    close(logp(&standard, &[0.5, 2.0]), -0.125);
}

#[test]
fn without_jacobians_the_density_is_that_of_the_parameter() {
    let text = "parameters { real theta; real<lower=0> s; } model { theta ~ normal(0, s); }";
    let mut options = options(&["theta"]);
    options.jacobian = false;
    let standard = try_lowered_with(text, &[], options).unwrap();
    // -z^2 / 2 - log s, with log s = 0.5.
    close(logp(&standard, &[2.0, 0.5]), -2.0 - 0.5);
}

#[test]
fn what_cannot_be_standardised_is_named_with_its_place() {
    let table = [
        ("real x;\n real<lower=0> s;", "x ~ gamma(2, s);", 2, "no statement `x ~"),
        ("real<lower=0> x;\n real s;", "x ~ normal(s, 1);", 2, "has a constraint"),
        ("real x;\n real s;", "\nx ~ normal(s * x, 1);", 5, "depends on itself"),
        ("vector[3] x;\n real s;", "\nx[1:2] ~ normal(s, 1);", 2, "no statement `x ~"),
        ("real x;\n real s;", "\nx ~ normal(s, 1) T[0, ];", 2, "no statement `x ~"),
        ("real x;\n real s;", "\nfor (i in 1:2) x ~ normal(s, 1);", 2, "no statement `x ~"),
        ("real y;\n real s;", "y ~ normal(s, 1);", 1, "has no such parameter"),
    ];
    for (parameters, model, line, words) in table {
        let text = format!("parameters {{\n {parameters} }}\nmodel {{ {model} }}");
        refused_with(&text, &[], options(&["x"]), (line, words));
    }
}
