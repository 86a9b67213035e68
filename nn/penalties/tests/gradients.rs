//! Gradient penalties against second derivatives written out by hand, with respect to inputs and
//! parameters.

mod common;

use burn::tensor::Tensor;
use common::{all_close, close, devices, number, read, tensor};
use penalties::{
    Dual, Over, derivative_along, gradient_penalty, gradient_penalty_black_box,
    interpolated_gradient_penalty,
};
use plain::network::Network;

const INPUTS: usize = 3;
const WIDTH: usize = 4;

fn network() -> Network {
    let weight = |k: usize, by: f64| (by * (k as f64 + 1.0)).sin();
    Network {
        w: (0..INPUTS * WIDTH).map(|k| weight(k, 1.3)).collect(),
        b: (0..WIDTH).map(|k| weight(k, 0.7)).collect(),
        v: (0..WIDTH).map(|k| weight(k, 2.1)).collect(),
    }
}

const X: [f64; 6] = [0.2, -0.5, 1.1, -0.9, 0.4, 0.3];

#[test]
fn exact_and_black_box_have_the_gradients_of_the_written_out_penalty() {
    for (name, d) in devices() {
        let reference = network();
        for (over, each) in [(Over::Whole, false), (Over::Sample, true)] {
            let expected = reference.penalty(&X, INPUTS, 0.7, each);
            let x = tensor(&X, [2, INPUTS], &d).require_grad();
            let w = tensor(&reference.w, [INPUTS, WIDTH], &d).require_grad();
            let b = tensor(&reference.b, [1, WIDTH], &d).require_grad();
            let v = tensor(&reference.v, [WIDTH, 1], &d).require_grad();
            let bias = || b.clone().reshape([WIDTH]);
            let exact = |x: Dual<2>| {
                x.linear(w.clone(), Some(bias())).tanh().linear(v.clone(), None).sum_each()
            };
            let black = |x: Tensor<2>| {
                (x.matmul(w.clone()) + b.clone()).tanh().matmul(v.clone()).reshape([2])
            };
            let found = gradient_penalty(exact, x.clone(), 0.7, over).unwrap();
            // The stencil: h^4 |f'''''| / 30 is below 1e-10 at h = 0.003, and so is rounding over
            // h.
            let stencil = gradient_penalty_black_box(black, x.clone(), 0.7, over, 0.003);
            if over == Over::Whole {
                // One norm needs one direction, which mixes samples: the stencil takes their sum.
                let sum = |x: Tensor<2>| black(x).sum();
                let stencil = gradient_penalty_black_box(sum, x.clone(), 0.7, over, 0.003);
                check(&stencil.unwrap(), &expected, [&x, &w, &b, &v], 1e-9);
            } else {
                check(&stencil.unwrap(), &expected, [&x, &w, &b, &v], 1e-9);
            }
            check(&found, &expected, [&x, &w, &b, &v], 1e-12);
            let mean: f64 = read(found.norms).iter().sum();
            assert!(mean.is_finite(), "{name}");
        }
    }
}

#[track_caller]
fn check(
    found: &penalties::GradientPenalty,
    expected: &plain::Answer,
    inputs: [&Tensor<2>; 4],
    bar: f64,
) {
    close(number(found.value.clone()), expected.value, 1e-13);
    let grads = found.surrogate.backward();
    for (input, gradient) in inputs.into_iter().zip(&expected.gradients) {
        all_close(&read(input.grad(&grads).expect("every input is tracked")), gradient, bar);
    }
}

#[test]
fn a_flat_function_has_no_direction_and_no_gradient() {
    for (_, d) in devices() {
        let x = tensor(&[0.5, 0.5], [1, 2], &d).require_grad();
        let f = |x: Dual<2>| x.mul_scalar(0.0).sum_each();
        let found = gradient_penalty(f, x.clone(), 1.0, Over::Whole).unwrap();
        close(number(found.value.clone()), 1.0, 1e-15);
        // The tangent is a constant, so there is nothing to differentiate.
        assert!(!found.term().is_tracked());
        let f = |x: Dual<2>| x.square().mul_scalar(0.0).sum_each();
        let grads = gradient_penalty(f, x.clone(), 1.0, Over::Whole).unwrap().term().backward();
        assert_eq!(read(x.grad(&grads).unwrap()), [0.0, 0.0]);
    }
}

