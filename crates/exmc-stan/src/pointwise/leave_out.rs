//! Observations that are left out -> the program's syntax tree without their terms.
//!
//! A statement with one term each time that it runs (`y[n] ~ ...` in a loop) runs only for the
//! outcomes that are kept. Of one that runs once and has many terms (`y ~ ...`) the outcome and
//! whatever goes with it element by element is indexed by those that are kept.

use std::collections::BTreeSet;

use super::find::HINT;
use super::{Layout, Observations, Observed};
use crate::diagnostic::{Class, Diagnostic};
use crate::families::{Family, Source, family};
use crate::host::Environment;
use crate::source::{Sources, Span};
use crate::syntax::tree::{self, Block, Expr, ExprKind, Index, Name, Statement, StatementKind};
use crate::syntax::{NoIncludes, parse};
use crate::typed::{self, Callee, Type};

impl Observations {
    /// The syntax tree of the program without the terms of some observations, which are numbered
    /// from 0; `tree` is the program's. `env` holds the data.
    ///
    /// # Errors
    /// Statements whose terms cannot be left out one by one.
    pub fn without(
        &self,
        tree: &tree::Program,
        env: &Environment,
        layout: &Layout,
        left_out: &[usize],
    ) -> Result<tree::Program, Vec<Diagnostic>> {
        let mut tree = tree.clone();
        let mut refusals = Vec::new();
        let mut prefix = "exmc_kept".to_owned();
        while self.program.sources.files().iter().any(|file| file.text.contains(&prefix)) {
            prefix.push('_');
        }
        for (k, span) in self.spans.iter().enumerate() {
            let statement_terms =
                (0..layout.slots.len()).filter(|term| layout.of_terms[*term] == k);
            let terms: Vec<usize> = statement_terms.map(|term| layout.slots[term]).collect();
            if !terms.iter().any(|observation| left_out.contains(observation)) {
                continue;
            }
            let observed = self.observed.get(span).map_or(&[][..], Vec::as_slice);
            let [observed] = observed else {
                let message = "this statement adds several densities at once, so that observations \
                               cannot be left out of it";
                refusals.push(refusal(*span, message));
                continue;
            };
            let change = if observed.has_one_term() {
                let name = format!("{prefix}_{k}");
                self.condition(env, layout, observed, &terms, left_out, &name)
            } else {
                let kept = terms.iter().enumerate().filter(|(_, o)| !left_out.contains(o));
                Some(Change::Rest(kept.map(|(place, _)| place + 1).collect()))
            };
            let Some(change) = change else {
                refusals.push(cannot(*span));
                continue;
            };
            if let Change::Condition(Some((_, text))) = &change {
                declare(&mut tree, text);
            }
            let Some(model) = &mut tree.model else { continue };
            let mut rewrite = Rewrite { span: *span, observed, change, refusals: &mut refusals };
            rewrite.statements(&mut model.statements, false);
        }
        if refusals.is_empty() { Ok(tree) } else { Err(refusals) }
    }

    /// Under what condition a statement of one term runs; nothing where the term is no element of
    /// data, or the same one each time.
    fn condition(
        &self,
        env: &Environment,
        layout: &Layout,
        observed: &Observed,
        terms: &[usize],
        left_out: &[usize],
        name: &str,
    ) -> Option<Change> {
        let (id, choice) = observed.place.as_ref()?;
        let rank = singles(choice)?;
        if rank == 0 {
            return Some(Change::Condition(None));
        }
        let extents = env.get(*id)?.shape().get(..rank)?.to_vec();
        let mut gone = BTreeSet::new();
        for observation in terms.iter().filter(|o| left_out.contains(o)) {
            let index = &layout.observations[*observation].index;
            if index.len() != rank {
                return None;
            }
            gone.insert(index.iter().zip(&extents).fold(0, |place, (i, n)| place * n + i - 1));
        }
        let total: usize = extents.iter().product();
        let mut parts: Vec<String> =
            (0..total).map(|place| u8::from(!gone.contains(&place)).to_string()).collect();
        for extent in extents.iter().rev() {
            let rows = parts.chunks(*extent);
            parts = rows.map(|row| format!("{{{}}}", row.join(", "))).collect();
        }
        let sizes: Vec<String> = extents.iter().map(usize::to_string).collect();
        let text = format!("array[{}] int {name} = {};", sizes.join(", "), parts.concat());
        Some(Change::Condition(Some((name.to_owned(), text))))
    }
}

impl Observed {
    /// Whether it has one term each time that its statement runs.
    fn has_one_term(&self) -> bool {
        self.event_rank.is_none_or(|rank| rank == self.outcome_rank())
    }

    /// Whether an argument, the outcome being the first, goes with the outcome element by element.
    fn varies(&self, k: usize, distribution: &str, ty: &Type) -> bool {
        let family = family(distribution);
        if let Some(Family { source: Source::LinearModel(_, which), .. }) = family {
            // A row of predictors that all outcomes share is no matrix.
            return which.contains(&k) && ty.rank() > 0 && *ty != Type::RowVector;
        }
        let slot = family.and_then(|family| family.slots.get(k).copied());
        slot.is_some_and(|slot| ty.rank() > slot.event_rank())
    }
}

/// What becomes of a statement.
enum Change {
    /// It runs where the element of an array is not zero, of which this is the name and the
    /// declaration; not at all, where there is none.
    Condition(Option<(String, String)>),
    /// The terms at these places, from 1, are left of it.
    Rest(Vec<usize>),
}

fn refusal(span: Span, message: &str) -> Diagnostic {
    Diagnostic::error(Class::Unsupported, span, message).help(HINT)
}

