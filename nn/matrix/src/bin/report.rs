//! `cargo run --release -p matrix --bin report -- FOLDER DATE [DEVICE ...]`: the whole table, or
//! that of some devices -> `nn-matrix-DATE.json` and `.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use burn::tensor::DType;
use matrix::run::{self, Outcome};
use matrix::table;

/// Elements of each input.
const SIZES: [usize; 4] = [1, 1 << 10, 1 << 19, 1 << 22];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, date, chosen @ ..] = args.as_slice() else {
        say("usage: report FOLDER DATE [DEVICE ...]");
        return ExitCode::FAILURE;
    };
    let started = Instant::now();
    let is_chosen = |name: &str| chosen.is_empty() || chosen.iter().any(|device| device == name);
    let (mut opened, mut closed) = backends::open();
    opened.retain(|device| is_chosen(device.name));
    closed.retain(|(name, _)| is_chosen(name));
    if opened.is_empty() {
        say(&format!("no such device in this build, or it could not be opened: {closed:?}"));
        return ExitCode::FAILURE;
    }
    let mut outcomes = Vec::new();
    for device in &opened {
        for &dtype in &device.dtypes {
            say(&format!(
                "{} {dtype:?} after {:.0} s",
                device.name,
                started.elapsed().as_secs_f64()
            ));
            let half = matches!(dtype, DType::F16 | DType::BF16);
            for case in table::CASES {
                for size in SIZES.into_iter().filter(|s| *s <= device.largest) {
                    if run::suits(case, dtype, size) {
                        outcomes.push(run::case(case, (device.name, &device.device), dtype, size));
                    }
                }
            }
            if half {
                continue;
            }
            for map in table::MAPS {
                for size in SIZES.into_iter().filter(|s| *s <= map.largest.min(device.largest)) {
                    outcomes.push(run::map(map, (device.name, &device.device), dtype, size));
                }
            }
        }
    }
    let mut text = String::new();
    text.push_str(&format!("# Penalties on every device, {date}\n\n"));
    // Devices beyond those of the default build are features of their names.
    let features = match chosen {
        [] => String::new(),
        _ => format!(" --no-default-features --features {}", chosen.join(",")),
    };
    let devices: String = chosen.iter().map(|name| format!(" {name}")).collect();
    let _ = writeln!(
        text,
        "`cargo run --release -p matrix{features} --bin report -- ../bench/record {date}{devices}` in `nn/`.\n"
    );
    text.push_str("Errors are relative to plain loops over `f64` on the same rounded inputs: of the value, and of the gradient over its largest element\n(of a proximal operator: of its result). Bars: `F64` 1e-14 both; `F32` 1e-6 and 1e-5; 16 bits 1e-6 and half a unit in the last place.\nThe black box's stencil may add 5e-5 in `F32` and 1e-5 in `F64`.\n\n");
    for device in &opened {
        let _ = writeln!(text, "- {}: {:?}", device.name, device.dtypes);
        for (dtype, why) in &device.refused {
            let _ = writeln!(text, "  - {dtype:?} refused: {why}");
        }
        for caveat in &device.caveats {
            let _ = writeln!(text, "  - {caveat}");
        }
    }
    for (name, why) in &closed {
        let _ = writeln!(text, "- {name} could not be opened: {why}");
    }
    let agreed = outcomes.iter().filter(|o| o.agrees).count();
    let _ = writeln!(text, "\n{agreed} of {} rows are within the bars.\n", outcomes.len());
    table_of(&outcomes, &mut text);
    let json = serde_json::to_string(&outcomes).expect("outcomes are plain data");
    let json = json.replace("},{", "},\n{");
    for (ending, content) in [("json", json), ("md", text.clone())] {
        let path = format!("{folder}/nn-matrix-{date}.{ending}");
        if let Err(error) = std::fs::write(&path, content) {
            say(&format!("{path}: {error}"));
            return ExitCode::FAILURE;
        }
    }
    say(&text);
    if agreed == outcomes.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Worst errors over sizes: a line for each penalty, a column for each device and type.
fn table_of(outcomes: &[Outcome], text: &mut String) {
    let mut columns: Vec<(&str, &str)> = Vec::new();
    let mut worst: BTreeMap<(usize, &str, &str), (f64, f64, bool)> = BTreeMap::new();
    let mut names: Vec<&str> = Vec::new();
    for outcome in outcomes {
        let column = (outcome.device, outcome.dtype.as_str());
        if !columns.contains(&column) {
            columns.push(column);
        }
        let row = names.iter().position(|n| *n == outcome.penalty).unwrap_or_else(|| {
            names.push(outcome.penalty);
            names.len() - 1
        });
        let cell = worst.entry((row, column.0, column.1)).or_insert((0.0, 0.0, true));
        cell.0 = cell.0.max(outcome.value_error);
        cell.1 = cell.1.max(outcome.gradient_error);
        cell.2 &= outcome.agrees;
    }
    text.push_str("Largest errors over all sizes, value / gradient; **bold** where a bar is missed.\n\n| penalty |");
    for (device, dtype) in &columns {
        let _ = write!(text, " {device} {dtype} |");
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(columns.len()));
    for (row, name) in names.iter().enumerate() {
        let _ = write!(text, "\n| {name} |");
        for (device, dtype) in &columns {
            match worst.get(&(row, *device, *dtype)) {
                Some((value, gradient, true)) => {
                    let _ = write!(text, " {value:.0e} / {gradient:.0e} |");
                }
                Some((value, gradient, false)) => {
                    let _ = write!(text, " **{value:.0e} / {gradient:.0e}** |");
                }
                None => text.push_str(" – |"),
            }
        }
    }
    text.push('\n');
}

#[expect(clippy::print_stdout, reason = "a command line program")]
fn say(text: &str) {
    println!("{text}");
}
