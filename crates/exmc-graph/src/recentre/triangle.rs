//! Asking: which elements of a matrix are zero, and which above zero, whatever the parameters are?

use rustc_hash::FxHashMap;

use super::view::moved;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Unary};
use crate::signs::is_positive;

/// Elements of an array that is looked at.
const MAX_ELEMENTS: usize = 1 << 16;

/// What is known of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Zero,
    Positive,
    Any,
}

/// Whether all elements above a square matrix's diagonal are plainly zero.
pub(super) fn is_lower(g: &Graph, matrix: NodeId) -> bool {
    let n = g.shape(matrix).extents()[0];
    let signs = signs(g, matrix, &mut FxHashMap::default());
    signs.is_some_and(|all| (0..n * n).all(|k| k % n <= k / n || all[k] == Sign::Zero))
}

/// Whether all elements on a square matrix's diagonal are plainly above zero (or not a number: no
/// density then).
pub(super) fn has_positive_diagonal(g: &Graph, matrix: NodeId) -> bool {
    let n = g.shape(matrix).extents()[0];
    let signs = signs(g, matrix, &mut FxHashMap::default());
    signs.is_some_and(|all| (0..n).all(|k| all[k * n + k] == Sign::Positive))
}

type Known = FxHashMap<NodeId, Option<Vec<Sign>>>;

fn signs(g: &Graph, id: NodeId, known: &mut Known) -> Option<Vec<Sign>> {
    if let Some(signs) = known.get(&id) {
        return signs.clone();
    }
    let found = (g.shape(id).len() <= MAX_ELEMENTS).then(|| of_operation(g, id, known));
    known.insert(id, found.clone());
    found
}

fn of_operation(g: &Graph, id: NodeId, known: &mut Known) -> Vec<Sign> {
    let node = g.node(id);
    let len = node.shape.len();
    if let Some(all) = g.as_constant(id) {
        return all.values().iter().map(|v| of_number(*v)).collect();
    }
    let found = match &node.op {
        Op::Binary(op @ (Binary::Mul | Binary::Add | Binary::Div)) => {
            let sides = (signs(g, node.args[0], known), signs(g, node.args[1], known));
            let (Some(a), Some(b)) = sides else { return vec![Sign::Any; len] };
            Some(a.iter().zip(&b).map(|(a, b)| of_two(*op, *a, *b)).collect())
        }
        Op::Unary(Unary::Sqrt | Unary::Neg | Unary::Tanh | Unary::Square) => {
            let sign_after = |sign: &Sign| match (sign, &node.op) {
                (Sign::Positive, Op::Unary(Unary::Neg)) => Sign::Any,
                (sign, _) => *sign,
            };
            signs(g, node.args[0], known).map(|inner| inner.iter().map(sign_after).collect())
        }
        Op::Reshape(_) => signs(g, node.args[0], known),
        Op::Permute(_) | Op::Slice { .. } | Op::Broadcast(_) | Op::Gather => {
            let from: Vec<usize> = (0..g.shape(node.args[0]).len()).collect();
            match (signs(g, node.args[0], known), moved(g, id, &from)) {
                (Some(inner), Some(from)) => Some(from.into_iter().map(|k| inner[k]).collect()),
                _ => None,
            }
        }
        Op::Concat { axis } => {
            let parts = node.args.iter().map(|arg| {
                let arg_signs = signs(g, *arg, known)?;
                let extents = g.shape(*arg).extents();
                Some((arg_signs, extents[*axis..].iter().product::<usize>()))
            });
            let parts: Option<Vec<(Vec<Sign>, usize)>> = parts.collect();
            parts.map(|parts| {
                let outer: usize = node.shape.extents()[..*axis].iter().product();
                let block = |k: usize| {
                    parts.iter().flat_map(move |(part_signs, row)| {
                        part_signs[k * row..(k + 1) * row].to_vec()
                    })
                };
                (0..outer).flat_map(block).collect()
            })
        }
        Op::ScatterAdd { .. } => scattered(g, id, known),
        Op::Unslice { axis, start, step, extent } => {
            let inner = signs(g, node.args[0], known);
            let from = g.shape(node.args[0]).extents();
            let row: usize = from[axis + 1..].iter().product();
            inner.map(|inner| {
                let mut all = vec![Sign::Zero; len];
                for (k, sign) in inner.into_iter().enumerate() {
                    let (outer, position, rest) =
                        (k / row / from[*axis], k / row % from[*axis], k % row);
                    all[(outer * extent + start + position * step) * row + rest] = sign;
                }
                all
            })
        }
        Op::Cholesky => {
            let n = node.shape.extents()[0];
            let sign_at = |k: usize| match (k / n).cmp(&(k % n)) {
                std::cmp::Ordering::Less => Sign::Zero,
                std::cmp::Ordering::Equal => Sign::Positive,
                std::cmp::Ordering::Greater => Sign::Any,
            };
            Some((0..len).map(sign_at).collect())
        }
        Op::MatMul => multiplied(g, id, known),
        _ => None,
    };
    found.unwrap_or_else(|| vec![if is_positive(g, id) { Sign::Positive } else { Sign::Any }; len])
}

fn of_number(value: f64) -> Sign {
    if value == 0.0 {
        Sign::Zero
    } else if value > 0.0 {
        Sign::Positive
    } else {
        Sign::Any
    }
}

fn of_two(op: Binary, a: Sign, b: Sign) -> Sign {
    match (op, a, b) {
        (Binary::Add, Sign::Zero, other) | (Binary::Add, other, Sign::Zero) => other,
        (Binary::Mul, Sign::Zero, _) | (Binary::Mul, _, Sign::Zero) => Sign::Zero,
        (Binary::Div, Sign::Zero, _) => Sign::Zero,
        (_, Sign::Positive, Sign::Positive) => Sign::Positive,
        _ => Sign::Any,
    }
}

/// Rows that are added at constant places.
fn scattered(g: &Graph, id: NodeId, known: &mut Known) -> Option<Vec<Sign>> {
    let node = g.node(id);
    let index = g.as_constant(node.args[1])?;
    let inner = signs(g, node.args[0], known)?;
    let row: usize = node.shape.extents()[1..].iter().product();
    let mut all = vec![Sign::Zero; node.shape.len()];
    for (k, place) in index.values().iter().enumerate() {
        for r in 0..row {
            let target = &mut all[*place as usize * row + r];
            *target = of_two(Binary::Add, *target, inner[k * row + r]);
        }
    }
    Some(all)
}

fn multiplied(g: &Graph, id: NodeId, known: &mut Known) -> Option<Vec<Sign>> {
    let [a, b] = g.node(id).args[..] else { return None };
    let &[rows, inner] = g.shape(a).extents() else { return None };
    let columns = g.shape(b).len() / inner.max(1);
    if rows * inner * columns > MAX_ELEMENTS {
        return None;
    }
    let (a, b) = (signs(g, a, known)?, signs(g, b, known)?);
    let entry = |k: usize| {
        let (i, j) = (k / columns, k % columns);
        (0..inner).fold(Sign::Zero, |sum, l| {
            let term = of_two(Binary::Mul, a[i * inner + l], b[l * columns + j]);
            of_two(Binary::Add, sum, term)
        })
    };
    Some((0..rows * columns).map(entry).collect())
}
