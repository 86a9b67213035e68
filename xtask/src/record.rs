//! What a record says about the machine and the day: nothing -> lines of text, paths of records.

use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::root;

/// The file `bench/record/<what>-<year>-<month>-<day>.md`.
pub(crate) fn path(what: &str) -> PathBuf {
    root().join("bench/record").join(format!("{what}-{}.md", today()))
}

/// Today in UTC, as 2026-01-31.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    date(seconds / 86_400)
}

/// The civil date of a day counted from 1970-01-01 (Hinnant, "chrono-compatible low-level date
/// algorithms").
fn date(days: u64) -> String {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Processor, cores, compiler and commit.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let cpu = cpu.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let compiler = first_line("rustc", &["--version"]);
    let commit = first_line("git", &["rev-parse", "--short", "HEAD"]);
    format!("Machine: {cpu}, {cores} cores. Compiler: {compiler}. Commit: {commit}.")
}

/// How busy the machine was with other work, in words; nothing where the system does not tell.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text.split(' ').next().unwrap_or_default();
    if load.is_empty() { String::new() } else { format!("Load average at the start: {load}.") }
}

fn first_line(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(root()).output();
    let text = output.ok().and_then(|o| String::from_utf8(o.stdout).ok()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_around_leap_days() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(19_782), "2024-02-29");
        assert_eq!(date(19_783), "2024-03-01");
        assert_eq!(date(20_453), "2025-12-31");
    }
}
