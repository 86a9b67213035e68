//! Source texts and places in them: byte offsets -> file, line, column.

use std::path::PathBuf;
use std::sync::Arc;

/// A stretch of one source text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Which text, an index into [`Sources`].
    pub file: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From the start of this one to the end of another; this one when they lie in different files.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        if self.file == other.file {
            Self { file: self.file, start: self.start, end: other.end.max(self.start) }
        } else {
            self
        }
    }
}

/// One source text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name that messages use: the path as the user wrote it.
    pub name: String,
    /// Where it was read, if it is a file.
    pub path: Option<PathBuf>,
    /// The text.
    pub text: Arc<str>,
    /// The `#include` that brought it in.
    pub included_at: Option<Span>,
    /// Offset of the first byte of each line.
    line_starts: Vec<u32>,
}

/// A place as people count: lines from 1, columns from 0 (as stanc prints them), both in
/// characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 0.
    pub column: u32,
}

impl SourceFile {
    /// A text under a name.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text: Arc<str> = text.into();
        let breaks = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(k, _)| k as u32 + 1)).collect();
        Self { name: name.into(), path: None, text, included_at: None, line_starts }
    }

    /// Line and column of a byte.
    pub fn place(&self, offset: u32) -> Place {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1) - 1;
        let start = self.line_starts[line] as usize;
        let end = (offset as usize).clamp(start, self.text.len());
        let column = self.text.get(start..end).map_or(end - start, |t| t.chars().count());
        Place { line: line as u32 + 1, column: column as u32 }
    }

    /// The text of a line (from 1), without its end; `None` past the end.
    pub fn line(&self, line: u32) -> Option<&str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = *self.line_starts.get(index)? as usize;
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |next| *next as usize);
        Some(self.text[start..end].trim_end_matches(['\n', '\r']))
    }
}

/// All texts of one program: the file that was named, then those that it includes.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    /// Each `#include` that brought nothing in, because its file is there already.
    repeated: Vec<Span>,
}

impl Sources {
    /// A program of one text.
    pub fn single(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self { files: vec![SourceFile::new(name, text)], repeated: Vec::new() }
    }

    /// Adds a text; spans name it by the number that is returned.
    pub fn add(&mut self, file: SourceFile) -> u32 {
        self.files.push(file);
        self.files.len() as u32 - 1
    }

    /// Notes an `#include` of a file of functions that an earlier one brought in.
    pub fn repeat(&mut self, span: Span) {
        self.repeated.push(span);
    }

    /// The program as one text: the first file, with each included file in the place of its
    /// `#include`. To the byte the file itself, if it includes nothing.
    pub fn spliced(&self) -> String {
        let mut text = String::new();
        if !self.files.is_empty() {
            self.splice(0, &mut text);
        }
        text
    }

    fn splice(&self, file: u32, out: &mut String) {
        let Some(source) = self.files.get(file as usize) else { return };
        let included = self.files.iter().zip(0_u32..);
        let mut places: Vec<(Span, Option<u32>)> = included
            .filter_map(|(f, k)| Some((f.included_at?, Some(k))))
            .chain(self.repeated.iter().map(|span| (*span, None)))
            .filter(|(span, _)| span.file == file)
            .collect();
        places.sort_unstable();
        let mut from = 0;
        for (span, inner) in places {
            let (start, end) = (span.start as usize, span.end as usize);
            out.push_str(source.text.get(from..start).unwrap_or(""));
            // A file is read after its includer's number was given, so this ends.
            if let Some(inner) = inner.filter(|inner| *inner > file) {
                self.splice(inner, out);
                // A comment at the end of the file must not reach into what follows.
                if !out.is_empty() && !out.ends_with('\n') {
                    out.push('\n');
                }
            }
            from = end;
        }
        out.push_str(source.text.get(from..).unwrap_or(""));
    }

    /// All texts, in the order in which they were added.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The text that a span lies in.
    pub fn file(&self, span: Span) -> &SourceFile {
        &self.files[span.file as usize]
    }

    /// The characters of a span.
    pub fn text(&self, span: Span) -> &str {
        let file = self.file(span);
        file.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
}
