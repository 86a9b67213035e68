//! Runs that are stopped, killed, cut off or damaged: what was drawn stays readable, and nothing is
//! claimed that was not drawn.

use std::fs;
#[cfg(unix)]
use std::process::{Child, Command, Stdio};
#[cfg(unix)]
use std::time::{Duration, Instant};

use exmc_draws::{RunStatus, read_run};

use crate::harness::Folder;
#[cfg(unix)]
use crate::harness::Ran;

/// Bytes of a file's header, and of a record of the eight schools.
const HEADER: usize = 32;
const RECORD: usize = 24 + 8 * (6 + 10);

#[test]
fn a_file_cut_off_anywhere_gives_every_whole_draw() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "out", &["--draws", "12"]).ends_with(0);
    let bytes = folder.read("out/chain-1.draws");
    assert_eq!(bytes.len(), HEADER + 12 * RECORD);
    let complete = read_run(&folder.path("out")).unwrap().posterior.chains.remove(1);
    for size in HEADER..=bytes.len() {
        fs::write(folder.path("out/chain-1.draws"), &bytes[..size]).unwrap();
        let run = read_run(&folder.path("out")).unwrap();
        let chain = &run.posterior.chains[1];
        let n = (size - HEADER) / RECORD;
        assert_eq!(chain.infos, complete.infos[..n], "{size} bytes");
        assert_eq!(chain.values, complete.values[..10 * n]);
        assert_eq!(run.notes.is_empty(), size == bytes.len(), "{size} bytes: {:?}", run.notes);
    }
    fs::write(folder.path("out/chain-1.draws"), &bytes[..HEADER + 5 * RECORD + 7]).unwrap();
    let ran = folder.exmc(&["summary", "out", "--json"]).ends_with(0);
    assert_eq!(ran.json()["run"]["draws"], serde_json::json!([12, 5, 12, 12]));
    assert!(ran.stderr.contains("ends in the middle of a draw"), "{ran:?}");
    assert!(ran.stderr.contains("holds 5 draws, but the run made 12"), "{ran:?}");
}

#[test]
fn damage_is_seen_and_what_lies_before_it_is_kept() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "out", &["--draws", "12"]).ends_with(0);
    let bytes = folder.read("out/chain-2.draws");
    for index in [HEADER + 4 * RECORD, HEADER + 4 * RECORD + 21, HEADER + 5 * RECORD - 1] {
        let mut damaged = bytes.clone();
        damaged[index] ^= 16;
        fs::write(folder.path("out/chain-2.draws"), &damaged).unwrap();
        let run = read_run(&folder.path("out")).unwrap();
        assert_eq!(run.posterior.chains[2].infos.len(), 4, "byte {index}");
        assert!(run.notes[0].contains("damaged at record 4"), "{:?}", run.notes);
    }
    // A record that is whole but not the next one.
    let mut doubled = bytes[..HEADER + 4 * RECORD].to_vec();
    doubled.extend_from_slice(&bytes[HEADER + 3 * RECORD..]);
    fs::write(folder.path("out/chain-2.draws"), &doubled).unwrap();
    let run = read_run(&folder.path("out")).unwrap();
    assert_eq!(run.posterior.chains[2].infos.len(), 4);

    for (index, message) in [(0, "has no header"), (8, "has format version"), (24, "another run")] {
        let mut foreign = bytes.clone();
        foreign[index] ^= 1;
        fs::write(folder.path("out/chain-2.draws"), &foreign).unwrap();
        let ran = folder.exmc(&["summary", "out"]).ends_with(4);
        assert!(ran.stderr.contains(message) && ran.stderr.contains("chain-2.draws"), "{ran:?}");
    }
}

#[test]
fn directories_that_hold_no_run_end_with_four() {
    let folder = Folder::with_models();
    fs::create_dir(folder.path("empty")).unwrap();
    fs::create_dir(folder.path("other")).unwrap();
    let summary = |name: &str, message: &str| {
        let ran = folder.exmc(&["summary", name]).ends_with(4);
        assert!(ran.stderr.contains(message), "{ran:?}");
    };
    summary("empty", "`empty` holds no run");
    summary("schools.json", "`schools.json` holds no run");
    folder.write("other/run.json", "{\"exmc_run\": 1, \"prog");
    summary("other", "is damaged: EOF while parsing");
    folder.write("other/run.json", "{\"exmc_run\": 999, \"new\": true}");
    summary("other", "has format version 999, expected 1");
    folder.write("other/run.json", "{}");
    summary("other", "names no format version");
}

