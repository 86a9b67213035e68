//! A policy and replays -> its judgement, by the code that plays.
//!
//! Each game runs from frame 0 with the state carried along, as in play. Three copies of the
//! network see it: one conditions each component on the true classes before it (likelihoods), one
//! on its own choices (what it would press), and one also sees its own inputs instead of the
//! recorded ones (closed loop on a recording: positions are recorded, inputs are its own).

use features::{Action, BUTTONS, COMPONENTS, Controller, FrameState, View};
use plain::policy::{Checkpoint, Live};
use replay::Game;
use serde::{Deserialize, Serialize};

use crate::data::{parse_players, read_replay};
use crate::error::Error;
use crate::judge::{JudgedFrame, Judgement, OFFSETS};

/// Beginnings of presses of one button.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Onsets {
    /// The button.
    pub button: String,
    /// Presses that were recorded.
    pub recorded: u64,
    /// Those with a press of the policy within a frame, each of which counts once.
    pub matched: u64,
    /// Presses of the policy.
    pub pressed: u64,
}

/// What an evaluation came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Likelihoods, accuracies, calibration.
    pub judgement: Judgement,
    /// The closed loop on recordings, for each button.
    pub onsets: Vec<Onsets>,
    /// Replays that were judged.
    pub replays: u64,
    /// Replays that could not be read, and why.
    pub refused: Vec<(String, String)>,
}

/// Which frames of whom are judged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EvaluateSettings {
    /// Whose inputs, as in the settings of the data.
    pub players: String,
    /// The share of each game's frames behind the countdown from which on frames are judged; those
    /// before it are seen only.
    pub from: f64,
}

impl Default for EvaluateSettings {
    fn default() -> Self {
        Self { players: "all".to_owned(), from: 0.0 }
    }
}

/// Judges a policy on replays.
///
/// # Errors
/// No replay with a frame to judge.
pub fn evaluate(
    checkpoint: &Checkpoint,
    names: &[String],
    settings: &EvaluateSettings,
) -> Result<Evaluation, Error> {
    let players = parse_players(&settings.players)?;
    let mut judge = Judge::new(checkpoint)?;
    let mut refused = Vec::new();
    let mut replays = 0;
    for name in names {
        let game = read_replay(name)
            .and_then(|bytes| Game::read(&bytes).map_err(|error| error.to_string()));
        let game = match game {
            Ok(game) => game,
            Err(why) => {
                refused.push((name.clone(), why));
                continue;
            }
        };
        replays += 1;
        for view in features::views(&game, players) {
            judge.game(&game, view, settings.from)?;
        }
    }
    if judge.judgement.frames == 0 {
        let reasons: Vec<String> =
            refused.iter().take(3).map(|(name, why)| format!("{name}: {why}")).collect();
        return Err(Error::data(format!("no frame could be judged: {}", reasons.join("; ")))
            .hint("see `--players` and `--from`"));
    }
    Ok(Evaluation { judgement: judge.judgement, onsets: judge.onsets, replays, refused })
}

struct Judge {
    forced: Live<f32>,
    free: Live<f32>,
    closed: Live<f32>,
    schema: features::Schema,
    discretiser: features::Discretiser,
    delay: usize,
    judgement: Judgement,
    onsets: Vec<Onsets>,
}

impl Judge {
    fn new(checkpoint: &Checkpoint) -> Result<Self, Error> {
        let contract = checkpoint.contract();
        let live = Live::<f32>::new(checkpoint)?;
        let onsets = BUTTONS
            .iter()
            .map(|(name, _)| Onsets { button: (*name).to_owned(), ..Onsets::default() });
        Ok(Self {
            forced: live.clone(),
            free: live.clone(),
            closed: live,
            schema: contract.features()?,
            discretiser: contract.classes.into(),
            delay: contract.delay,
            judgement: Judgement::new(contract.delay),
            onsets: onsets.collect(),
        })
    }

