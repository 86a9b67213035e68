//! Roots of a continuous function of one variable: a bracket -> the place where the sign changes.

/// The root of `f` between `low` and `high`, where `f` has opposite signs, to about `tolerance`;
/// `None` where the signs are equal or a value is NaN.
///
/// **Reference**: Brent 1973, *Algorithms for Minimization Without Derivatives*, chapter 4: secant
/// or inverse quadratic steps while they shrink the bracket fast enough, bisection otherwise.
pub(crate) fn find_root(
    mut f: impl FnMut(f64) -> f64,
    low: f64,
    high: f64,
    tolerance: f64,
) -> Option<f64> {
    const MOST_STEPS: usize = 100;
    /// `current` is the best point so far, `contra` the end of the bracket with the other sign.
    struct Point {
        x: f64,
        y: f64,
    }
    let (mut before, mut current) = (Point { x: low, y: f(low) }, Point { x: high, y: f(high) });
    if before.y == 0.0 {
        return Some(low);
    }
    if current.y == 0.0 {
        return Some(high);
    }
    if before.y.is_nan() || current.y.is_nan() || (before.y < 0.0) == (current.y < 0.0) {
        return None;
    }
    let mut contra = Point { x: before.x, y: before.y };
    let (mut step_before, mut step) = (current.x - before.x, current.x - before.x);
    for _ in 0..MOST_STEPS {
        if before.y != 0.0 && (before.y < 0.0) != (current.y < 0.0) {
            contra = Point { x: before.x, y: before.y };
            step = current.x - before.x;
            step_before = step;
        }
        if contra.y.abs() < current.y.abs() {
            before = Point { x: current.x, y: current.y };
            current = Point { x: contra.x, y: contra.y };
            contra = Point { x: before.x, y: before.y };
        }
        let smallest = (tolerance + 4.0 * f64::EPSILON * current.x.abs()) / 2.0;
        let bisection = (contra.x - current.x) / 2.0;
        if current.y == 0.0 || bisection.abs() < smallest {
            return Some(current.x);
        }
        let tried = if step_before.abs() > smallest && current.y.abs() < before.y.abs() {
            let to_before = (before.y - current.y) / (before.x - current.x);
            if before.x == contra.x {
                -current.y / to_before
            } else {
                let to_contra = (contra.y - current.y) / (contra.x - current.x);
                -current.y * (contra.y * to_contra - before.y * to_before)
                    / (to_contra * to_before * (contra.y - before.y))
            }
        } else {
            f64::INFINITY
        };
        if 2.0 * tried.abs() < step_before.abs().min(3.0 * bisection.abs() - smallest) {
            (step_before, step) = (step, tried);
        } else {
            (step_before, step) = (bisection, bisection);
        }
        before = Point { x: current.x, y: current.y };
        current.x += if step.abs() > smallest { step } else { smallest.copysign(bisection) };
        current.y = f(current.x);
    }
    Some(current.x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_roots_or_says_that_the_signs_agree() {
        let cube = find_root(|x| x * x * x - 2.0, 0.0, 2.0, 1e-15).unwrap();
        assert!((cube - 1.259_921_049_894_873_2).abs() < 1e-14, "{cube}");
        let steep = find_root(|x| if x < 0.25 { -1.0 } else { 1e9 * x }, 0.0, 1.0, 1e-12).unwrap();
        assert!((steep - 0.25).abs() < 1e-11, "{steep}");
        assert_eq!(find_root(|x| x, 0.0, 1.0, 1e-12), Some(0.0));
        assert_eq!(find_root(|x| x + 1.0, 0.0, 1.0, 1e-12), None);
        assert_eq!(find_root(|_| f64::NAN, 0.0, 1.0, 1e-12), None);
    }
}
