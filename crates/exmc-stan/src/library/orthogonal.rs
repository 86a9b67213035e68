//! Orthogonal factors of a matrix, and vectors in ascending order.
//!
//! The thin factors $A=QR$ come column by column, each made orthogonal to those before it twice,
//! which is as good as reflections; the diagonal of R is positive, as in Stan, so that they are
//! unique. **Reference**: Giraud, Langou and Rozložník 2005; Stan functions reference, "QR
//! decomposition", "Sorting functions".

use exmc_graph::{Graph, NodeId, Reduction, Shape, Tensor};

use super::elementwise::wrong;
use super::{Answer, Argument, LibraryError, Output};

/// Columns that are made orthogonal one by one: the graph grows with them.
const MAX_COLUMNS: usize = 64;

/// Larger arrays would need too much memory to be sorted, one number for each pair.
const MAX_SORTED: usize = 4096;

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    Some(match (name, args) {
        ("qr_thin_Q" | "qr_thin_R" | "qr_Q" | "qr_R", [a]) => factor(g, name, a),
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
    if count > MAX_COLUMNS {
        let message = format!("`{name}` of more than {MAX_COLUMNS} rows and columns");
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

/// The square Q of a matrix with more rows than columns, a product of reflections as in Stan: what
/// completes the thin factor is otherwise free. Reflections that would give R a negative diagonal
/// have their column's sign turned. **Reference**: Golub and Van Loan 2013, section 5.2.
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
        let reflector = g.concat(&[one, tail], 0);
        let ratio = g.div(difference, image);
        let weight = g.neg(ratio);
        if width > 1 {
            let others = g.slice(rest, 1, 1, width);
            let turned = reflected(g, reflector, weight, others);
            rest = g.slice(turned, 0, 1, height);
        }
        let padded = match k {
            0 => reflector,
            _ => {
                let above = g.filled(&Shape::from([k, 1]), 0.0);
                g.concat(&[above, reflector], 0)
            }
        };
        reflections.push((padded, weight));
        let sign = g.sign(image);
        signs.push(g.reshape(sign, [1, 1]));
    }
    let identity: Vec<f64> =
        (0..rows * rows).map(|k| f64::from(u8::from(k / rows == k % rows))).collect();
    let identity = Tensor::real([rows, rows], identity).expect("one value for each element");
    let mut q = g.constant(identity);
    for (reflector, weight) in reflections.into_iter().rev() {
        q = reflected(g, reflector, weight, q);
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

/// The elements in ascending or descending order; equal ones in the order that they have.
fn sorted(g: &mut Graph, name: &str, x: &Argument, down: bool) -> Result<Output, LibraryError> {
    one_at_a_time(x)?;
    let &[n] = x.extents(g) else { return Err(wrong(name)) };
    if n > MAX_SORTED {
        let message = format!("`{name}` of more than {MAX_SORTED} elements");
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

/// The places, from 1, of the elements in ascending or descending order; equal ones in the order
/// that they have.
fn sorted_places(
    g: &mut Graph,
    name: &str,
    x: &Argument,
    down: bool,
) -> Result<Output, LibraryError> {
    one_at_a_time(x)?;
    let &[n] = x.extents(g) else { return Err(wrong(name)) };
    if n > MAX_SORTED {
        let message = format!("`{name}` of more than {MAX_SORTED} elements");
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
    let element = g.slice(x.node, axis, k, k + 1);
    let smaller = g.lt(x.node, element);
    Ok(Output::new(g.reduce(Reduction::Sum, smaller, &[axis]), x.batched))
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
