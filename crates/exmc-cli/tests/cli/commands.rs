//! `logp`, `bench`, `dump`, `distributions` and `completions`.

use std::f64::consts::{LN_2, PI};

use exmc_model::distribution::FAMILIES;
use serde_json::Value;

use crate::harness::{Folder, MEAN, expect_text};

const POINTS: &str = r#"[
  {"mu": 1.5, "tau": 2, "theta": [1, 2, 3, 4, 5, 6, 7, 8]},
  {"mu": -1, "tau": 0.5, "theta": [0, 0, 0, 0, 0, 0, 0, 0]}
]"#;

const Y: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const SIGMA: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

fn normal(x: f64, mean: f64, sd: f64) -> f64 {
    let z = (x - mean) / sd;
    -0.5 * z * z - libm::log(sd) - 0.5 * libm::log(2.0 * PI)
}

/// The joint log density of the constrained values, written out.
fn eight_schools(mu: f64, tau: f64, theta: &[f64]) -> f64 {
    let prior = normal(mu, 0.0, 5.0) + normal(tau, 0.0, 5.0) + LN_2;
    let schools = theta.iter().zip(Y).zip(SIGMA);
    prior + schools.map(|((t, y), s)| normal(*t, mu, tau) + normal(y, *t, s)).sum::<f64>()
}

fn close(found: &Value, exact: f64) {
    let found = found.as_f64().unwrap();
    // Sums of some twenty terms: a few ulps of the largest.
    assert!((found - exact).abs() < 1e-12 * exact.abs().max(1.0), "{found}, exactly {exact}");
}

#[test]
fn logp_without_jacobian_is_the_written_out_density() {
    let folder = Folder::with_models();
    folder.write("points.json", POINTS);
    let args = ["logp", "schools.json", "--points", "points.json", "--json", "--no-jacobian"];
    let answer = folder.exmc(&args).ends_with(0).json();
    let theta: Vec<f64> = (1..=8).map(f64::from).collect();
    let points = &answer["points"];
    close(&points[0]["lp"], eight_schools(1.5, 2.0, &theta));
    close(&points[1]["lp"], eight_schools(-1.0, 0.5, &[0.0; 8]));
    // d/d mu of the centred form.
    let slope: f64 = theta.iter().map(|t| (t - 1.5) / 4.0).sum::<f64>() - 1.5 / 25.0;
    close(&points[0]["gradient"]["mu"], slope);
    let gradient = &points[0]["gradient"];
    for k in 0..8 {
        let exact = -(theta[k] - 1.5) / 4.0 + (Y[k] - theta[k]) / (SIGMA[k] * SIGMA[k]);
        close(&gradient["theta"][k], exact);
    }
    let keys: Vec<_> = gradient.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["mu", "tau", "theta"]);
}

#[test]
fn jacobian_and_non_centring_change_the_density_as_they_should() {
    let folder = Folder::with_models();
    folder.write("points.json", POINTS);
    folder.write(
        "positive.json",
        r#"{"exmc": 1, "nodes": [
        {"rv": "s", "dist": "half_normal", "params": {"sigma": 5}, "transform": "log"}]}"#,
    );
    folder.write("s.json", r#"{"s": 2}"#);
    let lp = |args: &[&str]| {
        let answer =
            folder.exmc(&[&["logp", "--json", "--points"], args].concat()).ends_with(0).json();
        answer["points"][0].clone()
    };
    let density = normal(2.0, 0.0, 5.0) + LN_2;
    let without = lp(&["s.json", "positive.json", "--no-jacobian"]);
    close(&without["lp"], density);
    close(&without["gradient"]["s"], -4.0 / 25.0);
    // The coordinate is log s: the Jacobian adds log s, and 1 to the slope.
    let with = lp(&["s.json", "positive.json"]);
    close(&with["lp"], density + LN_2);
    close(&with["gradient"]["s"], 1.0 - 4.0 / 25.0);

    // Standardising eight variables by tau multiplies the density by tau^8; tau itself moves from
    // softplus(z), with slope 1 - e^-tau, to 5 softplus(z), with slope 5 (1 - e^(-tau/5)).
    let slope = |x: f64| libm::log(-libm::expm1(-x));
    let in_units = libm::log(5.0) + slope(0.4) - slope(2.0);
    let centred = lp(&["points.json", "schools.json"])["lp"].as_f64().unwrap();
    let standardised = lp(&["points.json", "schools.json", "--non-centre"]);
    close(&standardised["lp"], centred + 8.0 * LN_2 + in_units);
}

