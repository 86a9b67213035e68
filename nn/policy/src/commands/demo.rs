//! `policy demo`: nothing -> replays of the stub game, a policy, its judgement, its play, figures.

use std::path::{Path, PathBuf};

use clap::Args;
use policy::{Choice, Error, EvaluateSettings, Player, Replays, TrainConfig};

use super::{judge, open, play, say, train};

/// Shows everything on replays that it makes itself, in about a minute.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Directory for replays, the run and the figures; it must not hold a demo yet.
    #[arg(long, default_value = "policy-demo")]
    out: PathBuf,
    /// Games that are recorded for training.
    #[arg(long, default_value_t = 32)]
    games: u64,
    /// Steps of training.
    #[arg(long, default_value_t = 3000)]
    steps: u64,
}

/// Share of the frames in which the hand slips.
const SLIPS: f64 = 0.2;

/// Writes games that the expert plays.
fn write_games(folder: &Path, seeds: std::ops::Range<u64>, slips: f64) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|e| Error::unwritable(folder, &e))?;
    for seed in seeds {
        let path = folder.join(format!("game-{seed}.slp"));
        std::fs::write(&path, policy::demonstration(seed, slips)?)
            .map_err(|e| Error::unwritable(&path, &e))?;
    }
    Ok(())
}

impl Demo {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let (training, judged) = (self.out.join("replays"), self.out.join("judged"));
        let run = self.out.join("run");
        if run.exists() {
            return Err(Error::usage(format!("`{}` holds a demo already", self.out.display()))
                .hint("choose another `--out`"));
        }
        write_games(&training, 0..self.games, SLIPS)?;
        write_games(&judged, 1000..1004, 0.0)?;
        say(&format!("{} replays in {}", self.games, training.display()));
        let mut config = TrainConfig::default();
        config.data.paths = vec![training];
        config.steps = self.steps;
        policy::DEMONSTRATION_SCHEMA.clone_into(&mut config.network.schema);
        let changes = [
            "data.players=port 1",
            "data.held_out_frames=0.1",
            "data.batch=16",
            "network.backbone.hidden=64",
            "network.heads.residual=32",
            "optimiser.learning_rate=0.005",
            "optimiser.average=0.95",
            "log_every=100",
        ];
        let config = config.with(&changes.map(str::to_owned))?;
        let trained = policy::train(&config, &run, &mut train::show)?;
        say(&format!("policy: {}", trained.policy.display()));
        let checkpoint = open(&trained.policy)?;
        let replays = Replays::find(&[judged])?;
        let mut settings = EvaluateSettings::default();
        "port 1".clone_into(&mut settings.players);
        let evaluation = policy::evaluate(&checkpoint, replays.names(), &settings)?;
        judge::show(&evaluation);
        let mut player = Player::new(&checkpoint, Choice::Greedy, 0)?;
        let (made, possible) = play::crossings(&mut player, 20, 2000)?;
        say(&format!("20 games of the stub game: {made} crossings of at most {possible}"));
        let figures = self.out.join("figures");
        judge::write_evaluation(&evaluation, &figures)?;
        let rows = policy::read_metrics(&run)?;
        judge::write(&figures.join("training.svg"), &policy::training_chart(&rows).svg())?;
        say(&format!("figures: {}", figures.display()));
        Ok(())
    }
}
