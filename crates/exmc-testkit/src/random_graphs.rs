//! Seed -> a random expression -> do the executors agree about its value and gradient, at every
//! level of instructions.
//!
//! Every seed makes two expressions: one of many operations on small shapes, one of fewer on
//! lengths around those of vectors and blocks. The native executor must be as near to the reference
//! as rounding allows, give the same bits at every level, and the same bits again in memory that
//! holds an earlier evaluation. At positions of huge and tiny numbers the levels are compared with
//! each other only: there a sum may overflow in one order and not in another.
//!
//! In `f32`, the longer expression stands beside products of matrices, which make its loops quicker
//! in that type.

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{Executor, Settings, compile_with};
use exmc_graph::Precision;
use exmc_math::simd::Level;

// The generator belongs to the executors' own tests, which cannot depend on this crate.
#[path = "../../exmc-exec/tests/support/lanes.rs"]
mod lanes;
#[allow(unreachable_pub, reason = "a private module here")]
#[path = "../../exmc-exec/tests/support/random.rs"]
mod random;
use random::Program;

/// Elementary functions differ by up to 4 ulp from the reference's, sums are taken in another order
/// and products are added without rounding; compositions of thirty operations with slopes of scale
/// one multiply that by up to some hundred: 1e-16 * 4 * 250. Sums of more terms than the small
/// expressions have grow it by their root.
const TOLERANCE: f64 = 1e-13;

/// The same in `f32`, whose half ulp is 6e-8: the worst of 600 expressions was off by 9e-6.
const SINGLE_TOLERANCE: f64 = 2e-5;

/// What elements of a position are multiplied by, one after the other: tame, beyond where
/// exponentials are finite, where angles and sums lose their digits, where squares overflow, and
/// subnormal.
const SIZES: [f64; 5] = [1.0, 1e3, 1e8, 1e300, 1e-310];

/// Makes both expressions of a seed and compares the executors. Returns the largest difference
/// seen, relative to the tolerance.
///
/// # Errors
/// The first disagreement.
pub fn check(seed: u64) -> Result<f64, String> {
    // Which size the first element has.
    let shift = (seed % SIZES.len() as u64) as usize;
    let small =
        compare(&Program::new(seed), shift).map_err(|why| format!("seed {seed}, small: {why}"))?;
    let wide =
        compare(&Program::wide(seed), shift).map_err(|why| format!("seed {seed}, wide: {why}"))?;
    Ok(small.max(wide))
}

/// Makes the longer expression of a seed, in `f32`, and compares the executors; otherwise as
/// [`check`].
///
/// # Errors
/// The first disagreement.
pub fn check_singles(seed: u64) -> Result<f64, String> {
    let program = Program::wide(seed).with_matrices();
    let found = levels_agree(&program, &program.position, Precision::F32);
    found
        .and_then(|found| distance(&program, &found, Precision::F32, SINGLE_TOLERANCE))
        .map_err(|why| format!("seed {seed}: {why}"))
}

fn compare(program: &Program, shift: usize) -> Result<f64, String> {
    let long = Precision::F64;
    let sizes = SIZES.iter().cycle().skip(shift);
    let extreme: Vec<f64> = program.position.iter().zip(sizes).map(|(x, by)| x * by).collect();
    levels_agree(program, &extreme, long).map_err(|why| format!("at extreme positions, {why}"))?;
    lanes_agree(program)?;
    let tolerance = TOLERANCE * (program.largest() as f64 / 12.0).sqrt().max(1.0);
    let found = levels_agree(program, &program.position, long)?;
    distance(program, &found, long, tolerance)
}

/// Whether several positions at once have the bits of single ones, if they can be evaluated so.
fn lanes_agree(program: &Program) -> Result<(), String> {
    let compiled = compile_with(&Settings::of(Executor::Native), &program.source)
        .map_err(|e| e.to_string())?;
    let bound = compiled.bind(&|name| program.lookup(name)).map_err(|e| e.to_string())?;
    let agree = lanes::lanes_agree(&bound, &lanes::positions(&program.position));
    agree.map(|_| ()).map_err(|why| format!("in lanes, {why}"))
}

/// How far values are from those of the reference executor, in units of the tolerance.
fn distance(
    program: &Program,
    found: &[f64],
    long: Precision,
    tolerance: f64,
) -> Result<f64, String> {
    let expected = evaluate(program, &program.position, Executor::Reference, long, None)?;
    let mut worst: f64 = 0.0;
    for (k, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
        if found == expected || (found.is_nan() && expected.is_nan()) {
            continue;
        }
        let error = (found - expected).abs() / expected.abs().max(1.0);
        worst = worst.max(error / tolerance);
        // Not a number is no agreement either.
        if !matches!(error.partial_cmp(&tolerance), Some(std::cmp::Ordering::Less)) {
            return Err(format!("element {k}: {found}, expected {expected}"));
        }
    }
    Ok(worst)
}

/// What the native executor finds at every level, if that is the same.
fn levels_agree(program: &Program, position: &[f64], long: Precision) -> Result<Vec<f64>, String> {
    let mut first: Option<Vec<f64>> = None;
    for level in Level::available() {
        let found = evaluate(program, position, Executor::Native, long, Some(level))?;
        let best = first.get_or_insert_with(|| found.clone());
        let mismatch = bits(best).iter().zip(bits(&found)).position(|(a, b)| *a != b);
        if let Some(k) = mismatch {
            let (found, best, level) = (found[k], best[k], level.name());
            return Err(format!(
                "element {k}: {found:e} at level {level}, {best:e} at the first level"
            ));
        }
    }
    first.ok_or_else(|| "there is no level".to_owned())
}

/// Value and gradient, evaluated twice; `long` is the precision of long loops.
fn evaluate(
    program: &Program,
    position: &[f64],
    executor: Executor,
    long: Precision,
    level: Option<Level>,
) -> Result<Vec<f64>, String> {
    let settings = Settings::of(executor).at_precision(long);
    let compiled = compile_with(&settings, &program.source).map_err(|e| e.to_string())?;
    let mut bound = compiled.bind(&|name| program.lookup(name)).map_err(|e| e.to_string())?;
    if let Some(level) = level {
        bound = bound.at_level(level);
    }
    let mut instance = bound.instance();
    let mut run = || {
        let mut found = vec![0.0; program.source.dim + 1];
        let logp = instance.logp_grad(position, &mut found[1..]);
        found[0] = logp.map_err(|e| e.to_string())?;
        Ok::<_, String>(found)
    };
    let (found, again) = (run()?, run()?);
    if bits(&found) != bits(&again) {
        return Err(format!("other bits the second time ({})", executor.name()));
    }
    Ok(found)
}

/// Bits; every NaN is one, because no draw shows which.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| if v.is_nan() { f64::NAN } else { *v }.to_bits()).collect()
}
