//! A checkpoint, a game's frames, a seed -> the controller of each next frame.

use std::collections::VecDeque;

use features::{Controller, Discretiser, FrameState, Schema, View};

use super::checkpoint::Checkpoint;
use super::contract::Contract;
use super::error::CheckpointError;
use super::live::{Live, Real};

/// How an agent chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct AgentSettings {
    /// Logits are divided by it before a class is drawn; at 0 the most likely class is taken (1).
    pub temperature: f32,
    /// Seed of the draws (0).
    pub seed: u64,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self { temperature: 1.0, seed: 0 }
    }
}

/// A policy that plays.
///
/// What it chooses at a frame is pressed `delay` frames later, as in training; the first
/// `delay - 1` frames are played with nothing pressed. Acting allocates nothing.
#[derive(Clone, Debug)]
pub struct Agent {
    contract: Contract,
    live: Live<f32>,
    schema: Schema,
    discretiser: Discretiser,
    settings: AgentSettings,
    features: Vec<f32>,
    /// What is to be pressed at the next frames.
    pending: VecDeque<Controller>,
    random: SplitMix,
}

impl Agent {
    /// The agent of a checkpoint, for a game's side that computes `schema` and plays with `delay`.
    ///
    /// # Errors
    /// Another schema or delay than the checkpoint's; a temperature that is negative or no number.
    pub fn new(
        checkpoint: &Checkpoint,
        schema: &Schema,
        delay: usize,
        settings: AgentSettings,
    ) -> Result<Self, CheckpointError> {
        let contract = checkpoint.contract();
        contract.check_schema(schema)?;
        contract.check_delay(delay)?;
        let temperature = settings.temperature;
        if !(0.0..=1e6).contains(&temperature) {
            return Err(CheckpointError::mismatch("temperature", temperature, "0 to 1000000"));
        }
        let mut agent = Self {
            contract: contract.clone(),
            live: Live::new(checkpoint)?,
            schema: schema.clone(),
            discretiser: contract.classes.into(),
            settings,
            features: vec![0.0; schema.width()],
            pending: VecDeque::with_capacity(delay),
            random: SplitMix(0),
        };
        agent.reset();
        Ok(agent)
    }

    /// The agent of a checkpoint by the features and the delay that it was trained with.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn of(checkpoint: &Checkpoint, settings: AgentSettings) -> Result<Self, CheckpointError> {
        let contract = checkpoint.contract();
        Self::new(checkpoint, &contract.features()?, contract.delay, settings)
    }

    /// What it was trained as.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Forgets the game: the next frame is the first of another one, with the same draws.
    pub fn reset(&mut self) {
        self.live.reset();
        self.pending.clear();
        self.pending.extend((1..self.contract.delay).map(|_| neutral()));
        self.random = SplitMix(self.settings.seed);
    }

    /// Sees a frame, from the eyes of `view`, and gives the controller of the next frame.
    ///
    /// # Errors
    /// None for an agent that could be made.
    pub fn act(&mut self, state: &FrameState, view: View) -> Result<Controller, CheckpointError> {
        self.schema
            .compute(std::slice::from_ref(state), view, &mut self.features)
            .map_err(|e| CheckpointError::mismatch("schema", e, "features of a frame"))?;
        let (temperature, random) = (self.settings.temperature, &mut self.random);
        let choose = |_: usize, logits: &[f32]| match temperature {
            0.0 => most_likely(logits),
            _ => draw(logits, temperature, random.unit()),
        };
        let action = self.live.step(&self.features, choose)?;
        self.pending.push_back(self.discretiser.controller(action));
        Ok(self.pending.pop_front().unwrap_or_else(neutral))
    }
}

/// Nothing pressed.
fn neutral() -> Controller {
    Controller::default()
}

/// The first of the largest; 0 when none is a number.
fn most_likely(logits: &[f32]) -> u8 {
    let mut best = (0, f32::NEG_INFINITY);
    for (class, logit) in logits.iter().enumerate() {
        if *logit > best.1 {
            best = (class, *logit);
        }
    }
    best.0 as u8
}

/// The class at a share `unit` of the probabilities, one after the other.
fn draw(logits: &[f32], temperature: f32, unit: f32) -> u8 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weight = |logit: &f32| Real::exp((*logit - most) / temperature);
    let mut rest = unit * logits.iter().map(weight).sum::<f32>();
    for (class, logit) in logits.iter().enumerate() {
        rest -= weight(logit);
        if rest < 0.0 {
            return class as u8;
        }
    }
    // Rounding leaves a little behind the last class.
    most_likely(logits)
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Copy, Debug)]
struct SplitMix(u64);

impl SplitMix {
    /// Uniform in [0, 1), in steps of 2^-24.
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 40) as f32 / (1 << 24) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::{SplitMix, draw, most_likely};

    #[test]
    fn classes_are_drawn_with_their_probabilities() {
        // Probabilities 0.1, 0.6, 0.3 at temperature 1; squared and normalised at 1/2.
        let logits = [0.1_f32.ln(), 0.6_f32.ln(), 0.3_f32.ln()];
        for (temperature, expected) in [(1.0, [0.1, 0.6, 0.3]), (0.5, [0.01, 0.36, 0.09])] {
            let total: f64 = expected.iter().sum();
            let mut random = SplitMix(7);
            let (mut counts, n) = ([0.0; 3], 100_000);
            for _ in 0..n {
                counts[usize::from(draw(&logits, temperature, random.unit()))] += 1.0;
            }
            for (count, p) in counts.iter().zip(expected.map(|p: f64| p / total)) {
                // Five standard errors of a share.
                let bound = 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt();
                assert!((count / f64::from(n) - p).abs() < bound, "{counts:?} at {temperature}");
            }
        }
        assert_eq!((draw(&logits, 1.0, 0.0), most_likely(&logits)), (0, 1));
    }

    #[test]
    fn logits_that_are_no_numbers_choose_a_class() {
        let nothing = [f32::NAN, f32::NAN];
        assert_eq!((draw(&nothing, 1.0, 0.5), most_likely(&nothing)), (0, 0));
        assert_eq!(most_likely(&[f32::NAN, -1.0]), 1);
    }
}
