//! Families of distributions: what each slot takes and which functions there are -> their
//! signatures.

use super::Rule;

/// What one slot of a density takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// An integer or an array of them (vectorised).
    Ints,
    /// A real number, a vector, a row vector or an array of reals (vectorised).
    Reals,
    /// [`Slot::Reals`] or [`Slot::Ints`].
    Numbers,
    /// One integer.
    Int,
    /// One real number.
    Real,
    /// An array of integers that is one event.
    IntArray,
    /// A vector that is one event.
    Vector,
    /// A vector or row vector that is one event, or an array of them (vectorised).
    Vectors,
    /// A matrix that is one event.
    Matrix,
}

impl Slot {
    /// Extents of one event in this slot; those in front of them are vectorised over.
    pub const fn event_rank(self) -> usize {
        match self {
            Self::Ints | Self::Reals | Self::Numbers | Self::Int | Self::Real => 0,
            Self::IntArray | Self::Vector | Self::Vectors => 1,
            Self::Matrix => 2,
        }
    }

    /// Whether it holds integers only.
    pub const fn is_discrete(self) -> bool {
        matches!(self, Self::Ints | Self::Int | Self::IntArray)
    }

    const fn pattern(self) -> &'static str {
        match self {
            Self::Ints => "ints",
            Self::Reals => "reals",
            Self::Numbers => "numbers",
            Self::Int => "int",
            Self::Real => "real",
            Self::IntArray => "int[]",
            Self::Vector => "vector",
            Self::Vectors => "vectors",
            Self::Matrix => "matrix",
        }
    }
}

/// Which functions a family has besides its density.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Functions {
    /// `_cdf`.
    pub cdf: bool,
    /// `_lcdf`.
    pub lcdf: bool,
    /// `_lccdf`.
    pub lccdf: bool,
    /// `_rng` that takes the density's parameters, vectorised. Families without it may still have
    /// one of a form of its own.
    pub rng: bool,
}

/// A family: its name and what its density's slots take, the outcome first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Without suffix.
    pub name: &'static str,
    /// What the density takes.
    pub slots: &'static [Slot],
    /// Which functions there are.
    pub functions: Functions,
}

impl Family {
    /// `lpmf` for integer outcomes, `lpdf` for others.
    pub const fn density_suffix(&self) -> &'static str {
        if self.slots[0].is_discrete() { "lpmf" } else { "lpdf" }
    }
}

/// The family of a name without suffix.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

const ALL: Functions = Functions { cdf: true, lcdf: true, lccdf: true, rng: true };
const CDFS: Functions = Functions { cdf: true, lcdf: true, lccdf: true, rng: false };
const RNG: Functions = Functions { cdf: false, lcdf: false, lccdf: false, rng: true };
const DENSITY: Functions = Functions { cdf: false, lcdf: false, lccdf: false, rng: false };

use Slot::{Int, IntArray, Ints, Matrix, Numbers, Real, Reals, Vector, Vectors};

const fn row(name: &'static str, slots: &'static [Slot], functions: Functions) -> Family {
    Family { name, slots, functions }
}

