//! Fits <-> run directories and CmdStan's CSV files.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use exmc_draws::{
    Coordinates, Method, ModelText, RunDirectory, RunRecord, RunStatus, RunTexts, StoredModel,
    StoredRun, export_posterior_csv, read_run, read_stan_csv, read_texts,
};
use exmc_exec::Executor;
use exmc_graph::Precision;
use exmc_infer::{RunPhase, SamplerConfig};
use exmc_model::{DataSet, read_data, read_json, write_json};

use super::{Fit, Source, Status};
use crate::compile::{BoundModel, CompileOptions, Interpreter, compile};
use crate::error::Error;
use crate::json::write_data;
use crate::stan::{StanOptions, StanProgram};

/// What a variable is called among a run's coordinates that is non-centred on request.
const NON_CENTRED: &str = " (non-centred)";

pub(super) fn save(fit: &Fit, path: &Path) -> Result<(), Error> {
    let (model, data) = match &fit.source {
        Source::Model(bound) => {
            let declared = bound.compiled().declared().ok_or_else(|| fit.no_model())?;
            let data = DataSet::from(bound.data());
            let data = data.iter().next().map(|_| write_data(&data));
            (write_json(declared), data)
        }
        Source::Stan(model) => (model.program().text(), Some(model.data_text().to_owned())),
        Source::Unknown => return Err(fit.no_model()),
    };
    let text = match &fit.source {
        Source::Stan(_) => ModelText::Stan(&model),
        _ => ModelText::Json(&model),
    };
    let posterior = &fit.posterior;
    let record = record(fit, RunStatus::Running);
    let save_warmup = record.save_warmup;
    let texts = RunTexts { model: text, data: data.as_deref(), init: None };
    let (mut directory, mut writers) = RunDirectory::create(path, record, &texts)?;
    let width = posterior.width().max(1);
    for (chain, writer) in posterior.chains.iter().zip(&mut writers) {
        let warmup = chain.warmup_infos.iter().zip(chain.warmup_values.chunks(width));
        let draws = chain.infos.iter().zip(chain.values.chunks(width));
        let phases = [(RunPhase::Warmup, warmup), (RunPhase::Sampling, draws)];
        for (phase, draws) in phases.into_iter().skip(usize::from(!save_warmup)) {
            for (index, (info, values)) in draws.enumerate() {
                writer.append(phase, index as u64, info, values)?;
            }
        }
        writer.finish()?;
    }
    let (status, error) = ended(fit);
    Ok(directory.finish(status, error, posterior)?)
}

/// How a run ended, and why if it failed.
fn ended(fit: &Fit) -> (RunStatus, Option<String>) {
    if let Some((chain, error)) = fit.posterior.failures().next() {
        return (RunStatus::Failed, Some(format!("chain {chain}: {error}")));
    }
    match fit.status() {
        Status::Complete => (RunStatus::Completed, None),
        Status::Stopped => (RunStatus::Interrupted, None),
        Status::Deadline => (RunStatus::Stopped, None),
    }
}

/// What a run's file says of a fit.
fn record(fit: &Fit, status: RunStatus) -> RunRecord {
    let posterior = &fit.posterior;
    let options = fit.bound().map(|bound| bound.compiled().options());
    let mut config = fit.settings.clone();
    config.chains = posterior.chains.len() as u32;
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    RunRecord {
        program: concat!("exmc ", env!("CARGO_PKG_VERSION")).to_owned(),
        method: Method::Sample,
        model: "model".to_owned(),
        started: since.map_or(0, |since| since.as_secs()),
        status,
        error: None,
        config,
        executor: fit.bound().map_or(String::new(), executor_name),
        without: options.map_or(Vec::new(), |options| options.without.clone()),
        save_warmup: posterior.chains.iter().any(|chain| !chain.warmup_infos.is_empty()),
        variables: posterior.variables.clone(),
        coordinates: fit.bound().map_or(Vec::new(), coordinates),
        warnings: Vec::new(),
        seconds: posterior.seconds,
        chains: Vec::new(),
        origin: None,
    }
}

/// What evaluates the density, with its precision where that is not the usual one.
pub fn executor_name(bound: &BoundModel) -> String {
    let options = bound.compiled().options();
    if bound.is_interpreted() {
        return Interpreter::NAME.to_owned();
    }
    let name = options.executor.name();
    match options.precision {
        Precision::F64 => name.to_owned(),
        precision => format!("{name} {}", precision.name()),
    }
}

