//! `policy export-head`: a policy and replays -> data of a Stan program; draws -> the policy again.

use std::path::PathBuf;

use clap::Args;
use policy::{Error, Replays, component_of};

use super::judge::write;
use super::{open, read_text, say};

/// Writes what a component's last layer sees as Stan data, or puts sampled weights back.
#[derive(Debug, Args)]
pub(crate) struct ExportHead {
    /// The policy's file.
    policy: PathBuf,
    /// Replays and folders of these; none with `--apply`.
    #[arg(required_unless_present = "apply")]
    paths: Vec<PathBuf>,
    /// The component: A, B, X, Y, Z, L, R, D_UP, stick_x, stick_y, c_stick_x, c_stick_y, trigger.
    #[arg(long)]
    component: String,
    /// Whose inputs: `all`, `port N` or `character N`.
    #[arg(long, default_value = "all")]
    players: String,
    /// Takes every so many-th frame.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// JSON with `alpha` and `beta`, such as posterior means: writes the policy with that layer.
    #[arg(long)]
    apply: Option<PathBuf>,
    /// The file that is written.
    #[arg(long)]
    out: PathBuf,
}

impl ExportHead {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let checkpoint = open(&self.policy)?;
        let component = component_of(&self.component)?;
        if let Some(path) = &self.apply {
            let values = serde_json::from_str(&read_text(path)?)
                .map_err(|e| Error::data(format!("`{}`: {e}", path.display())))?;
            let changed = policy::with_head(&checkpoint, component, &values)?;
            std::fs::write(&self.out, changed.write())
                .map_err(|e| Error::unwritable(&self.out, &e))?;
            say(&format!("policy: {}", self.out.display()));
            return Ok(());
        }
        let replays = Replays::find(&self.paths)?;
        let (names, players) = (replays.names(), self.players.as_str());
        let data = policy::export_head(&checkpoint, names, players, component, self.every)?;
        write(&self.out, &data.to_string())?;
        say(&format!(
            "data: {} ({} frames of {} numbers)",
            self.out.display(),
            data["N"],
            data["K"]
        ));
        Ok(())
    }
}
