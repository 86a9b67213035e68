//! `method=pathfinder`: paths to modes -> draws of the posterior, weighted and resampled.

use exmc::advanced::{BoundModel, Recording};
use exmc_infer::Start;
use exmc_infer::pathfinder::{
    MultiPath, MultiPathConfig, MultiPathDraw, PathfinderConfig, multi_path,
};

use super::columns::{Columns, number, record};
use super::csv::{Csv, file_names};
use super::inputs::{Inits, unconstrain};
use super::optimize::search_config;
use super::{Density, Run};
use crate::console::{complain, say};
use crate::failure::Failure;
use crate::number::general;

const METHOD: &str = "method/pathfinder";

/// Importance weights whose tail has a larger shape are not to be trusted (Vehtari et al. 2024).
const HIGH_PARETO_K: f64 = 0.7;

pub(super) fn run(run: &Run<'_>) -> Result<(), Failure> {
    let args = run.arguments;
    let model = run.bind(Density::Normalised)?;
    run.warn(&model);
    let bound = model.bound();
    if bound.compiled().dim() == 0 {
        return Err(Failure::new("Model has 0 parameters, cannot run Pathfinder."));
    }
    let paths = args.count(&format!("{METHOD}/num_paths"));
    let inits = Inits::read(args.text("init"));
    let mut config = config(run, inits.radius, paths);
    if config.draws > config.draws_per_path * paths as usize {
        complain(
            "Warning: Number of PSIS draws is larger than the number of draws of all paths: draws \
             are repeated",
        );
    }
    // A path that cannot start leaves the others alone.
    let (mut starts, mut ids) = (Vec::new(), Vec::new());
    let mut failed = None;
    for (id, values) in (run.id..).zip(inits.each(&model, (paths, run.id), &run.program)) {
        let start = values.and_then(|values| match values.is_empty() {
            true => Ok(Start::Random),
            false => unconstrain(bound, &values).map(Start::At),
        });
        match start {
            Ok(start) => {
                starts.push(start);
                ids.push(id);
            }
            Err(failure) => {
                say(&format!("Path [{id}] : {failure}"));
                failed = Some(failure);
            }
        }
    }
    if let (true, Some(failure)) = (starts.is_empty(), failed) {
        return Err(failure);
    }
    config.paths = starts.len() as u32;
    let found = multi_path(bound, &starts, &config).map_err(exmc::Error::from)?;
    tell(run, &found, &ids);
    write(run, bound, args.text("output/file"), (config.seed, &ids), &found.draws)?;
    if args.flag(&format!("{METHOD}/save_single_paths")) && paths > 1 {
        let mut all = config.clone();
        all.resample = false;
        let all = multi_path(bound, &starts, &all).map_err(exmc::Error::from)?;
        let names = file_names(args.text("output/file"), "_path", ".csv", paths, run.id);
        for (path, id) in (0..).zip(&ids) {
            // A path that could not start has no file.
            let name = &names[(id - run.id) as usize];
            let path_draws: Vec<MultiPathDraw> =
                all.draws.iter().filter(|draw| draw.path == path).cloned().collect();
            write(run, bound, name, (config.seed, &ids), &path_draws)?;
        }
    }
    Ok(())
}

fn config(run: &Run<'_>, radius: f64, paths: u64) -> MultiPathConfig {
    let args = run.arguments;
    let count = |name: &str| args.count(&format!("{METHOD}/{name}"));
    let mut path = PathfinderConfig::default();
    path.initial_radius = radius;
    path.iterations = count("max_lbfgs_iters");
    path.history = count("history_size") as usize;
    path.draws = count("num_elbo_draws") as usize;
    path.tolerances = search_config(args, METHOD);
    let mut config = MultiPathConfig::default();
    config.seed = run.chain_seed(run.id);
    config.path = path;
    config.paths = paths as u32;
    config.draws_per_path = count("num_draws") as usize;
    config.draws = count("num_psis_draws") as usize;
    // One path's draws are as they come.
    config.resample = args.flag(&format!("{METHOD}/psis_resample")) && paths > 1;
    config.evaluate = args.flag(&format!("{METHOD}/calculate_lp"));
    config.threads = run.threads() as u32;
    config
}

fn tell(run: &Run<'_>, found: &MultiPath, ids: &[u64]) {
    if run.arguments.count("output/refresh") == 0 {
        return;
    }
    for (id, path) in ids.iter().zip(&found.paths) {
        let prefix = if ids.len() > 1 { format!("Path [{id}] :") } else { String::new() };
        match path {
            Ok(path) => {
                let logp = general(path.logp, 6);
                say(&format!("{prefix}log joint density at the end of the path = {logp}"));
                match &path.best {
                    Some(best) => say(&format!(
                        "{prefix}Best Iter: [{}] ELBO ({}) evaluations: ({})",
                        best.iteration,
                        general(best.elbo, 6),
                        path.evaluations
                    )),
                    None => say(&format!("{prefix}no approximation has draws of positive density")),
                }
            }
            Err(error) => say(&format!("{prefix}Exception: {error}")),
        }
    }
    if found.pareto_k.is_finite() && found.pareto_k > HIGH_PARETO_K {
        say(&format!(
            "Pareto k value ({}) is greater than 0.7. Importance resampling was not able to improve \
             the approximation, which may indicate that the approximation itself is poor.",
            general(found.pareto_k, 2)
        ));
    }
}

fn write(
    run: &Run<'_>,
    bound: &BoundModel,
    name: &str,
    (seed, ids): (u64, &[u64]),
    draws: &[MultiPathDraw],
) -> Result<(), Failure> {
    let columns = Columns::of_model(bound);
    let mut file = Csv::create(name, run.digits, &run.header())?;
    file.names(&columns.behind(&["lp_approx__", "lp__", "path__"]))?;
    let mut recording = Recording::new(bound, seed);
    let mut row = vec![0.0; recording.width()];
    for (index, draw) in (0..).zip(draws) {
        record(&mut recording, number(index), &draw.position, &mut row, "")?;
        let path = ids.get(draw.path as usize).map_or(f64::NAN, |id| *id as f64);
        file.row([draw.logq, draw.logp, path].into_iter().chain(columns.values(&row)))?;
    }
    file.flush()
}
