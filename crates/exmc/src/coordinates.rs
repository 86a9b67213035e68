//! Learning coordinates: a bound model and settings -> the same model with each location-scale
//! variable as far centred as its data ask for.
//!
//! A variable $\theta$ with location $\mu$ and scale $\sigma$ is sampled as
//! $z=\lambda\mu+\sigma^{\lambda-1}(\theta-\mu)$, each element with a share of centring $\lambda$
//! of its own. Short pilot chains, before the chains of the run and with random numbers of their
//! own, give draws and gradients; $\lambda$ is where $\mathrm{var}(z)\,\mathrm{var}(\partial_z\log
//! p)$ is least. That product is 1 for an independent normal coordinate and above 1 for any other,
//! whether it is correlated with its location, or its width changes with its scale: it is the
//! Fisher divergence between the coordinate and the nearest normal distribution that a diagonal
//! metric can make standard. The chains then run, warm-up and all, in coordinates that no longer
//! change, so what was learned from decides how quickly they mix and not what they sample.
//!
//! Elements of vectors with a factor and of random walks have locations that hold elements before
//! them. An element's score is then that of its own coordinate while all others keep theirs, and
//! rounds of pilot chains take in what the others became.
//!
//! **Reference**: Gorinova, Moore and Hoffman 2020, Automatic reparameterisation of probabilistic
//! programs (the family of coordinates); Seyboldt, Carlson and Carpenter 2026, arXiv 2603.18845
//! (the divergence).

use std::fmt;
use std::ops::ControlFlow;

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{FunctionSource, compile_function};
use exmc_infer::warmup::adaptation::wide_range;
use exmc_infer::{
    ChainResult, Draw, InverseMetric, MetricKind, Observer, SamplerConfig, Start, WarmStart,
};
use exmc_math::{exp, log};
use exmc_model::{Centred, Effect, Effects};

use crate::compile::{BoundModel, Values};
use crate::error::Error;

/// How a variable with a location and a scale is sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinate {
    /// The variable.
    pub name: String,
    /// How far it is centred, in [0, 1]: one number, or one an element in row-major order. 1
    /// samples the value itself, 0 its distance to its location in units of its scale.
    pub shares: Vec<f64>,
    /// The share that the model has as it is written: 0 or 1.
    pub written: f64,
    /// Number of its elements.
    pub len: usize,
    /// Why: the geometric mean over elements of sd(coordinate) times sd(slope) that the last pilot
    /// draws had in the coordinates as they are written and in these; 1 for independent normal
    /// coordinates. Nothing where it was not learned.
    pub spread: Option<[f64; 2]>,
}

impl Coordinate {
    /// With a share for all elements; that of the model as it is written where there is nothing.
    pub(crate) fn of(effect: &Effect, share: Option<f64>) -> Self {
        let written = effect.share_as_written();
        let shares = vec![share.unwrap_or(written)];
        Self { name: effect.name.clone(), shares, written, len: effect.len, spread: None }
    }

    /// How far an element is centred.
    pub fn share(&self, element: usize) -> f64 {
        self.shares[if self.shares.len() == 1 { 0 } else { element }]
    }

    pub(crate) fn centred(&self) -> Centred {
        Centred { name: self.name.clone(), shares: self.shares.clone() }
    }
}

impl fmt::Display for Coordinate {
    /// `non-centred`, `centred`, or how far it is centred.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = self.shares.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.shares.iter().copied().fold(0.0, f64::max);
        match (least, most) {
            (_, 0.0) => f.write_str("non-centred"),
            (1.0, _) => f.write_str("centred"),
            _ if least == most => write!(f, "{:.0} % centred", 100.0 * most),
            _ => write!(f, "{:.0} to {:.0} % centred", 100.0 * least, 100.0 * most),
        }
    }
}

/// Pilot chains of a round.
const PILOT_CHAINS: u32 = 2;

/// Warmup draws of a round's chains.
const PILOT_WARMUP: u64 = 75;

/// Warmup draws of the first round's, which come from afar.
const FIRST_WARMUP: u64 = 100;

/// Draws of a round's chains.
const PILOT_DRAWS: u64 = 50;

/// Rounds at most.
const MAX_ROUNDS: usize = 8;

/// Rounds of draws that are of the posterior at most.
const MAX_SETTLED_ROUNDS: usize = 3;

