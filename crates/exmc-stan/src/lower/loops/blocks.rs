//! Loops with more iterations than can be walked side by side -> blocks of iterations, one after
//! the other.
//!
//! Each block is walked with a lane for each of its iterations, as a short loop would be, and what
//! the blocks did alike becomes a scan over them (`rolled`). A loop inside of others is crowded by
//! all of their iterations together: the outermost of them is walked in blocks, or one by one where
//! a single iteration of it has lanes enough.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::LoopPlan;
use super::iterations::{Iterations, LoopValues};
use crate::lower::Lowering;
use crate::lower::abort::{Abort, LowerResult, unsupported};
use crate::source::Span;
use crate::typed::{Statement, SyntaxId, VariableId};

/// Lanes of a block: long enough for vectors and short enough for caches.
const LANES_OF_BLOCK: usize = 100_000;

impl LoopValues {
    /// What the variable is in the iterations from one on.
    fn from(&self, first: usize) -> Self {
        match self {
            Self::From(low) => Self::From(low.iter().map(|low| low + first as i64).collect()),
            Self::Elements { over, shape, positions } => Self::Elements {
                over: over.clone(),
                shape: shape.clone(),
                positions: positions[first..].to_vec(),
            },
            Self::Tuples(slots) => Self::Tuples(slots.iter().map(|s| s.from(first)).collect()),
        }
    }
}

impl Lowering<'_> {
    /// That a loop has more lanes than are walked at once: what is to be done about it, if it is
    /// more than that.
    pub(in crate::lower) fn crowded(&self, total: usize, span: Span) -> Option<Abort> {
        if total <= self.context.options.most_lanes {
            return None;
        }
        let level =
            (1..self.env.levels.len()).find(|level| self.env.levels[*level].watched.is_some());
        match level {
            Some(level) => Some(Abort::Crowded { level, total }),
            None if self.lane_count() == 1 => None,
            None => Some(unsupported(span, format!("{total} iterations side by side"))),
        }
    }

    /// How many iterations of a loop make a block, if `total` lanes of it (all loops inside
    /// included) are too many.
    pub(in crate::lower) fn size_of_blocks(&self, iterations: &Iterations, total: usize) -> usize {
        let count: usize = iterations.counts.iter().sum();
        let most = LANES_OF_BLOCK.min(self.context.options.most_lanes);
        (count.saturating_mul(most) / total.max(1)).clamp(1, count.max(1))
    }

    /// Iterations in blocks of a size; says whether that could be done.
    pub(in crate::lower) fn run_in_blocks(
        &mut self,
        id: SyntaxId,
        plan: &mut LoopPlan,
        iterations: &Iterations,
        (body, assigned): (&Statement, &Arc<BTreeSet<VariableId>>),
        size: usize,
    ) -> LowerResult<bool> {
        let [count] = iterations.counts[..] else { return Ok(false) };
        if size < 2 || self.enclosing.nesting > 0 || self.enclosing.steps.is_some() {
            return Ok(false);
        }
        let snapshot = self.snapshot();
        self.begin_record(self.steady(iterations, body));
        let mut first = 0;
        while first < count {
            let counts = vec![size.min(count - first)];
            let values = iterations.values.from(first);
            let block = Iterations { counts, variable: iterations.variable, values };
            let nodes = self.sink.graph.len();
            if !self.run_in_groups(id, plan, &block, body, assigned)? {
                self.restore(&snapshot);
                return Ok(false);
            }
            self.end_iteration(nodes);
            first += size;
        }
        let mut inside = vec![iterations.variable];
        crate::lower::call::declared(body, &mut inside);
        self.end_record(true, &inside);
        Ok(true)
    }
}
