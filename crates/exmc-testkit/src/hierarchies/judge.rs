//! A hierarchical model, compiled -> agreement with its exact densities and conditional
//! distributions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use exmc::StanProgram;
use exmc::advanced::density::DensityModel;
use exmc::advanced::{
    BoundModel, CompileOptions, DrawNumber, Executor, Recording, compile, variables,
};
use exmc::infer::RunPhase;
use exmc::model::{Tensor, Values};
use exmc::stan::StanOptions;
use exmc_graph::OPTIMISATIONS;
use exmc_math::random::{ChainRng, Phase};
use exmc_model::write_json;

use super::exact::{Exact, starts};
use super::spec::{Hierarchy, Latent, Spelling, below, random};
use super::{build, chains, coordinates, stan};

/// Error of a log density in units of the sizes of its terms: they are some hundred numbers with
/// rounding of 1e-16 each, whose locations lose digits where scales are small.
const DENSITY: f64 = 1e-10;
/// Error of a directional derivative, against five-point differences of the exact density.
const SLOPE: f64 = 1e-6;
const STEP: f64 = 1e-3;
/// Error of means and covariances in standard deviations.
const MOMENT: f64 = 1e-8;
/// Half-width of the cube of positions.
const RADIUS: f64 = 1.2;
/// Positions of each model, those of the lanes.
const POSITIONS: usize = 4;

/// What models had in them; a gate that saw none of a kind judged nothing of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Models.
    pub models: u64,
    /// Those with a variable integrated out, and with more than one.
    pub integrated: [u64; 2],
    /// Vectors integrated out that no likelihood reads, at first or second hand.
    pub prior_only: u64,
    /// Vectors integrated out whose location reads another one that is integrated out.
    pub chained: u64,
    /// Models with partly observed variables.
    pub missing: u64,
    /// Models with weights, with masks, and with vectors that are non-centred.
    pub weighted: u64,
    /// With a mask.
    pub masked: u64,
    /// With a vector that is non-centred and sampled.
    pub non_centred: u64,
    /// With an array of vectors that is non-centred.
    pub pairs: u64,
    /// Vectors integrated out that are read element by element, and that are written as scalars.
    pub spelled: [u64; 2],
    /// Numbers integrated out that others read, and vectors of two to seven.
    pub small: [u64; 2],
    /// Models with lanes.
    pub lanes: u64,
    /// Models that were also compiled by the reference, or without an optimisation.
    pub otherwise: u64,
    /// Variables in other coordinates than they are written in.
    pub recentred: u64,
    /// Of these, vectors with a factor, and random walks; written centred, and not.
    pub chained_coordinates: [[u64; 2]; 2],
    /// Sum of squared distances of recorded draws from their means, and its expectation.
    pub squares: [f64; 2],
}

impl Seen {
    /// Adds what others saw.
    pub fn add(&mut self, other: &Seen) {
        self.models += other.models;
        self.integrated[0] += other.integrated[0];
        self.integrated[1] += other.integrated[1];
        self.prior_only += other.prior_only;
        self.chained += other.chained;
        self.missing += other.missing;
        self.weighted += other.weighted;
        self.masked += other.masked;
        self.non_centred += other.non_centred;
        self.pairs += other.pairs;
        self.spelled[0] += other.spelled[0];
        self.spelled[1] += other.spelled[1];
        self.small[0] += other.small[0];
        self.small[1] += other.small[1];
        self.lanes += other.lanes;
        self.otherwise += other.otherwise;
        self.recentred += other.recentred;
        let own = self.chained_coordinates.iter_mut().flatten();
        own.zip(other.chained_coordinates.iter().flatten()).for_each(|(own, n)| *own += n);
        self.squares[0] += other.squares[0];
        self.squares[1] += other.squares[1];
    }

