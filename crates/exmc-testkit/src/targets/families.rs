//! Univariate families on their own: the transform and Jacobian of each support, and normals of 1
//! to 100 dimensions.

use std::f64::consts::PI;

use exmc::distributions::{
    beta, exponential, gamma, half_normal, laplace, logistic, lognormal, mixture, normal,
    student_t, truncated_normal, uniform,
};
use exmc::model::{Expr, TransformSpec};

use super::{Known, Target, beta_moments, gamma_moments, known, known_normal};

pub(super) fn targets() -> Vec<Target> {
    vec![
        standard_normal(),
        scaled_normal("normal-10", 10),
        scaled_normal("normal-100", 100),
        Target::new("half-normal", vec![known("x", 0, half_normal_moments())], |m| {
            m.rv("x", half_normal(1.0));
        }),
        // The same target in another geometry: only the transform differs.
        Target::new("half-normal-log", vec![known("x", 0, half_normal_moments())], |m| {
            m.rv("x", half_normal(1.0)).transform(TransformSpec::Log);
        }),
        Target::new("exponential", vec![known("x", 0, gamma_moments(1.0, 2.0))], |m| {
            m.rv("x", exponential(2.0));
        }),
        // Variance nu / (nu - 2), kurtosis 3 + 6 / (nu - 4).
        Target::new("student-t", vec![known("x", 0, (1.0, 4.0 * 1.25, 4.0))], |m| {
            m.rv("x", student_t(10.0, 1.0, 2.0));
        }),
        positive(),
        intervals(),
        real_line(),
        Target::new("mixture", vec![known("x", 0, mixture_moments())], |m| {
            m.rv("x", mixture([0.3, 0.7], [normal(-1.0, 1.0), normal(1.5, 0.8)]));
        }),
    ]
}

fn standard_normal() -> Target {
    Target::new("normal-1", vec![known_normal("x", 0, 0.0, 1.0)], |m| {
        m.rv("x", normal(0.0, 1.0));
    })
}

/// Independent normals whose standard deviations run from 0.1 to 10, so that the metric has work to
/// do.
fn scaled_normal(name: &'static str, dim: usize) -> Target {
    let place = |i: usize| i as f64 / (dim - 1) as f64;
    let sd = |i: usize| exmc_math::exp(std::f64::consts::LN_10 * (2.0 * place(i) - 1.0));
    let mean = |i: usize| 3.0 * sd(i) * place(i);
    let means: Vec<f64> = (0..dim).map(mean).collect();
    let sds: Vec<f64> = (0..dim).map(sd).collect();
    let checked = [0, dim / 3, dim - 1];
    let moments = |i: &usize| known_normal("x", *i, mean(*i), sd(*i) * sd(*i));
    Target::new(name, checked.iter().map(moments).collect(), |m| {
        m.rv("x", normal(means, sds));
    })
}

/// Half of a standard normal: kurtosis $3 + 8(\pi-3)/(\pi-2)^2$.
fn half_normal_moments() -> (f64, f64, f64) {
    ((2.0 / PI).sqrt(), 1.0 - 2.0 / PI, 3.0 + 8.0 * (PI - 3.0) / ((PI - 2.0) * (PI - 2.0)))
}

/// Families on the positive numbers, seen through a log where their own tails are too long for a
/// gate.
fn positive() -> Target {
    let known: Vec<Known> = vec![
        known("g", 0, gamma_moments(3.0, 2.0)),
        known_normal("log_n", 0, 0.5, 0.49),
        known("shifted", 0, {
            let (mean, variance, kurtosis) = gamma_moments(2.0, 1.0);
            (mean - 3.0, variance, kurtosis)
        }),
    ];
    Target::new("positive-families", known, |m| {
        m.rv("g", gamma(3.0, 2.0));
        m.rv("n", lognormal(0.5, 0.7));
        m.det("log_n", Expr::name("n").log());
        // A gamma shifted by a lower limit, through the density of its distance from it.
        m.rv("shifted", normal(0.0, 1.0)).transform(TransformSpec::Lower((-3.0).into()));
        let x = Expr::name("shifted");
        let distance = x.clone() + 3.0;
        m.potential("reweight", distance.clone().log() - distance + x.square() / 2.0);
    })
}

