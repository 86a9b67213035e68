//! The tests of `exmc-infer` as one program; one file's:
//! `cargo test -p exmc-infer --test all NAME::`.

mod common;
mod failures;
mod integrator;
mod interruption;
mod invariance;
mod lanes;
mod laplace;
mod moments;
mod multi_path;
mod optimise;
mod pathfinder;
mod restarts;
mod targets;
mod threads_per_chain;
mod tree_oracle;
mod variational;
