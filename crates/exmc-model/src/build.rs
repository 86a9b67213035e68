//! Declared nodes -> a checked [`Model`]: names resolved, shapes inferred, constants checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use exmc_graph::{DType, Dependence, Graph, NodeId, Role, Shape, Tensor, evaluate};

use crate::diagnostic::{Code, Diagnostic, ModelError, closest};
use crate::dist::{Custom, Dist};
use crate::distribution::{FAMILIES, find_family};
use crate::expr::{Expr, ExprKind};
use crate::function;
use crate::model::{Censoring, Data, Kind, Model, Node, Obs, Rv, Standardised, topological_order};
use crate::spec::{
    CensoringSpec, DistKind, DistSpec, KindSpec, NodeSpec, ObsSpec, RvSpec, StandardisedSpec,
    TransformSpec,
};
use crate::support::{Support, all};
use crate::transform::Transform;

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

fn resolve_names(specs: &[NodeSpec]) -> Result<BTreeMap<&str, &NodeSpec>, ModelError> {
    let mut by_name: BTreeMap<&str, &NodeSpec> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for spec in specs {
        let name = spec.name.as_str();
        let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let continues_well = name.chars().all(|c| c.is_alphanumeric() || "_.[],".contains(c));
        if !(starts_well && continues_well) {
            let help =
                "a name starts with a letter or underscore and holds letters, digits and _ . [ ] ,";
            let message = format!("`{name}` cannot be a name");
            mistakes.push(
                Diagnostic::new(Code::InvalidName, message).help(help).at(name, &spec.origin),
            );
        }
        if let Some(first) = by_name.insert(name, spec) {
            let message = format!("`{name}` is declared twice, first at {}", first.origin);
            let help = "give every node, observations included, a name of its own";
            mistakes.push(
                Diagnostic::new(Code::DuplicateName, message).help(help).at(name, &spec.origin),
            );
        }
    }
    ModelError::check(mistakes)?;
    Ok(by_name)
}

fn check_plates(plates: &[(String, usize)]) -> Result<(), ModelError> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for (name, size) in plates {
        let first = *sizes.entry(name).or_insert(*size);
        if first != *size {
            let message = format!("plate `{name}` is declared with two sizes, {first} and {size}");
            let help = "give dimensions of different sizes different names";
            mistakes.push(Diagnostic::new(Code::DuplicateName, message).help(help));
        }
    }
    ModelError::check(mistakes)
}

/// Refuses arrays that no memory holds, before anything is allocated for them.
fn check_size(what: &str, shape: &Shape) -> Result<(), Diagnostic> {
    if function::fits_in_memory(shape) {
        return Ok(());
    }
    let message = format!("{what} has shape {shape}: more than 10^9 elements");
    Err(Diagnostic::new(Code::ShapeMismatch, message))
}

fn resolve_order<'a>(
    specs: &'a [NodeSpec],
    by_name: &BTreeMap<&'a str, &'a NodeSpec>,
) -> Result<Vec<&'a str>, ModelError> {
    let mut mistakes = Vec::new();
    let mut dependencies: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for spec in specs {
        let needs = dependencies.entry(&spec.name).or_default();
        for reference in spec.references() {
            match by_name.get_key_value(reference.as_str()) {
                Some((name, other)) => {
                    if matches!(other.kind, KindSpec::Obs(_) | KindSpec::Potential(_)) {
                        let message = format!("`{name}` has no value that could be referred to");
                        let help =
                            "refer to the observed variable, not to the observation or potential";
                        let mistake = Diagnostic::new(Code::UnknownReference, message).help(help);
                        mistakes.push(mistake.at(&spec.name, &spec.origin));
                    }
                    needs.insert(name);
                }
                None => {
                    let message = format!("nothing is called `{reference}`");
                    let mistake = Diagnostic::new(Code::UnknownReference, message);
                    let mistake = match closest(&reference, by_name.keys().copied()) {
                        Some(name) => mistake.help(format!("did you mean `{name}`?")),
                        None => {
                            mistake.help("declare it as a variable, a deterministic value or data")
                        }
                    };
                    mistakes.push(mistake.at(&spec.name, &spec.origin));
                }
            }
        }
    }
    ModelError::check(mistakes)?;
    topological_order(&dependencies).map_err(|members| {
        let members = cycle_among(&dependencies, &members);
        let first = by_name[members[0]];
        let path = members
            .iter()
            .chain(&members[..1])
            .map(|m| format!("`{m}`"))
            .collect::<Vec<_>>()
            .join(" -> ");
        let message = format!("values need each other: {path}");
        let help = "a model is a directed graph without cycles; break the circle at one of these";
        Diagnostic::new(Code::Cycle, message).help(help).at(members[0], &first.origin).into()
    })
}

