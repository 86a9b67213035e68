//! Rules of operations that move, add up or multiply arrays.

use super::{
    Adjoint, Contribution, Mask, Site, contribution_to, elementwise, masked, masked_whole, narrowed,
};
use crate::graph::{Graph, GraphError, NodeId};
use crate::ode::OdeLayout;
use crate::op::{Op, Reduction, Unary};
use crate::tensor::{Shape, Tensor};

/// Sums over the axes along which `x` was stretched.
pub(super) fn unbroadcast(g: &mut Graph, adjoint: NodeId, x: NodeId) -> NodeId {
    let from = g.shape(x).clone();
    let to = g.shape(adjoint).clone();
    let missing = to.rank() - from.rank();
    let stretched = |axis: usize| {
        axis < missing || (from.extents()[axis - missing] == 1 && to.extents()[axis] != 1)
    };
    let axes: Vec<_> = (0..to.rank()).filter(|&axis| stretched(axis)).collect();
    let sum = g.reduce(Reduction::Sum, adjoint, &axes);
    g.reshape(sum, from)
}

/// Stretches the adjoint of a reduction over `axes` back to the shape of `x`.
pub(super) fn unreduce(g: &mut Graph, adjoint: NodeId, axes: &[usize], x: NodeId) -> NodeId {
    let shape = g.shape(x).clone();
    let mut kept = shape.extents().to_vec();
    for &axis in axes {
        kept[axis] = 1;
    }
    let adjoint = g.reshape(adjoint, kept);
    g.broadcast_to(adjoint, &shape)
}

/// Slice and gather: zeros for elements that were not read.
pub(super) fn left_out(g: &mut Graph, op: &Op, site: &Site) -> Vec<Contribution> {
    let extents = g.shape(site.args[0]).extents();
    let (back, args) = match op {
        Op::Slice { axis, start, step, .. } => {
            let (axis, start, step) = (*axis, *start, *step);
            (Op::Unslice { axis, start, step, extent: extents[axis] }, Vec::new())
        }
        _ => (Op::ScatterAdd { len: extents[0] }, vec![site.args[1]]),
    };
    let back = |g: &mut Graph, value: NodeId| {
        let args: Vec<_> = std::iter::once(value).chain(args.iter().copied()).collect();
        g.must(back.clone(), &args)
    };
    let value = back(g, site.adjoint.value);
    let read = match site.adjoint.mask {
        Some(mask) => Mask { node: back(g, mask.node), ..mask },
        None => {
            let shape = g.shape(site.id).clone();
            let ones = g.filled(&shape, 1.0);
            Mask { node: back(g, ones), needed: false }
        }
    };
    contribution_to(0, Adjoint { value, mask: Some(read) })
}

pub(super) fn concat(g: &mut Graph, axis: usize, site: &Site) -> Vec<Contribution> {
    let mut start = 0;
    let mut contributions = Vec::new();
    for (arg, &part) in site.args.iter().enumerate() {
        let stop = start + g.shape(part).extents()[axis];
        if site.active[arg] {
            let value = g.slice(site.adjoint.value, axis, start, stop);
            let mask = site
                .adjoint
                .mask
                .map(|mask| Mask { node: g.slice(mask.node, axis, start, stop), ..mask });
            contributions.push(Contribution { arg, adjoint: Adjoint { value, mask } });
        }
        start = stop;
    }
    contributions
}

/// Weights $e^{x-y}$; 0 where nothing was added up ($y = -\infty$).
pub(super) fn log_sum_exp(g: &mut Graph, axes: &[usize], site: &Site) -> Vec<Contribution> {
    let (x, y) = (site.args[0], site.id);
    let nothing = g.scalar(f64::NEG_INFINITY);
    let empty = g.eq(y, nothing);
    let zero = g.scalar(0.0);
    let finite = g.select(empty, zero, y);
    let stretched = unreduce(g, finite, axes, x);
    let difference = g.sub(x, stretched);
    let weights = g.exp(difference);
    let adjoint = unreduce(g, site.adjoint.value, axes, x);
    let mask = site.adjoint.mask.map(|mask| Mask { node: unreduce(g, mask.node, axes, x), ..mask });
    let value = g.mul(adjoint, weights);
    contribution_to(0, masked(g, value, mask))
}

