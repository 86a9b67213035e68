//! A declared observation -> its parts as nodes, and the predicates that they must satisfy.

use std::collections::BTreeMap;

use exmc_graph::{Dependence, Graph, NodeId, Shape, Tensor};

use super::{Builder, holds};
use crate::diagnostic::{Code, Diagnostic, ModelError};
use crate::dist::Dist;
use crate::expr::Expr;
use crate::model::{Censoring, Kind, Model, Node, Obs, Rv};
use crate::spec::{CensoringSpec, ObsSpec};
use crate::support::all;
use crate::transform::Transform;

impl Builder {
    pub(crate) fn obs(&mut self, spec: &ObsSpec) -> Result<Obs, Diagnostic> {
        let bad = |message: String| Diagnostic::new(Code::BadObservation, message);
        let Some(shape) = self.model.shape_of(&spec.target).cloned() else {
            return Err(bad(format!("`{}` cannot be observed", spec.target)));
        };
        let value = self.expr(&spec.value)?;
        let found = self.model.graph.shape(value);
        if !found.broadcasts_to(&shape) {
            let message =
                format!("the value has shape {found}, but `{}` has shape {shape}", spec.target);
            return Err(Diagnostic::new(Code::ShapeMismatch, message));
        }
        if !spec.missing.is_empty() && *found != shape {
            let message = format!(
                "a partly observed value is given for every element: it has shape {found}, but `{}` has shape {shape}",
                spec.target
            );
            return Err(Diagnostic::new(Code::ShapeMismatch, message));
        }
        let value = self.model.graph.broadcast_to(value, &shape);
        let lifted = spec.log_jacobian.is_some();
        if self.model.graph.dependence(value) == Dependence::Parameter && !lifted {
            let help = "observe data; to tie two variables together use a potential";
            return Err(bad("the value depends on a variable of the model".to_owned()).help(help));
        }
        // Weights and masks are by outcome.
        let batch = match self.model.nodes.get(self.model.resolve_alias(&spec.target)) {
            Some(Node { kind: Kind::Rv(rv), .. }) => {
                Shape::from(&shape.extents()[..shape.rank() - rv.dist.event_rank()])
            }
            _ => shape.clone(),
        };
        let mut part = |expr: &Option<Expr>,
                        what: &str,
                        wanted: &Shape|
         -> Result<Option<NodeId>, Diagnostic> {
            let Some(expr) = expr else { return Ok(None) };
            let node = self.expr(expr)?;
            let found = self.model.graph.shape(node);
            if !found.broadcasts_to(wanted) {
                let message = if *wanted == shape {
                    format!("the {what} has shape {found}, but `{}` has shape {shape}", spec.target)
                } else {
                    format!(
                        "the {what} has shape {found}, but `{}` holds outcomes of shape {wanted}",
                        spec.target
                    )
                };
                return Err(Diagnostic::new(Code::ShapeMismatch, message));
            }
            if self.model.graph.dependence(node) == Dependence::Parameter {
                return Err(bad(format!("the {what} depends on a variable of the model")));
            }
            Ok(Some(node))
        };
        let weight = part(&spec.weight, "weight", &batch)?;
        let mask = part(&spec.mask, "mask", &batch)?;
        let censoring = match &spec.censoring {
            None => None,
            Some(CensoringSpec::Codes { code, upper }) => {
                let code =
                    part(&Some(code.clone()), "censoring code", &shape)?.expect("a code was given");
                let upper = part(upper, "upper limit", &shape)?;
                Some(Censoring { code, upper })
            }
            Some(CensoringSpec::Interval(limit)) => {
                let upper = part(&Some(limit.clone()), "upper limit", &shape)?;
                Some(Censoring { code: self.model.graph.scalar(2.0), upper })
            }
            Some(CensoringSpec::Right) => {
                Some(Censoring { code: self.model.graph.scalar(1.0), upper: None })
            }
            Some(CensoringSpec::Left) => {
                Some(Censoring { code: self.model.graph.scalar(-1.0), upper: None })
            }
        };
        let log_jacobian = spec.log_jacobian.as_ref().map(|e| self.expr(e)).transpose()?;
        if let Some(log_jacobian) = log_jacobian {
            let found = self.model.graph.shape(log_jacobian);
            let wanted = if spec.joint { Shape::scalar() } else { shape.clone() };
            if !found.broadcasts_to(&wanted) {
                let message = format!("the log Jacobian has shape {found}, expected {wanted}");
                return Err(Diagnostic::new(Code::ShapeMismatch, message));
            }
        }
        Ok(Obs {
            target: spec.target.clone(),
            value,
            missing: spec.missing.clone(),
            likelihood: spec.likelihood,
            weight,
            mask,
            reduce: spec.reduce,
            censoring,
            log_jacobian,
            joint: spec.joint,
        })
    }
}

