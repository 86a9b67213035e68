//! Sizes, parts, repetitions and rearrangements of containers.

use super::{Call, matrix_value};
use crate::host::declare::checked_len;
use crate::host::error::Fault;
use crate::host::expression::{read_value, stack};
use crate::host::index::{self, Choice};
use crate::host::numeric;
use crate::host::operators::transposed;
use crate::typed::Type;
use crate::value::{Numbers, Value};

type Plain = fn(&Call<'_>) -> Result<Value, Fault>;

/// Names and functions.
pub(crate) const FUNCTIONS: &[(&str, Plain)] = &[
    ("size", size),
    ("num_elements", |c| Ok(Value::Int(len(c.arg(0)?) as i64))),
    ("rows", |c| Ok(Value::Int(extents(c)?.0 as i64))),
    ("cols", |c| Ok(Value::Int(extents(c)?.1 as i64))),
    ("dims", |c| Ok(Value::ints(c.arg(0)?.shape().iter().map(|n| *n as i64).collect()))),
    ("rep_vector", |c| repeat(c, &[1])),
    ("rep_row_vector", |c| repeat(c, &[1])),
    ("rep_matrix", rep_matrix),
    ("rep_array", rep_array),
    ("row", |c| part(c, &[One(1)])),
    ("col", |c| part(c, &[All, One(1)])),
    ("block", |c| part(c, &[Span(1, 3), Span(2, 4)])),
    ("sub_row", |c| part(c, &[One(1), Span(2, 3)])),
    ("sub_col", |c| part(c, &[Span(1, 3), One(2)])),
    ("segment", |c| part(c, &[Span(1, 2)])),
    ("head", head),
    ("tail", tail),
    ("append_row", append_row),
    ("append_col", append_col),
    ("append_array", append_array),
    ("to_vector", flatten),
    ("to_row_vector", flatten),
    ("to_array_1d", flatten),
    ("to_array_2d", |c| Ok(c.arg(0)?.clone())),
    ("to_matrix", to_matrix),
    ("transpose", |c| crate::host::operators::transpose(c.arg(0)?)),
    ("linspaced_vector", linspaced),
    ("linspaced_row_vector", linspaced),
    ("linspaced_array", linspaced),
    ("linspaced_int_array", linspaced_ints),
    ("ones_vector", |c| filled(c, 1.0)),
    ("ones_row_vector", |c| filled(c, 1.0)),
    ("ones_array", |c| filled(c, 1.0)),
    ("ones_int_array", |c| Ok(Value::ints(vec![1; checked_len(&[c.count(0)?])?]))),
    ("zeros_vector", |c| filled(c, 0.0)),
    ("zeros_row_vector", |c| filled(c, 0.0)),
    ("zeros_array", |c| filled(c, 0.0)),
    ("zeros_int_array", |c| Ok(Value::ints(vec![0; checked_len(&[c.count(0)?])?]))),
    ("uniform_simplex", uniform_simplex),
    ("one_hot_vector", one_hot),
    ("one_hot_row_vector", one_hot),
    ("one_hot_array", one_hot),
    ("one_hot_int_array", |c| {
        let Value::Reals(n) = one_hot(c)? else { return Err(c.missing()) };
        Ok(Value::ints(n.values.iter().map(|x| *x as i64).collect()))
    }),
    ("pi", |_| Ok(Value::Real(std::f64::consts::PI))),
    ("e", |_| Ok(Value::Real(std::f64::consts::E))),
    ("sqrt2", |_| Ok(Value::Real(std::f64::consts::SQRT_2))),
    // Constants without an argument, functions with one.
    ("log2", |c| constant_or(c, std::f64::consts::LN_2, exmc_math::log2)),
    ("log10", |c| match c.types {
        [ty] if crate::check::types::is_complex(ty) => super::complex_functions::call(c),
        _ => constant_or(c, std::f64::consts::LN_10, exmc_math::log10),
    }),
    ("generate_laplace_options", |c| Ok(crate::lower::options_on_values(c.arg(0)?))),
    ("modulus", |c| match (c.int(0)?, c.int(1)?) {
        (a, 0) => Err(c.domain(format!("remainder of {a} divided by zero"))),
        (a, b) => Ok(Value::Int(a.wrapping_rem(b))),
    }),
    ("not_a_number", |_| Ok(Value::Real(f64::NAN))),
    ("positive_infinity", |_| Ok(Value::Real(f64::INFINITY))),
    ("negative_infinity", |_| Ok(Value::Real(f64::NEG_INFINITY))),
    ("machine_precision", |_| Ok(Value::Real(f64::EPSILON))),
];

fn constant_or(c: &Call<'_>, constant: f64, f: fn(f64) -> f64) -> Result<Value, Fault> {
    if c.args.is_empty() { Ok(Value::Real(constant)) } else { super::map1(c, f) }
}

fn len(value: &Value) -> usize {
    value.shape().iter().product()
}

fn size(c: &Call<'_>) -> Result<Value, Fault> {
    let value = c.arg(0)?;
    let count = match (c.types[0], value.shape()) {
        (Type::Array(_), [first, ..]) => *first,
        (_, shape) => shape.iter().product(),
    };
    Ok(Value::Int(count as i64))
}

fn extents(c: &Call<'_>) -> Result<(usize, usize), Fault> {
    let (shape, row) = (c.arg(0)?.shape(), super::reduce::is_row(c.types[0]));
    Ok(match shape {
        [rows, columns] => (*rows, *columns),
        [n] if row => (1, *n),
        [n] => (*n, 1),
        _ => return Err(c.missing()),
    })
}

/// The value of argument 0 under extents given by further arguments.
fn repeat(c: &Call<'_>, sizes: &[usize]) -> Result<Value, Fault> {
    let shape: Result<Vec<usize>, Fault> = sizes.iter().map(|k| c.count(*k)).collect();
    repeated(c.arg(0)?, shape?)
}

fn repeated(value: &Value, shape: Vec<usize>) -> Result<Value, Fault> {
    let full_shape: Vec<usize> = shape.iter().chain(value.shape()).copied().collect();
    checked_len(&full_shape)?;
    let count = shape.iter().product();
    Ok(match value {
        Value::Int(i) => Value::Ints(Numbers::filled(shape, *i)),
        Value::Real(x) => Value::Reals(Numbers::filled(shape, *x)),
        Value::Complex(z) => Value::Complexes(Numbers::filled(shape, *z)),
        Value::Tuple(_) => Value::Tuples(Numbers::filled(shape, value.clone())),
        Value::Ints(n) => Value::Ints(Numbers::new(full_shape, n.values.repeat(count))),
        Value::Reals(n) => Value::Reals(Numbers::new(full_shape, n.values.repeat(count))),
        Value::Complexes(n) => Value::Complexes(Numbers::new(full_shape, n.values.repeat(count))),
        Value::Tuples(n) => {
            let all = (0..count).flat_map(|_| n.values.iter().cloned()).collect();
            Value::Tuples(Numbers::new(full_shape, all))
        }
    })
}

fn rep_array(c: &Call<'_>) -> Result<Value, Fault> {
    let sizes: Vec<usize> = (1..c.args.len()).collect();
    let value = match (c.arg(0)?, c.returns.array_parts().1) {
        (Value::Int(i), Type::Real) => Value::Real(*i as f64),
        (value, _) => value.clone(),
    };
    let shape: Result<Vec<usize>, Fault> = sizes.iter().map(|k| c.count(*k)).collect();
    repeated(&value, shape?)
}

fn rep_matrix(c: &Call<'_>) -> Result<Value, Fault> {
    if c.args.len() == 3 {
        return match c.arg(0)? {
            Value::Complex(_) => repeat(c, &[1, 2]),
            _ => repeated(&Value::Real(c.real(0)?), vec![c.count(1)?, c.count(2)?]),
        };
    }
    // A column vector is repeated as columns, a row vector as rows.
    let (x, count) = (c.arg(0)?, c.count(1)?);
    let rows = repeated(x, vec![count])?;
    match (rows, super::reduce::is_row(c.types[0])) {
        (Value::Reals(n), false) => Ok(Value::Reals(transposed(&n))),
        (Value::Complexes(n), false) => Ok(Value::Complexes(transposed(&n))),
        (rows, _) => Ok(rows),
    }
}

/// What to take along one extent; the numbers are positions of arguments.
enum Take {
    All,
    One(usize),
    /// First element and count.
    Span(usize, usize),
}
use Take::{All, One, Span};

fn part(c: &Call<'_>, takes: &[Take]) -> Result<Value, Fault> {
    let value = c.arg(0)?;
    let found = takes.iter().zip(value.shape()).map(|(take, extent)| {
        Ok(match take {
            All => Choice::Range { start: 0, len: *extent },
            One(k) => Choice::One(index::position(c.int(*k)?, *extent)?),
            Span(first, count) => {
                let (first, count) = (c.int(*first)?, c.count(*count)? as i64);
                if count == 0 {
                    Choice::Range { start: 0, len: 0 }
                } else {
                    let last = first.saturating_add(count - 1);
                    index::range(Some(first), Some(last), *extent)?
                }
            }
        })
    });
    let choices: Result<Vec<Choice>, Fault> = found.collect();
    let named = |fault: Fault| Fault { message: format!("{}: {}", c.name, fault.message), ..fault };
    read_value(value, &choices.map_err(named)?)
}

fn head(c: &Call<'_>) -> Result<Value, Fault> {
    let (value, count) = (c.arg(0)?, c.count(1)?);
    ends(c, value, 0, count)
}

fn tail(c: &Call<'_>) -> Result<Value, Fault> {
    let (value, count) = (c.arg(0)?, c.count(1)?);
    let n = value.shape().first().copied().unwrap_or(0);
    ends(c, value, n.saturating_sub(count), count)
}

fn ends(c: &Call<'_>, value: &Value, start: usize, len: usize) -> Result<Value, Fault> {
    let n = value.shape().first().copied().unwrap_or(0);
    if len > n {
        let message = format!("{}: {len} elements are asked for, but there are {n}", c.name);
        return Err(Fault::index(message));
    }
    read_value(value, &[Choice::Range { start, len }])
}

fn append_row(c: &Call<'_>) -> Result<Value, Fault> {
    let (a, b) = (c.arg(0)?, c.arg(1)?);
    let is_matrix = matches!(c.returns, Type::Matrix | Type::ComplexMatrix);
    if is_matrix {
        let columns = |v: &Value| v.shape().last().copied().unwrap_or(0);
        if columns(a) != columns(b) {
            let (a, b) = (columns(a), columns(b));
            return Err(c.size(format!("the arguments have {a} and {b} columns")));
        }
        let rows = |v: &Value| if v.shape().len() == 2 { v.shape()[0] } else { 1 };
        return joined(a, b, vec![rows(a) + rows(b), columns(a)]);
    }
    joined(a, b, vec![len_or_one(a) + len_or_one(b)])
}

fn len_or_one(value: &Value) -> usize {
    if value.shape().is_empty() { 1 } else { len(value) }
}

/// The elements of one value, then those of the other.
fn joined(a: &Value, b: &Value, shape: Vec<usize>) -> Result<Value, Fault> {
    if let (Value::Complexes(_) | Value::Complex(_), _)
    | (_, Value::Complexes(_) | Value::Complex(_)) = (a, b)
    {
        let (a, b) = (numeric::to_complexes(a)?, numeric::to_complexes(b)?);
        let all = a.values.iter().chain(b.values.iter()).copied().collect();
        return Ok(Value::Complexes(Numbers::new(shape, all)));
    }
    let mut all = numeric::real_slice(a)?.into_owned();
    all.extend_from_slice(&numeric::real_slice(b)?);
    Ok(Value::Reals(Numbers::new(shape, all)))
}

fn append_col(c: &Call<'_>) -> Result<Value, Fault> {
    let (a, b) = (c.arg(0)?, c.arg(1)?);
    if matches!(c.returns, Type::RowVector | Type::ComplexRowVector) {
        return joined(a, b, vec![len_or_one(a) + len_or_one(b)]);
    }
    // As rows of the transposed matrices.
    let turned = |value: &Value| -> Result<Value, Fault> {
        let turned = crate::host::operators::transpose(value)?;
        Ok(turned)
    };
    let (a, b) = (turned(a)?, turned(b)?);
    let rows = |v: &Value| v.shape().last().copied().unwrap_or(0);
    if rows(&a) != rows(&b) {
        return Err(c.size(format!("the arguments have {} and {} rows", rows(&a), rows(&b))));
    }
    let columns = |v: &Value| if v.shape().len() == 2 { v.shape()[0] } else { 1 };
    let both = joined(&a, &b, vec![columns(&a) + columns(&b), rows(&a)])?;
    crate::host::operators::transpose(&both)
}

fn append_array(c: &Call<'_>) -> Result<Value, Fault> {
    let (a, b) = (c.arg(0)?, c.arg(1)?);
    let count = |v: &Value| v.shape().first().copied().unwrap_or(0);
    if count(a) == 0 || count(b) == 0 {
        return Ok(if count(a) == 0 { b.clone() } else { a.clone() });
    }
    let rows = |v: &Value| -> Result<Vec<Value>, Fault> {
        (0..count(v)).map(|k| read_value(v, &[Choice::One(k)])).collect()
    };
    let mut all = rows(a)?;
    all.extend(rows(b)?);
    stack(all)
}

/// The elements in one extent: matrices column by column, arrays row by row.
fn flatten(c: &Call<'_>) -> Result<Value, Fault> {
    let value = match (c.arg(0)?, c.types[0]) {
        (Value::Reals(n), Type::Matrix) => Value::Reals(transposed(n)),
        (Value::Complexes(n), Type::ComplexMatrix) => Value::Complexes(transposed(n)),
        (value, _) => value.clone(),
    };
    let keep_ints = c.returns.array_parts().1 == &Type::Int;
    Ok(match value {
        Value::Ints(n) if keep_ints => {
            Value::Ints(Numbers { shape: vec![n.len()], values: n.values })
        }
        Value::Complexes(n) => Value::Complexes(Numbers { shape: vec![n.len()], values: n.values }),
        Value::Complex(z) => Value::Complexes(Numbers::new([1], vec![z])),
        other => {
            let n = numeric::to_reals(&other)?;
            Value::Reals(Numbers { shape: vec![n.len()], values: n.values })
        }
    })
}

/// `to_matrix(x)`, `to_matrix(x, rows, columns)` column by column, or by rows when the fourth is 0.
fn to_matrix(c: &Call<'_>) -> Result<Value, Fault> {
    let value = c.arg(0)?;
    let complex = matches!(value, Value::Complexes(_));
    if c.args.len() == 1 {
        let shape = match (value.shape(), c.types[0]) {
            ([n], Type::RowVector | Type::ComplexRowVector) => vec![1, *n],
            ([n], _) => vec![*n, 1],
            // An array of no rows has no columns either.
            ([0, _], Type::Array(_)) => vec![0, 0],
            (shape, _) => shape.to_vec(),
        };
        return Ok(if complex {
            Value::Complexes(Numbers { shape, ..numeric::to_complexes(value)? })
        } else {
            Value::Reals(Numbers { shape, ..numeric::to_reals(value)? })
        });
    }
    let (rows, columns) = (c.count(1)?, c.count(2)?);
    let by_column = c.args.len() < 4 || c.int(3)? != 0;
    if len(value) != rows.saturating_mul(columns) {
        let (found, wanted) = (len(value), rows.saturating_mul(columns));
        return Err(
            c.size(format!("{found} elements do not make {rows} rows of {columns} ({wanted})"))
        );
    }
    if complex {
        return Err(c.missing());
    }
    let elements = match c.types[0] {
        Type::Matrix => c.matrix(0)?.column_major(),
        _ => c.reals(0)?.into_owned(),
    };
    if by_column {
        let turned = transposed(&Numbers::new([columns, rows], elements));
        return Ok(Value::Reals(turned));
    }
    Ok(matrix_value(rows, columns, elements))
}

fn linspaced(c: &Call<'_>) -> Result<Value, Fault> {
    let (n, first, last) = (checked_len(&[c.count(0)?])?, c.real(1)?, c.real(2)?);
    if !(first <= last) || first.is_infinite() || last.is_infinite() {
        return Err(c.domain(format!("cannot go from {first} to {last}")));
    }
    // One point is the last, as in Eigen's LinSpaced.
    let step = if n > 1 { (last - first) / (n - 1) as f64 } else { 0.0 };
    let point_at = |k: usize| if k + 1 == n { last } else { first + k as f64 * step };
    Ok(Value::reals((0..n).map(point_at).collect()))
}

/// Integers from first to last; the last is lowered until the distance divides, as Eigen does.
fn linspaced_ints(c: &Call<'_>) -> Result<Value, Fault> {
    let (n, first, last) = (checked_len(&[c.count(0)?])? as i64, c.int(1)?, c.int(2)?);
    if first > last {
        return Err(c.domain(format!("cannot go from {first} to {last}")));
    }
    let range = last - first;
    let point_at = |k: i64| match n {
        1 => last,
        _ if range >= n - 1 => first + k * (range / (n - 1)),
        // More points than integers: each is repeated.
        _ => first + k * (range + 1) / n,
    };
    Ok(Value::ints((0..n).map(point_at).collect()))
}

fn filled(c: &Call<'_>, value: f64) -> Result<Value, Fault> {
    Ok(Value::reals(vec![value; checked_len(&[c.count(0)?])?]))
}

fn uniform_simplex(c: &Call<'_>) -> Result<Value, Fault> {
    let n = checked_len(&[c.count(0)?])?;
    if n == 0 {
        return Err(c.domain("a simplex has at least one element"));
    }
    Ok(Value::reals(vec![1.0 / n as f64; n]))
}

fn one_hot(c: &Call<'_>) -> Result<Value, Fault> {
    let n = checked_len(&[c.count(0)?])?;
    let mut values = vec![0.0; n];
    values[index::position(c.int(1)?, n)?] = 1.0;
    Ok(Value::reals(values))
}
