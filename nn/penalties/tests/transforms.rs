//! Transforms of gradients with the numbers of the requirement table, and moving averages.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

mod common;

use burn::module::Module;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::Device;
use common::model::{Two, Weights};
use common::{all_close, close, devices, read, tensor};
use penalties::{Average, Transform, Transforms};

/// What one step of plain gradient descent changes, with a given gradient.
fn change(w: &[f64], g: &[f64], rate: f64, transforms: &[Transform], d: &Device) -> Vec<f64> {
    let model = Weights::new(w, [1, w.len()], d);
    let mut gradients = GradientsParams::new();
    gradients.register(model.beta.id, tensor(g, [1, g.len()], &d.clone().inner()));
    let transforms = Transforms::new(transforms.to_vec());
    let gradients = transforms.apply(&model, gradients, 0).unwrap();
    let after = SgdConfig::new().init().step(rate, model, gradients).values();
    after.iter().zip(w).map(|(a, b)| a - b).collect()
}

#[test]
fn decays_and_clips() {
    for (_, d) in devices() {
        let l2 = |weight| Transform::L2Decay { weight };
        let l1 = |weight| Transform::L1Decay { weight };
        all_close(&change(&[1.0, 2.0], &[0.1, 0.1], 0.1, &[l2(0.1)], &d), &[-0.02, -0.03], 1e-15);
        all_close(&change(&[0.0, 1.0], &[0.0, 0.0], 0.1, &[l1(0.1)], &d), &[0.0, -0.01], 1e-15);
        let both = Transform::ElasticNetDecay { weight: 1.0, l1_ratio: 0.5 };
        all_close(&change(&[2.0], &[0.0], 1.0, &[both], &d), &[-1.5], 1e-15);
        all_close(&change(&[1.0], &[0.0], 0.1, &[l2(0.01), l1(0.001)], &d), &[-0.0011], 1e-15);
        let clip = |ratio, epsilon| Transform::AdaptiveClip { ratio, epsilon };
        all_close(&change(&[10.0], &[5.0], 1.0, &[clip(0.1, 1e-3)], &d), &[-1.0], 1e-15);
        all_close(&change(&[0.01], &[1.0], 1.0, &[clip(1.0, 0.1)], &d), &[-0.1], 1e-15);
    }
}

#[test]
fn a_global_norm_is_over_all_parameters() {
    for (_, d) in devices() {
        let model = Two::new(&[0.0], &[0.0], &d);
        let inner = d.clone().inner();
        let run = |a: f64, b: f64| {
            let mut gradients = GradientsParams::new();
            gradients.register(model.first.id, tensor(&[a], [1], &inner));
            gradients.register(model.second.id, tensor(&[b], [1], &inner));
            let clip = Transforms::new([Transform::ClipGlobalNorm { limit: 1.0 }]);
            let gradients = clip.apply(&model, gradients, 0).unwrap();
            let after = SgdConfig::new().init().step(1.0, model.clone(), gradients).values();
            [after[0][0], after[1][0]]
        };
        all_close(&run(3.0, 4.0), &[-0.6, -0.8], 1e-15);
        all_close(&run(0.3, 0.4), &[-0.3, -0.4], 1e-15);
        all_close(&run(0.0, 0.0), &[0.0, 0.0], 1e-15);
    }
}

#[test]
fn the_last_added_runs_first() {
    let (_, d) = &devices()[0];
    let decay = Transform::L2Decay { weight: 1.0 };
    let clip = Transform::ClipGlobalNorm { limit: 1.0 };
    // Clip first: 10 becomes 1, and decay adds 4.
    let wrapped = [decay.clone(), clip.clone()];
    all_close(&change(&[4.0], &[10.0], 1.0, &wrapped, d), &[-5.0], 1e-15);
    all_close(&change(&[4.0], &[10.0], 1.0, &[clip, decay], d), &[-1.0], 1e-15);
}

#[test]
fn centralisation() {
    for (_, d) in devices() {
        let g = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let model = Weights::new(&[0.0; 6], [2, 3], &d);
        let run = |axes: Option<Vec<usize>>| {
            let mut gradients = GradientsParams::new();
            gradients.register(model.beta.id, tensor(&g, [2, 3], &d.clone().inner()));
            let transforms = Transforms::new([Transform::Centralise { axes }]);
            let gradients = transforms.apply(&model, gradients, 0)?;
            Ok::<_, penalties::Error>(read(gradients.get::<2>(model.beta.id).unwrap()))
        };
        all_close(&run(None).unwrap(), &[-1.0, 0.0, 1.0, -1.0, 0.0, 1.0], 1e-15);
        let by_columns = run(Some(vec![0])).unwrap();
        all_close(&by_columns, &[-1.5, -1.5, -1.5, 1.5, 1.5, 1.5], 1e-15);
        all_close(&run(Some(vec![0, 1])).unwrap(), &[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], 1e-15);
        assert!(run(Some(vec![2])).unwrap_err().to_string().contains("expected an axis 2"));
        let flat = Two::new(&[0.0, 0.0], &[0.0], &d);
        let mut gradients = GradientsParams::new();
        gradients.register(flat.first.id, tensor(&[1.0, 3.0], [2], &d.clone().inner()));
        let central = Transforms::new([Transform::Centralise { axes: None }]);
        let gradients = central.apply(&flat, gradients, 0).unwrap();
        assert_eq!(read(gradients.get::<1>(flat.first.id).unwrap()), [1.0, 3.0]);
        assert_eq!(gradients.len(), 1, "a parameter without a gradient stays without");
    }
}

