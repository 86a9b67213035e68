//! Handwritten digits, a small network and its figure: what the examples share.
#![allow(dead_code, unreachable_pub, reason = "each example uses some of it")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use burn::module::{Module, Param, ParamId};
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamWConfig, GradientsParams};
use burn::tensor::{Bool, Device, Int, Tensor, TensorData, activation};
use penalties::{Dual, Outputs, Over, Recipe, gradient_penalty};

/// Hidden units; the figure shows the weights of each as an image.
pub const HIDDEN: usize = 16;
/// How many of the images are for training; the rest are for testing.
const TRAINING: usize = 800;
/// Steps of training, each on all images.
const STEPS: u64 = 250;
/// The optimiser's step size.
const RATE: f64 = 0.01;

/// Images in rows of 64 numbers from 0 to 1, and their digits.
#[derive(Clone, Debug)]
pub struct Images {
    pub pixels: Tensor<2>,
    pub digits: Vec<usize>,
}

/// Images for training and for testing.
pub fn load(device: &Device) -> (Images, Images) {
    let mut pixels: Vec<f32> = Vec::new();
    let mut digits = Vec::new();
    for line in include_str!("digits.txt").lines() {
        let (digit, image) = line.split_once(' ').expect("a line is a digit and an image");
        digits.push(digit.parse().expect("the first word is a digit"));
        pixels.extend(image.chars().map(|c| c.to_digit(17).expect("a pixel") as f32 / 16.0));
    }
    let all = Tensor::<1>::from_data(TensorData::new(pixels, [digits.len() * 64]), device);
    let all = all.reshape([digits.len(), 64]);
    let rest = digits.split_off(TRAINING);
    let test = all.clone().narrow(0, TRAINING, rest.len());
    let training = all.narrow(0, 0, TRAINING);
    (Images { pixels: training, digits }, Images { pixels: test, digits: rest })
}

/// 64 pixels, hidden units with tanh, ten classes.
#[derive(Module, Debug)]
pub struct Network {
    pub input: Linear,
    pub output: Linear,
}

impl Network {
    /// A network with the same start for every example.
    pub fn new(device: &Device) -> Self {
        device.seed(4);
        let mut network = Self {
            input: LinearConfig::new(64, HIDDEN).init(device),
            output: LinearConfig::new(HIDDEN, 10).init(device),
        };
        // Lazily initialised parameters would draw their numbers in the order of use.
        network.input.weight = ready(network.input.weight);
        network.output.weight = ready(network.output.weight);
        network
    }

    /// Log probabilities of the classes.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let hidden = self.input.forward(x).tanh();
        activation::log_softmax(self.output.forward(hidden), 1)
    }

    /// The largest score's margin, written so that it can be differentiated along a direction: the
    /// score of each image's own digit.
    pub fn score(&self, x: Dual<2>, true_digits: &Tensor<2>) -> Dual<1> {
        let bias = |layer: &Linear| layer.bias.as_ref().map(Param::val);
        let hidden = x.linear(self.input.weight.val(), bias(&self.input)).tanh();
        let scores = hidden.linear(self.output.weight.val(), bias(&self.output));
        (scores * Dual::constant(true_digits.clone())).sum_each()
    }
}

fn ready(param: Param<Tensor<2>>) -> Param<Tensor<2>> {
    Param::initialized(ParamId::new(), param.val())
}

/// One row for each image, 1 in the column of its digit.
fn one_hot(digits: &[usize], device: &Device) -> Tensor<2> {
    let values = digits.iter().flat_map(|d| (0..10).map(move |k| f32::from(u8::from(k == *d))));
    let data = TensorData::new(values.collect::<Vec<_>>(), [digits.len(), 10]);
    Tensor::from_data(data, device)
}

/// Trains a network under a recipe. With `key`, each step also gives the recipe a gradient penalty
/// of the digits' scores under that key.
pub fn train(recipe: &Recipe, key: Option<&str>) -> Result<Network, penalties::Error> {
    let device = Device::flex().autodiff();
    let (images, _) = load(&device);
    let true_digits = one_hot(&images.digits, &device);
    let mut network = Network::new(&device);
    recipe.check(&network)?;
    let mut optimiser = AdamWConfig::new().with_weight_decay(0.0).init();
    for step in 0..STEPS {
        let logs = network.forward(images.pixels.clone());
        let loss = (logs.clone() * true_digits.clone()).sum().mul_scalar(-1.0 / TRAINING as f64);
        let mut outputs = Outputs::new().with("log_probabilities", logs);
        if let Some(key) = key {
            let f = |x: Dual<2>| network.score(x, &true_digits);
            let penalty = gradient_penalty(f, images.pixels.clone(), 0.0, Over::Sample)?;
            outputs = outputs.gradient_penalty(key, &penalty);
        }
        let evaluation = recipe.evaluate(&network, &outputs, step)?;
        let loss = loss + evaluation.total;
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        let gradients = recipe.transform(&network, gradients, step)?;
        network = recipe.project(optimiser.step(RATE, network, gradients), RATE, step)?;
    }
    Ok(network)
}

/// What a network is like after training.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Weights of the first layer, `[64, HIDDEN]` in row-major order.
    pub weights: Vec<f32>,
    /// Share of test images whose digit is found.
    pub accuracy: f64,
    /// First-layer weights that are not exactly zero.
    pub weights_left: usize,
    /// Pixels with at least one such weight.
    pub pixels_left: usize,
    /// Mean absolute cosine between the weights of two hidden units.
    pub cosine: f64,
    /// Mean length of the gradient of an image's own score with respect to its pixels.
    pub slope: f64,
}

