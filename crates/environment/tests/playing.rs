//! The stub game and its optimum; live frames, bridged frames and recorded frames as one.

use std::collections::BTreeMap;
use std::io::{BufReader, pipe};

use environment::{
    Bridge, Environment, Expert, PROTOCOL, Step, StubGame, StubSettings, optimal_crossings, record,
    serve,
};
use features::{
    Batch, BatchSettings, CharacterState, Controller, Epoch, FrameState, ItemState, Players,
    PortState, Schema, View,
};
use replay::Game;

fn small() -> StubSettings {
    let mut settings = StubSettings::default();
    (settings.half_width, settings.half_block, settings.frames) = (5, 1, 30);
    settings
}

const ACTIONS: [(f32, u16); 6] =
    [(-1.0, 0), (0.0, 0), (1.0, 0), (-1.0, 0x400), (0.0, 0x400), (1.0, 0x400)];

/// The most crossings of any sequence of inputs, by trying all that lead to different states.
fn most_crossings(game: &StubGame, frames: u32) -> f64 {
    let mut reached: BTreeMap<String, (StubGame, f64)> = BTreeMap::new();
    reached.insert(String::new(), (game.clone(), 0.0));
    for _ in 0..frames {
        let mut next: BTreeMap<String, (StubGame, f64)> = BTreeMap::new();
        for (game, total) in reached.values() {
            for (stick_x, buttons) in ACTIONS {
                let mut game = game.clone();
                let controller = Controller { stick_x, buttons, ..Controller::default() };
                let step = game.step(&controller).expect("the game is not over");
                let total = total + step.reward;
                let player = step.state.ports[0].expect("a player");
                let key = format!(
                    "{:?} {} {} {} {}",
                    game.position(),
                    player.leader.y,
                    player.leader.speed_y,
                    player.leader.airborne,
                    buttons
                );
                let known = next.get(&key).map_or(f64::NEG_INFINITY, |(_, total)| *total);
                if total > known {
                    next.insert(key, (game, total));
                }
            }
        }
        reached = next;
    }
    reached.values().fold(0.0, |best, (_, total)| best.max(*total))
}

#[test]
fn the_optimum_is_that_of_all_sequences_of_inputs_and_the_expert_reaches_it() {
    for seed in 0..6 {
        let settings = small();
        let mut game = StubGame::new(settings);
        let first = game.reset(seed).expect("the stage can be crossed");
        let (x, side) = game.position();
        let optimum = f64::from(optimal_crossings(&settings, x, side, settings.frames));
        assert_eq!(most_crossings(&game, settings.frames), optimum, "seed {seed}");
        assert_eq!(play(&mut game, first, &Expert::new(settings)).1, optimum, "seed {seed}");
    }
    for seed in 0..200 {
        let settings = StubSettings::default();
        let mut game = StubGame::new(settings);
        let first = game.reset(seed).expect("the stage can be crossed");
        let (x, side) = game.position();
        let optimum = optimal_crossings(&settings, x, side, settings.frames);
        assert!(optimum >= 7);
        let reached = play(&mut game, first, &Expert::new(settings)).1;
        assert_eq!(reached, f64::from(optimum), "seed {seed}");
    }
}

#[test]
fn who_does_not_jump_gets_nowhere() {
    let settings = StubSettings::default();
    let mut game = StubGame::new(settings);
    game.reset(1).expect("the stage can be crossed");
    let mut total = 0.0;
    let mut furthest = (f32::INFINITY, f32::NEG_INFINITY);
    for _ in 0..settings.frames {
        let (_, side) = game.position();
        let controller = Controller { stick_x: side as f32, ..Controller::default() };
        let step = game.step(&controller).expect("the game is not over");
        total += step.reward;
        let x = step.state.ports[0].expect("a player").leader.x;
        furthest = (furthest.0.min(x), furthest.1.max(x));
    }
    assert!(total <= 1.0, "the block stops who runs");
    assert!(furthest.0 >= 3.0 || furthest.1 <= -3.0, "{furthest:?}");
}

/// Plays to the end: all frames, and the reward.
fn play(game: &mut impl Environment, first: Step, expert: &Expert) -> (Vec<FrameState>, f64) {
    let (mut states, mut total) = (vec![first.state.clone()], 0.0);
    let mut step = first;
    while !step.is_done {
        step = game.step(&expert.controller(&step.state)).expect("the game goes on");
        total += step.reward;
        states.push(step.state.clone());
    }
    (states, total)
}