#[test]
fn logp_text_and_mistakes() {
    let folder = Folder::with_models();
    folder.write("points.json", POINTS);
    let ran = folder.exmc(&["logp", "schools.json", "--points", "points.json"]).ends_with(0);
    expect_text("logp.txt", &ran.stdout);
    let wrong = |points: &str, message: &str| {
        folder.write("wrong.json", points);
        let ran = folder.exmc(&["logp", "schools.json", "--points", "wrong.json"]).ends_with(1);
        assert!(ran.stderr.contains("wrong.json") && ran.stderr.contains(message), "{ran:?}");
        assert_eq!(ran.stdout, "");
    };
    let theta = "\"theta\": [1, 2, 3, 4, 5, 6, 7, 8]";
    wrong(&format!("{{\"mu\": 1, {theta}}}"), "no value for `tau`");
    wrong(&format!("[{{\"mu\": 1, \"tau\": 1, {theta}}}, 3]"), "entry 1 is no object");
    wrong(&format!("{{\"mu\": 1, \"tau\": -1, {theta}}}"), "`tau` lies outside of its support");
    wrong(r#"{"mu": 1, "tau": 1, "theta": [1, 2]}"#, "`theta` has shape [2], expected [8]");
    wrong(
        &format!("{{\"mu\": 1, \"tau\": 1, {theta}, \"eta\": 0}}"),
        "`eta` is not a free variable",
    );
    wrong("[", "EOF");
}

#[test]
fn bench_measures_plausible_times() {
    let folder = Folder::with_models();
    let json = folder.exmc(&["bench", "schools.json", "--json"]).ends_with(0).json();
    let keys: Vec<_> = json.as_object().unwrap().keys().collect();
    let expected = [
        "exmc",
        "dim",
        "integrated_out",
        "compile_us",
        "bind_us",
        "gradient_ns",
        "leapfrog_ns",
        "executor",
    ];
    assert_eq!(keys, expected);
    assert_eq!((&json["dim"], &json["executor"]), (&2.into(), &"native".into()));
    assert_eq!(json["integrated_out"], serde_json::json!(["theta"]));
    let time = |key: &str| json[key].as_f64().unwrap();
    assert!(time("gradient_ns") > 10.0 && time("gradient_ns") < 1e6, "{json}");
    // A leapfrog step holds a gradient (a factor of four for a machine that is busy meanwhile).
    assert!(time("leapfrog_ns") > 0.25 * time("gradient_ns"), "{json}");
    let unmarginalised = ["bench", "schools.json", "--without", "marginalise"];
    let ran = folder.exmc(&unmarginalised).ends_with(0);
    assert!(ran.stdout.starts_with("dim       10\nexecutor  native\ncompile   "), "{ran:?}");

    let explain = [&["bench", "schools.json", "--explain"][..], &["--json"]].concat();
    let text = folder.exmc(&explain[..3]).ends_with(0).stdout;
    let gone = "dim       2, without what is integrated out: theta (8)\nexecutor  native\n";
    assert!(text.starts_with(gone) && text.contains("\nmarginalise "), "{text}");
    let json = folder.exmc(&explain).ends_with(0).json();
    let last = json["explain"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["pass"], &last["data"]), (&"marginalise".into(), &json["integrated_out"]));
    let number = |key: &str| last[key].as_f64().unwrap();
    assert!(number("estimate_after") > number("estimate_before"), "{last}");
    assert!(number("gradient_ns_before") > 0.0 && number("gradient_ns_after") > 0.0);
}

