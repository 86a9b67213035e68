//! Special functions of Stan's: a name and arguments -> nodes, elementwise where Stan has them so.
//!
//! Hypergeometric functions are sums of so many terms that they are exact where their series
//! converges at a usable pace; where it does not, the value is NaN, which rejects the position.
//! **Reference**: DLMF 15 and 16.

use exmc_graph::{Binary, Unary};
use exmc_graph::{DType, Graph, NodeId, Op, Role, ScanBody, Shape, SharedBody, Tensor};
use std::sync::Arc;

use super::align::{elementwise, ints};
use super::{Answer, Argument, LibraryError, Output};
use crate::scalar_functions::gamma::log_multivariate_gamma;

/// Terms of a hypergeometric sum.
const TERMS: usize = 6000;

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    Some(match (name, args) {
        ("lmgamma", [_, _]) => by_integer(g, args, &|g, dimensions, x| {
            log_multivariate_gamma(g, usize::try_from(dimensions).unwrap_or(0), x)
        }),
        ("student_t_qf", [_, _, _, _]) => elementwise(g, args, |g, x| {
            let &[p, nu, mu, sigma] = x else { unreachable!("four arguments") };
            let quantile = g.binary(Binary::StudentQuantile, p, nu);
            let spread = g.mul(sigma, quantile);
            let value = g.add(mu, spread);
            let (zero, none) = (g.scalar(0.0), g.scalar(f64::NAN));
            let inside = g.lt(zero, sigma);
            g.select(inside, value, none)
        }),
        ("hypergeometric_1F0", [_, _]) => elementwise(g, args, |g, x| {
            // (1 - z)^-a
            let minus = g.neg(x[1]);
            let log = g.log1p(minus);
            let exponent = g.mul(x[0], log);
            let exponent = g.neg(exponent);
            g.exp(exponent)
        }),
        ("hypergeometric_2F1", [a, b, c, z]) => {
            scalars(g, args, |g| gauss(g, [a.node, b.node, c.node, z.node]))
        }
        ("hypergeometric_3F2" | "hypergeometric_pFq", [a, b, z]) => scalars(g, args, |g| {
            let list = |g: &mut Graph, x: NodeId| -> Vec<NodeId> {
                let count = g.shape(x).len();
                let flat = g.reshape(x, [count]);
                let part = |k| {
                    let one = g.slice(flat, 0, k, k + 1);
                    g.reshape(one, Shape::scalar())
                };
                (0..count).map(part).collect()
            };
            let (above, below) = (list(g, a.node), list(g, b.node));
            sum(g, &above, &below, z.node)
        }),
        _ => return None,
    })
}

/// A function of single numbers, of one lane.
fn scalars(
    g: &mut Graph,
    args: &[Argument],
    formula: impl FnOnce(&mut Graph) -> NodeId,
) -> Result<Output, LibraryError> {
    if args.iter().any(|arg| arg.batched) {
        return Err(LibraryError::Unbatchable);
    }
    Ok(Output::new(formula(g), false))
}

/// ${}_2F_1(a,b;c;z)$; for $z<0$ by $(1-z)^{-a}{}_2F_1(a,c-b;c;z/(z-1))$, whose series does not
/// alternate in powers of z.
fn gauss(g: &mut Graph, [a, b, c, z]: [NodeId; 4]) -> NodeId {
    let zero = g.scalar(0.0);
    let is_negative = g.lt(z, zero);
    let minus = g.neg(z);
    let log = g.log1p(minus);
    let less = g.shift(z, -1.0);
    let reflected = g.div(z, less);
    let point = g.select(is_negative, reflected, z);
    let rest = g.sub(c, b);
    let second = g.select(is_negative, rest, b);
    let series = sum(g, &[a, second], &[c], point);
    let exponent = g.mul(a, log);
    let exponent = g.neg(exponent);
    let exponent = g.select(is_negative, exponent, zero);
    let factor = g.exp(exponent);
    g.mul(factor, series)
}

