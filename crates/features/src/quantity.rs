//! What a feature is computed from: names <-> quantities, and a frame -> their values.

use exmc_fault::{Fault, planted};

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
    pub own: usize,
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
        let side = |side: &Side| if *side == Side::Own { "own" } else { "opponent" };
        match self {
            Self::Character(of, what) => write!(f, "{}.{}", side(of), what.name()),
            Self::Follower(of, what) => write!(f, "{}.follower.{}", side(of), what.name()),
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

/// A frame as a view sees it, with what several quantities share.
pub(crate) struct Seen<'a> {
    state: &'a FrameState,
    view: View,
    own: Option<&'a PortState>,
    opponent: Option<&'a PortState>,
}

/// A value, or the place of the one among zeros.
pub(crate) enum Seeing {
    Number(f32),
    Place(Option<usize>),
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

impl<'a> Seen<'a> {
    pub(crate) fn new(state: &'a FrameState, view: View) -> Self {
        let port = |k: usize| state.ports.get(k).and_then(Option::as_ref);
        Self { state, view, own: port(view.own), opponent: port(view.opponent) }
    }

    #[inline]
    pub(crate) fn see(&self, quantity: Quantity) -> Seeing {
        let number = match quantity {
            Quantity::Character(side, what) => {
                self.port(side).map_or(0.0, |port| character(&port.leader, what))
            }
            Quantity::Follower(side, what) => match self.port(side) {
                Some(PortState { leader, follower: Some(follower), .. }) => {
                    if what == OfFollower::Category {
                        return Seeing::Place(Some(action_category(follower.action)));
                    }
                    self::follower(follower, leader, what)
                }
                _ if what == OfFollower::Category => return Seeing::Place(None),
                _ => 0.0,
            },
            Quantity::Button(k) => self.own.map_or(0.0, |port| {
                let mask = BUTTONS.get(usize::from(k)).map_or(0, |(_, mask)| *mask);
                truth(port.controller.buttons & mask != 0)
            }),
            Quantity::Axis(which) => self.own.map_or(0.0, |port| axis(&port.controller, which)),
            Quantity::Item(k, what) => {
                self.state.items.get(usize::from(k)).map_or(0.0, |item| self.item(item, what))
            }
            Quantity::Game(OfGame::Stage) => {
                let place = STAGES.iter().position(|stage| *stage == self.state.stage);
                return Seeing::Place(Some(place.unwrap_or(STAGES.len())));
            }
            Quantity::Game(OfGame::Name) => {
                return Seeing::Place(Some(usize::from(self.view.name).min(NAMES - 1)));
            }
            Quantity::Game(what) => self.game(what),
        };
        Seeing::Number(number)
    }

    fn port(&self, side: Side) -> Option<&'a PortState> {
        match side {
            Side::Own => self.own,
            Side::Opponent => self.opponent,
        }
    }

    /// An owner is 1 for the own port, 2 for another and 0 for none.
    fn item(&self, item: &ItemState, what: OfItem) -> f32 {
        match what {
            OfItem::Exists => 1.0,
            OfItem::Owner => match usize::try_from(item.owner) {
                Ok(port) if port == self.view.own => 1.0,
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

    fn game(&self, what: OfGame) -> f32 {
        let (Some(own), Some(opponent)) = (self.own, self.opponent) else {
            return if what == OfGame::Frame { self.state.frame as f32 } else { 0.0 };
        };
        let x = opponent.leader.x - own.leader.x;
        let y = opponent.leader.y - own.leader.y;
        match what {
            OfGame::Distance => (x * x + y * y).sqrt(),
            OfGame::RelativeX => x,
            OfGame::RelativeY => y,
            OfGame::Frame => self.state.frame as f32,
            OfGame::Zero | OfGame::Stage | OfGame::Name => 0.0,
        }
    }
}

fn character(c: &CharacterState, what: OfCharacter) -> f32 {
    match what {
        OfCharacter::Percent => c.percent,
        OfCharacter::Facing => facing(c.facing),
        OfCharacter::X => c.x,
        OfCharacter::Y => c.y,
        OfCharacter::Invulnerable => truth(c.hurtbox != 0),
        OfCharacter::Jumps => f32::from(c.jumps),
        OfCharacter::Shield => c.shield,
        OfCharacter::Grounded => truth(c.airborne == 0),
        OfCharacter::SpeedXAir => c.speed_x_air,
        OfCharacter::SpeedXGround => c.speed_x_ground,
        OfCharacter::SpeedX => {
            if c.airborne == 0 {
                c.speed_x_ground
            } else {
                c.speed_x_air
            }
        }
        OfCharacter::SpeedY => c.speed_y,
        OfCharacter::KnockbackX => c.knockback_x,
        OfCharacter::KnockbackY => c.knockback_y,
        OfCharacter::Hitstun => c.hitstun(),
        OfCharacter::Hitlag => c.hitlag,
        OfCharacter::ActionAge => c.action_age,
        OfCharacter::Stocks => f32::from(c.stocks),
        OfCharacter::LedgeDistance => (LEDGE - c.x.abs()) / LEDGE,
        OfCharacter::Action => f32::from(c.action),
        OfCharacter::Character => f32::from(c.character),
    }
}

fn follower(c: &CharacterState, leader: &CharacterState, what: OfFollower) -> f32 {
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

fn axis(controller: &Controller, axis: Axis) -> f32 {
    match axis {
        Axis::StickX => controller.stick_x,
        Axis::StickY => controller.stick_y,
        Axis::CStickX => controller.c_stick_x,
        Axis::CStickY => controller.c_stick_y,
        Axis::Trigger => controller.trigger,
    }
}
