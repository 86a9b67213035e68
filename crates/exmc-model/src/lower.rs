//! Model -> graph of its log density over the unconstrained vector, with everything around it: the
//! constrained values to record, pointwise terms, checks of data, and the way back for initial values.
//!
//! The position is laid out by bytewise order of the free variables' names, and terms are added in
//! bytewise order of nodes' names, so the order of declaration changes no bit of the density.

use std::collections::{BTreeMap, BTreeSet};

use exmc_fault::{Fault, planted};
use exmc_graph::{DType, Dependence, Graph, NodeId, Op, Reduction, Role, Shape, Tensor};

use crate::build::{CODES_MUST, check_value_order, codes_hold, holds, observed_inside, parts_hold};
use crate::diagnostic::{Code, Diagnostic, ModelError, Origin};
use crate::dist::{Dist, Requirement};
use crate::model::{Censoring, Kind, Model, Obs, Rv};
use crate::spec::Reduce;
use crate::support::{KnownSupports, Support};
use crate::transform::Transform;

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

/// The elementwise log likelihood of one observation, after weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointwise {
    /// The observed variable.
    pub name: String,
    /// One number an outcome.
    pub node: NodeId,
    /// Elements that count are not 0 here.
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
    /// What to record.
    pub trace: Vec<TraceEntry>,
    /// Elementwise log likelihoods.
    pub pointwise: Vec<Pointwise>,
    /// What to check when data are bound.
    pub checks: Vec<DataCheck>,
    /// From constrained values to a position.
    pub inverse: Inverse,
}

/// Settings of [`lower`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LowerOptions {
    /// Whether the density is over the unconstrained vector (with log Jacobians), as sampling needs, or
    /// over the constrained values.
    pub jacobian: bool,
}

impl Default for LowerOptions {
    fn default() -> Self {
        Self { jacobian: true }
    }
}

/// Lowers a rewritten model.
///
/// # Errors
/// When an observed deterministic value is no measurable image of a variable, or constants lie where
/// they must not.
pub fn lower(model: &Model, options: LowerOptions) -> Result<Lowered, ModelError> {
    check_value_order(model)?;
    let order = model.value_order().expect("it was checked in the line above");
    let mut lowering = Lowering {
        model,
        options,
        graph: Graph::new(),
        values: BTreeMap::new(),
        free: BTreeMap::new(),
        known: KnownSupports::default(),
        layout: Vec::new(),
        checks: Vec::new(),
        pointwise: Vec::new(),
        imported: vec![None; model.graph.len()],
        observations: model.observations(),
    };
    lowering.lay_out()?;
    for name in &order {
        lowering.value(name);
    }
    let terms = lowering.terms()?;
    let mut logp = lowering.graph.scalar(0.0);
    for term in &terms {
        logp = lowering.graph.add(logp, term.node);
    }
    let trace = lowering.trace();
    let inverse = lowering.inverse(&order);
    let dim = lowering.layout.iter().map(|e| e.unconstrained.len()).sum();
    let Lowering { graph, layout, checks, pointwise, .. } = lowering;
    Ok(Lowered { graph, logp, terms, layout, dim, trace, pointwise, checks, inverse })
}

/// What a free variable's value is made of.
#[derive(Clone, Copy)]
struct Free {
    /// The constrained value before location and scale (of the missing part, when partly observed).
    raw: NodeId,
    log_jacobian: Option<NodeId>,
}

struct Lowering<'m> {
    model: &'m Model,
    options: LowerOptions,
    graph: Graph,
    values: BTreeMap<&'m str, NodeId>,
    free: BTreeMap<&'m str, Free>,
    known: KnownSupports,
    layout: Vec<LayoutEntry>,
    checks: Vec<DataCheck>,
    pointwise: Vec<Pointwise>,
    /// The node here of each node of the model's graph that was needed so far.
    imported: Vec<Option<NodeId>>,
    observations: BTreeMap<&'m str, (&'m str, &'m Obs)>,
}

