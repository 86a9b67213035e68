//! Draws as they are made -> a display on stderr: bars on a terminal, lines elsewhere, or JSON.
//!
//! Chains only note what they made; a thread of its own reads the notes from time to time and
//! shows them, so that no chain waits for a terminal.

pub(crate) mod looked_at;
pub(crate) mod standing;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use exmc::SamplerConfig;
use exmc::infer::{ChainOutcome, Draw, RunPhase};
use exmc_draws::Variable;
use exmc_infer::ChainResult;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::display::{count, number, say, say_json, seconds, significant, talk_json};
use crate::progress::looked_at::{Columns, Series, ess_so_far};
use crate::progress::standing::{Rate, Stage, Standing};

/// How often bars are brought up to date, JSON is written, and lines are.
const BARS: Duration = Duration::from_millis(100);
const JSON: Duration = Duration::from_secs(1);
const LINES: Duration = Duration::from_secs(10);
/// Effective sample sizes take this share of one core at most.
const SHARE: u32 = 50;

/// How progress is shown.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProgressArgs {
    /// Progress on standard error: `auto` is `bar` on a terminal and `plain` elsewhere; `plain`
    /// writes lines, `json` one object a line, `none` nothing [default: auto, none with `--quiet`]
    #[arg(long, value_name = "P")]
    progress: Option<Choice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    Auto,
    Bar,
    Plain,
    Json,
    None,
}

impl ProgressArgs {
    /// The style that was asked for. Where that is JSON, all talk is from now on.
    pub(crate) fn style(&self, quiet: bool) -> Style {
        match self.progress {
            Some(Choice::Bar) => Style::Bars,
            Some(Choice::Plain) => Style::Lines,
            Some(Choice::Json) => {
                talk_json();
                Style::Json
            }
            Some(Choice::None) => Style::Quiet,
            Some(Choice::Auto) => Style::choose(false),
            None => Style::choose(quiet),
        }
    }
}

/// Where progress goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Nowhere.
    Quiet,
    /// A line from time to time, and one when a chain ends.
    Lines,
    /// A bar a chain.
    Bars,
    /// An object a line.
    Json,
}

impl Style {
    /// Bars when stderr is a terminal, lines when it is not, nothing when asked to be quiet.
    pub(crate) fn choose(quiet: bool) -> Self {
        use std::io::IsTerminal;
        match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Bars,
            (false, false) => Self::Lines,
        }
    }

    fn interval(self) -> Duration {
        match self {
            Self::Bars => BARS,
            Self::Json => JSON,
            Self::Lines | Self::Quiet => LINES,
        }
    }
}

/// The display of one run.
pub(crate) struct Progress {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    style: Style,
    columns: Columns,
    chains: Vec<Mutex<Chain>>,
    bars: Vec<ProgressBar>,
    /// Chains that run here.
    numbers: Vec<u32>,
    is_over: Mutex<bool>,
    told: Condvar,
    began: Instant,
}

/// What a chain notes.
struct Chain {
    standing: Standing,
    /// Leapfrog steps and draws of the phase that it is in.
    leapfrogs: [u64; 2],
    series: Series,
    rate: Rate,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    /// A display on `screen`, which others may write to by suspending it, of some chains of a run
    /// that records these variables.
    pub(crate) fn new(
        style: Style,
        config: &SamplerConfig,
        numbers: &[u32],
        variables: &[Variable],
        screen: &MultiProgress,
    ) -> Self {
        let columns =
            if style == Style::Quiet { Columns::default() } else { Columns::choose(variables) };
        let template = "{prefix} [{bar:20}] {pos}/{len} {wide_msg}";
        let look = ProgressStyle::with_template(template)
            .expect("the template is valid")
            .progress_chars("=> ");
        let bar = |chain: u32| {
            let bar = match style {
                Style::Bars if numbers.contains(&chain) => {
                    let total = config.warmup.saturating_add(config.draws);
                    screen.add(ProgressBar::new(total).with_style(look.clone()))
                }
                _ => ProgressBar::hidden(),
            };
            bar.set_prefix(format!("chain {chain}"));
            bar
        };
        let chain = |chain: u32| {
            Mutex::new(Chain {
                standing: Standing::waiting(chain, config.warmup, config.draws),
                leapfrogs: [0; 2],
                series: Series::new(&columns),
                rate: Rate::default(),
            })
        };
        let shared = Arc::new(Shared {
            style,
            chains: (0..config.chains).map(chain).collect(),
            bars: (0..config.chains).map(bar).collect(),
            columns,
            numbers: numbers.to_vec(),
            is_over: Mutex::new(false),
            told: Condvar::new(),
            began: Instant::now(),
        });
        let thread = (style != Style::Quiet).then(|| {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("exmc-progress".to_owned());
            // Without a thread only ends are told.
            thread.spawn(move || shared.show_until_over()).ok()
        });
        Self { shared, thread: thread.flatten() }
    }

    /// Counts draws that were made before, warmup draws and others.
    pub(crate) fn made_before(&self, chain: u32, draws: u64) {
        let mut chain = locked(&self.shared.chains[chain as usize]);
        if draws > 0 {
            chain.standing.warmup[0] = chain.standing.warmup[1];
            chain.standing.draws[0] = draws;
        }
    }

