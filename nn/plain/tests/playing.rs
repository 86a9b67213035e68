//! Agents in the stub game: a network written by hand that reaches the optimum, the delay, the
//! seeds, and games seen again from their replays.

mod common;

use std::collections::BTreeMap;

use common::{backbones, checkpoint};
use environment::{Environment, StubGame, StubSettings, optimal_crossings, record};
use features::{Controller, Discretiser, FrameState, Schema};
use plain::policy::{
    Agent, AgentSettings, Architecture, Backbone, Checkpoint, Contract, HeadKind, Heads, Tensor,
    TensorShape,
};
use replay::Game;

/// What the hand-written network sees.
const SCHEMA: &str = "own.x * 1 in [-100, 100]\nopponent.x * 1 in [-100, 100]\n";
const HIDDEN: usize = 10;

/// Puts numbers at (row, column) of a matrix.
fn place(tensor: &mut Tensor, columns: usize, entries: &[(usize, usize, f32)]) {
    for (row, column, value) in entries {
        tensor.values[row * columns + column] = *value;
    }
}

/// The expert of the stub game as two layers: it runs to the mark at `m`, and jumps one unit before
/// the block, whose sides are at -2 and 2.
///
/// For whole numbers, relu(m - x) - relu(m - x - 1) is 1 when the mark is to the right, and
/// relu(x + 4) - 2 relu(x + 3) + relu(x + 2) is 1 at x = -3 and 0 elsewhere. The second layer has
/// right, left, "at -3 and right", "at 3 and left".
fn expert(delay: usize) -> Checkpoint {
    let architecture = Architecture {
        embedding: 1,
        backbone: Backbone::Mlp { hidden: HIDDEN, layers: 2 },
        heads: Heads { kind: HeadKind::Autoregressive, residual: HIDDEN },
    };
    let schema = Schema::parse(SCHEMA).expect("a schema");
    let contract = Contract::new(architecture, &schema, Discretiser::default(), delay);
    let zeros = |TensorShape { name, shape }: TensorShape| {
        let values = vec![0.0; shape.iter().product()];
        (name, Tensor { shape, values })
    };
    let mut tensors: BTreeMap<String, Tensor> =
        contract.tensors().expect("a schema").into_iter().map(zeros).collect();
    let mut put = |name: &str, columns: usize, entries: &[(usize, usize, f32)]| {
        place(tensors.get_mut(name).expect("a tensor"), columns, entries);
    };
    // Units 0 to 3: m - x, m - x - 1, x - m, x - m - 1; 4 to 6: x + 4, 3, 2; 7 to 9: 4, 3, 2 - x.
    let slopes = [-1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0];
    let x_entries: Vec<_> = slopes.iter().enumerate().map(|(j, slope)| (0, j, *slope)).collect();
    put("backbone.layers.0.weight", HIDDEN, &x_entries);
    let mark = [(1, 0, 1.0), (1, 1, 1.0), (1, 2, -1.0), (1, 3, -1.0)];
    put("backbone.layers.0.weight", HIDDEN, &mark);
    let shifts = [0.0, -1.0, 0.0, -1.0, 4.0, 3.0, 2.0, 4.0, 3.0, 2.0];
    let shifts: Vec<_> = shifts.iter().enumerate().map(|(j, shift)| (0, j, *shift)).collect();
    put("backbone.layers.0.bias", HIDDEN, &shifts);
    let right = [(0, 1.0), (1, -1.0)];
    let left = [(2, 1.0), (3, -1.0)];
    let mut second = Vec::new();
    for (unit, parts) in [(0, right), (1, left), (2, right), (3, left)] {
        second.extend(parts.map(|(row, value)| (row, unit, value)));
    }
    for (unit, first) in [(2, 4), (3, 7)] {
        second.extend([(first, unit, 1.0), (first + 1, unit, -2.0), (first + 2, unit, 1.0)]);
    }
    put("backbone.layers.1.weight", HIDDEN, &second);
    put("backbone.layers.1.bias", HIDDEN, &[(0, 2, -1.0), (0, 3, -1.0)]);
    let same: Vec<_> = (0..HIDDEN).map(|i| (i, i, 1.0)).collect();
    put("heads.input.weight", HIDDEN, &same);
    for button in 0..8 {
        put(&format!("heads.output.{button}.bias"), 2, &[(0, 0, 40.0)]);
    }
    put("heads.output.2.weight", 2, &[(2, 1, 80.0), (3, 1, 80.0)]);
    put("heads.output.8.weight", 17, &[(0, 16, 80.0), (1, 0, 80.0)]);
    for axis in 9..12 {
        put(&format!("heads.output.{axis}.bias"), 17, &[(0, 8, 40.0)]);
    }
    put("heads.output.12.bias", 5, &[(0, 0, 40.0)]);
    Checkpoint::new(contract, tensors).expect("they fit")
}

