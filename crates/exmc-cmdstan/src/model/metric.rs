//! Metrics in files, over Stan's unconstrained coordinates <-> those of the sampler.

use std::path::Path;

use exmc::infer::InverseMetric;
use exmc_fault::{Fault, planted};
use serde_json::{Value, json};

use super::inputs::{read_data, rows};
use crate::failure::Failure;
use crate::number::Digits;

/// The inverse metric of a chain, over Stan's coordinates, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written {
    Unit,
    Diagonal(Vec<f64>),
    Dense(Vec<Vec<f64>>),
}

/// Reads `inv_metric` of a file. `order[i]` is the sampler's place of Stan's coordinate `i`.
pub(super) fn read(path: &str, order: &[usize], dense: bool) -> Result<InverseMetric, Failure> {
    let text = read_data(path)?.text;
    let dim = order.len();
    let wrong = |what: &str| {
        Failure::exception(format!(
            "metric file `{path}`: {what}\nCannot get inverse metric from input file."
        ))
    };
    let json: Value = serde_json::from_str(&text).map_err(|e| wrong(&e.to_string()))?;
    let entry = json.get("inv_metric").ok_or_else(|| wrong("it has no \"inv_metric\""))?;
    let given = rows(entry).ok_or_else(|| wrong("\"inv_metric\" is no array of numbers"))?;
    let place = |i: usize| if planted(Fault::MetricFileOrder) { i } else { order[i] };
    if !dense {
        let ([row], true) = (given.as_slice(), !entry[0].is_array()) else {
            return Err(wrong("\"inv_metric\" is a matrix, and metric=diag_e takes its diagonal"));
        };
        if row.len() != dim {
            let found = row.len();
            return Err(wrong(&format!("expected {dim} elements, found {found}")));
        }
        let mut variances = vec![0.0; dim];
        row.iter().enumerate().for_each(|(i, x)| variances[place(i)] = *x);
        return Ok(InverseMetric::Diagonal(variances));
    }
    let is_square = given.len() == dim && given.iter().all(|row| row.len() == dim);
    if !is_square || !entry[0].is_array() {
        return Err(wrong(&format!("expected a matrix of {dim} rows and columns")));
    }
    let mut covariance = vec![0.0; dim * dim];
    for (i, row) in given.iter().enumerate() {
        for (j, x) in row.iter().enumerate() {
            covariance[place(i) * dim + place(j)] = *x;
        }
    }
    Ok(InverseMetric::Dense { dim, covariance })
}

impl Written {
    /// A sampler's metric in Stan's order.
    pub(super) fn of(metric: &InverseMetric, order: &[usize], kind: &str) -> Self {
        let diagonal = metric.diagonal();
        let element = |i: usize, j: usize| match metric {
            InverseMetric::Dense { dim, covariance } => covariance[i * dim + j],
            _ if i == j => diagonal[i],
            _ => 0.0,
        };
        match kind {
            "unit_e" => Self::Unit,
            "dense_e" => Self::Dense(
                order.iter().map(|i| order.iter().map(|j| element(*i, *j)).collect()).collect(),
            ),
            _ => Self::Diagonal(order.iter().map(|i| diagonal[*i]).collect()),
        }
    }

    /// The comment lines that clients look for behind the step size.
    pub(super) fn lines(&self, digits: Digits) -> Vec<String> {
        let list =
            |row: &Vec<f64>| row.iter().map(|x| digits.write(*x)).collect::<Vec<_>>().join(", ");
        match self {
            Self::Unit => Vec::new(),
            Self::Diagonal(row) => {
                vec!["Diagonal elements of inverse mass matrix:".to_owned(), list(row)]
            }
            Self::Dense(rows) => {
                let first = "Elements of inverse mass matrix:".to_owned();
                // Readers take one line at least.
                let none = rows.is_empty().then(String::new);
                std::iter::once(first).chain(rows.iter().map(list)).chain(none).collect()
            }
        }
    }

    /// The file of `save_metric`.
    pub(super) fn save(
        &self,
        path: &str,
        step_size: f64,
        kind: &str,
        dim: usize,
    ) -> Result<(), Failure> {
        let metric = match self {
            Self::Unit => json!(vec![1.0; dim]),
            Self::Diagonal(row) => json!(row),
            Self::Dense(rows) => json!(rows),
        };
        let text = json!({"stepsize": step_size, "metric_type": kind, "inv_metric": metric});
        std::fs::write(path, format!("{text:#}\n"))
            .map_err(|e| Failure::unwritable(Path::new(path), &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_keep_their_coordinates_in_both_directions() {
        let path = std::env::temp_dir().join(format!("exmc-metric-{}.json", std::process::id()));
        let name = path.to_str().unwrap();
        let order = [2, 0, 1];
        std::fs::write(&path, "{\"inv_metric\": [1, 2, 3]}").unwrap();
        let read_back = read(name, &order, false).unwrap();
        assert_eq!(read_back, InverseMetric::Diagonal(vec![2.0, 3.0, 1.0]));
        assert_eq!(
            Written::of(&read_back, &order, "diag_e"),
            Written::Diagonal(vec![1.0, 2.0, 3.0])
        );
        std::fs::write(&path, "{\"inv_metric\": [[4, 1, 2], [1, 5, 3], [2, 3, 6]]}").unwrap();
        let dense = read(name, &order, true).unwrap();
        assert_eq!(dense.diagonal(), [5.0, 6.0, 4.0]);
        let Written::Dense(rows) = Written::of(&dense, &order, "dense_e") else { panic!() };
        assert_eq!(rows[0], [4.0, 1.0, 2.0]);
        let wrong = read(name, &order, false).unwrap_err().to_string();
        assert!(wrong.contains("is a matrix"), "{wrong}");
        std::fs::write(&path, "{\"inv_metric\": [1, 2]}").unwrap();
        let wrong = read(name, &order, false).unwrap_err().to_string();
        assert!(wrong.contains("expected 3 elements, found 2"), "{wrong}");
        std::fs::remove_file(&path).unwrap();
    }
}
