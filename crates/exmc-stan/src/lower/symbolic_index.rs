//! Indices that depend on parameters -> sums over a dimension of which one term is not zero, and
//! choices of who is assigned to.
//!
//! `x[i]` is the sum over k of x[k] where i = k, so that the derivative is that of the element that
//! is chosen. Where an index is out of range the density is zero. `x[i] = e` gives each element
//! that i could mean the value of e where it is meant, else its own.

use exmc_graph::{NodeId, Reduction, Shape, Tensor};

use super::Lowering;
use super::abort::{Abort, LowerResult, runtime};
use super::variables::lane_value::{Form, LaneValue};
use crate::library::Check;
use crate::source::Span;
use crate::typed::{Access, Expr, ExprKind, Index, LValue, VariableId};

/// An index that depends on parameters: the axis of what the others leave, its value, whether it
/// keeps the axis.
struct Symbolic {
    axis: usize,
    value: LaneValue,
    several: bool,
}

impl Lowering<'_> {
    /// `base[indices]` with indices some of which depend on parameters.
    pub(super) fn indexed_by_parameters(
        &mut self,
        base: &Expr,
        indices: &[Index],
        span: Span,
    ) -> LowerResult<LaneValue> {
        let mut others = indices.to_vec();
        let mut symbolic = Vec::new();
        let mut axis = 0;
        for index in &mut others {
            let (expr, several) = match index {
                Index::Single(expr) => (expr, false),
                Index::Multiple(expr) => (expr, true),
                Index::Range(..) => {
                    axis += 1;
                    continue;
                }
            };
            let value = self.evaluate(expr)?;
            let is_known = value.is_known();
            if !is_known {
                symbolic.push(Symbolic { axis, value, several });
                *index = Index::Range(None, None);
            }
            axis += usize::from(several || !is_known);
        }
        if symbolic.is_empty() {
            // It was an index inside of the base.
            let value = self.evaluate(base)?;
            return self.part_of(value, &[indices], span);
        }
        let mut value = self.indexed(base, &others, span)?;
        // From the last axis on, so that places of axes before it stay.
        for index in symbolic.iter().rev() {
            value = self.chosen_along(&value, index, span)?;
        }
        Ok(value)
    }

    /// What stands at a path that an index of parameters leads along.
    pub(super) fn read_chosen(
        &mut self,
        id: VariableId,
        path: &[Access],
        target: &LValue,
    ) -> LowerResult<LaneValue> {
        let span = target.span;
        let variable = self.context.program.variable(id).ty.clone();
        let indices = in_one(path).ok_or(Abort::Symbolic { span })?;
        let base = Expr::new(ExprKind::Variable(id), variable, span);
        let kind = ExprKind::Index(Box::new(base), indices);
        self.evaluate(&Expr::new(kind, target.ty.clone(), span))
    }

    /// `x[indices] = value` with indices some of which depend on parameters, at the statement's and
    /// the index's place.
    pub(super) fn store_chosen(
        &mut self,
        (id, path): (VariableId, &[Access]),
        value: LaneValue,
        (span, index_span): (Span, Span),
    ) -> LowerResult<()> {
        let mut indices = in_one(path).ok_or(Abort::Symbolic { span: index_span })?;
        let (mut symbolic, mut axis) = (Vec::new(), 0);
        for index in &mut indices {
            match index {
                Index::Range(..) => axis += 1,
                Index::Multiple(expr) => {
                    if !self.evaluate(expr)?.is_known() {
                        return Err(Abort::Symbolic { span: expr.span });
                    }
                    axis += 1;
                }
                Index::Single(expr) => {
                    let chosen = self.evaluate(expr)?;
                    if !chosen.is_known() {
                        symbolic.push((axis, chosen));
                        *index = Index::Range(None, None);
                        axis += 1;
                    }
                }
            }
        }
        let path = [Access::Index(indices)];
        let addresses = self.path_addresses(id, &path, span)?;
        let shape = addresses.shape.clone();
        let is_symbolic =
            |axis: &usize| symbolic.iter().any(|(symbolic_axis, _)| symbolic_axis == axis);
        let kept: Vec<usize> =
            (0..shape.len()).filter(|axis| !is_symbolic(axis)).map(|axis| shape[axis]).collect();
        let found = value.shape(&self.sink.graph);
        if found != kept {
            let name = &self.context.program.variable(id).name;
            let message =
                format!("{kept:?} elements of `{name}` are assigned a value of size {found:?}");
            return Err(runtime(span, message));
        }
        let old = self.read_at(id, addresses, span)?;
        let mut meant = self.sink.graph.scalar(1.0);
        let mut both = value.lanes || old.lanes;
        for (axis, chosen) in &symbolic {
            let is_chosen = self.meant_along(&shape, *axis, chosen);
            self.require_found(is_chosen, chosen.lanes, shape[*axis], index_span)?;
            meant = self.sink.graph.and(meant, is_chosen);
            both |= chosen.lanes;
        }
        let lanes = self.lane_count();
        let axis_of = |has_lanes: bool| has_lanes.then_some(lanes).into_iter();
        let spread: Vec<usize> = axis_of(value.lanes)
            .chain((0..shape.len()).map(|axis| if is_symbolic(&axis) { 1 } else { shape[axis] }))
            .collect();
        let full: Vec<usize> = axis_of(both).chain(shape.iter().copied()).collect();
        let (new, old) = (value.to_node(&mut self.sink.graph), old.to_node(&mut self.sink.graph));
        let new = self.sink.graph.reshape(new, spread);
        let node = self.sink.graph.select(meant, new, old);
        let node = self.sink.graph.broadcast_to(node, &Shape::from(full));
        self.store(id, &path, LaneValue::node(node, both), span)
    }

    /// Which elements along an axis an index means: the lanes' axis if it has one, then axes of
    /// extent 1 but for that one.
    fn meant_along(&mut self, shape: &[usize], axis: usize, chosen: &LaneValue) -> NodeId {
        let lanes = self.lane_count();
        let index = chosen.to_node(&mut self.sink.graph);
        let g = &mut self.sink.graph;
        let ones = shape.iter().map(|_| 1);
        let index_shape: Vec<usize> =
            chosen.lanes.then_some(lanes).into_iter().chain(ones.clone()).collect();
        let index = g.reshape(index, index_shape);
        let mut along: Vec<usize> = ones.collect();
        along[axis] = shape[axis];
        let numbers: Vec<f64> = (1..=shape[axis]).map(|k| k as f64).collect();
        let numbers = Tensor::real(along, numbers).expect("one number for each element");
        let numbers = g.constant(numbers);
        g.eq(index, numbers)
    }

    /// Requires that every index means an element: `is_chosen` has the lanes' axis if `batched`.
    fn require_found(
        &mut self,
        is_chosen: NodeId,
        batched: bool,
        extent: usize,
        span: Span,
    ) -> LowerResult<()> {
        let first = usize::from(batched);
        let element_axes: Vec<usize> = (first..self.sink.graph.shape(is_chosen).rank()).collect();
        let holds = self.sink.graph.reduce(Reduction::Max, is_chosen, &element_axes);
        self.require_index(holds, batched, extent, span)
    }

    /// Requires that indices are in range, else the density is zero and the run may end.
    pub(super) fn require_index(
        &mut self,
        holds: NodeId,
        batched: bool,
        extent: usize,
        span: Span,
    ) -> LowerResult<()> {
        let message = format!("an index is out of range; expecting 1..{extent}");
        if let Some(holds) = self.requirement(&Check { holds, batched, message }, span)? {
            self.env.terms.required.push(holds);
            self.sink.may_end = true;
        }
        Ok(())
    }

    fn chosen_along(
        &mut self,
        x: &LaneValue,
        index: &Symbolic,
        span: Span,
    ) -> LowerResult<LaneValue> {
        if let Form::Tuple(slots) = &x.form {
            let slots = slots.iter().map(|slot| self.chosen_along(slot, index, span));
            return Ok(LaneValue::tuple(slots.collect::<LowerResult<Vec<_>>>()?));
        }
        let shape = x.shape(&self.sink.graph);
        let (before, rest) = shape.split_at(index.axis);
        let (extent, after) = (rest[0], &rest[1..]);
        let wanted = index.value.shape(&self.sink.graph);
        let count: usize = wanted.iter().product();
        let lanes = self.lane_count();
        let axis_of = |has_lanes: bool| has_lanes.then_some(lanes).into_iter();
        let (node, index_node) =
            (x.to_node(&mut self.sink.graph), index.value.to_node(&mut self.sink.graph));
        let g = &mut self.sink.graph;

        let (outer, inner) = (before.iter().product(), after.iter().product());
        let table: Vec<usize> = axis_of(x.lanes).chain([outer, 1, extent, inner]).collect();
        let table = g.reshape(node, table);
        let index_shape: Vec<usize> = axis_of(index.value.lanes).chain([1, count, 1, 1]).collect();
        let index_node = g.reshape(index_node, index_shape);
        let numbers: Vec<f64> = (1..=extent).map(|k| k as f64).collect();
        let numbers = Tensor::real([extent, 1], numbers).expect("one number for each element");
        let numbers = g.constant(numbers);
        let is_chosen = g.eq(index_node, numbers);
        let zero = g.scalar(0.0);
        let terms = g.select(is_chosen, table, zero);
        let both = x.lanes || index.value.lanes;
        let first = usize::from(both);
        let sum = g.reduce(Reduction::Sum, terms, &[first + 2]);
        let kept: &[usize] = if index.several { &wanted } else { &[] };
        let full: Vec<usize> = axis_of(both)
            .chain(before.iter().copied())
            .chain(kept.iter().copied())
            .chain(after.iter().copied())
            .collect();
        let sum = g.reshape(sum, Shape::from(full));

        let axes: Vec<usize> = (0..g.shape(is_chosen).rank()).collect();
        let last = axes.len() - 2;
        let found = g.reduce(Reduction::Max, is_chosen, &[last]);
        let batched = index.value.lanes;
        let element_axes: Vec<usize> = (usize::from(batched)..g.shape(found).rank()).collect();
        let holds = g.reduce(Reduction::Min, found, &element_axes);
        self.require_index(holds, batched, extent, span)?;
        Ok(LaneValue::node(sum, both))
    }
}

/// The indices of a path as one list; nothing where an earlier step keeps an extent that a later
/// one would index.
fn in_one(path: &[Access]) -> Option<Vec<Index>> {
    let mut all = Vec::new();
    for (k, access) in path.iter().enumerate() {
        let Access::Index(indices) = access else { return None };
        let is_last = k + 1 == path.len();
        if !is_last && !indices.iter().all(|index| matches!(index, Index::Single(_))) {
            return None;
        }
        all.extend_from_slice(indices);
    }
    Some(all)
}
