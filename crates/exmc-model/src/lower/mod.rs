//! Model -> graph of its log density over the unconstrained vector, with everything around it: the
//! constrained values to record, pointwise terms, checks of data, and the way back for initial
//! values.
//!
//! The position is laid out by bytewise order of the free variables' names, and terms are added in
//! bytewise order of nodes' names, so the order of declaration changes no bit of the density.

mod funnels;
mod inverse;
mod lowered;
mod marginalise;
mod recentre;
mod require;
mod terms;

use std::collections::{BTreeMap, BTreeSet};

use exmc_fault::{Fault, planted};
use exmc_graph::{DType, Dependence, Graph, NodeId, Op, Role, Shape, Tensor};

use crate::build::check_value_order;
use crate::diagnostic::{Code, Diagnostic, ModelError};
use crate::dist::Dist;
use crate::model::{Kind, Model, Obs, Rv};
use crate::support::KnownSupports;
use crate::transform::Transform;
use require::proven_support;

pub use lowered::{
    DataCheck, Inverse, LayoutEntry, LowerOptions, Lowered, Pointwise, Term, TraceEntry,
};
pub use marginalise::{MARGINALISE, Marginalised, marginalise};
pub use recentre::{Centred, Effect, Effects, RECENTRE};

/// Lowers a rewritten model.
///
/// # Errors
/// When an observed deterministic value is no measurable image of a variable, or constants lie
/// where they must not.
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
    let noise = Vec::new();
    Ok(Lowered { graph, logp, terms, layout, dim, noise, trace, pointwise, checks, inverse })
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
            Some(_) if planted(Fault::NonCentredLocation) => scaled,
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

    /// An expression of the model over the values computed so far; each of its nodes is copied
    /// once.
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

    fn trace(&self) -> Vec<TraceEntry> {
        let mut entries = Vec::new();
        for (name, node) in &self.model.nodes {
            let recorded = match &node.kind {
                Kind::Det(_) => true,
                // Observed variables are data unless a measurable map with free parameters moves
                // them.
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
}
