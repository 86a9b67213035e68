//! Stan programs on the command line: draws, generated quantities, mistakes, stages.

use crate::harness::{Folder, parameter};

/// Two heads in ten: the posterior is beta(3, 9), with mean 1/4; `seen` is theta + 1 and `next` a
/// coin toss.
const COIN: &str = "data { int<lower=0> N; array[N] int<lower=0, upper=1> y; }
parameters { real<lower=0, upper=1> theta; }
model { y ~ bernoulli(theta); theta ~ beta(1, 1); }
generated quantities {
  real above = theta + 1;
  int next = bernoulli_rng(theta);
  array[2] vector[3] grid;
  for (i in 1:2) for (j in 1:3) grid[i, j] = 10 * i + j;
}
";
const TOSSES: &str = r#"{"N": 10, "y": [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]}"#;

fn coin() -> Folder {
    let folder = Folder::new();
    folder.write("coin.stan", COIN);
    folder.write("coin.json", TOSSES);
    folder
}

fn sampled(folder: &Folder, out: &str, more: &[&str]) -> serde_json::Value {
    let mut args = vec![
        "sample",
        "coin.stan",
        "--data",
        "coin.json",
        "--seed",
        "7",
        "--quiet",
        "--json",
        "--out",
        out,
    ];
    args.extend_from_slice(more);
    folder.exmc(&args).ends_with(0).json()
}

#[test]
fn a_program_samples_with_its_generated_quantities() {
    let summary = sampled(&coin(), "run", &[]);
    let mean = |name: &str| parameter(&summary, name)["mean"].as_f64().unwrap();
    let error = |name: &str| parameter(&summary, name)["mcse_mean"].as_f64().unwrap();
    // Five standard errors: a false alarm in two million runs, and the seed is fixed.
    assert!((mean("theta") - 0.25).abs() < 5.0 * error("theta"), "{}", mean("theta"));
    assert!((mean("above") - mean("theta") - 1.0).abs() < 1e-12);
    assert!((mean("next") - 0.25).abs() < 5.0 * error("next"), "{}", mean("next"));
    assert_eq!(mean("grid[2,3]"), 23.0);
}

#[test]
fn quantities_do_not_depend_on_threads_or_on_stored_warmup() {
    let folder = coin();
    let one = sampled(&folder, "one", &["--threads", "1"]);
    let two = sampled(&folder, "two", &["--threads", "2", "--save-warmup"]);
    assert_eq!(one["parameters"], two["parameters"]);
}

