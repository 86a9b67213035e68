//! Iterations of a loop, laid over each other: the nodes that stand at one place in each -> one
//! item of a scan's body.
//!
//! A place is a row of nodes, one an iteration. Rows are compared from what iterations wrote down
//! to what they read; a row whose nodes do different things ends the stretch at the first that
//! differs.

use std::collections::BTreeMap;
use std::ops::Range;

use exmc_graph::{Binary, DType, Dependence, Graph, NodeId, Op, Shape, Tensor};
use rustc_hash::FxHashMap;

use super::LoopTrace;
use super::carried_array::CarriedArray;

/// How deep expressions of one iteration may nest.
pub(in crate::lower) const DEPTH: usize = 400;

/// Something that a step of a scan reads or computes; its arguments come before it.
#[derive(Debug)]
pub(in crate::lower) enum Item {
    /// One node of outside, the same in every step.
    Fixed(NodeId),
    /// What the iteration `lag` steps before wrote.
    State {
        /// The number of the write.
        write: usize,
        /// How many steps before.
        lag: usize,
    },
    /// Known numbers, along an axis of steps.
    Known(Tensor),
    /// Elements of one node of outside.
    Picked(Picked),
    /// An array that is carried.
    CarriedArray(CarriedArray),
    /// An operation on other items.
    Apply(Op, Vec<usize>),
}

/// Elements of a node, as many in every step.
#[derive(Debug)]
pub(in crate::lower) struct Picked {
    /// The node.
    pub(in crate::lower) root: NodeId,
    /// Positions in its elements, row by row, step after step.
    pub(in crate::lower) positions: Vec<u32>,
    /// Extents of one step's elements.
    pub(in crate::lower) shape: Shape,
}

/// Rows that were compared so far.
pub(in crate::lower) struct Alignment<'a> {
    pub(in crate::lower) graph: &'a mut Graph,
    written: &'a FxHashMap<NodeId, Vec<(usize, usize)>>,
    /// Nodes that there were before the stretch.
    before: usize,
    pub(in crate::lower) stretch: Range<usize>,
    rows: FxHashMap<Vec<NodeId>, usize>,
    /// Whether sizes differed somewhere.
    pub(in crate::lower) grew: bool,
    /// What was found.
    pub(in crate::lower) items: Vec<Item>,
    /// By number of a write that is a state: for how many steps it is kept.
    pub(in crate::lower) lags: BTreeMap<usize, usize>,
    /// By number of the write and steps before the loop's first iteration: what stands for a write
    /// there.
    pub(in crate::lower) virtuals: FxHashMap<(usize, usize), NodeId>,
}

impl<'a> Alignment<'a> {
    /// Nothing compared yet.
    pub(in crate::lower) fn new(
        graph: &'a mut Graph,
        record: &LoopTrace,
        written: &'a FxHashMap<NodeId, Vec<(usize, usize)>>,
        stretch: Range<usize>,
    ) -> Self {
        let before = record.iterations[stretch.start].first;
        Self {
            graph,
            written,
            before,
            stretch,
            rows: FxHashMap::default(),
            grew: false,
            items: Vec::new(),
            lags: BTreeMap::new(),
            virtuals: FxHashMap::default(),
        }
    }

    /// The item of a row.
    ///
    /// # Errors
    /// The number of the first step that differs from those before it.
    pub(in crate::lower) fn place(&mut self, row: Vec<NodeId>) -> Result<usize, usize> {
        self.place_at(row, 0)
    }

    fn place_at(&mut self, row: Vec<NodeId>, depth: usize) -> Result<usize, usize> {
        if let Some(item) = self.rows.get(&row) {
            return Ok(*item);
        }
        if depth > DEPTH {
            return Err(0);
        }
        let first = self.graph.node(row[0]);
        for (step, id) in row.iter().enumerate() {
            let node = self.graph.node(*id);
            if node.shape != first.shape || node.dtype != first.dtype {
                self.grew |= node.shape != first.shape;
                return Err(step);
            }
        }
        let item = if row.iter().all(|id| *id == row[0]) {
            Item::Fixed(row[0])
        } else if let Some(state) = self.state(&row)? {
            state
        } else if let Some(known) = self.known(&row) {
            Item::Known(known)
        } else if let Some(picked) = self.picked(&row) {
            Item::Picked(picked)
        } else {
            self.computed(&row, depth)?
        };
        self.items.push(item);
        self.rows.insert(row, self.items.len() - 1);
        Ok(self.items.len() - 1)
    }

