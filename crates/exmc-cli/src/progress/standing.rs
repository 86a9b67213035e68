//! How far a chain is -> a line of text, a row of a table, or a JSON object.

use serde_json::{Value, json};

use crate::display::{count, number, significant};
use crate::progress::looked_at::EssSoFar;

/// What a chain does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Waiting,
    Warmup,
    Sampling,
    Completed,
    Stopped,
    Failed,
}

impl Stage {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Warmup => "warmup",
            Self::Sampling => "sampling",
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }

    /// Whether the chain makes no more draws.
    pub(crate) fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::Stopped | Self::Failed)
    }
}

/// How far a chain is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Standing {
    pub(crate) chain: u32,
    pub(crate) stage: Stage,
    /// Warmup draws made, and of how many.
    pub(crate) warmup: [u64; 2],
    /// Draws made after warmup, and of how many.
    pub(crate) draws: [u64; 2],
    /// Divergent draws after warmup.
    pub(crate) divergences: u64,
    pub(crate) step_size: Option<f64>,
    /// Leapfrog steps a draw, of the phase that the chain is in.
    pub(crate) leapfrogs_per_draw: Option<f64>,
    pub(crate) ess: Option<EssSoFar>,
    pub(crate) seconds_left: Option<f64>,
}

impl Standing {
    /// A chain of which nothing is known yet.
    pub(crate) fn waiting(chain: u32, warmup: u64, draws: u64) -> Self {
        Self {
            chain,
            stage: Stage::Waiting,
            warmup: [0, warmup],
            draws: [0, draws],
            divergences: 0,
            step_size: None,
            leapfrogs_per_draw: None,
            ess: None,
            seconds_left: None,
        }
    }

    /// Draws and warmup draws that were made.
    pub(crate) fn made(&self) -> u64 {
        self.warmup[0] + self.draws[0]
    }

    /// Draws and warmup draws that there will be.
    pub(crate) fn total(&self) -> u64 {
        self.warmup[1].saturating_add(self.draws[1])
    }

    /// As one object; what is not known is null.
    pub(crate) fn to_json(&self) -> Value {
        let known = |x: Option<f64>| x.map_or(Value::Null, number);
        json!({
            "chain": self.chain,
            "phase": self.stage.name(),
            "warmup": self.warmup[0],
            "warmup_total": self.warmup[1],
            "draws": self.draws[0],
            "draws_total": self.draws[1],
            "divergences": self.divergences,
            "step_size": known(self.step_size),
            "leapfrogs_per_draw": known(self.leapfrogs_per_draw),
            "ess_lp": known(self.ess.as_ref().map(|ess| ess.logp)),
            "ess_worst": known(self.ess.as_ref().map(|ess| ess.least)),
            "ess_worst_of": self.ess.as_ref().map(|ess| ess.least_of.clone()),
            "seconds_left": known(self.seconds_left),
        })
    }

    /// All but the number of the chain and how many draws it has, in words.
    pub(crate) fn words(&self) -> String {
        let mut words = vec![self.stage.name().to_owned(), count(self.divergences, "divergence")];
        if let Some(step) = self.step_size {
            words.push(format!("step size {}", significant(step, 3)));
        }
        if let Some(leapfrogs) = self.leapfrogs_per_draw {
            words.push(format!("{} leapfrogs a draw", significant(leapfrogs, 3)));
        }
        if let Some(ess) = &self.ess {
            words.push(ess_words(ess));
        }
        if let Some(left) = self.seconds_left {
            words.push(format!("{} left", time_left(left)));
        }
        words.join(", ")
    }

    /// One line.
    pub(crate) fn line(&self) -> String {
        format!("chain {}: {} of {}, {}", self.chain, self.made(), self.total(), self.words())
    }
}

/// `ess 212 (tau), of lp 400`.
pub(crate) fn ess_words(ess: &EssSoFar) -> String {
    let EssSoFar { logp, least, least_of } = ess;
    format!("ess {least:.0} ({least_of}), of lp {logp:.0}")
}

/// A time in whole seconds, minutes or hours, as far as one can tell.
pub(crate) fn time_left(seconds: f64) -> String {
    let whole_seconds = seconds.max(0.0).ceil() as u64;
    match whole_seconds {
        0..60 => format!("{whole_seconds} s"),
        60..3600 => format!("{} min {:02} s", whole_seconds / 60, whole_seconds % 60),
        _ => format!("{} h {:02} min", whole_seconds / 3600, whole_seconds % 3600 / 60),
    }
}

/// When a chain had how many draws -> how long the rest takes at the rate of the last while.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rate {
    marks: std::collections::VecDeque<(f64, u64)>,
}

impl Rate {
    /// Seconds of which the rate is taken.
    const WHILE: f64 = 15.0;

    /// Takes in how many draws there are at a time, and gives the seconds that `left` more take.
    pub(crate) fn seconds_left(&mut self, now: f64, made: u64, left: u64) -> Option<f64> {
        if self.marks.back().is_some_and(|(_, before)| made < *before) {
            self.marks.clear();
        }
        self.marks.push_back((now, made));
        while self.marks.len() > 2 && now - self.marks[1].0 > Self::WHILE {
            self.marks.pop_front();
        }
        let (then, before) = *self.marks.front()?;
        let rate = (made - before) as f64 / (now - then);
        (rate > 0.0 && rate.is_finite()).then(|| left as f64 / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_known() {
        let mut standing = Standing::waiting(2, 500, 1000);
        assert_eq!(standing.line(), "chain 2: 0 of 1500, waiting, 0 divergences");
        standing.stage = Stage::Sampling;
        (standing.warmup[0], standing.draws[0], standing.divergences) = (500, 250, 1);
        (standing.step_size, standing.leapfrogs_per_draw) = (Some(0.25), Some(7.5));
        standing.ess = Some(EssSoFar { logp: 101.4, least: 87.6, least_of: "tau".to_owned() });
        standing.seconds_left = Some(3.2);
        assert_eq!(
            standing.line(),
            "chain 2: 750 of 1500, sampling, 1 divergence, step size 0.250, 7.50 leapfrogs a draw, \
             ess 88 (tau), of lp 101, 4 s left"
        );
        let json = standing.to_json();
        assert_eq!((&json["phase"], &json["ess_worst_of"]), (&"sampling".into(), &"tau".into()));
    }

    #[test]
    fn times_left_follow_the_rate_of_the_last_while() {
        let mut rate = Rate::default();
        assert_eq!(rate.seconds_left(0.0, 0, 100), None);
        assert_eq!(rate.seconds_left(10.0, 20, 80), Some(40.0));
        // Twice as fast from now on.
        for t in 11..=40_u32 {
            assert!(rate.seconds_left(f64::from(t), 4 * u64::from(t), 0).is_some());
        }
        let left = rate.seconds_left(41.0, 164, 8).unwrap();
        assert!((left - 2.0).abs() < 1e-9, "{left}");
        // A chain that was cut back begins anew.
        assert_eq!(rate.seconds_left(42.0, 3, 8), None);
        assert_eq!([59.2, 61.0, 7260.0].map(time_left), ["1 min 00 s", "1 min 01 s", "2 h 01 min"]);
    }
}
