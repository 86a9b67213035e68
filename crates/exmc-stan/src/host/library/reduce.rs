//! Reductions: containers -> a number, or a vector of sums.

use exmc_math as m;

use super::{Call, matrix_value};
use crate::host::error::Fault;
use crate::host::numeric;
use crate::host::operators::int_binary;
use crate::typed::{BinaryOp, Type};
use crate::value::{Numbers, Value};

type Plain = fn(&Call<'_>) -> Result<Value, Fault>;

/// Names and functions.
pub(crate) const FUNCTIONS: &[(&str, Plain)] = &[
    ("sum", sum),
    ("prod", product),
    ("mean", mean),
    ("variance", |c| spread(c).map(Value::Real)),
    ("sd", |c| spread(c).map(|v| Value::Real(v.sqrt()))),
    ("min", |c| extreme(c, true)),
    ("max", |c| extreme(c, false)),
    ("norm1", |c| Ok(Value::Real(c.reals(0)?.iter().map(|x| x.abs()).sum()))),
    ("norm2", |c| Ok(Value::Real(dot(&c.reals(0)?, &c.reals(0)?).sqrt()))),
    ("dot_self", |c| Ok(Value::Real(dot(&c.reals(0)?, &c.reals(0)?)))),
    ("dot_product", dot_product),
    ("squared_distance", |c| squared_distance(c).map(Value::Real)),
    ("distance", |c| squared_distance(c).map(|v| Value::Real(v.sqrt()))),
    ("log_sum_exp", log_sum_exp),
    ("log_mix", log_mix),
    ("softmax", |c| shifted(c, false)),
    ("log_softmax", |c| shifted(c, true)),
    ("cumulative_sum", cumulative_sum),
    ("columns_dot_product", |c| dots(c, true, 1)),
    ("rows_dot_product", |c| dots(c, false, 1)),
    ("columns_dot_self", |c| dots(c, true, 0)),
    ("rows_dot_self", |c| dots(c, false, 0)),
    ("quantile", quantile),
    ("is_inf", |c| Ok(Value::Int(i64::from(c.real(0)?.is_infinite())))),
    ("is_nan", |c| Ok(Value::Int(i64::from(c.real(0)?.is_nan())))),
    ("int_step", |c| Ok(Value::Int(i64::from(c.real(0)? > 0.0)))),
    ("abs", absolute),
    ("choose", choose),
    ("gamma_p", |c| incomplete_gamma(c, exmc_math::gamma_p)),
    ("gamma_q", |c| incomplete_gamma(c, exmc_math::gamma_q)),
    ("to_int", to_int),
];

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    m::linear::dot(a, b)
}

fn sum(c: &Call<'_>) -> Result<Value, Fault> {
    Ok(match c.arg(0)? {
        Value::Ints(n) => {
            let total = n.values.iter().try_fold(0, |s, x| int_binary(BinaryOp::Add, s, *x));
            Value::Int(total?)
        }
        Value::Complexes(n) => {
            Value::Complex(n.values.iter().fold([0.0; 2], |s, z| [s[0] + z[0], s[1] + z[1]]))
        }
        _ => Value::Real(m::linear::sum(&c.reals(0)?)),
    })
}

fn product(c: &Call<'_>) -> Result<Value, Fault> {
    Ok(match c.arg(0)? {
        Value::Ints(n) => {
            let total = n.values.iter().try_fold(1, |s, x| int_binary(BinaryOp::Multiply, s, *x));
            Value::Int(total?)
        }
        Value::Complexes(n) => Value::Complex(
            n.values.iter().fold([1.0, 0.0], |s, z| crate::host::complex::mul(s, *z)),
        ),
        _ => Value::Real(c.reals(0)?.iter().product()),
    })
}

fn not_empty(c: &Call<'_>, len: usize) -> Result<(), Fault> {
    if len == 0 { Err(c.domain("the argument has no elements")) } else { Ok(()) }
}

