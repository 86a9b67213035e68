//! Types and declarations.

use super::{Parsed, Parser, Stop};
use crate::source::Span;
use crate::syntax::token::{BlockName, Kind};
use crate::syntax::tree::{
    Base, Bounds, DeclaredKind, DeclaredType, Expr, Statement, StatementKind, UnsizedType,
};

/// Types of variables, as messages list them.
const TYPES: &str = "the types are int, real, complex, vector, row_vector, matrix, complex_vector, complex_row_vector, complex_matrix, simplex, unit_vector, ordered, positive_ordered, sum_to_zero_vector, sum_to_zero_matrix, cholesky_factor_corr, cholesky_factor_cov, corr_matrix, cov_matrix, row_stochastic_matrix, column_stochastic_matrix, array[...] and tuple(...)";

impl Parser<'_> {
    /// A name stands where a type must.
    pub(super) fn unknown_type(&mut self) -> Stop {
        let name = self.text().to_owned();
        let lower = name.to_lowercase();
        let meant = match lower.as_str() {
            "float" | "double" | "number" | "numeric" | "float64" | "scalar" => Some("real"),
            "bool" | "boolean" | "integer" | "long" | "short" | "char" => Some("int"),
            "rowvector" | "row" => Some("row_vector"),
            "vec" => Some("vector"),
            "mat" => Some("matrix"),
            "sum_to_zero" => Some("sum_to_zero_vector"),
            "cholesky_factor" => Some("cholesky_factor_cov"),
            "covariance_matrix" => Some("cov_matrix"),
            "correlation_matrix" => Some("corr_matrix"),
            _ => Base::from_keyword(&lower).map(Base::keyword),
        };
        let help = match (meant, lower.as_str()) {
            (Some(meant), _) => format!("the type is called `{meant}`"),
            (None, "string" | "str" | "text") => {
                "there are no variables that hold texts".to_owned()
            }
            (None, "list") => "there are `array[N] real x;` and `tuple(real, int) x;`".to_owned(),
            (None, "then") => "`if (condition) statement` has no `then`".to_owned(),
            (None, "elif" | "elseif" | "elsif") => "write `else if (condition)`".to_owned(),
            (None, "var" | "let" | "const" | "auto") => {
                "a declaration starts with its type: `real x = 1;`".to_owned()
            }
            _ => TYPES.to_owned(),
        };
        self.error_with_help(self.span(), format!("`{name}` is no type"), help)
    }

    /// Declares variables. `block` is the block whose own variables these are, `None` for local
    /// ones.
    pub(super) fn declaration(&mut self, block: Option<BlockName>) -> Parsed<Statement> {
        let start = self.span();
        let ty = self.declared_type(block.is_some(), true)?;
        let valueless = block.filter(|b| matches!(b, BlockName::Data | BlockName::Parameters));
        let mut variables = Vec::new();
        loop {
            if !variables.is_empty() && self.kind().starts_type() {
                let message =
                    format!("expected another variable's name, found the type `{}`", self.text());
                let help =
                    "variables in one declaration have one type; start a new declaration after `;`";
                return Err(self.error_with_help(self.span(), message, help));
            }
            let name = self.new_name("a variable")?;
            match self.kind() {
                Kind::LeftParen => {
                    let help = "functions are defined in the block `functions`";
                    let message = "a function cannot be defined here";
                    return Err(self.error_with_help(name.span, message, help));
                }
                Kind::LeftBracket => return Err(self.old_array(start, &name.text)),
                Kind::Greater => {
                    let message = "the `>` before this name ended the constraint";
                    return Err(self.error_with_help(
                        name.span,
                        message,
                        "write `<lower=(a > b)>`",
                    ));
                }
                _ => {}
            }
            let equals = self.span();
            let value = if self.accept(Kind::Assign) { Some(self.expression()?) } else { None };
            if let (Some(block), Some(value)) = (valueless, &value) {
                let message =
                    format!("a variable of the block `{}` cannot be given a value", block.text());
                let help = if block == BlockName::Data {
                    "data are read; what is computed from them belongs in `transformed data`"
                } else {
                    "parameters are sampled; what is computed from them belongs in `transformed parameters`"
                };
                self.error_with_help(equals.to(value.span), message, help);
            }
            variables.push((name, value));
            if !self.accept(Kind::Comma) {
                break;
            }
        }
        self.semicolon("the declaration")?;
        Ok(Statement { kind: StatementKind::Declare { ty, variables }, span: self.since(start) })
    }

    /// `real x[N]`: reports it with the new form.
    fn old_array(&mut self, start: Span, name: &str) -> Stop {
        let opening = self.span();
        let ty = self.sources.text(self.since(start)).to_owned();
        let ty = ty.strip_suffix(name).map_or(ty.as_str(), str::trim_end).to_owned();
        self.advance();
        let sizes_start = self.span();
        let mut open = 1;
        while open > 0
            && !matches!(
                self.kind(),
                Kind::Semicolon | Kind::LeftBrace | Kind::RightBrace | Kind::End
            )
        {
            match self.advance().kind {
                Kind::LeftBracket => open += 1,
                Kind::RightBracket => open -= 1,
                _ => {}
            }
        }
        let brackets_span = self.since(opening);
        let sizes =
            Span { end: brackets_span.end.saturating_sub(u32::from(open == 0)), ..sizes_start };
        let sizes = self.sources.text(sizes).to_owned();
        let help = format!("write `array[{sizes}] {ty} {name};`");
        self.error_with_help(brackets_span, "an array's sizes stand before its type", help)
    }

    /// A type with sizes, and with constraints where they may stand.
    fn declared_type(&mut self, constraints: bool, arrays: bool) -> Parsed<DeclaredType> {
        let start = self.span();
        let kind = match self.kind() {
            Kind::Array if arrays => {
                self.advance();
                if self.kind() != Kind::LeftBracket {
                    let message =
                        format!("expected the array's sizes after `array`, found {}", self.found());
                    return Err(self.error_with_help(
                        self.span(),
                        message,
                        "write `array[N] real x;`",
                    ));
                }
                let opening = self.advance().span;
                if matches!(self.kind(), Kind::RightBracket | Kind::Comma) {
                    let message = "an array that is declared needs its sizes";
                    return Err(self.error_with_help(
                        self.span(),
                        message,
                        "write `array[3] real x;`",
                    ));
                }
                let sizes = self.list(Kind::RightBracket, Self::expression)?;
                self.close(Kind::RightBracket, opening, "the array's sizes")?;
                let element = Box::new(self.declared_type(constraints, false)?);
                DeclaredKind::Array { sizes, element }
            }
            Kind::Array => {
                let help = "write all sizes in one pair of brackets: `array[3, 2] real x;`";
                let message = "an array cannot hold arrays by a second `array`";
                return Err(self.error_with_help(start, message, help));
            }
            Kind::TupleType => {
                self.advance();
                let opening = self.expect(Kind::LeftParen, "after `tuple`")?;
                let first = self.nested(|p| p.declared_type(constraints, true))?;
                let mut slots = vec![first];
                if !self.accept(Kind::Comma) {
                    return Err(self.short_tuple());
                }
                slots.extend(self.list(Kind::RightParen, |p| {
                    p.nested(|p| p.declared_type(constraints, true))
                })?);
                self.close(Kind::RightParen, opening, "the tuple's types")?;
                DeclaredKind::Tuple(slots)
            }
            Kind::Base(base) => {
                self.advance();
                self.leaf(base, constraints, start)?
            }
            _ if self.kind().is_name() => return Err(self.unknown_type()),
            _ => return Err(self.unexpected("a type")),
        };
        Ok(DeclaredType { kind, span: self.since(start) })
    }

    fn short_tuple(&mut self) -> Stop {
        let message = format!("expected `,` after the tuple's first type, found {}", self.found());
        self.error_with_help(self.span(), message, "a tuple of one type is written `tuple(real,)`")
    }

    /// A scalar, vector or matrix after its keyword.
    fn leaf(&mut self, base: Base, constraints: bool, keyword: Span) -> Parsed<DeclaredKind> {
        if base.is_constrained() && !constraints {
            let plain = base.unconstrained().keyword();
            let message =
                format!("`{}` is constrained, and local variables are not", base.keyword());
            let help =
                format!("declare a `{plain}` here; constraints belong to the variables of blocks");
            return Err(self.error_with_help(keyword, message, help));
        }
        let opening = self.span();
        let bounds = if self.accept(Kind::Less) {
            if base.is_constrained() {
                let message =
                    format!("`{}` is a constraint already and takes no other", base.keyword());
                return Err(self.error(opening, message));
            }
            if !constraints {
                let help = "declare it without; `if (x < 0) reject(...)` checks a value";
                return Err(self.error_with_help(
                    opening,
                    "a local variable cannot be constrained",
                    help,
                ));
            }
            self.bounds(opening)?
        } else {
            Bounds::default()
        };
        let sizes = self.sizes(base)?;
        Ok(DeclaredKind::Leaf { base, sizes, bounds: Box::new(bounds) })
    }

    fn sizes(&mut self, base: Base) -> Parsed<Vec<Expr>> {
        let (least, most) = base.size_count();
        let word = base.keyword();
        let opening = self.span();
        if most == 0 {
            if self.kind() == Kind::LeftBracket {
                let message = format!("`{word}` has no sizes");
                let help = format!("an array of them is declared as `array[N] {word} x;`");
                return Err(self.error_with_help(opening, message, help));
            }
            return Ok(Vec::new());
        }
        let example = if least == 2 { format!("{word}[R, C]") } else { format!("{word}[N]") };
        if !self.accept(Kind::LeftBracket) {
            let message = format!("expected the size of the {word}, found {}", self.found());
            return Err(self.error_with_help(opening, message, format!("write `{example} x;`")));
        }
        let sizes = self.list(Kind::RightBracket, Self::expression)?;
        let closing = self.close(Kind::RightBracket, opening, "the sizes")?;
        if sizes.len() < least || sizes.len() > most {
            let plural = |n: usize| if n == 1 { "1 size".to_owned() } else { format!("{n} sizes") };
            let message = format!("`{word}` has {}, not {}", plural(most.min(least)), sizes.len());
            return Err(self.error_with_help(
                opening.to(closing),
                message,
                format!("write `{example}`"),
            ));
        }
        Ok(sizes)
    }

    /// What stands between `<` and `>`.
    fn bounds(&mut self, opening: Span) -> Parsed<Bounds> {
        let mut bounds = Bounds::default();
        let help = "constraints are `<lower=a>`, `<upper=b>`, `<lower=a, upper=b>`, `<offset=m>`, `<multiplier=s>` and `<offset=m, multiplier=s>`";
        let mut ranged = None;
        loop {
            let span = self.span();
            let (slot, is_range) = match self.kind() {
                Kind::Lower => (&mut bounds.lower, true),
                Kind::Upper => (&mut bounds.upper, true),
                Kind::Offset => (&mut bounds.offset, false),
                Kind::Multiplier => (&mut bounds.multiplier, false),
                _ => {
                    let message = format!("expected a constraint, found {}", self.found());
                    return Err(self.error_with_help(span, message, help));
                }
            };
            if slot.is_some() {
                let message = format!("`{}` stands twice", self.text());
                return Err(self.error_with_help(span, message, help));
            }
            if ranged.is_some_and(|r| r != is_range) {
                let message = "bounds and offset or multiplier exclude each other";
                return Err(self.error_with_help(span, message, help));
            }
            ranged = Some(is_range);
            let word = self.advance().kind;
            self.expect(Kind::Assign, "after the constraint's name")?;
            let value = Some(self.bound_expression()?);
            match word {
                Kind::Lower => bounds.lower = value,
                Kind::Upper => bounds.upper = value,
                Kind::Offset => bounds.offset = value,
                _ => bounds.multiplier = value,
            }
            if !self.accept(Kind::Comma) {
                break;
            }
        }
        if matches!(
            self.kind(),
            Kind::Less
                | Kind::LessEqual
                | Kind::GreaterEqual
                | Kind::Or
                | Kind::And
                | Kind::Equal
                | Kind::NotEqual
                | Kind::Question
        ) {
            let message =
                format!("{} cannot stand in a constraint without parentheses", self.found());
            return Err(self.error_with_help(self.span(), message, "write `<lower=(a < b)>`"));
        }
        if matches!(self.kind(), Kind::Lower | Kind::Upper | Kind::Offset | Kind::Multiplier) {
            let message = format!("expected `,` between constraints, found {}", self.found());
            return Err(self.error_with_help(self.span(), message, help));
        }
        self.close(Kind::Greater, opening, "the constraint")?;
        Ok(bounds)
    }

    /// A type without sizes, of an argument or of what a function returns.
    pub(super) fn unsized_type(&mut self) -> Parsed<UnsizedType> {
        if self.kind() != Kind::Array {
            return self.unsized_element();
        }
        self.advance();
        self.expect(Kind::LeftBracket, "after `array`")?;
        let mut dimensions = 1;
        while self.accept(Kind::Comma) {
            dimensions += 1;
        }
        if self.kind() != Kind::RightBracket {
            let message = "the type of an argument or of a result has no sizes";
            let help = "write `array[] real` for one dimension, `array[,] real` for two";
            return Err(self.error_with_help(self.span(), message, help));
        }
        self.advance();
        if self.kind() == Kind::Array {
            let help = "write all commas in one pair of brackets: `array[,] real`";
            return Err(self.error_with_help(
                self.span(),
                "an array cannot hold arrays by a second `array`",
                help,
            ));
        }
        Ok(UnsizedType::Array(dimensions, Box::new(self.unsized_element()?)))
    }

    fn unsized_element(&mut self) -> Parsed<UnsizedType> {
        let span = self.span();
        let ty = match self.kind() {
            Kind::TupleType => return self.unsized_tuple(),
            Kind::Base(Base::Int) => UnsizedType::Int,
            Kind::Base(Base::Real) => UnsizedType::Real,
            Kind::Base(Base::Complex) => UnsizedType::Complex,
            Kind::Base(Base::Vector) => UnsizedType::Vector,
            Kind::Base(Base::RowVector) => UnsizedType::RowVector,
            Kind::Base(Base::Matrix) => UnsizedType::Matrix,
            Kind::Base(Base::ComplexVector) => UnsizedType::ComplexVector,
            Kind::Base(Base::ComplexRowVector) => UnsizedType::ComplexRowVector,
            Kind::Base(Base::ComplexMatrix) => UnsizedType::ComplexMatrix,
            Kind::Base(base) => {
                let plain = base.unconstrained().keyword();
                let message = format!(
                    "`{}` is constrained, and arguments and results are not",
                    base.keyword()
                );
                return Err(self.error_with_help(span, message, format!("write `{plain}`")));
            }
            _ if self.kind().is_name() => return Err(self.unknown_type()),
            _ => return Err(self.unexpected("a type")),
        };
        let word = self.text().to_owned();
        self.advance();
        match self.kind() {
            Kind::LeftBracket if matches!(self.ahead(1).kind, Kind::RightBracket | Kind::Comma) => {
                let mut commas = String::new();
                while self.ahead(1 + commas.len()).kind == Kind::Comma {
                    commas.push(',');
                }
                let help = format!("write `array[{commas}] {word}`");
                Err(self.error_with_help(
                    span.to(self.span()),
                    "an array's brackets stand before its type",
                    help,
                ))
            }
            Kind::LeftBracket => {
                let message = "the type of an argument or of a result has no sizes";
                Err(self.error_with_help(self.span(), message, format!("write `{word}`")))
            }
            Kind::Less => {
                let message = "the type of an argument or of a result has no constraints";
                Err(self.error_with_help(self.span(), message, format!("write `{word}`")))
            }
            _ => Ok(ty),
        }
    }

    fn unsized_tuple(&mut self) -> Parsed<UnsizedType> {
        self.advance();
        let opening = self.expect(Kind::LeftParen, "after `tuple`")?;
        let mut slots = vec![self.nested(Self::unsized_type)?];
        if !self.accept(Kind::Comma) {
            return Err(self.short_tuple());
        }
        slots.extend(self.list(Kind::RightParen, |p| p.nested(Self::unsized_type))?);
        self.close(Kind::RightParen, opening, "the tuple's types")?;
        Ok(UnsizedType::Tuple(slots))
    }
}
