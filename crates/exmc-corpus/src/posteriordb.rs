//! A checkout of posteriordb -> a table: does each posterior compile, agree with Stan, and sample
//! to its reference.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exmc::advanced::sample;
use exmc::stan::StanModel;
use exmc::{SamplerConfig, StanProgram};
use exmc_math::random::{ChainRng, Phase};
use exmc_stan::host::Settings as HostSettings;

use crate::archive::{read_json, read_text};
use crate::double::{Growth, double};
use crate::host::{HostAgreement, compare as compare_host};
use crate::oracle::{Answer, Oracle};
use crate::reference::{Verdict, compare, read_reference, read_settings};

/// Points at which each density is evaluated: uniform between -2 and 2, as Stan starts.
const POINTS: usize = 20;

/// Settings of a run over the collection.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The checkout.
    pub dir: PathBuf,
    /// A Python interpreter with stanli.
    pub oracle: Option<PathBuf>,
    /// Whether to lower each density with twice the data too.
    pub double: bool,
    /// Whether to compare each density with the host interpreter's.
    pub host: bool,
    /// Whether to sample the posteriors that have reference draws.
    pub sample: bool,
    /// Only posteriors whose name holds one of these; all if there are none.
    pub only: Vec<String>,
}

/// What happened to one posterior.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its model.
    pub model: String,
    /// What kept it from compiling.
    pub error: Option<String>,
    /// Milliseconds to parse and check, to read the data, to lower, to compile.
    pub times: [f64; 4],
    /// Nodes of the graph of the log density.
    pub nodes: usize,
    /// Unconstrained coordinates.
    pub dim: usize,
    /// Points at which value and gradient are finite.
    pub finite: usize,
    /// Agreement with the oracle, or why there is none.
    pub agreement: Option<Result<Agreement, String>>,
    /// How the graph grows, or why its data cannot be doubled.
    pub growth: Option<Result<Growth, String>>,
    /// Agreement with the host interpreter, or why it cannot be asked.
    pub host: Option<Result<HostAgreement, String>>,
    /// The comparison with reference draws, the time that sampling took, divergences.
    pub verdict: Option<Result<(Verdict, Duration, u64), String>>,
}

/// Largest differences to the oracle.
#[derive(Clone, Copy, Debug)]
pub struct Agreement {
    /// Points that both find finite.
    pub points: usize,
    /// Points that one of both finds finite.
    pub disputed: usize,
    /// Of log densities, apart from a constant, relative to their size (at least one).
    pub value: f64,
    /// Of gradients, relative to the largest element (at least one).
    pub gradient: f64,
    /// The constant.
    pub constant: f64,
    /// By how much the oracle's own values and gradients move where the point moves by a rounding,
    /// relative as above: the largest over points that differ by more than is allowed. Looked at
    /// only where some do.
    pub noise: Option<[f64; 2]>,
    /// Whether each difference is allowed, or no more than ten times the oracle's own at that
    /// point.
    pub within_noise: bool,
}

/// How many times the oracle's own change a difference may be: that change is of two neighbours
/// only.
const NOISE: f64 = 10.0;
/// What is allowed of values and of gradients.
const ALLOWED: [f64; 2] = [1e-10, 1e-8];

impl Agreement {
    /// 1e-10 on values, 1e-8 on gradients.
    pub fn holds(&self) -> bool {
        let [value, gradient] = ALLOWED;
        let near = self.value <= value && self.gradient <= gradient;
        self.points > 0 && self.disputed == 0 && near
    }
}

/// Runs the collection; `each` sees every row as it is made.
pub fn run(settings: &Settings, each: &mut dyn FnMut(&Row)) -> Result<Vec<Row>, String> {
    let root = settings.dir.join("posterior_database");
    let mut oracle = settings.oracle.as_deref().map(Oracle::start).transpose()?;
    let mut rows = Vec::new();
    for path in sorted_files(&root.join("posteriors"), "json")? {
        let entry = read_json(&path)?;
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let name = text("name");
        let wanted = settings.only.is_empty() || settings.only.iter().any(|w| name.contains(w));
        if !wanted {
            continue;
        }
        let mut row = Row { name, model: text("model_name"), ..Row::default() };
        let files = Files {
            program: root.join(format!("models/stan/{}.stan", row.model)),
            data: root.join(format!("data/data/{}.json.zip", text("data_name"))),
            reference: (!text("reference_posterior_name").is_empty()).then(|| {
                let name = text("reference_posterior_name");
                let folder = root.join("reference_posteriors/draws");
                ReferenceFiles {
                    draws: folder.join(format!("draws/{name}.json.zip")),
                    info: folder.join(format!("info/{name}.info.json")),
                }
            }),
        };
        if let Err(error) = evaluate(&mut row, &files, oracle.as_mut(), settings) {
            row.error = Some(error);
        }
        each(&row);
        rows.push(row);
    }
    Ok(rows)
}

