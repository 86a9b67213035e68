//! Models and data as JSON text, in the form that `docs/model-json.md` describes.

use std::fmt::Write;

use exmc_graph::{DType, Tensor};

pub use exmc_model::{DataSet, read_data, read_json, write_json};

/// Data as the text of a JSON object, which [`read_data`] reads back to the bit; numbers that JSON
/// lacks are the words that CmdStan reads, as strings.
///
/// ```
/// use exmc::json::{read_data, write_data};
/// let text = r#"{"n": 2, "x": [[0.5, 1.0], [2.5, "NaN"]]}"#;
/// assert_eq!(write_data(&read_data(text)?), text);
/// # Ok::<(), exmc::Error>(())
/// ```
pub fn write_data(data: &DataSet) -> String {
    let mut text = String::from("{");
    for (k, (name, value)) in data.iter().enumerate() {
        let gap = if k == 0 { "" } else { ", " };
        let _ = write!(text, "{gap}{name:?}: ");
        write_array(&mut text, value.shape().extents(), value.values(), value);
    }
    text.push('}');
    text
}

fn write_array(text: &mut String, extents: &[usize], values: &[f64], tensor: &Tensor) {
    let Some((&n, rest)) = extents.split_first() else {
        let _ = match (values[0], tensor.dtype()) {
            (x, DType::Int) => write!(text, "{x}"),
            (x, _) if x.is_finite() => write!(text, "{x:?}"),
            (x, _) if x.is_nan() => write!(text, "\"NaN\""),
            (x, _) if x > 0.0 => write!(text, "\"Infinity\""),
            _ => write!(text, "\"-Infinity\""),
        };
        return;
    };
    let size: usize = rest.iter().product();
    text.push('[');
    for k in 0..n {
        if k > 0 {
            text.push_str(", ");
        }
        write_array(text, rest, &values[k * size..(k + 1) * size], tensor);
    }
    text.push(']');
}
