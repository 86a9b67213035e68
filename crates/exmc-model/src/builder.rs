//! The Rust front end: calls that declare nodes -> a [`Model`], or everything that is wrong with
//! them.

use exmc_graph::{DType, Shape, Tensor};

use crate::build::build;
use crate::diagnostic::{ModelError, Origin};
use crate::expr::Expr;
use crate::model::Model;
use crate::spec::{
    CensoringSpec, Centring, DistSpec, KindSpec, NodeSpec, ObsSpec, Reduce, RvSpec, TransformSpec,
};

/// Declares a model, node by node, in any order.
///
/// Names refer to each other freely; a mistake is reported by [`build`](Self::build) with the line
/// that declared the node. Parameters take names, numbers, arrays and expressions.
///
/// ```
/// use exmc_model::{ModelBuilder, distributions::{half_normal, normal}};
/// let mut model = ModelBuilder::new();
/// model.rv("mu", normal(0.0, 5.0));
/// model.rv("tau", half_normal(5.0));
/// model.rv("theta", normal("mu", "tau")).shape([8]);
/// model.rv("y", normal("theta", [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]));
/// model.observe("y_obs", "y", [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]);
/// let model = model.build()?;
/// assert_eq!(model.free_variables(), ["mu", "tau", "theta"]);
/// # Ok::<(), exmc_model::ModelError>(())
/// ```
#[derive(Debug, Default)]
pub struct ModelBuilder {
    nodes: Vec<NodeSpec>,
    plates: Vec<(String, usize)>,
}

impl ModelBuilder {
    /// A model without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a random variable. Its shape is that of its parameters unless [`RvBuilder::shape`]
    /// or [`RvBuilder::over`] says otherwise.
    #[track_caller]
    pub fn rv(&mut self, name: &str, dist: DistSpec) -> RvBuilder<'_> {
        let kind = KindSpec::Rv(RvSpec {
            dist,
            shape: None,
            over: Vec::new(),
            transform: None,
            centring: Centring::Auto,
            standardised: None,
        });
        let KindSpec::Rv(rv) = &mut self.push(name, kind, Origin::caller()).kind else {
            unreachable!("a random variable was pushed")
        };
        RvBuilder { rv }
    }

    /// Declares that `target` (a random variable, or an affine or matrix image of one) was seen to
    /// have `value`: an array, or the name of data.
    #[track_caller]
    pub fn observe(&mut self, name: &str, target: &str, value: impl Into<Expr>) -> ObsBuilder<'_> {
        self.push_observation(name, target, value.into(), Vec::new(), Origin::caller())
    }

    /// As [`observe`](Self::observe) for a vector of which some elements are missing: those stay
    /// free variables and are imputed.
    #[track_caller]
    pub fn observe_partly(
        &mut self,
        name: &str,
        target: &str,
        values: &[Option<f64>],
    ) -> ObsBuilder<'_> {
        let missing = (0..values.len()).filter(|&k| values[k].is_none()).collect();
        let filled: Vec<f64> = values.iter().map(|v| v.unwrap_or(0.0)).collect();
        self.push_observation(name, target, filled.into(), missing, Origin::caller())
    }

    /// Declares a deterministic value, recorded with the draws.
    #[track_caller]
    pub fn det(&mut self, name: &str, value: impl Into<Expr>) -> &mut Self {
        self.push(name, KindSpec::Det(value.into()), Origin::caller());
        self
    }

    /// Adds the sum of an expression to the log density.
    #[track_caller]
    pub fn potential(&mut self, name: &str, value: impl Into<Expr>) -> &mut Self {
        self.push(name, KindSpec::Potential(value.into()), Origin::caller());
        self
    }

    /// Declares data with a value that can be replaced later by one of the same shape.
    #[track_caller]
    pub fn data(&mut self, name: &str, value: Tensor) -> &mut Self {
        let kind = KindSpec::Data {
            dtype: value.dtype(),
            shape: value.shape().clone(),
            value: Some(value),
        };
        self.push(name, kind, Origin::caller());
        self
    }

    /// Declares data whose value is given when the model is compiled.
    #[track_caller]
    pub fn declare_data(&mut self, name: &str, dtype: DType, shape: impl Into<Shape>) -> &mut Self {
        let kind = KindSpec::Data { dtype, shape: shape.into(), value: None };
        self.push(name, kind, Origin::caller());
        self
    }

    /// Names a dimension, for [`RvBuilder::over`].
    pub fn plate(&mut self, name: &str, size: usize) -> &mut Self {
        self.plates.push((name.to_owned(), size));
        self
    }

    /// Checks the model.
    ///
    /// # Errors
    /// Every mistake that was found, each with the node and the line that declared it.
    pub fn build(&self) -> Result<Model, ModelError> {
        build(&self.nodes, &self.plates)
    }

    pub(crate) fn push(&mut self, name: &str, kind: KindSpec, origin: Origin) -> &mut NodeSpec {
        self.nodes.push(NodeSpec { name: name.to_owned(), origin, kind });
        self.nodes.last_mut().expect("a node was pushed")
    }

    fn push_observation(
        &mut self,
        name: &str,
        target: &str,
        value: Expr,
        missing: Vec<usize>,
        origin: Origin,
    ) -> ObsBuilder<'_> {
        let kind = KindSpec::Obs(ObsSpec {
            target: target.to_owned(),
            value,
            missing,
            likelihood: true,
            weight: None,
            mask: None,
            reduce: Reduce::Sum,
            censoring: None,
            log_jacobian: None,
            joint: false,
        });
        let KindSpec::Obs(obs) = &mut self.push(name, kind, origin).kind else {
            unreachable!("an observation was pushed")
        };
        ObsBuilder { obs }
    }
}

