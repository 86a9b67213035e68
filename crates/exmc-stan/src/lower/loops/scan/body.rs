//! Nodes with a row for each step -> operations on one step's numbers, in the body of a scan.

use std::rc::Rc;

use exmc_fault::{Fault, planted};
use exmc_graph::{DType, Dependence, Graph, NodeId, Op, Role, Shape, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Steps;
use super::chains::Chain;
use super::movement::Element;
use crate::typed::VariableId;

/// How deep expressions of one step may nest.
const DEPTH: usize = 300;

/// Known numbers that are stated in the body rather than handed to it.
const MAX_NUMBERS: usize = 64;

/// A node that depends on earlier steps, in the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laid {
    /// The body's node.
    pub(super) node: NodeId,
    /// Number of the list of the steps that have rows of it.
    pub(super) layout: usize,
}

/// One step's part of a node.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// It is the same in all steps: a node outside of the scan, of one step's extents.
    Same(NodeId),
    /// A node of the body.
    Own(NodeId),
}

/// The layout of nodes that have rows of every step.
pub(super) const ALL: usize = 0;

/// What a carried number is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Carry {
    /// A state.
    State(VariableId),
    /// What a chain's elements were so many steps before.
    Chain(usize, usize),
}

/// The elements of a late variable before and after the walk: a node and a place in it for each.
#[derive(Clone, Debug)]
pub(super) struct LateElements {
    pub(super) before: Vec<(NodeId, u32)>,
    pub(super) after: Vec<(NodeId, u32)>,
}

/// A scan's body while it is put together.
pub(super) struct StepBody<'a> {
    /// The graph with a row for each step.
    pub(super) g: &'a mut Graph,
    pub(super) steps: &'a Steps,
    pub(super) late: FxHashMap<VariableId, LateElements>,
    /// Whether a loop around is recorded, whose steps may have other numbers.
    pub(super) is_recorded: bool,
    /// Nodes that there were before the walk, and of those after them which depend on earlier
    /// steps.
    pub(super) first: usize,
    depends: Vec<bool>,
    /// One step.
    pub(super) body: Graph,
    laid: FxHashMap<NodeId, Laid>,
    /// Parts of nodes that do not depend on earlier steps, by layout.
    parts: FxHashMap<(NodeId, usize), Part>,
    pub(super) elements: FxHashMap<NodeId, Rc<Vec<Element>>>,
    layouts: Vec<Rc<[u32]>>,
    pub(super) chains: Vec<Chain>,
    pub(super) carries: Vec<(Carry, Shape)>,
    /// What carries of states are in the body.
    states: FxHashMap<VariableId, NodeId>,
    /// Arguments of the scan with their places in the body.
    pub(super) sequences: Vec<NodeId>,
    pub(super) fixed: Vec<NodeId>,
    of_sequence: FxHashMap<NodeId, NodeId>,
    of_fixed: FxHashMap<NodeId, NodeId>,
    depth: usize,
}

impl<'a> StepBody<'a> {
    pub(super) fn new(
        g: &'a mut Graph,
        steps: &'a Steps,
        late: FxHashMap<VariableId, LateElements>,
        first: usize,
        is_recorded: bool,
    ) -> Self {
        let mut depends = vec![false; g.len() - first];
        for (k, node) in g.nodes()[first..].iter().enumerate() {
            let is = |arg: &NodeId| arg.index() >= first && depends[arg.index() - first];
            depends[k] = node.args.iter().any(is);
            if let Op::Input { .. } = node.op {
                let id = g.find_input(input_name(&node.op));
                depends[k] = id.is_some_and(|id| {
                    steps.reads.contains_key(&id) || steps.states.values().any(|state| *state == id)
                });
            }
        }
        let all: Rc<[u32]> = (0..steps.count as u32).collect();
        Self {
            g,
            steps,
            late,
            is_recorded,
            first,
            depends,
            body: Graph::new(),
            laid: FxHashMap::default(),
            parts: FxHashMap::default(),
            elements: FxHashMap::default(),
            layouts: vec![all],
            chains: Vec::new(),
            carries: Vec::new(),
            states: FxHashMap::default(),
            sequences: Vec::new(),
            fixed: Vec::new(),
            of_sequence: FxHashMap::default(),
            of_fixed: FxHashMap::default(),
            depth: 0,
        }
    }

