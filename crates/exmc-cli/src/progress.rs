//! Draws as they are made -> a display on stderr: bars on a terminal, a line a chain elsewhere.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use exmc::SamplerConfig;
use exmc::infer::{ChainOutcome, Draw, RunPhase};
use exmc_infer::ChainResult;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::display::{count, say, seconds, significant};

/// How often a bar is brought up to date.
const INTERVAL: Duration = Duration::from_millis(50);

/// Where progress goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Nowhere.
    Quiet,
    /// One line when a chain ends.
    Lines,
    /// A bar a chain.
    Bars,
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
}

/// The display of one run.
pub(crate) struct Progress {
    style: Style,
    warmup: u64,
    draws: u64,
    chains: Vec<Mutex<Shown>>,
}

struct Shown {
    bar: ProgressBar,
    made: u64,
    divergences: u64,
    last: Option<Instant>,
}

impl Progress {
    /// A display on `screen`, which others may write to by suspending it, of some chains of a run.
    pub(crate) fn new(
        style: Style,
        config: &SamplerConfig,
        numbers: &[u32],
        screen: &MultiProgress,
    ) -> Self {
        let total = config.warmup + config.draws;
        let template = "{prefix} [{bar:20}] {pos}/{len} {wide_msg}";
        let look = ProgressStyle::with_template(template)
            .expect("the template is valid")
            .progress_chars("=> ");
        let chain = |chain: u32| {
            let bar = match style {
                Style::Bars if numbers.contains(&chain) => {
                    screen.add(ProgressBar::new(total).with_style(look.clone()))
                }
                _ => ProgressBar::hidden(),
            };
            bar.set_prefix(format!("chain {chain}"));
            Mutex::new(Shown { bar, made: 0, divergences: 0, last: None })
        };
        let (warmup, draws) = (config.warmup, config.draws);
        Self { style, warmup, draws, chains: (0..config.chains).map(chain).collect() }
    }

    pub(crate) fn draw(&self, draw: &Draw<'_>) {
        if self.style != Style::Bars {
            return;
        }
        let mut shown =
            self.chains[draw.chain as usize].lock().unwrap_or_else(|poison| poison.into_inner());
        shown.made = match draw.phase {
            RunPhase::Warmup => draw.index + 1,
            RunPhase::Sampling => self.warmup + draw.index + 1,
        };
        shown.divergences += u64::from(draw.info.divergent && draw.phase == RunPhase::Sampling);
        if shown.last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return;
        }
        shown.last = Some(Instant::now());
        let phase = match draw.phase {
            RunPhase::Warmup => "warmup",
            RunPhase::Sampling => "sampling",
        };
        shown.bar.set_position(shown.made);
        shown.bar.set_message(format!(
            "{phase}, {}, step size {}",
            count(shown.divergences, "divergence"),
            significant(draw.info.step_size, 3)
        ));
    }

    pub(crate) fn chain_finished(&self, result: &ChainResult, made: u64) {
        let line = self.last_line(result, made);
        match self.style {
            Style::Quiet => {}
            Style::Lines => say(&format!("chain {}: {line}", result.chain)),
            Style::Bars => {
                let shown = self.chains[result.chain as usize]
                    .lock()
                    .unwrap_or_else(|poison| poison.into_inner());
                shown.bar.set_position(shown.made);
                shown.bar.abandon_with_message(line);
            }
        }
    }

    fn last_line(&self, result: &ChainResult, made: u64) -> String {
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
            _ => format!(
                "stopped after {made} of {}, {divergences}{step}",
                count(self.draws, "draw")
            ),
        }
    }
}
