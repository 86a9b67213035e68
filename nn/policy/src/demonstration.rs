//! A seed -> a replay of the stub game, played by its expert with a hand that slips now and then.
//!
//! An expert that never errs holds its inputs for long, so that a policy learns to repeat its own
//! last input and, at rest in a game's first frame, rests for ever. A slip of one frame says
//! nothing about the next input, so inputs no longer explain themselves, and states beside the
//! expert's way are seen too.

use environment::{Environment, Expert, StubGame, StubSettings, record};
use features::Controller;

use crate::error::Error;
use crate::random::Random;

/// The bit of the button that jumps.
const JUMP: u16 = 0x400;

/// Features for the stub game: where the character and the mark are, finely enough to tell one unit
/// from the next, without the own inputs.
pub const DEMONSTRATION_SCHEMA: &str = "\
own.x * 0.5 in [-20, 20]
own.y * 0.25 in [-10, 10]
own.grounded * 1 in [0, 1]
own.speed_y * 0.25 in [-10, 10]
opponent.x * 0.1 in [-10, 10]
";

/// The bytes of a game in which a share of the frames, `slips`, has a random input.
///
/// # Errors
/// Only if the stub game's own settings were wrong.
pub fn demonstration(seed: u64, slips: f64) -> Result<Vec<u8>, Error> {
    let settings = StubSettings::default();
    let (mut game, expert) = (StubGame::new(settings), Expert::new(settings));
    let mut random = Random::new(seed);
    let mut step = game.reset(seed)?;
    let mut states = vec![step.state.clone()];
    while !step.is_done {
        let mut controller = expert.controller(&step.state);
        if random.uniform() < slips {
            let kind = random.bits() % 4;
            controller = Controller {
                buttons: if kind == 3 { JUMP } else { 0 },
                stick_x: [-1.0, 0.0, 1.0, 0.0][kind as usize],
                ..Controller::default()
            };
        }
        step = game.step(&controller)?;
        states.push(step.state.clone());
    }
    record(&states).write().map_err(|e| Error::internal(e.to_string()))
}