/// Of each argument, that of its logarithm times its power.
pub(super) fn log_product(
    g: &mut Graph,
    powers: &[usize],
    site: &Site,
) -> Result<Vec<Contribution>, GraphError> {
    let mut all = Vec::new();
    for (arg, (&x, &power)) in site.args.iter().zip(powers).enumerate() {
        if !site.active[arg] {
            continue;
        }
        let axes: Vec<usize> = (0..g.shape(x).rank()).collect();
        let adjoint = g.scale(site.adjoint.value, power as f64);
        let adjoint = unreduce(g, adjoint, &axes, x);
        let stretch = |mask: Mask| Mask { node: unreduce(g, mask.node, &axes, x), ..mask };
        let mask = site.adjoint.mask.map(stretch);
        if let Some(value) = elementwise::unary(g, Unary::Log, x, site.id, adjoint)? {
            all.push(Contribution { arg, adjoint: masked(g, value, mask) });
        }
    }
    Ok(all)
}

/// Largest or smallest of some axes: the adjoint, shared equally among ties.
pub(super) fn extreme(g: &mut Graph, axes: &[usize], site: &Site) -> Vec<Contribution> {
    let (x, y) = (site.args[0], site.id);
    let stretched = unreduce(g, y, axes, x);
    let reached = g.eq(x, stretched);
    let count = g.reduce(Reduction::Sum, reached, axes);
    let share = g.div(site.adjoint.value, count);
    let share = unreduce(g, share, axes, x);
    let outer =
        site.adjoint.mask.map(|mask| Mask { node: unreduce(g, mask.node, axes, x), ..mask });
    let mask = narrowed(g, reached, outer);
    contribution_to(0, masked(g, share, mask))
}

/// $\bar A = \bar C B^\top$, $\bar B = A^\top \bar C$.
pub(super) fn matmul(g: &mut Graph, site: &Site) -> Vec<Contribution> {
    let (a, b, adjoint) = (site.args[0], site.args[1], site.adjoint);
    let mut contributions = Vec::new();
    if site.active[0] {
        let value = times_transposed(g, adjoint.value, b);
        contributions.extend(contribution_to(0, masked_whole(g, value, adjoint.mask)));
    }
    if site.active[1] {
        let transposed = g.transpose(a);
        let value = g.matmul(transposed, adjoint.value);
        contributions.extend(contribution_to(1, masked_whole(g, value, adjoint.mask)));
    }
    contributions
}

/// $A B^\top$ of matrices, or the outer product of vectors.
fn times_transposed(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    if g.shape(b).rank() == 2 {
        let transposed = g.transpose(b);
        return g.matmul(a, transposed);
    }
    let (rows, columns) = (g.shape(a).len(), g.shape(b).len());
    let a = g.reshape(a, [rows, 1]);
    let b = g.reshape(b, [1, columns]);
    g.mul(a, b)
}

/// Keeps the lower triangle, multiplying the diagonal by `diagonal`.
fn lower(g: &mut Graph, x: NodeId, diagonal: f64) -> NodeId {
    let n = g.shape(x).extents()[0];
    let weight = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => diagonal,
        std::cmp::Ordering::Greater => 1.0,
    };
    let weights: Vec<f64> = (0..n * n).map(|k| weight(k / n, k % n)).collect();
    let weights = Tensor::real(Shape::from([n, n]), weights).expect("n times n weights");
    let weights = g.constant(weights);
    let zero = g.scalar(0.0);
    // A select, so that the upper triangle is 0 whatever was there.
    let scaled = g.mul(weights, x);
    g.select(weights, scaled, zero)
}

/// $S = L^{-\top}\,\Phi(L^\top \bar L)\,L^{-1}$, where $\Phi$ keeps the lower triangle with half
/// the diagonal; the adjoint is $\Phi(S + S^\top)$ because only the lower triangle of the argument
/// is read.
///
/// **Reference**: Murray 2016 (arXiv 1602.07527), equation 10.
pub(super) fn cholesky(g: &mut Graph, site: &Site) -> Vec<Contribution> {
    let value = g.must(Op::CholeskyAdjoint, &[site.id, site.adjoint.value]);
    contribution_to(0, masked_whole(g, value, site.adjoint.mask))
}

