//! `Lowered` -> the same with other coordinates: variables that have a location and a scale, partly
//! centred.
//!
//! What can have another coordinate is found in the density's graph
//! ([`exmc_graph::location_scales`]), so that a statement `theta ~ normal(mu, tau)` of a Stan
//! program, the same in a loop, a `target +=` and a variable of a built model are one thing. How
//! much of each element is centred is the caller's choice.

use exmc_graph::{
    Dependence, Graph, GraphError, LocationScale, NodeId, Tensor, Written, location_scales,
    recentre, recentre_value,
};

use super::marginalise::{Marginalised, marginal_names};
use super::{Inverse, Lowered, Term};

/// The name by which this is left out.
pub const RECENTRE: &str = "recentre";

/// A variable and how much of each of its elements is centred: 1 samples the value itself, 0 the
/// value's distance to its location in units of its scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Centred {
    /// The variable.
    pub name: String,
    /// One number for all elements, or one an element in row-major order; in [0, 1].
    pub shares: Vec<f64>,
}

/// A variable that can have another coordinate.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The variable.
    pub name: String,
    /// How the model has it.
    pub written: Written,
    /// Number of its elements.
    pub len: usize,
    /// Elements that have a location and a scale; all where there is nothing.
    pub covered: Option<Vec<bool>>,
    /// Whether an element is to be centred or not, and nothing between: of long chains of elements
    /// that hold each other.
    pub ends: bool,
    found: LocationScale,
}

/// The variables of a model that can have other coordinates, with the graph that says where.
#[derive(Clone, Debug)]
pub struct Effects {
    lowered: Lowered,
    /// In the order of the layout.
    pub effects: Vec<Effect>,
    /// Variables that are integrated out beside them.
    pub integrated: Vec<String>,
}

impl Effects {
    /// Finds them, but for those named in `keep`. With `marginalise`, variables that can be
    /// integrated out are, unless what cannot be has its location or scale from them: a funnel that
    /// stays needs them as coordinates.
    pub fn of(lowered: &Lowered, without: &[String], keep: &[String], marginalise: bool) -> Self {
        let mut lowered = lowered.clone();
        let is_asked = !without.iter().any(|name| name == RECENTRE);
        let found = match is_asked {
            true => location_scales(&mut lowered.graph, lowered.logp),
            false => Vec::new(),
        };
        let mut effects: Vec<Effect> = Vec::new();
        for found in found {
            let entry = lowered.layout.iter().find(|entry| entry.input == found.input);
            let Some(entry) = entry.filter(|entry| !keep.contains(&entry.name)) else { continue };
            effects.push(Effect {
                name: entry.name.clone(),
                written: found.written,
                len: entry.unconstrained.len(),
                covered: found.covered.clone(),
                ends: found.is_long_chain(),
                found,
            });
        }
        let mut kept: Vec<String> = keep.to_vec();
        let mut integrated = Vec::new();
        loop {
            if !marginalise {
                break;
            }
            integrated = marginal_names(&lowered, without, Marginalised::Without(&kept));
            let stays = |effect: &&Effect| !integrated.contains(&effect.name);
            let funnels = effects.iter().filter(stays).filter(|e| e.scale_varies(&lowered));
            let roots: Vec<NodeId> = funnels.flat_map(|effect| effect.found.roots()).collect();
            let live = lowered.graph.reachable(&roots);
            let is_needed = |name: &&String| {
                lowered.graph.find_input(name).is_some_and(|input| live[input.index()])
            };
            let needed: Vec<String> = integrated.iter().filter(is_needed).cloned().collect();
            if needed.is_empty() {
                break;
            }
            kept.extend(needed);
        }
        effects.retain(|effect| {
            let live = lowered.graph.reachable(&effect.found.roots());
            let holds = |name: &String| {
                lowered.graph.find_input(name).is_some_and(|input| live[input.index()])
            };
            !integrated.contains(&effect.name) && !integrated.iter().any(holds)
        });
        Self { lowered, effects, integrated }
    }

