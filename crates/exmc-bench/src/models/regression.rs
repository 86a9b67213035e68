//! Normal linear regressions: a design and outcomes -> models (posteriordb's `nes` and `diamonds`,
//! and a plain one).

use exmc::distributions::{exponential, half_student_t, normal, student_t};
use exmc::model::{DataSet, Expr, Tensor, TransformSpec};
use exmc::{Model, ModelBuilder};

use super::data::{Data, Maker};
use super::flat;

/// Columns of the plain designs.
const COLUMNS: usize = 10;

/// Party identification by ideology, race, age in four classes, education, gender and income,
/// without priors.
pub(super) fn nes(data: &Data<'_>) -> Result<Model, String> {
    let n = data.size("N")?;
    let age = data.values("age_discrete")?;
    let class = |k: f64| age.iter().map(|&a| f64::from(a == k)).collect::<Vec<f64>>();
    let columns = [
        vec![1.0; n],
        data.values("real_ideo")?,
        data.values("race_adj")?,
        class(2.0),
        class(3.0),
        class(4.0),
        data.values("educ1")?,
        data.values("gender")?,
        data.values("income")?,
    ];
    if columns.iter().any(|c| c.len() != n) {
        return Err(format!("a column has not {n} rows"));
    }
    let rows: Vec<f64> = (0..n).flat_map(|i| columns.iter().map(move |c| c[i])).collect();
    let mut model = ModelBuilder::new();
    model.data("X", Tensor::real([n, columns.len()], rows).ok_or("a column is short")?);
    model.data("seen", data.real("partyid7")?);
    model.rv("beta", flat()).shape([columns.len()]);
    model.rv("sigma", flat()).transform(TransformSpec::Log);
    model.rv("y", normal(Expr::name("X").matmul("beta"), "sigma")).shape([n]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

/// Prices of diamonds, as brms writes it: centred columns without the intercept's.
pub(super) fn diamonds(data: &Data<'_>) -> Result<Model, String> {
    let (n, k) = (data.size("N")?, data.size("K")?);
    let design = data.values("X")?;
    let columns = k.checked_sub(1).ok_or("a design without columns")?;
    let mut centred = vec![0.0; n * columns];
    for j in 0..columns {
        let mean = (0..n).map(|i| design[i * k + j + 1]).sum::<f64>() / n as f64;
        for i in 0..n {
            centred[i * columns + j] = design[i * k + j + 1] - mean;
        }
    }
    let mut model = ModelBuilder::new();
    model.data("Xc", Tensor::real([n, columns], centred).ok_or("the design is short")?);
    model.data("seen", data.real("Y")?);
    model.rv("b", normal(0.0, 1.0)).shape([columns]);
    model.rv("Intercept", student_t(3.0, 8.0, 10.0));
    model.rv("sigma", half_student_t(3.0, 10.0)).transform(TransformSpec::Log).centred();
    let mean = Expr::name("Intercept") + Expr::name("Xc").matmul("b");
    model.rv("y", normal(mean, "sigma")).shape([n]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

/// `y ~ normal(alpha + X beta, sigma)`.
pub(super) fn plain(data: &Data<'_>) -> Result<Model, String> {
    let (n, k) = (data.size("N")?, data.size("K")?);
    let mut model = ModelBuilder::new();
    model.data("X", data.real("X")?);
    model.data("seen", data.real("y")?);
    model.rv("alpha", normal(0.0, 10.0));
    model.rv("beta", normal(0.0, 10.0)).shape([k]);
    model.rv("sigma", exponential(1.0)).transform(TransformSpec::Log);
    let mean = Expr::name("alpha") + Expr::name("X").matmul("beta");
    model.rv("y", normal(mean, "sigma")).shape([n]);
    model.observe("y_obs", "y", "seen");
    model.build().map_err(|e| e.to_string())
}

pub(super) fn data(n: usize) -> DataSet {
    let mut maker = Maker::new(11);
    let beta = maker.normals(COLUMNS);
    let (mut design, mut seen) = (Vec::with_capacity(n * COLUMNS), Vec::with_capacity(n));
    for _ in 0..n {
        let row = maker.normals(COLUMNS);
        let mean = 2.0 + row.iter().zip(&beta).map(|(x, b)| x * b).sum::<f64>();
        seen.push(mean + 0.7 * maker.normal());
        design.extend(row);
    }
    maker.size("N", n).size("K", COLUMNS).matrix("X", n, design).reals("y", &seen).finish()
}

pub(super) fn nes_data() -> DataSet {
    const N: usize = 476;
    let mut maker = Maker::new(12);
    let mut column = |classes: usize, from: f64| -> Vec<f64> {
        (0..N).map(|_| maker.below(classes) as f64 + from).collect()
    };
    let ideology = column(7, 1.0);
    let (race, education) = (column(2, 0.0), column(4, 1.0));
    let (gender, income, age) = (column(2, 0.0), column(5, 1.0), column(4, 1.0));
    let mut seen = Vec::with_capacity(N);
    for (i, ideology) in ideology.iter().enumerate() {
        let mean = 1.0 + 0.5 * ideology - race[i] + 0.2 * income[i];
        seen.push((mean + 1.8 * maker.normal()).round().clamp(1.0, 7.0));
    }
    let maker = maker.size("N", N).reals("partyid7", &seen).reals("real_ideo", &ideology);
    let maker = maker.reals("race_adj", &race).reals("educ1", &education).reals("gender", &gender);
    maker.reals("income", &income).integers("age_discrete", &[N], age).finish()
}

/// The weight in several shapes and ordered classes, as polynomials: columns that are strongly
/// correlated.
pub(super) fn diamonds_data() -> DataSet {
    const N: usize = 5000;
    const K: usize = 25;
    let mut maker = Maker::new(13);
    let (mut design, mut seen) = (Vec::with_capacity(N * K), Vec::with_capacity(N));
    for _ in 0..N {
        let carat = maker.normal();
        design.extend([1.0, carat]);
        for j in 2..K {
            let noise = maker.normal();
            design.push(if j < 8 { carat + 0.1 * noise } else { noise });
        }
        seen.push(8.0 + 1.2 * carat + 0.2 * maker.normal());
    }
    let maker = maker.size("N", N).size("K", K).matrix("X", N, design);
    maker.reals("Y", &seen).size("prior_only", 0).finish()
}
