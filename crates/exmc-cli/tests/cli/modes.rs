//! `optimize`, `laplace` and `generate`, and summaries of CSV files.

use exmc_draws::read_run;
use exmc_math::random::{ChainRng, Phase};
use serde_json::Value;

use crate::harness::{Folder, Ran, expect_text, parameter};

/// A gamma variable on the logarithm: mode (4 - 1) / 2 of the value, and of its logarithm log(4 /
/// 2).
const GAMMA: &str = r#"{"exmc": 1, "nodes": [
  {"rv": "s", "dist": "gamma", "params": {"alpha": 4, "beta": 2}, "transform": "log"}]}"#;

/// Two correlated normals with a deterministic sum and matrix of both.
const PAIR: &str = r#"{"exmc": 1, "nodes": [
  {"rv": "a", "dist": "normal", "params": {"mu": 1, "sigma": 2}},
  {"rv": "b", "dist": "normal", "params": {"mu": "a", "sigma": 0.5}, "shape": [2]},
  {"det": "twice", "value": ["mul", 2, "b"]}
]}"#;

#[track_caller]
fn close(found: &Value, exact: f64, tolerance: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - exact).abs() <= tolerance, "{found}, exactly {exact}");
}

#[test]
fn modes_of_conjugate_models_are_exact() {
    let folder = Folder::with_models();
    let args = ["optimize", "mean.json", "--data", "mean-data.json", "--json"];
    let json = folder.exmc(&args).ends_with(0).json();
    close(&json["values"]["mu"], 1.875 / 0.76, 1e-6);
    let keys: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "exmc",
            "values",
            "lp",
            "gradient_norm",
            "iterations",
            "evaluations",
            "converged",
            "stopped"
        ]
    );
    assert_eq!(json["converged"], true);

    folder.write("gamma.json", GAMMA);
    let mode = |args: &[&str]| {
        let all = [&["optimize", "gamma.json", "--json"], args].concat();
        folder.exmc(&all).ends_with(0).json()["values"]["s"].clone()
    };
    // The tolerances leave an error of some 1e-10 in the log density, so about 1e-5 in the
    // variable.
    close(&mode(&[]), 1.5, 1e-4);
    close(&mode(&["--seed", "9"]), 1.5, 1e-4);
    close(&mode(&["--jacobian"]), 2.0, 1e-4);
    close(&mode(&["--tol-rel-grad", "0", "--tol-obj", "0", "--tol-rel-obj", "0"]), 1.5, 1e-8);
    folder.write("start.json", r#"{"s": 1.5}"#);
    let near = ["optimize", "gamma.json", "--json", "--init", "start.json"];
    assert_eq!(folder.exmc(&near).ends_with(0).json()["iterations"], 0);
}

#[test]
fn a_mode_is_shown_and_written_as_csv() {
    let folder = Folder::new();
    folder.write("pair.json", PAIR);
    let ran = folder.exmc(&[
        "optimize",
        "pair.json",
        "--out",
        "mode.csv",
        "--seed",
        "4",
        "--tol-obj",
        "0",
        "--tol-rel-obj",
        "0",
        "--tol-rel-grad",
        "0",
    ]);
    let ran = ran.ends_with(0);
    let first = |line: &str| line.split(' ').next().unwrap().to_owned();
    let names: Vec<_> = ran.stdout.lines().take(6).map(first).collect();
    assert_eq!(names, ["parameter", "a", "b[0]", "b[1]", "twice[0]", "twice[1]"]);
    let text = String::from_utf8(folder.read("mode.csv")).unwrap();
    let rows: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows[0], "lp__,a,b.1,b.2,twice.1,twice.2");
    let values: Vec<f64> = rows[1].split(',').map(|cell| cell.parse().unwrap()).collect();
    for (value, exact) in values[1..].iter().zip([1.0, 1.0, 1.0, 2.0, 2.0]) {
        assert!((value - exact).abs() < 1e-4, "{text}");
    }
    assert_eq!(rows.len(), 2);
}

