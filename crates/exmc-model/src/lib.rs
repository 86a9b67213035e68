//! exmc's models as data (internal, unstable): builder calls or JSON -> model -> graph.
#![forbid(unsafe_code)]

mod build;
mod builder;
mod diagnostic;
mod dist;
pub mod distribution;
pub mod distributions;
mod draw;
mod expr;
mod expr_from;
mod function;
mod intervene;
mod json;
mod lower;
mod model;
mod print;
mod rewrite;
mod scan;
mod spec;
mod support;
mod transform;
mod verify;

pub use builder::{ModelBuilder, ObsBuilder, RvBuilder};
pub use diagnostic::{Code, Diagnostic, ModelError, Origin};
pub use dist::{Custom, Dist, Requirement};
pub use draw::{Argument, draw};
pub use expr::Expr;
pub use function::function_names;
pub use json::{DataSet, decode_utf8, read_data, read_json, write_json};
pub use lower::{
    Centred, DataCheck, Effect, Effects, Inverse, LayoutEntry, LowerOptions, Lowered, MARGINALISE,
    Marginalised, Pointwise, RECENTRE, Term, TraceEntry, lower, marginalise,
};
pub use model::{Censoring, Data, Kind, Model, Node, Obs, Rv, Standardised};
pub use rewrite::{PASSES, Pass, rewrite};
pub use scan::Scan;
pub use spec::{Centring, DistSpec, Reduce, TransformSpec};
pub use support::{KnownSupports, Support};
pub use transform::Transform;
pub use verify::verify;