/// One cycle among names that all wait for one another, starting at its bytewise smallest member.
fn cycle_among<'a>(
    dependencies: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    members: &[&'a str],
) -> Vec<&'a str> {
    let stuck = |name: &str| members.contains(&name);
    let mut path = vec![members[0]];
    loop {
        let last = path[path.len() - 1];
        let next = dependencies[last]
            .iter()
            .copied()
            .find(|n| stuck(n))
            .expect("a stuck name waits for a stuck one");
        if let Some(start) = path.iter().position(|p| *p == next) {
            let mut cycle = path.split_off(start);
            let smallest = (0..cycle.len()).min_by_key(|&k| cycle[k]).unwrap_or(0);
            cycle.rotate_left(smallest);
            return cycle;
        }
        path.push(next);
    }
}

/// Values that need each other through an observed value: a lifted one may depend on variables.
pub(crate) fn check_value_order(model: &Model) -> Result<(), ModelError> {
    let Err(members) = model.value_order() else { return Ok(()) };
    let first = members[0];
    let message = format!("the observed value of `{first}` depends on itself");
    Err(Diagnostic::new(Code::Cycle, message).at(first, &model.nodes[first].origin).into())
}

struct Builder {
    model: Model,
    /// The graph input that stands for each name that can be referred to.
    values: BTreeMap<String, NodeId>,
}

impl Builder {
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
                // What is computed from data is data: it can be an index, be observed, or be a weight.
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

    fn expr(&mut self, expr: &Expr) -> Result<NodeId, Diagnostic> {
        let values = &self.values;
        lower_expr(&mut self.model.graph, expr, &|_, name| values.get(name).copied())
    }

    fn rv(&mut self, spec: &RvSpec) -> Result<Rv, Diagnostic> {
        let declared = self.declared_shape(spec)?;
        if let Some(shape) = &declared {
            check_size("the variable", shape)?;
        }
        let mut dist = self.dist(&spec.dist, declared.as_ref())?;
        let shape = dist
            .outcome_shape(&self.model.graph, declared.as_ref())
            .map_err(|message| Diagnostic::new(Code::ShapeMismatch, message))?;
        if declared.is_none() && !matches!(dist, Dist::Family { .. }) {
            // Expressions of custom components are written for outcomes of the whole's shape.
            dist = self.dist(&spec.dist, Some(&shape))?;
        }
        check_size("the variable", &shape)?;
        self.check_constants(&dist)?;
        let transform = match &spec.transform {
            None => None,
            Some(transform) => {
                let transform = self.transform(transform)?;
                if dist.is_discrete() {
                    let message = format!("{} is discrete and takes no transform", dist.name());
                    return Err(Diagnostic::new(Code::BadTransform, message));
                }
                for limit in transform.arguments() {
                    if !self.model.graph.shape(limit).broadcasts_to(&shape) {
                        let found = self.model.graph.shape(limit);
                        let message = format!(
                            "a limit of shape {found} does not broadcast to the variable's {shape}"
                        );
                        return Err(Diagnostic::new(Code::ShapeMismatch, message));
                    }
                }
                let unconstrained = transform
                    .unconstrained_shape(&shape)
                    .map_err(|message| Diagnostic::new(Code::BadTransform, message))?;
                self.check_transform(&dist, &shape, &transform, &unconstrained)?;
                Some(transform)
            }
        };
        let standardised = match &spec.standardised {
            None => None,
            Some(spec) => Some(self.standardised(spec, &shape)?),
        };
        Ok(Rv {
            dist,
            shape,
            plates: spec.over.clone(),
            transform,
            centring: spec.centring,
            standardised,
        })
    }

    /// Refuses transforms that leave no value, or another number of coordinates than the density has.
    fn check_transform(
        &self,
        dist: &Dist,
        shape: &Shape,
        transform: &Transform,
        unconstrained: &Shape,
    ) -> Result<(), Diagnostic> {
        let mut scratch = self.model.graph.clone();
        let own = dist.default_transform(&mut scratch).unconstrained_shape(shape);
        if dist.event_rank() > 0
            && dist.support() != Support::Real
            && own.is_ok_and(|own| own.len() != unconstrained.len())
        {
            let message = format!(
                "the transform `{}` does not make values that are {}",
                transform.name(),
                dist.support().describe()
            );
            let help = "leave it out: the distribution brings its own";
            return Err(Diagnostic::new(Code::BadTransform, message).help(help));
        }
        check_limits(scratch, transform)
    }

