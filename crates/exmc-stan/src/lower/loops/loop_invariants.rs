//! Expressions in loops that run one iteration after the other -> their values, computed in the
//! first iteration where later ones cannot change them.
//!
//! `log(A[i, j])` in loops over `i` and `j` inside of one over `t` is the same node for every `t`.
//! An expression is looked up by its id and holds as long as the lanes, and what
//! the variables of loops inside are in them, are as they were; all other variables that it reads
//! are those that the body neither declares nor assigns to.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::assigned_variables::assigned_variables;
use super::iterations::Iterations;
use super::lanes::IterationLanes;
use crate::library::adds_jacobian;
use crate::lower::Lowering;
use crate::lower::abort::LowerResult;
use crate::lower::variables::lane_value::{Form, LaneValue};
use crate::lower::variables::store::Cells;
use crate::typed::{Callee, Expr, ExprKind, Index, Statement, SyntaxId, VariableId};

/// How often an expression may have had to be computed again before it is not kept any more.
const MAX_FAILURES: usize = 2;

/// What is known of the expressions in the body of a loop.
#[derive(Debug)]
pub(in crate::lower) struct LoopInvariants {
    /// What the body assigns to, and the loop's variable.
    assigned: BTreeSet<VariableId>,
    /// What it declares.
    declared: BTreeSet<VariableId>,
    /// Levels and calls around the loop.
    depth: (usize, usize),
    expressions: FxHashMap<SyntaxId, Kept>,
}

#[derive(Debug)]
enum Kept {
    /// It reads what iterations change, or does more than to give a value.
    Changes,
    Value(Box<Entry>),
}

#[derive(Debug)]
struct Entry {
    /// Lanes of the levels inside of the loop, and which lanes around them they are part of.
    levels: Vec<Arc<[u32]>>,
    /// Variables that the body declares, such as those of loops inside, with their known values.
    inside: Vec<(VariableId, LaneValue)>,
    value: LaneValue,
    misses: usize,
}

impl LoopInvariants {
    /// Forgets all values, whose nodes may have gone.
    pub(in crate::lower) fn clear(&mut self) {
        self.expressions.clear();
    }

    /// Number of levels around the loop.
    pub(in crate::lower) fn levels(&self) -> usize {
        self.depth.0
    }

    /// Whether the expression's value may be kept, and the variables that the body declares that it
    /// reads.
    fn reads(&self, expr: &Expr) -> Option<BTreeSet<VariableId>> {
        let (mut found, mut computes) = (BTreeSet::new(), false);
        let steady = reads(expr, &mut found, &mut computes);
        (steady && computes && found.is_disjoint(&self.assigned))
            .then(|| found.intersection(&self.declared).copied().collect())
    }
}

/// Collects variables; whether nothing in the expression does more than to give a value.
fn reads(expr: &Expr, found: &mut BTreeSet<VariableId>, computes: &mut bool) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Real(_) => true,
        ExprKind::Variable(id) => {
            found.insert(*id);
            true
        }
        ExprKind::Unary(_, inner) | ExprKind::Transpose(inner) | ExprKind::Promote(inner) => {
            reads(inner, found, computes)
        }
        ExprKind::Binary(_, a, b) => reads(a, found, computes) && reads(b, found, computes),
        // Those that end in `_jacobian` add to the density too.
        ExprKind::Call(Callee::Library(name), args) if adds_jacobian(name).is_none() => {
            *computes = true;
            args.iter().all(|arg| reads(arg, found, computes))
        }
        ExprKind::Index(base, indices) => {
            *computes = true;
            indices.iter().all(|index| index_reads(index, found, computes))
                && reads(base, found, computes)
        }
        _ => false,
    }
}

/// The same of an index.
pub(in crate::lower) fn index_reads(
    index: &Index,
    found: &mut BTreeSet<VariableId>,
    computes: &mut bool,
) -> bool {
    match index {
        Index::Single(expr) | Index::Multiple(expr) => reads(expr, found, computes),
        Index::Range(low, high) => low.iter().chain(high).all(|expr| reads(expr, found, computes)),
    }
}

impl Lowering<'_> {
    /// Nothing known yet of the body of a loop.
    pub(in crate::lower) fn steady(
        &self,
        iterations: &Iterations,
        body: &Statement,
    ) -> LoopInvariants {
        let mut assigned = assigned_variables(body);
        assigned.insert(iterations.variable);
        let mut declared = Vec::new();
        crate::lower::call::declared(body, &mut declared);
        LoopInvariants {
            assigned,
            declared: declared.into_iter().collect(),
            depth: (self.env.levels.len(), self.env.frames.len()),
            expressions: FxHashMap::default(),
        }
    }

    /// The value of an expression in a loop that is recorded.
    pub(in crate::lower) fn evaluate_once(&mut self, expr: &Expr) -> LowerResult<LaneValue> {
        let steady = self.enclosing.records.last().map(|record| &record.steady);
        let Some(steady) = steady.filter(|_| expr.id != SyntaxId::NONE) else {
            return self.evaluate_anew(expr);
        };
        let misses = match steady.expressions.get(&expr.id) {
            Some(Kept::Changes) => return self.evaluate_anew(expr),
            Some(Kept::Value(entry)) if self.still_holds(steady, entry) => {
                return Ok(entry.value.clone());
            }
            Some(Kept::Value(entry)) => entry.misses + 1,
            None => 0,
        };
        let in_body = steady.depth.1 == self.env.frames.len();
        let inside = steady.reads(expr).filter(|_| in_body && misses < MAX_FAILURES);
        let depth = steady.depth.0;
        let (number, before) = (self.enclosing.records.len(), self.done());
        let value = self.evaluate_anew(expr)?;
        let entry = inside.filter(|_| self.done() == before).and_then(|inside| {
            let inside = inside.into_iter().map(|id| Some((id, self.known_whole(id)?.clone())));
            Some(Box::new(Entry {
                levels: self.env.levels[depth..].iter().map(|level| level.up.clone()).collect(),
                inside: inside.collect::<Option<_>>()?,
                value: value.clone(),
                misses,
            }))
        });
        let kept = entry.map_or(Kept::Changes, Kept::Value);
        self.enclosing.records[number - 1].steady.expressions.insert(expr.id, kept);
        Ok(value)
    }

    /// How much was done beside giving values.
    fn done(&self) -> [usize; 4] {
        let written = self.enclosing.records.last().map_or(0, |record| record.writes.len());
        [
            self.env.terms.list.len(),
            self.env.terms.required.len(),
            written,
            self.sink.warnings.len(),
        ]
    }

    fn still_holds(&self, steady: &LoopInvariants, entry: &Entry) -> bool {
        let levels = &self.env.levels[steady.depth.0..];
        let same = |(lanes, before): (&IterationLanes, &Arc<[u32]>)| lanes.up == *before;
        levels.len() == entry.levels.len()
            && levels.iter().zip(&entry.levels).all(same)
            && entry.inside.iter().all(|(id, before)| {
                self.known_whole(*id).is_some_and(|now| {
                    now.lanes == before.lanes && now.as_known() == before.as_known()
                })
            })
    }

    /// What a variable is, if that is one known value.
    fn known_whole(&self, id: VariableId) -> Option<&LaneValue> {
        match &self.env.stores[id.0 as usize].as_ref()?.cells {
            Cells::Whole(value) if matches!(value.form, Form::Known(_)) => Some(value),
            _ => None,
        }
    }
}
