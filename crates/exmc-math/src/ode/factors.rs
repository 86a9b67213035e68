//! The matrix of an implicit step, mostly $I - cJ$ -> its LU factors and solutions, in memory that
//! the caller owns.

/// A matrix as its factors.
pub(super) struct Factors<'a> {
    pub(super) n: usize,
    /// The unit lower and the upper factor in one matrix.
    pub(super) matrix: &'a mut [f64],
    /// The row that was swapped in at each step.
    pub(super) pivots: &'a mut [f64],
}

impl Factors<'_> {
    /// Factors of $I - cJ$; whether it is regular.
    pub(super) fn compute(&mut self, jacobian: &[f64], c: f64) -> bool {
        let n = self.n;
        for (k, (m, j)) in self.matrix.iter_mut().zip(jacobian).enumerate() {
            *m = f64::from(u8::from(k / n == k % n)) - c * j;
        }
        self.eliminate()
    }

    /// Factors what the matrix holds, with partial pivoting; whether it is regular.
    pub(super) fn eliminate(&mut self) -> bool {
        let n = self.n;
        for k in 0..n {
            let size = |row: usize, m: &[f64]| m[row * n + k].abs();
            let mut pivot = k;
            for row in k + 1..n {
                if size(row, self.matrix) > size(pivot, self.matrix) {
                    pivot = row;
                }
            }
            self.pivots[k] = pivot as f64;
            if pivot != k {
                for column in 0..n {
                    self.matrix.swap(k * n + column, pivot * n + column);
                }
            }
            let diagonal = self.matrix[k * n + k];
            if diagonal == 0.0 || !diagonal.is_finite() {
                return false;
            }
            for row in k + 1..n {
                let factor = self.matrix[row * n + k] / diagonal;
                self.matrix[row * n + k] = factor;
                for column in k + 1..n {
                    self.matrix[row * n + column] -= factor * self.matrix[k * n + column];
                }
            }
        }
        true
    }

    /// Solves for the columns of `b`, `[n, width]`.
    pub(super) fn solve(&self, b: &mut [f64], width: usize) {
        let n = self.n;
        for k in 0..n {
            let pivot = self.pivots[k] as usize;
            if pivot != k {
                for column in 0..width {
                    b.swap(k * width + column, pivot * width + column);
                }
            }
        }
        let mut eliminate = |target: usize, source: usize| {
            let factor = self.matrix[target * n + source];
            for column in 0..width {
                b[target * width + column] -= factor * b[source * width + column];
            }
        };
        for row in 0..n {
            (0..row).for_each(|source| eliminate(row, source));
        }
        for row in (0..n).rev() {
            for source in row + 1..n {
                let factor = self.matrix[row * n + source];
                for column in 0..width {
                    b[row * width + column] -= factor * b[source * width + column];
                }
            }
            for column in 0..width {
                b[row * width + column] /= self.matrix[row * n + row];
            }
        }
    }
}
