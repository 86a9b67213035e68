//! Runs that are killed, interrupted, stopped, extended or made chain by chain: their draws are
//! those of a run that was left alone.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use exmc_draws::{RunStatus, StoredOutcome, read_record, read_run};

use crate::harness::Folder;

/// A Stan program with random generated quantities, a part of which is included.
const COUNTS: &str = "data { int n; array[n] int y; }
parameters { real mu; real<lower=0> tau; vector[n] z; }
#include middle.stan
generated quantities { array[n] int next; for (i in 1:n) next[i] = poisson_log_rng(mu + tau * z[i]); }
";
const MIDDLE: &str = "model { mu ~ normal(0, 2); tau ~ normal(0, 1); z ~ normal(0, 1); y ~ poisson_log(mu + tau * z); }\n";
const COUNTS_DATA: &str = r#"{"n": 6, "y": [1, 0, 3, 7, 2, 4]}"#;

fn with_counts() -> Folder {
    let folder = Folder::with_models();
    folder.write("counts.stan", COUNTS);
    folder.write("middle.stan", MIDDLE);
    folder.write("counts-data.json", COUNTS_DATA);
    folder
}

/// The draws of all chains, byte for byte.
fn draws(folder: &Folder, run: &str, chains: usize) -> Vec<Vec<u8>> {
    (0..chains).map(|k| folder.read(&format!("{run}/chain-{k}.draws"))).collect()
}

/// Starts a program and ends it when its run holds so many bytes of draws, or a while after.
#[cfg(unix)]
fn cut_off(folder: &Folder, args: &[&str], run: &str, bytes: u64, signal: &str) {
    let mut command = folder.command(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    let size = || {
        let path = folder.path(&format!("{run}/chain-0.draws"));
        fs::metadata(path).map_or(0, |data| data.len())
    };
    while size() < bytes && child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(120), "no draws after two minutes");
        std::thread::sleep(Duration::from_millis(1));
    }
    let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(kill.is_ok());
    child.wait().unwrap();
}

/// Kills at several places, goes on (killed again), and compares with a run that was not killed.
#[cfg(unix)]
fn survives(folder: &Folder, sample: &[&str], chains: usize) {
    let uninterrupted = [&["sample"], sample, &["--out", "whole", "-q"]].concat();
    folder.exmc(&uninterrupted).ends_with(0);
    let expected = draws(folder, "whole", chains);
    let length = expected[0].len() as u64;
    for (k, (first, second, signal)) in
        [(32, 33, "-KILL"), (length / 3, length / 2, "-KILL"), (length / 2, length, "-TERM")]
            .into_iter()
            .enumerate()
    {
        let run = format!("run-{k}");
        let args =
            [&["sample"], sample, &["--out", &run, "--checkpoint-every", "0", "-q"]].concat();
        cut_off(folder, &args, &run, first, signal);
        if folder.path(&format!("{run}/run.json")).exists() {
            let part = read_run(&folder.path(&run)).unwrap();
            for (chain, complete) in part.posterior.chains.iter().zip(&expected) {
                let n = chain.infos.len();
                let size = if n == 0 {
                    32
                } else {
                    (complete.len() - 32) / part.record.config.draws as usize * n + 32
                };
                assert_eq!(
                    folder.read(&format!("{run}/chain-{}.draws", chain.chain))[..size],
                    complete[..size]
                );
            }
            // The sources are no longer needed.
            let resume = ["resume", run.as_str(), "--checkpoint-every", "0", "-q"];
            cut_off(folder, &resume, &run, second, "-KILL");
            folder.exmc(&resume).ends_with(0);
        } else {
            folder.exmc(&args).ends_with(0);
        }
        assert_eq!(draws(folder, &run, chains), expected, "{sample:?} {k}");
        assert_eq!(read_run(&folder.path(&run)).unwrap().record.status, RunStatus::Completed);
        assert!(
            folder
                .names(&run)
                .iter()
                .all(|name| !name.ends_with(".tmp") && !name.ends_with(".lock"))
        );
    }
}

