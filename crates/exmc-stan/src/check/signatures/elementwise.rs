//! Operators, changes of variables and what else applies element by element but has no row in
//! `scalar_functions` -> their signatures.

use super::Rule;

/// See [`super::pattern`].
pub(super) const RULES: &[Rule] = &[
    (
        "acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh",
        "complex -> complex",
    ),
    ("abs minus", "int{0..7} -> int{d}; R{0..7} -> R{d}"),
    ("abs get_real get_imag", "C{0..7} -> real(C){d}"),
    ("minus conj", "C{0..7} -> C{d}"),
    ("plus", "int -> int; R -> R; complex -> complex"),
    ("step", "real -> real"),
    ("int_step", "real|int -> int"),
    ("is_inf is_nan", "real -> int"),
    ("to_int", "data int{0..7} -> int{d}; data real{0..7} -> int{d}"),
    ("log10 log2 e machine_precision negative_infinity not_a_number pi positive_infinity sqrt2", "-> real"),
    (
        "pow",
        "C, C -> C; complex{1..8}, complex{d} -> complex{d}; C{1..7}, C{d} -> C{d};
         C{0..7}, complex -> C{d}; complex, C{0..7} -> C{d};
         complex{1..8}, complex -> complex{d}; complex, complex{1..8} -> complex{d}",
    ),
    ("log_sum_exp", "real[]|vector|row_vector|matrix -> real"),
    (
        "to_complex",
        "-> complex; real -> complex; real, real -> complex;
         real{1..8}, real{d}|real -> complex{d}; V{0..7}, V{d}|real -> complex(V){d};
         real, real{1..8} -> complex{d}; real, V{0..7} -> complex(V){d}",
    ),
    (
        "choose falling_factorial rising_factorial",
        "int{0..7}, int -> int{d}; int, int{1..7} -> int{d}; int{1..7}, int{d} -> int{d}",
    ),
    ("hypergeometric_1F0", "real, real -> real"),
    ("hypergeometric_2F1", "real, real, real, real -> real"),
    (
        "hypergeometric_3F2 hypergeometric_pFq",
        "vector|row_vector|real[], vector|row_vector|real[], real -> real",
    ),
    ("inc_beta inv_inc_beta", "real, real, real -> real"),
    (
        "fma",
        "real, real, real -> real; V, V|real, V|real -> V; real, V, V|real -> V; real, real, V -> V",
    ),
    ("student_t_qf", "reals, reals, reals, reals -> real ~ vector"),
    (
        "log_mix",
        "real, real, real -> real;
         real[]|vector|row_vector, real[]|vector|row_vector|vector[]|row_vector[] -> real",
    ),
    ("arg norm", "complex -> real"),
    ("proj", "complex -> complex"),
    ("polar", "real, real -> complex"),
    // Operators, under the names that they have as functions.
    (
        "add subtract elt_multiply elt_divide",
        "int, int -> int; R, R -> R; C, C -> C; V, real -> V; real, V -> V;
         complex_vector, complex -> complex_vector; complex_row_vector, complex -> complex_row_vector;
         complex_matrix, complex -> complex_matrix; complex, C -> C",
    ),
    (
        "divide",
        "int, int -> int; real, real -> real; V, real -> V; real, V -> V; C, complex -> C; complex, C -> C",
    ),
    (
        "multiply",
        "int, int -> int; R, real -> R; real, V -> V; C, complex -> C; complex, C -> C;
         matrix, matrix -> matrix; matrix, vector -> vector; row_vector, matrix -> row_vector;
         row_vector, vector -> real; vector, row_vector -> matrix;
         complex_matrix, complex_matrix -> complex_matrix; complex_matrix, complex_vector -> complex_vector;
         complex_row_vector, complex_matrix -> complex_row_vector;
         complex_row_vector, complex_vector -> complex; complex_vector, complex_row_vector -> complex_matrix",
    ),
    ("modulus logical_and logical_or", "int, int -> int"),
    ("logical_negation", "int -> int"),
    ("logical_gt logical_gte logical_lt logical_lte", "int|real, int|real -> int"),
    ("logical_eq logical_neq", "int|real, int|real -> int; complex, complex|real -> int"),
    // Changes of variables as functions.
    (
        "lower_bound_constrain lower_bound_jacobian lower_bound_unconstrain upper_bound_constrain \
         upper_bound_jacobian upper_bound_unconstrain",
        "real, real -> real; real{1..8}, real{d}|real -> real{d}; V{0..7}, V{d}|real -> V{d}",
    ),
    (
        "lower_upper_bound_constrain lower_upper_bound_jacobian lower_upper_bound_unconstrain \
         offset_multiplier_constrain offset_multiplier_jacobian offset_multiplier_unconstrain",
        "real, real, real -> real; real{1..8}, real{d}|real, real{d}|real -> real{d};
         V{0..7}, V{d}|real, V{d}|real -> V{d}",
    ),
    (
        "ordered_constrain ordered_jacobian ordered_unconstrain positive_ordered_constrain \
         positive_ordered_jacobian positive_ordered_unconstrain simplex_constrain simplex_jacobian \
         simplex_unconstrain unit_vector_constrain unit_vector_jacobian unit_vector_unconstrain \
         sum_to_zero_constrain sum_to_zero_jacobian sum_to_zero_unconstrain",
        "vector{0..7} -> vector{d}",
    ),
    (
        "stochastic_column_constrain stochastic_column_jacobian stochastic_column_unconstrain \
         stochastic_row_constrain stochastic_row_jacobian stochastic_row_unconstrain \
         sum_to_zero_constrain sum_to_zero_jacobian sum_to_zero_unconstrain",
        "matrix{0..7} -> matrix{d}",
    ),
    (
        "cholesky_factor_corr_constrain cholesky_factor_corr_jacobian corr_matrix_constrain \
         corr_matrix_jacobian cov_matrix_constrain cov_matrix_jacobian",
        "vector{0..7}, int -> matrix{d}",
    ),
    ("cholesky_factor_cov_constrain cholesky_factor_cov_jacobian", "vector{0..7}, int, int -> matrix{d}"),
    (
        "cholesky_factor_corr_unconstrain cholesky_factor_cov_unconstrain corr_matrix_unconstrain \
         cov_matrix_unconstrain",
        "matrix{0..7} -> vector{d}",
    ),
];
