//! `export`: files of other programs of a run.

use exmc_draws::read_run;

use crate::harness::Folder;

#[test]
fn a_run_becomes_one_csv_file_a_chain() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "run", &["--chains", "2", "--seed", "5"]).ends_with(0);
    let ran = folder.exmc(&["export", "run", "--out", "csv"]).ends_with(0);
    assert_eq!(ran.stdout, "csv/schools_1.csv\ncsv/schools_2.csv\n");
    assert_eq!(folder.names("csv"), ["schools_1.csv", "schools_2.csv"]);

    let stored = read_run(&folder.path("run")).unwrap().posterior;
    let text = String::from_utf8(folder.read("csv/schools_2.csv")).unwrap();
    for line in ["# model = schools_model", "# id = 2", "#   seed = 5", "#     num_samples = 200"] {
        assert!(text.lines().any(|l| l == line), "{line}");
    }
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header = lines.next().unwrap();
    assert!(header.starts_with("lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,tau,theta.1,"));
    let rows: Vec<Vec<f64>> =
        lines.map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    assert_eq!(rows.len(), 200);
    let chain = &stored.chains[1];
    for (k, row) in rows.iter().enumerate() {
        let info = &chain.infos[k];
        assert_eq!((row[0], row[1], row[6]), (info.logp, info.accept_stat, info.energy));
        // A trajectory of whole doublings has one leapfrog step less than a power of two.
        let (depth, steps) = (row[3] as u32, row[4] as u64);
        assert!((1 << depth) - 1 <= steps && steps < 1 << (depth + 1), "{depth}, {steps}");
        assert_eq!(row[7..], chain.values[k * 10..(k + 1) * 10]);
    }

    let again = folder.exmc(&["export", "run", "--out", "csv"]).ends_with(4);
    assert!(again.stderr.contains("cannot write `csv/schools_1.csv`"), "{again:?}");
    assert_eq!(folder.read("csv/schools_2.csv"), text.as_bytes());
}

#[test]
fn sample_writes_the_same_files_when_it_is_asked_to() {
    let folder = Folder::with_models();
    let args = ["--chains", "1", "--format", "stan-csv", "--save-warmup", "--metric", "dense"];
    folder.sample("schools.json", "run", &args).ends_with(0);
    assert_eq!(
        folder.names("run"),
        ["chain-0.checkpoint", "chain-0.draws", "model.json", "run.json", "schools_1.csv"]
    );
    folder.exmc(&["export", "run", "--out", "csv"]).ends_with(0);
    let text = folder.read("run/schools_1.csv");
    assert_eq!(text, folder.read("csv/schools_1.csv"));
    let text = String::from_utf8(text).unwrap();
    let (warmup, rest) = text.split_once("# Adaptation terminated\n").unwrap();
    let count = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!((count(warmup), count(rest)), (201, 200), "the header is a line too");
}

#[test]
fn a_run_becomes_files_of_other_forms_once() {
    let folder = Folder::with_models();
    folder.sample("schools.json", "run", &["--chains", "2", "--seed", "5"]).ends_with(0);
    let stored = read_run(&folder.path("run")).unwrap().posterior;
    for (format, name) in
        [("netcdf", "a.nc"), ("zarr", "a.zarr"), ("parquet", "a.parquet"), ("json", "a.json")]
    {
        let args = ["export", "run", "--format", format, "--out", name];
        let ran = folder.exmc(&args).ends_with(0);
        assert_eq!(ran.stdout, format!("{name}\n"));
        let again = folder.exmc(&args).ends_with(4);
        assert!(again.stderr.contains(&format!("`{name}` exists already")), "{again:?}");
    }
    let read = exmc_files::read_netcdf(&folder.path("a.nc")).unwrap().posterior;
    for name in ["mu", "tau"] {
        assert_eq!(read.draws_of(name, 0), stored.draws_of(name, 0));
    }
    assert_eq!(read.draws_of("theta", 7), stored.draws_of("theta", 7));
    let json: serde_json::Value = serde_json::from_slice(&folder.read("a.json")).unwrap();
    assert_eq!(json["posterior"]["theta"][1][9][2], stored.draws_of("theta", 2).unwrap()[1][9]);

    // The summary of the file is that of the run.
    let [of_run, of_file] =
        ["run", "a.nc"].map(|path| folder.exmc(&["summary", path]).ends_with(0));
    let line = |text: &str| text.lines().find(|l| l.starts_with("tau")).unwrap().to_owned();
    assert_eq!(line(&of_run.stdout), line(&of_file.stdout));

    let args = ["export", "run", "--format", "json", "--log-likelihood", "ll", "--out", "b.json"];
    let ran = folder.exmc(&args).ends_with(2);
    assert!(ran.stderr.contains("the run records no `ll`"), "{ran:?}");
    folder.exmc(&["export", "run", "--format", "parquet"]).ends_with(0);
    assert!(folder.names("run").contains(&"schools.parquet".to_owned()));
}

#[test]
fn log_likelihoods_that_were_not_recorded_are_computed() {
    let folder = Folder::with_models();
    let program = "data { int N; vector[N] x; vector[N] y; } parameters { real b; }
        model { b ~ normal(0, 1); y ~ normal(b * x, 1); }";
    folder.write("line.stan", program);
    folder.write("line.json", r#"{"N": 3, "x": [1, 2, 3], "y": [1.5, 1, 4]}"#);
    let settings = ["--data", "line.json", "--chains", "2", "--draws", "20"];
    folder.sample("line.stan", "line", &settings).ends_with(0);
    let exported = |run: &str, out: &str| -> serde_json::Value {
        folder.exmc(&["export", run, "--format", "json", "--out", out]).ends_with(0);
        serde_json::from_slice(&folder.read(out)).unwrap()
    };
    let json = exported("line", "line.draws.json");
    assert_eq!(json["observed_data"]["y"], serde_json::json!([1.5, 1.0, 4.0]));
    assert!(json["constant_data"]["x"].is_array() && json["constant_data"]["y"].is_null());
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    for (chain, draw, k, x, y) in [(0, 0, 0, 1.0, 1.5), (1, 19, 2, 3.0, 4.0)] {
        let b = number(&json["posterior"]["b"][chain][draw]);
        let gap: f64 = y - b * x;
        let expected = -0.5 * gap * gap - 0.5 * (2.0 * std::f64::consts::PI).ln();
        let found = number(&json["log_likelihood"]["y"][chain][draw][k]);
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
    // Of a JSON model, through the model.
    folder.sample("schools.json", "schools", &["--chains", "1", "--draws", "20"]).ends_with(0);
    let json = exported("schools", "schools.draws.json");
    assert_eq!(json["log_likelihood"]["y"][0][19].as_array().unwrap().len(), 8);
    // A mixture has no term for an observation in its statements.
    folder.write("mixture.stan", &program.replace(
        "y ~ normal(b * x, 1);",
        "for (n in 1:N) target += log_sum_exp(normal_lpdf(y[n] | b, 1), normal_lpdf(y[n] | 0, 1));",
    ));
    folder.sample("mixture.stan", "mixture", &settings).ends_with(0);
    let args = ["export", "mixture", "--format", "json", "--out", "mixture.draws.json"];
    let ran = folder.exmc(&args).ends_with(0);
    assert!(ran.stderr.contains("note: there is no group `log_likelihood`"), "{}", ran.stderr);
}
