//! `exmc loo`, `compare`, `diagnose` and the names of `summary`.

use serde_json::Value;

use crate::harness::{Folder, Ran};

/// Eight schools in Stan, non-centred, with a log likelihood for each school.
const SCHOOLS_STAN: &str = "
data { int<lower=0> J; vector[J] y; vector<lower=0>[J] sigma; }
parameters { real mu; real<lower=0> tau; vector[J] z; }
transformed parameters { vector[J] theta = mu + tau * z; }
model {
  mu ~ normal(0, 5); tau ~ normal(0, 5); z ~ normal(0, 1);
  y ~ normal(theta, sigma);
}
generated quantities {
  real lprior = normal_lpdf(mu | 0, 5) + normal_lpdf(tau | 0, 5);
  vector[J] log_lik;
  for (j in 1:J) log_lik[j] = normal_lpdf(y[j] | theta[j], sigma[j]);
}
";

const SCHOOLS_DATA: &str = r#"{"J": 8, "y": [28, 8, -3, 7, -1, 1, 18, 12],
    "sigma": [15, 10, 16, 11, 9, 11, 10, 18], "region": ["a", "a", "b", "b", "b", "c", "c", "c"]}"#;

/// Five ordinary observations and one that is eleven deviations away.
const OUTLIER: &str = r#"{"exmc": 1, "nodes": [
  {"rv": "mu", "dist": "normal", "params": {"mu": 0, "sigma": 10}},
  {"rv": "y", "dist": "normal", "params": {"mu": "mu", "sigma": 1}, "shape": [6]},
  {"obs": "y_obs", "of": "y", "value": [0.2, -0.3, 0.1, 0.4, -0.2, 11]}
]}"#;

