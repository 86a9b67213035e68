//! One row a transform and shape: which coordinates are free, and what its values must satisfy.

use exmc_graph::{Graph, Tensor};
use exmc_model::Transform;

/// The coordinates of a value that determine it, by which the Jacobian is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Free {
    /// All.
    All,
    /// All but the last of each vector.
    AllButLast,
    /// Below the diagonal.
    Below,
    /// Below and on the diagonal.
    Triangle,
    /// All but the last row.
    AllButLastRow,
    /// None by itself: the map is isometric onto a plane.
    Isometric,
    /// None: the density is that of a radius which the value leaves out.
    Radius,
}

/// A row of the table.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) transform: fn(&mut Graph) -> Transform,
    pub(crate) shape: &'static [usize],
    pub(crate) free: Free,
    /// Whether one number, vector or matrix lies in the support.
    pub(crate) inside: fn(&[f64]) -> bool,
}

const fn case(
    name: &'static str,
    transform: fn(&mut Graph) -> Transform,
    shape: &'static [usize],
    free: Free,
    inside: fn(&[f64]) -> bool,
) -> Case {
    Case { name, transform, shape, free, inside }
}

fn lower(g: &mut Graph) -> Transform {
    Transform::Lower(g.scalar(-1.5))
}

fn upper(g: &mut Graph) -> Transform {
    Transform::Upper(g.scalar(2.5))
}

fn interval(g: &mut Graph) -> Transform {
    Transform::Interval(g.scalar(-2.0), g.scalar(3.5))
}

fn interval_by_element(g: &mut Graph) -> Transform {
    let lower = g.constant(Tensor::vector(&[-2.0, -1.0, 0.0]));
    Transform::Interval(lower, g.scalar(3.5))
}

