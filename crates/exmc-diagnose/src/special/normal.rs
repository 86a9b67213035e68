//! Quantile function of the standard normal distribution.

/// $\Phi^{-1}(p)$ by three rational approximations, relative error about 1e-15.
///
/// **Domain and edges**: 0 and 1 give -inf and +inf; outside `[0, 1]` NaN.
/// **Reference**: Wichura 1988, algorithm AS 241 (PPND16), *Applied Statistics* 37(3).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-libm::log(tail)).sqrt();
    let size = if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &FAR) };
    size.copysign(q)
}

/// Numerator and denominator coefficients, from the highest power down.
type Rational = ([f64; 8], [f64; 8]);

fn ratio(r: f64, (numerator, denominator): &Rational) -> f64 {
    let horner = |c: &[f64; 8]| c.iter().fold(0.0, |sum, c| sum * r + c);
    horner(numerator) / horner(denominator)
}

#[expect(clippy::excessive_precision, reason = "coefficients as printed in the paper")]
const CENTRE: Rational = (
    [
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080,
    ],
    [
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ],
);

#[expect(clippy::excessive_precision, reason = "coefficients as printed in the paper")]
const MIDDLE: Rational = (
    [
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258,
        3.64784832476320460504,
        5.76949722146069140550,
        4.63033784615654529590,
        1.42343711074968357734,
    ],
    [
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940,
        2.05319162663775882187,
        1.0,
    ],
);

#[expect(clippy::excessive_precision, reason = "coefficients as printed in the paper")]
const FAR: Rational = (
    [
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580,
        5.46378491116411436990,
        6.65790464350110377720,
    ],
    [
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverts_the_normal_distribution() {
        // mpmath at 30 digits: sqrt(2) * erfinv(2 p - 1) of the double nearest to p.
        let table = [
            (1e-300, -37.0470962993612),
            (1e-20, -9.262340089798407),
            (1e-10, -6.361340902404057),
            (0.0001, -3.7190164854556804),
            (0.01, -2.326347874040841),
            (0.07, -1.4757910281791706),
            (0.08, -1.4050715603096327),
            (0.3, -0.5244005127080408),
            (0.49, -0.025068908258711057),
            (0.6, 0.2533471031357997),
            (0.9, 1.2815515655446006),
            (0.97, 1.8807936081512506),
            (0.999999, 4.753424308817087),
        ];
        for (p, z) in table {
            let error = (normal_quantile(p) - z) / z;
            assert!(error.abs() < 2e-15, "p {p}: relative error {error:e}");
        }
    }

    #[test]
    fn edges() {
        assert_eq!(normal_quantile(0.5), 0.0);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert!(normal_quantile(-0.1).is_nan());
        assert!(normal_quantile(f64::NAN).is_nan());
    }
}
