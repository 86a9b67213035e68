//! Recorded games -> a policy of a drill and one of a human game, judged: record with its figure.
//!
//! The drill is `fox_multishine.slp`, a Fox who presses down and B in a fixed rhythm; the human
//! game is in `human_ranked_game.zip`. Both are trained, evaluated and played in the closed loop by
//! the program `policy`, whose processor time is counted.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::ci::target_folder;
use crate::timed::{Ended, timed};
use crate::{nn, record, replay};

const USAGE: &str = "usage: cargo xtask policy shines --dir REPLAYS [--policy PATH] [--record]";

/// The bars of the drill: nats a frame, shares, processor seconds of training.
const LOSS: f64 = 2e-3;
const SHINES: f64 = 0.95;
const AT_CHANGES: f64 = 0.99;
const SECONDS: f64 = 600.0;

/// Settings of the drill's run, beside the defaults.
const DRILL: [&str; 6] = [
    "data.players=port 1",
    "data.window=64",
    "data.batch=16",
    "optimiser.learning_rate=0.003",
    "steps=10000",
    "log_every=500",
];

/// Settings of the human game's run. The last fifth of its frames is held out, and the run ends
/// when the loss on them no longer falls.
const HUMAN: [&str; 8] = [
    "data.players=port 1",
    "data.window=64",
    "data.batch=16",
    "data.held_out_frames=0.2",
    "steps=1500",
    "evaluate_every=100",
    "patience=8",
    "log_every=500",
];

/// Trains, judges and plays.
///
/// # Errors
/// A program that failed, or a bar that was missed.
pub(crate) fn shines(args: &[&str]) -> Result<(), String> {
    let (mut folder, mut policy, mut is_recorded) = (None, None, false);
    let mut rest = args.iter();
    while let Some(option) = rest.next() {
        let mut path = || rest.next().map(|value| PathBuf::from(*value)).ok_or(USAGE);
        match *option {
            "--dir" => folder = Some(path()?),
            "--policy" => policy = Some(path()?),
            "--record" => is_recorded = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let folder = folder.ok_or(USAGE)?;
    let policy = policy.map_or_else(nn::policy, Ok)?;
    let scratch = target_folder().join("shines");
    let replays = replay::unpacked(&[&folder.to_string_lossy()], &scratch.join("replays"))?;
    let drill = replays.join("0/fox_multishine.slp");
    let human = only_replay(&replays.join("0/human_ranked_game.zip"))?;

    let run = Run { policy: &policy, folder: scratch.join("drill") };
    let drill = run.judged(&drill, &DRILL, "0")?;
    let run = Run { policy: &policy, folder: scratch.join("human") };
    let human = run.judged(&human, &HUMAN, "0.8")?;

    let mut missed = Vec::new();
    let text = text_of(&drill, &human, &mut missed);
    println!("{text}");
    if is_recorded {
        let path = record::path("policy-shines");
        fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
        let figure = path.with_extension("svg");
        let drawn = scratch.join("human/figures/calibration.svg");
        fs::copy(&drawn, &figure).map_err(|e| format!("{}: {e}", drawn.display()))?;
        println!("written to {} and {}", path.display(), figure.display());
    }
    if missed.is_empty() { Ok(()) } else { Err(missed.join("\n")) }
}

/// The replay in a folder of one.
fn only_replay(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let found = paths.find(|path| path.extension().is_some_and(|e| e == "slp"));
    found.ok_or_else(|| format!("{}: no replay in it", folder.display()))
}

/// A run of the program and where it goes.
struct Run<'a> {
    policy: &'a Path,
    folder: PathBuf,
}

/// What came out of a run.
struct Judged {
    settings: String,
    seconds: f64,
    evaluation: Value,
    said: String,
}

impl Run<'_> {
    /// Trains on a replay and judges the frames behind a share of it.
    fn judged(&self, replay: &Path, settings: &[&str], from: &str) -> Result<Judged, String> {
        // What an earlier call left.
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(&self.folder).map_err(|e| format!("{}: {e}", self.folder.display()))?;
        let (run, figures) = (self.folder.join("run"), self.folder.join("figures"));
        let mut train = vec![OsStr::new("train"), replay.as_os_str(), OsStr::new("--out")];
        train.push(run.as_os_str());
        train.extend(settings.iter().flat_map(|change| ["--set", change]).map(OsStr::new));
        let trained = self.timed(&train)?;
        print!("{}", trained.output);
        let file = run.join("policy.safetensors");
        let eval = [
            OsStr::new("eval"),
            file.as_os_str(),
            replay.as_os_str(),
            OsStr::new("--players"),
            OsStr::new("port 1"),
            OsStr::new("--from"),
            OsStr::new(from),
            OsStr::new("--out"),
            figures.as_os_str(),
        ];
        let judged = self.timed(&eval)?;
        let path = figures.join("evaluation.json");
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let evaluation = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        Ok(Judged {
            settings: settings.join("`, `"),
            seconds: trained.cpu,
            evaluation,
            said: judged.output,
        })
    }

    fn timed(&self, args: &[&OsStr]) -> Result<Ended, String> {
        let mut command = vec![self.policy.as_os_str()];
        command.extend(args);
        let ended = timed(&command, &self.folder, 0.0)?;
        if ended.succeeded { Ok(ended) } else { Err(ended.complaint) }
    }
}