fn mean(c: &Call<'_>) -> Result<Value, Fault> {
    let x = c.reals(0)?;
    not_empty(c, x.len())?;
    Ok(Value::Real(m::linear::sum(&x) / x.len() as f64))
}

/// $\sum (x - \bar x)^2 / (n - 1)$; zero for one element.
fn spread(c: &Call<'_>) -> Result<f64, Fault> {
    let x = c.reals(0)?;
    not_empty(c, x.len())?;
    if x.len() == 1 {
        return Ok(0.0);
    }
    let mean = m::linear::sum(&x) / x.len() as f64;
    let squares: Vec<f64> = x.iter().map(|x| (x - mean) * (x - mean)).collect();
    Ok(m::linear::sum(&squares) / (x.len() - 1) as f64)
}

fn extreme(c: &Call<'_>, least: bool) -> Result<Value, Fault> {
    if c.args.len() == 2 {
        let (a, b) = (c.int(0)?, c.int(1)?);
        return Ok(Value::Int(if least { a.min(b) } else { a.max(b) }));
    }
    if let Value::Ints(n) = c.arg(0)? {
        not_empty(c, n.len())?;
        let found = if least { n.values.iter().min() } else { n.values.iter().max() };
        return Ok(Value::Int(found.copied().unwrap_or(0)));
    }
    let x = c.reals(0)?;
    let start = if least { f64::INFINITY } else { f64::NEG_INFINITY };
    if x.iter().any(|x| x.is_nan()) {
        return Ok(Value::Real(f64::NAN));
    }
    Ok(Value::Real(x.iter().fold(start, |a, b| if least { a.min(*b) } else { a.max(*b) })))
}

fn dot_product(c: &Call<'_>) -> Result<Value, Fault> {
    if let (Value::Complexes(_), _) | (_, Value::Complexes(_)) = (c.arg(0)?, c.arg(1)?) {
        let (a, b) = (numeric::to_complexes(c.arg(0)?)?, numeric::to_complexes(c.arg(1)?)?);
        c.same_length(a.len(), b.len())?;
        // Of vectors, conjugate in the first; of arrays, as Stan has it, not.
        let sign = if matches!(c.types[0], Type::Array(_)) { 1.0 } else { -1.0 };
        let terms = a.values.iter().zip(b.values.iter());
        let total = terms.fold([0.0; 2], |s, (a, b)| {
            crate::host::complex::add(s, crate::host::complex::mul([a[0], sign * a[1]], *b))
        });
        return Ok(Value::Complex(total));
    }
    let (a, b) = (c.reals(0)?, c.reals(1)?);
    c.same_length(a.len(), b.len())?;
    Ok(Value::Real(dot(&a, &b)))
}

fn squared_distance(c: &Call<'_>) -> Result<f64, Fault> {
    let (a, b) = (c.reals(0)?, c.reals(1)?);
    c.same_length(a.len(), b.len())?;
    Ok(a.iter().zip(b.iter()).map(|(a, b)| (a - b) * (a - b)).sum())
}

fn log_sum_exp(c: &Call<'_>) -> Result<Value, Fault> {
    if c.args.len() == 1 {
        return Ok(Value::Real(m::log_sum_exp(&c.reals(0)?)));
    }
    super::map2(c, m::log_add_exp)
}

/// `log_mix(theta, a, b)`, or `log_mix(weights, terms)` with terms a vector or an array of vectors.
fn log_mix(c: &Call<'_>) -> Result<Value, Fault> {
    if c.args.len() == 3 {
        let theta = c.reals(0)?;
        if let Some(t) = theta.iter().find(|t| !(0.0..=1.0).contains(*t)) {
            return Err(c.domain(format!("the mixing proportion is {t}, but must lie in [0, 1]")));
        }
        return super::map3(c, m::log_mix);
    }
    let (weights, terms) = (c.reals(0)?, c.reals(1)?);
    let mix = |terms: &[f64]| {
        let logs: Vec<f64> = weights.iter().zip(terms).map(|(w, t)| m::log(*w) + t).collect();
        m::log_sum_exp(&logs)
    };
    match c.arg(1)?.shape() {
        [_, inner] => {
            c.same_length(weights.len(), *inner)?;
            Ok(Value::Real(terms.chunks_exact((*inner).max(1)).map(mix).sum()))
        }
        _ => {
            c.same_length(weights.len(), terms.len())?;
            Ok(Value::Real(mix(&terms)))
        }
    }
}

