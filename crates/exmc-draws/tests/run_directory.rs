//! A run directory written and read back, and who may write to it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use exmc_density::{DensityModel, EvaluationError, LogDensity};
use exmc_draws::{
    ChainDraws, ChainWriter, Coordinates, Method, ModelText, Posterior, RunDirectory, RunRecord,
    RunStatus, RunTexts, StoredOutcome, Variable, read_record, read_run,
};
use exmc_infer::{
    ChainOutcome, Info, Restart, RestartReason, RunPhase, SamplerConfig, Silent, sample,
};

#[derive(Clone, Copy)]
struct Normal;

impl LogDensity for Normal {
    fn dim(&self) -> usize {
        2
    }
    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        g[0] = -q[0];
        g[1] = -q[1];
        Ok(-0.5 * (q[0] * q[0] + q[1] * q[1]))
    }
}

impl DensityModel for Normal {
    type Instance = Self;
    fn dim(&self) -> usize {
        2
    }
    fn instance(&self) -> Self {
        *self
    }
}

fn fresh(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{name}-{}-{number}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

fn variables() -> Vec<Variable> {
    vec![
        Variable { name: "a".into(), shape: vec![], dims: vec![], offset: 0, first_index: 0 },
        Variable {
            name: "b".into(),
            shape: vec![1, 2],
            dims: vec!["u".into(), "v".into()],
            offset: 1,
            first_index: 1,
        },
    ]
}

fn record(config: &SamplerConfig) -> RunRecord {
    RunRecord {
        program: "test".into(),
        method: Method::Sample,
        model: "pair".into(),
        started: 1_700_000_000,
        status: RunStatus::Running,
        error: None,
        config: config.clone(),
        executor: "reference".into(),
        without: vec!["non-centre".into()],
        save_warmup: true,
        variables: variables(),
        coordinates: vec![Coordinates { name: "q".into(), length: 2, centred: None }],
        warnings: Vec::new(),
        seconds: 0.0,
        chains: Vec::new(),
        origin: None,
    }
}

/// Two chains with statistics from the sampler and values that only their bits tell apart.
fn posterior(config: &SamplerConfig) -> Posterior {
    let run = sample(&Normal, &[], config, &Silent).unwrap();
    let odd = |k: usize| f64::from_bits(0x7ff0_0000_0000_0000 + (k as u64) * 0x0001_2345_6789_abcd);
    let values = |n: usize, chain: usize| (0..3 * n).map(|k| odd(k + chain)).collect();
    let chains = run.chains.into_iter().enumerate();
    let chains = chains.map(|(k, c)| ChainDraws {
        chain: c.chain,
        values: values(c.infos.len(), k),
        warmup_values: values(c.warmup_infos.len(), k + 1),
        infos: c.infos,
        warmup_infos: c.warmup_infos,
        leapfrogs: c.leapfrogs,
        warmup_seconds: c.warmup_seconds,
        sampling_seconds: c.sampling_seconds,
        raised_target: [None, Some(0.95)][k],
        // What no chain of a normal density goes through.
        restarts: vec![Restart::new(
            100 + k as u64,
            RestartReason::ALL[k],
            [-7.0e101, 0.1 + k as f64],
            1234,
        )],
        tuned: c.tuned,
        outcome: c.outcome,
    });
    Posterior {
        variables: variables(),
        chains: chains.collect(),
        seconds: run.seconds,
        max_depth: config.max_depth,
        warnings: Vec::new(),
    }
}

fn write(writers: &mut [ChainWriter], posterior: &Posterior) {
    for (writer, chain) in writers.iter_mut().zip(&posterior.chains) {
        let phases = [
            (RunPhase::Warmup, &chain.warmup_infos, &chain.warmup_values),
            (RunPhase::Sampling, &chain.infos, &chain.values),
        ];
        for (phase, infos, values) in phases {
            for (index, (info, row)) in infos.iter().zip(values.chunks_exact(3)).enumerate() {
                writer.append(phase, index as u64, info, row).unwrap();
            }
        }
        writer.finish().unwrap();
    }
}

fn small() -> SamplerConfig {
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws) = (2, 120, 700);
    config.seed = u64::MAX;
    config.save_warmup = true;
    config
}

