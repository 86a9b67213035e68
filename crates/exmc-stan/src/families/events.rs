//! Distributions of categories, vectors and matrices: rows, and formulas of those that exmc-model
//! has not, or has under other parameters. Those of matrices are in `library::matrices`, what is
//! drawn in `host::library::random`.
//!
//! **Reference**: Stan functions reference, chapters on multivariate distributions.

use exmc_graph::{Graph, NodeId, Shape, Tensor};
use exmc_model::Support;
use exmc_model::distribution::Parameter;

use super::Slot::{Int, IntArray, Ints, Matrix, Real, Vector, Vectors};
use super::{DENSITY, Event, Family, Scale, positive, real, row};

const CATEGORY_RNG: &[(&str, &str)] = &[("rng", "vector -> int")];
const COUNTS_RNG: &[(&str, &str)] = &[("rng", "vector, int -> int[]")];
const MATRIX_RNG: &[(&str, &str)] = &[("rng", "real, matrix -> matrix")];
const CORRELATION_RNG: &[(&str, &str)] = &[("rng", "int, real -> matrix")];
const NORMAL_RNG: &[(&str, &str)] =
    &[("rng", "vector|row_vector, matrix -> vector; vector[]|row_vector[], matrix -> vector[]")];
const STUDENT_RNG: &[(&str, &str)] = &[(
    "rng",
    "real, vector|row_vector, matrix -> vector; real, vector[]|row_vector[], matrix -> vector[]",
)];
const ORDERED_RNG: &str = "real, vector -> int";

/// See the module.
pub(super) const ROWS: &[Family] = &[
    row("categorical", &[Ints, Vector], DENSITY)
        .forms(CATEGORY_RNG)
        .model("categorical")
        .event(Event::Category)
        .one_based()
        .picks(),
    row("categorical_logit", &[Ints, Vector], DENSITY)
        .forms(CATEGORY_RNG)
        .model("categorical_logit")
        .event(Event::Category)
        .one_based()
        .picks(),
    row("dirichlet", &[Vectors, Vectors], DENSITY)
        .forms(&[("rng", "vector -> vector")])
        .model("dirichlet")
        .event(Event::Vector),
    row("dirichlet_multinomial", &[IntArray, Vector], DENSITY)
        .forms(COUNTS_RNG)
        .formula(Support::Count, &[positive("alpha").rank(1)], dirichlet_multinomial)
        .event(Event::Counts),
    row("gaussian_dlm_obs", &[Matrix, Matrix, Matrix, Matrix, Matrix, Vector, Matrix], DENSITY)
        .forms(&[("lpdf", "matrix, matrix, matrix, vector, matrix, vector, matrix -> real")]),
    row("inv_wishart", &[Matrix, Real, Matrix], DENSITY).forms(MATRIX_RNG).event(Event::Matrix),
    row("inv_wishart_cholesky", &[Matrix, Real, Matrix], DENSITY)
        .forms(MATRIX_RNG)
        .event(Event::Matrix),
    row("lkj_corr", &[Matrix, Real], DENSITY).forms(CORRELATION_RNG).event(Event::Correlation),
    row("lkj_corr_cholesky", &[Matrix, Real], DENSITY)
        .forms(CORRELATION_RNG)
        .model("lkj_corr_cholesky")
        .event(Event::Correlation),
    row("lkj_cov", &[Matrix, Vector, Vector, Real], DENSITY),
    row("multi_gp", &[Matrix, Matrix, Vector], DENSITY),
    row("multi_gp_cholesky", &[Matrix, Matrix, Vector], DENSITY),
    row("multi_normal", &[Vectors, Vectors, Matrix], DENSITY)
        .forms(NORMAL_RNG)
        .model("multi_normal")
        .event(Event::Vector)
        .location(0, Scale::Covariance),
    row("multi_normal_cholesky", &[Vectors, Vectors, Matrix], DENSITY)
        .forms(NORMAL_RNG)
        .model("multi_normal_cholesky")
        .event(Event::Vector)
        .location(0, Scale::Factor),
    row("multi_normal_prec", &[Vectors, Vectors, Matrix], DENSITY),
    row("multi_student_t", &[Vectors, Real, Vectors, Matrix], DENSITY)
        .forms(STUDENT_RNG)
        .event(Event::Vector),
    row("multi_student_t_cholesky", &[Vectors, Real, Vectors, Matrix], DENSITY)
        .forms(STUDENT_RNG)
        .event(Event::Vector),
    row("multinomial", &[IntArray, Vector], DENSITY)
        .forms(COUNTS_RNG)
        .model("multinomial")
        .event(Event::Counts),
    row("multinomial_logit", &[IntArray, Vector], DENSITY)
        .forms(COUNTS_RNG)
        .formula(Support::Count, &[real("gamma").rank(1)], multinomial_logit)
        .event(Event::Counts),
    row("ordered_logistic", &[Int, Real, Vector], DENSITY)
        .forms(&[("lpmf", "int[], vector, vector|vector[] -> real"), ("rng", ORDERED_RNG)])
        .model("ordered_logistic")
        .event(Event::Ordered)
        .one_based()
        .picks(),
    row("ordered_probit", &[Int, Real, Vector], DENSITY)
        .forms(&[("lpmf", "int[], real|vector, vector|vector[] -> real"), ("rng", ORDERED_RNG)])
        .formula(
            Support::Category { parameter: 1, extra: 1 },
            &[real("eta"), Parameter::new("c", Support::Ordered).rank(1)],
            ordered_probit,
        )
        .event(Event::Ordered)
        .one_based()
        .picks(),
    row("wishart", &[Matrix, Real, Matrix], DENSITY).forms(MATRIX_RNG).event(Event::Matrix),
    row("wishart_cholesky", &[Matrix, Real, Matrix], DENSITY)
        .forms(MATRIX_RNG)
        .event(Event::Matrix),
];