impl<'m> Lowering<'m> {
    fn lay_out(&mut self) -> Result<(), ModelError> {
        let mut offset = 0;
        for name in self.model.free_variables() {
            let node = &self.model.nodes[name];
            let Kind::Rv(rv) = &node.kind else { continue };
            if rv.dist.is_discrete() {
                let message = format!(
                    "{} is discrete, and NUTS moves continuous variables only: no observed image determines it",
                    rv.dist.name()
                );
                let help = "observe it, or sum it out (a mixture does this for categories)";
                let mistake = Diagnostic::new(Code::DiscreteVariable, message).help(help);
                return Err(mistake.at(name, &node.origin).into());
            }
            let constrained = match self.observations.get(name).copied() {
                Some((_, obs)) => Shape::from([obs.missing.len()]),
                None => rv.shape.clone(),
            };
            let transform = rv.transform.unwrap_or(Transform::Identity);
            let unconstrained = transform
                .unconstrained_shape(&constrained)
                .map_err(|m| Diagnostic::new(Code::BadTransform, m).at(name, &node.origin))?;
            let made = self.graph.input(name, Role::Parameter, unconstrained.clone(), DType::Real);
            let input = made.expect("names are unique and this graph is new");
            let len = unconstrained.len();
            self.layout.push(LayoutEntry {
                name: name.to_owned(),
                offset,
                unconstrained,
                constrained,
                input,
            });
            offset += len;
        }
        Ok(())
    }

    /// Computes the value of a node and remembers it; all that it needs was computed before.
    fn value(&mut self, name: &'m str) {
        let value = match &self.model.nodes[name].kind {
            Kind::Data(data) => {
                let made = self.graph.input(name, Role::Data, data.shape.clone(), data.dtype);
                made.expect("names are unique and this graph is new")
            }
            Kind::Det(value) => self.import(*value),
            Kind::Rv(rv) => match self.observations.get(name).copied() {
                None => self.free_value(name, rv, None),
                Some((_, obs)) if obs.missing.is_empty() => self.import(obs.value),
                Some((_, obs)) => self.partly_observed_value(name, rv, obs),
            },
            Kind::Obs(_) | Kind::Potential(_) => return,
        };
        self.values.insert(name, value);
    }

    fn free_value(&mut self, name: &'m str, rv: &Rv, missing: Option<&[usize]>) -> NodeId {
        let entry = self.entry(name);
        let (input, constrained) = (entry.input, entry.constrained.clone());
        let transform = rv.transform.unwrap_or(Transform::Identity);
        let transform = transform.map_arguments(&mut |limit| {
            let limit = self.import(limit);
            match missing {
                None => limit,
                Some(positions) => self.elements(limit, &rv.shape, positions),
            }
        });
        let (raw, log_jacobian) = transform.constrain(&mut self.graph, input, &constrained);
        if let Some(support) = proven_support(self.model, rv, &transform) {
            self.known.state(raw, support);
        }
        self.free.insert(name, Free { raw, log_jacobian });
        let Some(standardised) = rv.standardised else { return raw };
        let scale = self.import(standardised.scale);
        let scaled = self.graph.mul(scale, raw);
        match standardised.location {
            None => scaled,
            Some(location) => {
                let location = self.import(location);
                self.graph.add(location, scaled)
            }
        }
    }

    fn entry(&self, name: &str) -> &LayoutEntry {
        let found = self.layout.binary_search_by(|e| e.name.as_str().cmp(name));
        &self.layout[found.expect("free variables were laid out, in the order of their names")]
    }

    fn partly_observed_value(&mut self, name: &'m str, rv: &Rv, obs: &Obs) -> NodeId {
        let missing = self.free_value(name, rv, Some(&obs.missing));
        let observed = self.import(obs.value);
        let g = &mut self.graph;
        let n = rv.shape.len();
        let index = g.constant(Tensor::indices(&obs.missing));
        let scattered =
            g.apply(Op::ScatterAdd { len: n }, &[missing, index]).expect("positions were checked");
        let mut flags = vec![0.0; n];
        obs.missing.iter().for_each(|&k| flags[k] = 1.0);
        let flags = g.constant(Tensor::vector(&flags));
        let observed = g.reshape(observed, [n]);
        let filled = g.select(flags, scattered, observed);
        g.reshape(filled, rv.shape.clone())
    }

