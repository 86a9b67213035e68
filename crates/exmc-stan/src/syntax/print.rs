//! Syntax tree -> text in one canonical form: two blanks a level, one statement a line, comments
//! kept.
//!
//! Reading the text again gives the same tree, but for places. Included texts are printed where
//! they were included, without their comments. Parentheses are those of the tree; none are added.

use super::tree::{
    Argument, Block, Bounds, Comment, DeclaredKind, DeclaredType, Expr, ExprKind, Index, LValue,
    LValueKind, PrintItem, Program, Statement, StatementKind, UnsizedType,
};
use crate::source::{Sources, Span};

/// The program as text. `sources` are those that it was read from; they tell which comments stand
/// behind a statement.
pub fn print(program: &Program, sources: &Sources) -> String {
    let comments: Vec<&Comment> = program.comments.iter().filter(|c| c.span.file == 0).collect();
    let mut printer = Printer { sources, comments, next: 0, out: String::new(), level: 0 };
    let blocks = [
        ("functions", &program.functions),
        ("data", &program.data),
        ("transformed data", &program.transformed_data),
        ("parameters", &program.parameters),
        ("transformed parameters", &program.transformed_parameters),
        ("model", &program.model),
        ("generated quantities", &program.generated_quantities),
    ];
    for (name, block) in blocks {
        if let Some(block) = block {
            printer.block(name, block);
        }
    }
    printer.comments_before(u32::MAX);
    printer.out
}

/// An expression as text.
pub fn print_expr(expr: &Expr) -> String {
    let mut out = String::new();
    write_expr(&mut out, expr);
    out
}

/// A type without sizes as text.
pub fn print_unsized(ty: &UnsizedType) -> String {
    match ty {
        UnsizedType::Int => "int".to_owned(),
        UnsizedType::Real => "real".to_owned(),
        UnsizedType::Complex => "complex".to_owned(),
        UnsizedType::Vector => "vector".to_owned(),
        UnsizedType::RowVector => "row_vector".to_owned(),
        UnsizedType::Matrix => "matrix".to_owned(),
        UnsizedType::ComplexVector => "complex_vector".to_owned(),
        UnsizedType::ComplexRowVector => "complex_row_vector".to_owned(),
        UnsizedType::ComplexMatrix => "complex_matrix".to_owned(),
        UnsizedType::Array(dimensions, element) => {
            format!(
                "array[{}] {}",
                ",".repeat(dimensions.saturating_sub(1)),
                print_unsized(element)
            )
        }
        UnsizedType::Tuple(slots) => {
            let slots: Vec<String> = slots.iter().map(print_unsized).collect();
            format!("tuple({})", tuple_list(&slots))
        }
    }
}

/// Slots with commas; a single one has a comma behind it.
fn tuple_list(slots: &[String]) -> String {
    if let [only] = slots { format!("{only},") } else { slots.join(", ") }
}

struct Printer<'a> {
    sources: &'a Sources,
    /// The comments of the main file.
    comments: Vec<&'a Comment>,
    /// The first that is not yet printed.
    next: usize,
    out: String,
    level: usize,
}

