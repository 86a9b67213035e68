//! Products and patterns of matrices, covariance functions, sparse products.

use exmc_math as m;

use super::linear::{Lu, identity, product};
use super::reduce::{dot, gram};
use super::{Call, Matrix, matrix_value};
use crate::host::declare::checked_len;
use crate::host::error::Fault;
use crate::host::index;
use crate::host::numeric;
use crate::host::operators::{matrix_product, transposed};
use crate::typed::Type;
use crate::value::{Numbers, Value};

type Plain = fn(&Call<'_>) -> Result<Value, Fault>;

/// Names and functions.
pub(crate) const FUNCTIONS: &[(&str, Plain)] = &[
    ("diagonal", |c| {
        let a = c.matrix(0)?;
        Ok(Value::reals((0..a.rows.min(a.columns)).map(|k| a.element(k, k)).collect()))
    }),
    ("diag_matrix", |c| {
        let d = c.reals(0)?;
        checked_len(&[d.len(), d.len()])?;
        Ok(build(d.len(), d.len(), |r, k| if r == k { d[r] } else { 0.0 }))
    }),
    ("identity_matrix", |c| {
        let n = c.count(0)?;
        checked_len(&[n, n])?;
        Ok(matrix_value(n, n, identity(n)))
    }),
    ("add_diag", add_diag),
    ("diag_pre_multiply", |c| {
        let (d, a) = (c.reals(0)?, c.matrix(1)?);
        c.same_length(d.len(), a.rows)?;
        Ok(build(a.rows, a.columns, |r, k| d[r] * a.element(r, k)))
    }),
    ("diag_post_multiply", |c| {
        let (a, d) = (c.matrix(0)?, c.reals(1)?);
        c.same_length(d.len(), a.columns)?;
        Ok(build(a.rows, a.columns, |r, k| a.element(r, k) * d[k]))
    }),
    ("quad_form_diag", |c| {
        let (a, d) = (c.square(0)?, c.reals(1)?);
        c.same_length(d.len(), a.rows)?;
        Ok(build(a.rows, a.columns, |r, k| d[r] * a.element(r, k) * d[k]))
    }),
    ("quad_form", |c| quad_form(c, false)),
    ("quad_form_sym", |c| quad_form(c, true)),
    ("trace", |c| {
        let a = c.square(0)?;
        Ok(Value::Real((0..a.rows).map(|k| a.element(k, k)).sum()))
    }),
    ("trace_quad_form", |c| {
        let (a, b) = (c.square(0)?, c.matrix(1)?);
        c.same_length(a.rows, b.rows)?;
        let ab = matrix_product(&a.values, &b.values, (a.rows, a.rows, b.columns));
        Ok(Value::Real(dot(&b.values, &ab)))
    }),
    ("trace_dot", |c| {
        let (a, b) = (c.matrix(0)?, c.matrix(1)?);
        c.same_length(a.rows, b.columns)?;
        c.same_length(a.columns, b.rows)?;
        Ok(Value::Real(dot(&a.values, &b.column_major())))
    }),
    ("trace_gen_quad_form", |c| {
        // tr(D B' A B)
        let (d, a, b) = (c.square(0)?, c.square(1)?, c.matrix(2)?);
        c.same_length(a.rows, b.rows)?;
        c.same_length(d.rows, b.columns)?;
        let ab = matrix_product(&a.values, &b.values, (a.rows, a.rows, b.columns));
        let turned = transposed(&Numbers::new([b.rows, b.columns], b.values.to_vec()));
        let inner = matrix_product(&turned.values, &ab, (b.columns, b.rows, b.columns));
        let n = d.rows;
        Ok(Value::Real(
            (0..n).map(|i| (0..n).map(|j| d.element(i, j) * inner[j * n + i]).sum::<f64>()).sum(),
        ))
    }),
    ("crossprod", |c| {
        let a = c.matrix(0)?;
        let turned = transposed(&Numbers::new([a.rows, a.columns], a.values.into_owned()));
        Ok(gram(&turned.values, a.columns, a.rows))
    }),
    ("tcrossprod", |c| {
        let a = c.matrix(0)?;
        Ok(gram(&a.values, a.rows, a.columns))
    }),
    ("multiply_lower_tri_self_transpose", |c| {
        let a = c.matrix(0)?;
        let lower: Vec<f64> = (0..a.rows)
            .flat_map(|r| (0..a.columns).map(move |k| (r, k)))
            .map(|(r, k)| if k <= r { a.element(r, k) } else { 0.0 })
            .collect();
        Ok(gram(&lower, a.rows, a.columns))
    }),
    ("symmetrize_from_lower_tri", |c| {
        let a = c.square(0)?;
        Ok(build(a.rows, a.rows, |r, k| if k <= r { a.element(r, k) } else { a.element(k, r) }))
    }),
    ("matrix_power", matrix_power),
    ("matrix_exp", |c| {
        let a = c.square(0)?;
        Ok(matrix_value(a.rows, a.rows, matrix_exp(a.rows, &a.values)))
    }),
    ("matrix_exp_multiply", |c| {
        let (a, b) = (c.square(0)?, c.matrix(1)?);
        scaled_exp_multiply(c, 1.0, &a, &b)
    }),
    ("scale_matrix_exp_multiply", |c| {
        let (t, a, b) = (c.real(0)?, c.square(1)?, c.matrix(2)?);
        scaled_exp_multiply(c, t, &a, &b)
    }),
    ("gp_exp_quad_cov", |c| covariance(c, |r| m::exp(-0.5 * r * r))),
    ("cov_exp_quad", |c| covariance(c, |r| m::exp(-0.5 * r * r))),
    ("gp_exponential_cov", |c| covariance(c, |r| m::exp(-r))),
    ("gp_matern32_cov", |c| {
        covariance(c, |r| (1.0 + 3.0_f64.sqrt() * r) * m::exp(-3.0_f64.sqrt() * r))
    }),
    ("gp_matern52_cov", |c| {
        covariance(c, |r| {
            let s = 5.0_f64.sqrt() * r;
            (1.0 + s + s * s / 3.0) * m::exp(-s)
        })
    }),
    ("gp_periodic_cov", periodic),
    ("gp_dot_prod_cov", dot_product_covariance),
    ("csr_matrix_times_vector", csr_times),
    ("csr_to_dense_matrix", csr_to_dense),
    ("csr_extract_w", |c| Ok(Value::reals(csr(c)?.0))),
    ("csr_extract_v", |c| Ok(Value::ints(csr(c)?.1))),
    ("csr_extract_u", |c| Ok(Value::ints(csr(c)?.2))),
    ("csr_extract", |c| {
        let (w, v, u) = csr(c)?;
        Ok(Value::Tuple(vec![Value::reals(w), Value::ints(v), Value::ints(u)]))
    }),
];

fn build(rows: usize, columns: usize, element: impl Fn(usize, usize) -> f64) -> Value {
    let mut values = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        values.extend((0..columns).map(|column| element(row, column)));
    }
    matrix_value(rows, columns, values)
}

