//! `exmc sbc`, refits of `exmc loo`, `diagnose --fix`, and what pages and figures show of them.

use crate::harness::Folder;

const SCHOOLS: &str = "\
data { int<lower=0> J; array[J] real y; array[J] real<lower=0> sigma; }
parameters { real mu; real<lower=0> tau; array[J] real theta; }
model {
  y ~ normal(theta, sigma);
  theta ~ normal(mu, tau); mu ~ normal(0, 5); tau ~ cauchy(0, 5);
}
generated quantities {
  vector[J] log_lik; vector[J] y_rep;
  for (j in 1:J) {
    y_rep[j] = normal_rng(theta[j], sigma[j]);
    log_lik[j] = normal_lpdf(y[j] | theta[j], sigma[j]);
  }
}
";

const DATA: &str = r#"{"J": 8, "y": [28, 8, -3, 7, -1, 1, 18, 12], "sigma": [15, 10, 16, 11, 9, 11, 10, 18],
  "half": [1, 1, 1, 1, 2, 2, 2, 2]}"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("m.stan", SCHOOLS);
    folder.write("d.json", DATA);
    folder
}

#[test]
fn calibration_judges_a_program_and_a_wrong_prior() {
    let folder = folder();
    // The data that are drawn may be left out.
    folder.write("sizes.json", r#"{"J": 3, "sigma": [40, 40, 40]}"#);
    let args = ["sbc", "m.stan", "--data", "sizes.json", "--check", "--json", "--seed", "2"];
    let right = folder.exmc(&args).ends_with(0).json();
    assert_eq!((&right["passes"], &right["replications"]), (&true.into(), &200.into()));
    assert_eq!(right["quantities"].as_array().unwrap().len(), 5);
    folder.write("wide.stan", &SCHOOLS.replace("mu ~ normal(0, 5)", "mu ~ normal(0, 10)"));
    let wide = folder.exmc(&[
        "sbc",
        "wide.stan",
        "--simulate",
        "m.stan",
        "--data",
        "sizes.json",
        "--check",
        "--out",
        "found",
    ]);
    let text = wide.ends_with(3).stdout;
    assert!(text.contains("not calibrated") && text.contains("too wide"), "{text}");
    assert_eq!(folder.names("found"), ["sbc.json", "sbc.svg"]);
    let svg = String::from_utf8(folder.read("found/sbc.svg")).unwrap();
    assert!(svg.contains("mu (leaves)"));
}

#[test]
fn calibration_says_which_statement_is_in_its_way() {
    let folder = folder();
    folder.write("bad.stan", &SCHOOLS.replace("mu ~ normal(0, 5)", "target += -square(mu)"));
    let ran = folder.exmc(&["sbc", "bad.stan", "--data", "d.json"]).ends_with(1);
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr.contains("bad.stan:5") && ran.stderr.contains("`target +=`"),
        "{}",
        ran.stderr
    );
    let wrong = folder.exmc(&["sbc", "m.stan", "--data", "d.json", "--replications", "0"]);
    assert!(wrong.ends_with(1).stderr.contains("at least one replication"));
}

#[test]
fn refits_folds_and_pages_show_how_a_model_predicts() {
    let folder = folder();
    for (out, seed) in [("one", "1"), ("two", "2")] {
        folder
            .exmc(&["sample", "m.stan", "--data", "d.json", "--out", out, "--seed", seed, "-q"])
            .ends_with(0);
    }
    let exact = folder.exmc(&["loo", "one", "--exact", "--json", "--check"]).ends_with(0).json();
    let observations = exact["observations"].as_array().unwrap();
    assert!(observations.iter().all(|o| o["pareto_k"].as_f64().unwrap() <= 0.7));
    let fold = folder.exmc(&["loo", "one", "--k-fold", "8", "--json"]).ends_with(0).json();
    // Both estimate the same sum; refits have a Monte Carlo error of about 0.05.
    let estimate = |json: &serde_json::Value, name: &str| json[name].as_f64().unwrap();
    assert!((estimate(&exact, "elpd_loo") - estimate(&fold, "elpd_kfold")).abs() < 0.5);
    folder.exmc(&["loo", "one", "--group", "half", "--exact"]).ends_with(0);
    let halves = ["loo", "one", "--group", "half", "--k-fold", "3"];
    assert!(folder.exmc(&halves).ends_with(2).stderr.contains("at most 2"));

    folder
        .exmc(&[
            "report",
            "one",
            "--compare",
            "two",
            "--prior",
            "--check",
            "y_rep=y",
            "-o",
            "page.html",
        ])
        .ends_with(0);
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    for section in ["Comparison</h3>", "Leave-one-out", "LOO-PIT", "Prior and posterior</h2>"] {
        assert!(page.contains(section), "{section}");
    }
    for kind in [&["pareto-k"][..], &["prior", "mu"], &["compare", "--with", "two"]] {
        let figure = folder.exmc(&[&["plot", "one"], kind].concat()).ends_with(0);
        assert!(!figure.stdout.is_empty(), "{kind:?}");
    }
    let pit = ["plot", "one", "loo-pit", "y_rep", "--observed", "y", "--json"];
    assert_eq!(folder.exmc(&pit).ends_with(0).json()["title"], "LOO-PIT ECDF difference");
}

