//! What names mean at a place in the program: scopes of variables, the user's functions, the block.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::signatures::{self, Parameter, Signature};
use super::types::Level;
use crate::diagnostic::{Class, Diagnostic};
use crate::source::Span;
use crate::syntax::tree::Name;
use crate::typed::{Expr, FunctionId, Program, Scope, Type, Variable, VariableId};

/// A block of the program, or a function's marked arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Functions,
    Data,
    TransformedData,
    Parameters,
    TransformedParameters,
    Model,
    GeneratedQuantities,
}

impl Block {
    /// As the program's text names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::Data => "data",
            Self::TransformedData => "transformed data",
            Self::Parameters => "parameters",
            Self::TransformedParameters => "transformed parameters",
            Self::Model => "model",
            Self::GeneratedQuantities => "generated quantities",
        }
    }

    /// Whether values of this block may depend on parameters where they are used in another.
    fn depends_on_parameters(self) -> bool {
        matches!(
            self,
            Self::Parameters | Self::TransformedParameters | Self::Model | Self::Functions
        )
    }

    /// The scope of variables at its top level.
    pub(super) fn scope(self) -> Scope {
        match self {
            Self::Functions => Scope::Local,
            Self::Data => Scope::Data,
            Self::TransformedData => Scope::TransformedData,
            Self::Parameters => Scope::Parameters,
            Self::TransformedParameters => Scope::TransformedParameters,
            Self::Model => Scope::Model,
            Self::GeneratedQuantities => Scope::GeneratedQuantities,
        }
    }
}

/// What the end of a function's name says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suffix {
    Plain,
    Rng,
    Lpdf,
    Lpmf,
    Target,
    Jacobian,
}

impl Suffix {
    pub(super) fn of(name: &str) -> Self {
        let ends = |suffix: &str| name.ends_with(suffix);
        if ends("_rng") {
            Self::Rng
        } else if ends("_lp") {
            Self::Target
        } else if ends("_jacobian") {
            Self::Jacobian
        } else if ends("_lpdf") || ends("_lupdf") {
            Self::Lpdf
        } else if ends("_lpmf") || ends("_lupmf") {
            Self::Lpmf
        } else {
            Self::Plain
        }
    }
}

/// Whether the name asks for a density without its constant terms.
pub(super) fn is_proportional(name: &str) -> bool {
    name.ends_with("_lupdf") || name.ends_with("_lupmf")
}

/// The name with its constant terms: `foo_lpdf` for `foo_lupdf`.
pub(super) fn normalised(name: &str) -> String {
    for (proportional, full) in [("_lupdf", "_lpdf"), ("_lupmf", "_lpmf")] {
        if let Some(prefix) = name.strip_suffix(proportional) {
            return format!("{prefix}{full}");
        }
    }
    name.to_owned()
}

/// A variable in scope.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) variable: VariableId,
    pub(super) ty: Type,
    pub(super) block: Block,
    /// Declared at the top level of a block whose variables last.
    pub(super) global: bool,
    /// A loop's variable or a function's argument.
    pub(super) read_only: bool,
    pub(super) span: Span,
}

/// The function whose body is being checked.
#[derive(Clone, Debug)]
pub(super) struct Inside {
    pub(super) suffix: Suffix,
    pub(super) returns: Type,
}

/// Where in the program the checker is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) block: Block,
    pub(super) function: Option<Inside>,
    /// In the size of a declaration that must not depend on parameters.
    pub(super) in_size: bool,
    pub(super) loops: usize,
}

/// What a user's function takes and returns.
#[derive(Clone, Debug)]
pub(super) struct UserFunction {
    pub(super) signature: Rc<Signature>,
    pub(super) defined: bool,
    pub(super) span: Span,
}

/// An expression with its type, and whether it may depend on parameters.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) expr: Expr,
    pub(super) level: Level,
}

impl Typed {
    pub(super) fn ty(&self) -> &Type {
        &self.expr.ty
    }
}

thread_local! {
    /// Signatures that were expanded so far, for all programs that this thread checks: they are the
    /// same, and expanding them costs as much as the rest of checking a small program.
    static LIBRARY: RefCell<BTreeMap<String, Rc<[Signature]>>> = const { RefCell::new(BTreeMap::new()) };
}

