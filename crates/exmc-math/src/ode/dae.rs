//! Differential-algebraic equations of index one: a residual $F(t, y, \dot y) = 0$ with its start
//! -> the solution at output times, with forward sensitivities.
//!
//! The steps are those of the backward differentiation formulas (`bdf.rs`), which put the slope
//! that the formula gives into the residual. Sensitivities obey $F_y S + F_{\dot y} \dot S + P =
//! 0$, $P = \partial F/\partial\theta$. The equations without slopes in them hold at the start too:
//! there the sensitivities begin with the values that these equations give, which is how a solution
//! moves when its start stays consistent. How it moves with the initial slope is no question: the
//! state determines the solution.
//!
//! **Reference**: Brenan, Campbell and Petzold 1996, chapters 2 and 5; Maly and Petzold 1996.

use super::bdf::{Equations, step_through};
use super::factors::Factors;
use super::{OdeControl, OdeFailure, OdeWorkspace, Problem};

/// A residual with the derivatives that its solution and sensitivities need.
pub trait DaeSystem {
    /// Number of states $n$, and of equations.
    fn states(&self) -> usize;

    /// Number of numbers $s$ that sensitivities are wanted of.
    fn columns(&self) -> usize {
        0
    }

    /// $F(t, y, \dot y)$.
    ///
    /// # Errors
    /// Any error ends the solution with it.
    fn residual(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        residual: &mut [f64],
    ) -> Result<(), OdeFailure>;

    /// $\partial F/\partial y$ `[n, n]`, $\partial F/\partial\dot y$ `[n, n]` and $\partial
    /// F/\partial\theta$ `[n, s]` at a point, into zeros or old values.
    ///
    /// The default is for systems without sensitivities: forward differences.
    ///
    /// # Errors
    /// As [`residual`](Self::residual).
    fn derivatives(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        [by_state, by_slope, _]: [&mut [f64]; 3],
    ) -> Result<(), OdeFailure> {
        let n = y.len();
        let (mut residual, mut moved_residual) = (vec![0.0; n], vec![0.0; n]);
        self.residual(t, y, dy, &mut residual)?;
        let (mut state, mut slope) = (y.to_vec(), dy.to_vec());
        for j in 0..n {
            // Half the digits: the differences' error is then the smallest.
            let step = |x: f64| x + f64::EPSILON.sqrt() * x.abs().max(1e-5);
            state[j] = step(y[j]);
            self.residual(t, &state, dy, &mut moved_residual)?;
            let width = state[j] - y[j];
            (0..n).for_each(|i| by_state[i * n + j] = (moved_residual[i] - residual[i]) / width);
            state[j] = y[j];
            slope[j] = step(dy[j]);
            self.residual(t, y, &slope, &mut moved_residual)?;
            let width = slope[j] - dy[j];
            (0..n).for_each(|i| by_slope[i * n + j] = (moved_residual[i] - residual[i]) / width);
            slope[j] = dy[j];
        }
        Ok(())
    }
}

/// The coupled vector at each of `times`, row after row in `out`, from the state `start.0` with
/// slope `start.1` at `t0`.
///
/// `seeds` holds how the initial state moves with each number, $n \times s$; they are replaced by
/// those that are consistent.
///
/// **Shapes**: state and slope $n$, `seeds` $n \times s$, `out` $Tn(1+s)$. **Domain**: times ascend
/// (equal ones are fine) from `t0` on; the residual at the start is zero. A state that does not
/// fulfil the equations without slopes within the tolerances has no solution, and a wrong slope
/// costs short first steps.
///
/// # Errors
/// When there is no solution; rows of `out` from the first unreached time on then have any value.
pub fn solve_dae(
    control: &OdeControl,
    system: &mut impl DaeSystem,
    work: &mut OdeWorkspace,
    (t0, state, slope): (f64, &[f64], &[f64]),
    seeds: &[f64],
    times: &[f64],
    out: &mut [f64],
) -> Result<(), OdeFailure> {
    let (n, s) = (system.states(), system.columns());
    assert_eq!((state.len(), slope.len(), seeds.len()), (n, n, n * s), "one number for each state");
    super::check(control, t0, times, state.iter().chain(slope))?;
    if n == 0 {
        return Ok(());
    }
    let mut memory = std::mem::take(&mut work.residuals);
    let sizes = [n * n, n * n, n * s, n * n, n, n, n, n * (1 + s), n * (1 + s)];
    for (row, size) in memory.iter_mut().zip(sizes) {
        row.clear();
        row.resize(size, 0.0);
    }
    let [by_state, by_slope, forcing, lu, pivots, scale, dy, mut first, begin] = memory;
    let mut equations =
        Residuals { system, n, s, by_state, by_slope, forcing, lu, pivots, scale, dy, begin };
    first[..n].copy_from_slice(state);
    first[n..].copy_from_slice(seeds);
    equations.begin[..n].copy_from_slice(slope);
    let outcome = equations.start(t0, slope, &mut first).and_then(|()| {
        let problem = Problem { control, t0, start: &first, times, states: n, width: 0 };
        step_through(&problem, &mut equations, work.rows(n * (1 + s)), out)
    });
    let Residuals { by_state, by_slope, forcing, lu, pivots, scale, dy, begin, .. } = equations;
    work.residuals = [by_state, by_slope, forcing, lu, pivots, scale, dy, first, begin];
    outcome
}

