//! A row on a device in a type at a size -> its value and gradients beside the reference, and
//! whether they agree.

use burn::tensor::{DType, Device, Tensor, TensorData};
use serde::Serialize;

use crate::inputs::make;
use crate::table::{Case, Map};

/// How far one row is from the reference.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The penalty.
    pub penalty: &'static str,
    /// The device.
    pub device: &'static str,
    /// The number type.
    pub dtype: String,
    /// Elements of each input.
    pub elements: usize,
    /// The value, `NaN` for a map.
    pub value: f64,
    /// The reference's.
    pub expected: f64,
    /// Relative error of the value.
    pub value_error: f64,
    /// Largest error of a gradient (of a map: of an element) over its largest element.
    pub gradient_error: f64,
    /// Whether both are within the bars.
    pub agrees: bool,
}

/// Largest relative error of a value: the bars of the requirement.
#[must_use]
pub fn value_bar(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-14,
        // Halves are widened before anything is computed, so they have the bar of `f32`.
        _ => 1e-6,
    }
}

/// Largest relative error of a gradient.
#[must_use]
pub fn gradient_bar(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-14,
        DType::F32 => 1e-5,
        // The gradient itself is stored in the type: half a unit in its last place.
        DType::F16 => 5e-4,
        _ => 4e-3,
    }
}

/// Whether a penalty is tried in a type at a size.
///
/// Types of 16 bits: means have gradients below their range where there are many elements, and of a
/// gradient penalty the network itself would compute in them.
#[must_use]
pub fn suits(case: &Case, dtype: DType, size: usize) -> bool {
    let half = matches!(dtype, DType::F16 | DType::BF16);
    !half || !case.name.starts_with("gradient") && (case.half || size <= 1 << 10)
}

/// What a stencil adds to the bars of a black box; see `gradient_penalty_black_box`.
fn stencil(name: &str, dtype: DType) -> f64 {
    match dtype {
        _ if !name.ends_with("black box") => 0.0,
        // h^4 times a fifth derivative of order one.
        DType::F64 => 1e-5,
        DType::F32 => 5e-5,
        _ => f64::INFINITY,
    }
}

/// A tensor of a type, and the numbers that it holds after rounding.
fn load(values: Vec<f64>, device: &Device, dtype: DType) -> (Tensor<1>, Vec<f64>) {
    let count = values.len();
    let tensor = Tensor::<1>::from_data(TensorData::new(values, [count]), (device, dtype));
    let rounded = read(tensor.clone());
    (tensor, rounded)
}

fn read(x: Tensor<1>) -> Vec<f64> {
    x.try_into_vec_as::<f64>().expect("host data can be read")
}

/// Runs a penalty.
#[must_use]
pub fn case(
    case: &Case,
    (name, device): (&'static str, &Device),
    dtype: DType,
    size: usize,
) -> Outcome {
    let dims = case.shape.of(size);
    let count: usize = dims.iter().product();
    let width = dims.last().copied().unwrap_or(1);
    let device = device.clone().autodiff();
    let (mut tensors, mut slices) = (Vec::new(), Vec::new());
    for (seed, kind) in case.inputs.iter().enumerate() {
        let values = make(*kind, count, width, seed as u64 + 1);
        let (tensor, rounded) = load(values, &device, dtype);
        tensors.push(tensor.require_grad());
        slices.push(rounded);
    }
    let value = (case.tensors)(tensors.clone(), &dims);
    let grads = value.backward();
    let value = read(value.inner())[0];
    let answer = (case.slices)(&slices, &dims);
    let scale = answer.gradients.iter().flatten().fold(0.0, |m: f64, g| m.max(g.abs()));
    let mut gradient_error: f64 = 0.0;
    for (tensor, expected) in tensors.iter().zip(&answer.gradients) {
        let found = match tensor.grad(&grads) {
            Some(gradient) => read(gradient),
            None => vec![0.0; expected.len()],
        };
        gradient_error = gradient_error.max(apart(&found, expected, scale));
    }
    let value_error = relative(value, answer.value);
    let extra = stencil(case.name, dtype);
    let agrees = value_error <= value_bar(dtype) && gradient_error <= gradient_bar(dtype) + extra;
    Outcome {
        penalty: case.name,
        device: name,
        dtype: format!("{dtype:?}"),
        elements: count,
        value,
        expected: answer.value,
        value_error,
        gradient_error,
        agrees,
    }
}

/// Runs a proximal operator or projection.
#[must_use]
pub fn map(
    map: &Map,
    (name, device): (&'static str, &Device),
    dtype: DType,
    size: usize,
) -> Outcome {
    let dims = map.shape.of(size);
    let count: usize = dims.iter().product();
    let values = make(crate::inputs::Kind::Signed, count, 1, 5);
    let (tensor, rounded) = load(values, device, dtype);
    let found = read((map.tensors)(tensor, &dims));
    let expected = (map.slices)(&rounded, &dims);
    let scale = expected.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let gradient_error = apart(&found, &expected, scale);
    Outcome {
        penalty: map.name,
        device: name,
        dtype: format!("{dtype:?}"),
        elements: count,
        value: f64::NAN,
        expected: f64::NAN,
        value_error: 0.0,
        gradient_error,
        agrees: gradient_error <= gradient_bar(dtype),
    }
}

fn relative(found: f64, expected: f64) -> f64 {
    if found == expected { 0.0 } else { (found - expected).abs() / expected.abs() }
}

/// The largest difference over `scale`; NaN anywhere is infinite.
fn apart(found: &[f64], expected: &[f64], scale: f64) -> f64 {
    assert_eq!(found.len(), expected.len(), "a gradient has its input's shape");
    let largest = found.iter().zip(expected).fold(0.0, |m: f64, (a, b)| {
        let d = (a - b).abs();
        if d.is_nan() { f64::INFINITY } else { m.max(d) }
    });
    if largest == 0.0 { 0.0 } else { largest / scale }
}
