//! Blocks and functions.

use super::{Parsed, Parser, Stop};
use crate::diagnostic::{Class, Diagnostic};
use crate::source::Span;
use crate::syntax::token::{BlockName, Kind};
use crate::syntax::tree::{Argument, Block, Program, Statement, StatementKind};

/// All blocks, as messages list them.
const BLOCKS: &str = "a program consists of the blocks `functions`, `data`, `transformed data`, `parameters`, `transformed parameters`, `model` and `generated quantities`, in this order";

impl Parser<'_> {
    /// A whole program.
    pub(super) fn program(&mut self) -> Program {
        let mut program = Program::default();
        let mut last: Option<(BlockName, Span)> = None;
        while self.kind() != Kind::End {
            let start = self.span();
            let Kind::Block(name) = self.kind() else {
                self.no_block();
                continue;
            };
            self.advance();
            let keyword = start;
            if let Some((earlier, place)) = last.filter(|(earlier, _)| *earlier >= name) {
                self.misplaced_block(name, keyword, earlier, place);
            }
            let Ok(block) = self.block(name, keyword) else { continue };
            let slot = match name {
                BlockName::Functions => &mut program.functions,
                BlockName::Data => &mut program.data,
                BlockName::TransformedData => &mut program.transformed_data,
                BlockName::Parameters => &mut program.parameters,
                BlockName::TransformedParameters => &mut program.transformed_parameters,
                BlockName::Model => &mut program.model,
                BlockName::GeneratedQuantities => &mut program.generated_quantities,
            };
            if slot.is_none() {
                *slot = Some(block);
            }
            last = Some(
                last.map_or((name, keyword), |l| if l.0 > name { l } else { (name, keyword) }),
            );
        }
        program
    }

    /// A file of functions without a block around them.
    pub(super) fn bare_functions(&mut self) -> Program {
        let start = self.span();
        let mut statements = Vec::new();
        while self.kind() != Kind::End {
            self.one_statement(BlockName::Functions, &mut statements);
            if self.kind() == Kind::RightBrace {
                self.error(self.span(), "this `}` closes nothing");
                self.advance();
            } else if self.at_block() {
                self.error(self.span(), "a file of functions has no blocks");
                self.advance();
                self.skip_statement();
            }
        }
        let block = Block { statements, span: self.since(start) };
        Program { functions: Some(block), ..Program::default() }
    }

    /// Reports what stands where a block must, and skips to the next block.
    fn no_block(&mut self) {
        if self.kind() == Kind::RightBrace {
            self.error_with_help(
                self.span(),
                "this `}` closes nothing",
                "is there a `}` too many before it?",
            );
        } else if self.kind() == Kind::Semicolon && self.position > 0 {
            self.error_with_help(
                self.span(),
                "a `;` stands between blocks",
                "no `;` stands after a block's `}`",
            );
        } else if self.text() == "transformed" {
            let help = "the two words stand on one line: `transformed data {`";
            self.error_with_help(
                self.span(),
                "expected `transformed data` or `transformed parameters`",
                help,
            );
        } else if self.text() == "generated" {
            let help = "the two words stand on one line: `generated quantities {`";
            self.error_with_help(self.span(), "expected `generated quantities`", help);
        } else {
            let message = format!("expected a block such as `data {{`, found {}", self.found());
            self.error_with_help(self.span(), message, BLOCKS);
        }
        self.advance();
        while self.kind() != Kind::End && !self.at_block() {
            self.advance();
        }
    }

    fn misplaced_block(&mut self, name: BlockName, span: Span, earlier: BlockName, place: Span) {
        let (message, label) = if name == earlier {
            (format!("the block `{}` stands twice", name.text()), "first here".to_owned())
        } else {
            let label = format!("`{}` stands here", earlier.text());
            (format!("the block `{}` comes before `{}`", name.text(), earlier.text()), label)
        };
        self.report(
            Diagnostic::error(Class::Syntax, span, message).label(place, label).help(BLOCKS),
        );
    }

    /// A block after its keyword.
    fn block(&mut self, name: BlockName, keyword: Span) -> Parsed<Block> {
        let opening = self.span();
        if !self.accept(Kind::LeftBrace) {
            let stop = self.unexpected(&format!("`{{` after `{}`", name.text()));
            while self.kind() != Kind::End && !self.at_block() {
                self.advance();
            }
            return Err(stop);
        }
        let statements = self.statements(name, opening);
        Ok(Block { statements, span: self.since(keyword) })
    }

    /// Statements up to and with the closing brace.
    pub(super) fn statements(&mut self, block: BlockName, opening: Span) -> Vec<Statement> {
        let mut statements = Vec::new();
        loop {
            if self.accept(Kind::RightBrace) || self.gave_up() {
                return statements;
            }
            if self.kind() == Kind::End || self.at_block() {
                let message = format!("expected `}}`, found {}", self.found());
                let diagnostic = Diagnostic::error(Class::Syntax, self.span(), message);
                self.report(diagnostic.label(opening, "this `{` has no `}`"));
                return statements;
            }
            self.one_statement(block, &mut statements);
        }
    }

    /// One statement of a list, or what is skipped after a mistake.
    pub(super) fn one_statement(&mut self, block: BlockName, statements: &mut Vec<Statement>) {
        let before = self.position;
        let read = match block {
            BlockName::Functions => self.function(),
            BlockName::Data | BlockName::Parameters => self.plain_declaration(block),
            _ => self.statement(block),
        };
        match read {
            Ok(statement) => statements.push(statement),
            Err(Stop) => {
                let stuck = self.position == before;
                self.skip_statement();
                if stuck
                    && self.position == before
                    && self.kind() != Kind::RightBrace
                    && !self.at_block()
                {
                    self.advance();
                }
            }
        }
    }

    /// What stands in `data` and `parameters`: declarations without values.
    fn plain_declaration(&mut self, block: BlockName) -> Parsed<Statement> {
        let start = self.span();
        if self.accept(Kind::Semicolon) {
            return Ok(Statement { kind: StatementKind::Empty, span: start });
        }
        if self.kind().starts_type() {
            return self.declaration(Some(block));
        }
        if self.kind().is_name() && (self.ahead(1).kind.is_name() || self.looks_constrained()) {
            return Err(self.unknown_type());
        }
        let message = format!("expected a declaration, found {}", self.found());
        let help =
            format!("the block `{}` holds declarations only, such as `real x;`", block.text());
        Err(self.error_with_help(self.span(), message, help))
    }

    /// A function's definition, or its declaration ahead of it.
    fn function(&mut self) -> Parsed<Statement> {
        let start = self.span();
        if !(self.kind() == Kind::Void || self.kind().starts_type()) {
            if self.kind().is_name() && self.ahead(1).kind.is_name() {
                return Err(self.unknown_type());
            }
            let message = format!("expected a function, found {}", self.found());
            let help = if self.kind().is_name() && self.ahead(1).kind == Kind::LeftParen {
                "a function starts with the type that it returns, or `void`: `real f(real x) { return x; }`"
            } else {
                "the block `functions` holds functions only, such as `real f(real x) { return x; }`"
            };
            return Err(self.error_with_help(self.span(), message, help));
        }
        let returns = if self.accept(Kind::Void) { None } else { Some(self.unsized_type()?) };
        let name = self.new_name("a function")?;
        if self.kind() != Kind::LeftParen {
            let message = format!("expected `(` after the function's name, found {}", self.found());
            let help = "the block `functions` holds functions only; variables are declared in the other blocks";
            return Err(self.error_with_help(self.span(), message, help));
        }
        let opening = self.advance().span;
        let arguments = self.list(Kind::RightParen, Self::argument)?;
        self.close(Kind::RightParen, opening, "the arguments")?;
        let body_start = self.span();
        let body = if self.accept(Kind::Semicolon) {
            None
        } else if self.accept(Kind::LeftBrace) {
            let statements = self.nested(|p| Ok(p.statements(BlockName::Model, body_start)))?;
            let span = self.since(body_start);
            Some(Box::new(Statement { kind: StatementKind::Block(statements), span }))
        } else {
            let message = format!("expected the function's body, found {}", self.found());
            let help = "the body stands in braces: `real f(real x) { return x; }`";
            return Err(self.error_with_help(body_start, message, help));
        };
        let kind = StatementKind::Function { returns, name, arguments, body };
        Ok(Statement { kind, span: self.since(start) })
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let data_only = self.accept(Kind::Block(BlockName::Data));
        if !self.kind().starts_type() {
            let message = format!("expected an argument's type, found {}", self.found());
            let help = "each argument has a type and a name: `real f(real x, vector y)`";
            return Err(self.error_with_help(self.span(), message, help));
        }
        let ty = self.unsized_type()?;
        let name = self.new_name("an argument")?;
        if self.kind() == Kind::LeftBracket {
            let help = format!("write `array[] real {}`", name.text);
            return Err(self.error_with_help(
                self.span(),
                "an array's brackets stand before its type",
                help,
            ));
        }
        Ok(Argument { data_only, ty, name })
    }
}
