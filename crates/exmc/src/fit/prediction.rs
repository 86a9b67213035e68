//! A fit -> what its model says of other quantities: log likelihoods, replicated and new data.

use exmc_draws::Variable;
use exmc_model::{Code, DataSet, Diagnostic, Model, read_data};

use super::{Fit, Source};
use crate::arrays::{DrawArray, DrawArrays};
use crate::compile::BoundModel;
use crate::error::Error;
use crate::generate::{Generator, generated_variables};
use crate::json::write_data;
use crate::predict::{Recorded, log_likelihood, posterior_predictive};
use crate::stan::StanModel;
use crate::stan::without::LOG_LIK;

impl Fit {
    /// The log likelihood of every observed element at every draw, by observed variable: what
    /// leave-one-out cross-validation takes.
    ///
    /// In nats, weights included. An observation with elements that are masked or missing has one
    /// axis behind the draws, over the elements that count. Of a Stan program they are the
    /// generated quantity `log_lik` or, where it has none, what its statements on data say
    /// ([`StanModel::log_likelihood`]).
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(2);
    /// # model.observe("y_seen", "y", [1.0, 3.0]);
    /// # let model = model.build()?;
    /// let fit = sample(&model, &SamplerConfig::default())?;
    /// let elements = fit.log_likelihood()?;
    /// assert_eq!(elements["y"].shape(), [4, 1000, 2]);
    /// // Of the first draw: a normal log density.
    /// let mu = fit["mu"].values()[0];
    /// let expected = -0.5 * (1.0 - mu).powi(2) - 0.5 * std::f64::consts::TAU.ln();
    /// assert!((elements["y"].values()[0] - expected).abs() < 1e-10);
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the model has no observation; when a Stan program has no `log_lik` and statements of
    /// which the terms of single observations cannot be told.
    pub fn log_likelihood(&self) -> Result<DrawArrays, Error> {
        match &self.source {
            Source::Model(bound) => log_likelihood(bound, &self.posterior),
            Source::Stan(model) => match self.get(LOG_LIK) {
                Some(array) => Ok([(LOG_LIK.to_owned(), array.clone())].into_iter().collect()),
                None => Ok(model.log_likelihood(&self.posterior)?.arrays),
            },
            Source::Unknown => Err(self.no_model()),
        }
    }

    /// Replicated data: for every draw, each observed variable drawn from its distribution given
    /// that draw's values; arrays `[chain, draw, ...]`. Elements that were not observed are drawn
    /// as well. Random numbers are those of the run's seed. Of a Stan program the data that its
    /// statements are on ([`StanModel::replicate`]), whatever its generated quantities draw.
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(2);
    /// # model.observe("y_seen", "y", [1.0, 3.0]);
    /// # let model = model.build()?;
    /// let replicated = sample(&model, &SamplerConfig::default())?.posterior_predictive()?;
    /// // The mean of `mu` is 2; a new observation has variance 1 + 1/2.
    /// assert!((replicated["y"].mean() - 2.0).abs() < 0.1);
    /// assert!((replicated["y"].sd() - 1.5_f64.sqrt()).abs() < 0.1);
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a distribution cannot be drawn from; for a Stan program as
    /// [`StanModel::replicate`].
    pub fn posterior_predictive(&self) -> Result<DrawArrays, Error> {
        let seed = self.settings.seed;
        if let Source::Stan(model) = &self.source {
            return model.replicate(&self.posterior, seed);
        }
        let (bound, model) = self.declared()?;
        posterior_predictive(model, bound.data(), &self.posterior, Recorded::Observed, seed)
    }

    /// `n` draws of all variables from the joint prior, those that are observed included; arrays
    /// `[1, draw, ...]`.
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(2);
    /// # model.observe("y_seen", "y", [1.0, 3.0]);
    /// # let model = model.build()?;
    /// let prior = sample(&model, &SamplerConfig::default())?.prior_predictive(500)?;
    /// assert_eq!(prior["y"].shape(), [1, 500, 2]);
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a distribution cannot be drawn from; for a Stan program, of which `exmc sbc` simulates
    /// data.
    pub fn prior_predictive(&self, n: usize) -> Result<DrawArrays, Error> {
        let (bound, model) = self.declared()?;
        let data = DataSet::from(bound.data());
        crate::predict::prior_predictive(model, &data, n, self.settings.seed)
    }

