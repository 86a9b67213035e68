//! An observation of an invertible image of a random variable -> an observation of the variable
//! itself, with the logarithm of the map's Jacobian.
//!
//! For `y = a x + b` seen as v: $\log p_y(v) = \log p_x((v-b)/a) - \log|a|$ by element; for `y = A
//! x + b` with a square matrix: $\log p_x(A^{-1}(v-b)) - \log|\det A|$. Slopes, matrices and
//! offsets may depend on other variables. When several variables enter affinely (a sum of two), the
//! bytewise first one that no other of them and nothing else refers to is solved for; the joint
//! density is the same whichever it is. Later images are written in terms of the variables that are
//! left, so that a sum and a difference of two variables can both be observed.

use std::collections::{BTreeMap, BTreeSet};

use exmc_graph::{Binary, Dependence, Graph, NodeId, Op, Unary, evaluate};

use crate::build::check_value_order;
use crate::diagnostic::{Code, Diagnostic, ModelError};
use crate::model::{Kind, Model, Node, Obs};
use crate::support::Support;
use crate::transform::Transform;

/// Lifts observed elementwise affine images.
pub(super) fn lift_measurable_affine(model: &Model) -> Result<Model, ModelError> {
    lift(model, |g, value, x| {
        let (slope, offset) = affine_in(g, value, x)?;
        let slope = slope?;
        (g.shape(value) == g.shape(x)).then_some(Image { slope: Slope::Elementwise(slope), offset })
    })
}

/// Lifts observed matrix images.
pub(super) fn lift_measurable_matmul(model: &Model) -> Result<Model, ModelError> {
    lift(model, |g, value, x| {
        let (matrix, offset) = matrix_in(g, value, x)?;
        let square = g.shape(matrix).extents()[0] == g.shape(matrix).extents()[1];
        square.then_some(Image { slope: Slope::Matrix(matrix), offset })
    })
}

/// `slope * x + offset`.
struct Image {
    slope: Slope,
    offset: Option<NodeId>,
}

enum Slope {
    Elementwise(NodeId),
    Matrix(NodeId),
}