impl Judged {
    /// Nats a frame, all components together.
    fn loss(&self) -> f64 {
        let judgement = &self.evaluation["judgement"];
        let parts = judgement["components"].as_array().into_iter().flatten();
        parts.filter_map(|part| part["nll"].as_f64()).sum::<f64>() / number(&judgement["frames"])
    }

    /// All components right where any changes: how often, of how many.
    fn at_changes(&self) -> (f64, f64) {
        let count = &self.evaluation["judgement"]["whole_at_changes"];
        (number(&count["policy"]), number(&count["of"]))
    }

    /// Mean over components of the share right where any component changes: of the policy, and of
    /// repeating the last input.
    fn each_at_changes(&self) -> (f64, f64) {
        let parts = self.evaluation["judgement"]["components"].as_array();
        let counts: Vec<&Value> =
            parts.into_iter().flatten().map(|part| &part["any_change"]).collect();
        let share = |who: &str| {
            let shares = counts.iter().map(|count| number(&count[who]) / number(&count["of"]));
            shares.sum::<f64>() / counts.len() as f64
        };
        (share("policy"), share("repeat"))
    }

    /// Presses of a button in the closed loop: those within a frame, those recorded, those pressed.
    fn presses(&self, button: &str) -> (f64, f64, f64) {
        let all = self.evaluation["onsets"].as_array();
        let onsets = all.into_iter().flatten().find(|onsets| onsets["button"] == button);
        onsets.map_or((0.0, 0.0, 0.0), |onsets| {
            let count = |what: &str| number(&onsets[what]);
            (count("matched"), count("recorded"), count("pressed"))
        })
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn text_of(drill: &Judged, human: &Judged, missed: &mut Vec<String>) -> String {
    let mut text = format!(
        "# Policies of recorded games\n\n{}\n{}\n\nCommand: `cargo xtask policy shines --dir REPLAYS --record`: `policy train` \
         and `policy eval` on each replay. Seconds are processor seconds of the whole training.\n\n## The drill \
         (fox_multishine.slp)\n\nSettings: `{}`. Judged on the frames of the drill itself, as the bars are about learning it. A \
         shine is a press of B; in the closed loop the policy sees the recorded positions and its own inputs.\n\n| what | seen | \
         bar |\n|---|---|---|\n",
        record::machine(),
        record::load(),
        drill.settings
    );
    let (right, changes) = drill.at_changes();
    let (matched, recorded, pressed) = drill.presses("B");
    let mut row = |what: &str, seen: String, is_met: bool, bar: String| {
        let seen = if is_met { seen } else { format!("**{seen}**") };
        let _ = writeln!(text, "| {what} | {seen} | {bar} |");
        if !is_met {
            missed.push(format!("{what}: {seen}, the bar is {bar}"));
        }
    };
    let loss = drill.loss();
    row("loss, nats a frame", format!("{loss:.2e}"), loss <= LOSS, format!("<= {LOSS:.0e}"));
    let seconds = drill.seconds;
    row("training, s", format!("{seconds:.0}"), seconds <= SECONDS, format!("<= {SECONDS}"));
    let seen = format!("{matched} of {recorded} ({pressed} pressed)");
    let is_met = matched >= SHINES * recorded;
    row("shines within a frame, closed loop", seen, is_met, format!(">= {SHINES}"));
    let seen = format!("{right} of {changes}");
    let is_met = right >= AT_CHANGES * changes;
    row("all components right where any changes", seen, is_met, format!(">= {AT_CHANGES}"));
    let (right, changes) = human.at_changes();
    let (policy, repeat) = human.each_at_changes();
    let is_met = policy > repeat && right > 0.0;
    let _ = write!(
        text,
        "\n## The human game (human_ranked_game.zip)\n\nSettings: `{}`; trained in {:.0} s. Judged on the last fifth of its frames, \
         which training did not see. Where any component changes, all components are right in {right} of {changes} frames \
         (repeating the last input: in none, by what a change is), and a component is right in {:.2} % of them, repeating in \
         {:.2} % (mean over the 13). Its calibration is the figure beside this file.\n\n```\n{}```\n",
        human.settings,
        human.seconds,
        100.0 * policy,
        100.0 * repeat,
        human.said
    );
    if !is_met {
        missed.push(format!("human game: {policy:.4} right at changes, repeating {repeat:.4}"));
    }
    text
}
