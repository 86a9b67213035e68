//! `Lowered` -> the same with fewer coordinates: variables that are normal given all others are
//! integrated out, and recorded values draw them from that distribution.
//!
//! A hierarchy's effects with normal prior and likelihood are the usual case: what is left has no
//! funnel, and a position of a few numbers. Variables are taken one after the other, those of many
//! elements first, because what they share (a common mean) would make them dependent if it went
//! before them; each is integrated out of what the ones before left.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use exmc_fault::{Fault, planted};
use exmc_graph::{
    Block, DType, Graph, GraphError, NodeId, Op, Role, Shape, cost, integrate_normal,
    is_read_by_elements, join_scalars, optimise,
};

use super::funnels::Funnels;
use super::{Inverse, LayoutEntry, Lowered};

/// The name by which this is left out.
pub const MARGINALISE: &str = "marginalise";

/// Elements that a variable has at least, or scalars that the density reads as one vector, which is
/// integrated out whatever it is. Of smaller ones [`Funnels`] says which pay.
pub(super) const MIN_ELEMENTS: usize = 8;

/// Scalars that are asked whether they might be normal, before it is looked for alike ones.
const LOOKED_AT: usize = 32;

/// How many times as much the log density may cost afterwards, by estimate: slopes by what is gone
/// are saved, and the steps of the sampler in its dimensions.
const MAX_COST_RATIO: f64 = 4.0;

/// Variables that may be integrated out.
#[derive(Clone, Copy, Debug)]
pub enum Marginalised<'a> {
    /// What pays, but for these.
    Without(&'a [String]),
    /// These and no others, in this order, as far as they are normal given the rest.
    Named(&'a [String]),
}

impl Marginalised<'_> {
    fn may_go(self, entry: &LayoutEntry) -> bool {
        match self {
            Self::Without(names) => !names.contains(&entry.name),
            Self::Named(names) => names.contains(&entry.name),
        }
    }
}

/// Names of the variables that [`marginalise`] integrates out, in the order in which it does.
pub(super) fn marginal_names(
    lowered: &Lowered,
    without: &[String],
    asked: Marginalised<'_>,
) -> Vec<String> {
    marginalised(lowered, without, asked).map_or_else(Vec::new, |(_, names)| names)
}

/// Integrates out what is normal given the rest, unless `without` names that; nothing where there
/// is nothing.
pub fn marginalise(
    lowered: &Lowered,
    without: &[String],
    asked: Marginalised<'_>,
) -> Option<Lowered> {
    marginalised(lowered, without, asked).map(|(rest, _)| rest)
}

fn marginalised(
    lowered: &Lowered,
    without: &[String],
    asked: Marginalised<'_>,
) -> Option<(Lowered, Vec<String>)> {
    if without.iter().any(|name| name == MARGINALISE) {
        return None;
    }
    let may_go = |entry: &&LayoutEntry| asked.may_go(entry);
    // What is no polynomial of the density as it was written is none of what it is rewritten to,
    // unless the rest is read element by element.
    let may_be_normal = |entry: &&LayoutEntry| {
        let Some(input) = lowered.graph.find_input(&entry.name) else { return false };
        is_read_by_elements(&lowered.graph, input)
            || integrate_normal(&lowered.graph, lowered.logp, input).is_some()
    };
    let (scalars, arrays): (Vec<&LayoutEntry>, Vec<&LayoutEntry>) =
        lowered.layout.iter().filter(may_go).partition(|entry| entry.unconstrained.is_scalar());
    let (large, mut small): (Vec<&LayoutEntry>, Vec<&LayoutEntry>) =
        arrays.into_iter().partition(|entry| entry.unconstrained.len() >= MIN_ELEMENTS);
    small.extend(&scalars);
    let funnels = Funnels::of(lowered, &small);
    let is_named = matches!(asked, Marginalised::Named(_));
    small.retain(|entry| is_named || funnels.may_pay(&entry.name));
    small.truncate(LOOKED_AT);
    small.retain(may_be_normal);
    let has_scalars =
        scalars.len() >= MIN_ELEMENTS && scalars.iter().take(LOOKED_AT).any(may_be_normal);
    if small.is_empty() && !has_scalars && !large.iter().any(may_be_normal) {
        return None;
    }
    let estimate = |graph: &Graph, logp| {
        let (graph, root, _) = optimise(graph, logp, without);
        cost(&graph, &[root])
    };
    // Rows of data are sums by then, so that what is integrated is one number a group and not one a
    // row; alike scalars are vectors.
    let (mut graph, mut logp, _) = optimise(&lowered.graph, lowered.logp, without);
    let most = MAX_COST_RATIO * cost(&graph, &[logp]);
    let names: BTreeSet<&str> = scalars.iter().map(|entry| &*entry.name).collect();
    let joined = join_scalars(&graph, logp, &|name| names.contains(name));
    let mut blocks = Vec::new();
    if let Some((with_blocks, root, found)) = joined.filter(|_| has_scalars) {
        (graph, logp, blocks) = (with_blocks, root, found);
    }
    let of_array = |entry: &LayoutEntry| {
        let (name, len) = (entry.name.clone(), entry.unconstrained.len());
        (len, Block { input: name.clone(), members: vec![name] })
    };
    let of_block = |block: &Block| (block.members.len(), block.clone());
    let mut candidates: Vec<(usize, Block)> =
        large.into_iter().map(of_array).chain(blocks.iter().map(of_block)).collect();
    candidates.retain(|(len, _)| *len >= MIN_ELEMENTS);
    // One by one what is not integrated out as a part of a vector.
    candidates.extend(small.into_iter().map(of_array));
    let place = |block: &Block| match asked {
        Marginalised::Named(names) => names.iter().position(|name| *name == block.members[0]),
        Marginalised::Without(_) => Some(usize::from(funnels.are_around(&block.input))),
    };
    let size = |len: usize| Reverse(if is_named { 0 } else { len });
    candidates.sort_by_key(|(len, block)| (size(*len), place(block)));

    let mut recorded = Recorded::of(lowered);
    let mut gone: Vec<String> = Vec::new();
    for (len, candidate) in &candidates {
        // Something must be left to sample.
        if gone.len() + candidate.members.len() >= lowered.layout.len() {
            continue;
        }
        if *len < MIN_ELEMENTS && !is_named && !funnels.pays(&candidate.input, &gone) {
            continue;
        }
        let Some(input) = graph.find_input(&candidate.input) else { continue };
        let Some(found) = integrate_normal(&graph, logp, input) else { continue };
        // What is named was judged before: in other coordinates it costs a little more or less.
        if !is_named && estimate(&found.graph, found.logp) > most {
            continue;
        }
        recorded.draw(candidate, &blocks, &found.graph, [found.mean, found.deviation]);
        (graph, logp) = (found.graph, found.logp);
        gone.extend(candidate.members.iter().cloned());
    }
    if gone.is_empty() {
        return None;
    }

    let mut all = Graph::new();
    let logp = all.import(&graph, &[logp], parts_of(&blocks)).expect(FITS)[0];
    let nodes = all.import(&recorded.graph, &recorded.nodes, same).expect(FITS);
    let names: BTreeSet<&str> = gone.iter().map(String::as_str).collect();
    let is_gone = |entry: &LayoutEntry| names.contains(&*entry.name);
    let mut offset = 0;
    let mut placed = |entry: &LayoutEntry| {
        let shape = entry.unconstrained.clone();
        let input = all.input(&entry.name, Role::Parameter, shape, DType::Real);
        let placed_entry = LayoutEntry { offset, input: input.expect(FITS), ..entry.clone() };
        offset += entry.unconstrained.len();
        placed_entry
    };
    let kept = lowered.layout.iter().filter(|entry| !is_gone(entry));
    let layout: Vec<LayoutEntry> = kept.map(&mut placed).collect();
    let noise = lowered.layout.iter().filter(|entry| is_gone(entry)).map(&mut placed).collect();
    let mut nodes = nodes.into_iter();
    let mut trace = lowered.trace.clone();
    trace.iter_mut().zip(&mut nodes).for_each(|(entry, node)| entry.node = node);
    let outputs = lowered.inverse.outputs.iter().zip(&lowered.layout);
    let outputs = outputs.filter(|(_, entry)| !is_gone(entry)).map(|(&node, _)| node).collect();
    let rest = Lowered {
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
    };
    Some((rest, gone))
}

