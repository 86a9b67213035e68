//! A run's directory -> the log likelihood of each observation at each draw: recorded by the
//! program, computed through the run's model, or from the program's statements on data.

use std::ops::Range;
use std::path::Path;

use exmc::StanProgram;
use exmc::advanced::{BoundModel, CompileOptions, MARGINALISE, RECENTRE};
use exmc::model::{Shape, Tensor, Values};
use exmc::runs::{Posterior, Variable};
use exmc::stan::{Observation, StanModel, StatementTerms};
use exmc_diagnose::{Draws, relative_efficiency};
use exmc_draws::{StoredModel, StoredRun, read_run, read_texts};
use exmc_model::{Kind, Model};

use crate::failure::{Exit, Failure};
use crate::source::SourceArgs;

/// The name under which Stan programs record log likelihoods.
pub(crate) const LOG_LIK: &str = "log_lik";

/// Log likelihoods of observations, over the draws that summaries are over.
pub(crate) struct Likelihood {
    /// What the observations are called.
    pub(crate) names: Vec<String>,
    /// One row an observation: its log likelihood at every draw, chain after chain.
    pub(crate) rows: Vec<Vec<f64>>,
    n_draws: usize,
    /// The data that each is an element of, with its indices from 1, where they are from
    /// statements.
    pub(crate) places: Vec<(String, Vec<usize>)>,
    /// Where they were computed, when they were not recorded.
    pub(crate) model: Option<RunModel>,
    /// The statements of a Stan program that they are from, when it did not record them.
    pub(crate) statements: Vec<StatementTerms>,
}

impl Likelihood {
    /// Hands on the observations of a run that recorded none, a block of at most so many numbers
    /// at a time: the model or the program's statements are evaluated at all draws for each. What
    /// the observations are is returned then, without their draws; nothing where all are one block,
    /// or they were recorded.
    pub(crate) fn in_blocks(
        path: &Path,
        numbers: usize,
        mut take: impl FnMut(Self),
    ) -> Result<Option<Self>, Failure> {
        let StoredRun { posterior, .. } = read_run(path)?;
        let Some(sample) = Sample::of(&posterior) else { return Ok(None) };
        if posterior.variable(LOG_LIK).is_some() {
            return Ok(None);
        }
        let n_draws = sample.n_draws;
        let mut names = Vec::new();
        let mut hand_on = |block_names: Vec<String>, rows| {
            names.extend_from_slice(&block_names);
            let (places, statements) = (Vec::new(), Vec::new());
            take(Self { names: block_names, rows, n_draws, places, model: None, statements });
        };
        if let Some(model) = program_of(path)? {
            let observations = model.observations(&posterior)?;
            if observations.len() * sample.rows().count() <= numbers {
                return Ok(None);
            }
            let statements =
                model.log_likelihood_in_blocks(&posterior, numbers, |observations, rows| {
                    hand_on(observations.iter().map(|one| one.name.clone()).collect(), rows);
                })?;
            return Ok(Some(Self { statements, ..Self::named(names) }));
        }
        if !path.join("model.json").is_file() {
            return Ok(None);
        }
        let model = RunModel::of_run(path, &sample)?;
        let width = model.bound.pointwise_width();
        let each = (numbers / model.positions.len().max(1)).max(1);
        if width <= each {
            return Ok(None);
        }
        for first in (0..width).step_by(each) {
            let (block_names, rows) = model.pointwise_of(first..width.min(first + each))?;
            hand_on(block_names, rows);
        }
        Ok(Some(Self::named(names)))
    }

    /// From the recorded variables of these names (or the statements on data of these names), or
    /// else from `log_lik`, or else through the model or all of the program's statements on data.
    pub(crate) fn of_run(path: &Path, variables: &[String]) -> Result<Self, Failure> {
        let StoredRun { posterior, .. } = read_run(path)?;
        Self::of(path, &posterior, variables)
    }

