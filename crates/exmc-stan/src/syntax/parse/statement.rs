//! Statements.

use std::sync::Arc;

use super::{Parsed, Parser, Stop};
use crate::source::Span;
use crate::syntax::token::{BlockName, Kind};
use crate::syntax::tree::{
    BinaryOp, Expr, ExprKind, LValue, LValueKind, PrintItem, Statement, StatementKind,
};

/// What a compound assignment computes; `None` for `=`.
fn assignment(kind: Kind) -> Option<Option<BinaryOp>> {
    Some(match kind {
        Kind::Assign => None,
        Kind::PlusAssign => Some(BinaryOp::Add),
        Kind::MinusAssign => Some(BinaryOp::Subtract),
        Kind::TimesAssign => Some(BinaryOp::Multiply),
        Kind::DivideAssign => Some(BinaryOp::Divide),
        Kind::ElementTimesAssign => Some(BinaryOp::ElementMultiply),
        Kind::ElementDivideAssign => Some(BinaryOp::ElementDivide),
        _ => return None,
    })
}

impl Parser<'_> {
    /// A statement or declaration at the outermost level of a block. (Of `model` and functions all
    /// variables are local.)
    pub(super) fn statement(&mut self, block: BlockName) -> Parsed<Statement> {
        if self.kind().starts_type() {
            return self.declaration((block != BlockName::Model).then_some(block));
        }
        self.local_statement()
    }

    /// A statement or declaration inside another, or of a body.
    fn local_statement(&mut self) -> Parsed<Statement> {
        let start = self.span();
        let kind = self.nested(|p| p.statement_kind(start))?;
        Ok(Statement { kind, span: self.since(start) })
    }

    fn statement_kind(&mut self, start: Span) -> Parsed<StatementKind> {
        match self.kind() {
            Kind::Semicolon => {
                self.advance();
                Ok(StatementKind::Empty)
            }
            Kind::LeftBrace if !self.braces_are_array() => {
                self.advance();
                Ok(StatementKind::Block(self.statements(BlockName::Model, start)))
            }
            Kind::If => self.if_statement(),
            Kind::While => self.while_statement(),
            Kind::For => self.for_statement(),
            Kind::Profile => self.profile(),
            Kind::Break => {
                self.advance();
                self.semicolon("`break`")?;
                Ok(StatementKind::Break)
            }
            Kind::Continue => {
                self.advance();
                self.semicolon("`continue`")?;
                Ok(StatementKind::Continue)
            }
            Kind::Return => {
                self.advance();
                let none = matches!(self.kind(), Kind::Semicolon | Kind::RightBrace | Kind::End);
                let value = if none { None } else { Some(self.expression()?) };
                self.semicolon("`return`")?;
                Ok(StatementKind::Return(value))
            }
            Kind::Print => Ok(StatementKind::Print(self.printed("print")?)),
            Kind::Reject => Ok(StatementKind::Reject(self.printed("reject")?)),
            Kind::FatalError => Ok(StatementKind::FatalError(self.printed("fatal_error")?)),
            Kind::Target if self.ahead(1).kind == Kind::PlusAssign => {
                self.position += 2;
                let value = self.expression()?;
                self.semicolon("`target += …`")?;
                Ok(StatementKind::TargetPlus(value))
            }
            Kind::Target if self.ahead(1).kind != Kind::LeftParen => {
                let help = "`target += e;` adds to it, `target()` is its value";
                Err(self.error_with_help(start, "`target` can only be added to", help))
            }
            Kind::Jacobian => {
                self.advance();
                self.expect(Kind::PlusAssign, "after `jacobian`")?;
                let value = self.expression()?;
                self.semicolon("`jacobian += …`")?;
                Ok(StatementKind::JacobianPlus(value))
            }
            Kind::Else => {
                let help = "an `else` follows the statement of its `if` at once";
                Err(self.error_with_help(start, "this `else` has no `if`", help))
            }
            Kind::Void => {
                let help = "functions are defined in the block `functions`";
                Err(self.error_with_help(start, "a function cannot be defined here", help))
            }
            kind if kind.starts_type() => Ok(self.declaration(None)?.kind),
            kind if kind.is_name()
                && self.ahead(1).kind.is_name()
                && self.ahead(2).kind == Kind::LeftParen =>
            {
                let (left, right) =
                    (self.text().to_owned(), self.sources.text(self.ahead(1).span).to_owned());
                let message = format!("nothing stands between `{left}` and `{right}(…)`");
                let help = format!("a distribution is stated as `{left} ~ {right}(…);`");
                Err(self.error_with_help(start, message, help))
            }
            kind if kind.is_name()
                && (self.ahead(1).kind.is_name() || self.looks_constrained()) =>
            {
                Err(self.unknown_type())
            }
            _ => self.expression_statement(),
        }
    }

    /// Whether `name<lower` or the like stands here.
    pub(super) fn looks_constrained(&self) -> bool {
        let word = self.ahead(2).kind;
        self.ahead(1).kind == Kind::Less
            && matches!(word, Kind::Lower | Kind::Upper | Kind::Offset | Kind::Multiplier)
    }

    /// Whether the braces here are an array that starts a `~` statement, not a block: `{1, x} ~
    /// normal(0, 1);`.
    fn braces_are_array(&self) -> bool {
        let mut open = 0_usize;
        for ahead in 0.. {
            match self.ahead(ahead).kind {
                Kind::LeftBrace => open += 1,
                Kind::RightBrace => {
                    open -= 1;
                    if open == 0 {
                        let next = self.ahead(ahead + 1).kind;
                        return ahead > 1
                            && matches!(next, Kind::Tilde | Kind::LeftBracket | Kind::Transpose);
                    }
                }
                Kind::Semicolon | Kind::End => return false,
                _ => {}
            }
        }
        false
    }

    /// An assignment, `~`, or a call.
    fn expression_statement(&mut self) -> Parsed<StatementKind> {
        if let Some(old) = self.old_assignment() {
            return old;
        }
        let start = self.position;
        let expr = self.expression()?;
        if let Some(op) = assignment(self.kind()) {
            let target = match lvalue(&expr) {
                Some(target) => target,
                None => {
                    let help = "variables, their elements `x[1]`, tuple slots `x.1` and tuples `(a, b)` can be assigned to";
                    let message = "this cannot be assigned to";
                    let stop = self.error_with_help(expr.span, message, help);
                    self.advance();
                    self.expression()?;
                    return Err(stop);
                }
            };
            self.advance();
            let value = self.expression()?;
            if assignment(self.kind()).is_some() {
                let help = "write one assignment a statement";
                return Err(self.error_with_help(
                    self.span(),
                    "an assignment is no expression",
                    help,
                ));
            }
            self.semicolon("the assignment")?;
            return Ok(StatementKind::Assign { target, op, value });
        }
        if self.kind() == Kind::Tilde {
            return self.tilde(expr);
        }
        match expr.kind {
            ExprKind::Call { function, args, bar: false } => {
                self.semicolon("the call")?;
                Ok(StatementKind::Call { function, args })
            }
            _ => Err(self.no_statement(start, &expr)),
        }
    }

    /// An expression stands alone.
    fn no_statement(&mut self, start: usize, expr: &Expr) -> Stop {
        let ends = matches!(self.kind(), Kind::Semicolon | Kind::RightBrace | Kind::End);
        if !ends {
            let message = format!("expected `=`, `~` or an operator, found {}", self.found());
            let help = match self.kind() {
                Kind::Colon => Some("a loop is written `for (n in 1:N)`; assignment is `=`"),
                Kind::LeftBrace => Some("is there a `;` missing before it?"),
                Kind::Equal => Some("assignment is written `=`"),
                _ => None,
            };
            return match help {
                Some(help) => self.error_with_help(self.span(), message, help),
                None => self.error(self.span(), message),
            };
        }
        let help = match &expr.kind {
            ExprKind::Binary(BinaryOp::Equal, ..) => "`==` compares; assignment is written `=`",
            ExprKind::Call { bar: true, .. } => "to add a log density, write `target +=` before it",
            _ => {
                "statements assign (`x = e;`), state a distribution (`y ~ normal(0, 1);`) or call a function that returns nothing"
            }
        };
        let span = self.tokens[start].span.to(expr.span);
        self.error_with_help(span, "an expression alone is no statement", help)
    }

    /// `x <- e`: reported, and read as `x = e`. A comparison with a negative number starts only a
    /// `~` statement, so that is tried first.
    fn old_assignment(&mut self) -> Option<Parsed<StatementKind>> {
        if !self.kind().is_name() || !self.arrow_ahead() {
            return None;
        }
        let (before, reports) = (self.position, self.diagnostics.len());
        let target = self.common_expression().ok();
        let (less, minus) = (self.ahead(0), self.ahead(1));
        let arrow = less.kind == Kind::Less
            && minus.kind == Kind::Minus
            && less.span.end == minus.span.start
            && target.is_some();
        if arrow {
            self.position += 2;
            let value = self.expression();
            if let (Ok(value), Some(target)) = (value, target.as_ref().and_then(lvalue))
                && self.kind() != Kind::Tilde
            {
                self.diagnostics.truncate(reports);
                let span = less.span.to(minus.span);
                self.error_with_help(span, "`<-` assigns no longer", "write `=`");
                let assign = StatementKind::Assign { target, op: None, value };
                return Some(self.semicolon("the assignment").map(|()| assign));
            }
        }
        if !self.gave_up() {
            self.position = before;
            self.diagnostics.truncate(reports);
        }
        None
    }

    /// Whether `<-` stands before the next `;`.
    fn arrow_ahead(&self) -> bool {
        for ahead in 1.. {
            let (less, minus) = (self.ahead(ahead), self.ahead(ahead + 1));
            match less.kind {
                Kind::Less if minus.kind == Kind::Minus && less.span.end == minus.span.start => {
                    return true;
                }
                Kind::Semicolon | Kind::LeftBrace | Kind::RightBrace | Kind::End => return false,
                _ => {}
            }
        }
        false
    }

    /// After the left side of a `~`.
    fn tilde(&mut self, outcome: Expr) -> Parsed<StatementKind> {
        self.advance();
        let distribution = self.name("a distribution's name after `~`")?;
        if self.kind() != Kind::LeftParen {
            let message =
                format!("expected `(` after the distribution's name, found {}", self.found());
            let help = format!("write `{}(…)` with its parameters", distribution.text);
            return Err(self.error_with_help(self.span(), message, help));
        }
        let opening = self.advance().span;
        let args = self.list(Kind::RightParen, Self::expression)?;
        self.close(Kind::RightParen, opening, "the distribution's parameters")?;
        let truncation = if self.accept(Kind::Truncate) { Some(self.truncation()?) } else { None };
        if truncation.is_none() && !matches!(self.kind(), Kind::Semicolon | Kind::RightBrace) {
            let operator =
                matches!(self.kind(), Kind::Plus | Kind::Minus | Kind::Times | Kind::Divide);
            if self.kind() == Kind::LeftBracket {
                let help = "a truncation is written `T[lower, upper]`";
                let message = "expected `;` after the distribution, found `[`";
                return Err(self.error_with_help(self.span(), message, help));
            }
            if operator {
                let help = "a distribution is no number; mixtures are written with `target +=` and `log_mix`";
                let message =
                    format!("expected `;` after the distribution, found {}", self.found());
                return Err(self.error_with_help(self.span(), message, help));
            }
        }
        self.semicolon("the distribution")?;
        Ok(StatementKind::Tilde { outcome, distribution, args, truncation })
    }

    fn truncation(&mut self) -> Parsed<(Option<Expr>, Option<Expr>)> {
        if self.kind() != Kind::LeftBracket {
            let message =
                format!("expected `[` after the truncation's `T`, found {}", self.found());
            let help = "write `T[lower, upper]`, `T[lower, ]` or `T[, upper]`";
            return Err(self.error_with_help(self.span(), message, help));
        }
        let opening = self.advance().span;
        let lower = if self.kind() == Kind::Comma { None } else { Some(self.expression()?) };
        if self.kind() != Kind::Comma {
            let message =
                format!("expected `,` between the truncation's limits, found {}", self.found());
            let help = "write `T[lower, upper]`, `T[lower, ]` or `T[, upper]`";
            return Err(self.error_with_help(self.span(), message, help));
        }
        self.advance();
        let upper = if self.kind() == Kind::RightBracket { None } else { Some(self.expression()?) };
        self.close(Kind::RightBracket, opening, "the truncation")?;
        Ok((lower, upper))
    }

    /// What stands in parentheses after a keyword. After a mistake in there the statement that
    /// follows is read all the same, so that its mistakes are reported too; it then stands in a
    /// block of its own instead.
    fn head<T>(&mut self, what: &str, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let opening = self.span();
        if self.kind() != Kind::LeftParen {
            let stop = self.unexpected(&format!("`(` after {what}"));
            while !matches!(
                self.kind(),
                Kind::Semicolon | Kind::LeftBrace | Kind::RightBrace | Kind::End
            ) {
                self.advance();
            }
            return Err(stop);
        }
        self.advance();
        let read = read(self).and_then(|head| {
            self.close(Kind::RightParen, opening, &format!("what follows {what}"))?;
            Ok(head)
        });
        if read.is_err() {
            let mut open = 1;
            while open > 0 {
                match self.kind() {
                    Kind::LeftParen => open += 1,
                    Kind::RightParen => open -= 1,
                    // Loops of other languages have `;` in their heads.
                    Kind::Semicolon if what != "`for`" => break,
                    Kind::LeftBrace | Kind::RightBrace | Kind::End => break,
                    _ => {}
                }
                self.advance();
            }
        }
        read
    }

    /// The statement that a loop or condition governs.
    fn body(&mut self, what: &str) -> Parsed<Box<Statement>> {
        if matches!(self.kind(), Kind::RightBrace | Kind::End) {
            return Err(self.unexpected(&format!("a statement after {what}")));
        }
        Ok(Box::new(self.local_statement()?))
    }

    fn if_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let condition = self.head("`if`", Self::expression);
        if condition.is_err()
            && matches!(self.kind(), Kind::Semicolon | Kind::RightBrace | Kind::End)
        {
            return Err(Stop);
        }
        let then = self.body("`if (…)`")?;
        let otherwise = if self.accept(Kind::Else) { Some(self.body("`else`")?) } else { None };
        Ok(match condition {
            Ok(condition) => StatementKind::If { condition, then, otherwise },
            Err(Stop) => {
                StatementKind::Block(std::iter::once(*then).chain(otherwise.map(|o| *o)).collect())
            }
        })
    }

    fn while_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let condition = self.head("`while`", Self::expression);
        if condition.is_err()
            && matches!(self.kind(), Kind::Semicolon | Kind::RightBrace | Kind::End)
        {
            return Err(Stop);
        }
        let body = self.body("`while (…)`")?;
        Ok(match condition {
            Ok(condition) => StatementKind::While { condition, body },
            Err(Stop) => StatementKind::Block(vec![*body]),
        })
    }

    fn for_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let head = self.head("`for`", |p| {
            if p.kind().starts_type() && p.ahead(1).kind.is_name() {
                let message = "a loop's variable is declared without its type";
                let help = format!("write `for ({} in …)`", p.sources.text(p.ahead(1).span));
                return Err(p.error_with_help(p.span(), message, help));
            }
            let variable = p.new_name("a loop's variable")?;
            if p.kind() != Kind::In {
                let message =
                    format!("expected `in` after the loop's variable, found {}", p.found());
                let help = format!("write `for ({} in 1:N)`", variable.text);
                return Err(p.error_with_help(p.span(), message, help));
            }
            p.advance();
            let first = p.expression()?;
            let last = if p.accept(Kind::Colon) { Some(p.expression()?) } else { None };
            if matches!(p.kind(), Kind::Comma | Kind::Semicolon) {
                let message = format!("expected `)` after the loop's range, found {}", p.found());
                let help = format!("write `for ({} in 1:N)`", variable.text);
                return Err(p.error_with_help(p.span(), message, help));
            }
            Ok((variable, first, last))
        });
        if head.is_err() && matches!(self.kind(), Kind::Semicolon | Kind::RightBrace | Kind::End) {
            return Err(Stop);
        }
        let body = self.body("`for (…)`")?;
        Ok(match head {
            Ok((variable, lower, Some(upper))) => {
                StatementKind::For { variable, lower, upper, body }
            }
            Ok((variable, over, None)) => StatementKind::ForEach { variable, over, body },
            Err(Stop) => StatementKind::Block(vec![*body]),
        })
    }

    fn profile(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.head("`profile`", |p| {
            if p.kind() != Kind::Text {
                return Err(p.unexpected("a name in quotation marks"));
            }
            Ok(p.unquoted())
        })?;
        let opening = self.span();
        self.expect(Kind::LeftBrace, "after `profile(…)`")?;
        let body = self.statements(BlockName::Model, opening);
        Ok(StatementKind::Profile { name, body })
    }

    /// The text here, without its quotation marks.
    fn unquoted(&mut self) -> Arc<str> {
        let text = self.text();
        let text = text.strip_prefix('"').unwrap_or(text);
        let text = Arc::from(text.strip_suffix('"').unwrap_or(text));
        self.advance();
        text
    }

    fn printed(&mut self, word: &str) -> Parsed<Vec<PrintItem>> {
        self.advance();
        let opening = self.expect(Kind::LeftParen, &format!("after `{word}`"))?;
        if self.kind() == Kind::RightParen {
            let message = format!("`{word}` needs something to say");
            let help = format!("write `{word}(\"x is \", x);`");
            return Err(self.error_with_help(opening.to(self.span()), message, help));
        }
        let items = self.list(Kind::RightParen, |p| {
            if p.kind() == Kind::Text {
                return Ok(PrintItem::Text(p.unquoted()));
            }
            Ok(PrintItem::Value(p.expression()?))
        })?;
        self.close(Kind::RightParen, opening, &format!("`{word}`"))?;
        self.semicolon(&format!("`{word}`"))?;
        Ok(items)
    }
}

/// An expression as a place that can be assigned to.
fn lvalue(expr: &Expr) -> Option<LValue> {
    let kind = match &expr.kind {
        ExprKind::Tuple(items) => {
            LValueKind::Tuple(items.iter().map(lvalue).collect::<Option<_>>()?)
        }
        _ => return single_lvalue(expr),
    };
    Some(LValue { kind, span: expr.span })
}

/// The same, but for tuples of them.
fn single_lvalue(expr: &Expr) -> Option<LValue> {
    let kind = match &expr.kind {
        ExprKind::Name(name) => LValueKind::Variable(name.clone()),
        ExprKind::Index(base, indices) => {
            LValueKind::Index(Box::new(single_lvalue(base)?), indices.clone())
        }
        ExprKind::Field(base, slot) => LValueKind::Field(Box::new(single_lvalue(base)?), *slot),
        _ => return None,
    };
    Some(LValue { kind, span: expr.span })
}
