//! Which densities lose constant terms, and which terms: by the types that Stan's own compiler gives, never by values.
//!
//! A local variable of the model is of the type of parameters even where it holds a number; inside of a function, locals are of
//! that type if an argument is. So what is left out does not depend on branches or on values.

use crate::host::call::is_unnormalised;
use crate::typed::{Expr, ExprKind, Scope, Type, VariableId};

use super::Tracer;

/// How a user's function is called.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    /// Which arguments are of the type of parameters.
    pub(super) varies: Vec<bool>,
    /// Whether it was called as `~` or `_lupdf`.
    pub(super) proportional: bool,
}

/// A call of a user's function that is alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Whether locals are of the type of parameters.
    pub(super) varies: bool,
    /// Whether constant terms may be left out.
    pub(super) proportional: bool,
}

fn has_reals(ty: &Type) -> bool {
    match ty.array_parts().1 {
        Type::Int | Type::Void | Type::Function(_) => false,
        Type::Tuple(slots) => slots.iter().any(has_reals),
        _ => true,
    }
}

impl Tracer<'_> {
    /// Whether constant terms may be left out where the walk is.
    pub(super) fn proportional(&self) -> bool {
        self.drops_constants && self.frames.last().is_none_or(|frame| frame.proportional)
    }

    /// Whether a call of that name leaves constant terms out here.
    pub(super) fn drops(&self, name: &str) -> bool {
        is_unnormalised(name) && self.proportional()
    }

    /// How a function of the program is called with these arguments.
    pub(super) fn way(&self, args: &[Expr], proportional: bool) -> Way {
        if !self.drops_constants {
            return Way::default();
        }
        Way { varies: args.iter().map(|arg| self.varies(arg)).collect(), proportional }
    }

    /// Whether an expression is of the type of parameters.
    pub(super) fn varies(&self, expr: &Expr) -> bool {
        if !has_reals(&expr.ty) {
            return false;
        }
        match &expr.kind {
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Imaginary(_)
            | ExprKind::Function { .. }
            | ExprKind::LibraryFunction(_) => false,
            ExprKind::Target => true,
            ExprKind::Variable(id) => self.variable_varies(*id),
            ExprKind::Unary(_, a)
            | ExprKind::Transpose(a)
            | ExprKind::Promote(a)
            | ExprKind::Index(a, _)
            | ExprKind::Field(a, _) => self.varies(a),
            ExprKind::Binary(_, a, b) | ExprKind::Conditional(_, a, b) => {
                self.varies(a) || self.varies(b)
            }
            ExprKind::Array(all) | ExprKind::RowVector(all) | ExprKind::Tuple(all) => {
                all.iter().any(|e| self.varies(e))
            }
            ExprKind::Call(_, args) => args.iter().any(|e| self.varies(e)),
        }
    }

    fn variable_varies(&self, id: VariableId) -> bool {
        match self.host.program().variable(id).scope {
            Scope::Data | Scope::TransformedData => false,
            Scope::Argument | Scope::Loop => self.varying.contains(&id),
            Scope::Local => self.frames.last().is_none_or(|frame| frame.varies),
            _ => true,
        }
    }

    /// Notes whether an argument or a loop's variable is of the type of parameters; returns whether it was before.
    pub(super) fn note_varying(&mut self, id: VariableId, varies: bool) -> bool {
        match varies {
            true => !self.varying.insert(id),
            false => self.varying.remove(&id),
        }
    }
}