/// Stan's families, by name.
pub const FAMILIES: &[Family] = &[
    row("bernoulli", &[Ints, Reals], ALL),
    row("bernoulli_logit", &[Ints, Reals], RNG),
    row("bernoulli_logit_glm", &[Ints, Matrix, Real, Vector], DENSITY),
    row("beta", &[Reals, Reals, Reals], ALL),
    row("beta_binomial", &[Ints, Ints, Reals, Reals], ALL),
    row("beta_neg_binomial", &[Ints, Reals, Reals, Reals], ALL),
    row("beta_proportion", &[Reals, Reals, Numbers], Functions { cdf: false, ..CDFS }),
    row("binomial", &[Ints, Ints, Reals], ALL),
    row("binomial_logit", &[Ints, Ints, Reals], DENSITY),
    row("binomial_logit_glm", &[Ints, Ints, Matrix, Real, Vector], DENSITY),
    row("categorical", &[Ints, Vector], DENSITY),
    row("categorical_logit", &[Ints, Vector], DENSITY),
    row("categorical_logit_glm", &[Ints, Matrix, Vector, Matrix], DENSITY),
    row("cauchy", &[Reals, Reals, Reals], ALL),
    row("chi_square", &[Reals, Reals], ALL),
    row("dirichlet", &[Vectors, Vectors], DENSITY),
    row("dirichlet_multinomial", &[IntArray, Vector], DENSITY),
    row("discrete_range", &[Ints, Ints, Ints], ALL),
    row("double_exponential", &[Reals, Reals, Reals], ALL),
    row("exp_mod_normal", &[Reals, Reals, Reals, Reals], ALL),
    row("exponential", &[Reals, Reals], ALL),
    row("frechet", &[Reals, Reals, Reals], ALL),
    row("gamma", &[Reals, Reals, Reals], ALL),
    row("gaussian_dlm_obs", &[Matrix, Matrix, Matrix, Matrix, Matrix, Vector, Matrix], DENSITY),
    row("gumbel", &[Reals, Reals, Reals], ALL),
    row("hypergeometric", &[Int, Int, Int, Int], RNG),
    row("inv_chi_square", &[Reals, Reals], ALL),
    row("inv_gamma", &[Reals, Reals, Reals], ALL),
    row("inv_wishart", &[Matrix, Real, Matrix], DENSITY),
    row("inv_wishart_cholesky", &[Matrix, Real, Matrix], DENSITY),
    row("lkj_corr", &[Matrix, Real], DENSITY),
    row("lkj_corr_cholesky", &[Matrix, Real], DENSITY),
    row("lkj_cov", &[Matrix, Vector, Vector, Real], DENSITY),
    row("logistic", &[Reals, Reals, Reals], ALL),
    row("loglogistic", &[Reals, Reals, Reals], Functions { lcdf: false, lccdf: false, ..ALL }),
    row("lognormal", &[Reals, Reals, Reals], ALL),
    row("multi_gp", &[Matrix, Matrix, Vector], DENSITY),
    row("multi_gp_cholesky", &[Matrix, Matrix, Vector], DENSITY),
    row("multi_normal", &[Vectors, Vectors, Matrix], DENSITY),
    row("multi_normal_cholesky", &[Vectors, Vectors, Matrix], DENSITY),
    row("multi_normal_prec", &[Vectors, Vectors, Matrix], DENSITY),
    row("multi_student_t", &[Vectors, Real, Vectors, Matrix], DENSITY),
    row("multi_student_t_cholesky", &[Vectors, Real, Vectors, Matrix], DENSITY),
    row("multinomial", &[IntArray, Vector], DENSITY),
    row("multinomial_logit", &[IntArray, Vector], DENSITY),
    row("neg_binomial", &[Ints, Reals, Reals], ALL),
    row("neg_binomial_2", &[Ints, Reals, Reals], ALL),
    row("neg_binomial_2_log", &[Ints, Reals, Reals], RNG),
    row("neg_binomial_2_log_glm", &[Ints, Matrix, Real, Vector, Real], DENSITY),
    row("normal", &[Reals, Reals, Reals], ALL),
    row("normal_id_glm", &[Vector, Matrix, Real, Vector, Real], DENSITY),
    row("ordered_logistic", &[Int, Real, Vector], DENSITY),
    row("ordered_logistic_glm", &[Ints, Matrix, Vector, Vector], DENSITY),
    row("ordered_probit", &[Int, Real, Vector], DENSITY),
    row("pareto", &[Reals, Reals, Reals], ALL),
    row("pareto_type_2", &[Reals, Reals, Reals, Reals], ALL),
    row("poisson", &[Ints, Reals], ALL),
    row("poisson_log", &[Ints, Reals], RNG),
    row("poisson_log_glm", &[Ints, Matrix, Real, Vector], DENSITY),
    row("rayleigh", &[Reals, Reals], ALL),
    row("scaled_inv_chi_square", &[Reals, Reals, Reals], ALL),
    row("skew_double_exponential", &[Reals, Reals, Reals, Reals], ALL),
    row("skew_normal", &[Reals, Reals, Reals, Reals], ALL),
    row("std_normal", &[Reals], ALL),
    row("student_t", &[Reals, Reals, Reals, Reals], ALL),
    row("uniform", &[Reals, Reals, Reals], ALL),
    row("von_mises", &[Reals, Reals, Reals], ALL),
    row("weibull", &[Reals, Reals, Reals], ALL),
    row("wiener", &[Reals, Reals, Reals, Reals, Reals], DENSITY),
    row("wishart", &[Matrix, Real, Matrix], DENSITY),
    row("wishart_cholesky", &[Matrix, Real, Matrix], DENSITY),
    row("yule_simon", &[Ints, Reals], ALL),
];

