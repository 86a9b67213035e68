//! Graph scans -> the text of JSON objects.

use exmc_graph::{Graph, NodeId, Op, ScanBody};

use super::tensor::write_tensor;
use super::write_expression::{children, quoted, settings, shared_nodes};

/// An output of a scan; `refer` gives the text of a node of the graph around it.
///
/// Names of the steps are made up, so that they are none of the graph's. What a step uses more than
/// once is one of its values.
pub(super) fn scan_text(graph: &Graph, id: NodeId, refer: &dyn Fn(NodeId) -> String) -> String {
    let Op::Project(output) = graph.node(id).op else {
        unreachable!("called for outputs of scans")
    };
    let node = graph.node(graph.node(id).args[0]);
    let Op::Scan { length, reverse, body } = &node.op else {
        unreachable!("outputs are those of scans")
    };
    let body = &*body.0;
    let [carries, sequences, _] = body.counts;
    let mut steps = Steps::new(graph, body, &node.args[carries + sequences..], refer);
    let [carry, row, _] = steps.prefixes.clone();
    let mut roots = body.next.clone();
    let each = output.checked_sub(carries).map(|k| body.stacked[k]);
    roots.extend(each);
    steps.number(&roots);
    let object = |fields: Vec<String>| format!("{{{}}}", fields.join(", "));
    let mut parts = Vec::new();
    if sequences > 0 {
        let field = |k: usize| {
            let name = quoted(&format!("{row}{k}"));
            format!("{name}: {}", refer(node.args[carries + k]))
        };
        parts.push(format!("\"sequences\": {}", object((0..sequences).map(field).collect())));
    } else {
        parts.push(format!("\"length\": {length}"));
    }
    if *reverse {
        parts.push("\"reverse\": true".to_owned());
    }
    let field = |k: usize| {
        let (name, start) = (quoted(&format!("{carry}{k}")), refer(node.args[k]));
        format!("{name}: {{\"start\": {start}, \"next\": {}}}", steps.text(body.next[k]))
    };
    let states = object((0..carries).map(field).collect());
    let result = match each {
        Some(each) => format!("\"each\": {}", steps.text(each)),
        None => format!("\"last\": {}", quoted(&format!("{carry}{output}"))),
    };
    if !steps.values.is_empty() {
        parts.push(format!("\"values\": {}", object(steps.values)));
    }
    if carries > 0 {
        parts.push(format!("\"carries\": {states}"));
    }
    parts.push(result);
    format!("{{\"scan\": {}}}", object(parts))
}

/// The steps of a loop as text.
struct Steps<'a> {
    graph: &'a Graph,
    /// What names of carries, sequences and values begin with.
    prefixes: [String; 3],
    /// What the names of fixed values stand for, outside of the steps.
    fixed: Vec<String>,
    numbers: Vec<Option<usize>>,
    values: Vec<String>,
}

impl<'a> Steps<'a> {
    fn new(
        outer: &Graph,
        body: &'a ScanBody,
        fixed: &[NodeId],
        refer: &dyn Fn(NodeId) -> String,
    ) -> Self {
        let taken = |prefix: &str| {
            outer.ids().any(|id| match &outer.node(id).op {
                Op::Input { name, .. } => name.starts_with(prefix),
                _ => false,
            })
        };
        let free = |prefix: &str| {
            let mut prefix = prefix.to_owned();
            while taken(&prefix) {
                prefix.push('_');
            }
            prefix
        };
        Self {
            graph: &body.graph,
            prefixes: ["state", "row", "value"].map(free),
            fixed: fixed.iter().map(|&id| refer(id)).collect(),
            numbers: vec![None; body.graph.len()],
            values: Vec::new(),
        }
    }

    /// Makes what is used more than once a value, arguments first.
    fn number(&mut self, roots: &[NodeId]) {
        let shared = shared_nodes(self.graph, roots);
        let needed = self.graph.reachable(roots);
        for id in self.graph.ids().filter(|id| needed[id.index()] && shared[id.index()]) {
            let number = self.values.len();
            let name = quoted(&format!("{}{number}", self.prefixes[2]));
            let text = format!("{name}: {}", self.text(id));
            self.values.push(text);
            self.numbers[id.index()] = Some(number);
        }
    }

    fn text(&self, id: NodeId) -> String {
        if let Some(number) = self.numbers[id.index()] {
            return quoted(&format!("{}{number}", self.prefixes[2]));
        }
        let node = self.graph.node(id);
        match &node.op {
            Op::Input { name, .. } => {
                let number = |kind: &str| name.strip_prefix(kind)?.parse::<usize>().ok();
                let [carry, row, _] = &self.prefixes;
                if let Some(k) = number("carry") {
                    quoted(&format!("{carry}{k}"))
                } else if let Some(k) = number("x") {
                    quoted(&format!("{row}{k}"))
                } else {
                    let k = number("fixed").expect("bodies have inputs of these names only");
                    self.fixed[k].clone()
                }
            }
            Op::Constant(tensor) => {
                let mut text = String::new();
                write_tensor(tensor, &mut text);
                text
            }
            Op::Project(_) => scan_text(self.graph, id, &|id| self.text(id)),
            op => {
                let mut parts = vec![quoted(op.name())];
                parts.extend(children(self.graph, id).into_iter().map(|child| self.text(child)));
                let settings = settings(self.graph, id);
                if !settings.is_empty() {
                    parts.push(format!("{{{}}}", settings.join(", ")));
                }
                format!("[{}]", parts.join(", "))
            }
        }
    }
}
