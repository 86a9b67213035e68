//! Assignments: what may be written where, by which operator, with which conversion of the value.

use super::environment::{Block, Checker, Typed};
use super::indexing::is_multiple;
use super::operators::operator_functions;
use super::signatures;
use super::types::{Level, promote, promotion_cost, spell};
use crate::source::Span;
use crate::syntax::tree::{self, BinaryOp, Name};
use crate::typed::{Access, Expr, ExprKind, LValue, LValueKind, StatementKind, Type, VariableId};

impl Checker {
    pub(super) fn assignment(
        &mut self,
        span: Span,
        target: &tree::LValue,
        op: Option<BinaryOp>,
        value: &tree::Expr,
    ) -> Option<StatementKind> {
        let checked = self.lvalue(target);
        if checked.is_some() {
            self.check_written_once(target)?;
        }
        let value = self.expression(value);
        let (target, value) = (checked?, value?);
        let value = match op {
            None => self.assigned(span, &target, value)?,
            Some(op) => self.compound(&target, op, value)?,
        };
        Some(StatementKind::Assign { target, op, value })
    }

    fn assigned(&mut self, span: Span, target: &LValue, value: Typed) -> Option<Expr> {
        if let (LValueKind::Path(to, accesses), ExprKind::Variable(from)) =
            (&target.kind, &value.expr.kind)
            && to == from
            && accesses.is_empty()
        {
            self.warn(span, "this assigns a variable to itself");
        }
        if matches!(value.ty(), Type::Function(_) | Type::Void) {
            self.error(span, "a function cannot be assigned to a variable");
            return None;
        }
        if promotion_cost(&target.ty, value.ty()).is_none() {
            let message =
                format!("{} cannot be assigned to {}", spell(value.ty()), spell(&target.ty));
            let hint = assignment_hint(&target.ty, value.ty());
            let label = (target.span, format!("this is {}", spell(&target.ty)));
            let diagnostic = self.error(value.expr.span, message);
            diagnostic.labels.push(label);
            diagnostic.help = hint;
            return None;
        }
        Some(promote(value.expr, &target.ty))
    }

    /// `target op= value` is allowed where `target op value` has the target's type.
    fn compound(&mut self, target: &LValue, op: BinaryOp, value: Typed) -> Option<Expr> {
        let names: &[&str] = match op {
            BinaryOp::Divide => &["divide"],
            _ => operator_functions(op),
        };
        let kind = ExprKind::Int(0); // Only the type of the left side matters here.
        let left = Expr::new(kind, target.ty.clone(), target.span);
        let arguments = [Typed { expr: left, level: Level::Data }, value];
        let scalar = matches!(target.ty, Type::Int | Type::Real | Type::Complex);
        let elementwise = matches!(op, BinaryOp::ElementMultiply | BinaryOp::ElementDivide);
        let found = self
            .operator(names, &arguments)
            .filter(|(ty, _)| *ty == target.ty && !(scalar && elementwise));
        let [_, value] = arguments;
        let Some((_, parameters)) = found else {
            let message = format!(
                "`{}=` does not apply to {} and {}",
                op.symbol(),
                spell(&target.ty),
                self.describe(&value)
            );
            self.error(value.expr.span, message)
                .labels
                .push((target.span, format!("this is {}", spell(&target.ty))));
            return None;
        };
        Some(promote(value.expr, &parameters[1].ty))
    }

