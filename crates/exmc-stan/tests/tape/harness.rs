//! A program's text -> its log density on the tape and by the plain host.

use exmc_stan::check::check;
use exmc_stan::data::read_data;
use exmc_stan::host::environment::Environment;
use exmc_stan::host::tape::log_density_and_gradient;
use exmc_stan::host::{Interpreter, Settings};
use exmc_stan::source::Sources;
use exmc_stan::syntax::{NoIncludes, parse};
use exmc_stan::typed::Program;

/// A checked program with its data and transformed data.
pub(crate) fn program(text: &str, data: &str) -> (Program, Environment) {
    read(text, data).unwrap_or_else(|error| panic!("{error}"))
}

/// The same; or what is wrong, in words.
fn read(text: &str, data: &str) -> Result<(Program, Environment), String> {
    let mut sources = Sources::single("test.stan", text);
    let (tree, mistakes) = parse(&mut sources, &mut NoIncludes);
    if !mistakes.is_empty() {
        return Err(format!("{mistakes:?}"));
    }
    let (program, mistakes) = check(sources, &tree);
    let program = program.ok_or_else(|| format!("{mistakes:?}"))?;
    let environment = read_data(&program, "data", data);
    let mut environment = environment.map_err(|e| format!("{:?}", e.diagnostics))?;
    let transformed =
        Interpreter::new(&program, Settings::default()).transform_data(&mut environment);
    transformed.map_err(|e| format!("{e:?}"))?;
    Ok((program, environment))
}

/// The log density with its gradient.
pub(crate) fn on_tape(model: &(Program, Environment), position: &[f64]) -> (f64, Vec<f64>) {
    log_density_and_gradient(&model.0, &model.1, position).unwrap_or_else(|e| panic!("{e:?}"))
}

/// Compares the gradient with differences of fourth order of the plain host's log density, relative
/// to its largest element (at least one).
pub(crate) fn differences(
    text: &str,
    data: &str,
    position: &[f64],
    tolerance: f64,
) -> Result<(), String> {
    let model = read(text, data)?;
    let found = log_density_and_gradient(&model.0, &model.1, position);
    let (value, gradient) = found.map_err(|e| format!("on the tape: {e:?}"))?;
    let on_host = |position: &[f64]| {
        let mut host = Interpreter::new(&model.0, Settings::default());
        let value = host.log_density(&mut model.1.clone(), position);
        value.map_err(|e| format!("on the host: {e:?}"))
    };
    let host_value = on_host(position)?;
    let off = (value - host_value).abs() / host_value.abs().max(1.0);
    if off.is_nan() || off > 1e-12 || !value.is_finite() {
        return Err(format!("{value} on the tape, {host_value} on the host"));
    }
    let size = gradient.iter().fold(1.0_f64, |a, b| a.max(b.abs()));
    let mut moved = position.to_vec();
    for k in 0..position.len() {
        let h = 1e-3 * position[k].abs().max(1.0);
        let mut value_at = |steps: f64| {
            moved[k] = position[k] + steps * h;
            on_host(&moved)
        };
        let near = (value_at(1.0)? - value_at(-1.0)?) / (2.0 * h);
        let far = (value_at(2.0)? - value_at(-2.0)?) / (4.0 * h);
        moved[k] = position[k];
        let expected = (4.0 * near - far) / 3.0;
        let off = (gradient[k] - expected).abs() / size;
        if off.is_nan() || off > tolerance {
            return Err(format!("coordinate {k}: {} for {expected}", gradient[k]));
        }
    }
    Ok(())
}

/// Asserts that nothing is wrong.
pub(crate) fn assert_all(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
