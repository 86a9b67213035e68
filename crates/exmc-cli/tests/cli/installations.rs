//! `exmc cmdstan install` and `exmc bridgestan install`: directories that clients of CmdStan and
//! BridgeStan take for theirs. Models are made by `make` and run as programs of their own, as
//! clients do it.

use std::path::Path;
use std::process::Command;

use crate::harness::{Folder, Ran};

const COIN: &str = "data { int<lower=0> N; array[N] int<lower=0, upper=1> y; }
parameters { real<lower=0, upper=1> theta; }
model { y ~ bernoulli(theta); }
generated quantities { int heads = bernoulli_rng(theta); }
";

/// `make GOAL` in a directory of ours, for a goal elsewhere.
fn make(folder: &Folder, home: &str, goal: &str) -> Ran {
    let mut command = Command::new("make");
    command.arg("-s").arg("-C").arg(folder.path(home)).arg(folder.path(goal));
    Ran::of(command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").output().unwrap())
}

/// Runs a model executable in the folder.
fn model(folder: &Folder, name: &str, args: &str) -> Ran {
    let mut command = Command::new(folder.path(name));
    command.args(args.split(' ')).current_dir(folder.path(""));
    Ran::of(command.output().unwrap())
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn a_model_is_made_by_the_makefile_and_run() {
    let folder = Folder::new();
    let ran = folder.exmc(&["cmdstan", "install", "home"]).ends_with(0);
    let path = folder.path("home").canonicalize().unwrap();
    let expected = format!("{}\nset the environment variable CMDSTAN to it\n", path.display());
    assert_eq!(ran.stdout, expected);
    assert_eq!(
        folder.names("home/bin"),
        ["diagnose", "exmc", "print", "stanc", "stansummary"],
        "the tools that clients call"
    );
    folder.write("coin.stan", COIN);
    folder.write("coin.json", r#"{"N": 4, "y": [0, 1, 1, 0]}"#);
    make(&folder, "home", "coin").ends_with(0);
    let args = "id=1 random seed=3 data file=coin.json output file=o.csv sample num_samples=500";
    let ran = model(&folder, "coin", args).ends_with(0);
    says(&ran.stdout, &["Gradient evaluation took", "Iteration: 1500 / 1500 [100%]"]);
    let csv = String::from_utf8(folder.read("o.csv")).unwrap();
    let rows = csv.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(rows, 1 + 500);
    // The tools are the same file under other names.
    let mut summary = Command::new(folder.path("home/bin/stansummary"));
    let said = Ran::of(summary.arg(folder.path("o.csv")).output().unwrap()).ends_with(0);
    says(&said.stdout, &["theta", "heads"]);
    // A directory of ours is brought up to date.
    folder.exmc(&["cmdstan", "install", "home"]).ends_with(0);
}

#[test]
fn what_is_wrong_with_a_run_of_a_model_is_told_with_its_place() {
    let folder = Folder::new();
    folder.exmc(&["cmdstan", "install", "home"]).ends_with(0);
    folder.write("coin.stan", COIN);
    make(&folder, "home", "coin").ends_with(0);
    let ran = model(&folder, "coin", "sample num_sample=5").ends_with(1);
    says(&ran.stderr, &["num_sample=5 is either mistyped or misplaced.", " num_samples=<int>"]);
    let ran = model(&folder, "coin", "sample num_samples=-5").ends_with(1);
    says(&ran.stderr, &["-5 is not a valid value for \"num_samples\"", "0 <= num_samples"]);
    let ran = model(&folder, "coin", "sample data file=none.json").ends_with(1);
    says(&ran.stderr, &["Can't open specified file, \"none.json\""]);
    folder.write("wrong.json", "{\"N\": 2,\n \"y\": [0, 2]}");
    let ran = model(&folder, "coin", "sample data file=wrong.json").ends_with(1);
    let first = "Exception: error[data]: `y[2]` is 2, but must be at most 1 (in 'wrong.json', line 2, column 11)\n";
    says(&ran.stderr, &[first, " --> wrong.json:2:11", "coin.stan:1:24: declared here"]);
    folder.write("short.json", "{\"N\": 2}");
    let ran = model(&folder, "coin", "sample data file=short.json").ends_with(1);
    says(&ran.stderr, &["variable name=y; base type=int (in '", "line 1, column"]);
    folder.write("start.json", "{\"theta\": 1.5}");
    folder.write("coin.json", r#"{"N": 1, "y": [1]}"#);
    let args = "sample data file=coin.json init=start.json";
    let ran = model(&folder, "coin", args).ends_with(1);
    says(&ran.stderr, &["theta: Bounded variable is 1.5, but must lie within its bounds"]);
}

/// Half a normal density: with a mass of one sixth beyond its wall, 100 draws meet it.
#[test]
fn why_a_proposal_is_rejected_is_told_in_the_lines_that_clients_look_for() {
    let folder = Folder::new();
    folder.exmc(&["cmdstan", "install", "home"]).ends_with(0);
    let program = "parameters { real x; }
model { x ~ normal(0, 1); if (x > 1) reject(\"too large: \", x); }
";
    folder.write("wall.stan", program);
    make(&folder, "home", "wall").ends_with(0);
    for (args, prefix) in
        [("", ""), (" num_chains=2", "Chain [2] "), (" algorithm=hmc metric=dense_e", "")]
    {
        let args = format!("random seed=1 sample num_samples=100 num_warmup=100{args}");
        let ran = model(&folder, "wall", &args).ends_with(0);
        let issue = "is about to be rejected because of the following issue:";
        let first =
            format!("{prefix}Informational Message: The current Metropolis proposal {issue}");
        let reason = format!("\n{prefix}Exception: error[runtime]: too large: ");
        says(&ran.stderr, &[&first, &reason, "wall.stan', line 2, column "]);
        // No more than a hundred for each chain.
        assert!(ran.stderr.matches(issue).count() <= 200, "{}", ran.stderr);
    }
}

#[test]
fn a_model_that_cannot_be_made_leaves_no_file() {
    let folder = Folder::new();
    folder.exmc(&["cmdstan", "install", "home"]).ends_with(0);
    folder.write("bad.stan", "parameters { real x; }\nmodel { y ~ normal(x, 1); }\n");
    let ran = make(&folder, "home", "bad").ends_with(2);
    says(&ran.stderr, &["error[semantic]: `y` is not declared", "bad.stan:2:9"]);
    assert!(!folder.path("bad").exists());
    folder.write("part.stan", "#include missing.stan\nmodel { }\n");
    let ran = make(&folder, "home", "part").ends_with(2);
    says(&ran.stderr, &["cannot find `missing.stan` to include", "part.stan:1:1"]);
    // `make` itself says that there is no such program.
    says(&make(&folder, "home", "none").ends_with(2).stderr, &["none"]);
    let stanc = |args: &[&str]| {
        let mut command = Command::new(folder.path("home/bin/stanc"));
        Ran::of(command.args(args).current_dir(folder.path("")).output().unwrap())
    };
    says(&stanc(&["--frobnicate", "bad.stan"]).ends_with(1).stderr, &["--frobnicate"]);
    says(&stanc(&["none.stan"]).ends_with(1).stderr, &["Can't open specified file, \"none.stan\""]);
}

#[test]
fn a_library_is_made_of_a_program_behind_the_one_that_is_named() {
    let folder = Folder::new();
    folder.write("library", "a library");
    let args = ["bridgestan", "install", "home", "--library", "library"];
    let ran = folder.exmc(&args).ends_with(0);
    says(&ran.stdout, &["home\nset the environment variable BRIDGESTAN to it\n"]);
    folder.write("coin.stan", COIN);
    make(&folder, "home", "coin_model.so").ends_with(0);
    let made = folder.read("coin_model.so");
    assert!(made.starts_with(b"a library{"), "the program stands behind the library");
    assert!(made.ends_with(b"\0exmc model 0001"));
    folder.write("bad.stan", "parameters { real x; }\nmodel { y ~ normal(x, 1); }\n");
    let ran = make(&folder, "home", "bad_model.so").ends_with(2);
    says(&ran.stderr, &["error[semantic]: `y` is not declared", "bad.stan:2:9"]);
    assert!(!folder.path("bad_model.so").exists());
    make(&folder, "home", "none_model.so").ends_with(2);
}

#[test]
fn a_directory_that_cannot_be_ours_is_refused_with_a_hint() {
    let folder = Folder::new();
    folder.write("library", "a library");
    std::fs::create_dir(folder.path("full")).unwrap();
    folder.write("full/file", "something");
    for kind in ["cmdstan", "bridgestan"] {
        let install = |directory: &str| {
            let mut args = vec![kind, "install", directory];
            if kind == "bridgestan" {
                args.extend(["--library", "library"]);
            }
            folder.exmc(&args)
        };
        let ran = install("full").ends_with(2);
        says(&ran.stderr, &["`full` holds something", "choose a folder that does not exist"]);
        assert_eq!(folder.names("full"), ["file"], "nothing was written");
        let ran = install("library/inside").ends_with(4);
        says(&ran.stderr, &["cannot write `library/inside`"]);
        folder.exmc(&[kind, "install"]).ends_with(2);
        folder.exmc(&[kind, "install", "home", "--frobnicate"]).ends_with(2);
        folder.exmc(&[kind]).ends_with(2);
    }
    let args = ["bridgestan", "install", "home", "--library", "none"];
    says(&folder.exmc(&args).ends_with(4).stderr, &["cannot read the library `none`"]);
    assert!(!Path::new(&folder.path("home")).exists());
}
