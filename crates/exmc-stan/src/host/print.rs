//! Values as `print` writes them: six significant digits, brackets around containers.

use std::fmt::Write;

use crate::value::Value;

/// Appends a value as Stan's `print` writes it: `1.5`, `[1,2]`, `[[1,2],[3,4]]`, `(1,2)`.
pub fn print_value(out: &mut String, value: &Value) {
    match value {
        Value::Int(i) => write!(out, "{i}").expect("a string takes everything"),
        Value::Real(x) => print_real(out, *x),
        Value::Complex(z) => print_complex(out, z),
        Value::Ints(n) => print_nested(out, &n.shape, &n.values, &mut |out, i| {
            write!(out, "{i}").expect("a string takes everything");
        }),
        Value::Reals(n) => {
            print_nested(out, &n.shape, &n.values, &mut |out, x| print_real(out, *x))
        }
        Value::Complexes(n) => print_nested(out, &n.shape, &n.values, &mut print_complex),
        Value::Tuple(slots) => print_list(out, '(', ')', slots),
        Value::Tuples(n) => print_nested(out, &n.shape, &n.values, &mut print_value),
    }
}

fn print_complex(out: &mut String, z: &[f64; 2]) {
    out.push('(');
    print_real(out, z[0]);
    out.push(',');
    print_real(out, z[1]);
    out.push(')');
}

fn print_list(out: &mut String, open: char, close: char, values: &[Value]) {
    out.push(open);
    for (k, value) in values.iter().enumerate() {
        if k > 0 {
            out.push(',');
        }
        print_value(out, value);
    }
    out.push(close);
}

fn print_nested<T>(
    out: &mut String,
    shape: &[usize],
    values: &[T],
    print: &mut dyn FnMut(&mut String, &T),
) {
    let Some((extent, rest)) = shape.split_first() else {
        return print(out, &values[0]);
    };
    let size: usize = rest.iter().product();
    out.push('[');
    for k in 0..*extent {
        if k > 0 {
            out.push(',');
        }
        print_nested(out, rest, &values[k * size..(k + 1) * size], print);
    }
    out.push(']');
}

/// A real number as C's `%g` writes it: six significant digits, no zeros at the end, an exponent of
/// two digits below 1e-4 and from 1e6 on.
pub fn print_real(out: &mut String, x: f64) {
    const DIGITS: i32 = 6;
    if !x.is_finite() || x == 0.0 {
        let text = match x {
            _ if x.is_nan() => "nan",
            f64::INFINITY => "inf",
            f64::NEG_INFINITY => "-inf",
            _ if x.is_sign_negative() => "-0",
            _ => "0",
        };
        return out.push_str(text);
    }
    let scientific = format!("{x:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("an exponent is always written");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    let trim = |text: &str| {
        let text = if text.contains('.') { text.trim_end_matches('0') } else { text };
        text.trim_end_matches('.').to_owned()
    };
    if (-4..DIGITS).contains(&exponent) {
        out.push_str(&trim(&format!("{x:.*}", (DIGITS - 1 - exponent) as usize)));
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{}e{sign}{:02}", trim(mantissa), exponent.abs())
            .expect("a string takes everything");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Numbers;

    #[test]
    fn reals_are_written_as_by_percent_g() {
        // Written by C's printf("%g").
        let table = [
            (1.0, "1"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.333333"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.23457e+06"),
            (999_999.5, "1e+06"),
            (0.0001, "0.0001"),
            (0.000_012_345, "1.2345e-05"),
            (-2.5e-300, "-2.5e-300"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
            (-0.0, "-0"),
        ];
        for (x, wanted) in table {
            let mut out = String::new();
            print_real(&mut out, x);
            assert_eq!(out, wanted);
        }
    }

    #[test]
    fn containers_are_nested_brackets() {
        let mut out = String::new();
        print_value(&mut out, &Value::Reals(Numbers::new([2, 2], vec![1.0, 2.5, 3.0, 4.0])));
        print_value(&mut out, &Value::Tuple(vec![Value::Int(1), Value::ints(vec![])]));
        assert_eq!(out, "[[1,2.5],[3,4]](1,[])");
    }
}