    /// Whether a node depends on what earlier steps wrote.
    pub(super) fn depends(&self, id: NodeId) -> bool {
        let dependence = id.index().checked_sub(self.first).and_then(|k| self.depends.get(k));
        dependence.copied().unwrap_or(false)
    }

    /// All nodes that do.
    pub(super) fn dependent(&self) -> FxHashSet<NodeId> {
        self.g.ids().skip(self.first).filter(|id| self.depends(*id)).collect()
    }

    /// The steps of a layout.
    pub(super) fn layout(&self, number: usize) -> Rc<[u32]> {
        self.layouts[number].clone()
    }

    /// The number of a list of steps, none of which comes twice: rows of a step that stand apart
    /// are not one row of it.
    pub(super) fn layout_of(&mut self, steps: &[u32]) -> Option<usize> {
        if let Some(number) = self.layouts.iter().position(|layout| **layout == *steps) {
            return Some(number);
        }
        let mut has_row = vec![false; self.steps.count];
        let comes_twice = |step: &u32| std::mem::replace(&mut has_row[*step as usize], true);
        if steps.iter().any(comes_twice) && !planted(Fault::StepTwiceInLayout) {
            return None;
        }
        self.layouts.push(steps.into());
        Some(self.layouts.len() - 1)
    }

    /// The extents of one step's part of an array with rows of a layout's steps: several rows of a
    /// step stay an axis.
    pub(super) fn shape_in_step(&self, shape: &Shape, layout: usize) -> Option<Shape> {
        let count = self.layouts[layout].len();
        let (rows, rest) = shape.extents().split_first()?;
        if count == 0 || rows % count != 0 || *rows == 0 {
            return None;
        }
        Some(match rows / count {
            1 => Shape::from(rest),
            rows_per_step => Shape::from([rows_per_step]).join(rest),
        })
    }

    /// One step's part of a node that depends on earlier steps.
    pub(super) fn value(&mut self, id: NodeId) -> Option<Laid> {
        if let Some(laid) = self.laid.get(&id) {
            return Some(*laid);
        }
        if self.depth > DEPTH {
            return None;
        }
        self.depth += 1;
        let laid = self.laid_anew(id);
        self.depth -= 1;
        let laid = laid?;
        self.laid.insert(id, laid);
        Some(laid)
    }

    fn laid_anew(&mut self, id: NodeId) -> Option<Laid> {
        let node = self.g.node(id).clone();
        match &node.op {
            Op::Input { .. } => self.input(id),
            _ if self.is_movement(id) => self.moved(id),
            Op::Unary(_) | Op::Binary(_) | Op::Ternary(_) | Op::Hold => {
                let layout = self.common_layout(&node.args)?;
                let args = self.arguments(&node.args, layout)?;
                let node = self.body.apply(node.op.clone(), &args).ok()?;
                Some(Laid { node, layout })
            }
            Op::Broadcast(shape) => {
                let arg = node.args[0];
                let Laid { node, layout } = self.value(arg)?;
                let before = self.g.shape(arg);
                if before.rank() != shape.rank() || before.extents()[0] != shape.extents()[0] {
                    return None;
                }
                let shape = self.shape_in_step(shape, layout)?;
                Some(Laid { node: self.body.broadcast_to(node, &shape), layout })
            }
            Op::Reduce(reduction, axes) => {
                let Laid { node: operand, layout } = self.value(node.args[0])?;
                let axes = self.axes_in_step(node.args[0], axes, layout)?;
                Some(Laid { node: self.body.reduce(*reduction, operand, &axes), layout })
            }
            Op::CumSum { axis, reverse } => {
                let Laid { node: operand, layout } = self.value(node.args[0])?;
                let axis = self.axes_in_step(node.args[0], &[*axis], layout)?[0];
                let op = Op::CumSum { axis, reverse: *reverse };
                Some(Laid { node: self.body.apply(op, &[operand]).ok()?, layout })
            }
            Op::Permute(order) => {
                let Laid { node: operand, layout } = self.value(node.args[0])?;
                let (first, rest) = order.split_first()?;
                if *first != 0 {
                    return None;
                }
                let lost = self.lost_axes(node.args[0], layout)?;
                let order: Vec<usize> = match lost {
                    0 => order.clone(),
                    _ => rest.iter().map(|axis| axis - 1).collect(),
                };
                Some(Laid { node: self.body.apply(Op::Permute(order), &[operand]).ok()?, layout })
            }
            Op::MatMul => {
                // Rows of steps times a matrix that is the same in all of them.
                let [rows, matrix] = node.args[..] else { return None };
                if self.depends(matrix) {
                    return None;
                }
                let Laid { node: operand, layout } = self.value(rows)?;
                let fixed = self.fixed_in_body(matrix)?;
                let wanted = self.shape_in_step(&node.shape, layout)?;
                let width = *self.g.shape(rows).extents().last()?;
                let own_rows = self.body.shape(operand).len() / width.max(1);
                let operand = self.reshaped(operand, [own_rows, width].into());
                let product = self.body.apply(Op::MatMul, &[operand, fixed]).ok()?;
                Some(Laid { node: self.reshaped(product, wanted), layout })
            }
            _ => None,
        }
    }