    /// Some elements (row-major positions) of a node that broadcasts to `shape`.
    fn elements(&mut self, node: NodeId, shape: &Shape, positions: &[usize]) -> NodeId {
        let g = &mut self.graph;
        if g.shape(node).is_scalar() {
            return node;
        }
        let full = g.broadcast_to(node, shape);
        let flat = g.reshape(full, [shape.len()]);
        let index = g.constant(Tensor::indices(positions));
        g.gather(flat, index)
    }

    /// An expression of the model over the values computed so far; each of its nodes is copied once.
    fn import(&mut self, root: NodeId) -> NodeId {
        const CHECKED: &str = "our bug: building checked all shapes";
        let source = &self.model.graph;
        let mut missing = BTreeSet::new();
        let mut rest = vec![root];
        while let Some(id) = rest.pop() {
            if self.imported[id.index()].is_none() && missing.insert(id) {
                rest.extend(&source.node(id).args);
            }
        }
        // Arguments come before their users.
        for id in missing {
            let node = source.node(id);
            let new = match &node.op {
                Op::Input { name, role } => match self.values.get(&**name) {
                    Some(value) => *value,
                    None => {
                        let (shape, dtype) = (node.shape.clone(), node.dtype);
                        self.graph.input(name, *role, shape, dtype).expect(CHECKED)
                    }
                },
                op => {
                    let copy = |a: &NodeId| self.imported[a.index()].expect("arguments come first");
                    let args: Vec<_> = node.args.iter().map(copy).collect();
                    self.graph.apply(op.clone(), &args).expect(CHECKED)
                }
            };
            self.imported[id.index()] = Some(new);
        }
        self.imported[root.index()].expect("the root was copied if it was missing")
    }

    fn import_dist(&mut self, dist: &Dist) -> Dist {
        dist.map_arguments(&mut |id| self.import(id))
    }

    fn terms(&mut self) -> Result<Vec<Term>, ModelError> {
        let mut terms = Vec::new();
        let mut mistakes = Vec::new();
        for (name, node) in &self.model.nodes {
            let term = match &node.kind {
                Kind::Rv(rv) => match self.free.get(name.as_str()).copied() {
                    Some(free) if !self.observations.contains_key(name.as_str()) => {
                        self.free_term(name, rv, free, &node.origin)
                    }
                    _ if planted(Fault::ObservationCountedTwice) => {
                        let dist = self.import_dist(&rv.dist);
                        let density = dist.lpdf(&mut self.graph, self.values[name.as_str()]);
                        Ok(Some(self.graph.sum(density)))
                    }
                    _ => Ok(None),
                },
                Kind::Obs(obs) => self.obs_term(obs, &node.origin),
                Kind::Potential(value) => {
                    let value = self.import(*value);
                    Ok(Some(self.graph.sum(value)))
                }
                Kind::Det(_) | Kind::Data(_) => Ok(None),
            };
            match term {
                Ok(Some(node)) => terms.push(Term { name: name.clone(), node }),
                Ok(None) => {}
                Err(mistake) => mistakes.push(mistake.at(name, &node.origin)),
            }
        }
        ModelError::check(mistakes)?;
        Ok(terms)
    }

    fn free_term(
        &mut self,
        name: &str,
        rv: &Rv,
        free: Free,
        origin: &Origin,
    ) -> Result<Option<NodeId>, Diagnostic> {
        let dist = self.import_dist(&rv.dist);
        let mut density = dist.lpdf(&mut self.graph, free.raw);
        density = self.require_all(&dist, name, origin, density)?;
        if !self.known.of(&self.graph, free.raw).is_some_and(|s| s.implies(dist.support()))
            && !transform_ensures(self.model, rv)
        {
            density = dist.guard(&mut self.graph, free.raw, density);
        }
        let mut total = self.graph.sum(density);
        if let (Some(log_jacobian), true) = (free.log_jacobian, self.options.jacobian) {
            total = self.graph.add(total, log_jacobian);
        }
        if let Some(s) = rv.standardised {
            // The density of the value itself, for comparison with other programs, divides by the scale.
            if !self.options.jacobian || planted(Fault::NonCentredKeepsScaleTerm) {
                let scale = self.import(s.scale);
                let log_scale = self.graph.log(scale);
                let log_scale = self.graph.broadcast_to(log_scale, &rv.shape);
                let log_scale = self.graph.sum(log_scale);
                total = self.graph.sub(total, log_scale);
            }
            total = self.require_scale(&rv.dist, s.scale, name, origin, total)?;
        }
        Ok(Some(total))
    }

