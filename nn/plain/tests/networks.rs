//! Networks: PyTorch's outputs, a network computed by hand, steps against sequences, `f32` against
//! `f64`, and carried state.

mod common;

use std::collections::BTreeMap;

use common::{backbones, checkpoint, frames};
use features::{Discretiser, Schema};
use plain::policy::{
    Architecture, Backbone, Checkpoint, Contract, HeadKind, Heads, Live, Outputs, Real, Tensor,
    evaluate,
};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list").iter();
    list.map(|x| x.as_f64().expect("a number")).collect()
}

/// A network of the stored cases, its features, and PyTorch's classes, trunk and logits.
struct Case {
    checkpoint: Checkpoint,
    features: Vec<f32>,
    classes: Vec<[u8; 13]>,
    trunk: Vec<Vec<f64>>,
    logits: Vec<Vec<f64>>,
}

fn cases() -> Vec<Case> {
    let file: Value = serde_json::from_str(include_str!("data/networks.json")).expect("JSON");
    let size = |name: &str| file[name].as_u64().expect("a size") as usize;
    let case = |case: &Value| {
        let kind = serde_json::from_value(case["heads"].clone()).expect("a kind of heads");
        let architecture = Architecture {
            embedding: size("embedding"),
            backbone: serde_json::from_value(case["backbone"].clone()).expect("a backbone"),
            heads: Heads { kind, residual: size("residual") },
        };
        let schema = Schema::parse(case["schema"].as_str().expect("a text")).expect("a schema");
        let classes = Discretiser { axis: size("axis") as u16, trigger: size("trigger") as u16 };
        let contract = Contract::new(architecture, &schema, classes, 1);
        let tensor = |(name, tensor): (&String, &Value)| {
            let shape = numbers(&tensor["shape"]).iter().map(|n| *n as usize).collect();
            let values = numbers(&tensor["values"]).iter().map(|n| (n / 64.0) as f32).collect();
            (name.clone(), Tensor { shape, values })
        };
        let tensors = case["tensors_64"].as_object().expect("tensors").iter().map(tensor);
        let rows = |name: &str| case[name].as_array().expect("rows").iter().map(numbers).collect();
        let classes: Vec<Vec<f64>> = rows("classes");
        Case {
            checkpoint: Checkpoint::new(contract, tensors.collect()).expect("they fit"),
            features: numbers(&case["features"]).iter().map(|x| *x as f32).collect(),
            classes: classes.iter().map(|row| std::array::from_fn(|c| row[c] as u8)).collect(),
            trunk: rows("trunk"),
            logits: rows("logits"),
        }
    };
    file["cases"].as_array().expect("cases").iter().map(case).collect()
}

/// The outputs of steps in which the classes are given.
fn steps<R: Real>(live: &mut Live<R>, features: &[f32], classes: &[[u8; 13]]) -> Outputs {
    let mut outputs = Outputs { trunk: Vec::new(), logits: Vec::new() };
    let width = features.len() / classes.len();
    for (frame, classes) in features.chunks(width).zip(classes) {
        let action = live.step(frame, |component, _| classes[component]).expect("a frame");
        assert_eq!(action.0, *classes);
        outputs.trunk.push(live.trunk().iter().map(|x| x.wide()).collect());
        let logits = |c: usize| live.logits(c).iter().map(|x| x.wide()).collect();
        outputs.logits.push(std::array::from_fn(logits));
    }
    outputs
}

fn all(outputs: &Outputs) -> Vec<f64> {
    outputs.logits.iter().flatten().flatten().copied().collect()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// The largest difference, as a share of the largest of `expected`.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let apart: Vec<f64> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
    assert!(apart.iter().all(|d| d.is_finite()));
    largest(&apart) / largest(expected)
}

#[test]
fn networks_are_those_of_pytorch() {
    let cases = cases();
    assert_eq!(cases.len(), 5);
    for case in cases {
        let outputs = evaluate(&case.checkpoint, &case.features, &case.classes).expect("frames");
        let kind = &case.checkpoint.contract().architecture.backbone;
        // Two programs in f64 that sum in different orders.
        let trunk = difference(&outputs.trunk.concat(), &case.trunk.concat());
        assert!(trunk < 1e-13, "{kind:?}: trunk {trunk}");
        let logits = difference(&all(&outputs), &case.logits.concat());
        assert!(logits < 1e-13, "{kind:?}: logits {logits}");
    }
}