impl Printer<'_> {
    fn indent(&mut self) {
        self.out.push_str(&"  ".repeat(self.level));
    }

    /// Prints the comments that start before a place of the main file, each on its line.
    fn comments_before(&mut self, place: u32) {
        while let Some(comment) =
            self.comments.get(self.next).copied().filter(|c| c.span.start < place)
        {
            self.next += 1;
            self.indent();
            self.out.push_str(comment.text.trim_end());
            self.out.push('\n');
        }
    }

    /// Ends a line, behind the comments that stand on the line where `span` ends.
    fn end_line(&mut self, span: Span) {
        if span.file == 0
            && let Some(file) = self.sources.files().first()
        {
            let line = file.place(span.end).line;
            let behind =
                |c: &&Comment| c.span.start >= span.end && file.place(c.span.start).line == line;
            while let Some(comment) = self.comments.get(self.next).copied().filter(behind) {
                self.next += 1;
                self.out.push(' ');
                self.out.push_str(comment.text.trim_end());
                if comment.text.starts_with("//") {
                    break;
                }
            }
        }
        self.out.push('\n');
    }

    fn block(&mut self, name: &str, block: &Block) {
        if block.span.file == 0 {
            self.comments_before(block.span.start);
        }
        self.out.push_str(name);
        self.out.push_str(" {\n");
        self.body(&block.statements, block.span);
        self.out.push('}');
        self.end_line(block.span);
    }

    /// Statements one level deeper, and the comments before the closing brace, which is left to the
    /// caller.
    fn body(&mut self, statements: &[Statement], span: Span) {
        self.level += 1;
        for statement in statements {
            self.line(statement);
        }
        if span.file == 0 {
            self.comments_before(span.end);
        }
        self.level -= 1;
        self.indent();
    }

    /// A statement on a line of its own.
    fn line(&mut self, statement: &Statement) {
        if statement.span.file == 0 {
            self.comments_before(statement.span.start);
        }
        self.indent();
        self.statement(statement);
        self.end_line(statement.span);
    }

    /// A statement that another governs: braces stay on the line, other statements go to the next.
    fn governed(&mut self, statement: &Statement) {
        if let StatementKind::Block(_) = statement.kind {
            self.out.push(' ');
            return self.statement(statement);
        }
        self.out.push('\n');
        self.level += 1;
        if statement.span.file == 0 {
            self.comments_before(statement.span.start);
        }
        self.indent();
        self.statement(statement);
        self.level -= 1;
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Declare { ty, variables } => {
                write_declared(&mut self.out, ty);
                for (k, (name, value)) in variables.iter().enumerate() {
                    self.out.push_str(if k == 0 { " " } else { ", " });
                    self.out.push_str(&name.text);
                    if let Some(value) = value {
                        self.out.push_str(" = ");
                        write_expr(&mut self.out, value);
                    }
                }
                self.out.push(';');
            }
            StatementKind::Function { returns, name, arguments, body } => {
                let returns = returns.as_ref().map_or_else(|| "void".to_owned(), print_unsized);
                let arguments: Vec<String> = arguments.iter().map(print_argument).collect();
                let head = format!("{returns} {}({})", name.text, arguments.join(", "));
                self.out.push_str(&head);
                match body {
                    Some(body) => self.governed(body),
                    None => self.out.push(';'),
                }
            }
            StatementKind::Assign { target, op, value } => {
                write_lvalue(&mut self.out, target);
                let op = op.map_or("", |op| op.symbol());
                self.out.push_str(&format!(" {op}= "));
                write_expr(&mut self.out, value);
                self.out.push(';');
            }
            StatementKind::TargetPlus(value) => {
                self.out.push_str(&format!("target += {};", print_expr(value)))
            }
            StatementKind::JacobianPlus(value) => {
                self.out.push_str(&format!("jacobian += {};", print_expr(value)));
            }
            StatementKind::Tilde { outcome, distribution, args, truncation } => {
                write_expr(&mut self.out, outcome);
                self.out.push_str(&format!(" ~ {}(", distribution.text));
                write_list(&mut self.out, args);
                self.out.push(')');
                if let Some((lower, upper)) = truncation {
                    let limit = |e: &Option<Expr>| e.as_ref().map(print_expr).unwrap_or_default();
                    self.out.push_str(&format!(" T[{}, {}]", limit(lower), limit(upper)));
                }
                self.out.push(';');
            }
            StatementKind::Call { function, args } => {
                self.out.push_str(&format!("{}(", function.text));
                write_list(&mut self.out, args);
                self.out.push_str(");");
            }
            StatementKind::Print(items) => self.printed("print", items),
            StatementKind::Reject(items) => self.printed("reject", items),
            StatementKind::FatalError(items) => self.printed("fatal_error", items),
            StatementKind::If { condition, then, otherwise } => {
                self.out.push_str(&format!("if ({})", print_expr(condition)));
                self.governed(then);
                if let Some(otherwise) = otherwise {
                    if matches!(then.kind, StatementKind::Block(_)) {
                        self.out.push(' ');
                    } else {
                        self.end_line(then.span);
                        self.indent();
                    }
                    self.out.push_str("else");
                    if let StatementKind::If { .. } = otherwise.kind {
                        self.out.push(' ');
                        self.statement(otherwise);
                    } else {
                        self.governed(otherwise);
                    }
                }
            }
            StatementKind::While { condition, body } => {
                self.out.push_str(&format!("while ({})", print_expr(condition)));
                self.governed(body);
            }
            StatementKind::For { variable, lower, upper, body } => {
                let (lower, upper) = (print_expr(lower), print_expr(upper));
                self.out.push_str(&format!("for ({} in {lower} : {upper})", variable.text));
                self.governed(body);
            }
            StatementKind::ForEach { variable, over, body } => {
                self.out.push_str(&format!("for ({} in {})", variable.text, print_expr(over)));
                self.governed(body);
            }
            StatementKind::Break => self.out.push_str("break;"),
            StatementKind::Continue => self.out.push_str("continue;"),
            StatementKind::Return(None) => self.out.push_str("return;"),
            StatementKind::Return(Some(value)) => {
                self.out.push_str(&format!("return {};", print_expr(value)))
            }
            StatementKind::Block(statements) => self.braces(statements, statement.span),
            StatementKind::Profile { name, body } => {
                self.out.push_str(&format!("profile(\"{name}\") "));
                self.braces(body, statement.span);
            }
            StatementKind::Empty => self.out.push(';'),
        }
    }

    fn braces(&mut self, statements: &[Statement], span: Span) {
        self.out.push_str("{\n");
        self.body(statements, span);
        self.out.push('}');
    }

    fn printed(&mut self, word: &str, items: &[PrintItem]) {
        let items: Vec<String> = items
            .iter()
            .map(|item| match item {
                PrintItem::Text(text) => format!("\"{text}\""),
                PrintItem::Value(value) => print_expr(value),
            })
            .collect();
        self.out.push_str(&format!("{word}({});", items.join(", ")));
    }
}

