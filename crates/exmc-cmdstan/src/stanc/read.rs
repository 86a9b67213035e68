//! A program's file -> its texts, tree and diagnostics, with the files that it includes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use exmc_stan::check::check;
use exmc_stan::diagnostic::{Diagnostic, Severity};
use exmc_stan::source::{SourceFile, Sources};
use exmc_stan::syntax::{Folders, Resolver, parse, tree};

use super::modernise::modernise;
use super::options::Options;
use crate::failure::Failure;
use crate::program::Text;

/// See the module.
pub(super) struct Program {
    pub(super) text: String,
    pub(super) sources: Sources,
    pub(super) tree: tree::Program,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Included texts, by the name that `#include` gives.
    pub(super) included: BTreeMap<String, Text>,
}

/// Notes what it finds.
struct Noting<'a, 'f> {
    folders: Folders<'f>,
    found: &'a RefCell<BTreeMap<String, Text>>,
}

impl Resolver for Noting<'_, '_> {
    fn resolve(&mut self, name: &str) -> Result<SourceFile, String> {
        let file = self.folders.resolve(name)?;
        let text = Text { name: file.name.clone(), text: file.text.to_string() };
        self.found.borrow_mut().insert(name.to_owned(), text);
        Ok(file)
    }
}

/// A file's text without a byte order mark; what is no UTF-8, in comments of old encodings, is
/// replaced.
fn text_of(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

/// # Errors
/// A file that cannot be read. Mistakes of the program are among its diagnostics.
pub(super) fn read(path: &Path, options: &Options) -> Result<Program, Failure> {
    let mut text =
        text_of(path).map_err(|e| Failure::unreadable(&path.display().to_string(), &e))?;
    if options.asks_for("deprecations") {
        text = modernise(&text);
    }
    let mut file = SourceFile::new(options.shown_name(path), text.as_str());
    file.path = Some(path.to_owned());
    let mut sources = Sources::default();
    sources.add(file);
    let found = RefCell::new(BTreeMap::new());
    let mut open = |path: &Path| text_of(path);
    let folders = Folders::new(super::folders(path, options), &mut open);
    let mut resolver = Noting { folders, found: &found };
    let (tree, mut diagnostics) = parse(&mut sources, &mut resolver);
    // Types mean nothing in a program that is not whole.
    if !diagnostics.iter().any(|d| d.severity == Severity::Error) {
        diagnostics.extend(check(sources.clone(), &tree).1);
    }
    let included = found.into_inner();
    Ok(Program { text, sources, tree, diagnostics, included })
}