#[test]
fn a_run_comes_back_to_the_bit() {
    let config = small();
    let posterior = posterior(&config);
    let path = fresh("bits").join("run");
    let (mut directory, mut writers) = RunDirectory::create(
        &path,
        record(&config),
        &RunTexts { data: Some("{data}"), ..RunTexts::model(ModelText::Json("{model}")) },
    )
    .unwrap();
    assert_eq!(read_record(&path).unwrap().status, RunStatus::Running);
    write(&mut writers, &posterior);
    directory.finish(RunStatus::Completed, None, &posterior).unwrap();

    let read = read_run(&path).unwrap();
    assert_eq!((read.notes.len(), &read.notes), (3, &posterior.notes()));
    assert_eq!(read.record.status, RunStatus::Completed);
    assert_eq!((read.record.config.seed, read.record.config.chains), (u64::MAX, 2));
    assert_eq!(read.record.without, ["non-centre"]);
    assert_eq!(read.posterior.variables, posterior.variables);
    assert_eq!(read.posterior.seconds.to_bits(), posterior.seconds.to_bits());
    let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    for (a, b) in read.posterior.chains.iter().zip(&posterior.chains) {
        assert_eq!(bits(&a.values), bits(&b.values));
        assert_eq!(bits(&a.warmup_values), bits(&b.warmup_values));
        assert_eq!((&a.infos, &a.warmup_infos), (&b.infos, &b.warmup_infos));
        assert_eq!((a.leapfrogs, &a.tuned, &a.outcome), (b.leapfrogs, &b.tuned, &b.outcome));
        assert_eq!((&a.restarts, a.raised_target), (&b.restarts, b.raised_target));
        assert_eq!(a.sampling_seconds.to_bits(), b.sampling_seconds.to_bits());
    }
    assert_eq!(fs::read_to_string(path.join("model.json")).unwrap(), "{model}");
    assert_eq!(fs::read_to_string(path.join("data.json")).unwrap(), "{data}");
}

#[test]
fn how_chains_ended_is_stored() {
    let config = small();
    let mut posterior = posterior(&config);
    let path = fresh("outcomes").join("run");
    let (mut directory, mut writers) =
        RunDirectory::create(&path, record(&config), &RunTexts::model(ModelText::Json("")))
            .unwrap();
    let mut wrong = config;
    wrong.chains = 0;
    let error = sample(&Normal, &[], &wrong, &Silent).unwrap_err();
    posterior.chains[0].outcome = ChainOutcome::Failed(error);
    posterior.chains[1].outcome = ChainOutcome::Interrupted;
    for chain in &mut posterior.chains {
        chain.infos.truncate(10);
    }
    write(&mut writers, &posterior);
    directory.finish(RunStatus::Failed, Some("why".into()), &posterior).unwrap();
    let read = read_run(&path).unwrap();
    assert_eq!(
        (read.record.status, read.record.error.as_deref()),
        (RunStatus::Failed, Some("why"))
    );
    let StoredOutcome::Failed(reason) = &read.record.chains[0].outcome else {
        panic!("{:?}", read.record.chains[0])
    };
    assert!(reason.contains("`chains`"), "{reason}");
    assert_eq!(read.record.chains[1].outcome, StoredOutcome::Interrupted);
    let ChainOutcome::Failed(error) = &read.posterior.chains[0].outcome else {
        panic!("{:?}", read.posterior.chains[0].outcome)
    };
    assert_eq!(error.to_string(), *reason);
    assert_eq!(read.posterior.chains[1].outcome, ChainOutcome::Interrupted);
    assert_eq!(read.posterior.chains[0].infos.len(), 10);
}