struct Files {
    program: PathBuf,
    data: PathBuf,
    reference: Option<ReferenceFiles>,
}

/// Reference draws, and how they were drawn.
struct ReferenceFiles {
    draws: PathBuf,
    info: PathBuf,
}

fn evaluate(
    row: &mut Row,
    files: &Files,
    oracle: Option<&mut Oracle>,
    settings: &Settings,
) -> Result<(), String> {
    let text = read_text(&files.program)?;
    let data = read_text(&files.data)?;
    let milliseconds = |d: Duration| 1e3 * d.as_secs_f64();
    let began = Instant::now();
    let program = StanProgram::from_text(&row.model, &text).map_err(|e| first_line(&e))?;
    row.times[0] = milliseconds(began.elapsed());
    let model = program.bind("data", &data).map_err(|e| first_line(&e))?;
    let times = model.times();
    row.times[1..].copy_from_slice(&[times.data, times.lower, times.compile].map(milliseconds));
    let lowered = model.bound().compiled().lowered();
    row.nodes = lowered.graph.reachable(&[lowered.logp]).iter().filter(|used| **used).count();
    row.dim = lowered.dim;
    let points = points(row.dim);
    let ours = values(&model, &points);
    row.finite = ours.iter().filter(|(lp, g)| lp.is_finite() && all_finite(g)).count();
    if let Some(oracle) = oracle {
        row.agreement = Some(agree(&model, &points, &ours, oracle, &files.program, &data));
    }
    if settings.double {
        row.growth = Some(double(program.typed(), &data));
    }
    if settings.host {
        row.host = Some(compare_host(program.typed(), &data, &HostSettings::default()));
    }
    if let (true, Some(reference)) = (settings.sample, &files.reference) {
        row.verdict = Some(judge(&model, reference));
    }
    Ok(())
}

/// The error's own sentence, without the source lines around it.
fn first_line(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    match lines.next() {
        Some(place) => format!("{first} {}", place.trim()),
        None => first,
    }
}

fn points(dim: usize) -> Vec<Vec<f64>> {
    let mut rng = ChainRng::new(20_261_122, 0, Phase::Predictive);
    (0..POINTS).map(|_| (0..dim).map(|_| 4.0 * rng.uniform() - 2.0).collect()).collect()
}

fn values(model: &StanModel, points: &[Vec<f64>]) -> Vec<(f64, Vec<f64>)> {
    let nothing = |dim: usize| (f64::NAN, vec![f64::NAN; dim]);
    let evaluate =
        |point: &Vec<f64>| model.bound().logp_grad(point).unwrap_or(nothing(point.len()));
    points.iter().map(evaluate).collect()
}

fn all_finite(x: &[f64]) -> bool {
    x.iter().all(|v| v.is_finite())
}

/// Compares a program's density with the oracle's, at points where Stan might start.
pub(crate) fn agreement(
    model: &StanModel,
    oracle: &mut Oracle,
    program: &Path,
    data: &str,
) -> Result<Agreement, String> {
    let points = points(model.bound().compiled().lowered().dim);
    let ours = values(model, &points);
    agree(model, &points, &ours, oracle, program, data)
}

fn agree(
    model: &StanModel,
    points: &[Vec<f64>],
    ours: &[(f64, Vec<f64>)],
    oracle: &mut Oracle,
    program: &Path,
    data: &str,
) -> Result<Agreement, String> {
    let order = model.stan_order();
    let file = std::env::temp_dir().join(format!("exmc-corpus-{}.json", std::process::id()));
    fs::write(&file, data).map_err(|e| e.to_string())?;
    let theirs: Vec<Vec<f64>> =
        points.iter().map(|p| order.iter().map(|&k| p[k]).collect()).collect();
    let answer = oracle.ask(program, Some(&file), &theirs);
    let found = answer.and_then(|answer| {
        if answer.dim != order.len() {
            return Err(format!("{} coordinates, the oracle has {}", order.len(), answer.dim));
        }
        let ours: Vec<(f64, Vec<f64>)> = ours
            .iter()
            .map(|(lp, gradient)| (*lp, order.iter().map(|&k| gradient[k]).collect()))
            .collect();
        let found = differences(&ours, &answer);
        if found.holds() {
            return Ok(found);
        }
        let moved = |by: f64| -> Vec<Vec<f64>> {
            theirs.iter().map(|p| p.iter().map(|x| x * (1.0 + by)).collect()).collect()
        };
        let mut neighbours = Vec::new();
        for by in [1e-15, -1e-15] {
            neighbours.push(oracle.ask(program, Some(&file), &moved(by))?);
        }
        Ok(beside_noise(found, &ours, &answer, &neighbours))
    });
    // A file in the folder for temporary files that stays is no failure.
    let _ = fs::remove_file(&file);
    found
}

