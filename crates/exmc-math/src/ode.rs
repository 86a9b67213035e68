//! Initial value problems: a right-hand side, a start and times -> the solution at those times,
//! with forward sensitivities.
//!
//! The state is a *coupled* vector: $n$ states $y$, then an $n \times s$ matrix $S$ (row-major) of
//! their derivatives with respect to $s$ numbers, which obeys $\dot S = (\partial f/\partial
//! y)\,S + P$. Step sizes control the error of both, as Stan does. A solution that cannot be had
//! (too many steps, a state that is not finite, steps that get lost in rounding) is an ordinary
//! outcome, [`OdeFailure`].
//!
//! Differential-algebraic equations (`dae.rs`) are stepped like stiff initial value problems.
//!
//! **Reference**: Hairer, Nørsett and Wanner 1993 (non-stiff), Hairer and Wanner 1996 (stiff).

mod adams;
mod bdf;
mod dae;
mod factors;
mod lanes;
mod root;
mod runge_kutta;

pub use dae::{DaeSystem, solve_dae};
pub use root::{RootControl, find_root};

use crate::interruption::is_interrupted;

/// How an initial value problem is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OdeMethod {
    /// Dormand and Prince's pair of orders 5 and 4 with its dense output.
    Rk45,
    /// Cash and Karp's pair of orders 5 and 4, which steps to each output time.
    Ckrk,
    /// Backward differentiation formulas of orders 1 to 5, for stiff problems.
    Bdf,
    /// Adams-Bashforth-Moulton predictor and corrector of orders 1 to 12.
    Adams,
}

impl OdeMethod {
    /// Every method.
    pub const ALL: [Self; 4] = [Self::Rk45, Self::Ckrk, Self::Bdf, Self::Adams];

    /// The name in text and messages, as Stan's functions end.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rk45 => "rk45",
            Self::Ckrk => "ckrk",
            Self::Bdf => "bdf",
            Self::Adams => "adams",
        }
    }

    /// The method of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// How exact a solution is, and how long to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OdeControl {
    /// Local error allowed per size of a component.
    pub relative: f64,
    /// Local error allowed besides.
    pub absolute: f64,
    /// Most steps taken from one output time to the next; tries that erred too much do not count.
    pub max_steps: u64,
}

/// Why there is no solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OdeFailure {
    /// More steps than [`OdeControl::max_steps`] between two output times.
    TooManySteps,
    /// The start, its slope, a time or a tolerance is not a finite number (or a tolerance not
    /// positive).
    NotFinite,
    /// Times do not ascend from the initial time on.
    TimesNotSorted,
    /// Steps became so short that time stands still: a singularity, or a solution that is not
    /// finite.
    StepTooSmall,
    /// The right-hand side gave up, or somebody asked this thread to end its work
    /// ([`interruption`](crate::interruption)).
    Stopped,
}

/// A right-hand side with the derivatives that its sensitivities need.
pub trait OdeSystem {
    /// Number of states $n$.
    fn states(&self) -> usize;

    /// Number of numbers $s$ that sensitivities are wanted of.
    fn columns(&self) -> usize {
        0
    }

    /// $\dot y = f(t, y)$.
    ///
    /// # Errors
    /// Any error ends the solution with [`OdeFailure::Stopped`].
    fn slope(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), OdeFailure>;

    /// $f$, its Jacobian `[n, n]` and $P = \partial f/\partial \theta$ `[n, s]` at a point.
    ///
    /// The default is for systems without sensitivities: forward differences.
    ///
    /// # Errors
    /// As [`slope`](Self::slope).
    fn jacobian(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &mut [f64],
        jacobian: &mut [f64],
        _forcing: &mut [f64],
    ) -> Result<(), OdeFailure> {
        self.slope(t, y, dy)?;
        let n = y.len();
        let (mut moved, mut moved_slope) = (y.to_vec(), vec![0.0; n]);
        for j in 0..n {
            // Half the digits: the differences' error is then the smallest.
            let step = f64::EPSILON.sqrt() * y[j].abs().max(1e-5);
            moved[j] = y[j] + step;
            let width = moved[j] - y[j];
            self.slope(t, &moved, &mut moved_slope)?;
            moved[j] = y[j];
            for i in 0..n {
                jacobian[i * n + j] = (moved_slope[i] - dy[i]) / width;
            }
        }
        Ok(())
    }

