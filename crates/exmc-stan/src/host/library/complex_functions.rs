//! Functions of complex numbers.

use super::Call;
use crate::host::complex as z;
use crate::host::error::Fault;
use crate::host::numeric::{complex, from_complexes, from_reals, to_complexes};
use crate::host::operators::elementwise;
use crate::value::{Complex, Numbers, Value};

type Plain = fn(&Call<'_>) -> Result<Value, Fault>;

/// Names and functions that exist for complex numbers only.
pub(crate) const FUNCTIONS: &[(&str, Plain)] = &[
    ("to_complex", |c| match c.args {
        [] => Ok(Value::Complex([0.0; 2])),
        [_] => Ok(from_complexes(to_complexes(c.arg(0)?)?)),
        _ => {
            let (re, im) = (to_complexes(c.arg(0)?)?, to_complexes(c.arg(1)?)?);
            elementwise(c.name, &re, &im, |a, b| [a[0], b[0]]).map(from_complexes)
        }
    }),
    ("get_real", |c| each_real(c, |a| a[0])),
    ("get_imag", |c| each_real(c, |a| a[1])),
    ("arg", |c| each_real(c, z::arg)),
    ("norm", |c| each_real(c, |a| a[0] * a[0] + a[1] * a[1])),
    ("conj", |c| each(c, |a| [a[0], -a[1]])),
    ("proj", |c| {
        each(c, |a| {
            if a.iter().any(|x| x.is_infinite()) {
                [f64::INFINITY, 0.0_f64.copysign(a[1])]
            } else {
                a
            }
        })
    }),
    ("polar", |c| Ok(Value::Complex(z::polar(c.real(0)?, c.real(1)?)))),
];

fn each_real(c: &Call<'_>, f: fn(Complex) -> f64) -> Result<Value, Fault> {
    let n = to_complexes(c.arg(0)?)?;
    Ok(from_reals(Numbers::new(n.shape, n.values.iter().map(|a| f(*a)).collect())))
}

fn each(c: &Call<'_>, f: fn(Complex) -> Complex) -> Result<Value, Fault> {
    let n = to_complexes(c.arg(0)?)?;
    Ok(from_complexes(Numbers::new(n.shape, n.values.iter().map(|a| f(*a)).collect())))
}

/// A function that also exists for real numbers, of complex arguments.
pub(crate) fn call(c: &Call<'_>) -> Result<Value, Fault> {
    let f: fn(Complex) -> Complex = match c.name {
        "exp" => z::exp,
        "log" => z::log,
        "log10" => |a| z::log(a).map(|x| x / std::f64::consts::LN_10),
        "sqrt" => z::sqrt,
        "square" => |a| z::mul(a, a),
        "sin" => z::sin,
        "cos" => z::cos,
        "tan" => z::tan,
        "sinh" => z::sinh,
        "cosh" => z::cosh,
        "tanh" => z::tanh,
        "asin" => z::asin,
        "acos" => z::acos,
        "atan" => z::atan,
        "asinh" => z::asinh,
        "acosh" => z::acosh,
        "atanh" => z::atanh,
        "pow" => {
            if let (Value::Complex(_) | Value::Real(_) | Value::Int(_), Value::Complex(_))
            | (Value::Complex(_), Value::Real(_) | Value::Int(_)) = (c.arg(0)?, c.arg(1)?)
            {
                return Ok(Value::Complex(z::pow(complex(c.arg(0)?)?, complex(c.arg(1)?)?)));
            }
            let (a, b) = (to_complexes(c.arg(0)?)?, to_complexes(c.arg(1)?)?);
            return elementwise(c.name, &a, &b, z::pow).map(from_complexes);
        }
        _ => return Err(c.missing()),
    };
    each(c, f)
}
