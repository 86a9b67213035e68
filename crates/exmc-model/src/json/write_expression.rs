//! Graph nodes -> the text of expressions, with what is used more than once written once.
//!
//! The text depends on the structure of the expressions only, not on node numbers, so that a model
//! that was written, read and written again gives the same text.

use exmc_graph::{Graph, NodeId, Op, Shape};

use super::tensor::write_tensor;
use super::write_scan::scan_text;
use crate::function::{attributes_of, is_list};

/// Deeper nesting is cut into shared expressions, which keeps lines short and readers' stacks
/// shallow.
const MAX_HEIGHT: usize = 40;
/// Parts with fewer nodes are repeated rather than shared.
const MIN_SHARED_SIZE: usize = 4;

/// The texts of every expression of a set of graphs.
pub(super) struct Texts<'g> {
    graphs: Vec<Plan<'g>>,
    /// The shared expressions, each using earlier ones only.
    pub(super) shared: Vec<String>,
}

struct Plan<'g> {
    graph: &'g Graph,
    shared: Vec<bool>,
    numbers: Vec<Option<usize>>,
}

impl<'g> Texts<'g> {
    /// Decides what is shared among these roots, which are in the order in which they are written.
    pub(super) fn new(roots: &[(&'g Graph, NodeId)]) -> Self {
        let mut texts = Self { graphs: Vec::new(), shared: Vec::new() };
        for &(graph, _) in roots {
            if texts.find(graph).is_none() {
                let graph_roots = roots.iter().filter(|(g, _)| std::ptr::eq(*g, graph));
                let graph_roots: Vec<_> = graph_roots.map(|(_, root)| *root).collect();
                let (shared, numbers) =
                    (shared_nodes(graph, &graph_roots), vec![None; graph.len()]);
                texts.graphs.push(Plan { graph, shared, numbers });
            }
        }
        for &(graph, root) in roots {
            let plan = texts.find(graph).expect("every graph was planned above");
            texts.number(plan, root);
        }
        texts
    }

    fn find(&self, graph: &Graph) -> Option<usize> {
        self.graphs.iter().position(|plan| std::ptr::eq(plan.graph, graph))
    }

    /// Writes the shared expressions below a root, arguments first.
    fn number(&mut self, plan: usize, root: NodeId) {
        let graph = self.graphs[plan].graph;
        let mut seen = vec![false; graph.len()];
        let mut stack = vec![(root, false)];
        while let Some((id, finished)) = stack.pop() {
            if finished {
                if self.graphs[plan].shared[id.index()] {
                    let text = self.call(plan, id);
                    self.graphs[plan].numbers[id.index()] = Some(self.shared.len());
                    self.shared.push(text);
                }
            } else if !seen[id.index()] && self.graphs[plan].numbers[id.index()].is_none() {
                seen[id.index()] = true;
                stack.push((id, true));
                stack.extend(children(graph, id).into_iter().rev().map(|child| (child, false)));
            }
        }
    }

    /// The text of an expression.
    pub(super) fn text(&self, graph: &Graph, id: NodeId) -> String {
        let plan = self.find(graph).expect("every graph was planned");
        self.reference(plan, id)
    }

    fn reference(&self, plan: usize, id: NodeId) -> String {
        match self.graphs[plan].numbers[id.index()] {
            Some(k) => format!("{{\"shared\": {k}}}"),
            None => self.call(plan, id),
        }
    }

    fn call(&self, plan: usize, id: NodeId) -> String {
        let graph = self.graphs[plan].graph;
        let node = graph.node(id);
        match &node.op {
            Op::Input { name, .. } => return quoted(name),
            Op::Constant(tensor) => {
                let mut text = String::new();
                write_tensor(tensor, &mut text);
                return text;
            }
            Op::Project(_) => return scan_text(graph, id, &|id| self.reference(plan, id)),
            _ => {}
        }
        let mut parts = vec![quoted(node.op.name())];
        parts.extend(children(graph, id).into_iter().map(|child| self.reference(plan, child)));
        let settings = settings(graph, id);
        if !settings.is_empty() {
            parts.push(format!("{{{}}}", settings.join(", ")));
        }
        format!("[{}]", parts.join(", "))
    }
}

/// The settings of a call that differ from their defaults.
pub(super) fn settings(graph: &Graph, id: NodeId) -> Vec<String> {
    let node = graph.node(id);
    let attributes = attributes_of(&node.op).expect("loops are written as objects");
    let first = node.args.first().map(|a| graph.shape(*a));
    let rank = first.map_or(0, Shape::rank);
    let mut settings = Vec::new();
    for (name, values) in &attributes.0 {
        let is_default = match (&node.op, name.as_str()) {
            (Op::Slice { .. } | Op::Concat { .. } | Op::CumSum { .. }, "axis") => *values == [0],
            (Op::Slice { .. }, "start") => *values == [0],
            (Op::Slice { .. }, "step") => *values == [1],
            (_, "reverse" | "transposed") => *values == [0],
            (_, "axes") => values.iter().copied().eq(0..rank),
            _ => false,
        };
        if is_default {
            continue;
        }
        let value = match name.as_str() {
            "reverse" | "transposed" => (*values != [0]).to_string(),
            _ if is_list(name) => format!("{values:?}"),
            _ => values.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
        };
        settings.push(format!("{}: {value}", quoted(name)));
    }
    settings
}

/// The arguments as they are written: without the broadcasts that reading puts back, and those of a
/// loop for its outputs.
pub(super) fn children(graph: &Graph, id: NodeId) -> Vec<NodeId> {
    let node = graph.node(id);
    if let Op::Project(_) = node.op {
        return graph.node(node.args[0]).args.clone();
    }
    if !node.op.is_elementwise() {
        return node.args.clone();
    }
    let stripped: Vec<_> =
        node.args.iter().map(|&a| without_broadcast(graph, a, &node.shape)).collect();
    let common =
        stripped.iter().try_fold(Shape::scalar(), |common, &a| common.broadcast(graph.shape(a)));
    if common.as_ref() == Some(&node.shape) { stripped } else { node.args.clone() }
}

/// What a node stretches to `shape`, if that is what it does; else the node.
pub(super) fn without_broadcast(graph: &Graph, id: NodeId, shape: &Shape) -> NodeId {
    match &graph.node(id).op {
        Op::Broadcast(to) if to == shape && graph.shape(graph.node(id).args[0]) != shape => {
            graph.node(id).args[0]
        }
        _ => id,
    }
}

/// Which nodes are written once and referred to.
pub(super) fn shared_nodes(graph: &Graph, roots: &[NodeId]) -> Vec<bool> {
    let n = graph.len();
    let mut uses = vec![0_usize; n];
    for root in roots {
        uses[root.index()] += 1;
    }
    for id in graph.ids().rev() {
        if uses[id.index()] > 0 {
            for child in children(graph, id) {
                uses[child.index()] += 1;
            }
        }
    }
    let (mut shared, mut size, mut height) = (vec![false; n], vec![1_usize; n], vec![0_usize; n]);
    for id in graph.ids().filter(|id| uses[id.index()] > 0) {
        let k = id.index();
        match &graph.node(id).op {
            Op::Input { .. } => continue,
            Op::Constant(tensor) => size[k] = tensor.values().len().max(1),
            _ => {
                for child in children(graph, id) {
                    let c = child.index();
                    let cut = shared[c];
                    size[k] += if cut { 1 } else { size[c] };
                    height[k] = height[k].max(if cut { 0 } else { height[c] } + 1);
                }
            }
        }
        shared[k] = (uses[k] > 1 && size[k] >= MIN_SHARED_SIZE) || height[k] >= MAX_HEIGHT;
    }
    shared
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
