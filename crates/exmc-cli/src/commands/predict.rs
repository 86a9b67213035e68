//! `exmc predict`: a stored run and new data -> what the model says of them, draw by draw.

use std::path::{Path, PathBuf};

use clap::Args;
use exmc::infer::{Info, RunPhase};
use exmc::{DrawArrays, ErrorKind, Fit, NewData, StanProgram};
use exmc_draws::{
    Method, ModelText, RunDirectory, RunStatus, RunTexts, StoredModel, StoredTexts, Variable,
    read_record, read_run, read_texts,
};
use exmc_model::read_data;

use crate::commands::sample::{PROGRAM, now};
use crate::display::{put, put_json, say};
use crate::drive::MAX_TABLE_ROWS;
use crate::failure::{Exit, Failure};
use crate::replicated::failures;
use crate::report::Report;
use crate::settings::whole_number;
use crate::source::read_text;

/// Predict new data from a stored run
///
/// For each draw: the observed variables, drawn given the draw's values, and the deterministic
/// values of a JSON model, with the new data; the generated quantities of a Stan program or, where
/// it has none or with `--outcomes`, the data that its statements describe. Data that are not given
/// are those of the run.
#[derive(Args, Debug)]
pub(crate) struct PredictArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    run: PathBuf,
    /// The new data, as JSON; without them, the run's own are replicated
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Draw what the model observes alone: of a Stan program the data that its statements describe,
    /// also where it has generated quantities
    #[arg(long)]
    outcomes: bool,
    /// Seed of the predictions' random numbers [default: that of the run]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = whole_number)]
    seed: Option<u64>,
    /// Directory for the predictions; it must not hold a run yet [default: a new `exmc-run-N` here]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &PredictArgs) -> Result<Exit, Failure> {
    let started = now();
    let mut fit = Fit::load(&args.run)?;
    if let Some(seed) = args.seed {
        fit = fit.with_seed(seed);
    }
    let text = args.data.as_deref().map(read_text).transpose()?;
    let texts = read_texts(&args.run)?;
    let predicted = predicted(args, &fit, &texts, text.as_deref())?;
    let variables = variables(&fit, &predicted);
    if variables.iter().all(Variable::is_empty) {
        let message = match args.outcomes {
            true => "the model observes nothing: it has no outcomes",
            false => {
                "the model observes nothing and has no quantities: there is nothing to predict"
            }
        };
        return Err(Failure::new(Exit::Model, message));
    }

    let mut record = read_record(&args.run)?;
    let infos = fit.posterior().usable_chains();
    let (n_chains, n_draws) =
        predicted.iter().next().map_or((0, 0), |(_, a)| (a.n_chains(), a.n_draws()));
    record.program = PROGRAM.to_owned();
    (record.method, record.started, record.status) =
        (Method::Generate, started, RunStatus::Running);
    record.error = None;
    record.config.seed = fit.settings().seed;
    (record.config.chains, record.config.warmup) = (n_chains as u32, 0);
    record.config.draws = n_draws as u64;
    (record.save_warmup, record.seconds) = (false, 0.0);
    record.variables = variables;
    record.chains.clear();
    record.origin = None;
    let model = match &texts.model {
        Some(StoredModel::Stan(text)) => ModelText::Stan(text),
        Some(StoredModel::Json(text)) => ModelText::Json(text),
        None => return Err(Failure::new(Exit::Model, "the run holds no model")),
    };
    let data = text.as_deref().or(texts.data.as_deref());
    let texts = RunTexts { model, data, init: None };
    let (mut directory, mut writers) = match &args.out {
        Some(path) => RunDirectory::create(path, record, &texts)?,
        None => RunDirectory::create_fresh(Path::new(""), record, &texts)?,
    };
    let mut row = Vec::new();
    for (chain, (writer, chain_record)) in writers.iter_mut().zip(&infos).enumerate() {
        for (k, info) in chain_record.infos.iter().take(n_draws).enumerate() {
            row.clear();
            for (_, array) in predicted.iter() {
                let size = array.element_shape().len();
                row.extend_from_slice(&array.chain(chain)[k * size..(k + 1) * size]);
            }
            let mut still = Info::still(info.logp, 0.0);
            still.energy = f64::NAN;
            writer.append(RunPhase::Sampling, k as u64, &still, &row)?;
        }
        writer.finish()?;
    }

    let path = directory.path().to_owned();
    let stored = read_run(&path)?.posterior;
    directory.finish(RunStatus::Completed, None, &stored)?;
    let report = Report::of(stored, RunStatus::Completed.name()).without_statistics("draw");
    if args.json {
        let mut json = report.to_json();
        json["directory"] = path.display().to_string().into();
        put_json(&json)?;
    } else {
        put(&report.to_text(MAX_TABLE_ROWS))?;
        put(&format!("predictions are in `{}`\n", path.display()))?;
    }
    Ok(Exit::Success)
}

