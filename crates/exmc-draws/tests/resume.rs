//! Runs that are cut off anywhere and go on: the bits are those of a run that was not.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use exmc_density::{DensityModel, EvaluationError, LogDensity};
use exmc_draws::{
    ChainDraws, ChainWriter, Coordinates, Disk, Method, ModelText, Origin, Posterior, Reopened,
    RunDirectory, RunError, RunRecord, RunStatus, RunTexts, Variable, merge_runs, read_run, sha256,
};
use exmc_infer::{
    ChainOutcome, Checkpoint, Draw, MetricKind, Observer, RunPhase, SamplerConfig, Start,
    sample_chains,
};

/// A narrow ridge in three dimensions, so that every metric has something to learn.
#[derive(Clone, Copy)]
struct Ridge;

impl LogDensity for Ridge {
    fn dim(&self) -> usize {
        3
    }
    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        let [a, b, c] = [q[0], q[1] - q[0], (q[2] - q[1]) * 10.0];
        g.copy_from_slice(&[b - a, 10.0 * c - b, -10.0 * c]);
        Ok(-0.5 * (a * a + b * b + c * c))
    }
}

impl DensityModel for Ridge {
    type Instance = Self;
    fn dim(&self) -> usize {
        3
    }
    fn instance(&self) -> Self {
        *self
    }
}

fn config(kind: MetricKind) -> SamplerConfig {
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws) = (2, 300, 40);
    (config.metric, config.seed, config.threads) = (kind, 5, 1);
    config.keep_draws = false;
    config
}

fn record(config: &SamplerConfig, save_warmup: bool) -> RunRecord {
    let mut origin = Origin::here("portable");
    origin.model_sha256 = sha256("{}");
    let variable = |name: &str, offset| Variable {
        name: name.into(),
        shape: vec![],
        dims: vec![],
        offset,
        first_index: 0,
    };
    RunRecord {
        program: "test".into(),
        method: Method::Sample,
        model: "ridge".into(),
        started: 1,
        status: RunStatus::Running,
        error: None,
        config: config.clone(),
        executor: "native".into(),
        without: vec![],
        save_warmup,
        variables: vec![variable("a", 0), variable("b", 1), variable("c", 2)],
        coordinates: vec![Coordinates { name: "q".into(), length: 3, centred: None }],
        warnings: vec![],
        seconds: 0.0,
        chains: vec![],
        origin: Some(origin),
    }
}

fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("resume-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

const TEXTS: RunTexts<'static> =
    RunTexts { model: ModelText::Json("{}"), data: Some("{\"n\": 1}"), init: None };

/// Writes draws, takes checkpoints after some of them, and stops chains.
struct Writing<'a> {
    writers: Mutex<Vec<ChainWriter>>,
    config: &'a SamplerConfig,
    save_warmup: bool,
    /// Iterations after which there is a checkpoint; the last draw has one in any case.
    checkpoints: &'a [u64],
    /// The iteration after which chains end.
    stop_at: u64,
    error: Mutex<Option<RunError>>,
}

impl Observer for Writing<'_> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let mut writers = self.writers.lock().unwrap();
        let writer = &mut writers[draw.chain as usize];
        let sampling = draw.phase == RunPhase::Sampling;
        let iteration = draw.index + 1 + if sampling { self.config.warmup } else { 0 };
        let last = sampling && draw.index + 1 == self.config.draws;
        let mut write = || {
            if sampling || self.save_warmup {
                writer.append(draw.phase, draw.index, draw.info, draw.position)?;
            }
            if last || self.checkpoints.contains(&iteration) {
                writer.checkpoint(self.config.warmup, || draw.checkpoint())?;
            }
            Ok(())
        };
        if let Err(error) = write() {
            self.error.lock().unwrap().get_or_insert(error);
            return ControlFlow::Break(());
        }
        if iteration >= self.stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs all chains in a directory that was made or opened again. As a process that is killed, it
