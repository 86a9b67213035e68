//! JSON text -> values that know where they stand, or the first mistake with its line and column.
//!
//! A reader of our own, because the usual ones keep the last of two equal keys, turn 2^64 into
//! another number, refuse the bare `NaN` and `Infinity` that data files hold, and do not say where
//! a value stood.

use std::collections::BTreeSet;

use super::lines::Lines;
use super::value::{Entry, LIMIT, Located, Number, Spelling, Value, non_finite};
use crate::diagnostic::{Code, Diagnostic, Origin};

/// Arrays and objects nested deeper are refused rather than risk the stack.
pub(super) const MAX_DEPTH: usize = 200;

/// Reads one JSON value that fills the text; `bare_non_finite` admits the words `NaN`, `Infinity`
/// and `-Infinity` where JSON has numbers.
pub(super) fn parse(text: &str, bare_non_finite: bool) -> Result<Located, Diagnostic> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut parser = Parser { text, offset: start, depth: 0, bare_non_finite };
    parser.skip_space();
    if parser.offset == text.len() {
        let help = "a JSON document is one object in braces";
        return Err(parser.mistake(parser.offset, "the text is empty").help(help));
    }
    let value = parser.value()?;
    parser.skip_space();
    if parser.offset < text.len() {
        let message = format!("expected the end of the text, found {}", parser.found());
        return Err(parser.mistake(parser.offset, message));
    }
    Ok(value)
}