/// The state of a check.
pub(super) struct Checker {
    pub(super) program: Program,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) scopes: Vec<BTreeMap<Arc<str>, Binding>>,
    /// Overloads of each of the user's functions.
    pub(super) functions: BTreeMap<Arc<str>, Vec<FunctionId>>,
    /// By [`FunctionId`].
    pub(super) signatures: Vec<UserFunction>,
    pub(super) place: Place,
    /// Nesting of expressions and statements.
    pub(super) depth: usize,
    /// Functions that are differentiated twice, with the place that asks for it.
    pub(super) twice: Vec<(FunctionId, Span)>,
    unknown: BTreeSet<Arc<str>>,
}

impl Checker {
    pub(super) fn new() -> Self {
        let place = Place { block: Block::Functions, function: None, in_size: false, loops: 0 };
        Self {
            program: Program::default(),
            diagnostics: Vec::new(),
            scopes: vec![BTreeMap::new()],
            functions: BTreeMap::new(),
            signatures: Vec::new(),
            place,
            depth: 0,
            twice: Vec::new(),
            unknown: BTreeSet::new(),
        }
    }

    /// Reports a semantic error.
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Diagnostic::error(Class::Semantic, span, message))
    }

    /// Reports a warning.
    pub(super) fn warn(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Diagnostic::warning(Class::Semantic, span, message))
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        self.diagnostics.push(diagnostic);
        self.diagnostics.last_mut().expect("one was pushed")
    }

    /// The variable that a name means here.
    pub(super) fn binding(&self, name: &str) -> Option<&Binding> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Overloads of a user's function (`_lupdf` finds `_lpdf`).
    pub(super) fn overloads(&self, name: &str) -> &[FunctionId] {
        self.functions.get(normalised(name).as_str()).map_or(&[], Vec::as_slice)
    }

    pub(super) fn user(&self, id: FunctionId) -> &UserFunction {
        &self.signatures[id.0 as usize]
    }

    /// Signatures of a library function, by the name without `u`.
    pub(super) fn library(&self, name: &str) -> Rc<[Signature]> {
        LIBRARY.with_borrow_mut(|library| {
            if let Some(found) = library.get(name) {
                return Rc::clone(found);
            }
            let found: Rc<[Signature]> = signatures::signatures(name).into();
            // Names that the library does not have are the program's: there is no end to them.
            if !found.is_empty() {
                library.insert(name.to_owned(), Rc::clone(&found));
            }
            found
        })
    }

    /// Makes a variable known in the innermost scope.
    pub(super) fn bind(
        &mut self,
        name: &Name,
        ty: Type,
        scope: Scope,
        binding: BindingKind,
    ) -> VariableId {
        let variable = VariableId(self.program.variables.len() as u32);
        let text = Arc::clone(&name.text);
        self.program.variables.push(Variable {
            name: text,
            ty: ty.clone(),
            scope,
            span: name.span,
        });
        let BindingKind { block, global, read_only } = binding;
        let binding = Binding { variable, ty, block, global, read_only, span: name.span };
        let scope = self.scopes.last_mut().expect("there is always a scope");
        scope.insert(Arc::clone(&name.text), binding);
        variable
    }

    /// Runs `check` in a scope of its own.
    pub(super) fn scoped<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(BTreeMap::new());
        let result = check(self);
        self.scopes.pop();
        result
    }

    /// The level of a variable of a block, seen from here. What is drawn after sampling is data.
    pub(super) fn level_of(&self, ty: &Type, block: Block) -> Level {
        let after_sampling = self.place.block == Block::GeneratedQuantities;
        Level::of(ty, block.depends_on_parameters() && !after_sampling)
    }

    /// Whether the place is in a function of this kind.
    pub(super) fn inside(&self, suffix: Suffix) -> bool {
        self.place.function.as_ref().is_some_and(|inside| inside.suffix == suffix)
    }

    /// Whether a name that means nothing is reported for the first time.
    pub(super) fn first_unknown(&mut self, name: &Arc<str>) -> bool {
        self.unknown.insert(Arc::clone(name))
    }
}

/// What kind of variable [`Checker::bind`] makes.
pub(super) struct BindingKind {
    pub(super) block: Block,
    pub(super) global: bool,
    pub(super) read_only: bool,
}

/// A parameter that takes anything of a type.
pub(super) fn parameter(data_only: bool, ty: Type) -> Parameter {
    Parameter { data_only, ty }
}
