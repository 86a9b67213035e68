//! Functions of one, two and three real numbers.

use std::f64::consts;

use exmc_math as m;

use super::Builtin::{self, Real1, Real2, Real3, Within};

const INF: f64 = f64::INFINITY;

/// Names and functions.
pub(crate) const FUNCTIONS: &[(&str, Builtin)] = &[
    ("exp", Real1(m::exp)),
    ("exp2", Real1(m::exp2)),
    ("expm1", Real1(m::expm1)),
    ("log", Real1(m::log)),
    ("log1p", Within(m::log1p, -1.0, INF)),
    ("log1m", Within(m::log1m, -INF, 1.0)),
    ("log1p_exp", Real1(m::log1p_exp)),
    ("log1m_exp", Real1(m::log1m_exp)),
    ("log_inv_logit", Real1(m::log_inv_logit)),
    ("log1m_inv_logit", Real1(m::log1m_inv_logit)),
    ("inv_logit", Real1(m::inv_logit)),
    ("logit", Real1(m::logit)),
    ("inv_cloglog", Real1(inv_cloglog)),
    ("sqrt", Real1(f64::sqrt)),
    ("cbrt", Real1(m::cbrt)),
    ("square", Real1(|x| x * x)),
    ("inv", Real1(|x| 1.0 / x)),
    ("inv_sqrt", Real1(|x| 1.0 / x.sqrt())),
    ("inv_square", Real1(|x| 1.0 / (x * x))),
    ("fabs", Real1(f64::abs)),
    ("floor", Real1(f64::floor)),
    ("ceil", Real1(f64::ceil)),
    ("round", Real1(f64::round)),
    ("trunc", Real1(f64::trunc)),
    ("step", Real1(|x| if x < 0.0 { 0.0 } else { 1.0 })),
    ("sin", Real1(m::sin)),
    ("cos", Real1(m::cos)),
    ("tan", Real1(m::tan)),
    ("asin", Real1(m::asin)),
    ("acos", Real1(m::acos)),
    ("atan", Real1(m::atan)),
    ("sinh", Real1(m::sinh)),
    ("cosh", Real1(m::cosh)),
    ("tanh", Real1(m::tanh)),
    ("asinh", Real1(m::asinh)),
    ("acosh", Within(m::acosh, 1.0, INF)),
    ("atanh", Within(m::atanh, -1.0, 1.0)),
    ("erf", Real1(m::erf)),
    ("erfc", Real1(m::erfc)),
    ("inv_erfc", Real1(inv_erfc)),
    ("Phi", Real1(m::std_normal_cdf)),
    ("Phi_approx", Real1(phi_approx)),
    ("inv_Phi", Within(m::std_normal_quantile, 0.0, 1.0)),
    ("std_normal_qf", Within(m::std_normal_quantile, 0.0, 1.0)),
    ("std_normal_log_qf", Within(m::std_normal_quantile_log, -INF, 0.0)),
    ("lgamma", Real1(m::lgamma)),
    ("tgamma", Real1(tgamma)),
    ("digamma", Real1(m::digamma)),
    ("trigamma", Real1(m::trigamma)),
    ("lambert_w0", Within(m::lambert_w0, -1.0 / consts::E, INF)),
    ("lambert_wm1", Within(m::lambert_wm1, -1.0 / consts::E, 0.0)),
    ("pow", Real2(m::pow)),
    ("fmax", Real2(f64::max)),
    ("fmin", Real2(f64::min)),
    ("fmod", Real2(libm::fmod)),
    ("fdim", Real2(|x, y| if x <= y { 0.0 } else { x - y })),
    ("hypot", Real2(m::hypot)),
    ("atan2", Real2(m::atan2)),
    ("ldexp", Real2(|x, n| libm::ldexp(x, n as i32))),
    ("beta", Real2(|a, b| m::exp(m::lbeta(a, b)))),
    ("lbeta", Real2(m::lbeta)),
    ("lchoose", Real2(lchoose)),
    ("binomial_coefficient_log", Real2(lchoose)),
    ("lmultiply", Real2(multiply_log)),
    ("multiply_log", Real2(multiply_log)),
    ("log_diff_exp", Real2(m::log_diff_exp)),
    ("log_inv_logit_diff", Real2(log_inv_logit_diff)),
    ("log_falling_factorial", Real2(log_falling_factorial)),
    ("log_rising_factorial", Real2(log_rising_factorial)),
    ("falling_factorial", Real2(falling_factorial)),
    ("rising_factorial", Real2(rising_factorial)),
    ("owens_t", Real2(m::owens_t)),
    ("lmgamma", Real2(log_multivariate_gamma)),
    ("binary_log_loss", Real2(binary_log_loss)),
    ("bessel_first_kind", Real2(m::bessel_j)),
    ("bessel_second_kind", Real2(m::bessel_y)),
    ("modified_bessel_first_kind", Real2(bessel_i)),
    ("log_modified_bessel_first_kind", Real2(log_bessel_i)),
    ("modified_bessel_second_kind", Real2(bessel_k)),
    ("fma", Real3(libm::fma)),
    ("inc_beta", Real3(m::beta_inc)),
];

