//! Reverse-mode derivatives: a scalar node -> nodes for its gradient, in the same graph.
//!
//! Nodes are visited from the output down; each hands its adjoint on to its arguments by the rule
//! of its operation, whose result is again made of graph operations (so that it can be
//! differentiated once more). Adjoints exist only along nodes that depend on what is differentiated
//! by.
//!
//! # Branches not taken
//! A `select` gives the branch that it does not take the derivative exactly 0, also where that
//! branch or its derivatives are infinite or NaN. A product with a zero adjoint cannot do that
//! (`0 * inf` is NaN), so adjoints beneath a `select`, `min`, `max` or a reduction to an extreme
//! carry a *mask*: which elements were taken. Elementwise rules, sums and moves apply it element by
//! element; matrix operations and scans apply it as a whole (0 when none of their elements was
//! taken). Elements that a slice or gather leaves out are masked only together with such a branch.
//!
//! # Supports
//! A `select` between a log density and minus infinity that the output has as a term is a
//! *support*. It needs no mask where nobody asks for slopes outside of it, where the output itself
//! is minus infinity: [`differentiate_density`] leaves it out.

mod decomposition;
mod elementwise;
mod pieces;
mod scan;
mod structure;

use self::pieces::Piece;
use crate::graph::{Graph, GraphError, NodeId};
use crate::op::{Binary, Op, Reduction, Ternary, Unary};
use crate::tensor::{DType, Shape};

/// Nodes for the derivatives of a scalar `output` with respect to each of `wrt`, in their shapes.
///
/// What `output` does not depend on gets zeros. Integers have no derivative (zeros). **Edges**: as
/// the operations document them; a taken branch is followed exactly, infinities included.
///
/// # Errors
/// When `output` is not a real scalar, or needs the derivative of an operation that has none.
///
/// **Reference**: Griewank and Walther 2008, chapter 3.
///
/// ```
/// use exmc_graph::{DType, Graph, Role, Shape, Tensor, differentiate, evaluate};
/// let mut g = Graph::new();
/// let x = g.input("x", Role::Parameter, Shape::scalar(), DType::Real)?;
/// let y = g.exp(x);
/// let gradient = differentiate(&mut g, y, &[x])?;
/// assert_eq!(gradient[0], y);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn differentiate(
    g: &mut Graph,
    output: NodeId,
    wrt: &[NodeId],
) -> Result<Vec<NodeId>, GraphError> {
    gradient(g, output, wrt, false)
}

/// As [`differentiate`], for the gradient of a log density that is used only where the density is
/// finite.
///
/// **Edges**: where a support's other branch makes the output minus infinity, derivatives are those
/// of the branch inside, which may be anything; elsewhere they are the same.
///
/// # Errors
/// As [`differentiate`].
pub fn differentiate_density(
    g: &mut Graph,
    output: NodeId,
    wrt: &[NodeId],
) -> Result<Vec<NodeId>, GraphError> {
    gradient(g, output, wrt, true)
}

fn gradient(
    g: &mut Graph,
    output: NodeId,
    wrt: &[NodeId],
    is_density: bool,
) -> Result<Vec<NodeId>, GraphError> {
    if !g.shape(output).is_scalar() {
        let shape = g.shape(output);
        return Err(GraphError::new(format!("only a scalar has a gradient, {output} is {shape}")));
    }
    let one = g.scalar(1.0);
    let seed = Seed { node: output, value: one, masked: false };
    let adjoints = pull_back(g, &[seed], wrt, is_density)?;
    let value = |(&w, adjoint): (&NodeId, Option<Adjoint>)| match adjoint {
        Some(adjoint) => adjoint.value,
        None => zeros_like(g, w),
    };
    Ok(wrt.iter().zip(adjoints).map(value).collect())
}

