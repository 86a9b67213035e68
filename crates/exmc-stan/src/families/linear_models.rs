//! Generalised linear models: rows of families that are another one's, given predictors.

use super::Slot::{Ints, Matrix, Real, Vector};
use super::{DENSITY, Family, Source, row};

const COUNTS: &str =
    "ints, matrix, vector, vector -> real; int[], row_vector, real|vector, vector -> real";

/// See the module.
pub(super) const ROWS: &[Family] = &[
    row("bernoulli_logit_glm", &[Ints, Matrix, Real, Vector], DENSITY)
        .forms(&[("lpmf", COUNTS), ("rng", "matrix|row_vector, vector, vector -> int[]")])
        .of("bernoulli_logit", &[0, 1, 2]),
    row("binomial_logit_glm", &[Ints, Ints, Matrix, Real, Vector], DENSITY)
        .forms(&[(
            "lpmf",
            "int[], int[], matrix, vector, vector -> real; int, int, matrix, vector, vector -> real;
         int[], int[], row_vector, real|vector, vector -> real",
        )])
        .of("binomial_logit", &[0, 1, 2, 3]),
    row("categorical_logit_glm", &[Ints, Matrix, Vector, Matrix], DENSITY)
        .forms(&[("lpmf", "ints, row_vector, vector, matrix -> real")])
        .of("categorical_logit", &[0, 1])
        .picks(),
    row("neg_binomial_2_log_glm", &[Ints, Matrix, Real, Vector, Real], DENSITY)
        .forms(&[(
            "lpmf",
            "ints, matrix, vector, vector, real -> real;
             int[], row_vector, real|vector, vector, real -> real",
        )])
        .of("neg_binomial_2_log", &[0, 1, 2, 4]),
    row("normal_id_glm", &[Vector, Matrix, Real, Vector, Real], DENSITY)
        .forms(&[(
            "lpdf",
            "vector|real, matrix, real|vector, vector, real|vector -> real;
         vector, row_vector, real|vector, vector, real|vector -> real",
        )])
        .of("normal", &[0, 1, 2, 4]),
    row("ordered_logistic_glm", &[Ints, Matrix, Vector, Vector], DENSITY)
        .forms(&[("lpmf", "ints, row_vector, vector, vector -> real")])
        .of("ordered_logistic", &[0, 1])
        .picks(),
    row("poisson_log_glm", &[Ints, Matrix, Real, Vector], DENSITY)
        .forms(&[("lpmf", COUNTS)])
        .of("poisson_log", &[0, 1, 2]),
];

impl Family {
    /// The family whose formulas it has, and which arguments go with the outcome element by
    /// element.
    const fn of(mut self, family: &'static str, by_outcome: &'static [usize]) -> Self {
        self.source = Source::LinearModel(family, by_outcome);
        self
    }
}
