//! Values -> JSON text in CmdStan's form.

use std::fmt::Write;

use crate::host::Environment;
use crate::typed::Program;
use crate::value::{Numbers, Value};

/// The data that an environment holds, as the text of a data file.
///
/// [`read_data`](super::read_data) gives them back bit by bit. Variables without a value are left
/// out.
pub fn write_data(program: &Program, env: &Environment) -> String {
    let mut out = String::from("{");
    for declaration in &program.data {
        let Some(value) = env.get(declaration.variable) else { continue };
        let comma = if out.len() > 1 { ", " } else { "" };
        let name = &program.variable(declaration.variable).name;
        show(&mut out, &format_args!("{comma}\"{name}\": "));
        write(&mut out, value);
    }
    out.push('}');
    out
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Int(i) => show(out, i),
        Value::Real(x) => show(out, &Finite(*x)),
        Value::Complex(z) => pair(out, z),
        Value::Ints(n) => nested(out, n, &mut |out, i| show(out, i)),
        Value::Reals(n) => nested(out, n, &mut |out, x| show(out, &Finite(*x))),
        Value::Complexes(n) => nested(out, n, &mut pair),
        Value::Tuples(n) => nested(out, n, &mut write),
        Value::Tuple(slots) => {
            out.push('{');
            for (k, slot) in slots.iter().enumerate() {
                let comma = if k == 0 { "" } else { ", " };
                show(out, &format_args!("{comma}\"{}\": ", k + 1));
                write(out, slot);
            }
            out.push('}');
        }
    }
}

/// A real number, with a point; those that are not finite by Stan's names.
struct Finite(f64);

impl std::fmt::Display for Finite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            x if x.is_finite() => write!(f, "{x:?}"),
            x if x.is_nan() => write!(f, "\"NaN\""),
            x if x > 0.0 => write!(f, "\"Infinity\""),
            _ => write!(f, "\"-Infinity\""),
        }
    }
}

fn show(out: &mut String, what: &dyn std::fmt::Display) {
    write!(out, "{what}").expect("a string takes everything");
}

fn pair(out: &mut String, z: &[f64; 2]) {
    show(out, &format_args!("[{}, {}]", Finite(z[0]), Finite(z[1])));
}

fn nested<T>(out: &mut String, numbers: &Numbers<T>, each: &mut dyn FnMut(&mut String, &T)) {
    level(out, &numbers.shape, &numbers.values, each);
}

fn level<T>(
    out: &mut String,
    shape: &[usize],
    values: &[T],
    each: &mut dyn FnMut(&mut String, &T),
) {
    let Some((&extent, inner)) = shape.split_first() else {
        if let Some(value) = values.first() {
            each(out, value);
        }
        return;
    };
    let size: usize = inner.iter().product();
    out.push('[');
    for k in 0..extent {
        if k > 0 {
            out.push_str(", ");
        }
        level(out, inner, &values[k * size..(k + 1) * size], each);
    }
    out.push(']');
}
