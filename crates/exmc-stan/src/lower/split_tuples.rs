//! Tuples that depend on parameters -> one variable a slot: a typed program -> one that declares no
//! such tuple.
//!
//! `tuple(real, vector[2]) t` becomes `t:1` and `t:2` (names that no program can have, and
//! CmdStan's columns do); `t.2[1]` becomes `t:2[1]` and `t` becomes `(t:1, t:2)`. So loops,
//! branches and constraints see plain variables. An array of tuples becomes one array a slot:
//! `a[i].2` is `a:2[i]`, and `a[i]` is `(a:1[i], a:2[i])`. Data and arguments of functions stay as
//! they are.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::number::number;
use crate::source::Span;
use crate::typed::{
    Access, Constraint, Declaration, DeclaredType, Expr, ExprKind, Index, LValue, LValueKind,
    PrintItem, Program, Scope, Statement, StatementKind, Type, Variable, VariableId,
};

/// For each variable that was taken apart, those of its slots.
pub(super) type TupleSlots = FxHashMap<VariableId, Vec<VariableId>>;

/// The program with tuples taken apart in parameters, transformed parameters, the model and
/// functions.
pub(super) fn take_tuples_apart(program: &Program) -> (Cow<'_, Program>, TupleSlots) {
    let is_own = |variable: &Variable| {
        matches!(variable.ty.array_parts().1, Type::Tuple(_))
            && matches!(
                variable.scope,
                Scope::Parameters | Scope::TransformedParameters | Scope::Model | Scope::Local
            )
    };
    if !program.variables.iter().any(is_own) {
        return (Cow::Borrowed(program), TupleSlots::default());
    }
    let mut program = program.clone();
    let mut slots = TupleSlots::default();
    let mut k = 0;
    // TupleSlots are appended, and those that are tuples are taken apart in their turn.
    while let Some(variable) = program.variables.get(k).cloned() {
        if let ((depth, Type::Tuple(types)), true) = (variable.ty.array_parts(), is_own(&variable))
        {
            let first = program.variables.len() as u32;
            let own = (0..types.len() as u32).map(|j| VariableId(first + j)).collect();
            slots.insert(VariableId(k as u32), own);
            program.variables.extend(types.iter().zip(1..).map(|(ty, number)| Variable {
                name: format!("{}:{number}", variable.name).into(),
                ty: ty.clone().array(depth),
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
    number(&mut program);
    (Cow::Owned(program), apart.slots)
}

struct Apart {
    slots: TupleSlots,
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
        let old = std::mem::replace(statement, Statement::new(StatementKind::Break, span));
        let mut made = Vec::new();
        self.statement(old, &mut made);
        *statement = match made.pop() {
            Some(only) if made.is_empty() => only,
            last => {
                made.extend(last);
                Statement::new(StatementKind::Block(made), span)
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
                let declared = |part| Statement::new(StatementKind::Declare(part), span);
                made.extend(parts.into_iter().map(declared));
                if let Some(mut value) = initial {
                    self.expr(&mut value);
                    let target = self.target(variable, &[], span);
                    let kind = StatementKind::Assign { target, op: None, value };
                    made.push(Statement::new(kind, span));
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
        if let Some(slots) = self.slots.get(&declaration.variable) {
            for (k, variable) in slots.iter().enumerate() {
                let ty = slot_type(&declaration.ty, k);
                let (variable, span) = (*variable, declaration.span);
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

    /// A variable, or elements of it, as what is assigned to: all of its slots, if it is taken
    /// apart.
    fn target(&self, id: VariableId, path: &[Access], span: Span) -> LValue {
        let kind = match self.slots.get(&id) {
            Some(slots) => {
                LValueKind::Tuple(slots.iter().map(|slot| self.target(*slot, path, span)).collect())
            }
            None => LValueKind::Path(id, path.to_vec()),
        };
        LValue { kind, ty: self.variables[id.0 as usize].ty.clone(), span }
    }

    fn lvalue(&self, target: &mut LValue) {
        match &mut target.kind {
            LValueKind::Path(id, path) => {
                while let (Some(slots), Some(at)) = (self.slots.get(id), first_field(path)) {
                    let Access::Field(k) = path.remove(at) else { continue };
                    *id = slots[k];
                }
                for access in path.iter_mut() {
                    if let Access::Index(indices) = access {
                        self.indices(indices);
                    }
                }
                if self.slots.contains_key(id) {
                    target.kind = self.target(*id, path, target.span).kind;
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

    /// The slot that an expression is a part of, or the tuple, and the indices of that part, step
    /// by step; nothing where no variable is taken apart.
    fn place<'e>(&self, expr: &'e Expr) -> Option<(VariableId, Vec<&'e [Index]>)> {
        match &expr.kind {
            ExprKind::Variable(id) => self.slots.contains_key(id).then(|| (*id, Vec::new())),
            ExprKind::Field(tuple, k) => {
                let (id, steps) = self.place(tuple)?;
                Some((*self.slots.get(&id)?.get(*k)?, steps))
            }
            ExprKind::Index(base, indices) => {
                let (id, mut steps) = self.place(base)?;
                steps.push(indices);
                Some((id, steps))
            }
            _ => None,
        }
    }

    /// A part of a variable as a value of a type: a tuple of its slots', if it is taken apart.
    fn value(&self, id: VariableId, steps: &[&[Index]], ty: &Type, span: Span) -> Expr {
        if let (Some(slots), (depth, Type::Tuple(types))) = (self.slots.get(&id), ty.array_parts())
        {
            let of = |(slot, ty): (&VariableId, &Type)| {
                self.value(*slot, steps, &ty.clone().array(depth), span)
            };
            let kind = ExprKind::Tuple(slots.iter().zip(types).map(of).collect());
            return Expr::new(kind, ty.clone(), span);
        }
        let variable = self.variables[id.0 as usize].ty.clone();
        let mut value = Expr::new(ExprKind::Variable(id), variable, span);
        for indices in steps {
            let mut indices = indices.to_vec();
            self.indices(&mut indices);
            // Only the last step's type is asked for.
            value = Expr::new(ExprKind::Index(Box::new(value), indices), ty.clone(), span);
        }
        value
    }

    fn expr(&self, expr: &mut Expr) {
        if let Some((id, steps)) = self.place(expr) {
            expr.kind = self.value(id, &steps, &expr.ty, expr.span).kind;
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

/// Where a path first goes into a slot.
fn first_field(path: &[Access]) -> Option<usize> {
    path.iter().position(|access| matches!(access, Access::Field(_)))
}

/// The declared type of a slot of a tuple, or of the arrays of it.
fn slot_type(ty: &DeclaredType, k: usize) -> DeclaredType {
    match ty {
        DeclaredType::Tuple(slots) => slots[k].clone(),
        DeclaredType::Array { sizes, element } => {
            let element = Box::new(slot_type(element, k));
            DeclaredType::Array { sizes: sizes.clone(), element }
        }
        DeclaredType::Leaf { .. } => ty.clone(),
    }
}
