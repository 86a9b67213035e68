//! Several paths -> draws of a posterior, weighted by importance and resampled (multi-path
//! Pathfinder).
//!
//! Each path ends in a normal approximation of its own; together their draws are those of a
//! mixture, in which each path counts alike. Pareto-smoothed importance weights then choose among
//! them, so that a path that went to a minor mode has few draws, or none.
//!
//! **Reference**: Zhang, Carpenter, Gelman and Vehtari 2022, algorithm 2.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use exmc_density::DensityModel;
use exmc_diagnose::{PsisWeights, psis};
use exmc_math::random::{ChainRng, Phase};

use super::{Path, PathfinderConfig, pathfinder};
use crate::error::SampleError;
use crate::run::chain::Start;
use crate::state::evaluate_into;

/// Settings of [`multi_path`]. Start from [`MultiPathConfig::default`], whose values are CmdStan's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MultiPathConfig {
    /// Seed of all random numbers. Default 0.
    pub seed: u64,
    /// How each path is walked. Default: 25 draws from each approximation and a history of 5 steps
    /// (CmdStan), otherwise [`PathfinderConfig::default`].
    pub path: PathfinderConfig,
    /// Number of paths. Default 4.
    pub paths: u32,
    /// Draws from the best approximation of each path. Default 1000.
    pub draws_per_path: usize,
    /// Draws after resampling. Default 1000.
    pub draws: usize,
    /// Whether draws are resampled; otherwise all draws of all paths are returned. Default true.
    pub resample: bool,
    /// Whether the log density of every draw is evaluated; otherwise it is NaN but for the draws
    /// that chose the approximation, and nothing is resampled. Default true.
    pub evaluate: bool,
    /// Threads to walk on; the draws do not depend on it. Default 1.
    pub threads: u32,
}

impl Default for MultiPathConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            path: PathfinderConfig { draws: 25, history: 5, ..PathfinderConfig::default() },
            paths: 4,
            draws_per_path: 1000,
            draws: 1000,
            resample: true,
            evaluate: true,
            threads: 1,
        }
    }
}

/// One draw.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MultiPathDraw {
    /// The position, on the unconstrained scale.
    pub position: Vec<f64>,
    /// The log density there, in nats; NaN where it was not evaluated.
    pub logp: f64,
    /// The normalised log density of the path's approximation there.
    pub logq: f64,
    /// The path that it is of, from 0.
    pub path: u32,
}

/// What the paths came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MultiPath {
    /// Each path, or why there is none.
    pub paths: Vec<Result<Path, SampleError>>,
    /// The draws: resampled, or all of them in the order of their paths.
    pub draws: Vec<MultiPathDraw>,
    /// How heavy the tail of the importance ratios is: above 0.7 the draws are not to be trusted.
    /// Infinite where nothing was resampled, or the tail is too short to say.
    pub pareto_k: f64,
}