#[test]
fn every_stage_can_be_dumped() {
    let folder = Folder::with_models();
    let dump =
        |stage: &str| folder.exmc(&["dump", "schools.json", "--stage", stage]).ends_with(0).stdout;
    expect_text("dump-model.txt", &dump("model"));
    expect_text("dump-rewritten.txt", &dump("rewritten"));
    assert!(dump("rewritten").contains("theta = mu + tau * z"));
    let centred = ["dump", "schools.json", "--stage", "rewritten", "--without", "non-centre"];
    assert!(!folder.exmc(&centred).ends_with(0).stdout.contains("* z"));

    let graph = dump("graph");
    let (nodes, last) = graph.trim_end().rsplit_once('\n').unwrap();
    let (_, root) = last.split_once("log density = ").unwrap();
    assert!(nodes.lines().last().unwrap().starts_with(&format!("{root} = add(")), "{graph}");
    exmc_graph::parse(&format!("{nodes}\n")).unwrap();
    let gradient = dump("grad");
    for name in ["mu", "tau", "theta"] {
        assert!(gradient.contains(&format!("\nd/d {name} = %")), "{gradient}");
    }
    assert!(dump("program").contains("result "));

    folder.write("again.json", &dump("json"));
    let again = folder.exmc(&["dump", "again.json"]).ends_with(0).stdout;
    assert_eq!(again, dump("model"));
}

#[test]
fn optimisations_are_shown_measured_and_left_out() {
    let folder = Folder::with_models();
    let rows = MEAN.replace("[3]", "[300]");
    folder.write("rows.json", &rows);
    let numbers: Vec<String> = (0..300).map(|k| format!("{k}.5")).collect();
    folder.write("rows-data.json", &format!(r#"{{"n": 3, "x": [{}]}}"#, numbers.join(", ")));
    let dump = |more: &[&str]| {
        let args = [&["dump", "rows.json", "--stage", "optimised"], more].concat();
        folder.exmc(&args).ends_with(0).stdout
    };
    let text = dump(&[]);
    assert!(text.contains(" = least_squares("), "{text}");
    assert!(text.contains("\ncollapse-gaussian: 1 place of x, cost "), "{text}");
    let without = dump(&["--without", "collapse-gaussian"]);
    assert!(!without.contains("least_squares") && !without.contains("collapse-gaussian"));

    let bench = ["bench", "rows.json", "--data", "rows-data.json", "--explain"];
    let native = |more: &[&str]| {
        folder.exmc(&[&bench, &["--executor", "native"][..], more].concat()).ends_with(0)
    };
    let json = native(&["--json"]).json();
    let steps = json["explain"].as_array().unwrap();
    let gaussian = steps.iter().find(|step| step["pass"] == "collapse-gaussian").unwrap();
    let number = |key: &str| gaussian[key].as_f64().unwrap();
    assert!(number("estimate_before") > 2.0 * number("estimate_after"), "{json}");
    assert!(number("gradient_ns_before") > 0.0 && number("gradient_ns_after") > 0.0);
    assert_eq!(gaussian["data"], serde_json::json!(["x"]));
    assert!(native(&[]).stdout.contains("\noptimisation "), "a table");
    let refused = folder.exmc(&[&bench[..], &["--executor", "reference"]].concat()).ends_with(2);
    assert!(refused.stderr.contains("add `--executor native`"), "{refused:?}");
}

#[test]
fn every_distribution_is_listed_with_its_parameters() {
    let folder = Folder::new();
    let text = folder.exmc(&["distributions"]).ends_with(0).stdout;
    let json = folder.exmc(&["distributions", "--json"]).ends_with(0).json();
    let listed = json["distributions"].as_array().unwrap();
    assert_eq!(listed.len(), FAMILIES.len());
    for (family, entry) in FAMILIES.iter().zip(listed) {
        assert!(text.contains(&format!("\n{}(", family.name())), "{}", family.name());
        assert_eq!(entry["name"], family.name());
        let names: Vec<_> =
            entry["parameters"].as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
        let expected: Vec<_> = family.parameters().iter().map(|p| p.name).collect();
        assert_eq!(names, expected);
    }
    assert!(text.contains("\nnormal(mu, sigma) "), "{text}");
}

#[test]
fn completions_know_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = folder.exmc(&["completions", shell]).ends_with(0);
        assert!(
            ran.stdout.contains("warm-start") && ran.stdout.contains("distributions"),
            "{shell}"
        );
    }
    folder.exmc(&["completions", "cmd"]).ends_with(2);
}
