//! Coordinates are learned from what the data say of each effect, frozen, the same on any number of
//! threads, and change nothing of what is sampled.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use exmc::advanced::density::DensityModel;
use exmc::advanced::{BoundModel, CompileOptions, Coordinate, compile, learn_coordinates, sample};
use exmc::distributions::{half_normal, normal, poisson};
use exmc::model::{Expr, Values};
use exmc::stan::StanOptions;
use exmc::{ModelBuilder, SamplerConfig, StanProgram};

/// Poisson counts of groups: with large counts the data know each effect, with counts near one they
/// do not.
const GROUPS: &str = "data { int J; array[J] int y; real level; }
parameters { real mu; real<lower=0> sigma; vector[J] theta; }
model {
  mu ~ normal(0, 1);
  sigma ~ normal(0, 1);
  theta ~ normal(mu, sigma);
  y ~ poisson_log(level + theta);
}";

const SEVERAL: &str = "6,4,9,2,7,5,8,3,5,6";

fn groups(counts: &str, level: f64, without: &[&str]) -> BoundModel {
    let program = StanProgram::from_text("groups.stan", GROUPS).unwrap();
    let mut options = StanOptions::default();
    options.compile.without = without.iter().map(|name| (*name).to_owned()).collect();
    let data = format!("{{\"J\": 10, \"y\": [{counts}], \"level\": {level}}}");
    program.bind_with("groups.json", &data, &options).unwrap().bound().clone()
}

fn config(seed: u64) -> SamplerConfig {
    let mut config = SamplerConfig::default();
    config.seed = seed;
    config
}

fn shares(model: &BoundModel, seed: u64) -> Vec<Coordinate> {
    let learned = learn_coordinates(model, &config(seed), &[], &|| false).unwrap();
    learned.coordinates().unwrap().to_vec()
}

fn mean(coordinate: &Coordinate) -> f64 {
    (0..coordinate.len).map(|k| coordinate.share(k)).sum::<f64>() / coordinate.len as f64
}

#[test]
fn data_that_know_their_effects_have_them_centred_and_others_not() {
    let many = "6100,4000,9800,2100,7400,5000,8200,3300,5400,6600";
    for seed in 1..4 {
        let [known] = &shares(&groups(many, 8.5, &[]), seed)[..] else { panic!("one effect") };
        assert_eq!((known.name.as_str(), known.written, known.len), ("theta", 1.0, 10));
        assert!(mean(known) > 0.7, "seed {seed}: {known:?}");
        let [unknown] = &shares(&groups("1,0,1,2,1,0,1,1,0,1", 0.0, &[]), seed)[..] else {
            panic!("one effect")
        };
        assert!(mean(unknown) < 0.3, "seed {seed}: {unknown:?}");
        let [before, now] = unknown.spread.unwrap();
        assert!(now < before, "{unknown:?}");
    }
}

/// A built model, which is written non-centred where its scale varies.
#[test]
fn built_models_are_centred_where_the_data_ask_for_it() {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 1.0));
    model.rv("sigma", half_normal(1.0));
    model.rv("theta", normal("mu", "sigma")).shape([6]);
    model.rv("y", poisson((Expr::name("theta") + Expr::from(8.0)).exp())).shape([6]);
    model.observe("seen", "y", [2100.0, 4400.0, 2900.0, 1500.0, 6100.0, 3300.0]);
    let compiled = compile(&model.build().unwrap(), &CompileOptions::default()).unwrap();
    let bound = compiled.bind(&Values::new()).unwrap();
    let learned = shares(&bound, 1);
    assert_eq!(learned[0].written, 0.0);
    assert!(mean(&learned[0]) > 0.7, "{learned:?}");
}