impl Outcome {
    pub fn of(network: &Network) -> Result<Self, penalties::Error> {
        let device = Device::flex().autodiff();
        let (_, test) = load(&device);
        let found: Tensor<2, Int> = network.forward(test.pixels.clone()).argmax(1);
        let true_digits = one_hot(&test.digits, &device);
        let right: Tensor<2, Bool> = found.equal(true_digits.clone().argmax(1));
        let right = right.int().sum().into_scalar::<i64>() as f64;
        let f = |x: Dual<2>| network.score(x, &true_digits);
        let slopes = gradient_penalty(f, test.pixels.clone(), 0.0, Over::Sample)?.norms;
        let weights: Vec<f32> =
            network.input.weight.val().inner().try_into_vec_as().expect("host data can be read");
        let pixels = weights.chunks(HIDDEN);
        Ok(Self {
            accuracy: right / test.digits.len() as f64,
            weights_left: weights.iter().filter(|w| **w != 0.0).count(),
            pixels_left: pixels.filter(|row| row.iter().any(|w| *w != 0.0)).count(),
            cosine: mean_cosine(&weights),
            slope: slopes.mean().into_scalar::<f64>(),
            weights,
        })
    }

    /// One line for the terminal.
    pub fn line(&self, name: &str) -> String {
        format!(
            "{name:<18} accuracy {:.3}  weights left {:>4} of 1024  pixels used {:>2} of 64  mean |cosine| {:.3}  mean slope {:.2}",
            self.accuracy, self.weights_left, self.pixels_left, self.cosine, self.slope
        )
    }
}

fn mean_cosine(weights: &[f32]) -> f64 {
    let column = |j: usize| (0..64).map(|i| f64::from(weights[i * HIDDEN + j])).collect::<Vec<_>>();
    let columns: Vec<Vec<f64>> = (0..HIDDEN).map(column).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (mut total, mut pairs) = (0.0, 0.0);
    for i in 0..HIDDEN {
        for j in 0..i {
            let (a, b) = (&columns[i], &columns[j]);
            let lengths = (dot(a, a) * dot(b, b)).sqrt();
            total += if lengths > 0.0 { (dot(a, b) / lengths).abs() } else { 0.0 };
            pairs += 1.0;
        }
    }
    total / pairs
}

/// A figure of the first layer of several networks, one above the other: each hidden unit is an
/// image of its weights, red above zero, blue below, white at exactly zero.
pub fn figure(title: &str, networks: &[(&str, &Outcome)]) -> String {
    let (cell, gap, left, top) = (5, 8, 12, 44);
    let side = 8 * cell;
    let width = left + HIDDEN * (side + gap) + 4;
    let row = side + 44;
    let height = top + networks.len() * row;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n<text x=\"{left}\" y=\"24\" font-size=\"15\">{title}</text>\n"
    );
    for (k, (name, outcome)) in networks.iter().enumerate() {
        let y = top + k * row;
        let largest = outcome.weights.iter().fold(1e-12f32, |m, w| m.max(w.abs()));
        let _ = writeln!(
            svg,
            "<text x=\"{left}\" y=\"{}\" font-size=\"12\">{name}: accuracy {:.1} %, {} weights, {} pixels, mean |cosine| {:.2}, mean slope {:.1}</text>",
            y + 12,
            100.0 * outcome.accuracy,
            outcome.weights_left,
            outcome.pixels_left,
            outcome.cosine,
            outcome.slope
        );
        for unit in 0..HIDDEN {
            let x = left + unit * (side + gap);
            let _ = writeln!(
                svg,
                "<g transform=\"translate({x} {})\"><rect x=\"-.5\" y=\"-.5\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#999\"/>",
                y + 20,
                side + 1,
                side + 1
            );
            // One path for each of 16 shades of two colours.
            let mut paths: BTreeMap<String, String> = BTreeMap::new();
            for pixel in 0..64 {
                let weight = outcome.weights[pixel * HIDDEN + unit];
                if weight != 0.0 {
                    let shade = 14 - (14.0 * (weight.abs() / largest).sqrt()) as u8;
                    let colour = if weight > 0.0 {
                        format!("#f{shade:x}{shade:x}")
                    } else {
                        format!("#{shade:x}{shade:x}f")
                    };
                    let (x, y) = (pixel % 8 * cell, pixel / 8 * cell);
                    let _ =
                        write!(paths.entry(colour).or_default(), "M{x} {y}h{cell}v{cell}h-{cell}");
                }
            }
            for (colour, path) in paths {
                let _ = write!(svg, "<path d=\"{path}\" fill=\"{colour}\"/>");
            }
            svg.push_str("</g>\n");
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Trains without and with a penalty, prints both outcomes and writes the figure.
pub fn compare(
    file: &str,
    title: &str,
    name: &str,
    recipe: &Recipe,
    key: Option<&str>,
) -> Result<(Outcome, Outcome), Box<dyn std::error::Error>> {
    let without = Outcome::of(&train(&Recipe::default(), None)?)?;
    let with = Outcome::of(&train(recipe, key)?)?;
    say(&without.line("without"));
    say(&with.line(name));
    let text = figure(title, &[("without", &without), (name, &with)]);
    write(file, &text)?;
    Ok((without, with))
}

/// Writes a figure into `nn/penalties/figures/`, or into the folder that the first argument names.
pub fn write(file: &str, text: &str) -> std::io::Result<()> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/figures");
    let folder = std::env::args().nth(1).unwrap_or_else(|| default.to_owned());
    std::fs::create_dir_all(&folder)?;
    let path = format!("{folder}/{file}.svg");
    std::fs::write(&path, text)?;
    say(&format!("written to {path}"));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a command line program")]
pub fn say(text: &str) {
    println!("{text}");
}
