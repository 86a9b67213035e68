//! Groups with Student-t noise: outcomes by group -> a hierarchy that is not centred.

use exmc::distributions::{lognormal, normal, student_t};
use exmc::model::{DataSet, Expr, Tensor, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};

/// `y ~ student_t(4, mu + tau u[g], sigma)` with log-normal scales.
pub(super) fn build(data: &Data<'_>) -> Result<Model, String> {
    let (n, groups) = (data.size("N")?, data.size("J")?);
    let mut model = ModelBuilder::new();
    model.data("seen", data.real("y")?);
    model.data("g", Tensor::indices(&data.indices("g", groups)?));
    model.rv("mu", normal(0.0, 1.0));
    model.rv("tau", lognormal(0.0, 1.0)).transform(TransformSpec::Log);
    model.rv("sigma", lognormal(0.0, 1.0)).transform(TransformSpec::Log);
    model.rv("u", normal(0.0, 1.0)).shape([groups]);
    let mean = (Expr::name("mu") + Expr::name("tau") * "u").gather("g");
    model.rv("y", student_t(4.0, mean, "sigma")).shape([n]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

/// Sorted groups of one size.
pub(super) fn data(n: usize, groups: usize) -> DataSet {
    let mut maker = Maker::new(29);
    let effect = maker.normals(groups);
    let group: Vec<usize> = (0..n).map(|i| i * groups / n).collect();
    let mut seen = Vec::with_capacity(n);
    for &g in &group {
        let chi_square: f64 = maker.normals(4).iter().map(|z| z * z).sum();
        let t = maker.normal() / (chi_square / 4.0).sqrt();
        seen.push(0.5 + effect[g] + 0.8 * t);
    }
    let maker = maker.size("N", n).size("J", groups).counted_from_one("g", &group);
    maker.reals("y", &seen).finish()
}
