//! Expressions, by precedence climbing.
//!
//! Loosest to tightest: `?:`, `||`, `&&`, `== !=`, `< <= > >=`, `+ -`, `* / % .* ./`, `%/% \`, the
//! prefixes `! - +`, `^ .^` (from the right), and `'`. Indexing, tuple slots and calls belong to
//! what they follow; a transpose cannot be indexed without parentheses.

use std::sync::Arc;

use super::{MAX_HEIGHT, Parsed, Parser, Stop};
use crate::diagnostic::{Class, Diagnostic};
use crate::source::Span;
use crate::syntax::token::Kind;
use crate::syntax::tree::{BinaryOp, Expr, ExprKind, Index, UnaryOp};

/// An expression with the height of its tree.
struct Grown {
    expr: Expr,
    height: u32,
}

/// Where an expression stands: constraints have no logical operators, because `>` ends them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grammar {
    All,
    Constraint,
}

/// How tightly the prefixes' operands bind.
const POWER: u8 = 9;

/// An operator between expressions, and how tightly it binds.
fn binary_op(kind: Kind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        Kind::Or => (BinaryOp::Or, 1),
        Kind::And => (BinaryOp::And, 2),
        Kind::Equal => (BinaryOp::Equal, 3),
        Kind::NotEqual => (BinaryOp::NotEqual, 3),
        Kind::Less => (BinaryOp::Less, 4),
        Kind::LessEqual => (BinaryOp::LessEqual, 4),
        Kind::Greater => (BinaryOp::Greater, 4),
        Kind::GreaterEqual => (BinaryOp::GreaterEqual, 4),
        Kind::Plus => (BinaryOp::Add, 5),
        Kind::Minus => (BinaryOp::Subtract, 5),
        Kind::Times => (BinaryOp::Multiply, 6),
        Kind::Divide => (BinaryOp::Divide, 6),
        Kind::Modulo => (BinaryOp::Modulo, 6),
        Kind::ElementTimes => (BinaryOp::ElementMultiply, 6),
        Kind::ElementDivide => (BinaryOp::ElementDivide, 6),
        Kind::IntDivide => (BinaryOp::IntDivide, 7),
        Kind::LeftDivide => (BinaryOp::LeftDivide, 7),
        Kind::Power => (BinaryOp::Power, POWER),
        Kind::ElementPower => (BinaryOp::ElementPower, POWER),
        _ => return None,
    })
}

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        Ok(self.conditional()?.expr)
    }

    /// An expression in a constraint.
    pub(super) fn bound_expression(&mut self) -> Parsed<Expr> {
        Ok(self.nested(|p| p.binary(5, Grammar::Constraint))?.expr)
    }

    /// What can be assigned to, among others: no operators outside brackets.
    pub(super) fn common_expression(&mut self) -> Parsed<Expr> {
        Ok(self.common()?.expr)
    }

    fn conditional(&mut self) -> Parsed<Grown> {
        self.nested(|p| {
            let condition = p.binary(0, Grammar::All)?;
            let question = p.span();
            if !p.accept(Kind::Question) {
                return Ok(condition);
            }
            let yes = p.conditional()?;
            if p.kind() != Kind::Colon {
                let message =
                    format!("expected `:` and the other value of `?`, found {}", p.found());
                p.report(
                    Diagnostic::error(Class::Syntax, p.span(), message)
                        .label(question, "of this `?`"),
                );
                return Err(Stop);
            }
            p.advance();
            let no = p.conditional()?;
            let height = condition.height.max(yes.height).max(no.height);
            let span = condition.expr.span.to(no.expr.span);
            let parts = (Box::new(condition.expr), Box::new(yes.expr), Box::new(no.expr));
            p.grow(height, ExprKind::Conditional(parts.0, parts.1, parts.2), span)
        })
    }

    fn binary(&mut self, least: u8, grammar: Grammar) -> Parsed<Grown> {
        let mut left = self.prefix(grammar)?;
        while let Some((op, level)) = binary_op(self.kind()) {
            if level < least || (grammar == Grammar::Constraint && level < 5) {
                break;
            }
            self.advance();
            let next = if level == POWER { POWER } else { level + 1 };
            let right = self.nested(|p| p.binary(next, grammar))?;
            let span = left.expr.span.to(right.expr.span);
            let height = left.height.max(right.height);
            let kind = ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr));
            left = self.grow(height, kind, span)?;
        }
        Ok(left)
    }

    fn prefix(&mut self, grammar: Grammar) -> Parsed<Grown> {
        let start = self.span();
        let op = match self.kind() {
            Kind::Bang => UnaryOp::Not,
            Kind::Minus => UnaryOp::Minus,
            Kind::Plus => UnaryOp::Plus,
            _ => return self.postfix(),
        };
        self.advance();
        let operand = self.nested(|p| p.binary(POWER, grammar))?;
        let span = start.to(operand.expr.span);
        self.grow(operand.height, ExprKind::Unary(op, Box::new(operand.expr)), span)
    }

    fn postfix(&mut self) -> Parsed<Grown> {
        let mut grown = self.common()?;
        while self.kind() == Kind::Transpose {
            self.advance();
            let span = self.since(grown.expr.span);
            grown = self.grow(grown.height, ExprKind::Transpose(Box::new(grown.expr)), span)?;
            if self.kind() == Kind::LeftBracket {
                let help = "write `(x')[1]`";
                return Err(self.error_with_help(
                    self.span(),
                    "a transpose is indexed in parentheses",
                    help,
                ));
            }
        }
        Ok(grown)
    }

    /// A name, number, call, literal or parenthesis, with indices and tuple slots.
    fn common(&mut self) -> Parsed<Grown> {
        let start = self.span();
        let mut grown = self.primary()?;
        loop {
            match self.kind() {
                Kind::LeftBracket => {
                    let opening = self.advance().span;
                    let mut height = grown.height;
                    let mut indices = Vec::new();
                    loop {
                        indices.push(self.index(&mut height)?);
                        if !self.accept(Kind::Comma) {
                            break;
                        }
                    }
                    self.close(Kind::RightBracket, opening, "the indices")?;
                    let kind = ExprKind::Index(Box::new(grown.expr), indices);
                    grown = self.grow(height, kind, self.since(start))?;
                }
                Kind::DotNumber => {
                    let slot = self.slot()?;
                    let kind = ExprKind::Field(Box::new(grown.expr), slot);
                    grown = self.grow(grown.height, kind, self.since(start))?;
                }
                _ => return Ok(grown),
            }
        }
    }

    /// A tuple's slot: `.2`.
    fn slot(&mut self) -> Parsed<usize> {
        let digits = self.text()[1..].replace('_', "");
        let Ok(slot) = digits.parse() else {
            let message = format!("`{}` is too large for a tuple's slot", self.text());
            return Err(self.error(self.span(), message));
        };
        self.advance();
        Ok(slot)
    }

    fn index(&mut self, height: &mut u32) -> Parsed<Index> {
        if matches!(self.kind(), Kind::Comma | Kind::RightBracket) {
            return Ok(Index::Range(None, None));
        }
        let lower = if self.kind() == Kind::Colon { None } else { Some(self.tall(height)?) };
        if !self.accept(Kind::Colon) {
            return match lower {
                Some(expr) => Ok(Index::Expr(expr)),
                None => Ok(Index::Range(None, None)),
            };
        }
        let ends = matches!(self.kind(), Kind::Comma | Kind::RightBracket);
        let upper = if ends { None } else { Some(self.tall(height)?) };
        Ok(Index::Range(lower, upper))
    }

    /// An expression inside another, whose height it raises.
    fn tall(&mut self, height: &mut u32) -> Parsed<Expr> {
        let grown = self.conditional()?;
        *height = grown.height.max(*height);
        Ok(grown.expr)
    }

    fn primary(&mut self) -> Parsed<Grown> {
        let start = self.span();
        let text = |p: &Self| Arc::<str>::from(p.text());
        let mut height = 0;
        let kind = match self.kind() {
            Kind::Integer => ExprKind::Int(text(self)),
            Kind::Real | Kind::DotNumber => ExprKind::Real(text(self)),
            Kind::Imaginary => ExprKind::Imaginary(Arc::from(self.text().trim_end_matches('i'))),
            Kind::LeftBrace => {
                self.advance();
                if self.kind() == Kind::RightBrace {
                    let message = "an array in braces needs at least one element";
                    self.advance();
                    return Err(self.error_with_help(
                        start,
                        message,
                        "`rep_array(0.0, 0)` is an empty one",
                    ));
                }
                let items = self.list(Kind::RightBrace, |p| p.tall(&mut height));
                let closed = items.and_then(|items| {
                    self.close(Kind::RightBrace, start, "the array")?;
                    Ok(items)
                });
                let Ok(items) = closed else {
                    self.skip_array();
                    return Err(Stop);
                };
                return self.grow(height, ExprKind::Array(items), self.since(start));
            }
            Kind::LeftBracket => {
                self.advance();
                let items = self.list(Kind::RightBracket, |p| p.tall(&mut height))?;
                self.close(Kind::RightBracket, start, "the row vector")?;
                return self.grow(height, ExprKind::RowVector(items), self.since(start));
            }
            Kind::LeftParen => {
                self.advance();
                let first = self.tall(&mut height)?;
                let kind = if self.accept(Kind::Comma) {
                    let mut items = vec![first];
                    items.extend(self.list(Kind::RightParen, |p| p.tall(&mut height))?);
                    self.close(Kind::RightParen, start, "the tuple")?;
                    ExprKind::Tuple(items)
                } else {
                    self.close(Kind::RightParen, start, "the parenthesis")?;
                    ExprKind::Parenthesised(Box::new(first))
                };
                return self.grow(height, kind, self.since(start));
            }
            Kind::Target => {
                self.advance();
                if self.kind() != Kind::LeftParen {
                    let help = "`target()` is its value, `target += e;` adds to it";
                    return Err(self.error_with_help(start, "`target` is no variable", help));
                }
                let opening = self.advance().span;
                self.close(Kind::RightParen, opening, "`target()`, which has no arguments")?;
                return self.grow(0, ExprKind::Target, self.since(start));
            }
            kind if kind.is_name() => return self.name_or_call(),
            _ => return Err(self.no_expression()),
        };
        self.advance();
        self.grow(height, kind, start)
    }

    /// Skips past the `}` of an array in braces, so that it ends no block.
    fn skip_array(&mut self) {
        let mut open = 1_usize;
        while open > 0 && !matches!(self.kind(), Kind::Semicolon | Kind::End) && !self.at_block() {
            match self.advance().kind {
                Kind::LeftBrace => open += 1,
                Kind::RightBrace => open -= 1,
                _ => {}
            }
        }
    }

    /// Something that starts no expression stands where one must.
    fn no_expression(&mut self) -> Stop {
        let help = match self.kind() {
            Kind::Text => {
                Some("texts stand in `print`, `reject`, `fatal_error` and `profile` only")
            }
            Kind::Base(_) | Kind::Array | Kind::TupleType => {
                Some("a type stands at the start of a declaration only")
            }
            Kind::Assign => Some("comparison is written `==`"),
            Kind::Transpose => Some(
                "texts stand between double quotation marks `\"`; `'` after a matrix transposes it",
            ),
            Kind::Print | Kind::Reject | Kind::FatalError => {
                Some("it is a statement of its own and has no value")
            }
            Kind::Times if self.last_kind() == Kind::Times => Some("a power is written `^`"),
            Kind::Greater if self.last_kind() == Kind::Less => Some("inequality is written `!=`"),
            Kind::Semicolon if self.last_kind() == Kind::Plus => {
                Some("`x += 1;` adds to a variable")
            }
            Kind::Semicolon if self.last_kind() == Kind::Minus => {
                Some("`x -= 1;` subtracts from a variable")
            }
            _ => None,
        };
        let message = format!("expected an expression, found {}", self.found());
        let mut diagnostic = Diagnostic::error(Class::Syntax, self.span(), message);
        diagnostic.help = help.map(str::to_owned);
        self.report(diagnostic);
        Stop
    }

    fn last_kind(&self) -> Kind {
        self.tokens[self.position.saturating_sub(1)].kind
    }

    fn name_or_call(&mut self) -> Parsed<Grown> {
        let function = self.take_name();
        let start = function.span;
        let opening = self.span();
        if !self.accept(Kind::LeftParen) {
            return self.grow(0, ExprKind::Name(function), start);
        }
        let mut height = 0;
        if self.accept(Kind::RightParen) {
            let kind = ExprKind::Call { function, args: Vec::new(), bar: false };
            return self.grow(0, kind, self.since(start));
        }
        let mut args = vec![self.tall(&mut height)?];
        let bar = self.accept(Kind::Bar);
        if bar {
            args.extend(self.list(Kind::RightParen, |p| p.tall(&mut height))?);
        } else if self.kind() == Kind::Comma {
            let comma = self.advance().span;
            if self.kind() == Kind::RightParen {
                return Err(self.error(comma, "nothing stands between this `,` and `)`"));
            }
            args.extend(self.list(Kind::RightParen, |p| p.tall(&mut height))?);
        }
        if self.kind() == Kind::Bar {
            let help = "`|` follows the first argument: `normal_lpdf(y | mu, sigma)`";
            return Err(self.error_with_help(
                self.span(),
                "this `|` stands in the wrong place",
                help,
            ));
        }
        self.close(Kind::RightParen, opening, "the arguments")?;
        self.grow(height, ExprKind::Call { function, args, bar }, self.since(start))
    }

    /// A node above one of a given height.
    fn grow(&mut self, below: u32, kind: ExprKind, span: Span) -> Parsed<Grown> {
        let height = below + 1;
        if height > MAX_HEIGHT {
            let message = format!("an expression of more than {MAX_HEIGHT} operations in a row");
            let help = "compute parts of it in variables of their own, or with `sum`";
            self.report(Diagnostic::error(Class::Limit, span, message).help(help));
            self.give_up();
            return Err(Stop);
        }
        Ok(Grown { expr: Expr { kind, span }, height })
    }
}
