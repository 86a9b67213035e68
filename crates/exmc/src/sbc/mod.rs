//! Simulation-based calibration: a model -> whether its fits recover what data were simulated from.
//!
//! Parameters are drawn from the prior and data from the parameters, many times; each data set is
//! fitted. If simulation, density and sampler agree, the rank of the true value among posterior
//! draws is uniform. Where they do not (a prior that is not the one meant, a wrong term, a sampler
//! that fails) ranks pile up.
//!
//! ```
//! use exmc::StanProgram;
//! use exmc::sbc::{Settings, sbc};
//!
//! let program = StanProgram::from_text(
//!     "mean.stan",
//!     "data { int N; vector[N] y; } parameters { real mu; }
//!      model { mu ~ normal(0, 2); y ~ normal(mu, 1); }",
//! )?;
//! let checked = sbc(&program.simulator("data", r#"{"N": 5}"#)?,
//! &Settings::default().replications(60))?; assert!(checked.passes());
//! assert_eq!(checked.quantities[0].ranks.len(), 60);
//! # Ok::<(), exmc::Error>(())
//! ```
//!
//! **Reference**: Talts, Betancourt, Simpson, Vehtari and Gelman 2018, arXiv 1804.06788; Säilynoja,
//! Bürkner and Vehtari 2022, *Statistics and Computing* 32(32).

mod simulate;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::available_parallelism;

use exmc_diagnose::{Draws, EcdfDifference, sbc_rank, thinning};
use exmc_infer::SamplerConfig;
use exmc_model::{Code, Diagnostic};

use crate::error::Error;
use crate::fit::Fit;
use crate::stan::{Class, Diagnostic as StanDiagnostic, Sources, Span, StanError};

pub use simulate::{ModelSimulator, Simulate, Simulated, StanSimulator};

/// How calibration is checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Data sets that are simulated and fitted. Default 200: a posterior with twice the standard
    /// deviation that it should have is then seen nearly always.
    pub replications: u32,
    /// Draws of a fit that the true value is ranked among, thinned until they are nearly
    /// independent. Default 99: 100 possible ranks.
    pub draws: u32,
    /// How each data set is fitted; default one chain with 500 draws of warmup. Its seed is that of
    /// the simulations too, and its number of draws the least.
    pub sampler: SamplerConfig,
    /// The probability that a model that is right fails, over all quantities together. Default
    /// 0.01.
    pub false_alarm: f64,
}

impl Default for Settings {
    fn default() -> Self {
        let sampler = SamplerConfig::default().chains(1).warmup(500).draws(0);
        Self { replications: 200, draws: 99, sampler, false_alarm: 0.01 }
    }
}

impl Settings {
    /// The same with another number of data sets.
    #[must_use]
    pub fn replications(mut self, replications: u32) -> Self {
        self.replications = replications;
        self
    }

    /// The same with another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.sampler.seed = seed;
        self
    }
}

/// What calibration found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sbc {
    /// Data sets that were fitted.
    pub replications: u32,
    /// The largest rank.
    pub max_rank: u32,
    /// One for each number of the parameters that is not constant.
    pub quantities: Vec<Quantity>,
    /// The probability that a model that is right fails, at most, over all quantities.
    pub false_alarm: f64,
    /// Data sets that could not be fitted, with why.
    pub failed: Vec<(u32, String)>,
    /// Fits with divergent transitions.
    pub divergent: u32,
    /// Fits of which the draws are not nearly independent even after more were made.
    pub correlated: u32,
}

/// The ranks of one number.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Quantity {
    /// Its name.
    pub name: String,
    /// The rank of the true value, by data set.
    pub ranks: Vec<u32>,
    /// The ranks' distribution less the uniform one, with the band.
    pub ecdf: EcdfDifference,
}

/// How ranks leave the band, which says what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// They keep to it.
    Uniform,
    /// Too many ranks lie at both ends: posteriors are too narrow.
    Narrow,
    /// Too many lie in the middle: posteriors are too wide.
    Wide,
    /// Too many are small: posteriors lie above the true values.
    High,
    /// Too many are large: posteriors lie below the true values.
    Low,
}

impl Shape {
    /// What it means, in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Narrow => "too narrow",
            Self::Wide => "too wide",
            Self::High => "too high",
            Self::Low => "too low",
        }
    }
}

