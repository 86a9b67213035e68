//! Calls of unnormalised densities on values -> which of their arguments Stan has as parameters, by their types.
//!
//! What counts is how a name was declared and what a function was called with, never a value. The interpreter asks only while it
//! computes a log density without constants ([`Settings::proportional`](crate::host::Settings)).

use rustc_hash::FxHashMap;

use crate::host::interpreter::Interpreter;
use crate::typed::{Expr, ExprKind, FunctionId, Scope, Type, VariableId};

/// A call that is alive, or about to be made.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallKinds {
    /// Whether `~` and its like leave out terms inside of it.
    pub(crate) proportional: bool,
    /// Which arguments are parameters, in order; all where this is too short.
    pub(crate) arguments: Vec<bool>,
}

/// What is known of the variables of all calls that are alive.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    calls: Vec<CallFrame>,
    /// The call that is made next, if its caller said.
    pub(crate) next: Option<CallKinds>,
    /// Variables of loops over elements.
    pub(crate) elements: FxHashMap<VariableId, bool>,
}

#[derive(Debug)]
struct CallFrame {
    proportional: bool,
    arguments: FxHashMap<VariableId, bool>,
    any: bool,
}

impl Interpreter<'_> {
    /// Whether an unnormalised density leaves out terms where the run is.
    pub(crate) fn is_proportional(&self) -> bool {
        self.proportional && self.kinds.calls.last().is_none_or(|call| call.proportional)
    }

    /// Says what the next call of a user's function is called with.
    pub(crate) fn announce_call<'e>(
        &mut self,
        function: FunctionId,
        proportional: bool,
        args: impl IntoIterator<Item = &'e Expr>,
    ) {
        if !self.proportional {
            return;
        }
        let arguments = args.into_iter().map(|arg| self.kind_of(arg)).collect();
        let here = self.is_proportional();
        let is_lp = self.program.function(function).name.ends_with("_lp");
        self.kinds.next =
            Some(CallKinds { proportional: here && (proportional || is_lp), arguments });
    }

    /// Takes what was announced for the call of a function that is about to begin.
    pub(crate) fn enter_kinds(&mut self, function: FunctionId, announced: Option<CallKinds>) {
        if !self.proportional {
            return;
        }
        let CallKinds { proportional, arguments } = announced.unwrap_or_default();
        let declared = &self.program.function(function).arguments;
        let kind = |k: usize| arguments.get(k).copied().unwrap_or(true);
        let of = declared.iter().enumerate();
        let arguments: FxHashMap<_, _> = of.map(|(k, a)| (a.variable, kind(k))).collect();
        let reals = |id: &VariableId| !is_whole(&self.program.variable(*id).ty);
        let any = arguments.iter().any(|(id, is_parameter)| *is_parameter && reals(id));
        self.kinds.calls.push(CallFrame { proportional, arguments, any });
    }

    /// Ends the innermost call.
    pub(crate) fn leave_kinds(&mut self) {
        if self.proportional {
            self.kinds.calls.pop();
        }
    }

    /// Notes what a loop over a container walks through.
    pub(crate) fn note_elements(&mut self, variable: VariableId, over: &Expr) {
        if self.proportional {
            let kind = self.kind_of(over);
            self.kinds.elements.insert(variable, kind);
        }
    }

    /// Whether an expression is a parameter.
    pub(crate) fn kind_of(&self, expr: &Expr) -> bool {
        if is_whole(&expr.ty) {
            return false;
        }
        let mut parts: Vec<&Expr> = Vec::new();
        match &expr.kind {
            ExprKind::Variable(id) => return self.kind_of_variable(*id),
            ExprKind::Target => return true,
            ExprKind::Field(tuple, slot) => match &tuple.kind {
                ExprKind::Tuple(slots) => parts.extend(slots.get(*slot)),
                _ => parts.push(tuple),
            },
            ExprKind::Unary(_, e)
            | ExprKind::Transpose(e)
            | ExprKind::Promote(e)
            | ExprKind::Index(e, _) => parts.push(e),
            ExprKind::Conditional(_, a, b) | ExprKind::Binary(_, a, b) => parts.extend([&**a, b]),
            ExprKind::Array(all)
            | ExprKind::RowVector(all)
            | ExprKind::Tuple(all)
            | ExprKind::Call(_, all) => parts.extend(all),
            _ => {}
        }
        parts.into_iter().any(|part| self.kind_of(part))
    }

    fn kind_of_variable(&self, id: VariableId) -> bool {
        let call = self.kinds.calls.last();
        match (self.program.variable(id).scope, call) {
            (Scope::Data | Scope::TransformedData, _) => false,
            (Scope::Argument, Some(call)) => call.arguments.get(&id).copied().unwrap_or(true),
            (Scope::Local, Some(call)) => call.any,
            (Scope::Loop, _) => self.kinds.elements.get(&id).copied().unwrap_or(true),
            _ => true,
        }
    }
}

/// Whether a type is of integers, which are never parameters.
fn is_whole(ty: &Type) -> bool {
    match ty {
        Type::Int => true,
        Type::Array(element) => is_whole(element),
        _ => false,
    }
}