/// Frames and the reward of a game.
fn play(agent: &mut Agent, seed: u64) -> (Vec<FrameState>, f64, u32) {
    let settings = StubSettings::default();
    let mut game = StubGame::new(settings);
    agent.reset();
    let mut step = game.reset(seed).expect("a game");
    let (x, side) = game.position();
    let optimum = optimal_crossings(&settings, x, side, settings.frames);
    let (mut states, mut total) = (vec![step.state.clone()], 0.0);
    while !step.is_done {
        let controller = agent.act(&step.state, game.view()).expect("a frame");
        step = game.step(&controller).expect("the game goes on");
        states.push(step.state.clone());
        total += step.reward;
    }
    (states, total, optimum)
}

fn settings(temperature: f32, seed: u64) -> AgentSettings {
    let mut settings = AgentSettings::default();
    (settings.temperature, settings.seed) = (temperature, seed);
    settings
}

#[test]
fn the_expert_as_a_network_makes_as_many_crossings_as_can_be_made() {
    // At temperature 1 its logits of 40 leave the other classes e^-40 each.
    for temperature in [0.0, 1.0] {
        let mut agent = Agent::of(&expert(1), settings(temperature, 3)).expect("an agent");
        for seed in 0..12 {
            let (_, total, optimum) = play(&mut agent, seed);
            assert!(optimum >= 7, "{optimum}");
            assert_eq!(total, f64::from(optimum), "seed {seed}");
        }
    }
}

#[test]
fn what_is_chosen_is_pressed_as_many_frames_later_as_the_contract_says() {
    let mut game = StubGame::new(StubSettings::default());
    let mut prompt = Agent::of(&expert(1), settings(0.0, 0)).expect("an agent");
    let mut late = Agent::of(&expert(4), settings(0.0, 0)).expect("an agent");
    let mut step = game.reset(5).expect("a game");
    let (mut chosen, mut pressed) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        chosen.push(prompt.act(&step.state, game.view()).expect("a frame"));
        pressed.push(late.act(&step.state, game.view()).expect("a frame"));
        step = game.step(&chosen[chosen.len() - 1]).expect("the game goes on");
    }
    assert_eq!(pressed[..3], [Controller::default(); 3]);
    assert_eq!(pressed[3..], chosen[..chosen.len() - 3]);
    // Otherwise a shift would not show.
    assert!(chosen.windows(2).filter(|pair| pair[0] != pair[1]).count() > 4);
}

#[test]
fn other_features_and_another_delay_are_refused() {
    let checkpoint = expert(2);
    let schema = Schema::parse(SCHEMA).expect("a schema");
    let refuse = |schema: &Schema, delay, temperature| {
        let agent = Agent::new(&checkpoint, schema, delay, settings(temperature, 0));
        agent.expect_err("a mismatch").field().map(str::to_owned)
    };
    assert_eq!(refuse(&Schema::egocentric(), 2, 1.0).as_deref(), Some("schema_hash"));
    assert_eq!(refuse(&schema, 1, 1.0).as_deref(), Some("delay"));
    assert_eq!(refuse(&schema, 2, -1.0).as_deref(), Some("temperature"));
    assert_eq!(refuse(&schema, 2, f32::NAN).as_deref(), Some("temperature"));
    Agent::new(&checkpoint, &schema, 2, settings(1.0, 0)).expect("they fit");
}

#[test]
fn a_seed_plays_one_game_and_its_replay_seen_again_gives_the_same_inputs() {
    for backbone in backbones() {
        let checkpoint = checkpoint(backbone, HeadKind::Autoregressive);
        let mut agent = Agent::of(&checkpoint, settings(1.0, 11)).expect("an agent");
        let (states, ..) = play(&mut agent, 2);
        assert_eq!(play(&mut agent, 2).0, states);
        let mut other = Agent::of(&checkpoint, settings(1.0, 12)).expect("an agent");
        assert_ne!(play(&mut other, 2).0, states);
        // Read from its own file: the features are those of the game, so are the inputs.
        let file = record(&states).write().expect("whole");
        let replay = Game::read_whole(&file).expect("whole");
        let view = StubGame::new(StubSettings::default()).view();
        agent.reset();
        for row in 0..states.len() - 1 {
            let again = agent.act(&FrameState::of(&replay, row), view).expect("a frame");
            let port = states[row + 1].ports[view.own_port].expect("a player");
            assert_eq!(again, port.controller, "frame {row}");
        }
    }
}
