//! Item response with two parameters an item (posteriordb's `irt_2pl`): answers of persons to items
//! -> a model.

use exmc::distributions::{bernoulli_logit, half_cauchy, lognormal, normal};
use exmc::model::{DataSet, Expr, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};

pub(super) fn build(data: &Data<'_>) -> Result<Model, String> {
    let (items, persons) = (data.size("I")?, data.size("J")?);
    let mut model = ModelBuilder::new();
    model.data("seen", data.tensor("y")?);
    for name in ["sigma_theta", "sigma_a", "sigma_b"] {
        model.rv(name, half_cauchy(2.0)).transform(TransformSpec::Log).centred();
    }
    data.centred(model.rv("theta", normal(0.0, "sigma_theta")).shape([persons]));
    let a = model.rv("a", lognormal(0.0, "sigma_a")).shape([items]);
    data.centred(a.transform(TransformSpec::Log));
    model.rv("mu_b", normal(0.0, 5.0));
    data.centred(model.rv("b", normal("mu_b", "sigma_b")).shape([items]));
    let column = |name: &str| Expr::name(name).reshape([items, 1]);
    let eta = column("a") * (Expr::name("theta").reshape([1, persons]) - column("b"));
    model.rv("y", bernoulli_logit(eta)).shape([items, persons]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

pub(super) fn data() -> DataSet {
    const ITEMS: usize = 20;
    const PERSONS: usize = 100;
    let mut maker = Maker::new(19);
    let slope: Vec<f64> = maker.normals(ITEMS).iter().map(|z| exmc_math::exp(0.5 * z)).collect();
    let (difficulty, ability) = (maker.normals(ITEMS), maker.normals(PERSONS));
    let mut seen = Vec::with_capacity(ITEMS * PERSONS);
    for i in 0..ITEMS {
        for theta in &ability {
            seen.push(maker.bernoulli(slope[i] * (theta - difficulty[i])));
        }
    }
    let maker = maker.size("I", ITEMS).size("J", PERSONS);
    maker.integers("y", &[ITEMS, PERSONS], seen).finish()
}
