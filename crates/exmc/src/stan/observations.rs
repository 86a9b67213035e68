//! A run of a program that records no `log_lik` -> the log likelihood of each observation at each
//! draw, from the program's statements on data.

use std::sync::Arc;

use exmc_draws::{Posterior, Variable};
use exmc_stan::diagnostic::Diagnostic;
use exmc_stan::host::{Environment, RuntimeError, Settings};
use exmc_stan::pointwise::{Caches, Layout, Observations};
use exmc_stan::typed::{Program, VariableId};
use exmc_stan::value::Value;

pub use exmc_stan::pointwise::{Observation, StatementTerms};

use super::numbers::fill;
use super::{StanError, StanModel, host, recorded};
use crate::arrays::{DrawArray, DrawArrays};
use crate::error::Error;
use crate::generate::Generator;
use crate::predict::by_chain;

/// Log likelihoods of the observations of a program that does not record them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StanLikelihood {
    /// In nats, by the data that the observations are elements of: `[chain, draw, observation]`,
    /// or `[chain, draw]` of data that are one observation.
    pub arrays: DrawArrays,
    /// All observations, in the order of the arrays' elements.
    pub observations: Vec<Observation>,
    /// The statements that their terms are from.
    pub statements: Vec<StatementTerms>,
}

/// The observations of a program with its data.
pub(crate) struct Observed {
    program: Arc<Program>,
    observations: Observations,
    layout: Layout,
    /// Data and transformed data.
    environment: Environment,
    values: RecordedValues,
}

/// From a draw's recorded values to parameters and transformed parameters.
pub(super) struct RecordedValues {
    /// What a recorded draw holds, each with an unset value, which tells its shape.
    recorded: Vec<(VariableId, Value)>,
    /// The program, where its transformed parameters are not recorded.
    with_transformed: Option<Arc<Program>>,
}

/// The draws of a run at which a program's observations are looked at.
struct ObservedDraws<'a> {
    model: &'a StanModel,
    observed: Arc<Observed>,
    run: RunDraws<'a>,
}

/// The draws of a run, as many of each chain that did not fail as all of them have.
pub(super) struct RunDraws<'a> {
    pub(super) variables: &'a [Variable],
    /// Numbers and draws of the usable chains.
    pub(super) chains: Vec<(u32, &'a [f64])>,
    /// Draws that each chain has.
    pub(super) each: usize,
    /// Numbers of a draw.
    pub(super) width: usize,
}

/// What one thread computes log likelihoods with.
pub(crate) struct ObservedInstance {
    observed: Arc<Observed>,
    environment: Environment,
    caches: Caches,
}

impl StanModel {
    /// The log likelihood of each observation at each draw, found from the program's statements on
    /// data: `y ~ normal(mu, sigma)`, `target += normal_lpdf(y | mu, sigma)`.
    ///
    /// An observation is an element of the data (one event of a distribution of vectors); terms of
    /// the same element add up. Terms of parameters are priors and do not count.
    ///
    /// ```
    /// # use exmc::{SamplerConfig, StanProgram};
    /// let program = StanProgram::from_text(
    ///     "mean.stan",
    ///     "data { int N; vector[N] y; } parameters { real mu; }
    ///      model { mu ~ normal(0, 10); y ~ normal(mu, 1); }",
    /// )?;
    /// let model = program.bind("mean.json", r#"{"N": 3, "y": [1.0, 3.0, 2.0]}"#)?;
    /// let fit = exmc::sample(&model, &SamplerConfig::default())?;
    /// let found = model.log_likelihood(fit.posterior())?;
    /// assert_eq!(found.arrays["y"].shape(), [4, 1000, 3]);
    /// assert_eq!(found.observations[2].name, "y[3]");
    /// assert_eq!(found.statements[0].text, "y ~ normal(mu, 1);");
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a statement mixes data and parameters in a way that has no term for each observation,
    /// as a mixture does; when no statement is on data; when a draw has no log likelihood.
    pub fn log_likelihood(&self, posterior: &Posterior) -> Result<StanLikelihood, Error> {
        let draws = ObservedDraws::of(self, posterior)?;
        let layout = &draws.observed.layout;
        // One array for all observations of the same data.
        let mut parts: Vec<(String, usize)> = Vec::new();
        for observation in &layout.observations {
            match parts.last_mut() {
                Some((data_name, count)) if *data_name == observation.of => *count += 1,
                _ => parts.push((observation.of.clone(), 1)),
            }
        }
        let made = draws.evaluate(parts.len(), |out, made| {
            let mut rest = out;
            for ((_, count), made) in parts.iter().zip(made) {
                let (terms, others) = rest.split_at(*count);
                rest = others;
                made.extend_from_slice(terms);
            }
        })?;
        let is_whole = |data_name: &str| {
            let mut entries = layout.observations.iter();
            entries.any(|observation| observation.of == data_name && observation.name == data_name)
        };
        let arrays = parts.iter().zip(made).map(|((data_name, count), values)| {
            let shape = if *count == 1 && is_whole(data_name) { vec![] } else { vec![*count] };
            let made =
                DrawArray::new(draws.run.chains.len(), draws.run.each, shape.as_slice(), values);
            Some((data_name.clone(), made?))
        });
        let arrays: Option<DrawArrays> = arrays.collect();
        let arrays = arrays.ok_or_else(|| Error::internal("a log likelihood has another shape"))?;
        let Layout { observations, statements, .. } = layout;
        let (observations, statements) = (observations.clone(), statements.clone());
        Ok(StanLikelihood { arrays, observations, statements })
    }