/// Settings of a random variable just declared.
#[derive(Debug)]
pub struct RvBuilder<'a> {
    rv: &'a mut RvSpec,
}

impl RvBuilder<'_> {
    /// Its shape; parameters broadcast to it.
    pub fn shape(self, shape: impl Into<Shape>) -> Self {
        self.rv.shape = Some(shape.into());
        self
    }

    /// Its dimensions by name, outermost first (see [`ModelBuilder::plate`]).
    pub fn over<'n>(self, plates: impl IntoIterator<Item = &'n str>) -> Self {
        self.rv.over = plates.into_iter().map(str::to_owned).collect();
        self
    }

    /// A transform other than its distribution's. The posterior stays the same, the geometry
    /// changes; a narrower support (ordered, for instance) is a constraint.
    pub fn transform(self, transform: TransformSpec) -> Self {
        self.rv.transform = Some(transform);
        self
    }

    /// Samples it as itself, whatever its parameters.
    pub fn centred(self) -> Self {
        self.rv.centring = Centring::Centred;
        self
    }

    /// Samples it as `location + scale * z`.
    pub fn non_centred(self) -> Self {
        self.rv.centring = Centring::NonCentred;
        self
    }
}

/// Settings of an observation just declared.
#[derive(Debug)]
pub struct ObsBuilder<'a> {
    obs: &'a mut ObsSpec,
}

impl ObsBuilder<'_> {
    /// Whether it adds to the log density (it does unless told otherwise).
    pub fn likelihood(self, likelihood: bool) -> Self {
        self.obs.likelihood = likelihood;
        self
    }

    /// Factors of the elementwise log densities.
    pub fn weight(self, weight: impl Into<Expr>) -> Self {
        self.obs.weight = Some(weight.into());
        self
    }

    /// Elements where this is 0 are left out, of means and counts too.
    pub fn mask(self, mask: impl Into<Expr>) -> Self {
        self.obs.mask = Some(mask.into());
        self
    }

    /// How the elementwise log densities become one number.
    pub fn reduce(self, reduce: Reduce) -> Self {
        self.obs.reduce = reduce;
        self
    }

    /// The true values lie above what was seen.
    pub fn right_censored(self) -> Self {
        self.obs.censoring = Some(CensoringSpec::Right);
        self
    }

    /// The true values lie below what was seen.
    pub fn left_censored(self) -> Self {
        self.obs.censoring = Some(CensoringSpec::Left);
        self
    }

    /// The true values lie between what was seen and `upper`.
    pub fn interval_censored(self, upper: impl Into<Expr>) -> Self {
        self.obs.censoring = Some(CensoringSpec::Interval(upper.into()));
        self
    }

    /// Censoring by element: 0 seen exactly, 1 right, -1 left, 2 interval up to `upper`.
    pub fn censoring(self, code: impl Into<Expr>, upper: Option<Expr>) -> Self {
        self.obs.censoring = Some(CensoringSpec::Codes { code: code.into(), upper });
        self
    }
}
