//! Decompositions and transforms of complex matrices: which there are -> names, sizes, what they
//! compute.
//!
//! A complex array has one more axis, the innermost, of real and imaginary part. Results are flat:
//! their parts are read by slices and reshapes. What a kernel needs as memory lies behind what is
//! read.

use exmc_math::complex::{self, EigenLayout, SchurLayout, SingularLayout};

use crate::tensor::Shape;

/// What an [`Op::Decompose`](crate::Op::Decompose) computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Decomposition {
    /// The Schur form of `[n, n, 2]`: [`SchurLayout`].
    Schur,
    /// Eigenvalues and eigenvectors of `[n, n, 2]`: [`EigenLayout`].
    Eigen,
    /// The same of a Hermitian matrix, with orthonormal vectors: [`EigenLayout`].
    HermitianEigen,
    /// Singular values and vectors of `[m, n, 2]`: [`SingularLayout`].
    Singular,
    /// The Moore-Penrose inverse `[n, m]` of a real `[m, n]`. Its derivative is that at a constant
    /// rank.
    PseudoInverse,
    /// The discrete Fourier transform of `[m, n, 2]` along the first axis.
    Fourier,
    /// The inverse of that transform.
    InverseFourier,
}

impl Decomposition {
    /// Every one.
    pub const ALL: &'static [Self] = &[
        Self::Schur,
        Self::Eigen,
        Self::HermitianEigen,
        Self::Singular,
        Self::PseudoInverse,
        Self::Fourier,
        Self::InverseFourier,
    ];

    /// The name in text and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schur => "schur",
            Self::Eigen => "eigen",
            Self::HermitianEigen => "hermitian_eigen",
            Self::Singular => "singular",
            Self::PseudoInverse => "pseudo_inverse",
            Self::Fourier => "fourier",
            Self::InverseFourier => "inverse_fourier",
        }
    }

    /// The name of the operation on adjoints; only the first four have one, the others' derivatives
    /// are other operations.
    pub const fn adjoint_name(self) -> &'static str {
        match self {
            Self::Schur => "schur_adjoint",
            Self::Eigen => "eigen_adjoint",
            Self::HermitianEigen => "hermitian_eigen_adjoint",
            Self::Singular => "singular_adjoint",
            Self::PseudoInverse => "pseudo_inverse_adjoint",
            Self::Fourier => "fourier_adjoint",
            Self::InverseFourier => "inverse_fourier_adjoint",
        }
    }

    /// Whether there is an operation on adjoints.
    pub const fn has_adjoint(self) -> bool {
        matches!(self, Self::Schur | Self::Eigen | Self::HermitianEigen | Self::Singular)
    }

    /// Length of the result of an argument of that shape, and of the result of the operation on
    /// adjoints; nothing where the shape does not fit.
    pub fn lengths(self, shape: &Shape) -> Option<[usize; 2]> {
        Some(match (self, shape.extents()) {
            (Self::Schur, &[n, columns, 2]) if n == columns => {
                [SchurLayout { n }.len(), EigenLayout { n }.adjoint_len()]
            }
            (Self::Eigen | Self::HermitianEigen, &[n, columns, 2]) if n == columns => {
                [EigenLayout { n }.len(), EigenLayout { n }.adjoint_len()]
            }
            (Self::Singular, &[rows, columns, 2]) => {
                let layout = SingularLayout { rows, columns };
                [layout.len(), layout.adjoint_len()]
            }
            (Self::PseudoInverse, &[rows, columns]) => {
                let scratch = complex::pseudo_inverse_scratch(SingularLayout { rows, columns });
                [rows * columns + scratch, 0]
            }
            (Self::Fourier | Self::InverseFourier, &[n, columns, 2]) => {
                [2 * n * columns + complex::fourier_scratch(n), 0]
            }
            _ => return None,
        })
    }

    /// Floating-point operations, about.
    pub(crate) fn cost(self, shape: &Shape) -> f64 {
        let extents = shape.extents();
        let (n, m) = (extents[0] as f64, extents[1] as f64);
        match self {
            Self::Schur | Self::Eigen | Self::HermitianEigen => 60.0 * n * n * n,
            Self::Singular | Self::PseudoInverse => 60.0 * n * m * n.min(m),
            Self::Fourier | Self::InverseFourier => 40.0 * n * (m + 1.0) * (n + 1.0).log2(),
        }
    }

    /// The kernel: result of an argument of that shape.
    pub(crate) fn run(self, shape: &Shape, a: &[f64], out: &mut [f64]) {
        match (self, shape.extents()) {
            (Self::Schur, _) => complex::schur(a, out),
            (Self::Eigen, _) => complex::eigen(a, out),
            (Self::HermitianEigen, _) => complex::hermitian(a, out),
            (Self::Singular, &[rows, columns, _]) => {
                complex::singular(SingularLayout { rows, columns }, a, out);
            }
            (Self::PseudoInverse, &[rows, columns]) => {
                let (out, scratch) = out.split_at_mut(rows * columns);
                complex::pseudo_inverse(SingularLayout { rows, columns }, a, out, scratch);
            }
            (Self::Fourier | Self::InverseFourier, &[n, columns, _]) => {
                let (out, scratch) = out.split_at_mut(2 * n * columns);
                out.copy_from_slice(a);
                let inverse = self == Self::InverseFourier;
                for k in 0..columns {
                    complex::fourier(out, (k, columns, n), inverse, scratch);
                }
            }
            _ => out.fill(f64::NAN),
        }
    }

    /// The kernel of the operation on adjoints.
    pub(crate) fn run_adjoint(
        self,
        shape: &Shape,
        found: &[f64],
        adjoint: &[f64],
        out: &mut [f64],
    ) {
        match (self, shape.extents()) {
            (Self::Schur, &[n, ..]) => complex::schur_adjoint(n, found, adjoint, out),
            (Self::Eigen, &[n, ..]) => complex::eigen_adjoint(n, found, adjoint, out),
            (Self::HermitianEigen, &[n, ..]) => {
                complex::hermitian_adjoint(n, found, adjoint, out);
            }
            (Self::Singular, &[rows, columns, _]) => {
                complex::singular_adjoint(SingularLayout { rows, columns }, found, adjoint, out);
            }
            _ => out.fill(f64::NAN),
        }
    }
}