#[test]
fn a_place_that_cannot_be_written_ends_with_four_before_sampling() {
    let folder = Folder::with_models();
    let fails = |out: &str| {
        let ran = folder.sample("schools.json", out, &[]).ends_with(4);
        assert!(ran.stderr.starts_with(&format!("error: cannot write `{out}")), "{ran:?}");
    };
    fails("mean.json");
    fails("mean.json/below");
    if cfg!(target_os = "linux") {
        // Nobody may make files there, whatever their rights.
        fails("/proc/exmc-run");
    }
    assert_eq!(folder.names(""), ["mean-data.json", "mean.json", "schools.json"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_stops_the_run_and_keeps_the_draws() {
    let folder = Folder::with_models();
    let program = env!("CARGO_BIN_EXE_exmc");
    // 100 blocks of 512 or 1024 bytes, whichever the shell counts in.
    let script = format!(
        "ulimit -f 100 && exec '{program}' sample schools.json --draws 100000000 --out out -q"
    );
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path("")).output();
    let ran = Ran::of(output.unwrap()).ends_with(4);
    assert!(ran.stderr.starts_with("error: cannot write `out/chain-"), "{ran:?}");
    let run = read_run(&folder.path("out")).unwrap();
    let sizes: Vec<usize> =
        (0..4).map(|k| folder.read(&format!("out/chain-{k}.draws")).len()).collect();
    let largest = *sizes.iter().max().unwrap();
    assert!(largest == 51_200 || largest == 102_400, "{sizes:?}");
    assert!(ran.stderr.contains(&format!("after {largest} bytes: File too large")), "{ran:?}");
    assert_eq!(run.record.status, RunStatus::Failed);
    assert!(run.record.error.unwrap().contains("File too large"));
    for (chain, size) in run.posterior.chains.iter().zip(sizes) {
        assert_eq!(chain.infos.len(), (size - HEADER) / RECORD);
    }
    let ran = folder.exmc(&["summary", "out"]).ends_with(0);
    assert!(ran.stderr.contains("note: the run failed: cannot write"), "{ran:?}");
}

/// Starts a run that would take hours and waits until draws of all chains are on disk.
#[cfg(unix)]
fn long_run(folder: &Folder) -> Child {
    let args = [
        "sample",
        "schools.json",
        "--warmup",
        "100",
        "--draws",
        "1000000000",
        "--out",
        "out",
        "--threads",
        "4",
        "-q",
    ];
    let mut command = folder.command(&args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    let size =
        |k| fs::metadata(folder.path(&format!("out/chain-{k}.draws"))).map_or(0, |m| m.len());
    while (0..4).any(|k| size(k) <= HEADER as u64) {
        assert!(began.elapsed() < Duration::from_secs(60), "no draws after a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_run_with_five_and_all_draws_on_disk() {
    // Whoever starts these tests under `nohup` has it ignored, and so do their children.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let hup = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0) & 1;
    let signals = ["-INT", "-TERM", "-HUP"];
    for signal in &signals[..if hup == 1 { 2 } else { 3 }] {
        let folder = Folder::with_models();
        let child = long_run(&folder);
        send(signal, &child);
        let ran = Ran::of(child.wait_with_output().unwrap()).ends_with(5);
        assert!(ran.stdout.contains("draws are in `out`"), "{ran:?}");
        assert!(ran.stdout.contains("the run was not completed: interrupted"), "{ran:?}");
        let run = read_run(&folder.path("out")).unwrap();
        assert_eq!(run.record.status, RunStatus::Interrupted);
        assert_eq!(run.notes, Vec::<String>::new());
        // Finished chains know their step size and that they were stopped.
        assert!(run.posterior.chains.iter().all(|c| !c.infos.is_empty() && c.tuned.is_some()));
        // Every leapfrog step of the stored draws, and those of warmup.
        let stored: u64 =
            run.posterior.chains.iter().flat_map(|c| &c.infos).map(|i| u64::from(i.n_steps)).sum();
        assert!(run.posterior.leapfrogs() > stored);
        folder.exmc(&["summary", "out", "--json"]).ends_with(0);
    }
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_the_program_at_once_unless_it_follows_the_first() {
    let folder = Folder::with_models();
    // Nobody asks for an end while the program waits for data that nobody writes.
    let pipe = folder.path("data.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let args = ["sample", "schools.json", "--data", "data.json"];
    let mut child = folder.command(&args).stderr(Stdio::piped()).spawn().unwrap();
    // Opened when the program has opened it, too.
    let writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    send("-INT", &child);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "the first signal waits for the data");
    // `timeout` sends to its child and to the child's group.
    send("-TERM", &child);
    std::thread::sleep(Duration::from_millis(1000));
    assert!(child.try_wait().unwrap().is_none(), "both are one request");
    let began = Instant::now();
    send("-INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert!(began.elapsed() < Duration::from_secs(20));
    drop(writer);
}

/// One draw of 2^30 leapfrog steps, and one evaluation of 1e8 steps of a solver and more.
#[cfg(unix)]
#[test]
fn nobody_waits_for_the_end_of_a_draw_that_takes_long() {
    let folder = Folder::new();
    // Scales so far apart that the steps of the one are lost in the other.
    folder.write(
        "steps.json",
        r#"{"exmc": 1, "nodes": [{"rv": "a", "dist": "normal", "params": [0, 1e-9]},
            {"rv": "b", "dist": "normal", "params": [0, 1e9]}]}"#,
    );
    folder.write(
        "solver.stan",
        "functions {
            vector slope(real t, vector y, real b) {
                return [y[2], -1e12 * (1 + square(b)) * y[1]]';
            }
        }
        parameters { real a; real b; }
        model {
            a ~ normal(0, 1);
            b ~ normal(0, 1);
            target += 1e-3 * ode_bdf(slope, [1.0, 0.0]', 0, {1e6}, b)[1, 1];
        }",
    );
    folder.write("start.json", r#"{"a": 0, "b": 0}"#);
    let run = |model: &str, out: &str, limit: &[&str], signal: Option<&str>| {
        let args = ["sample", model, "--init", "start.json", "--warmup", "0", "--max-depth", "30"];
        let mut command = folder.command(&[&args, &["--out", out][..], limit].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut began = Instant::now();
        if let Some(signal) = signal {
            while !folder.path(&format!("{out}/run.json")).exists() {
                assert!(began.elapsed() < Duration::from_secs(60), "no run after a minute");
                std::thread::sleep(Duration::from_millis(10));
            }
            // One evaluation of the solver takes minutes.
            std::thread::sleep(Duration::from_millis(300));
            began = Instant::now();
            send(signal, &child);
        }
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert!(began.elapsed() < Duration::from_secs(60), "{ran:?}");
        let stored = read_run(&folder.path(out)).unwrap();
        assert!(stored.posterior.chains.iter().all(|chain| chain.infos.is_empty()));
        (ran, stored.record.status)
    };
    for (model, signal) in [("steps.json", "-INT"), ("solver.stan", "-TERM")] {
        let (ran, status) = run(model, &format!("{model}-{signal}"), &[], Some(signal));
        let ran = ran.ends_with(5);
        assert_eq!(status, RunStatus::Interrupted, "{ran:?}");
        let (ran, status) = run(model, &format!("{model}-late"), &["--max-seconds", "1"], None);
        assert_eq!(status, RunStatus::Stopped, "{ran:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_killed_process_leaves_draws_that_can_be_read() {
    let folder = Folder::with_models();
    let mut child = long_run(&folder);
    child.kill().unwrap();
    child.wait().unwrap();
    let run = read_run(&folder.path("out")).unwrap();
    assert_eq!(run.record.status, RunStatus::Running);
    assert!(run.posterior.chains.iter().all(|c| !c.infos.is_empty()));
    assert!(run.posterior.chains.iter().flat_map(|c| &c.values).all(|x| x.is_finite()));
    let summary = folder.exmc(&["summary", "out", "--json"]).ends_with(0).json();
    assert_eq!(summary["run"]["status"], "running");
    let text = folder.exmc(&["summary", "out"]).ends_with(0).stdout;
    assert!(text.contains("the run has not ended, or its process was killed\n"), "{text}");
    // Nothing may be written to it any more.
    folder.sample("schools.json", "out", &[]).ends_with(4);
}