impl Quantity {
    /// How its ranks leave the band.
    pub fn shape(&self) -> Shape {
        if !self.ecdf.crosses {
            return Shape::Uniform;
        }
        let most = self.ecdf.difference.iter().copied().fold(0.0, f64::max);
        let least = self.ecdf.difference.iter().copied().fold(0.0, f64::min);
        let position_of = |x: f64| self.ecdf.difference.iter().position(|d| *d == x).unwrap_or(0);
        // Both ends: the difference rises above and falls below about equally.
        if most.min(-least) > 0.5 * most.max(-least) {
            return if position_of(most) < position_of(least) {
                Shape::Narrow
            } else {
                Shape::Wide
            };
        }
        if most > -least { Shape::High } else { Shape::Low }
    }
}

impl Sbc {
    /// Whether all ranks keep to their bands, and every data set was fitted.
    pub fn passes(&self) -> bool {
        self.failed.is_empty() && self.quantities.iter().all(|q| !q.ecdf.crosses)
    }
}

/// Simulates data sets, fits each, and ranks the true values.
///
/// Fits run side by side on [`SamplerConfig::threads`] threads (0: as many as the machine has); the
/// result does not depend on how many.
///
/// # Errors
/// When a setting is wrong, data cannot be simulated, or no fit succeeds.
pub fn sbc(simulator: &dyn Simulate, settings: &Settings) -> Result<Sbc, Error> {
    sbc_with(simulator, settings, |_| true)
}

