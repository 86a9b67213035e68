//! The library on values: a name, argument values and their types -> a value.
//!
//! Functions of numbers are rows of `scalar_functions`, which one rule applies to containers; the
//! others see the whole call.

use std::borrow::Cow;
use std::sync::OnceLock;

use exmc_math::random::ChainRng;
use rustc_hash::FxHashMap;

use crate::host::declare::checked_len;
use crate::host::error::{Fault, FaultKind};
use crate::host::interpreter::Interpreter;
use crate::host::numeric;
use crate::host::operators::elementwise;
use crate::library::adds_jacobian;
use crate::scalar_functions::{self, Values};
use crate::typed::Type;
use crate::value::{Numbers, Value};

pub(crate) mod complex_functions;
pub(crate) mod decompose;
pub mod density;
pub(crate) mod hypergeometric;
pub(crate) mod linear;
pub(crate) mod matrix;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod shape;
pub(crate) mod sort;

/// A call with its arguments evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The function's name.
    pub name: &'a str,
    /// Argument values.
    pub args: &'a [Value],
    /// Argument types.
    pub types: &'a [&'a Type],
    /// The type of the result.
    pub returns: &'a Type,
}

impl<'a> Call<'a> {
    pub(crate) fn int(&self, k: usize) -> Result<i64, Fault> {
        numeric::int(self.arg(k)?)
    }

    /// An argument that counts something.
    pub(crate) fn count(&self, k: usize) -> Result<usize, Fault> {
        let value = self.int(k)?;
        usize::try_from(value).map_err(|_| {
            Fault::domain(format!(
                "{}: argument {} is {value}, but must not be negative",
                self.name,
                k + 1
            ))
        })
    }

    pub(crate) fn real(&self, k: usize) -> Result<f64, Fault> {
        numeric::real(self.arg(k)?)
    }

    pub(crate) fn reals(&self, k: usize) -> Result<Cow<'a, [f64]>, Fault> {
        self.of_reals(self.arg(k)?)
    }

    /// A value's real numbers; complex ones are for functions that say so.
    fn of_reals(&self, value: &'a Value) -> Result<Cow<'a, [f64]>, Fault> {
        match value {
            Value::Complex(_) | Value::Complexes(_) => {
                let name = self.name;
                Err(Fault::unsupported(format!("`{name}` of complex numbers is not there yet")))
            }
            _ => numeric::real_slice(value),
        }
    }

    /// An argument as a matrix: rows, columns, elements row by row. A vector has one column, a row
    /// vector one row, a scalar one element.
    pub(crate) fn matrix(&self, k: usize) -> Result<Matrix<'a>, Fault> {
        let value = self.arg(k)?;
        let values = self.of_reals(value)?;
        let (rows, columns) = match (value.shape(), self.types[k]) {
            ([rows, columns], _) => (*rows, *columns),
            ([n], Type::RowVector) => (1, *n),
            ([n], _) => (*n, 1),
            _ => (1, values.len()),
        };
        Ok(Matrix { rows, columns, values })
    }

    /// A square matrix.
    pub(crate) fn square(&self, k: usize) -> Result<Matrix<'a>, Fault> {
        let matrix = self.matrix(k)?;
        if matrix.rows != matrix.columns {
            let (rows, columns) = (matrix.rows, matrix.columns);
            let name = self.name;
            return Err(Fault::size(format!(
                "{name}: expected a square matrix, found {rows} rows and {columns} columns"
            )));
        }
        Ok(matrix)
    }

    pub(crate) fn arg(&self, k: usize) -> Result<&'a Value, Fault> {
        self.args.get(k).ok_or_else(|| {
            Fault::unsupported(format!("{} with {} arguments", self.name, self.args.len()))
        })
    }

    /// An argument outside of where it must lie.
    pub(crate) fn domain(&self, what: impl std::fmt::Display) -> Fault {
        Fault::domain(format!("{}: {what}", self.name))
    }

    /// Sizes that do not fit.
    pub(crate) fn size(&self, what: impl std::fmt::Display) -> Fault {
        Fault::size(format!("{}: {what}", self.name))
    }

    /// This function with these arguments is not there.
    pub(crate) fn missing(&self) -> Fault {
        Fault::unsupported(format!("`{}` with these arguments cannot be computed here", self.name))
    }

    /// Two lengths that must agree.
    pub(crate) fn same_length(&self, a: usize, b: usize) -> Result<(), Fault> {
        if a == b {
            Ok(())
        } else {
            Err(self.size(format!("the arguments have {a} and {b} elements")))
        }
    }
}

/// A matrix that is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Matrix<'a> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) values: Cow<'a, [f64]>,
}

impl Matrix<'_> {
    pub(crate) fn element(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }

    /// Elements in Stan's order: column by column.
    pub(crate) fn column_major(&self) -> Vec<f64> {
        let columns = 0..self.columns;
        columns
            .flat_map(|c| (0..self.rows).map(move |r| (r, c)))
            .map(|(r, c)| self.element(r, c))
            .collect()
    }
}

/// A matrix as a value.
pub(crate) fn matrix_value(rows: usize, columns: usize, values: Vec<f64>) -> Value {
    Value::Reals(Numbers::new([rows, columns], values))
}

