//! The files of a run -> how far each chain is.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exmc::advanced::text::table;
use exmc::infer::RunPhase;
use exmc_draws::{
    ChainFollower, Mark, RunRecord, RunStatus, StoredChain, StoredOutcome, read_record,
};
use serde_json::{Value, json};

use crate::display::{number, significant};
use crate::failure::Failure;
use crate::progress::looked_at::{Columns, EssSoFar, Series, ess_so_far};
use crate::progress::standing::{Rate, Stage, Standing, time_left};

/// Log densities of each chain that a page shows at most.
const TRACE: usize = 400;

/// A run that is followed.
pub(crate) struct Followed {
    path: PathBuf,
    record: RunRecord,
    columns: Columns,
    chains: Vec<Chain>,
    /// Of all chains together.
    ess: Option<EssSoFar>,
    began: Instant,
    last_change: Instant,
}

struct Chain {
    follower: ChainFollower,
    standing: Standing,
    series: Series,
    leapfrogs: [u64; 2],
    mark: Option<Mark>,
    rate: Rate,
    /// Every `every`-th log density.
    trace: Vec<f64>,
    every: u64,
}

impl Chain {
    fn new(path: &Path, record: &RunRecord, columns: &Columns, chain: u32) -> Self {
        Self {
            follower: ChainFollower::new(path, record, chain),
            standing: Standing::waiting(chain, record.config.warmup, record.config.draws),
            series: Series::new(columns),
            leapfrogs: [0; 2],
            mark: None,
            rate: Rate::default(),
            trace: Vec::new(),
            every: 1,
        }
    }

    /// Forgets all draws, of a file that was cut back.
    fn forget(&mut self, columns: &Columns) {
        (self.series, self.leapfrogs, self.trace) = (Series::new(columns), [0; 2], Vec::new());
        (self.every, self.rate) = (1, Rate::default());
        let [_, warmup] = self.standing.warmup;
        let [_, draws] = self.standing.draws;
        self.standing = Standing::waiting(self.standing.chain, warmup, draws);
    }

    /// Takes in what its files hold; whether something has changed.
    fn look(&mut self, columns: &Columns, now: f64) -> Result<bool, Failure> {
        let (mut warmup, mut draws) = (0, Vec::new());
        let mut rows = Vec::new();
        let found = self.follower.look(|phase, info, values| match phase {
            RunPhase::Warmup => warmup += 1,
            RunPhase::Sampling => {
                draws.push(*info);
                rows.push(columns.of(values));
            }
        })?;
        if found.anew {
            self.forget(columns);
        }
        self.standing.warmup[0] += warmup;
        for (info, row) in draws.iter().zip(&rows) {
            self.series.push_columns(info.logp, row);
            self.standing.divergences += u64::from(info.divergent);
            self.standing.step_size = Some(info.step_size);
            self.leapfrogs[0] += u64::from(info.n_steps);
            self.leapfrogs[1] += 1;
            if self.standing.draws[0].is_multiple_of(self.every) {
                self.trace.push(info.logp);
                if self.trace.len() > TRACE {
                    let mut place = 0;
                    self.trace.retain(|_| {
                        place += 1;
                        place % 2 == 1
                    });
                    self.every *= 2;
                }
            }
            self.standing.draws[0] += 1;
        }
        let mark = self.follower.mark();
        let is_changed = found.draws > 0 || found.anew || mark != self.mark;
        self.mark = mark;
        if let (Some(mark), 0) = (mark, self.standing.draws[0]) {
            // Warmup draws are stored only when somebody asked for them.
            let made = mark.iteration.min(self.standing.warmup[1]);
            self.standing.warmup[0] = self.standing.warmup[0].max(made);
            self.standing.step_size = Some(mark.step_size);
            self.leapfrogs = [mark.leapfrogs, mark.iteration];
        }
        if self.standing.draws[0] > 0 {
            self.standing.warmup[0] = self.standing.warmup[1];
        }
        self.standing.leapfrogs_per_draw =
            (self.leapfrogs[1] > 0).then(|| self.leapfrogs[0] as f64 / self.leapfrogs[1] as f64);
        let (made, total) = (self.standing.made(), self.standing.total());
        self.standing.seconds_left = self.rate.seconds_left(now, made, total.saturating_sub(made));
        Ok(is_changed)
    }

    /// What the chain does, by what the run's file says of it.
    fn settle(&mut self, status: RunStatus, stored: Option<&StoredChain>) {
        let is_complete = self.standing.draws[0] == self.standing.draws[1];
        self.standing.stage = match (stored.map(|chain| &chain.outcome), status) {
            (Some(StoredOutcome::Failed(_)), _) => Stage::Failed,
            (Some(StoredOutcome::Completed), _) => Stage::Completed,
            (Some(_), _) => Stage::Stopped,
            (None, _) if is_complete => Stage::Completed,
            (None, RunStatus::Running) if self.standing.draws[0] > 0 => Stage::Sampling,
            (None, RunStatus::Running) if self.standing.made() > 0 => Stage::Warmup,
            (None, RunStatus::Running) => Stage::Waiting,
            (None, _) => Stage::Stopped,
        };
        if self.standing.stage.is_end() {
            self.standing.seconds_left = None;
        }
    }
}