    /// What the model says of new data, for every draw: of a model the observed variables, drawn
    /// given the draw's values, and all deterministic values; of a Stan program its generated
    /// quantities, NaN where a draw has none, or where it has none at all, the data that its
    /// statements are on. Data that are not given stay as they were.
    ///
    /// A model's shapes are part of it, so that new data have the shapes of the old ones; see
    /// [`predict_with`](Self::predict_with). A Stan program takes data of any size.
    ///
    /// # Errors
    /// When data do not fit, or a distribution cannot be drawn from.
    pub fn predict(&self, data: &DataSet) -> Result<DrawArrays, Error> {
        match &self.source {
            Source::Model(bound) => {
                let (_, model) = self.declared()?;
                let mut all = DataSet::from(bound.data());
                replace(&mut all, data);
                self.predict_with(model, &all)
            }
            Source::Stan(model) => {
                let model = with_data(model, data)?;
                match generated_variables(model.bound()).iter().all(Variable::is_empty) {
                    true => model.replicate(&self.posterior, self.settings.seed),
                    false => self.generate(&model),
                }
            }
            Source::Unknown => Err(self.no_model()),
        }
    }

    /// What another model of the same variables says, for every draw: one with other shapes of
    /// data, say. Its free variables must be among the draws, with their shapes.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), and when the draws lack a variable.
    pub fn predict_with(&self, model: &Model, data: &DataSet) -> Result<DrawArrays, Error> {
        let (data, seed) = (data.bind(model)?, self.settings.seed);
        posterior_predictive(model, &data, &self.posterior, Recorded::Deterministic, seed)
    }

    fn declared(&self) -> Result<(&BoundModel, &Model), Error> {
        let found = match &self.source {
            Source::Model(bound) => bound.compiled().declared().map(|model| (&**bound, model)),
            Source::Stan(_) => {
                let message = "the prior of a Stan program is not drawn from";
                let help = "draw it in generated quantities of a program without the likelihood";
                return Err(Diagnostic::new(Code::BadArguments, message).help(help).into());
            }
            Source::Unknown => None,
        };
        found.ok_or_else(|| self.no_model())
    }

    pub(super) fn no_model(&self) -> Error {
        let message = "the model of these draws is not known";
        let help = "draws of a density of one's own, or of CSV files, come without a model";
        Diagnostic::new(Code::BadArguments, message).help(help).into()
    }

    /// The generated quantities of a program with its data.
    fn generate(&self, model: &StanModel) -> Result<DrawArrays, Error> {
        let variables = generated_variables(model.bound());
        let width: usize = variables.iter().map(Variable::len).sum();
        let posterior = &self.posterior;
        let seed = self.settings.seed;
        let mut generator = Generator::new(model.bound(), &posterior.variables, seed)?;
        let usable = posterior.usable_chains();
        let draws = usable.iter().map(|chain| chain.infos.len()).min().unwrap_or(0);
        let mut rows = Vec::with_capacity(usable.len() * draws * width);
        for chain in &usable {
            let chain_draws = chain.values.chunks_exact(posterior.width().max(1)).take(draws);
            for (index, draw) in chain_draws.enumerate() {
                let start = rows.len();
                rows.resize(start + width, 0.0);
                let number = (chain.chain, index as u64);
                match generator.generate(number, draw, &mut rows[start..]) {
                    Err(error) if error.is_fatal() || error.is_interrupted() => return Err(error),
                    // A draw on the edge of its support has no quantities.
                    Err(_) => rows[start..].fill(f64::NAN),
                    Ok(()) => {}
                }
            }
        }
        let array = |variable: &Variable| {
            let range = variable.offset..variable.offset + variable.len();
            let elements =
                rows.chunks_exact(width.max(1)).flat_map(|row| &row[range.clone()]).copied();
            let shape = variable.shape.as_slice();
            let made = DrawArray::new(usable.len(), draws, shape, elements.collect())?;
            Some((variable.name.clone(), made))
        };
        let arrays: Option<DrawArrays> = variables.iter().map(array).collect();
        arrays.ok_or_else(|| Error::internal("a generated quantity has another shape"))
    }
}

/// A program with some of its data replaced.
fn with_data(model: &StanModel, data: &DataSet) -> Result<StanModel, Error> {
    let mut all = read_data(model.data_text())?;
    replace(&mut all, data);
    model.rebind("the run's data with the new", &write_data(&all))
}

fn replace(all: &mut DataSet, data: &DataSet) {
    for (name, value) in data.iter() {
        all.insert(name, value.clone());
    }
}
