//! Orthogonal factors and singular values of a matrix, and vectors in ascending order.
//!
//! The thin factors $A=QR$ come column by column, each made orthogonal to those before it twice, which is as good
//! as reflections; the diagonal of R is positive, as in Stan, so that they are unique. Singular values are the
//! lengths of the rows when rotations of pairs have made these orthogonal. **Reference**: Giraud, Langou and
//! Rozložník 2005; Hestenes 1958; Stan functions reference, "QR decomposition", "Singular value decomposition".

use std::sync::Arc;

use exmc_graph::{DType, Graph, NodeId, Op, Reduction, Role, ScanBody, Shape, SharedBody, Tensor};

use super::elementwise::wrong;
use super::{Answer, Argument, LibraryError, Output};
use crate::typed::Type;

/// Sweeps over all pairs: five to eight bring a matrix of up to a hundred rows to the last bit, two more its
/// derivative.
const SWEEPS: usize = 10;

/// Columns that are made orthogonal one by one: the graph grows with them.
const MOST_COLUMNS: usize = 64;

/// Larger arrays would need too much memory to be sorted, one number for each pair.
const LONGEST_SORTED: usize = 4096;

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    Some(match (name, args) {
        ("qr_thin_Q" | "qr_thin_R" | "qr_Q" | "qr_R", [a]) => factor(g, name, a),
        ("singular_values", [a]) => singular_values(g, a),
        ("sort_asc", [x]) => sorted(g, name, x, false),
        ("sort_desc", [x]) => sorted(g, name, x, true),
        ("sort_indices_asc", [x]) => sorted_places(g, name, x, false),
        ("sort_indices_desc", [x]) => sorted_places(g, name, x, true),
        ("rank", [x, _]) => rank(g, args, x),
        _ => return None,
    })
}

fn one_at_a_time(a: &Argument) -> Result<(), LibraryError> {
    if a.batched { Err(LibraryError::Unbatchable) } else { Ok(()) }
}

/// Q or R of the thin decomposition; the full one where that is the same, or determined by it.
fn factor(g: &mut Graph, name: &str, a: &Argument) -> Result<Output, LibraryError> {
    one_at_a_time(a)?;
    let &[rows, columns] = a.extents(g) else { return Err(wrong(name)) };
    let count = rows.min(columns);
    if count == 0 {
        return Err(LibraryError::Mistake(format!("`{name}` of a matrix without elements")));
    }
    if count > MOST_COLUMNS {
        let message = format!("`{name}` of more than {MOST_COLUMNS} rows and columns");
        return Err(LibraryError::Unsupported(message));
    }
    let mut found: Vec<NodeId> = Vec::with_capacity(count);
    for k in 0..count {
        let column = g.slice(a.node, 1, k, k + 1);
        let mut rest = g.reshape(column, [rows]);
        if !found.is_empty() {
            let before = g.concat(&found, 0);
            let turned = g.transpose(before);
            for _ in 0..2 {
                let shares = g.matmul(before, rest);
                let explained = g.matmul(turned, shares);
                rest = g.sub(rest, explained);
            }
        }
        let square = g.square(rest);
        let square = g.sum(square);
        let length = g.sqrt(square);
        let unit = g.div(rest, length);
        found.push(g.reshape(unit, [1, rows]));
    }
    let turned = g.concat(&found, 0);
    match name {
        "qr_Q" if rows > columns => {
            let message = "`qr_Q` of a matrix with more rows than columns";
            Err(LibraryError::Unsupported(message.to_owned()))
        }
        "qr_thin_Q" | "qr_Q" => Ok(Output::new(g.transpose(turned), false)),
        _ => {
            let product = g.matmul(turned, a.node);
            // What lies below the diagonal is zero but for rounding.
            let above = |k: usize| f64::from(u8::from(k / columns <= k % columns));
            let above = (0..count * columns).map(above).collect::<Vec<_>>();
            let above = Tensor::real([count, columns], above).expect("one value for each element");
            let above = g.constant(above);
            let zero = g.scalar(0.0);
            let upper = g.select(above, product, zero);
            if name == "qr_R" && rows > count {
                let below = g.filled(&Shape::from([rows - count, columns]), 0.0);
                return Ok(Output::new(g.concat(&[upper, below], 0), false));
            }
            Ok(Output::new(upper, false))
        }
    }
}

