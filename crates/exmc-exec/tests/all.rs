//! The tests of `exmc-exec` as one program; one file's:
//! `cargo test -p exmc-exec --test all NAME::`.

mod alike_terms;
mod elementwise;
mod errors;
mod kernels;
mod lanes;
mod logarithms;
mod memory;
mod native;
mod native_models;
mod odes;
mod random_graphs;
mod recurrences;
mod scalar_sums;
mod shards;
mod single_loops;
mod single_precision;
mod straight_lines;
mod sums_in_loops;
mod support;