    /// What [`log_likelihood`](Self::log_likelihood) is of: the observations in its order, found at
    /// a draw of the posterior.
    ///
    /// # Errors
    /// As [`log_likelihood`](Self::log_likelihood).
    pub fn observations(&self, posterior: &Posterior) -> Result<Vec<Observation>, Error> {
        Ok(ObservedDraws::of(self, posterior)?.observed.layout.observations.clone())
    }

    /// [`log_likelihood`](Self::log_likelihood) in blocks, for more numbers than memory holds:
    /// `take` gets observations in order, each with its log likelihood at every draw, chain after
    /// chain. A block has at most `numbers` numbers, or one observation; the model's statements run
    /// at all draws for each block. Returns the statements that the terms are from.
    ///
    /// ```
    /// # use exmc::{SamplerConfig, StanProgram};
    /// # let program = StanProgram::from_text(
    /// #     "mean.stan",
    /// #     "data { int N; vector[N] y; } parameters { real mu; }
    /// #      model { mu ~ normal(0, 10); y ~ normal(mu, 1); }",
    /// # )?;
    /// # let model = program.bind("mean.json", r#"{"N": 3, "y": [1.0, 3.0, 2.0]}"#)?;
    /// let fit = exmc::sample(&model, &SamplerConfig::default())?;
    /// let mut sizes = Vec::new();
    /// // 4 chains of 1000 draws: two observations at a time.
    /// model.log_likelihood_in_blocks(fit.posterior(), 8000, |observations, rows| {
    ///     assert_eq!(rows[0].len(), 4000);
    ///     sizes.push(observations.len());
    /// })?;
    /// assert_eq!(sizes, [2, 1]);
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`log_likelihood`](Self::log_likelihood).
    pub fn log_likelihood_in_blocks(
        &self,
        posterior: &Posterior,
        numbers: usize,
        mut take: impl FnMut(&[Observation], Vec<Vec<f64>>),
    ) -> Result<Vec<StatementTerms>, Error> {
        let draws = ObservedDraws::of(self, posterior)?;
        let Layout { observations, statements, .. } = &draws.observed.layout;
        let size = (numbers / (draws.run.chains.len() * draws.run.each)).max(1);
        for (first, block) in (0..).step_by(size).zip(observations.chunks(size)) {
            let rows = draws.evaluate(block.len(), |out, rows| {
                let terms = &out[first..first + block.len()];
                rows.iter_mut().zip(terms).for_each(|(row, value)| row.push(*value));
            })?;
            take(block, rows);
        }
        Ok(statements.clone())
    }

    /// The same program and data without the terms of some observations in its density, numbered
    /// from 0.
    pub(crate) fn without_observed(
        &self,
        observed: &Observed,
        left_out: &[usize],
    ) -> Result<Self, Error> {
        let Observed { observations, layout, environment, .. } = observed;
        let tree = observations.without(&self.origin.tree, environment, layout, left_out);
        let sources = || self.program.sources.clone();
        let tree = tree.map_err(|diagnostics| StanError { sources: sources(), diagnostics })?;
        let super::DataFile { name, text } = &self.data;
        self.origin.with_tree(tree)?.bind_with(name, text, &self.options)
    }

    /// The observations of the program; `first` has the recorded values of any draw.
    pub(crate) fn observed(&self, first: &[f64]) -> Result<Arc<Observed>, Error> {
        let program = &self.program;
        let wrong = |diagnostics: Vec<Diagnostic>| StanError {
            sources: program.sources.clone(),
            diagnostics,
        };
        let observations = Observations::find(program).map_err(wrong)?;
        let values = self.recorded_values()?;
        let mut environment = self.environment.clone();
        let mut caches = Caches::default();
        let layout = values
            .place(&mut environment, first)
            .and_then(|()| observations.layout(&mut environment, &mut caches))
            .map_err(|error| wrong(vec![error.into()]))?;
        let (program, environment) = (program.clone(), self.environment.clone());
        Ok(Arc::new(Observed { program, observations, layout, environment, values }))
    }

    /// How the recorded values of a draw give the program's variables theirs.
    pub(super) fn recorded_values(&self) -> Result<RecordedValues, Error> {
        let program = &self.program;
        let mut environment = self.environment.clone();
        let with_transformed = self.transformed_by_host;
        let transformed = match with_transformed {
            true => &[][..],
            false => &program.transformed_parameters,
        };
        let transformed = host::blocks::declarations(transformed);
        let recorded =
            recorded(program, &mut environment, program.parameters.iter().chain(transformed))?;
        let with_transformed = with_transformed.then(|| program.clone());
        Ok(RecordedValues { recorded, with_transformed })
    }
}

