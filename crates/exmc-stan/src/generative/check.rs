//! A program -> why it cannot be read as a recipe for data, statement by statement.

use std::collections::BTreeSet;

use super::draw::can_draw;
use super::order::{accesses, reads_of, root};
use crate::diagnostic::{Class, Diagnostic};
use crate::source::Span;
use crate::typed::{
    Callee, Constraint, DeclaredType, Expr, ExprKind, Program, Scope, Statement, StatementKind,
    Type, VariableId,
};
use crate::visit::{Node, visit_declared, visit_statement};

const HINT: &str = "data can be simulated of a program in which `~` draws every parameter and \
                    then the data";

fn refusal(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Class::Unsupported, span, message).help(HINT)
}

/// `target += normal_lpdf(y | mu, sigma)` says what `y ~ normal(mu, sigma)` does.
pub(super) fn as_tilde(program: &Program, statement: &Statement) -> Option<StatementKind> {
    match &statement.kind {
        StatementKind::TargetPlus(call) => tilde_of(program, call),
        _ => None,
    }
}

/// A density of elements of a variable, as the statement `~` that says the same.
pub(crate) fn tilde_of(program: &Program, density: &Expr) -> Option<StatementKind> {
    let ExprKind::Call(callee, args) = &density.kind else { return None };
    let (name, user) = match callee {
        Callee::Library(name) => (name.clone(), None),
        Callee::User { function, .. } => {
            (program.function(*function).name.clone(), Some(*function))
        }
    };
    let suffixes = ["_lpdf", "_lpmf", "_lupdf", "_lupmf"];
    let distribution = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix))?.into();
    let (outcome, args) = args.split_first()?;
    root(outcome)?;
    let (outcome, args) = (outcome.clone(), args.to_vec());
    Some(StatementKind::Tilde { outcome, distribution, user, args, truncation: None })
}

/// Statements with `target += …_lpdf` written as `~`, inside of others too.
pub(super) fn with_tildes(program: &Program, statements: &[Statement]) -> Vec<Statement> {
    let one = |s: &Statement| {
        let mut made = with_tildes(program, std::slice::from_ref(s));
        Box::new(made.swap_remove(0))
    };
    let each = statements.iter().map(|statement| {
        let kind = match &statement.kind {
            StatementKind::TargetPlus(_) => as_tilde(program, statement),
            StatementKind::For { variable, lower, upper, body } => Some(StatementKind::For {
                variable: *variable,
                lower: lower.clone(),
                upper: upper.clone(),
                body: one(body),
            }),
            StatementKind::ForEach { variable, over, body } => Some(StatementKind::ForEach {
                variable: *variable,
                over: over.clone(),
                body: one(body),
            }),
            StatementKind::If(condition, then, otherwise) => {
                Some(StatementKind::If(condition.clone(), one(then), otherwise.as_deref().map(one)))
            }
            StatementKind::Block(inner) => Some(StatementKind::Block(with_tildes(program, inner))),
            StatementKind::Profile(name, inner) => {
                Some(StatementKind::Profile(name.clone(), with_tildes(program, inner)))
            }
            _ => None,
        };
        Statement::new(kind.unwrap_or_else(|| statement.kind.clone()), statement.span)
    });
    each.collect()
}

/// What of `statements`, the transformed parameters and the model, cannot be drawn.
pub(super) fn refusals(program: &Program, statements: &[Statement]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let outcomes = outcomes(program, statements);
    let derived = derived(program, &outcomes);
    for statement in statements {
        visit_statement(statement, &mut |node| {
            match node {
                Node::Statement(statement) => {
                    found.extend(statement_refusal(program, statement, &derived));
                }
                Node::Expr(Expr { kind: ExprKind::Call(callee, _), span, .. }) => {
                    found.extend(adds_to_target(program, callee, *span));
                }
                _ => {}
            }
            true
        });
    }
    for declaration in &program.parameters {
        let name = &program.variable(declaration.variable).name;
        let mut of_data = None;
        visit_declared(&declaration.ty, &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Variable(id), span, .. }) = node
                && (outcomes.contains(id) || derived.contains(id))
            {
                of_data = Some((*id, *span));
            }
            true
        });
        if let Some((id, span)) = of_data {
            let data = &program.variable(id).name;
            let message = format!(
                "the bounds of `{name}` depend on `{data}`, so that neither can be drawn first"
            );
            found.push(refusal(span, message));
        }
        let is_drawn = statements.iter().any(|s| accesses(s).draws.contains(&declaration.variable));
        if !is_drawn && !has_implicit_prior(program, &declaration.ty) {
            let message =
                format!("`{name}` has no proper prior: no statement `{name} ~ …` draws it");
            found.push(refusal(declaration.span, message));
        }
    }
    found
}

/// Whether a parameter without a statement still has a proper distribution: uniform on what it may
/// be.
fn has_implicit_prior(program: &Program, ty: &DeclaredType) -> bool {
    match ty {
        DeclaredType::Array { element, .. } => has_implicit_prior(program, element),
        DeclaredType::Leaf { constraint, .. } => match constraint {
            Constraint::LowerUpper(lower, upper) => {
                !(varies(program, lower) || varies(program, upper))
            }
            Constraint::Simplex => true,
            _ => false,
        },
        DeclaredType::Tuple(_) => false,
    }
}