/// Walks several paths and draws from their approximations together.
///
/// **Shapes**: `starts` is empty (all random), or holds one start for all paths or one a path.
/// **Scale**: unconstrained. **Determinism**: the same model, starts and settings give the same
/// draws at any number of threads.
///
/// # Errors
/// Invalid settings; or, when no path found an approximation, the first path's error.
///
/// ```
/// # use exmc_density::{DensityModel, EvaluationError, LogDensity};
/// # use exmc_infer::pathfinder::{MultiPathConfig, multi_path};
/// # #[derive(Clone, Copy)]
/// # struct Normal;
/// # impl LogDensity for Normal {
/// #     fn dim(&self) -> usize { 1 }
/// #     fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
/// #         g[0] = 3.0 - q[0];
/// #         Ok(-0.5 * g[0] * g[0])
/// #     }
/// # }
/// # impl DensityModel for Normal {
/// #     type Instance = Normal;
/// #     fn dim(&self) -> usize { 1 }
/// #     fn instance(&self) -> Normal { *self }
/// # }
/// let found = multi_path(&Normal, &[], &MultiPathConfig::default())?;
/// let mean = found.draws.iter().map(|d| d.position[0]).sum::<f64>() / 1000.0;
/// // The standard error of 1000 draws is 0.032.
/// assert!((mean - 3.0).abs() < 0.2 && found.pareto_k < 0.7);
/// # Ok::<(), exmc_infer::SampleError>(())
/// ```
pub fn multi_path<M: DensityModel>(
    model: &M,
    starts: &[Start],
    config: &MultiPathConfig,
) -> Result<MultiPath, SampleError> {
    let n = config.paths as usize;
    let positive = [
        ("paths", n),
        ("draws_per_path", config.draws_per_path),
        ("draws", config.draws),
        ("path.draws", config.path.draws),
    ];
    if let Some((field, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
        return Err(SampleError::config(field, "expected at least 1, found 0"));
    }
    if starts.len() > 1 && starts.len() != n {
        let message = format!("expected none, one or one per path ({n}), found {}", starts.len());
        return Err(SampleError::config("initial values", message));
    }
    let next = AtomicUsize::new(0);
    let made: Mutex<Vec<(usize, Result<Walked, SampleError>)>> = Mutex::new(Vec::new());
    let work = || loop {
        let k = next.fetch_add(1, Ordering::Relaxed);
        if k >= n {
            break;
        }
        let start = match starts {
            [] => &Start::Random,
            [one] => one,
            many => &many[k],
        };
        let walked = walk(model, start, config, k as u32);
        made.lock().unwrap_or_else(PoisonError::into_inner).push((k, walked));
    };
    std::thread::scope(|scope| {
        for _ in 1..(config.threads as usize).min(n) {
            let thread = std::thread::Builder::new().name("exmc-path".to_owned());
            if thread.spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_by_key(|(k, _)| *k);
    let mut paths = Vec::with_capacity(n);
    let mut all = Vec::new();
    for (_, walked) in made {
        paths.push(walked.map(|(path, draws)| {
            all.extend(draws);
            path
        }));
    }
    if all.is_empty() {
        let first = paths.into_iter().find_map(Result::err);
        let none = "no path found an approximation at whose draws the density is positive";
        return Err(first.unwrap_or_else(|| SampleError::fatal(none)));
    }
    if !config.resample || !config.evaluate {
        return Ok(MultiPath { paths, draws: all, pareto_k: f64::INFINITY });
    }
    // A draw without a density has no weight.
    let ratio = |draw: &MultiPathDraw| Some(draw.logp - draw.logq).filter(|ratio| !ratio.is_nan());
    let ratios: Vec<f64> =
        all.iter().map(|draw| ratio(draw).unwrap_or(f64::NEG_INFINITY)).collect();
    if ratios.iter().all(|ratio| *ratio == f64::NEG_INFINITY) {
        return Ok(MultiPath { paths, draws: all, pareto_k: f64::INFINITY });
    }
    let PsisWeights { log_weights, k: pareto_k, .. } = psis(&ratios, 1.0);
    let draws = resample(&all, &log_weights, config);
    Ok(MultiPath { paths, draws, pareto_k })
}

type Walked = (Path, Vec<MultiPathDraw>);

/// One path with its draws: those that chose its approximation first.
fn walk<M: DensityModel>(
    model: &M,
    start: &Start,
    config: &MultiPathConfig,
    number: u32,
) -> Result<Walked, SampleError> {
    let mut rng = ChainRng::new(config.seed, number, Phase::Path);
    let mut density = model.instance();
    let path = pathfinder(&mut density, start, &config.path, &mut rng)?;
    let Some(best) = &path.best else { return Ok((path, Vec::new())) };
    let dim = best.approximation.mean().len();
    let seen = best.logps.iter().zip(&best.logqs).enumerate();
    let mut draws: Vec<MultiPathDraw> = seen
        .take(config.draws_per_path)
        .map(|(k, (logp, logq))| {
            let position = best.draws[k * dim..(k + 1) * dim].to_vec();
            MultiPathDraw { position, logp: *logp, logq: *logq, path: number }
        })
        .collect();
    let mut gradient = vec![0.0; dim];
    while draws.len() < config.draws_per_path {
        let mut position = vec![0.0; dim];
        let logq = best.approximation.draw(&mut rng, &mut position);
        let logp = match config.evaluate && position.iter().all(|x| x.is_finite()) {
            true => match evaluate_into(&mut density, &position, &mut gradient)? {
                logp if logp.is_nan() => f64::NEG_INFINITY,
                logp => logp,
            },
            false => f64::NAN,
        };
        draws.push(MultiPathDraw { position, logp, logq, path: number });
    }
    Ok((path, draws))
}

/// Draws with replacement, each with its weight's probability.
fn resample(
    all: &[MultiPathDraw],
    log_weights: &[f64],
    config: &MultiPathConfig,
) -> Vec<MultiPathDraw> {
    let mut sums = Vec::with_capacity(all.len());
    let mut total = 0.0;
    for weight in log_weights {
        total += libm::exp(*weight);
        sums.push(total);
    }
    let mut rng = ChainRng::new(config.seed, 0, Phase::Resampling);
    let one = |_| {
        let u = rng.uniform() * total;
        let k = sums.partition_point(|sum| *sum <= u);
        // Where rounding leads behind the last, the last with a weight is meant.
        let last = log_weights.iter().rposition(|w| *w > f64::NEG_INFINITY).unwrap_or(0);
        all[k.min(last)].clone()
    };
    (0..config.draws).map(one).collect()
}
