//! The first and the last event: bytes <-> who plays where, by which rules, and how it ended.
//!
//! Offsets are those of the format's specification, counted from the event's code at 0.

use crate::error::ReplayError;
use crate::text::MeleeText;
use crate::version::Version;

/// Ports of a console.
pub const PORTS: usize = 4;

/// Who holds the controller of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum PlayerKind {
    Human,
    Computer,
    Demo,
}

/// A player as the game is set up.
#[derive(Clone, Debug, PartialEq)]
pub struct Player {
    /// The external number of the character; [`Post::character`](crate::Post) has internal ones.
    pub character: u8,
    /// Who plays.
    pub kind: PlayerKind,
    /// Stocks at the start.
    pub stocks: u8,
    /// Number of the costume.
    pub costume: u8,
    /// Shade of equal characters of a team: 0 normal, 1 light, 2 dark.
    pub team_shade: u8,
    /// Handicap.
    pub handicap: u8,
    /// 0 red, 1 blue, 2 green; means something in team games only.
    pub team: u8,
    /// Bits such as 0x01 stamina mode and 0x80 rumble.
    pub bits: u8,
    /// Level of a computer player; humans have one too.
    pub computer_level: u8,
    /// Percent of the first stock at its start.
    pub damage_start: u16,
    /// Percent of later stocks at their start.
    pub damage_spawn: u16,
    /// Factor of the knockback that this player deals.
    pub offense_ratio: f32,
    /// Factor of the knockback that this player takes.
    pub defense_ratio: f32,
    /// Factor of the character's size.
    pub model_scale: f32,
    /// Controller fix of dashes (since 1.0): 0 off, 1 UCF, 2 Dween.
    pub dashback_fix: u32,
    /// Controller fix of shield drops (since 1.0): 0 off, 1 UCF, 2 Dween.
    pub shield_drop_fix: u32,
    /// Name tag in the game (since 1.3).
    pub name_tag: MeleeText,
    /// Name online (since 3.9).
    pub display_name: MeleeText,
    /// Code online, such as `ABCD#123` (since 3.9).
    pub connect_code: MeleeText,
    /// Identifier of the account online (since 3.11).
    pub account: String,
}

impl Player {
    /// A human player with four stocks and the game's ordinary settings.
    #[must_use]
    pub fn human(character: u8) -> Self {
        Self {
            character,
            kind: PlayerKind::Human,
            stocks: 4,
            costume: 0,
            team_shade: 0,
            handicap: 9,
            team: 0,
            bits: 0xc0,
            computer_level: 1,
            damage_start: 0,
            damage_spawn: 0,
            offense_ratio: 1.0,
            defense_ratio: 1.0,
            model_scale: 1.0,
            dashback_fix: 1,
            shield_drop_fix: 1,
            name_tag: MeleeText::default(),
            display_name: MeleeText::default(),
            connect_code: MeleeText::default(),
            account: String::new(),
        }
    }
}

/// How the game is set up. What a version lacks has the value 0 or is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct GameStart {
    /// Version of the format.
    pub version: Version,
    /// Four bytes of rules: mode, timer, friendly fire.
    pub rules: [u8; 4],
    /// Whether bombs fall after 20 seconds.
    pub bomb_rain: bool,
    /// Whether teams play.
    pub is_teams: bool,
    /// How often items appear; -1 never.
    pub item_frequency: i8,
    /// What a self destruct counts.
    pub self_destruct_score: i8,
    /// Number of the stage.
    pub stage: u16,
    /// Seconds of the timer.
    pub timer: u32,
    /// Which items appear.
    pub items: [u8; 5],
    /// Factor of all damage.
    pub damage_ratio: f32,
    /// Players by port; `None` where nobody plays.
    pub players: [Option<Player>; PORTS],
    /// Seed of the game's random numbers.
    pub random_seed: u32,
    /// Whether the game is the European one (since 1.5).
    pub is_pal: bool,
    /// Whether Pokémon Stadium does not change (since 2.0).
    pub is_frozen_stadium: bool,
    /// Minor and major scene (since 3.7): major 8 is an online game.
    pub scene: [u8; 2],
    /// 0 Japanese, 1 English (since 3.12).
    pub language: u8,
    /// Mode and time of the session (since 3.14).
    pub session: String,
    /// Number of the game within its session, from 1 (since 3.14).
    pub game_number: u32,
    /// Number of the tiebreaker, 0 for none (since 3.14).
    pub tiebreaker: u32,
    /// The whole event behind its code, for what no field above names.
    pub bytes: Vec<u8>,
}

