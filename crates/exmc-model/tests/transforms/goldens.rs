//! Values and log Jacobians against 1000-digit numbers (`goldens.csv`, made by `generate.py`), and
//! the numbers that the requirements state.

use exmc_graph::Graph;
use exmc_model::Transform;

use crate::transforms::numeric::{Built, assert_close};

/// One row: the transform, its value's shape, z, x and log J.
struct Golden {
    name: String,
    limits: Vec<f64>,
    z: Vec<f64>,
    x: Vec<f64>,
    log_jacobian: f64,
}

impl Golden {
    fn transform(&self, g: &mut Graph) -> Transform {
        match self.name.as_str() {
            "log" => Transform::Log,
            "softplus" => Transform::Softplus,
            "logit" => Transform::Logit,
            "lower" => Transform::Lower(g.scalar(self.limits[0])),
            "upper" => Transform::Upper(g.scalar(self.limits[0])),
            "interval" => Transform::Interval(g.scalar(self.limits[0]), g.scalar(self.limits[1])),
            "circle" => Transform::Circle,
            "ordered" => Transform::Ordered,
            "positive_ordered" => Transform::PositiveOrdered,
            "simplex" => Transform::Simplex,
            "simplex_plain" => Transform::SimplexPlain,
            "simplex_softmax" => Transform::SimplexSoftmax,
            "correlation" => Transform::CorrelationCholesky,
            "covariance" => Transform::CovarianceCholesky,
            "sum_to_zero" => Transform::SumToZero,
            "unit_vector" => Transform::UnitVector,
            other => panic!("no transform is called {other}"),
        }
    }

    fn shape(&self) -> Vec<usize> {
        if matches!(self.name.as_str(), "correlation" | "covariance") {
            let n = (self.x.len() as f64).sqrt() as usize;
            vec![n, n]
        } else {
            vec![self.x.len()]
        }
    }
}

fn goldens() -> Vec<Golden> {
    let numbers = |text: &str| -> Vec<f64> {
        text.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let row = |line: &str| {
        let columns: Vec<&str> = line.split(',').collect();
        let [name, limits, z, x, log_jacobian] = columns[..] else { panic!("columns: {line}") };
        Golden {
            name: name.into(),
            limits: numbers(limits),
            z: numbers(z),
            x: numbers(x),
            log_jacobian: numbers(log_jacobian)[0],
        }
    };
    include_str!("goldens.csv").lines().map(row).collect()
}

/// exp and its kin are good to an ulp of their result; sums of logs up to 200 in the exponent of a
/// simplex or a correlation factor cost up to 200 ulp, 5e-14.
#[test]
fn values_have_all_their_digits() {
    for golden in goldens() {
        let built = Built::new(|g| golden.transform(g), &golden.shape());
        let x = built.values(built.x, &golden.z);
        // A limit or a mean of other elements is added to these, which costs small values their
        // digits.
        let absolute = match golden.name.as_str() {
            "lower" | "upper" | "interval" | "circle" | "ordered" | "sum_to_zero" => 1e-15,
            _ => 0.0,
        };
        for (found, expected) in x.iter().zip(&golden.x) {
            let limit = 5e-14 * expected.abs() + absolute;
            let name = &golden.name;
            assert!((found - expected).abs() <= limit, "{name}: {found:e}, expected {expected:e}");
        }
        let found = built.value(built.log_jacobian, &golden.z);
        assert_close(&[found], &[golden.log_jacobian], 1e-14, &golden.name);
    }
}

/// Six digits, as the requirements state them.
#[test]
fn stated_numbers() {
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 6e-7, "{found}");
    let softplus = Built::new(|_| Transform::Softplus, &[]);
    near(softplus.value(softplus.x, &[0.3]), 0.854355);
    near(softplus.value(softplus.log_jacobian, &[0.3]), -0.554355);
    assert!((softplus.value(softplus.x, &[-40.0]) / 4.248354e-18 - 1.0).abs() < 1e-6);
    assert_eq!(softplus.value(softplus.x, &[800.0]), 800.0);
    let logit = Built::new(|_| Transform::Logit, &[]);
    near(logit.value(logit.x, &[0.3]), 0.574443);
    near(logit.value(logit.log_jacobian, &[0.3]), -1.408710);
    let mut log = Built::new(|_| Transform::Log, &[]);
    near(log.gradient(log.x, &[0.1])[0], 1.105171);
    let stan = Built::new(|_| Transform::Simplex, &[3]);
    let plain = Built::new(|_| Transform::SimplexPlain, &[3]);
    for (built, x, log_jacobian) in [
        (stan, [0.379152, 0.249154, 0.371694], -3.349187),
        (plain, [0.549834, 0.180657, 0.269509], -3.620447),
    ] {
        let found = built.values(built.x, &[0.2, -0.4]);
        x.iter().zip(found).for_each(|(expected, found)| near(found, *expected));
        near(built.value(built.log_jacobian, &[0.2, -0.4]), log_jacobian);
    }
}

/// An exponential variable's log density by z = log x is its log density plus z.
#[test]
fn the_log_jacobian_of_log_is_z() {
    let mut built = Built::new(|_| Transform::Log, &[]);
    let cost = built.g.scale(built.x, -2.0);
    let lpdf = built.g.shift(cost, std::f64::consts::LN_2);
    let total = built.g.add(lpdf, built.log_jacobian);
    let z = f64::ln(0.5);
    let found = built.value(total, &[z]);
    assert!((found - (-0.306_852_819_440_054_7 + z)).abs() < 1e-15, "{found}");
}
