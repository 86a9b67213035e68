//! An operation and its arguments -> shape and kind of the result, or why they do not fit.

use crate::graph::{Dependence, Graph, GraphError, Node, NodeId};
use crate::kernels::LeastSquares;
use crate::op::{Binary, MAX_FACTORS, Op, ScanBody, Ternary, Unary};
use crate::tensor::{DType, Shape};

static SCALAR: Shape = Shape::scalar();

impl Graph {
    /// Shape and kind of `op` applied to `args`.
    pub(crate) fn infer(&self, op: &Op, args: &[NodeId]) -> Result<(Shape, DType), GraphError> {
        let arity = op.facts().arity.unwrap_or(args.len());
        if args.len() != arity {
            let (name, n) = (op.name(), args.len());
            return Err(GraphError::new(format!("{name} takes {arity} arguments, found {n}")));
        }
        if let Op::Scan { length, body, .. } = op {
            self.infer_scan(*length, &body.0, args)?;
            return Ok((Shape::scalar(), DType::Real));
        }
        // Nearly all operations have few arguments.
        let mut few = [&SCALAR; 3];
        let more: Vec<&Shape>;
        let shapes: &[&Shape] = match few.get_mut(..args.len()) {
            Some(few) => {
                few.iter_mut().zip(args).for_each(|(target, &a)| *target = self.shape(a));
                few
            }
            None => {
                more = args.iter().map(|&a| self.shape(a)).collect();
                &more
            }
        };
        let all_int = args.iter().all(|&a| self.node(a).dtype == DType::Int);
        let keep = if all_int { DType::Int } else { DType::Real };
        let same_shape = || match shapes.iter().find(|s| **s != shapes[0]) {
            None => Ok(shapes[0].clone()),
            Some(other) => fail(op, format!("shapes {} and {other} differ", shapes[0])),
        };
        let axis_of = |axis: usize, shape: &Shape| {
            if axis < shape.rank() {
                Ok(())
            } else {
                fail(op, format!("shape {shape} has no axis {axis}"))
            }
        };
        Ok(match op {
            Op::Constant(_) | Op::Input { .. } | Op::Scan { .. } => {
                unreachable!("handled by the callers")
            }
            Op::Unary(f) => {
                let keeps_integers = matches!(
                    f,
                    Unary::Neg
                        | Unary::Abs
                        | Unary::Sign
                        | Unary::Floor
                        | Unary::Ceil
                        | Unary::Round
                        | Unary::Square
                );
                let dtype = if f.is_truth() || (keeps_integers && all_int) {
                    DType::Int
                } else {
                    DType::Real
                };
                // A truth value of a parameter is a real number that happens to be 0 or 1.
                let dtype = if self.dependence(args[0]) == Dependence::Parameter {
                    DType::Real
                } else {
                    dtype
                };
                (shapes[0].clone(), dtype)
            }
            Op::Binary(f) => {
                use Binary::{Add, Max, Min, Mul, Sub};
                let keeps_integers = matches!(f, Add | Sub | Mul | Min | Max) && all_int;
                let boolean = f.is_truth()
                    && args.iter().all(|&a| self.dependence(a) < Dependence::Parameter);
                (same_shape()?, if keeps_integers || boolean { DType::Int } else { DType::Real })
            }
            Op::Ternary(f) => {
                let keeps_integers = *f == Ternary::Select && all_int;
                (same_shape()?, if keeps_integers { DType::Int } else { DType::Real })
            }
            Op::Broadcast(shape) => {
                if !shapes[0].broadcasts_to(shape) {
                    return fail(op, format!("shape {} does not stretch to {shape}", shapes[0]));
                }
                (shape.clone(), keep)
            }
            Op::Reshape(shape) => {
                if shapes[0].len() != shape.len() {
                    return fail(
                        op,
                        format!("shape {} has not the elements of {shape}", shapes[0]),
                    );
                }
                (shape.clone(), keep)
            }
            Op::Permute(order) => {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                if !sorted.into_iter().eq(0..shapes[0].rank()) {
                    return fail(
                        op,
                        format!("{order:?} is not an order of the axes of {}", shapes[0]),
                    );
                }
                let extents: Vec<_> = order.iter().map(|&a| shapes[0].extents()[a]).collect();
                (extents.into(), keep)
            }
            Op::Slice { axis, start, step, len } => {
                axis_of(*axis, shapes[0])?;
                let extent = shapes[0].extents()[*axis];
                if *step == 0 || (*len > 0 && start + (len - 1) * step >= extent) {
                    return fail(
                        op,
                        format!("{len} elements from {start} by {step} leave the extent {extent}"),
                    );
                }
                (shapes[0].with_extent(*axis, *len), keep)
            }
            Op::Unslice { axis, start, step, extent } => {
                axis_of(*axis, shapes[0])?;
                let len = shapes[0].extents()[*axis];
                if *step == 0 || (len > 0 && start + (len - 1) * step >= *extent) {
                    return fail(
                        op,
                        format!("{len} elements from {start} by {step} leave the extent {extent}"),
                    );
                }
                (shapes[0].with_extent(*axis, *extent), keep)
            }
            Op::Concat { axis } => {
                if args.is_empty() {
                    return fail(op, "needs at least one argument".into());
                }
                axis_of(*axis, shapes[0])?;
                let mut extent = 0;
                for shape in shapes {
                    axis_of(*axis, shape)?;
                    if shape.with_extent(*axis, 0) != shapes[0].with_extent(*axis, 0) {
                        return fail(
                            op,
                            format!("shapes {} and {shape} differ off axis {axis}", shapes[0]),
                        );
                    }
                    extent += shape.extents()[*axis];
                }
                (shapes[0].with_extent(*axis, extent), keep)
            }
            Op::Gather => {
                self.check_index(op, args[1])?;
                let Some((_, rest)) = shapes[0].extents().split_first() else {
                    return fail(op, "a scalar cannot be indexed".into());
                };
                (shapes[1].join(rest), self.node(args[0]).dtype)
            }
            Op::ScatterAdd { len } => {
                self.check_index(op, args[1])?;
                let Some(rest) = shapes[0].extents().strip_prefix(shapes[1].extents()) else {
                    return fail(
                        op,
                        format!(
                            "values {} do not start with the index's shape {}",
                            shapes[0], shapes[1]
                        ),
                    );
                };
                (Shape::from([*len]).join(rest), self.node(args[0]).dtype)
            }
            Op::Reduce(_, axes) => {
                if !axes.is_sorted_by(|a, b| a < b) {
                    return fail(op, format!("axes {axes:?} are not ascending"));
                }
                for axis in axes {
                    axis_of(*axis, shapes[0])?;
                }
                let kept =
                    shapes[0].extents().iter().enumerate().filter(|(a, _)| !axes.contains(a));
                (kept.map(|(_, e)| *e).collect::<Vec<_>>().into(), DType::Real)
            }
            Op::Hold => (shapes[0].clone(), keep),
            Op::CumSum { axis, .. } => {
                axis_of(*axis, shapes[0])?;
                (shapes[0].clone(), keep)
            }
            Op::MatMul => match (shapes[0].extents(), shapes[1].extents()) {
                ([m, k], [l]) if k == l => ([*m].into(), DType::Real),
                ([m, k], [l, n]) if k == l => ([*m, *n].into(), DType::Real),
                _ => {
                    return fail(
                        op,
                        format!("shapes {} and {} do not multiply", shapes[0], shapes[1]),
                    );
                }
            },
            Op::Cholesky => match shapes[0].extents() {
                [m, n] if m == n => (shapes[0].clone(), DType::Real),
                _ => return fail(op, format!("shape {} is not square", shapes[0])),
            },
            Op::CholeskyAdjoint => match (shapes[0].extents(), shapes[1].extents()) {
                ([m, n], [k, l]) if m == n && n == k && k == l => (shapes[0].clone(), DType::Real),
                _ => return fail(op, format!("shapes {} and {} do not fit", shapes[0], shapes[1])),
            },
            Op::TriangularSolve { .. } => match (shapes[0].extents(), shapes[1].extents()) {
                ([m, n], [l, ..]) if m == n && n == l && shapes[1].rank() <= 2 => {
                    (shapes[1].clone(), DType::Real)
                }
                _ => return fail(op, format!("shapes {} and {} do not fit", shapes[0], shapes[1])),
            },
            Op::Lu => match shapes[0].extents() {
                [m, n] if m == n => ([*m, n + 1].into(), DType::Real),
                _ => return fail(op, format!("shape {} is not square", shapes[0])),
            },
            Op::LuSolve { .. } | Op::LogAbsDet => {
                let (n, factors) = (shapes[0].extents().first().copied().unwrap_or(0), shapes[1]);
                let fits = *shapes[0] == Shape::from([n, n]) && *factors == Shape::from([n, n + 1]);
                match shapes.get(2) {
                    None if fits => (Shape::scalar(), DType::Real),
                    Some(b) if fits && b.rank() <= 2 && b.extents().first() == Some(&n) => {
                        ((*b).clone(), DType::Real)
                    }
                    _ => return fail(op, format!("shapes {shapes:?} do not fit")),
                }
            }
            Op::SymmetricEigen => match shapes[0].extents() {
                [m, n] if m == n => ([n + 1, *n].into(), DType::Real),
                _ => return fail(op, format!("shape {} is not square", shapes[0])),
            },
            Op::Decompose(kind) => match kind.lengths(shapes[0]) {
                Some([length, _]) => ([length].into(), DType::Real),
                None => return fail(op, format!("shape {} does not fit", shapes[0])),
            },
            Op::DecomposeAdjoint(kind) => match kind.lengths(shapes[0]) {
                Some([length, adjoint])
                    if kind.has_adjoint() && shapes[1..].iter().all(|s| **s == [length].into()) =>
                {
                    ([adjoint].into(), DType::Real)
                }
                _ => return fail(op, format!("shapes {shapes:?} do not fit")),
            },
            Op::LeastSquares { groups, local } => {
                self.check_index(op, args[2])?;
                if args.iter().any(|&a| self.dependence(a) == Dependence::Parameter) {
                    return fail(op, "its arguments must not depend on parameters".into());
                }
                match (shapes[0].extents(), shapes[1].extents(), shapes[2].extents()) {
                    ([n, k], [m], [l]) if n == m && n == l && local <= k => {
                        let packed = LeastSquares::new(*groups, *local, k - local);
                        ([packed.len()].into(), DType::Real)
                    }
                    _ => {
                        let [columns, offset, index] = [shapes[0], shapes[1], shapes[2]];
                        let text = format!("shapes {columns}, {offset} and {index} do not fit");
                        return fail(op, text);
                    }
                }
            }
            Op::LogProduct(powers) => {
                let count: usize = powers.iter().zip(shapes).map(|(p, x)| p * x.len()).sum();
                if !(1..=MAX_FACTORS).contains(&count) {
                    let text = format!("it takes 1 to {MAX_FACTORS} factors, found {count}");
                    return fail(op, text);
                }
                (Shape::scalar(), DType::Real)
            }
            Op::Ode(problem) => {
                let layout = &problem.0.layout;
                let times = match shapes[0].extents() {
                    &[length] => layout.output_times(length),
                    _ => None,
                };
                let Some(times) = times else {
                    return fail(op, format!("shape {} is not its argument's", shapes[0]));
                };
                ([times, layout.width()].into(), DType::Real)
            }
            Op::OdeSolution(layout) => match (shapes[0].extents(), shapes[1].extents()) {
                (&[length], &[times, width])
                    if layout.output_times(length) == Some(times) && width == layout.width() =>
                {
                    ([times, layout.states].into(), DType::Real)
                }
                _ => {
                    let text = format!("shapes {} and {} do not fit", shapes[0], shapes[1]);
                    return fail(op, text);
                }
            },
            Op::Project(k) => {
                let scan = self.node(args[0]);
                let Op::Scan { length, body, .. } = &scan.op else {
                    return fail(op, "its argument is not a scan".into());
                };
                let body = &body.0;
                if let Some(next) = body.next.get(*k) {
                    let node = body.graph.node(*next);
                    (node.shape.clone(), node.dtype)
                } else if let Some(stacked) = body.stacked.get(*k - body.next.len()) {
                    let node = body.graph.node(*stacked);
                    (Shape::from([*length]).join(node.shape.extents()), node.dtype)
                } else {
                    return fail(op, format!("the scan has no output {k}"));
                }
            }
        })
    }