/// The same data in a wrong model and in a right one.
fn mean_model(sigma: f64, prior_sd: f64) -> String {
    format!(
        r#"{{"exmc": 1, "nodes": [
  {{"rv": "mu", "dist": "normal", "params": {{"mu": 0, "sigma": {prior_sd}}}}},
  {{"rv": "unused", "dist": "normal", "params": {{"mu": 0, "sigma": 1}}}},
  {{"rv": "y", "dist": "normal", "params": {{"mu": "mu", "sigma": {sigma}}}, "shape": [8]}},
  {{"obs": "y_obs", "of": "y", "value": [4.8, 5.3, 5.1, 4.6, 5.4, 5.0, 4.4, 5.6]}}
]}}"#
    )
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn kinds(ran: &Ran) -> Vec<String> {
    let json = ran.json();
    let findings = json["findings"].as_array().unwrap();
    findings.iter().map(|f| f["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn loo_of_a_json_model_is_that_of_the_stan_program_that_records_it() {
    let folder = Folder::with_models();
    folder.write("schools.stan", SCHOOLS_STAN);
    folder.write("schools-data.json", SCHOOLS_DATA);
    let more = ["--draws", "1000", "--warmup", "500", "--seed", "3"];
    folder.sample("schools.json", "computed", &more).ends_with(0);
    let data = [&more[..], &["--data", "schools-data.json"]].concat();
    folder.sample("schools.stan", "recorded", &data).ends_with(0);
    let loo = |run: &str| folder.exmc(&["loo", run, "--json"]).ends_with(0).json();
    let (computed, recorded) = (loo("computed"), loo("recorded"));
    for json in [&computed, &recorded] {
        let observations = json["observations"].as_array().unwrap();
        assert_eq!((observations.len(), &json["draws"]), (8, &4000.into()));
        let sum: f64 = observations.iter().map(|o| number(&o["elpd"])).sum();
        assert!((sum - number(&json["elpd_loo"])).abs() < 1e-9);
        assert_eq!(number(&json["looic"]), -2.0 * number(&json["elpd_loo"]));
        assert_eq!(json["k_threshold"], 0.7);
    }
    // Independent runs: five standard errors of their difference, but for the Monte Carlo error
    // that a k near the threshold hides.
    let difference = number(&computed["elpd_loo"]) - number(&recorded["elpd_loo"]);
    assert!(difference.abs() < 0.3, "{difference}");
    let text = folder.exmc(&["loo", "recorded", "--pointwise"]).ends_with(0).stdout;
    assert!(text.contains("elpd_loo") && text.contains("log_lik[8]"), "{text}");

    let groups = folder.exmc(&["loo", "recorded", "--group", "region", "--json"]);
    let json = groups.json();
    let names: Vec<&str> = json["observations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["region=\"a\"", "region=\"b\"", "region=\"c\""]);
    let wrong = folder.exmc(&["loo", "recorded", "--group", "size"]).ends_with(2);
    assert!(wrong.stderr.contains("no array `size`") && wrong.stderr.contains("`region`"));
    let wrong = folder.exmc(&["loo", "recorded", "--variable", "loglik"]).ends_with(1);
    assert!(wrong.stderr.contains("no `loglik`") && wrong.stderr.contains("`log_lik`"));
}

#[test]
fn loo_of_a_program_is_that_of_its_statements_on_data() {
    let folder = Folder::new();
    let (without, _) = SCHOOLS_STAN.split_once("generated quantities").unwrap();
    folder.write("without.stan", without);
    folder.write("with.stan", SCHOOLS_STAN);
    folder.write("data.json", SCHOOLS_DATA);
    let more = ["--data", "data.json", "--draws", "400", "--warmup", "400", "--seed", "3"];
    folder.sample("without.stan", "found", &more).ends_with(0);
    folder.sample("with.stan", "recorded", &more).ends_with(0);
    let loo = |run: &str| folder.exmc(&["loo", run, "--json"]).ends_with(0).json();
    let (found, recorded) = (loo("found"), loo("recorded"));
    let each = |json: &Value| json["observations"].as_array().unwrap().clone();
    assert_eq!(each(&found).len(), 8);
    for (k, (a, b)) in each(&found).iter().zip(&each(&recorded)).enumerate() {
        assert_eq!(a["name"], format!("y[{}]", k + 1));
        for (what, tolerance) in [("elpd", 1e-10), ("p_loo", 1e-10), ("pareto_k", 1e-8)] {
            assert!((number(&a[what]) - number(&b[what])).abs() < tolerance, "{what} {k}");
        }
    }
    let statement = &found["statements"][0];
    assert_eq!((&statement["line"], &statement["terms"]), (&7.into(), &8.into()));
    assert_eq!(recorded["statements"], Value::Array(Vec::new()));
    let text = folder.exmc(&["loo", "found"]).ends_with(0).stdout;
    assert!(text.contains("line 7: y ~ normal(theta, sigma); (8 terms)"), "{text}");
    // Data by their name, groups, folds, and everything that is made of them.
    assert_eq!(each(&folder.exmc(&["loo", "found", "--variable", "y", "--json"]).json()).len(), 8);
    let wrong = folder.exmc(&["loo", "found", "--variable", "x"]).ends_with(1);
    assert!(wrong.stderr.contains("no `x`") && wrong.stderr.contains("observes `y`"), "{wrong:?}");
    let groups = folder.exmc(&["loo", "found", "--group", "region", "--json"]).ends_with(0).json();
    assert_eq!(each(&groups).len(), 3);
    let folds = |run: &str| {
        let ran = folder.exmc(&["loo", run, "--k-fold", "2", "--json"]).ends_with(0);
        number(&ran.json()["elpd_kfold"])
    };
    // Refits of densities that differ in rounding: as other seeds.
    assert!((folds("found") - folds("recorded")).abs() < 1.0);
    let both = folder.exmc(&["compare", "found", "recorded", "--json"]).ends_with(0).json();
    assert!(number(&both["models"][1]["elpd_diff"]).abs() < 1e-9);
    folder.exmc(&["report", "found", "-o", "page.html"]).ends_with(0);
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    assert!(page.contains("Expected log predictive density"));
    folder.exmc(&["plot", "found", "pareto-k", "--json"]).ends_with(0);
}

#[test]
fn a_program_without_log_likelihoods_is_told_how_to_record_them() {
    let folder = Folder::new();
    folder.write("x.stan", "parameters { real x; } model { x ~ normal(0, 1); }");
    folder.sample("x.stan", "run", &[]).ends_with(0);
    let ran = folder.exmc(&["loo", "run"]).ends_with(1);
    assert!(ran.stderr.contains("`vector[N] log_lik`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("model.stan:1:"), "{}", ran.stderr);
    // A mixture has no density of its data alone.
    let mixture = "data { int N; vector[N] y; } parameters { real<lower=0, upper=1> p; }
      model {
        for (n in 1:N) target += log_mix(p, normal_lpdf(y[n] | 0, 1), normal_lpdf(y[n] | 3, 1));
      }";
    folder.write("mixture.stan", mixture);
    folder.write("mixture.json", r#"{"N": 3, "y": [0.5, 2.5, 3]}"#);
    folder.sample("mixture.stan", "mixed", &["--data", "mixture.json"]).ends_with(0);
    let ran = folder.exmc(&["loo", "mixed"]).ends_with(1);
    assert!(ran.stderr.contains("model.stan:3:") && ran.stderr.contains("`vector[N] log_lik`"));
    let page = folder.exmc(&["report", "mixed", "-o", "mixed.html"]).ends_with(0);
    assert!(page.stderr.contains("note: no leave-one-out of `mixed`"), "{}", page.stderr);
    folder.write(
        "free.json",
        r#"{"exmc": 1, "nodes": [{"rv": "x", "dist": "normal", "params": {"mu": 0, "sigma": 1}}]}"#,
    );
    folder.sample("free.json", "free", &[]).ends_with(0);
    let ran = folder.exmc(&["loo", "free"]).ends_with(1);
    assert!(ran.stderr.contains("no observation"), "{}", ran.stderr);
}

#[test]
fn moved_draws_repair_an_outlier() {
    let folder = Folder::new();
    folder.write("outlier.json", OUTLIER);
    folder.sample("outlier.json", "run", &["--draws", "500", "--seed", "5"]).ends_with(0);
    let plain = folder.exmc(&["loo", "run", "--json", "--check"]).ends_with(3).json();
    assert_eq!(plain["warnings"][0]["kind"], "pareto-k");
    assert!(plain["warnings"][0]["message"].as_str().unwrap().contains("1 of 6 observations"));
    let text = folder.exmc(&["loo", "run"]).ends_with(0).stdout;
    assert!(text.contains("warning: Pareto k is above 0.70 for 1 of 6"), "{text}");
    let moved = folder.exmc(&["loo", "run", "--moment-match", "--json", "--check"]).ends_with(0);
    let moved = moved.json();
    assert_eq!(moved["moment_matched"], 1);
    // The others have mean 0.2/5.01 and variance 1/5.01, from the conjugate posterior.
    let (mean, variance) = (0.2 / 5.01, 1.0 + 1.0 / 5.01);
    let gap: f64 = 11.0 - mean;
    let exact = -0.5 * gap * gap / variance - 0.5 * (2.0 * std::f64::consts::PI * variance).ln();
    let [before, after] =
        [&plain, &moved].map(|json| number(&json["observations"][5]["elpd"]) - exact);
    let error = number(&moved["observations"][5]["mcse"]);
    assert!(after.abs() < 5.0 * error && after.abs() < before.abs(), "{before} {after} {error}");
}

#[test]
fn compare_ranks_models_and_says_what_is_uncertain() {
    let folder = Folder::with_models();
    folder.write("narrow.json", &mean_model(0.4, 10.0));
    folder.write("wide.json", &mean_model(4.0, 10.0));
    for model in ["narrow", "wide"] {
        folder.sample(&format!("{model}.json"), model, &["--draws", "500"]).ends_with(0);
    }
    folder.sample("schools.json", "schools", &[]).ends_with(0);
    let json = folder.exmc(&["compare", "wide", "narrow", "--json"]).ends_with(0).json();
    let models = json["models"].as_array().unwrap();
    assert_eq!(
        (&models[0]["directory"], &models[1]["directory"]),
        (&"narrow".into(), &"wide".into())
    );
    assert_eq!((&json["observations"], &models[0]["elpd_diff"]), (&8.into(), &0.0.into()));
    let difference = number(&models[1]["elpd_loo"]) - number(&models[0]["elpd_loo"]);
    assert!((number(&models[1]["elpd_diff"]) - difference).abs() < 1e-9 && difference < -10.0);
    assert!(number(&models[1]["p_worse"]) > 0.999 && number(&models[0]["weight"]) > 0.99);
    assert!(json["notes"][0].as_str().unwrap().contains("8 observations"), "{json}");
    // A model against itself: the difference is nothing, and a note says so.
    let text = folder.exmc(&["compare", "narrow", "narrow"]).ends_with(0).stdout;
    assert!(text.contains("below 4 for `narrow`"), "{text}");
    for weights in ["pseudo-bma", "pseudo-bma-plus"] {
        let args = ["compare", "wide", "narrow", "--weights", weights, "--json"];
        let models = folder.exmc(&args).ends_with(0).json()["models"].clone();
        assert!((number(&models[0]["weight"]) + number(&models[1]["weight"]) - 1.0).abs() < 1e-12);
    }
    folder.sample("mean.json", "mean", &["--data", "mean-data.json"]).ends_with(0);
    let ran = folder.exmc(&["compare", "narrow", "mean"]).ends_with(1);
    assert!(ran.stderr.contains("`narrow` has 8 observations, `mean` has 3"), "{}", ran.stderr);
    folder.exmc(&["compare", "narrow"]).ends_with(2);
    // As many observations, one of them of another value.
    folder.write("other.json", &mean_model(0.4, 10.0).replace("5.4", "5.25"));
    folder.sample("other.json", "other", &["--draws", "200"]).ends_with(0);
    let ran = folder.exmc(&["compare", "narrow", "other"]).ends_with(1);
    let expected = "y[4] is 5.4 in `narrow`, y[4] is 5.25 in `other`";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn compare_knows_what_programs_observed_whatever_it_is_called() {
    let folder = Folder::new();
    let (without, _) = SCHOOLS_STAN.split_once("generated quantities").unwrap();
    folder.write("found.stan", &without.replace("vector[J] y;", "vector[J] effect;"));
    let found = folder.read("found.stan");
    let found = String::from_utf8(found).unwrap().replace("y ~ normal(", "effect ~ normal(");
    folder.write("found.stan", &found);
    folder.write("recorded.stan", SCHOOLS_STAN);
    folder.write("data.json", SCHOOLS_DATA);
    folder.write("renamed.json", &SCHOOLS_DATA.replace("\"y\"", "\"effect\""));
    folder.write("others.json", &SCHOOLS_DATA.replace("28, 8", "28, 9"));
    let sample = |model: &str, run: &str, data: &str| {
        let more = ["--data", data, "--draws", "200", "--warmup", "200"];
        folder.sample(model, run, &more).ends_with(0);
    };
    sample("found.stan", "found", "renamed.json");
    sample("recorded.stan", "recorded", "data.json");
    sample("recorded.stan", "others", "others.json");
    folder.exmc(&["compare", "found", "recorded"]).ends_with(0);
    let ran = folder.exmc(&["compare", "found", "others"]).ends_with(1);
    let expected = "effect[2] is 8 in `found`, log_lik[2] is 9 in `others`";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    folder.exmc(&["compare", "recorded", "others"]).ends_with(1);
    // A page of both is no comparison, and no mistake.
    let ran = folder.exmc(&["report", "recorded", "others", "--out", "page.html"]).ends_with(0);
    assert!(ran.stderr.contains("no comparison by leave-one-out"), "{}", ran.stderr);
}

#[test]
fn diagnose_names_the_funnel_the_conflict_and_what_the_data_say_nothing_of() {
    let folder = Folder::with_models();
    // Centred, with large steps: the narrow end of the funnel diverges.
    let centred = ["--without", "non-centre", "--without", "recentre", "--without", "marginalise"];
    let more =
        [&centred[..], &["--target-accept", "0.6", "--seed", "4", "--draws", "1000"]].concat();
    folder.sample("schools.json", "funnel", &more).ends_with(0);
    let ran = folder.exmc(&["diagnose", "funnel", "--json", "--check"]).ends_with(3);
    let json = ran.json();
    let findings = json["findings"].as_array().unwrap();
    let divergences = findings.iter().find(|f| f["kind"] == "divergences").expect("it diverges");
    let evidence = divergences["evidence"].to_string();
    assert!(evidence.contains("`tau` is small there"), "{json}");
    assert!(divergences["try"].to_string().contains("--target-accept 0.95"), "{json}");

    folder.write("conflict.json", &mean_model(1.0, 0.7));
    folder.sample("conflict.json", "conflict", &["--draws", "1000"]).ends_with(0);
    let ran = folder.exmc(&["diagnose", "conflict", "--json"]).ends_with(0);
    assert_eq!(kinds(&ran), ["prior-conflict", "uninformed"]);
    let json = ran.json();
    assert!(json["findings"][0]["evidence"][0].as_str().unwrap().starts_with("`mu`: sensitivity"));
    assert!(json["findings"][1]["message"].as_str().unwrap().contains("most: unused"));

    folder.write("schools.stan", SCHOOLS_STAN);
    folder.write("schools-data.json", SCHOOLS_DATA);
    let data = ["--data", "schools-data.json", "--draws", "1000", "--warmup", "1000"];
    folder.sample("schools.stan", "stan", &data).ends_with(0);
    let ran = folder.exmc(&["diagnose", "stan", "--json"]).ends_with(0);
    let notes = ran.json()["notes"].to_string();
    assert!(!notes.contains("was not checked"), "{notes}");
    // The groups of a hierarchy are no prior: computed and recorded say the same of the scale.
    folder.sample("schools.json", "json", &["--draws", "1000", "--warmup", "1000"]).ends_with(0);
    for run in ["stan", "json"] {
        let json = folder.exmc(&["diagnose", run, "--json"]).ends_with(0).json();
        let findings = json["findings"].as_array().unwrap();
        let uninformed = findings.iter().find(|f| f["kind"] == "uninformed").expect("the scale");
        assert!(uninformed["message"].as_str().unwrap().contains("most: tau"), "{run}: {json}");
    }

    folder.write("x.stan", "parameters { real x; } model { x ~ normal(0, 1); }");
    folder.sample("x.stan", "calm", &["--draws", "1000"]).ends_with(0);
    let ran = folder.exmc(&["diagnose", "calm", "--check"]).ends_with(0);
    assert!(ran.stdout.contains("nothing was found") && ran.stderr.contains("was not checked"));
}

#[test]
fn diagnose_tells_chains_that_sit_apart_from_those_that_drift() {
    let folder = Folder::new();
    folder.write(
        "two.stan",
        "parameters { real x; } model { target += log_mix(0.5, normal_lpdf(x | -20, 1), normal_lpdf(x | 20, 1)); }",
    );
    folder.write("inits.json", r#"[{"x": -20}, {"x": -20}, {"x": 20}, {"x": -20}]"#);
    folder.sample("two.stan", "two", &["--init", "inits.json"]).ends_with(0);
    let ran = folder.exmc(&["diagnose", "two"]).ends_with(0);
    assert!(ran.stdout.contains("rhat: R-hat is above 1.01"), "{}", ran.stdout);
    assert!(ran.stdout.contains("chain 2 sits apart: mean 2"), "{}", ran.stdout);
    assert!(ran.stdout.contains("in modes of their own"), "{}", ran.stdout);
}

#[test]
fn summary_shows_the_variables_that_are_named() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "run", &[]).ends_with(0);
    let rows = |names: &[&str]| -> Vec<String> {
        let ran = folder.exmc(&[&["summary", "run", "--json"], names].concat()).ends_with(0);
        let json = ran.json();
        let parameters = json["parameters"].as_array().unwrap();
        parameters.iter().map(|p| p["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(rows(&["tau", "mu"]), ["mu", "tau"]);
    assert_eq!(rows(&["theta[3]"]), ["theta[3]"]);
    assert_eq!(rows(&["theta"]).len(), 8);
    let ran = folder.exmc(&["summary", "run", "sigma"]).ends_with(2);
    assert!(ran.stderr.contains("recorded no `sigma`") && ran.stderr.contains("`theta`"));
}
