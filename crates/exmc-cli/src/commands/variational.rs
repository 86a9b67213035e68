//! `exmc variational`: a model and data -> draws of the normal approximation with the largest
//! evidence lower bound.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use exmc::advanced::density::{DensityModel, LogDensity};
use exmc_draws::Method;
use exmc_infer::Start;
use exmc_infer::variational::{Family, Progress, VariationalConfig, VariationalEnd, variational};
use exmc_math::random::{ChainRng, Phase};

use crate::commands::approximation::{Approximation, Drawn};
use crate::commands::optimize::leave_declared;
use crate::display::{say, significant};
use crate::failure::{Exit, Failure};
use crate::settings::{CompileArgs, whole_number};
use crate::signals::Stop;
use crate::source::SourceArgs;

/// Draw from the normal approximation with the largest evidence lower bound (ADVI)
///
/// The bound is climbed by stochastic gradients, whose step is chosen first. Exit code 3 means that
/// the bound has not settled: the draws are then of no use. Draws are stored as those of `sample`
/// are, with their log density `log_p__` and that of the approximation, `log_g__` (0 at its mean).
#[derive(Args, Debug)]
pub(crate) struct VariationalArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Which normal distributions are tried
    #[arg(long, value_name = "F", default_value = "mean-field")]
    family: FamilyArg,
    /// Start where this JSON file says: an object name -> value; what is left out starts at random
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// Seed of all random numbers
    #[arg(long, value_name = "S", default_value_t = 0,
          allow_negative_numbers = true, value_parser = whole_number)]
    seed: u64,
    /// Largest number of iterations
    #[arg(long, value_name = "N", default_value_t = VariationalConfig::default().iterations)]
    iterations: u64,
    /// Draws for each estimate of the slope
    #[arg(long, value_name = "N", default_value_t = VariationalConfig::default().gradient_draws)]
    gradient_draws: u32,
    /// Draws for each estimate of the bound
    #[arg(long, value_name = "N", default_value_t = VariationalConfig::default().elbo_draws)]
    elbo_draws: u32,
    /// Iterations between two evaluations of the bound
    #[arg(long, value_name = "N", default_value_t = VariationalConfig::default().evaluate_every)]
    evaluate_every: u64,
    /// Converged when the bound changes by less, relative to itself
    #[arg(long, value_name = "X", default_value_t = VariationalConfig::default().relative_change)]
    relative_change: f64,
    /// Scale of all steps [default: chosen]
    #[arg(long, value_name = "X")]
    step_scale: Option<f64>,
    /// Number of draws
    #[arg(long, value_name = "N", default_value_t = 1000)]
    draws: usize,
    #[command(flatten)]
    compile: CompileArgs,
    /// Directory for the run; it must not hold one yet [default: a new `exmc-run-N` here]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FamilyArg {
    MeanField,
    FullRank,
}

pub(crate) fn run(args: &VariationalArgs) -> Result<Exit, Failure> {
    let stop = Stop::on_signals()?;
    let mut source = args.source.read()?;
    source.stop = Some(stop.flag());
    let mut options = args.compile.options_in_f64()?;
    leave_declared(&mut options.without);
    let compiled = source.compile(&options)?;
    let full_model = compiled.bound.whole()?;
    let start = match &args.init {
        Some(path) => match compiled.read_points(path)?.as_slice() {
            [one] => Start::At(full_model.unconstrain(one)?),
            all => {
                let (path, n) = (path.display(), all.len());
                let message = format!("in `{path}`: expected one point, found {n}");
                return Err(Failure::new(Exit::Model, message));
            }
        },
        None => Start::Random,
    };
    let mut config = VariationalConfig::default();
    config.seed = args.seed;
    config.family = match args.family {
        FamilyArg::MeanField => Family::MeanField,
        FamilyArg::FullRank => Family::FullRank,
    };
    config.iterations = args.iterations;
    (config.gradient_draws, config.elbo_draws) = (args.gradient_draws, args.elbo_draws);
    (config.evaluate_every, config.relative_change) = (args.evaluate_every, args.relative_change);
    config.step_scale = args.step_scale;
    let mut density = full_model.instance();
    let watch = |_: &Progress| match stop.is_asked() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let found = variational(&mut density, &start, &config, watch).map_err(exmc::Error::from)?;
    if found.end == VariationalEnd::Interrupted {
        return Err(Failure::new(Exit::Interrupted, "the climb was interrupted"));
    }
    let mut rng = ChainRng::new(args.seed, 1, Phase::Variational);
    let dim = found.approximation.mean().len();
    let mut gradient = vec![0.0; dim];
    let draws: Vec<Drawn> = (0..args.draws)
        .map(|_| {
            let mut position = vec![0.0; dim];
            let log_g = found.approximation.draw(&mut rng, &mut position);
            let log_p = density.logp_grad(&position, &mut gradient).unwrap_or(f64::NAN);
            Drawn { position, densities: [log_p, log_g] }
        })
        .collect();
    let elbo = significant(found.elbo, 6);
    let scale = significant(found.step_scale, 3);
    let notes = vec![format!(
        "evidence lower bound {elbo} after {} iterations with steps of scale {scale}",
        found.iterations
    )];
    let exit = Approximation {
        args: &args.source,
        source: &source,
        bound: full_model,
        options: &options,
        method: Method::Variational,
        names: ["log_p__", "log_g__"],
        seed: args.seed,
        out: args.out.as_deref(),
        json: args.json,
        notes,
    }
    .store(&draws)?;
    if !found.end.is_converged() {
        say(
            "error: the bound has not settled: the draws are of no use\n  help: allow more `--iterations`, or use `sample`",
        );
        return Ok(Exit::Diagnostics);
    }
    Ok(exit)
}
