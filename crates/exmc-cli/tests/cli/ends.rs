//! Programs that end a run themselves (`fatal_error`, an index out of range), from each command
//! that runs them.

use crate::harness::{Folder, parameter};

/// The density has a fatal error on a short interval, which trajectories meet once in some ten
/// thousand steps.
const FATAL: &str = "parameters { real x; }
transformed parameters { real y = 2 * x; }
model {
  x ~ std_normal();
  if (abs(y - 2) < 2e-4) fatal_error(\"y is \", 2, \" nearly\");
}
";

/// The same far out.
const FAR: &str = "parameters { real x; }
transformed parameters { real y = 2 * x; }
model {
  x ~ std_normal();
  if (y > 7) fatal_error(\"y is \", 7, \" or more\");
}
";

fn folder(text: &str) -> Folder {
    let folder = Folder::new();
    folder.write("p.stan", text);
    folder
}

const SAMPLE: [&str; 10] =
    ["sample", "p.stan", "--seed", "2", "--warmup", "300", "--draws", "20000", "--out", "run"];

#[test]
fn a_fatal_error_of_the_model_ends_the_run_and_keeps_its_draws() {
    let folder = folder(FATAL);
    let ran = folder.exmc(&SAMPLE).ends_with(1);
    for words in ["y is 2 nearly", "p.stan:5:26", "error[runtime]", "are kept in `run`"] {
        assert!(ran.stderr.contains(words), "{words} in {}", ran.stderr);
    }
    assert_eq!(ran.stderr.matches("y is 2").count(), 1, "told once: {}", ran.stderr);
    let record: serde_json::Value = serde_json::from_slice(&folder.read("run/run.json")).unwrap();
    assert_eq!(record["status"], "failed");
    assert!(record["error"].as_str().unwrap().contains("y is 2 nearly"), "{record}");
    let summary = folder.exmc(&["summary", "run", "--json"]).ends_with(0).json();
    let y = &parameter(&summary, "y")["mean"];
    assert!(y.as_f64().is_some_and(f64::is_finite), "{summary}");
}

#[test]
fn a_rejection_before_a_fatal_error_only_rejects() {
    let text = "parameters { real x; }
        model { x ~ std_normal(); if (x > 1) reject(\"far\"); if (x > 1) fatal_error(\"out\"); }";
    let folder = folder(text);
    let summary = folder.exmc(&[&SAMPLE[..], &["--json"]].concat()).ends_with(0).json();
    let x = parameter(&summary, "x");
    let (mean, error) = (x["mean"].as_f64().unwrap(), x["mcse_mean"].as_f64().unwrap());
    // A normal cut at 1: -phi(1) / Phi(1). Five standard errors, and the seed is fixed.
    assert!((mean + 0.287_599_97).abs() < 5.0 * error, "{mean} {error}");
}

#[test]
fn an_index_out_of_range_by_parameters_ends_the_run() {
    let text = "transformed data { vector[3] v = [0, 1, 0]'; }
parameters { real x; }
transformed parameters {
  real y;
  { int k = 1; if (x > 0) k = 2; if (x > 3.5) k = 4; y = v[k]; }
}
model { x ~ std_normal(); }
";
    let folder = folder(text);
    let ran = folder.exmc(&SAMPLE).ends_with(1);
    for words in ["p.stan:5:", "4 is out of range", "1..3", "are kept in `run`"] {
        assert!(ran.stderr.contains(words), "{words} in {}", ran.stderr);
    }
}

#[test]
fn a_loop_that_the_compiled_density_does_not_follow_to_its_end_is_followed() {
    let text = "parameters { real x; }
model {
  real z = x + 126;
  while (z > 0) z -= 1;
  target += 0.3 * cos(2 * pi() * z) - x ^ 2 / 2;
}
";
    // Where x is above 2 there are more than 128 iterations.
    let folder = folder(text);
    let summary = folder.exmc(&[&SAMPLE[..], &["--json"]].concat()).ends_with(0).json();
    let x = parameter(&summary, "x");
    let (mean, error) = (x["mean"].as_f64().unwrap(), x["mcse_mean"].as_f64().unwrap());
    // The density is even; without the positions above 2 its mean would be -0.055.
    assert!(mean.abs() < 5.0 * error && error < 0.01, "{mean} {error}");
}

#[test]
fn modes_approximations_and_quantities_end_too() {
    let folder = folder(FAR);
    folder.write("high.stan", &FAR.replace("std_normal()", "normal(5, 1)"));
    let ran = folder.exmc(&["optimize", "high.stan", "--seed", "1"]).ends_with(1);
    assert!(ran.stderr.starts_with("error[runtime]: y is 7 or more"), "{}", ran.stderr);
    let laplace = ["laplace", "p.stan", "--draws", "20000", "--out", "laplace"];
    let ran = folder.exmc(&laplace).ends_with(1);
    for words in ["y is 7 or more", "are kept in `laplace`"] {
        assert!(ran.stderr.contains(words), "{words} in {}", ran.stderr);
    }
    let summary = folder.exmc(&["summary", "laplace", "--json"]).ends_with(0).json();
    assert!(parameter(&summary, "y")["mean"].as_f64().is_some_and(f64::is_finite), "{summary}");

    // Quantities of other draws see the transformed parameters, not the model.
    folder.write("plain.stan", "parameters { real x; } model { x ~ std_normal(); }");
    folder.exmc(&["sample", "plain.stan", "--chains", "1", "--out", "draws"]).ends_with(0);
    let quantities = |program: &str, out: &str, code: i32| {
        let args = ["generate", program, "--draws", "draws", "--out", out];
        folder.exmc(&args).ends_with(code).stderr
    };
    let block = "generated quantities { real z = y; }\n";
    folder.write("after.stan", &format!("{}{block}", FAR.replace("y > 7", "y > 2")));
    quantities("after.stan", "after", 0);
    let early = "parameters { real x; }
        transformed parameters { real y = x; if (x > 1.5) fatal_error(\"x is large\"); }
        model { x ~ std_normal(); }
        ";
    folder.write("early.stan", &format!("{early}{block}"));
    let told = quantities("early.stan", "early", 1);
    for words in ["x is large", "early.stan:2:", "are kept in `early`"] {
        assert!(told.contains(words), "{words} in {told}");
    }
}

/// Statements that declare nothing run for each draw all the same, and end a run as others do.
#[test]
fn quantities_without_a_variable_run() {
    let program = |block: &str| {
        format!(
            "parameters {{ real x; }} model {{ x ~ std_normal(); }}\ngenerated quantities {{ {block} }}\n"
        )
    };
    let run = |block: &str, code: i32| {
        let folder = folder(&program(block));
        let args =
            ["sample", "p.stan", "--seed", "1", "--chains", "1", "--draws", "4", "--out", "run"];
        let ran = folder.exmc(&args).ends_with(code);
        let record: serde_json::Value =
            serde_json::from_slice(&folder.read("run/run.json")).unwrap();
        let kept = folder.exmc(&["summary", "run", "--json"]);
        (ran.stderr, record["status"].as_str().unwrap().to_owned(), kept.code)
    };
    let (told, status, _) = run("fatal_error(\"no\");", 1);
    assert!(told.contains("no") && told.contains("p.stan:2:24"), "{told}");
    assert_eq!(status, "failed");
    let (told, status, _) = run("if (x > 100) fatal_error(\"no\"); print(\"seen\");", 0);
    assert_eq!((told.matches("seen\n").count(), &*status), (4, "completed"), "{told}");
    let (told, status, _) = run("reject(\"not this one\");", 0);
    assert!(told.contains("4 draws have no generated quantities"), "{told}");
    assert_eq!(status, "completed");
    let (told, status, _) = run("for (i in 1:3) { array[2] int k = {1, 2}; print(k[i]); }", 1);
    assert!(told.contains("3 is out of range") && told.contains("p.stan:2:"), "{told}");
    assert_eq!(status, "failed");
    let (told, _, _) = run("", 0);
    assert!(!told.contains("note"), "{told}");

    // The same from stored draws; what else the program has is computed.
    let folder = folder(
        &program("if (x > 2.5) fatal_error(\"far\");")
            .replace("} model", "} transformed parameters { real y = 2 * x; } model"),
    );
    folder.write("plain.stan", "parameters { real x; } model { x ~ std_normal(); }");
    folder.exmc(&["sample", "plain.stan", "--seed", "1", "--out", "draws"]).ends_with(0);
    let told =
        folder.exmc(&["generate", "p.stan", "--draws", "draws", "--out", "all"]).ends_with(1);
    assert!(told.stderr.contains("far"), "{}", told.stderr);
    let calm = "if (x > 1000) fatal_error(\"far\");";
    folder.write(
        "calm.stan",
        &program(calm).replace("} model", "} transformed parameters { real y = 2 * x; } model"),
    );
    let args = ["generate", "calm.stan", "--draws", "draws", "--out", "calm", "--json"];
    let made = folder.exmc(&args).ends_with(0).json();
    assert!(parameter(&made, "y")["mean"].as_f64().is_some_and(f64::is_finite), "{made}");
}

/// An index out of range and sizes that do not fit end the run, as Stan's exceptions other than
/// `domain_error` do; a failed check leaves the draw without quantities.
#[test]
fn errors_of_quantities_end_the_run_or_leave_the_draw_without() {
    let run = |block: &str, code: i32| {
        let folder = folder(&format!(
            "data {{ int k; }}\nparameters {{ real x; }}\nmodel {{ x ~ std_normal(); }}\ngenerated quantities {{ {block} }}\n"
        ));
        folder.write("d.json", r#"{"k": 3}"#);
        let args = [
            "sample", "p.stan", "--data", "d.json", "--seed", "1", "--chains", "1", "--draws",
            "20", "--out", "run",
        ];
        let told = folder.exmc(&args).ends_with(code).stderr;
        folder.exmc(&["summary", "run"]).ends_with(0);
        told
    };
    let table = [
        // Of the audit: an index that the data bring.
        ("array[2] real t = {1, 2}; real z = t[k];", 1, "3 is out of range"),
        // By parameters.
        ("array[2] real t = {1, 2}; real z = t[x > 0 ? 1 : 3];", 1, "3 is out of range"),
        ("vector[2] a = rep_vector(x, k);", 1, "is assigned a value of"),
        (
            "vector[3] a = rep_vector(x, k); vector[2] b = [1, 2]'; real z = sum(a + b);",
            1,
            "sizes do not match",
        ),
        ("{ vector[x > 0 ? 2 : 3] a = rep_vector(x, k); }", 1, "is assigned a value of"),
        ("{ vector[x > 0 ? 2 : -1] a; }", 1, "must not be negative"),
        ("real<lower=0> z = x;", 0, "must be at least 0"),
        ("real z = x > 0 ? normal_rng(0, -1) : 1;", 0, "must be"),
        ("real z = normal_lpdf(x | 0, x);", 0, "no generated quantities"),
        ("real z = x; if (x > 0) reject(\"above\");", 0, "above (p.stan:4:"),
    ];
    for (block, code, words) in table {
        let told = run(block, code);
        assert!(told.contains(words) && told.contains("p.stan:4:"), "{block}: {told}");
        assert_eq!(
            told.contains("draws have no generated quantities"),
            code == 0,
            "{block}: {told}"
        );
        assert_eq!(told.contains("are kept in `run`"), code == 1, "{block}: {told}");
    }
}
