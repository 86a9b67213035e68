//! The networks on Burn against loops over `f64`, and their gradients against differences.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Tensor};
use features::{Batch, Discretiser, Schema, View, Window};
use plain::policy::{Architecture, Backbone, Checkpoint, Contract, HeadKind, Heads, evaluate};
use policy::{LossConfig, Network, Random, Tensors};

pub(crate) const FRAMES: usize = 7;
const WINDOWS: usize = 3;

pub(crate) fn backbones() -> Vec<Backbone> {
    vec![
        Backbone::Mlp { hidden: 12, layers: 2 },
        Backbone::Gru { hidden: 12, layers: 2 },
        Backbone::Lstm { hidden: 12, layers: 2 },
        // A window shorter than the sequence, so that the mask's far side counts.
        Backbone::Attention { hidden: 12, layers: 2, heads: 3, window: 4, feed_forward: 10 },
        Backbone::SelectiveScan {
            hidden: 8,
            layers: 2,
            state: 3,
            expand: 2,
            convolution: 4,
            rank: 2,
        },
    ]
}

pub(crate) fn contract(backbone: Backbone, kind: HeadKind) -> Contract {
    let heads = Heads { kind, residual: 9 };
    let architecture = Architecture { embedding: 3, backbone, heads };
    Contract::new(architecture, &Schema::egocentric(), Discretiser::default(), 1)
}

/// Random features and classes, with numbers of tables where the schema has them.
pub(crate) fn batch(schema: &Schema, contract: &Contract) -> Batch {
    let mut random = Random::new(5);
    let width = schema.width();
    let view = View { own_port: 0, opponent: 1, name: 0 };
    let windows = (0..WINDOWS).map(|k| Window { file: k, view, start: 0 }).collect();
    let mut features = Vec::new();
    let mut targets = Vec::new();
    for _ in 0..FRAMES * WINDOWS {
        let mut row: Vec<f32> = (0..width).map(|_| random.uniform() as f32 * 2.0 - 1.0).collect();
        for (column, rows) in schema.tables() {
            row[column] = (random.bits() % rows as u64) as f32;
        }
        features.extend(row);
        targets.extend(contract.components().map(|classes| (random.bits() % classes as u64) as u8));
    }
    Batch { windows, features, targets }
}

/// How far logits of a batch are from loops over `f64`, and the largest of these.
pub(crate) fn expected_logits(
    checkpoint: &Checkpoint,
    batch: &Batch,
    logits: Vec<Tensor<2>>,
) -> (f64, f64) {
    let width = checkpoint.contract().features().expect("a schema").width();
    let logits: Vec<Vec<f64>> =
        logits.into_iter().map(|l| l.try_into_vec_as::<f64>().expect("numbers")).collect();
    let (mut largest, mut apart) = (0.0_f64, 0.0_f64);
    for window in 0..WINDOWS {
        let frames = window * FRAMES..(window + 1) * FRAMES;
        let features = &batch.features[frames.start * width..frames.end * width];
        let classes = batch.targets[frames.start * 13..frames.end * 13].as_chunks().0;
        let expected = evaluate(checkpoint, features, classes).expect("an answer");
        for (frame, expected) in expected.logits.iter().enumerate() {
            for (component, expected) in expected.iter().enumerate() {
                let row = (frame * WINDOWS + window) * expected.len();
                for (k, expected) in expected.iter().enumerate() {
                    largest = largest.max(expected.abs());
                    apart = apart.max((logits[component][row + k] - expected).abs());
                }
            }
        }
    }
    (apart, largest)
}

#[test]
fn logits_are_those_of_loops_over_f64() {
    let schema = Schema::egocentric();
    for kind in [HeadKind::Autoregressive, HeadKind::Independent] {
        for backbone in backbones() {
            let contract = contract(backbone, kind);
            let batch = batch(&schema, &contract);
            let network =
                Network::new(&contract, 3, &Device::flex(), DType::F32).expect("a network");
            let checkpoint = network.checkpoint(&contract).expect("a checkpoint");
            let tensors = Tensors::new(&batch, &schema, FRAMES, None, &Device::flex(), DType::F32);
            let logits = network.forward(&tensors).logits;
            let (apart, largest) = expected_logits(&checkpoint, &batch, logits);
            // Rounding of f32 over a few hundred products; the requirement is 1e-6 of the largest.
            assert!(
                apart <= 1e-6 * largest && largest > 0.01,
                "{:?}: {apart:e} of {largest}",
                contract.architecture
            );
        }
    }
}

