//! Policies that play: judged, in the stub game, over the protocol, and with a head from Stan.

use std::io::{BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

use environment::{Bridge, StubGame, StubSettings, serve};
use plain::policy::Checkpoint;
use policy::{Choice, EvaluateSettings, Player, Replays, TrainConfig, evaluate, train};
use serde_json::json;

use crate::support::{Folder, write_slipping_games};

/// A policy that learned the expert's games for a short while.
fn trained(folder: &Folder, delay: usize) -> Checkpoint {
    let replays = folder.path().join("replays");
    std::fs::create_dir_all(&replays).expect("a folder");
    write_slipping_games(&replays, 12);
    let mut config = TrainConfig::default();
    config.data.paths = vec![replays];
    config.network.delay = delay;
    let changes = [
        "data.players=port 1",
        "data.batch=8",
        "network.backbone.hidden=24",
        "network.heads.residual=24",
        "network.embedding=4",
        "optimiser.learning_rate=0.01",
        "optimiser.average=0.9",
        "steps=250",
    ];
    let config = config.with(&changes.map(str::to_owned)).expect("settings");
    let run = folder.path().join("run");
    let trained = train(&config, &run, &mut |_| {}).expect("the run ends");
    Checkpoint::read(&std::fs::read(trained.policy).expect("a file")).expect("a policy")
}

/// An end of a pipe in memory.
struct Pipe(Receiver<Vec<u8>>, Vec<u8>);
struct PipeEnd(Sender<Vec<u8>>);

fn pipe() -> (PipeEnd, Pipe) {
    let (sender, receiver) = channel();
    (PipeEnd(sender), Pipe(receiver, Vec::new()))
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.1.is_empty() {
            // A sender that is gone is the end of the stream.
            self.1 = self.0.recv().unwrap_or_default();
        }
        let count = self.1.len().min(out.len());
        out[..count].copy_from_slice(&self.1[..count]);
        self.1.drain(..count);
        Ok(count)
    }
}

impl Write for PipeEnd {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let sent = self.0.send(bytes.to_vec());
        sent.map(|()| bytes.len()).map_err(|_| std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_policy_is_judged_plays_over_the_protocol_and_takes_a_head_from_stan() {
    let folder = Folder::new("plays");
    let checkpoint = trained(&folder, 1);
    let mut player = Player::new(&checkpoint, Choice::Greedy, 0).expect("a player");
    let settings = StubSettings::default();
    // The same game over the protocol, with a bridge in another thread, gives the same frames.
    let mut game = StubGame::new(settings);
    let direct = player.play(&mut game, 700).expect("a game");
    let (to_bridge, bridge_in) = pipe();
    let (to_policy, policy_in) = pipe();
    let served = std::thread::spawn(move || {
        serve(&mut StubGame::new(settings), BufReader::new(bridge_in), to_policy)
    });
    let mut bridge = Bridge::open(BufReader::new(policy_in), to_bridge).expect("a greeting");
    let over = player.play(&mut bridge, 700).expect("a game");
    bridge.close().expect("the bridge is there");
    served.join().expect("the bridge ends").expect("the bridge is content");
    assert_eq!(direct, over);

    // Drawn actions follow their seed.
    let draw = |seed| {
        let mut player = Player::new(&checkpoint, Choice::Draw(1.0), seed).expect("a player");
        player.play(&mut StubGame::new(settings), 3).expect("a game").1
    };
    assert_eq!(draw(1), draw(1));
    assert!(Player::new(&checkpoint, Choice::Draw(0.0), 1).is_err());

    // Judged on games that it has not seen.
    let judged = folder.path().join("judged");
    std::fs::create_dir_all(&judged).expect("a folder");
    for seed in 900..902 {
        let game = crate::support::expert_game(seed);
        std::fs::write(judged.join(format!("{seed}.slp")), game).expect("a file");
    }
    let replays = Replays::find(&[judged]).expect("replays");
    let mut evaluate_settings = EvaluateSettings::default();
    "port 1".clone_into(&mut evaluate_settings.players);
    let evaluation =
        evaluate(&checkpoint, replays.names(), &evaluate_settings).expect("a judgement");
    let judgement = &evaluation.judgement;
    assert_eq!(judgement.frames, 2 * 600);
    let (policy, repeat) = judgement.whole_at_changes.shares();
    // At change points with a delay of 1, repeating is never right.
    assert!(policy > 0.5 && repeat == 0.0, "{policy} {repeat}");
    assert_eq!(judgement.best_offset(), Some(1));
    for chart in [
        policy::accuracy_chart(judgement),
        policy::calibration_chart(judgement),
        policy::offset_chart(judgement),
    ] {
        let svg = chart.svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }

    // A head goes to Stan's data and comes back: with its own weights, nothing changes.
    let names = replays.names();
    let data = policy::export_head(&checkpoint, names, "port 1", 2, 5).expect("data");
    assert_eq!(data["N"], 2 * 120);
    assert_eq!(data["K"], 24);
    let (weight, bias) =
        (checkpoint.values("heads.output.2.weight"), checkpoint.values("heads.output.2.bias"));
    let beta: Vec<f64> = weight.chunks(2).map(|w| f64::from(w[1]) - f64::from(w[0])).collect();
    let alpha = f64::from(bias[1]) - f64::from(bias[0]);
    let same = policy::with_head(&checkpoint, 2, &json!({"alpha": alpha, "beta": beta}))
        .expect("a policy");
    let again = evaluate(&same, names, &evaluate_settings).expect("a judgement");
    let nll = |e: &policy::Evaluation| e.judgement.components[2].nll;
    assert!((nll(&evaluation) - nll(&again)).abs() < 1e-4 * (1.0 + nll(&again)));
    // The likelihood of the exported rows by hand.
    let rows = data["x"].as_array().expect("rows");
    let by_hand: f64 = rows
        .iter()
        .zip(data["y"].as_array().expect("classes"))
        .map(|(x, y)| {
            let x = x.as_array().expect("a row").iter().map(|x| x.as_f64().expect("a number"));
            let logit: f64 = alpha + x.zip(&beta).map(|(x, b)| x * b).sum::<f64>();
            let sign = if y == 1 { 1.0 } else { -1.0 };
            (-sign * logit).exp().ln_1p()
        })
        .sum();
    let all = policy::export_head(&checkpoint, names, "port 1", 2, 1).expect("data");
    assert_eq!(all["N"], 1200);
    assert!(by_hand.is_finite() && by_hand <= nll(&evaluation) + 1e-3, "{by_hand}");
    let wrong = policy::with_head(&checkpoint, 2, &json!({"alpha": 0.0, "beta": [1.0]}));
    assert!(wrong.expect_err("one number").to_string().contains("`beta`: expected an array of 24"));
}

#[test]
fn an_answer_takes_effect_after_the_delay() {
    let folder = Folder::new("delay");
    let checkpoint = trained(&folder, 3);
    let mut player = Player::new(&checkpoint, Choice::Greedy, 0).expect("a player");
    let (_, frames) = player.play(&mut StubGame::new(StubSettings::default()), 1).expect("a game");
    // Frame k begins with the controller that was given after frame k - 1: at rest for two frames.
    let controller = |k: usize| frames[k].ports[0].expect("the player").controller;
    assert_eq!(controller(1).stick_x, 0.0);
    assert_eq!(controller(2).stick_x, 0.0);
    assert!((3..20).any(|k| controller(k).stick_x.abs() == 1.0), "the policy never runs");
}