/// What the model says of the run's data with those of a file, whose text is given.
fn predicted(
    args: &PredictArgs,
    fit: &Fit,
    texts: &StoredTexts,
    text: Option<&str>,
) -> Result<DrawArrays, Failure> {
    let path = args.data.as_deref().unwrap_or(Path::new(""));
    let Some(StoredModel::Stan(program)) = &texts.model else {
        let in_file = |failure: Failure| failure.in_file(path);
        let read = |text| read_data(text).map_err(|error| in_file(error.into()));
        let data = text.map(read).transpose()?;
        let data = data.as_ref().map_or(NewData::None, NewData::Values);
        let made = match args.outcomes {
            true => fit.predict_outcomes(data).map(|outcomes| outcomes.arrays),
            false => fit.predict(data),
        };
        return made.map_err(|error| match error.kind() {
            ErrorKind::Data if text.is_some() => in_file(error.into()),
            _ => error.into(),
        });
    };
    let program = StanProgram::from_text("model.stan", program).map_err(exmc::Error::from)?;
    let name = path.display().to_string();
    let data = match text {
        Some(text) => {
            tell_ignored(&program, text);
            NewData::Text { name: &name, text }
        }
        None => NewData::None,
    };
    if program.has_generated_quantities() && !args.outcomes {
        return Ok(fit.predict(data)?);
    }
    let outcomes = fit.predict_outcomes(data)?;
    match failures(&outcomes, "are NaN") {
        Some(message) if outcomes.arrays.is_empty() => Err(Failure::new(Exit::Model, message)),
        failed => {
            failed.iter().for_each(|failed| say(&format!("note: {failed}")));
            Ok(outcomes.arrays)
        }
    }
}

/// Says which of the new data the program does not declare: a name that is mistyped would leave the
/// run's own data in place.
fn tell_ignored(program: &StanProgram, data: &str) {
    let all = program.data_names().join("`, `");
    for name in program.undeclared(data) {
        say(&format!(
            "note: the program declares no data `{name}`, so it is ignored; it declares `{all}`"
        ));
    }
}

/// What is stored of predictions, in column order, with the names of dimensions that the run has.
fn variables(fit: &Fit, predicted: &DrawArrays) -> Vec<Variable> {
    let recorded = &fit.posterior().variables;
    let first_index = recorded.first().map_or(0, |variable| variable.first_index);
    let mut offset = 0;
    let variable = |(name, array): (&str, &exmc::DrawArray)| {
        let source = recorded.iter().find(|variable| variable.name == name);
        let dims = source.map_or(Vec::new(), |variable| variable.dims.clone());
        let shape = array.element_shape().extents().to_vec();
        let dims = if dims.len() == shape.len() { dims } else { Vec::new() };
        let variable = Variable { name: name.to_owned(), shape, dims, offset, first_index };
        offset += variable.len();
        variable
    };
    predicted.iter().map(variable).collect()
}
