//! A checkout of stan-dev/example-models -> how many of its programs compile, with their data where they have some.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exmc::StanProgram;
use exmc_stan::typed::StatementKind;

use crate::archive::read_text;

/// What happened to one program.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its path in the checkout.
    pub path: PathBuf,
    /// Whether it has a model block with statements.
    pub has_model: bool,
    /// Whether it has data of its own.
    pub has_data: bool,
    /// How far it came.
    pub outcome: Outcome,
    /// Time from text to density.
    pub time: Duration,
}

/// How far a program came.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Not accepted by the parser or the checker.
    Rejected(String),
    /// Its data cannot be read, or do not fit.
    BadData(String),
    /// It cannot be lowered or compiled.
    NotCompiled(String),
    /// It compiled, and its density is finite at some of 20 points (or at none).
    Compiled(bool),
    /// It was accepted; there are no data to compile it with.
    Accepted,
}

/// All programs of the checkout, by path.
pub fn programs(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let wrong = |e: std::io::Error| format!("cannot read `{}`: {e}", folder.display());
        for entry in fs::read_dir(&folder).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "stan") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Where a program's data may be: beside it under its own name, or the only data of its folder.
fn data_of(program: &Path) -> Option<PathBuf> {
    let own = program.with_extension("data.json");
    if own.exists() {
        return Some(own);
    }
    let folder = fs::read_dir(program.parent()?).ok()?;
    let is_data = |p: &PathBuf| p.to_string_lossy().ends_with(".data.json");
    let mut all: Vec<PathBuf> = folder.flatten().map(|e| e.path()).filter(is_data).collect();
    all.sort();
    // Variants of a model share the data whose name begins as theirs.
    let stem = program.file_stem()?.to_string_lossy().into_owned();
    let shared = |p: &&PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let base = name.trim_end_matches(".data.json");
        stem.starts_with(base)
    };
    all.iter().filter(shared).max_by_key(|p| p.as_os_str().len()).cloned().or_else(|| {
        match all.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        }
    })
}

/// Runs one program.
pub fn run(path: &Path) -> Row {
    let began = Instant::now();
    let mut row = Row {
        path: path.to_owned(),
        has_model: true,
        has_data: false,
        outcome: Outcome::Accepted,
        time: Duration::ZERO,
    };
    row.outcome = outcome(path, &mut row).unwrap_or_else(|outcome| outcome);
    row.time = began.elapsed();
    row
}

fn outcome(path: &Path, row: &mut Row) -> Result<Outcome, Outcome> {
    let line = |error: &dyn std::fmt::Display| {
        error.to_string().lines().take(2).collect::<Vec<_>>().join(" ")
    };
    let text = read_text(path).map_err(Outcome::Rejected)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let program = StanProgram::from_text(&name, &text).map_err(|e| Outcome::Rejected(line(&e)))?;
    let typed = program.typed();
    let counts = |kind: &StatementKind| !matches!(kind, StatementKind::Declare(_));
    row.has_model = typed.model.iter().any(|s| counts(&s.kind));
    let data = match data_of(path) {
        Some(file) => {
            row.has_data = true;
            read_text(&file).map_err(Outcome::BadData)?
        }
        None if typed.data.is_empty() => "{}".to_owned(),
        None => return Ok(Outcome::Accepted),
    };
    let model = program.bind("data", &data).map_err(|error| {
        let is_data = error
            .as_stan_error()
            .is_some_and(|e| e.diagnostics.iter().all(|d| d.class.name() == "data"));
        if is_data { Outcome::BadData(line(&error)) } else { Outcome::NotCompiled(line(&error)) }
    })?;
    let dim = model.bound().compiled().dim();
    let finite = (0..20).any(|k| {
        let point: Vec<f64> =
            (0..dim).map(|j| ((k * 7 + j * 13) % 40) as f64 / 10.0 - 2.0).collect();
        model.bound().logp_grad(&point).is_ok_and(|(lp, _)| lp.is_finite())
    });
    Ok(Outcome::Compiled(finite))
}