impl<'a> RunDraws<'a> {
    /// # Errors
    /// When there are no draws.
    pub(super) fn of(posterior: &'a Posterior) -> Result<Self, Error> {
        let usable = posterior.usable_chains().into_iter();
        let chains: Vec<_> = usable.map(|chain| (chain.chain, chain.values.as_slice())).collect();
        let width = posterior.width().max(1);
        let each = chains.iter().map(|(_, rows)| rows.len() / width).min().unwrap_or(0);
        if each == 0 {
            let message = "there are no draws";
            return Err(exmc_model::Diagnostic::new(exmc_model::Code::MissingData, message).into());
        }
        Ok(Self { variables: &posterior.variables, chains, each, width })
    }

    /// The recorded values of a chain's draws.
    pub(super) fn rows(&self, rows: &'a [f64]) -> impl Iterator<Item = &'a [f64]> {
        rows.chunks_exact(self.width).take(self.each)
    }
}

impl<'a> ObservedDraws<'a> {
    fn of(model: &'a StanModel, posterior: &'a Posterior) -> Result<Self, Error> {
        let run = RunDraws::of(posterior)?;
        let first = &run.chains[0].1[..run.width];
        let mut generator = Generator::new(model.bound(), run.variables, 0)?;
        let observed = model.observed(generator.recorded(first)?)?;
        Ok(Self { model, observed, run })
    }

    /// Fills lists of numbers from the log likelihoods of all observations at one draw after the
    /// other, one thread a chain; the chains' lists are joined in their order.
    fn evaluate(
        &self,
        lists: usize,
        take: impl Fn(&[f64], &mut [Vec<f64>]) + Sync,
    ) -> Result<Vec<Vec<f64>>, Error> {
        by_chain(&self.run.chains, |_, rows| {
            let mut generator = Generator::new(self.model.bound(), self.run.variables, 0)?;
            let mut instance = self.observed.instance();
            let mut out = vec![0.0; self.observed.width()];
            let mut made = vec![Vec::new(); lists];
            for draw in self.run.rows(rows) {
                instance.evaluate(generator.recorded(draw)?, &mut out)?;
                take(&out, &mut made);
            }
            Ok(made)
        })
    }
}

impl Observed {
    /// How many observations there are.
    pub(crate) fn width(&self) -> usize {
        self.layout.observations.len()
    }

