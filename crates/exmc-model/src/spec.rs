//! A model as declared: nodes over expressions, before names are resolved and shapes known.
//!
//! Both front ends (Rust calls and JSON) make these; [`crate::build`] turns them into a `Model`.

use exmc_graph::{DType, Shape, Tensor};

use crate::diagnostic::Origin;
use crate::expr::Expr;
use crate::support::Support;

/// A distribution with its arguments, as declared. The functions in [`crate::distributions`] make
/// them.
#[derive(Clone, Debug)]
pub struct DistSpec(pub(crate) DistKind);

#[derive(Clone, Debug)]
pub(crate) enum DistKind {
    /// A family; an argument without a name is positional.
    Family {
        name: String,
        args: Vec<(Option<String>, Expr)>,
    },
    Mixture {
        weights: Expr,
        components: Vec<DistSpec>,
    },
    Truncated {
        base: Box<DistSpec>,
        lower: Option<Expr>,
        upper: Option<Expr>,
    },
    Censored {
        base: Box<DistSpec>,
        lower: Option<Expr>,
        upper: Option<Expr>,
    },
    ZeroInflated {
        base: Box<DistSpec>,
        probability: Expr,
    },
    Custom {
        args: Vec<(String, Expr)>,
        logp: Expr,
        quantile: Option<Expr>,
        support: Support,
    },
}

impl DistSpec {
    /// Every expression, wrappers' components included.
    pub(crate) fn expressions(&self) -> Vec<&Expr> {
        match &self.0 {
            DistKind::Family { args, .. } => args.iter().map(|(_, e)| e).collect(),
            DistKind::Mixture { weights, components } => std::iter::once(weights)
                .chain(components.iter().flat_map(Self::expressions))
                .collect(),
            DistKind::Truncated { base, lower, upper }
            | DistKind::Censored { base, lower, upper } => {
                base.expressions().into_iter().chain(lower).chain(upper).collect()
            }
            DistKind::ZeroInflated { base, probability } => {
                base.expressions().into_iter().chain([probability]).collect()
            }
            DistKind::Custom { args, .. } => args.iter().map(|(_, e)| e).collect(),
        }
    }
}

/// A transform as declared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TransformSpec {
    /// No transform.
    Identity,
    /// Positive, through the exponential.
    Log,
    /// Positive, through softplus.
    Softplus,
    /// Between 0 and 1.
    Logit,
    /// Above a limit.
    Lower(Expr),
    /// Below a limit.
    Upper(Expr),
    /// Between two limits.
    Interval(Expr, Expr),
    /// An angle between -pi and pi.
    Circle,
    /// Increasing.
    Ordered,
    /// Increasing and positive.
    PositiveOrdered,
    /// Positive with sum one, by stick breaking.
    Simplex,
    /// Stick breaking without Stan's offset.
    SimplexPlain,
    /// Positive with sum one, by softmax of a vector with sum zero.
    SimplexSoftmax,
    /// Cholesky factor of a correlation matrix.
    CorrelationCholesky,
    /// Cholesky factor of a covariance matrix.
    CovarianceCholesky,
    /// Correlation matrix.
    CorrelationMatrix,
    /// Covariance matrix.
    CovarianceMatrix,
    /// Each column positive with sum one.
    ColumnSimplex,
    /// Sums of rows and columns zero.
    SumToZeroMatrix,
    /// Sum zero.
    SumToZero,
    /// Length one.
    UnitVector,
}

impl TransformSpec {
    /// The expressions of the limits.
    pub(crate) fn expressions(&self) -> Vec<&Expr> {
        match self {
            Self::Lower(a) | Self::Upper(a) => vec![a],
            Self::Interval(a, b) => vec![a, b],
            _ => Vec::new(),
        }
    }
}

/// Whether a variable is sampled as itself or as a standardised one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Centring {
    /// Non-centred when its family is location-scale and its scale depends on a free variable.
    #[default]
    Auto,
    /// As itself.
    Centred,
    /// As `location + scale * z`.
    NonCentred,
}

