//! Sizes -> the time of one action with every backbone: features, network and draws of the agent.
//!
//! `cargo run --release -p plain --example latency [ACTIONS]` prints percentiles in microseconds,
//! of the thread's processor time and of wall time, which other programs on the machine lengthen.

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::Write as _;
use std::time::Instant;

use common::checkpoint_of;
use environment::{Environment, StubGame, StubSettings};
use features::{Discretiser, Schema};
use plain::policy::{Agent, AgentSettings, Architecture, Backbone, Contract, HeadKind, Heads};
use rustix::time::{ClockId, clock_gettime};

fn backbones() -> [Backbone; 6] {
    [
        Backbone::Mlp { hidden: 640, layers: 3 },
        Backbone::Gru { hidden: 128, layers: 1 },
        Backbone::Gru { hidden: 480, layers: 1 },
        Backbone::Lstm { hidden: 416, layers: 1 },
        Backbone::Attention { hidden: 256, layers: 1, heads: 4, window: 60, feed_forward: 1024 },
        Backbone::SelectiveScan {
            hidden: 256,
            layers: 2,
            state: 16,
            expand: 2,
            convolution: 4,
            rank: 16,
        },
    ]
}

/// The thread's processor time in microseconds.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 * 1e-3
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1);
    let actions: usize = argument.map_or(Ok(20_000), |text| text.parse())?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "| backbone | parameters | CPU p50 | CPU p99.9 | wall p50 | wall p99.9 |\n|---|---|---|---|---|---|"
    )?;
    for backbone in backbones() {
        let heads = Heads { kind: HeadKind::Autoregressive, residual: 64 };
        let architecture = Architecture { embedding: 16, backbone: backbone.clone(), heads };
        let schema = Schema::egocentric();
        let contract = Contract::new(architecture, &schema, Discretiser::default(), 1);
        let parameters = contract.parameters()?;
        let mut agent = Agent::of(&checkpoint_of(contract), AgentSettings::default())?;
        let mut game = StubGame::new(StubSettings::default());
        let (mut by_processor, mut by_wall) = (Vec::new(), Vec::new());
        let mut seed = 0;
        let mut step = game.reset(seed)?;
        for action in 0..actions + 100 {
            let (wall, processor) = (Instant::now(), processor_time());
            let controller = agent.act(&step.state, game.view())?;
            let (processor, wall) = (processor_time() - processor, wall.elapsed());
            // The first actions bring the weights into the caches.
            if action >= 100 {
                by_processor.push(processor);
                by_wall.push(wall.as_secs_f64() * 1e6);
            }
            step = game.step(&controller)?;
            if step.is_done {
                seed += 1;
                step = game.reset(seed)?;
                agent.reset();
            }
        }
        by_processor.sort_by(f64::total_cmp);
        by_wall.sort_by(f64::total_cmp);
        let [a, b] = [0.5, 0.999].map(|share| percentile(&by_processor, share));
        let [c, d] = [0.5, 0.999].map(|share| percentile(&by_wall, share));
        writeln!(out, "| {backbone:?} | {parameters} | {a:.1} | {b:.1} | {c:.1} | {d:.1} |")?;
    }
    Ok(())
}
