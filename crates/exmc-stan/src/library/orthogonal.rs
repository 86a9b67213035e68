//! Orthogonal factors and singular values and vectors of a matrix, and vectors in ascending order.
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
        ("singular_values", [a]) => singular(g, a, Singular::Values),
        ("svd_U", [a]) => singular(g, a, Singular::Left),
        ("svd_V", [a]) => singular(g, a, Singular::Right),
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
        "qr_Q" if rows > columns => Ok(Output::new(whole_q(g, a.node, rows, columns), false)),
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

/// The square Q of a matrix with more rows than columns, a product of reflections as in Stan: what completes the
/// thin factor is otherwise free. Reflections that would give R a negative diagonal have their column's sign turned.
/// **Reference**: Golub and Van Loan 2013, section 5.2.
fn whole_q(g: &mut Graph, a: NodeId, rows: usize, columns: usize) -> NodeId {
    let (zero, mut rest) = (g.scalar(0.0), a);
    let (mut reflections, mut signs) = (Vec::with_capacity(columns), Vec::with_capacity(columns));
    for k in 0..columns {
        let (height, width) = (rows - k, columns - k);
        let column = g.slice(rest, 1, 0, 1);
        let head = g.slice(column, 0, 0, 1);
        let squares = g.square(column);
        let square = g.sum(squares);
        let length = g.sqrt(square);
        // Away from the head, so that nothing cancels.
        let (is_positive, minus) = (g.le(zero, head), g.neg(length));
        let image = g.select(is_positive, minus, length);
        let difference = g.sub(head, image);
        let tail = g.slice(column, 0, 1, height);
        let tail = g.div(tail, difference);
        let one = g.filled(&Shape::from([1, 1]), 1.0);
        let own = g.concat(&[one, tail], 0);
        let ratio = g.div(difference, image);
        let weight = g.neg(ratio);
        if width > 1 {
            let others = g.slice(rest, 1, 1, width);
            let turned = reflected(g, own, weight, others);
            rest = g.slice(turned, 0, 1, height);
        }
        let whole = match k {
            0 => own,
            _ => {
                let above = g.filled(&Shape::from([k, 1]), 0.0);
                g.concat(&[above, own], 0)
            }
        };
        reflections.push((whole, weight));
        let sign = g.sign(image);
        signs.push(g.reshape(sign, [1, 1]));
    }
    let identity: Vec<f64> =
        (0..rows * rows).map(|k| f64::from(u8::from(k / rows == k % rows))).collect();
    let identity = Tensor::real([rows, rows], identity).expect("one value for each element");
    let mut q = g.constant(identity);
    for (own, weight) in reflections.into_iter().rev() {
        q = reflected(g, own, weight, q);
    }
    signs.push(g.filled(&Shape::from([1, rows - columns]), 1.0));
    let signs = g.concat(&signs, 1);
    g.mul(q, signs)
}

/// $x - w\,v v'x$ for a column v.
fn reflected(g: &mut Graph, v: NodeId, weight: NodeId, x: NodeId) -> NodeId {
    let turned = g.transpose(v);
    let shares = g.matmul(turned, x);
    let explained = g.matmul(v, shares);
    let explained = g.mul(weight, explained);
    g.sub(x, explained)
}

/// What is asked of a singular value decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Singular {
    Values,
    Left,
    Right,
}

