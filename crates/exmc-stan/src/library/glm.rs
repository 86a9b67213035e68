//! Generalised linear models: `d_glm(y | x, alpha, beta …)` -> `d(y | alpha + x * beta …)`.

use exmc_graph::Graph;

use super::align::{elementwise, reshape};
use super::elementwise::wrong;
use super::products::multiply;
use super::{Argument, LibraryError, Output};
use crate::families::{Source, family};
use crate::typed::Type;

/// The plain distribution's name and arguments, if the name is that of a linear model.
pub(super) fn plain(
    g: &mut Graph,
    name: &str,
    args: &[Argument],
) -> Result<Option<(&'static str, Vec<Argument>)>, LibraryError> {
    let Some(Source::LinearModel(plain, _)) = family(name).map(|family| family.source) else {
        return Ok(None);
    };
    let args = match (plain, args) {
        ("categorical_logit", [y, x, alpha, beta]) => {
            // One vector of log odds an outcome; alpha has one number a category.
            let product = multiply(g, x, beta)?;
            let categories = alpha.extents(g)[0];
            let node = if alpha.batched
                && g.shape(product.node).rank() > usize::from(product.batched) + 1
            {
                reshape(g, alpha.node, true, &[1, categories])
            } else {
                alpha.node
            };
            let sum = Output::new(g.add(product.node, node), product.batched || alpha.batched);
            let rows = g.shape(sum.node).rank() - usize::from(sum.batched) > 1;
            let ty = if rows { Type::Vector.array(1) } else { Type::Vector };
            vec![y.clone(), Argument { node: sum.node, ty, batched: sum.batched }]
        }
        ("ordered_logistic", [y, x, beta, cutpoints]) => {
            let eta = multiply(g, x, beta)?;
            let eta = predictor(g, eta);
            vec![y.clone(), eta, cutpoints.clone()]
        }
        ("binomial_logit", [y, n, x, alpha, beta]) => {
            vec![y.clone(), n.clone(), linear(g, x, alpha, beta)?]
        }
        (_, [y, x, alpha, beta, rest @ ..]) => {
            let mut args = vec![y.clone(), linear(g, x, alpha, beta)?];
            args.extend_from_slice(rest);
            args
        }
        _ => return Err(wrong(name)),
    };
    Ok(Some((plain, args)))
}

/// `alpha + x * beta`; a number if x is one row.
fn linear(
    g: &mut Graph,
    x: &Argument,
    alpha: &Argument,
    beta: &Argument,
) -> Result<Argument, LibraryError> {
    let product = multiply(g, x, beta)?;
    let product = predictor(g, product);
    let sum = elementwise(g, &[product, alpha.clone()], |g, x| g.add(x[0], x[1]))?;
    Ok(predictor(g, sum))
}

fn predictor(g: &Graph, x: Output) -> Argument {
    let number = g.shape(x.node).rank() == usize::from(x.batched);
    let ty = if number { Type::Real } else { Type::Vector };
    Argument { node: x.node, ty, batched: x.batched }
}
