//! Compiling: a graph -> a [`Program`](super::program::Program) of loops over blocks.
//!
//! `split`, `columns` and `rewrite` rewrite the graph; `loop_ir` and `schedule` group its values
//! into loops; `lower` gives them instructions, places and registers; `batch` rewrites a small
//! program for four positions at once.

pub(super) mod batch;
pub(super) mod columns;
pub(super) mod loop_ir;
pub(super) mod lower;
pub(super) mod registers;
pub(super) mod rewrite;
pub(super) mod schedule;
pub(super) mod split;
