//! Models -> predictive draws: from the prior, or from the observations' distributions given
//! posterior draws; posterior draws -> elementwise log likelihoods.
//!
//! Draws follow the model as declared, in an order that depends on references only, so that neither
//! names nor rewrites change them; values that others need come first, deterministic nodes
//! included.

mod forward;
mod pointwise;

use std::collections::{BTreeMap, BTreeSet};
use std::thread::ScopedJoinHandle;

use exmc_draws::{Posterior, Variable};
use exmc_graph::Shape;
use exmc_math::random::Phase;
use exmc_model::{Code, DataSet, Diagnostic, Kind, Model, rewrite};

use crate::arrays::DrawArrays;
use crate::compile::Values;
use crate::error::Error;
use forward::{Forward, Given, no_draws};

pub(crate) use pointwise::{counting, log_likelihood};

/// `n` independent draws of every random variable and deterministic node from the joint prior,
/// observed variables included; as arrays over one chain.
///
/// ```
/// use exmc::model::{DataSet, prior_predictive};
/// use exmc::{ModelBuilder, distributions::normal};
/// let mut model = ModelBuilder::new();
/// model.rv("mu", normal(0, 1));
/// model.rv("y", normal("mu", 1)).shape(3);
/// model.observe("y_obs", "y", [1.0, 2.0, 3.0]);
/// let draws = prior_predictive(&model.build()?, &DataSet::new(), 5000, 1)?;
/// assert_eq!(draws["y"].shape(), [1, 5000, 3]);
/// // Each element has variance 1 + 1.
/// assert!((draws["y"].at(0).sd() - 2_f64.sqrt()).abs() < 0.1);
/// # Ok::<(), exmc::Error>(())
/// ```
///
/// # Errors
/// When data are missing, or a distribution cannot be drawn from.
pub fn prior_predictive(
    model: &Model,
    data: &DataSet,
    n: usize,
    seed: u64,
) -> Result<DrawArrays, Error> {
    let data = data.bind(model)?;
    let names = valued(model);
    let wanted: BTreeSet<&str> = names.iter().copied().collect();
    let plan = Forward::new(model, &data, &BTreeSet::new(), &wanted)?;
    plan.run(&no_draws(1), n, &names, (seed, Phase::Prior))
}

/// What of a model's predictions is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// What was observed.
    Observed,
    /// Deterministic values that are computed anew too.
    Deterministic,
}

/// For every posterior draw, one draw of each observed variable from its distribution given that
/// draw's values.
///
/// # Errors
/// As [`prior_predictive`]; or when the posterior does not hold the model's free variables.
pub(crate) fn posterior_predictive(
    model: &Model,
    data: &Values,
    posterior: &Posterior,
    recorded: Recorded,
    seed: u64,
) -> Result<DrawArrays, Error> {
    let mut wanted = observed_variables(model);
    if recorded == Recorded::Deterministic {
        let more = valued(model).into_iter();
        wanted.extend(more.filter(|name| matches!(model.nodes()[*name].kind, Kind::Det(_))));
    }
    let names: Vec<&str> = wanted.iter().copied().collect();
    // A variable that an observed image was solved for is not free: it is drawn anew with its
    // image.
    let rewritten = rewrite(model, &[])?;
    let mut free: BTreeSet<&str> = rewritten.free_variables().into_iter().collect();
    free.retain(|name| rewritten.observation_of(name).is_none());
    let plan = Forward::new(model, data, &free, &wanted)?;
    let given = given(plan.known(), posterior)?;
    let draws = given.chains.iter().map(|(_, rows)| rows.len() / given.width.max(1)).min();
    plan.run(&given, draws.unwrap_or(0), &names, (seed, Phase::Predictive))
}

/// Where posterior draws have variables.
fn given<'a>(
    variables: impl Iterator<Item = (&'a str, &'a Shape)>,
    posterior: &'a Posterior,
) -> Result<Given<'a>, Error> {
    let mut given =
        Given { columns: BTreeMap::new(), width: posterior.width(), chains: Vec::new() };
    for (name, shape) in variables {
        given.columns.insert(name, variable(posterior, name, shape)?.offset);
    }
    let usable = posterior.usable_chains().into_iter();
    given.chains = usable.map(|chain| (chain.chain, chain.values.as_slice())).collect();
    Ok(given)
}

/// Columns of all chains, chain by chain, from what `of_chain` makes of each; chains run side by
/// side.
pub(crate) fn by_chain<'a, F>(
    chains: &[(u32, &'a [f64])],
    of_chain: F,
) -> Result<Vec<Vec<f64>>, Error>
where
    F: Fn(u32, &'a [f64]) -> Result<Vec<Vec<f64>>, Error> + Sync,
{
    let of_chain = &of_chain;
    let made: Vec<Result<_, Error>> = std::thread::scope(|scope| {
        let spawn = |&(number, rows): &(u32, &'a [f64])| {
            let builder = std::thread::Builder::new();
            let thread = builder.spawn_scoped(scope, move || of_chain(number, rows));
            thread.map_err(|_| (number, rows))
        };
        let running: Vec<_> = chains.iter().map(spawn).collect();
        let panicked = |_| Err(Error::internal("the thread of a chain's predictions panicked"));
        let join = |thread: Result<ScopedJoinHandle<'_, _>, (u32, &'a [f64])>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(panicked),
            // One after the other where there are no threads to be had.
            Err((number, rows)) => of_chain(number, rows),
        };
        running.into_iter().map(join).collect()
    });
    let mut all: Vec<Vec<f64>> = Vec::new();
    for columns in made {
        let columns = columns?;
        all.resize(columns.len(), Vec::new());
        all.iter_mut().zip(columns).for_each(|(all, column)| all.extend(column));
    }
    Ok(all)
}

/// A variable of the draws that must have a shape.
fn variable<'p>(
    posterior: &'p Posterior,
    name: &str,
    shape: &Shape,
) -> Result<&'p Variable, Error> {
    let Some(found) = posterior.variable(name) else {
        let message = format!("the draws have no values of `{name}`");
        let names: Vec<_> = posterior.variables.iter().map(|v| format!("`{}`", v.name)).collect();
        let help = format!("they hold {}", names.join(", "));
        return Err(Diagnostic::new(Code::MissingData, message).help(help).into());
    };
    if found.shape != shape.extents() {
        let found_shape = Shape::from(found.shape.as_slice());
        let message = format!("`{name}` has shape {found_shape} in the draws, expected {shape}");
        return Err(Diagnostic::new(Code::ShapeMismatch, message).into());
    }
    Ok(found)
}

/// Names of variables that an observation (also of an affine or matrix image) refers to.
fn observed_variables(model: &Model) -> BTreeSet<&str> {
    let targets = model.nodes().values().filter_map(|n| match &n.kind {
        Kind::Obs(obs) => Some(obs.target.as_str()),
        _ => None,
    });
    targets.collect()
}

/// Names of random variables and deterministic values.
fn valued(model: &Model) -> Vec<&str> {
    let nodes = model.nodes().iter();
    let valued = nodes.filter(|(_, node)| matches!(node.kind, Kind::Rv(_) | Kind::Det(_)));
    valued.map(|(name, _)| name.as_str()).collect()
}
