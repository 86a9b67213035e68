//! Canonical text -> the same with long lines broken behind commas and around operators.
//!
//! A break stands where a blank stands, never within a text in quotes or a comment, and what
//! follows is indented four columns more than the line. Words longer than a line stay whole.

/// The text with lines of at most `length` characters, where breaks allow it.
pub(super) fn wrap(text: &str, length: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let blanks = line.len() - line.trim_start().len();
        let more = format!("{}    ", &line[..blanks]);
        let (mut rest, mut is_first) = (line.to_owned(), true);
        while rest.chars().count() > length {
            let from = if is_first { blanks } else { more.len() };
            let Some(offset) = place(&rest, from, length) else { break };
            out.push_str(rest[..offset].trim_end());
            out.push('\n');
            rest = format!("{more}{}", rest[offset..].trim_start());
            is_first = false;
        }
        out.push_str(&rest);
        out.push('\n');
    }
    out
}

/// The last break before `length`, or else the first behind it: the byte of a blank.
fn place(line: &str, from: usize, length: usize) -> Option<usize> {
    let (mut in_quotes, mut best) = (false, None);
    let mut seen = 0;
    for (offset, c) in line.char_indices() {
        seen += 1;
        if offset < from {
            continue;
        }
        if !in_quotes && (line[offset..].starts_with("//") || line[offset..].starts_with("/*")) {
            break;
        }
        in_quotes ^= c == '"';
        if c == ' ' && !in_quotes {
            // A comment stays behind what it is about.
            if line[offset + 1..].starts_with("//") || line[offset + 1..].starts_with("/*") {
                break;
            }
            // An operator goes to the next line with what follows it.
            if seen > length + 1 {
                return best.or(Some(offset));
            }
            best = Some(offset);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_are_broken_at_blanks_outside_quotes_and_comments() {
        let text = "model {\n  x ~ normal(alpha + beta, sigma); // a comment that is long\n}\n";
        let expected = "model {\n  x ~ normal(alpha\n      + beta,\n      sigma); // a comment that is long\n}\n";
        assert_eq!(wrap(text, 18), expected);
        assert_eq!(wrap("  print(\"a b c d e f\");\n", 8), "  print(\"a b c d e f\");\n");
        assert_eq!(wrap(text, 78), text);
    }
}
