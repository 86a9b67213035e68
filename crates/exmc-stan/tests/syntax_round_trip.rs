//! Every program of our own corpus, and of folders that are named, is read without errors and
//! survives printing.
//!
//! `EXMC_STAN_CORPUS=DIR[:DIR…]` names further folders of correct programs (stanc3's `good`,
//! posteriordb, …); without it only our own are read, which is said.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::path::{Path, PathBuf};

use exmc_stan::source::Sources;
use exmc_stan::syntax::tree::Program;
use exmc_stan::syntax::{Folders, parse, print};

/// All programs below a folder, in order of their names.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "stan" || e == "stanfunctions") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The tree without its places, as text.
fn shape(program: &Program) -> String {
    let mut program = program.clone();
    program.comments.clear();
    let text = format!("{program:?}");
    let mut shape = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find("Span {") {
        shape.push_str(&rest[..start]);
        let end = rest[start..].find('}').unwrap();
        rest = &rest[start + end + 1..];
    }
    shape + rest
}

/// What is wrong with a program, if anything.
fn mistake(name: &str, text: &str, folder: &Path) -> Option<String> {
    let include = folder.join("../included");
    let mut read = |path: &Path| std::fs::read_to_string(path);
    let mut folders = Folders::new(vec![folder.to_owned(), include], &mut read);
    let mut sources = Sources::single(name, text);
    let (program, diagnostics) = parse(&mut sources, &mut folders);
    if let Some(first) = diagnostics.first() {
        let place = sources.file(first.span).place(first.span.start);
        return Some(format!("{name}:{}:{}: {}", place.line, place.column, first.message));
    }
    let printed = print(&program, &sources);
    let mut again = Sources::single("printed.stan", printed.as_str());
    let (second, diagnostics) = parse(&mut again, &mut folders);
    if let Some(first) = diagnostics.first() {
        let place = again.file(first.span).place(first.span.start);
        return Some(format!("{name}: printed, line {}: {}\n{printed}", place.line, first.message));
    }
    if shape(&program) != shape(&second) {
        return Some(format!("{name}: printing changed the tree\n{printed}"));
    }
    if print(&second, &again) != printed {
        return Some(format!("{name}: printing twice differs from printing once\n{printed}"));
    }
    let expected = program.comments.iter().filter(|c| c.span.file == 0).count();
    (second.comments.len() != expected)
        .then(|| format!("{name}: {expected} comments became {}", second.comments.len()))
}

fn check_folder(folder: &Path) -> usize {
    let programs = programs(folder);
    let mistakes: Vec<String> = programs
        .iter()
        .filter_map(|path| {
            let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
            mistake(&path.display().to_string(), &text, path.parent().unwrap())
        })
        .collect();
    let heads: Vec<&str> = mistakes.iter().filter_map(|m| m.lines().next()).collect();
    assert!(
        mistakes.is_empty(),
        "{} of {}:\n{}\n\n{}",
        mistakes.len(),
        programs.len(),
        heads.join("\n"),
        mistakes[0]
    );
    programs.len()
}

#[test]
fn our_own_programs_survive_printing() {
    let count = check_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs"));
    assert!(count >= 25, "only {count} programs were found");
}

#[test]
fn programs_of_named_folders_survive_printing() {
    let Ok(folders) = std::env::var("EXMC_STAN_CORPUS") else {
        println!("skipped: EXMC_STAN_CORPUS names no folders of programs");
        return;
    };
    for folder in folders.split(':') {
        let count = check_folder(Path::new(folder));
        println!("{count} programs in {folder}");
    }
}