/// says nothing in the end unless `ends`.
fn run(
    (mut directory, writers): (RunDirectory, Vec<ChainWriter>),
    starts: &[Start],
    checkpoints: &[u64],
    (stop_at, ends): (u64, bool),
) -> Result<(), RunError> {
    let RunRecord { config, save_warmup, .. } = directory.record().clone();
    let (writers, error) = (Mutex::new(writers), Mutex::new(None));
    let writing = Writing { writers, config: &config, save_warmup, checkpoints, stop_at, error };
    let all: Vec<u32> = (0..config.chains).collect();
    let made = sample_chains(&Ridge, &all, starts, &config, &writing).unwrap();
    let mut failed = writing.error.into_inner().unwrap();
    for writer in writing.writers.lock().unwrap().iter_mut() {
        failed = failed.or(writer.finish().err());
    }
    let chains = made.chains.into_iter().map(|c| ChainDraws {
        chain: c.chain,
        values: vec![],
        infos: vec![],
        warmup_values: vec![],
        warmup_infos: vec![],
        leapfrogs: c.leapfrogs,
        raised_target: c.raised_target,
        restarts: c.restarts,
        warmup_seconds: 0.0,
        sampling_seconds: 0.0,
        tuned: c.tuned,
        outcome: c.outcome,
    });
    let posterior = Posterior {
        variables: vec![],
        chains: chains.collect(),
        seconds: 0.0,
        max_depth: 10,
        warnings: vec![],
    };
    if let Some(error) = failed {
        return Err(error);
    }
    if ends {
        return directory.finish(RunStatus::Completed, None, &posterior);
    }
    Ok(())
}

fn begin(
    disk: &Disk,
    path: &Path,
    record: &RunRecord,
    checkpoints: &[u64],
    end: (u64, bool),
) -> Result<(), RunError> {
    let created = RunDirectory::create_on(disk, path, record.clone(), &TEXTS)?;
    run(created, &[], checkpoints, end)
}

fn starts(reopened: &mut [Reopened]) -> Vec<Start> {
    let start = |checkpoint: Option<Checkpoint>| match checkpoint {
        Some(checkpoint) => Start::Resume(Box::new(checkpoint)),
        None => Start::Random,
    };
    reopened.iter_mut().map(|one| start(one.checkpoint.take())).collect()
}

/// Goes on to the end. Gives how many chains had a checkpoint.
fn go_on(disk: &Disk, path: &Path, draws: Option<u64>) -> Result<usize, RunError> {
    let mut directory = RunDirectory::reopen_on(disk, path)?;
    let mut record = directory.record().clone();
    record.config.keep_draws = false;
    record.config.draws = draws.unwrap_or(record.config.draws);
    let mut reopened = directory.go_on(record)?;
    let starts = starts(&mut reopened);
    let on = starts.iter().filter(|start| matches!(start, Start::Resume(_))).count();
    let writers = reopened.into_iter().map(|one| one.writer).collect();
    run((directory, writers), &starts, &[], (u64::MAX, true))?;
    Ok(on)
}

fn files(path: &Path) -> Vec<Vec<u8>> {
    (0..2).map(|k| fs::read(path.join(format!("chain-{k}.draws"))).unwrap()).collect()
}

/// The end of each chain, which has the metric and the step size to the bit.
fn ends(path: &Path) -> Vec<String> {
    let run = read_run(path).unwrap();
    assert!(run.notes.iter().all(|note| !note.contains("left out")), "{:?}", run.notes);
    let told =
        |c: &ChainDraws| format!("{:?} {} {:?} {:?}", c.tuned, c.leapfrogs, c.outcome, c.restarts);
    run.posterior.chains.iter().map(told).collect()
}

