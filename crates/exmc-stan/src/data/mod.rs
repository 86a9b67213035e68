//! Data files: JSON text and declarations -> values, checked.
//!
//! The format is CmdStan's: one object, a key for each variable, nested arrays row by row, tuples
//! as objects with keys "1", "2" …, complex numbers as pairs, numbers that are not finite as `NaN`,
//! `Infinity` or strings. Only what is declared is kept; sizes and bounds are evaluated in the
//! order of declarations, so that they may use what was read before.

mod cursor;
mod generate;
mod locate;
mod raw;
mod shape;
mod write;

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostic::{Class, Diagnostic};
use crate::host::{Environment, Extents, Interpreter, Settings, Step, unset};
use crate::source::{SourceFile, Sources, Span};
use crate::typed::{Declaration, Program, VariableId};
use crate::value::Value;

pub use generate::{WAYS, generate_data};
pub use write::write_data;

use cursor::{Cursor, Malformed};
use raw::Raw;

/// What is wrong with a data file. The spans point into the program's texts and, after them, the
/// data's.
#[derive(Clone, Debug)]
pub struct DataErrors {
    /// The program's texts and the data's text.
    pub sources: Sources,
    /// At least one error.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the data of a program from CmdStan's JSON. Without a data file, the text is `{}`.
///
/// # Errors
/// Text that is no JSON; a variable that is missing and not of size zero, or of another kind or
/// size, or that does not satisfy its constraint (to Stan's tolerance of 1e-8). One error for each
/// variable.
pub fn read_data(
    program: &Program,
    file_name: &str,
    text: &str,
) -> Result<Environment, DataErrors> {
    read(program, &[(file_name, text)], &BTreeSet::new())
}

/// The same from several files, each with its name: a variable has the value of the last file that
/// holds one.
///
/// # Errors
/// As [`read_data`], each in the file that the value is from.
pub fn read_data_of_files(
    program: &Program,
    files: &[(&str, &str)],
) -> Result<Environment, DataErrors> {
    read(program, files, &BTreeSet::new())
}

/// The same, where variables of `optional` may be left out: they are then unset.
///
/// # Errors
/// As [`read_data`], but for those.
pub fn read_data_without(
    program: &Program,
    file_name: &str,
    text: &str,
    optional: &BTreeSet<VariableId>,
) -> Result<Environment, DataErrors> {
    read(program, &[(file_name, text)], optional)
}

/// Names that a data file gives values, in its order; those before a mistake of its text.
pub fn names(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    // Whoever reads the values says what is wrong with the text.
    let _ = object(text, |cursor, key, _| {
        all.extend(std::str::from_utf8(key).ok().map(str::to_owned));
        cursor.skip(0)
    });
    all
}

fn read(
    program: &Program,
    files: &[(&str, &str)],
    optional: &BTreeSet<VariableId>,
) -> Result<Environment, DataErrors> {
    let mut env = Environment::new(program);
    let mut reader = Reader::new(program, files);
    let mut found = reader.entries(&program.data);
    let any = !found.is_empty();
    for declaration in &program.data {
        let name = &*program.variable(declaration.variable).name;
        let entry = match found.remove(name) {
            Some(entry) => entry,
            None if reader.is_empty(&mut env, declaration) => {
                Entry { raw: Raw::empty(), file: 0, start: 0 }
            }
            None if optional.contains(&declaration.variable) => {
                let ty = &program.variable(declaration.variable).ty;
                if let Ok(extents) = reader.host.extents(&mut env, &declaration.ty) {
                    env.set(declaration.variable, unset(ty, &extents));
                }
                continue;
            }
            None => {
                reader.missing(name, declaration, any);
                continue;
            }
        };
        if let Some(value) = reader.value(&mut env, declaration, entry, true) {
            env.set(declaration.variable, value);
        }
    }
    reader.finish(env)
}

/// Reads starting values of parameters, on the constrained scale, from the same format. Parameters
/// may be left out; what is left out has no value in the environment that is returned. `env` holds
/// data and transformed data.
///
/// # Errors
/// As [`read_data`], but for parameters that are missing.
pub fn read_inits(
    program: &Program,
    env: &Environment,
    file_name: &str,
    text: &str,
) -> Result<Environment, DataErrors> {
    let mut env = env.clone();
    let mut reader = Reader::new(program, &[(file_name, text)]);
    let mut found = reader.entries(&program.parameters);
    for declaration in &program.parameters {
        let name = &*program.variable(declaration.variable).name;
        if let Some(entry) = found.remove(name)
            && let Some(value) = reader.value(&mut env, declaration, entry, false)
        {
            env.set(declaration.variable, value);
        }
    }
    reader.finish(env)
}

/// A value, the number of its file, and where it starts there.
struct Entry {
    raw: Raw,
    file: usize,
    start: usize,
}

struct Reader<'p, 't> {
    program: &'p Program,
    /// Names and texts.
    files: Vec<(&'t str, &'t str)>,
    /// The number that the first text has among the sources of errors, behind the program's texts.
    first: u32,
    host: Interpreter<'p>,
    diagnostics: Vec<Diagnostic>,
}

impl<'p, 't> Reader<'p, 't> {
    fn new(program: &'p Program, files: &[(&'t str, &'t str)]) -> Self {
        let first = program.sources.files().len() as u32;
        let host = Interpreter::new(program, Settings::default());
        Self { program, files: files.to_vec(), first, host, diagnostics: Vec::new() }
    }

