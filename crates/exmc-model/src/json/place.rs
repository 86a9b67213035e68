//! A value together with the way to it, so that every mistake names its path, line and column.

use exmc_graph::Shape;

use super::lines::Lines;
use super::value::{Entry, Located, Spelling, Value};
use crate::diagnostic::{Code, Diagnostic, Origin, closest};
use crate::function::MAX_ELEMENTS;

/// A value in a document.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    lines: &'a Lines<'a>,
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
    pub(super) node: &'a Located,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    pub(super) fn root(lines: &'a Lines<'a>, node: &'a Located) -> Self {
        Self { lines, parent: None, step: Step::Root, node }
    }

    pub(super) fn value(&self) -> &'a Value {
        &self.node.value
    }

    /// As in `nodes[3].params.sigma`; empty for the document itself.
    pub(super) fn path(&self) -> String {
        let mut path = self.parent.map(Place::path).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Step::Index(k) => path.push_str(&format!("[{k}]")),
        }
        path
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin_at(self.path(), self.node.offset)
    }

    fn origin_at(&self, path: String, offset: usize) -> Origin {
        let (line, column) = self.lines.place(offset);
        Origin::Json { path, line, column }
    }

    pub(super) fn mistake(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(code, message);
        diagnostic.origin = Some(self.origin());
        diagnostic
    }

    /// A mistake about an element of this array, by its indices.
    pub(super) fn mistake_at(
        &self,
        indices: &[usize],
        code: Code,
        message: impl Into<String>,
    ) -> Diagnostic {
        let (mut path, mut node) = (self.path(), self.node);
        for &k in indices {
            path.push_str(&format!("[{k}]"));
            if let Value::Array(elements) = &node.value {
                node = elements.get(k).unwrap_or(node);
            }
        }
        let mut diagnostic = Diagnostic::new(code, message);
        diagnostic.origin = Some(self.origin_at(path, node.offset));
        diagnostic
    }

    /// The text of the element of this array at these indices, when it is a number.
    pub(super) fn number_text(&self, indices: &[usize]) -> &'a str {
        let mut node = self.node;
        for &k in indices {
            if let Value::Array(elements) = &node.value {
                node = elements.get(k).unwrap_or(node);
            }
        }
        let rest = self.lines.text.get(node.offset..).unwrap_or_default();
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())]
    }

    /// "expected …, found …".
    pub(super) fn expected(&self, what: &str) -> Diagnostic {
        let message = format!("expected {what}, found {}", self.value().describe());
        self.mistake(Code::BadJson, message)
    }

    fn entries(&self) -> &'a [Entry] {
        match self.value() {
            Value::Object(entries) => entries,
            _ => &[],
        }
    }

    /// Checks that this is an object without other keys than these; `what` says what it stands for.
    pub(super) fn check_keys(&self, what: &str, known: &[&str]) -> Result<(), Diagnostic> {
        if !matches!(self.value(), Value::Object(_)) {
            return Err(self.expected(&format!("an object for {what}")));
        }
        let Some(stray) = self.entries().iter().find(|e| !known.contains(&e.key.as_str())) else {
            return Ok(());
        };
        let message = format!("{what} has no key {:?}", stray.key);
        let mut mistake = Diagnostic::new(Code::BadJson, message);
        mistake.origin = Some(self.origin_at(self.path(), stray.offset));
        Err(match closest(&stray.key, known.iter().copied()) {
            Some(key) => mistake.help(format!("did you mean {key:?}?")),
            None => mistake.help(format!("its keys are {}", known.join(", "))),
        })
    }

    /// Checks that this is an object, whatever its keys are.
    pub(super) fn object(&self, what: &str) -> Result<(), Diagnostic> {
        if matches!(self.value(), Value::Object(_)) { Ok(()) } else { Err(self.expected(what)) }
    }

    /// The value of a key, if it is there.
    pub(super) fn get<'s>(&'s self, key: &str) -> Option<Place<'s>> {
        let entry = self.entries().iter().find(|e| e.key == key)?;
        Some(self.child(entry))
    }

    /// The value of a key that has to be there.
    pub(super) fn need<'s>(&'s self, key: &str, what: &str) -> Result<Place<'s>, Diagnostic> {
        self.get(key)
            .ok_or_else(|| self.mistake(Code::BadJson, format!("{what} needs the key {key:?}")))
    }

    /// All keys with their values.
    pub(super) fn fields<'s>(&'s self) -> impl Iterator<Item = (&'a str, Place<'s>)> {
        self.entries().iter().map(|entry| (entry.key.as_str(), self.child(entry)))
    }

    fn child<'s>(&'s self, entry: &'s Entry) -> Place<'s> {
        let step = Step::Key(&entry.key);
        Place { lines: self.lines, parent: Some(self), step, node: &entry.value }
    }

    /// The elements, when this is an array.
    pub(super) fn elements<'s>(
        &'s self,
        what: &str,
    ) -> Result<impl Iterator<Item = Place<'s>>, Diagnostic> {
        let Value::Array(elements) = self.value() else { return Err(self.expected(what)) };
        Ok(elements.iter().enumerate().map(|(k, node)| Place {
            lines: self.lines,
            parent: Some(self),
            step: Step::Index(k),
            node,
        }))
    }

    pub(super) fn string(&self, what: &str) -> Result<&'a str, Diagnostic> {
        match self.value() {
            Value::String(text) => Ok(text),
            _ => Err(self.expected(what)),
        }
    }

    pub(super) fn boolean(&self) -> Result<bool, Diagnostic> {
        match self.value() {
            Value::Boolean(value) => Ok(*value),
            _ => Err(self.expected("true or false")),
        }
    }

    /// A whole number from 0 to 2^27: an extent, an index, an axis.
    pub(super) fn whole_number(&self, what: &str) -> Result<usize, Diagnostic> {
        match self.value() {
            Value::Number(n) if n.spelling != Spelling::Real && n.value >= 0.0 => {
                if n.value > MAX_ELEMENTS as f64 {
                    let message = format!("{} is too large: {what} ends at 2^27", n.value);
                    return Err(self.mistake(Code::BadJson, message));
                }
                Ok(n.value as usize)
            }
            _ => Err(self.expected(&format!("a whole number for {what}"))),
        }
    }

    /// A shape whose elements can be counted and held.
    pub(super) fn shape(&self) -> Result<Shape, Diagnostic> {
        let extents = self
            .elements("an array of extents such as [3, 2]")?
            .map(|e| e.whole_number("an extent"))
            .collect::<Result<Vec<_>, _>>()?;
        let elements = extents.iter().try_fold(1_usize, |n, e| n.checked_mul(*e));
        if elements.is_none_or(|n| n > MAX_ELEMENTS) {
            let message = format!("shape {extents:?} has more than 2^27 elements");
            return Err(self.mistake(Code::BadJson, message));
        }
        Ok(Shape::from(extents))
    }
}
