//! Correlated, constrained and sequential vectors with closed-form margins.

use exmc::distributions::{
    dirichlet, gaussian_random_walk, lkj_corr_cholesky, multi_normal, multi_normal_cholesky, normal,
};
use exmc::model::{Expr, Tensor, TransformSpec};

use super::{Known, Target, beta_moments, known, known_normal};

pub(super) fn targets() -> Vec<Target> {
    vec![
        correlated_pair(),
        correlated_chain(),
        simplex(),
        ordered(),
        correlation_cholesky(),
        random_walk(),
        sum_to_zero(),
    ]
}

/// Unit variances and correlation 0.95; the difference has variance 0.1, where a wrong metric
/// shows.
fn correlated_pair() -> Target {
    let known = vec![
        known_normal("x", 0, 1.0, 1.0),
        known_normal("x", 1, -1.0, 1.0),
        known_normal("difference", 0, 2.0, 0.1),
    ];
    Target::new("correlated-2", known, |m| {
        let covariance = Tensor::real([2, 2], [1.0, 0.95, 0.95, 1.0]).expect("four values");
        m.rv("x", multi_normal([1.0, -1.0], covariance));
        m.det("difference", Expr::name("x").at(0) - Expr::name("x").at(1));
    })
}

/// A stationary autoregression of 20 values with coefficient 0.9, through its Cholesky factor:
/// $L_{i0} = \rho^i$, $L_{ij} = \rho^{i-j}\sqrt{1-\rho^2}$.
fn correlated_chain() -> Target {
    const N: usize = 20;
    const RHO: f64 = 0.9;
    let innovation = (1.0 - RHO * RHO).sqrt();
    let mut factor = vec![0.0; N * N];
    for i in 0..N {
        for j in 0..=i {
            let scale = if j == 0 { 1.0 } else { innovation };
            factor[i * N + j] = scale * RHO.powi((i - j) as i32);
        }
    }
    let known = vec![
        known_normal("x", 0, 0.0, 1.0),
        known_normal("x", N - 1, 0.0, 1.0),
        known_normal("step", 0, 0.0, 2.0 - 2.0 * RHO),
    ];
    Target::new("correlated-20", known, |m| {
        let factor = Tensor::real([N, N], factor).expect("N squared values");
        m.rv("x", multi_normal_cholesky(vec![0.0; N], factor));
        m.det("step", Expr::name("x").at(10) - Expr::name("x").at(9));
    })
}

/// Margins of a Dirichlet are beta.
fn simplex() -> Target {
    let alpha = [2.0, 3.0, 4.0, 1.5];
    let total: f64 = alpha.iter().sum();
    let margin = |(i, a): (usize, &f64)| known("p", i, beta_moments(*a, total - a));
    let known: Vec<Known> = alpha.iter().enumerate().map(margin).collect();
    Target::new("simplex", known, |m| {
        m.rv("p", dirichlet(alpha));
    })
}

/// Standard normals restricted to increasing order are order statistics (moments by quadrature,
/// `reference/moments.py`).
fn ordered() -> Target {
    let known = vec![
        known("x", 0, (-0.846_284_375_3, 0.559_467_203_8, 3.116_649)),
        known("x", 1, (0.0, 0.448_671_104_6, 3.034_727_5)),
        known("x", 2, (0.846_284_375_3, 0.559_467_203_8, 3.116_649)),
    ];
    Target::new("ordered", known, |m| {
        m.rv("x", normal(0.0, 1.0)).shape([3]).transform(TransformSpec::Ordered);
    })
}

/// Correlations under LKJ(eta) in 3 dimensions are 2 B - 1 with B ~ beta(eta + 1/2, eta + 1/2).
/// Reference: Lewandowski, Kurowicka and Joe 2009.
fn correlation_cholesky() -> Target {
    let (_, variance, kurtosis) = beta_moments(2.5, 2.5);
    let margin = |element| known("r", element, (0.0, 4.0 * variance, kurtosis));
    Target::new("lkj", vec![margin(1), margin(2), margin(5)], |m| {
        m.rv("factor", lkj_corr_cholesky(2.0)).shape([3, 3]);
        m.det("r", Expr::name("factor").matmul(Expr::name("factor").transpose()));
    })
}

/// Variances add up along a walk.
fn random_walk() -> Target {
    let known = [0, 2, 4].map(|t| known_normal("x", t, 0.0, 4.0 + 0.25 * t as f64)).to_vec();
    Target::new("random-walk", known, |m| {
        m.rv("x", gaussian_random_walk(0.5, 2.0)).shape([5]);
    })
}

/// Independent standard normals given that they add up to nothing: variance $1 - 1/n$.
fn sum_to_zero() -> Target {
    let known = [0, 2, 4].map(|i| known_normal("x", i, 0.0, 0.8)).to_vec();
    Target::new("sum-to-zero", known, |m| {
        m.rv("x", normal(0.0, 1.0)).shape([5]).transform(TransformSpec::SumToZero);
    })
}