fn lift(
    model: &Model,
    recognise: impl Fn(&mut Graph, NodeId, NodeId) -> Option<Image>,
) -> Result<Model, ModelError> {
    let images: Vec<(&String, &Node, &Obs)> = model
        .nodes
        .iter()
        .filter_map(|(name, node)| match &node.kind {
            Kind::Obs(obs) if is_deterministic(model, &obs.target) => Some((name, node, obs)),
            _ => None,
        })
        .collect();
    let mut rewritten = model.clone();
    if images.is_empty() {
        return Ok(rewritten);
    }
    let mut mistakes = Vec::new();
    let mut known = Known::new(model);
    for (name, node, obs) in images {
        let value = known.inline(&mut rewritten.graph, &obs.target);
        let candidates = known.candidates(&rewritten, value, &obs.target);
        let graph = &mut rewritten.graph;
        let found = candidates.into_iter().find_map(|variable| {
            let x = graph.find_input(&variable)?;
            Some((variable, recognise(graph, value, x)?))
        });
        let Some((variable, Image { slope, offset })) = found else { continue };
        let centred = match offset {
            Some(offset) => graph.sub(obs.value, offset),
            None => obs.value,
        };
        let (solved, log_jacobian, singular) = match slope {
            Slope::Elementwise(slope) => {
                let size = graph.abs(slope);
                let log_size = graph.log(size);
                let log_size = graph.broadcast_to(log_size, &graph.shape(value).clone());
                (graph.div(centred, slope), graph.neg(log_size), log_size)
            }
            Slope::Matrix(matrix) => {
                let log_size = graph.log_abs_det(matrix);
                (graph.solve(matrix, centred), graph.neg(log_size), log_size)
            }
        };
        let joint = matches!(slope, Slope::Matrix(_));
        let Some(Kind::Rv(rv)) = model.nodes.get(&variable).map(|n| &n.kind) else { continue };
        // A probability mass has no Jacobian.
        let log_jacobian = if rv.dist.is_discrete() { graph.scalar(0.0) } else { log_jacobian };
        if graph.dependence(singular) == Dependence::Constant {
            let logs = evaluate(graph, &[singular], &|_| None);
            let invertible = logs.is_ok_and(|v| v[0].values().iter().all(|l| l.is_finite()));
            if !invertible {
                let what = if joint { "matrix is singular" } else { "slope is zero" };
                let message = format!(
                    "the map from `{variable}` to `{}` cannot be inverted: its {what}",
                    obs.target
                );
                let help = "an observed image needs a map that can be undone";
                mistakes.push(
                    Diagnostic::new(Code::SingularMatrix, message)
                        .help(help)
                        .at(name, &node.origin),
                );
                continue;
            }
        }
        if joint && (obs.mask.is_some() || obs.weight.is_some() || !obs.missing.is_empty()) {
            let message = format!(
                "`{}` is one joint observation: its elements take no mask or weight",
                obs.target
            );
            mistakes.push(Diagnostic::new(Code::BadObservation, message).at(name, &node.origin));
            continue;
        }
        if rv.dist.event_rank() > 0 && (obs.mask.is_some() || obs.weight.is_some()) {
            let message = format!(
                "`{}` is an image of whole outcomes of `{variable}`: its elements take no mask or weight",
                obs.target
            );
            mistakes.push(Diagnostic::new(Code::BadObservation, message).at(name, &node.origin));
            continue;
        }
        if obs.censoring.is_some() || !obs.missing.is_empty() {
            let message = format!(
                "`{}` is an image of `{variable}`: it cannot be censored or partly observed",
                obs.target
            );
            let help = "observe the variable itself";
            mistakes.push(
                Diagnostic::new(Code::BadObservation, message).help(help).at(name, &node.origin),
            );
            continue;
        }
        let node = rewritten.nodes.get_mut(name).expect("the rewritten model has the same nodes");
        let Kind::Obs(lifted) = &mut node.kind else { unreachable!("it was an observation above") };
        lifted.target = variable.clone();
        lifted.value = solved;
        lifted.log_jacobian = Some(log_jacobian);
        lifted.joint = joint;
        known.solve(&mut rewritten.graph, variable, solved);
    }
    ModelError::check(mistakes)?;
    check_value_order(&rewritten)?;
    Ok(rewritten)
}

fn is_deterministic(model: &Model, name: &str) -> bool {
    matches!(model.nodes.get(name).map(|n| &n.kind), Some(Kind::Det(_)))
}

/// What is known while observed images are solved one after the other.
struct Known<'m> {
    model: &'m Model,
    /// Variables that observed images were solved for, in terms of variables that were not.
    solved: BTreeMap<String, NodeId>,
    /// Variables with an observation.
    observed: BTreeSet<String>,
    /// For each name, the names in its expression or in its distribution's arguments and limits.
    needs: BTreeMap<&'m str, BTreeSet<&'m str>>,
}

impl<'m> Known<'m> {
    fn new(model: &'m Model) -> Self {
        let observations = model.observations();
        let is_rv = |n: &str| matches!(model.nodes.get(n).map(|n| &n.kind), Some(Kind::Rv(_)));
        let observed = observations.keys().filter(|n| is_rv(n)).map(|n| (*n).to_owned()).collect();
        let mut needs = BTreeMap::new();
        let mut solved = BTreeMap::new();
        for (name, node) in &model.nodes {
            let roots = match &node.kind {
                Kind::Det(value) | Kind::Potential(value) => vec![*value],
                Kind::Rv(rv) => {
                    let limits = rv.transform.iter().flat_map(Transform::arguments);
                    let moved =
                        rv.standardised.into_iter().flat_map(|s| [Some(s.scale), s.location]);
                    rv.dist.arguments().into_iter().chain(limits).chain(moved.flatten()).collect()
                }
                Kind::Obs(obs) => {
                    // Solved for by an earlier pass.
                    if obs.log_jacobian.is_some() && obs.missing.is_empty() {
                        solved.insert(obs.target.clone(), obs.value);
                    }
                    continue;
                }
                Kind::Data(_) => continue,
            };
            needs.insert(name.as_str(), model.references(&roots));
        }
        Self { model, solved, observed, needs }
    }

