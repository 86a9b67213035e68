//! What a run tells while it runs: lines on standard output and standard error, each written at
//! once, so that lines of several chains do not mix.

use std::io::{self, Write};

/// A line on standard output. Who does not listen any more is no reason to stop sampling.
pub(crate) fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Lines on standard error.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