    fn standardised(
        &mut self,
        spec: &StandardisedSpec,
        shape: &Shape,
    ) -> Result<Standardised, Diagnostic> {
        let location = spec.location.as_ref().map(|e| self.expr(e)).transpose()?;
        let scale = self.expr(&spec.scale)?;
        for node in location.into_iter().chain([scale]) {
            let found = self.model.graph.shape(node);
            if !found.broadcasts_to(shape) {
                let message = format!(
                    "a location or scale of shape {found} does not broadcast to the variable's {shape}"
                );
                return Err(Diagnostic::new(Code::ShapeMismatch, message));
            }
        }
        Ok(Standardised { location, scale })
    }

    fn declared_shape(&self, spec: &RvSpec) -> Result<Option<Shape>, Diagnostic> {
        if spec.over.is_empty() {
            return Ok(spec.shape.clone());
        }
        let mut extents = Vec::new();
        for plate in &spec.over {
            let Some(size) = self.model.plates.get(plate) else {
                let message = format!("there is no plate `{plate}`");
                return Err(Diagnostic::new(Code::UnknownReference, message)
                    .help("declare it with its size"));
            };
            extents.push(*size);
        }
        let named = Shape::from(extents);
        match &spec.shape {
            Some(shape) if *shape != named => {
                let message =
                    format!("its declared shape is {shape}, but its plates have shape {named}");
                Err(Diagnostic::new(Code::ShapeMismatch, message))
            }
            _ => Ok(Some(named)),
        }
    }

    fn transform(&mut self, spec: &TransformSpec) -> Result<Transform, Diagnostic> {
        Ok(match spec {
            TransformSpec::Identity => Transform::Identity,
            TransformSpec::Log => Transform::Log,
            TransformSpec::Softplus => Transform::Softplus,
            TransformSpec::Logit => Transform::Logit,
            TransformSpec::Lower(a) => Transform::Lower(self.expr(a)?),
            TransformSpec::Upper(b) => Transform::Upper(self.expr(b)?),
            TransformSpec::Interval(a, b) => Transform::Interval(self.expr(a)?, self.expr(b)?),
            TransformSpec::Circle => Transform::Circle,
            TransformSpec::Ordered => Transform::Ordered,
            TransformSpec::PositiveOrdered => Transform::PositiveOrdered,
            TransformSpec::Simplex => Transform::Simplex,
            TransformSpec::SimplexPlain => Transform::SimplexPlain,
            TransformSpec::CorrelationCholesky => Transform::CorrelationCholesky,
            TransformSpec::CovarianceCholesky => Transform::CovarianceCholesky,
            TransformSpec::SumToZero => Transform::SumToZero,
            TransformSpec::UnitVector => Transform::UnitVector,
        })
    }

