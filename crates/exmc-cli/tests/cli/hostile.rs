//! Files and programs that no careful user would write: each ends in a plain, located message.

use crate::harness::{Folder, Ran};

const NORMAL: &str = "data { real m; } parameters { real x; real<lower=m> s; }
model { x ~ normal(m, s); s ~ exponential(1); }
";

fn sampled(text: &str, more: &[&str]) -> Ran {
    let folder = Folder::new();
    folder.write("p.stan", text);
    folder.write("data.json", "{\"m\": 0}");
    folder.write("low.json", "{\"s\": -1}");
    folder.write("high.json", "{\"x\": 0.5, \"s\": 2}");
    let args = ["sample", "p.stan", "--draws", "20", "--chains", "1", "--out", "run"];
    folder.exmc(&[&args[..], more].concat())
}

#[track_caller]
fn tells(ran: &Ran, words: &[&str]) {
    for words in words {
        assert!(ran.stderr.contains(words), "{words} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("a fault of exmc"), "{}", ran.stderr);
}

#[test]
fn a_mark_of_the_byte_order_is_no_part_of_a_program() {
    let ran = sampled(&format!("\u{feff}{NORMAL}"), &["--data", "data.json"]);
    ran.ends_with(0);
}

#[test]
fn an_initial_value_outside_of_its_support_is_no_random_start() {
    let ran = sampled(NORMAL, &["--data", "data.json", "--init", "low.json"]).ends_with(1);
    tells(&ran, &["the value of `s` lies outside of its support"]);
    sampled(NORMAL, &["--data", "data.json", "--init", "high.json"]).ends_with(0);
    // A bound that is a parameter without a value leaves nothing to check.
    let text =
        "parameters { real b; real<lower=b> s; } model { b ~ std_normal(); s ~ std_normal(); }";
    sampled(text, &["--init", "low.json"]).ends_with(0);
}

#[test]
fn only_programs_with_data_are_told_how_to_give_them() {
    let ran = sampled(NORMAL, &[]).ends_with(1);
    tells(&ran, &["`m`", "--data FILE"]);
    let text = "parameters { vector[3] x; } model { target += x[4]; }";
    let ran = sampled(text, &[]).ends_with(1);
    tells(&ran, &["index 4 is out of range", "p.stan:1:"]);
    assert!(!ran.stderr.contains("--data"), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_held_is_refused() {
    let ran = sampled("parameters { matrix[20000, 20000] m; } model { }", &[]).ends_with(1);
    tells(&ran, &["error[limit]", "[20000, 20000]", "p.stan:1:14"]);
    let ran = sampled(
        "parameters { real x; } model { array[90000, 90000, 90000] real y; y[1, 1, 1] = x; }",
        &[],
    );
    tells(&ran.ends_with(1), &["error[limit]", "too large", "p.stan:1:32"]);
}

#[test]
fn differential_algebraic_equations_are_solved_in_every_block() {
    let residual =
        "functions { vector r(real t, vector y, vector s, real k) { return s + k * y; } }\n";
    let solved = |start: &str, slope: &str, k: &str| {
        format!("dae_tol(r, [{start}]', [{slope}]', 0.0, {{1.0}}, 1e-4, 1e-4, 1000, {k})")
    };
    let text = format!(
        "{residual}parameters {{ real x; }}
model {{ target += std_normal_lpdf(x) - {}[1, 1]; }}
generated quantities {{ array[1] vector[1] u = {}; }}
",
        solved("1", "-x", "x"),
        solved("1.0", "-1.0", "1.0"),
    );
    sampled(&text, &[]).ends_with(0);
    // A start that the second equation does not allow.
    let text = "functions { vector r(real t, vector y, vector s) { return [s[1] + y[1], y[1] + y[2] - 1]'; } }
transformed data { array[1] vector[2] u = dae(r, [1, 0.5]', [-1, 1]', 0.0, {1.0}); }
parameters { real x; }
model { x ~ normal(u[1, 1], 1); }
";
    let ran = sampled(text, &[]).ends_with(1);
    tells(&ran, &["dae: the solution", "its start does not fulfil the equations", "p.stan:2:43"]);
}
