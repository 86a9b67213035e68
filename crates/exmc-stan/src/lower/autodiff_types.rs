//! Expressions -> whether Stan computes with them as with parameters.
//!
//! `~` and `_lupdf` leave out terms in which no argument is a parameter, and that is said by types:
//! data, literals, integers and what is computed from these are none; parameters, transformed
//! parameters and real variables of the model are, whatever their values are. A function's
//! arguments are what it is called with, its variables are parameters where one of these is.
//! **Reference**: Stan reference manual, "Distribution statements"; stanc3, `Lower_functions.ml`
//! (`local_scalar_t__`).

use std::sync::Arc;

use exmc_fault::{Fault, planted};
use exmc_graph::{Dependence, Graph, Role};
use exmc_model::KnownSupports;

use super::Lowering;
use super::variables::lane_value::LaneValue;
use crate::host::by_type::has_reals;
use crate::library::{self, Argument, Density, LibraryError};
use crate::typed::{Expr, ExprKind, FunctionId, Scope, Type, VariableId};

/// What the variables of a function that is being walked are.
#[derive(Clone, Debug)]
pub(super) struct Kinds {
    /// Arguments that are parameters.
    arguments: Arc<[VariableId]>,
    /// Whether all other variables are.
    locals: bool,
}

impl Lowering<'_> {
    /// The kinds in a function that is called with arguments of these.
    pub(super) fn kinds_inside(&self, function: FunctionId, arguments: &[bool]) -> Kinds {
        let all = &self.context.program.function(function).arguments;
        let parameters = all.iter().zip(arguments).filter(|(_, is_parameter)| **is_parameter);
        let arguments: Arc<[VariableId]> =
            parameters.map(|(argument, _)| argument.variable).collect();
        Kinds { locals: !arguments.is_empty(), arguments }
    }

    /// Whether each of some expressions is a parameter.
    pub(super) fn are_parameters<'e>(&self, all: impl IntoIterator<Item = &'e Expr>) -> Vec<bool> {
        all.into_iter().map(|expr| self.is_parameter(expr)).collect()
    }

    /// Whether an expression is a parameter.
    pub(super) fn is_parameter(&self, expr: &Expr) -> bool {
        let any = |all: &[Expr]| all.iter().any(|expr| self.is_parameter(expr));
        if !has_reals(&expr.ty) {
            return false;
        }
        match &expr.kind {
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Imaginary(_)
            | ExprKind::Function { .. }
            | ExprKind::LibraryFunction(_) => false,
            ExprKind::Target => true,
            ExprKind::Variable(id) => self.is_parameter_variable(*id),
            ExprKind::Field(tuple, slot) => match &tuple.kind {
                ExprKind::Tuple(slots) => slots.get(*slot).is_some_and(|e| self.is_parameter(e)),
                _ => self.is_parameter(tuple),
            },
            ExprKind::Unary(_, inner) | ExprKind::Transpose(inner) | ExprKind::Promote(inner) => {
                self.is_parameter(inner)
            }
            ExprKind::Index(base, _) => self.is_parameter(base),
            ExprKind::Binary(_, a, b) | ExprKind::Conditional(_, a, b) => {
                self.is_parameter(a) || self.is_parameter(b)
            }
            ExprKind::Array(all)
            | ExprKind::RowVector(all)
            | ExprKind::Tuple(all)
            | ExprKind::Call(_, all) => any(all),
        }
    }

    fn is_parameter_variable(&self, id: VariableId) -> bool {
        let kinds = self.env.frames.last().map(|frame| &frame.kinds);
        match self.context.program.variable(id).scope {
            Scope::Data | Scope::TransformedData => false,
            Scope::Argument => kinds.is_none_or(|kinds| kinds.arguments.contains(&id)),
            Scope::Local => kinds.is_none_or(|kinds| kinds.locals),
            // It is declared as what it walks through.
            Scope::Loop => self.learned.loop_kinds.get(&id).copied().unwrap_or(true),
            Scope::Parameters
            | Scope::TransformedParameters
            | Scope::Model
            | Scope::GeneratedQuantities => true,
        }
    }

    /// The library's density of values, some of which are parameters by their types.
    pub(super) fn density_by_type(
        &mut self,
        name: &str,
        values: &[(LaneValue, Type)],
        are_parameters: &[bool],
    ) -> Result<Density, LibraryError> {
        let arguments = self.arguments(values);
        let g = &self.sink.graph;
        let depends = |a: &Argument| g.dependence(a.node) == Dependence::Parameter;
        let as_they_are = |(a, is_parameter): (&Argument, &bool)| depends(a) == *is_parameter;
        let is_unnormalised = name != &*normalised(name) && !planted(Fault::DroppedByValue);
        if is_unnormalised && !arguments.iter().zip(are_parameters).all(as_they_are) {
            return self.with_stand_ins(name, &arguments, are_parameters);
        }
        library::density(&mut self.sink.graph, &mut self.sink.supports, name, &arguments)
    }

    /// The same where a known value counts as a parameter, or a number that depends on parameters
    /// as data: terms are left out of the density of other nodes in their place, which are of the
    /// right kind.
    fn with_stand_ins(
        &mut self,
        name: &str,
        arguments: &[Argument],
        are_parameters: &[bool],
    ) -> Result<Density, LibraryError> {
        let full = normalised(name);
        let mut density =
            library::density(&mut self.sink.graph, &mut self.sink.supports, &full, arguments)?;
        let mut apart = Graph::new();
        let mut stand_ins = Vec::with_capacity(arguments.len());
        for (k, (argument, is_parameter)) in arguments.iter().zip(are_parameters).enumerate() {
            let node = self.sink.graph.node(argument.node);
            let node = match (is_parameter, self.sink.graph.as_constant(argument.node)) {
                (false, Some(known)) => apart.constant(known.clone()),
                _ => {
                    let role = if *is_parameter { Role::Parameter } else { Role::Data };
                    let input = apart.input(&k.to_string(), role, node.shape.clone(), node.dtype);
                    input.map_err(|error| LibraryError::Mistake(error.message().to_owned()))?
                }
            };
            stand_ins.push(Argument { node, ..argument.clone() });
        }
        let kept = library::density(&mut apart, &mut KnownSupports::default(), name, &stand_ins)?;
        let real = |_: &mut Graph, _, name: &str| -> Result<_, exmc_graph::GraphError> {
            Ok(name.parse::<usize>().ok().map(|k| arguments[k].node))
        };
        let nodes = self.sink.graph.import(&apart, &[kept.value.node], real);
        let nodes = nodes.map_err(|error| LibraryError::Mistake(error.message().to_owned()))?;
        let shape = self.sink.graph.shape(density.value.node).clone();
        density.value.node = self.sink.graph.broadcast_to(nodes[0], &shape);
        Ok(density)
    }
}

/// The name of the density with all terms.
pub(super) fn normalised(name: &str) -> String {
    name.replace("_lupdf", "_lpdf").replace("_lupmf", "_lpmf")
}
