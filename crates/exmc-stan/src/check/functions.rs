//! The functions block: declarations, overloads, definitions -> functions with checked bodies.

use std::rc::Rc;

use super::environment::{
    BindingKind, Block, Checker, Inside, Suffix, UserFunction, is_proportional, parameter,
};
use super::higher_order;
use super::laplace;
use super::names::CONDITIONED;
use super::signatures::Signature;
use super::statements::Flow;
use super::types::{is_discrete, spell, spell_list};
use crate::diagnostic::Severity;
use crate::source::Span;
use crate::syntax::tree::{self, Argument, Name};
use crate::typed::{Function, FunctionArgument, FunctionId, Scope, StatementKind, Type};

/// A function as the block's text has it.
struct Written<'a> {
    span: Span,
    name: &'a Name,
    arguments: &'a [Argument],
    returns: Type,
    body: Option<&'a tree::Statement>,
}

impl Checker {
    /// Checks the functions block: first all names and types, so that functions may call those that
    /// follow, then the bodies.
    pub(super) fn functions_block(&mut self, block: &tree::Block) {
        let mut all = Vec::new();
        for statement in &block.statements {
            let tree::StatementKind::Function { returns, name, arguments, body } = &statement.kind
            else {
                self.error(statement.span, "the functions block holds functions only");
                continue;
            };
            let returns = returns.as_ref().map_or(Type::Void, unsized_type);
            let written =
                Written { span: statement.span, name, arguments, returns, body: body.as_deref() };
            let id = self.declare_function(&written);
            all.push((written, id));
        }
        for (written, id) in &all {
            self.check_function(written, *id);
        }
        for (written, id) in &all {
            if let Some(id) = id
                && !self.user(*id).defined
                && written.body.is_none()
            {
                let message = format!("`{}` is declared and never defined", written.name.text);
                self.error(written.name.span, message).help =
                    Some("give it a body, or remove the declaration".into());
            }
        }
    }

    /// Makes a function's name and type known.
    fn declare_function(&mut self, written: &Written) -> Option<FunctionId> {
        let name = &written.name.text;
        let arguments = written.arguments.iter();
        let arguments = arguments.map(|a| parameter(a.data_only, unsized_type(&a.ty))).collect();
        let signature = Signature { arguments, returns: written.returns.clone() };
        let declared = self.overloads_exactly(name).iter().copied().find(|id| {
            let user = self.user(*id);
            !user.defined && *user.signature == signature
        });
        if let Some(id) = declared {
            if written.body.is_none() {
                let earlier = self.user(id).span;
                self.error(written.span, format!("`{name}` is already declared"))
                    .labels
                    .push((earlier, "declared here first".into()));
                return None;
            }
            self.signatures[id.0 as usize].defined = true;
            return Some(id);
        }
        self.check_new_signature(written, &signature)?;
        let id = FunctionId(self.signatures.len() as u32);
        self.signatures.push(UserFunction {
            signature: Rc::new(signature),
            defined: written.body.is_some(),
            span: written.name.span,
        });
        self.program.functions.push(Function {
            name: name.clone(),
            returns: written.returns.clone(),
            arguments: Vec::new(),
            body: Vec::new(),
            span: written.name.span,
        });
        self.functions.entry(name.clone()).or_default().push(id);
        Some(id)
    }

    fn overloads_exactly(&self, name: &str) -> &[FunctionId] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    /// A function must differ from all others of its name in the types of its arguments.
    fn check_new_signature(&mut self, written: &Written, signature: &Signature) -> Option<()> {
        let name = &written.name.text;
        let types = |s: &Signature| s.arguments.iter().map(|a| a.ty.clone()).collect::<Vec<_>>();
        let wanted = types(signature);
        let same = self
            .overloads_exactly(name)
            .iter()
            .map(|id| self.user(*id))
            .find(|user| types(&user.signature) == wanted)
            .map(|user| (user.span, user.signature.returns.clone()));
        if let Some((earlier, returns)) = same {
            let message = if returns == written.returns {
                format!("`{name}` is already defined for arguments ({})", spell_list(&wanted))
            } else {
                format!(
                    "overloads of `{name}` must differ in their arguments, not only in what they return"
                )
            };
            self.error(written.span, message).labels.push((earlier, "defined here first".into()));
            return None;
        }
        if self.library(name).iter().any(|signature| types(signature) == wanted) {
            let message =
                format!("`{name}` is a library function for arguments ({})", spell_list(&wanted));
            self.error(written.span, message).help = Some("choose another name".into());
            return None;
        }
        if higher_order::is_variadic(name) || laplace::exists(name) {
            self.error(
                written.span,
                format!("`{name}` is a library function and cannot be overloaded"),
            )
            .help = Some("choose another name".into());
            return None;
        }
        if is_proportional(name) {
            self.error(written.span, format!("`{name}` must be defined with its constant terms"))
                .help = Some("define the _lpdf or _lpmf; _lupdf and _lupmf follow from it".into());
            return None;
        }
        Some(())
    }