/// Subjects crossed with items: the items are integrated out, the subjects recentred.
const CROSSED: &str = "data { int N; array[N] int subject; array[N] int item; vector[N] y; }
parameters { real mu; real<lower=0> tau; real<lower=0> sigma; vector[6] s; vector[9] t; }
model {
  mu ~ normal(0, 2);
  tau ~ normal(0, 1);
  sigma ~ normal(0, 1);
  s ~ normal(0, tau);
  t ~ normal(0, sigma);
  y ~ normal(mu + s[subject] + t[item], 1);
}";

fn crossed() -> BoundModel {
    let program = StanProgram::from_text("crossed.stan", CROSSED).unwrap();
    let mut options = StanOptions::default();
    options.compile.marginalise = Some(true);
    let list = |cell: &dyn Fn(i32, i32) -> String| -> String {
        let cells: Vec<String> = (0..54).map(|k| cell(k / 9, k % 9)).collect();
        format!("[{}]", cells.join(","))
    };
    let (subject, item) = (list(&|j, _| (j + 1).to_string()), list(&|_, i| (i + 1).to_string()));
    let y = list(&|j, i| (f64::from((7 * j + 5 * i + j * i) % 11) / 4.0).to_string());
    let data = format!("{{\"N\": 54, \"subject\": {subject}, \"item\": {item}, \"y\": {y}}}");
    let bound = program.bind_with("crossed.json", &data, &options).unwrap().bound().clone();
    assert_eq!(bound.integrated_out().collect::<Vec<_>>(), [("t", 9)]);
    bound
}

/// Outcomes of which two know their effects and six do not; heavy tails, so that nothing is
/// integrated out.
const MIXED: &str = "data { int J; vector[J] y; vector<lower=0>[J] s; }
parameters { real mu; real<lower=0> sigma; vector[J] theta; }
model {
  mu ~ normal(0, 1);
  sigma ~ normal(0, 1);
  theta ~ normal(mu, sigma);
  y ~ student_t(4, theta, s);
}";

fn mixed() -> BoundModel {
    let program = StanProgram::from_text("mixed.stan", MIXED).unwrap();
    let data = r#"{"J": 8, "y": [0.6, 1.5, -0.8, 0.2, 1.1, -0.5, 0.1, 2.0],
        "s": [0.05, 4, 0.05, 4, 4, 4, 4, 4]}"#;
    program.bind("mixed.json", data).unwrap().bound().clone()
}

/// Eight chains on one, two and eight threads: on one and on two they run four side by side where
/// there is code for that, on eight each runs alone. Shares of all elements together, of each, and
/// of two variables.
#[test]
fn coordinates_and_draws_are_the_same_on_any_number_of_threads_and_side_by_side() {
    let cases =
        [("several", groups(SEVERAL, 1.5, &[])), ("mixed", mixed()), ("crossed", crossed())];
    for (name, model) in cases {
        let run = |threads| {
            let mut config = config(5);
            (config.threads, config.chains) = (threads, 8);
            (config.warmup, config.draws) = (200, 100);
            let learned = learn_coordinates(&model, &config, &[], &|| false).unwrap();
            // Where code is generated, it has lanes for models as small as these; what is
            // integrated out makes longer programs.
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            if std::arch::is_x86_feature_detected!("avx2") {
                let has_lanes = learned.lane_instance().is_some();
                assert!(has_lanes || name == "crossed", "{name} has no lanes");
            }
            assert!(learned.dim() <= 16, "{name} is too large for chains side by side");
            let posterior = sample(&model, &config).unwrap();
            let bits = |x: &f64| x.to_bits();
            let values: Vec<u64> =
                posterior.chains.iter().flat_map(|c| c.values.iter().map(bits)).collect();
            (learned.coordinates().unwrap().to_vec(), values)
        };
        let one = run(1);
        assert!(
            one.0.iter().any(|coordinate| coordinate.shares != [coordinate.written]),
            "{name}: {:?}",
            one.0
        );
        let has_own = one.0.iter().any(|coordinate| coordinate.shares.len() > 1);
        assert!(has_own || name != "mixed", "one share for all: {:?}", one.0);
        assert_eq!(one, run(2), "{name}, two threads");
        assert_eq!(one, run(8), "{name}, eight threads");
    }
}