    /// An operation on other rows; where that cannot be, an array that is carried.
    fn computed(&mut self, row: &[NodeId], depth: usize) -> Result<Item, usize> {
        let op = &self.graph.node(row[0]).op;
        if !matches!(op, Op::Reshape(_) | Op::Slice { .. } | Op::Gather | Op::Concat { .. }) {
            return self.applied(row, depth);
        }
        let (items, lags, virtuals) = (self.items.len(), self.lags.clone(), self.virtuals.clone());
        let step = match self.applied(row, depth) {
            Ok(item) => return Ok(item),
            Err(step) => step,
        };
        let history = self.history(row).ok_or(step)?;
        // Nothing of what was found on the way is of use.
        self.items.truncate(items);
        self.rows.retain(|_, item| *item < items);
        (self.lags, self.virtuals) = (lags, virtuals);
        Ok(history)
    }

    fn applied(&mut self, row: &[NodeId], depth: usize) -> Result<Item, usize> {
        let (op, columns) = self.operation(row)?;
        let mut args = Vec::with_capacity(columns.len());
        for column in columns {
            args.push(self.place_at(column, depth + 1)?);
        }
        // A place that changes from step to step must be known when arrays of it are looked up at
        // once.
        let index = match op {
            Op::Gather | Op::ScatterAdd { .. } => args.get(1),
            _ => None,
        };
        if index.is_some_and(|index| !matches!(self.items[*index], Item::Fixed(_))) {
            return Err(1);
        }
        Ok(Item::Apply(op, args))
    }

    /// What the iterations before wrote; the first steps may read what was there before the loop.
    fn state(&mut self, row: &[NodeId]) -> Result<Option<Item>, usize> {
        let places: Vec<Option<(usize, usize)>> = row
            .iter()
            .zip(self.stretch.clone())
            .map(|(id, t)| self.written_before(*id, t))
            .collect();
        let Some(from) = places.iter().position(Option::is_some) else { return Ok(None) };
        let Some((write, lag)) = places[from] else { return Ok(None) };
        if let Some(step) = places.iter().skip(from).position(|p| *p != Some((write, lag))) {
            return Err(from + step);
        }
        if from > lag {
            return Err(from);
        }
        for (step, id) in row.iter().enumerate().take(from) {
            // How many steps before the loop's first iteration.
            let Some(early) = (lag - step).checked_sub(self.stretch.start).filter(|e| *e > 0)
            else {
                return Err(from);
            };
            let outside =
                id.index() < self.before || self.graph.dependence(*id) == Dependence::Constant;
            if !outside || *self.virtuals.entry((write, early)).or_insert(*id) != *id {
                return Err(from);
            }
        }
        let kept = self.lags.entry(write).or_insert(lag);
        *kept = lag.max(*kept);
        Ok(Some(Item::State { write, lag }))
    }

    /// The last iteration before `t` that wrote a node: as which write, and how many steps before.
    pub(in crate::lower) fn written_before(&self, id: NodeId, t: usize) -> Option<(usize, usize)> {
        let places = self.written.get(&id)?;
        let (s, _) = *places[..places.partition_point(|(s, _)| *s < t)].last()?;
        let first = places.partition_point(|(other, _)| *other < s);
        Some((places[first].1, t - s))
    }

    /// Whether an iteration wrote a node.
    pub(in crate::lower) fn is_written(&self, id: NodeId) -> bool {
        self.written.contains_key(&id)
    }

    fn known(&self, row: &[NodeId]) -> Option<Tensor> {
        let g = &*self.graph;
        if row.iter().any(|id| g.dependence(*id) != Dependence::Constant) {
            return None;
        }
        let node = g.node(row[0]);
        let mut values = Vec::with_capacity(row.len() * node.shape.len());
        for id in row {
            if let Some(tensor) = g.as_constant(*id) {
                values.extend_from_slice(tensor.values());
            } else if let Some(value) = g.as_uniform(*id) {
                values.extend(std::iter::repeat_n(value, node.shape.len()));
            } else {
                values.extend(crate::library::known(g, *id)?);
            }
        }
        let shape = Shape::from([row.len()]).join(node.shape.extents());
        match node.dtype {
            DType::Int => Tensor::int(shape, values),
            DType::Real => Tensor::real(shape, values),
        }
    }