    fn check_function(&mut self, written: &Written, id: Option<FunctionId>) {
        let fine = self.check_heading(written);
        let Some(body) = written.body else { return };
        let errors = self.error_count();
        let suffix = Suffix::of(&written.name.text);
        let returns = written.returns.clone();
        self.place.function = Some(Inside { suffix, returns });
        let mut out = Vec::new();
        let (arguments, flow) = self.scoped(|checker| {
            let mut arguments = Vec::new();
            for argument in written.arguments {
                let block = if argument.data_only { Block::Data } else { Block::Parameters };
                let kind = BindingKind { block, global: false, read_only: true };
                let ty = unsized_type(&argument.ty);
                let variable = checker.bind(&argument.name, ty, Scope::Argument, kind);
                arguments.push(FunctionArgument { variable, data_only: argument.data_only });
            }
            (arguments, checker.statement(body, false, &mut out))
        });
        self.place.function = None;
        let returns = written.returns != Type::Void;
        if returns && flow != Flow::Returns && fine.is_some() && self.error_count() == errors {
            let message = format!("`{}` may end without returning a value", written.name.text);
            self.error(written.span, message).help =
                Some("every way through the body must end in `return` or `reject`".into());
        }
        if let Some(id) = id {
            // The braces of the body are the function's own.
            if let [only] = out.as_mut_slice()
                && let StatementKind::Block(inner) = &mut only.kind
            {
                out = std::mem::take(inner);
            }
            let function = &mut self.program.functions[id.0 as usize];
            function.arguments = arguments;
            function.body = out;
        }
    }

    /// A function's names, and what its suffix asks of its types.
    fn check_heading(&mut self, written: &Written) -> Option<()> {
        for argument in written.arguments {
            self.check_identifier(&argument.name)?;
        }
        self.check_identifier(written.name)?;
        let name = &*written.name.text;
        if CONDITIONED.iter().any(|suffix| name.ends_with(suffix)) && written.returns != Type::Real
        {
            let message =
                format!("`{name}` must return real, and returns {}", spell(&written.returns));
            self.error(written.span, message);
            return None;
        }
        let first = written.arguments.first().map(|argument| unsized_type(&argument.ty));
        let discrete = first.as_ref().map(is_discrete);
        if name.ends_with("_lpdf") && discrete != Some(false) {
            let message = format!("the first argument of `{name}` must be real");
            self.error(written.span, message).help = Some("densities of ints end in _lpmf".into());
            return None;
        }
        if name.ends_with("_lpmf") && discrete != Some(true) {
            let message = format!("the first argument of `{name}` must be of ints");
            self.error(written.span, message).help = Some("densities of reals end in _lpdf".into());
            return None;
        }
        for (k, argument) in written.arguments.iter().enumerate() {
            self.check_fresh(&argument.name)?;
            let earlier = written.arguments[..k].iter().find(|a| a.name.text == argument.name.text);
            if let Some(earlier) = earlier {
                let message = format!("two arguments are called `{}`", argument.name.text);
                self.error(written.span, message)
                    .labels
                    .push((earlier.name.span, "the first one".into()));
                return None;
            }
        }
        Some(())
    }

    pub(super) fn error_count(&self) -> usize {
        self.diagnostics.iter().filter(|d| d.severity == Severity::Error).count()
    }
}

/// A type without sizes, as arguments have.
fn unsized_type(ty: &tree::UnsizedType) -> Type {
    match ty {
        tree::UnsizedType::Int => Type::Int,
        tree::UnsizedType::Real => Type::Real,
        tree::UnsizedType::Complex => Type::Complex,
        tree::UnsizedType::Vector => Type::Vector,
        tree::UnsizedType::RowVector => Type::RowVector,
        tree::UnsizedType::Matrix => Type::Matrix,
        tree::UnsizedType::ComplexVector => Type::ComplexVector,
        tree::UnsizedType::ComplexRowVector => Type::ComplexRowVector,
        tree::UnsizedType::ComplexMatrix => Type::ComplexMatrix,
        tree::UnsizedType::Array(depth, element) => unsized_type(element).array(*depth),
        tree::UnsizedType::Tuple(slots) => Type::Tuple(slots.iter().map(unsized_type).collect()),
    }
}