/// The singular values, descending.
fn singular_values(g: &mut Graph, a: &Argument) -> Result<Output, LibraryError> {
    one_at_a_time(a)?;
    let &[rows, columns] = a.extents(g) else { return Err(wrong("singular_values")) };
    let (n, width) = (rows.min(columns), rows.max(columns));
    if n == 0 {
        return Ok(Output::new(g.filled(&Shape::from([0]), 0.0), false));
    }
    if n > MOST_COLUMNS {
        let message = format!("`singular_values` of more than {MOST_COLUMNS} rows and columns");
        return Err(LibraryError::Unsupported(message));
    }
    let lines = if rows > columns { g.transpose(a.node) } else { a.node };
    let lines = if n == 1 { lines } else { rotate_all(g, lines, n, width) };
    let squares = g.square(lines);
    let squares = g.sum_last(squares);
    let values = g.sqrt(squares);
    let values = Argument { node: values, ty: Type::Vector, batched: false };
    sorted(g, "singular_values", &values, true)
}

/// Rows that rotations of pairs have made orthogonal.
fn rotate_all(g: &mut Graph, lines: NodeId, n: usize, width: usize) -> NodeId {
    let rounds = pairings(n);
    let length = SWEEPS * rounds.len();
    let steps = || (0..SWEEPS).flat_map(|_| rounds.iter());
    let partners = steps().flat_map(|p| p.iter().map(|q| *q as f64)).collect::<Vec<_>>();
    let partners = Tensor::int([length, n], partners).expect("one small integer for each row");
    // 1 for the first of a pair, -1 for the second, 0 for who has a break.
    let sign = |(i, q): (usize, &usize)| (*q as f64 - i as f64).clamp(-1.0, 1.0);
    let signs = steps().flat_map(|p| p.iter().enumerate().map(sign)).collect::<Vec<_>>();
    let signs = Tensor::real([length, n], signs).expect("one sign for each row and step");
    let (partners, signs) = (g.constant(partners), g.constant(signs));
    let op = Op::Scan { length, reverse: false, body: SharedBody(Arc::new(rotation(n, width))) };
    let scan = g.apply(op, &[lines, partners, signs]).expect("shapes fit by construction");
    g.apply(Op::Project(0), &[scan]).expect("the carry")
}

/// One step: each pair of rows turns by the angle with $\tan = 2w_p'w_q/(d\pm\sqrt{d^2+4(w_p'w_q)^2})$,
/// $d = w_q'w_q - w_p'w_p$, after which it is orthogonal.
fn rotation(n: usize, width: usize) -> ScanBody {
    let mut graph = Graph::new();
    let g = &mut graph;
    let fresh = "a new graph has no other input of that name";
    let lines =
        g.input("carry0", Role::Parameter, Shape::from([n, width]), DType::Real).expect(fresh);
    let partner = g.input("x0", Role::Data, Shape::from([n]), DType::Int).expect(fresh);
    let sign = g.input("x1", Role::Parameter, Shape::from([n]), DType::Real).expect(fresh);
    let (zero, one, minus) = (g.scalar(0.0), g.scalar(1.0), g.scalar(-1.0));
    let others = g.gather(lines, partner);
    let squares = g.square(lines);
    let own = g.sum_last(squares);
    let other = g.gather(own, partner);
    let difference = g.sub(other, own);
    let d = g.mul(sign, difference);
    let products = g.mul(lines, others);
    let product = g.sum_last(products);
    let active = g.abs(sign);
    let product = g.mul(active, product);
    let twice = g.scale(product, 2.0);
    let (d_square, product_square) = (g.square(d), g.square(twice));
    let length = g.add(d_square, product_square);
    // Where nothing is to be turned, any length will do.
    let still = g.eq(length, zero);
    let length = g.select(still, one, length);
    let root = g.sqrt(length);
    let is_negative = g.lt(d, zero);
    let side = g.select(is_negative, minus, one);
    let root = g.mul(side, root);
    let denominator = g.add(d, root);
    let tangent = g.div(twice, denominator);
    let square = g.square(tangent);
    let hypotenuse = g.shift(square, 1.0);
    let hypotenuse = g.sqrt(hypotenuse);
    let cosine = g.reciprocal(hypotenuse);
    let sine = g.mul(tangent, cosine);
    let sine = g.mul(sign, sine);
    let (cosine, sine) = (g.reshape(cosine, [n, 1]), g.reshape(sine, [n, 1]));
    let kept = g.mul(cosine, lines);
    let moved = g.mul(sine, others);
    let next = g.sub(kept, moved);
    ScanBody { graph, next: vec![next], stacked: Vec::new(), counts: [1, 2, 0] }
}

