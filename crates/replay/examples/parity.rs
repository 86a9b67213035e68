//! Files under folders, and a Python with peppi-py -> differences between peppi's reading and ours.
//!
//! `parity PYTHON FOLDER ...` prints one line a file and ends with an error when anything differs.
//! Each file is also written by our writer and read by peppi again. `x.zip` beside
//! `x.parquet.zlib` is compared with what slippi-ai stored of it.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use replay::{Column, Columns, Game, PerFrame, PlayerKind};
use serde_json::{Value, json};

type Fail = Box<dyn std::error::Error>;

/// A column as another reader has it: its type and its values as bits.
type Theirs = (String, Vec<u32>);

/// What another reader says of a file.
#[derive(Default)]
struct Reading {
    error: Option<String>,
    texts: BTreeMap<String, Value>,
    columns: BTreeMap<String, Theirs>,
}

fn main() -> Result<ExitCode, Fail> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [python, folders @ ..] = args.as_slice() else {
        return Err("usage: parity PYTHON FOLDER ...".into());
    };
    let scratch = std::env::temp_dir().join(format!("replay-parity-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let mut files = Vec::new();
    for folder in folders {
        under(Path::new(folder), &mut files)?;
    }
    files.sort();
    let mut total = Total::default();
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".slp") {
            total.of_file(python, path, &scratch)?;
        } else if name.ends_with(".parquet.zlib") {
            total.of_parquet(python, path)?;
        }
    }
    std::fs::remove_dir_all(&scratch)?;
    println!(
        "{} files, {} read by both, {} written and read again, {} columns, {} values, {} differences",
        total.files, total.both, total.again, total.columns, total.values, total.differences
    );
    Ok(if total.differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn under(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { under(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

#[derive(Default)]
struct Total {
    files: usize,
    both: usize,
    again: usize,
    columns: usize,
    values: usize,
    differences: usize,
}

impl Total {
    fn of_file(&mut self, python: &str, path: &Path, scratch: &Path) -> Result<(), Fail> {
        self.files += 1;
        let game = Game::read(&std::fs::read(path)?)?;
        let before = self.differences;
        let theirs = ask(python, path)?;
        let mut note = String::new();
        if let Some(error) = &theirs.error {
            // What peppi refuses as a whole must be damaged for us too.
            self.differences += usize::from(game.damage.is_none());
            note = format!("peppi refuses it: {error}; ours: {:?}", game.damage);
        } else {
            self.both += 1;
            self.compare(&game, &theirs, path);
            let copy = scratch.join("written.slp");
            std::fs::write(&copy, game.write()?)?;
            let read_again = ask(python, &copy)?;
            if let Some(error) = &read_again.error {
                note = format!("peppi refuses what we wrote: {error}");
                self.differences += 1;
            } else {
                self.again += 1;
                let mut plain = game.clone();
                plain.rollbacks = 0;
                self.compare(&plain, &read_again, &copy);
            }
        }
        println!(
            "{}: version {}, {} frames, {} rollbacks, {} differences {note}",
            path.file_name().unwrap_or_default().to_string_lossy(),
            game.start.version,
            game.len(),
            game.rollbacks,
            self.differences - before
        );
        Ok(())
    }

    fn different(&mut self, path: &Path, what: &str) {
        self.differences += 1;
        println!("  {}: {what}", path.display());
    }

    fn compare(&mut self, game: &Game, theirs: &Reading, path: &Path) {
        for (key, ours) in texts(game) {
            match theirs.texts.get(key) {
                Some(their) if is_same(&ours, their) => {}
                their => self.different(path, &format!("{key}: ours {ours}, peppi {their:?}")),
            }
        }
        let mut ours = BTreeMap::new();
        let ids: Vec<i32> = (0..game.len()).map(|row| game.frame_of(row)).collect();
        add(&mut ours, "id", Column::I32(&ids));
        for (number, port) in game.ports.iter().enumerate() {
            let Some(port) = port else { continue };
            for (who, character) in
                [("leader", Some(&port.leader)), ("follower", port.follower.as_ref())]
            {
                let Some(character) = character else { continue };
                let prefix = format!("{}/{who}", number + 1);
                let present: Vec<u8> =
                    (0..game.len()).map(|row| u8::from(character.is_present(row))).collect();
                add(&mut ours, &format!("{prefix}/present"), Column::U8(&present));
                add_all(&mut ours, &format!("{prefix}/pre"), &character.pre);
                add_all(&mut ours, &format!("{prefix}/post"), &character.post);
            }
        }
        add_all(&mut ours, "frame_start", &game.frame_start);
        add_all(&mut ours, "frame_end", &game.frame_end);
        add_list(&mut ours, "items", &game.items, theirs);
        add_list(&mut ours, "platforms", &game.platforms, theirs);
        add_list(&mut ours, "wind", &game.wind, theirs);
        add_list(&mut ours, "transformations", &game.transformations, theirs);
        let names: std::collections::BTreeSet<&String> =
            ours.keys().chain(theirs.columns.keys()).collect();
        for name in names {
            self.columns += 1;
            match (ours.get(name), theirs.columns.get(name)) {
                (Some(ours), Some(theirs)) => {
                    self.values += ours.1.len();
                    let differences = ours.1.iter().zip(&theirs.1).filter(|(a, b)| a != b).count()
                        + ours.1.len().abs_diff(theirs.1.len());
                    if ours.0 != theirs.0 || differences > 0 {
                        let (n, m) = (ours.1.len(), theirs.1.len());
                        let what = format!("{name}: {differences} of {n} and {m} values");
                        self.different(path, &what);
                    }
                }
                (ours, _) => {
                    let who = if ours.is_some() { "peppi" } else { "ours" };
                    self.different(path, &format!("{name}: no column in {who}"));
                }
            }
        }
    }

    /// The game in the archive beside `path` against slippi-ai's parse of it.
    fn of_parquet(&mut self, python: &str, path: &Path) -> Result<(), Fail> {
        let text = path.to_string_lossy();
        let archive = text.replace(".parquet.zlib", ".zip");
        let mut archive = zip::ZipArchive::new(std::fs::File::open(&archive)?)?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut archive.by_index(0)?, &mut bytes)?;
        let game = Game::read_whole(&bytes)?;
        let theirs = ask(python, path)?;
        let before = (self.differences, self.columns, self.values);
        for (place, port) in game.ports.iter().flatten().enumerate() {
            let (pre, post) = (&port.leader.pre, &port.leader.post);
            let buttons = [
                ("A", 0x100),
                ("B", 0x200),
                ("X", 0x400),
                ("Y", 0x800),
                ("Z", 0x10),
                ("L", 0x40),
                ("R", 0x20),
                ("D_UP", 0x8),
            ];
            let mut ours: Vec<(String, Vec<u32>)> = vec![
                ("x".into(), bits(&post.x)),
                ("y".into(), bits(&post.y)),
                ("percent".into(), post.percent.iter().map(|p| *p as u32).collect()),
                ("facing".into(), post.facing.iter().map(|f| u32::from(*f > 0.0)).collect()),
                ("action".into(), post.action.iter().map(|a| u32::from(*a)).collect()),
                ("character".into(), post.character.iter().map(|c| u32::from(*c)).collect()),
                ("jumps_left".into(), post.jumps.iter().map(|c| u32::from(*c)).collect()),
                ("shield_strength".into(), bits(&post.shield)),
                ("on_ground".into(), post.airborne.iter().map(|a| u32::from(*a == 0)).collect()),
                ("invulnerable".into(), post.hurtbox.iter().map(|h| u32::from(*h != 0)).collect()),
                ("controller.shoulder".into(), bits(&pre.trigger)),
            ];
            // Buttons there are those after the game's processing, where Z presses A as well.
            // There sticks lie in [0, 1].
            let sticks = [
                ("main_stick.x", &pre.stick_x),
                ("main_stick.y", &pre.stick_y),
                ("c_stick.x", &pre.c_stick_x),
                ("c_stick.y", &pre.c_stick_y),
            ];
            for (name, values) in sticks {
                let halves: Vec<f32> = values.iter().map(|v| (v + 1.0) / 2.0).collect();
                ours.push((format!("controller.{name}"), bits(&halves)));
            }
            for (name, mask) in buttons {
                let pressed = pre.buttons.iter().map(|b| u32::from(b & mask != 0));
                ours.push((format!("controller.buttons.{name}"), pressed.collect()));
            }
            for (name, ours) in ours {
                let name = format!("p{place}.{name}");
                let theirs = theirs.columns.get(&name).ok_or_else(|| format!("no {name}"))?;
                self.columns += 1;
                self.values += ours.len();
                let differences = ours.iter().zip(&theirs.1).filter(|(a, b)| a != b).count()
                    + ours.len().abs_diff(theirs.1.len());
                if differences > 0 {
                    self.different(path, &format!("{name}: {differences} of {}", ours.len()));
                }
            }
        }
        println!(
            "{}: slippi-ai's parse, {} frames, {} columns, {} values, {} differences",
            path.file_name().unwrap_or_default().to_string_lossy(),
            game.len(),
            self.columns - before.1,
            self.values - before.2,
            self.differences - before.0
        );
        Ok(())
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn add(ours: &mut BTreeMap<String, Theirs>, name: &str, column: Column<'_>) {
    let kind = match column {
        Column::U8(_) => "u8",
        Column::I8(_) => "i8",
        Column::U16(_) => "u16",
        Column::U32(_) => "u32",
        Column::I32(_) => "i32",
        Column::F32(_) => "f32",
    };
    let values = (0..column.len()).map(|row| column.bits(row)).collect();
    ours.insert(name.to_owned(), (kind.to_owned(), values));
}

fn add_all<C: Columns>(ours: &mut BTreeMap<String, Theirs>, prefix: &str, columns: &C) {
    for (field, column) in C::FIELDS.iter().zip(columns.columns()) {
        if !column.is_empty() {
            add(ours, &format!("{prefix}/{}", field.name), column);
        }
    }
}

/// A list; where it has no rows, whether the version has it shows in the other reading only.
fn add_list<C: Columns>(
    ours: &mut BTreeMap<String, Theirs>,
    prefix: &str,
    list: &PerFrame<C>,
    theirs: &Reading,
) {
    let offsets = format!("{prefix}/offsets");
    if theirs.columns.contains_key(&offsets) || list.offsets.last() != Some(&0) {
        add(ours, &offsets, Column::U32(&list.offsets));
    }
    for (field, column) in C::FIELDS.iter().zip(list.rows.columns()) {
        let name = format!("{prefix}/{}", field.name);
        if theirs.columns.contains_key(&name) || !column.is_empty() {
            add(ours, &name, column);
        }
    }
}

/// Setup, end and metadata in peppi's words.
fn texts(game: &Game) -> Vec<(&'static str, Value)> {
    let s = &game.start;
    let since = |major, minor| (s.version.major, s.version.minor) >= (major, minor);
    let players: Vec<Value> = s
        .players
        .iter()
        .enumerate()
        .filter_map(|(port, player)| {
            let p = player.as_ref()?;
            let kind = match p.kind {
                PlayerKind::Human => 0,
                PlayerKind::Computer => 1,
                PlayerKind::Demo => 2,
            };
            let fix = |fix: u32| if fix == 0 { Value::Null } else { json!(fix) };
            Some(json!({
                "port": port, "character": p.character, "type": kind, "stocks": p.stocks,
                "costume": p.costume, "handicap": p.handicap, "bitfield": p.bits,
                "team": s.is_teams.then(|| json!({"color": p.team, "shade": p.team_shade})),
                "cpu_level": (kind == 1).then_some(p.computer_level),
                "offense_ratio": p.offense_ratio, "defense_ratio": p.defense_ratio,
                "model_scale": p.model_scale,
                "ucf": since(1, 0).then(|| json!({
                    "dash_back": fix(p.dashback_fix), "shield_drop": fix(p.shield_drop_fix)})),
                "name_tag": since(1, 3).then(|| p.name_tag.to_string()),
                "netplay": since(3, 9).then(|| json!({
                    "name": p.display_name.to_string(), "code": p.connect_code.to_string(),
                    "suid": since(3, 11).then_some(&p.account)})),
            }))
        })
        .collect();
    let start = json!({
        "slippi": {"version": [s.version.major, s.version.minor, s.version.build]},
        "bitfield": s.rules, "is_raining_bombs": s.bomb_rain, "is_teams": s.is_teams,
        "item_spawn_frequency": s.item_frequency, "self_destruct_score": s.self_destruct_score,
        "stage": s.stage, "timer": s.timer, "item_spawn_bitfield": s.items,
        "damage_ratio": s.damage_ratio, "players": players, "random_seed": s.random_seed,
        "is_pal": since(1, 5).then_some(s.is_pal),
        "is_frozen_ps": since(2, 0).then_some(s.is_frozen_stadium),
        "scene": since(3, 7).then(|| json!({"minor": s.scene[0], "major": s.scene[1]})),
        "language": since(3, 12).then_some(s.language),
        "match": since(3, 14).then(|| json!({
            "id": s.session, "game": s.game_number, "tiebreaker": s.tiebreaker})),
    });
    let end = game.end.map_or(Value::Null, |end| {
        let placements = end.placements.map(|placements| {
            let placed = placements.iter().enumerate().filter(|(_, place)| **place >= 0);
            placed
                .map(|(port, place)| json!({"port": port, "placement": place}))
                .collect::<Vec<_>>()
        });
        let quit_by = end.quit_by.filter(|port| *port >= 0);
        json!({"method": end.method, "lras_initiator": quit_by, "players": placements})
    });
    let metadata = game.metadata.as_ref().map_or(Value::Null, to_json);
    vec![
        ("start", start),
        ("end", end),
        ("metadata", metadata),
        ("rollbacks", json!(game.rollbacks)),
    ]
}

fn to_json(value: &replay::Value) -> Value {
    match value {
        replay::Value::Null => Value::Null,
        replay::Value::Bool(b) => json!(b),
        replay::Value::Integer(n) => json!(n),
        replay::Value::Float(x) => json!(x),
        replay::Value::Text(text) => json!(text),
        replay::Value::Array(items) => items.iter().map(to_json).collect(),
        replay::Value::Object(entries) => {
            Value::Object(entries.iter().map(|(k, v)| (k.clone(), to_json(v))).collect())
        }
    }
}

/// Whether two values are the same, whatever the order of keys and the type of numbers.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(k, v)| b.get(k).is_some_and(|other| is_same(v, other)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

fn ask(python: &str, path: &Path) -> Result<Reading, Fail> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/parity.py");
    let output = Command::new(python).arg(script).arg(path).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let mut rest = output.stdout.as_slice();
    let mut reading = Reading::default();
    while let Some(end) = rest.iter().position(|b| *b == b'\n') {
        let line = std::str::from_utf8(&rest[..end])?;
        rest = &rest[end + 1..];
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "error" => reading.error = Some(text.to_owned()),
            "start" | "end" | "metadata" | "rollbacks" => {
                reading.texts.insert(word.to_owned(), serde_json::from_str(text)?);
            }
            "column" => {
                let mut parts = text.split(' ');
                let (Some(name), Some(kind), Some(count)) =
                    (parts.next(), parts.next(), parts.next())
                else {
                    return Err(format!("the line `{line}` is no column").into());
                };
                let width = match kind {
                    "u8" | "i8" => 1,
                    "u16" => 2,
                    _ => 4,
                };
                let (bytes, behind) = rest.split_at(width * count.parse::<usize>()?);
                rest = behind;
                let values = bytes.chunks(width).map(|chunk| {
                    chunk.iter().rev().fold(0, |bits: u32, byte| bits << 8 | u32::from(*byte))
                });
                reading.columns.insert(name.to_owned(), (kind.to_owned(), values.collect()));
            }
            _ => {}
        }
    }
    Ok(reading)
}
