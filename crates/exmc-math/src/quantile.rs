//! Inverses of the incomplete gamma and beta functions: probabilities to quantiles of gamma, beta
//! and Student's t.
//!
//! Each solves on the log of the smaller tail, in a variable that spreads the whole range (log or
//! logit of the quantile), by Newton's method kept inside a shrinking bracket. The answer is as
//! good as the forward function and the conditioning allow. Largest relative errors over the tables
//! in `tests/data`: `gamma_p_inverse` 6e-15, `beta_inc_inverse` 5e-15, `student_t_quantile` 8e-16.

use crate::double_double::Dd;
use crate::elementary::{exp, log};
use crate::error_function::std_normal_quantile;
use crate::gamma::{lbeta, lgamma1p};
use crate::incomplete_beta::log_tail_slope;
use crate::incomplete_gamma::{log_factor, log_gamma_p, log_gamma_q};
use crate::logistic::inv_logit;

/// The `x` with $P(a,x)=p$: quantile of a gamma variable of shape `a` and rate one.
///
/// **Edges**: 0 at `p` = 0, +∞ at `p` = 1; NaN for `p` outside `[0, 1]` or `a` not positive and
/// finite. May underflow to 0 for small `a`.
///
/// ```
/// let x = exmc_math::gamma_p_inverse(2.5, 0.3);
/// assert!((exmc_math::gamma_p(2.5, x) / 0.3 - 1.0).abs() < 1e-14);
/// ```
pub fn gamma_p_inverse(a: f64, p: f64) -> f64 {
    gamma_quantile(a, p, 1.0 - p)
}

/// The `x` with $Q(a,x)=q$; accurate for small `q`, where `1 - q` would round.
///
/// ```
/// let x = exmc_math::gamma_q_inverse(2.5, 1e-100);
/// assert!((exmc_math::gamma_q(2.5, x) / 1e-100 - 1.0).abs() < 1e-12);
/// ```
pub fn gamma_q_inverse(a: f64, q: f64) -> f64 {
    gamma_quantile(a, 1.0 - q, q)
}

/// Quantile from both tails, of which the smaller is taken as exact.
fn gamma_quantile(a: f64, p: f64, q: f64) -> f64 {
    if !(a > 0.0 && a < f64::INFINITY && p >= 0.0 && q >= 0.0) {
        return f64::NAN;
    }
    if p == 0.0 || q == 0.0 {
        return if p == 0.0 { 0.0 } else { f64::INFINITY };
    }
    // Far left P is x^a / Gamma(a + 1); elsewhere Wilson and Hilferty's cube starts.
    let far_left = (log(p) + lgamma1p(a)) / a;
    if far_left < -740.0 {
        return exp(far_left);
    }
    let z = if p < q { std_normal_quantile(p) } else { -std_normal_quantile(q) };
    let root = 1.0 - 1.0 / (9.0 * a) + z / (3.0 * a.sqrt());
    let start = if root > 0.2 { log(a) + 3.0 * log(root) } else { far_left };
    let lower = p <= q;
    let miss = |x: f64| {
        // Log of x times the density.
        let log_density = log_factor(a, x).value() + log(a);
        if lower {
            let tail = log_gamma_p(a, x);
            (tail - log(p), exp(log_density - tail))
        } else {
            let tail = log_gamma_q(a, x);
            (log(q) - tail, exp(log_density - tail))
        }
    };
    let x = exp(solve(-745.0, 340.0, start, |u| miss(exp(u))));
    // The log of x carries fewer digits than x: one more step from x itself.
    if x == 0.0 {
        return x;
    }
    let (value, slope) = miss(x);
    polish(x, -value / slope)
}

/// `x` moved by a relative step, unless that is not a small number.
fn polish(x: f64, step: f64) -> f64 {
    if step.abs() < 1e-6 { x + x * step } else { x }
}

/// The `x` with $I_x(a,b)=p$: quantile of a beta variable.
///
/// **Edges**: 0 at `p` = 0, 1 at `p` = 1; NaN for `p` outside `[0, 1]` or shapes not positive and
/// finite. May round to 0 or 1 for small shapes.
///
/// ```
/// let x = exmc_math::beta_inc_inverse(2.0, 5.0, 0.3);
/// assert!((exmc_math::beta_inc(2.0, 5.0, x) / 0.3 - 1.0).abs() < 1e-14);
/// ```
pub fn beta_inc_inverse(a: f64, b: f64, p: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && a < f64::INFINITY && b < f64::INFINITY && (0.0..=1.0).contains(&p)) {
        f64::NAN
    } else if p == 0.0 || p == 1.0 {
        p
    } else {
        let u = beta_log_odds(a, b, p, 1.0 - p);
        let x = inv_logit(u);
        if x == 0.0 || x == 1.0 {
            return x;
        }
        // The log odds carry fewer digits than x: one more step from x itself, on the side of the
        // smaller tail.
        let (below, above) = (Dd::from(x), Dd::difference(1.0, x));
        let step = if p <= 0.5 {
            let (log_tail, slope) = log_tail_slope(a, b, below, above);
            (log(p) - log_tail) / slope
        } else {
            let (log_tail, slope) = log_tail_slope(b, a, above, below);
            (log_tail - log(1.0 - p)) / slope
        };
        polish(x, above.high * step)
    }
}

