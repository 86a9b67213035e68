//! Values by name -> arrays of the kinds that models want, and random numbers for data that are
//! made.

use exmc::model::{DType, DataSet, Tensor};
use exmc_math::random::{ChainRng, Phase};
use exmc_model::RvBuilder;
use serde_json::{Value, json};

/// The data of one program, as its data block declares them.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    data: &'a DataSet,
    /// Whether the model's coordinates are for the sampler to choose.
    chosen: bool,
}

impl<'a> Data<'a> {
    /// Looks names up in `data`, for a density in the Stan program's coordinates.
    pub fn new(data: &'a DataSet) -> Self {
        Self { data, chosen: false }
    }

    /// The same for a model that is sampled at its defaults.
    pub(super) fn to_sample(data: &'a DataSet) -> Self {
        Self { data, chosen: true }
    }

    /// Effects that the Stan program has centred: so is the density, but the sampler chooses by
    /// itself.
    pub(super) fn centred<'m>(&self, effects: RvBuilder<'m>) -> RvBuilder<'m> {
        if self.chosen { effects } else { effects.centred() }
    }

    /// The value of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn tensor(&self, name: &str) -> Result<Tensor, String> {
        self.data.get(name).cloned().ok_or_else(|| format!("the data have no `{name}`"))
    }

    /// The same as real numbers, whichever way they are written.
    ///
    /// # Errors
    /// When there is none.
    pub fn real(&self, name: &str) -> Result<Tensor, String> {
        Ok(self.tensor(name)?.into_real())
    }

    /// The elements in row-major order.
    ///
    /// # Errors
    /// When there is none.
    pub fn values(&self, name: &str) -> Result<Vec<f64>, String> {
        Ok(self.tensor(name)?.values().to_vec())
    }

    /// All of them as text, as a Stan program reads them.
    pub(super) fn json(&self) -> String {
        let all = self.data.iter().map(|(name, value)| {
            let number = |&x: &f64| match value.dtype() {
                DType::Int => json!(x as i64),
                DType::Real => json!(x),
            };
            let numbers: Vec<Value> = value.values().iter().map(number).collect();
            (name.to_owned(), nested(&numbers, value.shape().extents()))
        });
        Value::Object(all.collect()).to_string()
    }

    /// A size.
    ///
    /// # Errors
    /// When there is none, or it is no number from 0.
    pub fn size(&self, name: &str) -> Result<usize, String> {
        match self.tensor(name)?.as_scalar() {
            Some(n) if n >= 0.0 && n == n.trunc() && n < 1e15 => Ok(n as usize),
            _ => Err(format!("`{name}` is not a size")),
        }
    }

    /// Indices counted from zero, of indices counted from one that are at most `n`.
    ///
    /// # Errors
    /// When there are none, or one does not lie in `1..=n`.
    pub fn indices(&self, name: &str, n: usize) -> Result<Vec<usize>, String> {
        let from_zero = |(k, &x): (usize, &f64)| {
            if x >= 1.0 && x <= n as f64 && x == x.trunc() {
                Ok(x as usize - 1)
            } else {
                Err(format!("`{name}[{}]` is {x}, expected an integer from 1 to {n}", k + 1))
            }
        };
        self.tensor(name)?.values().iter().enumerate().map(from_zero).collect()
    }
}

/// Arrays in arrays, of numbers in row-major order.
fn nested(numbers: &[Value], extents: &[usize]) -> Value {
    match extents.split_first() {
        None => numbers.first().cloned().unwrap_or_default(),
        Some((&n, rest)) => {
            let width: usize = rest.iter().product();
            (0..n).map(|k| nested(&numbers[k * width..(k + 1) * width], rest)).collect()
        }
    }
}

/// Makes data from a seed.
pub(super) struct Maker {
    rng: ChainRng,
    made: DataSet,
}

impl Maker {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: ChainRng::new(seed, 0, Phase::Predictive), made: DataSet::new() }
    }

    pub(super) fn normal(&mut self) -> f64 {
        self.rng.standard_normal()
    }

    pub(super) fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }

    pub(super) fn uniform(&mut self) -> f64 {
        self.rng.uniform()
    }

    /// An integer from 0 to `n - 1`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.rng.below(n as u64) as usize
    }

    /// 1 with the probability that has these log odds, else 0.
    pub(super) fn bernoulli(&mut self, log_odds: f64) -> f64 {
        f64::from(self.uniform() < exmc_math::inv_logit(log_odds))
    }

    /// Numbers with exactly this mean and sum of squared deviations.
    pub(super) fn sample_with(&mut self, n: usize, mean: f64, squares: f64) -> Vec<f64> {
        let z = self.normals(n);
        let centre = z.iter().sum::<f64>() / n as f64;
        let spread: f64 = z.iter().map(|z| (z - centre) * (z - centre)).sum();
        let scale = (squares / spread).sqrt();
        z.iter().map(|z| mean + scale * (z - centre)).collect()
    }

    pub(super) fn size(mut self, name: &str, n: usize) -> Self {
        self.made.insert(name, Tensor::indices(&[n]).reshaped([]).expect("one element"));
        self
    }

    pub(super) fn reals(mut self, name: &str, values: &[f64]) -> Self {
        self.made.insert(name, Tensor::vector(values));
        self
    }

    pub(super) fn scalar(mut self, name: &str, value: f64) -> Self {
        self.made.insert(name, Tensor::scalar(value));
        self
    }

    pub(super) fn matrix(mut self, name: &str, rows: usize, values: Vec<f64>) -> Self {
        let columns = values.len() / rows;
        let matrix = Tensor::real([rows, columns], values).expect("whole rows");
        self.made.insert(name, matrix);
        self
    }

    pub(super) fn integers(mut self, name: &str, shape: &[usize], values: Vec<f64>) -> Self {
        let integers = Tensor::int(shape, values).expect("integers that fill the shape");
        self.made.insert(name, integers);
        self
    }

    /// Indices that count from one, of indices that count from zero.
    pub(super) fn counted_from_one(self, name: &str, indices: &[usize]) -> Self {
        let values = indices.iter().map(|&k| (k + 1) as f64).collect();
        self.integers(name, &[indices.len()], values)
    }

    pub(super) fn finish(self) -> DataSet {
        self.made
    }
}
