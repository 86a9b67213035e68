//! The stub game: run to the wall where the other player stands, over a block that must be jumped.
//!
//! A stage has a wall on either side and a block in the middle. The other player marks a wall; who
//! touches it gets a reward of 1, and the mark moves to the other wall. On the ground the stick
//! moves the character by one unit a frame, in the air likewise, so a jump costs no time; who runs
//! into the block from the side stands still. A jump is the button X pressed anew on the ground.
//!
//! All numbers are small integers, so a game is the same everywhere. From a wall the way to the
//! other is `2 * half_width` frames, and no policy is quicker than one unit a frame: the optimum is
//! known ([`optimal_crossings`]) and [`Expert`] reaches it.

use features::{CharacterState, Controller, FrameState, PortState, View};

use crate::{Environment, EnvironmentError, Step};

const OWN: usize = 0;
const MARK: usize = 1;
const FINAL_DESTINATION: u16 = 32;
const JUMP: u16 = 0x400;
/// The stick counts from here on, as the game's own dash does.
const STICK_THRESHOLD: f32 = 0.5;

/// Actions of the real game that look like what the character does.
const STAND: u16 = 14;
const RUN: u16 = 21;
const JUMP_FORWARD: u16 = 25;
const FALL: u16 = 29;
/// Internal and external numbers of Fox.
pub(crate) const FOX: u8 = 1;
pub(crate) const FOX_EXTERNAL: u8 = 2;

/// The stage and the length of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StubSettings {
    /// Units from the middle to each wall (40).
    pub half_width: i32,
    /// Units from the middle to each side of the block (2).
    pub half_block: i32,
    /// Height of the block (4).
    pub block_height: i32,
    /// Vertical speed with which a jump begins (4); gravity takes 1 a frame.
    pub jump_speed: i32,
    /// Frames of a game (600).
    pub frames: u32,
}

impl Default for StubSettings {
    fn default() -> Self {
        Self { half_width: 40, half_block: 2, block_height: 4, jump_speed: 4, frames: 600 }
    }
}

/// Crossings that the best policy makes, and no policy can exceed: from `x`, with the mark at the
/// wall on `side` (-1 or 1), in `frames` frames.
#[must_use]
pub fn optimal_crossings(settings: &StubSettings, x: i32, side: i32, frames: u32) -> u32 {
    let first = settings.half_width.abs_diff(side * x);
    let full_width = 2 * settings.half_width.unsigned_abs();
    if frames < first || full_width == 0 { 0 } else { 1 + (frames - first) / full_width }
}

/// The game.
#[derive(Clone, Debug)]
pub struct StubGame {
    settings: StubSettings,
    frame: i32,
    x: i32,
    y: i32,
    speed_x: i32,
    speed_y: i32,
    is_airborne: bool,
    facing: i32,
    action: u16,
    action_age: u32,
    side: i32,
    controller: Controller,
}

impl StubGame {
    /// A game that is begun by [`Environment::reset`].
    #[must_use]
    pub fn new(settings: StubSettings) -> Self {
        Self {
            settings,
            frame: 0,
            x: -settings.half_width,
            y: 0,
            speed_x: 0,
            speed_y: 0,
            is_airborne: false,
            facing: 1,
            action: STAND,
            action_age: 0,
            side: 1,
            controller: Controller::default(),
        }
    }

    /// Where the character is and which wall counts, for [`optimal_crossings`].
    #[must_use]
    pub fn position(&self) -> (i32, i32) {
        (self.x, self.side)
    }

    fn is_block(&self, x: i32, y: i32) -> bool {
        x.abs() <= self.settings.half_block && y < self.settings.block_height
    }

    fn ground(&self, x: i32) -> i32 {
        if x.abs() <= self.settings.half_block { self.settings.block_height } else { 0 }
    }

    /// Moves by the controller; the reward.
    fn play(&mut self, controller: &Controller) -> f64 {
        let wall = self.settings.half_width;
        let pressed = controller.buttons & !self.controller.buttons;
        if pressed & JUMP != 0 && !self.is_airborne {
            (self.is_airborne, self.speed_y) = (true, self.settings.jump_speed);
        }
        if self.is_airborne {
            self.y = (self.y + self.speed_y).max(self.ground(self.x));
            self.speed_y -= 1;
        }
        let wanted = i32::from(controller.stick_x >= STICK_THRESHOLD)
            - i32::from(controller.stick_x <= -STICK_THRESHOLD);
        let next = (self.x + wanted).clamp(-wall, wall);
        // The block's sides are walls for who is not above it.
        let next = if self.is_block(next, self.y) { self.x } else { next };
        self.speed_x = next - self.x;
        self.x = next;
        if wanted != 0 {
            self.facing = wanted;
        }
        if self.y <= self.ground(self.x) && self.speed_y < self.settings.jump_speed {
            // Landing, or walking off the block, from which one falls.
            (self.is_airborne, self.y, self.speed_y) = (false, self.ground(self.x), 0);
        } else if self.y > self.ground(self.x) {
            self.is_airborne = true;
        }
        let action = match (self.is_airborne, self.speed_y >= 0, self.speed_x != 0) {
            (true, true, _) => JUMP_FORWARD,
            (true, false, _) => FALL,
            (false, _, true) => RUN,
            (false, _, false) => STAND,
        };
        self.action_age = if action == self.action { self.action_age + 1 } else { 0 };
        self.action = action;
        self.controller = *controller;
        let is_reached = self.x == self.side * wall;
        if is_reached {
            self.side = -self.side;
        }
        f64::from(u8::from(is_reached))
    }

