//! `exmc sample` and `exmc summary`: draws, files and settings.

use exmc_draws::{RunStatus, read_run};
use serde_json::{Value, json};

use crate::harness::{Folder, expect_text, parameter};

#[test]
fn a_run_directory_holds_settings_texts_and_draws() {
    let folder = Folder::with_models();
    let args = ["--data", "mean-data.json", "--seed", "3", "--chains", "2"];
    folder.sample("mean.json", "out", &args).ends_with(0);
    assert_eq!(
        folder.names("out"),
        [
            "chain-0.checkpoint",
            "chain-0.draws",
            "chain-1.checkpoint",
            "chain-1.draws",
            "data.json",
            "model.json",
            "run.json"
        ]
    );
    assert_eq!(folder.read("out/model.json"), folder.read("mean.json"));
    assert_eq!(folder.read("out/data.json"), folder.read("mean-data.json"));

    let run = read_run(&folder.path("out")).unwrap();
    assert_eq!(run.notes, Vec::<String>::new());
    assert_eq!(run.record.status, RunStatus::Completed);
    assert_eq!((run.record.config.seed, run.record.config.draws), (3, 200));
    assert_eq!(run.record.program, concat!("exmc ", env!("CARGO_PKG_VERSION")));
    assert_eq!(run.posterior.column_names(), ["mu"]);
    for chain in &run.posterior.chains {
        assert_eq!(
            (chain.values.len(), chain.infos.len(), chain.warmup_infos.len()),
            (200, 200, 0)
        );
        let tuned = chain.tuned.as_ref().unwrap();
        assert!(chain.infos.iter().all(|info| info.step_size == tuned.step_size));
    }
    // Conjugate: precision 1/100 + 3/4, mean (7.5/4) / precision.
    let exact = 1.875 / 0.76;
    let (_, mu) = &run.posterior.summary()[0];
    assert!((mu.mean - exact).abs() < 5.0 * mu.mcse_mean, "{mu:?}");
}

#[test]
fn stdout_is_the_summary_of_the_stored_draws() {
    let folder = Folder::with_models();
    let mut sampled = folder.sample("schools.json", "out", &["--json"]).ends_with(0).json();
    let stored = folder.exmc(&["summary", "out", "--json"]).ends_with(0).json();
    assert_eq!(sampled, stored);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&stored), ["exmc", "parameters", "run", "warnings", "directory", "notes"]);
    assert_eq!(
        keys(&stored["parameters"][0]),
        ["name", "mean", "sd", "mcse_mean", "q5", "q50", "q95", "ess_bulk", "ess_tail", "rhat"]
    );
    let run = [
        "status",
        "chains",
        "draws",
        "divergences",
        "recovered",
        "depth_hits",
        "ebfmi",
        "step_size",
        "leapfrogs",
        "seconds",
    ];
    assert_eq!(keys(&stored["run"]), run);
    assert_eq!(stored["run"]["draws"], json!([200, 200, 200, 200]));

    let names: Vec<_> = sampled["parameters"].as_array_mut().unwrap().drain(..).collect();
    assert_eq!(names.len(), 10);
    assert_eq!(names[2]["name"], "theta[0]");
}

#[test]
fn text_summary_is_stable() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "out", &["--draws", "30", "--check"]).ends_with(3);
    let ran = folder.exmc(&["summary", "out"]).ends_with(0);
    // The time is the one thing that changes from run to run.
    let (steps, rest) = ran.stdout.split_once(" leapfrog steps in ").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    expect_text("summary.txt", &format!("{steps} leapfrog steps in <time>\n{rest}"));
}

#[test]
fn draws_do_not_depend_on_threads_but_on_the_seed() {
    let folder = Folder::with_models();
    for (out, args) in [
        ("one", ["--threads", "1", "--seed", "11"]),
        ("four", ["--threads", "4", "--seed", "11"]),
        ("other", ["--threads", "4", "--seed", "12"]),
    ] {
        folder.sample("schools.json", out, &args).ends_with(0);
    }
    for chain in 0..4 {
        let bytes = |out: &str| folder.read(&format!("{out}/chain-{chain}.draws"));
        assert_eq!(bytes("one"), bytes("four"), "chain {chain}");
        assert_ne!(bytes("one"), bytes("other"), "chain {chain}");
    }
    assert_ne!(folder.read("one/chain-0.draws")[32..], folder.read("one/chain-1.draws")[32..]);
}

