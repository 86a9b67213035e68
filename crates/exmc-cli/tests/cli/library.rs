//! The command line and the library are one thing: the same draws, the same directories.

use exmc::Fit;

use crate::harness::Folder;

#[test]
fn the_library_makes_the_draws_of_the_command_line() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "run", &["--seed", "5"]).ends_with(0);
    let stored = Fit::load(folder.path("run")).unwrap();
    let text = String::from_utf8(folder.read("schools.json")).unwrap();
    let model = exmc::json::read_json(&text).unwrap();
    let fit = exmc::sample(&model, stored.settings()).unwrap();
    for (name, array) in fit.iter() {
        assert_eq!(array, &stored[name], "{name}");
    }

    // What the library stores, the command line reads.
    fit.save(folder.path("stored")).unwrap();
    let summaries = ["run", "stored"].map(|run| {
        let ran = folder.exmc(&["summary", run]).ends_with(0);
        ran.stdout.lines().take(11).map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(summaries[0], summaries[1]);
    let of_library: Vec<String> = fit.summary().to_string().lines().map(str::to_owned).collect();
    assert_eq!(of_library, summaries[0]);
    let args = ["sample", "schools.json", "--warm-start", "stored", "--out", "again"];
    folder.exmc(&args).ends_with(0);
}

/// New predictors, from the command line as from the library.
#[test]
fn predictions_are_those_of_the_library() {
    let folder = Folder::with_models();
    let model = r#"{"exmc": 1, "nodes": [
        {"data": "x", "dtype": "real", "shape": [2]},
        {"rv": "slope", "dist": "normal", "params": [0, 10]},
        {"det": "line", "value": ["mul", "slope", "x"]},
        {"rv": "y", "dist": "normal", "params": ["line", 1]},
        {"obs": "y_obs", "of": "y", "value": [2, 4]}]}"#;
    folder.write("line.json", model);
    folder.write("data.json", r#"{"x": [1, 2]}"#);
    folder.write("new.json", r#"{"x": [10, 20]}"#);
    folder.sample("line.json", "run", &["--data", "data.json"]).ends_with(0);
    let ran = folder.exmc(&["predict", "run", "--data", "new.json", "--out", "predicted"]);
    assert!(ran.ends_with(0).stdout.contains("predictions are in `predicted`"));
    let stored = exmc::runs::read_run(&folder.path("predicted")).unwrap().posterior;
    let data = exmc::json::read_data(r#"{"x": [10, 20]}"#).unwrap();
    let expected = Fit::load(folder.path("run")).unwrap().predict(&data).unwrap();
    for (name, array) in expected.iter() {
        for element in 0..2 {
            let found = stored.draws_of(name, element).unwrap().concat();
            assert_eq!(found, array.at(element).to_vec(), "{name}");
        }
    }
    let wrong = folder.exmc(&["predict", "run", "--data", "data.json", "--out", "predicted"]);
    assert!(wrong.ends_with(4).stderr.contains("predicted"));
    folder.write("short.json", r#"{"x": [10]}"#);
    let wrong = folder.exmc(&["predict", "run", "--data", "short.json"]).ends_with(1);
    assert!(wrong.stderr.contains("`x`"), "{wrong:?}");
}

/// New data of a Stan program: what it does not declare is told, as it would leave the run's own
/// data in place.
#[test]
fn new_data_that_a_program_does_not_declare_are_told() {
    let folder = Folder::with_models();
    let program = "data { int N; vector[N] x; } parameters { real a; } model { a ~ normal(0, 1); }
        generated quantities { vector[N] p = a + x; }";
    folder.write("line.stan", program);
    folder.write("data.json", r#"{"N": 2, "x": [1, 2], "unused": 1}"#);
    folder.write("new.json", r#"{"X": [10, 20]}"#);
    folder.sample("line.stan", "run", &["--data", "data.json"]).ends_with(0);
    let ran = folder.exmc(&["predict", "run", "--data", "new.json"]).ends_with(0);
    let note = "note: the program declares no data `X`, so it is ignored; it declares `N`, `x`";
    assert!(ran.stderr.contains(note), "{ran:?}");
    folder.write("new.json", r#"{"x": [10, 20]}"#);
    let ran = folder.exmc(&["predict", "run", "--data", "new.json"]).ends_with(0);
    assert_eq!(ran.stderr, "");
}

/// Each data file has the run that it would have alone; what fails does so alone, and what is done
/// is not done again.
#[test]
fn many_data_files_have_a_run_each() {
    let folder = Folder::with_models();
    let model = r#"{"exmc": 1, "nodes": [
        {"data": "y", "dtype": "real", "shape": [2]},
        {"rv": "mu", "dist": "normal", "params": [0, 10]},
        {"rv": "seen", "dist": "normal", "params": ["mu", 1], "shape": [2]},
        {"obs": "o", "of": "seen", "value": "y"}]}"#;
    folder.write("m.json", model);
    std::fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/a.json", r#"{"y": [1, 2]}"#);
    folder.write("data/b.json", r#"{"y": [1]}"#);
    folder.write("data/c.json", r#"{"y": [5, 6]}"#);
    let many = ["--data-many", "data/*.json", "--seed", "3"];
    let ran = folder.sample("m.json", "runs", &many).ends_with(1);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{ran:?}");
    for (line, (name, status)) in
        lines[1..].iter().zip([("a", "completed"), ("b", "failed"), ("c", "completed")])
    {
        assert!(line.starts_with(name) && line.ends_with(status), "{line}");
    }
    assert_eq!(folder.names("runs"), ["a", "c"]);
    let alone = ["--data", "data/c.json", "--seed", "3"];
    folder.sample("m.json", "alone", &alone).ends_with(0);
    let [one, other] = ["alone", "runs/c"].map(|run| Fit::load(folder.path(run)).unwrap());
    assert_eq!(one["mu"], other["mu"]);

    folder.write("data/b.json", r#"{"y": [1, 3]}"#);
    let before = std::fs::metadata(folder.path("runs/a/run.json")).unwrap().modified().unwrap();
    let ran = folder.sample("m.json", "runs", &many).ends_with(0);
    assert!(ran.stdout.lines().nth(1).unwrap().ends_with("completed before"), "{ran:?}");
    let after = std::fs::metadata(folder.path("runs/a/run.json")).unwrap().modified().unwrap();
    assert_eq!((before, folder.names("runs").len()), (after, 3));
    let none = folder.sample("m.json", "none", &["--data-many", "data/*.txt"]).ends_with(4);
    assert!(none.stderr.contains("no file matches"), "{none:?}");
}
