//! `method=laplace`: a mode -> draws from the normal approximation there.

use std::fs;

use exmc::advanced::density::{DensityModel, EvaluationError, LogDensity};
use exmc::advanced::{Recording, laplace};
use exmc::stan::StanModel;
use exmc_math::random::{ChainRng, Phase};

use super::columns::{Columns, number, record};
use super::csv::{Csv, split_ending};
use super::generate::rows_of_values;
use super::inputs::{read_data, unconstrain};
use super::log_prob::whole_point;
use super::{Density, Run};
use crate::console::say;
use crate::failure::Failure;

pub(super) fn run(run: &Run<'_>) -> Result<(), Failure> {
    let args = run.arguments;
    let path = args.text("method/laplace/mode");
    if path.is_empty() {
        return Err(Failure::new(
            "Missing mode argument, cannot get laplace sample without parameter estimates theta-hat",
        ));
    }
    let jacobian = args.flag("method/laplace/jacobian");
    let calculate_lp = args.flag("method/laplace/calculate_lp");
    let model = run.bind(Density::Written { jacobian })?;
    run.warn(&model);
    let bound = model.bound();
    let mode = read_mode(path, &model, run)?;
    say("Calculating Hessian");
    let approximation = laplace(bound, &mode)?;
    say("Calculating inverse of Cholesky factor");
    say("Generating draws");
    let columns = Columns::of_model(bound);
    let mut file = Csv::create(args.text("output/file"), run.digits, &run.header())?;
    file.names(&columns.behind(&["log_p__", "log_q__"]))?;
    let seed = run.chain_seed(run.id);
    let mut recording = Recording::new(bound, seed);
    let mut density = bound.instance();
    let mut rng = ChainRng::new(seed, 0, Phase::Approximation);
    let (mut position, mut gradient) = (vec![0.0; mode.len()], vec![0.0; mode.len()]);
    let mut row = vec![0.0; recording.width()];
    for index in 0..args.count("method/laplace/draws") {
        let log_q = approximation.draw(&mut rng, &mut position);
        let log_p = match calculate_lp {
            false => f64::NAN,
            true => match density.logp_grad(&position, &mut gradient) {
                Err(EvaluationError::Ended(reason)) => return Err(Failure::exception(reason)),
                found => found.unwrap_or(f64::NAN),
            },
        };
        record(&mut recording, number(index), &position, &mut row, "")?;
        file.row([log_p, log_q].into_iter().chain(columns.values(&row)))?;
    }
    file.flush()
}

/// The mode in a file: JSON, or the last line that an optimisation wrote.
fn read_mode(path: &str, model: &StanModel, run: &Run<'_>) -> Result<Vec<f64>, Failure> {
    match split_ending(path).1 {
        ".json" => whole_point(&read_data(path)?, model, run),
        ".csv" => {
            let text = fs::read_to_string(path).map_err(|e| Failure::unreadable(path, &e))?;
            let mut comments = text.lines().take_while(|line| line.starts_with('#'));
            if !comments.any(|line| line.contains("method = optimize")) {
                return Err(Failure::new("CSV file is not output from Stan optimization"));
            }
            let all = rows_of_values(path, model.bound())?;
            let last = all.last().ok_or_else(|| {
                Failure::exception(format!("CSV file is incomplete, `{path}` has no mode"))
            })?;
            unconstrain(model.bound(), last)
        }
        _ => Err(Failure::new(format!("Mode file must be CSV or JSON, found {path}"))),
    }
}
