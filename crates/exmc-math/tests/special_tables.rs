//! Special functions against 50-digit mpmath tables: the largest relative error of each must stay
//! within its promise.
//!
//! The tables and the script that wrote them are in `tests/data`. Run with `--nocapture` to see the
//! errors reached.

use std::path::Path;

use exmc_math as m;

type Function = fn(f64) -> f64;

/// Rows of one table: arguments, then the value.
fn rows(name: &str) -> Vec<Vec<f64>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("{name}.csv"));
    let text = std::fs::read_to_string(&path).expect("the table exists");
    let parse =
        |line: &str| line.split(',').map(|field| field.parse().expect("a number")).collect();
    text.lines().filter(|line| !line.starts_with('#')).map(parse).collect()
}

/// Compares `f` with its table; `floor` is the size below which the error counts as absolute, over
/// `floor`.
#[expect(clippy::print_stdout, reason = "--nocapture shows the errors reached")]
fn check_above(name: &str, promise: f64, floor: f64, f: impl Fn(&[f64]) -> f64) {
    let rows = rows(name);
    assert!(rows.len() >= 50, "{name} has only {} rows", rows.len());
    let (mut worst, mut worst_row) = (0.0, vec![]);
    for row in &rows {
        let (arguments, want) = (&row[..row.len() - 1], row[row.len() - 1]);
        let got = f(arguments);
        let error = (got - want).abs() / want.abs().max(floor);
        if error.is_nan() || error > worst {
            (worst, worst_row) = (error, row.clone());
            worst_row.push(got);
        }
    }
    println!("{name:28} {:4} points  worst {worst:8.1e} at {worst_row:?}", rows.len());
    assert!(
        worst <= promise,
        "{name}: error {worst:e} above {promise:e} at (arguments, want, got) = {worst_row:?}"
    );
}

fn check(name: &str, promise: f64, f: impl Fn(&[f64]) -> f64) {
    check_above(name, promise, 0.0, f);
}

/// One row per function of one argument: table, promise, function.
fn check_all(table: &[(&str, f64, Function)]) {
    for &(name, promise, f) in table {
        check(name, promise, |x| f(x[0]));
    }
}

#[test]
fn elementary_functions_within_four_ulp() {
    // An error of k ulp is at most k * 2.22e-16 relative.
    let four_ulp = 4.0 * f64::EPSILON;
    let table: &[(&str, Function)] = &[
        ("exp", m::exp),
        ("expm1", m::expm1),
        ("exp2", m::exp2),
        ("log", m::log),
        ("log2", m::log2),
        ("log10", m::log10),
        ("log1p", m::log1p),
        ("sin", m::sin),
        ("cos", m::cos),
        ("tan", m::tan),
        ("asin", m::asin),
        ("acos", m::acos),
        ("atan", m::atan),
        ("sinh", m::sinh),
        ("cosh", m::cosh),
        ("tanh", m::tanh),
        ("asinh", m::asinh),
        ("acosh", m::acosh),
        ("atanh", m::atanh),
        ("cbrt", m::cbrt),
    ];
    for &(name, f) in table {
        check(&format!("elementary_{name}"), four_ulp, |x| f(x[0]));
    }
    check("elementary_pow", four_ulp, |x| m::pow(x[0], x[1]));
    check("elementary_atan2", four_ulp, |x| m::atan2(x[0], x[1]));
    check("elementary_hypot", four_ulp, |x| m::hypot(x[0], x[1]));
}

#[test]
fn logistic_family() {
    check_all(&[
        ("inv_logit", 2e-15, m::inv_logit),
        ("logit", 2e-15, m::logit),
        ("softplus", 2e-15, m::softplus),
        ("softplus_inverse", 2e-15, m::softplus_inverse),
        ("log1m_exp", 2e-15, m::log1m_exp),
    ]);
    check("softplus", 2e-15, |x| -m::log_inv_logit(-x[0]));
    check("softplus", 2e-15, |x| -m::log1m_inv_logit(x[0]));
}

#[test]
fn gamma_family() {
    check_all(&[("lgamma", 1e-14, m::lgamma), ("lgamma1p", 1e-14, m::lgamma1p)]);
    check("lbeta", 1e-14, |x| m::lbeta(x[0], x[1]));
    check("lbeta", 1e-14, |x| m::lbeta(x[1], x[0]));
    check("lchoose", 1e-14, |x| m::lchoose(x[0], x[1]));
}