    /// What one thread evaluates.
    pub(crate) fn instance(self: &Arc<Self>) -> ObservedInstance {
        let environment = self.environment.clone();
        ObservedInstance { observed: self.clone(), environment, caches: Caches::default() }
    }
}

impl ObservedInstance {
    /// Writes the log likelihood of each observation to `out`, in nats; `row` has the recorded
    /// values of a draw.
    pub(crate) fn evaluate(&mut self, row: &[f64], out: &mut [f64]) -> Result<(), Error> {
        let Self { observed, environment, caches } = self;
        let placed = observed.values.place(environment, row);
        let made = placed.and_then(|()| {
            observed.observations.evaluate(&observed.layout, environment, caches, out)
        });
        made.map_err(|error| {
            let (sources, diagnostics) = (observed.program.sources.clone(), vec![error.into()]);
            StanError { sources, diagnostics }.into()
        })
    }
}

impl RecordedValues {
    /// Gives parameters and transformed parameters their values.
    pub(super) fn place(
        &self,
        environment: &mut Environment,
        row: &[f64],
    ) -> Result<(), Box<RuntimeError>> {
        let mut rest = row;
        for (id, unset) in &self.recorded {
            if environment.get(*id).is_none() {
                environment.set(*id, unset.clone());
            }
            if let Some(value) = environment.get_mut(*id) {
                fill(value, &mut rest);
            }
        }
        match &self.with_transformed {
            Some(program) => host::Interpreter::new(program, Settings::default())
                .transform_parameters(environment),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use exmc_density::{DensityModel, LogDensity};

    use crate::{SamplerConfig, StanProgram, sample};

    const DATA: &str = r#"{"N": 4, "x": [[0.1, 2], [-0.4, 1], [1.2, -1], [0.3, 0.2]],
        "y": [0.2, 1.4, 0.9, 0.4], "k": [1, 3, 2, 2], "n": [4, 5, 3, 6], "m": [[0.2, 1.4], [0.9, 0.4]],
        "v": [[1, 0.5], [0.2, 0.1], [0.3, 0.4], [-1, 2]]}"#;

    /// The density without observations is the whole one less their terms.
    fn left_out(statement: &str) {
        let text = format!(
            "functions {{ real own_lpdf(real y, real mu) {{ return -square(y - mu); }} }}
             data {{ int N; matrix[N, 2] x; vector[N] y; array[N] int k; array[N] int n;
                     array[2, 2] real m; array[N] vector[2] v; }}
             parameters {{ real mu; real<lower=0> sigma; vector[2] beta; }}
             model {{ mu ~ normal(0, 1); sigma ~ gamma(3, 3); beta ~ normal(0, 1); {statement} }}"
        );
        let model = StanProgram::from_text("m.stan", &text).unwrap().bind("data", DATA).unwrap();
        let config = SamplerConfig::default().chains(1).warmup(50).draws(3);
        let fit = sample(&model, &config).unwrap();
        let posterior = fit.posterior();
        let mut generator = super::Generator::new(model.bound(), &posterior.variables, 0).unwrap();
        let rows = &posterior.chains[0].values;
        let width = posterior.width();
        let observed = model.observed(generator.recorded(&rows[..width]).unwrap()).unwrap();
        assert_eq!(observed.width(), 4, "{statement}");
        let mut instance = observed.instance();
        let mut terms = vec![0.0; observed.width()];
        let mut gradient = vec![0.0; model.bound().compiled().dim()];
        for gone in [&[1][..], &[0, 3], &[0, 1, 2, 3]] {
            let other = model.without_observed(&observed, gone).unwrap();
            let (mut full_density, mut rest) = (model.bound().instance(), other.bound().instance());
            let mut offset = None;
            for row in rows.chunks_exact(width) {
                instance.evaluate(generator.recorded(row).unwrap(), &mut terms).unwrap();
                let position = model.bound().unconstrain(&generator.values(row).unwrap()).unwrap();
                let difference = full_density.logp_grad(&position, &mut gradient).unwrap()
                    - rest.logp_grad(&position, &mut gradient).unwrap()
                    - gone.iter().map(|i| terms[*i]).sum::<f64>();
                // Densities leave out constants.
                let offset = *offset.get_or_insert(difference);
                assert!((difference - offset).abs() < 1e-10, "{statement} {gone:?}");
            }
        }
    }

    #[test]
    fn a_density_without_observations_lacks_their_terms() {
        for statement in [
            "y ~ normal(mu + x * beta, sigma);",
            "target += normal_id_glm_lpdf(y | x, mu, beta, sigma);",
            "target += (normal_lpdf(log(y) | mu, sigma));",
            "for (i in 1:N) target += normal_lupdf(y[i] | mu + x[i] * beta, sigma);",
            "if (N > 2) { to_vector(y) ~ normal(mu + x * beta, sigma); }",
            "k ~ binomial_logit(n, mu + x * beta);",
            "k ~ ordered_logistic(rep_vector(mu, N), [-sigma, sigma]');",
            "v ~ multi_normal_cholesky(beta, diag_matrix(rep_vector(sigma, 2)));",
            "for (i in 1:N) v[i] ~ multi_normal(beta, diag_matrix(rep_vector(sigma, 2)));",
            "for (i in 1:2) for (j in 1:2) m[i, j] ~ normal(mu, sigma) T[0, ];",
            "for (i in 1:N) { real at = mu + x[i, 1]; y[i] ~ own(at); }",
            "for (i in 1:2) { y[i] ~ normal(mu, sigma); } y[3:4] ~ normal(beta[1], sigma);",
        ] {
            left_out(statement);
        }
    }
}