/// Every variant at least once; vectors and matrices in several sizes, vectors also in batches.
pub(crate) const CASES: &[Case] = &[
    case("identity", |_| Transform::Identity, &[2, 2], Free::All, |_| true),
    case("log", |_| Transform::Log, &[3], Free::All, positive),
    case("log scalar", |_| Transform::Log, &[], Free::All, positive),
    case("softplus", |_| Transform::Softplus, &[3], Free::All, positive),
    case("logit", |_| Transform::Logit, &[3], Free::All, |x| x[0] > 0.0 && x[0] < 1.0),
    case("lower", lower, &[3], Free::All, |x| x[0] >= -1.5),
    case("upper", upper, &[3], Free::All, |x| x[0] <= 2.5),
    case("interval", interval, &[2, 2], Free::All, |x| (-2.0..=3.5).contains(&x[0])),
    case("interval by element", interval_by_element, &[2, 3], Free::All, |x| {
        (-2.0..=3.5).contains(&x[0])
    }),
    case("circle", |_| Transform::Circle, &[2], Free::All, |x| x[0].abs() <= 3.2),
    case("ordered", |_| Transform::Ordered, &[4], Free::All, increasing),
    case("ordered batch", |_| Transform::Ordered, &[2, 3], Free::All, increasing),
    case("ordered 1", |_| Transform::Ordered, &[1], Free::All, increasing),
    case(
        "positive ordered",
        |_| Transform::PositiveOrdered,
        &[4],
        Free::All,
        |x| positive(x) && increasing(x),
    ),
    case(
        "positive ordered batch",
        |_| Transform::PositiveOrdered,
        &[2, 1, 3],
        Free::All,
        |x| positive(x) && increasing(x),
    ),
    case("positive ordered 1", |_| Transform::PositiveOrdered, &[1], Free::All, positive),
    case("simplex", |_| Transform::Simplex, &[5], Free::AllButLast, simplex),
    case("simplex batch", |_| Transform::Simplex, &[3, 3], Free::AllButLast, simplex),
    case("simplex 2", |_| Transform::Simplex, &[2], Free::AllButLast, simplex),
    case("simplex plain", |_| Transform::SimplexPlain, &[5], Free::AllButLast, simplex),
    case("simplex softmax", |_| Transform::SimplexSoftmax, &[5], Free::AllButLast, nearly_simplex),
    case(
        "simplex softmax batch",
        |_| Transform::SimplexSoftmax,
        &[2, 3],
        Free::AllButLast,
        simplex,
    ),
    case("simplex plain batch", |_| Transform::SimplexPlain, &[2, 2, 3], Free::AllButLast, simplex),
    case("correlation 2", |_| Transform::CorrelationCholesky, &[2, 2], Free::Below, correlation),
    case("correlation 3", |_| Transform::CorrelationCholesky, &[3, 3], Free::Below, correlation),
    case("correlation 5", |_| Transform::CorrelationCholesky, &[5, 5], Free::Below, correlation),
    case("covariance 1", |_| Transform::CovarianceCholesky, &[1, 1], Free::Triangle, factor),
    case("covariance 4", |_| Transform::CovarianceCholesky, &[4, 4], Free::Triangle, factor),
    case(
        "covariance tall",
        |_| Transform::CovarianceCholesky,
        &[5, 2],
        Free::Triangle,
        |x| x[0] > 0.0 && x[1] == 0.0 && x[3] > 0.0,
    ),
    case(
        "correlation matrix 1",
        |_| Transform::CorrelationMatrix,
        &[1, 1],
        Free::Below,
        |x| x[0] == 1.0,
    ),
    case(
        "correlation matrix 2",
        |_| Transform::CorrelationMatrix,
        &[2, 2],
        Free::Below,
        unit_diagonal,
    ),
    case(
        "correlation matrix 4",
        |_| Transform::CorrelationMatrix,
        &[4, 4],
        Free::Below,
        unit_diagonal,
    ),
    case("covariance matrix 1", |_| Transform::CovarianceMatrix, &[1, 1], Free::Triangle, positive),
    case(
        "covariance matrix 4",
        |_| Transform::CovarianceMatrix,
        &[4, 4],
        Free::Triangle,
        symmetric,
    ),
    case(
        "column simplex",
        |_| Transform::ColumnSimplex,
        &[4, 3],
        Free::AllButLastRow,
        |x| (0..3).all(|j| nearly_simplex(&[x[j], x[3 + j], x[6 + j], x[9 + j]])),
    ),
    case(
        "sum to zero matrix",
        |_| Transform::SumToZeroMatrix,
        &[4, 3],
        Free::Isometric,
        |x| {
            let column = |j: usize| [x[j], x[3 + j], x[6 + j], x[9 + j]];
            let near = |line: &[f64]| line.iter().sum::<f64>().abs() < 1e-9;
            x.chunks(3).all(near) && (0..3).all(|j| near(&column(j)))
        },
    ),
    case("sum to zero", |_| Transform::SumToZero, &[5], Free::Isometric, sums_to_zero),
    case("sum to zero batch", |_| Transform::SumToZero, &[2, 3], Free::Isometric, sums_to_zero),
    case("unit vector", |_| Transform::UnitVector, &[4], Free::Radius, unit_length),
    case("unit vector batch", |_| Transform::UnitVector, &[3, 2], Free::Radius, unit_length),
];

impl Case {
    /// The extents of what [`Case::inside`] looks at: a number, a vector or a matrix.
    fn event(&self) -> usize {
        match (self.transform)(&mut Graph::new()) {
            Transform::CorrelationCholesky
            | Transform::CovarianceCholesky
            | Transform::CorrelationMatrix
            | Transform::CovarianceMatrix
            | Transform::ColumnSimplex
            | Transform::SumToZeroMatrix => self.shape.iter().product(),
            Transform::Ordered
            | Transform::PositiveOrdered
            | Transform::Simplex
            | Transform::SimplexPlain
            | Transform::SimplexSoftmax
            | Transform::SumToZero
            | Transform::UnitVector => self.shape[self.shape.len() - 1],
            _ => 1,
        }
    }

