//! The tests of `exmc-testkit` as one program; one file's:
//! `cargo test -p exmc-testkit --test all NAME::`.

mod behaviour;
mod calibration;
mod determinism;
mod fallbacks;
mod gates;
mod goldens;
mod hierarchies;
mod random_graphs;
mod random_models;
mod stan_programs;
