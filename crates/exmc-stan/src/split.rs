//! Generated quantities -> statements that can run compiled, and those that the host has to run.
//!
//! Random numbers are drawn and lines are printed one after the other, by the host. Everything else
//! of the block could be computed at once, before. So the block's variables are of two kinds: those
//! that the host assigns to, because a random number or another such variable enters, and those
//! that can be compiled. A loop is split into two, each with the statements of one kind; local
//! variables that both need are computed in both.
//!
//! The host reads compiled variables as they are at the end of the block. A variable whose value
//! may be another where it is read (it is assigned to later, or by another iteration of a loop
//! around both) is left to the host. So the host's statements see what they would see if it ran
//! them all.

mod access;

use std::collections::BTreeSet;

use crate::host::blocks;
use crate::source::Span;
use crate::typed::{
    Callee, ExprKind, LValue, LValueKind, Program, Statement, StatementKind, VariableId,
};
use crate::visit::{Node, visit_own, visit_statement};
use access::Accesses;

/// The two parts of a block of generated quantities.
#[derive(Clone, Debug, Default)]
pub struct Split {
    /// What can be compiled: no random numbers, no `print`.
    pub compiled: Vec<Statement>,
    /// What the host runs, given the compiled variables.
    pub rest: Vec<Statement>,
    /// The block's own variables that `compiled` computes, in the order of their declarations.
    pub outputs: Vec<VariableId>,
    /// Those of them that `rest` reads.
    pub read: BTreeSet<VariableId>,
}

/// Splits the generated quantities of a program.
///
/// `refused` are places of statements that cannot be compiled, `absent` variables that compiled
/// statements cannot read.
pub fn split(program: &Program, refused: &BTreeSet<Span>, absent: &BTreeSet<VariableId>) -> Split {
    let block = &program.generated_quantities;
    let block_variables: BTreeSet<VariableId> =
        blocks::declarations(block).map(|d| d.variable).collect();
    let effects = effects(program);
    let mut splitter = Splitter { refused, effects, host: absent.clone(), block_variables };
    loop {
        loop {
            let before = splitter.host.len();
            block.iter().for_each(|statement| splitter.mark(statement, false));
            if splitter.host.len() == before {
                break;
            }
        }
        let before = splitter.host.len();
        let rest = splitter.rest(block);
        let accesses = Accesses::of(&splitter, block, &rest);
        splitter.host.extend(accesses.unsettled());
        if splitter.host.len() == before {
            let outputs = blocks::declarations(block).map(|d| d.variable);
            let outputs: Vec<_> = outputs.filter(|id| !splitter.host.contains(id)).collect();
            let read = accesses.read().filter(|id| outputs.contains(id)).collect();
            let compiled = splitter.compiled(block, false);
            return Split { compiled, rest, outputs, read };
        }
    }
}

/// For each of the user's functions whether it draws random numbers or prints.
fn effects(program: &Program) -> Vec<bool> {
    let mut effects = vec![false; program.functions.len()];
    loop {
        let mut changed = false;
        for (k, function) in program.functions.iter().enumerate() {
            let is_one = effects[k]
                || function.body.iter().any(|s| touches_any(s, &effects, &BTreeSet::new()));
            changed |= is_one != effects[k];
            effects[k] = is_one;
        }
        if !changed {
            return effects;
        }
    }
}

/// Whether a node draws random numbers or prints, or reads or writes one of these variables.
fn touches(node: Node<'_>, effects: &[bool], variables: &BTreeSet<VariableId>) -> bool {
    match node {
        Node::Statement(Statement { kind, .. }) => match kind {
            StatementKind::Print(_) => true,
            StatementKind::Declare(declaration) => variables.contains(&declaration.variable),
            StatementKind::Call { function, .. } => is_effect(function, effects),
            _ => false,
        },
        Node::Target(LValue { kind: LValueKind::Path(id, _), .. }) => variables.contains(id),
        Node::Target(_) => false,
        Node::Expr(e) => match &e.kind {
            ExprKind::Variable(id) => variables.contains(id),
            ExprKind::Call(callee, _) => is_effect(callee, effects),
            ExprKind::Function { function, .. } => effects[function.0 as usize],
            // Nothing of a library function that is given to another is known here.
            ExprKind::LibraryFunction(_) | ExprKind::Target => true,
            _ => false,
        },
    }
}

