//! A model's statements -> those that say how likely the data are, or why they cannot be told from
//! the others.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Observed;
use super::dependence::Dependence;
use crate::diagnostic::{Class, Diagnostic};
use crate::families::{Family, Source, family};
use crate::generative::root;
use crate::scalar_functions;
use crate::source::Span;
use crate::typed::{
    BinaryOp, Callee, Expr, ExprKind, Program, Scope, Statement, StatementKind, Truncation, Type,
    UnaryOp, VariableId,
};
use crate::visit::{Node, visit_expr, visit_own};

pub(super) const HINT: &str = "declare the log likelihood of each observation in generated quantities, as \
                    `vector[N] log_lik`";

/// See [`super::Observations`].
pub(super) struct Found {
    pub(super) statements: Vec<Statement>,
    pub(super) observed: FxHashMap<Span, Vec<Observed>>,
    pub(super) spans: Vec<Span>,
}

/// Sorts the statements of a program's model.
///
/// # Errors
/// See [`super::Observations::find`].
pub(super) fn find(program: &Program) -> Result<Found, Vec<Diagnostic>> {
    let dependence = Dependence::new(program);
    let mut walk = Walk {
        program,
        dependence,
        observed: FxHashMap::default(),
        spans: Vec::new(),
        refusals: Vec::new(),
    };
    // Functions that add to the log density may be called in transformed parameters too.
    walk.statements(&program.transformed_parameters, false);
    let statements = walk.statements(&program.model, false);
    let Walk { observed, spans, mut refusals, .. } = walk;
    if refusals.is_empty() && spans.is_empty() {
        let span = program.model.first().map(|statement| statement.span).unwrap_or_default();
        let message = "no statement of the model says how likely the data are";
        refusals.push(refusal(span, message));
    }
    if refusals.is_empty() { Ok(Found { statements, observed, spans }) } else { Err(refusals) }
}

fn refusal(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Class::Unsupported, span, message).help(HINT)
}

struct Walk<'p> {
    program: &'p Program,
    dependence: Dependence,
    observed: FxHashMap<Span, Vec<Observed>>,
    spans: Vec<Span>,
    refusals: Vec<Diagnostic>,
}

/// What a term of the log density is.
enum Term {
    /// Of parameters alone.
    Prior,
    Observed(Box<Observed>),
}

/// Suffixes of densities, and of those with all terms.
const DENSITIES: &[(&str, &str)] =
    &[("_lpdf", "_lpdf"), ("_lpmf", "_lpmf"), ("_lupdf", "_lpdf"), ("_lupmf", "_lpmf")];

/// Suffixes of what is a probability of an outcome.
const PROBABILITIES: &[&str] =
    &["_lpdf", "_lpmf", "_lupdf", "_lupmf", "_lcdf", "_lccdf", "_cdf", "_ccdf"];