fn print_argument(argument: &Argument) -> String {
    let data = if argument.data_only { "data " } else { "" };
    format!("{data}{} {}", print_unsized(&argument.ty), argument.name.text)
}

fn write_declared(out: &mut String, ty: &DeclaredType) {
    match &ty.kind {
        DeclaredKind::Leaf { base, sizes, bounds } => {
            out.push_str(base.keyword());
            write_bounds(out, bounds);
            if !sizes.is_empty() {
                out.push('[');
                write_list(out, sizes);
                out.push(']');
            }
        }
        DeclaredKind::Array { sizes, element } => {
            out.push_str("array[");
            write_list(out, sizes);
            out.push_str("] ");
            write_declared(out, element);
        }
        DeclaredKind::Tuple(slots) => {
            let slots: Vec<String> = slots
                .iter()
                .map(|slot| {
                    let mut out = String::new();
                    write_declared(&mut out, slot);
                    out
                })
                .collect();
            out.push_str(&format!("tuple({})", tuple_list(&slots)));
        }
    }
}

fn write_bounds(out: &mut String, bounds: &Bounds) {
    let parts = [
        ("lower", &bounds.lower),
        ("upper", &bounds.upper),
        ("offset", &bounds.offset),
        ("multiplier", &bounds.multiplier),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", print_expr(value.as_ref()?))))
        .collect();
    if !parts.is_empty() {
        out.push_str(&format!("<{}>", parts.join(", ")));
    }
}

fn write_list(out: &mut String, items: &[Expr]) {
    for (k, item) in items.iter().enumerate() {
        if k > 0 {
            out.push_str(", ");
        }
        write_expr(out, item);
    }
}

fn write_indices(out: &mut String, indices: &[Index]) {
    out.push('[');
    for (k, index) in indices.iter().enumerate() {
        if k > 0 {
            out.push_str(", ");
        }
        match index {
            Index::Expr(expr) => write_expr(out, expr),
            Index::Range(lower, upper) => {
                if let Some(lower) = lower {
                    write_expr(out, lower);
                    out.push(' ');
                }
                out.push(':');
                if let Some(upper) = upper {
                    out.push(' ');
                    write_expr(out, upper);
                }
            }
        }
    }
    out.push(']');
}

fn write_lvalue(out: &mut String, target: &LValue) {
    match &target.kind {
        LValueKind::Variable(name) => out.push_str(&name.text),
        LValueKind::Index(base, indices) => {
            write_lvalue(out, base);
            write_indices(out, indices);
        }
        LValueKind::Field(base, slot) => {
            write_lvalue(out, base);
            out.push_str(&format!(".{slot}"));
        }
        LValueKind::Tuple(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| {
                    let mut out = String::new();
                    write_lvalue(&mut out, item);
                    out
                })
                .collect();
            out.push_str(&format!("({})", tuple_list(&items)));
        }
    }
}

fn write_expr(out: &mut String, expr: &Expr) {
    match &expr.kind {
        ExprKind::Int(text) | ExprKind::Real(text) => out.push_str(text),
        ExprKind::Imaginary(text) => out.push_str(&format!("{text}i")),
        ExprKind::Name(name) => out.push_str(&name.text),
        ExprKind::Unary(op, operand) => {
            out.push_str(op.symbol());
            write_expr(out, operand);
        }
        ExprKind::Transpose(operand) => {
            write_expr(out, operand);
            out.push('\'');
        }
        ExprKind::Binary(op, left, right) => {
            write_expr(out, left);
            out.push_str(&format!(" {} ", op.symbol()));
            write_expr(out, right);
        }
        ExprKind::Conditional(condition, yes, no) => {
            write_expr(out, condition);
            out.push_str(" ? ");
            write_expr(out, yes);
            out.push_str(" : ");
            write_expr(out, no);
        }
        ExprKind::Index(base, indices) => {
            write_expr(out, base);
            write_indices(out, indices);
        }
        ExprKind::Field(base, slot) => {
            write_expr(out, base);
            let number = matches!(base.kind, ExprKind::Int(_) | ExprKind::Real(_));
            // `1 .2` is a slot of a number, which is no tuple; `1.2` would be another program.
            out.push_str(if number { " ." } else { "." });
            out.push_str(&slot.to_string());
        }
        ExprKind::Array(items) => {
            out.push('{');
            write_list(out, items);
            out.push('}');
        }
        ExprKind::RowVector(items) => {
            out.push('[');
            write_list(out, items);
            out.push(']');
        }
        ExprKind::Tuple(items) => {
            out.push('(');
            write_list(out, items);
            out.push_str(if items.len() == 1 { ",)" } else { ")" });
        }
        ExprKind::Parenthesised(inner) => {
            out.push('(');
            write_expr(out, inner);
            out.push(')');
        }
        ExprKind::Call { function, args, bar } => {
            out.push_str(&function.text);
            out.push('(');
            match args.split_first() {
                Some((first, rest)) if *bar => {
                    write_expr(out, first);
                    out.push_str(" | ");
                    write_list(out, rest);
                }
                _ => write_list(out, args),
            }
            out.push(')');
        }
        ExprKind::Target => out.push_str("target()"),
    }
}
