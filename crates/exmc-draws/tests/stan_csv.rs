//! CmdStan CSV files: the text of a small one, and what becomes of unusual runs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::path::Path;

use exmc_draws::{
    ChainDraws, Coordinates, Method, OptimizeArguments, Provenance, RunRecord, RunStatus, Variable,
    write_chain_csv, write_mode_csv,
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
            .map(|(name, length)| Coordinates { name: name.into(), length })
            .to_vec(),
        seconds: 0.25,
        chains: vec![],
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
        tuned: Some(WarmStart {
            step_size: 0.5,
            inverse_metric: InverseMetric::Diagonal(vec![0.25, 0.5, 0.75, 1.0, 4.0]),
            adapt_metric: false,
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
        seed: 17,
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
        (Method::Laplace, "# method = laplace\n"),
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