#[test]
fn gotcha_09_weights_go_to_a_file_and_another_backend_with_equal_bits() {
    for backbone in backbones() {
        let contract = contract(backbone, HeadKind::Autoregressive);
        let network = Network::new(&contract, 3, &Device::flex(), DType::F32).expect("a network");
        let bytes = network.checkpoint(&contract).expect("a checkpoint").write();
        let read = plain::policy::Checkpoint::read(&bytes).expect("the file is whole");
        for opened in backends::devices() {
            let network = Network::open(&read, &opened.device, DType::F32).expect("a network");
            let again = network.checkpoint(&contract).expect("a checkpoint").write();
            assert!(again == bytes, "{} changes {:?}", opened.name, contract.architecture);
        }
    }
}

#[test]
fn gotcha_10_weights_of_another_architecture_are_refused_by_name() {
    let small = contract(Backbone::Gru { hidden: 12, layers: 1 }, HeadKind::Autoregressive);
    let large = contract(Backbone::Gru { hidden: 13, layers: 1 }, HeadKind::Autoregressive);
    let network = Network::new(&small, 3, &Device::flex(), DType::F32).expect("a network");
    let error = network.checkpoint(&large).expect_err("the shapes differ");
    assert!(error.to_string().contains("backbone.layers.0.input"), "{error}");
    assert_eq!(error.exit_code(), 1);
}

/// One parameter's name, elements and gradient.
struct Slope {
    name: String,
    gradient: Vec<f64>,
}

fn slopes(network: &Network, gradients: &GradientsParams) -> Vec<Slope> {
    struct Collect<'a> {
        gradients: &'a GradientsParams,
        found: Vec<Vec<f64>>,
    }
    impl ModuleVisitor for Collect<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            // No elements where there is no gradient.
            let gradient = self.gradients.get::<D>(param.id).map(Tensor::try_into_vec_as::<f64>);
            self.found.push(gradient.map_or_else(Vec::new, |g| g.expect("numbers")));
        }
    }
    let mut collect = Collect { gradients, found: Vec::new() };
    network.visit(&mut collect);
    let names = policy::arrays(&network.valid()).expect("arrays").into_iter().map(|a| a.name);
    names.zip(collect.found).map(|(name, gradient)| Slope { name, gradient }).collect()
}