/// $\log n! - \sum_k\log y_k!$
fn log_arrangements(g: &mut Graph, y: NodeId) -> NodeId {
    let total = g.sum_last(y);
    let (total, cells) = (g.shift(total, 1.0), g.shift(y, 1.0));
    let (of_total, of_cells) = (g.lgamma(total), g.lgamma(cells));
    let of_cells = g.sum_last(of_cells);
    g.sub(of_total, of_cells)
}

/// $\log n! + \sum_k(y_k\gamma_k - \log y_k!) - n\log\sum_k e^{\gamma_k}$
fn multinomial_logit(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let products = g.mul(y, p[0]);
    let gained = g.sum_last(products);
    let last = g.shape(p[0]).rank() - 1;
    let normaliser = g.log_sum_exp(p[0], last);
    let trials = g.sum_last(y);
    let lost = g.mul(trials, normaliser);
    let kernel = g.sub(gained, lost);
    let arrangements = log_arrangements(g, y);
    g.add(kernel, arrangements)
}

/// $\log n! - \sum_k\log y_k! + \log\Gamma(\alpha_0) - \log\Gamma(n+\alpha_0) +
/// \sum_k(\log\Gamma(y_k+\alpha_k) - \log\Gamma(\alpha_k))$
fn dirichlet_multinomial(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let after = g.add(y, p[0]);
    let (total_after, total_before) = (g.sum_last(after), g.sum_last(p[0]));
    let (after, before) = (g.lgamma(after), g.lgamma(p[0]));
    let growth = g.sub(after, before);
    let growth = g.sum_last(growth);
    let (total_after, total_before) = (g.lgamma(total_after), g.lgamma(total_before));
    let lost = g.sub(total_after, total_before);
    let kernel = g.sub(growth, lost);
    let arrangements = log_arrangements(g, y);
    g.add(kernel, arrangements)
}

/// $\log(\Phi(\eta - c_{y-1}) - \Phi(\eta - c_y))$ with $c_{-1} = -\infty$, $c_{K-1} = \infty$, y
/// from zero.
///
/// **Numerics**: taken in the tail in which both points lie. **Edges**: the outermost limits are
/// 1000 away from zero, beyond which a normal probability is zero.
fn ordered_probit(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    const FAR: f64 = 1000.0;
    let (eta, cuts) = (p[0], p[1]);
    let inner = g.shape(cuts).rank() - 1;
    let end = Shape::from(&g.shape(cuts).extents()[..inner]).join(&[1]);
    let (lowest, highest) = (g.filled(&end, -FAR), g.filled(&end, FAR));
    let lower = g.concat(&[lowest, cuts], inner);
    let upper = g.concat(&[cuts, highest], inner);
    let (lower, upper) = (choose(g, lower, y), choose(g, upper, y));
    let (a, b) = (g.sub(eta, lower), g.sub(eta, upper));
    // a > b; mirrored where their middle is positive.
    let (sum, zero) = (g.add(a, b), g.scalar(0.0));
    let is_high = g.lt(zero, sum);
    let (minus_a, minus_b) = (g.neg(a), g.neg(b));
    let (large, small) = (g.select(is_high, minus_b, a), g.select(is_high, minus_a, b));
    let (large, small) = (g.log_normal_cdf(large), g.log_normal_cdf(small));
    g.log_diff_exp(large, small)
}

/// The element of the last axis that each outcome names.
fn choose(g: &mut Graph, table: NodeId, y: NodeId) -> NodeId {
    let categories = g.shape(table).extents().last().copied().unwrap_or(0);
    let column = g.shape(y).join(&[1]);
    let column = g.reshape(y, column);
    let numbers: Vec<f64> = (0..categories).map(|k| k as f64).collect();
    let numbers = g.constant(Tensor::vector(&numbers));
    let (chosen, zero) = (g.eq(column, numbers), g.scalar(0.0));
    let only = g.select(chosen, table, zero);
    g.sum_last(only)
}
