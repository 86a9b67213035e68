//! Collections of Stan programs: a checkout -> a table on standard output.

use crate::ci;

/// `posteriordb` or `example-models` with its arguments, which `exmc-corpus` reads.
///
/// # Errors
/// When it finds an argument that it does not understand, or a file that it cannot read.
pub(crate) fn corpus(name: &str, args: &[&str]) -> Result<(), String> {
    let mut command = vec!["run", "-q", "--release", "-p", "exmc-corpus", "--", name];
    command.extend_from_slice(args);
    ci::cargo(&command, &[])
}