/// Bytes of the event behind its code in the first version.
pub(crate) const MIN_START: usize = 320;

/// First versions of what was added, and the event's length behind its code from then on.
const LENGTHS: [(Version, usize); 10] = [
    (Version::new(0, 1, 0), MIN_START),
    (Version::new(1, 0, 0), 0x160),
    (Version::new(1, 3, 0), 0x1a0),
    (Version::new(1, 5, 0), 0x1a1),
    (Version::new(2, 0, 0), 0x1a2),
    (Version::new(3, 7, 0), 0x1a4),
    (Version::new(3, 9, 0), 0x248),
    (Version::new(3, 11, 0), 0x2bc),
    (Version::new(3, 12, 0), 0x2bd),
    (Version::new(3, 14, 0), 0x2f8),
];

/// Where what a player has lies, from the event's code.
const fn player_offset(port: usize) -> usize {
    0x65 + 0x24 * port
}

impl GameStart {
    /// A game of four stocks and eight minutes without items or players.
    #[must_use]
    pub fn new(version: Version, stage: u16) -> Self {
        let length = LENGTHS.iter().rev().find(|(since, _)| *since <= version);
        Self {
            version,
            rules: [0x32, 0x01, 0x86, 0x4c],
            bomb_rain: false,
            is_teams: false,
            item_frequency: -1,
            self_destruct_score: -1,
            stage,
            timer: 480,
            items: [0xff; 5],
            damage_ratio: 1.0,
            players: [const { None }; PORTS],
            random_seed: 0,
            is_pal: false,
            is_frozen_stadium: false,
            scene: [2, 2],
            language: 1,
            session: String::new(),
            game_number: 0,
            tiebreaker: 0,
            bytes: vec![0; length.map_or(MIN_START, |(_, length)| *length)],
        }
    }