fn shifted(c: &Call<'_>, log: bool) -> Result<Value, Fault> {
    let x = c.reals(0)?;
    let shape = c.arg(0)?.shape();
    // Each vector of an array by itself.
    let length = shape.last().copied().unwrap_or(1).max(1);
    let of_vector = |x: &[f64]| {
        let total = m::log_sum_exp(x);
        let one = |x: &f64| if log { x - total } else { m::exp(x - total) };
        x.iter().map(one).collect::<Vec<f64>>()
    };
    let values = x.chunks_exact(length).flat_map(of_vector).collect();
    Ok(Value::Reals(Numbers::new(shape, values)))
}

fn cumulative_sum(c: &Call<'_>) -> Result<Value, Fault> {
    if let Value::Ints(n) = c.arg(0)? {
        let mut total = 0;
        let sums: Result<Vec<i64>, Fault> = n
            .values
            .iter()
            .map(|x| {
                total = int_binary(BinaryOp::Add, total, *x)?;
                Ok(total)
            })
            .collect();
        return Ok(Value::ints(sums?));
    }
    let x = c.reals(0)?;
    let mut total = 0.0;
    let sums = x.iter().map(|x| {
        total += x;
        total
    });
    Ok(Value::reals(sums.collect()))
}

/// Products of the columns (or rows) of two matrices, or of one with itself.
fn dots(c: &Call<'_>, columns: bool, other: usize) -> Result<Value, Fault> {
    let (a, b) = (c.matrix(0)?, c.matrix(other)?);
    if (a.rows, a.columns) != (b.rows, b.columns) {
        return Err(c.size("the arguments differ in size"));
    }
    let (outer, inner) = if columns { (a.columns, a.rows) } else { (a.rows, a.columns) };
    let pick = |m: &super::Matrix<'_>, o: usize, i: usize| {
        if columns { m.element(i, o) } else { m.element(o, i) }
    };
    let values = (0..outer).map(|o| (0..inner).map(|i| pick(&a, o, i) * pick(&b, o, i)).sum());
    Ok(Value::reals(values.collect()))
}

/// Quantiles by linear interpolation between order statistics (type 7). **Reference**: Hyndman,
/// Fan 1996.
fn quantile(c: &Call<'_>) -> Result<Value, Fault> {
    let mut x = c.reals(0)?.into_owned();
    not_empty(c, x.len())?;
    if x.iter().any(|x| x.is_nan()) {
        return Err(c.domain("an element is not a number"));
    }
    x.sort_by(f64::total_cmp);
    let quantile_at = |p: f64| {
        if !(0.0..=1.0).contains(&p) {
            return Err(c.domain(format!("a probability is {p}, but must lie in [0, 1]")));
        }
        let place = p * (x.len() - 1) as f64;
        let low = place.floor() as usize;
        let high = (low + 1).min(x.len() - 1);
        Ok(x[low] + (place - low as f64) * (x[high] - x[low]))
    };
    match c.arg(1)? {
        Value::Real(p) => quantile_at(*p).map(Value::Real),
        Value::Int(p) => quantile_at(*p as f64).map(Value::Real),
        _ => {
            c.reals(1)?.iter().map(|p| quantile_at(*p)).collect::<Result<_, _>>().map(Value::reals)
        }
    }
}

