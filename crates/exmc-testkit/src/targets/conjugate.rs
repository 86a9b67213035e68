//! Conjugate models: priors and data whose posterior is a textbook distribution.

use exmc::distributions::{
    beta, binomial, dirichlet, exponential, gamma, multinomial, normal, poisson,
};
use exmc::model::{Expr, Tensor, Values};

use super::{Target, beta_moments, gamma_moments, known, known_normal};

pub(super) fn targets() -> Vec<Target> {
    vec![
        // Posterior precision 1/100 + 1.
        Target::new("normal-normal", vec![known_normal("mu", 0, 5.0 / 1.01, 1.0 / 1.01)], |m| {
            m.rv("mu", normal(0.0, 10.0));
            m.rv("y", normal("mu", 1.0));
            m.observe("y_obs", "y", 5.0);
        }),
        parent_and_child(),
        // Precision 1/100 + 5, sum 15.
        Target::new("five-values", vec![known_normal("mu", 0, 15.0 / 5.01, 1.0 / 5.01)], |m| {
            m.rv("mu", normal(0.0, 10.0));
            m.rv("y", normal("mu", 1.0)).shape([5]);
            m.observe("y_obs", "y", [1.0, 2.0, 3.0, 4.0, 5.0]);
        }),
        regression(),
        groups(),
        intercepts_and_slopes(),
        missing_element(),
        // 44 green algae of 274 (Gelman et al. 2013, section 3.2, uniform prior).
        Target::new("beta-binomial", vec![known("p", 0, beta_moments(45.0, 231.0))], |m| {
            m.rv("p", beta(1.0, 1.0));
            m.rv("n", binomial(274, "p"));
            m.observe("n_obs", "n", 44);
        }),
        gamma_poisson(),
        rate_of_exponential(),
        dirichlet_multinomial(),
        lifted(),
    ]
}

/// One step of a hierarchy, seen three times: precision 1/25 + 3/4, sum 12 / 4.
fn parent_and_child() -> Target {
    let precision = 1.0 / 25.0 + 3.0 / 4.0;
    let known = vec![known_normal("parent", 0, 3.0 / precision, 1.0 / precision)];
    Target::new("parent-child", known, |m| {
        m.rv("parent", normal(0.0, 5.0));
        for (child, value) in [("a", 4.0), ("b", 3.8), ("c", 4.2)] {
            m.rv(child, normal("parent", 2.0));
            m.observe(&format!("{child}_obs"), child, value);
        }
    })
}

/// $y = Xb$ plus a cycle of noise; $x_i = i/4$, known sd 0.2, priors normal(0, 5). All chains start
/// at the origin, far out (about 30 and 180 standard deviations).
fn regression() -> Target {
    const NOISE: [f64; 10] = [0.12, -0.31, 0.05, 0.22, -0.18, 0.31, -0.07, 0.14, -0.25, 0.09];
    let x: Vec<f64> = (1..=40).map(|i| f64::from(i) / 4.0).collect();
    let y: Vec<f64> = x.iter().zip(NOISE.iter().cycle()).map(|(x, e)| 1.0 + 2.0 * x + e).collect();
    // Normal equations of two coefficients with prior precision 1/25.
    let precision = 1.0 / 0.04;
    let (n, sx) = (40.0, x.iter().sum::<f64>());
    let (sxx, sy) = (x.iter().map(|x| x * x).sum::<f64>(), y.iter().sum::<f64>());
    let sxy: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
    let (a, b, d) = (precision * n + 0.04, precision * sx, precision * sxx + 0.04);
    let det = a * d - b * b;
    let (u, v) = (precision * sy, precision * sxy);
    let known = vec![
        known_normal("alpha", 0, (d * u - b * v) / det, d / det),
        known_normal("beta", 0, (a * v - b * u) / det, a / det),
    ];
    let mut target = Target::new("regression", known, |m| {
        m.data("x", Tensor::vector(&x));
        m.rv("alpha", normal(0.0, 5.0));
        m.rv("beta", normal(0.0, 5.0));
        m.rv("y", normal(Expr::name("alpha") + Expr::name("beta") * "x", 0.2));
        m.observe("y_obs", "y", y);
    });
    let zero = || Tensor::scalar(0.0);
    target.start = Values::from([("alpha".to_owned(), zero()), ("beta".to_owned(), zero())]);
    target
}

/// Effects chosen by a repeated index: each posterior takes in all of its rows.
fn groups() -> Target {
    const GROUP: [usize; 9] = [0, 1, 0, 2, 0, 1, 0, 2, 0];
    const Y: [f64; 9] = [1.2, -0.4, 0.7, 2.5, 1.9, 0.3, 0.8, 1.1, 1.4];
    let moments = |group: usize| {
        let outcomes: Vec<f64> = (0..9).filter(|i| GROUP[*i] == group).map(|i| Y[i]).collect();
        let precision = 1.0 + outcomes.len() as f64 / 0.25;
        known_normal("a", group, outcomes.iter().sum::<f64>() / 0.25 / precision, 1.0 / precision)
    };
    Target::new("groups", (0..3).map(moments).collect(), |m| {
        m.data("group", Tensor::indices(&GROUP));
        m.rv("a", normal(0.0, 1.0)).shape([3]);
        m.rv("y", normal(Expr::name("a").gather("group"), 0.5));
        m.observe("y_obs", "y", Y);
    })
}