/// $1 - e^{-e^x}$
fn inv_cloglog(x: f64) -> f64 {
    -m::expm1(-m::exp(x))
}

/// $\operatorname{inv\_logit}(0.07056 x^3 + 1.5976 x)$. **Reference**: Stan's functions reference.
fn phi_approx(x: f64) -> f64 {
    m::inv_logit(0.07056 * x * x * x + 1.5976 * x)
}

/// $-\Phi^{-1}(x / 2) / \sqrt 2$
fn inv_erfc(x: f64) -> f64 {
    -m::std_normal_quantile(0.5 * x) * consts::FRAC_1_SQRT_2
}

/// $x \log y$, zero where both are zero.
pub(crate) fn multiply_log(x: f64, y: f64) -> f64 {
    if x == 0.0 && y == 0.0 { 0.0 } else { x * m::log(y) }
}

/// $\log(\operatorname{inv\_logit}(x) - \operatorname{inv\_logit}(y))$
fn log_inv_logit_diff(x: f64, y: f64) -> f64 {
    let gap = if x == y { 0.0 } else { y - x };
    m::log1m_exp(gap) - m::log1p_exp(-x) - m::log1p_exp(y)
}

/// $-\log p$ or $-\log(1-p)$; beyond 0 to 1 an error in Stan, NaN here.
fn binary_log_loss(y: f64, p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        f64::NAN
    } else if y == 0.0 {
        -m::log1m(p)
    } else {
        -m::log(p)
    }
}

/// $\log\binom nk$ for real $n\ge-1$ and $-1\le k\le n+1$; beyond an error in Stan, NaN here.
fn lchoose(n: f64, k: f64) -> f64 {
    if !(n >= -1.0 && k >= -1.0 && k <= n + 1.0) {
        f64::NAN
    } else if k == 0.0 || k == n {
        0.0
    } else {
        // Beside a k of one a tiny n must not be lost.
        let rest = if n.abs() < 0.5 { n + (1.0 - k) } else { n - k + 1.0 };
        -m::log1p(n) - m::lbeta(k + 1.0, rest)
    }
}

/// $x (x - 1) \cdots (x - n + 1)$; an error in Stan for negative n, NaN here.
fn falling_factorial(x: f64, n: f64) -> f64 {
    factorial(x, n, -1.0)
}

/// $x (x + 1) \cdots (x + n - 1)$; an error in Stan for negative n, NaN here.
fn rising_factorial(x: f64, n: f64) -> f64 {
    factorial(x, n, 1.0)
}

fn factorial(x: f64, n: f64, step: f64) -> f64 {
    // Products of more factors than this have overflowed or vanished, or their factors are around
    // zero.
    const MAX_STEPS: f64 = 1e5;
    if n < 0.0 || x.is_nan() {
        return f64::NAN;
    }
    let mut value = 1.0;
    for k in 0..n.min(MAX_STEPS) as i64 {
        value *= x + step * k as f64;
        if value == 0.0 {
            break;
        }
    }
    value
}

/// $\log|\Gamma(b)/\Gamma(a)|$ for $b = a + n$, where a or b is the positive x or one more. Where
/// nothing is negative $\log\Gamma(n+1) - \log B(a, n+1) - \log b$, which does not cancel for a
/// large a as log gammas do; from zero or below, where n is whole, by reflection at the sine of x,
/// as a itself may be rounded to a pole.
fn log_gamma_ratio(x: f64, [a, b]: [f64; 2], n: f64) -> f64 {
    if n < 0.0 {
        -log_gamma_ratio(x, [b, a], -n)
    } else if a > 0.0 {
        m::lgamma(n + 1.0) - m::lbeta(a, n + 1.0) - m::log(b)
    } else if n.floor() == n {
        let sine = m::sin(consts::PI * (x - x.round()));
        m::lgamma(b) + m::log(sine.abs()) + m::lgamma(1.0 - a) - m::log(consts::PI)
    } else {
        m::lgamma(b) - m::lgamma(a)
    }
}

/// $\log|\Gamma(x+n)/\Gamma(x)|$ for positive x, else an error in Stan and NaN here.
fn log_rising_factorial(x: f64, n: f64) -> f64 {
    if x > 0.0 { log_gamma_ratio(x, [x, x + n], n) } else { f64::NAN }
}

