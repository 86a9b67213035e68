//! The two lists of features that come with us.

use crate::quantity::{Axis, OfCharacter, OfFollower, OfGame, OfItem, Quantity, Side};
use crate::schema::{Field, Schema};
use crate::state::BUTTONS;

/// Bounds of what has no others.
const BOUND: f32 = 10.0;
/// Items of the full layout.
const ITEMS: u8 = 5;
/// Frames of eight minutes.
const LONGEST_GAME: f32 = 28_800.0;

fn field(quantity: Quantity, scale: f32) -> Field {
    Field { quantity, scale, lower: -BOUND, upper: BOUND }
}

fn within(quantity: Quantity, scale: f32, lower: f32, upper: f32) -> Field {
    Field { quantity, scale, lower, upper }
}

fn of_character(side: Side, what: OfCharacter) -> Field {
    let (scale, lower, upper) = match what {
        OfCharacter::Percent => (0.01, 0.0, 5.0),
        OfCharacter::X | OfCharacter::Y => (0.05, -BOUND, BOUND),
        OfCharacter::Jumps => (1.0 / 6.0, 0.0, 1.0),
        OfCharacter::Shield => (0.01, 0.0, 1.0),
        OfCharacter::SpeedXAir
        | OfCharacter::SpeedXGround
        | OfCharacter::SpeedX
        | OfCharacter::SpeedY
        | OfCharacter::KnockbackX
        | OfCharacter::KnockbackY => (0.5, -BOUND, BOUND),
        OfCharacter::Hitstun => (1.0 / 120.0, 0.0, 1.0),
        OfCharacter::Hitlag => (1.0 / 20.0, 0.0, 1.0),
        OfCharacter::ActionAge => (1.0 / 60.0, 0.0, 2.0),
        OfCharacter::Stocks => (0.25, 0.0, 1.0),
        OfCharacter::Action => (1.0, 0.0, 398.0),
        OfCharacter::Character => (1.0, 0.0, 32.0),
        OfCharacter::Facing
        | OfCharacter::Invulnerable
        | OfCharacter::Grounded
        | OfCharacter::LedgeDistance => (1.0, -BOUND, BOUND),
    };
    within(Quantity::Character(side, what), scale, lower, upper)
}

fn of_follower(side: Side, what: OfFollower) -> Field {
    let (scale, lower, upper) = match what {
        OfFollower::X | OfFollower::Y => (0.05, -BOUND, BOUND),
        OfFollower::Percent => (0.01, 0.0, 5.0),
        OfFollower::Stocks => (0.25, 0.0, 1.0),
        OfFollower::Hitstun => (1.0 / 120.0, 0.0, 1.0),
        OfFollower::ActionAge => (1.0 / 60.0, 0.0, 2.0),
        _ => (1.0, -BOUND, BOUND),
    };
    within(Quantity::Follower(side, what), scale, lower, upper)
}

fn inputs(fields: &mut Vec<Field>) {
    fields.extend((0..BUTTONS.len()).map(|k| field(Quantity::Button(k as u8), 1.0)));
    let axes = [Axis::StickX, Axis::StickY, Axis::CStickX, Axis::CStickY, Axis::Trigger];
    fields.extend(axes.map(|axis| field(Quantity::Axis(axis), 1.0)));
}

fn numbers_of_tables(fields: &mut Vec<Field>) {
    for what in [OfCharacter::Action, OfCharacter::Character] {
        fields.extend([Side::Own, Side::Opponent].map(|side| of_character(side, what)));
    }
}

impl Schema {
    /// The full layout of 288 numbers: two players of 56, stage 7, own inputs 13, names 112, four
    /// of space and time, five items of 7, two actions and two characters as numbers of tables, and
    /// a zero that makes the width a multiple of 8.
    #[must_use]
    pub fn full() -> Self {
        use OfCharacter as C;
        use OfFollower as F;
        let mut fields = Vec::new();
        for side in [Side::Own, Side::Opponent] {
            let of_leader = [
                C::Percent,
                C::Facing,
                C::X,
                C::Y,
                C::Invulnerable,
                C::Jumps,
                C::Shield,
                C::Grounded,
                C::SpeedXAir,
                C::SpeedXGround,
                C::SpeedY,
                C::KnockbackX,
                C::KnockbackY,
                C::Hitstun,
                C::ActionAge,
                C::Stocks,
                C::LedgeDistance,
            ];
            fields.extend(of_leader.map(|what| of_character(side, what)));
            let of_second = [
                F::Exists,
                F::X,
                F::Y,
                F::Facing,
                F::Grounded,
                F::Percent,
                F::Stocks,
                F::Hitstun,
                F::ActionAge,
                F::Invulnerable,
                F::Category,
                F::Attacks,
                F::Grabs,
                F::CanAct,
                F::InStep,
            ];
            fields.extend(of_second.map(|what| of_follower(side, what)));
        }
        fields.push(field(Quantity::Game(OfGame::Stage), 1.0));
        inputs(&mut fields);
        fields.push(field(Quantity::Game(OfGame::Name), 1.0));
        fields.push(within(Quantity::Game(OfGame::Distance), 1.0 / 200.0, 0.0, 1.5));
        fields.push(field(Quantity::Game(OfGame::RelativeX), 1.0 / 200.0));
        fields.push(field(Quantity::Game(OfGame::RelativeY), 1.0 / 100.0));
        fields.push(within(Quantity::Game(OfGame::Frame), 1.0 / LONGEST_GAME, 0.0, 1.0));
        for k in 0..ITEMS {
            let of_item = [
                (OfItem::Exists, 1.0),
                (OfItem::Owner, 0.5),
                (OfItem::X, 0.05),
                (OfItem::Y, 0.05),
                (OfItem::Kind, 0.01),
                (OfItem::SpeedX, 0.5),
                (OfItem::SpeedY, 0.5),
            ];
            fields.extend(of_item.map(|(what, scale)| field(Quantity::Item(k, what), scale)));
        }
        numbers_of_tables(&mut fields);
        fields.push(field(Quantity::Game(OfGame::Zero), 1.0));
        Self::new(fields)
    }

    /// The compact layout: 44 plain numbers around the own character (14 of each player, where the
    /// other one is, how far the ledge is, the own inputs) and four numbers of tables.
    #[must_use]
    pub fn egocentric() -> Self {
        use OfCharacter as C;
        let mut fields = Vec::new();
        for side in [Side::Own, Side::Opponent] {
            let of_leader = [
                C::X,
                C::Y,
                C::Facing,
                C::Percent,
                C::Shield,
                C::Grounded,
                C::Jumps,
                C::Stocks,
                C::SpeedX,
                C::SpeedY,
                C::Hitstun,
                C::Hitlag,
                C::ActionAge,
                C::Invulnerable,
            ];
            fields.extend(of_leader.map(|what| of_character(side, what)));
        }
        fields.push(field(Quantity::Game(OfGame::RelativeX), 0.05));
        fields.push(field(Quantity::Game(OfGame::RelativeY), 0.05));
        fields.push(of_character(Side::Own, C::LedgeDistance));
        inputs(&mut fields);
        numbers_of_tables(&mut fields);
        Self::new(fields)
    }
}
