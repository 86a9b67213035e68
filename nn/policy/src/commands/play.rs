//! `policy rollout`, `play` and `bench`: a policy's file -> games, and times of single actions.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, stdin, stdout};
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use environment::{Bridge, Environment, Expert, StubGame, StubSettings, optimal_crossings};
use policy::{Choice, Error, Player};

use super::{open, say};

/// Plays the stub game, whose optimum is known.
#[derive(Debug, Args)]
pub(crate) struct Rollout {
    /// The policy's file.
    policy: PathBuf,
    /// Games.
    #[arg(long, default_value_t = 20)]
    games: u64,
    /// Seed of the first game; the next ones follow.
    #[arg(long, default_value_t = 1000)]
    seed: u64,
    /// Draws actions at this temperature; without it, the likeliest are taken.
    #[arg(long)]
    temperature: Option<f64>,
}

/// Plays a game of another program by lines of JSON (see docs/bridge-protocol.md).
#[derive(Debug, Args)]
pub(crate) struct Play {
    /// The policy's file.
    policy: PathBuf,
    /// Named pipe with the bridge's messages; without it, standard input.
    #[arg(long)]
    input: Option<PathBuf>,
    /// Named pipe for the policy's messages; without it, standard output.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Games.
    #[arg(long, default_value_t = 1)]
    games: u64,
    /// Seed of the first game; the next ones follow.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Draws actions at this temperature; without it, the likeliest are taken.
    #[arg(long)]
    temperature: Option<f64>,
}

/// Measures how long single actions take.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// The policy's file.
    policy: PathBuf,
    /// Actions.
    #[arg(long, default_value_t = 20_000)]
    actions: usize,
}

fn choice(temperature: Option<f64>) -> Choice {
    temperature.map_or(Choice::Greedy, Choice::Draw)
}

/// Crossings of a policy and those of the best one, over games.
pub(crate) fn crossings(player: &mut Player, games: u64, seed: u64) -> Result<(f64, f64), Error> {
    let settings = StubSettings::default();
    let (mut made, mut possible) = (0.0, 0.0);
    for seed in seed..seed + games {
        let mut game = StubGame::new(settings);
        game.reset(seed)?;
        let (x, side) = game.position();
        possible += f64::from(optimal_crossings(&settings, x, side, settings.frames));
        made += player.play(&mut game, seed)?.0;
    }
    Ok((made, possible))
}

impl Rollout {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let checkpoint = open(&self.policy)?;
        let mut player = Player::new(&checkpoint, choice(self.temperature), self.seed)?;
        let (made, possible) = crossings(&mut player, self.games, self.seed)?;
        say(&format!(
            "{} games: {made} crossings of at most {possible} ({:.1} %)",
            self.games,
            100.0 * made / possible
        ));
        Ok(())
    }
}

impl Play {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let checkpoint = open(&self.policy)?;
        let mut player = Player::new(&checkpoint, choice(self.temperature), self.seed)?;
        let input: Box<dyn std::io::Read> = match &self.input {
            Some(path) => Box::new(File::open(path).map_err(|e| Error::unreadable(path, &e))?),
            None => Box::new(stdin()),
        };
        let output: Box<dyn std::io::Write> = match &self.output {
            Some(path) => {
                let file = OpenOptions::new().write(true).open(path);
                Box::new(file.map_err(|e| Error::unwritable(path, &e))?)
            }
            None => Box::new(stdout()),
        };
        let mut bridge = Bridge::open(BufReader::new(input), output)?;
        for seed in self.seed..self.seed + self.games {
            let (reward, frames) = player.play(&mut bridge, seed)?;
            // Standard output may carry the protocol.
            super::note(&format!("game {seed}: {} frames, reward {reward}", frames.len()));
        }
        Ok(bridge.close()?)
    }
}

impl Bench {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let checkpoint = open(&self.policy)?;
        let mut player = Player::new(&checkpoint, Choice::Greedy, 0)?;
        let settings = StubSettings::default();
        let (mut game, expert) = (StubGame::new(settings), Expert::new(settings));
        let view = game.view();
        let mut step = game.reset(0)?;
        let mut seconds = Vec::with_capacity(self.actions);
        for number in 0..self.actions.max(1) {
            if step.is_done {
                player.reset();
                step = game.reset(number as u64)?;
            }
            let started = Instant::now();
            player.act(&step.state, view)?;
            seconds.push(started.elapsed().as_secs_f64());
            step = game.step(&expert.controller(&step.state))?;
        }
        seconds.sort_by(f64::total_cmp);
        let quantile =
            |share: f64| 1e6 * seconds[((seconds.len() - 1) as f64 * share).round() as usize];
        say(&format!(
            "{} actions (features, network, choice), microseconds: least {:.1}, median {:.1}, \
             99 % {:.1}, 99.9 % {:.1}",
            seconds.len(),
            quantile(0.0),
            quantile(0.5),
            quantile(0.99),
            quantile(0.999)
        ));
        Ok(())
    }
}
