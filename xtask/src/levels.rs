//! The levels of vector instructions that this machine lacks, and what no test sees of memory:
//! tests run under emulators and checkers -> which passed, a record.
//!
//! NEON runs under QEMU's user mode. No such emulator has AVX-512, so a whole machine is emulated
//! (Bochs), which boots a kernel whose only program runs the tests. Memcheck watches every access,
//! that of generated code included; the address sanitizer also sees accesses between objects of a
//! stack. What is not given is skipped, with its reason.

mod archive;
mod machine;
mod subjects;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::record;
use machine::Machine;
use subjects::{Build, Outcome, Subject};

/// A test that asks the system for what user mode emulation does not pass on: advice about pages.
const NOT_EMULATED: &str = "large_arrays_ask_for_large_pages";

/// What the user gave.
#[derive(Default)]
struct Settings {
    neon: Option<PathBuf>,
    linker: Option<PathBuf>,
    avx512: Option<PathBuf>,
    packages: Option<PathBuf>,
    valgrind: Option<PathBuf>,
    sanitizer: bool,
    record: bool,
    minutes: u64,
    tests: Vec<String>,
}

/// One way to run tests, with what came of each or why there was none.
struct Way {
    name: &'static str,
    how: String,
    outcomes: Result<Vec<Outcome>, String>,
    seconds: f64,
}

/// `levels` with its arguments; see the list of commands.
///
/// # Errors
/// When an argument is not understood, a build fails, a test fails, or a level that was asked for
/// did not run.
pub(crate) fn levels(args: &[&str]) -> Result<(), String> {
    let settings = read(args)?;
    let machine = record::machine();
    let ways = [neon(&settings), avx512(&settings), valgrind(&settings), sanitizer(&settings)];
    let text = report(&machine, args, &ways);
    println!("\n{text}");
    if settings.record {
        let path = record::path("levels");
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("wrote {}", path.display());
    }
    let mut complaints = Vec::new();
    for way in &ways {
        match &way.outcomes {
            Ok(outcomes) => {
                let bad = outcomes.iter().filter(|o| !o.passed_all());
                complaints.extend(bad.map(|o| format!("{}: {} failed", way.name, o.name)));
            }
            Err(reason) if reason.starts_with(SKIPPED) => {}
            Err(reason) => complaints.push(format!("{}: {reason}", way.name)),
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

/// How a reason begins that is no failure.
const SKIPPED: &str = "skipped: ";

fn read(args: &[&str]) -> Result<Settings, String> {
    let mut settings = Settings { minutes: 60, ..Settings::default() };
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        let mut value = || args.next().copied().ok_or(format!("{arg} needs a value"));
        let path = |text: &str| std::path::absolute(text).map_err(|e| format!("{arg} {text}: {e}"));
        match arg {
            "--neon" => settings.neon = Some(path(value()?)?),
            "--linker" => settings.linker = Some(path(value()?)?),
            "--avx512" => settings.avx512 = Some(path(value()?)?),
            "--packages" => settings.packages = Some(path(value()?)?),
            "--valgrind" => settings.valgrind = Some(path(value()?)?),
            "--sanitizer" => settings.sanitizer = true,
            "--record" => settings.record = true,
            "--minutes" => {
                let text = value()?;
                settings.minutes = text.parse().map_err(|e| format!("--minutes {text}: {e}"))?;
            }
            name if name.starts_with("--") => {
                return Err(format!("levels has no setting `{name}`: see cargo xtask"));
            }
            name => settings.tests.push(name.to_owned()),
        }
    }
    Ok(settings)
}

impl Way {
    fn new(
        name: &'static str,
        how: String,
        run: impl FnOnce() -> Result<Vec<Outcome>, String>,
    ) -> Self {
        println!("== {name}");
        let began = Instant::now();
        let outcomes = run();
        if let Err(reason) = &outcomes {
            println!("{name}: {reason}");
        }
        Way { name, how, outcomes, seconds: began.elapsed().as_secs_f64() }
    }
}

/// The program at a path that was given, if it is there.
fn given<'a>(path: &'a Option<PathBuf>, setting: &str) -> Result<&'a Path, String> {
    let path = path.as_deref().ok_or(format!("{SKIPPED}no {setting}"))?;
    let missing = || format!("{SKIPPED}{setting} {}: there is no such file", path.display());
    if path.exists() { Ok(path) } else { Err(missing()) }
}

fn neon(settings: &Settings) -> Way {
    let how = settings.neon.as_deref().map(version).unwrap_or_default();
    Way::new("NEON", how, || {
        let emulator = given(&settings.neon, "--neon QEMU")?;
        let linker = given(&settings.linker, "--linker CC")?;
        let build = Build {
            folder: "arm",
            target: Some("aarch64-unknown-linux-gnu"),
            flags: "-C target-feature=+crt-static",
            variables: vec![(
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
                linker.display().to_string(),
            )],
        };
        let command = |subject: &Subject| {
            let mut command = Command::new(emulator);
            command.arg(&subject.program).args(["--skip", NOT_EMULATED]);
            command
        };
        let tests = build.tests(&settings.tests)?;
        let outcomes = subjects::run(&tests, command, |outcome| outcome)?;
        subjects::has_level(&outcomes, "neon")?;
        Ok(outcomes)
    })
}