/// Share of the leapfrog steps of a run with as many draws as warmup draws, as the pilot's chains
/// take them, that all rounds take but for the first.
const MAX_COST: f64 = 0.075;

/// The same while draws are not of the posterior yet: without them the run would be in coordinates
/// that nothing speaks for.
const MAX_COST_UNSETTLED: f64 = 0.3;

/// Doublings of a pilot trajectory: more show that the coordinates are bad, not what is better.
const PILOT_MAX_DEPTH: u32 = 7;

/// Shares that are compared.
const SHARES: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Mean change of a variable's shares that another round is run for.
const LARGE_CHANGE: f64 = 0.15;

/// Elements have shares of their own where these differ by more: one share for all makes a density
/// that costs less.
const LARGE_DIFFERENCE: f64 = 0.25;

/// Draws that a variance needs.
const MIN_DRAWS: usize = 16;

/// Elements of draws that are kept at most, 32 bytes each.
const MAX_STORED: usize = 2_000_000;

/// Mean score above which a round's draws may be on the way to the posterior: they tell of elements
/// together, not each, and another round follows.
const UNSETTLED: f64 = 2.0;

/// By how much the score of a smaller share may be above the least: less centred coordinates have
/// the milder funnel where the scale is small, which short pilot chains may not have seen.
const SCORE_TOLERANCE: f64 = 0.05;

/// The model in learned coordinates, which [`BoundModel::coordinates`] tells; the model as it is
/// where no variable has a location and a scale that vary, and none is integrated out. Variables
/// that are normal given the rest are integrated out besides, unless the model was compiled without
/// that. The same model, data, starts and seed give the same coordinates.
///
/// `is_stopped` ends the pilot chains early when it becomes true; what they saw until then counts.
///
/// # Errors
/// When settings are wrong, or a model in other coordinates cannot be compiled. Pilot chains that
/// fail teach nothing.
pub fn learn_coordinates(
    model: &BoundModel,
    config: &SamplerConfig,
    starts: &[Values],
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<BoundModel, Error> {
    if model.is_interpreted() {
        return Ok(model.clone());
    }
    // The warm start's is another dimension where variables are to be integrated out.
    let mut plain = config.clone();
    plain.warm_start = None;
    plain.validate(model.dim())?;
    let effects = model.compiled().effects();
    // Between the ends, where there is something between them.
    let begin = |effect: &Effect| Coordinate::of(effect, (!effect.ends).then_some(0.5));
    let mut coordinates: Vec<Coordinate> = effects.effects.iter().map(begin).collect();
    let mut before: Option<Pilot> = None;
    let (mut settled, mut leapfrogs) = (0, 0);
    // Without a variable that has a location and a scale there is nothing to learn.
    let rounds = if coordinates.is_empty() { 0 } else { MAX_ROUNDS };
    for round in 0..rounds {
        let trial = model.recentred(effects, coordinates.clone())?;
        let warm = before.and_then(|pilot| pilot.warm_start(&trial, &coordinates));
        let round_config = pilot_config(config, round, warm);
        let pilot = Pilot::run(&trial, effects, &coordinates, (&round_config, is_stopped), starts)?;
        let Some(pilot) = pilot else { break };
        leapfrogs += pilot.leapfrogs;
        // As if there were as many draws as warmup has: a run that is extended later, or that a
        // rule ends, has the coordinates that it has anyway.
        let of_run = f64::from(config.chains) * 2.0 * config.warmup as f64;
        let of_round =
            f64::from(round_config.chains) * (round_config.warmup + round_config.draws) as f64;
        let chosen: Vec<_> = pilot.effects.iter().map(best_shares).collect();
        let is_settled = chosen.iter().flatten().all(|(_, is_settled)| *is_settled);
        let share = if is_settled { MAX_COST } else { MAX_COST_UNSETTLED };
        let of_next = f64::from(PILOT_CHAINS) * (PILOT_WARMUP + PILOT_DRAWS) as f64;
        let pace = pilot.leapfrogs as f64 / of_round;
        let is_dear = leapfrogs as f64 + pace * of_next > share * pace * of_run;
        settled += usize::from(is_settled);
        let is_last =
            round + 1 == rounds || settled == MAX_SETTLED_ROUNDS || is_dear || is_stopped();
        let mut change: f64 = 0.0;
        let seen = pilot.effects.iter().zip(chosen);
        for (coordinate, (seen, chosen)) in coordinates.iter_mut().zip(seen) {
            let Some((shares, is_settled)) = chosen else { continue };
            if !is_settled && !is_last {
                change = 1.0;
                continue;
            }
            let as_written = |_: usize| coordinate.written;
            let chosen = |k: usize| shares[if shares.len() == 1 { 0 } else { k }];
            coordinate.spread = Some([seen.spread(as_written), seen.spread(chosen)]);
            let changes = (0..seen.len).map(|k| (chosen(k) - coordinate.share(k)).abs());
            change = change.max(changes.sum::<f64>() / seen.len as f64);
            coordinate.shares = shares;
        }
        if is_last || change < LARGE_CHANGE {
            break;
        }
        before = Some(pilot);
    }
    // Chains that make no draws say nothing for other coordinates than those of the model.
    for coordinate in coordinates.iter_mut().filter(|coordinate| coordinate.spread.is_none()) {
        coordinate.shares = vec![coordinate.written];
    }
    model.recentred(effects, coordinates)
}

/// Settings of one round's chains.
fn pilot_config(config: &SamplerConfig, round: usize, warm: Option<WarmStart>) -> SamplerConfig {
    let mut pilot = SamplerConfig::default();
    pilot.chains = PILOT_CHAINS;
    pilot.warmup = if round == 0 { FIRST_WARMUP } else { PILOT_WARMUP };
    pilot.draws = PILOT_DRAWS;
    // With the run's seed the pilot would have the run's random numbers.
    pilot.seed = config.seed.rotate_left(17) ^ 0x5851_f42d_4c95_7f2d ^ round as u64;
    pilot.max_depth = config.max_depth.min(PILOT_MAX_DEPTH);
    pilot.metric = MetricKind::Diag;
    pilot.threads = config.threads;
    pilot.initial_radius = config.initial_radius;
    pilot.warm_start = warm;
    pilot
}

/// Ends pilot chains when somebody wants them to end.
struct Watch<'a>(&'a (dyn Fn() -> bool + Sync));