    /// Whether recorded draws are spread as standard normal numbers would spread them: a chi-square
    /// variable within 5 of its standard deviations, a false alarm in a million.
    ///
    /// # Errors
    /// The sentence that says otherwise.
    pub fn spread(&self) -> Result<(), String> {
        let [sum, degrees] = self.squares;
        let z = (sum - degrees) / (2.0 * degrees.max(1.0)).sqrt();
        if z.abs() < 5.0 {
            return Ok(());
        }
        Err(format!(
            "recorded draws have squares of {sum:.1}, expected {degrees} ({z:+.1} standard deviations)"
        ))
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { models, integrated: [some, several], prior_only, chained, missing, .. } = self;
        let Self { weighted, masked, non_centred, pairs, lanes, otherwise, recentred, .. } = self;
        let [[vectors, whitened], [walks, innovations]] = self.chained_coordinates;
        let [sum, degrees] = self.squares;
        let [elements, scalars] = self.spelled;
        let [numbers, short] = self.small;
        write!(
            f,
            "{models} models; integrated out: {some} models, {several} of them several vectors; {prior_only} vectors without \
             outcomes, {chained} in chains; {missing} models with missing outcomes, {weighted} models with weights, {masked} with masks, \
             {non_centred} with non-centred vectors, {pairs} with arrays of them, {elements} vectors read element by element and {scalars} of scalars, {numbers} single numbers around others, {short} vectors of two to seven, {lanes} with lanes, {otherwise} compiled in another way too; {recentred} vectors in other \
             coordinates, {vectors} and {whitened} of them with a factor, {walks} and {innovations} random walks; squares of \
             recorded draws {sum:.0} for {degrees:.0}"
        )
    }
}

/// Makes the model of a seed and judges it.
///
/// # Errors
/// The first disagreement, with the model's text.
pub fn check(seed: u64) -> Result<Seen, String> {
    let mut rng = ChainRng::new(seed, 0, Phase::Predictive);
    let model = random(&mut rng);
    let text = || -> String {
        if model.stan {
            let written = stan::write(&model);
            let names: Vec<String> = non_centred(&model);
            return format!("{}{}\nnon-centred: {names:?}", written.program, written.data);
        }
        build::build(&model).map_or_else(|e| e, |model| write_json(&model))
    };
    // What panics is a disagreement too, and is to be told with its model.
    let judged = catch_unwind(AssertUnwindSafe(|| judge(&mut rng, &model)));
    let judged = judged.unwrap_or_else(|_| Err("a panic".to_owned()));
    judged.map_err(|why| format!("seed {seed}: {why}\n{}", text()))
}

fn non_centred(model: &Hierarchy) -> Vec<String> {
    let latents = model.latents.iter().enumerate();
    let latents = latents.filter(|(_, latent)| latent.non_centred).map(|(k, _)| format!("z{k}"));
    let pairs = model.pairs.iter().filter(|pairs| pairs.non_centred).map(|_| "p".to_owned());
    latents.chain(pairs).collect()
}

fn bind(
    model: &Hierarchy,
    marginalise: bool,
    executor: Executor,
    without: &[&str],
) -> Result<BoundModel, String> {
    let mut options = CompileOptions::default();
    (options.marginalise, options.executor) = (Some(marginalise), executor);
    options.without = without.iter().map(|name| (*name).to_owned()).collect();
    if !model.stan {
        let compiled = compile(&build::build(model)?, &options).map_err(|e| e.to_string())?;
        return compiled.bind(&Values::new()).map_err(|e| e.to_string());
    }
    options.non_centre = non_centred(model);
    let mut stan_options = StanOptions::default();
    stan_options.compile = options;
    let written = stan::write(model);
    let program =
        StanProgram::from_text("model.stan", &written.program).map_err(|e| e.to_string())?;
    let bound = program.bind_with("data.json", &written.data, &stan_options);
    Ok(bound.map_err(|e| e.to_string())?.bound().clone())
}

/// Where the parts of a position are, and where the latents' elements are recorded.
struct Places {
    scalars: Vec<usize>,
    /// Of each latent's coordinates, the place in the position; none where it is integrated out.
    coordinates: Vec<Option<usize>>,
    /// Coordinates that are integrated out, in the order of all.
    gone: Vec<usize>,
    /// Of `gone`, the places among the standard normal numbers.
    noise: Vec<usize>,
    recorded_scalars: Vec<usize>,
    recorded: Vec<usize>,
    /// Deterministic values `2 z - s0`, with the element that each is of.
    derived: Vec<(usize, usize)>,
}

/// The variable that holds an element of a latent, and where.
fn element(model: &Hierarchy, k: usize, i: usize) -> (String, usize) {
    match &model.latents[k].missing_of {
        Some((likelihood, rows)) => (format!("y{likelihood}"), rows[i]),
        None if model.spelling == Spelling::Scalars => (format!("z{k}_{}", i + 1), 0),
        None => (format!("z{k}"), i),
    }
}

