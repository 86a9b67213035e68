//! `cargo run --release -p matrix --bin steps -- [STEPS] [graph] [BACKBONE ...]`: processor time of
//! a step of training on flex, for each backbone, as rows of a table; with `graph` recurrent layers
//! are part of the graph. `steps.py` beside this crate's manifest measures PyTorch on the same
//! models.
//!
//! A step is a forward pass, the loss, a backward pass, clipping by the global norm, and AdamW, on
//! one batch of 32 windows of 32 frames that stays the same. Making batches is not part of it.

use burn::optim::AdamWConfig;
use burn::tensor::{DType, Device};
use features::{Batch, Discretiser, Schema, View, Window};
use penalties::{Transform, Transforms};
use plain::policy::{Architecture, Backbone, Contract, HeadKind, Heads};
use policy::{LossConfig, Network, Random, Tensors};
use rustix::time::{ClockId, clock_gettime};

const WINDOWS: usize = 32;
const FRAMES: usize = 32;

fn networks() -> [(&'static str, Backbone); 5] {
    [
        ("gru", Backbone::Gru { hidden: 128, layers: 1 }),
        ("lstm", Backbone::Lstm { hidden: 128, layers: 1 }),
        (
            "attention",
            Backbone::Attention { hidden: 128, layers: 2, heads: 4, window: 32, feed_forward: 256 },
        ),
        ("mlp", Backbone::Mlp { hidden: 256, layers: 2 }),
        (
            "selective_scan",
            Backbone::SelectiveScan {
                hidden: 64,
                layers: 2,
                state: 8,
                expand: 2,
                convolution: 4,
                rank: 4,
            },
        ),
    ]
}

fn batch(contract: &Contract, schema: &Schema) -> Batch {
    let mut random = Random::new(7);
    let view = View { own_port: 0, opponent: 1, name: 0 };
    let windows = (0..WINDOWS).map(|file| Window { file, view, start: 0 }).collect();
    let (mut features, mut targets) = (Vec::new(), Vec::new());
    for _ in 0..FRAMES * WINDOWS {
        let from = features.len();
        features.extend((0..schema.width()).map(|_| random.uniform() as f32 * 2.0 - 1.0));
        for (column, rows) in schema.tables() {
            features[from + column] = (random.bits() % rows as u64) as f32;
        }
        targets.extend(contract.components().map(|classes| (random.bits() % classes as u64) as u8));
    }
    Batch { windows, features, targets }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let steps: usize = args.next().map_or(Ok(100), |text| text.parse())?;
    let mut chosen: Vec<String> = args.collect();
    let on_graph = chosen.iter().any(|name| name == "graph");
    chosen.retain(|name| name != "graph");
    let device = Device::flex().autodiff();
    policy::keep_memory();
    say("| network | parameters | ms a step (median) | least | steps a processor second |");
    say("|---|---|---|---|---|");
    for (name, backbone) in networks() {
        if !chosen.is_empty() && !chosen.iter().any(|c| c == name) {
            continue;
        }
        let schema = Schema::egocentric();
        let heads = Heads { kind: HeadKind::Autoregressive, residual: 64 };
        let architecture = Architecture { embedding: 16, backbone, heads };
        let contract = Contract::new(architecture, &schema, Discretiser::default(), 1);
        let parameters = contract.parameters()?;
        let batch = batch(&contract, &schema);
        let mut network = Network::new(&contract, 0, &device, DType::F32)?;
        let mut optimiser = AdamWConfig::new().init();
        let clip = Transforms::new([Transform::ClipGlobalNorm { limit: 1.0 }]);
        let mut times = Vec::with_capacity(steps);
        for step in 0..steps + 5 {
            let tensors = Tensors::new(&batch, &schema, FRAMES, None, &device, DType::F32);
            let began = seconds();
            let (gradients, ()) = network.gradients(&tensors, on_graph, |output| {
                let loss = LossConfig::default();
                let loss = loss.of(&output.logits, &tensors.targets, None, &[1.0; 8]);
                Ok((loss.total, ()))
            })?;
            let gradients = clip.apply(&network, gradients, step as u64)?;
            network = optimiser.step(1e-3, network, gradients);
            // The first steps make memory that the others have.
            if step >= 5 {
                times.push(1e3 * (seconds() - began));
            }
        }
        times.sort_unstable_by(f64::total_cmp);
        let (median, least) = (times[times.len() / 2], times[0]);
        let rate = 1e3 / median;
        say(&format!("| {name} | {parameters} | {median:.2} | {least:.2} | {rate:.1} |"));
    }
    Ok(())
}

/// Processor time of this thread, which does all the work, so that a busy machine matters less.
fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

#[expect(clippy::print_stdout, reason = "a command line program")]
fn say(text: &str) {
    println!("{text}");
}
