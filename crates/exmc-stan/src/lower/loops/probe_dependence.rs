//! A loop that was not walked before -> what its first iterations tell about all of them.
//!
//! That an iteration needs what another one wrote shows in the first few of them already. They are
//! walked side by side before all are, so that what has to be done otherwise is not found out with
//! thousands of lanes.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::iterations::Iterations;
use super::lanes::Watch;
use super::precompute_integers::Starts;
use super::{LoopPlan, Snapshot};
use crate::lower::Lowering;
use crate::lower::abort::Abort;
use crate::typed::{Statement, VariableId};

/// Iterations in each lane that are walked: some need those two before them.
const PROBED_ITERATIONS: usize = 4;

/// How many times as many lanes there are when that is worth it.
const MIN_ITERATIONS: usize = 8;

impl Lowering<'_> {
    /// Adds variables of which each iteration needs a copy to the plan, and says whether iterations
    /// need each other's results even then. Nothing else is left of the walk, and what stops it
    /// otherwise is not looked at.
    pub(in crate::lower) fn probe(
        &mut self,
        plan: &mut LoopPlan,
        iterations: &Iterations,
        body: &Statement,
        assigned: &Arc<BTreeSet<VariableId>>,
        snapshot: &Snapshot,
    ) -> bool {
        let counts: Vec<usize> =
            iterations.counts.iter().map(|count| *count.min(&PROBED_ITERATIONS)).collect();
        let (few, total) = (counts.iter().sum::<usize>(), iterations.counts.iter().sum::<usize>());
        if assigned.is_empty() || few * MIN_ITERATIONS > total {
            return false;
        }
        let (loop_level, nodes) = (self.env.levels.len(), self.sink.graph.len());
        let values = iterations.values.clone();
        let first = Iterations { counts, variable: iterations.variable, values };
        let groups = [(0..few as u32).collect()];
        let around = self.enclosing.probed.replace(loop_level);
        let needs_others = loop {
            let walked = self.guarded(Some(snapshot), |this| {
                let watch = Watch { assigned: assigned.clone(), ..Watch::default() };
                let private = (&*plan.private, &Starts::default());
                this.run_side_by_side(&first, body, private, &groups, watch)
            });
            self.restore(snapshot);
            self.sink.graph.truncate(nodes);
            self.sink.supports.truncate(nodes);
            self.enclosing.records.iter_mut().for_each(|record| record.steady.clear());
            match walked {
                Err(Abort::Carried { level, variable: Some(variable), private: true })
                    if level == loop_level && Arc::make_mut(&mut plan.private).insert(variable) => {
                }
                // Integers may be computed ahead.
                Err(Abort::Carried { level, variable, .. }) if level == loop_level => {
                    break !variable.is_some_and(|variable| self.is_int(variable));
                }
                _ => break false,
            }
        };
        self.enclosing.probed = around;
        needs_others
    }
}