/// The singular values, descending, or the vectors of one side as columns. A left vector's largest element is positive; there are
/// none (NaN) for a value of zero.
fn singular(g: &mut Graph, a: &Argument, asked: Singular) -> Result<Output, LibraryError> {
    one_at_a_time(a)?;
    let &[rows, columns] = a.extents(g) else { return Err(wrong("svd")) };
    let (n, width) = (rows.min(columns), rows.max(columns));
    if n == 0 {
        let shape = match asked {
            Singular::Values => Shape::from([0]),
            Singular::Left => Shape::from([rows, 0]),
            Singular::Right => Shape::from([columns, 0]),
        };
        return Ok(Output::new(g.filled(&shape, 0.0), false));
    }
    if n > MOST_COLUMNS {
        let message =
            format!("a singular value decomposition of more than {MOST_COLUMNS} rows and columns");
        return Err(LibraryError::Unsupported(message));
    }
    let is_tall = rows > columns;
    let lines = if is_tall { g.transpose(a.node) } else { a.node };
    if asked == Singular::Values {
        let lines = if n == 1 { lines } else { rotate_all(g, lines, n, (width, 0)) };
        let values = Argument { node: lengths(g, lines), ty: Type::Vector, batched: false };
        return sorted(g, "singular_values", &values, true);
    }
    // The rotations go on the right of the rows, from the identity: J with J lines = S W.
    let identity: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
    let identity = Tensor::real([n, n], identity).expect("one value for each element");
    let identity = g.constant(identity);
    let both = g.concat(&[lines, identity], 1);
    let both = if n == 1 { both } else { rotate_all(g, both, n, (width, n)) };
    let (long, short) = (g.slice(both, 1, 0, width), g.slice(both, 1, width, width + n));
    let values = lengths(g, long);
    let column = g.reshape(values, [n, 1]);
    let long = g.div(long, column);
    // Rows in the order of descending values, with the left vector's sign.
    let descending = g.neg(values);
    let order = ranks(g, descending, n);
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let order = g.select(order, one, zero);
    let (left, right) = if is_tall { (long, short) } else { (short, long) };
    let sizes = g.abs(left);
    let largest = g.reduce(Reduction::Max, sizes, &[1]);
    let largest = g.reshape(largest, [n, 1]);
    let is_largest = g.eq(sizes, largest);
    let largest = g.select(is_largest, left, zero);
    let total = g.sum_last(largest);
    let sign = g.sign(total);
    let sign = g.reshape(sign, [n, 1]);
    let chosen = if asked == Singular::Left { left } else { right };
    let chosen = g.mul(sign, chosen);
    let sorted = g.matmul(order, chosen);
    Ok(Output::new(g.transpose(sorted), false))
}

fn lengths(g: &mut Graph, lines: NodeId) -> NodeId {
    let squares = g.square(lines);
    let squares = g.sum_last(squares);
    g.sqrt(squares)
}

/// Rows whose first `width` elements rotations of pairs have made orthogonal; `more` elements behind them turn with them.
fn rotate_all(g: &mut Graph, lines: NodeId, n: usize, (width, more): (usize, usize)) -> NodeId {
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
    let op =
        Op::Scan { length, reverse: false, body: SharedBody(Arc::new(rotation(n, width, more))) };
    let scan = g.apply(op, &[lines, partners, signs]).expect("shapes fit by construction");
    g.apply(Op::Project(0), &[scan]).expect("the carry")
}

/// One step: each pair of rows turns by the angle with $\tan = 2w_p'w_q/(d\pm\sqrt{d^2+4(w_p'w_q)^2})$,
/// $d = w_q'w_q - w_p'w_p$, after which it is orthogonal.
fn rotation(n: usize, width: usize, more: usize) -> ScanBody {
    let mut graph = Graph::new();
    let g = &mut graph;
    let fresh = "a new graph has no other input of that name";
    let lines = g
        .input("carry0", Role::Parameter, Shape::from([n, width + more]), DType::Real)
        .expect(fresh);
    let partner = g.input("x0", Role::Data, Shape::from([n]), DType::Int).expect(fresh);
    let sign = g.input("x1", Role::Parameter, Shape::from([n]), DType::Real).expect(fresh);
    let (zero, one, minus) = (g.scalar(0.0), g.scalar(1.0), g.scalar(-1.0));
    let others = g.gather(lines, partner);
    let ends = |g: &mut Graph, lines| if more == 0 { lines } else { g.slice(lines, 1, 0, width) };
    let (mine, theirs) = (ends(g, lines), ends(g, others));
    let squares = g.square(mine);
    let own = g.sum_last(squares);
    let other = g.gather(own, partner);
    let difference = g.sub(other, own);
    let d = g.mul(sign, difference);
    let products = g.mul(mine, theirs);
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