    fn game(&mut self, game: &Game, view: View, from: f64) -> Result<(), Error> {
        let Some(port) = game.ports[view.own_port].as_ref() else { return Ok(()) };
        for live in [&mut self.forced, &mut self.free, &mut self.closed] {
            live.reset();
        }
        let first = usize::try_from(-i64::from(game.first_frame)).unwrap_or(0);
        let played = game.len().saturating_sub(first);
        let judged = first + (from * played as f64).round() as usize;
        let action = |row: usize| self.discretiser.action(&Controller::of(&port.leader, row));
        let actions: Vec<Action> = (first..game.len()).map(action).collect();
        // What the closed loop pressed in each frame; until its first answer takes effect, what was
        // recorded.
        let mut closed_actions: Vec<Action> = actions.clone();
        let mut numbers = vec![0.0; self.schema.width()];
        let mut state = FrameState::default();
        let mut probabilities: Vec<Vec<f64>> = Vec::new();
        for k in 0..actions.len().saturating_sub(self.delay) {
            let row = first + k;
            state.read(game, row);
            let states = std::slice::from_ref(&state);
            self.schema.compute(states, view, &mut numbers)?;
            let target = actions[k + self.delay];
            self.forced.step(&numbers, |component, _| target.0[component])?;
            let pressed = self.free.step(&numbers, |_, logits| greedy(logits))?;
            if let Some(port) = &mut state.ports[view.own_port] {
                port.controller = self.discretiser.controller(closed_actions[k]);
            }
            self.schema.compute(std::slice::from_ref(&state), view, &mut numbers)?;
            closed_actions[k + self.delay] =
                self.closed.step(&numbers, |_, logits| greedy(logits))?;
            if row < judged {
                continue;
            }
            probabilities.clear();
            probabilities.extend((0..COMPONENTS.len()).map(|c| softmax(self.forced.logits(c))));
            let actions = &actions[k..(k + OFFSETS.max(self.delay + 1)).min(actions.len())];
            let probabilities = &probabilities;
            self.judgement.add(&JudgedFrame { probabilities, pressed, actions });
        }
        let begin = judged.saturating_sub(first);
        for (button, onsets) in self.onsets.iter_mut().enumerate() {
            let recorded = onsets_of(&actions, button, begin);
            let pressed = onsets_of(&closed_actions, button, begin);
            onsets.recorded += recorded.len() as u64;
            onsets.pressed += pressed.len() as u64;
            onsets.matched += matched(&recorded, &pressed);
        }
        Ok(())
    }
}

/// Frames from `begin` on in which a button goes down.
fn onsets_of(actions: &[Action], button: usize, begin: usize) -> Vec<usize> {
    let is_onset = |k: &usize| actions[*k].0[button] != 0 && actions[*k - 1].0[button] == 0;
    (begin.max(1)..actions.len()).filter(is_onset).collect()
}

/// How many of the first have one of the second within a frame; both grow.
fn matched(recorded: &[usize], pressed: &[usize]) -> u64 {
    let (mut next, mut count) = (0, 0);
    for onset in recorded {
        while pressed.get(next).is_some_and(|p| p + 1 < *onset) {
            next += 1;
        }
        if pressed.get(next).is_some_and(|p| *p <= onset + 1) {
            (next, count) = (next + 1, count + 1);
        }
    }
    count
}

/// The likeliest class.
pub(crate) fn greedy(logits: &[f32]) -> u8 {
    let mut best = 0;
    for (k, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = k;
        }
    }
    best as u8
}

/// Probabilities of logits.
pub(crate) fn softmax(logits: &[f32]) -> Vec<f64> {
    let top = logits.iter().fold(f64::NEG_INFINITY, |top, x| top.max(f64::from(*x)));
    let weights: Vec<f64> = logits.iter().map(|x| (f64::from(*x) - top).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::{matched, softmax};

    #[test]
    fn presses_match_within_a_frame_and_count_once() {
        assert_eq!(matched(&[10, 20, 30], &[11, 19, 30]), 3);
        assert_eq!(matched(&[10, 20, 30], &[12, 18]), 0);
        // One press between two recorded ones matches one of them.
        assert_eq!(matched(&[10, 12], &[11]), 1);
    }

    #[test]
    fn probabilities_of_large_logits_are_finite() {
        assert_eq!(softmax(&[1000.0, 1000.0]), [0.5, 0.5]);
        assert_eq!(softmax(&[-1000.0, 0.0])[1], 1.0);
    }
}
