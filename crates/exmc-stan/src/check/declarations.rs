//! Declarations: sizes, constraints, initial values -> variables.

use super::environment::{BindingKind, Block, Checker};
use super::types::{contains_int, is_complex, promote, promotion_cost, spell};
use crate::diagnostic::{Class, Diagnostic};
use crate::source::Span;
use crate::syntax::tree::{self, Base, Name};
use crate::typed::{
    Constraint, Declaration, DeclaredType, Expr, Scope, Statement, StatementKind, Type,
};

impl Checker {
    /// Declares variables of one type; `top` says that they are a block's own. The variables are
    /// known afterwards even if something about them is wrong.
    pub(super) fn declare(
        &mut self,
        span: Span,
        ty: &tree::DeclaredType,
        variables: &[(Name, Option<tree::Expr>)],
        top: bool,
        out: &mut Vec<Statement>,
    ) {
        let block = self.place.block;
        let global = top && !matches!(block, Block::Functions | Block::Model);
        let unsized_type = unsized_of(ty);
        self.place.in_size = global;
        let sized = self.sizes(ty);
        self.place.in_size = false;
        let declared = sized.and_then(|sized| self.constrain(ty, sized, &unsized_type, global));
        let scope = if top && block != Block::Functions { block.scope() } else { Scope::Local };
        for (name, initial) in variables {
            let allowed = self.check_identifier(name).and_then(|()| self.check_fresh(name));
            let kind = BindingKind { block, global, read_only: false };
            let variable = self.bind(name, unsized_type.clone(), scope, kind);
            let initial = match initial {
                Some(value) => match self.initial_value(span, name, &unsized_type, value) {
                    Some(value) => Some(value),
                    None => continue,
                },
                None => None,
            };
            if let (Some(()), Some(ty)) = (allowed, &declared) {
                let declaration = Declaration { variable, ty: ty.clone(), initial, span };
                out.push(Statement::new(StatementKind::Declare(declaration), span));
            }
        }
        if global && contains_int(&unsized_type) {
            let sampled = match block {
                Block::Parameters => "parameters",
                Block::TransformedParameters => "transformed parameters",
                _ => return,
            };
            self.error(span, format!("{sampled} must not be ints")).help = Some(
                "discrete parameters cannot be sampled: sum them out of the density; whole numbers that \
                 depend on data only belong into transformed data"
                    .into(),
            );
        }
    }

    fn initial_value(
        &mut self,
        span: Span,
        name: &Name,
        ty: &Type,
        value: &tree::Expr,
    ) -> Option<Expr> {
        if matches!(self.place.block, Block::Data | Block::Parameters) {
            let block = self.place.block.name();
            let message = format!("variables of {block} have no values in the program");
            self.report(Diagnostic::error(Class::Syntax, value.span, message));
            return None;
        }
        let mut used = Vec::new();
        super::assignments::names(value, &mut used);
        if used.contains(&&*name.text) {
            self.warn(span, format!("`{}` is used in its own first value", name.text));
        }
        let value = self.expression(value)?;
        if promotion_cost(ty, value.ty()).is_none() {
            let message = format!(
                "`{}` is {}, and its value is {}",
                name.text,
                spell(ty),
                self.describe(&value)
            );
            let hint = super::assignments::assignment_hint(ty, value.ty());
            let diagnostic = self.error(span, message);
            diagnostic.labels.push((value.expr.span, "this value".into()));
            diagnostic.help = hint;
            return None;
        }
        Some(promote(value.expr, ty))
    }

    /// A declared type's sizes, with no constraints yet.
    fn sizes(&mut self, ty: &tree::DeclaredType) -> Option<DeclaredType> {
        match &ty.kind {
            tree::DeclaredKind::Leaf { base, sizes, .. } => {
                let what = format!("a size of `{}`", base_name(*base));
                let checked: Vec<Option<Expr>> =
                    sizes.iter().map(|size| self.int_expression(size, &what)).collect();
                let mut sizes: Vec<Expr> = checked.into_iter().collect::<Option<_>>()?;
                let wanted = base_type(*base).rank();
                if sizes.len() == 1 && wanted == 2 && is_square(*base) {
                    sizes.push(sizes[0].clone());
                }
                if sizes.len() != wanted {
                    let message = format!(
                        "`{}` has {wanted} size{} and {} are given",
                        base_name(*base),
                        if wanted == 1 { "" } else { "s" },
                        sizes.len()
                    );
                    self.error(ty.span, message);
                    return None;
                }
                let constraint = Constraint::None;
                Some(DeclaredType::Leaf { ty: base_type(*base), sizes, constraint })
            }
            tree::DeclaredKind::Array { sizes, element } => {
                let element = self.sizes(element);
                let checked: Vec<Option<Expr>> = sizes
                    .iter()
                    .map(|size| self.int_expression(size, "the size of an array"))
                    .collect();
                let sizes = checked.into_iter().collect::<Option<_>>()?;
                Some(DeclaredType::Array { sizes, element: Box::new(element?) })
            }
            tree::DeclaredKind::Tuple(slots) => {
                let slots: Vec<Option<DeclaredType>> =
                    slots.iter().map(|slot| self.sizes(slot)).collect();
                slots.into_iter().collect::<Option<_>>().map(DeclaredType::Tuple)
            }
        }
    }