    /// Notes a draw, with what was recorded of it, if anything was.
    pub(crate) fn draw(&self, draw: &Draw<'_>, values: &[f64]) {
        if self.shared.style == Style::Quiet {
            return;
        }
        let mut chain = locked(&self.shared.chains[draw.chain as usize]);
        let Chain { standing, leapfrogs, series, .. } = &mut *chain;
        let stage = match draw.phase {
            RunPhase::Warmup => Stage::Warmup,
            RunPhase::Sampling => Stage::Sampling,
        };
        if standing.stage != stage {
            (standing.stage, *leapfrogs) = (stage, [0; 2]);
        }
        match stage {
            Stage::Warmup => standing.warmup[0] = draw.index + 1,
            _ => {
                standing.warmup[0] = standing.warmup[1];
                standing.draws[0] = draw.index + 1;
                standing.divergences += u64::from(draw.info.divergent);
                series.push(draw.info.logp, values, &self.shared.columns);
            }
        }
        standing.step_size = Some(draw.info.step_size);
        leapfrogs[0] += u64::from(draw.info.n_steps);
        leapfrogs[1] += 1;
    }

    /// Tells how a chain ended, which has so many draws.
    pub(crate) fn chain_finished(&self, result: &ChainResult, made: u64) {
        let shared = &self.shared;
        if shared.style == Style::Quiet {
            return;
        }
        let mut chain = locked(&shared.chains[result.chain as usize]);
        chain.standing.stage = match &result.outcome {
            ChainOutcome::Completed => Stage::Completed,
            ChainOutcome::Failed(_) => Stage::Failed,
            _ => Stage::Stopped,
        };
        chain.standing.draws[0] = made;
        let line = last_line(result, made, chain.standing.draws[1]);
        match shared.style {
            Style::Quiet => {}
            Style::Lines => say(&format!("chain {}: {line}", result.chain)),
            Style::Bars => {
                let bar = &shared.bars[result.chain as usize];
                bar.set_position(chain.standing.made());
                bar.abandon_with_message(line);
            }
            Style::Json => {
                let Chain { standing, leapfrogs, series, .. } = &mut *chain;
                standing.leapfrogs_per_draw = mean(*leapfrogs);
                standing.ess = ess_so_far(std::slice::from_ref(series), &shared.columns);
                standing.seconds_left = None;
                let mut json = standing.to_json();
                json["event"] = "chain_end".into();
                json["message"] = line.into();
                say_json(&json);
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        *locked(&self.shared.is_over) = true;
        self.shared.told.notify_all();
        if let Some(thread) = self.thread.take() {
            // A display that panicked takes no run with it.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn show_until_over(&self) {
        let (mut next_ess, mut is_over) = (Instant::now() + JSON, locked(&self.is_over));
        loop {
            let waited = self.told.wait_timeout(is_over, self.style.interval());
            is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
            if *is_over {
                return;
            }
            drop(is_over);
            let began = Instant::now();
            let with_ess = began >= next_ess;
            if with_ess {
                self.look_at_ess();
                next_ess = Instant::now() + JSON.max(SHARE * began.elapsed());
            }
            self.show();
            is_over = locked(&self.is_over);
        }
    }

    /// Effective sample sizes of chains that make draws, from copies: chains do not wait for them.
    fn look_at_ess(&self) {
        for chain in &self.chains {
            let copy = {
                let chain = locked(chain);
                (chain.standing.stage == Stage::Sampling).then(|| chain.series.clone())
            };
            if let Some(series) = copy {
                let ess = ess_so_far(std::slice::from_ref(&series), &self.columns);
                locked(chain).standing.ess = ess;
            }
        }
    }

    fn show(&self) {
        let now = self.began.elapsed().as_secs_f64();
        let mut standings = Vec::new();
        for number in &self.numbers {
            let mut chain = locked(&self.chains[*number as usize]);
            let Chain { standing, leapfrogs, rate, .. } = &mut *chain;
            standing.leapfrogs_per_draw = mean(*leapfrogs);
            let (made, total) = (standing.made(), standing.total());
            standing.seconds_left = rate.seconds_left(now, made, total.saturating_sub(made));
            if !standing.stage.is_end() {
                standings.push(standing.clone());
            }
        }
        for standing in standings {
            match self.style {
                Style::Quiet => {}
                Style::Lines if standing.stage == Stage::Waiting => {}
                Style::Lines => say(&standing.line()),
                Style::Bars => {
                    let bar = &self.bars[standing.chain as usize];
                    bar.set_position(standing.made());
                    bar.set_message(standing.words());
                }
                Style::Json => {
                    let mut json = standing.to_json();
                    json["event"] = "progress".into();
                    json["seconds"] = number(now);
                    say_json(&json);
                }
            }
        }
    }
}

fn mean([sum, n]: [u64; 2]) -> Option<f64> {
    (n > 0).then(|| sum as f64 / n as f64)
}

fn last_line(result: &ChainResult, made: u64, draws: u64) -> String {
    let time = seconds(result.warmup_seconds + result.sampling_seconds);
    let step = match &result.tuned {
        Some(tuned) => format!(", step size {}", significant(tuned.step_size, 3)),
        None => String::new(),
    };
    let divergences = count(result.divergences, "divergence");
    match &result.outcome {
        ChainOutcome::Completed => {
            format!("{}, {divergences}{step}, {time}", count(made, "draw"))
        }
        ChainOutcome::Failed(error) if error.is_ended() => {
            format!("ended by the program after {}", count(made, "draw"))
        }
        ChainOutcome::Failed(error) => format!("failed after {}: {error}", count(made, "draw")),
        _ => format!("stopped after {made} of {}, {divergences}{step}", count(draws, "draw")),
    }
}
