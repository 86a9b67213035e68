//! `#include "f"` -> the text of `f`, from the given folders only.
//!
//! This crate opens no file: whoever has files hands in a function that reads one.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::source::SourceFile;

/// Most files that may include each other in a row.
pub const MAX_INCLUDE_DEPTH: usize = 32;
/// Most files of one program.
pub const MAX_INCLUDES: usize = 1000;

/// Finds the texts that `#include` names.
pub trait Resolver {
    /// The text under a name.
    ///
    /// # Errors
    /// A sentence for the user: why there is none.
    fn resolve(&mut self, name: &str) -> Result<SourceFile, String>;
}

/// No includes: for programs that come without a folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIncludes;

impl Resolver for NoIncludes {
    fn resolve(&mut self, name: &str) -> Result<SourceFile, String> {
        Err(format!("cannot include `{name}`: this program was given without a folder to look in"))
    }
}

/// Looks in folders, in their order, and never outside them: a name that climbs with `..` is
/// refused, and one that begins with `/` is looked for inside them like any other, as stanc does
/// (rstanarm's programs are written so).
pub struct Folders<'a> {
    folders: Vec<PathBuf>,
    read: &'a mut dyn FnMut(&Path) -> io::Result<String>,
}

impl std::fmt::Debug for Folders<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Folders").field("folders", &self.folders).finish_non_exhaustive()
    }
}

impl<'a> Folders<'a> {
    /// Folders, and what reads a file.
    pub fn new(
        folders: Vec<PathBuf>,
        read: &'a mut dyn FnMut(&Path) -> io::Result<String>,
    ) -> Self {
        Self { folders, read }
    }
}

impl Resolver for Folders<'_> {
    fn resolve(&mut self, name: &str) -> Result<SourceFile, String> {
        if name.trim_start_matches('/').is_empty() {
            return Err("`#include` names no file".to_owned());
        }
        let relative_path = Path::new(name.trim_start_matches('/'));
        let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !relative_path.components().all(inside) {
            return Err(format!(
                "cannot include `{name}`: an included file lies in the program's folder or an include path, and its name has no `..`"
            ));
        }
        for folder in &self.folders {
            let path = folder.join(relative_path);
            match (self.read)(&path) {
                Ok(text) => {
                    let mut file = SourceFile::new(path.display().to_string(), text);
                    file.path = Some(path);
                    return Ok(file);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("cannot read `{}`: {error}", path.display())),
            }
        }
        let places: Vec<String> = self.folders.iter().map(|f| format!("`{}`", shown(f))).collect();
        Err(format!("cannot find `{name}` to include; looked in {}", places.join(", ")))
    }
}

/// A folder as messages name it.
fn shown(folder: &Path) -> String {
    if folder.as_os_str().is_empty() { ".".to_owned() } else { folder.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(path: &Path) -> io::Result<String> {
        if path == Path::new("lib/a.stan") {
            Ok("real a;".to_owned())
        } else {
            Err(io::Error::from(io::ErrorKind::NotFound))
        }
    }

    #[test]
    fn a_file_is_looked_for_in_each_folder() {
        let mut read = reader;
        let mut folders =
            Folders::new(vec![PathBuf::from("here"), PathBuf::from("lib")], &mut read);
        assert_eq!(folders.resolve("a.stan").unwrap().name, "lib/a.stan");
        assert_eq!(&*folders.resolve("./a.stan").unwrap().text, "real a;");
        assert_eq!(folders.resolve("/a.stan").unwrap().name, "lib/a.stan");
        let missing = folders.resolve("b.stan").unwrap_err();
        assert_eq!(missing, "cannot find `b.stan` to include; looked in `here`, `lib`");
    }

    #[test]
    fn names_that_leave_the_folders_are_refused_before_anything_is_read() {
        let mut read = |path: &Path| -> io::Result<String> { panic!("read {}", path.display()) };
        let mut folders = Folders::new(vec![PathBuf::from("lib")], &mut read);
        for name in ["/../a.stan", "../a.stan", "x/../../a.stan", ".."] {
            let refused = folders.resolve(name).unwrap_err();
            assert!(refused.contains("no `..`"), "{refused}");
        }
        for name in ["", "/", "//"] {
            assert_eq!(folders.resolve(name).unwrap_err(), "`#include` names no file");
        }
    }

    #[test]
    fn an_absolute_name_is_looked_for_inside_the_folders_only() {
        let mut asked = Vec::new();
        let mut read = |path: &Path| {
            asked.push(path.to_owned());
            Err(io::Error::from(io::ErrorKind::NotFound))
        };
        let mut folders = Folders::new(vec![PathBuf::from("lib")], &mut read);
        let missing = folders.resolve("//etc/passwd").unwrap_err();
        assert_eq!(missing, "cannot find `//etc/passwd` to include; looked in `lib`");
        assert_eq!(asked, [Path::new("lib/etc/passwd")]);
    }
}