    fn check_index(&self, op: &Op, index: NodeId) -> Result<(), GraphError> {
        let node = self.node(index);
        if node.dtype != DType::Int {
            return Err(GraphError::new(format!("{}: the index must be of integers", op.name())));
        }
        if node.dependence == Dependence::Parameter {
            return Err(GraphError::new(format!(
                "{}: the index must not depend on parameters",
                op.name()
            )));
        }
        Ok(())
    }

    fn infer_scan(
        &self,
        length: usize,
        body: &ScanBody,
        args: &[NodeId],
    ) -> Result<(), GraphError> {
        let [carries, sequences, fixed] = body.counts;
        let fail = |message: String| Err(GraphError::new(format!("scan: {message}")));
        if args.len() != carries + sequences + fixed {
            let wanted = carries + sequences + fixed;
            return fail(format!("the body takes {wanted} values, found {}", args.len()));
        }
        if body.next.len() != carries {
            return fail(format!("{carries} carries, but {} next values", body.next.len()));
        }
        for (k, &arg) in args.iter().enumerate() {
            let (name, shape) = if k < carries {
                (format!("carry{k}"), self.shape(arg).clone())
            } else if k < carries + sequences {
                let Some((&extent, rest)) = self.shape(arg).extents().split_first() else {
                    return fail("a sequence must have an axis".into());
                };
                if extent != length {
                    return fail(format!("a sequence of {extent} in a loop of {length} steps"));
                }
                (format!("x{}", k - carries), Shape::from(rest))
            } else {
                (format!("fixed{}", k - carries - sequences), self.shape(arg).clone())
            };
            // An input that the body does not use need not be there.
            if let Some(input) = body.graph.find_input(&name) {
                let declared = body.graph.shape(input);
                if *declared != shape {
                    return fail(format!(
                        "`{name}` has shape {declared} in the body, {shape} outside"
                    ));
                }
                let is_integer = |node: &Node| node.dtype == DType::Int;
                let stays = k >= carries || is_integer(body.graph.node(body.next[k]));
                if is_integer(body.graph.node(input)) && !(is_integer(self.node(arg)) && stays) {
                    return fail(format!("`{name}` is an integer in the body, real outside"));
                }
            }
            if k < carries && *body.graph.shape(body.next[k]) != shape {
                return fail(format!("`{name}` changes its shape from {shape}"));
            }
        }
        Ok(())
    }
}

fn fail<T>(op: &Op, message: String) -> Result<T, GraphError> {
    Err(GraphError::new(format!("{}: {message}", op.name())))
}
