//! Draws <-> CmdStan's CSV files, the form that CmdStanPy, CmdStanR and ArviZ read.
//!
//! | part | in -> out |
//! |---|---|
//! | `arguments` | what a run was asked for -> the comment lines before the header |
//! | `columns` | variables -> names of columns, column-major and numbered from one, and back |
//! | `read` | files -> draws |
//! | `write` | a run -> one file a chain; a mode -> one file |
//!
//! A file is comment lines that begin with `#`, a header of column names, and one line a draw.
//! Columns of an array stand in column-major order over all of its dimensions, whereas ours are
//! row-major.

mod arguments;
mod columns;
mod read;
mod write;

pub use arguments::{OptimizeArguments, Provenance, date_time};
pub use columns::{file_names, file_order};
pub use read::{StanCsv, read_stan_csv};
pub use write::{export_posterior_csv, export_stan_csv, write_chain_csv, write_mode_csv};
