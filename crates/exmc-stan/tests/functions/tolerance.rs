//! How near to mpmath's number a function must come, by its name.

/// How far a number may be off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Of the larger of the number and `floor`.
    pub(crate) relative: f64,
    /// Where the scale ends at which digits count: 0 for all digits of any number, 1 for what is a
    /// logarithm in nats.
    pub(crate) floor: f64,
    /// Errors that moving every argument by so many ulps would make are allowed on top.
    pub(crate) ulps: f64,
    /// The same as `relative`, for derivatives.
    pub(crate) slope: f64,
    /// How much of the value a derivative may be off, times the argument.
    pub(crate) still: f64,
}

/// See [`of`].
const DEFAULT: Tolerance =
    Tolerance { relative: 1e-13, floor: 0.0, ulps: 0.0, slope: 1e-9, still: 1e-15 };

/// Below the smallest normal number nothing has digits.
const NOTHING: f64 = f64::MIN_POSITIVE;

impl Tolerance {
    /// Whether a value is near enough; `swing` is the sum of |argument times derivative|.
    pub(crate) fn accepts(self, found: f64, wanted: f64, swing: f64) -> bool {
        if found.is_infinite() || wanted.is_infinite() {
            return found == wanted;
        }
        let scale = self.relative * wanted.abs().max(self.floor);
        (found - wanted).abs() <= scale + NOTHING + self.ulps * f64::EPSILON * swing
    }

    /// Whether a derivative is, by an argument of that size.
    pub(crate) fn accepts_slope(self, found: f64, wanted: f64, argument: f64) -> bool {
        if wanted.abs() > 1e300 {
            return found.is_infinite() || (found / wanted - 1.0).abs() <= self.slope;
        }
        // What does not move the value by 1e-15 when the argument moves by its size (or by one) is
        // no derivative.
        let nothing = self.still / argument.abs().max(1.0);
        (found - wanted).abs() <= self.slope * wanted.abs() + nothing
    }
}

/// Functions whose values are not good to the default's relative error at every point of the table,
/// with what they are good to and why.
const OTHERS: &[(&str, Tolerance)] = &[
    // Logarithms, in nats: an error is a factor of what they are logarithms of.
    (
        "lgamma lbeta lchoose log_falling_factorial log_rising_factorial log_modified_bessel_first_kind lmgamma log_mix",
        Tolerance { relative: 1e-13, floor: 1.0, ulps: 4.0, slope: 1e-8, still: 1e-13 },
    ),
    // Steep where the last bit of the argument moves them by more.
    (
        "logit digamma inv_Phi std_normal_qf std_normal_log_qf inv_erfc lambert_w0 lambert_wm1 Phi_approx",
        Tolerance { ulps: 4.0, ..DEFAULT },
    ),
    // Exponentials of logarithms, whose size counts ulps.
    (
        "beta gamma_p gamma_q inc_beta tgamma inv_inc_beta student_t_qf modified_bessel_first_kind modified_bessel_second_kind",
        Tolerance { relative: 1e-12, ulps: 4.0, slope: 1e-8, still: 1e-13, ..DEFAULT },
    ),
];

/// Log densities and log distribution functions, in nats, of sums of terms that may be large.
const LOG_DENSITY: Tolerance =
    Tolerance { relative: 1e-12, floor: 1.0, ulps: 8.0, slope: 1e-8, still: 1e-12 };

/// Their exponentials.
const DISTRIBUTION: Tolerance =
    Tolerance { relative: 1e-11, floor: 0.0, ulps: 8.0, slope: 1e-8, still: 1e-12 };

/// The tolerance of a function: values to 1e-13, some 450 ulps, of themselves (what a logarithm of
/// the size 700 leaves of its exponential), derivatives to 1e-9.
pub(crate) fn tolerance_of(name: &str) -> Tolerance {
    let exception = OTHERS.iter().find(|(names, _)| names.split(' ').any(|n| n == name));
    if let Some((_, tolerance)) = exception {
        *tolerance
    } else if name.ends_with("_cdf") {
        DISTRIBUTION
    } else if ["_lpdf", "_lpmf", "_lcdf", "_lccdf"].iter().any(|suffix| name.ends_with(suffix)) {
        LOG_DENSITY
    } else {
        DEFAULT
    }
}