/// Of $S = L^{-\top} \Phi(P) L^{-1}$ with $P = L^\top \bar L$: with the adjoint's $\bar S = W +
/// W^\top$, W its lower triangle with half of the diagonal, and $Y = \bar S L^{-\top}$, P has
/// $\Phi(L^{-1} Y)$, L has $-(S + S^\top) Y$ and what it has by P.
pub(super) fn cholesky_adjoint(g: &mut Graph, site: &Site) -> Vec<Contribution> {
    let (factor, of_factor) = (site.args[0], site.args[1]);
    let half = lower(g, site.adjoint.value, 0.5);
    let other = g.transpose(half);
    let of_sum = g.add(half, other);
    let solved = g.triangular_solve(factor, of_sum, false);
    let turned = g.transpose(solved);
    let middle = g.triangular_solve(factor, turned, false);
    let of_product = lower(g, middle, 0.5);
    let mut contributions = Vec::new();
    if site.active[0] {
        let other = g.transpose(site.id);
        let sum = g.add(site.id, other);
        let by_solutions = g.matmul(sum, turned);
        let of_factor = lower(g, of_factor, 1.0);
        let by_product = times_transposed(g, of_factor, of_product);
        let difference = g.sub(by_product, by_solutions);
        let value = lower(g, difference, 1.0);
        contributions.extend(contribution_to(0, masked_whole(g, value, site.adjoint.mask)));
    }
    if site.active[1] {
        let triangle = lower(g, factor, 1.0);
        let product = g.matmul(triangle, of_product);
        let value = lower(g, product, 1.0);
        contributions.extend(contribution_to(1, masked_whole(g, value, site.adjoint.mask)));
    }
    contributions
}

/// With $A = W^\top \mathrm{diag}(\lambda) W$: $\bar A = \Phi(W^\top M W)$, where $M$ has
/// $\bar\lambda$ on its diagonal and else $M_{ij} = (P_{ij} - P_{ji}) / (2(\lambda_j - \lambda_i))$
/// of $P = W \bar W^\top$, and $\Phi$ adds the upper triangle to the lower one, which alone is
/// read.
///
/// For functions that do not depend on how the vectors of close values are turned, $P_{ij} -
/// P_{ji}$ is small as the gap is. So the difference is taken before the division: its rounding
/// stays among the close vectors, where $M$ is sandwiched later, and does not spoil the whole
/// matrix.
///
/// **Reference**: Giles 2008, section 3.1.
pub(super) fn symmetric_eigen(g: &mut Graph, site: &Site) -> Vec<Contribution> {
    let n = g.shape(site.args[0]).extents()[0];
    let mut parts = |x: NodeId| (g.slice(x, 0, 0, 1), g.slice(x, 0, 1, n + 1));
    let ((row, vectors), (of_values, of_vectors)) = (parts(site.id), parts(site.adjoint.value));
    let product = times_transposed(g, vectors, of_vectors);
    let turned = g.transpose(product);
    let difference = g.sub(product, turned);
    let column = g.reshape(row, [n, 1]);
    let gap = g.sub(row, column);
    let twice = g.scale(gap, 2.0);
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let equal = g.eq(gap, zero);
    let safe = g.select(equal, one, twice);
    let ratio = g.div(difference, safe);
    let between = g.select(equal, zero, ratio);
    let unit: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k % (n + 1) == 0))).collect();
    let unit = g.constant(Tensor::real([n, n], unit).expect("n times n elements"));
    let middle = g.select(unit, of_values, between);
    let transposed = g.transpose(vectors);
    let left = g.matmul(transposed, middle);
    let whole_matrix = g.matmul(left, vectors);
    let doubled = g.scale(whole_matrix, 2.0);
    let value = lower(g, doubled, 0.5);
    contribution_to(0, masked_whole(g, value, site.adjoint.mask))
}

