//! Every operator between numbers, vectors and matrices, real and complex, that the checker takes:
//! the lowering's value is the host's.

use exmc_graph::{Tensor, evaluate};
use exmc_stan::check::check;
use exmc_stan::host::environment::Environment;
use exmc_stan::host::{Interpreter, Settings};
use exmc_stan::lower::{Options, lower};
use exmc_stan::source::Sources;
use exmc_stan::syntax::{NoIncludes, parse};
use exmc_stan::typed::Program;

/// Declarations of a variable, and a number that tells its elements apart.
const TYPES: &[(&str, &str)] = &[
    ("real", "c"),
    ("complex", "get_real(c) + 2 * get_imag(c)"),
    ("vector[2]", "dot_product(c, [1, 2])"),
    ("row_vector[2]", "dot_product(c, [1, 2])"),
    ("matrix[2, 2]", "sum(c .* [[1, 2], [3, 4]])"),
    ("complex_vector[2]", "dot_product(get_real(c), [1, 2]) + dot_product(get_imag(c), [3, 4])"),
    (
        "complex_row_vector[2]",
        "dot_product(get_real(c), [1, 2]) + dot_product(get_imag(c), [3, 4])",
    ),
    (
        "complex_matrix[2, 2]",
        "sum(get_real(c) .* [[1, 2], [3, 4]]) + sum(get_imag(c) .* [[5, 6], [7, 8]])",
    ),
];

const OPERATORS: &[&str] = &["+", "-", "*", "/", ".*", "./", "^", ".^", "\\", "==", "!="];

fn program(text: &str) -> Option<Program> {
    let mut sources = Sources::single("test.stan", text);
    let (tree, mistakes) = parse(&mut sources, &mut NoIncludes);
    if !mistakes.is_empty() {
        return None;
    }
    check(sources, &tree).0
}

/// The density of a program by the lowering and by the host.
fn both(program: &Program) -> Result<[f64; 2], String> {
    let known = Environment::new(program);
    let lowered = lower(program, &known, Options::default());
    let lowered = lowered.map_err(|found| format!("the lowering refuses: {}", found[0].message))?;
    let l = &lowered.lowered;
    let position: Vec<f64> = (0..l.dim).map(|k| 0.4 + ((k * 7) % 11) as f64 / 8.0).collect();
    let inputs = |name: &str| {
        let entry = l.layout.iter().find(|e| e.name == name)?;
        let values = &position[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values.to_vec())
    };
    let graph = evaluate(&l.graph, &[l.logp], &inputs).unwrap()[0].as_scalar().unwrap();
    let mut host = Interpreter::new(program, Settings::default());
    let host = host.log_density(&mut known.clone(), &position);
    Ok([graph, host.map_err(|error| format!("the host: {}", error.message))?])
}

#[test]
fn operators_of_parameters_and_of_values_agree() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    let mut see = |declared: &str, expression: &str| {
        let text = |(ty, number): &(&str, &str)| {
            format!(
                "parameters {{ {declared} }} model {{ {ty} c = {expression}; target += {number}; }}"
            )
        };
        // Real results are tried first, so that none is promoted.
        let Some(program) = TYPES.iter().find_map(|ty| program(&text(ty))) else { return };
        count += 1;
        match both(&program) {
            Ok([graph, host]) if (graph - host).abs() <= 1e-12 * graph.abs().max(1.0) => {}
            Ok([graph, host]) => {
                wrong.push(format!("{declared} {expression}: graph {graph}, host {host}"))
            }
            Err(what) => wrong.push(format!("{declared} {expression}: {what}")),
        }
    };
    for (a, _) in TYPES {
        for expression in ["-a", "+a", "a'"] {
            see(&format!("{a} a;"), expression);
        }
        for (b, _) in TYPES {
            for operator in OPERATORS {
                see(&format!("{a} a; {b} b;"), &format!("a {operator} b"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    // A checker that took fewer would make the test see less.
    assert!(count >= 100, "{count} expressions");
}