/// Which elements of an adjoint were taken (non-zero) by the branches above it.
#[derive(Clone, Copy, Debug)]
struct Mask {
    node: NodeId,
    /// Whether a branch is above; elements that a slice or gather left out need no mask by
    /// themselves.
    needed: bool,
}

/// An adjoint, of the node's shape, with the mask of its elements (`None`: all taken).
#[derive(Clone, Copy, Debug)]
struct Adjoint {
    value: NodeId,
    mask: Option<Mask>,
}

/// What a rule hands to argument number `arg`.
#[derive(Clone, Copy, Debug)]
struct Contribution {
    arg: usize,
    adjoint: Adjoint,
}

/// A node whose adjoint is known: what a rule works from.
struct Site {
    id: NodeId,
    args: Vec<NodeId>,
    /// Which arguments want an adjoint.
    active: Vec<bool>,
    adjoint: Adjoint,
    /// Whether slopes outside of a support do not matter.
    is_density: bool,
}

/// A node whose adjoint is given.
struct Seed {
    node: NodeId,
    value: NodeId,
    /// Whether elements count as taken only where their adjoint is not exactly 0.
    masked: bool,
}

/// Adjoints of `wrt` given those of some nodes (seeds); `None` where nothing flows. Of a density,
/// slopes outside of a support do not matter.
fn pull_back(
    g: &mut Graph,
    seeds: &[Seed],
    wrt: &[NodeId],
    is_density: bool,
) -> Result<Vec<Option<Adjoint>>, GraphError> {
    let mut is_source = vec![false; g.len()];
    wrt.iter().for_each(|id| is_source[id.index()] = true);
    let active = dependents(g, |id| is_source[id.index()]);
    let mut adjoints: Vec<Option<Adjoint>> = vec![None; active.len()];
    // Adjoints of a scan's outputs, filled by its projections before the scan itself is reached.
    let mut outputs: Vec<Vec<Option<Adjoint>>> = vec![Vec::new(); active.len()];
    let mut pieces: Vec<Vec<Piece>> = vec![Vec::new(); active.len()];
    for &Seed { node, value, masked } in seeds {
        let mask = masked.then(|| where_not_zero(g, value));
        accumulate(g, &mut adjoints[node.index()], Adjoint { value, mask });
    }
    for index in (0..active.len()).rev().filter(|&index| active[index]) {
        let id = NodeId::from_index(index);
        let node = g.node(id).clone();
        if !pieces[index].is_empty() {
            pieces::assemble(g, id, std::mem::take(&mut pieces[index]), &mut adjoints[index]);
        }
        let wanted: Vec<_> = node.args.iter().map(|a| active[a.index()]).collect();
        let contributions = if let Op::Scan { length, reverse, body } = &node.op {
            let cotangents = std::mem::take(&mut outputs[index]);
            if cotangents.iter().all(Option::is_none) {
                continue;
            }
            scan::rule(g, (*length, *reverse, body), &node.args, &wanted, &cotangents)?
        } else {
            let Some(adjoint) = adjoints[index] else { continue };
            if let Op::Slice { axis, start, step: 1, len } = node.op {
                let piece = Piece { axis, start, stop: start + len, adjoint };
                pieces[node.args[0].index()].push(piece);
                continue;
            }
            if let Op::Project(k) = node.op {
                let slots = &mut outputs[node.args[0].index()];
                slots.resize(slots.len().max(k + 1), None);
                accumulate(g, &mut slots[k], adjoint);
                continue;
            }
            contributions(
                g,
                &node.op,
                &Site { id, args: node.args.clone(), active: wanted, adjoint, is_density },
            )?
        };
        for Contribution { arg, adjoint } in contributions {
            let target = node.args[arg].index();
            if active[target] {
                accumulate(g, &mut adjoints[target], adjoint);
            }
        }
    }
    Ok(wrt.iter().map(|w| adjoints[w.index()]).collect())
}

