//! A symmetric matrix -> its eigenvalues and eigenvectors, in memory of their own.

use exmc_math::eigen::symmetric_eigen;

/// Eigenvalues, ascending, and, row by row, their orthonormal eigenvectors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Eigen {
    pub(crate) values: Vec<f64>,
    /// Row `k` is the eigenvector of `values[k]`; row-major `n * n`.
    pub(crate) vectors: Vec<f64>,
}

/// Decomposes a symmetric row-major matrix; `None` when an entry is not finite.
pub(crate) fn eigen_symmetric(n: usize, matrix: &[f64]) -> Option<Eigen> {
    let (mut vectors, mut values) = (matrix.to_vec(), vec![0.0; n]);
    symmetric_eigen(&mut vectors, &mut values, &mut vec![0.0; n]).ok()?;
    Some(Eigen { values, vectors })
}
