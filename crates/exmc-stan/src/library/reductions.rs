//! Reductions: containers -> one number a lane (or a row, or a column).

use exmc_graph::{Graph, NodeId, Reduction, Shape};

use super::align::{elementwise, reshape};
use super::elementwise::wrong;
use super::matrix_parts::diagonal;
use super::products::dot;
use super::{Answer, Argument, LibraryError, Output};
use crate::typed::Type;

/// The call, if the name is that of a reduction.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    Some(match (name, args) {
        ("sum", [x]) => Ok(reduce(g, Reduction::Sum, x)),
        ("log_sum_exp", [x]) => Ok(reduce(g, Reduction::LogSumExp, x)),
        ("max", [x]) => Ok(reduce(g, Reduction::Max, x)),
        ("min", [x]) => Ok(reduce(g, Reduction::Min, x)),
        ("max", [_, _]) => elementwise(g, args, |g, x| g.max(x[0], x[1])),
        ("min", [_, _]) => elementwise(g, args, |g, x| g.min(x[0], x[1])),
        ("prod", [x]) => Ok(product(g, x)),
        ("mean", [x]) => not_empty(g, name, x).map(|()| {
            let node = mean(g, x);
            Output::new(node, x.batched)
        }),
        ("variance", [x]) => not_empty(g, name, x).map(|()| {
            let node = variance(g, x);
            Output::new(node, x.batched)
        }),
        ("sd", [x]) => not_empty(g, name, x).map(|()| {
            let variance = variance(g, x);
            // The variance of one number is the constant 0, whose root has no derivative to speak
            // of.
            let node = if x.extents(g).iter().product::<usize>() == 1 {
                variance
            } else {
                g.sqrt(variance)
            };
            Output::new(node, x.batched)
        }),
        ("dot_self", [x]) => {
            let square = g.square(x.node);
            Ok(reduce(g, Reduction::Sum, &Argument { node: square, ..x.clone() }))
        }
        ("dot_product", [a, b]) => dot(g, a, b),
        ("norm1", [x]) => {
            let size = g.abs(x.node);
            Ok(reduce(g, Reduction::Sum, &Argument { node: size, ..x.clone() }))
        }
        ("norm2", [x]) => {
            let square = g.square(x.node);
            let sum = reduce(g, Reduction::Sum, &Argument { node: square, ..x.clone() });
            Ok(Output { node: g.sqrt(sum.node), ..sum })
        }
        ("squared_distance", [_, _]) => squared_distance(g, args),
        ("distance", [_, _]) => {
            squared_distance(g, args).map(|d| Output { node: g.sqrt(d.node), ..d })
        }
        ("columns_dot_product" | "rows_dot_product", [_, _]) => dot_of_lines(g, name, args),
        ("columns_dot_self" | "rows_dot_self", [x]) => {
            let twice = [x.clone(), x.clone()];
            dot_of_lines(g, name, &twice)
        }
        ("trace", [x]) => trace(g, x),
        _ => return None,
    })
}

/// The axes of one lane's elements.
fn axes(g: &Graph, x: &Argument) -> Vec<usize> {
    (usize::from(x.batched)..g.shape(x.node).rank()).collect()
}

fn reduce(g: &mut Graph, op: Reduction, x: &Argument) -> Output {
    let axes = axes(g, x);
    let node = if axes.is_empty() { x.node } else { g.reduce(op, x.node, &axes) };
    Output::new(node, x.batched)
}

fn not_empty(g: &Graph, name: &str, x: &Argument) -> Result<(), LibraryError> {
    if x.extents(g).contains(&0) {
        return Err(LibraryError::Mistake(format!("`{name}` of a container without elements")));
    }
    Ok(())
}

fn mean(g: &mut Graph, x: &Argument) -> NodeId {
    let count = x.extents(g).iter().product::<usize>() as f64;
    let total = reduce(g, Reduction::Sum, x).node;
    g.scale(total, 1.0 / count)
}

/// $\tfrac1{n-1}\sum(x-\bar x)^2$; 0 of one number.
fn variance(g: &mut Graph, x: &Argument) -> NodeId {
    let count = x.extents(g).iter().product::<usize>();
    if count == 1 {
        let lanes = Shape::from(&g.shape(x.node).extents()[..usize::from(x.batched)]);
        return g.filled(&lanes, 0.0);
    }
    let mean = mean(g, x);
    let ones = vec![1; x.extents(g).len()];
    let mean = reshape(g, mean, x.batched, &ones);
    let centred = g.sub(x.node, mean);
    let square = g.square(centred);
    let sum = reduce(g, Reduction::Sum, &Argument { node: square, ..x.clone() }).node;
    g.scale(sum, 1.0 / (count as f64 - 1.0))
}

/// The product of all elements, by halves: its derivative is right where elements are zero or
/// negative.
fn product(g: &mut Graph, x: &Argument) -> Output {
    let first = usize::from(x.batched);
    let count: usize = x.extents(g).iter().product();
    let lanes = Shape::from(&g.shape(x.node).extents()[..first]);
    if count == 0 {
        return Output::new(g.filled(&lanes, 1.0), x.batched);
    }
    let mut node = reshape(g, x.node, x.batched, &[count]);
    let mut left = count;
    while left > 1 {
        let half = left / 2;
        let (low, high) = (g.slice(node, first, 0, half), g.slice(node, first, half, 2 * half));
        let halves = g.mul(low, high);
        node = if left % 2 == 1 {
            let last = g.slice(node, first, left - 1, left);
            g.concat(&[halves, last], first)
        } else {
            halves
        };
        left = half + left % 2;
    }
    Output::new(g.reshape(node, lanes), x.batched)
}

fn squared_distance(g: &mut Graph, args: &[Argument]) -> Result<Output, LibraryError> {
    let difference = elementwise(g, args, |g, x| g.sub(x[0], x[1]))?;
    let square = g.square(difference.node);
    Ok(Output { node: square, ..difference }.total(g))
}

fn dot_of_lines(g: &mut Graph, name: &str, args: &[Argument]) -> Result<Output, LibraryError> {
    let products = elementwise(g, args, |g, x| g.mul(x[0], x[1]))?;
    let first = usize::from(products.batched);
    let rows = name.starts_with("rows");
    let by_columns = match &args[0].ty {
        Type::Matrix => !rows,
        Type::Vector => !rows,
        Type::RowVector => !rows,
        _ => return Err(wrong(name)),
    };
    let rank = g.shape(products.node).rank() - first;
    let node = match (rank, &args[0].ty, by_columns) {
        (2, _, true) => g.reduce(Reduction::Sum, products.node, &[first]),
        (2, _, false) => g.reduce(Reduction::Sum, products.node, &[first + 1]),
        // A vector is one column, a row vector one row.
        (_, Type::Vector, true) | (_, Type::RowVector, false) => {
            let total = products.total(g).node;
            reshape(g, total, products.batched, &[1])
        }
        _ => products.node,
    };
    Ok(Output { node, ..products })
}

fn trace(g: &mut Graph, x: &Argument) -> Result<Output, LibraryError> {
    match x.extents(g) {
        [] => Ok(Output::new(x.node, x.batched)),
        [m, n] if m == n => {
            let diagonal = diagonal(g, x.node, x.batched);
            Ok(Output::new(diagonal, x.batched).total(g))
        }
        _ => Err(LibraryError::Mistake("`trace` of a matrix that is not square".to_owned())),
    }
}