    /// The same with constraints. `full_type` is the type that containers of bounds have: the
    /// variable's, or that of a tuple's slot.
    fn constrain(
        &mut self,
        ty: &tree::DeclaredType,
        sized: DeclaredType,
        full_type: &Type,
        global: bool,
    ) -> Option<DeclaredType> {
        match (&ty.kind, sized) {
            (
                tree::DeclaredKind::Leaf { base, bounds, .. },
                DeclaredType::Leaf { ty: leaf, sizes, .. },
            ) => {
                let constraint =
                    self.constraint(ty.span, *base, bounds, &leaf, full_type, global)?;
                if constraint != Constraint::None && !global {
                    let message = "only variables at the top of a block have constraints";
                    self.report(Diagnostic::error(Class::Syntax, ty.span, message)).help =
                        Some("leave the constraint away".into());
                    return None;
                }
                Some(DeclaredType::Leaf { ty: leaf, sizes, constraint })
            }
            (
                tree::DeclaredKind::Array { element, .. },
                DeclaredType::Array { sizes, element: inner },
            ) => {
                let element = self.constrain(element, *inner, full_type, global)?;
                Some(DeclaredType::Array { sizes, element: Box::new(element) })
            }
            (tree::DeclaredKind::Tuple(slots), DeclaredType::Tuple(inner)) => {
                let pairs = slots.iter().zip(inner);
                let slots: Vec<Option<DeclaredType>> = pairs
                    .map(|(slot, inner)| self.constrain(slot, inner, &unsized_of(slot), global))
                    .collect();
                slots.into_iter().collect::<Option<_>>().map(DeclaredType::Tuple)
            }
            _ => None,
        }
    }

    fn constraint(
        &mut self,
        span: Span,
        base: Base,
        bounds: &tree::Bounds,
        leaf: &Type,
        full_type: &Type,
        global: bool,
    ) -> Option<Constraint> {
        let lower = self.bound(bounds.lower.as_ref(), "the lower bound", leaf, full_type);
        let upper = self.bound(bounds.upper.as_ref(), "the upper bound", leaf, full_type);
        let offset = self.bound(bounds.offset.as_ref(), "the offset", leaf, full_type);
        let multiplier = self.bound(bounds.multiplier.as_ref(), "the multiplier", leaf, full_type);
        let (lower, upper, offset, multiplier) = (lower?, upper?, offset?, multiplier?);
        let any = lower.is_some() || upper.is_some() || offset.is_some() || multiplier.is_some();
        let real_bound = [&lower, &upper].into_iter().flatten().any(|bound| bound.ty == Type::Real);
        if *full_type == Type::Int && global && real_bound {
            self.error(span, "the bounds of an int must be ints");
            return None;
        }
        if *full_type == Type::Int && global && (offset.is_some() || multiplier.is_some()) {
            self.error(span, "an int has no offset or multiplier");
            return None;
        }
        if any && is_complex(leaf) && global {
            self.error(span, "complex variables have no constraints");
            return None;
        }
        Some(match (lower, upper, offset, multiplier) {
            (Some(lower), Some(upper), ..) => Constraint::LowerUpper(lower, upper),
            (Some(lower), None, ..) => Constraint::Lower(lower),
            (None, Some(upper), ..) => Constraint::Upper(upper),
            (None, None, None, None) => base_constraint(base),
            (None, None, offset, multiplier) => Constraint::OffsetMultiplier(offset, multiplier),
        })
    }

