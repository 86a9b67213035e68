//! Densities in `f32` where the scale of everything is 1e-20 to 1e20: value and gradient are those
//! of `f64`, to the digits of `f32`.
//!
//! Every density with a scale (or rate, or a limit) is written about outcomes of that scale, one
//! size from it: with one scale for all outcomes, with a location by group, and with location and
//! scale of each outcome. Squares of scales, and of their reciprocals, leave the range of `f32`; so
//! no density may need one.
#![expect(clippy::disallowed_methods, reason = "what judges shares no code with exmc-math")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{DensitySource, Executor, Settings, compile_with};
use exmc_graph::Precision;
use exmc_stan::host::Environment;
use exmc_stan::lower::{Options, lower};
use exmc_stan::typed::{Scope, VariableId};
use exmc_stan::value::Value;

const N: usize = 1000;
/// Groups, more than what is short.
const GROUPS: usize = 100;
const SCALES: [f64; 5] = [1e-20, 1e-15, 1.0, 1e15, 1e20];

/// A density of outcomes with a location and a scale, as a call with `@` for the location and `%`
/// for the scale.
const LOCATED: &[&str] = &[
    "normal(@, %)",
    "student_t(4.5, @, %)",
    "student_t(nu, @, %)",
    "cauchy(@, %)",
    "double_exponential(@, %)",
    "logistic(@, %)",
    "gumbel(@, %)",
    "skew_normal(@, %, 1.5)",
    "skew_normal(@, %, nu)",
    "skew_double_exponential(@, %, 0.3)",
    "exp_mod_normal(@, %, 0.7 / s)",
    "exp_mod_normal(@, %, inv(%))",
];

/// The same of positive outcomes that have a scale.
const POSITIVE: &[&str] = &[
    "exponential(inv(%))",
    "gamma(2.5, inv(%))",
    "gamma(nu, inv(%))",
    "inv_gamma(2.5, %)",
    "inv_gamma(nu, %)",
    "weibull(1.7, %)",
    "weibull(nu, %)",
    "frechet(1.7, %)",
    "frechet(nu, %)",
    "loglogistic(%, 2.5)",
    "loglogistic(%, nu)",
    "rayleigh(%)",
    "lognormal(log(%), 0.7)",
    "scaled_inv_chi_square(3.5, sqrt(%))",
    "scaled_inv_chi_square(nu, sqrt(%))",
    "pareto(0.01 * s, nu)",
    "pareto_type_2(0, %, 2.5)",
    "pareto_type_2(0, %, nu)",
];

/// Where location and scale come from.
const LOCATIONS: [&str; 3] = ["mu", "(mu + b * x)", "m[group]"];
const SPREADS: [&str; 6] =
    ["sigma", "(sigma * w)", "exp(log(sigma) + 0.3 * c * z)", "s", "(s * w)", "t[group]"];

/// Irregular numbers between -1 and 1.
fn series(n: usize, stride: usize) -> Vec<f64> {
    let fraction = |k: usize| ((k * stride + 1) as f64 * 0.618_033_988_749_894_9).fract();
    (0..n).map(|k| 2.0 * fraction(k) - 1.0).collect()
}

fn text(call: &str, location: &str, spread: &str) -> String {
    let call = call.replace('@', location).replace('%', spread);
    format!(
        "data {{ real s; vector[{N}] y; vector[{N}] x; vector[{N}] z; vector[{N}] w; array[{N}] int group; }}
parameters {{ real mu; real b; vector[{GROUPS}] m; real<lower=0> sigma; real<lower=0> nu; real c; vector<lower=0>[{GROUPS}] t; }}
model {{ y ~ {call}; }}
"
    )
}

/// Log density and gradient at a position, and whether anything is rounded to `f32`.
fn evaluate(
    text: &str,
    data: &[(&str, Value)],
    position: &[f64],
    (executor, precision): (Executor, Precision),
) -> (Vec<f64>, bool) {
    let program = crate::support::program(text);
    let mut environment = Environment::new(&program);
    for (k, variable) in program.variables.iter().enumerate() {
        if variable.scope == Scope::Data {
            let (_, value) = data.iter().find(|(name, _)| *name == &*variable.name).unwrap();
            environment.set(VariableId(k as u32), value.clone());
        }
    }
    let lowered = lower(&program, &environment, Options::default());
    let lowered = lowered.unwrap_or_else(|why| panic!("{why:?}\n{text}")).lowered;
    let parameters = lowered.layout.iter().map(|e| (e.input, e.offset)).collect();
    let source =
        DensitySource { graph: lowered.graph, logp: lowered.logp, parameters, dim: lowered.dim };
    let settings = Settings::of(executor).at_precision(precision);
    let compiled = compile_with(&settings, &source).unwrap();
    let bound = compiled.bind(&|_| None).unwrap();
    let mut values = vec![0.0; position.len() + 1];
    values[0] = bound.instance().logp_grad(position, &mut values[1..]).unwrap();
    (values, compiled.rounds())
}

