//! Eight schools (Rubin 1981), centred and not: effects and their standard errors -> models.

use exmc::distributions::{half_cauchy, half_normal, normal};
use exmc::model::{DataSet, Expr, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};

const EFFECT: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const STANDARD_ERROR: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

/// Ours: `theta ~ normal(mu, tau)` sampled as itself, half-normal `tau`.
pub(super) fn centred(data: &Data<'_>) -> Result<Model, String> {
    let n = data.size("J")?;
    let mut model = ModelBuilder::new();
    model.data("sigma", data.real("sigma")?);
    model.data("effect", data.real("y")?);
    model.rv("mu", normal(0.0, 5.0));
    model.rv("tau", half_normal(5.0)).transform(TransformSpec::Log).centred();
    data.centred(model.rv("theta", normal("mu", "tau")).shape([n]));
    model.rv("y", normal("theta", "sigma")).shape([n]);
    model.observe("y_obs", "y", "effect");
    model.build().map_err(|e| e.to_string())
}

/// posteriordb's: standardised effects are the parameters, half-Cauchy `tau`.
pub(super) fn non_centred(data: &Data<'_>) -> Result<Model, String> {
    let n = data.size("J")?;
    let mut model = ModelBuilder::new();
    model.data("sigma", data.real("sigma")?);
    model.data("effect", data.real("y")?);
    model.rv("mu", normal(0.0, 5.0));
    model.rv("tau", half_cauchy(5.0)).transform(TransformSpec::Log).centred();
    model.rv("theta_trans", normal(0.0, 1.0)).shape([n]);
    let theta = Expr::name("theta_trans") * "tau" + "mu";
    model.rv("y", normal(theta, "sigma")).shape([n]);
    model.observe("y_obs", "y", "effect");
    model.build().map_err(|e| e.to_string())
}

pub(super) fn data() -> DataSet {
    let maker = Maker::new(0).size("J", 8);
    maker.reals("y", &EFFECT).reals("sigma", &STANDARD_ERROR).finish()
}