    /// How many of a node's axes a step's part lacks: the first one where each step has one row.
    fn lost_axes(&self, id: NodeId, layout: usize) -> Option<usize> {
        let shape = self.g.shape(id);
        let step_shape = self.shape_in_step(shape, layout)?;
        Some(shape.rank() - step_shape.rank())
    }

    fn axes_in_step(&self, id: NodeId, axes: &[usize], layout: usize) -> Option<Vec<usize>> {
        let lost = self.lost_axes(id, layout)?;
        axes.iter().map(|axis| (*axis > 0).then(|| axis - lost)).collect()
    }

    /// The layout that all arguments have which depend on earlier steps.
    fn common_layout(&mut self, args: &[NodeId]) -> Option<usize> {
        let mut common = None;
        for arg in args {
            if !self.depends(*arg) {
                continue;
            }
            let layout = self.value(*arg)?.layout;
            if *common.get_or_insert(layout) != layout {
                return None;
            }
        }
        common
    }

    /// Arguments of an elementwise operation.
    fn arguments(&mut self, args: &[NodeId], layout: usize) -> Option<Vec<NodeId>> {
        args.iter().map(|arg| self.argument(*arg, layout)).collect()
    }

    /// One step's part of a node with rows of a layout's steps.
    pub(super) fn argument(&mut self, id: NodeId, layout: usize) -> Option<NodeId> {
        match self.part(id, layout)? {
            Part::Own(node) => Some(node),
            Part::Same(outer) => self.stated(outer),
        }
    }

    /// What is the same in all steps, in the body; what is stretched is stretched there.
    fn stated(&mut self, outer: NodeId) -> Option<NodeId> {
        let node = self.g.node(outer).clone();
        if let Some(value) = self.g.as_uniform(outer) {
            let number = self.body.constant(number(value, node.dtype)?);
            return Some(self.body.broadcast_to(number, &node.shape));
        }
        match node.op {
            Op::Broadcast(_) => {
                let argument = self.stated(node.args[0])?;
                Some(self.body.broadcast_to(argument, &node.shape))
            }
            _ => self.fixed_in_body(outer),
        }
    }

    /// The same, outside of the scan where it is the same in all steps.
    fn part(&mut self, id: NodeId, layout: usize) -> Option<Part> {
        if self.depends(id) {
            let laid = self.value(id)?;
            return (laid.layout == layout).then_some(Part::Own(laid.node));
        }
        if let Some(part) = self.parts.get(&(id, layout)) {
            return Some(*part);
        }
        if self.depth > DEPTH {
            return None;
        }
        self.depth += 1;
        let part = self.part_anew(id, layout);
        self.depth -= 1;
        let part = part?;
        self.parts.insert((id, layout), part);
        Some(part)
    }

