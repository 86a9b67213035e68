//! `exmc check`: Stan programs -> what is wrong with them, their canonical text, or facts about
//! them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use exmc_cmdstan::program_info;
use exmc_stan::check::check;
use exmc_stan::diagnostic::{Diagnostic, Severity};
use exmc_stan::report::{include_chain, locate, render};
use exmc_stan::source::{SourceFile, Sources};
use exmc_stan::syntax::tree::Program;
use exmc_stan::syntax::{Folders, parse, print};
use serde_json::{Map, Value, json};

use crate::display::{count, put, put_json, say};
use crate::failure::{Exit, Failure};
use crate::source::inside;

/// Check Stan programs without running them
///
/// Mistakes go to standard error with their places and hints; the exit code is 1 when there is one.
/// Files that `#include` names are looked for in the program's folder, then in the include paths,
/// and nowhere else.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The programs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Look for included files here too (may be repeated)
    #[arg(long = "include-path", value_name = "DIR")]
    include_paths: Vec<PathBuf>,
    /// Write each program in canonical form to standard output
    #[arg(long, conflicts_with_all = ["json", "info"])]
    print: bool,
    /// Write the programs' variables and the library functions that they call, as JSON
    #[arg(long)]
    info: bool,
    /// Write the diagnostics as JSON to standard output
    #[arg(long, conflicts_with = "info")]
    pub(crate) json: bool,
}

/// A program that was read and checked.
struct Checked {
    sources: Sources,
    program: Program,
    diagnostics: Vec<Diagnostic>,
}

impl Checked {
    fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|d| d.severity == Severity::Error).count()
    }
}

pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    let mut broken = 0;
    for path in &args.files {
        let checked = check_file(path, &args.include_paths)?;
        broken += u64::from(checked.errors() > 0);
        if args.json {
            files.push(file_json(path, &checked));
        } else {
            for diagnostic in &checked.diagnostics {
                say(&render(diagnostic, &checked.sources));
                say("");
            }
        }
        if checked.errors() > 0 {
            continue;
        }
        if args.print {
            put(&print(&checked.program, &checked.sources))?;
        }
        if args.info {
            put_json(&program_info(&checked.program, &checked.sources))?;
        }
    }
    if args.json {
        put_json(&json!({"exmc": crate::report::JSON_VERSION, "files": files}))?;
    } else if broken == 0 && !args.print && !args.info {
        say(&format!("{} without errors", count(args.files.len() as u64, "program")));
    } else if broken > 0 {
        say(&format!("error: {} with errors", count(broken, "program")));
    }
    Ok(if broken == 0 { Exit::Success } else { Exit::Model })
}

/// Reads and checks one program.
fn check_file(path: &Path, include_paths: &[PathBuf]) -> Result<Checked, Failure> {
    let text = read_lossy(path).map_err(|error| Failure::unreadable(path, &error))?;
    let mut file = SourceFile::new(path.display().to_string(), text);
    file.path = Some(path.to_owned());
    let mut sources = Sources::default();
    sources.add(file);
    let program_folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::iter::once(program_folder).chain(include_paths.iter().cloned()).collect();
    let mut read = |path: &Path| read_lossy(path);
    let mut read = inside(&folders, &mut read);
    let (program, mut diagnostics) = parse(&mut sources, &mut Folders::new(folders, &mut read));
    // Types mean nothing in a program that is not whole.
    if !diagnostics.iter().any(|d| d.severity == Severity::Error) {
        diagnostics.extend(check(sources.clone(), &program).1);
    }
    Ok(Checked { sources, program, diagnostics })
}

/// A file's text. Comments in an old encoding are no reason to refuse a program, so what is no
/// UTF-8 is replaced; outside comments and texts the replacement is reported like any other stray
/// character.
fn read_lossy(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

fn file_json(path: &Path, checked: &Checked) -> Value {
    let diagnostics: Vec<Value> =
        checked.diagnostics.iter().map(|d| diagnostic_json(d, &checked.sources)).collect();
    json!({
        "file": path.display().to_string(),
        "ok": checked.errors() == 0,
        "diagnostics": diagnostics,
    })
}

fn diagnostic_json(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut object = Map::new();
    object.insert("class".to_owned(), diagnostic.class.name().into());
    object.insert("severity".to_owned(), severity.into());
    place_json(&mut object, diagnostic.span, sources);
    object.insert("message".to_owned(), diagnostic.message.as_str().into());
    object.insert("help".to_owned(), diagnostic.help.as_deref().into());
    let labels = diagnostic.labels.iter().map(|(span, words)| {
        let mut label = Map::new();
        place_json(&mut label, *span, sources);
        label.insert("message".to_owned(), words.as_str().into());
        Value::Object(label)
    });
    object.insert("labels".to_owned(), labels.collect());
    object.insert("included_from".to_owned(), include_chain(diagnostic.span, sources).into());
    Value::Object(object)
}

/// Lines and columns from 1; the end is one past the last character.
fn place_json(object: &mut Map<String, Value>, span: exmc_stan::source::Span, sources: &Sources) {
    if let Some(location) = locate(span, sources) {
        object.insert("file".to_owned(), location.file.into());
        object.insert("line".to_owned(), location.line.into());
        object.insert("column".to_owned(), location.column.into());
        object.insert("end_line".to_owned(), location.end_line.into());
        object.insert("end_column".to_owned(), location.end_column.into());
    }
}
