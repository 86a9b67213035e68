//! Files under a folder -> frames a second of the reader, on one core, as a line of JSON.
//!
//! The files are in memory, the reader keeps its memory, and the best of several rounds counts, in
//! processor time where the system tells it.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::path::{Path, PathBuf};

use replay::{Game, Reader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("usage: measure_reader FOLDER [ROUNDS]")?;
    let rounds: usize = args.next().map_or(Ok(15), |text| text.parse())?;
    let mut paths = Vec::new();
    replays_under(Path::new(&folder), &mut paths)?;
    paths.sort();
    let files: Vec<Vec<u8>> = paths.iter().map(std::fs::read).collect::<Result<_, _>>()?;
    let bytes: usize = files.iter().map(Vec::len).sum();

    let mut reader = Reader::default();
    let (mut best, mut best_fresh) = (f64::INFINITY, f64::INFINITY);
    let (mut frames, mut characters, mut damaged) = (0, 0, 0);
    for _ in 0..rounds {
        (frames, characters, damaged) = (0, 0, 0);
        let mut old = None;
        let began = now();
        for file in &files {
            let game = reader.read_into(file, old.take())?;
            frames += game.len();
            damaged += usize::from(game.damage.is_some());
            for port in game.ports.iter().flatten() {
                characters += game.len() * (1 + usize::from(port.follower.is_some()));
            }
            old = Some(game);
        }
        best = best.min(now() - began);
        let began = now();
        for file in &files {
            std::hint::black_box(Game::read(file)?);
        }
        best_fresh = best_fresh.min(now() - began);
    }
    let rate = frames as f64 / best / 1e6;
    println!(
        "{{\"files\": {}, \"damaged\": {damaged}, \"frames\": {frames}, \"character_frames\": {characters}, \
         \"bytes\": {bytes}, \"seconds\": {best:.6}, \"million_frames_a_second\": {rate:.2}, \
         \"gigabytes_a_second\": {:.2}, \"million_frames_a_second_in_new_memory\": {:.2}}}",
        files.len(),
        bytes as f64 / best / 1e9,
        frames as f64 / best_fresh / 1e6,
    );
    Ok(())
}

fn replays_under(folder: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            replays_under(&path, paths)?;
        } else if path.extension().is_some_and(|e| e == "slp") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Seconds that this thread has been on a processor.
#[cfg(unix)]
fn now() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Seconds of the clock, where the system does not tell the thread's.
#[cfg(not(unix))]
fn now() -> f64 {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed().as_secs_f64()
}
