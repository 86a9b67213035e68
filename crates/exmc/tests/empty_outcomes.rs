//! Outcomes of no elements beside an effect that is integrated out: what is left is the prior.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc::StanProgram;
use exmc::advanced::Executor;
use exmc::stan::StanOptions;

/// The outcomes' location reads one element of the effect, and their scale is a vector of data, so
/// that the density has a loop over nothing which reads by index.
const PROGRAM: &str = "data { int n; vector[n] y; vector[n] a; vector[n] b; array[1] int k; }
parameters { real m; real<lower=0> s; vector[2] z; }
model { m ~ cauchy(0, 1); s ~ lognormal(0, 1); z ~ normal(m, s); y ~ normal(m + a + z[k[1]], s * b); }";

#[test]
fn nothing_observed_leaves_the_prior() {
    let data = r#"{"n": 0, "y": [], "a": [], "b": [], "k": [1]}"#;
    for executor in [Executor::Native, Executor::Reference] {
        for marginalise in [true, false] {
            let mut options = StanOptions::default();
            options.compile.marginalise = Some(marginalise);
            options.compile.executor = executor;
            let program = StanProgram::from_text("empty.stan", PROGRAM).unwrap();
            let model = program.bind_with("empty.json", data, &options).unwrap().bound().clone();
            assert_eq!(model.integrated_out().count(), usize::from(marginalise));
            // m is Cauchy, log s standard normal; the effects, where they are coordinates, add
            // their own density at their location.
            let evaluate_at = |m: f64, log_s: f64| {
                let effects = if marginalise { vec![] } else { vec![m, m] };
                model.logp_grad(&[vec![m, log_s], effects].concat()).unwrap()
            };
            let (first, _) = evaluate_at(0.0, 0.0);
            for (m, log_s) in [(0.7, -1.2), (-2.0, 0.4)] {
                let (logp, gradient) = evaluate_at(m, log_s);
                let of_effects = if marginalise { 0.0 } else { -2.0 * log_s };
                let expected = -(m * m).ln_1p() - 0.5 * log_s * log_s + of_effects;
                assert!((logp - first - expected).abs() < 1e-12, "{executor:?} {logp} {expected}");
                assert!(
                    (gradient[0] + 2.0 * m / (1.0 + m * m)).abs() < 1e-12,
                    "{executor:?} {gradient:?}"
                );
            }
        }
    }
}
