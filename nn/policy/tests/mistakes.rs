//! Mistakes of earlier systems (the table in `docs/policy.md`), each with a test that it cannot
//! happen here. Those about files are beside the tests of files.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{AdamWConfig, GradientsParams};
use burn::tensor::{DType, Device, Tensor};
use features::Schema;
use plain::policy::{Backbone, HeadKind};
use policy::{LossConfig, Network, Tensors, arrays, train, with_arrays};

use crate::networks::{FRAMES, backbones, batch, contract, expected_logits};
use crate::support::{Folder, write_games};
use crate::training::config;

/// The names of the parameters that have gradients.
fn with_gradients(network: &Network, gradients: &GradientsParams) -> Vec<bool> {
    struct Collect<'a>(&'a GradientsParams, Vec<bool>);
    impl ModuleVisitor for Collect<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.1.push(self.0.get::<D>(param.id).is_some());
        }
    }
    let mut collect = Collect(gradients, Vec::new());
    network.visit(&mut collect);
    collect.1
}

#[test]
fn gotcha_01_a_step_moves_every_parameter_with_a_gradient_and_no_other() {
    let schema = Schema::egocentric();
    let device = Device::flex().autodiff();
    for backbone in backbones() {
        let contract = contract(backbone, HeadKind::Independent);
        let batch = batch(&schema, &contract);
        let network = Network::new(&contract, 3, &device, DType::F32).expect("a network");
        let tensors = Tensors::new(&batch, &schema, FRAMES, None, &device, DType::F32);
        // Component 0 alone: the last layers of the other twelve have no gradient.
        let loss = network.forward(&tensors).logits.swap_remove(0).powi_scalar(2).mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        let has_gradient = with_gradients(&network, &gradients);
        let before = arrays(&network.valid()).expect("arrays");
        // The optimiser has no state yet, and decay would move what has no gradient if it could.
        let mut optimiser = AdamWConfig::new().with_weight_decay(0.1).init();
        let network = optimiser.step(0.01, network, gradients);
        let after = arrays(&network.valid()).expect("arrays");
        let mut without = 0;
        for ((before, after), has_gradient) in before.iter().zip(&after).zip(has_gradient) {
            let is_equal =
                before.values.iter().zip(&after.values).all(|(a, b)| a.to_bits() == b.to_bits());
            assert_eq!(is_equal, !has_gradient, "{}", before.name);
            let is_other = before.name.starts_with("heads.output.")
                && !before.name.starts_with("heads.output.0.");
            assert_eq!(has_gradient, !is_other, "{}", before.name);
            without += usize::from(!has_gradient);
        }
        assert_eq!(without, 24, "weights and biases of twelve components");
    }
}

#[test]
fn gotcha_02_the_device_decides_between_training_and_inference() {
    let schema = Schema::egocentric();
    let plain = Device::flex();
    for backbone in backbones() {
        let contract = contract(backbone, HeadKind::Autoregressive);
        let batch = batch(&schema, &contract);
        let tracked = plain.clone().autodiff();
        let network = Network::new(&contract, 3, &tracked, DType::F32).expect("a network");
        let on = |device| Tensors::new(&batch, &schema, FRAMES, None, device, DType::F32);
        let training = network.forward(&on(&tracked)).logits;
        let inference = network.valid().forward(&on(&plain)).logits;
        for (training, inference) in training.into_iter().zip(inference) {
            assert!(training.is_autodiff() && !inference.is_autodiff());
            let [training, inference] = [training.inner(), inference]
                .map(|logits| logits.try_into_vec_as::<f32>().expect("numbers"));
            let largest = inference.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            // No layer has a mode of its own, such as dropout, that would tell the two apart;
            // a softmax with a gradient rounds in another order than one without.
            for (a, b) in training.iter().zip(&inference) {
                assert!((a - b).abs() <= 1e-6 * largest.max(1.0), "{:?}", contract.architecture);
            }
        }
    }
}