impl Walk<'_> {
    /// The statements that are needed; `under` says whether it depends on parameters that they run.
    fn statements(&mut self, statements: &[Statement], under: bool) -> Vec<Statement> {
        statements.iter().filter_map(|statement| self.statement(statement, under)).collect()
    }

    fn boxed(&mut self, statement: &Statement, under: bool) -> Box<Statement> {
        let empty = || Statement::new(StatementKind::Block(Vec::new()), statement.span);
        Box::new(self.statement(statement, under).unwrap_or_else(empty))
    }

    fn statement(&mut self, statement: &Statement, under: bool) -> Option<Statement> {
        self.look_for_calls(statement);
        let span = statement.span;
        let kind = match &statement.kind {
            StatementKind::Tilde { outcome, distribution, user, args, truncation } => {
                let limits = truncation.as_deref();
                let term = self.tilde(outcome, (distribution, *user), args, limits, span);
                return self.keep(statement, vec![term], under);
            }
            StatementKind::TargetPlus(e) => {
                let mut terms = Vec::new();
                self.summands(e, true, &mut terms);
                return self.keep(statement, terms, under);
            }
            StatementKind::JacobianPlus(_)
            | StatementKind::Print(_)
            | StatementKind::Reject(_)
            | StatementKind::FatalError(_)
            | StatementKind::Call { .. } => return None,
            StatementKind::If(condition, then, otherwise) => {
                let under = under || self.dependence.varies(condition);
                let then = self.boxed(then, under);
                let otherwise = otherwise.as_deref().map(|s| self.boxed(s, under));
                StatementKind::If(condition.clone(), then, otherwise)
            }
            StatementKind::While(condition, body) => {
                let under = under || self.dependence.varies(condition);
                let under = under || self.dependence.leaves_early(body, under);
                StatementKind::While(condition.clone(), self.boxed(body, under))
            }
            StatementKind::For { variable, lower, upper, body } => {
                let varies = [lower, upper].iter().any(|e| self.dependence.varies(e));
                let under = under || varies;
                let under = under || self.dependence.leaves_early(body, under);
                let body = self.boxed(body, under);
                let (variable, lower, upper) = (*variable, lower.clone(), upper.clone());
                StatementKind::For { variable, lower, upper, body }
            }
            StatementKind::ForEach { variable, over, body } => {
                let under = under || self.dependence.leaves_early(body, under);
                let body = self.boxed(body, under);
                StatementKind::ForEach { variable: *variable, over: over.clone(), body }
            }
            StatementKind::Block(all) => StatementKind::Block(self.statements(all, under)),
            StatementKind::Profile(_, all) => StatementKind::Block(self.statements(all, under)),
            other => other.clone(),
        };
        Some(Statement::new(kind, span))
    }

    /// Notes the terms of a statement that adds to the log density.
    fn keep(
        &mut self,
        statement: &Statement,
        terms: Vec<Option<Term>>,
        under: bool,
    ) -> Option<Statement> {
        let mut kept: Vec<Observed> = Vec::new();
        for term in terms.into_iter().flatten() {
            if let Term::Observed(observed) = term {
                kept.push(*observed);
            }
        }
        if kept.is_empty() {
            return None;
        }
        let span = statement.span;
        if under {
            let message = "whether this statement on data runs depends on parameters";
            self.refusals.push(refusal(span, message));
            return None;
        }
        kept.iter_mut().for_each(|observed| observed.statement = self.spans.len());
        self.spans.push(span);
        if self.observed.insert(span, kept).is_some() {
            let message = "the text of this statement on data is included more than once";
            self.refusals.push(refusal(span, message));
        }
        Some(statement.clone())
    }

    /// Calls of functions that add to the log density themselves.
    fn look_for_calls(&mut self, statement: &Statement) {
        let mut found = Vec::new();
        let mut look = |callee: &Callee, args: &[Expr], span: Span| {
            let Callee::User { function, .. } = callee else { return };
            let name = &self.program.function(*function).name;
            if name.ends_with("_lp") && args.iter().any(|arg| self.dependence.reads_data(arg)) {
                let message =
                    format!("`{name}` adds to the log density what it computes from data");
                found.push(refusal(span, message));
            }
        };
        if let StatementKind::Call { function, args } = &statement.kind {
            look(function, args, statement.span);
        }
        let inner = matches!(statement.kind, StatementKind::Block(_) | StatementKind::Profile(..));
        if !inner {
            visit_own(statement, &mut |node| {
                if let Node::Expr(Expr { kind: ExprKind::Call(callee, args), span, .. }) = node {
                    look(callee, args, *span);
                }
                true
            });
        }
        self.refusals.append(&mut found);
    }

    fn tilde(
        &mut self,
        outcome: &Expr,
        (distribution, user): (&Arc<str>, Option<crate::typed::FunctionId>),
        args: &[Expr],
        truncation: Option<&Truncation>,
        span: Span,
    ) -> Option<Term> {
        let discrete = outcome.ty.array_parts().1 == &Type::Int;
        let suffix = if discrete { "lpmf" } else { "lpdf" };
        let callee = match user {
            Some(function) => Callee::User { function, proportional: false },
            None => Callee::Library(format!("{distribution}_{suffix}").into()),
        };
        let args = std::iter::once(outcome).chain(args).cloned().collect();
        let call = Expr::new(ExprKind::Call(callee, args), Type::Real, span);
        let truncation = truncation.map(|limits| (limits.clone(), distribution.clone()));
        self.density(call, distribution, truncation)
    }

    /// The terms of a sum that is added; `added` tells a sum from a difference.
    fn summands(&mut self, e: &Expr, added: bool, terms: &mut Vec<Option<Term>>) {
        match &e.kind {
            ExprKind::Binary(BinaryOp::Add, a, b) => {
                self.summands(a, added, terms);
                self.summands(b, added, terms);
            }
            ExprKind::Binary(BinaryOp::Subtract, a, b) => {
                self.summands(a, added, terms);
                self.summands(b, !added, terms);
            }
            ExprKind::Promote(a) | ExprKind::Unary(UnaryOp::Plus, a) => {
                self.summands(a, added, terms);
            }
            ExprKind::Unary(UnaryOp::Minus, a) => self.summands(a, !added, terms),
            ExprKind::Call(callee, args) if added => {
                let name = self.name(callee);
                let found = DENSITIES
                    .iter()
                    .find_map(|(suffix, full)| Some((name.strip_suffix(suffix)?.to_owned(), full)));
                let term = match found {
                    Some((base, full)) => {
                        let callee = match callee {
                            Callee::Library(_) => Callee::Library(format!("{base}{full}").into()),
                            Callee::User { function, .. } => {
                                Callee::User { function: *function, proportional: false }
                            }
                        };
                        let kind = ExprKind::Call(callee, args.clone());
                        let call = Expr::new(kind, Type::Real, e.span);
                        self.density(call, &base, None)
                    }
                    None => self.other(e),
                };
                terms.push(term);
            }
            _ => terms.push(self.other(e)),
        }
    }

    fn name(&self, callee: &Callee) -> Arc<str> {
        match callee {
            Callee::Library(name) => name.clone(),
            Callee::User { function, .. } => self.program.function(*function).name.clone(),
        }
    }

    /// What a density is of, by its outcome.
    fn density(
        &mut self,
        call: Expr,
        distribution: &str,
        truncation: Option<(Truncation, Arc<str>)>,
    ) -> Option<Term> {
        let ExprKind::Call(callee, args) = &call.kind else { return None };
        let Some((outcome, rest)) = args.split_first() else { return Some(Term::Prior) };
        let flags = self.dependence.flags_of(outcome);
        let text = self.text(outcome.span);
        if flags.parameter && !flags.data {
            return Some(Term::Prior);
        }
        if flags.parameter {
            let message = format!(
                "`{text}` is computed from data and parameters: it is not clear what is observed"
            );
            self.refusals.push(refusal(outcome.span, message));
            return None;
        }
        if !self.dependence.reads_data(outcome) {
            if !rest.iter().any(|arg| self.dependence.varies(arg)) {
                // A constant.
                return Some(Term::Prior);
            }
            let message = format!("`{text}` is neither data nor a parameter");
            self.refusals.push(refusal(outcome.span, message));
            return None;
        }
        let is_function =
            |e: &Expr| matches!(e.kind, ExprKind::Function { .. } | ExprKind::LibraryFunction(_));
        let event_rank = match callee {
            Callee::Library(_) if !rest.iter().any(is_function) => {
                // All linear models are of numbers, whatever their outcomes must be held in.
                let rank = |family: &Family| match family.source {
                    Source::LinearModel(..) => 0,
                    _ => family.slots[0].event_rank(),
                };
                family(distribution).map(rank)
            }
            _ => None,
        };
        if truncation.is_some() && event_rank.is_none() && outcome.ty.rank() > 0 {
            let message = format!("`{text}` is cut off as a whole, not element by element");
            self.refusals.push(refusal(call.span, message));
            return None;
        }
        let of_data = |id: VariableId| {
            matches!(self.program.variable(id).scope, Scope::Data | Scope::TransformedData)
        };
        // What a local variable holds may be another element each time.
        let place = place(outcome).filter(|(id, _)| of_data(*id));
        let label = Arc::from(&*text);
        let observed = Observed { event_rank, truncation, place, label, statement: 0, call };
        Some(Term::Observed(Box::new(observed)))
    }

    /// A term that is not a density alone: a prior if it has nothing to do with data.
    fn other(&mut self, e: &Expr) -> Option<Term> {
        let flags = self.dependence.flags_of(e);
        if !flags.parameter {
            return Some(Term::Prior);
        }
        let mut of_data = None;
        visit_expr(e, &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Call(callee, args), .. }) = node
                && let Some((outcome, rest)) = args.split_first()
            {
                let name = self.name(callee);
                let is_probability = PROBABILITIES.iter().any(|suffix| name.ends_with(suffix));
                let is_fixed = is_probability
                    && !self.dependence.varies(outcome)
                    && rest.iter().any(|arg| self.dependence.varies(arg));
                if is_fixed {
                    of_data.get_or_insert(name);
                }
            }
            true
        });
        let text = self.text(e.span);
        let message = match of_data {
            Some(name) => format!(
                "`{text}` adds `{name}` of what is no parameter, but not as a density of data alone"
            ),
            None if flags.data => {
                format!("`{text}` is computed from data and parameters, and is no density of data")
            }
            None => return Some(Term::Prior),
        };
        self.refusals.push(refusal(e.span, message));
        None
    }

    /// The characters of a span in one line.
    fn text(&self, span: Span) -> String {
        one_line(self.program.sources.text(span))
    }
}

/// The most characters of a program's text in a message or a name.
const MAX_TEXT: usize = 60;

/// A text with single spaces, cut off where it is long.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// Of which data an outcome is elements (or the same function of each), and what chooses them.
fn place(outcome: &Expr) -> Option<(VariableId, Expr)> {
    if let Some(id) = root(outcome) {
        return Some((id, outcome.clone()));
    }
    match &outcome.kind {
        ExprKind::Unary(UnaryOp::Minus, a) | ExprKind::Promote(a) => place(a),
        // Functions of one number leave an element where it is.
        ExprKind::Call(Callee::Library(name), args) => match &args[..] {
            [a] if scalar_functions::find(name).is_some() => place(a),
            _ => None,
        },
        _ => None,
    }
}