/// Forms of densities and of random numbers that no rule of [`Family`] gives.
pub(super) const RULES: &[Rule] = &[
    (
        "bernoulli_logit_glm_lpmf poisson_log_glm_lpmf",
        "ints, matrix, vector, vector -> real; int[], row_vector, real|vector, vector -> real",
    ),
    (
        "neg_binomial_2_log_glm_lpmf",
        "ints, matrix, vector, vector, real -> real; int[], row_vector, real|vector, vector, real -> real",
    ),
    (
        "binomial_logit_glm_lpmf",
        "int[], int[], matrix, vector, vector -> real; int, int, matrix, vector, vector -> real;
         int[], int[], row_vector, real|vector, vector -> real",
    ),
    ("categorical_logit_glm_lpmf", "ints, row_vector, vector, matrix -> real"),
    ("ordered_logistic_glm_lpmf", "ints, row_vector, vector, vector -> real"),
    (
        "normal_id_glm_lpdf",
        "vector|real, matrix, real|vector, vector, real|vector -> real;
         vector, row_vector, real|vector, vector, real|vector -> real",
    ),
    ("gaussian_dlm_obs_lpdf", "matrix, matrix, matrix, vector, matrix, vector, matrix -> real"),
    ("ordered_logistic_lpmf", "int[], vector, vector|vector[] -> real"),
    ("ordered_probit_lpmf", "int[], real|vector, vector|vector[] -> real"),
    (
        "wiener_lpdf",
        "real, real, real, real, real, real -> real; vector, vector, vector, vector, vector, vector -> real;
         real, real, real, real, real, real, data real -> real;
         vector, vector, vector, vector, vector, vector, data real -> real;
         real, real, real, real, real, real, real, real -> real;
         vector, vector, vector, vector, vector, vector, vector, vector -> real;
         real, real, real, real, real, real, real, real, data real -> real;
         vector, vector, vector, vector, vector, vector, vector, vector, data real -> real",
    ),
    (
        "wiener_lcdf_unnorm wiener_lccdf_unnorm",
        "real, real, real, real, real -> real; vector, vector, vector, vector, vector -> real;
         real, real, real, real, real, data real -> real;
         vector, vector, vector, vector, vector, data real -> real;
         real, real, real, real, real, real, real, real -> real;
         vector, vector, vector, vector, vector, vector, vector, vector -> real;
         real, real, real, real, real, real, real, real, data real -> real;
         vector, vector, vector, vector, vector, vector, vector, vector, data real -> real",
    ),
    ("hmm_marginal", "matrix, matrix, vector -> real"),
    ("hmm_hidden_state_prob", "data matrix, data matrix, data vector -> matrix"),
    ("hmm_latent_rng", "matrix, matrix, vector -> int[]"),
    ("bernoulli_logit_glm_rng", "matrix|row_vector, vector, vector -> int[]"),
    ("beta_proportion_rng", "reals, numbers -> real ~ real[]"),
    ("categorical_rng categorical_logit_rng", "vector -> int"),
    ("dirichlet_rng", "vector -> vector"),
    ("dirichlet_multinomial_rng multinomial_rng multinomial_logit_rng", "vector, int -> int[]"),
    ("inv_wishart_rng inv_wishart_cholesky_rng wishart_rng wishart_cholesky_rng", "real, matrix -> matrix"),
    ("lkj_corr_rng lkj_corr_cholesky_rng", "int, real -> matrix"),
    (
        "multi_normal_rng multi_normal_cholesky_rng",
        "vector|row_vector, matrix -> vector; vector[]|row_vector[], matrix -> vector[]",
    ),
    (
        "multi_student_t_rng multi_student_t_cholesky_rng",
        "real, vector|row_vector, matrix -> vector; real, vector[]|row_vector[], matrix -> vector[]",
    ),
    ("ordered_logistic_rng ordered_probit_rng", "real, vector -> int"),
];

/// The pattern of a function that a family has by rule.
pub(super) fn pattern(name: &str) -> Option<String> {
    let (prefix, suffix) = name.rsplit_once('_')?;
    let family = family(prefix)?;
    let functions = family.functions;
    match suffix {
        "lpdf" | "lpmf" if suffix == family.density_suffix() => {}
        "cdf" if functions.cdf => {}
        "lcdf" if functions.lcdf => {}
        "lccdf" if functions.lccdf => {}
        "rng" if functions.rng => return Some(rng_pattern(family)),
        _ => return None,
    }
    let slots: Vec<&str> = family.slots.iter().map(|slot| slot.pattern()).collect();
    Some(format!("{} -> real", slots.join(", ")))
}

/// Random numbers take what the density takes after the outcome, integers where it takes reals, and
/// give an array where any of it is a container.
fn rng_pattern(family: &Family) -> String {
    let slot = |slot: &Slot| if *slot == Reals { Numbers.pattern() } else { slot.pattern() };
    let slots: Vec<&str> = family.slots[1..].iter().map(slot).collect();
    let scalar = if family.slots[0].is_discrete() { "int" } else { "real" };
    format!("{} -> {scalar} ~ {scalar}[]", slots.join(", "))
}

/// The names of all functions that families have by rule.
pub(super) fn names() -> impl Iterator<Item = String> {
    FAMILIES.iter().flat_map(|family| {
        let suffixes = [family.density_suffix(), "cdf", "lcdf", "lccdf", "rng"];
        let names = suffixes.into_iter().map(|suffix| format!("{}_{suffix}", family.name));
        names.filter(|name| pattern(name).is_some())
    })
}
