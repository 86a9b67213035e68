//! A JSON file of constrained values by name, one object or a list of them -> values.

use std::path::Path;

use exmc::advanced::BoundModel;
use exmc::json::write_data;
use exmc::model::{Tensor, Values};
use exmc::runs::Posterior;
use exmc_model::{DataSet, read_data};
use serde_json::Value;

use crate::failure::{Exit, Failure};
use crate::source::read_text;

/// Reads an object or a list of objects name -> number or nested arrays.
pub(crate) fn read_points(path: &Path) -> Result<Vec<Values>, Failure> {
    let text = read_text(path)?;
    let wrong = |message: String| {
        let message = format!("in `{}`: {message}", path.display());
        let help = "expected an object of names and values, or a list of such objects";
        Failure::new(Exit::Model, message).hint(help)
    };
    let document: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let points = match document {
        Value::Array(points) => points,
        one => vec![one],
    };
    let mut read = Vec::with_capacity(points.len());
    for (k, point) in points.iter().enumerate() {
        if !point.is_object() {
            return Err(wrong(format!("entry {k} is no object")));
        }
        let values = read_data(&point.to_string())
            .map_err(|e| Failure::from(e).in_file(path).context(&format!("entry {k}")))?;
        read.push(values.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect());
    }
    Ok(read)
}

/// Points as a text that [`read_points`] reads.
pub(crate) fn points_text(points: &[Values]) -> String {
    let all: Vec<String> = points.iter().map(|point| write_data(&DataSet::from(point))).collect();
    format!("[{}]", all.join(", "))
}

/// The values of a model's free variables in one recorded draw.
pub(crate) fn free_values(
    posterior: &Posterior,
    row: &[f64],
    bound: &BoundModel,
) -> Result<Values, Failure> {
    let mut values = Values::new();
    for entry in &bound.compiled().lowered().layout {
        let Some(variable) = posterior.variable(&entry.name) else {
            let message = format!("there is no column of `{}`", entry.name);
            return Err(Failure::new(Exit::Model, message));
        };
        let elements = &row[variable.offset..variable.offset + variable.len()];
        let tensor = Tensor::real(variable.shape.as_slice(), elements);
        values.insert(
            entry.name.clone(),
            tensor.expect("a variable has as many columns as elements"),
        );
    }
    Ok(values)
}
