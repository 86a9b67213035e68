//! Declared nodes -> a checked [`Model`]: names resolved, shapes inferred, constants checked.

mod distribution;
mod expression;
mod names;
mod observation;
mod scan;
mod variable;

use std::collections::{BTreeMap, BTreeSet};

use exmc_graph::{DType, Dependence, Graph, NodeId, Role, Shape, Tensor, evaluate};

use crate::diagnostic::{Code, Diagnostic, ModelError};
use crate::dist::Dist;
use crate::expr::Expr;
use crate::model::{Data, Kind, Model, Node};
use crate::spec::{KindSpec, NodeSpec};
use crate::support::{Support, all};
use crate::transform::Transform;
use expression::lower_expr;
use names::{check_plates, check_size, resolve_names, resolve_order};

pub(crate) use names::check_value_order;
pub(crate) use observation::{
    CODES_MUST, check_observations, codes_hold, observed_inside, parts_hold,
};

/// Checks declared nodes and makes the model.
pub(crate) fn build(specs: &[NodeSpec], plates: &[(String, usize)]) -> Result<Model, ModelError> {
    let by_name = resolve_names(specs)?;
    check_plates(plates)?;
    let order = resolve_order(specs, &by_name)?;
    let mut builder = Builder {
        model: Model {
            graph: Graph::new(),
            nodes: BTreeMap::new(),
            declared: specs.iter().map(|s| s.name.clone()).collect(),
            plates: plates.iter().cloned().collect(),
        },
        values: BTreeMap::new(),
    };
    let mut mistakes = Vec::new();
    let mut failed: BTreeSet<&str> = BTreeSet::new();
    for name in order {
        let spec = by_name[name];
        // What follows from an earlier mistake is not a mistake of its own.
        if spec.references().iter().any(|r| failed.contains(r.as_str())) {
            failed.insert(name);
            continue;
        }
        match builder.node(spec) {
            Ok(kind) => {
                builder
                    .model
                    .nodes
                    .insert(name.to_owned(), Node { origin: spec.origin.clone(), kind });
            }
            Err(mistake) => {
                mistakes.push(mistake.at(name, &spec.origin));
                failed.insert(name);
            }
        }
    }
    ModelError::check(mistakes)?;
    check_value_order(&builder.model)?;
    check_observations(&builder.model)?;
    Ok(builder.model)
}

pub(crate) struct Builder {
    pub(crate) model: Model,
    /// The graph input that stands for each name that can be referred to.
    values: BTreeMap<String, NodeId>,
}

impl Builder {
    /// To go on with a model that was built before.
    pub(crate) fn of(model: &Model) -> Self {
        let inputs = model
            .nodes
            .keys()
            .filter_map(|name| model.graph.find_input(name).map(|input| (name.clone(), input)));
        let values = inputs.collect();
        Self { model: model.clone(), values }
    }

    fn node(&mut self, spec: &NodeSpec) -> Result<Kind, Diagnostic> {
        match &spec.kind {
            KindSpec::Data { dtype, shape, value } => {
                check_size("the data", shape)?;
                let input = self.input(&spec.name, Role::Data, shape.clone(), *dtype)?;
                self.values.insert(spec.name.clone(), input);
                Ok(Kind::Data(Data { dtype: *dtype, shape: shape.clone(), value: value.clone() }))
            }
            KindSpec::Det(expr) => {
                let value = self.expr(expr)?;
                let node = self.model.graph.node(value);
                // What is computed from data is data: it can be an index, be observed, or be a
                // weight.
                let (dtype, role) = match node.dependence {
                    Dependence::Constant | Dependence::Data => (node.dtype, Role::Data),
                    Dependence::Parameter => (DType::Real, Role::Parameter),
                };
                let shape = node.shape.clone();
                let input = self.input(&spec.name, role, shape, dtype)?;
                self.values.insert(spec.name.clone(), input);
                Ok(Kind::Det(value))
            }
            KindSpec::Potential(expr) => Ok(Kind::Potential(self.expr(expr)?)),
            KindSpec::Rv(rv) => {
                let rv = self.rv(rv)?;
                let input =
                    self.input(&spec.name, Role::Parameter, rv.shape.clone(), DType::Real)?;
                self.values.insert(spec.name.clone(), input);
                Ok(Kind::Rv(rv))
            }
            KindSpec::Obs(obs) => Ok(Kind::Obs(self.obs(obs)?)),
        }
    }

    fn input(
        &mut self,
        name: &str,
        role: Role,
        shape: Shape,
        dtype: DType,
    ) -> Result<NodeId, Diagnostic> {
        let made = self.model.graph.input(name, role, shape, dtype);
        made.map_err(|e| Diagnostic::new(Code::DuplicateName, e.message()))
    }

    pub(crate) fn expr(&mut self, expr: &Expr) -> Result<NodeId, Diagnostic> {
        let values = &self.values;
        lower_expr(&mut self.model.graph, expr, &|_, name| values.get(name).copied())
    }

    /// Checks the requirements that constants alone decide.
    fn check_constants(&self, dist: &Dist) -> Result<(), Diagnostic> {
        let mut scratch = Graph::new();
        let dist = copied(dist, &self.model.graph, &mut scratch);
        for requirement in dist.requirements(&mut scratch) {
            if scratch.dependence(requirement.predicate) != Dependence::Constant {
                continue;
            }
            if !holds(&scratch, requirement.predicate) {
                let code = match requirement.support {
                    Some(Support::PositiveDefinite) => Code::SingularMatrix,
                    _ => Code::OutsideSupport,
                };
                let found = scratch.as_constant(requirement.subject).and_then(Tensor::as_scalar);
                let found = found.map(|v| format!(", found {v}")).unwrap_or_default();
                return Err(Diagnostic::new(code, format!("{}{found}", requirement.message)));
            }
        }
        Ok(())
    }
}

/// The same distribution over copies of its arguments in another graph.
fn copied(dist: &Dist, from: &Graph, to: &mut Graph) -> Dist {
    let substitute = |_: &mut Graph, _, _: &str| Ok::<_, exmc_graph::GraphError>(None);
    let copies = to.import(from, &dist.arguments(), substitute);
    let mut copies = copies.expect("a copy of a well-formed graph is well formed").into_iter();
    dist.map_arguments(&mut |_| copies.next().expect("one copy was made for each argument"))
}

/// Refuses an interval whose limits are constants that do not increase.
pub(crate) fn check_limits(graph: &Graph, transform: &Transform) -> Result<(), Diagnostic> {
    let Transform::Interval(a, b) = *transform else { return Ok(()) };
    let mut scratch = graph.clone();
    let increases = scratch.lt(a, b);
    let increases = all(&mut scratch, increases);
    if scratch.dependence(increases) == Dependence::Constant && !holds(&scratch, increases) {
        let message = "the limits of the transform `interval` must increase";
        return Err(Diagnostic::new(Code::BadTransform, message));
    }
    Ok(())
}

/// Whether a constant predicate is one.
pub(crate) fn holds(g: &Graph, predicate: NodeId) -> bool {
    evaluate(g, &[predicate], &|_| None).is_ok_and(|v| v[0].as_scalar() == Some(1.0))
}
