//! What JSON text holds: values that know where they stand.

/// A value with the byte at which it starts.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub(super) offset: usize,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    Number(Number),
    String(String),
    Array(Vec<Located>),
    Object(Vec<Entry>),
}

/// A key of an object, with the byte at which it starts, and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) offset: usize,
    pub(super) key: String,
    pub(super) value: Located,
}

/// A number and how it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) value: f64,
    pub(super) spelling: Spelling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Without fraction and exponent, and small enough to be exact.
    Whole,
    /// Without fraction and exponent, but of magnitude 2^53 or more.
    WholeTooLarge,
    /// With a fraction or an exponent, or not finite.
    Real,
}

impl Value {
    /// What it is, for "expected …, found …".
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Boolean(value) => value.to_string(),
            Self::Number(number) => format!("the number {}", number.value),
            Self::String(text) => format!("the string {text:?}"),
            Self::Array(elements) => format!("an array of {} element(s)", elements.len()),
            Self::Object(_) => "an object".to_owned(),
        }
    }
}

/// Integers of this magnitude and above have neighbours that are the same `f64`.
pub(super) const LIMIT: f64 = 9_007_199_254_740_992.0;

/// The number that a word for a non-finite one stands for, with the spellings that Stan takes.
pub(super) fn non_finite(word: &str) -> Option<f64> {
    match word {
        "NaN" | "nan" => Some(f64::NAN),
        "Infinity" | "+Infinity" | "Inf" | "+Inf" | "inf" | "+inf" => Some(f64::INFINITY),
        "-Infinity" | "-Inf" | "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}
