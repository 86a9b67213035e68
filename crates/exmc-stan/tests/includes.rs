//! `#include`: three spellings, files within files, functions once, and what is refused.

use std::io;
use std::path::{Path, PathBuf};

use exmc_stan::diagnostic::{Class, Diagnostic};
use exmc_stan::report::include_chain;
use exmc_stan::source::Sources;
use exmc_stan::syntax::tree::Program;
use exmc_stan::syntax::{Folders, parse};

/// Reads a program beside the files of a made-up folder.
fn read(text: &str, files: &[(&str, &str)]) -> (Program, Vec<Diagnostic>, Sources) {
    let mut reader = |path: &Path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or(io::ErrorKind::NotFound.into())
    };
    let mut sources = Sources::single("main.stan", text);
    let mut folders = Folders::new(vec![PathBuf::new(), PathBuf::from("lib")], &mut reader);
    let (program, diagnostics) = parse(&mut sources, &mut folders);
    (program, diagnostics, sources)
}

#[test]
fn a_file_may_be_named_in_three_ways_and_stand_anywhere() {
    let text = "data {\n#include \"a b.stan\"\n#include <c.stan>\n}\n";
    let files = [
        ("a b.stan", "real a;"),
        ("lib/c.stan", "array[\n#include e.stan\n] real c;"),
        ("lib/e.stan", "2"),
    ];
    let (_, diagnostics, _) = read(text, &files);
    assert_eq!(diagnostics, []);
}

#[test]
fn a_mistake_in_an_included_file_names_the_chain() {
    let files = [("a.stan", "real a;\n#include b.stan"), ("lib/b.stan", "real b")];
    let (_, diagnostics, sources) = read("data {\n  #include a.stan\n}", &files);
    let [mistake] = diagnostics.as_slice() else { panic!("{diagnostics:?}") };
    assert_eq!(sources.file(mistake.span).name, "lib/b.stan");
    assert_eq!(include_chain(mistake.span, &sources), ["a.stan:2:1", "main.stan:2:3"]);
}

#[test]
fn files_of_functions_are_read_once_and_others_each_time() {
    let function = "real f(real x) { return x; }";
    let twice = |name: &str| format!("functions {{\n#include {name}\n#include {name}\n}}");
    let count = |name: &str| {
        let (program, diagnostics, _) = read(&twice(name), &[(name, function)]);
        assert_eq!(diagnostics, []);
        program.functions.unwrap().statements.len()
    };
    assert_eq!((count("f.stanfunctions"), count("f.stan")), (1, 2));
}

#[test]
fn a_file_that_includes_itself_is_refused() {
    let files = [("a.stan", "#include b.stan"), ("b.stan", "#include a.stan"), ("main.stan", "")];
    for text in ["#include a.stan\nmodel { }", "#include main.stan\nmodel { }"] {
        let (program, diagnostics, _) = read(text, &files);
        let [mistake] = diagnostics.as_slice() else { panic!("{diagnostics:?}") };
        assert_eq!(mistake.class, Class::Include);
        assert!(mistake.message.contains("includes itself"), "{mistake:?}");
        assert!(program.model.is_some(), "what follows is read");
    }
}

#[test]
fn a_program_is_spliced_into_one_text() {
    let files = [
        ("f.stanfunctions", "real f(real x) { return x; } // no end of line"),
        ("a.stan", "real a;\n#include \"lib/b.stan\" // b"),
        ("lib/b.stan", "real b;"),
    ];
    let text = "functions {\n#include f.stanfunctions\n#include f.stanfunctions\n}\nparameters {\n#include a.stan\n} // #include a.stan\n";
    let (_, diagnostics, sources) = read(text, &files);
    assert_eq!(diagnostics, []);
    let spliced = "functions {\nreal f(real x) { return x; } // no end of line\n\n\n}\nparameters {\nreal a;\nreal b;\n // b\n\n} // #include a.stan\n";
    assert_eq!(sources.spliced(), spliced);
    let (_, diagnostics, alone) = read(spliced, &[]);
    assert_eq!(diagnostics, []);
    assert_eq!(alone.spliced(), spliced, "nothing is included, so it stays as it is");
}
