//! Fits (internal, unstable) -> one HTML page that needs nothing else: no network, no script, no
//! font; light and dark; readable by screen readers.
//!
//! | part | from |
//! |---|---|
//! | verdict, warnings | diagnostics of the draws |
//! | model, its graph, data | the run directory's texts |
//! | what exmc did | `run.json` |
//! | tables and figures | the draws, through `exmc-plot` |
//! | checks, LOO, comparison | what the caller computed, where there is any |
//! | how to reproduce | `run.json` and hashes of the texts |
#![forbid(unsafe_code)]

mod data_table;
mod fit;
mod history;
mod html;
mod model_graph;
mod plots;
mod reproduce;

pub use fit::{Fit, Loo, SourceText, health};
pub use html::report;