#[test]
fn a_network_of_two_units_is_what_one_computes_by_hand() {
    let schema = Schema::parse("own.x * 1 in [-10, 10]\n").expect("a schema");
    let architecture = Architecture {
        embedding: 1,
        backbone: Backbone::Mlp { hidden: 2, layers: 1 },
        heads: Heads { kind: HeadKind::Autoregressive, residual: 1 },
    };
    let classes = Discretiser { axis: 2, trigger: 2 };
    let contract = Contract::new(architecture, &schema, classes, 1);
    let mut tensors: BTreeMap<String, Tensor> = BTreeMap::new();
    for shape in contract.tensors().expect("a schema") {
        let values = match shape.name.as_str() {
            "backbone.layers.0.weight" => vec![1.0, -1.0],
            "backbone.layers.0.bias" => vec![0.5, 0.25],
            "heads.input.weight" => vec![2.0, 3.0],
            "heads.input.bias" => vec![-1.0],
            "heads.output.1.bias" => vec![0.0, 0.125],
            "heads.embedding.0" => vec![0.0, -10.0],
            "heads.embedding.1" => vec![20.0, 0.0],
            name if name.ends_with(".weight") => vec![1.0, -1.0],
            _ => vec![0.0; shape.shape.iter().product()],
        };
        tensors.insert(shape.name, Tensor { shape: shape.shape, values });
    }
    let checkpoint = Checkpoint::new(contract, tensors).expect("they fit");
    // x = 1.5: the units are 2 and 0, the residual 3. Class 1 of A makes it -7, whose positive part
    // is 0; class 0 of B makes it 13.
    let mut pressed = [0; 13];
    pressed[0] = 1;
    let outputs = evaluate(&checkpoint, &[1.5], &[pressed]).expect("a frame");
    assert_eq!(outputs.trunk, [[2.0, 0.0]]);
    assert_eq!(outputs.logits[0][0], [3.0, -3.0]);
    assert_eq!(outputs.logits[0][1], [0.0, 0.125]);
    assert_eq!(outputs.logits[0][2], [13.0, -13.0]);
    let mut live = Live::<f32>::new(&checkpoint).expect("a network");
    live.step(&[1.5], |component, _| pressed[component]).expect("a frame");
    assert_eq!((live.logits(0), live.logits(1)), (&[3.0, -3.0][..], &[0.0, 0.125][..]));
}

#[test]
fn steps_are_the_sequence_in_f64_and_within_1e6_of_the_largest_logit_in_f32() {
    for backbone in backbones() {
        for kind in [HeadKind::Autoregressive, HeadKind::Independent] {
            let checkpoint = checkpoint(backbone.clone(), kind);
            let (features, classes) = frames(&checkpoint, 80);
            let sequence = evaluate(&checkpoint, &features, &classes).expect("frames");
            let mut wide = Live::<f64>::new(&checkpoint).expect("a network");
            let by_steps = steps(&mut wide, &features, &classes);
            // tanh by an exponential is good to a rounding of 1.
            let apart = difference(&all(&by_steps), &all(&sequence));
            assert!(apart < 1e-13, "{backbone:?}: {apart}");
            let mut live = Live::<f32>::new(&checkpoint).expect("a network");
            let apart = difference(&all(&steps(&mut live, &features, &classes)), &all(&sequence));
            assert!(apart < 1e-6, "{backbone:?}: {apart}");
            println!("{backbone:?} {kind:?}: f32 within {apart:.1e} of the largest logit");
        }
    }
}

#[test]
fn gotcha_11_carried_state_is_the_whole_sequence_however_it_is_cut() {
    for backbone in backbones() {
        let checkpoint = checkpoint(backbone, HeadKind::Autoregressive);
        let (features, classes) = frames(&checkpoint, 40);
        let width = features.len() / 40;
        let mut live = Live::<f32>::new(&checkpoint).expect("a network");
        let all_steps = steps(&mut live, &features, &classes);
        // A game before this one leaves no trace.
        live.reset();
        let (first, last) = features.split_at(13 * width);
        let mut parts = steps(&mut live, first, &classes[..13]);
        // The state is a value: a copy plays on as the original does.
        let mut copy = live.clone();
        let rest = steps(&mut copy, last, &classes[13..]);
        parts.logits.extend(rest.logits);
        parts.trunk.extend(rest.trunk);
        assert_eq!(parts, all_steps);
    }
}

#[test]
fn a_frame_of_another_width_is_refused_by_its_number() {
    let checkpoint = checkpoint(backbones().remove(1), HeadKind::Autoregressive);
    let mut live = Live::<f32>::new(&checkpoint).expect("a network");
    let error = live.step(&[0.0; 3], |_, _| 0).expect_err("three numbers");
    assert_eq!(error.field(), Some("number of features"));
    let error = evaluate(&checkpoint, &[0.0; 3], &[[0; 13]]).expect_err("three numbers");
    assert_eq!(error.field(), Some("number of features"));
}