#[test]
fn gradients_are_those_of_differences() {
    let schema = Schema::egocentric();
    let mut config = LossConfig::default();
    (config.focal, config.label_smoothing, config.edge_weight) = (2.0, 0.1, 2.0);
    (config.entropy_bonus, config.change_weight, config.warm_frames) = (0.01, 3.0, 1);
    let pressed = [3.0; 8];
    for backbone in backbones() {
        let contract = contract(backbone, HeadKind::Autoregressive);
        let batch = batch(&schema, &contract);
        let weights = config.frame_weights(&batch.targets, FRAMES);
        let device = Device::flex();
        let on = |device: &Device| {
            Tensors::new(&batch, &schema, FRAMES, weights.as_deref(), device, DType::F64)
        };
        let value = |network: &Network, tensors: &Tensors| {
            let output = network.forward(tensors);
            config.of(&output.logits, &tensors.targets, tensors.weights.as_ref(), &pressed).total
        };
        let tracked = device.clone().autodiff();
        let network = Network::new(&contract, 3, &tracked, DType::F64).expect("a network");
        let gradients = value(&network, &on(&tracked)).backward();
        let gradients = GradientsParams::from_grads(gradients, &network);
        let slopes = slopes(&network, &gradients);
        let plain = network.valid();
        let arrays = policy::arrays(&plain).expect("arrays");
        let tensors = on(&device);
        for slope in &slopes {
            // The element with the steepest slope: its difference is far above rounding.
            let steepest = |(a, _): &(usize, f64), (b, _): &(usize, f64)| {
                slope.gradient[*a].abs().total_cmp(&slope.gradient[*b].abs())
            };
            let element = slope.gradient.iter().copied().enumerate().max_by(steepest);
            let (element, gradient) = element.expect("a parameter has elements");
            let moved = |by: f32| {
                let arrays: Vec<policy::Array> = arrays
                    .iter()
                    .map(|array| {
                        let mut array = array.clone();
                        if array.name == slope.name {
                            array.values[element] += by;
                        }
                        array
                    })
                    .collect();
                let network = policy::with_arrays(plain.clone(), &|name| {
                    let found = arrays.iter().find(|array| array.name == name)?;
                    Some((found.shape.as_slice(), found.values.as_slice()))
                });
                let loss = value(&network.expect("the same shapes"), &tensors);
                let values = arrays.iter().find(|array| array.name == slope.name);
                let place = f64::from(values.expect("the parameter").values[element]);
                (place, loss.try_into_scalar::<f64>().expect("a number"))
            };
            // Elements are f32, so the step is what came of adding 2^-17. A step as small hardly
            // ever takes a rectified unit across its corner.
            let ((a, high), (b, low)) = (moved(1.0 / 131_072.0), moved(-1.0 / 131_072.0));
            let difference = (high - low) / (a - b);
            assert!(
                (difference - gradient).abs() <= 1e-4 * gradient.abs() + 1e-7,
                "{}: {gradient} against {difference}",
                slope.name
            );
        }
    }
}

#[test]
fn recurrent_layers_on_the_host_have_the_gradients_of_the_graph() {
    let schema = Schema::egocentric();
    let device = Device::flex().autodiff();
    let recurrent = [
        Backbone::Gru { hidden: 12, layers: 2 },
        Backbone::Lstm { hidden: 12, layers: 2 },
        Backbone::Gru { hidden: 5, layers: 1 },
    ];
    for (backbone, frames) in recurrent.iter().flat_map(|b| [(b, FRAMES), (b, 1)]) {
        let contract = contract(backbone.clone(), HeadKind::Autoregressive);
        // Windows of one frame are as many more.
        let mut batch = batch(&schema, &contract);
        let view = batch.windows[0].view;
        let windows = FRAMES * WINDOWS / frames;
        batch.windows = (0..windows).map(|file| Window { file, view, start: 0 }).collect();
        let network = Network::new(&contract, 3, &device, DType::F32).expect("a network");
        let tensors = Tensors::new(&batch, &schema, frames, None, &device, DType::F32);
        let [on_graph, on_host] = [true, false].map(|on_graph| {
            let found = network.gradients(&tensors, on_graph, |output| {
                let loss = LossConfig::default();
                let loss = loss.of(&output.logits, &tensors.targets, None, &[1.0; 8]);
                // As a penalty of the trunk would be.
                let small = (output.trunk.clone() * output.trunk.clone()).mean();
                Ok((loss.total.clone() + small, loss.total))
            });
            let (gradients, loss) = found.expect("gradients");
            (slopes(&network, &gradients), loss.try_into_scalar::<f64>().expect("a number"))
        });
        assert!((on_graph.1 - on_host.1).abs() <= 1e-6 * on_graph.1, "{backbone:?}");
        for (graph, host) in on_graph.0.iter().zip(&on_host.0) {
            let largest = graph.gradient.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            // Rounding of f32 over the frames, in another order; without a frame before it a
            // recurrent weight has no slope at all.
            for (a, b) in graph.gradient.iter().zip(&host.gradient) {
                assert!((a - b).abs() <= 5e-6 * largest, "{}: {a} against {b}", graph.name);
            }
            let has_slope = frames > 1 || !graph.name.contains("recurrent.weight");
            assert_eq!(largest > 0.0, has_slope, "{}", graph.name);
        }
    }
}
