//! Gradients against kernels written by hand, how costs grow, the sampler's own cost, the program's
//! start: a record.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::sampler::transitions;
use super::{build, duration, number, ratio, records, text};
use crate::record;

/// Starts of `exmc demo`.
const STARTS: usize = 21;

/// Measures, prints the table and, if asked to, writes it to `bench/record/kernels-<date>.md`.
///
/// # Errors
/// When building fails, data cannot be read, or a model is refused.
pub(crate) fn kernels(
    models: Option<&Path>,
    names: &[&str],
    write_record: bool,
) -> Result<(), String> {
    // The commit that is built, not one that is made meanwhile.
    let machine = record::machine();
    let program = build("exmc-bench", "--bin", "exmc-kernels")?;
    let folder = models.map(|m| m.to_string_lossy().into_owned());
    let mut args: Vec<&str> = Vec::new();
    if let Some(folder) = &folder {
        args.extend(["--models", folder]);
    }
    args.extend(names);
    let measured = records(&program, &args)?;
    let level = Command::new(&program).arg("level").output().map_err(|e| e.to_string())?;
    let level = String::from_utf8_lossy(&level.stdout).trim().to_owned();

    let mut page = format!(
        "# Gradients, sampler and program\n\n{machine} Vector instructions: {level}.\n\n\
         Command: `cargo xtask bench kernels{}{} --record`, one thread, thread time, medians of blocks that take turns; \
         ratios are taken within a round.\n",
        if models.is_some() { " --models DIR" } else { "" },
        names.iter().map(|n| format!(" {n}")).collect::<String>(),
    );
    page.push_str(&gradients(&measured));
    page.push_str(&growth(&measured));
    if names.is_empty() {
        page.push_str(&precision(&records(&program, &["precision"])?));
        page.push_str(&threads(&records(&program, &["threads"])?));
        page.push_str(&transitions(None)?);
        page.push_str(&demo()?);
    }
    println!("{page}");
    if write_record {
        let path = record::path("kernels");
        std::fs::write(&path, page).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("written to {}", path.display());
    }
    Ok(())
}

fn gradients(measured: &[Value]) -> String {
    let mut page = String::from(
        "\n## One gradient\n\n`native` is the executor that generates vector code, `by hand` the kernel for that model in \
         `crates/exmc-bench/src/by_hand`. Data `made` are seeded and of the original's shape. Positions are\n\
         anywhere, but for `lotka_volterra`, whose cost depends on it, near the posterior's mean.\n\n\
         | model | data | d | n | native | by hand | native / by hand | native, ns an observation | reference | reference / native |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in measured {
        let (native, elements) = (number(row, "native_ns"), number(row, "elements"));
        let each = native.zip(elements).map(|(t, n)| t / n);
        let slower = number(row, "native_over_reference").map(|r| 1.0 / r);
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            text(row, "model"),
            text(row, "data"),
            number(row, "dim").unwrap_or(f64::NAN),
            elements.unwrap_or(f64::NAN),
            duration(native),
            duration(number(row, "by_hand_ns")),
            ratio(number(row, "native_over_by_hand")),
            ratio(each),
            duration(number(row, "reference_ns")),
            ratio(slower),
        );
    }
    page
}

/// Families that differ in their number of rows only.
fn growth(measured: &[Value]) -> String {
    let mut page = String::from(
        "\n## How the cost grows\n\n| model | rows | native | by hand | native / by hand | native, ns a row |\n|---|---|---|---|---|---|\n",
    );
    let mut found = false;
    for family in ["logistic_1e", "regression_1e"] {
        for row in measured.iter().filter(|r| text(r, "model").starts_with(family)) {
            found = true;
            let (native, rows) = (number(row, "native_ns"), number(row, "elements"));
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} |",
                family.trim_end_matches("_1e"),
                rows.unwrap_or(f64::NAN),
                duration(native),
                duration(number(row, "by_hand_ns")),
                ratio(number(row, "native_over_by_hand")),
                native.zip(rows).map_or_else(String::new, |(t, n)| format!("{:.4}", t / n)),
            );
        }
    }
    if found { page } else { String::new() }
}

/// The same gradient in both precisions.
fn precision(measured: &[Value]) -> String {
    let mut page = String::from(
        "\n## Single precision\n\nWith `--precision f32` long elementwise operations and their data are `f32`, sums and scalars `f64`; the kernel \
         by hand is all `f64`.\n\n\
         | model | f64 | f32 | by hand | f64 / f32 | by hand / f32 |\n|---|---|---|---|---|---|\n",
    );
    for row in measured {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} |",
            text(row, "model"),
            duration(number(row, "double_ns")),
            duration(number(row, "single_ns")),
            duration(number(row, "by_hand_ns")),
            ratio(number(row, "double_over_single")),
            ratio(number(row, "by_hand_over_single")),
        );
    }
    page
}

/// One chain's gradient on several threads.
fn threads(measured: &[Value]) -> String {
    let mut page = String::from(
        "\n## Threads within a chain\n\nWall time of one gradient, in turn; the cores must be free for the ratio to mean anything.\n\n\
         | model | one thread | all | threads | one / all |\n|---|---|---|---|---|\n",
    );
    for row in measured {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            text(row, "model"),
            duration(number(row, "one_ns")),
            duration(number(row, "all_ns")),
            number(row, "threads").unwrap_or(f64::NAN),
            ratio(number(row, "one_over_all")),
        );
    }
    page
}

/// The whole process of `exmc demo`, and the program's size.
fn demo() -> Result<String, String> {
    let program = build("exmc-cli", "--bin", "exmc")?;
    let size = std::fs::metadata(&program).map_err(|e| e.to_string())?.len();
    let mut milliseconds = Vec::new();
    for _ in 0..=STARTS {
        let began = Instant::now();
        let status = Command::new(&program)
            .arg("demo")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        if !status.success() {
            return Err(format!("exmc demo: {status}"));
        }
        milliseconds.push(1e3 * began.elapsed().as_secs_f64());
    }
    // The first start reads the program from the disk.
    milliseconds.remove(0);
    milliseconds.sort_by(f64::total_cmp);
    Ok(format!(
        "\n## The program\n\n`exmc demo`, whole process, warm file cache, {STARTS} starts: median {:.1} ms, quickest {:.1} ms. Size of the \
         program: {:.1} MB.\n",
        milliseconds[STARTS / 2],
        milliseconds[0],
        size as f64 / 1e6,
    ))
}