fn intervals() -> Target {
    // A standard normal on (-1, 2) by its own formulas; kurtosis by the recursion of truncated
    // moments.
    let known = vec![
        known("b", 0, beta_moments(2.0, 3.0)),
        known("u", 0, (1.0, 16.0 / 12.0, 1.8)),
        known("t", 0, truncated_normal_moments(-1.0, 2.0)),
    ];
    Target::new("intervals", known, |m| {
        m.rv("b", beta(2.0, 3.0));
        m.rv("u", uniform(-1.0, 3.0));
        m.rv("t", truncated_normal(0.0, 1.0, -1.0, 2.0));
    })
}

/// Moments of a standard normal on (a, b): $m_k = (k-1)m_{k-2} - (b^{k-1}\varphi(b) -
/// a^{k-1}\varphi(a))/Z$.
fn truncated_normal_moments(a: f64, b: f64) -> (f64, f64, f64) {
    let phi = |x: f64| exmc_math::exp(-0.5 * x * x) / (2.0 * PI).sqrt();
    let upper = |x: f64| 0.5 * exmc_math::erfc(x / 2.0_f64.sqrt());
    let mass = upper(a) - upper(b);
    let edge = |k: i32| (b.powi(k - 1) * phi(b) - a.powi(k - 1) * phi(a)) / mass;
    let m1 = -edge(1);
    let m2 = 1.0 - edge(2);
    let m3 = 2.0 * m1 - edge(3);
    let m4 = 3.0 * m2 - edge(4);
    central([m1, m2, m3, m4])
}

/// Mean, variance and kurtosis from the first four raw moments.
fn central([m1, m2, m3, m4]: [f64; 4]) -> (f64, f64, f64) {
    let variance = m2 - m1 * m1;
    let fourth = m4 - 4.0 * m3 * m1 + 6.0 * m2 * m1 * m1 - 3.0 * m1 * m1 * m1 * m1;
    (m1, variance, fourth / (variance * variance))
}

fn real_line() -> Target {
    let known = vec![
        known("laplace", 0, (0.5, 2.0 * 1.44, 6.0)),
        known("logistic", 0, (0.0, PI * PI / 3.0, 4.2)),
    ];
    Target::new("real-line-families", known, |m| {
        m.rv("laplace", laplace(0.5, 1.2));
        m.rv("logistic", logistic(0.0, 1.0));
    })
}

/// Raw moments of 0.3 normal(-1, 1) + 0.7 normal(1.5, 0.8).
fn mixture_moments() -> (f64, f64, f64) {
    let raw = |m: f64, v: f64| {
        [m, m * m + v, m * m * m + 3.0 * m * v, m * m * m * m + 6.0 * m * m * v + 3.0 * v * v]
    };
    let (a, b) = (raw(-1.0, 1.0), raw(1.5, 0.64));
    central(std::array::from_fn(|k| 0.3 * a[k] + 0.7 * b[k]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A standard normal on (-1, 2) by mpmath quadrature, and moments of the mixture by hand.
    #[test]
    fn closed_forms_agree_with_other_programs() {
        let (mean, variance, kurtosis) = truncated_normal_moments(-1.0, 2.0);
        assert!((mean - TRUNCATED.0).abs() < 1e-12);
        assert!((variance - TRUNCATED.1).abs() < 1e-12);
        assert!((kurtosis - TRUNCATED.2).abs() < 1e-11);
        let (mean, variance, _) = mixture_moments();
        assert!((mean - 0.75).abs() < 1e-15);
        // E of variances 0.3 + 0.448, plus the variance of means 0.21 * 2.5^2.
        assert!((variance - (0.748 + 0.21 * 6.25)).abs() < 1e-14);
        let (_, _, kurtosis) = half_normal_moments();
        assert!((kurtosis - 3.869_177_303_605_974).abs() < 1e-12);
    }

    const TRUNCATED: (f64, f64, f64) = (0.229637179091329, 0.5197625392115339, 2.280172457922897);
}
