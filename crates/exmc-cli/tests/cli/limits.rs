//! What is too much (draws, memory, threads, loops) or not ours (files, folders): each ends early,
//! with an exit code and the reason.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use exmc_draws::read_run;
use serde_json::Value;

use crate::harness::{Folder, Ran};

#[track_caller]
fn tells(ran: &Ran, words: &[&str]) {
    for words in words {
        assert!(ran.stderr.contains(words), "{words} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("a bug of exmc"), "{}", ran.stderr);
}

#[test]
fn no_command_writes_over_a_file() {
    let folder = Folder::with_models();
    let args = ["optimize", "mean.json", "--data", "mean-data.json", "--out"];
    let before = folder.read("mean-data.json");
    for file in ["mean-data.json", "mean.json"] {
        let ran = folder.exmc(&[&args[..], &[file]].concat()).ends_with(4);
        tells(&ran, &[&format!("`{file}` exists already"), "never overwritten"]);
    }
    assert_eq!(folder.read("mean-data.json"), before);
    folder.exmc(&[&args[..], &["mode.csv"]].concat()).ends_with(0);
    let mode = folder.read("mode.csv");
    folder.exmc(&[&args[..], &["mode.csv"]].concat()).ends_with(4);
    assert_eq!(folder.read("mode.csv"), mode);
    #[cfg(unix)]
    {
        let ran = folder.exmc(&[&args[..], &["/dev/null"]].concat()).ends_with(0);
        assert!(ran.stderr.is_empty(), "{ran:?}");
    }

    // A folder that holds files by the names of a run's.
    let of_run = ["--data", "mean-data.json"];
    for name in ["data.json", "model.json"] {
        fs::create_dir_all(folder.path("mine")).unwrap();
        folder.write(&format!("mine/{name}"), "mine");
        let ran = folder.sample("mean.json", "mine", &of_run).ends_with(4);
        tells(&ran, &[&format!("`mine/{name}` exists already"), "another directory"]);
        assert_eq!(folder.names("mine"), [name]);
        assert_eq!(folder.read(&format!("mine/{name}")), b"mine");
        fs::remove_dir_all(folder.path("mine")).unwrap();
    }
    fs::create_dir(folder.path("mine")).unwrap();
    folder.write("mine/mode.csv", "mine");
    let args = ["laplace", "mean.json", "--data", "mean-data.json", "--out", "mine"];
    tells(&folder.exmc(&args).ends_with(4), &["`mine/mode.csv` exists already"]);
    assert_eq!(folder.names("mine"), ["mode.csv"]);
}

#[test]
fn a_record_that_does_not_fit_its_files_is_damaged() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "out", &[]).ends_with(0);
    let sound: Value = serde_json::from_slice(&folder.read("out/run.json")).unwrap();
    let damaged = |change: &dyn Fn(&mut Value), words: &[&str]| {
        let mut record = sound.clone();
        change(&mut record);
        folder.write("out/run.json", &record.to_string());
        for command in ["summary", "export"] {
            tells(&folder.exmc(&[command, "out"]).ends_with(4), words);
        }
    };
    let file = "`out/run.json` is damaged";
    damaged(&|r| r["settings"]["chains"] = 0.into(), &[file, "invalid setting `chains`"]);
    let words = [file, "1000000000 chains", "files of 4"];
    damaged(&|r| r["settings"]["chains"] = 1_000_000_000.into(), &words);
    damaged(&|r| r["settings"]["max_depth"] = 0.into(), &[file, "`max_depth`"]);
    damaged(&|r| r["settings"]["target_accept"] = 7.into(), &[file, "`target_accept`"]);
    damaged(&|r| r["chains"][1]["chain"] = 0.into(), &[file, "chain 0"]);
    damaged(&|r| r["chains"][1]["chain"] = 77.into(), &[file, "chain 77"]);

    // Fewer chains than files can be summarised, but not without a word.
    let mut record = sound.clone();
    record["settings"]["chains"] = 2.into();
    record["chains"].as_array_mut().unwrap().truncate(2);
    folder.write("out/run.json", &record.to_string());
    let ran = folder.exmc(&["summary", "out"]).ends_with(0);
    tells(&ran, &["note: `run.json` is of 2 chains; the files of 2 others were left out"]);
}

