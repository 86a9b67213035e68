//! A walk over JSON text: bytes -> tokens, with CmdStan's spellings of numbers that are not finite.

use std::borrow::Cow;

use crate::source::Span;

/// What is wrong with the text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// First byte and one past the last.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// A sentence.
    pub(crate) message: String,
}

impl Malformed {
    pub(crate) fn span(&self, file: u32) -> Span {
        Span { file, start: self.start as u32, end: self.end as u32 }
    }
}

/// A number as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    /// Whether it was written as an integer.
    pub(crate) is_int: bool,
}

/// The deepest nesting of arrays and objects that is followed.
pub(crate) const MAX_DEPTH: usize = 64;

pub(crate) struct Cursor<'t> {
    pub(crate) bytes: &'t [u8],
    pub(crate) position: usize,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str, position: usize) -> Self {
        Self { bytes: text.as_bytes(), position }
    }

    /// The next byte that is no white space, not taken.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.position) {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(*byte);
            }
            self.position += 1;
        }
        None
    }

    /// Takes the next byte that is no white space if it is this one.
    #[inline]
    pub(crate) fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.position += usize::from(found);
        found
    }

    #[cold]
    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Result<T, Malformed> {
        let length = match self.bytes.get(self.position) {
            // The whole word or number, or one character.
            Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'-' => self.bytes
                [self.position..]
                .iter()
                .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.' | b'_'))
                .count(),
            Some(_) => (1..4)
                .find(|k| self.bytes.get(self.position + k).is_none_or(|b| b & 0xc0 != 0x80))
                .unwrap_or(1),
            None => 0,
        };
        Err(Malformed {
            start: self.position,
            end: self.position + length,
            message: message.into(),
        })
    }

    /// What stands next, in words.
    pub(crate) fn found(&mut self) -> String {
        match self.peek() {
            None => "the end of the file".to_owned(),
            Some(b'"') => "a string".to_owned(),
            Some(b'[') => "an array".to_owned(),
            Some(b'{') => "an object".to_owned(),
            Some(byte) if byte.is_ascii_alphabetic() => {
                let word =
                    self.bytes[self.position..].iter().take_while(|b| b.is_ascii_alphanumeric());
                format!("`{}`", word.map(|b| *b as char).collect::<String>())
            }
            Some(byte) if byte.is_ascii_digit() || byte == b'-' => "a number".to_owned(),
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", byte as char),
            Some(_) => "a character that JSON does not have".to_owned(),
        }
    }

    /// A string without its quotes, escapes decoded.
    pub(crate) fn string(&mut self) -> Result<Cow<'t, [u8]>, Malformed> {
        if !self.take(b'"') {
            let found = self.found();
            return self.error(format!("expected a string, found {found}"));
        }
        let start = self.position;
        // What precedes the last escape, decoded, once there was one.
        let (mut decoded, mut plain) = (Vec::new(), start);
        while let Some(byte) = self.bytes.get(self.position) {
            match byte {
                b'"' => {
                    let rest = &self.bytes[plain..self.position];
                    self.position += 1;
                    if decoded.is_empty() {
                        return Ok(rest.into());
                    }
                    decoded.extend_from_slice(rest);
                    return Ok(decoded.into());
                }
                b'\\' => {
                    decoded.extend_from_slice(&self.bytes[plain..self.position]);
                    let character = self.escape()?;
                    decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    plain = self.position;
                }
                0..0x20 => break,
                _ => self.position += 1,
            }
        }
        let message = "the string does not end".to_owned();
        Err(Malformed { start: start - 1, end: self.position.min(self.bytes.len()), message })
    }

    /// Takes an escape of a string, from its backslash on.
    fn escape(&mut self) -> Result<char, Malformed> {
        let start = self.position;
        self.position += 2;
        let character = match self.bytes.get(start + 1) {
            Some(byte @ (b'"' | b'\\' | b'/')) => Some(char::from(*byte)),
            Some(b'b') => Some('\u{8}'),
            Some(b'f') => Some('\u{c}'),
            Some(b'n') => Some('\n'),
            Some(b'r') => Some('\r'),
            Some(b't') => Some('\t'),
            Some(b'u') => self.code_unit().and_then(|first| match first {
                // A character beyond 16 bits is written as two.
                0xd800..=0xdbff if self.bytes[self.position..].starts_with(b"\\u") => {
                    self.position += 2;
                    let second =
                        self.code_unit().filter(|unit| (0xdc00..=0xdfff).contains(unit))?;
                    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
                }
                first => char::from_u32(first),
            }),
            _ => None,
        };
        character.ok_or_else(|| {
            // Up to a whole character of the text.
            let mut end = self.position.min(self.bytes.len());
            while self.bytes.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
                end += 1;
            }
            let found = String::from_utf8_lossy(&self.bytes[start..end]);
            Malformed { start, end, message: format!("`{found}` is no escape of JSON") }
        })
    }

    /// Takes four hexadecimal digits.
    fn code_unit(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.position..self.position + 4)?;
        let is_code = digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_code)?;
        self.position += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    /// A number, also one that is not finite, bare or as a string.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<Number, Malformed> {
        match self.peek() {
            Some(b'0'..=b'9' | b'-') => self.digits(),
            Some(b'"') => {
                let start = self.position;
                let text = self.string()?;
                match not_finite(&text) {
                    Some(value) => Ok(Number { value, is_int: false }),
                    None => {
                        let message = format!(
                            "expected a number, found the string \"{}\"",
                            String::from_utf8_lossy(&text)
                        );
                        Err(Malformed { start, end: self.position, message })
                    }
                }
            }
            Some(b'N' | b'I') => self.word(1.0),
            _ => {
                let found = self.found();
                self.error(format!("expected a number, found {found}"))
            }
        }
    }

    /// `NaN`, `Inf`, `Infinity` after a sign that was taken.
    fn word(&mut self, sign: f64) -> Result<Number, Malformed> {
        let rest = &self.bytes[self.position..];
        let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        match not_finite(&rest[..length]) {
            Some(value) => {
                self.position += length;
                Ok(Number { value: sign * value, is_int: false })
            }
            None => {
                let found = self.found();
                self.error(format!("expected a number, found {found}"))
            }
        }
    }

    fn digits(&mut self) -> Result<Number, Malformed> {
        let start = self.position;
        let negative = self.bytes[start] == b'-';
        let mut position = start + usize::from(negative);
        if negative && matches!(self.bytes.get(position), Some(b'I')) {
            self.position = position;
            return self.word(-1.0);
        }
        // Up to 19 digits fit into 64 bits; beyond, the slow path reads the text again.
        let (mut mantissa, mut count, mut decimals) = (0_u64, 0_u32, 0_u32);
        let first_digit = position;
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(position) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            count += 1;
            position += 1;
        }
        let wrong_start = position == first_digit
            || (self.bytes[first_digit] == b'0' && position > first_digit + 1);
        let mut is_int = true;
        let mut fraction_missing = false;
        if self.bytes.get(position) == Some(&b'.') {
            is_int = false;
            position += 1;
            let first = position;
            while let Some(digit @ b'0'..=b'9') = self.bytes.get(position) {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
                count += 1;
                decimals += 1;
                position += 1;
            }
            fraction_missing = position == first;
        }
        let mut exponent = 0_i32;
        if matches!(self.bytes.get(position), Some(b'e' | b'E')) {
            is_int = false;
            position += 1;
            let below = self.bytes.get(position) == Some(&b'-');
            position += usize::from(matches!(self.bytes.get(position), Some(b'-' | b'+')));
            let first = position;
            while let Some(digit @ b'0'..=b'9') = self.bytes.get(position) {
                exponent = exponent.saturating_mul(10).saturating_add(i32::from(digit - b'0'));
                position += 1;
            }
            fraction_missing |= position == first;
            exponent = if below { -exponent } else { exponent };
        }
        let broken = self
            .bytes
            .get(position)
            .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'));
        if wrong_start || fraction_missing || broken {
            return self.error("this is no number in JSON");
        }
        self.position = position;
        let power = exponent.saturating_sub(decimals as i32);
        // Both mantissa and power of ten are exact, so one rounding gives the nearest number.
        // **Reference**: Clinger 1990.
        let value = if count <= 19 && mantissa <= EXACT && power.unsigned_abs() <= 22 {
            let (m, p) = (mantissa as f64, POWERS[power.unsigned_abs() as usize]);
            let size = if power < 0 { m / p } else { m * p };
            if negative { -size } else { size }
        } else {
            let text = std::str::from_utf8(&self.bytes[start..position]).unwrap_or("");
            match text.parse::<f64>() {
                Ok(value) if value.is_finite() => value,
                _ => {
                    let message = "this number is too large for double precision".to_owned();
                    return Err(Malformed { start, end: position, message });
                }
            }
        };
        Ok(Number { value, is_int })
    }

    /// Takes the elements after one of an array, each with its comma, as far as they are numbers of
    /// up to 19 digits without an exponent; their values, and whether they are written as integers,
    /// go to `each`. What is left is for [`Self::comma`] and [`Self::number`].
    #[inline]
    pub(crate) fn plain_numbers(&mut self, mut each: impl FnMut(f64, bool)) -> usize {
        let mut count = 0;
        loop {
            let mut position = past_space(self.bytes, self.position);
            if self.bytes.get(position) != Some(&b',') {
                return count;
            }
            position = past_space(self.bytes, position + 1);
            let Some((number, end)) = plain_number(self.bytes, position) else { return count };
            each(number.value, number.is_int);
            self.position = end;
            count += 1;
        }
    }

    /// Skips any value.
    pub(crate) fn skip(&mut self, depth: usize) -> Result<(), Malformed> {
        if depth > MAX_DEPTH {
            return self.error(format!("arrays and objects are nested more than {MAX_DEPTH} deep"));
        }
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'[') => {
                self.position += 1;
                if self.take(b']') {
                    return Ok(());
                }
                loop {
                    self.skip(depth + 1)?;
                    if self.take(b']') {
                        return Ok(());
                    }
                    self.comma("]")?;
                }
            }
            Some(b'{') => {
                self.position += 1;
                if self.take(b'}') {
                    return Ok(());
                }
                loop {
                    self.string()?;
                    self.colon()?;
                    self.skip(depth + 1)?;
                    if self.take(b'}') {
                        return Ok(());
                    }
                    self.comma("}")?;
                }
            }
            Some(b't' | b'f' | b'n') => {
                for word in [&b"true"[..], b"false", b"null"] {
                    if self.bytes[self.position..].starts_with(word) {
                        self.position += word.len();
                        return Ok(());
                    }
                }
                let found = self.found();
                self.error(format!("expected a value, found {found}"))
            }
            Some(b'0'..=b'9' | b'-' | b'N' | b'I') => self.number().map(|_| ()),
            _ => {
                let found = self.found();
                self.error(format!("expected a value, found {found}"))
            }
        }
    }

    /// A comma, after which an element must follow.
    #[inline]
    pub(crate) fn comma(&mut self, close: &str) -> Result<(), Malformed> {
        if !self.take(b',') {
            let found = self.found();
            return self.error(format!("expected `,` or `{close}`, found {found}"));
        }
        if self.peek() == close.bytes().next() {
            return self.error(format!("there is nothing between the `,` and the `{close}`"));
        }
        Ok(())
    }

    pub(crate) fn colon(&mut self) -> Result<(), Malformed> {
        if self.take(b':') {
            return Ok(());
        }
        let found = self.found();
        self.error(format!("expected `:`, found {found}"))
    }
}

