//! Collections of Stan programs: a checkout -> a table on standard output.

use crate::{ci, root};

/// `posteriordb` or `example-models` with its arguments, which `exmc-corpus` reads.
///
/// # Errors
/// When it finds an argument that it does not understand, or a file that it cannot read.
pub(crate) fn corpus(name: &str, args: &[&str]) -> Result<(), String> {
    let mut command = vec!["run", "-q", "--release", "-p", "exmc-corpus", "--", name];
    command.extend_from_slice(args);
    ci::cargo(&command, &[])
}

/// Fuzz targets over mutations of our own programs, with checks of debug builds.
///
/// # Errors
/// When an input fails (it is kept under `fuzz/artifacts`), or an argument is not understood.
pub(crate) fn fuzz(args: &[&str]) -> Result<(), String> {
    let root = root().display().to_string();
    let mut command = vec!["run", "-q", "-p", "exmc-corpus", "--", "fuzz", "--dir", &root];
    command.extend_from_slice(args);
    ci::cargo(&command, &[])
}
