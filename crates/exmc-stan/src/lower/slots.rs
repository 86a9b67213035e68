//! Tuples that depend on parameters -> one variable a slot: a typed program -> one that declares no such tuple.
//!
//! `tuple(real, vector[2]) t` becomes `t:1` and `t:2` (names that no program can have, and CmdStan's columns do);
//! `t.2[1]` becomes `t:2[1]` and `t` becomes `(t:1, t:2)`. So loops, branches and constraints see plain variables.
//! Data and arguments of functions stay as they are, and so do arrays of tuples.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::source::Span;
use crate::typed::{
    Access, Constraint, Declaration, DeclaredType, Expr, ExprKind, Index, LValue, LValueKind,
    PrintItem, Program, Scope, Statement, StatementKind, Type, Variable, VariableId,
};

/// The program with tuples taken apart in parameters, transformed parameters, the model and functions.
pub(super) fn take_tuples_apart(program: &Program) -> Cow<'_, Program> {
    let is_own = |variable: &Variable| {
        matches!(variable.ty, Type::Tuple(_))
            && matches!(
                variable.scope,
                Scope::Parameters | Scope::TransformedParameters | Scope::Model | Scope::Local
            )
    };
    if !program.variables.iter().any(is_own) {
        return Cow::Borrowed(program);
    }
    let mut program = program.clone();
    let mut slots: FxHashMap<VariableId, Vec<VariableId>> = FxHashMap::default();
    let mut k = 0;
    // Slots are appended, and those that are tuples are taken apart in their turn.
    while let Some(variable) = program.variables.get(k).cloned() {
        if let (Type::Tuple(types), true) = (&variable.ty, is_own(&variable)) {
            let first = program.variables.len() as u32;
            let own = (0..types.len() as u32).map(|j| VariableId(first + j)).collect();
            slots.insert(VariableId(k as u32), own);
            program.variables.extend(types.iter().zip(1..).map(|(ty, number)| Variable {
                name: format!("{}:{number}", variable.name).into(),
                ty: ty.clone(),
                ..variable.clone()
            }));
        }
        k += 1;
    }
    let apart = Apart { slots, variables: program.variables.clone() };
    for function in &mut program.functions {
        apart.statements(&mut function.body);
    }
    let declarations = std::mem::take(&mut program.parameters);
    for declaration in declarations {
        apart.declaration(declaration, &mut program.parameters);
    }
    apart.statements(&mut program.transformed_parameters);
    apart.statements(&mut program.model);
    Cow::Owned(program)
}

struct Apart {
    slots: FxHashMap<VariableId, Vec<VariableId>>,
    variables: Vec<Variable>,
}

impl Apart {
    fn statements(&self, list: &mut Vec<Statement>) {
        let mut made = Vec::with_capacity(list.len());
        for statement in std::mem::take(list) {
            self.statement(statement, &mut made);
        }
        *list = made;
    }

    fn boxed(&self, statement: &mut Statement) {
        let span = statement.span;
        let old = std::mem::replace(statement, Statement { kind: StatementKind::Break, span });
        let mut made = Vec::new();
        self.statement(old, &mut made);
        *statement = match made.pop() {
            Some(only) if made.is_empty() => only,
            last => {
                made.extend(last);
                Statement { kind: StatementKind::Block(made), span }
            }
        };
    }

    fn statement(&self, mut statement: Statement, made: &mut Vec<Statement>) {
        match &mut statement.kind {
            StatementKind::Declare(declaration) => {
                let (span, variable) = (statement.span, declaration.variable);
                let mut declaration = declaration.clone();
                let whole = self.slots.contains_key(&variable);
                let initial = if whole { declaration.initial.take() } else { None };
                let mut parts = Vec::new();
                self.declaration(declaration, &mut parts);
                let declared = |part| Statement { kind: StatementKind::Declare(part), span };
                made.extend(parts.into_iter().map(declared));
                if let Some(mut value) = initial {
                    self.expr(&mut value);
                    let target = self.target(variable, span);
                    let kind = StatementKind::Assign { target, op: None, value };
                    made.push(Statement { kind, span });
                }
                return;
            }
            StatementKind::Assign { target, value, .. } => {
                self.lvalue(target);
                self.expr(value);
            }
            StatementKind::TargetPlus(value)
            | StatementKind::JacobianPlus(value)
            | StatementKind::Return(Some(value)) => self.expr(value),
            StatementKind::Tilde { outcome, args, truncation, .. } => {
                self.expr(outcome);
                args.iter_mut().for_each(|arg| self.expr(arg));
                if let Some(truncation) = truncation {
                    truncation.lower.iter_mut().for_each(|limit| self.expr(limit));
                    truncation.upper.iter_mut().for_each(|limit| self.expr(limit));
                }
            }
            StatementKind::Call { args, .. } => args.iter_mut().for_each(|arg| self.expr(arg)),
            StatementKind::Print(items)
            | StatementKind::Reject(items)
            | StatementKind::FatalError(items) => {
                for item in items {
                    if let PrintItem::Value(value) = item {
                        self.expr(value);
                    }
                }
            }
            StatementKind::If(condition, then, otherwise) => {
                self.expr(condition);
                self.boxed(then);
                otherwise.iter_mut().for_each(|branch| self.boxed(branch));
            }
            StatementKind::While(condition, body) => {
                self.expr(condition);
                self.boxed(body);
            }
            StatementKind::For { lower, upper, body, .. } => {
                self.expr(lower);
                self.expr(upper);
                self.boxed(body);
            }
            StatementKind::ForEach { over, body, .. } => {
                self.expr(over);
                self.boxed(body);
            }
            StatementKind::Block(body) | StatementKind::Profile(_, body) => self.statements(body),
            StatementKind::Break | StatementKind::Continue | StatementKind::Return(None) => {}
        }
        made.push(statement);
    }

