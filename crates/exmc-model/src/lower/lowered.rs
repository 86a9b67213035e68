//! What lowering makes of a model: a graph of its log density with everything around it.

use exmc_graph::{Graph, NodeId, Shape};

use crate::diagnostic::Diagnostic;

/// One free variable's place in the position.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutEntry {
    /// The variable.
    pub name: String,
    /// First coordinate.
    pub offset: usize,
    /// Shape of its unconstrained array; its length is the number of coordinates.
    pub unconstrained: Shape,
    /// Shape of its constrained value (of its missing part when it is partly observed).
    pub constrained: Shape,
    /// The graph's input that holds the unconstrained array.
    pub input: NodeId,
}

/// A value to record with each draw.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceEntry {
    /// The variable or deterministic node.
    pub name: String,
    /// Its constrained value.
    pub node: NodeId,
    /// Its shape.
    pub shape: Shape,
    /// Names of its dimensions, where they have names.
    pub plates: Vec<String>,
}

/// One term of the log density.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The random variable, observation or potential.
    pub name: String,
    /// A scalar, Jacobian included.
    pub node: NodeId,
}

/// The elementwise log likelihood of one observation, after weights: 0 for elements that do not
/// count, so that sums over elements are the likelihood. Means over elements, and what compares
/// models by element, leave those out by the mask.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointwise {
    /// The observed variable.
    pub name: String,
    /// One number an outcome.
    pub node: NodeId,
    /// Elements that count are not 0 here: all but masked and missing ones.
    pub mask: Option<NodeId>,
}

/// Something that data must satisfy, decided when they are bound.
#[derive(Clone, Debug, PartialEq)]
pub struct DataCheck {
    /// Scalar node that depends on data only and is 1 when all is well.
    pub predicate: NodeId,
    /// What to say otherwise.
    pub diagnostic: Diagnostic,
}

/// The way from constrained values to a position.
#[derive(Clone, Debug)]
pub struct Inverse {
    /// Inputs: every free variable's constrained value by name, and data.
    pub graph: Graph,
    /// The unconstrained array of each layout entry.
    pub outputs: Vec<NodeId>,
}

/// A model as a graph.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// All expressions.
    pub graph: Graph,
    /// The log density, a scalar.
    pub logp: NodeId,
    /// Its terms, in the order in which they are added.
    pub terms: Vec<Term>,
    /// Where each free variable lies in the position.
    pub layout: Vec<LayoutEntry>,
    /// Length of a position.
    pub dim: usize,
    /// Variables that are integrated out: recorded values read standard normal numbers for them,
    /// behind the position.
    pub noise: Vec<LayoutEntry>,
    /// What to record.
    pub trace: Vec<TraceEntry>,
    /// Elementwise log likelihoods.
    pub pointwise: Vec<Pointwise>,
    /// What to check when data are bound.
    pub checks: Vec<DataCheck>,
    /// From constrained values to a position.
    pub inverse: Inverse,
}

/// Settings of [`lower`](super::lower).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LowerOptions {
    /// Whether the density is over the unconstrained vector (with log Jacobians), as sampling
    /// needs, or over the constrained values.
    pub jacobian: bool,
}

impl Default for LowerOptions {
    fn default() -> Self {
        Self { jacobian: true }
    }
}