    /// A bound: a number, or a container of the variable's type. The outer option is none after a
    /// mistake.
    fn bound(
        &mut self,
        bound: Option<&tree::Expr>,
        what: &str,
        leaf: &Type,
        full_type: &Type,
    ) -> Option<Option<Expr>> {
        let Some(expr) = bound else { return Some(None) };
        let typed = self.expression(expr)?;
        if typed.ty() == full_type {
            return Some(Some(typed.expr));
        }
        match typed.ty() {
            Type::Int if *leaf != Type::Int => Some(Some(promote(typed.expr, &Type::Real))),
            Type::Int | Type::Real => Some(Some(typed.expr)),
            _ => {
                let mut message = format!("{what} must be a number");
                if full_type.rank() > 0 {
                    message.push_str(&format!(" or {}", spell(full_type)));
                }
                message.push_str(&format!(", and this is {}", self.describe(&typed)));
                self.error(expr.span, message);
                None
            }
        }
    }
}

/// The type of a declared variable.
pub(super) fn unsized_of(ty: &tree::DeclaredType) -> Type {
    match &ty.kind {
        tree::DeclaredKind::Leaf { base, .. } => base_type(*base),
        tree::DeclaredKind::Array { sizes, element } => unsized_of(element).array(sizes.len()),
        tree::DeclaredKind::Tuple(slots) => Type::Tuple(slots.iter().map(unsized_of).collect()),
    }
}

fn base_type(base: Base) -> Type {
    match base {
        Base::Int => Type::Int,
        Base::Real => Type::Real,
        Base::Complex => Type::Complex,
        Base::Vector
        | Base::Simplex
        | Base::Ordered
        | Base::PositiveOrdered
        | Base::UnitVector
        | Base::SumToZeroVector => Type::Vector,
        Base::RowVector => Type::RowVector,
        Base::Matrix
        | Base::SumToZeroMatrix
        | Base::CholeskyFactorCorr
        | Base::CholeskyFactorCov
        | Base::CorrMatrix
        | Base::CovMatrix
        | Base::ColumnStochasticMatrix
        | Base::RowStochasticMatrix => Type::Matrix,
        Base::ComplexVector => Type::ComplexVector,
        Base::ComplexRowVector => Type::ComplexRowVector,
        Base::ComplexMatrix => Type::ComplexMatrix,
    }
}

/// Whether one size gives both extents.
fn is_square(base: Base) -> bool {
    matches!(
        base,
        Base::CholeskyFactorCorr | Base::CholeskyFactorCov | Base::CorrMatrix | Base::CovMatrix
    )
}

fn base_constraint(base: Base) -> Constraint {
    match base {
        Base::Simplex => Constraint::Simplex,
        Base::Ordered => Constraint::Ordered,
        Base::PositiveOrdered => Constraint::PositiveOrdered,
        Base::UnitVector => Constraint::UnitVector,
        Base::SumToZeroVector | Base::SumToZeroMatrix => Constraint::SumToZero,
        Base::CholeskyFactorCorr => Constraint::CholeskyFactorCorr,
        Base::CholeskyFactorCov => Constraint::CholeskyFactorCov,
        Base::CorrMatrix => Constraint::CorrMatrix,
        Base::CovMatrix => Constraint::CovMatrix,
        Base::ColumnStochasticMatrix => Constraint::ColumnStochastic,
        Base::RowStochasticMatrix => Constraint::RowStochastic,
        _ => Constraint::None,
    }
}

fn base_name(base: Base) -> &'static str {
    match base {
        Base::Int => "int",
        Base::Real => "real",
        Base::Complex => "complex",
        Base::Vector => "vector",
        Base::RowVector => "row_vector",
        Base::Matrix => "matrix",
        Base::ComplexVector => "complex_vector",
        Base::ComplexRowVector => "complex_row_vector",
        Base::ComplexMatrix => "complex_matrix",
        Base::Simplex => "simplex",
        Base::Ordered => "ordered",
        Base::PositiveOrdered => "positive_ordered",
        Base::UnitVector => "unit_vector",
        Base::SumToZeroVector => "sum_to_zero_vector",
        Base::SumToZeroMatrix => "sum_to_zero_matrix",
        Base::CholeskyFactorCorr => "cholesky_factor_corr",
        Base::CholeskyFactorCov => "cholesky_factor_cov",
        Base::CorrMatrix => "corr_matrix",
        Base::CovMatrix => "cov_matrix",
        Base::ColumnStochasticMatrix => "column_stochastic_matrix",
        Base::RowStochasticMatrix => "row_stochastic_matrix",
    }
}