#[test]
fn more_than_memory_holds_is_refused_before_it_is_made() {
    let folder = Folder::with_models();
    let huge = "1000000000000000000";
    let of_mean = ["mean.json", "--data", "mean-data.json"];
    let ran = folder.exmc(&[&["laplace"], &of_mean[..], &["--draws", huge]].concat()).ends_with(2);
    tells(&ran, &["`--draws`", huge, "bytes of memory"]);
    let ran = folder.exmc(&[&["optimize"], &of_mean[..], &["--history-size", huge]].concat());
    tells(&ran.ends_with(2), &["`--history-size`", "expected 1 to 10000", huge]);
    assert!(!folder.path("exmc-run-1").exists());

    let model = r#"{"exmc": 1, "nodes": [
        {"rv": "x", "dist": "normal", "params": {"mu": 0, "sigma": 1}, "shape": [1000000000]}]}"#;
    folder.write("huge.json", model);
    for command in ["sample", "optimize"] {
        let ran = folder.exmc(&[command, "huge.json"]).ends_with(1);
        tells(&ran, &["`x`", "ends at 2^27"]);
    }
}

/// Limits of the shell stand for a machine with little.
#[cfg(target_os = "linux")]
fn limited(folder: &Folder, limit: &str, args: &str) -> Ran {
    let program = env!("CARGO_BIN_EXE_exmc");
    let script = format!("ulimit {limit} && exec '{program}' {args}");
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &script]).current_dir(folder.path("")).stdin(Stdio::null());
    Ran::of(command.output().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn too_little_memory_ends_with_four() {
    let folder = Folder::with_models();
    let text = "parameters { real x; } model { x ~ std_normal(); }
        generated quantities { vector[100000000] z; }";
    folder.write("wide.stan", text);
    let ran = limited(&folder, "-v 4000000", "sample wide.stan --out wide -q").ends_with(4);
    tells(&ran, &["no memory for the recorded values", "`z`", "100000001 numbers a draw"]);
    assert!(!folder.path("wide").exists(), "{ran:?}");
    // Where it was not foreseen, the exit code is the same.
    let model = r#"{"exmc": 1, "nodes": [
        {"rv": "x", "dist": "normal", "params": {"mu": 0, "sigma": 1}, "shape": [100000000]}]}"#;
    folder.write("large.json", model);
    let ran = limited(&folder, "-v 1000000", "optimize large.json").ends_with(4);
    assert!(ran.stderr.contains("memory"), "{ran:?}");
    // A reserve that cannot be had is no reason to end.
    limited(&folder, "-v 40000", "distributions").ends_with(0);
}

#[cfg(target_os = "linux")]
#[test]
fn fewer_threads_than_asked_for_do_the_work() {
    let folder = Folder::with_models();
    let args = "sample schools.json --chains 16 --warmup 50 --draws 20 --threads 16 -q --out";
    let stacks = "few";
    // Room for the program and some of the stacks.
    let ran = limited(&folder, "-v 60000", &format!("{args} {stacks}"));
    assert!(matches!(ran.code, Some(0 | 4)), "{ran:?}");
    assert!(!ran.stderr.contains("a bug of exmc"), "{ran:?}");
    folder.exmc(&format!("{args} many").split(' ').collect::<Vec<_>>()).ends_with(0);
    if ran.code == Some(0) {
        for chain in 0..16 {
            let bytes = |out: &str| folder.read(&format!("{out}/chain-{chain}.draws"));
            assert_eq!(bytes("few"), bytes("many"), "chain {chain}");
        }
    }
}

#[test]
fn a_negative_seed_is_told_what_seeds_are() {
    let folder = Folder::with_models();
    for command in ["sample", "optimize", "laplace"] {
        let ran = folder.exmc(&[command, "schools.json", "--seed", "-1"]).ends_with(2);
        tells(&ran, &["'-1'", "--seed", "a whole number from 0 to 18446744073709551615"]);
        assert!(!ran.stderr.contains("-- -1"), "{}", ran.stderr);
    }
}

#[cfg(unix)]
#[test]
fn loops_without_end_can_be_interrupted() {
    let folder = Folder::new();
    let quantities = "parameters { real x; } model { x ~ std_normal(); }
        generated quantities { real z = x; while (z < 1e9) z = x; }";
    folder.write("quantities.stan", quantities);
    folder.write("data.stan", "transformed data { int n = 0; while (n == 0) n = 0; }");
    for (program, args) in [
        ("quantities.stan", &["--chains", "2", "--threads", "1", "--out", "run"][..]),
        ("data.stan", &["--out", "never"]),
    ] {
        let args = [&["sample", program, "-q"], args].concat();
        let mut child = folder.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        assert!(child.try_wait().unwrap().is_none(), "{program} has an end");
        let status =
            std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(status.unwrap().success());
        let began = Instant::now();
        assert_eq!(child.wait().unwrap().code(), Some(5), "{program}");
        assert!(began.elapsed() < Duration::from_secs(15), "{program}");
    }
    let run = read_run(&folder.path("run")).unwrap();
    assert_eq!(run.record.status, exmc_draws::RunStatus::Interrupted);
    assert!(!folder.path("never").exists());
}