    fn obs_term(&mut self, obs: &Obs, origin: &Origin) -> Result<Option<NodeId>, Diagnostic> {
        let Some(Kind::Rv(rv)) = self.model.nodes.get(&obs.target).map(|n| &n.kind) else {
            let message = format!(
                "`{}` is no random variable, nor an invertible affine or matrix image of one",
                obs.target
            );
            let help = "observe a random variable whose parameters are that expression";
            return Err(Diagnostic::new(Code::BadObservation, message).help(help));
        };
        let name =
            self.model.nodes.get_key_value(&obs.target).expect("it was found above").0.as_str();
        let mut value = self.values[name];
        let dist = self.import_dist(&rv.dist);
        let weight = obs.weight.map(|w| self.import(w));
        let mask = obs.mask.map(|m| self.import(m));
        if let (Some(mask), true) = (mask, dist.event_rank() > 0) {
            value = dist.settle(&mut self.graph, value, mask);
        }
        let mut density = dist.lpdf(&mut self.graph, value);
        if !obs.missing.is_empty() && !transform_ensures(self.model, rv) {
            density = dist.guard(&mut self.graph, value, density);
        }
        if let Some(censoring) = obs.censoring {
            let tails = self.censored(&dist, value, density, censoring);
            // Nothing was seen of a missing element, censored or not.
            density = match missing_flags(&mut self.graph, rv, obs) {
                None => tails,
                Some(missing) => self.graph.select(missing, density, tails),
            };
        }
        if let Some(log_jacobian) = obs.log_jacobian {
            let log_jacobian = self.import(log_jacobian);
            let g = &mut self.graph;
            let mut log_jacobian = log_jacobian;
            if obs.joint {
                density = g.sum(density);
            } else if rv.dist.event_rank() > 0 && !g.shape(log_jacobian).is_scalar() {
                // One density an outcome, one slope an element.
                let rank = rv.shape.rank();
                let axes: Vec<_> = (rank - rv.dist.event_rank()..rank).collect();
                log_jacobian = g.reduce(Reduction::Sum, log_jacobian, &axes);
            }
            density = g.add(density, log_jacobian);
        }
        density = self.require_all(&dist, name, origin, density)?;
        density = self.require_inside(&dist, obs, value, origin, density)?;
        let parts = Obs { weight, mask, ..obs.clone() };
        for (predicate, message) in parts_hold(&mut self.graph, &parts) {
            let diagnostic = Diagnostic::new(Code::BadObservation, message).at(&obs.target, origin);
            density = self.require(predicate, diagnostic, density)?;
        }
        let g = &mut self.graph;
        // Missing elements are free: their density always counts, their likelihood never does.
        let missing = missing_flags(g, rv, obs);
        if let Some(weight) = weight {
            let weighted = g.mul(weight, density);
            density = missing.map_or(weighted, |missing| g.select(missing, density, weighted));
        }
        let counted = match (mask, missing) {
            (Some(mask), Some(missing)) => Some(g.or(mask, missing)),
            (mask, _) => mask,
        };
        let seen = match (mask, missing) {
            (mask, None) => mask,
            (None, Some(missing)) => Some(g.not(missing)),
            (Some(mask), Some(missing)) => {
                let observed = g.not(missing);
                Some(g.and(mask, observed))
            }
        };
        let missing_jacobian =
            self.free.get(name).and_then(|f| f.log_jacobian).filter(|_| self.options.jacobian);
        if obs.likelihood {
            self.pointwise.push(Pointwise { name: name.to_owned(), node: density, mask: seen });
        } else {
            return Ok(None);
        }
        let mut total = reduce(g, density, counted, obs.reduce);
        if let Some(log_jacobian) = missing_jacobian {
            total = g.add(total, log_jacobian);
        }
        Ok(Some(total))
    }