    /// The event behind its code, which begins at byte `event_offset` of the file.
    pub(crate) fn read(bytes: &[u8], event_offset: usize) -> Result<Self, ReplayError> {
        if bytes.len() < MIN_START {
            let message = format!("a game start has {} bytes, fewer than {MIN_START}", bytes.len());
            return Err(ReplayError::new(event_offset, message));
        }
        let event = Event(bytes);
        let text = |offset, length: usize| {
            let bytes = event.slice(offset, length);
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let mut players = [const { None }; PORTS];
        for (port, player) in players.iter_mut().enumerate() {
            *player = event.player(port);
        }
        Ok(Self {
            version: Version::new(event.u8(1), event.u8(2), event.u8(3)),
            rules: event.array(5),
            bomb_rain: event.u8(5 + 0x6) != 0,
            is_teams: event.u8(5 + 0x8) != 0,
            item_frequency: event.u8(5 + 0xb).cast_signed(),
            self_destruct_score: event.u8(5 + 0xc).cast_signed(),
            stage: u16::from_be_bytes(event.array(5 + 0xe)),
            timer: event.u32(5 + 0x10),
            items: event.array(5 + 0x23),
            damage_ratio: event.f32(5 + 0x30),
            players,
            random_seed: event.u32(0x13d),
            is_pal: event.u8(0x1a1) != 0,
            is_frozen_stadium: event.u8(0x1a2) != 0,
            scene: event.array(0x1a3),
            language: event.u8(0x2bd),
            session: text(0x2be, 51),
            game_number: event.u32(0x2f1),
            tiebreaker: event.u32(0x2f5),
            bytes: bytes.to_vec(),
        })
    }

    /// The event behind its code: the fields over what [`Self::bytes`] holds beside them.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Out(self.bytes.clone());
        let Version { major, minor, build } = self.version;
        out.put(1, &[major, minor, build]);
        out.put(5, &self.rules);
        out.put(5 + 0x6, &[u8::from(self.bomb_rain)]);
        out.put(5 + 0x8, &[u8::from(self.is_teams)]);
        out.put(
            5 + 0xb,
            &[self.item_frequency.cast_unsigned(), self.self_destruct_score.cast_unsigned()],
        );
        out.put(5 + 0xe, &self.stage.to_be_bytes());
        out.put(5 + 0x10, &self.timer.to_be_bytes());
        out.put(5 + 0x23, &self.items);
        out.put(5 + 0x30, &self.damage_ratio.to_be_bytes());
        out.put(0x13d, &self.random_seed.to_be_bytes());
        // Six places for players, of which a console has four.
        for port in 0..6 {
            match self.players.get(port).and_then(Option::as_ref) {
                Some(player) => out.player(port, player),
                None => out.put(player_offset(port) + 1, &[3]),
            }
        }
        out.put(0x1a1, &[u8::from(self.is_pal), u8::from(self.is_frozen_stadium)]);
        out.put(0x1a3, &self.scene);
        out.put(0x2bd, &[self.language]);
        out.put_text(0x2be, 51, self.session.as_bytes());
        out.put(0x2f1, &self.game_number.to_be_bytes());
        out.put(0x2f5, &self.tiebreaker.to_be_bytes());
        out.0
    }
}

/// An event behind its code; what lies behind its end reads as zero.
struct Event<'a>(&'a [u8]);

impl Event<'_> {
    fn slice(&self, offset: usize, length: usize) -> &[u8] {
        let begin = (offset - 1).min(self.0.len());
        &self.0[begin..(begin + length).min(self.0.len())]
    }

    fn array<const N: usize>(&self, offset: usize) -> [u8; N] {
        let mut array = [0; N];
        let bytes = self.slice(offset, N);
        array[..bytes.len()].copy_from_slice(bytes);
        array
    }

    fn u8(&self, offset: usize) -> u8 {
        self.array::<1>(offset)[0]
    }

    fn u32(&self, offset: usize) -> u32 {
        u32::from_be_bytes(self.array(offset))
    }

    fn f32(&self, offset: usize) -> f32 {
        f32::from_be_bytes(self.array(offset))
    }

    fn player(&self, port: usize) -> Option<Player> {
        let start = player_offset(port);
        let kind = match self.u8(start + 1) {
            0 => PlayerKind::Human,
            1 => PlayerKind::Computer,
            2 => PlayerKind::Demo,
            _ => return None,
        };
        let text = |offset, length| MeleeText::from_bytes(self.slice(offset, length));
        let account = self.slice(0x249 + 0x1d * port, 29);
        let end = account.iter().position(|b| *b == 0).unwrap_or(account.len());
        Some(Player {
            character: self.u8(start),
            kind,
            stocks: self.u8(start + 2),
            costume: self.u8(start + 3),
            team_shade: self.u8(start + 7),
            handicap: self.u8(start + 8),
            team: self.u8(start + 9),
            bits: self.u8(start + 0xc),
            computer_level: self.u8(start + 0xf),
            damage_start: u16::from_be_bytes(self.array(start + 0x10)),
            damage_spawn: u16::from_be_bytes(self.array(start + 0x12)),
            offense_ratio: self.f32(start + 0x18),
            defense_ratio: self.f32(start + 0x1c),
            model_scale: self.f32(start + 0x20),
            dashback_fix: self.u32(0x141 + 8 * port),
            shield_drop_fix: self.u32(0x145 + 8 * port),
            name_tag: text(0x161 + 0x10 * port, 16),
            display_name: text(0x1a5 + 0x1f * port, 31),
            connect_code: text(0x221 + 0xa * port, 10),
            account: String::from_utf8_lossy(&account[..end]).into_owned(),
        })
    }
}