    /// A declaration, or those of its slots.
    fn declaration(&self, mut declaration: Declaration, made: &mut Vec<Declaration>) {
        let slots = self.slots.get(&declaration.variable);
        if let (Some(slots), DeclaredType::Tuple(types)) = (slots, &declaration.ty) {
            for (variable, ty) in slots.iter().zip(types) {
                let (variable, ty, span) = (*variable, ty.clone(), declaration.span);
                self.declaration(Declaration { variable, ty, initial: None, span }, made);
            }
            return;
        }
        self.declared(&mut declaration.ty);
        declaration.initial.iter_mut().for_each(|value| self.expr(value));
        made.push(declaration);
    }

    fn declared(&self, ty: &mut DeclaredType) {
        match ty {
            DeclaredType::Leaf { sizes, constraint, .. } => {
                sizes.iter_mut().for_each(|size| self.expr(size));
                match constraint {
                    Constraint::Lower(bound) | Constraint::Upper(bound) => self.expr(bound),
                    Constraint::LowerUpper(low, high) => {
                        self.expr(low);
                        self.expr(high);
                    }
                    Constraint::OffsetMultiplier(offset, multiplier) => {
                        offset.iter_mut().chain(multiplier).for_each(|bound| self.expr(bound));
                    }
                    _ => {}
                }
            }
            DeclaredType::Array { sizes, element } => {
                sizes.iter_mut().for_each(|size| self.expr(size));
                self.declared(element);
            }
            DeclaredType::Tuple(slots) => slots.iter_mut().for_each(|slot| self.declared(slot)),
        }
    }

    /// A variable as what is assigned to: all of its slots, if it is taken apart.
    fn target(&self, id: VariableId, span: Span) -> LValue {
        let kind = match self.slots.get(&id) {
            Some(slots) => {
                LValueKind::Tuple(slots.iter().map(|slot| self.target(*slot, span)).collect())
            }
            None => LValueKind::Path(id, Vec::new()),
        };
        LValue { kind, ty: self.variables[id.0 as usize].ty.clone(), span }
    }

    fn lvalue(&self, target: &mut LValue) {
        match &mut target.kind {
            LValueKind::Path(id, path) => {
                while let (Some(slots), Some(Access::Field(k))) = (self.slots.get(id), path.first())
                {
                    *id = slots[*k];
                    path.remove(0);
                }
                for access in path.iter_mut() {
                    if let Access::Index(indices) = access {
                        self.indices(indices);
                    }
                }
                if self.slots.contains_key(id) && path.is_empty() {
                    target.kind = self.target(*id, target.span).kind;
                }
            }
            LValueKind::Tuple(parts) => parts.iter_mut().for_each(|part| self.lvalue(part)),
        }
    }

    fn indices(&self, indices: &mut [Index]) {
        for index in indices {
            match index {
                Index::Single(at) | Index::Multiple(at) => self.expr(at),
                Index::Range(low, high) => {
                    low.iter_mut().chain(high).for_each(|end| self.expr(end));
                }
            }
        }
    }

    /// The variable that an expression is, after its slots.
    fn place(&self, expr: &Expr) -> Option<VariableId> {
        match &expr.kind {
            ExprKind::Variable(id) => Some(*id),
            ExprKind::Field(tuple, k) => self.slots.get(&self.place(tuple)?)?.get(*k).copied(),
            _ => None,
        }
    }

    /// A variable's value: a tuple of its slots', if it is taken apart.
    fn value(&self, id: VariableId, span: Span) -> Expr {
        let kind = match self.slots.get(&id) {
            Some(slots) => {
                ExprKind::Tuple(slots.iter().map(|slot| self.value(*slot, span)).collect())
            }
            None => ExprKind::Variable(id),
        };
        Expr { kind, ty: self.variables[id.0 as usize].ty.clone(), span }
    }

    fn expr(&self, expr: &mut Expr) {
        if let Some(id) = self.place(expr) {
            expr.kind = self.value(id, expr.span).kind;
            return;
        }
        match &mut expr.kind {
            ExprKind::Unary(_, inner)
            | ExprKind::Transpose(inner)
            | ExprKind::Field(inner, _)
            | ExprKind::Promote(inner) => self.expr(inner),
            ExprKind::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                self.expr(condition);
                self.expr(then);
                self.expr(otherwise);
            }
            ExprKind::Index(base, indices) => {
                self.expr(base);
                self.indices(indices);
            }
            ExprKind::Array(elements)
            | ExprKind::RowVector(elements)
            | ExprKind::Tuple(elements)
            | ExprKind::Call(_, elements) => elements.iter_mut().for_each(|e| self.expr(e)),
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Imaginary(_)
            | ExprKind::Variable(_)
            | ExprKind::Function { .. }
            | ExprKind::LibraryFunction(_)
            | ExprKind::Target => {}
        }
    }
}
