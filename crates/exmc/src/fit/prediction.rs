//! A fit -> what its model says of other quantities: log likelihoods, replicated and new data.

use std::borrow::Cow;

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
        Ok(self.predict_outcomes(NewData::None)?.arrays)
    }

    /// What the model makes of new data in the place of those that it observed: for every draw,
    /// each observed variable drawn given the draw's values. Of a Stan program the data that its
    /// statements are on ([`StanModel::replicate`]), whatever its generated quantities draw; new
    /// data must have a value for them too, of which only the size counts.
    ///
    /// ```
    /// use exmc::{NewData, SamplerConfig, StanProgram, sample};
    /// let program = StanProgram::from_text(
    ///     "line.stan",
    ///     "data { int N; vector[N] x; vector[N] y; } parameters { real b; }
    ///      model { b ~ normal(0, 10); y ~ normal(b * x, 1); }
    ///      generated quantities { real twice = 2 * b; }",
    /// )?;
    /// let model = program.bind("line.json", r#"{"N": 2, "x": [1, 2], "y": [2.9, 6.2]}"#)?;
    /// let fit = sample(&model, &SamplerConfig::default())?;
    /// let text = r#"{"N": 1, "x": [10], "y": [0]}"#;
    /// let outcomes = fit.predict_outcomes(NewData::Text { name: "new.json", text })?;
    /// assert_eq!(outcomes.arrays.names(), ["y"]);
    /// assert_eq!(outcomes.arrays["y"].shape(), [4, 1000, 1]);
    /// // The slope has mean 15.3 / 5.01; ten times that is 30.5, with deviation 4.6.
    /// assert!((outcomes.arrays["y"].mean() - 30.5).abs() < 0.6);
    /// assert!(outcomes.failed.is_empty());
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// When data do not fit; when the model does not say how what it observes is made, or that
    /// cannot be drawn.
    pub fn predict_outcomes<'a>(&self, data: impl Into<NewData<'a>>) -> Result<Outcomes, Error> {
        let (data, seed) = (data.into(), self.settings.seed);
        if let Source::Stan(model) = &self.source {
            return data.replacing(model)?.outcomes(&self.posterior, seed);
        }
        let (bound, model) = self.declared()?;
        let data = data.over(bound)?.bind(model)?;
        let made = posterior_predictive(model, &data, &self.posterior, Recorded::Observed, seed);
        Ok(Outcomes { arrays: made?, failed: Vec::new() })
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
    pub fn predict<'a>(&self, data: impl Into<NewData<'a>>) -> Result<DrawArrays, Error> {
        let data = data.into();
        match &self.source {
            Source::Model(bound) => {
                let (_, model) = self.declared()?;
                self.predict_with(model, &data.over(bound)?)
            }
            Source::Stan(model) => {
                let model = data.replacing(model)?;
                match model.program().has_generated_quantities() {
                    true => self.generate(&model),
                    false => model.replicate(&self.posterior, self.settings.seed),
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

/// What a model makes in the place of what it observed, draw by draw.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcomes {
    /// By observed variable, arrays `[chain, draw, ...]`: NaN at draws that failed, and in elements
    /// that no statement is on. Nothing where every draw failed.
    pub arrays: DrawArrays,
    /// Draws of a Stan program at which a distribution has no value, chain after chain.
    pub failed: Vec<FailedDraw>,
}

/// A draw at which outcomes could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedDraw {
    /// The place of its chain among those of the arrays.
    pub chain: usize,
    /// Its number in the chain, from 0.
    pub draw: usize,
    /// Why, with the program's line.
    pub reason: String,
}

/// Data for predictions. Each takes the place of the fit's own of its name; others stay.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum NewData<'a> {
    /// The fit's own data.
    None,
    /// Values.
    Values(&'a DataSet),
    /// The text of a JSON file, and its name for messages.
    Text {
        /// The name.
        name: &'a str,
        /// The text.
        text: &'a str,
    },
}

impl<'a> From<&'a DataSet> for NewData<'a> {
    fn from(data: &'a DataSet) -> Self {
        Self::Values(data)
    }
}

impl NewData<'_> {
    /// A program with these data in the place of its own.
    fn replacing<'m>(&self, model: &'m StanModel) -> Result<Cow<'m, StanModel>, Error> {
        Ok(match self {
            Self::None => Cow::Borrowed(model),
            Self::Values(data) if data.iter().next().is_none() => Cow::Borrowed(model),
            Self::Values(data) => Cow::Owned(model.rebind_over("the new data", &write_data(data))?),
            Self::Text { name, text } => Cow::Owned(model.rebind_over(name, text)?),
        })
    }

    /// A model's data with these in their place.
    fn over(&self, bound: &BoundModel) -> Result<DataSet, Error> {
        let mut all = DataSet::from(bound.data());
        let read;
        let new = match self {
            Self::None => return Ok(all),
            Self::Values(data) => data,
            Self::Text { text, .. } => {
                read = read_data(text)?;
                &read
            }
        };
        all.replace(new);
        Ok(all)
    }
}