fn absolute(c: &Call<'_>) -> Result<Value, Fault> {
    let magnitude = |i: i64| if i < 0 { int_binary(BinaryOp::Subtract, 0, i) } else { Ok(i) };
    Ok(match c.arg(0)? {
        Value::Int(i) => Value::Int(magnitude(*i)?),
        Value::Ints(n) => {
            let values: Result<Vec<i64>, Fault> = n.values.iter().map(|i| magnitude(*i)).collect();
            Value::Ints(Numbers::new(n.shape.clone(), values?))
        }
        Value::Complex(z) => Value::Real(crate::host::complex::abs(*z)),
        Value::Complexes(n) => {
            let values = n.values.iter().map(|z| crate::host::complex::abs(*z)).collect();
            Value::Reals(Numbers::new(n.shape.clone(), values))
        }
        _ => super::map1(c, f64::abs)?,
    })
}

/// The number of ways to choose k of n, elementwise.
/// Of shapes that are not positive Stan throws.
fn incomplete_gamma(c: &Call<'_>, f: fn(f64, f64) -> f64) -> Result<Value, Fault> {
    let outside = |x: &&f64| **x <= 0.0;
    if let Some(x) = c.reals(0)?.iter().find(outside) {
        return Err(c.domain(format!("the shape is {x}, but must be positive")));
    }
    super::map2(c, f)
}

fn choose(c: &Call<'_>) -> Result<Value, Fault> {
    let one = |n: i64, k: i64| {
        if let Some((name, x)) = [("n", n), ("k", k)].into_iter().find(|(_, x)| *x < 0) {
            return Err(c.domain(format!("{name} is {x}, but must not be negative")));
        }
        if k > n {
            return Ok(0);
        }
        let mut ways: i64 = 1;
        for j in 0..k.min(n - k) {
            // Exact at every step: a product of j + 1 consecutive integers over (j + 1)!.
            ways = ways * (n - j) / (j + 1);
            if ways > i64::from(i32::MAX) {
                return Err(c.domain(format!("choose({n}, {k}) is beyond 32 bits")));
            }
        }
        Ok(ways)
    };
    let (a, b) = (c.arg(0)?, c.arg(1)?);
    let (n, k) = (numeric::int_slice(a)?, numeric::int_slice(b)?);
    if let (Value::Int(n), Value::Int(k)) = (a, b) {
        return one(*n, *k).map(Value::Int);
    }
    let shape = if a.shape().is_empty() { b.shape() } else { a.shape() };
    let len = shape.iter().product();
    let pick =
        |v: &Value, list: &[i64], i: usize| if v.shape().is_empty() { list[0] } else { list[i] };
    if !a.shape().is_empty() && !b.shape().is_empty() {
        c.same_length(n.len(), k.len())?;
    }
    let values: Result<Vec<i64>, Fault> =
        (0..len).map(|i| one(pick(a, n, i), pick(b, k, i))).collect();
    Ok(Value::Ints(Numbers::new(shape, values?)))
}

fn to_int(c: &Call<'_>) -> Result<Value, Fault> {
    let one = |x: f64| {
        let truncated = x.trunc();
        if truncated.abs() <= f64::from(i32::MAX) {
            Ok(truncated as i64)
        } else {
            Err(c.domain(format!("{x} is beyond 32-bit integers")))
        }
    };
    match c.arg(0)? {
        Value::Real(x) => one(*x).map(Value::Int),
        Value::Reals(n) => {
            let values: Result<Vec<i64>, Fault> = n.values.iter().map(|x| one(*x)).collect();
            Ok(Value::Ints(Numbers::new(n.shape.clone(), values?)))
        }
        ints => Ok(ints.clone()),
    }
}

/// Whether a type is a row vector (results of the same kind keep it).
pub(crate) fn is_row(ty: &Type) -> bool {
    matches!(ty, Type::RowVector | Type::ComplexRowVector)
}

/// A matrix of products of all pairs of rows.
pub(crate) fn gram(values: &[f64], rows: usize, columns: usize) -> Value {
    let row = |k: usize| &values[k * columns..(k + 1) * columns];
    let mut out = vec![0.0; rows * rows];
    for i in 0..rows {
        for j in 0..=i {
            let product = dot(row(i), row(j));
            out[i * rows + j] = product;
            out[j * rows + i] = product;
        }
    }
    matrix_value(rows, rows, out)
}
