//! exmc in the place of CmdStan (internal, unstable): one executable that is, by its name or by
//! what stands behind its image, `stanc`, `stansummary`, `diagnose`, `print` or a model.
//!
//! | part | in -> out |
//! |---|---|
//! | [`install`](mod@install) | a folder -> one that clients take for a CmdStan installation |
//! | `stanc` | a Stan program -> messages, facts, canonical text, a model executable |
//! | [`program`] | a program's texts <-> what stands behind an executable or a library |
//! | [`position`] | values of parameters -> a position, where they fit their types |
//! | [`bridgestan`] | a folder -> one that clients take for BridgeStan's |
//! | `grammar` | the command line of a model -> values of all arguments |
//! | `model` | arguments, program and data -> CmdStan's files and console lines |
//! | `rdump` | R's dump format -> JSON |
//! | `tools` | CSV files of draws -> summaries and diagnoses |
//!
//! Clients (CmdStanPy, CmdStanR, shell scripts) see the file formats, console lines and exit codes
//! of CmdStan 2.39. What exmc does more stays on where it does not change what draws mean and no
//! option contradicts it: variables that are normal given the rest are integrated out, coordinates
//! are learned, and the metric has correlations.
#![forbid(unsafe_code)]

pub mod bridgestan;
mod console;
mod failure;
mod grammar;
pub mod install;
mod model;
mod number;
pub mod position;
pub mod program;
mod rdump;
mod stanc;
mod tools;

use std::path::Path;
use std::process::ExitCode;

use console::complain;
use failure::Failure;
use program::Payload;

pub use install::install;
pub use stanc::program_info;

/// The version of CmdStan whose interface this is.
pub const VERSION: &str = "2.39.0";

/// Name and version of this program.
pub(crate) const PROGRAM: &str = concat!("exmc ", env!("CARGO_PKG_VERSION"));

/// Runs what the executable is by its name or by the model behind it; nothing where it is `exmc`.
///
/// `image` is the executable's own file, `args` the command line with the program's name first.
pub fn dispatch(image: &Path, args: &[String]) -> Option<ExitCode> {
    let name = args.first().map(String::as_str).unwrap_or_default();
    let rest = args.get(1..).unwrap_or_default();
    let ended = |result: Result<(), Failure>| match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            complain(&failure.to_string());
            ExitCode::FAILURE
        }
    };
    match Payload::read_from(image) {
        Ok(Some(payload)) => return Some(ended(model::run(&payload, name, rest))),
        Ok(None) => {}
        Err(error) => {
            complain(&format!("{}: {error}", image.display()));
            return Some(ExitCode::FAILURE);
        }
    }
    let tool = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    match &*tool {
        "stanc" => Some(ended(stanc::run(rest, image))),
        "stansummary" => Some(ended(tools::summary::run(rest))),
        "diagnose" => Some(ended(tools::diagnose::run(rest))),
        // CmdStan's own `print` is an older name of the same.
        "print" => Some(ended(tools::summary::run(rest))),
        _ => None,
    }
}
