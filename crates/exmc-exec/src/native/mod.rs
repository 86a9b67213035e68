//! The native executor: a graph -> a program of loops over blocks of eight-lane vectors.
//!
//! | step | in -> out |
//! |---|---|
//! | `split` | scans -> smaller scans and operations on all steps at once |
//! | `columns` | reductions over short axes -> operations on columns |
//! | `rewrite` | graph -> fewer operations per element |
//! | `values` | graph -> what is computed at run time, over how many elements |
//! | `levels` | values -> loops and calls, in order |
//! | `lower` | loops and calls -> instructions with places |
//! | `pack` | data -> the region that all instances read |
//! | `resolve` | program, data, one instance's memory -> steps with addresses |
//! | `emit` | steps on single vectors -> machine code, where there is some for the processor |
//! | `run`, `block`, `kernels` | steps, position -> values |
//! | `lanes` | program, data -> a program for a few positions at once |
//! | `shards`, `pool` | a long loop's steps -> the same values, by several threads |
//!
//! Sums keep eight lanes and one order, every vector operation has the same bits at every level of
//! instructions, and which parts of a loop may run at once is decided by the loop alone, so results
//! depend neither on the processor nor on the number of threads.
#![cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux")),
    allow(dead_code, unused_imports, reason = "only generated code reads some fields and names")
)]

mod compile;
mod emit;
mod link;
mod program;
mod run;

pub(crate) use compile::batch::{BATCH, BatchProgram};
pub(crate) use compile::columns::columns;
pub(crate) use compile::lower::lower;
pub(crate) use compile::rewrite::rewrite;
pub(crate) use compile::split::split_scans;
pub(crate) use link::Targets;
pub(crate) use program::{Counts, Program};
pub(crate) use run::Frame;
pub(crate) use run::pack::{Packed, pack};
pub(crate) use run::pool::Pool;