/// What only the whole model shows: variables observed twice, free discrete variables, values
/// outside the support.
pub(crate) fn check_observations(model: &Model) -> Result<(), ModelError> {
    let mut mistakes = Vec::new();
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    // One for all, as a model may have hundreds of observations.
    let mut scratch = model.graph.clone();
    for (name, node) in &model.nodes {
        let Kind::Obs(obs) = &node.kind else { continue };
        let target = model.resolve_alias(&obs.target);
        if let Some(other) = seen.insert(target, name) {
            let message = format!("`{target}` is observed by `{other}` already");
            let help = "one variable, one observation; give each observed set its own variable";
            let mistake = Diagnostic::new(Code::BadObservation, message).help(help);
            mistakes.push(mistake.at(name, &node.origin));
        }
        if let Some(Kind::Data(_)) = model.nodes.get(target).map(|n| &n.kind) {
            let message = format!("`{target}` is data and cannot be observed");
            mistakes.push(Diagnostic::new(Code::BadObservation, message).at(name, &node.origin));
        }
        if let Some(Kind::Rv(rv)) = model.nodes.get(target).map(|n| &n.kind)
            && let Err(mistake) = check_observation(&mut scratch, (target, rv), obs)
        {
            mistakes.push(mistake.at(name, &node.origin));
        }
    }
    for name in model.free_variables() {
        let node = &model.nodes[name];
        let Kind::Rv(rv) = &node.kind else { continue };
        let measured = || {
            seen.keys().any(|target| {
                model.nodes.get(*target).is_some_and(|n| match &n.kind {
                    Kind::Det(value) => model.references(&[*value]).contains(name),
                    _ => false,
                })
            })
        };
        if rv.dist.has_atoms() && !measured() {
            let message = "a censored variable that is not observed cannot be sampled: its limits have probabilities";
            let help = "sample the variable itself, and censor what is observed of it";
            let mistake = Diagnostic::new(Code::BadArguments, message).help(help);
            mistakes.push(mistake.at(name, &node.origin));
        }
        // A discrete variable that is partly observed was reported with its observation.
        if rv.dist.is_discrete() && !measured() && model.observation_of(name).is_none() {
            let message =
                format!("{} is discrete, and NUTS moves continuous variables only", rv.dist.name());
            let help = "observe it, or sum it out (a mixture does this for categories)";
            let mistake = Diagnostic::new(Code::DiscreteVariable, message).help(help);
            mistakes.push(mistake.at(name, &node.origin));
        }
    }
    ModelError::check(mistakes)
}

/// Predicates are made in `scratch`, which begins as the model's graph.
fn check_observation(
    scratch: &mut Graph,
    (target, rv): (&str, &Rv),
    obs: &Obs,
) -> Result<(), Diagnostic> {
    let bad = |message: String| Diagnostic::new(Code::BadObservation, message);
    if !obs.missing.is_empty() {
        if rv.dist.event_rank() > 0 {
            return Err(bad(format!(
                "{} cannot be partly observed: its elements are one outcome",
                rv.dist.name()
            )));
        }
        if rv.dist.is_discrete() {
            return Err(bad(format!(
                "the missing elements of `{target}` are discrete and cannot be imputed"
            ))
            .help("leave them out with a mask"));
        }
        if !obs.likelihood || obs.reduce != crate::spec::Reduce::Sum {
            let message = format!(
                "`{target}` is partly observed, so its density is summed and always counts"
            );
            return Err(bad(message).help("leave out `likelihood` and `reduce`"));
        }
        let by_element = matches!(
            rv.transform,
            None | Some(
                Transform::Identity
                    | Transform::Log
                    | Transform::Softplus
                    | Transform::Logit
                    | Transform::Lower(_)
                    | Transform::Upper(_)
                    | Transform::Interval(..)
                    | Transform::Circle
            )
        );
        if !by_element {
            let message = format!(
                "`{target}` is partly observed, so its transform must be one of single elements"
            );
            return Err(Diagnostic::new(Code::BadTransform, message));
        }
        if rv.shape.len() <= obs.missing.iter().max().copied().unwrap_or(0) {
            return Err(bad("a missing position lies outside of the value".to_owned()));
        }
    }
    if obs.censoring.is_some() && !rv.dist.has_distribution_function() {
        return Err(bad(format!(
            "{} has no distribution function and cannot be censored",
            rv.dist.name()
        )));
    }
    if let Some(censoring) = obs.censoring {
        let predicate = codes_hold(scratch, &rv.dist, obs, censoring);
        if scratch.dependence(predicate) == Dependence::Constant && !holds(scratch, predicate) {
            return Err(bad(CODES_MUST.to_owned()));
        }
    }
    let predicate = observed_inside(scratch, &rv.dist, obs, obs.value);
    if scratch.dependence(predicate) == Dependence::Constant && !holds(scratch, predicate) {
        let what = rv.dist.support().describe();
        let message = format!(
            "the value lies outside of the support of {}: it must be {what}",
            rv.dist.name()
        );
        return Err(Diagnostic::new(Code::OutsideSupport, message));
    }
    for (predicate, message) in parts_hold(scratch, obs) {
        if scratch.dependence(predicate) == Dependence::Constant && !holds(scratch, predicate) {
            return Err(bad(message.to_owned()));
        }
    }
    Ok(())
}