impl Followed {
    /// Begins to follow a run.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let record = read_record(path)?;
        let columns = Columns::choose(&record.variables);
        let chain = |chain: u32| Chain::new(path, &record, &columns, chain);
        let chains = (0..record.config.chains).map(chain).collect();
        let now = Instant::now();
        let path = path.to_owned();
        Ok(Self { path, chains, columns, record, ess: None, began: now, last_change: now })
    }

    /// Takes in what the files hold; whether something has changed.
    pub(crate) fn look(&mut self) -> Result<bool, Failure> {
        let record = read_record(&self.path)?;
        let mut is_changed = record != self.record;
        if (&record.variables, record.config.chains, record.started)
            != (&self.record.variables, self.record.config.chains, self.record.started)
        {
            // Another run took its place.
            *self = Self::open(&self.path)?;
        }
        self.record = record;
        let now = self.began.elapsed().as_secs_f64();
        for chain in &mut self.chains {
            chain.standing.draws[1] = self.record.config.draws;
            is_changed |= chain.look(&self.columns, now)?;
            let number = chain.standing.chain;
            let stored = self.record.chains.iter().find(|stored| stored.chain == number);
            chain.settle(self.record.status, stored);
        }
        if is_changed {
            self.last_change = Instant::now();
            for chain in &mut self.chains {
                chain.standing.ess = ess_so_far(std::slice::from_ref(&chain.series), &self.columns);
            }
            let all: Vec<Series> = self.chains.iter().map(|chain| chain.series.clone()).collect();
            self.ess = ess_so_far(&all, &self.columns);
        }
        Ok(is_changed)
    }

    /// How far the run is.
    pub(crate) fn status(&self) -> RunStatus {
        self.record.status
    }

    /// How long nothing has changed.
    pub(crate) fn unchanged(&self) -> Duration {
        self.last_change.elapsed()
    }

    /// As one object; with log densities for a page.
    pub(crate) fn to_json(&self, with_traces: bool) -> Value {
        let ess = |value_of: fn(&EssSoFar) -> f64| {
            self.ess.as_ref().map_or(Value::Null, |e| number(value_of(e)))
        };
        let chains: Vec<Value> = self
            .chains
            .iter()
            .map(|chain| {
                let mut json = chain.standing.to_json();
                if with_traces {
                    json["lp"] = chain.trace.iter().map(|lp| number(*lp)).collect();
                }
                json
            })
            .collect();
        json!({
            "exmc": crate::report::JSON_VERSION,
            "event": "watch",
            "directory": self.path.display().to_string(),
            "model": self.record.model,
            "status": self.record.status.name(),
            "error": self.record.error,
            "ess_lp": ess(|e| e.logp),
            "ess_worst": ess(|e| e.least),
            "ess_worst_of": self.ess.as_ref().map(|e| e.least_of.clone()),
            "seconds_unchanged": number(self.unchanged().as_secs_f64()),
            "chains": chains,
        })
    }

    /// As a table, with a line on the whole run.
    pub(crate) fn to_text(&self) -> String {
        const HEAD: [&str; 9] = [
            "chain",
            "phase",
            "draws",
            "divergences",
            "step size",
            "leapfrogs",
            "ess lp",
            "worst ess",
            "left",
        ];
        let known = |x: Option<f64>| x.map_or("-".to_owned(), |x| significant(x, 3));
        let rows: Vec<Vec<String>> = self
            .chains
            .iter()
            .map(|chain| {
                let standing = &chain.standing;
                let ess = standing.ess.as_ref();
                vec![
                    standing.chain.to_string(),
                    standing.stage.name().to_owned(),
                    format!("{} of {}", standing.made(), standing.total()),
                    standing.divergences.to_string(),
                    known(standing.step_size),
                    known(standing.leapfrogs_per_draw),
                    ess.map_or("-".to_owned(), |ess| format!("{:.0}", ess.logp)),
                    ess.map_or("-".to_owned(), |e| format!("{:.0} ({})", e.least, e.least_of)),
                    standing.seconds_left.map_or("-".to_owned(), time_left),
                ]
            })
            .collect();
        let mut text = table(&HEAD, &rows);
        let status = self.record.status.name();
        text.push_str(&format!("`{}`: {status}", self.path.display()));
        if let Some(EssSoFar { logp, least, least_of }) = &self.ess {
            text.push_str(&format!(
                "; all chains together: ess of lp {logp:.0}, worst {least:.0} ({least_of})"
            ));
        }
        if let Some(error) = &self.record.error {
            text.push_str(&format!("; {error}"));
        }
        text.push('\n');
        text
    }
}
