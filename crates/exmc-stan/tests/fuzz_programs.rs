//! Deep, long and broken texts: the front end ends with diagnostics, never with a panic, and soon.
//! (Mutated programs are in exmc-corpus.)

use std::time::{Duration, Instant};

use exmc_stan::check::check;
use exmc_stan::diagnostic::{Class, Severity};
use exmc_stan::report::render;
use exmc_stan::source::{SourceFile, Sources};
use exmc_stan::syntax::{MAX_INCLUDES, NoIncludes, Resolver, parse, print};

/// Longest time for one short text; a front end whose time grows with the square of the text stays
/// far below.
const PATIENCE: Duration = Duration::from_secs(5);

/// Everything that the front end does with a text.
fn run(text: &str) {
    let started = Instant::now();
    let mut sources = Sources::single("m.stan", text);
    let (program, mut diagnostics) = parse(&mut sources, &mut NoIncludes);
    let _ = print(&program, &sources);
    let broken = diagnostics.iter().any(|d| d.severity == Severity::Error);
    // A tree with holes must not bring the checker down either.
    let (typed, more) = check(sources.clone(), &program);
    if !broken && typed.is_none() {
        assert!(!more.is_empty(), "a program was refused without a word");
    }
    diagnostics.extend(more);
    for diagnostic in &diagnostics {
        let shown = render(diagnostic, &sources);
        assert!(!diagnostic.message.is_empty() && shown.len() < 100_000, "{shown}");
    }
    assert!(started.elapsed() < PATIENCE, "{:?} for {} bytes", started.elapsed(), text.len());
}

#[test]
fn a_program_of_nothing_but_mistakes_is_given_up() {
    for text in ["$ ".repeat(1 << 20), "model { ".to_owned() + &"x = ; ".repeat(1 << 16)] {
        let mut sources = Sources::single("m.stan", text);
        let (_, diagnostics) = parse(&mut sources, &mut NoIncludes);
        assert!((100..=202).contains(&diagnostics.len()), "{}", diagnostics.len());
        assert!(
            diagnostics.iter().any(|d| d.message.contains("the rest of the program was not read"))
        );
    }
}

/// A file that includes two others, each of which does so again: 2^30 texts, were there no limit.
#[test]
fn includes_that_multiply_are_given_up() {
    struct Doubling(u32);
    impl Resolver for Doubling {
        fn resolve(&mut self, _: &str) -> Result<SourceFile, String> {
            self.0 += 1;
            Ok(SourceFile::new(format!("file {}", self.0), "#include a\n#include b\n"))
        }
    }
    let started = Instant::now();
    let mut sources = Sources::single("m.stan", "#include a\n");
    let (_, diagnostics) = parse(&mut sources, &mut Doubling(0));
    assert!(diagnostics.iter().any(|d| d.class == Class::Limit), "{diagnostics:?}");
    assert!(sources.files().len() <= MAX_INCLUDES + 1 && started.elapsed() < PATIENCE);
}

#[test]
fn deep_long_and_broken_texts_end_soon() {
    let many = 30_000;
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{", "1", "}"),
        ("-", "1", ""),
        ("a[", "1", "]"),
        ("f(", "1", ")"),
        ("1 + ", "1", ""),
        ("1 ^ ", "1", ""),
        ("a ? b : ", "1", ""),
        ("a ? ", "1", " : 2"),
        ("(1, ", "1", ")"),
        ("!", "a", ""),
        ("", "a", "'"),
        ("", "a", "[1]"),
        ("", "a", ".1"),
        ("1, ", "1", ""),
        ("f(1, ", "1", ")"),
    ] {
        for count in [200, many] {
            let expr = format!("{}{middle}{}", open.repeat(count), close.repeat(count));
            run(&format!("model {{ real x = {expr}; }}"));
            run(&format!("model {{ real x = {expr} }}"));
            run(&format!("data {{ array[{expr}] real<lower={expr}> x; }}"));
        }
    }
    for (open, close) in [
        ("{", "}"),
        ("if (1) ", ";"),
        ("while (1) ", ";"),
        ("for (i in 1:2) ", ";"),
        ("if (1) {} else ", ";"),
        ("profile(\"a\") {", "}"),
        (";", ""),
        ("real x", ""),
        ("x <- ", ""),
        ("<-", ""),
        ("tuple(", ")"),
        ("array[2] tuple(int, ", ") x;"),
        ("}", ""),
        ("data {", ""),
        ("\"", ""),
        ("/*", ""),
        ("x ", ""),
    ] {
        for count in [200, many] {
            run(&format!("model {{ {}{} }}", open.repeat(count), close.repeat(count)));
            run(&open.repeat(count));
        }
    }
}
