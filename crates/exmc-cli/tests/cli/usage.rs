//! Help, wrong command lines, and what ends with which exit code.

use crate::harness::{Folder, Ran, expect_text};

const COMMANDS: [&str; 29] = [
    "demo",
    "sample",
    "resume",
    "extend",
    "watch",
    "merge",
    "optimize",
    "laplace",
    "pathfinder",
    "variational",
    "generate",
    "predict",
    "summary",
    "diagnose",
    "sbc",
    "loo",
    "compare",
    "plot",
    "report",
    "export",
    "logp",
    "bench",
    "check",
    "dump",
    "distributions",
    "cmdstan",
    "bridgestan",
    "completions",
    "man",
];

#[test]
fn help_of_every_command() {
    let folder = Folder::new();
    let help = folder.exmc(&["--help"]).ends_with(0);
    assert_eq!(help.stderr, "");
    expect_text("help.txt", &help.stdout);
    for command in COMMANDS {
        let help = folder.exmc(&[command, "--help"]).ends_with(0);
        expect_text(&format!("help-{command}.txt"), &help.stdout);
    }
}

#[test]
fn the_manual_names_every_command_and_flag() {
    let manual = include_str!("../../../../docs/cli.md");
    let folder = Folder::new();
    for command in COMMANDS {
        assert!(manual.contains(&format!("`exmc {command}")), "{command}");
        let help = folder.exmc(&[command, "--help"]).ends_with(0).stdout;
        let flags = help.split_whitespace().filter(|word| word.starts_with("--"));
        for flag in flags.filter(|flag| *flag != "--help") {
            // `--serve[=<ADDR>]` takes a value that may be left out.
            let flag = flag.split_once('[').map_or(flag, |(flag, _)| flag);
            assert!(manual.contains(flag), "{command} {flag}");
        }
    }
}

#[test]
fn wrong_command_lines_end_with_two_and_say_why() {
    let folder = Folder::with_models();
    let cases: [(&str, &[&str]); 8] = [
        ("no-command", &[]),
        ("unknown-command", &["sampel"]),
        ("unknown-flag", &["sample", "schools.json", "--chain", "4"]),
        ("no-model", &["sample"]),
        ("bad-number", &["sample", "schools.json", "--chains", "four"]),
        ("bad-metric", &["sample", "schools.json", "--metric", "dens"]),
        ("bad-pass", &["sample", "schools.json", "--without", "non-center"]),
        ("bad-setting", &["sample", "schools.json", "--target-accept", "1.5"]),
    ];
    for (name, args) in cases {
        let ran = folder.exmc(args).ends_with(2);
        assert_eq!(ran.stdout, "", "{name}");
        expect_text(&format!("usage-{name}.txt"), &ran.transcript());
    }
    assert_eq!(
        folder.names(""),
        ["mean-data.json", "mean.json", "schools.json"],
        "nothing is written"
    );
}

#[test]
fn mistakes_in_models_and_data_end_with_one_and_say_where() {
    let folder = Folder::with_models();
    folder.write("torn.json", "{\"exmc\": 1,\n \"nodes\": [");
    folder.write(
        "typo.json",
        r#"{"exmc": 1, "nodes": [{"rv": "x", "dist": "normall", "params": [0, 1]}]}"#,
    );
    folder.write("short.json", r#"{"n": 3, "x": [1, 2]}"#);
    folder.write("more.json", r#"{"n": 3, "x": [1, 2, 3], "z": 1}"#);
    let program = "data { int N; } parameters { real x; } model { x ~ normal(0, N); }";
    folder.write("program.txt", program);
    folder.write("program.stan", program);
    std::fs::write(folder.path("latin.json"), b"{\"exmc\": 1, \"caf\xe9\": 1}").unwrap();
    let cases: [(&str, &[&str]); 8] = [
        ("torn", &["sample", "torn.json"]),
        ("typo", &["sample", "typo.json"]),
        ("no-data", &["sample", "mean.json"]),
        ("short-data", &["sample", "mean.json", "--data", "short.json"]),
        ("more-data", &["sample", "mean.json", "--data", "more.json"]),
        ("not-utf8", &["dump", "latin.json"]),
        ("not-named-stan", &["sample", "program.txt"]),
        ("stan-no-data", &["sample", "program.stan"]),
    ];
    for (name, args) in cases {
        let ran = folder.exmc(args).ends_with(1);
        assert_eq!(ran.stdout, "", "{name}");
        expect_text(&format!("model-{name}.txt"), &ran.transcript());
    }
    assert!(!folder.path("exmc-run-1").exists(), "nothing is written");
}

#[test]
fn a_density_that_is_finite_nowhere_ends_with_one_and_leaves_nothing() {
    let folder = Folder::new();
    folder.write(
        "nowhere.json",
        r#"{"exmc": 1, "nodes": [{"rv": "x", "dist": "normal", "params": [0, 1]},
            {"potential": "p", "value": ["log", ["mul", -1, ["exp", "x"]]]}]}"#,
    );
    let ran = folder.exmc(&["sample", "nowhere.json", "-q"]).ends_with(1);
    assert!(
        ran.stderr.contains("no usable initial point") && ran.stderr.contains("`p`"),
        "{ran:?}"
    );
    assert_eq!(folder.names(""), ["nowhere.json"]);
}

#[test]
fn errors_are_json_too_when_json_is_asked_for() {
    let folder = Folder::with_models();
    let ran = folder.exmc(&["sample", "mean.json", "--json"]).ends_with(1);
    let error = &ran.json()["error"];
    assert_eq!((&error["code"], &error["exit"]), (&"model".into(), &1.into()));
    let codes: Vec<_> =
        error["diagnostics"].as_array().unwrap().iter().map(|d| &d["code"]).collect();
    assert_eq!(codes, ["missing-data", "missing-data"]);
    assert_eq!(error["diagnostics"][0]["node"], "n");
}

#[test]
fn files_that_cannot_be_read_end_with_four() {
    let folder = Folder::with_models();
    let reads = |ran: Ran, name: &str| {
        let ran = ran.ends_with(4);
        assert!(ran.stderr.starts_with(&format!("error: cannot read `{name}`: ")), "{ran:?}");
    };
    reads(folder.exmc(&["sample", "absent.json"]), "absent.json");
    reads(folder.exmc(&["sample", "mean.json", "--data", "absent.json"]), "absent.json");
    reads(folder.exmc(&["sample", "schools.json", "--init", "absent.json"]), "absent.json");
    reads(folder.exmc(&["logp", "schools.json", "--points", "absent.json"]), "absent.json");
    reads(folder.exmc(&["summary", "absent"]), "absent");
    reads(folder.exmc(&["dump", "."]), ".");
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_is_full_ends_with_four_and_a_closed_one_is_no_failure() {
    use std::process::Stdio;
    let folder = Folder::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = folder.command(&["distributions"]).stdout(full).output().unwrap();
    let ran = Ran::of(output).ends_with(4);
    assert!(ran.stderr.contains("cannot write to standard output"), "{ran:?}");

    let mut child = folder.command(&["demo", "-q"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

// The switch exists in builds with debug assertions only.
#[cfg(debug_assertions)]
#[test]
fn a_panic_ends_with_seventy_and_asks_for_a_report() {
    let output = Folder::new().command(&["distributions"]).env("EXMC_TEST_PANIC", "1").output();
    let ran = Ran::of(output.unwrap()).ends_with(70);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.starts_with("internal error, a bug of exmc"), "{ran:?}");
    assert!(ran.stderr.contains("please report it") && !ran.stderr.contains("RUST_BACKTRACE"));
}