impl Observer for Watch<'_> {
    fn draw(&self, _: &Draw<'_>) -> ControlFlow<()> {
        if (self.0)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn interrupts(&self) -> Option<bool> {
        Some((self.0)())
    }
}

/// What pilot chains saw.
struct Pilot {
    effects: Vec<Seen>,
    /// Where each variable's coordinates begin.
    places: Vec<usize>,
    /// Where the chains ended, as constrained values.
    ends: Vec<Values>,
    /// The metric that the first chain ended with.
    metric: Option<InverseMetric>,
    step_size: f64,
    leapfrogs: u64,
}

/// Draws of one variable, element by element.
struct Seen {
    len: usize,
    /// Whether only the ends of the share are compared.
    ends: bool,
    /// Of each draw and element: value less location, location, log scale, slope by the value.
    draws: Vec<[f64; 4]>,
    /// Draws of the first chain.
    first: usize,
}

impl Pilot {
    fn run(
        trial: &BoundModel,
        effects: &Effects,
        coordinates: &[Coordinate],
        (config, is_stopped): (&SamplerConfig, &(dyn Fn() -> bool + Sync)),
        starts: &[Values],
    ) -> Result<Option<Self>, Error> {
        let mut from: Vec<Start> = Vec::new();
        if config.warm_start.is_none() {
            for values in starts.iter().take(PILOT_CHAINS as usize) {
                from.push(Start::At(trial.unconstrain(values)?));
            }
        }
        let watch = Watch(is_stopped);
        let Ok(run) = exmc_infer::sample(trial, &from, config, &watch) else { return Ok(None) };
        let centred: Vec<Centred> = coordinates.iter().map(Coordinate::centred).collect();
        let (lowered, pairs) = effects.locations_and_scales(&centred);
        let layout = &trial.compiled().lowered().layout;
        let place = |name: &str| layout.iter().find(|entry| entry.name == name);
        let places: Vec<usize> = effects
            .effects
            .iter()
            .map(|effect| place(&effect.name).expect("effects are coordinates").offset)
            .collect();
        let source = FunctionSource {
            outputs: pairs.iter().flatten().copied().collect(),
            parameters: lowered.layout.iter().map(|e| (e.input, e.offset)).collect(),
            dim: lowered.dim,
            graph: lowered.graph,
        };
        let function = compile_function(trial.executor(), &source)?;
        let values = trial.data().clone();
        let mut function = function.bind(&|name: &str| values.get(name).cloned())?.instance();
        // Coordinates of variables that are integrated out do not matter for locations and scales
        // of others.
        let full_positions = trial.whole_positions();
        let mut seen: Vec<Seen> = effects
            .effects
            .iter()
            .map(|effect| Seen { len: effect.len, ends: effect.ends, draws: Vec::new(), first: 0 })
            .collect();
        let dim = trial.dim();
        let mut density = trial.instance();
        let mut gradient = vec![0.0; dim];
        let mut position = vec![0.0; lowered.dim];
        let mut numbers = vec![0.0; 2 * seen.iter().map(|seen| seen.len).sum::<usize>()];
        let mut ends = Vec::new();
        // Of very many elements fewer draws are kept.
        let elements: usize = seen.iter().map(|seen| seen.len).sum();
        let stride = (elements * (PILOT_CHAINS as usize) * (PILOT_DRAWS as usize))
            .div_ceil(MAX_STORED)
            .max(1);
        // A chain that lies far below another is not where the posterior is: the next round's goes
        // on from the better one's end.
        let level = |chain: &ChainResult| {
            chain.infos.iter().map(|info| info.logp).sum::<f64>() / chain.infos.len() as f64
        };
        let highest = run.chains.iter().map(level).fold(f64::NEG_INFINITY, f64::max);
        let is_near = |chain: &&ChainResult| highest - level(chain) <= wide_range(dim);
        for chain in run.chains.iter().filter(is_near) {
            for draw in chain.draws.chunks_exact(dim).step_by(stride) {
                let value = density.logp_grad(draw, &mut gradient);
                full_positions.iter().zip(draw).for_each(|(&k, x)| position[k] = *x);
                if value.is_err() || function.evaluate(&position, &mut numbers).is_err() {
                    continue;
                }
                let mut rest = &numbers[..];
                for ((seen, &offset), coordinate) in seen.iter_mut().zip(&places).zip(coordinates) {
                    let (pair, others) = rest.split_at(2 * seen.len);
                    rest = others;
                    let (locations, scales) = pair.split_at(seen.len);
                    for k in 0..seen.len {
                        let share = coordinate.share(k);
                        let (location, log_scale) = (locations[k], log(scales[k]));
                        let away = draw[offset + k] - share * location;
                        let grown = exp((1.0 - share) * log_scale);
                        let slope = gradient[offset + k] / grown;
                        seen.draws.push([away * grown, location, log_scale, slope]);
                    }
                }
            }
            if chain.chain == 0 {
                seen.iter_mut().for_each(|seen| seen.first = seen.draws.len() / seen.len.max(1));
            }
            if let Some(last) = chain.draws.chunks_exact(dim).last() {
                let mut values =
                    trial.constrain(last).map_err(|e| Error::internal(e.to_string()))?;
                let layout = &trial.compiled().whole_lowered().layout;
                values.retain(|name, _| layout.iter().any(|entry| entry.name == *name));
                ends.push(values);
            }
        }
        if let Some(end) = ends.first().cloned() {
            ends.resize(run.chains.len(), end);
        }
        let leapfrogs = run.chains.iter().map(|chain| chain.leapfrogs).sum();
        let tuned = run.chains.iter().find_map(|chain| chain.tuned.as_ref());
        let metric = tuned.map(|tuned| tuned.inverse_metric.clone());
        let step_size = tuned.map_or(0.1, |tuned| tuned.step_size);
        Ok(Some(Self { effects: seen, places, ends, metric, step_size, leapfrogs }))
    }

