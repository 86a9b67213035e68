//! Systems of equations: a residual and a guess -> a root, with its derivatives by what the
//! residual depends on.
//!
//! Newton's method with halved steps. Once the residual is as small as is asked for, up to three
//! further steps make the root as exact as rounding allows, so that it does not depend on the
//! guess. Its derivatives follow from $f(x(\theta), \theta) = 0$: $\partial x/\partial\theta =
//! -J^{-1}\,\partial f/\partial\theta$.

use super::factors::Factors;
use super::{OdeFailure, OdeSystem, OdeWorkspace};

/// How exact a root is, and how long to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RootControl {
    /// Largest Euclidean norm of the residual.
    pub tolerance: f64,
    /// Most steps of the method.
    pub max_steps: u64,
}

/// Further steps after the residual is small enough.
const POLISH: u64 = 3;
/// A step halved below this goes nowhere.
const MIN_STEP: f64 = 1e-10;

fn size(residual: &[f64]) -> f64 {
    residual.iter().map(|f| f * f).sum::<f64>().sqrt()
}

/// The root of `system`'s slope at time zero near `x`, which it replaces; `columns` gets its
/// derivatives `[n, s]`.
///
/// # Errors
/// [`OdeFailure::TooManySteps`] when no point with a residual so small is found,
/// [`OdeFailure::NotFinite`] when the guess is not finite or the tolerance not positive,
/// [`OdeFailure::Stopped`] when the residual gives up.
///
/// **Panics** if `columns` is not as long as states times [`OdeSystem::columns`].
pub fn find_root(
    control: &RootControl,
    system: &mut impl OdeSystem,
    work: &mut OdeWorkspace,
    x: &mut [f64],
    columns: &mut [f64],
) -> Result<(), OdeFailure> {
    let (n, s) = (x.len(), system.columns());
    assert_eq!(columns.len(), n * s, "one derivative of each unknown by each number");
    let positive = control.tolerance.is_finite() && control.tolerance > 0.0;
    if !positive || x.iter().any(|x| !x.is_finite()) {
        return Err(OdeFailure::NotFinite);
    }
    let [mut jacobian, mut forcing, mut lu, mut pivots] = std::mem::take(&mut work.matrices);
    for (matrix, size) in
        [(&mut jacobian, n * n), (&mut forcing, n * s), (&mut lu, n * n), (&mut pivots, n)]
    {
        matrix.clear();
        matrix.resize(size, 0.0);
    }
    let [residual, step, next, next_residual] = work.rows::<4>(n);
    let regular = |jacobian: &mut [f64], lu: &mut [f64], pivots: &mut [f64]| {
        // The factors are of I - A; with A = I - J they are of J.
        for (k, j) in jacobian.iter_mut().enumerate() {
            *j = f64::from(u8::from(k % (n + 1) == 0)) - *j;
        }
        Factors { n, matrix: lu, pivots }.compute(jacobian, 1.0)
    };
    let mut search = || -> Result<(), OdeFailure> {
        let mut polished = 0;
        system.jacobian(0.0, x, residual, &mut jacobian, &mut forcing)?;
        let mut before = size(residual);
        for _ in 0..control.max_steps.max(1) {
            if before <= control.tolerance {
                if polished == POLISH || before == 0.0 {
                    break;
                }
                polished += 1;
            }
            if !regular(&mut jacobian, &mut lu, &mut pivots) {
                break;
            }
            step.copy_from_slice(residual);
            Factors { n, matrix: &mut lu, pivots: &mut pivots }.solve(step, 1);
            let mut length = 1.0;
            let mut closer = false;
            while length >= MIN_STEP && !closer {
                for ((next, x), step) in next.iter_mut().zip(x.iter()).zip(step.iter()) {
                    *next = x - length * step;
                }
                system.slope(0.0, next, next_residual)?;
                closer = size(next_residual) < before;
                length *= 0.5;
            }
            if !closer {
                break;
            }
            x.copy_from_slice(next);
            system.jacobian(0.0, x, residual, &mut jacobian, &mut forcing)?;
            before = size(residual);
        }
        if before.is_nan() || before > control.tolerance {
            return Err(OdeFailure::TooManySteps);
        }
        if s > 0 {
            system.jacobian(0.0, x, residual, &mut jacobian, &mut forcing)?;
            if !regular(&mut jacobian, &mut lu, &mut pivots) {
                return Err(OdeFailure::TooManySteps);
            }
            columns.iter_mut().zip(&forcing).for_each(|(column, forcing)| *column = -forcing);
            Factors { n, matrix: &mut lu, pivots: &mut pivots }.solve(columns, s);
        }
        Ok(())
    };
    let outcome = search();
    work.matrices = [jacobian, forcing, lu, pivots];
    outcome
}
