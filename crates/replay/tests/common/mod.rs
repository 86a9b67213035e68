//! Seeds -> games of any version with every column filled, and the events of files.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod damage;

pub(crate) use damage::Random;

use replay::{
    Columns, Game, GameEnd, GameStart, Item, MeleeText, Platform, Player, Port, Transformation,
    Value, Version, Wind,
};

/// Every version in which something was added.
pub(crate) const VERSIONS: [(u8, u8); 28] = [
    (0, 1),
    (0, 2),
    (1, 0),
    (1, 2),
    (1, 3),
    (1, 4),
    (1, 5),
    (2, 0),
    (2, 1),
    (2, 2),
    (3, 0),
    (3, 2),
    (3, 3),
    (3, 5),
    (3, 6),
    (3, 7),
    (3, 8),
    (3, 9),
    (3, 10),
    (3, 11),
    (3, 12),
    (3, 13),
    (3, 14),
    (3, 15),
    (3, 16),
    (3, 17),
    (3, 18),
    (3, 19),
];

/// Values of any bits, also NaN.
trait Fill {
    fn fill_with(&mut self, random: &mut Random);
}

macro_rules! fill {
    ($($ty:ident $from:expr;)*) => {$(
        impl Fill for Vec<$ty> {
            fn fill_with(&mut self, random: &mut Random) {
                for value in self {
                    *value = $from(random.next());
                }
            }
        }
    )*};
}

fill! {
    u8 |n| n as u8;
    i8 |n| n as i8;
    u16 |n| n as u16;
    u32 |n| n as u32;
    i32 |n| n as i32;
    f32 |n| f32::from_bits(n as u32);
}

macro_rules! fill_columns {
    ($columns:expr, $random:expr, $($field:ident)*) => {$($columns.$field.fill_with($random);)*};
}

/// A game of a version with two, three or four players, of whom one has a follower that comes and
/// goes.
pub(crate) fn game(version: (u8, u8), frames: usize, seed: u64) -> Game {
    let random = &mut Random(seed);
    let version = Version::new(version.0, version.1, 0);
    let mut start = GameStart::new(version, 32);
    let players = 2 + random.below(3);
    for (port, player) in start.players.iter_mut().take(players).enumerate() {
        let mut chosen = Player::human(14 + port as u8);
        if version < Version::new(1, 0, 0) {
            (chosen.dashback_fix, chosen.shield_drop_fix) = (0, 0);
        }
        if version >= Version::new(1, 3, 0) {
            chosen.name_tag = MeleeText::from_bytes(b"\x82\x60\x82\x61");
        }
        if version >= Version::new(3, 9, 0) {
            chosen.display_name = MeleeText::from_bytes(b"Player");
            chosen.connect_code = MeleeText::from_bytes(b"ABCD\x81\x94123");
        }
        if version >= Version::new(3, 11, 0) {
            chosen.account = "account".to_owned();
        }
        *player = Some(chosen);
    }
    start.random_seed = 17;
    if version < Version::new(3, 7, 0) {
        start.scene = [0, 0];
    }
    if version < Version::new(3, 12, 0) {
        start.language = 0;
    }
    if version >= Version::new(3, 14, 0) {
        start.session = "mode.unranked-2026-01-01T00:00:00.00-0".to_owned();
        start.game_number = 3;
    }
    let mut game = Game::blank(start, frames);
    if let Some(port) = &mut game.ports[0] {
        let mut follower = port.leader.clone();
        for row in 0..frames {
            follower.set_present(row, row % 7 < 4);
        }
        port.follower = Some(follower);
    }
    for Port { leader, follower } in game.ports.iter_mut().flatten() {
        for character in [Some(leader), follower.as_mut()].into_iter().flatten() {
            fill_columns!(character.pre, random, random_seed action x y facing stick_x stick_y
                c_stick_x c_stick_y trigger buttons physical_buttons physical_l physical_r
                raw_stick_x percent raw_stick_y raw_c_stick_x raw_c_stick_y);
            fill_columns!(character.post, random, character action x y facing percent shield
                last_attack_landed combo_count last_hit_by stocks action_age state_bits_1
                state_bits_2 state_bits_3 state_bits_4 state_bits_5 action_number airborne
                last_ground jumps l_cancel hurtbox speed_x_air speed_y knockback_x knockback_y
                speed_x_ground hitlag animation last_hit_by_instance instance);
        }
    }
    fill_columns!(game.frame_start, random, random_seed scene_frame);
    fill_columns!(game.frame_end, random, latest_finalized_frame);
    let list = |least: (u8, u8), random: &mut Random| {
        let mut offsets = vec![0; frames + 1];
        if version >= Version::new(least.0, least.1, 0) {
            for row in 0..frames {
                offsets[row + 1] = offsets[row] + random.below(4) as u32;
            }
        }
        offsets
    };
    game.items.offsets = list((3, 0), random);
    game.platforms.offsets = list((3, 18), random);
    game.wind.offsets = list((3, 18), random);
    game.transformations.offsets = list((3, 18), random);
    let rows = |offsets: &[u32]| offsets.last().map_or(0, |n| *n as usize);
    game.items.rows.resize(rows(&game.items.offsets), Item::payload(version));
    game.platforms.rows.resize(rows(&game.platforms.offsets), Platform::payload(version));
    game.wind.rows.resize(rows(&game.wind.offsets), Wind::payload(version));
    game.transformations
        .rows
        .resize(rows(&game.transformations.offsets), Transformation::payload(version));
    fill_columns!(game.items.rows, random, kind state facing speed_x speed_y x y damage timer id
        missile turnip launched charge owner instance);
    fill_columns!(game.platforms.rows, random, platform height);
    fill_columns!(game.wind.rows, random, direction);
    fill_columns!(game.transformations.rows, random, event stage);
    clear_absent(&mut game);
    game.end = Some(GameEnd {
        method: 2,
        quit_by: (version >= Version::new(2, 0, 0)).then_some(-1),
        placements: (version >= Version::new(3, 13, 0)).then_some([0, 1, -1, -1]),
    });
    game.metadata = Some(Value::Object(vec![
        ("startAt".to_owned(), Value::Text("2026-01-01T00:00:00Z".to_owned())),
        ("lastFrame".to_owned(), Value::Integer(frames as i64 - 124)),
    ]));
    // What the version has of the setup, as a reader sees it.
    game.start = Game::read(&game.write().expect("the game is whole")).expect("it is read").start;
    game
}

