//! Admissions at Berkeley, 1973: a logistic regression that changes its mind when it is told the
//! department.
//!
//! Graduate applicants by department (A to F) and sex (Bickel, Hammel & O'Connell 1975; R's
//! `UCBAdmissions`). With one intercept, men seem favoured; with one a department, the difference
//! vanishes: women applied to departments that admit few of either sex. In the model that is
//! `matmul` with a design matrix against a `gather` of intercepts by department.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

mod common;

use exmc::distributions::{bernoulli_logit, binomial_logit, normal};
use exmc::model::{DataSet, Expr, Tensor};
use exmc::{Error, ModelBuilder, SamplerConfig};

/// Men and women of department A, of B, and so on.
const ADMITTED: [f64; 12] =
    [512.0, 89.0, 353.0, 17.0, 120.0, 202.0, 138.0, 131.0, 53.0, 94.0, 22.0, 24.0];
const APPLIED: [f64; 12] =
    [825.0, 108.0, 560.0, 25.0, 325.0, 593.0, 417.0, 375.0, 191.0, 393.0, 373.0, 341.0];
const MEN: [f64; 12] = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
const DEPARTMENT: [usize; 12] = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5];

/// Posterior means and standard deviations by quadrature (examples/reference/exact.py).
const EXACT_POOLED: [(&str, f64, Option<f64>); 2] =
    [("beta[0]", -0.8300641, Some(0.050749)), ("beta[1]", 0.6096182, Some(0.0638599))];
const EXACT_BY_DEPARTMENT: [(&str, f64, Option<f64>); 3] = [
    ("male", -0.1017285, Some(0.0806546)),
    ("alpha[0]", 0.6835489, Some(0.0989382)),
    ("alpha[5]", -2.619163, Some(0.156988)),
];

/// A density is a function: its value and gradient at a point, against numbers worked out by hand.
fn check_density() -> Result<(), Error> {
    let design = Expr::from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
    let mut model = ModelBuilder::new();
    model.rv("alpha", normal(0.0, 10.0));
    model.rv("beta", normal(0.0, 10.0)).shape([2]);
    model.rv("y", bernoulli_logit("alpha" + design.matmul("beta")));
    model.observe("y_obs", "y", [1.0, 0.0, 1.0]);
    let bound = exmc::model::bind(&model.build()?, DataSet::new())?;
    let (logp, gradient) = bound.logp_grad(&[0.5, 0.3, -0.2]).expect("finite everywhere");
    println!("log density at alpha 0.5, beta (0.3, -0.2): {logp:.6}, gradient {gradient:.6?}");
    for (found, exact) in
        [logp].iter().chain(&gradient).zip([-11.329415, 0.084927, 0.661369, -0.218099])
    {
        assert!((found - exact).abs() < 1e-6, "{found} differs from {exact} in its printed digits");
    }
    Ok(())
}

pub(crate) fn main() -> Result<(), Error> {
    check_density()?;
    let settings = SamplerConfig::default().seed(1973);
    let fit = |mut model: ModelBuilder, log_odds: Expr| {
        model.rv("admitted", binomial_logit(APPLIED, log_odds));
        model.observe("admitted_obs", "admitted", ADMITTED);
        exmc::sample(&model.build()?, &settings)
    };

    println!("one intercept, beta[1] for men:");
    let rows: Vec<f64> = MEN.iter().flat_map(|male| [1.0, *male]).collect();
    let mut model = ModelBuilder::new();
    model.data("X", Tensor::real([12, 2], rows).expect("12 rows of 2"));
    model.rv("beta", normal(0.0, 2.0)).shape([2]);
    common::check(&fit(model, Expr::name("X").matmul("beta"))?, &EXACT_POOLED);

    println!("an intercept a department:");
    let mut model = ModelBuilder::new();
    model.plate("department", 6);
    model.rv("alpha", normal(0.0, 2.0)).over(["department"]);
    model.rv("male", normal(0.0, 2.0));
    let log_odds = Expr::name("alpha").gather(DEPARTMENT) + Expr::name("male") * MEN;
    common::check(&fit(model, log_odds)?, &EXACT_BY_DEPARTMENT);
    println!("Told the department, the model finds no advantage of men.");
    Ok(())
}
