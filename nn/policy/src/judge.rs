//! Probabilities of each frame and what was played -> likelihoods, accuracies, calibration.
//!
//! A policy is judged beside "repeat the last input", which is right in most frames because inputs
//! are held. So accuracies are given for all frames and for **change points**: of a component, the
//! frames whose class differs from that of the frame before. There, repeating is right by accident
//! only if `delay` is above 1, and never if it is 1.

use features::{Action, COMPONENTS};
use serde::{Deserialize, Serialize};

use crate::loss::BUTTONS;

/// Bins of calibration.
pub const BINS: usize = 10;
/// Offsets that are tried: the action that was predicted against that of the frame this many frames
/// after the observed one.
pub const OFFSETS: usize = 9;

/// One judged frame.
#[derive(Clone, Copy, Debug)]
pub struct JudgedFrame<'a> {
    /// Probabilities of the classes of each component; each sees the true classes before it.
    pub probabilities: &'a [Vec<f64>],
    /// What the policy would press, each component seeing its own choices.
    pub pressed: Action,
    /// Actions from the observed frame on: that at `delay` is the target.
    pub actions: &'a [Action],
}

/// Counts of right answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// How often it was asked.
    pub of: u64,
    /// How often the policy was right.
    pub policy: u64,
    /// How often repeating the input of the observed frame would have been.
    pub repeat: u64,
}

impl Count {
    fn add(&mut self, policy: bool, repeat: bool) {
        self.of += 1;
        self.policy += u64::from(policy);
        self.repeat += u64::from(repeat);
    }

    /// The share of right answers of the policy and of repeating; NaN of none.
    #[must_use]
    pub fn shares(&self) -> (f64, f64) {
        let asked = self.of as f64;
        (self.policy as f64 / asked, self.repeat as f64 / asked)
    }
}

/// A bin of probabilities and how often what they promised came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Promises in it.
    pub count: u64,
    /// Their sum.
    pub promised: f64,
    /// How often they came true.
    pub came: u64,
}

/// How one component was judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComponentScore {
    /// Its name.
    pub name: String,
    /// Sum of negative log probabilities of the true classes.
    pub nll: f64,
    /// Sum of squared errors of all probabilities (Brier score).
    pub brier: f64,
    /// All frames.
    pub frames: Count,
    /// Frames in which this component changes.
    pub changes: Count,
    /// Frames in which any component changes.
    pub any_change: Count,
    /// Of buttons: probabilities of pressing; of others: the largest probability.
    pub bins: Vec<Bin>,
    /// Of buttons: `[true][predicted]`.
    pub confusion: [[u64; 2]; 2],
}

/// The judgement of a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Frames.
    pub frames: u64,
    /// Frames from the observed one to the target.
    pub delay: usize,
    /// Each component.
    pub components: Vec<ComponentScore>,
    /// All components right, in all frames.
    pub whole: Count,
    /// All components right, in frames in which any changes.
    pub whole_at_changes: Count,
    /// For each offset: how often the pressed action is the one of that frame, in frames in which
    /// the action of that offset differs from the one before it, and how many these are.
    pub offsets: Vec<(u64, u64)>,
}

impl Judgement {
    /// A judgement of nothing yet.
    #[must_use]
    pub fn new(delay: usize) -> Self {
        let component = |name: &&str| ComponentScore {
            name: (*name).to_owned(),
            bins: vec![Bin::default(); BINS],
            ..ComponentScore::default()
        };
        let components = COMPONENTS.iter().map(component).collect();
        Self { delay, components, offsets: vec![(0, 0); OFFSETS], ..Self::default() }
    }

    /// Takes a frame in. Frames need the actions up to `delay` at least.
    pub fn add(&mut self, frame: &JudgedFrame<'_>) {
        let (Some(target), Some(last)) = (frame.actions.get(self.delay), frame.actions.first())
        else {
            return;
        };
        let before = frame.actions[self.delay - 1];
        let any_change = before != *target;
        let (mut all_right, mut all_repeat) = (true, true);
        for (c, score) in self.components.iter_mut().enumerate() {
            let probabilities = &frame.probabilities[c];
            let (truth, last) = (target.0[c], last.0[c]);
            let best = largest(probabilities);
            let (right, repeat) = (best == usize::from(truth), last == truth);
            (all_right, all_repeat) = (all_right && right, all_repeat && repeat);
            score.frames.add(right, repeat);
            if before.0[c] != truth {
                score.changes.add(right, repeat);
            }
            if any_change {
                score.any_change.add(right, repeat);
            }
            // No probability is 0 in exact numbers, so one that is has underflowed.
            let of_true = probabilities.get(usize::from(truth)).copied().unwrap_or(0.0);
            score.nll -= of_true.max(f64::MIN_POSITIVE).ln();
            let wrong =
                |(k, p): (usize, &f64)| (p - f64::from(u8::from(k == usize::from(truth)))).powi(2);
            score.brier += probabilities.iter().enumerate().map(wrong).sum::<f64>();
            let (promise, came) = if c < BUTTONS {
                let answer = usize::from(best != 0);
                score.confusion[usize::from(truth.min(1))][answer] += 1;
                (probabilities[1], truth != 0)
            } else {
                (probabilities[best], right)
            };
            let bin = ((promise * BINS as f64) as usize).min(BINS - 1);
            let bin = &mut score.bins[bin];
            bin.count += 1;
            bin.promised += promise;
            bin.came += u64::from(came);
        }
        self.frames += 1;
        self.whole.add(all_right, all_repeat);
        if any_change {
            self.whole_at_changes.add(all_right, all_repeat);
        }
        for (offset, (right, asked)) in self.offsets.iter_mut().enumerate().skip(1) {
            if let Some(action) = frame.actions.get(offset)
                && *action != frame.actions[offset - 1]
            {
                *asked += 1;
                *right += u64::from(frame.pressed == *action);
            }
        }
    }

    /// Mean negative log likelihood of a frame, of all components together.
    #[must_use]
    pub fn nll(&self) -> f64 {
        self.components.iter().map(|c| c.nll).sum::<f64>() / self.frames as f64
    }

    /// The offset at which the policy's actions fit best; it should be its delay.
    #[must_use]
    pub fn best_offset(&self) -> Option<usize> {
        let share = |(right, asked): (u64, u64)| right as f64 / asked as f64;
        let tried = self.offsets.iter().enumerate().filter(|(_, (_, asked))| *asked > 0);
        tried.max_by(|(_, a), (_, b)| share(**a).total_cmp(&share(**b))).map(|(offset, _)| offset)
    }
}

impl ComponentScore {
    /// Expected calibration error: the mean distance of promises and what came, over promises.
    #[must_use]
    pub fn calibration_error(&self) -> f64 {
        let count: u64 = self.bins.iter().map(|bin| bin.count).sum();
        let apart = |bin: &Bin| (bin.promised - bin.came as f64).abs();
        self.bins.iter().map(apart).sum::<f64>() / count as f64
    }
}

/// The place of the largest number, the first of equal ones.
pub(crate) fn largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (k, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = k;
        }
    }
    best
}
