//! Time series whose terms follow from the one before (posteriordb's `arma11` and `garch11`): a
//! series -> a model.

use exmc::distributions::{half_cauchy, normal};
use exmc::model::{DataSet, Expr, Scan, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};
use super::flat;

/// Autoregression and moving average of order one, with an error of zero before the start.
pub(super) fn arma(data: &Data<'_>) -> Result<Model, String> {
    let t = data.size("T")?;
    if t < 2 {
        return Err("`T` is less than 2".to_owned());
    }
    let mut model = ModelBuilder::new();
    model.data("y", data.real("y")?);
    model.rv("mu", normal(0.0, 10.0));
    model.rv("phi", normal(0.0, 2.0));
    model.rv("theta", normal(0.0, 2.0));
    model.rv("sigma", half_cauchy(2.5)).transform(TransformSpec::Log).centred();
    // err[t] = (y[t] - mu - phi y[t-1]) - theta err[t-1], with mu in place of y[0].
    let y = Expr::name("y");
    let first = Expr::name("mu").reshape([1]);
    let before = concat(first, y.clone().slice(0, t - 1));
    let input = y - "mu" - Expr::name("phi") * before;
    let error = recurrence(input, -Expr::name("theta"));
    // The density of the errors, whose map to the series has Jacobian one.
    let z = error / "sigma";
    let log_sigma = Expr::name("sigma").log() * t as f64;
    model.potential("likelihood", z.square().sum() * -0.5 - log_sigma);
    model.build().map_err(|e| e.to_string())
}

/// Conditional variances of order one, without priors.
pub(super) fn garch(data: &Data<'_>) -> Result<Model, String> {
    let t = data.size("T")?;
    let first = data.real("sigma1")?.as_scalar().ok_or("`sigma1` is not a number")?;
    if t < 2 {
        return Err("`T` is less than 2".to_owned());
    }
    let mut model = ModelBuilder::new();
    model.data("seen", data.real("y")?);
    model.rv("mu", flat());
    model.rv("alpha0", flat()).transform(TransformSpec::Log);
    model.rv("alpha1", flat()).transform(TransformSpec::Interval(0.0.into(), 1.0.into()));
    let limit = 1.0 - Expr::name("alpha1");
    model.rv("beta1", flat()).transform(TransformSpec::Interval(0.0.into(), limit));
    let residual = Expr::name("seen").slice(0, t - 1) - "mu";
    let input = Expr::name("alpha0") + Expr::name("alpha1") * residual.square();
    let input = concat([first * first].into(), input);
    let variance = recurrence(input, Expr::name("beta1"));
    model.rv("y", normal("mu", variance.sqrt())).shape([t]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

/// `x[0] = u[0]`, `x[t] = u[t] + factor x[t-1]`.
fn recurrence(input: Expr, factor: Expr) -> Expr {
    let next = Expr::name("input") + factor * "before";
    Scan::new().sequence("input", input).carry("before", 0.0, next).states("before")
}

fn concat(first: Expr, second: Expr) -> Expr {
    Expr::call("concat", [first, second])
}

pub(super) fn arma_data() -> DataSet {
    const T: usize = 200;
    let mut maker = Maker::new(37);
    let (mut y, mut before, mut error) = (Vec::with_capacity(T), 1.0, 0.0);
    for _ in 0..T {
        let now = maker.normal();
        before = 1.0 + 0.4 * before + 0.3 * error + now;
        error = now;
        y.push(before);
    }
    maker.size("T", T).reals("y", &y).finish()
}

pub(super) fn garch_data() -> DataSet {
    const T: usize = 200;
    let mut maker = Maker::new(41);
    let (mut y, mut variance) = (Vec::with_capacity(T), 0.25_f64);
    for _ in 0..T {
        let residual = variance.sqrt() * maker.normal();
        y.push(5.0 + residual);
        variance = 1.5 + 0.2 * residual * residual + 0.5 * variance;
    }
    maker.size("T", T).reals("y", &y).scalar("sigma1", 0.5).finish()
}
