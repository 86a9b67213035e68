//! `--progress`: what a run says of itself on standard error while it samples.

use serde_json::Value;

use crate::harness::{Folder, Ran};

/// A run that takes a few seconds, so that it is looked at while it goes on.
const SLOW: &str = "data { int n; }
parameters { vector[50] z; real<lower=0> tau; }
model { z ~ normal(0, 1); tau ~ normal(0, 1); }
generated quantities {
  real busy = 0;
  for (i in 1:n) busy += sin(busy + i * tau) * cos(i * z[1]);
}
";

fn slow(more: &[&str]) -> Ran {
    let folder = Folder::new();
    folder.write("slow.stan", SLOW);
    folder.write("slow-data.json", "{\"n\": 100000}");
    let sample = ["sample", "slow.stan", "--data", "slow-data.json", "--warmup", "200", "--chains"];
    let ran = folder.exmc(
        &[&sample[..], &["1", "--draws", "100000", "--max-seconds", "3.5", "--out", "run"], more]
            .concat(),
    );
    ran.ends_with(0)
}

#[test]
fn every_line_of_json_progress_is_an_object_that_says_where_a_chain_is() {
    let ran = slow(&["--progress", "json"]);
    let lines: Vec<Value> = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    let events =
        |name: &str| -> Vec<&Value> { lines.iter().filter(|line| line["event"] == name).collect() };
    assert!(
        events("note")
            .iter()
            .any(|note| { note["message"].as_str().unwrap().starts_with("compiled `slow.stan`") })
    );
    let seen = events("progress");
    assert!(seen.len() >= 2, "{lines:#?}");
    let last = seen.last().unwrap();
    assert_eq!((&last["chain"], &last["phase"]), (&0.into(), &"sampling".into()));
    assert_eq!((&last["warmup"], &last["warmup_total"]), (&200.into(), &200.into()));
    assert_eq!(last["draws_total"], 100_000);
    assert!(last["draws"].as_u64().unwrap() > 20, "{last}");
    assert!(last["leapfrogs_per_draw"].as_f64().unwrap() >= 1.0, "{last}");
    assert!(last["step_size"].as_f64().unwrap() > 0.0, "{last}");
    assert!(last["seconds"].as_f64().unwrap() > 1.0, "{last}");
    assert!(last["seconds_left"].as_f64().unwrap() > 0.0, "{last}");
    let (lp, worst) = (last["ess_lp"].as_f64().unwrap(), last["ess_worst"].as_f64().unwrap());
    assert!(worst > 0.0 && worst <= lp && last["ess_worst_of"].is_string(), "{last}");
    let ends = events("chain_end");
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0]["phase"], "stopped");
    assert!(ends[0]["draws"].as_u64() >= last["draws"].as_u64());
}

#[test]
fn a_failure_is_an_object_too() {
    let folder = Folder::with_models();
    let ran = folder.exmc(&["sample", "nowhere.stan", "--progress", "json"]).ends_with(4);
    let error: Value = serde_json::from_str(ran.stderr.trim_end()).unwrap();
    assert_eq!((&error["event"], &error["exit"]), (&"error".into(), &4.into()));
}

#[test]
fn none_leaves_the_notes_and_plain_and_bars_end_with_a_line_a_chain() {
    let folder = Folder::with_models();
    let run = |progress: &str, more: &[&str]| {
        let out = format!("run-{progress}-{}", more.len());
        let args = ["sample", "schools.json", "--chains", "2", "--progress", progress, "--out"];
        folder.exmc(&[&args[..], &[out.as_str()], more].concat()).ends_with(0)
    };
    let none = run("none", &[]);
    assert!(none.stderr.contains("compiled") && !none.stderr.contains("\nchain "), "{none:?}");
    assert_eq!(run("none", &["-q"]).stderr, "");
    let plain = run("plain", &[]);
    assert_eq!(plain.stderr.lines().filter(|line| line.starts_with("chain ")).count(), 2);
    // `--quiet` is about notes where progress is asked for by name.
    let quiet = run("plain", &["-q"]);
    assert!(quiet.stderr.lines().all(|line| line.starts_with("chain ")), "{quiet:?}");
    assert_eq!(run("auto", &[]).stderr.lines().count(), plain.stderr.lines().count());
    // Bars draw nothing where there is no terminal.
    assert!(!run("bar", &[]).stderr.contains('\u{1b}'));
}

#[test]
fn a_resumed_run_tells_of_the_draws_that_were_there() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "run", &["--draws", "300"]).ends_with(0);
    let more = ["extend", "run", "--draws", "500", "--progress", "json"];
    let ran = folder.exmc(&more).ends_with(0);
    let ends: Vec<Value> = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["event"] == "chain_end")
        .collect();
    assert_eq!(ends.len(), 4);
    for end in ends {
        assert_eq!((&end["draws"], &end["phase"]), (&500.into(), &"completed".into()), "{end}");
    }
}
