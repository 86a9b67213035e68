//! eXMC's `simple`, `medium` and `stress`: observations by group -> normal models of 2, 5 and 8
//! parameters.
//!
//! Their posteriors depend on the data through the groups' means and sums of squared deviations,
//! which are fixed here.

use exmc::distributions::{exponential, normal};
use exmc::model::{DataSet, Expr, Tensor, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};

pub(super) fn simple(data: &Data<'_>) -> Result<Model, String> {
    let n = data.size("N")?;
    let mut model = ModelBuilder::new();
    model.data("seen", data.real("y")?);
    model.rv("mu", normal(0.0, 10.0));
    model.rv("sigma", exponential(1.0)).transform(TransformSpec::Log);
    model.rv("y", normal("mu", "sigma")).shape([n]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

pub(super) fn medium(data: &Data<'_>) -> Result<Model, String> {
    let (n, groups) = (data.size("N")?, data.size("J")?);
    let mut model = ModelBuilder::new();
    model.data("seen", data.real("y")?);
    model.data("g", Tensor::indices(&data.indices("g", groups)?));
    model.rv("mu_global", normal(0.0, 10.0));
    model.rv("sigma_global", exponential(1.0)).transform(TransformSpec::Log);
    data.centred(model.rv("group", normal("mu_global", "sigma_global")).shape([groups]));
    model.rv("sigma_obs", exponential(2.0)).transform(TransformSpec::Log);
    model.rv("y", normal(Expr::name("group").gather("g"), "sigma_obs")).shape([n]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

pub(super) fn stress(data: &Data<'_>) -> Result<Model, String> {
    let (n, groups) = (data.size("N")?, data.size("J")?);
    let mut model = ModelBuilder::new();
    model.data("seen", data.real("y")?);
    model.data("g", Tensor::indices(&data.indices("g", groups)?));
    model.rv("mu_pop", normal(0.0, 10.0));
    model.rv("sigma_pop", exponential(0.5)).transform(TransformSpec::Log);
    data.centred(model.rv("theta", normal("mu_pop", "sigma_pop")).shape([groups]));
    model.rv("noise", exponential(1.0)).shape([groups]).transform(TransformSpec::Log);
    let (mean, scale) = (Expr::name("theta").gather("g"), Expr::name("noise").gather("g"));
    model.rv("y", normal(mean, scale)).shape([n]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

pub(super) fn simple_data() -> DataSet {
    let mut maker = Maker::new(1);
    let y = maker.sample_with(50, 3.136816546, 65.075051432);
    maker.size("N", 50).reals("y", &y).finish()
}

pub(super) fn medium_data() -> DataSet {
    groups(2, 30, &[(3.933257131, 11.443038595), (6.757401056, 11.462142500)])
}

pub(super) fn stress_data() -> DataSet {
    let moments =
        [(0.486283922, 41.397497109), (3.019936924, 37.544386194), (5.533162833, 36.247017644)];
    groups(4, 40, &moments)
}

fn groups(seed: u64, each: usize, moments: &[(f64, f64)]) -> DataSet {
    let mut maker = Maker::new(seed);
    let mut y = Vec::new();
    for &(mean, squares) in moments {
        y.extend(maker.sample_with(each, mean, squares));
    }
    let group: Vec<usize> = (0..y.len()).map(|i| i / each).collect();
    maker
        .size("N", y.len())
        .size("J", moments.len())
        .counted_from_one("g", &group)
        .reals("y", &y)
        .finish()
}