    /// Remembers that an image was solved for `variable`; earlier solutions no longer refer to it.
    fn solve(&mut self, g: &mut Graph, variable: String, value: NodeId) {
        for earlier in self.solved.values_mut() {
            let source = g.clone();
            *earlier = import(g, &source, *earlier, |name| (name == variable).then_some(value));
        }
        self.observed.insert(variable.clone());
        self.solved.insert(variable, value);
    }

    /// The value of a deterministic node in terms of variables that have not been solved for. Every
    /// node on the way is looked at once.
    fn inline(&self, g: &mut Graph, target: &str) -> NodeId {
        let mut needed = BTreeSet::from([target]);
        let mut rest = vec![target];
        while let Some(name) = rest.pop() {
            let deterministic = |n: &&&str| is_deterministic(self.model, n);
            for next in self.needs.get(name).into_iter().flatten().filter(deterministic) {
                if needed.insert(next) {
                    rest.push(next);
                }
            }
        }
        let order = self.model.value_order().expect("our bug: building refuses cycles");
        let mut inlined: BTreeMap<&str, NodeId> = BTreeMap::new();
        for name in order.into_iter().filter(|n| needed.contains(n)) {
            let Some(Kind::Det(value)) = self.model.nodes.get(name).map(|n| &n.kind) else {
                continue;
            };
            // The graphs share all nodes of the model's.
            let made = import(g, &self.model.graph, *value, |reference| {
                let solved = || self.solved.get(reference).copied();
                inlined.get(reference).copied().or_else(solved)
            });
            inlined.insert(name, made);
        }
        inlined[target]
    }

    /// Variables in a value that it may be solved for, best first: continuous ones, those that no
    /// other of them waits for, those that nothing else refers to, by name.
    fn candidates(&self, rewritten: &Model, value: NodeId, target: &str) -> Vec<String> {
        let mut found = Vec::new();
        for name in rewritten.references(&[value]) {
            let Some(Kind::Rv(rv)) = self.model.nodes.get(name).map(|n| &n.kind) else { continue };
            // A simplex or a factor of a matrix is an image of fewer numbers, not of its elements.
            let is_elementwise = rv.dist.event_rank() == 0 || rv.dist.support() == Support::Real;
            if is_elementwise && !self.observed.contains(name) {
                found.push((rv.dist.is_discrete(), name));
            }
        }
        let waits: BTreeMap<&str, BTreeSet<&str>> = match found.as_slice() {
            [] | [_] => BTreeMap::new(),
            several => several.iter().map(|(_, n)| (*n, self.ancestors(n))).collect(),
        };
        let rank = |(discrete, name): &(bool, &str)| {
            let waited_for = waits.values().any(|ancestors| ancestors.contains(name));
            let used =
                |(user, needs): (&&str, &BTreeSet<&str>)| *user != target && needs.contains(name);
            (*discrete, waited_for, self.needs.iter().any(used), (*name).to_owned())
        };
        found.sort_by_cached_key(rank);
        found.into_iter().map(|(_, name)| name.to_owned()).collect()
    }

    fn ancestors(&self, name: &str) -> BTreeSet<&str> {
        let mut all = BTreeSet::new();
        let mut rest = vec![name];
        while let Some(name) = rest.pop() {
            for &next in self.needs.get(name).into_iter().flatten() {
                if all.insert(next) {
                    rest.push(next);
                }
            }
        }
        all
    }
}

fn import(
    g: &mut Graph,
    source: &Graph,
    root: NodeId,
    substitute: impl Fn(&str) -> Option<NodeId>,
) -> NodeId {
    g.import(source, &[root], |_, _, name| Ok::<_, exmc_graph::GraphError>(substitute(name)))
        .expect("our bug: building checked all shapes")[0]
}

