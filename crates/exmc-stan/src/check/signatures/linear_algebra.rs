//! Linear algebra, covariance functions, Fourier transforms -> their signatures.

use super::Rule;

/// See [`super::pattern`].
pub(super) const RULES: &[Rule] = &[
    (
        "chol2inv cholesky_decompose crossprod generalized_inverse inverse inverse_spd matrix_exp \
         multiply_lower_tri_self_transpose qr_Q qr_R qr_thin_Q qr_thin_R tcrossprod",
        "matrix -> matrix",
    ),
    ("qr qr_thin", "matrix -> tuple(matrix, matrix)"),
    ("svd_U svd_V symmetrize_from_lower_tri eigenvectors_sym", "matrix -> matrix; complex_matrix -> complex_matrix"),
    (
        "svd",
        "matrix -> tuple(matrix, vector, matrix); complex_matrix -> tuple(complex_matrix, vector, complex_matrix)",
    ),
    ("singular_values", "matrix|complex_matrix -> vector"),
    ("determinant log_determinant log_determinant_spd", "matrix -> real"),
    ("diagonal eigenvalues_sym", "matrix -> vector; complex_matrix -> complex_vector"),
    ("eigenvalues", "matrix|complex_matrix -> complex_vector"),
    (
        "eigenvectors complex_schur_decompose_t complex_schur_decompose_u",
        "matrix|complex_matrix -> complex_matrix",
    ),
    ("complex_schur_decompose", "matrix|complex_matrix -> tuple(complex_matrix, complex_matrix)"),
    ("eigendecompose", "matrix|complex_matrix -> tuple(complex_matrix, complex_vector)"),
    (
        "eigendecompose_sym",
        "matrix -> tuple(matrix, vector); complex_matrix -> tuple(complex_matrix, complex_vector)",
    ),
    ("trace", "matrix -> real; complex_matrix -> complex"),
    ("trace_dot", "matrix, matrix -> real"),
    ("trace_gen_quad_form", "matrix, matrix, matrix -> real"),
    ("trace_quad_form", "matrix, matrix|vector -> real"),
    ("quad_form quad_form_sym", "matrix, matrix -> matrix; matrix, vector -> real"),
    ("quad_form_diag", "matrix, vector|row_vector -> matrix"),
    (
        "transpose",
        "matrix -> matrix; vector -> row_vector; row_vector -> vector; complex_matrix -> complex_matrix;
         complex_vector -> complex_row_vector; complex_row_vector -> complex_vector",
    ),
    ("add_diag", "matrix, real|vector|row_vector -> matrix; complex_matrix, complex|complex_vector|complex_row_vector -> complex_matrix"),
    ("diag_matrix", "vector -> matrix; complex_vector -> complex_matrix"),
    (
        "diag_pre_multiply",
        "vector|row_vector, matrix -> matrix; complex_vector|complex_row_vector, complex_matrix -> complex_matrix",
    ),
    (
        "diag_post_multiply",
        "matrix, vector|row_vector -> matrix; complex_matrix, complex_vector|complex_row_vector -> complex_matrix",
    ),
    ("identity_matrix", "int -> matrix"),
    (
        "columns_dot_product",
        "vector, vector -> row_vector; row_vector, row_vector -> row_vector; matrix, matrix -> row_vector;
         complex_vector, complex_vector -> complex_row_vector;
         complex_row_vector, complex_row_vector -> complex_row_vector;
         complex_matrix, complex_matrix -> complex_row_vector",
    ),
    (
        "rows_dot_product",
        "vector, vector -> vector; row_vector, row_vector -> vector; matrix, matrix -> vector;
         complex_vector, complex_vector -> complex_vector;
         complex_row_vector, complex_row_vector -> complex_vector;
         complex_matrix, complex_matrix -> complex_vector",
    ),
    ("columns_dot_self", "V -> row_vector; complex_vector|complex_row_vector|complex_matrix -> complex_row_vector"),
    ("rows_dot_self", "V -> vector; complex_vector|complex_row_vector|complex_matrix -> complex_vector"),
    (
        "dot_product",
        "vector|row_vector, vector|row_vector -> real; real[], real[] -> real; complex[], complex[] -> complex;
         complex_vector|complex_row_vector, complex_vector|complex_row_vector -> complex",
    ),
    ("dot_self", "vector|row_vector -> real; complex_vector|complex_row_vector -> complex"),
    ("distance", "vector|row_vector, vector|row_vector -> real"),
    ("squared_distance", "real, real -> real; vector|row_vector, vector|row_vector -> real"),
    ("mdivide_left mdivide_left_spd mdivide_left_tri_low", "matrix, matrix -> matrix; matrix, vector -> vector"),
    (
        "mdivide_right mdivide_right_spd mdivide_right_tri_low",
        "matrix, matrix -> matrix; row_vector, matrix -> row_vector",
    ),
    (
        "mdivide_right",
        "complex_matrix, complex_matrix -> complex_matrix;
         complex_row_vector, complex_matrix -> complex_row_vector",
    ),
    ("matrix_exp_multiply", "matrix, matrix -> matrix"),
    ("scale_matrix_exp_multiply", "real, matrix, matrix -> matrix"),
    ("matrix_power", "matrix, int -> matrix"),
    ("csr_extract", "matrix -> tuple(vector, int[], int[])"),
    ("csr_extract_w", "matrix -> vector"),
    ("csr_extract_u csr_extract_v", "matrix -> int[]"),
    ("csr_matrix_times_vector", "int, int, vector, int[], int[], vector -> vector"),
    ("csr_to_dense_matrix", "int, int, vector, int[], int[] -> matrix"),
    ("fft inv_fft", "complex_vector -> complex_vector"),
    ("fft2 inv_fft2", "complex_matrix -> complex_matrix"),
    (
        "gp_exp_quad_cov gp_exponential_cov gp_matern32_cov gp_matern52_cov",
        "real[]|vector[], real, real -> matrix; real[], real[], real, real -> matrix;
         vector[], vector[], real, real -> matrix; vector[], real, real[] -> matrix;
         vector[], vector[], real, real[] -> matrix",
    ),
    (
        "gp_dot_prod_cov",
        "real[]|vector[], real -> matrix; real[], real[], real -> matrix; vector[], vector[], real -> matrix",
    ),
    (
        "gp_periodic_cov",
        "real[]|vector[], real, real, real -> matrix; real[], real[], real, real, real -> matrix;
         vector[], vector[], real, real, real -> matrix",
    ),
];
