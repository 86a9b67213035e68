//! Stored runs -> what figures and pages show of the evidence: leave-one-out transforms,
//! comparisons of models, draws of the prior.

use std::path::{Path, PathBuf};

use exmc::advanced::models::DataSet;
use exmc::model::prior_predictive;
use exmc::runs::Posterior;
use exmc_diagnose::{compare, loo_pit, psis};
use exmc_math::random::{ChainRng, Phase};
use exmc_plot::Parameter;
use exmc_plot::figures::ComparedModel;

use crate::commands::compare::leave_one_out_of_all;
use crate::failure::{Exit, Failure};
use crate::likelihood::Likelihood;
use crate::source::{Front, SourceArgs};

/// Draws of the prior that figures show.
const PRIOR_DRAWS: u32 = 2000;
/// Seed of the prior's draws and of places within the steps of discrete predictions.
const SEED: u64 = 1;

/// Where each observation falls among what the other observations predict for it; discrete
/// predictions at a random place within their step.
pub(crate) fn loo_pits(
    likelihood: &Likelihood,
    observed: &[f64],
    predicted: &[Vec<f64>],
) -> Result<Vec<f64>, Failure> {
    let n = likelihood.rows.len();
    let draws = likelihood.total_draws();
    if observed.len() != n || predicted.iter().any(|column| column.len() != draws) {
        let message = format!(
            "{} observations are predicted, but log likelihoods are of {n}",
            observed.len()
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let mut rng = ChainRng::new(SEED, 0, Phase::Predictive);
    let pit = |i: usize| {
        let ratios: Vec<f64> = likelihood.rows[i].iter().map(|l| -l).collect();
        let weights = psis(&ratios, likelihood.relative_efficiency(i)).log_weights;
        loo_pit(&predicted[i], observed[i], &weights, rng.uniform())
    };
    Ok((0..n).map(pit).collect())
}

/// Models of several runs of the same data, the best one first.
pub(crate) fn compared(directories: &[PathBuf]) -> Result<Vec<ComparedModel>, Failure> {
    let names: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
    let models = leave_one_out_of_all(directories, &names, &[])?;
    let elpd: Vec<Vec<f64>> =
        models.iter().map(|loo| loo.pointwise.iter().map(|p| p.elpd).collect()).collect();
    let pointwise: Vec<&[f64]> = elpd.iter().map(Vec::as_slice).collect();
    let rows = compare(&pointwise)
        .map_err(|error| Failure::new(Exit::Model, format!("cannot compare: {error}")))?;
    let model = |row: &exmc_diagnose::Comparison| ComparedModel {
        name: directories[row.model].display().to_string(),
        elpd: row.elpd,
        elpd_se: row.se,
        difference: row.elpd_diff,
        difference_se: row.se_diff,
    };
    Ok(rows.iter().map(model).collect())
}

/// Draws of a stored run's parameters from the prior of its model, named as the run names them.
pub(crate) fn prior(directory: &Path, posterior: &Posterior) -> Result<Vec<Parameter>, Failure> {
    let source = SourceArgs::of_run(directory).read()?;
    let data = source.data_text.as_deref().unwrap_or("{}");
    let mut columns: Vec<(String, Vec<Vec<f64>>)> = Vec::new();
    match &source.front {
        Front::Stan(program) => {
            let simulator = program.simulator("data.json", data)?;
            for number in 0..PRIOR_DRAWS {
                for (k, (name, values)) in simulator.prior(SEED, number)?.into_iter().enumerate() {
                    if columns.len() == k {
                        columns.push((name, vec![Vec::new(); values.len()]));
                    }
                    columns[k].1.iter_mut().zip(values).for_each(|(column, x)| column.push(x));
                }
            }
        }
        Front::Json { model, data } => {
            let data: &DataSet = data;
            let drawn = prior_predictive(model, data, PRIOR_DRAWS as usize, SEED)?;
            for (name, array) in drawn.iter() {
                let size = array.element_shape().len().max(1);
                let column = |k| array.values().iter().skip(k).step_by(size).copied().collect();
                columns.push((name.to_owned(), (0..size).map(column).collect()));
            }
        }
    }
    let mut made = Vec::new();
    for variable in &posterior.variables {
        let Some((_, prior_columns)) = columns.iter().find(|(name, _)| *name == variable.name)
        else {
            continue;
        };
        for (name, column) in variable.column_names().into_iter().zip(prior_columns) {
            made.push(Parameter::new(name, vec![column.clone()])?);
        }
    }
    Ok(made)
}
