//! `bin/stanc`: a Stan program -> what is wrong with it, facts about it, its text in canonical
//! form, or a model executable.
//!
//! The options are those of stanc 3. Where it would write C++, this program has nothing to write:
//! `make` asks it for an executable instead (`--executable`), which is a copy of itself with the
//! program behind it.

mod canonical;
mod info;
mod modernise;
mod options;
mod pedantic;
mod read;
mod wrap;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use exmc_stan::diagnostic::{Diagnostic, Severity};
use exmc_stan::report::{locate, render};
use exmc_stan::source::Sources;
use exmc_stan::syntax::print;

use crate::VERSION;
use crate::bridgestan;
use crate::console::complain;
use crate::failure::Failure;
use crate::program::{Payload, Text};
pub use info::program_info;
use options::Options;
use read::Program;

/// Runs `stanc` with the arguments behind its name.
pub(crate) fn run(args: &[String], image: &Path) -> Result<(), Failure> {
    let options = Options::read(args)?;
    if options.help {
        return Ok(put(options::HELP)?);
    }
    if options.version {
        return Ok(put(&format!("stanc3 v{VERSION} ({})\n", crate::PROGRAM))?);
    }
    let Some(path) = options.file.clone() else {
        return Err(Failure::new("stanc: no Stan program is given; see `stanc --help`"));
    };
    let program = read::read(&path, &options)?;
    let mut errors = Vec::new();
    for diagnostic in &program.diagnostics {
        match diagnostic.severity {
            Severity::Error => errors.push(error_text(diagnostic, &program.sources)),
            Severity::Warning => complain(&warning_text(diagnostic, &program.sources)),
        }
    }
    if !errors.is_empty() {
        return Err(Failure::new(errors.join("\n\n") + undefined_hint(&program, &options)));
    }
    if options.warn_pedantic {
        for warning in pedantic::warnings(&program.tree) {
            complain(&format!("Warning: {warning}"));
        }
    }
    act(&path, program, &options, image)
}

/// What is asked of a program without errors.
fn act(path: &Path, mut program: Program, options: &Options, image: &Path) -> Result<(), Failure> {
    if options.info {
        let json = program_info(&program.tree, &program.sources);
        return Ok(put(&format!("{json:#}\n"))?);
    }
    if options.auto_format || options.print_canonical || !options.canonicalize.is_empty() {
        for what in canonical::apply(&mut program, options)? {
            complain(&format!("stanc: note: {what}"));
        }
        let text = wrap::wrap(&print(&program.tree, &program.sources), options.max_line_length);
        let text = canonical::without_stand_ins(&text);
        return match &options.output {
            Some(file) => fs::write(file, text).map_err(|e| Failure::unwritable(file, &e)),
            None => Ok(put(&text)?),
        };
    }
    if let Some(executable) = &options.executable {
        return make(path, program, options, image, executable);
    }
    if let Some(library) = &options.library {
        let template = bridgestan::template(image);
        return make(path, program, options, &template, library);
    }
    let file = options.output.clone().unwrap_or_else(|| path.with_extension("hpp"));
    let name = path.display();
    let text = format!(
        "// exmc makes no C++ of `{name}`: `make` makes an executable of it without a compiler.\n"
    );
    fs::write(&file, text).map_err(|e| Failure::unwritable(&file, &e))
}

/// Writes a model: a copy of an image with the program behind it.
fn make(
    path: &Path,
    program: Program,
    options: &Options,
    image: &Path,
    executable: &Path,
) -> Result<(), Failure> {
    let unwritable = |e| Failure::unwritable(executable, &e);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let main = Text { name: options.shown_name(path), text: program.text.clone() };
    let payload = Payload {
        name: options.name.clone().unwrap_or_else(|| format!("{stem}_model")),
        main,
        included: program.included,
        stanc_flags: options.flags.join(" "),
        switches: options.switches.clone(),
    };
    // A run of the executable that is replaced goes on with the old file.
    let folder = executable.parent().unwrap_or(Path::new(""));
    let part = folder.join(format!(".exmc-{}-{stem}", std::process::id()));
    let written = fs::copy(image, &part)
        .and_then(|_| payload.append_to(&part))
        .and_then(|()| fs::rename(&part, executable));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written.map_err(unwritable)
}

/// An error as editors and clients look for it: a line that names kind and place, then ours.
fn error_text(diagnostic: &Diagnostic, sources: &Sources) -> String {
    use exmc_stan::diagnostic::Class;
    let kind = match diagnostic.class {
        Class::Syntax | Class::Include => "Syntax error",
        Class::Unsupported => "Unsupported feature",
        _ => "Semantic error",
    };
    let rendered = render(diagnostic, sources);
    let Some(location) = locate(diagnostic.span, sources) else {
        return format!("{kind}:\n{rendered}");
    };
    let end = match location.line == location.end_line {
        true => format!("column {}", location.end_column - 1),
        false => format!("line {}, column {}", location.end_line, location.end_column - 1),
    };
    let (file, line, column) = (&location.file, location.line, location.column - 1);
    format!("{kind} in '{file}', line {line}, column {column} to {end}:\n{rendered}")
}

fn warning_text(diagnostic: &Diagnostic, sources: &Sources) -> String {
    let place = locate(diagnostic.span, sources).map(|location| {
        format!(" in '{}', line {}, column {}", location.file, location.line, location.column - 1)
    });
    format!("Warning{}: {}", place.unwrap_or_default(), render(diagnostic, sources))
}

/// What to say of functions without a body where they were allowed.
fn undefined_hint(program: &Program, options: &Options) -> &'static str {
    let undefined = |d: &Diagnostic| d.message.ends_with("is declared and never defined");
    if options.allow_undefined && program.diagnostics.iter().any(undefined) {
        return "\n\n--allow-undefined asks for functions in C++, which exmc has no compiler for: \
                write the function in Stan";
    }
    ""
}

fn put(text: &str) -> std::io::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes())
}

/// Where files that a program includes may lie: its own folder, then those that were given.
fn folders(path: &Path, options: &Options) -> Vec<PathBuf> {
    let program_folder = path.parent().unwrap_or(Path::new("")).to_owned();
    // Some clients name its own folder too.
    let others: Vec<PathBuf> =
        options.include_paths.iter().filter(|path| **path != program_folder).cloned().collect();
    std::iter::once(program_folder).chain(others).collect()
}
