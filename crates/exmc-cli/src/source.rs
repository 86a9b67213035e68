//! Model and data files -> a model bound to its data. A model is JSON or, by its name's ending, a
//! Stan program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::Args;
use exmc::advanced::{BoundModel, CompileOptions, CompiledModel, compile};
use exmc::model::Values;
use exmc::stan::{Interpreter, Printer, StanModel, StanOptions};
use exmc::{Model, StanProgram};
use exmc_draws::ModelText;
use exmc_model::{DataSet, decode_utf8, read_data, read_json};
use exmc_stan::source::{SourceFile, Sources};
use exmc_stan::syntax::Folders;
use indicatif::MultiProgress;

use crate::display::say;
use crate::failure::{Exit, Failure};
use crate::points::read_points;

/// Where a model and its data are.
#[derive(Args, Clone, Debug)]
pub(crate) struct SourceArgs {
    /// The model: a Stan program (`.stan`), or a model as JSON
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Its data, as JSON: an object name -> number or nested arrays
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// A folder to look in for files that a Stan program includes, after its own; may be repeated
    #[arg(long, value_name = "DIR")]
    include_path: Vec<PathBuf>,
}

/// A model and its data, as read.
pub(crate) struct Source {
    pub(crate) front: Front,
    pub(crate) model_text: String,
    pub(crate) data_text: Option<String>,
    data_path: Option<PathBuf>,
    /// Standard error, shared by bars and by what a Stan program prints.
    pub(crate) screen: MultiProgress,
    /// Whether what a Stan program prints is dropped.
    pub(crate) quiet: bool,
    /// What ends loops of transformed data and generated quantities.
    pub(crate) stop: Option<Arc<AtomicBool>>,
}

/// What the model was written in.
pub(crate) enum Front {
    Json { model: Box<Model>, data: DataSet },
    Stan(StanProgram),
}

/// A bound model, and how long it took to compile and to bind.
pub(crate) struct Compiled {
    pub(crate) bound: BoundModel,
    pub(crate) compile_time: Duration,
    pub(crate) bind_time: Duration,
    pub(crate) stan: Option<StanModel>,
}

impl SourceArgs {
    /// Those of a stored run, which keeps its model and data.
    pub(crate) fn of_run(directory: &Path) -> Self {
        let stan = directory.join("model.stan");
        let model = if stan.exists() { stan } else { directory.join("model.json") };
        let data = Some(directory.join("data.json")).filter(|data| data.exists());
        Self { model, data, include_path: Vec::new() }
    }

    /// The same data with another model.
    pub(crate) fn with_model(&self, model: &Path) -> Self {
        Self { model: model.to_owned(), ..self.clone() }
    }

    /// Reads both files.
    pub(crate) fn read(&self) -> Result<Source, Failure> {
        let model_text = if is_stan(&self.model) {
            read_program_text(&self.model)?
        } else {
            read_text(&self.model)?
        };
        let data_text = self.data.as_deref().map(read_text).transpose()?;
        let front = if is_stan(&self.model) {
            let program = read_program(&self.model, &model_text, &self.include_path)?;
            program.warnings().iter().for_each(|warning| say(warning));
            Front::Stan(program)
        } else {
            let model = read_json(&model_text);
            let model = model.map_err(|error| {
                let failure = Failure::from(error).in_file(&self.model);
                if self.model.extension().is_some_and(|ending| ending == "json") {
                    return failure;
                }
                failure.hint(
                    "it is read as a model in JSON: the name of a Stan program ends in `.stan`",
                )
            })?;
            let mut data = DataSet::new();
            if let (Some(path), Some(text)) = (&self.data, &data_text) {
                data = read_data(text).map_err(|e| Failure::from(e).in_file(path))?;
            }
            Front::Json { model: Box::new(model), data }
        };
        let (data_path, screen) = (self.data.clone(), MultiProgress::new());
        Ok(Source { front, model_text, data_text, data_path, screen, quiet: false, stop: None })
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

/// What may stand before a text in UTF-8.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Whether a file is a Stan program, by its name.
pub(crate) fn is_stan(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("stan"))
}

/// Reads a Stan program; files that it includes lie in its own folder or in one of `folders`.
pub(crate) fn read_program(
    path: &Path,
    text: &str,
    folders: &[PathBuf],
) -> Result<StanProgram, Failure> {
    let mut sources = Sources::default();
    // A mark of the byte order is what some editors begin a file with.
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut file = SourceFile::new(path.display().to_string(), text);
    file.path = Some(path.to_owned());
    sources.add(file);
    let program_folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let folders: Vec<PathBuf> =
        std::iter::once(program_folder).chain(folders.iter().cloned()).collect();
    let mut read = |path: &Path| {
        let text = fs::read_to_string(path)?;
        Ok(text.strip_prefix(BYTE_ORDER_MARK).map_or(text.clone(), str::to_owned))
    };
    let mut read = inside(&folders, &mut read);
    let program = StanProgram::read(sources, &mut Folders::new(folders, &mut read));
    Ok(program.map_err(exmc::Error::from)?)
}

/// What reads a file only if it lies in one of the folders. Where links lead decides, not where
/// they are.
pub(crate) fn inside<'r>(
    folders: &[PathBuf],
    read: &'r mut dyn FnMut(&Path) -> io::Result<String>,
) -> impl FnMut(&Path) -> io::Result<String> + use<'r> {
    let real = |folder: &PathBuf| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        folder.canonicalize().ok()
    };
    let folders: Vec<PathBuf> = folders.iter().filter_map(real).collect();
    move |path| {
        let target = path.canonicalize()?;
        if folders.iter().any(|folder| target.starts_with(folder)) {
            return read(path);
        }
        let message = "it is a link that leads out of the program's folder and the include paths";
        Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
    }
}

