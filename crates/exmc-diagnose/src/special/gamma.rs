//! Regularised upper incomplete gamma function: the tail of the chi-square distribution.

/// $Q(a, x) = \Gamma(a, x)/\Gamma(a)$, by its series below $a + 1$ and its continued fraction above.
///
/// **Domain and edges**: `a > 0`, `x >= 0`; `x = 0` gives 1, `x = inf` gives 0, anything else NaN.
/// **Numerics**: relative error about 1e-13 for `a` up to 1000. **Reference**: DLMF 8.7.1 and 8.9.2.
pub(crate) fn gamma_q(a: f64, x: f64) -> f64 {
    if !(a > 0.0 && x >= 0.0) {
        return f64::NAN;
    }
    if x == 0.0 {
        return 1.0;
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    let front = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-17 {
            k += 1.0;
            term *= x / k;
            sum += term;
        }
        1.0 - front * sum
    } else {
        let mut b = x + 1.0 - a;
        let (mut c, mut d) = (1e300, 1.0 / b);
        let mut fraction = d;
        for k in 1..100_000 {
            let step = -f64::from(k) * (f64::from(k) - a);
            b += 2.0;
            d = 1.0 / (step * d + b);
            c = b + step / c;
            fraction *= c * d;
            if (c * d - 1.0).abs() < f64::EPSILON {
                break;
            }
        }
        front * fraction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_equal_mpmath() {
        // mpmath.gammainc(a, x, inf, regularized=True) at 30 digits
        let table = [
            (0.5, 0.1, 0.654720846018577),
            (0.5, 3.0, 0.01430587843542964),
            (1.0, 2.0, 0.1353352832366127),
            (9.5, 4.0, 0.9866708821944025),
            (9.5, 10.0, 0.3945781820860008),
            (9.5, 40.0, 1.8596255029858508e-09),
            (50.0, 50.0, 0.48119168452795674),
            (50.0, 90.0, 1.6494985017178249e-06),
            (500.0, 620.0, 2.8152332289542095e-07),
        ];
        for (a, x, expected) in table {
            let q = gamma_q(a, x);
            assert!(((q - expected) / expected).abs() < 1e-12, "{a} {x}: {q} {expected}");
        }
        assert_eq!(gamma_q(2.0, 0.0), 1.0);
        assert_eq!(gamma_q(2.0, f64::INFINITY), 0.0);
        assert!(gamma_q(2.0, -1.0).is_nan() && gamma_q(0.0, 1.0).is_nan());
    }
}