    /// The elementwise log likelihood with censored elements' tail probabilities.
    fn censored(
        &mut self,
        dist: &Dist,
        value: NodeId,
        density: NodeId,
        censoring: Censoring,
    ) -> NodeId {
        const CHECKED: &str = "our bug: building checked that there is a distribution function";
        let code = self.import(censoring.code);
        let upper = censoring.upper.map(|u| self.import(u));
        let g = &mut self.graph;
        let uniform = g.as_uniform(code);
        let wanted = |c: f64| uniform.is_none_or(|u| u == c);
        let before = dist.just_below(g, value);
        let mut result = density;
        let mut choose = |g: &mut Graph, which: f64, tail: NodeId| {
            result = if uniform == Some(which) {
                tail
            } else {
                let (which, current) = (g.scalar(which), result);
                let chosen = g.eq(code, which);
                g.select(chosen, tail, current)
            };
        };
        if wanted(1.0) {
            let tail = dist.lccdf(g, before).expect(CHECKED);
            choose(g, 1.0, tail);
        }
        if wanted(-1.0) {
            let tail = dist.lcdf(g, value).expect(CHECKED);
            choose(g, -1.0, tail);
        }
        if let (true, Some(upper)) = (wanted(2.0), upper) {
            let mass = dist.log_mass_between(g, Some(value), Some(upper)).expect(CHECKED);
            choose(g, 2.0, mass);
        }
        result
    }

    /// Checks a distribution's arguments: constants now, data when bound, parameters in the density
    /// (minus infinity) unless their support is proven.
    fn require_all(
        &mut self,
        dist: &Dist,
        name: &str,
        origin: &Origin,
        density: NodeId,
    ) -> Result<NodeId, Diagnostic> {
        let mut density = density;
        let before = self.graph.len();
        let requirements = dist.requirements(&mut self.graph);
        debug_assert!(self.graph.len() >= before, "graphs only grow");
        for requirement in requirements {
            let Requirement { subject, support, predicate, message } = requirement;
            let code = match support {
                Some(Support::PositiveDefinite) => Code::SingularMatrix,
                _ => Code::OutsideSupport,
            };
            if support == Some(Support::Real)
                && self.graph.dependence(predicate) != Dependence::Data
            {
                continue; // NaN makes the density NaN by itself.
            }
            let proven = support.is_some_and(|wanted| {
                self.known.of(&self.graph, subject).is_some_and(|known| known.implies(wanted))
            });
            if !proven {
                let diagnostic = Diagnostic::new(code, message).at(name, origin);
                density = self.require(predicate, diagnostic, density)?;
            }
        }
        Ok(density)
    }

    /// Checks the scale of a non-centred variable, which its standardised distribution no longer has.
    fn require_scale(
        &mut self,
        dist: &Dist,
        scale: NodeId,
        name: &str,
        origin: &Origin,
        density: NodeId,
    ) -> Result<NodeId, Diagnostic> {
        let scale = self.import(scale);
        if self.known.of(&self.graph, scale).is_some_and(|s| s.implies(Support::Positive)) {
            return Ok(density);
        }
        let predicate = Support::Positive.predicate(&mut self.graph, scale, &[]);
        let message = format!("the scale of {} must be positive", dist.name());
        let diagnostic = Diagnostic::new(Code::OutsideSupport, message).at(name, origin);
        self.require(predicate, diagnostic, density)
    }