fn features(schema: &Schema, state: &FrameState, view: View) -> Vec<u32> {
    let mut out = vec![0.0; schema.width()];
    schema.compute(std::slice::from_ref(state), view, &mut out).expect("the widths agree");
    out.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn live_bridged_and_recorded_frames_have_features_of_equal_bits() {
    let settings = StubSettings::default();
    let mut game = StubGame::new(settings);
    let first = game.reset(11).expect("the stage can be crossed");
    let (live, total) = play(&mut game, first, &Expert::new(settings));

    // The same game in another thread, behind two pipes.
    let (policy_in, bridge_out) = pipe().expect("a pipe");
    let (bridge_in, policy_out) = pipe().expect("a pipe");
    let bridge = std::thread::spawn(move || {
        serve(&mut StubGame::new(settings), BufReader::new(bridge_in), bridge_out)
    });
    let mut remote = Bridge::open(BufReader::new(policy_in), policy_out).expect("a greeting");
    let first = remote.reset(11).expect("the bridge answers");
    let (bridged, bridged_total) = play(&mut remote, first, &Expert::new(settings));
    let view = remote.view();
    remote.close().expect("the bridge listens");
    bridge.join().expect("no panic").expect("no error");
    assert_eq!(total, bridged_total);

    // The same game as a file.
    let file = record(&live).write().expect("whole");
    let replay = Game::read_whole(&file).expect("whole");
    assert_eq!(replay.len(), live.len());
    for schema in [Schema::full(), Schema::egocentric()] {
        for (row, live) in live.iter().enumerate() {
            let expected = features(&schema, live, game.view());
            assert_eq!(features(&schema, &bridged[row], view), expected, "bridged frame {row}");
            let recorded = FrameState::of(&replay, row);
            assert_eq!(features(&schema, &recorded, game.view()), expected, "recorded frame {row}");
        }
    }

    // A batch of that file has these features and, a frame later, these inputs.
    let (names, schema) = ([String::from("stub.slp")], Schema::egocentric());
    let mut settings = BatchSettings::default();
    (settings.players, settings.window) = (Players::Port(0), 8);
    let discretiser = settings.discretiser;
    let mut epoch =
        Epoch::new(&names, &schema, settings, 0, |_| Ok(file.clone())).expect("settings");
    let mut batch = Batch::default();
    assert!(epoch.next_batch(&mut batch).expect("the file is read"));
    for (k, features_of_row) in batch.features.chunks(schema.width()).enumerate() {
        let row = batch.windows[k / 8].start + k % 8;
        let bits: Vec<u32> = features_of_row.iter().map(|x| x.to_bits()).collect();
        assert_eq!(bits, features(&schema, &live[row], game.view()));
        let pressed = live[row + 1].ports[0].expect("a player").controller;
        assert_eq!(batch.targets[13 * k..13 * (k + 1)], discretiser.action(&pressed).0);
    }
}

/// Any numbers, followers and items go through a line and through a file unchanged.
#[test]
fn every_number_of_a_frame_goes_through_unchanged() {
    let character = |k: f32| CharacterState {
        character: 10,
        action: 321,
        x: 1.0 / 3.0 * k,
        y: -0.1 * k,
        facing: -1.0,
        percent: f32::MIN_POSITIVE,
        shield: 59.999_996,
        stocks: 3,
        action_age: 0.5,
        state_bits_4: 2,
        action_number: 1e30,
        airborne: 1,
        jumps: 1,
        hurtbox: 2,
        speed_x_air: 1e-40,
        speed_y: -0.0,
        knockback_x: 0.123_456_79,
        knockback_y: -7.0,
        speed_x_ground: 8.0,
        hitlag: 9.0,
    };
    let controller = Controller {
        buttons: 0x1fff,
        stick_x: -0.987_5,
        stick_y: 0.3,
        c_stick_x: 0.1,
        c_stick_y: -1.0,
        trigger: 0.35,
    };
    let item = ItemState { kind: 54, owner: -1, x: 0.7, y: -0.7, speed_x: 1.1, speed_y: -2.2 };
    let states: Vec<FrameState> = (0..4)
        .map(|frame| {
            let leader = character(frame as f32 + 1.0);
            let follower = (frame % 2 == 1).then(|| character(frame as f32 + 0.3));
            let mut state = FrameState { frame, stage: 31, ..FrameState::default() };
            state.ports[1] = Some(PortState { controller, leader, follower });
            state.ports[3] = Some(PortState { controller, leader, follower: None });
            state.items = vec![item; frame as usize];
            state
        })
        .collect();
    let file = record(&states).write().expect("whole");
    let replay = Game::read_whole(&file).expect("whole");
    struct Replayed(std::vec::IntoIter<FrameState>);
    impl Environment for Replayed {
        fn view(&self) -> View {
            View { own_port: 3, opponent: 1, name: 2 }
        }
        fn reset(&mut self, _: u64) -> Result<Step, environment::EnvironmentError> {
            self.step(&Controller::default())
        }
        fn step(&mut self, _: &Controller) -> Result<Step, environment::EnvironmentError> {
            let state = self.0.next().expect("as many steps as frames");
            Ok(Step { state, reward: 0.25, is_done: false })
        }
    }
    let lines = "{\"type\":\"reset\",\"seed\":1}\n".to_owned()
        + &(0..3)
            .map(|frame| {
                format!(
                    "{{\"type\":\"input\",\"frame\":{frame},\"controller\":{{\"buttons\":0,\
                     \"stick_x\":0,\"stick_y\":0,\"c_stick_x\":0,\"c_stick_y\":0,\"trigger\":0}}}}\n"
                )
            })
            .collect::<String>();
    let mut said = Vec::new();
    serve(&mut Replayed(states.clone().into_iter()), lines.as_bytes(), &mut said).expect("served");
    let mut remote = Bridge::open(said.as_slice(), Vec::new()).expect("a greeting");
    assert_eq!(remote.view(), View { own_port: 3, opponent: 1, name: 2 });
    for (row, state) in states.iter().enumerate() {
        assert_eq!(&FrameState::of(&replay, row), state);
        let step = if row == 0 { remote.reset(1) } else { remote.step(&controller) };
        let step = step.expect("a frame");
        assert_eq!(&step.state, state);
        // Equality says nothing of the sign of zero.
        let speed = step.state.ports[1].expect("a player").leader.speed_y;
        assert!(speed.to_bits() == (-0.0_f32).to_bits() && step.reward == 0.25);
    }
}

fn hello() -> String {
    format!("{{\"type\":\"hello\",\"protocol\":{PROTOCOL},\"own\":1,\"opponent\":2,\"name\":0}}\n")
}

fn error_of(lines: &str) -> String {
    let opened = Bridge::open(lines.as_bytes(), Vec::new());
    match opened.and_then(|mut bridge| {
        bridge.reset(0)?;
        bridge.step(&Controller::default())
    }) {
        Ok(step) => panic!("{step:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_bridge_that_breaks_the_protocol_is_told_of() {
    let frame = |n: i32| {
        format!("{{\"type\":\"frame\",\"frame\":{n},\"stage\":2,\"ports\":[],\"items\":[]}}\n")
    };
    let hello = hello();
    let cases = [
        (String::new(), "the bridge is gone; expected its `hello` message"),
        ("nonsense\n".to_owned(), "a line is no JSON"),
        (hello.replace(":1,\"own", ":9,\"own"), "the bridge speaks version 9 of the protocol"),
        (hello.replace("\"own\":1", "\"own\":5"), "message.own: expected 1 to 4"),
        (hello.clone(), "the bridge is gone; expected its `frame` message"),
        (hello.clone() + &frame(4) + &frame(6), "the bridge sent frame 6 after frame 4"),
        (hello.clone() + &frame(4) + &frame(4), "the bridge sent frame 4 after frame 4"),
        (hello.clone() + "{\"type\":\"dance\"}\n", "`type` is `dance`"),
        (
            hello.clone() + "{\"type\":\"error\",\"message\":\"no game\"}\n",
            "the bridge reports: no game",
        ),
        (
            hello.clone() + "{\"type\":\"frame\",\"frame\":0,\"stage\":2,\"items\":[]}\n",
            "message.ports: expected an array",
        ),
        (
            hello
                + "{\"type\":\"frame\",\"frame\":0,\"stage\":2,\"items\":[],\"ports\":[{\"port\":1,\
                     \"controller\":{\"buttons\":0,\"stick_x\":null}}]}\n",
            "message.ports[0].controller.stick_x: expected a finite number",
        ),
    ];
    for (lines, message) in cases {
        let error = error_of(&lines);
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn a_game_that_is_over_or_cannot_be_crossed_says_so() {
    let mut settings = small();
    settings.frames = 1;
    let mut game = StubGame::new(settings);
    assert!(game.reset(1).is_ok() && game.step(&Controller::default()).is_ok());
    let error = game.step(&Controller::default()).expect_err("over").to_string();
    assert!(error.starts_with("the game is over"), "{error}");
    settings.block_height = 50;
    let error = StubGame::new(settings).reset(1).expect_err("too high").to_string();
    assert!(error.contains("`jump_speed`"), "{error}");
}