/// Largest differences over all points.
fn differences(ours: &[(f64, Vec<f64>)], answer: &Answer) -> Agreement {
    let mut found = Agreement {
        points: 0,
        disputed: 0,
        value: 0.0,
        gradient: 0.0,
        constant: f64::NAN,
        noise: None,
        within_noise: false,
    };
    // The constant is read where values are smallest, because it has their rounding errors.
    let (own_base, other_base) = ours
        .iter()
        .zip(&answer.lp)
        .map(|((our_lp, _), lp)| (*our_lp, *lp))
        .filter(|(our_lp, lp)| our_lp.is_finite() && lp.is_finite())
        .min_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
        .unwrap_or((f64::NAN, f64::NAN));
    found.constant = own_base - other_base;
    for ((our_lp, gradient), (lp, expected)) in ours.iter().zip(answer.points()) {
        let (mine, other) =
            (our_lp.is_finite() && all_finite(gradient), lp.is_finite() && all_finite(expected));
        if !(mine && other) {
            found.disputed += usize::from(mine != other);
            continue;
        }
        found.points += 1;
        let [value, slope] = difference((our_lp - own_base + other_base, gradient), (lp, expected));
        found.value = found.value.max(value);
        found.gradient = found.gradient.max(slope);
    }
    found
}

/// Of two values relative to their size (at least one), and of two gradients relative to the
/// largest element.
fn difference(a: (f64, &[f64]), b: (f64, &[f64])) -> [f64; 2] {
    let value = (a.0 - b.0).abs() / a.0.abs().max(b.0.abs()).max(1.0);
    let size = b.1.iter().fold(1.0_f64, |m, g| m.max(g.abs()));
    let gradient = a.1.iter().zip(b.1).map(|(a, b)| (a - b).abs() / size);
    [value, gradient.fold(0.0, f64::max)]
}

/// Holds each difference against what the oracle says at neighbouring points.
fn beside_noise(
    found: Agreement,
    ours: &[(f64, Vec<f64>)],
    answer: &Answer,
    neighbours: &[Answer],
) -> Agreement {
    let mut noise = [0.0_f64; 2];
    let mut within = found.points > 0;
    for (k, ((our_lp, gradient), (lp, expected))) in ours.iter().zip(answer.points()).enumerate() {
        let around = || neighbours.iter().filter_map(|n| n.points().nth(k));
        let finite = |lp: f64, gradient: &[f64]| lp.is_finite() && all_finite(gradient);
        let (mine, other) = (finite(*our_lp, gradient), finite(lp, expected));
        if !(mine && other) {
            // A point at the edge of what can be evaluated is disputed by the oracle's own
            // neighbours.
            within &= mine == other || around().any(|(lp, g)| finite(lp, g) != other);
            continue;
        }
        let apart = difference((our_lp - found.constant, gradient), (lp, expected));
        let mut own_noise = [0.0_f64; 2];
        for (neighbour_lp, neighbour_gradient) in around() {
            let moved = difference((neighbour_lp, neighbour_gradient), (lp, expected));
            for (noise, moved) in own_noise.iter_mut().zip(moved) {
                *noise = if moved.is_finite() { noise.max(moved) } else { f64::INFINITY };
            }
        }
        for part in 0..2 {
            if apart[part] > ALLOWED[part] {
                noise[part] = noise[part].max(own_noise[part]);
                within &= apart[part] <= NOISE * own_noise[part];
            }
        }
    }
    Agreement { noise: Some(noise), within_noise: within, ..found }
}

/// Four chains of 1000 + 1000 draws; where errors, R-hat or divergences ask for it four times as
/// many, with the target acceptance and the depth that the reference itself was drawn with.
fn judge(
    model: &StanModel,
    reference: &ReferenceFiles,
) -> Result<(Verdict, Duration, u64), String> {
    let (expected, drawn_with) =
        (read_reference(&reference.draws)?, read_settings(&reference.info)?);
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws, config.seed) = (4, 1000, 1000, 1);
    let began = Instant::now();
    loop {
        let posterior = sample(model.bound(), &config).map_err(|e| first_line(&e))?;
        let verdict = compare(&expected, &posterior)?;
        let divergences = posterior.diagnostics().divergences as u64;
        let short = verdict.ess < 400.0 || verdict.rhat >= 1.01 || divergences > 0;
        if short && config.draws < 16_000 {
            config.draws *= 4;
            config.warmup = (2 * config.warmup).min(4000);
            config.target_accept = drawn_with.target_accept.max(config.target_accept);
            config.max_depth = drawn_with.max_depth.max(config.max_depth);
            continue;
        }
        return Ok((verdict, began.elapsed(), divergences));
    }
}

