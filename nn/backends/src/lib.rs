//! The devices that tests, reports and examples run on: what was compiled in -> devices that
//! compute rightly.
//!
//! This is the one file with a list of backends. A device is opened, and each number type is tried
//! on a few operations with known results; a type that computes wrongly is refused with a sentence,
//! even if the device says that it supports it. (Mesa's lavapipe says so of `f64`, whose
//! exponential is 0 there.)

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{DType, Device, Tensor, TensorData};

/// A device that was opened, with the types that it computes rightly in.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its short name, such as `flex`.
    pub name: &'static str,
    /// The device, without autodiff.
    pub device: Device,
    /// Most elements of a tensor that tables try on it; a driver that emulates a graphics
    /// processor takes minutes for what others do in a blink.
    pub largest: usize,
    /// Types that passed.
    pub dtypes: Vec<DType>,
    /// Types that did not, and why.
    pub refused: Vec<(DType, String)>,
    /// What is wrong on it without mattering to code that sums in blocks.
    pub caveats: Vec<String>,
}

/// All number types that are tried, widest first.
pub const DTYPES: [DType; 4] = [DType::F64, DType::F32, DType::F16, DType::BF16];

/// Opens a device.
type Open = fn() -> Device;

/// Burn 0.23 has no `ndarray`; with the version that is pinned here it is a second opinion.
#[cfg(feature = "ndarray")]
#[expect(deprecated, reason = "a second opinion while Burn is pinned to a version that has it")]
fn ndarray() -> Device {
    Device::ndarray()
}

/// Every device that this build can try, with the most elements of a tensor in tables.
fn candidates() -> Vec<(&'static str, Open, usize)> {
    vec![
        #[cfg(feature = "flex")]
        ("flex", Device::flex, usize::MAX),
        #[cfg(feature = "ndarray")]
        ("ndarray", ndarray, usize::MAX),
        #[cfg(feature = "tch")]
        ("tch", Device::libtorch, usize::MAX),
        #[cfg(feature = "wgpu")]
        ("wgpu", || Device::wgpu(burn::tensor::DeviceKind::DefaultDevice), EMULATED),
        #[cfg(feature = "vulkan")]
        ("vulkan", || Device::vulkan(burn::tensor::DeviceKind::DefaultDevice), EMULATED),
    ]
}

/// Elements of a tensor where the device may be a driver that emulates a graphics processor.
#[cfg(any(feature = "vulkan", feature = "wgpu"))]
const EMULATED: usize = 1 << 14;

/// Opens every device of this build. The second list says which could not be opened, and why.
#[must_use]
pub fn open() -> (Vec<Opened>, Vec<(&'static str, String)>) {
    let (mut opened, mut closed) = (Vec::new(), Vec::new());
    for (name, device, largest) in candidates() {
        match quietly(device) {
            Ok(device) => opened.push(examine(name, device, largest)),
            Err(reason) => closed.push((name, reason)),
        }
    }
    (opened, closed)
}

/// Devices of this build that computed rightly in at least one type; a skipped one is said on
/// standard output.
///
/// # Panics
/// If none is left: a build without a backend is a mistake.
#[must_use]
pub fn devices() -> Vec<Opened> {
    let (opened, closed) = open();
    #[expect(clippy::print_stdout, reason = "a test that skips a device must say so")]
    for (name, reason) in closed {
        println!("skipped: {name} could not be opened: {reason}");
    }
    let usable: Vec<Opened> = opened.into_iter().filter(|o| !o.dtypes.is_empty()).collect();
    assert!(!usable.is_empty(), "this build has no backend: enable `flex`");
    usable
}

/// Tries every type on a device.
fn examine(name: &'static str, device: Device, largest: usize) -> Opened {
    let mut opened = Opened {
        name,
        device: device.clone(),
        largest,
        dtypes: Vec::new(),
        refused: Vec::new(),
        caveats: Vec::new(),
    };
    for dtype in DTYPES {
        match self_test(&device, dtype) {
            Ok(caveats) => {
                opened.dtypes.push(dtype);
                opened.caveats.extend(caveats.into_iter().map(|c| format!("{dtype:?}: {c}")));
            }
            Err(reason) => opened.refused.push((dtype, reason)),
        }
    }
    opened
}

/// What rounding may do to results of order one.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-13,
        DType::F32 => 1e-5,
        DType::F16 => 4e-3,
        _ => 3e-2,
    }
}

/// Tries a type on a device: operations that penalties are made of, against their values in `f64`.
///
/// Gives caveats: what is wrong although penalties do not use it.
///
/// # Errors
/// What computed wrongly, or panicked.
pub fn self_test(device: &Device, dtype: DType) -> Result<Vec<String>, String> {
    if !device.supports_dtype(dtype) {
        return Err("the device does not support it".to_owned());
    }
    let device = device.clone();
    quietly(move || probe(&device, dtype)).and_then(|result| result)
}