    /// Whether all of a value lies in the support.
    pub(crate) fn holds(&self, x: &[f64]) -> bool {
        x.chunks(self.event()).all(self.inside)
    }

    /// Positions of the free coordinates in the row-major value.
    pub(crate) fn free_positions(&self) -> Vec<usize> {
        let n = self.shape.last().copied().unwrap_or(1);
        let keep = |k: &usize| match self.free {
            Free::All => true,
            Free::AllButLast => k % n + 1 < n,
            Free::AllButLastRow => k / n + 1 < self.shape[0],
            Free::Below => k % n < k / n,
            Free::Triangle => k % n <= k / n,
            Free::Isometric | Free::Radius => true,
        };
        (0..self.shape.iter().product()).filter(keep).collect()
    }
}

fn positive(x: &[f64]) -> bool {
    x.iter().all(|v| *v > 0.0)
}

/// Neighbours may come out equal when they differ by less than a unit in the last place.
fn increasing(x: &[f64]) -> bool {
    x.windows(2).all(|w| w[0] <= w[1])
}

fn simplex(x: &[f64]) -> bool {
    positive(x) && (x.iter().sum::<f64>() - 1.0).abs() < 1e-14
}

/// Logits of size s lose s ulps of their difference to the common normaliser: at 1e6, 1e-10.
fn nearly_simplex(x: &[f64]) -> bool {
    positive(x) && (x.iter().sum::<f64>() - 1.0).abs() < 1e-9
}

fn sums_to_zero(x: &[f64]) -> bool {
    let size: f64 = x.iter().map(|v| v.abs()).sum();
    x.iter().sum::<f64>().abs() <= 1e-15 * size
}

fn unit_length(x: &[f64]) -> bool {
    (x.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-14
}

fn factor(x: &[f64]) -> bool {
    let n = (x.len() as f64).sqrt() as usize;
    (0..n).all(|i| x[i * n + i] > 0.0 && x[i * n + i + 1..(i + 1) * n].iter().all(|v| *v == 0.0))
}

fn symmetric(x: &[f64]) -> bool {
    let n = (x.len() as f64).sqrt() as usize;
    (0..n).all(|i| x[i * n + i] > 0.0 && (0..i).all(|j| x[i * n + j] == x[j * n + i]))
}

fn unit_diagonal(x: &[f64]) -> bool {
    let n = (x.len() as f64).sqrt() as usize;
    symmetric(x) && (0..n).all(|i| (x[i * n + i] - 1.0).abs() < 1e-14)
}

fn correlation(x: &[f64]) -> bool {
    let n = (x.len() as f64).sqrt() as usize;
    factor(x) && x.chunks(n).all(unit_length)
}

/// The match makes a new variant without a row a compile error; the assertion, a forgotten row.
#[test]
fn every_variant_has_a_row() {
    let position = |transform: Transform| match transform {
        Transform::Identity => 0,
        Transform::Log => 1,
        Transform::Softplus => 2,
        Transform::Logit => 3,
        Transform::Lower(_) => 4,
        Transform::Upper(_) => 5,
        Transform::Interval(..) => 6,
        Transform::Circle => 7,
        Transform::Ordered => 8,
        Transform::PositiveOrdered => 9,
        Transform::Simplex => 10,
        Transform::SimplexPlain => 11,
        Transform::CorrelationCholesky => 12,
        Transform::CovarianceCholesky => 13,
        Transform::SumToZero => 14,
        Transform::UnitVector => 15,
        Transform::SimplexSoftmax => 16,
        Transform::CorrelationMatrix => 17,
        Transform::CovarianceMatrix => 18,
        Transform::ColumnSimplex => 19,
        Transform::SumToZeroMatrix => 20,
    };
    let mut seen = [false; 21];
    for case in CASES {
        seen[position((case.transform)(&mut Graph::new()))] = true;
    }
    assert!(seen.iter().all(|s| *s), "{seen:?}");
}