fn is_effect(callee: &Callee, effects: &[bool]) -> bool {
    match callee {
        Callee::Library(name) => name.ends_with("_rng"),
        Callee::User { function, .. } => effects[function.0 as usize],
    }
}

/// Whether anything inside a statement does.
fn touches_any(statement: &Statement, effects: &[bool], variables: &BTreeSet<VariableId>) -> bool {
    let mut found = false;
    visit_statement(statement, &mut |node| {
        found |= touches(node, effects, variables);
        !found
    });
    found
}

/// Whether `break` or `continue` is inside.
fn has_jump(statement: &Statement) -> bool {
    let mut found = false;
    visit_statement(statement, &mut |node| {
        let jumps = matches!(
            node,
            Node::Statement(Statement { kind: StatementKind::Break | StatementKind::Continue, .. })
        );
        found |= jumps;
        !found && matches!(node, Node::Statement(_))
    });
    found
}

/// The statements inside a loop, a branch or a block; of any other statement nothing.
fn inner(statement: &Statement) -> Vec<&Statement> {
    match &statement.kind {
        StatementKind::If(_, then, otherwise) => {
            std::iter::once(&**then).chain(otherwise.as_deref()).collect()
        }
        StatementKind::While(_, body)
        | StatementKind::For { body, .. }
        | StatementKind::ForEach { body, .. } => vec![body],
        StatementKind::Block(body) | StatementKind::Profile(_, body) => body.iter().collect(),
        _ => Vec::new(),
    }
}

fn is_compound(statement: &Statement) -> bool {
    use StatementKind::{Block, For, ForEach, If, Profile, While};
    let kind = &statement.kind;
    matches!(kind, If(..) | While(..) | For { .. } | ForEach { .. } | Block(_) | Profile(..))
}

fn is_loop(statement: &Statement) -> bool {
    use StatementKind::{For, ForEach, While};
    matches!(statement.kind, While(..) | For { .. } | ForEach { .. })
}

/// The variables that a statement itself gives values: declared, assigned to or a loop's.
fn written(statement: &Statement) -> Vec<VariableId> {
    fn targets(target: &LValue, found: &mut Vec<VariableId>) {
        match &target.kind {
            LValueKind::Path(id, _) => found.push(*id),
            LValueKind::Tuple(parts) => parts.iter().for_each(|part| targets(part, found)),
        }
    }
    let mut found = Vec::new();
    match &statement.kind {
        StatementKind::Declare(declaration) => found.push(declaration.variable),
        StatementKind::Assign { target, .. } => targets(target, &mut found),
        StatementKind::For { variable, .. } | StatementKind::ForEach { variable, .. } => {
            found.push(*variable);
        }
        _ => {}
    }
    found
}

struct Splitter<'a> {
    refused: &'a BTreeSet<Span>,
    effects: Vec<bool>,
    /// Variables that the host computes.
    host: BTreeSet<VariableId>,
    /// Variables of the block's top level.
    block_variables: BTreeSet<VariableId>,
}

