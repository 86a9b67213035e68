//! Where formulas break: zeros, infinities, NaN, tiny numbers, nothing at all. On every device and
//! type.

mod common;

use burn::tensor::{DType, Tensor, TensorData};
use common::{devices, number, read, tensor, with_gradient};
use penalties::{
    Centre, Direction, EntropyMode, Metric, Penalty, Reduce, RowReduce, consistency, entropy, js,
    kl, l1,
};

const INF: f64 = f64::INFINITY;

fn all() -> Vec<Penalty> {
    vec![
        Penalty::L1,
        Penalty::L2,
        Penalty::L2 { reduce: Reduce::Sum, centre: Centre::Mean, clip: Some(1.0) },
        Penalty::ElasticNet { reduce: Reduce::Sum, l1_ratio: 0.5 },
        Penalty::GroupLasso { axis: 0, size_weighted: false },
        Penalty::GroupLasso { axis: 1, size_weighted: true },
        Penalty::SpectralNorm,
        Penalty::NuclearNorm,
        Penalty::TotalVariation { axis: 1, reduce: Reduce::Sum },
        Penalty::MaxNorm { axis: 0, limit: 0.5 },
        Penalty::Orthogonality {
            mode: Default::default(),
            normalise: true,
            rows_of: Default::default(),
        },
        Penalty::OutputMagnitude { target: 1.0, reduce: Reduce::Mean },
    ]
}

#[test]
fn zeros_have_finite_values_and_a_gradient_of_zero() {
    for (name, d) in devices() {
        for penalty in all() {
            let (value, slope) =
                with_gradient(&[0.0; 6], [2, 3], &d, |x| penalty.value(x).unwrap());
            assert!(value.is_finite(), "{name} {penalty:?}: {value}");
            assert_eq!(slope, [0.0; 6], "{name} {penalty:?}");
        }
    }
}

#[test]
fn one_zero_row_leaves_the_others_alone() {
    for (name, d) in devices() {
        for penalty in all() {
            let x = [0.0, 0.0, 0.0, 0.6, -0.8, 0.1];
            let (value, slope) = with_gradient(&x, [2, 3], &d, |x| penalty.value(x).unwrap());
            assert!(value.is_finite(), "{name} {penalty:?}: {value}");
            assert!(slope.iter().all(|g| g.is_finite()), "{name} {penalty:?}: {slope:?}");
        }
    }
}

#[test]
fn tiny_numbers_keep_their_direction() {
    for (name, d) in devices() {
        for dtype in [DType::F32, DType::F64] {
            for (penalty, scale) in [
                (Penalty::L1, 1e-30),
                (Penalty::GroupLasso { axis: 0, size_weighted: false }, 1e-30),
                (Penalty::SpectralNorm, 1e-30),
                (Penalty::NuclearNorm, 1e-30),
            ] {
                let norm_at = |scale: f64| {
                    let values: Vec<f64> =
                        [0.5, -1.0, 2.0, 1.0, 0.25, -0.5].iter().map(|x| x * scale).collect();
                    let x = Tensor::<2>::from_data(TensorData::new(values, [2, 3]), (&d, dtype));
                    let x = x.require_grad();
                    let value = penalty.value(x.clone()).unwrap();
                    let grads = value.backward();
                    (number(value.inner()), read(x.grad(&grads).unwrap()))
                };
                let ((small, slope), (one, expected)) = (norm_at(scale), norm_at(1.0));
                // All four are homogeneous of degree one: the value scales and the gradient does
                // not.
                assert!((small / scale - one).abs() < 1e-5, "{name} {dtype:?} {penalty:?} {small}");
                for (a, b) in slope.iter().zip(&expected) {
                    assert!((a - b).abs() < 1e-5, "{name} {dtype:?} {penalty:?} {slope:?}");
                }
            }
        }
    }
}

