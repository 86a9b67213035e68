//! The body of a loop -> the part of it that its integers need.
//!
//! Counters and positions (`pos = pos + n[i]`) depend on data only, so they can be computed for all
//! iterations before the loop runs side by side.

use std::collections::{BTreeMap, BTreeSet};

use super::iterations::Iterations;
use crate::lower::Lowering;
use crate::lower::variables::lane_value::{holds_ints, lane_of, stack_lanes};
use crate::typed::{
    Access, DeclaredType, Expr, ExprKind, Index, LValueKind, Program, Statement, StatementKind,
    VariableId,
};
use crate::value::Value;

/// What variables hold when each iteration begins, along an axis of lanes.
pub(in crate::lower) type Starts = BTreeMap<VariableId, Value>;

impl Lowering<'_> {
    /// What the integers that a loop assigns to are when each of its iterations begins; nothing
    /// where that takes more than the loop's integers and data. Where `may_leave`, one lane may
    /// leave the loop, and later iterations, which are not run, have what that one had.
    pub(in crate::lower) fn starts_ahead(
        &mut self,
        iterations: &Iterations,
        body: &Statement,
        assigned: &BTreeSet<VariableId>,
        may_leave: bool,
    ) -> Option<Starts> {
        let integers = integers_only(self.context.program, body)?;
        let depth = self.depth();
        let handed_on = |id: &VariableId| {
            let storage = self.env.stores[id.0 as usize].as_ref();
            self.is_int(*id) && storage.is_some_and(|s| s.level <= depth)
        };
        let mut inside = Vec::new();
        crate::lower::call::declared(body, &mut inside);
        let wanted = assigned.iter().copied().filter(|id| !inside.contains(id) && handed_on(id));
        let wanted: Vec<VariableId> = wanted.collect();
        let snapshot = self.snapshot();
        // Loops inside are copies with places of their own, of which nothing is to be remembered.
        let (plans, guards) =
            (std::mem::take(&mut self.learned.plans), std::mem::take(&mut self.enclosing.guards));
        let loops = std::mem::take(&mut self.sink.loops);
        let tables = self.walk_ahead(iterations, &integers, &wanted, may_leave);
        (self.learned.plans, self.enclosing.guards, self.sink.loops) = (plans, guards, loops);
        self.restore(&snapshot);
        let mut starts = Starts::default();
        for (id, table) in wanted.into_iter().zip(tables?) {
            let in_order: Vec<Value> = table.into_iter().flatten().collect();
            starts.insert(id, stack_lanes(&in_order)?);
        }
        Some(starts)
    }

    /// Walks through the iterations of a loop over integers: for each of `wanted`, lane and
    /// iteration, its value before.
    fn walk_ahead(
        &mut self,
        iterations: &Iterations,
        body: &Statement,
        wanted: &[VariableId],
        may_leave: bool,
    ) -> Option<Vec<Vec<Vec<Value>>>> {
        let lanes = self.lane_count();
        let longest = iterations.counts.iter().max().copied().unwrap_or(0);
        let mut tables = vec![vec![Vec::new(); lanes]; wanted.len()];
        for k in 0..longest {
            let kept: Vec<u32> =
                (0..lanes as u32).filter(|lane| iterations.counts[*lane as usize] > k).collect();
            let mut step = |this: &mut Self| {
                for (id, table) in wanted.iter().zip(&mut tables) {
                    let value = this.read_whole(*id, body.span)?;
                    let Some(known) = value.as_known() else { return Ok(None) };
                    for (place, lane) in kept.iter().enumerate() {
                        let lane_value =
                            if value.lanes { lane_of(known, place) } else { known.clone() };
                        table[*lane as usize].push(lane_value);
                    }
                }
                let value = this.step_value(iterations, &kept, k);
                this.set_loop_variable(iterations, value);
                this.run(body).map(Some)
            };
            let flow =
                if kept.len() == lanes { step(self) } else { self.in_lanes(&kept, &mut step) };
            let flow = flow.ok()??;
            let mut stay = flow.next.outside(&kept);
            stay.extend(flow.continued.outside(&kept));
            let leaves = stay.len() != kept.len();
            if flow.mask.is_some() || (leaves && !(may_leave && lanes == 1)) {
                return None;
            }
            if leaves {
                for table in &mut tables {
                    let last = table[0].last()?.clone();
                    table[0].resize(longest, last);
                }
                break;
            }
        }
        Some(tables)
    }
}

/// The statements that assign to integers, with the conditions and loops around them; nothing where
/// they read what the body computes that is no integer.
fn integers_only(program: &Program, body: &Statement) -> Option<Statement> {
    let mut part = Part { program, reads: BTreeSet::new(), others: BTreeSet::new() };
    let kept = part.keep(body)??;
    part.reads.is_disjoint(&part.others).then_some(kept)
}

