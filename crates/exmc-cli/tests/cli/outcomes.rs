//! `exmc predict --outcomes`, the files that errors about new data name, and what is said of draws
//! at which nothing can be drawn.

use exmc::{Fit, NewData};
use serde_json::Value;

use crate::harness::{Folder, parameter};

const LINE: &str = "data { int N; vector[N] x; vector[N] y; tuple(int, real) unused; }
parameters { real a; real b; }
transformed parameters { vector[N] line = a + b * x; }
model { a ~ normal(0, 5); b ~ normal(0, 5); y ~ normal(line, 0.5); }
";

const QUANTITIES: &str = "generated quantities { real twice = 2 * b; }\n";

const DATA: &str = r#"{"N": 5, "x": [0, 1, 2, 3, 4], "y": [0.1, 1.2, 1.9, 3.3, 3.9],
  "unused": {"1": 1, "2": 2.5}}"#;

/// A folder with a run of the line, and of the same with generated quantities.
fn folder() -> Folder {
    let folder = Folder::with_models();
    folder.write("line.stan", LINE);
    folder.write("more.stan", &format!("{LINE}{QUANTITIES}"));
    folder.write("data.json", DATA);
    for (model, run) in [("line.stan", "line"), ("more.stan", "more")] {
        folder.sample(model, run, &["--data", "data.json", "--seed", "1"]).ends_with(0);
    }
    folder
}

fn names(summary: &Value) -> Vec<&str> {
    let all = summary["parameters"].as_array().unwrap().iter();
    all.map(|variable| variable["name"].as_str().unwrap()).collect()
}

#[test]
fn outcomes_are_drawn_whatever_quantities_there_are() {
    let folder = folder();
    let predict = |run: &str, more: &[&str]| {
        folder.exmc(&[&["predict", run, "--json"], more].concat()).ends_with(0).json()
    };
    assert_eq!(names(&predict("more", &[])), ["twice"]);
    let elements = ["y[1]", "y[2]", "y[3]", "y[4]", "y[5]"];
    let drawn = predict("more", &["--outcomes", "--out", "drawn"]);
    assert_eq!(names(&drawn), elements);
    // Transformed parameters are no quantities: the program's data are drawn without the flag.
    assert_eq!(names(&predict("line", &[])), elements);
    let stored = exmc::runs::read_run(&folder.path("drawn")).unwrap().posterior;
    let fit = Fit::load(folder.path("more")).unwrap();
    let expected = fit.predict_outcomes(NewData::None).unwrap().arrays;
    for element in 0..5 {
        let found = stored.draws_of("y", element).unwrap().concat();
        assert_eq!(found, expected["y"].at(element).to_vec());
    }

    // New predictors, far from the others; the outcomes that stand in for none have their number.
    folder.write("new.json", r#"{"N": 2, "x": [10, 20], "y": [0, 0]}"#);
    let drawn = predict("more", &["--outcomes", "--data", "new.json"]);
    assert_eq!(names(&drawn), ["y[1]", "y[2]"]);
    let far = parameter(&drawn, "y[2]")["mean"].as_f64().unwrap();
    // About 0.02 + 0.97 x, whose deviation there is 3: an error of 0.11 with 800 draws.
    assert!((far - 19.4).abs() < 0.6, "{far}");

    let model = r#"{"exmc": 1, "nodes": [
        {"rv": "mu", "dist": "normal", "params": [0, 10]},
        {"det": "twice", "value": ["mul", "mu", 2]},
        {"rv": "y", "dist": "normal", "params": ["mu", 1], "shape": [2]},
        {"obs": "y_obs", "of": "y", "value": [2, 4]}]}"#;
    folder.write("mean.json", model);
    folder.sample("mean.json", "mean", &[]).ends_with(0);
    assert_eq!(names(&predict("mean", &["--outcomes"])), ["y[0]", "y[1]"]);
}

#[test]
fn outcomes_that_a_program_does_not_describe_are_an_error() {
    let folder = Folder::with_models();
    let mixture = LINE.replace(
        "y ~ normal(line, 0.5)",
        "for (i in 1:N) target += log_sum_exp(normal_lpdf(y[i] | a, 1), normal_lpdf(y[i] | b, 1))",
    );
    folder.write("mixture.stan", &format!("{mixture}{QUANTITIES}"));
    folder.write("data.json", DATA);
    folder.sample("mixture.stan", "run", &["--data", "data.json"]);
    let ran = folder.exmc(&["predict", "run", "--outcomes"]).ends_with(1);
    for said in
        ["model.stan:4:", "`normal_lpdf`", "help: draw replications in generated quantities"]
    {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    folder.write("prior.json", r#"{"exmc": 1, "nodes": [
        {"rv": "mu", "dist": "normal", "params": [0, 1]}, {"det": "twice", "value": ["mul", "mu", 2]}]}"#);
    folder.sample("prior.json", "prior", &[]).ends_with(0);
    let ran = folder.exmc(&["predict", "prior", "--outcomes"]).ends_with(1);
    assert!(ran.stderr.contains("the model observes nothing"), "{}", ran.stderr);
}