struct Parser<'t> {
    text: &'t str,
    offset: usize,
    depth: usize,
    bare_non_finite: bool,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.offset += 1;
        }
    }

    fn mistake(&self, offset: usize, message: impl Into<String>) -> Diagnostic {
        let (line, column) = Lines::new(self.text).place(offset);
        let mut diagnostic = Diagnostic::new(Code::BadJson, message);
        diagnostic.origin = Some(Origin::Json { path: String::new(), line, column });
        diagnostic
    }

    /// The character at the cursor, for messages.
    fn found(&self) -> String {
        match self.text.get(self.offset..).and_then(|rest| rest.chars().next()) {
            None => "the end of the text".to_owned(),
            Some(c) if c.is_control() => format!("`{}`", c.escape_debug()),
            Some(c) => format!("`{c}`"),
        }
    }

    fn value(&mut self) -> Result<Located, Diagnostic> {
        let offset = self.offset;
        let value = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Value::Number(self.number()?),
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word()?,
            _ => {
                return Err(
                    self.mistake(offset, format!("expected a value, found {}", self.found()))
                );
            }
        };
        Ok(Located { offset, value })
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value, Diagnostic>,
    ) -> Result<Value, Diagnostic> {
        if self.depth == MAX_DEPTH {
            let message = format!("arrays and objects are nested more than {MAX_DEPTH} deep");
            let help = "name parts of an expression with deterministic nodes";
            return Err(self.mistake(self.offset, message).help(help));
        }
        self.depth += 1;
        self.offset += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, Diagnostic> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut keys = BTreeSet::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.offset += 1;
            return Ok(Value::Object(entries));
        }
        loop {
            self.skip_space();
            let offset = self.offset;
            if self.peek() != Some(b'"') {
                let message = format!("expected a key in double quotes, found {}", self.found());
                return Err(self.mistake(offset, message));
            }
            let key = self.string()?;
            if !keys.insert(key.clone()) {
                let message = format!("the key {key:?} is given twice");
                return Err(self.mistake(offset, message).help("keep one of the two"));
            }
            self.skip_space();
            if self.peek() != Some(b':') {
                let message = format!("expected `:` after the key {key:?}, found {}", self.found());
                return Err(self.mistake(self.offset, message));
            }
            self.offset += 1;
            self.skip_space();
            let value = self.value()?;
            entries.push(Entry { offset, key, value });
            if self.ends(b'}')? {
                return Ok(Value::Object(entries));
            }
        }
    }

    fn array(&mut self) -> Result<Value, Diagnostic> {
        let mut elements = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.offset += 1;
            return Ok(Value::Array(elements));
        }
        loop {
            self.skip_space();
            elements.push(self.value()?);
            if self.ends(b']')? {
                return Ok(Value::Array(elements));
            }
        }
    }

    /// Whether the closing bracket follows; otherwise a comma has to, and something after it.
    fn ends(&mut self, bracket: u8) -> Result<bool, Diagnostic> {
        self.skip_space();
        let closing = char::from(bracket);
        match self.peek() {
            Some(found) if found == bracket => {
                self.offset += 1;
                Ok(true)
            }
            Some(b',') => {
                let comma = self.offset;
                self.offset += 1;
                self.skip_space();
                if self.peek() == Some(bracket) {
                    let message = format!("a comma before `{closing}` separates nothing");
                    return Err(self.mistake(comma, message).help("leave it out"));
                }
                Ok(false)
            }
            _ => {
                let message = format!("expected `,` or `{closing}`, found {}", self.found());
                Err(self.mistake(self.offset, message))
            }
        }
    }

    fn word(&mut self) -> Result<Value, Diagnostic> {
        let offset = self.offset;
        while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.offset += 1;
        }
        match &self.text[offset..self.offset] {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Boolean(true)),
            "false" => Ok(Value::Boolean(false)),
            word @ ("NaN" | "Infinity") => self.non_finite(offset, word).map(Value::Number),
            word => {
                let message = format!("expected a value, found the bare word `{word}`");
                let help = match word.to_ascii_lowercase().as_str() {
                    "nan" => "write NaN".to_owned(),
                    "inf" | "infinity" => "write Infinity".to_owned(),
                    "none" | "nil" => "write null".to_owned(),
                    "true" | "false" => "write it in lower case".to_owned(),
                    _ => format!("strings have quotes: \"{word}\""),
                };
                Err(self.mistake(offset, message).help(help))
            }
        }
    }

    fn non_finite(&self, offset: usize, word: &str) -> Result<Number, Diagnostic> {
        if !self.bare_non_finite {
            let message = format!("a model's JSON cannot hold the bare word `{word}`");
            let help = format!("write {{\"tensor\": [\"{word}\"], \"shape\": []}}");
            return Err(self.mistake(offset, message).help(help));
        }
        let value = non_finite(word).expect("the caller matched the word");
        Ok(Number { value, spelling: Spelling::Real })
    }

    fn number(&mut self) -> Result<Number, Diagnostic> {
        let offset = self.offset;
        if self.text[offset..].starts_with("-Infinity") {
            self.offset += "-Infinity".len();
            return self.non_finite(offset, "-Infinity");
        }
        if self.peek() == Some(b'-') {
            self.offset += 1;
        }
        let first = self.offset;
        self.digits("a digit")?;
        if self.text.as_bytes()[first] == b'0' && self.offset > first + 1 {
            return Err(self.mistake(offset, "a number cannot start with 0 and another digit"));
        }
        let mut is_whole = true;
        if self.peek() == Some(b'.') {
            is_whole = false;
            self.offset += 1;
            self.digits("a digit after the point")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_whole = false;
            self.offset += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.offset += 1;
            }
            self.digits("a digit of the exponent")?;
        }
        let digits = &self.text[offset..self.offset];
        let value: f64 = digits.parse().expect("the text was read as a number");
        if value.is_infinite() {
            let shown = if digits.len() > 24 { "it" } else { digits };
            let message = format!("{shown} is too large: numbers end at about 1.8e308");
            return Err(self.mistake(offset, message));
        }
        let spelling = match is_whole {
            false => Spelling::Real,
            true if value.abs() < LIMIT => Spelling::Whole,
            true => Spelling::WholeTooLarge,
        };
        Ok(Number { value, spelling })
    }

    fn digits(&mut self, wanted: &str) -> Result<(), Diagnostic> {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            let message = format!("expected {wanted}, found {}", self.found());
            return Err(self.mistake(self.offset, message));
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.offset += 1;
        }
        Ok(())
    }

    /// A string; the cursor is at its opening quote.
    fn string(&mut self) -> Result<String, Diagnostic> {
        let opening = self.offset;
        self.offset += 1;
        let mut string = String::new();
        loop {
            let start = self.offset;
            while self.peek().is_some_and(|b| b != b'"' && b != b'\\' && b >= b' ') {
                self.offset += 1;
            }
            // Quotes, backslashes and control characters never lie inside a character of several
            // bytes.
            string.push_str(&self.text[start..self.offset]);
            match self.peek() {
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(string);
                }
                Some(b'\\') => string.push(self.escape()?),
                Some(_) => {
                    let message = format!("a string cannot hold the character {}", self.found());
                    return Err(self.mistake(self.offset, message).help("write it as an escape"));
                }
                None => return Err(self.mistake(opening, "the string does not end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Diagnostic> {
        let offset = self.offset;
        self.offset += 1;
        let letter = self.peek();
        let simple = match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.offset += 1;
                return self.code_point(offset);
            }
            _ => {
                let message = format!("`\\` before {} is no escape of JSON", self.found());
                return Err(self.mistake(offset, message));
            }
        };
        self.offset += 1;
        Ok(simple)
    }

    /// What four hexadecimal digits stand for, or eight in the form of a surrogate pair.
    fn code_point(&mut self, offset: usize) -> Result<char, Diagnostic> {
        let first = self.hexadecimal()?;
        let mut code = first;
        if (0xD800..0xDC00).contains(&first) && self.text[self.offset..].starts_with("\\u") {
            self.offset += 2;
            let second = self.hexadecimal()?;
            if (0xDC00..0xE000).contains(&second) {
                code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            }
        }
        char::from_u32(code)
            .ok_or_else(|| self.mistake(offset, "the escape is half of a surrogate pair"))
    }

    fn hexadecimal(&mut self) -> Result<u32, Diagnostic> {
        let digits = self.text.get(self.offset..self.offset + 4);
        let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let Some(code) = code else {
            return Err(self.mistake(self.offset, "expected four hexadecimal digits after `\\u`"));
        };
        self.offset += 4;
        Ok(code)
    }
}
