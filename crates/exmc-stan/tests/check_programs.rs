//! The checker on whole programs: those of our own corpus, wrong ones with the message that is
//! expected, and folders of others' programs where they are at hand.

use std::fs;
use std::path::{Path, PathBuf};

use exmc_stan::check::check;
use exmc_stan::diagnostic::{Diagnostic, Severity};
use exmc_stan::source::Sources;
use exmc_stan::syntax::{Folders, parse};
use exmc_stan::typed::Program;

/// Errors and warnings of a text, each as `line: message`, with the typed program if there is one.
fn checked(name: &str, text: &str, folder: &Path) -> (Option<Program>, Vec<String>, Vec<String>) {
    let mut sources = Sources::single(name, text);
    let mut read = |path: &Path| fs::read_to_string(path);
    let mut folders = Folders::new(vec![folder.to_owned()], &mut read);
    let (tree, mut diagnostics) = parse(&mut sources, &mut folders);
    let mut program = None;
    if !diagnostics.iter().any(|d| d.severity == Severity::Error) {
        let (typed, found) = check(sources.clone(), &tree);
        diagnostics.extend(found);
        program = typed;
    }
    let line = |d: &Diagnostic| {
        format!("{}: {}", sources.file(d.span).place(d.span.start).line, d.message)
    };
    let lines_of = |s: Severity| diagnostics.iter().filter(|d| d.severity == s).map(line).collect();
    (program, lines_of(Severity::Error), lines_of(Severity::Warning))
}

fn errors(text: &str) -> Vec<String> {
    checked("test.stan", text, Path::new(".")).1
}

