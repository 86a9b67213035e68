//! `method=generate_quantities`: draws of another run -> generated quantities of each, warmup draws
//! included where the file has them.

use exmc::advanced::{BoundModel, Generator, generated_variables, variables};
use exmc::model::Values;
use exmc_draws::{StanCsv, read_stan_csv};

use super::columns::Columns;
use super::csv::{Csv, file_names, split_ending};
use super::{Density, Run};
use crate::console::say;
use crate::failure::Failure;

pub(super) fn run(run: &Run<'_>) -> Result<(), Failure> {
    let args = run.arguments;
    let method = "method/generate_quantities";
    let fitted = args.text(&format!("{method}/fitted_params"));
    if fitted.is_empty() {
        return Err(Failure::new(
            "Missing fitted_params argument, cannot run generate_quantities without fitted sample.",
        ));
    }
    let (stem, ending) = split_ending(fitted);
    if ending != ".csv" {
        return Err(Failure::new("Fitted params file must be a CSV file."));
    }
    let model = run.bind(Density::Written { jacobian: true })?;
    run.warn(&model);
    let bound = model.bound();
    if bound.compiled().lowered().layout.is_empty() {
        let name = &run.payload.name;
        return Err(Failure::new(format!("Model {name} has no parameters, nothing to estimate.")));
    }
    if bound.quantities().is_none_or(|quantities| quantities.variables().is_empty()) {
        return Err(Failure::exception("Model doesn't generate any quantities of interest."));
    }
    let made = generated_variables(bound);
    let columns = Columns::of(&made);
    let n = args.count(&format!("{method}/num_chains"));
    let files = file_names(stem, "", ".csv", n, run.id);
    for ((k, output), file) in (0..).zip(run.output_names(n)).zip(files) {
        let draws = read(&file, bound)?;
        let id = run.id + k;
        let mut generator = Generator::new(bound, &draws.posterior.variables, run.chain_seed(id))?;
        let mut out = Csv::create(&output, run.digits, &run.header())?;
        out.names(&columns.names)?;
        let chain = &draws.posterior.chains[0];
        let width = draws.posterior.width().max(1);
        let rows = chain.warmup_values.chunks_exact(width).chain(chain.values.chunks_exact(width));
        let mut row = vec![0.0; made.iter().map(|v| v.len()).sum()];
        for (index, draw) in rows.enumerate() {
            match generator.generate((0, index as u64), draw, &mut row) {
                Ok(()) => {}
                Err(error) if error.is_fatal() => return Err(error.into()),
                Err(error) => {
                    say(&format!("Exception: draw {}: {error}", index + 1));
                    row.fill(f64::NAN);
                }
            }
            out.row(columns.values(&row))?;
        }
        out.flush()?;
    }
    Ok(())
}

/// A file that does not go with the model, in the words that clients look for.
fn mismatch(path: &str, what: impl std::fmt::Display) -> Failure {
    Failure::exception(format!(
        "Mismatch between model and fitted_parameters csv file \"{path}\": {what}"
    ))
}

/// Reads a CSV file that holds the parameters of a model, in its order.
pub(super) fn read(path: &str, bound: &BoundModel) -> Result<StanCsv, Failure> {
    std::fs::metadata(path).map_err(|e| Failure::unreadable(path, &e))?;
    let draws = read_stan_csv(&[path]).map_err(|error| mismatch(path, error))?;
    let given = &draws.posterior.variables;
    let layout = &bound.compiled().lowered().layout;
    let recorded = variables(bound);
    // A parameter that is recorded in parts, as a complex number is, has no column of its own name.
    let named = recorded.iter().filter(|v| layout.iter().any(|entry| entry.name == v.name));
    for variable in named {
        let found = given.iter().find(|v| v.name == variable.name && v.shape == variable.shape);
        if found.is_none() && !variable.is_empty() {
            let name = &variable.name;
            let what = format!("it has no column of `{name}`, or one of another size");
            return Err(mismatch(path, what));
        }
    }
    Ok(draws)
}

/// The parameters' values in each row of a CSV file.
pub(super) fn rows_of_values(path: &str, bound: &BoundModel) -> Result<Vec<Values>, Failure> {
    let draws = read(path, bound)?;
    let generator = Generator::new(bound, &draws.posterior.variables, 0)?;
    let width = draws.posterior.width().max(1);
    let chain = &draws.posterior.chains[0];
    let rows = chain.warmup_values.chunks_exact(width).chain(chain.values.chunks_exact(width));
    rows.map(|row| Ok(generator.values(row)?)).collect()
}