struct Part<'p> {
    program: &'p Program,
    /// What the kept statements read.
    reads: BTreeSet<VariableId>,
    /// What the body declares or assigns to that is no integer.
    others: BTreeSet<VariableId>,
}

impl Part<'_> {
    fn is_int(&self, id: VariableId) -> bool {
        holds_ints(&self.program.variable(id).ty)
    }

    /// What is kept of a statement, if anything; nothing at all where it cannot be told.
    fn keep(&mut self, statement: &Statement) -> Option<Option<Statement>> {
        let kind = match &statement.kind {
            StatementKind::Declare(declaration) => {
                if !self.is_int(declaration.variable) {
                    self.others.insert(declaration.variable);
                    return Some(None);
                }
                self.read_sizes(&declaration.ty);
                declaration.initial.iter().for_each(|value| self.read(value));
                statement.kind.clone()
            }
            StatementKind::Assign { target, value, .. } => {
                let LValueKind::Path(id, path) = &target.kind else { return None };
                if !self.is_int(*id) {
                    self.others.insert(*id);
                    return Some(None);
                }
                for access in path {
                    let Access::Index(indices) = access else { return None };
                    self.read_indices(indices);
                }
                self.read(value);
                statement.kind.clone()
            }
            StatementKind::If(condition, then, otherwise) => {
                let then = self.keep(then)?;
                let otherwise = match otherwise {
                    Some(otherwise) => self.keep(otherwise)?,
                    None => None,
                };
                if then.is_none() && otherwise.is_none() {
                    return Some(None);
                }
                self.read(condition);
                let nothing = statement.with(StatementKind::Block(Vec::new()));
                let then = Box::new(then.unwrap_or(nothing));
                StatementKind::If(condition.clone(), then, otherwise.map(Box::new))
            }
            StatementKind::While(condition, body) => {
                let Some(body) = self.keep(body)? else { return Some(None) };
                self.read(condition);
                StatementKind::While(condition.clone(), Box::new(body))
            }
            StatementKind::For { variable, lower, upper, body } => {
                let Some(body) = self.keep(body)? else { return Some(None) };
                self.read(lower);
                self.read(upper);
                StatementKind::For {
                    variable: *variable,
                    lower: lower.clone(),
                    upper: upper.clone(),
                    body: Box::new(body),
                }
            }
            StatementKind::ForEach { variable, over, body } => {
                let Some(body) = self.keep(body)? else { return Some(None) };
                self.read(over);
                StatementKind::ForEach {
                    variable: *variable,
                    over: over.clone(),
                    body: Box::new(body),
                }
            }
            StatementKind::Block(statements) | StatementKind::Profile(_, statements) => {
                let mut kept = Vec::new();
                for inner in statements {
                    kept.extend(self.keep(inner)?);
                }
                if kept.is_empty() {
                    return Some(None);
                }
                StatementKind::Block(kept)
            }
            StatementKind::Break | StatementKind::Continue => statement.kind.clone(),
            StatementKind::Return(_) => return None,
            StatementKind::TargetPlus(_)
            | StatementKind::JacobianPlus(_)
            | StatementKind::Tilde { .. }
            | StatementKind::Call { .. }
            | StatementKind::Print(_)
            | StatementKind::Reject(_)
            | StatementKind::FatalError(_) => return Some(None),
        };
        Some(Some(statement.with(kind)))
    }

    fn read_sizes(&mut self, ty: &DeclaredType) {
        match ty {
            DeclaredType::Leaf { sizes, .. } => sizes.iter().for_each(|size| self.read(size)),
            DeclaredType::Array { sizes, element } => {
                sizes.iter().for_each(|size| self.read(size));
                self.read_sizes(element);
            }
            DeclaredType::Tuple(parts) => parts.iter().for_each(|part| self.read_sizes(part)),
        }
    }

    fn read_indices(&mut self, indices: &[Index]) {
        for index in indices {
            match index {
                Index::Single(expr) | Index::Multiple(expr) => self.read(expr),
                Index::Range(low, high) => low.iter().chain(high).for_each(|expr| self.read(expr)),
            }
        }
    }

    fn read(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Variable(id) => {
                self.reads.insert(*id);
            }
            ExprKind::Unary(_, inner)
            | ExprKind::Transpose(inner)
            | ExprKind::Field(inner, _)
            | ExprKind::Promote(inner) => self.read(inner),
            ExprKind::Binary(_, a, b) => {
                self.read(a);
                self.read(b);
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                [condition, then, otherwise].into_iter().for_each(|part| self.read(part));
            }
            ExprKind::Index(base, indices) => {
                self.read(base);
                self.read_indices(indices);
            }
            ExprKind::Array(parts)
            | ExprKind::RowVector(parts)
            | ExprKind::Tuple(parts)
            | ExprKind::Call(_, parts) => parts.iter().for_each(|part| self.read(part)),
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Imaginary(_)
            | ExprKind::Function { .. }
            | ExprKind::LibraryFunction(_)
            | ExprKind::Target => {}
        }
    }
}
