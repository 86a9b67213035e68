//! Symmetric eigenvalues and eigenvectors by Jacobi's rotations: a loop of a fixed number of steps.
//!
//! A step rotates all pairs of a round-robin at once, so a sweep over all pairs is n - 1 steps of whole
//! rows (n steps for odd n). The number of sweeps is fixed: convergence is quadratic, and the sweeps after
//! it carry the derivative there. A rotation is a smooth function of the matrix also where the element that
//! it removes is zero already. **Reference**: Golub and Van Loan 2013, section 8.5; Stan functions
//! reference, "Eigendecomposition".

use std::sync::Arc;

use exmc_graph::{DType, Graph, NodeId, Op, Role, ScanBody, Shape, SharedBody, Tensor};

use super::elementwise::wrong;
use super::{Answer, Argument, LibraryError, Output};

/// Sweeps: five to eight bring a matrix of up to a hundred rows to the last bit, two more its derivative.
pub(super) const SWEEPS: usize = 10;

/// Larger matrices would take too long.
const LARGEST: usize = 128;

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    let vectors = match name {
        "eigenvalues_sym" => false,
        "eigenvectors_sym" => true,
        _ => return None,
    };
    let [a] = args else { return Some(Err(wrong(name))) };
    Some(decompose(g, name, a, vectors))
}

fn decompose(
    g: &mut Graph,
    name: &str,
    a: &Argument,
    vectors: bool,
) -> Result<Output, LibraryError> {
    let &[n, columns] = a.extents(g) else { return Err(wrong(name)) };
    if n != columns || n == 0 {
        return Err(LibraryError::Mistake(format!("`{name}` needs a square matrix")));
    }
    if a.batched {
        return Err(LibraryError::Unbatchable);
    }
    if n > LARGEST {
        return Err(LibraryError::Unsupported(format!("`{name}` of more than {LARGEST} rows")));
    }
    // Only the lower triangle counts, as for factors.
    let a = super::function(g, "symmetrize_from_lower_tri", std::slice::from_ref(a))?;
    let identity = super::shapes::identity(g, n);
    let (values, rows) = if n == 1 {
        (g.reshape(a.node, [1]), identity)
    } else {
        rotate_all(g, a.node, identity, n)
    };
    // Ascending: element i of the result is the one of rank i.
    let order = ranks(g, values, n);
    let node = if vectors {
        let sorted = g.matmul(order, rows);
        g.transpose(sorted)
    } else {
        g.matmul(order, values)
    };
    Ok(Output::new(node, false))
}

/// Eigenvalues and, as rows, eigenvectors, in no order.
fn rotate_all(g: &mut Graph, a: NodeId, identity: NodeId, n: usize) -> (NodeId, NodeId) {
    let rounds = pairings(n);
    let length = SWEEPS * rounds.len();
    let steps = || (0..SWEEPS).flat_map(|_| rounds.iter());
    let ints = |values: Vec<f64>| {
        Tensor::int([length, n], values).expect("one small integer for each row and step")
    };
    let partners = steps().flat_map(|p| p.iter().map(|q| *q as f64)).collect();
    let cells =
        steps().flat_map(|p| p.iter().enumerate().map(|(i, q)| (i * n + q) as f64)).collect();
    // 1 for the first of a pair, -1 for the second, 0 for who has a break.
    let signs: Vec<f64> = steps()
        .flat_map(|p| p.iter().enumerate().map(|(i, q)| (*q as f64 - i as f64).clamp(-1.0, 1.0)))
        .collect();
    let partners = g.constant(ints(partners));
    let cells = g.constant(ints(cells));
    let signs = Tensor::real([length, n], signs).expect("one sign for each row and step");
    let signs = g.constant(signs);
    let op = Op::Scan { length, reverse: false, body: SharedBody(Arc::new(rotation(n))) };
    let scan =
        g.apply(op, &[a, identity, partners, cells, signs]).expect("shapes fit by construction");
    let reduced = g.apply(Op::Project(0), &[scan]).expect("the first carry");
    let rows = g.apply(Op::Project(1), &[scan]).expect("the second carry");
    (g.diagonal(reduced), rows)
}

/// One step on the matrix and the eigenvectors' rows: $J'AJ$ and $J'W$, where J turns each pair (p, q) by
/// the angle with $\tan = 2a_{pq}/(d \pm\sqrt{d^2+4a_{pq}^2})$, $d = a_{qq}-a_{pp}$.
fn rotation(n: usize) -> ScanBody {
    let mut graph = Graph::new();
    let g = &mut graph;
    let fresh = "a new graph has no other input of that name";
    let square = Shape::from([n, n]);
    let line = Shape::from([n]);
    let a = g.input("carry0", Role::Parameter, square.clone(), DType::Real).expect(fresh);
    let rows = g.input("carry1", Role::Parameter, square, DType::Real).expect(fresh);
    let partner = g.input("x0", Role::Data, line.clone(), DType::Int).expect(fresh);
    let cell = g.input("x1", Role::Data, line.clone(), DType::Int).expect(fresh);
    let sign = g.input("x2", Role::Parameter, line, DType::Real).expect(fresh);
    let (zero, one, minus) = (g.scalar(0.0), g.scalar(1.0), g.scalar(-1.0));
    let own = g.diagonal(a);
    let other = g.gather(own, partner);
    let difference = g.sub(other, own);
    let d = g.mul(sign, difference);
    let flat = g.reshape(a, [n * n]);
    let off = g.gather(flat, cell);
    let active = g.abs(sign);
    let off = g.mul(active, off);
    let twice = g.scale(off, 2.0);
    let (d_square, off_square) = (g.square(d), g.square(twice));
    let length = g.add(d_square, off_square);
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
    let turn = |g: &mut Graph, matrix: NodeId| {
        let kept = g.mul(cosine, matrix);
        let partners = g.gather(matrix, partner);
        let moved = g.mul(sine, partners);
        g.sub(kept, moved)
    };
    let half = turn(g, a);
    let half = g.transpose(half);
    let next = turn(g, half);
    let rows = turn(g, rows);
    ScanBody { graph, next: vec![next, rows], stacked: Vec::new(), counts: [2, 3, 0] }
}

/// Every row's partner in each round of a round-robin, itself when it has a break.
pub(super) fn pairings(n: usize) -> Vec<Vec<usize>> {
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
pub(super) fn ranks(g: &mut Graph, values: NodeId, n: usize) -> NodeId {
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
