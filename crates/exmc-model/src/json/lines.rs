//! A byte's place in a text -> its line and column.

/// Bytes between two counts of characters.
const STRIDE: usize = 1024;

/// A text with what it takes to find a place in it without reading all that stands before.
pub(super) struct Lines<'a> {
    pub(super) text: &'a str,
    /// Where lines begin.
    starts: Vec<usize>,
    /// Bytes that continue a character, before each [`STRIDE`]th byte.
    continued: Vec<usize>,
}

/// Whether a byte continues a character of several bytes: 0x80 to 0xBF.
const fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (mut starts, mut continued, mut count) = (vec![0], Vec::new(), 0);
        for (offset, &byte) in text.as_bytes().iter().enumerate() {
            if offset.is_multiple_of(STRIDE) {
                continued.push(count);
            }
            count += usize::from(continues(byte));
            if byte == b'\n' {
                starts.push(offset + 1);
            }
        }
        if text.len().is_multiple_of(STRIDE) {
            continued.push(count);
        }
        Self { text, starts, continued }
    }

    /// Where a byte stands: line and column (in characters), both from one.
    pub(super) fn place(&self, offset: usize) -> (u32, u32) {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        // A byte order mark is no column.
        let marked = line == 1 && offset > 0 && self.text.starts_with('\u{feff}');
        let characters =
            offset - start - (self.continued_before(offset) - self.continued_before(start));
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (number(line), number(characters + 1 - usize::from(marked)))
    }

    fn continued_before(&self, offset: usize) -> usize {
        let block = offset / STRIDE;
        let rest = &self.text.as_bytes()[block * STRIDE..offset];
        self.continued[block] + rest.iter().filter(|byte| continues(**byte)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted character by character.
    fn counted(text: &str, offset: usize) -> (u32, u32) {
        let before = &text[..offset];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |k| k + 1);
        let characters = before[start..].chars().filter(|c| *c != '\u{feff}').count();
        (line as u32, characters as u32 + 1)
    }

    #[test]
    fn places_are_those_that_counting_gives() {
        let long = "é𝄞x".repeat(700);
        let texts = ["", "a", "\u{feff}{\n \"é\": 1}\n", "\n\n", &long, &format!("{long}\n{long}")];
        for text in texts {
            let lines = Lines::new(text);
            for (offset, _) in text.char_indices().chain([(text.len(), ' ')]) {
                assert_eq!(lines.place(offset), counted(text, offset), "{offset} of {text:?}");
            }
            assert_eq!(lines.place(text.len() + 9), counted(text, text.len()));
        }
    }
}
