//! Random hierarchical models, judged by exact densities and distributions of draws: a count -> a
//! record.

use std::fmt::Write as _;
use std::process::Command;
use std::time::Instant;

use crate::{ci, record};

/// Models of a campaign.
const MODELS: u64 = 100_000;
/// Seeds of one process; what each says is one line of the record.
const AT_ONCE: u64 = 5_000;
/// The first seed; those of `cargo test` begin at 0.
const FIRST: u64 = 1_000_000;

/// Runs `exmc-gates hierarchies` over many seeds on all processors, and writes
/// `bench/record/random-hierarchies-<date>.md` when it ran the default number.
///
/// # Errors
/// When building fails, or the first model that a transformation changes.
pub(crate) fn hierarchies(args: &[&str]) -> Result<(), String> {
    let models = match args {
        [] => MODELS,
        [count] => count.parse().map_err(|e| format!("{count}: {e}"))?,
        _ => return Err("usage: cargo xtask hierarchies [COUNT]".to_owned()),
    };
    let machine = record::machine();
    ci::cargo(&["build", "--release", "-p", "exmc-testkit", "--bin", "exmc-gates"], &[])?;
    let gates = ci::target_folder()
        .join("release/exmc-gates")
        .with_extension(std::env::consts::EXE_EXTENSION);
    let began = Instant::now();
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let share = AT_ONCE.min(models.div_ceil(workers)).max(1);
    let jobs: Vec<(u64, u64)> = (0..models.div_ceil(share))
        .map(|k| (FIRST + k * share, share.min(models - k * share)))
        .collect();
    let mut table = String::new();
    for round in jobs.chunks(workers as usize) {
        let start = |&(first, count): &(u64, u64)| {
            let mut command = Command::new(&gates);
            command.args(["hierarchies", &count.to_string(), &first.to_string()]);
            command.stdout(std::process::Stdio::piped()).spawn().map_err(|e| e.to_string())
        };
        let running: Vec<_> = round.iter().map(start).collect::<Result<_, _>>()?;
        for process in running {
            let output = process.wait_with_output().map_err(|e| e.to_string())?;
            let said = String::from_utf8_lossy(&output.stdout);
            print!("{said}");
            if !output.status.success() {
                return Err("a transformation changed a model".to_owned());
            }
            let _ = writeln!(table, "- {}", said.trim_end());
        }
    }
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    println!("{models} models in {minutes:.1} minutes");
    if models == MODELS {
        let text = format!(
            "# Random hierarchical models\n\n{machine}\n\nCommand: `cargo xtask hierarchies`, {minutes:.1} minutes. {models} models: no \
             disagreement. For each, the log density at four positions, its slopes, and the joint distribution of recorded values \
             against dense linear algebra; the density of all coordinates at a recorded draw.\n\n{table}"
        );
        let path = record::path("random-hierarchies");
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("written to {}", path.display());
    }
    Ok(())
}
