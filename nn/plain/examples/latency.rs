//! Sizes -> the time of one action with every backbone: features, network and draws of the agent.
//!
//! `cargo run --release -p plain --example latency [ACTIONS]` prints percentiles in microseconds,
//! of the thread's processor time and of wall time, which other programs on the machine lengthen.
//!
//! What is not ours shows in two ways: pages that were not there (`faults`), and the same
//! percentile of a loop that only reads as many numbers, in turn with the actions (`reading`).

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

/// Page faults of this thread so far; nothing where the system does not tell.
fn page_faults() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name before them may hold spaces.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    Some(fields.get(7)?.parse::<u64>().ok()? + fields.get(9)?.parse::<u64>().ok()?)
}

/// An empty list whose memory is there.
fn touched(count: usize) -> Vec<f64> {
    let mut list = vec![1.0; count];
    list.clear();
    list
}

/// Reads every number once.
fn read(numbers: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 64];
    for row in numbers.chunks_exact(64) {
        for (sum, number) in sums.iter_mut().zip(row) {
            *sum += number;
        }
    }
    sums.iter().sum()
}

/// Actions, and readings, in a row.
const TURN: usize = 50;

fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1);
    let actions: usize = argument.map_or(Ok(20_000), |text| text.parse())?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "| backbone | parameters | CPU p50 | CPU p99.9 | over 100 | faults | reading p50 | reading p99.9 | wall p50 | wall p99.9 |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    )?;
    for backbone in backbones() {
        let heads = Heads { kind: HeadKind::Autoregressive, residual: 64 };
        let architecture = Architecture { embedding: 16, backbone: backbone.clone(), heads };
        let schema = Schema::egocentric();
        let contract = Contract::new(architecture, &schema, Discretiser::default(), 1);
        let parameters = contract.parameters()?;
        let mut agent = Agent::of(&checkpoint_of(contract), AgentSettings::default())?;
        let mut game = StubGame::new(StubSettings::default());
        let numbers = vec![1.0_f32; parameters];
        let [mut by_processor, mut by_wall, mut readings] =
            [(); 3].map(|()| touched(actions + 200));
        let mut faults = None;
        let mut seed = 0;
        let mut step = game.reset(seed)?;
        for action in 0..actions + 100 {
            if action % TURN == 0 {
                for _ in 0..TURN {
                    let began = processor_time();
                    std::hint::black_box(read(std::hint::black_box(&numbers)));
                    readings.push(processor_time() - began);
                }
            }
            if action == 100 {
                faults = page_faults();
            }
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
        let faults = page_faults().zip(faults).map(|(after, before)| after - before);
        let over = by_processor.iter().filter(|time| **time > 100.0).count();
        let mut sorted = [by_processor, by_wall, readings.split_off(100)];
        for times in &mut sorted {
            times.sort_by(f64::total_cmp);
        }
        let [processor, wall, reading] =
            sorted.map(|times| [0.5, 0.999].map(|share| percentile(&times, share)));
        let faults = faults.map_or("-".to_owned(), |count| count.to_string());
        let ([a, b], [c, d], [e, f]) = (processor, reading, wall);
        writeln!(
            out,
            "| {backbone:?} | {parameters} | {a:.1} | {b:.1} | {over} of {actions} | {faults} | {c:.1} | {d:.1} | {e:.1} | {f:.1} |"
        )?;
    }
    Ok(())
}
