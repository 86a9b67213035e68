//! R's dump format -> JSON, as CmdStan reads it.
//!
//! A file is a row of `name <- value`; a value is a number, `c(...)`, `a:b`, `integer(0)`,
//! `double(0)`, or `structure(..., .Dim = c(...))`, whose elements stand column by column. JSON has
//! them row by row. Reference: CmdStan User's Guide, "RDump format for CmdStan".

/// A value: elements as JSON spells them, column-major, and extents (none for a number).
struct Found {
    elements: Vec<String>,
    extents: Vec<usize>,
}

/// Most elements that a range or `integer(n)` may stand for.
const MAX_ELEMENTS: usize = 1 << 28;

/// The text of a JSON object with the same variables.
///
/// # Errors
/// What is wrong, with its line.
pub(crate) fn to_json(text: &str) -> Result<String, String> {
    let mut reader = Reader { text, offset: 0 };
    let mut entries = Vec::new();
    loop {
        reader.blanks();
        while reader.take(";") {
            reader.blanks();
        }
        if reader.rest().is_empty() {
            break;
        }
        let name = reader.name()?;
        reader.blanks();
        if !reader.take("<-") && !reader.take("=") {
            return Err(reader.expected("`<-`"));
        }
        reader.blanks();
        let value = reader.value()?;
        let json = nested(&value.elements, &value.extents);
        entries.push(format!("{}: {json}", serde_json::Value::from(name)));
    }
    Ok(format!("{{{}}}", entries.join(",\n")))
}

/// Column-major elements as nested arrays, outermost dimension first.
fn nested(elements: &[String], extents: &[usize]) -> String {
    fn nested_from(
        elements: &[String],
        extents: &[usize],
        strides: &[usize],
        from: usize,
    ) -> String {
        let (Some(extent), Some(stride)) = (extents.first(), strides.first()) else {
            return elements[from].clone();
        };
        let inner = (0..*extent)
            .map(|k| nested_from(elements, &extents[1..], &strides[1..], from + k * stride))
            .collect::<Vec<_>>();
        format!("[{}]", inner.join(","))
    }
    let mut strides = Vec::with_capacity(extents.len());
    let mut size = 1;
    for extent in extents {
        strides.push(size);
        size *= extent;
    }
    nested_from(elements, extents, &strides, 0)
}

