//! Fits by name: shapes, summaries, storage, going on, many at once, kinds of errors.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::PathBuf;

use exmc::distributions::{half_normal, normal};
use exmc::infer::{Density, EvaluationError, LogDensity};
use exmc::json::{read_data, write_data};
use exmc::model::{DType, DataSet, Expr, Tensor, bind};
use exmc::runs::{read_run, read_stan_csv};
use exmc::{ErrorKind, Fit, Model, ModelBuilder, SamplerConfig, StanProgram, fit_many, sample};

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn schools() -> Model {
    let mut model = ModelBuilder::new();
    model.declare_data("y", DType::Real, 8);
    model.data("sigma", Tensor::vector(&[15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]));
    model.rv("mu", normal(0, 5));
    model.rv("tau", half_normal(5));
    model.rv("theta", normal("mu", "tau")).shape(8);
    model.rv("effect", normal("theta", "sigma"));
    model.observe("effect_obs", "effect", "y");
    model.build().unwrap()
}

fn effects() -> DataSet {
    read_data(r#"{"y": [28, 8, -3, 7, -1, 1, 18, 12]}"#).unwrap()
}

fn short() -> SamplerConfig {
    SamplerConfig::default().seed(5).warmup(200).draws(150)
}

fn bits(fit: &Fit) -> Vec<u64> {
    fit.posterior().chains.iter().flat_map(|c| &c.values).map(|x| x.to_bits()).collect()
}

#[test]
fn draws_have_names_and_shapes() {
    let fit = sample(&bind(&schools(), effects()).unwrap(), &short()).unwrap();
    assert_eq!(fit.names(), ["mu", "tau", "theta"]);
    assert_eq!(fit["theta"].shape(), [4, 150, 8]);
    let column = fit.posterior().draws_of("theta", 3).unwrap();
    assert_eq!(fit["theta"].at(3).to_vec(), column.concat());
    assert_eq!(fit["theta"][[2, 7, 3]], column[2][7]);
    assert_eq!(fit["theta"].at(3).chain(1), column[1]);
    assert_eq!(fit.get("nothing"), None);

    let summary = fit.summary();
    let (of_summary, of_draws) = (summary["theta[3]"].mean, fit["theta"].at(3).mean());
    assert!((of_summary - of_draws).abs() < 1e-12);
    assert_eq!(summary.len(), 10);
    let text = summary.to_string();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("parameter") && text.contains("\ntheta[7]"));
    assert_eq!(lines.count(), 10);
}

/// 150 draws of a funnel are too few: what speaks against them is said.
#[test]
fn diagnoses_are_those_of_the_draws() {
    let mut model = ModelBuilder::new();
    model.rv("x", normal(0, 1));
    let model = model.build().unwrap();
    let good = sample(&model, &SamplerConfig::default().seed(1)).unwrap();
    assert!(good.diagnose().is_empty(), "{:?}", good.diagnose());
    let bad = sample(&model, &SamplerConfig::default().warmup(0).draws(10)).unwrap();
    assert!(!bad.diagnose().is_empty());
}

/// A stored fit comes back to the bit, predicts the same, and goes on where it ended.
#[test]
fn stored_fits_come_back() {
    let folder = Folder::new("stored_fits");
    let fit = sample(&bind(&schools(), effects()).unwrap(), &short()).unwrap();
    let directory = folder.0.join("run");
    fit.save(&directory).unwrap();
    let read = Fit::load(&directory).unwrap();
    assert_eq!((bits(&read), read.settings()), (bits(&fit), fit.settings()));
    assert_eq!(read.posterior_predictive().unwrap(), fit.posterior_predictive().unwrap());
    assert_eq!(read.log_likelihood().unwrap(), fit.log_likelihood().unwrap());
    // What the command line reads is the same directory.
    assert!(read_run(&directory).unwrap().notes.is_empty());
    assert_eq!(fit.save(&directory).unwrap_err().kind(), ErrorKind::Files);

    let again = bind(&schools(), effects()).unwrap();
    let settings = short().seed(6).warmup(20);
    let [one, other] = [&fit, &read].map(|fit| fit.refit(&again, &settings).unwrap());
    assert_eq!(bits(&one), bits(&other));
    // Warmup keeps the metric that it is given.
    let metric = |fit: &Fit| fit.warm_start().unwrap().inverse_metric;
    assert_eq!(metric(&one), metric(&fit));

    let paths = fit.write_csv(folder.0.join("csv")).unwrap();
    assert_eq!(paths.len(), 4);
    let csv = Fit::read_csv(&paths).unwrap();
    assert_eq!(csv["theta"], fit["theta"]);
    assert_eq!(read_stan_csv(&paths).unwrap().posterior.chains.len(), 4);
    assert!(csv.posterior_predictive().is_err());
}

