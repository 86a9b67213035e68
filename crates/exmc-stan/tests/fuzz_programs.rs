//! Mutated programs: whatever the text, the front end ends with diagnostics, never with a panic, and soon.
//!
//! Mutations of our own corpus by bytes and by words, for a second; `EXMC_FUZZ_SECONDS=N` runs longer and
//! `EXMC_FUZZ_SEED=S` elsewhere. What once failed lies in `regressions/` and always runs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exmc_stan::check::check;
use exmc_stan::diagnostic::{Class, Severity};
use exmc_stan::report::render;
use exmc_stan::source::{SourceFile, Sources};
use exmc_stan::syntax::{MAX_INCLUDES, NoIncludes, Resolver, parse, print};

/// Longest time for one short text; a front end whose time grows with the square of the text stays far below.
const PATIENCE: Duration = Duration::from_secs(5);

/// Words and marks that mutations put in.
const WORDS: [&str; 72] = [
    "data {",
    "model {",
    "}",
    "{",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    "?",
    "|",
    "~",
    "=",
    "+=",
    ".*=",
    "'",
    "!",
    "-",
    "+",
    "^",
    ".^",
    "*",
    "/",
    "%",
    "%/%",
    "\\",
    "&&",
    "||",
    "==",
    "<=",
    "T[",
    "target",
    "target +=",
    "jacobian +=",
    "if (",
    "else",
    "for (i in ",
    "while (",
    "return",
    "break;",
    "int",
    "real",
    "vector[2]",
    "matrix[2, 2]",
    "array[2]",
    "array[]",
    "tuple(",
    "simplex[2]",
    "complex",
    "<lower=0>",
    "offset=",
    "void",
    "print(",
    "reject(",
    "\"",
    "\"a\"",
    "//",
    "/*",
    "*/",
    "#include x",
    "#",
    "1",
    "1.5",
    ".1",
    "1e400",
    "99999999999999999999",
    "é",
    "\u{0}",
];

/// A small generator: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn texts(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

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

/// The text with a few changes.
fn mutate(text: &str, other: &str, random: &mut Random) -> String {
    let mut words: Vec<String> =
        text.split_inclusive([' ', '\n', ';', '(', ')', ',']).map(str::to_owned).collect();
    for _ in 0..=random.below(4) {
        let at = random.below(words.len());
        match random.below(7) {
            0 if !words.is_empty() => _ = words.remove(at),
            1 => words.insert(at, WORDS[random.below(WORDS.len())].to_owned()),
            2 if !words.is_empty() => WORDS[random.below(WORDS.len())].clone_into(&mut words[at]),
            3 if !words.is_empty() => {
                let from = words[random.below(words.len())].clone();
                words.insert(at, from);
            }
            4 => {
                let mut lines = other.lines();
                let count = lines.clone().count();
                if let Some(line) = lines.nth(random.below(count)) {
                    words.insert(at, line.to_owned());
                }
            }
            5 if !words.is_empty() => {
                let b = random.below(words.len());
                words.swap(at, b);
            }
            _ => words.truncate(at + 1),
        }
    }
    let mut bytes = words.concat().into_bytes();
    for _ in 0..random.below(3) {
        let at = random.below(bytes.len());
        match random.below(3) {
            0 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            1 if !bytes.is_empty() => _ = bytes.remove(at),
            _ => bytes.insert(at.min(bytes.len()), b"{}()[]<>;,|'\"#/*.0e_~"[random.below(21)]),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_programs_end_with_diagnostics() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
    };
    let time = Duration::from_secs(number("EXMC_FUZZ_SECONDS", 1));
    let mut random = Random(number("EXMC_FUZZ_SEED", 1));
    let corpus = texts("programs");
    let started = Instant::now();
    let mut runs = 0;
    while started.elapsed() < time || runs < 100 {
        let text = &corpus[random.below(corpus.len())];
        let other = &corpus[random.below(corpus.len())];
        let mutated = mutate(text, other, &mut random);
        if std::panic::catch_unwind(|| run(&mutated)).is_err() {
            panic!("this text brings the front end down:\n{mutated}");
        }
        runs += 1;
    }
    println!("{runs} texts");
}

#[test]
fn texts_that_once_failed_do_so_no_more() {
    for text in texts("regressions") {
        run(&text);
    }
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
