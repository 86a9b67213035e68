//! `find_root`: roots and their derivatives against closed forms, and equations without a root.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

use exmc_math::{OdeFailure, OdeSystem, OdeWorkspace, RootControl, find_root};

/// $x_0^2 + x_1 = a$, $x_1 = b\,x_0$: $x_0 = (-b + \sqrt{b^2 + 4a})/2$.
struct Parabola {
    a: f64,
    b: f64,
}

impl OdeSystem for Parabola {
    fn states(&self) -> usize {
        2
    }
    fn columns(&self) -> usize {
        2
    }
    fn slope(&mut self, _: f64, x: &[f64], f: &mut [f64]) -> Result<(), OdeFailure> {
        f.copy_from_slice(&[x[0] * x[0] + x[1] - self.a, x[1] - self.b * x[0]]);
        Ok(())
    }
    fn jacobian(
        &mut self,
        t: f64,
        x: &[f64],
        f: &mut [f64],
        jacobian: &mut [f64],
        forcing: &mut [f64],
    ) -> Result<(), OdeFailure> {
        self.slope(t, x, f)?;
        jacobian.copy_from_slice(&[2.0 * x[0], 1.0, -self.b, 1.0]);
        forcing.copy_from_slice(&[-1.0, 0.0, 0.0, -x[0]]);
        Ok(())
    }
    fn coupled(&mut self, _: f64, _: &[f64], _: &mut [f64]) -> Result<(), OdeFailure> {
        Err(OdeFailure::Stopped)
    }
}

const CONTROL: RootControl = RootControl { tolerance: 1e-6, max_steps: 200 };

fn solve(a: f64, b: f64, guess: [f64; 2]) -> Result<([f64; 2], [f64; 4]), OdeFailure> {
    let (mut x, mut columns) = (guess, [f64::NAN; 4]);
    let mut work = OdeWorkspace::default();
    find_root(&CONTROL, &mut Parabola { a, b }, &mut work, &mut x, &mut columns)?;
    Ok((x, columns))
}

#[test]
fn a_root_and_its_derivatives_are_the_closed_form_from_any_guess() {
    let (a, b) = (3.0f64, 0.8f64);
    let root = (b * b + 4.0 * a).sqrt();
    let x = 0.5 * (root - b);
    let (by_a, by_b) = (1.0 / root, 0.5 * (b / root - 1.0));
    let expected = [by_a, by_b, b * by_a, x + b * by_b];
    for guess in [[1.0, 1.0], [30.0, -7.0], [1.6, 0.0]] {
        let (found, columns) = solve(a, b, guess).unwrap();
        for (found, expected) in
            found.iter().chain(&columns).zip([x, b * x].iter().chain(&expected))
        {
            // Far below the tolerance: the root is polished.
            assert!((found - expected).abs() < 1e-15, "{found}, not {expected}");
        }
    }
}

#[test]
fn equations_without_a_root_say_so() {
    // No real root: b^2 + 4a < 0.
    assert_eq!(solve(-3.0, 0.8, [1.0, 1.0]), Err(OdeFailure::TooManySteps));
    assert_eq!(solve(f64::NAN, 0.8, [1.0, 1.0]), Err(OdeFailure::TooManySteps));
    assert_eq!(solve(3.0, 0.8, [f64::NAN, 1.0]), Err(OdeFailure::NotFinite));
}
