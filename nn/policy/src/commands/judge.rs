//! `policy eval`, `plot` and `info`: a policy's file, replays, a run -> tables and figures.

use std::path::{Path, PathBuf};

use clap::Args;
use policy::{Chart, Error, EvaluateSettings, Evaluation, Replays};

use super::{open, say};

/// Judges a policy on replays.
#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// The policy's file.
    policy: PathBuf,
    /// Replays and folders of these.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Whose inputs: `all`, `port N` or `character N`.
    #[arg(long, default_value = "all")]
    players: String,
    /// Share of each game's frames that are only seen; those behind are judged.
    #[arg(long, default_value_t = 0.0)]
    from: f64,
    /// Directory for the figures and the numbers (JSON).
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Draws the loss of a run.
#[derive(Debug, Args)]
pub(crate) struct Plot {
    /// Directory of the run.
    directory: PathBuf,
    /// The figure's file (DIRECTORY/training.svg).
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Says what a policy's file holds.
#[derive(Debug, Args)]
pub(crate) struct Info {
    /// The policy's file.
    policy: PathBuf,
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|e| Error::unwritable(path, &e))
}

/// Writes figures and numbers of an evaluation into a directory.
pub(crate) fn write_evaluation(evaluation: &Evaluation, out: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(out).map_err(|e| Error::unwritable(out, &e))?;
    let judgement = &evaluation.judgement;
    let charts: [(&str, Chart); 3] = [
        ("accuracy.svg", policy::accuracy_chart(judgement)),
        ("calibration.svg", policy::calibration_chart(judgement)),
        ("offsets.svg", policy::offset_chart(judgement)),
    ];
    for (name, chart) in charts {
        write(&out.join(name), &chart.svg())?;
    }
    let text = serde_json::to_string_pretty(evaluation)
        .map_err(|e| Error::internal(format!("the numbers: {e}")))?;
    write(&out.join("evaluation.json"), &(text + "\n"))
}

/// Says an evaluation as a table.
pub(crate) fn show(evaluation: &Evaluation) {
    let judgement = &evaluation.judgement;
    say(&format!("{} frames of {} replays", judgement.frames, evaluation.replays));
    for (name, why) in &evaluation.refused {
        say(&format!("left out: `{name}`: {why}"));
    }
    say("                          all frames        any change        own changes   calibration");
    say("component       nll     policy  repeat    policy  repeat    policy      of        error");
    for score in &judgement.components {
        let share = |(policy, repeat): (f64, f64)| format!("{policy:>7.4} {repeat:>7.4}");
        let policy_share = match score.changes.of {
            0 => "-".to_owned(),
            _ => format!("{:.4}", score.changes.shares().0),
        };
        say(&format!(
            "{:<10} {:>8.5}   {}   {}   {:>7} {:>7}      {:>7.5}",
            score.name,
            score.nll / judgement.frames as f64,
            share(score.frames.shares()),
            share(score.any_change.shares()),
            policy_share,
            score.changes.of,
            score.calibration_error(),
        ));
    }
    let (all, all_repeat) = judgement.whole.shares();
    let (changed, changed_repeat) = judgement.whole_at_changes.shares();
    say(&format!("loss {:.6} nats a frame, all components together", judgement.nll()));
    say(&format!("all components right: {all:.4} (repeating {all_repeat:.4})"));
    say(&format!(
        "all components right where any changes: {changed:.4} (repeating {changed_repeat:.4})"
    ));
    match judgement.best_offset() {
        Some(best) if best != judgement.delay => say(&format!(
            "warning: actions fit best at offset {best}, but the delay is {}",
            judgement.delay
        )),
        Some(best) => say(&format!("actions fit best at offset {best}, the policy's delay")),
        None => {}
    }
    for onsets in evaluation.onsets.iter().filter(|onsets| onsets.recorded > 0) {
        say(&format!(
            "closed loop, presses of {}: {} of {} within a frame ({} pressed)",
            onsets.button, onsets.matched, onsets.recorded, onsets.pressed
        ));
    }
}

impl Eval {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let checkpoint = open(&self.policy)?;
        if !(0.0..1.0).contains(&self.from) {
            let message = format!("`--from` is {}; expected a share from 0 to below 1", self.from);
            return Err(Error::usage(message));
        }
        let replays = Replays::find(&self.paths)?;
        let mut settings = EvaluateSettings::default();
        settings.players.clone_from(&self.players);
        settings.from = self.from;
        let evaluation = policy::evaluate(&checkpoint, replays.names(), &settings)?;
        show(&evaluation);
        match &self.out {
            Some(out) => write_evaluation(&evaluation, out),
            None => Ok(()),
        }
    }
}

impl Plot {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let rows = policy::read_metrics(&self.directory)?;
        let out = self.out.clone().unwrap_or_else(|| self.directory.join("training.svg"));
        write(&out, &policy::training_chart(&rows).svg())?;
        say(&format!("figure: {}", out.display()));
        Ok(())
    }
}

impl Info {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let checkpoint = open(&self.policy)?;
        let contract = checkpoint.contract();
        let architecture = serde_json::to_string(&contract.architecture)
            .map_err(|e| Error::internal(format!("the architecture: {e}")))?;
        say(&format!("architecture  {architecture}"));
        say(&format!("parameters    {}", contract.parameters()?));
        let width = contract.features()?.width();
        say(&format!("features      {width} numbers, schema {}", contract.schema_hash));
        let classes = contract.classes;
        say(&format!("classes       {} an axis, {} the trigger", classes.axis, classes.trigger));
        say(&format!("delay         {} frames", contract.delay));
        say(&format!("step          {}", contract.step));
        say(&format!("build         {}", contract.build));
        Ok(())
    }
}
