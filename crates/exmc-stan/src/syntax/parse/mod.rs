//! Tokens -> syntax tree: what all parts of the parser share.
//!
//! Recursive descent, with precedence climbing for operators. A function that meets a mistake
//! reports it once and returns [`Stop`]; whoever reads a list of statements catches that, skips to
//! the next place where a statement can start, and goes on.

mod expression;
mod program;
mod statement;
mod types;

use std::sync::Arc;

use super::MAX_REPORTS;
use super::include::Resolver;
use super::lex::{Lexed, lex};
use super::token::{Kind, Token};
use super::tree::{Name, Program};
use crate::diagnostic::{Class, Diagnostic};
use crate::source::{Sources, Span};

/// Deepest nesting of brackets, statements and types: what the stack bears with room to spare, far
/// above any program.
pub const MAX_NESTING: usize = 256;
/// Tallest expression, counting operators in a row as well: later stages walk trees by recursion.
pub const MAX_HEIGHT: u32 = 1000;

/// A mistake that has been reported.
#[derive(Clone, Copy, Debug)]
struct Stop;

type Parsed<T> = Result<T, Stop>;

/// Reads the program in file 0 of `sources`, and the files that it includes, which are added to
/// `sources`.
///
/// The tree lacks what could not be read; without errors among the diagnostics it is whole. A file
/// whose name ends in `.stanfunctions` holds functions without a block around them.
pub fn parse(sources: &mut Sources, resolver: &mut dyn Resolver) -> (Program, Vec<Diagnostic>) {
    let Lexed { tokens, comments, diagnostics: unread } = lex(sources, resolver);
    let mut parser = Parser { sources, tokens, position: 0, depth: 0, diagnostics: Vec::new() };
    let bare = parser.sources.files().first().is_some_and(|f| f.name.ends_with(".stanfunctions"));
    let mut program = if bare { parser.bare_functions() } else { parser.program() };
    program.comments = comments;
    let mut diagnostics = parser.diagnostics;
    let end = parser.tokens.last().map(|end| end.span);
    diagnostics.retain(|d| !unread.iter().any(|u| follows(d, u, end, sources)));
    diagnostics.extend(unread);
    diagnostics.sort_by_key(|d| (d.span.file, d.span.start));
    diagnostics
        .dedup_by(|later, earlier| later.span == earlier.span && later.message == earlier.message);
    (program, diagnostics)
}

/// Whether a mistake of the parser's only follows from characters that could not be read: it comes
/// after them on the same line, or at the end of a program whose last comment or text has no end.
fn follows(
    diagnostic: &Diagnostic,
    unread: &Diagnostic,
    end: Option<Span>,
    sources: &Sources,
) -> bool {
    let (later, earlier) = (diagnostic.span, unread.span);
    let line = |span: Span| sources.file(span).place(span.start).line;
    let same_line =
        later.file == earlier.file && later.start >= earlier.start && line(later) == line(earlier);
    diagnostic.class == Class::Syntax && (same_line || Some(later) == end)
}

struct Parser<'a> {
    sources: &'a Sources,
    tokens: Vec<Token>,
    position: usize,
    /// Levels of nesting that are open.
    depth: usize,
    diagnostics: Vec<Diagnostic>,
}