fn add_diag(c: &Call<'_>) -> Result<Value, Fault> {
    let (a, d) = (c.matrix(0)?, c.reals(1)?);
    let n = a.rows.min(a.columns);
    let scalar = c.arg(1)?.shape().is_empty();
    if !scalar {
        c.same_length(d.len(), n)?;
    }
    Ok(build(a.rows, a.columns, |r, k| {
        a.element(r, k) + if r != k { 0.0 } else { d[if scalar { 0 } else { r }] }
    }))
}

/// $B' A B$, a number where B is a vector.
fn quad_form(c: &Call<'_>, symmetric: bool) -> Result<Value, Fault> {
    let (a, b) = (c.square(0)?, c.matrix(1)?);
    c.same_length(a.rows, b.rows)?;
    if symmetric {
        let off = |r: usize, k: usize| !((a.element(r, k) - a.element(k, r)).abs() <= 1e-8);
        if (0..a.rows).any(|r| (0..r).any(|k| off(r, k))) {
            return Err(c.domain("the matrix is not symmetric"));
        }
    }
    let ab = matrix_product(&a.values, &b.values, (a.rows, a.rows, b.columns));
    if *c.types[1] == Type::Vector {
        return Ok(Value::Real(dot(&b.values, &ab)));
    }
    let turned = transposed(&Numbers::new([b.rows, b.columns], b.values.to_vec()));
    let n = b.columns;
    let mut out = matrix_product(&turned.values, &ab, (n, b.rows, n));
    if symmetric {
        for r in 0..n {
            for k in 0..r {
                let mean = 0.5 * (out[r * n + k] + out[k * n + r]);
                (out[r * n + k], out[k * n + r]) = (mean, mean);
            }
        }
    }
    Ok(matrix_value(n, n, out))
}

fn matrix_power(c: &Call<'_>) -> Result<Value, Fault> {
    let (a, mut power) = (c.square(0)?, c.count(1)?);
    let n = a.rows;
    let (mut result, mut square) = (identity(n), a.values.into_owned());
    while power > 0 {
        if power % 2 == 1 {
            result = product(n, &result, &square);
        }
        power /= 2;
        if power > 0 {
            square = product(n, &square, &square);
        }
    }
    Ok(matrix_value(n, n, result))
}