/// Against the same posterior in the coordinates that it is written in. **False alarm**: 24
/// differences of two means within 5 of their standard errors, 1e-5; an error of a fifth of a
/// standard deviation is seen.
#[test]
fn draws_are_of_the_posterior_that_is_written() {
    let mut config = config(7);
    config.draws = 6000;
    let learned = sample(&groups(SEVERAL, 1.5, &[]), &config).unwrap().summary();
    config.seed = 8;
    let written = sample(&groups(SEVERAL, 1.5, &["recentre"]), &config).unwrap().summary();
    assert_eq!(learned.len(), 12);
    for ((name, a), (_, b)) in learned.iter().zip(&written) {
        let error = a.mcse_mean.hypot(b.mcse_mean);
        assert!((a.mean - b.mean).abs() < 5.0 * error, "{name}: {} and {}", a.mean, b.mean);
        assert!(error < 0.04 * a.sd, "{name}: an error of {error} for a deviation of {}", a.sd);
        assert!((a.sd / b.sd - 1.0).abs() < 0.2, "{name}: {} and {}", a.sd, b.sd);
    }
}

#[test]
fn a_warm_start_needs_the_coordinates_that_it_is_of() {
    let model = groups(SEVERAL, 1.5, &[]);
    let learned = learn_coordinates(&model, &config(3), &[], &|| false).unwrap();
    let first = sample(&learned, &config(3)).unwrap();
    let mut again = config(4);
    again.warm_start = first.chains[0].tuned.clone();
    (again.warmup, again.draws) = (50, 100);
    let error = sample(&model, &again).unwrap_err().to_string();
    assert!(error.contains("coordinates"), "{error}");
    sample(&learned, &again).unwrap();
    let same = model.in_coordinates(learned.coordinates().unwrap()).unwrap();
    sample(&same, &again).unwrap();
}

