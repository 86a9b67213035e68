//! Nested arrays of numbers -> tensors, rectangular or refused; and tensors -> text that reads back
//! as the same bits.

use exmc_graph::{DType, Shape, Tensor};

use super::place::Place;
use super::value::{LIMIT, Number, Spelling, Value, non_finite};
use crate::diagnostic::{Code, Diagnostic};

/// What an array may hold beside numbers, and the code of its mistakes.
#[derive(Clone, Copy)]
pub(super) struct Holds {
    /// `null` for elements that are missing.
    pub(super) null: bool,
    /// `"NaN"`, `"Infinity"` and so on.
    pub(super) words: bool,
    pub(super) code: Code,
}

/// Constants of expressions.
pub(super) const CONSTANT: Holds = Holds { null: false, words: false, code: Code::BadJson };
/// The values of data.
pub(super) const DATA: Holds = Holds { null: false, words: true, code: Code::BadData };
/// The value of an observation.
pub(super) const OBSERVED: Holds = Holds { null: true, words: false, code: Code::BadObservation };

/// Numbers read from nested arrays.
pub(super) struct Numbers {
    shape: Shape,
    values: Vec<f64>,
    /// Positions of `null`, where the value is 0.
    pub(super) missing: Vec<usize>,
    /// Every number was written without fraction and exponent.
    are_whole: bool,
    /// Position of the first whole number of magnitude 2^53 or more.
    too_large: Option<usize>,
    code: Code,
}

/// Reads a number or nested arrays of numbers.
pub(super) fn numbers(place: &Place<'_>, holds: Holds) -> Result<Numbers, Diagnostic> {
    let mut extents = Vec::new();
    let mut node = place.node;
    while let Value::Array(elements) = &node.value {
        extents.push(elements.len());
        match elements.first() {
            Some(first) => node = first,
            None => break,
        }
    }
    let shape = Shape::from(extents);
    let mut numbers = Numbers {
        values: Vec::new(),
        shape: shape.clone(),
        missing: Vec::new(),
        are_whole: true,
        too_large: None,
        code: holds.code,
    };
    numbers.collect(place, shape.extents(), holds)?;
    Ok(numbers)
}

impl Numbers {
    fn collect(
        &mut self,
        place: &Place<'_>,
        extents: &[usize],
        holds: Holds,
    ) -> Result<(), Diagnostic> {
        let wrong = |what: &str| {
            let message = format!("expected {what}, found {}", place.value().describe());
            place.mistake(holds.code, message)
        };
        match (place.value(), extents.split_first()) {
            (Value::Array(elements), Some((&extent, rest))) => {
                if elements.len() != extent {
                    let found = elements.len();
                    let message =
                        format!("the array is ragged: {found} element(s) here, {extent} before");
                    return Err(place.mistake(holds.code, message));
                }
                for element in place.elements("an array")? {
                    self.collect(&element, rest, holds)?;
                }
                Ok(())
            }
            (_, Some((extent, _))) => Err(wrong(&format!("an array of {extent} element(s)"))),
            (Value::Number(number), None) => {
                self.push(*number);
                Ok(())
            }
            (Value::Null, None) if holds.null => {
                self.missing.push(self.values.len());
                self.values.push(0.0);
                Ok(())
            }
            (Value::String(word), None) if holds.words => match non_finite(word) {
                Some(value) => {
                    self.push(Number { value, spelling: Spelling::Real });
                    Ok(())
                }
                None => Err(wrong("a number")
                    .help("the only strings among numbers are NaN, Infinity and -Infinity")),
            },
            (Value::Null, None) if holds.code == Code::BadData => {
                Err(wrong("a number").help("data have no missing elements; leave them out"))
            }
            (Value::String(_), None) => {
                Err(wrong("a number")
                    .help("to build an array of expressions write [\"stack\", ...]"))
            }
            _ => Err(wrong("a number")),
        }
    }

    fn push(&mut self, number: Number) {
        match number.spelling {
            Spelling::Whole => {}
            Spelling::Real => self.are_whole = false,
            Spelling::WholeTooLarge => {
                self.too_large.get_or_insert(self.values.len());
            }
        }
        self.values.push(number.value);
    }

    /// The tensor under another shape of as many elements, for arrays of no elements.
    pub(super) fn reshape(&mut self, place: &Place<'_>, shape: Shape) -> Result<(), Diagnostic> {
        if self.shape != shape && !(self.shape.is_empty() && shape.is_empty()) {
            let message = format!("the value has shape {}, not the declared {shape}", self.shape);
            return Err(place.mistake(Code::ShapeMismatch, message));
        }
        self.shape = shape;
        Ok(())
    }

    /// The tensor; without a declared kind it holds integers when every number was written as one.
    pub(super) fn into_tensor(
        self,
        place: &Place<'_>,
        declared: Option<DType>,
    ) -> Result<Tensor, Diagnostic> {
        let dtype = declared.unwrap_or(
            if self.are_whole && self.missing.len() < self.values.len().max(1) {
                DType::Int
            } else {
                DType::Real
            },
        );
        let Self { shape, values, too_large, code, .. } = self;
        if dtype == DType::Real {
            return Ok(Tensor::real(shape, values).expect("one value an element was collected"));
        }
        if let Some(k) = too_large {
            let element = indices(&shape, k);
            let shown = place.number_text(&element);
            let message = format!("{shown} is too large to be an exact integer");
            let help =
                "integers lie between -2^53 and 2^53; a real number has a fraction: 1e16, 5.0";
            return Err(place.mistake_at(&element, code, message).help(help));
        }
        if let Some(k) = values.iter().position(|v| !is_integer(*v)) {
            let message = format!("expected an integer, found {}", values[k]);
            return Err(place.mistake_at(&indices(&shape, k), code, message));
        }
        Ok(Tensor::int(shape, values).expect("every value was checked to be an integer"))
    }

