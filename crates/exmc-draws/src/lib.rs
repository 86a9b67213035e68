//! Draws and where they are kept (internal, unstable): chains of named values -> summaries, run
//! directories.
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | summarise | draws in memory -> a table and diagnostics | [`Posterior::summary`] |
//! | write | draws as they are made -> a run directory | [`RunDirectory::create`], [`ChainWriter::append`] |
//! | go on | a run directory -> the same with more draws | [`RunDirectory::reopen`], [`ChainWriter::checkpoint`] |
//! | read | a run directory -> draws in memory, bit for bit; or a block of columns at a time | [`read_run`], [`open_run`] |
//! | follow | a directory that another process writes -> the draws that came | [`ChainFollower`] |
//! | merge | directories of chains that ran apart -> one run directory | [`merge_runs`] |
//! | export | a run -> CmdStan's CSV files | [`export_stan_csv`] |
//! | import | CmdStan's CSV files -> draws in memory | [`read_stan_csv`] |
#![forbid(unsafe_code)]

mod background_sync;
mod background_write;
mod chain_file;
mod chain_writer;
mod checkpoint;
mod compare;
mod directory;
mod disk;
mod error;
mod follow;
mod json_text;
mod labels;
mod lock;
mod merge;
mod origin;
mod parallel;
mod posterior;
mod read;
mod record;
mod records;
mod run_file;
mod stan_csv;
mod stored;
mod texts;

pub use chain_writer::ChainWriter;
pub use directory::{FORMAT_VERSION, ModelText, Reopened, RunDirectory, RunTexts};
pub use disk::Disk;
pub use error::RunError;
pub use follow::{ChainFollower, Found, Mark};
pub use json_text::json_text;
pub use merge::merge_runs;
pub use origin::{Centring, Origin, sha256};
pub use posterior::{ChainDraws, Posterior, Variable};
pub use read::{StoredRun, open_run, open_run_within, read_record, read_run};
pub use run_file::{
    Coordinates, METRICS, Method, RunRecord, RunStatus, StoredChain, StoredOutcome,
};
pub use stan_csv::{
    OptimizeArguments, Provenance, StanCsv, date_time, export_posterior_csv, export_stan_csv,
    file_names, file_order, read_stan_csv, write_chain_csv, write_mode_csv,
};
pub use texts::{StoredModel, StoredTexts, read_texts};
