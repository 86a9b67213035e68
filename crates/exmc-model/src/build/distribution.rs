//! A declared distribution -> a `Dist` over nodes: families with named arguments, wrappers, custom
//! ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use exmc_graph::{DType, Graph, NodeId, Role, Shape};

use super::Builder;
use super::expression::lower_expr;
use crate::diagnostic::{Code, Diagnostic, closest};
use crate::dist::{Custom, Dist};
use crate::distribution::{FAMILIES, find_family};
use crate::expr::Expr;
use crate::spec::{DistKind, DistSpec};
use crate::support::Support;

impl Builder {
    pub(super) fn dist(
        &mut self,
        spec: &DistSpec,
        declared: Option<&Shape>,
    ) -> Result<Dist, Diagnostic> {
        Ok(match &spec.0 {
            DistKind::Family { name, args } => self.family(name, args)?,
            DistKind::Mixture { weights, components } => {
                if components.is_empty() {
                    return Err(Diagnostic::new(
                        Code::MissingParameter,
                        "a mixture needs at least one component",
                    ));
                }
                let weights = self.expr(weights)?;
                let components = components
                    .iter()
                    .map(|c| self.dist(c, declared))
                    .collect::<Result<Vec<_>, _>>()?;
                let first = &components[0];
                for other in &components {
                    if other.is_discrete() != first.is_discrete()
                        || other.event_rank() != first.event_rank()
                    {
                        let (a, b) = (first.name(), other.name());
                        let message = format!("a mixture cannot hold both {a} and {b}");
                        let help = "components are all discrete or all continuous, with outcomes of one rank";
                        return Err(Diagnostic::new(Code::BadArguments, message).help(help));
                    }
                    if other.has_atoms() != first.has_atoms() {
                        let message = "a mixture cannot hold censored and uncensored components";
                        let help = "censor the mixture, or every component at the same limits";
                        return Err(Diagnostic::new(Code::BadArguments, message).help(help));
                    }
                }
                Dist::Mixture { weights, components }
            }
            DistKind::Truncated { base, lower, upper } => {
                let (base, lower, upper) =
                    self.limited("truncated", base, lower, upper, declared)?;
                Dist::Truncated { base: Box::new(base), lower, upper }
            }
            DistKind::Censored { base, lower, upper } => {
                let (base, lower, upper) =
                    self.limited("censored", base, lower, upper, declared)?;
                Dist::Censored { base: Box::new(base), lower, upper }
            }
            DistKind::ZeroInflated { base, probability } => {
                let base = self.dist(base, declared)?;
                if !matches!(base.support(), Support::Count | Support::CountUpTo(_)) {
                    let message = format!(
                        "zero inflation needs a distribution of counts, found {}",
                        base.name()
                    );
                    return Err(Diagnostic::new(Code::BadArguments, message));
                }
                Dist::ZeroInflated { base: Box::new(base), probability: self.expr(probability)? }
            }
            DistKind::Custom { args, logp, quantile, support } => {
                self.custom(args, logp, quantile.as_ref(), *support, declared)?
            }
        })
    }

    fn family(&mut self, name: &str, given: &[(Option<String>, Expr)]) -> Result<Dist, Diagnostic> {
        let Some(family) = find_family(name) else {
            let error = Diagnostic::new(
                Code::UnknownDistribution,
                format!("there is no distribution `{name}`"),
            );
            let names = FAMILIES
                .iter()
                .flat_map(|f| std::iter::once(f.name()).chain(f.aliases().iter().copied()));
            return Err(match closest(name, names) {
                Some(name) => error.help(format!("did you mean `{name}`?")),
                None => error.help("`exmc distributions` lists those that there are"),
            });
        };
        let parameters = family.parameters();
        let signature = || {
            let names: Vec<_> = parameters.iter().map(|p| p.name).collect();
            format!("{} takes {}({})", family.name(), family.name(), names.join(", "))
        };
        let mut args: Vec<Option<NodeId>> = vec![None; parameters.len()];
        for (position, (name, expr)) in given.iter().enumerate() {
            let slot = match name {
                None => position,
                Some(name) => {
                    let known = |p: &&crate::distribution::Parameter| {
                        p.name == name || p.aliases.contains(&name.as_str())
                    };
                    let Some(slot) = parameters.iter().position(|p| known(&p)) else {
                        let message = format!("{} has no parameter `{name}`", family.name());
                        return Err(
                            Diagnostic::new(Code::UnknownParameter, message).help(signature())
                        );
                    };
                    slot
                }
            };
            let Some(entry) = args.get_mut(slot) else {
                let (wanted, found) = (parameters.len(), given.len());
                let message =
                    format!("{} takes {wanted} parameter(s), found {found}", family.name());
                return Err(Diagnostic::new(Code::BadArguments, message).help(signature()));
            };
            if entry.is_some() {
                let message = format!(
                    "parameter `{}` of {} is given twice",
                    parameters[slot].name,
                    family.name()
                );
                return Err(Diagnostic::new(Code::BadArguments, message).help(signature()));
            }
            let value = self.expr(expr)?;
            let rank = self.model.graph.shape(value).rank();
            if rank < parameters[slot].rank {
                let (name, wanted) = (parameters[slot].name, parameters[slot].rank);
                let what = if wanted == 1 { "a vector" } else { "a matrix" };
                let found = self.model.graph.shape(value);
                let message = format!(
                    "parameter `{name}` of {} is {what}, found shape {found}",
                    family.name()
                );
                return Err(Diagnostic::new(Code::ShapeMismatch, message));
            }
            *entry = Some(value);
        }
        let mut complete: Vec<NodeId> = Vec::with_capacity(args.len());
        for (parameter, value) in parameters.iter().zip(args) {
            let value = match (value, parameter.default, parameter.same_as) {
                (Some(value), _, _) => value,
                (None, Some(default), _) => self.model.graph.scalar(default),
                (None, None, Some(earlier)) => complete[earlier],
                (None, None, None) => {
                    let message =
                        format!("parameter `{}` of {} is missing", parameter.name, family.name());
                    return Err(Diagnostic::new(Code::MissingParameter, message).help(signature()));
                }
            };
            complete.push(value);
        }
        Ok(Dist::Family { family, args: complete })
    }

