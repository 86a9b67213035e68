//! Functions that make, measure, cut, join, sort and sum containers -> their signatures.

use super::Rule;

/// See [`super::pattern`].
pub(super) const RULES: &[Rule] = &[
    ("size", "T -> int; T{1..7} -> int"),
    ("num_elements", "T{1..9} -> int; V -> int; complex_vector|complex_row_vector|complex_matrix -> int"),
    ("dims", "int|real|complex|vector|row_vector|matrix -> int[]; T{1..8} -> int[]"),
    (
        "rows cols",
        "vector|row_vector|matrix|complex_vector|complex_row_vector|complex_matrix -> int",
    ),
    ("rep_array", "T{0..2}, int -> T{d+1}; T{0..2}, int, int -> T{d+2}; T{0..2}, int, int, int -> T{d+3}"),
    (
        "rep_matrix",
        "real, int, int -> matrix; vector|row_vector, int -> matrix; complex, int, int -> complex_matrix;
         complex_vector|complex_row_vector, int -> complex_matrix",
    ),
    ("rep_vector", "real, int -> vector; complex, int -> complex_vector"),
    ("rep_row_vector", "real, int -> row_vector; complex, int -> complex_row_vector"),
    ("append_array", "T{1..7}, T{d} -> T{d}"),
    (
        "append_col",
        "matrix|vector, matrix|vector -> matrix; row_vector, row_vector|real -> row_vector;
         real, row_vector -> row_vector;
         complex_matrix|complex_vector, complex_matrix|complex_vector -> complex_matrix;
         complex_row_vector, complex_row_vector|complex -> complex_row_vector;
         complex, complex_row_vector -> complex_row_vector",
    ),
    (
        "append_row",
        "matrix, matrix|row_vector -> matrix; row_vector, matrix|row_vector -> matrix;
         vector, vector|real -> vector; real, vector -> vector;
         complex_matrix|complex_row_vector, complex_matrix|complex_row_vector -> complex_matrix;
         complex_vector, complex_vector|complex -> complex_vector; complex, complex_vector -> complex_vector",
    ),
    (
        "head tail",
        "vector, int -> vector; row_vector, int -> row_vector; complex_vector, int -> complex_vector;
         complex_row_vector, int -> complex_row_vector; T{1..3}, int -> T{d}",
    ),
    (
        "segment",
        "vector, int, int -> vector; row_vector, int, int -> row_vector;
         complex_vector, int, int -> complex_vector; complex_row_vector, int, int -> complex_row_vector;
         T{1..3}, int, int -> T{d}",
    ),
    (
        "reverse",
        "vector -> vector; row_vector -> row_vector; complex_vector -> complex_vector;
         complex_row_vector -> complex_row_vector; T{1..7} -> T{d}",
    ),
    ("row", "matrix, int -> row_vector; complex_matrix, int -> complex_row_vector"),
    ("col", "matrix, int -> vector; complex_matrix, int -> complex_vector"),
    ("sub_row", "matrix, int, int, int -> row_vector; complex_matrix, int, int, int -> complex_row_vector"),
    ("sub_col", "matrix, int, int, int -> vector; complex_matrix, int, int, int -> complex_vector"),
    ("block", "matrix, int, int, int, int -> matrix; complex_matrix, int, int, int, int -> complex_matrix"),
    ("max min", "int, int -> int; int[] -> int; real[]|vector|row_vector|matrix -> real"),
    ("mean sd variance", "real[]|vector|row_vector|matrix -> real"),
    ("norm1 norm2", "real[]|vector|row_vector -> real"),
    (
        "sum prod",
        "int[] -> int; real[]|vector|row_vector|matrix -> real;
         complex[]|complex_vector|complex_row_vector|complex_matrix -> complex",
    ),
    (
        "cumulative_sum",
        "int[] -> int[]; real[] -> real[]; complex[] -> complex[]; vector -> vector;
         row_vector -> row_vector; complex_vector -> complex_vector; complex_row_vector -> complex_row_vector",
    ),
    (
        "quantile",
        "data real[]|vector|row_vector, data real -> real; data real[]|vector|row_vector, data real[] -> real[]",
    ),
    ("softmax log_softmax", "vector -> vector; vector[] -> vector[]; row_vector -> row_vector; row_vector[] -> row_vector[]"),
    ("sort_asc sort_desc", "int[] -> int[]; real[] -> real[]; vector -> vector; row_vector -> row_vector"),
    ("sort_indices_asc sort_indices_desc", "int[]|real[]|vector|row_vector -> int[]"),
    ("rank", "int[]|real[]|vector|row_vector, int -> int"),
    ("to_array_1d", "int{1..9} -> int[]; real{1..9} -> real[]; V -> real[]; complex_vector|complex_row_vector|complex_matrix -> complex[]"),
    ("to_array_2d", "matrix -> real[,]; complex_matrix -> complex[,]"),
    (
        "to_vector",
        "int[]|real[]|vector|row_vector|matrix -> vector;
         complex[]|complex_vector|complex_row_vector|complex_matrix -> complex_vector",
    ),
    (
        "to_row_vector",
        "int[]|real[]|vector|row_vector|matrix -> row_vector;
         complex[]|complex_vector|complex_row_vector|complex_matrix -> complex_row_vector",
    ),
    (
        "to_matrix",
        "matrix|vector|row_vector|int[,]|real[,]|row_vector[] -> matrix;
         matrix|vector|row_vector|int[]|real[], int, int -> matrix;
         matrix|vector|row_vector|int[]|real[], int, int, int -> matrix;
         complex_matrix|complex_vector|complex_row_vector|complex[,]|complex_row_vector[] -> complex_matrix;
         complex_matrix|complex_vector|complex_row_vector|complex[], int, int -> complex_matrix;
         complex_matrix|complex_vector|complex_row_vector|complex[], int, int, int -> complex_matrix",
    ),
    ("linspaced_array", "data int, data real, data real -> real[]"),
    ("linspaced_int_array", "data int, data int, data int -> int[]"),
    ("linspaced_vector", "data int, data real, data real -> vector"),
    ("linspaced_row_vector", "data int, data real, data real -> row_vector"),
    ("one_hot_array", "int, int -> real[]"),
    ("one_hot_int_array", "int, int -> int[]"),
    ("one_hot_vector", "int, int -> vector"),
    ("one_hot_row_vector", "int, int -> row_vector"),
    ("ones_array zeros_array", "int -> real[]"),
    ("ones_int_array zeros_int_array", "int -> int[]"),
    ("ones_vector zeros_vector uniform_simplex", "int -> vector"),
    ("ones_row_vector zeros_row_vector", "int -> row_vector"),
    ("generate_laplace_options", "int|vector -> tuple(vector, real, int, int, int, int)"),
];
