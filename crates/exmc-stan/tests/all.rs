//! The tests of `exmc-stan` as one program; one file's:
//! `cargo test -p exmc-stan --test all NAME::`.

mod absent;
mod check_mutations;
mod check_print;
mod check_programs;
mod coverage;
mod data_errors;
mod data_reading;
mod functions;
mod fuzz_programs;
mod generated_data;
mod host_corpus;
mod host_functions;
mod host_generate;
mod host_semantics;
mod includes;
mod library;
mod linear_algebra;
mod lower;
mod malformed_programs;
mod ode;
mod signatures;
mod single;
mod snapshots;
mod support;
mod syntax_round_trip;
mod tape;
