//! `cargo run --release -p matrix --bin cost`: what a recipe of six lines adds to a training step
//! of a recurrent network of 125 thousand parameters, on one thread; then each of its lines alone.

use burn::module::{Module, ParamGroup};
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Distribution, Tensor, activation};
use penalties::{Act, Line, Outputs, Penalty, Recipe, Reduce};
use rustix::time::{ClockId, clock_gettime};

/// Windows in a batch, frames in a window, features of a frame.
const BATCH: usize = 32;
const FRAMES: usize = 32;
const FEATURES: usize = 44;
/// State of the recurrent layer, hidden units after it, classes over all heads.
const STATE: usize = 128;
const HIDDEN: usize = 256;
const CLASSES: usize = 95;

/// A gated recurrent unit whose input product is taken once for all frames, and two layers.
#[derive(Module, Debug)]
struct Network {
    input: Linear,
    recurrent: Linear,
    dense: Linear,
    heads: Linear,
}

impl Network {
    fn new(device: &Device) -> Self {
        Self {
            input: LinearConfig::new(FEATURES, 3 * STATE).init(device),
            recurrent: LinearConfig::new(STATE, 3 * STATE).init(device),
            dense: LinearConfig::new(STATE, HIDDEN).init(device),
            heads: LinearConfig::new(HIDDEN, CLASSES).init(device),
        }
    }

    /// Log probabilities, `[FRAMES * BATCH, CLASSES]`.
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let gates = self.input.forward(x);
        let mut state = Tensor::<2>::zeros([BATCH, STATE], &gates.device());
        let mut states = Vec::with_capacity(FRAMES);
        for frame in 0..FRAMES {
            let frame_gates = gates.clone().narrow(0, frame * BATCH, BATCH);
            let past = self.recurrent.forward(state.clone());
            let part = |x: &Tensor<2>, k: usize| x.clone().narrow(1, k * STATE, STATE);
            let reset = activation::sigmoid(part(&frame_gates, 0) + part(&past, 0));
            let update = activation::sigmoid(part(&frame_gates, 1) + part(&past, 1));
            let new = (part(&frame_gates, 2) + reset * part(&past, 2)).tanh();
            state = new.clone() + update * (state - new);
            states.push(state.clone());
        }
        let hidden = activation::relu(self.dense.forward(Tensor::cat(states, 0)));
        activation::log_softmax(self.heads.forward(hidden), 1)
    }
}

fn recipe() -> Recipe {
    let path = ParamGroup::from_path;
    let weights = ParamGroup::from_predicate("weight");
    let orthogonal = Penalty::Orthogonality {
        mode: Default::default(),
        normalise: true,
        rows_of: Default::default(),
    };
    let entropy = Penalty::Entropy {
        mode: Default::default(),
        normalise: true,
        temperature: 1.0,
        reduce: Reduce::Mean,
    };
    let groups = Penalty::GroupLasso { axis: 0, size_weighted: false };
    Recipe::new([
        Line::parameters("decay", 1e-4, Penalty::L2, weights).act(Act::Decay),
        Line::parameters("sparse heads", 1e-4, Penalty::L1, path("heads.weight")).act(Act::Prox),
        Line::parameters("features", 1e-3, groups, path("input.weight")).act(Act::Prox),
        Line::parameters("small", 1e-4, Penalty::L1, path("dense.weight")),
        Line::parameters("orthogonal", 1e-3, orthogonal, path("recurrent.weight")),
        Line::output("spread", -1e-2, entropy, "log_probabilities"),
    ])
}

/// Everything that a step needs.
struct Run {
    network: Option<Network>,
    optimiser: ModuleOptimizer,
    recipe: Option<Recipe>,
    x: Tensor<2>,
    target: Tensor<2>,
}

impl Run {
    fn step(&mut self, step: u64) -> Result<f64, penalties::Error> {
        let began = seconds();
        let Some(network) = self.network.take() else { return Ok(f64::NAN) };
        let logs = network.forward(self.x.clone());
        let mut loss = (logs.clone() * self.target.clone()).sum().mul_scalar(-1.0 / 1024.0);
        if let Some(recipe) = &self.recipe {
            let outputs = Outputs::new().with("log_probabilities", logs);
            loss = loss + recipe.evaluate(&network, &outputs, step)?.total;
        }
        let mut gradients = GradientsParams::from_grads(loss.backward(), &network);
        if let Some(recipe) = &self.recipe {
            gradients = recipe.transform(&network, gradients, step)?;
        }
        let mut network = self.optimiser.step(1e-3, network, gradients);
        if let Some(recipe) = &self.recipe {
            network = recipe.project(network, 1e-3, step)?;
        }
        self.network = Some(network);
        Ok(seconds() - began)
    }
}

/// Processor time of this thread, which does all the work, so that a busy machine matters less.
fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// Steps that are timed, after some that are not.
const STEPS: u64 = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::flex().autodiff();
    // As training does.
    policy::keep_memory();
    let x = Tensor::<2>::random([FRAMES * BATCH, FEATURES], Distribution::Default, &device);
    let target = Tensor::<2>::random([FRAMES * BATCH, CLASSES], Distribution::Default, &device);
    let target = activation::softmax(target, 1);
    let network = Network::new(&device);
    recipe().check(&network)?;
    let parameters = network.num_params();
    let names: Vec<String> = recipe().lines().iter().map(|line| line.name.clone()).collect();
    let run = |recipe| Run {
        network: Some(network.clone()),
        optimiser: AdamWConfig::new().init(),
        recipe,
        x: x.clone(),
        target: target.clone(),
    };
    say(&format!("{parameters} parameters, {STEPS} steps each, in turn, median processor time"));
    say("| lines | ms a step without | with | more |\n|---|---|---|---|");
    for chosen in std::iter::once(None).chain((0..names.len()).map(Some)) {
        let lines = recipe().lines().to_vec();
        let lines = lines.into_iter().enumerate();
        let lines = lines.filter(|(k, _)| chosen.is_none_or(|chosen| chosen == *k));
        let chosen_recipe = Recipe::new(lines.map(|(_, line)| line));
        let (mut bare, mut penalised) = (run(None), run(Some(chosen_recipe)));
        let (mut without, mut with) = (Vec::new(), Vec::new());
        // In turn, so that what else the machine does meets both alike.
        for step in 0..STEPS + 5 {
            let pair = (bare.step(step)?, penalised.step(step)?);
            if step >= 5 {
                without.push(pair.0);
                with.push(pair.1);
            }
        }
        let (a, b) = (median(without), median(with));
        let name = chosen.map_or("all six", |k| names[k].as_str());
        say(&format!("| {name} | {a:.2} | {b:.2} | {:.1} % |", 100.0 * (b / a - 1.0)));
    }
    Ok(())
}

/// Median of seconds, in milliseconds.
fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_unstable_by(f64::total_cmp);
    1e3 * seconds[seconds.len() / 2]
}

#[expect(clippy::print_stdout, reason = "a command line program")]
fn say(text: &str) {
    println!("{text}");
}
