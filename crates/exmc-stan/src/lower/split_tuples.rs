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
use crate::parts::{
    Part, parts_of_declaration, parts_of_expr, parts_of_indices, parts_of_statement,
    parts_of_target,
};
use crate::source::Span;
use crate::typed::{
    Access, Declaration, DeclaredType, Expr, ExprKind, Index, LValue, LValueKind, Program, Scope,
    Statement, StatementKind, Type, Variable, VariableId,
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
            let slot_ids = (0..types.len() as u32).map(|j| VariableId(first + j)).collect();
            slots.insert(VariableId(k as u32), slot_ids);
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

    fn part(&self, part: Part<'_>) {
        match part {
            Part::Body(statement) => self.boxed(statement),
            Part::Block(list) => self.statements(list),
            Part::Declaration(declaration) => {
                parts_of_declaration(declaration, &mut |part| self.part(part))
            }
            Part::Target(target) => self.lvalue(target),
            Part::Expr(expr) => self.expr(expr),
        }
    }

    fn statement(&self, mut statement: Statement, made: &mut Vec<Statement>) {
        if let StatementKind::Declare(declaration) = &statement.kind {
            let (span, variable) = (statement.span, declaration.variable);
            let mut declaration = declaration.clone();
            let is_split = self.slots.contains_key(&variable);
            let initial = if is_split { declaration.initial.take() } else { None };
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
        parts_of_statement(&mut statement, &mut |part| self.part(part));
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
        self.part(Part::Declaration(&mut declaration));
        made.push(declaration);
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
                while let (Some(slots), Some(position)) = (self.slots.get(id), first_field(path)) {
                    let Access::Field(k) = path.remove(position) else { continue };
                    *id = slots[k];
                }
                parts_of_target(target, &mut |part| self.part(part));
                if let LValueKind::Path(id, path) = &target.kind
                    && self.slots.contains_key(id)
                {
                    target.kind = self.target(*id, path, target.span).kind;
                }
            }
            LValueKind::Tuple(_) => parts_of_target(target, &mut |part| self.part(part)),
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
            let slot_value = |(slot, ty): (&VariableId, &Type)| {
                self.value(*slot, steps, &ty.clone().array(depth), span)
            };
            let kind = ExprKind::Tuple(slots.iter().zip(types).map(slot_value).collect());
            return Expr::new(kind, ty.clone(), span);
        }
        let variable = self.variables[id.0 as usize].ty.clone();
        let mut value = Expr::new(ExprKind::Variable(id), variable, span);
        for indices in steps {
            let mut indices = indices.to_vec();
            parts_of_indices(&mut indices, &mut |part| self.part(part));
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
        parts_of_expr(expr, &mut |part| self.expr(part));
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