/// The next place from `position` on that is no white space.
#[inline]
fn past_space(bytes: &[u8], mut position: usize) -> usize {
    while matches!(bytes.get(position), Some(b' ' | b'\n' | b'\t' | b'\r')) {
        position += 1;
    }
    position
}

/// A number of up to 19 digits without an exponent, and its end; nothing for any other text.
#[inline]
fn plain_number(bytes: &[u8], start: usize) -> Option<(Number, usize)> {
    let negative = bytes.get(start) == Some(&b'-');
    let first_digit = start + usize::from(negative);
    let (mantissa, mut position) = plain_digits(bytes, first_digit, 0);
    let (mut mantissa, mut decimals) = (mantissa, 0);
    if position == first_digit || (bytes[first_digit] == b'0' && position > first_digit + 1) {
        return None;
    }
    let is_int = bytes.get(position) != Some(&b'.');
    if !is_int {
        let first = position + 1;
        (mantissa, position) = plain_digits(bytes, first, mantissa);
        decimals = position - first;
        if decimals == 0 {
            return None;
        }
    }
    let ends = matches!(bytes.get(position), Some(b',' | b']' | b' ' | b'\n' | b'\t' | b'\r'));
    if !ends || position - first_digit - usize::from(!is_int) > 19 {
        return None;
    }
    if mantissa > EXACT {
        let text = std::str::from_utf8(bytes.get(start..position)?).ok()?;
        return Some((Number { value: text.parse().ok()?, is_int }, position));
    }
    // One rounding of exact numbers, as in `digits`; a signed conversion is one instruction.
    let exact = mantissa as i64 as f64;
    let size = if is_int { exact } else { exact / POWERS[decimals] };
    Some((Number { value: if negative { -size } else { size }, is_int }, position))
}