    fn require_inside(
        &mut self,
        dist: &Dist,
        obs: &Obs,
        value: NodeId,
        origin: &Origin,
        density: NodeId,
    ) -> Result<NodeId, Diagnostic> {
        let censoring = obs.censoring.map(|c| Censoring {
            code: self.import(c.code),
            upper: c.upper.map(|u| self.import(u)),
        });
        // Masked vectors have been replaced by possible ones.
        let mask = obs.mask.filter(|_| dist.event_rank() == 0).map(|m| self.import(m));
        let imported = Obs { value, mask, censoring, ..obs.clone() };
        let mut density = density;
        if let Some(censoring) = censoring {
            let predicate = codes_hold(&mut self.graph, dist, &imported, censoring);
            let diagnostic =
                Diagnostic::new(Code::BadObservation, CODES_MUST).at(&obs.target, origin);
            density = self.require(predicate, diagnostic, density)?;
        }
        let predicate = observed_inside(&mut self.graph, dist, &imported, value);
        let what = dist.support().describe();
        let message =
            format!("the value lies outside of the support of {}: it must be {what}", dist.name());
        let diagnostic = Diagnostic::new(Code::OutsideSupport, message).at(&obs.target, origin);
        self.require(predicate, diagnostic, density)
    }

    fn require(
        &mut self,
        predicate: NodeId,
        diagnostic: Diagnostic,
        density: NodeId,
    ) -> Result<NodeId, Diagnostic> {
        match self.graph.dependence(predicate) {
            Dependence::Constant if holds(&self.graph, predicate) => Ok(density),
            Dependence::Constant => Err(diagnostic),
            Dependence::Data => {
                self.checks.push(DataCheck { predicate, diagnostic });
                Ok(density)
            }
            Dependence::Parameter => {
                let never = self.graph.scalar(f64::NEG_INFINITY);
                Ok(self.graph.select(predicate, density, never))
            }
        }
    }

    fn trace(&self) -> Vec<TraceEntry> {
        let mut entries = Vec::new();
        for (name, node) in &self.model.nodes {
            let recorded = match &node.kind {
                Kind::Det(_) => true,
                // Observed variables are data unless a measurable map with free parameters moves them.
                Kind::Rv(_) => {
                    self.free.contains_key(name.as_str())
                        || self.graph.dependence(self.values[name.as_str()])
                            == Dependence::Parameter
                }
                _ => false,
            };
            if recorded {
                let node = self.values[name.as_str()];
                let shape = self.graph.shape(node).clone();
                let plates = self.model.plates_of(name).to_vec();
                entries.push(TraceEntry { name: name.clone(), node, shape, plates });
            }
        }
        entries
    }

