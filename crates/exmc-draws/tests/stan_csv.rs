//! CmdStan CSV files: the text of a small one, and what becomes of unusual runs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::path::{Path, PathBuf};

use exmc_draws::{
    ChainDraws, Coordinates, Method, OptimizeArguments, Provenance, RunRecord, RunStatus, Variable,
    read_stan_csv, write_chain_csv, write_mode_csv,
};
use exmc_infer::{ChainOutcome, Info, InverseMetric, MetricKind, SamplerConfig, WarmStart};

fn variables() -> Vec<Variable> {
    let variable = |name: &str, shape: &[usize], offset| Variable {
        name: name.into(),
        shape: shape.to_vec(),
        dims: vec![],
        offset,
        first_index: 1,
    };
    vec![variable("mu", &[], 0), variable("x", &[2, 2], 1)]
}

fn record() -> RunRecord {
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws, config.seed) = (1, 1, 2, 17);
    let coordinates = [("x", 4), ("mu", 1)];
    RunRecord {
        program: "exmc 0.1.0".into(),
        method: Method::Sample,
        model: "pair".into(),
        started: 1_700_000_000,
        status: RunStatus::Completed,
        error: None,
        config,
        executor: "native".into(),
        without: vec![],
        save_warmup: true,
        variables: variables(),
        coordinates: coordinates
            .map(|(name, length)| Coordinates { name: name.into(), length, centred: None })
            .to_vec(),
        warnings: Vec::new(),
        seconds: 0.25,
        chains: vec![],
        origin: None,
    }
}

fn info(logp: f64, tree_depth: u32, n_steps: u32) -> Info {
    let mut info = Info::still(logp, 0.5);
    (info.tree_depth, info.n_steps) = (tree_depth, n_steps);
    (info.accept_stat, info.energy) = (0.875, 1.25 - logp);
    info
}

/// One warmup draw and two draws; the second one diverged, in a doubling that was discarded.
fn chain() -> ChainDraws {
    let mut diverged = info(-2.0, 3, 5);
    (diverged.divergent, diverged.last_discarded) = (true, true);
    ChainDraws {
        chain: 0,
        values: vec![
            1.5,
            11.0,
            12.0,
            21.0,
            22.0,
            0.1,
            f64::NAN,
            f64::INFINITY,
            -f64::INFINITY,
            1e-9,
        ],
        infos: vec![info(-1.0, 2, 3), diverged],
        warmup_values: vec![0.0, 1.0, 2.0, 3.0, 4.0],
        warmup_infos: vec![info(-7.5, 1, 1)],
        leapfrogs: 9,
        warmup_seconds: 0.0005,
        sampling_seconds: 0.125,
        raised_target: None,
        restarts: Vec::new(),
        tuned: Some(WarmStart {
            step_size: 0.5,
            inverse_metric: InverseMetric::Diagonal(vec![0.25, 0.5, 0.75, 1.0, 4.0]),
            adapt_metric: false,
            positions: Vec::new(),
        }),
        outcome: ChainOutcome::Completed,
    }
}

fn provenance() -> Provenance<'static> {
    Provenance {
        program: "exmc 0.1.0",
        model: "pair",
        started: 1_700_000_000,
        id: 1,
        data: Some("data.json"),
        mode: Some("mode.csv"),
        seed: 17,
        recovered: false,
    }
}

