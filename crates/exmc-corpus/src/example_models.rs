//! A checkout of stan-dev/example-models -> how many of its programs compile, with their own data
//! or generated ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exmc::StanProgram;
use exmc_stan::data::{WAYS, generate_data};
use exmc_stan::host::Settings;
use exmc_stan::typed::StatementKind;

use crate::archive::read_text;
use crate::host::{HostAgreement, compare};
use crate::oracle::Oracle;
use crate::posteriordb::{Agreement, agreement};

/// What happened to one program.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its path in the checkout.
    pub path: PathBuf,
    /// Whether it has a model block with statements.
    pub has_model: bool,
    /// What it was compiled with.
    pub data: DataSource,
    /// How far it came.
    pub outcome: Outcome,
    /// Whether the host agrees, if it was asked.
    pub host: Option<Result<HostAgreement, String>>,
    /// Whether Stan agrees, if it was asked.
    pub oracle: Option<Result<Agreement, String>>,
    /// Time from text to density, all attempts with generated data together.
    pub time: Duration,
}

/// What a program was compiled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataSource {
    /// Data of the checkout, or none where it declares none.
    Own,
    /// Generated from this seed: there are no data, or (the reason) they do not fit.
    Generated(u64, Option<String>),
}

/// How far a program came.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Not accepted by the parser or the checker.
    Rejected(String),
    /// It cannot be lowered or compiled.
    NotCompiled(String),
    /// It compiled, and its density is finite at some of 20 points (or at none).
    Compiled(bool),
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
    let data_file = program.with_extension("data.json");
    if data_file.exists() {
        return Some(data_file);
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

/// Runs one program; `host`, whether its density is compared with the host interpreter's, `oracle`
/// with Stan's.
pub fn run(path: &Path, host: bool, oracle: Option<&mut Oracle>) -> Row {
    let began = Instant::now();
    let mut row = Row {
        path: path.to_owned(),
        has_model: true,
        data: DataSource::Own,
        outcome: Outcome::Compiled(false),
        host: None,
        oracle: None,
        time: Duration::ZERO,
    };
    let (outcome, used) = match evaluate(path, &mut row) {
        Ok(outcome) => outcome,
        Err(error) => (Outcome::Rejected(error), None),
    };
    (row.outcome, row.time) = (outcome, began.elapsed());
    if let (Some(oracle), Some((program, data))) = (oracle, &used) {
        let model = program.bind("data", data).map_err(|error| line(&error));
        row.oracle = Some(model.and_then(|model| agreement(&model, oracle, path, data)));
    }
    row.host = used
        .filter(|_| host)
        .map(|(program, data)| compare(program.typed(), &data, &Settings::default()));
    row
}

fn line(error: &dyn std::fmt::Display) -> String {
    error.to_string().lines().take(2).collect::<Vec<_>>().join(" ")
}

/// A program with data that it compiles with.
type Used = Option<(StanProgram, String)>;

fn evaluate(path: &Path, row: &mut Row) -> Result<(Outcome, Used), String> {
    let text = read_text(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let program = StanProgram::from_text(&name, &text).map_err(|e| line(&e))?;
    let typed = program.typed();
    let counts = |kind: &StatementKind| !matches!(kind, StatementKind::Declare(_));
    row.has_model = typed.model.iter().any(|s| counts(&s.kind));
    let data_text = match data_of(path) {
        Some(file) => Some(read_text(&file)),
        None if typed.data.is_empty() => Some(Ok("{}".to_owned())),
        None => None,
    };
    let mut refused = None;
    if let Some(data_text) = data_text {
        match data_text.and_then(|data| compile(&program, &data).map(|finite| (finite, data))) {
            Ok((finite, data)) => return Ok((Outcome::Compiled(finite), Some((program, data)))),
            Err(error) => refused = Some(error),
        }
    }
    if typed.data.is_empty() {
        return Ok((Outcome::NotCompiled(refused.unwrap_or_default()), None));
    }
    let (seed, outcome) = generated(&program);
    row.data = DataSource::Generated(seed, refused);
    let compiled = matches!(outcome, Outcome::Compiled(_));
    let data = compiled.then(|| generate_data(program.typed(), seed).ok()).flatten();
    Ok((outcome, data.map(|data| (program, data))))
}

/// Whether the density with these data is finite somewhere, or why there is none.
fn compile(program: &StanProgram, data: &str) -> Result<bool, String> {
    let model = program.bind("data", data).map_err(|error| line(&error))?;
    let dim = model.bound().compiled().dim();
    Ok((0..20).any(|k| {
        let point: Vec<f64> =
            (0..dim).map(|j| ((k * 7 + j * 13) % 40) as f64 / 10.0 - 2.0).collect();
        model.bound().logp_grad(&point).is_ok_and(|(lp, _)| lp.is_finite())
    }))
}

/// The first seed whose data give a density that is finite somewhere; else one that compiles; else
/// the first, with its mistake.
fn generated(program: &StanProgram) -> (u64, Outcome) {
    let mut best: Option<(u64, Outcome)> = None;
    for seed in 0..WAYS {
        let data = generate_data(program.typed(), seed).map_err(|e| e.message);
        match data.and_then(|data| compile(program, &data)) {
            Ok(true) => return (seed, Outcome::Compiled(true)),
            Ok(false) if !matches!(best, Some((_, Outcome::Compiled(_)))) => {
                best = Some((seed, Outcome::Compiled(false)));
            }
            Err(error) if best.is_none() => best = Some((seed, Outcome::NotCompiled(error))),
            _ => {}
        }
    }
    best.unwrap_or((0, Outcome::Compiled(false)))
}

/// What is worth telling of a program: nothing, if it compiled with its own data, is finite
/// somewhere and agrees with the host.
pub fn note(row: &Row) -> Option<String> {
    let data = match &row.data {
        DataSource::Own => String::new(),
        DataSource::Generated(seed, None) => format!("generated data {seed}"),
        DataSource::Generated(seed, Some(why)) => format!("generated data {seed}, as: {why}"),
    };
    let outcome = match &row.outcome {
        Outcome::Rejected(error) => format!("rejected: {error}"),
        Outcome::NotCompiled(error) => format!("not compiled: {error}"),
        Outcome::Compiled(true) => String::new(),
        Outcome::Compiled(false) => "nowhere finite".to_owned(),
    };
    let host = match &row.host {
        Some(Ok(agreement)) if !agreement.holds() => format!("host {agreement}"),
        Some(Err(error)) => format!("host not compared: {error}"),
        _ => String::new(),
    };
    let oracle = match &row.oracle {
        Some(Ok(a)) if !a.holds() && !a.within_noise => {
            let Agreement { points, disputed, value, gradient, .. } = a;
            format!(
                "Stan DIFFERS: value {value:.0e}, gradient {gradient:.0e} at {points} points, {disputed} disputed"
            )
        }
        Some(Err(error)) => format!("Stan not compared: {}", error.lines().collect::<String>()),
        _ => String::new(),
    };
    let parts: Vec<String> =
        [outcome, data, host, oracle].into_iter().filter(|s| !s.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The counts that matter, of programs with a model.
pub fn totals(rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.has_model).collect();
    let count = |keep: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| keep(row)).count();
    let kinds = |uses_own_data: bool| {
        let matches_source = |row: &Row| (row.data == DataSource::Own) == uses_own_data;
        let finite =
            |row: &Row| matches_source(row) && matches!(row.outcome, Outcome::Compiled(true));
        let nowhere =
            |row: &Row| matches_source(row) && matches!(row.outcome, Outcome::Compiled(false));
        let not = |row: &Row| matches_source(row) && matches!(row.outcome, Outcome::NotCompiled(_));
        format!(
            "{} compile, {} compile and are nowhere finite, {} do not compile",
            count(&finite),
            count(&nowhere),
            count(&not)
        )
    };
    let compiled = count(&|row| matches!(row.outcome, Outcome::Compiled(_)));
    let finite = count(&|row| matches!(row.outcome, Outcome::Compiled(true)));
    let percent = |n: usize| 100.0 * n as f64 / rows.len().max(1) as f64;
    let misfits = count(&|row| matches!(row.data, DataSource::Generated(_, Some(_))));
    let mut text = format!(
        "{} programs with a model, {} rejected\n\
         with their own data: {}\n\
         with generated data ({misfits} of them have data that do not fit): {}\n\
         compile {compiled} ({:.1} %), finite somewhere {finite} ({:.1} %)",
        rows.len(),
        count(&|row| matches!(row.outcome, Outcome::Rejected(_))),
        kinds(true),
        kinds(false),
        percent(compiled),
        percent(finite)
    );
    let compared = count(&|row| matches!(row.host, Some(Ok(_))));
    let agreeing = count(&|row| matches!(&row.host, Some(Ok(agreement)) if agreement.holds()));
    if rows.iter().any(|row| row.host.is_some()) {
        text.push_str(&format!("\ncompared with the host {compared}, agree {agreeing}"));
    }
    let compared = count(&|row| matches!(row.oracle, Some(Ok(_))));
    let near = |a: &Agreement| a.holds() || a.within_noise;
    let agreeing = count(&|row| matches!(&row.oracle, Some(Ok(a)) if near(a)));
    if rows.iter().any(|row| row.oracle.is_some()) {
        text.push_str(&format!("\ncompared with Stan {compared}, agree {agreeing}"));
    }
    text
}