/// Files of a folder with an ending, by name.
pub fn sorted_files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let wrong = |e: std::io::Error| format!("cannot read `{}`: {e}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|e| e == ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// One line of the table.
pub fn line(row: &Row) -> String {
    if let Some(error) = &row.error {
        return format!("| {} | error | {} |", row.name, error.replace('|', "\\|"));
    }
    let [parse, data, lower, compile] = row.times;
    let nodes = match &row.growth {
        None => row.nodes.to_string(),
        Some(Err(error)) => format!("{} ({})", row.nodes, error.replace('|', "\\|")),
        Some(Ok(g)) => {
            let word = if g.doubled > g.nodes { " GROWS" } else { "" };
            format!(
                "{} ({} = {}), {} at {}{word}",
                g.nodes,
                g.size,
                g.count,
                g.doubled,
                2 * g.count
            )
        }
    };
    let mut text = format!(
        "| {} | {} | {nodes} | {parse:.1} + {data:.1} + {lower:.1} + {compile:.1} | {}/{POINTS} |",
        row.name, row.dim, row.finite
    );
    // Writing to a string cannot fail.
    let _ = match &row.agreement {
        None => write!(text, " |"),
        Some(Err(error)) => write!(text, " {error} |"),
        Some(Ok(a)) => write!(
            text,
            " {} {:.0e} {:.0e}{}{} |",
            match (a.holds(), a.within_noise) {
                (true, _) => "agrees",
                (false, true) => "agrees within noise",
                (false, false) => "DIFFERS",
            },
            a.value,
            a.gradient,
            if a.disputed > 0 { format!(" disputed {}", a.disputed) } else { String::new() },
            a.noise.map(|[v, g]| format!(" (oracle itself {v:.0e} {g:.0e})")).unwrap_or_default()
        ),
    };
    let _ = match &row.host {
        None => write!(text, " |"),
        Some(Err(error)) => write!(text, " {} |", error.replace('|', "\\|")),
        Some(Ok(agreement)) => write!(text, " {agreement} |"),
    };
    let _ = match &row.verdict {
        None => write!(text, " |"),
        Some(Err(error)) => write!(text, " {error} |"),
        Some(Ok((v, time, divergences))) => write!(
            text,
            " {} mean {:.1} sd {:.1} R-hat {:.3} ESS {:.0} ({}; {:.1} s; {divergences} div) |",
            if v.holds() { "passes" } else { "FAILS" },
            v.mean_z,
            v.sd_z,
            v.rhat,
            v.ess,
            v.worst,
            time.as_secs_f64()
        ),
    };
    text
}

/// The counts that matter.
pub fn totals(rows: &[Row]) -> String {
    let compiled: Vec<&Row> = rows.iter().filter(|r| r.error.is_none()).collect();
    let models = |keep: &dyn Fn(&Row) -> bool| {
        let mut names: Vec<&str> = rows.iter().map(|r| r.model.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let all = names.len();
        names.retain(|m| rows.iter().filter(|r| r.model == *m).all(keep));
        (names.len(), all)
    };
    let (good, all) = models(&|r| r.error.is_none());
    let (agreeing, _) =
        models(&|r| matches!(&r.agreement, Some(Ok(agreement)) if agreement.holds()));
    let host = if rows.iter().any(|r| r.host.is_some()) {
        let (agreeing, _) = models(&|r| matches!(&r.host, Some(Ok(a)) if a.holds()));
        format!(", agree with the host {agreeing}")
    } else {
        String::new()
    };
    let counted: Vec<&Growth> =
        rows.iter().filter_map(|r| r.growth.as_ref()?.as_ref().ok()).collect();
    let grown = counted.iter().filter(|g| g.doubled > g.nodes).count();
    let growth = if rows.iter().any(|r| r.growth.is_some()) {
        format!("; doubled {}, of which {grown} grow", counted.len())
    } else {
        String::new()
    };
    let (noisy, _) =
        models(&|r| matches!(&r.agreement, Some(Ok(a)) if a.holds() || a.within_noise));
    let references = rows.iter().filter(|r| r.verdict.is_some()).count();
    let passing = rows
        .iter()
        .filter(|r| matches!(&r.verdict, Some(Ok((verdict, ..))) if verdict.holds()))
        .count();
    let slowest = compiled.iter().map(|r| r.times.iter().sum::<f64>()).fold(0.0, f64::max);
    format!(
        "posteriors {}, compile {}; models {all}, compile {good}, agree {agreeing}, or within the oracle's noise {noisy}{host}{growth}; references {references}, pass {passing}; slowest from text to density {slowest:.0} ms",
        rows.len(),
        compiled.len(),
    )
}