    /// What is assigned to, with its type.
    fn lvalue(&mut self, target: &tree::LValue) -> Option<LValue> {
        if let tree::LValueKind::Tuple(parts) = &target.kind {
            let parts: Vec<Option<LValue>> = parts.iter().map(|part| self.lvalue(part)).collect();
            let parts: Vec<LValue> = parts.into_iter().collect::<Option<_>>()?;
            let ty = Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect());
            return Some(LValue { kind: LValueKind::Tuple(parts), ty, span: target.span });
        }
        let (variable, accesses, ty) = self.path(target)?;
        // All brackets in a row but the last must select one element each.
        let row =
            accesses.rsplit(|access| matches!(access, Access::Field(_))).next().unwrap_or(&[]);
        let nested = row.split_last().is_some_and(|(_, before)| before.iter().any(selects_several));
        if nested {
            self.error(target.span, "an assignment cannot select several elements twice").help =
                Some("write one pair of brackets, `x[2:3, 1] = …`".into());
            return None;
        }
        Some(LValue { kind: LValueKind::Path(variable, accesses), ty, span: target.span })
    }

    fn path(&mut self, target: &tree::LValue) -> Option<(VariableId, Vec<Access>, Type)> {
        match &target.kind {
            tree::LValueKind::Variable(name) => {
                self.check_identifier(name)?;
                let (variable, ty) = self.assignable(name)?;
                Some((variable, Vec::new(), ty))
            }
            tree::LValueKind::Index(base, indices) => {
                let base = self.path(base);
                let indices = self.indices(indices);
                let (variable, mut accesses, ty) = base?;
                let indices = indices?;
                let ty = self.indexed_type(target.span, &ty, &indices)?;
                accesses.push(Access::Index(indices));
                Some((variable, accesses, ty))
            }
            tree::LValueKind::Field(base, slot) => {
                let (variable, mut accesses, ty) = self.path(base)?;
                let ty = self.slot_type(target.span, &ty, *slot)?;
                accesses.push(Access::Field(*slot - 1));
                Some((variable, accesses, ty))
            }
            tree::LValueKind::Tuple(_) => {
                self.error(target.span, "a list of variables has no parts");
                None
            }
        }
    }

    /// A variable that may be written here.
    fn assignable(&mut self, name: &Name) -> Option<(VariableId, Type)> {
        let Some(binding) = self.binding(&name.text).cloned() else {
            let function = !self.overloads(&name.text).is_empty() || signatures::exists(&name.text);
            if function {
                self.error(
                    name.span,
                    format!("`{}` is a function and cannot be assigned to", name.text),
                );
            } else {
                self.unknown_variable(name);
            }
            return None;
        };
        let foreign = binding.global && binding.block != self.place.block;
        if !foreign && !binding.read_only {
            return Some((binding.variable, binding.ty));
        }
        let (message, label) = if foreign {
            let block = binding.block.name();
            (
                format!("`{}` belongs to {block} and cannot be changed here", name.text),
                "declared here",
            )
        } else if self.place.function.is_some() && self.is_argument(binding.variable) {
            (format!("`{}` is an argument and cannot be changed", name.text), "declared here")
        } else {
            (format!("`{}` is a loop's variable and cannot be changed", name.text), "declared here")
        };
        let diagnostic = self.error(name.span, message);
        diagnostic.labels.push((binding.span, label.into()));
        diagnostic.help = match (foreign, binding.block) {
            (true, Block::Parameters) => {
                Some("declare the changed quantity in transformed parameters".into())
            }
            (true, Block::Data) => Some("declare the changed quantity in transformed data".into()),
            (true, _) => None,
            (false, _) => Some("copy it into a variable of your own".into()),
        };
        None
    }

    fn is_argument(&self, variable: VariableId) -> bool {
        self.program.variable(variable).scope == crate::typed::Scope::Argument
    }

    /// Nothing is written twice by one assignment, nor read in the place that is written.
    fn check_written_once(&mut self, target: &tree::LValue) -> Option<()> {
        let (mut written, mut read) = (Vec::new(), Vec::new());
        collect(target, &mut written, &mut read);
        for (k, (name, fields)) in written.iter().enumerate() {
            let clash = written[..k].iter().any(|(other, others)| {
                other == name && fields.iter().zip(others).all(|(a, b)| a == b)
            });
            if clash {
                self.error(target.span, format!("`{name}` is assigned to twice at once"));
                return None;
            }
        }
        if let Some((name, _)) = written.iter().find(|(name, _)| read.contains(name)) {
            let message = format!("`{name}` is read in an index of what is assigned to");
            self.error(target.span, message).help =
                Some("copy the index into a variable first".into());
            return None;
        }
        Some(())
    }
}

