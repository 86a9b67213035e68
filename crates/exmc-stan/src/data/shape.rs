//! A value as it was written and a declared type with known sizes -> a value of that type.

use crate::data::raw::Raw;
use crate::host::declare::{coordinates, show_path};
use crate::host::{Extents, Step};
use crate::typed::Type;
use crate::value::{Numbers, Value};

/// Why a value is not of the declared type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wrong {
    /// Which part of it.
    pub(crate) path: Vec<Step>,
    /// To be read after its name.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) help: Option<String>,
}

impl Wrong {
    pub(crate) fn sentence(&self, name: &str) -> String {
        format!("{} {}", show_path(name, &self.path), self.message)
    }
}

fn wrong(path: &[Step], message: impl Into<String>) -> Wrong {
    Wrong { path: path.to_vec(), message: message.into(), help: None }
}

/// The value, promoted to the type.
pub(crate) fn value(
    raw: Raw,
    ty: &Type,
    extents: &Extents,
    path: &mut Vec<Step>,
) -> Result<Value, Wrong> {
    match (extents, raw) {
        (Extents::Numbers(shape), Raw::Numbers { shape: found, values, first_real }) => {
            numbers(ty, shape, (&found, values, first_real), path)
        }
        (Extents::Numbers(_), _) => {
            Err(wrong(path, "is an object, but is declared to hold numbers"))
        }
        (Extents::Tuple(slots), Raw::Object(found)) => {
            let Type::Tuple(types) = ty else { return Err(wrong(path, "is no tuple")) };
            tuple(&found, types, slots, path)
        }
        (Extents::Tuple(slots), _) => {
            let mut wrong = wrong(path, format!("is declared as a tuple of {} slots", slots.len()));
            wrong.help = Some("write a tuple as {\"1\": …, \"2\": …}".to_owned());
            Err(wrong)
        }
        (Extents::Tuples(shape, slots), raw) => {
            let element = ty.array_parts().1;
            let mut all = Vec::new();
            list(&raw, element, (shape, slots), path, &mut all)?;
            Ok(Value::Tuples(Numbers::new(shape.clone(), all)))
        }
    }
}

fn tuple(
    found: &[(String, Raw)],
    types: &[Type],
    slots: &[Extents],
    path: &mut Vec<Step>,
) -> Result<Value, Wrong> {
    if let Some((name, _)) = found
        .iter()
        .find(|(key, _)| !key.parse().is_ok_and(|k: usize| (1..=slots.len()).contains(&k)))
    {
        return Err(wrong(
            path,
            format!("has a slot \"{name}\"; its slots are 1 to {}", slots.len()),
        ));
    }
    let mut values = Vec::with_capacity(slots.len());
    for (k, (ty, extents)) in types.iter().zip(slots).enumerate() {
        let number = k + 1;
        let Some((_, raw)) = found.iter().find(|(key, _)| *key == number.to_string()) else {
            return Err(wrong(path, format!("has no slot \"{number}\"")));
        };
        path.push(Step::Slot(number));
        values.push(value(raw.clone(), ty, extents, path)?);
        path.pop();
    }
    Ok(Value::Tuple(values))
}

fn list(
    raw: &Raw,
    element: &Type,
    (shape, slots): (&[usize], &Vec<Extents>),
    path: &mut Vec<Step>,
    all: &mut Vec<Value>,
) -> Result<(), Wrong> {
    let Some((extent, rest)) = shape.split_first() else {
        all.push(value(raw.clone(), element, &Extents::Tuple(slots.clone()), path)?);
        return Ok(());
    };
    let empty = shape.contains(&0);
    let items: &[Raw] = match raw {
        Raw::List(items) => items,
        Raw::Numbers { values, .. } if values.is_empty() && empty => return Ok(()),
        _ => return Err(wrong(path, "is declared as an array of tuples")),
    };
    if items.len() != *extent {
        let found = items.len();
        return Err(wrong(
            path,
            format!("is declared with {extent} elements, but the data have {found}"),
        ));
    }
    for (k, item) in items.iter().enumerate() {
        path.push(Step::Index(k + 1));
        list(item, element, (rest, slots), path, all)?;
        path.pop();
    }
    Ok(())
}

