//! A library call at many points -> values by the host interpreter: one program with a call for
//! each.

use std::fmt::Write;

use exmc_stan::host::numeric::real_slice;
use exmc_stan::host::{Environment, Interpreter, Settings};
use exmc_stan::typed::{PrintItem, StatementKind};

use crate::functions::table::Kind;
use crate::support::program;

/// The number in a program's text.
fn literal(x: f64, kind: Kind) -> String {
    match kind {
        Kind::Int => format!("{x}"),
        Kind::Real if x.is_nan() => "not_a_number()".to_owned(),
        Kind::Real if x == f64::INFINITY => "positive_infinity()".to_owned(),
        Kind::Real if x == f64::NEG_INFINITY => "negative_infinity()".to_owned(),
        Kind::Real => format!("{x:?}"),
    }
}

/// The call at the points: a number, or the message of an error.
pub(crate) fn evaluate(name: &str, kinds: &[Kind], points: &[&[f64]]) -> Vec<Result<f64, String>> {
    let mut text = "transformed data {\n".to_owned();
    for point in points {
        let args: Vec<String> =
            point.iter().zip(kinds).map(|(x, kind)| literal(*x, *kind)).collect();
        let has_bar = name.ends_with("df") || name.ends_with("_lpmf");
        let args = match args.split_first() {
            Some((y, rest)) if has_bar && !rest.is_empty() => format!("{y} | {}", rest.join(", ")),
            _ => args.join(", "),
        };
        writeln!(text, "print({name}({args}));").expect("a string takes any text");
    }
    text.push('}');
    let program = program(&text);
    let mut env = Environment::new(&program);
    let mut host = Interpreter::new(&program, Settings::default());
    let mut value_of = |k: usize| {
        let StatementKind::Print(items) = &program.transformed_data[k].kind else {
            panic!("one print a point")
        };
        let PrintItem::Value(expr) = &items[0] else { panic!("one value") };
        let value = host.evaluate(&mut env, expr).map_err(|error| error.message.clone())?;
        let numbers = real_slice(&value).map_err(|fault| fault.message)?;
        Ok(numbers[0])
    };
    (0..points.len()).map(&mut value_of).collect()
}