/// As [`sbc`], telling after each fit how many there are; no further one begins after `done` has
/// said `false`.
///
/// # Errors
/// As [`sbc`]; [`Error::is_interrupted`] where `done` said so.
pub fn sbc_with(
    simulator: &dyn Simulate,
    settings: &Settings,
    done: impl Fn(u32) -> bool + Sync,
) -> Result<Sbc, Error> {
    let Settings { replications, draws, .. } = *settings;
    let wrong = |message: &str| Err(Diagnostic::new(Code::BadArguments, message).into());
    if replications == 0 || draws == 0 {
        return wrong("calibration needs at least one replication and one draw");
    }
    if !(settings.false_alarm > 0.0 && settings.false_alarm < 1.0) {
        return wrong("the false-alarm rate must lie between 0 and 1");
    }
    let (next, ended, stopped) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
    let made: Mutex<Vec<(u32, Result<Ranked, Error>)>> = Mutex::default();
    let worker = || {
        while !stopped.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= replications {
                break;
            }
            let ranked = replicate(simulator, settings, number);
            made.lock().unwrap_or_else(|poison| poison.into_inner()).push((number, ranked));
            if !done(ended.fetch_add(1, Ordering::Relaxed) + 1) {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    };
    let threads = match settings.sampler.threads {
        0 => available_parallelism().map_or(1, usize::from),
        threads => threads as usize,
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(replications as usize) {
            // With fewer threads than asked for, those that there are do all the work.
            if std::thread::Builder::new().spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        worker();
    });
    if stopped.load(Ordering::Relaxed) {
        let message = "the check of calibration was interrupted";
        return Err(Error::interrupted(StanError {
            sources: Sources::default(),
            diagnostics: vec![StanDiagnostic::error(Class::Limit, Span::default(), message)],
        }));
    }
    let mut made = made.into_inner().unwrap_or_else(|poison| poison.into_inner());
    made.sort_by_key(|(number, _)| *number);
    judge(made, settings)
}

/// Ranks by quantity, and how the fit went.
struct Ranked {
    /// Name, rank, whether draws and truth are one constant.
    ranks: Vec<(String, u32, bool)>,
    diverged: bool,
    correlated: bool,
}

/// How many times the draws that are ranked a fit makes at first.
const FIRST: u64 = 5;

/// How many times as many draws as at first a fit makes at most.
const MORE: u64 = 8;

fn replicate(simulator: &dyn Simulate, settings: &Settings, number: u32) -> Result<Ranked, Error> {
    let wanted = u64::from(settings.draws);
    let Simulated { parameters, target } = simulator.simulate(settings.sampler.seed, number)?;
    let mut sampler = settings.sampler.clone().threads(1).threads_per_chain(1);
    // Fits have streams of their own: that of the simulations goes by the number alone.
    sampler.seed = settings.sampler.seed.wrapping_add(1 + u64::from(number));
    let chains = u64::from(sampler.chains.max(1));
    sampler.draws = sampler.draws.max((FIRST * wanted).div_ceil(chains));
    let most = MORE * sampler.draws;
    let mut fit = target.sample(&sampler)?;
    let mut worst = thinning_of(&fit, &parameters);
    // Slow chains make as many more draws as they need.
    if wanted * worst > chains * sampler.draws && sampler.draws < most {
        sampler.draws = (2 * wanted * worst).div_ceil(chains).min(most);
        fit = target.sample(&sampler)?;
        worst = thinning_of(&fit, &parameters);
    }
    let correlated = wanted * worst > chains * sampler.draws;
    let mut ranks = Vec::new();
    let names = element_names(&fit);
    for (name, truth) in &parameters {
        let Some(array) = fit.get(name) else { continue };
        let total = array.n_chains() * array.n_draws();
        let kept = (wanted as usize).min(total);
        for (k, truth) in truth.iter().enumerate() {
            let all: Vec<f64> = array.iter().map(|draw| draw[k]).collect();
            let draws = (0..kept).map(|j| all[j * total / kept]);
            let is_constant = all.iter().all(|x| x == truth);
            let seed = sampler.seed.wrapping_mul(0x9E37_79B9).wrapping_add(ranks.len() as u64);
            let rank = sbc_rank(*truth, draws, seed);
            let label = names
                .iter()
                .find(|(candidate, _)| candidate == name)
                .and_then(|(_, all)| all.get(k));
            ranks.push((label.unwrap_or(name).clone(), rank, is_constant));
        }
        if kept < wanted as usize {
            return Err(Error::internal("a fit made fewer draws than it was asked for"));
        }
    }
    let chains = fit.posterior().usable_chains();
    let diverged = chains.iter().any(|chain| chain.infos.iter().any(|info| info.divergent));
    Ok(Ranked { ranks, diverged, correlated })
}

fn element_names(fit: &Fit) -> Vec<(String, Vec<String>)> {
    let variables = fit.posterior().variables.iter();
    variables.map(|variable| (variable.name.clone(), variable.column_names())).collect()
}

/// Every how many draws the slowest parameter's are nearly independent.
fn thinning_of(fit: &Fit, parameters: &[(String, Vec<f64>)]) -> u64 {
    let mut worst = 1;
    for (name, truth) in parameters {
        let Some(array) = fit.get(name) else { continue };
        for k in 0..truth.len() {
            let element = |c: usize| {
                let size = array.element_shape().len().max(1);
                array.chain(c).chunks_exact(size).map(|draw| draw[k]).collect::<Vec<f64>>()
            };
            let chains: Vec<Vec<f64>> = (0..array.n_chains()).map(element).collect();
            let views: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
            if let Ok(draws) = Draws::new(&views) {
                worst = worst.max(thinning(&draws));
            }
        }
    }
    worst as u64
}

fn judge(made: Vec<(u32, Result<Ranked, Error>)>, settings: &Settings) -> Result<Sbc, Error> {
    let mut out = Sbc {
        replications: 0,
        max_rank: settings.draws,
        quantities: Vec::new(),
        false_alarm: settings.false_alarm,
        failed: Vec::new(),
        divergent: 0,
        correlated: 0,
    };
    let mut all: Vec<(String, Vec<u32>, bool)> = Vec::new();
    let mut first_error = None;
    for (number, ranked) in made {
        let ranked = match ranked {
            Ok(ranked) => ranked,
            Err(error) => {
                out.failed.push((number, error.to_string()));
                first_error.get_or_insert(error);
                continue;
            }
        };
        out.replications += 1;
        out.divergent += u32::from(ranked.diverged);
        out.correlated += u32::from(ranked.correlated);
        for (k, (name, rank, is_constant)) in ranked.ranks.into_iter().enumerate() {
            match all.get_mut(k) {
                Some((_, ranks, constant)) => {
                    ranks.push(rank);
                    *constant &= is_constant;
                }
                None => all.push((name, vec![rank], is_constant)),
            }
        }
    }
    if let (0, Some(error)) = (out.replications, first_error) {
        return Err(error);
    }
    // Corners of correlation matrices and the like say nothing.
    all.retain(|(_, _, is_constant)| !is_constant);
    let alpha = settings.false_alarm / all.len().max(1) as f64;
    for (name, ranks, _) in all {
        let ecdf = EcdfDifference::of(&ranks, out.max_rank, alpha);
        let ecdf = ecdf.map_err(|error| Error::internal(error.to_string()))?;
        out.quantities.push(Quantity { name, ranks, ecdf });
    }
    Ok(out)
}