#[test]
fn what_is_no_mode_is_said_and_ends_with_three() {
    let folder = Folder::with_models();
    // Eight schools as declared: the density grows without bound where tau is zero.
    let ran = folder.exmc(&["optimize", "schools.json", "--out", "mode.csv"]).ends_with(3);
    assert!(!folder.path("mode.csv").exists(), "what is no mode is stored as one");
    assert!(ran.stderr.contains("`tau`") || ran.stderr.contains("did not converge"), "{ran:?}");
    let json = folder.exmc(&["optimize", "schools.json", "--json"]).ends_with(3).json();
    assert_eq!(json["converged"], false);
    assert_eq!(json["error"]["exit"], 3);
    let few = ["optimize", "mean.json", "--data", "mean-data.json", "--iterations", "1"];
    let ran = folder.exmc(&few).ends_with(3);
    assert!(ran.stderr.contains("the largest number of iterations was reached"), "{ran:?}");
    assert!(ran.stderr.contains("--iterations"), "{ran:?}");
    for (flag, value) in [("--tol-obj", "NaN"), ("--init-alpha", "0"), ("--history-size", "0")] {
        let ran = folder.exmc(&[&few[..4], &[flag, value]].concat()).ends_with(2);
        assert!(ran.stderr.contains(&format!("`{flag}`")), "{ran:?}");
    }
    folder.exmc(&["optimize", "mean.json", "--algorithm", "newton"]).ends_with(2);
    folder.write("two.json", r#"[{"mu": 1}, {"mu": 2}]"#);
    let two = ["optimize", "mean.json", "--data", "mean-data.json", "--init", "two.json"];
    assert!(folder.exmc(&two).ends_with(1).stderr.contains("expected one point, found 2"));
}

#[test]
fn the_approximation_of_a_normal_posterior_is_the_posterior() {
    let folder = Folder::with_models();
    let args = ["laplace", "mean.json", "--data", "mean-data.json", "--draws", "4000"];
    let more = ["--out", "run", "--json", "--seed", "2"];
    let json = folder.exmc(&[&args[..], &more].concat()).ends_with(0).json();
    let stored = folder.exmc(&["summary", "run", "--json"]).ends_with(0).json();
    assert_eq!(json, stored);
    let mu = parameter(&stored, "mu");
    // Posterior precision 0.76; 6 standard errors of a mean and a standard deviation of 4000
    // independent draws.
    let sd = 1.0 / 0.76_f64.sqrt();
    close(&mu["mean"], 1.875 / 0.76, 6.0 * sd / 4000_f64.sqrt());
    close(&mu["sd"], sd, 6.0 * sd / 8000_f64.sqrt());
    // log p and log q differ by a constant, because the posterior is normal.
    folder.exmc(&["export", "run", "--out", "csv"]).ends_with(0);
    let text = String::from_utf8(folder.read("csv/mean_1.csv")).unwrap();
    assert!(
        text.contains("\n#     mode = run/mode.csv\n#     jacobian = true (Default)\n"),
        "{text}"
    );
    let mode = String::from_utf8(folder.read("run/mode.csv")).unwrap();
    let mu: f64 = mode.lines().last().unwrap().split(',').nth(1).unwrap().parse().unwrap();
    assert!((mu - 1.875 / 0.76).abs() < 1e-8, "{mode}");
    let mut rows = text.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(rows.next(), Some("log_p__,log_q__,mu"));
    let ratios: Vec<f64> = rows
        .map(|row| {
            let cells: Vec<f64> = row.split(',').map(|cell| cell.parse().unwrap()).collect();
            cells[0] - cells[1]
        })
        .collect();
    assert_eq!(ratios.len(), 4000);
    assert!(ratios.iter().all(|r| (r - ratios[0]).abs() < 1e-6), "{:?}", &ratios[..5]);

    let text = folder.exmc(&["summary", "run"]).ends_with(0).stdout;
    assert!(text.contains("\n4000 independent draws\n"), "{text}");
    assert!(!text.contains("divergence"), "{text}");
}

#[test]
fn a_given_mode_is_used_and_judged() {
    let folder = Folder::new();
    folder.write("gamma.json", GAMMA);
    let mode = ["optimize", "gamma.json", "--jacobian", "--out", "mode.csv"];
    folder.exmc(&mode).ends_with(0);
    let ran = |mode: &str, out: &str| {
        folder.exmc(&["laplace", "gamma.json", "--mode", mode, "--out", out, "--json"])
    };
    let found = ran("mode.csv", "from-csv").ends_with(0);
    assert_eq!(found.stderr, "");
    folder.write("mode.json", r#"{"s": 2}"#);
    let same = ran("mode.json", "from-json").ends_with(0);
    assert_eq!(same.stderr, "");
    // The curvature of the log of a gamma variable is its shape.
    let draws =
        |out: &str| folder.exmc(&["summary", out, "--json"]).json()["parameters"][2].clone();
    close(&draws("from-json")["q50"], 2.0, 0.15);
    close(&draws("from-csv")["mean"], draws("from-json")["mean"].as_f64().unwrap(), 1e-4);
    // The mode of the value is not that of its logarithm.
    folder.write("off.json", r#"{"s": 1.5}"#);
    assert!(ran("off.json", "off").ends_with(0).stderr.contains("is no mode"));
    folder.write("empty.csv", "lp__,s\n");
    assert!(ran("empty.csv", "no").ends_with(1).stderr.contains("no line with the mode"));
    folder.write("other.csv", "lp__,t\n1,2\n");
    assert!(ran("other.csv", "no").ends_with(1).stderr.contains("no column of `s`"));
    assert!(!folder.path("no").exists());
}

#[test]
fn quantities_follow_from_draws_of_a_run_and_of_csv_files() {
    let folder = Folder::new();
    folder.write("pair.json", PAIR);
    folder.sample("pair.json", "run", &["--chains", "2", "--format", "stan-csv"]).ends_with(0);
    let from = |draws: &[&str], out: &str| {
        let args = [&["generate", "pair.json", "--out", out, "--json", "--draws"], draws].concat();
        folder.exmc(&args).ends_with(0).json()
    };
    let json = from(&["run"], "again");
    let names: Vec<_> =
        json["parameters"].as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
    assert_eq!(names, ["twice[0]", "twice[1]"]);
    let draws = |out: &str| exmc_draws::read_run(&folder.path(out)).unwrap().posterior;
    let (run, again) = (draws("run"), draws("again"));
    for chain in 0..2 {
        let expected: Vec<f64> =
            run.draws_of("b", 1).unwrap()[chain].iter().map(|x| 2.0 * x).collect();
        assert_eq!(again.draws_of("twice", 1).unwrap()[chain].len(), 200);
        for (found, exact) in again.draws_of("twice", 1).unwrap()[chain].iter().zip(expected) {
            assert!((found - exact).abs() <= 1e-14 * exact.abs().max(1.0));
        }
    }
    from(&["run/pair_1.csv", "run/pair_2.csv"], "csv");
    assert_eq!(draws("csv").chains[1].values, again.chains[1].values);

    folder.write("few.csv", "lp__,a\n0,1\n");
    let ran = folder.exmc(&["generate", "pair.json", "--draws", "few.csv"]).ends_with(1);
    assert!(ran.stderr.contains("the draws have no values of `b`"), "{ran:?}");
    folder
        .write("gamma.json", &GAMMA.replace("]}", r#", {"det": "t", "value": ["mul", 2, "s"]}]}"#));
    folder.write("gamma.csv", "s\n1\n-1\n3\n");
    let ran = folder.exmc(&["generate", "gamma.json", "--draws", "gamma.csv", "--out", "g"]);
    let ran: Ran = ran.ends_with(0);
    assert!(ran.stderr.contains("1 draw could not be used"), "{ran:?}");
    let values = &draws("g").chains[0].values;
    assert!(
        values[0] == 2.0 && values[1].is_nan() && (values[2] - 6.0).abs() < 1e-14,
        "{values:?}"
    );
}

#[test]
fn csv_files_are_summarised() {
    let folder = Folder::new();
    let header =
        "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,x.1,x.2\n";
    let file = |phase: f64| {
        let mut text = "# method = sample\n#   max_depth = 4\n".to_owned() + header;
        for k in 0..50 {
            // A sequence that fills (0, 1) evenly.
            let u = (phase + 0.618_033_988_749_894_9 * f64::from(k)).fract();
            let v = (phase + 0.754_877_666_246_692_8 * f64::from(k)).fract();
            let (depth, divergent) = (2 + u32::from(k == 7) * 2, u32::from(k == 9));
            text += &format!("{},0.9,0.5,{depth},3,{divergent},{},{u},{}\n", -v, 1.0 + v, 10.0 * v);
        }
        text
    };
    folder.write("a_1.csv", &file(0.1));
    folder.write("a_2.csv", &file(0.6));
    let ran = folder.exmc(&["summary", "a_1.csv", "a_2.csv"]).ends_with(0);
    expect_text("summary-csv.txt", &ran.stdout);
    let json = folder.exmc(&["summary", "a_1.csv", "a_2.csv", "--json"]).ends_with(0).json();
    assert_eq!(json["files"], serde_json::json!(["a_1.csv", "a_2.csv"]));
    assert_eq!((&json["run"]["divergences"], &json["run"]["depth_hits"]), (&2.into(), &2.into()));
    assert_eq!(json["parameters"][1]["name"], "x[1]");
    folder.write("bad.csv", "x\n1\ntwo\n");
    let ran = folder.exmc(&["summary", "bad.csv"]).ends_with(4);
    assert!(ran.stderr.contains("line 3: the value of `x` is no number: `two`"), "{ran:?}");
}

/// The sampler's numbers are not those of the approximation.
#[test]
fn an_approximation_draws_from_a_stream_of_its_own() {
    let folder = Folder::new();
    let normal =
        r#"{"exmc": 1, "nodes": [{"rv": "x", "dist": "normal", "params": {"mu": 0, "sigma": 1}}]}"#;
    folder.write("normal.json", normal);
    let args = ["laplace", "normal.json", "--seed", "5", "--draws", "1", "--out", "run"];
    folder.exmc(&args).ends_with(0);
    let x = read_run(&folder.path("run")).unwrap().posterior.draws_of("x", 0).unwrap()[0][0];
    let number = ChainRng::new(5, 0, Phase::Approximation).standard_normal();
    assert!((x - number).abs() < 1e-4, "{x} {number}");
}