#[test]
fn stored_fits_of_stan_programs_come_back() {
    let folder = Folder::new("stored_stan_fits");
    let text = "data { int n; vector[n] y; } parameters { real mu; }
        model { mu ~ normal(0, 1); y ~ normal(mu, 1); }
        generated quantities {
          vector[n] log_lik; for (i in 1:n) log_lik[i] = normal_lpdf(y[i] | mu, 1);
        }";
    let program = StanProgram::from_text("p.stan", text).unwrap();
    let model = program.bind("d", r#"{"n": 2, "y": [0.5, 1.5]}"#).unwrap();
    let fit = sample(&model, &short()).unwrap();
    assert_eq!(fit.log_likelihood().unwrap()["log_lik"].shape(), [4, 150, 2]);
    fit.save(folder.0.join("run")).unwrap();
    let read = Fit::load(folder.0.join("run")).unwrap();
    assert_eq!(bits(&read), bits(&fit));
    let none = DataSet::new();
    assert_eq!(read.predict(&none).unwrap()["log_lik"], fit["log_lik"]);
    let (fresh, stored) =
        (fit.posterior_predictive().unwrap(), read.posterior_predictive().unwrap());
    assert_eq!(fresh["y"].shape(), [4, 150, 2]);
    assert_eq!(fresh, stored);
    let error = fit.prior_predictive(10).unwrap_err();
    assert!(error.to_string().contains("generated quantities"), "{error}");
}

/// The draws of each fit are those that it would have alone, whichever number of threads; what
/// fails does so alone.
#[test]
fn many_fits_are_as_single_ones() {
    let model = schools();
    let scaled = |scale: f64| {
        let mut data = effects();
        let y = data.get("y").unwrap().values().iter().map(|y| scale * y).collect::<Vec<_>>();
        data.insert("y", Tensor::vector(&y));
        data
    };
    let mut data: Vec<DataSet> = [0.5, 1.0, 2.0, 3.0].map(scaled).to_vec();
    data.insert(2, read_data(r#"{"y": [1, 2]}"#).unwrap());
    for threads in [1, 3] {
        let fits = fit_many(&model, &data, &short().threads(threads));
        for (k, (fit, data)) in fits.iter().zip(&data).enumerate() {
            if k == 2 {
                assert_eq!(fit.as_ref().unwrap_err().kind(), ErrorKind::Data);
                continue;
            }
            let alone = sample(&bind(&model, data.clone()).unwrap(), &short()).unwrap();
            assert_eq!(bits(fit.as_ref().unwrap()), bits(&alone), "data set {k}");
        }
    }
    // A Stan program's data may differ in size.
    let text = "data { int n; vector[n] y; } parameters { real mu; }
        model { mu ~ normal(0, 1); y ~ normal(mu, 1); }";
    let program = StanProgram::from_text("p.stan", text).unwrap();
    let texts = [r#"{"n": 2, "y": [0.5, 1.5]}"#, r#"{"n": 3, "y": [4.0, 5.0, 6.0]}"#];
    let data = texts.map(|text| read_data(text).unwrap());
    let fits = fit_many(&program, &data, &short());
    for (fit, text) in fits.iter().zip(texts) {
        let alone = sample(&program.bind("data", text).unwrap(), &short()).unwrap();
        assert_eq!(bits(fit.as_ref().unwrap()), bits(&alone));
    }
}

#[derive(Clone)]
struct Broken;

impl LogDensity for Broken {
    fn dim(&self) -> usize {
        1
    }

    fn logp_grad(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, EvaluationError> {
        gradient[0] = -x[0];
        Ok(f64::NAN)
    }
}

#[test]
fn errors_have_kinds() {
    let kind = |error: exmc::Error| error.kind();
    let mut model = ModelBuilder::new();
    model.rv("x", normal(0, 1));
    let model = model.build().unwrap();
    let run = |settings: SamplerConfig| sample(&model, &settings).map(drop).unwrap_err();
    assert_eq!(kind(run(short().chains(0))), ErrorKind::Settings);
    assert_eq!(kind(run(short().draws(1 << 60))), ErrorKind::OutOfMemory);
    let start = sample(&Density::new(Broken), &short()).unwrap_err();
    assert_eq!(kind(start), ErrorKind::InitialPoint);
    let wrong = Density::new(Broken).variable("a", 3);
    assert_eq!(kind(sample(&wrong, &short()).unwrap_err()), ErrorKind::Model);
    assert_eq!(kind(bind(&schools(), DataSet::new()).unwrap_err()), ErrorKind::Data);
    assert_eq!(kind(Fit::load("no such run").unwrap_err()), ErrorKind::Files);
    let program = StanProgram::from_text("p.stan", "parameters { rea x; }").unwrap_err();
    assert_eq!(kind(program.into()), ErrorKind::Model);
    let text = "data { int n; } parameters { real x; } model { x ~ normal(0, 1); }";
    let program = StanProgram::from_text("p.stan", text).unwrap();
    assert_eq!(kind(program.bind("d", "{}").unwrap_err()), ErrorKind::Data);
    let text = "parameters { real x; } model { x ~ normal(0, 1); } \
                generated quantities { if (x < 1e9) fatal_error(\"no\"); }";
    let program = StanProgram::from_text("p.stan", text).unwrap();
    let ended = sample(&program.bind("d", "{}").unwrap(), &short()).unwrap_err();
    assert_eq!(kind(ended), ErrorKind::Ended);
}

/// What a user sees whose `main` returns the error: the report, with its place.
#[test]
fn errors_print_their_report() {
    let mut model = ModelBuilder::new();
    model.rv("x", normal("mu", [[1.0], [2.0]]));
    let mut ragged = ModelBuilder::new();
    ragged.rv("z", normal(0, vec![vec![1.0, 2.0], vec![3.0]]));
    let parts = ["nothing is called `mu`", "row 0 has 2 numbers, row 1 has 1"];
    for (model, part) in [model, ragged].iter().zip(parts) {
        let error = exmc::Error::from(model.build().unwrap_err());
        let text = format!("{error:?}");
        assert_eq!(text, error.to_string());
        assert!(text.contains(part) && text.contains("fit.rs:"), "{text}");
    }
}

/// Data go to text and back to the bit, whatever the numbers.
#[test]
fn data_go_to_json_and_back() {
    let mut data = DataSet::new();
    data.insert("x", Tensor::real([2, 2], vec![0.1, -0.0, f64::MIN_POSITIVE, 1e300]).unwrap());
    data.insert("n", Tensor::int([3], vec![1.0, -2.0, 9_007_199_254_740_991.0]).unwrap());
    data.insert("w", Tensor::vector(&[f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.0]));
    let read = read_data(&write_data(&data)).unwrap();
    for (name, value) in data.iter() {
        assert_eq!(read.get(name), Some(value), "{name}");
    }
}

/// Closed forms of a confounded effect: `u` moves both `x` and `y`. Means of 4000 draws, of
/// effective size 1000 at least, lie within five standard errors (false alarms below 1e-6).
#[test]
fn interventions_are_not_observations() {
    let mut model = ModelBuilder::new();
    model.rv("u", normal(0, 1));
    model.rv("x", normal("u", 1));
    model.rv("y", normal(Expr::name("x") + "u", 1));
    let model = model.build().unwrap();
    let settings = SamplerConfig::default().seed(8);
    let check = |model: &Model, name: &str, mean: f64, variance: f64| {
        let fit = sample(model, &settings).unwrap();
        let found = &fit[name];
        let error = (variance / 1000.0).sqrt();
        assert!((found.mean() - mean).abs() < 5.0 * error, "{name}: {} {mean}", found.mean());
        let error = variance * (2.0_f64 / 1000.0).sqrt();
        let of_draws = found.sd().powi(2);
        assert!((of_draws - variance).abs() < 5.0 * error, "{name}: {of_draws} {variance}");
    };
    // do(x = 4): u keeps its prior, y is normal(4, 1 + 1).
    let done = model.do_("x", 4).unwrap();
    check(&done, "u", 0.0, 1.0);
    check(&done, "y", 4.0, 2.0);
    // x = 4 seen: u is normal(2, 1/2), y normal(6, 3/2).
    let seen = model.condition("x", 4).unwrap();
    check(&seen, "u", 2.0, 0.5);
    check(&seen, "y", 6.0, 1.5);
    // An intervention on what was observed forgets the observation.
    check(&seen.do_("x", 4).unwrap(), "u", 0.0, 1.0);
    // y seen after the intervention: u is normal((7 - 4) / 2, 1/2).
    check(&done.condition("y", 7).unwrap(), "u", 1.5, 0.5);
}

#[test]
fn wrong_interventions_are_located() {
    let model = schools();
    let code = |result: Result<Model, exmc::model::ModelError>| {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("fit.rs:"), "{error}");
        error.diagnostics()[0].code.name()
    };
    assert_eq!(code(model.do_("thetas", 1)), "unknown-reference");
    assert_eq!(code(model.do_("y", 1)), "unknown-reference");
    assert_eq!(code(model.do_("theta", [1, 2])), "shape-mismatch");
    assert_eq!(code(model.do_("tau", -1)), "outside-support");
    assert_eq!(code(model.do_("mu", "tau")), "bad-arguments");
    assert_eq!(code(model.condition("effect", 1)), "bad-observation");
    assert_eq!(code(model.condition("tau", -1)), "outside-support");
    // A deterministic value can be set too, and data can say to what.
    let set = model.do_("theta", "sigma").unwrap();
    assert_eq!(set.free_variables(), ["mu", "tau"]);
}