/// Where a character is absent the columns hold zeros, which is what a reader makes of it.
fn clear_absent(game: &mut Game) {
    let Some(follower) = game.ports[0].as_mut().and_then(|port| port.follower.as_mut()) else {
        return;
    };
    let absent: Vec<usize> =
        (0..follower.post.x.len()).filter(|row| !follower.is_present(*row)).collect();
    macro_rules! clear {
        ($columns:expr, $($field:ident)*) => {
            for row in &absent {
                $(if let Some(value) = $columns.$field.get_mut(*row) { *value = Default::default(); })*
            }
        };
    }
    clear!(follower.pre, random_seed action x y facing stick_x stick_y c_stick_x c_stick_y trigger
        buttons physical_buttons physical_l physical_r raw_stick_x percent raw_stick_y
        raw_c_stick_x raw_c_stick_y);
    clear!(follower.post, character action x y facing percent shield last_attack_landed combo_count
        last_hit_by stocks action_age state_bits_1 state_bits_2 state_bits_3 state_bits_4
        state_bits_5 action_number airborne last_ground jumps l_cancel hurtbox speed_x_air speed_y
        knockback_x knockback_y speed_x_ground hitlag animation last_hit_by_instance instance);
}

/// A file as its events: what is before the frames, each frame's events with its number, and what
/// is behind. Written from the format's description, not with the reader.
pub(crate) struct Events {
    pub(crate) head: Vec<u8>,
    pub(crate) frames: Vec<(i32, Vec<u8>)>,
    pub(crate) tail: Vec<u8>,
    pub(crate) metadata: Vec<u8>,
}

pub(crate) fn split(file: &[u8]) -> Events {
    let length = u32::from_be_bytes(file[11..15].try_into().expect("four bytes")) as usize;
    let raw = &file[15..15 + length];
    let table = usize::from(raw[1]) - 1;
    let mut sizes = [0; 256];
    for row in raw[2..2 + table].chunks(3) {
        sizes[usize::from(row[0])] = usize::from(u16::from_be_bytes([row[1], row[2]]));
    }
    let mut offset = 2 + table;
    let mut events = Events {
        head: raw[..offset].to_vec(),
        frames: Vec::new(),
        tail: Vec::new(),
        metadata: file[15 + length..].to_vec(),
    };
    while offset < raw.len() {
        let event = &raw[offset..offset + 1 + sizes[usize::from(raw[offset])]];
        offset += event.len();
        match event[0] {
            0x36 => events.head.extend_from_slice(event),
            0x39 => events.tail.extend_from_slice(event),
            _ => {
                let frame = i32::from_be_bytes(event[1..5].try_into().expect("four bytes"));
                match events.frames.last_mut() {
                    Some((last, bytes)) if *last == frame => bytes.extend_from_slice(event),
                    _ => events.frames.push((frame, event.to_vec())),
                }
            }
        }
    }
    events
}

impl Events {
    pub(crate) fn join(&self) -> Vec<u8> {
        let mut raw = self.head.clone();
        for (_, bytes) in &self.frames {
            raw.extend_from_slice(bytes);
        }
        raw.extend_from_slice(&self.tail);
        let mut file = b"{U\x03raw[$U#l".to_vec();
        file.extend_from_slice(&(raw.len() as u32).to_be_bytes());
        file.extend_from_slice(&raw);
        file.extend_from_slice(&self.metadata);
        file
    }
}
