//! The tests of `exmc-graph` as one program; one file's:
//! `cargo test -p exmc-graph --test all NAME::`.

mod branches;
mod dae;
mod decompositions;
mod least_squares;
mod marginal;
mod ode;
mod ops;
mod optimise;
mod passes;
mod recentre;
mod structure;
mod support;
mod symmetric_eigen;