/// Whatever a run's files hold, they are the first draws of the whole run.
fn is_beginning_of(path: &Path, full_path: &Path) {
    if !path.join("run.json").exists() {
        return;
    }
    let (part, full_run) = (read_run(path).unwrap(), read_run(full_path).unwrap());
    for (part, full_chain) in part.posterior.chains.iter().zip(&full_run.posterior.chains) {
        assert_eq!(part.infos, full_chain.infos[..part.infos.len()]);
        assert_eq!(part.values, full_chain.values[..part.values.len()]);
        assert_eq!(part.warmup_infos, full_chain.warmup_infos[..part.warmup_infos.len()]);
    }
}

#[test]
fn a_run_that_is_cut_off_goes_on_to_the_same_bits() {
    for kind in [MetricKind::Diag, MetricKind::Stan, MetricKind::Dense, MetricKind::LowRank] {
        for save_warmup in [false, true] {
            let folder = fresh(&format!("cut-{kind:?}-{save_warmup}"));
            let record = record(&config(kind), save_warmup);
            let full_path = folder.join("whole");
            begin(&Disk::default(), &full_path, &record, &[], (u64::MAX, true)).unwrap();
            // At the first draw, within windows and at their ends, at the last warmup draw, between
            // a checkpoint and the next, and with none.
            let cuts: [(&[u64], u64); 7] = [
                (&[1], 1),
                (&[120], 150),
                (&[225], 225),
                (&[300], 310),
                (&[301, 317], 330),
                (&[], 320),
                (&[], u64::MAX),
            ];
            for (k, (checkpoints, stop)) in cuts.into_iter().enumerate() {
                let path = folder.join(format!("cut-{k}"));
                begin(&Disk::default(), &path, &record, checkpoints, (stop, false)).unwrap();
                is_beginning_of(&path, &full_path);
                let on = go_on(&Disk::default(), &path, None).unwrap();
                assert_eq!(on == 2, !checkpoints.is_empty() || stop == u64::MAX, "{k}");
                assert_eq!(files(&path), files(&full_path), "{kind:?}, cut {k}");
                assert_eq!(ends(&path), ends(&full_path), "{kind:?}, cut {k}");
                // Once more changes nothing.
                assert_eq!(go_on(&Disk::default(), &path, None).unwrap(), 2);
                assert_eq!(files(&path), files(&full_path));
            }
        }
    }
}

/// A part of a record at the end, a record that is damaged, checkpoints that are damaged, of
/// another run or ahead of the draws, and what a killed process had not renamed yet.
#[test]
fn what_a_kill_or_a_bad_disk_leaves_is_no_obstacle() {
    let folder = fresh("left");
    let record = record(&config(MetricKind::LowRank), true);
    let full_path = folder.join("whole");
    begin(&Disk::default(), &full_path, &record, &[], (u64::MAX, true)).unwrap();
    type Spoil = fn(&Path);
    let spoil: [(Spoil, usize); 8] = [
        (|path| append(&path.join("chain-0.draws"), &[7; 13]), 2),
        (|path| append(&path.join("chain-1.draws"), &[7; 400]), 2),
        (|path| cut(&path.join("chain-0.draws"), 16), 1),
        (|path| cut(&path.join("chain-0.draws"), 0), 1),
        (|path| cut(&path.join("chain-1.checkpoint"), 100), 1),
        (|path| flip(&path.join("chain-1.checkpoint"), 300), 1),
        (|path| drop(fs::remove_file(path.join("chain-0.checkpoint"))), 1),
        (|path| drop(fs::remove_file(path.join("chain-0.draws"))), 1),
    ];
    for (k, (spoil, expected)) in spoil.into_iter().enumerate() {
        let path = folder.join(format!("{k}"));
        begin(&Disk::default(), &path, &record, &[310], (320, false)).unwrap();
        spoil(&path);
        fs::write(path.join("run.json.1.tmp"), "{").unwrap();
        let on = go_on(&Disk::default(), &path, None).unwrap();
        assert_eq!(on, expected, "{k}");
        assert_eq!((files(&path), ends(&path)), (files(&full_path), ends(&full_path)), "{k}");
        assert!(!path.join("run.json.1.tmp").exists());
    }
    // A checkpoint of a run with another seed has another identity.
    let (path, other) = (folder.join("a"), folder.join("b"));
    let mut foreign = record.clone();
    foreign.config.seed += 1;
    begin(&Disk::default(), &path, &record, &[310], (320, false)).unwrap();
    begin(&Disk::default(), &other, &foreign, &[310], (320, false)).unwrap();
    fs::copy(other.join("chain-0.checkpoint"), path.join("chain-0.checkpoint")).unwrap();
    assert_eq!(go_on(&Disk::default(), &path, None).unwrap(), 1);
    assert_eq!(files(&path), files(&full_path));
    // Draws of something else are no draws to go on with.
    let path = folder.join("c");
    begin(&Disk::default(), &path, &record, &[310], (320, false)).unwrap();
    flip(&path.join("chain-0.draws"), 24);
    let error = go_on(&Disk::default(), &path, None).unwrap_err();
    assert!(error.to_string().contains("chain-0.draws"), "{error}");
}