#[test]
fn of_many_writers_to_one_directory_one_wins() {
    let path = fresh("race").join("run");
    let claims: Vec<bool> = std::thread::scope(|scope| {
        let create = || match RunDirectory::create(
            &path,
            record(&small()),
            &RunTexts::model(ModelText::Json("")),
        ) {
            Ok(_) => true,
            Err(error) => {
                assert!(error.is_occupied() || error.is_locked(), "{error}");
                false
            }
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(claims.iter().filter(|won| **won).count(), 1, "{claims:?}");
    assert!(read_run(&path).unwrap().posterior.chains.iter().all(|c| c.infos.is_empty()));
}

#[test]
fn fresh_directories_are_all_different() {
    let parent = fresh("fresh");
    let mut paths: Vec<PathBuf> = std::thread::scope(|scope| {
        let create = || {
            let made = RunDirectory::create_fresh(
                &parent,
                record(&small()),
                &RunTexts::model(ModelText::Json("")),
            );
            made.unwrap().0.path().to_owned()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    paths.sort();
    let expected: Vec<PathBuf> = (1..=8).map(|n| parent.join(format!("exmc-run-{n}"))).collect();
    assert_eq!(paths, expected);
}

#[test]
fn an_abandoned_run_removes_its_own_files_only() {
    let path = fresh("abandoned");
    fs::write(path.join("notes.txt"), "mine").unwrap();
    let (mut directory, _) = RunDirectory::create(
        &path,
        record(&small()),
        &RunTexts { data: Some(""), ..RunTexts::model(ModelText::Json("")) },
    )
    .unwrap();
    directory.abandon();
    let left: Vec<_> = fs::read_dir(&path).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);

    let (mut directory, _) = RunDirectory::create(
        &path.join("new"),
        record(&small()),
        &RunTexts::model(ModelText::Json("")),
    )
    .unwrap();
    directory.abandon();
    assert!(!path.join("new").exists());
}

/// Parts of long records are read where they stand, of short ones out of the whole record.
#[test]
fn columns_are_read_from_files_whatever_the_length_of_a_record() {
    for width in [4_usize, 3000] {
        let config = small();
        let mut wide = record(&config);
        let mut variable = wide.variables[0].clone();
        (variable.shape, variable.offset) = (vec![width], 0);
        wide.variables = vec![variable];
        let path = fresh(&format!("columns-{width}")).join("run");
        let texts = RunTexts::model(ModelText::Json(""));
        let (mut directory, mut writers) = RunDirectory::create(&path, wide, &texts).unwrap();
        let value = |chain: usize, draw: usize, column: usize| {
            (1000 * chain + 10 * draw) as f64 + column as f64 / 4096.0
        };
        let info = Info::still(0.0, 0.0);
        for (chain, writer) in writers.iter_mut().enumerate() {
            // A draw of warmup first, which is not to be taken for one after it.
            writer.append(RunPhase::Warmup, 0, &info, &vec![f64::NAN; width]).unwrap();
            for draw in 0..5 {
                let row: Vec<f64> = (0..width).map(|column| value(chain, draw, column)).collect();
                writer.append(RunPhase::Sampling, draw as u64, &info, &row).unwrap();
            }
            writer.finish().unwrap();
        }
        let mut none = posterior(&config);
        none.chains.clear();
        directory.finish(RunStatus::Interrupted, None, &none).unwrap();
        let run = exmc_draws::open_run_within(&path, 1).unwrap();
        let columns = width - 3..width - 1;
        let read = run.columns(&[1, 0], columns.clone(), 4).unwrap();
        for (values, chain) in read.iter().zip([1, 0]) {
            let expected: Vec<f64> = (0..4)
                .flat_map(|draw| columns.clone().map(move |column| value(chain, draw, column)))
                .collect();
            assert_eq!(*values, expected, "{width}");
        }
        let error = run.columns(&[0], columns, 6).unwrap_err();
        assert!(error.to_string().contains("draws that were there are gone"), "{error}");
    }
}
