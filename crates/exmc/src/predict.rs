//! Models -> predictive draws: from the prior, or from the observations' distributions given
//! posterior draws.
//!
//! Draws follow the model as declared, in an order that depends on references only, so that neither
//! names nor rewrites change them; values that others need come first, deterministic nodes
//! included.

use std::collections::{BTreeMap, BTreeSet};

use exmc_draws::Posterior;
use exmc_graph::{Graph, NodeId, Shape, Tensor, evaluate};
use exmc_math::random::{ChainRng, Phase};
use exmc_model::{Code, DataSet, Diagnostic, Kind, Model, Standardised, draw, rewrite};

use crate::compile::Values;
use crate::error::Error;

/// `n` independent draws of every random variable and deterministic node from the joint prior,
/// observed variables included.
///
/// # Errors
/// When data are missing, or a distribution cannot be drawn from.
pub fn prior_predictive(
    model: &Model,
    data: &Values,
    n: usize,
    seed: u64,
) -> Result<Vec<Values>, Error> {
    let order = forward_order(model);
    let data = &DataSet::from(data).bind(model)?;
    let mut rng = ChainRng::new(seed, 0, Phase::Prior);
    (0..n).map(|_| forward(model, &order, data, Values::new(), &mut rng)).collect()
}

/// For every posterior draw (chains one after the other), one draw of each observed variable from
/// its distribution given that draw's values.
///
/// # Errors
/// As [`prior_predictive`]; or when the posterior does not hold the model's free variables.
pub fn posterior_predictive(
    model: &Model,
    data: &Values,
    posterior: &Posterior,
    seed: u64,
) -> Result<Vec<Values>, Error> {
    let order = forward_order(model);
    let data = &DataSet::from(data).bind(model)?;
    let observed: Vec<&str> = observed_variables(model);
    // A variable that an observed image was solved for is not free: it is drawn anew with its
    // image.
    let rewritten = rewrite(model, &[])?;
    let mut free: BTreeSet<&str> = rewritten.free_variables().into_iter().collect();
    free.retain(|name| rewritten.observation_of(name).is_none());
    let width = posterior.width();
    let mut draws = Vec::new();
    for chain in &posterior.chains {
        let mut rng = ChainRng::new(seed, chain.chain, Phase::Predictive);
        for row in chain.values.chunks_exact(width.max(1)) {
            let mut known = Values::new();
            for variable in &posterior.variables {
                if free.contains(variable.name.as_str()) {
                    let values = &row[variable.offset..variable.offset + variable.len()];
                    let shape = Shape::from(variable.shape.as_slice());
                    let value = Tensor::real(shape, values)
                        .expect("a variable has as many columns as elements");
                    known.insert(variable.name.clone(), value);
                }
            }
            let mut all = forward(model, &order, data, known, &mut rng)?;
            all.retain(|name, _| observed.contains(&name.as_str()));
            draws.push(all);
        }
    }
    Ok(draws)
}

/// Names of variables that an observation (also of an affine or matrix image) refers to.
fn observed_variables(model: &Model) -> Vec<&str> {
    let targets = model.nodes().values().filter_map(|n| match &n.kind {
        Kind::Obs(obs) => Some(obs.target.as_str()),
        _ => None,
    });
    targets.collect()
}

/// Nodes with values, each after those that drawing it needs.
fn forward_order(model: &Model) -> Vec<&str> {
    let mut needs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, node) in model.nodes() {
        let roots = match &node.kind {
            Kind::Rv(rv) => {
                let restored =
                    rv.standardised.into_iter().flat_map(|s| [Some(s.scale), s.location]);
                rv.dist.arguments().into_iter().chain(restored.flatten()).collect()
            }
            Kind::Det(value) => vec![*value],
            Kind::Data(_) => Vec::new(),
            Kind::Obs(_) | Kind::Potential(_) => continue,
        };
        needs.insert(name, model.references(&roots).into_iter().collect());
    }
    let mut order: Vec<&str> = Vec::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while order.len() < needs.len() {
        let before = order.len();
        for (name, needed) in &needs {
            if !done.contains(name) && needed.iter().all(|n| done.contains(n)) {
                order.push(name);
                done.insert(name);
            }
        }
        assert!(order.len() > before, "our bug: building refuses cycles");
    }
    order
}

/// Values of all nodes, drawing those that are not known.
fn forward(
    model: &Model,
    order: &[&str],
    data: &Values,
    known: Values,
    rng: &mut ChainRng,
) -> Result<Values, Error> {
    let mut values = known;
    let mut recorded = Values::new();
    for &name in order {
        let node = &model.nodes()[name];
        let located = |code: Code, message: String| {
            Error::from(Diagnostic::new(code, message).at(name, &node.origin))
        };
        match &node.kind {
            Kind::Data(declared) => {
                let value = data.get(name).or(declared.value.as_ref());
                let missing =
                    || located(Code::MissingData, format!("no value was given for data `{name}`"));
                values.insert(name.to_owned(), value.ok_or_else(missing)?.clone());
                continue;
            }
            Kind::Det(value) => {
                let value = value_of(model, &values, &[*value])
                    .map_err(|m| located(Code::BadArguments, m))?;
                values.insert(
                    name.to_owned(),
                    value.into_iter().next().expect("one root was asked for"),
                );
            }
            Kind::Rv(rv) => {
                if !values.contains_key(name) {
                    let args = rv.dist.arguments();
                    let evaluated = value_of(model, &values, &args)
                        .map_err(|m| located(Code::BadArguments, m))?;
                    let by_node: BTreeMap<NodeId, Tensor> =
                        args.into_iter().zip(evaluated).collect();
                    let made = draw(&rv.dist, rng, &|id| &by_node[&id], &rv.shape);
                    let mut value = made.map_err(|m| located(Code::BadArguments, m))?;
                    if let Some(s) = rv.standardised {
                        value = restore(model, &values, s, &value)
                            .map_err(|m| located(Code::BadArguments, m))?;
                    }
                    values.insert(name.to_owned(), value);
                }
            }
            Kind::Obs(_) | Kind::Potential(_) => continue,
        }
        recorded.insert(name.to_owned(), values[name].clone());
    }
    Ok(recorded)
}

fn value_of(model: &Model, values: &Values, roots: &[NodeId]) -> Result<Vec<Tensor>, String> {
    evaluate(model.graph(), roots, &|name| values.get(name).cloned())
        .map_err(|e| e.message().to_owned())
}

/// `location + scale * z` for a non-centred variable.
fn restore(model: &Model, values: &Values, s: Standardised, z: &Tensor) -> Result<Tensor, String> {
    let scale = &value_of(model, values, &[s.scale])?[0];
    let location = match s.location {
        Some(location) => value_of(model, values, &[location])?.swap_remove(0),
        None => Tensor::scalar(0.0),
    };
    let mut g = Graph::new();
    let [scale, z, location] = [scale, z, &location].map(|t| g.constant(t.clone()));
    let scaled = g.mul(scale, z);
    let restored = g.add(location, scaled);
    let made = evaluate(&g, &[restored], &|_| None).map_err(|e| e.message().to_owned())?;
    Ok(made.into_iter().next().expect("one root was asked for"))
}
