//! Logistic regressions: a design and outcomes -> models; ours with priors, the wells of Arsenic
//! (Gelman and Hill
//! 2007) without.

use exmc::distributions::{bernoulli_logit, normal};
use exmc::model::{DataSet, Expr, Tensor};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};
use super::flat;

/// Columns of the made designs.
const COLUMNS: usize = 20;
/// Groups of ages in the data with discrete covariates.
pub(crate) const AGES: usize = 6;

pub(super) fn build(data: &Data<'_>) -> Result<Model, String> {
    let (n, k) = (data.size("N")?, data.size("K")?);
    let mut model = ModelBuilder::new();
    model.data("X", data.real("X")?);
    model.data("seen", data.tensor("y")?);
    model.rv("alpha", normal(0.0, 10.0));
    model.rv("beta", normal(0.0, 10.0)).shape([k]);
    outcomes(model, n)
}

/// Two discrete covariates and levels by age. What is observed is part of the model, as data of a
/// Stan program are, so that equal rows are known to be.
pub(super) fn discrete(data: &Data<'_>) -> Result<Model, String> {
    let (n, age) = (data.size("N")?, data.indices("age", AGES)?);
    let mut model = ModelBuilder::new();
    model.rv("alpha", normal(0.0, 10.0));
    model.rv("beta", normal(0.0, 10.0)).shape([2]);
    model.rv("age", normal(0.0, 1.0)).shape([AGES]);
    let level = Expr::name("age").gather(Expr::constant(Tensor::indices(&age)));
    let eta = Expr::name("alpha") + Expr::constant(data.real("X")?).matmul("beta") + level;
    model.rv("y", bernoulli_logit(eta)).shape([n]);
    model.observe("y_obs", "y", Expr::constant(data.tensor("y")?));
    model.build().map_err(|e| e.to_string())
}

/// Switching of wells by distance.
pub(super) fn wells_distance(data: &Data<'_>) -> Result<Model, String> {
    let columns = [data.values("dist")?.iter().map(|d| d / 100.0).collect()];
    wells_model(data, &columns)
}

/// Switching of wells by distance, arsenic and their product, centred.
pub(super) fn wells_interaction(data: &Data<'_>) -> Result<Model, String> {
    let centred = |name: &str| -> Result<Vec<f64>, String> {
        let values = data.values(name)?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Ok(values.iter().map(|x| x - mean).collect())
    };
    let distance: Vec<f64> = centred("dist")?.iter().map(|d| d / 100.0).collect();
    let arsenic = centred("arsenic")?;
    let product = distance.iter().zip(&arsenic).map(|(d, a)| d * a).collect();
    wells_model(data, &[distance, arsenic, product])
}

fn wells_model(data: &Data<'_>, columns: &[Vec<f64>]) -> Result<Model, String> {
    let n = data.size("N")?;
    let rows: Vec<f64> = (0..n).flat_map(|i| columns.iter().map(move |c| c[i])).collect();
    let mut model = ModelBuilder::new();
    let design = Tensor::real([n, columns.len()], rows).ok_or("the columns differ in length")?;
    model.data("X", design);
    model.data("seen", data.tensor("switched")?);
    model.rv("alpha", flat());
    model.rv("beta", flat()).shape([columns.len()]);
    outcomes(model, n)
}

fn outcomes(mut model: ModelBuilder, n: usize) -> Result<Model, String> {
    let eta = Expr::name("alpha") + Expr::name("X").matmul("beta");
    model.rv("y", bernoulli_logit(eta)).shape([n]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

/// Standard normal covariates, coefficients with sd 0.5, intercept 0.5.
pub(super) fn data(n: usize) -> DataSet {
    let mut maker = Maker::new(7);
    let beta: Vec<f64> = maker.normals(COLUMNS).iter().map(|z| 0.5 * z).collect();
    let (mut design, mut seen) = (Vec::with_capacity(n * COLUMNS), Vec::with_capacity(n));
    for _ in 0..n {
        let row = maker.normals(COLUMNS);
        let eta = 0.5 + row.iter().zip(&beta).map(|(x, b)| x * b).sum::<f64>();
        seen.push(maker.bernoulli(eta));
        design.extend(row);
    }
    maker.size("N", n).size("K", COLUMNS).matrix("X", n, design).integers("y", &[n], seen).finish()
}

/// Sex 0 or 1, education from 1 to 4 and one of six ages: 48 kinds of persons.
pub(super) fn discrete_data(n: usize) -> DataSet {
    let mut maker = Maker::new(21);
    let level: Vec<f64> = maker.normals(AGES).iter().map(|z| 0.5 * z).collect();
    let (mut design, mut age, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..n {
        let (sex, education) = (maker.below(2) as f64, 1.0 + maker.below(4) as f64);
        let age_index = maker.below(AGES);
        seen.push(maker.bernoulli(0.3 + 0.4 * sex - 0.3 * education + level[age_index]));
        design.extend([sex, education]);
        age.push(age_index);
    }
    let maker = maker.size("N", n).matrix("X", n, design).counted_from_one("age", &age);
    maker.integers("y", &[n], seen).finish()
}

/// As many wells as were surveyed; distances to the millimetre, so that rows differ as the surveyed
/// ones do.
pub(super) fn wells() -> DataSet {
    const N: usize = 3020;
    let mut maker = Maker::new(8);
    let (mut distance, mut arsenic, mut switched) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..N {
        let d = (-48_000.0 * exmc_math::log1p(-maker.uniform())).round() / 1000.0;
        let a = ((0.5 - 1.1 * exmc_math::log1p(-maker.uniform())) * 100.0).round() / 100.0;
        switched.push(maker.bernoulli(0.35 - 0.9 * (d - 48.0) / 100.0 + 0.47 * (a - 1.6)));
        distance.push(d);
        arsenic.push(a);
    }
    let maker = maker.size("N", N).integers("switched", &[N], switched);
    maker.reals("dist", &distance).reals("arsenic", &arsenic).finish()
}