#[test]
fn tangents_follow_the_chain_rule() {
    let (_, d) = &devices()[0];
    let x = [0.3, -0.8, 1.2, 0.1];
    let direction = [1.0, 0.5, -2.0, 0.25];
    let scale = tensor(&[1.5, 0.5, -1.0, 2.0], [4], d);
    let shift = tensor(&[0.1, 0.2, 0.3, 0.4], [4], d);
    type F = Box<dyn Fn(Dual<2>) -> Dual<2>>;
    let functions: Vec<(&str, F)> = vec![
        ("tanh", Box::new(|x| x.tanh())),
        ("sigmoid", Box::new(|x| x.sigmoid())),
        ("relu", Box::new(|x| x.relu())),
        ("softplus", Box::new(|x| x.softplus())),
        ("silu", Box::new(|x| x.silu())),
        ("exp", Box::new(|x| x.exp())),
        ("square", Box::new(|x| x.square())),
        ("product", Box::new(|x| x.clone().tanh() * x.exp() - x_squared())),
        ("sine", Box::new(|x| x.map(|x| x.sin(), |x| x.cos()))),
        ("layer norm", {
            let (scale, shift) = (scale.clone(), shift.clone());
            Box::new(move |x| x.layer_norm(scale.clone(), shift.clone(), 1e-5))
        }),
    ];
    for (name, f) in functions {
        let weights = tensor(&[0.7, -0.2, 0.4, 1.0], [1, 4], d);
        let g = |x: Dual<2>| (f(x) * Dual::constant(weights.clone())).sum_each();
        let along = tensor(&direction, [1, 4], d);
        let found = number(derivative_along(g, tensor(&x, [1, 4], d), along));
        let value_at = |h: f64| {
            let moved: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + h * d).collect();
            number(g(Dual::constant(tensor(&moved, [1, 4], d))).p)
        };
        let h = 1e-4;
        let difference = (8.0 * (value_at(h) - value_at(-h))
            - (value_at(2.0 * h) - value_at(-2.0 * h)))
            / (12.0 * h);
        assert!((found - difference).abs() < 1e-10, "{name}: {found} {difference}");
    }
}

/// A constant of the product rule's test.
fn x_squared() -> Dual<2> {
    let (_, d) = &devices()[0];
    Dual::constant(tensor(&[0.25; 4], [1, 4], d))
}

#[test]
fn interpolation_stays_between_and_repeats() {
    for (_, d) in devices() {
        let (x, r) = (tensor(&X, [2, 3], &d), tensor(&[0.0; 6], [2, 3], &d));
        let f = |x: Dual<2>| x.square().sum_each();
        let run = |seed| {
            let penalty =
                interpolated_gradient_penalty(f, x.clone(), r.clone(), 1.0, Over::Sample, seed);
            read(penalty.unwrap().norms)
        };
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
        // |grad| = 2 eps |x| of each sample, with a mix of its own.
        let lengths = [plain::norm(&X[..3]), plain::norm(&X[3..])];
        let mixes: Vec<f64> = run(5).iter().zip(lengths).map(|(n, l)| n / (2.0 * l)).collect();
        assert!(mixes.iter().all(|m| *m > 0.0 && *m < 1.0) && mixes[0] != mixes[1], "{mixes:?}");
    }
}

#[test]
fn settings_are_checked() {
    let (_, d) = &devices()[0];
    let x = tensor(&[1.0], [1, 1], d);
    let f = |x: Tensor<2>| x.reshape([1]);
    let error = gradient_penalty_black_box(f, x.clone(), 1.0, Over::Whole, 0.0).unwrap_err();
    assert_eq!(error.to_string(), "step is 0, expected a positive number");
    let g = |x: Dual<2>| x.sum_each();
    let error = gradient_penalty(g, x, f64::NAN, Over::Whole).unwrap_err();
    assert_eq!(error.to_string(), "target is NaN, expected a finite number");
}