fn places(model: &Hierarchy, bound: &BoundModel) -> Result<Places, String> {
    let lowered = bound.compiled().lowered();
    let columns = variables(bound);
    let column = |name: &str| {
        let found = columns.iter().find(|v| v.name == name);
        found.map(|v| v.offset).ok_or_else(|| format!("`{name}` is not recorded"))
    };
    let offset = |name: &str| lowered.layout.iter().find(|e| e.name == name).map(|e| e.offset);
    let mut noise_begins = std::collections::BTreeMap::new();
    let mut next = 0;
    for (name, len) in bound.integrated_out() {
        noise_begins.insert(name.to_owned(), next);
        next += len;
    }
    let mut all = Places {
        scalars: Vec::new(),
        coordinates: Vec::new(),
        gone: Vec::new(),
        noise: Vec::new(),
        recorded_scalars: Vec::new(),
        recorded: Vec::new(),
        derived: Vec::new(),
    };
    for k in 0..model.scalars.len() {
        let name = format!("s{k}");
        all.scalars.push(offset(&name).ok_or_else(|| format!("`{name}` has no coordinate"))?);
        all.recorded_scalars.push(column(&name)?);
    }
    for (k, latent) in model.latents.iter().enumerate() {
        for i in 0..latent.len {
            let (name, at) = element(model, k, i);
            let number = all.coordinates.len();
            all.recorded.push(column(&name)? + at);
            if latent.missing_of.is_none() {
                all.derived.push((column(&name.replace('z', "q"))? + at, number));
            }
            // Of a partly observed variable only the missing elements have coordinates.
            let own = if latent.missing_of.is_some() { i } else { at };
            let place = offset(&name).map(|begin| begin + own);
            if place.is_none() {
                let begin = noise_begins.get(&name);
                let begin = begin.ok_or_else(|| format!("`{name}` is nowhere"))?;
                all.gone.push(number);
                all.noise.push(begin + own);
            }
            all.coordinates.push(place);
        }
    }
    if let Some(pairs) = &model.pairs {
        let (begin, at) = (column("p")?, offset("p").ok_or("`p` has no coordinates")?);
        for k in 0..2 * pairs.outcomes.len() {
            all.recorded.push(begin + k);
            all.coordinates.push(Some(at + k));
        }
    }
    for (name, n) in model.chains.parameters() {
        let at = offset(name).ok_or_else(|| format!("`{name}` has no coordinates"))?;
        let begin = column(name)?;
        all.recorded.extend(begin..begin + n);
        all.coordinates.extend((at..at + n).map(Some));
    }
    if all.gone.len() != next {
        return Err(format!("{next} numbers are integrated out, expected {}", all.gone.len()));
    }
    Ok(all)
}

/// A position as the exact density reads it: scalars, their log Jacobian, and the latents'
/// coordinates.
fn read(model: &Hierarchy, places: &Places, position: &[f64]) -> (Vec<f64>, f64, Vec<f64>) {
    let mut log_jacobian = 0.0;
    let value = |(&at, kind): (&usize, &super::spec::Scalar)| {
        let x = position[at];
        if !kind.is_positive() {
            return x;
        }
        // Bounds are exponentials, but for those of the builder's half-normals.
        if model.stan || !matches!(kind, super::spec::Scalar::HalfNormal(_)) {
            log_jacobian += x;
            return exmc_math::exp(x);
        }
        log_jacobian -= exmc_math::log1p(exmc_math::exp(-x));
        exmc_math::log1p(exmc_math::exp(x))
    };
    let scalars = places.scalars.iter().zip(&model.scalars).map(value).collect();
    let u = places.coordinates.iter().map(|at| at.map_or(0.0, |at| position[at])).collect();
    (scalars, log_jacobian, u)
}

/// The exact log density at a position, and the size of its terms.
fn exact_logp(model: &Hierarchy, places: &Places, position: &[f64]) -> Result<(f64, f64), String> {
    let (scalars, log_jacobian, u) = read(model, places, position);
    let mut exact = Exact::new(model, &scalars, log_jacobian);
    let logp = exact.integrate(&places.gone, &u)?.logp;
    Ok((logp, exact.size))
}

