//! A Gaussian process at a few points (posteriordb's `gp_regr`): points and outcomes -> a model of
//! three parameters.

use exmc::distributions::{gamma, half_normal, multi_normal};
use exmc::model::{DataSet, Expr, Tensor, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};

pub(super) fn build(data: &Data<'_>) -> Result<Model, String> {
    let (n, x) = (data.size("N")?, data.values("x")?);
    let squares: Vec<f64> =
        x.iter().flat_map(|a| x.iter().map(move |b| (a - b) * (a - b))).collect();
    let identity: Vec<f64> = (0..n * n).map(|k| f64::from(k / n == k % n)).collect();
    let mut model = ModelBuilder::new();
    model.data("squared_distance", Tensor::real([n, n], squares).ok_or("`x` has not N elements")?);
    model.data("seen", data.real("y")?);
    model.rv("rho", gamma(25.0, 4.0)).transform(TransformSpec::Log);
    model.rv("alpha", half_normal(2.0)).transform(TransformSpec::Log).centred();
    model.rv("sigma", half_normal(1.0)).transform(TransformSpec::Log).centred();
    let exponent = Expr::name("squared_distance") * -0.5 / Expr::name("rho").square();
    let smooth = Expr::name("alpha").square() * exponent.exp();
    let identity = Expr::constant(Tensor::real([n, n], identity).ok_or("`N` does not fit")?);
    let covariance = smooth + identity * "sigma";
    model.rv("y", multi_normal(vec![0.0; n], covariance));
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

pub(super) fn data() -> DataSet {
    const N: usize = 11;
    let mut maker = Maker::new(31);
    let x: Vec<f64> = (0..N).map(|i| 2.0 * i as f64 - 10.0).collect();
    let y: Vec<f64> =
        x.iter().map(|x| 2.0 * exmc_math::sin(0.3 * x) + 0.4 * maker.normal()).collect();
    maker.size("N", N).reals("x", &x).reals("y", &y).finish()
}
