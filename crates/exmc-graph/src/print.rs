//! Graph -> text, one node a line: `%4 = add(%2, %3) : real[8] param`.
//!
//! A line gives the node's operation, arguments, attributes in braces, kind and shape, and what its
//! value changes with (`const`, `data`, `param`). A scan's body follows its line, indented, up to a
//! closing brace. [`parse`](crate::parse()) reads the same text back.

use std::fmt::{self, Write};

use exmc_math::{OdeControl, RootControl};

use crate::graph::{Dependence, Graph, NodeId};
use crate::ode::{OdeLayout, OdeProblem, Solver};
use crate::op::{Op, ScanBody};
use crate::tensor::Tensor;

/// Numbers that the display form shows of a long constant.
const SHOWN: usize = 6;

/// The whole graph as text, constants in full: `parse(&print(&g))` equals `g`.
pub fn print(graph: &Graph) -> String {
    Printer { full: true }.graph(graph)
}

impl fmt::Display for Graph {
    /// The graph as text with long constants abbreviated.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Printer { full: false }.graph(self))
    }
}

impl Graph {
    /// One node's line, long constants abbreviated and a scan's body left out.
    pub fn print_node(&self, id: NodeId) -> String {
        Printer { full: false }.line(self, id)
    }
}

impl fmt::Display for Dependence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "const",
            Self::Data => "data",
            Self::Parameter => "param",
        })
    }
}

struct Printer {
    full: bool,
}

impl Printer {
    fn graph(&self, graph: &Graph) -> String {
        let mut text = String::new();
        self.nodes(graph, "", &mut text);
        text
    }

    fn nodes(&self, graph: &Graph, indent: &str, text: &mut String) {
        for id in graph.ids() {
            text.push_str(indent);
            text.push_str(&self.line(graph, id));
            let body = match &graph.node(id).op {
                Op::Scan { body, .. } => Some(&body.0.graph),
                Op::Ode(problem) => Some(&problem.0.graph),
                _ => None,
            };
            if let Some(body) = body {
                text.push_str(" {\n");
                self.nodes(body, &format!("{indent}  "), text);
                text.push_str(indent);
                text.push('}');
            }
            text.push('\n');
        }
    }

    fn line(&self, graph: &Graph, id: NodeId) -> String {
        let node = graph.node(id);
        let what = match &node.op {
            Op::Constant(tensor) => format!("constant {}", self.constant(tensor)),
            Op::Input { name, .. } => format!("input {name:?}"),
            op => {
                let args: Vec<_> = node.args.iter().map(ToString::to_string).collect();
                format!("{}({}){}", op.name(), args.join(", "), attributes(op))
            }
        };
        format!("{id} = {what} : {}{} {}", node.dtype, node.shape, node.dependence)
    }

    /// A number for a scalar, else the elements in order.
    fn constant(&self, tensor: &Tensor) -> String {
        if tensor.shape().is_scalar() {
            return number(tensor.values()[0]);
        }
        let all = tensor.values();
        let shown = if self.full || all.len() <= SHOWN + 2 { all.len() } else { SHOWN };
        let mut text = String::from("[");
        for (k, &value) in all[..shown].iter().enumerate() {
            text.push_str(if k == 0 { "" } else { ", " });
            text.push_str(&number(value));
        }
        if shown < all.len() {
            // Writing to a string cannot fail.
            let _ = write!(text, ", ... {} elements", all.len());
        }
        text.push(']');
        text
    }
}

/// The shortest text that reads back to the same bits.
fn number(value: f64) -> String {
    if value.is_nan() && value.to_bits() != f64::NAN.to_bits() {
        return format!("nan:{:#x}", value.to_bits());
    }
    format!("{value:?}")
}

/// What an operation is told besides its arguments and the shape of its result.
fn attributes(op: &Op) -> String {
    let inner = match op {
        Op::Permute(order) => format!("order={order:?}"),
        Op::Slice { axis, start, step, len } => {
            format!("axis={axis}, start={start}, step={step}, len={len}")
        }
        Op::Unslice { axis, start, step, extent } => {
            format!("axis={axis}, start={start}, step={step}, extent={extent}")
        }
        Op::Concat { axis } => format!("axis={axis}"),
        Op::ScatterAdd { len } => format!("len={len}"),
        Op::Reduce(_, axes) => format!("axes={axes:?}"),
        Op::LogProduct(powers) => format!("powers={powers:?}"),
        Op::CumSum { axis, reverse } => format!("axis={axis}, reverse={reverse}"),
        Op::TriangularSolve { transposed } | Op::LuSolve { transposed } => {
            format!("transposed={transposed}")
        }
        Op::Scan { length, reverse, body } => {
            let ScanBody { next, stacked, counts, .. } = &*body.0;
            let list = |ids: &[NodeId]| {
                let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
                format!("[{}]", ids.join(", "))
            };
            let (next, stacked) = (list(next), list(stacked));
            format!(
                "length={length}, reverse={reverse}, counts={counts:?}, next={next}, stacked={stacked}"
            )
        }
        Op::LeastSquares { groups, local } => format!("groups={groups}, local={local}"),
        Op::Ode(problem) => {
            let OdeProblem { slope, solver, layout, .. } = &*problem.0;
            let layout = layout_text(layout);
            let solver = match solver {
                Solver::Flow(method, OdeControl { relative, absolute, max_steps }) => {
                    format!("{} {relative:?} {absolute:?} {max_steps}", method.name())
                }
                Solver::Residual(OdeControl { relative, absolute, max_steps }) => {
                    format!("dae {relative:?} {absolute:?} {max_steps}")
                }
                Solver::Root(RootControl { tolerance, max_steps }) => {
                    format!("root {tolerance:?} {max_steps}")
                }
            };
            format!("solver={solver:?}, layout={layout}, slope=[{slope}]")
        }
        Op::OdeSolution(layout) => format!("layout={}", layout_text(layout)),
        Op::Project(output) => format!("output={output}"),
        Op::Constant(_)
        | Op::Input { .. }
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Ternary(_)
        | Op::Broadcast(_)
        | Op::Reshape(_)
        | Op::Gather
        | Op::Hold
        | Op::MatMul
        | Op::Cholesky
        | Op::CholeskyAdjoint
        | Op::Lu
        | Op::SymmetricEigen
        | Op::Decompose(_)
        | Op::DecomposeAdjoint(_)
        | Op::LogAbsDet => return String::new(),
    };
    format!(" {{{inner}}}")
}

/// States, values, varying values, and what else has sensitivities.
fn layout_text(layout: &OdeLayout) -> String {
    let OdeLayout { states, values, varying, start, initial_time, times } = *layout;
    let [start, initial, times] = [start, initial_time, times].map(usize::from);
    format!("[{states}, {values}, {varying}, {start}, {initial}, {times}]")
}