    /// As data are kept until their declaration is known: integers when they can be.
    pub(super) fn into_data(self, place: &Place<'_>) -> Result<Tensor, Diagnostic> {
        let exact = self.are_whole && self.too_large.is_none();
        self.into_tensor(place, Some(if exact { DType::Int } else { DType::Real }))
    }
}

/// Whether a value is an integer that an `f64` holds exactly.
pub(super) fn is_integer(value: f64) -> bool {
    value.trunc() == value && value.abs() < LIMIT
}

/// Indices of the element at a row-major position.
pub(super) fn indices(shape: &Shape, position: usize) -> Vec<usize> {
    let strides = shape.strides();
    let extents = shape.extents().iter().zip(&strides);
    extents.map(|(extent, stride)| position / stride.max(&1) % extent.max(&1)).collect()
}

/// `{"tensor": [...], "shape": [...], "dtype": ...}`, for what nested arrays cannot say.
pub(super) fn flat_tensor(place: &Place<'_>) -> Result<Tensor, Diagnostic> {
    let what = "a tensor";
    place.check_keys(what, &["tensor", "shape", "dtype"])?;
    let shape = place.need("shape", what)?.shape()?;
    let dtype = place.get("dtype").map(|d| read_dtype(&d)).transpose()?;
    let flat = place.need("tensor", what)?;
    let holds = Holds { words: true, ..CONSTANT };
    let read = numbers(&flat, holds)?;
    if read.shape.rank() != 1 {
        return Err(flat.expected("a flat array of the elements, row by row"));
    }
    if read.values.len() != shape.len() {
        let (found, wanted) = (read.values.len(), shape.len());
        let message = format!("shape {shape} has {wanted} element(s), found {found}");
        return Err(flat.mistake(Code::BadJson, message));
    }
    let tensor = read.into_tensor(&flat, dtype)?;
    Ok(tensor.reshaped(shape).expect("the number of elements was checked"))
}

/// `"real"` or `"int"`.
pub(super) fn read_dtype(place: &Place<'_>) -> Result<DType, Diagnostic> {
    match place.string("\"real\" or \"int\"")? {
        "real" => Ok(DType::Real),
        "int" => Ok(DType::Int),
        _ => Err(place.expected("\"real\" or \"int\"")),
    }
}

/// The text of a constant: a number, nested arrays, or the flat form where these would not do.
pub(super) fn write_tensor(tensor: &Tensor, out: &mut String) {
    let (shape, dtype) = (tensor.shape(), tensor.dtype());
    let finite = tensor.values().iter().all(|v| v.is_finite());
    let empty = shape.is_empty();
    if finite && !empty {
        write_nested(tensor.values(), shape.extents(), dtype, out);
        return;
    }
    out.push_str("{\"tensor\": ");
    write_nested(tensor.values(), &[tensor.values().len()], dtype, out);
    out.push_str(&format!(", \"shape\": {shape}"));
    if empty {
        out.push_str(&format!(", \"dtype\": \"{dtype}\""));
    }
    out.push('}');
}

/// Nested arrays, with the elements at `missing` (ascending) written as null.
pub(super) fn write_with_missing(tensor: &Tensor, missing: &[usize], out: &mut String) {
    let mut write = |k: usize, out: &mut String| {
        if missing.binary_search(&k).is_ok() {
            out.push_str("null");
        } else {
            write_number(tensor.values()[k], tensor.dtype(), out);
        }
    };
    nest(tensor.shape().extents(), &mut 0, &mut write, out);
}

fn write_nested(values: &[f64], extents: &[usize], dtype: DType, out: &mut String) {
    let mut write = |k: usize, out: &mut String| write_number(values[k], dtype, out);
    nest(extents, &mut 0, &mut write, out);
}

fn nest(
    extents: &[usize],
    next: &mut usize,
    write: &mut dyn FnMut(usize, &mut String),
    out: &mut String,
) {
    let Some((&extent, rest)) = extents.split_first() else {
        write(*next, out);
        *next += 1;
        return;
    };
    out.push('[');
    for k in 0..extent {
        if k > 0 {
            out.push_str(", ");
        }
        nest(rest, next, write, out);
    }
    out.push(']');
}

/// The shortest text that reads back as the same bits; real numbers keep a point or an exponent.
fn write_number(value: f64, dtype: DType, out: &mut String) {
    let text = if value.is_nan() {
        "\"NaN\"".to_owned()
    } else if value == f64::INFINITY {
        "\"Infinity\"".to_owned()
    } else if value == f64::NEG_INFINITY {
        "\"-Infinity\"".to_owned()
    } else if dtype == DType::Int {
        format!("{value}")
    } else {
        format!("{value:?}")
    };
    out.push_str(&text);
}
