//! Reads by the host and writes by compiled statements -> the variables that have other values
//! where they are read than at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::{Splitter, inner, is_compound};
use crate::source::Span;
use crate::typed::{
    Access, Expr, ExprKind, Index, LValue, LValueKind, Statement, StatementKind, VariableId,
};
use crate::visit::{Node, visit_expr, visit_indices, visit_own, visit_statement};

/// A loop around a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Around {
    place: Span,
    /// The variable that has another value in each iteration.
    counter: Option<VariableId>,
}

/// One read or write of a variable of the block.
#[derive(Clone, Debug)]
struct Touch {
    variable: VariableId,
    place: Span,
    loops: Vec<Around>,
    /// For each of the first indices the loop's variable that it is.
    indices: Vec<Option<VariableId>>,
}

/// All of a block.
pub(super) struct Accesses {
    reads: Vec<Touch>,
    writes: Vec<Touch>,
    /// The first and the last statement at a place, counted through the block. Places alone have no
    /// order: parts of a block may come from other files.
    order: BTreeMap<Span, (usize, usize)>,
}

impl Accesses {
    pub(super) fn of(splitter: &Splitter<'_>, block: &[Statement], rest: &[Statement]) -> Self {
        let (mut order, mut next) = (BTreeMap::new(), 0);
        for statement in block {
            visit_statement(statement, &mut |node| {
                if let Node::Statement(inside) = node {
                    next += 1;
                    order.entry(inside.span).or_insert((next, next)).1 = next;
                }
                matches!(node, Node::Statement(_))
            });
        }
        let mut found = Self { reads: Vec::new(), writes: Vec::new(), order };
        let compiled = splitter.compiled(block, false);
        let is_own =
            |id: &VariableId| splitter.block_variables.contains(id) && !splitter.host.contains(id);
        compiled.iter().for_each(|s| found.collect_writes(s, &mut Vec::new(), &is_own));
        rest.iter().for_each(|s| found.collect_reads(s, &mut Vec::new(), &is_own));
        found
    }

    /// Variables that the host reads.
    pub(super) fn read(&self) -> impl Iterator<Item = VariableId> {
        self.reads.iter().map(|read| read.variable)
    }

    /// Those whose value at the end may differ from what a read should see.
    pub(super) fn unsettled(&self) -> BTreeSet<VariableId> {
        let differs = |read: &&Touch| {
            let of_it = self.writes.iter().filter(|write| write.variable == read.variable);
            of_it.into_iter().any(|write| !self.is_settled(write, read))
        };
        self.reads.iter().filter(differs).map(|read| read.variable).collect()
    }

    /// Whether what is written is done with before it is read: in the order of the text, and in a
    /// loop around both to elements that no other iteration touches.
    fn is_settled(&self, write: &Touch, read: &Touch) -> bool {
        let place = |touch: &Touch| self.order.get(&touch.place);
        let earlier = match (place(write), place(read)) {
            (Some((_, last)), Some((first, _))) => last < first,
            _ => false,
        };
        let common = write.loops.iter().zip(&read.loops).take_while(|(a, b)| a == b);
        earlier
            && common.into_iter().all(|(around, _)| {
                let Some(counter) = around.counter else { return false };
                let both = write.indices.iter().zip(&read.indices);
                both.into_iter().any(|(a, b)| *a == Some(counter) && *b == Some(counter))
            })
    }

    fn collect_writes(
        &mut self,
        statement: &Statement,
        loops: &mut Vec<Around>,
        is_own: &dyn Fn(&VariableId) -> bool,
    ) {
        let mut write = |variable: VariableId, indices| {
            if is_own(&variable) {
                let (place, loops) = (statement.span, loops.clone());
                self.writes.push(Touch { variable, place, loops, indices });
            }
        };
        if let StatementKind::Declare(declaration) = &statement.kind {
            write(declaration.variable, Vec::new());
        }
        if !is_compound(statement) {
            visit_own(statement, &mut |node| {
                if let Node::Target(LValue { kind: LValueKind::Path(id, accesses), .. }) = node {
                    let first = match accesses.first() {
                        Some(Access::Index(all)) => singles(all),
                        _ => Vec::new(),
                    };
                    write(*id, first);
                }
                true
            });
        }
        let depth = loops.len();
        loops.extend(around(statement));
        inner(statement).into_iter().for_each(|s| self.collect_writes(s, loops, is_own));
        loops.truncate(depth);
    }

    fn collect_reads(
        &mut self,
        statement: &Statement,
        loops: &mut Vec<Around>,
        is_own: &dyn Fn(&VariableId) -> bool,
    ) {
        let depth = loops.len();
        // The condition of `while` is read in every iteration.
        if matches!(statement.kind, StatementKind::While(..)) {
            loops.extend(around(statement));
        }
        let mut found = Vec::new();
        visit_own(statement, &mut |node| match node {
            Node::Expr(e) => reads_of(e, &mut found),
            // An assignment to a part reads the rest; the host does not assign to compiled
            // variables.
            _ => true,
        });
        for (variable, indices) in found {
            if is_own(&variable) {
                let (place, loops) = (statement.span, loops.clone());
                self.reads.push(Touch { variable, place, loops, indices });
            }
        }
        if loops.len() == depth {
            loops.extend(around(statement));
        }
        inner(statement).into_iter().for_each(|s| self.collect_reads(s, loops, is_own));
        loops.truncate(depth);
    }
}

/// Adds what an expression itself reads; returns whether its parts are still to be looked at.
fn reads_of(e: &Expr, found: &mut Vec<(VariableId, Vec<Option<VariableId>>)>) -> bool {
    match &e.kind {
        ExprKind::Variable(id) => found.push((*id, Vec::new())),
        ExprKind::Index(base, all) => {
            if let ExprKind::Variable(id) = base.kind {
                found.push((id, singles(all)));
                visit_indices(all, &mut |node| match node {
                    Node::Expr(e) => reads_of(e, found),
                    _ => true,
                });
                return false;
            }
            visit_expr(base, &mut |node| match node {
                Node::Expr(e) => reads_of(e, found),
                _ => true,
            });
            visit_indices(all, &mut |node| match node {
                Node::Expr(e) => reads_of(e, found),
                _ => true,
            });
            return false;
        }
        _ => {}
    }
    true
}

/// For each index the variable that it is, where it is nothing else.
fn singles(all: &[Index]) -> Vec<Option<VariableId>> {
    let variable = |index: &Index| match index {
        Index::Single(Expr { kind: ExprKind::Variable(id), .. }) => Some(*id),
        _ => None,
    };
    all.iter().map(variable).collect()
}

fn around(statement: &Statement) -> Option<Around> {
    let counter = match &statement.kind {
        StatementKind::For { variable, .. } => Some(*variable),
        StatementKind::While(..) | StatementKind::ForEach { .. } => None,
        _ => return None,
    };
    Some(Around { place: statement.span, counter })
}