#[test]
fn a_directory_with_a_run_is_never_written_to() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "out", &["--draws", "5"]).ends_with(0);
    let before = (folder.read("out/run.json"), folder.read("out/chain-0.draws"));
    let ran = folder.sample("schools.json", "out", &["--draws", "6"]).ends_with(4);
    expect_text("occupied.txt", &ran.transcript());
    assert_eq!(before, (folder.read("out/run.json"), folder.read("out/chain-0.draws")));

    // Draws alone are a run too: their process was killed before it could say more.
    std::fs::remove_file(folder.path("out/run.json")).unwrap();
    let ran = folder.sample("schools.json", "out", &[]).ends_with(4);
    assert!(ran.stderr.contains("already holds a run"), "{ran:?}");
    assert_eq!(before.1, folder.read("out/chain-0.draws"));
}

#[test]
fn an_existing_folder_without_a_run_and_folders_that_do_not_exist_are_fine() {
    let folder = Folder::with_models();
    std::fs::create_dir(folder.path("mine")).unwrap();
    folder.write("mine/notes.txt", "keep me");
    folder.sample("schools.json", "mine", &["--draws", "5"]).ends_with(0);
    assert_eq!(folder.read("mine/notes.txt"), b"keep me");
    folder.sample("schools.json", "a/b/c", &["--draws", "5"]).ends_with(0);
    assert!(folder.path("a/b/c/run.json").exists());
}

#[test]
fn without_out_each_run_gets_a_new_directory_and_says_which() {
    let folder = Folder::with_models();
    for number in 1..=2 {
        let ran = folder.exmc(&["sample", "schools.json", "--warmup", "50", "--draws", "5", "-q"]);
        let ran = ran.ends_with(0);
        let name = format!("exmc-run-{number}");
        assert!(ran.stdout.ends_with(&format!("draws are in `{name}`\n")), "{ran:?}");
        assert_eq!(ran.stderr, "");
        assert!(folder.path(&name).join("run.json").exists());
    }
}

#[test]
fn talk_goes_to_stderr_one_line_a_chain() {
    let folder = Folder::with_models();
    let ran = folder
        .exmc(&["sample", "schools.json", "--chains", "2", "--threads", "1", "--out", "out"])
        .ends_with(0);
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 4, "{ran:?}");
    assert!(lines[0].starts_with("compiled `schools.json` (2 coordinates) in "), "{ran:?}");
    assert!(lines[1].starts_with("integrated out: `theta` (8 coordinates); "), "{ran:?}");
    assert!(lines[2].starts_with("chain 0: 1000 draws, 0 divergences, step size "), "{ran:?}");
    assert!(ran.stdout.starts_with("parameter"), "{ran:?}");
}

#[test]
fn warmup_draws_are_stored_when_asked_for_and_change_nothing_else() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "with", &["--save-warmup"]).ends_with(0);
    folder.sample("schools.json", "without", &[]).ends_with(0);
    let read = |name: &str| read_run(&folder.path(name)).unwrap().posterior;
    let (with, without) = (read("with"), read("without"));
    for (a, b) in with.chains.iter().zip(&without.chains) {
        assert_eq!((a.warmup_infos.len(), a.warmup_values.len()), (200, 2000));
        assert!(b.warmup_infos.is_empty());
        assert_eq!((&a.values, &a.infos), (&b.values, &b.infos));
    }
}

#[test]
fn a_warm_start_takes_metric_and_step_size() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "first", &[]).ends_with(0);
    let args = ["--warm-start", "first", "--warmup", "0", "--seed", "9"];
    folder.sample("schools.json", "second", &args).ends_with(0);
    let mut tuned: Vec<f64> = Vec::new();
    let first = read_run(&folder.path("first")).unwrap();
    tuned.extend(first.record.chains.iter().map(|c| c.tuned.as_ref().unwrap().step_size));
    tuned.sort_by(f64::total_cmp);
    let second = read_run(&folder.path("second")).unwrap();
    for chain in &second.posterior.chains {
        assert!(chain.infos.iter().all(|info| info.step_size == tuned[2]));
    }
    let warm = second.record.config.warm_start.as_ref().unwrap();
    let source = first.record.chains.iter().map(|c| c.tuned.as_ref().unwrap());
    assert!(source.into_iter().any(|t| t.inverse_metric == warm.inverse_metric));

    let args = ["--data", "mean-data.json", "--warm-start", "first"];
    let ran = folder.sample("mean.json", "third", &args).ends_with(1);
    assert!(ran.stderr.contains("other free variables"), "{ran:?}");
}

