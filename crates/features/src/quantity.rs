//! What a feature is computed from: names <-> quantities, and a frame -> their values.

use exmc_fault::{Fault, planted};
use replay::PORTS;

use crate::action_category::{CATEGORIES, action_category, can_act, is_attack, is_grab};
use crate::state::{BUTTONS, CharacterState, Controller, FrameState, ItemState, PortState};

/// Whose character a quantity is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Side {
    Own,
    Opponent,
}

/// Who looks at a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Port of the player whose inputs are to be predicted, from 0.
    pub own_port: usize,
    /// Port of the other player, from 0.
    pub opponent: usize,
    /// Number of the player's name in the names that a policy knows, 0 for none.
    pub name: u16,
}

macro_rules! quantities {
    ($(#[$doc:meta])* $enum:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names in text say it")]
        pub enum $enum { $($variant),* }

        impl $enum {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|quantity| quantity.name() == name)
            }
        }
    };
}

quantities! {
    /// A number of a character.
    OfCharacter {
        Percent = "percent",
        Facing = "facing",
        X = "x",
        Y = "y",
        Invulnerable = "invulnerable",
        Jumps = "jumps",
        Shield = "shield",
        Grounded = "grounded",
        SpeedXAir = "speed_x_air",
        SpeedXGround = "speed_x_ground",
        SpeedX = "speed_x",
        SpeedY = "speed_y",
        KnockbackX = "knockback_x",
        KnockbackY = "knockback_y",
        Hitstun = "hitstun",
        Hitlag = "hitlag",
        ActionAge = "action_age",
        Stocks = "stocks",
        LedgeDistance = "ledge_distance",
        Action = "action",
        Character = "character",
    }
}

quantities! {
    /// A number of the second of the Ice Climbers; 0 without one.
    OfFollower {
        Exists = "exists",
        X = "x",
        Y = "y",
        Facing = "facing",
        Grounded = "grounded",
        Percent = "percent",
        Stocks = "stocks",
        Hitstun = "hitstun",
        ActionAge = "action_age",
        Invulnerable = "invulnerable",
        Category = "category",
        Attacks = "attacks",
        Grabs = "grabs",
        CanAct = "can_act",
        InStep = "in_step",
    }
}

quantities! {
    /// A number of an item.
    OfItem {
        Exists = "exists",
        Owner = "owner",
        X = "x",
        Y = "y",
        Kind = "kind",
        SpeedX = "speed_x",
        SpeedY = "speed_y",
    }
}

quantities! {
    /// An axis of the own controller.
    Axis {
        StickX = "stick_x",
        StickY = "stick_y",
        CStickX = "c_stick_x",
        CStickY = "c_stick_y",
        Trigger = "trigger",
    }
}

quantities! {
    /// A number of both players or of the game.
    OfGame {
        Stage = "stage",
        Name = "name",
        Distance = "distance",
        RelativeX = "relative_x",
        RelativeY = "relative_y",
        Frame = "frame",
        Zero = "zero",
    }
}

/// What a feature is computed from. Its text is its name: `own.percent`, `opponent.follower.x`,
/// `input.stick_x`, `item.0.owner`, `distance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Of a player's character.
    Character(Side, OfCharacter),
    /// Of the second of the Ice Climbers.
    Follower(Side, OfFollower),
    /// A button of the own controller in the observed frame, by its place in
    /// [`BUTTONS`](crate::BUTTONS).
    Button(u8),
    /// An axis of the own controller in the observed frame.
    Axis(Axis),
    /// Of an item, by its place in the frame.
    Item(u8, OfItem),
    /// Of both players or the game.
    Game(OfGame),
}

