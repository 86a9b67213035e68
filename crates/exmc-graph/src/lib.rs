//! exmc's tensor-expression graph (internal, unstable): expressions -> values and derivatives.
//!
//! A [`Graph`] is a list of [`Node`]s in which arguments precede users; equal nodes are interned,
//! so building is also common-subexpression elimination. A model's expressions, its log density and
//! the density's gradient are all such graphs.
#![forbid(unsafe_code)]

mod build;
mod decomposition;
mod differentiate;
mod evaluate;
mod graph;
mod infer;
pub mod kernels;
mod marginal;
mod narrow_clamps;
mod ode;
mod op;
mod optimise;
mod parse;
mod precision;
mod print;
mod recentre;
mod signs;
mod simplify;
mod tensor;
mod verify;

pub use decomposition::Decomposition;
pub use differentiate::{differentiate, differentiate_density};
pub use evaluate::evaluate;
pub use graph::{Dependence, Graph, GraphError, Node, NodeId};
pub use kernels::{EvaluateError, LeastSquares};
pub use marginal::{Block, Marginal, integrate_normal, is_read_by_elements, join_scalars};
pub use narrow_clamps::narrow_clamps;
pub use ode::{
    CompiledFlow, DaeArguments, Flow, FlowEntry, FlowStep, OdeArguments, OdeLayout, OdeProblem,
    SharedOde, Solver, dae, ode, root,
};
pub use op::{
    Binary, Cost, Digits, MAX_FACTORS, Op, OpFacts, OverSteps, Reduction, Role, ScanBody,
    SharedBody, Ternary, Unary,
};
pub use optimise::{
    Applied, Limits, OPTIMISATIONS, Optimisation, cost, drop_clamps, join_logs, optimise,
};
pub use parse::parse;
pub use precision::Precision;
pub use print::print;
pub use recentre::{LocationScale, Recentred, Written, location_scales, recentre, recentre_value};
pub use simplify::{fold_constants, merge_scans, release, simplify};
pub use tensor::{DType, Shape, Tensor};
pub use verify::verify;
