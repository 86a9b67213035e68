//! Parts of variables that are the same in all iterations of a loop -> what they are at the level
//! around it.
//!
//! `x[m]` in a loop over `i` inside of one over `m` has the same elements in all iterations of the
//! inner loop that belong to one of the outer. Their addresses are found for each lane of the level
//! around, of which there are few, and not for each of the loop's own.

use std::collections::BTreeSet;
use std::sync::Arc;

use exmc_fault::{Fault, planted};
use exmc_graph::Tensor;

use super::lanes::{Mask, Touch};
use super::loop_invariants::index_reads;
use crate::lower::Lowering;
use crate::lower::abort::{Abort, LowerResult};
use crate::lower::variables::lane_value::{Form, LaneValue, pick_known};
use crate::lower::variables::store::{Addresses, Storage};
use crate::source::Span;
use crate::typed::{Expr, ExprKind, Index, VariableId};

/// Lanes for each lane of the level around that make it worth looking there.
const MIN_ITERATIONS: usize = 4;

impl Lowering<'_> {
    /// `id[steps]`, the first step last, by addresses of the level around; nothing where that has
    /// no answer.
    pub(in crate::lower) fn indexed_outside(
        &mut self,
        id: VariableId,
        steps: &[&[Index]],
        span: Span,
    ) -> LowerResult<Option<LaneValue>> {
        if !self.is_outside(id, steps) {
            return Ok(None);
        }
        let find = |this: &mut Self| this.part_addresses(id, steps, span);
        let Ok(around) = self.at_level_around(find) else { return Ok(None) };
        let around = around.shared();
        if !around.lanes {
            return self.read_at(id, around, span).map(Some);
        }
        let storage = self.storage(id, span)?;
        let home = storage.level;
        let up = self.env.levels[self.depth()].up.clone();
        // One value of an inner level stands for all of its lanes.
        let is_one = home > 0 && storage.is_uniform();
        let in_rows = storage.depends_on_parameters() && !is_one;
        let lanes = || up.iter().map(|lane| *lane as usize);
        if let Some((rows, of_lane)) = in_rows.then(|| around.rows_once(lanes())).flatten() {
            let touch = |this: &mut Self| this.touch(id, home, &around.flat, false, Touch::Read);
            self.at_level_around(touch)?;
            return self.read_rows(id, &around.shape, &rows, &of_lane).map(Some);
        }
        let each: usize = around.shape.iter().product();
        let mut flat = Vec::with_capacity(up.len() * each);
        lanes().for_each(|lane| flat.extend_from_slice(&around.flat[lane * each..][..each]));
        self.read_at(id, Addresses { flat, ..around }, span).map(Some)
    }

    /// The value of a part of a variable, and for each current lane which of the value's lanes it
    /// has, if that is not its own.
    pub(in crate::lower) fn evaluate_outside(
        &mut self,
        expr: &Expr,
    ) -> LowerResult<(LaneValue, Option<Arc<[u32]>>)> {
        let (root, steps) = indices_of(expr);
        if let ExprKind::Variable(id) = root.kind
            && self.is_outside(id, &steps)
            && !self.storage(id, expr.span)?.depends_on_parameters()
            && let Ok(value) = self.at_level_around(|this| this.evaluate(expr))
        {
            let up = self.env.levels[self.depth()].up.clone();
            let of_lane = value.lanes.then_some(up);
            return Ok((value, of_lane));
        }
        Ok((self.evaluate(expr)?, None))
    }

    /// Elements of a variable that several lanes have in common, without noting that they were
    /// read.
    fn read_rows(
        &mut self,
        id: VariableId,
        shape: &[usize],
        rows: &[u32],
        of_lane: &[usize],
    ) -> LowerResult<LaneValue> {
        self.check_given(id, rows)?;
        let Some(storage) = self.env.stores[id.0 as usize].take() else {
            unreachable!("callers looked it up");
        };
        let form = self.rows_of(&storage, shape, rows, of_lane);
        let level = storage.level;
        self.env.stores[id.0 as usize] = Some(storage);
        match form {
            Some(form) => Ok(LaneValue { form, lanes: true }),
            None => Err(Abort::Carried { level, variable: Some(id), private: false }),
        }
    }

    /// Elements of `shape` that several lanes have in common, picked once and then handed to each
    /// of them.
    pub(in crate::lower) fn rows_of(
        &mut self,
        storage: &Storage,
        shape: &[usize],
        rows: &[u32],
        of_lane: &[usize],
    ) -> Option<Form> {
        let each: usize = shape.iter().product();
        let full: Vec<usize> =
            std::iter::once(of_lane.len()).chain(shape.iter().copied()).collect();
        match storage.read(&mut self.sink.graph, rows, &[rows.len() / each, each])? {
            Form::Node(table) => {
                let index = self.sink.graph.constant(Tensor::indices(of_lane));
                let spread = self.sink.graph.gather(table, index);
                Some(Form::Node(self.sink.graph.reshape(spread, full)))
            }
            Form::Known(table) => {
                let row = |row: &usize| (row * each) as u32..((row + 1) * each) as u32;
                let positions: Vec<u32> = of_lane.iter().flat_map(row).collect();
                Some(Form::Known(pick_known(&table, &positions, &full)))
            }
            form @ Form::Tuple(_) => Some(form),
        }
    }

    /// Runs something at the level around the current one, where conditions of its own lanes say
    /// nothing.
    fn at_level_around<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> LowerResult<T>,
    ) -> LowerResult<T> {
        let current = self.env.levels.pop();
        let depth = self.depth();
        let inner = |mask: &Mask| mask.level > depth && !planted(Fault::InnerMaskOutside);
        let first_inner = self.env.masks.iter().position(inner);
        let masks = first_inner.map_or_else(Vec::new, |first| self.env.masks.split_off(first));
        let result = run(self);
        self.env.masks.extend(masks);
        self.env.levels.extend(current);
        result
    }

    /// Whether a part of a variable is the same in all iterations of the innermost loop, which has
    /// many, and can be found at the level around.
    fn is_outside(&self, id: VariableId, steps: &[&[Index]]) -> bool {
        let depth = self.depth();
        let Some(around) = depth.checked_sub(1) else { return false };
        let Some(watch) = &self.env.levels[depth].watched else { return false };
        // A loop that is recorded at the current level remembers by levels.
        let is_recorded = self.enclosing.records.last().is_some_and(|r| r.steady.levels() > depth);
        if is_recorded
            || self.env.levels[depth].count < MIN_ITERATIONS * self.env.levels[around].count
        {
            return false;
        }
        if self.is_late(id) {
            return false;
        }
        let (mut found, mut computes) = (BTreeSet::from([id]), false);
        let are_plain =
            steps.iter().copied().flatten().all(|i| index_reads(i, &mut found, &mut computes));
        are_plain
            && found.iter().all(|id| {
                let storage = self.env.stores[id.0 as usize].as_ref();
                storage.is_some_and(|s| s.level < depth) && !watch.assigned.contains(id)
            })
    }
}

/// What is indexed in `x[i][j]`, and the indices, the first step last.
pub(in crate::lower) fn indices_of(expr: &Expr) -> (&Expr, Vec<&[Index]>) {
    let (mut root, mut steps) = (expr, Vec::new());
    while let ExprKind::Index(inner, indices) = &root.kind {
        steps.push(indices.as_slice());
        root = inner;
    }
    (root, steps)
}