/// Integers that Stan can hold.
const INTS: std::ops::RangeInclusive<f64> = (i32::MIN as f64)..=(i32::MAX as f64);

fn numbers(
    ty: &Type,
    shape: &[usize],
    (found, values, first_real): (&[usize], Vec<f64>, Option<usize>),
    path: &[Step],
) -> Result<Value, Wrong> {
    let element = ty.array_parts().1;
    let complex = crate::check::types::is_complex(ty);
    let mut wanted = shape.to_vec();
    if complex {
        wanted.push(2);
    }
    // `[]` stands for anything without elements.
    let both_empty = values.is_empty() && shape.contains(&0);
    if found != wanted && !both_empty {
        return Err(size(shape, found, complex, path));
    }
    let path_of = |k: usize| path.iter().copied().chain(coordinates(shape, k)).collect::<Vec<_>>();
    if *element == Type::Int {
        if let Some(k) = first_real {
            let message = format!("is {}, but must be an integer", written(values[k]));
            let is_whole = values[k] == values[k].trunc() && INTS.contains(&values[k]);
            let help =
                is_whole.then(|| format!("write it as {}, without point or exponent", values[k]));
            return Err(Wrong { path: path_of(k), message, help });
        }
        let outside = |x: &f64| !INTS.contains(x);
        // Counted first, which needs no branch for each.
        if values.iter().filter(|x| outside(x)).count() > 0
            && let Some(k) = values.iter().position(outside)
        {
            let message = format!("is {}, which 32-bit integers cannot hold", values[k]);
            return Err(Wrong { path: path_of(k), message, help: None });
        }
        let ints: Vec<i64> = values.iter().map(|x| i64::from(*x as i32)).collect();
        return Ok(match shape {
            [] => Value::Int(ints[0]),
            _ => Value::Ints(Numbers::new(shape, ints)),
        });
    }
    if complex {
        let pairs: Vec<[f64; 2]> = values.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        return Ok(match shape {
            [] => Value::Complex(pairs[0]),
            _ => Value::Complexes(Numbers::new(shape, pairs)),
        });
    }
    Ok(match shape {
        [] => Value::Real(values[0]),
        _ => Value::Reals(Numbers::new(shape, values)),
    })
}

/// A number that was not written as an integer: with a point, so that it does not look like one.
fn written(x: f64) -> String {
    match x {
        _ if x.is_nan() => "NaN".to_owned(),
        _ if x == x.trunc() && x.abs() < 1e15 => format!("{x:.1}"),
        _ => x.to_string(),
    }
}

/// The message of a value of other extents.
fn size(shape: &[usize], found: &[usize], complex: bool, path: &[Step]) -> Wrong {
    let list =
        |shape: &[usize]| shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let declared = match (shape, complex) {
        ([], false) => "one number".to_owned(),
        ([], true) => "one complex number, a pair".to_owned(),
        (_, false) => format!("size [{}]", list(shape)),
        (_, true) => format!("size [{}] of complex numbers, which are pairs", list(shape)),
    };
    let present = match found {
        [] => "one number".to_owned(),
        _ => format!("size [{}]", list(found)),
    };
    let mut wrong = wrong(path, format!("is declared as {declared}, but the data have {present}"));
    if shape == [1] && found.is_empty() {
        wrong.help = Some("write the number in brackets: [x]".to_owned());
    } else if shape.is_empty() && found == [1] && !complex {
        wrong.help = Some("write the number without brackets".to_owned());
    } else if shape.len() == 2 && found.len() == 2 && shape[0] == found[1] && shape[1] == found[0] {
        wrong.help = Some("matrices are written row by row; this one looks transposed".to_owned());
    }
    wrong
}
