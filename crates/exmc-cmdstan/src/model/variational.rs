//! `method=variational`: the normal approximation with the largest evidence lower bound -> its mean
//! and draws.

use std::ops::ControlFlow;
use std::time::Instant;

use exmc::advanced::Recording;
use exmc::advanced::density::{DensityModel, LogDensity};
use exmc_infer::Start;
use exmc_infer::variational::{Family, Progress, VariationalConfig, VariationalEnd, variational};
use exmc_math::random::{ChainRng, Phase};

use super::columns::{Columns, number, record};
use super::csv::Csv;
use super::inputs::{Inits, unconstrain};
use super::{Density, Run};
use crate::console::say;
use crate::failure::Failure;
use crate::number::general;

const METHOD: &str = "method/variational";

pub(super) fn run(run: &Run<'_>) -> Result<(), Failure> {
    let args = run.arguments;
    let model = run.bind(Density::Normalised)?;
    run.warn(&model);
    let bound = model.bound();
    let inits = Inits::read(args.text("init"));
    let config = config(run, inits.radius);
    let values = inits.one(&model, run.id, &run.program)?;
    let start = match values.is_empty() {
        true => Start::Random,
        false => Start::At(unconstrain(bound, &values)?),
    };
    say("EXPERIMENTAL ALGORITHM: a normal approximation, which may be far from the posterior");
    say("Automatic differentiation variational inference (ADVI)");
    let refresh = args.count("output/refresh");
    let mut has_head = false;
    let mut path = ElboPath::default();
    let mut density = bound.instance();
    let found = variational(&mut density, &start, &config, |progress| {
        if let Progress::Evaluated { iteration, elbo, .. } = progress {
            path.rows.push([*iteration as f64, path.since.elapsed().as_secs_f64(), *elbo]);
        }
        match progress {
            _ if refresh == 0 => {}
            Progress::Tried { step_scale, elbo } => {
                let (scale, elbo) = (general(*step_scale, 6), general(*elbo, 6));
                say(&format!("Begin eta adaptation: eta = {scale} leads to ELBO = {elbo}"));
            }
            Progress::Evaluated { iteration, elbo, mean_change, median_change, may_diverge } => {
                if !has_head {
                    say("  iter             ELBO   delta_ELBO_mean   delta_ELBO_med   notes ");
                    has_head = true;
                }
                let notes = match (*mean_change, *median_change) {
                    (mean, _) if mean < config.relative_change => "MEAN ELBO CONVERGED",
                    (_, median) if median < config.relative_change => "MEDIAN ELBO CONVERGED",
                    _ if *may_diverge => "MAY BE DIVERGING... INSPECT ELBO",
                    _ => "",
                };
                let elbo = format!("{elbo:.3}");
                say(&format!(
                    "{iteration:>6}  {elbo:>15}  {mean_change:>16.3}  {median_change:>15.3}   {notes}"
                ));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })
    .map_err(exmc::Error::from)?;
    if found.end == VariationalEnd::Iterations {
        say(
            "Informational Message: The maximum number of iterations is reached! The algorithm may not have converged.",
        );
        say("This variational approximation is not guaranteed to be meaningful.");
    }
    path.write(args.text("output/diagnostic_file"), run)?;
    let columns = Columns::of_model(bound);
    let mut file = Csv::create(args.text("output/file"), run.digits, &run.header())?;
    file.names(&columns.behind(&["lp__", "log_p__", "log_g__"]))?;
    if config.step_scale.is_none() {
        file.comment("Stepsize adaptation complete.")?;
        file.comment(&format!("eta = {}", general(found.step_scale, 6)))?;
    }
    let mut recording = Recording::new(bound, config.seed);
    let mut row = vec![0.0; recording.width()];
    let mut rng = ChainRng::new(config.seed, 1, Phase::Variational);
    let dim = found.approximation.mean().len();
    let (mut position, mut gradient) = (found.approximation.mean().to_vec(), vec![0.0; dim]);
    let draws = args.count(&format!("{METHOD}/output_samples"));
    say("");
    say(&format!("Drawing a sample of size {draws} from the approximate posterior... "));
    // The first line is the mean of the approximation.
    for index in 0..=draws {
        let (mut log_p, mut log_g) = (0.0, 0.0);
        if index > 0 {
            log_g = found.approximation.draw(&mut rng, &mut position);
            log_p = density.logp_grad(&position, &mut gradient).unwrap_or(f64::NAN);
        }
        record(&mut recording, number(index), &position, &mut row, "")?;
        file.row([0.0, log_p, log_g].into_iter().chain(columns.values(&row)))?;
    }
    file.flush()?;
    say("COMPLETED.");
    Ok(())
}

/// The evidence lower bound on its way: iteration, seconds, bound.
struct ElboPath {
    since: Instant,
    rows: Vec<[f64; 3]>,
}

impl Default for ElboPath {
    fn default() -> Self {
        Self { since: Instant::now(), rows: Vec::new() }
    }
}

impl ElboPath {
    /// Writes `diagnostic_file`, where one is asked for.
    fn write(&self, name: &str, run: &Run<'_>) -> Result<(), Failure> {
        if name.is_empty() {
            return Ok(());
        }
        let mut file = Csv::create(name, run.digits, &run.header())?;
        file.comment("iter,time_in_seconds,ELBO")?;
        self.rows.iter().try_for_each(|row| file.row(*row))?;
        file.flush()
    }
}

fn config(run: &Run<'_>, radius: f64) -> VariationalConfig {
    let args = run.arguments;
    let count = |name: &str| args.count(&format!("{METHOD}/{name}"));
    let mut config = VariationalConfig::default();
    config.seed = run.chain_seed(run.id);
    config.initial_radius = radius;
    config.family = match args.choice(&format!("{METHOD}/algorithm")) {
        "fullrank" => Family::FullRank,
        _ => Family::MeanField,
    };
    config.iterations = count("iter");
    config.gradient_draws = count("grad_samples") as u32;
    config.elbo_draws = count("elbo_samples") as u32;
    config.evaluate_every = count("eval_elbo");
    config.relative_change = args.real(&format!("{METHOD}/tol_rel_obj"));
    config.adaptation_iterations = count("adapt/iter");
    let eta = args.real(&format!("{METHOD}/eta"));
    config.step_scale = (!args.flag(&format!("{METHOD}/adapt/engaged"))).then_some(eta);
    config
}
