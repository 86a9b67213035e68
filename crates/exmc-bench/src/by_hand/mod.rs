//! Gradients written by hand for single models: data -> a function with nothing in it that could be
//! left out.
//!
//! They are the limit that executors are compared with, so each uses what a careful author knows
//! about its model: data packed once in the order in which they are read, one pass, signs of
//! outcomes folded into the design, sums of logarithms as products, normal likelihoods as their
//! sufficient statistics. Positions have exmc's layout, names in bytewise order, of a Stan program
//! in the order of declaration. Log densities leave out constants. `tests/by_hand.rs` compares each
//! with its model.

use exmc::model::DataSet;
use exmc_math::simd::Level;

use crate::models::Data;

mod contingency;
mod eight_schools;
mod item_response;
mod logistic;
mod lotka_volterra;
mod mixture;
mod radon;
mod regression;
mod student;
mod volatility;

/// A log density up to a constant: position -> value, and the gradient is written.
pub type Gradient = Box<dyn FnMut(&[f64], &mut [f64]) -> f64>;

/// The kernel for a benchmark, if there is one, with that level's instructions.
///
/// # Errors
/// When data are missing or do not fit.
pub fn kernel(name: &str, data: &DataSet, level: Level) -> Result<Option<Gradient>, String> {
    let data = &Data::new(data);
    Ok(Some(match name {
        "eight_schools" => eight_schools::centred(data, level)?,
        "eight_schools_noncentered" => eight_schools::non_centred(data, level)?,
        "wells_dist100" => logistic::wells(data, level)?,
        "nes2000" => regression::nes(data, level)?,
        "diamonds" => regression::diamonds(data, level)?,
        "radon_mn" | "radon_all" => radon::kernel(data, level)?,
        "irt_2pl" => item_response::kernel(data, level)?,
        "low_dim_gauss_mix" => mixture::kernel(data, level)?,
        "lotka_volterra" => lotka_volterra::kernel(data, level)?,
        "sv" | "sv_vol" => volatility::kernel(data, level)?,
        "student_groups" => student::kernel(data, level)?,
        "logistic_discrete" => contingency::kernel(data, level)?,
        _ if name.starts_with("logistic") => logistic::kernel(data, level)?,
        _ if name.starts_with("regression") => regression::plain(data, level)?,
        _ => return Ok(None),
    }))
}

/// The eight numbers from `start`, zeros beyond the end.
fn eight(values: &[f64], start: usize) -> [f64; 8] {
    std::array::from_fn(|k| values.get(start + k).copied().unwrap_or(0.0))
}