    /// The model with those coordinates; nothing where no variable has another than the model has
    /// it in, or locations and scales depend on each other in a circle.
    pub fn recentre(&self, centred: &[Centred]) -> Option<Lowered> {
        let lowered = &self.lowered;
        let mut entries: Vec<(&Effect, Tensor)> = Vec::new();
        for effect in &self.effects {
            let Some(centring) = centred.iter().find(|centring| centring.name == effect.name)
            else {
                continue;
            };
            let share = effect.shares(lowered, centring)?;
            let same = effect.share_as_written();
            if share.values().iter().any(|s| *s != same) {
                entries.push((effect, share));
            }
        }
        if entries.is_empty() {
            return None;
        }
        let mut roots = vec![lowered.logp];
        roots.extend(lowered.terms.iter().map(|term| term.node));
        roots.extend(lowered.trace.iter().map(|entry| entry.node));
        roots.extend(lowered.pointwise.iter().map(|pointwise| pointwise.node));
        roots.extend(lowered.pointwise.iter().filter_map(|pointwise| pointwise.mask));
        roots.extend(lowered.checks.iter().map(|check| check.predicate));
        let pairs: Vec<_> = entries.iter().map(|(effect, share)| (&effect.found, share)).collect();
        let made = recentre(&lowered.graph, &roots, &pairs)?;
        let mut graph = made.graph;
        let mut copies = made.roots.into_iter();
        let mut next = || copies.next().expect("a copy of each root");
        let mut new = lowered.clone();
        let mut logp = next();
        new.terms.iter_mut().for_each(|term| term.node = next());
        new.trace.iter_mut().for_each(|entry| entry.node = next());
        new.pointwise.iter_mut().for_each(|pointwise| pointwise.node = next());
        new.pointwise.iter_mut().filter_map(|p| p.mask.as_mut()).for_each(|mask| *mask = next());
        new.checks.iter_mut().for_each(|check| check.predicate = next());
        for ((effect, _), node) in entries.iter().zip(made.log_jacobians) {
            logp = graph.add(logp, node);
            new.terms.push(Term { name: format!("coordinate of {}", effect.name), node });
        }
        for entry in &mut new.layout {
            let (role, dtype) = (exmc_graph::Role::Parameter, exmc_graph::DType::Real);
            let input = graph.input(&entry.name, role, entry.unconstrained.clone(), dtype);
            entry.input = input.expect("inputs keep names and shapes");
        }
        new.inverse = self.inverse(&entries);
        (new.graph, new.logp) = (graph, logp);
        Some(new)
    }

    /// The way back ends in the new coordinates.
    fn inverse(&self, entries: &[(&Effect, Tensor)]) -> Inverse {
        let lowered = &self.lowered;
        let mut inverse = lowered.inverse.clone();
        let before = inverse.outputs.clone();
        let known = |_: &mut Graph, _, name: &str| {
            let k = lowered.layout.iter().position(|entry| entry.name == name);
            Ok::<_, GraphError>(k.map(|k| before[k]))
        };
        for (effect, share) in entries {
            let roots = effect.found.roots();
            let copies = inverse.graph.import(&lowered.graph, &roots, known);
            let copies = copies.expect("unconstrained values have the shapes of their inputs");
            let place = lowered.layout.iter().position(|entry| entry.name == effect.name);
            let place = place.expect("effects are variables");
            let g = &mut inverse.graph;
            let old = g.reshape(before[place], lowered.layout[place].unconstrained.clone());
            inverse.outputs[place] = recentre_value(g, &effect.found, old, &copies, share);
        }
        inverse
    }

    /// For each variable, its location (given elements before it, where these have a part in it)
    /// and its scale in the density of coordinates `centred`, as arrays of its shape: outputs for
    /// whoever learns the shares. The graph is that of `recentre`, or the model's own where that
    /// changes nothing.
    pub fn locations_and_scales(&self, centred: &[Centred]) -> (Lowered, Vec<[NodeId; 2]>) {
        let mut observed = self.lowered.clone();
        let trace = observed.trace.len();
        let g = &mut observed.graph;
        for effect in &self.effects {
            let shape = g.shape(effect.found.input).clone();
            for node in effect.found.location_and_scale(g) {
                let (name, plates) = (effect.name.clone(), Vec::new());
                observed.trace.push(super::TraceEntry { name, node, shape: shape.clone(), plates });
            }
        }
        let (effects, integrated) = (self.effects.clone(), self.integrated.clone());
        let traced_effects = Self { lowered: observed, effects, integrated };
        let mut lowered = traced_effects.recentre(centred).unwrap_or(traced_effects.lowered);
        let pairs = lowered.trace.split_off(trace);
        let pairs = pairs.chunks(2).map(|pair| [pair[0].node, pair[1].node]).collect();
        (lowered, pairs)
    }
}

impl Effect {
    fn scale_varies(&self, lowered: &Lowered) -> bool {
        lowered.graph.dependence(self.found.roots()[0]) == Dependence::Parameter
    }

    /// The share of centring that the model as it is written has.
    pub fn share_as_written(&self) -> f64 {
        if self.written == Written::Centred { 1.0 } else { 0.0 }
    }

    /// The shares of all elements; those without a scale keep their coordinate.
    fn shares(&self, lowered: &Lowered, centring: &Centred) -> Option<Tensor> {
        let entry = lowered.layout.iter().find(|entry| entry.name == self.name)?;
        let same = self.share_as_written();
        match (&centring.shares[..], &self.covered) {
            ([share], None) => Some(Tensor::scalar(*share)),
            (shares, covered) => {
                let share = |k: usize| match covered {
                    Some(covered) if !covered[k] => Some(same),
                    _ if shares.len() == 1 => Some(shares[0]),
                    _ => shares.get(k).copied(),
                };
                let all: Option<Vec<f64>> = (0..self.len).map(share).collect();
                Tensor::real(entry.unconstrained.clone(), all?)
            }
        }
    }
}
