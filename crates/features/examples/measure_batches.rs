//! Files under a folder -> frames a second from a file's bytes to a batch, on one core, as a line
//! of JSON for each layout.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::path::{Path, PathBuf};

use features::{Batch, BatchSettings, Epoch, Schema};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("usage: measure_batches FOLDER [ROUNDS]")?;
    let rounds: u64 = args.next().map_or(Ok(7), |text| text.parse())?;
    let mut paths = Vec::new();
    replays_under(Path::new(&folder), &mut paths)?;
    paths.sort();
    let names: Vec<String> = paths.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    let files: Vec<Vec<u8>> = paths.iter().map(std::fs::read).collect::<Result<_, _>>()?;
    for (name, schema) in [("egocentric", Schema::egocentric()), ("full", Schema::full())] {
        let mut best = f64::INFINITY;
        let mut frames = 0;
        for round in 0..rounds {
            let began = now();
            let settings = BatchSettings::default();
            let window = settings.window;
            // The bytes are copied, as they would be from a disk's cache.
            let read = |wanted: &str| {
                let k = names.iter().position(|n| n == wanted).ok_or("not listed")?;
                Ok(files[k].clone())
            };
            let mut epoch = Epoch::new(&names, &schema, settings, round, read)?;
            let mut batch = Batch::default();
            frames = 0;
            while epoch.next_batch(&mut batch)? {
                frames += batch.windows.len() * window;
                std::hint::black_box(&batch);
            }
            best = best.min(now() - began);
        }
        println!(
            "{{\"layout\": \"{name}\", \"width\": {}, \"frames\": {frames}, \"seconds\": {best:.6}, \
             \"million_frames_a_second\": {:.2}}}",
            schema.width(),
            frames as f64 / best / 1e6
        );
    }
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
