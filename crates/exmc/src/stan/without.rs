//! A program that records `log_lik` -> the program whose density lacks some of the observations.
//!
//! The statements of generated quantities that `log_lik` needs are repeated at the end of the
//! model, and the elements of the observations that are left out are subtracted from the density.

use std::collections::BTreeSet;

use exmc_stan::check::check;
use exmc_stan::diagnostic::Severity;
use exmc_stan::source::{Sources, Span};
use exmc_stan::syntax::tree::{
    Base, Block, DeclaredKind, DeclaredType, Expr, ExprKind, LValue, LValueKind, Program,
    Statement, StatementKind,
};
use exmc_stan::syntax::{NoIncludes, Node, parse, walk};

use super::{StanError, StanProgram};
use crate::error::Error;

/// The quantity that holds log likelihoods.
pub(crate) const LOG_LIK: &str = "log_lik";

impl StanProgram {
    /// The program whose density lacks elements of `log_lik`, numbered from 0.
    pub(crate) fn without(&self, left_out: &[usize]) -> Result<Self, Error> {
        let mut tree = (*self.tree).clone();
        let quantities = tree.generated_quantities.iter().flat_map(|block| &block.statements);
        let quantities: Vec<Statement> = quantities.cloned().collect();
        let mut needed = BTreeSet::from([LOG_LIK.to_owned()]);
        loop {
            let before = needed.len();
            quantities.iter().for_each(|statement| need(statement, &mut needed));
            if needed.len() == before {
                break;
            }
        }
        let mut kept: Vec<Statement> =
            quantities.iter().filter_map(|statement| part(statement, &needed)).collect();
        let indices: Vec<String> = left_out.iter().map(|i| (i + 1).to_string()).collect();
        let text = format!("model {{ target += -sum({LOG_LIK}[{{{}}}]); }}", indices.join(", "));
        let (left_out_tree, _) = parse(&mut Sources::single("left out", text), &mut NoIncludes);
        kept.extend(left_out_tree.model.into_iter().flat_map(|block| block.statements));
        let model = tree
            .model
            .get_or_insert_with(|| Block { statements: Vec::new(), span: Span::default() });
        let span = model.span;
        model.statements.push(Statement { kind: StatementKind::Block(kept), span });
        self.with_tree(tree)
    }

    /// The program of another tree over the same texts.
    pub(super) fn with_tree(&self, tree: Program) -> Result<Self, Error> {
        let sources = self.program.sources.clone();
        let (program, diagnostics) = check(sources.clone(), &tree);
        let is_wrong = diagnostics.iter().any(|d| d.severity == Severity::Error);
        match program {
            Some(program) if !is_wrong => Ok(Self {
                tree: tree.into(),
                program: program.into(),
                warnings: self.warnings.clone(),
            }),
            _ => Err(StanError { sources, diagnostics }.into()),
        }
    }
}

/// The statements inside of one that is no more than others.
fn inner(statement: &Statement) -> Option<Vec<&Statement>> {
    Some(match &statement.kind {
        StatementKind::If { then, otherwise, .. } => {
            std::iter::once(&**then).chain(otherwise.as_deref()).collect()
        }
        StatementKind::While { body, .. }
        | StatementKind::For { body, .. }
        | StatementKind::ForEach { body, .. } => vec![body],
        StatementKind::Block(all) | StatementKind::Profile { body: all, .. } => {
            all.iter().collect()
        }
        _ => return None,
    })
}

/// Adds the names that needed ones are computed from in a statement.
fn need(statement: &Statement, needed: &mut BTreeSet<String>) {
    let (writes, reads) = names_in(statement);
    if writes.is_disjoint(needed) {
        return;
    }
    match inner(statement) {
        // What decides whether the statements inside run is needed too.
        Some(all) => {
            let inside = all.iter().flat_map(|s| names_in(s).1).collect::<BTreeSet<_>>();
            needed.extend(reads.difference(&inside).cloned());
            needed.extend(conditions(statement));
            all.into_iter().for_each(|statement| need(statement, needed));
        }
        None => needed.extend(reads),
    }
}

/// Names in a statement's own condition or bounds.
fn conditions(statement: &Statement) -> BTreeSet<String> {
    let names_of = |e: &Expr| {
        names_in(&Statement { kind: StatementKind::TargetPlus(e.clone()), span: e.span }).1
    };
    match &statement.kind {
        StatementKind::If { condition, .. } | StatementKind::While { condition, .. } => {
            names_of(condition)
        }
        StatementKind::For { lower, upper, .. } => &names_of(lower) | &names_of(upper),
        StatementKind::ForEach { over, .. } => names_of(over),
        _ => BTreeSet::new(),
    }
}

