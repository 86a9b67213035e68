//! `method=log_prob`: points -> the log density and its gradient there, over Stan's coordinates.

use std::path::Path;

use exmc::advanced::density::{DensityModel, LogDensity};
use exmc::stan::StanModel;
use serde_json::Value;

use super::csv::{Csv, split_ending};
use super::generate::rows_of_values;
use super::inputs::{missing_words, read_data, rows, unconstrain};
use super::{Density, Run, inputs};
use crate::failure::Failure;
use crate::number::Digits;

/// Digits of numbers where no number of them is asked for, as in CmdStan: this is a table for
/// people.
const DIGITS: usize = 8;

pub(super) fn run(run: &Run<'_>) -> Result<(), Failure> {
    let args = run.arguments;
    let method = "method/log_prob";
    let free = args.text(&format!("{method}/unconstrained_params"));
    let constrained = args.text(&format!("{method}/constrained_params"));
    let jacobian = args.flag(&format!("{method}/jacobian"));
    let model = run.bind(Density::Written { jacobian })?;
    run.warn(&model);
    let positions = match (free, constrained) {
        ("", "") => {
            return Err(Failure::new(
                "No input parameter files provided, cannot calculate log probability density.",
            ));
        }
        (path, "") => read_positions(path, &model)?,
        ("", path) => constrained_positions(path, &model, run)?,
        _ => {
            return Err(Failure::new(
                "Cannot specify both input files of both constrained and unconstrained parameter \
                 values.",
            ));
        }
    };
    let digits = match run.digits {
        Digits::Shortest => Digits::Significant(DIGITS),
        asked => asked,
    };
    let mut file = Csv::create(args.text("output/file"), digits, &run.header())?;
    let names = model.coordinate_names().into_iter().map(|name| format!("g_{name}"));
    file.names(&std::iter::once("lp__".to_owned()).chain(names).collect::<Vec<_>>())?;
    let mut density = model.bound().instance();
    let mut gradient = vec![0.0; model.bound().compiled().dim()];
    for position in positions {
        let logp = density.logp_grad(&position, &mut gradient)?;
        let slopes = model.stan_order().iter().map(|place| gradient[*place]);
        file.row(std::iter::once(logp).chain(slopes))?;
    }
    file.flush()
}

/// Points `params_r` of a file, in Stan's order -> positions of the sampler.
fn read_positions(path: &str, model: &StanModel) -> Result<Vec<Vec<f64>>, Failure> {
    let text = read_data(path)?.text;
    let wrong = |what: String| Failure::exception(format!("`{path}`: {what}"));
    let json: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let missing = "Unconstrained parameters file has no variable 'params_r' with unconstrained \
                   parameter values!";
    let given = json.get("params_r").and_then(rows).ok_or_else(|| wrong(missing.to_owned()))?;
    let order = model.stan_order();
    given
        .into_iter()
        .map(|row| {
            if row.len() != order.len() {
                let (expected, found) = (order.len(), row.len());
                return Err(wrong(format!(
                    "Incorrect number of unconstrained parameters provided! Model has {expected} \
                     parameters but {found} were found."
                )));
            }
            let mut position = vec![0.0; row.len()];
            row.iter().zip(order).for_each(|(x, place)| position[*place] = *x);
            Ok(position)
        })
        .collect()
}

/// Values of all parameters in a file -> positions.
fn constrained_positions(
    path: &str,
    model: &StanModel,
    run: &Run<'_>,
) -> Result<Vec<Vec<f64>>, Failure> {
    let bound = model.bound();
    if split_ending(path).1 == ".csv" {
        let all = rows_of_values(path, bound)?;
        return all.iter().map(|values| unconstrain(bound, values)).collect();
    }
    Ok(vec![whole_point(&read_data(path)?, model, run)?])
}

/// The position of a file that has every parameter.
pub(super) fn whole_point(
    read: &inputs::DataText,
    model: &StanModel,
    run: &Run<'_>,
) -> Result<Vec<f64>, Failure> {
    let values = inputs::values(model, read, &run.program)?;
    let position = unconstrain(model.bound(), &values)?;
    let layout = model.bound().compiled().lowered().layout.iter();
    let unknown = |offset: usize, n: usize| position[offset..offset + n].iter().any(|x| x.is_nan());
    let typed = run.program.typed();
    for entry in layout.filter(|entry| unknown(entry.offset, entry.unconstrained.len())) {
        // A tuple's slots are entries of their own.
        let name = entry.name.split(':').next().unwrap_or_default();
        let variables = typed.parameters.iter().map(|d| typed.variable(d.variable));
        if let Some(variable) = variables.into_iter().find(|v| &*v.name == name) {
            let words = missing_words("parameter initialization", name, &variable.ty);
            let path = Path::new(&read.name).display();
            return Err(Failure::exception(format!(
                "{words}\nBad or missing parameter values, cannot unconstrain: `{path}` has no \
                 value of `{name}`"
            )));
        }
    }
    Ok(position)
}