fn judge(rng: &mut ChainRng, model: &Hierarchy) -> Result<Seen, String> {
    let bound = bind(model, true, Executor::Native, &[])?;
    let places = places(model, &bound)?;
    let dim = bound.compiled().dim();
    let positions: Vec<Vec<f64>> = (0..POSITIONS)
        .map(|_| (0..dim).map(|_| RADIUS * (2.0 * rng.uniform() - 1.0)).collect())
        .collect();
    let exact: Vec<(f64, f64)> =
        positions.iter().map(|q| exact_logp(model, &places, q)).collect::<Result<_, _>>()?;
    let at = |bound: &BoundModel, q: &[f64]| bound.logp_grad(q).map_err(|e| e.to_string());

    // Constants that a program drops are the same everywhere.
    let first = at(&bound, &positions[0])?.0;
    let tilde = model.pairs.as_ref().is_some_and(|pairs| pairs.non_centred);
    let dropped = if model.whole_densities && !tilde { 0.0 } else { first - exact[0].0 };
    let near = |what: &str, k: usize, found: f64| {
        let (logp, size) = exact[k];
        let apart = (found - dropped - logp).abs();
        let is_near = apart <= DENSITY * (size + exact[0].1);
        let expected = logp + dropped;
        if is_near {
            Ok(())
        } else {
            Err(format!("{what}, position {k}: log density {found}, expected {expected}"))
        }
    };
    for (k, q) in positions.iter().enumerate() {
        near("what is left", k, at(&bound, q)?.0)?;
    }
    slopes(rng, model, &places, &bound, &positions[1])?;

    let mut seen = seen(model, &places);
    if let Some(mut lanes) = bound.lane_instance() {
        let column = |i: usize| std::array::from_fn(|c| positions[c][i]);
        let side_by_side: Vec<[f64; POSITIONS]> = (0..dim).map(column).collect();
        let (mut gradients, mut logps) = (vec![[0.0; POSITIONS]; dim], [0.0; POSITIONS]);
        lanes.logp_grads(&side_by_side, &mut gradients, &mut logps, [true; POSITIONS]);
        for (k, logp) in logps.into_iter().enumerate() {
            near("side by side", k, logp)?;
        }
        seen.lanes = 1;
    }
    // Executors and optimisations: what costs most is compiling, so one other way for some of the
    // models.
    let other = match below(rng, 6) {
        0 => Some(("by the reference", bind(model, true, Executor::Reference, &[])?)),
        1 => {
            let name = OPTIMISATIONS[below(rng, OPTIMISATIONS.len())].name;
            Some((name, bind(model, true, Executor::Native, &[name])?))
        }
        _ => None,
    };
    if let Some((what, other)) = other {
        // What costs less may be integrated out instead, so it has places of its own.
        let own = self::places(model, &other)?;
        let is_same = own.coordinates == places.coordinates && own.scalars == places.scalars;
        for (k, q) in positions.iter().enumerate() {
            if is_same {
                near(what, k, at(&other, q)?.0)?;
            }
        }
        if !is_same {
            let q = vec![0.3; other.compiled().dim()];
            recorded(model, &own, &other, (&q[..], 0)).map_err(|why| format!("{what}: {why}"))?;
        }
        seen.otherwise = 1;
    }

    // Differences of the map between coordinates take as many evaluations as there are.
    if below(rng, 2) == 0 {
        // With all coordinates in half of the cases: few vectors stay otherwise. And where a vector
        // is non-centred around another one, which may be integrated out: there is no way back
        // without it.
        let reads =
            |latent: &Latent| latent.non_centred && !latent.priors[0].location.latents.is_empty();
        // Scalars that are alike as they are written may not be so in other coordinates, and are
        // then not integrated out as one.
        let needs_all = model.latents.iter().any(reads) || model.spelling == Spelling::Scalars;
        let all = match below(rng, 2) {
            other if other == 0 || needs_all => {
                Some(bind(model, false, Executor::Native, &["marginalise"])?)
            }
            _ => None,
        };
        let changed = coordinates::judge(rng, all.as_ref().unwrap_or(&bound))?;
        seen.recentred = changed.len() as u64;
        for (kind, name) in [chains::VECTORS, chains::WALK].into_iter().enumerate() {
            for own in changed.iter().filter(|own| own.name == name) {
                seen.chained_coordinates[kind][usize::from(own.written == 0.0)] += 1;
            }
        }
    }

    let degrees = places.gone.len() as f64;
    // Numbers of its own for each model, or else the sum of squares over models would be that of
    // one draw.
    let noise = (rng.uniform() * 1e15) as u64;
    seen.squares = [recorded(model, &places, &bound, (&positions[1][..], noise))?, degrees];
    Ok(seen)
}

