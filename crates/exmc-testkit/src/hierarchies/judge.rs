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

use super::differences::check_slope;
use super::exact::{Exact, starts};
use super::places::{self, Places, element, read};
use super::seen::{Seen, seen};
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

/// The exact log density at a position, and the size of its terms.
fn exact_logp(model: &Hierarchy, places: &Places, position: &[f64]) -> Result<(f64, f64), String> {
    let (scalars, log_jacobian, u) = read(model, places, position);
    let mut exact = Exact::new(model, &scalars, log_jacobian);
    let logp = exact.integrate(&places.gone, &u)?.logp;
    Ok((logp, exact.size))
}

fn judge(rng: &mut ChainRng, model: &Hierarchy) -> Result<Seen, String> {
    let bound = bind(model, true, Executor::Native, &[])?;
    let places = places::places(model, &bound)?;
    let dim = bound.compiled().dim();
    let positions: Vec<Vec<f64>> = (0..POSITIONS)
        .map(|_| (0..dim).map(|_| RADIUS * (2.0 * rng.uniform() - 1.0)).collect())
        .collect();
    let exact: Vec<(f64, f64)> =
        positions.iter().map(|q| exact_logp(model, &places, q)).collect::<Result<_, _>>()?;
    let evaluate_at = |bound: &BoundModel, q: &[f64]| bound.logp_grad(q).map_err(|e| e.to_string());

    // Constants that a program drops are the same everywhere.
    let first = evaluate_at(&bound, &positions[0])?.0;
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
        near("what is left", k, evaluate_at(&bound, q)?.0)?;
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
        let other_places = super::places::places(model, &other)?;
        let is_same = other_places.coordinates == places.coordinates
            && other_places.scalars == places.scalars;
        for (k, q) in positions.iter().enumerate() {
            if is_same {
                near(what, k, evaluate_at(&other, q)?.0)?;
            }
        }
        if !is_same {
            let q = vec![0.3; other.compiled().dim()];
            recorded(model, &other_places, &other, (&q[..], 0))
                .map_err(|why| format!("{what}: {why}"))?;
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
            for coordinate in changed.iter().filter(|coordinate| coordinate.name == name) {
                seen.chained_coordinates[kind][usize::from(coordinate.written == 0.0)] += 1;
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
        let along = |steps: f64| {
            let q: Vec<f64> = position.iter().zip(&direction).map(|(q, d)| q + steps * d).collect();
            exact_logp(model, places, &q).map(|(logp, _)| logp)
        };
        let found: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let size: f64 = gradient.iter().zip(&direction).map(|(g, d)| (g * d).abs()).sum();
        let allowed = SLOPE * (1.0 + size + logp.abs());
        check_slope(found, allowed, STEP, along)
            .map_err(|why| format!("{why}; gradient {gradient:?}"))?;
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
    places.gone.iter().zip(&conditional.mean).for_each(|(&element, &mean)| u[element] = mean);
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
        for (&offset, expected) in places.recorded_scalars.iter().zip(&scalars) {
            if (row[offset] - expected).abs() > 1e-13 * (1.0 + expected.abs()) {
                return Err(format!(
                    "a scalar is recorded as {}, expected {expected}",
                    row[offset]
                ));
            }
        }
        for &(offset, element) in &places.derived {
            let expected = 2.0 * row[places.recorded[element]] - scalars[0];
            if (row[offset] - expected).abs() > 1e-12 * (1.0 + expected.abs() + scalars[0].abs()) {
                return Err(format!(
                    "a derived value is recorded as {}, expected {expected}",
                    row[offset]
                ));
            }
        }
        Ok(places.recorded.iter().map(|&offset| row[offset]).collect())
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
        columns.iter_mut().zip(moved).zip(&centre).for_each(|((column, x), c)| column.push(x - c));
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
    for (k, &offset) in places.recorded_scalars.iter().enumerate() {
        given.insert(format!("s{k}"), Tensor::scalar(drawn[offset]));
    }
    for variable in variables(bound) {
        let is_free = bound.compiled().lowered().layout.iter().map(|e| &e.name);
        let is_free = is_free.chain(bound.compiled().lowered().noise.iter().map(|e| &e.name));
        let mut names = is_free;
        if names.any(|name| *name == variable.name) {
            let elements = &drawn[variable.offset..variable.offset + variable.len()];
            let value =
                Tensor::real(variable.shape.clone(), elements).ok_or("a value has its shape")?;
            given.insert(variable.name.clone(), value);
        }
    }
    let whole_model = bound.whole().map_err(|e| e.to_string())?;
    let q = whole_model.unconstrain(&given).map_err(|e| e.to_string())?;
    let all = whole_model.logp_grad(&q).map_err(|e| e.to_string())?.0;
    let left = bound.logp_grad(position).map_err(|e| e.to_string())?.0;
    let layout = &whole_model.compiled().lowered().layout;
    let begin = starts(model);
    let coordinate = |number: usize| -> Option<f64> {
        let k = begin.iter().rposition(|&start| start <= number)?;
        let i = number - begin[k];
        let (name, index) = element(model, k, i);
        let entry = layout.iter().find(|e| e.name == name)?;
        Some(q[entry.offset + if model.latents[k].missing_of.is_some() { i } else { index }])
    };
    let gone_values: Vec<f64> =
        places.gone.iter().map(|&number| coordinate(number).unwrap_or(f64::NAN)).collect();
    let (log_density, square) = conditional.log_density(&gone_values);
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
