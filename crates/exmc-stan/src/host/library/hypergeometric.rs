//! Hypergeometric functions of known numbers: sums of as many terms as they need.

use super::Call;
use crate::host::error::Fault;
use crate::value::Value;

/// Terms of a sum.
const TERMS: usize = 1_000_000;

type Plain = fn(&Call<'_>) -> Result<Value, Fault>;

/// Names and functions.
pub(crate) const FUNCTIONS: &[(&str, Plain)] = &[
    ("hypergeometric_1F0", |c| {
        let (a, z) = (c.real(0)?, c.real(1)?);
        Ok(Value::Real(exmc_math::exp(-a * exmc_math::log1p(-z))))
    }),
    ("hypergeometric_2F1", |c| {
        let [a, b, d, z] = [c.real(0)?, c.real(1)?, c.real(2)?, c.real(3)?];
        if z < 0.0 {
            // (1-z)^-a F(a, d-b; d; z/(z-1))
            let sum = sum(c, &[a, d - b], &[d], z / (z - 1.0))?;
            return Ok(Value::Real(exmc_math::exp(-a * exmc_math::log1p(-z)) * sum));
        }
        sum(c, &[a, b], &[d], z).map(Value::Real)
    }),
    ("hypergeometric_3F2", |c| sum(c, &c.reals(0)?, &c.reals(1)?, c.real(2)?).map(Value::Real)),
    ("hypergeometric_pFq", |c| sum(c, &c.reals(0)?, &c.reals(1)?, c.real(2)?).map(Value::Real)),
];

/// $\sum_n \frac{\prod(a_i)_n}{\prod(b_j)_n}\frac{z^n}{n!}$, until some terms in a row are below
/// rounding.
fn sum(c: &Call<'_>, above: &[f64], below: &[f64], z: f64) -> Result<f64, Fault> {
    const QUIET: usize = 4;
    let (mut term, mut total, mut quiet) = (1.0_f64, 1.0_f64, 0);
    for n in 0..TERMS {
        let n = n as f64;
        let upper: f64 = above.iter().map(|a| a + n).product();
        let lower: f64 = below.iter().map(|b| b + n).product();
        term *= upper / lower * z / (n + 1.0);
        total += term;
        quiet = if term.abs() <= 1e-17 * total.abs() { quiet + 1 } else { 0 };
        if quiet == QUIET || !total.is_finite() {
            break;
        }
    }
    if quiet < QUIET || !total.is_finite() {
        return Err(c.domain(format!("the series does not converge at {z}")));
    }
    Ok(total)
}