/// Each group's intercept and slope: two variables that need each other, integrated out one after
/// the other.
fn intercepts_and_slopes() -> Target {
    const GROUPS: usize = 8;
    const N: usize = 30;
    let group = |i: usize| i * i % GROUPS;
    let x = |i: usize| ((i * 7) % 11) as f64 / 5.0 - 1.0;
    let y = |i: usize| ((i * 5) % 13) as f64 / 4.0 - 1.5;
    let mut known = vec![known_normal("other", 0, 0.0, 1.0)];
    // One group with fifteen rows, one with eight, one without.
    for group_number in [1, 0, 3] {
        let sum = |f: fn(f64, f64) -> f64| -> f64 {
            (0..N).filter(|&i| group(i) == group_number).map(|i| f(x(i), y(i)) / 0.25).sum()
        };
        // Precision [[p, q], [q, r]] and its product with the mean, (s, t).
        let (p, q, r) = (1.0 + sum(|_, _| 1.0), sum(|x, _| x), 0.25 + sum(|x, _| x * x));
        let (s, t) = (sum(|_, y| y), sum(|x, y| x * y));
        let determinant = p * r - q * q;
        known.push(known_normal("a", group_number, (r * s - q * t) / determinant, r / determinant));
        known.push(known_normal("b", group_number, (p * t - q * s) / determinant, p / determinant));
    }
    let target = Target::new("intercepts-and-slopes", known, |m| {
        m.data("group", Tensor::indices(&(0..N).map(group).collect::<Vec<_>>()));
        m.data("x", Tensor::vector(&(0..N).map(x).collect::<Vec<_>>()));
        m.rv("a", normal(0.0, 1.0)).shape([GROUPS]);
        m.rv("b", normal(0.0, 2.0)).shape([GROUPS]);
        m.rv("other", normal(0.0, 1.0));
        let slope = Expr::name("b").gather("group") * Expr::name("x");
        m.rv("y", normal(Expr::name("a").gather("group") + slope, 0.5));
        m.observe("y_obs", "y", (0..N).map(y).collect::<Vec<_>>());
    });
    target.marginalised("intercepts-and-slopes")
}

/// A value that was not seen is a free variable: mu has precision 3 and sum 0.5, the value one
/// variance more.
fn missing_element() -> Target {
    let known = vec![
        known_normal("mu", 0, 0.5 / 3.0, 1.0 / 3.0),
        known_normal("y", 1, 0.5 / 3.0, 4.0 / 3.0),
    ];
    Target::new("missing-element", known, |m| {
        m.rv("mu", normal(0.0, 1.0));
        m.rv("y", normal("mu", 1.0)).shape([3]);
        m.observe_partly("y_obs", "y", &[Some(1.0), None, Some(-0.5)]);
    })
}

fn gamma_poisson() -> Target {
    let counts = [3.0, 1.0, 4.0, 1.0, 5.0];
    let known = vec![known("rate", 0, gamma_moments(2.0 + 14.0, 1.0 + 5.0))];
    Target::new("gamma-poisson", known, |m| {
        m.rv("rate", gamma(2.0, 1.0));
        m.rv("n", poisson("rate")).shape([5]);
        m.observe("n_obs", "n", Tensor::int([5], counts).expect("whole numbers"));
    })
}

fn rate_of_exponential() -> Target {
    let known = vec![known("rate", 0, gamma_moments(3.0 + 4.0, 2.0 + 5.0))];
    Target::new("gamma-exponential", known, |m| {
        m.rv("rate", gamma(3.0, 2.0));
        m.rv("t", exponential("rate")).shape([4]);
        m.observe("t_obs", "t", [0.5, 1.5, 2.0, 1.0]);
    })
}

fn dirichlet_multinomial() -> Target {
    let posterior = [3.0 + 1.0, 5.0 + 2.0, 2.0 + 1.0];
    let margin = |i: usize| known("p", i, beta_moments(posterior[i], 14.0 - posterior[i]));
    Target::new("dirichlet-multinomial", (0..3).map(margin).collect(), |m| {
        m.rv("p", dirichlet([1.0, 2.0, 1.0]));
        m.rv("n", multinomial(10, "p"));
        m.observe("n_obs", "n", Tensor::int([3], [3.0, 5.0, 2.0]).expect("whole numbers"));
    })
}

/// An observed affine image: 2 y + 1 = 7 says that y = 3, one value of normal(mu, 2) with mu ~
/// normal(0, 1).
fn lifted() -> Target {
    Target::new("lifted-affine", vec![known_normal("mu", 0, 3.0 / 5.0, 4.0 / 5.0)], |m| {
        m.rv("mu", normal(0.0, 1.0));
        m.rv("y", normal("mu", 2.0));
        m.det("z", 2.0 * Expr::name("y") + 1.0);
        m.observe("z_obs", "z", 7.0);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_regression_posterior_is_the_published_one() {
        let target = regression();
        let expected = [(1.010189, 0.064445), (2.000345, 0.010957)];
        for (known, (mean, sd)) in target.known.iter().zip(expected) {
            assert!((known.moments.mean - mean).abs() < 5e-7, "{known:?}");
            assert!((known.moments.variance.sqrt() - sd).abs() < 5e-7, "{known:?}");
        }
    }
}
