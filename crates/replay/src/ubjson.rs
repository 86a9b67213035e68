//! UBJSON (draft 12): bytes <-> values. Metadata of replays are such a value, and the file around
//! them is one too.

use crate::error::ReplayError;

/// Most objects and arrays inside of each other; real metadata have three.
const MAX_DEPTH: usize = 32;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// Any integer type.
    Integer(i64),
    /// Single or double precision.
    Float(f64),
    /// A string, or a number of high precision as it is written.
    Text(String),
    /// An array.
    Array(Vec<Value>),
    /// An object; keys in the order of the file.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The value of a key, for an object that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Object(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number of an integer.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }
}

/// A place in bytes that are read as UBJSON.
pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) offset: usize,
    depth: usize,
    /// Values that may still be made: values without bytes of their own would otherwise make
    /// memory out of nothing.
    budget: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset, depth: 0, budget: bytes.len().saturating_sub(offset) }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], ReplayError> {
        let taken = self.offset.checked_add(count).and_then(|end| self.bytes.get(self.offset..end));
        let taken = taken.ok_or_else(|| {
            let left = self.bytes.len().saturating_sub(self.offset);
            ReplayError::new(self.offset, format!("expected {count} more bytes, found {left}"))
        })?;
        self.offset += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReplayError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.offset).copied()
    }

    fn integer(&mut self, marker: u8) -> Result<Option<i64>, ReplayError> {
        Ok(Some(match marker {
            b'U' => i64::from(self.array::<1>()?[0]),
            b'i' => i64::from(i8::from_be_bytes(self.array()?)),
            b'I' => i64::from(i16::from_be_bytes(self.array()?)),
            b'l' => i64::from(i32::from_be_bytes(self.array()?)),
            b'L' => i64::from_be_bytes(self.array()?),
            _ => return Ok(None),
        }))
    }

    /// A length: an integer with its own marker, not negative.
    fn length(&mut self) -> Result<usize, ReplayError> {
        let start = self.offset;
        let marker = self.array::<1>()?[0];
        let length = self.integer(marker)?;
        length.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
            ReplayError::new(start, "expected a length: an integer that is not negative")
        })
    }

    pub(crate) fn text(&mut self) -> Result<String, ReplayError> {
        let length = self.length()?;
        let start = self.offset;
        let bytes = self.take(length)?.to_vec();
        String::from_utf8(bytes)
            .map_err(|e| ReplayError::new(start, format!("a string is not UTF-8: {e}")))
    }

    pub(crate) fn value(&mut self) -> Result<Value, ReplayError> {
        let marker = self.array::<1>()?[0];
        self.value_of(marker)
    }

    fn value_of(&mut self, marker: u8) -> Result<Value, ReplayError> {
        let marker_offset = self.offset.saturating_sub(1);
        self.budget = self.budget.checked_sub(1).ok_or_else(|| {
            ReplayError::new(
                marker_offset,
                "a container claims more values than the file has bytes",
            )
        })?;
        if let Some(integer) = self.integer(marker)? {
            return Ok(Value::Integer(integer));
        }
        Ok(match marker {
            b'Z' | b'N' => Value::Null,
            b'T' => Value::Bool(true),
            b'F' => Value::Bool(false),
            b'd' => Value::Float(f64::from(f32::from_be_bytes(self.array()?))),
            b'D' => Value::Float(f64::from_be_bytes(self.array()?)),
            b'C' => Value::Text(char::from(self.array::<1>()?[0]).to_string()),
            b'S' | b'H' => Value::Text(self.text()?),
            b'[' | b'{' => {
                if self.depth == MAX_DEPTH {
                    return Err(ReplayError::new(
                        marker_offset,
                        format!("more than {MAX_DEPTH} objects and arrays inside of each other"),
                    ));
                }
                self.depth += 1;
                let value = if marker == b'[' { self.items()? } else { self.entries()? };
                self.depth -= 1;
                value
            }
            other => {
                return Err(ReplayError::new(
                    marker_offset,
                    format!("byte {other:#04x} is no marker of a UBJSON value"),
                ));
            }
        })
    }

    /// The type and the count that an array or object may begin with.
    fn container(&mut self) -> Result<(Option<u8>, Option<usize>), ReplayError> {
        let mut ty = None;
        if self.peek() == Some(b'$') {
            self.offset += 1;
            ty = Some(self.array::<1>()?[0]);
            if self.peek() != Some(b'#') {
                return Err(ReplayError::new(
                    self.offset,
                    "expected `#`: a typed container has a count",
                ));
            }
        }
        let mut count = None;
        if self.peek() == Some(b'#') {
            self.offset += 1;
            count = Some(self.length()?);
        }
        Ok((ty, count))
    }

    fn items(&mut self) -> Result<Value, ReplayError> {
        let (ty, count) = self.container()?;
        let mut items = Vec::new();
        while count.map_or(self.peek() != Some(b']'), |n| items.len() < n) {
            items.push(match ty {
                Some(ty) => self.value_of(ty)?,
                None => self.value()?,
            });
        }
        self.offset += usize::from(count.is_none());
        Ok(Value::Array(items))
    }

    fn entries(&mut self) -> Result<Value, ReplayError> {
        let (ty, count) = self.container()?;
        let mut entries = Vec::new();
        while count.map_or(self.peek() != Some(b'}'), |n| entries.len() < n) {
            let key = self.text()?;
            let value = match ty {
                Some(ty) => self.value_of(ty)?,
                None => self.value()?,
            };
            entries.push((key, value));
        }
        self.offset += usize::from(count.is_none());
        Ok(Value::Object(entries))
    }
}

/// Appends a key: its length and its bytes.
pub(crate) fn write_key(key: &str, out: &mut Vec<u8>) {
    write_length(key.len(), out);
    out.extend_from_slice(key.as_bytes());
}

fn write_length(length: usize, out: &mut Vec<u8>) {
    if let Ok(short) = u8::try_from(length) {
        out.extend_from_slice(&[b'U', short]);
    } else {
        write_value(&Value::Integer(length as i64), out);
    }
}

/// Appends a value. Integers take 32 bits where they fit, as other readers of replays expect.
pub(crate) fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(b'Z'),
        Value::Bool(true) => out.push(b'T'),
        Value::Bool(false) => out.push(b'F'),
        Value::Integer(number) => {
            if let Ok(number) = i32::try_from(*number) {
                out.push(b'l');
                out.extend_from_slice(&number.to_be_bytes());
            } else {
                out.push(b'L');
                out.extend_from_slice(&number.to_be_bytes());
            }
        }
        Value::Float(number) => {
            out.push(b'D');
            out.extend_from_slice(&number.to_be_bytes());
        }
        Value::Text(text) => {
            out.push(b'S');
            write_key(text, out);
        }
        Value::Array(items) => {
            out.push(b'[');
            for item in items {
                write_value(item, out);
            }
            out.push(b']');
        }
        Value::Object(entries) => {
            out.push(b'{');
            for (key, value) in entries {
                write_key(key, out);
                write_value(value, out);
            }
            out.push(b'}');
        }
    }
}