#[test]
fn polygamma_family() {
    check_all(&[("digamma", 1e-14, m::digamma), ("trigamma", 1e-14, m::trigamma)]);
    check("digamma_rise", 1e-14, |x| m::digamma_rise(x[0], x[1]));
    // Digamma has a root between any two negative integers, where reflection leaves an absolute
    // error.
    check_above("digamma_negative", 1e-14, 1.0, |x| m::digamma(x[0]));
    check("polygamma", 1e-14, |x| m::polygamma(x[0] as u32, x[1]));
}

#[test]
fn normal_family() {
    check_all(&[
        ("erf", 1e-15, m::erf),
        ("erfc", 1e-14, m::erfc),
        ("erfcx", 1e-14, m::erfcx),
        ("std_normal_cdf", 1e-14, m::std_normal_cdf),
        ("log_std_normal_cdf", 1e-14, m::log_std_normal_cdf),
        ("inverse_mills", 1e-14, m::inverse_mills),
        ("std_normal_quantile", 1e-14, m::std_normal_quantile),
        ("std_normal_quantile_log", 1e-14, m::std_normal_quantile_log),
    ]);
}

#[test]
fn incomplete_gamma_family() {
    let promise = 1e-13;
    check("gamma_p", promise, |x| m::gamma_p(x[0], x[1]));
    check("gamma_q", promise, |x| m::gamma_q(x[0], x[1]));
    check("log_gamma_p", promise, |x| m::log_gamma_p(x[0], x[1]));
    check("log_gamma_q", promise, |x| m::log_gamma_q(x[0], x[1]));
    check("gamma_p_da", promise, |x| m::gamma_p_da(x[0], x[1]));
    check("log_gamma_p_da", promise, |x| m::log_gamma_p_da(x[0], x[1]));
    check("log_gamma_q_da", promise, |x| m::log_gamma_q_da(x[0], x[1]));
}

#[test]
fn incomplete_beta_family() {
    let promise = 1e-13;
    check("beta_inc", promise, |x| m::beta_inc(x[0], x[1], x[2]));
    check("beta_inc_upper", promise, |x| m::beta_inc_upper(x[0], x[1], x[2]));
    check("log_beta_inc", promise, |x| m::log_beta_inc(x[0], x[1], x[2]));
    check("log_beta_inc_upper", promise, |x| m::log_beta_inc_upper(x[0], x[1], x[2]));
    check("beta_inc_da", promise, |x| m::beta_inc_da(x[0], x[1], x[2]));
    check("beta_inc_db", promise, |x| m::beta_inc_db(x[0], x[1], x[2]));
    check("student_t_cdf", promise, |x| m::student_t_cdf(x[0], x[1]));
}

#[test]
fn bessel_and_owen() {
    check_all(&[
        ("log_bessel_i0", 1e-14, m::log_bessel_i0),
        ("bessel_i1_i0_ratio", 1e-14, m::bessel_i1_i0_ratio),
    ]);
    // log I1 has a zero at 1.75, where its error is absolute.
    check_above("log_bessel_i1", 1e-14, 1.0, |x| m::log_bessel_i1(x[0]));
    check("owens_t", 1e-13, |x| m::owens_t(x[0], x[1]));
}

#[test]
fn quantiles() {
    // The second to last column is the point that made the probability; the last is the quantile of
    // the rounded one.
    check("gamma_p_inverse", 1e-13, |x| m::gamma_p_inverse(x[0], x[2]));
    check("beta_inc_inverse", 1e-13, |x| m::beta_inc_inverse(x[0], x[1], x[3]));
    check("student_t_quantile", 1e-13, |x| m::student_t_quantile(x[2], x[0]));
}

/// Stirling's leading terms are all there is of numbers of 1e300.
#[test]
fn logs_of_incomplete_gamma_functions_are_finite_at_huge_arguments() {
    assert_eq!((m::log_gamma_q(0.5, 1e300), m::log_gamma_p(2.0, 1e300)), (-1e300, 0.0));
    let wanted = -1e200 * (m::log(10.0) - 0.9);
    assert!((m::log_gamma_p(1e200, 1e199) / wanted - 1.0).abs() < 1e-13);
    let half = m::log(0.5);
    assert_eq!((m::log_gamma_p(1e200, 1e200), m::log_gamma_q(1e200, 1e10)), (half, 0.0));
    let slope = m::log(1e300) - m::digamma(0.5);
    assert_eq!((m::log_gamma_q_da(0.5, 1e300), m::log_gamma_p_da(0.5, 1e300)), (slope, 0.0));
}
