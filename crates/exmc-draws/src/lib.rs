//! Draws and where they are kept (internal, unstable): chains of named values -> summaries, run
//! directories.
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | summarise | draws in memory -> a table and diagnostics | [`Posterior::summary`] |
//! | write | draws as they are made -> a run directory | [`RunDirectory::create`], [`ChainWriter::append`] |
//! | read | a run directory -> draws in memory, bit for bit | [`read_run`] |
//! | export | a run -> CmdStan's CSV files | [`export_stan_csv`] |
//! | import | CmdStan's CSV files -> draws in memory | [`read_stan_csv`] |
#![forbid(unsafe_code)]

mod background_sync;
mod compare;
mod directory;
mod error;
mod json_text;
mod labels;
mod parallel;
mod posterior;
mod read;
mod record;
mod run_file;
mod stan_csv;
mod texts;

pub use directory::{ChainWriter, FORMAT_VERSION, ModelText, RunDirectory};
pub use error::RunError;
pub use json_text::json_text;
pub use posterior::{ChainDraws, Posterior, Variable};
pub use read::{StoredRun, read_record, read_run};
pub use run_file::{
    Coordinates, METRICS, Method, RunRecord, RunStatus, StoredChain, StoredOutcome,
};
pub use stan_csv::{
    OptimizeArguments, Provenance, StanCsv, export_stan_csv, read_stan_csv, write_chain_csv,
    write_mode_csv,
};
pub use texts::{StoredModel, StoredTexts, read_texts};
