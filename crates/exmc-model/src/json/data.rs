//! Named data as CmdStan's JSON files hold them -> tensors, and their fit with a model's
//! declarations.

use std::collections::BTreeMap;

use exmc_graph::{DType, Shape, Tensor};

use super::lines::Lines;
use super::parse::parse;
use super::place::Place;
use super::tensor::{DATA, indices, is_integer, numbers};
use super::value::Value;
use crate::diagnostic::{Code, Diagnostic, ModelError, Origin, closest};
use crate::model::{Data, Model};

/// Values of data variables by name.
///
/// Arrays whose numbers are all written without fraction and exponent hold integers, all others
/// real numbers; an integer becomes a real number where one is declared.
#[derive(Clone, Debug, Default)]
pub struct DataSet {
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    value: Tensor,
    origin: Option<Origin>,
}

/// Reads data: one JSON object from names to numbers and nested arrays of numbers.
///
/// As CmdStan's reader does, this takes `NaN`, `Infinity` and `-Infinity` as bare words and, like
/// `Inf` and `-Inf`, as strings. Unlike it, this refuses keys that are given twice.
///
/// # Errors
/// Everything that is wrong, each with the variable, the element, line and column.
///
/// ```
/// let data = exmc_model::read_data(r#"{"J": 3, "y": [28, 8.5, NaN]}"#)?;
/// assert_eq!(data.get("J").and_then(|j| j.as_scalar()), Some(3.0));
/// assert!(data.get("y").is_some_and(|y| y.values()[2].is_nan()));
/// # Ok::<(), exmc_model::ModelError>(())
/// ```
pub fn read_data(text: &str) -> Result<DataSet, ModelError> {
    let document = parse(text, true)?;
    let lines = Lines::new(text);
    let root = Place::root(&lines, &document);
    if !matches!(root.value(), Value::Object(_)) {
        return Err(root.expected("an object of data by name").into());
    }
    let (mut data, mut mistakes) = (DataSet::default(), Vec::new());
    for (name, place) in root.fields() {
        let value = match place.value() {
            Value::Object(_) => Err(place
                .mistake(Code::BadData, "expected a number or an array, found an object")
                .help("tuples are not data here")),
            _ => numbers(&place, DATA).and_then(|n| n.into_data(&place)),
        };
        match value {
            Ok(value) => {
                let origin = Some(place.origin());
                data.entries.insert(name.to_owned(), Entry { value, origin });
            }
            Err(mistake) => mistakes.push(mistake.at(name, &place.origin())),
        }
    }
    ModelError::check(mistakes)?;
    Ok(data)
}

impl DataSet {
    /// No data.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value, or replaces the one of that name.
    pub fn insert(&mut self, name: impl Into<String>, value: Tensor) -> &mut Self {
        self.entries.insert(name.into(), Entry { value, origin: None });
        self
    }

    /// Adds all of other data, each in the place of the one of its name, with where it was read.
    pub fn replace(&mut self, with: &Self) -> &mut Self {
        self.entries.extend(with.entries.iter().map(|(name, entry)| (name.clone(), entry.clone())));
        self
    }

    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.entries.get(name).map(|entry| &entry.value)
    }

    /// Names and values, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), &entry.value))
    }

    /// Whether these data fit a model: all that it declares without a value is here, nothing else
    /// is, and shapes and kinds agree.
    ///
    /// # Errors
    /// Every misfit, with [`Code::MissingData`], [`Code::UnknownData`] or [`Code::BadData`].
    pub fn check_against(&self, model: &Model) -> Result<(), ModelError> {
        self.bind(model).map(drop)
    }

    /// The value of every data variable of a model, exactly as declared: these data where they give
    /// one, else the model's own.
    ///
    /// An array without elements fits any declared shape without elements, because nested arrays
    /// cannot tell `[0, 3]` from `[0]`.
    ///
    /// # Errors
    /// As [`check_against`](Self::check_against).
    pub fn bind(&self, model: &Model) -> Result<BTreeMap<String, Tensor>, ModelError> {
        let (mut bound, mut mistakes) = (BTreeMap::new(), Vec::new());
        for (name, declared) in model.data() {
            let given = match (self.entries.get(name), &declared.value) {
                (Some(entry), _) => entry.fit(name, declared),
                (None, Some(value)) => Ok(value.clone()),
                (None, None) => {
                    let (dtype, shape) = (declared.dtype, &declared.shape);
                    let message =
                        format!("there is no value for the {dtype} data of shape {shape}");
                    let mistake = Diagnostic::new(Code::MissingData, message);
                    Err(mistake.at(name, &model.nodes()[name].origin))
                }
            };
            match given {
                Ok(value) => {
                    bound.insert(name.to_owned(), value);
                }
                Err(mistake) => mistakes.push(mistake),
            }
        }
        let is_declared = |name: &str| model.data().any(|(declared, _)| declared == name);
        for (name, entry) in self.entries.iter().filter(|(name, _)| !is_declared(name)) {
            let message = "the model declares no data of that name";
            let mistake = entry.mistake(name, Code::UnknownData, message.to_owned());
            mistakes.push(match closest(name, model.data().map(|(declared, _)| declared)) {
                Some(meant) => mistake.help(format!("did you mean `{meant}`?")),
                None if model.nodes().contains_key(name) => {
                    mistake.help("only nodes of kind \"data\" take values from outside")
                }
                None => mistake,
            });
        }
        ModelError::check(mistakes)?;
        Ok(bound)
    }
}

impl From<&DataSet> for DataSet {
    fn from(data: &DataSet) -> Self {
        data.clone()
    }
}

impl From<&BTreeMap<String, Tensor>> for DataSet {
    fn from(values: &BTreeMap<String, Tensor>) -> Self {
        let entry = |(name, value): (&String, &Tensor)| {
            (name.clone(), Entry { value: value.clone(), origin: None })
        };
        Self { entries: values.iter().map(entry).collect() }
    }
}

impl Entry {
    fn mistake(&self, name: &str, code: Code, message: String) -> Diagnostic {
        let mut mistake = Diagnostic::new(code, message);
        mistake.node = Some(name.to_owned());
        mistake.origin = self.origin.clone();
        mistake
    }

    /// The value as declared.
    fn fit(&self, name: &str, declared: &Data) -> Result<Tensor, Diagnostic> {
        let bad = |message: String| self.mistake(name, Code::BadData, message);
        let (found, wanted) = (self.value.shape(), &declared.shape);
        let value = if found == wanted {
            self.value.clone()
        } else if found.is_empty() && wanted.is_empty() {
            self.value.reshaped(wanted.clone()).expect("both shapes hold no element")
        } else {
            let what = |shape: &Shape| {
                if shape.is_scalar() { "a number".to_owned() } else { format!("shape {shape}") }
            };
            return Err(bad(format!("expected {}, found {}", what(wanted), what(found))));
        };
        if declared.dtype == DType::Real {
            return Ok(value.into_real());
        }
        if let Some(k) = value.values().iter().position(|v| !is_integer(*v)) {
            let (offender, element) = (value.values()[k], indices(value.shape(), k));
            let element: String = element.iter().map(|i| format!("[{i}]")).collect();
            let message = format!("expected integers, but `{name}{element}` is {offender:?}");
            return Err(if offender.trunc() == offender && offender.is_finite() {
                bad(message).help("integers lie between -2^53 and 2^53")
            } else {
                bad(message)
            });
        }
        Ok(value.into_int().expect("every value was checked"))
    }
}
