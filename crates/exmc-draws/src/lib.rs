//! Draws and where they are kept (internal, unstable): chains of named values -> summaries, run directories.

mod posterior;

pub use posterior::{ChainDraws, Posterior, Variable};
