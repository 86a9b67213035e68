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

use rustc_hash::FxHashMap;

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
    read_data_without(program, file_name, text, &BTreeSet::new())
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
    let mut env = Environment::new(program);
    let mut reader = Reader::new(program, file_name, text);
    let mut found = reader.entries(&program.data);
    let any = !found.is_empty();
    for declaration in &program.data {
        let name = &*program.variable(declaration.variable).name;
        let entry = match found.remove(name) {
            Some(entry) => entry,
            None if reader.is_empty(&mut env, declaration) => Entry { raw: Raw::empty(), start: 0 },
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
    let mut reader = Reader::new(program, file_name, text);
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

/// A value and where it starts.
struct Entry {
    raw: Raw,
    start: usize,
}

struct Reader<'p, 't> {
    program: &'p Program,
    name: &'t str,
    text: &'t str,
    /// The number that the text has among the sources of errors, behind the program's texts.
    file: u32,
    host: Interpreter<'p>,
    diagnostics: Vec<Diagnostic>,
}

impl<'p, 't> Reader<'p, 't> {
    fn new(program: &'p Program, name: &'t str, text: &'t str) -> Self {
        let file = program.sources.files().len() as u32;
        let host = Interpreter::new(program, Settings::default());
        Self { program, name, text, file, host, diagnostics: Vec::new() }
    }

    fn finish(self, env: Environment) -> Result<Environment, DataErrors> {
        if self.diagnostics.is_empty() {
            return Ok(env);
        }
        let mut sources = self.program.sources.clone();
        sources.add(SourceFile::new(self.name, self.text));
        Err(DataErrors { sources, diagnostics: self.diagnostics })
    }

    fn malformed(&mut self, found: &Malformed) {
        let span = found.span(self.file);
        self.diagnostics.push(Diagnostic::error(Class::Data, span, found.message.clone()));
    }

    /// The values of declared names, by name.
    fn entries(&mut self, declared: &[Declaration]) -> FxHashMap<&'p str, Entry> {
        let wanted = declared.iter().map(|d| &*self.program.variable(d.variable).name).collect();
        let mut found = FxHashMap::default();
        if let Err(malformed) = object(self.text, &wanted, &mut found) {
            self.malformed(&malformed);
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
        if self.diagnostics.iter().any(|d| d.span.file == self.file && d.labels.is_empty()) {
            return;
        }
        let message = format!("the data have no `{name}`, which the program declares");
        let error = Diagnostic::error(Class::Data, declaration.span, message);
        self.diagnostics.push(if others {
            error.help(format!("add \"{name}\" to `{}`", self.name))
        } else if self.text == "{}" {
            // Nothing was given, which is for who asked to say.
            error
        } else {
            error.help(format!("`{}` holds none of the program's variables", self.name))
        });
    }

    /// A value under its declaration, or nothing and an error.
    fn value(
        &mut self,
        env: &mut Environment,
        declaration: &Declaration,
        Entry { raw, start }: Entry,
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
                self.located(start, &wrong.path, message, wrong.help, declaration);
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
                self.located(start, &violation.path, message, None, declaration);
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
        entry: usize,
        path: &[Step],
        message: String,
        help: Option<String>,
        declaration: &Declaration,
    ) {
        let (start, end) = locate::locate(self.text, entry, path);
        let span = Span { file: self.file, start: start as u32, end: end as u32 };
        let error = Diagnostic::error(Class::Data, span, message);
        let error = error.label(declaration.span, "declared here");
        self.diagnostics.push(match help {
            Some(help) => error.help(help),
            None => error,
        });
    }
}

/// Reads the whole object; keeps the values of wanted names.
fn object<'w>(
    text: &str,
    wanted: &rustc_hash::FxHashSet<&'w str>,
    found: &mut FxHashMap<&'w str, Entry>,
) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(text.strip_prefix('\u{feff}').unwrap_or(text), 0);
    let offset = text.len() - cursor.bytes.len();
    let shifted = |m: Malformed| Malformed { start: m.start + offset, end: m.end + offset, ..m };
    members(&mut cursor, wanted, found, offset).map_err(shifted)
}

fn members<'w>(
    cursor: &mut Cursor<'_>,
    wanted: &rustc_hash::FxHashSet<&'w str>,
    found: &mut FxHashMap<&'w str, Entry>,
    offset: usize,
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
            let name = std::str::from_utf8(&key).ok().and_then(|key| wanted.get(key).copied());
            match name {
                Some(name) => {
                    cursor.peek();
                    let place = cursor.position + offset;
                    let raw = raw::parse(cursor, 0)?;
                    if found.insert(name, Entry { raw, start: place }).is_some() {
                        let message = format!("`{name}` is there twice");
                        return Err(Malformed { start, end, message });
                    }
                }
                None => cursor.skip(0)?,
            }
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