/// Every form of a call, at every scale: what is wrong, and the share of native programs that
/// round.
fn check(call: &str, locations: &[&str], outcomes: fn(f64) -> f64) -> (Vec<String>, [usize; 2]) {
    let (mut wrong, mut shares) = (Vec::new(), [0, 0]);
    for s in SCALES {
        let vector = |x: Vec<f64>| Value::reals(x);
        let y: Vec<f64> = series(N, 3).iter().map(|u| s * outcomes(*u)).collect();
        let group: Vec<i64> = (0..N).map(|k| (k % GROUPS + 1) as i64).collect();
        let data = [
            ("s", Value::Real(s)),
            ("y", vector(y)),
            ("x", vector(series(N, 5).iter().map(|u| 0.5 * u).collect())),
            ("z", vector(series(N, 7))),
            ("w", vector(series(N, 11).iter().map(|u| (0.3 * u).exp()).collect())),
            ("group", Value::ints(group)),
        ];
        let mut position = vec![0.1 * s, -0.3 * s];
        position.extend(series(GROUPS, 13).iter().map(|u| 0.2 * s * u));
        position.extend([s.ln() + 0.2, 0.9, 0.4]);
        position.extend(series(GROUPS, 17).iter().map(|u| s.ln() + 0.2 * u));
        for location in locations {
            for spread in SPREADS {
                let text = text(call, location, spread);
                let run =
                    |executor, precision| evaluate(&text, &data, &position, (executor, precision));
                let (wanted, _) = run(Executor::Reference, Precision::F64);
                assert!(wanted.iter().all(|x| x.is_finite()), "{wanted:?} at {s:e} of\n{text}");
                for executor in [Executor::Reference, Executor::Native] {
                    let (found, rounds) = run(executor, Precision::F32);
                    if executor == Executor::Native {
                        shares = [shares[0] + usize::from(rounds), shares[1] + 1];
                    }
                    for (k, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                        // N terms, each of size log s or one, or a slope by what has the scale.
                        let has_scale = (1..=2 + GROUPS).contains(&k);
                        let size = if has_scale { s.recip() } else { 1.0 + s.ln().abs() };
                        let bound = TOLERANCE * (N as f64 * size + wanted.abs());
                        let is_near = (found - wanted).abs() <= bound;
                        if !is_near {
                            wrong.push(format!(
                                "{} {call} {location} {spread} at {s:e}, element {k}: {found:e}, expected {wanted:e}",
                                executor.name()
                            ));
                        }
                    }
                }
            }
        }
    }
    (wrong, shares)
}

/// A term is off by half an ulp of `f32` (6e-8) for each of a dozen operations, and so is the size
/// of all terms at most.
const TOLERANCE: f64 = 1e-6;

fn all(calls: &[&str], locations: &[&str], outcomes: fn(f64) -> f64) {
    let (mut wrong, mut shares) = (Vec::new(), [0, 0]);
    for call in calls {
        let (failures, [rounded, all]) = check(call, locations, outcomes);
        wrong.extend(failures);
        shares = [shares[0] + rounded, shares[1] + all];
    }
    assert!(shares[0] * 4 > shares[1], "{} of {} native programs round", shares[0], shares[1]);
    let first: Vec<&str> = wrong.iter().take(80).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} elements:\n{}", wrong.len(), first.join("\n"));
}

#[test]
fn densities_about_a_location_hold_at_any_scale() {
    all(LOCATED, &LOCATIONS, |u| 2.0 * u);
}

#[test]
fn densities_of_positive_numbers_hold_at_any_scale() {
    all(POSITIVE, &["0"], |u| (0.8 * u).exp());
}

/// Transforms hold exponents and probabilities where `f32` has numbers, so that there is a way back
/// from any position.
#[test]
fn positions_far_out_have_a_density() {
    let text = "parameters { vector<lower=0>[100] t; vector<lower=0, upper=1>[100] p; vector<lower=-1>[100] u; }
model { t ~ gamma(2, 1); p ~ beta(2, 3); u + 2 ~ gamma(2, 1); target += log1m(p); }
";
    for far in [-1e3, -150.0, -90.0, -30.0, 18.0, 30.0, 90.0, 150.0, 1e3] {
        let position: Vec<f64> = (0..300).map(|k| far * (1.0 - 1e-3 * f64::from(k))).collect();
        for executor in [Executor::Reference, Executor::Native] {
            let (found, _) = evaluate(text, &[], &position, (executor, Precision::F32));
            let name = executor.name();
            assert!(found.iter().all(|x| x.is_finite()), "{name} at {far}: {found:?}");
        }
    }
}