#[test]
fn mistakes_in_data_name_variable_and_place() {
    let folder = coin();
    folder.write("bad.json", r#"{"N": 3, "y": [0, 2, 0]}"#);
    let ran = folder.exmc(&["sample", "coin.stan", "--data", "bad.json"]).ends_with(1);
    for words in ["y[2]", "bad.json:1:"] {
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    let ran = folder.exmc(&["sample", "coin.stan"]).ends_with(1);
    assert!(ran.stderr.contains("--data FILE"), "{}", ran.stderr);
}

#[test]
fn a_draw_whose_quantities_are_rejected_stays_and_is_told() {
    let folder = Folder::new();
    let text = "parameters { real x; } model { x ~ std_normal(); }
        generated quantities { real y = x; if (x > 0) reject(\"x is positive\"); }";
    folder.write("half.stan", text);
    let args = ["sample", "half.stan", "--seed", "1", "--draws", "50", "--json", "--out", "run"];
    let ran = folder.exmc(&args).ends_with(0);
    assert!(ran.stderr.contains("no generated quantities"), "{}", ran.stderr);
    assert!(ran.stderr.contains("x is positive (half.stan:2:"), "{}", ran.stderr);
    let summary = ran.json();
    assert!(parameter(&summary, "x")["mean"].as_f64().is_some_and(f64::is_finite));
}

#[test]
fn stages_of_a_program_are_shown() {
    let folder = coin();
    let dump = |stage: &str, code: i32| {
        folder.exmc(&["dump", "coin.stan", "--data", "coin.json", "--stage", stage]).ends_with(code)
    };
    assert!(dump("ast", 0).stdout.starts_with("data {\n"));
    assert!(dump("typed", 0).stdout.contains("theta"));
    assert!(dump("graph", 0).stdout.contains("input \"theta\""));
    assert!(dump("model", 2).stderr.contains("its stages are ast, typed"));
    assert_eq!(dump("loops", 0).stdout, "no loop was lowered\n");
    let text = "parameters { vector[40] v; } model { real h = 1;
  for (i in 1:40) v[i] ~ normal(0, 1);
  for (i in 1:40) { h = v[i] + 0.5 * h; target += h; } }";
    folder.write("loops.stan", text);
    let ran = folder.exmc(&["dump", "loops.stan", "--stage", "loops"]).ends_with(0);
    let expected = "2:3: 40 iterations vectorised\n\
                    3:3: 40 iterations unrolled, then rolled into a scan\n";
    assert_eq!(ran.stdout, expected);
}

#[test]
fn print_goes_to_standard_error_and_spoils_no_json() {
    let folder = Folder::new();
    let text = "transformed data { vector[2] v = [1, 2.5]'; print(\"v = \", v); }
        parameters { real x; } model { x ~ std_normal(); }
        generated quantities { int n = 7; print(\"n is \", n); }";
    folder.write("loud.stan", text);
    let args = ["sample", "loud.stan", "--chains", "2", "--draws", "3", "--json", "--out"];
    let ran = folder.exmc(&[&args[..], &["run"]].concat()).ends_with(0);
    assert_eq!(ran.stderr.matches("v = [1,2.5]\n").count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("n is 7\n").count(), 6, "{}", ran.stderr);
    assert_eq!(parameter(&ran.json(), "n")["mean"].as_f64(), Some(7.0));
    let ran = folder.exmc(&[&args[..], &["quiet", "--quiet"]].concat()).ends_with(0);
    assert!(!ran.stderr.contains('7') && !ran.stderr.contains("v ="), "{}", ran.stderr);
}

#[test]
fn a_fatal_error_ends_the_run_and_keeps_its_draws() {
    let folder = Folder::new();
    let text = "parameters { real x; } model { x ~ std_normal(); }
        generated quantities {
          real y = x;
          if (x > 2.5) fatal_error(\"x is \", 3);
        }";
    folder.write("fatal.stan", text);
    let args = ["fatal.stan", "--seed", "1", "--chains", "1", "--out"];
    let ran = folder.exmc(&[&["sample"], &args[..], &["run"]].concat()).ends_with(1);
    for words in ["x is 3", "fatal.stan:4:24", "| ", "error[runtime]"] {
        assert!(ran.stderr.contains(words), "{words} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("error: error"), "{}", ran.stderr);
    let summary = folder.exmc(&["summary", "run", "--json"]).ends_with(0).json();
    let record: serde_json::Value = serde_json::from_slice(&folder.read("run/run.json")).unwrap();
    assert_eq!(record["status"], "failed");
    assert!(parameter(&summary, "x")["mean"].as_f64().is_some_and(f64::is_finite), "{summary}");
    // The same from stored draws, and from a normal approximation.
    folder.write("plain.stan", "parameters { real x; } model { x ~ std_normal(); }");
    folder.exmc(&["sample", "plain.stan", "--chains", "1", "--out", "draws"]).ends_with(0);
    let generate = ["generate", "fatal.stan", "--draws", "draws", "--out", "generated"];
    assert!(folder.exmc(&generate).ends_with(1).stderr.contains("x is 3"));
    let laplace = ["laplace", "fatal.stan", "--seed", "1", "--out", "laplace"];
    assert!(folder.exmc(&laplace).ends_with(1).stderr.contains("x is 3"));
}

#[test]
fn a_run_keeps_the_program_as_one_text() {
    let folder = Folder::new();
    folder.write("part.stan", "real x;");
    folder
        .write("whole.stan", "parameters {\n#include part.stan\n}\nmodel { x ~ std_normal(); }\n");
    folder.exmc(&["sample", "whole.stan", "--draws", "5", "--out", "run"]).ends_with(0);
    let kept = String::from_utf8(folder.read("run/model.stan")).unwrap();
    assert_eq!(kept, "parameters {\nreal x;\n\n}\nmodel { x ~ std_normal(); }\n");
    folder.write("again.stan", &kept);
    let draws = ["--draws", "5", "--out", "again"];
    folder.exmc(&[&["sample", "again.stan"], &draws[..]].concat()).ends_with(0);
    assert_eq!(folder.read("run/chain-0.draws"), folder.read("again/chain-0.draws"));
}

#[test]
fn columns_of_tuples_and_complex_numbers_are_named_as_by_cmdstan() {
    let folder = Folder::new();
    let text = "parameters { real x; } model { x ~ std_normal(); }
        generated quantities {
          complex z = to_complex(x, 1);
          complex_matrix[2, 2] m = rep_matrix(z, 2, 2);
          tuple(real, vector[2]) t = (x, [1, 2]');
          array[2, 1] tuple(int, complex) a = {{(1, z)}, {(2, z)}};
        }";
    folder.write("c.stan", text);
    let args = ["sample", "c.stan", "--chains", "1", "--draws", "4", "--format", "stan-csv"];
    folder.exmc(&[&args[..], &["--out", "run"]].concat()).ends_with(0);
    let csv = String::from_utf8(folder.read("run/c_1.csv")).unwrap();
    let header = csv.lines().find(|line| !line.starts_with('#')).unwrap();
    let columns = header.split_once(",energy__,").unwrap().1;
    let complex = "z.real,z.imag,m.1.1.real,m.1.1.imag,m.2.1.real,m.2.1.imag,m.1.2.real,m.1.2.imag,m.2.2.real,m.2.2.imag";
    let tuples =
        "t:1,t:2.1,t:2.2,a.1.1:1,a.1.1:2.real,a.1.1:2.imag,a.2.1:1,a.2.1:2.real,a.2.1:2.imag";
    assert_eq!(columns, format!("x,{complex},{tuples}"));
}

#[test]
fn modes_and_approximations_start_where_they_are_told() {
    let folder = Folder::new();
    // Two modes: 1 and -1.
    folder.write(
        "two.stan",
        "parameters { real x; } model { target += -square(square(x) - 1) * 50; }",
    );
    for (start, mode) in [("0.7", 1.0), ("-0.7", -1.0)] {
        folder.write("init.json", &format!("{{\"x\": {start}}}"));
        let args = ["two.stan", "--init", "init.json", "--json"];
        let found = folder.exmc(&[&["optimize"], &args[..]].concat()).ends_with(0).json();
        let x = found["values"]["x"].as_f64().unwrap();
        assert!((x - mode).abs() < 1e-5, "{found}");
        let out = format!("laplace{start}");
        let drawn = folder.exmc(&[&["laplace"], &args[..], &["--out", &out]].concat());
        let drawn = drawn.ends_with(0).json();
        // The approximation is normal(mode, 1 / 20): the mean of its 1000 draws errs by 0.0016.
        let mean = parameter(&drawn, "x")["mean"].as_f64().unwrap();
        assert!((mean - mode).abs() < 0.01, "{drawn}");
    }
    folder.write("init.json", r#"{"x": "left"}"#);
    let ran = folder.exmc(&["optimize", "two.stan", "--init", "init.json"]).ends_with(1);
    assert!(ran.stderr.contains("init.json:1:"), "{}", ran.stderr);
}

#[test]
fn single_precision_samples_the_same_posterior() {
    let summary = sampled(&coin(), "run", &["--precision", "f32"]);
    let theta = parameter(&summary, "theta");
    let (mean, error) = (theta["mean"].as_f64().unwrap(), theta["mcse_mean"].as_f64().unwrap());
    // Five standard errors, and the seed is fixed.
    assert!((mean - 0.25).abs() < 5.0 * error, "{mean}");
}

#[test]
fn mistakes_of_a_program_have_one_prefix() {
    let folder = Folder::new();
    let text = "transformed data { real s = -1; } parameters { real x; }
        model { x ~ normal(0, s); }";
    folder.write("wrong.stan", text);
    let ran = folder.exmc(&["sample", "wrong.stan"]).ends_with(1);
    assert!(ran.stderr.starts_with("error[runtime]: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("wrong.stan:2:"), "{}", ran.stderr);
}

/// Rubin's eight schools with effects as they are, which has a funnel.
const SCHOOLS: &str = "data { int J; vector[J] y; vector<lower=0>[J] sigma; }
parameters { vector[J] theta; real mu; real<lower=0> tau; }
model { tau ~ cauchy(0, 5); theta ~ normal(mu, tau); y ~ normal(theta, sigma); mu ~ normal(0, 5); }
";
const EFFECTS: &str =
    r#"{"J": 8, "y": [28, 8, -3, 7, -1, 1, 18, 12], "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}"#;

#[test]
fn a_parameter_is_non_centred_on_request() {
    let folder = Folder::new();
    folder.write("schools.stan", SCHOOLS);
    folder.write("schools.json", EFFECTS);
    folder.write("init.json", r#"{"mu": 1, "tau": 2, "theta": [3, 3, 3, 3, 3, 3, 3, 3]}"#);
    let args =
        ["sample", "schools.stan", "--data", "schools.json", "--seed", "3", "--draws", "4000"];
    let more = ["--non-centre", "theta", "--init", "init.json", "--json", "-q", "--out", "run"];
    let summary = folder.exmc(&[&args[..], &more[..]].concat()).ends_with(0).json();
    // Means of the 10 000 reference draws of posteriordb's eight_schools_noncentered.
    for (name, mean) in
        [("mu", 4.4105), ("tau", 3.6021), ("theta[1]", 6.1505), ("theta[8]", 4.8840)]
    {
        let found = parameter(&summary, name);
        let (m, e) = (found["mean"].as_f64().unwrap(), found["mcse_mean"].as_f64().unwrap());
        // Five standard errors of these draws and of the 10 000: the seed is fixed.
        let both = e.hypot(found["sd"].as_f64().unwrap() / 100.0);
        assert!((m - mean).abs() < 5.0 * both, "{name}: {m}");
        assert!(found["rhat"].as_f64().unwrap() < 1.01, "{found}");
    }
    // 2 to 19 of 16 000 with forty other seeds; the centred form has hundreds.
    let divergences = &summary["run"]["divergences"];
    assert!(divergences.as_u64().is_some_and(|n| n < 40), "{divergences}");

    let ran = folder.exmc(&[&args[..], &["--non-centre", "tau", "--out", "tau"]].concat());
    let told = ran.ends_with(1).stderr;
    assert!(
        told.contains("`tau` cannot be non-centred") && told.contains("schools.stan:2:"),
        "{told}"
    );
}

/// With one effect y ~ normal(theta, 1), theta ~ normal(mu, tau) and wide priors, all are normal
/// given tau = 2 that a tight prior holds: the joint mode is known, and it is that of the program's
/// own parameters.
#[test]
fn modes_of_a_non_centred_form_are_of_the_programs_parameters() {
    let folder = Folder::new();
    let text = "data { vector[3] y; }
parameters { vector[3] theta; real mu; }
model { theta ~ normal(mu, 2); y ~ normal(theta, 1); mu ~ normal(0, 3); }
";
    folder.write("m.stan", text);
    folder.write("m.json", r#"{"y": [1, 2, 6]}"#);
    folder.write("init.json", r#"{"theta": [0, 5, -1], "mu": 4}"#);
    // The scale is known, so the mode does not move. Given mu, y has variance 5: mu is normal with
    // precision 3/5 + 1/9 and mean (9/5) / that; and theta = (4 y + mu) / 5.
    let precision = 3.0 / 5.0 + 1.0 / 9.0;
    let mu = 9.0 / 5.0 / precision;
    let exact = [("mu", mu), ("theta", (4.0 + mu) / 5.0)];
    let args = ["m.stan", "--data", "m.json", "--non-centre", "theta", "--init", "init.json"];
    for jacobian in [&[][..], &["--jacobian"]] {
        let args = [&["optimize"], &args[..], jacobian, &["--json"]].concat();
        let found = folder.exmc(&args).ends_with(0).json();
        for (name, exact) in exact {
            let value = &found["values"][name];
            let value = value.as_f64().or_else(|| value[0].as_f64()).unwrap();
            assert!((value - exact).abs() < 1e-4, "{name}: {value}, exactly {exact}");
        }
    }
    let more = ["--draws", "4000", "--json", "--out", "run"];
    let drawn = folder.exmc(&[&["laplace"], &args[..], &more].concat()).ends_with(0).json();
    // The approximation of a normal density is itself: the mean errs by sd / sqrt(4000).
    let found = &parameter(&drawn, "mu");
    let (mean, sd) = (found["mean"].as_f64().unwrap(), found["sd"].as_f64().unwrap());
    assert!((mean - mu).abs() < 5.0 * sd / 4000_f64.sqrt(), "{mean}, exactly {mu}");
    assert!((sd * precision.sqrt() - 1.0).abs() < 0.06, "{sd}");
    let record: serde_json::Value = serde_json::from_slice(&folder.read("run/run.json")).unwrap();
    assert_eq!(record["coordinates"][0]["name"], "theta (non-centred)");

    // A scale that is a parameter: the mode of the standardised vector, with Jacobians, is where z
    // = 0 and the scale is free.
    folder.write(
        "funnel.stan",
        "parameters { real theta; real<lower=0> s; } model { s ~ gamma(3, 1); theta ~ normal(1, s); }",
    );
    let args = ["optimize", "funnel.stan", "--non-centre", "theta", "--jacobian", "--json"];
    let found = folder.exmc(&args).ends_with(0).json();
    // Of log(s): 3 log s - s, largest at 3; the declared form has no such term alone, and its mode
    // is at s = 2.
    for (name, exact) in [("theta", 1.0), ("s", 3.0)] {
        let value = found["values"][name].as_f64().unwrap();
        assert!((value - exact).abs() < 1e-4, "{name}: {value}, exactly {exact}");
    }
}

#[test]
fn tuples_of_parameters_are_sampled_started_and_read_by_quantities() {
    let folder = Folder::new();
    let text = "parameters { tuple(real, vector<lower=0>[2]) t; }
        transformed parameters { tuple(real, real) u = (2 * t.1, sum(t.2)); }
        model { t.1 ~ normal(3, 0.1); t.2 ~ exponential(1); }
        generated quantities { real a = t.1 + u.1; real b = t.2[1] + t.2[2] - u.2; }";
    folder.write("t.stan", text);
    folder.write("init.json", r#"{"t": {"1": 2.5, "2": [0.5, 1.5]}}"#);
    let args = ["sample", "t.stan", "--init", "init.json", "--seed", "4", "--format", "stan-csv"];
    let ran = folder.exmc(&[&args[..], &["--json", "--out", "run"]].concat()).ends_with(0);
    let csv = String::from_utf8(folder.read("run/t_1.csv")).unwrap();
    let header = csv.lines().find(|line| !line.starts_with('#')).unwrap();
    assert!(header.ends_with(",energy__,t:1,t:2.1,t:2.2,u:1,u:2,a,b"), "{header}");
    let summary = ran.json();
    let mean = |name: &str| parameter(&summary, name)["mean"].as_f64().unwrap();
    assert!((mean("a") - 3.0 * mean("t:1")).abs() < 1e-12);
    assert!(mean("b").abs() < 1e-12);
    let error = parameter(&summary, "t:1")["mcse_mean"].as_f64().unwrap();
    // Five standard errors, and the seed is fixed.
    assert!((mean("t:1") - 3.0).abs() < 5.0 * error, "{}", mean("t:1"));
}

/// Rubin's eight schools, as they are written most often.
const EFFECTS_SAMPLED: &str = "data { int J; vector[J] y; vector<lower=0>[J] sigma; }
parameters { real mu; real<lower=0> tau; vector[J] theta; }
model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); theta ~ normal(mu, tau); y ~ normal(theta, sigma); }
generated quantities { real apart = theta[1] - mu; }
";
#[test]
fn effects_are_integrated_out_and_drawn_again() {
    let folder = Folder::new();
    folder.write("schools.stan", EFFECTS_SAMPLED);
    folder.write("schools.json", EFFECTS);
    let sample = |out: &str, more: &[&str]| {
        let data = ["--data", "schools.json", "--seed", "1", "--json", "--out", out];
        folder.exmc(&[&["sample", "schools.stan"], &data[..], more].concat())
    };
    let coordinates = |out: &str| {
        let record = folder.read(&format!("{out}/run.json"));
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        let all = record["coordinates"].as_array().unwrap().clone();
        all.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let ran = sample("run", &["--format", "stan-csv"]).ends_with(0);
    let said = "integrated out: `theta` (8 coordinates); each draw has them from their normal";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(coordinates("run"), ["mu", "tau"]);
    // Reference draws of the benchmark set: theta[1] has mean 6.15, tau 3.6. Five standard errors:
    // the seed is fixed.
    let summary = ran.json();
    for (name, expected) in [("theta[1]", 6.15), ("tau", 3.6)] {
        let parameter_summary = parameter(&summary, name);
        let (mean, error) = (
            parameter_summary["mean"].as_f64().unwrap(),
            parameter_summary["mcse_mean"].as_f64().unwrap(),
        );
        assert!((mean - expected).abs() < 5.0 * error + 0.05, "{name}: {mean}");
    }
    // The funnel is gone: with theta sampled, as written, tau has some dozens of effective draws.
    assert!(parameter(&summary, "tau")["ess_bulk"].as_f64().unwrap() > 1000.0);
    let header = String::from_utf8(folder.read("run/schools_1.csv")).unwrap();
    assert!(header.contains("mu,tau,theta.1,theta.2"), "draws hold all parameters");

    let ran = sample("whole", &["--without", "marginalise"]).ends_with(0);
    assert!(!ran.stderr.contains("integrated out"), "{}", ran.stderr);
    assert_eq!(coordinates("whole"), ["mu", "tau", "theta"]);
    // Their metrics are of other coordinates.
    let ran = sample("next", &["--warm-start", "whole"]).ends_with(1);
    assert!(ran.stderr.contains("with the same passes"), "{}", ran.stderr);
    // Quantities follow from the draws of a run as they do within it.
    let args = ["generate", "schools.stan", "--data", "schools.json", "--draws", "run"];
    let again = folder.exmc(&[&args[..], &["--json"]].concat()).ends_with(0).json();
    assert_eq!(parameter(&again, "apart")["mean"], parameter(&summary, "apart")["mean"]);
}