/// Equations of a residual at the slope that the step's formula gives.
struct Residuals<'s, S> {
    system: &'s mut S,
    n: usize,
    s: usize,
    by_state: Vec<f64>,
    by_slope: Vec<f64>,
    forcing: Vec<f64>,
    lu: Vec<f64>,
    pivots: Vec<f64>,
    /// What rows of the factored matrix were multiplied by.
    scale: Vec<f64>,
    dy: Vec<f64>,
    /// The coupled vector's slope at the start.
    begin: Vec<f64>,
}

impl<S: DaeSystem> Residuals<'_, S> {
    /// Derivatives at the slope in `dy`.
    fn derivatives(&mut self, t: f64, y: &[f64]) -> Result<(), OdeFailure> {
        let Self { system, by_state, by_slope, forcing, dy, .. } = self;
        system.derivatives(t, y, dy, [by_state, by_slope, forcing])
    }

    /// Makes the sensitivities of the start consistent, and finds their slopes.
    fn start(&mut self, t0: f64, slope: &[f64], first: &mut [f64]) -> Result<(), OdeFailure> {
        if self.s == 0 {
            return Ok(());
        }
        self.dy.copy_from_slice(slope);
        let (state, columns) = first.split_at_mut(self.n);
        self.derivatives(t0, state)?;
        let Self { n, s, by_state, by_slope, forcing, lu, pivots, scale, begin, .. } = self;
        let (n, s, slopes) = (*n, *s, &mut begin[*n..]);
        let rank = eliminate(n, by_slope, [by_state, forcing], pivots);
        // The equations with slopes keep their part of the start; those without are to hold.
        lu[..rank * n].copy_from_slice(&by_slope[..rank * n]);
        lu[rank * n..].copy_from_slice(&by_state[rank * n..]);
        let product = |matrix: &[f64], columns: &[f64], row: usize, column: usize| -> f64 {
            (0..n).map(|j| matrix[row * n + j] * columns[j * s + column]).sum()
        };
        for (k, slope) in slopes.iter_mut().enumerate() {
            *slope = match k / s < rank {
                true => product(by_slope, columns, k / s, k % s),
                false => -forcing[k],
            };
        }
        scale_rows(n, lu, scale);
        let mut factors = Factors { n, matrix: lu, pivots };
        if !factors.eliminate() {
            // Of higher index: the start is taken as it is.
            slopes.fill(0.0);
            return Ok(());
        }
        multiply_rows(scale, slopes, s);
        factors.solve(slopes, s);
        columns.copy_from_slice(slopes);
        // How the equations without slopes move is not known here; short first steps find it out.
        for (k, slope) in slopes.iter_mut().enumerate() {
            *slope = match k / s < rank {
                true => -product(by_state, columns, k / s, k % s) - forcing[k],
                false => 0.0,
            };
        }
        multiply_rows(scale, slopes, s);
        factors.solve(slopes, s);
        Ok(())
    }
}

/// Divides the rows of the matrix to be factored by their largest elements: those of equations
/// without slopes are as small as the step is short.
fn scale_rows(n: usize, matrix: &mut [f64], scale: &mut [f64]) {
    for (row, scale) in matrix.chunks_exact_mut(n).zip(scale) {
        let largest = row.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        *scale = if largest > 0.0 && largest.is_finite() { 1.0 / largest } else { 1.0 };
        row.iter_mut().for_each(|x| *x *= *scale);
    }
}

/// Multiplies rows of `width` numbers.
fn multiply_rows(by: &[f64], rows: &mut [f64], width: usize) {
    for (row, by) in rows.chunks_exact_mut(width.max(1)).zip(by) {
        row.iter_mut().for_each(|x| *x *= by);
    }
}