#[test]
fn large_numbers_do_not_overflow_norms() {
    for (name, d) in devices() {
        let x = Tensor::<2>::from_data(TensorData::new(vec![3e30, 4e30], [1, 2]), (&d, DType::F32));
        let norm = Penalty::GroupLasso { axis: 0, size_weighted: false }.value(x).unwrap();
        let norm = number(norm);
        assert!((norm / 5e30 - 1.0).abs() < 1e-6, "{name}: {norm}");
    }
}

#[test]
fn nan_stays_nan_and_infinity_infinite() {
    for (name, d) in devices() {
        for penalty in all() {
            let value = penalty.value(tensor(&[1.0, f64::NAN, 2.0, 3.0, 4.0, 5.0], [2, 3], &d));
            let value = number(value.unwrap());
            assert!(value.is_nan(), "{name} {penalty:?} hides a NaN: {value}");
        }
        for x in [INF, -INF] {
            assert_eq!(number(l1(tensor(&[1.0, x], [2], &d), Reduce::Sum)), INF, "{name}");
            let group = Penalty::GroupLasso { axis: 0, size_weighted: false };
            assert_eq!(number(group.value(tensor(&[1.0, x], [1, 2], &d)).unwrap()), INF, "{name}");
        }
        let bad = tensor(&[f64::NAN, -1.0, -1.0, -1.0], [4], &d);
        let fine = tensor(&[0.25f64.ln(); 4], [4], &d);
        let mean = RowReduce::Mean;
        let forward = kl(bad.clone(), fine.clone(), Direction::Forward, mean).unwrap();
        assert!(number(forward).is_nan(), "{name}");
        assert!(number(js(fine, bad.clone(), mean).unwrap()).is_nan(), "{name}");
        let h = entropy(bad, EntropyMode::Bonus, false, 1.0, mean).unwrap();
        assert!(number(h).is_nan(), "{name}");
    }
}

#[test]
fn impossible_classes_have_finite_gradients() {
    let mean = RowReduce::Mean;
    for (name, d) in devices() {
        let p = [0.5f64.ln(), 0.5f64.ln(), -INF, -INF];
        let q = [0.25f64.ln(), -INF, 0.75f64.ln(), -INF];
        let run = |f: &dyn Fn(Tensor<1>, Tensor<1>) -> Tensor<1>| {
            let (a, b) = (tensor(&p, [4], &d).require_grad(), tensor(&q, [4], &d).require_grad());
            let value = f(a.clone(), b.clone());
            let grads = value.backward();
            let mut numbers = vec![number(value.inner())];
            numbers.extend(read(a.grad(&grads).unwrap()));
            numbers.extend(b.grad(&grads).map(read).unwrap_or_default());
            numbers
        };
        let results = [
            run(&|a, b| kl(a, b, Direction::Forward, mean).unwrap()),
            run(&|a, b| kl(a, b, Direction::Symmetric, mean).unwrap()),
            run(&|a, b| js(a, b, mean).unwrap()),
            run(&|a, b| consistency(a, b, Metric::Kl, mean).unwrap()),
            run(&|a, _| entropy(a, EntropyMode::Bonus, false, 1.0, mean).unwrap()),
            run(&|a, _| entropy(a, EntropyMode::Bonus, true, 2.0, mean).unwrap()),
        ];
        for result in results {
            assert!(result.iter().all(|x| x.is_finite()), "{name}: {result:?}");
        }
    }
}