#[test]
fn wrong_programs_are_refused_where_they_are_wrong() {
    let cases: &[(&str, &[&str])] = &[
        ("model { y ~ normal(0, 1); }", &["1: `y` is not declared"]),
        ("data { int<offset=1> n; }", &["1: an int has no offset or multiplier"]),
        (
            "data { int N; }\nparameters { real mu; }\nmodel { N ~ normal(mu, 1, 2); }",
            &["3: `normal` cannot be called with arguments (int, real, int, int)"],
        ),
        ("parameters { int k; }", &["1: parameters must not be ints"]),
        (
            "parameters { real<lower=0> x; array[2] int k; }\ngenerated quantities { x = 1; }",
            &[
                "1: parameters must not be ints",
                "2: `x` belongs to parameters and cannot be changed here",
            ],
        ),
        (
            "parameters { real n; }\ntransformed parameters { vector[2] v = rep_vector(n, 2); array[size(v)] real w; }",
            &["2: a size must not depend on `v`, which is no data"],
        ),
        (
            "transformed data { real x = normal_lpdf(1, 0, 1); }",
            &["1: `normal_lpdf` needs a bar after the first argument"],
        ),
        (
            "transformed data { real x = exp(1 | 2); }",
            &["1: `exp` cannot be called with arguments (int, int)"],
        ),
        ("transformed data { int x = 1.5; }", &["1: `x` is int, and its value is real"]),
        ("transformed data { int x; x = 1.5; }", &["1: real cannot be assigned to int"]),
        ("transformed data { int x; real x; }", &["1: `x` is already declared"]),
        ("transformed data { int x; { real x; } }", &["1: `x` is already declared"]),
        (
            "transformed data { for (i in 1:3) i = 2; }",
            &["1: `i` is a loop's variable and cannot be changed"],
        ),
        ("transformed data { break; }", &["1: `break` is outside of any loop"]),
        (
            "transformed data { real x = 1; if (x) x = 2; }",
            &["1: the condition of `if` must be an int, and this is real"],
        ),
        (
            "transformed data { vector[2] v; row_vector[2] w = v * v; }",
            &["1: operator `*` does not apply to vector and vector"],
        ),
        (
            "transformed data { matrix[2, 2] m; real x = m[1, 2, 3]; }",
            &["1: matrix has 2 indexes and 3 are given"],
        ),
        ("transformed data { real x = 2147483648; }", &["1: this number is too large for an int"]),
        (
            "model { target += normal_rng(0, 1); }",
            &["1: `normal_rng` draws random numbers, which is not allowed here"],
        ),
        (
            "transformed data { target += 1; }",
            &["1: the log density cannot be changed or read here"],
        ),
        (
            "generated quantities { real x = normal_lupdf(1 | 0, 1); }",
            &["1: `normal_lupdf` without its constant terms has no meaning here"],
        ),
        ("model { 1 ~ nrmal(0, 1); }", &["1: there is no distribution `nrmal`"]),
        (
            "model { 1.0 ~ normal_lpdf(0, 1); }",
            &["1: after `~` stands a distribution's name without suffix"],
        ),
        (
            "model { 1 ~ bernoulli_logit(0) T[0, ]; }",
            &["1: `bernoulli_logit` cannot be truncated here"],
        ),
        ("transformed data { real x = normal(1, 0, 1); }", &["1: there is no function `normal`"]),
        (
            "functions { real f(real x) { return x; } }\nmodel { vector[1] y = solve_newton(solve_newton, [1]'); }",
            &["2: `solve_newton` takes a function and cannot be given to one"],
        ),
        ("data { array[2] int<lower=0.5> n; }", &[]),
        ("transformed data { real x = fabs(-1); }", &["1: there is no function `fabs`"]),
        (
            "transformed data { array[2] real a = {1, {2}}; }",
            &["1: an array's elements must have one type, and this is array[] int among int"],
        ),
        (
            "transformed data { real t = (1, 2).3; }",
            &["1: this tuple has slots .1 to .2, and no .3"],
        ),
        (
            "transformed data { array[2] int x = {1, 2}; x[x[1]] = 3; }",
            &["1: `x` is read in an index of what is assigned to"],
        ),
        ("transformed data { int a; (a, a) = (1, 2); }", &["1: `a` is assigned to twice at once"]),
        (
            "functions { real f(real x) { if (x > 0) return 1; } }",
            &["1: `f` may end without returning a value"],
        ),
        ("functions { real f(real x); }", &["1: `f` is declared and never defined"]),
        (
            "functions { real f(real x) { return x; } real f(real y) { return y; } }",
            &["1: `f` is already defined for arguments (real)"],
        ),
        (
            "functions { real f(real x) { return x; } int f(real y) { return 1; } }",
            &["1: overloads of `f` must differ in their arguments, not only in what they return"],
        ),
        (
            "functions { real exp(real x) { return x; } }",
            &["1: `exp` is a library function for arguments (real)"],
        ),
        (
            "functions { real foo_lpdf(int x) { return 1; } }",
            &["1: the first argument of `foo_lpdf` must be real"],
        ),
        (
            "functions { void f(real x) { x = 1; } }",
            &["1: `x` is an argument and cannot be changed"],
        ),
        (
            "functions { real f(data real x) { return x; } real g(real x) { return f(x); } }",
            &["1: `f` cannot be called with arguments (real)"],
        ),
        (
            "functions { vector f(real t, vector y, real k) { return y; } }\nparameters { real k; }\nmodel { array[1] vector[1] y = ode_rk45(f, [1]', 0, {1.0}, [k]); }",
            &["3: `ode_rk45`: the fifth argument must be real, and this is row_vector"],
        ),
        (
            "model { complex z; z ~ normal(0, 1); }",
            &["1: `normal` cannot be called with arguments (complex, int, int)"],
        ),
        (
            "parameters { vector<lower={1.0}>[2] v; }",
            &["1: the lower bound must be a number or vector, and this is array[] real"],
        ),
        ("data { int<lower=0.5> n; }", &["1: the bounds of an int must be ints"]),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let found = errors(text);
        if found != *expected {
            wrong.push(format!("{text}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn warnings_do_not_refuse_a_program() {
    let cases = [
        (
            "transformed data { int a = 3; real x = a / 2; }",
            "the division of two ints rounds towards zero",
        ),
        (
            "transformed data { int a = 1 < 2 < 3; }",
            "a chain of comparisons compares the first one's result",
        ),
        ("transformed data { real x; x = x; }", "this assigns a variable to itself"),
        ("transformed data { real x = x; }", "`x` is used in its own first value"),
        ("functions { real f() { return 1; print(2); } }", "this statement is never reached"),
    ];
    for (text, expected) in cases {
        let (program, errors, warnings) = checked("test.stan", text, Path::new("."));
        assert!(program.is_some() && errors.is_empty(), "{text}: {errors:?}");
        assert_eq!(warnings, [format!("1: {expected}")], "{text}");
    }
}

#[test]
fn expressions_of_any_height_that_parses_are_checked() {
    let tall = format!("transformed data {{ real x = {}1.5; }}", "1 + ".repeat(990));
    assert_eq!(errors(&tall), Vec::<String>::new());
    let minus = format!("transformed data {{ real x = {}1.5; }}", "- ".repeat(200));
    assert_eq!(errors(&minus), Vec::<String>::new());
    let taller = format!("transformed data {{ real x = {}1.5; }}", "1 + ".repeat(100_000));
    assert_eq!(errors(&taller).len(), 1);
}

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            programs(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "stan") {
            found.push(entry);
        }
    }
}

#[test]
fn all_programs_of_folders_are_accepted() {
    let Ok(folders) = std::env::var("EXMC_STAN_PROGRAMS") else {
        println!(
            "skipped: EXMC_STAN_PROGRAMS names no folders of programs (with `:` between them)"
        );
        return;
    };
    let mut refused = Vec::new();
    let mut all = Vec::new();
    folders.split(':').for_each(|folder| programs(Path::new(folder), &mut all));
    for path in &all {
        let text = fs::read_to_string(path).expect("a program can be read");
        let folder = path.parent().expect("a file lies in a folder");
        let (program, errors, _) = checked(&path.display().to_string(), &text, folder);
        if program.is_none() {
            refused.push(format!("{}: {errors:?}", path.display()));
        }
    }
    println!("{} programs, {} refused", all.len(), refused.len());
    assert!(!all.is_empty() && refused.is_empty(), "{}", refused.join("\n"));
}