/// What must hold of weights and masks.
pub(crate) fn parts_hold(g: &mut Graph, obs: &Obs) -> Vec<(NodeId, &'static str)> {
    let mut all_parts = Vec::new();
    if let Some(weight) = obs.weight {
        let zero = g.scalar(0.0);
        let valid = g.le(zero, weight);
        all_parts.push((all(g, valid), "weights must be zero or positive"));
    }
    if let Some(mask) = obs.mask {
        let valid = g.eq(mask, mask);
        all_parts.push((all(g, valid), "masks must be 0 or 1, found NaN"));
    }
    all_parts
}

/// What is said when [`codes_hold`] does not.
pub(crate) const CODES_MUST: &str =
    "censoring codes must be -1, 0, 1 or 2, and an interval's upper limit must lie above its value";

/// Scalar predicate: every element that counts has a censoring code, and an interval its upper
/// limit.
pub(crate) fn codes_hold(g: &mut Graph, dist: &Dist, obs: &Obs, censoring: Censoring) -> NodeId {
    let mut valid = g.scalar(0.0);
    for code in [-1.0, 0.0, 1.0] {
        let code = g.scalar(code);
        let equal = g.eq(censoring.code, code);
        valid = g.or(valid, equal);
    }
    if let Some(upper) = censoring.upper {
        let interval = g.scalar(2.0);
        let is_interval = g.eq(censoring.code, interval);
        let before = dist.just_below(g, obs.value);
        let increases = g.lt(before, upper);
        let valid_interval = g.and(is_interval, increases);
        valid = g.or(valid, valid_interval);
    }
    all_that_count(g, obs, valid)
}

/// Scalar predicate: every element that counts lies in the support of `dist`, or is censored at a
/// number.
pub(crate) fn observed_inside(g: &mut Graph, dist: &Dist, obs: &Obs, value: NodeId) -> NodeId {
    if let (Some(mask), true) = (obs.mask, dist.event_rank() > 0) {
        let value = dist.settle(g, value, mask);
        let inside = dist.holds(g, value);
        return all(g, inside);
    }
    let mut inside = dist.holds(g, value);
    if let Some(censoring) = obs.censoring {
        // An interval of lifetimes may start at 0, or a limit lie below everything that is
        // possible.
        let (exact, number) = (g.not(censoring.code), g.eq(value, value));
        inside = g.select(exact, inside, number);
    }
    all_that_count(g, obs, inside)
}

/// Scalar predicate: it holds for every element that is neither masked nor missing.
fn all_that_count(g: &mut Graph, obs: &Obs, by_element: NodeId) -> NodeId {
    let mut result = by_element;
    if let Some(mask) = obs.mask {
        let left_out = g.not(mask);
        result = g.or(result, left_out);
    }
    if !obs.missing.is_empty() {
        let shape = g.shape(obs.value).clone();
        let mut missing = vec![0.0; shape.len()];
        obs.missing.iter().for_each(|&k| missing[k] = 1.0);
        let missing = g.constant(Tensor::real(shape, missing).expect("one flag an element"));
        result = g.or(result, missing);
    }
    all(g, result)
}
