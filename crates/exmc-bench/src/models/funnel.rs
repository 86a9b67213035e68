//! Neal's funnel (2003): a number of directions -> a density whose scale changes by e^9.

use exmc::distributions::normal;
use exmc::model::{DataSet, Expr};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};

pub(super) fn build(data: &Data<'_>) -> Result<Model, String> {
    let n = data.size("K")?;
    let mut model = ModelBuilder::new();
    model.rv("y", normal(0.0, 3.0));
    let scale = (Expr::name("y") * 0.5).exp();
    data.centred(model.rv("x", normal(0.0, scale)).shape([n]));
    model.build().map_err(|e| e.to_string())
}

pub(super) fn data() -> DataSet {
    Maker::new(0).size("K", 9).finish()
}