#[cfg(unix)]
#[test]
fn killed_runs_go_on_to_the_same_bits() {
    // Four chains side by side, in learned coordinates; what is integrated out; a Stan program.
    survives(
        &with_counts(),
        &["schools.json", "--without", "marginalise", "--draws", "20000", "--threads", "1"],
        4,
    );
    survives(
        &with_counts(),
        &["schools.json", "--draws", "30000", "--threads", "2", "--chains", "3"],
        3,
    );
    let counts = ["counts.stan", "--data", "counts-data.json", "--draws", "4000", "--chains", "2"];
    survives(&with_counts(), &counts, 2);
}

#[test]
fn a_run_goes_on_where_its_sources_are_gone() {
    let folder = with_counts();
    folder.write("init.json", r#"{"mu": 0.5}"#);
    let args = ["--data", "counts-data.json", "--init", "init.json", "--chains", "2"];
    folder.sample("counts.stan", "a", &args).ends_with(0);
    let longer = [&args[..], &["--draws", "333"]].concat();
    folder.sample("counts.stan", "b", &longer).ends_with(0);
    for name in ["counts.stan", "middle.stan", "counts-data.json", "init.json"] {
        fs::remove_file(folder.path(name)).unwrap();
    }
    // The second chain begins anew, from the initial values.
    fs::remove_file(folder.path("a/chain-1.checkpoint")).unwrap();
    folder.exmc(&["extend", "a", "--draws", "333", "-q"]).ends_with(0);
    assert_eq!(draws(&folder, "a", 2), draws(&folder, "b", 2));
    let run = read_run(&folder.path("a")).unwrap();
    assert_eq!((run.record.config.draws, run.record.status), (333, RunStatus::Completed));
    let ran = folder.exmc(&["extend", "a", "--draws", "5"]).ends_with(2);
    assert!(ran.stderr.contains("is one of 333 draws"), "{ran:?}");
    // Texts that were changed are told.
    folder.write("a/data.json", r#"{"n": 6, "y": [1, 0, 3, 7, 2, 5]}"#);
    let ran = folder.exmc(&["resume", "a"]).ends_with(1);
    assert!(ran.stderr.contains("the data in `a` are not those"), "{ran:?}");
}

#[test]
fn rules_end_a_run_within_the_draws_that_it_has_anyway() {
    let folder = Folder::with_models();
    let chains = ["--chains", "2", "--seed", "4"];
    let run = |out: &str, more: &[&str]| {
        let args =
            [&["sample", "schools.json", "--warmup", "300", "--out", out], &chains[..], more];
        folder.exmc(&args.concat())
    };
    let ran = run("a", &["--until", "ess=700:mu", "--json"]).ends_with(0);
    let rows = ran.json();
    let mu = crate::harness::parameter(&rows, "mu");
    let ess = mu["ess_bulk"].as_f64().unwrap().min(mu["ess_tail"].as_f64().unwrap());
    assert!(ess >= 700.0, "{ess}");
    let n = read_run(&folder.path("a")).unwrap().record.config.draws;
    assert!((200..5000).contains(&n), "{n}");
    run("b", &["--draws", &n.to_string()]).ends_with(0);
    assert_eq!(draws(&folder, "a", 2), draws(&folder, "b", 2));
    run("again", &["--until", "ess=700:mu", "--threads", "1"]).ends_with(0);
    assert_eq!(
        draws(&folder, "again", 2),
        draws(&folder, "a", 2),
        "where it ends follows from the draws"
    );

    let ran = run("c", &["--until", "mcse=0.2:mu", "--json"]).ends_with(0).json();
    assert!(crate::harness::parameter(&ran, "mu")["mcse_mean"].as_f64().unwrap() <= 0.2);
    // A rule that does not hold is told, and the run has the draws that it may have.
    let ran = run("d", &["--until", "ess=1e6", "--draws", "300"]).ends_with(0);
    assert!(ran.stderr.contains("its rule does not hold"), "{ran:?}");
    assert_eq!(read_run(&folder.path("d")).unwrap().posterior.chains[0].infos.len(), 300);

    let ran = run("e", &["--max-seconds", "0.5", "--draws", "100000000"]).ends_with(0);
    let stopped = read_run(&folder.path("e")).unwrap();
    assert_eq!(stopped.record.status, RunStatus::Stopped, "{ran:?}");
    assert!(ran.stderr.contains("`exmc resume e` goes on"), "{ran:?}");
    let (long, short) = (draws(&folder, "e", 2), draws(&folder, "b", 2));
    for (long, short) in long.iter().zip(&short) {
        let n = long.len().min(short.len());
        assert_eq!(long[..n], short[..n]);
    }
    let wrong = |more: &[&str], message: &str| {
        let ran = run("wrong", more).ends_with(2);
        assert!(ran.stderr.contains(message), "{ran:?}");
    };
    wrong(&["--until", "ess=400:nu"], "the model records no `nu`");
    wrong(&["--until", "rhat=1.01"], "expected `ess=NUMBER`");
    wrong(&["--max-seconds", "-1"], "from 0 on");
    assert!(!folder.path("wrong").exists());
}

/// How chains ended, by `run.json` and the files of tasks.
fn outcomes(folder: &Folder, run: &str) -> (RunStatus, Vec<StoredOutcome>) {
    let record = read_record(&folder.path(run)).unwrap();
    (record.status, record.chains.into_iter().map(|chain| chain.outcome).collect())
}

/// Gradients that take a while: on one thread the first chain has ended a round of draws when the
/// second one's time is up.
const SLOW: &str = "parameters { real a; real<lower=0> b; }
model {
  real s = 0;
  for (k in 1:200) s += a * b / (k * k);
  a ~ normal(0, 1); b ~ normal(1, 1); target += -0.5 * square(s - 1);
}
";

#[test]
fn chains_whose_time_was_up_are_no_chains_that_have_all_their_draws() {
    let folder = Folder::with_models();
    folder.write("slow.stan", SLOW);
    let args = ["--executor", "interpreter", "--threads", "1", "--chains", "2", "--warmup", "50"];
    let sample = |out: &str, more: &[&str]| {
        let rest = ["--seed", "8", "--out", out];
        folder.exmc(&[&["sample", "slow.stan"], &args[..], &rest, more].concat())
    };
    let made = |run: &str| -> Vec<usize> {
        let chains = read_run(&folder.path(run)).unwrap().posterior.chains;
        chains.iter().map(|chain| chain.infos.len()).collect()
    };
    sample("a", &["--draws", "900", "--max-seconds", "0.2"]).ends_with(0);
    let before = made("a");
    assert!(before.iter().all(|n| *n < 900), "{before:?}");
    let stopped = (RunStatus::Stopped, vec![StoredOutcome::Stopped; 2]);
    assert_eq!(outcomes(&folder, "a"), stopped, "{before:?}");
    let ran = folder.exmc(&["summary", "a"]).ends_with(0);
    assert!(!ran.stderr.contains("but the run made"), "{ran:?}");
    assert!(ran.stdout.contains("its time was up (`--max-seconds`)"), "{ran:?}");

    // Its time is no part of a run: who goes on makes all draws, or as many as are asked for.
    folder.exmc(&["resume", "a", "-q"]).ends_with(0);
    let completed = (RunStatus::Completed, vec![StoredOutcome::Completed; 2]);
    assert_eq!((outcomes(&folder, "a"), made("a")), (completed.clone(), vec![900; 2]));
    let short = ["--draws", "300", "--max-seconds", "0.05"];
    sample("b", &short).ends_with(0);
    assert_eq!(outcomes(&folder, "b"), stopped);
    folder.exmc(&["extend", "b", "--draws", "900", "-q"]).ends_with(0);
    assert_eq!(outcomes(&folder, "b"), completed);
    assert_eq!(draws(&folder, "b", 2), draws(&folder, "a", 2));

    // Tasks say the same of their chains, and what goes on with all of them takes their place.
    sample("tasks", &[&short[..], &["--chain", "1"]].concat()).ends_with(0);
    assert_eq!(outcomes(&folder, "tasks"), (RunStatus::Running, vec![StoredOutcome::Stopped]));
    sample("tasks", &[&short[..], &["--chain", "0"]].concat()).ends_with(0);
    assert_eq!(outcomes(&folder, "tasks"), stopped);
    folder.exmc(&["resume", "tasks", "-q"]).ends_with(0);
    assert_eq!((outcomes(&folder, "tasks"), made("tasks")), (completed, vec![300; 2]));
    for (part, complete) in draws(&folder, "tasks", 2).iter().zip(draws(&folder, "a", 2)) {
        assert_eq!(part[..], complete[..part.len()]);
    }
    sample("tasks", &["--draws", "300", "--chain", "0"]).ends_with(0);
    assert_eq!(outcomes(&folder, "tasks").0, RunStatus::Completed);
}

/// A process that is killed between making a chain's file and writing its header leaves a file
/// without a byte, one that is killed within that a part of the header.
#[test]
fn chains_that_were_killed_before_their_header_have_no_draws_and_begin_anew() {
    let folder = Folder::with_models();
    let args = ["--chains", "2", "--draws", "40"];
    folder.sample("schools.json", "whole", &args).ends_with(0);
    let header = folder.read("whole/chain-1.draws")[..32].to_vec();
    for (k, held) in [0, 20, 32].into_iter().enumerate() {
        // Before `run.json` was there, `sample` is started again.
        let run = format!("anew-{k}");
        fs::create_dir(folder.path(&run)).unwrap();
        fs::write(folder.path(&format!("{run}/chain-0.draws")), "").unwrap();
        fs::write(folder.path(&format!("{run}/chain-1.draws")), &header[..held]).unwrap();
        fs::write(folder.path(&format!("{run}/model.json.77.tmp")), "{").unwrap();
        folder.sample("schools.json", &run, &args).ends_with(0);
        assert_eq!(draws(&folder, &run, 2), draws(&folder, "whole", 2));
        assert!(!folder.path(&format!("{run}/model.json.77.tmp")).exists());

        // A task's chain is begun when `run.json` is there already.
        let run = format!("task-{k}");
        let task = |chain| [&args[..], &["--chain", chain]].concat();
        folder.sample("schools.json", &run, &task("0")).ends_with(0);
        fs::write(folder.path(&format!("{run}/chain-1.draws")), &header[..held]).unwrap();
        let ran = folder.exmc(&["summary", &run, "--json"]).ends_with(0);
        assert_eq!(ran.json()["run"]["draws"], serde_json::json!([40]));
        assert!(ran.stdout.contains("chain 1 made no draws after warmup"), "{ran:?}");
        let merged = format!("merged-{k}");
        folder.exmc(&["merge", &run, "--out", &merged]).ends_with(0);
        for run in [&run, &merged] {
            folder.exmc(&["resume", run, "-q"]).ends_with(0);
            assert_eq!(draws(&folder, run, 2), draws(&folder, "whole", 2));
            folder.exmc(&["summary", run]).ends_with(0);
        }
    }
    // A file of somebody else is left as it is.
    fs::create_dir(folder.path("foreign")).unwrap();
    fs::write(folder.path("foreign/chain-1.draws"), &header[1..]).unwrap();
    folder.sample("schools.json", "foreign", &args).ends_with(4);
    assert_eq!(folder.read("foreign/chain-1.draws"), header[1..]);
}

#[test]
fn chains_that_run_apart_are_those_of_the_run() {
    let folder = Folder::with_models();
    // Coordinates are learned, and half as far centred as they may be.
    let model = ["--without", "marginalise", "--chains", "3", "--seed", "6"];
    folder.sample("schools.json", "whole", &model).ends_with(0);
    let task = |out: &str, chain: &str, more: &[&str]| {
        folder.sample("schools.json", out, &[&model[..], &["--chain", chain], more].concat())
    };
    task("a", "2", &[]).ends_with(0);
    let ran = folder.exmc(&["merge", "a", "--out", "out"]).ends_with(4);
    assert!(ran.stderr.contains("these are in no directory: 0, 1"), "{ran:?}");
    task("a", "0", &[]).ends_with(0);
    task("a", "0", &[]).ends_with(0);
    task("b", "1", &["--threads", "1"]).ends_with(0);
    folder.exmc(&["merge", "b", "a", "--out", "out"]).ends_with(0);
    folder.exmc(&["merge", "a", "b", "--out", "out2"]).ends_with(0);
    for out in ["out", "out2"] {
        assert_eq!(draws(&folder, out, 3), draws(&folder, "whole", 3));
    }
    assert_eq!(folder.read("out/run.json"), folder.read("out2/run.json"));
    let summary = |run: &str| folder.exmc(&["summary", run]).ends_with(0).stdout;
    let table = |text: String| text.split("leapfrog steps").next().map(str::to_owned);
    assert_eq!(table(summary("out")), table(summary("whole")));
    let ran = folder.exmc(&["summary", "a"]).ends_with(0);
    assert!(ran.stderr.contains("chains that are not here: 1 of 3"), "{ran:?}");

    // Another seed is another run, in the same directory and when merged.
    let ran = task("a", "1", &["--target-accept", "0.9"]).ends_with(1);
    assert!(ran.stderr.contains("setting `target_accept`: 0.9 and 0.8"), "{ran:?}");
    task("c", "1", &["--target-accept", "0.9"]).ends_with(0);
    let ran = folder.exmc(&["merge", "a", "c", "--out", "out3"]).ends_with(1);
    assert!(ran.stderr.contains("setting `target_accept`: 0.8 and 0.9"), "{ran:?}");
    task("d", "3", &[]).ends_with(2);
    let ran = folder.exmc(&["sample", "schools.json", "--chain", "1"]).ends_with(2);
    assert!(ran.stderr.contains("`--chain` needs `--out DIR`"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn a_full_disk_ends_a_run_that_goes_on_when_there_is_room() {
    let folder = Folder::with_models();
    let program = env!("CARGO_BIN_EXE_exmc");
    let sample = "sample schools.json --draws 8000 --seed 2 --chains 2 -q";
    folder
        .exmc(&[&sample.split(' ').collect::<Vec<_>>()[..], &["--out", "whole"]].concat())
        .ends_with(0);
    let script = format!("ulimit -f 200 && exec '{program}' {sample} --out out");
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-c", &script]).current_dir(folder.path("")).output();
    let ran = crate::harness::Ran::of(output.unwrap()).ends_with(4);
    assert!(ran.stderr.contains("bytes: File too large"), "{ran:?}");
    assert!(ran.stderr.contains("`exmc resume out` goes on"), "{ran:?}");
    assert_eq!(read_run(&folder.path("out")).unwrap().record.status, RunStatus::Failed);
    folder.exmc(&["summary", "out"]).ends_with(0);
    folder.exmc(&["resume", "out", "-q"]).ends_with(0);
    assert_eq!(draws(&folder, "out", 2), draws(&folder, "whole", 2));
}

#[cfg(unix)]
#[test]
fn a_run_that_is_going_on_is_locked() {
    let folder = Folder::with_models();
    let args = ["sample", "schools.json", "--draws", "1000000000", "--out", "out", "-q"];
    let mut command = folder.command(&args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while !folder.path("out/run.json").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "no run after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    let ran = folder.exmc(&["resume", "out"]).ends_with(4);
    assert!(
        ran.stderr.contains(&format!("process {} writes the run in `out`", child.id())),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("help: wait until it has ended"), "{ran:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(Path::new(&folder.path("out/run.lock")).exists(), "its lock is stale now");
    let draws = read_run(&folder.path("out")).unwrap().posterior.chains[0].infos.len();
    let ran =
        folder.exmc(&["extend", "out", "--draws", &(draws as u64 / 2).to_string()]).ends_with(2);
    assert!(ran.stderr.contains("is one of 1000000000 draws"), "{ran:?}");
}
