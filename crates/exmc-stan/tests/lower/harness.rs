//! A program's text and data -> its density at positions, for tests.

use exmc_graph::{Tensor, differentiate, evaluate};
use exmc_stan::check::check;
use exmc_stan::diagnostic::Diagnostic;
use exmc_stan::host::{Environment, Interpreter, Settings};
use exmc_stan::lower::{Options, StanLowered, lower};
use exmc_stan::source::Sources;
use exmc_stan::syntax::{NoIncludes, parse};
use exmc_stan::typed::{Program, Scope, VariableId};
use exmc_stan::value::Value;

/// A checked program.
pub(crate) fn program(text: &str) -> Program {
    let mut sources = Sources::single("test.stan", text);
    let (tree, mistakes) = parse(&mut sources, &mut NoIncludes);
    assert!(mistakes.is_empty(), "{mistakes:?}");
    let (program, mistakes) = check(sources, &tree);
    program.unwrap_or_else(|| panic!("{mistakes:?}"))
}

/// Lowers a program over data by name.
pub(crate) fn try_lowered(
    text: &str,
    data: &[(&str, Value)],
) -> Result<StanLowered, Box<(Vec<Diagnostic>, Program)>> {
    try_lowered_with(text, data, Options::default())
}

/// The same with settings.
pub(crate) fn try_lowered_with(
    text: &str,
    data: &[(&str, Value)],
    options: Options,
) -> Result<StanLowered, Box<(Vec<Diagnostic>, Program)>> {
    let program = program(text);
    let environment = environment(&program, data);
    lower(&program, &environment, options).map_err(|mistakes| Box::new((mistakes, program)))
}

/// The data by name, in a program's environment.
fn environment(program: &Program, data: &[(&str, Value)]) -> Environment {
    let mut environment = Environment::new(program);
    for (k, variable) in program.variables.iter().enumerate() {
        if variable.scope == Scope::Data {
            let found = data.iter().find(|(name, _)| *name == &*variable.name);
            let (_, value) = found.unwrap_or_else(|| panic!("no data for {}", variable.name));
            environment.set(VariableId(k as u32), value.clone());
        }
    }
    environment
}

/// The same, where it works.
pub(crate) fn lowered(text: &str, data: &[(&str, Value)]) -> StanLowered {
    try_lowered(text, data).unwrap_or_else(|refusal| panic!("{:?}", refusal.0))
}

/// The density at a position.
pub(crate) fn logp(lowered: &StanLowered, position: &[f64]) -> f64 {
    let l = &lowered.lowered;
    assert_eq!(
        position.len(),
        l.dim,
        "the position is as long as the program's unconstrained vector"
    );
    let inputs = |name: &str| {
        let entry = l.layout.iter().find(|e| e.name == name)?;
        let values = &position[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values.to_vec())
    };
    evaluate(&l.graph, &[l.logp], &inputs).unwrap()[0].as_scalar().unwrap()
}

/// Asserts that the density with all constants, and without, is what the host interpreter gives.
#[track_caller]
pub(crate) fn assert_host(text: &str, data: &[(&str, Value)], position: &[f64]) {
    for proportional in [false, true] {
        let mut options = Options::default();
        options.proportional = proportional;
        let lowered = try_lowered_with(text, data, options);
        let lowered = lowered.unwrap_or_else(|refusal| panic!("{:?}", refusal.0));
        let found = logp(&lowered, position);
        let program = program(text);
        let mut environment = environment(&program, data);
        let mut settings = Settings::default();
        settings.proportional = proportional;
        let mut host = Interpreter::new(&program, settings);
        let expected = host.log_density(&mut environment, position).unwrap();
        let near = (found - expected).abs() <= 1e-11 * (1.0 + expected.abs());
        assert!(near, "found {found}, the host has {expected} at {position:?} of\n{text}");
    }
}

/// Nodes that the density needs.
pub(crate) fn size(lowered: &StanLowered) -> usize {
    let l = &lowered.lowered;
    l.graph.reachable(&[l.logp]).into_iter().filter(|live| *live).count()
}

/// Asserts a density, to rounding of sums in another order.
pub(crate) fn assert_logp(text: &str, data: &[(&str, Value)], position: &[f64], expected: f64) {
    let lowered = lowered(text, data);
    let found = logp(&lowered, position);
    let near = (found - expected).abs() <= 1e-11 * (1.0 + expected.abs());
    assert!(near || found == expected, "found {found}, expected {expected}");
}

/// Asserts that the gradient is that of central differences, relative to its largest element (at
/// least one).
pub(crate) fn assert_gradient(
    text: &str,
    data: &[(&str, Value)],
    position: &[f64],
    tolerance: f64,
) {
    let mut lowered = lowered(text, data);
    let l = &mut lowered.lowered;
    let inputs: Vec<_> = l.layout.iter().map(|e| e.input).collect();
    let slopes = differentiate(&mut l.graph, l.logp, &inputs).unwrap();
    let by_name = |name: &str| {
        let entry = l.layout.iter().find(|e| e.name == name)?;
        let values = &position[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values.to_vec())
    };
    let slopes = evaluate(&l.graph, &slopes, &by_name).unwrap();
    let gradient: Vec<f64> = slopes.iter().flat_map(|t| t.values().to_vec()).collect();
    let size = gradient.iter().fold(1.0_f64, |size, g| size.max(g.abs()));
    for (k, found) in gradient.iter().enumerate() {
        let moved = |by: f64| {
            let mut moved = position.to_vec();
            moved[k] += by;
            logp(&lowered, &moved)
        };
        let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        let near = (found - expected).abs() <= tolerance * size;
        assert!(near, "element {k}: {found}, differences give {expected}");
    }
}

/// Asserts that a program is refused at a line with words.
#[track_caller]
pub(crate) fn assert_refused(text: &str, data: &[(&str, Value)], line: u32, words: &str) {
    refused_with(text, data, Options::default(), (line, words));
}

/// The same with settings.
#[track_caller]
pub(crate) fn refused_with(
    text: &str,
    data: &[(&str, Value)],
    options: Options,
    (line, words): (u32, &str),
) {
    let Err(refusal) = try_lowered_with(text, data, options) else {
        panic!("it was lowered");
    };
    let (mistakes, program) = *refusal;
    let mistake = &mistakes[0];
    let place = program.sources.file(mistake.span).place(mistake.span.start);
    assert!(mistake.message.contains(words), "{}", mistake.message);
    assert_eq!(place.line, line, "{}", mistake.message);
}

/// $-\tfrac12((x-m)/s)^2 - \log s$, what `~ normal` adds.
pub(crate) fn normal(x: f64, m: f64, s: f64) -> f64 {
    -0.5 * ((x - m) / s).powi(2) - s.ln()
}