/// What of a statement computes needed names.
fn part(statement: &Statement, needed: &BTreeSet<String>) -> Option<Statement> {
    if names_in(statement).0.is_disjoint(needed) {
        return None;
    }
    let (span, one) = (statement.span, |s: &Statement| {
        let empty = Statement { kind: StatementKind::Empty, span: s.span };
        Box::new(part(s, needed).unwrap_or(empty))
    });
    let all = |all: &[Statement]| all.iter().filter_map(|s| part(s, needed)).collect();
    let kind = match &statement.kind {
        StatementKind::If { condition, then, otherwise } => StatementKind::If {
            condition: condition.clone(),
            then: one(then),
            otherwise: otherwise.as_deref().map(one),
        },
        StatementKind::While { condition, body } => {
            StatementKind::While { condition: condition.clone(), body: one(body) }
        }
        StatementKind::For { variable, lower, upper, body } => StatementKind::For {
            variable: variable.clone(),
            lower: lower.clone(),
            upper: upper.clone(),
            body: one(body),
        },
        StatementKind::ForEach { variable, over, body } => StatementKind::ForEach {
            variable: variable.clone(),
            over: over.clone(),
            body: one(body),
        },
        StatementKind::Block(inner) => StatementKind::Block(all(inner)),
        StatementKind::Profile { name, body } => {
            StatementKind::Profile { name: name.clone(), body: all(body) }
        }
        StatementKind::Declare { ty, variables } => {
            let kept = variables.iter().filter(|(name, _)| needed.contains(&*name.text));
            StatementKind::Declare { ty: plain(ty), variables: kept.cloned().collect() }
        }
        other => other.clone(),
    };
    Some(Statement { kind, span })
}

/// Names that a statement declares or assigns to, and all others in it.
fn names_in(statement: &Statement) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut writes, mut reads) = (BTreeSet::new(), BTreeSet::new());
    let block = Block { statements: vec![statement.clone()], span: statement.span };
    let alone = Program { model: Some(block), ..Program::default() };
    walk(&alone, &mut |node| match node {
        Node::Statement(statement) => match &statement.kind {
            StatementKind::Declare { variables, .. } => {
                writes.extend(variables.iter().map(|(name, _)| name.text.to_string()));
            }
            StatementKind::Assign { target, .. } => written(target, &mut writes),
            _ => {}
        },
        Node::Expr(e) => {
            if let ExprKind::Name(name) = &e.kind {
                reads.insert(name.text.to_string());
            }
        }
    });
    (writes, reads)
}

fn written(target: &LValue, writes: &mut BTreeSet<String>) {
    match &target.kind {
        LValueKind::Variable(name) => {
            writes.insert(name.text.to_string());
        }
        LValueKind::Index(inner, _) | LValueKind::Field(inner, _) => written(inner, writes),
        LValueKind::Tuple(parts) => parts.iter().for_each(|part| written(part, writes)),
    }
}

/// A type as it may stand in a block of the model: without constraints.
fn plain(ty: &DeclaredType) -> DeclaredType {
    let kind = match &ty.kind {
        DeclaredKind::Leaf { base, sizes, .. } => {
            let mut sizes = sizes.clone();
            let base = match base {
                Base::Simplex
                | Base::Ordered
                | Base::PositiveOrdered
                | Base::UnitVector
                | Base::SumToZeroVector => Base::Vector,
                Base::CholeskyFactorCorr
                | Base::CorrMatrix
                | Base::CovMatrix
                | Base::CholeskyFactorCov
                | Base::SumToZeroMatrix
                | Base::ColumnStochasticMatrix
                | Base::RowStochasticMatrix => {
                    // A square matrix is declared by one size.
                    if let [size] = sizes.as_slice() {
                        sizes.push(size.clone());
                    }
                    Base::Matrix
                }
                other => *other,
            };
            DeclaredKind::Leaf { base, sizes, bounds: Box::default() }
        }
        DeclaredKind::Array { sizes, element } => {
            DeclaredKind::Array { sizes: sizes.clone(), element: Box::new(plain(element)) }
        }
        DeclaredKind::Tuple(slots) => DeclaredKind::Tuple(slots.iter().map(plain).collect()),
    };
    DeclaredType { kind, span: ty.span }
}
