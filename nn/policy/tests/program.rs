//! The program: what it says, where it fails, and with which code.

use std::process::{Command, Output};

use crate::support::{Folder, write_games};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_policy")).args(arguments).output().expect("the program starts")
}

fn fails(arguments: &[&str], code: i32, says: &str) {
    let output = run(arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    assert!(text.contains(says), "{arguments:?}: {text}");
}

/// What `--print-config` prints is a file of settings, and needs no place for a run.
#[test]
fn settings_are_printed_without_a_run() {
    let printed = run(&["train", "--set", "steps=7", "--print-config"]);
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let folder = Folder::new("settings");
    let file = folder.path().join("settings.json");
    std::fs::write(&file, &printed.stdout).expect("written");
    let file = file.to_str().expect("a text");
    let again = run(&["train", "--config", file, "--print-config"]);
    assert_eq!(again.stdout, printed.stdout);
    assert!(String::from_utf8_lossy(&again.stdout).contains("\"steps\": 7"));
    fails(&["train"], 2, "--out");
}

#[test]
fn mistakes_have_codes_and_sentences() {
    let folder = Folder::new("mistakes");
    write_games(folder.path(), 1);
    let replays = folder.path().to_str().expect("a text").to_owned();
    let out = folder.path().join("run");
    let out = out.to_str().expect("a text");
    let absent = folder.path().join("absent");
    let absent = absent.to_str().expect("a text");
    fails(&["dance"], 2, "unrecognized subcommand");
    fails(&["train", absent, "--out", out], 4, "cannot read");
    fails(&["train", &replays, "--out", out, "--set", "steps=0"], 2, "`steps` is 0");
    let wrong = ["train", &replays, "--out", out, "--set", "network.delay=0"];
    fails(&wrong, 2, "`delay` is 0; expected 1 to 120");
    let wrong = ["train", &replays, "--out", out, "--set", "device=abacus"];
    fails(&wrong, 2, "there is no device `abacus`");
    let wrong = ["train", &replays, "--out", out, "--set", "data.players=port 3"];
    fails(&wrong, 1, "no replay has a window");
    fails(&["resume", absent], 4, "a run writes its first state");
    let bad = folder.path().join("bad.safetensors");
    std::fs::write(&bad, [7_u8; 40]).expect("a file");
    fails(&["info", bad.to_str().expect("a text")], 1, "bad.safetensors");
}

#[test]
fn the_demo_does_everything_once() {
    let folder = Folder::new("demo");
    let out = folder.path().join("demo");
    let place = out.to_str().expect("a text");
    let output = run(&["demo", "--out", place, "--games", "2", "--steps", "20"]);
    let (said, failed) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{failed}");
    for words in ["step     20", "loss ", "crossings of at most", "figures: "] {
        assert!(said.contains(words), "{words} is missing in:\n{said}");
    }
    for name in
        ["training.svg", "accuracy.svg", "calibration.svg", "offsets.svg", "evaluation.json"]
    {
        assert!(out.join("figures").join(name).exists(), "{name}");
    }
    let policy = out.join("run/policy.safetensors");
    let policy = policy.to_str().expect("a text");
    let said = |arguments: &[&str]| String::from_utf8(run(arguments).stdout).expect("a text");
    assert!(said(&["info", policy]).contains("delay         1 frames"));
    assert!(said(&["rollout", policy, "--games", "1"]).contains("crossings of at most"));
    assert!(said(&["bench", policy, "--actions", "50"]).contains("99.9 %"));
    fails(&["demo", "--out", place], 2, "holds a demo already");
    fails(
        &["train", place, "--out", out.join("run").to_str().expect("a text")],
        2,
        "`policy resume`",
    );
}