fn selects_several(access: &Access) -> bool {
    matches!(access, Access::Index(indices) if indices.iter().any(is_multiple))
}

/// The variables that are written, each with the slots of tuples on the way, and those read by
/// indices.
fn collect<'a>(
    target: &'a tree::LValue,
    written: &mut Vec<(&'a str, Vec<usize>)>,
    read: &mut Vec<&'a str>,
) {
    match &target.kind {
        tree::LValueKind::Tuple(parts) => {
            parts.iter().for_each(|part| collect(part, written, read))
        }
        tree::LValueKind::Variable(name) => written.push((&name.text, Vec::new())),
        tree::LValueKind::Field(base, slot) => {
            collect(base, written, read);
            if let Some((_, fields)) = written.last_mut() {
                fields.push(*slot);
            }
        }
        tree::LValueKind::Index(base, indices) => {
            collect(base, written, read);
            for index in indices {
                match index {
                    tree::Index::Expr(expr) => names(expr, read),
                    tree::Index::Range(lower, upper) => {
                        lower.iter().chain(upper).for_each(|expr| names(expr, read));
                    }
                }
            }
        }
    }
}

/// All variables of an expression.
pub(super) fn names<'a>(expr: &'a tree::Expr, found: &mut Vec<&'a str>) {
    match &expr.kind {
        tree::ExprKind::Name(name) => found.push(&name.text),
        tree::ExprKind::Unary(_, a)
        | tree::ExprKind::Transpose(a)
        | tree::ExprKind::Field(a, _)
        | tree::ExprKind::Parenthesised(a) => names(a, found),
        tree::ExprKind::Binary(_, a, b) => {
            names(a, found);
            names(b, found);
        }
        tree::ExprKind::Conditional(a, b, c) => {
            for part in [a, b, c] {
                names(part, found);
            }
        }
        tree::ExprKind::Index(base, indices) => {
            names(base, found);
            for index in indices {
                match index {
                    tree::Index::Expr(expr) => names(expr, found),
                    tree::Index::Range(lower, upper) => {
                        lower.iter().chain(upper).for_each(|expr| names(expr, found));
                    }
                }
            }
        }
        tree::ExprKind::Array(all)
        | tree::ExprKind::RowVector(all)
        | tree::ExprKind::Tuple(all) => {
            all.iter().for_each(|expr| names(expr, found));
        }
        tree::ExprKind::Call { args, .. } => args.iter().for_each(|expr| names(expr, found)),
        tree::ExprKind::Int(_)
        | tree::ExprKind::Real(_)
        | tree::ExprKind::Imaginary(_)
        | tree::ExprKind::Target => {}
    }
}

/// How to convert a value to what it is assigned to.
pub(super) fn assignment_hint(target: &Type, value: &Type) -> Option<String> {
    let hint = match (target, value) {
        (Type::Int, Type::Real) => "`to_int(…)` converts data; `%/%` divides ints",
        (Type::Vector, Type::RowVector) | (Type::RowVector, Type::Vector) => {
            "transpose it with `'`"
        }
        (Type::Vector, Type::Array(_)) => "`to_vector(…)` converts an array",
        (Type::RowVector, Type::Array(_)) => "`to_row_vector(…)` converts an array",
        (Type::Matrix, Type::Array(_)) => "`to_matrix(…)` converts an array",
        (Type::Array(_), Type::Vector | Type::RowVector) => "`to_array_1d(…)` converts a vector",
        (Type::Array(_), Type::Matrix) => "`to_array_2d(…)` converts a matrix",
        _ => return None,
    };
    Some(hint.into())
}
