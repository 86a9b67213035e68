//! A program that records `log_lik` -> the program whose density lacks some of the observations.
//!
//! The statements of generated quantities that `log_lik` needs are repeated at the end of the
//! model, and the elements of the observations that are left out are subtracted from the density.

use std::collections::BTreeSet;

use exmc_stan::check::check;
use exmc_stan::diagnostic::Severity;
use exmc_stan::source::{Sources, Span};
use exmc_stan::syntax::tree::{
    Base, Block, DeclaredKind, DeclaredType, ExprKind, LValue, LValueKind, Program, Statement,
    StatementKind,
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
        let quantities: Vec<&Statement> = quantities.collect();
        let mut needed = BTreeSet::from([LOG_LIK.to_owned()]);
        let mut kept = Vec::new();
        for statement in quantities.into_iter().rev() {
            let (writes, reads) = names_in(statement);
            if writes.iter().any(|name| needed.contains(name)) {
                needed.extend(reads);
                kept.push(local(statement));
            }
        }
        kept.reverse();
        let indices: Vec<String> = left_out.iter().map(|i| (i + 1).to_string()).collect();
        let text = format!("model {{ target += -sum({LOG_LIK}[{{{}}}]); }}", indices.join(", "));
        let (own, _) = parse(&mut Sources::single("left out", text), &mut NoIncludes);
        kept.extend(own.model.into_iter().flat_map(|block| block.statements));
        let model = tree
            .model
            .get_or_insert_with(|| Block { statements: Vec::new(), span: Span::default() });
        let span = model.span;
        model.statements.push(Statement { kind: StatementKind::Block(kept), span });
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

/// A declaration as it may stand in a block of the model: without constraints.
fn local(statement: &Statement) -> Statement {
    let kind = match &statement.kind {
        StatementKind::Declare { ty, variables } => {
            StatementKind::Declare { ty: plain(ty), variables: variables.clone() }
        }
        other => other.clone(),
    };
    Statement { kind, span: statement.span }
}

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
