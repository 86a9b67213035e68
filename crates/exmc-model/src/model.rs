//! A checked model: nodes over one expression graph, plain data that rewrites turn into other
//! models.

use std::collections::{BTreeMap, BTreeSet};

use exmc_graph::{DType, Graph, NodeId, Op, Shape, Tensor};

use crate::diagnostic::Origin;
use crate::dist::Dist;
use crate::spec::{Centring, Reduce};
use crate::transform::Transform;

/// A probabilistic model. Made by [`ModelBuilder`](crate::ModelBuilder) or
/// [`read_json`](crate::read_json); it holds no closures, so it serialises and travels.
///
/// Its expressions are nodes of one graph whose inputs are names of nodes: a data node's name is a
/// data input, every other name stands for that node's constrained value.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) graph: Graph,
    pub(crate) nodes: BTreeMap<String, Node>,
    /// Names in the order of declaration, for printing.
    pub(crate) declared: Vec<String>,
    pub(crate) plates: BTreeMap<String, usize>,
}

/// One node of a model.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it was declared.
    pub origin: Origin,
    /// What it is.
    pub kind: Kind,
}

/// What a node of a model is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A random variable.
    Rv(Rv),
    /// An observation of a random variable or of a measurable image of one.
    Obs(Obs),
    /// A deterministic value.
    Det(NodeId),
    /// Data.
    Data(Data),
    /// A factor of the joint density, on the log scale; its elements are summed.
    Potential(NodeId),
}

/// A random variable.
#[derive(Clone, Debug)]
pub struct Rv {
    /// Its distribution; after non-centring that of the standardised variable.
    pub dist: Dist,
    /// Shape of the constrained value.
    pub shape: Shape,
    /// Names of its dimensions, outermost first, if they have names.
    pub plates: Vec<String>,
    /// Its map from the real line, once one is attached.
    pub transform: Option<Transform>,
    /// Whether to standardise it.
    pub centring: Centring,
    /// `value = location + scale * standardised`, after non-centring.
    pub standardised: Option<Standardised>,
}

/// How a non-centred variable is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standardised {
    /// Added last; nothing for pure scale families.
    pub location: Option<NodeId>,
    /// Multiplies the standardised variable.
    pub scale: NodeId,
}

/// An observation.
#[derive(Clone, Debug)]
pub struct Obs {
    /// The observed node.
    pub target: String,
    /// Its value.
    pub value: NodeId,
    /// Positions (row-major) that were not observed and stay free.
    pub missing: Vec<usize>,
    /// Whether it adds to the log density.
    pub likelihood: bool,
    /// Factors of the elementwise log densities.
    pub weight: Option<NodeId>,
    /// Elements that count are not 0 here.
    pub mask: Option<NodeId>,
    /// How elements become one number.
    pub reduce: Reduce,
    /// What is known of censored elements.
    pub censoring: Option<Censoring>,
    /// Added to the log densities: minus the log derivative of a measurable map.
    pub log_jacobian: Option<NodeId>,
    /// Whether the elements form one observation (a matrix image), not one each.
    pub joint: bool,
}

/// What is known of censored elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Censoring {
    /// 0 seen exactly, 1 above the value, -1 below, 2 between the value and `upper`.
    pub code: NodeId,
    /// Upper limits of intervals.
    pub upper: Option<NodeId>,
}

/// Declared data.
#[derive(Clone, Debug)]
pub struct Data {
    /// Real or integer.
    pub dtype: DType,
    /// Extents.
    pub shape: Shape,
    /// The value, unless it is still to come.
    pub value: Option<Tensor>,
}

impl Model {
    /// The expressions of all nodes.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// All nodes by name.
    pub fn nodes(&self) -> &BTreeMap<String, Node> {
        &self.nodes
    }

    /// Names of the free random variables (those not fully observed), bytewise sorted.
    pub fn free_variables(&self) -> Vec<&str> {
        let observed: BTreeSet<&str> = self
            .nodes
            .values()
            .filter_map(|n| match &n.kind {
                Kind::Obs(obs) if obs.missing.is_empty() => Some(self.resolve_alias(&obs.target)),
                _ => None,
            })
            .collect();
        let is_free = |(name, node): &(&String, &Node)| {
            matches!(node.kind, Kind::Rv(_)) && !observed.contains(name.as_str())
        };
        self.nodes.iter().filter(is_free).map(|(name, _)| name.as_str()).collect()
    }

    /// Every observed variable with its observation's name and itself (the bytewise first, of
    /// several).
    pub(crate) fn observations(&self) -> BTreeMap<&str, (&str, &Obs)> {
        let mut all = BTreeMap::new();
        for (name, node) in &self.nodes {
            if let Kind::Obs(obs) = &node.kind {
                all.entry(self.resolve_alias(&obs.target)).or_insert((name.as_str(), obs));
            }
        }
        all
    }

    /// The observation of a random variable, if it has one.
    pub fn observation_of(&self, rv: &str) -> Option<(&str, &Obs)> {
        self.nodes.iter().find_map(|(name, node)| match &node.kind {
            Kind::Obs(obs) if self.resolve_alias(&obs.target) == rv => Some((name.as_str(), obs)),
            _ => None,
        })
    }

