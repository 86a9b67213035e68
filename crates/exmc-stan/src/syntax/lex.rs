//! Text -> tokens and comments, with included texts put in where they are named.

use std::sync::Arc;

use super::MAX_REPORTS;
use super::include::{MAX_INCLUDE_DEPTH, MAX_INCLUDES, Resolver};
use super::token::{BlockName, Kind, MARKS, Token, word};
use super::tree::Comment;
use crate::diagnostic::{Class, Diagnostic};
use crate::source::{Sources, Span};

/// Longest text, in bytes, of all files together: far above any program, and positions fit 32 bits.
pub const MAX_TEXT: usize = 16 << 20;

/// What a program's texts consist of.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    /// Words and marks; the last is [`Kind::End`].
    pub(crate) tokens: Vec<Token>,
    /// Comments.
    pub(crate) comments: Vec<Comment>,
    /// What could not be read.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Reads file 0 of `sources` and what it includes, which are added to `sources`.
pub(crate) fn lex(sources: &mut Sources, resolver: &mut dyn Resolver) -> Lexed {
    let mut lexer =
        Lexer { sources, resolver, lexed: Lexed::default(), chain: Vec::new(), read: 0 };
    let end = lexer.file(0);
    let mut lexed = lexer.lexed;
    lexed.tokens.push(Token { kind: Kind::End, span: Span { file: 0, start: end, end } });
    lexed
}

struct Lexer<'a> {
    sources: &'a mut Sources,
    resolver: &'a mut dyn Resolver,
    lexed: Lexed,
    /// Files that are being read, outermost first.
    chain: Vec<u32>,
    /// Bytes of the files that were begun.
    read: usize,
}

/// One text being read.
struct Cursor {
    text: Arc<str>,
    file: u32,
    offset: usize,
}

impl Cursor {
    fn rest(&self) -> &str {
        &self.text[self.offset..]
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.offset + ahead).copied().unwrap_or(0)
    }

    fn span(&self, start: usize) -> Span {
        Span { file: self.file, start: start as u32, end: self.offset as u32 }
    }

    fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.offset < self.text.len() && keep(self.byte(0)) {
            self.offset += 1;
        }
    }

    /// To the end of the line.
    fn skip_line(&mut self) {
        self.skip_while(|b| b != b'\n' && b != b'\r');
    }

    /// `12`, `1_000`.
    fn skip_digits(&mut self) {
        self.skip_while(|b| b.is_ascii_digit());
        while self.byte(0) == b'_' && self.byte(1).is_ascii_digit() {
            self.offset += 1;
            self.skip_while(|b| b.is_ascii_digit());
        }
    }

    /// `e-3`, if there is one.
    fn skip_exponent(&mut self) -> bool {
        let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
        let found = matches!(self.byte(0), b'e' | b'E') && self.byte(1 + sign).is_ascii_digit();
        if found {
            self.offset += 1 + sign;
            self.skip_digits();
        }
        found
    }
}