    fn dist(&mut self, spec: &DistSpec, declared: Option<&Shape>) -> Result<Dist, Diagnostic> {
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

    fn obs(&mut self, spec: &ObsSpec) -> Result<Obs, Diagnostic> {
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

/// Refuses an interval whose limits are constants that do not increase. It may scribble in the graph.
pub(crate) fn check_limits(mut scratch: Graph, transform: &Transform) -> Result<(), Diagnostic> {
    let Transform::Interval(a, b) = *transform else { return Ok(()) };
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

/// What only the whole model shows: variables observed twice, free discrete variables, values outside
/// the support.
fn check_observations(model: &Model) -> Result<(), ModelError> {
    let mut mistakes = Vec::new();
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
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
            && let Err(mistake) = check_observation(model, target, rv, obs)
        {
            mistakes.push(mistake.at(name, &node.origin));
        }
    }
    for name in model.free_variables() {
        let node = &model.nodes[name];
        let Kind::Rv(rv) = &node.kind else { continue };
        let measured = seen.keys().any(|target| {
            model.nodes.get(*target).is_some_and(|n| match &n.kind {
                Kind::Det(value) => model.references(&[*value]).contains(name),
                _ => false,
            })
        });
        if rv.dist.has_atoms() && !measured {
            let message = "a censored variable that is not observed cannot be sampled: its limits have probabilities";
            let help = "sample the variable itself, and censor what is observed of it";
            let mistake = Diagnostic::new(Code::BadArguments, message).help(help);
            mistakes.push(mistake.at(name, &node.origin));
        }
        // A discrete variable that is partly observed was reported with its observation.
        if rv.dist.is_discrete() && !measured && model.observation_of(name).is_none() {
            let message =
                format!("{} is discrete, and NUTS moves continuous variables only", rv.dist.name());
            let help = "observe it, or sum it out (a mixture does this for categories)";
            let mistake = Diagnostic::new(Code::DiscreteVariable, message).help(help);
            mistakes.push(mistake.at(name, &node.origin));
        }
    }
    ModelError::check(mistakes)
}

fn check_observation(model: &Model, target: &str, rv: &Rv, obs: &Obs) -> Result<(), Diagnostic> {
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
    let mut scratch = model.graph.clone();
    if let Some(censoring) = obs.censoring {
        let predicate = codes_hold(&mut scratch, &rv.dist, obs, censoring);
        if scratch.dependence(predicate) == Dependence::Constant && !holds(&scratch, predicate) {
            return Err(bad(CODES_MUST.to_owned()));
        }
    }
    let predicate = observed_inside(&mut scratch, &rv.dist, obs, obs.value);
    if scratch.dependence(predicate) == Dependence::Constant && !holds(&scratch, predicate) {
        let what = rv.dist.support().describe();
        let message = format!(
            "the value lies outside of the support of {}: it must be {what}",
            rv.dist.name()
        );
        return Err(Diagnostic::new(Code::OutsideSupport, message));
    }
    let mut scratch = model.graph.clone();
    for (predicate, message) in parts_hold(&mut scratch, obs) {
        if scratch.dependence(predicate) == Dependence::Constant && !holds(&scratch, predicate) {
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

/// Scalar predicate: every element that counts has a censoring code, and an interval its upper limit.
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

/// Scalar predicate: every element that counts lies in the support of `dist`, or is censored at a number.
pub(crate) fn observed_inside(g: &mut Graph, dist: &Dist, obs: &Obs, value: NodeId) -> NodeId {
    if let (Some(mask), true) = (obs.mask, dist.event_rank() > 0) {
        let value = dist.settle(g, value, mask);
        let inside = dist.holds(g, value);
        return all(g, inside);
    }
    let mut inside = dist.holds(g, value);
    if let Some(censoring) = obs.censoring {
        // An interval of lifetimes may start at 0, or a limit lie below everything that is possible.
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

/// An expression as graph nodes; `value_of` gives the node that stands for a name.
pub(crate) fn lower_expr(
    g: &mut Graph,
    expr: &Expr,
    value_of: &dyn Fn(&mut Graph, &str) -> Option<NodeId>,
) -> Result<NodeId, Diagnostic> {
    /// Deeper expressions are refused rather than risk the stack.
    const MAX_DEPTH: usize = 400;
    fn go(
        g: &mut Graph,
        expr: &Expr,
        value_of: &dyn Fn(&mut Graph, &str) -> Option<NodeId>,
        done: &mut BTreeMap<*const ExprKind, NodeId>,
        depth: usize,
    ) -> Result<NodeId, Diagnostic> {
        if depth > MAX_DEPTH {
            let message = format!("an expression is nested more than {MAX_DEPTH} deep");
            let help = "name parts of it with deterministic nodes, or write it over vectors";
            return Err(Diagnostic::new(Code::BadArguments, message).help(help));
        }
        let key = Arc::as_ptr(&expr.0);
        if let Some(&id) = done.get(&key) {
            return Ok(id);
        }
        let id = match &*expr.0 {
            ExprKind::Constant(tensor) => g.constant(tensor.clone()),
            ExprKind::Reference(name) => value_of(g, name).ok_or_else(|| {
                Diagnostic::new(Code::UnknownReference, format!("nothing is called `{name}`"))
            })?,
            ExprKind::Call { function, args, attributes } => {
                let args = args
                    .iter()
                    .map(|a| go(g, a, value_of, done, depth + 1))
                    .collect::<Result<Vec<_>, _>>()?;
                function::call(g, function, &args, attributes)?
            }
        };
        done.insert(key, id);
        Ok(id)
    }
    go(g, expr, value_of, &mut BTreeMap::new(), 0)
}