/// $\sum_n \frac{\prod(a_i)_n}{\prod(b_j)_n}\frac{z^n}{n!}$, NaN where the last term is not small
/// beside the sum.
fn sum(g: &mut Graph, above: &[NodeId], below: &[NodeId], z: NodeId) -> NodeId {
    let mut body = Graph::new();
    let number = |g: &mut Graph, name: &str| {
        let input = g.input(name, Role::Parameter, Shape::scalar(), DType::Real);
        input.expect("a new graph has no input of another kind")
    };
    let (term, total, n) =
        (number(&mut body, "carry0"), number(&mut body, "carry1"), number(&mut body, "x0"));
    let fixed: Vec<NodeId> = (0..above.len() + below.len() + 1)
        .map(|k| number(&mut body, &format!("fixed{k}")))
        .collect();
    let next = body.shift(n, 1.0);
    let mut upper = body.mul(term, fixed[fixed.len() - 1]);
    let mut lower = next;
    for a in &fixed[..above.len()] {
        let factor = body.add(*a, n);
        upper = body.mul(upper, factor);
    }
    for b in &fixed[above.len()..above.len() + below.len()] {
        let factor = body.add(*b, n);
        lower = body.mul(lower, factor);
    }
    let next = body.div(upper, lower);
    let total = body.add(total, next);
    let body = ScanBody {
        graph: body,
        next: vec![next, total],
        stacked: Vec::new(),
        counts: [2, 1, above.len() + below.len() + 1],
    };
    let numbers: Vec<f64> = (0..TERMS).map(|k| k as f64).collect();
    let numbers = g.constant(Tensor::vector(&numbers));
    let one = g.scalar(1.0);
    let args: Vec<NodeId> = [one, one, numbers]
        .into_iter()
        .chain(above.iter().copied())
        .chain(below.iter().copied())
        .chain([z])
        .collect();
    let scan = Op::Scan { length: TERMS, reverse: false, body: SharedBody(Arc::new(body)) };
    let scan = g.apply(scan, &args).expect("the body fits its arguments");
    let project =
        |g: &mut Graph, k| g.apply(Op::Project(k), &[scan]).expect("the scan has two states");
    let (last, total) = (project(g, 0), project(g, 1));
    let (left, size) = (g.abs(last), g.abs(total));
    let allowed = g.scale(size, 1e-15);
    let (small, finite) = (g.le(left, allowed), g.unary(Unary::IsFinite, total));
    let converged = g.and(small, finite);
    let nan = g.scalar(f64::NAN);
    g.select(converged, total, nan)
}

/// A function of an integer and numbers, where the integers differ among the elements: those with
/// one integer together.
pub(super) fn by_integer(
    g: &mut Graph,
    args: &[Argument],
    formula: &dyn Fn(&mut Graph, i64, NodeId) -> NodeId,
) -> Result<Output, LibraryError> {
    let orders = ints(g, args, 0)?;
    if let Some((first, rest)) = orders.split_first()
        && rest.iter().all(|order| order == first)
    {
        let first = *first;
        if args[0].extents(g).is_empty() {
            return elementwise(g, &args[1..], |g, x| formula(g, first, x[0]));
        }
        return elementwise(g, args, |g, x| {
            // The order's elements stretch a single number.
            let shape = g.shape(x[0]).clone();
            let number = if g.shape(x[1]).rank() < shape.rank() {
                g.broadcast_to(x[1], &shape)
            } else {
                x[1]
            };
            formula(g, first, number)
        });
    }
    if args.iter().any(|arg| arg.batched) {
        return Err(LibraryError::Varies(0));
    }
    let shape = g.shape(args[0].node).clone();
    let numbers = g.broadcast_to(args[1].node, &shape);
    let numbers = g.reshape(numbers, [orders.len()]);
    let (mut pieces, mut places) = (Vec::new(), vec![0.0; orders.len()]);
    let mut kinds: Vec<i64> = orders.clone();
    kinds.sort_unstable();
    kinds.dedup();
    let mut count = 0;
    for kind in kinds {
        let matching: Vec<usize> = (0..orders.len()).filter(|k| orders[*k] == kind).collect();
        for position in &matching {
            places[*position] = count as f64;
            count += 1;
        }
        let index =
            Tensor::int([matching.len()], matching.iter().map(|k| *k as f64).collect::<Vec<f64>>());
        let index = g.constant(index.expect("positions are integers"));
        let chosen = g.gather(numbers, index);
        pieces.push(formula(g, kind, chosen));
    }
    let all = g.apply(Op::Concat { axis: 0 }, &pieces).expect("vectors join");
    let index = g.constant(Tensor::int([places.len()], places).expect("positions are integers"));
    let back = g.gather(all, index);
    Ok(Output::new(g.reshape(back, shape), false))
}