impl<S: DaeSystem> Equations for Residuals<'_, S> {
    fn states(&self) -> usize {
        self.n
    }

    fn columns(&self) -> usize {
        self.s
    }

    /// Equations without slopes leave a residual of rounding, however short the step is.
    fn negligible(&self, relative: f64) -> f64 {
        (100.0 * f64::EPSILON / relative).max(1e-4)
    }

    /// An equation that adds large states to a small one has rounding that the small one's
    /// tolerance knows nothing of. The limit is that of IDA's iterations (Hindmarsh et al. 2005).
    fn rounding(&self) -> f64 {
        0.33
    }

    fn begin(
        &mut self,
        t: f64,
        start: &[f64],
        slope: &mut [f64],
        _: &mut [f64],
    ) -> Result<(), OdeFailure> {
        slope.copy_from_slice(&self.begin);
        self.dy.copy_from_slice(&self.begin[..self.n]);
        self.derivatives(t, &start[..self.n])
    }

    fn refresh(
        &mut self,
        (t, c): (f64, f64),
        y: &[f64],
        [psi, change]: [&[f64]; 2],
        _: &mut [f64],
    ) -> Result<(), OdeFailure> {
        for (k, dy) in self.dy.iter_mut().enumerate() {
            *dy = (psi[k] + change[k]) / c;
        }
        self.derivatives(t, y)
    }

    /// Factors of $F_{\dot y} + c F_y$, row by row scaled.
    fn factor(&mut self, c: f64) -> bool {
        for (k, m) in self.lu.iter_mut().enumerate() {
            *m = self.by_slope[k] + c * self.by_state[k];
        }
        scale_rows(self.n, &mut self.lu, &mut self.scale);
        Factors { n: self.n, matrix: &mut self.lu, pivots: &mut self.pivots }.eliminate()
    }

    fn correction(
        &mut self,
        (t, c): (f64, f64),
        y: &[f64],
        [psi, change]: [&[f64]; 2],
        _: &mut [f64],
        update: &mut [f64],
    ) -> Result<(), OdeFailure> {
        for (k, dy) in self.dy.iter_mut().enumerate() {
            *dy = (psi[k] + change[k]) / c;
        }
        self.system.residual(t, y, &self.dy, update)?;
        for (update, scale) in update.iter_mut().zip(&self.scale) {
            *update *= -c * scale;
        }
        Factors { n: self.n, matrix: &mut self.lu, pivots: &mut self.pivots }.solve(update, 1);
        Ok(())
    }

    /// $(F_{\dot y} + c F_y)\,\text{change} = -c (F_y S + P) - F_{\dot y}\psi$ at the predicted
    /// sensitivities $S$.
    fn sensitivities(&mut self, c: f64, columns: &[f64], psi: &[f64], change: &mut [f64]) -> bool {
        let (n, s) = (self.n, self.s);
        if !self.factor(c) {
            return false;
        }
        for (change, forcing) in change.iter_mut().zip(&self.forcing) {
            *change = -c * forcing;
        }
        for i in 0..n {
            let row = &mut change[i * s..(i + 1) * s];
            for j in 0..n {
                let (state, slope) = (c * self.by_state[i * n + j], self.by_slope[i * n + j]);
                if state != 0.0 || slope != 0.0 {
                    for (k, change) in row.iter_mut().enumerate() {
                        *change -= state * columns[j * s + k] + slope * psi[j * s + k];
                    }
                }
            }
        }
        multiply_rows(&self.scale, change, s);
        Factors { n, matrix: &mut self.lu, pivots: &mut self.pivots }.solve(change, s);
        true
    }
}

/// Combines equations until those behind the first `rank` have no slopes in them; the same is done
/// to the rows of `others`.
///
/// `used` is memory for a number of each column. Rows are divided by their largest elements, so
/// that what is left of one by rounding tells itself from a small coefficient.
fn eliminate(n: usize, mass: &mut [f64], mut others: [&mut [f64]; 2], used: &mut [f64]) -> usize {
    const ROUNDING: f64 = 1e-12;
    for (i, row) in mass.chunks_exact_mut(n).enumerate() {
        let largest = row.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        if largest > 0.0 && largest.is_finite() {
            row.iter_mut().for_each(|x| *x /= largest);
            for other in &mut others {
                let width = other.len() / n;
                other[i * width..(i + 1) * width].iter_mut().for_each(|x| *x /= largest);
            }
        }
    }
    used.fill(0.0);
    for rank in 0..n {
        let places = (rank..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let free = places.filter(|(_, j)| used[*j] == 0.0);
        let size = |(i, j): &(usize, usize)| mass[i * n + j].abs();
        let Some((row, column)) = free.max_by(|a, b| size(a).total_cmp(&size(b))) else {
            return rank;
        };
        let pivot = mass[row * n + column];
        if pivot.is_nan() || pivot.abs() <= ROUNDING {
            mass[rank * n..].fill(0.0);
            return rank;
        }
        used[column] = 1.0;
        let swap = |matrix: &mut [f64]| {
            let width = matrix.len() / n;
            (0..width).for_each(|k| matrix.swap(row * width + k, rank * width + k));
        };
        swap(mass);
        others.iter_mut().for_each(|other| swap(other));
        for i in rank + 1..n {
            let factor = mass[i * n + column] / pivot;
            if factor == 0.0 {
                continue;
            }
            let take = |matrix: &mut [f64]| {
                let width = matrix.len() / n;
                for k in 0..width {
                    matrix[i * width + k] -= factor * matrix[rank * width + k];
                }
            };
            take(mass);
            others.iter_mut().for_each(|other| take(other));
            mass[i * n + column] = 0.0;
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_without_slopes_are_told_from_those_with_small_ones() {
        // y1' + y2' twice, once tiny: the difference of the first two has no slopes.
        let mut mass = [1.0, 1.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 1e-14];
        let mut state = [1.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 1.0];
        let rank = eliminate(3, &mut mass, [&mut state, &mut []], &mut [0.0; 3]);
        assert_eq!(rank, 2);
        // -y1 + 2 y2 in some order of signs and scales.
        let [a, b, c] = [state[6], state[7], state[8]];
        assert!((b / a + 2.0).abs() < 1e-15 && c == 0.0, "{state:?}");
    }
}