/// A value is from the file of new data or from the run's own.
#[test]
fn errors_about_new_data_name_the_file_that_the_value_is_from() {
    let folder = folder();
    let wrong = |text: &str| {
        folder.write("new.json", text);
        folder.exmc(&["predict", "more", "--data", "new.json"]).ends_with(1).stderr
    };
    for (text, said) in [
        (r#"{"x": [1, 2, 3, 4]}"#, &["new.json:1:7", "`x`"][..]),
        (
            r#"{"N": 2, "x": [1, 2]}"#,
            &["more/data.json:1:37", "`y`", r#"help: give "y" in `new.json` too"#],
        ),
        ("{\"x\": [1, 2,\n}", &["new.json:2:1"]),
        (r#"{"N": 1.5}"#, &["new.json:1:7", "`N`"]),
    ] {
        let stderr = wrong(text).replace('\\', "/");
        said.iter().for_each(|said| assert!(stderr.contains(said), "{said}: {stderr}"));
        assert!(!stderr.contains("the run's data"), "{stderr}");
    }
    // The rest stays as it is, tuples included.
    folder.write("new.json", r#"{"x": [4, 3, 2, 1, 0]}"#);
    let ran = folder.exmc(&["predict", "more", "--data", "new.json", "--outcomes"]).ends_with(0);
    assert_eq!(ran.stderr, "");

    let model = r#"{"exmc": 1, "nodes": [
        {"data": "x", "dtype": "real", "shape": [2]},
        {"rv": "b", "dist": "normal", "params": [0, 10]},
        {"rv": "y", "dist": "normal", "params": [["mul", "b", "x"], 1]},
        {"obs": "y_obs", "of": "y", "value": [2, 4]}]}"#;
    folder.write("slope.json", model);
    folder.write("x.json", r#"{"x": [1, 2]}"#);
    folder.sample("slope.json", "slope", &["--data", "x.json"]).ends_with(0);
    folder.write("new.json", "{\n  \"x\": [1]}");
    let ran = folder.exmc(&["predict", "slope", "--data", "new.json"]).ends_with(1);
    for said in ["in `new.json`:", "`x`", "line 2, column"] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
}

/// Draws at which the program's own random numbers reject are counted, with the first reason, and
/// the others are shown.
#[test]
fn draws_that_cannot_be_replicated_are_told() {
    let folder = Folder::with_models();
    let program = |limit: &str| {
        format!(
            "functions {{
  real own_lpdf(real y, real mu) {{ return normal_lpdf(y | mu, 1); }}
  real own_rng(real mu) {{
    if (mu > {limit}) reject(\"too <large>\");
    return normal_rng(mu, 1);
  }}
}}
data {{ int N; vector[N] y; }}
parameters {{ real mu; }}
model {{ mu ~ normal(0, 1); for (i in 1:N) y[i] ~ own(mu); }}
"
        )
    };
    folder.write("data.json", r#"{"N": 3, "y": [0.1, 1.2, -0.4]}"#);
    let sample = |limit: &str, run: &str| {
        folder.write("own.stan", &program(limit));
        folder.sample("own.stan", run, &["--data", "data.json", "--seed", "2"]).ends_with(0);
    };
    sample("0.5", "some");
    let stored = exmc::runs::read_run(&folder.path("some")).unwrap().posterior;
    let all = stored.draws_of("mu", 0).unwrap().concat();
    let failed = all.iter().filter(|mu| **mu > 0.5).count();
    assert!(failed > 100 && failed < all.len() / 2, "{failed}");
    let said = format!("{failed} of {} draws", all.len());

    let ran = folder.exmc(&["report", "some", "-o", "page.html"]).ends_with(0);
    let reason = "nothing can be drawn there: too <large> (`some/model.stan`, line 4)";
    let is_said = |text: &str, fate: &str| {
        let text = text.replace('\\', "/");
        assert!(text.contains(&format!("{said} {fate}, as {reason}")), "{text}");
    };
    is_said(&ran.stderr, "are left out");
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    let section = page.split("Predictive checks</h2>").nth(1).unwrap();
    is_said(&section.replace("&lt;", "<").replace("&gt;", ">"), "are left out");
    assert!(section.contains("y as the model would make it") && !page.contains("LOO-PIT"));

    let ran = folder.exmc(&["predict", "some"]).ends_with(0);
    is_said(&ran.stderr, "are NaN");
    let ran = folder.exmc(&["plot", "some", "ppc", "y"]).ends_with(0);
    is_said(&ran.stderr, "are left out");
    let ran = folder.exmc(&["plot", "some", "loo-pit", "y"]).ends_with(1);
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);

    // None at all, the first draw included.
    sample("-100", "none");
    let said = format!("{0} of {0} draws", all.len());
    let ran = folder.exmc(&["predict", "none"]).ends_with(1);
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    folder.exmc(&["report", "none", "-o", "page.html"]).ends_with(0);
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    assert!(page.contains(&format!("{said} are left out")));
}