#[cfg(unix)]
#[test]
fn includes_do_not_follow_links_out_of_their_folders() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    for name in ["own", "lib", "elsewhere"] {
        fs::create_dir(folder.path(name)).unwrap();
    }
    let text = "#include <part.stan>\nmodel { x ~ std_normal(); }";
    folder.write("own/p.stan", text);
    folder.write("elsewhere/secret.stan", "parameters { real x; } // secret");
    symlink(folder.path("elsewhere/secret.stan"), folder.path("own/part.stan")).unwrap();
    let ran = folder.exmc(&["check", "own/p.stan"]).ends_with(1);
    tells(&ran, &["own/part.stan", "link that leads out", "p.stan:1:"]);
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    // A link within, and one into a folder that was named.
    folder.write("own/real.stan", "parameters { real x; }");
    fs::remove_file(folder.path("own/part.stan")).unwrap();
    symlink("real.stan", folder.path("own/part.stan")).unwrap();
    folder.exmc(&["check", "own/p.stan"]).ends_with(0);
    fs::remove_file(folder.path("own/part.stan")).unwrap();
    symlink(folder.path("lib/other.stan"), folder.path("own/part.stan")).unwrap();
    folder.write("lib/other.stan", "parameters { real x; }");
    folder.exmc(&["check", "own/p.stan", "--include-path", "lib"]).ends_with(0);
}

#[test]
fn arguments_that_are_something_else_are_told_what_they_are() {
    let folder = Folder::with_models();
    for out in ["a", "b"] {
        folder.sample("schools.json", out, &["--draws", "5"]).ends_with(0);
    }
    let ran = folder.exmc(&["summary", "a", "b"]).ends_with(2);
    tells(&ran, &["`a` is a directory among 2 arguments", "the directory of one run"]);
    fs::write(folder.path("wide.stan"), b"\xff\xfemodel { }").unwrap();
    let ran = folder.exmc(&["sample", "wide.stan"]).ends_with(1);
    tells(&ran, &["`wide.stan` is not UTF-8", "0xFF", "save it as UTF-8"]);
    assert!(!ran.stderr.contains("json"), "{}", ran.stderr);
    // A mark of the byte order is no part of a CSV file.
    folder.exmc(&["export", "a"]).ends_with(0);
    let text = folder.read("a/schools_1.csv");
    fs::write(folder.path("marked.csv"), [&b"\xef\xbb\xbf"[..], &text].concat()).unwrap();
    folder.exmc(&["summary", "marked.csv"]).ends_with(0);
}

/// The diagonal of a correlation matrix is 1 up to rounding, its corner exactly; `--check` has
/// nothing to say of that.
#[test]
fn a_check_is_silent_about_constants() {
    let folder = Folder::new();
    let text = "parameters { cholesky_factor_corr[2] L; } model { L ~ lkj_corr_cholesky(2); }
        generated quantities { matrix[2, 2] R = multiply_lower_tri_self_transpose(L); }";
    folder.write("lkj.stan", text);
    let args = ["sample", "lkj.stan", "--check", "--seed", "3", "--out", "run", "-q"];
    let ran = folder.exmc(&args).ends_with(0);
    assert!(!ran.stdout.contains("warning"), "{}", ran.stdout);
}

/// The density of a centred hierarchy grows for ever as its scale goes to zero, slowly.
#[test]
fn a_scale_on_its_way_to_zero_is_named() {
    let folder = Folder::new();
    let text = "transformed data { vector[8] y = [28, 8, -3, 7, -1, 1, 18, 12]'; }
        parameters { real mu; real<lower=0> tau; vector[8] theta; }
        model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); theta ~ normal(mu, tau); y ~ normal(theta, 12); }";
    folder.write("schools.stan", text);
    for iterations in ["2000", "20000"] {
        let args = ["optimize", "schools.stan", "--iterations", iterations];
        let ran = folder.exmc(&args).ends_with(3);
        tells(&ran, &["there is no mode: `tau` goes to the edge of its support"]);
    }
}