    /// The same of a run that was read.
    pub(crate) fn of(
        path: &Path,
        posterior: &Posterior,
        variables: &[String],
    ) -> Result<Self, Failure> {
        let sample = Sample::of(posterior)
            .ok_or_else(|| Failure::new(Exit::Model, "the run has no draws yet"))?;
        let wanted: Vec<&str> = match variables {
            [] => vec![LOG_LIK],
            names => names.iter().map(String::as_str).collect(),
        };
        let missing = wanted.iter().find(|name| posterior.variable(name).is_none());
        if let Some(name) = missing {
            if path.join("model.stan").is_file() {
                return Self::of_statements(path, posterior, (name, variables), sample.n_draws);
            }
            if !variables.is_empty() {
                return Err(unknown(name, posterior, &[]));
            }
            let model = RunModel::of_run(path, &sample)?;
            let (names, rows) = model.pointwise()?;
            let (n_draws, statements) = (sample.n_draws, Vec::new());
            let places = Vec::new();
            return Ok(Self { names, rows, n_draws, places, model: Some(model), statements });
        }
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        for variable in wanted.iter().filter_map(|name| posterior.variable(name)) {
            names.extend(variable.column_names());
            let columns = variable.offset..variable.offset + variable.len();
            rows.extend(columns.map(|column| sample.column(column)));
        }
        let (n_draws, places, statements) = (sample.n_draws, Vec::new(), Vec::new());
        Ok(Self { names, rows, n_draws, places, model: None, statements })
    }

    /// What the observations are, without their log likelihoods.
    pub(crate) fn without_draws(self) -> Self {
        Self { rows: Vec::new(), model: None, ..self }
    }

    /// From the statements on data of the Stan program that lies in the run's directory; of all
    /// data, or of those of these names.
    fn of_statements(
        path: &Path,
        posterior: &Posterior,
        (missing, variables): (&str, &[String]),
        n_draws: usize,
    ) -> Result<Self, Failure> {
        let Some(model) = program_of(path)? else {
            return Err(unknown(missing, posterior, &[]));
        };
        let found = model.log_likelihood(posterior);
        let found = match found {
            Err(_) if !variables.is_empty() => return Err(unknown(missing, posterior, &[])),
            found => found?,
        };
        let observed = found.arrays.names();
        if let Some(name) = variables.iter().find(|name| !observed.contains(&name.as_str())) {
            return Err(unknown(name, posterior, &observed));
        }
        let (mut names, mut places, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = found.observations.iter();
        for (variable, array) in found.arrays.iter() {
            let size = array.element_shape().len();
            let elements: Vec<&Observation> = all.by_ref().take(size).collect();
            if !variables.is_empty() && !variables.iter().any(|name| name == variable) {
                continue;
            }
            names.extend(elements.iter().map(|one| one.name.clone()));
            places.extend(elements.into_iter().map(|one| (one.of.clone(), one.index.clone())));
            let values = array.values();
            let row = |k: usize| values.iter().skip(k).step_by(size).copied().collect();
            rows.extend((0..size).map(row));
        }
        Ok(Self { names, rows, n_draws, places, model: None, statements: found.statements })
    }

    /// Observations by their names alone.
    pub(crate) fn named(names: Vec<String>) -> Self {
        let (rows, places, statements) = (Vec::new(), Vec::new(), Vec::new());
        Self { names, rows, n_draws: 0, places, model: None, statements }
    }

    /// Adds up the observations of each group, which then count as one.
    pub(crate) fn grouped(self, name: &str, groups: &[String]) -> Self {
        let mut labels: Vec<&String> = groups.iter().collect();
        labels.sort();
        labels.dedup();
        let place = |group: &String| labels.binary_search(&group).expect("labels are the groups");
        let group_indices: Vec<usize> = groups.iter().map(place).collect();
        let rows = exmc_diagnose::group_log_likelihood(
            self.rows.iter().map(Vec::as_slice),
            &group_indices,
        );
        let names = labels.iter().map(|label| format!("{name}={label}")).collect();
        let (n_draws, places, statements) = (self.n_draws, Vec::new(), self.statements);
        Self { names, rows, n_draws, places, model: None, statements }
    }

    /// Number of draws over all chains.
    pub(crate) fn total_draws(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// How many independent draws an observation's are worth, over their number.
    pub(crate) fn relative_efficiency(&self, observation: usize) -> f64 {
        let chains: Vec<&[f64]> = self.rows[observation].chunks_exact(self.n_draws).collect();
        Draws::new(&chains).map_or(1.0, |draws| relative_efficiency(&draws))
    }
}

/// The draws that all usable chains have.
pub(crate) struct Sample<'a> {
    pub(crate) posterior: &'a Posterior,
    chains: Vec<&'a [f64]>,
    /// Draws of each chain.
    pub(crate) n_draws: usize,
}

impl<'a> Sample<'a> {
    /// `None` when no chain has draws.
    pub(crate) fn of(posterior: &'a Posterior) -> Option<Self> {
        let usable = posterior.usable_chains();
        let n_draws = usable.iter().map(|c| c.infos.len()).min().filter(|n| *n > 0)?;
        let width = posterior.width();
        let chains = usable.iter().map(|c| &c.values[..n_draws * width]).collect();
        Some(Self { posterior, chains, n_draws })
    }