/// $\log|\Gamma(x+1)/\Gamma(x-n+1)|$ for positive x, else an error in Stan and NaN here.
fn log_falling_factorial(x: f64, n: f64) -> f64 {
    if !(x > 0.0) {
        return f64::NAN;
    }
    // A tiny x must not be lost for n near one, nor the one for n near a large x.
    let low = if (x - n).abs() <= 0.5 * x { x - n + 1.0 } else { x + (1.0 - n) };
    log_gamma_ratio(x, [low, x + 1.0], n)
}

/// $\Gamma(x)$; zero and negative whole numbers are errors in Stan, NaN here.
fn tgamma(x: f64) -> f64 {
    if x == 0.0 { f64::NAN } else { m::gamma(x) }
}

/// $\log\Gamma_n(x) = \tfrac{n(n-1)}{4}\log\pi + \sum_{j=1}^n \log\Gamma(x + (1 - j)/2)$
fn log_multivariate_gamma(n: f64, x: f64) -> f64 {
    // For a tiny x, x - 1 is rounded to a pole: log gamma of x - k is that of x less the logarithms
    // of the steps.
    let term = |j: i64| {
        let whole = if x.abs() < 1e-3 { j / 2 } else { 0 };
        let first = x - 0.5 * (j - 2 * whole) as f64;
        let steps = (1..=whole).map(|k| m::log((first - k as f64).abs()));
        m::lgamma(first) - steps.sum::<f64>()
    };
    let terms = (0..n as i64).map(term);
    0.25 * n * (n - 1.0) * m::log(consts::PI) + terms.sum::<f64>()
}

/// $I_\nu(x) = \sum_k (x/2)^{2k+\nu} / (k!\,\Gamma(k+\nu+1))$, in logs relative to the first term.
fn log_bessel_i(order: f64, x: f64) -> f64 {
    if !(x >= 0.0 && order >= -1.0) {
        return f64::NAN;
    }
    if x == 0.0 {
        return if order == 0.0 { 0.0 } else { -order * INF };
    }
    if x == INF {
        return INF;
    }
    // Orders 1 and -1 are the same.
    let order = if order == -1.0 { 1.0 } else { order };
    let large = x > 50.0 && x > 0.5 * order * order;
    if large {
        // Hankel's expansion: I ~ e^x / sqrt(2 pi x) sum (-1)^k a_k(order) / x^k.
        let mu = 4.0 * order * order;
        let (mut term, mut sum) = (1.0_f64, 1.0);
        for k in 1..200 {
            let odd = f64::from(2 * k - 1);
            let next = -term * (mu - odd * odd) / (f64::from(k) * 8.0 * x);
            if next.abs() >= term.abs() || next.abs() < 1e-17 * sum {
                break;
            }
            term = next;
            sum += term;
        }
        return x - 0.5 * m::log(2.0 * consts::PI * x) + m::log(sum);
    }
    let quarter = 0.25 * x * x;
    let (mut term, mut sum, mut shift) = (1.0_f64, 1.0_f64, 0.0);
    for k in 1..100_000 {
        let k = f64::from(k);
        term *= quarter / (k * (k + order));
        sum += term;
        if sum > 1e250 {
            (term, sum, shift) = (term * 1e-250, sum * 1e-250, shift + 250.0 * consts::LN_10);
        }
        if term < 1e-17 * sum {
            break;
        }
    }
    order * m::log(0.5 * x) - m::lgamma(order + 1.0) + m::log(sum) + shift
}

fn bessel_i(order: f64, x: f64) -> f64 {
    let order = order.abs();
    let sign = if x < 0.0 && order % 2.0 == 1.0 { -1.0 } else { 1.0 };
    sign * m::exp(log_bessel_i(order, x.abs()))
}

/// $K_\nu(x) = \int_0^\infty e^{-x\cosh t}\cosh(\nu t)\,dt$, by the trapezoidal rule, which
/// converges exponentially here.
fn bessel_k(order: f64, x: f64) -> f64 {
    if !(x > 0.0) {
        return if x == 0.0 { INF } else { f64::NAN };
    }
    const STEP: f64 = 1.0 / 64.0;
    let mut sum = 0.5 * m::exp(-x);
    for k in 1..64 * 800 {
        let t = STEP * f64::from(k);
        let exponent = order.abs() * t - x * m::cosh(t);
        let term = 0.5 * (m::exp(exponent) + m::exp(exponent - 2.0 * order.abs() * t));
        sum += term;
        if term < 1e-18 * sum && exponent < 0.0 {
            break;
        }
    }
    STEP * sum
}
