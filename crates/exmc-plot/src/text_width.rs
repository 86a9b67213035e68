//! Text -> its width in a sans-serif font that nobody knows: an estimate on the wide side.

/// Width in pixels of one line at a font size.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let em: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' => 0.3,
            'f' | 't' | 'r' | 'I' | '(' | ')' | '[' | ']' | ' ' | '-' | '/' => 0.4,
            'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.92,
            'A'..='Z' => 0.7,
            _ => 0.59,
        })
        .sum();
    em * size
}

/// A text cut in the middle, so that it is at most so wide: `theta_hierarchi…[12]`.
pub(crate) fn fitted(text: &str, size: f64, most: f64) -> String {
    if text_width(text, size) <= most {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    for kept in (2..letters.len()).rev() {
        let (head, tail) = (kept - kept / 3, kept / 3);
        let cut: String = letters[..head]
            .iter()
            .chain(['…'].iter())
            .chain(&letters[letters.len() - tail..])
            .collect();
        if text_width(&cut, size) <= most {
            return cut;
        }
    }
    "…".to_owned()
}

/// A text in lines of at most such a width, broken at spaces.
pub(crate) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
