//! Random Stan programs by ranges of seeds -> a record of how many agree with the interpreter, or
//! with a peer that shares no code with either.

use std::ffi::OsStr;
use std::process::Command;

use crate::timed::timed;
use crate::{ci, record, root};

/// Seeds of one process, after which what was found is written down.
const AT_ONCE: u64 = 50_000;

/// Programs of a campaign.
const PROGRAMS: u64 = 1_000_000;

/// Programs that a peer judges, which takes a process for each.
const PEER_PROGRAMS: u64 = 3000;

/// Judges the programs of a range of seeds (a million by default) on all cores and adds a section
/// for every part of it to `bench/record/stan-programs-<date>.md`: a campaign that is cut short, or
/// that is run in parts, goes on with `--first`.
///
/// # Errors
/// When an argument is not understood, building fails, or a program differs.
pub(crate) fn stan_programs(args: &[&str]) -> Result<(), String> {
    let asked = asked(args)?;
    if let Some(python) = asked.peer {
        return judged_by_peer(python, &asked);
    }
    let (first, count) = (asked.first, asked.count);
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
        append(&path, TITLE, &section)?;
    }
    // What is left in the folder of temporary files is of no use to anybody.
    let _ = std::fs::remove_dir_all(&place);
    println!("written to {}", path.display());
    if failed { Err("a program differs".to_owned()) } else { Ok(()) }
}

const TITLE: &str = "# Random Stan programs, lowering against interpreter\n\n\
    Command: `cargo xtask stan-programs --first SEED --count N`, a section for each part of a range. Programs agree, or are refused \
    with a located error that is counted.\n";

/// Judges programs by stanli, and those that differ by Stan's own headers where their folder is
/// given, and adds a section to `bench/record/stan-programs-peer-<date>.md`.
fn judged_by_peer(python: &str, asked: &Asked<'_>) -> Result<(), String> {
    let machine = record::machine();
    let packages = ["-p", "exmc-testkit", "-p", "exmc-cli", "--bins"];
    ci::cargo(&[&["build", "--release"], &packages[..]].concat(), &[])?;
    let built = |name: &str| {
        let folder = ci::target_folder().join("release");
        folder.join(name).with_extension(std::env::consts::EXE_EXTENSION)
    };
    let mut judge = Command::new(python);
    judge.arg(root().join("bench/peers/judge_programs.py"));
    judge.args([built("exmc-gates"), built("exmc")]);
    judge.args([asked.count.to_string(), asked.first.to_string()]).args(asked.stan);
    let made = judge.output().map_err(|e| format!("{python}: {e}"))?;
    let said = String::from_utf8_lossy(&made.stdout);
    println!("{said}{}", String::from_utf8_lossy(&made.stderr));
    if said.is_empty() {
        return Err(format!("{python} judged nothing: it needs the package stanli"));
    }
    let last = asked.first + asked.count.saturating_sub(1);
    let word = if made.status.success() { "no disagreement" } else { "FAIL" };
    let section = format!(
        "\n## Seeds {} to {last}: {word}\n\n{machine}\n\n```\n{}\n```\n",
        asked.first,
        said.trim_end()
    );
    let path = record::path("stan-programs-peer");
    append(&path, PEER_TITLE, &section)?;
    println!("written to {}", path.display());
    if made.status.success() { Ok(()) } else { Err("a program differs".to_owned()) }
}

const PEER_TITLE: &str = "# Random Stan programs, exmc against stanli and Stan\n\n\
    Command: `cargo xtask stan-programs --peer PYTHON --stan DIR --first SEED --count N`. Log densities (as differences from the first \
    point) and gradients of each program at six points, compiled natively. Where stanli and exmc differ, Stan's headers decide.\n";

/// Adds a section to a record, which is begun with a title.
fn append(path: &std::path::Path, title: &str, section: &str) -> Result<(), String> {
    let mut text = std::fs::read_to_string(path).unwrap_or_else(|_| title.to_owned());
    text.push_str(section);
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked<'a> {
    first: u64,
    count: u64,
    /// Python that has stanli.
    peer: Option<&'a str>,
    /// The folder of peers that compiles with Stan's headers.
    stan: Option<&'a str>,
}

fn asked<'a>(args: &[&'a str]) -> Result<Asked<'a>, String> {
    let (mut count, mut first, mut peer, mut stan) = (None, 0_u64, None, None);
    let mut rest = args;
    while let [name, value, others @ ..] = rest {
        let number = || value.parse().map_err(|e| format!("{name} {value}: {e}"));
        match *name {
            "--count" => count = Some(number()?),
            "--first" => first = number()?,
            "--peer" => peer = Some(*value),
            "--stan" => stan = Some(*value),
            _ => {
                return Err(format!(
                    "`{name}` is not understood; there are --count, --first, --peer and --stan"
                ));
            }
        }
        rest = others;
    }
    if let [name] = rest {
        return Err(format!("`{name}` needs a value, or is not understood"));
    }
    if stan.is_some() && peer.is_none() {
        return Err("--stan decides where a peer differs: --peer is missing".to_owned());
    }
    let count = count.unwrap_or(if peer.is_some() { PEER_PROGRAMS } else { PROGRAMS });
    if first.checked_add(count).is_none() {
        return Err(format!("there are no {count} seeds from {first} on"));
    }
    Ok(Asked { first, count, peer, stan })
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
        let range = |args: &[&str]| asked(args).map(|asked| (asked.first, asked.count));
        assert_eq!(range(&[]), Ok((0, PROGRAMS)));
        assert_eq!(range(&["--first", "7", "--count", "120000"]), Ok((7, 120_000)));
        assert_eq!(range(&["--peer", "python3"]), Ok((0, PEER_PROGRAMS)));
        assert!(range(&["--stan", "peers"]).is_err_and(|e| e.contains("--peer is missing")));
        let all: Vec<_> = parts(7, 120_000).collect();
        assert_eq!(all, [(7, 50_000), (50_007, 50_000), (100_007, 20_000)]);
        assert_eq!(parts(7, 0).count(), 0);
        assert!(range(&["--first"]).is_err_and(|e| e.starts_with("`--first` needs")));
        assert!(range(&["--last", "1"]).is_err_and(|e| e.contains("not understood")));
        assert!(range(&["--first", &u64::MAX.to_string()]).is_err());
    }
}
