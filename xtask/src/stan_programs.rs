//! Random Stan programs by ranges of seeds -> a record of how many agree with the interpreter.

use std::ffi::OsStr;

use crate::timed::timed;
use crate::{ci, record};

/// Seeds of one process, after which what was found is written down.
const AT_ONCE: u64 = 50_000;

/// Programs of a campaign.
const PROGRAMS: u64 = 1_000_000;

/// Judges the programs of a range of seeds (a million by default) on all cores and adds a section
/// for every part of it to `bench/record/stan-programs-<date>.md`: a campaign that is cut short, or
/// that is run in parts, goes on with `--first`.
///
/// # Errors
/// When an argument is not understood, building fails, or a program differs.
pub(crate) fn stan_programs(args: &[&str]) -> Result<(), String> {
    let (first, count) = range(args)?;
    let machine = record::machine();
    ci::cargo(&["build", "--release", "-p", "exmc-testkit", "--bin", "exmc-gates"], &[])?;
    let gates = ci::target_folder()
        .join("release/exmc-gates")
        .with_extension(std::env::consts::EXE_EXTENSION);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).to_string();
    let place = std::env::temp_dir().join(format!("exmc-stan-programs-{}", std::process::id()));
    std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    let path = record::path("stan-programs");
    let mut failed = false;
    for (first, count) in parts(first, count) {
        let [seeds, start] = [count.to_string(), first.to_string()];
        let mut command = vec![gates.as_os_str()];
        command.extend(["stan", &seeds, &start, &threads].map(OsStr::new));
        let ended = timed(&command, &place, 0.0)?;
        failed |= !ended.succeeded;
        let said = if ended.output.is_empty() { &ended.complaint } else { &ended.output };
        println!("{said}");
        let last = first + (count - 1);
        let word = if ended.succeeded { "no disagreement" } else { "FAIL" };
        let section = format!(
            "\n## Seeds {first} to {last}: {word}\n\n{machine} {threads} threads, {:.0} s, {:.0} processor s: {:.0} programs a processor \
             second.\n\n```\n{}\n```\n",
            ended.wall,
            ended.cpu,
            count as f64 / ended.cpu.max(0.001),
            said.trim_end(),
        );
        let mut text = std::fs::read_to_string(&path).unwrap_or_else(|_| TITLE.to_owned());
        text.push_str(&section);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    // What is left in the folder of temporary files is of no use to anybody.
    let _ = std::fs::remove_dir_all(&place);
    println!("written to {}", path.display());
    if failed { Err("a program differs".to_owned()) } else { Ok(()) }
}

const TITLE: &str = "# Random Stan programs, lowering against interpreter\n\n\
    Command: `cargo xtask stan-programs --first SEED --count N`, a section for each part of a range. Programs agree, or are refused \
    with a located error that is counted.\n";

/// First seed and number of seeds.
fn range(args: &[&str]) -> Result<(u64, u64), String> {
    let (mut count, mut first) = (PROGRAMS, 0_u64);
    let mut rest = args;
    while let [name, value, others @ ..] = rest {
        let number = value.parse().map_err(|e| format!("{name} {value}: {e}"))?;
        match *name {
            "--count" => count = number,
            "--first" => first = number,
            _ => return Err(format!("`{name}` is not understood; there are --count and --first")),
        }
        rest = others;
    }
    if let [name] = rest {
        return Err(format!("`{name}` needs a number, or is not understood"));
    }
    if first.checked_add(count).is_none() {
        return Err(format!("there are no {count} seeds from {first} on"));
    }
    Ok((first, count))
}

/// The parts of a range, each with its first seed and number of seeds.
fn parts(first: u64, count: u64) -> impl Iterator<Item = (u64, u64)> {
    let starts = (0..count.div_ceil(AT_ONCE)).map(|k| k * AT_ONCE);
    starts.map(move |start| (first + start, AT_ONCE.min(count - start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_run_in_parts() {
        assert_eq!(range(&[]), Ok((0, PROGRAMS)));
        assert_eq!(range(&["--first", "7", "--count", "120000"]), Ok((7, 120_000)));
        let all: Vec<_> = parts(7, 120_000).collect();
        assert_eq!(all, [(7, 50_000), (50_007, 50_000), (100_007, 20_000)]);
        assert_eq!(parts(7, 0).count(), 0);
        assert!(range(&["--first"]).is_err_and(|e| e.starts_with("`--first` needs")));
        assert!(range(&["--last", "1"]).is_err_and(|e| e.contains("not understood")));
        assert!(range(&["--first", &u64::MAX.to_string()]).is_err());
    }
}
