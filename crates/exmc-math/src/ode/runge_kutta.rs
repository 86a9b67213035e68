//! Embedded Runge-Kutta pairs of orders 5 and 4: an initial value problem -> its solution, step by
//! step.
//!
//! A step's error is compared with `absolute + relative * (|x| + |h dx|)` component by component,
//! the largest ratio deciding. The next step's length follows from it by the rules of Boost's
//! odeint, on which Stan builds, and so do the first (a tenth), the last (it ends at the last
//! output time) and the interpolation between. The same tolerances so give the same steps as there,
//! and results that agree far below the tolerance.

use super::lanes::{LANES, Row, combine, combine_known, largest_ratio, power};
use super::{Clock, OdeFailure, OdeSystem, OdeWorkspace, Problem};
use crate::simd::{Kernel, Level, Simd};

/// A pair: nodes, stages' weights (lower triangle), the solution's weights and those of its error.
struct Pair<const S: usize> {
    nodes: [f64; S],
    stages: [[f64; S]; S],
    solution: [f64; S],
    error: [f64; S],
    /// Whether the last stage is at the solution, whose slope is so the next step's first.
    ends_at_solution: bool,
}

/// **Reference**: Dormand and Prince 1980; its last stage is the next step's first.
const DORMAND_PRINCE: Pair<7> = Pair {
    nodes: [0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0],
    stages: [
        [0.0; 7],
        [0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0, 0.0],
        [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0, 0.0, 0.0, 0.0],
        [
            9017.0 / 3168.0,
            -355.0 / 33.0,
            46732.0 / 5247.0,
            49.0 / 176.0,
            -5103.0 / 18656.0,
            0.0,
            0.0,
        ],
        [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0, 0.0],
    ],
    solution: [
        35.0 / 384.0,
        0.0,
        500.0 / 1113.0,
        125.0 / 192.0,
        -2187.0 / 6784.0,
        11.0 / 84.0,
        0.0,
    ],
    error: [
        71.0 / 57600.0,
        0.0,
        -71.0 / 16695.0,
        71.0 / 1920.0,
        -17253.0 / 339_200.0,
        22.0 / 525.0,
        -1.0 / 40.0,
    ],
    ends_at_solution: true,
};

/// **Reference**: Cash and Karp 1990.
const CASH_KARP: Pair<6> = Pair {
    nodes: [0.0, 0.2, 0.3, 0.6, 1.0, 0.875],
    stages: [
        [0.0; 6],
        [0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0],
        [0.3, -0.9, 1.2, 0.0, 0.0, 0.0],
        [-11.0 / 54.0, 2.5, -70.0 / 27.0, 35.0 / 27.0, 0.0, 0.0],
        [
            1631.0 / 55296.0,
            175.0 / 512.0,
            575.0 / 13824.0,
            44275.0 / 110_592.0,
            253.0 / 4096.0,
            0.0,
        ],
    ],
    solution: [37.0 / 378.0, 0.0, 250.0 / 621.0, 125.0 / 594.0, 0.0, 512.0 / 1771.0],
    error: [
        37.0 / 378.0 - 2825.0 / 27648.0,
        0.0,
        250.0 / 621.0 - 18575.0 / 48384.0,
        125.0 / 594.0 - 13525.0 / 55296.0,
        -277.0 / 14336.0,
        512.0 / 1771.0 - 0.25,
    ],
    ends_at_solution: false,
};

/// The first step that is tried.
const FIRST_STEP: f64 = 0.1;
/// $5^{-5}$: an error below it lengthens a step no further, to 4.5 times as long.
const MIN_ERROR: f64 = 0.00032;

impl<const STAGES: usize> Pair<STAGES> {
    /// A step from `x`, whose slope is in `slopes[0]`, to `next`; gives the error's size.
    #[inline(always)]
    fn step<S: Simd>(
        &self,
        s: S,
        problem: &Problem<'_>,
        system: &mut impl OdeSystem,
        (t, h): (f64, f64),
        x: &[f64],
        (slopes, next, inner): (&mut [Row; STAGES], &mut [f64], &mut [f64]),
    ) -> Result<f64, OdeFailure> {
        // One by one, so that each has its own code with its weights in it.
        self.stage::<S, 1>(s, problem, system, (t, h), x, (slopes, inner))?;
        self.stage::<S, 2>(s, problem, system, (t, h), x, (slopes, inner))?;
        self.stage::<S, 3>(s, problem, system, (t, h), x, (slopes, inner))?;
        self.stage::<S, 4>(s, problem, system, (t, h), x, (slopes, inner))?;
        self.stage::<S, 5>(s, problem, system, (t, h), x, (slopes, inner))?;
        if self.ends_at_solution {
            self.stage::<S, 6>(s, problem, system, (t, h), x, (slopes, next))?;
        } else {
            combine_known(s, next, Some(x), h, (&self.solution, slopes));
        }
        combine_known(s, inner, None, h, (&self.error, slopes));
        Ok(largest_ratio(s, problem.control, h, [inner, x, &slopes[0], next]))
    }