    fn limited(
        &mut self,
        wrapper: &str,
        base: &DistSpec,
        lower: &Option<Expr>,
        upper: &Option<Expr>,
        declared: Option<&Shape>,
    ) -> Result<(Dist, Option<NodeId>, Option<NodeId>), Diagnostic> {
        let base = self.dist(base, declared)?;
        if !base.has_distribution_function() {
            let message =
                format!("{} has no distribution function and cannot be {wrapper}", base.name());
            return Err(Diagnostic::new(Code::BadArguments, message));
        }
        if lower.is_none() && upper.is_none() {
            let message = format!("{wrapper} needs a lower or an upper limit");
            return Err(Diagnostic::new(Code::MissingParameter, message));
        }
        let lower = lower.as_ref().map(|e| self.expr(e)).transpose()?;
        let upper = upper.as_ref().map(|e| self.expr(e)).transpose()?;
        Ok((base, lower, upper))
    }

    fn custom(
        &mut self,
        args: &[(String, Expr)],
        logp: &Expr,
        quantile: Option<&Expr>,
        support: Support,
        declared: Option<&Shape>,
    ) -> Result<Dist, Diagnostic> {
        if !support.is_elementwise() {
            let message = "a custom distribution's support is one of single numbers";
            return Err(Diagnostic::new(Code::BadArguments, message));
        }
        let names: Vec<String> = args.iter().map(|(n, _)| n.clone()).collect();
        for (k, name) in names.iter().enumerate() {
            let message = match name.as_str() {
                "value" | "u" => {
                    format!("a custom distribution's parameter cannot be called `{name}`")
                }
                _ if names[..k].contains(name) => {
                    format!("parameter `{name}` of a custom distribution is given twice")
                }
                _ => continue,
            };
            let help =
                "parameters have names of their own; `value` is the outcome, `u` a probability";
            return Err(Diagnostic::new(Code::DuplicateName, message).help(help));
        }
        let args = args.iter().map(|(_, e)| self.expr(e)).collect::<Result<Vec<_>, _>>()?;
        let shapes: Vec<&Shape> = args.iter().map(|&a| self.model.graph.shape(a)).collect();
        let outcome = crate::distribution::univariate_shape(&shapes, declared)
            .map_err(|message| Diagnostic::new(Code::ShapeMismatch, message))?;
        let body = |what: &str, outcome_name: &str, expr: &Expr| {
            let mut graph = Graph::new();
            let mut inputs = BTreeMap::new();
            let declared = names.iter().map(String::as_str).zip(shapes.iter().copied());
            for (name, shape) in declared.chain([(outcome_name, &outcome)]) {
                let made = graph.input(name, Role::Parameter, shape.clone(), DType::Real);
                let input = made.map_err(|e| Diagnostic::new(Code::DuplicateName, e.message()))?;
                inputs.insert(name.to_owned(), input);
            }
            if let Some(unknown) = expr.references().iter().find(|r| !inputs.contains_key(*r)) {
                let message = format!("the {what} of a custom distribution refers to `{unknown}`");
                let help = format!(
                    "it knows `{outcome_name}` and its own parameters only: pass others as parameters"
                );
                return Err(Diagnostic::new(Code::UnknownReference, message).help(help));
            }
            let root = lower_expr(&mut graph, expr, &|_, name| inputs.get(name).copied())?;
            if !graph.shape(root).broadcasts_to(&outcome) {
                let found = graph.shape(root);
                let message = format!(
                    "the {what} of a custom distribution has shape {found}, outcomes {outcome}"
                );
                return Err(Diagnostic::new(Code::ShapeMismatch, message));
            }
            let root = graph.broadcast_to(root, &outcome);
            Ok(Arc::new((graph, root)))
        };
        let logp = body("log density", "value", logp)?;
        let quantile = quantile.map(|q| body("quantile function", "u", q)).transpose()?;
        Ok(Dist::Custom(Custom { names, args, support, logp, quantile }))
    }
}