    /// Constrained values of the free variables -> their unconstrained arrays.
    fn inverse(&self, order: &[&'m str]) -> Inverse {
        let mut inverse = Lowering {
            model: self.model,
            options: self.options,
            graph: Graph::new(),
            values: BTreeMap::new(),
            free: BTreeMap::new(),
            known: KnownSupports::default(),
            layout: Vec::new(),
            checks: Vec::new(),
            pointwise: Vec::new(),
            imported: vec![None; self.model.graph.len()],
            observations: self.observations.clone(),
        };
        let free: BTreeSet<&str> = self.free.keys().copied().collect();
        for &name in order {
            if free.contains(name) {
                let shape = self.model.shape_of(name).expect("variables have shapes").clone();
                let made = inverse.graph.input(name, Role::Parameter, shape, DType::Real);
                let input = made.expect("names are unique and this graph is new");
                inverse.values.insert(name, input);
            } else {
                inverse.value(name);
            }
        }
        let outputs = self.layout.iter().map(|entry| inverse.unconstrained(&entry.name)).collect();
        Inverse { graph: inverse.graph, outputs }
    }

    fn unconstrained(&mut self, name: &str) -> NodeId {
        let Kind::Rv(rv) = &self.model.nodes[name].kind else {
            unreachable!("free variables are random")
        };
        let missing = self.observations.get(name).copied().map(|(_, obs)| obs.missing.as_slice());
        let mut value = self.values[name];
        if let Some(positions) = missing {
            value = self.elements(value, &rv.shape, positions);
        }
        if let Some(standardised) = rv.standardised {
            if let Some(location) = standardised.location {
                let location = self.import(location);
                value = self.graph.sub(value, location);
            }
            let scale = self.import(standardised.scale);
            value = self.graph.div(value, scale);
        }
        let transform = rv.transform.unwrap_or(Transform::Identity).map_arguments(&mut |limit| {
            let limit = self.import(limit);
            match missing {
                None => limit,
                Some(positions) => self.elements(limit, &rv.shape, positions),
            }
        });
        transform.unconstrain(&mut self.graph, value)
    }
}

/// 1 for each missing element of a partly observed variable.
fn missing_flags(g: &mut Graph, rv: &Rv, obs: &Obs) -> Option<NodeId> {
    if obs.missing.is_empty() {
        return None;
    }
    let mut flags = vec![0.0; rv.shape.len()];
    obs.missing.iter().for_each(|&k| flags[k] = 1.0);
    Some(g.constant(Tensor::real(rv.shape.clone(), flags).expect("one flag an element")))
}

/// One number from elementwise log densities; masked elements count nowhere.
fn reduce(g: &mut Graph, density: NodeId, mask: Option<NodeId>, how: Reduce) -> NodeId {
    let shape = g.shape(density).clone();
    let mask = mask.map(|m| g.broadcast_to(m, &shape));
    let axes: Vec<_> = (0..shape.rank()).collect();
    match how {
        Reduce::Sum | Reduce::Mean => {
            let (kept, count) = match mask {
                None => (density, g.scalar(shape.len() as f64)),
                Some(mask) => {
                    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
                    let counted = g.select(mask, one, zero);
                    (g.select(mask, density, zero), g.sum(counted))
                }
            };
            let total = g.sum(kept);
            if how == Reduce::Mean {
                // Without any element that counts there is no likelihood.
                let one = g.scalar(1.0);
                let count = g.max(count, one);
                g.div(total, count)
            } else {
                total
            }
        }
        Reduce::LogSumExp => {
            let kept = match mask {
                None => density,
                Some(mask) => {
                    let never = g.scalar(f64::NEG_INFINITY);
                    g.select(mask, density, never)
                }
            };
            let total = g.reduce(Reduction::LogSumExp, kept, &axes);
            match mask {
                None => total,
                Some(mask) => {
                    let zero = g.scalar(0.0);
                    let counted = g.ne(mask, zero);
                    let any = g.reduce(Reduction::Max, counted, &axes);
                    g.select(any, total, zero)
                }
            }
        }
    }
}

/// The support that a free variable's transform guarantees, if it says more than "real".
fn proven_support(model: &Model, rv: &Rv, transform: &Transform) -> Option<Support> {
    match transform {
        Transform::Log | Transform::Softplus => Some(Support::Positive),
        Transform::Logit => Some(Support::UnitOpen),
        Transform::Lower(_) if limit_is_not_negative(model, rv) => Some(Support::Positive),
        Transform::Circle => Some(Support::Circle),
        Transform::Ordered | Transform::PositiveOrdered => Some(Support::Ordered),
        Transform::Simplex | Transform::SimplexPlain => Some(Support::Simplex),
        Transform::CorrelationCholesky => Some(Support::CorrelationCholesky),
        Transform::CovarianceCholesky => Some(Support::CholeskyFactor),
        // Limits that the family's own support names are what its default transform keeps to.
        _ if transform_ensures(model, rv) && rv.dist.support() != Support::Real => {
            match rv.dist.support() {
                Support::Between { .. } => None,
                support => Some(support),
            }
        }
        _ => None,
    }
}

/// Whether a lower limit is a constant of at least zero; asked of the model, whose graph it belongs to.
fn limit_is_not_negative(model: &Model, rv: &Rv) -> bool {
    let Some(Transform::Lower(limit)) = rv.transform else { return false };
    model.graph.as_uniform(limit).is_some_and(|limit| limit >= 0.0)
}

/// Whether the transform is the distribution's own, which keeps to its support by construction.
fn transform_ensures(model: &Model, rv: &Rv) -> bool {
    if let Dist::Family { family, args } = &rv.dist {
        return rv.transform == Some(family.default_transform(args));
    }
    // The default may make constants, so it is asked for on a copy.
    let mut scratch = model.graph.clone();
    rv.transform == Some(rv.dist.default_transform(&mut scratch))
}
