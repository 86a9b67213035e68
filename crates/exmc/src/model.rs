//! What models are made of: expressions over names, arrays, supports, data, and the errors that
//! building one reports.

pub use exmc_graph::{DType, Shape, Tensor};
pub use exmc_model::{
    Censoring, Centring, Code, Data, DataSet, Diagnostic, DistSpec, Expr, Kind, Model,
    ModelBuilder, ModelError, Node, Obs, ObsBuilder, Origin, Reduce, Rv, RvBuilder, Scan,
    Standardised, Support, TransformSpec, distributions,
};

pub use crate::compile::Values;
