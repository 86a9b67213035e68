//! Simulation-based calibration passes models that are right and catches planted mistakes.
//!
//! False-alarm rate of each check that must pass: at most 1 in 100 by the band, with one fixed
//! seed. Where the data say little, a prior whose standard deviation is doubled doubles the
//! posterior's: a share Phi(2 Phi^-1(0.15)) = 0.02 of the ranks is then in the lowest 0.15, 5
//! standard errors of 200 ranks off.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use exmc::distributions::{half_normal, normal};
use exmc::model::DataSet;
use exmc::sbc::{ModelSimulator, Settings, Shape, sbc};
use exmc::{ErrorKind, ModelBuilder, StanProgram};

const RIGHT: &str = "
data { int<lower=0> N; vector[N] y; }
parameters { real mu; real<lower=0> tau; vector[N] theta; }
model { y ~ normal(theta, 20); theta ~ normal(mu, tau); mu ~ normal(0, 2); tau ~ normal(0, 1); }";

fn stan(text: &str) -> StanProgram {
    StanProgram::from_text("model.stan", text).unwrap()
}

#[test]
fn a_right_program_passes_and_a_prior_of_twice_the_width_is_caught() {
    let right = stan(RIGHT);
    let simulator = right.simulator("data", r#"{"N": 3}"#).unwrap();
    assert_eq!(simulator.outcomes(), ["y"]);
    let passed = sbc(&simulator, &Settings::default()).unwrap();
    let shapes: Vec<_> = passed.quantities.iter().map(|q| (&q.name, q.shape())).collect();
    assert!(passed.passes(), "{shapes:?}");
    assert_eq!(passed.quantities.len(), 5);

    let wrong = stan(&RIGHT.replace("mu ~ normal(0, 2)", "mu ~ normal(0, 4)"));
    let caught = sbc(&simulator.fitted_by(&wrong), &Settings::default()).unwrap();
    assert!(!caught.passes());
    let mu = caught.quantities.iter().find(|q| q.name == "mu").unwrap();
    assert_eq!(mu.shape(), Shape::Wide);
}

#[test]
fn results_do_not_depend_on_threads() {
    let program = stan(
        "data { int n; int y; } parameters { real<lower=0, upper=1> p; }
         model { y ~ binomial(n, p); }",
    );
    let simulator = program.simulator("data", r#"{"n": 10}"#).unwrap();
    let ranks = |threads| {
        let mut settings = Settings::default().replications(20);
        settings.sampler = settings.sampler.threads(threads);
        sbc(&simulator, &settings).unwrap().quantities[0].ranks.clone()
    };
    assert_eq!(ranks(1), ranks(2));
}

#[test]
fn models_are_checked_by_their_prior_predictive() {
    let model = |width: f64| {
        let mut model = ModelBuilder::new();
        model.rv("mu", normal(0, width));
        model.rv("sigma", half_normal(10));
        model.rv("y", normal("mu", "sigma")).shape(2);
        model.observe("y_seen", "y", [0.5, 1.0]);
        model.build().unwrap()
    };
    let (right, wrong) = (model(1.0), model(2.0));
    let simulator = ModelSimulator::new(&right, &DataSet::new()).unwrap();
    let passed = sbc(&simulator, &Settings::default()).unwrap();
    assert!(passed.passes());
    assert_eq!(
        passed.quantities.iter().map(|q| q.name.as_str()).collect::<Vec<_>>(),
        ["mu", "sigma"]
    );
    let wrong = ModelSimulator::fitted_by(&right, &DataSet::new(), &wrong).unwrap();
    assert!(!sbc(&wrong, &Settings::default()).unwrap().passes());
}

#[test]
fn what_cannot_be_simulated_says_which_statement() {
    let program = stan("data { real y; } parameters { real m; } model { y ~ normal(m, 1); }");
    let error = program.simulator("data", "{}").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Model);
    let text = error.to_string();
    assert!(text.contains("`m` has no proper prior") && text.contains("model.stan"), "{text}");
    // Limits would be left out of what the user's function draws.
    let program = stan(
        "functions { real own_lpdf(real y, real m) { return normal_lpdf(y | m, 1); }
           real own_lcdf(real y, real m) { return normal_lcdf(y | m, 1); }
           real own_lccdf(real y, real m) { return normal_lccdf(y | m, 1); }
           real own_rng(real m) { return normal_rng(m, 1); } }
         data { real y; } parameters { real m; } model { m ~ normal(0, 1); y ~ own(m) T[0, ]; }",
    );
    let text = program.simulator("data", "{}").unwrap_err().to_string();
    assert!(text.contains("`own_rng` does not know the limits"), "{text}");
}