/// Log odds of the beta quantile with lower tail `p` and upper tail `q`.
fn beta_log_odds(a: f64, b: f64, p: f64, q: f64) -> f64 {
    if p > q {
        return -beta_log_odds(b, a, q, p);
    }
    // Far left I_x is x^a / (a B); start there or at the mean, whichever is further left.
    let far_left = (log(p) + log(a) + lbeta(a, b)) / a;
    let start = far_left.min(log(a / b));
    if start < -740.0 {
        return far_left;
    }
    solve(-745.0, 745.0, start, |u| {
        let (x, y) = odds_parts(u);
        let (log_tail, slope) = log_tail_slope(a, b, x, y);
        (log_tail - log(p), slope)
    })
}

/// `x` and `1 - x` from log odds, each with its own relative accuracy.
fn odds_parts(u: f64) -> (Dd, Dd) {
    if u < 0.0 {
        let x = Dd::from(inv_logit(u));
        (x, Dd::ONE - x)
    } else {
        let y = Dd::from(inv_logit(-u));
        (Dd::ONE - y, y)
    }
}

/// Quantile of Student's t with `nu` degrees of freedom.
///
/// **Edges**: ∓∞ at 0 and 1, 0 at 1/2; `nu` = +∞ is the standard normal; NaN for `p` outside `[0,
/// 1]` or unless `nu > 0`.
///
/// ```
/// assert!((exmc_math::student_t_quantile(0.975, 4.0) / 2.7764451051977987 - 1.0).abs() < 1e-14);
/// ```
pub fn student_t_quantile(p: f64, nu: f64) -> f64 {
    if nu.is_nan() || nu <= 0.0 || !(0.0..=1.0).contains(&p) {
        f64::NAN
    } else if nu.is_infinite() {
        std_normal_quantile(p)
    } else if p == 0.5 {
        0.0
    } else {
        let tail = p.min(1.0 - p);
        let size = if tail == 0.0 { f64::INFINITY } else { student_size(tail, nu) };
        if p < 0.5 { -size } else { size }
    }
}

/// Size of t with `tail` beyond it: $x=\nu/(\nu+t^2)$ has lower tail `2 tail`, so
/// $t=\sqrt\nu\,e^{-u/2}$ with $u$ its log odds.
fn student_size(tail: f64, nu: f64) -> f64 {
    let u = beta_log_odds(0.5 * nu, 0.5, 2.0 * tail, 1.0 - 2.0 * tail);
    let t = nu.sqrt() * exp(-0.5 * u);
    if !(t > 1e-150 && t < 1e150) {
        return t;
    }
    // The log odds carry fewer digits than t: one more step from t itself.
    let square = Dd::product(t, t);
    let total = square + Dd::from(nu);
    let (log_tail, slope) = log_tail_slope(0.5 * nu, 0.5, Dd::from(nu) / total, square / total);
    polish(t, 0.5 * (log_tail - log(2.0 * tail)) / slope)
}

/// Root of an increasing function given with its derivative: Newton's steps, halving the bracket
/// where one leaves it.
fn solve(mut low: f64, mut high: f64, start: f64, f: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut u = start.clamp(low, high);
    for _ in 0..200 {
        let (value, slope) = f(u);
        if value == 0.0 {
            return u;
        }
        if value < 0.0 {
            low = u;
        } else {
            high = u;
        }
        let next = u - value / slope;
        let inside = next > low && next < high;
        let next = if inside { next } else { 0.5 * (low + high) };
        if (next - u).abs() <= 1e-16 * u.abs() || (inside && (next - u).abs() < 1e-17) {
            return next;
        }
        u = next;
    }
    u
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        let inf = f64::INFINITY;
        assert_eq!((gamma_p_inverse(2.0, 0.0), gamma_p_inverse(2.0, 1.0)), (0.0, inf));
        assert_eq!((gamma_q_inverse(2.0, 0.0), gamma_q_inverse(2.0, 1.0)), (inf, 0.0));
        assert_eq!((beta_inc_inverse(2.0, 3.0, 0.0), beta_inc_inverse(2.0, 3.0, 1.0)), (0.0, 1.0));
        assert_eq!((student_t_quantile(0.0, 3.0), student_t_quantile(1.0, 3.0)), (-inf, inf));
        assert_eq!(
            (student_t_quantile(0.5, 3.0), student_t_quantile(0.3, inf)),
            (0.0, std_normal_quantile(0.3))
        );
        assert_eq!(gamma_p_inverse(1e-6, 0.3), 0.0);
    }

    #[test]
    fn outside_the_domain_is_nan() {
        for p in [-0.1, 1.1, f64::NAN] {
            assert!(gamma_p_inverse(2.0, p).is_nan() && beta_inc_inverse(2.0, 2.0, p).is_nan());
            assert!(student_t_quantile(p, 2.0).is_nan() && gamma_q_inverse(2.0, p).is_nan());
        }
        assert!(gamma_p_inverse(0.0, 0.5).is_nan() && beta_inc_inverse(0.0, 1.0, 0.5).is_nan());
        assert!(student_t_quantile(0.5, 0.0).is_nan());
    }
}