/// Stages of tournaments; all others share a place behind them.
const STAGES: [u16; 6] = [2, 3, 8, 28, 31, 32];
/// Names that a policy can tell apart.
const NAMES: usize = 112;
/// Where the ledge is taken to be on every stage, in the game's units.
const LEDGE: f32 = 85.0;

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let side_name = |side: &Side| if *side == Side::Own { "own" } else { "opponent" };
        match self {
            Self::Character(side, what) => write!(f, "{}.{}", side_name(side), what.name()),
            Self::Follower(side, what) => write!(f, "{}.follower.{}", side_name(side), what.name()),
            Self::Button(k) => {
                write!(f, "input.{}", BUTTONS.get(usize::from(*k)).map_or("", |(name, _)| name))
            }
            Self::Axis(axis) => write!(f, "input.{}", axis.name()),
            Self::Item(k, what) => write!(f, "item.{k}.{}", what.name()),
            Self::Game(what) => f.write_str(what.name()),
        }
    }
}

impl Quantity {
    /// The quantity of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let parts: Vec<&str> = name.split('.').collect();
        let side = |word| match word {
            "own" => Some(Side::Own),
            "opponent" => Some(Side::Opponent),
            _ => None,
        };
        Some(match parts[..] {
            [word, "follower", what] => Self::Follower(side(word)?, OfFollower::parse(what)?),
            ["item", k, what] => Self::Item(k.parse().ok()?, OfItem::parse(what)?),
            ["input", what] => match BUTTONS.iter().position(|(name, _)| *name == what) {
                Some(k) => Self::Button(k as u8),
                None => Self::Axis(Axis::parse(what)?),
            },
            [word, what] => Self::Character(side(word)?, OfCharacter::parse(what)?),
            [what] => Self::Game(OfGame::parse(what)?),
            _ => return None,
        })
    }

    /// Numbers that it takes: 1, or a place for each of its values.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Self::Follower(_, OfFollower::Category) => CATEGORIES.len(),
            Self::Game(OfGame::Stage) => STAGES.len() + 1,
            Self::Game(OfGame::Name) => NAMES,
            _ => 1,
        }
    }

    /// Rows of the table that a network looks the number up in; `None` for plain numbers.
    #[must_use]
    pub fn table(&self) -> Option<usize> {
        match self {
            Self::Character(_, OfCharacter::Action) => Some(399),
            Self::Character(_, OfCharacter::Character) => Some(33),
            _ => None,
        }
    }
}

fn truth(is: bool) -> f32 {
    f32::from(u8::from(is))
}

/// -1, 0 or 1: the number has a sign and is no truth value.
fn facing(direction: f32) -> f32 {
    if planted(Fault::FacingIsTrue) {
        return truth(direction != 0.0);
    }
    truth(direction > 0.0) - truth(direction < 0.0)
}

/// What any of some frames shows.
pub(crate) struct Shown {
    /// The most items of a frame.
    items: usize,
    /// Whether there is a follower, by port.
    followers: [bool; PORTS],
}

impl Shown {
    pub(crate) fn of(states: &[FrameState]) -> Self {
        let mut shown = Self { items: 0, followers: [false; PORTS] };
        for state in states {
            shown.items = shown.items.max(state.items.len());
            for (found, port) in shown.followers.iter_mut().zip(&state.ports) {
                *found |= port.as_ref().is_some_and(|port| port.follower.is_some());
            }
        }
        shown
    }
}

impl Quantity {
    /// Whether the quantity is 0 in all of the frames, whatever else they show.
    pub(crate) fn is_zero(&self, shown: &Shown, view: View) -> bool {
        match self {
            Self::Follower(side, _) => {
                let port = if *side == Side::Own { view.own_port } else { view.opponent };
                !shown.followers.get(port).copied().unwrap_or_default()
            }
            Self::Item(item, _) => usize::from(*item) >= shown.items,
            Self::Game(OfGame::Zero) => true,
            _ => false,
        }
    }
}

/// Where the values of one quantity go: into a place of each frame's features, which are 0 before,
/// scaled and bounded.
pub(crate) struct Places<'a> {
    /// Features, frame after frame.
    pub(crate) out: &'a mut [f32],
    /// Features a frame.
    pub(crate) stride: usize,
    /// The place in each frame.
    pub(crate) place: usize,
    pub(crate) scale: f32,
    pub(crate) lower: f32,
    pub(crate) upper: f32,
}