struct Reader<'t> {
    text: &'t str,
    offset: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.offset..]
    }

    fn expected(&self, what: &str) -> String {
        let line = self.text[..self.offset].matches('\n').count() + 1;
        let found = self.rest().lines().next().unwrap_or_default();
        let found: String = found.chars().take(20).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        format!("line {line}: expected {what}, found {found}")
    }

    /// Skips blanks, line ends and comments.
    fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.offset += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.offset += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let is_there = self.rest().starts_with(word);
        self.offset += if is_there { word.len() } else { 0 };
        is_there
    }

    fn require(&mut self, word: &str) -> Result<(), String> {
        self.blanks();
        let taken = self.take(word);
        self.blanks();
        if taken { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    fn name(&mut self) -> Result<String, String> {
        for quote in ['"', '\'', '`'] {
            if let Some(inner) = self.rest().strip_prefix(quote) {
                let Some(end) = inner.find(quote) else { return Err(self.expected("a name")) };
                self.offset += end + 2;
                return Ok(inner[..end].to_owned());
            }
        }
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.expected("the name of a variable"));
        }
        self.offset += end;
        Ok(rest[..end].to_owned())
    }

    fn value(&mut self) -> Result<Found, String> {
        if !self.take("structure") {
            return self.plain();
        }
        self.require("(")?;
        let mut found = self.plain()?;
        self.blanks();
        while self.take(",") {
            self.blanks();
            let key = self.name()?;
            self.require("=")?;
            let before = self.offset;
            let given = self.plain()?;
            if key == ".Dim" {
                let extents: Option<Vec<usize>> =
                    given.elements.iter().map(|e| e.parse().ok()).collect();
                self.offset = if extents.is_none() { before } else { self.offset };
                found.extents = extents.ok_or_else(|| self.expected("extents"))?;
            }
            self.blanks();
        }
        let size = found.extents.iter().try_fold(1_usize, |n, extent| n.checked_mul(*extent));
        if size != Some(found.elements.len()) {
            let (elements, extents) = (found.elements.len(), &found.extents);
            return Err(self.expected(&format!(
                "as many elements as `.Dim` says, {extents:?}, not {elements}, before"
            )));
        }
        self.require(")")?;
        Ok(found)
    }

    /// Elements in a row, or a number.
    fn plain(&mut self) -> Result<Found, String> {
        for kind in ["integer", "double", "numeric"] {
            if self.take(kind) {
                self.require("(")?;
                let number = self.number()?;
                let n = number.parse().ok().filter(|n| *n <= MAX_ELEMENTS);
                let n: usize = n.ok_or_else(|| self.expected("a number of elements before"))?;
                self.blanks();
                if !self.take(")") {
                    return Err(self.expected("`)`"));
                }
                return Ok(Found { elements: vec!["0".to_owned(); n], extents: vec![n] });
            }
        }
        if self.rest().starts_with("c(") || self.rest().starts_with("c (") {
            self.offset += 1;
            self.require("(")?;
            let mut elements = Vec::new();
            if !self.take(")") {
                loop {
                    elements.extend(self.item()?.elements);
                    self.blanks();
                    if self.take(")") {
                        break;
                    }
                    self.require(",")?;
                }
            }
            let extents = vec![elements.len()];
            return Ok(Found { elements, extents });
        }
        self.item()
    }

    /// A number, or a range `a:b`.
    fn item(&mut self) -> Result<Found, String> {
        let first = self.number()?;
        self.blanks_in_line();
        if !self.take(":") {
            return Ok(Found { elements: vec![first], extents: Vec::new() });
        }
        self.blanks();
        let last = self.number()?;
        let (Ok(a), Ok(b)) = (first.parse::<i64>(), last.parse::<i64>()) else {
            return Err(self.expected("integers on both sides of `:` before"));
        };
        if a.abs_diff(b) >= MAX_ELEMENTS as u64 {
            return Err(self.expected("a shorter range before"));
        }
        let elements: Vec<String> = match a <= b {
            true => (a..=b).map(|n| n.to_string()).collect(),
            false => (b..=a).rev().map(|n| n.to_string()).collect(),
        };
        let extents = vec![elements.len()];
        Ok(Found { elements, extents })
    }

    fn blanks_in_line(&mut self) {
        let rest = self.rest();
        self.offset += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    /// A number as JSON has it; `L` behind integers is left out.
    fn number(&mut self) -> Result<String, String> {
        let rest = self.rest();
        let (sign, unsigned) = match rest.strip_prefix('-') {
            Some(unsigned) => ("-", unsigned),
            None => ("", rest.strip_prefix('+').unwrap_or(rest)),
        };
        let skipped = rest.len() - unsigned.len();
        for (word, json) in [("Infinity", "Inf"), ("Inf", "Inf"), ("NaN", "NaN"), ("NA", "NaN")] {
            if unsigned.starts_with(word) {
                self.offset += skipped + word.len();
                let sign = if json == "NaN" { "" } else { sign };
                return Ok(format!("\"{sign}{json}\""));
            }
        }
        let mut end = 0;
        let bytes = unsigned.as_bytes();
        while let Some(byte) = bytes.get(end) {
            let after_exponent = end > 0 && matches!(bytes[end - 1], b'e' | b'E');
            match byte {
                b'0'..=b'9' | b'.' | b'e' | b'E' => end += 1,
                b'+' | b'-' if after_exponent => end += 1,
                _ => break,
            }
        }
        let digits = &unsigned[..end];
        if digits.parse::<f64>().is_err() {
            return Err(self.expected("a number"));
        }
        self.offset += skipped + end;
        self.take("L");
        // JSON has a digit on both sides of a point, and no zeros before the first.
        let mut text = digits.to_owned();
        if text.starts_with('.') {
            text.insert(0, '0');
        }
        if let Some(point) = text.find('.')
            && !text[point + 1..].starts_with(|c: char| c.is_ascii_digit())
        {
            text.insert(point + 1, '0');
        }
        let zeros = text.len() - text.trim_start_matches('0').len();
        let kept = text[zeros..].starts_with(|c: char| c.is_ascii_digit());
        let text = if kept { &text[zeros..] } else { &text[zeros.saturating_sub(1)..] };
        Ok(format!("{sign}{text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> serde_json::Value {
        let json = to_json(text).unwrap();
        serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}"))
    }

    #[test]
    fn elements_of_a_structure_stand_column_by_column() {
        let read = json(
            "N <- 3\n\"y\" <-\nc(1L, 2, -3.5)\nx <- structure(c(1,2,3,4,5,6), .Dim = c(2L, 3L))\n\
             z <- structure(1:8, .Dim = c(2,2,2))",
        );
        assert_eq!(read["N"], 3);
        assert_eq!(read["y"].to_string(), "[1,2,-3.5]");
        // R: matrix(1:6, 2) has rows 1 3 5 and 2 4 6.
        assert_eq!(read["x"].to_string(), "[[1,3,5],[2,4,6]]");
        // R: array(1:8, c(2,2,2))[1,2,1] is 3 and [2,1,2] is 6.
        assert_eq!(read["z"][0][1][0], 3);
        assert_eq!(read["z"][1][0][1], 6);
    }

    #[test]
    fn numbers_are_spelled_as_json_has_them() {
        let read =
            to_json("a <- .5; b <- 5.\nc1 <- 1e-3\nd <- -Inf\ne <- NA\nf <- 007\ng <- 0").unwrap();
        assert_eq!(
            read,
            "{\"a\": 0.5,\n\"b\": 5.0,\n\"c1\": 1e-3,\n\"d\": \"-Inf\",\n\"e\": \"NaN\",\n\"f\": 7,\n\"g\": 0}"
        );
        assert_eq!(json("a <- 3:1\nb <- integer(0)\nd <- c()")["a"].to_string(), "[3,2,1]");
        assert_eq!(
            json("# nothing\nb <- structure(integer(0), .Dim = c(0L, 3L))")["b"].to_string(),
            "[]"
        );
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let wrong = to_json("a <- 1\nb <- c(1, x)").unwrap_err();
        assert_eq!(wrong, "line 2: expected a number, found `x)`");
        assert!(to_json("a 1").unwrap_err().contains("expected `<-`"));
        assert!(to_json("a <- structure(c(1,2), .Dim = c(3))").unwrap_err().contains("[3]"));
        assert!(to_json("3 <- 1").unwrap_err().contains("the name of a variable"));
        assert!(to_json("a <- c(1").unwrap_err().contains("the end"));
    }
}