fn append(path: &Path, bytes: &[u8]) {
    let mut all = fs::read(path).unwrap();
    all.extend_from_slice(bytes);
    fs::write(path, all).unwrap();
}

fn cut(path: &Path, size: usize) {
    fs::write(path, &fs::read(path).unwrap()[..size]).unwrap();
}

fn flip(path: &Path, offset: usize) {
    let mut all = fs::read(path).unwrap();
    all[offset] ^= 1;
    fs::write(path, all).unwrap();
}

#[test]
fn more_draws_are_those_of_a_longer_run() {
    let folder = fresh("extend");
    let (short, mut long) =
        (record(&config(MetricKind::LowRank), false), config(MetricKind::LowRank));
    long.draws = 95;
    begin(&Disk::default(), &folder.join("a"), &short, &[], (u64::MAX, true)).unwrap();
    begin(&Disk::default(), &folder.join("b"), &record(&long, false), &[], (u64::MAX, true))
        .unwrap();
    assert_eq!(go_on(&Disk::default(), &folder.join("a"), Some(95)).unwrap(), 2);
    assert_eq!(files(&folder.join("a")), files(&folder.join("b")));
    assert_eq!(ends(&folder.join("a")), ends(&folder.join("b")));
}

/// Every call that changes a file fails once: for good, as a full disk, and alone. The error names
/// a file of the run, what is there are the first draws of the whole run, and the run goes on to
/// the same bits when there is room.
#[test]
fn every_call_that_fails_leaves_a_run_that_goes_on() {
    let folder = fresh("faults");
    let record = record(&config(MetricKind::Diag), false);
    let full_path = folder.join("whole");
    let count = Disk::failing_from(u64::MAX);
    begin(&count, &full_path, &record, &[100, 310], (u64::MAX, true)).unwrap();
    let calls = count.calls();
    assert!(calls > 30, "{calls}");
    for n in 1..=calls {
        for disk in [Disk::failing_from(n), Disk::failing_at(n)] {
            let path = folder.join("run");
            let _ = fs::remove_dir_all(&path);
            let begun = begin(&disk, &path, &record, &[100, 310], (u64::MAX, true));
            let error = match begun {
                // The one that failed was a directory's, which some file systems refuse.
                Ok(()) => {
                    assert_eq!(files(&path), files(&full_path), "call {n}");
                    continue;
                }
                Err(error) => error,
            };
            assert!(error.path().starts_with(&path), "call {n}: {error}");
            assert!(error.is_io() && error.bytes_written().is_some(), "call {n}: {error}");
            is_beginning_of(&path, &full_path);
            if path.join("run.json").exists() {
                go_on(&Disk::default(), &path, None).unwrap_or_else(|e| panic!("call {n}: {e}"));
                assert_eq!(files(&path), files(&full_path), "call {n}");
                assert_eq!(ends(&path), ends(&full_path), "call {n}");
            } else {
                assert!(!path.exists(), "call {n}: what could not begin is gone");
            }
        }
    }
    // The same while a run goes on.
    let half = folder.join("half");
    let prepare = || {
        let _ = fs::remove_dir_all(&half);
        begin(&Disk::default(), &half, &record, &[310], (325, false)).unwrap();
    };
    prepare();
    let count = Disk::failing_from(u64::MAX);
    go_on(&count, &half, None).unwrap();
    for n in 1..=count.calls() {
        for disk in [Disk::failing_from(n), Disk::failing_at(n)] {
            prepare();
            if let Err(error) = go_on(&disk, &half, None) {
                assert!(error.path().starts_with(&half), "call {n}: {error}");
                is_beginning_of(&half, &full_path);
                go_on(&Disk::default(), &half, None).unwrap_or_else(|e| panic!("call {n}: {e}"));
            }
            assert_eq!(files(&half), files(&full_path), "call {n}");
            assert_eq!(ends(&half), ends(&full_path), "call {n}");
        }
    }
}