/// Whether an expression may have another value in another draw.
pub(super) fn varies(program: &Program, e: &Expr) -> bool {
    let mut reads = BTreeSet::new();
    reads_of(e, &mut reads);
    let is_fixed = |id: &VariableId| {
        matches!(program.variable(*id).scope, Scope::Data | Scope::TransformedData | Scope::Loop)
    };
    !reads.iter().all(is_fixed)
}

/// The data that stand left of `~`.
pub(super) fn outcomes(program: &Program, statements: &[Statement]) -> BTreeSet<VariableId> {
    let drawn = statements.iter().flat_map(|s| accesses(s).draws);
    drawn.filter(|id| program.variable(*id).scope == Scope::Data).collect()
}

/// Transformed data that were computed from outcomes.
fn derived(program: &Program, outcomes: &BTreeSet<VariableId>) -> BTreeSet<VariableId> {
    let mut derived = BTreeSet::new();
    loop {
        let before = derived.len();
        for statement in &program.transformed_data {
            let all = accesses(statement);
            if all.reads.iter().any(|id| outcomes.contains(id) || derived.contains(id)) {
                derived.extend(all.writes);
            }
        }
        if derived.len() == before {
            return derived;
        }
    }
}

fn adds_to_target(program: &Program, callee: &Callee, span: Span) -> Option<Diagnostic> {
    let name: &str = match callee {
        Callee::Library(name) => name,
        Callee::User { function, .. } => &program.function(*function).name,
    };
    name.ends_with("_lp").then(|| {
        refusal(
            span,
            format!("`{name}` adds to the log density, which says nothing of how to draw"),
        )
    })
}

fn statement_refusal(
    program: &Program,
    statement: &Statement,
    derived: &BTreeSet<VariableId>,
) -> Option<Diagnostic> {
    let span = statement.span;
    match &statement.kind {
        StatementKind::TargetPlus(_) => {
            Some(refusal(span, "`target +=` adds to the log density and says not what to draw"))
        }
        StatementKind::JacobianPlus(_) => {
            Some(refusal(span, "`jacobian +=` adds to the log density and says not what to draw"))
        }
        StatementKind::Call { function, .. } => adds_to_target(program, function, span),
        StatementKind::Tilde { outcome, distribution, user, args, truncation } => {
            let mut reads = BTreeSet::new();
            args.iter().for_each(|arg| reads_of(arg, &mut reads));
            if let Some(id) = reads.iter().find(|id| derived.contains(id)) {
                let name = &program.variable(*id).name;
                let message = format!("`{name}` was computed from data that are to be drawn");
                return Some(refusal(span, message));
            }
            let Some(id) = root(outcome) else {
                let message = "what stands left of `~` is computed, so that it cannot be drawn";
                return Some(refusal(outcome.span, message));
            };
            let variable = program.variable(id);
            let what = match variable.scope {
                Scope::Data | Scope::Parameters => None,
                Scope::TransformedData => Some("transformed data"),
                Scope::TransformedParameters => Some("a transformed parameter"),
                _ => Some("neither a parameter nor data"),
            };
            if let Some(what) = what {
                let message = format!(
                    "`{}` is {what}: it is computed, so that it cannot be drawn",
                    variable.name
                );
                return Some(refusal(outcome.span, message));
            }
            if reads.contains(&id) && !is_single(outcome) {
                let message = format!(
                    "`{}` stands on both sides of `~` with more than one element",
                    variable.name
                );
                let help = "write it as a loop that draws one element after the other";
                return Some(Diagnostic::error(Class::Unsupported, span, message).help(help));
            }
            let whose = (&**distribution, user.is_some());
            cannot_draw(program, whose, args, truncation.is_some()).map(|(message, help)| {
                let refusal = refusal(span, message);
                match help {
                    None => refusal,
                    Some(help) => refusal.help(help),
                }
            })
        }
        _ => None,
    }
}

fn is_single(outcome: &Expr) -> bool {
    matches!(outcome.ty, Type::Int | Type::Real)
}

/// Why outcomes of a distribution, the user's or the library's, cannot be drawn, and what would
/// help; nothing where they can.
pub(crate) fn cannot_draw(
    program: &Program,
    (distribution, is_users): (&str, bool),
    args: &[Expr],
    is_truncated: bool,
) -> Option<(String, Option<String>)> {
    let message = format!("there is no `{distribution}_rng` to draw with");
    if !is_users {
        return (!can_draw(distribution)).then_some((message, None));
    }
    if generator(program, distribution, args).is_none() {
        let help = format!("define a function `{distribution}_rng` of the same arguments");
        return Some((message, Some(help)));
    }
    let message = format!("`{distribution}_rng` does not know the limits of `T[...]`");
    is_truncated.then_some((message, None))
}

/// The user's function that draws of a user's distribution.
pub(super) fn generator(
    program: &Program,
    distribution: &str,
    args: &[Expr],
) -> Option<crate::typed::FunctionId> {
    let wanted = format!("{distribution}_rng");
    let fits = |function: &crate::typed::Function| {
        *function.name == wanted && function.arguments.len() == args.len()
    };
    let found = program.functions.iter().position(fits)?;
    Some(crate::typed::FunctionId(found as u32))
}