#[test]
fn every_metric_survives_its_way_through_a_file() {
    let folder = Folder::with_models();
    for metric in ["diag", "stan", "dense", "low-rank"] {
        folder.sample("schools.json", metric, &["--metric", metric]).ends_with(0);
        let out = format!("{metric}-warm");
        let args = ["--warm-start", metric, "--warmup", "0"];
        folder.sample("schools.json", &out, &args).ends_with(0);
        let run = read_run(&folder.path(&out)).unwrap();
        let warm = run.record.config.warm_start.unwrap();
        assert_eq!(warm.positions.len(), 4);
        // It ends elsewhere, as it moves.
        let mut tuned = run.posterior.chains[3].tuned.clone().unwrap();
        assert_ne!(tuned.positions[0], warm.positions[3]);
        tuned.positions.clone_from(&warm.positions);
        assert_eq!(warm, tuned, "{metric}");
    }
}

#[test]
fn chains_start_where_init_says() {
    let folder = Folder::with_models();
    let data = ["--data", "mean-data.json", "--chains", "2", "--save-warmup"];
    let start = |name: &str, text: &str, out: &str| {
        folder.write(name, text);
        folder.sample("mean.json", out, &[&data[..], &["--init", name]].concat())
    };
    start("far.json", r#"{"mu": 1e6}"#, "far").ends_with(0);
    start("each.json", r#"[{"mu": 1e6}, {"mu": -1e6}]"#, "each").ends_with(0);
    // The first trajectory from so far out overshoots the mode by at most as much.
    let first = |out: &str, chain: usize| {
        read_run(&folder.path(out)).unwrap().posterior.chains[chain].warmup_values[0]
    };
    assert!(first("far", 0).abs() > 1e3);
    assert_eq!(first("far", 0).to_bits(), first("each", 0).to_bits());
    assert_ne!(first("far", 1).to_bits(), first("each", 1).to_bits());

    let ran = start("three.json", r#"[{"mu": 1}, {"mu": 2}, {"mu": 3}]"#, "three").ends_with(2);
    assert!(ran.stderr.contains("one per chain (2), found 3"), "{ran:?}");
    let ran = start("who.json", r#"{"nu": 1}"#, "who").ends_with(1);
    assert!(ran.stderr.contains("`nu` is not a free variable"), "{ran:?}");
    assert!(!folder.path("who").exists() && !folder.path("three").exists());
}

/// Also of a model for which pilot chains would run first.
#[test]
fn wrong_settings_are_told_by_their_flags() {
    let folder = Folder::with_models();
    for (flag, value) in [("--max-depth", "0"), ("--chains", "0"), ("--target-accept", "2")] {
        let ran = folder.sample("schools.json", "out", &[flag, value]).ends_with(2);
        assert!(ran.stderr.contains(&format!("invalid value for `{flag}`")), "{ran:?}");
        assert!(!folder.path("out").exists());
    }
}

#[test]
fn bad_diagnostics_end_with_three_only_when_asked() {
    let folder = Folder::with_models();
    // Far too few draws for R-hat and effective sample sizes.
    let args = ["--draws", "20"];
    folder.sample("schools.json", "free", &args).ends_with(0);
    folder.sample("schools.json", "strict", &[&args[..], &["--check"]].concat()).ends_with(3);
    folder.exmc(&["summary", "free"]).ends_with(0);
    let ran = folder.exmc(&["summary", "free", "--check", "--json"]).ends_with(3);
    assert!(!ran.json()["warnings"].as_array().unwrap().is_empty());
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_model_without_free_variables_has_a_run_too() {
    let folder = Folder::new();
    folder.write("fixed.json", r#"{"exmc": 1, "nodes": [{"det": "z", "value": ["exp", 1]}]}"#);
    let ran = folder.sample("fixed.json", "out", &["--json"]).ends_with(0);
    let mean = parameter(&ran.json(), "z")["mean"].as_f64().unwrap();
    assert!((mean - std::f64::consts::E).abs() < 1e-15);
}

/// Numbers about 1e8 are eight apart in `f32`; the run's end, its JSON and its stored summary say
/// what that does.
#[test]
fn a_run_in_f32_tells_of_data_that_lose_their_digits() {
    let folder = Folder::new();
    let model = |location: f64| {
        let nodes = json!([
            {"data": "z", "dtype": "real", "shape": [100]},
            {"rv": "mu", "dist": "normal", "params": {"mu": location, "sigma": 10}},
            {"rv": "y", "dist": "logistic", "params": {"mu": "mu", "sigma": 1}, "shape": [100]},
            {"obs": "y_obs", "of": "y", "value": "z"}
        ]);
        json!({"exmc": 1, "nodes": nodes}).to_string()
    };
    let data = |location: f64| {
        let z: Vec<f64> = (0..100).map(|k| location + f64::from(k * 37 % 100) / 50.0).collect();
        json!({ "z": z }).to_string()
    };
    folder.write("near-data.json", &data(1.0));
    folder.write("far-data.json", &data(1e8));
    folder.write("near.json", &model(1.0));
    folder.write("far.json", &model(1e8));
    folder.write("init.json", r#"{"mu": 1e8}"#);
    let args = ["--precision", "f32", "--chains", "2", "--seed", "3", "--max-depth", "5"];
    let short = [&args[..], &["--warmup", "50", "--draws", "50", "--json"]].concat();
    let near = [&short[..], &["--data", "near-data.json"]].concat();
    let far = [&short[..], &["--data", "far-data.json", "--init", "init.json"]].concat();
    let warned = |document: &Value| {
        let warnings = document["warnings"].as_array().unwrap();
        let found = warnings.iter().find(|w| w["kind"] == "precision");
        found.map(|w| w["message"].as_str().unwrap().to_owned())
    };
    let near = folder.sample("near.json", "near", &near).ends_with(0).json();
    assert_eq!(warned(&near), None);
    let sampled = folder.sample("far.json", "far", &far).ends_with(0).json();
    let message = warned(&sampled).unwrap();
    assert!(message.contains("rounding to f32 moves `z` by up to "), "{message}");
    let stored = folder.exmc(&["summary", "far", "--json"]).ends_with(0).json();
    assert_eq!(warned(&stored), Some(message));
    let run = read_run(&folder.path("far")).unwrap();
    assert_eq!(run.record.executor, "native f32");

    // A mode needs all digits.
    for command in ["optimize", "laplace"] {
        let args = [command, "near.json", "--data", "near-data.json", "--precision", "f32"];
        let refused = folder.exmc(&args).ends_with(2);
        assert!(refused.stderr.contains("invalid value for `--precision`"), "{refused:?}");
    }
}

/// Far from random starts: a run without warmup must begin where the earlier one ended.
const FAR: &str = r#"{"exmc": 1, "nodes": [
  {"rv": "a", "dist": "normal", "params": {"mu": 1e4, "sigma": 1}},
  {"rv": "s", "dist": "lognormal", "params": {"mu": -20, "sigma": 0.5}}]}"#;

#[test]
fn a_warm_start_without_warmup_goes_on_where_the_run_ended() {
    let folder = Folder::new();
    folder.write("far.json", FAR);
    let settled = |out: &str, more: &[&str]| {
        let args = [&["--seed", "4", "--json"], more].concat();
        let summary = folder.sample("far.json", out, &args).ends_with(0).json();
        let a = parameter(&summary, "a");
        assert!(a["rhat"].as_f64().unwrap() < 1.05, "{a}");
        let (mean, error) = (a["mean"].as_f64().unwrap(), a["mcse_mean"].as_f64().unwrap());
        assert!((mean - 1e4).abs() < 5.0 * error, "{a}");
    };
    settled("first", &[]);
    settled("next", &["--warm-start", "first", "--warmup", "0", "--chains", "3"]);

    // A run of a version that stored no positions: the last draws stand for them.
    let mut record: Value = serde_json::from_slice(&folder.read("first/run.json")).unwrap();
    for chain in record["chains"].as_array_mut().unwrap() {
        assert_eq!(
            chain["tuned"].as_object_mut().unwrap().remove("positions").unwrap()[0]
                .as_array()
                .unwrap()
                .len(),
            2
        );
    }
    folder.write("first/run.json", &record.to_string());
    settled("old", &["--warm-start", "first", "--warmup", "0"]);
    // Where it began is kept with the settings.
    let run = read_run(&folder.path("old")).unwrap();
    assert_eq!(run.record.config.warm_start.unwrap().positions.len(), 4);
}
