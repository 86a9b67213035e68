//! What models are made of: expressions over names, arrays, supports, data, and the errors that
//! building one reports.

pub use exmc_graph::{DType, Shape, Tensor};
pub use exmc_model::{
    Censoring, Centring, Code, Data, DataSet, Diagnostic, DistSpec, Expr, Kind, Model,
    ModelBuilder, ModelError, Node, Obs, ObsBuilder, Origin, Reduce, Rv, RvBuilder, Scan,
    Standardised, Support, TransformSpec, distributions,
};

pub use crate::compile::{BoundModel, Values};
pub use crate::predict::prior_predictive;

use crate::compile::{CompileOptions, compile};
use crate::error::Error;

/// Compiles a model and gives it data: those that it declares without a value, and others that
/// replace its own. What comes out can be sampled like the model, and evaluated.
///
/// ```
/// use exmc::model::{DType, bind};
/// use exmc::{ModelBuilder, SamplerConfig, distributions::normal, json::read_data};
///
/// let mut model = ModelBuilder::new();
/// model.declare_data("y", DType::Real, 3);
/// model.rv("mu", normal(0, 10));
/// model.rv("seen", normal("mu", 1)).shape(3);
/// model.observe("seen_obs", "seen", "y");
/// let bound = bind(&model.build()?, read_data(r#"{"y": [1, 2, 3]}"#)?)?;
/// let fit = exmc::sample(&bound, &SamplerConfig::default())?;
/// assert!((fit["mu"].mean() - 2.0).abs() < 0.1);
/// # Ok::<(), exmc::Error>(())
/// ```
///
/// # Errors
/// When the model turns out to be wrong in a way that only lowering shows; when data are missing,
/// unknown, of another shape or kind, or outside of where they must lie.
pub fn bind(model: &Model, data: impl Into<DataSet>) -> Result<BoundModel, Error> {
    let options = CompileOptions { marginalise: Some(true), ..CompileOptions::default() };
    compile(model, &options)?.bind(data)
}