impl Parser<'_> {
    /// The token that is `ahead` places on; the end, past the end.
    fn ahead(&self, ahead: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[(self.position + ahead).min(last)]
    }

    fn kind(&self) -> Kind {
        self.ahead(0).kind
    }

    fn span(&self) -> Span {
        self.ahead(0).span
    }

    /// The place of the token before; the first token's, at the start.
    fn last_span(&self) -> Span {
        self.tokens[self.position.saturating_sub(1)].span
    }

    fn text(&self) -> &str {
        self.sources.text(self.span())
    }

    fn advance(&mut self) -> Token {
        let token = self.ahead(0);
        if token.kind != Kind::End {
            self.position += 1;
        }
        token
    }

    fn accept(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.advance();
        }
        found
    }

    /// From a token's start to the end of the last one read.
    fn since(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    /// Reports a mistake.
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
        if self.diagnostics.len() == MAX_REPORTS {
            let message = format!("{MAX_REPORTS} mistakes; the rest of the program was not read");
            self.diagnostics.push(Diagnostic::error(Class::Limit, self.span(), message));
            self.give_up();
        }
    }

    /// Moves to the end, so that everything ends.
    fn give_up(&mut self) {
        self.position = self.tokens.len() - 1;
    }

    /// Whether the parser moved to the end after too many mistakes, or a limit.
    fn gave_up(&self) -> bool {
        self.kind() == Kind::End && self.diagnostics.iter().any(|d| d.class == Class::Limit)
    }

    fn error(&mut self, span: Span, message: impl Into<String>) -> Stop {
        self.report(Diagnostic::error(Class::Syntax, span, message));
        Stop
    }

    fn error_with_help(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Stop {
        self.report(Diagnostic::error(Class::Syntax, span, message).help(help));
        Stop
    }

    /// The token here is not what must stand here.
    fn unexpected(&mut self, expected: &str) -> Stop {
        let message = format!("expected {expected}, found {}", self.found());
        self.error(self.span(), message)
    }

    /// The token here, as messages name it.
    fn found(&self) -> String {
        match self.kind() {
            Kind::End => "the end of the program".to_owned(),
            Kind::Text => "a text in quotation marks".to_owned(),
            kind if kind.is_reserved() => format!("the keyword `{}`", self.text()),
            _ => format!("`{}`", self.text()),
        }
    }

    /// Reads a mark that must stand here; `after` says where "here" is.
    fn expect(&mut self, kind: Kind, after: &str) -> Parsed<Span> {
        if self.kind() == kind {
            return Ok(self.advance().span);
        }
        let spelling = kind.spelling().unwrap_or("this word");
        Err(self.unexpected(&format!("`{spelling}` {after}")))
    }

    /// Reads a mark that closes one that was opened.
    fn close(&mut self, kind: Kind, opening: Span, what: &str) -> Parsed<Span> {
        if self.kind() == kind {
            return Ok(self.advance().span);
        }
        let spelling = kind.spelling().unwrap_or("this word");
        let message = format!("expected `{spelling}` to end {what}, found {}", self.found());
        let mut diagnostic = Diagnostic::error(Class::Syntax, self.span(), message);
        if self.kind() == Kind::Assign && kind == Kind::RightParen {
            diagnostic = diagnostic.help("comparison is written `==`; arguments have no names");
        }
        self.report(diagnostic.label(opening, "opened here"));
        Err(Stop)
    }

    /// Reads the semicolon after a statement. If it is missing at the end of a line, that is
    /// reported and what follows is read as if it stood there.
    fn semicolon(&mut self, after: &str) -> Parsed<()> {
        if self.accept(Kind::Semicolon) {
            return Ok(());
        }
        let last = self.last_span();
        let here = self.span();
        let line = |span: Span, offset: u32| self.sources.file(span).place(offset).line;
        let next_line = last.file != here.file || line(last, last.end) < line(here, here.start);
        if self.kind() == Kind::RightBrace || self.kind() == Kind::End || next_line {
            let end = Span { start: last.end.saturating_sub(1).max(last.start), ..last };
            self.error_with_help(
                end,
                format!("`;` is missing after {after}"),
                "every statement ends with `;`",
            );
            return Ok(());
        }
        let help = match (self.kind(), self.text()) {
            (_, "and") => "`and` is written `&&`",
            (_, "or") | (Kind::Bar, _) => "`or` is written `||`",
            (Kind::Colon, _) => "ranges stand in brackets and in `for (n in 1:N)` only",
            (Kind::RightParen, _) => "is there a `)` too many?",
            (Kind::RightBracket, _) => "is there a `]` too many?",
            _ => return Err(self.unexpected(&format!("`;` after {after}"))),
        };
        let message = format!("expected `;` after {after}, found {}", self.found());
        Err(self.error_with_help(here, message, help))
    }

    /// Reads one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_NESTING {
            let message = format!("nested more than {MAX_NESTING} levels deep");
            self.report(Diagnostic::error(Class::Limit, self.span(), message));
            self.give_up();
            return Err(Stop);
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Items with commas between them, up to a closing mark that is left to the caller.
    fn list<T>(
        &mut self,
        end: Kind,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.kind() == end {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            let comma = self.span();
            if !self.accept(Kind::Comma) {
                return Ok(items);
            }
            if self.kind() == end {
                let spelling = end.spelling().unwrap_or("the end");
                return Err(
                    self.error(comma, format!("nothing stands between this `,` and `{spelling}`"))
                );
            }
        }
    }

    /// A name that is used.
    fn name(&mut self, expected: &str) -> Parsed<Name> {
        if self.kind().is_name() {
            return Ok(self.take_name());
        }
        if self.kind().is_reserved() {
            let message = format!("`{}` is a keyword; expected {expected}", self.text());
            return Err(self.error(self.span(), message));
        }
        Err(self.unexpected(expected))
    }

    /// A new name, that something declares.
    fn new_name(&mut self, what: &str) -> Parsed<Name> {
        if self.kind().is_reserved() {
            let message = format!("`{}` is a keyword and cannot name {what}", self.text());
            return Err(self.error_with_help(self.span(), message, "choose another name"));
        }
        if matches!(self.kind(), Kind::Integer | Kind::Real | Kind::Imaginary) {
            let message = format!("expected a name for {what}, found `{}`", self.text());
            return Err(self.error_with_help(self.span(), message, "names start with a letter"));
        }
        self.name(&format!("a name for {what}"))
    }

    fn take_name(&mut self) -> Name {
        let text = Arc::from(self.text());
        Name { text, span: self.advance().span }
    }

    /// Skips to where the next statement can start: past a `;` or a whole `{…}`, or before the `}`
    /// that ends the statements around, or before a block's keyword.
    fn skip_statement(&mut self) {
        let mut open = 0_usize;
        loop {
            match self.kind() {
                Kind::End => return,
                Kind::Semicolon if open == 0 => {
                    self.advance();
                    return;
                }
                Kind::LeftBrace if !self.at_block() => open += 1,
                Kind::RightBrace => {
                    if open == 0 {
                        return;
                    }
                    open -= 1;
                    // `}` may end an array in an expression, or a body; after a body comes a new
                    // statement.
                    if open == 0 && !self.goes_on_after_brace() {
                        self.advance();
                        return;
                    }
                }
                _ if self.at_block() => return,
                _ => {}
            }
            self.advance();
        }
    }

    /// Whether what follows a `}` belongs to the same statement: it closed an array.
    fn goes_on_after_brace(&self) -> bool {
        matches!(
            self.ahead(1).kind,
            Kind::Comma
                | Kind::Semicolon
                | Kind::RightParen
                | Kind::RightBracket
                | Kind::Transpose
                | Kind::Tilde
        )
    }

    /// Whether a block starts here: its keyword, then `{`.
    fn at_block(&self) -> bool {
        matches!(self.kind(), Kind::Block(_)) && self.ahead(1).kind == Kind::LeftBrace
    }
}