impl Lexer<'_> {
    /// Reads a file to its end, which is returned.
    fn file(&mut self, file: u32) -> u32 {
        let Some(source) = self.sources.files().get(file as usize) else { return 0 };
        let mut cursor = Cursor { text: Arc::clone(&source.text), file, offset: 0 };
        self.read += cursor.text.len();
        if self.read > MAX_TEXT {
            let message =
                format!("with `{}` the program is longer than {} MiB", source.name, MAX_TEXT >> 20);
            let span = Span { file, start: 0, end: 0 };
            self.lexed.diagnostics.push(Diagnostic::error(Class::Limit, span, message));
            return 0;
        }
        self.chain.push(file);
        while cursor.offset < cursor.text.len() {
            self.step(&mut cursor);
            if self.lexed.diagnostics.len() >= MAX_REPORTS {
                self.too_many(&cursor);
                break;
            }
        }
        self.chain.pop();
        cursor.offset as u32
    }

    /// Says once that the rest is not read.
    fn too_many(&mut self, cursor: &Cursor) {
        if self.lexed.diagnostics.iter().all(|d| d.class != Class::Limit) {
            let message = format!("{MAX_REPORTS} mistakes; the rest of the program was not read");
            let place = Diagnostic::error(Class::Limit, cursor.span(cursor.offset), message);
            self.lexed.diagnostics.push(place);
        }
    }

    /// One token, comment, include or stretch of blanks; always moves on.
    fn step(&mut self, cursor: &mut Cursor) {
        let start = cursor.offset;
        match cursor.byte(0) {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0c => cursor.offset += 1,
            b'/' if cursor.byte(1) == b'/' => {
                cursor.skip_line();
                self.comment(cursor, start);
            }
            b'/' if cursor.byte(1) == b'*' => self.block_comment(cursor),
            b'#' => self.hash(cursor),
            b'"' => self.text(cursor),
            b'0'..=b'9' => self.number(cursor),
            b'.' if cursor.byte(1).is_ascii_digit() => self.number(cursor),
            b'a'..=b'z' | b'A'..=b'Z' => self.word(cursor),
            _ => {
                let mark = MARKS.iter().find(|(mark, _)| cursor.rest().starts_with(mark));
                match mark {
                    Some((mark, kind)) => {
                        cursor.offset += mark.len();
                        self.push(*kind, cursor, start);
                    }
                    None => self.stray(cursor),
                }
            }
        }
    }

    fn push(&mut self, kind: Kind, cursor: &Cursor, start: usize) {
        self.lexed.tokens.push(Token { kind, span: cursor.span(start) });
    }

    fn error(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.lexed.diagnostics.push(Diagnostic::error(Class::Syntax, span, message));
        self.lexed.diagnostics.last_mut().expect("a diagnostic was just added")
    }

    fn comment(&mut self, cursor: &Cursor, start: usize) {
        let text = Arc::from(&cursor.text[start..cursor.offset]);
        self.lexed.comments.push(Comment { text, span: cursor.span(start) });
    }

    fn block_comment(&mut self, cursor: &mut Cursor) {
        let start = cursor.offset;
        match cursor.rest()[2..].find("*/") {
            Some(length) => {
                cursor.offset += length + 4;
                self.comment(cursor, start);
            }
            None => {
                cursor.offset += 2;
                let opening = cursor.span(start);
                cursor.offset = cursor.text.len();
                self.error(opening, "this comment has no end").help =
                    Some("close it with `*/`".to_owned());
            }
        }
    }

    fn number(&mut self, cursor: &mut Cursor) {
        let start = cursor.offset;
        let mut kind = Kind::Integer;
        if cursor.byte(0) == b'.' {
            cursor.offset += 1;
            cursor.skip_digits();
            kind = if cursor.skip_exponent() { Kind::Real } else { Kind::DotNumber };
        } else {
            cursor.skip_digits();
            if cursor.byte(0) == b'.' {
                cursor.offset += 1;
                if cursor.byte(0).is_ascii_digit() {
                    cursor.skip_digits();
                }
                cursor.skip_exponent();
                kind = Kind::Real;
            } else if cursor.skip_exponent() {
                kind = Kind::Real;
            }
        }
        if cursor.byte(0) == b'i' {
            cursor.offset += 1;
            kind = Kind::Imaginary;
        }
        self.push(kind, cursor, start);
    }

    fn word(&mut self, cursor: &mut Cursor) {
        let start = cursor.offset;
        let in_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        cursor.skip_while(in_word);
        let second = match &cursor.text[start..cursor.offset] {
            "transformed" => [
                ("data", BlockName::TransformedData),
                ("parameters", BlockName::TransformedParameters),
            ]
            .as_slice(),
            "generated" => [("quantities", BlockName::GeneratedQuantities)].as_slice(),
            text => {
                let kind = word(text);
                return self.push(kind, cursor, start);
            }
        };
        // The two words of these blocks' names stand on one line.
        let first_end = cursor.offset;
        cursor.skip_while(|b| matches!(b, b' ' | b'\t' | 0x0c));
        let second_start = cursor.offset;
        cursor.skip_while(in_word);
        let name = &cursor.text[second_start..cursor.offset];
        match second.iter().find(|(text, _)| *text == name && second_start > first_end) {
            Some((_, block)) => self.push(Kind::Block(*block), cursor, start),
            None => {
                cursor.offset = first_end;
                self.push(Kind::Identifier, cursor, start);
            }
        }
    }

    fn text(&mut self, cursor: &mut Cursor) {
        let start = cursor.offset;
        cursor.offset += 1;
        cursor.skip_while(|b| !matches!(b, b'"' | b'\n' | b'\r'));
        let closed = cursor.byte(0) == b'"';
        if closed {
            cursor.offset += 1;
        } else {
            self.error(cursor.span(start), "this text has no closing quotation mark").help =
                Some("a text in quotation marks ends on the line where it starts".to_owned());
        }
        self.push(Kind::Text, cursor, start);
    }

    /// `#include`, or a comment of the old kind.
    fn hash(&mut self, cursor: &mut Cursor) {
        let start = cursor.offset;
        let blank = |b: u8| matches!(b, b' ' | b'\t' | 0x0c | b'\n' | b'\r');
        if !(cursor.rest().starts_with("#include") && blank(cursor.byte(8))) {
            cursor.skip_line();
            let help = "comments start with `//`, or stand between `/*` and `*/`";
            self.error(cursor.span(start), "`#` starts no comment").help = Some(help.to_owned());
            return;
        }
        cursor.offset += 8;
        cursor.skip_while(blank);
        let name_start = cursor.offset;
        let close = match cursor.byte(0) {
            b'"' => Some(b'"'),
            b'<' => Some(b'>'),
            _ => None,
        };
        let name = match close {
            Some(close) => {
                cursor.offset += 1;
                cursor.skip_while(|b| b != close && b != b'\n' && b != b'\r');
                let name = cursor.text[name_start + 1..cursor.offset].to_owned();
                if cursor.byte(0) != close {
                    let message =
                        format!("the name of the included file has no closing `{}`", close as char);
                    self.error(cursor.span(start), message);
                    return;
                }
                cursor.offset += 1;
                name
            }
            None => {
                cursor.skip_while(|b| !blank(b));
                cursor.text[name_start..cursor.offset].to_owned()
            }
        };
        self.include(&name, cursor.span(start));
    }

    fn include(&mut self, name: &str, span: Span) {
        if name.is_empty() {
            let help = "write `#include \"file.stan\"`";
            self.error(span, "`#include` names no file").help = Some(help.to_owned());
            return;
        }
        let refused = |message: String| Diagnostic::error(Class::Include, span, message);
        if self.chain.len() > MAX_INCLUDE_DEPTH || self.sources.files().len() > MAX_INCLUDES {
            let message = format!(
                "`{name}` is one file too many: at most {MAX_INCLUDE_DEPTH} include each other in a row, and {MAX_INCLUDES} in all"
            );
            self.lexed.diagnostics.push(Diagnostic { class: Class::Limit, ..refused(message) });
            return;
        }
        let mut file = match self.resolver.resolve(name) {
            Ok(file) => file,
            Err(message) => {
                self.lexed.diagnostics.push(refused(message));
                return;
            }
        };
        let open =
            |k: &u32| self.sources.files().get(*k as usize).is_some_and(|f| f.name == file.name);
        if self.chain.iter().any(open) {
            let message = format!("`{name}` includes itself");
            self.lexed.diagnostics.push(refused(message));
            return;
        }
        // Like stanc: functions are defined once, however often their file is named.
        let again = self.sources.files().iter().any(|f| f.name == file.name);
        if again && file.name.ends_with(".stanfunctions") {
            self.sources.repeat(span);
            return;
        }
        file.included_at = Some(span);
        let number = self.sources.add(file);
        self.file(number);
    }

    /// A character that starts nothing.
    fn stray(&mut self, cursor: &mut Cursor) {
        let start = cursor.offset;
        let first = cursor.rest().chars().next().unwrap_or('\u{fffd}');
        while let Some(c) = cursor.rest().chars().next().filter(|c| *c == first || !c.is_ascii()) {
            cursor.offset += c.len_utf8();
        }
        let span = cursor.span(start);
        let shown: String = cursor.text[start..cursor.offset].chars().take(20).collect();
        let help = match first {
            '“' | '”' | '„' | '«' | '»' => {
                Some("texts stand between straight quotation marks `\"`")
            }
            '‘' | '’' | '`' => Some("a transpose is written with a straight `'`"),
            '–' | '—' | '−' => Some("minus is the character `-`"),
            '×' | '·' => Some("multiplication is written `*`"),
            '≤' => Some("write `<=`"),
            '≥' => Some("write `>=`"),
            '\u{a0}' => Some("this is a blank that does not break lines; write an ordinary one"),
            '&' => Some("`and` is written `&&`"),
            '_' => Some("names start with a letter"),
            c if c.is_alphabetic() => Some("names consist of the letters a to z, digits and `_`"),
            _ => None,
        };
        let message = if first.is_control() {
            format!("the character U+{:04X} has no meaning here", first as u32)
        } else {
            format!("`{shown}` has no meaning here")
        };
        self.error(span, message).help = help.map(str::to_owned);
    }
}