    /// One column, chain after chain.
    pub(crate) fn column(&self, column: usize) -> Vec<f64> {
        let width = self.posterior.width();
        let column_of = |chain: &&'a [f64]| chain.iter().skip(column).step_by(width).copied();
        self.chains.iter().flat_map(column_of).collect()
    }

    /// The draws of one column.
    pub(crate) fn draws(&self, column: usize) -> Option<Draws<'_>> {
        Draws::column(&self.chains, self.posterior.width(), column).ok()
    }

    fn rows(&self) -> impl Iterator<Item = &'a [f64]> {
        let width = self.posterior.width().max(1);
        self.chains.clone().into_iter().flat_map(move |chain| chain.chunks_exact(width))
    }
}

/// The model of a run as it was declared, and where the run's draws are in its coordinates.
pub(crate) struct RunModel {
    pub(crate) bound: BoundModel,
    /// One position a draw.
    positions: Vec<Vec<f64>>,
}

impl RunModel {
    /// Compiles the model that lies in the run's directory.
    pub(crate) fn of_run(path: &Path, sample: &Sample) -> Result<Self, Failure> {
        let file = path.join("model.json");
        if !file.is_file() {
            let message = "the run has no log likelihoods of single observations";
            let hint = "record them as `log_lik`, or name the variable that holds them with \
                        `--variable NAME`";
            return Err(Failure::new(Exit::Model, message).hint(hint));
        }
        let bound = compile(path, true)?;
        let layout = &bound.compiled().lowered().layout;
        let free: Vec<&Variable> = layout
            .iter()
            .map(|entry| {
                sample.posterior.variable(&entry.name).ok_or_else(|| {
                    Failure::new(Exit::Model, format!("the run has no draws of `{}`", entry.name))
                })
            })
            .collect::<Result<_, _>>()?;
        let position = |row: &[f64]| {
            let value = |variable: &&Variable| {
                let shape = Shape::from(variable.shape.as_slice());
                let elements = &row[variable.offset..variable.offset + variable.len()];
                let tensor = Tensor::real(shape, elements).expect("as many columns as elements");
                (variable.name.clone(), tensor)
            };
            let values: Values = free.iter().map(value).collect();
            bound.unconstrain(&values).map_err(Failure::from)
        };
        let positions = sample.rows().map(position).collect::<Result<_, _>>()?;
        Ok(Self { bound, positions })
    }

    /// Log prior of the values at each draw: the densities of the variables that no other random
    /// variable stands in. What follows from those, as the groups of a hierarchy, is the model.
    pub(crate) fn log_prior(&self, path: &Path) -> Result<Vec<f64>, Failure> {
        let source = SourceArgs::of_run(path).read()?;
        let model = source.model()?;
        let bound = compile(path, false)?;
        let terms = &bound.compiled().lowered().terms;
        let is_prior: Vec<bool> = terms.iter().map(|term| is_on_top(model, &term.name)).collect();
        let mut instance = bound.terms_instance()?;
        let mut values = vec![0.0; terms.len()];
        let sum = |position: &Vec<f64>| match instance.evaluate(position, &mut values) {
            Ok(()) => values.iter().zip(&is_prior).filter(|(_, is)| **is).map(|(v, _)| v).sum(),
            Err(_) => f64::NAN,
        };
        Ok(self.positions.iter().map(sum).collect())
    }

    /// Names of all elements of observed variables.
    pub(crate) fn element_names(&self) -> Vec<String> {
        let lowered = self.bound.compiled().lowered();
        let names = |pointwise: &exmc_model::Pointwise| {
            let shape = lowered.graph.shape(pointwise.node).extents().to_vec();
            let name = pointwise.name.clone();
            Variable { name, shape, dims: Vec::new(), offset: 0, first_index: 0 }.column_names()
        };
        lowered.pointwise.iter().flat_map(names).collect()
    }