/// The unconstrained vector's parts as a run's file names them. Those that are non-centred on
/// request have other names, so that a centred run is no warm start for this one.
pub fn coordinates(bound: &BoundModel) -> Vec<Coordinates> {
    let chosen = bound.coordinates().unwrap_or_default();
    let non_centred = &bound.compiled().options().non_centre;
    let layout = bound.compiled().lowered().layout.iter();
    let coordinates = layout.map(|entry| {
        let suffix = if non_centred.contains(&entry.name) { NON_CENTRED } else { "" };
        let centred = chosen.iter().find(|coordinate| coordinate.name == entry.name);
        Coordinates {
            name: format!("{}{suffix}", entry.name),
            length: entry.unconstrained.len(),
            centred: centred.map(|coordinate| coordinate.shares.clone()),
        }
    });
    coordinates.collect()
}

pub(super) fn load(path: &Path) -> Result<Fit, Error> {
    let StoredRun { record, posterior, .. } = read_run(path)?;
    let options = options(&record);
    let texts = read_texts(path)?;
    let source = match texts.model {
        Some(StoredModel::Json(text)) => {
            let data = texts.data.map_or(Ok(DataSet::new()), |text| read_data(&text))?;
            let bound = compile(&read_json(&text)?, &options)?.bind(data)?;
            Source::Model(Box::new(as_sampled(&bound, &record)?))
        }
        Some(StoredModel::Stan(text)) => {
            let name = |file: &str| path.join(file).display().to_string();
            let stan_options = StanOptions { compile: options, ..StanOptions::default() };
            let program = StanProgram::from_text(&name("model.stan"), &text)?;
            let data = texts.data.as_deref().unwrap_or("{}");
            let model = program.bind_with(&name("data.json"), data, &stan_options)?;
            let bound = as_sampled(model.bound(), &record)?;
            Source::Stan(Box::new(model.sampled_as(&bound)))
        }
        None => Source::Unknown,
    };
    let settings = record.config.clone().keep_draws(true).save_warmup(record.save_warmup);
    Ok(Fit::new(posterior, settings, source).late(record.status == RunStatus::Stopped))
}

/// How the density of a run was compiled.
fn options(record: &RunRecord) -> CompileOptions {
    let mut options = CompileOptions { marginalise: Some(true), ..CompileOptions::default() };
    options.without.clone_from(&record.without);
    let (name, precision) = record.executor.split_once(' ').unwrap_or((&record.executor, ""));
    match Executor::from_name(name) {
        Some(executor) => options.executor = executor,
        None if name == Interpreter::NAME => options.interpreter = Interpreter::Always,
        None => {}
    }
    if precision == Precision::F32.name() {
        options.precision = Precision::F32;
    }
    let names = record
        .coordinates
        .iter()
        .filter_map(|coordinate| coordinate.name.strip_suffix(NON_CENTRED));
    options.non_centre = names.map(str::to_owned).collect();
    options
}

/// A model in the coordinates that a run was sampled in.
fn as_sampled(bound: &BoundModel, record: &RunRecord) -> Result<BoundModel, Error> {
    let mut coordinates = bound.written_coordinates();
    for coordinate in &mut coordinates {
        let before = record.coordinates.iter().find(|other| other.name == coordinate.name);
        if let Some(Coordinates { centred: Some(shares), .. }) = before {
            coordinate.shares.clone_from(shares);
        }
    }
    bound.in_coordinates(&coordinates)
}

impl Fit {
    /// Writes CmdStan's CSV files, `model_1.csv` and so on, one a chain, into a directory (made if
    /// it does not exist), and returns their paths. Files that exist are never written to.
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(2);
    /// # model.observe("y_seen", "y", [1.0, 3.0]);
    /// # let model = model.build()?;
    /// # let folder = std::env::temp_dir().join(format!("exmc-csv-{}", std::process::id()));
    /// let fit = sample(&model, &SamplerConfig::default())?;
    /// let files = fit.write_csv(&folder)?;
    /// assert_eq!(exmc::Fit::read_csv(&files)?["mu"], fit["mu"]);
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_csv(&self, directory: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
        let (status, _) = ended(self);
        let mut record = record(self, status);
        let stored = |chain| exmc_draws::StoredChain::of(chain, status);
        record.chains = self.posterior.chains.iter().map(stored).collect();
        Ok(export_posterior_csv(&record, &self.posterior, directory.as_ref())?)
    }

    /// Reads CmdStan's CSV files, those of one run's chains. The fit knows no model.
    ///
    /// # Errors
    /// When a file cannot be read, is no CSV file of draws, or is of another model.
    pub fn read_csv(paths: &[impl AsRef<Path>]) -> Result<Self, Error> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
        let posterior = read_stan_csv(&paths)?.posterior;
        let draws = posterior.chains.iter().map(|chain| chain.infos.len()).max().unwrap_or(0);
        let settings =
            SamplerConfig::default().chains(posterior.chains.len() as u32).draws(draws as u64);
        Ok(Self::new(posterior, settings, Source::Unknown))
    }
}