    /// What a round in other coordinates begins with.
    fn warm_start(self, next: &BoundModel, coordinates: &[Coordinate]) -> Option<WarmStart> {
        let mut inverse_metric = self.metric?;
        for ((seen, &place), coordinate) in self.effects.iter().zip(&self.places).zip(coordinates) {
            for k in 0..seen.len {
                let [z, slope] = seen.variances(k, coordinate.share(k));
                let ratio = (z / slope).sqrt();
                if ratio.is_normal() {
                    match &mut inverse_metric {
                        InverseMetric::Diagonal(variances) => variances[place + k] = ratio,
                        InverseMetric::LowRank { scale, .. } => scale[place + k] = ratio.sqrt(),
                        _ => {}
                    }
                }
            }
        }
        let position = |values: &Values| next.unconstrain(values).ok();
        let positions: Option<Vec<Vec<f64>>> = self.ends.iter().map(position).collect();
        let positions = positions.filter(|all| all.iter().flatten().all(|x| x.is_finite()))?;
        Some(WarmStart { step_size: self.step_size, inverse_metric, adapt_metric: true, positions })
    }
}

impl Seen {
    /// The geometric mean of sd(coordinate) times sd(slope).
    fn spread(&self, share: impl Fn(usize) -> f64) -> f64 {
        let score = |k: usize| self.variances(k, share(k)).iter().map(|v| log(*v)).sum::<f64>();
        let sum: f64 = (0..self.len).map(score).sum();
        exp(0.5 * sum / self.len as f64)
    }