    /// Declared data: name, declaration.
    pub fn data(&self) -> impl Iterator<Item = (&str, &Data)> {
        self.nodes.iter().filter_map(|(name, node)| match &node.kind {
            Kind::Data(data) => Some((name.as_str(), data)),
            _ => None,
        })
    }

    /// Shape of what a name refers to; `None` for observations, potentials and unknown names.
    pub fn shape_of(&self, name: &str) -> Option<&Shape> {
        match &self.nodes.get(name)?.kind {
            Kind::Rv(rv) => Some(&rv.shape),
            Kind::Det(value) => Some(self.graph.shape(*value)),
            Kind::Data(data) => Some(&data.shape),
            Kind::Obs(_) | Kind::Potential(_) => None,
        }
    }

    /// Names of the dimensions of a value, where they have names.
    pub fn plates_of(&self, name: &str) -> &[String] {
        match self.nodes.get(name).map(|n| &n.kind) {
            Some(Kind::Rv(rv)) => &rv.plates,
            _ => &[],
        }
    }

    /// The names that a set of expressions refers to.
    pub fn references(&self, roots: &[NodeId]) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut waiting = roots.to_vec();
        while let Some(id) = waiting.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = self.graph.node(id);
            if let Op::Input { name, .. } = &node.op {
                names.insert(&**name);
            }
            waiting.extend(&node.args);
        }
        names
    }

    /// A deterministic node that only renames another stands for that one.
    pub(crate) fn resolve_alias<'a>(&'a self, name: &'a str) -> &'a str {
        let mut name = name;
        // Aliases cannot form a cycle: building refuses cycles.
        while let Some(Kind::Det(value)) = self.nodes.get(name).map(|n| &n.kind) {
            match &self.graph.node(*value).op {
                Op::Input { name: other, .. } => name = other,
                _ => break,
            }
        }
        name
    }

    /// Names that the *value* of a node needs, for every node with a value.
    pub(crate) fn value_dependencies(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut all = BTreeMap::new();
        let observations = self.observations();
        for (name, node) in &self.nodes {
            let roots = match &node.kind {
                Kind::Det(value) => vec![*value],
                Kind::Data(_) => Vec::new(),
                Kind::Rv(rv) => {
                    let mut roots = Vec::new();
                    let observation = observations.get(name.as_str());
                    if let Some((_, obs)) = observation {
                        roots.push(obs.value);
                    }
                    if observation.is_none_or(|(_, obs)| !obs.missing.is_empty()) {
                        roots.extend(rv.transform.iter().flat_map(Transform::arguments));
                        if let Some(s) = rv.standardised {
                            roots.extend(s.location);
                            roots.push(s.scale);
                        }
                    }
                    roots
                }
                Kind::Obs(_) | Kind::Potential(_) => continue,
            };
            all.insert(name.as_str(), self.references(&roots));
        }
        all
    }

    /// Names of nodes with values, each after those that its value needs, ties in bytewise order.
    /// `Err` names a cycle's members.
    pub(crate) fn value_order(&self) -> Result<Vec<&str>, Vec<&str>> {
        topological_order(&self.value_dependencies())
    }
}

/// Kahn's algorithm with a sorted set of ready names, so that the order depends on names only.
pub(crate) fn topological_order<'a>(
    dependencies: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> Result<Vec<&'a str>, Vec<&'a str>> {
    let mut waiting: BTreeMap<&str, usize> =
        dependencies.iter().map(|(n, d)| (*n, d.len())).collect();
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, needs) in dependencies {
        for need in needs {
            users.entry(need).or_default().push(name);
        }
    }
    let mut ready: BTreeSet<&str> =
        waiting.iter().filter(|(_, n)| **n == 0).map(|(name, _)| *name).collect();
    let mut order = Vec::with_capacity(dependencies.len());
    while let Some(name) = ready.pop_first() {
        waiting.remove(name);
        order.push(name);
        for user in users.get(name).into_iter().flatten() {
            let left =
                waiting.get_mut(user).expect("a user waits until all that it needs is there");
            *left -= 1;
            if *left == 0 {
                ready.insert(user);
            }
        }
    }
    if waiting.is_empty() { Ok(order) } else { Err(waiting.into_keys().collect()) }
}

impl Model {
    /// The same model with every expression root replaced; `f` sees each root of each node.
    pub(crate) fn map_expressions(&self, f: &mut dyn FnMut(NodeId) -> NodeId) -> Self {
        let mut mapped = self.clone();
        for node in mapped.nodes.values_mut() {
            match &mut node.kind {
                Kind::Det(value) | Kind::Potential(value) => *value = f(*value),
                Kind::Data(_) => {}
                Kind::Rv(rv) => {
                    rv.dist = rv.dist.map_arguments(f);
                    rv.transform = rv.transform.map(|t| t.map_arguments(f));
                    if let Some(s) = &mut rv.standardised {
                        s.location = s.location.map(&mut *f);
                        s.scale = f(s.scale);
                    }
                }
                Kind::Obs(obs) => {
                    obs.value = f(obs.value);
                    for part in [&mut obs.weight, &mut obs.mask, &mut obs.log_jacobian] {
                        *part = part.map(&mut *f);
                    }
                    if let Some(censoring) = &mut obs.censoring {
                        censoring.code = f(censoring.code);
                        censoring.upper = censoring.upper.map(&mut *f);
                    }
                }
            }
        }
        mapped
    }
}