fn text(record: &RunRecord, chain: &ChainDraws) -> String {
    let mut out = Vec::new();
    write_chain_csv(&provenance(), record, chain, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Asserts that a text is the expected one; `EXMC_BLESS=1` writes it anew.
#[track_caller]
fn expect_text(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
    if std::env::var_os("EXMC_BLESS").is_some() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} differs; EXMC_BLESS=1 accepts the new text");
}

#[test]
fn a_chain_of_nuts_is_the_expected_file() {
    expect_text("pair_1.csv", &text(&record(), &chain()));
}

#[test]
fn a_dense_metric_has_a_line_a_row_in_the_order_of_the_variables() {
    let (mut record, mut chain) = (record(), chain());
    record.config.metric = MetricKind::Dense;
    let covariance = (0..25).map(f64::from).collect();
    chain.tuned.as_mut().unwrap().inverse_metric = InverseMetric::Dense { dim: 5, covariance };
    let text = text(&record, &chain);
    assert!(text.contains("#         metric = dense_e\n"), "{text}");
    // `mu` is the last coordinate of the run and the first variable.
    let rows = "# Elements of inverse mass matrix:\n# 24, 20, 21, 22, 23\n# 4, 0, 1, 2, 3\n";
    assert!(text.contains(rows), "{text}");
}

#[test]
fn a_chain_that_never_adapted_claims_no_metric() {
    let (mut record, mut chain) = (record(), chain());
    record.config.draws = 1000;
    chain.tuned = None;
    let text = text(&record, &chain);
    assert!(!text.contains("Adaptation terminated"), "{text}");
    // As many draws as there are, not as were asked for.
    assert!(text.contains("#     num_samples = 2\n"), "{text}");
}

#[test]
fn draws_of_other_methods_have_no_columns_of_the_sampler() {
    for (method, line) in [
        (Method::Laplace, "# method = laplace\n#   laplace\n#     mode = mode.csv\n"),
        (Method::Generate, "# method = generate_quantities\n"),
    ] {
        let mut record = record();
        record.method = method;
        let text = text(&record, &chain());
        assert!(text.contains(line), "{text}");
        assert!(text.contains("\nmu,x.1.1,x.2.1,x.1.2,x.2.2\n"), "{text}");
        assert!(!text.contains("Adaptation") && !text.contains("Elapsed"), "{text}");
    }
}

#[test]
fn a_mode_is_one_line() {
    let arguments = OptimizeArguments {
        init_alpha: 0.001,
        tol_obj: 1e-12,
        tol_rel_obj: 1e4,
        tol_grad: 1e-8,
        tol_rel_grad: 1e7,
        tol_param: 1e-8,
        history_size: 5,
        jacobian: true,
        iter: 2000,
    };
    let mut out = Vec::new();
    let values = [1.0, 2.0, 3.0, 4.0, 5.0];
    write_mode_csv(&provenance(), &arguments, &variables(), (-3.5, &values), &mut out).unwrap();
    expect_text("pair_mode.csv", &String::from_utf8(out).unwrap());
}

/// A file in the tests' folder, removed afterwards.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("{}-{name}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn what_was_written_is_read_back_to_the_bit() {
    let (record, chain) = (record(), chain());
    let file = Written::new("back.csv", &text(&record, &chain));
    let read = read_stan_csv(&[&file.0, &file.0]).unwrap();
    assert_eq!((read.method.as_str(), read.model.as_deref()), ("sample", Some("pair")));
    assert_eq!((read.seed, read.has_statistics), (Some(17), true));
    assert_eq!(read.notes, Vec::<String>::new());
    let names: Vec<_> = read.posterior.variables.iter().map(|v| (&*v.name, &*v.shape)).collect();
    assert_eq!(names, [("lp__", &[][..]), ("mu", &[]), ("x", &[2, 2])]);
    assert_eq!(read.posterior.chains.len(), 2);
    let found = &read.posterior.chains[1];
    let rows = |values: &[f64], width: usize, skip: usize| {
        let rows = values.chunks(width).map(|row| row[skip..].to_vec());
        rows.flatten().map(f64::to_bits).collect::<Vec<_>>()
    };
    assert_eq!(rows(&found.values, 6, 1), rows(&chain.values, 5, 0));
    assert_eq!(rows(&found.warmup_values, 6, 1), rows(&chain.warmup_values, 5, 0));
    for (a, b) in found.infos.iter().zip(&chain.infos) {
        assert_eq!((a.logp, a.energy, a.accept_stat), (b.logp, b.energy, b.accept_stat));
        assert_eq!((a.n_steps, a.divergent, a.step_size), (b.n_steps, b.divergent, b.step_size));
    }
    // The discarded doubling does not count, in either file.
    assert_eq!((found.infos[0].tree_depth, found.infos[1].tree_depth), (2, 2));
    let tuned = found.tuned.as_ref().unwrap();
    assert_eq!(tuned.step_size, 0.5);
    assert_eq!(tuned.inverse_metric.diagonal(), [4.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!((found.warmup_seconds, found.sampling_seconds), (0.0005, 0.125));
}

/// What CmdStan 2.3x prints, with its spellings: dense metric, saved warmup, thinning, integers,
/// odd numbers.
const CMDSTAN: &str = "# stan_version_major = 2
# stan_version_minor = 33
# model = walk_model
# method = sample (Default)
#   sample
#     num_samples = 4
#     num_warmup = 2
#     save_warmup = 1
#     thin = 2
#     algorithm = hmc (Default)
#       hmc
#         engine = nuts (Default)
#           nuts
#             max_depth = 8
#         metric = dense_e
# id = 3
# random
#   seed = 4159267163 (Default)
lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,beta.1,beta.2,Sigma.1.1,Sigma.2.1,Sigma.1.2,Sigma.2.2,n
-12.5,1,1.5,1,1,0,13.1,0.25,-0.5,1,2,3,4,7
# Adaptation terminated
# Step size = 0.803
# Elements of inverse mass matrix:
# 1.25, 0.5
# 0.5, 2.75
-7.1e+00,0.9,0.803,2,3,0,8.5,nan,inf,1,-2,-inf,4,8
-7.25,0.0,0.803,3,7,1,1e4,1e-3,2,5,6,7,8,-9
# 
#  Elapsed Time: 0.02 seconds (Warm-up)
#                0.05 seconds (Sampling)
#                0.07 seconds (Total)
# 
";

#[test]
fn files_of_cmdstan_are_read() {
    let file = Written::new("walk.csv", CMDSTAN);
    let read = read_stan_csv(&[&file.0]).unwrap();
    assert_eq!(read.model.as_deref(), Some("walk"));
    assert_eq!((read.seed, read.posterior.max_depth), (Some(4_159_267_163), 8));
    let chain = &read.posterior.chains[0];
    assert_eq!((chain.warmup_infos.len(), chain.infos.len()), (1, 2));
    let columns = read.posterior.column_names();
    let expected =
        ["lp__", "beta[1]", "beta[2]", "Sigma[1,1]", "Sigma[1,2]", "Sigma[2,1]", "Sigma[2,2]", "n"];
    assert_eq!(columns, expected);
    assert_eq!(chain.values[8..], [-7.25, 0.001, 2.0, 5.0, 7.0, 6.0, 8.0, -9.0]);
    assert!(chain.values[1].is_nan());
    assert_eq!(chain.values[2..8], [f64::INFINITY, 1.0, f64::NEG_INFINITY, -2.0, 4.0, 8.0]);
    assert_eq!(chain.infos[1].tree_depth, 3);
    assert!(chain.infos[1].divergent && !chain.infos[0].divergent);
    let tuned = chain.tuned.as_ref().unwrap();
    let covariance = vec![1.25, 0.5, 0.5, 2.75];
    assert_eq!(tuned.inverse_metric, InverseMetric::Dense { dim: 2, covariance });
    assert_eq!(read.posterior.seconds, 0.07);

    // A file without comments, as other tools write.
    let rows: Vec<_> = CMDSTAN.lines().filter(|line| !line.starts_with('#')).collect();
    let bare = Written::new("bare.csv", &rows.join("\n"));
    let read = read_stan_csv(&[&bare.0]).unwrap();
    assert_eq!(read.posterior.chains[0].infos.len(), 3);
    assert_eq!((read.model, read.posterior.chains[0].tuned.is_none()), (None, true));
}

#[test]
fn draws_of_other_methods_have_no_statistics() {
    let text = "# method = laplace\nlog_p__,log_q__,mu\n-1.5,-0.5,2\n-2.5,-1.5,3\n";
    let file = Written::new("laplace.csv", text);
    let read = read_stan_csv(&[&file.0]).unwrap();
    assert_eq!((read.method.as_str(), read.has_statistics), ("laplace", false));
    let chain = &read.posterior.chains[0];
    assert_eq!(chain.values, [-1.5, -0.5, 2.0, -2.5, -1.5, 3.0]);
    assert!(chain.infos[0].energy.is_nan() && chain.infos[0].logp == -1.5);
}

#[test]
fn a_line_that_was_cut_off_is_left_out_and_said() {
    let (cut_text, _) = CMDSTAN.split_once(",6,7,8,-9").unwrap();
    let file = Written::new("cut.csv", cut_text);
    let read = read_stan_csv(&[&file.0]).unwrap();
    assert_eq!(read.posterior.chains[0].infos.len(), 1);
    assert_eq!(read.notes.len(), 1);
    assert!(read.notes[0].contains("ends in the middle of a draw"), "{:?}", read.notes);
}

#[test]
fn mistakes_are_located() {
    let message = |name: &str, text: &str| {
        let file = Written::new(name, text);
        let error = read_stan_csv(&[&file.0]).unwrap_err().to_string();
        let (path, what) = error.split_once("` is damaged: ").unwrap();
        assert!(path.ends_with(name), "{error}");
        what.to_owned()
    };
    let cases = [
        ("", "it has no header of column names"),
        ("# model = m\n\n", "it has no header of column names"),
        ("lp__,mu\n1,2\n3\n4,5\n", "line 3: expected 2 values, found 1"),
        ("lp__,mu\n1,2,3", "line 2: expected 2 values, found 3"),
        ("# a\nlp__,mu\n1,two\n", "line 3: the value of `mu` is no number: `two`"),
        ("lp__,mu\n1,\n", "line 2: the value of `mu` is no number: ``"),
        ("mu,nu,mu\n", "line 1: there are two columns `mu`"),
        ("mu,,nu\n", "line 1: column 2 has no name"),
        ("1,2\n3,4\n", "line 1: expected names of columns, found numbers"),
    ];
    for (k, (text, expected)) in cases.into_iter().enumerate() {
        assert_eq!(message(&format!("bad-{k}.csv"), text), expected, "{text:?}");
    }
    let latin = Written::new("latin.csv", "");
    std::fs::write(&latin.0, b"mu\n\xe9\n").unwrap();
    assert!(read_stan_csv(&[&latin.0]).unwrap_err().to_string().contains("not UTF-8"));

    let (a, b) = (Written::new("a.csv", "lp__,mu\n1,2\n"), Written::new("b.csv", "lp__\n1\n"));
    let error = read_stan_csv(&[&a.0, &b.0]).unwrap_err().to_string();
    assert!(error.contains("column 2 is missing, but `mu` in `"), "{error}");
    let missing = Path::new("no-such.csv");
    assert!(read_stan_csv(&[missing]).unwrap_err().is_io());
    assert!(read_stan_csv::<&Path>(&[]).is_err());
}

/// Transitions that ended where the log density could not be evaluated have a column of their own,
/// and come back.
#[test]
fn recovered_failures_go_through_a_file() {
    let (record, mut chain) = (record(), chain());
    chain.infos[1].recovered = true;
    let mut provenance = provenance();
    provenance.recovered = true;
    let mut out = Vec::new();
    write_chain_csv(&provenance, &record, &chain, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("divergent__,energy__,recovered__,mu,"), "{text}");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recovered_1.csv");
    std::fs::write(&path, text).unwrap();
    let read = read_stan_csv(&[path]).unwrap();
    let infos = &read.posterior.chains[0].infos;
    assert_eq!(infos.iter().map(|i| i.recovered).collect::<Vec<_>>(), [false, true]);
    assert!(read.posterior.variable("recovered__").is_none());
}