/// The gradient along two random directions.
fn slopes(
    rng: &mut ChainRng,
    model: &Hierarchy,
    places: &Places,
    bound: &BoundModel,
    position: &[f64],
) -> Result<(), String> {
    let (logp, gradient) = bound.logp_grad(position).map_err(|e| e.to_string())?;
    for _ in 0..2 {
        let direction: Vec<f64> = position.iter().map(|_| rng.standard_normal()).collect();
        let moved = |steps: f64| {
            let q: Vec<f64> =
                position.iter().zip(&direction).map(|(q, d)| q + steps * STEP * d).collect();
            exact_logp(model, places, &q).map(|(logp, _)| logp)
        };
        let inner = moved(1.0)? - moved(-1.0)?;
        let outer = moved(2.0)? - moved(-2.0)?;
        let expected = (8.0 * inner - outer) / (12.0 * STEP);
        let found: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let size: f64 = gradient.iter().zip(&direction).map(|(g, d)| (g * d).abs()).sum();
        let is_near = (found - expected).abs() <= SLOPE * (1.0 + size + logp.abs());
        if !is_near {
            return Err(format!(
                "a slope of {found}, differences say {expected}; gradient {gradient:?}"
            ));
        }
    }
    Ok(())
}

/// Compares the joint distribution of what is recorded at a position; the squared distance of one
/// recorded draw from its mean.
fn recorded(
    model: &Hierarchy,
    places: &Places,
    bound: &BoundModel,
    (position, seed): (&[f64], u64),
) -> Result<f64, String> {
    let (scalars, log_jacobian, mut u) = read(model, places, position);
    let mut exact = Exact::new(model, &scalars, log_jacobian);
    let conditional = exact.integrate(&places.gone, &u)?;
    places.gone.iter().zip(&conditional.mean).for_each(|(&own, &mean)| u[own] = mean);
    let mean = exact.values(&u);
    let spread = exact.spread(&places.gone, &conditional);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let n = places.recorded.len();
    let deviation: Vec<f64> = spread.iter().map(|row| product(row, row).sqrt()).collect();

    let mut trace = bound.trace_instance();
    let mut row = vec![0.0; bound.trace_width()];
    let mut noise = vec![0.0; places.gone.len()];
    let mut values = |trace: &mut exmc::advanced::TraceInstance,
                      noise: &[f64]|
     -> Result<Vec<f64>, String> {
        trace.evaluate_at_noise(position, noise, &mut row).map_err(|e| e.to_string())?;
        for (&at, expected) in places.recorded_scalars.iter().zip(&scalars) {
            if (row[at] - expected).abs() > 1e-13 * (1.0 + expected.abs()) {
                return Err(format!("a scalar is recorded as {}, expected {expected}", row[at]));
            }
        }
        for &(at, element) in &places.derived {
            let expected = 2.0 * row[places.recorded[element]] - scalars[0];
            if (row[at] - expected).abs() > 1e-12 * (1.0 + expected.abs() + scalars[0].abs()) {
                return Err(format!(
                    "a derived value is recorded as {}, expected {expected}",
                    row[at]
                ));
            }
        }
        Ok(places.recorded.iter().map(|&at| row[at]).collect())
    };
    let centre = values(&mut trace, &noise)?;
    for i in 0..n {
        let allowed = MOMENT * (deviation[i] + 1e-3 * (1.0 + mean[i].abs()));
        let is_near = (centre[i] - mean[i]).abs() <= allowed;
        if !is_near {
            return Err(format!(
                "element {i} has mean {}, expected {} (sd {})",
                centre[i], mean[i], deviation[i]
            ));
        }
    }
    let mut columns = vec![Vec::with_capacity(noise.len()); n];
    for k in 0..noise.len() {
        noise[k] = 1.0;
        let moved = values(&mut trace, &noise)?;
        noise[k] = 0.0;
        columns.iter_mut().zip(moved).zip(&centre).for_each(|((own, x), c)| own.push(x - c));
    }
    for i in 0..n {
        for j in 0..=i {
            let (found, expected) =
                (product(&columns[i], &columns[j]), product(&spread[i], &spread[j]));
            let rounding = 1e-13 * (mean[i].abs() * deviation[j] + mean[j].abs() * deviation[i]);
            let is_near =
                (found - expected).abs() <= MOMENT * deviation[i] * deviation[j] + rounding;
            if !is_near {
                return Err(format!(
                    "elements {i} and {j} have covariance {found}, expected {expected}"
                ));
            }
        }
    }

    // A draw as a run records it, at which the density of all coordinates is that of what is left
    // and of the draw.
    if places.gone.is_empty() {
        return Ok(0.0);
    }
    let mut recording = Recording::new(bound, seed);
    let mut drawn = vec![0.0; recording.width()];
    let number = DrawNumber { chain: 0, phase: RunPhase::Sampling, index: 5 };
    recording.draw(number, position, &mut drawn).map_err(|e| e.to_string())?;
    let mut given = Values::new();
    for (k, &at) in places.recorded_scalars.iter().enumerate() {
        given.insert(format!("s{k}"), Tensor::scalar(drawn[at]));
    }
    for variable in variables(bound) {
        let is_free = bound.compiled().lowered().layout.iter().map(|e| &e.name);
        let is_free = is_free.chain(bound.compiled().lowered().noise.iter().map(|e| &e.name));
        let mut names = is_free;
        if names.any(|name| *name == variable.name) {
            let own = &drawn[variable.offset..variable.offset + variable.len()];
            let value = Tensor::real(variable.shape.clone(), own).ok_or("a value has its shape")?;
            given.insert(variable.name.clone(), value);
        }
    }
    let whole = bound.whole().map_err(|e| e.to_string())?;
    let q = whole.unconstrain(&given).map_err(|e| e.to_string())?;
    let all = whole.logp_grad(&q).map_err(|e| e.to_string())?.0;
    let left = bound.logp_grad(position).map_err(|e| e.to_string())?.0;
    let layout = &whole.compiled().lowered().layout;
    let begin = starts(model);
    let coordinate = |number: usize| -> Option<f64> {
        let k = begin.iter().rposition(|&start| start <= number)?;
        let i = number - begin[k];
        let (name, at) = element(model, k, i);
        let entry = layout.iter().find(|e| e.name == name)?;
        Some(q[entry.offset + if model.latents[k].missing_of.is_some() { i } else { at }])
    };
    let own: Vec<f64> =
        places.gone.iter().map(|&number| coordinate(number).unwrap_or(f64::NAN)).collect();
    let (log_density, square) = conditional.log_density(&own);
    let expected = left + log_density;
    let is_near =
        (all - expected).abs() <= 10.0 * DENSITY * (exact.size + square + log_density.abs());
    if !is_near {
        return Err(format!(
            "with all coordinates the log density is {all} at a recorded draw, expected {expected}"
        ));
    }
    Ok(square)
}

