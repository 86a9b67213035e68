//! A block of statements -> the calls that it can reach and the host has no function for, before
//! anything runs.
//!
//! Whether there is one depends on the name and the types of the arguments. The library is asked
//! itself: it is called on small values of these types, and what it answers other than "not there"
//! does not matter. Functions that take functions are known by their names.

use std::collections::BTreeSet;

use crate::check::types::is_complex;
use crate::diagnostic::{Class, Diagnostic};
use crate::host::error::FaultKind;
use crate::host::higher_order::Method;
use crate::host::interpreter::{Interpreter, Settings};
use crate::host::operators::binary;
use crate::source::Span;
use crate::typed::{Callee, Expr, ExprKind, FunctionId, Program, Statement, StatementKind, Type};
use crate::value::{Numbers, Value};
use crate::visit::{Node, visit_statement};

/// The calls in `block`, and in the functions that it calls, that the host cannot compute; each
/// name with each types once.
pub fn absent_calls(program: &Program, block: &[Statement]) -> Vec<Diagnostic> {
    let mut search = Search {
        host: Interpreter::new(program, Settings::default()),
        asked: BTreeSet::new(),
        functions: Vec::new(),
        found: Vec::new(),
    };
    search.statements(block);
    let mut next = 0;
    while let Some(function) = search.functions.get(next).copied() {
        search.statements(&program.function(function).body);
        next += 1;
    }
    search.found
}

/// Whether the host can call a library function on values of these types.
pub fn has_call(name: &str, types: &[&Type], returns: &Type) -> bool {
    can_call(&mut Interpreter::new(&Program::default(), Settings::default()), name, types, returns)
}

struct Search<'p> {
    host: Interpreter<'p>,
    asked: BTreeSet<(String, Vec<Type>)>,
    /// User functions, in the order in which they were found.
    functions: Vec<FunctionId>,
    found: Vec<Diagnostic>,
}

impl<'p> Search<'p> {
    fn statements(&mut self, statements: &'p [Statement]) {
        for statement in statements {
            visit_statement(statement, &mut |node| {
                match node {
                    Node::Statement(Statement {
                        kind: StatementKind::Call { function, args },
                        span,
                        ..
                    }) => self.call(function, args, &Type::Void, *span),
                    Node::Statement(Statement {
                        kind: StatementKind::Tilde { user: Some(user), .. },
                        ..
                    }) => self.function(*user),
                    Node::Expr(e) => self.expr(e),
                    _ => {}
                }
                true
            });
        }
    }

    fn expr(&mut self, e: &'p Expr) {
        match &e.kind {
            ExprKind::Call(callee, args) => self.call(callee, args, &e.ty, e.span),
            ExprKind::Function { function, .. } => self.function(*function),
            ExprKind::Binary(op, a, b) if is_complex(&a.ty) || is_complex(&b.ty) => {
                let key = (op.symbol().to_owned(), vec![a.ty.clone(), b.ty.clone()]);
                let (x, y) = (sample(&a.ty, 2), sample(&b.ty, 2));
                if self.asked.insert(key)
                    && binary(*op, (&x, &a.ty), (&y, &b.ty))
                        .is_err_and(|fault| fault.kind == FaultKind::Unsupported)
                {
                    let what = format!("`{}` of these types", op.symbol());
                    self.refuse(&what, e.span);
                }
            }
            _ => {}
        }
    }

    fn function(&mut self, function: FunctionId) {
        if !self.functions.contains(&function) {
            self.functions.push(function);
        }
    }

    fn call(&mut self, callee: &Callee, args: &'p [Expr], returns: &Type, span: Span) {
        let name = match callee {
            Callee::User { function, .. } => return self.function(*function),
            Callee::Library(name) => name,
        };
        let is_function =
            |e: &Expr| matches!(e.kind, ExprKind::Function { .. } | ExprKind::LibraryFunction(_));
        if args.iter().any(is_function) {
            let first = args.first().map(|e| &e.kind);
            let is_user = matches!(first, Some(ExprKind::Function { .. }));
            if !(is_user || crate::lower::is_laplace(name))
                || Method::of(name, args.len()).is_none()
            {
                self.refuse(&format!("the function `{name}`"), span);
            }
            return;
        }
        let types: Vec<&Type> = args.iter().map(|arg| &arg.ty).collect();
        let key = (name.to_string(), types.iter().map(|ty| (*ty).clone()).collect());
        if self.asked.insert(key) && !can_call(&mut self.host, name, &types, returns) {
            let types = crate::check::spell_list(types);
            self.refuse(&format!("the function `{name}` of ({types})"), span);
        }
    }

    fn refuse(&mut self, what: &str, span: Span) {
        let message = format!("{what} is not there yet in generated quantities");
        self.found.push(Diagnostic::error(Class::Unsupported, span, message));
    }
}

/// Whether a call on values of these types is one that the host has; all answers but "not there"
/// mean that it has.
fn can_call(host: &mut Interpreter<'_>, name: &str, types: &[&Type], returns: &Type) -> bool {
    // Sizes that do not fit, or numbers outside of a domain, may be noticed before the types.
    for size in [2, 1, 3] {
        let values: Vec<Value> = types.iter().map(|ty| sample(ty, size)).collect();
        match host.call_library(name, &values, types, returns) {
            Ok(_) => return true,
            Err(fault) if fault.kind == FaultKind::Unsupported => return false,
            Err(_) => {}
        }
    }
    true
}

/// A small value of a type: every extent is `size`, numbers lie inside of most domains, matrices
/// are positive definite.
fn sample(ty: &Type, size: usize) -> Value {
    let (depth, inner) = ty.array_parts();
    if let Type::Tuple(types) = inner {
        let tuple = Value::Tuple(types.iter().map(|ty| sample(ty, size)).collect());
        return match depth {
            0 => tuple,
            _ => Value::Tuples(Numbers::filled(vec![size; depth], tuple)),
        };
    }
    let shape = vec![size; ty.rank()];
    let real = |k: usize| match inner {
        // The diagonal of the last two extents.
        Type::Matrix | Type::ComplexMatrix => {
            let (row, column) = (k / size % size, k % size);
            if row == column { 1.0 } else { 0.25 }
        }
        _ => 0.5 / size.max(1) as f64 * 2.0,
    };
    let count: usize = shape.iter().product();
    match inner {
        Type::Int if shape.is_empty() => Value::Int(1),
        Type::Int => Value::Ints(Numbers::filled(shape, 1)),
        ty if is_complex(ty) && shape.is_empty() => Value::Complex([0.5, 0.25]),
        ty if is_complex(ty) => {
            Value::Complexes(Numbers::new(shape, (0..count).map(|k| [real(k), 0.25]).collect()))
        }
        _ if shape.is_empty() => Value::Real(0.5),
        _ => Value::Reals(Numbers::new(shape, (0..count).map(real).collect())),
    }
}