#[test]
fn coordinates_that_a_model_cannot_have_are_refused() {
    let model = groups(SEVERAL, 1.5, &[]);
    let written = model.written_coordinates();
    for (name, shares) in [("mu", vec![0.5]), ("theta", vec![0.5; 3]), ("theta", vec![1.5])] {
        let wrong = Coordinate { name: name.to_owned(), shares, ..written[0].clone() };
        let error = model.in_coordinates(&[wrong]).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
    // A model that is to be sampled as it is written has nothing to choose.
    assert!(groups(SEVERAL, 1.5, &["recentre"]).written_coordinates().is_empty());
}

/// A cubic regression of counts with an effect each, whose wide uniform priors let chains start at
/// log densities of minus 1e15.
const FAR: &str = "data { int n; array[n] int count; vector[n] t; }
parameters {
  real<lower=-20, upper=20> a;
  vector<lower=-10, upper=20>[3] b;
  vector[n] e;
  real<lower=0, upper=5> s;
}
model {
  e ~ normal(0, s);
  count ~ poisson_log(a + b[1] * t + b[2] * square(t) + b[3] * t .* square(t) + e);
}";

const COUNTS: [u32; 40] = [
    32, 30, 31, 43, 44, 44, 43, 51, 30, 43, 52, 51, 59, 67, 71, 52, 59, 69, 55, 73, 65, 58, 81, 58,
    65, 76, 73, 89, 91, 68, 79, 68, 73, 75, 80, 107, 57, 91, 99, 113,
];

/// Of the seeds, 2 had learned from a pilot chain on its way (70 % centred), and then had a chain
/// that ended its way in a corner of the priors, 53136 nats down.
#[test]
fn pilots_and_chains_from_afar_find_the_posterior() {
    let times: Vec<String> = (0..40).map(|k| format!("{}", (f64::from(k) - 19.5) / 10.0)).collect();
    let data = format!("{{\"n\": 40, \"t\": [{}], \"count\": {COUNTS:?}}}", times.join(","));
    let program = StanProgram::from_text("far.stan", FAR).unwrap();
    let bound = program.bind("far.json", &data).unwrap();
    for seed in 1..7 {
        let [effects] = &shares(bound.bound(), seed)[..] else { panic!("one effect") };
        assert!(mean(effects) < 0.3, "seed {seed}: {effects:?}");
        let posterior = sample(bound.bound(), &config(seed)).unwrap();
        let summary = posterior.summary();
        let (_, scale) = summary.iter().find(|(name, _)| name == "s").unwrap();
        // One chain of four elsewhere makes R-hat 1.5.
        assert!(scale.rhat < 1.1, "seed {seed}: R-hat {}", scale.rhat);
    }
}

/// Slopes of groups, whose outcomes are known to within `noise`.
const SLOPES: &str = "data { int J; int N; array[N] int g; vector[N] x; vector[N] y; real noise; }
parameters { vector[2] mu; vector<lower=0>[2] tau; cholesky_factor_corr[2] L; array[J] vector[2] b; }
model {
  mu ~ normal(0, 2);
  tau ~ normal(0, 1);
  L ~ lkj_corr_cholesky(2);
  b ~ multi_normal_cholesky(mu, diag_pre_multiply(tau, L));
  for (n in 1:N) y[n] ~ normal(b[g[n], 1] + b[g[n], 2] * x[n], noise);
}";

/// The same as brms and rethinking write it.
const WHITENED: &str =
    "data { int J; int N; array[N] int g; vector[N] x; vector[N] y; real noise; }
parameters { vector[2] mu; vector<lower=0>[2] tau; cholesky_factor_corr[2] L; matrix[2, J] z; }
transformed parameters { matrix[J, 2] b = rep_matrix(mu', J) + (diag_pre_multiply(tau, L) * z)'; }
model {
  mu ~ normal(0, 2);
  tau ~ normal(0, 1);
  L ~ lkj_corr_cholesky(2);
  to_vector(z) ~ std_normal();
  for (n in 1:N) y[n] ~ normal(b[g[n], 1] + b[g[n], 2] * x[n], noise);
}";

const WALK: &str = "data { int T; array[T] int y; real level; }
parameters { real<lower=0> sigma; vector[T] x; }
model {
  sigma ~ normal(0, 1);
  x[1] ~ normal(0, 1);
  x[2:T] ~ normal(x[1:T - 1], sigma);
  y ~ poisson_log(level + x);
}";

const SUMMED: &str = "data { int T; array[T] int y; real level; }
parameters { real<lower=0> sigma; vector[T] z; }
transformed parameters { vector[T] x = cumulative_sum(sigma * z); }
model {
  sigma ~ normal(0, 1);
  z ~ std_normal();
  y ~ poisson_log(level + x);
}";

const LOOPED: &str = "data { int T; array[T] int y; real level; }
parameters { real<lower=0> sigma; vector[T] z; }
transformed parameters {
  vector[T] x;
  x[1] = z[1];
  for (t in 2:T) x[t] = x[t - 1] + sigma * z[t];
}
model {
  sigma ~ normal(0, 1);
  z ~ std_normal();
  y ~ poisson_log(level + x);
}";

fn bound(program: &str, data: &str) -> BoundModel {
    let program = StanProgram::from_text("program.stan", program).unwrap();
    program.bind_with("data.json", data, &StanOptions::default()).unwrap().bound().clone()
}

/// Eight groups of four outcomes each.
fn slopes(program: &str, noise: f64) -> BoundModel {
    let (mut g, mut x, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..32_u32 {
        let group = n % 8;
        let predictor = f64::from(n / 8) - 1.5;
        let effect = f64::from(group * 5 % 8) / 4.0 - 1.0;
        let error = noise * (f64::from(n * 7 % 11) / 5.5 - 1.0);
        g.push(group + 1);
        x.push(predictor);
        y.push(1.0 + effect + (0.5 - effect * 0.7) * predictor + error);
    }
    let data = format!(
        "{{\"J\": 8, \"N\": 32, \"g\": {g:?}, \"x\": {x:?}, \"y\": {y:?}, \"noise\": {noise}}}"
    );
    bound(program, &data)
}

fn walk(program: &str, level: f64) -> BoundModel {
    let count = |t: u32| {
        let x = 0.5 * (f64::from(t) * 0.7).sin() + 0.3 * f64::from(t * 7 % 5) - 0.6;
        (level + x).exp().round()
    };
    let y: Vec<f64> = (0..24).map(count).collect();
    bound(program, &format!("{{\"T\": 24, \"y\": {y:?}, \"level\": {level}}}").replace(".0", ""))
}

#[test]
fn vectors_with_a_factor_are_centred_where_the_data_know_them() {
    for (program, name, written) in [(SLOPES, "b", 1.0), (WHITENED, "z", 0.0)] {
        let [known] = &shares(&slopes(program, 0.02), 1)[..] else { panic!("one effect") };
        assert_eq!((known.name.as_str(), known.written, known.len), (name, written, 16));
        assert!(mean(known) > 0.7, "{known:?}");
        let [unknown] = &shares(&slopes(program, 20.0), 1)[..] else { panic!("one effect") };
        assert!(mean(unknown) < 0.3, "{unknown:?}");
    }
}

#[test]
fn random_walks_are_sampled_as_innovations_where_the_data_say_little() {
    for (program, name, written) in [(WALK, "x", 1.0), (SUMMED, "z", 0.0), (LOOPED, "z", 0.0)] {
        let [known] = &shares(&walk(program, 8.0), 1)[..] else { panic!("one walk") };
        assert_eq!((known.name.as_str(), known.written, known.len), (name, written, 24));
        assert!(mean(known) > 0.7, "{known:?}");
        let [unknown] = &shares(&walk(program, -2.0), 1)[..] else { panic!("one walk") };
        assert!(mean(unknown) < 0.3, "{unknown:?}");
        for coordinate in [known, unknown] {
            assert!(
                coordinate.shares.iter().all(|share| [0.0, 1.0].contains(share)),
                "{coordinate:?}"
            );
        }
    }
}

#[test]
fn wrong_settings_are_told_before_pilot_chains_run() {
    let model = groups(SEVERAL, 1.5, &[]);
    let mut wrong = config(1);
    wrong.chains = 0;
    let error = learn_coordinates(&model, &wrong, &[], &|| false).unwrap_err().to_string();
    assert!(error.contains("chains"), "{error}");
}

/// What is integrated out is the user's choice, also where coordinates are learned.
#[test]
fn nothing_is_integrated_out_that_is_not_to_be() {
    let program = StanProgram::from_text("crossed.stan", CROSSED).unwrap();
    let data = r#"{"N": 4, "subject": [1, 2, 3, 4], "item": [1, 1, 2, 2], "y": [0.3, 1, -1, 2]}"#;
    let gone = |marginalise: Option<bool>| {
        let mut options = StanOptions::default();
        options.compile.marginalise = marginalise;
        let bound = program.bind_with("crossed.json", data, &options).unwrap().bound().clone();
        let learned = learn_coordinates(&bound, &config(1), &[], &|| false).unwrap();
        let names = |model: &BoundModel| {
            model.integrated_out().map(|(name, _)| name.to_owned()).collect::<Vec<String>>()
        };
        (names(&bound), names(&learned))
    };
    let t = || vec!["t".to_owned()];
    assert_eq!(gone(None), (vec![], t()));
    assert_eq!(gone(Some(true)), (t(), t()));
    assert_eq!(gone(Some(false)), (vec![], vec![]));
}
