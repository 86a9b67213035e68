//! A hierarchical model in random coordinates -> agreement with the model as it is written, by the
//! law of changing variables.
//!
//! What judges knows no location, scale or share of centring: positions go to constrained values
//! and back into the other model's coordinates, the Jacobian matrix of that map comes from
//! differences, and its determinant from elimination.

use exmc::advanced::{BoundModel, Coordinate, variables};
use exmc::model::Values;
use exmc_math::random::ChainRng;

use super::differences::check_slope;
use super::spec::below;

/// Error of a log density in units of its size: differences of the map with steps of 1e-2 are exact
/// to 1e-9 an element.
const DENSITY: f64 = 1e-7;
/// Error of a coordinate that comes back.
const ROUND_TRIP: f64 = 1e-9;
/// Error of a slope against differences.
const SLOPE: f64 = 1e-5;
const STEP: f64 = 1e-2;
/// Half-width of the cube of positions.
const RADIUS: f64 = 1.0;

/// Judges a model in random coordinates. Returns the variables that had another than it is written
/// in, as it is written.
///
/// # Errors
/// The first disagreement.
pub(super) fn judge(rng: &mut ChainRng, bound: &BoundModel) -> Result<Vec<Coordinate>, String> {
    let written = bound.written_coordinates();
    let random: Vec<Coordinate> =
        written.iter().map(|coordinate| shares(rng, coordinate)).collect();
    let text = |error: exmc::Error| error.to_string();
    let before = bound.in_coordinates(&written).map_err(text)?;
    let after = bound.in_coordinates(&random).map_err(text)?;
    if written.is_empty() {
        return Ok(Vec::new());
    }
    let describe = |why: String| format!("in coordinates {random:?}: {why}");
    law(rng, &before, &after).map_err(describe)?;
    let changed = random.iter().zip(&written).filter(|(a, b)| a.shares != b.shares);
    Ok(changed.map(|(_, written)| written.clone()).collect())
}

fn shares(rng: &mut ChainRng, coordinate: &Coordinate) -> Coordinate {
    let each = match below(rng, 6) {
        0 => vec![0.0],
        1 => vec![1.0],
        2 => vec![rng.uniform()],
        3 => (0..coordinate.len).map(|_| f64::from(u8::from(rng.uniform() < 0.5))).collect(),
        _ => (0..coordinate.len).map(|_| rng.uniform()).collect(),
    };
    Coordinate { shares: each, ..coordinate.clone() }
}

fn law(rng: &mut ChainRng, before: &BoundModel, after: &BoundModel) -> Result<(), String> {
    let dim = after.compiled().dim();
    if dim != before.compiled().dim() {
        let names = |model: &BoundModel| -> Vec<String> {
            model.compiled().lowered().layout.iter().map(|entry| entry.name.clone()).collect()
        };
        return Err(format!(
            "{dim} coordinates, {} as it is written: {:?} and {:?}",
            before.compiled().dim(),
            names(after),
            names(before)
        ));
    }
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let move_back = |q: &[f64]| -> Result<Vec<f64>, String> {
        before.unconstrain(&free(after, q)?).map_err(|e| text(&e))
    };
    let q: Vec<f64> = (0..dim).map(|_| RADIUS * (2.0 * rng.uniform() - 1.0)).collect();
    let round_trip = after.unconstrain(&free(after, &q)?).map_err(|e| text(&e))?;
    for (k, (found, expected)) in round_trip.iter().zip(&q).enumerate() {
        let is_near = (found - expected).abs() <= ROUND_TRIP * (1.0 + expected.abs());
        if !is_near {
            return Err(format!("coordinate {k} comes back as {found}, expected {expected}"));
        }
    }
    let place = move_back(&q)?;
    let logp = |model: &BoundModel, q: &[f64]| model.logp_grad(q).map_err(|e| text(&e));
    let (found, gradient) = logp(after, &q)?;
    let expected = logp(before, &place)?.0 + log_determinant(dim, &q, move_back)?;
    let size = 1.0 + found.abs() + expected.abs() + dim as f64;
    if (found - expected).abs() > DENSITY * size || found.is_nan() {
        return Err(format!("log density {found}, expected {expected}"));
    }
    let direction: Vec<f64> = q.iter().map(|_| rng.standard_normal()).collect();
    let along = |steps: f64| {
        let q: Vec<f64> = q.iter().zip(&direction).map(|(q, d)| q + steps * d).collect();
        logp(after, &q).map(|(logp, _)| logp)
    };
    let slope: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
    let size: f64 = gradient.iter().zip(&direction).map(|(g, d)| (g * d).abs()).sum();
    check_slope(slope, SLOPE * (1.0 + size + found.abs()), 1e-3, along)?;
    same_records(rng, (before, &place), (after, &q))
}

/// Free variables at a position, but for those that are integrated out.
fn free(model: &BoundModel, q: &[f64]) -> Result<Values, String> {
    let mut values = model.constrain(q).map_err(|e| e.to_string())?;
    let layout = &model.compiled().lowered().layout;
    values.retain(|name, _| layout.iter().any(|entry| entry.name == *name));
    Ok(values)
}

/// The logarithm of the determinant of a map's matrix of slopes.
fn log_determinant(
    dim: usize,
    q: &[f64],
    map: impl Fn(&[f64]) -> Result<Vec<f64>, String>,
) -> Result<f64, String> {
    let mut rows = Vec::with_capacity(dim);
    for k in 0..dim {
        let map_at = |steps: f64| {
            let mut q = q.to_vec();
            q[k] += steps * STEP;
            map(&q)
        };
        let (a, b, c, d) = (map_at(1.0)?, map_at(-1.0)?, map_at(2.0)?, map_at(-2.0)?);
        let slope = |i: usize| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * STEP);
        rows.push((0..dim).map(slope).collect::<Vec<f64>>());
    }
    let mut sum = 0.0;
    for k in 0..dim {
        let best = (k..dim).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()));
        rows.swap(k, best.expect("there is a row"));
        let pivot = rows[k].clone();
        sum += exmc_math::log(pivot[k].abs());
        for row in &mut rows[k + 1..] {
            let by = row[k] / pivot[k];
            row.iter_mut().zip(&pivot).skip(k).for_each(|(x, p)| *x -= by * p);
        }
    }
    Ok(sum)
}

/// What is recorded of one point is the same, whatever its coordinates are, also of what is
/// integrated out.
fn same_records(
    rng: &mut ChainRng,
    before: (&BoundModel, &[f64]),
    after: (&BoundModel, &[f64]),
) -> Result<(), String> {
    let noise: Vec<f64> = after
        .0
        .integrated_out()
        .flat_map(|(_, n)| (0..n).map(|_| rng.standard_normal()).collect::<Vec<f64>>())
        .collect();
    let row = |(model, q): (&BoundModel, &[f64])| {
        let mut row = vec![0.0; model.trace_width()];
        let done = model.trace_instance().evaluate_at_noise(q, &noise, &mut row);
        done.map(|()| row).map_err(|e| e.to_string())
    };
    let (expected, found) = (row(before)?, row(after)?);
    let names: Vec<String> = variables(after.0).into_iter().map(|v| v.name).collect();
    if names != variables(before.0).into_iter().map(|v| v.name).collect::<Vec<String>>() {
        return Err(format!("other variables are recorded: {names:?}"));
    }
    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let is_near = (found - expected).abs() <= 1e-8 * (1.0 + expected.abs());
        if !is_near {
            return Err(format!("recorded number {k} is {found}, expected {expected}"));
        }
    }
    Ok(())
}
