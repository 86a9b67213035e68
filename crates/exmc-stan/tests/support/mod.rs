//! What tests of several files need: text -> typed program, host.
#![allow(dead_code)]

use std::cell::RefCell;
use std::rc::Rc;

use exmc_stan::check::check;
use exmc_stan::data::read_data;
use exmc_stan::diagnostic::Severity;
use exmc_stan::host::{Environment, Interpreter, Settings};
use exmc_stan::source::{Sources, Span};
use exmc_stan::syntax::{Folders, parse};
use exmc_stan::typed::Program;

/// The typed program; panics with its errors.
pub(crate) fn program(text: &str) -> Program {
    try_program(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// The typed program, or its errors.
pub(crate) fn try_program(text: &str) -> Result<Program, Vec<String>> {
    let mut sources = Sources::single("test.stan", text);
    let mut read = |_: &std::path::Path| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let (tree, mut diagnostics) = parse(&mut sources, &mut Folders::new(Vec::new(), &mut read));
    let mut typed = None;
    if !diagnostics.iter().any(|d| d.severity == Severity::Error) {
        let (program, found) = check(sources, &tree);
        diagnostics.extend(found);
        typed = program;
    }
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    typed.ok_or_else(|| errors.map(|d| d.message.clone()).collect())
}

/// What transformed data print, one string a line; an error is the last line, as `error LINE:
/// message`.
pub(crate) fn run(text: &str, data: &str, settings: Settings) -> Vec<String> {
    let program = program(text);
    let mut env = match read_data(&program, "data.json", data) {
        Ok(env) => env,
        Err(errors) => return errors.diagnostics.iter().map(|d| d.message.clone()).collect(),
    };
    run_transformed(&program, &mut env, settings)
}

pub(crate) fn run_transformed(
    program: &Program,
    env: &mut Environment,
    settings: Settings,
) -> Vec<String> {
    let lines = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&lines);
    let mut host = Interpreter::new(program, settings)
        .with_printer(Box::new(move |line| sink.borrow_mut().push(line.to_owned())));
    let result = host.transform_data(env);
    drop(host);
    let mut lines = lines.borrow().clone();
    if let Err(error) = result {
        lines.push(format!("error {}: {}", line_of(&program.sources, error.span), error.message));
    }
    lines
}

pub(crate) fn line_of(sources: &Sources, span: Span) -> u32 {
    sources.file(span).place(span.start).line
}
