//! A program -> which of its variables depend on parameters, and which on data.

use std::collections::BTreeSet;
use std::ops::BitOr;

use crate::typed::{
    Access, Callee, DeclaredType, Expr, ExprKind, Index, LValue, LValueKind, Program, Scope,
    Statement, StatementKind, Type, VariableId,
};
use crate::visit::{Node, visit_expr, visit_statement};

/// What a value depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// Whether it differs among draws.
    pub(super) parameter: bool,
    /// Whether data enter it in another way than as sizes and indices.
    pub(super) data: bool,
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        let parameter = self.parameter || other.parameter;
        Self { parameter, data: self.data || other.data }
    }
}

/// Functions of a container's sizes alone.
const SIZES: &[&str] = &["rows", "cols", "size", "num_elements", "dims"];

/// The dependence of each variable of a program.
#[derive(Debug)]
pub(super) struct Dependence {
    flags: Vec<Flags>,
    /// Numbers that are sizes or ends of loops somewhere.
    sizes: BTreeSet<VariableId>,
}

impl Dependence {
    pub(super) fn new(program: &Program) -> Self {
        let flags_of_scope = |scope: Scope| Flags {
            parameter: scope == Scope::Parameters,
            data: matches!(scope, Scope::Data | Scope::TransformedData),
        };
        let flags =
            program.variables.iter().map(|variable| flags_of_scope(variable.scope)).collect();
        let mut dependence = Self { flags, sizes: sizes(program) };
        loop {
            let before = dependence.flags.clone();
            dependence.assign(&program.transformed_parameters, false);
            dependence.assign(&program.model, false);
            if dependence.flags == before {
                return dependence;
            }
        }
    }

    /// What an expression depends on. A size is no data, and an index only chooses.
    pub(super) fn flags_of(&self, e: &Expr) -> Flags {
        let flags_of = |e: &Expr| self.flags_of(e);
        match &e.kind {
            ExprKind::Variable(id) => {
                let flags = self.flags[id.0 as usize];
                Flags { data: flags.data && !self.sizes.contains(id), ..flags }
            }
            ExprKind::Target => Flags { parameter: true, data: false },
            ExprKind::Index(base, indices) => {
                Flags { parameter: self.is_chosen(indices), data: false } | flags_of(base)
            }
            ExprKind::Call(Callee::Library(name), args) if SIZES.contains(&&**name) => {
                let parameter =
                    args.iter().any(|arg| flags_of(arg).parameter && arg.ty == Type::Int);
                Flags { parameter, data: false }
            }
            ExprKind::Call(_, all)
            | ExprKind::Array(all)
            | ExprKind::RowVector(all)
            | ExprKind::Tuple(all) => all.iter().map(flags_of).fold(Flags::default(), BitOr::bitor),
            ExprKind::Unary(_, a)
            | ExprKind::Transpose(a)
            | ExprKind::Promote(a)
            | ExprKind::Field(a, _) => flags_of(a),
            ExprKind::Binary(_, a, b) => flags_of(a) | flags_of(b),
            ExprKind::Conditional(condition, a, b) => {
                flags_of(condition) | flags_of(a) | flags_of(b)
            }
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Imaginary(_)
            | ExprKind::Function { .. }
            | ExprKind::LibraryFunction(_) => Flags::default(),
        }
    }

    /// Whether an expression differs among draws.
    pub(super) fn varies(&self, e: &Expr) -> bool {
        self.flags_of(e).parameter
    }

    /// Whether an expression reads data, sizes included, or what was computed from them.
    pub(super) fn reads_data(&self, e: &Expr) -> bool {
        let mut found = false;
        visit_expr(e, &mut |node| {
            match node {
                Node::Expr(Expr { kind: ExprKind::Variable(id), .. }) => {
                    found |= self.flags[id.0 as usize].data;
                }
                // An index is no outcome.
                Node::Expr(Expr { kind: ExprKind::Index(base, _), .. }) => {
                    found |= self.reads_data(base);
                    return false;
                }
                _ => {}
            }
            true
        });
        found
    }

    /// Whether what runs after `break` and `continue` in a loop's body differs among draws.
    pub(super) fn leaves_early(&self, body: &Statement, under: bool) -> bool {
        match &body.kind {
            StatementKind::Break | StatementKind::Continue => under,
            StatementKind::If(condition, then, otherwise) => {
                let under = under || self.varies(condition);
                std::iter::once(then).chain(otherwise).any(|s| self.leaves_early(s, under))
            }
            StatementKind::Block(all) | StatementKind::Profile(_, all) => {
                all.iter().any(|s| self.leaves_early(s, under))
            }
            _ => false,
        }
    }