impl Splitter<'_> {
    /// Whether a statement itself (of a loop or a branch its head) is the host's; `under` is
    /// whether what it stands in is.
    fn is_hosts(&self, statement: &Statement, under: bool) -> bool {
        if under || self.refused.contains(&statement.span) {
            return true;
        }
        let mut found = touches(Node::Statement(statement), &self.effects, &self.host);
        visit_own(statement, &mut |node| {
            found |= touches(node, &self.effects, &self.host);
            !found
        });
        // What leaves a loop decides over all that follows in it.
        found
            || is_loop(statement)
                && has_jump(statement)
                && (touches_any(statement, &self.effects, &self.host)
                    || inner(statement).into_iter().any(|s| self.is_refused(s)))
    }

    fn is_refused(&self, statement: &Statement) -> bool {
        self.refused.contains(&statement.span)
            || inner(statement).into_iter().any(|s| self.is_refused(s))
    }

    /// Notes the variables that the host has to compute.
    fn mark(&mut self, statement: &Statement, under: bool) {
        let hosts = self.is_hosts(statement, under);
        if hosts {
            self.host.extend(written(statement));
        }
        // A block has no head.
        inner(statement).into_iter().for_each(|s| self.mark(s, hosts));
    }

    /// The statements that are not the host's.
    fn compiled(&self, statements: &[Statement], under: bool) -> Vec<Statement> {
        self.chosen(statements, under, &|_, hosts| !hosts)
    }

    /// What the host runs: its statements, and those that compute the local variables that they
    /// need.
    fn rest(&mut self, block: &[Statement]) -> Vec<Statement> {
        let mut needed = BTreeSet::new();
        loop {
            let rest = self.chosen(block, false, &|statement, hosts| {
                hosts || written(statement).iter().any(|id| needed.contains(id))
            });
            let before = needed.len();
            for statement in &rest {
                visit_statement(statement, &mut |node| {
                    let id = match node {
                        Node::Expr(e) => match e.kind {
                            ExprKind::Variable(id) => Some(id),
                            _ => None,
                        },
                        Node::Target(LValue { kind: LValueKind::Path(id, _), .. }) => Some(*id),
                        _ => None,
                    };
                    needed.extend(id.filter(|id| !self.block_variables.contains(id)));
                    true
                });
            }
            if needed.len() == before {
                return rest;
            }
            // A loop that is left early is the host's as a whole, or not at all.
            block.iter().for_each(|statement| self.mark_whole(statement, &needed));
        }
    }

    fn mark_whole(&mut self, statement: &Statement, needed: &BTreeSet<VariableId>) {
        if !(is_loop(statement) && has_jump(statement)) {
            return inner(statement).into_iter().for_each(|s| self.mark_whole(s, needed));
        }
        let mut all = Vec::new();
        visit_statement(statement, &mut |node| {
            if let Node::Statement(inside) = node {
                all.extend(written(inside));
            }
            matches!(node, Node::Statement(_))
        });
        if all.iter().any(|id| needed.contains(id)) {
            self.host.extend(all);
        }
    }

    /// The statements that `keep` wants, with the loops and branches around them.
    fn chosen(
        &self,
        statements: &[Statement],
        under: bool,
        keep: &dyn Fn(&Statement, bool) -> bool,
    ) -> Vec<Statement> {
        statements.iter().filter_map(|s| self.chosen_of(s, under, keep)).collect()
    }

    fn chosen_of(
        &self,
        statement: &Statement,
        under: bool,
        keep: &dyn Fn(&Statement, bool) -> bool,
    ) -> Option<Statement> {
        let hosts = self.is_hosts(statement, under);
        if !is_compound(statement) {
            return keep(statement, hosts).then(|| statement.clone());
        }
        let one = |s: &Statement| self.chosen_of(s, hosts, keep).map(Box::new);
        let nothing = || Box::new(Statement::new(StatementKind::Block(Vec::new()), statement.span));
        let kind = match &statement.kind {
            StatementKind::If(condition, then, otherwise) => {
                let (then, otherwise) = (one(then), otherwise.as_deref().and_then(one));
                if then.is_none() && otherwise.is_none() {
                    return None;
                }
                StatementKind::If(condition.clone(), then.unwrap_or_else(nothing), otherwise)
            }
            StatementKind::While(condition, body) => {
                StatementKind::While(condition.clone(), one(body)?)
            }
            StatementKind::For { variable, lower, upper, body } => StatementKind::For {
                variable: *variable,
                lower: lower.clone(),
                upper: upper.clone(),
                body: one(body)?,
            },
            StatementKind::ForEach { variable, over, body } => {
                StatementKind::ForEach { variable: *variable, over: over.clone(), body: one(body)? }
            }
            StatementKind::Block(body) | StatementKind::Profile(_, body) => {
                let body = self.chosen(body, hosts, keep);
                if body.is_empty() {
                    return None;
                }
                StatementKind::Block(body)
            }
            _ => return None,
        };
        Some(statement.with(kind))
    }
}

