//! Draws in memory and on disk: run directories, which survive a killed process, and CmdStan's CSV
//! files.

pub use exmc_draws::{
    ChainDraws, ChainWriter, Coordinates, FORMAT_VERSION, METRICS, Method, ModelText, Posterior,
    Provenance, RunDirectory, RunError, RunRecord, RunStatus, StanCsv, StoredChain, StoredModel,
    StoredOutcome, StoredRun, StoredTexts, Variable, export_stan_csv, read_record, read_run,
    read_stan_csv, read_texts, write_chain_csv,
};
