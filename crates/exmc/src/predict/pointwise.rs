//! Posterior draws -> the log likelihood of each observed element at each draw.
//!
//! A draw holds constrained values. One compiled function takes them to the sampler's position,
//! another one from there to the elementwise log likelihoods, which are terms of the density.

use std::collections::BTreeMap;

use exmc_draws::Posterior;
use exmc_exec::{Executor, FunctionSource, compile_function};
use exmc_graph::{Shape, evaluate};
use exmc_model::{Code, Diagnostic};

use crate::arrays::{DrawArray, DrawArrays};
use crate::compile::BoundModel;
use crate::error::Error;
use crate::predict::{by_chain, variable};

/// By observed variable: arrays `[chain, draw, ...]` of log likelihoods in nats, weights included.
/// An observation of which elements are masked or missing has one axis behind the draws, over the
/// elements that count, row by row: the others have no likelihood that could be compared.
///
/// # Errors
/// When the draws do not hold the model's free variables, or the model observes nothing.
pub(crate) fn log_likelihood(
    bound: &BoundModel,
    posterior: &Posterior,
) -> Result<DrawArrays, Error> {
    let lowered = bound.compiled().whole_lowered();
    let data = |name: &str| bound.data().get(name).cloned();
    if lowered.pointwise.is_empty() {
        let message = "the model has no observation, so that there is no likelihood";
        return Err(Diagnostic::new(Code::BadObservation, message).into());
    }
    // From constrained values, one variable after the other, to the position.
    let graph = lowered.inverse.graph.clone();
    let (mut parameters, mut columns, mut dim) = (Vec::new(), Vec::new(), 0);
    for entry in &lowered.layout {
        let input = graph.find_input(&entry.name).ok_or_else(|| {
            Error::internal(format!("the inverse transform does not know `{}`", entry.name))
        })?;
        let shape = graph.shape(input).clone();
        columns.push((variable(posterior, &entry.name, &shape)?.offset, dim, shape.len()));
        parameters.push((input, dim));
        dim += shape.len();
    }
    let outputs = lowered.inverse.outputs.clone();
    let inverse = FunctionSource { graph, outputs, parameters, dim };
    let inverse = compile_function(Executor::default(), &inverse)?.bind(&data)?;
    let outputs: Vec<_> = lowered.pointwise.iter().map(|p| p.node).collect();
    let parameters = lowered.layout.iter().map(|e| (e.input, e.offset)).collect();
    let (graph, position) = (lowered.graph.clone(), lowered.dim);
    let pointwise = FunctionSource { graph, outputs, parameters, dim: position };
    let pointwise = compile_function(Executor::default(), &pointwise)?.bind(&data)?;

    let masks = counted(bound)?;
    let shapes: Vec<&Shape> =
        lowered.pointwise.iter().map(|p| lowered.graph.shape(p.node)).collect();
    let usable = posterior.usable_chains().into_iter();
    let chains: Vec<_> = usable.map(|chain| (chain.chain, chain.values.as_slice())).collect();
    let width = posterior.width().max(1);
    let draws = chains.iter().map(|(_, rows)| rows.len() / width).min().unwrap_or(0);
    let mut all = by_chain(&chains, |_, rows| {
        let (mut inverse, mut pointwise) = (inverse.instance(), pointwise.instance());
        let (mut constrained, mut unconstrained) = (vec![0.0; dim], vec![0.0; position]);
        let mut out = vec![0.0; shapes.iter().map(|shape| shape.len()).sum()];
        let mut made = vec![Vec::new(); shapes.len()];
        for row in rows.chunks_exact(width).take(draws) {
            for &(from, to, len) in &columns {
                constrained[to..to + len].copy_from_slice(&row[from..from + len]);
            }
            let evaluated = inverse.evaluate(&constrained, &mut unconstrained);
            let evaluated = evaluated.and_then(|()| pointwise.evaluate(&unconstrained, &mut out));
            evaluated.map_err(|e| Diagnostic::new(Code::BadArguments, e.to_string()))?;
            let mut rest = out.as_slice();
            for (k, (shape, made)) in shapes.iter().zip(&mut made).enumerate() {
                let (terms, others) = rest.split_at(shape.len());
                rest = others;
                match masks.get(&k) {
                    None => made.extend_from_slice(terms),
                    Some(counted) => made.extend(counted.iter().map(|place| terms[*place])),
                }
            }
        }
        Ok(made)
    })?;
    // Without a chain there are no numbers of any observation.
    all.resize(shapes.len(), Vec::new());
    let names = lowered.pointwise.iter().map(|p| p.name.clone());
    let arrays = names.zip(all).enumerate().map(|(k, (name, values))| {
        let shape = match masks.get(&k) {
            None => shapes[k].clone(),
            Some(counted) => Shape::from(counted.len()),
        };
        Some((name, DrawArray::new(chains.len(), draws, shape, values)?))
    });
    let arrays: Option<DrawArrays> = arrays.collect();
    arrays.ok_or_else(|| Error::internal("a log likelihood has another shape"))
}

/// By observed variable, in the order of [`log_likelihood`]'s: which of its outcomes count.
pub(crate) fn counting(bound: &BoundModel) -> Result<Vec<(String, Vec<bool>)>, Error> {
    let lowered = bound.compiled().whole_lowered();
    let places = counted(bound)?;
    let each = lowered.pointwise.iter().enumerate().map(|(k, pointwise)| {
        let n = lowered.graph.shape(pointwise.node).len();
        let counts = match places.get(&k) {
            None => vec![true; n],
            Some(places) => {
                let mut counts = vec![false; n];
                places.iter().for_each(|place| counts[*place] = true);
                counts
            }
        };
        (pointwise.name.clone(), counts)
    });
    Ok(each.collect())
}

/// For observations with elements that do not count, the places of those that do.
fn counted(bound: &BoundModel) -> Result<BTreeMap<usize, Vec<usize>>, Error> {
    let lowered = bound.compiled().whole_lowered();
    let mut places = BTreeMap::new();
    for (k, pointwise) in lowered.pointwise.iter().enumerate() {
        let Some(mask) = pointwise.mask else { continue };
        let data = |name: &str| bound.data().get(name).cloned();
        let made = evaluate(&lowered.graph, &[mask], &data);
        let mask = made.map_err(|e| Error::internal(e.message()))?.swap_remove(0);
        let counts = mask.values().iter().enumerate().filter(|(_, flag)| **flag != 0.0);
        places.insert(k, counts.map(|(place, _)| place).collect());
    }
    Ok(places)
}