/// A function on values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Builtin {
    /// Of numbers: elementwise on containers, to which scalars stretch.
    Scalar(Values),
    /// Of anything.
    Plain(fn(&Call<'_>) -> Result<Value, Fault>),
    /// A draw.
    Random(fn(&mut ChainRng, &Call<'_>) -> Result<Value, Fault>),
    /// A draw of a single number.
    Univariate(random::Univariate),
}

/// The function of that name.
#[inline]
pub(crate) fn find(name: &str) -> Option<Builtin> {
    static TABLE: OnceLock<FxHashMap<String, Builtin>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let plain = [
            reduce::FUNCTIONS,
            shape::FUNCTIONS,
            sort::FUNCTIONS,
            matrix::FUNCTIONS,
            linear::FUNCTIONS,
            decompose::FUNCTIONS,
            complex_functions::FUNCTIONS,
            hypergeometric::FUNCTIONS,
        ];
        let plain = plain.into_iter().flatten().map(|(name, f)| (*name, Builtin::Plain(*f)));
        let random = random::FUNCTIONS.iter().map(|(name, f)| (*name, Builtin::Random(*f)));
        let univariate = random::univariates().map(|(name, f)| (name, Builtin::Univariate(f)));
        let scalar = scalar_functions::all().flat_map(|row| {
            row.names()
                .filter_map(move |name| row.values.map(|values| (name, Builtin::Scalar(values))))
        });
        let others = scalar.chain(plain).chain(random);
        others.map(|(name, f)| (name.to_owned(), f)).chain(univariate).collect()
    });
    table.get(name).copied()
}

/// Between which numbers the arguments of a function of that name must lie, if there are limits.
pub(crate) fn limits(name: &str) -> Option<(f64, f64)> {
    match find(name)? {
        Builtin::Scalar(Values::Within(_, lower, upper)) => Some((lower, upper)),
        _ => None,
    }
}

/// Whether the host has a function of that name (with some arguments).
pub fn has_function(name: &str) -> bool {
    find(name).is_some() || density::is_density(name)
}

pub(crate) fn call(host: &mut Interpreter<'_>, call: &Call<'_>) -> Result<Value, Fault> {
    use crate::check::types::is_complex;
    let builtin = find(call.name);
    if call.types.iter().any(|ty| is_complex(ty)) {
        let result = match builtin {
            Some(Builtin::Plain(f)) => f(call),
            Some(Builtin::Random(_) | Builtin::Univariate(_)) => Err(call.missing()),
            _ => complex_functions::call(call),
        };
        // What is there for real numbers only, the library on graphs has.
        return match result {
            Err(fault) if fault.kind == FaultKind::Unsupported => density::function_once(call),
            result => result,
        };
    }
    match builtin {
        Some(Builtin::Scalar(Values::Real1(f))) => map1(call, f),
        Some(Builtin::Scalar(Values::Within(f, lower, upper))) => {
            let outside = |x: &&f64| **x < lower || **x > upper;
            if let Some(x) = call.reals(0)?.iter().find(outside) {
                let what = format!("the argument is {x}, but must lie in [{lower}, {upper}]");
                return Err(call.domain(what));
            }
            map1(call, f)
        }
        Some(Builtin::Scalar(Values::Real2(f))) => map2(call, f),
        Some(Builtin::Scalar(Values::Real3(f))) => map3(call, f),
        Some(Builtin::Plain(f)) => f(call),
        Some(Builtin::Random(f)) => f(&mut host.rng, call),
        Some(Builtin::Univariate(family)) => family.call(&mut host.rng, call),
        None if density::is_density(call.name) => host.densities.call(call),
        None => match adds_jacobian(call.name) {
            Some(base) => {
                let (value, log) = (format!("{base}_constrain"), format!("{base}_log_jacobian"));
                let log =
                    density::function_once(&Call { name: &log, returns: &Type::Real, ..*call })?;
                host.set_target(host.target() + numeric::real(&log)?);
                density::function_once(&Call { name: &value, ..*call })
            }
            None => density::function_once(call),
        },
    }
}

fn map1(call: &Call<'_>, f: fn(f64) -> f64) -> Result<Value, Fault> {
    Ok(match call.arg(0)? {
        Value::Real(x) => Value::Real(f(*x)),
        Value::Int(i) => Value::Real(f(*i as f64)),
        other => {
            let values = numeric::real_slice(other)?.iter().map(|x| f(*x)).collect();
            Value::Reals(Numbers::new(other.shape(), values))
        }
    })
}

fn map2(call: &Call<'_>, f: fn(f64, f64) -> f64) -> Result<Value, Fault> {
    let (a, b) = (numeric::to_reals(call.arg(0)?)?, numeric::to_reals(call.arg(1)?)?);
    elementwise(call.name, &a, &b, f).map(numeric::from_reals).map_err(|_| {
        let (a, b) = (a.len(), b.len());
        call.size(format!("the arguments have {a} and {b} elements"))
    })
}

fn map3(call: &Call<'_>, f: fn(f64, f64, f64) -> f64) -> Result<Value, Fault> {
    let args = [call.reals(0)?, call.reals(1)?, call.reals(2)?];
    let container = call.args.iter().find(|arg| !arg.shape().is_empty());
    let Some(container) = container else {
        return Ok(Value::Real(f(args[0][0], args[1][0], args[2][0])));
    };
    let shape = container.shape();
    let len = checked_len(shape)?;
    for (arg, value) in args.iter().zip(call.args) {
        if !value.shape().is_empty() {
            call.same_length(arg.len(), len)?;
        }
    }
    let element_at =
        |k: usize, i: usize| if call.args[k].shape().is_empty() { args[k][0] } else { args[k][i] };
    let values =
        (0..len).map(|i| f(element_at(0, i), element_at(1, i), element_at(2, i))).collect();
    Ok(Value::Reals(Numbers::new(shape, values)))
}