    fn picked(&self, row: &[NodeId]) -> Option<Picked> {
        let shape = self.graph.shape(row[0]).clone();
        let root = |id: NodeId| {
            let mut id = id;
            while let Op::Slice { .. } | Op::Gather | Op::Reshape(_) = self.graph.node(id).op {
                id = self.graph.node(id).args[0];
            }
            id
        };
        let first = root(row[0]);
        if first == row[0] || row.iter().any(|id| root(*id) != first) {
            return None;
        }
        let mut positions = Vec::with_capacity(row.len() * shape.len());
        for id in row {
            positions.extend(self.positions(*id)?);
        }
        Some(Picked { root: first, positions, shape })
    }

    /// Positions of a node's elements in the node that they are taken from.
    fn positions(&self, id: NodeId) -> Option<Vec<u32>> {
        let g = &*self.graph;
        let mut positions: Vec<usize> = (0..g.shape(id).len()).collect();
        let mut id = id;
        loop {
            let node = g.node(id);
            match &node.op {
                Op::Reshape(_) => {}
                Op::Slice { axis, start, step, len } => {
                    let from = g.shape(node.args[0]).extents();
                    let inner: usize = from[axis + 1..].iter().product();
                    for place in &mut positions {
                        let (row, rest) = (*place / inner.max(1), *place % inner.max(1));
                        let (outer, k) = (row / len, row % len);
                        *place = (outer * from[*axis] + start + k * step) * inner + rest;
                    }
                }
                Op::Gather => {
                    let index = g.as_constant(node.args[1])?.values();
                    let inner: usize = g.shape(node.args[0]).extents()[1..].iter().product();
                    for place in &mut positions {
                        *place = index[*place / inner] as usize * inner + *place % inner;
                    }
                }
                _ => return positions.into_iter().map(|place| u32::try_from(place).ok()).collect(),
            }
            id = node.args[0];
        }
    }

    /// What every step does, and the rows of its arguments.
    ///
    /// A step in which a known argument left nothing to do (`x + 0`, `1 x`) does it with that
    /// argument.
    fn operation(&mut self, row: &[NodeId]) -> Result<(Op, Vec<Vec<NodeId>>), usize> {
        let g = &*self.graph;
        let known = |step: usize, k: usize| {
            let arg = g.node(row[step]).args.get(k);
            arg.is_some_and(|arg| g.dependence(*arg) == Dependence::Constant)
        };
        let full = (0..row.len()).find_map(|step| {
            let position = (0..2).find(|k| known(step, *k))?;
            neutral(&g.node(row[step]).op, position).map(|value| (step, position, value))
        });
        let model = g.node(row[full.map_or(0, |(step, ..)| step)]).clone();
        if let Op::Input { .. } | Op::Ode(_) | Op::OdeSolution(_) | Op::LeastSquares { .. } =
            model.op
        {
            return Err(1);
        }
        let mut columns = vec![Vec::with_capacity(row.len()); model.args.len()];
        for (step, id) in row.iter().enumerate() {
            let node = self.graph.node(*id);
            if node.op == model.op && node.args.len() == model.args.len() {
                for (column, arg) in columns.iter_mut().zip(&node.args) {
                    column.push(*arg);
                }
                continue;
            }
            let Some((other, position, value)) = full else { return Err(step) };
            let known = self.graph.node(model.args[position]);
            let filled = match known.dtype {
                DType::Real => Tensor::scalar(value),
                DType::Int => Tensor::int(Shape::scalar(), vec![value]).ok_or(step.max(other))?,
            };
            let shape = known.shape.clone();
            let filled = self.graph.constant(filled);
            columns[position].push(self.graph.broadcast_to(filled, &shape));
            columns[1 - position].push(*id);
        }
        Ok((model.op, columns))
    }
}

/// The number that an operation's argument must be to leave the other one as it is.
fn neutral(op: &Op, position: usize) -> Option<f64> {
    match (op, position) {
        (Op::Binary(Binary::Add), _) | (Op::Binary(Binary::Sub), 1) => Some(0.0),
        (Op::Binary(Binary::Mul), _) | (Op::Binary(Binary::Div), 1) => Some(1.0),
        _ => None,
    }
}