impl Source {
    /// The data's file, for messages.
    pub(crate) fn data_name(&self) -> String {
        self.data_path.as_ref().map_or("no data".to_owned(), |path| path.display().to_string())
    }

    /// The model's text as a run keeps it: with what a program includes in its place.
    pub(crate) fn stored_model(&self) -> String {
        match &self.front {
            Front::Json { .. } => self.model_text.clone(),
            Front::Stan(program) => program.text(),
        }
    }

    /// That text, with the form that it has.
    pub(crate) fn model_as<'a>(&self, text: &'a str) -> ModelText<'a> {
        match &self.front {
            Front::Json { .. } => ModelText::Json(text),
            Front::Stan(_) => ModelText::Stan(text),
        }
    }

    /// Compiles the model and gives it its data.
    pub(crate) fn compile(&self, options: &CompileOptions) -> Result<Compiled, Failure> {
        let data_path = self.data_path.as_deref();
        let (model, data) = match &self.front {
            Front::Json { model, data } => (model, data),
            Front::Stan(program) => {
                let mut stan_options = StanOptions::default();
                stan_options.compile = options.clone();
                stan_options.stop.clone_from(&self.stop);
                if !self.quiet {
                    let screen = self.screen.clone();
                    let print = move |line: &str| screen.suspend(|| say(line));
                    stan_options.printer = Some(Printer::new(print));
                }
                let name = data_path.map_or("no data".to_owned(), |p| p.display().to_string());
                let text = self.data_text.as_deref().unwrap_or("{}");
                let made = program.bind_with(&name, text, &stan_options).map_err(|error| {
                    let failure = Failure::from(error);
                    match data_path {
                        None if !program.typed().data.is_empty() => {
                            failure.hint("data are given with `--data FILE`")
                        }
                        _ => failure,
                    }
                })?;
                made.warnings().iter().for_each(|warning| say(warning));
                let times = made.times();
                return Ok(Compiled {
                    bound: made.bound().clone(),
                    compile_time: times.lower + times.compile,
                    bind_time: times.data,
                    stan: Some(made),
                });
            }
        };
        // Before the compiler looks at the model: mistakes in the data are the likelier ones.
        data.check_against(model).map_err(|error| {
            let failure = Failure::from(error);
            match data_path {
                Some(path) => failure.in_file(path),
                None => failure.hint("give the data with `--data FILE`"),
            }
        })?;
        let began = Instant::now();
        let compiled = compile(model, options)?;
        let compile_time = began.elapsed();
        let began = Instant::now();
        let bound = compiled.bind(data.clone())?;
        Ok(Compiled { bound, compile_time, bind_time: began.elapsed(), stan: None })
    }

    /// Compiles the model; a JSON model needs no data for that.
    pub(crate) fn compile_only(&self, options: &CompileOptions) -> Result<CompiledModel, Failure> {
        match &self.front {
            Front::Json { model, .. } => Ok(compile(model, options)?),
            Front::Stan(_) => {
                if options.interpreter == Interpreter::Always {
                    let message = "an interpreted program has no graph of its density";
                    let hint = "leave `--executor interpreter` out";
                    return Err(Failure::new(Exit::Usage, message).hint(hint));
                }
                let mut options = options.clone();
                options.interpreter = Interpreter::Never;
                Ok(self.compile(&options)?.bound.compiled().clone())
            }
        }
    }

    /// The Stan program, if it is one.
    pub(crate) fn program(&self) -> Result<&StanProgram, Failure> {
        match &self.front {
            Front::Stan(program) => Ok(program),
            Front::Json { .. } => {
                let message = "a JSON model has no such stage: it is one of a Stan program";
                let hint = "its stages are model, json, rewritten, coordinates, graph, optimised, grad and program";
                Err(Failure::new(Exit::Usage, message).hint(hint))
            }
        }
    }

    /// How each loop of a Stan program's density is lowered, a line each.
    pub(crate) fn loops(&self, options: &CompileOptions) -> Result<String, Failure> {
        self.program()?;
        let mut options = options.clone();
        options.interpreter = Interpreter::Never;
        Ok(self.compile(&options)?.stan.map_or_else(String::new, |model| model.loops()))
    }

    /// The model as data; a Stan program has none.
    pub(crate) fn model(&self) -> Result<&Model, Failure> {
        match &self.front {
            Front::Json { model, .. } => Ok(model),
            Front::Stan(_) => {
                let message = "a Stan program is lowered to a graph without this stage";
                let hint = "its stages are ast, typed, coordinates, loops, graph, optimised, grad and program";
                Err(Failure::new(Exit::Usage, message).hint(hint))
            }
        }
    }
}

impl Compiled {
    /// Reads constrained points (initial values, or where to evaluate): an object of names and
    /// values, or a list of such objects.
    pub(crate) fn read_points(&self, path: &Path) -> Result<Vec<Values>, Failure> {
        let Some(stan) = &self.stan else { return read_points(path) };
        let text = read_text(path)?;
        if text.trim_start().starts_with('[') {
            return read_points(path);
        }
        let name = path.display().to_string();
        Ok(vec![stan.inits(&name, &text).map_err(exmc::Error::from)?])
    }
}

/// A program's text. That it is not UTF-8 is no mistake of JSON.
fn read_program_text(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|e| Failure::unreadable(path, &e))?;
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.as_bytes()[error.utf8_error().valid_up_to()];
        let path = path.display();
        let message = format!("`{path}` is not UTF-8: it holds the byte 0x{byte:02X}");
        Failure::new(Exit::Model, message).hint("save it as UTF-8")
    })
}

/// A file's text.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|e| Failure::unreadable(path, &e))?;
    match decode_utf8(&bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(Failure::from(error).in_file(path)),
    }
}