    /// Names of the observations and their log likelihoods; those that are masked or missing are
    /// left out.
    fn pointwise(&self) -> Result<(Vec<String>, Vec<Vec<f64>>), Failure> {
        let (names, rows) = self.pointwise_of(0..self.bound.pointwise_width())?;
        if names.is_empty() {
            return Err(nothing_observed());
        }
        Ok((names, rows))
    }

    /// The same of some elements of the observed variables.
    fn pointwise_of(&self, part: Range<usize>) -> Result<(Vec<String>, Vec<Vec<f64>>), Failure> {
        let mut instance = self.bound.pointwise_instance()?;
        let mut rows: Vec<Vec<f64>> =
            part.clone().map(|_| Vec::with_capacity(self.positions.len())).collect();
        let mut values = vec![0.0; self.bound.pointwise_width()];
        for position in &self.positions {
            if let Err(error) = instance.evaluate(position, &mut values) {
                return Err(Failure::new(Exit::Model, error.to_string()));
            }
            let terms = &values[part.clone()];
            rows.iter_mut().zip(terms).for_each(|(row, value)| row.push(*value));
        }
        let lowered = self.bound.compiled().lowered();
        let is_masked = lowered.pointwise.iter().flat_map(|pointwise| {
            let n = lowered.graph.shape(pointwise.node).len();
            std::iter::repeat_n(pointwise.mask.is_some(), n)
        });
        let (mut names, mut kept) = (Vec::new(), Vec::new());
        let known = self.element_names().into_iter().zip(is_masked).skip(part.start);
        for ((name, is_masked), row) in known.zip(rows) {
            // What is masked is 0 at every draw, which no density is.
            if !is_masked || row.iter().any(|l| *l != 0.0) {
                names.push(name);
                kept.push(row);
            }
        }
        Ok((names, kept))
    }
}

/// The Stan program that lies in the run's directory, with the run's data.
fn program_of(path: &Path) -> Result<Option<StanModel>, Failure> {
    if !path.join("model.stan").is_file() {
        return Ok(None);
    }
    let texts = read_texts(path)?;
    let Some(StoredModel::Stan(text)) = texts.model else { return Ok(None) };
    let name = |file: &str| path.join(file).display().to_string();
    let program = StanProgram::from_text(&name("model.stan"), &text);
    let program = program.map_err(exmc::Error::from)?;
    let data = texts.data.as_deref().unwrap_or("{}");
    Ok(Some(program.bind(&name("data.json"), data)?))
}

fn nothing_observed() -> Failure {
    let message = "the model has no observation, so there is nothing to leave out";
    Failure::new(Exit::Model, message)
}

/// No recorded variable has that name, nor have data that the program observes.
fn unknown(name: &str, posterior: &Posterior, observed: &[&str]) -> Failure {
    let names = |all: &mut dyn Iterator<Item = &str>| {
        all.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let recorded = names(&mut posterior.variables.iter().map(|v| v.name.as_str()));
    let hint = match observed {
        [] => format!("the run recorded {recorded}"),
        all => {
            let observed = names(&mut all.iter().copied());
            format!("the run recorded {recorded}, and its program observes {observed}")
        }
    };
    Failure::new(Exit::Model, format!("the run has no `{name}`")).hint(hint)
}

/// Whether a name is a free random variable's whose distribution refers to no random variable,
/// neither itself nor through deterministic values.
fn is_on_top(model: &Model, name: &str) -> bool {
    let Some(Kind::Rv(rv)) = model.nodes().get(name).map(|node| &node.kind) else { return false };
    let mut waiting = model.references(&rv.dist.arguments());
    while let Some(needed) = waiting.pop_first() {
        match model.nodes().get(needed).map(|node| &node.kind) {
            Some(Kind::Rv(_)) => return false,
            Some(Kind::Det(value)) => waiting.extend(model.references(&[*value])),
            _ => {}
        }
    }
    model.free_variables().contains(&name)
}

fn compile(path: &Path, jacobian: bool) -> Result<BoundModel, Failure> {
    let source = SourceArgs::of_run(path).read()?;
    let mut options = CompileOptions::default();
    options.jacobian = jacobian;
    // Every variable as it is declared, in coordinates of its own.
    options.without = ["non-centre", MARGINALISE, RECENTRE].map(str::to_owned).to_vec();
    Ok(source.compile(&options)?.bound)
}