    fn finish(self, env: Environment) -> Result<Environment, DataErrors> {
        if self.diagnostics.is_empty() {
            return Ok(env);
        }
        let mut sources = self.program.sources.clone();
        for (name, text) in &self.files {
            sources.add(SourceFile::new(*name, *text));
        }
        Err(DataErrors { sources, diagnostics: self.diagnostics })
    }

    /// The values of declared names, by name.
    fn entries(&mut self, declared: &[Declaration]) -> FxHashMap<&'p str, Entry> {
        let wanted: FxHashSet<&'p str> =
            declared.iter().map(|d| &*self.program.variable(d.variable).name).collect();
        let mut found: FxHashMap<&'p str, Entry> = FxHashMap::default();
        for (file, (_, text)) in self.files.iter().enumerate() {
            let read = object(text, |cursor, key, [start, end]| {
                let name = std::str::from_utf8(key).ok().and_then(|key| wanted.get(key).copied());
                let Some(name) = name else { return cursor.skip(0) };
                cursor.peek();
                let place = cursor.position;
                let entry = Entry { raw: raw::parse(cursor, 0)?, file, start: place };
                if found.insert(name, entry).is_some_and(|earlier| earlier.file == file) {
                    let message = format!("`{name}` is there twice");
                    return Err(Malformed { start, end, message });
                }
                Ok(())
            });
            if let Err(malformed) = read {
                let span = malformed.span(self.first + file as u32);
                let error = Diagnostic::error(Class::Data, span, malformed.message);
                self.diagnostics.push(error);
            }
        }
        found
    }

    /// Whether a variable holds no element by its declaration, so that nothing is missing when it
    /// is left out.
    fn is_empty(&mut self, env: &mut Environment, declaration: &Declaration) -> bool {
        self.host.extents(env, &declaration.ty).is_ok_and(|extents| match extents {
            Extents::Numbers(shape) | Extents::Tuples(shape, _) => shape.contains(&0),
            Extents::Tuple(_) => false,
        })
    }

