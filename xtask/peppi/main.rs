//! Replays under a folder -> processor seconds of our reader and of the crate peppi, in turn, and
//! whether both read the same.
//!
//! `cargo xtask bench replay --peppi` compiles it in a folder of its own, so that nothing of the
//! workspace depends on peppi. Files are in memory for both, both read all fields, and the least of
//! several rounds counts. Our reader can keep its memory from game to game (`Reader::read_into`),
//! which peppi cannot; both ways are measured.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use peppi::frame::immutable::{Data, PortData};
use replay::{Character, Game, Reader};
use rustix::time::{ClockId, clock_gettime};

type Fail = Box<dyn std::error::Error>;

fn main() -> Result<(), Fail> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("usage: peppi-bench FOLDER [ROUNDS]")?;
    let rounds: usize = args.next().map_or(Ok(15), |text| text.parse())?;
    let mut paths = Vec::new();
    under(Path::new(&folder), &mut paths)?;
    paths.sort();
    println!(
        "| file | frames | MB | ours, ms | ours in new memory, ms | peppi, ms | ratio | ratio in new memory | values compared | \
         differences |\n|---|---|---|---|---|---|---|---|---|---|"
    );
    let row = |name: &str, frames: usize, bytes: usize, [kept, new, theirs]: [f64; 3], (n, d)| {
        println!(
            "| {name} | {frames} | {:.2} | {:.3} | {:.3} | {:.3} | {:.1} | {:.1} | {n} | {d} |",
            bytes as f64 / 1e6,
            1e3 * kept,
            1e3 * new,
            1e3 * theirs,
            theirs / kept,
            theirs / new
        );
    };
    let (mut frames, mut bytes_read, mut all) = (0, 0, [0.0; 3]);
    let mut reader = Reader::default();
    let (mut compared, mut different) = (0, 0);
    for path in &paths {
        let bytes = std::fs::read(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut best = [f64::INFINITY; 3];
        let (mut game, mut other) = (None, None);
        for _ in 0..rounds {
            let mut timed = |k: usize, run: &mut dyn FnMut() -> Result<(), Fail>| {
                let began = now();
                let done = run();
                best[k] = f64::min(best[k], now() - began);
                done
            };
            timed(0, &mut || {
                game = Some(reader.read_into(&bytes, game.take())?);
                Ok(())
            })?;
            timed(1, &mut || {
                std::hint::black_box(Game::read(&bytes)?);
                Ok(())
            })?;
            timed(2, &mut || {
                other = peppi::io::slippi::read(Cursor::new(&bytes), None).ok();
                Ok(())
            })?;
        }
        let Some(game) = game else { continue };
        let Some(other) = other else {
            println!("| {name} | {} | | {:.3} | | refused | | | | |", game.len(), 1e3 * best[0]);
            continue;
        };
        let seen = compare(&game, &other);
        row(&name, game.len(), bytes.len(), best, seen);
        frames += game.len();
        bytes_read += bytes.len();
        all.iter_mut().zip(best).for_each(|(sum, best)| *sum += best);
        compared += seen.0;
        different += seen.1;
    }
    row("all", frames, bytes_read, all, (compared, different));
    let [kept, new, theirs] = all.map(|seconds| frames as f64 / seconds / 1e6);
    println!(
        "\nMillion frames a second: ours {kept:.2}, in new memory {new:.2}, peppi {theirs:.3}."
    );
    if different == 0 { Ok(()) } else { Err(format!("{different} values differ").into()) }
}

fn under(folder: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            under(&path, paths)?;
        } else if path.extension().is_some_and(|e| e == "slp") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Seconds that this thread has been on a processor.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// How many values of leaders and followers were compared as bits, and how many differ.
fn compare(game: &Game, other: &peppi::game::immutable::Game) -> (usize, usize) {
    let mut seen = (0, 0);
    for PortData { port, leader, follower } in &other.frames.ports {
        let Some(player) = game.ports[*port as usize].as_ref() else {
            seen.1 += 1;
            continue;
        };
        character(game, other, &player.leader, leader, &mut seen);
        match (&player.follower, follower) {
            (Some(character_of_ours), Some(theirs)) => character(game, other, character_of_ours, theirs, &mut seen),
            (None, None) => {}
            _ => seen.1 += 1,
        }
    }
    seen
}

fn character(
    game: &Game,
    other: &peppi::game::immutable::Game,
    character_of_ours: &Character,
    theirs: &Data,
    seen: &mut (usize, usize),
) {
    // A frame that a rollback repeats is what it was last.
    let ids = other.frames.id.values();
    let mut last = vec![None; game.len()];
    for (index, id) in ids.iter().enumerate() {
        match game.row_of(*id) {
            Some(row) => last[row] = Some(index),
            None => seen.1 += 1,
        }
    }
    for (row, index) in last.into_iter().enumerate() {
        let Some(index) = index else {
            seen.1 += 1;
            continue;
        };
        let is_there = theirs.validity.as_ref().is_none_or(|valid| valid.get_bit(index));
        if !is_there || !character_of_ours.is_present(row) {
            seen.1 += usize::from(is_there != character_of_ours.is_present(row));
            continue;
        }
        let (pre, post) = (&theirs.pre, &theirs.post);
        let pairs = [
            (character_of_ours.pre.stick_x[row].to_bits(), pre.joystick.x.value(index).to_bits()),
            (character_of_ours.pre.stick_y[row].to_bits(), pre.joystick.y.value(index).to_bits()),
            (character_of_ours.pre.c_stick_x[row].to_bits(), pre.cstick.x.value(index).to_bits()),
            (character_of_ours.pre.c_stick_y[row].to_bits(), pre.cstick.y.value(index).to_bits()),
            (character_of_ours.pre.trigger[row].to_bits(), pre.triggers.value(index).to_bits()),
            (character_of_ours.pre.buttons[row], pre.buttons.value(index)),
            (character_of_ours.pre.physical_buttons[row].into(), pre.buttons_physical.value(index).into()),
            (character_of_ours.post.action[row].into(), post.state.value(index).into()),
            (character_of_ours.post.x[row].to_bits(), post.position.x.value(index).to_bits()),
            (character_of_ours.post.y[row].to_bits(), post.position.y.value(index).to_bits()),
            (character_of_ours.post.facing[row].to_bits(), post.direction.value(index).to_bits()),
            (character_of_ours.post.percent[row].to_bits(), post.percent.value(index).to_bits()),
            (character_of_ours.post.shield[row].to_bits(), post.shield.value(index).to_bits()),
            (character_of_ours.post.stocks[row].into(), post.stocks.value(index).into()),
        ];
        seen.0 += pairs.len();
        seen.1 += pairs.iter().filter(|(ours, theirs)| ours != theirs).count();
    }
}