fn avx512(settings: &Settings) -> Way {
    let how = settings.avx512.as_deref().map(version).unwrap_or_default();
    Way::new("AVX-512", how, || {
        let emulator = given(&settings.avx512, "--avx512 BOCHS")?;
        let packages = given(&settings.packages, "--packages DIR")?;
        let machine = Machine::new(emulator, packages)?;
        let build = Build {
            folder: "wide",
            target: Some("x86_64-unknown-linux-gnu"),
            flags: "-C target-feature=+crt-static -C strip=symbols",
            variables: Vec::new(),
        };
        let outcomes = machine.run(&build.tests(&settings.tests)?, settings.minutes)?;
        subjects::has_level(&outcomes, "avx512")?;
        Ok(outcomes)
    })
}

fn valgrind(settings: &Settings) -> Way {
    let how = settings.valgrind.as_deref().map(version).unwrap_or_default();
    Way::new("memcheck", how, || {
        let checker = given(&settings.valgrind, "--valgrind VALGRIND")?;
        let build = Build { folder: "plain", target: None, flags: "", variables: Vec::new() };
        let command = |subject: &Subject| {
            let mut command = Command::new(checker);
            let status = format!("--error-exitcode={ERRORS}");
            command.args(["-q", "--num-callers=30", &status]).arg(&subject.program);
            command
        };
        let tests = build.tests(&settings.tests)?;
        subjects::run(&tests, command, |outcome| outcome.of_memory(ERRORS))
    })
}

/// What memcheck ends with when it has an error to report, whatever the tests say; they end
/// with 101.
const ERRORS: i32 = 99;

fn sanitizer(settings: &Settings) -> Way {
    Way::new("address sanitizer", "rustc -Zsanitizer=address".to_owned(), || {
        if !settings.sanitizer {
            return Err(format!("{SKIPPED}no --sanitizer"));
        }
        let build = Build {
            folder: "sanitizer",
            target: Some("x86_64-unknown-linux-gnu"),
            flags: "-Zsanitizer=address",
            // The compiler has the sanitizer, but for the flag that asks for it.
            variables: vec![("RUSTC_BOOTSTRAP", "1".to_owned())],
        };
        let command = |subject: &Subject| Command::new(&subject.program);
        subjects::run(&build.tests(&settings.tests)?, command, |outcome| outcome)
    })
}

/// What a program says its version is.
fn version(program: &Path) -> String {
    let output = ["--version", "--help"].iter().find_map(|flag| {
        let output = Command::new(program).arg(flag).output().ok()?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let named = |line: &&str| line.chars().any(|c| c.is_ascii_digit()) && line.contains('.');
        text.lines().map(str::trim).find(named).map(str::to_owned)
    });
    output.unwrap_or_default()
}

fn report(machine: &str, args: &[&str], ways: &[Way]) -> String {
    let mut text = format!("# Levels under emulators, and memory checkers\n\n{machine}\n\n");
    // Where programs lie on one machine is of no use on another.
    let command = args.iter().map(|arg| {
        let name = arg.rsplit('/').next().unwrap_or(arg);
        if arg.contains('/') { format!("PATH/{name}") } else { (*arg).to_owned() }
    });
    let command: Vec<String> = command.collect();
    let _ = writeln!(text, "Command: `cargo xtask levels {}`.\n", command.join(" "));
    text += "Numbers of tests that passed, by binary; a dash where there was no run.\n\n| test |";
    let mut names: Vec<&str> = Vec::new();
    for outcome in ways.iter().filter_map(|way| way.outcomes.as_ref().ok()).flatten() {
        if !names.contains(&outcome.name.as_str()) {
            names.push(&outcome.name);
        }
    }
    ways.iter().for_each(|way| text += &format!(" {} |", way.name));
    text += "\n|---|";
    ways.iter().for_each(|_| text += "---|");
    text += "\n";
    for name in names {
        let _ = write!(text, "| {name} |");
        for way in ways {
            let outcomes = way.outcomes.as_deref().unwrap_or_default();
            let outcome = outcomes.iter().find(|outcome| outcome.name == name);
            let _ = write!(text, " {} |", outcome.map_or("-".to_owned(), Outcome::cell));
        }
        text += "\n";
    }
    text += "\n";
    for way in ways {
        match &way.outcomes {
            Ok(outcomes) => {
                let passed: usize = outcomes.iter().map(|outcome| outcome.passed).sum();
                let Way { name, how, seconds, .. } = way;
                let _ = writeln!(text, "- {name}: {passed} tests passed in {seconds:.0} s ({how})");
            }
            Err(reason) => {
                let _ = writeln!(text, "- {}: {reason}", way.name);
            }
        }
    }
    text
}