fn seen(model: &Hierarchy, places: &Places) -> Seen {
    let begin = starts(model);
    let is_gone: Vec<bool> =
        begin.iter().map(|&start| places.coordinates[start].is_none()).collect();
    let gone = is_gone.iter().filter(|gone| **gone).count();
    // Later vectors read earlier ones.
    let mut is_read: Vec<bool> = vec![false; model.latents.len()];
    let read = model.likelihoods.iter().flat_map(|l| &l.location.latents);
    read.for_each(|(_, latent, _)| is_read[*latent] = true);
    let parents = |k: usize| {
        let priors = model.latents[k].priors.iter();
        priors.flat_map(|p| p.location.latents.iter().map(|(_, latent, _)| *latent))
    };
    for k in (0..model.latents.len()).rev().filter(|&k| model.latents[k].missing_of.is_none()) {
        if is_read[k] {
            parents(k).for_each(|parent| is_read[parent] = true);
        }
    }
    let count = |fits: &dyn Fn(usize) -> bool| {
        (0..model.latents.len()).filter(|&k| is_gone[k] && fits(k)).count() as u64
    };
    let is_missing = |k: usize| model.latents[k].missing_of.is_some();
    let some = |any: bool| u64::from(any);
    Seen {
        models: 1,
        integrated: [some(gone > 0), some(gone > 1)],
        prior_only: count(&|k| !is_read[k] && !is_missing(k)),
        chained: count(&|k| parents(k).any(|parent| is_gone[parent])),
        missing: some((0..model.latents.len()).any(is_missing)),
        weighted: some(model.likelihoods.iter().any(|l| l.weights.is_some())),
        masked: some(model.likelihoods.iter().any(|l| l.mask.is_some())),
        spelled: [Spelling::Elements, Spelling::Scalars]
            .map(|spelling| if model.spelling == spelling { gone as u64 } else { 0 }),
        small: [
            count(&|k| {
                model.latents[k].len == 1
                    && (0..is_gone.len()).any(|own| parents(own).any(|p| p == k))
            }),
            count(&|k| (2..8).contains(&model.latents[k].len)),
        ],
        pairs: some(model.pairs.as_ref().is_some_and(|pairs| pairs.non_centred)),
        non_centred: some(
            (0..model.latents.len()).any(|k| model.latents[k].non_centred && !is_gone[k]),
        ),
        ..Seen::default()
    }
}
