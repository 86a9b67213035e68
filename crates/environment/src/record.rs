//! Frames of a game that was played -> a replay, which [`Game::write`] makes a file of.

use features::{CharacterState, Controller, FrameState};
use replay::{Character, Columns, Game, GameEnd, GameStart, PORTS, Player, Value, Version};

use crate::stub::FOX_EXTERNAL;

/// Which external number an internal one has, as far as games recorded here need it.
fn external(internal: u8) -> u8 {
    // Internal 1 and external 2 are Fox; other characters keep their number.
    if internal == crate::stub::FOX { FOX_EXTERNAL } else { internal }
}

/// The replay of frames that follow each other: each with its controllers and what came of them.
/// Frames are numbered as they are in `states`; a port takes part where the first frame has it.
#[must_use]
pub fn record(states: &[FrameState]) -> Game {
    let first = states.first().cloned().unwrap_or_default();
    let mut start = GameStart::new(Version::new(3, 18, 0), first.stage);
    for (player, port) in start.players.iter_mut().zip(&first.ports) {
        *player = port.map(|port| Player::human(external(port.leader.character)));
    }
    let mut game = Game::blank(start, states.len());
    game.first_frame = first.frame;
    for (port, characters) in game.ports.iter_mut().enumerate() {
        let has_follower =
            |state: &FrameState| state.ports[port].is_some_and(|seen| seen.follower.is_some());
        if let Some(characters) = characters.as_mut().filter(|_| states.iter().any(has_follower)) {
            let mut follower = characters.leader.clone();
            (0..states.len()).for_each(|row| follower.set_present(row, false));
            characters.follower = Some(follower);
        }
    }
    for (row, state) in states.iter().enumerate() {
        let number = game.frame_of(row);
        if let Some(end) = game.frame_end.latest_finalized_frame.get_mut(row) {
            *end = number;
        }
        for port in 0..PORTS {
            let Some(characters) = game.ports[port].as_mut() else { continue };
            let Some(seen) = &state.ports[port] else {
                characters.leader.set_present(row, false);
                continue;
            };
            // The frame began where the one before it ended.
            let before = row.checked_sub(1).and_then(|k| states[k].ports[port]).unwrap_or(*seen);
            if let (Some(follower), Some(columns)) = (&seen.follower, &mut characters.follower) {
                columns.set_present(row, true);
                set_post(columns, row, follower);
                set_pre(columns, row, &seen.controller, &before.follower.unwrap_or(*follower));
            }
            set_post(&mut characters.leader, row, &seen.leader);
            set_pre(&mut characters.leader, row, &seen.controller, &before.leader);
        }
    }
    for state in states {
        for item in state.items.iter().take(features::MAX_ITEMS) {
            let rows = &mut game.items.rows;
            let row = rows.columns().first().map_or(0, replay::Column::len);
            rows.resize(row + 1, replay::Item::payload(game.start.version));
            rows.kind[row] = item.kind;
            rows.owner[row] = item.owner;
            rows.x[row] = item.x;
            rows.y[row] = item.y;
            rows.speed_x[row] = item.speed_x;
            rows.speed_y[row] = item.speed_y;
        }
    }
    let mut total = 0;
    for (offset, state) in game.items.offsets.iter_mut().skip(1).zip(states) {
        total += state.items.len().min(features::MAX_ITEMS) as u32;
        *offset = total;
    }
    game.end = Some(GameEnd { method: 1, quit_by: Some(-1), placements: Some([0, 1, -1, -1]) });
    let last = states.last().map_or(0, |state| i64::from(state.frame));
    game.metadata = Some(Value::Object(vec![
        ("startAt".to_owned(), Value::Text("1970-01-01T00:00:00Z".to_owned())),
        ("lastFrame".to_owned(), Value::Integer(last)),
        ("playedOn".to_owned(), Value::Text("stub".to_owned())),
    ]));
    game
}

fn set_post(character: &mut Character, row: usize, seen: &CharacterState) {
    let post = &mut character.post;
    post.character[row] = seen.character;
    post.action[row] = seen.action;
    post.x[row] = seen.x;
    post.y[row] = seen.y;
    post.facing[row] = seen.facing;
    post.percent[row] = seen.percent;
    post.shield[row] = seen.shield;
    post.stocks[row] = seen.stocks;
    post.action_age[row] = seen.action_age;
    post.state_bits_4[row] = seen.state_bits_4;
    post.action_number[row] = seen.action_number;
    post.airborne[row] = seen.airborne;
    post.jumps[row] = seen.jumps;
    post.hurtbox[row] = seen.hurtbox;
    post.speed_x_air[row] = seen.speed_x_air;
    post.speed_y[row] = seen.speed_y;
    post.knockback_x[row] = seen.knockback_x;
    post.knockback_y[row] = seen.knockback_y;
    post.speed_x_ground[row] = seen.speed_x_ground;
    post.hitlag[row] = seen.hitlag;
}

fn set_pre(
    character: &mut Character,
    row: usize,
    controller: &Controller,
    before: &CharacterState,
) {
    let pre = &mut character.pre;
    pre.action[row] = before.action;
    pre.x[row] = before.x;
    pre.y[row] = before.y;
    pre.facing[row] = before.facing;
    pre.percent[row] = before.percent;
    pre.stick_x[row] = controller.stick_x;
    pre.stick_y[row] = controller.stick_y;
    pre.c_stick_x[row] = controller.c_stick_x;
    pre.c_stick_y[row] = controller.c_stick_y;
    pre.trigger[row] = controller.trigger;
    pre.physical_buttons[row] = controller.buttons;
    pre.buttons[row] = u32::from(controller.buttons);
    // The raw stick has 80 steps to each side.
    pre.raw_stick_x[row] = (controller.stick_x * 80.0) as i8;
    pre.raw_stick_y[row] = (controller.stick_y * 80.0) as i8;
}