fn cannot(span: Span) -> Diagnostic {
    refusal(span, "observations cannot be left out of this statement one by one")
}

/// How many single indices an expression has, if it is a variable with no others.
fn singles(choice: &typed::Expr) -> Option<usize> {
    use typed::{ExprKind, Index};
    match &choice.kind {
        ExprKind::Variable(_) => Some(0),
        ExprKind::Promote(inner) => singles(inner),
        ExprKind::Index(base, indices) => {
            let all = indices.iter().all(|index| matches!(index, Index::Single(_)));
            Some(singles(base)? + indices.len()).filter(|_| all)
        }
        _ => None,
    }
}

/// The indices of the variable in an outcome that is an element of it, or a function of that.
fn indices(outcome: &Expr) -> Option<Vec<Index>> {
    match &outcome.kind {
        ExprKind::Name(_) => Some(Vec::new()),
        ExprKind::Parenthesised(e) | ExprKind::Unary(_, e) => indices(e),
        ExprKind::Call { args, .. } => match args.as_slice() {
            [arg] => indices(arg),
            _ => None,
        },
        ExprKind::Index(base, outer_indices) => {
            let mut all = indices(base)?;
            all.extend(outer_indices.iter().cloned());
            Some(all)
        }
        _ => None,
    }
}

/// Puts a declaration first in transformed data.
fn declare(tree: &mut tree::Program, text: &str) {
    let text = format!("transformed data {{ {text} }}");
    let (parsed, _) = parse(&mut Sources::single("left out", text), &mut NoIncludes);
    let new_statements = parsed.transformed_data.into_iter().flat_map(|block| block.statements);
    let block = tree
        .transformed_data
        .get_or_insert_with(|| Block { statements: Vec::new(), span: Span::default() });
    block.statements.splice(0..0, new_statements);
}

struct Rewrite<'a> {
    span: Span,
    observed: &'a Observed,
    change: Change,
    refusals: &'a mut Vec<Diagnostic>,
}

impl Rewrite<'_> {
    fn statements(&mut self, statements: &mut [Statement], in_loop: bool) {
        statements.iter_mut().for_each(|statement| self.statement(statement, in_loop));
    }

    fn statement(&mut self, statement: &mut Statement, in_loop: bool) {
        match &mut statement.kind {
            StatementKind::If { then, otherwise, .. } => {
                self.statement(then, in_loop);
                otherwise.iter_mut().for_each(|s| self.statement(s, in_loop));
            }
            StatementKind::While { body, .. }
            | StatementKind::For { body, .. }
            | StatementKind::ForEach { body, .. } => self.statement(body, true),
            StatementKind::Block(all) | StatementKind::Profile { body: all, .. } => {
                self.statements(all, in_loop);
            }
            StatementKind::Tilde { .. } | StatementKind::TargetPlus(_)
                if statement.span == self.span =>
            {
                match self.changed(statement.clone(), in_loop) {
                    Some(changed) => *statement = changed,
                    None => self.refusals.push(cannot(self.span)),
                }
            }
            _ => {}
        }
    }

    fn changed(&self, mut statement: Statement, in_loop: bool) -> Option<Statement> {
        let span = statement.span;
        let expr_of = |kind| Expr { kind, span };
        match &self.change {
            Change::Condition(None) => {
                Some(Statement { kind: StatementKind::Block(Vec::new()), span })
            }
            Change::Condition(Some((name, _))) => {
                let name = expr_of(ExprKind::Name(Name { text: name.as_str().into(), span }));
                let indices = indices(arguments(&mut statement)?.into_iter().next()?)?;
                let condition = expr_of(ExprKind::Index(Box::new(name), indices));
                let then = Box::new(statement);
                Some(Statement {
                    kind: StatementKind::If { condition, then, otherwise: None },
                    span,
                })
            }
            Change::Rest(_) if in_loop => None,
            Change::Rest(kept) if kept.is_empty() => {
                Some(Statement { kind: StatementKind::Block(Vec::new()), span })
            }
            Change::Rest(kept) => {
                let typed::ExprKind::Call(Callee::Library(name), types) = &self.observed.call.kind
                else {
                    return None;
                };
                let (distribution, _) = name.rsplit_once('_')?;
                let kept: Vec<Expr> =
                    kept.iter().map(|k| expr_of(ExprKind::Int(k.to_string().into()))).collect();
                let args = arguments(&mut statement)?;
                if args.len() != types.len() {
                    return None;
                }
                for (k, (arg, typed)) in args.into_iter().zip(types).enumerate() {
                    if self.observed.varies(k, distribution, &typed.ty) {
                        let kept = Index::Expr(expr_of(ExprKind::Array(kept.clone())));
                        let full_argument = Box::new(arg.clone());
                        *arg = expr_of(ExprKind::Index(full_argument, vec![kept]));
                    }
                }
                Some(statement)
            }
        }
    }
}

/// The arguments of the density that a statement adds, the outcome first.
fn arguments(statement: &mut Statement) -> Option<Vec<&mut Expr>> {
    match &mut statement.kind {
        StatementKind::Tilde { outcome, args, .. } => {
            Some(std::iter::once(outcome).chain(args).collect())
        }
        StatementKind::TargetPlus(e) => arguments_of_call(e),
        _ => None,
    }
}

fn arguments_of_call(e: &mut Expr) -> Option<Vec<&mut Expr>> {
    match &mut e.kind {
        ExprKind::Parenthesised(inner) => arguments_of_call(inner),
        ExprKind::Call { args, .. } => Some(args.iter_mut().collect()),
        _ => None,
    }
}
