//! A point and a direction -> a point further along it that satisfies the strong Wolfe conditions.
//!
//! The search keeps a bracket: its lower end satisfies the condition of sufficient decrease and
//! still goes down steeply, its upper end does not, or goes up, or cannot be used. Between such
//! ends there is always a point that satisfies both conditions. New lengths come from the cubic
//! through both ends, kept away from them.

use exmc_density::LogDensity;
use exmc_math::linear::dot;

use super::Point;
use crate::error::SampleError;
use crate::state::evaluate_into;

/// Sufficient decrease: $f(a) \le f(0) + c_1 a f'(0)$. Nocedal and Wright's value.
const DECREASE: f64 = 1e-4;
/// Curvature: $|f'(a)| \le c_2 |f'(0)|$. Nocedal and Wright's value for quasi-Newton methods.
const CURVATURE: f64 = 0.9;
/// Evaluations of one search. A bracket that is bisected so often is a thousand times narrower than
/// rounding.
const MAX_EVALUATIONS: u32 = 60;
/// The decrease may be missed by this many units of rounding of the objective, which near a minimum
/// is flat up to rounding (the approximate condition of Hager and Zhang 2005).
const ROUNDING: f64 = 8.0;

pub(super) enum Searched {
    Found(Point),
    /// The objective goes down and down, however far.
    Unbounded,
    /// Nothing along the direction is better.
    Nothing,
}

/// A length with the objective and its slope there.
#[derive(Clone, Copy)]
struct At {
    length: f64,
    value: f64,
    slope: f64,
}

pub(super) fn search(
    density: &mut impl LogDensity,
    from: &Point,
    direction: &[f64],
    first_length: f64,
    evaluations: &mut u64,
) -> Result<Searched, SampleError> {
    let start = At { length: 0.0, value: from.objective, slope: dot(&from.gradient, direction) };
    if !(start.slope < 0.0 && start.slope.is_finite()) {
        return Ok(Searched::Nothing);
    }
    let slack = ROUNDING * f64::EPSILON * start.value.abs();
    let mut lower = start;
    let mut upper: Option<At> = None;
    let mut length = first_length;
    let mut widths = [f64::INFINITY; 2];
    for _ in 0..MAX_EVALUATIONS {
        let next = evaluate(density, from, direction, length, evaluations)?;
        if next.objective == f64::NEG_INFINITY {
            return Ok(Searched::Unbounded);
        }
        let slope = dot(&next.gradient, direction);
        let here = At { length, value: next.objective, slope };
        let is_usable = here.value.is_finite() && slope.is_finite();
        let decreased = here.value <= start.value + DECREASE * length * start.slope
            || here.value <= start.value + slack;
        if is_usable && decreased && slope.abs() <= CURVATURE * start.slope.abs() {
            return Ok(Searched::Found(next));
        }
        if is_usable && decreased && slope < 0.0 {
            lower = here;
        } else {
            upper = Some(here);
        }
        let Some(end) = upper else {
            length *= 4.0;
            if !length.is_finite() || next.position.iter().any(|x| x.abs() > f64::MAX / 8.0) {
                return Ok(Searched::Unbounded);
            }
            continue;
        };
        let width = end.length - lower.length;
        if width <= f64::EPSILON * end.length {
            break;
        }
        // Interpolation that does not halve the bracket in two steps is given up for bisection.
        let is_slow = width > 0.5 * widths[0];
        widths = [widths[1], width];
        let middle = lower.length + 0.5 * width;
        length = match cubic(lower, end) {
            Some(best) if !is_slow => {
                best.clamp(lower.length + 0.1 * width, end.length - 0.1 * width)
            }
            _ => middle,
        };
    }
    // The bracket is as narrow as numbers allow. Its lower end is better than the start, though not
    // flat.
    if lower.length > 0.0 {
        let next = evaluate(density, from, direction, lower.length, evaluations)?;
        if next.objective < start.value {
            return Ok(if upper.is_none() { Searched::Unbounded } else { Searched::Found(next) });
        }
    }
    Ok(Searched::Nothing)
}

/// The minimum of the cubic with these values and slopes, if it has one and they are finite.
fn cubic(a: At, b: At) -> Option<f64> {
    let width = b.length - a.length;
    let bend = a.slope + b.slope - 3.0 * (b.value - a.value) / width;
    let root = (bend * bend - a.slope * b.slope).sqrt();
    let best = b.length - width * (b.slope + root - bend) / (b.slope - a.slope + 2.0 * root);
    best.is_finite().then_some(best)
}

fn evaluate(
    density: &mut impl LogDensity,
    from: &Point,
    direction: &[f64],
    length: f64,
    evaluations: &mut u64,
) -> Result<Point, SampleError> {
    *evaluations += 1;
    let moved = from.position.iter().zip(direction).map(|(x, d)| x + length * d);
    let position: Vec<f64> = moved.collect();
    let mut gradient = vec![0.0; position.len()];
    if position.iter().any(|x| !x.is_finite()) {
        return Ok(Point { position, objective: f64::INFINITY, gradient });
    }
    let logp = evaluate_into(density, &position, &mut gradient)?;
    // A density that has no value is as bad as one of minus infinity.
    let objective = if logp.is_nan() { f64::INFINITY } else { -logp };
    gradient.iter_mut().for_each(|g| *g = -*g);
    Ok(Point { position, objective, gradient })
}
