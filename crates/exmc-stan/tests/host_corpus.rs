//! Other people's programs with their data: `EXMC_STAN_PAIRS` names a folder of NAME.stan with NAME.json.
//! Every file must load, transformed data must run, and so must the other blocks at parameters in the middle
//! of their constraints (where they may be rejected).

mod support;

use std::time::Instant;

use exmc_stan::data::read_data;
use exmc_stan::host::{Environment, Extents, Interpreter, Outcome, Settings, unset};
use exmc_stan::typed::{Constraint, DeclaredType, Expr, Program};
use exmc_stan::value::{Numbers, Value};

/// A value that satisfies a parameter's constraint.
fn middle(
    host: &mut Interpreter<'_>,
    env: &mut Environment,
    program: &Program,
    index: usize,
) -> Outcome<Value> {
    let declaration = &program.parameters[index];
    let extents = host.extents(env, &declaration.ty)?;
    let leaf = match &declaration.ty {
        DeclaredType::Array { element, .. } => element,
        leaf => leaf,
    };
    let (Extents::Numbers(shape), DeclaredType::Leaf { ty, constraint, .. }) = (&extents, leaf)
    else {
        return Ok(unset(&program.variable(declaration.variable).ty, &extents));
    };
    let len: usize = shape.iter().product();
    let (rows, columns) = match (ty.rank(), shape.as_slice()) {
        (2, [.., rows, columns]) => (*rows, *columns),
        (1, [.., rows]) => (*rows, 1),
        _ => (1, 1),
    };
    let mut bound = |e: &Expr| -> Outcome<Vec<f64>> {
        let value = host.evaluate(env, e)?;
        Ok(exmc_stan::host::numeric::real_slice(&value).expect("bounds are real").into_owned())
    };
    let (mut low, mut high) = (vec![f64::NEG_INFINITY], vec![f64::INFINITY]);
    match constraint {
        Constraint::Lower(lower) => low = bound(lower)?,
        Constraint::Upper(upper) => high = bound(upper)?,
        Constraint::LowerUpper(lower, upper) => (low, high) = (bound(lower)?, bound(upper)?),
        _ => {}
    }
    let element = |k: usize| {
        let (row, column) = (k / columns % rows.max(1), k % columns);
        let (low, high) = (low[k % low.len()], high[k % high.len()]);
        match constraint {
            Constraint::Simplex | Constraint::ColumnStochastic => 1.0 / rows as f64,
            Constraint::RowStochastic => 1.0 / columns as f64,
            Constraint::Ordered | Constraint::PositiveOrdered => 0.5 + row as f64,
            Constraint::UnitVector => f64::from(u8::from(row == 0)),
            Constraint::SumToZero => 0.0,
            Constraint::CholeskyFactorCorr
            | Constraint::CholeskyFactorCov
            | Constraint::CorrMatrix
            | Constraint::CovMatrix => f64::from(u8::from(row == column)),
            _ if low.is_finite() && high.is_finite() => 0.5 * (low + high),
            _ if low.is_finite() => low + 0.5,
            _ if high.is_finite() => high - 0.5,
            _ => 0.1,
        }
    };
    let values: Vec<f64> = (0..len).map(element).collect();
    Ok(if shape.is_empty() {
        Value::Real(values[0])
    } else {
        Value::Reals(Numbers::new(shape.clone(), values))
    })
}

/// Transformed parameters, model and generated quantities: why the point was rejected, if it was, or a failure
/// that is no rejection.
fn run_rest(program: &Program, env: &mut Environment) -> Result<Option<String>, String> {
    let mut host = Interpreter::new(program, Settings::default());
    let place = |what: &str, error: &exmc_stan::host::RuntimeError| {
        format!(
            "{what}, line {}: {}",
            support::line_of(&program.sources, error.span),
            error.message
        )
    };
    for k in 0..program.parameters.len() {
        let value = middle(&mut host, env, program, k).map_err(|e| place("parameters", &e))?;
        env.set(program.parameters[k].variable, value);
    }
    let result = host.transform_parameters(env).and_then(|()| host.run(env, &program.model));
    if let Err(error) = result {
        if !error.is_recoverable() {
            return Err(place("model", &error));
        }
        return Ok(Some(place("model", &error)));
    }
    let generated = host.generate(env, 0, 1).map_err(|e| place("generated quantities", &e))?;
    Ok(generated.rejected.map(|error| place("generated quantities", &error)))
}

#[test]
fn data_load_and_blocks_run() {
    let Ok(folder) = std::env::var("EXMC_STAN_PAIRS") else { return };
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "stan"))
        .collect();
    names.sort();
    let mut failed = Vec::new();
    for path in &names {
        let text = std::fs::read_to_string(path).unwrap();
        let data = std::fs::read_to_string(path.with_extension("json")).unwrap_or("{}".to_owned());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let program = match support::try_program(&text) {
            Ok(program) => program,
            Err(errors) => {
                failed.push(format!("{name}: {errors:?}"));
                continue;
            }
        };
        let start = Instant::now();
        let mut env = match read_data(&program, "data.json", &data) {
            Ok(env) => env,
            Err(errors) => {
                let messages: Vec<_> = errors.diagnostics.iter().map(|d| &d.message).collect();
                failed.push(format!("{name}: {messages:?}"));
                continue;
            }
        };
        let read = start.elapsed();
        let lines = support::run_transformed(&program, &mut env, Settings::default());
        if let Some(error) = lines.iter().find(|line| line.starts_with("error ")) {
            failed.push(format!("{name}: {error}"));
        }
        let all = start.elapsed();
        match run_rest(&program, &mut env) {
            Ok(None) => {}
            Ok(Some(rejected)) => println!("{name}: rejected in {rejected}"),
            Err(error) => failed.push(format!("{name}: {error}")),
        }
        if all.as_millis() > 50 {
            println!(
                "{name}: {} bytes read in {read:?}, transformed in {:?}",
                data.len(),
                all - read
            );
        }
    }
    println!("{} of {} failed", failed.len(), names.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