    /// Variances of an element's coordinate and of its slope, at a share of centring.
    fn variances(&self, element: usize, share: f64) -> [f64; 2] {
        let mut all = [Moments::default(); 2];
        for (draw, [away, location, log_scale, slope]) in self.of(element) {
            let grown = exp((1.0 - share) * log_scale);
            all[0].push(share * location + away / grown, draw == self.first);
            all[1].push(slope * grown, draw == self.first);
        }
        all.map(Moments::variance)
    }

    /// The draws of an element, with their numbers.
    fn of(&self, element: usize) -> impl Iterator<Item = (usize, [f64; 4])> {
        self.draws.iter().skip(element).step_by(self.len).copied().enumerate()
    }

    /// log var(coordinate) + log var(slope) at each of [`SHARES`].
    fn scores(&self, element: usize) -> [f64; SHARES.len()] {
        let mut all = [[Moments::default(); 2]; SHARES.len()];
        for (draw, [away, location, log_scale, slope]) in self.of(element) {
            let step = exp(SHARES[1] * log_scale);
            let mut grown = 1.0;
            for (moments, share) in all.iter_mut().zip(SHARES).rev() {
                moments[0].push(share * location + away / grown, draw == self.first);
                moments[1].push(slope * grown, draw == self.first);
                grown *= step;
            }
        }
        all.map(|[z, slope]| log(z.variance()) + log(slope.variance()))
    }
}

/// Running moments of the first values and of the others, whose means may differ.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    n: f64,
    mean: f64,
    squares: f64,
    total: f64,
}

impl Moments {
    fn push(&mut self, value: f64, begins_anew: bool) {
        if begins_anew {
            (self.n, self.mean) = (0.0, 0.0);
        }
        self.n += 1.0;
        self.total += 1.0;
        let delta = value - self.mean;
        self.mean += delta / self.n;
        self.squares += delta * (value - self.mean);
    }

    fn variance(self) -> f64 {
        self.squares / (self.total - 2.0)
    }
}

/// The share of each element, or one for all, and whether the draws were of the posterior; nothing
/// where there are too few.
fn best_shares(seen: &Seen) -> Option<(Vec<f64>, bool)> {
    if seen.draws.len() / seen.len.max(1) < MIN_DRAWS {
        return None;
    }
    let scores: Vec<[f64; SHARES.len()]> = (0..seen.len).map(|k| seen.scores(k)).collect();
    let mut mean = [0.0; SHARES.len()];
    for scores in &scores {
        mean.iter_mut().zip(scores).for_each(|(mean, score)| *mean += score / seen.len as f64);
    }
    // The smallest share whose score is near the least.
    let compared = || (0..SHARES.len()).step_by(if seen.ends { SHARES.len() - 1 } else { 1 });
    let least = |score: &dyn Fn(usize) -> f64| {
        let least = compared().map(score).fold(f64::INFINITY, f64::min);
        let near = compared().find(|&k| score(k) <= least + SCORE_TOLERANCE);
        near.map_or(0.5, |k| SHARES[k])
    };
    let of_all = vec![least(&|k| mean[k])];
    if !compared().any(|k| mean[k] < UNSETTLED) {
        return Some((of_all, false));
    }
    let shares: Vec<f64> = scores
        .iter()
        .map(|element_scores| least(&|k| 0.5 * (element_scores[k] + mean[k])))
        .collect();
    let (low, high) = shares.iter().fold((1.0_f64, 0.0_f64), |(l, h), s| (l.min(*s), h.max(*s)));
    Some((if high - low > LARGE_DIFFERENCE { shares } else { of_all }, true))
}