/// For every node, whether it is real and is or depends on a source.
fn dependents(g: &Graph, is_source: impl Fn(NodeId) -> bool) -> Vec<bool> {
    let mut depends = vec![false; g.len()];
    for id in g.ids() {
        let node = g.node(id);
        depends[id.index()] = node.dtype == DType::Real
            && (is_source(id) || node.args.iter().any(|a| depends[a.index()]));
    }
    depends
}

fn accumulate(g: &mut Graph, total: &mut Option<Adjoint>, new: Adjoint) {
    *total = Some(match *total {
        None => new,
        Some(old) => {
            let mask = match (old.mask, new.mask) {
                (Some(a), Some(b)) => {
                    let node = if a.node == b.node { a.node } else { g.or(a.node, b.node) };
                    Some(Mask { node, needed: a.needed || b.needed })
                }
                _ => None,
            };
            Adjoint { value: g.add(old.value, new.value), mask }
        }
    });
}

/// The table of rules: one row an operation.
fn contributions(g: &mut Graph, op: &Op, site: &Site) -> Result<Vec<Contribution>, GraphError> {
    let Site { id: y, adjoint, .. } = *site;
    let x = site.args.first().copied().unwrap_or(y);
    // Linear moves of elements treat value and mask alike.
    let moved = |g: &mut Graph, f: &dyn Fn(&mut Graph, NodeId) -> NodeId| {
        let value = f(g, adjoint.value);
        let mask = adjoint.mask.map(|mask| Mask { node: f(g, mask.node), ..mask });
        vec![Contribution { arg: 0, adjoint: Adjoint { value, mask } }]
    };
    Ok(match op {
        Op::Constant(_) | Op::Input { .. } => Vec::new(),
        Op::Unary(f) => match elementwise::unary(g, *f, x, y, adjoint.value)? {
            Some(value) if *f == Unary::Neg => contribution_to(0, Adjoint { value, ..adjoint }),
            Some(value) => contribution_to(0, masked(g, value, adjoint.mask)),
            None => Vec::new(),
        },
        Op::Binary(f @ (Binary::Min | Binary::Max)) => elementwise::extreme(g, *f, site),
        Op::Binary(f) => {
            let values = elementwise::binary(g, *f, site)?;
            let linear = matches!(f, Binary::Add | Binary::Sub);
            collect(values, |value| match adjoint.mask {
                mask if linear => Adjoint { value, mask },
                mask => masked(g, value, mask),
            })
        }
        Op::Ternary(Ternary::Select) => elementwise::select(g, site),
        Op::Ternary(f) => {
            let values = elementwise::ternary(g, *f, site)?;
            collect(values, |value| masked(g, value, adjoint.mask))
        }
        Op::Broadcast(_) => moved(g, &|g, a| structure::unbroadcast(g, a, x)),
        Op::Reshape(_) => moved(g, &|g, a| {
            let shape = g.shape(x).clone();
            g.reshape(a, shape)
        }),
        Op::Permute(order) => {
            let mut inverse = vec![0; order.len()];
            for (k, &axis) in order.iter().enumerate() {
                inverse[axis] = k;
            }
            moved(g, &|g, a| g.must(Op::Permute(inverse.clone()), &[a]))
        }
        Op::Slice { .. } | Op::Gather => structure::left_out(g, op, site),
        Op::Unslice { axis, start, step, .. } => {
            let len = g.shape(x).extents()[*axis];
            let slice = Op::Slice { axis: *axis, start: *start, step: *step, len };
            moved(g, &|g, a| g.must(slice.clone(), &[a]))
        }
        Op::Concat { axis } => structure::concat(g, *axis, site),
        Op::ScatterAdd { .. } => moved(g, &|g, a| g.gather(a, site.args[1])),
        Op::CumSum { axis, reverse } => {
            let transposed = Op::CumSum { axis: *axis, reverse: !reverse };
            moved(g, &|g, a| g.must(transposed.clone(), &[a]))
        }
        Op::Reduce(Reduction::Sum, axes) => moved(g, &|g, a| structure::unreduce(g, a, axes, x)),
        Op::LogProduct(powers) => structure::log_product(g, powers, site)?,
        Op::Reduce(Reduction::LogSumExp, axes) => structure::log_sum_exp(g, axes, site),
        Op::Reduce(Reduction::Max | Reduction::Min, axes) => structure::extreme(g, axes, site),
        Op::MatMul => structure::matmul(g, site),
        Op::Cholesky => structure::cholesky(g, site),
        Op::CholeskyAdjoint => structure::cholesky_adjoint(g, site),
        Op::TriangularSolve { transposed } => structure::triangular_solve(g, *transposed, site),
        // Solves and determinants differentiate by the matrix; factors alone have no rule.
        Op::Lu => return Err(GraphError::new("lu has no derivative")),
        Op::SymmetricEigen => structure::symmetric_eigen(g, site),
        Op::Decompose(kind) => decomposition::decompose(g, *kind, site),
        Op::DecomposeAdjoint(kind) => {
            return Err(GraphError::new(format!("{} has no derivative", kind.adjoint_name())));
        }
        Op::LeastSquares { .. } => return Err(GraphError::new("least_squares has no derivative")),
        Op::Ode(_) => {
            return Err(GraphError::new("an ode has no second derivative"));
        }
        Op::Hold => Vec::new(),
        Op::OdeSolution(layout) => vec![structure::ode_solution(g, layout, site)],
        Op::LuSolve { transposed } => structure::lu_solve(g, *transposed, site),
        Op::LogAbsDet => structure::log_abs_det(g, site),
        Op::Scan { .. } | Op::Project(_) => unreachable!("handled by the caller"),
    })
}

