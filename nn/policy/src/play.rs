//! A policy in a game: frames -> controllers, by the features and the network of training.

use std::collections::VecDeque;

use environment::Environment;
use features::{Controller, Discretiser, FrameState, Schema, View};
use plain::policy::{Checkpoint, Live};

use crate::error::Error;
use crate::evaluate::{greedy, softmax};
use crate::random::Random;

/// How actions are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The likeliest class of each component.
    Greedy,
    /// A class drawn with probabilities of logits divided by this temperature.
    Draw(f64),
}

/// A policy that plays one game at a time.
#[derive(Debug)]
pub struct Player {
    live: Live<f32>,
    schema: Schema,
    discretiser: Discretiser,
    delay: usize,
    choice: Choice,
    random: Random,
    numbers: Vec<f32>,
    /// What takes effect in the frames to come.
    waiting: VecDeque<Controller>,
}

impl Player {
    /// The player of a checkpoint.
    ///
    /// # Errors
    /// A temperature that is not positive.
    pub fn new(checkpoint: &Checkpoint, choice: Choice, seed: u64) -> Result<Self, Error> {
        if let Choice::Draw(temperature) = choice
            && !(temperature > 0.0 && temperature.is_finite())
        {
            let message = format!("the temperature is {temperature}; expected a positive number");
            return Err(Error::usage(message));
        }
        let contract = checkpoint.contract();
        let schema = contract.features()?;
        let mut player = Self {
            live: Live::new(checkpoint)?,
            numbers: vec![0.0; schema.width()],
            schema,
            discretiser: contract.classes.into(),
            delay: contract.delay,
            choice,
            random: Random::new(seed),
            waiting: VecDeque::new(),
        };
        player.reset();
        Ok(player)
    }

    /// Forgets the game, for the next one.
    pub fn reset(&mut self) {
        self.live.reset();
        self.waiting.clear();
        // Answers take effect `delay` frames later; until then the controller is at rest.
        self.waiting.extend(std::iter::repeat_n(Controller::default(), self.delay - 1));
    }

    /// Sees a frame; the controller of the next one.
    ///
    /// # Errors
    /// Features that the network does not take, which a checkpoint rules out.
    pub fn act(&mut self, state: &FrameState, view: View) -> Result<Controller, Error> {
        self.schema.compute(std::slice::from_ref(state), view, &mut self.numbers)?;
        let (choice, random) = (self.choice, &mut self.random);
        let action = self.live.step(&self.numbers, |_, logits| match choice {
            Choice::Greedy => greedy(logits),
            Choice::Draw(temperature) => draw(logits, temperature, random),
        })?;
        self.waiting.push_back(self.discretiser.controller(action));
        Ok(self.waiting.pop_front().unwrap_or_default())
    }

    /// Plays a game to its end; the sum of its rewards, and its frames.
    ///
    /// # Errors
    /// What the game reports.
    pub fn play(
        &mut self,
        game: &mut dyn Environment,
        seed: u64,
    ) -> Result<(f64, Vec<FrameState>), Error> {
        self.reset();
        let view = game.view();
        let mut step = game.reset(seed)?;
        let (mut reward, mut frames) = (step.reward, vec![step.state.clone()]);
        while !step.is_done {
            step = game.step(&self.act(&step.state, view)?)?;
            reward += step.reward;
            frames.push(step.state.clone());
        }
        Ok((reward, frames))
    }
}

fn draw(logits: &[f32], temperature: f64, random: &mut Random) -> u8 {
    let scaled: Vec<f32> = logits.iter().map(|x| (f64::from(*x) / temperature) as f32).collect();
    let mut place = random.uniform();
    let probabilities = softmax(&scaled);
    for (class, probability) in probabilities.iter().enumerate() {
        place -= probability;
        if place < 0.0 {
            return class as u8;
        }
    }
    // Rounding left a rest.
    (logits.len() - 1) as u8
}