    /// The slope of one stage, at `point`.
    #[inline(always)]
    fn stage<S: Simd, const STAGE: usize>(
        &self,
        s: S,
        problem: &Problem<'_>,
        system: &mut impl OdeSystem,
        (t, h): (f64, f64),
        x: &[f64],
        (slopes, point): (&mut [Row; STAGES], &mut [f64]),
    ) -> Result<(), OdeFailure> {
        let len = problem.len();
        let (Some((known, [next, ..])), Some(weights), Some(node)) = (
            slopes.split_first_chunk_mut::<STAGE>(),
            self.stages.get(STAGE).and_then(|weights| weights.first_chunk::<STAGE>()),
            self.nodes.get(STAGE),
        ) else {
            return Ok(());
        };
        combine_known(s, point, Some(x), h, (weights, known));
        system.coupled(t + node * h, &point[..len], &mut next[..len])
    }
}

/// The next step's length after a step of length `h` with error `size`; whether the step counts.
#[inline(always)]
fn adjusted<S: Simd>(s: S, h: f64, size: f64) -> (f64, bool) {
    if size.is_nan() {
        (0.2 * h, false)
    } else if size > 1.0 {
        (h * (0.9 * power(s, size, -1.0 / 3.0)).max(0.2), false)
    } else if size < 0.5 {
        (h * 0.9 * power(s, size.max(MIN_ERROR), -0.2), true)
    } else {
        (h, true)
    }
}

/// Dormand and Prince's pair; output times within a step are interpolated.
///
/// The last step ends at the last output time, which is so no interpolated one.
pub(super) fn dense(
    problem: &Problem<'_>,
    system: &mut impl OdeSystem,
    work: &mut OdeWorkspace,
    out: &mut [f64],
) -> Result<(), OdeFailure> {
    Level::for_length(problem.len()).run(Dense { problem, system, work, out })
}

struct Dense<'a, System> {
    problem: &'a Problem<'a>,
    system: &'a mut System,
    work: &'a mut OdeWorkspace,
    out: &'a mut [f64],
}

impl<System: OdeSystem> Kernel for Dense<'_, System> {
    type Output = Result<(), OdeFailure>;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let Self { problem, system, work, out } = self;
        let (len, size) = (problem.len(), problem.start.len());
        let rows: &mut [Row; 10] = work.rows(len.next_multiple_of(LANES));
        let [x, next, inner, slopes @ ..] = rows;
        problem.begin(x);
        let (mut t, mut h) = (problem.t0, FIRST_STEP);
        let mut clock = Clock::new(problem.control);
        system.coupled(t, &x[..len], &mut slopes[0][..len])?;
        let mut rows = out.chunks_exact_mut(size).zip(problem.times).peekable();
        while let Some((row, _)) = rows.next_if(|(_, time)| **time <= t) {
            problem.finish(x, row);
        }
        let end = problem.times.last().copied().unwrap_or(t);
        while rows.peek().is_some() {
            if t + h - end > f64::EPSILON {
                h = end - t;
            }
            clock.tick(t, h)?;
            let error =
                DORMAND_PRINCE.step(s, problem, system, (t, h), x, (slopes, next, inner))?;
            let (proposed, counts) = adjusted(s, h, error);
            if counts {
                clock.count();
                let ahead = t + h;
                while let Some((row, time)) =
                    rows.next_if(|(_, time)| *time - ahead <= f64::EPSILON)
                {
                    let length = ahead - t;
                    let weights = between((*time - t) / length);
                    combine(s, inner, Some(x), length, (&weights, slopes));
                    problem.finish(inner, row);
                    clock.restart();
                }
                t = ahead;
                std::mem::swap(x, next);
                slopes.swap(0, 6);
            }
            h = proposed;
        }
        Ok(())
    }
}