impl Places<'_> {
    /// One number a frame. A loop for each quantity, so that the choice of the quantity is made
    /// once for many frames.
    #[inline(always)]
    fn numbers(self, states: &[FrameState], value: impl Fn(&FrameState) -> f32) {
        for (features, state) in self.out.chunks_exact_mut(self.stride).zip(states) {
            let scaled = value(state) * self.scale;
            let scaled = if scaled.is_nan() { 0.0 } else { scaled };
            if let Some(place) = features.get_mut(self.place) {
                *place = scaled.max(self.lower).min(self.upper);
            }
        }
    }

    /// A one among zeros in each frame.
    fn ones(
        self,
        states: &[FrameState],
        width: usize,
        value: impl Fn(&FrameState) -> Option<usize>,
    ) {
        for (features, state) in self.out.chunks_exact_mut(self.stride).zip(states) {
            let places = features.get_mut(self.place..self.place + width);
            if let (Some(places), Some(one)) = (places, value(state))
                && let Some(place) = places.get_mut(one)
            {
                *place = 1.0;
            }
        }
    }
}

fn port(state: &FrameState, port: usize) -> Option<&PortState> {
    state.ports.get(port).and_then(Option::as_ref)
}

/// The values of a quantity in every frame.
pub(crate) fn evaluate(quantity: Quantity, states: &[FrameState], view: View, places: Places<'_>) {
    let port_of = |side| if side == Side::Own { view.own_port } else { view.opponent };
    match quantity {
        Quantity::Character(side, what) => character(port_of(side), what, states, places),
        Quantity::Follower(side, OfFollower::Category) => {
            let port_number = port_of(side);
            places.ones(states, CATEGORIES.len(), |state| {
                Some(action_category(port(state, port_number)?.follower.as_ref()?.action))
            });
        }
        Quantity::Follower(side, what) => follower(port_of(side), what, states, places),
        Quantity::Button(k) => {
            let mask = BUTTONS.get(usize::from(k)).map_or(0, |(_, mask)| *mask);
            places.numbers(states, |state| {
                port(state, view.own_port).map_or(0.0, |p| truth(p.controller.buttons & mask != 0))
            });
        }
        Quantity::Axis(axis) => {
            let value = match axis {
                Axis::StickX => |c: &Controller| c.stick_x,
                Axis::StickY => |c: &Controller| c.stick_y,
                Axis::CStickX => |c: &Controller| c.c_stick_x,
                Axis::CStickY => |c: &Controller| c.c_stick_y,
                Axis::Trigger => |c: &Controller| c.trigger,
            };
            places.numbers(states, |state| {
                port(state, view.own_port).map_or(0.0, |p| value(&p.controller))
            });
        }
        Quantity::Item(k, what) => places.numbers(states, |state| {
            state.items.get(usize::from(k)).map_or(0.0, |item| of_item(item, what, view))
        }),
        Quantity::Game(what) => game(what, states, view, places),
    }
}

fn character(port_number: usize, what: OfCharacter, states: &[FrameState], places: Places<'_>) {
    macro_rules! each {
        (|$c:ident| $value:expr) => {
            places.numbers(states, |state| {
                port(state, port_number).map_or(0.0, |p| {
                    let $c = &p.leader;
                    $value
                })
            })
        };
    }
    match what {
        OfCharacter::Percent => each!(|c| c.percent),
        OfCharacter::Facing => each!(|c| facing(c.facing)),
        OfCharacter::X => each!(|c| c.x),
        OfCharacter::Y => each!(|c| c.y),
        OfCharacter::Invulnerable => each!(|c| truth(c.hurtbox != 0)),
        OfCharacter::Jumps => each!(|c| f32::from(c.jumps)),
        OfCharacter::Shield => each!(|c| c.shield),
        OfCharacter::Grounded => each!(|c| truth(c.airborne == 0)),
        OfCharacter::SpeedXAir => each!(|c| c.speed_x_air),
        OfCharacter::SpeedXGround => each!(|c| c.speed_x_ground),
        OfCharacter::SpeedX => {
            each!(|c| if c.airborne == 0 { c.speed_x_ground } else { c.speed_x_air })
        }
        OfCharacter::SpeedY => each!(|c| c.speed_y),
        OfCharacter::KnockbackX => each!(|c| c.knockback_x),
        OfCharacter::KnockbackY => each!(|c| c.knockback_y),
        OfCharacter::Hitstun => each!(|c| c.hitstun()),
        OfCharacter::Hitlag => each!(|c| c.hitlag),
        OfCharacter::ActionAge => each!(|c| c.action_age),
        OfCharacter::Stocks => each!(|c| f32::from(c.stocks)),
        OfCharacter::LedgeDistance => each!(|c| (LEDGE - c.x.abs()) / LEDGE),
        OfCharacter::Action => each!(|c| f32::from(c.action)),
        OfCharacter::Character => each!(|c| f32::from(c.character)),
    }
}