/// An event that is written; what does not fit is left out, as the version has no place for it.
struct Out(Vec<u8>);

impl Out {
    fn put(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(place) = self.0.get_mut(offset - 1..offset - 1 + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// A text and zeros behind it, at least one.
    fn put_text(&mut self, offset: usize, length: usize, text: &[u8]) {
        let mut field = vec![0; length];
        let kept = text.len().min(length - 1);
        field[..kept].copy_from_slice(&text[..kept]);
        self.put(offset, &field);
    }

    fn player(&mut self, port: usize, player: &Player) {
        let start = player_offset(port);
        let kind = match player.kind {
            PlayerKind::Human => 0,
            PlayerKind::Computer => 1,
            PlayerKind::Demo => 2,
        };
        self.put(start, &[player.character, kind, player.stocks, player.costume]);
        self.put(start + 7, &[player.team_shade, player.handicap, player.team]);
        self.put(start + 0xc, &[player.bits]);
        self.put(start + 0xf, &[player.computer_level]);
        self.put(start + 0x10, &player.damage_start.to_be_bytes());
        self.put(start + 0x12, &player.damage_spawn.to_be_bytes());
        self.put(start + 0x18, &player.offense_ratio.to_be_bytes());
        self.put(start + 0x1c, &player.defense_ratio.to_be_bytes());
        self.put(start + 0x20, &player.model_scale.to_be_bytes());
        if port >= PORTS {
            return;
        }
        self.put(0x141 + 8 * port, &player.dashback_fix.to_be_bytes());
        self.put(0x145 + 8 * port, &player.shield_drop_fix.to_be_bytes());
        // A name tag may fill its field; names online end with a zero.
        let mut tag = [0; 16];
        let kept = player.name_tag.bytes().len().min(16);
        tag[..kept].copy_from_slice(&player.name_tag.bytes()[..kept]);
        self.put(0x161 + 0x10 * port, &tag);
        self.put_text(0x1a5 + 0x1f * port, 31, player.display_name.bytes());
        self.put_text(0x221 + 0xa * port, 10, player.connect_code.bytes());
        self.put_text(0x249 + 0x1d * port, 29, player.account.as_bytes());
    }
}

/// How the game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameEnd {
    /// 1 time, 2 game, 3 resolved (before 2.0), 7 no contest, 0 unresolved.
    pub method: u8,
    /// The port that gave up, -1 for none (since 2.0).
    pub quit_by: Option<i8>,
    /// Place of each port, from 0; -1 where nobody played (since 3.13).
    pub placements: Option<[i8; PORTS]>,
}

impl GameEnd {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let placements = bytes.get(2..2 + PORTS);
        Self {
            method: bytes.first().copied().unwrap_or(0),
            quit_by: bytes.get(1).map(|b| b.cast_signed()),
            placements: placements.map(|p| [p[0], p[1], p[2], p[3]].map(u8::cast_signed)),
        }
    }

    /// Bytes behind the code in a version.
    pub(crate) fn payload(version: Version) -> usize {
        if version >= Version::new(3, 13, 0) {
            6
        } else if version >= Version::new(2, 0, 0) {
            2
        } else {
            1
        }
    }

    pub(crate) fn to_bytes(self, version: Version) -> Vec<u8> {
        let mut bytes = vec![self.method, self.quit_by.unwrap_or(-1).cast_unsigned()];
        bytes.extend(self.placements.unwrap_or([-1; PORTS]).map(i8::cast_unsigned));
        bytes.truncate(Self::payload(version));
        bytes
    }
}