    fn part_anew(&mut self, id: NodeId, layout: usize) -> Option<Part> {
        let node = self.g.node(id).clone();
        let shape = self.shape_in_step(&node.shape, layout)?;
        if let Some(value) = self.g.as_uniform(id) {
            let number = self.g.constant(number(value, node.dtype)?);
            return Some(Part::Same(self.g.broadcast_to(number, &shape)));
        }
        // What was there before the loop, and what data tell, is a sequence as it is.
        let is_new = id.index() >= self.first && self.g.dependence(id) == Dependence::Parameter;
        match &node.op {
            Op::Broadcast(_) if !self.is_movement(id) => {
                let arg = node.args[0];
                let before = self.g.shape(arg).clone();
                let same_rank = before.rank() == node.shape.rank();
                if same_rank && before.extents()[0] == node.shape.extents()[0] {
                    return Some(match self.part(arg, layout)? {
                        Part::Same(outer) => Part::Same(self.g.broadcast_to(outer, &shape)),
                        Part::Own(inner) => Part::Own(self.body.broadcast_to(inner, &shape)),
                    });
                }
                // It has no rows of steps.
                let arg = match same_rank {
                    true => self.g.reshape(arg, Shape::from(&before.extents()[1..])),
                    false => arg,
                };
                Some(Part::Same(self.g.broadcast_to(arg, &shape)))
            }
            Op::Unary(_) | Op::Binary(_) | Op::Ternary(_) | Op::Hold if is_new => {
                let parts: Vec<Part> =
                    node.args.iter().map(|arg| self.part(*arg, layout)).collect::<Option<_>>()?;
                self.applied(&node.op, &parts)
            }
            Op::Reduce(_, axes) if is_new && !axes.contains(&0) => {
                let part = self.part(node.args[0], layout)?;
                let lost = self.lost_axes(node.args[0], layout)?;
                let axes: Vec<usize> = axes.iter().map(|axis| axis - lost).collect();
                let Op::Reduce(how, _) = node.op else { return None };
                self.applied(&Op::Reduce(how, axes), &[part])
            }
            _ if self.is_movement(id) || self.g.as_constant(id).is_some() => {
                let elements = self.elements_of(id)?;
                match self.same_in_all(&elements, layout, &shape)? {
                    Some(outer) => Some(Part::Same(outer)),
                    None if is_new => {
                        let inner = self.chosen(&elements, layout)?;
                        Some(Part::Own(self.reshaped(inner, shape)))
                    }
                    None => self.as_sequence(id, layout, &shape),
                }
            }
            _ => self.as_sequence(id, layout, &shape),
        }
    }

    /// An operation on parts: outside where none of them differs among steps.
    fn applied(&mut self, op: &Op, parts: &[Part]) -> Option<Part> {
        let outer: Option<Vec<NodeId>> = parts
            .iter()
            .map(|part| match part {
                Part::Same(outer) => Some(*outer),
                Part::Own(_) => None,
            })
            .collect();
        if let Some(outer) = outer {
            return Some(Part::Same(self.g.apply(op.clone(), &outer).ok()?));
        }
        let mut args = Vec::with_capacity(parts.len());
        for part in parts {
            args.push(match part {
                Part::Own(node) => *node,
                Part::Same(outer) => self.stated(*outer)?,
            });
        }
        Some(Part::Own(self.body.apply(op.clone(), &args).ok()?))
    }

    fn as_sequence(&mut self, id: NodeId, layout: usize, shape: &Shape) -> Option<Part> {
        let rows = Shape::from([self.layouts[layout].len()]).join(shape.extents());
        let mut outer = self.g.reshape(id, rows);
        if layout != ALL {
            let index = self.g.constant(Tensor::indices(&self.nearest(layout)));
            outer = self.g.gather(outer, index);
        }
        self.sequence(outer).map(Part::Own)
    }

    /// For each step, the row of the last of a layout's steps that is not after it (of the first,
    /// where all are). Rows of elements that steps add to are in the order of the elements, not of
    /// the steps.
    fn nearest(&self, layout: usize) -> Vec<usize> {
        let steps = &self.layouts[layout];
        let mut rows: Vec<usize> = (0..steps.len()).collect();
        rows.sort_by_key(|row| steps[*row]);
        let mut next = 0;
        (0..self.steps.count as u32)
            .map(|step| {
                while next + 1 < rows.len() && steps[rows[next + 1]] <= step {
                    next += 1;
                }
                rows.get(next).copied().unwrap_or(0)
            })
            .collect()
    }

