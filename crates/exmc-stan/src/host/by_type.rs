//! Calls of unnormalised densities on values -> which of their arguments Stan has as parameters, by
//! their types.
//!
//! What counts is how a name was declared and what a function was called with, never a value: a
//! local variable of the model is a parameter even where it holds a number, one of a function if an
//! argument is. The interpreter and its tape ask only while they compute a log density without
//! constants ([`Settings::proportional`](crate::host::Settings)).
//!
//! **Reference**: stanc3, `Lower_functions.ml` (`lower_promoted_scalar`).

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

    /// What a user's function is called with; nothing where nobody asks.
    pub(crate) fn kinds_of_call<'e>(
        &self,
        function: FunctionId,
        proportional: bool,
        args: impl IntoIterator<Item = &'e Expr>,
    ) -> Option<CallKinds> {
        if !self.proportional {
            return None;
        }
        let arguments = args.into_iter().map(|arg| self.is_parameter(arg)).collect();
        let is_lp = self.program.function(function).name.ends_with("_lp");
        let proportional = self.is_proportional() && (proportional || is_lp);
        Some(CallKinds { proportional, arguments })
    }

    /// Says what the next call of a user's function is called with.
    pub(crate) fn announce_call<'e>(
        &mut self,
        function: FunctionId,
        proportional: bool,
        args: impl IntoIterator<Item = &'e Expr>,
    ) {
        self.kinds.next = self.kinds_of_call(function, proportional, args);
    }

    /// A call of a function begins. Where nothing is known of it, as in solvers, all arguments are
    /// parameters and no density leaves out terms.
    pub(crate) fn enter_kinds(&mut self, function: FunctionId, kinds: Option<CallKinds>) {
        if !self.proportional {
            return;
        }
        let CallKinds { proportional, arguments } = kinds.unwrap_or_default();
        let declared = &self.program.function(function).arguments;
        let kind = |k: usize| arguments.get(k).copied().unwrap_or(true);
        let numbered_arguments = declared.iter().enumerate();
        let arguments: FxHashMap<_, _> =
            numbered_arguments.map(|(k, a)| (a.variable, kind(k))).collect();
        let reals = |id: &VariableId| has_reals(&self.program.variable(*id).ty);
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
            let kind = self.is_parameter(over);
            self.kinds.elements.insert(variable, kind);
        }
    }

    /// Whether an expression is a parameter.
    pub(crate) fn is_parameter(&self, expr: &Expr) -> bool {
        if !has_reals(&expr.ty) {
            return false;
        }
        let mut parts: Vec<&Expr> = Vec::new();
        match &expr.kind {
            ExprKind::Variable(id) => return self.is_parameter_variable(*id),
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
        parts.into_iter().any(|part| self.is_parameter(part))
    }

    fn is_parameter_variable(&self, id: VariableId) -> bool {
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

/// Whether there are numbers in a type that may be parameters, which integers never are.
pub(crate) fn has_reals(ty: &Type) -> bool {
    match ty.array_parts().1 {
        Type::Int | Type::Void | Type::Function(_) => false,
        Type::Tuple(slots) => slots.iter().any(has_reals),
        _ => true,
    }
}
