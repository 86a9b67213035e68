//! What storing draws costs eight schools -> a table in `bench/record`.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use super::{build, number, ratio, records, text};
use crate::record;

/// Measures runs with a directory against runs without one, `exmc-storage`'s, and writes
/// `bench/record/storage-<date>.md`.
///
/// # Errors
/// When an argument is not understood, or measuring fails.
pub(super) fn storage(args: &[&str]) -> Result<(), String> {
    let folder = match args {
        [] => std::env::temp_dir(),
        ["--dir", folder] => folder.into(),
        _ => return Err("usage: cargo xtask bench storage [--dir DIR]".to_owned()),
    };
    let machine = record::machine();
    let program = build("exmc-bench", "--bin", "exmc-storage")?;
    let load = record::load();
    let rows = records(&program, &[&folder.to_string_lossy()])?;
    let mut page = format!(
        "# What storing draws costs\n\n{machine}\n\nCommand: `cargo xtask bench storage`. {load}\n\nEight schools, 4 chains side by side on one thread, \
         nanoseconds a draw, medians over rounds: draws thrown away once their values were computed, kept in memory, and written to a run \
         directory with checkpoints, until all is on the disk. Ratios are medians within rounds. The bar is 1.05. *Process*: processor time \
         of the whole process, the thread that writes and the one that waits for the disk included. *Thread*: processor time of the thread \
         that samples, from its first draw to its last: the wall time where another core is free. *Wall*: wall time of the whole, which \
         on a busy machine is that of others, too.\n\n| variables `theta` | draws a chain | time | thrown away | in memory | in a directory | \
         over thrown away | over memory |\n|---|---|---|---|---|---|---|---|\n"
    );
    for row in &rows {
        for kind in ["process", "thread", "wall"] {
            let Some(times) = row.get(kind) else { continue };
            let ns = |entry: &Value, name: &str| {
                number(entry, name).map_or_else(String::new, |ns| format!("{ns:.0}"))
            };
            let _ = writeln!(
                page,
                "| {} | {} | {kind} | {} | {} | {} | {} | {} |",
                text(row, "form"),
                ns(row, "draws"),
                ns(times, "thrown_ns"),
                ns(times, "memory_ns"),
                ns(times, "directory_ns"),
                ratio(number(times, "over_thrown")),
                ratio(number(times, "over_memory")),
            );
        }
        if let (Some(process), Some(wall)) = (number(row, "process_us"), number(row, "wall_us")) {
            let _ = write!(
                page,
                "\nA directory of four chains without a draw takes {process:.0} microseconds of processor time and {wall:.0} of wall time, \
                 most of it for the disk.\n"
            );
        }
    }
    let path = record::path("storage");
    fs::write(&path, page).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}
