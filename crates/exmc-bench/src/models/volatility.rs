//! Stochastic volatility as a random walk (eXMC's `sv`): returns -> a centred model with Student-t
//! returns.

use exmc::distributions::{exponential, gaussian_random_walk, student_t};
use exmc::model::{DataSet, Expr, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};

pub(super) fn build(data: &Data<'_>) -> Result<Model, String> {
    let t = data.size("T")?;
    let mut model = ModelBuilder::new();
    model.data("seen", data.real("r")?);
    model.rv("sigma", exponential(50.0)).transform(TransformSpec::Log);
    model.rv("nu", exponential(0.1)).transform(TransformSpec::Log);
    model.rv("s", gaussian_random_walk("sigma", "sigma")).shape([t]).centred();
    model.rv("r", student_t("nu", 0.0, Expr::name("s").exp())).shape([t]);
    model.observe("r_obs", "r", "seen");
    model.build().map_err(|e| e.to_string())
}

/// Steps of the log scale have sd 0.15, returns ten degrees of freedom.
pub(super) fn data(seed: u64) -> DataSet {
    const T: usize = 100;
    let mut maker = Maker::new(seed);
    let (mut log_scale, mut returns) = (0.0, Vec::with_capacity(T));
    for _ in 0..T {
        log_scale += 0.15 * maker.normal();
        let chi_square: f64 = maker.normals(10).iter().map(|z| z * z).sum();
        let t = maker.normal() / (chi_square / 10.0).sqrt();
        returns.push(exmc_math::exp(log_scale) * t);
    }
    maker.size("T", T).reals("r", &returns).finish()
}