    fn missing(&mut self, name: &str, declaration: &Declaration, others: bool) {
        // After an error in the text, what follows it is missing for that reason.
        if self.diagnostics.iter().any(|d| d.span.file >= self.first && d.labels.is_empty()) {
            return;
        }
        let message = format!("the data have no `{name}`, which the program declares");
        let error = Diagnostic::error(Class::Data, declaration.span, message);
        let Some((file, text)) = self.files.last() else { return };
        self.diagnostics.push(if others {
            error.help(format!("add \"{name}\" to `{file}`"))
        } else if *text == "{}" {
            // Nothing was given, which is for who asked to say.
            error
        } else {
            error.help(format!("`{file}` holds none of the program's variables"))
        });
    }

    /// A value under its declaration, or nothing and an error.
    fn value(
        &mut self,
        env: &mut Environment,
        declaration: &Declaration,
        Entry { raw, file, start }: Entry,
        checked: bool,
    ) -> Option<Value> {
        let variable = self.program.variable(declaration.variable);
        let extents = match self.host.extents(env, &declaration.ty) {
            Ok(extents) => extents,
            Err(error) => {
                // A size that cannot be known because of an error above is not another error.
                if self.diagnostics.is_empty() {
                    let mut diagnostic = error.to_diagnostic();
                    diagnostic.message = format!("`{}`: {}", variable.name, diagnostic.message);
                    self.diagnostics.push(diagnostic);
                }
                return None;
            }
        };
        let value = match shape::value(raw, &variable.ty, &extents, &mut Vec::new()) {
            Ok(value) => value,
            Err(wrong) => {
                let message = wrong.sentence(&variable.name);
                self.located((file, start), &wrong.path, message, wrong.help, declaration);
                return None;
            }
        };
        if !checked {
            return Some(value);
        }
        match self.host.check_constraints(env, &declaration.ty, &value) {
            Ok(Ok(())) => {}
            Ok(Err(violation)) => {
                let message = violation.sentence(&variable.name);
                self.located((file, start), &violation.path, message, None, declaration);
            }
            Err(error) if self.diagnostics.is_empty() => {
                self.diagnostics.push(error.to_diagnostic());
            }
            Err(_) => {}
        }
        Some(value)
    }

    fn located(
        &mut self,
        (file, entry): (usize, usize),
        path: &[Step],
        message: String,
        help: Option<String>,
        declaration: &Declaration,
    ) {
        let (start, end) = locate::locate(self.files[file].1, entry, path);
        let number = self.first + file as u32;
        let span = Span { file: number, start: start as u32, end: end as u32 };
        let error = Diagnostic::error(Class::Data, span, message);
        let error = error.label(declaration.span, "declared here");
        // Where the files after this one change a size, say, the value has to change with it.
        let replaced = self.files[file + 1..].last().map(|(last, _)| {
            let name = &self.program.variable(declaration.variable).name;
            format!("give \"{name}\" in `{last}` too, in place of this")
        });
        let help = replaced.or(help);
        self.diagnostics.push(match help {
            Some(help) => error.help(help),
            None => error,
        });
    }
}

/// Reads the whole object: `member` takes each key, with where it starts and ends, and reads its
/// value.
fn object<'t>(
    text: &'t str,
    member: impl FnMut(&mut Cursor<'t>, &[u8], [usize; 2]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let offset = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    members(&mut Cursor::new(text, offset), member)
}

fn members<'t>(
    cursor: &mut Cursor<'t>,
    mut member: impl FnMut(&mut Cursor<'t>, &[u8], [usize; 2]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    if !cursor.take(b'{') {
        let what = cursor.found();
        return cursor.error(format!("expected an object `{{…}}` with the data, found {what}"));
    }
    if !cursor.take(b'}') {
        loop {
            cursor.peek();
            let start = cursor.position;
            let key = cursor.string()?;
            let end = cursor.position;
            cursor.colon()?;
            member(cursor, &key, [start, end])?;
            if cursor.take(b'}') {
                break;
            }
            cursor.comma("}")?;
        }
    }
    if cursor.peek().is_some() {
        let what = cursor.found();
        return cursor.error(format!("expected the end of the file after the data, found {what}"));
    }
    Ok(())
}
