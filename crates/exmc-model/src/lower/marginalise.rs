//! `Lowered` -> the same with fewer coordinates: variables that are normal given all others are integrated out, and
//! recorded values draw them from that distribution.
//!
//! A hierarchy's effects with normal prior and likelihood are the usual case: what is left has no funnel, and a position of
//! a few numbers. Variables are taken one after the other, those of many elements first, because what they share (a common
//! mean) would make them dependent if it went before them; each is integrated out of what the ones before left.

use exmc_fault::{Fault, planted};
use exmc_graph::{DType, Graph, GraphError, NodeId, Op, Role, cost, integrate_normal, optimise};

use super::{Inverse, LayoutEntry, Lowered};

/// The name by which this is left out.
pub const MARGINALISE: &str = "marginalise";

/// Elements that a variable has at least. Fewer coordinates do not make trajectories shorter by what the density costs more
/// (three groups with forty observations each: 0.7 of the effective draws a second).
const FEWEST: usize = 8;

/// How many times as much the log density may cost afterwards, by estimate: slopes by what is gone are saved, and the steps of
/// the sampler in its dimensions.
const DEARER: f64 = 4.0;

/// Names of the variables that [`marginalise`] integrates out.
pub(super) fn marginal_names(
    lowered: &Lowered,
    without: &[String],
    keep: &[String],
) -> Vec<String> {
    let rest = marginalise(lowered, without, keep);
    rest.iter().flat_map(|rest| &rest.noise).map(|entry| entry.name.clone()).collect()
}

/// Integrates out what is normal given the rest but for the variables in `keep`, unless `without` names that; nothing where
/// there is nothing.
pub fn marginalise(lowered: &Lowered, without: &[String], keep: &[String]) -> Option<Lowered> {
    if without.iter().any(|name| name == MARGINALISE) {
        return None;
    }
    let may_go =
        |entry: &&LayoutEntry| entry.unconstrained.len() >= FEWEST && !keep.contains(&entry.name);
    let mut candidates: Vec<&LayoutEntry> = lowered.layout.iter().filter(may_go).collect();
    candidates.sort_by_key(|entry| std::cmp::Reverse(entry.unconstrained.len()));
    let is_normal = |entry: &&LayoutEntry| {
        let input = lowered.graph.find_input(&entry.name);
        input.is_some_and(|input| integrate_normal(&lowered.graph, lowered.logp, input).is_some())
    };
    // What is no polynomial of the density as it was written is none of what it is rewritten to.
    if !candidates.iter().any(is_normal) {
        return None;
    }
    let estimate = |graph: &Graph, logp| {
        let (graph, root, _) = optimise(graph, logp, without);
        cost(&graph, &[root])
    };
    // Rows of data are sums by then, so that what is integrated is one number a group and not one a row.
    let (mut graph, mut logp, _) = optimise(&lowered.graph, lowered.logp, without);
    let most = DEARER * cost(&graph, &[logp]);
    let mut recorded = Recorded::of(lowered);
    let mut gone: Vec<&LayoutEntry> = Vec::new();
    for entry in candidates {
        // Something must be left to sample.
        if gone.len() + 1 == lowered.layout.len() {
            break;
        }
        let Some(input) = graph.find_input(&entry.name) else { continue };
        let Some(found) = integrate_normal(&graph, logp, input) else { continue };
        if estimate(&found.graph, found.logp) > most {
            continue;
        }
        recorded.draw(&entry.name, &found.graph, [found.mean, found.deviation]);
        (graph, logp) = (found.graph, found.logp);
        gone.push(entry);
    }
    if gone.is_empty() {
        return None;
    }

    let mut all = Graph::new();
    let logp = all.import(&graph, &[logp], same).expect(FITS)[0];
    let nodes = all.import(&recorded.graph, &recorded.nodes, same).expect(FITS);
    let is_gone = |entry: &LayoutEntry| gone.iter().any(|other| other.name == entry.name);
    let mut offset = 0;
    let mut placed = |entry: &LayoutEntry| {
        let shape = entry.unconstrained.clone();
        let input = all.input(&entry.name, Role::Parameter, shape, DType::Real);
        let own = LayoutEntry { offset, input: input.expect(FITS), ..entry.clone() };
        offset += entry.unconstrained.len();
        own
    };
    let kept = lowered.layout.iter().filter(|entry| !is_gone(entry));
    let layout: Vec<LayoutEntry> = kept.map(&mut placed).collect();
    let noise = lowered.layout.iter().filter(|entry| is_gone(entry)).map(&mut placed).collect();
    let mut nodes = nodes.into_iter();
    let mut trace = lowered.trace.clone();
    trace.iter_mut().zip(&mut nodes).for_each(|(entry, node)| entry.node = node);
    let outputs = lowered.inverse.outputs.iter().zip(&lowered.layout);
    let outputs = outputs.filter(|(_, entry)| !is_gone(entry)).map(|(&node, _)| node).collect();
    Some(Lowered {
        dim: layout.iter().map(|entry| entry.unconstrained.len()).sum(),
        graph: all,
        logp,
        terms: Vec::new(),
        layout,
        noise,
        trace,
        pointwise: Vec::new(),
        checks: Vec::new(),
        inverse: Inverse { graph: lowered.inverse.graph.clone(), outputs },
    })
}

const FITS: &str = "copies fit as originals do";

fn same(_: &mut Graph, _: NodeId, _: &str) -> Result<Option<NodeId>, GraphError> {
    Ok(None)
}

/// Recorded values, in a graph of their own.
struct Recorded {
    graph: Graph,
    nodes: Vec<NodeId>,
}

impl Recorded {
    fn of(lowered: &Lowered) -> Self {
        let nodes = lowered.trace.iter().map(|entry| entry.node).collect();
        Self { graph: lowered.graph.clone(), nodes }
    }

    /// Puts `mean + deviation * noise` in the place of a variable, with noise as an input of the variable's name.
    fn draw(&mut self, name: &str, given: &Graph, [mean, deviation]: [NodeId; 2]) {
        let mut new = Graph::new();
        let given = new.import(given, &[mean, deviation], same).expect(FITS);
        let shape = new.shape(given[0]).clone();
        let noise = new.input(name, Role::Parameter, shape, DType::Real).expect(FITS);
        let spread =
            if planted(Fault::ConditionalVariance) { new.square(given[1]) } else { given[1] };
        let spread = new.mul(spread, noise);
        let value = new.add(given[0], spread);
        let old = &self.graph;
        let replaced = |_: &mut Graph, id: NodeId, _: &str| {
            let is_own = matches!(&old.node(id).op, Op::Input { name: own, .. } if **own == *name);
            Ok::<_, GraphError>(is_own.then_some(value))
        };
        if planted(Fault::IndependentDraws) {
            // Only what is recorded of the variable itself is drawn.
            let mean = given[0];
            let is_own = |id: NodeId| matches!(&old.node(id).op, Op::Input { name: own, .. } if **own == *name);
            let average = |_: &mut Graph, id: NodeId, _: &str| {
                Ok::<_, GraphError>(is_own(id).then_some(mean))
            };
            let others = new.import(old, &self.nodes, average).expect(FITS);
            let pick = |(&node, other)| if is_own(node) { value } else { other };
            self.nodes = self.nodes.iter().zip(others).map(pick).collect();
            self.graph = new;
            return;
        }
        self.nodes = new.import(old, &self.nodes, replaced).expect(FITS);
        self.graph = new;
    }
}
