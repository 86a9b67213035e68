//! What storing draws costs eight schools -> a table in `bench/record`.

use std::fmt::Write as _;
use std::fs;

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
         nanoseconds of processor time of the whole process a draw, medians over rounds: draws thrown away once their values were \
         computed, kept in memory, and written to a run directory with checkpoints, until all is on the disk. Ratios are medians \
         within rounds. The bar is 1.05.\n\n| variables `theta` | draws a chain | thrown away | in memory | in a directory | over thrown \
         away | over memory |\n|---|---|---|---|---|---|---|\n"
    );
    for row in &rows {
        let ns = |name: &str| number(row, name).map_or_else(String::new, |ns| format!("{ns:.0}"));
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} |",
            text(row, "form"),
            ns("draws"),
            ns("thrown_ns"),
            ns("memory_ns"),
            ns("directory_ns"),
            ratio(number(row, "over_thrown")),
            ratio(number(row, "over_memory")),
        );
    }
    let path = record::path("storage");
    fs::write(&path, page).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}