fn follower(port_number: usize, what: OfFollower, states: &[FrameState], places: Places<'_>) {
    places.numbers(states, |state| match port(state, port_number) {
        Some(PortState { leader, follower: Some(follower), .. }) => {
            of_follower(follower, leader, what)
        }
        _ => 0.0,
    });
}

fn of_follower(c: &CharacterState, leader: &CharacterState, what: OfFollower) -> f32 {
    let category = || action_category(c.action);
    match what {
        OfFollower::Exists => 1.0,
        OfFollower::X => c.x,
        OfFollower::Y => c.y,
        OfFollower::Facing => facing(c.facing),
        OfFollower::Grounded => truth(c.airborne == 0),
        OfFollower::Percent => c.percent,
        OfFollower::Stocks => f32::from(c.stocks),
        OfFollower::Hitstun => c.hitstun(),
        OfFollower::ActionAge => c.action_age,
        OfFollower::Invulnerable => truth(c.hurtbox != 0),
        OfFollower::Category => 0.0,
        OfFollower::Attacks => truth(is_attack(category())),
        OfFollower::Grabs => truth(is_grab(category())),
        OfFollower::CanAct => truth(can_act(category())),
        OfFollower::InStep => truth(category() == action_category(leader.action)),
    }
}

/// An owner is 1 for the own port, 2 for another and 0 for none.
fn of_item(item: &ItemState, what: OfItem, view: View) -> f32 {
    match what {
        OfItem::Exists => 1.0,
        OfItem::Owner => match usize::try_from(item.owner) {
            Ok(port) if port == view.own_port => 1.0,
            Ok(_) => 2.0,
            Err(_) => 0.0,
        },
        OfItem::X => item.x,
        OfItem::Y => item.y,
        OfItem::Kind => f32::from(item.kind),
        OfItem::SpeedX => item.speed_x,
        OfItem::SpeedY => item.speed_y,
    }
}

fn game(what: OfGame, states: &[FrameState], view: View, places: Places<'_>) {
    // From the own character to the other; 0 without one of them.
    let between =
        |state: &FrameState| match (port(state, view.own_port), port(state, view.opponent)) {
            (Some(player), Some(other)) => {
                (other.leader.x - player.leader.x, other.leader.y - player.leader.y)
            }
            _ => (0.0, 0.0),
        };
    match what {
        OfGame::Stage => places.ones(states, STAGES.len() + 1, |state| {
            let place = STAGES.iter().position(|stage| *stage == state.stage);
            Some(place.unwrap_or(STAGES.len()))
        }),
        OfGame::Name => {
            places.ones(states, NAMES, |_| Some(usize::from(view.name).min(NAMES - 1)));
        }
        OfGame::Distance => places.numbers(states, |state| {
            let (x, y) = between(state);
            (x * x + y * y).sqrt()
        }),
        OfGame::RelativeX => places.numbers(states, |state| between(state).0),
        OfGame::RelativeY => places.numbers(states, |state| between(state).1),
        OfGame::Frame => places.numbers(states, |state| state.frame as f32),
        OfGame::Zero => places.numbers(states, |_| 0.0),
    }
}
