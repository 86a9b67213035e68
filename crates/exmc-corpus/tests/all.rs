//! The tests of `exmc-corpus` as one program; one file's:
//! `cargo test -p exmc-corpus --test all NAME::`.

mod fuzz;
mod host_agreement;
mod quantities;