impl Centring {
    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Centred => "centred",
            Self::NonCentred => "non-centred",
        }
    }
}

/// How an observation's elementwise log densities become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduce {
    /// Their sum.
    #[default]
    Sum,
    /// Their mean over the elements that are not masked.
    Mean,
    /// The log of the sum of their exponentials over the elements that are not masked.
    LogSumExp,
}

impl Reduce {
    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::LogSumExp => "logsumexp",
        }
    }
}

/// What is known of censored elements.
#[derive(Clone, Debug)]
pub(crate) enum CensoringSpec {
    /// Every element: the true value lies above what was seen.
    Right,
    /// Every element: the true value lies below.
    Left,
    /// Every element: the true value lies between what was seen and this.
    Interval(Expr),
    /// By element: 0 seen exactly, 1 right, -1 left, 2 interval with the upper limit given.
    Codes { code: Expr, upper: Option<Expr> },
}

impl CensoringSpec {
    pub(crate) fn expressions(&self) -> Vec<&Expr> {
        match self {
            Self::Right | Self::Left => Vec::new(),
            Self::Interval(upper) => vec![upper],
            Self::Codes { code, upper } => std::iter::once(code).chain(upper).collect(),
        }
    }
}

/// One declared node.
#[derive(Clone, Debug)]
pub(crate) struct NodeSpec {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) kind: KindSpec,
}

#[derive(Clone, Debug)]
pub(crate) enum KindSpec {
    Rv(RvSpec),
    Obs(ObsSpec),
    Det(Expr),
    Data { dtype: DType, shape: Shape, value: Option<Tensor> },
    Potential(Expr),
}

#[derive(Clone, Debug)]
pub(crate) struct RvSpec {
    pub(crate) dist: DistSpec,
    pub(crate) shape: Option<Shape>,
    pub(crate) over: Vec<String>,
    pub(crate) transform: Option<TransformSpec>,
    pub(crate) centring: Centring,
    /// Of a model that was rewritten before.
    pub(crate) standardised: Option<StandardisedSpec>,
}

/// How a variable that was non-centred before is restored.
#[derive(Clone, Debug)]
pub(crate) struct StandardisedSpec {
    pub(crate) location: Option<Expr>,
    pub(crate) scale: Expr,
}

#[derive(Clone, Debug)]
pub(crate) struct ObsSpec {
    pub(crate) target: String,
    pub(crate) value: Expr,
    /// Positions (row-major) that were not observed.
    pub(crate) missing: Vec<usize>,
    pub(crate) likelihood: bool,
    pub(crate) weight: Option<Expr>,
    pub(crate) mask: Option<Expr>,
    pub(crate) reduce: Reduce,
    pub(crate) censoring: Option<CensoringSpec>,
    /// Of an observation that was lifted before; its value may depend on variables.
    pub(crate) log_jacobian: Option<Expr>,
    pub(crate) joint: bool,
}

impl NodeSpec {
    /// Names that must be resolved before this node.
    pub(crate) fn references(&self) -> Vec<String> {
        let mut names = std::collections::BTreeSet::new();
        let mut add = |expr: &Expr| names.extend(expr.references());
        match &self.kind {
            KindSpec::Rv(rv) => {
                rv.dist.expressions().into_iter().for_each(&mut add);
                rv.transform.iter().flat_map(TransformSpec::expressions).for_each(&mut add);
                if let Some(s) = &rv.standardised {
                    s.location.iter().chain([&s.scale]).for_each(add);
                }
            }
            KindSpec::Obs(obs) => {
                let parts = [obs.weight.as_ref(), obs.mask.as_ref(), obs.log_jacobian.as_ref()];
                parts.into_iter().flatten().chain([&obs.value]).for_each(&mut add);
                obs.censoring.iter().flat_map(CensoringSpec::expressions).for_each(add);
                names.insert(obs.target.clone());
            }
            KindSpec::Det(expr) | KindSpec::Potential(expr) => add(expr),
            KindSpec::Data { .. } => {}
        }
        names.into_iter().collect()
    }
}
