//! A mixture of two normal distributions (posteriordb's `low_dim_gauss_mix`): outcomes -> a model.

use exmc::distributions::{beta, half_normal, mixture, normal};
use exmc::model::{DataSet, Expr, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};

pub(super) fn build(data: &Data<'_>) -> Result<Model, String> {
    let n = data.size("N")?;
    let mut model = ModelBuilder::new();
    model.data("seen", data.real("y")?);
    model.rv("mu", normal(0.0, 2.0)).shape([2]).transform(TransformSpec::Ordered);
    model.rv("sigma", half_normal(2.0)).shape([2]).transform(TransformSpec::Log).centred();
    model.rv("theta", beta(5.0, 5.0));
    let theta = Expr::name("theta");
    let weights = Expr::call("stack", [theta.clone(), 1.0 - theta]);
    let component = |k| normal(Expr::name("mu").at(k), Expr::name("sigma").at(k));
    model.rv("y", mixture(weights, vec![component(0), component(1)])).shape([n]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

pub(super) fn data() -> DataSet {
    const N: usize = 1000;
    let mut maker = Maker::new(23);
    let mut seen = Vec::with_capacity(N);
    for _ in 0..N {
        let first = maker.uniform() < 0.4;
        let z = maker.normal();
        seen.push(if first { -2.0 + 0.8 * z } else { 2.5 + 1.2 * z });
    }
    maker.size("N", N).reals("y", &seen).finish()
}
