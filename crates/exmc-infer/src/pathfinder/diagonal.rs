//! A step and the change of the gradient along it -> a better diagonal of the inverse Hessian.

use exmc_math::linear::dot;

/// Updates the diagonal that quasi-Newton pairs start from: that of the BFGS update of the Hessian,
/// scaled to the step.
///
/// With $B=\mathrm{diag}(\alpha)^{-1}$, $a=z^\top\mathrm{diag}(\alpha) z$, $b=z^\top s$ and
/// $c=s^\top B s$, $1/\alpha_i \leftarrow
/// \frac{a}{b\,\alpha_i}+\frac{z_i^2}{b}-\frac{a\,s_i^2}{b\,c\,\alpha_i^2}$. An update that
/// rounding or overflow spoils is left out. **Reference**: Gilbert and Lemaréchal 1989, section
/// 3.2; Zhang et al. 2022, algorithm 3.
pub(super) fn update_diagonal(alpha: &mut [f64], s: &[f64], z: &[f64]) {
    let a: f64 = z.iter().zip(&*alpha).map(|(z, alpha)| z * z * alpha).sum();
    let b = dot(z, s);
    let c: f64 = s.iter().zip(&*alpha).map(|(s, alpha)| s * s / alpha).sum();
    let updated: Vec<f64> = alpha
        .iter()
        .zip(s)
        .zip(z)
        .map(|((alpha, s), z)| {
            let curvature = a / (b * alpha) + z * z / b - (a / b) * (s / alpha) * (s / alpha) / c;
            1.0 / curvature
        })
        .collect();
    if updated.iter().all(|x| *x > 0.0 && x.is_finite()) {
        alpha.copy_from_slice(&updated);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition with matrices: the diagonal of $(a/b)(B - B s s^\top B / c) + z z^\top / b$.
    #[test]
    fn it_is_the_diagonal_of_the_scaled_update() {
        let (mut alpha, s, z) = (vec![2.0, 0.5, 1.25], [1.0, -0.5, 0.25], [0.75, -2.0, 0.5]);
        let before = alpha.clone();
        update_diagonal(&mut alpha, &s, &z);
        let b_of = |i: usize| 1.0 / before[i];
        let a: f64 = (0..3).map(|i| z[i] * before[i] * z[i]).sum();
        let b: f64 = (0..3).map(|i| z[i] * s[i]).sum();
        let c: f64 = (0..3).map(|i| s[i] * b_of(i) * s[i]).sum();
        for i in 0..3 {
            let old = b_of(i) - (b_of(i) * s[i]).powi(2) / c;
            let expected = a / b * old + z[i] * z[i] / b;
            assert!((1.0 / alpha[i] / expected - 1.0).abs() < 1e-14, "{i}");
        }
    }

    /// In one dimension it is the secant's curvature, whatever was there before.
    #[test]
    fn one_dimension_needs_one_step() {
        let mut alpha = vec![17.0];
        update_diagonal(&mut alpha, &[0.5], &[2.0]);
        assert!((alpha[0] - 0.25).abs() < 1e-15);
    }

    #[test]
    fn what_overflows_changes_nothing() {
        let mut alpha = vec![1.0, 2.0];
        update_diagonal(&mut alpha, &[1e-160, 0.0], &[1e160, 1e160]);
        assert_eq!(alpha, [1.0, 2.0]);
    }
}