    /// How coupled vectors are laid out for explicit methods: 0 as elsewhere, else in rows of that
    /// many numbers, each a state with its sensitivities and zeros behind them. Rows of whole
    /// vector registers are written and read by the same ones.
    fn row_width(&self) -> usize {
        0
    }

    /// The slope of the coupled vector, both as [`row_width`](Self::row_width) says.
    ///
    /// # Errors
    /// As [`slope`](Self::slope).
    fn coupled(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), OdeFailure>;
}

/// Memory of a solution, made by the first one of a size and used again by the next.
#[derive(Clone, Debug, Default)]
pub struct OdeWorkspace {
    rows: Vec<Vec<f64>>,
    matrices: [Vec<f64>; 4],
    residuals: [Vec<f64>; 9],
}

impl OdeWorkspace {
    /// `N` rows of `len` numbers, zeros.
    fn rows<const N: usize>(&mut self, len: usize) -> &mut [Vec<f64>; N] {
        if self.rows.len() < N {
            self.rows.resize_with(N, Vec::new);
        }
        for row in &mut self.rows[..N] {
            row.clear();
            row.resize(len, 0.0);
        }
        self.rows.first_chunk_mut().expect("as many rows were just made")
    }
}

/// The coupled vector at each of `times`, row after row in `out`.
///
/// **Shapes**: `start` $n(1+s)$, `out` $Tn(1+s)$. **Domain**: times ascend (equal ones are fine)
/// from `t0` on.
///
/// # Errors
/// When there is no solution; rows of `out` from the first unreached time on then have any value.
pub fn solve_ode(
    method: OdeMethod,
    control: &OdeControl,
    system: &mut impl OdeSystem,
    work: &mut OdeWorkspace,
    (t0, start): (f64, &[f64]),
    times: &[f64],
    out: &mut [f64],
) -> Result<(), OdeFailure> {
    check(control, t0, times, start.iter())?;
    if start.is_empty() {
        return Ok(());
    }
    let width = if method == OdeMethod::Bdf { 0 } else { system.row_width() };
    let problem = Problem { control, t0, start, times, states: system.states(), width };
    match method {
        OdeMethod::Rk45 => runge_kutta::dense(&problem, system, work, out),
        OdeMethod::Ckrk => runge_kutta::stepwise(&problem, system, work, out),
        OdeMethod::Bdf => bdf::solve(&problem, system, work, out),
        OdeMethod::Adams => adams::solve(&problem, system, work, out),
    }
}

/// Whether a problem can be solved at all.
fn check<'n>(
    control: &OdeControl,
    t0: f64,
    times: &[f64],
    mut start: impl Iterator<Item = &'n f64>,
) -> Result<(), OdeFailure> {
    let positive = |x: f64| x.is_finite() && x > 0.0;
    let known = t0.is_finite() && times.iter().all(|t| t.is_finite());
    let known = known && start.all(|x| x.is_finite());
    if !known || !positive(control.relative) || !positive(control.absolute) {
        return Err(OdeFailure::NotFinite);
    }
    if times.first().is_some_and(|first| *first < t0) || !times.is_sorted() {
        return Err(OdeFailure::TimesNotSorted);
    }
    Ok(())
}

/// What is asked for.
struct Problem<'a> {
    control: &'a OdeControl,
    t0: f64,
    start: &'a [f64],
    times: &'a [f64],
    states: usize,
    /// Of a row, if vectors are laid out in rows.
    width: usize,
}

