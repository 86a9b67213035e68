//! Generalised linear models: `d_glm(y | x, alpha, beta …)` -> `d(y | alpha + x * beta …)`.

use exmc_graph::Graph;

use super::align::{elementwise, reshape};
use super::elementwise::wrong;
use super::products::multiply;
use super::{Argument, LibraryError, Output};
use crate::typed::Type;

/// The plain distribution's name and arguments, if the name is that of a linear model.
pub(super) fn plain(
    g: &mut Graph,
    name: &str,
    args: &[Argument],
) -> Result<Option<(&'static str, Vec<Argument>)>, LibraryError> {
    Ok(Some(match (name, args) {
        ("normal_id_glm", [y, x, alpha, beta, sigma]) => {
            ("normal", vec![y.clone(), linear(g, x, alpha, beta)?, sigma.clone()])
        }
        ("bernoulli_logit_glm", [y, x, alpha, beta]) => {
            ("bernoulli_logit", vec![y.clone(), linear(g, x, alpha, beta)?])
        }
        ("poisson_log_glm", [y, x, alpha, beta]) => {
            ("poisson_log", vec![y.clone(), linear(g, x, alpha, beta)?])
        }
        ("neg_binomial_2_log_glm", [y, x, alpha, beta, phi]) => {
            ("neg_binomial_2_log", vec![y.clone(), linear(g, x, alpha, beta)?, phi.clone()])
        }
        ("binomial_logit_glm", [y, n, x, alpha, beta]) => {
            ("binomial_logit", vec![y.clone(), n.clone(), linear(g, x, alpha, beta)?])
        }
        ("categorical_logit_glm", [y, x, alpha, beta]) => {
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
            (
                "categorical_logit",
                vec![y.clone(), Argument { node: sum.node, ty, batched: sum.batched }],
            )
        }
        ("ordered_logistic_glm", [y, x, beta, cutpoints]) => {
            let eta = multiply(g, x, beta)?;
            let eta = predictor(g, eta);
            ("ordered_logistic", vec![y.clone(), eta, cutpoints.clone()])
        }
        _ if name.ends_with("_glm") => return Err(wrong(name)),
        _ => return Ok(None),
    }))
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
