//! The tests of `features` as one program; one file's:
//! `cargo test -p features --test all NAME::`.

mod actions;
mod batches;
mod schema;
