//! Radon by county (Gelman and Hill 2007): floors and levels -> varying intercepts and slopes, not
//! centred.

use exmc::distributions::{half_normal, normal};
use exmc::model::{DataSet, Expr, Tensor, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};

pub(super) fn build(data: &Data<'_>) -> Result<Model, String> {
    let (n, counties) = (data.size("N")?, data.size("J")?);
    let mut model = ModelBuilder::new();
    model.data("county", Tensor::indices(&data.indices("county_idx", counties)?));
    model.data("floor_measure", data.real("floor_measure")?);
    model.data("seen", data.real("log_radon")?);
    for name in ["sigma_y", "sigma_alpha", "sigma_beta"] {
        model.rv(name, half_normal(1.0)).transform(TransformSpec::Log).centred();
    }
    model.rv("alpha_raw", normal(0.0, 1.0)).shape([counties]);
    model.rv("beta_raw", normal(0.0, 1.0)).shape([counties]);
    model.rv("mu_alpha", normal(0.0, 10.0));
    model.rv("mu_beta", normal(0.0, 10.0));
    let alpha = Expr::name("mu_alpha") + Expr::name("sigma_alpha") * "alpha_raw";
    let beta = Expr::name("mu_beta") + Expr::name("sigma_beta") * "beta_raw";
    let mean = alpha.gather("county") + Expr::name("floor_measure") * beta.gather("county");
    model.rv("y", normal(mean, "sigma_y")).shape([n]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

/// Sorted counties of very different sizes; one house in six was measured on the ground floor.
pub(super) fn data(n: usize, counties: usize) -> DataSet {
    let mut maker = Maker::new(17);
    // A county for each, so that none is empty, and the others where products of uniform numbers
    // fall.
    let spread = |u: f64| ((u * counties as f64) as usize).min(counties - 1);
    let mut county: Vec<usize> = (0..counties).collect();
    while county.len() < n {
        let u = maker.uniform() * maker.uniform();
        county.push(spread(u));
    }
    county.sort_unstable();
    let alpha: Vec<f64> = maker.normals(counties).iter().map(|z| 1.5 + 0.3 * z).collect();
    let beta: Vec<f64> = maker.normals(counties).iter().map(|z| -0.7 + 0.3 * z).collect();
    let (mut floor, mut seen) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for &c in &county {
        let f = f64::from(maker.uniform() < 1.0 / 6.0);
        seen.push(alpha[c] + f * beta[c] + 0.75 * maker.normal());
        floor.push(f);
    }
    let maker = maker.size("N", n).size("J", counties).counted_from_one("county_idx", &county);
    maker.reals("floor_measure", &floor).reals("log_radon", &seen).finish()
}
