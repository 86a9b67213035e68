//! JSON text -> values as they were written: nested arrays of numbers are one flat list with
//! extents.

use crate::data::cursor::{Cursor, MAX_DEPTH, Malformed};

/// A value as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    /// A number, or arrays of numbers of equal lengths.
    Numbers {
        /// Extents; none for one number.
        shape: Vec<usize>,
        /// Elements row by row.
        values: Vec<f64>,
        /// The first element that was not written as an integer.
        first_real: Option<usize>,
    },
    /// An array of objects, or of arrays of them.
    List(Vec<Raw>),
    /// An object.
    Object(Vec<(String, Raw)>),
}

impl Raw {
    /// An array without elements.
    pub(crate) fn empty() -> Self {
        Self::Numbers { shape: vec![0], values: Vec::new(), first_real: None }
    }
}

/// Takes a value.
pub(crate) fn parse(cursor: &mut Cursor<'_>, depth: usize) -> Result<Raw, Malformed> {
    if depth > MAX_DEPTH {
        return cursor.error(format!("arrays and objects are nested more than {MAX_DEPTH} deep"));
    }
    match cursor.peek() {
        Some(b'[') if holds_objects(cursor) => {
            cursor.position += 1;
            let mut items = Vec::new();
            loop {
                items.push(parse(cursor, depth + 1)?);
                if cursor.take(b']') {
                    return Ok(Raw::List(items));
                }
                cursor.comma("]")?;
            }
        }
        Some(b'[') => {
            let mut list = Flat::default();
            list.array(cursor, 0)?;
            let shape = list.shape.into_iter().map(|extent| extent.unwrap_or(0)).collect();
            Ok(Raw::Numbers { shape, values: list.values, first_real: list.first_real })
        }
        Some(b'{') => object(cursor, depth),
        _ => {
            let number = cursor.number()?;
            let first_real = if number.is_int { None } else { Some(0) };
            Ok(Raw::Numbers { shape: Vec::new(), values: vec![number.value], first_real })
        }
    }
}

/// Whether the first thing inside these brackets that is no bracket is an object.
fn holds_objects(cursor: &Cursor<'_>) -> bool {
    let rest = cursor.bytes[cursor.position..].iter();
    rest.copied().find(|b| !matches!(b, b'[' | b' ' | b'\n' | b'\t' | b'\r')) == Some(b'{')
}

fn object(cursor: &mut Cursor<'_>, depth: usize) -> Result<Raw, Malformed> {
    cursor.position += 1;
    let mut slots: Vec<(String, Raw)> = Vec::new();
    if cursor.take(b'}') {
        return Ok(Raw::Object(slots));
    }
    loop {
        cursor.peek();
        let start = cursor.position;
        let key = String::from_utf8_lossy(&cursor.string()?).into_owned();
        if slots.iter().any(|(name, _)| *name == key) {
            let message = format!("\"{key}\" is there twice");
            return Err(Malformed { start, end: cursor.position, message });
        }
        cursor.colon()?;
        slots.push((key, parse(cursor, depth + 1)?));
        if cursor.take(b'}') {
            return Ok(Raw::Object(slots));
        }
        cursor.comma("}")?;
    }
}

/// Nested arrays of numbers while they are read.
#[derive(Default)]
struct Flat {
    values: Vec<f64>,
    first_real: Option<usize>,
    /// The length of arrays at each depth, once the first of them has ended.
    shape: Vec<Option<usize>>,
    /// The depth of arrays that hold numbers, once one was seen.
    leaf: Option<usize>,
}

impl Flat {
    fn array(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), Malformed> {
        if depth > MAX_DEPTH {
            return cursor
                .error(format!("arrays and objects are nested more than {MAX_DEPTH} deep"));
        }
        let start = cursor.position;
        if self.leaf.is_some_and(|leaf| depth > leaf) {
            return cursor.error("expected a number, as in the elements before, found an array");
        }
        cursor.position += 1;
        if self.shape.len() <= depth {
            self.shape.push(None);
        }
        let mut count = 0;
        if !cursor.take(b']') {
            loop {
                if cursor.peek() == Some(b'[') {
                    self.array(cursor, depth + 1)?;
                } else {
                    self.number(cursor, depth)?;
                    count += self.plain_numbers(cursor);
                }
                count += 1;
                if cursor.take(b']') {
                    break;
                }
                cursor.comma("]")?;
            }
        }
        match self.shape[depth] {
            Some(wanted) if wanted != count => {
                let message = format!(
                    "this array has {count} elements, but the ones before it have {wanted}: arrays must be \
                     rectangular"
                );
                Err(Malformed { start, end: cursor.position, message })
            }
            _ => {
                self.shape[depth] = Some(count);
                Ok(())
            }
        }
    }

    /// The numbers that follow one, as far as they are written plainly.
    fn plain_numbers(&mut self, cursor: &mut Cursor<'_>) -> usize {
        let Self { values, first_real, .. } = self;
        cursor.plain_numbers(|value, is_int| {
            if !is_int && first_real.is_none() {
                *first_real = Some(values.len());
            }
            values.push(value);
        })
    }

    fn number(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), Malformed> {
        if *self.leaf.get_or_insert(depth) != depth || self.shape.len() > depth + 1 {
            return cursor.error("expected an array, as in the elements before, found a number");
        }
        let number = cursor.number()?;
        if !number.is_int && self.first_real.is_none() {
            self.first_real = Some(self.values.len());
        }
        self.values.push(number.value);
        Ok(())
    }
}
