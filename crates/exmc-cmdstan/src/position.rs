//! Values of parameters -> a position, where they fit their types.
//!
//! The way to unconstrained coordinates forgets what a type fixes: that a simplex sums to one, that
//! a matrix is symmetric. The values of the position that was found must be those that were given.

use exmc::advanced::BoundModel;
use exmc::model::Values;

/// How far a value may be from the one that fits its type, as a share of it or of one: files of six
/// digits are read back.
const TOLERANCE: f64 = 1e-5;

/// The position of values; coordinates of parameters that are not given are NaN.
///
/// # Errors
/// What is wrong with a value, by the parameter's name.
pub fn position_of(bound: &BoundModel, values: &Values) -> Result<Vec<f64>, String> {
    let position = bound.unconstrain(values).map_err(|error| error.to_string())?;
    let filled: Vec<f64> = position.iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect();
    // Where statements go wrong there, that is told when the density is asked for.
    let Ok(fitting) = bound.constrain(&filled) else { return Ok(position) };
    for (name, given) in values {
        let Some(found) = fitting.get(name) else { continue };
        let pairs = || given.values().iter().zip(found.values().iter());
        // Without some of its values it is drawn anew.
        if pairs().any(|(given_value, _)| given_value.is_nan()) {
            continue;
        }
        let is_far = |(given_value, found): &(&f64, &f64)| {
            (*given_value - *found).abs() > TOLERANCE * given_value.abs().max(1.0)
        };
        if let Some((given_value, found)) = pairs().find(is_far) {
            return Err(format!(
                "error[outside-support]: the value of `{name}` does not fit its type: \
                 {given_value} would have to be {found}"
            ));
        }
    }
    Ok(position)
}