/// For $TX = B$: $\bar B = T^{-\top}\bar X$, $\bar T = -\mathrm{tril}(\bar B X^\top)$; for $T^\top
/// X = B$: $\bar B = T^{-1}\bar X$, $\bar T = -\mathrm{tril}(X \bar B^\top)$.
pub(super) fn triangular_solve(g: &mut Graph, transposed: bool, site: &Site) -> Vec<Contribution> {
    let (triangle, solution) = (site.args[0], site.id);
    let of_b = g.triangular_solve(triangle, site.adjoint.value, !transposed);
    let mut contributions = Vec::new();
    if site.active[0] {
        let product = if transposed {
            times_transposed(g, solution, of_b)
        } else {
            times_transposed(g, of_b, solution)
        };
        let triangle = lower(g, product, 1.0);
        let value = g.neg(triangle);
        contributions.extend(contribution_to(0, masked_whole(g, value, site.adjoint.mask)));
    }
    if site.active[1] {
        contributions.extend(contribution_to(1, masked_whole(g, of_b, site.adjoint.mask)));
    }
    contributions
}

/// For $AX = B$: $\bar B = A^{-\top}\bar X$, $\bar A = -\bar B X^\top$; for $A^\top X = B$:
/// $\bar B = A^{-1}\bar X$, $\bar A = -X \bar B^\top$.
pub(super) fn lu_solve(g: &mut Graph, transposed: bool, site: &Site) -> Vec<Contribution> {
    let (matrix, factors, solution) = (site.args[0], site.args[1], site.id);
    let back = Op::LuSolve { transposed: !transposed };
    let of_b = g.must(back, &[matrix, factors, site.adjoint.value]);
    let mut contributions = Vec::new();
    if site.active[0] {
        let product = if transposed {
            times_transposed(g, solution, of_b)
        } else {
            times_transposed(g, of_b, solution)
        };
        let value = g.neg(product);
        contributions.extend(contribution_to(0, masked_whole(g, value, site.adjoint.mask)));
    }
    if site.active[2] {
        contributions.extend(contribution_to(2, masked_whole(g, of_b, site.adjoint.mask)));
    }
    contributions
}

/// $\bar A = \bar y A^{-\top}$.
pub(super) fn log_abs_det(g: &mut Graph, site: &Site) -> Vec<Contribution> {
    let (matrix, factors) = (site.args[0], site.args[1]);
    let n = g.shape(matrix).extents()[0];
    let identity: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
    let identity = g.constant(Tensor::real([n, n], identity).expect("n times n values"));
    let inverse = g.must(Op::LuSolve { transposed: true }, &[matrix, factors, identity]);
    let value = g.mul(site.adjoint.value, inverse);
    contribution_to(0, masked_whole(g, value, site.adjoint.mask))
}

/// The adjoint of the problem's argument: the solution's adjoint times the sensitivities $S$ of the
/// same array; an output time moves its own row by the slopes there.
pub(super) fn ode_solution(g: &mut Graph, layout: &OdeLayout, site: &Site) -> Contribution {
    let (inputs, packed, adjoint) = (site.args[0], site.args[1], site.adjoint);
    let OdeLayout { states: n, values, varying, .. } = *layout;
    let (length, times) = (g.shape(inputs).len(), g.shape(site.id).extents()[0]);
    let columns = layout.columns();
    let sensitivities = g.slice(packed, 1, n, n + n * columns);
    let sensitivities = g.reshape(sensitivities, [times * n, columns]);
    let transposed = g.transpose(sensitivities);
    let flat = g.reshape(adjoint.value, [times * n]);
    let all = g.matmul(transposed, flat);
    let mut taken = 0;
    let mut parts = Vec::new();
    let mut part = |g: &mut Graph, wanted: bool, len: usize| {
        parts.push(if wanted {
            taken += len;
            g.slice(all, 0, taken - len, taken)
        } else {
            g.filled(&Shape::from([len]), 0.0)
        });
    };
    part(g, layout.start, n);
    part(g, true, varying);
    part(g, false, values - varying);
    part(g, layout.initial_time, 1);
    parts.push(if layout.times {
        let slopes = g.slice(packed, 1, n + n * columns, layout.width());
        let product = g.mul(slopes, adjoint.value);
        g.sum_last(product)
    } else {
        g.filled(&Shape::from([times]), 0.0)
    });
    debug_assert_eq!(length, n + values + 1 + times);
    let value = g.concat(&parts, 0);
    Contribution { arg: 0, adjoint: masked_whole(g, value, adjoint.mask) }
}
