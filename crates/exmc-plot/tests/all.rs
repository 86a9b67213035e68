//! The tests of `exmc-plot` as one program; one file's:
//! `cargo test -p exmc-plot --test all NAME::`.

mod figures;
mod statistics;