const FITS: &str = "copies fit as originals do";

fn same(_: &mut Graph, _: NodeId, _: &str) -> Result<Option<NodeId>, GraphError> {
    Ok(None)
}

/// Puts vectors that were joined together again from their scalars.
fn parts_of(
    blocks: &[Block],
) -> impl FnMut(&mut Graph, NodeId, &str) -> Result<Option<NodeId>, GraphError> {
    let by_name: BTreeMap<&str, &Block> =
        blocks.iter().map(|block| (&*block.input, block)).collect();
    move |g, _, name| Ok(by_name.get(name).map(|block| block.parts(g)))
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

    /// Puts `mean + deviation * noise` in the place of a variable, or of the scalars of a block,
    /// with noise as an input of the variable's name.
    fn draw(
        &mut self,
        block: &Block,
        blocks: &[Block],
        given: &Graph,
        [mean, deviation]: [NodeId; 2],
    ) {
        let mut new = Graph::new();
        let given = new.import(given, &[mean, deviation], parts_of(blocks)).expect(FITS);
        let shape = new.shape(given[0]).clone();
        let noise = match &*block.members {
            [name] => new.input(name, Role::Parameter, shape, DType::Real).expect(FITS),
            _ => block.parts(&mut new),
        };
        let spread =
            if planted(Fault::ConditionalVariance) { new.square(given[1]) } else { given[1] };
        let spread = new.mul(spread, noise);
        let value = new.add(given[0], spread);
        let values = elements(&mut new, block, value);
        let old = &self.graph;
        let input = |id: NodeId| match &old.node(id).op {
            Op::Input { name, .. } => Some(&**name),
            _ => None,
        };
        let drawn = |id: NodeId| input(id).and_then(|name| values.get(name)).copied();
        if planted(Fault::IndependentDraws) {
            // Only what is recorded of the variable itself is drawn.
            let means = elements(&mut new, block, given[0]);
            let average = |_: &mut Graph, id: NodeId, _: &str| {
                Ok::<_, GraphError>(input(id).and_then(|name| means.get(name)).copied())
            };
            let others = new.import(old, &self.nodes, average).expect(FITS);
            let pick = |(&node, other)| drawn(node).unwrap_or(other);
            self.nodes = self.nodes.iter().zip(others).map(pick).collect();
            self.graph = new;
            return;
        }
        let replaced = |_: &mut Graph, id: NodeId, _: &str| Ok::<_, GraphError>(drawn(id));
        self.nodes = new.import(old, &self.nodes, replaced).expect(FITS);
        self.graph = new;
    }
}

/// The value of each variable of a block.
fn elements(g: &mut Graph, block: &Block, value: NodeId) -> BTreeMap<String, NodeId> {
    if let [name] = &*block.members {
        return BTreeMap::from([(name.clone(), value)]);
    }
    let mut all = BTreeMap::new();
    for (k, name) in block.members.iter().enumerate() {
        let element = g.slice(value, 0, k, k + 1);
        all.insert(name.clone(), g.reshape(element, Shape::scalar()));
    }
    all
}