fn contribution_to(arg: usize, adjoint: Adjoint) -> Vec<Contribution> {
    vec![Contribution { arg, adjoint }]
}

fn collect<const N: usize>(
    values: [Option<NodeId>; N],
    mut finish: impl FnMut(NodeId) -> Adjoint,
) -> Vec<Contribution> {
    let numbered = values.into_iter().enumerate();
    numbered.filter_map(|(arg, v)| Some(Contribution { arg, adjoint: finish(v?) })).collect()
}

/// A product with an adjoint, made exactly zero where its element was not taken.
fn masked(g: &mut Graph, value: NodeId, mask: Option<Mask>) -> Adjoint {
    let value = match mask {
        Some(Mask { node, needed: true }) => {
            let zero = g.scalar(0.0);
            g.select(node, value, zero)
        }
        _ => value,
    };
    Adjoint { value, mask }
}

/// The same for a whole array that was computed from several elements: zero when none was taken.
fn masked_whole(g: &mut Graph, value: NodeId, mask: Option<Mask>) -> Adjoint {
    let Some(Mask { node, needed: true }) = mask else { return Adjoint { value, mask: None } };
    let any = g.sum(node);
    let shape = g.shape(value).clone();
    let node = g.broadcast_to(any, &shape);
    masked(g, value, Some(Mask { node, needed: true }))
}

/// A mask that holds where an adjoint is not exactly 0.
fn where_not_zero(g: &mut Graph, adjoint: NodeId) -> Mask {
    let zero = g.scalar(0.0);
    Mask { node: g.binary(Binary::Ne, adjoint, zero), needed: true }
}

/// A mask that holds where `condition` does and where `outer` did.
fn narrowed(g: &mut Graph, condition: NodeId, outer: Option<Mask>) -> Option<Mask> {
    let node = match outer {
        Some(outer) => g.and(condition, outer.node),
        None => condition,
    };
    Some(Mask { node, needed: true })
}

fn zeros(g: &mut Graph, shape: &Shape) -> NodeId {
    g.filled(shape, 0.0)
}

fn zeros_like(g: &mut Graph, id: NodeId) -> NodeId {
    let shape = g.shape(id).clone();
    zeros(g, &shape)
}
