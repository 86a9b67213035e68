//! Runs on replays of the stub game: they learn, end, stop early, and go on with equal bits.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use policy::{Row, TrainConfig, read_metrics, resume, train};

use crate::support::{Folder, write_games};

pub(crate) fn config(replays: &Path, changes: &[&str]) -> TrainConfig {
    let mut config = TrainConfig::default();
    config.data.paths = vec![replays.to_owned()];
    let small = [
        "data.players=port 1",
        "data.window=16",
        "data.batch=8",
        "network.backbone.hidden=16",
        "network.heads.residual=16",
        "network.embedding=4",
        "optimiser.learning_rate=0.01",
        "steps=60",
        "log_every=10",
    ];
    let changes: Vec<String> = small.iter().chain(changes).map(|c| (*c).to_owned()).collect();
    config.with(&changes).expect("settings")
}

fn run(config: &TrainConfig, folder: &Path) -> Vec<Row> {
    train(config, folder, &mut |_| {}).expect("the run ends");
    read_metrics(folder).expect("there are metrics")
}

#[test]
fn a_run_learns_and_its_metrics_say_so() {
    let folder = Folder::new("learns");
    write_games(folder.path(), 2);
    let rows =
        run(&config(folder.path(), &["data.held_out_frames=0.2"]), &folder.path().join("run"));
    let training: Vec<&Row> = rows.iter().filter(|row| row.kind == "training").collect();
    assert_eq!(training.iter().map(|row| row.step).collect::<Vec<_>>(), [10, 20, 30, 40, 50, 60]);
    // The loss begins near that of equal logits, 18.5; the game takes 3 distinct inputs.
    assert!(training[5].loss < 0.2 * training[0].loss, "{} {}", training[0].loss, training[5].loss);
    let held_out = rows.iter().find(|row| row.kind == "held_out").expect("an evaluation");
    assert!(held_out.loss.is_finite());
    let sum: f64 = held_out.components.iter().sum();
    assert!((sum - held_out.loss).abs() < 1e-5 * held_out.loss, "{sum} {}", held_out.loss);
}

#[test]
fn the_same_settings_give_equal_bits() {
    let folder = Folder::new("equal");
    write_games(folder.path(), 1);
    let config = config(folder.path(), &["steps=12", "optimiser.accumulate=2"]);
    let policies = ["one", "two"].map(|name| {
        let place = folder.path().join(name);
        run(&config, &place);
        std::fs::read(place.join("policy.safetensors")).expect("a policy")
    });
    assert_eq!(policies[0], policies[1]);
}

#[test]
fn a_run_without_improvement_stops() {
    let folder = Folder::new("stops");
    write_games(folder.path(), 1);
    // A rate so high that nothing improves for long.
    let changes = [
        "data.held_out_frames=0.3",
        "optimiser.learning_rate=3",
        "optimiser.clip=1000",
        "steps=200",
        "evaluate_every=4",
        "patience=2",
    ];
    let rows = run(&config(folder.path(), &changes), &folder.path().join("run"));
    let losses: Vec<f64> = rows.iter().filter(|r| r.kind == "held_out").map(|r| r.loss).collect();
    assert!(losses.len() < 50, "the run did not stop: {losses:?}");
    let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let place = losses.iter().position(|loss| *loss == best).expect("a best evaluation");
    assert_eq!(losses.len(), place + 3, "two evaluations follow the best: {losses:?}");
}

#[test]
fn penalties_of_the_settings_act() {
    let folder = Folder::new("penalties");
    write_games(folder.path(), 1);
    let lines = r#"penalties=[{"name":"small","weight":{"constant":0.001},
        "term":{"output":{"penalty":{"l2":{}},"key":"trunk"}}}]"#;
    let config = config(folder.path(), &[lines, "steps=20"]);
    let place = folder.path().join("run");
    let rows = run(&config, &place);
    assert!(rows.iter().all(|row| row.penalty > 0.0), "the output's penalty is reported");
}

#[test]
fn a_backbone_is_its_name_or_its_sizes() {
    let with = |change: &str| TrainConfig::default().with(&[change.to_owned()]);
    for kind in ["mlp", "gru", "lstm", "attention", "selective_scan"] {
        let config = with(&format!("network.backbone={kind}")).expect("a kind");
        let usual = policy::NetworkConfig::usual(kind).expect("a kind");
        assert_eq!(config.network.backbone, usual);
    }
    let sizes = r#"network.backbone={"kind":"lstm","hidden":7,"layers":3}"#;
    let config = with(sizes).expect("sizes");
    assert_eq!((config.network.backbone.hidden(), config.network.backbone.layers()), (7, 3));
    let error = with("network.backbone=perceptron").expect_err("no such kind").to_string();
    assert!(error.contains("no backbone is `perceptron`"), "{error}");
}

#[test]
fn settings_that_do_not_exist_are_named() {
    let error = TrainConfig::default().with(&["network.dellay=3".to_owned()]).expect_err("a typo");
    let text = error.to_string();
    assert!(text.contains("`dellay`") && text.contains("delay"), "{text}");
    assert_eq!(error.exit_code(), 2);
    let error = TrainConfig::parse("{\n\"stepz\": 3}").expect_err("a typo");
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn a_killed_run_goes_on_with_equal_bits() {
    let folder = Folder::new("killed");
    write_games(folder.path(), 2);
    let config = config(folder.path(), &["steps=150", "save_every=10", "log_every=10"]);
    let whole_run = folder.path().join("whole");
    let rows = run(&config, &whole_run);
    let text = serde_json::to_string(&config).expect("settings have a text");
    let settings = folder.path().join("settings.json");
    std::fs::write(&settings, text).expect("settings are written");

    let place = folder.path().join("cut");
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_policy"));
        if place.join("state.safetensors").exists() {
            command.arg("resume").arg(&place);
        } else {
            std::fs::remove_dir_all(&place).ok();
            command.arg("train").arg("--config").arg(&settings).arg("--out").arg(&place);
        }
        command.stdout(Stdio::null()).spawn().expect("the program starts")
    };
    // Killed three times, some while after a state was written; `kill` is SIGKILL.
    for pause in [3, 11, 26] {
        let mut child = start();
        let state = place.join("state.safetensors");
        let before = std::fs::metadata(&state).and_then(|m| m.modified()).ok();
        let is_new = || std::fs::metadata(&state).and_then(|m| m.modified()).ok() != before;
        while !is_new() && child.try_wait().expect("the program is ours").is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().ok();
        child.wait().expect("the program is ours");
    }
    let trained = resume(&place, &mut |_| {}).expect("the run goes on");
    assert_eq!(trained.progress.step, 150);
    let policies = [&whole_run, &place].map(|p| std::fs::read(p.join("policy.safetensors")).ok());
    assert!(policies[0].is_some() && policies[0] == policies[1], "the policies differ");
    // The metrics are those of a run that was not killed, but for the time.
    let again = read_metrics(&place).expect("there are metrics");
    let losses = |rows: &[Row]| rows.iter().map(|r| (r.step, r.loss.to_bits())).collect::<Vec<_>>();
    assert_eq!(losses(&rows), losses(&again));
}