    fn state(&self) -> FrameState {
        let leader = CharacterState {
            character: FOX,
            action: self.action,
            x: self.x as f32,
            y: self.y as f32,
            facing: self.facing as f32,
            stocks: 4,
            shield: 60.0,
            action_age: self.action_age as f32,
            airborne: u8::from(self.is_airborne),
            jumps: if self.is_airborne { 0 } else { 1 },
            speed_x_air: if self.is_airborne { self.speed_x as f32 } else { 0.0 },
            speed_x_ground: if self.is_airborne { 0.0 } else { self.speed_x as f32 },
            speed_y: self.speed_y as f32,
            ..CharacterState::default()
        };
        let mark = CharacterState {
            character: FOX,
            action: STAND,
            x: (self.side * self.settings.half_width) as f32,
            facing: -self.side as f32,
            stocks: 4,
            shield: 60.0,
            jumps: 1,
            ..CharacterState::default()
        };
        let mut state =
            FrameState { frame: self.frame, stage: FINAL_DESTINATION, ..FrameState::default() };
        state.ports[OWN] = Some(PortState { controller: self.controller, leader, follower: None });
        state.ports[MARK] =
            Some(PortState { controller: Controller::default(), leader: mark, follower: None });
        state
    }
}

impl Environment for StubGame {
    fn view(&self) -> View {
        View { own_port: OWN, opponent: MARK, name: 0 }
    }

    /// The character begins anywhere on the ground, and either wall may be the first.
    fn reset(&mut self, seed: u64) -> Result<Step, EnvironmentError> {
        let StubSettings { half_width, half_block, block_height, jump_speed, frames } =
            self.settings;
        if half_block < 0 || half_width <= half_block || jump_speed < block_height.max(1) {
            return Err(EnvironmentError::new(
                "the stage of the stub game cannot be crossed without a stop: the walls must lie \
                 beside the block, and `jump_speed` must not be below `block_height`",
            ));
        }
        if frames == 0 {
            return Err(EnvironmentError::new("a game of the stub game has at least one frame"));
        }
        *self = Self::new(self.settings);
        let places = half_width - half_block;
        let draw = features::stable_hash(&format!("stub game {seed}"));
        // Left of the block or right of it, on the ground.
        let distance = half_block + 1 + (draw % places.unsigned_abs() as u64) as i32;
        self.x = if draw >> 40 & 1 == 0 { -distance } else { distance };
        self.side = if draw >> 41 & 1 == 0 { -1 } else { 1 };
        if self.x == self.side * half_width {
            self.side = -self.side;
        }
        self.facing = self.side;
        Ok(Step { state: self.state(), reward: 0.0, is_done: false })
    }

    fn step(&mut self, controller: &Controller) -> Result<Step, EnvironmentError> {
        if self.frame.unsigned_abs() >= self.settings.frames {
            return Err(EnvironmentError::new("the game is over: reset it before the next step"));
        }
        let reward = self.play(controller);
        self.frame += 1;
        let is_done = self.frame.unsigned_abs() >= self.settings.frames;
        Ok(Step { state: self.state(), reward, is_done })
    }
}

/// A policy that makes as many crossings as can be made: it runs to the mark and jumps so that it
/// is above the block when it gets there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expert {
    settings: StubSettings,
}

impl Expert {
    /// The expert of a stage.
    #[must_use]
    pub fn new(settings: StubSettings) -> Self {
        Self { settings }
    }

    /// What it presses after a frame.
    #[must_use]
    pub fn controller(&self, state: &FrameState) -> Controller {
        let port = |k: usize| state.ports[k].map(|port| port.leader).unwrap_or_default();
        let (player, mark) = (port(OWN), port(MARK));
        let direction = if mark.x < player.x { -1.0 } else { 1.0 };
        // Units to the side of the block that is next; from there on it is in the way.
        let distance = (-player.x * direction) as i32 - self.settings.half_block;
        let jumps = distance == 1 && player.airborne == 0;
        Controller {
            buttons: if jumps { JUMP } else { 0 },
            stick_x: direction,
            ..Controller::default()
        }
    }
}
