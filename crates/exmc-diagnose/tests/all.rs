//! The tests of `exmc-diagnose` as one program; one file's:
//! `cargo test -p exmc-diagnose --test all NAME::`.

mod arviz;
mod distribution_gates;
mod edges;
mod loo;
mod moment_gate;
mod parity;
mod report;