    /// A sequence's place in the body: its outermost axis runs over the steps.
    pub(super) fn sequence(&mut self, outer: NodeId) -> Option<NodeId> {
        if let Some(input) = self.of_sequence.get(&outer) {
            return Some(*input);
        }
        let node = self.g.node(outer);
        let shape = Shape::from(node.shape.extents().get(1..)?);
        let name = format!("x{}", self.sequences.len());
        let input = declared(&mut self.body, &name, shape, node.dtype)?;
        self.sequences.push(outer);
        self.of_sequence.insert(outer, input);
        Some(input)
    }

    /// What is the same in all steps, in the body.
    pub(super) fn fixed_in_body(&mut self, outer: NodeId) -> Option<NodeId> {
        if let Some(inner) = self.of_fixed.get(&outer) {
            return Some(*inner);
        }
        let node = self.g.node(outer);
        let stated = self.g.as_constant(outer).filter(|tensor| {
            let few = !self.is_recorded && tensor.values().len() <= MAX_NUMBERS;
            few || tensor.dtype() == DType::Int
        });
        let inner = match stated {
            Some(tensor) => self.body.constant(tensor.clone()),
            None => {
                let name = format!("fixed{}", self.fixed.len());
                let inner = declared(&mut self.body, &name, node.shape.clone(), node.dtype)?;
                self.fixed.push(outer);
                inner
            }
        };
        self.of_fixed.insert(outer, inner);
        Some(inner)
    }

    /// A number that is 1 in some steps and 0 in the others.
    pub(super) fn mask(&mut self, steps: impl Iterator<Item = u32>) -> Option<NodeId> {
        let mut mask = vec![0.0; self.steps.count];
        steps.for_each(|step| mask[step as usize] = 1.0);
        let mask = self.g.constant(Tensor::real([mask.len()], mask)?);
        self.sequence(mask)
    }

    /// A body's node under another shape.
    pub(super) fn reshaped(&mut self, node: NodeId, shape: Shape) -> NodeId {
        let mut from = node;
        while let Op::Reshape(_) = self.body.node(from).op {
            from = self.body.node(from).args[0];
        }
        self.body.reshape(from, shape)
    }

    /// A carried number.
    pub(super) fn carry(&mut self, what: Carry, shape: Shape) -> Option<NodeId> {
        let name = format!("carry{}", self.carries.len());
        let input = declared(&mut self.body, &name, shape.clone(), DType::Real)?;
        self.carries.push((what, shape));
        Some(input)
    }

    /// The number of the carry of a state, if it is one.
    pub(super) fn carry_of_state(&self, id: VariableId) -> Option<usize> {
        self.carries
            .iter()
            .position(|(what, _)| matches!(what, Carry::State(state) if *state == id))
    }

    fn input(&mut self, id: NodeId) -> Option<Laid> {
        if self.steps.reads.contains_key(&id) {
            return self.late_read(id);
        }
        let (variable, _) =
            self.steps.states.iter().find(|(_, placeholder)| **placeholder == id)?;
        let node = match self.states.get(variable) {
            Some(node) => *node,
            None => {
                let shape = Shape::from(&self.g.shape(id).extents()[1..]);
                let node = self.carry(Carry::State(*variable), shape)?;
                self.states.insert(*variable, node);
                node
            }
        };
        Some(Laid { node, layout: ALL })
    }
}

fn declared(body: &mut Graph, name: &str, shape: Shape, dtype: DType) -> Option<NodeId> {
    let role = if dtype == DType::Int { Role::Data } else { Role::Parameter };
    body.input(name, role, shape, dtype).ok()
}

fn input_name(op: &Op) -> &str {
    match op {
        Op::Input { name, .. } => name,
        _ => "",
    }
}

/// A number as a constant of a kind.
pub(super) fn number(value: f64, dtype: DType) -> Option<Tensor> {
    match dtype {
        DType::Real => Some(Tensor::scalar(value)),
        DType::Int => Tensor::int(Shape::scalar(), vec![value]),
    }
}
