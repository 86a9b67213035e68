//! The corpus of stanc3's integration tests -> which programs this front end takes and refuses,
//! against what stanc does.
//!
//! `stanc3 DIR [--list]`, where DIR is a checkout of stan-dev/stanc3. Programs below `good` must be
//! accepted; those below `bad` refused, with the class and line that the `stanc.expected` beside
//! them tells. `--list` names every program that differs. Started by `cargo xtask stanc3`.
#![expect(clippy::print_stdout, reason = "a program whose output is its purpose")]

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use exmc_stan::check::check;
use exmc_stan::diagnostic::{Class, Diagnostic, Severity};
use exmc_stan::report::locate;
use exmc_stan::source::Sources;
use exmc_stan::syntax::{Folders, parse};

/// Longest time for one program before it counts as a hang.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the front end says of a program.
enum Verdict {
    Accepted,
    /// The first error: its class, file, line and message.
    Refused(Class, String, u32, String),
    Panicked,
    Hung,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("accepted"),
            Self::Refused(class, file, line, message) => {
                let file = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
                write!(f, "{} error, {file} line {line}: {message}", class.name())
            }
            Self::Panicked => f.write_str("panicked"),
            Self::Hung => f.write_str("hung"),
        }
    }
}

/// What stanc says of a bad program.
struct Expected {
    path: PathBuf,
    semantic: bool,
    line: u32,
    message: String,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let list = args.iter().any(|a| a == "--list");
    let Some(folder) = args.iter().find(|a| !a.starts_with("--")) else {
        println!("usage: stanc3 DIR [--list]");
        return ExitCode::FAILURE;
    };
    match compare(&Path::new(folder).join("test/integration"), list) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            println!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the comparison; whether all bars are met.
fn compare(folder: &Path, list: bool) -> Result<bool, String> {
    let (mut panics, mut hangs) = (0, 0);
    let mut count = |verdict: &Verdict| match verdict {
        Verdict::Panicked => panics += 1,
        Verdict::Hung => hangs += 1,
        _ => {}
    };
    let good = programs(&folder.join("good"))?;
    let mut accepted = 0;
    for path in &good {
        let verdict = judge(path, folder);
        count(&verdict);
        if matches!(verdict, Verdict::Accepted) {
            accepted += 1;
        } else if list {
            println!("good {}: {verdict}", shown(path, folder));
        }
    }
    let bad = expectations(&folder.join("bad"))?;
    let (mut refused, mut semantic, mut semantic_match, mut syntax_match) = (0, 0, 0, 0);
    for case in &bad {
        let verdict = judge(&case.path, folder);
        count(&verdict);
        semantic += usize::from(case.semantic);
        let wanted = if case.semantic { Class::Semantic } else { Class::Syntax };
        let matches = matches!(&verdict, Verdict::Refused(class, _, line, _) if *class == wanted && *line == case.line);
        refused += usize::from(matches!(verdict, Verdict::Refused(..)));
        semantic_match += usize::from(case.semantic && matches);
        syntax_match += usize::from(!case.semantic && matches);
        if list && !matches {
            let class = if case.semantic { "semantic" } else { "syntax" };
            println!(
                "bad {}: {verdict}\n    stanc: {class} error, line {}: {}",
                shown(&case.path, folder),
                case.line,
                case.message
            );
        }
    }
    let syntax = bad.len() - semantic;
    let bars = [
        ("good programs accepted", accepted, good.len(), 0.95),
        ("bad programs refused", refused, bad.len(), 0.97),
        ("class and line as stanc's, semantic errors", semantic_match, semantic, 0.80),
        ("class and line as stanc's, syntax errors", syntax_match, syntax, 0.0),
    ];
    let mut met = panics == 0 && hangs == 0;
    for (what, n, total, bar) in bars {
        let rate = n as f64 / total.max(1) as f64;
        let ok = rate >= bar && total > 0;
        met &= ok;
        let bar = if bar > 0.0 { format!(", bar {:.0} %", 100.0 * bar) } else { String::new() };
        let verdict = if ok { "" } else { "  NOT MET" };
        println!("{what}: {n} of {total} ({:.1} %{bar}){verdict}", 100.0 * rate);
    }
    println!("panics: {panics}, hangs: {hangs}");
    Ok(met)
}

fn shown(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

/// All programs below a folder, sorted.
fn programs(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|e| e.to_string())?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "stan") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What stands in the `stanc.expected` files below a folder: commands, what stanc prints, exit
/// codes.
fn expectations(folder: &Path) -> Result<Vec<Expected>, String> {
    let mut cases = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|e| e.to_string())?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|n| n == "stanc.expected") {
                let text =
                    fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                cases.extend(
                    text.split("  $ stanc ").skip(1).filter_map(|case| expectation(case, &folder)),
                );
            }
        }
    }
    cases.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(cases)
}

/// One command with its output; `None` if it is no refusal of a program.
fn expectation(case: &str, folder: &Path) -> Option<Expected> {
    let (file, output) = case.split_once('\n')?;
    let semantic = output.starts_with("Semantic error in ");
    if !(semantic || output.starts_with("Syntax error in ")) || !output.contains("[exit 1]") {
        return None;
    }
    let (_, after) = output.split_once("', line ")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    let mut rules = output.lines().skip_while(|l| !l.starts_with("   -----")).skip(1);
    rules.by_ref().find(|l| l.starts_with("   -----"));
    let message = rules.find(|l| !l.trim().is_empty()).unwrap_or("").to_owned();
    let path = folder.join(file.split_whitespace().last()?);
    Some(Expected { path, semantic, line: digits.parse().ok()?, message })
}

/// Runs the front end on one program, on a thread of its own.
fn judge(path: &Path, folder: &Path) -> Verdict {
    let (send, receive) = mpsc::channel();
    let (path, included) = (path.to_owned(), folder.join("included"));
    let worker = thread::spawn(move || {
        // The receiver is gone only when it no longer waits.
        let _ = send.send(first_error(&path, &included));
    });
    match receive.recv_timeout(PATIENCE) {
        Ok(verdict) => verdict,
        Err(mpsc::RecvTimeoutError::Timeout) => Verdict::Hung,
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let _ = worker.join();
            Verdict::Panicked
        }
    }
}

fn first_error(path: &Path, included: &Path) -> Verdict {
    let read = |path: &Path| Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned());
    let Ok(text) = read(path) else {
        return Verdict::Refused(
            Class::Include,
            path.display().to_string(),
            0,
            "no such file".to_owned(),
        );
    };
    let mut sources = Sources::single(path.display().to_string(), text);
    let program_folder = path.parent().unwrap_or(path).to_owned();
    let mut read = read;
    let mut folders = Folders::new(vec![program_folder, included.to_owned()], &mut read);
    let (program, diagnostics) = parse(&mut sources, &mut folders);
    let is_error = |d: &&Diagnostic| d.severity == Severity::Error;
    if let Some(first) = diagnostics.iter().find(is_error) {
        return refused(first, &sources);
    }
    let (_, diagnostics) = check(sources.clone(), &program);
    match diagnostics.iter().find(is_error) {
        Some(first) => refused(first, &sources),
        None => Verdict::Accepted,
    }
}

fn refused(first: &Diagnostic, sources: &Sources) -> Verdict {
    // stanc counts the errors of `#include` among those of syntax.
    let class = if first.class == Class::Include { Class::Syntax } else { first.class };
    let (file, line) = locate(first.span, sources)
        .map_or((String::new(), 0), |location| (location.file, location.line));
    Verdict::Refused(class, file, line, first.message.clone())
}