/// Digits after those of `mantissa`, and their end. The number wraps where they are too many for 64
/// bits.
#[inline]
fn plain_digits(bytes: &[u8], mut position: usize, mut mantissa: u64) -> (u64, usize) {
    while let Some(eight) =
        bytes.get(position..).and_then(<[u8]>::first_chunk).and_then(eight_digits)
    {
        mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(eight);
        position += 8;
    }
    while let Some(digit @ b'0'..=b'9') = bytes.get(position) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        position += 1;
    }
    (mantissa, position)
}

/// The number that eight digits write, all at once; nothing where one is no digit.
#[inline]
fn eight_digits(bytes: &[u8; 8]) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(*bytes);
    // A digit's byte is 0x30 to 0x39: its upper half is 3, and stays 3 when 6 is added to it.
    let upper = |word: u64| word & (0xf0 * ONES);
    if upper(word) != 0x30 * ONES || upper(word.wrapping_add(6 * ONES)) != 0x30 * ONES {
        return None;
    }
    // The first digit is the lowest byte. Neighbours are joined: ten times the lower and the upper
    // one, which stands where the sum is then read; so with pairs and with fours.
    let pairs = ((word & (0x0f * ONES)).wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000 << 32 | 1) >> 32)
}

/// The spellings that CmdStan reads.
fn not_finite(text: &[u8]) -> Option<f64> {
    Some(match text {
        b"NaN" => f64::NAN,
        b"Inf" | b"Infinity" => f64::INFINITY,
        b"-Inf" | b"-Infinity" => f64::NEG_INFINITY,
        _ => return None,
    })
}

