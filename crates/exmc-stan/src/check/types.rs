//! Types as the checker compares them: how they are written, which convert to which, and at what
//! cost.

use crate::typed::{Expr, ExprKind, Type};

/// A type as Stan writes it: `array[,] real`, `tuple(int, vector)`.
pub fn spell(ty: &Type) -> String {
    match ty {
        Type::Int => "int".into(),
        Type::Real => "real".into(),
        Type::Complex => "complex".into(),
        Type::Vector => "vector".into(),
        Type::RowVector => "row_vector".into(),
        Type::Matrix => "matrix".into(),
        Type::ComplexVector => "complex_vector".into(),
        Type::ComplexRowVector => "complex_row_vector".into(),
        Type::ComplexMatrix => "complex_matrix".into(),
        Type::Array(_) => {
            let (depth, inner) = ty.array_parts();
            format!("array[{}] {}", ",".repeat(depth - 1), spell(inner))
        }
        Type::Tuple(slots) => format!("tuple({})", spell_list(slots)),
        Type::Function(_) => "function".into(),
        Type::Void => "void".into(),
    }
}

/// Types with commas between them.
pub fn spell_list<'a>(types: impl IntoIterator<Item = &'a Type>) -> String {
    types.into_iter().map(spell).collect::<Vec<_>>().join(", ")
}

/// Whether only integers are in it (a tuple of integers too).
pub(super) fn is_discrete(ty: &Type) -> bool {
    match ty {
        Type::Int => true,
        Type::Array(element) => is_discrete(element),
        Type::Tuple(slots) => slots.iter().all(is_discrete),
        _ => false,
    }
}

/// Whether an integer is somewhere in it.
pub(super) fn contains_int(ty: &Type) -> bool {
    match ty {
        Type::Int => true,
        Type::Array(element) => contains_int(element),
        Type::Tuple(slots) => slots.iter().any(contains_int),
        _ => false,
    }
}

/// Whether it holds complex numbers (arrays of them too, tuples not).
pub(crate) fn is_complex(ty: &Type) -> bool {
    match ty {
        Type::Complex | Type::ComplexVector | Type::ComplexRowVector | Type::ComplexMatrix => true,
        Type::Array(element) => is_complex(element),
        _ => false,
    }
}

/// The complex type of the same shape.
pub(super) fn complex_of(ty: &Type) -> Type {
    match ty {
        Type::Int | Type::Real => Type::Complex,
        Type::Vector => Type::ComplexVector,
        Type::RowVector => Type::ComplexRowVector,
        Type::Matrix => Type::ComplexMatrix,
        Type::Array(element) => Type::Array(Box::new(complex_of(element))),
        other => other.clone(),
    }
}

/// The real type of the same shape.
pub(crate) fn real_of(ty: &Type) -> Type {
    match ty {
        Type::Int | Type::Complex => Type::Real,
        Type::ComplexVector => Type::Vector,
        Type::ComplexRowVector => Type::RowVector,
        Type::ComplexMatrix => Type::Matrix,
        Type::Array(element) => Type::Array(Box::new(real_of(element))),
        other => other.clone(),
    }
}

/// What it costs to use a value of type `from` where `to` is wanted: 0 if they are equal, 1 for int
/// to real and for real to complex, 2 for int to complex; `None` where there is no conversion.
/// Arrays convert as their elements do, tuples slot by slot.
pub(super) fn promotion_cost(to: &Type, from: &Type) -> Option<u32> {
    match (to, from) {
        _ if to == from => Some(0),
        (Type::Real, Type::Int)
        | (Type::Complex, Type::Real)
        | (Type::ComplexVector, Type::Vector)
        | (Type::ComplexRowVector, Type::RowVector)
        | (Type::ComplexMatrix, Type::Matrix) => Some(1),
        (Type::Complex, Type::Int) => Some(2),
        (Type::Array(to), Type::Array(from)) => promotion_cost(to, from),
        (Type::Tuple(to), Type::Tuple(from)) if to.len() == from.len() => {
            to.iter().zip(from).map(|(to, from)| promotion_cost(to, from)).sum()
        }
        _ => None,
    }
}

/// The smallest type that both convert to.
pub(super) fn common(a: &Type, b: &Type) -> Option<Type> {
    match (a, b) {
        (Type::Array(a), Type::Array(b)) => common(a, b).map(|ty| Type::Array(Box::new(ty))),
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            let slots = a.iter().zip(b).map(|(a, b)| common(a, b));
            slots.collect::<Option<Vec<_>>>().map(Type::Tuple)
        }
        _ if promotion_cost(a, b).is_some() => Some(a.clone()),
        _ if promotion_cost(b, a).is_some() => Some(b.clone()),
        _ => None,
    }
}

/// The expression with type `to`, which its own type must convert to. The conversion goes to the
/// leaves of array and tuple literals, so that `{1, 2}` of reals holds reals.
pub(super) fn promote(expr: Expr, to: &Type) -> Expr {
    if expr.ty == *to {
        return expr;
    }
    let Expr { kind, ty, span, .. } = expr;
    let kind = match (kind, to) {
        (ExprKind::Array(elements), Type::Array(element)) => {
            ExprKind::Array(elements.into_iter().map(|e| promote(e, element)).collect())
        }
        (ExprKind::Tuple(elements), Type::Tuple(slots)) => {
            ExprKind::Tuple(elements.into_iter().zip(slots).map(|(e, ty)| promote(e, ty)).collect())
        }
        (kind, _) => ExprKind::Promote(Box::new(Expr::new(kind, ty, span))),
    };
    Expr::new(kind, to.clone(), span)
}

/// Whether a value may depend on parameters; slot by slot in tuples.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Level {
    /// It depends on data only.
    Data,
    /// It may depend on parameters.
    Parameter,
    /// A tuple's slots.
    Tuple(Vec<Level>),
}

impl Level {
    /// The level of a variable of a type in a place where reals may depend on parameters or not:
    /// integers never do.
    pub(super) fn of(ty: &Type, parameter: bool) -> Self {
        match ty.array_parts().1 {
            Type::Tuple(slots) => {
                Self::Tuple(slots.iter().map(|s| Self::of(s, parameter)).collect())
            }
            inner if parameter && !is_discrete(inner) => Self::Parameter,
            _ => Self::Data,
        }
    }

    /// Whether any of it may depend on parameters.
    pub(super) fn any(&self) -> bool {
        match self {
            Self::Data => false,
            Self::Parameter => true,
            Self::Tuple(slots) => slots.iter().any(Self::any),
        }
    }

    /// The level of a value made from two.
    pub(super) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Data, level) | (level, Self::Data) => level.clone(),
            (Self::Tuple(a), Self::Tuple(b)) if a.len() == b.len() => {
                Self::Tuple(a.iter().zip(b).map(|(a, b)| a.join(b)).collect())
            }
            _ => Self::Parameter,
        }
    }

    /// The level of a tuple's slot.
    pub(super) fn slot(&self, slot: usize) -> Self {
        match self {
            Self::Tuple(slots) => slots.get(slot).cloned().unwrap_or(Self::Data),
            other => other.clone(),
        }
    }
}
