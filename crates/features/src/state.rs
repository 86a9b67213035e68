//! What one frame shows: a row of a replay, or what a running game reports -> the same plain
//! values.
//!
//! [`FrameState`] is the only way into the features, so training and play cannot compute them
//! differently; a replay's row is turned into one by [`FrameState::of`], a live game fills one in.
//! What an old version lacks is 0 here, and nowhere else.

use replay::{Character, Game, PORTS};

/// Most items that a frame shows.
pub const MAX_ITEMS: usize = 15;

/// Buttons that a policy may press, with their bits, in the order of an action.
pub const BUTTONS: [(&str, u16); 8] = [
    ("A", 0x100),
    ("B", 0x200),
    ("X", 0x400),
    ("Y", 0x800),
    ("Z", 0x10),
    ("L", 0x40),
    ("R", 0x20),
    ("D_UP", 0x8),
];

/// A controller: buttons of [`BUTTONS`] and others as bits, sticks in [-1, 1], the trigger in
/// [0, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Controller {
    pub buttons: u16,
    pub stick_x: f32,
    pub stick_y: f32,
    pub c_stick_x: f32,
    pub c_stick_y: f32,
    pub trigger: f32,
}

/// A character after a frame. The fields are those of [`replay::Post`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the replay's columns")]
pub struct CharacterState {
    pub character: u8,
    pub action: u16,
    pub x: f32,
    pub y: f32,
    pub facing: f32,
    pub percent: f32,
    pub shield: f32,
    pub stocks: u8,
    pub action_age: f32,
    pub state_bits_4: u8,
    pub action_number: f32,
    pub airborne: u8,
    pub jumps: u8,
    pub hurtbox: u8,
    pub speed_x_air: f32,
    pub speed_y: f32,
    pub knockback_x: f32,
    pub knockback_y: f32,
    pub speed_x_ground: f32,
    pub hitlag: f32,
}

/// A port in a frame: what was pressed, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PortState {
    /// The controller with which the frame began.
    pub controller: Controller,
    /// The character after the frame.
    pub leader: CharacterState,
    /// The second of the Ice Climbers, while there is one.
    pub follower: Option<CharacterState>,
}

/// An item after a frame. The fields are those of [`replay::Item`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the replay's columns")]
pub struct ItemState {
    pub kind: u16,
    pub owner: i8,
    pub x: f32,
    pub y: f32,
    pub speed_x: f32,
    pub speed_y: f32,
}

/// One frame of a game.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameState {
    /// Number of the frame; 0 is the first in which players act.
    pub frame: i32,
    /// Number of the stage.
    pub stage: u16,
    /// Ports with a character in this frame.
    pub ports: [Option<PortState>; PORTS],
    /// Items, at most [`MAX_ITEMS`] of which count.
    pub items: Vec<ItemState>,
}

fn value_at<T: Copy + Default>(column: &[T], row: usize) -> T {
    column.get(row).copied().unwrap_or_default()
}

impl CharacterState {
    #[inline(always)]
    fn of(character: &Character, row: usize) -> Self {
        let post = &character.post;
        Self {
            character: value_at(&post.character, row),
            action: value_at(&post.action, row),
            x: value_at(&post.x, row),
            y: value_at(&post.y, row),
            facing: value_at(&post.facing, row),
            percent: value_at(&post.percent, row),
            shield: value_at(&post.shield, row),
            stocks: value_at(&post.stocks, row),
            action_age: value_at(&post.action_age, row),
            state_bits_4: value_at(&post.state_bits_4, row),
            action_number: value_at(&post.action_number, row),
            airborne: value_at(&post.airborne, row),
            jumps: value_at(&post.jumps, row),
            hurtbox: value_at(&post.hurtbox, row),
            speed_x_air: value_at(&post.speed_x_air, row),
            speed_y: value_at(&post.speed_y, row),
            knockback_x: value_at(&post.knockback_x, row),
            knockback_y: value_at(&post.knockback_y, row),
            speed_x_ground: value_at(&post.speed_x_ground, row),
            hitlag: value_at(&post.hitlag, row),
        }
    }

    /// Frames of hitstun that are left; the number that holds them has other meanings outside of
    /// hitstun.
    #[must_use]
    pub fn hitstun(&self) -> f32 {
        if self.state_bits_4 & 0x02 != 0 { self.action_number } else { 0.0 }
    }
}

impl Controller {
    /// The controller with which a frame began: buttons as they were pressed, sticks as the game
    /// took them.
    #[must_use]
    pub fn of(character: &Character, row: usize) -> Self {
        let pre = &character.pre;
        Self {
            buttons: value_at(&pre.physical_buttons, row),
            stick_x: value_at(&pre.stick_x, row),
            stick_y: value_at(&pre.stick_y, row),
            c_stick_x: value_at(&pre.c_stick_x, row),
            c_stick_y: value_at(&pre.c_stick_y, row),
            trigger: value_at(&pre.trigger, row),
        }
    }
}

impl FrameState {
    /// A row of a replay.
    #[must_use]
    pub fn of(game: &Game, row: usize) -> Self {
        let mut state = Self::default();
        state.read(game, row);
        state
    }

    /// A row of a replay, in the memory of another.
    pub fn read(&mut self, game: &Game, row: usize) {
        self.frame = game.frame_of(row);
        self.stage = game.start.stage;
        for (state, port) in self.ports.iter_mut().zip(&game.ports) {
            let port = port.as_ref().filter(|port| port.leader.is_present(row));
            let Some(port) = port else {
                *state = None;
                continue;
            };
            let seen = state.get_or_insert_default();
            seen.controller = Controller::of(&port.leader, row);
            seen.leader = CharacterState::of(&port.leader, row);
            let follower = port.follower.as_ref().filter(|follower| follower.is_present(row));
            seen.follower = follower.map(|follower| CharacterState::of(follower, row));
        }
        self.items.clear();
        let items = &game.items.rows;
        self.items.extend(game.items.of(row).take(MAX_ITEMS).map(|item| ItemState {
            kind: value_at(&items.kind, item),
            owner: value_at(&items.owner, item),
            x: value_at(&items.x, item),
            y: value_at(&items.y, item),
            speed_x: value_at(&items.speed_x, item),
            speed_y: value_at(&items.speed_y, item),
        }));
    }
}