#[test]
fn an_entropy_of_all_rows_has_the_gradient_of_its_rows() {
    // One number's gradient is in closed form, that of a value for each row is Burn's.
    let x = [-0.5, -1.5, -INF, -1.2, -60.0, -0.3, -49.0, 0.0];
    for (name, d) in devices() {
        for (mode, normalise, temperature) in [
            (EntropyMode::Bonus, false, 1.0),
            (EntropyMode::Penalty, true, 1.0),
            (EntropyMode::Bonus, true, 0.7),
        ] {
            let entropy_reduced = |x, how| entropy(x, mode, normalise, temperature, how).unwrap();
            for (how, share) in [(RowReduce::Sum, 1.0), (RowReduce::Mean, 0.5)] {
                let (value, slope) = with_gradient(&x, [2, 4], &d, |x| entropy_reduced(x, how));
                let (rows, slopes) = with_gradient(&x, [2, 4], &d, |x| {
                    entropy_reduced(x, RowReduce::None).sum().mul_scalar(share)
                });
                assert!((value - rows).abs() <= 1e-14 * rows.abs(), "{name}: {value} {rows}");
                for (a, b) in slope.iter().zip(&slopes) {
                    // Some roundings of numbers of order one.
                    assert!((a - b).abs() < 1e-15, "{name}: {slope:?} {slopes:?}");
                }
                // Classes whose log probability is at most -50 count for nothing.
                assert_eq!(slope[2], 0.0, "{name}: {slope:?}");
            }
        }
        let (_, slope) = with_gradient(&x, [2, 4], &d, |x| {
            entropy(x, EntropyMode::Bonus, false, 1.0, RowReduce::Sum).unwrap()
        });
        assert_eq!(slope[4], 0.0, "{name}: {slope:?}");
        assert!(slope[6] != 0.0, "{name}: {slope:?}");
    }
}

#[test]
fn a_temperature_costs_no_digits() {
    // Burn differentiates a division by a scalar with a reciprocal of seven digits; 1/3 shows it,
    // where 1/2 would not.
    let x = [-0.5, -1.5, -1.2, -2.0];
    let expected = plain::divergence::entropy(&x, 4, 3.0);
    for (name, d) in devices() {
        let (value, slope) = with_gradient(&x, [4], &d, |x| {
            entropy(x, EntropyMode::Bonus, false, 3.0, RowReduce::Mean).unwrap()
        });
        assert!((value / expected.value - 1.0).abs() < 1e-14, "{name}: {value}");
        for (a, b) in slope.iter().zip(&expected.gradients[0]) {
            assert!((a - b).abs() < 1e-15, "{name}: {slope:?} {:?}", expected.gradients);
        }
    }
}

#[test]
fn nothing_at_all() {
    for (name, d) in devices() {
        let none = || tensor(&[], [0], &d);
        assert_eq!(number(l1(none(), Reduce::Sum)), 0.0, "{name}");
        assert!(number(l1(none(), Reduce::Mean)).is_nan(), "{name}");
        let one_class = tensor(&[0.0, 0.0], [2, 1], &d);
        let h = entropy(one_class, EntropyMode::Bonus, true, 1.0, RowReduce::Mean).unwrap();
        assert_eq!(number(h), 0.0, "{name}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_sentence() {
    let (_, d) = &devices()[0];
    let x = || tensor(&[1.0, 2.0], [2], d);
    let told = |result: Result<Tensor<1>, penalties::Error>| result.unwrap_err().to_string();
    let short = tensor(&[1.0], [1], d);
    assert_eq!(
        told(kl(x(), short, Direction::Forward, RowReduce::Mean)),
        "KL divergence of tensors of different shapes: [2] and [1]"
    );
    assert_eq!(
        told(entropy(x(), EntropyMode::Bonus, false, 0.0, RowReduce::Mean)),
        "temperature is 0, expected a positive number"
    );
    assert_eq!(
        told(Penalty::GroupLasso { axis: 1, size_weighted: false }.value(x())),
        "group lasso of a tensor of shape [2]: expected an axis 1"
    );
    assert_eq!(
        told(Penalty::ElasticNet { reduce: Reduce::Sum, l1_ratio: 1.5 }.value(x())),
        "l1_ratio is 1.5, expected a number from 0 to 1"
    );
    assert_eq!(
        told(Penalty::Custom("mine".to_owned()).value(x())),
        "custom penalty `mine` is not registered"
    );
    let error = Penalty::SpectralNorm.prox(x(), 0.1).unwrap_err();
    assert!(error.to_string().ends_with("cannot act as prox, only as loss"), "{error}");
}
