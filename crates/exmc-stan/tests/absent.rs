//! Calls that the host cannot compute are found without running anything, wherever they stand.

use crate::support;

use exmc_stan::diagnostic::Class;
use exmc_stan::host::{absent_calls, has_call};
use exmc_stan::typed::{Callee, Expr, ExprKind, Program, Statement, StatementKind, Type};

/// The program with calls of `asinh` renamed to what nobody has.
fn renamed(text: &str) -> Program {
    let mut program = support::program(text);
    let functions = program.functions.iter_mut().map(|function| &mut function.body);
    for block in functions.chain([&mut program.generated_quantities]) {
        block.iter_mut().for_each(rename);
    }
    program
}

fn rename(statement: &mut Statement) {
    match &mut statement.kind {
        StatementKind::Declare(declaration) => declaration.initial.iter_mut().for_each(rename_in),
        StatementKind::Return(Some(e)) => rename_in(e),
        StatementKind::If(_, then, _) => rename(then),
        StatementKind::For { body, .. } => rename(body),
        StatementKind::Block(body) => body.iter_mut().for_each(rename),
        _ => {}
    }
}

fn rename_in(e: &mut Expr) {
    match &mut e.kind {
        ExprKind::Call(Callee::Library(name), args) => {
            if &**name == "asinh" {
                *name = "nobody_has_this".into();
            }
            args.iter_mut().for_each(rename_in);
        }
        ExprKind::Call(_, args) => args.iter_mut().for_each(rename_in),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|e| rename_in(e)),
        _ => {}
    }
}

#[test]
fn calls_that_nobody_has_are_found_in_branches_loops_and_functions() {
    let text = "functions {
  real inner(real x) { return asinh(x); }
  real outer(real x) { return 2 * inner(x); }
  real unused(vector x) { return sum(asinh(x)); }
}
parameters { real x; }
model { x ~ std_normal(); }
generated quantities {
  real a = outer(x);
  for (i in 1:2) { if (x > 1000) { vector[2] b = asinh([x, i]'); } }
  real c = asinh(x) + exp(asinh(x));
}
";
    let program = renamed(text);
    let found = absent_calls(&program, &program.generated_quantities);
    let mut told: Vec<(u32, String)> = found
        .iter()
        .map(|d| {
            assert_eq!(d.class, Class::Unsupported);
            (support::line_of(&program.sources, d.span), d.message.clone())
        })
        .collect();
    told.sort();
    // Each signature once, at the first place in the order of the walk: the block, then the
    // functions that it calls.
    let lines: Vec<u32> = told.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [10, 11], "{told:?}");
    assert!(told[0].1.contains("`nobody_has_this` of (vector)"), "{told:?}");
    assert!(told[1].1.contains("`nobody_has_this` of (real)"), "{told:?}");
    let program = renamed(&text.replace("real c = asinh(x) + exp(asinh(x));", ""));
    let found = absent_calls(&program, &program.generated_quantities);
    let lines: Vec<u32> =
        found.iter().map(|d| support::line_of(&program.sources, d.span)).collect();
    assert_eq!(lines, [10, 2], "by way of two functions");
    let program = support::program(text);
    assert!(absent_calls(&program, &program.generated_quantities).is_empty());
}

/// Everything that runs on small values is there, whatever the values make of it.
#[test]
fn signatures_are_asked_by_types() {
    let (real, vector, matrix) = (&Type::Real, &Type::Vector, &Type::Matrix);
    let ints = &Type::Int.array(1);
    let table: [(&str, &[&Type], &Type, bool); 9] = [
        ("exp", &[real], real, true),
        ("normal_lpdf", &[vector, real, real], real, true),
        ("normal_rng", &[vector, real], &Type::Real.array(1), true),
        ("cholesky_decompose", &[matrix], matrix, true),
        ("dirichlet_rng", &[vector], vector, true),
        ("categorical_lpmf", &[ints, vector], real, true),
        ("wishart_rng", &[real, matrix], matrix, true),
        ("no_such_function", &[real], real, false),
        ("no_such_lpdf", &[real, real], real, false),
    ];
    for (name, types, returns, is_known) in table {
        assert_eq!(has_call(name, types, returns), is_known, "{name}");
    }
}

/// Of what the host runs today nothing is refused.
#[test]
fn calls_of_the_programs_of_the_tests_are_there() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let Ok(program) = support::try_program(&text) else { continue };
        for block in [&program.transformed_data, &program.transformed_parameters, &program.model] {
            let found = absent_calls(&program, block);
            assert!(found.is_empty(), "{}: {found:?}", path.display());
        }
        seen += 1;
    }
    assert!(seen > 10, "{seen} programs");
}