/// The largest integer up to which a double holds all.
const EXACT: u64 = 1 << 53;

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<Number, Malformed> {
        let mut cursor = Cursor::new(text, 0);
        cursor.number()
    }

    #[test]
    fn numbers_are_read_to_the_nearest_double() {
        // The standard library's parser is correctly rounded: an oracle for the quick path.
        let mut x = 1.0_f64;
        for k in 0..4000 {
            x = (x * 1.618_033_988_749_895 + f64::from(k)) % 1e7;
            for text in
                [format!("{x}"), format!("{x:.3}"), format!("{x:e}"), format!("-{:.2e}", x * 1e-9)]
            {
                let found = number(&text).unwrap();
                let nearest = text.parse::<f64>().unwrap().to_bits();
                assert_eq!(found.value.to_bits(), nearest, "{text}");
                let array = format!(",{text}]");
                Cursor::new(&array, 0).plain_numbers(|value, is_int| {
                    assert_eq!((value.to_bits(), is_int), (nearest, found.is_int), "{text}");
                });
            }
        }
        for text in
            ["0.1", "123456789012345678901234567890", "4.9e-324", "1.7976931348623157e308", "-0"]
        {
            assert_eq!(
                number(text).unwrap().value.to_bits(),
                text.parse::<f64>().unwrap().to_bits()
            );
        }
    }

    /// The quick way through arrays takes the same numbers as the way for any text, or leaves them.
    #[test]
    fn plain_numbers_are_those_of_the_way_for_any_text() {
        let all = [
            "0",
            "-0",
            "7",
            "-12",
            "0.5",
            "-3.25",
            "123456789012345",
            "1234567.12345678",
            "00",
            "1.",
            "-",
            ".5",
            "1e3",
            "2E-4",
            "1234567890123456",
            "0.1234567890123456",
            "9007199254740993",
            "-0.12345678901234567",
            "1234567890123456789",
            "12345678901234567890",
            "1234567a",
            "NaN",
            "1x",
            "01.5",
        ];
        let mut taken = 0;
        for text in all {
            let array = format!(" ,\n{text} ]");
            let mut cursor = Cursor::new(&array, 0);
            let mut found = Vec::new();
            let count = cursor.plain_numbers(|value, is_int| found.push((value.to_bits(), is_int)));
            assert_eq!(count, found.len());
            if let [only] = found[..] {
                let number = number(text).unwrap();
                assert_eq!(only, (number.value.to_bits(), number.is_int), "{text}");
                assert!(cursor.take(b']'), "{text}");
                taken += 1;
            } else {
                assert_eq!(cursor.position, 0, "{text}");
            }
        }
        assert_eq!(taken, 13);
    }

    #[test]
    fn spelling_tells_integers_from_reals() {
        assert!(number("3").unwrap().is_int);
        assert!(!number("3.0").unwrap().is_int);
        assert!(!number("3e0").unwrap().is_int);
        assert!(number("NaN").unwrap().value.is_nan());
        assert_eq!(number("\"-Inf\"").unwrap().value, f64::NEG_INFINITY);
        assert_eq!(number("-Infinity").unwrap().value, f64::NEG_INFINITY);
        for wrong in ["01", "1.", "-", "1e", "+1", ".5", "nan", "1x", "\"x\"", "1e999", "\"+inf\""]
        {
            assert!(number(wrong).is_err(), "{wrong}");
        }
    }
}