#[test]
fn two_processes_never_write_one_chain() {
    let folder = fresh("locked");
    let record = record(&config(MetricKind::Diag), false);
    let path = folder.join("run");
    let (directory, writers) = RunDirectory::create(&path, record.clone(), &TEXTS).unwrap();
    let error = RunDirectory::reopen(&path).unwrap_err();
    let process = format!("process {} writes the run", std::process::id());
    assert!(error.is_locked() && error.to_string().contains(&process), "{error}");
    assert!(error.hint().is_some());
    drop((directory, writers));
    go_on(&Disk::default(), &path, None).unwrap();
}

#[test]
fn tasks_make_the_chains_of_the_run_and_are_merged_in_any_order() {
    let folder = fresh("tasks");
    let mut record = record(&config(MetricKind::LowRank), false);
    let full_path = folder.join("whole");
    begin(&Disk::default(), &full_path, &record, &[], (u64::MAX, true)).unwrap();
    record.origin.as_mut().unwrap().tasks = true;
    let task = |path: &Path, record: &RunRecord, chain: u32| {
        let mut directory = RunDirectory::join(path, record.clone(), &TEXTS, chain)?;
        let joined_record =
            RunRecord { config: record.config.clone(), ..directory.record().clone() };
        let mut one = directory.go_on(joined_record)?.remove(0);
        let on = starts(std::slice::from_mut(&mut one)).remove(0);
        let all: Vec<Start> = (0..2).map(|_| on.clone()).collect();
        let config = &record.config;
        let writers = Mutex::new(vec![one.writer]);
        let observer = Task(chain, &writers, config);
        let made = sample_chains(&Ridge, &[chain], &all, config, &observer).unwrap();
        assert_eq!(made.chains[0].outcome, ChainOutcome::Completed);
        writers.lock().unwrap()[0].finish()?;
        let chains = made.chains.into_iter().map(|c| ChainDraws {
            chain: c.chain,
            values: vec![],
            infos: vec![],
            warmup_values: vec![],
            warmup_infos: vec![],
            leapfrogs: c.leapfrogs,
            raised_target: c.raised_target,
            restarts: c.restarts,
            warmup_seconds: 0.0,
            sampling_seconds: 0.0,
            tuned: c.tuned,
            outcome: c.outcome,
        });
        let posterior = Posterior {
            variables: vec![],
            chains: chains.collect(),
            seconds: 0.0,
            max_depth: 10,
            warnings: vec![],
        };
        directory.finish(RunStatus::Completed, None, &posterior)?;
        Ok::<bool, RunError>(matches!(on, Start::Resume(_)))
    };
    let [a, b, both] = ["a", "b", "both"].map(|name| folder.join(name));
    assert!(!task(&a, &record, 1).unwrap());
    assert!(task(&a, &record, 1).unwrap(), "a task that is repeated has nothing left to draw");
    let error = merge_runs(std::slice::from_ref(&a), &folder.join("out")).unwrap_err();
    assert!(error.to_string().contains("these are in no directory: 0"), "{error}");
    let alone = read_run(&a).unwrap();
    assert_eq!((alone.missing, alone.notes), (vec![0], Vec::<String>::new()));
    task(&b, &record, 0).unwrap();
    task(&both, &record, 0).unwrap();
    task(&both, &record, 1).unwrap();
    for (k, order) in [vec![&a, &b], vec![&b, &a], vec![&both], vec![&both, &a]].iter().enumerate()
    {
        let out = folder.join(format!("merged-{k}"));
        let order: Vec<PathBuf> = order.iter().map(|path| path.to_path_buf()).collect();
        assert_eq!(merge_runs(&order, &out).unwrap(), Vec::<String>::new());
        assert_eq!((files(&out), ends(&out)), (files(&full_path), ends(&full_path)));
        assert_eq!(read_run(&out).unwrap().record.status, RunStatus::Completed);
        assert!(merge_runs(&order, &out).unwrap_err().to_string().contains("exists already"));
    }
    assert_eq!(read_run(&both).unwrap().record.status, RunStatus::Completed);
    // What is merged is a run like any other.
    go_on(&Disk::default(), &folder.join("merged-0"), Some(60)).unwrap();
    // Everything that draws follow from is compared.
    let mut other = record.clone();
    other.config.seed = 99;
    other.origin.as_mut().unwrap().data_sha256 = Some(sha256("other"));
    let error = task(&a, &other, 0).unwrap_err();
    assert!(error.is_mismatch(), "{error}");
    task(&folder.join("c"), &other, 0).unwrap();
    let error = merge_runs(&[a, folder.join("c")], &folder.join("out")).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("setting `seed`: 5 and 99") && text.contains("data (sha256)"), "{text}");
    assert!(!folder.join("out").exists());
}

