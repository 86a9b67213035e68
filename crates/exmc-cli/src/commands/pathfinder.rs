//! `exmc pathfinder`: a model and data -> draws of normal approximations along paths to its modes.

use std::path::PathBuf;

use clap::Args;
use exmc::advanced::BoundModel;
use exmc::model::Values;
use exmc_draws::Method;
use exmc_infer::Start;
use exmc_infer::pathfinder::{MultiPathConfig, multi_path};

use crate::commands::approximation::{Approximation, Drawn};
use crate::commands::optimize::leave_declared;
use crate::display::significant;
use crate::failure::{Exit, Failure};
use crate::settings::{CompileArgs, whole_number};
use crate::signals::Stop;
use crate::source::SourceArgs;

/// Importance weights whose tail has a larger shape are not to be trusted (Vehtari et al. 2024).
const HIGH_PARETO_K: f64 = 0.7;

/// Draw from normal approximations along paths to the modes of a model's density
///
/// Several paths climb from random starts; each gives draws of the best approximation on its way,
/// and importance weights choose among all of them (multi-path Pathfinder). Draws are stored as
/// those of `sample` are, with their log density `log_p__` and that of the approximation,
/// `log_q__`.
#[derive(Args, Debug)]
pub(crate) struct PathfinderArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Start where this JSON file says: an object name -> value, or a list with one a path
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// Seed of all random numbers
    #[arg(long, value_name = "S", default_value_t = 0,
          allow_negative_numbers = true, value_parser = whole_number)]
    seed: u64,
    /// Number of paths
    #[arg(long, value_name = "N", default_value_t = MultiPathConfig::default().paths)]
    paths: u32,
    /// Number of draws
    #[arg(long, value_name = "N", default_value_t = MultiPathConfig::default().draws)]
    draws: usize,
    /// Draws of each path that they are chosen from
    #[arg(long, value_name = "N", default_value_t = MultiPathConfig::default().draws_per_path)]
    draws_per_path: usize,
    /// Draws for an estimate of how good an approximation is
    #[arg(long, value_name = "N", default_value_t = MultiPathConfig::default().path.draws)]
    elbo_draws: usize,
    /// Take all draws of all paths, without weights
    #[arg(long)]
    no_resampling: bool,
    /// Threads to walk on; the draws do not depend on it
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: u32,
    #[command(flatten)]
    compile: CompileArgs,
    /// Directory for the run; it must not hold one yet [default: a new `exmc-run-N` here]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &PathfinderArgs) -> Result<Exit, Failure> {
    let stop = Stop::on_signals()?;
    let mut source = args.source.read()?;
    source.stop = Some(stop.flag());
    let mut options = args.compile.options_in_f64()?;
    leave_declared(&mut options.without);
    let compiled = source.compile(&options)?;
    let bound = &compiled.bound;
    let full_model = bound.whole()?;
    let starts = match &args.init {
        Some(path) => compiled
            .read_points(path)?
            .iter()
            .map(|values| Ok(Start::At(full_model.unconstrain(values)?)))
            .collect::<Result<Vec<_>, Failure>>()?,
        None => Vec::new(),
    };
    let mut config = MultiPathConfig::default();
    (config.seed, config.paths, config.threads) = (args.seed, args.paths, args.threads);
    (config.draws, config.draws_per_path) = (args.draws, args.draws_per_path);
    config.path.draws = args.elbo_draws;
    config.resample = !args.no_resampling;
    let found = multi_path(full_model, &starts, &config).map_err(exmc::Error::from)?;
    let mut notes = Vec::new();
    for (k, path) in found.paths.iter().enumerate() {
        match path {
            Ok(path) if path.best.is_some() => {}
            Ok(_) => notes
                .push(format!("path {k} found no approximation with draws of positive density")),
            Err(error) => notes.push(format!("path {k}: {error}")),
        }
    }
    if found.pareto_k.is_finite() && found.pareto_k > HIGH_PARETO_K {
        let k = significant(found.pareto_k, 2);
        notes.push(format!(
            "the importance weights have a heavy tail (Pareto k {k}, above 0.7): the draws may be far from the posterior; \
             use them to start `sample`"
        ));
    }
    let draws: Vec<Drawn> = found
        .draws
        .into_iter()
        .map(|draw| Drawn { position: draw.position, densities: [draw.logp, draw.logq] })
        .collect();
    Approximation {
        args: &args.source,
        source: &source,
        bound: full_model,
        options: &options,
        method: Method::Pathfinder,
        names: ["log_p__", "log_q__"],
        seed: args.seed,
        out: args.out.as_deref(),
        json: args.json,
        notes,
    }
    .store(&draws)
}

/// A start for each chain: draws that multi-path Pathfinder chose, as values of the model.
pub(crate) fn starts(bound: &BoundModel, chains: u32, seed: u64) -> Result<Vec<Values>, Failure> {
    let full_model = bound.whole()?;
    let mut config = MultiPathConfig::default();
    config.seed = seed;
    config.draws = chains as usize;
    let found = multi_path(full_model, &[], &config).map_err(exmc::Error::from)?;
    let free = &full_model.compiled().lowered().layout;
    found
        .draws
        .iter()
        .map(|draw| {
            let mut values = full_model.constrain(&draw.position).map_err(|error| {
                Failure::new(Exit::Model, format!("a start of Pathfinder: {error}"))
            })?;
            values.retain(|name, _| free.iter().any(|entry| entry.name == *name));
            Ok(values)
        })
        .collect()
}