/// Weights of the slopes for the solution at a `fraction` of a step, of order 4.
///
/// Beyond the polynomial through values and slopes at both ends, each weight has a multiple of
/// $\theta^2(1-\theta)^2$ that is linear in $\theta$ (Hairer, Nørsett and Wanner 1993, section
/// II.6).
#[inline(always)]
fn between(fraction: f64) -> [f64; 7] {
    /// The linear functions' values at zero and their slopes.
    const BEYOND: [(f64, f64); 7] = [
        (-12_793_612_615.0 / 11_282_082_432.0, 157_015_080.0 / 11_282_082_432.0),
        (0.0, 0.0),
        (88_272_555_100.0 / 32_700_410_799.0, -1_570_150_800.0 / 32_700_410_799.0),
        (-11_083_301_675.0 / 1_880_347_072.0, 785_075_400.0 / 1_880_347_072.0),
        (759_212_249_535.0 / 199_316_789_632.0, -114_463_993_320.0 / 199_316_789_632.0),
        (-1_648_467_425.0 / 822_651_844.0, 389_220_480.0 / 822_651_844.0),
        (74_144_470.0 / 29_380_423.0, -8_293_050.0 / 29_380_423.0),
    ];
    let rest = 1.0 - fraction;
    let (rise, both) =
        (fraction * fraction * (3.0 - 2.0 * fraction), fraction * fraction * rest * rest);
    let mut weights = [0.0; 7];
    for (k, (constant, linear)) in BEYOND.into_iter().enumerate() {
        weights[k] = rise * DORMAND_PRINCE.solution[k] + both * (constant + linear * fraction);
    }
    weights[0] += fraction * rest * rest;
    weights[6] -= fraction * fraction * rest;
    weights
}

/// Cash and Karp's pair; steps end at output times.
pub(super) fn stepwise(
    problem: &Problem<'_>,
    system: &mut impl OdeSystem,
    work: &mut OdeWorkspace,
    out: &mut [f64],
) -> Result<(), OdeFailure> {
    Level::for_length(problem.len()).run(Stepwise { problem, system, work, out })
}

struct Stepwise<'a, System> {
    problem: &'a Problem<'a>,
    system: &'a mut System,
    work: &'a mut OdeWorkspace,
    out: &'a mut [f64],
}

impl<System: OdeSystem> Kernel for Stepwise<'_, System> {
    type Output = Result<(), OdeFailure>;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let Self { problem, system, work, out } = self;
        let (len, size) = (problem.len(), problem.start.len());
        let rows: &mut [Row; 9] = work.rows(len.next_multiple_of(LANES));
        let [x, next, inner, slopes @ ..] = rows;
        problem.begin(x);
        let (mut t, mut h) = (problem.t0, FIRST_STEP);
        let mut clock = Clock::new(problem.control);
        for (row, &time) in out.chunks_exact_mut(size).zip(problem.times) {
            clock.restart();
            while time - t > f64::EPSILON {
                let left = time - t;
                let taken = h.min(left);
                clock.tick(t, taken)?;
                system.coupled(t, &x[..len], &mut slopes[0][..len])?;
                let size =
                    CASH_KARP.step(s, problem, system, (t, taken), x, (slopes, next, inner))?;
                let (proposed, counts) = adjusted(s, taken, size);
                if counts {
                    clock.count();
                    t = if taken < left { t + taken } else { time };
                    std::mem::swap(x, next);
                }
                // A step that was cut short says nothing against the length before it.
                h = if counts && taken < h { h.max(proposed) } else { proposed };
            }
            t = t.max(time);
            problem.finish(x, row);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementary::pow;

    #[test]
    fn step_lengths_follow_from_errors() {
        assert!((MIN_ERROR / pow(5.0, -5.0) - 1.0).abs() < 1e-15);
        // An error that overflowed shortens the step as much as any.
        assert_eq!(Level::detect().run(Longest(f64::MAX)), (0.2, false));
        assert_eq!(Level::detect().run(Longest(0.5)), (1.0, true));
        assert_eq!(Level::detect().run(Longest(f64::NAN)), (0.2, false));
    }

    struct Longest(f64);

    impl Kernel for Longest {
        type Output = (f64, bool);

        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> (f64, bool) {
            adjusted(s, 1.0, self.0)
        }
    }
}
