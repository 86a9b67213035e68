//! What the tests share: tensors of every device in a type, and comparisons that say what differed.
#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]

pub mod model;

use burn::tensor::{DType, Device, Tensor, TensorData};

/// Devices that differentiate, with their names.
pub fn devices() -> Vec<(&'static str, Device)> {
    backends::devices().into_iter().map(|d| (d.name, d.device.autodiff())).collect()
}

/// A tensor in `f64`.
pub fn tensor<const D: usize>(values: &[f64], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), (device, DType::F64))
}

/// The numbers of a tensor.
pub fn read<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.try_into_vec_as::<f64>().expect("host data can be read")
}

/// The one number of a tensor.
pub fn number(x: Tensor<1>) -> f64 {
    let values = read(x);
    assert_eq!(values.len(), 1);
    values[0]
}

/// Whether two numbers agree to `bar`, relative to one or to the larger.
#[track_caller]
pub fn close(found: f64, expected: f64, bar: f64) {
    let fine = (found - expected).abs() <= bar * expected.abs().max(1.0);
    assert!(fine, "{found} instead of {expected}");
}

/// Whether lists of numbers agree to `bar`.
#[track_caller]
pub fn all_close(found: &[f64], expected: &[f64], bar: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for (a, b) in found.iter().zip(expected) {
        let fine = (a - b).abs() <= bar * b.abs().max(1.0);
        assert!(fine, "{found:?} instead of {expected:?}");
    }
}

/// Value and gradient of a penalty of one tensor.
pub fn with_gradient<const D: usize>(
    values: &[f64],
    shape: [usize; D],
    device: &Device,
    f: impl Fn(Tensor<D>) -> Tensor<1>,
) -> (f64, Vec<f64>) {
    let x = tensor(values, shape, device).require_grad();
    let value = f(x.clone());
    let grads = value.backward();
    let gradient = x.grad(&grads).map_or_else(|| vec![0.0; values.len()], read);
    (number(value.inner()), gradient)
}
