//! A program's text -> whether its tape gives the same with loops collapsed as without.

use std::sync::Arc;

use exmc_math::random::{ChainRng, Phase};
use exmc_stan::data::read_data;
use exmc_stan::host::tape::{Evaluator, Options};

use super::compare::read;
use super::statements::VALUES;

const POINTS: usize = 4;
/// How far derivatives may be apart, relative to the largest (at least one): sums run in another
/// order.
const TOLERANCE: f64 = 1e-9;

/// At how many points both evaluations have a value.
pub(super) fn compare(text: &str, seed: u64) -> Result<usize, String> {
    let program = Arc::new(read(text)?);
    let known = read_data(&program, "random.json", VALUES).map_err(|_| "its data".to_owned())?;
    let evaluator = |collapse_after: usize| {
        let mut options = Options::default();
        options.settings.fuel = 1_000_000;
        options.proportional = seed.is_multiple_of(2);
        options.collapse_after = collapse_after;
        Evaluator::new(Arc::clone(&program), known.clone(), options)
    };
    // After every iteration, after some, and never.
    let mut ways = [0, 30, usize::MAX].map(evaluator);
    let dim = dimension(&mut ways[2])?;
    let mut rng = ChainRng::new(seed, 1, Phase::Predictive);
    let mut compared = 0;
    for _ in 0..POINTS {
        let point: Vec<f64> = (0..dim).map(|_| 3.0 * rng.uniform() - 1.5).collect();
        let mut all = Vec::new();
        for way in &mut ways {
            let mut gradient = vec![0.0; dim];
            let value = way.evaluate(&point, &mut gradient);
            all.push((value.map_err(|error| error.message.to_string()), gradient));
        }
        let Some((uncollapsed, others)) = all.split_last() else { continue };
        let size = uncollapsed.1.iter().fold(1.0_f64, |size, x| size.max(x.abs()));
        for (value, gradient) in others {
            let same = match (value, &uncollapsed.0) {
                (Ok(a), Ok(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
                (a, b) => a == b,
            };
            if !same {
                return Err(format!("{value:?} collapsed, {:?} whole at {point:?}", uncollapsed.0));
            }
            let is_smooth = uncollapsed.0.as_ref().is_ok_and(|value| value.is_finite());
            let near = |(a, b): (&f64, &f64)| {
                a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= TOLERANCE * size
            };
            if is_smooth && size.is_finite() && !gradient.iter().zip(&uncollapsed.1).all(near) {
                return Err(format!(
                    "{gradient:?} collapsed, {:?} whole at {point:?}",
                    uncollapsed.1
                ));
            }
        }
        compared += usize::from(uncollapsed.0.is_ok());
    }
    Ok(compared)
}

/// Number of coordinates, which an evaluation with too many of them tells.
fn dimension(evaluator: &mut Evaluator) -> Result<usize, String> {
    const MOST: usize = 1000;
    let mut gradient = vec![0.0; MOST];
    let left = match evaluator.evaluate(&[0.1; MOST], &mut gradient) {
        Err(error) => error.message.split(' ').next().and_then(|word| word.parse::<usize>().ok()),
        Ok(_) => Some(0),
    };
    left.map(|left| MOST - left).ok_or_else(|| "it does not say its coordinates".to_owned())
}
