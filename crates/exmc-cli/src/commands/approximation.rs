//! Draws of an approximation, each with two log densities -> a run directory and its summary.

use std::path::Path;

use exmc::SamplerConfig;
use exmc::advanced::{
    BoundModel, CompileOptions, DrawNumber, Recording, coordinates, executor_name, variables,
};
use exmc::infer::{Info, RunPhase};
use exmc_draws::{Method, RunRecord, RunStatus, Variable, read_run};

use crate::commands::sample::{PROGRAM, create, now};
use crate::display::{put, put_json, say};
use crate::drive::MAX_TABLE_ROWS;
use crate::failure::{Exit, Failure};
use crate::report::Report;
use crate::source::{Source, SourceArgs};

/// One draw.
pub(crate) struct Drawn {
    pub(crate) position: Vec<f64>,
    /// Of the model, and of the approximation.
    pub(crate) densities: [f64; 2],
}

/// Where draws go, and what is said of them.
pub(crate) struct Approximation<'a> {
    pub(crate) args: &'a SourceArgs,
    pub(crate) source: &'a Source,
    pub(crate) bound: &'a BoundModel,
    pub(crate) options: &'a CompileOptions,
    pub(crate) method: Method,
    /// Names of the columns of densities.
    pub(crate) names: [&'a str; 2],
    pub(crate) seed: u64,
    pub(crate) out: Option<&'a Path>,
    pub(crate) json: bool,
    pub(crate) notes: Vec<String>,
}

impl Approximation<'_> {
    /// Stores the draws, whose positions are of the model with all its variables, and shows their
    /// summary.
    pub(crate) fn store(self, draws: &[Drawn]) -> Result<Exit, Failure> {
        let bound = self.bound.whole()?;
        let mut config = SamplerConfig::default();
        (config.chains, config.warmup, config.draws) = (1, 0, draws.len() as u64);
        config.seed = self.seed;
        let record = RunRecord {
            program: PROGRAM.to_owned(),
            method: self.method,
            model: self.args.model_name(),
            started: now(),
            status: RunStatus::Running,
            error: None,
            config,
            executor: executor_name(bound),
            without: self.options.without.clone(),
            save_warmup: false,
            variables: with_densities(self.names, variables(bound)),
            coordinates: coordinates(bound),
            warnings: Vec::new(),
            seconds: 0.0,
            chains: Vec::new(),
            origin: None,
        };
        let (mut directory, mut writers) = create(self.out, record, self.source, None)?;
        let Some(writer) = writers.first_mut() else {
            return Err(Failure::new(Exit::Internal, "a run of one chain has no writer"));
        };
        let mut recording = Recording::new(self.bound, self.seed);
        let mut row = vec![0.0; recording.width() + 2];
        let mut fatal = None;
        for (index, draw) in (0..).zip(draws) {
            let number = DrawNumber { chain: 0, phase: RunPhase::Sampling, index };
            match recording.draw(number, &draw.position, &mut row[2..]) {
                Ok(()) => {}
                Err(error) if error.is_interrupted() || error.is_fatal() => {
                    fatal = Some(Failure::from(error));
                    break;
                }
                Err(_) => row[2..].fill(f64::NAN),
            }
            row[..2].copy_from_slice(&draw.densities);
            let mut info = Info::still(draw.densities[0], 0.0);
            info.energy = f64::NAN;
            writer.append(RunPhase::Sampling, index, &info, &row)?;
        }
        writer.finish()?;
        let path = directory.path().to_owned();
        let posterior = read_run(&path)?.posterior;
        if let Some(failure) = fatal {
            directory.finish(RunStatus::Failed, Some(failure.message().to_owned()), &posterior)?;
            return Err(failure.draws_kept(&path));
        }
        directory.finish(RunStatus::Completed, None, &posterior)?;
        self.notes.iter().for_each(|note| say(&format!("note: {note}")));
        let report = Report::of(posterior, RunStatus::Completed.name());
        // Draws that weights have chosen may be the same ones.
        let report = report.without_statistics(match self.method {
            Method::Pathfinder => "draw",
            _ => "independent draw",
        });
        if self.json {
            let mut json = report.to_json();
            json["directory"] = path.display().to_string().into();
            json["notes"] = self.notes.into();
            put_json(&json)?;
        } else {
            put(&report.to_text(MAX_TABLE_ROWS))?;
            put(&format!("draws are in `{}`\n", path.display()))?;
        }
        Ok(Exit::Success)
    }
}

/// The columns of densities before all other variables.
pub(crate) fn with_densities(names: [&str; 2], variables: Vec<Variable>) -> Vec<Variable> {
    let density = |(offset, name): (usize, &str)| Variable {
        name: name.to_owned(),
        shape: Vec::new(),
        dims: Vec::new(),
        offset,
        first_index: 0,
    };
    let mut all: Vec<Variable> = names.into_iter().enumerate().map(density).collect();
    all.extend(variables.into_iter().map(|v| Variable { offset: v.offset + 2, ..v }));
    all
}