    fn is_chosen(&self, indices: &[Index]) -> bool {
        indices.iter().any(|index| match index {
            Index::Single(e) | Index::Multiple(e) => self.varies(e),
            Index::Range(lower, upper) => lower.iter().chain(upper).any(|e| self.varies(e)),
        })
    }

    fn add(&mut self, id: VariableId, flags: Flags) {
        let entry = &mut self.flags[id.0 as usize];
        *entry = *entry | flags;
    }

    /// Notes what statements assign; `under` says whether it depends on parameters that they run.
    fn assign(&mut self, statements: &[Statement], under: bool) {
        statements.iter().for_each(|statement| self.assign_one(statement, under));
    }

    fn assign_one(&mut self, statement: &Statement, under: bool) {
        let depends = |parameter: bool| Flags { parameter, data: false };
        match &statement.kind {
            StatementKind::Declare(declaration) => {
                if let Some(initial) = &declaration.initial {
                    self.add(declaration.variable, self.flags_of(initial) | depends(under));
                }
            }
            StatementKind::Assign { target, value, .. } => {
                let flags = self.flags_of(value) | depends(under);
                self.write(target, flags);
            }
            StatementKind::If(condition, then, otherwise) => {
                let under = under || self.varies(condition);
                std::iter::once(then).chain(otherwise).for_each(|s| self.assign_one(s, under));
            }
            StatementKind::While(condition, body) => {
                let under = under || self.varies(condition);
                let under = under || self.leaves_early(body, under);
                self.assign_one(body, under);
            }
            StatementKind::For { variable, lower, upper, body } => {
                let varies = self.varies(lower) || self.varies(upper);
                let under = under || varies;
                let under = under || self.leaves_early(body, under);
                self.add(*variable, depends(varies));
                self.assign_one(body, under);
            }
            StatementKind::ForEach { variable, over, body } => {
                let under = under || self.leaves_early(body, under);
                self.add(*variable, self.flags_of(over));
                self.assign_one(body, under);
            }
            StatementKind::Block(all) | StatementKind::Profile(_, all) => self.assign(all, under),
            _ => {}
        }
    }

    fn write(&mut self, target: &LValue, flags: Flags) {
        match &target.kind {
            LValueKind::Path(id, accesses) => {
                let parameter = accesses.iter().any(|access| match access {
                    Access::Index(indices) => self.is_chosen(indices),
                    Access::Field(_) => false,
                });
                self.add(*id, flags | Flags { parameter, data: false });
            }
            LValueKind::Tuple(parts) => parts.iter().for_each(|part| self.write(part, flags)),
        }
    }
}

/// Numbers among the data that are sizes or ends of loops somewhere.
fn sizes(program: &Program) -> BTreeSet<VariableId> {
    let mut found = BTreeSet::new();
    let mut note = |e: &Expr| {
        visit_expr(e, &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Variable(id), ty: Type::Int, .. }) = node {
                found.insert(*id);
            }
            // The element of an array that is an end is no size of its own.
            !matches!(node, Node::Expr(Expr { kind: ExprKind::Index(..), .. }))
        });
    };
    let of_type = |mut ty: &DeclaredType, note: &mut dyn FnMut(&Expr)| {
        let mut open = Vec::new();
        loop {
            match ty {
                DeclaredType::Leaf { sizes, .. } => sizes.iter().for_each(&mut *note),
                DeclaredType::Array { sizes, element } => {
                    sizes.iter().for_each(&mut *note);
                    open.push(&**element);
                }
                DeclaredType::Tuple(slots) => open.extend(slots),
            }
            match open.pop() {
                Some(next) => ty = next,
                None => break,
            }
        }
    };
    for declaration in program.data.iter().chain(&program.parameters) {
        of_type(&declaration.ty, &mut note);
    }
    let blocks = [&program.transformed_data, &program.transformed_parameters, &program.model];
    for statement in blocks.into_iter().flatten() {
        visit_statement(statement, &mut |node| {
            if let Node::Statement(statement) = node {
                match &statement.kind {
                    StatementKind::Declare(declaration) => of_type(&declaration.ty, &mut note),
                    StatementKind::For { lower, upper, .. } => {
                        note(lower);
                        note(upper);
                    }
                    _ => {}
                }
            }
            true
        });
    }
    found
}
