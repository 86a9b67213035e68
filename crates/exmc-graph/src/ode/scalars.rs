//! A graph without loops -> scalar code, each array a list of registers.
//!
//! Operations that move elements are run on the registers' numbers instead of values.

use super::code::{Builder, Register};
use crate::graph::{Graph, GraphError, NodeId};
use crate::kernels::{Arg, evaluate_into};
use crate::op::{Binary, Op, Reduction};
use crate::tensor::{DType, Shape};

/// Registers of every node that the roots need; `input` gives those of an input.
pub(super) fn scalars(
    builder: &mut Builder,
    graph: &Graph,
    roots: &[NodeId],
    input: &dyn Fn(&str) -> Option<Vec<Register>>,
) -> Result<Vec<Vec<Register>>, GraphError> {
    let live = graph.reachable(roots);
    let mut all: Vec<Vec<Register>> = vec![Vec::new(); graph.len()];
    for id in graph.ids().filter(|id| live[id.index()]) {
        let node = graph.node(id);
        let args: Vec<(&Shape, &[Register])> =
            node.args.iter().map(|a| (graph.shape(*a), &*all[a.index()])).collect();
        let registers = match &node.op {
            Op::Constant(tensor) => tensor.values().iter().map(|&v| builder.constant(v)).collect(),
            Op::Input { name, .. } => {
                let registers = input(name).filter(|registers| {
                    node.dtype == DType::Real
                        && node.shape.len() == registers.len()
                        && node.shape.rank() == usize::from(&**name != "t")
                });
                let wrong = || {
                    let (dtype, shape) = (node.dtype, &node.shape);
                    GraphError::new(format!("ode: its body has an input `{name}` {dtype}{shape}"))
                };
                registers.ok_or_else(wrong)?
            }
            op => apply(builder, op, &args, &node.shape)?,
        };
        all[id.index()] = registers;
    }
    Ok(all)
}

fn apply(
    builder: &mut Builder,
    op: &Op,
    args: &[(&Shape, &[Register])],
    shape: &Shape,
) -> Result<Vec<Register>, GraphError> {
    let arg = |k: usize| args[k].1;
    Ok(match op {
        Op::Unary(f) => arg(0).iter().map(|&x| builder.unary(*f, x)).collect(),
        Op::Binary(f) => {
            arg(0).iter().zip(arg(1)).map(|(&a, &b)| builder.binary(*f, a, b)).collect()
        }
        Op::Ternary(f) => (0..shape.len())
            .map(|k| builder.ternary(*f, [arg(0)[k], arg(1)[k], arg(2)[k]]))
            .collect(),
        Op::Reshape(_) | Op::Hold => arg(0).to_vec(),
        Op::Broadcast(_)
        | Op::Permute(_)
        | Op::Slice { .. }
        | Op::Unslice { .. }
        | Op::Concat { .. } => moved(builder, op, args, &[], shape)?,
        Op::Gather => {
            let index = known(builder, arg(1))?;
            moved(builder, op, &args[..1], &[(args[1].0, index)], shape)?
        }
        Op::ScatterAdd { .. } => {
            let (index, zero) = (known(builder, arg(1))?, builder.constant(0.0));
            let width = arg(0).len().checked_div(index.len()).unwrap_or(0);
            let mut out = vec![zero; shape.len()];
            for (k, &value) in arg(0).iter().enumerate() {
                let row = index[k / width];
                let position = row as usize * width + k % width;
                let Some(target) = out.get_mut(position).filter(|_| row >= 0.0) else {
                    return Err(GraphError::new("ode: an index of its body is outside its extent"));
                };
                *target = builder.binary(Binary::Add, *target, value);
            }
            out
        }
        Op::Reduce(Reduction::Sum, axes) => {
            let mut kept = args[0].0.extents().to_vec();
            axes.iter().for_each(|&axis| kept[axis] = 1);
            // Where each element goes: the results' numbers, stretched over the argument.
            let targets: Vec<f64> = (0..shape.len()).map(|k| k as f64).collect();
            let mut to = vec![0.0; arg(0).len()];
            let from = Arg { shape: &Shape::from(kept), values: &targets };
            run(&Op::Broadcast(args[0].0.clone()), &[from], args[0].0, &mut to)?;
            let zero = builder.constant(0.0);
            let mut out = vec![zero; shape.len()];
            for (&value, to) in arg(0).iter().zip(to) {
                let target = &mut out[to as usize];
                *target = builder.binary(Binary::Add, *target, value);
            }
            out
        }
        Op::MatMul => {
            let inner = args[0].0.extents()[1];
            let columns = args[1].0.extents().get(1).copied().unwrap_or(1);
            let zero = builder.constant(0.0);
            (0..shape.len())
                .map(|k| {
                    let (row, column) = (k / columns, k % columns);
                    (0..inner).fold(zero, |sum, j| {
                        let (a, b) = (arg(0)[row * inner + j], arg(1)[j * columns + column]);
                        let product = builder.binary(Binary::Mul, a, b);
                        builder.binary(Binary::Add, sum, product)
                    })
                })
                .collect()
        }
        Op::CumSum { .. }
        | Op::LogProduct(_)
        | Op::Reduce(..)
        | Op::Cholesky
        | Op::CholeskyAdjoint
        | Op::TriangularSolve { .. }
        | Op::Lu
        | Op::SymmetricEigen
        | Op::Decompose(_)
        | Op::DecomposeAdjoint(_)
        | Op::LuSolve { .. }
        | Op::LogAbsDet => {
            let args = args.iter().map(|(shape, r)| ((*shape).clone(), r.to_vec())).collect();
            builder.call(op, args, shape)
        }
        Op::Constant(_) | Op::Input { .. } | Op::Scan { .. } | Op::Project(_) => {
            unreachable!("handled by the caller, or unrolled before")
        }
        Op::LeastSquares { .. } | Op::Ode(_) | Op::OdeSolution(_) => {
            return Err(GraphError::new(format!("ode: its body holds {}", op.name())));
        }
    })
}

/// Values of registers that must be constants.
fn known(builder: &Builder, registers: &[Register]) -> Result<Vec<f64>, GraphError> {
    let all: Option<Vec<f64>> = registers.iter().map(|&r| builder.known(r)).collect();
    all.ok_or_else(|| GraphError::new("ode: an index of its body is not known"))
}

/// Registers after an operation that moves elements; nothing is the constant zero.
fn moved(
    builder: &mut Builder,
    op: &Op,
    args: &[(&Shape, &[Register])],
    others: &[(&Shape, Vec<f64>)],
    shape: &Shape,
) -> Result<Vec<Register>, GraphError> {
    // Numbers from one on, so that a zero is an element that was filled in.
    let numbers: Vec<Vec<f64>> =
        args.iter().map(|(_, r)| r.iter().map(|&r| f64::from(r) + 1.0).collect()).collect();
    let moved = args.iter().zip(&numbers).map(|((shape, _), values)| Arg { shape, values });
    let fixed = others.iter().map(|(shape, values)| Arg { shape, values });
    let mut out = vec![0.0; shape.len()];
    run(op, &moved.chain(fixed).collect::<Vec<_>>(), shape, &mut out)?;
    let zero = builder.constant(0.0);
    Ok(out.into_iter().map(|k| if k == 0.0 { zero } else { k as Register - 1 }).collect())
}

fn run(op: &Op, args: &[Arg<'_>], shape: &Shape, out: &mut [f64]) -> Result<(), GraphError> {
    evaluate_into(op, args, shape, out)
        .map_err(|error| GraphError::new(format!("ode: in its body, {error}")))
}
