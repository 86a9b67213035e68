//! A diagnostic -> text for a terminal: what, where, the source line with marks, and what to do.

use std::fmt::Write;

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{Place, Sources, Span};

/// Most characters of a source line that are shown.
const MAX_WIDTH: usize = 160;

/// A span as people count: lines and columns from 1, the end one past the last character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file's name as the user wrote it, or the path of an included one.
    pub file: String,
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// One past the last column.
    pub end_column: u32,
}

/// Where a span lies; `None` for a span of no known file.
pub fn locate(span: Span, sources: &Sources) -> Option<Location> {
    let file = sources.files().get(span.file as usize)?;
    let (start, end) = (file.place(span.start), file.place(span.end.max(span.start)));
    Some(Location {
        file: file.name.clone(),
        line: start.line,
        column: start.column + 1,
        end_line: end.line,
        end_column: end.column + 1,
    })
}

/// The places of the `#include`s that lead to a span, innermost first, as `file:line:column`.
pub fn include_chain(span: Span, sources: &Sources) -> Vec<String> {
    let mut chain = Vec::new();
    let mut file = span.file;
    while let Some(include_span) = sources.files().get(file as usize).and_then(|f| f.included_at) {
        if let Some(location) = locate(include_span, sources) {
            chain.push(format!("{}:{}:{}", location.file, location.line, location.column));
        }
        // An included file comes after the one that includes it, so this ends.
        if include_span.file >= file {
            break;
        }
        file = include_span.file;
    }
    chain
}

/// A diagnostic as text, without a line end after it:
///
/// ```text
/// error[syntax]: an array's sizes stand before its type
///  --> model.stan:2:9
///   |
/// 2 |   real x[N];
///   |         ^^^
///   help: write `array[N] real x;`
/// ```
pub fn render(diagnostic: &Diagnostic, sources: &Sources) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut out = format!("{severity}[{}]: {}", diagnostic.class.name(), diagnostic.message);
    if let Some(location) = locate(diagnostic.span, sources) {
        let _ = write!(out, "\n --> {}:{}:{}", location.file, location.line, location.column);
        excerpt(&mut out, diagnostic, sources);
        for place in include_chain(diagnostic.span, sources) {
            let _ = write!(out, "\n  = included from {place}");
        }
        for (span, words) in &diagnostic.labels {
            if span.file != diagnostic.span.file
                && let Some(label_location) = locate(*span, sources)
            {
                let _ = write!(
                    out,
                    "\n  = {}:{}:{}: {words}",
                    label_location.file, label_location.line, label_location.column
                );
            }
        }
    }
    if let Some(help) = &diagnostic.help {
        let _ = write!(out, "\n  help: {help}");
    }
    out
}

/// What is marked on one line.
struct Mark<'a> {
    line: u32,
    from: u32,
    /// One past; `None` for the rest of the line.
    to: Option<u32>,
    sign: char,
    words: &'a str,
}

impl<'a> Mark<'a> {
    fn new(start: Place, end: Place, sign: char, words: &'a str) -> Self {
        let to = (start.line == end.line).then_some(end.column);
        Self { line: start.line, from: start.column, to, sign, words }
    }
}

