//! The program `policy` under bad luck: kills and damaged files -> whether it goes on to equal
//! bits, and whether it ever panics; records of both.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::damage::{Random, damaged};
use crate::{nn, record, shines};

const USAGE: &str =
    "usage: cargo xtask policy kill|damage|shines [--count N] [--dir REPLAYS] [--policy PATH]";

/// Kills of a campaign, and damaged replays of one; it has a third as many checkpoints and states.
const KILLS: usize = 40;
const DAMAGED: usize = 3000;

/// Backbones whose runs are killed.
const BACKBONES: [&str; 5] = ["mlp", "gru", "lstm", "attention", "selective_scan"];

struct Settings {
    count: Option<usize>,
    replays: Option<PathBuf>,
    policy: PathBuf,
}

fn settings(args: &[&str]) -> Result<Settings, String> {
    let (mut count, mut replays, mut policy) = (None, None, None);
    let mut rest = args.iter();
    while let Some(option) = rest.next() {
        let value = rest.next().ok_or(USAGE)?;
        let path = || fs::canonicalize(value).map_err(|e| format!("{value}: {e}"));
        match *option {
            "--count" => count = Some(value.parse().map_err(|e| format!("--count {value}: {e}"))?),
            "--dir" => replays = Some(path()?),
            "--policy" => policy = Some(path()?),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let policy = policy.map_or_else(nn::policy, Ok)?;
    Ok(Settings { count, replays, policy })
}

/// `kill`, `damage` and `shines`.
///
/// # Errors
/// When building fails, and what did not go as it should.
pub(crate) fn policy(args: &[&str]) -> Result<(), String> {
    match args {
        ["kill", rest @ ..] => kill(&settings(rest)?),
        ["damage", rest @ ..] => damage(&settings(rest)?),
        ["shines", rest @ ..] => shines::shines(rest),
        _ => Err(USAGE.to_owned()),
    }
}

/// A folder of a campaign, kept when something is wrong.
fn scratch(name: &str) -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("policy-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Runs the program to its end, which must be a success.
fn complete(policy: &Path, args: &[&str]) -> Result<Output, String> {
    let output = Command::new(policy).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("{}: {e}", policy.display()))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("policy {} ended with {}: {said}", args.join(" "), output.status))
}

/// Replays of the stub game, and a policy that was trained on them for some steps.
fn demonstration(policy: &Path, folder: &Path) -> Result<PathBuf, String> {
    let demo = folder.join("demo");
    complete(policy, &["demo", "--out", &text(&demo), "--games", "2", "--steps", "40"])?;
    Ok(demo)
}

/// Kills runs of `policy train` and `policy resume` with SIGKILL at random moments; the policy, the
/// state and the metrics of each must in the end be those of a run that was left alone.
fn kill(settings: &Settings) -> Result<(), String> {
    let policy = &settings.policy;
    let kills = settings.count.unwrap_or(KILLS);
    let folder = scratch("kill")?;
    let replays = text(&demonstration(policy, &folder)?.join("replays"));
    let mut table = String::from(
        "| backbone | kills | before the first state | went on | after the end |\n|---|---|---|---|---|\n",
    );
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut total = 0;
    for (k, backbone) in BACKBONES.iter().enumerate() {
        let share = kills / BACKBONES.len() + usize::from(k < kills % BACKBONES.len());
        if share == 0 {
            continue;
        }
        let changes = [
            format!("network.backbone={backbone}"),
            "network.backbone.hidden=24".to_owned(),
            "data.players=port 1".to_owned(),
            "data.window=16".to_owned(),
            "data.batch=8".to_owned(),
            "data.held_out_frames=0.1".to_owned(),
            "optimiser.accumulate=2".to_owned(),
            "steps=120".to_owned(),
            "evaluate_every=25".to_owned(),
            "save_every=3".to_owned(),
            "log_every=5".to_owned(),
        ];
        let train = |out: &Path| {
            let mut args = vec!["train".to_owned(), replays.clone(), "--out".to_owned(), text(out)];
            args.extend(changes.iter().flat_map(|c| ["--set".to_owned(), c.clone()]));
            args
        };
        let uncut = folder.join(format!("{backbone}-whole"));
        let began = Instant::now();
        let args = train(&uncut);
        complete(policy, &args.iter().map(String::as_str).collect::<Vec<_>>())?;
        let time = began.elapsed();
        let (mut killed, mut anew, mut on, mut ended) = (0, 0, 0, 0);
        while killed < share {
            let cut = folder.join(format!("{backbone}-cut"));
            let _ = fs::remove_dir_all(&cut);
            // A run is killed up to three times, so its parts are on average a third of it long.
            for _ in 0..3.min(share - killed) {
                let has_state = cut.join("state.safetensors").exists();
                let args = match has_state {
                    true => vec!["resume".to_owned(), text(&cut)],
                    false => {
                        let _ = fs::remove_dir_all(&cut);
                        train(&cut)
                    }
                };
                let child = Command::new(policy)
                    .args(&args)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn();
                let mut child = child.map_err(|e| format!("{}: {e}", policy.display()))?;
                std::thread::sleep(time.mul_f64(0.7 * random.below(10_000) as f64 / 1e4));
                ended += usize::from(child.try_wait().map_err(|e| e.to_string())?.is_some());
                child.kill().map_err(|e| e.to_string())?;
                child.wait().map_err(|e| e.to_string())?;
                killed += 1;
                match cut.join("state.safetensors").exists() {
                    true => on += 1,
                    false => anew += 1,
                }
                let written = cut.join("policy.safetensors");
                if written.exists() {
                    complete(policy, &["info", &text(&written)])?;
                }
            }
            match cut.join("state.safetensors").exists() {
                true => complete(policy, &["resume", &text(&cut)])?,
                false => {
                    let _ = fs::remove_dir_all(&cut);
                    let args = train(&cut);
                    complete(policy, &args.iter().map(String::as_str).collect::<Vec<_>>())?
                }
            };
            same(&uncut, &cut)?;
        }
        println!("{backbone}: {killed} kills");
        let _ = writeln!(table, "| {backbone} | {killed} | {anew} | {on} | {ended} |");
        total += killed;
    }
    let text = format!(
        "# Training that is killed\n\n{}\n\nCommand: `cargo xtask policy kill --count {kills}`. `policy train` and `policy resume` \
         get SIGKILL at random moments, up to three times a run; in the end the policy file is byte for byte that of a run \
         that was left alone, so are settings, progress, weights and averages of the state, and the metrics are equal but for \
         their seconds. {total} kills, no difference.\n\n{table}",
        record::machine()
    );
    println!("{table}\n{total} kills, no difference");
    save("policy-kill", &text)?;
    fs::remove_dir_all(&folder).map_err(|e| e.to_string())
}

/// Files of two runs are equal, metrics but for their seconds.
fn same(uncut: &Path, cut: &Path) -> Result<(), String> {
    let read = |path: PathBuf| fs::read(&path).map_err(|e| format!("{}: {e}", path.display()));
    if read(uncut.join("policy.safetensors"))? != read(cut.join("policy.safetensors"))? {
        return Err(format!("{}: the policy is not that of the whole run", cut.display()));
    }
    let state = |folder: &Path| arrays(&read(folder.join("state.safetensors"))?);
    let (whole_state, cut_state) = (state(uncut)?, state(cut)?);
    if whole_state != cut_state {
        return Err(format!("{}: the state is not that of the whole run", cut.display()));
    }
    let metrics = |folder: &Path| -> Result<Vec<serde_json::Value>, String> {
        let text = String::from_utf8_lossy(&read(folder.join("metrics.jsonl"))?).into_owned();
        let parse = |line: &str| {
            let mut row: serde_json::Value =
                serde_json::from_str(line).map_err(|e| format!("{}: {e}", folder.display()))?;
            row.as_object_mut().map(|row| row.remove("seconds"));
            Ok(row)
        };
        text.lines().map(parse).collect()
    };
    if metrics(uncut)? != metrics(cut)? {
        return Err(format!("{}: the metrics are not those of the whole run", cut.display()));
    }
    Ok(())
}

/// Settings, progress, weights and their average of a state by name. The optimiser numbers its
/// parameters anew when it is read, so its bytes may lie in another order; what it holds shows in
/// the weights.
fn arrays(state: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let damaged = || "a state is damaged".to_owned();
    let length = state.first_chunk::<8>().ok_or_else(damaged)?;
    let begin = 8 + u64::from_le_bytes(*length) as usize;
    let header = state.get(8..begin).ok_or_else(damaged)?;
    let header: serde_json::Value = serde_json::from_slice(header).map_err(|e| e.to_string())?;
    let mut arrays = BTreeMap::new();
    for (name, entry) in header.as_object().ok_or_else(damaged)? {
        let offset = |k: usize| entry["data_offsets"][k].as_u64().map(|n| begin + n as usize);
        match (offset(0), offset(1)) {
            _ if name == "optimiser" => {}
            (Some(from), Some(to)) => {
                arrays.insert(name.clone(), state.get(from..to).ok_or_else(damaged)?.to_vec());
            }
            _ => drop(arrays.insert(name.clone(), entry.to_string().into_bytes())),
        }
    }
    Ok(arrays)
}

/// What the program made of damaged files of a kind.
#[derive(Default)]
struct Seen {
    read: usize,
    refused: usize,
    stopped: usize,
}

/// Gives the program damaged replays, checkpoints and states, one process for each. It must end
/// with success or with an error of its own.
fn damage(settings: &Settings) -> Result<(), String> {
    let policy = &settings.policy;
    let count = settings.count.unwrap_or(DAMAGED);
    let folder = scratch("damage")?;
    let demo = demonstration(policy, &folder)?;
    let run = demo.join("run");
    let checkpoint = text(&run.join("policy.safetensors"));
    let mut replays = files(&demo.join("replays"))?;
    if let Some(real) = &settings.replays {
        replays.extend(files(real)?);
    }
    let one = |name: &str| -> Result<Vec<Vec<u8>>, String> {
        let other = folder.join("other");
        let _ = fs::remove_dir_all(&other);
        let games = text(&demo.join("replays"));
        let mut args = vec!["train", &games, "--out"];
        let out = text(&other);
        let changes = ["network.backbone=lstm", "network.backbone.hidden=16", "steps=2"];
        args.push(&out);
        args.extend(changes.iter().flat_map(|change| ["--set", change]));
        complete(policy, &args)?;
        let read = |path: PathBuf| fs::read(&path).map_err(|e| format!("{}: {e}", path.display()));
        Ok(vec![read(run.join(name))?, read(other.join(name))?])
    };
    let sources = [
        ("replays", replays, count, "game.slp"),
        ("checkpoints", one("policy.safetensors")?, count / 3, "policy.safetensors"),
        ("states", one("state.safetensors")?, count / 3, "state.safetensors"),
    ];
    let mut random = Random(2026);
    let mut table =
        String::from("| files | damaged | read | refused | stopped |\n|---|---|---|---|---|\n");
    for (kind, files, count, name) in &sources {
        let place = folder.join(kind);
        fs::create_dir_all(&place).map_err(|e| e.to_string())?;
        let path = place.join(name);
        let mut seen = Seen::default();
        for number in 0..*count {
            let bytes = damaged(files, number, HEAD, &mut random);
            fs::write(&path, &bytes).map_err(|e| e.to_string())?;
            let (file, run) = (text(&path), text(&place));
            let args = match *kind {
                "replays" => vec!["eval", &checkpoint, &file],
                "checkpoints" => vec!["bench", &file, "--actions", "3"],
                _ => vec!["resume", &run],
            };
            bear(policy, &args, &mut seen)?;
        }
        println!("{kind}: {count}, read {}, refused {}", seen.read, seen.refused);
        let Seen { read, refused, stopped } = seen;
        let _ = writeln!(table, "| {kind} | {count} | {read} | {refused} | {stopped} |");
    }
    let real = if settings.replays.is_some() { " and recorded games" } else { "" };
    let text = format!(
        "# Damaged files\n\n{}\n\nCommand: `cargo xtask policy damage --count {count} [--dir REPLAYS]`. Replays of the stub \
         game{real}, checkpoints and states of runs, cut off, with flipped bits, changed, lost and repeated bytes, damaged heads \
         and the heads of other files; one process for each file: `policy eval`, `policy bench`, `policy resume`. No process \
         panicked or was ended by a signal: each read the file (of a damaged replay the frames before the damage) or refused \
         it with an error. `stopped`: runs that damaged settings made long, which were stopped after {} s.\n\n{table}",
        record::machine(),
        LONGEST.as_secs()
    );
    println!("{table}");
    save("policy-damage", &text)?;
    fs::remove_dir_all(&folder).map_err(|e| e.to_string())
}

/// Bytes of a file where its sizes, lengths and settings are.
const HEAD: usize = 4000;

/// How long a process may take.
const LONGEST: Duration = Duration::from_secs(20);

/// Runs the program, which must succeed or refuse.
fn bear(policy: &Path, args: &[&str], seen: &mut Seen) -> Result<(), String> {
    let child = Command::new(policy)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|e| format!("{}: {e}", policy.display()))?;
    let began = Instant::now();
    while child.try_wait().map_err(|e| e.to_string())?.is_none() {
        if began.elapsed() > LONGEST {
            child.kill().map_err(|e| e.to_string())?;
            child.wait().map_err(|e| e.to_string())?;
            seen.stopped += 1;
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => seen.read += 1,
        Some(1 | 2 | 4) if said.starts_with("error: ") && !said.contains("panicked") => {
            seen.refused += 1;
        }
        _ => {
            return Err(format!("policy {} ended with {}: {said}", args.join(" "), output.status));
        }
    }
    Ok(())
}

/// The replays in a folder.
fn files(folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "slp"));
    paths.sort();
    paths.iter().map(|p| fs::read(p).map_err(|e| format!("{}: {e}", p.display()))).collect()
}

fn save(what: &str, text: &str) -> Result<(), String> {
    let path = record::path(what);
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}
