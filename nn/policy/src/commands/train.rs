//! `policy train` and `policy resume`: settings, replays and a directory -> a run.

use std::path::PathBuf;

use clap::Args;
use policy::{Error, Row, TrainConfig, Trained};

use super::{read_text, say};

/// Trains a policy on replays.
#[derive(Debug, Args)]
pub(crate) struct Train {
    /// Replays (.slp), archives (.zip, .gz), and folders of these; they replace those of the
    /// settings.
    paths: Vec<PathBuf>,
    /// Directory of the run, which must not hold one yet.
    #[arg(long, required_unless_present = "print_config")]
    out: Option<PathBuf>,
    /// File of settings (JSON).
    #[arg(long)]
    config: Option<PathBuf>,
    /// Changes one setting, such as `--set network.backbone=lstm`; may be given again.
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Prints the settings with their defaults and ends.
    #[arg(long)]
    print_config: bool,
}

/// Goes on with a run that was stopped or killed.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// Directory of the run.
    directory: PathBuf,
}

impl Train {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let mut config = match &self.config {
            Some(path) => TrainConfig::parse(&read_text(path)?)
                .map_err(|e| e.context(format!("`{}`", path.display())))?,
            None => TrainConfig::default(),
        };
        if !self.paths.is_empty() {
            config.data.paths.clone_from(&self.paths);
        }
        let config = config.with(&self.set)?;
        config.check()?;
        let Some(out) = self.out.as_ref().filter(|_| !self.print_config) else {
            let text = serde_json::to_string_pretty(&config)
                .map_err(|e| Error::internal(format!("the settings: {e}")))?;
            say(&text);
            return Ok(());
        };
        let trained = policy::train(&config, out, &mut show)?;
        conclude(&trained);
        Ok(())
    }
}

impl Resume {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let trained = policy::resume(&self.directory, &mut show)?;
        conclude(&trained);
        Ok(())
    }
}

/// Says a line of metrics.
pub(crate) fn show(row: &Row) {
    let kind = if row.kind == "held_out" { "held out" } else { "training" };
    let mut line = format!("step {:>6}  {kind}  loss {:.5}", row.step, row.loss);
    if row.penalty != 0.0 {
        line += &format!("  penalty {:.5}", row.penalty);
    }
    say(&format!("{line}  {:.1} s", row.seconds));
}

fn conclude(trained: &Trained) {
    for (name, why) in &trained.refused {
        say(&format!("left out: `{name}`: {why}"));
    }
    if let Some((loss, step)) = trained.progress.best {
        say(&format!("best held-out loss {loss:.5} after step {step}"));
    }
    if trained.each_step > 0.0 {
        let (first, each) = (1e3 * trained.first_step, 1e3 * trained.each_step);
        say(&format!("first step {first:.0} ms, then {each:.1} ms each"));
    }
    say(&format!("policy: {}", trained.policy.display()));
}
