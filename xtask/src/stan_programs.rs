//! Random Stan programs by ranges of seeds -> a record of how many agree with the interpreter.

use std::fmt::Write as _;
use std::process::Command;
use std::time::Instant;

use crate::{ci, record};

/// Seeds of one process, after which what was found is written down.
const AT_ONCE: u64 = 50_000;

/// Judges the programs of a range of seeds (a million by default) on all cores and writes
/// `bench/record/stan-programs-<date>.md`, anew after every range: a campaign that is cut short goes on with `--first`.
///
/// # Errors
/// When an argument is not understood, building fails, or a program differs.
pub(crate) fn stan_programs(args: &[&str]) -> Result<(), String> {
    let (mut count, mut first) = (1_000_000_u64, 0_u64);
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
    let machine = record::machine();
    ci::cargo(&["build", "--release", "-p", "exmc-testkit", "--bin", "exmc-gates"], &[])?;
    let gates = ci::target_folder()
        .join("release/exmc-gates")
        .with_extension(std::env::consts::EXE_EXTENSION);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).to_string();
    let began = Instant::now();
    let (mut said, mut failed, mut done) = (String::new(), false, 0);
    let path = record::path("stan-programs");
    while done < count {
        let part = AT_ONCE.min(count - done);
        let seeds = [part.to_string(), (first + done).to_string()];
        let output = Command::new(&gates)
            .args(["stan", &seeds[0], &seeds[1], &threads])
            .output()
            .map_err(|e| e.to_string())?;
        failed |= !output.status.success();
        done += part;
        let part = String::from_utf8_lossy(&output.stdout);
        println!("{part}");
        let _ = writeln!(said, "```\n{}\n```", part.trim_end());
        let minutes = began.elapsed().as_secs_f64() / 60.0;
        let word = if failed { "FAIL" } else { "all agree or are refused with a located error" };
        let text = format!(
            "# Random Stan programs, lowering against interpreter\n\n{machine}\n\nCommand: `cargo xtask stan-programs --count {count} \
             --first {first}`, {done} programs in {minutes:.1} minutes on {threads} threads: {word}.\n\n{said}"
        );
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    println!("written to {}", path.display());
    if failed { Err("a program differs".to_owned()) } else { Ok(()) }
}
