//! The typed tree as text, for `exmc dump --stage typed` and for tests: every conversion and every
//! expression's type is visible.
//!
//! Expressions are written as in Stan with all parentheses; `real(1)` is a conversion to real,
//! `f@1(x)` a call of the user's function number 1, and `:: type` follows what has a type of its
//! own.

use std::fmt::Write as _;

use super::types::spell;
use crate::typed::{
    Access, Callee, Constraint, Declaration, DeclaredType, Expr, ExprKind, Index, LValue,
    LValueKind, PrintItem, Program, Statement, StatementKind, Type, VariableId,
};

/// A checked program as text.
pub fn print(program: &Program) -> String {
    let mut printer = Printer { program, out: String::new(), indent: 0 };
    printer.program();
    printer.out
}

struct Printer<'a> {
    program: &'a Program,
    out: String,
    indent: usize,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn program(&mut self) {
        let program = self.program;
        for (id, function) in program.functions.iter().enumerate() {
            let argument = |argument: &crate::typed::FunctionArgument| {
                let variable = program.variable(argument.variable);
                let data = if argument.data_only { "data " } else { "" };
                format!("{data}{} {}", spell(&variable.ty), variable.name)
            };
            let arguments: Vec<String> = function.arguments.iter().map(argument).collect();
            let returns = spell(&function.returns);
            self.line(&format!(
                "function {returns} {}@{id}({})",
                function.name,
                arguments.join(", ")
            ));
            self.body(&function.body);
        }
        self.declarations("data", &program.data);
        self.block("transformed data", &program.transformed_data);
        self.declarations("parameters", &program.parameters);
        self.block("transformed parameters", &program.transformed_parameters);
        self.block("model", &program.model);
        self.block("generated quantities", &program.generated_quantities);
    }

    fn declarations(&mut self, name: &str, declarations: &[Declaration]) {
        if declarations.is_empty() {
            return;
        }
        self.line(name);
        self.indent += 1;
        for declaration in declarations {
            let text = self.declaration(declaration);
            self.line(&text);
        }
        self.indent -= 1;
    }

    fn block(&mut self, name: &str, statements: &[Statement]) {
        if !statements.is_empty() {
            self.line(name);
            self.body(statements);
        }
    }

    fn body(&mut self, statements: &[Statement]) {
        self.indent += 1;
        for statement in statements {
            self.statement(statement);
        }
        self.indent -= 1;
    }

    fn nested(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Block(body) => self.body(body),
            _ => self.body(std::slice::from_ref(statement)),
        }
    }

    fn name(&self, id: VariableId) -> &str {
        &self.program.variable(id).name
    }

    fn statement(&mut self, statement: &Statement) {
        let text = match &statement.kind {
            StatementKind::Declare(declaration) => self.declaration(declaration),
            StatementKind::Assign { target, op, value } => {
                let op = op.map_or("", |op| op.symbol());
                format!("{} {op}= {}", self.lvalue(target), self.typed(value))
            }
            StatementKind::TargetPlus(value) => format!("target += {}", self.typed(value)),
            StatementKind::JacobianPlus(value) => format!("jacobian += {}", self.typed(value)),
            StatementKind::Tilde { outcome, distribution, user, args, truncation } => {
                let user = user.map_or(String::new(), |id| format!("@{}", id.0));
                let mut text = format!(
                    "{} ~ {distribution}{user}({})",
                    self.typed(outcome),
                    self.typed_list(args)
                );
                if let Some(truncation) = truncation {
                    let limit =
                        |e: &Option<Expr>| e.as_ref().map_or(String::new(), |e| self.expr(e));
                    let (lower, upper) = (limit(&truncation.lower), limit(&truncation.upper));
                    let _ = write!(text, " T[{lower}, {upper}]");
                }
                text
            }
            StatementKind::Call { function, args } => {
                format!("{}({})", self.callee(function), self.typed_list(args))
            }
            StatementKind::Print(items) => format!("print({})", self.items(items)),
            StatementKind::Reject(items) => format!("reject({})", self.items(items)),
            StatementKind::FatalError(items) => format!("fatal_error({})", self.items(items)),
            StatementKind::If(condition, then, otherwise) => {
                let heading = format!("if {}", self.expr(condition));
                self.line(&heading);
                self.nested(then);
                if let Some(otherwise) = otherwise {
                    self.line("else");
                    self.nested(otherwise);
                }
                return;
            }
            StatementKind::While(condition, body) => {
                let heading = format!("while {}", self.expr(condition));
                self.line(&heading);
                return self.nested(body);
            }
            StatementKind::For { variable, lower, upper, body } => {
                let (lower, upper) = (self.expr(lower), self.expr(upper));
                let heading = format!("for {} in {lower}:{upper}", self.name(*variable));
                self.line(&heading);
                return self.nested(body);
            }
            StatementKind::ForEach { variable, over, body } => {
                let ty = spell(&self.program.variable(*variable).ty);
                let heading = format!("for {ty} {} in {}", self.name(*variable), self.expr(over));
                self.line(&heading);
                return self.nested(body);
            }
            StatementKind::Break => "break".into(),
            StatementKind::Continue => "continue".into(),
            StatementKind::Return(None) => "return".into(),
            StatementKind::Return(Some(value)) => format!("return {}", self.typed(value)),
            StatementKind::Block(body) => {
                self.line("block");
                return self.body(body);
            }
            StatementKind::Profile(name, body) => {
                self.line(&format!("profile \"{name}\""));
                return self.body(body);
            }
        };
        self.line(&text);
    }

    fn declaration(&self, declaration: &Declaration) -> String {
        let variable = self.program.variable(declaration.variable);
        let mut text = format!("{} {}", self.declared(&declaration.ty), variable.name);
        if let Some(initial) = &declaration.initial {
            let _ = write!(text, " = {}", self.typed(initial));
        }
        text
    }

    fn declared(&self, ty: &DeclaredType) -> String {
        match ty {
            DeclaredType::Leaf { ty, sizes, constraint } => {
                let mut text = spell(ty);
                text.push_str(&self.constraint(constraint));
                if !sizes.is_empty() {
                    let _ = write!(text, "[{}]", self.list(sizes));
                }
                text
            }
            DeclaredType::Array { sizes, element } => {
                format!("array[{}] {}", self.list(sizes), self.declared(element))
            }
            DeclaredType::Tuple(slots) => {
                let slots: Vec<String> = slots.iter().map(|slot| self.declared(slot)).collect();
                format!("tuple({})", slots.join(", "))
            }
        }
    }

    fn constraint(&self, constraint: &Constraint) -> String {
        let named = |name: &str| format!("<{name}>");
        match constraint {
            Constraint::None => String::new(),
            Constraint::Lower(a) => format!("<lower={}>", self.typed(a)),
            Constraint::Upper(a) => format!("<upper={}>", self.typed(a)),
            Constraint::LowerUpper(a, b) => {
                format!("<lower={}, upper={}>", self.typed(a), self.typed(b))
            }
            Constraint::OffsetMultiplier(offset, multiplier) => {
                let parts = [("offset", offset), ("multiplier", multiplier)];
                let part = |(name, e): &(&str, &Option<Expr>)| {
                    e.as_ref().map(|e| format!("{name}={}", self.typed(e)))
                };
                named(&parts.iter().filter_map(part).collect::<Vec<_>>().join(", "))
            }
            Constraint::Simplex => named("simplex"),
            Constraint::Ordered => named("ordered"),
            Constraint::PositiveOrdered => named("positive_ordered"),
            Constraint::UnitVector => named("unit_vector"),
            Constraint::SumToZero => named("sum_to_zero"),
            Constraint::CholeskyFactorCorr => named("cholesky_factor_corr"),
            Constraint::CholeskyFactorCov => named("cholesky_factor_cov"),
            Constraint::CorrMatrix => named("corr_matrix"),
            Constraint::CovMatrix => named("cov_matrix"),
            Constraint::ColumnStochastic => named("column_stochastic"),
            Constraint::RowStochastic => named("row_stochastic"),
        }
    }

    fn items(&self, items: &[PrintItem]) -> String {
        let item = |item: &PrintItem| match item {
            PrintItem::Text(text) => format!("\"{text}\""),
            PrintItem::Value(value) => self.typed(value),
        };
        items.iter().map(item).collect::<Vec<_>>().join(", ")
    }

    fn lvalue(&self, target: &LValue) -> String {
        match &target.kind {
            LValueKind::Path(variable, accesses) => {
                let mut text = self.name(*variable).to_owned();
                for access in accesses {
                    match access {
                        Access::Index(indices) => text.push_str(&self.indices(indices)),
                        Access::Field(slot) => {
                            let _ = write!(text, ".{}", slot + 1);
                        }
                    }
                }
                text
            }
            LValueKind::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.lvalue(part)).collect();
                format!("({})", parts.join(", "))
            }
        }
    }

    fn indices(&self, indices: &[Index]) -> String {
        let bound = |e: &Option<Expr>| e.as_ref().map_or(String::new(), |e| self.expr(e));
        let index = |index: &Index| match index {
            Index::Single(e) => self.expr(e),
            Index::Multiple(e) => format!("all {}", self.expr(e)),
            Index::Range(lower, upper) => format!("{}:{}", bound(lower), bound(upper)),
        };
        format!("[{}]", indices.iter().map(index).collect::<Vec<_>>().join(", "))
    }

    fn callee(&self, callee: &Callee) -> String {
        match callee {
            Callee::Library(name) => (**name).to_owned(),
            Callee::User { function, proportional } => {
                let name = &self.program.function(*function).name;
                format!("{name}@{}{}", function.0, if *proportional { "!" } else { "" })
            }
        }
    }

    /// An expression and its type; a literal says its own.
    fn typed(&self, e: &Expr) -> String {
        match e.kind {
            ExprKind::Int(_) | ExprKind::Real(_) | ExprKind::Promote(_) => self.expr(e),
            ExprKind::Function { .. } | ExprKind::LibraryFunction(_) => self.expr(e),
            _ => format!("{} :: {}", self.expr(e), spell(&e.ty)),
        }
    }

    fn typed_list(&self, all: &[Expr]) -> String {
        all.iter().map(|e| self.typed(e)).collect::<Vec<_>>().join(", ")
    }

    fn list(&self, all: &[Expr]) -> String {
        all.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Int(value) => value.to_string(),
            ExprKind::Real(value) => format!("{value:?}"),
            ExprKind::Imaginary(value) => format!("{value:?}i"),
            ExprKind::Variable(id) => self.name(*id).to_owned(),
            ExprKind::Function { function, proportional } => {
                self.callee(&Callee::User { function: *function, proportional: *proportional })
            }
            ExprKind::LibraryFunction(name) => (**name).to_owned(),
            ExprKind::Unary(op, a) => format!("{}{}", op.symbol(), self.expr(a)),
            ExprKind::Transpose(a) => format!("{}'", self.expr(a)),
            ExprKind::Binary(op, a, b) => {
                format!("({} {} {})", self.expr(a), op.symbol(), self.expr(b))
            }
            ExprKind::Conditional(c, a, b) => {
                format!("({} ? {} : {})", self.expr(c), self.expr(a), self.expr(b))
            }
            ExprKind::Index(base, indices) => {
                format!("{}{}", self.expr(base), self.indices(indices))
            }
            ExprKind::Field(base, slot) => format!("{}.{}", self.expr(base), slot + 1),
            ExprKind::Array(all) => format!("{{{}}}", self.list(all)),
            ExprKind::RowVector(all) => format!("[{}]", self.list(all)),
            ExprKind::Tuple(all) => format!("({})", self.list(all)),
            ExprKind::Call(callee, args) => format!("{}({})", self.callee(callee), self.list(args)),
            ExprKind::Promote(a) => format!("{}({})", promotion(&e.ty), self.expr(a)),
            ExprKind::Target => "target()".into(),
        }
    }
}

/// A conversion's name: the type without spaces, `array[]real`.
fn promotion(ty: &Type) -> String {
    spell(ty).replace(' ', "")
}