/// Slope (nothing for zero) and offset (nothing for zero) of a node that is affine in `x`, or
/// `None`.
fn affine_in(g: &mut Graph, value: NodeId, x: NodeId) -> Option<(Option<NodeId>, Option<NodeId>)> {
    let needed = g.reachable(&[value]);
    if !needed[x.index()] {
        return Some((None, Some(value)));
    }
    // Of those nodes on the way that depend on x; arguments come before their users.
    let mut forms: BTreeMap<NodeId, (Option<NodeId>, Option<NodeId>)> = BTreeMap::new();
    forms.insert(x, (Some(g.scalar(1.0)), None));
    for id in g.ids().skip(x.index() + 1).take_while(|id| *id <= value) {
        if !needed[id.index()] || !g.node(id).args.iter().any(|a| forms.contains_key(a)) {
            continue;
        }
        let found = g.node(id).clone();
        let form_of = |a: NodeId| forms.get(&a).copied().unwrap_or((None, Some(a)));
        let add = |g: &mut Graph, a: Option<NodeId>, b: Option<NodeId>| match (a, b) {
            (Some(a), Some(b)) => Some(g.add(a, b)),
            (a, b) => a.or(b),
        };
        let negate = |g: &mut Graph, a: Option<NodeId>| a.map(|a| g.neg(a));
        let form = match (&found.op, found.args.as_slice()) {
            (Op::Unary(Unary::Neg), &[a]) => {
                let (slope, offset) = form_of(a);
                (negate(g, slope), negate(g, offset))
            }
            (Op::Binary(Binary::Add), &[a, b]) => {
                let ((sa, oa), (sb, ob)) = (form_of(a), form_of(b));
                (add(g, sa, sb), add(g, oa, ob))
            }
            (Op::Binary(Binary::Sub), &[a, b]) => {
                let ((sa, oa), (sb, ob)) = (form_of(a), form_of(b));
                let (sb, ob) = (negate(g, sb), negate(g, ob));
                (add(g, sa, sb), add(g, oa, ob))
            }
            (Op::Binary(Binary::Mul), &[a, b]) => {
                let ((sa, oa), (sb, ob)) = (form_of(a), form_of(b));
                let (factor, slope, offset) = match (sa, sb) {
                    (None, _) => (a, sb, ob),
                    (_, None) => (b, sa, oa),
                    _ => return None,
                };
                (slope.map(|s| g.mul(factor, s)), offset.map(|o| g.mul(factor, o)))
            }
            (Op::Binary(Binary::Div), &[a, b]) => {
                let ((sa, oa), (None, _)) = (form_of(a), form_of(b)) else { return None };
                (sa.map(|s| g.div(s, b)), oa.map(|o| g.div(o, b)))
            }
            _ => return None,
        };
        forms.insert(id, form);
    }
    forms.get(&value).copied()
}

/// Matrix and offset (nothing for zero) of `A x + b`, or `None`.
fn matrix_in(g: &mut Graph, value: NodeId, x: NodeId) -> Option<(NodeId, Option<NodeId>)> {
    let needed = g.reachable(&[value]);
    if !needed[x.index()] || g.shape(x).rank() != 1 {
        return None;
    }
    let mut forms: BTreeMap<NodeId, (NodeId, Option<NodeId>)> = BTreeMap::new();
    for id in g.ids().skip(x.index() + 1).take_while(|id| *id <= value) {
        let moves = |a: &NodeId| *a == x || forms.contains_key(a);
        if !needed[id.index()] || !g.node(id).args.iter().any(moves) {
            continue;
        }
        let found = g.node(id).clone();
        let form = match (&found.op, found.args.as_slice()) {
            (Op::MatMul, &[matrix, vector]) if vector == x && !moves(&matrix) => (matrix, None),
            (Op::Binary(Binary::Add), &[a, b]) if moves(&a) != moves(&b) => {
                let (image, other) = if moves(&a) { (a, b) } else { (b, a) };
                let (matrix, offset) = forms.get(&image).copied()?;
                (matrix, Some(offset.map_or(other, |o| g.add(o, other))))
            }
            (Op::Binary(Binary::Sub), &[a, b]) if !moves(&b) => {
                let (matrix, offset) = forms.get(&a).copied()?;
                let minus = g.neg(b);
                (matrix, Some(offset.map_or(minus, |o| g.add(o, minus))))
            }
            _ => return None,
        };
        forms.insert(id, form);
    }
    forms.get(&value).copied()
}
