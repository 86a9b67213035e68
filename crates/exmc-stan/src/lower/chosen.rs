//! Indices that depend on parameters -> sums over a dimension of which one term is not zero.
//!
//! `x[i]` is the sum over k of x[k] where i = k, so that the derivative is that of the element that is chosen. Where
//! an index is out of range the density is zero.

use exmc_graph::{Reduction, Shape, Tensor};

use super::Lowering;
use super::lane_value::{Form, LaneValue};
use super::stop::Step;
use crate::library::Check;
use crate::source::Span;
use crate::typed::{Expr, Index};

/// An index that depends on parameters: the axis of what the others leave, its value, whether it keeps the axis.
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
    ) -> Step<LaneValue> {
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

    fn chosen_along(&mut self, x: &LaneValue, index: &Symbolic, span: Span) -> Step<LaneValue> {
        if let Form::Tuple(slots) = &x.form {
            let slots = slots.iter().map(|slot| self.chosen_along(slot, index, span));
            return Ok(LaneValue::tuple(slots.collect::<Step<Vec<_>>>()?));
        }
        let shape = x.shape(&self.graph);
        let (before, rest) = shape.split_at(index.axis);
        let (extent, after) = (rest[0], &rest[1..]);
        let wanted = index.value.shape(&self.graph);
        let count: usize = wanted.iter().product();
        let lanes = self.lane_count();
        let axis_of = |own: bool| own.then_some(lanes).into_iter();
        let (node, at) = (x.to_node(&mut self.graph), index.value.to_node(&mut self.graph));
        let g = &mut self.graph;

        let (outer, inner) = (before.iter().product(), after.iter().product());
        let table: Vec<usize> = axis_of(x.lanes).chain([outer, 1, extent, inner]).collect();
        let table = g.reshape(node, table);
        let at_shape: Vec<usize> = axis_of(index.value.lanes).chain([1, count, 1, 1]).collect();
        let at = g.reshape(at, at_shape);
        let numbers: Vec<f64> = (1..=extent).map(|k| k as f64).collect();
        let numbers = Tensor::real([extent, 1], numbers).expect("one number for each element");
        let numbers = g.constant(numbers);
        let is_chosen = g.eq(at, numbers);
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
        let own: Vec<usize> = (usize::from(batched)..g.shape(found).rank()).collect();
        let holds = g.reduce(Reduction::Min, found, &own);
        let message = format!("an index is out of range; expecting 1..{extent}");
        if let Some(holds) = self.requirement(&Check { holds, batched, message }, span)? {
            self.terms.required.push(holds);
            self.may_end = true;
        }
        Ok(LaneValue::node(sum, both))
    }
}