/// The exponential of a matrix: Padé approximant of order 13 after scaling by a power of two, then
/// repeated squaring. **Reference**: Higham 2005.
fn matrix_exp(n: usize, a: &[f64]) -> Vec<f64> {
    const B: [f64; 14] = [
        64_764_752_532_480_000.0,
        32_382_376_266_240_000.0,
        7_771_770_303_897_600.0,
        1_187_353_796_428_800.0,
        129_060_195_264_000.0,
        10_559_470_521_600.0,
        670_442_572_800.0,
        33_522_128_640.0,
        1_323_241_920.0,
        40_840_800.0,
        960_960.0,
        16_380.0,
        182.0,
        1.0,
    ];
    /// The largest one-norm for which the approximant is accurate to double precision.
    const MAX_NORM: f64 = 5.371_920_351_148_152;
    if n == 0 {
        return Vec::new();
    }
    let norm = (0..n).map(|k| (0..n).map(|r| a[r * n + k].abs()).sum::<f64>()).fold(0.0, f64::max);
    if !norm.is_finite() {
        return vec![f64::NAN; n * n];
    }
    let mut halvings = 0;
    let mut scale = 1.0;
    while norm * scale > MAX_NORM {
        scale *= 0.5;
        halvings += 1;
    }
    let a: Vec<f64> = a.iter().map(|x| x * scale).collect();
    let a2 = product(n, &a, &a);
    let a4 = product(n, &a2, &a2);
    let a6 = product(n, &a4, &a2);
    let unit = identity(n);
    let combine = |w: [f64; 4]| -> Vec<f64> {
        (0..n * n).map(|k| w[0] * a6[k] + w[1] * a4[k] + w[2] * a2[k] + w[3] * unit[k]).collect()
    };
    let add =
        |x: Vec<f64>, y: Vec<f64>| -> Vec<f64> { x.iter().zip(y).map(|(x, y)| x + y).collect() };
    let odd = add(
        product(n, &a6, &combine([B[13], B[11], B[9], 0.0])),
        combine([B[7], B[5], B[3], B[1]]),
    );
    let u = product(n, &a, &odd);
    let v = add(
        product(n, &a6, &combine([B[12], B[10], B[8], 0.0])),
        combine([B[6], B[4], B[2], B[0]]),
    );
    let above: Vec<f64> = v.iter().zip(&u).map(|(v, u)| v + u).collect();
    let below: Vec<f64> = v.iter().zip(&u).map(|(v, u)| v - u).collect();
    let mut result = Lu::new(&below, n).solve(&above, n);
    for _ in 0..halvings {
        result = product(n, &result, &result);
    }
    result
}

fn scaled_exp_multiply(
    c: &Call<'_>,
    scale: f64,
    a: &Matrix<'_>,
    b: &Matrix<'_>,
) -> Result<Value, Fault> {
    c.same_length(a.rows, b.rows)?;
    let scaled: Vec<f64> = a.values.iter().map(|x| x * scale).collect();
    let exp = matrix_exp(a.rows, &scaled);
    let values = matrix_product(&exp, &b.values, (a.rows, a.rows, b.columns));
    Ok(matrix_value(b.rows, b.columns, values))
}

/// Points of a covariance function: how many, their dimension, coordinates point by point.
struct Points<'a> {
    count: usize,
    dimension: usize,
    values: std::borrow::Cow<'a, [f64]>,
}

fn points<'a>(c: &Call<'a>, k: usize) -> Result<Points<'a>, Fault> {
    let values = c.reals(k)?;
    match c.arg(k)?.shape() {
        [count, dimension] => Ok(Points { count: *count, dimension: *dimension, values }),
        [count] => Ok(Points { count: *count, dimension: 1, values }),
        _ => Err(c.missing()),
    }
}

impl Points<'_> {
    fn point(&self, k: usize) -> &[f64] {
        &self.values[k * self.dimension..(k + 1) * self.dimension]
    }
}

fn positive(c: &Call<'_>, what: &str, values: &[f64]) -> Result<(), Fault> {
    match values.iter().find(|x| !(**x > 0.0 && **x < f64::INFINITY)) {
        Some(x) => Err(c.domain(format!("the {what} is {x}, but must be positive and finite"))),
        None => Ok(()),
    }
}

