//! Incomplete gamma and beta functions over the whole plane of doubles: they end, stay
//! probabilities, and add up to one.
//!
//! The tables measure accuracy where users are; this walks the corners where a loop could spin or a
//! product overflow.

use exmc_math as m;

/// Powers of ten, and points around each.
fn magnitudes(low: i32, high: i32, step: usize) -> Vec<f64> {
    (low..=high).step_by(step).map(|k| m::pow(10.0, f64::from(k))).collect()
}

#[test]
fn gamma_tails_are_probabilities_everywhere() {
    for a in magnitudes(-300, 300, 12).into_iter().chain(magnitudes(-6, 16, 1)) {
        let near = [0.5, 0.999, 1.0, 1.001, 2.0].map(|factor| factor * a);
        let around = [-8.0, -1.0, 1.0, 8.0].map(|z| a + z * f64::sqrt(a));
        for x in magnitudes(-300, 300, 20).into_iter().chain(near).chain(around) {
            if x <= 0.0 {
                continue;
            }
            let (p, q) = (m::gamma_p(a, x), m::gamma_q(a, x));
            assert!(
                (0.0..=1.0).contains(&p) && (0.0..=1.0).contains(&q),
                "a {a:e} x {x:e}: {p} {q}"
            );
            assert!((p + q - 1.0).abs() < 1e-14, "a {a:e} x {x:e}: {p} + {q}");
            let (log_p, log_q) = (m::log_gamma_p(a, x), m::log_gamma_q(a, x));
            assert!(log_p <= 0.0 && log_q <= 0.0, "a {a:e} x {x:e}: {log_p} {log_q}");
            let slope = m::gamma_p_da(a, x);
            assert!(slope <= 0.0, "a {a:e} x {x:e}: slope {slope}");
        }
    }
}

#[test]
fn beta_tails_are_probabilities_everywhere() {
    let shapes: Vec<f64> = magnitudes(-10, 8, 2).into_iter().chain([0.3, 1.0, 4.5, 3e3]).collect();
    let unequal = [(1e-10, 1e20), (3.0, 1e30), (1e12, 0.4), (1e100, 1e10)];
    let pairs = shapes.iter().flat_map(|&a| shapes.iter().map(move |&b| (a, b))).chain(unequal);
    for (a, b) in pairs {
        let mean = a / (a + b);
        let spread = f64::sqrt(mean * (1.0 - mean) / (a + b + 1.0));
        let around = [-8.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 8.0].map(|z| mean + z * spread);
        let ends = [1e-300, 1e-20, 1e-6, 0.1, 0.5, 0.69, 0.71, 0.9, 1.0 - 1e-6, 1.0 - 1e-16];
        for x in around.into_iter().chain(ends) {
            if !(x > 0.0 && x < 1.0) {
                continue;
            }
            let (p, q) = (m::beta_inc(a, b, x), m::beta_inc_upper(a, b, x));
            let label = format!("a {a:e} b {b:e} x {x:e}");
            // Rounding of the factor may carry a value one ulp over one.
            let range = 0.0..=1.0 + 1e-13;
            assert!(range.contains(&p) && range.contains(&q), "{label}: {p} {q}");
            assert!((p + q - 1.0).abs() < 1e-13, "{label}: {p} + {q}");
            assert!(
                m::log_beta_inc(a, b, x) <= 1e-13 && m::log_beta_inc_upper(a, b, x) <= 1e-13,
                "{label}"
            );
            let (by_a, by_b) = (m::beta_inc_da(a, b, x), m::beta_inc_db(a, b, x));
            assert!(by_a <= 1e-13 && by_b >= -1e-13, "{label}: slopes {by_a} {by_b}");
        }
    }
}

#[test]
fn quantiles_invert_over_wide_shapes() {
    // Round trips; the tolerance covers the conditioning of p by x near the ends of the range.
    for p in [1e-200, 1e-10, 0.2, 0.5, 0.9, 1.0 - 1e-10] {
        for a in magnitudes(-2, 9, 1) {
            let x = m::gamma_p_inverse(a, p);
            if x > 1e-290 {
                let back = m::gamma_p(a, x);
                assert!(
                    (back / p - 1.0).abs() < 1e-15 * (10.0 + 50.0 * a.sqrt()),
                    "a {a:e} p {p:e}: {x:e} {back:e}"
                );
            }
            for b in [0.1, 3.0, 1e3, 1e6] {
                let x = m::beta_inc_inverse(a, b, p);
                if x > 1e-290 && x < 0.99 {
                    let back = m::beta_inc(a, b, x);
                    let scale = 10.0 + 100.0 * (a + b).sqrt();
                    assert!(
                        (back / p - 1.0).abs() < 1e-15 * scale,
                        "a {a:e} b {b:e} p {p:e}: {x:e} {back:e}"
                    );
                }
            }
        }
    }
}
