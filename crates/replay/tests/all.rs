//! The tests of `replay` as one program; one file's:
//! `cargo test -p replay --test all NAME::`.

mod archives;
mod common;
mod documents;
mod reading;
mod real_replays;
