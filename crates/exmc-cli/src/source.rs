//! Model and data files -> a model bound to its data.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use exmc::{BoundModel, CompileOptions, Model, compile};
use exmc_model::{DataSet, decode_utf8, read_data, read_json};

use crate::failure::Failure;

/// Where a model and its data are.
#[derive(Args, Clone, Debug)]
pub(crate) struct SourceArgs {
    /// The model, as JSON
    #[arg(value_name = "MODEL.json")]
    model: PathBuf,
    /// Its data, as JSON: an object name -> number or nested arrays
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
}

/// A model and its data, as read.
pub(crate) struct Source {
    pub(crate) model: Model,
    pub(crate) model_text: String,
    pub(crate) data: DataSet,
    pub(crate) data_text: Option<String>,
    data_path: Option<PathBuf>,
}

/// A bound model, and how long it took to compile and to bind.
pub(crate) struct Compiled {
    pub(crate) bound: BoundModel,
    pub(crate) compile_time: Duration,
    pub(crate) bind_time: Duration,
}

impl SourceArgs {
    /// Reads both files.
    pub(crate) fn read(&self) -> Result<Source, Failure> {
        let model_text = read_text(&self.model)?;
        let model = read_json(&model_text).map_err(|e| Failure::from(e).in_file(&self.model))?;
        let (mut data, mut data_text) = (DataSet::new(), None);
        if let Some(path) = &self.data {
            let text = read_text(path)?;
            data = read_data(&text).map_err(|e| Failure::from(e).in_file(path))?;
            data_text = Some(text);
        }
        Ok(Source { model, model_text, data, data_text, data_path: self.data.clone() })
    }

    /// The model's file, for messages.
    pub(crate) fn model_path(&self) -> &Path {
        &self.model
    }

    /// The model's name: its file's, without the ending.
    pub(crate) fn model_name(&self) -> String {
        let stem = self.model.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }
}

impl Source {
    /// Compiles the model and gives it its data.
    pub(crate) fn compile(&self, options: &CompileOptions) -> Result<Compiled, Failure> {
        // Before the compiler looks at the model: mistakes in the data are the likelier ones.
        self.data.check_against(&self.model).map_err(|error| {
            let failure = Failure::from(error);
            match &self.data_path {
                Some(path) => failure.in_file(path),
                None => failure.hint("give the data with `--data FILE`"),
            }
        })?;
        let began = Instant::now();
        let compiled = compile(&self.model, options)?;
        let compile_time = began.elapsed();
        let began = Instant::now();
        let bound = compiled.bind(self.data.clone())?;
        Ok(Compiled { bound, compile_time, bind_time: began.elapsed() })
    }
}

/// A file's text.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|e| Failure::unreadable(path, &e))?;
    match decode_utf8(&bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(Failure::from(error).in_file(path)),
    }
}