/// The elements in ascending or descending order; equal ones in the order that they have.
fn sorted(g: &mut Graph, name: &str, x: &Argument, down: bool) -> Result<Output, LibraryError> {
    one_at_a_time(x)?;
    let &[n] = x.extents(g) else { return Err(wrong(name)) };
    if n > LONGEST_SORTED {
        let message = format!("`{name}` of more than {LONGEST_SORTED} elements");
        return Err(LibraryError::Unsupported(message));
    }
    if n < 2 {
        return Ok(Output::new(x.node, false));
    }
    let values = if down { g.neg(x.node) } else { x.node };
    let order = ranks(g, values, n);
    // One summand of each row is not zero, so the sum is exact.
    let row = g.reshape(x.node, [1, n]);
    let zero = g.scalar(0.0);
    let chosen = g.select(order, row, zero);
    Ok(Output::new(g.reduce(Reduction::Sum, chosen, &[1]), false))
}

/// The places, from 1, of the elements in ascending or descending order; equal ones in the order that they have.
fn sorted_places(
    g: &mut Graph,
    name: &str,
    x: &Argument,
    down: bool,
) -> Result<Output, LibraryError> {
    one_at_a_time(x)?;
    let &[n] = x.extents(g) else { return Err(wrong(name)) };
    if n > LONGEST_SORTED {
        let message = format!("`{name}` of more than {LONGEST_SORTED} elements");
        return Err(LibraryError::Unsupported(message));
    }
    let numbers: Vec<f64> = (1..=n).map(|k| k as f64).collect();
    let numbers = g.constant(Tensor::vector(&numbers));
    if n < 2 {
        return Ok(Output::new(numbers, false));
    }
    let values = if down { g.neg(x.node) } else { x.node };
    let order = ranks(g, values, n);
    let zero = g.scalar(0.0);
    let chosen = g.select(order, numbers, zero);
    Ok(Output::new(g.reduce(Reduction::Sum, chosen, &[1]), false))
}

/// How many elements are smaller than the k-th.
fn rank(g: &mut Graph, args: &[Argument], x: &Argument) -> Result<Output, LibraryError> {
    let axis = usize::from(x.batched);
    let &[n] = x.extents(g) else { return Err(wrong("rank")) };
    let k = super::align::position(g, args, 1, n)?;
    let own = g.slice(x.node, axis, k, k + 1);
    let smaller = g.lt(x.node, own);
    Ok(Output::new(g.reduce(Reduction::Sum, smaller, &[axis]), x.batched))
}

/// Every row's partner in each round of a round-robin, itself when it has a break.
fn pairings(n: usize) -> Vec<Vec<usize>> {
    // The last of an even number sits still while the others move around the table.
    let seats = n + n % 2;
    let around = seats - 1;
    (0..around)
        .map(|round| {
            let mut partner: Vec<usize> = (0..n).collect();
            let mut meet = |a: usize, b: usize| {
                if a < n && b < n {
                    (partner[a], partner[b]) = (b, a);
                }
            };
            meet(seats - 1, round);
            for k in 1..seats / 2 {
                meet((round + k) % around, (round + around - k) % around);
            }
            partner
        })
        .collect()
}

/// `[n, n]`: 1 in row k and column i where element i has rank k.
fn ranks(g: &mut Graph, values: NodeId, n: usize) -> NodeId {
    let (mine, theirs) = (g.reshape(values, [n, 1]), g.reshape(values, [1, n]));
    let smaller = g.lt(theirs, mine);
    let equal = g.eq(theirs, mine);
    let before = |k: usize| f64::from(u8::from(k % n < k / n));
    let before: Vec<f64> = (0..n * n).map(before).collect();
    let before = Tensor::real([n, n], before).expect("one value for each pair");
    let before = g.constant(before);
    let tied = g.and(equal, before);
    let ahead = g.or(smaller, tied);
    let rank = g.sum_last(ahead);
    let rank = g.reshape(rank, [1, n]);
    let numbers: Vec<f64> = (0..n).map(|k| k as f64).collect();
    let numbers = Tensor::real([n, 1], numbers).expect("one number for each row");
    let numbers = g.constant(numbers);
    g.eq(rank, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_meets_once() {
        for n in 2..9 {
            let mut met = vec![0; n * n];
            for round in pairings(n) {
                for (a, &b) in round.iter().enumerate() {
                    assert_eq!(round[b], a, "partners are mutual");
                    met[a * n + b] += usize::from(a != b);
                }
            }
            for (cell, count) in met.iter().enumerate() {
                assert_eq!(*count, usize::from(cell / n != cell % n), "{n}");
            }
        }
    }
}