#[test]
fn noise_is_one_stream_for_all_devices_and_another_for_each_step() {
    let count = 20_000;
    let run = |d: &Device, seed, step| {
        let model = Weights::new(&vec![0.0; count], [1, count], d);
        let mut gradients = GradientsParams::new();
        let zero = tensor(&vec![0.0; count], [1, count], &d.clone().inner());
        gradients.register(model.beta.id, zero);
        let noise = Transforms::new([Transform::noise(seed)]);
        let gradients = noise.apply(&model, gradients, step).unwrap();
        read(gradients.get::<2>(model.beta.id).unwrap())
    };
    let devices = devices();
    let first = run(&devices[0].1, 7, 0);
    for (name, d) in &devices {
        assert_eq!(run(d, 7, 0), first, "{name}");
    }
    let d = &devices[0].1;
    let (other_step, other_seed) = (run(d, 7, 1), run(d, 8, 0));
    let moment =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / count as f64;
    // A mean of 20000 normal squares is within 5 % of its expectation but once in 10^6 (5 standard
    // errors of 1 %).
    assert!((moment(&first, &first) / 0.01 - 1.0).abs() < 0.05);
    assert!((moment(&other_step, &other_step) / 0.0068302 - 1.0).abs() < 0.05);
    assert!(moment(&first, &other_seed).abs() < 0.01 * 0.04, "streams are apart");
    let scaled: Vec<f64> = other_step.iter().map(|x| x * (0.01f64 / 0.0068302).sqrt()).collect();
    assert!(moment(&first, &scaled).abs() < 0.01 * 0.04, "steps are apart");
    let mean = first.iter().sum::<f64>() / count as f64;
    assert!(mean.abs() < 5.0 * (0.01f64 / count as f64).sqrt(), "{mean}");
}

#[test]
fn settings_are_checked() {
    let (_, d) = &devices()[0];
    let model = Weights::new(&[1.0], [1, 1], d);
    for (transform, expected) in [
        (Transform::ClipGlobalNorm { limit: 0.0 }, "limit is 0, expected a positive number"),
        (Transform::L2Decay { weight: f64::NAN }, "weight is NaN, expected a finite number"),
        (
            Transform::AdaptiveClip { ratio: 0.1, epsilon: 0.0 },
            "epsilon is 0, expected a positive number",
        ),
        (
            Transform::ElasticNetDecay { weight: 1.0, l1_ratio: 2.0 },
            "l1_ratio is 2, expected a number from 0 to 1",
        ),
    ] {
        let error =
            Transforms::new([transform]).apply(&model, GradientsParams::new(), 0).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn an_average_follows_the_model() {
    for (_, d) in devices() {
        let weights_of = |x: f64| Weights::new(&[x], [1, 1], &d);
        let mut average = Average::new(&weights_of(1.0), 0.9, false).unwrap();
        let start = weights_of(1.0);
        let moved = |x: f64| {
            let model = start.clone();
            set(model, x)
        };
        average.update(&moved(2.0));
        close(average.model().values()[0], 1.1, 1e-15);
        average.update(&moved(2.0));
        close(average.model().values()[0], 1.19, 1e-15);
        assert_eq!(average.updates(), 2);
        assert!(!average.model().beta.val().is_autodiff(), "an average has no graph");
        let mut warm = Average::new(&weights_of(1.0), 0.9, true).unwrap();
        warm.update(&moved(2.0));
        close(warm.model().values()[0], 1.9, 1e-15);
        assert!(Average::new(&weights_of(1.0), 1.0, false).is_err());
    }
}

/// The model with another value and the same identity.
fn set(model: Weights, x: f64) -> Weights {
    struct Set(f64);
    impl burn::module::ModuleMapper for Set {
        fn map_float<const D: usize>(
            &mut self,
            param: burn::module::Param<burn::tensor::Tensor<D>>,
        ) -> burn::module::Param<burn::tensor::Tensor<D>> {
            param.map(|t| t.inner().mul_scalar(0.0).add_scalar(self.0).autodiff().require_grad())
        }
    }
    model.map(&mut Set(x))
}