/// A program without generated quantities has its data drawn as its statements say, for
/// `predict`, figures and pages.
#[test]
fn a_program_without_quantities_is_checked_by_its_statements() {
    let folder = folder();
    let program = "data { int N; vector[N] x; vector[N] y; } parameters { real a; real b; }
        model { a ~ normal(0, 5); b ~ normal(0, 5); y ~ normal(a + b * x, 0.5); }";
    folder.write("line.stan", program);
    folder.write("line.json", r#"{"N": 5, "x": [0, 1, 2, 3, 4], "y": [0.1, 1.2, 1.9, 3.3, 3.9]}"#);
    let run = ["sample", "line.stan", "--data", "line.json", "--out", "run", "--seed", "1", "-q"];
    folder.exmc(&run).ends_with(0);
    let ran = folder.exmc(&["predict", "run", "--out", "drawn", "--json"]).ends_with(0).json();
    let names = ran["parameters"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|parameter| parameter["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["y[1]", "y[2]", "y[3]", "y[4]", "y[5]"]);
    // Outcomes around 0.02 + 0.97 x, whose deviation is that of the noise and of the line.
    let middle = &ran["parameters"][2];
    let (mean, sd) = (middle["mean"].as_f64().unwrap(), middle["sd"].as_f64().unwrap());
    assert!((mean - 2.08).abs() < 0.05 && (sd - 0.3_f64.sqrt()).abs() < 0.05, "{mean} {sd}");
    // New predictors; the outcomes that stand in for none have the right number.
    folder.write("new.json", r#"{"N": 2, "x": [10, 20], "y": [0, 0]}"#);
    let new = ["predict", "run", "--data", "new.json", "--out", "new", "--json"];
    let ran = folder.exmc(&new).ends_with(0).json();
    let far = ran["parameters"][1]["mean"].as_f64().unwrap();
    assert!((far - 19.4).abs() < 0.6, "{far}");

    for kind in ["ppc", "ppc-ecdf", "loo-pit"] {
        let figure = folder.exmc(&["plot", "run", kind, "y"]).ends_with(0);
        assert!(!figure.stdout.is_empty(), "{kind}");
    }
    let wrong = folder.exmc(&["plot", "run", "ppc", "z"]).ends_with(2);
    assert!(wrong.stderr.contains("it observes y"), "{}", wrong.stderr);
    let ran = folder.exmc(&["report", "run", "-o", "page.html"]).ends_with(0);
    assert!(!ran.stderr.contains("note"), "{}", ran.stderr);
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    for section in ["y as the model would make it", "LOO-PIT"] {
        assert!(page.contains(section), "{section}");
    }

    // A mixture has no such draws, which a page says and goes without.
    let mixture = program.replace(
        "y ~ normal(a + b * x, 0.5)",
        "for (i in 1:N) target += log_sum_exp(normal_lpdf(y[i] | a, 1), normal_lpdf(y[i] | b, 1))",
    );
    folder.write("mixture.stan", &mixture);
    let run = ["sample", "mixture.stan", "--data", "line.json", "--out", "mixed", "-q"];
    folder.exmc(&run);
    let ran = folder.exmc(&["predict", "mixed"]).ends_with(1);
    assert!(
        ran.stderr.contains("model.stan:2") && ran.stderr.contains("help: draw replications"),
        "{}",
        ran.stderr
    );
    let ran = folder.exmc(&["report", "mixed", "-o", "other.html"]).ends_with(0);
    assert!(ran.stderr.contains("no leave-one-out of `mixed`"), "{}", ran.stderr);
}

#[test]
fn a_fix_is_a_new_run_beside_the_old_one() {
    let folder = folder();
    folder
        .exmc(&[
            "sample",
            "m.stan",
            "--data",
            "d.json",
            "--out",
            "run",
            "--without",
            "recentre",
            "--warmup",
            "100",
            "--draws",
            "50",
            "-q",
        ])
        .ends_with(0);
    let before = folder.read("run/run.json");
    let json = folder.exmc(&["diagnose", "run", "--fix", "--json"]).ends_with(0).json();
    let fixed = &json["fixed"];
    let fixed_number = |when: &str, what: &str| fixed[when][what].as_f64().unwrap();
    assert!(fixed_number("after", "warnings") < fixed_number("before", "warnings"), "{fixed}");
    assert!(fixed_number("after", "least_ess_bulk") > fixed_number("before", "least_ess_bulk"));
    assert_eq!(fixed["directory"], "run-fixed");
    assert_eq!(folder.read("run/run.json"), before);
    folder.exmc(&["summary", "run-fixed"]).ends_with(0);
    let again = folder.exmc(&["diagnose", "run", "--fix", "--out", "run-fixed"]).ends_with(4);
    assert!(again.stderr.contains("holds a run already"), "{}", again.stderr);
    folder.exmc(&["diagnose", "run", "--out", "elsewhere"]).ends_with(2);
}

/// A shorter step leaves a support as well: the way out is a declaration.
#[test]
fn a_fix_raises_no_target_at_the_end_of_a_support() {
    let folder = folder();
    folder.write(
        "narrow.stan",
        "parameters { vector[2] b; } model { b[1] ~ uniform(-1, 0); b[2] ~ normal(0, 1); }",
    );
    let args = ["sample", "narrow.stan", "--out", "narrow", "-q"];
    folder.exmc(&[&args[..], &["--warmup", "200", "--draws", "400"]].concat()).ends_with(0);
    let ran = folder.exmc(&["diagnose", "narrow", "--fix"]).ends_with(0);
    assert!(ran.stdout.contains("log density is not finite"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("--target-accept"), "{}", ran.stdout);
}