/// The innermost statement of a list around a place.
pub fn statement_at(statements: &[Statement], place: Span) -> Option<&Statement> {
    let covers = |s: &&Statement| {
        s.span.file == place.file && s.span.start <= place.start && place.end <= s.span.end
    };
    let mut found = statements.iter().find(covers)?;
    while let Some(next) = inner(found).into_iter().find(covers) {
        found = next;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::source::Sources;
    use crate::syntax::{NoIncludes, parse};

    /// Names of compiled variables, of those that the host reads, and numbers of statements in both
    /// parts.
    fn parts(block: &str) -> (String, String, usize, usize) {
        let text = format!(
            "functions {{ real noisy_rng(real x) {{ return normal_rng(x, 1); }}
               real told(real x) {{ print(x); return x; }} real by(real x) {{ return told(x); }} }}
             data {{ int N; vector[N] x; }} parameters {{ real a; real<lower=0> s; }}
             generated quantities {{ {block} }}"
        );
        let mut sources = Sources::single("t.stan", text.as_str());
        let (tree, _) = parse(&mut sources, &mut NoIncludes);
        let (program, found) = check(sources, &tree);
        let program = program.unwrap_or_else(|| panic!("{found:?}"));
        let split = split(&program, &BTreeSet::new(), &BTreeSet::new());
        let names = |ids: &mut dyn Iterator<Item = &VariableId>| {
            ids.map(|id| program.variable(*id).name.to_string()).collect::<Vec<_>>().join(" ")
        };
        let mut counts = [0, 0];
        for (count, part) in counts.iter_mut().zip([&split.compiled, &split.rest]) {
            for statement in part {
                visit_statement(statement, &mut |node| {
                    *count += usize::from(matches!(node, Node::Statement(s) if !is_compound(s)));
                    true
                });
            }
        }
        let (outputs, read) = (names(&mut split.outputs.iter()), names(&mut split.read.iter()));
        (outputs, read, counts[0], counts[1])
    }

    #[test]
    fn what_random_numbers_or_prints_touch_is_the_hosts() {
        let table: &[(&str, &str, &str, usize, usize)] = &[
            ("real m = a + 1; real l = m * s;", "m l", "", 2, 0),
            ("real m = a + 1; real y = normal_rng(m, s); real z = y + m;", "m", "m", 1, 2),
            // The usual loop: local variables are computed on both sides.
            (
                "vector[N] l; array[N] real y; for (n in 1:N) { real m = a * x[n]; l[n] = normal_lpdf(1 | m, s); y[n] = normal_rng(m, s); }",
                "l",
                "",
                3,
                3,
            ),
            // Elements of the iteration's own are settled when they are read, others are not.
            (
                "vector[N] m; array[N] real y; for (n in 1:N) { m[n] = a * x[n]; y[n] = normal_rng(m[n], s); }",
                "m",
                "m",
                2,
                2,
            ),
            (
                "vector[N] m; array[N] real y; for (n in 2:N) { m[n] = a * x[n]; y[n] = normal_rng(m[n - 1], s); }",
                "",
                "",
                0,
                4,
            ),
            (
                "real m = 0; array[N] real y; for (n in 1:N) { m = a * x[n]; y[n] = normal_rng(m, s); }",
                "",
                "",
                0,
                4,
            ),
            ("real m = a; real y = normal_rng(m, s); m = 2;", "", "", 0, 3),
            ("real m = a; m = 2; real y = normal_rng(m, s);", "m", "m", 2, 1),
            // By way of functions.
            ("real y = noisy_rng(a); real z = by(a); real w = a;", "w", "", 1, 2),
            // Conditions decide over what stands under them.
            ("real m = 0; if (normal_rng(0, 1) > 0) m = a; real w = a;", "w", "", 1, 2),
            ("real m = 0; real y = 1; if (a > 0) { m = a; y = normal_rng(0, 1); }", "m", "", 2, 2),
            // A loop that is left early is one thing.
            (
                "real m = 0; real y = 0; for (n in 1:N) { if (x[n] > a) break; m += x[n]; y += normal_rng(0, 1); }",
                "",
                "",
                0,
                5,
            ),
            ("real m = 0; for (n in 1:N) { if (x[n] > a) break; m += x[n]; }", "m", "", 3, 0),
            ("int i = 0; real y; while (i < 3) { i += 1; y = normal_rng(i, s); }", "", "", 0, 4),
            ("real m = a; print(m); real y = normal_rng(0, 1);", "m", "m", 1, 2),
            ("if (a > 3) reject(\"far\"); real m = a;", "m", "", 2, 0),
        ];
        for (block, outputs, read, compiled, rest) in table {
            let expected = (outputs.to_string(), read.to_string(), *compiled, *rest);
            assert_eq!(parts(block), expected, "{block}");
        }
    }
}
