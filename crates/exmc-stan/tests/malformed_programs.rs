//! What is said of malformed programs: `malformed/programs.txt`, program by program.
//!
//! A case is a program, a line `-----`, and its diagnostics; a line `=====` ends it. `EXMC_BLESS=1`
//! writes the diagnostics anew: read the difference before it is committed, for every message must
//! tell its reader what to do.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::fmt::Write;
use std::path::Path;

use exmc_stan::check::check;
use exmc_stan::diagnostic::{Diagnostic, Severity};
use exmc_stan::source::Sources;
use exmc_stan::syntax::{NoIncludes, parse};

/// All diagnostics of a program: place, class, message, labels, hint.
fn diagnostics(program: &str) -> String {
    let mut sources = Sources::single("model.stan", program);
    let (tree, mut diagnostics) = parse(&mut sources, &mut NoIncludes);
    if !diagnostics.iter().any(|d| d.severity == Severity::Error) {
        diagnostics = check(sources.clone(), &tree).1;
    }
    diagnostics.iter().map(|d| shown(d, &sources)).collect()
}

fn shown(diagnostic: &Diagnostic, sources: &Sources) -> String {
    let line_and_column = |span| {
        let place = sources.file(span).place(span.start);
        format!("{}:{}", place.line, place.column + 1)
    };
    let warning = if diagnostic.severity == Severity::Warning { " warning" } else { "" };
    let mut text = format!(
        "{} `{}` {}{warning}: {}\n",
        line_and_column(diagnostic.span),
        sources.text(diagnostic.span).escape_debug(),
        diagnostic.class.name(),
        diagnostic.message
    );
    for (span, words) in &diagnostic.labels {
        writeln!(text, "    {}: {words}", line_and_column(*span)).unwrap();
    }
    if let Some(help) = &diagnostic.help {
        writeln!(text, "    help: {help}").unwrap();
    }
    text
}

#[test]
fn every_malformed_program_gets_the_message_that_the_table_has() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/malformed/programs.txt");
    let table = std::fs::read_to_string(&path).unwrap();
    let (mut written, mut different, mut count) = (String::new(), Vec::new(), 0);
    for case in table.split("=====\n").filter(|c| !c.trim().is_empty()) {
        let (program, expected) = case.split_once("-----\n").unwrap_or((case, ""));
        let found = diagnostics(program);
        count += 1;
        if found.is_empty() {
            different.push(format!("nothing is said of\n{program}"));
        }
        if found != expected {
            different.push(format!("{program}-----\n{found}instead of\n{expected}"));
        }
        write!(written, "{program}-----\n{found}=====\n").unwrap();
    }
    if std::env::var_os("EXMC_BLESS").is_some() {
        std::fs::write(&path, written).unwrap();
        return;
    }
    assert!(
        different.is_empty(),
        "{} of {count} cases differ:\n{}",
        different.len(),
        different.join("\n")
    );
    assert!(count >= 150, "only {count} cases");
}
