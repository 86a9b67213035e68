//! Vectors in whole rows of eight lanes, loops over them, and eigenvectors of small matrices.

pub(super) mod aligned_vector;
pub(super) mod eigen;
pub(super) mod kernels;