/// The lines of the diagnostic's file that it and its labels mark.
fn excerpt(out: &mut String, diagnostic: &Diagnostic, sources: &Sources) {
    let Some(file) = sources.files().get(diagnostic.span.file as usize) else { return };
    let mark = |span: Span, sign, words| {
        Mark::new(file.place(span.start), file.place(span.end), sign, words)
    };
    let mut marks = vec![mark(diagnostic.span, '^', "")];
    let labels = diagnostic.labels.iter().filter(|(span, _)| span.file == diagnostic.span.file);
    marks.extend(labels.map(|(span, words)| mark(*span, '-', words.as_str())));
    // Of the marks on one line the diagnostic's own comes first: the sort keeps their order.
    marks.sort_by_key(|m| m.line);
    let width = marks.last().map_or(1, |m| m.line.to_string().len());
    let _ = write!(out, "\n{:width$} |", "");
    let mut last = 0;
    for mark in &marks {
        let line = file.line(mark.line).unwrap_or("");
        let first_shown = (mark.from as usize).saturating_sub(MAX_WIDTH * 3 / 4);
        if mark.line != last {
            if last != 0 && mark.line > last + 1 {
                let _ = write!(out, "\n{:.>width$}", "");
            }
            let shown: String =
                line.chars().map(printable).skip(first_shown).take(MAX_WIDTH).collect();
            let _ = write!(out, "\n{:width$} | {}", mark.line, shown.trim_end());
            last = mark.line;
        }
        let length = line.chars().count() as u32;
        let to = mark.to.unwrap_or(length).min(length.max(mark.from));
        let count = (to.saturating_sub(mark.from)).clamp(1, MAX_WIDTH as u32) as usize;
        let blanks = mark.from as usize - first_shown;
        let signs = mark.sign.to_string().repeat(count);
        let _ = write!(out, "\n{:width$} | {:blanks$}{signs} {}", "", "", mark.words);
        out.truncate(out.trim_end().len());
    }
}

/// Tabs and other controls as one blank, so that marks stand below what they mark.
fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Class;
    use crate::source::SourceFile;

    fn span(start: u32, end: u32) -> Span {
        Span { file: 0, start, end }
    }

    #[test]
    fn marks_stand_below_the_characters_even_after_tabs_and_letters_of_two_bytes() {
        let sources = Sources::single("m.stan", "/* é */\treal x[N];\n");
        let start = sources.files()[0].text.find("[N]").unwrap() as u32;
        let diagnostic =
            Diagnostic::error(Class::Syntax, span(start, start + 3), "sizes").help("write it");
        let expected = "error[syntax]: sizes\n --> m.stan:1:15\n  |\n1 | /* é */ real x[N];\n  |               ^^^\n  help: write it";
        assert_eq!(render(&diagnostic, &sources), expected);
    }

    #[test]
    fn labels_are_shown_in_order_of_lines() {
        let sources = Sources::single("m.stan", "model {\n\n\n  f(x;\n}\n");
        let diagnostic = Diagnostic::error(Class::Syntax, span(14, 15), "expected `)`")
            .label(span(12, 13), "opened here")
            .label(span(0, 5), "in this block");
        let expected = "error[syntax]: expected `)`\n --> m.stan:4:5\n  |\n1 | model {\n  | ----- in this block\n.\n4 |   f(x;\n  |     ^\n  |   - opened here";
        assert_eq!(render(&diagnostic, &sources), expected);
    }

    #[test]
    fn a_span_over_lines_is_marked_to_the_end_of_its_first() {
        let sources = Sources::single("m.stan", "x = 1 +\n  2;");
        let diagnostic = Diagnostic::warning(Class::Semantic, span(4, 11), "sum");
        let expected = "warning[semantic]: sum\n --> m.stan:1:5\n  |\n1 | x = 1 +\n  |     ^^^";
        assert_eq!(render(&diagnostic, &sources), expected);
    }

    #[test]
    fn the_chain_of_includes_is_named() {
        let mut sources = Sources::single("m.stan", "\n#include a.stan\n");
        let mut file = SourceFile::new("lib/a.stan", "real");
        file.included_at = Some(span(1, 16));
        let number = sources.add(file);
        let error_span = Span { file: number, start: 0, end: 4 };
        let text = render(&Diagnostic::error(Class::Syntax, error_span, "no"), &sources);
        assert!(text.ends_with("1 | real\n  | ^^^^\n  = included from m.stan:2:1"), "{text}");
    }

    #[test]
    fn a_place_past_the_end_and_a_very_long_line_are_shown() {
        let sources = Sources::single("m.stan", format!("{}y;", "x ".repeat(5000)));
        let end = sources.files()[0].text.len() as u32;
        let text = render(&Diagnostic::error(Class::Syntax, span(end, end), "end"), &sources);
        assert!(text.lines().all(|l| l.chars().count() < 200), "{text}");
        assert!(text.contains("m.stan:1:10003"), "{text}");
    }
}