/// $\alpha^2 k(r)$ of all pairs of points, $r$ their distance over the length scale (one, or one
/// for each dimension); arguments x, x2 if there are two sets, alpha, length scale.
fn covariance(c: &Call<'_>, kernel: fn(f64) -> f64) -> Result<Value, Fault> {
    let crossed = !c.args.get(1).is_none_or(|second| second.shape().is_empty());
    let first = if crossed { 2 } else { 1 };
    let (x, y) = (points(c, 0)?, points(c, if crossed { 1 } else { 0 })?);
    let (alpha, scale) = (c.real(first)?, c.reals(first + 1)?);
    positive(c, "magnitude", &[alpha])?;
    positive(c, "length scale", &scale)?;
    c.same_length(x.dimension, y.dimension)?;
    let each = !c.arg(first + 1)?.shape().is_empty();
    if each {
        c.same_length(scale.len(), x.dimension)?;
    }
    let distance = |a: &[f64], b: &[f64]| {
        let parts = a.iter().zip(b).enumerate().map(|(d, (a, b))| {
            let part = (a - b) / scale[if each { d } else { 0 }];
            part * part
        });
        parts.sum::<f64>().sqrt()
    };
    checked_len(&[x.count, y.count])?;
    Ok(build(x.count, y.count, |i, j| alpha * alpha * kernel(distance(x.point(i), y.point(j)))))
}

/// $\alpha^2 \exp(-2 \sin^2(\pi |x - y| / p) / \ell^2)$
fn periodic(c: &Call<'_>) -> Result<Value, Fault> {
    let crossed = c.args.len() == 5;
    let first = if crossed { 2 } else { 1 };
    let (x, y) = (points(c, 0)?, points(c, if crossed { 1 } else { 0 })?);
    let (alpha, scale, period) = (c.real(first)?, c.real(first + 1)?, c.real(first + 2)?);
    positive(c, "magnitude", &[alpha])?;
    positive(c, "length scale", &[scale])?;
    positive(c, "period", &[period])?;
    checked_len(&[x.count, y.count])?;
    Ok(build(x.count, y.count, |i, j| {
        let square: f64 = x.point(i).iter().zip(y.point(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        let s = m::sin(std::f64::consts::PI * square.sqrt() / period) / scale;
        alpha * alpha * m::exp(-2.0 * s * s)
    }))
}

/// $\sigma^2 + x \cdot y$
fn dot_product_covariance(c: &Call<'_>) -> Result<Value, Fault> {
    let crossed = c.args.len() == 3;
    let (x, y) = (points(c, 0)?, points(c, if crossed { 1 } else { 0 })?);
    let sigma = c.real(if crossed { 2 } else { 1 })?;
    c.same_length(x.dimension, y.dimension)?;
    checked_len(&[x.count, y.count])?;
    Ok(build(x.count, y.count, |i, j| sigma * sigma + dot(x.point(i), y.point(j))))
}

/// Calls `visit(row, column, value)` for the elements of `(rows, columns, w, v, u)`.
fn csr_elements(c: &Call<'_>, visit: &mut dyn FnMut(usize, usize, f64)) -> Result<(), Fault> {
    let (rows, columns, w) = (c.count(0)?, c.count(1)?, c.reals(2)?);
    let (v, u) = (numeric::int_slice(c.arg(3)?)?, numeric::int_slice(c.arg(4)?)?);
    c.same_length(w.len(), v.len())?;
    c.same_length(u.len(), rows + 1)?;
    for row in 0..rows {
        let (start, stop) = (u[row] - 1, u[row + 1] - 1);
        if start < 0 || stop < start || stop as usize > w.len() {
            return Err(c.domain(format!(
                "row {} starts at {} and ends at {stop}",
                row + 1,
                start + 1
            )));
        }
        for k in start as usize..stop as usize {
            visit(row, index::position(v[k], columns)?, w[k]);
        }
    }
    Ok(())
}

fn csr_times(c: &Call<'_>) -> Result<Value, Fault> {
    let b = c.reals(5)?;
    c.same_length(b.len(), c.count(1)?)?;
    let mut out = vec![0.0; c.count(0)?];
    csr_elements(c, &mut |row, column, w| out[row] += w * b[column])?;
    Ok(Value::reals(out))
}

fn csr_to_dense(c: &Call<'_>) -> Result<Value, Fault> {
    let (rows, columns) = (c.count(0)?, c.count(1)?);
    let mut out = vec![0.0; checked_len(&[rows, columns])?];
    csr_elements(c, &mut |row, column, w| out[row * columns + column] = w)?;
    Ok(matrix_value(rows, columns, out))
}

/// Elements, columns, starts of rows.
type Sparse = (Vec<f64>, Vec<i64>, Vec<i64>);

/// Non-zero elements of a matrix row by row, their columns, and where rows start.
fn csr(c: &Call<'_>) -> Result<Sparse, Fault> {
    let a = c.matrix(0)?;
    let (mut w, mut v, mut u) = (Vec::new(), Vec::new(), vec![1]);
    for row in 0..a.rows {
        for column in 0..a.columns {
            if a.element(row, column) != 0.0 {
                w.push(a.element(row, column));
                v.push(column as i64 + 1);
            }
        }
        u.push(w.len() as i64 + 1);
    }
    Ok((w, v, u))
}