fn probe(device: &Device, dtype: DType) -> Result<Vec<String>, String> {
    // Exact in every type.
    let values: Vec<f64> = (0..64).map(|i| f64::from(i - 31) / 16.0).collect();
    let make = |values: &[f64], shape: [usize; 2]| {
        Tensor::<2>::from_data(TensorData::new(values.to_vec(), shape), (device, dtype))
    };
    let x = make(&values, [8, 8]);
    let each = |f: fn(f64) -> f64| values.iter().map(|x| f(*x)).collect::<Vec<f64>>();
    let shifted = || x.clone().add_scalar(2.0);
    let unary = [
        ("exp", x.clone().exp(), each(f64::exp)),
        ("log", shifted().log(), each(|x| (x + 2.0).ln())),
        ("sqrt", shifted().sqrt(), each(|x| (x + 2.0).sqrt())),
        ("tanh", x.clone().tanh(), each(f64::tanh)),
        ("abs", x.clone().abs(), each(f64::abs)),
        ("sign", x.clone().sign(), each(|x| if x == 0.0 { 0.0 } else { x.signum() })),
        ("recip", shifted().recip(), each(|x| 1.0 / (x + 2.0))),
        ("clamp", x.clone().clamp(-1.0, 1.0), each(|x| x.clamp(-1.0, 1.0))),
        ("mask", x.clone().mask_fill(x.clone().lower_equal_scalar(0.0), 0.0), each(|x| x.max(0.0))),
    ];
    for (name, result, expected) in unary {
        compare(name, result, &expected, dtype)?;
    }
    let product = |i: usize, j: usize| (0..8).map(|k| values[8 * i + k] * values[8 * j + k]).sum();
    let gram: Vec<f64> = (0..64).map(|element| product(element / 8, element % 8)).collect();
    compare("matmul", x.clone().matmul(x.clone().transpose()), &gram, dtype)?;
    let sums: Vec<f64> = values.chunks(8).map(|row| row.iter().sum()).collect();
    compare("sum of rows", x.clone().sum_dim(1), &sums, dtype)?;
    let tops: Vec<f64> = values.chunks(8).map(|row| row[7]).collect();
    compare("maximum of rows", x.clone().max_dim(1), &tops, dtype)?;
    let halves = make(&[0.5; 1 << 19], [1 << 13, 64]).sum_dim(1);
    compare("sum of 2^13 rows", halves, &vec![32.0; 1 << 13], dtype)?;
    differentiate(&x, &values, dtype)?;
    Ok(long_sum(&make, dtype).into_iter().collect())
}

/// The gradient of $\sum x e^x$ is $(1 + x)e^x$.
fn differentiate(x: &Tensor<2>, values: &[f64], dtype: DType) -> Result<(), String> {
    let x = x.clone().autodiff().require_grad();
    let grads = (x.clone() * x.clone().exp()).sum_dim(1).sum_dim(0).sum().backward();
    let slope = x.grad(&grads).ok_or("no gradient came out")?;
    let expected: Vec<f64> = values.iter().map(|x| (1.0 + x) * x.exp()).collect();
    compare("gradient", slope, &expected, dtype)
}

/// One sum over $2^{19}$ elements, wrong on Mesa's lavapipe; penalties never take one.
fn long_sum(make: &impl Fn(&[f64], [usize; 2]) -> Tensor<2>, dtype: DType) -> Option<String> {
    if matches!(dtype, DType::F16 | DType::BF16) {
        return None;
    }
    let count = 1 << 19;
    let total = make(&vec![0.5; count], [1, count]).sum().try_into_scalar::<f64>().ok()?;
    let expected = count as f64 / 2.0;
    let wrong = (total - expected).abs() > 1e-3 * expected;
    wrong.then(|| format!("one sum over 2^19 elements is {total} instead of {expected}"))
}

fn compare(name: &str, result: Tensor<2>, expected: &[f64], dtype: DType) -> Result<(), String> {
    let values = result.try_into_vec_as::<f64>().map_err(|e| format!("{name}: {e}"))?;
    for (value, expected) in values.iter().zip(expected) {
        // A NaN must fail as well.
        let fine = (value - expected).abs() <= tolerance(dtype) * (1.0 + expected.abs());
        if !fine {
            return Err(format!("{name} is {value} instead of {expected}"));
        }
    }
    Ok(())
}

/// Runs what may panic: some backends panic where others return an error.
fn quietly<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_else(|| "it panicked".to_owned())
    })
}