impl Problem<'_> {
    /// Length of a coupled vector as it is laid out.
    fn len(&self) -> usize {
        if self.width == 0 { self.start.len() } else { self.states * self.width }
    }

    /// Writes the initial vector as it is laid out, to zeros.
    fn begin(&self, x: &mut [f64]) {
        if self.width == 0 {
            return x[..self.start.len()].copy_from_slice(self.start);
        }
        let (states, sensitivities) = self.start.split_at(self.states);
        let columns = sensitivities.len() / self.states;
        for (k, (row, state)) in x.chunks_exact_mut(self.width).zip(states).enumerate() {
            row[0] = *state;
            row[1..=columns].copy_from_slice(&sensitivities[k * columns..][..columns]);
        }
    }

    /// Writes a vector that is laid out so as states, then sensitivities.
    fn finish(&self, x: &[f64], out: &mut [f64]) {
        if self.width == 0 {
            return out.copy_from_slice(&x[..out.len()]);
        }
        let (states, sensitivities) = out.split_at_mut(self.states);
        let columns = sensitivities.len() / self.states;
        for (k, (row, state)) in x.chunks_exact(self.width).zip(states).enumerate() {
            *state = row[0];
            sensitivities[k * columns..][..columns].copy_from_slice(&row[1..=columns]);
        }
    }

    /// Size of an error vector in units of what is allowed at `x`: the largest component's; NaN if
    /// one is.
    fn norm(&self, x: &[f64], error: impl Fn(usize) -> f64) -> f64 {
        let OdeControl { relative, absolute, .. } = *self.control;
        let mut largest = 0.0f64;
        for (k, x) in x.iter().enumerate() {
            let size = error(k).abs() / (absolute + relative * x.abs());
            if size.is_nan() {
                return size;
            }
            largest = largest.max(size);
        }
        largest
    }

    /// A first step for a method that starts with order one: a hundredth of the time in which the
    /// solution moves by its size, or of the whole span.
    fn first_step(&self, start: &[f64], slope: &[f64]) -> f64 {
        let span = self.times.last().map_or(0.0, |last| last - self.t0);
        let (size, speed) = (self.norm(start, |k| start[k]), self.norm(start, |k| slope[k]));
        // Order one errs by half the second derivative; the tolerance's root keeps the first error
        // near it.
        let wanted = if speed > 1e-5 && size > 1e-5 { 0.01 * size / speed } else { 1e-6 };
        let wanted = wanted.min(1.0 / speed.max(1e-300));
        wanted.min(span).max(f64::EPSILON * self.t0.abs().max(span))
    }
}

/// Steps that are tried between two looks at whether to go on: looking takes as long as a part of a
/// small system's slope.
const TRIES_BETWEEN_LOOKS: u64 = 64;

/// Counts steps, notices when time stands still, and looks at the word to stop.
struct Clock {
    steps: u64,
    max_steps: u64,
    tries: u64,
}

impl Clock {
    fn new(control: &OdeControl) -> Self {
        Self { steps: 0, max_steps: control.max_steps, tries: 0 }
    }

    /// Another step from `t` by `h` is about to be tried.
    fn tick(&mut self, t: f64, h: f64) -> Result<(), OdeFailure> {
        if self.steps >= self.max_steps {
            return Err(OdeFailure::TooManySteps);
        }
        self.tries += 1;
        if self.tries.is_multiple_of(TRIES_BETWEEN_LOOKS) && is_interrupted() {
            return Err(OdeFailure::Stopped);
        }
        // `t + h == t` for a step below half the spacing of numbers; NaN counts as none too.
        if t + h > t { Ok(()) } else { Err(OdeFailure::StepTooSmall) }
    }

    /// The step was taken. One that erred too much and was tried again with a shorter length is no
    /// step.
    fn count(&mut self) {
        self.steps += 1;
    }

    /// An output time was reached.
    fn restart(&mut self) {
        self.steps = 0;
    }
}