#[test]
fn gotcha_03_one_function_reads_numbers_from_the_device_while_training() {
    let device = Device::flex();
    let contract = contract(Backbone::Gru { hidden: 12, layers: 1 }, HeadKind::Autoregressive);
    let schema = Schema::egocentric();
    let tensors =
        Tensors::new(&batch(&schema, &contract), &schema, FRAMES, None, &device, DType::F32);
    let network = Network::new(&contract, 3, &device, DType::F32).expect("a network");
    let loss = LossConfig::default().of(
        &network.forward(&tensors).logits,
        &tensors.targets,
        None,
        &[1.0; 8],
    );
    let shapes = loss.parts.iter().chain([&loss.total]).map(|number| number.dims());
    assert!(shapes.clone().count() == 14 && shapes.into_iter().all(|shape| shape == [1]));
    // What a step runs through has no other place that waits for the device.
    let sources = [
        include_str!("../src/train.rs"),
        include_str!("../src/loss.rs"),
        include_str!("../src/network/mod.rs"),
        include_str!("../src/network/attention.rs"),
        include_str!("../src/network/build.rs"),
        include_str!("../src/network/heads.rs"),
        include_str!("../src/network/recurrent.rs"),
        include_str!("../src/network/scan.rs"),
    ];
    let all = sources.concat();
    let reads = ["into_vec", "into_scalar", "into_data", "to_data"];
    let count: usize = reads.iter().map(|read| all.matches(read).count()).sum();
    assert_eq!(count, 1, "`read_all` is the one place");
    let from_read_all = sources[0].split("fn read_all").nth(1).expect("the function is there");
    assert!(from_read_all.split("\n}\n").next().is_some_and(|body| body.contains("into_vec")));
}

#[test]
fn gotcha_05_the_first_step_is_told_apart_from_the_rest() {
    let folder = Folder::new("first");
    write_games(folder.path(), 1);
    let settings = config(folder.path(), &["steps=12", "log_every=3"]);
    let run = folder.path().join("run");
    let trained = train(&settings, &run, &mut |_| {}).expect("the run ends");
    let (first, rest) = (trained.first_step, trained.each_step);
    assert!(first > 0.0 && rest > 0.0, "{first} {rest}");
    // A device that compiles takes seconds to minutes for the first step; the default one does not.
    // The bound is wide because the machine may stop the program at any time.
    assert!(first < 20.0, "the first step took {first} s and the others {rest} s");
}

#[test]
fn gotcha_07_and_12_a_network_makes_its_constants_where_its_batch_is() {
    let schema = Schema::egocentric();
    for backbone in backbones() {
        let contract = contract(backbone, HeadKind::Autoregressive);
        let batch = batch(&schema, &contract);
        let first = Network::new(&contract, 3, &Device::flex(), DType::F32).expect("a network");
        let checkpoint = first.checkpoint(&contract).expect("a checkpoint");
        // The attention's mask and the scan's zeros are made inside of a forward pass, so one
        // network after the other on different devices must not see another's.
        for opened in backends::devices() {
            for device in [opened.device.clone(), opened.device.clone().autodiff()] {
                let network = Network::open(&checkpoint, &device, DType::F32).expect("a network");
                let tensors = Tensors::new(&batch, &schema, FRAMES, None, &device, DType::F32);
                let logits = network.forward(&tensors).logits;
                assert!(logits.iter().all(|l| l.device() == device), "{}", opened.name);
                let (apart, largest) = expected_logits(&checkpoint, &batch, logits);
                // Rounding of f32; the requirement is 1e-6 of the largest.
                assert!(apart <= 1e-6 * largest, "{}: {apart:e} of {largest}", opened.name);
            }
        }
    }
}

#[test]
fn gotcha_08_parameters_are_found_by_their_names_in_any_order() {
    for backbone in backbones() {
        let contract = contract(backbone, HeadKind::Autoregressive);
        let make =
            |seed| Network::new(&contract, seed, &Device::flex(), DType::F32).expect("a network");
        let original = arrays(&make(3)).expect("arrays");
        let mut names: Vec<&str> = original.iter().map(|array| array.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), original.len(), "every parameter has a name of its own");
        let reversed: Vec<policy::Array> = original.iter().rev().cloned().collect();
        let put = |left_out: &str| {
            with_arrays(make(4), &|name| {
                let found = reversed.iter().find(|a| a.name == name && a.name != left_out)?;
                Some((found.shape.as_slice(), found.values.as_slice()))
            })
        };
        assert_eq!(arrays(&put("").expect("all are there")).expect("arrays"), original);
        let error = put("heads.input.bias").expect_err("one is left out");
        assert!(error.to_string().contains("`heads.input.bias`"), "{error}");
    }
}