/// The observer of a task.
struct Task<'a>(u32, &'a Mutex<Vec<ChainWriter>>, &'a SamplerConfig);

impl Observer for Task<'_> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        assert_eq!(draw.chain, self.0);
        if draw.phase == RunPhase::Sampling {
            let mut writers = self.1.lock().unwrap();
            writers[0].append(draw.phase, draw.index, draw.info, draw.position).unwrap();
            if draw.index + 1 == self.2.draws {
                writers[0].checkpoint(self.2.warmup, || draw.checkpoint()).unwrap();
            }
        }
        ControlFlow::Continue(())
    }
}

/// What a summary of a run that stays in its files says is what one of draws in memory says.
#[test]
fn summaries_from_files_are_those_from_memory() {
    let folder = fresh("summary");
    let path = folder.join("run");
    begin(&Disk::default(), &path, &record(&config(MetricKind::Diag), true), &[], (u64::MAX, true))
        .unwrap();
    let (memory, files) =
        (read_run(&path).unwrap(), exmc_draws::open_run_within(&path, 700).unwrap());
    assert!(files.posterior.chains.iter().all(|chain| chain.values.is_empty()));
    assert_eq!(
        format!("{:?}", files.summary().unwrap()),
        format!("{:?}", memory.posterior.summary())
    );
    assert_eq!(
        files.label_switching().unwrap().map(|w| w.message),
        memory.posterior.label_switching().map(|w| w.message)
    );
    let columns = files.columns(&[1, 0], 1..3, 7).unwrap();
    let expected = |chain: usize| -> Vec<f64> {
        memory.posterior.chains[chain]
            .values
            .chunks(3)
            .take(7)
            .flat_map(|row| row[1..].to_vec())
            .collect()
    };
    assert_eq!(columns, [expected(1), expected(0)]);
}
